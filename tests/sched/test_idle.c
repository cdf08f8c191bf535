/* Who searches, who sleeps and who is woken, step by step; tests/model explores it.
 * ctest-labels: own-workers */
#include "sched/idle.h"

#include <stddef.h>

#include "harness.h"

static asx__idle idle;
static asx__seat seats[3];

static void begin(void)
{
    asx__idle_init(&idle);
    for (int i = 0; i < 3; i++)
        asx__seat_init(&seats[i]);
}

static void counts(uint32_t searchers, uint32_t sleepers)
{
    CHECK_EQ(asx__idle_searchers(&idle), searchers);
    CHECK_EQ(asx__idle_sleepers(&idle), sleepers);
}

static bool is_woken(int i)
{
    return asx__load_acquire(&seats[i].woken) != 0;
}

static void lie_down(int i)
{
    asx__idle_search_begin(&idle);
    asx__idle_sleep_begin(&idle, &seats[i]);
}

ASX_TEST(the_last_to_sleep_is_the_first_to_be_woken_and_one_at_a_time)
{
    begin();
    asx__idle_wake_one(&idle); /* nobody is there */
    for (int i = 0; i < 3; i++)
        lie_down(i);
    counts(0, 3);
    asx__idle_wake_one(&idle);
    counts(1, 2);
    CHECK(is_woken(2) && !is_woken(1) && !is_woken(0));
    asx__idle_wake_one(&idle); /* somebody searches already */
    counts(1, 2);
    CHECK(asx__idle_search_found(&idle)); /* he was the only one, and others sleep */
    counts(0, 2);
    asx__idle_wake_one(&idle);
    counts(1, 1);
    CHECK(is_woken(1) && !is_woken(0));
    asx__idle_sleep(&idle, &seats[1], ASX__FUTEX_FOREVER); /* returns at once */
    counts(1, 1);
}

ASX_TEST(a_searcher_that_is_not_the_last_passes_nothing_on)
{
    begin();
    lie_down(0);
    asx__idle_search_begin(&idle);
    asx__idle_search_begin(&idle);
    CHECK(!asx__idle_search_found(&idle));
    CHECK(asx__idle_search_found(&idle));
    asx__idle_search_begin(&idle);
    asx__idle_sleep_undo(&idle, &seats[0]);
    counts(2, 0);
    CHECK(!asx__idle_search_found(&idle));
    CHECK(!asx__idle_search_found(&idle)); /* nobody sleeps */
    counts(0, 0);
}

ASX_TEST(whoever_thinks_better_of_it_or_is_late_searches)
{
    begin();
    lie_down(0);
    lie_down(1);
    asx__idle_sleep_undo(&idle, &seats[0]); /* from below the other */
    counts(1, 1);
    asx__idle_sleep(&idle, &seats[1], asx__futex_clock_ns() + 1000000);
    counts(2, 0);
    CHECK(!is_woken(0) && !is_woken(1));
    asx__idle_sleep_undo(&idle, &seats[1]); /* is up already */
    counts(2, 0);
}

ASX_TEST(all_are_woken_whoever_searches)
{
    begin();
    for (int i = 0; i < 3; i++)
        lie_down(i);
    asx__idle_search_begin(&idle);
    asx__idle_wake_all(&idle);
    counts(4, 0);
    CHECK(is_woken(0) && is_woken(1) && is_woken(2));
    asx__idle_sleep_begin(&idle, &seats[0]); /* a new sleep begins without the old wake */
    CHECK(!is_woken(0));
    counts(3, 1);
}
