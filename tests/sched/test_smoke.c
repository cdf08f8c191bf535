/* First life: tasks run, regions close, cancels reach the parked. */
#include <asx/asx.h>

#include <string.h>

#include "harness.h"

static int order[16];
static int order_len;

static asx_status note(asx_cx *cx, void *arg)
{
    (void)cx;
    order[order_len++] = (int)(intptr_t)arg;
    return ASX_OK;
}

static asx_status spawn_three(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (intptr_t i = 1; i <= 3; i++)
        CHECK_EQ(asx_spawn(&r, "note", note, (void *)i), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(order_len, 3);
    return ASX_OK;
}

ASX_TEST(children_run_before_close_returns)
{
    asx_test_one_worker("who has run when a yield returns");
    asx_runtime *rt;
    CHECK_EQ(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, spawn_three, NULL), ASX_OK);
    CHECK_EQ(order[0], 1);
    CHECK_EQ(order[2], 3);
    CHECK_EQ(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

static asx_status sleeper(asx_cx *cx, void *arg)
{
    asx_status *ret = arg;
    *ret = asx_sleep(cx, 3600 * ASX_SEC);
    return *ret;
}

static asx_status cancel_sleeper(asx_cx *cx, void *arg)
{
    asx_status st = ASX_OK;
    asx_region r;
    asx_task t;
    asx_join_result result;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn_task(&r, sleeper, &st, NULL, &t), ASX_OK);
    CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_EQ(asx_join(cx, &t, &result), ASX_OK);
    CHECK_EQ(st, ASX_E_CANCELLED);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_EQ(asx_join(cx, &t, &result), ASX_E_STALE_HANDLE);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_cancel_reaches_a_task_in_a_live_sleep)
{
    asx_runtime *rt;
    CHECK_EQ(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, cancel_sleeper, NULL), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

static asx_status yielder(asx_cx *cx, void *arg)
{
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(asx_yield(cx), ASX_OK);
    ++*(int *)arg;
    return ASX_OK;
}

static asx_status two_yielders(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "a", yielder, arg), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "b", yielder, arg), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(yielding_tasks_take_turns)
{
    int done = 0;
    CHECK_EQ(asx_main(two_yielders, &done), 0);
    CHECK_EQ(done, 2);
}

static asx_poll count_poll(asx_cx *cx, void *state)
{
    int *n = state;
    if (*n >= 3)
        return ASX_POLL_READY;
    asx_status st = asx_sleep(cx, ASX_MS);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    ++*n;
    return asx_sleep(cx, ASX_MS) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status poll_main(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn_poll(&r, "poll", count_poll, arg), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_poll_task_sleeps_and_is_resumed)
{
    int n = 0;
    CHECK_EQ(asx_main(poll_main, &n), 0);
    CHECK_EQ(n, 3);
}

static asx_status boom(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_panic(cx, "the answer was %d", 42);
}

static asx_status panic_main(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_status st = ASX_OK;
    asx_close_report report;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "sleeper", sleeper, &st), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "boom", boom, NULL), ASX_OK);
    CHECK_EQ(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_PANICKED);
    CHECK_EQ(report.tasks_panicked, 1);
    CHECK_EQ(report.tasks_cancelled, 1);
    CHECK_EQ(report.items_len, 1);
    CHECK_STR_EQ(report.items[0].state, "Panicked: the answer was 42");
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_panic_ends_its_task_and_fails_the_region_fast)
{
    CHECK_EQ(asx_main(panic_main, NULL), 0);
}

static asx_status never_listens(asx_cx *cx, void *arg)
{
    (void)arg;
    while (asx_sleep(cx, ASX_SEC) != ASX_OK) /* told again and again */
        continue;
    return ASX_OK;
}

static asx_status close_over_the_deaf(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_close_report report;
    (void)arg;
    asx_region_options options = { .name = "r", .timeout_ns = 20 * ASX_MS };
    CHECK_EQ(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_EQ(asx_spawn_task(&r, never_listens, NULL,
                            &(asx_spawn_options){ .name = "deaf", .stack_size = 32768 }, &t),
             ASX_OK);
    CHECK_EQ(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_TIMEOUT);
    CHECK_EQ(report.tasks_forced, 1);
    CHECK_EQ(report.stacks_kept, 1);
    CHECK_STR_EQ(report.items[0].name, "deaf");
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_fiber_that_ignores_its_cancellation_is_completed_by_force)
{
    CHECK_EQ(asx_main(close_over_the_deaf, NULL), 0);
}

static asx_status close_what_never_opened(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_cx weak;
    void *memory;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    (void)arg;
    CHECK_EQ(asx_cx_narrow(cx, ASX_CAP_TIME, &weak), ASX_OK);
    CHECK_EQ(asx_region_open(&weak, NULL, &r), ASX_E_CAPABILITY);
    CHECK_EQ(asx_spawn(&r, "never", note, NULL), ASX_E_CAPABILITY);
    CHECK_EQ(asx_channel_create(&r, 8, 1, NULL, &tx, &rx), ASX_E_CAPABILITY);
    CHECK_EQ(asx_defer(&r, note, NULL), ASX_E_CAPABILITY);
    CHECK_EQ(asx_region_alloc(&r, 8, &memory), ASX_E_CAPABILITY);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_CAPABILITY);
    asx_close_report report;
    memset(&report, '#', sizeof report);
    CHECK_EQ(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_CAPABILITY);
    CHECK_EQ(report.items_len, 0);
    asx_close_report_deinit(&report);
    asx_region root;
    CHECK_EQ(asx_cx_region(cx, &root), ASX_OK);
    memset(&report, '#', sizeof report);
    CHECK_EQ(asx_region_close_with(&root, ASX_OK, NULL, &report), ASX_E_NOT_OWNER);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_region_that_could_not_be_opened_answers_with_the_reason)
{
    CHECK_EQ(asx_main(close_what_never_opened, NULL), 0);
    CHECK_EQ(order_len, 0);
}
