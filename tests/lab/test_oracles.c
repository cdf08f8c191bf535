/* Each oracle is silent on a good run and fires when its rule is broken. Programs can break some
 * rules; for those that the runtime keeps, one event of a good run is changed, left out or doubled
 * before the oracles hear it. */
#include <asx/asx_lab.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "lab/oracle/oracle.h"

/* ---- a good run, as a list of events --------------------------------------------------------- */

typedef struct events {
    asx_event at[4096];
    size_t len;
} events;

typedef struct bytes {
    char *at;
    size_t len;
} bytes;

static asx_status keep(void *ctx, const void *more, size_t len)
{
    bytes *b = ctx;
    char *larger = realloc(b->at, b->len + len);
    CHECK(larger != NULL);
    memcpy(larger + b->len, more, len);
    b->at = larger;
    b->len += len;
    return ASX_OK;
}

static asx_status one_sender(asx_cx *cx, void *arg)
{
    for (int i = 1; i <= 4; i++) {
        asx_send_permit permit;
        asx_status st = asx_channel_reserve(cx, arg, &permit);
        if (st >= 0)
            st = asx_send_permit_send(&permit, &i);
        if (st < 0)
            return st;
    }
    return ASX_OK;
}

static asx_status one_receiver(asx_cx *cx, void *arg)
{
    int value;
    for (int i = 1; i <= 4; i++) {
        asx_status st = asx_channel_recv(cx, arg, &value);
        if (st < 0)
            return st;
        CHECK_EQ(value, i);
    }
    return ASX_OK;
}

static asx_status short_sleep(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, 5 * ASX_MS);
}

static asx_status long_sleep(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, 500 * ASX_MS);
}

static asx_status nothing(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

/* Something of everything: messages, finalizers, a race, a cancel, time, an obligation, a join. */
static asx_status good_program(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_obligation promise;
    asx_task sleeper;
    size_t winner;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 4, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_defer(&r, nothing, NULL), ASX_OK);
    CHECK_STATUS(asx_defer(&r, nothing, NULL), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &promise), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "receiver", one_receiver, &rx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "sender", one_sender, &tx), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, long_sleep, NULL, NULL, &sleeper), ASX_OK);
    const asx_branch branches[] = { { "quick", short_sleep, NULL }, { "slow", long_sleep, NULL } };
    CHECK_STATUS(asx_race_all(cx, branches, 2, NULL, &winner, NULL), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&sleeper, NULL), ASX_OK);
    CHECK_STATUS(asx_join(cx, &sleeper, NULL), ASX_OK);
    CHECK_STATUS(asx_obligation_commit(&promise), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static events *record(void)
{
    static events e;
    bytes b = { 0 };
    asx_lab_options options = { .program = "good", .sink = keep, .sink_ctx = &b };
    asx_lab_result result;
    asx_trace_reader reader;
    CHECK_STATUS(asx_lab_run(good_program, NULL, &options, &result), ASX_OK);
    CHECK_STR_EQ(result.complaint.text, "");
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_STATUS(asx_trace_reader_init(&reader, b.at, b.len), ASX_OK);
    e.len = 0;
    while (asx_trace_reader_next(&reader, &e.at[e.len]) >= 0)
        e.len++;
    free(b.at);
    CHECK(e.len > 50);
    return &e;
}

/* The n-th event of a kind, from 0. */
static size_t find(const events *e, uint32_t kind, size_t nth)
{
    for (size_t i = 0; i < e->len; i++)
        if (e->at[i].kind == kind && nth-- == 0)
            return i;
    asx_test_fail(__FILE__, __LINE__, "no such event: %s", asx_event_kind_str(kind));
}

static void drop(events *e, size_t i)
{
    memmove(&e->at[i], &e->at[i + 1], (e->len - i - 1) * sizeof e->at[0]);
    e->len--;
}

static void drop_kind(events *e, uint32_t kind)
{
    for (size_t i = e->len; i-- > 0;)
        if (e->at[i].kind == kind)
            drop(e, i);
}

static void twice(events *e, size_t i)
{
    memmove(&e->at[i + 1], &e->at[i], (e->len - i) * sizeof e->at[0]);
    e->len++;
}

static asx_complaint ask(const events *e)
{
    asx__oracles o;
    asx__oracles_init(&o);
    for (size_t i = 0; i < e->len; i++)
        asx__oracles_hear(&o, &e->at[i]);
    (void)asx__oracles_end(&o, ASX_OK);
    asx_complaint complaint = o.complaint;
    asx__oracles_deinit(&o);
    return complaint;
}

static void expect(const events *e, asx_oracle oracle)
{
    asx_complaint c = ask(e);
    if (c.oracle != oracle)
        asx_test_fail(__FILE__, __LINE__, "%s expected, got %s: %s", asx_oracle_str(oracle),
                      asx_oracle_str(c.oracle), c.text);
}

ASX_TEST(a_good_run_is_not_complained_of)
{
    expect(record(), ASX_ORACLE_NONE);
}

ASX_TEST(oracles_have_names_and_rules)
{
    for (unsigned i = 0; i < ASX_ORACLE_COUNT; i++)
        CHECK(asx_oracle_str(i) != NULL && asx_oracle_rule(i) != NULL);
    CHECK_STR_EQ(asx_oracle_str(ASX_ORACLE_LOSERS), "losers-drained");
    CHECK(strstr(asx_oracle_rule(ASX_ORACLE_FINALIZERS), "once") != NULL);
    CHECK(asx_oracle_str(ASX_ORACLE_COUNT) == NULL && asx_oracle_rule(99) == NULL);
}

/* ---- rules that the runtime keeps ------------------------------------------------------------ */

ASX_TEST(a_task_that_never_ends_is_a_leak)
{
    events *e = record();
    drop_kind(e, ASX_EVENT_REGION_STATE);
    drop(e, find(e, ASX_EVENT_TASK_COMPLETE, 0));
    expect(e, ASX_ORACLE_TASK_LEAK);
}

ASX_TEST(an_obligation_of_an_ended_task_is_a_leak)
{
    events *e = record();
    size_t last = 0;
    for (size_t i = 0; i < e->len; i++)
        if (e->at[i].kind == ASX_EVENT_OBLIGATION_COMMIT &&
            e->at[i].a != ASX_OBLIGATION_KIND_PLAIN)
            last = i;
    CHECK(last != 0);
    drop(e, last);
    expect(e, ASX_ORACLE_OBLIGATION_LEAK);
    e = record();
    twice(e, find(e, ASX_EVENT_OBLIGATION_COMMIT, 0));
    expect(e, ASX_ORACLE_OBLIGATION_LEAK);
}

ASX_TEST(a_region_that_closes_over_something_alive_is_not_quiescent)
{
    events *e = record();
    drop(e, find(e, ASX_EVENT_TASK_COMPLETE, 0));
    expect(e, ASX_ORACLE_QUIESCENCE);
    e = record(); /* the user's own promise */
    for (size_t i = 0; i < e->len; i++)
        if (e->at[i].kind == ASX_EVENT_OBLIGATION_COMMIT &&
            e->at[i].a == ASX_OBLIGATION_KIND_PLAIN) {
            drop(e, i);
            break;
        }
    expect(e, ASX_ORACLE_QUIESCENCE);
    e = record(); /* a region in it */
    size_t closed = e->len;
    for (size_t i = e->len; i-- > 0;)
        if (e->at[i].kind == ASX_EVENT_REGION_STATE && e->at[i].b == ASX_REGION_CLOSED &&
            e->at[i].object == 3)
            closed = i;
    CHECK(closed < e->len);
    drop(e, closed);
    expect(e, ASX_ORACLE_QUIESCENCE);
}

ASX_TEST(a_loser_of_a_race_that_is_alive_is_not_drained)
{
    events *e = record();
    uint64_t loser = 0;
    for (size_t i = 0; i < e->len; i++)
        if (e->at[i].kind == ASX_EVENT_CANCEL_REQUEST && e->at[i].a == ASX_CANCEL_RACE_LOST)
            loser = e->at[i].object;
    CHECK(loser != 0);
    for (size_t i = 0; i < e->len; i++)
        if (e->at[i].kind == ASX_EVENT_TASK_COMPLETE && e->at[i].object == loser) {
            drop(e, i);
            break;
        }
    expect(e, ASX_ORACLE_LOSERS);
}

ASX_TEST(finalizers_that_run_twice_or_not_at_all_are_noticed)
{
    events *e = record();
    twice(e, find(e, ASX_EVENT_FINALIZER_RUN, 0));
    expect(e, ASX_ORACLE_FINALIZERS);
    e = record();
    twice(e, find(e, ASX_EVENT_FINALIZER_RUN, 1));
    expect(e, ASX_ORACLE_FINALIZERS);
    e = record();
    drop(e, find(e, ASX_EVENT_FINALIZER_RUN, 1));
    expect(e, ASX_ORACLE_FINALIZERS);
    e = record(); /* the wrong way round */
    size_t a = find(e, ASX_EVENT_FINALIZER_RUN, 0), b = find(e, ASX_EVENT_FINALIZER_RUN, 1);
    e->at[a].a = 1;
    e->at[b].a = 2;
    expect(e, ASX_ORACLE_FINALIZERS);
}

ASX_TEST(a_cancellation_out_of_order_is_noticed)
{
    static const uint32_t kinds[] = { ASX_EVENT_CANCEL_REQUEST, ASX_EVENT_CANCEL_ACK };
    for (size_t i = 0; i < 2; i++) {
        events *e = record();
        twice(e, find(e, kinds[i], 0));
        expect(e, ASX_ORACLE_CANCEL_ORDER);
        e = record();
        drop(e, find(e, kinds[i], 0));
        expect(e, ASX_ORACLE_CANCEL_ORDER);
    }
    events *e = record();
    drop(e, find(e, ASX_EVENT_TASK_STATE, 0));
    expect(e, ASX_ORACLE_CANCEL_ORDER);
    e = record();
    twice(e, find(e, ASX_EVENT_TASK_COMPLETE, 0));
    expect(e, ASX_ORACLE_CANCEL_ORDER);
}

ASX_TEST(a_timer_that_is_early_late_or_doubled_is_noticed)
{
    events *e = record();
    e->at[find(e, ASX_EVENT_TIMER_FIRE, 0)].time -= 1;
    expect(e, ASX_ORACLE_DEADLINE);
    e = record();
    twice(e, find(e, ASX_EVENT_TIMER_FIRE, 0));
    expect(e, ASX_ORACLE_DEADLINE);
    e = record();
    size_t fire = find(e, ASX_EVENT_TIMER_FIRE, 0);
    asx_time now = e->at[fire].time;
    e->at[fire] = (asx_event){ .kind = ASX_EVENT_CLOCK_ADVANCE, .a = now, .b = now + 1 };
    expect(e, ASX_ORACLE_DEADLINE);
}

/* The receiver waited and was handed the first message; it is as if nobody had told it. */
ASX_TEST(who_waits_for_what_has_happened_was_not_woken)
{
    events *e = record();
    uint64_t receiver = 0;
    for (size_t i = 0; i < e->len; i++)
        if (e->at[i].kind == ASX_EVENT_TASK_PARK && e->at[i].a == 2)
            receiver = e->at[i].object;
    CHECK(receiver != 0);
    drop_kind(e, ASX_EVENT_CHANNEL_RECV);
    for (size_t i = e->len; i-- > 0;)
        if (e->at[i].object == receiver &&
            (e->at[i].kind == ASX_EVENT_TASK_WAKE || e->at[i].kind == ASX_EVENT_TASK_COMPLETE ||
             e->at[i].kind == ASX_EVENT_TASK_STATE || e->at[i].kind == ASX_EVENT_TASK_RUN))
            drop(e, i);
    for (size_t i = 0; i < e->len; i++) /* what is queued has not been taken */
        if (e->at[i].kind == ASX_EVENT_CHANNEL_SEND)
            e->at[i].b = e->at[i].a;
    expect(e, ASX_ORACLE_LOST_WAKEUP);
    e = record(); /* woken, and never run */
    size_t wake = find(e, ASX_EVENT_TASK_WAKE, 0);
    for (size_t i = e->len; i-- > wake + 1;)
        if (e->at[i].object == e->at[wake].object && e->at[i].kind >= ASX_EVENT_TASK_STATE &&
            e->at[i].kind <= ASX_EVENT_TASK_COMPLETE)
            drop(e, i);
    expect(e, ASX_ORACLE_LOST_WAKEUP);
}

ASX_TEST(a_channel_that_is_no_queue_is_noticed)
{
    events *e = record();
    drop(e, find(e, ASX_EVENT_CHANNEL_SEND, 1)); /* received and never sent */
    expect(e, ASX_ORACLE_CHANNEL);
    e = record();
    twice(e, find(e, ASX_EVENT_CHANNEL_RECV, 1)); /* received twice */
    expect(e, ASX_ORACLE_CHANNEL);
    e = record();
    drop(e, find(e, ASX_EVENT_CHANNEL_RECV, 1)); /* lost */
    expect(e, ASX_ORACLE_CHANNEL);
    e = record();
    size_t a = find(e, ASX_EVENT_CHANNEL_RECV, 1), b = find(e, ASX_EVENT_CHANNEL_RECV, 2);
    uint64_t number = e->at[a].a; /* overtaken */
    e->at[a].a = e->at[b].a;
    e->at[b].a = number;
    expect(e, ASX_ORACLE_CHANNEL);
    e = record();
    e->at[find(e, ASX_EVENT_CHANNEL_CREATE, 0)].a = 0; /* more than there is room for */
    expect(e, ASX_ORACLE_CHANNEL);
}

ASX_TEST(a_holder_that_is_not_run_while_others_wait_is_noticed)
{
    static const asx_event start[] = {
        { .kind = ASX_EVENT_REGION_OPEN, .object = 1 },
        { .kind = ASX_EVENT_TASK_SPAWN, .object = 1, .a = 1 },
        { .kind = ASX_EVENT_TASK_SPAWN, .object = 2, .a = 1 },
        { .kind = ASX_EVENT_TASK_SPAWN, .object = 3, .a = 1 },
        { .kind = ASX_EVENT_OBLIGATION_RESERVE, .task = 1, .object = 1, .a = 2, .b = 1 },
        { .kind = ASX_EVENT_TASK_PARK, .task = 2, .object = 2, .a = 1, .b = 1 },
    };
    const asx_event run = { .kind = ASX_EVENT_TASK_RUN, .task = 3, .object = 3, .a = 2 };
    const asx_event user = { .kind = ASX_EVENT_USER, .task = 3, .object = 1 };
    asx__oracles o;
    asx__oracles_init(&o);
    for (size_t i = 0; i < sizeof start / sizeof *start; i++)
        asx__oracles_hear(&o, &start[i]);
    for (unsigned i = 0; i < 90000; i++) {
        asx__oracles_hear(&o, &run);
        asx__oracles_hear(&o, &user); /* it gets on */
    }
    CHECK_EQ(o.complaint.oracle, ASX_ORACLE_NONE);
    for (unsigned i = 0; i < 20000; i++) {
        asx__oracles_hear(&o, &run);
        asx__oracles_hear(&o, &user);
    }
    CHECK_EQ(o.complaint.oracle, ASX_ORACLE_FUTURELOCK);
    CHECK(strstr(o.complaint.text, "task 1 holds 1 obligations") != NULL);
    asx__oracles_deinit(&o);
}

/* ---- rules that programs can break ----------------------------------------------------------- */

static asx_lab_result lab(asx_task_fn fn, void *arg)
{
    asx_lab_options options = { .program = "oracles" };
    asx_lab_result result;
    CHECK_STATUS(asx_lab_run(fn, arg, &options, &result), ASX_OK);
    return result;
}

static asx_status forget(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_obligation promise;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &promise), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_forgotten_promise_is_a_leak)
{
    asx_lab_result result = lab(forget, NULL);
    CHECK_STATUS(result.status, ASX_E_OBLIGATION_LEAKED);
    CHECK_EQ(result.complaint.oracle, ASX_ORACLE_OBLIGATION_LEAK);
}

typedef struct pair {
    asx_task tasks[2];
    asx_channel_sender tx;
    asx_channel_receiver rx;
} pair;

static asx_status wait_for_message(asx_cx *cx, void *arg)
{
    int message;
    return asx_channel_recv(cx, &((pair *)arg)->rx, &message);
}

static asx_status nobody_sends(asx_cx *cx, void *arg)
{
    asx_region r;
    pair p;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &p.tx, &p.rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "receiver", wait_for_message, &p), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_deadlock_is_told_with_who_waits_for_what)
{
    asx_lab_result result = lab(nobody_sends, NULL);
    CHECK_STATUS(result.status, ASX_E_DEADLOCK);
    CHECK_EQ(result.complaint.oracle, ASX_ORACLE_DEADLOCK);
    CHECK_STR_EQ(result.complaint.text,
                 "task 1 waits: region-close 2; task 2 waits: channel-recv 1");
}

/* A join that would close a circle is refused by the runtime, so the events are made up: task 1
 * closes region 2, in which task 2 joins task 1. */
ASX_TEST(a_circle_of_waits_is_told)
{
    static const asx_event circle[] = {
        { .kind = ASX_EVENT_REGION_OPEN, .object = 1 },
        { .kind = ASX_EVENT_TASK_SPAWN, .object = 1, .a = 1 },
        { .kind = ASX_EVENT_REGION_OPEN, .task = 1, .object = 2, .a = 1 },
        { .kind = ASX_EVENT_TASK_SPAWN, .task = 1, .object = 2, .a = 2 },
        { .kind = ASX_EVENT_TASK_PARK, .task = 1, .object = 1, .a = 5, .b = 2 },
        { .kind = ASX_EVENT_TASK_PARK, .task = 2, .object = 2, .a = 3, .b = 1 },
        { .kind = ASX_EVENT_REGION_CANCEL, .object = 1, .a = ASX_CANCEL_SHUTDOWN },
    };
    asx__oracles o;
    asx__oracles_init(&o);
    for (size_t i = 0; i < sizeof circle / sizeof *circle; i++)
        asx__oracles_hear(&o, &circle[i]);
    CHECK(asx__oracles_end(&o, ASX_E_DEADLOCK));
    CHECK_EQ(o.complaint.oracle, ASX_ORACLE_DEADLOCK);
    CHECK(strstr(o.complaint.text, "cycle: task 1 -> task 2 -> task 1; ") != NULL ||
          strstr(o.complaint.text, "cycle: task 2 -> task 1 -> task 2; ") != NULL);
    asx__oracles_deinit(&o);
}

static asx_status hold_and_wait(asx_cx *cx, void *arg)
{
    pair *p = arg;
    asx_send_permit permit;
    asx_status st = asx_channel_reserve(cx, &p->tx, &permit);
    if (st >= 0)
        st = asx_join(cx, &p->tasks[1], NULL);
    return st;
}

static asx_status want_room(asx_cx *cx, void *arg)
{
    pair *p = arg;
    int message = 1;
    (void)asx_yield(cx);
    return asx_channel_send(cx, &p->tx, &message);
}

static asx_status futurelock(asx_cx *cx, void *arg)
{
    asx_region r;
    pair p;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &p.tx, &p.rx), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, hold_and_wait, &p, NULL, &p.tasks[0]), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, want_room, &p, NULL, &p.tasks[1]), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_deadlock_around_a_held_permit_is_a_futurelock)
{
    asx_lab_result result = lab(futurelock, NULL);
    CHECK_STATUS(result.status, ASX_E_DEADLOCK);
    CHECK_EQ(result.complaint.oracle, ASX_ORACLE_FUTURELOCK);
}

static void futurelock_explored(asx_cx *cx, void *arg)
{
    (void)futurelock(cx, arg);
}

static void on_deadlock(void *ctx, const asx_explore_failure *failure)
{
    CHECK_EQ(failure->verdict, ASX_EXPLORE_DEADLOCK);
    *(int *)ctx += strstr(failure->text, "; futurelock: 1") != NULL &&
                   strstr(failure->text, "holds an obligation") != NULL;
}

ASX_TEST(an_explored_deadlock_names_who_holds_an_obligation)
{
    int named = 0;
    asx_explore_options options = { .on_failure = on_deadlock, .ctx = &named };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(futurelock_explored, NULL, &options, &result), ASX_OK);
    CHECK_EQ(result.totals.deadlocks, 2); /* or it waits for room itself */
    CHECK_EQ(named, 1);
}

static asx_status spin(asx_cx *cx, void *arg)
{
    (void)arg;
    while (asx_yield(cx) >= 0)
        continue;
    return ASX_OK;
}

static asx_status spinners(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "one", spin, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "two", spin, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_livelock_ends_the_run_with_a_complaint)
{
    asx_lab_result result = lab(spinners, NULL);
    CHECK_STATUS(result.status, ASX_E_ORACLE);
    CHECK_EQ(result.complaint.oracle, ASX_ORACLE_LIVELOCK);
    CHECK(!result.divergence.diverged);
}

static asx_status count_up(asx_cx *cx, void *arg)
{
    return asx_trace_user(cx, 1, (uint64_t)(*(int *)arg)++);
}

ASX_TEST(a_program_that_does_something_else_the_second_time_is_not_deterministic)
{
    asx_lab_options options = { .program = "twice", .twice = true };
    asx_lab_result result;
    int counter = 0;
    CHECK_STATUS(asx_lab_run(good_program, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_STATUS(asx_lab_run(count_up, &counter, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_E_DIVERGED);
    CHECK_EQ(result.complaint.oracle, ASX_ORACLE_DETERMINISM);
    CHECK_EQ(result.divergence.recorded.a, 0);
    CHECK_EQ(result.divergence.actual.a, 1);
}

/* ---- ghosts ---------------------------------------------------------------------------------- */

static int thing;
static int ghost_case;

static asx_status toucher(asx_cx *cx, void *arg)
{
    (void)arg;
    switch (ghost_case) {
    case 1:
        CHECK_STATUS(asx_ghost_touch(cx, &thing, true), ASX_OK);
        break;
    case 2:
    case 4:
        CHECK_STATUS(asx_ghost_touch(cx, &thing, false), ASX_OK);
        break;
    case 3:
        CHECK_STATUS(asx_ghost_borrow(cx, &thing, ASX_GHOST_EXCLUSIVE), ASX_OK);
        break;
    case 9:
        CHECK_STATUS(asx_ghost_borrow(cx, &thing, ASX_GHOST_SHARED), ASX_OK);
        break;
    default:
        break;
    }
    return ASX_OK;
}

/* 0 good, 1 write while shared, 2 read while exclusive, 3 exclusive while shared, 4 not the owner,
 * 5 waits on a borrowed message, 6 handed over, 7 given back first, 8 yields with a borrowed
 * message, 9 shared while exclusive. */
static asx_status ghosts(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task other;
    (void)arg;
    asx_ghost_borrow_kind kind = ghost_case == 2 || ghost_case == 9   ? ASX_GHOST_EXCLUSIVE
                                 : ghost_case == 5 || ghost_case == 8 ? ASX_GHOST_OBLIGATION
                                                                      : ASX_GHOST_SHARED;
    bool owns = ghost_case == 4 || ghost_case == 6;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, toucher, NULL, NULL, &other), ASX_OK);
    if (owns)
        CHECK_STATUS(asx_ghost_adopt(cx, &thing), ASX_OK);
    else
        CHECK_STATUS(asx_ghost_borrow(cx, &thing, kind), ASX_OK);
    if (ghost_case == 6) {
        CHECK_STATUS(asx_ghost_transfer(cx, &thing, &other), ASX_OK);
        CHECK_STATUS(asx_ghost_transfer(cx, &thing, &other), ASX_E_NOT_OWNER);
    }
    if (ghost_case == 7) {
        CHECK_STATUS(asx_ghost_return(cx, &thing), ASX_OK);
        CHECK_STATUS(asx_ghost_return(cx, &thing), ASX_E_NOT_OWNER);
        CHECK_STATUS(asx_ghost_touch(cx, &thing, true), ASX_OK);
    }
    if (ghost_case == 8) {
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_ghost_return(cx, &thing), ASX_OK);
    }
    CHECK_STATUS(asx_join(cx, &other, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(ghosts_tell_who_borrows_and_to_whom_things_belong)
{
    static const asx_oracle expected[] = {
        ASX_ORACLE_NONE,   ASX_ORACLE_BORROW,   ASX_ORACLE_BORROW, ASX_ORACLE_BORROW,
        ASX_ORACLE_AFFINITY, ASX_ORACLE_BORROW, ASX_ORACLE_NONE,   ASX_ORACLE_NONE,
        ASX_ORACLE_BORROW, ASX_ORACLE_BORROW,
    };
    for (ghost_case = 0; ghost_case < 10; ghost_case++) {
        asx_lab_result result = lab(ghosts, NULL);
        if (result.complaint.oracle != expected[ghost_case])
            asx_test_fail(__FILE__, __LINE__, "case %d: %s: %s", ghost_case,
                          asx_oracle_str(result.complaint.oracle), result.complaint.text);
        CHECK_STATUS(result.status,
                     expected[ghost_case] == ASX_ORACLE_NONE ? ASX_OK : ASX_E_ORACLE);
    }
}

static asx_status outside(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_ghost_adopt(cx, &thing), ASX_OK);
    CHECK_STATUS(asx_ghost_return(cx, &thing), ASX_OK);
    CHECK_STATUS(asx_lab_oracle(cx, (asx_oracle_fn)0, NULL), ASX_E_INVALID_ARGUMENT);
    return ASX_OK;
}

ASX_TEST(on_an_ordinary_runtime_ghosts_do_nothing)
{
    CHECK_EQ(asx_main(outside, NULL), 0);
}

/* ---- the program's own ----------------------------------------------------------------------- */

static const char *no_third_user_event(void *ctx, const asx_event *event)
{
    int *seen = ctx;
    if (event == NULL)
        return *seen == 0 ? "there was none at all" : NULL;
    *seen += event->kind == ASX_EVENT_USER;
    return *seen > 2 ? "a third one" : NULL;
}

static asx_status user_events(asx_cx *cx, void *arg)
{
    static int seen;
    seen = 0;
    CHECK_STATUS(asx_lab_oracle(cx, no_third_user_event, &seen), ASX_OK);
    for (int i = 0; i < *(int *)arg; i++)
        CHECK_STATUS(asx_trace_user(cx, 1, (uint64_t)i), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_program_has_oracles_of_its_own_and_says_what_holds_at_the_end)
{
    int count = 2;
    asx_lab_result result = lab(user_events, &count);
    CHECK_STATUS(result.status, ASX_OK);
    count = 3;
    result = lab(user_events, &count);
    CHECK_STATUS(result.status, ASX_E_ORACLE);
    CHECK_EQ(result.complaint.oracle, ASX_ORACLE_USER);
    CHECK_STR_EQ(result.complaint.text, "a third one");
    CHECK(result.complaint.seq != 0);
    count = 0;
    result = lab(user_events, &count);
    CHECK_STR_EQ(result.complaint.text, "there was none at all");
    CHECK_EQ(result.complaint.seq, 0);
}

static asx_status checks(asx_cx *cx, void *arg)
{
    asx_lab_check(cx, *(int *)arg == 1);
    return ASX_OK;
}

ASX_TEST(a_check_counts_in_a_lab_run_too)
{
    int value = 1;
    CHECK_STATUS(lab(checks, &value).status, ASX_OK);
    value = 2;
    asx_lab_result result = lab(checks, &value);
    CHECK_STATUS(result.status, ASX_E_ORACLE);
    CHECK(strstr(result.complaint.text, "*(int *)arg == 1") != NULL);
}

/* ---- in an exploration ----------------------------------------------------------------------- */

static int turn_taken;

static asx_status touches_in_turn(asx_cx *cx, void *arg)
{
    if (asx_lab_fetch_add_at(cx, &turn_taken, sizeof turn_taken, 1, "here") == 0) {
        CHECK_STATUS(asx_ghost_adopt(cx, &thing), ASX_OK);
    } else if (arg == NULL) {
        CHECK_STATUS(asx_ghost_touch(cx, &thing, true), ASX_OK);
    }
    return ASX_OK;
}

static void ghosts_explored(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    turn_taken = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "never", touches_in_turn, &thing), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "second", touches_in_turn, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

ASX_TEST(oracles_are_asked_in_every_execution)
{
    asx_explore_result result;
    CHECK_STATUS(asx_explore(ghosts_explored, NULL, NULL, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_EQ(result.totals.executions, 3);
    CHECK_EQ(result.totals.bugs, 1); /* in one order only */
    CHECK(result.complete);
}

static asx_status touches(asx_cx *cx, void *arg)
{
    return asx_ghost_touch(cx, arg, true);
}

static asx_status adopts(asx_cx *cx, void *arg)
{
    return asx_ghost_adopt(cx, arg);
}

typedef struct ghost_pair {
    asx_task_fn first, second;
    bool in_region; /* the object; else it is on the stack of the test */
} ghost_pair;

static void ghost_pairs(asx_cx *cx, void *arg)
{
    const ghost_pair *p = arg;
    asx_region r;
    int here;
    void *object = &here;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    if (p->in_region)
        CHECK_STATUS(asx_region_alloc(&r, sizeof here, &object), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "first", p->first, object), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "second", p->second, object), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

ASX_TEST(what_is_said_of_an_object_is_said_in_every_order)
{
    static const struct {
        ghost_pair pair;
        uint64_t executions, bugs;
    } rows[] = { { { touches, adopts, false }, 2, 1 },
                 { { adopts, touches, false }, 2, 1 },
                 { { adopts, touches, true }, 2, 1 },
                 { { adopts, adopts, false }, 2, 2 },
                 { { touches, touches, true }, 1, 0 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t jobs = 1; jobs <= 2; jobs++) {
            asx_explore_options options = { .jobs = jobs };
            asx_explore_result result;
            CHECK_STATUS(asx_explore(ghost_pairs, (void *)&rows[i].pair, &options, &result),
                         ASX_OK);
            CHECK_STATUS(result.status, ASX_OK);
            CHECK_EQ(result.totals.executions, rows[i].executions);
            CHECK_EQ(result.totals.bugs, rows[i].bugs);
            CHECK(result.complete);
        }
}

/* ---- data races ---- */

static int cell, race_case;
static asx_lab_mutex lock;

/* 0 nothing orders, 1 a lock, 2 an add, which orders only what was before it, 3 both read. */
static asx_status accesses(asx_cx *cx, void *arg)
{
    (void)arg;
    if (race_case == 1)
        CHECK_STATUS(asx_lab_mutex_lock_at(cx, &lock, "lock"), ASX_OK);
    if (race_case == 2)
        (void)asx_lab_fetch_add_at(cx, &turn_taken, sizeof turn_taken, 1, "add");
    uint64_t seen = asx_lab_load_at(cx, &cell, sizeof cell, "load");
    if (race_case != 3)
        asx_lab_store_at(cx, &cell, sizeof cell, seen + 1, "store");
    if (race_case == 1)
        CHECK_STATUS(asx_lab_mutex_unlock_at(cx, &lock, "unlock"), ASX_OK);
    return ASX_OK;
}

static void racing(asx_cx *cx, void *arg)
{
    asx_region r;
    cell = turn_taken = 0;
    lock = (asx_lab_mutex){ 0 };
    if (arg != NULL)
        CHECK_STATUS(asx_lab_race_free(cx), ASX_OK);
    asx_lab_store_at(cx, &cell, sizeof cell, 0, "before"); /* ordered by the start */
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", accesses, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", accesses, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    asx_lab_store_at(cx, &cell, sizeof cell, 9, "after"); /* and by the close */
}

static char race_text[256];

static void on_race(void *ctx, const asx_explore_failure *failure)
{
    (void)ctx;
    (void)snprintf(race_text, sizeof race_text, "%s: %s", failure->site, failure->text);
}

/* Without a lock every execution has the race, whatever the order: that is what makes it one. */
ASX_TEST(accesses_that_nothing_orders_are_a_data_race)
{
    asx_explore_options options = { .on_failure = on_race };
    asx_explore_result result;
    for (race_case = 0; race_case < 4; race_case++) {
        CHECK_STATUS(asx_explore(racing, &cell, &options, &result), ASX_OK);
        CHECK(result.complete);
        bool races = race_case == 0 || race_case == 2;
        CHECK_EQ(result.totals.bugs, races ? result.totals.executions : 0);
        CHECK_GE(result.totals.executions, 1);
    }
    CHECK(strstr(race_text, "data-race: 1 a ") != NULL); /* the names that the lanes have */
    CHECK(strstr(race_text, " with 2 b, ") != NULL);
    race_case = 0;
    CHECK_STATUS(asx_explore(racing, NULL, NULL, &result), ASX_OK);
    CHECK_EQ(result.totals.bugs, 0); /* nobody asked */
}

static asx_status sends_ready(asx_cx *cx, void *arg)
{
    int one = 1;
    asx_lab_store_at(cx, &cell, sizeof cell, 5, "store");
    return asx_channel_send(cx, &((pair *)arg)->tx, &one);
}

static asx_status by_message(asx_cx *cx, void *arg)
{
    asx_region r;
    pair p;
    int message;
    CHECK_STATUS(asx_lab_race_free(cx), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &p.tx, &p.rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "sender", sends_ready, &p), ASX_OK);
    if (*(bool *)arg)
        CHECK_STATUS(asx_channel_recv(cx, &p.rx, &message), ASX_OK);
    else
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    (void)asx_lab_load_at(cx, &cell, sizeof cell, "load");
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_message_orders_what_was_done_before_it)
{
    bool good = true;
    CHECK_STATUS(lab(by_message, &good).status, ASX_OK);
    good = false;
    asx_lab_result result = lab(by_message, &good);
    CHECK_STATUS(result.status, ASX_E_ORACLE);
    CHECK_EQ(result.complaint.oracle, ASX_ORACLE_DATA_RACE);
}

static void spins_explored(asx_cx *cx, void *arg)
{
    (void)arg;
    while (asx_yield(cx) >= 0)
        continue;
}

ASX_TEST(a_livelock_ends_an_exploration)
{
    asx_explore_result result;
    CHECK_STATUS(asx_explore(spins_explored, NULL, NULL, &result), ASX_OK);
    CHECK_EQ(result.totals.bugs, 1);
    CHECK(!result.complete);
}
