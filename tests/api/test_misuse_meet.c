/* test_misuse_meet.c - conditions, notifies, barriers and onces that are none, empty, of another
 * runtime, or gone with their region.
 */
#include "support_api.h"

#include <string.h>

typedef struct points {
    asx_condition condition;
    asx_notify notify;
    asx_barrier barrier;
    asx_once once;
} points;

static void make_points(const asx_region *region, points *p)
{
    CHECK_STATUS(asx_condition_create(region, &(asx_condition_options){ .name = "c" },
                                      &p->condition), ASX_OK);
    CHECK_STATUS(asx_notify_create(region, &(asx_notify_options){ .name = "n" },
                                   &p->notify), ASX_OK);
    CHECK_STATUS(asx_barrier_create(region, 2, &(asx_barrier_options){ .name = "b" },
                                    &p->barrier), ASX_OK);
    CHECK_STATUS(asx_once_create(region, &(asx_once_options){ .name = "o" }, &p->once), ASX_OK);
}

/* Calls that take a context. The guard is good. */
static void enter_check(asx_runtime *rt, asx_cx *cx, const points *p, asx_mutex_guard *guard,
                        asx_status expected)
{
    bool leader;
    REFUSED(rt, asx_condition_wait(cx, p != NULL ? &p->condition : NULL, guard), expected);
    REFUSED(rt, asx_notify_wait(cx, p != NULL ? &p->notify : NULL), expected);
    REFUSED(rt, asx_barrier_wait(cx, p != NULL ? &p->barrier : NULL, &leader), expected);
    REFUSED(rt, asx_once_call(cx, p != NULL ? &p->once : NULL, api_returns_ok, NULL), expected);
}

static void handle_check(asx_cx *cx, const points *p, asx_mutex_guard *guard, asx_status expected)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    bool done;
    enter_check(rt, cx, p, guard, expected);
    REFUSED(rt, asx_condition_signal(p != NULL ? &p->condition : NULL), expected);
    REFUSED(rt, asx_condition_broadcast(p != NULL ? &p->condition : NULL), expected);
    REFUSED(rt, asx_notify_one(p != NULL ? &p->notify : NULL), expected);
    REFUSED(rt, asx_notify_all(p != NULL ? &p->notify : NULL), expected);
    REFUSED(rt, asx_once_is_done(p != NULL ? &p->once : NULL, &done), expected);
}

static asx_status handles(asx_cx *cx, void *arg)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region outer, region;
    asx_mutex mutex;
    asx_mutex_guard guard, none_guard;
    points p, none;
    (void)arg;
    memset(&none, 0, sizeof none);
    memset(&none_guard, 0, sizeof none_guard);
    CHECK_STATUS(asx_region_open(cx, NULL, &outer), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&outer, NULL, &mutex), ASX_OK);
    CHECK_STATUS(asx_mutex_lock(cx, &mutex, &guard), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make_points(&region, &p);
    handle_check(cx, NULL, &guard, bad);
    handle_check(cx, &none, &guard, bad);
    enter_check(rt, NULL, &p, &guard, bad);
    REFUSED(rt, asx_condition_wait(cx, &p.condition, NULL), bad);
    REFUSED(rt, asx_condition_wait(cx, &p.condition, &none_guard), bad);
    REFUSED(rt, asx_once_call(cx, &p.once, NULL, NULL), bad);
    REFUSED(rt, asx_once_is_done(&p.once, NULL), bad);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    handle_check(cx, &p, &guard, ASX_E_REGION_CLOSED);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    points again;
    make_points(&region, &again); /* in the same records */
    handle_check(cx, &p, &guard, ASX_E_REGION_CLOSED);
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    REFUSED(rt, asx_condition_wait(cx, &again.condition, &guard),
            ASX_E_OBLIGATION_ALREADY_RESOLVED);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    return asx_region_close(&outer, ASX_OK);
}

ASX_TEST(meeting_points_that_are_none_or_gone_are_refused)
{
    CHECK_STATUS(api_run(handles, NULL), ASX_OK);
}

static asx_status creations(asx_cx *cx, void *arg)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_barrier barrier;
    (void)arg;
    for (int which = 0; which < 5; which++) {
        asx_region region;
        CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
        switch (which) {
        case 0:
            REFUSED(rt, asx_condition_create(&region, NULL, NULL), bad);
            break;
        case 1:
            REFUSED(rt, asx_notify_create(&region, NULL, NULL), bad);
            break;
        case 2:
            REFUSED(rt, asx_barrier_create(&region, 1, NULL, NULL), bad);
            break;
        case 3:
            REFUSED(rt, asx_barrier_create(&region, 0, NULL, &barrier), bad);
            break;
        default:
            REFUSED(rt, asx_once_create(&region, NULL, NULL), bad);
            break;
        }
        CHECK_STATUS(asx_region_close(&region, ASX_OK), bad);
        REFUSED(rt, asx_barrier_create(&region, 1, NULL, &barrier), ASX_E_STALE_HANDLE);
    }
    return ASX_OK;
}

ASX_TEST(places_that_are_none_make_no_meeting_point)
{
    CHECK_STATUS(api_run(creations, NULL), ASX_OK);
}

static asx_status contexts(asx_cx *cx, void *arg)
{
    api_other other;
    asx_region region;
    asx_cx narrow;
    asx_mutex mutex;
    asx_mutex_guard guard;
    points p, foreign;
    (void)arg;
    api_other_init(&other);
    make_points(&other.region, &foreign);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&region, NULL, &mutex), ASX_OK);
    CHECK_STATUS(asx_mutex_lock(cx, &mutex, &guard), ASX_OK);
    make_points(&region, &p);
    asx_runtime *rt = asx_cx_runtime(cx);
    enter_check(rt, &other.cx, &p, &guard, ASX_E_WRONG_CONTEXT);
    enter_check(other.rt, cx, &foreign, &guard, ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_ALL & ~ASX_CAP_CHANNEL, &narrow), ASX_OK);
    enter_check(rt, &narrow, &p, &guard, ASX_E_CAPABILITY);
    api_other_deinit(&other);
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(contexts_of_others_and_narrowed_ones_meet_nobody)
{
    CHECK_STATUS(api_run(contexts, NULL), ASX_OK);
}
