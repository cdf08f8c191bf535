/* task.c - the task machine by trigger, and how a task's ending becomes an outcome. */
#include "kernel/kernel.h"

static const char *const task_names[] = {
    [ASX_TASK_CREATED] = "Created",
    [ASX_TASK_RUNNING] = "Running",
    [ASX_TASK_CANCEL_REQUESTED] = "CancelRequested",
    [ASX_TASK_CANCELLING] = "Cancelling",
    [ASX_TASK_FINALIZING] = "Finalizing",
    [ASX_TASK_COMPLETED] = "Completed",
};
_Static_assert(sizeof task_names / sizeof task_names[0] == ASX_TASK_STATE_COUNT,
               "every task state has a name");

const char *asx_task_state_str(asx_task_state state)
{
    return (unsigned)state < ASX_TASK_STATE_COUNT ? task_names[state] : "Unknown";
}

asx_status asx_task_transition_legal(asx_task_state from, asx_task_state to)
{
    return asx__pair_legal(ASX__TASK_LEGAL, (unsigned)from, (unsigned)to)
               ? ASX_OK
               : ASX_E_INVALID_TRANSITION;
}

/* A switch and not a table, so that the compiler refuses a list in which one trigger leads from
 * one state to two. */
asx_status asx__task_fire(uint8_t *state, asx__task_trigger trigger)
{
    ASX__ASSERT(state != NULL && *state < ASX_TASK_STATE_COUNT &&
                (unsigned)trigger < ASX__TASK_TRIGGER_COUNT);
    switch (*state * ASX__TASK_TRIGGER_COUNT + (int)trigger) {
#define FIRE_ROW(from, to, trigger)                                                                \
    case ASX_TASK_##from * ASX__TASK_TRIGGER_COUNT + ASX__TASK_##trigger:                          \
        *state = (uint8_t)ASX_TASK_##to;                                                           \
        return ASX_OK;
        ASX__TASK_TRANSITION_LIST(FIRE_ROW)
#undef FIRE_ROW
    default:
        return ASX_E_INVALID_TRANSITION;
    }
}

asx_outcome_kind asx__task_outcome(asx_task_state at_return, asx_status returned, bool panicked,
                                   bool forced)
{
    ASX__ASSERT((unsigned)at_return < ASX_TASK_COMPLETED);
    if (panicked)
        return ASX_OUTCOME_PANICKED;
    if (forced || at_return >= ASX_TASK_CANCELLING)
        return ASX_OUTCOME_CANCELLED;
    return returned < 0 ? ASX_OUTCOME_ERR : ASX_OUTCOME_OK;
}
