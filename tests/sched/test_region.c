/* Regions: opening, nesting, closing, what is refused in which state, what sticks. */
#include "support_kit.h"

#include <string.h>

static asx_status open_nested(asx_cx *cx, void *arg)
{
    asx_region a, b;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "a" }, &a), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "b" }, &b), ASX_OK);
    CHECK_STATUS(asx_region_report(&b, &report), ASX_OK);
    CHECK_EQ(report.items_len, 1);
    CHECK_EQ(report.items[0].kind, ASX_REPORT_REGION);
    CHECK_STR_EQ(report.items[0].path, "root/a/b");
    CHECK_STR_EQ(report.items[0].state, "Open");
    asx_close_report_deinit(&report);
    CHECK_STATUS(asx_region_close(&b, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_close(&a, ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_region_is_opened_in_the_innermost_scope)
{
    kit_everywhere(open_nested, NULL, ASX_OK);
}

/* ---- left open ------------------------------------------------------------------------------ */

static asx_status close_outer_first(asx_cx *cx, void *arg)
{
    asx_region a, b;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &a), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "b" }, &b), ASX_OK);
    CHECK_STATUS(asx_spawn(&b, "w", kit_waiter, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&a, ASX_OK, NULL, &report), ASX_E_REGION_LEFT_OPEN);
    CHECK_STR_EQ(said(), "told");
    CHECK_EQ(report.items_len, 1);
    CHECK_EQ(report.items[0].kind, ASX_REPORT_REGION);
    CHECK_STR_EQ(report.items[0].name, "b");
    CHECK_STR_EQ(report.items[0].state, "LeftOpen");
    CHECK(strstr(report.items[0].site, "test_region.c:") != NULL);
    asx_close_report_deinit(&report);
    CHECK_STATUS(asx_region_close(&b, ASX_OK), ASX_E_STALE_HANDLE);
    return ASX_OK;
}

ASX_TEST(closing_an_outer_region_cancels_and_drains_the_inner_one_left_open)
{
    kit_everywhere(close_outer_first, NULL, ASX_OK);
}

/* A child's status that looks like a refusal of close is a result all the same. */
static asx_status inner_result_looks_like_a_refusal(asx_cx *cx, void *arg)
{
    static const asx_status looks[] = { ASX_E_BUSY, ASX_E_WOULD_BLOCK, ASX_E_WRONG_CONTEXT };
    (void)arg;
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        asx_region a, b;
        CHECK_STATUS(asx_region_open(cx, NULL, &a), ASX_OK);
        CHECK_STATUS(asx_region_open(cx, NULL, &b), ASX_OK);
        CHECK_STATUS(asx_spawn(&b, "f", kit_returns, (void *)(intptr_t)looks[i]), ASX_OK);
        CHECK_STATUS(asx_region_close(&a, ASX_OK), ASX_E_REGION_LEFT_OPEN);
        CHECK_STATUS(asx_region_close(&a, ASX_OK), ASX_E_STALE_HANDLE);
    }
    return ASX_OK;
}

ASX_TEST(an_inner_failure_is_not_taken_for_a_close_that_could_not_be_done)
{
    kit_everywhere(inner_result_looks_like_a_refusal, NULL, ASX_OK);
}

static asx_status forgets_fiber(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "lost" }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    return ASX_OK;
}

static asx_poll forgets_poll(asx_cx *cx, void *arg)
{
    return forgets_fiber(cx, arg) == ASX_OK ? ASX_POLL_READY : ASX_POLL_ERROR;
}

static asx_status task_forgets(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_join_result result;
    asx_close_report report;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    if (arg != NULL)
        CHECK_STATUS(asx_spawn_poll_task(&r, forgets_poll, NULL, NULL, &t), ASX_OK);
    else
        CHECK_STATUS(asx_spawn_task(&r, forgets_fiber, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_ERR);
    CHECK_STATUS(result.outcome.status, ASX_E_REGION_LEFT_OPEN);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_REGION_LEFT_OPEN);
    CHECK_STR_EQ(said(), "told");
    bool named = false;
    for (size_t i = 0; i < report.items_len; i++)
        named |= report.items[i].kind == ASX_REPORT_REGION &&
                 strcmp(report.items[i].name, "lost") == 0 &&
                 strstr(report.items[i].site, "test_region.c:") != NULL;
    CHECK(named);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_fiber_that_ends_with_a_region_open_ends_err_and_the_line_is_named)
{
    kit_everywhere(task_forgets, NULL, ASX_OK);
}

ASX_TEST(a_poll_task_that_ends_with_a_region_open_ends_err_and_the_line_is_named)
{
    kit_everywhere(task_forgets, "poll", ASX_OK);
}

static asx_status main_forgets(asx_cx *cx, void *arg)
{
    return forgets_fiber(cx, arg);
}

ASX_TEST(main_that_forgets_a_region_fails_the_run)
{
    kit_everywhere(main_forgets, NULL, ASX_E_REGION_LEFT_OPEN);
    CHECK_STR_EQ(said(), "told");
}

/* ---- who closes ----------------------------------------------------------------------------- */

static asx_status not_the_owner(asx_cx *cx, void *arg)
{
    asx_region *r = arg;
    (void)cx;
    CHECK_STATUS(asx_region_close(r, ASX_OK), ASX_E_NOT_OWNER);
    CHECK_STATUS(asx_region_close(r, ASX_E_FULL), ASX_E_NOT_OWNER);
    asx_region_state state;
    CHECK_STATUS(asx_region_get_state(r, &state), ASX_OK);
    CHECK_EQ(state, ASX_REGION_DRAINING); /* its owner is closing it, and waits for us */
    CHECK_STATUS(asx_region_cancel(r, NULL), ASX_OK);
    return asx_checkpoint(cx);
}

static asx_status closed_by_its_child(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "child", not_the_owner, &r), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
    return ASX_OK;
}

ASX_TEST(a_descendant_may_cancel_but_not_close)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(closed_by_its_child, NULL, ASX_OK);
}

static asx_region lent;

static asx_status lends_a_region(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &lent), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    return asx_region_close(&lent, (asx_status)7); /* not a failure: as good as ASX_OK */
}

ASX_TEST(nobody_closes_from_outside_a_task)
{
    asx_runtime *rt;
    asx_region root;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_root(rt, &root), ASX_OK);
    CHECK_STATUS(asx_region_close(&root, ASX_OK), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_runtime_start(rt, lends_a_region, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_step(rt, 1, NULL), ASX_E_WOULD_BLOCK);
    CHECK_STATUS(asx_region_close(&lent, ASX_OK), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- a second close, which only a poll task can make ---------------------------------------- */

typedef struct twice {
    asx_region r;
    int step;
    asx_status result;
    asx_close_report report;
} twice;

static asx_poll close_twice(asx_cx *cx, void *state)
{
    twice *t = state;
    asx_region_state s;
    switch (t->step++) {
    case 0:
        CHECK_STATUS(asx_region_open(cx, NULL, &t->r), ASX_OK);
        CHECK_STATUS(asx_spawn(&t->r, "w", kit_waiter, NULL), ASX_OK);
        CHECK_STATUS(asx_yield(cx), ASX_E_WOULD_BLOCK);
        return ASX_POLL_PENDING;
    case 1: {
        asx_close_report gone; /* of a frame that is no more when the region closes */
        CHECK_STATUS(asx_region_close_with(&t->r, ASX_OK, NULL, &gone), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_region_get_state(&t->r, &s), ASX_OK);
        CHECK_EQ(s, ASX_REGION_DRAINING);
        CHECK_STATUS(asx_region_close(&t->r, ASX_E_FULL), ASX_E_WOULD_BLOCK);
        return ASX_POLL_PENDING;
    }
    default: {
        void *memory;
        CHECK_STATUS(asx_region_get_state(&t->r, &s), ASX_OK);
        CHECK_EQ(s, ASX_REGION_CLOSED); /* and kept until its close is reported */
        CHECK_STATUS(asx_region_alloc(&t->r, 8, &memory), ASX_E_REGION_CLOSED);
        CHECK_STATUS(asx_spawn(&t->r, "late", kit_returns, NULL), ASX_E_REGION_CLOSED);
        t->result = asx_region_close_with(&t->r, ASX_OK, NULL, &t->report);
        CHECK_STATUS(asx_region_get_state(&t->r, &s), ASX_E_STALE_HANDLE);
        return ASX_POLL_READY;
    }
    }
}

static asx_status second_close(asx_cx *cx, void *arg)
{
    asx_region r;
    twice t = { .step = 0 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "twice", close_twice, &t), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(t.result, ASX_E_FULL);
    CHECK_STATUS(t.report.status, ASX_E_FULL);
    CHECK_EQ(t.report.tasks_cancelled, 1);
    asx_close_report_deinit(&t.report);
    CHECK_STR_EQ(said(), "told");
    return ASX_OK;
}

ASX_TEST(a_second_close_waits_for_the_first_and_its_failure_cancels)
{
    kit_everywhere(second_close, NULL, ASX_OK);
}

/* A report that is asked for only when the region is closed has the numbers. */
static asx_poll asks_late(asx_cx *cx, void *state)
{
    twice *t = state;
    if (t->step++ == 0) {
        CHECK_STATUS(asx_region_open(cx, NULL, &t->r), ASX_OK);
        CHECK_STATUS(asx_spawn(&t->r, "ok", kit_returns, NULL), ASX_OK);
        CHECK_STATUS(asx_region_close(&t->r, ASX_OK), ASX_E_WOULD_BLOCK);
        return ASX_POLL_PENDING;
    }
    memset(&t->report, '#', sizeof t->report); /* whatever was there */
    t->result = asx_region_close_with(&t->r, ASX_OK, NULL, &t->report);
    return ASX_POLL_READY;
}

static asx_status late_report(asx_cx *cx, void *arg)
{
    asx_region r;
    twice t = { .step = 0 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "late", asks_late, &t), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(t.result, ASX_OK);
    CHECK_EQ(t.report.tasks_ok, 1);
    CHECK_EQ(t.report.items_len, 0);
    asx_close_report_deinit(&t.report);
    return ASX_OK;
}

ASX_TEST(a_report_asked_for_after_the_close_has_the_numbers)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(late_report, NULL, ASX_OK);
}

/* A poll task that ends in the middle of a close, with and without a report asked for. */
static asx_poll closes_and_ends(asx_cx *cx, void *state)
{
    asx_region r;
    asx_close_report report;
    bool *reports = state;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, *reports ? &report : NULL),
                 ASX_E_WOULD_BLOCK);
    return ASX_POLL_READY;
}

static asx_status ends_in_close(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int reports = 0; reports < 2; reports++) {
        asx_region r;
        bool asked = reports != 0;
        hush();
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_STATUS(asx_spawn_poll(&r, "p", closes_and_ends, &asked), ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_REGION_LEFT_OPEN);
        CHECK_STR_EQ(said(), "told");
    }
    return ASX_OK;
}

ASX_TEST(a_poll_task_that_ends_while_it_closes_leaves_the_region_open)
{
    kit_everywhere(ends_in_close, NULL, ASX_OK);
}

/* A report asked for at first and not fetched at last. */
static asx_poll drops_its_report(asx_cx *cx, void *state)
{
    twice *t = state;
    asx_close_report report;
    if (t->step++ == 0) {
        CHECK_STATUS(asx_region_open(cx, NULL, &t->r), ASX_OK);
        CHECK_STATUS(asx_spawn(&t->r, "p", kit_panics, NULL), ASX_OK); /* so that it has an item */
        CHECK_STATUS(asx_region_close_with(&t->r, ASX_OK, NULL, &report), ASX_E_WOULD_BLOCK);
        return ASX_POLL_PENDING;
    }
    CHECK_STATUS(asx_region_close(&t->r, ASX_OK), ASX_E_PANICKED);
    return ASX_POLL_READY;
}

static asx_status unfetched(asx_cx *cx, void *arg)
{
    asx_region r;
    twice t = { .step = 0 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", drops_its_report, &t), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_report_that_is_not_fetched_is_freed)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(unfetched, NULL, ASX_OK);
}

/* ---- stop ----------------------------------------------------------------------------------- */

static asx_status stops(asx_cx *cx, void *arg)
{
    asx_region r, child, scope;
    asx_region_state s;
    uint64_t ms = ASX_MS;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_region_open_in(cx, &r, NULL, &child), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &scope), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "s", kit_sleeper, &ms), ASX_OK);
    CHECK_STATUS(asx_region_stop(&r), ASX_OK);
    CHECK_STATUS(asx_region_stop(&r), ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_region_get_state(&child, &s), ASX_OK);
    CHECK_EQ(s, ASX_REGION_CLOSING);
    CHECK_STATUS(asx_region_get_state(&scope, &s), ASX_OK);
    CHECK_EQ(s, ASX_REGION_OPEN); /* nested in its task: a close without reason does not reach it */
    CHECK_STATUS(asx_spawn(&r, "late", kit_returns, NULL), ASX_E_REGION_NOT_OPEN);
    CHECK_STATUS(asx_spawn(&child, "late", kit_returns, NULL), ASX_E_REGION_NOT_OPEN);
    CHECK_STATUS(asx_defer(&r, kit_returns, NULL), ASX_E_REGION_NOT_OPEN);
    asx_region more;
    CHECK_STATUS(asx_region_open_in(cx, &r, NULL, &more), ASX_E_REGION_NOT_OPEN);
    asx_obligation o;
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &o), ASX_E_REGION_NOT_OPEN);
    void *memory;
    CHECK_STATUS(asx_region_alloc(&r, 100, &memory), ASX_OK); /* memory goes on until Closed */
    CHECK_STATUS(asx_region_close(&scope, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_close(&child, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK); /* nothing of that sticks */
    return ASX_OK;
}

ASX_TEST(stop_ends_admission_and_lets_children_finish)
{
    kit_everywhere(stops, NULL, ASX_OK);
}

/* ---- sticky set-up failures ----------------------------------------------------------------- */

static asx_status sticks(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "bad", NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_spawn(&r, "good", kit_returns, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_spawn_poll(&r, "good", forgets_poll, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_defer(&r, kit_returns, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK); /* what runs goes on */
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STR_EQ(said(), "");
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_INVALID_ARGUMENT);
    CHECK_STR_EQ(said(), "told");
    CHECK_STATUS(report.setup, ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(report.tasks_cancelled, 1);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_set_up_failure_sticks_and_close_cancels_and_reports_it)
{
    kit_everywhere(sticks, NULL, ASX_OK);
}

static asx_status bad_defer_sticks(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_spawn(&r, "good", kit_returns, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&r, ASX_E_EMPTY), ASX_E_INVALID_ARGUMENT);
    return ASX_OK;
}

ASX_TEST(the_first_set_up_failure_goes_before_the_bodys_status)
{
    kit_everywhere(bad_defer_sticks, NULL, ASX_OK);
}

/* ---- memory --------------------------------------------------------------------------------- */

static asx_status memory(asx_cx *cx, void *arg)
{
    asx_region r;
    unsigned char *p[64];
    void *m = NULL;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .memory_max = 100000 }, &r), ASX_OK);
    for (size_t i = 0; i < 64; i++) {
        CHECK_STATUS(asx_region_alloc(&r, i * 17 + 1, (void **)&p[i]), ASX_OK);
        CHECK_EQ((uintptr_t)p[i] % _Alignof(max_align_t), 0);
        memset(p[i], (int)i, i * 17 + 1);
    }
    for (size_t i = 0; i < 64; i++)
        for (size_t k = 0; k < i * 17 + 1; k++)
            CHECK_EQ(p[i][k], i);
    CHECK_STATUS(asx_region_alloc(&r, 0, &m), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_alloc(&r, 100001, &m), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_region_alloc(&r, SIZE_MAX, &m), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_region_alloc(&r, SIZE_MAX / 2, &m), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_PTR_EQ(m, NULL);
    CHECK_STATUS(asx_region_alloc(&r, 30000, &m), ASX_OK); /* a refusal costs nothing */
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_alloc(&r, 1, &m), ASX_E_STALE_HANDLE);
    return ASX_OK;
}

ASX_TEST(region_memory_is_aligned_bounded_and_gone_after_close)
{
    kit_everywhere(memory, NULL, ASX_OK);
}

/* ---- states --------------------------------------------------------------------------------- */

static void watch_region(void *ctx, const asx_event *event)
{
    if (event->kind == ASX_EVENT_REGION_STATE && event->object == *(uint64_t *)ctx)
        say("%s", asx_region_state_str((asx_region_state)event->b));
}

static asx_status states(asx_cx *cx, void *arg)
{
    asx_region r;
    uint64_t serial, ms = ASX_MS;
    bool child = arg != NULL;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    serial = r.id.generation & 0xffffffffffffu;
    CHECK_STATUS(asx_runtime_observe(asx_cx_runtime(cx), watch_region, &serial), ASX_OK);
    CHECK_STATUS(asx_region_probe(&r, ASX_REGION_DRAINING), ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_region_probe(&r, ASX_REGION_CLOSED), ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_region_probe(&r, ASX_REGION_CLOSING), ASX_OK);
    if (child)
        CHECK_STATUS(asx_spawn(&r, "s", kit_sleeper, &ms), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_runtime_observe(asx_cx_runtime(cx), NULL, NULL), ASX_OK);
    CHECK_STR_EQ(said(), child ? "Closing Draining Finalizing Closed"
                               : "Closing Finalizing Closed");
    return ASX_OK;
}

ASX_TEST(a_region_passes_through_its_states_and_an_empty_one_does_not_drain)
{
    for (int i = 0; i < 4; i++) {
        asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.trace = true;
        hush();
        CHECK_STATUS(kit_run(&config, states, i & 2 ? "child" : NULL), ASX_OK);
    }
}

static asx_status narrow(asx_cx *cx, void *arg)
{
    asx_region r, open_only, closing_only;
    asx_region_state s;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    open_only = asx_region_narrow(r, ASX_STATE_BIT(ASX_REGION_OPEN));
    closing_only = asx_region_narrow(r, ASX_STATE_BIT(ASX_REGION_CLOSING));
    CHECK_STATUS(asx_spawn(&open_only, "t", kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&closing_only, "t", kit_returns, NULL), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_region_cancel(&closing_only, NULL), ASX_E_CAPABILITY);
    closing_only = asx_region_narrow(closing_only, ASX_STATE_MASK_ALL); /* never widened */
    CHECK_STATUS(asx_region_close(&closing_only, ASX_OK), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_region_stop(&r), ASX_OK);
    CHECK_STATUS(asx_region_get_state(&open_only, &s), ASX_E_CAPABILITY);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_narrowed_handle_acts_in_its_states_only)
{
    kit_everywhere(narrow, NULL, ASX_OK);
}

/* A scope of a poll task that has closed but was not fetched is no place to open another in. */
static asx_poll opens_after_close(asx_cx *cx, void *state)
{
    twice *t = state;
    asx_region next;
    if (t->step++ == 0) {
        CHECK_STATUS(asx_region_open(cx, NULL, &t->r), ASX_OK);
        CHECK_STATUS(asx_spawn(&t->r, "ok", kit_returns, NULL), ASX_OK);
        CHECK_STATUS(asx_region_close(&t->r, ASX_OK), ASX_E_WOULD_BLOCK);
        return ASX_POLL_PENDING;
    }
    CHECK_STATUS(asx_region_open(cx, NULL, &next), ASX_OK);
    CHECK_STATUS(asx_region_close(&t->r, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_spawn(&next, "ok", kit_returns, NULL), ASX_OK);
    t->r = next;
    t->step = 10;
    return ASX_POLL_PENDING;
}

static asx_poll opens_then_closes(asx_cx *cx, void *state)
{
    twice *t = state;
    if (t->step < 10)
        return opens_after_close(cx, state);
    return asx_region_close(&t->r, ASX_OK) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING
                                                                : ASX_POLL_READY;
}

static asx_status open_beside_closed(asx_cx *cx, void *arg)
{
    asx_region r;
    twice t = { .step = 0 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", opens_then_closes, &t), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_closed_scope_that_was_not_fetched_takes_no_child)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(open_beside_closed, NULL, ASX_OK);
}
