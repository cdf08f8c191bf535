/* A channel of many senders and receivers on model atomics: the steps of mpmc_core.h with the
 * engine held, waiters parked and woken as a shared runtime does it (hot.h), workers rung for
 * (bell.h).
 *
 * Every message whose send was admitted is received once; every other send says that the channel is
 * closed and its message is never seen; nobody sleeps for ever. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__MODEL_LOCKS
#define ASX__BELL_LOOKS 1u
#define ASX__BELL_PAUSE() ((void)0)
#define ASX__BELL_CLOCK_NS() UINT64_MAX
#include "sched/bell.h"
#include "sched/hot.h"
#include "sync/mpmc_core.h"

#include <string.h>

#include "harness.h"

#define THREADS MODEL_THREADS_MAX
#define RING 1

/* Faults: the step is taken apart. */
enum {
    LOOKS_FIRST = 1,     /* closed is looked at before the step, which does not look again */
    WAITS_LATER = 2,     /* found nothing, and becomes a waiter in a second step */
    CLOSE_NO_WAKE = 4,   /* close leaves the receivers */
    CLOSE_DISCARDS = 8,  /* close throws out what was admitted */
};

/* A thread that is the worker of one task. */
typedef struct user {
    asx__task task;          /* first: its node is the waiter */
    asx__bell bell;
    model_data message;      /* sent, or received */
    bool closed;             /* what its waker said */
} user;

static asx__lock engine;
static asx_runtime rt;
static asx__waitable wait;
static const asx__waitable_ops wait_ops = { .kind = 1 };
static asx__mpmc_core core;
static model_data ring[RING];
static user users[THREADS];
static uint64_t capacity;
static unsigned admitted, refused, received, ended_closed;
static unsigned faults;

static void reset(void)
{
    asx__lock_init(&engine);
    memset(&rt, 0, sizeof rt);
    asx__list_init(&rt.ready.queue[0]);
    rt.hot = ASX__HOT;
    wait.ops = &wait_ops;
    asx__mpmc_core_init(&core, capacity);
    for (unsigned i = 0; i < THREADS; i++) {
        user *u = &users[i];
        memset(&u->task, 0, sizeof u->task);
        u->task.exec = ASX__EXEC_RUNNING;
        asx__bell_init(&u->bell, ASX__WORKER_ACTIVE);
        u->closed = false;
        model_write(&u->message, 0);
    }
    model_write(&ring[0], 0);
    admitted = refused = received = ended_closed = 0;
}

static user *self(void)
{
    return &users[model_self()];
}

/* Inside: the waiter has been taken off the list; what asx__wake() does with a fiber. */
static void wake(user *u)
{
    asx__exec_claim(&u->task);
    u->task.w.status = ASX_OK;
    asx__enqueue(&rt, &u->task);
    asx__bell_ring(&u->bell);
}

/* Leaves, and comes back when its task has been taken out of its lane. */
static void sleep_until_run(user *u)
{
    while (!asx__is_queued(&u->task)) {
        uint32_t seen = asx__bell_lie_down(&u->bell, false);
        asx__lock_drop(&engine);
        (void)asx__bell_sleep(&u->bell, seen, ASX__FUTEX_FOREVER);
        asx__lock_take(&engine);
    }
    asx__list_remove(&u->task.node);
    asx__exec_run(&rt, &u->task);
    asx__bell_set(&u->bell, ASX__WORKER_ACTIVE);
}

/* A step of the running task, inside; if it waits, it has parked. */
static asx__mpmc_effect step(user *u, bool sends)
{
    bool open_before = true;
    if (faults & LOOKS_FIRST) {
        open_before = !core.closed;
        asx__lock_drop(&engine);
        asx__lock_take(&engine);
    }
    bool closed = core.closed;
    if ((faults & LOOKS_FIRST) && sends)
        core.closed = !open_before;
    asx__node *node = faults & WAITS_LATER ? NULL : &u->task.node;
    asx__mpmc_effect e =
        sends ? asx__mpmc_core_send(&core, node) : asx__mpmc_core_recv(&core, node);
    core.closed = closed;
    if ((faults & WAITS_LATER) && e.step == ASX__MPMC_WAIT) {
        asx__lock_drop(&engine);
        asx__lock_take(&engine);
        asx__mpmc_core_link(&core, &u->task.node, sends);
    }
    if (e.step == ASX__MPMC_WAIT)
        asx__park_in(&u->task, &wait, NULL);
    return e;
}

/* Leaves after a step, which may have woken somebody; before that the task waits, if it has to. */
static void leave(user *u, asx__mpmc_step what, user *woken)
{
    if (woken != NULL)
        wake(woken);
    if (what == ASX__MPMC_WAIT)
        sleep_until_run(u);
    asx__lock_drop(&engine);
    if (woken != NULL)
        asx__bell_rouse(&woken->bell);
}

static void send(void)
{
    user *u = self();
    model_write(&u->message, 7);
    asx__lock_take(&engine);
    asx__mpmc_effect e = step(u, true);
    user *other = (user *)(void *)e.waiter;
    admitted += e.step <= ASX__MPMC_WAIT;
    refused += e.step == ASX__MPMC_CLOSED;
    if (e.step == ASX__MPMC_RING)
        model_write(&ring[0], model_read(&u->message));
    if (e.step == ASX__MPMC_HAND)
        model_write(&other->message, model_read(&u->message));
    leave(u, e.step, other);
}

/* False: closed. */
static bool recv(void)
{
    user *u = self();
    asx__lock_take(&engine);
    asx__mpmc_effect e = step(u, false);
    user *other = (user *)(void *)e.waiter;
    if (e.step == ASX__MPMC_RING) {
        model_write(&u->message, model_read(&ring[0]));
        model_write(&ring[0], 0);
        if (other != NULL)
            model_write(&ring[0], model_read(&other->message));
    }
    if (e.step == ASX__MPMC_HAND)
        model_write(&u->message, model_read(&other->message));
    leave(u, e.step, other);
    if (e.step == ASX__MPMC_CLOSED || u->closed)
        return false;
    MODEL_ASSERT(model_read(&u->message) == 7);
    model_write(&u->message, 0);
    return true;
}

static void receive_all(void)
{
    while (recv())
        received++;
    ended_closed++;
}

static void close_channel(void)
{
    user *woken[THREADS];
    unsigned n = 0;
    asx__node *node;
    asx__lock_take(&engine);
    asx__mpmc_core_close(&core);
    while ((faults & CLOSE_NO_WAKE) == 0 && (node = asx__mpmc_core_pop(&core, false)) != NULL) {
        woken[n] = (user *)(void *)node;
        woken[n]->closed = true;
        n++;
    }
    if (faults & CLOSE_DISCARDS) {
        core.head = core.tail;
        while ((node = asx__mpmc_core_pop(&core, true)) != NULL)
            woken[n++] = (user *)(void *)node;
    }
    for (unsigned i = 0; i < n; i++)
        wake(woken[i]);
    asx__lock_drop(&engine);
    for (unsigned i = 0; i < n; i++)
        asx__bell_rouse(&woken[i]->bell);
}

static void send_and_close(void)
{
    send();
    close_channel();
}

static void all_received(void)
{
    MODEL_ASSERT(received == admitted);
    MODEL_ASSERT(core.waiting == 0 && core.head == core.tail);
    MODEL_ASSERT(asx__mpmc_core_is_valid(&core));
}

static void unbuffered(void)
{
    capacity = 0;
    reset();
}

static void buffered(void)
{
    capacity = 1;
    reset();
}

#define PROGRAM(...) MODEL_PROGRAM(all_received, __VA_ARGS__)

PROGRAM(rendezvous, unbuffered, 3, send, receive_all, close_channel, NULL, MODEL_ALL, 1);
PROGRAM(ring_of_one, buffered, 3, send, receive_all, close_channel, NULL, MODEL_ALL, 1);
PROGRAM(two_senders, unbuffered, 3, send, receive_all, send_and_close, NULL, 2, 1);
PROGRAM(two_senders_ring, buffered, 4, send, receive_all, send, close_channel, 2, 0);
PROGRAM(two_receivers, unbuffered, 4, send, receive_all, receive_all, close_channel, 2, 0);

ASX_TEST_TIMEOUT(what_was_admitted_is_received_and_nothing_else, 120)
{
    model_holds(&rendezvous);
    model_holds(&ring_of_one);
    model_holds(&two_senders);
    model_holds(&two_senders_ring);
    model_holds(&two_receivers);
}

ASX_TEST_TIMEOUT(a_step_taken_apart_is_found, 120)
{
    faults = LOOKS_FIRST;
    model_breaks(&rendezvous, "closed is looked at before the send is admitted");
    model_breaks(&ring_of_one, "closed is looked at before the send is admitted");
    faults = WAITS_LATER;
    model_breaks(&rendezvous, "waits in a second step");
    faults = CLOSE_NO_WAKE;
    model_breaks(&rendezvous, "close does not wake");
    faults = CLOSE_DISCARDS;
    model_breaks(&ring_of_one, "close discards");
    faults = 0;
}
