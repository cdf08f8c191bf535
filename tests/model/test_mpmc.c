/* A channel of many senders and receivers on model atomics: the steps of mpmc_core.h under a lock,
 * waiters parked and woken by their wake words.
 *
 * Every message whose send was admitted is received once; every other send says that the channel is
 * closed and its message is never seen; nobody sleeps for ever. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__MODEL_LOCKS
#include "sched/wakeword.h"
#include "sync/mpmc_core.h"

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

typedef struct user {
    asx__node node;          /* first */
    asx__wakeword word;
    asx__atomic_u32 queue;   /* 1: in the run queue */
    uint64_t ticket;         /* under the lock */
    model_data message;      /* sent, or received */
    bool closed;             /* what its waker said */
} user;

static asx__lock lock;
static asx__mpmc_core core;
static model_data ring[RING];
static user users[THREADS];
static uint64_t capacity;
static unsigned admitted, refused, received, ended_closed;
static unsigned faults;

static void reset(void)
{
    asx__lock_init(&lock);
    asx__mpmc_core_init(&core, capacity);
    for (unsigned i = 0; i < THREADS; i++) {
        user *u = &users[i];
        asx__wakeword_init(&u->word);
        asx__wakeword_spawn(&u->word);
        asx__wakeword_run(&u->word);
        asx__atomic_init(&u->queue, 0u);
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

static void enqueue(user *u)
{
    asx__wakeword_ready(&u->word);
    MODEL_ASSERT(asx__exchange_release(&u->queue, 1u) == 0);
    asx__futex_wake(&u->queue, 1);
}

/* The waiter has been taken off the list, under the lock, and its ticket read there. */
static void wake(user *u, uint64_t ticket)
{
    if (asx__wakeword_wake(&u->word, ticket))
        enqueue(u);
}

/* The running user has become a waiter. */
static void park(user *u, uint64_t ticket)
{
    if (asx__wakeword_park_commit(&u->word, ticket))
        enqueue(u);
    while (asx__load_acquire(&u->queue) == 0)
        (void)asx__futex_wait(&u->queue, 0, ASX__FUTEX_FOREVER);
    asx__store_relaxed(&u->queue, 0u);
    asx__wakeword_run(&u->word);
}

/* A step of the running user, under the lock; it begins to park before it can be found. */
static asx__mpmc_effect step(user *u, bool sends)
{
    bool open_before = true;
    if (faults & LOOKS_FIRST) {
        asx__lock_take(&lock);
        open_before = !core.closed;
        asx__lock_drop(&lock);
    }
    asx__lock_take(&lock);
    bool closed = core.closed;
    if ((faults & LOOKS_FIRST) && sends)
        core.closed = !open_before;
    u->ticket = asx__wakeword_park_begin(&u->word);
    asx__node *node = faults & WAITS_LATER ? NULL : &u->node;
    asx__mpmc_effect e =
        sends ? asx__mpmc_core_send(&core, node) : asx__mpmc_core_recv(&core, node);
    if (e.step != ASX__MPMC_WAIT)
        asx__wakeword_park_abort(&u->word);
    core.closed = closed;
    if ((faults & WAITS_LATER) && e.step == ASX__MPMC_WAIT) {
        asx__lock_drop(&lock);
        asx__lock_take(&lock);
        asx__mpmc_core_link(&core, &u->node, sends);
    }
    return e;
}

static void send(void)
{
    user *u = self();
    model_write(&u->message, 7);
    asx__mpmc_effect e = step(u, true);
    user *other = (user *)(void *)e.waiter;
    uint64_t ticket = other != NULL ? other->ticket : 0;
    uint64_t own = u->ticket;
    admitted += e.step <= ASX__MPMC_WAIT;
    refused += e.step == ASX__MPMC_CLOSED;
    if (e.step == ASX__MPMC_RING)
        model_write(&ring[0], model_read(&u->message));
    if (e.step == ASX__MPMC_HAND)
        model_write(&other->message, model_read(&u->message));
    asx__lock_drop(&lock);
    if (other != NULL)
        wake(other, ticket);
    if (e.step == ASX__MPMC_WAIT)
        park(u, own);
}

/* False: closed. */
static bool recv(void)
{
    user *u = self();
    asx__mpmc_effect e = step(u, false);
    user *other = (user *)(void *)e.waiter;
    uint64_t ticket = other != NULL ? other->ticket : 0;
    uint64_t own = u->ticket;
    if (e.step == ASX__MPMC_RING) {
        model_write(&u->message, model_read(&ring[0]));
        model_write(&ring[0], 0);
        if (other != NULL)
            model_write(&ring[0], model_read(&other->message));
    }
    if (e.step == ASX__MPMC_HAND)
        model_write(&u->message, model_read(&other->message));
    asx__lock_drop(&lock);
    if (other != NULL)
        wake(other, ticket);
    if (e.step == ASX__MPMC_WAIT)
        park(u, own);
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
    uint64_t tickets[THREADS];
    unsigned n = 0;
    asx__node *node;
    asx__lock_take(&lock);
    asx__mpmc_core_close(&core);
    while ((faults & CLOSE_NO_WAKE) == 0 && (node = asx__mpmc_core_pop(&core, false)) != NULL) {
        woken[n] = (user *)(void *)node;
        woken[n]->closed = true;
        tickets[n] = woken[n]->ticket;
        n++;
    }
    if (faults & CLOSE_DISCARDS) {
        core.head = core.tail;
        while ((node = asx__mpmc_core_pop(&core, true)) != NULL) {
            woken[n] = (user *)(void *)node;
            tickets[n] = woken[n]->ticket;
            n++;
        }
    }
    asx__lock_drop(&lock);
    for (unsigned i = 0; i < n; i++)
        wake(woken[i], tickets[i]);
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

#define PROGRAM(name_, setup_, n_, a_, b_, c_, d_, preemptions_, delays_)                          \
    static const model_program name_ = {                                                           \
        .name = #name_, .threads = n_, .setup = setup_, .thread = { a_, b_, c_, d_ },              \
        .check = all_received, .preemptions = preemptions_, .delays = delays_,                     \
    }

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
