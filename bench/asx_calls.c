/* asx_calls.c - what single calls cost when nobody is in the way: the best stretch of many.
 *
 * A stretch is a few microseconds long, so on a busy machine too there are some that nothing
 * interrupted. With several workers the calls are made by one that is alone, after a while under a
 * lease: what that costs is the difference to one worker.
 */
#define _GNU_SOURCE
#include "asx_bench.h"

#define STRETCH 200u
#define STRETCHES 3000u
#define TRIPS 1000u

static double best_ns, begun_ns;

static void begin(void)
{
    begun_ns = now_ns();
}

static void end(unsigned count)
{
    double each_ns = (now_ns() - begun_ns) / count;
    if (best_ns == 0 || each_ns < best_ns)
        best_ns = each_ns;
}

/* ---- spawn, run, join ------------------------------------------------------------------------ */

static asx_status empty_fiber(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

static asx_poll empty_poll(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_POLL_READY;
}

double call_spawn(struct place *p)
{
    asx_task tasks[STRETCH];
    region_open(p);
    for (unsigned i = 0; i < STRETCHES; i++) {
        begin();
        for (unsigned k = 0; k < STRETCH; k++)
            ok(p->poll ? asx_spawn_poll_task(&p->region, empty_poll, NULL, NULL, &tasks[k])
                       : asx_spawn_task(&p->region, empty_fiber, NULL, NULL, &tasks[k]),
               "spawn");
        for (unsigned k = 0; k < STRETCH; k++)
            ok(asx_join(p->cx, &tasks[k], NULL), "join");
        end(STRETCH);
    }
    region_close(p);
    return best_ns;
}

/* ---- send and receive, nobody waits ---------------------------------------------------------- */

static double calls(struct place *p, bool sends)
{
    struct channel channel;
    uint64_t value = 0;
    region_open(p);
    ok(asx_channel_create(&p->region, sizeof value, STRETCH, NULL, &channel.tx,
                          &channel.rx), "channel");
    for (unsigned i = 0; i < STRETCHES; i++) {
        begin();
        for (unsigned k = 0; k < STRETCH; k++) {
            asx_send_permit permit;
            ok(asx_channel_reserve(p->cx, &channel.tx, &permit), "reserve");
            ok(asx_send_permit_send(&permit, &value), "send");
        }
        if (sends)
            end(STRETCH);
        begin();
        for (unsigned k = 0; k < STRETCH; k++)
            ok(asx_channel_recv(p->cx, &channel.rx, &value), "receive");
        if (!sends)
            end(STRETCH);
    }
    region_close(p);
    return best_ns;
}

double call_send(struct place *p)
{
    return calls(p, true);
}

double call_recv(struct place *p)
{
    return calls(p, false);
}

/* ---- two tasks ------------------------------------------------------------------------------- */

struct half {
    struct channel in, out;
    bool first;
};

static asx_status yields(asx_cx *cx, void *arg)
{
    const struct half *me = arg;
    for (unsigned i = 0; i < STRETCHES * TRIPS / 10; i++) {
        if (me->first && i % TRIPS == 0)
            begin();
        ok(asx_yield(cx), "yield");
        if (me->first && i % TRIPS == TRIPS - 1)
            end(2 * TRIPS);
    }
    return ASX_OK;
}

static asx_status plays(asx_cx *cx, void *arg)
{
    struct half *me = arg;
    asx_send_permit permit;
    uint64_t value = 0;
    for (unsigned i = 0; i < STRETCHES * TRIPS / 10; i++) {
        if (me->first && i % TRIPS == 0)
            begin();
        if (!me->first)
            ok(asx_channel_recv(cx, &me->in.rx, &value), "receive");
        ok(asx_channel_reserve(cx, &me->out.tx, &permit), "reserve");
        ok(asx_send_permit_send(&permit, &value), "send");
        if (me->first)
            ok(asx_channel_recv(cx, &me->in.rx, &value), "receive");
        if (me->first && i % TRIPS == TRIPS - 1)
            end(TRIPS);
    }
    return ASX_OK;
}

static double pair(struct place *p, asx_task_fn fn)
{
    struct half half[2] = { { .first = true }, { .first = false } };
    struct channel there, back;
    asx_task tasks[2];
    if (p->poll)
        exit(3);
    region_open(p);
    ok(asx_channel_create(&p->region, 8, 1, NULL, &there.tx, &there.rx), "channel");
    ok(asx_channel_create(&p->region, 8, 1, NULL, &back.tx, &back.rx), "channel");
    half[0].out = half[1].in = there;
    half[0].in = half[1].out = back;
    for (int i = 0; i < 2; i++)
        ok(asx_spawn_task(&p->region, fn, &half[i], NULL, &tasks[i]), "spawn");
    for (int i = 0; i < 2; i++)
        ok(asx_join(p->cx, &tasks[i], NULL), "join");
    region_close(p);
    return best_ns;
}

double call_yield(struct place *p)
{
    return pair(p, yields);
}

double call_trip(struct place *p)
{
    return pair(p, plays);
}
