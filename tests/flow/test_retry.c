/* test_retry.c - which attempts are made, when, and that none is waited for in vain. */
#include "support_leaf.h"

typedef struct attempt {
    unsigned fails; /* so many attempts */
    uint64_t takes_ms;
    asx_status status;
    bool panics;
    unsigned made;
    asx_time at[16];
} attempt;

static asx_status try(asx_cx *cx, void *arg)
{
    attempt *a = arg;
    if (a->made < 16)
        a->at[a->made] = asx_now(cx) / ASX_MS;
    a->made++;
    asx_status st = asx_sleep(cx, a->takes_ms * ASX_MS);
    if (st < 0)
        return st;
    if (a->made > a->fails)
        return asx_task_set_value(cx, a->made);
    if (a->panics)
        asx_panic(cx, "an attempt that panics");
    return a->status;
}

static asx_status fixed(asx_cx *cx, void *arg)
{
    (void)arg;
    attempt a = { .fails = 2, .takes_ms = 1, .status = ASX_E_FULL };
    asx_branch branch = { "attempt", try, &a };
    asx_retry_strategy s = { .attempts_max = 4, .delay_ns = 10 * ASX_MS };
    asx_join_result result;
    uint32_t made;
    CHECK_STATUS(asx_retry(cx, &branch, &s, NULL, &result, &made), ASX_OK);
    CHECK_EQ(made, 3);
    CHECK_EQ(result.value, 3);
    CHECK_EQ(a.at[1], 11);
    CHECK_EQ(a.at[2], 22);
    a = (attempt){ .fails = 99, .status = ASX_E_EMPTY };
    CHECK_STATUS(asx_retry(cx, &branch, &s, NULL, &result, &made), ASX_E_EMPTY);
    CHECK_EQ(made, 4);
    CHECK_STATUS(result.outcome.status, ASX_E_EMPTY);
    a = (attempt){ .fails = 99, .status = ASX_E_EMPTY };
    CHECK_STATUS(asx_retry(cx, &branch, NULL, NULL, NULL, &made), ASX_E_EMPTY);
    CHECK_EQ(made, 3);
    return ASX_OK;
}

ASX_TEST(an_attempt_that_fails_is_made_again_after_the_delay)
{
    program(fixed, NULL);
}

static asx_status exponential(asx_cx *cx, void *arg)
{
    (void)arg;
    attempt a = { .fails = 5, .status = ASX_E_FULL };
    asx_branch branch = { "attempt", try, &a };
    asx_retry_strategy s = { .attempts_max = 6, .delay_ns = 10 * ASX_MS,
                             .delay_max_ns = 60 * ASX_MS, .backoff = ASX_BACKOFF_EXPONENTIAL };
    static const asx_time at[] = { 0, 10, 30, 70, 130, 190 };
    CHECK_STATUS(asx_retry(cx, &branch, &s, NULL, NULL, NULL), ASX_OK);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(a.at[i], at[i]);
    return ASX_OK;
}

ASX_TEST(exponential_delays_double_up_to_the_longest)
{
    program(exponential, NULL);
}

static asx_status jittered(asx_cx *cx, void *arg)
{
    asx_time *drawn = arg;
    attempt a = { .fails = 9, .status = ASX_E_FULL };
    asx_branch branch = { "attempt", try, &a };
    asx_retry_strategy s = { .attempts_max = 10, .delay_ns = 100 * ASX_MS,
                             .jitter = ASX_JITTER_HALF };
    asx_time start = asx_now(cx) / ASX_MS;
    CHECK_STATUS(asx_retry(cx, &branch, &s, NULL, NULL, NULL), ASX_OK);
    for (int i = 1; i < 10; i++) {
        drawn[i] = a.at[i] - a.at[i - 1];
        CHECK(drawn[i] >= 49 && drawn[i] <= 100); /* in whole milliseconds */
    }
    drawn[0] = a.at[9] - start;
    CHECK(drawn[0] > 500 && drawn[0] < 900); /* not all of them long, nor all short */
    s.jitter = ASX_JITTER_FULL;
    a.made = 0;
    start = asx_now(cx) / ASX_MS;
    CHECK_STATUS(asx_retry(cx, &branch, &s, NULL, NULL, NULL), ASX_OK);
    CHECK(asx_now(cx) / ASX_MS - start < 850);
    return ASX_OK;
}

ASX_TEST(jitter_is_drawn_and_the_same_seed_draws_the_same)
{
    asx_time first[10], second[10], other[10];
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .seed = 7 };
    program_with(&config, jittered, first);
    program_with(&config, jittered, second);
    CHECK_MEM_EQ(first, second, sizeof first);
    config.seed = 8;
    program_with(&config, jittered, other);
    CHECK(first[0] != other[0] || first[1] != other[1]);
}

static asx_status until_deadline(asx_cx *cx, void *arg)
{
    (void)arg;
    attempt a = { .fails = 99, .takes_ms = 1, .status = ASX_E_FULL };
    asx_branch branch = { "attempt", try, &a };
    asx_retry_strategy s = { .attempts_max = UINT32_MAX, .delay_ns = 10 * ASX_MS };
    asx_flow_options options = { .timeout_ns = 35 * ASX_MS };
    uint32_t made;
    CHECK_STATUS(asx_retry(cx, &branch, &s, &options, NULL, &made), ASX_E_FULL);
    CHECK_EQ(made, 4); /* at 0, 11, 22, 33; the next delay ends at 44 */
    CHECK_EQ(asx_now(cx), 34 * ASX_MS);
    a.takes_ms = 100; /* an attempt is cut, too */
    CHECK_STATUS(asx_retry(cx, &branch, &s, &options, NULL, &made), ASX_E_TIMEOUT);
    CHECK_EQ(made, 1);
    CHECK_EQ(asx_now(cx), 69 * ASX_MS);
    return ASX_OK;
}

ASX_TEST(a_retry_never_sleeps_past_its_time_out)
{
    program(until_deadline, NULL);
}

static asx_status retry_for_ever(asx_cx *cx, void *arg)
{
    asx_branch branch = { "attempt", try, arg };
    asx_retry_strategy s = { .attempts_max = UINT32_MAX, .delay_ns = 10 * ASX_MS };
    asx_status st = asx_retry(cx, &branch, &s, NULL, NULL, NULL);
    CHECK_EQ(asx_now(cx), 32 * ASX_MS); /* the next one would be at 42 */
    return st;
}

static asx_status within(asx_cx *cx, void *arg)
{
    attempt a = { .fails = 99, .takes_ms = 1, .status = ASX_E_FULL };
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_region region;
    bool by_region = arg != NULL;
    budget.deadline = 35 * ASX_MS;
    asx_region_options options = { .timeout_ns = by_region ? 35 * ASX_MS : 0 };
    asx_spawn_options spawn = { .budget = by_region ? NULL : &budget };
    a.at[0] = 0;
    CHECK_STATUS(asx_region_open(cx, &options, &region), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 9 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&region, retry_for_ever, &a, &spawn, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_FULL);
    CHECK_EQ(a.made, 3); /* at 9, 20, 31 */
    return ASX_OK;
}

ASX_TEST(nor_past_the_deadline_of_a_budget_or_of_a_region_around_it)
{
    int by_region;
    program(within, NULL);
    program(within, &by_region);
}

static bool not_full(void *ctx, const asx_outcome *outcome)
{
    (void)ctx;
    return outcome->status != ASX_E_FULL;
}

static asx_status judged(asx_cx *cx, void *arg)
{
    (void)arg;
    attempt a = { .fails = 2, .status = ASX_E_FULL };
    asx_branch branch = { "attempt", try, &a };
    asx_retry_strategy s = { .again = not_full };
    uint32_t made;
    CHECK_STATUS(asx_retry(cx, &branch, &s, NULL, NULL, &made), ASX_E_FULL);
    CHECK_EQ(made, 1);
    a = (attempt){ .fails = 2, .panics = true };
    CHECK_STATUS(asx_retry(cx, &branch, &s, NULL, NULL, &made), ASX_OK);
    CHECK_EQ(made, 3);
    a.made = 0;
    asx_join_result result;
    CHECK_STATUS(asx_retry(cx, &branch, NULL, NULL, &result, &made), ASX_E_PANICKED);
    CHECK_EQ(made, 1); /* by default a panic is not tried again */
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_PANICKED);
    a = (attempt){ .fails = 9, .takes_ms = 50 };
    s = (asx_retry_strategy){ .attempt_timeout_ns = 5 * ASX_MS };
    CHECK_STATUS(asx_retry(cx, &branch, &s, NULL, NULL, &made), ASX_E_TIMEOUT);
    CHECK_EQ(made, 3); /* but a time-out is */
    return ASX_OK;
}

ASX_TEST(the_strategy_says_what_is_tried_again)
{
    program(judged, NULL);
}

static asx_status cancelled(asx_cx *cx, void *arg)
{
    asx_branch branch = { "attempt", try, arg };
    asx_retry_strategy s = { .attempts_max = UINT32_MAX, .delay_ns = 4 * ASX_MS };
    asx_join_result result;
    CHECK_STATUS(asx_retry(cx, &branch, &s, NULL, &result, NULL), ASX_E_CANCELLED);
    CHECK_EQ(asx_now(cx), 10 * ASX_MS);
    return ASX_E_CANCELLED;
}

ASX_TEST(a_cancel_ends_the_attempt_or_the_delay)
{
    for (uint64_t takes = 0; takes < 20; takes += 3) {
        attempt a = { .fails = UINT32_MAX, .takes_ms = takes, .status = ASX_E_FULL };
        victim v = { cancelled, &a };
        program(cancel_at_ten, &v);
        CHECK(a.made > 0);
    }
}

static asx_status refusals(asx_cx *cx, void *arg)
{
    (void)arg;
    attempt a = { .fails = 0 };
    asx_branch branch = { "attempt", try, &a }, none = { "none", NULL, NULL };
    asx_retry_strategy s = { .jitter = (asx_jitter)9 };
    asx_join_result result;
    uint32_t made = 9;
    asx_cx less;
    CHECK_STATUS(asx_retry(cx, &branch, &s, NULL, &result, &made), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(made, 0);
    CHECK_STATUS(result.outcome.status, ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_retry(cx, NULL, NULL, NULL, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_retry(cx, &none, NULL, NULL, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_retry(NULL, &branch, NULL, NULL, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_SPAWN, &less), ASX_OK);
    CHECK_STATUS(asx_retry(&less, &branch, NULL, NULL, NULL, NULL), ASX_E_CAPABILITY);
    CHECK_EQ(a.made, 0);
    return ASX_OK;
}

ASX_TEST(retry_refuses_what_it_cannot_do)
{
    program(refusals, NULL);
}
