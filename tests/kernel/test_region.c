/* The region machine: all pairs of states, all facts, all gates. */
#include "gen.h"
#include "harness.h"
#include "kernel/kernel.h"

/* Rows: from; columns: to; Open Closing Draining Finalizing Closed.
 * '.' illegal, '+' unconditional, 'c' no children, 'q' quiescent. */
static const char matrix[ASX_REGION_STATE_COUNT][ASX_REGION_STATE_COUNT + 1] = {
    ".+...", /* Open */
    "..+c.", /* Closing */
    "...c.", /* Draining */
    "....q", /* Finalizing */
    ".....", /* Closed */
};

static asx_status expected_step(char cell, const asx__region_facts *facts)
{
    bool children = facts->live_tasks > 0 || facts->live_regions > 0;
    switch (cell) {
    case '+':
        return ASX_OK;
    case 'c':
        return children ? ASX_E_INCOMPLETE_CHILDREN : ASX_OK;
    case 'q':
        if (children || facts->finalizers_left > 0)
            return ASX_E_INCOMPLETE_CHILDREN;
        return facts->reserved_obligations > 0 ? ASX_E_UNRESOLVED_OBLIGATIONS : ASX_OK;
    default:
        return ASX_E_INVALID_TRANSITION;
    }
}

ASX_TEST(all_25_pairs_under_all_facts_are_as_the_matrix_says)
{
    const uint64_t counts[] = { 0, 1, UINT64_MAX };
    int steps = 0, legal = 0;
    for (unsigned from = 0; from < 5; from++) {
        for (unsigned to = 0; to < 5; to++) {
            char cell = matrix[from][to];
            legal += cell != '.';
            CHECK_STATUS(asx_region_transition_legal((asx_region_state)from, (asx_region_state)to),
                         cell == '.' ? ASX_E_INVALID_TRANSITION : ASX_OK);
            for (unsigned f = 0; f < 81; f++, steps++) {
                asx__region_facts facts = { counts[f % 3], counts[f / 3 % 3], counts[f / 9 % 3],
                                            counts[f / 27] };
                asx_region_state state = (asx_region_state)from;
                asx_status expected = expected_step(cell, &facts);
                CHECK_STATUS(asx__region_step(&state, (asx_region_state)to, &facts), expected);
                CHECK_EQ(state, expected == ASX_OK ? to : from);
            }
        }
    }
    CHECK_EQ(legal, 5);
    CHECK_EQ(steps, 25 * 81);
}

ASX_TEST(numbers_that_are_no_state_are_illegal)
{
    const asx__region_facts nothing = { 0, 0, 0, 0 };
    for (unsigned other = ASX_REGION_STATE_COUNT; other < 300; other++) {
        for (unsigned s = 0; s < ASX_REGION_STATE_COUNT; s++) {
            asx_region_state known = (asx_region_state)s, unknown = (asx_region_state)other;
            CHECK_STATUS(asx_region_transition_legal(known, unknown), ASX_E_INVALID_TRANSITION);
            CHECK_STATUS(asx_region_transition_legal(unknown, known), ASX_E_INVALID_TRANSITION);
            CHECK_STATUS(asx__region_step(&known, unknown, &nothing), ASX_E_INVALID_TRANSITION);
            CHECK_EQ(known, s);
        }
    }
}

ASX_TEST(every_walk_ends_closed_and_never_turns_back)
{
    gen g = { 4 };
    for (int walk = 0; walk < 2000; walk++) {
        asx_region_state state = ASX_REGION_OPEN;
        asx__region_facts facts = { gen_below(&g, 2), gen_below(&g, 2), gen_below(&g, 2),
                                    gen_below(&g, 2) };
        for (int i = 0; i < 100; i++) {
            asx_region_state before = state;
            asx_region_state to = (asx_region_state)gen_below(&g, ASX_REGION_STATE_COUNT);
            asx_status st = asx__region_step(&state, to, &facts);
            CHECK(st == ASX_OK ? state > before : state == before);
            if (i == 50)
                facts = (asx__region_facts){ 0, 0, 0, 0 };
        }
        const asx__region_facts nothing = { 0, 0, 0, 0 };
        for (unsigned to = state + 1u; to < ASX_REGION_STATE_COUNT; to++)
            CHECK_STATUS(asx__region_step(&state, (asx_region_state)to, &nothing), ASX_OK);
        CHECK_EQ(state, ASX_REGION_CLOSED);
    }
}

/* Rows: gate; columns: Open Closing Draining Finalizing Closed, then Finalizing for a finalizer.
 * '+' yes, 'n' not open, 'a' admission closed, 'x' closed. */
static const char gates[ASX__GATE_COUNT][7] = {
    [ASX__GATE_SPAWN_TASK] = "+nnax+",
    [ASX__GATE_OPEN_REGION] = "+nnnxn",
    [ASX__GATE_RESERVE_OBLIGATION] = "+nnnxn",
    [ASX__GATE_CREATE_CHANNEL] = "+nnnxn",
    [ASX__GATE_RESOLVE_OBLIGATION] = "++++x+",
    [ASX__GATE_ACCESS_MEMORY] = "++++x+",
};

static asx_status expected_gate(char cell)
{
    return cell == '+'   ? ASX_OK
           : cell == 'n' ? ASX_E_REGION_NOT_OPEN
           : cell == 'a' ? ASX_E_ADMISSION_CLOSED
                         : ASX_E_REGION_CLOSED;
}

ASX_TEST(all_gates_in_all_states_answer_as_the_matrix_says)
{
    for (unsigned gate = 0; gate < ASX__GATE_COUNT; gate++) {
        for (unsigned s = 0; s < ASX_REGION_STATE_COUNT; s++) {
            unsigned finalizer = s == ASX_REGION_FINALIZING ? 5 : s;
            CHECK_STATUS(asx__region_gate((asx_region_state)s, (asx__gate)gate, false),
                         expected_gate(gates[gate][s]));
            CHECK_STATUS(asx__region_gate((asx_region_state)s, (asx__gate)gate, true),
                         expected_gate(gates[gate][finalizer]));
        }
    }
    CHECK_EQ(ASX__GATE_COUNT, 6);
}

ASX_TEST(states_and_gates_have_names)
{
    const char *const states[] = { "Open", "Closing", "Draining", "Finalizing", "Closed" };
    for (unsigned s = 0; s < ASX_REGION_STATE_COUNT; s++)
        CHECK_STR_EQ(asx_region_state_str((asx_region_state)s), states[s]);
    CHECK_STR_EQ(asx_region_state_str((asx_region_state)5), "Unknown");
    CHECK_STR_EQ(asx_region_state_str((asx_region_state)-1), "Unknown");

    const char *const names[] = { "spawn-task",     "open-region",        "reserve-obligation",
                                  "create-channel", "resolve-obligation", "access-memory" };
    for (unsigned gate = 0; gate < ASX__GATE_COUNT; gate++)
        CHECK_STR_EQ(asx__gate_str((asx__gate)gate), names[gate]);
    CHECK_STR_EQ(asx__gate_str(ASX__GATE_COUNT), "unknown");
    CHECK_STR_EQ(asx__gate_str((asx__gate)4000000), "unknown");
}

/* ---- law of close ---- */

ASX_TEST(close_returns_the_first_row_of_the_law_that_applies)
{
    const asx_status bodies[] = { ASX_OK, ASX_E_FULL, ASX_E_CANCELLED };
    for (unsigned c = 0; c < 16; c++) {
        for (size_t b = 0; b < 3; b++) {
            bool failed = (c & 2) != 0;
            asx__close_facts facts = { .panicked = (c & 1) != 0,
                                       .child_failed = failed,
                                       .first_failure = failed ? ASX_E_EMPTY : ASX_OK,
                                       .own_deadline = (c & 4) != 0,
                                       .outer_cancel = (c & 8) != 0,
                                       .body = bodies[b] };
            asx_status expected = bodies[b];
            if (c & 8)
                expected = ASX_E_CANCELLED;
            if (c & 4)
                expected = ASX_E_TIMEOUT;
            if (c & 2)
                expected = ASX_E_EMPTY;
            if (c & 1)
                expected = ASX_E_PANICKED;
            CHECK_STATUS(asx__close_law(&facts), expected);
        }
    }
}

static void step_without_facts(void *arg)
{
    asx_region_state state = ASX_REGION_OPEN;
    (void)arg;
    (void)!asx__region_step(&state, ASX_REGION_CLOSING, NULL);
}

static void ask_no_gate(void *arg)
{
    (void)arg;
    (void)!asx__region_gate(ASX_REGION_OPEN, ASX__GATE_COUNT, false);
}

static void ask_in_no_state(void *arg)
{
    (void)arg;
    (void)!asx__region_gate((asx_region_state)5, ASX__GATE_SPAWN_TASK, false);
}

static void fail_without_failure(void *arg)
{
    const asx__close_facts facts = { .child_failed = true, .first_failure = ASX_OK };
    (void)arg;
    (void)asx__close_law(&facts);
}

ASX_TEST(broken_promises_of_the_caller_are_caught)
{
    CHECK_DIES(step_without_facts, NULL);
    CHECK_DIES(ask_no_gate, NULL);
    CHECK_DIES(ask_in_no_state, NULL);
    CHECK_DIES(fail_without_failure, NULL);
}
