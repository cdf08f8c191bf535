/* outcome.c - the lattice of outcomes, its fold over a region, and the algebra of join and race.
 *
 * Equations, with <= for "at most as bad as" and sources distinct:
 *   join is associative and idempotent, Ok is its unit; on kinds it is commutative
 *   folding any permutation of the children = joining them in order of their sources
 *   finish_join and finish_race are associative; UNIT and NEVER are their units
 */
#include "kernel/kernel.h"

static const char *const outcome_names[] = {
    [ASX_OUTCOME_OK] = "Ok",
    [ASX_OUTCOME_ERR] = "Err",
    [ASX_OUTCOME_CANCELLED] = "Cancelled",
    [ASX_OUTCOME_PANICKED] = "Panicked",
};

const char *asx_outcome_str(asx_outcome_kind kind)
{
    return (unsigned)kind <= ASX_OUTCOME_PANICKED ? outcome_names[kind] : "Unknown";
}

int asx_outcome_severity(asx_outcome_kind kind)
{
    return (unsigned)kind <= ASX_OUTCOME_PANICKED ? (int)kind : (int)ASX_OUTCOME_PANICKED;
}

asx_outcome asx_outcome_join(asx_outcome a, asx_outcome b)
{
    return asx_outcome_severity(b.kind) > asx_outcome_severity(a.kind) ? b : a;
}

void asx__outcome_fold(asx_outcome *acc, asx_outcome child)
{
    ASX__ASSERT(acc != NULL);
    int before = asx_outcome_severity(acc->kind);
    int after = asx_outcome_severity(child.kind);
    if (after > before || (after == before && after > 0 && child.source < acc->source))
        *acc = child;
}

asx__finish asx__finish_join(asx__finish a, asx__finish b)
{
    if (a.at == ASX_TIME_NEVER || b.at == ASX_TIME_NEVER)
        return (asx__finish)ASX__FINISH_NEVER;
    asx__finish both = { a.at > b.at ? a.at : b.at, asx_outcome_join(a.outcome, b.outcome) };
    return both;
}

asx__finish asx__finish_race(asx__finish a, asx__finish b)
{
    return b.at < a.at ? b : a;
}

asx_status asx__race_pick(const asx__finish *racers, size_t count, size_t *ret_winner)
{
    ASX__ASSERT((racers != NULL || count == 0) && ret_winner != NULL);
    asx__finish best = ASX__FINISH_NEVER;
    for (size_t i = 0; i < count; i++) {
        asx__finish next = asx__finish_race(best, racers[i]);
        if (next.at != best.at)
            *ret_winner = i;
        best = next;
    }
    return best.at == ASX_TIME_NEVER ? ASX_E_NOT_FOUND : ASX_OK;
}

asx__race_action asx__race_next(size_t racers, size_t finished, bool losers_cancelled)
{
    ASX__ASSERT(finished <= racers);
    if (finished == 0)
        return ASX__RACE_WAIT;
    if (finished == racers)
        return ASX__RACE_RETURN_WINNER;
    return losers_cancelled ? ASX__RACE_WAIT : ASX__RACE_CANCEL_LOSERS;
}
