/* test_mpmc.c - the laws of the channel of many senders and receivers, on fibers and in poll tasks,
 * on virtual and real time. */
#include "play.h"

#include <string.h>

static struct {
    asx_mpmc_sender tx, tx2;
    asx_mpmc_receiver rx, rx2;
    uint64_t dropped, drop_sum;
} s;

static void on_drop(void *ctx, void *message)
{
    uint64_t value;
    CHECK(ctx == &s);
    memcpy(&value, message, sizeof value);
    s.dropped++;
    s.drop_sum += value;
}

static void make(struct play_run *run, size_t capacity)
{
    memset(&s, 0, sizeof s);
    asx_channel_options options = { "subject", on_drop, &s };
    CHECK_STATUS(asx_mpmc_create(&run->home, sizeof(uint64_t), capacity, &options, &s.tx, &s.rx),
                 ASX_OK);
}

static void unbuffered(asx_cx *cx, struct play_run *run)
{
    (void)cx;
    make(run, 0);
}

static void ring_of_two(asx_cx *cx, struct play_run *run)
{
    (void)cx;
    make(run, 2);
}

/* n is the message, or what it must be. */
static STEP_OP(op_send)
{
    (void)actor;
    return asx_mpmc_send(cx, &s.tx, &step->n);
}

static STEP_OP(op_try_send)
{
    (void)actor;
    return asx_mpmc_try_send(cx, &s.tx, &step->n);
}

static asx_status got(asx_status st, uint64_t message, const struct play_step *step)
{
    if (st == ASX_OK)
        CHECK_EQ(message, step->n);
    return st;
}

static STEP_OP(op_recv)
{
    uint64_t message = 0;
    (void)actor;
    asx_status st = asx_mpmc_recv(cx, &s.rx, &message);
    return got(st, message, step);
}

static STEP_OP(op_try_recv)
{
    uint64_t message = 0;
    (void)actor;
    asx_status st = asx_mpmc_try_recv(cx, &s.rx, &message);
    return got(st, message, step);
}

static STEP_OP(op_close)
{
    (void)cx, (void)actor, (void)step;
    return asx_mpmc_close(&s.tx);
}

static STEP_OP(op_drop_rx)
{
    (void)cx, (void)actor, (void)step;
    return asx_mpmc_receiver_drop(&s.rx);
}

static STEP_OP(op_drop_tx)
{
    (void)cx, (void)actor, (void)step;
    return asx_mpmc_sender_drop(&s.tx);
}

static STEP_OP(op_clone)
{
    (void)cx, (void)actor, (void)step;
    CHECK_STATUS(asx_mpmc_sender_clone(&s.tx, &s.tx2), ASX_OK);
    return asx_mpmc_receiver_clone(&s.rx, &s.rx2);
}

static STEP_OP(op_send2)
{
    (void)actor;
    return asx_mpmc_send(cx, &s.tx2, &step->n);
}

static STEP_OP(op_recv2)
{
    uint64_t message = 0;
    (void)actor;
    asx_status st = asx_mpmc_recv(cx, &s.rx2, &message);
    return got(st, message, step);
}

static STEP_OP(op_drop_tx2)
{
    (void)cx, (void)actor, (void)step;
    return asx_mpmc_sender_drop(&s.tx2);
}

static STEP_OP(op_drop_rx2)
{
    (void)cx, (void)actor, (void)step;
    return asx_mpmc_receiver_drop(&s.rx2);
}

/* n: queued * 100 + senders waiting * 10 + receivers waiting */
static STEP_OP(op_state)
{
    asx_mpmc_info info;
    (void)cx, (void)actor;
    asx_status st = asx_mpmc_sender_info(&s.tx, &info);
    if (st == ASX_OK)
        CHECK_EQ(info.queued * 100 + info.send_waiters * 10 + info.recv_waiters, step->n);
    return st;
}

/* ---- hand-over ------------------------------------------------------------------------------ */

ASX_TEST(without_a_ring_a_send_waits_for_its_receiver)
{
    static const struct play play = {
        .name = "rendezvous", .setup = unbuffered, .steps =
        { { { 1, op_send, 0, 3, 7, 0 }, { 0, op_log, 0, 0, 's', 0 },
            { 5, op_send, 0, 0, 8, 0 }, { 6, op_try_send, ASX_E_FULL, 0, 9, 0 } },
          { { 2, op_state, 0, 0, 10, 0 }, { 3, op_recv, 0, 0, 7, 0 },
            { 4, op_recv, 0, 5, 8, 0 }, { 6, op_try_recv, ASX_E_EMPTY, 0, 0, 0 } } },
        .log = "s",
    };
    play_check(&play);
}

ASX_TEST(senders_are_served_in_the_order_in_which_they_came)
{
    static const struct play play = {
        .name = "senders", .setup = unbuffered, .steps =
        { { { 1, op_send, 0, 5, 1, 0 } }, { { 2, op_send, 0, 6, 2, 0 } },
          { { 3, op_send, 0, 7, 3, 0 } },
          { { 4, op_state, 0, 0, 30, 0 }, { 5, op_recv, 0, 0, 1, 0 }, { 6, op_recv, 0, 0, 2, 0 },
            { 7, op_try_recv, 0, 0, 3, 0 }, { 8, op_try_recv, ASX_E_EMPTY, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(receivers_are_served_in_the_order_in_which_they_came)
{
    static const struct play play = {
        .name = "receivers", .setup = ring_of_two, .steps =
        { { { 1, op_recv, 0, 5, 1, 0 } }, { { 2, op_recv, 0, 6, 2, 0 } },
          { { 3, op_recv, 0, 7, 3, 0 } },
          { { 4, op_state, 0, 0, 3, 0 }, { 5, op_send, 0, 0, 1, 0 }, { 6, op_send, 0, 0, 2, 0 },
            { 7, op_try_send, 0, 0, 3, 0 }, { 8, op_state, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(a_full_ring_makes_senders_wait_and_stays_in_order)
{
    static const struct play play = {
        .name = "ring", .setup = ring_of_two, .steps =
        { { { 1, op_send, 0, 0, 1, 0 }, { 0, op_send, 0, 0, 2, 0 }, { 2, op_send, 0, 4, 3, 0 } },
          { { 3, op_send, 0, 5, 4, 0 } },
          { { 4, op_recv, 0, 0, 1, 0 }, { 0, op_try_send, ASX_E_FULL, 0, 9, 0 },
            { 0, op_state, 0, 0, 210, 0 }, { 5, op_recv, 0, 0, 2, 0 },
            { 6, op_state, 0, 0, 200, 0 }, { 7, op_recv, 0, 0, 3, 0 }, { 0, op_recv, 0, 0, 4, 0 },
            { 0, op_state, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

/* ---- close ---------------------------------------------------------------------------------- */

ASX_TEST(close_tells_waiting_receivers_and_refuses_new_sends)
{
    static const struct play play = {
        .name = "close", .setup = unbuffered, .steps =
        { { { 1, op_recv, ASX_E_CLOSED, 3, 0, 0 }, { 4, op_recv, ASX_E_CLOSED, 0, 0, 0 } },
          { { 2, op_recv, ASX_E_CLOSED, 3, 0, 0 }, { 4, op_try_recv, ASX_E_CLOSED, 0, 0, 0 } },
          { { 3, op_close, 0, 0, 0, 0 }, { 0, op_close, 0, 0, 0, 0 },
            { 0, op_send, ASX_E_CLOSED, 0, 1, 0 }, { 0, op_try_send, ASX_E_CLOSED, 0, 1, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(what_was_admitted_before_the_close_is_received_after_it)
{
    static const struct play play = {
        .name = "admitted", .setup = ring_of_two, .steps =
        { { { 1, op_send, 0, 0, 1, 0 }, { 0, op_send, 0, 0, 2, 0 }, { 2, op_send, 0, 5, 3, 0 } },
          { { 3, op_send, 0, 6, 4, 0 }, { 0, op_send, ASX_E_CLOSED, 0, 5, 0 } },
          { { 4, op_close, 0, 0, 0, 0 }, { 5, op_recv, 0, 0, 1, 0 }, { 6, op_recv, 0, 0, 2, 0 },
            { 7, op_recv, 0, 0, 3, 0 }, { 0, op_recv, 0, 0, 4, 0 },
            { 0, op_recv, ASX_E_CLOSED, 0, 0, 0 } } },
    };
    play_check(&play);
    static const struct play rendezvous = {
        .name = "admitted without a ring", .setup = unbuffered, .steps =
        { { { 1, op_send, 0, 3, 1, 0 } },
          { { 2, op_close, 0, 0, 0, 0 }, { 3, op_recv, 0, 0, 1, 0 },
            { 0, op_recv, ASX_E_CLOSED, 0, 0, 0 } } },
    };
    play_check(&rendezvous);
}

static void two_dropped(struct play_run *run)
{
    CHECK_EQ(s.dropped, 2);
    CHECK_EQ(s.drop_sum, 3);
    CHECK_EQ(run->home_report.messages_discarded, 2);
}

ASX_TEST(the_last_receiver_takes_the_rest_along)
{
    static const struct play play = {
        .name = "last receiver", .setup = ring_of_two, .steps =
        { { { 1, op_clone, 0, 0, 0, 0 }, { 0, op_send, 0, 0, 1, 0 }, { 0, op_send, 0, 0, 2, 0 },
            { 2, op_send, ASX_E_DISCONNECTED, 5, 3, 0 },
            { 6, op_send, ASX_E_DISCONNECTED, 0, 4, 0 } },
          { { 3, op_drop_rx, 0, 0, 0, 0 }, { 0, op_drop_rx, ASX_E_STALE_HANDLE, 0, 0, 0 },
            { 0, op_recv, ASX_E_STALE_HANDLE, 0, 0, 0 }, { 4, op_state, 0, 0, 210, 0 },
            { 5, op_drop_rx2, 0, 0, 0, 0 }, { 6, op_state, 0, 0, 0, 0 } } },
        .after = two_dropped,
    };
    play_check(&play);
}

ASX_TEST(the_last_sender_closes)
{
    static const struct play play = {
        .name = "last sender", .setup = unbuffered, .steps =
        { { { 1, op_clone, 0, 0, 0, 0 }, { 2, op_drop_tx, 0, 0, 0, 0 },
            { 0, op_send, ASX_E_STALE_HANDLE, 0, 1, 0 },
            { 0, op_drop_tx, ASX_E_STALE_HANDLE, 0, 0, 0 }, { 4, op_send2, 0, 0, 2, 0 },
            { 6, op_drop_tx2, 0, 0, 0, 0 } },
          { { 3, op_recv2, 0, 4, 2, 0 }, { 5, op_recv, ASX_E_CLOSED, 6, 0, 0 } } },
    };
    play_check(&play);
}

/* ---- cancellation --------------------------------------------------------------------------- */

ASX_TEST(a_cancelled_waiter_has_sent_and_taken_nothing)
{
    static const struct play senders = {
        .name = "cancelled sender", .setup = unbuffered, .steps =
        { { { 1, op_send, ASX_E_CANCELLED, 3, 1, 0 } },
          { { 2, op_send, 0, 4, 2, 0 } },
          { { 3, op_cancel, 0, 0, 0, 0 }, { 4, op_recv, 0, 0, 2, 0 },
            { 5, op_try_recv, ASX_E_EMPTY, 0, 0, 0 } } },
    };
    play_check(&senders);
    static const struct play receivers = {
        .name = "cancelled receiver", .setup = unbuffered, .steps =
        { { { 1, op_recv, ASX_E_CANCELLED, 3, 0, 0 } },
          { { 2, op_recv, 0, 4, 2, 0 } },
          { { 3, op_cancel, 0, 0, 0, 0 }, { 4, op_send, 0, 0, 2, 0 },
            { 5, op_try_send, ASX_E_FULL, 0, 3, 0 } } },
    };
    play_check(&receivers);
}

ASX_TEST(who_was_served_before_the_cancel_keeps_what_he_has)
{
    asx_test_one_worker("the other one may go on before the cancel comes");
    static const struct play receiver = {
        .name = "served receiver", .setup = unbuffered, .steps =
        { { { 1, op_recv, 0, 2, 7, 0 }, { 0, op_checkpoint, ASX_E_CANCELLED, 2, 0, 0 } },
          { { 2, op_send, 0, 0, 7, 0 }, { 0, op_cancel, 0, 0, 0, 0 } } },
    };
    play_check(&receiver);
    static const struct play sender = {
        .name = "served sender", .setup = unbuffered, .steps =
        { { { 1, op_send, 0, 2, 7, 0 }, { 0, op_checkpoint, ASX_E_CANCELLED, 2, 0, 0 } },
          { { 2, op_recv, 0, 0, 7, 0 }, { 0, op_cancel, 0, 0, 0, 0 } } },
    };
    play_check(&sender);
}

/* ---- the end of its region ------------------------------------------------------------------- */

ASX_TEST(the_end_of_its_region_tells_who_waits)
{
    static const struct play senders = {
        .name = "home goes, senders wait", .setup = ring_of_two, .steps =
        { { { 1, op_send, 0, 0, 1, 0 }, { 0, op_send, 0, 0, 2, 0 },
            { 2, op_send, ASX_E_DISCONNECTED, 5, 3, 0 },
            { 6, op_send, ASX_E_DISCONNECTED, 0, 4, 0 },
            { 0, op_close, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_drop_rx, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_state, ASX_E_DISCONNECTED, 0, 0, 0 } } },
        .home_first = true, .home_closes_at = 5, .after = two_dropped,
    };
    play_check(&senders);
    static const struct play receivers = {
        .name = "home goes, receivers wait", .setup = ring_of_two, .steps =
        { { { 1, op_recv, ASX_E_DISCONNECTED, 5, 0, 0 },
            { 6, op_try_recv, ASX_E_DISCONNECTED, 0, 0, 0 } },
          { { 2, op_recv, ASX_E_DISCONNECTED, 5, 0, 0 } } },
        .home_first = true, .home_closes_at = 5,
    };
    play_check(&receivers);
}
