/* race.c - the first branch to end wins.
 *
 * Two regions: the branches are tasks of the inner one, and for each there is a watcher, a poll
 * task of the outer one, that joins it. So losers can be cancelled without their watchers, and an
 * end of any kind is noticed, also of a branch that never got a stack. The racer waits for the
 * first watcher, picks the winner among those that have ended by then (the earliest; the first in
 * the array when they ended at the same time), cancels the rest, drains, returns.
 *
 *     watcher: finished + 1, wakes the racer      racer: WAIT -> CANCEL_LOSERS -> RETURN_WINNER
 *
 * A time-out is the outer region's: it cancels the branches, and a "winner" that was cancelled by
 * it is none.
 *
 * Rejected: a cleanup of each branch that tells the racer (it does not run for a branch that had
 * no stack to start on, and the outcome is not decided when it runs); a channel between them, as
 * gather.c has it (the laboratory knows the wait for the first as one operation, which makes fewer
 * schedules; and the caller's context may not have that capability).
 */
#include "flow/flow.h"

typedef struct race_watcher race_watcher;

typedef struct race {
    asx__waitable wait;
    asx__task *racer; /* parked in `wait`; else NULL */
    asx__finish *finishes;
    race_watcher *watchers;
    size_t count;
    size_t finished;
    bool some_run; /* when the winner was picked */
} race;

struct race_watcher {
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
static asx_status note_finish(asx_cx *cx, const race_watcher *w)
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
    race_watcher *w = state;
    asx_join_result result;
    if (!w->masked) { /* a cancel of the race ends the branches, and that must be seen */
        ASX_IGNORE(asx_mask_begin(cx, 0)); /* fails only in a race that was not set up */
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

static asx_status start_race(race *r, const asx_region *outer, const asx_region *inner,
                             const asx_branch *branches, const asx_flow_options *options)
{
    static const asx__finish never = ASX__FINISH_NEVER;
    void *memory;
    if (r->count == 0)
        return ASX_OK;
    asx_status st = asx__flow_array(outer, r->count, sizeof *r->finishes, &memory);
    if (st < 0)
        return st;
    r->finishes = memory;
    st = asx__flow_array(outer, r->count, sizeof *r->watchers, &memory);
    if (st < 0)
        return st;
    r->watchers = memory;
    for (size_t i = 0; i < r->count && st == ASX_OK; i++) {
        race_watcher *w = &r->watchers[i];
        *w = (race_watcher){ .race = r };
        r->finishes[i] = never;
        st = asx__flow_spawn(inner, &branches[i], options, &w->branch);
        if (st == ASX_OK)
            st = asx__flow_watch(outer, watch, w, true);
    }
    return st;
}

/* Waits until somebody has finished, and says who wins. ASX_E_CANCELLED. */
static asx_status await_first(asx_cx *cx, race *r, const asx_region *branches, size_t *ret_winner)
{
    ASX__GATE_CX(cx, await_first(&in, r, branches, ret_winner));
    asx_runtime *rt = cx->rt_;
    asx__task *task = cx->task_;
    (void)asx__announce(rt, task, ASX__OP_FIRST_OF, asx__serial(branches->id.generation));
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
    ASX_IGNORE(asx_region_close_with(inner, ASX_OK, r->some_run ? &lost : NULL, NULL));
}

/* Opens both regions; the options' time-out is the outer one's. */
static asx_status open_both(asx_cx *cx, const asx_flow_options *options, asx_region *ret_outer,
                            asx_region *ret_inner)
{
    asx_status st = asx__flow_open(cx, "race", options, true, ret_outer);
    if (st < 0)
        return st;
    st = asx__flow_open(cx, "branches", NULL, false, ret_inner); /* inside the innermost: `outer` */
    if (st < 0) {
        ASX_IGNORE(asx_region_close(ret_outer, st));
        return st;
    }
    asx__flow_close_is_heard(ret_outer, false);
    asx__flow_close_is_heard(ret_inner, false);
    return ASX_OK;
}

/* Never completes, but may be cancelled, or time out. */
static asx_status race_of_none(asx_cx *cx, uint64_t timeout_ns)
{
    asx_status st = asx_sleep(cx, timeout_ns);
    return st == ASX_OK ? ASX_E_TIMEOUT : st;
}

static asx_status run_race(asx_cx *cx, race *r, const asx_branch *branches,
                           const asx_flow_options *options, size_t *ret_winner,
                           asx_join_result *ret_result)
{
    asx_region outer, inner;
    size_t winner = 0;
    asx_status st = open_both(cx, options, &outer, &inner);
    if (st < 0)
        return st;
    st = start_race(r, &outer, &inner, branches, options);
    if (st == ASX_OK)
        st = await_first(cx, r, &inner, &winner);
    if (st < 0) {
        ASX_IGNORE(asx_region_close(&inner, st));
        asx_status end = asx_region_close(&outer, st);
        return asx__flow_too_late(st) ? asx__flow_tell(cx, end) : st;
    }
    asx_join_result result = r->watchers[winner].result;
    drain(r, &inner);
    st = asx_region_close(&outer, ASX_OK);
    if (st == ASX_E_TIMEOUT && result.outcome.kind == ASX_OUTCOME_CANCELLED)
        return st;
    *ret_winner = winner;
    *ret_result = result;
    return asx__flow_tell_too(cx, result.outcome.status);
}

asx_status asx_race_all(asx_cx *cx, const asx_branch *branches, size_t count,
                        const asx_flow_options *options, size_t *ret_winner,
                        asx_join_result *ret_result)
{
    asx__task *task;
    race r = { .wait.ops = &race_ops, .count = count };
    size_t winner = ASX_NO_BRANCH;
    asx_join_result result;
    asx_status st = asx__flow_enter(cx, ASX_CAP_SPAWN, branches, count, &task);
    if (st == ASX_OK && count == 0 && options != NULL && options->timeout_ns != 0)
        st = race_of_none(cx, options->timeout_ns);
    else if (st == ASX_OK)
        st = run_race(cx, &r, branches, options, &winner, &result);
    if (ret_winner != NULL)
        *ret_winner = winner;
    if (ret_result != NULL)
        *ret_result = winner == ASX_NO_BRANCH ? asx__flow_no_result(st) : result;
    return st;
}
