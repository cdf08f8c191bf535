/* kernel.h - the pure machines and algebras, for the modules above.
 *
 * Everything here takes values in and gives values out: no clock, no allocator, no atomics, no I/O
 * and no variable that outlives a call. A step either changes the state it was given and returns
 * ASX_OK, or changes nothing and says why not. What a transition entails (waking, freeing, telling
 * the parent) is the caller's work.
 *
 * Words
 *   machine    a list of legal transitions; whatever is not listed is illegal
 *   step       one transition, with its preconditions checked against facts that the caller counts
 *   trigger    the event that asks for a task's transition
 *   gate       may this be asked of a region in its present state?
 *   fold       the outcome of a region, built from its children in the order in which they end
 *   chain      a cancel reason and its causes, back to the root
 *
 * The lists below are the only place where transitions, gates and the law of close are written
 * down. Tables, public queries and the conformance listing are generated from them.
 *
 * Rejected: a generic engine with callbacks per transition (the callbacks would need the runtime,
 * and a purely tabular answer is one shift and one mask); two-dimensional tables of bytes (a
 * machine with at most eight states fits into one 64-bit constant, which needs no load); keeping
 * the cancel reason inside the task (a region's reason is shared by all tasks that it reaches).
 */
#ifndef ASX_KERNEL_H
#define ASX_KERNEL_H

#include <asx/budget.h>
#include <asx/cancel.h>
#include <asx/handle.h>
#include <asx/outcome.h>
#include <asx/state.h>
#include <asx/status.h>
#include <asx/time.h>

#include "base/assert.h"

/* One bit per pair of states, eight bits per row. */
#define ASX__PAIR_BIT(from, to) (UINT64_C(1) << ((unsigned)(from)*8u + (unsigned)(to)))

static inline bool asx__pair_legal(uint64_t legal, unsigned from, unsigned to)
{
    return (from | to) < 8u && ((legal >> (from * 8u + to)) & 1u) != 0;
}

/* ---- handles ---------------------------------------------------------------------------------
 *
 * A slot's generation: the runtime's number in the upper 16 bits, a count in the lower 48. The
 * count starts at 1 and skips 0 when it wraps, so that no living slot has generation 0, which
 * names nothing.
 */
#define ASX__GENERATION_COUNT_MASK ((UINT64_C(1) << 48) - 1)

static inline uint64_t asx__generation_first(uint16_t runtime)
{
    return ((uint64_t)runtime << 48) | 1u;
}

static inline uint64_t asx__generation_next(uint64_t generation)
{
    uint64_t count = (generation + 1) & ASX__GENERATION_COUNT_MASK;
    return (generation & ~ASX__GENERATION_COUNT_MASK) | (count ? count : 1u);
}

/* ---- region machine --------------------------------------------------------------------------
 *
 *   Open ---> Closing ---> Draining ---> Finalizing ---> Closed
 *                |                           ^
 *                +---------------------------+  nothing to drain
 *
 *   Open        children, obligations and channels may be created
 *   Closing     nothing new; cancellation, if any, is being handed to every child
 *   Draining    every child has been told what it will be told; at least one may be alive
 *   Finalizing  no child of the body is alive; finalizers run, I/O is awaited, leaks are counted;
 *               only finalizers may spawn
 *   Closed      no child, no finalizer, no reserved obligation; nothing leaves this state
 *
 * X(from, to, precondition, transition); all are made by asx__region_step().
 */
#define ASX__REGION_TRANSITION_LIST(X)                                                             \
    X(OPEN, CLOSING, NOTHING, "begin_close")                                                       \
    X(CLOSING, DRAINING, NOTHING, "begin_drain")                                                   \
    X(CLOSING, FINALIZING, NO_CHILDREN, "begin_finalize")                                          \
    X(DRAINING, FINALIZING, NO_CHILDREN, "begin_finalize")                                         \
    X(FINALIZING, CLOSED, QUIESCENT, "finish_close")

typedef struct asx__region_facts {
    uint64_t live_tasks;   /* child tasks not Completed */
    uint64_t live_regions; /* child regions not Closed */
    uint64_t reserved_obligations;
    uint64_t finalizers_left; /* registered and not run to their end */
} asx__region_facts;

/* ASX_E_INVALID_TRANSITION   not in the list
 * ASX_E_INCOMPLETE_CHILDREN  tasks or regions are alive; for Closed also: finalizers are left
 * ASX_E_UNRESOLVED_OBLIGATIONS  for Closed, asked after the above
 * Obligations do not hold up Draining -> Finalizing: they may be resolved there. */
ASX_MUST_USE asx_status asx__region_step(asx_region_state *state, asx_region_state to,
                                         const asx__region_facts *facts);

/* What a region is asked for through its handle, and the answer in each of its states. The last
 * column is the answer in Finalizing when a finalizer asks. What a live task does for itself
 * through its context is not gated.
 *
 * X(gate, Open, Closing, Draining, Finalizing, Closed, Finalizing for a finalizer) */
#define ASX__GATE_LIST(X)                                                                          \
    X(SPAWN_TASK, OK, E_REGION_NOT_OPEN, E_REGION_NOT_OPEN, E_ADMISSION_CLOSED, E_REGION_CLOSED,   \
      OK)                                                                                          \
    X(OPEN_REGION, OK, E_REGION_NOT_OPEN, E_REGION_NOT_OPEN, E_REGION_NOT_OPEN, E_REGION_CLOSED,   \
      E_REGION_NOT_OPEN)                                                                           \
    X(RESERVE_OBLIGATION, OK, E_REGION_NOT_OPEN, E_REGION_NOT_OPEN, E_REGION_NOT_OPEN,             \
      E_REGION_CLOSED, E_REGION_NOT_OPEN)                                                          \
    X(CREATE_CHANNEL, OK, E_REGION_NOT_OPEN, E_REGION_NOT_OPEN, E_REGION_NOT_OPEN,                 \
      E_REGION_CLOSED, E_REGION_NOT_OPEN)                                                          \
    X(RESOLVE_OBLIGATION, OK, OK, OK, OK, E_REGION_CLOSED, OK)                                     \
    X(ACCESS_MEMORY, OK, OK, OK, OK, E_REGION_CLOSED, OK)

typedef enum asx__gate {
#define ASX__GATE_ENUM(name, open, closing, draining, finalizing, closed, finalizer)               \
    ASX__GATE_##name,
    ASX__GATE_LIST(ASX__GATE_ENUM)
#undef ASX__GATE_ENUM
    ASX__GATE_COUNT
} asx__gate;

ASX_MUST_USE asx_status asx__region_gate(asx_region_state state, asx__gate what,
                                         bool from_finalizer);
/* "spawn-task" is ASX__GATE_SPAWN_TASK's name in reports, and so on. Static. */
const char *asx__gate_str(asx__gate what);

/* ---- task machine ----------------------------------------------------------------------------
 *
 *   Created ----start----> Running
 *      |  \                 |  \
 *      |   request_cancel   |   request_cancel
 *      |           \        |    \
 *      |            `-------+-----`--> CancelRequested --acknowledge--> Cancelling
 *      |                    |             |                               |   |
 *      |                    |             |                               |  cleanup_done
 *      |                    |             |                               |   v
 *      |                    |             |                               |  Finalizing
 *      |                    |             |                               |   |
 *      `------complete------`---complete--`------------complete-----------'  finalize_done
 *                           |                                                 |
 *                           `-----------------> Completed <-------------------'
 *
 *   Created          admitted, never resumed
 *   Running          resumed at least once, no cancel requested
 *   CancelRequested  epoch >= 1, a reason exists; the function may not know yet
 *   Cancelling       the function was told; its outcome will be Cancelled unless it panics
 *   Finalizing       the function has returned, its own cleanups have run
 *   Completed        the outcome is final; nothing leaves this state
 *
 * A request in CancelRequested, Cancelling or Finalizing stays there and strengthens.
 *
 * X(from, to, trigger) */
#define ASX__TASK_TRANSITION_LIST(X)                                                               \
    X(CREATED, RUNNING, START)                                                                     \
    X(CREATED, CANCEL_REQUESTED, REQUEST_CANCEL)                                                   \
    X(CREATED, COMPLETED, COMPLETE)                                                                \
    X(RUNNING, CANCEL_REQUESTED, REQUEST_CANCEL)                                                   \
    X(RUNNING, COMPLETED, COMPLETE)                                                                \
    X(CANCEL_REQUESTED, CANCEL_REQUESTED, REQUEST_CANCEL)                                          \
    X(CANCEL_REQUESTED, CANCELLING, ACKNOWLEDGE)                                                   \
    X(CANCEL_REQUESTED, COMPLETED, COMPLETE)                                                       \
    X(CANCELLING, CANCELLING, REQUEST_CANCEL)                                                      \
    X(CANCELLING, FINALIZING, CLEANUP_DONE)                                                        \
    X(CANCELLING, COMPLETED, COMPLETE)                                                             \
    X(FINALIZING, FINALIZING, REQUEST_CANCEL)                                                      \
    X(FINALIZING, COMPLETED, FINALIZE_DONE)

#define ASX__TASK_TRIGGER_LIST(X)                                                                  \
    X(START)                                                                                       \
    X(REQUEST_CANCEL)                                                                              \
    X(ACKNOWLEDGE)                                                                                 \
    X(CLEANUP_DONE)                                                                                \
    X(FINALIZE_DONE)                                                                               \
    X(COMPLETE)

typedef enum asx__task_trigger {
#define ASX__TASK_TRIGGER_ENUM(name) ASX__TASK_##name,
    ASX__TASK_TRIGGER_LIST(ASX__TASK_TRIGGER_ENUM)
#undef ASX__TASK_TRIGGER_ENUM
    ASX__TASK_TRIGGER_COUNT
} asx__task_trigger;

#define ASX__TASK_BIT(from, to, trigger) | ASX__PAIR_BIT(ASX_TASK_##from, ASX_TASK_##to)
#define ASX__TASK_LEGAL (UINT64_C(0) ASX__TASK_TRANSITION_LIST(ASX__TASK_BIT))

/* The raw step, for the hot paths, where `to` is a constant. ASX_E_INVALID_TRANSITION. */
static inline ASX_MUST_USE asx_status asx__task_step(uint8_t *state, asx_task_state to)
{
    if (ASX__UNLIKELY(!asx__pair_legal(ASX__TASK_LEGAL, *state, (unsigned)to)))
        return ASX_E_INVALID_TRANSITION;
    *state = (uint8_t)to;
    return ASX_OK;
}

/* The step that a trigger asks for; it knows where each state goes. ASX_E_INVALID_TRANSITION. */
ASX_MUST_USE asx_status asx__task_fire(uint8_t *state, asx__task_trigger trigger);

/* How a task ended. `at_return` is the state in which its function returned, or was given up:
 *   panicked                          Panicked, always
 *   forced                            Cancelled: cleanup took longer than it may
 *   Cancelling, Finalizing            Cancelled, whatever was returned: it was acknowledged
 *   Created, Running, CancelRequested what was returned: < 0 is Err, ASX_E_CANCELLED included
 * Acknowledged and "at least Cancelling" are the same fact, so it is asked once. */
asx_outcome_kind asx__task_outcome(asx_task_state at_return, asx_status returned, bool panicked,
                                   bool forced);

/* ---- obligation machine ----------------------------------------------------------------------
 *
 *                 .--commit--> Committed
 *   Reserved -----+--abort---> Aborted
 *                 `--leak----> Leaked     its region is finalizing, it will not be resolved
 *
 *   Reserved   counted in its region; the only state that leads anywhere
 *   the others not counted; the effect happened, was undone, or was lost and recorded
 *
 * X(from, to, transition) */
#define ASX__OBLIGATION_TRANSITION_LIST(X)                                                         \
    X(RESERVED, COMMITTED, "commit")                                                               \
    X(RESERVED, ABORTED, "abort")                                                                  \
    X(RESERVED, LEAKED, "leak")

#define ASX__OBLIGATION_BIT(from, to, name)                                                        \
    | ASX__PAIR_BIT(ASX_OBLIGATION_##from, ASX_OBLIGATION_##to)
#define ASX__OBLIGATION_LEGAL (UINT64_C(0) ASX__OBLIGATION_TRANSITION_LIST(ASX__OBLIGATION_BIT))

/* Statuses as asx_obligation_transition_legal(). */
static inline ASX_MUST_USE asx_status asx__obligation_step(uint8_t *state, asx_obligation_state to)
{
    if (ASX__UNLIKELY(!asx__pair_legal(ASX__OBLIGATION_LEGAL, *state, (unsigned)to)))
        return asx_obligation_transition_legal((asx_obligation_state)*state, to);
    *state = (uint8_t)to;
    return ASX_OK;
}

/* ---- cancellation ----------------------------------------------------------------------------
 *
 *   Requested --> Cancelling --> Finalizing --> Completed
 *
 * Phases may be skipped and repeated, never taken back: `to` is legal when its rank is not below.
 * A task that completes unacknowledged goes from Requested to Completed.
 *
 * ASX_E_WITNESS_PHASE_REGRESSION; ASX_E_INVALID_TRANSITION for a number that is no phase. */
ASX_MUST_USE asx_status asx__cancel_phase_step(asx_cancel_phase *phase, asx_cancel_phase to);
/* The phase that a cancelled task in this state shows. ASX_E_NOT_FOUND in Created and Running,
 * where no cancellation exists. */
ASX_MUST_USE asx_status asx__cancel_phase_of(asx_task_state state, asx_cancel_phase *ret_phase);

/* Of asx_cancel_cleanup_budget(kind), for kinds that are some. */
static inline uint16_t asx__cancel_quota(asx_cancel_kind kind)
{
#define ASX__QUOTA(name, number, severity, quota, priority) [(number)] = (quota),
    static const uint16_t quotas[] = { ASX_CANCEL_KIND_LIST(ASX__QUOTA) };
#undef ASX__QUOTA
    return quotas[kind];
}

static inline uint8_t asx__cancel_priority(asx_cancel_kind kind)
{
#define ASX__PRIORITY(name, number, severity, quota, priority) [(number)] = (priority),
    static const uint8_t priorities[] = { ASX_CANCEL_KIND_LIST(ASX__PRIORITY) };
#undef ASX__PRIORITY
    return priorities[kind];
}

/* ---- chains of causes ------------------------------------------------------------------------
 *
 * A link costs its struct and its message with the terminating zero. A chain obeys two limits: its
 * number of links and the sum of their costs. A chain that cannot be continued is cut: the new
 * reason is marked truncated, truncated_depth says how many links lie behind it in truth (those of
 * earlier cuts included), and its cause is the root of the chain, because where it all began is
 * worth more than the links in between; or NULL if even the root does not fit.
 */
size_t asx__cancel_reason_bytes(const asx_cancel_reason *reason);
/* How many bytes of the message, without a terminating zero, a reason can keep under the limit.
 * 0 for NULL. */
size_t asx__cancel_message_fit(const char *message, size_t bytes_max);

typedef struct asx__chain_size {
    uint32_t links;
    size_t bytes;
    bool whole; /* the limits cover the chain to its root */
} asx__chain_size;

/* The longest part of the chain, counted from `reason`, that the limits cover. Looks at no more
 * than depth_max + 1 links, so a chain made by a user may be of any length. NULL: empty, whole. */
asx__chain_size asx__cancel_chain_fit(const asx_cancel_reason *reason, uint32_t depth_max,
                                      size_t bytes_max);

/* How many links the chain has in truth, those lost by an earlier cut included; at most
 * UINT16_MAX. 0 for NULL. This is truncated_depth of a cut in front of `reason`. */
uint16_t asx__cancel_chain_length(const asx_cancel_reason *reason);

/* Makes `parent` the cause of `child`, or cuts. Sets cause, truncated and truncated_depth. If
 * `child` alone obeys the limits, the result does.
 *   ASX_OK                    linked, or `parent` is NULL
 *   ASX_E_RESOURCE_EXHAUSTED  cut, as above; `child` is complete and can be used */
asx_status asx__cancel_chain_link(asx_cancel_reason *child, const asx_cancel_reason *parent,
                                  uint32_t depth_max, size_t bytes_max);

/* ---- outcomes --------------------------------------------------------------------------------
 *
 * Replaces *acc by `child` if that is worse, or equally bad, not Ok, and created earlier (smaller
 * source). So children may be folded in as they end, and the result is that of joining them in the
 * order of their creation. Start with ASX_OUTCOME_INIT_OK. */
void asx__outcome_fold(asx_outcome *acc, asx_outcome child);

/* ---- budget ----------------------------------------------------------------------------------
 *
 * Asked before a resumption. The first exhausted component gives the kind, in this order:
 * deadline, resumptions, cost. The deadline comes first because it is the least severe and leaves
 * the most for cleaning up, and because it holds for siblings at the same moment, so that they
 * tell the same story. *ret_kind is written only for true. */
bool asx__budget_exhausted(const asx_budget *budget, asx_time now, asx_cancel_kind *ret_kind);

/* ---- law of close ----------------------------------------------------------------------------
 *
 * What closing a region returns: the first row that applies. Cancellations that the region caused
 * itself are in none of the facts.
 *
 * X(row, applies, result), with `f` the facts */
#define ASX__CLOSE_LAW_LIST(X)                                                                     \
    X(PANIC, f->panicked, ASX_E_PANICKED)                                                          \
    X(CHILD_FAILURE, f->child_failed, f->first_failure)                                            \
    X(OWN_DEADLINE, f->own_deadline, ASX_E_TIMEOUT)                                                \
    X(OUTER_CANCEL, f->outer_cancel, ASX_E_CANCELLED)                                              \
    X(BODY, true, f->body)

typedef struct asx__close_facts {
    bool panicked;            /* the body or a child */
    bool child_failed;        /* a child ended Err ... */
    asx_status first_failure; /* ... the first of them, in order of creation, with this; < 0 */
    bool own_deadline;        /* the region's own time-out or deadline fired */
    bool outer_cancel;        /* the closing task was cancelled from outside the region */
    asx_status body;          /* what close was given, or the sticky set-up failure */
} asx__close_facts;

asx_status asx__close_law(const asx__close_facts *facts);

/* ---- join and race ---------------------------------------------------------------------------
 *
 * What can be observed of something that runs: when it ends and how. ASX_TIME_NEVER: it does not
 * end, and the outcome is the initial one. Unit of join: ended at 0 with Ok. Unit of race: never.
 */
typedef struct asx__finish {
    uint64_t at; /* any clock or counter that only grows */
    asx_outcome outcome;
} asx__finish;

#define ASX__FINISH_NEVER { ASX_TIME_NEVER, ASX_OUTCOME_INIT_OK }
#define ASX__FINISH_UNIT { 0, ASX_OUTCOME_INIT_OK }

/* Both: ends with the later one, the worse outcome, the left one when equally bad. */
asx__finish asx__finish_join(asx__finish a, asx__finish b);
/* Either: the earlier one, the left one at a tie. */
asx__finish asx__finish_race(asx__finish a, asx__finish b);

/* Position of the winner among `count` racers; ASX_E_NOT_FOUND while none has finished. */
ASX_MUST_USE asx_status asx__race_pick(const asx__finish *racers, size_t count,
                                       size_t *ret_winner);

/* What a race must do next. It returns only when every loser has been drained; it asks once for
 * the losers to be cancelled, as soon as one has won and another still runs. */
typedef enum asx__race_action {
    ASX__RACE_WAIT,
    ASX__RACE_CANCEL_LOSERS,
    ASX__RACE_RETURN_WINNER
} asx__race_action;

asx__race_action asx__race_next(size_t racers, size_t finished, bool losers_cancelled);

#endif
