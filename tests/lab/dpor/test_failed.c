/* A region that fails ends the waits of its owner. Live: tests/sched/test_failed.c. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdio.h>
#include <string.h>

#include "harness.h"

enum { MOST = 16 };

/* What the owner's waits returned in some execution. */
static asx_status seen[MOST];
static size_t seen_len;

static void saw(asx_status st)
{
    for (size_t i = 0; i < seen_len; i++)
        if (seen[i] == st)
            return;
    CHECK(seen_len < MOST);
    seen[seen_len++] = st;
}

static bool was_seen(asx_status st)
{
    for (size_t i = 0; i < seen_len; i++)
        if (seen[i] == st)
            return true;
    return false;
}

static void show(void *ctx, const asx_explore_failure *failure)
{
    (void)ctx;
    printf("%s (%s)\n", failure->text, failure->site);
}

static uint64_t classes_of(asx_lab_fn fn, uint32_t faults)
{
    asx_explore_options options = { .faults = faults, .on_failure = show };
    asx_explore_result result;
    seen_len = 0;
    CHECK_STATUS(asx_explore(fn, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK(result.complete);
    CHECK_EQ(result.totals.bugs, 0);
    return result.totals.executions;
}

typedef struct shared {
    asx_region r;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_task child;
} shared;

static asx_status fails(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_E_FULL;
}

static asx_status sends(asx_cx *cx, void *arg)
{
    shared *s = arg;
    int message = 1;
    return asx_channel_send(cx, &s->tx, &message);
}

static void open_all(asx_cx *cx, shared *s)
{
    asx_lab_check(cx, asx_lab_expect(cx, ASX_E_FULL) == ASX_OK);
    asx_lab_check(cx, asx_region_open(cx, NULL, &s->r) == ASX_OK);
    asx_lab_check(cx, asx_channel_create(&s->r, sizeof(int), 1, NULL, &s->tx, &s->rx) == ASX_OK);
}

/* ---- a child -------------------------------------------------------------------------------- */

/* Nothing but the failure can end the wait. */
static void waits_for_nothing(asx_cx *cx, void *arg)
{
    shared s;
    int message;
    (void)arg;
    open_all(cx, &s);
    asx_lab_check(cx, asx_spawn(&s.r, "fails", fails, NULL) == ASX_OK);
    saw(asx_channel_recv(cx, &s.rx, &message));
    asx_lab_check(cx, asx_region_close(&s.r, ASX_OK) == ASX_E_FULL);
    asx_lab_check(cx, asx_checkpoint(cx) == ASX_OK);
}

ASX_TEST(a_wait_that_only_a_failing_child_ends_is_no_deadlock)
{
    CHECK_EQ(classes_of(waits_for_nothing, 0), 1);
    CHECK_EQ(seen_len, 1);
    CHECK(was_seen(ASX_E_FULL));
}

/* The message comes before the failure, or after it, or the sender is cancelled by it. */
static void message_or_failure(asx_cx *cx, void *arg)
{
    shared s;
    int message;
    (void)arg;
    open_all(cx, &s);
    asx_lab_check(cx, asx_spawn(&s.r, "sends", sends, &s) == ASX_OK);
    asx_lab_check(cx, asx_spawn(&s.r, "fails", fails, NULL) == ASX_OK);
    saw(asx_channel_recv(cx, &s.rx, &message));
    asx_lab_check(cx, asx_region_close(&s.r, ASX_OK) == ASX_E_FULL);
}

ASX_TEST(a_message_and_a_failure_race_for_the_owners_wait)
{
    /* send < recv < fail; send < fail < recv; fail < both */
    CHECK_EQ(classes_of(message_or_failure, 0), 3);
    CHECK_EQ(seen_len, 2);
    CHECK(was_seen(ASX_OK) && was_seen(ASX_E_FULL));
}

/* The owner looks twice: between, before or behind the failure. */
static void looks_twice(asx_cx *cx, void *arg)
{
    shared s;
    (void)arg;
    open_all(cx, &s);
    asx_lab_check(cx, asx_spawn(&s.r, "fails", fails, NULL) == ASX_OK);
    saw(asx_checkpoint(cx));
    saw(asx_yield(cx));
    asx_lab_check(cx, asx_region_close(&s.r, ASX_OK) == ASX_E_FULL);
}

ASX_TEST(the_failure_comes_before_between_or_behind_what_the_owner_does)
{
    CHECK_EQ(classes_of(looks_twice, 0), 3);
    CHECK(was_seen(ASX_OK) && was_seen(ASX_E_FULL));
}

static void joins(asx_cx *cx, void *arg)
{
    shared s;
    asx_join_result result;
    (void)arg;
    open_all(cx, &s);
    asx_lab_check(cx, asx_spawn_task(&s.r, sends, &s, NULL, &s.child) == ASX_OK);
    asx_lab_check(cx, asx_spawn(&s.r, "fails", fails, NULL) == ASX_OK);
    saw(asx_join(cx, &s.child, &result));
    asx_lab_check(cx, asx_region_close(&s.r, ASX_OK) == ASX_E_FULL);
}

ASX_TEST(a_join_in_the_failed_region_goes_on)
{
    CHECK(classes_of(joins, 0) >= 2);
    CHECK_EQ(seen_len, 1);
    CHECK(was_seen(ASX_OK));
}

static void masked(asx_cx *cx, void *arg)
{
    shared s;
    int message;
    (void)arg;
    open_all(cx, &s);
    asx_lab_check(cx, asx_spawn(&s.r, "sends", sends, &s) == ASX_OK);
    asx_lab_check(cx, asx_spawn(&s.r, "fails", fails, NULL) == ASX_OK);
    asx_lab_check(cx, asx_mask_begin(cx, 0) == ASX_OK);
    asx_status st = asx_channel_try_recv(cx, &s.rx, &message);
    saw(st == ASX_OK ? asx_yield(cx) : ASX_OK);
    asx_lab_check(cx, asx_mask_end(cx) == ASX_OK);
    asx_lab_check(cx, asx_region_close(&s.r, ASX_OK) == ASX_E_FULL);
}

ASX_TEST(under_a_mask_the_owner_waits_as_ever)
{
    (void)classes_of(masked, 0);
    CHECK_EQ(seen_len, 1);
    CHECK(was_seen(ASX_OK));
}

/* ---- a set-up ------------------------------------------------------------------------------- */

static void set_up(asx_cx *cx, void *arg)
{
    shared s;
    int message;
    (void)arg;
    open_all(cx, &s);
    asx_lab_check(cx, asx_spawn(&s.r, "bad", NULL, NULL) == ASX_E_INVALID_ARGUMENT);
    saw(asx_channel_recv(cx, &s.rx, &message));
    asx_lab_check(cx, asx_region_close(&s.r, ASX_OK) == ASX_E_INVALID_ARGUMENT);
    asx_lab_check(cx, asx_checkpoint(cx) == ASX_OK);
}

ASX_TEST(the_owner_does_not_wait_in_a_region_whose_set_up_has_failed)
{
    CHECK_EQ(classes_of(set_up, 0), 1);
    CHECK_EQ(seen_len, 1);
    CHECK(was_seen(ASX_E_INVALID_ARGUMENT));
}

/* What was started can only end by being cancelled. */
static void joins_half(asx_cx *cx, void *arg)
{
    shared s;
    asx_join_result result;
    int message = 1;
    (void)arg;
    open_all(cx, &s);
    asx_lab_check(cx, asx_channel_send(cx, &s.tx, &message) == ASX_OK); /* full */
    asx_lab_check(cx, asx_spawn_task(&s.r, sends, &s, NULL, &s.child) == ASX_OK);
    asx_lab_check(cx, asx_spawn(&s.r, "bad", NULL, NULL) == ASX_E_INVALID_ARGUMENT);
    asx_lab_check(cx, asx_join(cx, &s.child, &result) == ASX_OK);
    asx_lab_check(cx, result.outcome.kind == ASX_OUTCOME_CANCELLED);
    asx_lab_check(cx, asx_region_close(&s.r, ASX_OK) == ASX_E_INVALID_ARGUMENT);
}

ASX_TEST(a_join_in_a_region_whose_set_up_has_failed_cancels_it_and_waits)
{
    CHECK_EQ(classes_of(joins_half, 0), 1);
}

/* Memory gives out at any call, the child's too, whose failed spawn ends the owner's wait. */
static asx_status spawns(asx_cx *cx, void *arg)
{
    shared *s = arg;
    (void)asx_spawn(&s->r, "sends", sends, s);
    (void)cx;
    return ASX_OK;
}

static void relies_on_others(asx_cx *cx, void *arg)
{
    shared s;
    int message = 0;
    (void)arg;
    asx_status st = asx_region_open(cx, NULL, &s.r);
    saw(st);
    (void)asx_channel_create(&s.r, sizeof(int), 1, NULL, &s.tx, &s.rx);
    (void)asx_spawn(&s.r, "spawns", spawns, &s);
    st = asx_channel_recv(cx, &s.rx, &message);
    saw(st);
    asx_lab_check(cx, (asx_region_close(&s.r, st) == ASX_OK) == (message == 1));
}

ASX_TEST(wherever_memory_gives_out_the_owner_comes_to_its_close)
{
    (void)classes_of(relies_on_others, ASX_EXPLORE_FAULT_ALLOC);
    CHECK(was_seen(ASX_OK) && was_seen(ASX_E_RESOURCE_EXHAUSTED));
}
