/* timer.h - the timer wheel.
 *
 * Four levels of 256 slots (1 ms, 256 ms, 65.536 s and about 4.66 h wide) and a heap for what lies
 * beyond. Timers fire in the total order (deadline, registration), never before their deadline.
 * Cancelling is O(1). A wheel is used by one thread; the wheel of a runtime is used by the tasks
 * of that runtime.
 */
#ifndef ASX_TIMER_H
#define ASX_TIMER_H

#include <asx/status.h>
#include <asx/time.h>

ASX_BEGIN_DECLS

typedef struct asx_timer_wheel asx_timer_wheel;

/* What a timer hands back when it fires: a call that makes something runnable. It may not wait. */
typedef struct asx_waker {
    void (*wake)(void *arg);
    void *arg;
} asx_waker;

/* Copyable; a handle of a timer that has fired, was cancelled or never existed cancels nothing. */
typedef struct asx_timer_handle {
    uint64_t id;
    uint64_t generation;
} asx_timer_handle;

/* Zero in any field means its default. */
typedef struct asx_timer_config {
    asx_time start;                    /* the wheel's first "now" */
    uint64_t max_wheel_duration_ns;    /* beyond it: overflow heap; default 24 h */
    uint64_t max_timer_duration_ns;    /* beyond it: refused; default 7 days */
    uint64_t max_timers;               /* ceiling on live timers; default 2^32 - 2 */
    uint64_t coalesce_window_ns;       /* 0: no coalescing */
    uint32_t coalesce_min_group;       /* timers in a window that are fired together; default 2 */
    uint64_t first_generation;         /* where the counter starts; wraps safely; default 1 */
    uint64_t first_id;                 /* added to slot numbers in handles; wraps safely */
} asx_timer_config;

/* Creates a wheel of its own, on malloc. `config` may be NULL.
 * ASX_E_INVALID_ARGUMENT, ASX_E_RESOURCE_EXHAUSTED. */
ASX_API ASX_MUST_USE asx_status asx_timer_wheel_create(const asx_timer_config *config,
                                                       asx_timer_wheel **ret_wheel);
/* Destroys a wheel made by asx_timer_wheel_create(); pending timers are dropped unfired. NULL is
 * allowed. */
ASX_API void asx_timer_wheel_destroy(asx_timer_wheel *wheel);

/* Arms a timer; copies the waker. A deadline that has passed fires at the next collection.
 *   ASX_E_INVALID_ARGUMENT        NULL; a waker without a function to call
 *   ASX_E_TIMER_DURATION_EXCEEDED deadline - now is beyond the longest timer, as NEVER always is
 *   ASX_E_RESOURCE_EXHAUSTED      ceiling or memory; nothing changed */
ASX_API ASX_MUST_USE asx_status asx_timer_register(asx_timer_wheel *wheel, asx_time deadline,
                                                   asx_waker waker, asx_timer_handle *ret_handle);
/* Another name of the same call, which the specification has too. */
#define asx_timer_try_register asx_timer_register
/* True if the timer was pending and now will not fire; false for any stale handle. */
ASX_API bool asx_timer_cancel(asx_timer_wheel *wheel, const asx_timer_handle *handle);
/* Cancels `old_handle` if it is still pending and arms a new timer. On failure the old timer stays
 * as it was. Statuses as asx_timer_register(). */
ASX_API ASX_MUST_USE asx_status asx_timer_update(asx_timer_wheel *wheel,
                                                 const asx_timer_handle *old_handle,
                                                 asx_time new_deadline, asx_waker waker,
                                                 asx_timer_handle *ret_handle);
/* Moves the wheel to `now` (never backwards) and writes the wakers of up to `wakers_max` expired
 * timers in firing order. What did not fit stays expired and comes with the next call. Returns how
 * many were written. The caller calls them. */
ASX_API size_t asx_timer_collect_expired(asx_timer_wheel *wheel, asx_time now,
                                         asx_waker *ret_wakers, size_t wakers_max);
/* The earliest time at which something may fire (a lower bound is not enough: exact);
 * ASX_TIME_NEVER when nothing is pending. With coalescing, the time at which it would fire. */
ASX_API asx_time asx_timer_next_deadline(asx_timer_wheel *wheel);
/* Live timers. */
ASX_API uint64_t asx_timer_count(const asx_timer_wheel *wheel);

/* Inside of a wheel, for tests and reports. */
typedef struct asx_timer_stats {
    uint64_t live;
    uint64_t dead;             /* cancelled entries whose storage is not yet reclaimed */
    uint64_t level_entries[4]; /* physical entries, dead ones included */
    uint64_t overflow_entries;
    uint64_t near_entries;     /* due now or within the current tick */
    uint64_t storage_bytes;
    uint64_t cascades;         /* entries moved to a finer level */
    uint64_t purges;           /* times that dead storage was swept */
} asx_timer_stats;
ASX_API void asx_timer_wheel_stats(const asx_timer_wheel *wheel, asx_timer_stats *ret_stats);

ASX_END_DECLS

#endif
