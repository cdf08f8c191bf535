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
    asx_status seen;
} fixture;

static void begin(asx_cx *cx, fixture *f)
{
    f->there = f->go = f->x = f->polls = 0;
    f->seen = ASX_OK;
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
