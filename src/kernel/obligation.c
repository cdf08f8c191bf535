/* obligation.c - the obligation machine: resolved exactly once, and a second time is an error that
 * says how it was resolved before. */
#include "kernel/kernel.h"

static const char *const obligation_names[] = {
    [ASX_OBLIGATION_RESERVED] = "Reserved",
    [ASX_OBLIGATION_COMMITTED] = "Committed",
    [ASX_OBLIGATION_ABORTED] = "Aborted",
    [ASX_OBLIGATION_LEAKED] = "Leaked",
};
_Static_assert(sizeof obligation_names / sizeof obligation_names[0] == ASX_OBLIGATION_STATE_COUNT,
               "every obligation state has a name");

const char *asx_obligation_state_str(asx_obligation_state state)
{
    return (unsigned)state < ASX_OBLIGATION_STATE_COUNT ? obligation_names[state] : "Unknown";
}

asx_status asx_obligation_transition_legal(asx_obligation_state from, asx_obligation_state to)
{
    if (asx__pair_legal(ASX__OBLIGATION_LEGAL, (unsigned)from, (unsigned)to))
        return ASX_OK;
    if ((unsigned)to >= ASX_OBLIGATION_STATE_COUNT)
        return ASX_E_INVALID_TRANSITION;
    switch ((int)from) {
    case ASX_OBLIGATION_COMMITTED:
    case ASX_OBLIGATION_ABORTED:
        return ASX_E_OBLIGATION_ALREADY_RESOLVED;
    case ASX_OBLIGATION_LEAKED:
        return ASX_E_OBLIGATION_LEAKED;
    default:
        return ASX_E_INVALID_TRANSITION;
    }
}
