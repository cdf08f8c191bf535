/* semaphore.c - permits that are counted.
 *
 *     available + held + granted = created + added
 *     a waiter exists => the first one wants more than is available
 *
 * A guard of kind semaphore-permit holds `detail` permits. What a fiber wants stands where it
 * waits, what a poll task wants in its extra part. The queue is served from its front only: a
 * task that wants many gets them as they come back, and is not starved by those that want few.
 */
#include "sync/object.h"

#include <asx/sync.h>

#define HEAD(semaphore_) ((asx__sync *)(void *)(semaphore_))

typedef struct asx__semaphore {
    asx__sync sync;
    uint64_t available;
    uint64_t total;
} asx__semaphore;
_Static_assert(sizeof(asx__semaphore) <= ASX__SYNC_RECORD_SIZE, "fits the slab");

typedef struct semaphore_io {
    asx_semaphore_permit permit;
    const char *site;
    uint32_t n;
} semaphore_io;
ASX__GUARD_LAYOUT(asx_semaphore_permit);

/* What a waiting task wants, or was granted. */
static uint64_t wanted(const asx__task *task)
{
    return task->flags & ASX__T_POLL ? task->extra->wait_note
                                     : ((const semaphore_io *)task->r.io)->n;
}

static __attribute__((unused)) bool is_valid(const asx__semaphore *sem)
{
    return sem->available <= sem->total && sem->total <= ASX_SEMAPHORE_PERMITS_MAX &&
           (sem->sync.waiting == 0 || wanted(asx__sync_first(&sem->sync)) > sem->available);
}

static void journal(asx__semaphore *sem, const asx__task *task, uint32_t kind, uint64_t n)
{
    if (!sem->sync.rt->tracing)
        return;
    bool acquire = kind == ASX_EVENT_SEMAPHORE_ACQUIRE;
    uint64_t seq = asx__sync_journal(&sem->sync, task, kind, n, sem->available,
                                     acquire ? sem->sync.seq : 0);
    if (!acquire)
        sem->sync.seq = seq;
}

/* ---- taking and giving ---------------------------------------------------------------------- */

/* A guard for `task`, whose permits have been taken. False: no memory. */
static bool hold(asx__semaphore *sem, asx__task *task, uint32_t n, const char *site,
                 enum asx__guard_note note, asx_semaphore_permit *ret_permit)
{
    asx__obligation *o = asx__guard_new(&sem->sync, task, ASX_OBLIGATION_KIND_SEMAPHORE_PERMIT,
                                        site, note);
    if (o == NULL)
        return false;
    o->detail = n;
    journal(sem, task, ASX_EVENT_SEMAPHORE_ACQUIRE, n);
    ret_permit->semaphore_ = sem;
    ret_permit->obligation_ = asx__obligation_id(o);
    ret_permit->record_ = o;
    return true;
}

static void serve(asx__semaphore *sem, asx__task *task)
{
    uint64_t n = wanted(task);
    asx__sync_unlink(&sem->sync, task);
    sem->available -= n;
    if (task->flags & ASX__T_POLL) {
        asx__sync_grant(&sem->sync, task);
        return;
    }
    semaphore_io *io = task->r.io;
    bool done = hold(sem, task, io->n, io->site, ASX__GUARD_ON_ITS_WAY, &io->permit);
    if (!done)
        sem->available += n;
    asx__sync_hand_over(&sem->sync, task, done);
}

static void settle(asx__semaphore *sem)
{
    while (sem->sync.waiting != 0 && wanted(asx__sync_first(&sem->sync)) <= sem->available)
        serve(sem, asx__sync_first(&sem->sync));
    ASX__AUDIT_ASSERT(is_valid(sem));
}

static void give_back(asx__semaphore *sem, uint64_t n)
{
    sem->available += n;
    settle(sem);
}

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__semaphore *sem = (asx__semaphore *)(void *)asx__sync_of(waitable);
    (void)rt;
    if (granted) {
        if (asx__sync_ungrant(&sem->sync))
            give_back(sem, wanted(task));
        return;
    }
    asx__sync_unlink(&sem->sync, task);
    settle(sem); /* it may have wanted more than those behind it */
}

static void give_up(asx__semaphore *sem, asx__obligation *o, asx_obligation_state to)
{
    uint32_t n = o->detail;
    (void)asx__sync_announce(&sem->sync, ASX__OP_RELEASE, .semaphore.permits = n);
    asx__guard_resolve(&sem->sync, o, to);
    sem->available += n;
    journal(sem, sem->sync.rt->current, ASX_EVENT_SEMAPHORE_RELEASE, n);
    settle(sem);
}

static void release(asx__sync *s, asx__obligation *o)
{
    if (o->note == ASX__GUARD_HELD)
        asx__guard_note_left(o);
    give_up((asx__semaphore *)(void *)s, o, ASX_OBLIGATION_ABORTED);
}

static void end(asx__sync *s)
{
    asx__sync_wake_all(s, ASX_E_REGION_CLOSED);
}

static const asx__sync_type semaphore_type = {
    .kind = ASX__SYNC_SEMAPHORE,
    .created = ASX_EVENT_SEMAPHORE_CREATE,
    .waits = { { ASX__WAIT_SEMAPHORE_ACQUIRE, NULL, unpublish } },
    .release = release,
    .end = end,
};

/* ---- calls ---------------------------------------------------------------------------------- */

asx_status asx_semaphore_create(const asx_region *region, uint64_t permits,
                                const asx_semaphore_options *options, asx_semaphore *ret_semaphore)
{
    ASX__EMPTY(ret_semaphore);
    ASX__GATE_REGION(region, asx_semaphore_create(&in, permits, options, ret_semaphore));
    asx__sync *s = NULL;
    bool good = ret_semaphore != NULL && permits <= ASX_SEMAPHORE_PERMITS_MAX;
    asx_status st =
        asx__sync_create(region, &semaphore_type, ASX__NAME_OF(options), 0, good, &s, NULL);
    if (st < 0)
        return st;
    asx__semaphore *sem = (asx__semaphore *)(void *)s;
    sem->available = permits;
    sem->total = permits;
    asx__sync_created(s, permits);
    ret_semaphore->semaphore_ = sem;
    ret_semaphore->generation_ = s->generation;
    return ASX_OK;
}

/* The permits have been taken for the running task. */
static asx_status take(asx__semaphore *sem, asx__task *task, uint32_t n, const char *site,
                       asx_semaphore_permit *ret_permit)
{
    if (ASX__UNLIKELY(!hold(sem, task, n, site, ASX__GUARD_HELD, ret_permit))) {
        give_back(sem, n);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    ASX__AUDIT_ASSERT(is_valid(sem));
    return ASX_OK;
}

static bool must_wait(const asx__semaphore *sem, uint32_t n)
{
    return sem->sync.waiting != 0 || sem->available < n;
}

static asx_status wait_for(asx__semaphore *sem, asx__task *task, uint32_t n, const char *site,
                           asx_semaphore_permit *ret_permit)
{
    if (task->flags & ASX__T_POLL) {
        asx__extra *extra = asx__task_extra(sem->sync.rt, task);
        if (extra == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        extra->wait_note = n;
    }
    semaphore_io io = { .site = site, .n = n };
    asx_status st = asx__sync_wait_in(&sem->sync, task, 0, &io);
    if (st < 0)
        return st;
    asx__guard_arrived(HEAD(io.permit.semaphore_), io.permit.obligation_, io.permit.record_);
    *ret_permit = io.permit;
    return ASX_OK;
}

static asx_status acquire(asx_runtime *rt, asx__task *task, asx__semaphore *sem, uint32_t n,
                          const char *site, asx_semaphore_permit *ret_permit)
{
    (void)asx__sync_announce(&sem->sync, ASX__OP_ACQUIRE, .semaphore.permits = n);
    asx_status st = asx__checkpoint(rt, task);
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (asx__sync_granted(&sem->sync, task, 0)) {
        if (task->extra->wait_note == n)
            return take(sem, task, n, site, ret_permit);
        give_back(sem, task->extra->wait_note); /* it asks for something else now */
    }
    if (must_wait(sem, n)) {
        st = asx__wait_prepare(rt, task, asx__sync_waitable(&sem->sync, 0));
        if (st < 0)
            return st;
    }
    if (must_wait(sem, n))
        return wait_for(sem, task, n, site, ret_permit);
    sem->available -= n;
    return take(sem, task, n, site, ret_permit);
}

asx_status asx_semaphore_acquire_at(asx_cx *cx, const asx_semaphore *semaphore, uint32_t n,
                                    asx_semaphore_permit *ret_permit, const char *site)
{
    ASX__GATE_SYNC(semaphore, semaphore_, cx,
                   asx_semaphore_acquire_at(in_cx, semaphore, n, ret_permit, site));
    asx__task *task;
    if (semaphore == NULL || ret_permit == NULL || n == 0)
        return ASX__EMPTY_IF(ASX_E_INVALID_ARGUMENT, ret_permit);
    asx_status st = asx__sync_enter(HEAD(semaphore->semaphore_), semaphore->generation_,
                                    ASX_E_REGION_CLOSED, cx, &task);
    if (st >= 0)
        st = acquire(cx->rt_, task, semaphore->semaphore_, n, site, ret_permit);
    return ASX__EMPTY_IF(st, ret_permit);
}

static asx_status try_acquire(asx__task *task, asx__semaphore *sem, uint32_t n, const char *site,
                              asx_semaphore_permit *ret_permit)
{
    (void)asx__sync_announce(&sem->sync, ASX__OP_TRY_ACQUIRE, .semaphore.permits = n);
    if (must_wait(sem, n))
        return ASX_E_BUSY;
    sem->available -= n;
    return take(sem, task, n, site, ret_permit);
}

asx_status asx_semaphore_try_acquire_at(asx_cx *cx, const asx_semaphore *semaphore, uint32_t n,
                                        asx_semaphore_permit *ret_permit, const char *site)
{
    ASX__GATE_SYNC(semaphore, semaphore_, cx,
                   asx_semaphore_try_acquire_at(in_cx, semaphore, n, ret_permit, site));
    asx__task *task;
    if (semaphore == NULL || ret_permit == NULL || n == 0)
        return ASX__EMPTY_IF(ASX_E_INVALID_ARGUMENT, ret_permit);
    asx_status st = asx__sync_enter(HEAD(semaphore->semaphore_), semaphore->generation_,
                                    ASX_E_REGION_CLOSED, cx, &task);
    if (st >= 0)
        st = try_acquire(task, semaphore->semaphore_, n, site, ret_permit);
    return ASX__EMPTY_IF(st, ret_permit);
}

static asx_status find(const asx_semaphore_permit *permit)
{
    if (permit == NULL)
        return ASX_E_INVALID_ARGUMENT;
    return asx__guard_find(HEAD(permit->semaphore_), permit->obligation_, permit->record_,
                           ASX_E_REGION_CLOSED);
}

asx_status asx_semaphore_release(asx_semaphore_permit *permit)
{
    ASX__GATE_SYNC(permit, semaphore_, NULL, asx_semaphore_release(permit));
    asx_status st = find(permit);
    if (st < 0)
        return st;
    give_up(permit->semaphore_, permit->record_, ASX_OBLIGATION_COMMITTED);
    return ASX_OK;
}

static asx_status release_some(asx__semaphore *sem, asx__obligation *o, uint32_t n)
{
    if (n == 0 || n > o->detail)
        return ASX_E_INVALID_ARGUMENT;
    if (n == o->detail) {
        give_up(sem, o, ASX_OBLIGATION_COMMITTED);
        return ASX_OK;
    }
    (void)asx__sync_announce(&sem->sync, ASX__OP_RELEASE, .semaphore.permits = n);
    o->detail -= n;
    sem->available += n;
    journal(sem, sem->sync.rt->current, ASX_EVENT_SEMAPHORE_RELEASE, n);
    settle(sem);
    return ASX_OK;
}

asx_status asx_semaphore_release_some(asx_semaphore_permit *permit, uint32_t n)
{
    ASX__GATE_SYNC(permit, semaphore_, NULL, asx_semaphore_release_some(permit, n));
    asx_status st = find(permit);
    return st < 0 ? st : release_some(permit->semaphore_, permit->record_, n);
}

static asx_status add(asx__semaphore *sem, uint64_t n)
{
    if (n > ASX_SEMAPHORE_PERMITS_MAX - sem->total)
        return ASX_E_RESOURCE_EXHAUSTED;
    (void)asx__sync_announce(&sem->sync, ASX__OP_RELEASE, .semaphore.permits = n);
    sem->total += n;
    sem->available += n;
    journal(sem, sem->sync.rt->current, ASX_EVENT_SEMAPHORE_ADD, n);
    settle(sem);
    return ASX_OK;
}

asx_status asx_semaphore_add(const asx_semaphore *semaphore, uint64_t n)
{
    ASX__GATE_SYNC(semaphore, semaphore_, NULL, asx_semaphore_add(semaphore, n));
    if (semaphore == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sync_resolve(HEAD(semaphore->semaphore_), semaphore->generation_,
                                      ASX_E_REGION_CLOSED);
    return st < 0 ? st : add(semaphore->semaphore_, n);
}

asx_status asx_semaphore_info(const asx_semaphore *semaphore, asx_lock_info *ret_info)
{
    ASX__EMPTY(ret_info);
    ASX__GATE_SYNC(semaphore, semaphore_, NULL, asx_semaphore_info(semaphore, ret_info));
    if (semaphore == NULL || ret_info == NULL)
        return ASX_E_INVALID_ARGUMENT;
    const asx__semaphore *sem = semaphore->semaphore_;
    asx_status st = asx__sync_resolve(HEAD(sem), semaphore->generation_, ASX_E_REGION_CLOSED);
    if (st < 0)
        return st;
    *ret_info = (asx_lock_info){
        .serial = sem->sync.waits[0].waitable.serial,
        .available = sem->available,
        .held = sem->total - sem->available,
        .waiters = sem->sync.waiting,
    };
    return ASX_OK;
}
