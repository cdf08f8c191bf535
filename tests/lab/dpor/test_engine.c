/* The engine against brute force: on small random programs it runs every class exactly once,
 * whichever task goes by default. */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "lab/dpor/dpor.h"
#include "support_model.h"

enum { INTERLEAVINGS_MOST = 20000 };

/* Every tenth program with ten default tasks. */
static void compare(uint64_t programs, model_flavour flavour, uint32_t steps_most)
{
    asx__rng rng;
    uint64_t compared = 0, deadlocks = 0;
    programs /= asx_test_scale();
    asx__rng_seed(&rng, 0x5eed + (uint64_t)flavour);
    for (uint64_t i = 0; i < programs; i++) {
        asx__dpor_stats all, best;
        model m;
        model_make(&m, &rng, flavour, steps_most);
        CHECK_STATUS(model_explore(&m, ASX__DPOR_DFS, 0, INTERLEAVINGS_MOST, &all), ASX_OK);
        if (all.executions == INTERLEAVINGS_MOST)
            continue;
        compared++;
        uint64_t seeds = i % 10 == 0 ? 11 : 3;
        for (uint64_t seed = 0; seed < seeds; seed++) {
            CHECK_STATUS(model_explore(&m, ASX__DPOR_OPTIMAL, seed * (i + 1), 0, &best), ASX_OK);
            if (best.executions != all.classes || best.redundant != 0 || best.blocked != 0) {
                model_print(&m);
                asx_test_fail(__FILE__, __LINE__,
                              "program %lu, seed %lu: %lu classes, %lu executions, %lu redundant",
                              (unsigned long)i, (unsigned long)seed, (unsigned long)all.classes,
                              (unsigned long)best.executions, (unsigned long)best.redundant);
            }
            CHECK_EQ(best.checked, best.executions);
            CHECK_EQ(best.deadlocks != 0, all.deadlocks != 0);
        }
        deadlocks += all.deadlocks != 0;
    }
    CHECK(compared >= programs * 3 / 4);
    if (flavour != MODEL_CELLS)
        CHECK(deadlocks > programs / 100);
}

ASX_TEST_TIMEOUT(programs_of_cells_agree_with_brute_force, 60)
{
    compare(1500, MODEL_CELLS, 10);
}

ASX_TEST_TIMEOUT(programs_of_locks_and_semaphores_agree_with_brute_force, 60)
{
    compare(2000, MODEL_LOCKS, 10);
}

ASX_TEST_TIMEOUT(programs_that_choose_agree_with_brute_force, 60)
{
    compare(1500, MODEL_CHOICES, 10);
}

ASX_TEST_TIMEOUT(programs_that_send_and_receive_agree_with_brute_force, 60)
{
    compare(3000, MODEL_SENDS, 10);
}

ASX_TEST_TIMEOUT(programs_of_permits_acks_and_endpoints_agree_with_brute_force, 60)
{
    compare(3000, MODEL_CHANNEL, 10);
}

ASX_TEST_TIMEOUT(programs_of_read_write_locks_agree_with_brute_force, 60)
{
    compare(2000, MODEL_RWLOCKS, 8);
}

ASX_TEST_TIMEOUT(programs_that_cancel_and_join_agree_with_brute_force, 60)
{
    compare(1500, MODEL_CANCELS, 8);
}

ASX_TEST_TIMEOUT(programs_that_wait_for_the_first_agree_with_brute_force, 60)
{
    compare(3000, MODEL_FIRSTS, 10);
}

ASX_TEST_TIMEOUT(programs_that_sleep_agree_with_brute_force, 60)
{
    compare(1500, MODEL_TIMES, 8);
}

ASX_TEST_TIMEOUT(programs_of_everything_agree_with_brute_force, 90)
{
    compare(1500, MODEL_ALL, 8);
}

/* Source sets visit the same classes; what they begin in vain is told. */
ASX_TEST_TIMEOUT(source_sets_visit_every_class, 60)
{
    asx__rng rng;
    uint64_t blocked = 0;
    asx__rng_seed(&rng, 41);
    for (uint64_t i = 0; i < 1500 / asx_test_scale(); i++) {
        asx__dpor_stats all, source;
        model m;
        model_make(&m, &rng, (model_flavour)(i % MODEL_FLAVOURS), 8);
        CHECK_STATUS(model_explore(&m, ASX__DPOR_DFS, 0, INTERLEAVINGS_MOST, &all), ASX_OK);
        if (all.executions == INTERLEAVINGS_MOST)
            continue;
        CHECK_STATUS(model_explore(&m, ASX__DPOR_SOURCE, i, 0, &source), ASX_OK);
        CHECK_EQ(source.classes, all.classes);
        CHECK_EQ(source.redundant, 0);
        blocked += source.blocked;
    }
    CHECK(blocked != 0);
}

enum { CLASSES_MOST = 400, DENSE_STEPS = 11 };

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* Of at least four tasks and so many steps. */
static void make_dense(model *m, asx__rng *rng, model_flavour flavour)
{
    uint32_t steps;
    do {
        model_make(m, rng, flavour, 16);
        steps = 0;
        for (uint32_t t = 0; t < m->tasks; t++)
            steps += m->len[t];
    } while (m->tasks < 4 || steps < DENSE_STEPS);
}

/* There are more interleavings than could be run; but whoever goes first, the classes are the same.
 * ASX_DENSE_SEED and ASX_DENSE_PROGRAMS: others, and more of them. */
ASX_TEST_TIMEOUT(dense_programs_have_as_many_classes_whoever_goes_first, 3600)
{
    uint64_t programs = number_from("ASX_DENSE_PROGRAMS", 6000 / asx_test_scale()), compared = 0;
    uint64_t first = number_from("ASX_DENSE_SEED", 1);
    for (uint64_t i = first; i < first + programs; i++) {
        asx__rng rng;
        asx__dpor_stats plain, drawn;
        model m;
        asx__rng_seed(&rng, i);
        make_dense(&m, &rng, (model_flavour)(i % MODEL_FLAVOURS));
        CHECK_STATUS(model_explore(&m, ASX__DPOR_OPTIMAL, 0, CLASSES_MOST, &plain), ASX_OK);
        if (plain.executions == CLASSES_MOST)
            continue;
        compared++;
        for (uint64_t seed = 1; seed <= 2; seed++) {
            CHECK_STATUS(model_explore(&m, ASX__DPOR_OPTIMAL, seed * (i + 1), 0, &drawn), ASX_OK);
            if (drawn.executions == plain.executions && drawn.redundant + drawn.blocked == 0 &&
                plain.redundant + plain.blocked == 0)
                continue;
            model_print(&m);
            asx_test_fail(__FILE__, __LINE__, "program %lu, seed %lu: %lu executions, or %lu",
                          (unsigned long)i, (unsigned long)seed, (unsigned long)plain.executions,
                          (unsigned long)drawn.executions);
        }
    }
    CHECK(compared > programs / 4);
}

/* ---- single laws ---------------------------------------------------------------------------- */

static model two_tasks(model_step a, model_step b)
{
    model m = { .tasks = 2, .len = { 1, 1 } };
    m.code[0][0] = a;
    m.code[1][0] = b;
    return m;
}

static uint64_t executions(const model *m)
{
    asx__dpor_stats stats;
    CHECK_STATUS(model_explore(m, ASX__DPOR_OPTIMAL, 0, 0, &stats), ASX_OK);
    return stats.executions;
}

ASX_TEST(only_accesses_of_one_object_of_which_one_writes_conflict)
{
    static const struct { model_step a, b; uint64_t classes; } pairs[] = {
        { { ASX__OP_LOAD, 0, 0, 0, 0, 0, false }, { ASX__OP_LOAD, 0, 0, 0, 0, 0, false }, 1 },
        { { ASX__OP_LOAD, 0, 0, 0, 0, 0, false }, { ASX__OP_STORE, 0, 1, 0, 0, 0, false }, 2 },
        { { ASX__OP_STORE, 0, 1, 0, 0, 0, false }, { ASX__OP_STORE, 0, 1, 0, 0, 0, false }, 2 },
        { { ASX__OP_STORE, 0, 1, 0, 0, 0, false }, { ASX__OP_STORE, 1, 1, 0, 0, 0, false }, 1 },
        { { ASX__OP_CAS, 0, 7, 1, 0, 0, false }, { ASX__OP_LOAD, 0, 0, 0, 0, 0, false }, 1 },
        { { ASX__OP_CAS, 0, 0, 1, 0, 0, false }, { ASX__OP_LOAD, 0, 0, 0, 0, 0, false }, 2 },
        { { ASX__OP_CAS, 0, 7, 1, 0, 0, false }, { ASX__OP_CAS, 0, 8, 1, 0, 0, false }, 1 },
        { { ASX__OP_FETCH_ADD, 0, 1, 0, 0, 0, false },
          { ASX__OP_FETCH_ADD, 0, 1, 0, 0, 0, false }, 2 },
        { { ASX__OP_LOCK, 2, 0, 0, 0, 0, false }, { ASX__OP_LOCK, 2, 0, 0, 0, 0, false }, 2 },
        { { ASX__OP_LOCK, 2, 0, 0, 0, 0, false }, { ASX__OP_LOCK, 3, 0, 0, 0, 0, false }, 1 },
        { { ASX__OP_LOCK, 2, 0, 0, 0, 0, false }, { ASX__OP_TRY_LOCK, 2, 0, 0, 0, 0, false }, 2 },
        { { ASX__OP_RELEASE, 4, 1, 0, 0, 0, false }, { ASX__OP_RELEASE, 4, 1, 0, 0, 0, false }, 2 },
        { { ASX__OP_RELEASE, 4, 1, 0, 0, 0, false }, { ASX__OP_ACQUIRE, 4, 1, 0, 0, 0, false }, 1 },
        { { ASX__OP_CHOOSE, 0, 3, 0, 0, 0, false }, { ASX__OP_CHOOSE, 0, 2, 0, 0, 0, false }, 6 },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        model m = two_tasks(pairs[i].a, pairs[i].b);
        CHECK_EQ(executions(&m), pairs[i].classes);
        m = two_tasks(pairs[i].b, pairs[i].a);
        CHECK_EQ(executions(&m), pairs[i].classes);
    }
}

/* More classes than the set remembers: memory stays, and nothing is called redundant. */
ASX_TEST_TIMEOUT(the_set_of_classes_is_bounded, 120)
{
    enum { READERS = 19 };
    asx__dpor_options options = { .mode = ASX__DPOR_OPTIMAL, .check = true };
    asx__dpor *d = asx__dpor_create(&options);
    asx__dpor_stats stats;
    uint64_t cell = 0, most = asx_test_scale() == 1 ? UINT64_MAX : 1000, n = 0;
    bool more;
    CHECK(d != NULL);
    do {
        uint32_t chosen;
        asx__dpor_begin(d);
        asx__op write = { .kind = ASX__OP_STORE, .size = 8, .object = &cell, .a = 1 };
        asx__op read = write;
        read.kind = ASX__OP_LOAD;
        asx__dpor_announce(d, 0, &write);
        for (int i = 0; i < READERS; i++)
            asx__dpor_announce(d, asx__dpor_spawn(d, 0), &read);
        while ((chosen = asx__dpor_choose(d)) != ASX__DPOR_NONE)
            (void)asx__dpor_commit(d, chosen);
        more = asx__dpor_finish(d, false);
    } while (more && ++n < most);
    asx__dpor_stats_get(d, &stats);
    CHECK_EQ(stats.redundant, 0);
    if (!more) {
        CHECK_EQ(stats.executions, UINT64_C(1) << READERS);
        CHECK(stats.checked < stats.executions);
        CHECK(stats.checked > 100000);
        CHECK(stats.memory_bytes < 8u << 20);
    }
    asx__dpor_destroy(d);
}

/* A repetition is noticed: the set of classes can say no. */
ASX_TEST(a_class_that_comes_again_is_redundant)
{
    model m = two_tasks((model_step){ ASX__OP_LOAD, 0, 0, 0, 0, 0, false },
                        (model_step){ ASX__OP_LOAD, 0, 0, 0, 0, 0, false });
    asx__dpor_stats stats;
    CHECK_STATUS(model_explore(&m, ASX__DPOR_DFS, 0, 0, &stats), ASX_OK);
    CHECK_EQ(stats.executions, 2);
    CHECK_EQ(stats.classes, 1);
    CHECK_EQ(stats.redundant, 1);
}

ASX_TEST(a_plan_that_the_program_does_not_follow_is_a_divergence)
{
    asx__dpor_options options = { .mode = ASX__DPOR_REPLAY };
    asx__dpor *d = asx__dpor_create(&options);
    asx__step steps[] = { { 0, 0, true }, { 3, 0, true } };
    uint64_t cell = 0;
    asx__op op = { .kind = ASX__OP_STORE, .size = 8, .object = &cell, .a = 1 };
    CHECK_STATUS(asx__dpor_plan(d, steps, 2), ASX_OK);
    asx__dpor_begin(d);
    asx__dpor_announce(d, 0, &op);
    CHECK_EQ(asx__dpor_choose(d), 0);
    CHECK_EQ(asx__dpor_commit(d, 0), 0);
    CHECK_EQ(cell, 1);
    CHECK_EQ(asx__dpor_choose(d), ASX__DPOR_NONE);
    CHECK(!asx__dpor_finish(d, false));
    CHECK_STATUS(asx__dpor_status(d), ASX_E_DIVERGED);
    asx__dpor_destroy(d);
}

/* ---- programs of which classes were once lost ------------------------------------------------ */

#define STEP(what, ...) { .kind = ASX__OP_##what, .object = __VA_ARGS__ }

/* Some have too many interleavings to be counted in a test. */
static void all_ways(const model *m, bool interleavings, uint64_t classes)
{
    asx__dpor_stats stats;
    if (interleavings) {
        CHECK_STATUS(model_explore(m, ASX__DPOR_DFS, 0, 0, &stats), ASX_OK);
        CHECK_EQ(stats.classes, classes);
    }
    for (uint64_t seed = 0; seed < 11; seed++) {
        CHECK_STATUS(model_explore(m, ASX__DPOR_SOURCE, seed, 0, &stats), ASX_OK);
        CHECK_EQ(stats.classes, classes);
        CHECK_STATUS(model_explore(m, ASX__DPOR_OPTIMAL, seed, 0, &stats), ASX_OK);
        CHECK_EQ(stats.executions, classes);
        CHECK_EQ(stats.redundant, 0);
        CHECK_EQ(stats.blocked, 0);
    }
}

/* Nothing that is done elsewhere conflicts with a sleeper when 1 looks for its message; it does in
 * a later execution, which begins in the same way. */
ASX_TEST(whether_something_is_covered_is_asked_again_when_the_rest_is_another)
{
    static const model m = {
        .tasks = 4, .len = { 3, 3, 3, 1 }, .start = { 1, 0 }, .capacity = { 1, 1 },
        .code = { { STEP(TRY_SEND, 0), STEP(TRY_RECV, 0), STEP(TRY_RECV, 0) },
                  { STEP(TRY_RECV, 1, 0, 0, 0, 1), STEP(SEND, 0),
                    STEP(FETCH_ADD, 0, 1, 2, 1, 2) },
                  { STEP(SEND, 1, 0, 0, 1, 1), STEP(TRY_SEND, 1), STEP(TRY_SEND, 0) },
                  { STEP(RECV, 1) } }
    };
    all_ways(&m, true, 60);
}

/* Whether 0 or 3 may read before a writer that waits rests on what comes behind them: on events of
 * the sequence, and on a step that is not in it. The last of these counts. */
ASX_TEST_TIMEOUT(what_a_sequence_rests_on_is_the_last_of_all_that_it_meets, 60)
{
    static const model m = {
        .tasks = 4, .len = { 3, 5, 5, 4 }, .start = { 1, 0, 0, 0, 1 }, .capacity = { 1, 1 },
        .code = { { STEP(CAS, 1, 0, 2), STEP(READ_LOCK, 1), STEP(READ_UNLOCK, 1) },
                  { STEP(WRITE_REQUEST, 0), STEP(WRITE_LOCK, 0, 1), STEP(WRITE_UNLOCK, 0),
                    STEP(WRITE_LOCK, 1), STEP(WRITE_UNLOCK, 1) },
                  { STEP(WRITE_REQUEST, 1), STEP(WRITE_LOCK, 1, 1), STEP(WRITE_UNLOCK, 1),
                    STEP(WRITE_LOCK, 0), STEP(WRITE_UNLOCK, 0) },
                  { STEP(READ_LOCK, 1), STEP(STORE, 1, 1, 2), STEP(READ_LOCK, 0),
                    STEP(READ_UNLOCK, 0) } }
    };
    all_ways(&m, asx_test_scale() == 1, 126);
}

/* An execution that has the same last step, but not what lay on the way through the tree. It shows
 * only if every sequence is remembered, as in lab-dpor-seen. */
ASX_TEST(what_is_remembered_of_a_sequence_rests_on_its_way_through_the_tree)
{
    static const model m = {
        .tasks = 4, .len = { 2, 1, 1, 2 }, .start = { 0, 0, 0, 0, 2 }, .capacity = { 1, 1 },
        .cancels = true,
        .code = { { STEP(FETCH_ADD, 1, 1, 2, 0, 2), STEP(TRY_SEND, 0, 0, 0, 0, 1) },
                  { STEP(PERMIT_SEND, 0, 0, 0, 0, 0, true) },
                  { STEP(CAS, 1, 0, 1, 1, 2) },
                  { STEP(CHOOSE, 0, 2), STEP(EVICT, 0) } }
    };
    all_ways(&m, true, 16);
}

/* The second answer goes with every order of the others, not only with the one in which the first
 * answer was new. */
ASX_TEST(another_answer_is_tried_with_all_that_comes_beside_it)
{
    static const model m = {
        .tasks = 4, .len = { 4, 2, 4, 3 }, .start = { 1, 0, 0, 0, 2 }, .capacity = { 1, 1 },
        .adversarial = true,
        .code = { { STEP(LOAD, 1, 1, 1), STEP(DROP, 0), STEP(ACQUIRE, 4, 1), STEP(END, 0) },
                  { STEP(STORE, 1, 0, 1, 0, 2), STEP(END, 0) },
                  { STEP(ACQUIRE, 4, 1, 0, 1, 2), STEP(SLEEP, 0, 2), STEP(EVICT, 0),
                    STEP(END, 0) },
                  { STEP(CHOOSE, 0, 2, 0, 1, 2), STEP(TRY_RESERVE, 0, 0, 0, 0, 0, true),
                    STEP(PERMIT_SEND, 0) } }
    };
    all_ways(&m, asx_test_scale() == 1, 34);
}

/* 3 has no room while 1 has a permit. That 2 looks at the slot is not the reason, and it must stay
 * where it is when 1 is taken away. */
ASX_TEST(who_only_looks_does_not_disable_others)
{
    static const model m = {
        .tasks = 4, .len = { 3, 5, 5, 3 }, .start = { 0, 0, 0, 0, 2 }, .capacity = { 1, 1 },
        .cancels = true,
        .code = { { STEP(CANCEL_TASK, 2), STEP(CANCEL_TASK, 3, 0, 0, 1, 1), STEP(END, 0) },
                  { STEP(RESERVE, 0, 0, 0, 0, 0, true), STEP(PERMIT_SEND, 0), STEP(CHECKPOINT, 1),
                    STEP(TRY_SEND, 0), STEP(END, 0) },
                  { STEP(TRY_RECV, 0, 0, 0, 0, 1), STEP(TRY_RECV, 1), STEP(CHECKPOINT, 2),
                    STEP(JOIN, 3), STEP(END, 0) },
                  { STEP(TRY_LOCK, 3), STEP(SEND, 0, 0, 0, 0, 2), STEP(CHECKPOINT, 3) } }
    };
    all_ways(&m, false, 14);
}

/* Source sets: 3 sleeps after its first answer, and another task comes before the second. */
ASX_TEST(no_task_comes_between_two_answers_of_another)
{
    static const model m = {
        .tasks = 4, .len = { 5, 2, 2, 3 }, .start = { 0, 0, 0, 0, 2 }, .capacity = { 1, 1 },
        .code = { { STEP(LOCK, 2), STEP(FETCH_ADD, 1, 1, 1, 1, 2), STEP(UNLOCK, 2), STEP(LOCK, 3),
                    STEP(UNLOCK, 3) },
                  { STEP(STORE, 0, 1, 2), STEP(STORE, 0, 2, 1, 0, 1) },
                  { STEP(LOCK, 2, 0, 0, 0, 2), STEP(UNLOCK, 2) },
                  { STEP(CHOOSE, 0, 2), STEP(FETCH_ADD, 0, 1, 2, 0, 1), STEP(CHOOSE, 0, 2) } }
    };
    all_ways(&m, true, 20);
}

/* What an execution has in common with the one before is not found out again; but if the program
 * does something else there, that is what counts. Task 0 stores the number of the execution, which
 * the others read, in the same order at first. */
static void no_two_are_the_same(asx__op_kind kind, uint64_t name)
{
    enum { READERS = 4 };
    asx__dpor_options options = { .mode = ASX__DPOR_OPTIMAL };
    asx__dpor *d = asx__dpor_create(&options);
    uint64_t cell, n = 0;
    bool more;
    CHECK(d != NULL);
    do {
        asx__op write = { .kind = kind, .size = 8, .object = &cell, .a = ++n, .site = "",
                          .name = name };
        asx__op read = { .kind = ASX__OP_LOAD, .size = 8, .object = &cell, .site = "",
                         .name = name };
        uint32_t chosen;
        cell = 0;
        asx__dpor_begin(d);
        asx__dpor_announce(d, 0, &write);
        for (int i = 0; i < READERS; i++)
            asx__dpor_announce(d, asx__dpor_spawn(d, 0), &read);
        while ((chosen = asx__dpor_choose(d)) != ASX__DPOR_NONE) {
            uint64_t before = cell;
            CHECK_EQ(asx__dpor_commit(d, chosen), before);
            CHECK_EQ(cell, chosen == 0 ? n : before);
        }
        CHECK_EQ(cell, n);
        more = asx__dpor_finish(d, false);
    } while (more);
    CHECK_STATUS(asx__dpor_status(d), ASX_OK);
    CHECK_EQ(n, UINT64_C(1) << READERS);
    asx__dpor_destroy(d);
}

ASX_TEST(an_event_that_is_not_what_it_was_before_is_seen_as_it_is)
{
    no_two_are_the_same(ASX__OP_STORE, 0);
    no_two_are_the_same(ASX__OP_FETCH_ADD, 0);
    no_two_are_the_same(ASX__OP_STORE, ASX__NAME(ASX__NAME_STACK, 0, 0));
    no_two_are_the_same(ASX__OP_FETCH_ADD, ASX__NAME(ASX__NAME_STACK, 0, 0));
}

ASX_TEST(a_random_walk_meets_every_class_of_a_small_program)
{
    model m = two_tasks((model_step){ ASX__OP_FETCH_ADD, 0, 1, 0, 0, 0, false },
                        (model_step){ ASX__OP_FETCH_ADD, 0, 1, 0, 0, 0, false });
    static const asx__dpor_mode modes[] = { ASX__DPOR_RANDOM, ASX__DPOR_PCT };
    for (size_t i = 0; i < 2; i++) {
        asx__dpor_stats stats;
        CHECK_STATUS(model_explore(&m, modes[i], 7, 100, &stats), ASX_OK);
        CHECK_EQ(stats.executions, 100);
        CHECK_EQ(stats.classes, 2);
    }
}
