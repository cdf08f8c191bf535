/* test_channel_model.c - random programs compared with a naive model, step by step.
 *
 * Workers on both vehicles wait for orders; the driver gives one order at a time, lets everything
 * come to rest, and compares the channel's account of itself, every result and every message with
 * a model that is written with lists and no cleverness. The model knows nothing of grants and
 * hand-overs: it says who must have got what when nothing moves any more.
 */
#include "scenario.h"

#include "sync/sync.h"

#include <string.h>

#define WORKERS 6
#define HELD 4
#define LIST 256

enum order {
    ORDER_NONE,
    ORDER_RESERVE,
    ORDER_TRACK,
    ORDER_SEND,
    ORDER_RECV,
    ORDER_RECV_ACK,
    ORDER_EXIT
};

struct message {
    uint64_t value;
    uint64_t more[2];
};

struct worker {
    struct trial *trial;
    unsigned number;
    bool poll;
    bool alive;
    asx_task task;
    asx_waker waker;
    /* the order */
    enum order order;
    struct message message;
    bool done;
    asx_status status;
    unsigned slot;
    /* what it holds */
    asx_send_permit permit[HELD];
    asx_tracked_permit tracked[HELD];
    asx_ack ack[HELD];
    /* the model's view */
    bool waits;
    bool expect_done;
    asx_status expect;
    uint64_t expect_value;
    enum { HOLDS_NOTHING, HOLDS_PERMIT, HOLDS_TRACKED, HOLDS_ACK } holds[HELD];
    uint64_t held_value[HELD];
};

struct list {
    uint64_t items[LIST];
    size_t count;
};

struct trial {
    uint64_t seed;
    int step;
    uint64_t rng;
    size_t capacity;
    size_t element_size;
    asx_region region;
    asx_channel_sender tx[8];
    bool tx_alive[8];
    asx_channel_receiver rx;
    struct worker workers[WORKERS];
    uint64_t next_value;
    struct list dropped;
    /* the model */
    struct list queue, waiters, lost; /* values; worker numbers; values */
    int receiver;                     /* worker that waits to receive, or -1 */
    bool rx_gone;
    size_t senders, permits, unacked;
    uint64_t sent, received, evicted;
};

static uint64_t below(struct trial *t, uint64_t n)
{
    t->rng ^= t->rng << 13;
    t->rng ^= t->rng >> 7;
    t->rng ^= t->rng << 17;
    return t->rng % n;
}

static void list_push(struct list *list, uint64_t item)
{
    CHECK(list->count < LIST);
    list->items[list->count++] = item;
}

static uint64_t list_take(struct list *list, size_t at)
{
    CHECK(at < list->count);
    uint64_t item = list->items[at];
    memmove(&list->items[at], &list->items[at + 1], (--list->count - at) * sizeof *list->items);
    return item;
}

static void list_push_front(struct list *list, uint64_t item)
{
    CHECK(list->count < LIST);
    memmove(&list->items[1], list->items, list->count++ * sizeof *list->items);
    list->items[0] = item;
}

/* ---- workers -------------------------------------------------------------------------------- */

static asx_channel_sender *live_tx(struct trial *t)
{
    for (int i = 0; i < 8; i++)
        if (t->tx_alive[i])
            return &t->tx[i];
    return NULL;
}

static asx_status obey(struct worker *w, asx_cx *cx)
{
    struct trial *t = w->trial;
    switch (w->order) {
    case ORDER_RESERVE:
        return asx_channel_reserve(cx, live_tx(t), &w->permit[w->slot]);
    case ORDER_TRACK:
        return asx_channel_reserve_tracked(cx, live_tx(t), &w->tracked[w->slot]);
    case ORDER_SEND:
        return asx_channel_send(cx, live_tx(t), &w->message);
    case ORDER_RECV:
        return asx_channel_recv(cx, &t->rx, &w->message);
    default:
        return asx_channel_recv_with_ack(cx, &t->rx, &w->message, &w->ack[w->slot]);
    }
}

static void report(struct worker *w, asx_status st)
{
    w->status = st;
    w->done = true;
    w->order = ORDER_NONE;
}

static asx_status work(asx_cx *cx, void *arg)
{
    struct worker *w = arg;
    CHECK_STATUS(asx_cx_waker(cx, &w->waker), ASX_OK);
    while (w->order != ORDER_EXIT) {
        if (w->order != ORDER_NONE)
            report(w, obey(w, cx));
        if (asx_wait_external(cx) < 0)
            break;
    }
    w->alive = false;
    return ASX_OK;
}

static asx_poll work_polling(asx_cx *cx, void *arg)
{
    struct worker *w = arg;
    if (w->waker.wake == NULL)
        CHECK_STATUS(asx_cx_waker(cx, &w->waker), ASX_OK);
    while (w->order != ORDER_EXIT) {
        if (w->order != ORDER_NONE) {
            asx_status st = obey(w, cx);
            if (st == ASX_E_WOULD_BLOCK)
                return ASX_POLL_PENDING;
            report(w, st);
        }
        asx_status st = asx_wait_external(cx);
        if (st == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        if (st < 0)
            break;
    }
    w->alive = false;
    return ASX_POLL_READY;
}

static void hire(struct trial *t, unsigned number)
{
    struct worker *w = &t->workers[number];
    *w = (struct worker){ .trial = t, .number = number, .poll = below(t, 2) != 0, .alive = true };
    if (w->poll)
        CHECK_STATUS(asx_spawn_poll_task(&t->region, work_polling, w, NULL, &w->task), ASX_OK);
    else
        CHECK_STATUS(asx_spawn_task(&t->region, work, w, NULL, &w->task), ASX_OK);
}

/* ---- the model ------------------------------------------------------------------------------ */

static size_t used(const struct trial *t)
{
    return t->queue.count + t->permits + t->unacked;
}

static void expect(struct worker *w, asx_status st, uint64_t value)
{
    w->waits = false;
    w->expect_done = true;
    w->expect = st;
    w->expect_value = value;
}

static void model_receive(struct trial *t, struct worker *w)
{
    uint64_t value = list_take(&t->queue, 0);
    t->received++;
    if (w->order == ORDER_RECV_ACK) {
        w->holds[w->slot] = HOLDS_ACK;
        w->held_value[w->slot] = value;
        t->unacked++;
    }
    expect(w, ASX_OK, value);
}

static void model_send(struct trial *t, uint64_t value)
{
    list_push(&t->queue, value);
    t->sent++;
}

static void model_claim(struct trial *t, struct worker *w)
{
    if (w->order == ORDER_SEND) {
        model_send(t, w->message.value);
    } else {
        w->holds[w->slot] = w->order == ORDER_TRACK ? HOLDS_TRACKED : HOLDS_PERMIT;
        t->permits++;
    }
    expect(w, ASX_OK, 0);
}

/* Serves everyone who can be served. */
static void model_settle(struct trial *t)
{
    for (;;) {
        if (t->receiver >= 0 && t->queue.count > 0) {
            model_receive(t, &t->workers[t->receiver]);
            t->receiver = -1;
        } else if (t->waiters.count > 0 && used(t) < t->capacity) {
            model_claim(t, &t->workers[list_take(&t->waiters, 0)]);
        } else {
            break;
        }
    }
    if (t->receiver >= 0 && t->senders == 0 && t->permits == 0) {
        expect(&t->workers[t->receiver], ASX_E_DISCONNECTED, 0);
        t->receiver = -1;
    }
}

static void model_order(struct trial *t, struct worker *w)
{
    bool sends = w->order <= ORDER_SEND;
    if (sends && t->rx_gone) {
        expect(w, ASX_E_DISCONNECTED, 0);
    } else if (sends && used(t) < t->capacity) {
        model_claim(t, w);
    } else if (sends) {
        w->waits = true;
        list_push(&t->waiters, w->number);
    } else if (t->rx_gone) {
        expect(w, ASX_E_STALE_HANDLE, 0);
    } else if (t->queue.count > 0) {
        model_receive(t, w);
    } else if (t->senders == 0 && t->permits == 0) {
        expect(w, ASX_E_DISCONNECTED, 0);
    } else if (t->receiver >= 0) {
        expect(w, ASX_E_BUSY, 0);
    } else {
        w->waits = true;
        t->receiver = (int)w->number;
    }
    model_settle(t);
}

static void model_nack(struct trial *t, uint64_t value)
{
    t->unacked--;
    t->received--;
    if (t->rx_gone)
        list_push(&t->lost, value);
    else
        list_push_front(&t->queue, value);
}

static void model_forget_waiter(struct trial *t, struct worker *w)
{
    if (t->receiver == (int)w->number)
        t->receiver = -1;
    for (size_t i = 0; i < t->waiters.count; i++)
        if (t->waiters.items[i] == w->number) {
            list_take(&t->waiters, i);
            break;
        }
    w->waits = false;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static void same(const struct trial *t, const char *what, long long got, long long want)
{
    if (got != want)
        asx_test_fail(__FILE__, __LINE__, "seed %llu, step %d: %s is %lld, the model says %lld",
                      (unsigned long long)t->seed, t->step, what, got, want);
}

static void compare_worker(const struct trial *t, struct worker *w)
{
    same(t, "worker's being done", w->done, w->expect_done);
    if (!w->done)
        return;
    same(t, "worker's status", w->status, w->expect);
    if (w->status == ASX_OK && w->expect_value != 0)
        same(t, "message", (long long)w->message.value, (long long)w->expect_value);
    w->done = false;
    w->expect_done = false;
}

static void compare(struct trial *t)
{
    asx_channel_info info;
    for (int i = 0; i < WORKERS; i++)
        compare_worker(t, &t->workers[i]);
    same(t, "number of drops", (long long)t->dropped.count, (long long)t->lost.count);
    CHECK_MEM_EQ(t->dropped.items, t->lost.items, t->lost.count * sizeof *t->lost.items);
    CHECK(asx__channel_is_valid(t->rx.channel_));
    if (t->rx_gone && live_tx(t) == NULL)
        return;
    if (t->rx_gone)
        CHECK_STATUS(asx_channel_sender_info(live_tx(t), &info), ASX_OK);
    else
        CHECK_STATUS(asx_channel_receiver_info(&t->rx, &info), ASX_OK);
    same(t, "queued", (long long)info.queued, (long long)t->queue.count);
    same(t, "reserved", (long long)info.reserved, (long long)(t->permits + t->unacked));
    same(t, "senders", (long long)info.senders, (long long)t->senders);
    same(t, "waiters", (long long)info.send_waiters, (long long)t->waiters.count);
    same(t, "receiver waits", info.receiver_waits, t->receiver >= 0);
    same(t, "sent", (long long)info.sent, (long long)t->sent);
    same(t, "received", (long long)info.received, (long long)t->received);
    same(t, "evicted", (long long)info.evicted, (long long)t->evicted);
    same(t, "discarded", (long long)info.discarded, (long long)t->lost.count);
    CHECK_LE(info.queued + info.reserved, t->capacity);
}

/* ---- one step ------------------------------------------------------------------------------- */

static bool free_slot(struct worker *w, unsigned *ret_slot)
{
    for (unsigned i = 0; i < HELD; i++)
        if (w->holds[i] == HOLDS_NOTHING) {
            *ret_slot = i;
            return true;
        }
    return false;
}

static void give_order(struct trial *t, struct worker *w)
{
    enum order order = (enum order)(ORDER_RESERVE + below(t, 5));
    if (w->waits || !free_slot(w, &w->slot) || (order <= ORDER_SEND && live_tx(t) == NULL))
        return;
    w->order = order;
    w->message = (struct message){ ++t->next_value, { 0, 0 } };
    model_order(t, w); /* before the worker runs and clears its order */
    w->waker.wake(w->waker.arg);
}

static void resolve_permit(struct trial *t, struct worker *w, unsigned slot)
{
    struct message m = { ++t->next_value, { 1, 2 } };
    bool tracked = w->holds[slot] == HOLDS_TRACKED;
    asx_committed_proof committed;
    asx_aborted_proof aborted;
    w->holds[slot] = HOLDS_NOTHING;
    t->permits--;
    if (below(t, 3) == 0) {
        CHECK_STATUS(tracked ? asx_tracked_permit_abort(&w->tracked[slot], &aborted)
                             : asx_send_permit_abort(&w->permit[slot]),
                     ASX_OK);
        model_settle(t);
        return;
    }
    CHECK_STATUS(tracked ? asx_tracked_permit_send(&w->tracked[slot], &m, &committed)
                         : asx_send_permit_send(&w->permit[slot], &m),
                 t->rx_gone ? ASX_E_DISCONNECTED : ASX_OK);
    if (!t->rx_gone) {
        model_send(t, m.value);
        if (tracked)
            CHECK_EQ(committed.message_number, t->sent);
    }
    model_settle(t);
    CHECK_STATUS(tracked ? asx_tracked_permit_abort(&w->tracked[slot], &aborted)
                         : asx_send_permit_abort(&w->permit[slot]),
                 ASX_E_OBLIGATION_ALREADY_RESOLVED);
}

static void resolve_ack(struct trial *t, struct worker *w, unsigned slot)
{
    w->holds[slot] = HOLDS_NOTHING;
    if (below(t, 2) == 0) {
        CHECK_STATUS(asx_ack_commit(&w->ack[slot]), ASX_OK);
        t->unacked--;
    } else {
        CHECK_STATUS(asx_ack_nack(&w->ack[slot]), ASX_OK);
        model_nack(t, w->held_value[slot]);
    }
    model_settle(t);
    CHECK_STATUS(asx_ack_commit(&w->ack[slot]), ASX_E_OBLIGATION_ALREADY_RESOLVED);
}

static void resolve_something(struct trial *t, struct worker *w)
{
    for (unsigned k = 0, at = (unsigned)below(t, HELD); k < HELD; k++, at = (at + 1) % HELD) {
        if (w->holds[at] == HOLDS_NOTHING)
            continue;
        if (w->holds[at] == HOLDS_ACK)
            resolve_ack(t, w, at);
        else
            resolve_permit(t, w, at);
        return;
    }
}

/* Ends a worker, by order or by cancelling it. What it holds is given back; with more than one
 * thing that would free two slots at once, and which of two waiters sends first is up to them. */
static void dismiss(struct trial *t, asx_cx *cx, struct worker *w, bool cancel)
{
    unsigned holds = 0, slot = 0;
    for (unsigned i = 0; i < HELD; i++)
        if (w->holds[i] != HOLDS_NOTHING) {
            holds++;
            slot = i;
        }
    if (holds > 1 || (w->waits && !cancel) || (holds == 1 && w->holds[slot] == HOLDS_TRACKED))
        return;
    if (w->waits) {
        model_forget_waiter(t, w);
        expect(w, ASX_E_CANCELLED, 0);
    }
    if (holds == 1 && w->holds[slot] == HOLDS_PERMIT)
        t->permits--;
    else if (holds == 1)
        model_nack(t, w->held_value[slot]);
    if (cancel) {
        CHECK_STATUS(asx_task_cancel(&w->task, NULL), ASX_OK);
    } else {
        w->order = ORDER_EXIT;
        w->waker.wake(w->waker.arg);
    }
    model_settle(t);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    compare(t);
    CHECK(!w->alive);
    CHECK_STATUS(asx_join(cx, &w->task, NULL), ASX_OK);
    hire(t, w->number);
}

static void try_something(struct trial *t, asx_cx *cx)
{
    struct message m = { ++t->next_value, { 3, 4 } }, victim = { 0, { 0, 0 } };
    asx_channel_sender *tx = live_tx(t);
    bool full = used(t) >= t->capacity, did = false;
    switch (below(t, 4)) {
    case 0:
        if (tx == NULL)
            return;
        CHECK_STATUS(asx_channel_try_send(cx, tx, &m),
                     t->rx_gone ? ASX_E_DISCONNECTED : full ? ASX_E_FULL : ASX_OK);
        if (!t->rx_gone && !full)
            model_send(t, m.value);
        break;
    case 1: {
        bool keep = below(t, 2) != 0;
        if (tx == NULL)
            return;
        CHECK_STATUS(asx_channel_send_evict_oldest(cx, tx, &m, keep ? &victim : NULL, &did),
                     t->rx_gone                          ? ASX_E_DISCONNECTED
                     : full && t->queue.count == 0       ? ASX_E_FULL
                                                         : ASX_OK);
        if (t->rx_gone || (full && t->queue.count == 0))
            break;
        CHECK_EQ(did, full);
        if (full) {
            uint64_t value = list_take(&t->queue, 0);
            t->evicted++;
            if (keep)
                CHECK_EQ(victim.value, value);
            else
                list_push(&t->lost, value);
        }
        model_send(t, m.value);
        break;
    }
    case 2: {
        asx_send_permit permit;
        if (tx == NULL)
            return;
        CHECK_STATUS(asx_channel_try_reserve(cx, tx, &permit),
                     t->rx_gone ? ASX_E_DISCONNECTED : full ? ASX_E_FULL : ASX_OK);
        if (!t->rx_gone && !full)
            CHECK_STATUS(asx_send_permit_abort(&permit), ASX_OK);
        break;
    }
    default:
        CHECK_STATUS(asx_channel_try_recv(cx, &t->rx, &m),
                     t->rx_gone                              ? ASX_E_STALE_HANDLE
                     : t->queue.count > 0                    ? ASX_OK
                     : t->senders == 0 && t->permits == 0    ? ASX_E_DISCONNECTED
                                                             : ASX_E_EMPTY);
        if (!t->rx_gone && t->queue.count > 0) {
            CHECK_EQ(m.value, list_take(&t->queue, 0));
            t->received++;
        }
        break;
    }
    model_settle(t);
}

static void change_senders(struct trial *t)
{
    asx_channel_sender *tx = live_tx(t);
    unsigned at = (unsigned)below(t, 8);
    /* The last one stays while somebody waits: a poll task needs it to repeat its call. */
    bool last_may_go = t->waiters.count == 0 && below(t, 12) == 0;
    if (t->tx_alive[at] && (t->senders > 1 || last_may_go)) {
        CHECK_STATUS(asx_channel_sender_drop(&t->tx[at]), ASX_OK);
        CHECK_STATUS(asx_channel_sender_drop(&t->tx[at]), ASX_E_STALE_HANDLE);
        t->tx_alive[at] = false;
        t->senders--;
        model_settle(t);
    } else if (tx != NULL && !t->tx_alive[at]) {
        CHECK_STATUS(asx_channel_sender_clone(tx, &t->tx[at]), ASX_OK);
        t->tx_alive[at] = true;
        t->senders++;
    }
}

static void drop_receiver(struct trial *t)
{
    CHECK_STATUS(asx_channel_receiver_drop(&t->rx), t->rx_gone ? ASX_E_STALE_HANDLE : ASX_OK);
    if (t->rx_gone)
        return;
    t->rx_gone = true;
    if (t->receiver >= 0)
        expect(&t->workers[t->receiver], ASX_E_STALE_HANDLE, 0);
    t->receiver = -1;
    while (t->waiters.count > 0)
        expect(&t->workers[list_take(&t->waiters, 0)], ASX_E_DISCONNECTED, 0);
    while (t->queue.count > 0)
        list_push(&t->lost, list_take(&t->queue, 0));
}

static void step(struct trial *t, asx_cx *cx)
{
    struct worker *w = &t->workers[below(t, WORKERS)];
    uint64_t what = below(t, 100);
    if (what < 50)
        give_order(t, w);
    else if (what < 70)
        resolve_something(t, w);
    else if (what < 85)
        try_something(t, cx);
    else if (what < 90)
        change_senders(t);
    else if (what < 99)
        dismiss(t, cx, w, below(t, 2) != 0);
    else if (below(t, 4) == 0)
        drop_receiver(t);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    compare(t);
}

static void note_drop(void *ctx, void *message)
{
    list_push(ctx, *(uint64_t *)message);
}

static asx_status trial(asx_cx *cx, void *arg)
{
    static const size_t sizes[] = { 8, 16, 24 };
    struct trial *t = arg;
    asx_channel_options options = { .drop = note_drop, .drop_ctx = &t->dropped };
    t->capacity = 1 + (size_t)below(t, 5);
    t->element_size = sizes[below(t, 3)];
    CHECK_STATUS(asx_region_open(cx, NULL, &t->region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&t->region, t->element_size, t->capacity, &options, &t->tx[0],
                                    &t->rx),
                 ASX_OK);
    t->tx_alive[0] = true;
    t->senders = 1;
    t->receiver = -1;
    for (unsigned i = 0; i < WORKERS; i++)
        hire(t, i);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    for (t->step = 0; t->step < 250; t->step++)
        step(t, cx);
    CHECK_STATUS(asx_region_cancel(&t->region, NULL), ASX_OK);
    ASX_IGNORE(asx_region_close(&t->region, ASX_OK));
    return ASX_OK;
}

static void run_trials(uint64_t first_seed, unsigned count, bool trace, uint32_t obligations_max)
{
    static struct trial t;
    for (uint64_t seed = first_seed; seed < first_seed + count; seed++) {
        asx_runtime *rt;
        asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .trace = trace };
        config.limits.obligations_max = obligations_max;
        memset(&t, 0, sizeof t);
        t.seed = seed;
        t.rng = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, trial, &t), ASX_OK);
        CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

ASX_TEST_TIMEOUT(random_programs_do_what_the_naive_model_does, 60)
{
    run_trials(1, 1500 / asx_test_scale() + 1, false, 0);
}

ASX_TEST_TIMEOUT(tracing_does_not_change_what_random_programs_do, 60)
{
    run_trials(1, 300 / asx_test_scale() + 1, true, 0);
}

ASX_TEST_TIMEOUT(a_ceiling_that_is_not_reached_does_not_change_what_random_programs_do, 60)
{
    run_trials(1, 100 / asx_test_scale() + 1, false, 1000);
}
