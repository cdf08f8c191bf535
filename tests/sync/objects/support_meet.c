/* support_meet.c - steps on conditions, notifies, barriers and onces. */
#include "play.h"

STEP_OP(op_condition_wait)
{
    return asx_condition_wait(cx, &actor->run->condition, &actor->mutex[step->slot]);
}

STEP_OP(op_signal)
{
    (void)cx;
    (void)step;
    return asx_condition_signal(&actor->run->condition);
}

STEP_OP(op_broadcast)
{
    (void)cx;
    (void)step;
    return asx_condition_broadcast(&actor->run->condition);
}

STEP_OP(op_notify_wait)
{
    (void)step;
    return asx_notify_wait(cx, &actor->run->notify);
}

STEP_OP(op_notify_one)
{
    (void)cx;
    (void)step;
    return asx_notify_one(&actor->run->notify);
}

STEP_OP(op_notify_all)
{
    (void)cx;
    (void)step;
    return asx_notify_all(&actor->run->notify);
}

STEP_OP(op_barrier)
{
    bool leader = step->n == 0;
    asx_status st = asx_barrier_wait(cx, &actor->run->barrier, &leader);
    CHECK_EQ(leader, st == ASX_OK && step->n != 0);
    return st;
}

struct initializer {
    struct play_run *run;
    uint64_t ms;
};

static asx_status initialize(asx_cx *cx, void *arg)
{
    struct initializer *i = arg;
    asx_status st = i->ms != 0 ? asx_sleep(cx, i->ms * ASX_MS) : ASX_OK;
    if (st < 0)
        return st;
    i->run->count++;
    return i->run->initializer;
}

STEP_OP(op_once)
{
    struct initializer i = { actor->run, step->n };
    return asx_once_call(cx, &actor->run->once, initialize, &i);
}

STEP_OP(op_initializer)
{
    (void)cx;
    actor->run->initializer = (asx_status)-(int)step->n;
    return ASX_OK;
}

STEP_OP(op_once_done)
{
    bool done = step->n == 0;
    (void)cx;
    asx_status st = asx_once_is_done(&actor->run->once, &done);
    CHECK_EQ(done, st == ASX_OK && step->n != 0);
    return st;
}
