/* test_channel_poll.c - what only a poll task can do: be granted capacity and not pick it up. */
#include "scenario.h"

struct stage {
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_task poller;
    int resumptions;
    asx_status last;
    uint64_t got;
};

static void open_stage(asx_cx *cx, struct stage *s, size_t capacity)
{
    CHECK_STATUS(asx_region_open(cx, NULL, &s->region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&s->region, 8, capacity, NULL, &s->tx, &s->rx), ASX_OK);
}

static asx_channel_info info_of(const struct stage *s)
{
    asx_channel_info info;
    CHECK_STATUS(asx_channel_receiver_info(&s->rx, &info), ASX_OK);
    return info;
}

static asx_status send_two(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    uint64_t m = 2;
    s->last = asx_channel_send(cx, &s->tx, &m);
    return ASX_OK;
}

/* ---- a grant that is not picked up ---------------------------------------------------------- */

static asx_poll reserve_once(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_send_permit permit;
    if (s->resumptions++ == 0) {
        CHECK_STATUS(asx_channel_reserve(cx, &s->tx, &permit), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_channel_reserve(cx, &s->tx, &permit), ASX_E_WOULD_BLOCK);
        CHECK_EQ(info_of(s).send_waiters, 1);
        return ASX_POLL_PENDING;
    }
    return s->resumptions < 4 ? ASX_POLL_PENDING : ASX_POLL_READY; /* and never asks again */
}

static asx_status grant_not_taken(asx_cx *cx, void *arg)
{
    (void)arg;
    struct stage s = { .last = ASX_E_BUSY };
    uint64_t m = 1;
    open_stage(cx, &s, 1);
    CHECK_STATUS(asx_channel_send(cx, &s.tx, &m), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&s.region, "forgets", reserve_once, &s), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_spawn(&s.region, "behind", send_two, &s), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_EQ(info_of(&s).send_waiters, 2);
    CHECK_STATUS(asx_channel_recv(cx, &s.rx, &m), ASX_OK);
    CHECK_EQ(info_of(&s).reserved, 1); /* granted */
    CHECK_EQ(info_of(&s).send_waiters, 1);
    CHECK_STATUS(asx_channel_recv(cx, &s.rx, &m), ASX_OK); /* passed on to the next */
    CHECK_EQ(m, 2);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(s.last, ASX_OK);
    CHECK_EQ(info_of(&s).reserved, 0);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(a_grant_that_is_not_picked_up_passes_on)
{
    asx_test_one_worker("who has run when a yield returns");
    program_check(grant_not_taken, NULL, ASX_OK);
}

/* ---- a cancel that meets a grant ------------------------------------------------------------ */

static asx_poll reserve_until_told(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_send_permit permit;
    s->resumptions++;
    s->last = asx_channel_reserve(cx, &s->tx, &permit);
    return s->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status cancel_meets_grant(asx_cx *cx, void *arg)
{
    (void)arg;
    struct stage s = { 0 }, behind;
    uint64_t m = 1;
    open_stage(cx, &s, 1);
    CHECK_STATUS(asx_channel_send(cx, &s.tx, &m), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&s.region, reserve_until_told, &s, NULL, &s.poller), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    behind = s;
    CHECK_STATUS(asx_spawn(&s.region, "behind", send_two, &behind), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_channel_recv(cx, &s.rx, &m), ASX_OK); /* grants to the poll task ... */
    CHECK_STATUS(asx_task_cancel(&s.poller, NULL), ASX_OK); /* ... which is cancelled */
    CHECK_STATUS(asx_channel_recv(cx, &s.rx, &m), ASX_OK);
    CHECK_EQ(m, 2);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(s.last, ASX_E_CANCELLED);
    CHECK_STATUS(behind.last, ASX_OK);
    CHECK_EQ(info_of(&s).reserved, 0);
    CHECK_EQ(info_of(&s).queued, 0);
    ASX_IGNORE(asx_region_close(&s.region, ASX_OK));
    return ASX_OK;
}

ASX_TEST(a_cancel_that_meets_a_grant_gives_it_to_the_next)
{
    program_check(cancel_meets_grant, NULL, ASX_OK);
}

/* ---- the receiver goes while a grant is under way ------------------------------------------- */

static asx_status drop_meets_grant(asx_cx *cx, void *arg)
{
    (void)arg;
    struct stage s = { 0 };
    asx_channel_info info;
    uint64_t m = 1;
    open_stage(cx, &s, 1);
    CHECK_STATUS(asx_channel_send(cx, &s.tx, &m), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&s.region, "poll", reserve_until_told, &s), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_channel_recv(cx, &s.rx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_receiver_drop(&s.rx), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(s.last, ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_channel_sender_info(&s.tx, &info), ASX_OK);
    CHECK_EQ(info.reserved, 0);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(a_grant_of_a_channel_without_receiver_comes_back)
{
    program_check(drop_meets_grant, NULL, ASX_OK);
}

/* ---- the last sender goes while a grant is under way ---------------------------------------- */

static asx_status recv_for(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    s->last = asx_channel_recv(cx, &s->rx, &s->got);
    return ASX_OK;
}

static asx_status last_sender_meets_grant(asx_cx *cx, void *arg)
{
    (void)arg;
    struct stage s = { 0 }, receiver;
    uint64_t m = 1;
    open_stage(cx, &s, 1);
    CHECK_STATUS(asx_channel_send(cx, &s.tx, &m), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&s.region, reserve_until_told, &s, NULL, &s.poller), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    receiver = s;
    receiver.last = ASX_E_BUSY;
    CHECK_STATUS(asx_channel_recv(cx, &s.rx, &m), ASX_OK); /* grants */
    CHECK_STATUS(asx_task_cancel(&s.poller, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&s.region, "receiver", recv_for, &receiver), ASX_OK);
    CHECK_STATUS(asx_channel_sender_drop(&s.tx), ASX_OK);
    CHECK_STATUS(asx_channel_try_recv(cx, &s.rx,
                                      &m), ASX_E_EMPTY); /* the grant may become a message */
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(receiver.last, ASX_E_DISCONNECTED); /* it did not */
    ASX_IGNORE(asx_region_close(&s.region, ASX_OK));
    return ASX_OK;
}

ASX_TEST(a_grant_keeps_the_sending_side_alive_until_it_comes_back)
{
    program_check(last_sender_meets_grant, NULL, ASX_OK);
}

/* ---- a message that meets a cancel ---------------------------------------------------------- */

static asx_poll recv_until_told(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    s->resumptions++;
    s->last = asx_channel_recv(cx, &s->rx, &s->got);
    return s->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status message_meets_cancel(asx_cx *cx, void *arg)
{
    (void)arg;
    struct stage s = { 0 }, fiber;
    uint64_t m = 9;
    asx_task task;
    open_stage(cx, &s, 1);
    CHECK_STATUS(asx_spawn_poll_task(&s.region, recv_until_told, &s, NULL, &s.poller), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_EQ(info_of(&s).receiver_waits, 1);
    CHECK_STATUS(asx_channel_send(cx, &s.tx, &m), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&s.poller, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(s.last, ASX_E_CANCELLED);
    CHECK_EQ(info_of(&s).queued, 1); /* the poll task had not taken it */
    CHECK_STATUS(asx_channel_recv(cx, &s.rx, &m), ASX_OK);

    fiber = s;
    CHECK_STATUS(asx_spawn_task(&s.region, recv_for, &fiber, NULL, &task), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    m = 10;
    CHECK_STATUS(asx_channel_send(cx, &s.tx, &m), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&task, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(fiber.last, ASX_OK); /* the fiber had */
    CHECK_EQ(fiber.got, 10);
    CHECK_EQ(info_of(&s).queued, 0);
    ASX_IGNORE(asx_region_close(&s.region, ASX_OK));
    return ASX_OK;
}

ASX_TEST(a_message_that_meets_a_cancel_is_received_or_still_queued_but_not_lost)
{
    program_check(message_meets_cancel, NULL, ASX_OK);
}

/* ---- somebody else takes the message -------------------------------------------------------- */

static asx_status taken_by_another(asx_cx *cx, void *arg)
{
    (void)arg;
    struct stage s = { 0 };
    uint64_t m = 9;
    open_stage(cx, &s, 1);
    CHECK_STATUS(asx_spawn_poll(&s.region, "poll", recv_until_told, &s), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &s.tx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_try_recv(cx, &s.rx, &m), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(s.resumptions, 2);
    CHECK_STATUS(s.last, ASX_E_WOULD_BLOCK); /* it waits again */
    CHECK_EQ(info_of(&s).receiver_waits, 1);
    m = 11;
    CHECK_STATUS(asx_channel_send(cx, &s.tx, &m), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(s.last, ASX_OK);
    CHECK_EQ(s.got, 11);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(a_poll_task_whose_message_was_taken_waits_again)
{
    program_check(taken_by_another, NULL, ASX_OK);
}

/* ---- a poll task that talks to itself ------------------------------------------------------- */

static asx_poll talk_to_itself(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    uint64_t m = 21;
    if (s->resumptions++ == 0) {
        CHECK_STATUS(asx_channel_recv(cx, &s->rx, &s->got), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_channel_send(cx, &s->tx, &m), ASX_OK);
        CHECK_STATUS(asx_channel_recv(cx, &s->rx, &s->got), ASX_OK);
        CHECK_EQ(s->got, 21);
        return ASX_POLL_PENDING;
    }
    if (s->resumptions == 2) { /* reserve, be granted, and receive instead */
        CHECK_STATUS(asx_channel_send(cx, &s->tx, &m), ASX_OK);
        CHECK_STATUS(asx_channel_send(cx, &s->tx, &m), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_channel_try_recv(cx, &s->rx, &m), ASX_OK);
        CHECK_EQ(info_of(s).reserved, 1);
        return ASX_POLL_PENDING;
    }
    if (s->resumptions == 3) {
        CHECK_STATUS(asx_channel_recv(cx, &s->rx, &m), ASX_E_WOULD_BLOCK);
        CHECK_EQ(info_of(s).reserved, 0);
        return ASX_POLL_PENDING;
    }
    CHECK_STATUS(asx_channel_recv(cx, &s->rx, &s->got), ASX_OK);
    return ASX_POLL_READY;
}

static asx_status alone(asx_cx *cx, void *arg)
{
    (void)arg;
    struct stage s = { 0 };
    uint64_t m = 33;
    open_stage(cx, &s, 1);
    CHECK_STATUS(asx_spawn_poll(&s.region, "alone", talk_to_itself, &s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(s.resumptions, 3);
    CHECK_EQ(info_of(&s).receiver_waits, 1);
    CHECK_STATUS(asx_channel_send(cx, &s.tx, &m), ASX_OK);
    asx_status st = asx_region_close(&s.region, ASX_OK);
    CHECK_EQ(s.got, 33);
    return st;
}

ASX_TEST(a_poll_task_may_wait_and_serve_itself_in_one_resumption)
{
    program_check(alone, NULL, ASX_OK);
}

/* ---- a grant that is given up for a receive ------------------------------------------------- */

static asx_poll receive_instead(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_send_permit permit;
    if (s->resumptions++ == 0) {
        CHECK_STATUS(asx_channel_reserve(cx, &s->tx, &permit), ASX_E_WOULD_BLOCK);
        return ASX_POLL_PENDING;
    }
    /* Giving the grant up lets the next waiter send, and that is what is received. */
    CHECK_STATUS(asx_channel_recv(cx, &s->rx, &s->got), ASX_OK);
    return ASX_POLL_READY;
}

static asx_status grant_for_message(asx_cx *cx, void *arg)
{
    (void)arg;
    struct stage s = { 0 }, behind;
    uint64_t m = 1;
    open_stage(cx, &s, 1);
    CHECK_STATUS(asx_channel_send(cx, &s.tx, &m), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&s.region, "poll", receive_instead, &s), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    behind = s;
    CHECK_STATUS(asx_spawn(&s.region, "behind", send_two, &behind), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_channel_recv(cx, &s.rx, &m), ASX_OK); /* grants */
    asx_status st = asx_region_close(&s.region, ASX_OK);
    CHECK_EQ(s.resumptions, 2);
    CHECK_EQ(s.got, 2);
    return st;
}

ASX_TEST(a_grant_given_up_for_a_receive_may_bring_the_message)
{
    program_check(grant_for_message, NULL, ASX_OK);
}

/* ---- cleanup on the runtime's side ---------------------------------------------------------- */

static asx_status clean_up(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    uint64_t m = 5;
    asx_ack ack;
    CHECK_STATUS(asx_channel_recv(cx, &s->rx, &m), ASX_E_WRONG_CONTEXT); /* would have to wait */
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &s->rx, &m, &ack), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_channel_send(cx, &s->tx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &s->tx, &m), ASX_E_WRONG_CONTEXT);
    CHECK_EQ(info_of(s).send_waiters, 0);
    CHECK_EQ(info_of(s).receiver_waits, 0);
    s->last = ASX_OK;
    return ASX_OK;
}

static asx_status panics(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_task_defer(cx, clean_up, arg), ASX_OK);
    asx_panic(cx, "to see the cleanup");
}

static asx_poll panics_polling(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_task_defer(cx, clean_up, arg), ASX_OK);
    asx_panic(cx, "to see the cleanup");
}

static asx_status clean_on_the_side(asx_cx *cx, void *arg)
{
    for (int poll = 0; poll < 2; poll++) {
        struct stage s = { .last = ASX_E_BUSY };
        open_stage(cx, &s, 1);
        if (poll)
            CHECK_STATUS(asx_spawn_poll(&s.region, "panics", panics_polling, &s), ASX_OK);
        else
            CHECK_STATUS(asx_spawn(&s.region, "panics", panics, &s), ASX_OK);
        CHECK_STATUS(asx_region_close(&s.region, ASX_OK), ASX_E_PANICKED);
        CHECK_STATUS(s.last, ASX_OK);
    }
    (void)arg;
    return ASX_OK;
}

ASX_TEST(cleanup_on_the_runtimes_side_uses_channels_but_does_not_wait)
{
    program_check(clean_on_the_side, NULL, ASX_OK);
}

/* ---- step by step ---------------------------------------------------------------------------- */

/* A message for a poll task while somebody of another lane is runnable. */
static asx_poll receives_two(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    uint64_t m;
    asx_status st;
    while (s->resumptions < 2 && (st = asx_channel_recv(cx, &s->rx, &m)) != ASX_E_WOULD_BLOCK) {
        CHECK_STATUS(st, ASX_OK);
        s->got += m;
        s->resumptions++;
    }
    return s->resumptions == 2 ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static asx_status yields_a_little(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 5; i++)
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    return ASX_OK;
}

static asx_status sends_beside_another_lane(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_budget high = asx_budget_infinite();
    high.priority = 9;
    open_stage(cx, s, 2);
    CHECK_STATUS(asx_spawn_poll(&s->region, "r", receives_two, s), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK); /* it waits */
    for (uint64_t m = 1; m <= 2; m++) {
        CHECK_STATUS(asx_spawn_task(&s->region, yields_a_little, NULL,
                                    &(asx_spawn_options){ .budget = &high }, NULL),
                     ASX_OK);
        CHECK_STATUS(asx_channel_send(cx, &s->tx, &m), ASX_OK);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    }
    return asx_region_close(&s->region, ASX_OK);
}

ASX_TEST(a_poll_task_is_woken_once_whoever_else_is_runnable)
{
    for (uint64_t dispatches = 1; dispatches < 4; dispatches++) {
        struct stage s = { .resumptions = 0 };
        asx_runtime *rt;
        asx_status st;
        asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL };
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_start(rt, sends_beside_another_lane, &s), ASX_OK);
        while ((st = asx_runtime_step(rt, dispatches, NULL)) == ASX_E_WOULD_BLOCK)
            continue;
        CHECK_STATUS(st, ASX_OK);
        CHECK_EQ(s.got, 3);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}
