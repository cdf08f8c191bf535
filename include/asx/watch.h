/* watch.h - the newest value of something, and a way to wait until it changes.
 *
 * A watch always has a value, and a version that counts its changes from 1. A reader remembers the
 * version that it has seen and waits for another; values in between are not kept. The handle is a
 * value that may be copied; every task that has it may set the value and read it.
 *
 * A watch belongs to the region that created it and lives as long.
 *
 * Common statuses:
 *   ASX_E_INVALID_ARGUMENT  NULL, or a handle that never was one
 *   ASX_E_DISCONNECTED      it is closed, or its region is gone
 * and of calls that take a context: ASX_E_WRONG_CONTEXT, ASX_E_CAPABILITY (CHANNEL),
 * and of those that wait: ASX_E_CANCELLED, ASX_E_WOULD_BLOCK, ASX_E_BUSY (see cx.h).
 */
#ifndef ASX_WATCH_H
#define ASX_WATCH_H

#include <asx/obligation.h>

ASX_BEGIN_DECLS

struct asx__watched;

typedef struct asx_watch {
    struct asx__watched *watch_;
    uint64_t generation_;
} asx_watch;

/* Zero in any field means its default. */
typedef struct asx_watch_options {
    const char *name; /* borrowed until the region is closed; NULL: none */
} asx_watch_options;

/* With a first value of `element_size` bytes (at least 1), which is copied.
 *   ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED, ASX_E_STALE_HANDLE, ASX_E_RESOURCE_EXHAUSTED; the
 *   failures stick to the region */
ASX_API asx_status asx_watch_create(const asx_region *region, size_t element_size,
                                    const void *value, const asx_watch_options *options,
                                    asx_watch *ret_watch);
/* Sets a new value and wakes all waiters. Never waits, and is not a cancellation point. */
ASX_API asx_status asx_watch_send(const asx_watch *watch, const void *value);
/* The value and its version; either may be NULL. Also when it is closed. */
ASX_API asx_status asx_watch_get(const asx_watch *watch, void *ret_value, uint64_t *ret_version);
/* Waits until the version is another one than *seen, then gives the value (ret_value may be NULL)
 * and its version in *seen. With *seen == 0 it does not wait. When the watch is closed it gives
 * what has not been seen, and then ASX_E_DISCONNECTED.
 *   ASX_E_CANCELLED (nothing was seen), ASX_E_WOULD_BLOCK
 * Returns at the resumption that follows a cancel request. */
ASX_API asx_status asx_watch_changed(asx_cx *cx, const asx_watch *watch, uint64_t *seen,
                                     void *ret_value);
/* The value does not change any more; waiters return ASX_E_DISCONNECTED. */
ASX_API asx_status asx_watch_close(const asx_watch *watch);

/* Typed wrappers: ASX_WATCH_TYPE(level, int) makes level_create(), level_send(), level_get() and
 * level_changed(). */
#define ASX_WATCH_TYPE(name, type)                                                                 \
    ASX_INLINE asx_status name##_create(const asx_region *region, type value,                      \
                                        const asx_watch_options *options, asx_watch *ret_watch)    \
    {                                                                                              \
        return asx_watch_create(region, sizeof(type), &value, options, ret_watch);                 \
    }                                                                                              \
    ASX_INLINE asx_status name##_send(const asx_watch *watch, type value)                          \
    {                                                                                              \
        return asx_watch_send(watch, &value);                                                      \
    }                                                                                              \
    ASX_INLINE asx_status name##_get(const asx_watch *watch, type *ret_value)                      \
    {                                                                                              \
        return asx_watch_get(watch, ret_value, NULL);                                              \
    }                                                                                              \
    ASX_INLINE asx_status name##_changed(asx_cx *cx, const asx_watch *watch, uint64_t *seen,       \
                                         type *ret_value)                                          \
    {                                                                                              \
        return asx_watch_changed(cx, watch, seen, ret_value);                                      \
    }

ASX_END_DECLS

#endif
