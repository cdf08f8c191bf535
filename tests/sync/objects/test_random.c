/* test_random.c - random programs on all objects at once.
 *
 * Tasks of both vehicles lock, wait, signal, cancel each other, forget what they hold, panic. They
 * run into each other and into deadlocks, which the region's deadline ends. Whatever happened, when
 * the region is closed nothing is held and nobody waits, and every status on the way was one that
 * the call may give. Builds with audits check the objects at each step.
 */
#include "play.h"

#include <string.h>

#include <asx/asx_lab.h>

#include "base/rng.h"

enum { ACTORS = 8, STEPS = 40, PERMITS = 3 };

struct world {
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    asx_condition condition;
    asx_notify notify;
    asx_barrier barrier;
    asx_once once;
    asx_broadcast broadcast;
    asx_watch watch;
    asx_oneshot_sender tx;
    asx_oneshot_receiver rx;
    asx_region home;
    asx_task tasks[ACTORS];
    unsigned inside, initialized, panics;
    struct random_actor {
        struct world *world;
        asx__rng rng;
        unsigned step, op;
        bool again;              /* a poll function that must repeat its call */
        bool locked, reads, writes, permitted;
        asx_mutex_guard mutex;
        asx_rwlock_guard rwlock;
        asx_semaphore_permit permit;
        asx_broadcast_receiver receiver;
        uint64_t seen;
    } actors[ACTORS];
};

static bool one_of(asx_status st, const asx_status *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == st)
            return true;
    return st == ASX_OK || st == ASX_E_WOULD_BLOCK || st == ASX_E_CANCELLED;
}
#define MAY(st_, ...)                                                                    \
    CHECK(one_of((st_), (const asx_status[]){ __VA_ARGS__ },                             \
                 sizeof((const asx_status[]){ __VA_ARGS__ }) / sizeof(asx_status)))

/* The mutex is the actor's from now on, or no longer. */
static void enter(struct random_actor *a)
{
    CHECK_EQ(a->world->inside, 0);
    a->world->inside = 1;
    a->locked = true;
}

static void leave(struct random_actor *a)
{
    CHECK_EQ(a->world->inside, 1);
    a->world->inside = 0;
    a->locked = false;
}

static asx_status lock_or_unlock(asx_cx *cx, struct random_actor *a)
{
    struct world *w = a->world;
    if (a->locked) {
        asx_mutex_guard unused;
        CHECK_STATUS(asx_mutex_try_lock(cx, &w->mutex, &unused), ASX_E_WOULD_DEADLOCK);
        leave(a);
        return asx_mutex_unlock(&a->mutex);
    }
    asx_status st = a->op % 2 == 0 ? asx_mutex_lock(cx, &w->mutex, &a->mutex)
                                   : asx_mutex_recover(cx, &w->mutex, &a->mutex);
    MAY(st, ASX_E_POISONED);
    if (st == ASX_OK)
        enter(a);
    return st;
}

/* With the mutex: waits in the condition, and has it again, whatever comes back. */
static asx_status wait_or_signal(asx_cx *cx, struct random_actor *a)
{
    struct world *w = a->world;
    if (!a->locked)
        return asx__rng_below(&a->rng, 2) ? asx_condition_signal(&w->condition)
                                          : asx_condition_broadcast(&w->condition);
    if (!a->again)
        w->inside = 0;
    asx_status st = asx_condition_wait(cx, &w->condition, &a->mutex);
    MAY(st, ASX_E_POISONED);
    if (st != ASX_E_WOULD_BLOCK)
        enter(a);
    return st;
}

static asx_status read_or_write(asx_cx *cx, struct random_actor *a)
{
    struct world *w = a->world;
    if (a->reads || a->writes) {
        a->reads = a->writes = false;
        return asx_rwlock_unlock(&a->rwlock);
    }
    asx_status st = a->op % 3 == 0   ? asx_rwlock_write(cx, &w->rwlock, &a->rwlock)
                    : a->op % 3 == 1 ? asx_rwlock_read(cx, &w->rwlock, &a->rwlock)
                                     : asx_rwlock_recover(cx, &w->rwlock, &a->rwlock);
    MAY(st, ASX_E_POISONED);
    if (st == ASX_OK)
        *(a->op % 3 == 1 ? &a->reads : &a->writes) = true;
    for (unsigned i = 0; st == ASX_OK && i < ACTORS; i++)
        CHECK(&w->actors[i] == a || (!w->actors[i].writes && (a->reads || !w->actors[i].reads)));
    return st;
}

static asx_status borrow_or_return(asx_cx *cx, struct random_actor *a)
{
    if (a->permitted) {
        a->permitted = false;
        return asx_semaphore_release(&a->permit);
    }
    asx_status st = asx_semaphore_acquire(cx, &a->world->semaphore, 1 + a->op % PERMITS,
                                          &a->permit);
    MAY(st, ASX_OK);
    a->permitted = st == ASX_OK;
    return st;
}

static asx_status initialize(asx_cx *cx, void *arg)
{
    struct world *w = arg;
    asx_status st = asx_yield(cx);
    if (st < 0)
        return st;
    if (w->initialized++ < 3)
        return ASX_E_NOT_FOUND;
    return ASX_OK;
}

static asx_status ask_or_answer(asx_cx *cx, struct random_actor *a)
{
    struct world *w = a->world;
    uint64_t value = a->step;
    asx_status st;
    switch (a->op % 4) {
    case 0:
        st = asx_oneshot_adopt(cx, &w->tx);
        break;
    case 1:
        st = asx_oneshot_send(&w->tx, &value);
        break;
    case 2:
        st = asx_oneshot_recv(cx, &w->rx, &value);
        break;
    default: /* a new one, when the old one has served */
        st = asx_oneshot_try_recv(cx, &w->rx, &value);
        if (st == ASX_E_DISCONNECTED || st == ASX_E_STALE_HANDLE)
            st = asx_oneshot_create(&w->home, sizeof value, NULL, &w->tx, &w->rx);
        break;
    }
    MAY(st, ASX_E_BUSY, ASX_E_EMPTY, ASX_E_DISCONNECTED, ASX_E_STALE_HANDLE);
    return st;
}

static asx_status hear_and_tell(asx_cx *cx, struct random_actor *a)
{
    struct world *w = a->world;
    uint64_t value = a->step, missed;
    asx_status st = a->op % 4 == 0   ? asx_broadcast_send(&w->broadcast, &value, NULL)
                    : a->op % 4 == 1 ? asx_broadcast_recv(cx, &a->receiver, &value, &missed)
                    : a->op % 4 == 2 ? asx_watch_send(&w->watch, &value)
                                     : asx_watch_changed(cx, &w->watch, &a->seen, &value);
    MAY(st, ASX_E_LAGGED);
    return st;
}

static asx_status meet(asx_cx *cx, struct random_actor *a)
{
    struct world *w = a->world;
    switch (a->op % 5) {
    case 0:
        return asx_notify_wait(cx, &w->notify);
    case 1:
        return asx_notify_one(&w->notify);
    case 2:
        return asx_notify_all(&w->notify);
    case 3:
        return asx_barrier_wait(cx, &w->barrier, NULL);
    default: {
        asx_status st = asx_once_call(cx, &w->once, initialize, w);
        MAY(st, ASX_E_NOT_FOUND);
        return st == ASX_E_NOT_FOUND ? ASX_OK : st;
    }
    }
}

/* Who holds something mostly gives it back, or everybody would soon wait for everybody. */
static unsigned choose(struct random_actor *a)
{
    unsigned op = (unsigned)asx__rng_below(&a->rng, 1000);
    if (asx__rng_below(&a->rng, 10) < 3)
        return op;
    return a->permitted ? 400 : a->reads || a->writes ? 300 : a->locked ? op % 300 : op;
}

/* Now and then somebody who holds nothing does what others wait for. */
static asx_status helper(asx_cx *cx, void *arg)
{
    struct world *w = arg;
    asx_status st = ASX_OK;
    for (uint64_t i = 0; i < 400 && st == ASX_OK; i++) {
        CHECK_STATUS(asx_condition_broadcast(&w->condition), ASX_OK);
        CHECK_STATUS(asx_notify_all(&w->notify), ASX_OK);
        CHECK_STATUS(asx_watch_send(&w->watch, &i), ASX_OK);
        CHECK_STATUS(asx_broadcast_send(&w->broadcast, &i, NULL), ASX_OK);
        st = asx_oneshot_send(&w->tx, &i);
        MAY(st, ASX_E_DISCONNECTED, ASX_E_STALE_HANDLE);
        st = i % 8 == 0 ? asx_barrier_wait(cx, &w->barrier, NULL) : ASX_OK;
        if (st == ASX_OK)
            st = asx_sleep(cx, 100 * ASX_US);
    }
    return ASX_OK;
}

/* Does what it can; how it ends is up to chance. */
static asx_status random_act(asx_cx *cx, struct random_actor *a)
{
    struct world *w = a->world;
    for (; a->step < STEPS; a->step++, a->again = false) {
        if (!a->again)
            a->op = choose(a);
        asx_status st;
        switch (a->op / 100) {
        case 0: case 1: st = lock_or_unlock(cx, a); break;
        case 2: st = wait_or_signal(cx, a); break;
        case 3: st = read_or_write(cx, a); break;
        case 4: st = borrow_or_return(cx, a); break;
        case 5: st = ask_or_answer(cx, a); break;
        case 6: st = hear_and_tell(cx, a); break;
        case 7: st = meet(cx, a); break;
        case 8: st = asx_yield(cx); break;
        default:
            st = a->op % 50 == 0 ? asx_task_cancel(&w->tasks[a->op % ACTORS], NULL)
                                 : asx_sleep(cx, a->op);
            break;
        }
        a->again = st == ASX_E_WOULD_BLOCK;
        if (a->again || st == ASX_E_CANCELLED)
            return st;
    }
    return ASX_OK;
}

static void end_of(asx_cx *cx, struct random_actor *a)
{
    if (a->locked && asx__rng_below(&a->rng, 2)) {
        leave(a);
        CHECK_STATUS(asx_mutex_unlock(&a->mutex), ASX_OK);
    }
    if (a->locked)
        a->world->inside = 0; /* it forgets */
    a->locked = a->reads = a->writes = false;
    if (asx__rng_below(&a->rng, 6) == 0) {
        a->world->panics++;
        asx_panic(cx, "by chance");
    }
}

static asx_status random_fiber(asx_cx *cx, void *arg)
{
    asx_status st = random_act(cx, arg);
    end_of(cx, arg);
    return st;
}

static asx_poll random_poll(asx_cx *cx, void *arg)
{
    asx_status st = random_act(cx, arg);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    end_of(cx, arg);
    return st < 0 ? asx_poll_fail(cx, st) : ASX_POLL_READY;
}

static void open_world(asx_cx *cx, struct world *w)
{
    uint64_t zero = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &w->home), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&w->home, NULL, &w->mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(&w->home, NULL, &w->rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(&w->home, PERMITS, NULL, &w->semaphore), ASX_OK);
    CHECK_STATUS(asx_condition_create(&w->home, NULL, &w->condition), ASX_OK);
    CHECK_STATUS(asx_notify_create(&w->home, NULL, &w->notify), ASX_OK);
    CHECK_STATUS(asx_barrier_create(&w->home, 2, NULL, &w->barrier), ASX_OK);
    CHECK_STATUS(asx_once_create(&w->home, NULL, &w->once), ASX_OK);
    CHECK_STATUS(asx_broadcast_create(&w->home, 8, 2, NULL, &w->broadcast), ASX_OK);
    CHECK_STATUS(asx_watch_create(&w->home, 8, &zero, NULL, &w->watch), ASX_OK);
    CHECK_STATUS(asx_oneshot_create(&w->home, 8, NULL, &w->tx, &w->rx), ASX_OK);
}

static void look_around(asx_cx *cx, struct world *w)
{
    asx_lock_info info;
    asx_mutex_guard mutex;
    asx_rwlock_guard rwlock;
    CHECK_STATUS(asx_mutex_info(&w->mutex, &info), ASX_OK);
    CHECK_EQ(info.held + info.waiters, 0);
    CHECK_STATUS(asx_rwlock_info(&w->rwlock, &info), ASX_OK);
    CHECK_EQ(info.held + info.waiters, 0);
    CHECK_STATUS(asx_semaphore_info(&w->semaphore, &info), ASX_OK);
    CHECK_EQ(info.available, PERMITS);
    CHECK_EQ(info.waiters, 0);
    CHECK_STATUS(asx_mutex_recover(cx, &w->mutex, &mutex), ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_recover(cx, &w->rwlock, &rwlock), ASX_OK);
    CHECK_STATUS(asx_rwlock_unlock(&rwlock), ASX_OK);
}

static asx_status random_program(asx_cx *cx, void *arg)
{
    struct world w;
    asx_region crowd;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT, .timeout_ns = 50 * ASX_MS };
    uint64_t *seed = arg;
    memset(&w, 0, sizeof w);
    open_world(cx, &w);
    CHECK_STATUS(asx_region_open(cx, &options, &crowd), ASX_OK);
    for (unsigned i = 0; i < ACTORS; i++) {
        struct random_actor *a = &w.actors[i];
        a->world = &w;
        asx__rng_seed(&a->rng, *seed * ACTORS + i);
        CHECK_STATUS(asx_broadcast_subscribe(&w.broadcast, &a->receiver), ASX_OK);
        if (i % 2 == 0)
            CHECK_STATUS(asx_spawn_task(&crowd, random_fiber, a, NULL, &w.tasks[i]), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_poll_task(&crowd, random_poll, a, NULL, &w.tasks[i]), ASX_OK);
    }
    CHECK_STATUS(asx_spawn(&crowd, NULL, helper, &w), ASX_OK);
    asx_status st = asx_region_close(&crowd, ASX_OK);
    CHECK(st == (w.panics != 0 ? ASX_E_PANICKED : ASX_OK) || st == ASX_E_TIMEOUT);
    look_around(cx, &w);
    return asx_region_close(&w.home, ASX_OK);
}

ASX_TEST_TIMEOUT(random_programs_leave_nothing_held_and_nobody_waiting, 60)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        asx_lab_options options = { .seed = seed };
        asx_lab_result result, again;
        CHECK_STATUS(asx_lab_run(random_program, &seed, &options, &result), ASX_OK);
        CHECK_STATUS(result.status, ASX_OK);
        if (seed % 20 != 0)
            continue;
        CHECK_STATUS(asx_lab_run(random_program, &seed, &options, &again), ASX_OK);
        CHECK_EQ(again.digest, result.digest);
    }
}

ASX_TEST_TIMEOUT(random_programs_end_without_a_journal_too, 60)
{
    for (uint64_t seed = 1; seed <= 400; seed++)
        program_check(random_program, &seed);
}
