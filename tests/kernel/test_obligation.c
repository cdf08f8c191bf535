/* The obligation machine: all pairs of states; resolved once and never again. */
#include "harness.h"
#include "kernel/kernel.h"

enum { STATES = ASX_OBLIGATION_STATE_COUNT };

/* Rows: from; columns: to; Reserved Committed Aborted Leaked.
 * '+' legal, '.' illegal, 'r' already resolved, 'l' leaked. */
static const char matrix[STATES][STATES + 1] = {
    ".+++", /* Reserved */
    "rrrr", /* Committed */
    "rrrr", /* Aborted */
    "llll", /* Leaked */
};

static asx_status expected(char cell)
{
    return cell == '+'   ? ASX_OK
           : cell == 'r' ? ASX_E_OBLIGATION_ALREADY_RESOLVED
           : cell == 'l' ? ASX_E_OBLIGATION_LEAKED
                         : ASX_E_INVALID_TRANSITION;
}

ASX_TEST(all_16_pairs_are_as_the_matrix_says)
{
    int legal = 0;
    for (unsigned from = 0; from < STATES; from++) {
        for (unsigned to = 0; to < STATES; to++) {
            asx_status answer = expected(matrix[from][to]);
            legal += answer == ASX_OK;
            uint8_t state = (uint8_t)from;
            CHECK_STATUS(asx__obligation_step(&state, (asx_obligation_state)to), answer);
            CHECK_EQ(state, answer == ASX_OK ? to : from);
            CHECK_STATUS(asx_obligation_transition_legal((asx_obligation_state)from,
                                                         (asx_obligation_state)to),
                         answer);
        }
    }
    CHECK_EQ(legal, 3);
}

ASX_TEST(numbers_that_are_no_state_are_illegal)
{
    for (unsigned from = 0; from < 256; from++) {
        for (unsigned to = 0; to < 256; to++) {
            if (from < STATES && to < STATES)
                continue;
            uint8_t state = (uint8_t)from;
            CHECK_STATUS(asx__obligation_step(&state, (asx_obligation_state)to),
                         ASX_E_INVALID_TRANSITION);
            CHECK_EQ(state, from);
        }
    }
    CHECK_STATUS(asx_obligation_transition_legal((asx_obligation_state)-1, ASX_OBLIGATION_ABORTED),
                 ASX_E_INVALID_TRANSITION);
}

ASX_TEST(states_have_names)
{
    const char *const names[] = { "Reserved", "Committed", "Aborted", "Leaked" };
    for (unsigned s = 0; s < STATES; s++)
        CHECK_STR_EQ(asx_obligation_state_str((asx_obligation_state)s), names[s]);
    CHECK_STR_EQ(asx_obligation_state_str((asx_obligation_state)4), "Unknown");
    CHECK_STR_EQ(asx_obligation_state_str((asx_obligation_state)-1), "Unknown");
}
