/* stress.c - everything at once, at random, on several workers, until the time is over.
 *
 *     stress [--seconds N] [--seed N] [--workers N]
 *
 * A round builds a tree of regions and tasks, fibers and poll tasks, that spawn, join, cancel each
 * other, close, time out, race, send, reserve, abort, evict, hang up, lock, sleep, block a thread,
 * fail and panic, some of them pinned, and takes it down again, while a thread that is no worker
 * cancels and asks. What must hold whatever happens is counted while it happens and compared when
 * it is over:
 *
 *     who began has ended, and what it registered for its end ran exactly once
 *     a region that is closed has nobody left in it, and ran each of its finalizers once
 *     every message that was sent was received or dropped, once; those of a channel of many also
 *     if it was closed while others sent
 *     a lock let one in at a time, a semaphore no more than it has permits, and no reader saw half
 *     of what a writer wrote
 *     who is pinned has stayed on its thread
 *     no sleep was too short
 *     the runtime rests: no task, region, timer or obligation is left
 *
 * The seed decides what everyone tries; what comes of it is up to the threads. Prints at the end
 * how often what has happened; anything wrong is printed and ends the process with status 1, and so
 * does a run of many rounds in which something did not happen at all.
 */
#include <asx/asx.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"

#define CHANNELS 3
#define VICTIMS 32
#define DEPTH_MAX 4
#define PERMITS 3
#define FORGOTTEN ((asx_status)1)
#define ROUNDS_MANY 300 /* in which everything should have happened */

/* What happens, and is counted. */
#define EVENT_LIST(X)                                                                              \
    X(SPAWN, "spawn") X(SCOPE, "scope") X(LATE_SCOPE, "scope-timeout") X(JOIN, "join")             \
    X(CANCEL, "cancel") X(CANCELLED, "cancelled") X(SEND, "send") X(PERMIT, "permit")              \
    X(HUNG_UP, "hung-up") X(MPMC_SEND, "mpmc-send") X(MPMC_CLOSE, "mpmc-close")                    \
    X(MPMC_CLOSED, "mpmc-closed") X(LOCK, "lock") X(POISONED, "poisoned") X(READ, "read")          \
    X(WRITE, "write") X(SEMAPHORE, "semaphore") X(BLOCKING, "blocking") X(RACE, "race")            \
    X(TIMEOUT, "timeout") X(PANIC, "panic") X(PINNED, "pinned") X(POLL, "poll")
enum event {
#define X(name, text) DID_##name,
    EVENT_LIST(X)
#undef X
    EVENTS
};
static const char *const event_names[] = {
#define X(name, text) text,
    EVENT_LIST(X)
#undef X
};
static atomic_uint_fast64_t events[EVENTS];

static void did(enum event event)
{
    atomic_fetch_add_explicit(&events[event], 1, memory_order_relaxed);
}

static const char *where = "start";

static void complain(const char *what, const char *file_line)
{
    fprintf(stderr, "stress: %s: %s (round of %s)\n", file_line, what, where);
    exit(1);
}
#define MUST(expr) ((expr) ? (void)0 : complain(#expr, ASX_SITE))

static void must_be_ok(asx_status st, const char *call, const char *file_line)
{
    if (st != ASX_OK) {
        fprintf(stderr, "stress: %s\n", asx_status_str(st));
        complain(call, file_line);
    }
}
#define OK(call) must_be_ok((call), #call, ASX_SITE)

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * ASX_SEC + (uint64_t)ts.tv_nsec;
}

/* Not pthread_self(): a compiler may take it for a constant of the function. */
static long thread_id(void)
{
    return syscall(SYS_gettid);
}

struct channel {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    atomic_uint_fast64_t sent, received, dropped;
};

struct world {
    asx__rng rng;
    struct channel channels[CHANNELS];
    asx_mpmc_sender many_tx;
    asx_mpmc_receiver many_rx;
    atomic_uint_fast64_t many_sent, many_received, many_dropped;
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    uint64_t pair[2];                 /* by the rwlock: equal but while somebody writes */
    atomic_bool over;                 /* for the visitor */
    uint64_t guarded;                 /* by the mutex */
    atomic_int inside;                /* of the semaphore */
    atomic_uint_fast64_t begun, ended, finalizers, finalized, ops, streams;
    pthread_mutex_t lock;             /* victims: not of asx, and never held across a wait */
    asx_task victims[VICTIMS];
};

struct actor {
    struct world *world;
    uint64_t stream;
    atomic_uint_fast64_t *scope;      /* who is alive in its region; may be NULL */
    uint32_t depth;
    uint32_t step;                    /* poll tasks */
    bool pinned;
};

/* What a task or a finalizer carries to its end. In region memory or a frame that outlives it. */
struct life {
    struct world *world;
    atomic_uint_fast64_t *scope;
    atomic_uint runs;
};

static uint64_t below(asx__rng *rng, uint64_t n)
{
    return asx__rng_below(rng, n);
}

static asx_status actor(asx_cx *cx, void *arg);
static asx_poll poll_actor(asx_cx *cx, void *arg);

/* ---- ends ----------------------------------------------------------------------------------- */

static asx_status on_end(asx_cx *cx, void *arg)
{
    struct life *life = arg;
    (void)cx;
    MUST(atomic_fetch_add(&life->runs, 1) == 0);
    if (life->scope != NULL)
        MUST(atomic_fetch_sub(life->scope, 1) > 0);
    atomic_fetch_add(&life->world->ended, 1);
    return ASX_OK;
}

/* The first thing a task does: it will be counted out, however it ends. The record is in region
 * memory, since the task's own frames are gone by then. */
static void count_in(asx_cx *cx, const struct actor *self)
{
    asx_region mine;
    void *memory;
    OK(asx_cx_region(cx, &mine));
    OK(asx_region_alloc(&mine, sizeof(struct life), &memory));
    struct life *life = memory;
    *life = (struct life){ .world = self->world, .scope = self->scope };
    OK(asx_task_defer(cx, on_end, life));
}

static asx_status on_final(asx_cx *cx, void *arg)
{
    struct life *life = arg;
    (void)cx;
    MUST(atomic_fetch_add(&life->runs, 1) == 0);
    MUST(life->scope == NULL || atomic_load(life->scope) == 0); /* after every child */
    atomic_fetch_add(&life->world->finalized, 1);
    return ASX_OK;
}

static void on_many_drop(void *ctx, void *message)
{
    struct world *w = ctx;
    (void)message;
    atomic_fetch_add(&w->many_dropped, 1);
}

static void on_drop(void *ctx, void *message)
{
    struct channel *channel = ctx;
    (void)message;
    atomic_fetch_add(&channel->dropped, 1);
}

/* ---- what a fiber does ---------------------------------------------------------------------- */

static asx_status do_sleep(asx_cx *cx, asx__rng *rng)
{
    uint64_t ns = below(rng, 300) * ASX_US;
    uint64_t start = now_ns();
    asx_status st = asx_sleep(cx, ns);
    MUST(st != ASX_OK || now_ns() - start >= ns);
    return st;
}

static void start(struct world *w, const asx_region *region, asx__rng *rng, uint32_t depth,
                  atomic_uint_fast64_t *scope, asx_task *ret_task)
{
    struct actor child = { .world = w, .stream = atomic_fetch_add(&w->streams, 1), .scope = scope,
                           .depth = depth + 1 };
    asx_spawn_options options = { .name = "actor", .copy = &child, .copy_size = sizeof child };
    asx_task task;
    asx_status st;
    bool polls = below(rng, 4) == 0;
    child.pinned = !polls && below(rng, 8) == 0;
    options.flags = child.pinned ? ASX_PINNED : 0;
    if (scope != NULL)
        atomic_fetch_add(scope, 1);
    atomic_fetch_add(&w->begun, 1);
    if (polls)
        st = asx_spawn_poll_task(region, poll_actor, NULL, &options, &task);
    else
        st = asx_spawn_task(region, actor, NULL, &options, &task);
    if (st < 0) { /* the region closes already */
        MUST(st == ASX_E_REGION_NOT_OPEN || st == ASX_E_ADMISSION_CLOSED ||
             st == ASX_E_REGION_CLOSED);
        atomic_fetch_sub(&w->begun, 1);
        if (scope != NULL)
            atomic_fetch_sub(scope, 1);
        return;
    }
    did(polls ? DID_POLL : child.pinned ? DID_PINNED : DID_SPAWN);
    pthread_mutex_lock(&w->lock);
    w->victims[below(rng, VICTIMS)] = task;
    pthread_mutex_unlock(&w->lock);
    if (ret_task != NULL)
        *ret_task = task;
}

/* A child in the caller's own region, perhaps joined. */
static asx_status do_spawn(asx_cx *cx, struct actor *self, asx__rng *rng)
{
    asx_region mine;
    asx_task task = { 0 };
    OK(asx_cx_region(cx, &mine));
    if (self->scope == NULL) /* what belongs to nobody is counted all the same */
        return ASX_OK;
    start(self->world, &mine, rng, self->depth, self->scope, &task);
    if (below(rng, 2) == 0 || task.id.generation == 0)
        return ASX_OK;
    asx_status st = asx_join(cx, &task, NULL);
    MUST(st == ASX_OK || st == ASX_E_CANCELLED || st == ASX_E_STALE_HANDLE || st == ASX_E_BUSY);
    if (st == ASX_OK)
        did(DID_JOIN);
    return st == ASX_E_CANCELLED ? st : ASX_OK;
}

static asx_status do_scope(asx_cx *cx, struct actor *self, asx__rng *rng)
{
    static const asx_policy policies[] = { ASX_POLICY_FAIL_FAST, ASX_POLICY_COLLECT };
    atomic_uint_fast64_t alive = 0;
    struct life finals[2] = { { .world = self->world, .scope = &alive },
                              { .world = self->world, .scope = &alive } };
    asx_region r;
    asx_region_options options = { .name = "scope", .policy = policies[below(rng, 2)] };
    if (below(rng, 3) == 0)
        options.timeout_ns = (1 + below(rng, 1000)) * ASX_US;
    asx_status st = asx_region_open(cx, &options, &r);
    if (st < 0)
        return st;
    for (int i = 0; i < 2; i++) {
        if (asx_defer(&r, on_final, &finals[i]) == ASX_OK)
            atomic_fetch_add(&self->world->finalizers, 1);
        else
            atomic_store(&finals[i].runs, 1);
    }
    for (uint64_t n = 1 + below(rng, 4); n > 0; n--)
        start(self->world, &r, rng, self->depth, &alive, NULL);
    if (below(rng, 3) == 0)
        (void)do_sleep(cx, rng);
    if (below(rng, 6) == 0)
        (void)asx_region_cancel(&r, NULL);
    st = asx_region_close(&r, below(rng, 3) == 0 ? ASX_E_CANCELLED : ASX_OK);
    MUST(st != ASX_E_STALE_HANDLE && st != ASX_E_NOT_OWNER && st != ASX_E_INVALID_ARGUMENT);
    did(st == ASX_E_TIMEOUT ? DID_LATE_SCOPE : DID_SCOPE);
    MUST(atomic_load(&alive) == 0);
    MUST(atomic_load(&finals[0].runs) == 1 && atomic_load(&finals[1].runs) == 1);
    return asx_is_cancelled(cx) ? ASX_E_CANCELLED : ASX_OK;
}

static struct channel *some_channel(struct world *w, asx__rng *rng)
{
    return &w->channels[below(rng, CHANNELS)];
}

static asx_status do_send(asx_cx *cx, struct world *w, asx__rng *rng)
{
    struct channel *c = some_channel(w, rng);
    uint64_t message = asx__rng_next(rng);
    bool evicted;
    asx_status st;
    if (below(rng, 5) == 0)
        st = asx_channel_send_evict_oldest(cx, &c->tx, &message, NULL, &evicted);
    else
        st = asx_channel_send(cx, &c->tx, &message);
    if (st == ASX_OK)
        atomic_fetch_add(&c->sent, 1);
    if (st == ASX_OK || st == ASX_E_DISCONNECTED)
        did(st == ASX_OK ? DID_SEND : DID_HUNG_UP);
    MUST(st == ASX_OK || st == ASX_E_CANCELLED || st == ASX_E_DISCONNECTED || st == ASX_E_FULL);
    return st == ASX_E_CANCELLED ? st : ASX_OK;
}

/* In two phases, with time between them. One in eight forgets the second, and had better end then:
 * it might be the one who waits for its own place. */
static asx_status do_reserve(asx_cx *cx, struct world *w, asx__rng *rng)
{
    struct channel *c = some_channel(w, rng);
    asx_send_permit permit;
    asx_status st = asx_channel_reserve(cx, &c->tx, &permit);
    if (st < 0) {
        MUST(st == ASX_E_CANCELLED || st == ASX_E_DISCONNECTED);
        return st == ASX_E_CANCELLED ? st : ASX_OK;
    }
    uint64_t message = asx__rng_next(rng), choice = below(rng, 8);
    if (below(rng, 2) == 0)
        (void)asx_yield(cx);
    if (choice == 0)
        return FORGOTTEN;
    st = choice < 3 ? asx_send_permit_abort(&permit) : asx_send_permit_send(&permit, &message);
    if (st == ASX_OK && choice >= 3)
        atomic_fetch_add(&c->sent, 1);
    did(DID_PERMIT);
    MUST(st == ASX_OK || st == ASX_E_DISCONNECTED);
    MUST(asx_send_permit_abort(&permit) < 0); /* it has been used up */
    return ASX_OK;
}

/* Who sends either hands its message over, now or later, or is told; one in forty closes. */
static asx_status do_many(asx_cx *cx, struct world *w, asx__rng *rng)
{
    uint64_t message = asx__rng_next(rng);
    if (below(rng, 40) == 0) {
        asx_status closed = asx_mpmc_close(&w->many_tx);
        MUST(closed == ASX_OK || closed == ASX_E_CLOSED);
        did(DID_MPMC_CLOSE);
        return ASX_OK;
    }
    asx_status st = asx_mpmc_send(cx, &w->many_tx, &message);
    if (st == ASX_OK)
        atomic_fetch_add(&w->many_sent, 1);
    MUST(st == ASX_OK || st == ASX_E_CANCELLED || st == ASX_E_CLOSED);
    if (st != ASX_E_CANCELLED)
        did(st == ASX_OK ? DID_MPMC_SEND : DID_MPMC_CLOSED);
    return st == ASX_E_CANCELLED ? st : ASX_OK;
}

static asx_status do_rwlock(asx_cx *cx, struct world *w, asx__rng *rng)
{
    asx_rwlock_guard guard;
    bool writes = below(rng, 3) == 0;
    asx_status st = writes ? asx_rwlock_write(cx, &w->rwlock, &guard)
                           : asx_rwlock_read(cx, &w->rwlock, &guard);
    if (st == ASX_E_POISONED) {
        writes = true;
        st = asx_rwlock_recover(cx, &w->rwlock, &guard);
        if (st == ASX_OK)
            w->pair[1] = w->pair[0];
    }
    if (st < 0) {
        MUST(st == ASX_E_CANCELLED);
        return st;
    }
    MUST(w->pair[0] == w->pair[1]);
    if (writes)
        w->pair[0]++;
    if (below(rng, 4) == 0)
        (void)asx_yield(cx);
    if (writes)
        w->pair[1]++;
    MUST(w->pair[0] == w->pair[1]);
    OK(asx_rwlock_unlock(&guard));
    did(writes ? DID_WRITE : DID_READ);
    return ASX_OK;
}

static asx_status do_lock(asx_cx *cx, struct world *w, asx__rng *rng)
{
    asx_mutex_guard guard;
    asx_status st = asx_mutex_lock(cx, &w->mutex, &guard);
    if (st == ASX_E_POISONED) {
        st = asx_mutex_recover(cx, &w->mutex, &guard);
        did(DID_POISONED);
    }
    if (st < 0) {
        MUST(st == ASX_E_CANCELLED);
        return st;
    }
    uint64_t before = w->guarded;
    w->guarded = before + 1;
    if (below(rng, 4) == 0)
        (void)asx_yield(cx);
    MUST(w->guarded == before + 1);
    OK(asx_mutex_unlock(&guard));
    did(DID_LOCK);
    return ASX_OK;
}

static asx_status do_semaphore(asx_cx *cx, struct world *w, asx__rng *rng)
{
    asx_semaphore_permit permit;
    asx_status st = asx_semaphore_acquire(cx, &w->semaphore, 1, &permit);
    if (st < 0) {
        MUST(st == ASX_E_CANCELLED);
        return st;
    }
    MUST(atomic_fetch_add(&w->inside, 1) < PERMITS);
    if (below(rng, 3) == 0)
        (void)do_sleep(cx, rng);
    MUST(atomic_fetch_sub(&w->inside, 1) > 0);
    OK(asx_semaphore_release(&permit));
    did(DID_SEMAPHORE);
    return ASX_OK;
}

static asx_status nap(void *arg)
{
    struct timespec ts = { 0, (long)(uintptr_t)arg };
    nanosleep(&ts, NULL);
    did(DID_BLOCKING);
    return ASX_OK;
}

static asx_status sleeper(asx_cx *cx, void *arg)
{
    return asx_sleep(cx, (uint64_t)(uintptr_t)arg);
}

static asx_status do_race(asx_cx *cx, asx__rng *rng)
{
    asx_branch branches[3];
    size_t winner = 99;
    for (int i = 0; i < 3; i++)
        branches[i] = (asx_branch){ "branch", sleeper, (void *)(uintptr_t)(below(rng, 300000)) };
    asx_status st = asx_race_all(cx, branches, 3, NULL, &winner, NULL);
    MUST(st == ASX_E_CANCELLED || (st == ASX_OK && winner < 3));
    if (st == ASX_OK)
        did(DID_RACE);
    return st;
}

static asx_status do_timeout(asx_cx *cx, asx__rng *rng)
{
    uint64_t limit = (1 + below(rng, 300)) * ASX_US;
    asx_branch branch = { "timeout", sleeper, (void *)(uintptr_t)(below(rng, 600000)) };
    asx_status st = asx_timeout(cx, &branch, limit, NULL, NULL);
    MUST(st == ASX_OK || st == ASX_E_TIMEOUT || st == ASX_E_CANCELLED);
    if (st == ASX_E_TIMEOUT)
        did(DID_TIMEOUT);
    return st == ASX_E_TIMEOUT ? ASX_OK : st;
}

static void do_cancel(struct world *w, asx__rng *rng)
{
    pthread_mutex_lock(&w->lock);
    asx_task victim = w->victims[below(rng, VICTIMS)];
    pthread_mutex_unlock(&w->lock);
    if (victim.id.generation == 0)
        return;
    asx_status st = asx_task_cancel(&victim, NULL);
    MUST(st == ASX_OK || st == ASX_E_STALE_HANDLE);
    if (st == ASX_OK)
        did(DID_CANCEL);
}

static asx_status masked(asx_cx *cx, void *arg)
{
    OK(asx_checkpoint(cx));
    (void)do_sleep(cx, arg);
    return ASX_OK;
}

static asx_status one_step(asx_cx *cx, struct actor *self, asx__rng *rng)
{
    struct world *w = self->world;
    atomic_fetch_add(&w->ops, 1);
    switch (below(rng, 28)) {
    case 0: case 1:
        return asx_yield(cx);
    case 2: case 3:
        return do_sleep(cx, rng);
    case 4: case 5:
        return self->depth < DEPTH_MAX ? do_scope(cx, self, rng) : ASX_OK;
    case 6:
        return self->depth < DEPTH_MAX ? do_spawn(cx, self, rng) : ASX_OK;
    case 7: case 8: case 9: case 10:
        return do_send(cx, w, rng);
    case 11: case 12: case 13:
        return do_reserve(cx, w, rng);
    case 14: case 15:
        return do_lock(cx, w, rng);
    case 16:
        return do_semaphore(cx, w, rng);
    case 17:
        return below(rng, 8) == 0 ? asx_blocking(cx, nap, (void *)(uintptr_t)50000) : ASX_OK;
    case 18:
        return do_race(cx, rng);
    case 19:
        return do_timeout(cx, rng);
    case 20:
        do_cancel(w, rng);
        return ASX_OK;
    case 24: case 25:
        return do_many(cx, w, rng);
    case 26:
        return do_rwlock(cx, w, rng);
    case 21:
        return asx_commit_section(cx, 100, masked, rng);
    default:
        return asx_checkpoint(cx);
    }
}

static asx_status actor(asx_cx *cx, void *arg)
{
    struct actor *self = arg;
    asx__rng rng = asx__rng_fork(&self->world->rng, self->stream);
    long home = thread_id();
    count_in(cx, self);
    asx_status st = ASX_OK;
    for (uint64_t n = below(&rng, 12); n > 0 && st == ASX_OK; n--) {
        st = one_step(cx, self, &rng);
        MUST(!self->pinned || thread_id() == home);
    }
    if (st == ASX_E_CANCELLED)
        did(DID_CANCELLED);
    if (st != ASX_OK)
        return st;
    uint64_t end = below(&rng, 200);
    if (end == 0) {
        asx_mutex_guard guard; /* whoever comes next finds it poisoned */
        did(DID_PANIC);
        ASX_IGNORE(asx_mutex_try_lock(cx, &self->world->mutex, &guard));
        asx_panic(cx, "stress");
    }
    return end < 4 ? ASX_E_NOT_SUPPORTED : ASX_OK;
}

/* ---- what a poll task does ------------------------------------------------------------------ */

static asx_status poll_step(asx_cx *cx, struct actor *self)
{
    struct channel *c = &self->world->channels[self->stream % CHANNELS];
    asx_status st;
    switch (self->step % 4) {
    case 0:
        return asx_yield(cx);
    case 1:
        return asx_sleep(cx, self->stream % 200 * ASX_US);
    case 2:
        st = asx_channel_send(cx, &c->tx, &self->stream);
        if (st == ASX_OK)
            atomic_fetch_add(&c->sent, 1);
        return st == ASX_E_DISCONNECTED ? ASX_OK : st;
    default:
        return asx_checkpoint(cx);
    }
}

static asx_poll poll_actor(asx_cx *cx, void *arg)
{
    struct actor *self = arg;
    if (self->step == 0) {
        count_in(cx, self);
        self->step = 1;
    }
    for (; self->step < 6 + self->stream % 5; self->step++) {
        asx_status st = poll_step(cx, self);
        if (st == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        if (st < 0)
            return asx_poll_fail(cx, st);
    }
    return ASX_POLL_READY;
}

/* ---- a round -------------------------------------------------------------------------------- */

struct consumer {
    struct channel *channel;
    uint64_t most; /* hangs up after so many */
};

static asx_status consume(asx_cx *cx, void *arg)
{
    const struct consumer *c = arg;
    uint64_t message;
    for (uint64_t n = 0; n < c->most; n++) {
        asx_status st;
        if (n % 7 == 3) {
            asx_ack ack;
            st = asx_channel_recv_with_ack(cx, &c->channel->rx, &message, &ack);
            if (st == ASX_OK)
                OK(asx_ack_commit(&ack));
        } else {
            st = asx_channel_recv(cx, &c->channel->rx, &message);
        }
        if (st < 0) {
            MUST(st == ASX_E_DISCONNECTED || st == ASX_E_CANCELLED);
            break;
        }
        atomic_fetch_add(&c->channel->received, 1);
    }
    OK(asx_channel_receiver_drop(&c->channel->rx));
    return ASX_OK;
}

/* Until it is closed and nothing is left, sends that wait included. */
static asx_status consume_many(asx_cx *cx, void *arg)
{
    struct world *w = arg;
    uint64_t message;
    asx_status st;
    while ((st = asx_mpmc_recv(cx, &w->many_rx, &message)) == ASX_OK)
        atomic_fetch_add(&w->many_received, 1);
    MUST(st == ASX_E_CLOSED);
    return ASX_OK;
}

/* A thread that is no worker. */
static void *visit(void *arg)
{
    struct world *w = arg;
    asx__rng rng = asx__rng_fork(&w->rng, UINT64_MAX);
    while (!atomic_load(&w->over)) {
        struct timespec pause = { 0, 300000 };
        do_cancel(w, &rng);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void make_channels(struct world *w, const asx_region *region)
{
    asx_channel_options many = { .drop = on_many_drop, .drop_ctx = w };
    OK(asx_mpmc_create(region, sizeof(uint64_t), (size_t)below(&w->rng, 3), &many, &w->many_tx,
                       &w->many_rx));
    for (int i = 0; i < CHANNELS; i++) {
        struct channel *c = &w->channels[i];
        asx_channel_options options = { .drop = on_drop, .drop_ctx = c };
        OK(asx_channel_create(region, sizeof(uint64_t), 1 + (size_t)below(&w->rng, 6), &options,
                              &c->tx, &c->rx));
    }
}

static void check_round(struct world *w)
{
    MUST(atomic_load(&w->begun) == atomic_load(&w->ended));
    MUST(atomic_load(&w->finalizers) == atomic_load(&w->finalized));
    MUST(atomic_load(&w->inside) == 0);
    MUST(w->pair[0] == w->pair[1]);
    MUST(atomic_load(&w->many_sent) ==
         atomic_load(&w->many_received) + atomic_load(&w->many_dropped));
    for (int i = 0; i < CHANNELS; i++) {
        struct channel *c = &w->channels[i];
        MUST(atomic_load(&c->sent) == atomic_load(&c->received) + atomic_load(&c->dropped));
    }
}

static asx_status play(asx_cx *cx, void *arg)
{
    struct world *w = arg;
    asx_region channels, consumers, actors;
    struct consumer c[CHANNELS];
    atomic_uint_fast64_t alive = 0;
    asx_region_options collect = { .name = "round", .policy = ASX_POLICY_COLLECT };
    OK(asx_region_open(cx, NULL, &channels));
    make_channels(w, &channels);
    OK(asx_mutex_create(&channels, &(asx_mutex_options){ .name = "mutex" }, &w->mutex));
    OK(asx_rwlock_create(&channels, &(asx_rwlock_options){ .name = "rwlock" }, &w->rwlock));
    OK(asx_semaphore_create(&channels, PERMITS, &(asx_semaphore_options){ .name = "semaphore" },
                            &w->semaphore));
    OK(asx_region_open(cx, NULL, &consumers));
    for (int i = 0; i < CHANNELS; i++) {
        c[i] = (struct consumer){ &w->channels[i],
                                  below(&w->rng, 4) == 0 ? below(&w->rng, 20) : UINT64_MAX };
        OK(asx_spawn(&consumers, "consumer", consume, &c[i]));
    }
    for (int i = 0; i < 2; i++)
        OK(asx_spawn(&consumers, "consumer of many", consume_many, w));
    if (below(&w->rng, 4) == 0)
        collect.timeout_ns = below(&w->rng, 20) * ASX_MS + 1;
    OK(asx_region_open(cx, &collect, &actors));
    for (uint64_t n = 4 + below(&w->rng, 28); n > 0; n--)
        start(w, &actors, &w->rng, 0, &alive, NULL);
    ASX_IGNORE(asx_region_close(&actors, below(&w->rng, 6) == 0 ? ASX_E_CANCELLED : ASX_OK));
    MUST(atomic_load(&alive) == 0);
    for (int i = 0; i < CHANNELS; i++)
        OK(asx_channel_sender_drop(&w->channels[i].tx));
    OK(asx_mpmc_sender_drop(&w->many_tx));
    OK(asx_region_close(&consumers, ASX_OK));
    OK(asx_region_close(&channels, ASX_OK));
    check_round(w);
    return ASX_OK;
}

struct plan {
    uint64_t seed, until_ns;
    uint64_t rounds, tasks, ops;
    bool visited; /* by a thread that is no worker */
};

static asx_status play_until(asx_cx *cx, void *arg)
{
    struct plan *plan = arg;
    static char text[32];
    where = text;
    do {
        struct world *w = calloc(1, sizeof *w);
        MUST(w != NULL);
        uint64_t seed = plan->seed * 1000003 + plan->rounds++;
        snprintf(text, sizeof text, "seed %llu", (unsigned long long)seed);
        asx__rng_seed(&w->rng, seed);
        pthread_mutex_init(&w->lock, NULL);
        pthread_t visitor;
        if (plan->visited)
            MUST(pthread_create(&visitor, NULL, visit, w) == 0);
        MUST(play(cx, w) == ASX_OK);
        atomic_store(&w->over, true);
        if (plan->visited)
            MUST(pthread_join(visitor, NULL) == 0);
        plan->tasks += atomic_load(&w->begun);
        plan->ops += atomic_load(&w->ops);
        pthread_mutex_destroy(&w->lock);
        free(w);
    } while (now_ns() < plan->until_ns);
    return ASX_OK;
}

static void check_rest(asx_runtime *rt)
{
    asx_stats stats;
    OK(asx_runtime_quiescent(rt));
    OK(asx_runtime_stats(rt, &stats));
    MUST(stats.tasks_live == 0 && stats.obligations_reserved == 0 && stats.timers_live == 0);
    MUST(stats.regions_live == 0 && stats.channels_live == 0);
}

static void tell(const struct plan *plan, uint32_t workers, uint64_t stolen)
{
    printf("stress: steal %llu", (unsigned long long)stolen);
    for (int i = 0; i < EVENTS; i++)
        printf(", %s %llu", event_names[i], (unsigned long long)atomic_load(&events[i]));
    printf("\n");
    if (plan->rounds >= ROUNDS_MANY) {
        MUST(workers == 1 || stolen > 0);
        for (int i = 0; i < EVENTS; i++)
            if (atomic_load(&events[i]) == 0)
                complain(event_names[i], "never happened");
    }
    printf("stress: seed %llu, %u workers: %llu rounds, %llu tasks, %llu operations, all as it "
           "should be\n",
           (unsigned long long)plan->seed, workers, (unsigned long long)plan->rounds,
           (unsigned long long)plan->tasks, (unsigned long long)plan->ops);
}

int main(int argc, char **argv)
{
    struct plan plan = { .seed = 1 };
    asx_runtime_config config = { .workers = 4, .blocking_threads_max = 4 };
    unsigned long long seconds = 10;
    for (int i = 1; i + 1 < argc; i += 2) {
        unsigned long long value = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--seconds") == 0)
            seconds = value;
        else if (strcmp(argv[i], "--seed") == 0)
            plan.seed = value;
        else if (strcmp(argv[i], "--workers") == 0)
            config.workers = (uint32_t)value;
        else
            argc = 0;
    }
    if (argc % 2 == 0) {
        fprintf(stderr, "usage: stress [--seconds N] [--seed N] [--workers N]\n");
        return 2;
    }
    asx_runtime *rt;
    asx_stats stats;
    plan.visited = config.workers > 1;
    plan.until_ns = now_ns() + seconds * ASX_SEC;
    OK(asx_runtime_create(&config, &rt));
    OK(asx_runtime_run(rt, play_until, &plan));
    check_rest(rt);
    OK(asx_runtime_stats(rt, &stats));
    OK(asx_runtime_destroy(rt));
    tell(&plan, config.workers, stats.tasks_stolen);
    return 0;
}
