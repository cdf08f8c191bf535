/* Who waits for the latch of an object looks at it again after each pause, so that one that gives
 * its core away or sleeps meanwhile does so once between two looks, however long it has waited.
 * ctest-labels: own-workers */
#include <stdbool.h>

static void paused(unsigned times);
#define ASX__LEASE_HEAVY_BARRIER() ((void)0)
#define ASX__LEASE_PAUSE(times) paused(times)
#include "sched/latch.h"

#include "harness.h"

enum { PAUSES = 1000 };

static asx__latch latch;
static unsigned pauses;

static void paused(unsigned times)
{
    CHECK_EQ(times, pauses); /* the length of the pause goes by how often it has looked */
    if (++pauses == PAUSES)
        asx__latch_drop(&latch);
}

ASX_TEST(who_waits_for_a_latch_pauses_once_between_two_looks)
{
    asx__latch_init(&latch);
    CHECK(asx__latch_try(&latch, ASX__LATCH_TAKEN));
    asx__latch_take(&latch);
    CHECK_EQ(pauses, PAUSES);
    CHECK(!asx__latch_try(&latch, ASX__LATCH_TAKEN));
    asx__latch_drop(&latch);
}

ASX_TEST(who_is_inside_and_seizes_it_does_the_same)
{
    asx__latch *seized = NULL;
    asx__latch_init(&latch);
    CHECK(asx__latch_try(&latch, ASX__LATCH_TAKEN));
    asx__latch_seize(&latch, &seized);
    CHECK_EQ(pauses, PAUSES);
    CHECK(seized == &latch);
    asx__latch_seize(&latch, &seized);
    CHECK(seized == &latch && latch.next == NULL);
    asx__latches_release(&seized);
    CHECK(asx__latch_try(&latch, ASX__LATCH_TAKEN));
}
