/* relay.c - a relay takes messages out of one channel and puts them into another. Somebody cancels
 * it. Is the message that it was carrying still there?
 *
 *     asx explore build/examples/lab/relay relay_loses    finds the schedule in which it is not
 *     asx explore build/examples/lab/relay relay_keeps    runs every schedule of the repair
 */
#include <asx/asx_lab.h>

typedef struct work {
    asx_channel_sender in_tx, out_tx;
    asx_channel_receiver in_rx, out_rx;
    asx_task relay, canceller;
} work;

/* Takes a message and then waits for room: cancelled while it waits, it has the only copy. */
static asx_status relay_that_loses(asx_cx *cx, void *arg)
{
    work *w = arg;
    int message;
    asx_status st = asx_channel_recv(cx, &w->in_rx, &message);
    if (st < 0)
        return st;
    return asx_channel_send(cx, &w->out_tx, &message);
}

/* Has the room before it takes a message. Sending by a permit cannot be cancelled. */
static asx_status relay_that_keeps(asx_cx *cx, void *arg)
{
    work *w = arg;
    int message;
    asx_send_permit permit;
    asx_status st = asx_channel_reserve(cx, &w->out_tx, &permit);
    if (st < 0)
        return st;
    st = asx_channel_recv(cx, &w->in_rx, &message);
    if (st < 0) {
        (void)asx_send_permit_abort(&permit);
        return st;
    }
    return asx_send_permit_send(&permit, &message);
}

static asx_status canceller(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_task_cancel(&((work *)arg)->relay, NULL);
}

static size_t queued(const asx_channel_receiver *receiver)
{
    asx_channel_info info = { 0 };
    (void)asx_channel_receiver_info(receiver, &info);
    return info.queued;
}

static void relay_is_cancelled(asx_cx *cx, asx_task_fn relay)
{
    work w;
    asx_region r;
    int message = 42;
    asx_region_open(cx, NULL, &r);
    asx_channel_create(&r, sizeof(int), 1, NULL, &w.in_tx, &w.in_rx);
    asx_channel_create(&r, sizeof(int), 1, NULL, &w.out_tx, &w.out_rx);
    asx_channel_send(cx, &w.in_tx, &message);
    asx_spawn_task(&r, relay, &w, &(asx_spawn_options){ .name = "relay" }, &w.relay);
    asx_spawn_task(&r, canceller, &w, &(asx_spawn_options){ .name = "canceller" }, &w.canceller);
    asx_join(cx, &w.canceller, NULL);
    asx_join(cx, &w.relay, NULL);
    asx_lab_check(cx, queued(&w.in_rx) + queued(&w.out_rx) == 1); /* it is in one of them */
    asx_region_close(&r, ASX_OK);
}

ASX_LAB_TEST(relay_loses) { relay_is_cancelled(cx, relay_that_loses); }
ASX_LAB_TEST(relay_keeps) { relay_is_cancelled(cx, relay_that_keeps); }
