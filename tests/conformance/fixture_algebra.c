/* fixture_algebra.c - the laws of outcomes and budgets, over all values that matter.
 *
 * Outcomes: Ok < Err < Cancelled < Panicked. join takes the worse, and the left one of equals.
 * Budgets: meet takes the smaller deadline and quotas and the larger priority.
 */
#include "fixture.h"

#define ALGEBRA "algebra: nothing runs in it"

/* ---- outcomes ---- */

enum { KINDS = 4 };
static const asx_outcome_kind kinds[KINDS] = { ASX_OUTCOME_OK, ASX_OUTCOME_ERR,
                                               ASX_OUTCOME_CANCELLED, ASX_OUTCOME_PANICKED };

/* An outcome whose payload tells it from every other one of its kind. */
static asx_outcome outcome(unsigned kind, uint64_t source)
{
    asx_outcome o = { kinds[kind], kind == 0 ? ASX_OK : ASX_E_FULL, source };
    return o;
}

static bool same_outcome(asx_outcome a, asx_outcome b)
{
    return a.kind == b.kind && a.status == b.status && a.source == b.source;
}

ASX_FIXTURE_ONE("outcome-lattice-001", ALGEBRA)
{
    for (unsigned i = 0; i < KINDS; i++)
        FIX_EQ(asx_outcome_severity(kinds[i]), i);
    for (unsigned i = 0; i + 1 < KINDS; i++)
        FIX(asx_outcome_severity(kinds[i]) < asx_outcome_severity(kinds[i + 1]));
    FIX(strcmp(asx_outcome_str(ASX_OUTCOME_OK), "Ok") == 0);
    FIX(strcmp(asx_outcome_str(ASX_OUTCOME_PANICKED), "Panicked") == 0);
}

ASX_FIXTURE_ONE("outcome-lattice-002", ALGEBRA)
{
    for (unsigned a = 0; a < KINDS; a++)
        for (unsigned b = 0; b < KINDS; b++)
            FIX_EQ(asx_outcome_join(outcome(a, 1), outcome(b, 2)).kind,
                   asx_outcome_join(outcome(b, 2), outcome(a, 1)).kind);
}

ASX_FIXTURE_ONE("outcome-lattice-003", ALGEBRA)
{
    for (unsigned a = 0; a < KINDS; a++)
        for (unsigned b = 0; b < KINDS; b++)
            for (unsigned c = 0; c < KINDS; c++) {
                asx_outcome x = outcome(a, 1), y = outcome(b, 2), z = outcome(c, 3);
                FIX(same_outcome(asx_outcome_join(asx_outcome_join(x, y), z),
                                 asx_outcome_join(x, asx_outcome_join(y, z))));
            }
}

ASX_FIXTURE_ONE("outcome-lattice-004", ALGEBRA)
{
    asx_outcome identity = ASX_OUTCOME_INIT_OK;
    for (unsigned a = 1; a < KINDS; a++) {
        FIX(same_outcome(asx_outcome_join(identity, outcome(a, 7)), outcome(a, 7)));
        FIX(same_outcome(asx_outcome_join(outcome(a, 7), identity), outcome(a, 7)));
    }
    FIX_EQ(asx_outcome_join(identity, identity).kind, ASX_OUTCOME_OK);
}

ASX_FIXTURE_ONE("outcome-lattice-005", ALGEBRA)
{
    for (unsigned a = 0; a < KINDS; a++) {
        FIX_EQ(asx_outcome_join(outcome(3, 1), outcome(a, 2)).kind, ASX_OUTCOME_PANICKED);
        FIX_EQ(asx_outcome_join(outcome(a, 2), outcome(3, 1)).kind, ASX_OUTCOME_PANICKED);
    }
}

ASX_FIXTURE_ONE("outcome-join-left-bias-001", ALGEBRA)
{
    for (unsigned a = 1; a < KINDS; a++) {
        FIX(same_outcome(asx_outcome_join(outcome(a, 1), outcome(a, 2)), outcome(a, 1)));
        FIX(same_outcome(asx_outcome_join(outcome(a, 2), outcome(a, 1)), outcome(a, 2)));
    }
}

/* The kind of a fold does not depend on the order in which it is done. */
ASX_FIXTURE_ONE("outcome-join-order-002", ALGEBRA)
{
    static const unsigned orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                           { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    for (unsigned set = 0; set < KINDS * KINDS * KINDS; set++) {
        unsigned of[3] = { set % KINDS, set / KINDS % KINDS, set / KINDS / KINDS };
        unsigned worst = of[0] > of[1] ? of[0] : of[1];
        worst = worst > of[2] ? worst : of[2];
        for (unsigned o = 0; o < 6; o++) {
            asx_outcome sum = ASX_OUTCOME_INIT_OK;
            for (unsigned i = 0; i < 3; i++)
                sum = asx_outcome_join(sum, outcome(of[orders[o][i]], i));
            FIX_EQ(sum.kind, kinds[worst]);
        }
    }
}

/* Once Panicked, a sum stays what it was, payload and all; and nothing is worse. */
ASX_FIXTURE_ONE("outcome-join-top-003", ALGEBRA)
{
    asx_outcome top = outcome(3, 9);
    asx_outcome sum = top;
    for (unsigned a = 0; a < KINDS; a++) {
        sum = asx_outcome_join(sum, outcome(a, 1));
        FIX(same_outcome(sum, top));
    }
    FIX_EQ(asx_outcome_severity((asx_outcome_kind)77), asx_outcome_severity(ASX_OUTCOME_PANICKED));
}

/* ---- budgets ---- */

static const asx_time deadlines[] = { 0, 1, ASX_SEC, ASX_TIME_NEVER - 1, ASX_TIME_NEVER };
static const uint32_t polls[] = { 0, 1, 1000, ASX_QUOTA_UNLIMITED - 1, ASX_QUOTA_UNLIMITED };
static const uint64_t costs[] = { 0, 1, 1000, ASX_COST_UNLIMITED - 1, ASX_COST_UNLIMITED };
static const uint8_t priorities[] = { 0, 1, 128, 254, 255 };
enum { VALUES = 5, BUDGETS = VALUES * VALUES * VALUES * VALUES };

static asx_budget budget(unsigned n)
{
    asx_budget b = { .deadline = deadlines[n % VALUES],
                     .cost_quota = costs[n / VALUES % VALUES],
                     .poll_quota = polls[n / VALUES / VALUES % VALUES],
                     .priority = priorities[n / VALUES / VALUES / VALUES] };
    return b;
}

ASX_FIXTURE_ONE("budget-meet-identity-010", ALGEBRA)
{
    asx_budget infinite = asx_budget_infinite();
    FIX_EQ(infinite.deadline, ASX_TIME_NEVER);
    FIX_EQ(infinite.poll_quota, ASX_QUOTA_UNLIMITED);
    FIX_EQ(infinite.cost_quota, ASX_COST_UNLIMITED);
    FIX_EQ(infinite.priority, 0);
    for (unsigned i = 0; i < BUDGETS; i++) {
        FIX(asx_budget_equal(asx_budget_meet(infinite, budget(i)), budget(i)));
        FIX(asx_budget_equal(asx_budget_meet(budget(i), infinite), budget(i)));
    }
}

ASX_FIXTURE_ONE("budget-meet-absorbing-011", ALGEBRA)
{
    asx_budget zero = asx_budget_zero();
    FIX_EQ(zero.deadline, 0);
    FIX_EQ(zero.poll_quota, 0);
    FIX_EQ(zero.cost_quota, 0);
    FIX_EQ(zero.priority, 255);
    for (unsigned i = 0; i < BUDGETS; i++) {
        FIX(asx_budget_equal(asx_budget_meet(zero, budget(i)), zero));
        FIX(asx_budget_equal(asx_budget_meet(budget(i), zero), zero));
    }
}

/* No deadline never expires and never tightens; a finite one wins over it. */
ASX_FIXTURE_ONE("budget-deadline-none-012", ALGEBRA)
{
    asx_budget none = asx_budget_infinite(), some = asx_budget_infinite();
    some.deadline = 5 * ASX_MS;
    FIX(!asx_budget_expired(none, 0));
    FIX(!asx_budget_expired(none, ASX_TIME_NEVER - 1));
    FIX(!asx_budget_expired(none, ASX_TIME_NEVER));
    FIX_EQ(asx_budget_meet(none, some).deadline, 5 * ASX_MS);
    FIX_EQ(asx_budget_meet(some, none).deadline, 5 * ASX_MS);
    FIX_EQ(asx_budget_meet(none, none).deadline, ASX_TIME_NEVER);
}

ASX_FIXTURE_ONE("budget-consume-poll-013", ALGEBRA)
{
    asx_budget b = asx_budget_infinite(), before;
    b.poll_quota = 2;
    FIX_STATUS(asx_budget_consume_poll(&b), ASX_OK);
    FIX_EQ(b.poll_quota, 1);
    FIX_STATUS(asx_budget_consume_poll(&b), ASX_OK);
    FIX_EQ(b.poll_quota, 0);
    before = b;
    FIX_STATUS(asx_budget_consume_poll(&b), ASX_E_BUDGET_EXHAUSTED);
    FIX(asx_budget_equal(b, before));
    b = asx_budget_infinite();
    FIX_STATUS(asx_budget_consume_poll(&b), ASX_OK);
    FIX_EQ(b.poll_quota, ASX_QUOTA_UNLIMITED);
    FIX_STATUS(asx_budget_consume_poll(NULL), ASX_E_INVALID_ARGUMENT);
}

ASX_FIXTURE_ONE("budget-consume-cost-014", ALGEBRA)
{
    asx_budget b = asx_budget_infinite(), before;
    b.cost_quota = 10;
    FIX_STATUS(asx_budget_consume_cost(&b, 7), ASX_OK);
    FIX_EQ(b.cost_quota, 3);
    before = b;
    FIX_STATUS(asx_budget_consume_cost(&b, 4), ASX_E_BUDGET_EXHAUSTED);
    FIX(asx_budget_equal(b, before)); /* all or none */
    FIX_STATUS(asx_budget_consume_cost(&b, 3), ASX_OK);
    FIX_EQ(b.cost_quota, 0);
    FIX_STATUS(asx_budget_consume_cost(&b, 1), ASX_E_BUDGET_EXHAUSTED);
    b = asx_budget_infinite();
    FIX_STATUS(asx_budget_consume_cost(&b, UINT64_MAX - 1), ASX_OK);
    FIX_EQ(b.cost_quota, ASX_COST_UNLIMITED);
}

/* A deadline has passed at the very moment it names, not before. */
ASX_FIXTURE_ONE("budget-deadline-boundary-015", ALGEBRA)
{
    asx_budget b = asx_budget_infinite();
    b.deadline = 1000;
    FIX(!asx_budget_expired(b, 999));
    FIX(asx_budget_expired(b, 1000));
    FIX(asx_budget_expired(b, 1001));
    b.deadline = 0;
    FIX(asx_budget_expired(b, 0));
}

/* ---- cancellation, as far as it is algebra ---- */

/* What the kinds are, written out a second time: a change of the library's list shows here. */
static const struct {
    asx_cancel_kind kind;
    const char *name;
    int severity;
    uint32_t quota;
    uint8_t priority;
} cancel_rows[] = {
    { ASX_CANCEL_USER, "User", 0, 1000, 200 },
    { ASX_CANCEL_TIMEOUT, "Timeout", 1, 500, 210 },
    { ASX_CANCEL_DEADLINE, "Deadline", 1, 500, 210 },
    { ASX_CANCEL_POLL_QUOTA, "PollQuota", 2, 300, 215 },
    { ASX_CANCEL_COST_BUDGET, "CostBudget", 2, 300, 215 },
    { ASX_CANCEL_FAIL_FAST, "FailFast", 3, 200, 220 },
    { ASX_CANCEL_RACE_LOST, "RaceLost", 3, 200, 220 },
    { ASX_CANCEL_LINKED_EXIT, "LinkedExit", 3, 200, 220 },
    { ASX_CANCEL_PARENT, "ParentCancelled", 4, 200, 220 },
    { ASX_CANCEL_RESOURCE, "ResourceUnavailable", 4, 200, 220 },
    { ASX_CANCEL_SHUTDOWN, "Shutdown", 5, 50, 255 },
};

ASX_FIXTURE_ONE("cancel-protocol-007", ALGEBRA)
{
    FIX_EQ(sizeof(cancel_rows) / sizeof(cancel_rows[0]), ASX_CANCEL_KIND_COUNT);
    for (size_t i = 0; i < ASX_CANCEL_KIND_COUNT; i++) {
        asx_budget b = asx_cancel_cleanup_budget(cancel_rows[i].kind);
        FIX_EQ(cancel_rows[i].kind, i);
        FIX(strcmp(asx_cancel_kind_str(cancel_rows[i].kind), cancel_rows[i].name) == 0);
        FIX_EQ(asx_cancel_severity(cancel_rows[i].kind), cancel_rows[i].severity);
        FIX_EQ(b.poll_quota, cancel_rows[i].quota);
        FIX_EQ(b.priority, cancel_rows[i].priority);
        FIX_EQ(b.deadline, ASX_TIME_NEVER);
        FIX_EQ(b.cost_quota, ASX_COST_UNLIMITED);
    }
    FIX_EQ(asx_cancel_severity((asx_cancel_kind)99), 5);
}

static asx_cancel_witness witness(asx_cancel_phase phase, asx_cancel_kind kind)
{
    asx_cancel_witness w = { .task = asx_handle_make(ASX_TAG_TASK, ASX_STATE_MASK_ALL, 3, 30),
                             .region = asx_handle_make(ASX_TAG_REGION, ASX_STATE_MASK_ALL, 1, 10),
                             .epoch = 1,
                             .phase = phase };
    w.reason.kind = kind;
    return w;
}

/* Phases never go back; a step to the same or any later one is legal. */
ASX_FIXTURE_ONE("cancel-protocol-008", ALGEBRA)
{
    for (unsigned from = 0; from < ASX_CANCEL_PHASE_COUNT; from++)
        for (unsigned to = 0; to < ASX_CANCEL_PHASE_COUNT; to++) {
            asx_cancel_witness prev = witness((asx_cancel_phase)from, ASX_CANCEL_TIMEOUT);
            asx_cancel_witness next = witness((asx_cancel_phase)to, ASX_CANCEL_TIMEOUT);
            FIX_STATUS(asx_cancel_witness_check(&prev, &next),
                       to < from ? ASX_E_WITNESS_PHASE_REGRESSION : ASX_OK);
        }
    asx_cancel_witness prev = witness(ASX_CANCEL_REQUESTED, ASX_CANCEL_TIMEOUT);
    asx_cancel_witness next = witness(ASX_CANCEL_REQUESTED, ASX_CANCEL_USER);
    FIX_STATUS(asx_cancel_witness_check(&prev, &next), ASX_E_WITNESS_REASON_WEAKENED);
    next = prev;
    next.task = asx_handle_make(ASX_TAG_TASK, ASX_STATE_MASK_ALL, 4, 30);
    FIX_STATUS(asx_cancel_witness_check(&prev, &next), ASX_E_WITNESS_TASK_MISMATCH);
    next = prev;
    next.region = asx_handle_make(ASX_TAG_REGION, ASX_STATE_MASK_ALL, 1, 11);
    FIX_STATUS(asx_cancel_witness_check(&prev, &next), ASX_E_WITNESS_REGION_MISMATCH);
    next = prev;
    next.epoch = 2;
    FIX_STATUS(asx_cancel_witness_check(&prev, &next), ASX_E_WITNESS_EPOCH_MISMATCH);
}
