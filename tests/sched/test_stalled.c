/* test_stalled.c - tasks that all wait for each other, and shutdowns with somebody who does not go,
 * on several workers. ctest-labels: clock own-workers */
#include "support_kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const uint32_t counts[] = { 2, 4 };

static bool names(const asx_close_report *report, const char *task, const char *waits_for)
{
    for (size_t i = 0; i < report->items_len; i++)
        if (strcmp(report->items[i].name, task) == 0 &&
            strcmp(report->items[i].waits_for, waits_for) == 0)
            return true;
    return false;
}

/* ---- two that wait for each other ------------------------------------------------------------ */

typedef struct embrace {
    asx_channel_sender tx[2];
    asx_channel_receiver rx[2];
    asx_runtime *rt;
    atomic_int waiting;
    asx_region region;
    bool seen;
} embrace;

typedef struct lover {
    embrace *e;
    int me;
} lover;

/* Gives what it has when it has got what the other has. */
static asx_status waits_first(asx_cx *cx, void *arg)
{
    lover *l = arg;
    uint64_t value;
    atomic_fetch_add(&l->e->waiting, 1);
    asx_status st = asx_channel_recv(cx, &l->e->rx[l->me], &value);
    if (st < 0)
        return st;
    return asx_channel_send(cx, &l->e->tx[1 - l->me], &value);
}

static asx_status embraces(asx_cx *cx, void *arg)
{
    embrace *e = arg;
    lover lovers[2] = { { e, 0 }, { e, 1 } };
    asx_region_options options = { .name = "pair" };
    CHECK_EQ(asx_runtime_stalled(asx_cx_runtime(cx)), ASX_OK); /* the one who asks does not wait */
    CHECK_EQ(asx_region_open(cx, &options, &e->region), ASX_OK);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(asx_channel_create(&e->region, sizeof(uint64_t), 1, NULL, &e->tx[i],
                                    &e->rx[i]), ASX_OK);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(asx_spawn(&e->region, i == 0 ? "first" : "second", waits_first, &lovers[i]),
                 ASX_OK);
    return asx_region_close(&e->region, ASX_OK);
}

static void *part_them(void *arg)
{
    embrace *e = arg;
    while (atomic_load(&e->waiting) < 2)
        usleep(1000);
    for (int i = 0; i < 5000 && asx_runtime_stalled(e->rt) != ASX_E_DEADLOCK; i++)
        usleep(1000);
    CHECK_EQ(asx_runtime_stalled(e->rt), ASX_E_DEADLOCK);
    asx_close_report report;
    CHECK_EQ(asx_runtime_report(e->rt, &report), ASX_OK);
    CHECK(names(&report, "first", "channel-recv") && names(&report, "second", "channel-recv"));
    CHECK(names(&report, "main", "region-close"));
    asx_close_report_deinit(&report);
    e->seen = true;
    CHECK_EQ(asx_region_cancel(&e->region, NULL), ASX_OK); /* somebody does help */
    return NULL;
}

ASX_TEST(a_stall_is_told_to_who_asks_and_can_be_ended_from_outside)
{
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        embrace e = { .seen = false };
        asx_runtime_config config = { .workers = counts[i] };
        pthread_t thread;
        CHECK_EQ(asx_runtime_create(&config, &e.rt), ASX_OK);
        CHECK_EQ(asx_runtime_stalled(e.rt), ASX_OK); /* nobody is there to wait */
        CHECK_EQ(pthread_create(&thread, NULL, part_them, &e), 0);
        CHECK_EQ(asx_runtime_run(e.rt, embraces, &e), ASX_E_CANCELLED);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK(e.seen);
        CHECK_EQ(asx_runtime_stalled(e.rt), ASX_OK);
        CHECK_EQ(asx_runtime_destroy(e.rt), ASX_OK);
    }
}

ASX_TEST(without_visitors_a_stall_is_a_deadlock_and_is_named)
{
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        embrace e = { .seen = false };
        asx_runtime_config config = { .workers = counts[i], .isolated = true };
        asx_close_report report;
        CHECK_EQ(asx_runtime_create(&config, &e.rt), ASX_OK);
        CHECK_EQ(asx_runtime_run(e.rt, embraces, &e), ASX_E_DEADLOCK);
        CHECK_EQ(asx_runtime_quiescent(e.rt), ASX_OK); /* it was shut down */
        CHECK_EQ(asx_runtime_report(e.rt, &report), ASX_OK);
        CHECK(names(&report, "first", "channel-recv") && names(&report, "second", "channel-recv"));
        asx_close_report_deinit(&report);
        CHECK_EQ(asx_runtime_destroy(e.rt), ASX_OK);
    }
}

ASX_TEST(one_worker_says_the_same_to_a_host_that_steps_it)
{
    embrace e = { .seen = false };
    asx_test_one_worker("steps");
    CHECK_EQ(asx_runtime_create(NULL, &e.rt), ASX_OK);
    CHECK_EQ(asx_runtime_start(e.rt, embraces, &e), ASX_OK);
    CHECK_EQ(asx_runtime_stalled(e.rt), ASX_OK); /* it is runnable */
    CHECK_EQ(asx_runtime_step(e.rt, 0, NULL), ASX_E_WOULD_BLOCK);
    CHECK_EQ(asx_runtime_stalled(e.rt), ASX_E_DEADLOCK);
    CHECK_EQ(asx_runtime_destroy(e.rt), ASX_OK);
}

/* ---- what is none ---------------------------------------------------------------------------- */

static asx_status blocks(void *arg)
{
    (void)arg;
    usleep(3000);
    return ASX_OK;
}

static asx_status naps(asx_cx *cx, void *arg)
{
    uintptr_t how = (uintptr_t)arg % 3;
    if (how == 0)
        return asx_sleep(cx, 2 * ASX_MS);
    if (how == 1)
        return asx_blocking(cx, blocks, NULL);
    usleep(2000); /* runs, while all others wait for it */
    return ASX_OK;
}

static asx_status naps_in_turn(asx_cx *cx, void *arg)
{
    (void)arg;
    for (uintptr_t i = 0; i < 60; i++) {
        asx_task task;
        asx_region r;
        asx_join_result result;
        CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_EQ(asx_spawn_task(&r, naps, (void *)i, NULL, &task), ASX_OK);
        CHECK_EQ(asx_join(cx, &task, &result), ASX_OK);
        CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(who_waits_for_a_timer_for_blocking_work_or_for_a_task_that_runs_is_not_deadlocked)
{
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        asx_runtime_config config = { .workers = counts[i], .isolated = true };
        asx_runtime *rt;
        CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_EQ(asx_runtime_run(rt, naps_in_turn, NULL), ASX_OK);
        CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    }
}

/* ---- shutdowns ------------------------------------------------------------------------------- */

static atomic_int stubborn_here;

static asx_status stubborn(asx_cx *cx, void *arg)
{
    asx_waker waker;
    (void)arg;
    CHECK_EQ(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_EQ(asx_cx_waker(cx, &waker), ASX_OK);
    atomic_fetch_add(&stubborn_here, 1);
    for (;;)
        (void)asx_wait_external(cx);
    return ASX_OK;
}

static asx_status spawns_stubborn(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_region_options soft = { .name = "soft", .cleanup = ASX_CLEANUP_SOFT };
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &soft, &r), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(asx_spawn(&r, "stubborn", stubborn, NULL), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "meek", kit_waiter, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_shutdown_on_several_workers_is_bounded_and_names_who_is_left)
{
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        asx_runtime_config config = { .workers = counts[i] };
        asx_runtime *rt;
        asx_close_report report;
        atomic_store(&stubborn_here, 0);
        CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_EQ(asx_runtime_start(rt, spawns_stubborn, NULL), ASX_OK);
        while (atomic_load(&stubborn_here) < 3)
            CHECK_EQ(asx_runtime_step(rt, 0, NULL), ASX_E_WOULD_BLOCK);
        asx_time begin = asx_runtime_now(rt);
        CHECK_EQ(asx_runtime_shutdown(rt, 50 * ASX_MS, &report), ASX_E_TASKS_STILL_ACTIVE);
        CHECK_LE(asx_runtime_now(rt), begin + 10 * ASX_SEC);
        CHECK(names(&report, "stubborn", "external"));
        CHECK(!names(&report, "meek", "external"));
        asx_close_report_deinit(&report);
        CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    }
}
