/* Cancellation: kinds, phases, witnesses, strengthening, the cancel state of a task. */
#include <string.h>

#include "gen.h"
#include "harness.h"
#include "kernel/kernel.h"

/* The ladder of kinds, written out a second time. */
static const struct ladder {
    const char *name;
    int number, severity;
    uint32_t quota;
    int priority;
} ladder[ASX_CANCEL_KIND_COUNT] = {
    { "User", ASX_CANCEL_USER, 0, 1000, 200 },
    { "Timeout", ASX_CANCEL_TIMEOUT, 1, 500, 210 },
    { "Deadline", ASX_CANCEL_DEADLINE, 1, 500, 210 },
    { "PollQuota", ASX_CANCEL_POLL_QUOTA, 2, 300, 215 },
    { "CostBudget", ASX_CANCEL_COST_BUDGET, 2, 300, 215 },
    { "FailFast", ASX_CANCEL_FAIL_FAST, 3, 200, 220 },
    { "RaceLost", ASX_CANCEL_RACE_LOST, 3, 200, 220 },
    { "LinkedExit", ASX_CANCEL_LINKED_EXIT, 3, 200, 220 },
    { "ParentCancelled", ASX_CANCEL_PARENT, 4, 200, 220 },
    { "ResourceUnavailable", ASX_CANCEL_RESOURCE, 4, 200, 220 },
    { "Shutdown", ASX_CANCEL_SHUTDOWN, 5, 50, 255 },
};

ASX_TEST(every_kind_has_its_name_severity_and_cleanup_budget)
{
    for (int k = 0; k < ASX_CANCEL_KIND_COUNT; k++) {
        asx_cancel_kind kind = (asx_cancel_kind)k;
        asx_budget budget = asx_cancel_cleanup_budget(kind);
        CHECK_EQ(ladder[k].number, k);
        CHECK_STR_EQ(asx_cancel_kind_str(kind), ladder[k].name);
        CHECK_EQ(asx_cancel_severity(kind), ladder[k].severity);
        CHECK_EQ(budget.poll_quota, ladder[k].quota);
        CHECK_EQ(budget.priority, ladder[k].priority);
        CHECK_EQ(budget.deadline, ASX_TIME_NEVER);
        CHECK_EQ(budget.cost_quota, ASX_COST_UNLIMITED);
    }
}

ASX_TEST(more_severe_kinds_never_get_more_to_clean_up_with)
{
    for (int a = 0; a < ASX_CANCEL_KIND_COUNT; a++) {
        for (int b = 0; b < ASX_CANCEL_KIND_COUNT; b++) {
            if (ladder[a].severity <= ladder[b].severity) {
                asx_budget mild = asx_cancel_cleanup_budget((asx_cancel_kind)a);
                asx_budget hard = asx_cancel_cleanup_budget((asx_cancel_kind)b);
                CHECK(asx_budget_equal(asx_budget_meet(mild, hard), hard));
            }
        }
    }
}

ASX_TEST(an_unknown_kind_counts_as_the_most_severe)
{
    const int unknown[] = { 11, 12, 255, -1 };
    for (size_t i = 0; i < 4; i++) {
        asx_cancel_kind kind = (asx_cancel_kind)unknown[i];
        CHECK_STR_EQ(asx_cancel_kind_str(kind), "Unknown");
        CHECK_EQ(asx_cancel_severity(kind), 5);
        CHECK_EQ(asx_cancel_cleanup_budget(kind).poll_quota, 50u);
    }
}

/* ---- phases ---- */

ASX_TEST(all_16_pairs_of_phases_go_forward_or_stay)
{
    for (unsigned from = 0; from < 4; from++) {
        for (unsigned to = 0; to < 4; to++) {
            asx_cancel_phase phase = (asx_cancel_phase)from;
            CHECK_STATUS(asx__cancel_phase_step(&phase, (asx_cancel_phase)to),
                         to >= from ? ASX_OK : ASX_E_WITNESS_PHASE_REGRESSION);
            CHECK_EQ(phase, to >= from ? to : from);
        }
    }
}

ASX_TEST(numbers_that_are_no_phase_are_illegal)
{
    for (unsigned other = 4; other < 300; other++) {
        for (unsigned known = 0; known < 4; known++) {
            asx_cancel_phase phase = (asx_cancel_phase)known;
            CHECK_STATUS(asx__cancel_phase_step(&phase, (asx_cancel_phase)other),
                         ASX_E_INVALID_TRANSITION);
            CHECK_EQ(phase, known);
            phase = (asx_cancel_phase)other;
            CHECK_STATUS(asx__cancel_phase_step(&phase, (asx_cancel_phase)known),
                         ASX_E_INVALID_TRANSITION);
            CHECK_EQ(phase, other);
        }
    }
}

ASX_TEST(phases_have_names)
{
    const char *const names[] = { "Requested", "Cancelling", "Finalizing", "Completed" };
    for (unsigned p = 0; p < 4; p++)
        CHECK_STR_EQ(asx_cancel_phase_str((asx_cancel_phase)p), names[p]);
    CHECK_STR_EQ(asx_cancel_phase_str((asx_cancel_phase)4), "Unknown");
    CHECK_STR_EQ(asx_cancel_phase_str((asx_cancel_phase)-1), "Unknown");
}

ASX_TEST(a_cancelled_tasks_state_shows_its_phase)
{
    const int phases[] = { -1, -1, ASX_CANCEL_REQUESTED, ASX_CANCEL_CANCELLING,
                           ASX_CANCEL_FINALIZING, ASX_CANCEL_COMPLETED };
    for (unsigned s = 0; s < ASX_TASK_STATE_COUNT; s++) {
        asx_cancel_phase phase = (asx_cancel_phase)77;
        CHECK_STATUS(asx__cancel_phase_of((asx_task_state)s, &phase),
                     phases[s] < 0 ? ASX_E_NOT_FOUND : ASX_OK);
        CHECK_EQ((int)phase, phases[s] < 0 ? 77 : phases[s]);
    }
}

/* ---- witnesses ---- */

static asx_cancel_witness make_witness(void)
{
    asx_cancel_witness witness;
    memset(&witness, 0, sizeof witness);
    witness.task = asx_handle_make(ASX_TAG_TASK, ASX_STATE_MASK_ALL, 3, 9);
    witness.region = asx_handle_make(ASX_TAG_REGION, ASX_STATE_MASK_ALL, 4, 8);
    witness.epoch = 1;
    return witness;
}

ASX_TEST(a_witness_may_follow_another_exactly_when_every_rule_holds)
{
    int seen[6] = { 0 };
    for (unsigned differ = 0; differ < 8; differ++) {
        for (unsigned p = 0; p < 16; p++) {
            for (unsigned k = 0; k < ASX_CANCEL_KIND_COUNT * ASX_CANCEL_KIND_COUNT; k++) {
                unsigned from = k % ASX_CANCEL_KIND_COUNT, to = k / ASX_CANCEL_KIND_COUNT;
                asx_cancel_witness prev = make_witness(), next = prev;
                next.task.generation += differ & 1;
                next.region.word += differ >> 1 & 1;
                next.epoch += differ >> 2;
                prev.phase = (asx_cancel_phase)(p % 4);
                next.phase = (asx_cancel_phase)(p / 4);
                prev.reason.kind = (asx_cancel_kind)from;
                next.reason.kind = (asx_cancel_kind)to;
                bool weaker = ladder[to].severity < ladder[from].severity;
                int rule = (differ & 1)     ? 1
                           : (differ & 2)   ? 2
                           : (differ & 4)   ? 3
                           : p / 4 < p % 4  ? 4
                           : weaker         ? 5
                                            : 0;
                const asx_status answers[] = {
                    ASX_OK,
                    ASX_E_WITNESS_TASK_MISMATCH,
                    ASX_E_WITNESS_REGION_MISMATCH,
                    ASX_E_WITNESS_EPOCH_MISMATCH,
                    ASX_E_WITNESS_PHASE_REGRESSION,
                    ASX_E_WITNESS_REASON_WEAKENED,
                };
                seen[rule]++;
                CHECK_STATUS(asx_cancel_witness_check(&prev, &next), answers[rule]);
            }
        }
    }
    for (int rule = 0; rule < 6; rule++)
        CHECK(seen[rule] > 0);
}

ASX_TEST(witnesses_of_narrowed_handles_speak_of_the_same_task)
{
    asx_cancel_witness prev = make_witness(), next = prev;
    next.task = asx_handle_narrow(next.task, 0x0001);
    next.region = asx_handle_narrow(next.region, 0);
    CHECK_STATUS(asx_cancel_witness_check(&prev, &next), ASX_OK);
}

ASX_TEST(a_witness_that_is_none_is_an_invalid_argument)
{
    asx_cancel_witness good = make_witness(), bad = good;
    bad.phase = (asx_cancel_phase)4;
    bad.epoch = 2;
    CHECK_STATUS(asx_cancel_witness_check(NULL, &good), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_cancel_witness_check(&good, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_cancel_witness_check(&good, &bad), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_cancel_witness_check(&bad, &good), ASX_E_INVALID_ARGUMENT);
}

/* ---- strengthening ---- */

static const char *const messages[] = { NULL, "", "a", "aa", "b", "\xff" };
enum { MESSAGES = 6 };

/* The key of a reason: smaller is stronger. */
static uint64_t strength_key(const asx_cancel_reason *reason, unsigned message)
{
    uint64_t mildness = (uint64_t)(5 - ladder[reason->kind].severity);
    return (mildness << 32) | (reason->timestamp << 8) | message;
}

ASX_TEST(stronger_is_severity_then_earlier_then_smaller_message)
{
    enum { TIMES = 3, ALL = ASX_CANCEL_KIND_COUNT * TIMES * MESSAGES };
    for (unsigned i = 0; i < ALL; i++) {
        for (unsigned j = 0; j < ALL; j++) {
            unsigned mi = i % MESSAGES, mj = j % MESSAGES;
            asx_cancel_reason a = { .kind = (asx_cancel_kind)(i / MESSAGES / TIMES),
                                    .timestamp = i / MESSAGES % TIMES,
                                    .message = messages[mi] };
            asx_cancel_reason b = { .kind = (asx_cancel_kind)(j / MESSAGES / TIMES),
                                    .timestamp = j / MESSAGES % TIMES,
                                    .message = messages[mj] };
            CHECK_EQ(asx_cancel_reason_stronger(&a, &b),
                     strength_key(&a, mi) < strength_key(&b, mj));
        }
    }
    asx_cancel_reason any = { .kind = ASX_CANCEL_SHUTDOWN };
    CHECK(!asx_cancel_reason_stronger(&any, NULL));
    CHECK(!asx_cancel_reason_stronger(NULL, &any));
    CHECK(!asx_cancel_reason_stronger(NULL, NULL));
}

/* What a request grants is met with what was granted before: the law of strengthening. */
ASX_TEST(all_pairs_of_kinds_combine_to_the_tighter_budget)
{
    for (int a = 0; a < ASX_CANCEL_KIND_COUNT; a++) {
        for (int b = 0; b < ASX_CANCEL_KIND_COUNT; b++) {
            asx_budget both = asx_budget_meet(asx_cancel_cleanup_budget((asx_cancel_kind)a),
                                              asx_cancel_cleanup_budget((asx_cancel_kind)b));
            bool severer = ladder[b].severity > ladder[a].severity;
            CHECK_EQ(both.poll_quota, severer ? ladder[b].quota
                                      : ladder[a].quota < ladder[b].quota ? ladder[a].quota
                                                                          : ladder[b].quota);
            CHECK_EQ(both.priority, ladder[a].priority > ladder[b].priority ? ladder[a].priority
                                                                            : ladder[b].priority);
            CHECK_EQ(both.deadline, ASX_TIME_NEVER);
            CHECK_EQ(both.cost_quota, ASX_COST_UNLIMITED);
            CHECK(!severer || ladder[b].quota <= ladder[a].quota);
        }
    }
}

static void phase_of_no_state(void *arg)
{
    asx_cancel_phase phase;
    (void)arg;
    (void)!asx__cancel_phase_of((asx_task_state)ASX_TASK_STATE_COUNT, &phase);
}

ASX_TEST(broken_promises_of_the_caller_are_caught)
{
    CHECK_DIES(phase_of_no_state, NULL);
}
