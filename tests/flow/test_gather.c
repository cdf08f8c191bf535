/* test_gather.c - first ok, quorum and hedge: who decides, when, and that nobody is left. */
#include "support_leaf.h"

/* ---- first ok ------------------------------------------------------------------------------- */

static asx_status failures_do_not_win(asx_cx *cx, void *arg)
{
    (void)arg;
    leaf a = { .sleep_ms = 30, .value = 1 }, b = { .sleep_ms = 5, .status = ASX_E_FULL },
         c = { .sleep_ms = 20, .value = 3 }, p = { .sleep_ms = 6, .panic = true };
    asx_branch branches[] = { BRANCH(a), BRANCH(b), BRANCH(c), BRANCH(p) };
    asx_join_result result;
    size_t winner;
    CHECK_STATUS(asx_first_ok(cx, branches, 4, NULL, &winner, &result), ASX_OK);
    CHECK_EQ(winner, 2);
    CHECK_EQ(result.value, 3);
    CHECK_EQ(asx_now(cx), 20 * ASX_MS);
    CHECK_EQ(a.why, ASX_CANCEL_RACE_LOST);
    CHECK_EQ(a.ended, 1);
    CHECK_STATUS(asx_first_ok(cx, branches + 2, 1, NULL, NULL, NULL), ASX_OK);
    return ASX_OK;
}

ASX_TEST(the_first_ok_wins_and_failures_before_it_do_not)
{
    program(failures_do_not_win, NULL);
}

static asx_status all_fail(asx_cx *cx, void *arg)
{
    (void)arg;
    leaf a = { .sleep_ms = 20, .status = ASX_E_EMPTY }, b = { .sleep_ms = 5, .status = ASX_E_FULL },
         p = { .sleep_ms = 6, .panic = true };
    asx_branch branches[] = { BRANCH(a), BRANCH(b), BRANCH(p) };
    asx_join_result result;
    size_t winner;
    CHECK_STATUS(asx_first_ok(cx, branches, 2, NULL, &winner, &result), ASX_E_EMPTY);
    CHECK_EQ(winner, 0); /* left, not first in time */
    CHECK_STATUS(result.outcome.status, ASX_E_EMPTY);
    CHECK_STATUS(asx_first_ok(cx, branches, 3, NULL, &winner, &result), ASX_E_PANICKED);
    CHECK_EQ(winner, 2);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_PANICKED);
    CHECK_STATUS(asx_first_ok(cx, NULL, 0, NULL, &winner, &result), ASX_E_NOT_FOUND);
    CHECK_EQ(winner, ASX_NO_BRANCH);
    CHECK_STATUS(result.outcome.status, ASX_E_NOT_FOUND);
    return ASX_OK;
}

ASX_TEST(when_all_fail_the_worst_is_the_result_the_left_one_of_equals)
{
    program(all_fail, NULL);
}

static asx_status in_time(asx_cx *cx, void *arg)
{
    (void)arg;
    leaf a = { .sleep_ms = 50 }, b = { .sleep_ms = 5, .status = ASX_E_FULL };
    asx_branch branches[] = { BRANCH(a), BRANCH(b) };
    asx_flow_options options = { .timeout_ns = 20 * ASX_MS };
    asx_join_result results[2];
    size_t winner, ok;
    CHECK_STATUS(asx_first_ok(cx, branches, 2, &options, &winner, NULL), ASX_E_TIMEOUT);
    CHECK_EQ(winner, ASX_NO_BRANCH);
    CHECK_EQ(asx_now(cx), 20 * ASX_MS);
    CHECK_STATUS(asx_race_all(cx, branches, 1, &options, &winner, NULL), ASX_E_TIMEOUT);
    CHECK_EQ(winner, ASX_NO_BRANCH);
    CHECK_STATUS(asx_race_all(cx, NULL, 0, &options, &winner, NULL), ASX_E_TIMEOUT);
    CHECK_EQ(asx_now(cx), 60 * ASX_MS);
    CHECK_STATUS(asx_join_all(cx, branches, 1, &options, results, NULL), ASX_E_TIMEOUT);
    CHECK_EQ(results[0].outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_STATUS(asx_quorum(cx, branches, 1, 1, &options, results, &ok), ASX_E_TIMEOUT);
    CHECK_EQ(ok, 0);
    CHECK_EQ(a.why, ASX_CANCEL_PARENT);
    CHECK_STATUS(asx_hedge(cx, branches, 2, 30 * ASX_MS, &options, NULL, NULL), ASX_E_TIMEOUT);
    CHECK_EQ(b.begun, 1); /* at 30 ms it would have been its turn */
    CHECK_EQ(asx_now(cx), 120 * ASX_MS);
    return ASX_OK;
}

ASX_TEST(a_time_out_cancels_the_branches_and_is_what_is_told)
{
    program(in_time, NULL);
}

/* ---- quorum --------------------------------------------------------------------------------- */

static asx_status two_of_four(asx_cx *cx, void *arg)
{
    (void)arg;
    leaf a = { .sleep_ms = 30, .value = 1 }, b = { .sleep_ms = 5, .status = ASX_E_FULL },
         c = { .sleep_ms = 20, .value = 3 }, d = { .sleep_ms = 40, .value = 4 };
    asx_branch branches[] = { BRANCH(a), BRANCH(b), BRANCH(c), BRANCH(d) };
    asx_join_result results[4];
    size_t ok;
    CHECK_STATUS(asx_quorum(cx, branches, 4, 2, NULL, results, &ok), ASX_OK);
    CHECK_EQ(asx_now(cx), 30 * ASX_MS);
    CHECK_EQ(ok, 2);
    CHECK_EQ(results[0].value, 1);
    CHECK_STATUS(results[1].outcome.status, ASX_E_FULL);
    CHECK_EQ(results[2].value, 3);
    CHECK_EQ(results[3].outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_EQ(d.why, ASX_CANCEL_RACE_LOST);
    CHECK_STATUS(asx_quorum(cx, branches, 4, 2, NULL, NULL, NULL), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_quorum_ends_with_the_last_ok_that_was_needed)
{
    program(two_of_four, NULL);
}

static asx_status out_of_reach(asx_cx *cx, void *arg)
{
    (void)arg;
    leaf a = { .sleep_ms = 10, .status = ASX_E_FULL }, b = { .sleep_ms = 5, .status = ASX_E_EMPTY },
         c = { .sleep_ms = 20 };
    asx_branch branches[] = { BRANCH(a), BRANCH(b), BRANCH(c) };
    asx_join_result results[3];
    size_t ok = 9;
    CHECK_STATUS(asx_quorum(cx, branches, 3, 2, NULL, results, &ok), ASX_E_FULL);
    CHECK_EQ(asx_now(cx), 10 * ASX_MS); /* nothing can come of it any more */
    CHECK_EQ(ok, 0);
    CHECK_EQ(c.why, ASX_CANCEL_RACE_LOST);
    CHECK_EQ(results[2].outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_STATUS(asx_quorum(cx, branches, 3, 0, NULL, results, &ok), ASX_OK);
    CHECK_EQ(a.begun, 1);
    CHECK_EQ(results[0].outcome.kind, ASX_OUTCOME_CANCELLED); /* it did not run */
    CHECK_STATUS(asx_quorum(cx, branches, 3, 4, NULL, results, &ok), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(results[0].outcome.status, ASX_E_INVALID_ARGUMENT);
    return ASX_OK;
}

ASX_TEST(a_quorum_out_of_reach_fails_at_once)
{
    program(out_of_reach, NULL);
}

/* Ok although it was cancelled: it was about to end. */
static asx_status ends_ok_late(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    asx_status st = asx_sleep(cx, *(uint64_t *)arg * ASX_MS);
    (void)asx_task_set_value(cx, 77);
    return st;
}

static asx_status late_ok(asx_cx *cx, void *arg)
{
    (void)arg;
    leaf a = { .sleep_ms = 10, .value = 1 };
    uint64_t ms = 15;
    asx_branch branches[] = { BRANCH(a), { "late", ends_ok_late, &ms } };
    asx_join_result results[2];
    size_t ok;
    CHECK_STATUS(asx_quorum(cx, branches, 2, 1, NULL, results, &ok), ASX_OK);
    CHECK_EQ(asx_now(cx), 15 * ASX_MS); /* it is waited for ... */
    CHECK_EQ(results[1].outcome.kind, ASX_OUTCOME_OK); /* ... and what it made is not lost */
    CHECK_EQ(results[1].value, 77);
    CHECK_EQ(ok, 2);
    return ASX_OK;
}

ASX_TEST(a_quorum_tells_how_losers_really_ended)
{
    program(late_ok, NULL);
}

/* ---- hedge ---------------------------------------------------------------------------------- */

static asx_status hedges(asx_cx *cx, void *arg)
{
    (void)arg;
    leaf a = { .sleep_ms = 50, .value = 1 }, b = { .sleep_ms = 15, .value = 2 },
         c = { .sleep_ms = 1, .value = 3 };
    asx_branch branches[] = { BRANCH(a), BRANCH(b), BRANCH(c) };
    asx_join_result result;
    size_t winner;
    CHECK_STATUS(asx_hedge(cx, branches, 3, 20 * ASX_MS, NULL, &winner, &result), ASX_OK);
    CHECK_EQ(winner, 1); /* begun at 20, ended at 35; the third would have begun at 40 */
    CHECK_EQ(b.began_at, 20 * ASX_MS);
    CHECK_EQ(asx_now(cx), 35 * ASX_MS);
    CHECK_EQ(c.begun, 0);
    CHECK_EQ(a.why, ASX_CANCEL_RACE_LOST);
    CHECK_STATUS(asx_hedge(cx, branches, 3, 60 * ASX_MS, NULL, &winner, &result), ASX_OK);
    CHECK_EQ(winner, 0);
    CHECK_EQ(b.begun, 1); /* the first one was quick enough */
    CHECK_STATUS(asx_hedge(cx, branches, 3, 0, NULL, &winner, NULL), ASX_OK);
    CHECK_EQ(winner, 2); /* no delay: all at once */
    return ASX_OK;
}

ASX_TEST(a_hedge_starts_the_next_when_the_delay_has_passed)
{
    program(hedges, NULL);
}

static asx_status fails_early(asx_cx *cx, void *arg)
{
    (void)arg;
    leaf a = { .sleep_ms = 5, .status = ASX_E_FULL }, b = { .sleep_ms = 30, .value = 2 },
         c = { .sleep_ms = 30, .value = 3 };
    asx_branch branches[] = { BRANCH(a), BRANCH(b), BRANCH(c) };
    size_t winner;
    CHECK_STATUS(asx_hedge(cx, branches, 3, 20 * ASX_MS, NULL, &winner, NULL), ASX_OK);
    CHECK_EQ(b.began_at, 5 * ASX_MS);
    CHECK_EQ(c.began_at, 25 * ASX_MS); /* 20 ms after b, not after a */
    CHECK_EQ(winner, 1);
    CHECK_STATUS(asx_hedge(cx, branches, 1, 20 * ASX_MS, NULL, &winner, NULL), ASX_E_FULL);
    CHECK_EQ(winner, 0);
    return ASX_OK;
}

ASX_TEST(a_failure_starts_the_next_at_once_and_the_delay_anew)
{
    program(fails_early, NULL);
}

/* ---- cancellation, capabilities, refusals --------------------------------------------------- */

typedef struct three {
    leaf a, b;
    asx_status got[3];
    asx_join_result results[2];
    size_t winner;
} three;

static asx_status all_calls(asx_cx *cx, void *arg)
{
    three *t = arg;
    asx_branch branches[] = { BRANCH(t->a), BRANCH(t->b) };
    t->got[0] = asx_quorum(cx, branches, 2, 1, NULL, t->results, NULL);
    t->got[1] = asx_first_ok(cx, branches, 2, NULL, &t->winner, NULL);
    t->got[2] = asx_hedge(cx, branches, 2, ASX_MS, NULL, NULL, NULL);
    return t->got[0];
}

ASX_TEST(a_cancel_passes_to_the_branches_and_they_are_waited_for)
{
    three t = { .a = { .sleep_ms = 100 }, .b = { .sleep_ms = 100 } };
    victim v = { all_calls, &t };
    program(cancel_at_ten, &v);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(t.got[i], ASX_E_CANCELLED);
    CHECK_EQ(t.winner, ASX_NO_BRANCH);
    CHECK_EQ(t.a.begun, 1);
    CHECK_EQ(t.a.ended, 1);
    CHECK_EQ(t.b.ended, 1);
    CHECK_EQ(t.a.why, ASX_CANCEL_PARENT);
    CHECK_EQ(t.results[1].outcome.kind, ASX_OUTCOME_CANCELLED);
}

static asx_status refusals(asx_cx *cx, void *arg)
{
    (void)arg;
    leaf a = { .sleep_ms = 1 };
    asx_branch branches[] = { BRANCH(a), { "none", NULL, NULL } };
    asx_cx less;
    size_t winner;
    CHECK_STATUS(asx_first_ok(cx, branches, 2, NULL, &winner, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(winner, ASX_NO_BRANCH);
    CHECK_STATUS(asx_quorum(cx, NULL, 1, 1, NULL, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_hedge(NULL, branches, 1, 1, NULL, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_SPAWN | ASX_CAP_CHANNEL, &less), ASX_OK);
    CHECK_STATUS(asx_hedge(&less, branches, 1, 1, NULL, NULL, NULL), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_first_ok(&less, NULL, 0, NULL, NULL, NULL), ASX_E_NOT_FOUND);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_SPAWN, &less), ASX_OK);
    CHECK_STATUS(asx_first_ok(&less, branches, 1, NULL, NULL, NULL), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_quorum(&less, branches, 1, 1, NULL, NULL, NULL), ASX_E_CAPABILITY);
    CHECK_EQ(a.begun, 0);
    return ASX_OK;
}

ASX_TEST(gathering_calls_refuse_what_they_cannot_do)
{
    program(refusals, NULL);
}

/* ---- several workers ------------------------------------------------------------------------ */

static asx_status spin(asx_cx *cx, void *arg)
{
    uintptr_t n = (uintptr_t)arg;
    for (uintptr_t i = 0; i < n % 7; i++) {
        asx_status st = asx_yield(cx);
        if (st < 0)
            return st;
    }
    return n % 3 == 0 ? ASX_E_FULL : ASX_OK;
}

static asx_status on_workers(asx_cx *cx, void *arg)
{
    (void)arg;
    for (uintptr_t round = 0; round < 400; round++) {
        asx_branch branches[5];
        asx_join_result results[5];
        size_t winner, ok, seen = 0;
        for (uintptr_t i = 0; i < 5; i++)
            branches[i] = (asx_branch){ "spin", spin, (void *)(round + i) };
        CHECK_STATUS(asx_first_ok(cx, branches, 5, NULL, &winner, NULL), ASX_OK);
        CHECK((round + winner) % 3 != 0);
        CHECK_STATUS(asx_quorum(cx, branches, 5, 3, NULL, results, &ok), ASX_OK);
        for (int i = 0; i < 5; i++)
            seen += results[i].outcome.kind == ASX_OUTCOME_OK;
        CHECK_EQ(seen, ok);
        CHECK_GE(ok, 3);
        CHECK_STATUS(asx_hedge(cx, branches, 5, 10 * ASX_US, NULL, &winner, NULL), ASX_OK);
        CHECK((round + winner) % 3 != 0);
    }
    return ASX_OK;
}

ASX_TEST_TIMEOUT(gathering_calls_on_several_workers, 60)
{
    asx_runtime_config config = { .workers = 4 };
    program_with(&config, on_workers, NULL);
}
