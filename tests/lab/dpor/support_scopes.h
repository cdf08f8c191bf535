/* Regions in regions, and the tasks that own, cancel and fill them. Who is called `b` comes to one
 * checkpoint. */
#ifndef TESTS_LAB_DPOR_SCOPES_H
#define TESTS_LAB_DPOR_SCOPES_H

#include <asx/asx.h>

#include "harness.h"
#include "support_bodies.h"
#include "support_classes.h"

typedef struct fixture {
    asx_region home, outer, inner;
    asx_task task[3];
    asx_task_fn owner;
    int x;
} fixture;

static inline asx_status open_region(asx_cx *cx, asx_region *ret)
{
    return asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, ret);
}

static inline void start(fixture *f, int i, asx_task_fn fn)
{
    CHECK_STATUS(asx_spawn_task(&f->home, fn, f, NULL, &f->task[i]), ASX_OK);
}

static inline asx_status scope_of_b(asx_cx *cx, void *arg)
{
    asx_region own;
    (void)open_region(cx, &own);
    (void)asx_spawn(&own, "b", check_once, arg);
    (void)asx_region_close(&own, ASX_OK);
    return ASX_OK;
}

static inline asx_status cancel_home(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_region_cancel(&((fixture *)arg)->home, NULL);
}

static inline asx_status cancel_outer(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_region_cancel(&((fixture *)arg)->outer, NULL);
}

/* Its owner opens a region with b in another, which somebody cancels; `options`: of the latter. */
static inline void open_in_outer(asx_cx *cx, fixture *f, const asx_region_options *options)
{
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, options, &f->outer), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "c", cancel_outer, f), ASX_OK);
    CHECK_STATUS(open_region(cx, &f->inner), ASX_OK);
    (void)asx_spawn(&f->inner, "b", check_once, f);
    (void)asx_region_close(&f->inner, ASX_OK);
    (void)asx_region_close(&f->outer, ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

#endif
