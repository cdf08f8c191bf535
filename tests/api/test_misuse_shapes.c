/* test_misuse_shapes.c - oneshots, broadcasts and watches that are none, empty, of another runtime,
 * or gone with their region.
 */
#include "support_api.h"

#include <string.h>

static const uint64_t message = 11;

typedef struct shapes {
    asx_oneshot_sender tx;
    asx_oneshot_receiver rx;
    asx_broadcast broadcast;
    asx_broadcast_receiver receiver;
    asx_watch watch;
} shapes;

static void make_shapes(const asx_region *region, shapes *s)
{
    CHECK_STATUS(asx_oneshot_create(region, sizeof message, NULL, &s->tx, &s->rx), ASX_OK);
    CHECK_STATUS(asx_broadcast_create(region, sizeof message, 2,
                                      &(asx_broadcast_options){ .name = "b" },
                                      &s->broadcast), ASX_OK);
    CHECK_STATUS(asx_broadcast_subscribe(&s->broadcast, &s->receiver), ASX_OK);
    CHECK_STATUS(asx_watch_create(region, sizeof message, &message,
                                  &(asx_watch_options){ .name = "w" }, &s->watch), ASX_OK);
}

/* Calls that take a context. */
static void enter_check(asx_runtime *rt, asx_cx *cx, shapes *s, asx_status expected)
{
    uint64_t got = 5, seen = 1;
    REFUSED(rt, asx_oneshot_adopt(cx, s != NULL ? &s->tx : NULL), expected);
    REFUSED(rt, asx_oneshot_recv(cx, s != NULL ? &s->rx : NULL, &got), expected);
    REFUSED(rt, asx_oneshot_try_recv(cx, s != NULL ? &s->rx : NULL, &got), expected);
    REFUSED(rt, asx_broadcast_recv(cx, s != NULL ? &s->receiver : NULL, &got, NULL), expected);
    REFUSED(rt, asx_broadcast_try_recv(cx, s != NULL ? &s->receiver : NULL, &got, NULL), expected);
    REFUSED(rt, asx_watch_changed(cx, s != NULL ? &s->watch : NULL, &seen, &got), expected);
    CHECK_EQ(got, 5u);
    CHECK_EQ(seen, 1u);
}

static void handle_check(asx_cx *cx, shapes *s, asx_status expected)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_broadcast_receiver receiver;
    uint64_t got = 5, version = 5;
    size_t receivers = 5;
    enter_check(rt, cx, s, expected);
    REFUSED(rt, asx_oneshot_send(s != NULL ? &s->tx : NULL, &message), expected);
    REFUSED(rt, asx_oneshot_sender_drop(s != NULL ? &s->tx : NULL), expected);
    REFUSED(rt, asx_oneshot_receiver_drop(s != NULL ? &s->rx : NULL), expected);
    REFUSED(rt, asx_broadcast_subscribe(s != NULL ? &s->broadcast : NULL, &receiver), expected);
    REFUSED(rt, asx_broadcast_send(s != NULL ? &s->broadcast : NULL, &message, &receivers),
            expected);
    REFUSED(rt, asx_broadcast_close(s != NULL ? &s->broadcast : NULL), expected);
    REFUSED(rt, asx_broadcast_receiver_drop(s != NULL ? &s->receiver : NULL), expected);
    REFUSED(rt, asx_watch_send(s != NULL ? &s->watch : NULL, &message), expected);
    REFUSED(rt, asx_watch_get(s != NULL ? &s->watch : NULL, &got, &version), expected);
    REFUSED(rt, asx_watch_close(s != NULL ? &s->watch : NULL), expected);
    CHECK_EQ(got, 5u);
    CHECK_EQ(version + receivers, 0u);
}

static asx_status handles(asx_cx *cx, void *arg)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region region;
    shapes s, none, again;
    uint64_t seen = 1;
    (void)arg;
    memset(&none, 0, sizeof none);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make_shapes(&region, &s);
    handle_check(cx, NULL, bad);
    handle_check(cx, &none, bad);
    enter_check(rt, NULL, &s, bad);
    REFUSED(rt, asx_oneshot_send(&s.tx, NULL), bad);
    REFUSED(rt, asx_oneshot_recv(cx, &s.rx, NULL), bad);
    REFUSED(rt, asx_oneshot_try_recv(cx, &s.rx, NULL), bad);
    REFUSED(rt, asx_broadcast_subscribe(&s.broadcast, NULL), bad);
    REFUSED(rt, asx_broadcast_send(&s.broadcast, NULL, NULL), bad);
    REFUSED(rt, asx_broadcast_recv(cx, &s.receiver, NULL, NULL), bad);
    REFUSED(rt, asx_broadcast_try_recv(cx, &s.receiver, NULL, NULL), bad);
    REFUSED(rt, asx_watch_send(&s.watch, NULL), bad);
    REFUSED(rt, asx_watch_changed(cx, &s.watch, NULL, &seen), bad);
    CHECK_STATUS(asx_watch_get(&s.watch, NULL, NULL), ASX_OK); /* what nobody wants */
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    handle_check(cx, &s, ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make_shapes(&region, &again); /* in the same records */
    handle_check(cx, &s, ASX_E_DISCONNECTED);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(shapes_that_are_none_or_gone_are_refused)
{
    CHECK_STATUS(api_run(handles, NULL), ASX_OK);
}

static void creation_check(const asx_region *region, asx_runtime *rt, int which)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_oneshot_sender tx;
    asx_oneshot_receiver rx;
    asx_broadcast broadcast;
    asx_watch watch;
    switch (which) {
    case 0:
        REFUSED(rt, asx_oneshot_create(region, 0, NULL, &tx, &rx), bad);
        break;
    case 1:
        REFUSED(rt, asx_oneshot_create(region, 8, NULL, NULL, &rx), bad);
        break;
    case 2:
        REFUSED(rt, asx_oneshot_create(region, 8, NULL, &tx, NULL), bad);
        break;
    case 3:
        REFUSED(rt, asx_broadcast_create(region, 0, 1, NULL, &broadcast), bad);
        break;
    case 4:
        REFUSED(rt, asx_broadcast_create(region, 8, 0, NULL, &broadcast), bad);
        break;
    case 5:
        REFUSED(rt, asx_broadcast_create(region, 8, 1, NULL, NULL), bad);
        break;
    case 6:
        REFUSED(rt, asx_watch_create(region, 0, &message, NULL, &watch), bad);
        break;
    case 7:
        REFUSED(rt, asx_watch_create(region, 8, NULL, NULL, &watch), bad);
        break;
    default:
        REFUSED(rt, asx_watch_create(region, 8, &message, NULL, NULL), bad);
        break;
    }
}

static asx_status creations(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region region;
    asx_oneshot_sender tx;
    asx_oneshot_receiver rx;
    asx_broadcast broadcast;
    (void)arg;
    for (int which = 0; which < 9; which++) {
        CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
        creation_check(&region, rt, which);
        CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_INVALID_ARGUMENT);
    }
    /* More than there can be. */
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    REFUSED(rt, asx_broadcast_create(&region, SIZE_MAX / 2, SIZE_MAX / 2, NULL, &broadcast),
            ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_oneshot_create(&region, SIZE_MAX, NULL, &tx, &rx), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_EQ(api_stats(rt).channels_live, 0);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    return ASX_OK;
}

ASX_TEST(shapes_of_nothing_are_not_made)
{
    CHECK_STATUS(api_run(creations, NULL), ASX_OK);
}

static asx_status contexts(asx_cx *cx, void *arg)
{
    api_other other;
    asx_region region;
    asx_cx narrow;
    shapes s, foreign;
    (void)arg;
    api_other_init(&other);
    make_shapes(&other.region, &foreign);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make_shapes(&region, &s);
    asx_runtime *rt = asx_cx_runtime(cx);
    enter_check(rt, &other.cx, &s, ASX_E_WRONG_CONTEXT);
    enter_check(other.rt, cx, &foreign, ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_ALL & ~ASX_CAP_CHANNEL, &narrow), ASX_OK);
    enter_check(rt, &narrow, &s, ASX_E_CAPABILITY);
    api_other_deinit(&other);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(contexts_of_others_and_narrowed_ones_receive_nothing)
{
    CHECK_STATUS(api_run(contexts, NULL), ASX_OK);
}
