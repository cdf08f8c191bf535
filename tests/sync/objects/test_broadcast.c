/* test_broadcast.c - the laws of the broadcast. */
#include "play.h"

static void with_broadcast(asx_cx *cx, struct play_run *run)
{
    (void)cx;
    CHECK_STATUS(asx_broadcast_create(&run->home, sizeof(uint64_t), 3,
                                      &(asx_broadcast_options){ .name = "subject" },
                                      &run->broadcast),
                 ASX_OK);
}

ASX_TEST(every_receiver_sees_every_message_from_its_subscription_on)
{
    static const struct play play = {
        .name = "all", .setup = with_broadcast, .steps =
        { { { 1, op_broadcast_send, 0, 0, 1, 0 }, { 4, op_broadcast_send, 0, 0, 2, 1 },
            { 6, op_broadcast_send, 0, 0, 3, 2 }, { 8, op_broadcast_send, 0, 0, 4, 2 } },
          { { 2, op_subscribe, 0, 0, 0, 0 }, { 3, op_broadcast_recv, 0, 4, 2, 0 },
            { 7, op_broadcast_try_recv, 0, 0, 3, 0 }, { 0, op_broadcast_recv, 0, 8, 4, 0 },
            { 9, op_broadcast_try_recv, ASX_E_EMPTY, 0, 0, 0 } },
          { { 5, op_subscribe, 0, 0, 0, 0 }, { 0, op_broadcast_recv, 0, 6, 3, 0 },
            { 0, op_broadcast_recv, 0, 8, 4, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(a_slow_receiver_is_told_how_many_it_missed)
{
    static const struct play play = {
        .name = "slow", .setup = with_broadcast, .steps =
        { { { 1, op_subscribe, 0, 0, 0, 0 }, { 10, op_broadcast_recv, ASX_E_LAGGED, 0, 2, 0 },
            { 0, op_broadcast_recv, 0, 0, 3, 0 }, { 0, op_broadcast_recv, 0, 0, 4, 0 },
            { 12, op_broadcast_try_recv, ASX_E_LAGGED, 0, 1, 0 },
            { 0, op_broadcast_try_recv, 0, 0, 6, 0 } },
          { { 2, op_broadcast_send, 0, 0, 1, 1 }, { 3, op_broadcast_send, 0, 0, 2, 1 },
            { 4, op_broadcast_send, 0, 0, 3, 1 }, { 5, op_broadcast_send, 0, 0, 4, 1 },
            { 6, op_broadcast_send, 0, 0, 5, 1 }, { 11, op_broadcast_send, 0, 0, 6, 1 },
            { 0, op_broadcast_send, 0, 0, 7, 1 }, { 0, op_broadcast_send, 0, 0, 8, 1 } } },
    };
    play_check(&play);
}

ASX_TEST(a_cancelled_receive_takes_no_message)
{
    static const struct play play = {
        .name = "cancelled", .setup = with_broadcast, .steps =
        { { { 1, op_subscribe, 0, 0, 0, 0 }, { 0, op_broadcast_recv, ASX_E_CANCELLED, 2, 0, 0 },
            { 0, op_broadcast_send, 0, 0, 1, 1 },
            { 0, op_broadcast_recv, ASX_E_CANCELLED, 0, 0, 0 },
            { 0, op_broadcast_try_recv, 0, 0, 1, 0 } },
          { { 2, op_cancel, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(after_a_close_what_was_sent_is_received_and_then_everyone_is_told)
{
    static const struct play play = {
        .name = "close", .setup = with_broadcast, .steps =
        { { { 1, op_subscribe, 0, 0, 0, 0 },
            { 4, op_broadcast_recv, 0, 0, 1, 0 },
            { 5, op_broadcast_recv, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_broadcast_try_recv, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_subscribe, ASX_E_DISCONNECTED, 0, 0, 0 } },
          { { 1, op_subscribe, 0, 0, 0, 0 }, { 0, op_broadcast_recv, 0, 2, 1, 0 },
            { 0, op_broadcast_recv, ASX_E_DISCONNECTED, 3, 0, 0 } },
          { { 2, op_broadcast_send, 0, 0, 1, 2 }, { 3, op_broadcast_close, 0, 0, 0, 0 },
            { 0, op_broadcast_close, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_broadcast_send, ASX_E_DISCONNECTED, 0, 2, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(a_dropped_receiver_is_none)
{
    static const struct play play = {
        .name = "dropped", .setup = with_broadcast, .steps =
        { { { 1, op_subscribe, 0, 0, 0, 0 }, { 3, op_broadcast_drop, 0, 0, 0, 0 },
            { 0, op_broadcast_drop, ASX_E_STALE_HANDLE, 0, 0, 0 },
            { 0, op_broadcast_recv, ASX_E_STALE_HANDLE, 0, 0, 0 },
            { 0, op_broadcast_try_recv, ASX_E_STALE_HANDLE, 0, 0, 0 },
            { 0, op_subscribe, 0, 0, 0, 0 }, { 5, op_broadcast_recv, 0, 0, 2, 0 } },
          { { 2, op_broadcast_send, 0, 0, 1, 1 }, { 4, op_broadcast_send, 0, 0, 2, 1 } } },
    };
    play_check(&play);
}

ASX_TEST(the_end_of_its_region_tells_who_waits)
{
    static const struct play play = {
        .name = "home goes", .setup = with_broadcast, .steps =
        { { { 1, op_subscribe, 0, 0, 0, 0 }, { 0, op_broadcast_recv, ASX_E_DISCONNECTED, 5, 0, 0 },
            { 0, op_broadcast_recv, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_broadcast_drop, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_subscribe, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_broadcast_send, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_broadcast_close, ASX_E_DISCONNECTED, 0, 0, 0 } } },
        .home_first = true, .home_closes_at = 5,
    };
    play_check(&play);
}

/* ---- two tasks and one receiver -------------------------------------------------------------- */

struct stage {
    asx_region region;
    asx_broadcast broadcast;
    asx_broadcast_receiver receiver;
    asx_status last;
};

static asx_status receives(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    uint64_t got;
    s->last = asx_broadcast_recv(cx, &s->receiver, &got, NULL);
    return ASX_OK;
}

static asx_status shared(asx_cx *cx, void *arg)
{
    struct stage s;
    uint64_t got;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &s.region), ASX_OK);
    CHECK_STATUS(asx_broadcast_create(&s.region, 8, 1, NULL, &s.broadcast), ASX_OK);
    CHECK_STATUS(asx_broadcast_subscribe(&s.broadcast, &s.receiver), ASX_OK);
    CHECK_STATUS(asx_spawn(&s.region, NULL, receives, &s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(asx_broadcast_recv(cx, &s.receiver, &got, NULL), ASX_E_BUSY);
    asx_broadcast_receiver copy = s.receiver;
    CHECK_STATUS(asx_broadcast_receiver_drop(&copy), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(s.last, ASX_E_STALE_HANDLE);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(one_task_receives_at_a_time_and_dropping_tells_it)
{
    program_check(shared, NULL);
}

/* ---- laws over schedules -------------------------------------------------------------------- */

ASX_BROADCAST_TYPE(news, uint64_t)

enum { MESSAGES = 40, LISTENERS = 5, KEPT = 4 };

struct crowd {
    asx_broadcast broadcast;
    uint64_t sent;
};

struct listener {
    struct crowd *crowd;
    asx_broadcast_receiver receiver;
    uint64_t heard, missed, last;
};

/* Messages are numbered: what is heard and what is missed add up, in order. */
static asx_status listen(asx_cx *cx, struct listener *l)
{
    for (;;) {
        uint64_t got = 0, missed = 0;
        asx_status st = news_recv(cx, &l->receiver, &got, &missed);
        if (st == ASX_E_LAGGED) {
            CHECK(missed > 0);
            l->missed += missed;
        } else if (st == ASX_OK) {
            l->heard++;
            CHECK_EQ(got, l->heard + l->missed);
        } else {
            return st == ASX_E_DISCONNECTED ? ASX_OK : st;
        }
        if (l->heard % 5 == 1 && asx_yield(cx) == ASX_E_WOULD_BLOCK)
            return ASX_E_WOULD_BLOCK;
    }
}

static asx_status listen_fiber(asx_cx *cx, void *arg)
{
    return listen(cx, arg);
}

static asx_poll listen_poll(asx_cx *cx, void *arg)
{
    asx_status st = listen(cx, arg);
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING
           : st < 0                ? asx_poll_fail(cx, st)
                                   : ASX_POLL_READY;
}

static asx_status speak(asx_cx *cx, void *arg)
{
    struct crowd *c = arg;
    while (c->sent < MESSAGES) {
        CHECK_STATUS(news_send(&c->broadcast, ++c->sent), ASX_OK);
        if (c->sent % 3 == 0)
            CHECK_STATUS(asx_yield(cx), ASX_OK);
    }
    return asx_broadcast_close(&c->broadcast);
}

static asx_status crowd_program(asx_cx *cx, void *arg)
{
    struct crowd c = { .sent = 0 };
    struct listener listeners[LISTENERS];
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(news_create(&r, KEPT, NULL, &c.broadcast), ASX_OK);
    for (unsigned i = 0; i < LISTENERS; i++) {
        listeners[i] = (struct listener){ .crowd = &c };
        CHECK_STATUS(asx_broadcast_subscribe(&c.broadcast, &listeners[i].receiver), ASX_OK);
        if (i % 2 == 0)
            CHECK_STATUS(asx_spawn(&r, NULL, listen_fiber, &listeners[i]), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_poll(&r, NULL, listen_poll, &listeners[i]), ASX_OK);
    }
    CHECK_STATUS(asx_spawn(&r, NULL, speak, &c), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    for (unsigned i = 0; i < LISTENERS; i++) {
        CHECK_EQ(listeners[i].heard + listeners[i].missed, MESSAGES);
        CHECK_GE(listeners[i].heard, KEPT);
    }
    return ASX_OK;
}

ASX_TEST(what_is_heard_and_what_is_missed_add_up_whatever_the_schedule)
{
    seeds_check(crowd_program, NULL, 200);
}
