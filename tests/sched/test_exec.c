/* F1 to F5 are asserted: each is broken once, in a process of its own, and the assertion ends it.
 * The same program without the fault comes to its end.
 * ctest-labels: own-workers */
#include "harness.h"

#include "sched/engine.h"
#include "sched/hot.h"

#include <asx/asx.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if ASX_ASSERT_LEVEL > 0

static bool planted; /* the fault is to be there */

/* How such a process ends. */
static int end_of(uint32_t workers, asx_task_fn fn)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit none = { 0, 0 };
        (void)setrlimit(RLIMIT_CORE, &none);
        asx_runtime_config config = { .workers = workers };
        asx_runtime *rt;
        if (asx_runtime_create(&config, &rt) != ASX_OK)
            _exit(3);
        _exit(asx_runtime_run(rt, fn, NULL) == ASX_OK ? 0 : 4);
    }
    int status;
    CHECK(pid > 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void is_asserted(uint32_t workers, asx_task_fn fn)
{
    planted = false;
    CHECK_EQ(end_of(workers, fn), 0);
    planted = true;
    int end = end_of(workers, fn);
    CHECK(end > 0 && end != 3 && end != 4); /* it was killed, or a sanitizer has seen it being so */
}

/* After the step with the fault: no other assertion is to notice it. */
static void goes_unnoticed(void)
{
    _exit(0);
}

static asx_status leaf(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_checkpoint(cx);
}

static asx_status sleeper(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, 2 * ASX_MS);
}

static asx__task *spawn(asx_cx *cx, asx_region *ret_region, asx_task_fn fn)
{
    asx_task handle;
    CHECK_EQ(asx_region_open(cx, NULL, ret_region), ASX_OK);
    CHECK_EQ(asx_spawn_task(ret_region, fn, NULL, NULL, &handle), ASX_OK);
    return handle.task_ != NULL ? handle.task_ : asx__task_inside(&handle).task_;
}

/* ---- F1 ------------------------------------------------------------------------------------- */

static asx_status on_two_workers(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_runtime *rt = asx_cx_runtime(cx);
    (void)arg;
    asx__task *child = spawn(cx, &r, leaf);
    bool had_it = asx__engine_enter(rt);
    asx__engine *e = rt->engine;
    asx__worker *other = &e->workers[e->loaded->index == 0 ? 1 : 0];
    if (planted) {
        other->r.current = child;
        asx__exec_run(rt, child);
        goes_unnoticed();
    }
    asx__engine_leave(rt, had_it);
    return asx_region_close(&r, ASX_OK);
}

/* Both have it as the one that they run, and the other one comes in. */
static asx_status registers_of_two(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    (void)arg;
    bool had_it = asx__engine_enter(rt);
    asx__engine *e = rt->engine;
    asx__worker *other = &e->workers[e->loaded->index == 0 ? 1 : 0];
    if (planted) {
        other->r.current = rt->current;
        asx__bell_ring(&other->bell);
        asx__bell_rouse(&other->bell);
    }
    asx__engine_leave(rt, had_it);
    if (planted) {
        (void)usleep(500000);
        goes_unnoticed();
    }
    return ASX_OK;
}

ASX_TEST(a_task_that_two_workers_would_run_is_noticed)
{
    is_asserted(2, on_two_workers);
    is_asserted(2, registers_of_two);
}

/* ---- F2 ------------------------------------------------------------------------------------- */

static asx_status parked_in_a_lane(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    asx__task *child = spawn(cx, &r, leaf);
    if (planted) {
        asx__exec_set(child, ASX__EXEC_PARKED);
        (void)asx__pick(asx_cx_runtime(cx));
        goes_unnoticed();
    }
    return asx_region_close(&r, ASX_OK);
}

static asx_status parked_run(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    asx__task *child = spawn(cx, &r, sleeper);
    CHECK_EQ(asx_yield(cx), ASX_OK);
    if (planted) {
        asx__exec_run(asx_cx_runtime(cx), child);
        goes_unnoticed();
    }
    return asx_region_close(&r, ASX_OK);
}

static asx_status ended_task_queued(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    asx__task *child = spawn(cx, &r, sleeper);
    CHECK_EQ(asx_yield(cx), ASX_OK);
    if (planted) {
        asx__exec_set(child, ASX__EXEC_DONE);
        asx__enqueue(asx_cx_runtime(cx), child);
        goes_unnoticed();
    }
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_task_in_a_lane_that_is_not_runnable_is_noticed_when_it_is_taken)
{
    is_asserted(1, parked_in_a_lane);
    is_asserted(1, parked_run);
}

ASX_TEST(a_task_that_has_ended_is_noticed_when_it_is_queued)
{
    is_asserted(1, ended_task_queued);
}

/* ---- F3 ------------------------------------------------------------------------------------- */

static asx_status runnable_woken(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    asx__task *child = spawn(cx, &r, leaf);
    if (planted) {
        child->w.waits = &asx_cx_runtime(cx)->sleep_wait;
        asx__exec_claim(child); /* what every waker of a fiber does */
        goes_unnoticed();
    }
    return asx_region_close(&r, ASX_OK);
}

static asx_status woken_out_of_nothing(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    asx__task *child = spawn(cx, &r, sleeper);
    CHECK_EQ(asx_yield(cx), ASX_OK);
    CHECK_EQ(asx__exec_state(child), ASX__EXEC_PARKED);
    if (planted) {
        child->w.waits = NULL;
        asx__wake(asx_cx_runtime(cx), child, ASX_OK, false);
        goes_unnoticed();
    }
    return asx_region_close(&r, ASX_OK);
}

static asx_poll runs_once(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_POLL_READY;
}

static asx_status runnable_poll_woken(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task handle;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn_poll_task(&r, runs_once, NULL, NULL, &handle), ASX_OK);
    if (planted) {
        asx__wake(asx_cx_runtime(cx), handle.task_, ASX_OK, false);
        goes_unnoticed();
    }
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_task_that_is_woken_and_not_parked_is_noticed)
{
    is_asserted(1, runnable_woken);
    is_asserted(1, runnable_poll_woken);
}

ASX_TEST(a_task_that_is_woken_out_of_a_wait_that_is_over_is_noticed)
{
    is_asserted(1, woken_out_of_nothing);
}

/* ---- F4 ------------------------------------------------------------------------------------- */

static asx_status queued_twice(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_runtime *rt = asx_cx_runtime(cx);
    (void)arg;
    asx__task *child = spawn(cx, &r, leaf);
    if (planted) {
        asx__enqueue(rt, child);
        goes_unnoticed();
    }
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_second_one_who_queues_a_task_is_noticed)
{
    is_asserted(1, queued_twice);
}

/* ---- F5 ------------------------------------------------------------------------------------- */

static asx_status goes_on_when_parked(asx_cx *cx, void *arg)
{
    (void)arg;
    if (planted)
        asx__exec_set(cx->task_, ASX__EXEC_PARKED);
    return asx_checkpoint(cx);
}

/* The engine is left for the code of a task that has parked. */
static asx_status let_go_when_parked(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    (void)arg;
    bool had_it = asx__engine_enter(rt);
    if (planted)
        asx__exec_set(cx->task_, ASX__EXEC_PARKED);
    asx__engine_leave(rt, had_it);
    return ASX_OK;
}

ASX_TEST(a_task_that_goes_on_when_it_has_parked_is_noticed)
{
    is_asserted(1, goes_on_when_parked);
    is_asserted(2, goes_on_when_parked);
    is_asserted(2, let_go_when_parked);
}

/* ---- pressure ------------------------------------------------------------------------------- */

/* Everyone is idle, and the monitor looks on as if it had not seen that for long. */
static asx_status idle_for_long(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    (void)arg;
    for (int i = 0; i < 20; i++) {
        bool had_it = asx__engine_enter(rt);
        if (planted) {
            rt->engine->pool.looks_in = true;
            rt->engine->pool.dull_looks = 1000;
        }
        asx__engine_leave(rt, had_it);
        CHECK_EQ(asx_sleep(cx, 10 * ASX_MS), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(pressure_that_stays_negative_is_noticed)
{
    is_asserted(2, idle_for_long);
}

#else

ASX_TEST(f1_to_f5_are_asserted_in_debug_builds)
{
    printf("skipped: no debug assertions in this build\n");
}

#endif
