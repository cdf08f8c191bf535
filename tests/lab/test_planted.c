/* Oracles against a runtime that is broken while it runs. A correct one cannot break these rules,
 * so each test reaches into its records, spoils one of them, and lets it go on; the oracles of the
 * lab run hear of nothing but its journal. What they have to say is looked at as soon as it must be
 * known, and then the process is over: there is no way back into such a runtime. */
#include <asx/asx_lab.h>

#include <stdio.h>
#include <unistd.h>

#include "harness.h"
#include "lab/explore/explore.h"
#include "sched/sched.h"
#include "sync/sync.h"

/* The test has passed if this oracle has complained. */
static void has_complained(const asx_cx *cx, asx_oracle oracle)
{
    const asx__oracles *o = asx__oracles_of(cx->rt_);
    CHECK(o != NULL);
    printf("   %s: %s\n", asx_oracle_str(o->complaint.oracle), o->complaint.text);
    CHECK_STR_EQ(asx_oracle_str(o->complaint.oracle), asx_oracle_str(oracle));
    (void)fflush(stdout);
    _exit(0);
}

static void is_noticed(asx_task_fn program)
{
    asx_lab_options options = { .program = "planted" };
    asx_lab_result result;
    ASX_IGNORE(asx_lab_run(program, NULL, &options, &result));
    asx_test_fail(__FILE__, __LINE__, "it was not looked at: %s", result.complaint.text);
}

static asx__region *record_of(const asx_region *region)
{
    asx__region *record;
    CHECK_STATUS(asx__region_resolve(region, ASX_STATE_MASK_ALL, &record), ASX_OK);
    return record;
}

/* The region does not know of its tasks any more. */
static void forget_tasks(asx__region *region, uint64_t tasks)
{
    region->spawned -= tasks;
    region->task_first = region->task_last = 0;
    region->task_tail = NULL;
}

static asx_status sleep_long(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, 500 * ASX_MS);
}

/* ---- regions --------------------------------------------------------------------------------- */

static asx_status close_miscounted(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "forgotten", sleep_long, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    forget_tasks(record_of(&r), 1);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    has_complained(cx, ASX_ORACLE_QUIESCENCE);
    return ASX_OK;
}

ASX_TEST(a_region_that_forgets_one_of_its_tasks_is_not_quiescent)
{
    is_noticed(close_miscounted);
}

static asx_status win(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, ASX_MS);
}

/* The race does not know of it any more, and comes to its end. */
static asx_status lose_and_stay(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_sleep(cx, 50 * ASX_MS), ASX_E_CANCELLED);
    asx__region *region = cx->task_->region;
    forget_tasks(region, 1);
    asx__region_progress(cx->rt_, region);
    return asx_yield(cx);
}

static asx_status race_miscounted(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "quick", win, NULL }, { "slow", lose_and_stay, NULL } };
    size_t winner;
    (void)arg;
    ASX_IGNORE(asx_race_all(cx, branches, 2, NULL, &winner, NULL));
    has_complained(cx, ASX_ORACLE_LOSERS);
    return ASX_OK;
}

ASX_TEST(a_race_that_does_not_wait_for_its_loser_is_noticed)
{
    is_noticed(race_miscounted);
}

static asx_status nothing(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

static asx_status finalizer_left_out(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, nothing, NULL), ASX_OK);
    CHECK_STATUS(asx_defer(&r, nothing, NULL), ASX_OK);
    record_of(&r)->finalizers->next = NULL;
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    has_complained(cx, ASX_ORACLE_FINALIZERS);
    return ASX_OK;
}

static asx_status finalizer_run_again(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, nothing, NULL), ASX_OK);
    CHECK_STATUS(asx_defer(&r, nothing, NULL), ASX_OK);
    asx__finalizer *last = record_of(&r)->finalizers;
    static asx__finalizer again;
    again = *last; /* and then the first */
    last->next = &again;
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    has_complained(cx, ASX_ORACLE_FINALIZERS);
    return ASX_OK;
}

ASX_TEST(a_finalizer_that_is_left_out_is_noticed)
{
    is_noticed(finalizer_left_out);
}

ASX_TEST(a_finalizer_that_runs_again_is_noticed)
{
    is_noticed(finalizer_run_again);
}

/* ---- cancellation and time ------------------------------------------------------------------- */

static asx_status cancel_not_acknowledged(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task victim;
    asx__task *record;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, sleep_long, NULL, NULL, &victim), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&victim, NULL), ASX_OK);
    CHECK_STATUS(asx__task_resolve(&victim, &record), ASX_OK);
    record->phase = ASX_TASK_CANCELLING; /* as if it had been there */
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    has_complained(cx, ASX_ORACLE_CANCEL_ORDER);
    return ASX_OK;
}

ASX_TEST(a_cancellation_that_leaves_out_a_step_is_noticed)
{
    is_noticed(cancel_not_acknowledged);
}

static asx_poll sleep_by_poll(asx_cx *cx, void *state)
{
    (void)state;
    return asx_sleep(cx, 5 * ASX_MS) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status timer_forgotten(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task sleeper;
    asx__task *record;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, sleep_by_poll, NULL, NULL, &sleeper), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx__task_resolve(&sleeper, &record), ASX_OK);
    CHECK(asx_timer_cancel(&cx->rt_->timers, &record->sleep));
    CHECK_STATUS(asx_sleep(cx, 50 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 50 * ASX_MS), ASX_OK);
    has_complained(cx, ASX_ORACLE_DEADLINE);
    return ASX_OK;
}

ASX_TEST(a_deadline_that_nobody_looks_at_is_noticed)
{
    is_noticed(timer_forgotten);
}

/* The clock is ahead of what the runtime knows: it cannot be moved to the next deadline, and the
 * run ends as it is. */
static asx_status clock_runs_ahead(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "sleeper", sleep_long, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx__virtual_clock_set(&cx->rt_->virtual_, cx->rt_->now + ASX_SEC), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_run_that_ends_before_its_tasks_leaks_them)
{
    asx_lab_options options = { .program = "planted" };
    asx_lab_result result;
    ASX_IGNORE(asx_lab_run(clock_runs_ahead, NULL, &options, &result));
    printf("   %s: %s\n", asx_oracle_str(result.complaint.oracle), result.complaint.text);
    CHECK_STR_EQ(asx_oracle_str(result.complaint.oracle), "task-leak");
}

/* ---- channels -------------------------------------------------------------------------------- */

static asx_status send_one(asx_cx *cx, asx_channel_sender *tx, int value)
{
    asx_send_permit permit;
    asx_status st = asx_channel_reserve(cx, tx, &permit);
    return st < 0 ? st : asx_send_permit_send(&permit, &value);
}

/* Of one waiter: an audit of the channel would see it before the oracles do. */
#if ASX_ASSERT_LEVEL < 2

static asx_status receive_one(asx_cx *cx, void *arg)
{
    int value;
    return asx_channel_recv(cx, arg, &value);
}

static asx_status receiver_forgotten(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 4, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "receiver", receive_one, &rx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK(rx.channel_->receiver != NULL);
    rx.channel_->receiver = NULL;
    CHECK_STATUS(send_one(cx, &tx, 1), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    has_complained(cx, ASX_ORACLE_LOST_WAKEUP);
    return ASX_OK;
}

ASX_TEST(a_channel_that_forgets_who_waits_loses_a_wakeup)
{
    is_noticed(receiver_forgotten);
}

#endif

static asx_status messages_swapped(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    int value;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 4, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(send_one(cx, &tx, 1), ASX_OK);
    CHECK_STATUS(send_one(cx, &tx, 2), ASX_OK);
    asx__message_mark *first = asx__slot_mark(rx.channel_, 0);
    asx__message_mark *second = asx__slot_mark(rx.channel_, 1);
    asx__message_mark kept = *first;
    *first = *second;
    *second = kept;
    CHECK_STATUS(asx_channel_recv(cx, &rx, &value), ASX_OK);
    has_complained(cx, ASX_ORACLE_CHANNEL);
    return ASX_OK;
}

ASX_TEST(a_channel_that_swaps_messages_is_noticed)
{
    is_noticed(messages_swapped);
}
