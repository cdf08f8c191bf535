/* As test_reference.c, for programs with join-alls, regions that have room for one task, tasks that
 * start others in their region, promises in regions that others close, regions and races under
 * masks, masks that end while a region is open, adopted senders, links of tasks that are joined. In
 * half of them an oracle of the program complains about every class that ends in a certain way. */
#include "support_run.h"

#include <stdio.h>

#include "harness.h"

#if ASX_TEST_SANITIZED
enum { PROGRAMS = 200 };
#else
enum { PROGRAMS = 1000 };
#endif

/* ASX_CLASSES_SEED and ASX_CLASSES_PROGRAMS: others, and more of them. */
ASX_TEST_TIMEOUT(random_programs_with_regions_have_as_many_classes_as_the_table_says, 3600)
{
    ref_tally t = ref_compare_drawn(ref_draw_regions, PROGRAMS / asx_test_scale(), true);
    CHECK_EQ(t.bad, 0);
    CHECK(t.counted > t.programs * 3 / 4);
    CHECK(t.brutes > t.programs / 3);
    CHECK(t.deadlocked > t.programs / 20);
    CHECK(t.odd > t.programs / 50);
}

/* ---- some that can be counted by hand ------------------------------------------------------- */

static uint64_t classes(ref_program *p)
{
    ref_count ref;
    bool brute = false;
    const char *complaint = ref_compare(p, 11, true, &ref, &brute);
    if (complaint != NULL)
        fprintf(stderr, "%s\n", complaint);
    CHECK(complaint == NULL);
    CHECK(ref.counted && ref.sound);
    return ref.classes;
}

/* Who is second finds the first there, or not; or waits until it is gone. */
ASX_TEST(a_region_with_room_for_one_refuses_the_second_or_not)
{
    ref_program p = ref_empty(1);
    p.tasks = 3;
    ref_add(&p, 0, REF_LIMIT, 1);
    CHECK_EQ(classes(&p), 2);
    p.code[0][0].op = REF_LIMIT_WAIT;
    CHECK_EQ(classes(&p), 1);
}

ASX_TEST(a_task_starts_another_before_or_after_its_region_begins_to_close)
{
    ref_program p = ref_empty(1);
    p.tasks = 3;
    ref_add(&p, 0, REF_SCOPE, 1);
    ref_add(&p, 1, REF_BESIDE, 2);
    CHECK_EQ(classes(&p), 2);
    p.code[0][0].op = REF_SCOPE_FAIL; /* between that and the cancel it is too late */
    CHECK_EQ(classes(&p), 2);
    p.code[0][0].op = REF_SCOPE_DEFER;
    CHECK_EQ(classes(&p), 2);
}

/* It is kept, or broken when the region is closed before. Of two who keep it one is the first, if
 * there is still something to be kept. */
ASX_TEST(a_promise_is_kept_before_or_after_its_region_is_closed)
{
    ref_program p = ref_empty(1);
    p.tasks = 3;
    ref_add(&p, 0, REF_PLEDGE, 1);
    ref_add(&p, 1, REF_SETTLE, 1);
    CHECK_EQ(classes(&p), 2);
    ref_add(&p, 2, REF_SETTLE, 1);
    CHECK_EQ(classes(&p), 2 + 2 + 1);
}

/* Before it; when its region is opened; before all have ended; after that. */
ASX_TEST(a_join_all_has_one_class_and_four_if_it_is_cancelled)
{
    ref_program p = ref_empty(2);
    p.tasks = 4;
    ref_add(&p, 0, REF_JOIN_ALL, 2);
    CHECK_EQ(classes(&p), 1);
    ref_add(&p, 1, REF_CANCEL, 0);
    CHECK_EQ(classes(&p), 4);
}

/* It concerns nobody in there, and nobody else before the mask ends. */
ASX_TEST(where_a_cancel_comes_makes_no_difference_to_a_region_under_a_mask)
{
    ref_program p = ref_empty(2);
    p.tasks = 3;
    ref_add(&p, 0, REF_MASK, 0);
    ref_add(&p, 0, REF_SCOPE, 2);
    ref_add(&p, 0, REF_UNMASK, 0);
    ref_add(&p, 1, REF_CANCEL, 0);
    ref_add(&p, 2, REF_CHECKPOINT, 0);
    CHECK_EQ(classes(&p), 1);
    ref_add(&p, 0, REF_CHECKPOINT, 0);
    CHECK_EQ(classes(&p), 2);
}

/* A cancel that the outer shield keeps out does not look at the inner one. Without the outer one it
 * would reach what is opened behind it after the cancel, in the execution that comes first. */
ASX_TEST(a_cancel_behind_two_shields_comes_before_or_after_the_inner_region_is_closed)
{
    ref_program p = ref_empty(2);
    p.tasks = 4;
    ref_add(&p, 0, REF_BARE_AGAIN, 2);
    ref_add(&p, 1, REF_CANCEL, 0);
    ref_add(&p, 2, REF_BARE, 3);
    /* kept out; before the outer mask ends, which it does at one of three places; after that: at
     * one of three too */
    CHECK_EQ(classes(&p), 1 + 3 + 3);
    p.code[2][0].op = REF_SCOPE; /* the same, but it is opened before or after */
    CHECK_EQ(classes(&p), 1 + 3 + 3);
}

/* Whoever adopts the sender of a oneshot and ends without having sent drops it. */
ASX_TEST(the_end_of_a_task_drops_the_sender_that_it_has_adopted)
{
    ref_program p = ref_empty(2);
    ref_add(&p, 0, REF_ADOPT, 0);
    ref_add(&p, 1, REF_ASK, 0);
    CHECK_EQ(classes(&p), 1);
    p.code[1][0].op = REF_TRY_ASK;
    CHECK_EQ(classes(&p), 2);
}

/* That the one who failed was joined by a third one makes no difference: the link might have come
 * before that, and cancels. */
ASX_TEST(a_link_of_a_task_that_was_joined_cancels_all_the_same)
{
    ref_program p = ref_empty(3);
    ref_add(&p, 0, REF_FAIL, 0);
    ref_add(&p, 1, REF_LINK, 1);
    ref_add(&p, 1, REF_JOIN, 0);
    ref_add(&p, 1, REF_STORE, 0);
    ref_add(&p, 2, REF_JOIN, 0);
    ref_add(&p, 2, REF_LOAD, 0);
    CHECK_EQ(classes(&p), 2);
}

/* Three who count: an odd number at the end, if one of them was cancelled before. */
ASX_TEST(an_oracle_of_the_program_complains_once_in_each_class_that_breaks_its_rule)
{
    ref_program p = ref_empty(3);
    ref_count ref;
    bool brute = false;
    p.watched = true;
    ref_add(&p, 0, REF_FETCH_ADD, 0);
    ref_add(&p, 1, REF_CHECKPOINT, 0);
    ref_add(&p, 1, REF_FETCH_ADD, 0);
    ref_add(&p, 2, REF_CANCEL, 1);
    CHECK(ref_compare(&p, 11, true, &ref, &brute) == NULL);
    CHECK_EQ(ref.classes, 1 + 2);
    CHECK_EQ(ref.odd, 1);
}

/* A cancel that comes before the mask ends does not look at the shield, one that comes after it
 * does: where it would do the same is not seen from the shield alone. */
ASX_TEST(a_cancel_of_all_and_sends_behind_and_beside_a_shield)
{
    ref_program p = ref_empty(3);
    p.tasks = 4;
    p.capacity = 1;
    p.many = 1;
    p.adversarial = true;
    ref_add(&p, 0, REF_CANCEL_ALL, 0);
    ref_add(&p, 1, REF_BARE_AGAIN, 3);
    ref_add(&p, 2, REF_MANY_SEND, 0);
    ref_add(&p, 3, REF_MANY_SEND, 0);
    CHECK_EQ(classes(&p), 8);
}

/* Which shields it looks at depends on where it comes; a deadline that comes after the cancel looks
 * at none. */
ASX_TEST(a_cancel_and_a_deadline_around_three_shields)
{
    ref_program p = ref_empty(2);
    p.tasks = 6;
    p.adversarial = true;
    ref_add(&p, 0, REF_CANCEL, 1);
    ref_add(&p, 1, REF_TIMEOUT, 2);
    ref_add(&p, 2, REF_BARE_AGAIN, 3);
    ref_add(&p, 3, REF_BARE_AGAIN, 4);
    ref_add(&p, 4, REF_BARE_AGAIN, 5);
    CHECK_EQ(classes(&p), 137);
}

ASX_TEST(a_cancel_and_a_deadline_around_a_shield_with_a_deadline_behind_it)
{
    ref_program p = ref_empty(2);
    p.tasks = 5;
    p.adversarial = true;
    ref_add(&p, 0, REF_TIMEOUT, 2);
    ref_add(&p, 1, REF_CANCEL, 0);
    ref_add(&p, 2, REF_BARE_AGAIN, 3);
    ref_add(&p, 3, REF_TIMEOUT, 4);
    CHECK_EQ(classes(&p), 172);
}
