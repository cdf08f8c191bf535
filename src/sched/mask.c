/* mask.c - deferring a cancellation: masks, commit sections, brackets; a task's own cleanups.
 *
 * Level k, counted from 0, of a task's masks holds by mask_polls[k]:
 *     0          as long as the cleanup budget does
 *     n < SPENT  for n more resumptions of the cancelled task
 *     SPENT      no longer
 * Entries from mask_depth on are 0, so that for a mask of the runtime's own (around finalizers and
 * cleanups) raising mask_depth is enough. Levels below mask_base are not the user's to end.
 *
 *     masked(task)  =  some level below mask_depth holds, and the task is not in its last grace
 *
 * So an inner mask that is used up does not take away the protection of the outer one, and an
 * outer one that is used up stays so when an inner one ends.
 */
#include "sched/sched.h"

#define SPENT UINT32_MAX

bool asx__task_masked(const asx__task *task)
{
    unsigned depth = task->mask_depth;
    if (depth == 0 || (task->flags & ASX__T_GRACE))
        return false;
    if (task->extra == NULL || depth > ASX_MASK_DEPTH_MAX)
        return true;
    for (unsigned k = 0; k < depth; k++)
        if (task->extra->mask_polls[k] != SPENT)
            return true;
    return false;
}

void asx__mask_charge(asx__task *task)
{
    unsigned depth = task->mask_depth < ASX_MASK_DEPTH_MAX ? task->mask_depth : ASX_MASK_DEPTH_MAX;
    if (task->extra == NULL)
        return;
    for (unsigned k = 0; k < depth; k++) {
        uint32_t *left = &task->extra->mask_polls[k];
        if (*left != 0 && *left != SPENT && --*left == 0)
            *left = SPENT;
    }
}

static void journal_depth(asx_runtime *rt, const asx__task *task)
{
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_CANCEL_MASK, asx__serial(task->generation), task->mask_depth, 0,
                     0);
}

asx_status asx_mask_begin(asx_cx *cx, uint32_t max_polls)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (st < 0)
        return st;
    if (task->mask_depth >= ASX_MASK_DEPTH_MAX)
        return ASX_E_MASK_DEPTH;
    asx__extra *extra = asx__task_extra(rt, task);
    if (extra == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    extra->mask_polls[task->mask_depth++] = max_polls == SPENT ? 0 : max_polls;
    journal_depth(rt, task);
    return ASX_OK;
}

/* What a mask has kept from the task's scopes reaches them now. */
static void end_level(asx_runtime *rt, asx__task *task)
{
    ASX__ASSERT(task->mask_depth > 0 && task->mask_depth <= ASX_MASK_DEPTH_MAX);
    task->extra->mask_polls[--task->mask_depth] = 0;
    journal_depth(rt, task);
    asx__scopes_catch_up(rt, task);
}

asx_status asx_mask_end(asx_cx *cx)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (st < 0)
        return st;
    if (task->extra == NULL || task->mask_depth <= task->extra->mask_base)
        return ASX_E_MASK_DEPTH;
    end_level(rt, task);
    return ASX_OK;
}

/* Calls fn one level deeper; masks that fn leaves behind end with it. */
static asx_status call_masked(asx_cx *cx, uint32_t max_polls, asx_call_fn fn, void *arg)
{
    if (fn == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx_mask_begin(cx, max_polls);
    if (st < 0)
        return st;
    asx__task *task = cx->task_;
    uint8_t base = task->extra->mask_base, depth = task->mask_depth;
    task->extra->mask_base = depth;
    st = fn(cx, arg);
    task->extra->mask_base = base;
    while (task->mask_depth >= depth)
        end_level(cx->rt_, task);
    return st;
}

asx_status asx_with_cancel_mask(asx_cx *cx, asx_call_fn fn, void *arg)
{
    return call_masked(cx, 0, fn, arg);
}

asx_status asx_commit_section(asx_cx *cx, uint32_t max_polls, asx_call_fn fn, void *arg)
{
    if (max_polls == 0 || fn == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx_checkpoint(cx);
    return st < 0 ? st : call_masked(cx, max_polls, fn, arg);
}

/* ---- cleanups ------------------------------------------------------------------------------- */

static asx_status make_cleanup(asx_runtime *rt, asx__task *task, asx_call_fn fn, void *arg,
                               asx__cleanup **ret_cleanup)
{
    if (asx__task_extra(rt, task) == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    asx__cleanup *cleanup = asx__region_memory(task->region, sizeof *cleanup);
    if (cleanup == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    cleanup->fn = fn;
    cleanup->arg = arg;
    *ret_cleanup = cleanup;
    return ASX_OK;
}

static void register_cleanup(asx__task *task, asx__cleanup *cleanup)
{
    cleanup->next = task->extra->cleanups;
    task->extra->cleanups = cleanup;
}

static void forget_cleanup(asx__task *task, const asx__cleanup *cleanup)
{
    asx__cleanup **at = &task->extra->cleanups;
    while (*at != NULL && *at != cleanup)
        at = &(*at)->next;
    if (*at == cleanup)
        *at = cleanup->next;
}

asx_status asx_task_defer(asx_cx *cx, asx_call_fn fn, void *arg)
{
    asx__task *task;
    asx_runtime *rt;
    asx__cleanup *cleanup;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (st < 0)
        return st;
    if (fn == NULL)
        return ASX_E_INVALID_ARGUMENT;
    st = make_cleanup(rt, task, fn, arg, &cleanup);
    if (st == ASX_OK)
        register_cleanup(task, cleanup);
    return st;
}

asx_status asx_bracket(asx_cx *cx, asx_call_fn acquire, asx_call_fn use, asx_call_fn release,
                       void *arg)
{
    asx__task *task;
    asx_runtime *rt;
    asx__cleanup *cleanup;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (st < 0)
        return st;
    if (acquire == NULL || use == NULL || release == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (task->flags & ASX__T_POLL)
        return ASX_E_NOT_SUPPORTED;
    /* Made before it is needed, so that registering it cannot fail. */
    st = make_cleanup(rt, task, release, arg, &cleanup);
    if (st < 0)
        return st;
    st = acquire(cx, arg);
    if (st < 0)
        return st;
    register_cleanup(task, cleanup);
    st = use(cx, arg);
    forget_cleanup(task, cleanup);
    asx_status end = task->mask_depth < ASX_MASK_DEPTH_MAX ? call_masked(cx, 0, release, arg)
                                                           : release(cx, arg);
    return st < 0 ? st : end;
}
