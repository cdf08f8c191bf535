/* rwlock.c - many readers or one writer.
 *
 * One queue for both, served from its front: a writer when no task has the lock, a reader when
 * none writes. So a writer that waits keeps the readers behind it out, and writers cannot starve
 * readers either.
 *
 *     writing  => readers == 0
 *     a waiter exists => the first one cannot be served:
 *         it writes and (writing or readers > 0), or it reads and writing
 *     poisoned => every waiter recovers
 *
 * `writing` and `readers` count grants of poll tasks too. Only what writes can poison.
 *
 * Rejected: writers before all readers that wait (a stream of writers starves them, and the order
 * of arrival would no longer say which task is next).
 */
#include "sync/object.h"

#include <asx/sync.h>

#define HEAD(rwlock_) ((asx__sync *)(void *)(rwlock_))

enum rwlock_wait { READ, WRITE, RECOVER };

typedef struct asx__rwlock {
    asx__sync sync;
    uint64_t readers;
    bool writing;
    bool poisoned;
} asx__rwlock;
_Static_assert(sizeof(asx__rwlock) <= ASX__SYNC_RECORD_SIZE, "fits the slab");

typedef struct rwlock_io {
    asx_rwlock_guard guard;
    const char *site;
} rwlock_io;
ASX__GUARD_LAYOUT(asx_rwlock_guard);

static bool can_serve(const asx__rwlock *l, unsigned which)
{
    return !l->writing && (which == READ || l->readers == 0);
}

static __attribute__((unused)) bool is_valid(const asx__rwlock *l)
{
    if (l->sync.finalized || l->sync.waiting == 0)
        return !l->writing || l->readers == 0;
    return (!l->writing || l->readers == 0) &&
           !can_serve(l, asx__sync_which(&l->sync, asx__sync_first(&l->sync)));
}

static void journal(asx__rwlock *l, const asx__task *task, uint32_t kind, bool writes)
{
    if (!l->sync.rt->tracing)
        return;
    bool unlock = kind == ASX_EVENT_RWLOCK_UNLOCK;
    uint64_t seq = asx__sync_journal(&l->sync, task, kind, writes, l->sync.waiting,
                                     unlock ? 0 : l->sync.seq);
    if (unlock)
        l->sync.seq = seq;
}

static void set_poisoned(asx__rwlock *l, const asx__task *task, bool poisoned)
{
    if (l->poisoned == poisoned)
        return;
    l->poisoned = poisoned;
    if (l->sync.rt->tracing)
        asx__sync_journal(&l->sync, task, ASX_EVENT_RWLOCK_POISON, poisoned, 0, 0);
}

/* ---- taking and giving ---------------------------------------------------------------------- */

static void count_in(asx__rwlock *l, unsigned which)
{
    if (which == READ)
        l->readers++;
    else
        l->writing = true;
}

static void count_out(asx__rwlock *l, bool writes)
{
    if (writes)
        l->writing = false;
    else
        l->readers--;
}

/* A guard for `task`, which is counted in. False: no memory. */
static bool hold(asx__rwlock *l, asx__task *task, unsigned which, const char *site,
                 enum asx__guard_note note, asx_rwlock_guard *ret_guard)
{
    asx__obligation *o = asx__guard_new(&l->sync, task, ASX_OBLIGATION_KIND_GUARD, site, note);
    if (o == NULL)
        return false;
    o->detail = which != READ;
    journal(l, task, ASX_EVENT_RWLOCK_LOCK, which != READ);
    if (which == RECOVER)
        set_poisoned(l, task, false);
    ret_guard->rwlock_ = l;
    ret_guard->obligation_ = asx__obligation_id(o);
    ret_guard->record_ = o;
    return true;
}

/* The first waiter gets what it waits for. */
static void serve(asx__rwlock *l, asx__task *task, unsigned which)
{
    asx__sync_unlink(&l->sync, task);
    count_in(l, which);
    if (task->flags & ASX__T_POLL) {
        asx__sync_grant(&l->sync, task);
        return;
    }
    rwlock_io *io = task->r.io;
    bool done = hold(l, task, which, io->site, ASX__GUARD_ON_ITS_WAY, &io->guard);
    if (!done)
        count_out(l, which != READ);
    asx__sync_hand_over(&l->sync, task, done);
}

static void settle(asx__rwlock *l)
{
    while (l->sync.waiting != 0) {
        asx__task *task = asx__sync_first(&l->sync);
        unsigned which = asx__sync_which(&l->sync, task);
        if (!can_serve(l, which))
            break;
        serve(l, task, which);
    }
    ASX__AUDIT_ASSERT(is_valid(l));
}

static void poison(asx__rwlock *l, const asx__task *task)
{
    set_poisoned(l, task, true);
    for (asx__node *n = l->sync.waiters.next; n != &l->sync.waiters;) {
        asx__task *waiter = (asx__task *)(void *)n;
        n = n->next;
        if (asx__sync_which(&l->sync, waiter) == RECOVER)
            continue;
        asx__sync_unlink(&l->sync, waiter);
        asx__wake(l->sync.rt, waiter, ASX_E_POISONED, false);
    }
}

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__rwlock *l = (asx__rwlock *)(void *)asx__sync_of(waitable);
    bool writes = (asx__sync_wait *)waitable != &l->sync.waits[READ];
    (void)rt;
    if (granted) {
        if (!asx__sync_ungrant(&l->sync))
            return;
        count_out(l, writes);
    } else {
        asx__sync_unlink(&l->sync, task);
    }
    settle(l); /* a writer that is gone may have kept readers out */
}

static void let_go(asx__rwlock *l, asx__obligation *o, asx_obligation_state to)
{
    bool writes = o->detail != 0;
    (void)asx__sync_announce(&l->sync, writes ? ASX__OP_WRITE_UNLOCK : ASX__OP_READ_UNLOCK);
    journal(l, l->sync.rt->current, ASX_EVENT_RWLOCK_UNLOCK, writes);
    asx__guard_resolve(&l->sync, o, to);
    count_out(l, writes);
    settle(l);
}

static void release(asx__sync *s, asx__obligation *o)
{
    asx__rwlock *l = (asx__rwlock *)(void *)s;
    asx__task *task = o->owner;
    if (o->note == ASX__GUARD_HELD) {
        asx__guard_note_left(o);
        if (o->detail != 0 && asx__ended_midway(task))
            poison(l, task);
    }
    let_go(l, o, ASX_OBLIGATION_ABORTED);
}

static void end(asx__sync *s)
{
    asx__sync_wake_all(s, ASX_E_REGION_CLOSED);
}

static const asx__sync_type rwlock_type = {
    .kind = ASX__SYNC_RWLOCK,
    .created = ASX_EVENT_RWLOCK_CREATE,
    .waits = { { ASX__WAIT_RWLOCK_READ, NULL, unpublish },
               { ASX__WAIT_RWLOCK_WRITE, NULL, unpublish },
               { ASX__WAIT_RWLOCK_WRITE, NULL, unpublish } },
    .release = release,
    .end = end,
};

/* ---- calls ---------------------------------------------------------------------------------- */

asx_status asx_rwlock_create(const asx_region *region, const asx_rwlock_options *options,
                             asx_rwlock *ret_rwlock)
{
    ASX__EMPTY(ret_rwlock);
    ASX__GATE_REGION(region, asx_rwlock_create(&in, options, ret_rwlock));
    asx__sync *s = NULL;
    asx_status st = asx__sync_create(region, &rwlock_type, ASX__NAME_OF(options), 0,
                                     ret_rwlock != NULL, &s, NULL);
    if (st < 0)
        return st;
    asx__sync_created(s, 0);
    ret_rwlock->rwlock_ = (asx__rwlock *)(void *)s;
    ret_rwlock->generation_ = s->generation;
    return ASX_OK;
}

/* The running task is counted in. */
static asx_status take(asx__rwlock *l, asx__task *task, unsigned which, const char *site,
                       asx_rwlock_guard *ret_guard)
{
    if (ASX__UNLIKELY(!hold(l, task, which, site, ASX__GUARD_HELD, ret_guard))) {
        count_out(l, which != READ);
        settle(l);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    ASX__AUDIT_ASSERT(is_valid(l));
    return ASX_OK;
}

static bool must_wait(const asx__rwlock *l, unsigned which)
{
    return l->sync.waiting != 0 || !can_serve(l, which);
}

static asx_status lock(asx_runtime *rt, asx__task *task, asx__rwlock *l, unsigned which,
                       const char *site, asx_rwlock_guard *ret_guard)
{
    /* Explored: a task that would wait for itself does not wait for its turn either. */
    bool held = ASX__UNLIKELY(rt->seam != NULL) && asx__guard_held_by(&l->sync, task);
    asx__op_kind op = which == READ ? ASX__OP_READ_LOCK : ASX__OP_WRITE_LOCK;
    uint64_t found = asx__sync_announce(&l->sync, op, .rwlock.held = held);
    asx_status st = asx__checkpoint(rt, task);
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (asx__sync_granted(&l->sync, task, which))
        return take(l, task, which, site, ret_guard);
    if (ASX__UNLIKELY(l->poisoned && which != RECOVER))
        return ASX_E_POISONED;
    if (ASX__UNLIKELY(held && found != ASX__GOES))
        return ASX_E_WOULD_DEADLOCK;
    if (must_wait(l, which)) {
        if (asx__guard_held_by(&l->sync, task))
            return ASX_E_WOULD_DEADLOCK;
        st = asx__wait_prepare(rt, task, asx__sync_waitable(&l->sync, which));
        if (st < 0)
            return st;
    }
    if (!must_wait(l, which)) {
        count_in(l, which);
        return take(l, task, which, site, ret_guard);
    }
    rwlock_io io = { .site = site };
    st = asx__sync_wait_in(&l->sync, task, which, &io);
    if (st < 0)
        return st;
    asx__guard_arrived(HEAD(io.guard.rwlock_), io.guard.obligation_, io.guard.record_);
    *ret_guard = io.guard;
    return ASX_OK;
}

static asx_status enter_and_lock(const asx_rwlock *rwlock, asx_cx *cx, unsigned which,
                                 asx_rwlock_guard *ret_guard, const char *site)
{
    asx__task *task;
    if (rwlock == NULL || ret_guard == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sync_enter(HEAD(rwlock->rwlock_), rwlock->generation_,
                                    ASX_E_REGION_CLOSED, cx, &task);
    return st < 0 ? st : lock(cx->rt_, task, rwlock->rwlock_, which, site, ret_guard);
}

asx_status asx_rwlock_read_at(asx_cx *cx, const asx_rwlock *rwlock, asx_rwlock_guard *ret_guard,
                              const char *site)
{
    ASX__GATE_SYNC(rwlock, rwlock_, cx, asx_rwlock_read_at(in_cx, rwlock, ret_guard, site));
    return ASX__EMPTY_IF(enter_and_lock(rwlock, cx, READ, ret_guard, site), ret_guard);
}

asx_status asx_rwlock_write_at(asx_cx *cx, const asx_rwlock *rwlock, asx_rwlock_guard *ret_guard,
                               const char *site)
{
    ASX__GATE_SYNC(rwlock, rwlock_, cx, asx_rwlock_write_at(in_cx, rwlock, ret_guard, site));
    return ASX__EMPTY_IF(enter_and_lock(rwlock, cx, WRITE, ret_guard, site), ret_guard);
}

asx_status asx_rwlock_recover_at(asx_cx *cx, const asx_rwlock *rwlock, asx_rwlock_guard *ret_guard,
                                 const char *site)
{
    ASX__GATE_SYNC(rwlock, rwlock_, cx, asx_rwlock_recover_at(in_cx, rwlock, ret_guard, site));
    return ASX__EMPTY_IF(enter_and_lock(rwlock, cx, RECOVER, ret_guard, site), ret_guard);
}

static asx_status try_lock(asx__task *task, asx__rwlock *l, unsigned which, const char *site,
                           asx_rwlock_guard *ret_guard)
{
    /* Explored: tasks that have requested the lock do not wait in it. */
    asx__op_kind try = which == READ ? ASX__OP_TRY_READ_LOCK : ASX__OP_TRY_WRITE_LOCK;
    bool refused = asx__sync_announce(&l->sync, try) != ASX__GOES;
    if (l->poisoned)
        return ASX_E_POISONED;
    if (refused || must_wait(l, which))
        return asx__guard_held_by(&l->sync, task) ? ASX_E_WOULD_DEADLOCK : ASX_E_BUSY;
    count_in(l, which);
    return take(l, task, which, site, ret_guard);
}

static asx_status enter_and_try(const asx_rwlock *rwlock, asx_cx *cx, unsigned which,
                                asx_rwlock_guard *ret_guard, const char *site)
{
    asx__task *task;
    if (rwlock == NULL || ret_guard == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sync_enter(HEAD(rwlock->rwlock_), rwlock->generation_,
                                    ASX_E_REGION_CLOSED, cx, &task);
    return st < 0 ? st : try_lock(task, rwlock->rwlock_, which, site, ret_guard);
}

asx_status asx_rwlock_try_read_at(asx_cx *cx, const asx_rwlock *rwlock, asx_rwlock_guard *ret_guard,
                                  const char *site)
{
    ASX__GATE_SYNC(rwlock, rwlock_, cx, asx_rwlock_try_read_at(in_cx, rwlock, ret_guard, site));
    return ASX__EMPTY_IF(enter_and_try(rwlock, cx, READ, ret_guard, site), ret_guard);
}

asx_status asx_rwlock_try_write_at(asx_cx *cx, const asx_rwlock *rwlock,
                                   asx_rwlock_guard *ret_guard, const char *site)
{
    ASX__GATE_SYNC(rwlock, rwlock_, cx, asx_rwlock_try_write_at(in_cx, rwlock, ret_guard, site));
    return ASX__EMPTY_IF(enter_and_try(rwlock, cx, WRITE, ret_guard, site), ret_guard);
}

asx_status asx_rwlock_unlock(asx_rwlock_guard *guard)
{
    ASX__GATE_SYNC(guard, rwlock_, NULL, asx_rwlock_unlock(guard));
    if (guard == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__guard_find(HEAD(guard->rwlock_), guard->obligation_, guard->record_,
                                    ASX_E_REGION_CLOSED);
    if (st < 0)
        return st;
    let_go(guard->rwlock_, guard->record_, ASX_OBLIGATION_COMMITTED);
    return ASX_OK;
}

asx_status asx_rwlock_info(const asx_rwlock *rwlock, asx_lock_info *ret_info)
{
    ASX__EMPTY(ret_info);
    ASX__GATE_SYNC(rwlock, rwlock_, NULL, asx_rwlock_info(rwlock, ret_info));
    if (rwlock == NULL || ret_info == NULL)
        return ASX_E_INVALID_ARGUMENT;
    const asx__rwlock *l = rwlock->rwlock_;
    asx_status st = asx__sync_resolve(HEAD(l), rwlock->generation_, ASX_E_REGION_CLOSED);
    if (st < 0)
        return st;
    *ret_info = (asx_lock_info){
        .serial = l->sync.waits[0].waitable.serial,
        .available = !must_wait(l, READ),
        .held = l->readers + l->writing,
        .waiters = l->sync.waiting,
        .poisoned = l->poisoned,
    };
    return ASX_OK;
}
