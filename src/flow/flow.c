/* flow.c - what the combinators have in common, join all, and time-out.
 *
 * Each call opens a region of its own in the calling task and closes it before it returns, so
 * nothing that it started can outlive it, and a cancel of the caller passes into it. What closing
 * such a region waits for is not a cancellation point.
 *
 * join all. Branches are tasks of a region that collects. A finalizer of the region, which runs
 * when every branch has ended and before the records go, takes the results.
 *
 * time-out. A region with a deadline and one task.
 */
#include "flow/flow.h"

asx_status asx__flow_enter(asx_cx *cx, uint32_t caps, const asx_branch *branches, size_t count,
                           asx__task **ret_task)
{
    asx_runtime *rt;
    asx__task *task;
    asx_status st = asx__cx_enter(cx, caps, &task, &rt);
    if (st < 0) {
        ASX__GATE_CX(cx, asx__flow_enter(&in, caps, branches, count, ret_task));
        return st;
    }
    if (branches == NULL && count != 0)
        return ASX_E_INVALID_ARGUMENT;
    for (size_t i = 0; i < count; i++)
        if (branches[i].fn == NULL)
            return ASX_E_INVALID_ARGUMENT;
    if (task->flags & (ASX__T_POLL | ASX__T_EXPLORED))
        return ASX_E_NOT_SUPPORTED;
    if (rt->in_cleanup)
        return ASX_E_WRONG_CONTEXT;
    *ret_task = task;
    (void)asx__announce(rt, task, ASX__OP_CHECKPOINT, 0);
    return asx__tell_if_needed(rt, task);
}

asx_status asx__flow_tell(asx_cx *cx, asx_status st)
{
    if (st != ASX_E_CANCELLED)
        return st;
    ASX__GATE_CX(cx, asx__flow_tell(&in, st));
    (void)asx__tell_if_needed(cx->rt_, cx->task_);
    return st;
}

asx_status asx__flow_tell_too(asx_cx *cx, asx_status st)
{
    if (st != ASX_E_CANCELLED)
        return st;
    ASX__GATE_CX(cx, asx__flow_tell_too(&in, st));
    (void)asx__announce(cx->rt_, cx->task_, ASX__OP_IS_CANCELLED, 0);
    return asx__flow_tell(cx, st);
}

bool asx__flow_too_late(asx_status setup)
{
    return setup == ASX_E_REGION_NOT_OPEN || setup == ASX_E_ADMISSION_CLOSED;
}

asx_status asx__flow_open(asx_cx *cx, const char *name, const asx_flow_options *options,
                          bool timed, asx_region *ret_region)
{
    asx_region_options scope = {
        .name = options != NULL && options->name != NULL ? options->name : name,
        .policy = ASX_POLICY_COLLECT,
        .timeout_ns = timed && options != NULL ? options->timeout_ns : 0,
        .caps = asx_cx_caps(cx),
    };
    return asx_region_open(cx, &scope, ret_region);
}

void asx__flow_close_is_heard(const asx_region *region, bool answers)
{
    asx__region *record;
    if (asx__region_resolve(region, ASX_STATE_MASK_ALL, &record) < 0)
        return;
    record->answers = answers;
    record->unheard = !answers;
}

asx_status asx__flow_array(const asx_region *region, size_t count, size_t size, void **ret_array)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return ASX_E_RESOURCE_EXHAUSTED;
    return asx_region_alloc(region, bytes, ret_array);
}

asx_status asx__flow_spawn(const asx_region *region, const asx_branch *branch,
                           const asx_flow_options *options, asx_task *ret_task)
{
    asx_spawn_options spawn = { .name = branch->name };
    if (options != NULL) {
        spawn.budget = options->budget;
        spawn.stack_size = options->stack_size;
    }
    return asx_spawn_task(region, branch->fn, branch->arg, &spawn, ret_task);
}

asx_status asx__flow_watch(const asx_region *region, asx_poll_fn fn, void *watcher, bool own)
{
    ASX__GATE_REGION(region, asx__flow_watch(&in, fn, watcher, own));
    asx_spawn_options options = { .name = "watcher" };
    asx_task handle;
    asx__task *task;
    region->rt_->own_poll = own;
    asx_status st = asx_spawn_poll_task(region, fn, watcher, &options, &handle);
    region->rt_->own_poll = false;
    if (st == ASX_OK)
        st = asx__task_resolve(&handle, &task);
    if (st == ASX_OK && asx__task_extra(region->rt_, task) == NULL)
        st = ASX_E_RESOURCE_EXHAUSTED;
    return st;
}

asx_status asx__flow_worker_ends(const asx_region *region, asx_status st)
{
    if (st == ASX_E_CANCELLED)
        (void)asx_region_cancel(region, NULL);
    return st;
}

asx_join_result asx__flow_no_result(asx_status st)
{
    asx_outcome_kind kind = st == ASX_E_CANCELLED ? ASX_OUTCOME_CANCELLED : ASX_OUTCOME_ERR;
    asx_join_result result = { { kind, st, 0 }, 0 };
    return result;
}

/* ---- join all ------------------------------------------------------------------------------- */

typedef struct join_all {
    asx_task *tasks; /* in the region's memory */
    asx_join_result *results; /* the caller's, or NULL */
    size_t count;
    bool started; /* all of them */
    bool collected;
    asx__finish finish; /* of those that have been looked at, together */
} join_all;

static asx_status collect(asx_cx *cx, void *arg)
{
    join_all *all = arg;
    if (!all->started)
        return ASX_OK;
    for (size_t i = 0; i < all->count; i++) {
        asx_join_result result;
        asx_status st = asx_join(cx, &all->tasks[i], &result);
        ASX__ASSERT(st == ASX_OK); /* it has ended, and nobody else has its handle */
        asx__finish one = { asx_now(cx), result.outcome };
        all->finish = asx__finish_join(all->finish, one);
        if (all->results != NULL)
            all->results[i] = result;
    }
    all->collected = true;
    return ASX_OK;
}

static asx_status start_all(const asx_region *region, join_all *all, const asx_branch *branches,
                            const asx_flow_options *options)
{
    void *memory;
    asx_status st = asx__flow_array(region, all->count, sizeof *all->tasks, &memory);
    if (st < 0)
        return st;
    all->tasks = memory;
    st = asx_defer(region, collect, all);
    for (size_t i = 0; i < all->count && st == ASX_OK; i++)
        st = asx__flow_spawn(region, &branches[i], options, &all->tasks[i]);
    all->started = st == ASX_OK;
    return st;
}

static asx_status join_all_in_scope(asx_cx *cx, const asx_branch *branches, join_all *all,
                                    const asx_flow_options *options)
{
    asx_region region;
    asx_status st = asx__flow_open(cx, "join-all", options, true, &region);
    if (st < 0)
        return st;
    asx_status setup = start_all(&region, all, branches, options);
    st = asx_region_close(&region, setup);
    return setup < 0 && !asx__flow_too_late(setup) ? setup : asx__flow_tell(cx, st);
}

asx_status asx_join_all(asx_cx *cx, const asx_branch *branches, size_t count,
                        const asx_flow_options *options, asx_join_result *ret_results,
                        asx_outcome *ret_outcome)
{
    asx__task *task;
    join_all all = { .results = ret_results, .count = count, .finish = ASX__FINISH_UNIT };
    asx_status st = asx__flow_enter(cx, ASX_CAP_SPAWN, branches, count, &task);
    if (st == ASX_OK && count != 0)
        st = join_all_in_scope(cx, branches, &all, options);
    bool collected = st == ASX_OK || all.collected;
    for (size_t i = 0; i < count && ret_results != NULL && !collected; i++)
        ret_results[i] = asx__flow_no_result(st);
    if (ret_outcome != NULL)
        *ret_outcome = collected ? all.finish.outcome : asx__flow_no_result(st).outcome;
    return st;
}

/* ---- time-out ------------------------------------------------------------------------------- */

/* Of the region and what is around it. */
static asx_time earliest_deadline(const asx_region *region)
{
    asx__region *record;
    asx_time earliest = ASX_TIME_NEVER;
    if (asx__region_resolve(region, ASX_STATE_MASK_ALL, &record) < 0)
        return earliest;
    for (const asx__region *r = record->parent; r != NULL; r = r->parent) {
        earliest = r->timeout_at < earliest ? r->timeout_at : earliest;
        earliest = r->deadline_at < earliest ? r->deadline_at : earliest;
    }
    return earliest;
}

static asx_status deadline_around(asx_cx *cx, const asx_region *region, asx_time *ret_deadline)
{
    ASX__GATE_REGION(region, deadline_around(cx, &in, ret_deadline));
    asx_budget budget = ASX_BUDGET_INFINITE;
    if (asx_cx_budget(cx, &budget) < 0)
        budget.deadline = ASX_TIME_NEVER;
    asx_time around = earliest_deadline(region);
    *ret_deadline = around < budget.deadline ? around : budget.deadline;
    return ASX_OK;
}

/* Waits for the end of the task if its result is wanted; closes the scope. */
static asx_status end_of_one(asx_cx *cx, asx_region *region, asx_task *task, bool passed,
                             asx_join_result *ret_result)
{
    asx_cancel_reason timeout = { .kind = ASX_CANCEL_TIMEOUT };
    if (passed) { /* for a region that means none; here: no time at all */
        asx_status st = asx_region_close_with(region, ASX_E_TIMEOUT, &timeout, NULL);
        *ret_result = asx__flow_no_result(st);
        return asx__flow_tell(cx, st);
    }
    asx_join_result result;
    asx_status joined = task != NULL ? asx_join(cx, task, &result) : ASX_E_NOT_FOUND;
    asx_status st = asx_region_close(region, ASX_OK);
    *ret_result = joined == ASX_OK ? result : asx__flow_no_result(st);
    if (st == ASX_E_TIMEOUT)
        *ret_result = asx__flow_no_result(st);
    return asx__flow_tell(cx, st);
}

asx_status asx__flow_one(asx_cx *cx, const char *name, const asx_branch *branch,
                         uint64_t timeout_ns, const asx_flow_options *options,
                         asx_join_result *ret_result, asx_time *ret_deadline)
{
    bool passed = timeout_ns == 0;
    asx_region region;
    asx_task task;
    asx_region_options scope = {
        .name = options != NULL && options->name != NULL ? options->name : name,
        .timeout_ns = timeout_ns == ASX_TIME_NEVER ? 0 : timeout_ns,
        .caps = asx_cx_caps(cx),
    };
    asx_join_result result;
    asx_status st = asx_region_open(cx, &scope, &region);
    if (st < 0) {
        if (ret_result != NULL)
            *ret_result = asx__flow_no_result(st);
        return st;
    }
    asx__flow_close_is_heard(&region, true);
    if (ret_deadline != NULL)
        (void)deadline_around(cx, &region, ret_deadline);
    asx_status setup = asx__flow_spawn(&region, branch, options, ret_result != NULL ? &task : NULL);
    if (setup == ASX_OK) {
        st = end_of_one(cx, &region, ret_result != NULL ? &task : NULL, passed, &result);
    } else {
        st = asx_region_close(&region, setup);
        st = asx__flow_too_late(setup) ? asx__flow_tell(cx, st) : setup;
        result = asx__flow_no_result(st);
    }
    if (ret_result != NULL)
        *ret_result = result;
    return st;
}

asx_status asx_timeout(asx_cx *cx, const asx_branch *branch, uint64_t duration_ns,
                       const asx_flow_options *options, asx_join_result *ret_result)
{
    asx__task *task;
    asx_status st = asx__flow_enter(cx, ASX_CAP_SPAWN, branch, 1, &task);
    if (st < 0) {
        if (ret_result != NULL)
            *ret_result = asx__flow_no_result(st);
        return st;
    }
    if (options != NULL && options->timeout_ns != 0 && options->timeout_ns < duration_ns)
        duration_ns = options->timeout_ns;
    return asx__flow_one(cx, "timeout", branch, duration_ns, options, ret_result, NULL);
}
