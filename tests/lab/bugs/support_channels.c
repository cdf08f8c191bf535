/* Bugs of the Go kernels with channels and read-write locks. */
#include "support_bugs.h"

static bool bad;
static asx_lab_mutex m;
static asx_channel_sender tx, answer_tx;
static asx_channel_receiver rx, answer_rx;
static asx_rwlock rw;

static void fresh(bool with_bug)
{
    bad = with_bug;
    m = (asx_lab_mutex){ 0 };
}

#define GOOD(call) asx_lab_check(cx, (call) >= 0)

/* A region with two channels of that capacity and a read-write lock. */
static void open_with(asx_cx *cx, asx_region *ret_region, size_t capacity)
{
    GOOD(asx_region_open(cx, NULL, ret_region));
    GOOD(asx_channel_create(ret_region, sizeof(int), capacity, NULL, &tx, &rx));
    GOOD(asx_channel_create(ret_region, sizeof(int), capacity, NULL, &answer_tx, &answer_rx));
}

static void run_two(asx_cx *cx, size_t capacity, asx_task_fn one, asx_task_fn other)
{
    asx_region r;
    open_with(cx, &r, capacity);
    GOOD(asx_spawn(&r, "one", one, NULL));
    GOOD(asx_spawn(&r, "other", other, NULL));
    GOOD(asx_region_close(&r, ASX_OK));
}

/* ---- a read lock taken again around a queued writer ------------------------------------------ */

static asx_status reads_twice(asx_cx *cx, void *arg)
{
    asx_rwlock_guard outer, inner;
    (void)arg;
    GOOD(asx_rwlock_read(cx, &rw, &outer));
    if (bad) { /* refused if a writer has asked for it: it would wait for itself */
        asx_status st = asx_rwlock_read(cx, &rw, &inner);
        GOOD(st);
        if (st >= 0)
            GOOD(asx_rwlock_unlock(&inner));
    }
    GOOD(asx_rwlock_unlock(&outer));
    return ASX_OK;
}

static asx_status writes(asx_cx *cx, void *arg)
{
    asx_rwlock_guard guard;
    (void)arg;
    GOOD(asx_rwlock_write(cx, &rw, &guard));
    GOOD(asx_rwlock_unlock(&guard));
    return ASX_OK;
}

static void read_again(asx_cx *cx)
{
    asx_region r;
    GOOD(asx_region_open(cx, NULL, &r));
    GOOD(asx_rwlock_create(&r, &(asx_rwlock_options){ .name = "lock" }, &rw));
    GOOD(asx_spawn(&r, "reader", reads_twice, NULL));
    GOOD(asx_spawn(&r, "writer", writes, NULL));
    GOOD(asx_region_close(&r, ASX_OK));
}

BUG(read_lock_again, fresh, read_again(cx))

/* ---- sending while holding the lock that the receiver needs ---------------------------------- */

static asx_status send_two(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        LOCK(&m);
        if (!bad)
            UNLOCK(&m);
        GOOD(asx_channel_send(cx, &tx, &i));
        if (bad)
            UNLOCK(&m);
    }
    return ASX_OK;
}

static asx_status receive_two(asx_cx *cx, void *arg)
{
    int value;
    (void)arg;
    for (int i = 0; i < 2; i++) {
        LOCK(&m);
        UNLOCK(&m);
        GOOD(asx_channel_recv(cx, &rx, &value));
    }
    return ASX_OK;
}

BUG(send_under_lock, fresh, run_two(cx, 1, send_two, receive_two))

/* ---- a request to a loop that has already stopped -------------------------------------------- */

enum { REQUEST = 1, STOP = 2 };

static asx_status loop(asx_cx *cx, void *arg)
{
    int message = 0;
    (void)arg;
    for (;;) {
        GOOD(asx_channel_recv(cx, &rx, &message));
        if (message == STOP)
            break;
        GOOD(asx_channel_send(cx, &answer_tx, &message));
    }
    if (!bad)
        GOOD(asx_channel_sender_drop(&answer_tx)); /* whoever waits for an answer is told */
    return ASX_OK;
}

static asx_status client(asx_cx *cx, void *arg)
{
    int message = REQUEST;
    (void)arg;
    GOOD(asx_channel_send(cx, &tx, &message));
    asx_status st = asx_channel_recv(cx, &answer_rx, &message);
    asx_lab_check(cx, st == ASX_OK || st == ASX_E_DISCONNECTED);
    return ASX_OK;
}

static asx_status stopper(asx_cx *cx, void *arg)
{
    int message = STOP;
    (void)arg;
    GOOD(asx_channel_send(cx, &tx, &message));
    return ASX_OK;
}

static void late_request(asx_cx *cx)
{
    asx_region r;
    open_with(cx, &r, 2);
    GOOD(asx_spawn(&r, "loop", loop, NULL));
    GOOD(asx_spawn(&r, "client", client, NULL));
    GOOD(asx_spawn(&r, "stopper", stopper, NULL));
    GOOD(asx_region_close(&r, ASX_OK));
}

BUG(request_to_stopped, fresh, late_request(cx))

/* ---- the caller is gone and the worker waits for room for its answer ------------------------- */

static asx_status answers_twice(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        asx_status st = asx_channel_send(cx, &tx, &i);
        if (st == ASX_E_DISCONNECTED)
            break;
        asx_lab_check(cx, st == ASX_OK);
    }
    return ASX_OK;
}

static asx_status takes_one(asx_cx *cx, void *arg)
{
    int value;
    (void)arg;
    GOOD(asx_channel_recv(cx, &rx, &value));
    if (!bad)
        GOOD(asx_channel_receiver_drop(&rx));
    return ASX_OK;
}

BUG(caller_gone, fresh, run_two(cx, 1, answers_twice, takes_one))

/* ---- a ticker branch against a sender under the same mutex ----------------------------------- */

static asx_status tick_or_receive(asx_cx *cx, void *arg)
{
    int value;
    (void)arg;
    for (int received = 0; received < 2;) {
        if (received == 0 && asx_lab_choose(cx, 2) == 1) { /* a tick */
            LOCK(&m);
            UNLOCK(&m);
        }
        GOOD(asx_channel_recv(cx, &rx, &value));
        received++;
    }
    return ASX_OK;
}

static asx_status sender_under_mutex(asx_cx *cx, void *arg)
{
    (void)arg;
    if (bad)
        LOCK(&m);
    for (int i = 0; i < 2; i++)
        GOOD(asx_channel_send(cx, &tx, &i));
    if (bad)
        UNLOCK(&m);
    return ASX_OK;
}

BUG(ticker_mutex, fresh, run_two(cx, 1, tick_or_receive, sender_under_mutex))

/* ---- sending to a full channel before its consumer starts ------------------------------------ */

static void fill_first(asx_cx *cx)
{
    asx_region r;
    open_with(cx, &r, 1);
    if (!bad)
        GOOD(asx_spawn(&r, "consumer", receive_two, NULL));
    for (int i = 0; i < 2; i++)
        GOOD(asx_channel_send(cx, &tx, &i));
    if (bad)
        GOOD(asx_spawn(&r, "consumer", receive_two, NULL));
    GOOD(asx_region_close(&r, ASX_OK));
}

BUG(fill_before_consumer, fresh, fill_first(cx))
