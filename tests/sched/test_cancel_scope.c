/* Scopes and cancellation: what passes through, what a mask keeps out, and trees of any depth. */
#include "support_kit.h"

/* ---- nested in its task --------------------------------------------------------------------- */

static asx_status has_a_scope(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    say("closing");
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
    say("closed");
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    return ASX_OK;
}

static asx_status passes_into_close(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_join_result result;
    bool by_region = arg != NULL;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, has_a_scope, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_STR_EQ(said(), "closing");
    if (by_region)
        CHECK_STATUS(asx_region_cancel(&r, NULL), ASX_OK);
    else
        CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_STR_EQ(said(), "closing told closed"); /* it waited for its child all the same */
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), by_region ? ASX_E_CANCELLED : ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_cancel_passes_into_the_scope_that_is_being_closed_and_waiting_goes_on)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(passes_into_close, NULL, ASX_OK);
    kit_everywhere(passes_into_close, "by its region", ASX_OK);
}

/* Its owner is not cancelled, and goes on. */
static asx_status opened_too_late(asx_cx *cx, void *arg)
{
    asx_region outer, inner, masked;
    asx_cancel_reason why = { .kind = ASX_CANCEL_TIMEOUT, .message = "enough" };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &outer), ASX_OK);
    CHECK_STATUS(asx_region_cancel(&outer, &why), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &inner), ASX_OK);
    CHECK_STATUS(asx_spawn(&inner, "w", kit_waiter, NULL), ASX_E_REGION_NOT_OPEN);
    CHECK_STATUS(asx_region_close(&inner, ASX_OK), ASX_E_CANCELLED);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &masked), ASX_OK); /* or no clean-up could use one */
    CHECK_STATUS(asx_spawn(&masked, "r", kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&masked, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
    CHECK_STATUS(asx_region_close(&outer, ASX_OK), ASX_E_CANCELLED);
    return ASX_OK;
}

ASX_TEST(what_is_opened_in_a_cancelled_scope_is_cancelled)
{
    kit_everywhere(opened_too_late, NULL, ASX_OK);
}

/* The child needs longer than its closer would like to wait. */
static asx_waker gate;

static asx_status behind_the_gate(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_cx_waker(cx, &gate), ASX_OK);
    CHECK_STATUS(asx_wait_external(cx), ASX_OK);
    CHECK(asx_is_cancelled(cx));
    say("through");
    return ASX_OK;
}

static asx_status closes_slowly(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "g", behind_the_gate, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_STALE_HANDLE); /* it was closed */
    say("closed");
    return ASX_OK;
}

static asx_status waits_in_close(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, closes_slowly, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 5), ASX_OK);
    CHECK_STR_EQ(said(), "");
    gate.wake(gate.arg);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    CHECK_STR_EQ(said(), "through closed");
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_cancelled_task_stays_in_its_close_until_the_region_is_closed)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(waits_in_close, NULL, ASX_OK);
}

static asx_status close_without_reason(asx_cx *cx, void *arg)
{
    asx_region scope;
    uint64_t ms = ASX_MS;
    (void)arg;
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK); /* our region is closing by now */
    CHECK_STATUS(asx_region_open(cx, NULL, &scope), ASX_OK);
    CHECK_STATUS(asx_spawn(&scope, "s", kit_sleeper, &ms), ASX_OK);
    CHECK_STATUS(asx_region_close(&scope, ASX_OK), ASX_OK);
    asx_region own, child;
    CHECK_STATUS(asx_cx_region(cx, &own), ASX_OK);
    CHECK_STATUS(asx_spawn(&own, "no", kit_returns, NULL), ASX_E_REGION_NOT_OPEN);
    CHECK_STATUS(asx_region_open_in(cx, &own, NULL, &child), ASX_E_REGION_NOT_OPEN);
    return ASX_OK;
}

static asx_status scope_while_closing(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "t", close_without_reason, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_task_opens_scopes_for_itself_while_its_region_closes)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(scope_while_closing, NULL, ASX_OK);
}

/* A region opened elsewhere by a task is cancelled with that task too. */
static asx_status owns_elsewhere(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_STATUS(asx_region_open_in(cx, arg, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static asx_status owner_elsewhere(asx_cx *cx, void *arg)
{
    asx_region tasks, home;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &home), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &tasks), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&tasks, owns_elsewhere, &home, NULL, &t), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_STATUS(asx_region_cancel(&tasks, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&tasks, ASX_OK), ASX_E_CANCELLED);
    CHECK_STR_EQ(said(), "told");
    return asx_region_close(&home, ASX_OK);
}

ASX_TEST(a_region_opened_elsewhere_is_cancelled_with_its_owner)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(owner_elsewhere, NULL, ASX_OK);
}

/* ---- shields -------------------------------------------------------------------------------- */

static asx_waker inner_waker;

static asx_status inner_waits(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_cx_waker(cx, &inner_waker), ASX_OK);
    asx_status st = asx_wait_external(cx);
    say("%s", st == ASX_OK ? "inner-ok" : "inner-told");
    return st;
}

static asx_status masked_scope(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "i", inner_waits, NULL), ASX_OK);
    asx_status st = asx_region_close(&r, ASX_OK);
    say("%s", st == ASX_OK ? "shielded" : "reached");
    return st;
}

static asx_status under_a_mask(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_with_cancel_mask(cx, masked_scope, NULL), ASX_OK);
    return asx_checkpoint(cx);
}

static asx_status reached_under_a_mask(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_with_cancel_mask(cx, masked_scope, NULL), ASX_E_CANCELLED);
    return ASX_OK;
}

static asx_status shield(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_cancel_reason strong = { .kind = ASX_CANCEL_RESOURCE };
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, under_a_mask, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    if (arg != NULL) {
        CHECK_STATUS(asx_region_cancel(&r, NULL), ASX_OK);
        CHECK_STATUS(asx_region_cancel(&r, &strong), ASX_OK);
    } else {
        CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
        CHECK_STATUS(asx_task_cancel(&t, &strong), ASX_OK);
    }
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_STR_EQ(said(), "");
    inner_waker.wake(inner_waker.arg);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    CHECK_STR_EQ(said(), "inner-ok shielded");
    CHECK_STATUS(asx_region_close(&r, ASX_OK), arg != NULL ? ASX_E_CANCELLED : ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_scope_opened_under_a_mask_is_kept_from_the_cancellation)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(shield, NULL, ASX_OK);
    kit_everywhere(shield, "by its region", ASX_OK);
}

/* When the mask ends, or is used up, what was kept out comes in. */
static asx_status catches_up(asx_cx *cx, void *arg)
{
    asx_region r;
    uint32_t polls_max = arg != NULL ? 1 : 0;
    asx_task self;
    CHECK_STATUS(asx_cx_task(cx, &self), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, polls_max), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "i", inner_waits, NULL), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&self, NULL), ASX_OK);
    asx_region_state s;
    CHECK_STATUS(asx_region_get_state(&r, &s), ASX_OK);
    CHECK_EQ(s, ASX_REGION_OPEN);
    if (polls_max != 0)
        CHECK_STATUS(asx_yield(cx), ASX_OK); /* the mask's one resumption */
    else
        CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_region_get_state(&r, &s), ASX_OK);
    CHECK_EQ(s, ASX_REGION_DRAINING);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
    CHECK_STR_EQ(said(), "inner-told");
    return ASX_OK;
}

static asx_status spawn_catches_up(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "c", catches_up, arg), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_shielded_scope_catches_up_when_the_mask_ends_or_is_used_up)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(spawn_catches_up, NULL, ASX_OK);
    kit_everywhere(spawn_catches_up, "bounded", ASX_OK);
}

/* A masked task that waits in a close has its masks lifted when its time is over. */
static asx_status lifted_in_close(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_budget left;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .cleanup_time_ns = 4 * ASX_MS }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, reached_under_a_mask, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_task_get_cleanup(&t, &left), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    CHECK_GE(asx_now(cx), left.deadline);
    CHECK_STR_EQ(said(), "inner-told reached");
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_close_under_a_mask_is_reached_when_the_time_is_over)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(lifted_in_close, NULL, ASX_OK);
}

/* ---- narrowed contexts ---------------------------------------------------------------------- */

static asx_status has_caps(asx_cx *cx, void *arg)
{
    CHECK_EQ(asx_cx_caps(cx), *(uint32_t *)arg);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_E_CAPABILITY);
    return ASX_OK;
}

static asx_status narrowed(asx_cx *cx, void *arg)
{
    asx_cx narrow;
    asx_region r, wide;
    uint32_t caps = ASX_CAP_SPAWN | ASX_CAP_CHANNEL;
    (void)arg;
    CHECK_STATUS(asx_cx_narrow(cx, caps, &narrow), ASX_OK);
    CHECK_STATUS(asx_region_open(&narrow, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "c", has_caps, &caps), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .caps = ASX_CAP_ALL }, &wide), ASX_OK);
    CHECK_STATUS(asx_spawn(&wide, "c", has_caps, &caps), ASX_OK); /* inside the narrow one */
    CHECK_STATUS(asx_region_close(&wide, ASX_OK), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_narrowed_context_opens_nothing_wider_than_itself)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(narrowed, NULL, ASX_OK);
}

/* ---- depth ---------------------------------------------------------------------------------- */

enum { DEEP = 3000 };

static asx_status deep_chain(asx_cx *cx, void *arg)
{
    static asx_region r[DEEP];
    asx_close_report report;
    bool abandon = arg != NULL;
    for (int i = 0; i < DEEP; i++)
        CHECK_STATUS(asx_region_open(cx, NULL, &r[i]), ASX_OK);
    CHECK_STATUS(asx_spawn(&r[DEEP - 1], "w", kit_waiter, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_region_report(&r[0], &report), ASX_OK);
    CHECK_EQ(report.items_len, DEEP + 1);
    asx_close_report_deinit(&report);
    if (abandon)
        asx_panic(cx, "with %d regions open", DEEP);
    CHECK_STATUS(asx_region_stop(&r[0]), ASX_OK);
    CHECK_STATUS(asx_region_cancel(&r[0], NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STR_EQ(said(), "told");
    for (int i = DEEP - 1; i >= 0; i--)
        CHECK_STATUS(asx_region_close(&r[i], ASX_OK), ASX_E_CANCELLED);
    return ASX_OK;
}

static asx_status in_small_stack(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_spawn_options options = { .stack_size = 16384 };
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, deep_chain, arg, &options, NULL), ASX_OK);
    asx_status st = asx_region_close(&r, ASX_OK);
    CHECK_STATUS(st, arg != NULL ? ASX_E_PANICKED : ASX_OK);
    CHECK_STR_EQ(said(), "told");
    return ASX_OK;
}

ASX_TEST(a_chain_of_thousands_of_regions_is_cancelled_on_a_small_stack)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(in_small_stack, NULL, ASX_OK);
}

ASX_TEST(a_chain_of_thousands_of_abandoned_regions_closes_on_a_small_stack)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(in_small_stack, "abandon", ASX_OK);
}

/* One task per level, each closing its own scope: the cancel travels through tasks and scopes. */
static int level_left;

static asx_status level(asx_cx *cx, void *arg)
{
    asx_region r;
    if (--level_left <= 0)
        return kit_waiter(cx, NULL);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "l", level, arg), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static asx_status deep_tasks(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    (void)arg;
    level_left = 500;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, level, NULL, NULL, &t), ASX_OK);
    while (level_left > 0)
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "told");
    return ASX_OK;
}

ASX_TEST(a_cancel_travels_down_hundreds_of_tasks_and_scopes)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(deep_tasks, NULL, ASX_OK);
}

/* ---- timers of one moment ------------------------------------------------------------------- */

static asx_status sleeps_as_long(asx_cx *cx, void *arg)
{
    asx_status st = asx_sleep_until(cx, *(asx_time *)arg);
    CHECK(st == ASX_E_CANCELLED || st == ASX_OK);
    return st;
}

static asx_poll sleeps_as_long_poll(asx_cx *cx, void *arg)
{
    asx_status st = asx_sleep_until(cx, *(asx_time *)arg);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    return st < 0 ? asx_poll_fail(cx, st) : ASX_POLL_READY;
}

/* Region timeout, region deadline, own deadlines and sleeps all end in the same nanosecond. */
static asx_status same_moment(asx_cx *cx, void *arg)
{
    asx_region r, q;
    asx_time at = asx_now(cx) + 3 * ASX_MS;
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_region_options options = { .timeout_ns = 3 * ASX_MS };
    asx_spawn_options dated = { .budget = &budget };
    (void)arg;
    budget.deadline = at;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    options.budget = &budget;
    CHECK_STATUS(asx_region_open(cx, &options, &q), ASX_OK);
    for (int i = 0; i < 100; i++) {
        asx_region *where = i & 1 ? &r : &q;
        CHECK_STATUS(asx_spawn(where, "s", sleeps_as_long, &at), ASX_OK);
        CHECK_STATUS(asx_spawn_poll(where, "p", sleeps_as_long_poll, &at), ASX_OK);
        CHECK_STATUS(asx_spawn_task(where, sleeps_as_long, &at, &dated, NULL), ASX_OK);
    }
    CHECK_STATUS(asx_region_close(&q, ASX_OK), ASX_E_TIMEOUT);
    asx_status st = asx_region_close(&r, ASX_OK);
    CHECK(st == ASX_E_TIMEOUT || (st == ASX_OK && !kit_is_virtual(cx))); /* a later moment there */
    return ASX_OK;
}

ASX_TEST(timers_of_one_moment_wake_a_task_once)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(same_moment, NULL, ASX_OK);
}
