/* test_clock.c - the monotonic and the virtual clock. */
#include "harness.h"
#include "time/time.h"

#include <time.h>

ASX_TEST(monotonic_clock_starts_at_its_own_epoch)
{
    asx__monotonic_clock clock;
    CHECK_STATUS(asx__monotonic_clock_init(&clock), ASX_OK);
    asx__clock interface = asx__monotonic_clock_interface(&clock);
    CHECK_LE(asx__clock_now(&interface), 10 * ASX_SEC);
}

ASX_TEST(monotonic_clock_never_goes_back)
{
    asx__monotonic_clock clock;
    CHECK_STATUS(asx__monotonic_clock_init(&clock), ASX_OK);
    asx__clock interface = asx__monotonic_clock_interface(&clock);
    asx_time previous = 0;
    for (int i = 0; i < 100000; i++) {
        asx_time now = asx__clock_now(&interface);
        CHECK_GE(now, previous);
        previous = now;
    }
    CHECK(previous > 0);
}

ASX_TEST(monotonic_clock_counts_nanoseconds)
{
    asx__monotonic_clock clock;
    CHECK_STATUS(asx__monotonic_clock_init(&clock), ASX_OK);
    asx__clock interface = asx__monotonic_clock_interface(&clock);
    asx_time before = asx__clock_now(&interface);
    struct timespec wait = { 0, 20 * 1000 * 1000 };
    while (nanosleep(&wait, &wait) != 0)
        ;
    asx_time after = asx__clock_now(&interface);
    CHECK_GE(after - before, 20 * ASX_MS);
    CHECK_LE(after - before, 10 * ASX_SEC);
}

ASX_TEST(two_monotonic_clocks_have_their_own_epochs)
{
    asx__monotonic_clock first;
    asx__monotonic_clock second;
    CHECK_STATUS(asx__monotonic_clock_init(&first), ASX_OK);
    struct timespec wait = { 0, 5 * 1000 * 1000 };
    while (nanosleep(&wait, &wait) != 0)
        ;
    CHECK_STATUS(asx__monotonic_clock_init(&second), ASX_OK);
    asx__clock a = asx__monotonic_clock_interface(&first);
    asx__clock b = asx__monotonic_clock_interface(&second);
    asx_time b_now = asx__clock_now(&b);
    CHECK_GE(asx__clock_now(&a), b_now + 5 * ASX_MS);
}

ASX_TEST(virtual_clock_moves_only_when_told)
{
    asx__virtual_clock clock;
    asx__virtual_clock_init(&clock, 17);
    asx__clock interface = asx__virtual_clock_interface(&clock);
    CHECK_EQ(asx__clock_now(&interface), 17);
    CHECK_EQ(asx__clock_now(&interface), 17);
    asx__virtual_clock_advance(&clock, 3);
    CHECK_EQ(asx__clock_now(&interface), 20);
    CHECK_STATUS(asx__virtual_clock_set(&clock, 1000), ASX_OK);
    CHECK_EQ(asx__clock_now(&interface), 1000);
}

ASX_TEST(virtual_clock_refuses_to_go_back)
{
    asx__virtual_clock clock;
    asx__virtual_clock_init(&clock, 100);
    CHECK_STATUS(asx__virtual_clock_set(&clock, 99), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(clock.now, 100);
    CHECK_STATUS(asx__virtual_clock_set(&clock, 100), ASX_OK);
    CHECK_EQ(clock.now, 100);
}

ASX_TEST(virtual_clock_saturates_instead_of_wrapping)
{
    asx__virtual_clock clock;
    asx__virtual_clock_init(&clock, ASX_TIME_NEVER - 5);
    asx__virtual_clock_advance(&clock, 6);
    CHECK_EQ(clock.now, ASX_TIME_NEVER);
    asx__virtual_clock_advance(&clock, 1);
    CHECK_EQ(clock.now, ASX_TIME_NEVER);
}
