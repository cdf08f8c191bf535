/* test_misuse_channel.c - endpoints, permits and acks that are none, empty, used before, copied,
 * dropped, or of a channel that is gone with its region.
 */
#include "support_api.h"

#include <string.h>

static uint64_t message = 11;

static void sender_check(asx_cx *cx, asx_channel_sender *sender, asx_status expected)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_send_permit permit;
    asx_tracked_permit tracked;
    asx_channel_sender clone;
    asx_channel_info info;
    uint64_t evicted;
    bool did;
    REFUSED(rt, asx_channel_reserve(cx, sender, &permit), expected);
    REFUSED(rt, asx_channel_try_reserve(cx, sender, &permit), expected);
    REFUSED(rt, asx_channel_reserve_tracked(cx, sender, &tracked), expected);
    REFUSED(rt, asx_channel_send(cx, sender, &message), expected);
    REFUSED(rt, asx_channel_try_send(cx, sender, &message), expected);
    REFUSED(rt, asx_channel_send_evict_oldest(cx, sender, &message, &evicted, &did), expected);
    REFUSED(rt, asx_channel_sender_clone(sender, &clone), expected);
    REFUSED(rt, asx_channel_sender_info(sender, &info), expected);
    REFUSED(rt, asx_channel_sender_drop(sender), expected);
}

static void receiver_check(asx_cx *cx, asx_channel_receiver *receiver, asx_status expected)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_channel_info info;
    asx_ack ack;
    uint64_t got = 5;
    REFUSED(rt, asx_channel_recv(cx, receiver, &got), expected);
    REFUSED(rt, asx_channel_try_recv(cx, receiver, &got), expected);
    REFUSED(rt, asx_channel_recv_with_ack(cx, receiver, &got, &ack), expected);
    REFUSED(rt, asx_channel_receiver_info(receiver, &info), expected);
    REFUSED(rt, asx_channel_receiver_drop(receiver), expected);
    CHECK_EQ(got, 5u);
}

static asx_status endpoints(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_channel_sender sender, none, clone;
    asx_channel_receiver receiver, no_receiver;
    (void)arg;
    memset(&none, 0, sizeof none);
    memset(&no_receiver, 0, sizeof no_receiver);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, sizeof message, 2, NULL, &sender, &receiver), ASX_OK);
    sender_check(cx, NULL, ASX_E_INVALID_ARGUMENT);
    sender_check(cx, &none, ASX_E_INVALID_ARGUMENT);
    receiver_check(cx, NULL, ASX_E_INVALID_ARGUMENT);
    receiver_check(cx, &no_receiver, ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_sender_clone(&sender, &clone), ASX_OK);
    CHECK_STATUS(asx_channel_sender_drop(&clone), ASX_OK);
    sender_check(cx, &clone, ASX_E_STALE_HANDLE);
    asx_channel_receiver copy = receiver;
    CHECK_STATUS(asx_channel_receiver_drop(&receiver), ASX_OK);
    receiver_check(cx, &copy, ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_channel_send(cx, &sender, &message), ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    asx_send_permit permit;
    uint64_t got;
    REFUSED(asx_cx_runtime(cx), asx_channel_reserve(cx, &sender, &permit), ASX_E_DISCONNECTED);
    REFUSED(asx_cx_runtime(cx), asx_channel_send(cx, &sender, &message), ASX_E_DISCONNECTED);
    REFUSED(asx_cx_runtime(cx), asx_channel_recv(cx, &copy, &got), ASX_E_DISCONNECTED);
    REFUSED(asx_cx_runtime(cx), asx_channel_try_recv(cx, &copy, &got), ASX_E_DISCONNECTED);
    return ASX_OK;
}

ASX_TEST(endpoints_that_are_none_are_refused)
{
    CHECK_STATUS(api_run(endpoints, NULL), ASX_OK);
}

static asx_status outputs(asx_cx *cx, void *arg)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region region;
    asx_channel_sender sender;
    asx_channel_receiver receiver;
    asx_send_permit permit;
    asx_ack ack;
    uint64_t got;
    bool did;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, sizeof message, 2, NULL, &sender, &receiver), ASX_OK);
    REFUSED(rt, asx_channel_reserve(cx, &sender, NULL), bad);
    REFUSED(rt, asx_channel_try_reserve(cx, &sender, NULL), bad);
    REFUSED(rt, asx_channel_reserve_tracked(cx, &sender, NULL), bad);
    REFUSED(rt, asx_channel_send(cx, &sender, NULL), bad);
    REFUSED(rt, asx_channel_try_send(cx, &sender, NULL), bad);
    REFUSED(rt, asx_channel_send_evict_oldest(cx, &sender, NULL, &got, &did), bad);
    REFUSED(rt, asx_channel_sender_clone(&sender, NULL), bad);
    REFUSED(rt, asx_channel_sender_info(&sender, NULL), bad);
    REFUSED(rt, asx_channel_receiver_info(&receiver, NULL), bad);
    CHECK_STATUS(asx_channel_send(cx, &sender, &message), ASX_OK);
    REFUSED(rt, asx_channel_recv(cx, &receiver, NULL), bad);
    REFUSED(rt, asx_channel_try_recv(cx, &receiver, NULL), bad);
    REFUSED(rt, asx_channel_recv_with_ack(cx, &receiver, NULL, &ack), bad);
    REFUSED(rt, asx_channel_recv_with_ack(cx, &receiver, &got, NULL), bad);
    CHECK_STATUS(asx_channel_try_recv(cx, &receiver, &got), ASX_OK); /* it is still there */
    CHECK_EQ(got, message);
    CHECK_STATUS(asx_channel_reserve(cx, &sender, &permit), ASX_OK);
    REFUSED(rt, asx_send_permit_send(&permit, NULL), bad);
    CHECK_STATUS(asx_send_permit_send(&permit, &message), ASX_OK);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(places_that_are_none_lose_no_message)
{
    CHECK_STATUS(api_run(outputs, NULL), ASX_OK);
}

static void permit_check(asx_runtime *rt, const asx_send_permit *given, asx_status expected)
{
    asx_send_permit permit, *at = NULL;
    for (int i = 0; i < 2; i++) {
        if (given != NULL) {
            permit = *given;
            at = &permit;
        }
        if (i == 0)
            REFUSED(rt, asx_send_permit_send(at, &message), expected);
        else
            REFUSED(rt, asx_send_permit_abort(at), expected);
    }
}

static void tracked_check(asx_runtime *rt, const asx_tracked_permit *given, asx_status expected)
{
    asx_tracked_permit permit, *at = NULL;
    asx_committed_proof committed;
    asx_aborted_proof aborted;
    for (int i = 0; i < 2; i++) {
        if (given != NULL) {
            permit = *given;
            at = &permit;
        }
        if (i == 0)
            REFUSED(rt, asx_tracked_permit_send(at, &message, &committed), expected);
        else
            REFUSED(rt, asx_tracked_permit_abort(at, &aborted), expected);
    }
}

static asx_status permits(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region region;
    asx_channel_sender sender;
    asx_channel_receiver receiver;
    asx_send_permit permit, copy, none;
    asx_tracked_permit tracked, tracked_copy, no_tracked;
    asx_committed_proof proof;
    (void)arg;
    memset(&none, 0, sizeof none);
    memset(&no_tracked, 0, sizeof no_tracked);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, sizeof message, 8, NULL, &sender, &receiver), ASX_OK);
    permit_check(rt, NULL, ASX_E_INVALID_ARGUMENT);
    permit_check(rt, &none, ASX_E_INVALID_ARGUMENT);
    tracked_check(rt, NULL, ASX_E_INVALID_ARGUMENT);
    tracked_check(rt, &no_tracked, ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_reserve(cx, &sender, &permit), ASX_OK);
    copy = permit;
    CHECK_STATUS(asx_send_permit_send(&permit, &message), ASX_OK);
    permit_check(rt, &copy, ASX_E_OBLIGATION_ALREADY_RESOLVED);
    CHECK_STATUS(asx_channel_reserve(cx, &sender, &permit), ASX_OK);
    permit_check(rt, &copy, ASX_E_OBLIGATION_ALREADY_RESOLVED); /* not mistaken for the new one */
    copy = permit;
    CHECK_STATUS(asx_send_permit_abort(&permit), ASX_OK);
    permit_check(rt, &copy, ASX_E_OBLIGATION_ALREADY_RESOLVED);
    CHECK_STATUS(asx_channel_reserve_tracked(cx, &sender, &tracked), ASX_OK);
    tracked_copy = tracked;
    REFUSED(rt, asx_tracked_permit_send(&tracked, NULL, &proof), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_tracked_permit_send(&tracked, &message, &proof), ASX_OK);
    tracked_check(rt, &tracked_copy, ASX_E_OBLIGATION_ALREADY_RESOLVED);
    CHECK_STATUS(asx_channel_reserve(cx, &sender, &permit), ASX_OK);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    asx_send_permit late = permit;
    asx_stats before = api_stats(rt);
    asx_status st = asx_send_permit_send(&late, &message); /* the channel went away under it */
    CHECK(st < 0);
    asx_stats after = api_stats(rt);
    CHECK_MEM_EQ(&before, &after, sizeof before);
    return ASX_OK;
}

ASX_TEST(permits_are_good_once)
{
    CHECK_STATUS(api_run(permits, NULL), ASX_OK);
}

static void ack_check(asx_runtime *rt, const asx_ack *given, asx_status expected)
{
    asx_ack ack, *at = NULL;
    for (int i = 0; i < 2; i++) {
        if (given != NULL) {
            ack = *given;
            at = &ack;
        }
        if (i == 0)
            REFUSED(rt, asx_ack_commit(at), expected);
        else
            REFUSED(rt, asx_ack_nack(at), expected);
    }
}

static asx_status acks(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region region;
    asx_channel_sender sender;
    asx_channel_receiver receiver;
    asx_ack ack, copy, none;
    uint64_t got;
    (void)arg;
    memset(&none, 0, sizeof none);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, sizeof message, 2, NULL, &sender, &receiver), ASX_OK);
    ack_check(rt, NULL, ASX_E_INVALID_ARGUMENT);
    ack_check(rt, &none, ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_send(cx, &sender, &message), ASX_OK);
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &receiver, &got, &ack), ASX_OK);
    copy = ack;
    CHECK_STATUS(asx_ack_nack(&ack), ASX_OK);
    ack_check(rt, &copy, ASX_E_OBLIGATION_ALREADY_RESOLVED);
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &receiver, &got, &ack), ASX_OK);
    ack_check(rt, &copy, ASX_E_OBLIGATION_ALREADY_RESOLVED);
    copy = ack;
    CHECK_STATUS(asx_ack_commit(&ack), ASX_OK);
    ack_check(rt, &copy, ASX_E_OBLIGATION_ALREADY_RESOLVED);
    CHECK_STATUS(asx_channel_send(cx, &sender, &message), ASX_OK);
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &receiver, &got, &ack), ASX_OK);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    CHECK(asx_ack_commit(&ack) < 0);
    return ASX_OK;
}

ASX_TEST(acks_are_good_once)
{
    CHECK_STATUS(api_run(acks, NULL), ASX_OK);
}

/* A message handed in by its drop callback may ask for more of the same channel. */
static asx_channel_receiver dropped_receiver;
static asx_channel_sender dropped_sender;
static unsigned drops;

static void on_drop(void *ctx, void *dropped)
{
    asx_cx *cx = ctx;
    uint64_t got;
    CHECK_EQ(*(uint64_t *)dropped, message);
    CHECK(asx_channel_try_send(cx, &dropped_sender, &message) < 0);
    CHECK(asx_channel_try_recv(cx, &dropped_receiver, &got) < 0);
    CHECK(asx_channel_receiver_drop(&dropped_receiver) < 0);
    drops++;
}

static asx_status dropping(asx_cx *cx, void *arg)
{
    asx_channel_options options = { "dropped", on_drop, cx };
    asx_region region;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, sizeof message, 2, &options, &dropped_sender,
                                    &dropped_receiver),
                 ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &dropped_sender, &message), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &dropped_sender, &message), ASX_OK);
    asx_channel_receiver copy = dropped_receiver;
    CHECK_STATUS(asx_channel_receiver_drop(&copy), ASX_OK);
    CHECK_EQ(drops, 2);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(a_drop_callback_that_calls_back_is_refused)
{
    CHECK_STATUS(api_run(dropping, NULL), ASX_OK);
}
