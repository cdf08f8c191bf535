/* Joining: who may, how often, and what runs in the joiner's place. */
#include "support_kit.h"

#include <string.h>

typedef struct joined {
    asx_task *target;
    asx_status status;
    asx_join_result result;
} joined;

static asx_status joins(asx_cx *cx, void *arg)
{
    joined *j = arg;
    j->status = asx_join(cx, j->target, &j->result);
    say("%s", asx_status_str(j->status));
    return ASX_OK;
}

static asx_poll joins_poll(asx_cx *cx, void *arg)
{
    joined *j = arg;
    j->status = asx_join(cx, j->target, &j->result);
    if (j->status == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    say("%s", asx_status_str(j->status));
    return ASX_POLL_READY;
}

static asx_status twice(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_join_result result;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &r, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, NULL, kit_returns, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_spawn_task(&r, NULL, kit_returns, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK); /* it has ended before */
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_spawn_task(&r, NULL, kit_returns, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_E_STALE_HANDLE); /* its region is closed */
    return ASX_OK;
}

ASX_TEST(a_task_is_joined_once)
{
    asx_test_one_worker("who runs next");
    kit_everywhere(twice, NULL, ASX_OK);
}

static asx_status busy(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t, a;
    joined j = { .target = &t }, k = { .target = &t };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &r, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, NULL, kit_waiter, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, NULL, joins, &j, &a), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_E_BUSY);
    CHECK_STATUS(asx_task_cancel(&a, NULL), ASX_OK); /* a cancelled join lets go of the task */
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, NULL, joins_poll, &j, &a), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_E_BUSY);
    CHECK_STATUS(asx_task_cancel(&a, NULL), ASX_OK); /* so does that of a poll task */
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", joins_poll, &k), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_E_BUSY);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "ASX_E_CANCELLED ASX_E_CANCELLED told ASX_OK");
    CHECK_EQ(k.result.outcome.kind, ASX_OUTCOME_CANCELLED);
    return ASX_OK;
}

ASX_TEST(one_task_at_a_time_joins)
{
    asx_test_one_worker("who runs next");
    kit_everywhere(busy, NULL, ASX_OK);
}

/* A poll task's join that is not repeated in its next resumption is withdrawn. */
static asx_poll joins_and_forgets(asx_cx *cx, void *arg)
{
    joined *j = arg;
    asx_waker waker;
    if (j->status == ASX_OK) {
        j->status = asx_join(cx, j->target, &j->result);
        CHECK_STATUS(j->status, ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_join(cx, j->target, &j->result), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_BUSY); /* one wait at a time */
        return ASX_POLL_PENDING;
    }
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    say("resumed");
    return asx_checkpoint(cx) == ASX_OK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status not_repeated(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t, p;
    joined j = { .target = &t };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &r, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, NULL, kit_waiter, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, NULL, joins_and_forgets, &j, &p), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_E_BUSY);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    CHECK_STR_EQ(said(), "told resumed"); /* the end of its target has resumed it */
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK); /* and it has not picked up the result */
    CHECK_STATUS(asx_task_cancel(&p, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_poll_tasks_join_that_is_not_repeated_is_withdrawn)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(not_repeated, NULL, ASX_OK);
}

/* ---- would deadlock ------------------------------------------------------------------------- */

static asx_status joins_its_parent(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_join(cx, arg, NULL), ASX_E_WOULD_DEADLOCK);
    say("child");
    return ASX_OK;
}

static asx_status joins_its_joiner(asx_cx *cx, void *arg)
{
    asx_task *t = arg;
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_join(cx, t, NULL), ASX_E_WOULD_DEADLOCK);
    say("joined");
    return ASX_OK;
}

static asx_status no_deadlock(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task self, a, b;
    joined j = { .target = &a };
    (void)arg;
    CHECK_STATUS(asx_cx_task(cx, &self), ASX_OK);
    CHECK_STATUS(asx_join(cx, &self, NULL), ASX_E_WOULD_DEADLOCK);
    CHECK_STATUS(asx_region_open(cx, &r, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, NULL, joins_its_joiner, &b, &a), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, NULL, joins, &j, &b), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "child", joins_its_parent, &self), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "joined child ASX_OK");
    return ASX_OK;
}

ASX_TEST(a_join_that_would_wait_for_itself_is_refused)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(no_deadlock, NULL, ASX_OK);
}

/* ---- in the joiner's place ------------------------------------------------------------------ */

static asx_status says(asx_cx *cx, void *arg)
{
    (void)cx;
    say("%s", (const char *)arg);
    return ASX_OK;
}

static asx_status says_after_yield(asx_cx *cx, void *arg)
{
    say("%s", (const char *)arg);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    say("%s'", (const char *)arg);
    return ASX_OK;
}

static asx_status inline_order(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &r, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", says, "a"), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", says, "b"), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, NULL, says, "child", &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    say("joiner");
    return asx_region_close(&r, ASX_OK);
}

static asx_status inline_poll_order(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    joined j = { .target = &t };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &r, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", joins_poll, &j), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", says, "a"), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, NULL, says, "child", &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

/* A child that gave way is no longer in anybody's place: its joiner waits for its own turn. */
static asx_status inline_ends(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &r, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", says_after_yield, "a"), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", says_after_yield, "b"), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, NULL, says_after_yield, "c", &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    say("joiner");
    return asx_region_close(&r, ASX_OK);
}

static void in_all_modes(asx_task_fn fn, const char *inlined, const char *in_turn)
{
    for (int i = 0; i < 8; i++) {
        asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.trace = (i & 2) != 0;
        config.no_join_inline = (i & 4) != 0;
        hush();
        CHECK_STATUS(kit_run(&config, fn, NULL), ASX_OK);
        CHECK_STR_EQ(said(), config.no_join_inline ? in_turn : inlined);
    }
}

ASX_TEST(joining_a_fresh_child_runs_it_next_and_then_the_joiner)
{
    asx_test_one_worker("who has run when a yield returns");
    in_all_modes(inline_order, "child joiner a b", "a b child joiner");
}

ASX_TEST(a_poll_task_that_joins_a_fresh_child_runs_it_next)
{
    asx_test_one_worker("who has run when a yield returns");
    in_all_modes(inline_poll_order, "child ASX_OK a", "a child ASX_OK");
}

ASX_TEST(a_joiner_does_not_pass_others_once_its_child_gave_way)
{
    asx_test_one_worker("who has run when a yield returns");
    in_all_modes(inline_ends, "c a b c' a' b' joiner", "a b c a' b' c' joiner");
}

/* The same for a child that is a poll task. */
static asx_poll pends_once(asx_cx *cx, void *state)
{
    int *n = state;
    (void)cx;
    say("c%d", *n);
    return ++*n == 2 ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static asx_status inline_poll_ends(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    int n = 0;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &r, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", says_after_yield, "a"), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, NULL, pends_once, &n, &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    say("joiner");
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(nor_once_its_child_that_is_a_poll_task_gave_way)
{
    asx_test_one_worker("who has run when a yield returns");
    in_all_modes(inline_poll_ends, "c0 a c1 a' joiner", "a c0 a' c1 joiner");
}

/* Higher priority, a deadline or a pending cancel keep a child in its own lane. */
static asx_status not_the_same_lane(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_budget urgent = ASX_BUDGET_INFINITE, dated = ASX_BUDGET_INFINITE;
    urgent.priority = 3;
    dated.deadline = asx_now(cx) + ASX_SEC;
    asx_spawn_options options[] = { { .budget = &urgent }, { .budget = &dated } };
    (void)arg;
    for (size_t i = 0; i < 2; i++) {
        hush();
        CHECK_STATUS(asx_region_open(cx, &r, NULL), ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, &options[i], says, "a", NULL), ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, &options[i], says, "b", &t), ASX_OK);
        CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
        CHECK_STR_EQ(said(), "a b");
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(a_child_of_another_lane_or_priority_waits_for_its_turn)
{
    asx_test_one_worker("who runs next");
    kit_everywhere(not_the_same_lane, NULL, ASX_OK);
}

/* Cancelled after it was put in the joiner's place and before it ran: it goes to the cancel
 * lane. */
static asx_poll joins_then_cancels(asx_cx *cx, void *arg)
{
    joined *j = arg;
    bool first = j->status == ASX_OK;
    j->status = asx_join(cx, j->target, &j->result);
    if (j->status != ASX_E_WOULD_BLOCK)
        return ASX_POLL_READY;
    if (first)
        CHECK_STATUS(asx_task_cancel(j->target, NULL), ASX_OK);
    return ASX_POLL_PENDING;
}

static asx_status sees_cancel(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    say("seen");
    return ASX_OK;
}

static asx_status cancelled_in_place(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    joined j = { .target = &t };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &r, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", joins_then_cancels, &j), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, NULL, sees_cancel, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "seen");
    CHECK_EQ(j.result.outcome.kind, ASX_OUTCOME_CANCELLED);
    return ASX_OK;
}

ASX_TEST(a_child_cancelled_in_its_joiners_place_runs_in_the_cancel_lane)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(cancelled_in_place, NULL, ASX_OK);
}

/* Visible in the journal: the child's first run follows the joiner's park. */
typedef struct seen {
    uint64_t child;
    int phase;
} seen;

static void watch(void *ctx, const asx_event *event)
{
    seen *s = ctx;
    if (event->kind == ASX_EVENT_TASK_PARK && event->b == s->child)
        s->phase = 1;
    else if (event->kind == ASX_EVENT_TASK_RUN && s->phase == 1)
        s->phase = event->object == s->child ? 2 : 3;
}

static asx_status journalled(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    seen s = { 0, 0 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &r, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", says, "a"), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, NULL, says, "child", &t), ASX_OK);
    s.child = t.id.generation & 0xffffffffffffu;
    CHECK_STATUS(asx_runtime_observe(asx_cx_runtime(cx), watch, &s), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_observe(asx_cx_runtime(cx), NULL, NULL), ASX_OK);
    CHECK_EQ(s.phase, 2);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(the_journal_shows_the_child_in_the_joiners_place)
{
    asx_test_one_worker("who runs next");
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.trace = true;
    CHECK_STATUS(kit_run(&config, journalled, NULL), ASX_OK);
}
