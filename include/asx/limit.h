/* limit.h - admission: a rate limiter and a circuit breaker, shared by the tasks of a runtime.
 *
 * Each belongs to the region it was created in and lives as long; afterwards every call through its
 * handle says ASX_E_REGION_CLOSED. A handle is a value and may be copied.
 *
 * Common statuses:
 *   ASX_E_INVALID_ARGUMENT  NULL, or a handle that never was one
 *   ASX_E_REGION_CLOSED     its region is finalizing or gone
 * and of calls that take a context: ASX_E_WRONG_CONTEXT, ASX_E_CAPABILITY (CHANNEL),
 * ASX_E_NOT_SUPPORTED (in a poll task), ASX_E_RESOURCE_EXHAUSTED.
 */
#ifndef ASX_LIMIT_H
#define ASX_LIMIT_H

#include <asx/sync.h>

ASX_BEGIN_DECLS

/* ---- rate limiter --------------------------------------------------------------------------- */

struct asx__bucket;

/* A token bucket: a token comes in every so often, and stays until it is taken, up to a number. */
typedef struct asx_rate_limiter {
    asx_region region_;
    asx_mutex turn_;
    struct asx__bucket *bucket_;
} asx_rate_limiter;

/* Zero in any field means its default. */
typedef struct asx_rate_limiter_options {
    const char *name; /* borrowed until the region is closed */
    uint64_t burst;   /* tokens that it holds at most, and at first; default 1 */
} asx_rate_limiter_options;

/* A token every `interval_ns`, at least 1. Failures stick to the region.
 *   ASX_E_REGION_NOT_OPEN, ASX_E_STALE_HANDLE, ASX_E_RESOURCE_EXHAUSTED */
ASX_API asx_status asx_rate_limiter_create(const asx_region *region, uint64_t interval_ns,
                                           const asx_rate_limiter_options *options,
                                           asx_rate_limiter *ret_limiter);

/* Waits until there are `n` tokens (1 .. burst) and takes them. Tasks are served in the order in
 * which they came. ASX_E_CANCELLED: none was taken. ASX_E_CAPABILITY also without TIME. Returns at
 * the resumption that follows a cancel request. */
ASX_API asx_status asx_rate_limiter_acquire(asx_cx *cx, const asx_rate_limiter *limiter,
                                            uint64_t n);
/* Never waits. ASX_E_BUSY: there are not enough, or others wait for them. */
ASX_API asx_status asx_rate_limiter_try_acquire(asx_cx *cx, const asx_rate_limiter *limiter,
                                                uint64_t n);

/* ---- circuit breaker ------------------------------------------------------------------------ */

struct asx__breaker;

/* X(NAME, "name") */
#define ASX_BREAKER_STATE_LIST(X)                                                                  \
    X(CLOSED, "closed")      /* calls go through */                                                \
    X(OPEN, "open")          /* calls are refused until the time is over */                        \
    X(HALF_OPEN, "half-open") /* one call at a time goes through, to try */

typedef enum asx_breaker_state {
#define ASX_BREAKER_STATE_ENUM_(name, text) ASX_BREAKER_##name,
    ASX_BREAKER_STATE_LIST(ASX_BREAKER_STATE_ENUM_)
#undef ASX_BREAKER_STATE_ENUM_
    ASX_BREAKER_STATE_COUNT
} asx_breaker_state;

/* NULL for a number that is none. */
ASX_API const char *asx_breaker_state_str(unsigned state);

typedef struct asx_breaker {
    asx_region region_;
    asx_mutex turn_;
    asx_semaphore probe_;
    struct asx__breaker *breaker_;
} asx_breaker;

/* Zero in any field means its default. */
typedef struct asx_breaker_options {
    const char *name;      /* borrowed until the region is closed */
    uint32_t failures_max; /* in a row, then it opens; default 5 */
    uint64_t open_ns;      /* until a call is let through to try; default 1 s */
} asx_breaker_options;

/* As asx_rate_limiter_create(). */
ASX_API asx_status asx_breaker_create(const asx_region *region, const asx_breaker_options *options,
                                      asx_breaker *ret_breaker);

/* fn(cx, arg) in the calling task, unless the breaker is open: ASX_E_ADMISSION_CLOSED. Returns what
 * fn returned. A failure counts; ASX_E_CANCELLED says nothing of the service and does not. In
 * half-open one call at a time is let through: if it succeeds the breaker closes, if it fails it
 * opens again. A task that panics or is completed by force in fn gives the try back and counts as
 * nothing. ASX_E_CANCELLED also when fn was not called. */
ASX_API asx_status asx_breaker_call(asx_cx *cx, const asx_breaker *breaker, asx_call_fn fn,
                                    void *arg);

typedef struct asx_breaker_info {
    asx_breaker_state state;
    uint32_t failures; /* in a row */
    uint64_t refused;  /* calls, ever */
} asx_breaker_info;
/* As it is now. */
ASX_API asx_status asx_breaker_get_info(const asx_breaker *breaker, asx_breaker_info *ret_info);

ASX_END_DECLS

#endif
