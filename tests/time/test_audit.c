/* test_audit.c - the audit of the wheel sees each thing that it claims to look at.
 *
 * A wheel with entries in every place is damaged in one way at a time and repaired again.
 */
#include "time/store.h"
#include "wheel_kit.h"

enum { PLACES = 6, EACH = 20 };

static const asx_time places[PLACES] = { 900, 5 * ASX_MS, ASX_SEC, 120 * ASX_SEC, 6 * KIT_HOUR,
                                         30 * KIT_HOUR };

static asx_timer_wheel *inhabited(void)
{
    asx_timer_config config = { .coalesce_window_ns = 7 * KIT_DAY, .coalesce_min_group = 1000 };
    asx_timer_wheel *wheel = kit_create(&config);
    asx_timer_handle handles[PLACES][EACH];
    kit_add(wheel, 100, 1);
    for (size_t i = 0; i < PLACES; i++) {
        for (size_t k = 0; k < EACH; k++)
            handles[i][k] = kit_add(wheel, places[i] + k, 1);
    }
    asx__timer_settle(wheel);
    for (size_t i = 0; i < PLACES; i++)
        CHECK(asx_timer_cancel(wheel, &handles[i][3]));
    FIRES(wheel, 100, 1);
    CHECK(wheel->window_known);
    asx_timer_stats stats = kit_stats(wheel);
    CHECK(stats.near_entries && stats.overflow_entries && stats.dead);
    for (int i = 0; i < 4; i++)
        CHECK(stats.level_entries[i] > 1);
    return wheel;
}

/* SEES(wheel, lvalue, value): the audit objects while the lvalue has another value. */
#define SEES(wheel_, lvalue_, value_)                     \
    do {                                                  \
        CHECK(asx__timer_wheel_is_valid(wheel_));         \
        __typeof__(lvalue_) kept_ = (lvalue_);            \
        (lvalue_) = (value_);                             \
        CHECK(!asx__timer_wheel_is_valid(wheel_));        \
        (lvalue_) = kept_;                                \
        CHECK(asx__timer_wheel_is_valid(wheel_));         \
    } while (0)

static unsigned first_slot(const asx_timer_wheel *wheel, unsigned level)
{
    uint64_t stretch = asx__timer_next_stretch(wheel, level, wheel->cursor >> (8 * level));
    CHECK_NE(stretch, UINT64_MAX);
    return (unsigned)(stretch % ASX__TIMER_SLOTS);
}

ASX_TEST(audit_sees_wrong_counts)
{
    asx_timer_wheel *wheel = inhabited();
    SEES(wheel, wheel->live, wheel->live + 1);
    SEES(wheel, wheel->dead, wheel->dead - 1);
    SEES(wheel, wheel->entries[2], wheel->entries[2] + 1);
    SEES(wheel, wheel->near.count, wheel->near.count - 1);
    SEES(wheel, wheel->near.count, wheel->capacity + 1);
    SEES(wheel, wheel->overflow.count, wheel->overflow.count - 1);
    SEES(wheel, wheel->used, wheel->used - 1);
    SEES(wheel, wheel->swept_count, wheel->swept_count + 1);
    SEES(wheel, wheel->window_count, wheel->window_count + 1);
    SEES(wheel, wheel->chunk_capacity, wheel->chunk_capacity + 1);
    SEES(wheel, wheel->chunk_next, wheel->chunk_next + 1);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(audit_sees_wrong_times)
{
    asx_timer_wheel *wheel = inhabited();
    SEES(wheel, wheel->cursor, wheel->cursor + 1);
    SEES(wheel, wheel->origin, wheel->now + 1);
    SEES(wheel, wheel->now, 50);
    SEES(wheel, wheel->earliest, 901);
    SEES(wheel, wheel->quiet_until, 901);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(audit_sees_misplaced_and_lost_entries)
{
    asx_timer_wheel *wheel = inhabited();
    for (unsigned level = 0; level < 4; level++) {
        unsigned number = first_slot(wheel, level);
        asx__timer_slot *slot = &wheel->slot[level][number];
        SEES(wheel, slot->head->node[0], slot->head->node[1]); /* twice, and one is missing */
        SEES(wheel, slot->head->node[0], wheel->used);
        SEES(wheel, slot->tail_len, 0);
        SEES(wheel, slot->tail_len, ASX__TIMER_CHUNK_LEN + 1);
        SEES(wheel, slot->tail_len, (uint16_t)(slot->tail_len - 1));
        SEES(wheel, slot->min_deadline, slot->min_deadline + 1);
        SEES(wheel, slot->min_deadline, slot->min_deadline - 1);
        SEES(wheel, slot->min_node, wheel->used);
        SEES(wheel, asx__timer_node_at(wheel, slot->head->node[1])->deadline,
             places[level + 1] + 10 * KIT_HOUR);
        SEES(wheel, asx__timer_node_at(wheel, slot->head->node[1])->deadline,
             places[level + 1] + 2 * EACH); /* out of order in a sorted slot */
        SEES(wheel, wheel->occupied[level][number / 64], 0);
    }
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(audit_sees_disorder_in_near_and_overflow)
{
    asx_timer_wheel *wheel = inhabited();
    asx__timer_node *first = asx__timer_node_at(wheel, asx__timer_near_at(wheel, 0));
    SEES(wheel, first->deadline, first->deadline + EACH);
    asx__timer_node *last =
        asx__timer_node_at(wheel, asx__timer_near_at(wheel, wheel->near.count - 1));
    SEES(wheel, last->deadline, ASX_MS); /* behind the cursor's tick */
    first = asx__timer_node_at(wheel, *asx__timer_heap_at(&wheel->overflow, 0));
    SEES(wheel, first->deadline, first->deadline + EACH);
    SEES(wheel, first->deadline, ASX_MS - 1); /* should have been promoted */
    SEES(wheel, *asx__timer_heap_at(&wheel->overflow, 1), wheel->used);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(audit_sees_nodes_in_two_states)
{
    asx_timer_wheel *wheel = inhabited();
    uint32_t live = asx__timer_near_at(wheel, 0);
    SEES(wheel, asx__timer_node_at(wheel, live)->wake, NULL);
    SEES(wheel, wheel->segment[0].dead[0], wheel->segment[0].dead[0] ^ 2);
    SEES(wheel, wheel->segment[0].swept[0], 2);
    SEES(wheel, wheel->free_head, live);
    SEES(wheel, wheel->free_head, ASX__TIMER_NONE);
    SEES(wheel, wheel->free_head, wheel->used);
    asx_timer_wheel_destroy(wheel);
}

ASX_TEST(audit_sees_young_entries_that_are_not_what_they_say)
{
    asx_timer_wheel *wheel = inhabited();
    asx_timer_handle gone = kit_add(wheel, 2 * ASX_SEC, 1);
    asx_timer_handle kept = kit_add(wheel, 3 * ASX_SEC, 1);
    CHECK(asx_timer_cancel(wheel, &gone));
    CHECK_EQ(wheel->young.count, 2);
    uint32_t index = (uint32_t)kept.id;
    SEES(wheel, *asx__timer_heap_at(&wheel->young, 1), asx__timer_near_at(wheel, 0));
    SEES(wheel, *asx__timer_heap_at(&wheel->young, 0), wheel->used);
    SEES(wheel, wheel->young.count, 1);
    SEES(wheel, wheel->young_sequence, wheel->young_sequence - 1);
    SEES(wheel, wheel->segment[0].dead[index / 64],
         wheel->segment[0].dead[index / 64] ^ UINT64_C(1) << index % 64);
    asx_timer_wheel_destroy(wheel);
}
