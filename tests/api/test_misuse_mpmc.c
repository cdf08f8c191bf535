/* test_misuse_mpmc.c - endpoints of channels of many that are none, empty, dropped, of the other
 * side, of another runtime, or gone with their region.
 */
#include "support_api.h"

#include <string.h>

typedef struct ends {
    asx_mpmc_sender tx;
    asx_mpmc_receiver rx;
} ends;

static void make(const asx_region *region, ends *e)
{
    CHECK_STATUS(asx_mpmc_create(region, sizeof(int), 1, NULL, &e->tx, &e->rx), ASX_OK);
}

/* Calls that take a context. */
static void enter_check(asx_runtime *rt, asx_cx *cx, const ends *e, asx_status expected)
{
    int message = 1;
    const asx_mpmc_sender *tx = e != NULL ? &e->tx : NULL;
    const asx_mpmc_receiver *rx = e != NULL ? &e->rx : NULL;
    REFUSED(rt, asx_mpmc_send(cx, tx, &message), expected);
    REFUSED(rt, asx_mpmc_try_send(cx, tx, &message), expected);
    REFUSED(rt, asx_mpmc_recv(cx, rx, &message), expected);
    REFUSED(rt, asx_mpmc_try_recv(cx, rx, &message), expected);
}

static void ends_check(asx_cx *cx, ends *e, asx_status expected)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_mpmc_sender *tx = e != NULL ? &e->tx : NULL;
    asx_mpmc_receiver *rx = e != NULL ? &e->rx : NULL;
    ends clone;
    asx_mpmc_info info;
    enter_check(rt, cx, e, expected);
    REFUSED(rt, asx_mpmc_close(tx), expected);
    REFUSED(rt, asx_mpmc_sender_clone(tx, &clone.tx), expected);
    REFUSED(rt, asx_mpmc_receiver_clone(rx, &clone.rx), expected);
    REFUSED(rt, asx_mpmc_sender_drop(tx), expected);
    REFUSED(rt, asx_mpmc_receiver_drop(rx), expected);
    REFUSED(rt, asx_mpmc_sender_info(tx, &info), expected);
    REFUSED(rt, asx_mpmc_receiver_info(rx, &info), expected);
}

static asx_status handles(asx_cx *cx, void *arg)
{
    asx_region region;
    ends e, none, swapped, made_up;
    (void)arg;
    memset(&none, 0, sizeof none);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make(&region, &e);
    ends_check(cx, NULL, ASX_E_INVALID_ARGUMENT);
    ends_check(cx, &none, ASX_E_INVALID_ARGUMENT);
    enter_check(asx_cx_runtime(cx), NULL, &e, ASX_E_INVALID_ARGUMENT);
    _Static_assert(sizeof swapped.tx == sizeof swapped.rx, "laid out alike");
    memcpy(&swapped.tx, &e.rx, sizeof swapped.tx);
    memcpy(&swapped.rx, &e.tx, sizeof swapped.rx);
    ends_check(cx, &swapped, ASX_E_INVALID_ARGUMENT);
    made_up = e;
    made_up.tx.index_ = made_up.rx.index_ = 1000;
    ends_check(cx, &made_up, ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_mpmc_receiver_drop(&e.rx), ASX_OK);
    CHECK_STATUS(asx_mpmc_sender_drop(&e.tx), ASX_OK);
    ends_check(cx, &e, ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    ends_check(cx, &e, ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    ends again;
    make(&region, &again); /* in the same record */
    ends_check(cx, &e, ASX_E_DISCONNECTED);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(endpoints_that_are_none_or_gone_are_refused)
{
    CHECK_STATUS(api_run(handles, NULL), ASX_OK);
}

static asx_status outputs(asx_cx *cx, void *arg)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region region;
    ends e;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make(&region, &e);
    REFUSED(rt, asx_mpmc_send(cx, &e.tx, NULL), bad);
    REFUSED(rt, asx_mpmc_try_send(cx, &e.tx, NULL), bad);
    REFUSED(rt, asx_mpmc_recv(cx, &e.rx, NULL), bad);
    REFUSED(rt, asx_mpmc_try_recv(cx, &e.rx, NULL), bad);
    REFUSED(rt, asx_mpmc_sender_clone(&e.tx, NULL), bad);
    REFUSED(rt, asx_mpmc_receiver_clone(&e.rx, NULL), bad);
    REFUSED(rt, asx_mpmc_sender_info(&e.tx, NULL), bad);
    REFUSED(rt, asx_mpmc_receiver_info(&e.rx, NULL), bad);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(places_that_are_none_get_no_message)
{
    CHECK_STATUS(api_run(outputs, NULL), ASX_OK);
}

static void creation_check(asx_cx *cx, int which)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_status expected = which < 3 ? bad : ASX_E_RESOURCE_EXHAUSTED;
    asx_region region;
    ends e;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    if (which == 0)
        REFUSED(rt, asx_mpmc_create(&region, 0, 1, NULL, &e.tx, &e.rx), expected);
    else if (which == 1)
        REFUSED(rt, asx_mpmc_create(&region, 4, 1, NULL, NULL, &e.rx), expected);
    else if (which == 2)
        REFUSED(rt, asx_mpmc_create(&region, 4, 1, NULL, &e.tx, NULL), expected);
    else if (which == 3)
        REFUSED(rt, asx_mpmc_create(&region, SIZE_MAX / 2, 1, NULL, &e.tx, &e.rx), expected);
    else
        REFUSED(rt, asx_mpmc_create(&region, 8, SIZE_MAX / 2, NULL, &e.tx, &e.rx), expected);
    REFUSED(rt, asx_mpmc_create(&region, 4, 1, NULL, &e.tx, &e.rx), expected); /* it sticks */
    CHECK_STATUS(asx_region_close(&region, ASX_OK), expected);
    REFUSED(rt, asx_mpmc_create(&region, 4, 1, NULL, &e.tx, &e.rx), ASX_E_STALE_HANDLE);
    REFUSED(rt, asx_mpmc_create(NULL, 4, 1, NULL, &e.tx, &e.rx), bad);
}

static asx_status creations(asx_cx *cx, void *arg)
{
    asx_region region;
    ends e;
    (void)arg;
    for (int which = 0; which < 5; which++)
        creation_check(cx, which);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_region_stop(&region), ASX_OK);
    REFUSED(asx_cx_runtime(cx), asx_mpmc_create(&region, 4, 0, NULL, &e.tx, &e.rx),
            ASX_E_REGION_NOT_OPEN);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(channels_of_many_are_made_in_open_regions_only)
{
    CHECK_STATUS(api_run(creations, NULL), ASX_OK);
}

static asx_status ceiling(asx_cx *cx, void *arg)
{
    asx_region region;
    ends e;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make(&region, &e);
    REFUSED(asx_cx_runtime(cx), asx_mpmc_create(&region, 4, 0, NULL, &e.tx, &e.rx),
            ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make(&region, &e); /* the first has gone */
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(they_count_as_channels)
{
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .limits.channels_max = 1 };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, ceiling, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static asx_status contexts(asx_cx *cx, void *arg)
{
    api_other other;
    asx_region region;
    asx_cx narrow;
    ends e, foreign;
    (void)arg;
    api_other_init(&other);
    make(&other.region, &foreign);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make(&region, &e);
    asx_runtime *rt = asx_cx_runtime(cx);
    enter_check(rt, &other.cx, &e, ASX_E_WRONG_CONTEXT);
    enter_check(other.rt, cx, &foreign, ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_ALL & ~ASX_CAP_CHANNEL, &narrow), ASX_OK);
    enter_check(rt, &narrow, &e, ASX_E_CAPABILITY);
    api_other_deinit(&other);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(contexts_of_others_and_narrowed_ones_send_nothing)
{
    CHECK_STATUS(api_run(contexts, NULL), ASX_OK);
}
