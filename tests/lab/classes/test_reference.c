/* Optimal exploration, source sets and brute force against a second opinion: as many executions as
 * the reference counts classes, as many deadlocks, nothing redundant or blocked, whichever task
 * goes by default. */
#include "support_run.h"

#include <stdio.h>

#include "harness.h"

#if ASX_TEST_SANITIZED
enum { PROGRAMS = 200 }; /* a sanitizer makes stacks expensive */
#else
enum { PROGRAMS = 1500 };
#endif

/* ASX_CLASSES_SEED and ASX_CLASSES_PROGRAMS: others, and more of them. */
ASX_TEST_TIMEOUT(random_programs_have_as_many_classes_as_the_table_says, 3600)
{
    ref_tally t = ref_compare_drawn(ref_draw, PROGRAMS / asx_test_scale(), false);
    CHECK_EQ(t.bad, 0);
    CHECK(t.counted > t.programs * 3 / 4);
    CHECK(t.brutes > t.programs / 2);
    CHECK(t.deadlocked > t.programs / 10);
}

/* By the default of one of these seeds a race has found one answer for a place where another task
 * was to be tried next, and then a race found the other. */
ASX_TEST(source_sets_try_all_answers_before_another_task)
{
    ref_program p = { .tasks = 3, .started = 3, .capacity = 1, .many = 1, .faults = true };
    ref_count ref;
    bool brute = false;
    p.code[2][p.len[2]++] = (ref_step){ REF_CANCEL, 0, 0 };
    for (int t = 0; t < 3; t++) {
        p.code[t][p.len[t]++] = (ref_step){ REF_RESERVE, 0, 1 };
        p.code[t][p.len[t]++] = (ref_step){ REF_COMMIT, 0, 0 };
    }
    CHECK(ref_compare(&p, 11, false, &ref, &brute) == NULL);
    CHECK_EQ(ref.classes, 24);
}

/* ---- the reference itself ------------------------------------------------------------------- */

static ref_count count(const ref_program *p)
{
    ref_count ref;
    ref_classes(p, REF_OBJECTS, &ref);
    CHECK(ref.counted && ref.sound);
    return ref;
}

/* cas of the first cell */
static int from_to(int from, int to)
{
    return from << 1 | to << 3;
}

ASX_TEST(the_reference_counts_what_is_published)
{
    static const uint64_t rotations[] = { 2, 5, 14 };
    for (int n = 2; n <= 5; n++) {
        ref_program readers = ref_empty(n + 1), rotate = ref_empty(n);
        ref_add(&readers, 0, REF_STORE, 0);
        for (int i = 1; i <= n; i++)
            ref_add(&readers, i, REF_LOAD, 0);
        CHECK_EQ(count(&readers).classes, 1u << n);
        for (int i = 0; i < n; i++)
            ref_add(&rotate, i, REF_CAS, from_to(i, i + 1));
        if (n <= 4) /* `from` has two bits */
            CHECK_EQ(count(&rotate).classes, rotations[n - 2]);
    }
    ref_program table = ref_empty(2); /* two who eat, left fork first */
    for (int i = 0; i < 2; i++) {
        ref_add(&table, i, REF_LOCK, i);
        ref_add(&table, i, REF_LOCK, 1 - i);
        ref_add(&table, i, REF_UNLOCK, 1 - i);
        ref_add(&table, i, REF_UNLOCK, i);
    }
    CHECK_EQ(count(&table).classes, 3);
    CHECK_EQ(count(&table).deadlocks, 1);
}

/* A table without one of these is seen to be another. Others are told by what the steps that access
 * them find: which slot was emptied, that a channel was closed. */
ASX_TEST_TIMEOUT(a_conflict_that_is_left_out_shows, 60)
{
    static const int objects[] = { REF_CELLS, REF_MUTEXES, REF_RWLOCK,   REF_SEMAPHORE,
                                   REF_TAIL,  REF_CLAIMS,  REF_MANY_TAIL, REF_FLAGS };
    for (size_t k = 0; k < sizeof objects / sizeof *objects; k++) {
        bool shows = ref_shows(ref_draw, 2000, objects[k]);
        if (!shows)
            fprintf(stderr, "object %d\n", objects[k]);
        CHECK(shows);
    }
}
