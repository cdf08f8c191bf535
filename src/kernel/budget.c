/* budget.c - budgets only tighten.
 *
 * With a <= b for "a is at least as tight as b" on every component (smaller deadline and quotas,
 * larger priority), meet is the greatest lower bound: associative, commutative, idempotent, with
 * INFINITE as unit and ZERO as absorbing element. Consuming never loosens either. The values that
 * mean "unlimited" are the largest of their types, so that minimum needs no special case.
 */
#include "kernel/kernel.h"

asx_budget asx_budget_infinite(void)
{
    return (asx_budget)ASX_BUDGET_INFINITE;
}

asx_budget asx_budget_zero(void)
{
    return (asx_budget)ASX_BUDGET_ZERO;
}

asx_budget asx_budget_meet(asx_budget a, asx_budget b)
{
    asx_budget tighter = {
        .deadline = a.deadline < b.deadline ? a.deadline : b.deadline,
        .cost_quota = a.cost_quota < b.cost_quota ? a.cost_quota : b.cost_quota,
        .poll_quota = a.poll_quota < b.poll_quota ? a.poll_quota : b.poll_quota,
        .priority = a.priority > b.priority ? a.priority : b.priority,
    };
    return tighter;
}

bool asx_budget_equal(asx_budget a, asx_budget b)
{
    return a.deadline == b.deadline && a.cost_quota == b.cost_quota &&
           a.poll_quota == b.poll_quota && a.priority == b.priority;
}

asx_status asx_budget_consume_poll(asx_budget *budget)
{
    if (budget == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (budget->poll_quota == 0)
        return ASX_E_BUDGET_EXHAUSTED;
    if (budget->poll_quota != ASX_QUOTA_UNLIMITED)
        budget->poll_quota--;
    return ASX_OK;
}

asx_status asx_budget_consume_cost(asx_budget *budget, uint64_t cost)
{
    if (budget == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (budget->cost_quota < cost)
        return ASX_E_BUDGET_EXHAUSTED;
    if (budget->cost_quota != ASX_COST_UNLIMITED)
        budget->cost_quota -= cost;
    return ASX_OK;
}

bool asx_budget_expired(asx_budget budget, asx_time now)
{
    return budget.deadline != ASX_TIME_NEVER && now >= budget.deadline;
}

bool asx__budget_exhausted(const asx_budget *budget, asx_time now, asx_cancel_kind *ret_kind)
{
    ASX__ASSERT(budget != NULL && ret_kind != NULL);
    if (asx_budget_expired(*budget, now))
        *ret_kind = ASX_CANCEL_DEADLINE;
    else if (budget->poll_quota == 0)
        *ret_kind = ASX_CANCEL_POLL_QUOTA;
    else if (budget->cost_quota == 0)
        *ret_kind = ASX_CANCEL_COST_BUDGET;
    else
        return false;
    return true;
}
