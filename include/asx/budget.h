/* budget.h - how much a task may use: until when, how many resumptions, how much cost; and its
 * priority. Budgets only ever tighten: meet() takes the minimum of the first three and the maximum
 * of the priority.
 */
#ifndef ASX_BUDGET_H
#define ASX_BUDGET_H

#include <asx/status.h>
#include <asx/time.h>

ASX_BEGIN_DECLS

#define ASX_QUOTA_UNLIMITED UINT32_MAX
#define ASX_COST_UNLIMITED UINT64_MAX

typedef struct asx_budget {
    asx_time deadline;   /* ASX_TIME_NEVER: none */
    uint64_t cost_quota; /* ASX_COST_UNLIMITED: none */
    uint32_t poll_quota; /* ASX_QUOTA_UNLIMITED: none */
    uint8_t priority;    /* higher goes first */
} asx_budget;

/* Identity of meet: no deadline, no quotas, priority 0. */
#define ASX_BUDGET_INFINITE                                                                        \
    { ASX_TIME_NEVER, ASX_COST_UNLIMITED, ASX_QUOTA_UNLIMITED, 0 }
/* Absorbing element of meet: deadline 0, quotas 0, priority 255. */
#define ASX_BUDGET_ZERO { 0, 0, 0, 255 }

/* The same as values. Pure. */
ASX_API asx_budget asx_budget_infinite(void);
ASX_API asx_budget asx_budget_zero(void);

/* The tighter of the two, component by component. Pure. */
ASX_API asx_budget asx_budget_meet(asx_budget a, asx_budget b);
ASX_API bool asx_budget_equal(asx_budget a, asx_budget b);

/* One resumption. ASX_E_BUDGET_EXHAUSTED if none is left; then nothing changes. An unlimited quota
 * stays unlimited. ASX_E_INVALID_ARGUMENT for NULL. */
ASX_API asx_status asx_budget_consume_poll(asx_budget *budget);
/* `cost` units, all or none. ASX_E_BUDGET_EXHAUSTED, ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_budget_consume_cost(asx_budget *budget, uint64_t cost);
/* now >= deadline; never for ASX_TIME_NEVER. Pure. */
ASX_API bool asx_budget_expired(asx_budget budget, asx_time now);

ASX_END_DECLS

#endif
