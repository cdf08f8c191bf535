/* region.h - the unit of ownership.
 *
 * A region owns tasks, child regions, obligations, channels, memory and finalizers, and closes
 * only when none of them is left. asx_region names one; it is a value and may be copied.
 *
 * Set-up failures stick: when a spawn, a channel creation or a defer fails for lack of resources
 * or because of bad arguments, later set-up calls on that region are refused with the same status
 * and asx_region_close() cancels what was started and returns it. So does the failure to open a
 * region inside one that the task has opened itself. A refusal at an admission limit does not
 * stick.
 *
 * A region that has failed ends the waits of its owner: between the failure and the close nobody
 * may be left to wait for. From the moment that its set-up has failed, or that a failing child has
 * cancelled the others (ASX_POLICY_FAIL_FAST), every cancellation point of the task that opened it
 * returns that failure, also inside regions that the task has opened in it, until the region is
 * closed; a wait that the task is in ends with it. These go on as ever: waits under a mask;
 * asx_region_close(); and asx_join() with a task in the failed region, which will end: it was
 * cancelled, or, where the set-up has failed, is now. A cancellation of the task comes first:
 * ASX_E_CANCELLED.
 */
#ifndef ASX_REGION_H
#define ASX_REGION_H

#include <asx/cx.h>
#include <asx/outcome.h>
#include <asx/state.h>

ASX_BEGIN_DECLS

typedef struct asx_runtime asx_runtime;

typedef struct asx_region {
    asx_runtime *rt_;
    asx_region_id id;
} asx_region;

/* What a failing child does to its siblings. */
typedef enum asx_policy {
    ASX_POLICY_FAIL_FAST = 0, /* Err or Panicked cancels the region's other children */
    ASX_POLICY_COLLECT = 1    /* all children run to the end */
} asx_policy;

/* What happens to a cancelled task that does not end within its cleanup budget. */
typedef enum asx_cleanup_mode {
    ASX_CLEANUP_INHERIT = 0,
    ASX_CLEANUP_BOUNDED = 1, /* completed by force; the default of the root */
    ASX_CLEANUP_SOFT = 2,    /* waited for, for ever: by what is around it and by a shutdown, too,
                                unless that has a time-out */
    ASX_CLEANUP_PANIC = 3    /* the process reports and aborts */
} asx_cleanup_mode;

/* What a session-tracked permit does when its task ends without resolving it. */
typedef enum asx_leak_policy {
    ASX_LEAK_INHERIT = 0,
    ASX_LEAK_REPORT = 1, /* aborted, counted, reported; the default of a live root */
    ASX_LEAK_PANIC = 2   /* the task ends Panicked; the default in the lab */
} asx_leak_policy;

typedef enum asx_admission {
    ASX_ADMISSION_REFUSE = 0, /* ASX_E_ADMISSION_CLOSED at the limit */
    ASX_ADMISSION_WAIT = 1    /* the spawning task waits for room */
} asx_admission;

/* Zero in any field means its default. */
typedef struct asx_region_options {
    const char *name;          /* borrowed until closed; NULL: "" */
    uint64_t timeout_ns;       /* 0: none; else cancels with kind Timeout */
    const asx_budget *budget;  /* met with the parent's; NULL: the parent's */
    asx_policy policy;
    asx_cleanup_mode cleanup;
    uint64_t cleanup_time_ns;  /* default: inherited; the root's is 5 s */
    asx_leak_policy leak;
    asx_admission admission;
    uint32_t tasks_max;        /* live child tasks; 0: no limit; so are the next three */
    uint32_t regions_max;
    uint32_t obligations_max;
    uint64_t memory_max;       /* bytes of region memory */
    uint32_t caps;             /* of the tasks in it; 0: those of the opening context */
    bool leaks_allowed;        /* in the lab, a leak here does not fail the run */
} asx_region_options;

/* Opens a region inside the one the task lives in, or inside a region the task has opened itself
 * and not yet closed (the innermost). The calling task owns it and must close it. `options` may be
 * NULL; the name in it is borrowed.
 *   ASX_E_INVALID_ARGUMENT, ASX_E_WRONG_CONTEXT, ASX_E_CAPABILITY (SPAWN)
 *   ASX_E_ADMISSION_CLOSED     the parent's regions_max
 *   ASX_E_RESOURCE_EXHAUSTED
 * On failure *ret_region names a region that does not exist: every call on it, asx_region_close()
 * included, returns that failure. So a set-up needs no check per line.
 * A cancelled task may still open scopes to clean up in, under a mask. Without one, what it opens
 * is cancelled, and so is what is opened inside a region that is. */
ASX_API asx_status asx_region_open(asx_cx *cx, const asx_region_options *options,
                                   asx_region *ret_region);
ASX_API asx_status asx_region_open_at(asx_cx *cx, const asx_region_options *options,
                                      asx_region *ret_region, const char *site);
#define asx_region_open(...) ASX_PLACED_(asx_region_open, __VA_ARGS__)
/* Opens a child of `parent`, which must be Open: ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED,
 * ASX_E_STALE_HANDLE besides the above. */
ASX_API asx_status asx_region_open_in(asx_cx *cx, const asx_region *parent,
                                      const asx_region_options *options, asx_region *ret_region);
ASX_API asx_status asx_region_open_in_at(asx_cx *cx, const asx_region *parent,
                                         const asx_region_options *options, asx_region *ret_region,
                                         const char *site);
#define asx_region_open_in(...) ASX_PLACED_(asx_region_open_in, __VA_ARGS__)

/* Closes the region and waits until it is closed. With `body` >= 0 the children finish on their
 * own; with `body` < 0 they are cancelled (FailFast). Not a cancellation point: a cancel that
 * arrives passes into the region, and waiting goes on. Returns, in this order:
 *   ASX_E_PANICKED   a task of it panicked
 *   the first failure of a child
 *   ASX_E_TIMEOUT    its own deadline passed
 *   ASX_E_CANCELLED  it was cancelled from outside
 *   `body`
 * or why it could not close:
 *   ASX_E_INVALID_ARGUMENT, ASX_E_STALE_HANDLE (closed and reported before)
 *   ASX_E_CAPABILITY     through a handle that was narrowed past its state
 *   ASX_E_NOT_OWNER      the caller did not open it
 *   ASX_E_WRONG_CONTEXT  no task runs; or it would have to wait in a cleanup on the runtime's side
 *   ASX_E_WOULD_BLOCK    poll task: call again
 *   ASX_E_BUSY           poll task: it waits for something else in this resumption already
 *   ASX_E_RESOURCE_EXHAUSTED  poll task: no memory to keep the report in; call again
 * A second close by the owner waits for the first; with a failing body it cancels. */
ASX_API ASX_MUST_USE asx_status asx_region_close(asx_region *region, asx_status body);

struct asx_close_report;
/* As asx_region_close(), with an optional reason to cancel with and an optional report, which is
 * initialized by the call, empty if the region could not close, and freed by the caller with
 * asx_close_report_deinit(). */
ASX_API ASX_MUST_USE asx_status asx_region_close_with(asx_region *region, asx_status body,
                                                      const asx_cancel_reason *reason,
                                                      struct asx_close_report *ret_report);

/* Stops admission: Open -> Closing, and to child regions. Does not wait; the owner closes later.
 * ASX_E_INVALID_TRANSITION unless Open. ASX_E_INVALID_ARGUMENT, ASX_E_STALE_HANDLE. */
ASX_API asx_status asx_region_stop(const asx_region *region);

/* Requests cancellation of everything in the region, depth first; it begins to close. Any task of
 * the runtime that has the handle; does not wait. `reason` is copied; NULL: kind User. On a region
 * that is cancelled already it strengthens. ASX_OK and nothing on a Closed one.
 * ASX_E_INVALID_ARGUMENT, ASX_E_STALE_HANDLE, ASX_E_CAPABILITY (CANCEL; or a narrowed handle),
 * ASX_E_RESOURCE_EXHAUSTED. */
ASX_API asx_status asx_region_cancel(const asx_region *region, const asx_cancel_reason *reason);

/* A finalizer: runs when every child is gone, last registered first, exactly once, masked, in one
 * task of the runtime's. Its failure joins the region's outcome. It may wait and may spawn into
 * its region. `arg` is borrowed until then. ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED unless Open;
 * ASX_E_STALE_HANDLE; ASX_E_INVALID_ARGUMENT and ASX_E_RESOURCE_EXHAUSTED stick. */
ASX_API asx_status asx_defer(const asx_region *region, asx_call_fn fn, void *arg);

/* Memory that is valid until the region is Closed; aligned for any type; not zeroed.
 * ASX_E_REGION_CLOSED, ASX_E_STALE_HANDLE, ASX_E_RESOURCE_EXHAUSTED, ASX_E_INVALID_ARGUMENT
 * (size 0). Not on Closed; any state before it will do. */
ASX_API ASX_MUST_USE asx_status asx_region_alloc(const asx_region *region, size_t size,
                                                 void **ret_memory);

/* The region of the running task. ASX_E_INVALID_ARGUMENT, ASX_E_WRONG_CONTEXT. */
ASX_API asx_status asx_cx_region(const asx_cx *cx, asx_region *ret_region);

/* Asks. Any state, also Closed until its close was reported. ASX_E_STALE_HANDLE after that.
 * ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_region_get_state(const asx_region *region, asx_region_state *ret_state);
/* What the machine answers to a raw transition now, with the region as it is. Changes nothing.
 * ASX_E_INVALID_TRANSITION, ASX_E_INCOMPLETE_CHILDREN, ASX_E_UNRESOLVED_OBLIGATIONS, ASX_OK;
 * ASX_E_INVALID_ARGUMENT, ASX_E_STALE_HANDLE. */
ASX_API asx_status asx_region_probe(const asx_region *region, asx_region_state to);
/* The same region through a handle that may act only in the states of `mask`; in others every call
 * through it is ASX_E_CAPABILITY. Pure. */
ASX_API asx_region asx_region_narrow(asx_region region, uint16_t mask);

/* One line of a report. Strings are copies owned by the report. */
typedef enum asx_report_kind {
    ASX_REPORT_TASK,       /* alive, completed by force, or its masks were lifted ("MaskLifted") */
    ASX_REPORT_REGION,     /* not closed */
    ASX_REPORT_OBLIGATION, /* leaked or still reserved */
    ASX_REPORT_CHANNEL     /* discarded messages */
} asx_report_kind;

typedef struct asx_report_item {
    asx_report_kind kind;
    uint64_t serial;
    const char *name;
    const char *site;      /* where it was created: "file:line" */
    const char *path;      /* region path: "root/server/conn" */
    const char *state;
    const char *waits_for; /* "channel-recv", ...; "" when it does not wait */
    uint64_t count;        /* messages discarded; resumptions used in cleanup */
} asx_report_item;

typedef struct asx_close_report {
    asx_outcome outcome;           /* folded over the children */
    asx_status status;             /* what close returned */
    asx_status account;            /* ASX_E_UNRESOLVED_OBLIGATIONS when something leaked, else OK */
    asx_status setup;              /* the set-up failure that stuck, else OK */
    uint64_t tasks_ok, tasks_err, tasks_cancelled, tasks_panicked;
    uint64_t tasks_forced;
    uint64_t masks_lifted;         /* tasks whose masks were lifted, forced afterwards or not */
    uint64_t obligations_leaked;
    uint64_t permits_aborted;      /* by the end of their task or of the region */
    uint64_t messages_discarded;
    uint64_t finalizers_run;
    uint64_t stacks_kept;
    asx_report_item *items;        /* survivors, forced tasks, lifted masks, leaks */
    size_t items_len;
    size_t items_omitted;          /* that did not fit into memory */
    size_t items_cap_;
    asx_runtime *rt_;
} asx_close_report;

/* The tasks and regions alive in the region now, without closing it. Freed with
 * asx_close_report_deinit(). ASX_E_INVALID_ARGUMENT, ASX_E_STALE_HANDLE. */
ASX_API asx_status asx_region_report(const asx_region *region, asx_close_report *ret_report);
/* Before the runtime is destroyed. NULL is allowed; twice is allowed. */
ASX_API void asx_close_report_deinit(asx_close_report *report);

ASX_END_DECLS

#endif
