/* sync.h - locks and meeting points of the tasks of one runtime: mutex, read-write lock, semaphore,
 * condition, notify, barrier, once.
 *
 * Each belongs to the region it was created in and lives as long; afterwards every call through
 * its handle returns ASX_E_REGION_CLOSED, and so does every wait in it. A handle is a value and may
 * be copied. Nothing is allocated by locking and unlocking but the record of the guard, which is
 * recycled.
 *
 * Waiting is fair: what becomes free goes to the task that came first, and no task passes it. A
 * cancelled wait has taken nothing. A call that waits is a cancellation point and returns at the
 * resumption that follows a cancel request; calls that release, signal or try never wait and are
 * none. To wait for a limited time, wait in a region with a deadline.
 *
 * What a task obtains is a guard: a value that is given back exactly once. A copy of one that was
 * given back is refused with ASX_E_OBLIGATION_ALREADY_RESOLVED. A guard belongs to the task that
 * obtained it, also when another one gives it back. When a task ends without having given it back,
 * the guard is released, and the close report of its region names the line that obtained it. If the
 * task panicked or was completed by force while it could write, a mutex or read-write lock is
 * poisoned: from then on every call that would lock it returns ASX_E_POISONED, until a task calls
 * its recover function.
 *
 * Common statuses:
 *   ASX_E_INVALID_ARGUMENT  NULL, or a handle or guard that never was one
 *   ASX_E_REGION_CLOSED     the object's region is finalizing or gone
 * and of calls that take a context: ASX_E_WRONG_CONTEXT, ASX_E_CAPABILITY (CHANNEL),
 * and of those that wait: ASX_E_CANCELLED, ASX_E_WOULD_BLOCK, ASX_E_BUSY (see cx.h).
 */
#ifndef ASX_SYNC_H
#define ASX_SYNC_H

#include <asx/obligation.h>

ASX_BEGIN_DECLS

struct asx__obligation;

typedef struct asx_lock_info {
    uint64_t serial;    /* counts creations of its type, as in the journal */
    uint64_t available; /* permits; 1 if a mutex is free or a lock can be read now; else 0 */
    uint64_t held;      /* guards, or permits, that tasks have */
    size_t waiters;
    bool poisoned;
} asx_lock_info;

/* ---- mutex ---------------------------------------------------------------------------------- */

struct asx__mutex;

/* Zero in any field means its default. */
typedef struct asx_mutex_options {
    const char *name; /* borrowed until the region is closed; NULL: none */
} asx_mutex_options;

typedef struct asx_mutex {
    struct asx__mutex *mutex_;
    uint64_t generation_;
} asx_mutex;

typedef struct asx_mutex_guard {
    struct asx__mutex *mutex_;
    uint64_t obligation_;
    struct asx__obligation *record_;
} asx_mutex_guard;

/* A mutex that is free.
 *   ASX_E_REGION_NOT_OPEN, ASX_E_STALE_HANDLE, ASX_E_RESOURCE_EXHAUSTED; the failures stick to the
 *   region, and one that stuck before is returned */
ASX_API asx_status asx_mutex_create(const asx_region *region, const asx_mutex_options *options,
                                    asx_mutex *ret_mutex);

/* Waits until the mutex is the caller's.
 *   ASX_E_CANCELLED, ASX_E_WOULD_BLOCK
 *   ASX_E_WOULD_DEADLOCK      the caller has it already
 *   ASX_E_POISONED            see asx_mutex_recover()
 *   ASX_E_RESOURCE_EXHAUSTED  no record for the guard, or a ceiling on obligations */
ASX_API ASX_MUST_USE asx_status asx_mutex_lock(asx_cx *cx, const asx_mutex *mutex,
                                               asx_mutex_guard *ret_guard);
ASX_API ASX_MUST_USE asx_status asx_mutex_lock_at(asx_cx *cx, const asx_mutex *mutex,
                                                  asx_mutex_guard *ret_guard, const char *site);
#define asx_mutex_lock(...) ASX_PLACED_(asx_mutex_lock, __VA_ARGS__)
/* Never waits. ASX_E_BUSY: it is locked; else as asx_mutex_lock(). */
ASX_API ASX_MUST_USE asx_status asx_mutex_try_lock(asx_cx *cx, const asx_mutex *mutex,
                                                   asx_mutex_guard *ret_guard);
ASX_API ASX_MUST_USE asx_status asx_mutex_try_lock_at(asx_cx *cx, const asx_mutex *mutex,
                                                      asx_mutex_guard *ret_guard, const char *site);
#define asx_mutex_try_lock(...) ASX_PLACED_(asx_mutex_try_lock, __VA_ARGS__)
/* As asx_mutex_lock(), but takes a poisoned one too, and the poison ends: the caller puts in order
 * what the mutex protects before it unlocks. */
ASX_API ASX_MUST_USE asx_status asx_mutex_recover(asx_cx *cx, const asx_mutex *mutex,
                                                  asx_mutex_guard *ret_guard);
ASX_API ASX_MUST_USE asx_status asx_mutex_recover_at(asx_cx *cx, const asx_mutex *mutex,
                                                     asx_mutex_guard *ret_guard, const char *site);
#define asx_mutex_recover(...) ASX_PLACED_(asx_mutex_recover, __VA_ARGS__)
/* Hands the mutex to the first waiter; consumes the guard.
 * ASX_E_OBLIGATION_ALREADY_RESOLVED, ASX_E_BUSY (its task waits with it in a condition). */
ASX_API asx_status asx_mutex_unlock(asx_mutex_guard *guard);
/* As it is now. So are the others that end in _info. */
ASX_API asx_status asx_mutex_info(const asx_mutex *mutex, asx_lock_info *ret_info);

/* ---- read-write lock ------------------------------------------------------------------------ */

struct asx__rwlock;

/* Zero in any field means its default. */
typedef struct asx_rwlock_options {
    const char *name; /* borrowed until the region is closed; NULL: none */
} asx_rwlock_options;

typedef struct asx_rwlock {
    struct asx__rwlock *rwlock_;
    uint64_t generation_;
} asx_rwlock;

typedef struct asx_rwlock_guard {
    struct asx__rwlock *rwlock_;
    uint64_t obligation_;
    struct asx__obligation *record_;
} asx_rwlock_guard;

/* As asx_mutex_create(). */
ASX_API asx_status asx_rwlock_create(const asx_region *region, const asx_rwlock_options *options,
                                     asx_rwlock *ret_rwlock);

/* Many tasks may read at once, or one may write. They are served in the order of arrival, so that
 * a writer that waits keeps new readers out. Statuses as for asx_mutex_lock().
 * ASX_E_WOULD_DEADLOCK: the caller would wait for a guard that it has itself. A task may read
 * twice at once as long as that needs no waiting. */
ASX_API ASX_MUST_USE asx_status asx_rwlock_read(asx_cx *cx, const asx_rwlock *rwlock,
                                                asx_rwlock_guard *ret_guard);
ASX_API ASX_MUST_USE asx_status asx_rwlock_read_at(asx_cx *cx, const asx_rwlock *rwlock,
                                                   asx_rwlock_guard *ret_guard, const char *site);
#define asx_rwlock_read(...) ASX_PLACED_(asx_rwlock_read, __VA_ARGS__)
ASX_API ASX_MUST_USE asx_status asx_rwlock_write(asx_cx *cx, const asx_rwlock *rwlock,
                                                 asx_rwlock_guard *ret_guard);
ASX_API ASX_MUST_USE asx_status asx_rwlock_write_at(asx_cx *cx, const asx_rwlock *rwlock,
                                                    asx_rwlock_guard *ret_guard, const char *site);
#define asx_rwlock_write(...) ASX_PLACED_(asx_rwlock_write, __VA_ARGS__)
/* Never wait. ASX_E_BUSY also when others wait. */
ASX_API ASX_MUST_USE asx_status asx_rwlock_try_read(asx_cx *cx, const asx_rwlock *rwlock,
                                                    asx_rwlock_guard *ret_guard);
ASX_API ASX_MUST_USE asx_status asx_rwlock_try_read_at(asx_cx *cx, const asx_rwlock *rwlock,
                                                       asx_rwlock_guard *ret_guard,
                                                       const char *site);
#define asx_rwlock_try_read(...) ASX_PLACED_(asx_rwlock_try_read, __VA_ARGS__)
ASX_API ASX_MUST_USE asx_status asx_rwlock_try_write(asx_cx *cx, const asx_rwlock *rwlock,
                                                     asx_rwlock_guard *ret_guard);
ASX_API ASX_MUST_USE asx_status asx_rwlock_try_write_at(asx_cx *cx, const asx_rwlock *rwlock,
                                                        asx_rwlock_guard *ret_guard,
                                                        const char *site);
#define asx_rwlock_try_write(...) ASX_PLACED_(asx_rwlock_try_write, __VA_ARGS__)
/* As asx_rwlock_write(), but takes a poisoned one too, and the poison ends. */
ASX_API ASX_MUST_USE asx_status asx_rwlock_recover(asx_cx *cx, const asx_rwlock *rwlock,
                                                   asx_rwlock_guard *ret_guard);
ASX_API ASX_MUST_USE asx_status asx_rwlock_recover_at(asx_cx *cx, const asx_rwlock *rwlock,
                                                      asx_rwlock_guard *ret_guard,
                                                      const char *site);
#define asx_rwlock_recover(...) ASX_PLACED_(asx_rwlock_recover, __VA_ARGS__)
/* Consumes the guard, of either sort. ASX_E_OBLIGATION_ALREADY_RESOLVED. */
ASX_API asx_status asx_rwlock_unlock(asx_rwlock_guard *guard);
ASX_API asx_status asx_rwlock_info(const asx_rwlock *rwlock, asx_lock_info *ret_info);

/* ---- semaphore ------------------------------------------------------------------------------ */

struct asx__semaphore;

/* Zero in any field means its default. */
typedef struct asx_semaphore_options {
    const char *name; /* borrowed until the region is closed; NULL: none */
} asx_semaphore_options;

typedef struct asx_semaphore {
    struct asx__semaphore *semaphore_;
    uint64_t generation_;
} asx_semaphore;

typedef struct asx_semaphore_permit {
    struct asx__semaphore *semaphore_;
    uint64_t obligation_;
    struct asx__obligation *record_;
} asx_semaphore_permit;

/* No more permits than this, free and held together. */
#define ASX_SEMAPHORE_PERMITS_MAX (UINT64_MAX / 4)

/* With so many permits, 0 too. Otherwise as asx_mutex_create(). */
ASX_API asx_status asx_semaphore_create(const asx_region *region, uint64_t permits,
                                        const asx_semaphore_options *options,
                                        asx_semaphore *ret_semaphore);

/* Waits for `n` permits (at least 1) and takes all of them at once. A waiter that wants many is not
 * passed by those that want few. ASX_E_CANCELLED, ASX_E_WOULD_BLOCK, ASX_E_RESOURCE_EXHAUSTED. */
ASX_API ASX_MUST_USE asx_status asx_semaphore_acquire(asx_cx *cx, const asx_semaphore *semaphore,
                                                      uint32_t n, asx_semaphore_permit *ret_permit);
ASX_API ASX_MUST_USE asx_status asx_semaphore_acquire_at(asx_cx *cx, const asx_semaphore *semaphore,
                                                         uint32_t n,
                                                         asx_semaphore_permit *ret_permit,
                                                         const char *site);
#define asx_semaphore_acquire(...) ASX_PLACED_(asx_semaphore_acquire, __VA_ARGS__)
/* Never waits. ASX_E_BUSY also when others wait. */
ASX_API ASX_MUST_USE asx_status asx_semaphore_try_acquire(asx_cx *cx,
                                                          const asx_semaphore *semaphore,
                                                          uint32_t n,
                                                          asx_semaphore_permit *ret_permit);
ASX_API ASX_MUST_USE asx_status asx_semaphore_try_acquire_at(asx_cx *cx,
                                                             const asx_semaphore *semaphore,
                                                             uint32_t n,
                                                             asx_semaphore_permit *ret_permit,
                                                             const char *site);
#define asx_semaphore_try_acquire(...) ASX_PLACED_(asx_semaphore_try_acquire, __VA_ARGS__)
/* Gives all permits back; consumes the value. ASX_E_OBLIGATION_ALREADY_RESOLVED. */
ASX_API asx_status asx_semaphore_release(asx_semaphore_permit *permit);
/* Gives some of them back. More than it has, or 0, is ASX_E_INVALID_ARGUMENT and changes nothing;
 * all that it has consumes it. ASX_E_OBLIGATION_ALREADY_RESOLVED. */
ASX_API asx_status asx_semaphore_release_some(asx_semaphore_permit *permit, uint32_t n);
/* Makes new permits. ASX_E_RESOURCE_EXHAUSTED: there would be more than
 * ASX_SEMAPHORE_PERMITS_MAX. */
ASX_API asx_status asx_semaphore_add(const asx_semaphore *semaphore, uint64_t n);
ASX_API asx_status asx_semaphore_info(const asx_semaphore *semaphore, asx_lock_info *ret_info);

/* ---- condition ------------------------------------------------------------------------------ */

struct asx__condition;

/* Zero in any field means its default. */
typedef struct asx_condition_options {
    const char *name; /* borrowed until the region is closed; NULL: none */
} asx_condition_options;

typedef struct asx_condition {
    struct asx__condition *condition_;
    uint64_t generation_;
} asx_condition;

/* As asx_mutex_create(). */
ASX_API asx_status asx_condition_create(const asx_region *region,
                                        const asx_condition_options *options,
                                        asx_condition *ret_condition);

/* Gives the mutex up, waits until it is signalled, and takes the mutex back; the guard stays the
 * same one. Taking it back is not cancellable, so the caller has the mutex again whatever comes
 * back, but for the last two:
 *   ASX_OK               it was signalled
 *   ASX_E_CANCELLED      it was not
 *   ASX_E_POISONED       the mutex was poisoned meanwhile
 *   ASX_E_REGION_CLOSED  the condition is gone; or the mutex is, and then there is nothing to have
 *   ASX_E_WOULD_BLOCK    poll task: the mutex is given up; make the same call again
 * A poll task that does not make it again has parted from the mutex; unlocking the guard ends it.
 * ASX_E_NOT_OWNER: the guard is another task's. ASX_E_OBLIGATION_ALREADY_RESOLVED: it was given
 * back. A signal reaches those that wait when it is given,
 * and none is kept: ask again for what you wait for when you have the mutex. */
ASX_API ASX_MUST_USE asx_status asx_condition_wait(asx_cx *cx, const asx_condition *condition,
                                                   asx_mutex_guard *guard);
/* Wakes the first waiter, or all. They get the mutex in turn, behind the tasks that wait for it. */
ASX_API asx_status asx_condition_signal(const asx_condition *condition);
ASX_API asx_status asx_condition_broadcast(const asx_condition *condition);

/* ---- notify --------------------------------------------------------------------------------- */

struct asx__notify;

/* Zero in any field means its default. */
typedef struct asx_notify_options {
    const char *name; /* borrowed until the region is closed; NULL: none */
} asx_notify_options;

typedef struct asx_notify {
    struct asx__notify *notify_;
    uint64_t generation_;
} asx_notify;

/* As asx_mutex_create(). */
ASX_API asx_status asx_notify_create(const asx_region *region, const asx_notify_options *options,
                                     asx_notify *ret_notify);
/* Waits for a notification, or takes the one that is stored. ASX_E_CANCELLED, ASX_E_WOULD_BLOCK. */
ASX_API asx_status asx_notify_wait(asx_cx *cx, const asx_notify *notify);
/* Wakes the first waiter; if there is none, the notification is stored, and the next task that
 * would wait takes it. At most one is stored. */
ASX_API asx_status asx_notify_one(const asx_notify *notify);
/* Wakes the tasks that wait now, and stores nothing. */
ASX_API asx_status asx_notify_all(const asx_notify *notify);

/* ---- barrier -------------------------------------------------------------------------------- */

struct asx__barrier;

/* Zero in any field means its default. */
typedef struct asx_barrier_options {
    const char *name; /* borrowed until the region is closed; NULL: none */
} asx_barrier_options;

typedef struct asx_barrier {
    struct asx__barrier *barrier_;
    uint64_t generation_;
} asx_barrier;

/* For `parties` tasks, at least 1. Otherwise as asx_mutex_create(). */
ASX_API asx_status asx_barrier_create(const asx_region *region, uint32_t parties,
                                      const asx_barrier_options *options, asx_barrier *ret_barrier);
/* Waits until as many tasks wait as there are parties; then all go on, and the barrier can be used
 * again. *ret_leader (may be NULL) is true for the one that came last. A cancelled wait does not
 * count: ASX_E_CANCELLED. ASX_E_WOULD_BLOCK. */
ASX_API asx_status asx_barrier_wait(asx_cx *cx, const asx_barrier *barrier, bool *ret_leader);

/* ---- once ----------------------------------------------------------------------------------- */

struct asx__once;

/* Zero in any field means its default. */
typedef struct asx_once_options {
    const char *name; /* borrowed until the region is closed; NULL: none */
} asx_once_options;

typedef struct asx_once {
    struct asx__once *once_;
    uint64_t generation_;
} asx_once;

/* As asx_mutex_create(). */
ASX_API asx_status asx_once_create(const asx_region *region, const asx_once_options *options,
                                   asx_once *ret_once);
/* Runs fn(cx, arg) if no task has done so with success; one at a time, the others wait. ASX_OK: it
 * has been done, by this call or another. What the caller's own fn returned if that was a failure;
 * then, or if its task is cancelled or ends, the next one tries. fn may wait; in a poll task it
 * returns ASX_E_WOULD_BLOCK and is called again when the call is repeated.
 *   ASX_E_WOULD_DEADLOCK  called from inside fn
 *   ASX_E_CANCELLED, ASX_E_WOULD_BLOCK, ASX_E_RESOURCE_EXHAUSTED */
ASX_API ASX_MUST_USE asx_status asx_once_call(asx_cx *cx, const asx_once *once, asx_call_fn fn,
                                              void *arg);
ASX_API ASX_MUST_USE asx_status asx_once_call_at(asx_cx *cx, const asx_once *once, asx_call_fn fn,
                                                 void *arg, const char *site);
#define asx_once_call(...) ASX_PLACED_(asx_once_call, __VA_ARGS__)
ASX_API asx_status asx_once_is_done(const asx_once *once, bool *ret_done);

ASX_END_DECLS

#endif
