/* Channel calls that need nobody else are made without the engine, and mean the same. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <asx/asx.h>

#include "harness.h"
#include "sched/engine.h"
#include "sync/sync.h"

#define WORKERS 2u

typedef struct place {
    asx_runtime *rt;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_task task;
    asx_send_permit permit;
    atomic_int stage;  /* how far the one is ... */
    atomic_int told;   /* ... and the other */
    uint64_t sent;
    asx_status end;
} place;

static void run(asx_task_fn fn, place *p)
{
    asx_runtime_config config = { .workers = WORKERS };
    CHECK_EQ(asx_runtime_create(&config, &p->rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(p->rt, fn, p), ASX_OK);
    CHECK_EQ(asx_runtime_quiescent(p->rt), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(p->rt), ASX_OK);
}

static void wait_until(atomic_int *at, int stage)
{
    while (atomic_load(at) < stage)
        sched_yield();
}

/* Keeps a worker awake and busy until it is told. */
static asx_status keep_awake(asx_cx *cx, void *arg)
{
    place *p = arg;
    (void)cx;
    atomic_store(&p->stage, 1);
    wait_until(&p->told, 1);
    return ASX_OK;
}

static asx_status awake_pair(asx_cx *cx, place *p, asx_region *r, size_t size, size_t capacity)
{
    CHECK_EQ(asx_region_open(cx, NULL, r), ASX_OK);
    CHECK_EQ(asx_channel_create(r, size, capacity, NULL, &p->tx, &p->rx), ASX_OK);
    CHECK_EQ(asx_spawn(r, "awake", keep_awake, p), ASX_OK);
    while (atomic_load(&p->stage) < 1)
        CHECK_EQ(asx_yield(cx), ASX_OK);
    return ASX_OK;
}

static uint64_t entries(const place *p)
{
    const asx__engine *e = p->rt->engine;
    uint64_t sum = asx__load_relaxed(&e->visitor.outside.entries);
    for (uint32_t i = 0; i < e->workers_cap; i++)
        sum += asx__load_relaxed(&e->workers[i].outside.entries);
    return sum;
}

/* Of the worker that runs the calling task. */
static uint64_t entries_here(void)
{
    return asx__load_relaxed(&asx__thread_self()->worker->outside.entries);
}

/* ---- who enters ------------------------------------------------------------------------------ */

typedef struct big {
    char bytes[24];
} big;

/* One message there and back in each way. */
static void there_and_back(asx_cx *cx, place *p, uint64_t i)
{
    big out, in;
    memset(&out, (int)(i % 251), sizeof out);
    memset(&in, 255, sizeof in);
    CHECK_EQ(asx_channel_reserve(cx, &p->tx, &p->permit), ASX_OK);
    CHECK_EQ(asx_send_permit_send(&p->permit, &out), ASX_OK);
    CHECK_EQ(asx_channel_recv(cx, &p->rx, &in), ASX_OK);
    CHECK_EQ(memcmp(&in, &out, sizeof in), 0);
    CHECK_EQ(asx_channel_try_reserve(cx, &p->tx, &p->permit), ASX_OK);
    CHECK_EQ(asx_send_permit_send(&p->permit, &out), ASX_OK);
    CHECK_EQ(asx_channel_try_recv(cx, &p->rx, &in), ASX_OK);
    CHECK_EQ(asx_channel_send(cx, &p->tx, &out), ASX_OK);
    CHECK_EQ(asx_channel_try_send(cx, &p->tx, &out), ASX_OK);
    CHECK_EQ(asx_channel_try_send(cx, &p->tx, &out), ASX_E_FULL);
    CHECK_EQ(asx_channel_try_reserve(cx, &p->tx, &p->permit), ASX_E_FULL);
    CHECK_EQ(asx_channel_recv(cx, &p->rx, &in), ASX_OK);
    CHECK_EQ(asx_channel_recv(cx, &p->rx, &in), ASX_OK);
    CHECK_EQ(asx_channel_try_recv(cx, &p->rx, &in), ASX_E_EMPTY);
}

static asx_status busy_both(asx_cx *cx, void *arg)
{
    place *p = arg;
    asx_region r;
    CHECK_EQ(awake_pair(cx, p, &r, sizeof(big), 2), ASX_OK);
    there_and_back(cx, p, 0); /* the first permit makes the task's record */
    uint64_t before = entries_here();
    enum { ROUNDS = 60 };
    for (uint64_t i = 0; i < ROUNDS; i++)
        there_and_back(cx, p, i);
    /* Slow calls look in now and then. */
    CHECK_LE(entries_here() - before, asx_test_emulated() ? 8u : 0u);
    atomic_store(&p->told, 1);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(calls_that_need_nobody_do_not_enter_while_others_work)
{
    place p = { .rt = NULL };
    run(busy_both, &p);
}

static asx_status alone(asx_cx *cx, void *arg)
{
    place *p = arg;
    asx_region r;
    asx_stats stats;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_channel_create(&r, 8, 2, NULL, &p->tx, &p->rx), ASX_OK);
    CHECK_EQ(asx_runtime_stats(p->rt, &stats), ASX_OK);
    uint64_t total = stats.obligations_total, before = entries(p), i;
    enum { ROUNDS = 20000 };
    for (i = 0; i < ROUNDS; i++) {
        uint64_t got = 0;
        CHECK_EQ(asx_channel_reserve(cx, &p->tx, &p->permit), ASX_OK);
        CHECK_EQ(asx_send_permit_send(&p->permit, &i), ASX_OK);
        CHECK_EQ(asx_channel_recv(cx, &p->rx, &got), ASX_OK);
        CHECK_EQ(got, i);
    }
    CHECK(entries(p) - before < ROUNDS);
    CHECK_EQ(asx_runtime_stats(p->rt, &stats), ASX_OK);
    CHECK_EQ(stats.obligations_total - total, ROUNDS); /* whoever gave out their numbers */
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_worker_that_is_alone_seldom_enters_and_every_permit_is_counted)
{
    place p = { .rt = NULL };
    run(alone, &p);
}

/* ---- against cancel, drop and close ---------------------------------------------------------- */

static asx_status pump(asx_cx *cx, void *arg)
{
    place *p = arg;
    uint64_t message = 0;
    asx_status st = ASX_OK;
    atomic_store(&p->stage, 1);
    while (st == ASX_OK) {
        bool cancelled = atomic_load(&p->told) != 0; /* the cancel has returned */
        st = asx_channel_reserve(cx, &p->tx, &p->permit);
        CHECK(!cancelled || st == ASX_E_CANCELLED);
        if (st == ASX_OK)
            st = asx_send_permit_send(&p->permit, &message);
        p->sent += st == ASX_OK;
        if (st == ASX_OK)
            st = asx_channel_recv(cx, &p->rx, &message);
    }
    p->end = st;
    atomic_store(&p->stage, 2);
    return ASX_OK;
}

static asx_status cancel_pump(asx_cx *cx, void *arg)
{
    place *p = arg;
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_channel_create(&r, 8, 4, NULL, &p->tx, &p->rx), ASX_OK);
    CHECK_EQ(asx_spawn_task(&r, pump, p, NULL, &p->task), ASX_OK);
    while (atomic_load(&p->stage) < 1)
        CHECK_EQ(asx_yield(cx), ASX_OK);
    CHECK_EQ(asx_task_cancel(&p->task, NULL), ASX_OK);
    atomic_store(&p->told, 1);
    wait_until(&p->stage, 2);
    CHECK_EQ(p->end, ASX_E_CANCELLED);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_cancel_reaches_a_task_that_does_not_enter)
{
    for (int i = 0; i < 20; i++) {
        place p = { .rt = NULL };
        run(cancel_pump, &p);
    }
}

static asx_status send_on(asx_cx *cx, void *arg)
{
    place *p = arg;
    uint64_t message = 0;
    asx_status st = ASX_OK;
    while (st == ASX_OK || st == ASX_E_FULL) {
        st = asx_channel_try_send(cx, &p->tx, &message);
        p->sent += st == ASX_OK;
        if (st == ASX_OK)
            atomic_store(&p->stage, 1);
    }
    p->end = st;
    return ASX_OK;
}

static atomic_uint_fast64_t dropped;

static void count_drop(void *ctx, void *message)
{
    (void)ctx;
    (void)message;
    atomic_fetch_add(&dropped, 1);
}

static asx_status drop_receiver(asx_cx *cx, void *arg)
{
    place *p = arg;
    asx_region r;
    uint64_t received = 0, message;
    asx_channel_options options = { .drop = count_drop };
    atomic_store(&dropped, 0);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_channel_create(&r, 8, 3, &options, &p->tx, &p->rx), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "sender", send_on, p), ASX_OK);
    while (atomic_load(&p->stage) < 1)
        CHECK_EQ(asx_yield(cx), ASX_OK);
    for (int i = 0; i < 500; i++)
        received += asx_channel_try_recv(cx, &p->rx, &message) == ASX_OK;
    CHECK_EQ(asx_channel_receiver_drop(&p->rx), ASX_OK);
    CHECK_EQ(asx_channel_try_recv(cx, &p->rx, &message), ASX_E_STALE_HANDLE);
    asx_status st = asx_region_close(&r, ASX_OK);
    CHECK_EQ(p->end, ASX_E_DISCONNECTED);
    CHECK_EQ(received + atomic_load(&dropped), p->sent);
    return st;
}

ASX_TEST(no_message_is_lost_when_the_receiver_hangs_up)
{
    for (int i = 0; i < 20; i++) {
        place p = { .rt = NULL };
        run(drop_receiver, &p);
    }
}

/* Holds a permit and goes on sending while the channel's region closes. */
static asx_status outlives(asx_cx *cx, void *arg)
{
    place *p = arg;
    uint64_t message = 7;
    CHECK_EQ(asx_channel_send(cx, &p->tx, &message), ASX_OK);
    CHECK_EQ(asx_channel_reserve(cx, &p->tx, &p->permit), ASX_OK);
    asx_send_permit first = p->permit;
    atomic_store(&p->stage, 1);
    asx_status st = ASX_OK;
    while (st == ASX_OK || st == ASX_E_FULL)
        st = asx_channel_try_send(cx, &p->tx, &message);
    CHECK_EQ(st, ASX_E_DISCONNECTED);
    CHECK_EQ(asx_send_permit_send(&first, &message), ASX_E_DISCONNECTED);
    CHECK_EQ(asx_channel_reserve(cx, &p->tx, &p->permit), ASX_E_DISCONNECTED);
    wait_until(&p->told, 1); /* a channel has been made of the same records */
    CHECK_EQ(asx_channel_try_send(cx, &p->tx, &message), ASX_E_DISCONNECTED);
    CHECK_EQ(asx_send_permit_send(&first, &message), ASX_E_DISCONNECTED);
    CHECK_EQ(asx_channel_recv(cx, &p->rx, &message), ASX_E_DISCONNECTED);
    return ASX_OK;
}

static asx_status close_under(asx_cx *cx, void *arg)
{
    place *p = arg;
    asx_region outer, inner;
    CHECK_EQ(asx_region_open(cx, NULL, &outer), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &inner), ASX_OK);
    CHECK_EQ(asx_channel_create(&inner, 8, 2, NULL, &p->tx, &p->rx), ASX_OK);
    CHECK_EQ(asx_spawn(&outer, "outlives", outlives, p), ASX_OK);
    while (atomic_load(&p->stage) < 1)
        CHECK_EQ(asx_yield(cx), ASX_OK);
    CHECK_EQ(asx_region_close(&inner, ASX_OK), ASX_OK);
    asx_channel_sender tx;
    asx_channel_receiver rx;
    CHECK_EQ(asx_channel_create(&outer, 8, 2, NULL, &tx, &rx), ASX_OK);
    CHECK(tx.shared_ == p->tx.shared_);
    CHECK(rx.shared_ == p->rx.shared_);
    atomic_store(&p->told, 1);
    return asx_region_close(&outer, ASX_OK);
}

ASX_TEST(endpoints_and_permits_of_a_channel_that_is_gone_are_refused_while_others_work)
{
    for (int i = 0; i < 20; i++) {
        place p = { .rt = NULL };
        run(close_under, &p);
    }
}

/* ---- permits --------------------------------------------------------------------------------- */

static asx_status leaves_permit(asx_cx *cx, void *arg)
{
    place *p = arg;
    uint64_t message = 1;
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(asx_channel_reserve(cx, &p->tx, &p->permit), ASX_OK);
        asx_send_permit second;
        CHECK_EQ(asx_channel_reserve(cx, &p->tx, &second), ASX_OK); /* in the registry */
        CHECK_EQ(asx_send_permit_send(&second, &message), ASX_OK);
        CHECK_EQ(asx_send_permit_send(&p->permit, &message), ASX_OK);
        CHECK_EQ(asx_send_permit_send(&p->permit, &message), ASX_E_OBLIGATION_ALREADY_RESOLVED);
        CHECK_EQ(asx_channel_recv(cx, &p->rx, &message), ASX_OK);
        CHECK_EQ(asx_channel_recv(cx, &p->rx, &message), ASX_OK);
    }
    CHECK_EQ(asx_channel_reserve(cx, &p->tx, &p->permit), ASX_OK);
    return ASX_OK; /* its end gives the capacity back */
}

static asx_status after_permit(asx_cx *cx, void *arg)
{
    place *p = arg;
    asx_region r;
    asx_channel_info info;
    uint64_t message = 1;
    CHECK_EQ(awake_pair(cx, p, &r, 8, 2), ASX_OK);
    CHECK_EQ(asx_spawn_task(&r, leaves_permit, p, NULL, &p->task), ASX_OK);
    CHECK_EQ(asx_join(cx, &p->task, NULL), ASX_OK);
    CHECK_EQ(asx_channel_sender_info(&p->tx, &info), ASX_OK);
    CHECK_EQ(info.reserved, 0);
    CHECK_EQ(asx_send_permit_send(&p->permit, &message), ASX_E_OBLIGATION_ALREADY_RESOLVED);
    atomic_store(&p->told, 1);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_permit_goes_back_with_its_task_and_is_used_once)
{
    place p = { .rt = NULL };
    run(after_permit, &p);
}
