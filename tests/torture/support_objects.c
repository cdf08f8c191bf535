/* support_objects.c - the program that uses every synchronization object, for support_programs.c.
 *
 * Members that are refused memory go on with the next thing, so who waits for them may wait in
 * vain; the region's deadline ends that. What was locked is unlocked, what was acquired is given
 * back, and the counts say so.
 */
#include "support_programs.h"

#include <string.h>

enum { MEMBERS = 6 };

typedef struct objects {
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    asx_condition condition;
    asx_notify notify;
    asx_barrier barrier;
    asx_once once;
    asx_broadcast broadcast;
    asx_watch watch;
    unsigned inside, initialized;
    struct member {
        struct objects *all;
        asx_region *region;
        unsigned step;
        asx_mutex_guard guard;
        asx_rwlock_guard rwlock;
        asx_semaphore_permit permit;
        asx_broadcast_receiver receiver;
        asx_oneshot_sender tx;
        asx_oneshot_receiver rx;
        bool asked;
        uint64_t seen;
    } members[MEMBERS];
} objects;

/* What a call may say when memory gives out somewhere. */
static asx_status told_at(asx_status st, int line)
{
    switch ((int)st) {
    case ASX_E_RESOURCE_EXHAUSTED:
        tally.refused++;
        return st;
    case ASX_OK:
    case ASX_E_WOULD_BLOCK:
    case ASX_E_CANCELLED:    /* the deadline, or a set-up that failed */
    case ASX_E_DISCONNECTED: /* nobody will answer */
    case ASX_E_LAGGED:
    case ASX_E_EMPTY:
        return st;
    default:
        break;
    }
    asx_test_fail(__FILE__, line, "gave %s", asx_status_str(st));
}
#define told(expr_) told_at((expr_), __LINE__)

static asx_status with_mutex(asx_cx *cx, struct member *m)
{
    asx_status st = told(asx_mutex_lock(cx, &m->all->mutex, &m->guard));
    if (st < 0)
        return st;
    CHECK_EQ(m->all->inside++, 0);
    m->all->inside--;
    told(asx_condition_broadcast(&m->all->condition));
    return told(asx_mutex_unlock(&m->guard));
}

static asx_status with_rwlock(asx_cx *cx, struct member *m, bool writes)
{
    asx_status st = told(writes ? asx_rwlock_write(cx, &m->all->rwlock, &m->rwlock)
                                : asx_rwlock_read(cx, &m->all->rwlock, &m->rwlock));
    return st < 0 ? st : told(asx_rwlock_unlock(&m->rwlock));
}

static asx_status with_semaphore(asx_cx *cx, struct member *m)
{
    asx_status st = told(asx_semaphore_acquire(cx, &m->all->semaphore, 2, &m->permit));
    if (st < 0)
        return st;
    told(asx_semaphore_release_some(&m->permit, 1));
    return told(asx_semaphore_release(&m->permit));
}

static asx_status initialize(asx_cx *cx, void *arg)
{
    objects *o = arg;
    void *memory;
    asx_region region;
    CHECK_STATUS(asx_cx_region(cx, &region), ASX_OK);
    asx_status st = told(asx_region_alloc(&region, 5000, &memory));
    if (st == ASX_OK)
        o->initialized++;
    return st;
}

/* Asks itself, and now and then forgets to answer. */
static asx_status with_oneshot(asx_cx *cx, struct member *m, bool answers)
{
    uint64_t value = 3;
    asx_status st;
    if (!m->asked) {
        st = told(asx_oneshot_create(m->region, sizeof value, NULL, &m->tx, &m->rx));
        if (st < 0)
            return st;
        st = told(asx_oneshot_adopt(cx, &m->tx));
        told(answers && st == ASX_OK ? asx_oneshot_send(&m->tx, &value)
                                     : asx_oneshot_sender_drop(&m->tx));
    }
    m->asked = true;
    st = told(asx_oneshot_recv(cx, &m->rx, &value));
    if (st != ASX_E_WOULD_BLOCK)
        m->asked = false;
    return st;
}

static asx_status with_news(asx_cx *cx, struct member *m)
{
    uint64_t value = m->step, got;
    told(asx_broadcast_send(&m->all->broadcast, &value, NULL));
    told(asx_watch_send(&m->all->watch, &value));
    told(asx_broadcast_try_recv(cx, &m->receiver, &got, NULL));
    return told(asx_watch_changed(cx, &m->all->watch, &m->seen, &got));
}

/* Step by step; a poll function comes back to the step it waited in. */
static asx_status use_all(asx_cx *cx, struct member *m)
{
    asx_status st = ASX_OK;
    for (; m->step < 16 && st != ASX_E_CANCELLED; m->step++) {
        switch (m->step % 8) {
        case 0: st = with_mutex(cx, m); break;
        case 1: st = with_rwlock(cx, m, true); break;
        case 2: st = with_rwlock(cx, m, false); break;
        case 3: st = with_semaphore(cx, m); break;
        case 4: st = told(asx_once_call(cx, &m->all->once, initialize, m->all)); break;
        case 5: st = with_oneshot(cx, m, m->step < 8); break;
        case 6: st = with_news(cx, m); break;
        default:
            told(asx_notify_one(&m->all->notify));
            st = told(asx_notify_wait(cx, &m->all->notify));
            break;
        }
        if (st == ASX_E_WOULD_BLOCK)
            return st;
    }
    st = told(asx_barrier_wait(cx, &m->all->barrier, NULL));
    return st == ASX_E_CANCELLED || st == ASX_E_WOULD_BLOCK ? st : ASX_OK;
}

static asx_status use_all_fiber(asx_cx *cx, void *arg)
{
    struct member *m = arg;
    asx_status st = use_all(cx, m);
    asx_mutex_guard guard;
    if (st < 0 || told(asx_mutex_lock(cx, &m->all->mutex, &guard)) < 0)
        return st;
    told(asx_condition_wait(cx, &m->all->condition, &guard)); /* until the deadline, or a poll */
    told(asx_condition_signal(&m->all->condition));
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    return ASX_OK;
}

static asx_poll use_all_poll(asx_cx *cx, void *arg)
{
    asx_status st = use_all(cx, arg);
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING
           : st < 0                ? asx_poll_fail(cx, st)
                                   : ASX_POLL_READY;
}

static asx_status make(const asx_region *region, objects *o)
{
    uint64_t zero = 0;
    asx_status st = asx_mutex_create(region, &(asx_mutex_options){ .name = "m" }, &o->mutex);
    st = st < 0 ? st : asx_rwlock_create(region, &(asx_rwlock_options){ .name = "l" }, &o->rwlock);
    st = st < 0 ? st : asx_semaphore_create(region, 3, &(asx_semaphore_options){ .name = "s" },
                                            &o->semaphore);
    st = st < 0 ? st : asx_condition_create(region, &(asx_condition_options){ .name = "c" },
                                            &o->condition);
    st = st < 0 ? st : asx_notify_create(region, &(asx_notify_options){ .name = "n" }, &o->notify);
    st = st < 0 ? st : asx_barrier_create(region, MEMBERS, &(asx_barrier_options){ .name = "b" },
                                          &o->barrier);
    st = st < 0 ? st : asx_once_create(region, &(asx_once_options){ .name = "o" }, &o->once);
    st = st < 0 ? st : asx_broadcast_create(region, 8, 2, &(asx_broadcast_options){ .name = "r" },
                                            &o->broadcast);
    st = st < 0 ? st : asx_watch_create(region, 8, &zero, &(asx_watch_options){ .name = "w" },
                                        &o->watch);
    for (unsigned i = 0; i < MEMBERS && st == ASX_OK; i++)
        st = asx_broadcast_subscribe(&o->broadcast, &o->members[i].receiver);
    return told(st);
}

asx_status torture_objects(asx_cx *cx, void *arg)
{
    static objects o;
    asx_region outer, region;
    asx_lock_info info;
    (void)arg;
    memset(&o, 0, sizeof o);
    asx_status st = told(asx_region_open(cx, NULL, &outer));
    if (st < 0)
        return st;
    st = make(&outer, &o);
    if (st < 0) {
        asx_status closed = asx_region_close(&outer, st);
        CHECK(closed < 0);
        return closed;
    }
    told(asx_region_open(
        cx, &(asx_region_options){ .timeout_ns = 500, .policy = ASX_POLICY_COLLECT }, &region));
    for (unsigned i = 0; i < MEMBERS; i++) {
        o.members[i].all = &o;
        o.members[i].region = &outer;
        st = i % 2 == 0 ? asx_spawn(&region, "member", use_all_fiber, &o.members[i])
                        : asx_spawn_poll(&region, "member", use_all_poll, &o.members[i]);
        if (st < 0) /* the others wait for it until the deadline */
            CHECK(st == ASX_E_RESOURCE_EXHAUSTED);
    }
    st = asx_region_close(&region, ASX_OK);
    CHECK(st == ASX_OK || st == ASX_E_TIMEOUT || st == ASX_E_RESOURCE_EXHAUSTED ||
          st == ASX_E_CANCELLED);
    CHECK_STATUS(asx_mutex_info(&o.mutex, &info), ASX_OK);
    CHECK_EQ(info.held + info.waiters, 0);
    CHECK_STATUS(asx_rwlock_info(&o.rwlock, &info), ASX_OK);
    CHECK_EQ(info.held + info.waiters, 0);
    CHECK_STATUS(asx_semaphore_info(&o.semaphore, &info), ASX_OK);
    CHECK_EQ(info.available, 3);
    CHECK_LE(o.initialized, 1);
    st = asx_region_close(&outer, st == ASX_E_TIMEOUT ? ASX_OK : st);
    return st == ASX_E_CANCELLED ? ASX_E_RESOURCE_EXHAUSTED : st;
}
