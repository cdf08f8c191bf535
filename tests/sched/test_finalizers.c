/* Finalizers of a region: when, in which order, how often, under which protection. */
#include "support_kit.h"

static asx_status say_number(asx_cx *cx, void *arg)
{
    (void)cx;
    say("f%d", (int)(intptr_t)arg);
    return ASX_OK;
}

static asx_status says_end(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    say("%s", (const char *)arg);
    return ASX_OK;
}

static asx_status in_order(asx_cx *cx, void *arg)
{
    asx_region r, child;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, say_number, (void *)1), ASX_OK);
    CHECK_STATUS(asx_defer(&r, say_number, (void *)2), ASX_OK);
    CHECK_STATUS(asx_region_open_in(cx, &r, NULL, &child), ASX_OK);
    CHECK_STATUS(asx_defer(&child, say_number, (void *)9), ASX_OK);
    CHECK_STATUS(asx_region_close(&child, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "task", says_end, "task"), ASX_OK);
    CHECK_STATUS(asx_defer(&r, say_number, (void *)3), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_OK);
    CHECK_STR_EQ(said(), "f9 task f3 f2 f1");
    CHECK_EQ(report.finalizers_run, 3);
    CHECK_EQ(report.tasks_ok, 1); /* the task that runs the finalizers is not the user's */
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(finalizers_run_after_the_children_last_first_and_once)
{
    kit_everywhere(in_order, NULL, ASX_OK);
}

/* ---- they are masked, may wait, may spawn, may open scopes ---------------------------------- */

static asx_status busy_finalizer(asx_cx *cx, void *arg)
{
    asx_region r, *own = arg;
    asx_task t;
    asx_join_result result;
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(asx_spawn_task(own, kit_returns, (void *)(intptr_t)ASX_OK, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_STATUS(asx_spawn(own, "after", says_end, "after"), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "in", says_end, "in"), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    asx_region child;
    CHECK_STATUS(asx_region_open_in(cx, own, NULL, &child), ASX_E_REGION_NOT_OPEN);
    CHECK_STATUS(asx_defer(own, say_number, NULL), ASX_E_REGION_NOT_OPEN);
    CHECK_STATUS(asx_mask_end(cx), ASX_E_MASK_DEPTH); /* the mask is not the finalizer's */
    say("busy");
    return ASX_OK;
}

static asx_status protected_work(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, busy_finalizer, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_region_cancel(&r, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_CANCELLED);
    CHECK_STR_EQ(said(), "told after in busy");
    CHECK_EQ(report.finalizers_run, 1);
    CHECK_EQ(report.tasks_cancelled, 1);
    CHECK_EQ(report.tasks_ok, 2);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_finalizer_of_a_cancelled_region_is_masked_and_may_wait_spawn_and_open)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(protected_work, NULL, ASX_OK);
}

/* A cancel that arrives while finalizers run reaches neither them nor the scopes they opened. */
static asx_waker gate;

static asx_status behind_the_gate(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_cx_waker(cx, &gate), ASX_OK);
    CHECK_STATUS(asx_wait_external(cx), ASX_OK);
    say("in");
    return ASX_OK;
}

static asx_status slow_scope(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "in", behind_the_gate, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK(!asx_is_cancelled(cx));
    say("done");
    return ASX_OK;
}

static asx_status owner_of_slow(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, slow_scope, NULL), ASX_OK);
    say("closing");
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
    return asx_checkpoint(cx);
}

static asx_status cancel_meanwhile(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, owner_of_slow, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 5), ASX_OK);
    CHECK_STR_EQ(said(), "closing");
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 5), ASX_OK);
    CHECK_STR_EQ(said(), "closing");
    gate.wake(gate.arg);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "closing in done");
    return ASX_OK;
}

ASX_TEST(a_cancel_during_finalizers_waits_for_them)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(cancel_meanwhile, NULL, ASX_OK);
}

/* ---- failures ------------------------------------------------------------------------------- */

static asx_status failing(asx_cx *cx, void *arg)
{
    (void)cx;
    say("failing");
    return (asx_status)(intptr_t)arg;
}

static asx_status failure_joins(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, say_number, (void *)1), ASX_OK);
    CHECK_STATUS(asx_defer(&r, failing, (void *)(intptr_t)ASX_E_EMPTY), ASX_OK);
    CHECK_STATUS(asx_defer(&r, failing, (void *)(intptr_t)ASX_E_FULL), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_FULL);
    CHECK_STR_EQ(said(), "failing failing f1");
    CHECK_EQ(report.outcome.kind, ASX_OUTCOME_ERR);
    CHECK_EQ(report.finalizers_run, 3);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_finalizers_failure_joins_the_outcome_and_the_others_still_run)
{
    kit_everywhere(failure_joins, NULL, ASX_OK);
}

static asx_status panicking(asx_cx *cx, void *arg)
{
    (void)arg;
    say("panicking");
    asx_panic(cx, "in a finalizer");
}

static asx_status panic_joins(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, say_number, (void *)1), ASX_OK);
    CHECK_STATUS(asx_defer(&r, panicking, NULL), ASX_OK);
    CHECK_STATUS(asx_defer(&r, panicking, NULL), ASX_OK);
    CHECK_STATUS(asx_defer(&r, say_number, (void *)2), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_PANICKED);
    CHECK_STR_EQ(said(), "f2 panicking panicking f1");
    CHECK_EQ(report.finalizers_run, 4);
    CHECK_EQ(report.outcome.kind, ASX_OUTCOME_PANICKED);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(finalizers_after_one_that_panicked_still_run_once)
{
    kit_everywhere(panic_joins, NULL, ASX_OK);
}

/* ---- time ----------------------------------------------------------------------------------- */

static asx_status never_ends(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_sleep(cx, 3600 * ASX_SEC), ASX_E_CANCELLED);
    say("lifted");
    return ASX_E_CANCELLED;
}

static asx_status timed(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_close_report report;
    asx_region_options options = { .cleanup_time_ns = 8 * ASX_MS };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, say_number, (void *)1), ASX_OK);
    CHECK_STATUS(asx_defer(&r, never_ends, NULL), ASX_OK);
    asx_time begin = asx_now(cx);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_OK);
    CHECK_STR_EQ(said(), "lifted f1");
    CHECK_GE(asx_now(cx) - begin, 8 * ASX_MS);
    CHECK_EQ(report.outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_EQ(report.tasks_forced, 0);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(finalizers_that_take_too_long_are_told_so)
{
    kit_everywhere(timed, NULL, ASX_OK);
}

/* ---- in the journal ------------------------------------------------------------------------- */

static void note_finalizer(void *ctx, const asx_event *event)
{
    (void)ctx;
    if (event->kind == ASX_EVENT_FINALIZER_RUN)
        say("%d:%s", (int)event->a, asx_status_str((asx_status)(int64_t)event->b));
}

static asx_status never_listens(asx_cx *cx, void *arg)
{
    (void)arg;
    while (asx_sleep(cx, 3600 * ASX_SEC) == ASX_E_CANCELLED)
        continue;
    return ASX_OK;
}

static asx_status every_end(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_region_options options = { .cleanup_time_ns = 8 * ASX_MS };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, kit_returns, (void *)(intptr_t)ASX_E_FULL), ASX_OK);
    CHECK_STATUS(asx_defer(&r, kit_panics, NULL), ASX_OK);
    CHECK_STATUS(asx_defer(&r, kit_panics, NULL), ASX_OK);
    CHECK_STATUS(asx_defer(&r, kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_PANICKED);
    CHECK_STR_EQ(said(), "4:ASX_OK 3:ASX_E_PANICKED 2:ASX_E_PANICKED 1:ASX_E_FULL");
    hush();
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_defer(&r, never_listens, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "2:ASX_E_CANCELLED 1:ASX_OK");
    return ASX_OK;
}

ASX_TEST(every_finalizer_is_told_of_however_it_ended)
{
    for (int i = 0; i < 2; i++) {
        asx_runtime *rt;
        asx_runtime_config config = kit_config(i ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.trace = true;
        hush();
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_observe(rt, note_finalizer, NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, every_end, NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

/* ---- exhaustion ----------------------------------------------------------------------------- */

static kit_heap starving;

static asx_status without_memory(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, say_number, (void *)1), ASX_OK);
    CHECK_STATUS(asx_defer(&r, failing, (void *)(intptr_t)ASX_OK), ASX_OK);
    starving.fail_from = starving.requests + 1;
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    starving.fail_from = 0;
    CHECK_STR_EQ(said(), "failing f1");
    return ASX_OK;
}

ASX_TEST(finalizers_run_when_there_is_no_memory)
{
    for (int real = 0; real < 2; real++) {
        asx_runtime_config config = kit_config(real ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL,
                                               &starving);
        hush();
        CHECK_STATUS(kit_run(&config, without_memory, NULL), ASX_OK);
        CHECK_EQ(starving.bytes, 0);
    }
}

static int ran;

static asx_status counts_itself(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    ran++;
    return ASX_OK;
}

/* Memory gives out after `arg` more tasks: for the finalizers' task, or for one of them. */
static asx_status refused_defers(asx_cx *cx, void *arg)
{
    asx_region crowd, r;
    int accepted = 0;
    void *some;
    asx_status st = ASX_OK;
    ran = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &crowd), ASX_OK);
    for (int i = 0; i < *(int *)arg; i++)
        CHECK_STATUS(asx_spawn(&crowd, "w", kit_waiter, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_region_alloc(&r, 8, &some), ASX_OK); /* the region has room for a few */
    starving.fail_from = starving.requests + 1;
    while (st == ASX_OK && accepted < 10000) {
        st = asx_defer(&r, counts_itself, NULL);
        accepted += st == ASX_OK;
    }
    starving.fail_from = 0;
    CHECK_STATUS(st, ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_defer(&r, counts_itself, NULL), ASX_E_RESOURCE_EXHAUSTED); /* it sticks */
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_EQ(ran, accepted);
    *(int *)arg = accepted;
    CHECK_STATUS(asx_region_cancel(&crowd, NULL), ASX_OK);
    return asx_region_close(&crowd, ASX_OK) == ASX_E_CANCELLED ? ASX_OK : ASX_E_BUSY;
}

ASX_TEST(a_finalizer_that_cannot_be_kept_is_refused_and_close_says_so)
{
    int none = 0, some = 0;
    for (int tasks = 0; tasks < 40; tasks++) {
        int n = tasks;
        asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, &starving);
        hush();
        CHECK_STATUS(kit_run(&config, refused_defers, &n), ASX_OK);
        CHECK_EQ(starving.bytes, 0);
        none += n == 0;
        some += n != 0;
    }
    CHECK(none > 0 && some > 0); /* the task was refused, or the memory for one more */
}

/* With every stack in use they run on the runtime's side, where nothing can wait. */
static asx_status cannot_wait(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_yield(cx), ASX_E_WRONG_CONTEXT);
    say("stackless");
    return ASX_OK;
}

static asx_status without_stacks(asx_cx *cx, void *arg)
{
    asx_region r, outer;
    uint64_t long_enough = 200 * ASX_MS; /* they have their stacks until after the close */
    asx_join_result result;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &outer), ASX_OK);
    CHECK_STATUS(asx_spawn(&outer, "s", kit_sleeper, &long_enough), ASX_OK);
    /* This one has no stack yet. */
    CHECK_STATUS(asx_spawn_task(&outer, kit_sleeper, &long_enough, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, cannot_wait, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "stackless");
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_OK); /* its stack was not taken away */
    return asx_region_close(&outer, ASX_OK);
}

ASX_TEST(finalizers_run_when_every_stack_is_taken_and_take_none_away)
{
    for (int real = 0; real < 2; real++) {
        asx_runtime_config config = kit_config(real ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.limits.stacks_max = 3;
        hush();
        CHECK_STATUS(kit_run(&config, without_stacks, NULL), ASX_OK);
    }
}
