/* The budget algebra: laws over generated values, consumption, exhaustion; saturating time. */
#include "gen.h"
#include "harness.h"
#include "kernel/kernel.h"

enum { ROUNDS = 20000 };

static bool at_least_as_tight(asx_budget a, asx_budget b)
{
    return a.deadline <= b.deadline && a.cost_quota <= b.cost_quota &&
           a.poll_quota <= b.poll_quota && a.priority >= b.priority;
}

ASX_TEST(meet_is_a_semilattice_with_infinite_as_unit_and_zero_absorbing)
{
    gen g = { 6 };
    for (int i = 0; i < ROUNDS; i++) {
        asx_budget a = gen_budget(&g), b = gen_budget(&g), c = gen_budget(&g);
        asx_budget ab = asx_budget_meet(a, b);
        CHECK(asx_budget_equal(ab, asx_budget_meet(b, a)));
        CHECK(asx_budget_equal(asx_budget_meet(ab, c), asx_budget_meet(a, asx_budget_meet(b, c))));
        CHECK(asx_budget_equal(asx_budget_meet(a, a), a));
        CHECK(asx_budget_equal(asx_budget_meet(a, asx_budget_infinite()), a));
        CHECK(asx_budget_equal(asx_budget_meet(a, asx_budget_zero()), asx_budget_zero()));
    }
}

ASX_TEST(meet_is_the_greatest_lower_bound)
{
    gen g = { 7 };
    for (int i = 0; i < ROUNDS; i++) {
        asx_budget a = gen_budget(&g), b = gen_budget(&g), c = gen_budget(&g);
        asx_budget ab = asx_budget_meet(a, b);
        CHECK(at_least_as_tight(ab, a) && at_least_as_tight(ab, b));
        if (at_least_as_tight(c, a) && at_least_as_tight(c, b))
            CHECK(at_least_as_tight(c, ab));
        CHECK(ab.deadline == a.deadline || ab.deadline == b.deadline);
        CHECK(ab.cost_quota == a.cost_quota || ab.cost_quota == b.cost_quota);
        CHECK(ab.poll_quota == a.poll_quota || ab.poll_quota == b.poll_quota);
        CHECK(ab.priority == a.priority || ab.priority == b.priority);
    }
}

ASX_TEST(infinite_and_zero_are_the_documented_values)
{
    asx_budget top = asx_budget_infinite(), bottom = asx_budget_zero();
    CHECK_EQ(top.deadline, ASX_TIME_NEVER);
    CHECK_EQ(top.cost_quota, UINT64_MAX);
    CHECK_EQ(top.poll_quota, UINT32_MAX);
    CHECK_EQ(top.priority, 0);
    CHECK_EQ(bottom.deadline, 0u);
    CHECK_EQ(bottom.cost_quota, 0u);
    CHECK_EQ(bottom.poll_quota, 0u);
    CHECK_EQ(bottom.priority, 255);
}

ASX_TEST(equality_looks_at_every_component)
{
    gen g = { 8 };
    for (int i = 0; i < ROUNDS; i++) {
        asx_budget a = gen_budget(&g), b = a;
        CHECK(asx_budget_equal(a, b));
        switch (i % 4) {
        case 0:
            b.deadline ^= UINT64_C(1) << gen_below(&g, 64);
            break;
        case 1:
            b.cost_quota ^= UINT64_C(1) << gen_below(&g, 64);
            break;
        case 2:
            b.poll_quota ^= UINT32_C(1) << gen_below(&g, 32);
            break;
        default:
            b.priority = (uint8_t)(b.priority ^ (1u << gen_below(&g, 8)));
        }
        CHECK(!asx_budget_equal(a, b));
    }
}

ASX_TEST(a_poll_takes_one_or_nothing)
{
    gen g = { 9 };
    for (int i = 0; i < ROUNDS; i++) {
        asx_budget before = gen_budget(&g), after = before, expected = before;
        asx_status st = asx_budget_consume_poll(&after);
        if (before.poll_quota > 0 && before.poll_quota < ASX_QUOTA_UNLIMITED)
            expected.poll_quota--;
        CHECK_STATUS(st, before.poll_quota == 0 ? ASX_E_BUDGET_EXHAUSTED : ASX_OK);
        CHECK(asx_budget_equal(after, expected));
    }
    CHECK_STATUS(asx_budget_consume_poll(NULL), ASX_E_INVALID_ARGUMENT);
}

ASX_TEST(exactly_quota_polls_are_possible)
{
    asx_budget budget = asx_budget_infinite();
    budget.poll_quota = 300;
    for (int i = 0; i < 300; i++)
        CHECK_STATUS(asx_budget_consume_poll(&budget), ASX_OK);
    CHECK_STATUS(asx_budget_consume_poll(&budget), ASX_E_BUDGET_EXHAUSTED);
    CHECK_EQ(budget.poll_quota, 0u);
}

ASX_TEST(a_cost_is_taken_whole_or_not_at_all)
{
    gen g = { 10 };
    for (int i = 0; i < ROUNDS; i++) {
        asx_budget before = gen_budget(&g), after = before, expected = before;
        uint64_t cost = gen_edgy(&g, UINT64_MAX);
        bool enough = cost <= before.cost_quota;
        if (enough && before.cost_quota != ASX_COST_UNLIMITED)
            expected.cost_quota -= cost;
        CHECK_STATUS(asx_budget_consume_cost(&after, cost),
                     enough ? ASX_OK : ASX_E_BUDGET_EXHAUSTED);
        CHECK(asx_budget_equal(after, expected));
    }
    asx_budget exact = asx_budget_infinite();
    exact.cost_quota = 7;
    CHECK_STATUS(asx_budget_consume_cost(&exact, 8), ASX_E_BUDGET_EXHAUSTED);
    CHECK_STATUS(asx_budget_consume_cost(&exact, 7), ASX_OK);
    CHECK_STATUS(asx_budget_consume_cost(&exact, 0), ASX_OK);
    CHECK_STATUS(asx_budget_consume_cost(&exact, 1), ASX_E_BUDGET_EXHAUSTED);
    CHECK_STATUS(asx_budget_consume_cost(NULL, 1), ASX_E_INVALID_ARGUMENT);
}

ASX_TEST(a_deadline_expires_at_its_own_instant_and_never_never)
{
    gen g = { 11 };
    for (int i = 0; i < ROUNDS; i++) {
        asx_budget budget = asx_budget_infinite();
        budget.deadline = gen_below(&g, ASX_TIME_NEVER - 1);
        CHECK(asx_budget_expired(budget, budget.deadline));
        CHECK(asx_budget_expired(budget, budget.deadline + 1));
        CHECK(budget.deadline == 0 || !asx_budget_expired(budget, budget.deadline - 1));
    }
    CHECK(!asx_budget_expired(asx_budget_infinite(), 0));
    CHECK(!asx_budget_expired(asx_budget_infinite(), UINT64_MAX));
    CHECK(asx_budget_expired(asx_budget_zero(), 0));
}

ASX_TEST(exhaustion_names_deadline_then_polls_then_cost)
{
    for (unsigned c = 0; c < 8; c++) {
        asx_budget budget = { (c & 1) ? 10 : 11, (c & 4) ? 0 : 1, (c & 2) ? 0 : 1, 0 };
        const asx_budget before = budget;
        asx_cancel_kind kind = ASX_CANCEL_USER;
        bool exhausted = asx__budget_exhausted(&budget, 10, &kind);
        CHECK_EQ(exhausted, c != 0);
        CHECK_EQ(kind, (c & 1)   ? ASX_CANCEL_DEADLINE
                       : (c & 2) ? ASX_CANCEL_POLL_QUOTA
                       : (c & 4) ? ASX_CANCEL_COST_BUDGET
                                 : ASX_CANCEL_USER);
        CHECK(asx_budget_equal(budget, before));
    }
}

ASX_TEST(a_tighter_budget_is_exhausted_whenever_the_looser_is)
{
    gen g = { 12 };
    for (int i = 0; i < ROUNDS; i++) {
        asx_budget a = gen_budget(&g), b = gen_budget(&g);
        asx_budget ab = asx_budget_meet(a, b);
        asx_time now = gen_edgy(&g, UINT64_MAX);
        asx_cancel_kind kind;
        bool either = asx__budget_exhausted(&a, now, &kind);
        either = asx__budget_exhausted(&b, now, &kind) || either;
        CHECK_EQ(asx__budget_exhausted(&ab, now, &kind), either);
    }
}

ASX_TEST(time_saturates_at_never)
{
    gen g = { 13 };
    for (int i = 0; i < ROUNDS; i++) {
        asx_time a = gen_edgy(&g, UINT64_MAX);
        uint64_t ns = gen_edgy(&g, UINT64_MAX);
        asx_time sum = asx_time_add(a, ns);
        CHECK(sum >= a && sum >= ns);
        CHECK(sum == ASX_TIME_NEVER || sum - a == ns);
    }
    CHECK_EQ(asx_time_add(1, 2), 3u);
    CHECK_EQ(asx_time_add(ASX_TIME_NEVER, 1), ASX_TIME_NEVER);
    CHECK_EQ(asx_time_add(ASX_TIME_NEVER - 1, 1), ASX_TIME_NEVER);
    CHECK_EQ(asx_time_add(ASX_TIME_NEVER - 2, 1), ASX_TIME_NEVER - 1);
}
