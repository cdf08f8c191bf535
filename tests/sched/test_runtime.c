/* The runtime as a whole: steps, several at once, rest, shutdown, waiting without work. */
#include "support_kit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sched/sched.h"

/* ---- steps ---------------------------------------------------------------------------------- */

typedef struct counter {
    int turns;
    int limit;
    const char *word;
} counter;

static asx_status counts(asx_cx *cx, void *arg)
{
    counter *c = arg;
    while (c->turns < c->limit) {
        c->turns++;
        if (c->word != NULL)
            say("%s%d", c->word, c->turns);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(a_step_runs_as_many_dispatches_as_it_may)
{
    asx_test_one_worker("counts dispatches");
    for (int i = 0; i < 4; i++) {
        asx_runtime *rt;
        counter c = { 0, 1000, NULL };
        asx_time next;
        asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.trace = (i & 2) != 0;
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_step(rt, 1, NULL), ASX_E_INVALID_TRANSITION);
        CHECK_STATUS(asx_runtime_start(rt, counts, &c), ASX_OK);
        CHECK_STATUS(asx_runtime_start(rt, counts, &c), ASX_E_INVALID_TRANSITION);
        for (int k = 1; k <= 10; k++) {
            CHECK_STATUS(asx_runtime_step(rt, 1, &next), ASX_E_WOULD_BLOCK);
            CHECK_EQ(c.turns, k);
            CHECK_LE(next, asx_runtime_now(rt)); /* there is more to run: at once */
        }
        CHECK_STATUS(asx_runtime_step(rt, 300, NULL), ASX_E_WOULD_BLOCK);
        CHECK_GE(c.turns, 200);
        CHECK_LE(c.turns, 310);
        asx_fairness_certificate cert;
        CHECK_STATUS(asx_runtime_certificate(rt, &cert), ASX_OK);
        CHECK_EQ(cert.ready_dispatches, c.turns);
        CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_OK);
        CHECK_EQ(c.turns, 1000);
        CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_OK); /* and again */
        CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

static asx_status sleeps_then_waits(asx_cx *cx, void *arg)
{
    asx_waker *waker = arg;
    CHECK_STATUS(asx_cx_waker(cx, waker), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_wait_external(cx), ASX_OK);
    return ASX_E_FULL;
}

ASX_TEST(a_step_tells_when_to_come_again)
{
    asx_runtime *rt;
    asx_waker waker;
    asx_time next = 0;
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_start(rt, sleeps_then_waits, &waker), ASX_OK);
    CHECK_STATUS(asx_runtime_step(rt, 0, &next), ASX_E_WOULD_BLOCK);
    CHECK_EQ(next, 5 * ASX_MS);
    CHECK_STATUS(asx_runtime_advance(rt, 4 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_runtime_step(rt, 0, &next), ASX_E_WOULD_BLOCK);
    CHECK_EQ(next, 5 * ASX_MS);
    CHECK_STATUS(asx_runtime_advance(rt, ASX_MS), ASX_OK);
    CHECK_STATUS(asx_runtime_step(rt, 0, &next), ASX_E_WOULD_BLOCK);
    CHECK_EQ(next, ASX_TIME_NEVER); /* only the waker can help */
    waker.wake(waker.arg);
    CHECK_STATUS(asx_runtime_step(rt, 0, &next), ASX_E_FULL);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(a_step_on_the_real_clock_tells_when_to_come_again)
{
    asx_runtime *rt;
    asx_waker waker;
    asx_time next = 0;
    asx_status st;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(rt, 1), ASX_E_NOT_SUPPORTED);
    CHECK_STATUS(asx_runtime_start(rt, sleeps_then_waits, &waker), ASX_OK);
    CHECK_STATUS(asx_runtime_step(rt, 0, &next), ASX_E_WOULD_BLOCK);
    if (next != ASX_TIME_NEVER) { /* it has not slept yet, on a machine that is not too busy */
        CHECK_GE(next, 5 * ASX_MS);
        CHECK_LE(next, asx_runtime_now(rt) + 5 * ASX_MS);
    }
    while ((st = asx_runtime_step(rt, 0, &next)) == ASX_E_WOULD_BLOCK) {
        if (next == ASX_TIME_NEVER)
            waker.wake(waker.arg);
        struct timespec ms = { 0, 1000000 };
        nanosleep(&ms, NULL);
    }
    CHECK_STATUS(st, ASX_E_FULL);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- several at once ------------------------------------------------------------------------ */

ASX_TEST(runtimes_of_one_process_are_interleaved_by_steps_and_share_nothing)
{
    asx_runtime *rt[3];
    counter c[3] = { { 0, 3, "a" }, { 0, 3, "b" }, { 0, 3, "c" } };
    asx_status st[3] = { ASX_E_WOULD_BLOCK, ASX_E_WOULD_BLOCK, ASX_E_WOULD_BLOCK };
    for (int i = 0; i < 3; i++) {
        asx_runtime_config config = kit_config(i == 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.trace = i == 2;
        CHECK_STATUS(asx_runtime_create(&config, &rt[i]), ASX_OK);
        CHECK_STATUS(asx_runtime_start(rt[i], counts, &c[i]), ASX_OK);
    }
    for (int k = 0; k < 10; k++)
        for (int i = 0; i < 3; i++)
            if (st[i] == ASX_E_WOULD_BLOCK)
                st[i] = asx_runtime_step(rt[i], 1, NULL);
    CHECK_STR_EQ(said(), "a1 b1 c1 a2 b2 c2 a3 b3 c3");
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(st[i], ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt[i]), ASX_OK);
    }
}

typedef struct stranger {
    asx_runtime *rt;
    asx_region region;
    asx_task task;
    asx_obligation obligation;
} stranger;

static asx_status offers(asx_cx *cx, void *arg)
{
    stranger *s = arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &s->region), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&s->region, kit_waiter, NULL, NULL, &s->task), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&s->region, ASX_OBLIGATION_KIND_PLAIN, &s->obligation),
                 ASX_OK);
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_STATUS(asx_obligation_commit(&s->obligation), ASX_OK);
    return asx_region_close(&s->region, ASX_E_EMPTY);
}

static asx_status takes(asx_cx *cx, void *arg)
{
    stranger *s = arg;
    asx_region r, forged = s->region;
    asx_obligation o = s->obligation;
    CHECK_STATUS(asx_join(cx, &s->task, NULL), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_region_open_in(cx, &s->region, NULL, &r), ASX_E_STALE_HANDLE);
    forged.rt_ = o.rt_ = asx_cx_runtime(cx); /* the same words, shown to this runtime */
    CHECK_STATUS(asx_spawn(&forged, "x", kit_returns, NULL), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_obligation_commit(&o), ASX_E_STALE_HANDLE);
    return ASX_OK;
}

ASX_TEST(handles_of_another_runtime_are_stale)
{
    asx_runtime *a, *b;
    stranger s;
    CHECK_STATUS(asx_runtime_create(NULL, &a), ASX_OK);
    CHECK_STATUS(asx_runtime_create(NULL, &b), ASX_OK);
    CHECK_STATUS(asx_runtime_start(a, offers, &s), ASX_OK);
    CHECK_STATUS(asx_runtime_step(a, 2, NULL), ASX_E_WOULD_BLOCK);
    CHECK_STATUS(asx_runtime_run(b, takes, &s), ASX_OK);
    CHECK_STATUS(asx_runtime_step(a, 0, NULL), ASX_E_EMPTY);
    CHECK_STATUS(asx_runtime_destroy(a), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(b), ASX_OK);
}

/* A runtime driven from inside a task of another. */
static asx_status drives_another(asx_cx *cx, void *arg)
{
    asx_runtime *other = arg;
    counter c = { 0, 5, "in" };
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_runtime_run(other, counts, &c), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_EQ(c.turns, 5);
    return ASX_OK;
}

ASX_TEST(a_runtime_is_run_from_inside_a_task_of_another)
{
    asx_runtime *inner;
    CHECK_STATUS(asx_runtime_create(NULL, &inner), ASX_OK);
    CHECK_STATUS(kit_run(NULL, drives_another, inner), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(inner), ASX_OK);
}

/* ---- rest ----------------------------------------------------------------------------------- */

typedef struct unrest {
    asx_obligation obligation;
    asx_timer_handle timer;
    asx_channel_sender tx;
    asx_channel_receiver rx;
} unrest;

static void no_wake(void *arg)
{
    (void)arg;
}

static asx_status inside(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_runtime_quiescent(asx_cx_runtime(cx)), ASX_E_TASKS_STILL_ACTIVE);
    return ASX_OK;
}

/* Each of the five is shown with all later ones present too, so the order is shown as well. */
ASX_TEST(rest_is_asked_in_five_steps_in_order)
{
    asx_runtime *rt;
    asx_region root;
    unrest u;
    asx_waker waker = { no_wake, NULL };
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_root(rt, &root), ASX_OK);
    CHECK_STATUS(asx_channel_create(&root, sizeof(int), 1, NULL, &u.tx, &u.rx), ASX_OK);
    CHECK_STATUS(asx_timer_register(asx_runtime_timers(rt), ASX_SEC, waker, &u.timer), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&root, ASX_OBLIGATION_KIND_PLAIN, &u.obligation), ASX_OK);
    CHECK_STATUS(asx_spawn(&root, "t", kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_E_TASKS_STILL_ACTIVE);
    CHECK_STATUS(asx_runtime_start(rt, inside, NULL), ASX_OK);
    while (kit_stats(rt).tasks_live != 0)
        ASX_IGNORE(asx_runtime_step(rt, 1, NULL));
    /* main has ended and the root has closed: its obligation has leaked by now */
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_E_TIMERS_PENDING);
    CHECK(asx_timer_cancel(asx_runtime_timers(rt), &u.timer));
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_EQ(kit_stats(rt).obligations_leaked, 1);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(before_the_run_obligations_regions_timers_and_channels_are_asked_in_order)
{
    asx_test_one_worker("raw timers");
    asx_runtime *rt;
    asx_region root;
    unrest u;
    int m = 5;
    asx_waker waker = { no_wake, NULL };
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_root(rt, &root), ASX_OK);
    CHECK_STATUS(asx_channel_create(&root, sizeof m, 1, NULL, &u.tx, &u.rx), ASX_OK);
    CHECK_STATUS(asx_timer_register(asx_runtime_timers(rt), ASX_SEC, waker, &u.timer), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&root, ASX_OBLIGATION_KIND_PLAIN, &u.obligation), ASX_OK);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_E_UNRESOLVED_OBLIGATIONS);
    CHECK_STATUS(asx_obligation_abort(&u.obligation), ASX_OK);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_E_REGIONS_NOT_CLOSED);
    rt->live_regions--; /* what the order would say of a runtime without regions */
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_E_TIMERS_PENDING);
    CHECK(asx_timer_cancel(asx_runtime_timers(rt), &u.timer));
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    rt->live_regions++;
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static asx_status leaves_a_message(asx_cx *cx, void *arg)
{
    unrest *u = arg;
    int m = 5;
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK); /* not only the root's are asked */
    CHECK_STATUS(asx_channel_create(&r, sizeof m, 1, NULL, &u->tx, &u->rx), ASX_OK);
    CHECK_STATUS(asx_channel_try_send(cx, &u->tx, &m), ASX_OK);
    asx_runtime *rt = asx_cx_runtime(cx);
    uint64_t tasks = asx__live_tasks(rt), regions = rt->live_regions;
    rt->tasks_ended += tasks; /* again, the last question alone */
    rt->live_regions = 0;
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_E_CHANNEL_NOT_DRAINED);
    CHECK_STATUS(asx_channel_try_recv(cx, &u->rx, &m), ASX_OK);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    rt->tasks_ended -= tasks;
    rt->live_regions = regions;
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_message_that_nobody_received_is_no_rest)
{
    asx_runtime *rt;
    asx_region root;
    unrest u;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_root(rt, &root), ASX_OK);
    CHECK_STATUS(asx_channel_create(&root, sizeof(int), 1, NULL, &u.tx, &u.rx), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, leaves_a_message, &u), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- shutdown ------------------------------------------------------------------------------- */

static asx_status waits_for_ever(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "work" }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_shutdown_cancels_everyone_and_comes_to_rest)
{
    for (int i = 0; i < 4; i++) {
        asx_runtime *rt;
        asx_close_report report;
        asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.trace = (i & 2) != 0;
        hush();
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_start(rt, waits_for_ever, NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_runtime_shutdown(rt, i & 2 ? 0 : ASX_SEC, &report), ASX_OK);
        CHECK_EQ(report.items_len, 0);
        asx_close_report_deinit(&report);
        CHECK_STR_EQ(said(), "told");
        CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_E_CANCELLED);
        CHECK_STATUS(asx_runtime_shutdown(rt, 0, NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

static asx_status deaf_sleeper(asx_cx *cx, void *arg)
{
    asx_waker waker;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    if (arg != NULL)
        for (;;)
            CHECK_STATUS(asx_yield(cx), ASX_OK); /* always runnable */
    return asx_wait_external(cx);
}

static asx_status spawns_deaf(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_region_options options = { .name = "deaf", .cleanup = ASX_CLEANUP_SOFT };
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "survivor", deaf_sleeper, arg), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_shutdown_is_bounded_and_names_who_is_left)
{
    for (int i = 0; i < 8; i++) {
        asx_runtime *rt;
        asx_close_report report;
        bool found = false;
        asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.trace = (i & 2) != 0;
        config.trace_events_max = 1000;
        config.trace_overflow = ASX_TRACE_OVERWRITE;
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_start(rt, spawns_deaf, i & 4 ? "spin" : NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_step(rt, 100, NULL), ASX_E_WOULD_BLOCK);
        asx_time begin = asx_runtime_now(rt);
        CHECK_STATUS(asx_runtime_shutdown(rt, 20 * ASX_MS, &report), ASX_E_TASKS_STILL_ACTIVE);
        if ((i & 4) == 0 || (i & 1) != 0)
            CHECK_GE(asx_runtime_now(rt), begin + 20 * ASX_MS);
        CHECK_LE(asx_runtime_now(rt), begin + 10 * ASX_SEC);
        for (size_t k = 0; k < report.items_len; k++)
            found |= strcmp(report.items[k].name, "survivor") == 0 &&
                     strcmp(report.items[k].path, "root/deaf") == 0 &&
                     strcmp(report.items[k].waits_for, i & 4 ? "" : "external") == 0;
        CHECK(found);
        asx_close_report_deinit(&report);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK); /* gives up too, and leaks nothing */
    }
}

/* Somebody who ends only by force, in a region of his own. */
static asx_status never_told(asx_cx *cx, void *arg)
{
    asx_waker waker;
    (void)arg;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    for (;;)
        (void)asx_wait_external(cx);
    return ASX_OK;
}

static asx_status spawns_never_told(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "work" }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "stubborn", never_told, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_shutdown_names_who_was_completed_by_force)
{
    for (int i = 0; i < 2; i++) {
        asx_runtime *rt;
        asx_close_report report;
        asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.root.cleanup_time_ns = 4 * ASX_MS;
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_start(rt, spawns_never_told, NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_runtime_shutdown(rt, 0, &report), ASX_OK);
        CHECK_EQ(report.tasks_forced, 1);
        CHECK_EQ(report.items_len, 1);
        CHECK_STR_EQ(report.items[0].name, "stubborn");
        CHECK_STR_EQ(report.items[0].path, "root/work");
        CHECK_STR_EQ(report.items[0].state, "Forced");
        CHECK_EQ(report.items[0].kind, ASX_REPORT_TASK);
        CHECK(strstr(report.items[0].site, "test_runtime.c:") != NULL);
        asx_close_report_deinit(&report);
        CHECK_STATUS(asx_runtime_shutdown(rt, 0, &report), ASX_OK); /* nothing happens any more */
        CHECK_EQ(report.items_len, 0);
        asx_close_report_deinit(&report);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

/* Under a mask, and under a region that waits for ever, inside one that does not. */
static asx_status naps_for_ever(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    for (;;)
        (void)asx_sleep(cx, *(uint64_t *)arg);
    return ASX_OK;
}

static asx_status soft_inside(asx_cx *cx, void *arg)
{
    asx_region soft;
    asx_region_options options = { .name = "soft", .cleanup = ASX_CLEANUP_SOFT };
    CHECK_STATUS(asx_region_open(cx, &options, &soft), ASX_OK);
    CHECK_STATUS(asx_spawn(&soft, "naps", naps_for_ever, arg), ASX_OK);
    return asx_region_close(&soft, ASX_OK);
}

/* One that sleeps for ever is found out on a virtual clock also without a time-out: nothing will
 * ever happen. One that takes naps is waited for as long as the caller says. */
ASX_TEST(a_shutdown_ends_in_time_though_a_region_would_wait_for_ever)
{
    for (int i = 0; i < 3; i++) {
        uint64_t nap = i == 0 ? ASX_TIME_NEVER : ASX_MS;
        uint64_t limit = i == 0 ? 0 : 30 * ASX_MS;
        asx_runtime *rt;
        asx_close_report report;
        asx_runtime_config config = kit_config(i == 2 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.root.cleanup_time_ns = 4 * ASX_MS;
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_start(rt, soft_inside, &nap), ASX_OK);
        CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_runtime_shutdown(rt, limit, &report), ASX_E_TASKS_STILL_ACTIVE);
        bool named = false;
        for (size_t k = 0; k < report.items_len; k++)
            named |= strcmp(report.items[k].name, "naps") == 0 &&
                     strcmp(report.items[k].path, "root/soft") == 0 &&
                     strcmp(report.items[k].waits_for, "sleep") == 0;
        CHECK(named);
        CHECK_EQ(report.tasks_forced, 0);
        asx_close_report_deinit(&report);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

static asx_status spawns_nine(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 9; i++)
        CHECK_STATUS(asx_spawn(&r, "t", kit_returns, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

/* Wherever a worker that steps has put them. */
ASX_TEST(statistics_count_who_is_ready_between_two_steps)
{
    for (uint32_t workers = 1; workers <= 3; workers += 2) {
        asx_runtime_config config = { .workers = workers };
        asx_runtime *rt;
        asx_stats stats;
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_start(rt, spawns_nine, NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_stats(rt, &stats), ASX_OK);
        CHECK_EQ(stats.ready_len, 1);
        CHECK_STATUS(asx_runtime_step(rt, 1, NULL), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_runtime_stats(rt, &stats), ASX_OK);
        CHECK_EQ(stats.ready_len, 9);
        CHECK_EQ(stats.tasks_live, 10);
        CHECK_STATUS(asx_runtime_step(rt, 4, NULL), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_runtime_stats(rt, &stats), ASX_OK);
        CHECK_EQ(stats.ready_len, 5);
        while (asx_runtime_step(rt, 1, NULL) == ASX_E_WOULD_BLOCK)
            continue;
        CHECK_STATUS(asx_runtime_stats(rt, &stats), ASX_OK);
        CHECK_EQ(stats.ready_len, 0);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

static asx_status asks_for_shutdown(asx_cx *cx, void *arg)
{
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_runtime_shutdown(asx_cx_runtime(cx), 0, &report), ASX_OK);
    asx_close_report_deinit(&report);
    CHECK_STATUS(asx_runtime_destroy(asx_cx_runtime(cx)), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_runtime_run(asx_cx_runtime(cx), kit_returns, NULL), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_runtime_step(asx_cx_runtime(cx), 1, NULL), ASX_E_WRONG_CONTEXT);
    const asx_cancel_reason *reason;
    CHECK_STATUS(asx_cx_cancel_reason(cx, &reason), ASX_OK);
    CHECK_EQ(reason->kind, ASX_CANCEL_SHUTDOWN);
    return asx_checkpoint(cx);
}

ASX_TEST(a_task_asks_for_the_shutdown_of_its_own_runtime)
{
    kit_everywhere(asks_for_shutdown, NULL, ASX_E_CANCELLED);
}

/* Tasks spawned into a runtime that is never run still run once, to release what they hold. */
static asx_status releases(asx_cx *cx, void *arg)
{
    _Atomic int *held = arg;
    --*held;
    return asx_checkpoint(cx);
}

ASX_TEST(destroying_a_runtime_that_never_ran_runs_what_was_spawned)
{
    kit_heap heap = { 0 };
    asx_runtime *rt;
    asx_region root;
    _Atomic int held = 3;
    asx_runtime_config config = kit_config(ASX_CLOCK_REAL, &heap);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_root(rt, &root), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_spawn(&root, "h", releases, &held), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(held, 0);
    CHECK_EQ(heap.bytes, 0);
    CHECK_STATUS(asx_runtime_destroy(NULL), ASX_OK);
}

static asx_status naps(asx_cx *cx, void *arg)
{
    return asx_sleep(cx, *(uint64_t *)arg);
}

/* A raw timer's call comes from the loop itself: no place to drive or end the runtime from. */
static int called;

static void from_the_loop(void *arg)
{
    asx_runtime *rt = arg;
    called++;
    CHECK_STATUS(asx_runtime_step(rt, 1, NULL), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_runtime_run(rt, kit_returns, NULL), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_runtime_shutdown(rt, 0, NULL), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_E_WRONG_CONTEXT);
}

static asx_status sets_a_trap(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_waker trap = { from_the_loop, rt };
    asx_timer_handle handle;
    (void)arg;
    CHECK_STATUS(asx_timer_register(asx_runtime_timers(rt), asx_now(cx) + ASX_MS, trap, &handle),
                 ASX_OK);
    return asx_sleep(cx, 2 * ASX_MS);
}

ASX_TEST(a_timers_call_cannot_drive_or_end_its_runtime)
{
    asx_test_one_worker("raw timers");
    called = 0;
    kit_everywhere(sets_a_trap, NULL, ASX_OK);
    CHECK_EQ(called, 8);
}

/* Once somebody has moved a virtual clock by hand it only moves when told to. */
ASX_TEST(a_clock_moved_by_hand_does_not_move_by_itself)
{
    asx_runtime *rt;
    uint64_t nap = 5 * ASX_MS;
    asx_status st;
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(rt, ASX_MS), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, naps, &nap), ASX_E_DEADLOCK);
    CHECK_EQ(asx_runtime_now(rt), ASX_MS);
    CHECK_EQ(kit_stats(rt).tasks_live, 1); /* and nothing was ended: it goes on in steps */
    CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_E_WOULD_BLOCK);
    CHECK_STATUS(asx_runtime_advance(rt, nap), ASX_OK);
    while ((st = asx_runtime_step(rt, 0, NULL)) == ASX_E_WOULD_BLOCK)
        continue;
    CHECK_STATUS(st, ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(a_virtual_clock_does_not_reach_the_end_of_time)
{
    asx_runtime *rt;
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(rt, ASX_TIME_NEVER), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_runtime_now(rt), 0);
    CHECK_STATUS(asx_runtime_advance(rt, 7), ASX_OK);
    CHECK_EQ(asx_runtime_now(rt), 7);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- deadlock ------------------------------------------------------------------------------- */

static asx_status join_each_other(asx_cx *cx, void *arg)
{
    asx_channel_receiver *rx = arg;
    int m;
    return asx_channel_recv(cx, rx, &m);
}

static asx_status deadlocks(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "stuck" }, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "hungry", join_each_other, &rx), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_deadlock_is_named_and_ended)
{
    for (int i = 0; i < 4; i++) {
        kit_heap heap = { 0 };
        asx_runtime *rt;
        asx_close_report report;
        bool found = false;
        asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, &heap);
        config.trace = (i & 1) != 0;
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, deadlocks, NULL), ASX_E_DEADLOCK);
        CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK); /* it was shut down */
        if (i & 2) { /* also when nobody asks, nothing is lost */
            CHECK_STATUS(asx_runtime_report(rt, &report), ASX_OK);
            for (size_t k = 0; k < report.items_len; k++)
                found |= strcmp(report.items[k].name, "hungry") == 0 &&
                         strcmp(report.items[k].waits_for, "channel-recv") == 0;
            CHECK(found);
            asx_close_report_deinit(&report);
            CHECK_STATUS(asx_runtime_report(rt, &report), ASX_OK);
            CHECK_EQ(report.items_len, 0);
            asx_close_report_deinit(&report);
        }
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
        CHECK_EQ(heap.bytes, 0);
    }
}

/* What is told in the end may take its time to clean up. */
static asx_status cleans_up_slowly(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(kit_waiter(cx, NULL), ASX_E_CANCELLED);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_SEC), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    say("clean");
    return ASX_OK;
}

ASX_TEST(a_deadlock_is_ended_with_all_the_time_that_cleanup_takes)
{
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    CHECK_STATUS(kit_run(&config, cleans_up_slowly, NULL), ASX_E_DEADLOCK);
    CHECK_STR_EQ(said(), "told clean");
}

/* A cancel from outside any task. */
static asx_task outside;

static asx_status shows_itself(asx_cx *cx, void *arg)
{
    const asx_cancel_reason *reason;
    (void)arg;
    CHECK_STATUS(asx_cx_task(cx, &outside), ASX_OK);
    CHECK_STATUS(kit_waiter(cx, NULL), ASX_E_CANCELLED);
    CHECK_STATUS(asx_cx_cancel_reason(cx, &reason), ASX_OK);
    CHECK_EQ(reason->kind, ASX_CANCEL_USER);
    CHECK_EQ(reason->origin_task.generation, 0);
    CHECK(asx_handle_same(reason->origin_region, asx_cx_region_id(cx)));
    return ASX_OK;
}

ASX_TEST(a_task_is_cancelled_from_outside)
{
    for (int i = 0; i < 2; i++) {
        asx_runtime *rt;
        asx_runtime_config config = kit_config(i ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_start(rt, shows_itself, NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_task_cancel(&outside, NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_E_CANCELLED);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

static asx_status sleeps_for_ever(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep_until(cx, ASX_TIME_NEVER);
}

ASX_TEST(a_sleep_without_end_is_a_deadlock_not_centuries_of_virtual_time)
{
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    CHECK_STATUS(kit_run(&config, sleeps_for_ever, NULL), ASX_E_DEADLOCK);
}

/* ---- waiting without work ------------------------------------------------------------------- */

static double cpu_seconds(void)
{
    struct timespec ts;
    CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

ASX_TEST(an_idle_runtime_uses_no_processor)
{
    uint64_t nap = 300 * ASX_MS;
    asx_runtime *rt;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    double before = cpu_seconds();
    CHECK_STATUS(asx_runtime_run(rt, naps, &nap), ASX_OK);
    double used = cpu_seconds() - before;
    CHECK_GE(asx_runtime_now(rt), nap);
    CHECK(used < 0.005 * asx_test_scale());
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- laws of sleeping ----------------------------------------------------------------------- */

typedef struct two {
    asx_time a, b, end;
} two;

static asx_status sleeps_twice(asx_cx *cx, void *arg)
{
    two *t = arg;
    CHECK_STATUS(asx_sleep_until(cx, t->a), ASX_OK);
    CHECK_STATUS(asx_sleep_until(cx, t->b), ASX_OK);
    t->end = asx_now(cx);
    return ASX_OK;
}

static asx_status sleep_law(asx_cx *cx, void *arg)
{
    static const asx_time offsets[] = { 0, 1, ASX_US, ASX_MS, 2 * ASX_MS, 3 * ASX_MS };
    enum { N = sizeof offsets / sizeof *offsets };
    two t[N][N];
    asx_region r;
    asx_time begin = asx_now(cx);
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            t[i][k] = (two){ begin + offsets[i], begin + offsets[k], 0 };
            CHECK_STATUS(asx_spawn(&r, "s", sleeps_twice, &t[i][k]), ASX_OK);
        }
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            asx_time max = t[i][k].a > t[i][k].b ? t[i][k].a : t[i][k].b;
            CHECK_GE(t[i][k].end, max);
            if (kit_is_virtual(cx))
                CHECK_EQ(t[i][k].end, max);
        }
    return ASX_OK;
}

ASX_TEST(two_sleeps_are_one_until_the_later)
{
    kit_everywhere(sleep_law, NULL, ASX_OK);
}
