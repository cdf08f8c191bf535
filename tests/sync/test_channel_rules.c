/* test_channel_rules.c - the rules of the two-phase channel, each on every mix of vehicles. */
#include "scenario.h"

#define S(at, what, ...) { .at_ms = (at), .op = OP_##what, __VA_ARGS__ }

/* ---- two phases ----------------------------------------------------------------------------- */

ASX_TEST(reserve_then_send_then_receive_delivers_the_value)
{
    static const struct scenario sc = {
        .name = "two phases", .capacity = 2, .actor_count = 2,
        .actors = {
            { "sender", { S(0, RESERVE, .slot = 0), S(0, RESERVED, .value = 1),
                          S(0, QUEUED, .value = 0), S(0, PSEND, .slot = 0, .value = 42),
                          S(0, RESERVED, .value = 0), S(0, QUEUED, .value = 1) } },
            { "receiver", { S(1, RECV, .value = 42), S(0, QUEUED, .value = 0) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_reservation_counts_against_capacity_before_its_value_exists)
{
    static const struct scenario sc = {
        .name = "reserved counts", .capacity = 2, .actor_count = 1,
        .actors = {
            { "sender", { S(0, RESERVE, .slot = 0), S(0, SEND, .value = 1),
                          S(0, TRY_SEND, .value = 2, .want = ASX_E_FULL),
                          S(0, TRY_RESERVE, .slot = 1, .want = ASX_E_FULL),
                          S(0, PABORT, .slot = 0), S(0, TRY_RESERVE, .slot = 1),
                          S(0, PSEND, .slot = 1, .value = 2), S(0, TRY_RECV, .value = 1),
                          S(0, TRY_RECV, .value = 2), S(0, TRY_RECV, .want = ASX_E_EMPTY) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(abort_hands_the_slot_to_the_next_waiter)
{
    static const struct scenario sc = {
        .name = "abort", .capacity = 1, .actor_count = 3,
        .actors = {
            { "holder", { S(0, RESERVE, .slot = 0), S(3, WAITERS, .value = 2),
                          S(5, PABORT, .slot = 0), S(0, QUEUED, .value = 0),
                          S(0, RESERVED, .value = 1), S(0, WAITERS, .value = 1) } },
            { "first", { S(1, RESERVE, .slot = 0, .done_ms = 5),
                         S(7, PABORT, .slot = 0) } },
            { "second", { S(2, RESERVE, .slot = 0, .done_ms = 7), S(8, PABORT, .slot = 0),
                          S(0, RESERVED, .value = 0) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_permit_is_resolved_exactly_once)
{
    static const struct scenario sc = {
        .name = "linear", .capacity = 2, .actor_count = 1,
        .actors = {
            { "sender", { S(0, RESERVE, .slot = 0), S(0, PSEND, .slot = 0, .value = 1),
                          S(0, PSEND, .slot = 0, .value = 1,
                            .want = ASX_E_OBLIGATION_ALREADY_RESOLVED),
                          S(0, PABORT, .slot = 0, .want = ASX_E_OBLIGATION_ALREADY_RESOLVED),
                          S(0, RESERVE, .slot = 1), S(0, PABORT, .slot = 1),
                          S(0, PSEND, .slot = 1, .value = 1,
                            .want = ASX_E_OBLIGATION_ALREADY_RESOLVED),
                          S(0, PABORT, .slot = 1, .want = ASX_E_OBLIGATION_ALREADY_RESOLVED),
                          S(0, QUEUED, .value = 1), S(0, RESERVED, .value = 0) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(the_end_of_a_task_aborts_its_permits_and_serves_the_next)
{
    static const struct scenario sc = {
        .name = "end aborts", .capacity = 2, .actor_count = 3,
        .actors = {
            { "forgetful", { S(0, RESERVE, .slot = 0), S(0, RESERVE, .slot = 1),
                             S(5, RESERVED, .value = 2) } },
            { "first", { S(1, RESERVE, .slot = 0, .done_ms = 5), S(6, PSEND, .value = 1) } },
            { "second", { S(2, SEND, .value = 2, .done_ms = 5), S(7, TRY_RECV, .value = 2),
                          S(7, TRY_RECV, .value = 1), S(0, RESERVED, .value = 0) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_panic_aborts_the_permits_of_its_task)
{
    static const struct scenario sc = {
        .name = "panic aborts", .capacity = 1, .actor_count = 2, .want_close = ASX_E_PANICKED,
        .actors = {
            { "panics", { S(0, RESERVE, .slot = 0), S(0, PANIC) } },
            { "waits", { S(0, MASK), S(0, RESERVE, .slot = 0), S(0, PABORT, .slot = 0),
                         S(0, RESERVED, .value = 0), S(0, UNMASK) } },
        },
    };
    scenario_check(&sc);
}

/* ---- order and fairness --------------------------------------------------------------------- */

ASX_TEST(messages_arrive_in_the_order_in_which_they_were_sent)
{
    static const struct scenario sc = {
        .name = "fifo", .capacity = 7, .actor_count = 3,
        .actors = {
            { "a", { S(1, SEND, .value = 1), S(3, SEND, .value = 3), S(5, SEND, .value = 5),
                     S(7, SEND, .value = 7) } },
            { "b", { S(2, SEND, .value = 2), S(4, SEND, .value = 4), S(6, SEND, .value = 6) } },
            { "receiver", { S(8, RECV, .value = 1), S(0, RECV, .value = 2), S(0, RECV, .value = 3),
                            S(0, RECV, .value = 4), S(0, RECV, .value = 5), S(0, RECV, .value = 6),
                            S(0, RECV, .value = 7) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(waiting_senders_are_served_in_the_order_in_which_they_came)
{
    static const struct scenario sc = {
        .name = "waiters", .capacity = 1, .actor_count = 5,
        .actors = {
            { "fill", { S(0, SEND, .value = 1) } },
            { "late", { S(4, SEND, .value = 4, .done_ms = 12) } },
            { "early", { S(2, RESERVE, .slot = 0, .done_ms = 10),
                         S(0, PSEND, .slot = 0, .value = 2, .done_ms = 10) } },
            { "middle", { S(3, SEND, .value = 3, .done_ms = 11) } },
            { "receiver", { S(10, RECV, .value = 1, .done_ms = 10),
                            S(11, RECV, .value = 2, .done_ms = 11),
                            S(12, RECV, .value = 3, .done_ms = 12),
                            S(13, RECV, .value = 4, .done_ms = 13) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(nobody_passes_a_waiter_when_a_slot_becomes_free)
{
    static const struct scenario sc = {
        .name = "no passing", .capacity = 1, .actor_count = 2,
        .actors = {
            { "waits", { S(1, RESERVE, .slot = 0, .done_ms = 5),
                         S(6, PSEND, .slot = 0, .value = 9) } },
            { "rival", { S(0, SEND, .value = 1), S(5, RECV, .value = 1),
                         S(0, TRY_RESERVE, .slot = 0, .want = ASX_E_FULL),
                         S(0, TRY_SEND, .value = 2, .want = ASX_E_FULL),
                         S(0, EVICT, .value = 2, .want = ASX_E_FULL),
                         S(0, QUEUED, .value = 0), S(0, RESERVED, .value = 1),
                         S(0, RECV, .value = 9, .done_ms = 6) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_full_channel_makes_the_sender_wait_until_a_message_is_taken)
{
    static const struct scenario sc = {
        .name = "backpressure", .capacity = 1, .actor_count = 2,
        .actors = {
            { "sender", { S(0, SEND, .value = 1, .done_ms = 0),
                          S(1, SEND, .value = 2, .done_ms = 4),
                          S(0, SEND, .value = 3, .done_ms = 6) } },
            { "receiver", { S(4, RECV, .value = 1, .done_ms = 4),
                            S(6, TRY_RECV, .value = 2), S(6, RECV, .value = 3) } },
        },
    };
    scenario_check(&sc);
}

/* ---- receiving ------------------------------------------------------------------------------ */

ASX_TEST(a_receiver_that_waits_gets_the_next_message)
{
    static const struct scenario sc = {
        .name = "recv waits", .capacity = 1, .actor_count = 2,
        .actors = {
            { "receiver", { S(0, RECV, .value = 7, .done_ms = 3),
                            S(0, RECV, .value = 8, .done_ms = 4),
                            S(0, RECV, .value = 9, .done_ms = 5) } },
            { "sender", { S(2, RX_WAITS, .value = 1), S(3, SEND, .value = 7),
                          S(4, RESERVE, .slot = 0), S(0, PSEND, .slot = 0, .value = 8),
                          S(5, TRY_SEND, .value = 9) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(only_one_task_receives_at_a_time)
{
    static const struct scenario sc = {
        .name = "busy", .capacity = 1, .actor_count = 3,
        .actors = {
            { "receiver", { S(0, RECV, .value = 7, .done_ms = 5) } },
            { "intruder", { S(1, RECV, .want = ASX_E_BUSY),
                            S(1, RECV_ACK, .want = ASX_E_BUSY),
                            S(1, TRY_RECV, .want = ASX_E_EMPTY) } },
            { "sender", { S(5, SEND, .value = 7) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_slot_freed_by_direct_hand_over_serves_a_waiter)
{
    static const struct scenario sc = {
        .name = "hand-over frees", .capacity = 1, .actor_count = 3,
        .actors = {
            { "receiver", { S(0, RECV, .value = 1, .done_ms = 5),
                            S(0, RECV, .value = 2, .done_ms = 5) } },
            { "holder", { S(1, RESERVE, .slot = 0), S(5, PSEND, .slot = 0, .value = 1) } },
            { "waits", { S(2, SEND, .value = 2, .done_ms = 5) } },
        },
    };
    scenario_check(&sc);
}

/* ---- cancellation --------------------------------------------------------------------------- */

ASX_TEST(a_cancelled_reserve_takes_nothing_and_lets_the_next_one_through)
{
    static const struct scenario sc = {
        .name = "cancel reserve", .capacity = 1, .actor_count = 4,
        .actors = {
            { "victim", { S(1, RESERVE, .slot = 0, .want = ASX_E_CANCELLED, .done_ms = 3),
                          S(0, RESERVE, .slot = 0, .want = ASX_E_CANCELLED) } },
            { "next", { S(2, SEND, .value = 2, .done_ms = 5) } },
            { "canceller", { S(0, SEND, .value = 1), S(3, CANCEL, .value = 0),
                             S(4, WAITERS, .value = 1), S(0, RESERVED, .value = 0),
                             S(0, QUEUED, .value = 1) } },
            { "receiver", { S(5, RECV, .value = 1), S(6, RECV, .value = 2) } },
        },
    };
    scenario_check(&sc);
}

/* The slot was given to the victim, which has not run since. */
ASX_TEST(a_slot_on_its_way_to_a_cancelled_sender_passes_on)
{
    static const struct scenario sc = {
        .name = "passes on", .capacity = 1, .actor_count = 4,
        .actors = {
            { "victim", { S(1, RESERVE, .slot = 0, .want = ASX_E_CANCELLED, .done_ms = 5) } },
            { "tracks", { S(2, TRACK, .slot = 0, .want = ASX_E_CANCELLED, .done_ms = 5) } },
            { "next", { S(3, RESERVE, .slot = 0, .done_ms = 5), S(5, RESERVED, .value = 1),
                        S(5, PSEND, .slot = 0, .value = 3) } },
            { "other", { S(0, SEND, .value = 1), S(5, RECV, .value = 1), S(0, CANCEL, .value = 0),
                         S(0, CANCEL, .value = 1), S(6, RECV, .value = 3),
                         S(0, RESERVED, .value = 0) } },
        },
    };
    scenario_check(&sc);
}

/* A fiber's goes at once, not when it ends. */
ASX_TEST(a_slot_on_its_way_to_a_fiber_passes_on_with_the_cancel)
{
    static const struct scenario sc = {
        .name = "at once", .capacity = 1, .actor_count = 3,
        .actors = {
            { "victim", { S(1, RESERVE, .slot = 0, .want = ASX_E_CANCELLED, .done_ms = 5) } },
            { "next", { S(2, RESERVE, .slot = 0, .done_ms = 5), S(0, PABORT, .slot = 0) } },
            { "other", { S(0, SEND, .value = 1), S(5, RECV, .value = 1), S(0, WAITERS, .value = 1),
                         S(0, CANCEL, .value = 0), S(0, WAITERS, .value = 0),
                         S(0, RESERVED, .value = 1) } },
        },
    };
    scenario_run(&sc, 0);
}

ASX_TEST(under_a_mask_the_slot_on_its_way_stays_the_senders)
{
    static const struct scenario sc = {
        .name = "masked", .capacity = 1, .actor_count = 2,
        .actors = {
            { "victim", { S(1, MASK), S(1, RESERVE, .slot = 0, .done_ms = 5),
                          S(0, PSEND, .slot = 0, .value = 2), S(0, UNMASK) } },
            { "other", { S(0, SEND, .value = 1), S(5, RECV, .value = 1), S(0, CANCEL, .value = 0),
                         S(6, RECV, .value = 2) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_send_that_was_let_in_before_the_cancel_is_sent)
{
    static const struct scenario sc = {
        .name = "let in", .capacity = 1, .actor_count = 2,
        .actors = {
            { "victim", { S(1, SEND, .value = 66, .done_ms = 5),
                          S(0, SEND, .value = 67, .want = ASX_E_CANCELLED) } },
            { "other", { S(0, SEND, .value = 1), S(5, RECV, .value = 1), S(0, CANCEL, .value = 0),
                         S(6, RECV, .value = 66), S(0, TRY_RECV, .want = ASX_E_EMPTY),
                         S(0, RESERVED, .value = 0) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_cancelled_send_does_not_send)
{
    static const struct scenario sc = {
        .name = "cancel send", .capacity = 1, .actor_count = 2,
        .actors = {
            { "victim", { S(1, SEND, .value = 66, .want = ASX_E_CANCELLED, .done_ms = 3) } },
            { "other", { S(0, SEND, .value = 1), S(3, CANCEL, .value = 0), S(4, RECV, .value = 1),
                         S(4, TRY_RECV, .want = ASX_E_EMPTY), S(0, RESERVED, .value = 0) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_cancelled_receive_consumes_no_message)
{
    static const struct scenario sc = {
        .name = "cancel recv", .capacity = 1, .actor_count = 2,
        .actors = {
            { "victim", { S(1, RECV, .want = ASX_E_CANCELLED, .done_ms = 3),
                          S(0, RECV, .want = ASX_E_CANCELLED) } },
            { "other", { S(3, CANCEL, .value = 0), S(3, SEND, .value = 5),
                         S(4, RX_WAITS, .value = 0), S(4, QUEUED, .value = 1),
                         S(4, RECV, .value = 5) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_cancelled_task_receives_nothing_even_when_messages_are_there)
{
    static const struct scenario sc = {
        .name = "cancel first", .capacity = 2, .actor_count = 2,
        .actors = {
            { "victim", { S(0, RECV, .value = 1), S(0, RECV, .want = ASX_E_CANCELLED),
                          S(0, RECV_ACK, .want = ASX_E_CANCELLED),
                          S(0, SEND, .value = 3, .want = ASX_E_CANCELLED),
                          S(0, RESERVE, .want = ASX_E_CANCELLED),
                          S(0, TRACK, .want = ASX_E_CANCELLED),
                          S(0, TRY_SEND, .value = 4) } },
            { "other", { S(1, SEND, .value = 1), S(0, SEND, .value = 2), S(0, CANCEL, .value = 0),
                         S(2, QUEUED, .value = 2), S(2, TRY_RECV, .value = 2),
                         S(2, TRY_RECV, .value = 4) } },
        },
    };
    scenario_run(&sc, 0);
    scenario_run(&sc, 2);
}

ASX_TEST(resolving_a_permit_is_not_a_cancellation_point)
{
    static const struct scenario sc = {
        .name = "permit after cancel", .capacity = 2, .actor_count = 2,
        .actors = {
            { "victim", { S(0, RESERVE, .slot = 0), S(0, RESERVE, .slot = 1),
                          S(0, RECV, .want = ASX_E_CANCELLED, .done_ms = 2),
                          S(0, PSEND, .slot = 0, .value = 8), S(0, PABORT, .slot = 1) } },
            { "other", { S(2, CANCEL, .value = 0), S(3, RECV, .value = 8),
                         S(0, RESERVED, .value = 0) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_masked_wait_is_not_ended_by_a_cancel)
{
    static const struct scenario sc = {
        .name = "mask", .capacity = 1, .actor_count = 2,
        .actors = {
            { "victim", { S(0, MASK), S(0, RECV, .value = 4, .done_ms = 4), S(0, UNMASK),
                          S(0, RECV, .want = ASX_E_CANCELLED) } },
            { "other", { S(2, CANCEL, .value = 0), S(4, SEND, .value = 4) } },
        },
    };
    scenario_check(&sc);
}

/* ---- closing -------------------------------------------------------------------------------- */

static void wants_three_dropped(struct run *run)
{
    CHECK_EQ(run->dropped_count, 3);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ(run->dropped[i], i + 1);
    CHECK_EQ(run->report.messages_discarded, 3);
}

ASX_TEST(dropping_the_receiver_discards_the_queue_and_tells_every_sender)
{
    static const struct scenario sc = {
        .name = "receiver drop", .capacity = 4, .actor_count = 4, .after = wants_three_dropped,
        .actors = {
            { "fill", { S(0, SEND, .value = 1), S(0, SEND, .value = 2), S(0, SEND, .value = 3),
                        S(0, RESERVE, .slot = 0),
                        S(6, PSEND, .slot = 0, .value = 4, .want = ASX_E_DISCONNECTED),
                        S(0, PSEND, .slot = 0, .value = 4,
                          .want = ASX_E_OBLIGATION_ALREADY_RESOLVED),
                        S(0, RESERVED, .value = 0) } },
            { "reserves", { S(1, RESERVE, .slot = 0, .want = ASX_E_DISCONNECTED, .done_ms = 5) } },
            { "sends", { S(2, SEND, .value = 9, .want = ASX_E_DISCONNECTED, .done_ms = 5),
                         S(0, SEND, .value = 9, .want = ASX_E_DISCONNECTED),
                         S(0, TRY_SEND, .value = 9, .want = ASX_E_DISCONNECTED),
                         S(0, RESERVE, .want = ASX_E_DISCONNECTED),
                         S(0, TRY_RESERVE, .want = ASX_E_DISCONNECTED),
                         S(0, TRACK, .want = ASX_E_DISCONNECTED),
                         S(0, EVICT, .value = 9, .want = ASX_E_DISCONNECTED) } },
            { "drops", { S(5, DROP_RX), S(0, QUEUED, .value = 0), S(0, WAITERS, .value = 0),
                         S(0, DISCARDED, .value = 3),
                         S(0, STATE, .value = ASX_CHANNEL_RECEIVER_CLOSED),
                         S(0, DROP_RX, .want = ASX_E_STALE_HANDLE),
                         S(0, RECV, .want = ASX_E_STALE_HANDLE),
                         S(0, TRY_RECV, .want = ASX_E_STALE_HANDLE) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(dropping_the_receiver_ends_a_receive_that_waits_through_it)
{
    static const struct scenario sc = {
        .name = "drop under a waiting receive", .capacity = 1, .actor_count = 2,
        .actors = {
            { "waits", { S(0, RECV, .want = ASX_E_STALE_HANDLE, .done_ms = 2) } },
            { "drops", { S(2, DROP_RX) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(after_the_last_sender_the_queue_is_drained_first)
{
    static const struct scenario sc = {
        .name = "sender drop", .capacity = 2, .actor_count = 2,
        .actors = {
            { "sender", { S(0, SEND, .value = 1), S(0, SEND, .value = 2), S(0, DROP_TX),
                          S(0, STATE, .value = ASX_CHANNEL_SENDER_CLOSED),
                          S(0, DROP_TX, .want = ASX_E_STALE_HANDLE),
                          S(0, SEND, .value = 3, .want = ASX_E_STALE_HANDLE),
                          S(0, CLONE, .slot = 0, .want = ASX_E_STALE_HANDLE) } },
            { "receiver", { S(1, RECV, .value = 1), S(0, TRY_RECV, .value = 2),
                            S(0, RECV, .want = ASX_E_DISCONNECTED),
                            S(0, TRY_RECV, .want = ASX_E_DISCONNECTED),
                            S(0, RECV_ACK, .want = ASX_E_DISCONNECTED), S(0, DROP_RX) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(the_last_sender_wakes_a_waiting_receiver)
{
    static const struct scenario sc = {
        .name = "sender drop wakes", .capacity = 2, .actor_count = 2,
        .actors = {
            { "receiver", { S(0, RECV, .want = ASX_E_DISCONNECTED, .done_ms = 4) } },
            { "sender", { S(1, CLONE, .slot = 0), S(2, DROP_TX), S(3, RX_WAITS, .value = 1),
                          S(0, SENDERS, .value = 1), S(4, DROP, .slot = 0) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_clone_counts_and_is_dropped_once)
{
    static const struct scenario sc = {
        .name = "clones", .capacity = 1, .actor_count = 1,
        .actors = {
            { "sender", { S(0, CLONE, .slot = 0), S(0, CLONE, .slot = 1), S(0, SENDERS, .value = 3),
                          S(0, DROP, .slot = 0), S(0, DROP, .slot = 0, .want = ASX_E_STALE_HANDLE),
                          S(0, SENDERS, .value = 2), S(0, CLONE, .slot = 2),
                          S(0, DROP, .slot = 0, .want = ASX_E_STALE_HANDLE),
                          S(0, SENDERS, .value = 3), S(0, DROP_TX), S(0, DROP, .slot = 1),
                          S(0, STATE, .value = ASX_CHANNEL_OPEN), S(0, DROP, .slot = 2),
                          S(0, STATE, .value = ASX_CHANNEL_SENDER_CLOSED) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_permit_keeps_the_sending_side_alive)
{
    static const struct scenario sc = {
        .name = "permit outlives sender", .capacity = 2, .actor_count = 2,
        .actors = {
            { "receiver", { S(0, RECV, .value = 5, .done_ms = 3),
                            S(0, RECV, .want = ASX_E_DISCONNECTED, .done_ms = 4) } },
            { "sender", { S(1, RESERVE, .slot = 0), S(1, RESERVE, .slot = 1), S(1, DROP_TX),
                          S(2, TRY_RECV, .want = ASX_E_EMPTY),
                          S(3, PSEND, .slot = 0, .value = 5), S(4, PABORT, .slot = 1) } },
        },
    };
    scenario_check(&sc);
}

/* ---- eviction ------------------------------------------------------------------------------- */

static void wants_one_dropped(struct run *run)
{
    CHECK_EQ(run->dropped_count, 1);
    CHECK_EQ(run->dropped[0], 2);
    CHECK_EQ(run->report.messages_discarded, 1);
}

ASX_TEST(eviction_takes_the_oldest_message_and_never_a_reservation)
{
    static const struct scenario sc = {
        .name = "evict", .capacity = 2, .actor_count = 1, .after = wants_one_dropped,
        .actors = {
            { "sender", { S(0, EVICT, .value = 1), S(0, QUEUED, .value = 1),
                          S(0, EVICT, .value = 2), S(0, QUEUED, .value = 2),
                          S(0, EVICT, .value = 3, .slot = 1, .extra = 1),
                          S(0, EVICT, .value = 4), S(0, DISCARDED, .value = 1),
                          S(0, RECV, .value = 3), S(0, RESERVE, .slot = 0), S(0, RECV, .value = 4),
                          S(0, RESERVE, .slot = 1), S(0, EVICT, .value = 5, .want = ASX_E_FULL),
                          S(0, PSEND, .slot = 0, .value = 6),
                          S(0, EVICT, .value = 7, .slot = 1, .extra = 6), S(0, RECV, .value = 7),
                          S(0, PABORT, .slot = 1), S(0, DROP_RX),
                          S(0, EVICT, .value = 8, .want = ASX_E_DISCONNECTED) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(eviction_does_not_take_capacity_past_a_waiter)
{
    static const struct scenario sc = {
        .name = "evict past waiter", .capacity = 1, .actor_count = 2,
        .actors = {
            { "waits", { S(1, SEND, .value = 2, .done_ms = 3) } },
            { "evicts", { S(0, SEND, .value = 1), S(2, EVICT, .value = 9, .slot = 1, .extra = 1),
                          S(2, WAITERS, .value = 1), S(2, QUEUED, .value = 1),
                          S(3, RECV, .value = 9), S(3, RECV, .value = 2) } },
        },
    };
    scenario_check(&sc);
}

/* ---- acks ----------------------------------------------------------------------------------- */

ASX_TEST(an_unacknowledged_message_keeps_its_slot)
{
    static const struct scenario sc = {
        .name = "ack keeps slot", .capacity = 2, .actor_count = 2,
        .actors = {
            { "receiver", { S(0, RECV_ACK, .slot = 0, .value = 1, .done_ms = 1),
                            S(2, RESERVED, .value = 1), S(2, QUEUED, .value = 1),
                            S(4, COMMIT, .slot = 0), S(5, RECV_ACK, .slot = 1, .value = 2),
                            S(0, RECV, .value = 3), S(0, COMMIT, .slot = 1),
                            S(0, COMMIT, .slot = 1, .want = ASX_E_OBLIGATION_ALREADY_RESOLVED),
                            S(0, NACK, .slot = 1, .want = ASX_E_OBLIGATION_ALREADY_RESOLVED),
                            S(0, RESERVED, .value = 0) } },
            { "sender", { S(1, SEND, .value = 1), S(0, SEND, .value = 2),
                          S(0, TRY_SEND, .value = 3, .want = ASX_E_FULL),
                          S(0, SEND, .value = 3, .done_ms = 4) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_nack_puts_the_message_back_at_the_front)
{
    static const struct scenario sc = {
        .name = "nack", .capacity = 3, .actor_count = 2,
        .actors = {
            { "receiver", { S(1, RECV_ACK, .slot = 0, .value = 1),
                            S(0, RECV_ACK, .slot = 1, .value = 2),
                            S(0, NACK, .slot = 1), S(0, NACK, .slot = 0),
                            S(0, NACK, .slot = 0, .want = ASX_E_OBLIGATION_ALREADY_RESOLVED),
                            S(0, QUEUED, .value = 3), S(0, RESERVED, .value = 0),
                            S(0, RECV, .value = 1), S(0, RECV, .value = 2),
                            S(0, RECV, .value = 3) } },
            { "sender", { S(0, SEND, .value = 1), S(0, SEND, .value = 2),
                          S(0, SEND, .value = 3) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(the_end_of_a_task_nacks_what_it_has_not_acknowledged)
{
    static const struct scenario sc = {
        .name = "end nacks", .capacity = 3, .actor_count = 3,
        .actors = {
            { "dies", { S(1, RECV_ACK, .slot = 0, .value = 1),
                        S(0, RECV_ACK, .slot = 1, .value = 2),
                        S(0, RECV_ACK, .slot = 2, .value = 3) } },
            { "sender", { S(0, SEND, .value = 1), S(0, SEND, .value = 2), S(0, SEND, .value = 3),
                          S(0, SEND, .value = 4, .done_ms = 3) } },
            { "heir", { S(3, RECV, .value = 1), S(3, RECV, .value = 2), S(3, RECV, .value = 3),
                        S(3, RECV, .value = 4) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_nack_serves_a_receiver_that_waits)
{
    static const struct scenario sc = {
        .name = "nack wakes", .capacity = 1, .actor_count = 3,
        .actors = {
            { "holder", { S(1, RECV_ACK, .slot = 0, .value = 1), S(4, NACK, .slot = 0) } },
            { "waits", { S(2, RECV, .value = 1, .done_ms = 4),
                         S(2, RECV, .value = 2, .done_ms = 4) } },
            { "sender", { S(0, SEND, .value = 1), S(3, SEND, .value = 2, .done_ms = 4) } },
        },
    };
    scenario_check(&sc);
}

static void wants_dropped_7(struct run *run)
{
    CHECK_EQ(run->dropped_count, 1);
    CHECK_EQ(run->dropped[0], 7);
    CHECK_EQ(run->report.messages_discarded, 1);
}

ASX_TEST(acks_outlive_the_receiver)
{
    static const struct scenario sc = {
        .name = "ack after drop", .capacity = 2, .actor_count = 1, .after = wants_dropped_7,
        .actors = {
            { "task", { S(0, SEND, .value = 6), S(0, SEND, .value = 7),
                        S(0, RECV_ACK, .slot = 0, .value = 6),
                        S(0, RECV_ACK, .slot = 1, .value = 7), S(0, DROP_RX),
                        S(0, RESERVED, .value = 2), S(0, COMMIT, .slot = 0),
                        S(0, DISCARDED, .value = 0), S(0, NACK, .slot = 1),
                        S(0, DISCARDED, .value = 1), S(0, RESERVED, .value = 0),
                        S(0, QUEUED, .value = 0) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(an_ack_does_not_keep_the_sending_side_alive)
{
    static const struct scenario sc = {
        .name = "ack and disconnect", .capacity = 2, .actor_count = 1,
        .actors = {
            { "task", { S(0, SEND, .value = 6), S(0, DROP_TX),
                        S(0, RECV_ACK, .slot = 0, .value = 6),
                        S(0, RECV, .want = ASX_E_DISCONNECTED), S(0, NACK, .slot = 0),
                        S(0, RECV, .value = 6), S(0, RECV, .want = ASX_E_DISCONNECTED) } },
        },
    };
    scenario_check(&sc);
}

/* ---- tracked permits ------------------------------------------------------------------------ */

ASX_TEST(a_tracked_permit_behaves_like_a_permit_when_resolved)
{
    static const struct scenario sc = {
        .name = "tracked", .capacity = 1, .actor_count = 2, .leak = ASX_LEAK_PANIC,
        .actors = {
            { "sender", { S(0, TRACK, .slot = 0), S(0, RESERVED, .value = 1),
                          S(0, TSEND, .slot = 0, .value = 3),
                          S(0, TSEND, .slot = 0, .value = 3,
                            .want = ASX_E_OBLIGATION_ALREADY_RESOLVED),
                          S(0, TRACK, .slot = 1, .done_ms = 2), S(0, TABORT, .slot = 1),
                          S(0, TABORT, .slot = 1, .want = ASX_E_OBLIGATION_ALREADY_RESOLVED) } },
            { "receiver", { S(2, RECV, .value = 3), S(3, RESERVED, .value = 0) } },
        },
    };
    scenario_check(&sc);
}

static void wants_leak(struct run *run)
{
    CHECK_EQ(run->report.obligations_leaked, 1);
    CHECK_EQ(run->report.tasks_panicked, run->scenario->leak == ASX_LEAK_PANIC ? 1 : 0);
    CHECK_EQ(run->report.tasks_ok, run->scenario->leak == ASX_LEAK_PANIC ? 0 : 1);
}

ASX_TEST(a_forgotten_tracked_permit_panics_its_task_or_is_reported)
{
    struct scenario sc = {
        .name = "leak", .capacity = 1, .actor_count = 1, .leak = ASX_LEAK_PANIC,
        .want_close = ASX_E_PANICKED, .after = wants_leak,
        .actors = { { "forgets", { S(0, TRACK, .slot = 0), S(0, RESERVED, .value = 1) } } },
    };
    scenario_check(&sc);
    sc.leak = ASX_LEAK_REPORT;
    sc.want_close = ASX_OK;
    scenario_check(&sc);
}

static void wants_waited_leak(struct run *run)
{
    CHECK_EQ(run->report.obligations_leaked, 1);
}

ASX_TEST(a_tracked_permit_that_was_waited_for_leaks_like_any_other)
{
    static const struct scenario sc = {
        .name = "leak after wait", .capacity = 1, .actor_count = 2, .leak = ASX_LEAK_REPORT,
        .after = wants_waited_leak,
        .actors = {
            { "forgets", { S(1, TRACK, .slot = 0, .done_ms = 3) } },
            { "other", { S(0, SEND, .value = 1), S(3, RECV, .value = 1) } },
        },
    };
    scenario_check(&sc);
}

ASX_TEST(a_leaked_tracked_permit_gives_its_slot_to_the_next)
{
    static const struct scenario sc = {
        .name = "leak frees", .capacity = 1, .actor_count = 2, .leak = ASX_LEAK_REPORT,
        .actors = {
            { "forgets", { S(0, TRACK, .slot = 0), S(3, RESERVED, .value = 1) } },
            { "waits", { S(1, TRACK, .slot = 0, .done_ms = 3), S(4, TSEND, .value = 1),
                         S(4, TRY_RECV, .value = 1) } },
        },
    };
    scenario_check(&sc);
}

/* ---- a permit that others see before its holder does ----------------------------------------- */

static asx_send_permit seen;

static asx_status reserves_in_view(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_channel_reserve(cx, arg, &seen), ASX_OK); /* it was given, and used up */
    CHECK_STATUS(asx_send_permit_abort(&seen), ASX_E_OBLIGATION_ALREADY_RESOLVED);
    return ASX_OK;
}

static asx_status used_on_its_way(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_send_permit mine;
    asx_task t;
    uint64_t m = 1;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, 8, 1, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &tx, &m), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, reserves_in_view, &tx, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK); /* it waits */
    CHECK_STATUS(asx_channel_recv(cx, &rx, &m), ASX_OK); /* it has a permit, and has not run */
    m = 2;
    CHECK_STATUS(asx_send_permit_send(&seen, &m), ASX_OK);
    CHECK_STATUS(asx_channel_recv(cx, &rx, &m), ASX_OK);
    CHECK_EQ(m, 2);
    CHECK_STATUS(asx_channel_reserve(cx, &tx, &mine), ASX_OK); /* perhaps in the same record */
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK); /* takes nothing from anybody */
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    CHECK_STATUS(asx_send_permit_send(&mine, &m), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static asx_status used_on_its_way_traced(asx_cx *cx, void *arg)
{
    asx_runtime *rt;
    asx_runtime_config config = { .trace = true, .clock = ASX_CLOCK_VIRTUAL };
    (void)cx;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, used_on_its_way, arg), ASX_OK);
    return asx_runtime_destroy(rt);
}

ASX_TEST(a_permit_that_was_used_on_its_way_is_not_taken_back)
{
    program_check(used_on_its_way, NULL, ASX_OK);
    program_check(used_on_its_way_traced, NULL, ASX_OK);
}
