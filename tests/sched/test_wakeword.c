/* The wake word step by step, and what it refuses; tests/model explores it with several threads.
 * ctest-labels: own-workers */
#include "sched/wakeword.h"

#include <stddef.h>

#include "harness.h"

static enum asx__wake_state state_of(const asx__wakeword *w)
{
    return asx__wake_state_of(asx__load_relaxed(&w->word));
}

/* A task that runs. */
static asx__wakeword running(void)
{
    asx__wakeword w;
    asx__wakeword_init(&w);
    asx__wakeword_spawn(&w);
    asx__wakeword_run(&w);
    return w;
}

ASX_TEST(a_task_goes_from_state_to_state)
{
    asx__wakeword w;
    asx__wakeword_init(&w);
    CHECK_EQ(state_of(&w), ASX__WAKE_DONE);
    asx__wakeword_spawn(&w);
    CHECK(asx__wakeword_is_runnable(&w));
    asx__wakeword_run(&w);
    CHECK_EQ(state_of(&w), ASX__WAKE_RUNNING);
    CHECK(!asx__wakeword_is_runnable(&w));
    asx__wakeword_yield(&w);
    CHECK(asx__wakeword_is_runnable(&w));
    asx__wakeword_run(&w);
    uint64_t ticket = asx__wakeword_park_begin(&w);
    CHECK_EQ(state_of(&w), ASX__WAKE_PARKING);
    asx__wakeword_park_abort(&w);
    CHECK_EQ(state_of(&w), ASX__WAKE_RUNNING);
    CHECK_EQ(asx__wakeword_park_begin(&w), ticket + 1); /* never the same twice */
    CHECK(!asx__wakeword_park_commit(&w, ticket + 1));
    CHECK_EQ(state_of(&w), ASX__WAKE_PARKED);
    CHECK(asx__wakeword_wake(&w, ticket + 1));
    CHECK_EQ(state_of(&w), ASX__WAKE_WAKING);
    asx__wakeword_ready(&w);
    asx__wakeword_run(&w);
    asx__wakeword_end(&w, true);
    CHECK_EQ(state_of(&w), ASX__WAKE_CANCELLED);
    asx__wakeword_spawn(&w); /* the record's next life */
    asx__wakeword_run(&w);
    CHECK_EQ(asx__wakeword_park_begin(&w), ticket + 2);
    asx__wakeword_park_abort(&w);
    asx__wakeword_end(&w, false);
    CHECK_EQ(state_of(&w), ASX__WAKE_DONE);
}

ASX_TEST(a_wake_that_comes_while_it_parks_is_found_at_the_commit)
{
    asx__wakeword w = running();
    uint64_t ticket = asx__wakeword_park_begin(&w);
    CHECK(!asx__wakeword_wake(&w, ticket));
    CHECK(!asx__wakeword_wake(&w, ticket)); /* a second one changes nothing */
    CHECK_EQ(state_of(&w), ASX__WAKE_PARKING);
    CHECK(asx__wakeword_park_commit(&w, ticket));
    CHECK_EQ(state_of(&w), ASX__WAKE_WAKING);
    asx__wakeword_ready(&w);
    asx__wakeword_run(&w);
    ticket = asx__wakeword_park_begin(&w);
    CHECK(!asx__wakeword_park_commit(&w, ticket)); /* it was for the wait before */
    CHECK_EQ(state_of(&w), ASX__WAKE_PARKED);
}

ASX_TEST(other_tickets_and_states_are_left_alone)
{
    asx__wakeword w = running();
    CHECK(!asx__wakeword_interrupt(&w));
    CHECK(!asx__wakeword_wake(&w, 0));
    uint64_t ticket = asx__wakeword_park_begin(&w);
    CHECK(!asx__wakeword_wake(&w, ticket - 1));
    CHECK(!asx__wakeword_wake(&w, ticket + 1));
    CHECK(!asx__wakeword_park_commit(&w, ticket));
    CHECK(!asx__wakeword_wake(&w, ticket - 1));
    CHECK(!asx__wakeword_wake(&w, ticket + 1));
    CHECK(asx__wakeword_interrupt(&w));
    CHECK(!asx__wakeword_interrupt(&w)); /* one claim */
    CHECK(!asx__wakeword_wake(&w, ticket));
}

/* ---- what must not happen -------------------------------------------------------------------- */

static void run_twice(void *arg)
{
    asx__wakeword w = running();
    (void)arg;
    asx__wakeword_run(&w);
}

static void ready_without_claim(void *arg)
{
    asx__wakeword w = running();
    (void)arg;
    CHECK(!asx__wakeword_park_commit(&w, asx__wakeword_park_begin(&w)));
    asx__wakeword_ready(&w);
}

static void park_while_parked(void *arg)
{
    asx__wakeword w = running();
    (void)arg;
    CHECK(!asx__wakeword_park_commit(&w, asx__wakeword_park_begin(&w)));
    (void)asx__wakeword_park_begin(&w);
}

static void end_while_parking(void *arg)
{
    asx__wakeword w = running();
    (void)arg;
    (void)asx__wakeword_park_begin(&w);
    asx__wakeword_end(&w, false);
}

static void spawn_twice(void *arg)
{
    asx__wakeword w = running();
    (void)arg;
    asx__wakeword_spawn(&w);
}

static void commit_without_parking(void *arg)
{
    asx__wakeword w = running();
    (void)arg;
    CHECK(!asx__wakeword_park_commit(&w, 1));
}

ASX_TEST(what_breaks_the_rules_is_caught)
{
    CHECK_DIES(commit_without_parking, NULL);
    if (ASX_ASSERT_LEVEL < 1)
        return; /* the others are for debug builds */
    CHECK_DIES(run_twice, NULL);
    CHECK_DIES(ready_without_claim, NULL);
    CHECK_DIES(park_while_parked, NULL);
    CHECK_DIES(end_while_parking, NULL);
    CHECK_DIES(spawn_twice, NULL);
}
