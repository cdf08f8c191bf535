/* test_wheel.c - the laws of the timer wheel, one by one. Fixture names stand above the tests that
 * show them. */
#include "wheel_kit.h"

#include <string.h>

/* tm-insert-fire-001, INV-TM-08 */
ASX_TEST(timer_fires_at_its_deadline_and_once)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    kit_add(wheel, 5 * ASX_MS, 1);
    CHECK_EQ(asx_timer_count(wheel), 1);
    FIRES_NONE(wheel, 5 * ASX_MS - 1);
    FIRES(wheel, 5 * ASX_MS, 1);
    CHECK_EQ(asx_timer_count(wheel), 0);
    FIRES_NONE(wheel, 6 * ASX_MS);
    asx_timer_wheel_destroy(wheel);
}

/* Timers of every level, one that is cancelled, and then the same again from the beginning. */
ASX_TEST(a_wheel_that_is_empty_can_begin_anew_at_an_earlier_time)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    for (int round = 0; round < 3; round++) {
        asx_timer_handle gone = kit_add(wheel, 3 * ASX_MS, 9);
        kit_add(wheel, 5 * ASX_MS, 1);
        kit_add(wheel, 7 * ASX_SEC, 2);
        CHECK(asx_timer_cancel(wheel, &gone));
        FIRES_NONE(wheel, 5 * ASX_MS - 1);
        FIRES(wheel, 5 * ASX_MS, 1);
        kit_add(wheel, 30 * ASX_SEC * 3600, 3);
        CHECK_EQ(asx_timer_next_deadline(wheel), 7 * ASX_SEC);
        FIRES(wheel, 7 * ASX_SEC, 2);
        FIRES_NONE(wheel, 29 * ASX_SEC * 3600);
        FIRES(wheel, 30 * ASX_SEC * 3600, 3);
        asx__timer_wheel_restart(wheel, 0);
        CHECK(asx__timer_wheel_is_valid(wheel));
        CHECK_EQ(asx_timer_next_deadline(wheel), ASX_TIME_NEVER);
    }
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(try_register_is_register)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle handle;
    CHECK_STATUS(asx_timer_try_register(wheel, 5, kit_waker(1), &handle), ASX_OK);
    CHECK_STATUS(asx_timer_try_register(wheel, 8 * KIT_DAY, kit_waker(1), &handle),
                 ASX_E_TIMER_DURATION_EXCEEDED);
    FIRES(wheel, 5, 1);
    asx_timer_wheel_destroy(wheel);
}

/* timer-next-deadline-same-tick-012, INV-TM-08 */
ASX_TEST(nothing_fires_early_within_a_tick)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    kit_add(wheel, 3 * ASX_MS + 700, 3);
    kit_add(wheel, 3 * ASX_MS + 200, 1);
    kit_add(wheel, 3 * ASX_MS + 699, 2);
    CHECK_EQ(asx_timer_next_deadline(wheel), 3 * ASX_MS + 200);
    FIRES_NONE(wheel, 3 * ASX_MS);
    FIRES_NONE(wheel, 3 * ASX_MS + 199);
    FIRES(wheel, 3 * ASX_MS + 200, 1);
    CHECK_EQ(asx_timer_next_deadline(wheel), 3 * ASX_MS + 699);
    FIRES(wheel, 3 * ASX_MS + 699, 2);
    /* Registered into the tick that is running. */
    kit_add(wheel, 3 * ASX_MS + 701, 4);
    CHECK_EQ(kit_stats(wheel).near_entries, 2);
    FIRES(wheel, 3 * ASX_MS + 700, 3);
    FIRES(wheel, 3 * ASX_MS + 701, 4);
    asx_timer_wheel_destroy(wheel);
}

/* tm-immediate-001 */
ASX_TEST(deadline_in_the_past_fires_at_the_next_collection)
{
    asx_timer_config config = { .start = 10 * ASX_SEC + 5 };
    asx_timer_wheel *wheel = kit_create(&config);
    kit_add(wheel, 10 * ASX_SEC + 5, 3);
    kit_add(wheel, 0, 1);
    kit_add(wheel, 9 * ASX_SEC, 2);
    CHECK_EQ(asx_timer_next_deadline(wheel), 0);
    FIRES(wheel, 0, 1, 2, 3);
    asx_timer_wheel_destroy(wheel);
}

/* tm-tiebreak-001, tm-same-deadline-001, timer-equal-deadline-order-010, INV-TM-03 */
ASX_TEST(equal_deadlines_fire_in_registration_order_from_every_place)
{
    static const asx_time deadlines[] = { 0, 1, 5 * ASX_MS, ASX_SEC, 120 * ASX_SEC,
                                          6 * KIT_HOUR, 30 * KIT_HOUR };
    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        asx_timer_wheel *wheel = kit_create(NULL);
        for (uint64_t label = 1; label <= 8; label++)
            kit_add(wheel, deadlines[i], label);
        FIRES(wheel, deadlines[i], 1, 2, 3, 4, 5, 6, 7, 8);
        asx_timer_wheel_destroy(wheel);
    }
}

/* INV-TM-03: one deadline, registered from farther and nearer, so through different levels. */
ASX_TEST(equal_deadlines_fire_in_registration_order_whichever_way_they_came)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_time at = 30 * KIT_HOUR + 123456789;
    kit_add(wheel, at, 1); /* overflow */
    CHECK_EQ(kit_stats(wheel).overflow_entries, 1);
    FIRES_NONE(wheel, at - 10 * KIT_HOUR);
    kit_add(wheel, at, 2);
    CHECK_EQ(kit_stats(wheel).level_entries[3], 2);
    FIRES_NONE(wheel, at - 1 * KIT_HOUR);
    kit_add(wheel, at, 3);
    FIRES_NONE(wheel, at - 10 * ASX_SEC);
    kit_add(wheel, at, 4);
    FIRES_NONE(wheel, at - 10 * ASX_MS);
    kit_add(wheel, at, 5);
    FIRES_NONE(wheel, at - 1);
    kit_add(wheel, at, 6);
    kit_add(wheel, at - 1, 7);
    FIRES(wheel, at, 7, 1, 2, 3, 4, 5, 6);
    asx_timer_wheel_destroy(wheel);
}

/* Ruling 31: the finest level whose range covers the distance, to the nanosecond. */
/* tm-cascade-001 */
static void check_level(asx_time start, uint64_t delta, int level)
{
    asx_timer_config config = { .start = start };
    asx_timer_wheel *wheel = kit_create(&config);
    kit_add(wheel, start + delta, 1);
    asx_timer_stats stats = kit_stats(wheel);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(stats.level_entries[i], i == level);
    CHECK_EQ(stats.overflow_entries, level == 4);
    CHECK_EQ(stats.near_entries, level == -1);
    CHECK(asx__timer_wheel_is_valid(wheel));
    CHECK_EQ(asx_timer_next_deadline(wheel), start + delta);
    if (delta > 0)
        FIRES_NONE(wheel, start + delta - 1);
    CHECK_EQ(asx_timer_next_deadline(wheel), start + delta);
    FIRES(wheel, start + delta, 1);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(entry_goes_to_the_finest_level_whose_range_covers_it)
{
    static const asx_time starts[] = { 0, 1, 999999, 255 * ASX_MS + 500000, 65535 * ASX_MS + 1,
                                       UINT64_C(0xffffffff) * ASX_MS + 999999 };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        asx_time start = starts[i];
        check_level(start, 0, -1);
        check_level(start, ASX_MS, 0);
        check_level(start, 256 * ASX_MS - 1, 0);
        check_level(start, 256 * ASX_MS, 1);
        check_level(start, 65536 * ASX_MS - 1, 1);
        check_level(start, 65536 * ASX_MS, 2);
        check_level(start, 16777216 * ASX_MS - 1, 2);
        check_level(start, 16777216 * ASX_MS, 3);
        check_level(start, KIT_DAY - 1, 3);
        check_level(start, KIT_DAY, 4);
        check_level(start, 7 * KIT_DAY, 4);
    }
}

ASX_TEST(wheel_range_ends_where_the_levels_end)
{
    asx_timer_config config = { .max_wheel_duration_ns = UINT64_MAX,
                                .max_timer_duration_ns = UINT64_MAX };
    asx_timer_wheel *wheel = kit_create(&config);
    uint64_t range = (UINT64_C(1) << 32) * ASX_MS;
    kit_add(wheel, range - 1, 1);
    CHECK_EQ(kit_stats(wheel).level_entries[3], 1);
    kit_add(wheel, range, 2);
    kit_add(wheel, ASX_TIME_NEVER - 1, 3);
    CHECK_EQ(kit_stats(wheel).overflow_entries, 2);
    FIRES(wheel, range - 1, 1);
    FIRES(wheel, range, 2);
    FIRES_NONE(wheel, ASX_TIME_NEVER - 2);
    FIRES(wheel, ASX_TIME_NEVER - 1, 3);
    asx_timer_wheel_destroy(wheel);
}

/* tm-cascade-001 */
ASX_TEST(entries_cascade_through_every_level_to_their_deadline)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_time at = 20 * KIT_HOUR + 11 * ASX_MS + 1;
    kit_add(wheel, at, 1);
    asx__timer_settle(wheel);
    bool seen[4] = { false };
    for (asx_time left = 20 * KIT_HOUR; left > 0; left /= 2) {
        FIRES_NONE(wheel, at - left);
        asx_timer_stats stats = kit_stats(wheel);
        for (int i = 0; i < 4; i++)
            seen[i] = seen[i] || stats.level_entries[i] == 1;
    }
    CHECK(seen[3] && seen[2] && seen[1] && seen[0]);
    CHECK_GE(kit_stats(wheel).cascades, 3);
    FIRES(wheel, at, 1);
    asx_timer_wheel_destroy(wheel);
}

/* INV-TM-07 */
ASX_TEST(dead_entries_are_dropped_by_a_cascade)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle victim = kit_add(wheel, ASX_SEC, 1);
    kit_add(wheel, ASX_SEC + 7, 2);
    asx__timer_settle(wheel);
    CHECK(asx_timer_cancel(wheel, &victim));
    CHECK_EQ(kit_stats(wheel).dead, 1);
    CHECK_EQ(kit_stats(wheel).level_entries[1], 2);
    FIRES_NONE(wheel, ASX_SEC - 1);
    asx_timer_stats stats = kit_stats(wheel);
    CHECK_EQ(stats.dead, 0);
    CHECK_EQ(stats.level_entries[1], 0);
    CHECK_EQ(stats.level_entries[0] + stats.near_entries, 1);
    CHECK_EQ(stats.cascades, 1);
    FIRES(wheel, ASX_SEC + 7, 2);
    asx_timer_wheel_destroy(wheel);
}

/* tm-overflow-001, timer-overflow-promotion-013 */
ASX_TEST(overflow_entries_are_promoted_when_they_come_into_range)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_time at = 3 * KIT_DAY;
    kit_add(wheel, at, 1);
    kit_add(wheel, at + KIT_DAY, 2);
    CHECK_EQ(kit_stats(wheel).overflow_entries, 2);
    FIRES_NONE(wheel, 2 * KIT_DAY);
    CHECK_EQ(kit_stats(wheel).overflow_entries, 2);
    FIRES_NONE(wheel, 2 * KIT_DAY + 1);
    CHECK_EQ(kit_stats(wheel).overflow_entries, 1);
    CHECK_EQ(kit_stats(wheel).level_entries[3], 1);
    FIRES(wheel, at, 1);
    FIRES(wheel, at + KIT_DAY, 2);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(overflow_and_wheel_fire_in_one_order)
{
    asx_timer_config config = { .max_wheel_duration_ns = 10 * ASX_MS };
    asx_timer_wheel *wheel = kit_create(&config);
    kit_add(wheel, 40 * ASX_MS, 4);
    kit_add(wheel, 12 * ASX_MS, 2);
    kit_add(wheel, 9 * ASX_MS, 1);
    CHECK_EQ(kit_stats(wheel).overflow_entries, 2);
    FIRES_NONE(wheel, 8 * ASX_MS);
    kit_add(wheel, 17 * ASX_MS, 3);
    CHECK_EQ(kit_stats(wheel).overflow_entries, 1);
    CHECK_EQ(asx_timer_next_deadline(wheel), 9 * ASX_MS);
    FIRES(wheel, KIT_DAY, 1, 2, 3, 4);
    asx_timer_wheel_destroy(wheel);
}

/* tm-skip-001 */
ASX_TEST(a_jump_over_days_fires_everything_in_order)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    kit_add(wheel, 5 * KIT_DAY, 9);
    kit_add(wheel, 23 * KIT_HOUR, 8);
    kit_add(wheel, 5 * KIT_HOUR, 7);
    kit_add(wheel, KIT_HOUR, 6);
    kit_add(wheel, 70 * ASX_SEC, 5);
    kit_add(wheel, 3 * ASX_SEC, 4);
    kit_add(wheel, 300 * ASX_MS, 3);
    kit_add(wheel, 2 * ASX_MS, 2);
    kit_add(wheel, 1, 1);
    FIRES(wheel, 6 * KIT_DAY, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    asx_timer_wheel_destroy(wheel);
}

/* Would not end within the time limit if a jump cost its ticks. */
ASX_TEST(a_jump_costs_what_it_finds_and_not_its_length)
{
    asx_timer_config config = { .max_timer_duration_ns = UINT64_MAX };
    asx_timer_wheel *wheel = kit_create(&config);
    asx_time now = 0;
    for (int i = 0; i < 20000; i++) { /* nothing pending */
        now += KIT_DAY;
        FIRES_NONE(wheel, now);
    }
    for (uint64_t i = 1; i <= 5000; i++) {
        asx_time step = 20 * KIT_HOUR + i * 7777777;
        kit_add(wheel, now + step, i);
        kit_add(wheel, now + step + 2 * KIT_DAY, i + 1000000);
        now += 10 * KIT_DAY;
        FIRES(wheel, now, i, i + 1000000);
    }
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(time_never_goes_back)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    FIRES_NONE(wheel, 10 * ASX_SEC);
    CHECK_EQ(asx__timer_wheel_now(wheel), 10 * ASX_SEC);
    kit_add(wheel, 9 * ASX_SEC, 1);
    kit_add(wheel, 11 * ASX_SEC, 2);
    FIRES(wheel, 3 * ASX_SEC, 1);
    CHECK_EQ(asx__timer_wheel_now(wheel), 10 * ASX_SEC);
    FIRES(wheel, 11 * ASX_SEC, 2);
    asx_timer_wheel_destroy(wheel);
}

/* tm-cancel-001, INV-TM-02 */
ASX_TEST(cancelled_timer_does_not_fire)
{
    static const asx_time deadlines[] = { 0, 500, 5 * ASX_MS, ASX_SEC, 120 * ASX_SEC,
                                          6 * KIT_HOUR, 30 * KIT_HOUR };
    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        asx_timer_wheel *wheel = kit_create(NULL);
        asx_timer_handle victim = kit_add(wheel, deadlines[i], 1);
        kit_add(wheel, deadlines[i], 2);
        CHECK(asx_timer_cancel(wheel, &victim));
        CHECK_EQ(asx_timer_count(wheel), 1);
        FIRES(wheel, 2 * KIT_DAY, 2);
        asx_timer_wheel_destroy(wheel);
    }
}

/* Ruling 33 */
ASX_TEST(cancel_does_not_touch_the_slot)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle handles[5];
    for (uint64_t i = 0; i < 5; i++)
        handles[i] = kit_add(wheel, ASX_SEC, i + 1);
    asx__timer_settle(wheel);
    asx_timer_stats before = kit_stats(wheel);
    for (size_t i = 0; i < 4; i++)
        CHECK(asx_timer_cancel(wheel, &handles[i]));
    asx_timer_stats after = kit_stats(wheel);
    CHECK_EQ(after.level_entries[1], before.level_entries[1]);
    CHECK_EQ(after.dead, 4);
    CHECK_EQ(after.live, 1);
    asx_timer_wheel_destroy(wheel);
}

/* tm-cancel-002, tm-cancel-003, tm-cancel-stale-001, timer-cancel-generation-011, INV-TM-01 */
ASX_TEST(cancel_needs_the_exact_id_and_generation)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle first = kit_add(wheel, ASX_SEC, 1);
    asx_timer_handle second = kit_add(wheel, 2 * ASX_SEC, 2);
    asx_timer_handle wrong = { first.id, second.generation };
    CHECK(!asx_timer_cancel(wheel, &wrong));
    wrong = (asx_timer_handle){ second.id, first.generation };
    CHECK(!asx_timer_cancel(wheel, &wrong));
    wrong = (asx_timer_handle){ first.id, first.generation + 1000 };
    CHECK(!asx_timer_cancel(wheel, &wrong));
    wrong = (asx_timer_handle){ first.id + 1000, first.generation };
    CHECK(!asx_timer_cancel(wheel, &wrong));
    wrong = (asx_timer_handle){ UINT64_MAX, first.generation };
    CHECK(!asx_timer_cancel(wheel, &wrong));
    wrong = (asx_timer_handle){ 0, 0 };
    CHECK(!asx_timer_cancel(wheel, &wrong));
    CHECK_EQ(asx_timer_count(wheel), 2);
    FIRES(wheel, ASX_SEC, 1);
    CHECK(!asx_timer_cancel(wheel, &first)); /* has fired */
    CHECK(asx_timer_cancel(wheel, &second));
    CHECK(!asx_timer_cancel(wheel, &second)); /* twice */
    FIRES_NONE(wheel, 3 * ASX_SEC);
    asx_timer_wheel_destroy(wheel);
}

/* tm-cancel-reuse-001 */
ASX_TEST(a_stale_handle_does_not_reach_the_timer_that_took_its_place)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    kit_add(wheel, KIT_HOUR, 9);
    asx_timer_handle old = kit_add(wheel, ASX_MS, 1);
    FIRES(wheel, ASX_MS, 1);
    asx_timer_handle new = kit_add(wheel, 2 * ASX_MS, 2);
    CHECK_EQ(new.id, old.id); /* the case meant here */
    CHECK_NE(new.generation, old.generation);
    CHECK(!asx_timer_cancel(wheel, &old));
    CHECK_EQ(asx__timer_serial(wheel, &old), 0);
    FIRES(wheel, 2 * ASX_MS, 2);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(a_handle_from_before_a_purge_is_stale)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle old = kit_add(wheel, ASX_SEC, 1);
    CHECK(asx_timer_cancel(wheel, &old));
    CHECK(!asx_timer_cancel(wheel, &old));
    asx_timer_handle new = kit_add(wheel, ASX_SEC, 2);
    CHECK_EQ(new.id, old.id);
    CHECK(!asx_timer_cancel(wheel, &old));
    CHECK_EQ(asx_timer_count(wheel), 1);
    asx_timer_wheel_destroy(wheel);
}

/* tm-purge-001, INV-TM-05 */
ASX_TEST(nothing_is_kept_when_no_timer_is_live)
{
    static const asx_time deadlines[] = { 0, 5 * ASX_MS, ASX_SEC, 120 * ASX_SEC, 6 * KIT_HOUR,
                                          30 * KIT_HOUR };
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle handles[60];
    for (size_t i = 0; i < 60; i++)
        handles[i] = kit_add(wheel, deadlines[i % 6], i + 1);
    asx__timer_settle(wheel);
    for (size_t i = 0; i < 60; i++) {
        CHECK_EQ(kit_stats(wheel).purges, 0);
        CHECK(asx_timer_cancel(wheel, &handles[i]));
    }
    asx_timer_stats stats = kit_stats(wheel);
    CHECK_EQ(stats.live + stats.dead + stats.near_entries + stats.overflow_entries, 0);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(stats.level_entries[i], 0);
    CHECK_EQ(stats.purges, 1);
    CHECK(asx__timer_wheel_is_valid(wheel));
    CHECK_EQ(asx_timer_next_deadline(wheel), ASX_TIME_NEVER);
    kit_add(wheel, ASX_SEC, 1);
    FIRES(wheel, 40 * KIT_HOUR, 1);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(purge_also_follows_the_last_fired_timer)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle far = kit_add(wheel, KIT_HOUR, 1);
    kit_add(wheel, ASX_MS, 2);
    CHECK(asx_timer_cancel(wheel, &far));
    FIRES(wheel, ASX_MS, 2);
    asx_timer_stats stats = kit_stats(wheel);
    CHECK_EQ(stats.dead, 0);
    CHECK_EQ(stats.level_entries[2], 0);
    asx_timer_wheel_destroy(wheel);
}

/* Ruling 33 */
ASX_TEST(dead_entries_never_outnumber_the_living_by_much)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    static const asx_time base[] = { 900, 5 * ASX_MS, ASX_SEC, 120 * ASX_SEC, 6 * KIT_HOUR,
                                     30 * KIT_HOUR };
    for (uint64_t i = 0; i < 10; i++)
        kit_add(wheel, 6 * KIT_DAY + i, i + 1);
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < 200000; i++) {
        asx_timer_handle handle = kit_add(wheel, base[i % 6] + i % 1000, i);
        asx__timer_settle(wheel);
        CHECK(asx_timer_cancel(wheel, &handle));
        asx_timer_stats stats = kit_stats(wheel);
        CHECK_LE(stats.dead, stats.live + 64);
        if (i == 1000)
            bytes = stats.storage_bytes;
        if (i > 1000)
            CHECK_EQ(stats.storage_bytes, bytes);
    }
    CHECK_GE(kit_stats(wheel).purges, 100);
    CHECK(asx__timer_wheel_is_valid(wheel));
    FIRES(wheel, 7 * KIT_DAY, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(a_timer_cancelled_before_it_has_a_place_leaves_nothing_behind)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    kit_add(wheel, ASX_SEC, 1);
    uint64_t bytes = kit_stats(wheel).storage_bytes;
    asx_timer_handle before = { 0, 0 };
    for (uint64_t i = 0; i < 5000; i++) {
        asx_timer_handle handle = kit_add(wheel, 5 * ASX_MS, 2);
        CHECK(!asx_timer_cancel(wheel, &before));
        CHECK(asx_timer_cancel(wheel, &handle));
        before = handle;
        CHECK(asx__timer_wheel_is_valid(wheel));
    }
    asx_timer_stats stats = kit_stats(wheel);
    CHECK_EQ(stats.dead, 0);
    CHECK_EQ(stats.purges, 0);
    CHECK_EQ(stats.storage_bytes, bytes);
    CHECK_EQ(asx_timer_next_deadline(wheel), ASX_SEC);
    FIRES(wheel, 2 * ASX_SEC, 1);
    asx_timer_handle last = kit_add(wheel, 3 * ASX_SEC, 3);
    CHECK(asx_timer_cancel(wheel, &last));
    CHECK_EQ(kit_stats(wheel).purges, 1);
    asx_timer_wheel_destroy(wheel);
}

/* Two young entries name one node: the timer that was cancelled, and the one that has its node. */
ASX_TEST(a_node_that_is_used_again_at_once_is_placed_once)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    kit_add(wheel, 3 * ASX_MS, 3);
    asx_timer_handle first = kit_add(wheel, ASX_MS, 1);
    CHECK(asx_timer_cancel(wheel, &first));
    asx_timer_handle second = kit_add(wheel, 2 * ASX_MS, 2);
    CHECK_EQ(first.id, second.id);
    asx__timer_settle(wheel);
    CHECK_EQ(kit_stats(wheel).level_entries[0], 2);
    FIRES(wheel, 4 * ASX_MS, 2, 3);
    asx_timer_wheel_destroy(wheel);
}

/* So that no collection has to place any number of them. */
ASX_TEST(many_young_timers_get_their_places_at_the_next_poll)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx__timer_fired fired[1];
    for (uint64_t i = 0; i < 1023; i++)
        kit_add(wheel, ASX_SEC + i, i + 1);
    CHECK_EQ(asx__timer_poll(wheel, ASX_MS, fired, 1), 0);
    CHECK_EQ(wheel->young.count, 1023);
    kit_add(wheel, ASX_SEC, 1);
    CHECK_EQ(asx__timer_poll(wheel, ASX_MS, fired, 1), 0);
    CHECK_EQ(wheel->young.count, 0);
    CHECK_EQ(kit_stats(wheel).level_entries[1], 1024);
    CHECK(asx__timer_wheel_is_valid(wheel));
    asx_timer_wheel_destroy(wheel);
}

/* tm-duration-exceeded-001, INV-TM-04 */
ASX_TEST(a_duration_beyond_the_longest_is_refused)
{
    asx_timer_config config = { .start = 1000, .max_timer_duration_ns = 500 };
    asx_timer_wheel *wheel = kit_create(&config);
    asx_timer_handle handle = { 11, 22 };
    CHECK_STATUS(asx_timer_register(wheel, 1501, kit_waker(1), &handle),
                 ASX_E_TIMER_DURATION_EXCEEDED);
    CHECK_STATUS(asx_timer_register(wheel, ASX_TIME_NEVER, kit_waker(1), &handle),
                 ASX_E_TIMER_DURATION_EXCEEDED);
    CHECK_EQ(handle.id, 0);
    CHECK_EQ(handle.generation, 0);
    CHECK_EQ(asx_timer_count(wheel), 0);
    CHECK_EQ(kit_stats(wheel).storage_bytes, 0);
    handle = kit_add(wheel, 1500, 1);
    CHECK_EQ(asx__timer_serial(wheel, &handle), 1); /* the refused ones took no number */
    FIRES_NONE(wheel, 1400);
    kit_add(wheel, 1900, 2); /* counted from now */
    FIRES(wheel, 1900, 1, 2);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(a_timer_that_never_fires_is_no_timer)
{
    asx_timer_config config = { .max_timer_duration_ns = UINT64_MAX };
    asx_timer_wheel *wheel = kit_create(&config);
    asx_timer_handle handle;
    CHECK_STATUS(asx_timer_register(wheel, ASX_TIME_NEVER, kit_waker(1), &handle),
                 ASX_E_TIMER_DURATION_EXCEEDED);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(longest_durations_default_to_a_day_in_the_wheel_and_a_week_in_all)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle handle;
    kit_add(wheel, 7 * KIT_DAY, 1);
    CHECK_STATUS(asx_timer_register(wheel, 7 * KIT_DAY + 1, kit_waker(1), &handle),
                 ASX_E_TIMER_DURATION_EXCEEDED);
    kit_add(wheel, KIT_DAY - 1, 1);
    kit_add(wheel, KIT_DAY, 1);
    CHECK_EQ(kit_stats(wheel).overflow_entries, 2);
    asx_timer_wheel_destroy(wheel);
}

/* tm-exhaustion-001, FB-101 */
ASX_TEST(the_ceiling_refuses_and_changes_nothing)
{
    asx_timer_config config = { .max_timers = 3 };
    asx_timer_wheel *wheel = kit_create(&config);
    asx_timer_handle handles[3];
    for (uint64_t i = 0; i < 3; i++)
        handles[i] = kit_add(wheel, ASX_SEC + i, i + 1);
    asx_timer_stats before = kit_stats(wheel);
    asx_timer_handle handle = { 11, 22 };
    CHECK_STATUS(asx_timer_register(wheel, 5, kit_waker(9), &handle), ASX_E_RESOURCE_EXHAUSTED);
    asx_timer_stats after = kit_stats(wheel);
    CHECK_MEM_EQ(&before, &after, sizeof before);
    CHECK_EQ(handle.generation, 0);
    CHECK_EQ(asx_timer_next_deadline(wheel), ASX_SEC);
    CHECK(asx_timer_cancel(wheel, &handles[1]));
    handle = kit_add(wheel, ASX_SEC + 9, 4); /* dead ones do not count */
    CHECK_EQ(asx__timer_serial(wheel, &handle), 4);
    FIRES(wheel, 2 * ASX_SEC, 1, 3, 4);
    asx_timer_wheel_destroy(wheel);
}

/* tm-update-001 */
ASX_TEST(update_replaces_the_timer_and_its_handle)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle old = kit_add(wheel, ASX_SEC, 1);
    asx_timer_handle new;
    CHECK_STATUS(asx_timer_update(wheel, &old, 2 * ASX_SEC, kit_waker(2), &new), ASX_OK);
    CHECK_EQ(asx_timer_count(wheel), 1);
    CHECK(!asx_timer_cancel(wheel, &old));
    CHECK_EQ(asx_timer_next_deadline(wheel), 2 * ASX_SEC);
    FIRES_NONE(wheel, ASX_SEC);
    FIRES(wheel, 2 * ASX_SEC, 2);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(update_may_write_into_the_handle_it_was_given)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle handle = kit_add(wheel, ASX_SEC, 1);
    CHECK_STATUS(asx_timer_update(wheel, &handle, ASX_MS, kit_waker(2), &handle), ASX_OK);
    CHECK_EQ(asx_timer_count(wheel), 1);
    CHECK_EQ(asx__timer_serial(wheel, &handle), 2);
    FIRES(wheel, ASX_SEC, 2);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(update_of_a_stale_handle_registers)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle stale = { 77, 77 };
    asx_timer_handle handle;
    kit_add(wheel, ASX_MS, 1);
    CHECK_STATUS(asx_timer_update(wheel, &stale, 2 * ASX_MS, kit_waker(2), &handle), ASX_OK);
    FIRES(wheel, 2 * ASX_MS, 1, 2);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(update_comes_last_among_equal_deadlines)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle first = kit_add(wheel, ASX_MS, 1);
    kit_add(wheel, ASX_MS, 2);
    CHECK_STATUS(asx_timer_update(wheel, &first, ASX_MS, kit_waker(3), &first), ASX_OK);
    FIRES(wheel, ASX_MS, 2, 3);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(a_refused_update_leaves_the_old_timer)
{
    asx_timer_config config = { .max_timers = 2 };
    asx_timer_wheel *wheel = kit_create(&config);
    asx_timer_handle first = kit_add(wheel, ASX_MS, 1);
    asx_timer_handle second = kit_add(wheel, 2 * ASX_MS, 2);
    asx_timer_handle stale = { 77, 77 };
    asx_timer_handle out = { 11, 22 };
    asx_timer_stats before = kit_stats(wheel);
    CHECK_STATUS(asx_timer_update(wheel, &first, 8 * KIT_DAY, kit_waker(3), &out),
                 ASX_E_TIMER_DURATION_EXCEEDED);
    CHECK_STATUS(asx_timer_update(wheel, &stale, ASX_MS, kit_waker(3), &out),
                 ASX_E_RESOURCE_EXHAUSTED);
    asx_timer_stats after = kit_stats(wheel);
    CHECK_MEM_EQ(&before, &after, sizeof before);
    CHECK_EQ(out.generation, 0);
    /* At the ceiling a live timer can still be moved. */
    CHECK_STATUS(asx_timer_update(wheel, &second, 3 * ASX_MS, kit_waker(4), &second), ASX_OK);
    FIRES(wheel, 3 * ASX_MS, 1, 4);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(what_does_not_fit_stays_expired_and_keeps_its_order)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    for (uint64_t i = 1; i <= 40; i++)
        kit_add(wheel, (41 - i) * 100 * ASX_MS, 41 - i);
    asx_waker out[3];
    CHECK_EQ(asx_timer_collect_expired(wheel, 10 * ASX_SEC, out, 3), 3);
    CHECK_EQ(kit_label(out[0]), 1);
    CHECK_EQ(kit_label(out[2]), 3);
    CHECK_EQ(asx_timer_next_deadline(wheel), 400 * ASX_MS);
    CHECK_EQ(asx_timer_collect_expired(wheel, 10 * ASX_SEC, NULL, 0), 0);
    CHECK_EQ(asx_timer_collect_expired(wheel, 10 * ASX_SEC, NULL, 5), 0);
    /* While some wait, new ones take their place in the order. */
    kit_add(wheel, 450 * ASX_MS, 100);
    kit_add(wheel, 1, 101);
    kit_add(wheel, 10 * ASX_SEC, 102);
    kit_add(wheel, 10 * ASX_SEC + 1, 103);
    kit_add(wheel, 12 * ASX_SEC, 104);
    CHECK_EQ(asx_timer_collect_expired(wheel, 10 * ASX_SEC, out, 3), 3);
    CHECK_EQ(kit_label(out[0]), 101);
    CHECK_EQ(kit_label(out[1]), 4);
    CHECK_EQ(kit_label(out[2]), 100);
    CHECK(asx__timer_wheel_is_valid(wheel));
    FIRES(wheel, 10 * ASX_SEC, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
          23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 102);
    FIRES(wheel, 12 * ASX_SEC, 103, 104);
    asx_timer_wheel_destroy(wheel);
}

/* As many arrive as leave, always behind the others. */
ASX_TEST(a_queue_of_due_timers_that_never_empties_keeps_its_order)
{
    asx_timer_config config = { .start = ASX_SEC };
    asx_timer_wheel *wheel = kit_create(&config);
    for (uint64_t i = 1; i <= 40; i++)
        kit_add(wheel, i, i);
    for (uint64_t i = 1; i <= 2000; i++) {
        asx_waker out[1];
        CHECK_EQ(asx_timer_collect_expired(wheel, ASX_SEC, out, 1), 1);
        CHECK_EQ(kit_label(out[0]), i);
        kit_add(wheel, 40 + i, 40 + i);
        CHECK(asx__timer_wheel_is_valid(wheel));
    }
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(a_waiting_timer_can_be_cancelled)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle handles[4];
    for (uint64_t i = 0; i < 4; i++)
        handles[i] = kit_add(wheel, ASX_MS + i, i + 1);
    asx_waker out[1];
    CHECK_EQ(asx_timer_collect_expired(wheel, ASX_SEC, out, 1), 1);
    CHECK(!asx_timer_cancel(wheel, &handles[0]));
    CHECK(asx_timer_cancel(wheel, &handles[1]));
    CHECK(asx_timer_cancel(wheel, &handles[3]));
    CHECK_EQ(asx_timer_next_deadline(wheel), ASX_MS + 2);
    FIRES(wheel, ASX_SEC, 3);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(next_deadline_is_exact_after_cancels_in_every_place)
{
    static const asx_time deadlines[] = { 100, 5 * ASX_MS + 3, ASX_SEC + 3, 120 * ASX_SEC + 3,
                                          6 * KIT_HOUR + 3, 30 * KIT_HOUR + 3 };
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle handles[6][3];
    CHECK_EQ(asx_timer_next_deadline(wheel), ASX_TIME_NEVER);
    for (size_t i = 6; i-- > 0;) {
        for (size_t k = 3; k-- > 0;) {
            handles[i][k] = kit_add(wheel, deadlines[i] + k, 1);
            CHECK_EQ(asx_timer_next_deadline(wheel), deadlines[i] + k);
        }
    }
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < 3; k++) {
            CHECK_EQ(asx_timer_next_deadline(wheel), deadlines[i] + k);
            CHECK(asx_timer_cancel(wheel, &handles[i][k]));
        }
    }
    CHECK_EQ(asx_timer_next_deadline(wheel), ASX_TIME_NEVER);
    asx_timer_wheel_destroy(wheel);
}

/* Would not end within the time limit if each call looked at the slot's entries. */
ASX_TEST(next_deadline_does_not_search_a_crowded_slot_again_and_again)
{
    enum { CROWD = 200000 };
    static asx_timer_handle handles[CROWD];
    asx_timer_wheel *wheel = kit_create(NULL);
    for (uint64_t i = 0; i < CROWD; i++)
        handles[i] = kit_add(wheel, 5 * ASX_SEC + i, i + 1);
    CHECK_EQ(kit_stats(wheel).level_entries[1], CROWD);
    for (int i = 0; i < 1000000; i++)
        CHECK_EQ(asx_timer_next_deadline(wheel), 5 * ASX_SEC);
    /* The oldest goes first: what time-outs of finished requests do. */
    for (uint64_t i = 0; i < CROWD; i++) {
        CHECK_EQ(asx_timer_next_deadline(wheel), 5 * ASX_SEC + i);
        CHECK(asx_timer_cancel(wheel, &handles[i]));
    }
    asx_timer_wheel_destroy(wheel);
}

/* tm-wrap-001, tm-generation-wrap-001, INV-TM-06 */
ASX_TEST(ids_and_generations_wrap_without_collision)
{
    asx_timer_config config = { .first_generation = UINT64_MAX - 2, .first_id = UINT64_MAX - 3 };
    asx_timer_wheel *wheel = kit_create(&config);
    asx_timer_handle handles[8];
    for (uint64_t i = 0; i < 8; i++) {
        handles[i] = kit_add(wheel, ASX_SEC, i + 1);
        CHECK_EQ(handles[i].id, UINT64_MAX - 3 + i);
        CHECK_EQ(handles[i].generation, UINT64_MAX - 2 + i);
        CHECK_EQ(asx__timer_serial(wheel, &handles[i]), i + 1);
    }
    CHECK_EQ(handles[4].id, 0);
    CHECK_EQ(handles[3].generation, 0);
    /* One whose generation and one whose id is 0. */
    CHECK(asx_timer_cancel(wheel, &handles[3]));
    CHECK(!asx_timer_cancel(wheel, &handles[3]));
    CHECK(asx_timer_cancel(wheel, &handles[4]));
    CHECK(!asx_timer_cancel(wheel, &handles[4]));
    CHECK_EQ(asx_timer_count(wheel), 6);
    FIRES(wheel, ASX_SEC, 1, 2, 3, 6, 7, 8);
    for (uint64_t i = 0; i < 8; i++)
        CHECK(!asx_timer_cancel(wheel, &handles[i]));
    /* The same id again, with another generation. */
    asx_timer_handle again = kit_add(wheel, 2 * ASX_SEC, 1);
    CHECK_EQ(again.id, handles[0].id);
    CHECK(!asx_timer_cancel(wheel, &handles[0]));
    CHECK(asx_timer_cancel(wheel, &again));
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(order_holds_across_the_wrap_in_heaps_and_runs)
{
    asx_timer_config config = { .first_generation = UINT64_MAX - 1 };
    asx_timer_wheel *wheel = kit_create(&config);
    for (uint64_t i = 1; i <= 6; i++)
        kit_add(wheel, 3 * KIT_DAY, i); /* overflow heap */
    FIRES(wheel, 3 * KIT_DAY, 1, 2, 3, 4, 5, 6);
    asx_timer_wheel_destroy(wheel);
    wheel = kit_create(&config);
    for (uint64_t i = 1; i <= 6; i++)
        kit_add(wheel, i == 4 ? 400 : 500, i); /* near: becomes a heap at the fourth */
    FIRES(wheel, 500, 4, 1, 2, 3, 5, 6);
    asx_timer_wheel_destroy(wheel);
    wheel = kit_create(&config);
    for (uint64_t i = 1; i <= 6; i++)
        kit_add(wheel, i == 4 ? ASX_SEC + 4 : ASX_SEC + 5, i); /* sorted when loaded */
    FIRES(wheel, 2 * ASX_SEC, 4, 1, 2, 3, 5, 6);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(serial_counts_registrations_from_one)
{
    asx_timer_config config = { .first_generation = 1000 };
    asx_timer_wheel *wheel = kit_create(&config);
    asx_timer_handle first = kit_add(wheel, 2 * ASX_MS, 7);
    asx_timer_handle second = kit_add(wheel, ASX_MS, 8);
    CHECK_EQ(first.generation, 1000);
    CHECK_EQ(asx__timer_serial(wheel, &first), 1);
    CHECK_EQ(asx__timer_serial(wheel, &second), 2);
    asx__timer_fired fired[4];
    CHECK_EQ(asx__timer_collect(wheel, ASX_SEC, fired, 4), 2);
    CHECK_EQ(fired[0].serial, 2);
    CHECK_EQ(fired[0].deadline, ASX_MS);
    CHECK_EQ(kit_label(fired[0].waker), 8);
    CHECK_EQ(fired[1].serial, 1);
    CHECK_EQ(fired[1].deadline, 2 * ASX_MS);
    CHECK_EQ(asx__timer_serial(wheel, &first), 0);
    asx_timer_handle third = kit_add(wheel, 2 * ASX_SEC, 9);
    CHECK_EQ(asx__timer_serial(wheel, &third), 3); /* goes on after a purge */
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(poll_is_collect)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx__timer_fired fired[4];
    kit_add(wheel, 10 * ASX_SEC, 1);
    for (asx_time now = 0; now <= 9 * ASX_SEC; now += 3 * ASX_MS) {
        CHECK_EQ(asx__timer_poll(wheel, now, fired, 4), 0);
        CHECK_EQ(asx__timer_wheel_now(wheel), now);
    }
    CHECK_EQ(asx__timer_poll(wheel, 4 * ASX_SEC, fired, 4), 0);
    CHECK_EQ(asx__timer_wheel_now(wheel), 9 * ASX_SEC); /* not back to four */
    /* Placed by the distance from now, although nothing was collected in between. */
    kit_add(wheel, 9 * ASX_SEC + 200 * ASX_MS, 2);
    CHECK_EQ(kit_stats(wheel).level_entries[0], 1);
    CHECK_EQ(kit_stats(wheel).level_entries[1], 1);
    CHECK_EQ(asx__timer_poll(wheel, 10 * ASX_SEC, fired, 1), 1);
    CHECK_EQ(kit_label(fired[0].waker), 2);
    /* A time that has passed asks for what is due now. */
    CHECK_EQ(asx__timer_poll(wheel, 1, fired, 4), 1);
    CHECK_EQ(kit_label(fired[0].waker), 1);
    CHECK_EQ(asx__timer_wheel_live(wheel), 0);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(misuse_is_answered_with_a_status)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    asx_timer_handle handle = { 0, 0 };
    asx_waker none = { NULL, NULL };
    asx_timer_config huge = { .max_timers = UINT64_C(1) << 32 };
    asx_timer_wheel *other = NULL;
    CHECK_STATUS(asx_timer_wheel_create(NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_timer_wheel_create(&huge, &other), ASX_E_INVALID_ARGUMENT);
    CHECK(other == NULL);
    CHECK_STATUS(asx_timer_register(NULL, 1, kit_waker(1), &handle), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_timer_register(wheel, 1, none, &handle), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_timer_register(wheel, 1, kit_waker(1), NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_timer_update(NULL, &handle, 1, kit_waker(1), &handle),
                 ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_timer_update(wheel, NULL, 1, kit_waker(1), &handle), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_timer_update(wheel, &handle, 1, none, &handle), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_timer_update(wheel, &handle, 1, kit_waker(1), NULL), ASX_E_INVALID_ARGUMENT);
    CHECK(!asx_timer_cancel(NULL, &handle));
    CHECK(!asx_timer_cancel(wheel, NULL));
    asx_waker out[1];
    CHECK_EQ(asx_timer_collect_expired(NULL, 1, out, 1), 0);
    CHECK_EQ(asx_timer_next_deadline(NULL), ASX_TIME_NEVER);
    CHECK_EQ(asx_timer_count(NULL), 0);
    asx_timer_stats stats = { .live = 5 };
    asx_timer_wheel_stats(NULL, &stats);
    CHECK_EQ(stats.live, 5);
    asx_timer_wheel_stats(wheel, NULL);
    asx_timer_wheel_destroy(NULL);
    CHECK_EQ(asx_timer_count(wheel), 0);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(destroy_drops_what_is_pending)
{
    asx_timer_wheel *wheel = kit_create(NULL);
    for (uint64_t i = 0; i < 5000; i++)
        kit_add(wheel, i * 10 * ASX_MS, i + 1);
    CHECK_EQ(asx_timer_count(wheel), 5000);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(many_timers_of_one_tick_fire_in_order)
{
    enum { MANY = 50000 };
    asx_timer_wheel *wheel = kit_create(NULL);
    uint64_t seed = 5;
    for (uint64_t i = 0; i < MANY; i++)
        kit_add(wheel, 777 * ASX_MS + kit_random(&seed) % 20000, i + 1);
    asx__timer_fired fired[100];
    asx__timer_fired last = { { NULL, NULL }, 0, 0 };
    uint64_t count = 0;
    for (size_t got; (got = asx__timer_collect(wheel, ASX_SEC, fired, 100)) > 0; count += got) {
        for (size_t i = 0; i < got; i++) {
            CHECK(fired[i].deadline > last.deadline ||
                  (fired[i].deadline == last.deadline && fired[i].serial > last.serial));
            last = fired[i];
        }
    }
    CHECK_EQ(count, MANY);
    asx_timer_wheel_destroy(wheel);
}
