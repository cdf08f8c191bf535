/* placed.c - the functions behind the macros that record their place.
 *
 * asx_spawn(...) is a macro, which calls asx_spawn_at() with the place of the call. For function
 * pointers, for other languages, and for compilers that say which argument is wrong, it is a
 * function too. A call of that one has no place. So is every other call that records its place. */
#include "sync/sync.h"

#include <asx/asx.h>

/* Name, parameters, arguments. */
#define PLACED(name, parameters, ...)                                                              \
    asx_status(name) parameters                                                                    \
    {                                                                                              \
        return name##_at(__VA_ARGS__, NULL);                                                       \
    }

PLACED(asx_spawn,
       (const asx_region *region, const char *name, asx_task_fn fn, void *arg),
       region, name, fn, arg)
PLACED(asx_spawn_copy,
       (const asx_region *region, const char *name, asx_task_fn fn, const void *source,
        size_t size),
       region, name, fn, source, size)
PLACED(asx_spawn_poll,
       (const asx_region *region, const char *name, asx_poll_fn fn, void *state),
       region, name, fn, state)
PLACED(asx_spawn_task,
       (const asx_region *region, asx_task_fn fn, void *arg, const asx_spawn_options *options,
        asx_task *ret_task),
       region, fn, arg, options, ret_task)
PLACED(asx_spawn_poll_task,
       (const asx_region *region, asx_poll_fn fn, void *state, const asx_spawn_options *options,
        asx_task *ret_task),
       region, fn, state, options, ret_task)
PLACED(asx_spawn_blocking,
       (const asx_region *region, const char *name, asx_blocking_fn fn, void *arg,
        asx_task *ret_task),
       region, name, fn, arg, ret_task)
PLACED(asx_region_open,
       (asx_cx *cx, const asx_region_options *options, asx_region *ret_region),
       cx, options, ret_region)
PLACED(asx_region_open_in,
       (asx_cx *cx, const asx_region *parent, const asx_region_options *options,
        asx_region *ret_region),
       cx, parent, options, ret_region)
PLACED(asx_obligation_reserve,
       (const asx_region *region, asx_obligation_kind kind, asx_obligation *ret_obligation),
       region, kind, ret_obligation)
PLACED(asx_channel_reserve_tracked,
       (asx_cx *cx, const asx_channel_sender *sender, asx_tracked_permit *ret_permit),
       cx, sender, ret_permit)
PLACED(asx_oneshot_adopt, (asx_cx *cx, const asx_oneshot_sender *sender), cx, sender)
PLACED(asx_once_call,
       (asx_cx *cx, const asx_once *once, asx_call_fn fn, void *arg),
       cx, once, fn, arg)

#define LOCKS(name, type)                                                                          \
    PLACED(name, (asx_cx * cx, const type *lock, type##_guard *ret_guard), cx, lock, ret_guard)
LOCKS(asx_mutex_lock, asx_mutex)
LOCKS(asx_mutex_try_lock, asx_mutex)
LOCKS(asx_mutex_recover, asx_mutex)
LOCKS(asx_rwlock_read, asx_rwlock)
LOCKS(asx_rwlock_write, asx_rwlock)
LOCKS(asx_rwlock_try_read, asx_rwlock)
LOCKS(asx_rwlock_try_write, asx_rwlock)
LOCKS(asx_rwlock_recover, asx_rwlock)

#define ACQUIRES(name)                                                                             \
    PLACED(name,                                                                                   \
           (asx_cx * cx, const asx_semaphore *semaphore, uint32_t n,                               \
            asx_semaphore_permit *ret_permit),                                                     \
           cx, semaphore, n, ret_permit)
ACQUIRES(asx_semaphore_acquire)
ACQUIRES(asx_semaphore_try_acquire)
