/* Outcomes: the lattice, the fold of a region, and the laws of join and race. */
#include "gen.h"
#include "harness.h"
#include "kernel/kernel.h"

enum { ROUNDS = 20000 };

ASX_TEST(severity_rises_from_ok_to_panicked)
{
    CHECK_EQ(asx_outcome_severity(ASX_OUTCOME_OK), 0);
    CHECK_EQ(asx_outcome_severity(ASX_OUTCOME_ERR), 1);
    CHECK_EQ(asx_outcome_severity(ASX_OUTCOME_CANCELLED), 2);
    CHECK_EQ(asx_outcome_severity(ASX_OUTCOME_PANICKED), 3);
    CHECK_EQ(asx_outcome_severity((asx_outcome_kind)4), 3);
    CHECK_EQ(asx_outcome_severity((asx_outcome_kind)-1), 3);
}

ASX_TEST(kinds_have_names)
{
    const char *const names[] = { "Ok", "Err", "Cancelled", "Panicked" };
    for (unsigned k = 0; k < 4; k++)
        CHECK_STR_EQ(asx_outcome_str((asx_outcome_kind)k), names[k]);
    CHECK_STR_EQ(asx_outcome_str((asx_outcome_kind)4), "Unknown");
    CHECK_STR_EQ(asx_outcome_str((asx_outcome_kind)-1), "Unknown");
}

ASX_TEST(join_of_all_pairs_is_the_worse_one_and_the_left_one_when_equal)
{
    for (unsigned a = 0; a < 4; a++) {
        for (unsigned b = 0; b < 4; b++) {
            asx_outcome left = { (asx_outcome_kind)a, ASX_E_FULL, 1 };
            asx_outcome right = { (asx_outcome_kind)b, ASX_E_EMPTY, 2 };
            CHECK(outcome_equal(asx_outcome_join(left, right), b > a ? right : left));
        }
    }
}

ASX_TEST(join_is_associative_idempotent_with_ok_as_unit_and_panicked_absorbing)
{
    gen g = { 14 };
    const asx_outcome ok = ASX_OUTCOME_INIT_OK;
    for (int i = 0; i < ROUNDS; i++) {
        asx_outcome a = gen_outcome(&g, 1), b = gen_outcome(&g, 2), c = gen_outcome(&g, 3);
        asx_outcome panicked = { ASX_OUTCOME_PANICKED, ASX_E_PANICKED, 4 };
        CHECK(outcome_equal(asx_outcome_join(asx_outcome_join(a, b), c),
                            asx_outcome_join(a, asx_outcome_join(b, c))));
        CHECK(outcome_equal(asx_outcome_join(a, a), a));
        CHECK(outcome_equal(asx_outcome_join(a, ok), a));
        CHECK_EQ(asx_outcome_join(ok, a).kind, a.kind);
        CHECK_EQ(asx_outcome_join(ok, a).status, a.status);
        CHECK_EQ(asx_outcome_join(a, b).kind, asx_outcome_join(b, a).kind);
        CHECK(outcome_equal(asx_outcome_join(panicked, a), panicked));
        CHECK_EQ(asx_outcome_join(a, panicked).kind, ASX_OUTCOME_PANICKED);
    }
}

ASX_TEST(a_region_without_children_is_ok)
{
    const asx_outcome empty = ASX_OUTCOME_INIT_OK;
    CHECK_EQ(empty.kind, ASX_OUTCOME_OK);
    CHECK_EQ(empty.status, ASX_OK);
    CHECK_EQ(empty.source, 0u);
}

ASX_TEST(folding_in_any_order_is_joining_in_order_of_creation)
{
    gen g = { 15 };
    for (int round = 0; round < 300; round++) {
        size_t count = 1 + (size_t)gen_below(&g, 6), order[6];
        asx_outcome children[6], joined = ASX_OUTCOME_INIT_OK;
        for (size_t i = 0; i < count; i++) {
            children[i] = gen_outcome(&g, 10 + i);
            joined = asx_outcome_join(joined, children[i]);
            order[i] = i;
        }
        do {
            asx_outcome folded = ASX_OUTCOME_INIT_OK;
            for (size_t i = 0; i < count; i++) {
                asx_outcome before = folded;
                asx__outcome_fold(&folded, children[order[i]]);
                CHECK(folded.kind >= before.kind);
            }
            CHECK(outcome_equal(folded, joined));
        } while (next_permutation(order, count));
    }
}

ASX_TEST(folding_ok_into_ok_keeps_what_was_there)
{
    asx_outcome acc = { ASX_OUTCOME_OK, ASX_OK, 9 };
    asx__outcome_fold(&acc, (asx_outcome){ ASX_OUTCOME_OK, ASX_OK, 2 });
    CHECK_EQ(acc.source, 9u);
}

ASX_TEST(folding_an_equal_of_the_same_source_keeps_what_was_there)
{
    asx_outcome acc = { ASX_OUTCOME_ERR, ASX_E_FULL, 3 };
    asx__outcome_fold(&acc, (asx_outcome){ ASX_OUTCOME_ERR, ASX_E_EMPTY, 3 });
    CHECK_STATUS(acc.status, ASX_E_FULL);
}

/* Monotone: when one child ends worse, the region does not end better. */
ASX_TEST(worsening_a_child_never_improves_the_region)
{
    gen g = { 16 };
    for (int round = 0; round < ROUNDS; round++) {
        asx_outcome before = ASX_OUTCOME_INIT_OK, after = ASX_OUTCOME_INIT_OK;
        size_t count = 1 + (size_t)gen_below(&g, 5), changed = (size_t)gen_below(&g, count);
        for (size_t i = 0; i < count; i++) {
            asx_outcome child = gen_outcome(&g, 1 + i);
            asx__outcome_fold(&before, child);
            if (i == changed)
                child.kind = (asx_outcome_kind)(child.kind + gen_below(&g, 4u - child.kind));
            asx__outcome_fold(&after, child);
        }
        CHECK(after.kind >= before.kind);
    }
}

/* ---- join and race ---- */

enum { FINISHES = 13 }; /* 3 instants x 4 kinds, and never */

static asx__finish finish_number(unsigned n, uint64_t source)
{
    if (n == FINISHES - 1)
        return (asx__finish)ASX__FINISH_NEVER;
    asx__finish finish = { n / 4, { (asx_outcome_kind)(n % 4), ASX_OK, source } };
    if (finish.outcome.kind != ASX_OUTCOME_OK)
        finish.outcome.status = ASX_E_FULL;
    return finish;
}

static bool finish_equal(asx__finish a, asx__finish b)
{
    return a.at == b.at && outcome_equal(a.outcome, b.outcome);
}

ASX_TEST(join_and_race_are_associative)
{
    for (unsigned n = 0; n < FINISHES * FINISHES * FINISHES; n++) {
        asx__finish a = finish_number(n % FINISHES, 1);
        asx__finish b = finish_number(n / FINISHES % FINISHES, 2);
        asx__finish c = finish_number(n / FINISHES / FINISHES, 3);
        CHECK(finish_equal(asx__finish_join(asx__finish_join(a, b), c),
                           asx__finish_join(a, asx__finish_join(b, c))));
        CHECK(finish_equal(asx__finish_race(asx__finish_race(a, b), c),
                           asx__finish_race(a, asx__finish_race(b, c))));
    }
}

ASX_TEST(join_with_the_unit_and_race_with_never_change_nothing)
{
    const asx__finish unit = ASX__FINISH_UNIT, never = ASX__FINISH_NEVER;
    CHECK_EQ(never.at, ASX_TIME_NEVER);
    CHECK_EQ(unit.at, 0u);
    for (unsigned n = 0; n < FINISHES; n++) {
        asx__finish a = finish_number(n, 1), left = asx__finish_join(unit, a);
        CHECK(finish_equal(asx__finish_join(a, unit), a));
        CHECK(left.at == a.at && left.outcome.kind == a.outcome.kind &&
              left.outcome.status == a.outcome.status);
        CHECK(finish_equal(asx__finish_race(a, never), a));
        CHECK(finish_equal(asx__finish_race(never, a), a));
        CHECK(finish_equal(asx__finish_join(a, never), never));
        CHECK(finish_equal(asx__finish_join(never, a), never));
    }
}

ASX_TEST(join_waits_for_both_and_race_for_the_first)
{
    for (unsigned n = 0; n < FINISHES * FINISHES; n++) {
        asx__finish a = finish_number(n % FINISHES, 1), b = finish_number(n / FINISHES, 2);
        asx__finish both = asx__finish_join(a, b), first = asx__finish_race(a, b);
        CHECK_EQ(both.at, a.at > b.at ? a.at : b.at);
        if (both.at != ASX_TIME_NEVER)
            CHECK(outcome_equal(both.outcome, asx_outcome_join(a.outcome, b.outcome)));
        CHECK(finish_equal(first, a.at <= b.at ? a : b));
        CHECK_EQ(asx__finish_join(b, a).outcome.kind, both.outcome.kind);
        CHECK_EQ(asx__finish_race(b, a).at, first.at);
    }
}

ASX_TEST(the_winner_of_many_is_the_race_of_races)
{
    gen g = { 17 };
    for (int round = 0; round < ROUNDS; round++) {
        asx__finish racers[6], raced = ASX__FINISH_NEVER;
        size_t count = (size_t)gen_below(&g, 7), winner = 99;
        for (size_t i = 0; i < count; i++) {
            racers[i] = finish_number((unsigned)gen_below(&g, FINISHES), 1 + i);
            raced = asx__finish_race(raced, racers[i]);
        }
        asx_status st = asx__race_pick(racers, count, &winner);
        if (raced.at == ASX_TIME_NEVER) {
            CHECK_STATUS(st, ASX_E_NOT_FOUND);
            CHECK_EQ(winner, 99u);
            continue;
        }
        CHECK_STATUS(st, ASX_OK);
        CHECK(finish_equal(racers[winner], raced));
        for (size_t i = 0; i < count; i++)
            CHECK(racers[i].at > racers[winner].at ||
                  (racers[i].at == racers[winner].at && i >= winner));
    }
}

/* Racers finish in groups; the driver does what it is told. */
ASX_TEST(a_race_cancels_its_losers_once_and_returns_when_all_are_drained)
{
    for (size_t racers = 1; racers <= 6; racers++) {
        for (unsigned groups = 0; groups < 1u << (racers - 1); groups++) {
            size_t finished = 0;
            int cancels = 0;
            bool returned = false;
            CHECK_EQ(asx__race_next(racers, 0, false), ASX__RACE_WAIT);
            for (size_t i = 0; i < racers; i++) {
                finished++;
                if (i + 1 < racers && (groups >> i & 1))
                    continue; /* the next one finishes before anybody looks */
                asx__race_action action = asx__race_next(racers, finished, cancels > 0);
                if (action == ASX__RACE_CANCEL_LOSERS) {
                    CHECK(finished < racers);
                    cancels++;
                    action = asx__race_next(racers, finished, true);
                }
                returned = action == ASX__RACE_RETURN_WINNER;
                CHECK_EQ(returned, finished == racers);
                CHECK(returned || (action == ASX__RACE_WAIT && cancels == 1));
            }
            CHECK(returned && cancels <= 1);
        }
    }
    CHECK_EQ(asx__race_next(0, 0, false), ASX__RACE_WAIT);
}

static void finish_more_than_run(void *arg)
{
    (void)arg;
    (void)asx__race_next(2, 3, true);
}

ASX_TEST(broken_promises_of_the_caller_are_caught)
{
    CHECK_DIES(finish_more_than_run, NULL);
}
