/* Exploring wakers: of tasks that have ended, of poll tasks that are cancelled. */
#define ASX_LAB 1
#include <asx/asx.h>

#include <string.h>

#include "harness.h"
#include "support_classes.h"

typedef struct fixture {
    asx_region region;
    asx_task task;
    asx_waker waker;
    int wakers; /* tasks that call it */
    int there, go, x, polls;
} fixture;

static void begin(asx_cx *cx, fixture *f)
{
    f->there = f->go = f->x = f->polls = 0;
    CHECK_STATUS(asx_region_open(cx, &f->region, NULL), ASX_OK);
}

static void end(asx_cx *cx, fixture *f)
{
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
}

/* ---- tasks that have ended ------------------------------------------------------------------ */

static asx_status offer(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(asx_cx_waker(cx, &f->waker), ASX_OK);
    asx_lab_store(cx, &f->there, 1);
    return ASX_OK;
}

static asx_status call(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    if (asx_lab_load(cx, &f->there) != 0)
        f->waker.wake(f->waker.arg);
    asx_lab_store(cx, &f->x, 1);
    return ASX_OK;
}

static asx_status look(asx_cx *cx, void *arg)
{
    (void)asx_lab_load(cx, &((fixture *)arg)->x);
    return ASX_OK;
}

static void call_the_ended(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    CHECK_STATUS(asx_spawn(&f->region, "o", offer, f), ASX_OK);
    for (int i = 0; i < f->wakers; i++)
        CHECK_STATUS(asx_spawn(&f->region, "c", call, f), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->region, "l", look, f), ASX_OK);
    end(cx, f);
}

/* Whether it has ended when its waker is called nothing decides: the call is an operation anyway.
 * One: called or not, looked at before or after. Two: of 0, 1, 2 calls 1, 2, 2 orders of these; of
 * the two stores and the load 6. */
ASX_TEST(the_waker_of_a_task_that_has_ended_is_called_all_the_same)
{
    fixture f = { .wakers = 1 };
    CHECK_EQ(classes_of(call_the_ended, &f), 4);
    f.wakers = 2;
    CHECK_EQ(classes_of(call_the_ended, &f), 30);
    (void)classes_with(call_the_ended, &f, ASX_EXPLORE_QUIESCENT, ASX_EXPLORE_FAULT_CANCEL);
    f.wakers = 3;
    (void)classes_of(call_the_ended, &f);
}

/* ---- poll tasks that are cancelled ---------------------------------------------------------- */

static asx_poll wait_to_go(asx_cx *cx, void *state)
{
    fixture *f = state;
    if (f->polls++ == 0) {
        CHECK_STATUS(asx_cx_waker(cx, &f->waker), ASX_OK);
        asx_lab_store(cx, &f->there, 1);
    }
    return asx_lab_load(cx, &f->go) != 0 ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static asx_status cancel_then_call(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    (void)asx_task_cancel(&f->task, NULL);
    asx_lab_store(cx, &f->go, 1);
    if (asx_lab_load(cx, &f->there) != 0)
        f->waker.wake(f->waker.arg);
    return ASX_OK;
}

static asx_status only_cancel(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)asx_task_cancel(&((fixture *)arg)->task, NULL);
    return ASX_OK;
}

static void poll_with(asx_cx *cx, fixture *f, asx_poll_fn poll, asx_task_fn other)
{
    asx_join_result result = { 0 };
    begin(cx, f);
    CHECK_STATUS(asx_spawn_poll_task(&f->region, NULL, poll, f, &f->task), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->region, "c", other, f), ASX_OK);
    CHECK_STATUS(asx_join(cx, &f->task, &result), ASX_OK);
    end(cx, f);
    asx_lab_check(cx, f->polls <= 3 && result.outcome.kind == ASX_OUTCOME_OK);
}

static void poll_is_cancelled(asx_cx *cx, void *arg)
{
    poll_with(cx, arg, wait_to_go, cancel_then_call);
}

static void poll_is_only_cancelled(asx_cx *cx, void *arg)
{
    poll_with(cx, arg, wait_to_go, only_cancel);
}

/* The cancel resumes it once, and is not acknowledged by that; then it waits. Nobody else ends that
 * wait. */
ASX_TEST(a_cancel_resumes_a_poll_task_once)
{
    fixture f = { 0 };
    (void)classes_of(poll_is_cancelled, &f);
    asx_explore_options options = { .mode = ASX_EXPLORE_OPTIMAL };
    asx_explore_result result = classes_explore(poll_is_cancelled, &f, &options);
    CHECK_EQ(result.totals.bugs + result.totals.deadlocks + result.totals.too_long, 0);
    (void)classes_of(poll_is_only_cancelled, &f);
    result = classes_explore(poll_is_only_cancelled, &f, &options);
    CHECK_EQ(result.totals.deadlocks, result.totals.executions);
    CHECK_EQ(f.polls, 2);
}

/* It has no waker: it is called again and again. */
static asx_poll come_again(asx_cx *cx, void *state)
{
    fixture *f = state;
    asx_lab_store(cx, &f->go, 1);
    return ++f->polls == 3 ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static void poll_is_cancelled_while_it_runs(asx_cx *cx, void *arg)
{
    poll_with(cx, arg, come_again, only_cancel);
}

ASX_TEST(a_poll_task_that_comes_again_is_not_told)
{
    fixture f = { 0 };
    (void)classes_of(poll_is_cancelled_while_it_runs, &f);
    asx_explore_options options = { .mode = ASX_EXPLORE_OPTIMAL };
    asx_explore_result result = classes_explore(poll_is_cancelled_while_it_runs, &f, &options);
    CHECK_EQ(result.totals.bugs + result.totals.deadlocks, 0);
}
