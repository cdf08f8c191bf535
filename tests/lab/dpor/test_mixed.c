/* Anything against anything: random programs on all of the runtime, and those that once had another
 * number of executions than of classes, or whose tasks saw different things in one class. */
#include "support_mixed.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

/* A program as text: calls, tasks apart by commas. */
static mixed_program program(const char *text)
{
    mixed_program p;
    CHECK(mixed_parse(text, &p));
    return p;
}

static uint64_t classes(mixed_program p)
{
    mixed_answer answer = mixed_compare(&p, 0, 11);
    if (answer.complaint != NULL) {
        fprintf(stderr, "%s: %d classes, %d executions\n", answer.complaint, (int)answer.classes,
                (int)answer.executions);
        mixed_print(&p);
    }
    CHECK(answer.complaint == NULL);
    CHECK(answer.compared);
    return answer.classes;
}

/* Told before, or after it has the unit: what a semaphore has at first is known also where nobody
 * has touched it. */
ASX_TEST(a_cancel_races_with_the_wait_for_a_semaphore)
{
    CHECK_EQ(classes(program("CANCEL_TASK, ACQUIRE")), 2);
    CHECK_EQ(classes(program("CANCEL_TASK, ACQUIRE ACQUIRE")), 3);
}

/* Before the reader, after it, or in between, where it fails. */
ASX_TEST(a_try_to_write_races_with_readers)
{
    CHECK_EQ(classes(program("TRY_WRITE, READ")), 3);
    CHECK_EQ(classes(program("TRY_WRITE, TRY_READ")), 4);
}

/* The reader has it and gives it back before the request, or after it; it fails after the request,
 * or after the write-lock; or it comes last. */
ASX_TEST(a_try_fails_from_the_request_of_a_writer_on)
{
    CHECK_EQ(classes(program("TRY_READ, WRITE")), 5);
    CHECK_EQ(classes(program("TRY_WRITE, WRITE")), 5);
}

/* Whom a close waits for is the same whoever was started first. */
ASX_TEST(the_order_of_starts_does_not_tell_closes_apart)
{
    mixed_program p = program("TIMEOUT, JOIN");
    p.clock = ASX_EXPLORE_ADVERSARIAL;
    CHECK_EQ(classes(p), 1);
}

/* The cancel comes before the scope is opened, before the only checkpoint in it, before its close,
 * or too late: what the close says tells the last two apart. */
ASX_TEST(a_cancel_races_with_the_close_of_what_it_reaches)
{
    CHECK_EQ(classes(program("CANCEL_TASK, SCOPE")), 4);
}

/* What is opened under a mask, and closed before that ends, is reached by no cancel: it makes no
 * difference where one comes, and who waits there goes on waiting. The one that also cancels what
 * the first lives in comes before its close, before that of the region around it, or later. */
ASX_TEST(a_cancel_does_not_reach_what_is_opened_under_a_mask)
{
    CHECK_EQ(classes(program("MASKED_SCOPE, CANCEL_TASK")), 1);
    CHECK_EQ(classes(program("MASKED_WAITS, CANCEL_TASK")), 1);
    CHECK_EQ(classes(program("CANCEL_TASK, MASKED_WAITS, SEND")), 1);
    mixed_program p = program("MASKED_SCOPE, CANCEL_TASK");
    p.inner = true;
    CHECK_EQ(classes(p), 1);
    p = program("MASKED_SCOPE, CANCEL_SELF");
    p.inner = true;
    CHECK_EQ(classes(p), 3);
    p = program("MASKED_SCOPE"); /* before its end, or too late */
    p.clock = ASX_EXPLORE_ADVERSARIAL;
    p.deadline_ns = ASX_MS;
    CHECK_EQ(classes(p), 2);
}

/* The scope is open when the mask ends; the task cancels it at its end and closes it. Another
 * cancel before the end of the mask reaches it then: the helper's checkpoint comes before both,
 * between them, or after both. One that comes later has four places among the three others, of
 * which the first two can change theirs. */
ASX_TEST(the_end_of_a_mask_tells_what_it_has_kept_back)
{
    CHECK_EQ(classes(program("MASKED_LEFT, CANCEL_TASK")), 3 + 2 * 4);
    (void)classes(program("MASKED_LEFT MASKED_SCOPE, CANCEL_TASK"));
    CHECK_EQ(classes(program("MASKED_LEFT MASKED_RECV CHECKPOINT, CANCEL_TASK SEND")), 11);
    mixed_program p = program("MASKED_LEFT, CANCEL_REGION");
    p.inner = true;
    (void)classes(p);
}

/* With a stack or without, each of two; and the cancel of the region where the first lives comes
 * before its close or after it, unless the canceller has no stack. */
ASX_TEST(a_cancel_that_comes_after_the_close_might_have_come_before)
{
    mixed_program p = program("STORE, CANCEL_REGION");
    p.inner = true;
    CHECK_EQ(classes(p), 2);
    p.faults = ASX_EXPLORE_FAULT_STACK;
    CHECK_EQ(classes(p), 6);
}

/* Before the first checkpoint, before the second, before the end, or never. */
ASX_TEST(the_deadline_of_a_task_comes_at_any_point_if_time_is_adversarial)
{
    mixed_program p = program("CHECKPOINT CHECKPOINT");
    p.clock = ASX_EXPLORE_ADVERSARIAL;
    p.deadline_ns = ASX_MS;
    CHECK_EQ(classes(p), 4);
    p = program("RECV, SEND"); /* instead of the message, after it, or never */
    p.clock = ASX_EXPLORE_ADVERSARIAL;
    p.deadline_ns = ASX_MS;
    CHECK_EQ(classes(p), 3);
}

/* Refused for lack of room or not; the last may wait until somebody ends. */
ASX_TEST(starts_race_for_room_and_may_wait_for_it)
{
    mixed_program p = program("SPAWN_LIMITED, SPAWN_LIMITED");
    (void)classes(p);
    p.waits = true;
    (void)classes(p);
    p = program("SPAWN_LIMITED, SPAWN_LIMITED, CANCEL_REGION");
    p.waits = true;
    (void)classes(p);
}

/* In the region where all live a start comes before its owner begins to close it, or is refused. */
ASX_TEST(a_start_races_with_the_close_of_its_region)
{
    CHECK_EQ(classes(program("SPAWN")), 2);
    CHECK_EQ(classes(program("OBLIGATION")), 2);
}

/* ASX_MIXED_SEED and ASX_MIXED_PROGRAMS: others, and more of them. */
ASX_TEST_TIMEOUT(random_programs_of_everything_agree_with_brute_force, 120)
{
    const char *seed_text = getenv("ASX_MIXED_SEED"), *count_text = getenv("ASX_MIXED_PROGRAMS");
    uint64_t seed = seed_text != NULL ? strtoull(seed_text, NULL, 10) : 1;
    uint64_t programs = count_text != NULL ? strtoull(count_text, NULL, 10)
                                           : 600 / asx_test_scale();
    uint64_t compared = 0;
    for (uint64_t n = 0; n < programs; n++) {
        asx__rng rng;
        mixed_program p;
        asx__rng_seed(&rng, seed + n);
        mixed_draw(&rng, &p);
        mixed_answer answer = mixed_compare(&p, 400, 2);
        if (answer.complaint != NULL) {
            mixed_shrink(&p, 400, 2);
            fprintf(stderr, "seed %d: %s\n", (int)(seed + n), answer.complaint);
            mixed_print(&p);
        }
        CHECK(answer.complaint == NULL);
        compared += answer.compared;
    }
    CHECK(compared > programs / 3);
}

/* Who is told at a barrier leaves it, and does so before or after others have come. */
ASX_TEST(a_deadline_races_with_a_barrier_that_is_full_once)
{
    mixed_program p = program("BARRIER, BARRIER BARRIER");
    p.clock = ASX_EXPLORE_ADVERSARIAL;
    p.deadline_ns = ASX_MS;
    CHECK_EQ(classes(p), 6);
}
