/* As test_reference.c, for programs with conditions, notifies, barriers, onces, oneshots, watches,
 * broadcasts, regions, races, time-outs and links. */
#include "support_run.h"

#include <stdio.h>

#include "harness.h"

#if ASX_TEST_SANITIZED
enum { PROGRAMS = 200 };
#else
enum { PROGRAMS = 1000 };
#endif

/* ASX_CLASSES_SEED and ASX_CLASSES_PROGRAMS: others, and more of them. */
ASX_TEST_TIMEOUT(random_programs_with_objects_have_as_many_classes_as_the_table_says, 3600)
{
    ref_tally t = ref_compare_drawn(ref_draw_objects, PROGRAMS / asx_test_scale(), true);
    CHECK_EQ(t.bad, 0);
    CHECK(t.counted > t.programs * 3 / 4);
    CHECK(t.brutes > t.programs / 2);
    CHECK(t.deadlocked > t.programs / 10);
}

/* ---- some that can be counted by hand ------------------------------------------------------- */

static uint64_t classes(ref_program *p)
{
    ref_count ref;
    bool brute = false;
    CHECK(ref_compare(p, 11, true, &ref, &brute) == NULL);
    CHECK(ref.counted && ref.sound && brute);
    return ref.classes;
}

/* Nobody can tell which of the two went first. */
ASX_TEST(both_ends_of_a_oneshot_are_dropped_in_one_class)
{
    ref_program p = ref_empty(2);
    ref_add(&p, 0, REF_ANSWER_DROP, 0);
    ref_add(&p, 1, REF_ASK_DROP, 0);
    CHECK_EQ(classes(&p), 1);
    p.code[0][0].op = REF_ANSWER; /* it is refused, or not */
    CHECK_EQ(classes(&p), 2);
}

/* Two of the three meet, and it tells them who came last. */
ASX_TEST(each_order_of_coming_to_a_barrier_is_a_class)
{
    ref_program p = ref_empty(3);
    for (int i = 0; i < 3; i++)
        ref_add(&p, i, REF_BARRIER, 0);
    CHECK_EQ(classes(&p), 6);
}

/* One of both runs it, and the other hears that it is done; with a failure both run it. */
ASX_TEST(once_is_run_by_one_or_the_other)
{
    ref_program p = ref_empty(2);
    ref_add(&p, 0, REF_ONCE, REF_BODY_NOTHING);
    ref_add(&p, 1, REF_ONCE, REF_BODY_NOTHING);
    CHECK_EQ(classes(&p), 2);
    p.tasks = p.started = 3; /* those who hear it do so in any order */
    ref_add(&p, 2, REF_ONCE, REF_BODY_NOTHING);
    CHECK_EQ(classes(&p), 3);
    for (int i = 0; i < 3; i++)
        p.code[i][0].arg = REF_BODY_FAILS;
    CHECK_EQ(classes(&p), 6);
}

/* n who look at one that is set: before or after. */
ASX_TEST(each_look_at_a_watch_is_before_or_after_it_is_set)
{
    ref_program p = ref_empty(4);
    ref_add(&p, 0, REF_WATCH_SET, 0);
    for (int i = 1; i < 4; i++)
        ref_add(&p, i, REF_WATCH_GET, 0);
    CHECK_EQ(classes(&p), 8);
    for (int i = 1; i < 4; i++) /* and who waits for it comes after */
        p.code[i][0].op = REF_WATCH_CHANGED;
    CHECK_EQ(classes(&p), 1);
}

/* The link comes before the end of who fails, and there is somebody to cancel, or behind it. That
 * its handle may be stale by then must not hide that. */
ASX_TEST(a_link_is_before_or_after_the_end_of_a_task_that_is_joined)
{
    ref_program p = ref_empty(3);
    ref_add(&p, 0, REF_FAIL, 0);
    ref_add(&p, 1, REF_JOIN, 0);
    ref_add(&p, 2, REF_LINK, 2);
    CHECK_EQ(classes(&p), 2);
}

/* Either branch ends first, or both before it is seen. */
ASX_TEST(a_race_has_three_classes_and_the_same_again_for_each_place_of_a_cancel)
{
    ref_program p = ref_empty(1);
    p.tasks = 3;
    ref_add(&p, 0, REF_RACE, 1);
    CHECK_EQ(classes(&p), 3);
    ref_program q = ref_empty(2);
    q.tasks = 4;
    ref_add(&q, 0, REF_RACE, 2);
    ref_add(&q, 1, REF_CANCEL, 0);
    /* before it; at each of two regions; none has ended; both have; one, and the losers are
     * cancelled before or after */
    CHECK_EQ(classes(&q), 1 + 2 + 1 + 1 + 2 * 2);
}

/* A race that is cancelled while it drains has not been told, wherever the cancel came. */
ASX_TEST(a_race_in_a_race_is_cancelled_before_or_after_its_losers_have_ended)
{
    ref_program p = ref_empty(2);
    ref_count ref;
    bool brute = false;
    p.tasks = 6;
    ref_add(&p, 0, REF_CANCEL, 1);
    ref_add(&p, 1, REF_RACE, 2);
    ref_add(&p, 1, REF_CHECKPOINT, 0);
    ref_add(&p, 2, REF_RACE, 4);
    CHECK(ref_compare(&p, 11, true, &ref, &brute) == NULL);
    CHECK_EQ(ref.classes, 105);
}

/* It may pass before the region is closed, or not. */
ASX_TEST(a_deadline_passes_or_not)
{
    ref_program p = ref_empty(1);
    p.tasks = 2;
    ref_add(&p, 0, REF_TIMEOUT, 1);
    CHECK_EQ(classes(&p), 1); /* nothing waits for the clock */
    p.adversarial = true;
    CHECK_EQ(classes(&p), 2);
}

/* A table without one of these is seen to be another; see test_reference.c. */
ASX_TEST_TIMEOUT(a_conflict_at_an_object_that_is_left_out_shows, 60)
{
    static const int objects[] = { REF_LINES,    REF_LINES + REF_LINE_SIZE,
                                   REF_THE_ONCE, REF_LINES + 2 * REF_LINE_SIZE,
                                   REF_WATCH,    REF_CAST_SENT };
    for (size_t k = 0; k < sizeof objects / sizeof *objects; k++) {
        bool shows = ref_shows(ref_draw_objects, 4000, objects[k]);
        if (!shows)
            fprintf(stderr, "object %d\n", objects[k]);
        CHECK(shows);
    }
}
