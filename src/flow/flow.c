/* flow.c - join all, race, time-out.
 *
 * Each opens a region of its own in the calling task and closes it before it returns, so nothing
 * that it started can outlive it, and a cancel of the caller passes into it. What closing such a
 * region waits for is not a cancellation point.
 *
 * join all. Branches are tasks of a region that collects. A finalizer of the region, which runs
 * when every branch has ended and before the records go, takes the results.
 *
 * race. Two regions: the branches are tasks of the inner one, and for each there is a watcher, a
 * poll task of the outer one, that joins it. So losers can be cancelled without their watchers,
 * and an end of any kind is noticed, also of a branch that never got a stack. The racer waits for
 * the first watcher, picks the winner among those that have ended by then (the earliest; the first
 * in the array when they ended at the same time), cancels the rest, drains, returns.
 *
 *     watcher: finished + 1, wakes the racer      racer: WAIT -> CANCEL_LOSERS -> RETURN_WINNER
 *
 * time-out. A region with a deadline and one task.
 *
 * Results that the caller does not want may be NULL.
 *
 * Rejected: a cleanup of each branch that tells the racer (it does not run for a branch that had
 * no stack to start on, and the outcome is not decided when it runs); a channel between them (the
 * caller's context may not have that capability).
 */
#include <asx/flow.h>

#include "sched/engine.h"

/* The running fiber behind `cx`, which is not cancelled, and branches that can be run. */
static asx_status enter(asx_cx *cx, const asx_branch *branches, size_t count, asx__task **ret_task)
{
    asx_runtime *rt;
    asx__task *task;
    asx_status st = asx__cx_enter(cx, ASX_CAP_SPAWN, &task, &rt);
    if (st < 0) {
        ASX__GATE_CX(cx, enter(&in, branches, count, ret_task));
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
    asx__turn(rt, task, ASX__TURN_CHECKPOINT, 0, 0);
    return asx__tell_if_needed(rt, task);
}

/* Whoever is told that it was cancelled has been told: that is the acknowledgement. Otherwise a
 * task that passes the status on would end as one that failed. */
static asx_status tell(asx_cx *cx, asx_status st)
{
    if (st != ASX_E_CANCELLED)
        return st;
    ASX__GATE_CX(cx, tell(&in, st));
    (void)asx__tell_if_needed(cx->rt_, cx->task_);
    return st;
}

/* As tell(), of a status that says nothing of the caller: it may have been cancelled, too. */
static asx_status tell_too(asx_cx *cx, asx_status st)
{
    if (st != ASX_E_CANCELLED)
        return st;
    ASX__GATE_CX(cx, tell_too(&in, st));
    asx__turn(cx->rt_, cx->task_, ASX__TURN_IS_CANCELLED, 0, 0);
    return tell(cx, st);
}

/* A cancel, or the time-out of the scope itself, may come from another worker before everybody has
 * been started. Who was refused for that reason hears what closing the scope says. */
static bool came_too_late(asx_status setup)
{
    return setup == ASX_E_REGION_NOT_OPEN || setup == ASX_E_ADMISSION_CLOSED;
}

static asx_status open_scope(asx_cx *cx, const char *name, asx_region *ret_region)
{
    asx_region_options options = {
        .name = name,
        .policy = ASX_POLICY_COLLECT,
        .caps = asx_cx_caps(cx), /* branches may do no more than the caller */
    };
    return asx_region_open(cx, &options, ret_region);
}

/* Whatever the close of the scope says, the caller says that, or always something else. */
static void close_is_heard(const asx_region *region, bool answers)
{
    asx__region *record;
    if (asx__region_resolve(region, ASX_STATE_MASK_ALL, &record) < 0)
        return;
    record->answers = answers;
    record->unheard = !answers;
}

static asx_status alloc_array(const asx_region *region, size_t count, size_t size, void **ret_array)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return ASX_E_RESOURCE_EXHAUSTED;
    return asx_region_alloc(region, bytes, ret_array);
}

static asx_status spawn_branch(const asx_region *region, const asx_branch *branch,
                               asx_task *ret_task)
{
    asx_spawn_options options = { .name = branch->name };
    return asx_spawn_task(region, branch->fn, branch->arg, &options, ret_task);
}

/* ---- join all ------------------------------------------------------------------------------- */

typedef struct join_all {
    asx_task *tasks; /* in the region's memory */
    asx_join_result *results; /* the caller's, or NULL */
    size_t count;
    bool started; /* all of them */
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
    return ASX_OK;
}

static asx_status start_all(const asx_region *region, join_all *all, const asx_branch *branches)
{
    void *memory;
    asx_status st = alloc_array(region, all->count, sizeof *all->tasks, &memory);
    if (st < 0)
        return st;
    all->tasks = memory;
    st = asx_defer(region, collect, all);
    for (size_t i = 0; i < all->count && st == ASX_OK; i++)
        st = spawn_branch(region, &branches[i], &all->tasks[i]);
    all->started = st == ASX_OK;
    return st;
}

asx_status asx_join_all(asx_cx *cx, const asx_branch *branches, size_t count,
                        asx_join_result *ret_results, asx_outcome *ret_outcome)
{
    asx__task *task;
    asx_region region;
    join_all all = { .results = ret_results, .count = count, .finish = ASX__FINISH_UNIT };
    asx_status st = enter(cx, branches, count, &task);
    if (st < 0)
        return st;
    if (count != 0) {
        st = open_scope(cx, "join-all", &region);
        if (st < 0)
            return st;
        asx_status setup = start_all(&region, &all, branches);
        st = asx_region_close(&region, setup);
        if (setup < 0)
            return came_too_late(setup) ? tell(cx, st) : setup;
    }
    if (ret_outcome != NULL)
        *ret_outcome = all.finish.outcome;
    return tell(cx, st);
}

/* ---- race ----------------------------------------------------------------------------------- */

typedef struct watcher watcher;

typedef struct race {
    asx__waitable wait;
    asx__task *racer; /* parked in `wait`; else NULL */
    asx__finish *finishes;
    watcher *watchers;
    size_t count;
    size_t finished;
    bool some_run; /* when the winner was picked */
} race;

struct watcher {
    race *race;
    asx_task branch;
    asx_join_result result;
    bool masked;
};

static void race_unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    race *r = waitable;
    (void)rt;
    ASX__ASSERT(r->racer == task && !granted);
    r->racer = NULL;
}

static const asx__waitable_ops race_ops = { ASX__WAIT_RACE, NULL, race_unpublish };

/* A branch has ended: the racer is told, if it waits. */
static asx_status note_finish(asx_cx *cx, const watcher *w)
{
    ASX__GATE_CX(cx, note_finish(&in, w));
    race *r = w->race;
    size_t i = (size_t)(w - r->watchers);
    r->finishes[i].at = asx_now(cx);
    r->finishes[i].outcome = w->result.outcome;
    r->finished++;
    if (r->racer != NULL) {
        asx__task *racer = r->racer;
        r->racer = NULL;
        asx__wake(cx->rt_, racer, ASX_OK, false);
    }
    return ASX_OK;
}

static asx_poll watch(asx_cx *cx, void *state)
{
    watcher *w = state;
    asx_join_result result;
    if (!w->masked) { /* a cancel of the race ends the branches, and that must be seen */
        (void)asx_mask_begin(cx, 0); /* fails only in a race that was not set up */
        w->masked = true;
    }
    asx_status st = asx_join(cx, &w->branch, &result);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    if (st < 0) /* the branches are drained, and their records gone */
        return ASX_POLL_READY;
    w->result = result;
    (void)note_finish(cx, w);
    return ASX_POLL_READY;
}

/* With the extra part that its mask needs, so that a race that has begun can be watched. */
static asx_status spawn_watcher(const asx_region *region, watcher *w)
{
    ASX__GATE_REGION(region, spawn_watcher(&in, w));
    asx_spawn_options options = { .name = "watcher" };
    asx_task handle;
    asx__task *task;
    region->rt_->own_poll = true;
    asx_status st = asx_spawn_poll_task(region, watch, w, &options, &handle);
    region->rt_->own_poll = false;
    if (st == ASX_OK)
        st = asx__task_resolve(&handle, &task);
    if (st == ASX_OK && asx__task_extra(region->rt_, task) == NULL)
        st = ASX_E_RESOURCE_EXHAUSTED;
    return st;
}

static asx_status start_race(race *r, const asx_region *outer, const asx_region *inner,
                             const asx_branch *branches)
{
    static const asx__finish never = ASX__FINISH_NEVER;
    void *memory;
    if (r->count == 0)
        return ASX_OK;
    asx_status st = alloc_array(outer, r->count, sizeof *r->finishes, &memory);
    if (st < 0)
        return st;
    r->finishes = memory;
    st = alloc_array(outer, r->count, sizeof *r->watchers, &memory);
    if (st < 0)
        return st;
    r->watchers = memory;
    for (size_t i = 0; i < r->count && st == ASX_OK; i++) {
        watcher *w = &r->watchers[i];
        *w = (watcher){ .race = r };
        r->finishes[i] = never;
        st = spawn_branch(inner, &branches[i], &w->branch);
        if (st == ASX_OK)
            st = spawn_watcher(outer, w);
    }
    return st;
}

/* Waits until somebody has finished, and says who wins. ASX_E_CANCELLED. */
static asx_status await_first(asx_cx *cx, race *r, const asx_region *branches, size_t *ret_winner)
{
    ASX__GATE_CX(cx, await_first(&in, r, branches, ret_winner));
    asx_runtime *rt = cx->rt_;
    asx__task *task = cx->task_;
    asx__turn(rt, task, ASX__TURN_FIRST_OF, asx__serial(branches->id.generation), 0);
    while (asx__race_next(r->count, r->finished, false) == ASX__RACE_WAIT) {
        asx_status st = asx__checkpoint(rt, task);
        if (st < 0)
            return st;
        r->racer = task;
        st = asx__park(rt, task, &r->wait, NULL);
        if (st < 0)
            return st;
    }
    asx_status st = asx__race_pick(r->finishes, r->count, ret_winner);
    ASX__ASSERT(st == ASX_OK);
    r->some_run = asx__race_next(r->count, r->finished, false) == ASX__RACE_CANCEL_LOSERS;
    return ASX_OK;
}

/* Returns when all have ended; losers that run are cancelled first. */
static void drain(race *r, asx_region *inner)
{
    asx_cancel_reason lost = { .kind = ASX_CANCEL_RACE_LOST };
    (void)asx_region_close_with(inner, ASX_OK, r->some_run ? &lost : NULL, NULL);
}

asx_status asx_race(asx_cx *cx, const asx_branch *branches, size_t count, size_t *ret_winner,
                    asx_join_result *ret_result)
{
    asx__task *task;
    asx_region outer, inner;
    race r = { .wait.ops = &race_ops, .count = count };
    asx_status st = enter(cx, branches, count, &task);
    if (st < 0)
        return st;
    st = open_scope(cx, "race", &outer);
    if (st < 0)
        return st;
    st = open_scope(cx, "branches", &inner); /* inside the innermost open one: `outer` */
    if (st < 0) {
        (void)asx_region_close(&outer, st);
        return st;
    }
    close_is_heard(&outer, false);
    close_is_heard(&inner, false);
    size_t winner = 0;
    st = start_race(&r, &outer, &inner, branches);
    if (st == ASX_OK)
        st = await_first(cx, &r, &inner, &winner);
    if (st < 0) {
        (void)asx_region_close(&inner, st);
        asx_status end = asx_region_close(&outer, st);
        return came_too_late(st) ? tell(cx, end) : st;
    }
    asx_join_result result = r.watchers[winner].result;
    drain(&r, &inner);
    (void)asx_region_close(&outer, ASX_OK);
    if (ret_winner != NULL)
        *ret_winner = winner;
    if (ret_result != NULL)
        *ret_result = result;
    return tell_too(cx, result.outcome.status);
}

/* ---- time-out ------------------------------------------------------------------------------- */

asx_status asx_timeout(asx_cx *cx, uint64_t duration_ns, asx_task_fn fn, void *arg)
{
    asx__task *task;
    asx_region region;
    asx_branch branch = { "timeout", fn, arg };
    asx_status st = enter(cx, &branch, 1, &task);
    if (st < 0)
        return st;
    asx_region_options options = {
        .name = "timeout",
        .timeout_ns = duration_ns,
        .caps = asx_cx_caps(cx),
    };
    st = asx_region_open(cx, &options, &region);
    if (st < 0)
        return st;
    close_is_heard(&region, true);
    asx_status setup = asx_spawn(&region, branch.name, fn, arg);
    if (setup == ASX_OK && duration_ns == 0) { /* for a region that means none; here: passed */
        asx_cancel_reason passed = { .kind = ASX_CANCEL_TIMEOUT };
        st = asx_region_close_with(&region, ASX_E_TIMEOUT, &passed, NULL);
    } else {
        st = asx_region_close(&region, setup);
    }
    return setup < 0 && !came_too_late(setup) ? setup : tell(cx, st);
}
