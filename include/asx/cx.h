/* cx.h - the context of a running task: its identity, what it may use, whether it should stop.
 *
 * Every task gets an asx_cx. It is valid for that task while the task runs; given to another task
 * or used from outside it is refused with ASX_E_WRONG_CONTEXT. A context can be narrowed: the
 * narrowed one may do less, never more, and is handed to code that should not do the rest. It is
 * asked by calls that take a context. Calls that take a handle ask the handle, and the running task
 * for the capabilities that it was spawned with; code outside of any task has them all. A call
 * without its capability gets ASX_E_CAPABILITY, and nothing has changed.
 *
 * "Waits" below means: on a fiber the call parks the task and returns when it is done; in a poll
 * task it registers the waker and returns ASX_E_WOULD_BLOCK, the poll function returns
 * ASX_POLL_PENDING and makes the same call again when it is resumed. A wait that is not renewed in
 * the next resumption is withdrawn.
 *
 * A call that waits is a cancellation point: it first does what asx_checkpoint() does.
 *
 * Common statuses:
 *   ASX_E_INVALID_ARGUMENT  NULL
 * and of calls that take a context:
 *   ASX_E_WRONG_CONTEXT     it is another task's, or its task does not run
 * and of those that wait, here and in every other header:
 *   ASX_E_CANCELLED         nothing was done
 *   ASX_E_WOULD_BLOCK       poll task: not yet
 *   ASX_E_BUSY              poll task: it waits for something else in this resumption already
 *   ASX_E_WRONG_CONTEXT     in a cleanup on the runtime's side, which may not wait
 */
#ifndef ASX_CX_H
#define ASX_CX_H

#include <asx/cancel.h>
#include <asx/timer.h>

ASX_BEGIN_DECLS

/* X(NAME, bit). What is open is never gated: closing, dropping, joining, and resolving a permit, an
 * ack or an obligation need no capability, else no task could clean up. The last three are for
 * parts that this version does not have: no call asks for them, and programs may. */
#define ASX_CAP_LIST(X)                                                                            \
    X(SPAWN, 0)      /* spawn, open regions; join all, race, time-out */                           \
    X(TIME, 1)       /* sleep */                                                                   \
    X(CHANNEL, 2)    /* make channels and locks; send, receive, lock, all that waits for others */ \
    X(OBLIGATION, 3) /* reserve obligations and leases in a region */                              \
    X(CANCEL, 4)     /* cancel tasks and regions, shut the runtime down */                         \
    X(TRACE, 5)      /* write user events */                                                       \
    X(IO, 6)         /* submit input and output */                                                 \
    X(REMOTE, 7)     /* run named tasks elsewhere */                                               \
    X(SUPERVISE, 8)  /* restart actors */

enum {
#define ASX_CAP_ENUM_(name, bit) ASX_CAP_##name = 1 << (bit),
    ASX_CAP_LIST(ASX_CAP_ENUM_)
#undef ASX_CAP_ENUM_
    ASX_CAP_NONE = 0,
    ASX_CAP_ALL = 0x1ff
};

struct asx__task;
struct asx_runtime;

/* Fields are private; the struct is public so that a narrowed context needs no allocation. */
typedef struct asx_cx {
    struct asx__task *task_;
    struct asx_runtime *rt_;
    uint32_t caps_;
    uint32_t reserved_;
} asx_cx;

/* Writes a context that has only those capabilities of `cx` that are in `caps` too. Borrows `cx`'s
 * task: the narrowed context ends with it. ASX_E_INVALID_ARGUMENT. */
ASX_API ASX_MUST_USE asx_status asx_cx_narrow(const asx_cx *cx, uint32_t caps, asx_cx *ret_cx);
/* 0 for NULL. */
ASX_API uint32_t asx_cx_caps(const asx_cx *cx);

/* Identity. A handle of generation 0 for NULL. */
ASX_API asx_task_id asx_cx_task_id(const asx_cx *cx);
ASX_API asx_region_id asx_cx_region_id(const asx_cx *cx);
/* Runtime's time: read once per turn of the scheduler on the real clock. 0 for NULL. */
ASX_API asx_time asx_now(const asx_cx *cx);
/* What is left of the task's budget. */
ASX_API asx_status asx_cx_budget(const asx_cx *cx, asx_budget *ret_budget);

/* Cancellation.
 *
 * asx_checkpoint(): ASX_OK, or ASX_E_CANCELLED when a cancel is pending and not masked; the first
 * such call acknowledges it, and from then on every checkpoint says so. It is no wait itself: with
 * one worker no other task and no timer runs before the next wait, so a loop that computes for long
 * calls asx_yield() too. */
ASX_API asx_status asx_checkpoint(asx_cx *cx);
/* Asks without acknowledging; masks do not matter. False for NULL. */
ASX_API bool asx_is_cancelled(const asx_cx *cx);
/* The pending reason, borrowed until the region is closed. ASX_E_NOT_FOUND when there is none. */
ASX_API asx_status asx_cx_cancel_reason(const asx_cx *cx, const asx_cancel_reason **ret_reason);

#define ASX_MASK_DEPTH_MAX 8
/* Defers cancellation until the matching asx_mask_end(). Masks nest ASX_MASK_DEPTH_MAX deep and
 * hold for at most `polls_max` resumptions of the task (0: as many as its cleanup budget gives).
 * ASX_E_MASK_DEPTH; ASX_E_RESOURCE_EXHAUSTED: no memory, nothing is masked. */
ASX_API ASX_MUST_USE asx_status asx_mask_begin(asx_cx *cx, uint32_t polls_max);
/* ASX_E_MASK_DEPTH: none was begun, or it is not the caller's to end. */
ASX_API asx_status asx_mask_end(asx_cx *cx);

typedef asx_status (*asx_call_fn)(asx_cx *cx, void *arg);

/* Calls fn(cx, arg) masked; returns what it returned, or why it was not called: as
 * asx_mask_begin(). */
ASX_API ASX_MUST_USE asx_status asx_with_cancel_mask(asx_cx *cx, asx_call_fn fn, void *arg);
/* A masked section with a bound, for a commit: first checks for cancellation, and returns
 * ASX_E_CANCELLED without calling fn; then calls fn under a mask that holds for `polls_max`
 * resumptions of a cancelled task (at least 1; 0 is ASX_E_INVALID_ARGUMENT) and returns what fn
 * returned. On either vehicle; in a poll task fn gets ASX_E_WOULD_BLOCK from calls that wait, and
 * the section ends when it returns. ASX_E_MASK_DEPTH, ASX_E_RESOURCE_EXHAUSTED. */
ASX_API ASX_MUST_USE asx_status asx_commit_section(asx_cx *cx, uint32_t polls_max, asx_call_fn fn,
                                                   void *arg);
/* acquire, then use, then release: release runs exactly once if and only if acquire returned
 * ASX_OK, masked, also when use was cancelled, panicked or the task was completed by force (then
 * on the runtime's side). Returns acquire's failure, else use's, else release's; or, and then none
 * of them was called, ASX_E_RESOURCE_EXHAUSTED, or ASX_E_NOT_SUPPORTED: poll tasks have
 * asx_task_defer() instead. */
ASX_API ASX_MUST_USE asx_status asx_bracket(asx_cx *cx, asx_call_fn acquire, asx_call_fn use,
                                            asx_call_fn release, void *arg);

/* A cleanup of the task itself: runs when the task ends, last registered first, exactly once,
 * however the task ends. After asx_panic() or force-completion it runs on the runtime's side and
 * may not wait. `arg` is borrowed until then, when the task's own frames are gone: it lies in
 * region memory, or in memory of a task that outlives this one. ASX_E_RESOURCE_EXHAUSTED. */
ASX_API ASX_MUST_USE asx_status asx_task_defer(asx_cx *cx, asx_call_fn fn, void *arg);

/* Takes `cost` from the task's budget, all or none. ASX_E_BUDGET_EXHAUSTED also requests the
 * task's cancellation with kind CostBudget. */
ASX_API asx_status asx_consume_cost(asx_cx *cx, uint64_t cost);

/* Scheduling. Each waits; responsiveness to cancel: the resumption that follows the request.
 * asx_yield() lets others of the same lane and priority go first. In a poll task it returns
 * ASX_E_WOULD_BLOCK once and ASX_OK in the next resumption. */
ASX_API asx_status asx_yield(asx_cx *cx);
/* Waits until the time has come; ASX_E_CAPABILITY (TIME), ASX_E_RESOURCE_EXHAUSTED (timers), and
 * ASX_E_BUDGET_EXHAUSTED when the task's deadline has passed already. */
ASX_API asx_status asx_sleep(asx_cx *cx, uint64_t duration_ns);
ASX_API asx_status asx_sleep_until(asx_cx *cx, asx_time deadline);

/* A waker of this task, for code outside asx: a poll task that waits for something of its own
 * takes one, returns ASX_POLL_PENDING, and is resumed after it was called; a fiber waits with
 * asx_wait_external(). Calling it when the task does not wait is remembered once; calling it after
 * the task ended does nothing. Valid until the task's region is closed. With several workers
 * any thread may call it; else the one that runs the runtime. ASX_E_RESOURCE_EXHAUSTED. */
ASX_API ASX_MUST_USE asx_status asx_cx_waker(asx_cx *cx, asx_waker *ret_waker);
/* Waits until the task's waker has been called since the last such wait. ASX_E_NO_WAKER unless the
 * task has taken its waker with asx_cx_waker() before: nothing could end the wait. */
ASX_API asx_status asx_wait_external(asx_cx *cx);

/* A user event into the journal; nothing when tracing is off. ASX_E_CAPABILITY (TRACE). */
ASX_API asx_status asx_trace_user(asx_cx *cx, uint32_t code, uint64_t value);

/* Ends the task as Panicked and never returns: its cleanups run on the runtime's side, its permits
 * are aborted, its stack is kept until the region closes. Fails fast like an error does. Outside a
 * running task it aborts the process: there is nothing to end. */
ASX_NORETURN ASX_API void asx_panic(asx_cx *cx, const char *format, ...) ASX_PRINTF(2, 3);

#define ASX_ASSERT(cx, expr)                                                                       \
    ((expr) ? (void)0 : asx_panic((cx), "%s: assertion failed: %s", ASX_SITE, #expr))

ASX_END_DECLS

#endif
