/* panic.c - a task that gives up: asx_panic(), and how the runtime ends it.
 *
 * The task's frames are left behind. Inside runtime-side cleanup the leap goes back to whoever
 * called it; a poll function is left for the loop; a fiber for good, and its stack is kept. With
 * several workers the leap begins with the engine held, because all these places expect it so.
 *
 * A task that calls pthread_exit() ends its thread, and every frame of the loop with it. It is
 * taken for a panic: see process.c for how the loop goes on.
 */
#include "sched/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void note_panic(asx__region *region, const asx__task *task, const char *format,
                       va_list args)
{
    if (region->panic_note != NULL)
        return;
    char text[256];
    vsnprintf(text, sizeof text, format, args);
    size_t len = strlen(text);
    asx__panic_note *note = asx__region_memory(region, sizeof *note);
    char *copy = note != NULL ? asx__region_memory(region, len + 1) : NULL;
    if (copy == NULL)
        return;
    memcpy(copy, text, len + 1);
    *note = (asx__panic_note){ asx__region_keep_name(region, task->name), task->site, copy,
                               asx__serial(task->generation) };
    region->panic_note = note;
}

/* Explored: its end is seen by those that join it and those that are cancelled by it. What it holds
 * goes back one by one, unless something has to be done before that, which cannot wait for turns:
 * then all of it is a part of the end. */
static void panic_explored(asx_runtime *rt, asx__task *task)
{
    const asx__extra *extra = task->extra;
    bool cancels = task->region->policy == ASX_POLICY_FAIL_FAST;
    bool abandons = extra != NULL && extra->scopes != NULL;
    if (extra != NULL && !abandons && extra->cleanups == NULL)
        asx__obligations_end_task(rt, task);
    unsigned how = ASX__END_FAILED | (cancels ? ASX__END_CANCELS_REGION : 0u) |
                   (abandons ? ASX__END_ABANDONS : 0u);
    (void)asx__announce(rt, task, ASX__OP_END, asx__serial(task->region->generation),
                        .end.how = how);
}

void asx_panic(asx_cx *cx, const char *format, ...)
{
    asx__task *task;
    asx_runtime *rt;
    va_list args;
    va_start(args, format);
    asx_cx in;
    if (cx != NULL && asx__is_gate(cx->rt_)) { /* left by a leap, with the engine held */
        in = (asx_cx){ cx->task_, cx->rt_->behind, cx->caps_, 0 };
        cx = &in;
        (void)asx__engine_enter(in.rt_);
    }
    if (asx__cx_enter(cx, 0, &task, &rt) < 0) {
        fputs("asx: panic outside a running task: ", stderr);
        if (format != NULL)
            vfprintf(stderr, format, args);
        fputc('\n', stderr);
        abort();
    }
    task->flags |= ASX__T_PANICKED;
    if (ASX__UNLIKELY(rt->seam != NULL) && rt->cleanup_again == NULL)
        panic_explored(rt, task);
    note_panic(task->region, task, format != NULL ? format : "", args);
    va_end(args);
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_TASK_PANIC, asx__serial(task->generation), 0, 0, 0);
    asx__fiber_globals lost; /* of catch blocks that are never left */
    (void)asx__fiber_globals_take(&lost);
    asx__fiber_no_return();
    if (rt->cleanup_again != NULL)
        longjmp(*rt->cleanup_again, 1);
    rt->over = task;
    if (task->flags & ASX__T_POLL)
        longjmp(*rt->loop_again, 1);
    asx__leave_for_good(rt, task);
}

static void note_text(asx__region *region, const asx__task *task, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note_panic(region, task, format, args);
    va_end(args);
}

void asx__task_thread_ended(asx_runtime *rt)
{
    asx__task *task = rt->current;
    if (task == NULL)
        return;
    rt->current = NULL;
    rt->in_cleanup = false;
    rt->cleanup_again = NULL;
    rt->hot = 0;
    note_text(task->region, task, "it ended its thread");
    task->flags |= ASX__T_PANICKED;
    if (rt->tracing)
        asx__journal_as(rt, task, ASX_EVENT_TASK_PANIC, asx__serial(task->generation), 0, 0, 0);
    asx__task_end_panicked(rt, task);
}

void asx__task_end_panicked(asx_runtime *rt, asx__task *task)
{
    if ((task->flags & ASX__T_POLL) && task->w.waits != NULL) {
        asx__waitable *waitable = task->w.waits;
        task->w.waits = NULL;
        waitable->ops->unpublish(rt, task, waitable, (task->flags & ASX__T_GRANTED) != 0);
    }
    asx__region_keep_stack(rt, task);
    asx__task_finish(rt, task, ASX_E_PANICKED);
}
