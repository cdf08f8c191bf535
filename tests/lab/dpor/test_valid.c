/* What audit builds ask of the engine after each execution, seen to say no: a field is spoiled. */
#include "lab/dpor/internal.h"

#include "harness.h"

static uint64_t cell;

/* Task 0 stores, tasks 1 and 2 load; one execution, and the tree of nodes that it has left. */
static asx__dpor *explored(bool wide)
{
    asx__dpor_options options = { .mode = ASX__DPOR_OPTIMAL };
    asx__dpor *d = asx__dpor_create(&options);
    asx__op write = { .kind = ASX__OP_STORE, .size = 8, .object = &cell, .a = 1 };
    asx__op read = { .kind = ASX__OP_LOAD, .size = 8, .object = &cell };
    uint32_t chosen;
    CHECK(d != NULL);
    if (wide)
        asx__dpor_be_wide(d);
    cell = 0;
    asx__dpor_begin(d);
    asx__dpor_announce(d, 0, &write);
    for (int i = 0; i < 2; i++)
        asx__dpor_announce(d, asx__dpor_spawn(d, 0), &read);
    while ((chosen = asx__dpor_choose(d)) != ASX__DPOR_NONE)
        (void)asx__dpor_commit(d, chosen);
    CHECK_EQ(d->events_len, 3);
    CHECK(asx__dpor_is_valid(d));
    return d;
}

/* The field is another, the check says no, and is content when the field is as it was. */
#define SPOILS(d, check, field, value)                                                             \
    do {                                                                                           \
        __typeof__(field) before_ = (field);                                                       \
        (field) = (value);                                                                         \
        CHECK(!check(d));                                                                          \
        CHECK(!asx__dpor_is_valid(d));                                                             \
        (field) = before_;                                                                         \
        CHECK(check(d));                                                                           \
    } while (0)

ASX_TEST(events_of_no_task_or_in_no_order_are_found)
{
    asx__dpor *d = explored(false);
    SPOILS(d, asx__events_are_valid, d->events[1].task, 77);
    SPOILS(d, asx__events_are_valid, d->events[1].ordinal, 0);
    SPOILS(d, asx__events_are_valid, d->events[1].ordinal, 9);
    SPOILS(d, asx__events_are_valid, d->events[1].prev, 2);
    SPOILS(d, asx__events_are_valid, d->events[2].prev_write, d->events[2].prev);
    SPOILS(d, asx__events_are_valid, d->tasks[2].done, 3);
    asx__dpor_destroy(d);
}

ASX_TEST(accesses_of_another_event_or_object_are_found)
{
    asx__dpor *d = explored(true);
    CHECK_EQ(d->accesses.len, 3);
    SPOILS(d, asx__accesses_are_valid, d->accesses.at[1].event, 0);
    SPOILS(d, asx__accesses_are_valid, d->accesses.at[1].object, 99);
    SPOILS(d, asx__accesses_are_valid, d->accesses.at[1].prev, 2);
    SPOILS(d, asx__accesses_are_valid, d->accesses.at[2].prev_write, 1);
    SPOILS(d, asx__accesses_are_valid, d->wide_events[2].len, 9);
    asx__dpor_destroy(d);
}

ASX_TEST(a_task_that_waits_for_a_time_out_of_its_order_is_found)
{
    asx__dpor *d = explored(false);
    asx__timed_waiter two[] = { { 5, 1 }, { 7, 2 } };
    asx__timed_waiter *before = d->sleeping.at;
    d->sleeping.at = two;
    d->sleeping.len = 2;
    CHECK(asx__timed_waiters_are_valid(d));
    SPOILS(d, asx__timed_waiters_are_valid, two[0].until, 8);
    d->sleeping.at = before;
    d->sleeping.len = 0;
    asx__dpor_destroy(d);
}

ASX_TEST(nodes_whose_sleepers_or_branches_are_none_are_found)
{
    asx__dpor *d = explored(true);
    asx__branch nobodys = { .task = 1 };
    CHECK_GE(d->nodes.len, 2);
    SPOILS(d, asx__nodes_are_valid, d->nodes.at[0].sleepers, d->sleepers.len + 1);
    SPOILS(d, asx__nodes_are_valid, d->nodes.at[1].pasts, d->pasts.len + 1);
    SPOILS(d, asx__nodes_are_valid, d->nodes.at[1].rest, &nobodys);
    asx__dpor_destroy(d);
}
