/* test_coalesce.c - ruling 52: coalescing is off unless asked for, and only ever delays. */
#include "wheel_kit.h"

static asx_timer_wheel *coalescing(uint64_t window_ns, uint32_t min_group)
{
    asx_timer_config config = { .coalesce_window_ns = window_ns,
                                .coalesce_min_group = min_group };
    return kit_create(&config);
}

ASX_TEST(without_a_window_the_group_size_means_nothing)
{
    asx_timer_wheel *wheel = coalescing(0, 1);
    kit_add(wheel, 10 * ASX_MS + 1, 1);
    kit_add(wheel, 10 * ASX_MS + 2, 2);
    FIRES(wheel, 10 * ASX_MS + 1, 1);
    FIRES(wheel, 10 * ASX_MS + 2, 2);
    asx_timer_wheel_destroy(wheel);
}

/* tm-coalesce-001 */
ASX_TEST(a_group_fires_together_at_the_boundary)
{
    asx_timer_wheel *wheel = coalescing(10 * ASX_MS, 3);
    kit_add(wheel, 17 * ASX_MS, 3);
    kit_add(wheel, 11 * ASX_MS, 1);
    kit_add(wheel, 13 * ASX_MS, 2);
    CHECK_EQ(asx_timer_next_deadline(wheel), 20 * ASX_MS);
    FIRES_NONE(wheel, 11 * ASX_MS);
    FIRES_NONE(wheel, 17 * ASX_MS);
    FIRES_NONE(wheel, 20 * ASX_MS - 1);
    CHECK_EQ(asx_timer_next_deadline(wheel), 20 * ASX_MS);
    FIRES(wheel, 20 * ASX_MS, 1, 2, 3);
    asx_timer_wheel_destroy(wheel);
}

/* timer-coalescing-threshold-014 */
ASX_TEST(a_group_below_the_threshold_fires_at_its_own_deadlines)
{
    asx_timer_wheel *wheel = coalescing(10 * ASX_MS, 3);
    kit_add(wheel, 11 * ASX_MS, 1);
    kit_add(wheel, 13 * ASX_MS, 2);
    kit_add(wheel, 21 * ASX_MS, 3); /* another window */
    CHECK_EQ(asx_timer_next_deadline(wheel), 11 * ASX_MS);
    FIRES(wheel, 11 * ASX_MS, 1);
    CHECK_EQ(asx_timer_next_deadline(wheel), 13 * ASX_MS);
    FIRES(wheel, 13 * ASX_MS, 2);
    FIRES(wheel, 21 * ASX_MS, 3);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(a_deadline_on_the_boundary_belongs_to_the_window_that_ends_there)
{
    asx_timer_wheel *wheel = coalescing(10 * ASX_MS, 2);
    kit_add(wheel, 10 * ASX_MS, 1);
    kit_add(wheel, 10 * ASX_MS + 1, 2);
    FIRES(wheel, 10 * ASX_MS, 1); /* not delayed, and not of one group with the other */
    FIRES(wheel, 10 * ASX_MS + 1, 2);
    kit_add(wheel, 20 * ASX_MS, 4);
    kit_add(wheel, 19 * ASX_MS, 3);
    CHECK_EQ(asx_timer_next_deadline(wheel), 20 * ASX_MS);
    FIRES_NONE(wheel, 19 * ASX_MS);
    FIRES(wheel, 20 * ASX_MS, 3, 4);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(a_cancel_that_makes_the_group_too_small_lets_it_go)
{
    asx_timer_wheel *wheel = coalescing(10 * ASX_MS, 3);
    kit_add(wheel, 11 * ASX_MS, 1);
    kit_add(wheel, 12 * ASX_MS, 2);
    asx_timer_handle third = kit_add(wheel, 19 * ASX_MS, 3);
    FIRES_NONE(wheel, 14 * ASX_MS);
    CHECK(asx_timer_cancel(wheel, &third));
    CHECK_EQ(asx_timer_next_deadline(wheel), 11 * ASX_MS);
    FIRES(wheel, 14 * ASX_MS, 1, 2);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(a_timer_that_joins_can_make_the_group_wait)
{
    asx_timer_wheel *wheel = coalescing(10 * ASX_MS, 3);
    kit_add(wheel, 11 * ASX_MS, 1);
    kit_add(wheel, 15 * ASX_MS, 2);
    kit_add(wheel, 16 * ASX_MS, 3);
    asx_timer_handle first = kit_add(wheel, 11 * ASX_MS, 4);
    CHECK(asx_timer_cancel(wheel, &first));
    FIRES_NONE(wheel, 11 * ASX_MS);
    kit_add(wheel, 12 * ASX_MS, 5);
    FIRES_NONE(wheel, 13 * ASX_MS);
    FIRES(wheel, 20 * ASX_MS, 1, 5, 2, 3);
    asx_timer_wheel_destroy(wheel);

    wheel = coalescing(10 * ASX_MS, 2);
    kit_add(wheel, 11 * ASX_MS, 1);
    FIRES(wheel, 11 * ASX_MS, 1); /* alone when it was due */
    kit_add(wheel, 15 * ASX_MS, 2);
    CHECK_EQ(asx_timer_next_deadline(wheel), 15 * ASX_MS); /* those that fired do not count */
    kit_add(wheel, 16 * ASX_MS, 3);
    CHECK_EQ(asx_timer_next_deadline(wheel), 20 * ASX_MS);
    FIRES_NONE(wheel, 19 * ASX_MS);
    FIRES(wheel, 20 * ASX_MS, 2, 3);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(a_jump_past_the_boundary_fires_the_group_in_order)
{
    asx_timer_wheel *wheel = coalescing(10 * ASX_MS, 2);
    kit_add(wheel, 31 * ASX_MS, 4);
    kit_add(wheel, 12 * ASX_MS, 2);
    kit_add(wheel, 11 * ASX_MS, 1);
    kit_add(wheel, 25 * ASX_MS, 3);
    kit_add(wheel, 32 * ASX_MS, 5);
    FIRES(wheel, 34 * ASX_MS, 1, 2, 3); /* the last two wait for 40 */
    FIRES(wheel, 40 * ASX_MS, 4, 5);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(the_group_is_counted_in_every_place)
{
    asx_timer_wheel *wheel = coalescing(3 * KIT_DAY, 7);
    kit_add(wheel, 1, 1);
    kit_add(wheel, 5 * ASX_MS, 2);
    kit_add(wheel, ASX_SEC, 3);
    kit_add(wheel, 120 * ASX_SEC, 4);
    kit_add(wheel, 6 * KIT_HOUR, 5);
    kit_add(wheel, 30 * KIT_HOUR, 6);
    CHECK_EQ(asx_timer_next_deadline(wheel), 1);
    kit_add(wheel, 3 * KIT_DAY + 1, 8); /* the next window */
    CHECK_EQ(asx_timer_next_deadline(wheel), 1);
    asx_timer_handle seventh = kit_add(wheel, 3 * KIT_DAY, 7);
    CHECK_EQ(asx_timer_next_deadline(wheel), 3 * KIT_DAY);
    FIRES_NONE(wheel, KIT_DAY);
    CHECK(asx_timer_cancel(wheel, &seventh));
    FIRES(wheel, KIT_DAY, 1, 2, 3, 4, 5);
    asx_timer_wheel_destroy(wheel);

    /* The same, counted at once and not step by step. */
    wheel = coalescing(3 * KIT_DAY, 6);
    kit_add(wheel, 1, 1);
    kit_add(wheel, 5 * ASX_MS, 2);
    kit_add(wheel, ASX_SEC, 3);
    kit_add(wheel, 120 * ASX_SEC, 4);
    kit_add(wheel, 6 * KIT_HOUR, 5);
    asx_timer_handle dead = kit_add(wheel, 30 * KIT_HOUR, 6);
    kit_add(wheel, 30 * KIT_HOUR, 7);
    kit_add(wheel, 5 * KIT_DAY, 8);
    CHECK(asx_timer_cancel(wheel, &dead));
    CHECK_EQ(asx_timer_next_deadline(wheel), 3 * KIT_DAY);
    FIRES_NONE(wheel, 2 * KIT_DAY);
    FIRES(wheel, 3 * KIT_DAY, 1, 2, 3, 4, 5, 7);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(a_threshold_of_one_delays_every_timer_to_a_boundary)
{
    asx_timer_wheel *wheel = coalescing(10 * ASX_MS, 1);
    kit_add(wheel, 11 * ASX_MS, 1);
    CHECK_EQ(asx_timer_next_deadline(wheel), 20 * ASX_MS);
    FIRES_NONE(wheel, 19 * ASX_MS);
    FIRES(wheel, 20 * ASX_MS, 1);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(the_threshold_defaults_to_two)
{
    asx_timer_wheel *wheel = coalescing(10 * ASX_MS, 0);
    kit_add(wheel, 11 * ASX_MS, 1);
    FIRES(wheel, 11 * ASX_MS, 1);
    kit_add(wheel, 12 * ASX_MS, 2);
    kit_add(wheel, 13 * ASX_MS, 3);
    FIRES_NONE(wheel, 19 * ASX_MS);
    FIRES(wheel, 20 * ASX_MS, 2, 3);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(a_boundary_beyond_the_end_of_time_delays_nothing)
{
    asx_timer_config config = { .start = ASX_TIME_NEVER - 1000,
                                .coalesce_window_ns = UINT64_C(1) << 62,
                                .coalesce_min_group = 1 };
    asx_timer_wheel *wheel = kit_create(&config);
    kit_add(wheel, ASX_TIME_NEVER - 500, 1);
    CHECK_EQ(asx_timer_next_deadline(wheel), ASX_TIME_NEVER - 500);
    FIRES(wheel, ASX_TIME_NEVER - 500, 1);
    asx_timer_wheel_destroy(wheel);
}
