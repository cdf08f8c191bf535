/* pipeline.c - a producer and a consumer over a two-phase channel, in a region with a time-out.
 *
 * The producer first reserves a place, which may wait and can be cancelled without loss, and then
 * sends, which cannot fail for lack of room. The consumer ends when the last sender is gone. The
 * finalizer runs when both tasks have ended, however they ended.
 */
#include <stdio.h>

#include <asx/asx.h>

struct pipe {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    int count;
    long sum;
};

static asx_status producer(asx_cx *cx, void *arg)
{
    struct pipe *p = arg;
    for (int i = 1; i <= p->count; i++) {
        asx_send_permit permit;
        asx_status st = asx_channel_reserve(cx, &p->tx, &permit); /* waits; nothing is at risk */
        if (st < 0)
            return st;
        st = asx_send_permit_send(&permit, &i); /* the place is ours already */
        if (st < 0)
            return st;
    }
    return asx_channel_sender_drop(&p->tx);
}

static asx_status consumer(asx_cx *cx, void *arg)
{
    struct pipe *p = arg;
    for (;;) {
        int n;
        asx_status st = asx_channel_recv(cx, &p->rx, &n);
        if (st == ASX_E_DISCONNECTED)
            return ASX_OK; /* nothing is queued and nobody is left to send */
        if (st < 0)
            return st;
        p->sum += n;
    }
}

static asx_status log_close(asx_cx *cx, void *arg)
{
    struct pipe *p = arg;
    (void)cx;
    printf("finalizer: both have ended, the sum is %ld\n", p->sum);
    return ASX_OK;
}

static asx_status app(asx_cx *cx, void *arg)
{
    struct pipe p = { .count = 100 };
    asx_region_options options = { .name = "pipeline", .timeout_ns = 10 * ASX_SEC };
    asx_region r;
    (void)arg;
    asx_status st = asx_region_open(cx, &options, &r);
    if (st < 0)
        return st;
    asx_channel_create(&r, sizeof(int), 4, NULL, &p.tx, &p.rx);
    asx_defer(&r, log_close, &p);
    asx_spawn(&r, "producer", producer, &p);
    asx_spawn(&r, "consumer", consumer, &p);
    st = asx_region_close(&r, ASX_OK); /* waits for both; the first set-up failure comes out here */
    printf("pipeline: %s\n", asx_status_str(st));
    return st;
}

int main(void)
{
    return asx_main(app, NULL);
}
