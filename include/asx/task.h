/* task.h - spawning, joining, cancelling.
 *
 * A task runs either on a fiber (a function that may wait anywhere) or as a poll function (no
 * stack; it returns ASX_POLL_PENDING instead of waiting). Both use the same calls.
 *
 * A task spawned without asking for a handle is only ever seen through its region. One spawned
 * with a handle keeps its record until it is joined or its region is closed.
 */
#ifndef ASX_TASK_H
#define ASX_TASK_H

#include <asx/region.h>

ASX_BEGIN_DECLS

struct asx__task;

typedef struct asx_task {
    struct asx__task *task_;
    asx_task_id id;
    asx_runtime *gate_;
} asx_task;

typedef asx_status (*asx_task_fn)(asx_cx *cx, void *arg);

typedef enum asx_poll {
    ASX_POLL_READY = 0,
    ASX_POLL_PENDING = 1,
    ASX_POLL_ERROR = 2 /* the status was set with asx_poll_fail(); else ASX_E_INVALID_ARGUMENT */
} asx_poll;
typedef asx_poll (*asx_poll_fn)(asx_cx *cx, void *state);

/* Zero in any field means its default. */
typedef struct asx_spawn_options {
    const char *name;         /* borrowed until the task has ended */
    const asx_budget *budget; /* met with the region's */
    size_t stack_size;        /* fibers; rounded up to a power of two; default: the runtime's */
    const void *copy;         /* the argument is `copy_size` bytes copied from here into */
    size_t copy_size;         /* region memory, instead of `arg` */
    uint32_t caps;            /* those of the region that are in here too; 0: all of them */
    uint32_t flags;           /* ASX_PINNED or 0 */
} asx_spawn_options;

/* For code that keeps thread-locals or is not thread-safe: the task always runs on the worker that
 * spawned it (on the one that runs the runtime, if another thread did, or a surplus worker that is
 * about to end). With one worker it says nothing. Any other flag is ASX_E_INVALID_ARGUMENT. */
enum { ASX_PINNED = 1 };

/* Spawns a fiber task; its argument is borrowed until it has ended.
 *   ASX_E_INVALID_ARGUMENT
 *   ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED, ASX_E_STALE_HANDLE
 *   ASX_E_CAPABILITY          through a handle that was narrowed past the region's state, or by a
 *                             task without SPAWN; it does not stick
 *   ASX_E_ADMISSION_CLOSED    tasks_max, or the region is finalizing; does not stick
 *   ASX_E_CANCELLED, ASX_E_WOULD_BLOCK, ASX_E_BUSY, ASX_E_WRONG_CONTEXT
 *                             admission waits: as every wait (cx.h); nothing was spawned
 *   ASX_E_RESOURCE_EXHAUSTED  a ceiling or memory; nothing changed; sticks
 *   the region's sticky set-up failure */
ASX_API asx_status asx_spawn(const asx_region *region, const char *name, asx_task_fn fn, void *arg);
ASX_API asx_status asx_spawn_at(const asx_region *region, const char *name, asx_task_fn fn,
                                void *arg, const char *site);
#define asx_spawn(...) ASX_PLACED_(asx_spawn, __VA_ARGS__)

/* A fiber task whose argument is a copy that lives as long as the region. */
ASX_API asx_status asx_spawn_copy(const asx_region *region, const char *name, asx_task_fn fn,
                                  const void *source, size_t size);
ASX_API asx_status asx_spawn_copy_at(const asx_region *region, const char *name, asx_task_fn fn,
                                     const void *source, size_t size, const char *site);
#define asx_spawn_copy(...) ASX_PLACED_(asx_spawn_copy, __VA_ARGS__)

/* A poll task; `state` is borrowed until it has ended. */
ASX_API asx_status asx_spawn_poll(const asx_region *region, const char *name, asx_poll_fn fn,
                                  void *state);
ASX_API asx_status asx_spawn_poll_at(const asx_region *region, const char *name, asx_poll_fn fn,
                                     void *state, const char *site);
#define asx_spawn_poll(...) ASX_PLACED_(asx_spawn_poll, __VA_ARGS__)

/* With options and a handle to join; either may be NULL. */
ASX_API asx_status asx_spawn_task(const asx_region *region, asx_task_fn fn, void *arg,
                                  const asx_spawn_options *options, asx_task *ret_task);
ASX_API asx_status asx_spawn_task_at(const asx_region *region, asx_task_fn fn, void *arg,
                                     const asx_spawn_options *options, asx_task *ret_task,
                                     const char *site);
#define asx_spawn_task(...) ASX_PLACED_(asx_spawn_task, __VA_ARGS__)
ASX_API asx_status asx_spawn_poll_task(const asx_region *region, asx_poll_fn fn, void *state,
                                       const asx_spawn_options *options, asx_task *ret_task);
ASX_API asx_status asx_spawn_poll_task_at(const asx_region *region, asx_poll_fn fn, void *state,
                                          const asx_spawn_options *options, asx_task *ret_task,
                                          const char *site);
#define asx_spawn_poll_task(...) ASX_PLACED_(asx_spawn_poll_task, __VA_ARGS__)

/* The value that a join of this task will give. The last one set counts. ASX_E_INVALID_ARGUMENT,
 * ASX_E_WRONG_CONTEXT. */
ASX_API asx_status asx_task_set_value(asx_cx *cx, uint64_t value);
ASX_API asx_status asx_task_set_pointer(asx_cx *cx, void *value);
/* In a poll function: `return asx_poll_fail(cx, status);`. */
ASX_API asx_poll asx_poll_fail(asx_cx *cx, asx_status status);

typedef struct asx_join_result {
    asx_outcome outcome;
    uint64_t value; /* as set by the task; 0 unless it ended Ok or Err */
} asx_join_result;

/* Waits until the task has ended and releases its record. The status speaks of the join; how the
 * task ended is in `ret_result` (may be NULL), which is an Err of ASX_E_NOT_FOUND if the join was
 * refused.
 *   ASX_E_STALE_HANDLE    joined before, or its region is closed
 *   ASX_E_BUSY            another task is joining it
 *   ASX_E_WOULD_DEADLOCK  the caller itself, or a task that waits for the caller's region
 *   ASX_E_CANCELLED, ASX_E_WOULD_BLOCK, ASX_E_INVALID_ARGUMENT, ASX_E_WRONG_CONTEXT */
ASX_API ASX_MUST_USE asx_status asx_join(asx_cx *cx, asx_task *task, asx_join_result *ret_result);

/* Requests cancellation; `reason` is copied, NULL: kind User. ASX_OK also when it was cancelled
 * before (then it strengthens) and when it has completed (then nothing changes).
 * ASX_E_STALE_HANDLE, ASX_E_INVALID_ARGUMENT, ASX_E_CAPABILITY (CANCEL; or a narrowed handle),
 * ASX_E_RESOURCE_EXHAUSTED. */
ASX_API asx_status asx_task_cancel(const asx_task *task, const asx_cancel_reason *reason);

/* When one of the two ends Err or Panicked the other is cancelled with kind LinkedExit.
 * ASX_E_STALE_HANDLE, ASX_E_INVALID_ARGUMENT (also for a task with itself),
 * ASX_E_RESOURCE_EXHAUSTED. */
ASX_API asx_status asx_task_link(const asx_task *a, const asx_task *b);

/* Where the task is now, Completed until it is joined or its region is closed. Changes nothing;
 * from any task of its runtime, or from outside. ASX_E_INVALID_ARGUMENT, ASX_E_STALE_HANDLE,
 * ASX_E_CAPABILITY (a handle that was narrowed past this state). */
ASX_API asx_status asx_task_get_state(const asx_task *task, asx_task_state *ret_state);
/* The witness of its cancellation, readable until joined or the region is closed; its strings and
 * causes are borrowed until then. ASX_E_NOT_FOUND when it was never cancelled. Also as
 * asx_task_get_state(). */
ASX_API asx_status asx_task_get_witness(const asx_task *task, asx_cancel_witness *ret_witness);
/* What is left to clean up after a cancel; ASX_E_NOT_FOUND when none was requested. Also as
 * asx_task_get_state(). */
ASX_API asx_status asx_task_get_cleanup(const asx_task *task, asx_budget *ret_budget);
/* What the machine answers to a raw transition now: ASX_OK or ASX_E_INVALID_TRANSITION. Changes
 * nothing. Also as asx_task_get_state(). */
ASX_API asx_status asx_task_probe(const asx_task *task, asx_task_state to);
/* The running task itself. ASX_E_INVALID_ARGUMENT, ASX_E_WRONG_CONTEXT. */
ASX_API asx_status asx_cx_task(const asx_cx *cx, asx_task *ret_task);

/* Typed tasks: ASX_TASK_TYPE(sum, int) makes sum_task, sum_return(), sum_spawn_at() and sum_join(),
 * whose values are of that type. Types up to 8 bytes travel in the task's record.
 * ASX_SPAWN_TYPED(sum, region, name, fn, arg, ret_task) calls sum_spawn_at() with its own place as
 * the site. */
#define ASX_SPAWN_TYPED(prefix, ...) prefix##_spawn_at(__VA_ARGS__, ASX_SITE)
#define ASX_TASK_TYPE(prefix, type)                                                                \
    typedef struct prefix##_task {                                                                 \
        asx_task task;                                                                             \
    } prefix##_task;                                                                               \
    ASX_INLINE asx_status prefix##_return(asx_cx *cx, type value)                                  \
    {                                                                                              \
        union {                                                                                    \
            type typed;                                                                            \
            uint64_t raw;                                                                          \
        } u;                                                                                       \
        typedef char prefix##_fits_in_8_bytes_[sizeof(type) <= 8 ? 1 : -1];                        \
        u.raw = sizeof(prefix##_fits_in_8_bytes_) - 1u;                                            \
        u.typed = value;                                                                           \
        return asx_task_set_value(cx, u.raw);                                                      \
    }                                                                                              \
    ASX_INLINE asx_status prefix##_spawn_at(const asx_region *region, const char *task_name,       \
                                            asx_task_fn fn, void *arg,                             \
                                            prefix##_task *ret_task, const char *site)             \
    {                                                                                              \
        asx_spawn_options options = { 0 };                                                         \
        options.name = task_name;                                                                  \
        return asx_spawn_task_at(region, fn, arg, &options, &ret_task->task, site);                \
    }                                                                                              \
    ASX_INLINE asx_status prefix##_join(asx_cx *cx, prefix##_task *task, type *ret_value,    \
                                        asx_outcome *ret_outcome)                                  \
    {                                                                                              \
        union {                                                                                    \
            type typed;                                                                            \
            uint64_t raw;                                                                          \
        } u;                                                                                       \
        asx_join_result result;                                                                    \
        asx_status st = asx_join(cx, &task->task, &result);                                        \
        if (st < 0)                                                                                \
            return st;                                                                             \
        u.raw = result.value;                                                                      \
        if (ret_value && result.outcome.kind == ASX_OUTCOME_OK)                                    \
            *ret_value = u.typed;                                                                  \
        if (ret_outcome)                                                                           \
            *ret_outcome = result.outcome;                                                         \
        return ASX_OK;                                                                             \
    }

ASX_END_DECLS

#endif
