/* wheel_kit.h - what the tests of the wheel share.
 *
 * A timer's waker carries a label as its argument, so that what fired, and in which order, can be
 * read from the wakers that a collection returns.
 */
#ifndef ASX_TESTS_TIME_WHEEL_KIT_H
#define ASX_TESTS_TIME_WHEEL_KIT_H

#include "harness.h"
#include "time/time.h"

#define KIT_HOUR (3600 * ASX_SEC)
#define KIT_DAY (24 * KIT_HOUR)

static inline void kit_wake(void *arg)
{
    (void)arg;
}

static inline asx_waker kit_waker(uint64_t label)
{
    return (asx_waker){ kit_wake, (void *)(uintptr_t)label };
}

static inline uint64_t kit_label(asx_waker waker)
{
    return waker.wake == kit_wake ? (uint64_t)(uintptr_t)waker.arg : UINT64_MAX;
}

static inline asx_timer_wheel *kit_create(const asx_timer_config *config)
{
    asx_timer_wheel *wheel = NULL;
    CHECK_STATUS(asx_timer_wheel_create(config, &wheel), ASX_OK);
    CHECK(wheel != NULL);
    return wheel;
}

static inline asx_timer_handle kit_add(asx_timer_wheel *wheel, asx_time deadline, uint64_t label)
{
    asx_timer_handle handle = { 0, 0 };
    CHECK_STATUS(asx_timer_register(wheel, deadline, kit_waker(label), &handle), ASX_OK);
    return handle;
}

static inline asx_timer_stats kit_stats(const asx_timer_wheel *wheel)
{
    asx_timer_stats stats;
    asx_timer_wheel_stats(wheel, &stats);
    return stats;
}

/* Collects everything that is due; the labels must be exactly these, in this order, 0-ended. */
static inline void kit_expect(asx_timer_wheel *wheel, asx_time now, const uint64_t *labels,
                              const char *file, int line)
{
    asx_waker fired[64];
    size_t expected = 0;
    while (labels[expected] != 0)
        expected++;
    size_t count = asx_timer_collect_expired(wheel, now, fired, 64);
    if (count != expected)
        asx_test_fail(file, line, "%zu timers fired instead of %zu", count, expected);
    for (size_t i = 0; i < count; i++) {
        if (kit_label(fired[i]) != labels[i])
            asx_test_fail(file, line, "place %zu: timer %llu fired instead of %llu", i,
                          (unsigned long long)kit_label(fired[i]), (unsigned long long)labels[i]);
    }
    if (!asx__timer_wheel_is_valid(wheel))
        asx_test_fail(file, line, "the wheel is not in order");
}

/* FIRES(wheel, now, 1, 2): timers 1 and 2 fire at `now`, in this order, and no other does. */
#define FIRES(wheel_, now_, ...) \
    kit_expect((wheel_), (now_), (const uint64_t[]){ __VA_ARGS__, 0 }, __FILE__, __LINE__)
#define FIRES_NONE(wheel_, now_) FIRES(wheel_, now_, 0)

/* splitmix64 */
static inline uint64_t kit_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif
