/* region.c - the region machine, its gates, and the law of close. */
#include "kernel/kernel.h"

typedef enum region_need {
    ILLEGAL,
    NEEDS_NOTHING,
    NEEDS_NO_CHILDREN,
    NEEDS_QUIESCENT
} region_need;

/* From, to. */
static const uint8_t region_needs[ASX_REGION_STATE_COUNT][ASX_REGION_STATE_COUNT] = {
#define REGION_ROW(from, to, need, transition) [ASX_REGION_##from][ASX_REGION_##to] = NEEDS_##need,
    ASX__REGION_TRANSITION_LIST(REGION_ROW)
#undef REGION_ROW
};

static const char *const region_names[] = {
    [ASX_REGION_OPEN] = "Open",
    [ASX_REGION_CLOSING] = "Closing",
    [ASX_REGION_DRAINING] = "Draining",
    [ASX_REGION_FINALIZING] = "Finalizing",
    [ASX_REGION_CLOSED] = "Closed",
};
_Static_assert(sizeof region_names / sizeof region_names[0] == ASX_REGION_STATE_COUNT,
               "every region state has a name");

const char *asx_region_state_str(asx_region_state state)
{
    return (unsigned)state < ASX_REGION_STATE_COUNT ? region_names[state] : "Unknown";
}

static region_need need_of(asx_region_state from, asx_region_state to)
{
    return (unsigned)from < ASX_REGION_STATE_COUNT && (unsigned)to < ASX_REGION_STATE_COUNT
               ? (region_need)region_needs[from][to]
               : ILLEGAL;
}

asx_status asx_region_transition_legal(asx_region_state from, asx_region_state to)
{
    return need_of(from, to) != ILLEGAL ? ASX_OK : ASX_E_INVALID_TRANSITION;
}

static asx_status check_need(region_need need, const asx__region_facts *facts)
{
    if (need == NEEDS_NOTHING)
        return ASX_OK;
    if (facts->live_tasks != 0 || facts->live_regions != 0)
        return ASX_E_INCOMPLETE_CHILDREN;
    if (need == NEEDS_NO_CHILDREN)
        return ASX_OK;
    ASX__ASSERT(need == NEEDS_QUIESCENT);
    if (facts->finalizers_left != 0)
        return ASX_E_INCOMPLETE_CHILDREN;
    return facts->reserved_obligations != 0 ? ASX_E_UNRESOLVED_OBLIGATIONS : ASX_OK;
}

asx_status asx__region_step(asx_region_state *state, asx_region_state to,
                            const asx__region_facts *facts)
{
    ASX__ASSERT(state != NULL && facts != NULL);
    region_need need = need_of(*state, to);
    if (need == ILLEGAL)
        return ASX_E_INVALID_TRANSITION;
    asx_status st = check_need(need, facts);
    if (st < 0)
        return st;
    *state = to;
    return ASX_OK;
}

#define GATE_COLUMNS (ASX_REGION_STATE_COUNT + 1)
#define GATE_FINALIZER ASX_REGION_STATE_COUNT

static const asx_status gate_answers[ASX__GATE_COUNT][GATE_COLUMNS] = {
#define GATE_ROW(name, open, closing, draining, finalizing, closed, finalizer)                     \
    [ASX__GATE_##name] = {                                                                         \
        [ASX_REGION_OPEN] = ASX_##open,                                                            \
        [ASX_REGION_CLOSING] = ASX_##closing,                                                      \
        [ASX_REGION_DRAINING] = ASX_##draining,                                                    \
        [ASX_REGION_FINALIZING] = ASX_##finalizing,                                                \
        [ASX_REGION_CLOSED] = ASX_##closed,                                                        \
        [GATE_FINALIZER] = ASX_##finalizer,                                                        \
    },
    ASX__GATE_LIST(GATE_ROW)
#undef GATE_ROW
};

static const char *const gate_names[] = {
    [ASX__GATE_SPAWN_TASK] = "spawn-task",
    [ASX__GATE_OPEN_REGION] = "open-region",
    [ASX__GATE_RESERVE_OBLIGATION] = "reserve-obligation",
    [ASX__GATE_CREATE_CHANNEL] = "create-channel",
    [ASX__GATE_RESOLVE_OBLIGATION] = "resolve-obligation",
    [ASX__GATE_ACCESS_MEMORY] = "access-memory",
};
_Static_assert(sizeof gate_names / sizeof gate_names[0] == ASX__GATE_COUNT,
               "every gate has a name");

const char *asx__gate_str(asx__gate what)
{
    return (unsigned)what < ASX__GATE_COUNT ? gate_names[what] : "unknown";
}

asx_status asx__region_gate(asx_region_state state, asx__gate what, bool from_finalizer)
{
    ASX__ASSERT((unsigned)state < ASX_REGION_STATE_COUNT && (unsigned)what < ASX__GATE_COUNT);
    bool as_finalizer = from_finalizer && state == ASX_REGION_FINALIZING;
    return gate_answers[what][as_finalizer ? (unsigned)GATE_FINALIZER : (unsigned)state];
}

asx_status asx__close_law(const asx__close_facts *facts)
{
    const asx__close_facts *f = facts;
    ASX__ASSERT(f != NULL && (!f->child_failed || f->first_failure < 0));
#define LAW_ROW(row, applies, result)                                                              \
    if (applies)                                                                                   \
        return result;
    ASX__CLOSE_LAW_LIST(LAW_ROW)
#undef LAW_ROW
}
