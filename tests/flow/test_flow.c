/* test_flow.c - join all, race and time-out: what they return, when, and that nothing is left. */
#include <asx/asx.h>

#include "harness.h"

#include <string.h>

/* ---- programs ------------------------------------------------------------------------------- */

static void program_with(const asx_runtime_config *config, asx_task_fn fn, void *arg,
                         asx_status want)
{
    asx_runtime *rt;
    CHECK_STATUS(asx_runtime_create(config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, fn, arg), want);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    asx_stats stats;
    CHECK_STATUS(asx_runtime_stats(rt, &stats), ASX_OK);
    CHECK_EQ(stats.tasks_live, 0);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static void program(asx_task_fn fn, void *arg)
{
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL };
    program_with(&config, fn, arg, ASX_OK);
}

struct leaf {
    uint64_t sleep_ms;
    asx_status status;
    uint64_t value;
    uint64_t cleanup_ms; /* after a cancel, masked */
    bool panic;
    /* what happened */
    bool began, ended;
    asx_status slept;
    asx_cancel_kind why;
    asx_time ended_at;
};

static asx_status run_leaf(asx_cx *cx, void *arg)
{
    struct leaf *leaf = arg;
    leaf->began = true;
    leaf->slept = asx_sleep(cx, leaf->sleep_ms * ASX_MS);
    if (leaf->slept == ASX_E_CANCELLED) {
        const asx_cancel_reason *reason;
        CHECK_STATUS(asx_cx_cancel_reason(cx, &reason), ASX_OK);
        leaf->why = reason->kind;
        if (leaf->cleanup_ms != 0) {
            CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
            CHECK_STATUS(asx_sleep(cx, leaf->cleanup_ms * ASX_MS), ASX_OK);
            CHECK_STATUS(asx_mask_end(cx), ASX_OK);
        }
    }
    leaf->ended = true;
    leaf->ended_at = asx_now(cx);
    if (leaf->slept < 0)
        return leaf->slept;
    if (leaf->panic)
        asx_panic(cx, "a leaf that panics");
    CHECK_STATUS(asx_task_set_value(cx, leaf->value), ASX_OK);
    return leaf->status;
}

static asx_status timed(asx_cx *cx, uint64_t duration_ns, asx_task_fn fn, void *arg)
{
    return asx_timeout(cx, &(asx_branch){ "timeout", fn, arg }, duration_ns, NULL, NULL);
}

#define BRANCH(leaf_) { #leaf_, run_leaf, &(leaf_) }

/* ---- join all ------------------------------------------------------------------------------- */

static asx_status join_three(asx_cx *cx, void *arg)
{
    (void)arg;
    struct leaf a = { .sleep_ms = 30, .value = 1 }, b = { .sleep_ms = 10, .value = 2 },
                c = { .sleep_ms = 20, .value = 3 };
    asx_branch branches[] = { BRANCH(a), BRANCH(b), BRANCH(c) };
    asx_join_result results[3];
    asx_outcome outcome;
    asx_time start = asx_now(cx);
    CHECK_STATUS(asx_join_all(cx, branches, 3, NULL, results, &outcome), ASX_OK);
    CHECK_EQ(asx_now(cx) - start, 30 * ASX_MS); /* they run side by side */
    CHECK_EQ(outcome.kind, ASX_OUTCOME_OK);
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_EQ(results[i].outcome.kind, ASX_OUTCOME_OK);
        CHECK_EQ(results[i].value, i + 1);
    }
    CHECK_STATUS(asx_join_all(cx, branches, 3, NULL, NULL, NULL), ASX_OK);
    start = asx_now(cx);
    outcome.kind = ASX_OUTCOME_PANICKED;
    CHECK_STATUS(asx_join_all(cx, NULL, 0, NULL, NULL, &outcome), ASX_OK);
    CHECK_EQ(outcome.kind, ASX_OUTCOME_OK);
    CHECK_EQ(asx_now(cx), start);
    return ASX_OK;
}

ASX_TEST(join_all_runs_every_branch_to_its_end)
{
    program(join_three, NULL);
}

static asx_status join_failures(asx_cx *cx, void *arg)
{
    (void)arg;
    struct leaf a = { .sleep_ms = 40, .value = 1 },
                b = { .sleep_ms = 30, .status = ASX_E_FULL, .value = 2 },
                c = { .sleep_ms = 10, .status = ASX_E_EMPTY };
    asx_branch branches[] = { BRANCH(a), BRANCH(b), BRANCH(c) };
    asx_join_result results[3];
    asx_outcome outcome;
    CHECK_STATUS(asx_join_all(cx, branches, 3, NULL, results, &outcome), ASX_E_FULL);
    CHECK_EQ(outcome.kind, ASX_OUTCOME_ERR);
    CHECK_STATUS(outcome.status, ASX_E_FULL); /* left, not first in time */
    CHECK_EQ(results[0].outcome.kind, ASX_OUTCOME_OK); /* not cancelled by the others */
    CHECK_EQ(results[0].value, 1);
    CHECK_STATUS(results[1].outcome.status, ASX_E_FULL);
    CHECK_EQ(results[1].value, 2);
    CHECK_STATUS(results[2].outcome.status, ASX_E_EMPTY);
    CHECK_STATUS(a.slept, ASX_OK);

    struct leaf p = { .sleep_ms = 5, .panic = true };
    asx_branch with_panic[] = { BRANCH(b), BRANCH(p), BRANCH(a) };
    CHECK_STATUS(asx_join_all(cx, with_panic, 3, NULL, results, &outcome), ASX_E_PANICKED);
    CHECK_EQ(outcome.kind, ASX_OUTCOME_PANICKED);
    CHECK_EQ(results[1].outcome.kind, ASX_OUTCOME_PANICKED);
    CHECK_EQ(results[2].outcome.kind, ASX_OUTCOME_OK);
    return ASX_OK;
}

ASX_TEST(join_all_joins_outcomes_and_cancels_nobody)
{
    program(join_failures, NULL);
}

struct victim {
    asx_task_fn fn;
    asx_status got;
    asx_time returned_at;
    struct leaf a, b;
    asx_join_result results[2];
    asx_outcome outcome;
    size_t winner;
};

static asx_status join_victim(asx_cx *cx, void *arg)
{
    struct victim *v = arg;
    asx_branch branches[] = { BRANCH(v->a), BRANCH(v->b) };
    v->got = asx_join_all(cx, branches, 2, NULL, v->results, &v->outcome);
    v->returned_at = asx_now(cx);
    return v->got;
}

/* Runs v->fn in a task and cancels that at 10 ms. */
static asx_status cancel_at_ten(asx_cx *cx, void *arg)
{
    struct victim *v = arg;
    asx_region region;
    asx_task task;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&region, v->fn, v, NULL, &task), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 10 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&task, NULL), ASX_OK);
    ASX_IGNORE(asx_region_close(&region, ASX_OK));
    return ASX_OK;
}

ASX_TEST(a_cancel_of_join_all_passes_to_the_branches_and_waits_for_them)
{
    struct victim v = { .fn = join_victim, .a = { .sleep_ms = 5 },
                        .b = { .sleep_ms = 100, .cleanup_ms = 7 } };
    program(cancel_at_ten, &v);
    CHECK_STATUS(v.got, ASX_E_CANCELLED);
    CHECK_STATUS(v.a.slept, ASX_OK);
    CHECK_STATUS(v.b.slept, ASX_E_CANCELLED);
    CHECK_EQ(v.b.why, ASX_CANCEL_PARENT);
    CHECK(v.b.ended);
    CHECK_EQ(v.returned_at, 17 * ASX_MS);
    CHECK_EQ(v.outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_EQ(v.results[0].outcome.kind, ASX_OUTCOME_OK);
    CHECK_EQ(v.results[1].outcome.kind, ASX_OUTCOME_CANCELLED);
}

/* ---- race ----------------------------------------------------------------------------------- */

static asx_status race_three(asx_cx *cx, void *arg)
{
    (void)arg;
    struct leaf a = { .sleep_ms = 30, .value = 1 }, b = { .sleep_ms = 10, .value = 2 },
                c = { .sleep_ms = 20, .value = 3, .cleanup_ms = 4 };
    asx_branch branches[] = { BRANCH(a), BRANCH(b), BRANCH(c) };
    asx_join_result result;
    size_t winner = 9;
    asx_stats before, after;
    CHECK_STATUS(asx_runtime_stats(asx_cx_runtime(cx), &before), ASX_OK);
    CHECK_STATUS(asx_race_all(cx, branches, 3, NULL, &winner, &result), ASX_OK);
    CHECK_STATUS(asx_runtime_stats(asx_cx_runtime(cx), &after), ASX_OK);
    CHECK_EQ(winner, 1);
    CHECK_EQ(result.value, 2);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_OK);
    CHECK_STATUS(a.slept, ASX_E_CANCELLED);
    CHECK_EQ(a.why, ASX_CANCEL_RACE_LOST);
    CHECK_EQ(c.why, ASX_CANCEL_RACE_LOST);
    CHECK(a.ended && c.ended);
    CHECK_EQ(c.ended_at, 14 * ASX_MS);
    CHECK_EQ(asx_now(cx), 14 * ASX_MS); /* the loser's cleanup is waited for */
    CHECK_EQ(after.tasks_live, before.tasks_live);
    CHECK_EQ(after.regions_live, before.regions_live);
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
    CHECK_STATUS(asx_race_all(cx, branches, 1, NULL, NULL, NULL), ASX_OK);
    return ASX_OK;
}

ASX_TEST(race_returns_the_first_and_drains_the_losers)
{
    program(race_three, NULL);
}

static asx_status race_ends(asx_cx *cx, void *arg)
{
    (void)arg;
    struct leaf slow = { .sleep_ms = 30 }, fails = { .sleep_ms = 10, .status = ASX_E_FULL },
                panics = { .sleep_ms = 5, .panic = true };
    asx_branch fail[] = { BRANCH(slow), BRANCH(fails) };
    asx_branch panic[] = { BRANCH(slow), BRANCH(fails), BRANCH(panics) };
    asx_join_result result;
    size_t winner;
    CHECK_STATUS(asx_race_all(cx, fail, 2, NULL, &winner, &result), ASX_E_FULL);
    CHECK_EQ(winner, 1);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_ERR);
    CHECK_STATUS(slow.slept, ASX_E_CANCELLED);
    CHECK_STATUS(asx_race_all(cx, panic, 3, NULL, &winner, &result), ASX_E_PANICKED);
    CHECK_EQ(winner, 2);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_PANICKED);
    return ASX_OK;
}

ASX_TEST(a_branch_wins_however_it_ends)
{
    program(race_ends, NULL);
}

static asx_status late_start(asx_cx *cx, void *arg)
{
    asx_status st = asx_sleep(cx, 2 * ASX_MS);
    return st < 0 ? st : run_leaf(cx, arg);
}

static asx_status race_ties(asx_cx *cx, void *arg)
{
    (void)arg;
    struct leaf a = { .sleep_ms = 10, .value = 1 }, b = { .sleep_ms = 10, .value = 2 },
                c = { .sleep_ms = 8, .value = 3 };
    asx_branch branches[] = { BRANCH(a), BRANCH(b) };
    asx_branch late[] = { { "late", late_start, &c }, BRANCH(b) }; /* its timer is set later */
    asx_join_result result;
    size_t winner;
    CHECK_STATUS(asx_race_all(cx, branches, 2, NULL, &winner, &result), ASX_OK);
    CHECK_EQ(winner, 0);
    CHECK_EQ(result.value, 1);
    CHECK_STATUS(asx_race_all(cx, late, 2, NULL, &winner, &result), ASX_OK);
    CHECK_EQ(winner, 0);
    CHECK_EQ(result.value, 3);
    return ASX_OK;
}

ASX_TEST(on_a_tie_the_earlier_in_the_array_wins)
{
    program(race_ties, NULL);
}

static asx_status race_victim(asx_cx *cx, void *arg)
{
    struct victim *v = arg;
    asx_branch branches[] = { BRANCH(v->a), BRANCH(v->b) };
    v->winner = 77;
    v->got = asx_race_all(cx, branches, 2, NULL, &v->winner, &v->results[0]);
    v->returned_at = asx_now(cx);
    return v->got;
}

ASX_TEST(a_cancelled_race_has_no_winner_and_waits_for_its_branches)
{
    struct victim v = { .fn = race_victim, .a = { .sleep_ms = 50, .cleanup_ms = 3 },
                        .b = { .sleep_ms = 100, .cleanup_ms = 7 } };
    program(cancel_at_ten, &v);
    CHECK_STATUS(v.got, ASX_E_CANCELLED);
    CHECK_EQ(v.winner, ASX_NO_BRANCH);
    CHECK_EQ(v.a.why, ASX_CANCEL_PARENT);
    CHECK(v.a.ended && v.b.ended);
    CHECK_EQ(v.returned_at, 17 * ASX_MS);
}

static asx_status cancel_who_drains(asx_cx *cx, void *arg)
{
    struct victim *v = arg;
    asx_region region;
    asx_task task;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&region, race_victim, v, NULL, &task), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 10 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&task, NULL), ASX_OK);
    CHECK_STATUS(asx_join(cx, &task, &v->results[1]), ASX_OK);
    return asx_region_close(&region, ASX_OK);
}

/* It has a winner, and says so: nobody was told of a cancel that came while it waits for the
 * others. */
ASX_TEST(a_race_that_is_cancelled_while_it_drains_has_its_winner_and_ends_ok)
{
    struct victim v = { .a = { .sleep_ms = 5 }, .b = { .sleep_ms = 100, .cleanup_ms = 20 } };
    program(cancel_who_drains, &v);
    CHECK_STATUS(v.got, ASX_OK);
    CHECK_EQ(v.winner, 0);
    CHECK_EQ(v.b.why, ASX_CANCEL_RACE_LOST);
    CHECK_EQ(v.returned_at, 25 * ASX_MS);
    CHECK_EQ(v.results[1].outcome.kind, ASX_OUTCOME_OK);
}

static asx_status race_of_none(asx_cx *cx, void *arg)
{
    struct victim *v = arg;
    v->winner = 77;
    v->got = asx_race_all(cx, NULL, 0, NULL, &v->winner, &v->results[0]);
    v->returned_at = asx_now(cx);
    return v->got;
}

ASX_TEST(a_race_of_none_ends_only_when_it_is_cancelled)
{
    struct victim v = { .fn = race_of_none };
    program(cancel_at_ten, &v);
    CHECK_STATUS(v.got, ASX_E_CANCELLED);
    CHECK_EQ(v.winner, ASX_NO_BRANCH);
    CHECK_EQ(v.returned_at, 10 * ASX_MS);
}

static asx_status masked_race(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    (void)race_victim(cx, arg);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_masked_race_ends_when_its_branches_do)
{
    struct victim v = { .fn = masked_race, .a = { .sleep_ms = 50 },
                        .b = { .sleep_ms = 100, .cleanup_ms = 7 } };
    program(cancel_at_ten, &v);
    CHECK(v.a.ended && v.b.ended);
    CHECK(v.winner < 2);
    CHECK_LE(v.returned_at, 50 * ASX_MS + 7 * ASX_MS);
}

static asx_status drain_victim(asx_cx *cx, void *arg)
{
    struct victim *v = arg;
    (void)race_victim(cx, v);
    v->results[1].outcome.status = asx_checkpoint(cx);
    return ASX_OK;
}

ASX_TEST(a_cancel_that_comes_while_losers_are_drained_does_not_take_the_winner_away)
{
    struct victim v = { .fn = drain_victim, .a = { .sleep_ms = 8, .value = 5 },
                        .b = { .sleep_ms = 100, .cleanup_ms = 20 } };
    program(cancel_at_ten, &v);
    CHECK_STATUS(v.got, ASX_OK);
    CHECK_EQ(v.winner, 0);
    CHECK_EQ(v.results[0].value, 5);
    CHECK_EQ(v.returned_at, 28 * ASX_MS);
    CHECK_STATUS(v.results[1].outcome.status, ASX_E_CANCELLED);
}

/* ---- time-out ------------------------------------------------------------------------------- */

static asx_status timeouts(asx_cx *cx, void *arg)
{
    (void)arg;
    struct leaf quick = { .sleep_ms = 5 }, slow = { .sleep_ms = 50, .cleanup_ms = 2 },
                fails = { .sleep_ms = 5, .status = ASX_E_FULL },
                panics = { .sleep_ms = 5, .panic = true };
    CHECK_STATUS(timed(cx, 10 * ASX_MS, run_leaf, &quick), ASX_OK);
    CHECK_EQ(asx_now(cx), 5 * ASX_MS);
    CHECK_STATUS(timed(cx, 10 * ASX_MS, run_leaf, &slow), ASX_E_TIMEOUT);
    CHECK_EQ(asx_now(cx), 17 * ASX_MS); /* its cleanup is waited for */
    CHECK_EQ(slow.why, ASX_CANCEL_TIMEOUT);
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK); /* the caller is not cancelled by that */
    CHECK_STATUS(timed(cx, 10 * ASX_MS, run_leaf, &fails), ASX_E_FULL);
    CHECK_STATUS(timed(cx, 10 * ASX_MS, run_leaf, &panics), ASX_E_PANICKED);
    CHECK_STATUS(timed(cx, UINT64_MAX, run_leaf, &quick), ASX_OK);
    asx_time before = asx_now(cx);
    struct leaf none = { .sleep_ms = 5 };
    CHECK_STATUS(timed(cx, 0, run_leaf, &none), ASX_E_TIMEOUT);
    CHECK_EQ(asx_now(cx), before);
    CHECK(none.ended); /* it was told, and ran to its end */
    CHECK_EQ(none.why, ASX_CANCEL_TIMEOUT);
    return ASX_OK;
}

ASX_TEST(timeout_returns_what_came_first)
{
    program(timeouts, NULL);
}

static asx_status timeout_victim(asx_cx *cx, void *arg)
{
    struct victim *v = arg;
    v->got = timed(cx, 40 * ASX_MS, run_leaf, &v->a);
    v->returned_at = asx_now(cx);
    return v->got;
}

ASX_TEST(a_cancel_of_the_caller_is_not_a_timeout)
{
    struct victim v = { .fn = timeout_victim, .a = { .sleep_ms = 50, .cleanup_ms = 3 } };
    program(cancel_at_ten, &v);
    CHECK_STATUS(v.got, ASX_E_CANCELLED);
    CHECK_EQ(v.a.why, ASX_CANCEL_PARENT);
    CHECK_EQ(v.returned_at, 13 * ASX_MS);
}

static asx_status inner_timeout(asx_cx *cx, void *arg)
{
    struct leaf *leaf = arg;
    asx_status st = timed(cx, 20 * ASX_MS, run_leaf, leaf);
    return st == ASX_E_TIMEOUT ? ASX_OK : st; /* handled */
}

static asx_status nested_timeouts(asx_cx *cx, void *arg)
{
    (void)arg;
    struct leaf slow = { .sleep_ms = 100 };
    CHECK_STATUS(timed(cx, 30 * ASX_MS, inner_timeout, &slow), ASX_OK);
    CHECK_EQ(asx_now(cx), 20 * ASX_MS);
    CHECK_STATUS(timed(cx, 10 * ASX_MS, inner_timeout, &slow), ASX_E_TIMEOUT);
    CHECK_EQ(asx_now(cx), 30 * ASX_MS);
    return ASX_OK;
}

ASX_TEST(the_earlier_of_two_nested_timeouts_counts)
{
    program(nested_timeouts, NULL);
}

/* ---- called wrong --------------------------------------------------------------------------- */

struct borrowed {
    asx_cx *cx;
};

static asx_status with_another_context(asx_cx *cx, void *arg)
{
    struct borrowed *b = arg;
    struct leaf a = { 0 };
    asx_branch branches[] = { BRANCH(a) };
    asx_outcome outcome;
    (void)cx;
    CHECK_STATUS(asx_join_all(b->cx, branches, 1, NULL, NULL, &outcome), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_race_all(b->cx, branches, 1, NULL, NULL, NULL), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(timed(b->cx, ASX_MS, run_leaf, &a), ASX_E_WRONG_CONTEXT);
    CHECK(!a.began);
    return ASX_OK;
}

static asx_poll in_a_poll_task(asx_cx *cx, void *arg)
{
    struct leaf *a = arg;
    asx_branch branches[] = { { "a", run_leaf, a } };
    CHECK_STATUS(asx_join_all(cx, branches, 1, NULL, NULL, NULL), ASX_E_NOT_SUPPORTED);
    CHECK_STATUS(asx_race_all(cx, branches, 1, NULL, NULL, NULL), ASX_E_NOT_SUPPORTED);
    CHECK_STATUS(timed(cx, ASX_MS, run_leaf, a), ASX_E_NOT_SUPPORTED);
    return ASX_POLL_READY;
}

static asx_status misuse(asx_cx *cx, void *arg)
{
    (void)arg;
    struct leaf a = { 0 };
    asx_branch branches[] = { BRANCH(a), { "no function", NULL, NULL } };
    asx_cx none = { 0 }, less;
    asx_outcome outcome;
    size_t winner = 77;
    asx_region region;
    struct borrowed b = { cx };
    CHECK_STATUS(asx_join_all(NULL, branches, 1, NULL, NULL, &outcome), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_join_all(&none, branches, 1, NULL, NULL, &outcome), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_join_all(cx, NULL, 1, NULL, NULL, &outcome), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_join_all(cx, branches, 2, NULL, NULL, &outcome), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_race_all(NULL, branches, 1, NULL, &winner, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_race_all(&none, branches, 1, NULL, &winner, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_race_all(cx, NULL, 1, NULL, &winner, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_race_all(cx, branches, 2, NULL, &winner, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(timed(NULL, ASX_MS, run_leaf, &a), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(timed(&none, ASX_MS, run_leaf, &a), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(timed(cx, ASX_MS, NULL, &a), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_ALL & ~(uint32_t)ASX_CAP_SPAWN, &less), ASX_OK);
    CHECK_STATUS(asx_join_all(&less, branches, 1, NULL, NULL, &outcome), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_race_all(&less, branches, 1, NULL, &winner, NULL), ASX_E_CAPABILITY);
    CHECK_STATUS(timed(&less, ASX_MS, run_leaf, &a), ASX_E_CAPABILITY);
    CHECK_EQ(winner, ASX_NO_BRANCH);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_spawn(&region, "borrows", with_another_context, &b), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&region, "polls", in_a_poll_task, &a), ASX_OK);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    CHECK(!a.began);
    return ASX_OK;
}

ASX_TEST(flow_calls_refuse_what_they_cannot_do)
{
    program(misuse, NULL);
}

static asx_status wants_less(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_CAPABILITY);
    return ASX_OK;
}

static asx_status narrowed(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_cx less;
    asx_branch branches[] = { { "a", wants_less, NULL }, { "b", wants_less, NULL } };
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_SPAWN, &less), ASX_OK);
    CHECK_STATUS(asx_join_all(&less, branches, 2, NULL, NULL, NULL), ASX_OK);
    CHECK_STATUS(asx_race_all(&less, branches, 2, NULL, NULL, NULL), ASX_OK);
    CHECK_STATUS(timed(&less, ASX_MS, wants_less, NULL), ASX_OK);
    return ASX_OK;
}

ASX_TEST(branches_may_do_no_more_than_the_context_they_come_from)
{
    program(narrowed, NULL);
}

static asx_status cancelled_already(asx_cx *cx, void *arg)
{
    struct victim *v = arg;
    asx_branch branches[] = { BRANCH(v->a) };
    CHECK_STATUS(asx_sleep(cx, ASX_SEC), ASX_E_CANCELLED);
    CHECK_STATUS(asx_join_all(cx, branches, 1, NULL, NULL, NULL), ASX_E_CANCELLED);
    CHECK_STATUS(asx_race_all(cx, branches, 1, NULL, NULL, NULL), ASX_E_CANCELLED);
    CHECK_STATUS(timed(cx, ASX_MS, run_leaf, &v->a), ASX_E_CANCELLED);
    return ASX_OK;
}

ASX_TEST(a_cancelled_task_starts_no_branches)
{
    struct victim v = { .fn = cancelled_already };
    program(cancel_at_ten, &v);
    CHECK(!v.a.began);
}

static asx_status too_many(asx_cx *cx, void *arg)
{
    (void)arg;
    struct leaf leaves[8];
    asx_branch branches[8];
    asx_outcome outcome = { ASX_OUTCOME_PANICKED, ASX_OK, 7 };
    asx_join_result results[8], result;
    size_t winner = 77;
    memset(leaves, 0, sizeof leaves);
    memset(results, 0x55, sizeof results);
    for (int i = 0; i < 8; i++) {
        leaves[i].sleep_ms = 10;
        branches[i] = (asx_branch){ "leaf", run_leaf, &leaves[i] };
    }
    CHECK_STATUS(asx_join_all(cx, branches, 8, NULL, results, &outcome), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(outcome.status, ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(results[0].outcome.status, ASX_E_RESOURCE_EXHAUSTED);
    CHECK_EQ(results[7].value, 0);
    CHECK_STATUS(asx_race_all(cx, branches, 8, NULL, &winner, &result), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_EQ(winner, ASX_NO_BRANCH);
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(leaves[i].began, leaves[i].ended);
        if (leaves[i].began)
            CHECK_STATUS(leaves[i].slept, ASX_E_CANCELLED);
    }
    CHECK_STATUS(asx_join_all(cx, branches, 2, NULL, results, &outcome), ASX_OK); /* and goes on */
    return ASX_OK;
}

ASX_TEST(a_start_that_fails_halfway_cancels_and_drains_what_it_started)
{
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .limits.tasks_max = 7 };
    program_with(&config, too_many, NULL, ASX_OK);
}

static asx_status no_stacks(asx_cx *cx, void *arg)
{
    (void)arg;
    struct leaf leaves[8];
    asx_branch branches[8];
    asx_join_result result;
    size_t winner;
    memset(leaves, 0, sizeof leaves);
    for (int i = 0; i < 8; i++) {
        leaves[i].sleep_ms = 10;
        branches[i] = (asx_branch){ "leaf", run_leaf, &leaves[i] };
    }
    asx_status st = asx_race_all(cx, branches, 8, NULL, &winner, &result);
    CHECK_STATUS(st, ASX_E_RESOURCE_EXHAUSTED);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(leaves[i].began, leaves[i].ended);
    return ASX_OK;
}

ASX_TEST(a_race_without_stacks_for_all_comes_to_an_end)
{
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .limits.stacks_max = 4 };
    program_with(&config, no_stacks, NULL, ASX_OK);
}
