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
#include "sched/engine.h"

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

/* Explored: whether a cancel reaches what the task has opened under a mask depends on whether it
 * comes before the last one ends, or before the next one begins. */
static void shield_explored(asx_runtime *rt, asx__task *task, bool ends)
{
    if (ASX__LIKELY(rt->seam == NULL) || task->mask_depth != ends || task->extra == NULL)
        return;
    const asx__region *scope = task->extra->scopes;
    while (scope != NULL && !(scope->shielded && scope->state != ASX_REGION_CLOSED))
        scope = scope->owner_next;
    if (scope != NULL)
        (void)asx__announce(rt, task, ASX__OP_SHIELD, 0, .shield.ends = ends);
}

asx_status asx_mask_begin(asx_cx *cx, uint32_t polls_max)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, asx_mask_begin(&in, polls_max));
        return st;
    }
    if (task->mask_depth >= ASX_MASK_DEPTH_MAX)
        return ASX_E_MASK_DEPTH;
    asx__extra *extra = asx__task_extra(rt, task);
    if (extra == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    shield_explored(rt, task, false);
    extra->mask_polls[task->mask_depth++] = polls_max == SPENT ? 0 : polls_max;
    journal_depth(rt, task);
    return ASX_OK;
}

/* What a mask has kept from the task's scopes reaches them now. */
static void end_level(asx_runtime *rt, asx__task *task)
{
    ASX__ASSERT(task->mask_depth > 0 && task->mask_depth <= ASX_MASK_DEPTH_MAX);
    shield_explored(rt, task, true);
    task->extra->mask_polls[--task->mask_depth] = 0;
    journal_depth(rt, task);
    asx__scopes_catch_up(rt, task);
}

asx_status asx_mask_end(asx_cx *cx)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, asx_mask_end(&in));
        return st;
    }
    if (task->extra == NULL || task->mask_depth <= task->extra->mask_base)
        return ASX_E_MASK_DEPTH;
    end_level(rt, task);
    return ASX_OK;
}

/* A level that only its maker ends, with what was the lowest of the user's before. */
typedef struct masked_section {
    uint8_t base, depth;
} masked_section;

static asx_status begin_section(asx_cx *cx, uint32_t polls_max, masked_section *ret_section)
{
    ASX__GATE_CX(cx, begin_section(&in, polls_max, ret_section));
    asx_status st = asx_mask_begin(cx, polls_max);
    if (st < 0)
        return st;
    asx__task *task = cx->task_;
    ret_section->base = task->extra->mask_base;
    ret_section->depth = task->mask_depth;
    task->extra->mask_base = task->mask_depth;
    return ASX_OK;
}

/* Masks that were left behind inside end with it. */
static asx_status end_section(asx_cx *cx, const masked_section *section)
{
    ASX__GATE_CX(cx, end_section(&in, section));
    asx__task *task = cx->task_;
    task->extra->mask_base = section->base;
    while (task->mask_depth >= section->depth)
        end_level(cx->rt_, task);
    return ASX_OK;
}

/* Calls fn one level deeper. */
static asx_status call_masked(asx_cx *cx, uint32_t polls_max, asx_call_fn fn, void *arg)
{
    masked_section section;
    if (fn == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = begin_section(cx, polls_max, &section);
    if (st < 0)
        return st;
    st = fn(cx, arg);
    (void)end_section(cx, &section);
    return st;
}

asx_status asx_with_cancel_mask(asx_cx *cx, asx_call_fn fn, void *arg)
{
    return call_masked(cx, 0, fn, arg);
}

asx_status asx_commit_section(asx_cx *cx, uint32_t polls_max, asx_call_fn fn, void *arg)
{
    if (polls_max == 0 || fn == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx_checkpoint(cx);
    return st < 0 ? st : call_masked(cx, polls_max, fn, arg);
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
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, asx_task_defer(&in, fn, arg));
        return st;
    }
    if (fn == NULL)
        return ASX_E_INVALID_ARGUMENT;
    st = make_cleanup(rt, task, fn, arg, &cleanup);
    if (st == ASX_OK)
        register_cleanup(task, cleanup);
    return st;
}

/* The release of a bracket, made before it is needed, so that registering it cannot fail. */
static asx_status prepare_release(asx_cx *cx, asx_call_fn release, void *arg,
                                  asx__cleanup **ret_cleanup)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (st < 0) {
        ASX__GATE_CX(cx, prepare_release(&in, release, arg, ret_cleanup));
        return st;
    }
    if (release == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (task->flags & (ASX__T_POLL | ASX__T_EXPLORED))
        return ASX_E_NOT_SUPPORTED;
    return make_cleanup(rt, task, release, arg, ret_cleanup);
}

static asx_status arm_release(asx_cx *cx, asx__cleanup *cleanup)
{
    ASX__GATE_CX(cx, arm_release(&in, cleanup));
    register_cleanup(cx->task_, cleanup);
    return ASX_OK;
}

/* Takes the release back; ASX_E_MASK_DEPTH: and there is no level left to run it at. */
static asx_status disarm_release(asx_cx *cx, const asx__cleanup *cleanup)
{
    ASX__GATE_CX(cx, disarm_release(&in, cleanup));
    forget_cleanup(cx->task_, cleanup);
    return cx->task_->mask_depth < ASX_MASK_DEPTH_MAX ? ASX_OK : ASX_E_MASK_DEPTH;
}

asx_status asx_bracket(asx_cx *cx, asx_call_fn acquire, asx_call_fn use, asx_call_fn release,
                       void *arg)
{
    asx__cleanup *cleanup;
    asx_call_fn wanted = acquire != NULL && use != NULL ? release : NULL;
    asx_status st = prepare_release(cx, wanted, arg, &cleanup);
    if (st < 0)
        return st;
    st = acquire(cx, arg);
    if (st < 0)
        return st;
    (void)arm_release(cx, cleanup);
    st = use(cx, arg);
    asx_status end = disarm_release(cx, cleanup) == ASX_OK ? call_masked(cx, 0, release, arg)
                                                           : release(cx, arg);
    return st < 0 ? st : end;
}
