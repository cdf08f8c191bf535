/* test_channel_trace.c - what the journal says of channels, and that its edges are exact. */
#include "scenario.h"

#include <string.h>

#define EVENTS_MAX 4096

struct log {
    asx_event events[EVENTS_MAX];
    size_t count;
};

static void observe(void *ctx, const asx_event *event)
{
    struct log *log = ctx;
    CHECK(log->count < EVENTS_MAX);
    log->events[log->count++] = *event;
}

static void run_traced(asx_task_fn fn, void *arg, struct log *log)
{
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .trace = true };
    log->count = 0;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_observe(rt, observe, log), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, fn, arg), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* The n-th event of a kind, counted from 0. NULL: there is none. */
static const asx_event *nth(const struct log *log, uint32_t kind, size_t n)
{
    for (size_t i = 0; i < log->count; i++)
        if (log->events[i].kind == kind && n-- == 0)
            return &log->events[i];
    return NULL;
}

static size_t count_of(const struct log *log, uint32_t kind)
{
    size_t n = 0;
    while (nth(log, kind, n) != NULL)
        n++;
    return n;
}

static const asx_event *by_seq(const struct log *log, uint64_t seq)
{
    for (size_t i = 0; i < log->count; i++)
        if (log->events[i].seq == seq)
            return &log->events[i];
    return NULL;
}

struct exchange {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    uint64_t sender, receiver; /* serial numbers of the tasks */
    bool poll;
    bool recv_first;
    int received;
};

enum { MESSAGES = 7 };

static asx_status send_all(asx_cx *cx, void *arg)
{
    struct exchange *x = arg;
    x->sender = asx_cx_task_id(cx).generation & ((UINT64_C(1) << 48) - 1);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        asx_send_permit permit;
        if (i % 2 == 0) {
            CHECK_STATUS(asx_channel_send(cx, &x->tx, &i), ASX_OK);
        } else {
            CHECK_STATUS(asx_channel_reserve(cx, &x->tx, &permit), ASX_OK);
            CHECK_STATUS(asx_send_permit_send(&permit, &i), ASX_OK);
        }
    }
    return ASX_OK;
}

static asx_status recv_all(asx_cx *cx, void *arg)
{
    struct exchange *x = arg;
    uint64_t m;
    x->receiver = asx_cx_task_id(cx).generation & ((UINT64_C(1) << 48) - 1);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        CHECK_STATUS(asx_channel_recv(cx, &x->rx, &m), ASX_OK);
        CHECK_EQ(m, i);
    }
    return ASX_OK;
}

static asx_poll recv_all_polling(asx_cx *cx, void *arg)
{
    struct exchange *x = arg;
    uint64_t m;
    x->receiver = asx_cx_task_id(cx).generation & ((UINT64_C(1) << 48) - 1);
    while (x->received < MESSAGES) {
        asx_status st = asx_channel_recv(cx, &x->rx, &m);
        if (st == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        CHECK_STATUS(st, ASX_OK);
        CHECK_EQ(m, x->received);
        x->received++;
    }
    return ASX_POLL_READY;
}

static void spawn_receiver(const asx_region *region, struct exchange *x)
{
    if (x->poll)
        CHECK_STATUS(asx_spawn_poll(region, "recv", recv_all_polling, x), ASX_OK);
    else
        CHECK_STATUS(asx_spawn(region, "recv", recv_all, x), ASX_OK);
}

static asx_status exchange(asx_cx *cx, void *arg)
{
    struct exchange *x = arg;
    asx_region region;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 2, NULL, &x->tx, &x->rx), ASX_OK);
    if (x->recv_first)
        spawn_receiver(&region, x);
    CHECK_STATUS(asx_spawn(&region, "send", send_all, x), ASX_OK);
    if (!x->recv_first)
        spawn_receiver(&region, x);
    return asx_region_close(&region, ASX_OK);
}

static struct log journal;

ASX_TEST(every_receive_names_the_send_that_it_came_from)
{
    for (int mix = 0; mix < 4; mix++) {
        struct exchange x = { .poll = mix & 1, .recv_first = mix & 2 };
        run_traced(exchange, &x, &journal);
        const asx_event *created = nth(&journal, ASX_EVENT_CHANNEL_CREATE, 0);
        CHECK(created != NULL);
        CHECK_EQ(created->object, 1);
        CHECK_EQ(created->a, 2);
        CHECK_EQ(count_of(&journal, ASX_EVENT_CHANNEL_SEND), MESSAGES);
        CHECK_EQ(count_of(&journal, ASX_EVENT_CHANNEL_RECV), MESSAGES);
        for (size_t i = 0; i < MESSAGES; i++) {
            const asx_event *sent = nth(&journal, ASX_EVENT_CHANNEL_SEND, i);
            const asx_event *received = nth(&journal, ASX_EVENT_CHANNEL_RECV, i);
            CHECK_EQ(sent->a, i + 1);
            CHECK_EQ(received->a, i + 1);
            CHECK_EQ(sent->task, x.sender);
            CHECK_EQ(received->task, x.receiver);
            CHECK_EQ(received->cause, sent->seq);
            CHECK(received->seq > sent->seq);
            CHECK_LE(sent->b, 2);
        }
    }
}

ASX_TEST(the_same_exchange_gives_the_same_journal)
{
    static struct log first;
    struct exchange x = { .recv_first = true }, y = x;
    run_traced(exchange, &x, &first);
    run_traced(exchange, &y, &journal);
    CHECK_EQ(first.count, journal.count);
    CHECK_MEM_EQ(first.events, journal.events, first.count * sizeof *first.events);
}

static asx_status odd_ends(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_region region;
    asx_channel_sender tx, clone;
    asx_channel_receiver rx;
    asx_ack ack;
    asx_tracked_permit tracked;
    asx_aborted_proof proof;
    uint64_t m = 1, victim;
    bool did;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 2, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_channel_sender_clone(&tx, &clone), ASX_OK);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(asx_channel_send(cx, &tx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_send_evict_oldest(cx, &tx, &m, &victim, &did), ASX_OK);
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &rx, &m, &ack), ASX_OK);
    CHECK_STATUS(asx_ack_nack(&ack), ASX_OK);
    CHECK_STATUS(asx_channel_recv(cx, &rx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_reserve_tracked(cx, &tx, &tracked), ASX_OK);
    CHECK_STATUS(asx_tracked_permit_abort(&tracked, &proof), ASX_OK);
    CHECK_STATUS(asx_channel_sender_drop(&tx), ASX_OK);
    CHECK_STATUS(asx_channel_receiver_drop(&rx), ASX_OK);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(eviction_nack_drops_and_discards_are_in_the_journal)
{
    run_traced(odd_ends, NULL, &journal);
    const asx_event *evicted = nth(&journal, ASX_EVENT_CHANNEL_EVICT, 0);
    CHECK_EQ(evicted->a, 1);
    CHECK_EQ(by_seq(&journal, evicted->cause)->kind, ASX_EVENT_CHANNEL_SEND);
    CHECK_EQ(by_seq(&journal, evicted->cause)->a, 1);
    const asx_event *nacked = nth(&journal, ASX_EVENT_CHANNEL_NACK, 0);
    CHECK_EQ(nacked->a, 2);
    const asx_event *again = nth(&journal, ASX_EVENT_CHANNEL_RECV, 1);
    CHECK_EQ(again->a, 2);
    CHECK_EQ(again->cause, nacked->seq); /* without it there was nothing to receive */
    const asx_event *sender = nth(&journal, ASX_EVENT_CHANNEL_SENDER_DROP, 0);
    CHECK_EQ(sender->a, 1);
    CHECK(nth(&journal, ASX_EVENT_CHANNEL_RECEIVER_DROP, 0) != NULL);
    CHECK_EQ(nth(&journal, ASX_EVENT_CHANNEL_DISCARD, 0)->a, 1);
    const asx_event *reserved = nth(&journal, ASX_EVENT_OBLIGATION_RESERVE, 1);
    CHECK_EQ(reserved->a, ASX_OBLIGATION_KIND_TRACKED_PERMIT);
    const asx_event *aborted = nth(&journal, ASX_EVENT_OBLIGATION_ABORT, 1);
    CHECK_EQ(aborted->object, reserved->object);
}

static asx_status forget(asx_cx *cx, void *arg)
{
    asx_tracked_permit tracked;
    return asx_channel_reserve_tracked(cx, arg, &tracked);
}

static asx_status leak(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 2, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&region, "forgets", forget, &tx), ASX_OK);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(a_leaked_tracked_permit_is_in_the_journal_with_its_obligation)
{
    run_traced(leak, NULL, &journal);
    const asx_event *reserved = nth(&journal, ASX_EVENT_OBLIGATION_RESERVE, 0);
    const asx_event *leaked = nth(&journal, ASX_EVENT_OBLIGATION_LEAK, 0);
    CHECK(reserved != NULL && leaked != NULL);
    CHECK_EQ(leaked->object, reserved->object);
    CHECK_EQ(leaked->a, ASX_OBLIGATION_KIND_TRACKED_PERMIT);
}
