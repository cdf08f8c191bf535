/* The task machine: all pairs of states, all triggers, and how an ending becomes an outcome. */
#include "gen.h"
#include "harness.h"
#include "kernel/kernel.h"

enum { STATES = ASX_TASK_STATE_COUNT };

/* Rows: from; columns: to; Created Running CancelRequested Cancelling Finalizing Completed. */
static const char matrix[STATES][STATES + 1] = {
    ".++..+", /* Created */
    "..+..+", /* Running */
    "..++.+", /* CancelRequested */
    "...+++", /* Cancelling */
    "....++", /* Finalizing */
    "......", /* Completed */
};

ASX_TEST(all_36_pairs_are_as_the_matrix_says)
{
    int legal = 0;
    for (unsigned from = 0; from < STATES; from++) {
        for (unsigned to = 0; to < STATES; to++) {
            bool yes = matrix[from][to] == '+';
            legal += yes;
            uint8_t state = (uint8_t)from;
            asx_status expected = yes ? ASX_OK : ASX_E_INVALID_TRANSITION;
            CHECK_STATUS(asx__task_step(&state, (asx_task_state)to), expected);
            CHECK_EQ(state, yes ? to : from);
            CHECK_STATUS(asx_task_transition_legal((asx_task_state)from, (asx_task_state)to),
                         expected);
        }
    }
    CHECK_EQ(legal, 13);
}

ASX_TEST(numbers_that_are_no_state_are_illegal)
{
    for (unsigned from = 0; from < 256; from++) {
        for (unsigned to = 0; to < 256; to++) {
            if (from < STATES && to < STATES)
                continue;
            uint8_t state = (uint8_t)from;
            CHECK_STATUS(asx__task_step(&state, (asx_task_state)to), ASX_E_INVALID_TRANSITION);
            CHECK_EQ(state, from);
            CHECK_STATUS(asx_task_transition_legal((asx_task_state)from, (asx_task_state)to),
                         ASX_E_INVALID_TRANSITION);
        }
    }
    CHECK_STATUS(asx_task_transition_legal((asx_task_state)-1, ASX_TASK_COMPLETED),
                 ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_task_transition_legal(ASX_TASK_CREATED, (asx_task_state)-1),
                 ASX_E_INVALID_TRANSITION);
}

/* Rows: state; columns: start request_cancel acknowledge cleanup_done finalize_done complete.
 * A digit is the state it leads to. */
static const char triggers[STATES][7] = {
    "12...5", /* Created */
    ".2...5", /* Running */
    ".23..5", /* CancelRequested */
    ".3.4.5", /* Cancelling */
    ".4..5.", /* Finalizing */
    "......", /* Completed */
};

ASX_TEST(all_triggers_in_all_states_lead_where_the_matrix_says)
{
    const asx__task_trigger order[] = { ASX__TASK_START,         ASX__TASK_REQUEST_CANCEL,
                                        ASX__TASK_ACKNOWLEDGE,   ASX__TASK_CLEANUP_DONE,
                                        ASX__TASK_FINALIZE_DONE, ASX__TASK_COMPLETE };
    CHECK_EQ(ASX__TASK_TRIGGER_COUNT, 6);
    for (unsigned from = 0; from < STATES; from++) {
        for (unsigned t = 0; t < 6; t++) {
            char cell = triggers[from][t];
            uint8_t state = (uint8_t)from;
            CHECK_STATUS(asx__task_fire(&state, order[t]),
                         cell == '.' ? ASX_E_INVALID_TRANSITION : ASX_OK);
            CHECK_EQ(state, cell == '.' ? from : (unsigned)(cell - '0'));
        }
    }
}

ASX_TEST(random_walks_only_go_forward_and_completed_absorbs)
{
    gen g = { 5 };
    int completed = 0;
    for (int walk = 0; walk < 5000; walk++) {
        uint8_t state = ASX_TASK_CREATED;
        for (int i = 0; i < 40; i++) {
            uint8_t before = state;
            asx_status st = asx__task_fire(&state, (asx__task_trigger)gen_below(&g, 6));
            CHECK(state >= before);
            CHECK(st == ASX_OK || state == before);
            CHECK(before != ASX_TASK_COMPLETED || st < 0);
        }
        completed += state == ASX_TASK_COMPLETED;
    }
    CHECK_GE(completed, 4900);
}

/* The rule, row by row; `at` runs over every state a function can return in. */
ASX_TEST(outcome_is_natural_until_acknowledged_and_cancelled_afterwards)
{
    const asx_status returns[] = { ASX_OK, ASX_E_FULL, ASX_E_CANCELLED, ASX_E_PANICKED };
    const asx_outcome_kind natural[] = { ASX_OUTCOME_OK, ASX_OUTCOME_ERR, ASX_OUTCOME_ERR,
                                         ASX_OUTCOME_ERR };
    const bool acknowledged[] = { false, false, false, true, true };
    for (unsigned at = 0; at < ASX_TASK_COMPLETED; at++) {
        for (size_t r = 0; r < 4; r++) {
            asx_task_state state = (asx_task_state)at;
            asx_outcome_kind quiet = acknowledged[at] ? ASX_OUTCOME_CANCELLED : natural[r];
            CHECK_EQ(asx__task_outcome(state, returns[r], false, false), quiet);
            CHECK_EQ(asx__task_outcome(state, returns[r], false, true), ASX_OUTCOME_CANCELLED);
            CHECK_EQ(asx__task_outcome(state, returns[r], true, false), ASX_OUTCOME_PANICKED);
            CHECK_EQ(asx__task_outcome(state, returns[r], true, true), ASX_OUTCOME_PANICKED);
        }
    }
    CHECK_EQ(asx__task_outcome(ASX_TASK_RUNNING, (asx_status)7, false, false), ASX_OUTCOME_OK);
}

ASX_TEST(states_have_names)
{
    const char *const names[] = { "Created",    "Running",    "CancelRequested",
                                  "Cancelling", "Finalizing", "Completed" };
    for (unsigned s = 0; s < STATES; s++)
        CHECK_STR_EQ(asx_task_state_str((asx_task_state)s), names[s]);
    CHECK_STR_EQ(asx_task_state_str((asx_task_state)6), "Unknown");
    CHECK_STR_EQ(asx_task_state_str((asx_task_state)-1), "Unknown");
}

static void fire_nothing(void *arg)
{
    uint8_t state = ASX_TASK_CREATED;
    (void)arg;
    (void)!asx__task_fire(&state, ASX__TASK_TRIGGER_COUNT);
}

static void fire_in_no_state(void *arg)
{
    uint8_t state = STATES;
    (void)arg;
    (void)!asx__task_fire(&state, ASX__TASK_START);
}

static void return_after_the_end(void *arg)
{
    (void)arg;
    (void)asx__task_outcome(ASX_TASK_COMPLETED, ASX_OK, false, false);
}

ASX_TEST(broken_promises_of_the_caller_are_caught)
{
    CHECK_DIES(fire_nothing, NULL);
    CHECK_DIES(fire_in_no_state, NULL);
    CHECK_DIES(return_after_the_end, NULL);
}
