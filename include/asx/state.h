/* state.h - the states of regions, tasks and obligations.
 *
 * The lists give enum, name and state-mask bit; the tables of legal transitions are in the kernel
 * and can be asked here.
 */
#ifndef ASX_STATE_H
#define ASX_STATE_H

#include <asx/status.h>

ASX_BEGIN_DECLS

/* X(NAME, number) */
#define ASX_REGION_STATE_LIST(X)                                                                   \
    X(OPEN, 0)                                                                                     \
    X(CLOSING, 1)                                                                                  \
    X(DRAINING, 2)                                                                                 \
    X(FINALIZING, 3)                                                                               \
    X(CLOSED, 4)

typedef enum asx_region_state {
#define ASX_REGION_STATE_ENUM_(name, number) ASX_REGION_##name = (number),
    ASX_REGION_STATE_LIST(ASX_REGION_STATE_ENUM_)
#undef ASX_REGION_STATE_ENUM_
} asx_region_state;
#define ASX_REGION_STATE_COUNT 5

#define ASX_TASK_STATE_LIST(X)                                                                     \
    X(CREATED, 0)                                                                                  \
    X(RUNNING, 1)                                                                                  \
    X(CANCEL_REQUESTED, 2)                                                                         \
    X(CANCELLING, 3)                                                                               \
    X(FINALIZING, 4)                                                                               \
    X(COMPLETED, 5)

typedef enum asx_task_state {
#define ASX_TASK_STATE_ENUM_(name, number) ASX_TASK_##name = (number),
    ASX_TASK_STATE_LIST(ASX_TASK_STATE_ENUM_)
#undef ASX_TASK_STATE_ENUM_
} asx_task_state;
#define ASX_TASK_STATE_COUNT 6

#define ASX_OBLIGATION_STATE_LIST(X)                                                               \
    X(RESERVED, 0)                                                                                 \
    X(COMMITTED, 1)                                                                                \
    X(ABORTED, 2)                                                                                  \
    X(LEAKED, 3)

typedef enum asx_obligation_state {
#define ASX_OBLIGATION_STATE_ENUM_(name, number) ASX_OBLIGATION_##name = (number),
    ASX_OBLIGATION_STATE_LIST(ASX_OBLIGATION_STATE_ENUM_)
#undef ASX_OBLIGATION_STATE_ENUM_
} asx_obligation_state;
#define ASX_OBLIGATION_STATE_COUNT 4

/* The bit of a state in a handle's state mask. */
#define ASX_STATE_BIT(state) ((uint16_t)(1u << (unsigned)(state)))

/* "Open" .. "Closed" and their like; "Unknown" for a number that is no state. Static. */
ASX_API const char *asx_region_state_str(asx_region_state state);
ASX_API const char *asx_task_state_str(asx_task_state state);
ASX_API const char *asx_obligation_state_str(asx_obligation_state state);

/* Is the raw transition legal? Pure.
 *   ASX_E_INVALID_TRANSITION  no such transition (also for numbers that are no state)
 * Obligations: ASX_E_OBLIGATION_ALREADY_RESOLVED from Committed or Aborted,
 * ASX_E_OBLIGATION_LEAKED from Leaked, ASX_E_INVALID_TRANSITION for Reserved to Reserved. */
ASX_API asx_status asx_region_transition_legal(asx_region_state from, asx_region_state to);
ASX_API asx_status asx_task_transition_legal(asx_task_state from, asx_task_state to);
ASX_API asx_status asx_obligation_transition_legal(asx_obligation_state from,
                                                   asx_obligation_state to);

ASX_END_DECLS

#endif
