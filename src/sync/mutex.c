/* mutex.c - mutual exclusion, handed over in the order of arrival.
 *
 * Unlocking gives the mutex to the first waiter before it runs, so no task can pass it, and one
 * that unlocks and locks again waits behind those that were there.
 *
 *     lock      the mutex is free: guard          held: wait; the unlocker writes the guard
 *     unlock    the guard is resolved, the next waiter gets one
 *     task ends with the guard: released and reported; poisoned if it panicked or was completed by
 *               force, because then it is unknown how far it had come
 *     poisoned  lock says so, to those that wait too; recover takes it and ends the poison
 *
 * The mutex knows nothing of conditions but this: a guard can part from it and retake it. While
 * it is parted its obligation goes on, so that retaking cannot fail.
 */
#include "sync/mutex.h"

#define HEAD(mutex_) ((asx__sync *)(void *)(mutex_))

bool asx__mutex_is_valid(const asx__mutex *m)
{
    if (m->sync.finalized)
        return m->sync.waiting == 0;
    if (m->guard != NULL &&
        (m->holder != m->guard->owner || asx__obligation_object(m->guard) != &m->sync))
        return false;
    if (m->holder == NULL && (m->guard != NULL || m->sync.waiting != 0))
        return false;
    uint32_t waiting = 0;
    for (const asx__node *n = m->sync.waiters.next; n != &m->sync.waiters; n = n->next) {
        const asx__task *task = (const asx__task *)(const void *)n;
        waiting++;
        if (m->poisoned && asx__sync_which(&m->sync, task) == ASX__MUTEX_LOCK)
            return false;
    }
    return waiting == m->sync.waiting;
}

static void journal(asx__mutex *m, const asx__task *task, uint32_t kind)
{
    if (!m->sync.rt->tracing)
        return;
    bool unlock = kind == ASX_EVENT_MUTEX_UNLOCK;
    uint64_t seq = asx__sync_journal(&m->sync, task, kind, m->sync.waiting, 0,
                                     unlock ? 0 : m->sync.seq);
    if (unlock)
        m->sync.seq = seq;
}

static void set_poisoned(asx__mutex *m, const asx__task *task, bool poisoned)
{
    if (m->poisoned == poisoned)
        return;
    m->poisoned = poisoned;
    if (m->sync.rt->tracing)
        asx__sync_journal(&m->sync, task, ASX_EVENT_MUTEX_POISON, poisoned, 0, 0);
}

/* ---- taking --------------------------------------------------------------------------------- */

/* A guard for `task`, which gets the mutex. False: no memory, and nothing has changed. */
static bool hold(asx__mutex *m, asx__task *task, unsigned which, const char *site,
                 enum asx__guard_note note, asx_mutex_guard *ret_guard)
{
    asx__obligation *o = asx__guard_new(&m->sync, task, ASX_OBLIGATION_KIND_GUARD, site, note);
    if (o == NULL)
        return false;
    m->holder = task;
    m->guard = o;
    journal(m, task, ASX_EVENT_MUTEX_LOCK);
    if (which == ASX__MUTEX_RECOVER)
        set_poisoned(m, task, false);
    ret_guard->mutex_ = m;
    ret_guard->obligation_ = asx__obligation_id(o);
    ret_guard->record_ = o;
    return true;
}

void asx__mutex_part(asx__mutex *m, asx__obligation *guard)
{
    ASX__ASSERT(m->guard == guard);
    guard->note = ASX__GUARD_WAITING;
    journal(m, m->holder, ASX_EVENT_MUTEX_UNLOCK);
    asx__mutex_pass_on(m);
}

void asx__mutex_retake(asx__mutex *m, asx__obligation *guard, enum asx__guard_note note)
{
    ASX__ASSERT(m->holder == NULL && asx__obligation_object(guard) == &m->sync);
    m->holder = guard->owner;
    m->guard = guard;
    guard->note = (uint16_t)note;
    journal(m, m->holder, ASX_EVENT_MUTEX_LOCK);
}

/* The free mutex goes back to a task that waits for it, in this mutex or in a condition. */
static void give_back(asx__mutex *m, asx__task *task, asx__obligation *guard)
{
    asx__mutex_retake(m, guard, ASX__GUARD_COMING_BACK);
    if (task->flags & ASX__T_POLL)
        asx__sync_grant(&m->sync, task);
    else
        asx__wake(m->sync.rt, task, ASX_OK, false);
}

void asx__mutex_retake_for(asx__mutex *m, asx__task *task, asx__obligation *guard)
{
    task->w.waits = asx__sync_waitable(&m->sync, ASX__MUTEX_RETAKE);
    if (m->holder == NULL) {
        give_back(m, task, guard);
    } else {
        guard->note = ASX__GUARD_RETAKING;
        asx__sync_link(&m->sync, task);
    }
}

asx__obligation *asx__retaking_guard(const asx__task *task)
{
    if (task->flags & ASX__T_POLL)
        return (asx__obligation *)(uintptr_t)task->extra->wait_note;
    return ((const asx__retake_io *)task->r.io)->guard;
}

void asx__retake_signalled(asx__task *task, asx__sync *condition)
{
    uint64_t generation = condition != NULL ? condition->generation : 0;
    if (task->flags & ASX__T_POLL) {
        task->extra->wait_notes[0] = (uintptr_t)condition;
        task->extra->wait_notes[1] = generation;
    } else {
        asx__retake_io *io = task->r.io;
        io->signalled_by = condition;
        io->generation = generation;
    }
}

/* The task did not come back from its wait, with or without the mutex. */
static void pass_signal_on(asx__task *task)
{
    asx__sync *condition;
    uint64_t generation;
    if (task->flags & ASX__T_POLL) {
        condition = (asx__sync *)(uintptr_t)task->extra->wait_notes[0];
        generation = task->extra->wait_notes[1];
    } else {
        const asx__retake_io *io = task->r.io;
        condition = io->signalled_by;
        generation = io->generation;
    }
    if (condition == NULL)
        return;
    asx__retake_signalled(task, NULL);
    asx__condition_pass_on(condition, generation);
}

/* The free mutex goes to a task that was waiting; it may turn out that it cannot have it. */
static void serve(asx__mutex *m, asx__task *task, unsigned which)
{
    if (which == ASX__MUTEX_RETAKE) {
        give_back(m, task, asx__retaking_guard(task));
        return;
    }
    if (task->flags & ASX__T_POLL) {
        m->holder = task;
        asx__sync_grant(&m->sync, task);
        return;
    }
    asx__mutex_io *io = task->r.io;
    bool done = hold(m, task, which, io->site, ASX__GUARD_ON_ITS_WAY, &io->guard);
    asx__sync_hand_over(&m->sync, task, done);
}

void asx__mutex_pass_on(asx__mutex *m)
{
    m->holder = NULL;
    m->guard = NULL;
    while (m->holder == NULL && m->sync.waiting != 0) {
        asx__task *task = asx__sync_first(&m->sync);
        unsigned which = asx__sync_which(&m->sync, task);
        asx__sync_unlink(&m->sync, task);
        serve(m, task, which);
    }
    ASX__AUDIT_ASSERT(asx__mutex_is_valid(m));
}

/* The task that holds it has ended midway: tasks that wait for a lock are refused at once, those
 * that wait to recover goes on waiting. */
static void poison(asx__mutex *m, const asx__task *task)
{
    set_poisoned(m, task, true);
    for (asx__node *n = m->sync.waiters.next; n != &m->sync.waiters;) {
        asx__task *waiter = (asx__task *)(void *)n;
        n = n->next;
        if (asx__sync_which(&m->sync, waiter) != ASX__MUTEX_LOCK)
            continue;
        asx__sync_unlink(&m->sync, waiter);
        asx__wake(m->sync.rt, waiter, ASX_E_POISONED, false);
    }
}

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__mutex *m = (asx__mutex *)(void *)asx__sync_of(waitable);
    (void)rt;
    if (!granted) {
        asx__sync_unlink(&m->sync, task);
        return;
    }
    if (asx__sync_ungrant(&m->sync))
        asx__mutex_pass_on(m);
}

static void unpublish_retake(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__mutex *m = (asx__mutex *)(void *)asx__sync_of(waitable);
    if (!m->sync.finalized) /* else its guard is gone too */
        asx__retaking_guard(task)->note = ASX__GUARD_PARTED;
    if (granted && !m->sync.finalized)
        journal(m, task, ASX_EVENT_MUTEX_UNLOCK);
    unpublish(rt, task, waitable, granted);
    pass_signal_on(task);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* The mutex is unlocked, or was parted from anyway. */
static void let_go(asx__mutex *m, asx__obligation *o, asx_obligation_state to)
{
    bool held = m->guard == o;
    if (held)
        (void)asx__sync_announce(&m->sync, ASX__OP_UNLOCK);
    if (held)
        journal(m, m->sync.rt->current, ASX_EVENT_MUTEX_UNLOCK);
    asx__guard_resolve(&m->sync, o, to);
    if (held)
        asx__mutex_pass_on(m);
}

static void release(asx__sync *s, asx__obligation *o)
{
    asx__mutex *m = (asx__mutex *)(void *)s;
    asx__task *task = o->owner;
    if (m->guard == o && o->note == ASX__GUARD_HELD) {
        asx__guard_note_left(o);
        if (asx__ended_midway(task))
            poison(m, task);
    }
    /* A fiber that was given the mutex back, and completed by force before it ran. */
    bool stayed_away = m->guard == o && o->note == ASX__GUARD_COMING_BACK &&
                       (task->flags & (ASX__T_FORCED | ASX__T_POLL)) == ASX__T_FORCED;
    let_go(m, o, ASX_OBLIGATION_ABORTED);
    if (stayed_away)
        pass_signal_on(task);
}

static void end(asx__sync *s)
{
    asx__mutex *m = (asx__mutex *)(void *)s;
    asx__sync_wake_all(s, ASX_E_REGION_CLOSED);
    m->holder = NULL;
    m->guard = NULL;
}

/* A task that waits in a condition has nothing to come back to. */
static void orphan(asx__sync *s, asx__obligation *o)
{
    asx__task *task = o->owner;
    if (o->note != ASX__GUARD_WAITING)
        return;
    task->w.waits->ops->unpublish(s->rt, task, task->w.waits, false);
    asx__wake(s->rt, task, ASX_E_REGION_CLOSED, false);
}

static const asx__sync_type mutex_type = {
    .kind = ASX__SYNC_MUTEX,
    .created = ASX_EVENT_MUTEX_CREATE,
    .waits = { { ASX__WAIT_MUTEX_LOCK, NULL, unpublish },
               { ASX__WAIT_MUTEX_LOCK, NULL, unpublish },
               { ASX__WAIT_MUTEX_LOCK, asx__wait_never_ends, unpublish_retake } },
    .release = release,
    .end = end,
    .orphan = orphan,
};

/* ---- calls ---------------------------------------------------------------------------------- */

asx_status asx_mutex_create(const asx_region *region, const asx_mutex_options *options,
                            asx_mutex *ret_mutex)
{
    ASX__EMPTY(ret_mutex);
    ASX__GATE_REGION(region, asx_mutex_create(&in, options, ret_mutex));
    asx__sync *s = NULL;
    asx_status st = asx__sync_create(region, &mutex_type, ASX__NAME_OF(options), 0,
                                     ret_mutex != NULL, &s, NULL);
    if (st < 0)
        return st;
    asx__sync_created(s, 0);
    ret_mutex->mutex_ = (asx__mutex *)(void *)s;
    ret_mutex->generation_ = s->generation;
    return ASX_OK;
}

/* The mutex is free, or was granted to the running task. */
static asx_status take(asx__mutex *m, asx__task *task, unsigned which, const char *site,
                       asx_mutex_guard *ret_guard)
{
    if (ASX__UNLIKELY(!hold(m, task, which, site, ASX__GUARD_HELD, ret_guard))) {
        asx__mutex_pass_on(m);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    ASX__AUDIT_ASSERT(asx__mutex_is_valid(m));
    return ASX_OK;
}

static asx_status lock(asx_runtime *rt, asx__task *task, asx__mutex *m, unsigned which,
                       const char *site, asx_mutex_guard *ret_guard)
{
    if (asx__fails(rt, ASX__FAULT_NO_MEMORY))
        return ASX_E_RESOURCE_EXHAUSTED;
    (void)asx__sync_announce(&m->sync, ASX__OP_LOCK);
    asx_status st = asx__checkpoint(rt, task);
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (asx__sync_granted(&m->sync, task, which))
        return take(m, task, which, site, ret_guard);
    if (ASX__UNLIKELY(m->holder == task && m->guard != NULL))
        return ASX_E_WOULD_DEADLOCK;
    if (ASX__UNLIKELY(m->poisoned && which == ASX__MUTEX_LOCK))
        return ASX_E_POISONED;
    if (m->holder != NULL) {
        st = asx__wait_prepare(rt, task, asx__sync_waitable(&m->sync, which));
        if (st < 0)
            return st;
    }
    if (m->holder == NULL) /* also when preparing to wait has given up a grant of this one */
        return take(m, task, which, site, ret_guard);
    asx__mutex_io io = { .site = site };
    st = asx__sync_wait_in(&m->sync, task, which, &io);
    if (st < 0)
        return st;
    asx__guard_arrived(HEAD(io.guard.mutex_), io.guard.obligation_, io.guard.record_);
    *ret_guard = io.guard;
    return ASX_OK;
}

/* Behind the gate. */
static asx_status lock_as(const asx_mutex *mutex, asx_cx *cx, unsigned which,
                          asx_mutex_guard *ret_guard, const char *site)
{
    asx__task *task;
    if (mutex == NULL || ret_guard == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sync_enter(HEAD(mutex->mutex_), mutex->generation_, ASX_E_REGION_CLOSED,
                                    cx, &task);
    return st < 0 ? st : lock(cx->rt_, task, mutex->mutex_, which, site, ret_guard);
}

asx_status asx_mutex_lock_at(asx_cx *cx, const asx_mutex *mutex, asx_mutex_guard *ret_guard,
                             const char *site)
{
    ASX__GATE_SYNC(mutex, mutex_, cx, asx_mutex_lock_at(in_cx, mutex, ret_guard, site));
    return ASX__EMPTY_IF(lock_as(mutex, cx, ASX__MUTEX_LOCK, ret_guard, site), ret_guard);
}

asx_status asx_mutex_recover_at(asx_cx *cx, const asx_mutex *mutex, asx_mutex_guard *ret_guard,
                                const char *site)
{
    ASX__GATE_SYNC(mutex, mutex_, cx, asx_mutex_recover_at(in_cx, mutex, ret_guard, site));
    return ASX__EMPTY_IF(lock_as(mutex, cx, ASX__MUTEX_RECOVER, ret_guard, site), ret_guard);
}

static asx_status try_lock(asx__task *task, asx__mutex *m, const char *site,
                           asx_mutex_guard *ret_guard)
{
    (void)asx__sync_announce(&m->sync, ASX__OP_TRY_LOCK);
    if (m->holder == task && m->guard != NULL)
        return ASX_E_WOULD_DEADLOCK;
    if (m->poisoned)
        return ASX_E_POISONED;
    if (m->holder != NULL)
        return ASX_E_BUSY;
    return take(m, task, ASX__MUTEX_LOCK, site, ret_guard);
}

asx_status asx_mutex_try_lock_at(asx_cx *cx, const asx_mutex *mutex, asx_mutex_guard *ret_guard,
                                 const char *site)
{
    ASX__GATE_SYNC(mutex, mutex_, cx, asx_mutex_try_lock_at(in_cx, mutex, ret_guard, site));
    asx__task *task;
    if (mutex == NULL || ret_guard == NULL)
        return ASX__EMPTY_IF(ASX_E_INVALID_ARGUMENT, ret_guard);
    asx_status st = asx__sync_enter(HEAD(mutex->mutex_), mutex->generation_, ASX_E_REGION_CLOSED,
                                    cx, &task);
    if (st >= 0)
        st = try_lock(task, mutex->mutex_, site, ret_guard);
    return ASX__EMPTY_IF(st, ret_guard);
}

static asx_status unlock(asx__mutex *m, asx__obligation *o)
{
    if (o->note != ASX__GUARD_HELD && o->note != ASX__GUARD_PARTED)
        return ASX_E_BUSY;
    let_go(m, o, ASX_OBLIGATION_COMMITTED);
    return ASX_OK;
}

asx_status asx_mutex_unlock(asx_mutex_guard *guard)
{
    ASX__GATE_SYNC(guard, mutex_, NULL, asx_mutex_unlock(guard));
    if (guard == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__guard_find(HEAD(guard->mutex_), guard->obligation_, guard->record_,
                                    ASX_E_REGION_CLOSED);
    return st < 0 ? st : unlock(guard->mutex_, guard->record_);
}

asx_status asx_mutex_info(const asx_mutex *mutex, asx_lock_info *ret_info)
{
    ASX__EMPTY(ret_info);
    ASX__GATE_SYNC(mutex, mutex_, NULL, asx_mutex_info(mutex, ret_info));
    if (mutex == NULL || ret_info == NULL)
        return ASX_E_INVALID_ARGUMENT;
    const asx__mutex *m = mutex->mutex_;
    asx_status st = asx__sync_resolve(HEAD(m), mutex->generation_, ASX_E_REGION_CLOSED);
    if (st < 0)
        return st;
    *ret_info = (asx_lock_info){
        .serial = m->sync.waits[0].waitable.serial,
        .available = m->holder == NULL,
        .held = m->holder != NULL,
        .waiters = m->sync.waiting,
        .poisoned = m->poisoned,
    };
    return ASX_OK;
}
