/* The steps of support_objects.c on a real runtime. */
#define ASX_LAB 1
#include "support_run.h"

#include <string.h>

typedef struct objects {
    asx_condition condition;
    asx_notify notify;
    asx_barrier barrier;
    asx_once once;
    asx_oneshot_sender answer;
    asx_oneshot_receiver ask;
    asx_watch watch;
    asx_broadcast cast;
    asx_broadcast_receiver listener[REF_TASKS + 1]; /* the last is that of all */
    bool listens[REF_TASKS];
    bool answered, asked; /* this end of the oneshot is used up */
    uint64_t version[REF_TASKS];
} objects;

static objects the;

void ref_objects_create(const asx_region *home, const ref_program *p)
{
    int value = 0;
    memset(&the, 0, sizeof the);
    (void)asx_condition_create(home, &(asx_condition_options){ .name = "c" }, &the.condition);
    (void)asx_notify_create(home, &(asx_notify_options){ .name = "n" }, &the.notify);
    (void)asx_barrier_create(home, (uint32_t)p->parties, &(asx_barrier_options){ .name = "b" },
                             &the.barrier);
    (void)asx_once_create(home, &(asx_once_options){ .name = "o" }, &the.once);
    (void)asx_oneshot_create(home, sizeof value, NULL, &the.answer, &the.ask);
    (void)asx_watch_create(home, sizeof value, &value, &(asx_watch_options){ .name = "w" },
                           &the.watch);
    (void)asx_broadcast_create(home, sizeof value, (size_t)p->cast,
                               &(asx_broadcast_options){ .name = "b" }, &the.cast);
    (void)asx_broadcast_subscribe(&the.cast, &the.listener[REF_TASKS]);
    for (int i = 0; i < REF_TASKS; i++)
        the.version[i] = 1;
}

typedef struct body {
    int kind;
    int *cell;
} body;

static asx_status initialize(asx_cx *cx, void *arg)
{
    const body *b = arg;
    asx_status st = ASX_OK;
    if (b->kind == REF_BODY_CHECKS)
        st = asx_checkpoint(cx);
    else if (b->kind == REF_BODY_ADDS || b->kind == REF_BODY_ADDS_AND_FAILS)
        (void)asx_lab_fetch_add(cx, b->cell, 1);
    return b->kind == REF_BODY_FAILS || b->kind == REF_BODY_ADDS_AND_FAILS ? ASX_E_NOT_FOUND : st;
}

static asx_status do_line(asx_cx *cx, int op, asx_mutex_guard *guard)
{
    switch (op) {
    case REF_COND_WAIT:
        return asx_condition_wait(cx, &the.condition, guard);
    case REF_COND_SIGNAL:
        return asx_condition_signal(&the.condition);
    case REF_COND_BROADCAST:
        return asx_condition_broadcast(&the.condition);
    case REF_NOTIFY_WAIT:
        return asx_notify_wait(cx, &the.notify);
    case REF_NOTIFY_ONE:
        return asx_notify_one(&the.notify);
    case REF_NOTIFY_ALL:
        return asx_notify_all(&the.notify);
    default:
        return asx_barrier_wait(cx, &the.barrier, NULL);
    }
}

static asx_status do_oneshot(asx_cx *cx, int op)
{
    int value = 1;
    asx_status st;
    if (op >= REF_ANSWER && op <= REF_ADOPT) {
        if (the.answered)
            return ASX_OK;
        if (op == REF_ADOPT)
            return asx_oneshot_adopt(cx, &the.answer);
        the.answered = true;
        return op == REF_ANSWER ? asx_oneshot_send(&the.answer, &value)
                                : asx_oneshot_sender_drop(&the.answer);
    }
    if (the.asked)
        return ASX_OK;
    st = op == REF_ASK       ? asx_oneshot_recv(cx, &the.ask, &value)
         : op == REF_TRY_ASK ? asx_oneshot_try_recv(cx, &the.ask, &value)
                             : asx_oneshot_receiver_drop(&the.ask);
    the.asked = st == ASX_OK || st == ASX_E_DISCONNECTED;
    return st;
}

static asx_status do_cast(asx_cx *cx, int number, ref_step step)
{
    int value = number;
    size_t receivers;
    asx_broadcast_receiver *listener = &the.listener[step.arg == 0 ? number : REF_TASKS];
    asx_status st;
    switch (step.op) {
    case REF_CAST:
        return asx_broadcast_send(&the.cast, &value, NULL);
    case REF_CAST_COUNT:
        return asx_broadcast_send(&the.cast, &value, &receivers);
    case REF_CAST_RECV:
        return asx_broadcast_recv(cx, listener, &value, NULL);
    case REF_CAST_TRY_RECV:
        return asx_broadcast_try_recv(cx, listener, &value, NULL);
    case REF_CAST_JOIN:
        st = asx_broadcast_subscribe(&the.cast, listener);
        the.listens[number] = st == ASX_OK;
        return st;
    case REF_CAST_LEAVE:
        the.listens[number] = false;
        return asx_broadcast_receiver_drop(listener);
    default:
        return asx_broadcast_close(&the.cast);
    }
}

asx_status ref_objects_operate(asx_cx *cx, int number, ref_step step, asx_mutex_guard *guard,
                               int *cell)
{
    int value = number;
    body b = { step.arg, cell };
    if (step.op <= REF_BARRIER)
        return do_line(cx, step.op, guard);
    if (step.op == REF_ONCE)
        return asx_once_call(cx, &the.once, initialize, &b);
    if (step.op <= REF_ASK_DROP)
        return do_oneshot(cx, step.op);
    switch (step.op) {
    case REF_WATCH_SET:
        return asx_watch_send(&the.watch, &value);
    case REF_WATCH_GET:
        return asx_watch_get(&the.watch, &value, NULL);
    case REF_WATCH_CHANGED:
        return asx_watch_changed(cx, &the.watch, &the.version[number], &value);
    case REF_WATCH_CLOSE:
        return asx_watch_close(&the.watch);
    default:
        return do_cast(cx, number, step);
    }
}

void ref_objects_give_back(int number)
{
    if (the.listens[number])
        (void)asx_broadcast_receiver_drop(&the.listener[number]);
    the.listens[number] = false;
}
