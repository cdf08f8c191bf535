/* support_shapes.c - steps on oneshots, broadcasts and watches. */
#include "play.h"

#define NOTHING UINT64_MAX

/* An output is what it should be, and untouched on failure. */
static asx_status gave(asx_status st, uint64_t got, uint64_t want)
{
    CHECK_EQ(got, st == ASX_OK ? want : NOTHING);
    return st;
}

STEP_OP(op_oneshot_send)
{
    (void)cx;
    return asx_oneshot_send(&actor->run->oneshot_tx, &step->n);
}

STEP_OP(op_oneshot_adopt)
{
    (void)step;
    return asx_oneshot_adopt(cx, &actor->run->oneshot_tx);
}

STEP_OP(op_oneshot_drop_tx)
{
    (void)cx;
    (void)step;
    return asx_oneshot_sender_drop(&actor->run->oneshot_tx);
}

STEP_OP(op_oneshot_recv)
{
    uint64_t got = NOTHING;
    asx_status st = asx_oneshot_recv(cx, &actor->run->oneshot_rx, &got);
    return gave(st, got, step->n);
}

STEP_OP(op_oneshot_try_recv)
{
    uint64_t got = NOTHING;
    (void)cx;
    asx_status st = asx_oneshot_try_recv(cx, &actor->run->oneshot_rx, &got);
    return gave(st, got, step->n);
}

STEP_OP(op_oneshot_drop_rx)
{
    (void)cx;
    (void)step;
    return asx_oneshot_receiver_drop(&actor->run->oneshot_rx);
}

STEP_OP(op_subscribe)
{
    (void)cx;
    (void)step;
    return asx_broadcast_subscribe(&actor->run->broadcast, &actor->receiver);
}

STEP_OP(op_broadcast_send)
{
    size_t receivers = 77;
    (void)cx;
    asx_status st = asx_broadcast_send(&actor->run->broadcast, &step->n, &receivers);
    CHECK_EQ(receivers, st == ASX_OK ? step->slot : 0);
    return st;
}

/* A message, or how many were missed. */
static asx_status heard(asx_status st, uint64_t got, uint64_t missed, uint64_t want)
{
    CHECK_EQ(missed, st == ASX_E_LAGGED ? want : 0);
    return gave(st, got, want);
}

STEP_OP(op_broadcast_recv)
{
    uint64_t got = NOTHING, missed = NOTHING;
    asx_status st = asx_broadcast_recv(cx, &actor->receiver, &got, &missed);
    return heard(st, got, missed, step->n);
}

STEP_OP(op_broadcast_try_recv)
{
    uint64_t got = NOTHING, missed = NOTHING;
    (void)cx;
    asx_status st = asx_broadcast_try_recv(cx, &actor->receiver, &got, &missed);
    return heard(st, got, missed, step->n);
}

STEP_OP(op_broadcast_drop)
{
    (void)cx;
    (void)step;
    return asx_broadcast_receiver_drop(&actor->receiver);
}

STEP_OP(op_broadcast_close)
{
    (void)cx;
    (void)step;
    return asx_broadcast_close(&actor->run->broadcast);
}

STEP_OP(op_watch_send)
{
    (void)cx;
    return asx_watch_send(&actor->run->watch, &step->n);
}

STEP_OP(op_watch_get)
{
    uint64_t got = NOTHING;
    (void)cx;
    asx_status st = asx_watch_get(&actor->run->watch, &got, &actor->seen);
    return gave(st, got, step->n);
}

STEP_OP(op_watch_changed)
{
    uint64_t got = NOTHING, before = actor->seen;
    asx_status st = asx_watch_changed(cx, &actor->run->watch, &actor->seen, &got);
    CHECK_EQ(st == ASX_OK, actor->seen != before);
    return gave(st, got, step->n);
}

STEP_OP(op_watch_close)
{
    (void)cx;
    (void)step;
    return asx_watch_close(&actor->run->watch);
}
