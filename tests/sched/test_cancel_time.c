/* The time that a cleanup may take, and the timer of a region that watches it. */
#include "support_kit.h"

#include "sched/sched.h"

#define TIME (8 * ASX_MS)

typedef struct deaf {
    bool is_slow; /* in its last grace: longer than that takes */
    unsigned ran;
    asx_waker waker;
    asx_time last; /* when it ran last */
} deaf;

static asx_poll parks_again(asx_cx *cx, void *state)
{
    deaf *d = state;
    if (d->ran++ == 0)
        CHECK_STATUS(asx_cx_waker(cx, &d->waker), ASX_OK);
    d->last = asx_now(cx);
    if (d->is_slow && d->ran == 3)
        CHECK_STATUS(asx_runtime_advance(asx_cx_runtime(cx), TIME), ASX_OK);
    return ASX_POLL_PENDING;
}

/* ---- a last grace that begins late ----------------------------------------------------------- */

/* The process stood still: masks are lifted late, and the last grace is whole none the less. */
static asx_status lifted_late(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region r;
    asx_task early, late;
    asx_task_state s;
    asx_close_report report;
    deaf d[2] = { { .ran = 0 }, { .ran = 0 } };
    bool strengthened = arg != NULL;
    CHECK_STATUS(asx_runtime_advance(rt, ASX_MS), ASX_OK); /* by hand from now on */
    asx_time begin = asx_now(cx);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .cleanup_time_ns = TIME }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, parks_again, &d[0], NULL, &early), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, parks_again, &d[1], NULL, &late), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&early, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(rt, TIME / 2 + TIME / 16), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&late, NULL), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(rt, TIME - TIME / 16), ASX_OK); /* both graces of the first */
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    CHECK_EQ(d[0].last, begin + TIME + TIME / 2);
    if (strengthened) {
        asx_cancel_reason reason = { .kind = ASX_CANCEL_SHUTDOWN };
        CHECK_STATUS(asx_task_cancel(&early, &reason), ASX_OK);
    }
    CHECK_STATUS(asx_runtime_advance(rt, TIME / 16), ASX_OK); /* the region looks at the second */
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    CHECK_EQ(d[1].last, asx_now(cx));
    CHECK_STATUS(asx_task_get_state(&early, &s), ASX_OK);
    CHECK_NE(s, ASX_TASK_COMPLETED);
    CHECK_STATUS(asx_runtime_advance(rt, TIME / 16 + 1), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    CHECK_STATUS(asx_task_get_state(&early, &s), ASX_OK);
    CHECK_EQ(s, ASX_TASK_COMPLETED);
    CHECK_STATUS(asx_task_get_state(&late, &s), ASX_OK);
    CHECK_NE(s, ASX_TASK_COMPLETED);
    CHECK_STATUS(asx_runtime_advance(rt, TIME / 8), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    CHECK_STATUS(asx_task_get_state(&late, &s), ASX_OK);
    CHECK_EQ(s, ASX_TASK_COMPLETED);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_OK);
    CHECK_EQ(report.items_len, 2);
    for (int i = 0; i < 2; i++)
        CHECK_LE(report.items[i].count, 3); /* resumptions that it used */
    asx_close_report_deinit(&report);
    return ASX_OK;
}

/* One that is slow in its last grace costs the others none of theirs. */
static asx_status lifted_and_not_run(asx_cx *cx, void *arg)
{
    enum { N = 3 };
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region r;
    deaf d[N];
    (void)arg;
    CHECK_STATUS(asx_runtime_advance(rt, ASX_MS), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .cleanup_time_ns = TIME }, &r), ASX_OK);
    for (int i = 0; i < N; i++) {
        d[i] = (deaf){ .is_slow = true };
        CHECK_STATUS(asx_spawn_poll(&r, "slow", parks_again, &d[i]), ASX_OK);
    }
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_region_cancel(&r, NULL), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(rt, TIME), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    for (int i = 0; i < N; i++)
        CHECK_EQ(d[i].ran, 3); /* at first, when it was cancelled, when its masks were lifted */
    CHECK_STATUS(asx_runtime_advance(rt, TIME), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    CHECK_EQ(kit_stats(rt).tasks_forced, N);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
    return ASX_OK;
}

ASX_TEST(a_grace_that_begins_late_is_a_whole_one)
{
    asx_test_one_worker("a clock that is moved by hand");
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.trace = true; /* a timer that is due does not wait for the end of the turn */
    CHECK_STATUS(kit_run(&config, lifted_late, NULL), ASX_OK);
    CHECK_STATUS(kit_run(&config, lifted_late, "and a stronger reason comes"), ASX_OK);
    CHECK_STATUS(kit_run(&config, lifted_and_not_run, NULL), ASX_OK);
}

/* ---- who waits for somebody without bounds --------------------------------------------------- */

static asx_waker patient;

static asx_status masked_wait(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_cx_waker(cx, &patient), ASX_OK);
    return asx_wait_external(cx);
}

static asx_status closes_a_soft_one(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_region_options soft = { .name = "soft", .cleanup = ASX_CLEANUP_SOFT };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &soft, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "patient", masked_wait, NULL), ASX_OK);
    asx_status st = asx_region_close(&r, ASX_OK);
    say("closed");
    return st;
}

/* The closer overran its own time long ago; the time does not run on for that. */
ASX_TEST(a_shutdown_that_waits_for_a_soft_region_ends_and_names_it)
{
    for (int i = 0; i < 2; i++) {
        asx_runtime *rt;
        asx_close_report report;
        asx_runtime_config config = kit_config(i ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.root.cleanup_time_ns = 2 * ASX_MS;
        hush();
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_start(rt, closes_a_soft_one, NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_runtime_shutdown(rt, 0, &report), ASX_E_TASKS_STILL_ACTIVE);
        CHECK_EQ(report.items_len, 4); /* two regions, main, the patient one */
        CHECK_STR_EQ(report.items[1].name, "main");
        CHECK_STR_EQ(report.items[1].waits_for, "region-close");
        CHECK_STR_EQ(report.items[3].name, "patient");
        asx_close_report_deinit(&report);
        CHECK_STR_EQ(said(), "");
        patient.wake(patient.arg);
        CHECK_STATUS(asx_runtime_shutdown(rt, 0, NULL), ASX_OK);
        CHECK_STR_EQ(said(), "closed");
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

/* ---- without memory ------------------------------------------------------------------------- */

static void nobody(void *arg)
{
    (void)arg;
}

static asx_status no_more_memory(asx_cx *cx, void *arg)
{
    kit_heap *heap = arg;
    asx_region r;
    asx_task t;
    asx_region_options options = { .cleanup_time_ns = 10 * ASX_MS };
    asx_timer_handle timer;
    asx_waker none = { nobody, NULL };
    asx_timer_wheel *wheel = asx_runtime_timers(asx_cx_runtime(cx));
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, masked_wait, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    heap->fail_from = 1;
    while (asx_timer_register(wheel, asx_now(cx) + ASX_SEC, none, &timer) == ASX_OK)
        continue; /* until no more timer can be had */
    CHECK(asx_cx_runtime(cx)->unarmed == NULL);
    asx_time begun = asx_now(cx);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    if (kit_is_virtual(cx))
        CHECK_EQ(asx_now(cx), begun + 10 * ASX_MS); /* masks lifted: it saw the cancel */
    else
        CHECK_GE(asx_now(cx), begun + 10 * ASX_MS);
    say("told");
    heap->fail_from = 0;
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(the_time_for_cleanup_is_watched_without_memory_for_a_timer)
{
    asx_test_one_worker("who has run when a yield returns");
    for (int i = 0; i < 2; i++) {
        kit_heap heap = { 0 };
        asx_runtime *rt;
        asx_runtime_config config = kit_config(i ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, &heap);
        hush();
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, no_more_memory, &heap), ASX_OK);
        CHECK_STR_EQ(said(), "told");
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
        CHECK_EQ(heap.bytes, 0);
    }
}

/* The memory comes back before the time is over: a timer takes over. */
static asx_status memory_again(asx_cx *cx, void *arg)
{
    kit_heap *heap = arg;
    asx_region r;
    asx_task t;
    asx_region_options options = { .cleanup_time_ns = 10 * ASX_SEC };
    asx_timer_handle timer;
    asx_waker none = { nobody, NULL };
    asx_runtime *rt = asx_cx_runtime(cx);
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, masked_wait, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    heap->fail_from = 1;
    while (asx_timer_register(&rt->timers, asx_now(cx) + ASX_SEC, none, &timer) == ASX_OK)
        continue;
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK(rt->unarmed != NULL);
    heap->fail_from = 0;
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK); /* a turn */
    CHECK(rt->unarmed == NULL);
    patient.wake(patient.arg);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    say("woken");
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_timer_takes_over_when_there_is_memory_again)
{
    kit_heap heap = { 0 };
    asx_runtime *rt;
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, &heap);
    hush();
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, memory_again, &heap), ASX_OK);
    CHECK_STR_EQ(said(), "woken");
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(heap.bytes, 0);
}

/* The last task of a region is forced by the region's own timer, with a time-out still to come. */
static asx_status closes_in_its_timer(asx_cx *cx, void *arg)
{
    asx_region r;
    deaf d = { .ran = 0 };
    asx_region_options options = { .cleanup_time_ns = 4 * ASX_MS, .timeout_ns = 3600 * ASX_SEC };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "deaf", parks_again, &d), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_E_EMPTY), ASX_E_EMPTY);
    CHECK_EQ(kit_stats(asx_cx_runtime(cx)).timers_live, 0);
    return ASX_OK;
}

ASX_TEST(a_region_that_closes_in_its_timer_leaves_none)
{
    kit_everywhere(closes_in_its_timer, NULL, ASX_OK);
}

/* ---- two timers of one moment ---------------------------------------------------------------- */

/* Told at the end of its cleanup time, it lets the time pass in which it could still go. */
static asx_status dawdles(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_mask_begin(cx, 1000), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 3600 * ASX_SEC), ASX_E_CANCELLED);
    CHECK_STATUS(asx_runtime_advance(asx_cx_runtime(cx), 20 * ASX_MS), ASX_OK);
    (void)asx_yield(cx);
    asx_test_fail(__FILE__, __LINE__, "it came back");
}

static asx_status forced_before_its_deadline(asx_cx *cx, void *arg)
{
    asx_region_options options = { .policy = ASX_POLICY_COLLECT, .cleanup_time_ns = 80 * ASX_MS };
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_spawn_options spawn = { .name = "dawdler", .budget = &budget };
    asx_region r;
    asx_task t;
    asx_stats stats;
    (void)arg;
    budget.deadline = 95 * ASX_MS; /* the grace ends at 90 ms */
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, dawdles, NULL, &spawn, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK_EQ(stats.tasks_forced, 1);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(the_deadline_of_a_task_that_was_forced_a_moment_before_means_nobody)
{
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .trace = true };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, forced_before_its_deadline, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}
