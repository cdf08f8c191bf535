/* test_notify.c - the laws of notify and of the barrier. */
#include "play.h"

static void with_notify(asx_cx *cx, struct play_run *run)
{
    (void)cx;
    CHECK_STATUS(asx_notify_create(&run->home, &(asx_notify_options){ .name = "subject" },
                                   &run->notify), ASX_OK);
}

ASX_TEST(one_notification_is_stored_and_no_more)
{
    static const struct play play = {
        .name = "stored", .setup = with_notify, .steps =
        { { { 1, op_notify_one, 0, 0, 0, 0 }, { 2, op_notify_one, 0, 0, 0, 0 },
            { 5, op_notify_one, 0, 0, 0, 0 } },
          { { 3, op_notify_wait, 0, 0, 0, 0 }, { 4, op_notify_wait, 0, 5, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(notifications_for_one_go_to_the_first_who_waits)
{
    static const struct play play = {
        .name = "order", .setup = with_notify, .steps =
        { { { 1, op_notify_wait, 0, 4, 0, 0 }, { 0, op_log, 0, 0, 'a', 0 } },
          { { 2, op_notify_wait, 0, 5, 0, 0 }, { 0, op_log, 0, 0, 'b', 0 } },
          { { 3, op_notify_wait, 0, 6, 0, 0 }, { 0, op_log, 0, 0, 'c', 0 } },
          { { 4, op_notify_one, 0, 0, 0, 0 }, { 5, op_notify_one, 0, 0, 0, 0 },
            { 6, op_notify_one, 0, 0, 0, 0 } } },
        .log = "abc",
    };
    play_check(&play);
}

ASX_TEST(a_notification_for_all_wakes_who_waits_now_and_is_not_stored)
{
    static const struct play play = {
        .name = "all", .setup = with_notify, .steps =
        { { { 2, op_notify_wait, 0, 4, 0, 0 }, { 5, op_notify_wait, 0, 6, 0, 0 } },
          { { 3, op_notify_wait, 0, 4, 0, 0 } },
          { { 1, op_notify_all, 0, 0, 0, 0 }, { 4, op_notify_all, 0, 0, 0, 0 },
            { 6, op_notify_one, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(a_cancelled_wait_takes_no_notification)
{
    static const struct play play = {
        .name = "cancelled", .setup = with_notify, .steps =
        { { { 1, op_notify_wait, ASX_E_CANCELLED, 3, 0, 0 } },
          { { 2, op_notify_wait, 0, 4, 0, 0 } },
          { { 3, op_cancel, 0, 0, 0, 0 }, { 4, op_notify_one, 0, 0, 0, 0 },
            { 5, op_notify_one, 0, 0, 0, 0 }, { 6, op_notify_wait, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(the_end_of_its_region_tells_who_waits)
{
    static const struct play play = {
        .name = "home goes", .setup = with_notify, .steps =
        { { { 1, op_notify_wait, ASX_E_REGION_CLOSED, 5, 0, 0 },
            { 0, op_notify_wait, ASX_E_REGION_CLOSED, 0, 0, 0 },
            { 0, op_notify_one, ASX_E_REGION_CLOSED, 0, 0, 0 },
            { 0, op_notify_all, ASX_E_REGION_CLOSED, 0, 0, 0 } } },
        .home_first = true, .home_closes_at = 5,
    };
    play_check(&play);
}

struct stage {
    asx_region region;
    asx_notify notify;
    asx_task task;
    asx_status last;
};

static asx_poll polls(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    s->last = asx_notify_wait(cx, &s->notify);
    return s->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

/* A poll task that was notified and is cancelled: what was for one passes on, to the next or into
 * the store; what was for all does not. */
static asx_status cancel_meets_grant(asx_cx *cx, void *arg)
{
    struct stage s = { .last = ASX_OK };
    asx_region_options options = { .timeout_ns = ASX_SEC };
    bool all = *(bool *)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &s.region), ASX_OK);
    CHECK_STATUS(asx_notify_create(&s.region, NULL, &s.notify), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&s.region, polls, &s, NULL, &s.task), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(all ? asx_notify_all(&s.notify) : asx_notify_one(&s.notify), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&s.task, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(s.last, ASX_E_CANCELLED);
    asx_region timed;
    struct stage again = s;
    CHECK_STATUS(asx_region_open(cx, &options, &timed), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&timed, NULL, polls, &again), ASX_OK);
    CHECK_STATUS(asx_region_close(&timed, ASX_OK), all ? ASX_E_TIMEOUT : ASX_OK);
    CHECK_STATUS(again.last, all ? ASX_E_CANCELLED : ASX_OK);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(what_was_on_its_way_to_one_passes_on)
{
    bool all = false;
    program_check(cancel_meets_grant, &all);
    all = true;
    program_check(cancel_meets_grant, &all);
}

/* ---- barrier -------------------------------------------------------------------------------- */

static void with_barrier(asx_cx *cx, struct play_run *run)
{
    (void)cx;
    CHECK_STATUS(asx_barrier_create(&run->home, 3, &(asx_barrier_options){ .name = "subject" },
                                    &run->barrier), ASX_OK);
}

ASX_TEST(all_go_on_when_the_last_arrives_who_leads_and_again)
{
    static const struct play play = {
        .name = "barrier", .setup = with_barrier, .steps =
        { { { 1, op_barrier, 0, 3, 0, 0 }, { 6, op_barrier, 0, 0, 1, 0 } },
          { { 2, op_barrier, 0, 3, 0, 0 }, { 5, op_barrier, 0, 6, 0, 0 } },
          { { 3, op_barrier, 0, 0, 1, 0 }, { 4, op_barrier, 0, 6, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(a_cancelled_waiter_does_not_count)
{
    static const struct play play = {
        .name = "barrier, cancelled", .setup = with_barrier, .steps =
        { { { 1, op_barrier, ASX_E_CANCELLED, 3, 0, 0 } },
          { { 2, op_barrier, 0, 6, 0, 0 } },
          { { 3, op_cancel, 0, 0, 0, 0 }, { 4, op_barrier, 0, 6, 0, 0 } },
          { { 6, op_barrier, 0, 0, 1, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(the_end_of_its_region_opens_no_barrier)
{
    static const struct play play = {
        .name = "barrier, home goes", .setup = with_barrier, .steps =
        { { { 1, op_barrier, ASX_E_REGION_CLOSED, 5, 0, 0 } },
          { { 2, op_barrier, ASX_E_REGION_CLOSED, 5, 0, 0 },
            { 0, op_barrier, ASX_E_REGION_CLOSED, 0, 0, 0 } } },
        .home_first = true, .home_closes_at = 5,
    };
    play_check(&play);
}

enum { PARTIES = 5, ROUNDS = 12 };

struct crowd {
    asx_barrier barrier;
    unsigned round[PARTIES], leaders;
};

static asx_poll asks_twice(asx_cx *cx, void *arg)
{
    struct crowd *c = arg;
    bool leader = true;
    asx_status st = asx_barrier_wait(cx, &c->barrier, &leader);
    if (st == ASX_OK) {
        CHECK(!leader);
        return ASX_POLL_READY;
    }
    CHECK_STATUS(asx_barrier_wait(cx, &c->barrier, &leader), ASX_E_WOULD_BLOCK);
    c->leaders++;
    return ASX_POLL_PENDING;
}

static asx_status counted_once(asx_cx *cx, void *arg)
{
    struct crowd c = { .leaders = 0 };
    asx_region r;
    bool leader = false;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_barrier_create(&r, 2, NULL, &c.barrier), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, NULL, asks_twice, &c), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_EQ(c.leaders, 1); /* it waits */
    CHECK_STATUS(asx_barrier_wait(cx, &c.barrier, &leader), ASX_OK);
    CHECK(leader);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_poll_task_that_asks_twice_counts_once)
{
    program_check(counted_once, NULL);
}

struct member {
    struct crowd *crowd;
    unsigned number;
};

static asx_status step(asx_cx *cx, struct member *m)
{
    struct crowd *c = m->crowd;
    while (c->round[m->number] < ROUNDS) {
        bool leader;
        asx_status st = asx_barrier_wait(cx, &c->barrier, &leader);
        if (st < 0)
            return st;
        c->leaders += leader;
        c->round[m->number]++;
        for (unsigned i = 0; i < PARTIES; i++) /* nobody is a round ahead or behind by two */
            CHECK_LE(c->round[i] + 1 - c->round[m->number], 2);
    }
    return ASX_OK;
}

static asx_status step_fiber(asx_cx *cx, void *arg)
{
    return step(cx, arg);
}

static asx_poll step_poll(asx_cx *cx, void *arg)
{
    asx_status st = step(cx, arg);
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING
           : st < 0                ? asx_poll_fail(cx, st)
                                   : ASX_POLL_READY;
}

static asx_status rounds(asx_cx *cx, void *arg)
{
    struct crowd c = { .leaders = 0 };
    struct member members[PARTIES];
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_barrier_create(&r, PARTIES, NULL, &c.barrier), ASX_OK);
    for (unsigned i = 0; i < PARTIES; i++) {
        members[i] = (struct member){ &c, i };
        if (i % 2 == 0)
            CHECK_STATUS(asx_spawn(&r, NULL, step_fiber, &members[i]), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_poll(&r, NULL, step_poll, &members[i]), ASX_OK);
    }
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(c.leaders, ROUNDS);
    return ASX_OK;
}

ASX_TEST(rounds_have_one_leader_each_whatever_the_schedule)
{
    seeds_check(rounds, NULL, 200);
}
