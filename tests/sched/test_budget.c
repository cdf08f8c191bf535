/* Budgets: resumptions, cost, deadlines; how they meet and what exhausting them does. */
#include "support_kit.h"

typedef struct meter {
    unsigned ran;
    asx_status last;
    asx_cancel_kind kind;
} meter;

static void note_reason(asx_cx *cx, meter *m)
{
    const asx_cancel_reason *reason;
    if (asx_cx_cancel_reason(cx, &reason) == ASX_OK)
        m->kind = reason->kind;
}

static asx_status yields_until_told(asx_cx *cx, void *arg)
{
    meter *m = arg;
    m->kind = ASX_CANCEL_USER;
    do
        m->ran++;
    while ((m->last = asx_yield(cx)) == ASX_OK && m->ran < 1000);
    note_reason(cx, m);
    return m->last;
}

static asx_poll pends_until_told(asx_cx *cx, void *arg)
{
    meter *m = arg;
    m->last = asx_checkpoint(cx);
    note_reason(cx, m);
    if (m->last < 0)
        return ASX_POLL_READY;
    m->ran++;
    return m->ran < 1000 ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status sleeps_until_told(asx_cx *cx, void *arg)
{
    meter *m = arg;
    do
        m->ran++;
    while ((m->last = asx_sleep(cx, 10 * ASX_US)) == ASX_OK && m->ran < 1000);
    note_reason(cx, m);
    return m->last;
}

/* A quota of n is n resumptions, whoever else is runnable and whatever the vehicle. */
static asx_status poll_quota(asx_cx *cx, void *arg)
{
    asx_task_fn fibers[] = { yields_until_told, sleeps_until_told };
    (void)arg;
    for (unsigned i = 0; i < 6; i++) {
        asx_region r;
        asx_task t;
        asx_join_result result;
        meter m = { 0 };
        asx_budget budget = ASX_BUDGET_INFINITE;
        budget.poll_quota = 10;
        asx_spawn_options options = { .budget = &budget };
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        if (i % 3 == 2)
            CHECK_STATUS(asx_spawn_poll_task(&r, pends_until_told, &m, &options, &t), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_task(&r, fibers[i % 3], &m, &options, &t), ASX_OK);
        if (i < 3) /* not alone: the main task yields beside it */
            CHECK_STATUS(kit_yields(cx, 30), ASX_OK);
        CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
        CHECK_STATUS(m.last, ASX_E_CANCELLED);
        CHECK_EQ(m.kind, ASX_CANCEL_POLL_QUOTA);
        CHECK_EQ(m.ran, i % 3 == 1 ? 11 : 10); /* a sleep that is over says so */
        CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(a_poll_quota_is_spent_by_resumptions_of_both_vehicles)
{
    kit_everywhere(poll_quota, NULL, ASX_OK);
}

static asx_status quota_zero_fn(asx_cx *cx, void *arg)
{
    meter *m = arg;
    m->ran++;
    m->last = asx_checkpoint(cx);
    note_reason(cx, m);
    return m->last;
}

static asx_status quota_zero(asx_cx *cx, void *arg)
{
    asx_budget budgets[] = { ASX_BUDGET_INFINITE, ASX_BUDGET_INFINITE, ASX_BUDGET_ZERO };
    asx_cancel_kind kinds[] = { ASX_CANCEL_POLL_QUOTA, ASX_CANCEL_COST_BUDGET,
                                ASX_CANCEL_DEADLINE };
    (void)arg;
    budgets[0].poll_quota = 0;
    budgets[1].cost_quota = 0;
    for (size_t i = 0; i < 3; i++) {
        asx_region r;
        meter m = { 0 };
        asx_spawn_options options = { .budget = &budgets[i] };
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, quota_zero_fn, &m, &options, NULL), ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
        CHECK_EQ(m.ran, 1); /* it is resumed to see it */
        CHECK_STATUS(m.last, ASX_E_CANCELLED);
        CHECK_EQ(m.kind, kinds[i]);
    }
    return ASX_OK;
}

ASX_TEST(a_task_without_any_budget_runs_once_to_be_told)
{
    kit_everywhere(quota_zero, NULL, ASX_OK);
}

/* ---- cost ----------------------------------------------------------------------------------- */

static asx_status spends(asx_cx *cx, void *arg)
{
    asx_budget left;
    (void)arg;
    CHECK_STATUS(asx_consume_cost(cx, 30), ASX_OK);
    CHECK_STATUS(asx_cx_budget(cx, &left), ASX_OK);
    CHECK_EQ(left.cost_quota, 70);
    CHECK_STATUS(asx_consume_cost(cx, 71), ASX_E_BUDGET_EXHAUSTED); /* all or none */
    CHECK_STATUS(asx_cx_budget(cx, &left), ASX_OK);
    CHECK_EQ(left.cost_quota, 70);
    CHECK(asx_is_cancelled(cx));
    const asx_cancel_reason *reason;
    CHECK_STATUS(asx_cx_cancel_reason(cx, &reason), ASX_OK);
    CHECK_EQ(reason->kind, ASX_CANCEL_COST_BUDGET);
    CHECK_STATUS(asx_consume_cost(cx, 70), ASX_OK); /* what is left may be spent */
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    return ASX_OK;
}

static asx_status spends_all(asx_cx *cx, void *arg)
{
    const asx_cancel_reason *reason;
    (void)arg;
    CHECK_STATUS(asx_consume_cost(cx, 100), ASX_OK);
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK); /* asked before the next resumption, not now */
    CHECK_STATUS(asx_yield(cx), ASX_E_CANCELLED);
    CHECK_STATUS(asx_cx_cancel_reason(cx, &reason), ASX_OK);
    CHECK_EQ(reason->kind, ASX_CANCEL_COST_BUDGET);
    return ASX_OK;
}

static asx_status cost_free(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++)
        CHECK_STATUS(asx_consume_cost(cx, UINT64_MAX / 2), ASX_OK);
    return ASX_OK;
}

static asx_status cost(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_budget budget = ASX_BUDGET_INFINITE;
    budget.cost_quota = 100;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .budget = &budget }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", spends, NULL), ASX_OK); /* copied at spawn, not pooled */
    CHECK_STATUS(asx_spawn(&r, "b", spends, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "c", spends_all, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "free", cost_free, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(cost_is_taken_whole_or_not_and_running_out_cancels)
{
    kit_everywhere(cost, NULL, ASX_OK);
}

/* ---- deadlines ------------------------------------------------------------------------------ */

static asx_status parked_at_deadline(asx_cx *cx, void *arg)
{
    meter *m = arg;
    m->last = asx_sleep(cx, 3600 * ASX_SEC);
    note_reason(cx, m);
    return m->last;
}

static asx_status deadline(asx_cx *cx, void *arg)
{
    asx_region r;
    meter m = { 0 };
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_spawn_options options = { .budget = &budget };
    asx_join_result result;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    budget.deadline = asx_now(cx) + 100 * ASX_MS; /* time enough to get there on a busy machine */
    CHECK_STATUS(asx_spawn_task(&r, parked_at_deadline, &m, &options, &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_GE(asx_now(cx), budget.deadline);
    CHECK_STATUS(m.last, ASX_E_CANCELLED);
    CHECK_EQ(m.kind, ASX_CANCEL_DEADLINE);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK); /* a task's own deadline is its own */
    return ASX_OK;
}

ASX_TEST(a_parked_task_is_told_at_its_deadline)
{
    kit_everywhere(deadline, NULL, ASX_OK);
}

/* The deadline passes while it runs; nobody has told it yet, so whatever waits next does. */
static asx_status joins_too_late(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_join_result result;
    asx_task_state state;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(asx_task_get_state(&t, &state), ASX_OK);
    CHECK_EQ(state, ASX_TASK_COMPLETED);
    CHECK_STATUS(asx_runtime_advance(asx_cx_runtime(cx), 10 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_E_CANCELLED);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
    return ASX_OK;
}

static asx_status late_join(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_spawn_options options = { .budget = &budget };
    asx_join_result result;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    budget.deadline = asx_now(cx) + 5 * ASX_MS;
    CHECK_STATUS(asx_spawn_task(&r, joins_too_late, NULL, &options, &t), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(asx_cx_runtime(cx), 0), ASX_OK); /* by hand from now on */
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(asx_cx_runtime(cx), ASX_MS), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_join_of_one_that_has_ended_looks_at_the_deadline_too)
{
    asx_test_one_worker("the virtual clock");
    for (int trace = 0; trace < 2; trace++) {
        asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
        config.trace = trace != 0;
        CHECK_STATUS(kit_run(&config, late_join, NULL), ASX_OK);
    }
}

static asx_status past_deadline(asx_cx *cx, void *arg)
{
    asx_budget own;
    (void)arg;
    CHECK_STATUS(asx_cx_budget(cx, &own), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    while (!asx_is_cancelled(cx))
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_GE(asx_now(cx), own.deadline);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_CANCELLED); /* the request has come by itself */
    return ASX_OK;
}

/* False: the deadline may have come before the tasks. */
static bool region_ends_in(asx_cx *cx, uint64_t ns)
{
    asx_region r;
    asx_budget budget = ASX_BUDGET_INFINITE;
    budget.deadline = asx_now(cx) + ns;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .budget = &budget }, &r), ASX_OK);
    asx_status st = asx_spawn(&r, "p", past_deadline, NULL);
    if (st == ASX_OK)
        st = asx_spawn(&r, "w", kit_waiter, NULL);
    bool in_time = asx_now(cx) < budget.deadline;
    if (in_time)
        CHECK_STATUS(st, ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_TIMEOUT);
    return in_time;
}

static asx_status deadline_of_region(asx_cx *cx, void *arg)
{
    (void)arg;
    for (uint64_t ns = 2 * ASX_MS; !region_ends_in(cx, ns); ns *= 2)
        hush();
    CHECK_STR_EQ(said(), "told");
    return ASX_OK;
}

ASX_TEST(a_regions_budget_deadline_cancels_its_tasks_and_close_says_timeout)
{
    kit_everywhere(deadline_of_region, NULL, ASX_OK);
}

static asx_status is_told_at_once(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_yield(cx), ASX_E_CANCELLED);
    return ASX_OK;
}

static asx_status opens_inside(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "inside", is_told_at_once, NULL), ASX_OK);
    *(asx_status *)arg = asx_region_close(&r, ASX_OK);
    return asx_mask_end(cx);
}

/* Its tasks see that before its timer fires. */
static asx_status too_late_from_the_start(asx_cx *cx, void *arg)
{
    asx_region r, q;
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_status inner = ASX_E_FULL;
    (void)arg;
    while (asx_now(cx) < 2)
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    budget.deadline = 1;
    asx_region_options options = { .budget = &budget };
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    asx_status st = asx_spawn(&r, "t", is_told_at_once, NULL);
    CHECK(st == ASX_OK || st == ASX_E_REGION_NOT_OPEN); /* others may have come to the timer */
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_TIMEOUT);
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &q), ASX_OK); /* its deadline is inherited */
    st = asx_spawn(&q, "t", is_told_at_once, NULL);
    CHECK(st == ASX_OK || st == ASX_E_REGION_NOT_OPEN);
    CHECK_STATUS(asx_region_close(&q, ASX_OK), ASX_E_CANCELLED);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_TIMEOUT);
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK); /* and a shield keeps it away */
    st = asx_spawn(&r, "t", opens_inside, &inner);
    CHECK(st == ASX_OK || st == ASX_E_REGION_NOT_OPEN);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_TIMEOUT);
    CHECK(st < 0 || inner == ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_region_whose_deadline_has_passed_says_timeout_whoever_notices_it_first)
{
    kit_everywhere(too_late_from_the_start, NULL, ASX_OK);
}

/* The clock has passed the deadline and no timer has told so yet. */
static asx_status passes_by_itself(asx_cx *cx, void *arg)
{
    asx_budget own;
    bool masked = arg != NULL;
    CHECK_STATUS(asx_cx_budget(cx, &own), ASX_OK);
    if (masked)
        CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(asx_cx_runtime(cx), own.deadline - asx_now(cx)), ASX_OK);
    CHECK(!asx_is_cancelled(cx));
    if (masked) {
        CHECK_STATUS(asx_sleep_until(cx, 0), ASX_OK); /* what comes now is deferred */
        CHECK(asx_is_cancelled(cx));
        CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    } else {
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_BUDGET_EXHAUSTED);
    }
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    return ASX_OK;
}

static asx_status passes_by_checkpoint(asx_cx *cx, void *arg)
{
    asx_budget own;
    const asx_cancel_reason *reason;
    (void)arg;
    CHECK_STATUS(asx_cx_budget(cx, &own), ASX_OK);
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(asx_cx_runtime(cx), own.deadline - asx_now(cx)), ASX_OK);
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    CHECK_STATUS(asx_cx_cancel_reason(cx, &reason), ASX_OK);
    CHECK_EQ(reason->kind, ASX_CANCEL_DEADLINE);
    return ASX_OK;
}

static asx_status passed_unnoticed(asx_cx *cx, void *arg)
{
    asx_task_fn fn[] = { passes_by_itself, passes_by_itself, passes_by_checkpoint };
    (void)arg;
    for (int i = 0; i < 3; i++) {
        asx_region r;
        asx_budget budget = ASX_BUDGET_INFINITE;
        asx_spawn_options options = { .budget = &budget };
        budget.deadline = asx_now(cx) + ASX_SEC;
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, fn[i], i == 1 ? "masked" : NULL, &options, NULL), ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(a_deadline_that_no_timer_has_told_yet_is_seen_by_the_next_call)
{
    for (int trace = 0; trace < 2; trace++) {
        asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
        config.trace = trace != 0;
        CHECK_STATUS(kit_run(&config, passed_unnoticed, NULL), ASX_OK);
    }
}

static asx_poll metered_yields(asx_cx *cx, void *state)
{
    meter *m = state;
    m->last = asx_yield(cx);
    if (m->last == ASX_OK) {
        m->ran++;
        m->last = asx_yield(cx);
    }
    if (m->last == ASX_E_WOULD_BLOCK)
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_BUSY); /* it waits for its turn already */
    note_reason(cx, m);
    return m->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status metered_poll(asx_cx *cx, void *arg)
{
    asx_region r;
    meter m = { 0 };
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_spawn_options options = { .budget = &budget };
    (void)arg;
    budget.poll_quota = 6;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, metered_yields, &m, &options, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(m.last, ASX_E_CANCELLED);
    CHECK_EQ(m.kind, ASX_CANCEL_POLL_QUOTA);
    CHECK_EQ(m.ran, 5); /* the first resumption begins the first yield */
    return ASX_OK;
}

ASX_TEST(a_poll_task_that_yields_spends_its_quota)
{
    kit_everywhere(metered_poll, NULL, ASX_OK);
}

/* A deadline that has passed when the task is spawned, and one that lies before its region's. */
static asx_status sleeps_late(asx_cx *cx, void *arg)
{
    meter *m = arg;
    m->last = asx_sleep(cx, ASX_MS);
    note_reason(cx, m);
    return ASX_OK;
}

static asx_status meets(asx_cx *cx, void *arg)
{
    asx_region r, q;
    asx_budget outer = ASX_BUDGET_INFINITE, inner = ASX_BUDGET_INFINITE, task = ASX_BUDGET_INFINITE;
    asx_budget seen;
    meter m = { 0 };
    (void)arg;
    outer.poll_quota = 500;
    outer.cost_quota = 100;
    outer.priority = 3;
    inner.poll_quota = 900;
    inner.cost_quota = 50;
    inner.priority = 1;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .budget = &outer }, &r), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .budget = &inner }, &q), ASX_OK);
    CHECK_STATUS(asx_cx_budget(cx, &seen), ASX_OK);
    CHECK(asx_budget_equal(seen, asx_budget_infinite())); /* the opener's stays */
    task.deadline = 1; /* long past */
    asx_spawn_options options = { .budget = &task };
    while (asx_now(cx) < 2)
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&q, sleeps_late, &m, &options, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&q, ASX_OK), ASX_OK);
    CHECK_STATUS(m.last, ASX_E_CANCELLED);
    CHECK_EQ(m.kind, ASX_CANCEL_DEADLINE);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(budgets_meet_and_a_deadline_that_has_passed_cancels_at_once)
{
    kit_everywhere(meets, NULL, ASX_OK);
}

static asx_status shows_budget(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_cx_budget(cx, arg), ASX_OK);
    return ASX_OK;
}

static asx_status met_values(asx_cx *cx, void *arg)
{
    asx_region r, q;
    asx_budget outer = { 1000 * ASX_SEC, 100, 500, 3 }, inner = { 2000 * ASX_SEC, 50, 900, 1 };
    asx_budget own = { ASX_TIME_NEVER, 70, 300, 9 }, seen[2];
    asx_spawn_options options = { .budget = &own };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .budget = &outer }, &r), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .budget = &inner }, &q), ASX_OK);
    CHECK_STATUS(asx_spawn(&q, "plain", shows_budget, &seen[0]), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&q, shows_budget, &seen[1], &options, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&q, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    asx_budget region = { 1000 * ASX_SEC, 50, 499, 3 }, task = { 1000 * ASX_SEC, 50, 299, 9 };
    CHECK(asx_budget_equal(seen[0], region)); /* one resumption is spent */
    CHECK(asx_budget_equal(seen[1], task));
    return ASX_OK;
}

ASX_TEST(a_task_gets_the_meet_of_its_regions_and_its_own)
{
    kit_everywhere(met_values, NULL, ASX_OK);
}

/* After the request only the cleanup budget counts: a spent quota does not stop the cleanup. */
static asx_status cleans_long(asx_cx *cx, void *arg)
{
    meter *m = arg;
    while ((m->last = asx_yield(cx)) == ASX_OK)
        m->ran++;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    for (int i = 0; i < 100; i++)
        CHECK_STATUS(asx_sleep(cx, 10), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    m->ran = 100;
    return ASX_OK;
}

static asx_status cleanup_counts(asx_cx *cx, void *arg)
{
    asx_region r;
    meter m = { 0 };
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_spawn_options options = { .budget = &budget };
    (void)arg;
    budget.poll_quota = 3;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, cleans_long, &m, &options, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(m.ran, 100);
    return ASX_OK;
}

ASX_TEST(after_the_request_only_the_cleanup_budget_counts)
{
    kit_everywhere(cleanup_counts, NULL, ASX_OK);
}

/* Deadlines beyond the longest timer are approached in steps; no timer is left behind. */
static asx_status parked_for_years(asx_cx *cx, void *arg)
{
    meter *m = arg;
    m->last = asx_sleep_until(cx, ASX_TIME_NEVER);
    note_reason(cx, m);
    return m->last;
}

static asx_status far_deadlines(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_spawn_options options = { .budget = &budget };
    meter m = { 0 };
    uint64_t day = 24 * 3600 * ASX_SEC;
    (void)arg;
    budget.deadline = asx_now(cx) + 30 * day;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, parked_for_years, &m, &options, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(m.last, ASX_E_CANCELLED);
    CHECK_EQ(m.kind, ASX_CANCEL_DEADLINE);
    CHECK_EQ(asx_now(cx), budget.deadline);
    asx_region q;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .timeout_ns = 40 * day }, &q), ASX_OK);
    CHECK_STATUS(asx_spawn(&q, "w", kit_waiter, NULL), ASX_OK);
    asx_time begin = asx_now(cx);
    CHECK_STATUS(asx_region_close(&q, ASX_OK), ASX_E_TIMEOUT);
    CHECK_EQ(asx_now(cx), begin + 40 * day);
    return ASX_OK;
}

static asx_status month(asx_cx *cx, void *arg)
{
    uint64_t day = 24 * 3600 * ASX_SEC;
    (void)arg;
    asx_time begin = asx_now(cx);
    CHECK_STATUS(asx_sleep(cx, 30 * day), ASX_OK);
    CHECK_EQ(asx_now(cx), begin + 30 * day);
    return ASX_OK;
}

static asx_poll month_poll(asx_cx *cx, void *arg)
{
    asx_time *begin = arg;
    if (*begin == 0)
        *begin = asx_now(cx) + 1;
    asx_status st = asx_sleep(cx, 30 * 24 * 3600 * ASX_SEC);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    CHECK_STATUS(st, ASX_OK);
    CHECK_EQ(asx_now(cx), *begin - 1 + 30 * 24 * 3600 * ASX_SEC);
    return ASX_POLL_READY;
}

static asx_status far_sleeps(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_time begin = 0;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "m", month, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", month_poll, &begin), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(times_beyond_the_longest_timer_are_reached_in_steps)
{
    for (int trace = 0; trace < 2; trace++) {
        asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
        config.trace = trace != 0;
        CHECK_STATUS(kit_run(&config, far_sleeps, NULL), ASX_OK);
        CHECK_STATUS(kit_run(&config, far_deadlines, NULL), ASX_OK);
    }
}
