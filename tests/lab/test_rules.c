/* The oracles on small histories, event by event: what breaks a rule and what only looks like it.
 * Each begins with a region 1 and the tasks 1 and 2 in it. */
#include <asx/asx_lab.h>

#include <string.h>

#include "harness.h"
#include "lab/oracle/oracle.h"
#include "trace/trace.h"

#define OPEN(region, parent) { .kind = ASX_EVENT_REGION_OPEN, .object = (region), .a = (parent) }
#define MOVES(region, from, to)                                                                    \
    { .kind = ASX_EVENT_REGION_STATE, .object = (region), .a = ASX_REGION_##from,                  \
      .b = ASX_REGION_##to }
#define CLOSES(region)                                                                             \
    MOVES(region, OPEN, CLOSING), MOVES(region, CLOSING, FINALIZING),                              \
        MOVES(region, FINALIZING, CLOSED)
#define CANCELLED_BY(task_, region, why)                                                           \
    { .kind = ASX_EVENT_REGION_CANCEL, .task = (task_), .object = (region),                        \
      .a = ASX_CANCEL_##why }
#define FINALIZER(region, number)                                                                  \
    { .kind = ASX_EVENT_FINALIZER_RUN, .object = (region), .a = (number) }
#define SPAWN(task, region) { .kind = ASX_EVENT_TASK_SPAWN, .object = (task), .a = (region) }
#define GOES(task, from, to)                                                                       \
    { .kind = ASX_EVENT_TASK_STATE, .object = (task), .a = ASX_TASK_##from, .b = ASX_TASK_##to }
#define PARK(task, why, object_)                                                                   \
    { .kind = ASX_EVENT_TASK_PARK, .object = (task), .a = ASX__WAIT_##why, .b = (object_) }
#define TASK(what, task) { .kind = ASX_EVENT_##what, .object = (task) }
#define ENDS(task, how)                                                                            \
    { .kind = ASX_EVENT_TASK_COMPLETE, .object = (task), .a = ASX_OUTCOME_##how }
#define RESERVES(owner, number, sort)                                                              \
    { .kind = ASX_EVENT_OBLIGATION_RESERVE, .object = (number),                                    \
      .a = ASX_OBLIGATION_KIND_##sort, .b = (owner) }
#define RESOLVES(how, number) { .kind = ASX_EVENT_OBLIGATION_##how, .object = (number) }
#define CHANNEL(what, number, queued)                                                              \
    { .kind = ASX_EVENT_CHANNEL_##what, .object = 1, .a = (number), .b = (queued) }
#define TIMER(what, deadline, now)                                                                 \
    { .kind = ASX_EVENT_TIMER_##what, .object = 1, .a = (deadline), .time = (now) }
#define ADVANCE(from, to) { .kind = ASX_EVENT_CLOCK_ADVANCE, .a = (from), .b = (to) }

enum { EVENTS_MOST = 12 };

typedef struct history {
    asx_oracle complains; /* before its end */
    asx_event at[EVENTS_MOST];
} history;

static void hear(asx__oracles *o, const asx_event *at)
{
    for (size_t i = 0; i < EVENTS_MOST && at[i].kind != ASX_EVENT_NONE; i++)
        asx__oracles_hear(o, &at[i]);
}

static void begin(asx__oracles *o)
{
    static const asx_event start[EVENTS_MOST] = { OPEN(1, 0), SPAWN(1, 1), SPAWN(2, 1) };
    asx__oracles_begin(o);
    hear(o, start);
}

static void expect_each(const history *h, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        asx__oracles o;
        asx__oracles_init(&o);
        begin(&o);
        hear(&o, h[i].at);
        if (o.complaint.oracle != h[i].complains)
            asx_test_fail(__FILE__, __LINE__, "history %d: %s expected, got %s: %s", (int)i,
                          asx_oracle_str(h[i].complains), asx_oracle_str(o.complaint.oracle),
                          o.complaint.text);
        asx__oracles_deinit(&o);
    }
}

#define EXPECT_EACH(table) expect_each(table, sizeof(table) / sizeof(table)[0])
#define GOOD ASX_ORACLE_NONE

ASX_TEST(a_cancellation_is_requested_then_acknowledged)
{
    static const history table[] = {
        { GOOD, { GOES(1, CREATED, RUNNING), TASK(CANCEL_REQUEST, 1), TASK(CANCEL_STRENGTHEN, 1),
                  GOES(1, RUNNING, CANCEL_REQUESTED), TASK(CANCEL_ACK, 1),
                  GOES(1, CANCEL_REQUESTED, CANCELLING), ENDS(1, CANCELLED) } },
        { ASX_ORACLE_CANCEL_ORDER,
          { GOES(1, CREATED, RUNNING), GOES(1, RUNNING, CANCEL_REQUESTED) } },
        { ASX_ORACLE_CANCEL_ORDER,
          { GOES(1, CREATED, RUNNING), TASK(CANCEL_REQUEST, 1),
            GOES(1, RUNNING, CANCEL_REQUESTED), GOES(1, CANCEL_REQUESTED, CANCELLING) } },
        { ASX_ORACLE_CANCEL_ORDER, { ENDS(1, OK), TASK(CANCEL_REQUEST, 1) } },
        { ASX_ORACLE_CANCEL_ORDER, { TASK(CANCEL_STRENGTHEN, 1) } },
        { ASX_ORACLE_CANCEL_ORDER, { TASK(CANCEL_ACK, 1) } },
        { ASX_ORACLE_CANCEL_ORDER, { TASK(CANCEL_REQUEST, 1), ENDS(1, CANCELLED) } },
        { GOOD, { TASK(CANCEL_REQUEST, 1), TASK(TASK_FORCED, 1), ENDS(1, CANCELLED) } },
    };
    EXPECT_EACH(table);
}

ASX_TEST(nothing_happens_in_a_closed_region)
{
    static const history table[] = {
        { GOOD, { ENDS(1, OK), ENDS(2, OK), CLOSES(1) } },
        { ASX_ORACLE_QUIESCENCE, { ENDS(1, OK), ENDS(2, OK), CLOSES(1), SPAWN(3, 1) } },
        { ASX_ORACLE_QUIESCENCE,
          { ENDS(1, OK), ENDS(2, OK), CLOSES(1), MOVES(1, OPEN, CLOSING) } },
        { ASX_ORACLE_FINALIZERS, { ENDS(1, OK), ENDS(2, OK), CLOSES(1), FINALIZER(1, 1) } },
        { ASX_ORACLE_QUIESCENCE,
          { RESERVES(1, 1, LEASE), ENDS(1, OK), ENDS(2, OK), CLOSES(1) } },
    };
    EXPECT_EACH(table);
}

/* All of them, the last first; unless somebody in there was forced or has panicked. */
ASX_TEST(finalizers_run_one_after_the_other)
{
    static const history table[] = {
        { GOOD, { ENDS(1, OK), ENDS(2, OK), FINALIZER(1, 2), FINALIZER(1, 1), CLOSES(1) } },
        { ASX_ORACLE_FINALIZERS, { FINALIZER(1, 3), FINALIZER(1, 1) } },
        { ASX_ORACLE_FINALIZERS, { ENDS(1, OK), ENDS(2, OK), FINALIZER(1, 2), CLOSES(1) } },
        { GOOD, { TASK(TASK_FORCED, 1), ENDS(1, OK), ENDS(2, OK), FINALIZER(1, 2), CLOSES(1) } },
        { GOOD, { TASK(TASK_PANIC, 1), ENDS(1, OK), ENDS(2, OK), FINALIZER(1, 2), CLOSES(1) } },
    };
    EXPECT_EACH(table);
}

/* A permit that was leaked may still be aborted, once. */
ASX_TEST(an_obligation_is_resolved_once)
{
    static const history table[] = {
        { GOOD, { RESERVES(1, 1, PLAIN), RESOLVES(LEAK, 1), RESOLVES(ABORT, 1) } },
        { ASX_ORACLE_OBLIGATION_LEAK,
          { RESERVES(1, 1, PLAIN), RESOLVES(LEAK, 1), RESOLVES(COMMIT, 1) } },
        { ASX_ORACLE_OBLIGATION_LEAK,
          { RESERVES(1, 1, PLAIN), RESOLVES(LEAK, 1), RESOLVES(ABORT, 1), RESOLVES(ABORT, 1) } },
    };
    EXPECT_EACH(table);
}

/* Numbers, and how many are there; what was put back comes first, the last of it before. */
ASX_TEST(a_channel_is_a_queue)
{
    static const history table[] = {
        { ASX_ORACLE_CHANNEL, { CHANNEL(CREATE, 4, 0), CHANNEL(SEND, 2, 1) } },
        { ASX_ORACLE_CHANNEL, { CHANNEL(CREATE, 4, 0), CHANNEL(SEND, 1, 1), CHANNEL(SEND, 2, 2),
                                CHANNEL(RECV, 1, 0) } },
        { GOOD, { CHANNEL(CREATE, 4, 0), CHANNEL(SEND, 1, 1), CHANNEL(SEND, 2, 2),
                  CHANNEL(EVICT, 1, 0), CHANNEL(RECV, 2, 0) } },
        { ASX_ORACLE_CHANNEL, { CHANNEL(CREATE, 4, 0), CHANNEL(SEND, 1, 1), CHANNEL(SEND, 2, 2),
                                CHANNEL(EVICT, 1, 0), CHANNEL(RECV, 1, 0) } },
        { GOOD, { CHANNEL(CREATE, 4, 0), CHANNEL(SEND, 1, 1), CHANNEL(SEND, 2, 2),
                  CHANNEL(RECV, 1, 1), CHANNEL(RECV, 2, 0), CHANNEL(NACK, 2, 0),
                  CHANNEL(NACK, 1, 0), CHANNEL(RECV, 1, 1), CHANNEL(RECV, 2, 0) } },
    };
    EXPECT_EACH(table);
}

/* Then it is not judged. */
ASX_TEST(more_messages_may_be_put_back_than_are_remembered)
{
    asx__oracles o;
    asx__oracles_init(&o);
    begin(&o);
    asx__oracles_hear(&o, &(asx_event)CHANNEL(CREATE, 1000, 0));
    for (uint64_t i = 1; i <= ASX__NACKED_MAX + 1; i++)
        asx__oracles_hear(&o, &(asx_event)CHANNEL(SEND, i, i));
    for (uint64_t i = 1; i <= ASX__NACKED_MAX + 1; i++)
        asx__oracles_hear(&o, &(asx_event)CHANNEL(RECV, i, ASX__NACKED_MAX + 1 - i));
    for (uint64_t i = ASX__NACKED_MAX + 1; i >= 1; i--)
        asx__oracles_hear(&o, &(asx_event)CHANNEL(NACK, i, 0));
    asx__oracles_hear(&o, &(asx_event)CHANNEL(RECV, 7, 7));
    CHECK_EQ(o.complaint.oracle, GOOD);
    asx__oracles_deinit(&o);
}

ASX_TEST(a_timer_fires_for_what_it_was_armed_for)
{
    static const history table[] = {
        { GOOD, { TIMER(ARM, 10, 0), TIMER(FIRE, 10, 10) } },
        { ASX_ORACLE_DEADLINE, { TIMER(ARM, 10, 0), TIMER(FIRE, 9, 10) } },
        { ASX_ORACLE_DEADLINE, { TIMER(ARM, 10, 0), TIMER(CANCEL, 10, 5), TIMER(FIRE, 10, 10) } },
    };
    EXPECT_EACH(table);
    asx__oracles o;
    asx__oracles_init(&o);
    o.coalesced = true; /* it may be late */
    begin(&o);
    hear(&o, (asx_event[EVENTS_MOST]){ TIMER(ARM, 10, 0), ADVANCE(11, 12) });
    CHECK_EQ(o.complaint.oracle, GOOD);
    asx__oracles_deinit(&o);
}

/* Looked for when nothing can run: when the clock moves, and when all are told to stop. */
ASX_TEST(who_waits_for_what_was_before_is_lost)
{
    static const history table[] = {
        { ASX_ORACLE_LOST_WAKEUP, { PARK(1, JOIN, 2), ENDS(2, OK), ADVANCE(0, 1) } },
        { ASX_ORACLE_LOST_WAKEUP,
          { OPEN(2, 1), PARK(1, REGION_CLOSE, 2), CLOSES(2), ADVANCE(0, 1) } },
        { GOOD, { OPEN(2, 1), PARK(1, REGION_CLOSE, 2), ADVANCE(0, 1) } },
        { ASX_ORACLE_LOST_WAKEUP,
          { CHANNEL(CREATE, 1, 0), RESERVES(2, 1, SEND_PERMIT), RESOLVES(COMMIT, 1),
            PARK(1, CHANNEL_RESERVE, 1), ADVANCE(0, 1) } },
        { GOOD, { CHANNEL(CREATE, 1, 0), RESERVES(2, 1, SEND_PERMIT),
                  PARK(1, CHANNEL_RESERVE, 1), ADVANCE(0, 1) } },
        { GOOD, { CHANNEL(CREATE, 1, 0), PARK(1, CHANNEL_RECV, 1), CHANNEL(SEND, 1, 1),
                  TASK(TASK_RUN, 1), ADVANCE(0, 1) } },
        { ASX_ORACLE_LOST_WAKEUP, { PARK(1, JOIN, 2), ENDS(2, OK), CANCELLED_BY(0, 1, SHUTDOWN) } },
        { GOOD, { PARK(1, SLEEP, 0), PARK(2, SLEEP, 0), TASK(TASK_WAKE, 2),
                  CANCELLED_BY(0, 1, SHUTDOWN) } },
        { GOOD, { PARK(1, JOIN, 2), ENDS(2, OK), CANCELLED_BY(1, 1, SHUTDOWN) } },
        { GOOD, { OPEN(2, 1), PARK(1, JOIN, 2), ENDS(2, OK), CANCELLED_BY(0, 2, SHUTDOWN) } },
    };
    EXPECT_EACH(table);
    asx__oracles o;
    asx__oracles_init(&o);
    o.partial = true; /* not every run is heard of */
    begin(&o);
    hear(&o, (asx_event[EVENTS_MOST]){ TASK(TASK_WAKE, 1), ADVANCE(0, 1) });
    CHECK_EQ(o.complaint.oracle, GOOD);
    asx__oracles_deinit(&o);
}

/* ---- deadlocks ------------------------------------------------------------------------------ */

static asx_complaint stuck(const asx_event *at)
{
    asx__oracles o;
    asx__oracles_init(&o);
    begin(&o);
    hear(&o, at);
    CHECK(asx__oracles_end(&o, ASX_E_DEADLOCK));
    asx_complaint complaint = o.complaint;
    asx__oracles_deinit(&o);
    return complaint;
}

/* Somebody has what others may wait for, and they wait. */
ASX_TEST(a_deadlock_is_a_futurelock_if_somebody_holds_and_somebody_waits)
{
    asx_complaint c = stuck((asx_event[EVENTS_MOST]){
        RESERVES(1, 1, SEND_PERMIT), PARK(1, SLEEP, 0), PARK(2, CHANNEL_RESERVE, 9),
        CANCELLED_BY(0, 1, SHUTDOWN) });
    CHECK_EQ(c.oracle, ASX_ORACLE_FUTURELOCK);
    c = stuck((asx_event[EVENTS_MOST]){ RESERVES(1, 1, SEND_PERMIT), PARK(1, SLEEP, 0),
                                        PARK(2, SLEEP, 0), CANCELLED_BY(0, 1, SHUTDOWN) });
    CHECK_EQ(c.oracle, ASX_ORACLE_DEADLOCK);
}

/* Task 1 waits for the close of region 2, where task 3 has ended and task 4 waits for task 1. */
ASX_TEST(a_circle_goes_through_who_is_still_there)
{
    asx_complaint c = stuck((asx_event[EVENTS_MOST]){
        OPEN(2, 1), SPAWN(3, 2), SPAWN(4, 2), ENDS(3, OK), ENDS(2, OK),
        PARK(1, REGION_CLOSE, 2), PARK(4, JOIN, 1), CANCELLED_BY(0, 1, SHUTDOWN) });
    CHECK_EQ(c.oracle, ASX_ORACLE_DEADLOCK);
    CHECK(strncmp(c.text, "cycle: task ", 12) == 0);
}

/* ---- holders that do not run ---------------------------------------------------------------- */

enum { LONG = 3 * 4096 };

/* Task 1 holds something; the other one runs. Does `at` let it complain? */
static asx_oracle held_for_long(const asx_event *at, unsigned holder_runs_every)
{
    asx__oracles o;
    asx__oracles_init(&o);
    o.futurelock_max = 4096;
    begin(&o);
    hear(&o, (asx_event[EVENTS_MOST]){ SPAWN(3, 1), RESERVES(1, 1, SEND_PERMIT) });
    hear(&o, at);
    for (unsigned i = 1; i <= LONG; i++) {
        uint64_t who = holder_runs_every != 0 && i % holder_runs_every == 0 ? 1 : 3;
        asx__oracles_hear(&o, &(asx_event)TASK(TASK_RUN, who));
    }
    asx_oracle oracle = o.complaint.oracle;
    asx__oracles_deinit(&o);
    return oracle;
}

ASX_TEST(a_holder_that_does_not_run_matters_if_somebody_waits)
{
    CHECK_EQ(held_for_long((asx_event[EVENTS_MOST]){ PARK(2, CHANNEL_RECV, 9) }, 0),
             ASX_ORACLE_FUTURELOCK);
    CHECK_EQ(held_for_long((asx_event[EVENTS_MOST]){ PARK(2, CHANNEL_RESERVE, 9) }, 0),
             ASX_ORACLE_FUTURELOCK);
    CHECK_EQ(held_for_long((asx_event[EVENTS_MOST]){ PARK(2, CHANNEL_RECV, 9) }, 1000), GOOD);
    CHECK_EQ(held_for_long((asx_event[EVENTS_MOST]){ PARK(2, SLEEP, 0) }, 0), GOOD);
    CHECK_EQ(held_for_long((asx_event[EVENTS_MOST]){ PARK(2, CHANNEL_RECV, 9), ENDS(2, OK) }, 0),
             GOOD);
}

/* ---- the next run --------------------------------------------------------------------------- */

ASX_TEST(a_new_run_knows_nothing_of_the_last_one)
{
    asx__oracles o;
    asx__oracles_init(&o);
    o.livelock_max = 4;
    begin(&o);
    hear(&o, (asx_event[EVENTS_MOST]){ RESERVES(1, 1, SEND_PERMIT), TASK(TASK_RUN, 1),
                                       TASK(TASK_YIELD, 1), TASK(TASK_RUN, 1) });
    begin(&o);
    hear(&o, (asx_event[EVENTS_MOST]){ TASK(TASK_RUN, 1), CHANNEL(CREATE, 1, 0),
                                       PARK(1, CHANNEL_RESERVE, 1) });
    CHECK_EQ(o.complaint.oracle, GOOD);
    asx__oracles_hear(&o, &(asx_event)ADVANCE(0, 1));
    CHECK_EQ(o.complaint.oracle, ASX_ORACLE_LOST_WAKEUP); /* nobody holds a permit in this run */
    begin(&o);
    hear(&o, (asx_event[EVENTS_MOST]){ RESERVES(1, 1, SEND_PERMIT), PARK(1, SLEEP, 0),
                                       PARK(2, CHANNEL_RECV, 9), CANCELLED_BY(0, 1, SHUTDOWN) });
    asx__oracles_begin(&o);
    CHECK(asx__oracles_end(&o, ASX_E_DEADLOCK));
    CHECK_EQ(o.complaint.oracle, ASX_ORACLE_DEADLOCK);
    asx__oracles_begin(&o);
    hear(&o, (asx_event[EVENTS_MOST]){ OPEN(1, 0), SPAWN(1, 1), SPAWN(3, 1), PARK(1, JOIN, 3),
                                       PARK(3, JOIN, 1), CANCELLED_BY(0, 1, SHUTDOWN) });
    CHECK(strcmp(o.waiting, "") != 0 && strstr(o.waiting, "task 2") == NULL);
    asx__oracles_deinit(&o);
}
