/* test_channel_end.c - what happens to a channel and to its endpoints when its region ends. */
#include "scenario.h"

#include "sync/sync.h"

#include <stdlib.h>
#include <string.h>

struct ends {
    asx_channel_sender tx, clone, dropped;
    asx_channel_receiver rx;
    asx_send_permit permit, used;
    asx_tracked_permit tracked;
    asx_ack ack;
};

/* Everything there is of a channel, in the caller's hands. */
static void take_everything(asx_cx *cx, const asx_region *region, struct ends *e)
{
    uint64_t m = 1;
    CHECK_STATUS(asx_channel_create(region, sizeof m, 8, NULL, &e->tx, &e->rx), ASX_OK);
    CHECK_STATUS(asx_channel_sender_clone(&e->tx, &e->clone), ASX_OK);
    CHECK_STATUS(asx_channel_sender_clone(&e->tx, &e->dropped), ASX_OK);
    CHECK_STATUS(asx_channel_sender_drop(&e->dropped), ASX_OK);
    CHECK_STATUS(asx_channel_reserve(cx, &e->tx, &e->used), ASX_OK);
    CHECK_STATUS(asx_send_permit_send(&e->used, &m), ASX_OK);
    CHECK_STATUS(asx_channel_reserve(cx, &e->tx, &e->permit), ASX_OK);
    CHECK_STATUS(asx_channel_reserve_tracked(cx, &e->clone, &e->tracked), ASX_OK);
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &e->rx, &m, &e->ack), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &e->tx, &m), ASX_OK);
}

static void wants_all_disconnected(asx_cx *cx, struct ends *e)
{
    uint64_t m = 1;
    bool did;
    asx_ack ack;
    asx_send_permit permit;
    asx_tracked_permit tracked;
    asx_channel_sender other;
    asx_channel_info info;
    asx_committed_proof committed;
    asx_aborted_proof aborted;
    asx_channel_sender *senders[] = { &e->tx, &e->clone };
    for (int i = 0; i < 2; i++) {
        asx_channel_sender *tx = senders[i];
        CHECK_STATUS(asx_channel_send(cx, tx, &m), ASX_E_DISCONNECTED);
        CHECK_STATUS(asx_channel_try_send(cx, tx, &m), ASX_E_DISCONNECTED);
        CHECK_STATUS(asx_channel_reserve(cx, tx, &permit), ASX_E_DISCONNECTED);
        CHECK_STATUS(asx_channel_try_reserve(cx, tx, &permit), ASX_E_DISCONNECTED);
        CHECK_STATUS(asx_channel_reserve_tracked(cx, tx, &tracked), ASX_E_DISCONNECTED);
        CHECK_STATUS(asx_channel_send_evict_oldest(cx, tx, &m, NULL, &did), ASX_E_DISCONNECTED);
        CHECK_STATUS(asx_channel_sender_clone(tx, &other), ASX_E_DISCONNECTED);
        CHECK_STATUS(asx_channel_sender_info(tx, &info), ASX_E_DISCONNECTED);
        CHECK_STATUS(asx_channel_sender_drop(tx), ASX_E_DISCONNECTED);
    }
    CHECK_STATUS(asx_channel_recv(cx, &e->rx, &m), ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_channel_try_recv(cx, &e->rx, &m), ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &e->rx, &m, &ack), ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_channel_receiver_info(&e->rx, &info), ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_channel_receiver_drop(&e->rx), ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_send_permit_send(&e->permit, &m), ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_send_permit_abort(&e->permit), ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_tracked_permit_send(&e->tracked, &m, &committed), ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_tracked_permit_abort(&e->tracked, &aborted), ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_ack_commit(&e->ack), ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_ack_nack(&e->ack), ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_channel_sender_drop(&e->dropped), ASX_E_DISCONNECTED);
}

static asx_status outlive(asx_cx *cx, void *arg)
{
    (void)arg;
    struct ends old, young;
    asx_region region;
    asx_close_report report;
    asx_channel_info before, after;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    take_everything(cx, &region, &old);
    CHECK_STATUS(asx_channel_sender_drop(&old.dropped), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_region_close_with(&region, ASX_OK, NULL, &report), ASX_OK);
    CHECK_EQ(report.permits_aborted, 3); /* permit, tracked permit, ack */
    CHECK_EQ(report.obligations_leaked, 0);
    CHECK_EQ(report.messages_discarded, 2); /* one queued, one without its ack */
    asx_close_report_deinit(&report);
    wants_all_disconnected(cx, &old);

    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    take_everything(cx, &region, &young);
    CHECK(old.rx.channel_ == young.rx.channel_); /* the record serves again */
    CHECK_STATUS(asx_channel_receiver_info(&young.rx, &before), ASX_OK);
    wants_all_disconnected(cx, &old);
    CHECK_STATUS(asx_channel_receiver_info(&young.rx, &after), ASX_OK);
    CHECK_EQ(before.queued, after.queued);
    CHECK_EQ(before.reserved, after.reserved);
    CHECK_EQ(before.senders, after.senders);
    CHECK_EQ(before.sent, after.sent);
    CHECK_EQ(before.received, after.received);
    CHECK_EQ(before.discarded, after.discarded);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    wants_all_disconnected(cx, &young);
    wants_all_disconnected(cx, &old);
    return ASX_OK;
}

ASX_TEST(endpoints_that_outlive_the_region_are_disconnected_for_ever)
{
    program_check(outlive, NULL, ASX_OK);
}

/* ---- waiting for a channel that ends -------------------------------------------------------- */

struct waiters {
    asx_channel_sender full;
    asx_channel_receiver empty;
    asx_status sent[3], received;
    int done;
    int step;
};

static asx_status wait_reserve(asx_cx *cx, void *arg)
{
    struct waiters *w = arg;
    asx_send_permit permit;
    w->sent[0] = asx_channel_reserve(cx, &w->full, &permit);
    w->done++;
    return ASX_OK;
}

static asx_status wait_tracked(asx_cx *cx, void *arg)
{
    struct waiters *w = arg;
    asx_tracked_permit permit;
    w->sent[1] = asx_channel_reserve_tracked(cx, &w->full, &permit);
    w->done++;
    return ASX_OK;
}

static asx_poll poll_send(asx_cx *cx, void *arg)
{
    struct waiters *w = arg;
    uint64_t m = 5;
    w->sent[2] = asx_channel_send(cx, &w->full, &m);
    if (w->sent[2] == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    w->done++;
    return ASX_POLL_READY;
}

static asx_status wait_recv(asx_cx *cx, void *arg)
{
    struct waiters *w = arg;
    uint64_t m;
    w->received = asx_channel_recv(cx, &w->empty, &m);
    w->done++;
    return ASX_OK;
}

static asx_poll poll_recv(asx_cx *cx, void *arg)
{
    struct waiters *w = arg;
    uint64_t m;
    w->received = asx_channel_recv(cx, &w->empty, &m);
    if (w->received == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    w->done++;
    return ASX_POLL_READY;
}

static asx_status end_under_waiters(asx_cx *cx, void *arg)
{
    bool poll = *(bool *)arg;
    asx_region outer, inner;
    struct waiters w = { 0 };
    asx_channel_receiver unused_rx;
    asx_channel_sender unused_tx;
    uint64_t m = 1;
    CHECK_STATUS(asx_region_open(cx, NULL, &outer), ASX_OK);
    CHECK_STATUS(asx_region_open_in(cx, &outer, NULL, &inner), ASX_OK);
    CHECK_STATUS(asx_channel_create(&inner, 8, 1, NULL, &w.full, &unused_rx), ASX_OK);
    CHECK_STATUS(asx_channel_create(&inner, 8, 1, NULL, &unused_tx, &w.empty), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &w.full, &m), ASX_OK);
    CHECK_STATUS(asx_spawn(&outer, "reserve", wait_reserve, &w), ASX_OK);
    CHECK_STATUS(asx_spawn(&outer, "tracked", wait_tracked, &w), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&outer, "send", poll_send, &w), ASX_OK);
    if (poll)
        CHECK_STATUS(asx_spawn_poll(&outer, "recv", poll_recv, &w), ASX_OK);
    else
        CHECK_STATUS(asx_spawn(&outer, "recv", wait_recv, &w), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(w.done, 0);
    CHECK_STATUS(asx_region_close(&inner, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(w.done, 4);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(w.sent[i], ASX_E_DISCONNECTED);
    CHECK_STATUS(w.received, ASX_E_DISCONNECTED);
    return asx_region_close(&outer, ASX_OK);
}

ASX_TEST(whoever_waits_for_a_channel_is_told_when_its_region_ends)
{
    bool poll = false;
    program_check(end_under_waiters, &poll, ASX_OK);
    poll = true;
    program_check(end_under_waiters, &poll, ASX_OK);
}

/* A poll task is granted capacity; before it runs, the channel is gone and its record in use. */
static asx_status retire_under_a_grant(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_region outer, inner, next;
    struct waiters w = { 0 };
    asx_channel_sender tx2;
    asx_channel_receiver rx, rx2;
    asx_channel_info info;
    uint64_t m = 1;
    CHECK_STATUS(asx_region_open(cx, NULL, &outer), ASX_OK);
    CHECK_STATUS(asx_region_open_in(cx, &outer, NULL, &inner), ASX_OK);
    CHECK_STATUS(asx_channel_create(&inner, 8, 1, NULL, &w.full, &rx), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &w.full, &m), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&outer, "send", poll_send, &w), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(asx_channel_recv(cx, &rx, &m), ASX_OK); /* grants */
    CHECK_STATUS(asx_channel_receiver_info(&rx, &info), ASX_OK);
    CHECK_EQ(info.reserved, 1);
    CHECK_STATUS(asx_region_close(&inner, ASX_OK), ASX_OK);
    CHECK_EQ(w.done, 0);
    CHECK_STATUS(asx_region_open_in(cx, &outer, NULL, &next), ASX_OK);
    CHECK_STATUS(asx_channel_create(&next, 8, 1, NULL, &tx2, &rx2), ASX_OK);
    CHECK(rx2.channel_ != rx.channel_); /* the grant still points to the old one */
    CHECK_STATUS(asx_channel_send(cx, &tx2, &m), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(w.done, 1);
    CHECK_STATUS(w.sent[2], ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_channel_receiver_info(&rx2, &info), ASX_OK);
    CHECK_EQ(info.queued, 1);
    CHECK_EQ(info.reserved, 0);
    CHECK_STATUS(asx_region_close(&next, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_open_in(cx, &outer, NULL, &next), ASX_OK);
    asx_channel_receiver rx3, rx4;
    CHECK_STATUS(asx_channel_create(&next, 8, 1, NULL, &tx2, &rx3), ASX_OK);
    CHECK_STATUS(asx_channel_create(&next, 8, 1, NULL, &tx2, &rx4), ASX_OK);
    CHECK(rx3.channel_ == rx.channel_ || rx4.channel_ == rx.channel_); /* recycled at last */
    CHECK_STATUS(asx_region_close(&next, ASX_OK), ASX_OK);
    return asx_region_close(&outer, ASX_OK);
}

ASX_TEST(a_record_is_not_reused_while_a_grant_points_to_it)
{
    program_check(retire_under_a_grant, NULL, ASX_OK);
}

/* ---- closing does not close the channel ----------------------------------------------------- */

struct drain {
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    uint64_t sum;
    asx_status last;
};

static asx_status drain_producer(asx_cx *cx, void *arg)
{
    struct drain *d = arg;
    for (uint64_t i = 1; i <= 10; i++) {
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
        CHECK_STATUS(asx_channel_send(cx, &d->tx, &i), ASX_OK);
    }
    CHECK_STATUS(asx_channel_sender_drop(&d->tx), ASX_OK);
    return ASX_OK;
}

static asx_status drain_consumer(asx_cx *cx, void *arg)
{
    struct drain *d = arg;
    uint64_t m;
    while ((d->last = asx_channel_recv(cx, &d->rx, &m)) == ASX_OK)
        d->sum += m;
    return ASX_OK;
}

static asx_status finalizer_uses_channel(asx_cx *cx, void *arg)
{
    struct drain *d = arg;
    asx_region_state state;
    uint64_t m;
    CHECK_STATUS(asx_region_get_state(&d->region, &state), ASX_OK);
    CHECK_EQ(state, ASX_REGION_FINALIZING);
    CHECK_STATUS(asx_channel_recv(cx, &d->rx, &m), ASX_OK);
    CHECK_EQ(m, 77);
    return ASX_OK;
}

static asx_status closing_works(asx_cx *cx, void *arg)
{
    (void)arg;
    struct drain d = { 0 };
    uint64_t m = 77;
    CHECK_STATUS(asx_region_open(cx, NULL, &d.region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&d.region, 8, 2, NULL, &d.tx, &d.rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&d.region, "producer", drain_producer, &d), ASX_OK);
    CHECK_STATUS(asx_spawn(&d.region, "consumer", drain_consumer, &d), ASX_OK);
    CHECK_STATUS(asx_region_close(&d.region, ASX_OK), ASX_OK);
    CHECK_EQ(d.sum, 55);
    CHECK_STATUS(d.last, ASX_E_DISCONNECTED);

    CHECK_STATUS(asx_region_open(cx, NULL, &d.region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&d.region, 8, 2, NULL, &d.tx, &d.rx), ASX_OK);
    CHECK_STATUS(asx_defer(&d.region, finalizer_uses_channel, &d), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &d.tx, &m), ASX_OK);
    CHECK_STATUS(asx_region_close(&d.region, ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_channel_works_while_its_region_closes_drains_and_finalizes)
{
    program_check(closing_works, NULL, ASX_OK);
}

static asx_status masked_exchange(asx_cx *cx, void *arg)
{
    struct drain *d = arg;
    uint64_t m = 3;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    CHECK(asx_is_cancelled(cx));
    CHECK_STATUS(asx_channel_send(cx, &d->tx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_recv(cx, &d->rx, &m), ASX_OK);
    d->sum = m;
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &d->tx, &m), ASX_E_CANCELLED);
    CHECK_STATUS(asx_channel_try_send(cx, &d->tx, &m), ASX_OK); /* the channel is fine */
    CHECK_STATUS(asx_channel_try_recv(cx, &d->rx, &m), ASX_OK);
    return ASX_OK;
}

static asx_status cancelling_works(asx_cx *cx, void *arg)
{
    (void)arg;
    struct drain d = { 0 };
    CHECK_STATUS(asx_region_open(cx, NULL, &d.region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&d.region, 8, 2, NULL, &d.tx, &d.rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&d.region, "masked", masked_exchange, &d), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(asx_region_cancel(&d.region, NULL), ASX_OK);
    ASX_IGNORE(asx_region_close(&d.region, ASX_OK));
    CHECK_EQ(d.sum, 3);
    return ASX_OK;
}

ASX_TEST(cancelling_a_region_does_not_close_its_channels)
{
    program_check(cancelling_works, NULL, ASX_OK);
}

/* ---- discarded messages --------------------------------------------------------------------- */

struct dropped {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_cx *cx;
    uint64_t seen[16];
    int count;
    asx_status nested[4];
    bool touch;
};

static void note(void *ctx, void *message)
{
    struct dropped *d = ctx;
    uint64_t m = 100, victim;
    bool did;
    d->seen[d->count++] = *(uint64_t *)message;
    if (!d->touch)
        return;
    d->touch = false;
    d->nested[0] = asx_channel_send(d->cx, &d->tx, &m);
    d->nested[1] = asx_channel_try_send(d->cx, &d->tx, &m);
    d->nested[2] = asx_channel_send_evict_oldest(d->cx, &d->tx, &m, NULL, &did);
    d->nested[3] = asx_channel_send_evict_oldest(d->cx, &d->tx, &m, &victim, &did);
    d->seen[d->count++] = *(uint64_t *)message; /* still what it was */
}

static asx_status discard_at_close(asx_cx *cx, void *arg)
{
    (void)arg;
    struct dropped d = { .cx = cx };
    asx_channel_options options = { .name = "mail", .drop = note, .drop_ctx = &d };
    asx_region region;
    asx_close_report report;
    asx_ack ack;
    uint64_t m;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 4, &options, &d.tx, &d.rx), ASX_OK);
    for (m = 1; m <= 4; m++)
        CHECK_STATUS(asx_channel_send(cx, &d.tx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_recv(cx, &d.rx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &d.rx, &m, &ack), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&region, ASX_OK, NULL, &report), ASX_OK);
    CHECK_EQ(d.count, 3);
    CHECK_EQ(d.seen[0], 2); /* the one without ack is the oldest */
    CHECK_EQ(d.seen[1], 3);
    CHECK_EQ(d.seen[2], 4);
    CHECK_EQ(report.messages_discarded, 3);
    bool named = false;
    for (size_t i = 0; i < report.items_len; i++)
        if (report.items[i].kind == ASX_REPORT_CHANNEL) {
            CHECK_STR_EQ(report.items[i].name, "mail");
            CHECK_EQ(report.items[i].count, 3);
            named = true;
        }
    CHECK(named);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(messages_that_nobody_took_are_dropped_once_and_reported)
{
    program_check(discard_at_close, NULL, ASX_OK);
}

static asx_status callback_uses_channel(asx_cx *cx, void *arg)
{
    (void)arg;
    struct dropped d = { .cx = cx, .touch = true };
    asx_channel_options options = { .drop = note, .drop_ctx = &d };
    asx_region region;
    uint64_t m = 1;
    bool did = false;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 1, &options, &d.tx, &d.rx), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &d.tx, &m), ASX_OK);
    m = 2;
    CHECK_STATUS(asx_channel_send_evict_oldest(cx, &d.tx, &m, NULL, &did), ASX_OK);
    CHECK(did);
    CHECK_EQ(d.count, 2);
    CHECK_EQ(d.seen[0], 1);
    CHECK_EQ(d.seen[1], 1);
    CHECK_STATUS(d.nested[0], ASX_E_WRONG_CONTEXT); /* it would have to wait */
    CHECK_STATUS(d.nested[1], ASX_E_FULL);
    CHECK_STATUS(d.nested[2], ASX_E_BUSY);
    CHECK_STATUS(d.nested[3], ASX_OK);
    CHECK_STATUS(asx_channel_recv(cx, &d.rx, &m), ASX_OK);
    CHECK_EQ(m, 100);
    CHECK_STATUS(asx_channel_send(cx, &d.tx, &m), ASX_OK);
    d.touch = true;
    d.count = 0;
    CHECK_STATUS(asx_channel_receiver_drop(&d.rx), ASX_OK);
    CHECK_EQ(d.count, 2);
    for (int i = 0; i < 4; i++)
        CHECK_STATUS(d.nested[i], ASX_E_DISCONNECTED);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_drop_callback_may_use_the_channel_but_not_wait)
{
    program_check(callback_uses_channel, NULL, ASX_OK);
}

static asx_status queued_is_undelivered(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    uint64_t m = 1;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 4, NULL, &tx, &rx), ASX_OK);
    const asx__resident *resident = &rx.channel_->resident;
    CHECK_EQ(resident->ops->undelivered(resident), 0);
    CHECK_STATUS(asx_channel_send(cx, &tx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &tx, &m), ASX_OK);
    CHECK_EQ(resident->ops->undelivered(resident), 2);
    CHECK_STATUS(asx_channel_recv(cx, &rx, &m), ASX_OK);
    CHECK_EQ(resident->ops->undelivered(resident), 1);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(quiescence_counts_what_is_queued)
{
    program_check(queued_is_undelivered, NULL, ASX_OK);
}

/* ---- memory --------------------------------------------------------------------------------- */

static uint64_t memory_of(asx_cx *cx)
{
    asx_stats stats;
    CHECK_STATUS(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    return stats.memory_bytes;
}

static asx_status churn(asx_cx *cx, void *arg)
{
    (void)arg;
    uint64_t after_first = 0;
    for (int i = 0; i < 2000; i++) {
        asx_region region;
        struct ends e;
        CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
        take_everything(cx, &region, &e);
        CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
        if (i == 10)
            after_first = memory_of(cx);
    }
    CHECK_EQ(memory_of(cx), after_first);
    return ASX_OK;
}

ASX_TEST(records_of_channels_and_senders_are_recycled)
{
    program_check(churn, NULL, ASX_OK);
}

static asx_status churn_clones(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_region region;
    asx_channel_sender tx, clones[40] = { 0 };
    asx_channel_receiver rx;
    uint64_t before = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 1, NULL, &tx, &rx), ASX_OK);
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < 40; i++) {
            asx_channel_sender old = clones[i];
            CHECK_STATUS(asx_channel_sender_clone(&tx, &clones[i]), ASX_OK);
            if (round > 0)
                CHECK_STATUS(asx_channel_sender_drop(&old), ASX_E_STALE_HANDLE);
        }
        for (int i = 0; i < 40; i++)
            CHECK_STATUS(asx_channel_sender_drop(&clones[i]), ASX_OK);
        if (round == 0)
            before = memory_of(cx);
    }
    CHECK_EQ(memory_of(cx), before);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(clones_come_and_go_without_using_memory_up)
{
    program_check(churn_clones, NULL, ASX_OK);
}

struct starved {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_status first, second, third;
};

static asx_status starved_first(asx_cx *cx, void *arg)
{
    struct starved *s = arg;
    asx_send_permit permit;
    s->first = asx_channel_reserve(cx, &s->tx, &permit);
    return ASX_OK;
}

static asx_status starved_second(asx_cx *cx, void *arg)
{
    struct starved *s = arg;
    asx_tracked_permit permit;
    s->second = asx_channel_reserve_tracked(cx, &s->tx, &permit);
    return ASX_OK;
}

static asx_status starved_third(asx_cx *cx, void *arg)
{
    struct starved *s = arg;
    uint64_t m = 3;
    s->third = asx_channel_send(cx, &s->tx, &m); /* needs no permit */
    return ASX_OK;
}

static asx_status starve(asx_cx *cx, void *arg)
{
    (void)arg;
    struct starved s = { 0 };
    asx_region region;
    asx_obligation plain;
    asx_send_permit permit;
    asx_ack ack;
    asx_channel_info info;
    uint64_t m = 1;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 1, NULL, &s.tx, &s.rx), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&region, ASX_OBLIGATION_KIND_PLAIN, &plain), ASX_OK);
    CHECK_STATUS(asx_channel_reserve(cx, &s.tx, &permit), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_channel_try_reserve(cx, &s.tx, &permit), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_channel_receiver_info(&s.rx, &info), ASX_OK);
    CHECK_EQ(info.reserved, 0);
    CHECK_STATUS(asx_channel_send(cx, &s.tx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &s.rx, &m, &ack), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_channel_receiver_info(&s.rx, &info), ASX_OK);
    CHECK_EQ(info.queued, 1);
    CHECK_STATUS(asx_spawn(&region, "first", starved_first, &s), ASX_OK);
    CHECK_STATUS(asx_spawn(&region, "second", starved_second, &s), ASX_OK);
    CHECK_STATUS(asx_spawn(&region, "third", starved_third, &s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(asx_channel_receiver_info(&s.rx, &info), ASX_OK);
    CHECK_EQ(info.send_waiters, 3);
    CHECK_STATUS(asx_channel_recv(cx, &s.rx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_recv(cx, &s.rx, &m), ASX_OK);
    CHECK_EQ(m, 3);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(s.first, ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(s.second, ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(s.third, ASX_OK);
    CHECK_STATUS(asx_obligation_commit(&plain), ASX_OK);
    CHECK_STATUS(asx_channel_reserve(cx, &s.tx, &permit), ASX_OK);
    CHECK_STATUS(asx_send_permit_send(&permit, &m), ASX_OK);
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &s.rx, &m, &ack), ASX_OK);
    CHECK_STATUS(asx_ack_commit(&ack), ASX_OK);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(without_room_for_an_obligation_nothing_is_taken_and_the_next_is_served)
{
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .limits.obligations_max = 1 };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, starve, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* Creation under every amount of memory there can be: it works or it changes nothing. */
struct pool {
    size_t left;
};

static void *pool_alloc(void *ctx, size_t size)
{
    struct pool *pool = ctx;
    if (size > pool->left)
        return NULL;
    void *memory = malloc(size);
    if (memory != NULL)
        pool->left -= size;
    return memory;
}

static void pool_free(void *ctx, void *memory, size_t size)
{
    struct pool *pool = ctx;
    pool->left += size;
    free(memory);
}

struct squeeze {
    struct pool pool;
    size_t amount;
    bool created;
};

static asx_status create_squeezed(asx_cx *cx, void *arg)
{
    struct squeeze *q = arg;
    asx_region region;
    asx_channel_sender tx, clone;
    asx_channel_receiver rx;
    asx_stats stats;
    asx_ack ack;
    uint64_t m = 4;
    if (asx_region_open(cx, NULL, &region) < 0)
        return ASX_OK;
    q->pool.left = q->amount;
    asx_status st = asx_channel_create(&region, 8, 200, NULL, &tx, &rx);
    CHECK_STATUS(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    q->created = st == ASX_OK;
    CHECK_EQ(stats.channels_live, q->created ? 1 : 0);
    if (!q->created)
        CHECK_STATUS(st, ASX_E_RESOURCE_EXHAUSTED);
    if (q->created) {
        CHECK_STATUS(asx_channel_send(cx, &tx, &m), ASX_OK);
        st = asx_channel_recv_with_ack(cx, &rx, &m, &ack);
        if (st < 0)
            CHECK_STATUS(st, ASX_E_RESOURCE_EXHAUSTED);
        for (int i = 0; i < 64 && st == ASX_OK; i++)
            st = asx_channel_sender_clone(&tx, &clone);
        if (st < 0)
            CHECK_STATUS(st, ASX_E_RESOURCE_EXHAUSTED);
    }
    q->pool.left = (size_t)1 << 30;
    ASX_IGNORE(asx_region_close(&region, ASX_OK));
    return ASX_OK;
}

ASX_TEST(creation_and_use_survive_every_shortage_of_memory)
{
    bool created = false;
    int refusals = 0;
    for (size_t amount = 0; amount < 40000; amount += 200) {
        struct squeeze q = { .pool.left = (size_t)1 << 30, .amount = amount };
        asx_runtime *rt;
        asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL };
        config.allocator = (asx_allocator){ pool_alloc, pool_free, &q.pool };
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, create_squeezed, &q), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
        created |= q.created;
        refusals += !q.created;
    }
    CHECK(created);
    CHECK(refusals > 2);
}
