/* cancel.c - cancellation: kinds, phases, witnesses.
 *
 * What a task keeps of its cancellation is a few bytes of its record (sched/cancel.c); here is what
 * they may become.
 *
 *   severity of a reason   never falls
 *   a severer kind         grants no more resumptions, and no lower priority
 *
 * Rejected: one quota for both waits together, until the acknowledgement and after it. A task that
 * needed long to look would then have little left to clean up with, and looking late is often not
 * its own doing.
 */
#include "kernel/kernel.h"

#include <string.h>

typedef struct kind_row {
    const char *name;
    uint32_t quota;
    uint8_t severity, priority;
} kind_row;

/* Names as the specification spells the kinds. */
#define NAME_USER "User"
#define NAME_TIMEOUT "Timeout"
#define NAME_DEADLINE "Deadline"
#define NAME_POLL_QUOTA "PollQuota"
#define NAME_COST_BUDGET "CostBudget"
#define NAME_FAIL_FAST "FailFast"
#define NAME_RACE_LOST "RaceLost"
#define NAME_LINKED_EXIT "LinkedExit"
#define NAME_PARENT "ParentCancelled"
#define NAME_RESOURCE "ResourceUnavailable"
#define NAME_SHUTDOWN "Shutdown"

static const kind_row kind_rows[] = {
#define KIND_ROW(name, number, severity, quota, priority)                                          \
    [(number)] = { NAME_##name, (quota), (severity), (priority) },
    ASX_CANCEL_KIND_LIST(KIND_ROW)
#undef KIND_ROW
};
_Static_assert(sizeof kind_rows / sizeof kind_rows[0] == ASX_CANCEL_KIND_COUNT,
               "the kinds are numbered without gaps");

static const char *const phase_names[] = {
    [ASX_CANCEL_REQUESTED] = "Requested",
    [ASX_CANCEL_CANCELLING] = "Cancelling",
    [ASX_CANCEL_FINALIZING] = "Finalizing",
    [ASX_CANCEL_COMPLETED] = "Completed",
};
_Static_assert(sizeof phase_names / sizeof phase_names[0] == ASX_CANCEL_PHASE_COUNT,
               "every phase has a name");

static bool is_phase(asx_cancel_phase phase)
{
    return (unsigned)phase < ASX_CANCEL_PHASE_COUNT;
}

/* A kind that is none counts as the most severe, with the least to clean up with. */
static const kind_row *row_of(asx_cancel_kind kind)
{
    return &kind_rows[(unsigned)kind < ASX_CANCEL_KIND_COUNT ? kind : ASX_CANCEL_SHUTDOWN];
}

const char *asx_cancel_kind_str(asx_cancel_kind kind)
{
    return (unsigned)kind < ASX_CANCEL_KIND_COUNT ? kind_rows[kind].name : "Unknown";
}

const char *asx_cancel_phase_str(asx_cancel_phase phase)
{
    return is_phase(phase) ? phase_names[phase] : "Unknown";
}

int asx_cancel_severity(asx_cancel_kind kind)
{
    return row_of(kind)->severity;
}

asx_budget asx_cancel_cleanup_budget(asx_cancel_kind kind)
{
    const kind_row *row = row_of(kind);
    asx_budget budget = ASX_BUDGET_INFINITE;
    budget.poll_quota = row->quota;
    budget.priority = row->priority;
    return budget;
}

static int message_compare(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

bool asx_cancel_reason_stronger(const asx_cancel_reason *next, const asx_cancel_reason *current)
{
    if (next == NULL || current == NULL)
        return false;
    int rise = asx_cancel_severity(next->kind) - asx_cancel_severity(current->kind);
    if (rise != 0)
        return rise > 0;
    if (next->timestamp != current->timestamp)
        return next->timestamp < current->timestamp;
    return message_compare(next->message, current->message) < 0;
}

asx_status asx_cancel_witness_check(const asx_cancel_witness *prev, const asx_cancel_witness *next)
{
    if (prev == NULL || next == NULL || !is_phase(prev->phase) || !is_phase(next->phase))
        return ASX_E_INVALID_ARGUMENT;
    if (!asx_handle_same(prev->task, next->task))
        return ASX_E_WITNESS_TASK_MISMATCH;
    if (!asx_handle_same(prev->region, next->region))
        return ASX_E_WITNESS_REGION_MISMATCH;
    if (prev->epoch != next->epoch)
        return ASX_E_WITNESS_EPOCH_MISMATCH;
    asx_cancel_phase phase = prev->phase;
    asx_status st = asx__cancel_phase_step(&phase, next->phase);
    if (st < 0)
        return st;
    if (asx_cancel_severity(next->reason.kind) < asx_cancel_severity(prev->reason.kind))
        return ASX_E_WITNESS_REASON_WEAKENED;
    return ASX_OK;
}

asx_status asx__cancel_phase_step(asx_cancel_phase *phase, asx_cancel_phase to)
{
    ASX__ASSERT(phase != NULL);
    if (!is_phase(*phase) || !is_phase(to))
        return ASX_E_INVALID_TRANSITION;
    if (to < *phase)
        return ASX_E_WITNESS_PHASE_REGRESSION;
    *phase = to;
    return ASX_OK;
}

asx_status asx__cancel_phase_of(asx_task_state state, asx_cancel_phase *ret_phase)
{
    ASX__ASSERT((unsigned)state < ASX_TASK_STATE_COUNT && ret_phase != NULL);
    if (state < ASX_TASK_CANCEL_REQUESTED)
        return ASX_E_NOT_FOUND;
    _Static_assert(ASX_TASK_CANCELLING - ASX_TASK_CANCEL_REQUESTED == ASX_CANCEL_CANCELLING &&
                       ASX_TASK_FINALIZING - ASX_TASK_CANCEL_REQUESTED == ASX_CANCEL_FINALIZING &&
                       ASX_TASK_COMPLETED - ASX_TASK_CANCEL_REQUESTED == ASX_CANCEL_COMPLETED,
                   "phases are the last four task states");
    *ret_phase = (asx_cancel_phase)(state - ASX_TASK_CANCEL_REQUESTED);
    return ASX_OK;
}
