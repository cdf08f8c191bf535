/* What a worker does that holds the engine under a lease: it means the same, takes no lock, and
 * others get in between two calls.
 * ctest-labels: own-workers */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <asx/asx.h>

#include "harness.h"
#include "sched/engine.h"

#define WORKERS 2u

typedef struct place {
    asx_runtime *rt;
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_cx *cx;
    uint64_t got;
    atomic_uint_fast64_t visits;
    atomic_bool stop;
    asx_status in_drop;
} place;

static void run(asx_task_fn fn, place *p)
{
    asx_runtime_config config = { .workers = WORKERS };
    CHECK_EQ(asx_runtime_create(&config, &p->rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(p->rt, fn, p), ASX_OK);
    CHECK_EQ(asx_runtime_quiescent(p->rt), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(p->rt), ASX_OK);
}

/* The lease of the calling worker; 0: it has none. */
static uint64_t lease(void)
{
    return asx__thread_self()->worker->slot.lease;
}

/* The other worker falls asleep, whenever it gets to that, and this one gets a lease. */
static void wait_for_lease(asx_cx *cx)
{
    for (int i = 0; lease() == 0; i++) {
        asx_region region;
        CHECK_EQ(asx_cx_region(cx, &region), ASX_OK);
        if (i % 64 == 63)
            usleep(20);
    }
}

static void open(asx_cx *cx, place *p, size_t capacity)
{
    p->cx = cx;
    CHECK_EQ(asx_region_open(cx, NULL, &p->region), ASX_OK);
    CHECK_EQ(asx_channel_create(&p->region, 8, capacity, NULL, &p->tx, &p->rx), ASX_OK);
}

static void send(asx_cx *cx, place *p, uint64_t value)
{
    asx_send_permit permit;
    CHECK_EQ(asx_channel_reserve(cx, &p->tx, &permit), ASX_OK);
    CHECK_EQ(asx_send_permit_send(&permit, &value), ASX_OK);
}

/* ---- the lock ------------------------------------------------------------------------------- */

static asx_status gives_way(asx_cx *cx, void *arg)
{
    asx_region region;
    CHECK_EQ(asx_yield(cx), ASX_OK);
    CHECK_EQ(asx_cx_region(cx, &region), ASX_OK);
    return asx_task_set_value(cx, (uint64_t)(uintptr_t)arg);
}

static asx_poll answers(asx_cx *cx, void *arg)
{
    CHECK_EQ(asx_task_set_value(cx, (uint64_t)(uintptr_t)arg), ASX_OK);
    return ASX_POLL_READY;
}

static asx_status takes(asx_cx *cx, void *arg)
{
    place *p = arg;
    return asx_channel_recv(cx, &p->rx, &p->got);
}

/* Everything that has a short way, once. */
static void small_calls(asx_cx *cx, place *p, uint64_t i)
{
    asx_task task[3];
    asx_join_result result;
    uint64_t got = 0;
    CHECK_EQ(asx_spawn_task(&p->region, gives_way, (void *)(uintptr_t)i, NULL, &task[0]), ASX_OK);
    CHECK_EQ(asx_spawn_poll_task(&p->region, answers, (void *)(uintptr_t)i, NULL, &task[1]),
             ASX_OK);
    for (int k = 0; k < 2; k++) {
        CHECK_EQ(asx_join(cx, &task[k], &result), ASX_OK);
        CHECK_EQ(result.value, i);
    }
    CHECK_EQ(asx_join(cx, &task[0], NULL), ASX_E_STALE_HANDLE);
    send(cx, p, i);
    CHECK_EQ(asx_channel_recv(cx, &p->rx, &got), ASX_OK);
    CHECK_EQ(got, i);
    CHECK_EQ(asx_spawn_task(&p->region, takes, p, NULL, &task[2]), ASX_OK);
    CHECK_EQ(asx_yield(cx), ASX_OK);
    send(cx, p, i + 1); /* to one who waits */
    CHECK_EQ(asx_join(cx, &task[2], NULL), ASX_OK);
    CHECK_EQ(p->got, i + 1);
}

/* How often workers have taken the lock. */
static uint64_t entries(const asx__engine *e)
{
    uint64_t sum = asx__load_relaxed(&e->visitor.outside.entries);
    for (uint32_t i = 0; i < e->workers_cap; i++)
        sum += asx__load_relaxed(&e->workers[i].outside.entries);
    return sum;
}

static asx_status works_alone(asx_cx *cx, void *arg)
{
    place *p = arg;
    const asx__engine *e = p->rt->engine;
    bool seen = false;
    open(cx, p, 4);
    for (uint64_t i = 0; !seen; i++) {
        wait_for_lease(cx);
        uint64_t before = lease(), taken = entries(e);
        small_calls(cx, p, i);
        seen = lease() == before && entries(e) == taken;
    }
    return asx_region_close(&p->region, ASX_OK);
}

ASX_TEST_TIMEOUT(by_a_lease_the_small_calls_do_not_take_the_lock, 60)
{
    place p = { .rt = NULL };
    run(works_alone, &p);
}

/* ---- what is special stays so ---------------------------------------------------------------- */

static asx_status is_told(asx_cx *cx, void *arg)
{
    place *p = arg;
    asx_send_permit permit;
    asx_task self;
    uint64_t got;
    wait_for_lease(cx);
    CHECK_EQ(asx_cx_task(cx, &self), ASX_OK);
    CHECK_EQ(asx_task_cancel(&self, NULL), ASX_OK);
    CHECK_EQ(asx_channel_reserve(cx, &p->tx, &permit), ASX_E_CANCELLED);
    CHECK_EQ(asx_channel_recv(cx, &p->rx, &got), ASX_E_CANCELLED);
    CHECK_EQ(asx_yield(cx), ASX_E_CANCELLED);
    return ASX_E_CANCELLED;
}

static asx_status refuses(asx_cx *cx, void *arg)
{
    place *p = arg;
    asx_task task;
    asx_send_permit permit = { 0 };
    uint64_t value = 7;
    open(cx, p, 1);
    wait_for_lease(cx);
    asx_channel_receiver old_rx = p->rx;
    asx_channel_sender old_tx = p->tx;
    CHECK_EQ(asx_channel_reserve(NULL, &p->tx, &permit), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_channel_reserve(cx, &p->tx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_channel_recv(cx, &p->rx, NULL), ASX_E_INVALID_ARGUMENT);
    send(cx, p, 1);
    CHECK_EQ(asx_send_permit_send(&permit, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_spawn_task(&p->region, is_told, p, NULL, &task), ASX_OK);
    asx_join_result result;
    CHECK_EQ(asx_join(cx, &task, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
    wait_for_lease(cx);
    CHECK_EQ(asx_channel_receiver_drop(&p->rx), ASX_OK);
    CHECK_EQ(asx_channel_reserve(cx, &p->tx, &permit), ASX_E_DISCONNECTED);
    CHECK_EQ(asx_channel_recv(cx, &old_rx, &value), ASX_E_STALE_HANDLE);
    CHECK_EQ(asx_channel_sender_drop(&p->tx), ASX_OK);
    CHECK_EQ(asx_channel_reserve(cx, &old_tx, &permit), ASX_E_STALE_HANDLE);
    return asx_region_close(&p->region, ASX_OK);
}

ASX_TEST_TIMEOUT(by_a_lease_everything_is_refused_as_ever, 60)
{
    place p = { .rt = NULL };
    run(refuses, &p);
}

/* From a drop callback the engine is held already. */
static void calls_back(void *ctx, void *message)
{
    place *p = ctx;
    asx_region region;
    (void)message;
    p->in_drop = asx_cx_region(p->cx, &region);
    CHECK(asx__engine_is_mine(p->rt));
    if (lease() != 0) /* by which it came in */
        CHECK_EQ(asx__load_relaxed(&asx__thread_self()->worker->slot.inside), 1);
    p->got++;
}

static asx_status drops(asx_cx *cx, void *arg)
{
    place *p = arg;
    uint64_t value = 1;
    bool evicted;
    open(cx, p, 1);
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_channel_options options = { .drop = calls_back, .drop_ctx = p };
    CHECK_EQ(asx_channel_create(&p->region, 8, 1, &options, &tx, &rx), ASX_OK);
    for (uint64_t i = 0; i < 100; i++) {
        wait_for_lease(cx);
        CHECK_EQ(asx_channel_send_evict_oldest(cx, &tx, &value, NULL, &evicted), ASX_OK);
        CHECK_EQ(p->in_drop, ASX_OK);
        CHECK_EQ(p->got, i);
        CHECK_EQ(asx__load_relaxed(&asx__thread_self()->worker->slot.inside), 0);
        CHECK(!asx__engine_is_mine(p->rt));
    }
    return asx_region_close(&p->region, ASX_OK);
}

ASX_TEST_TIMEOUT(a_call_from_a_drop_callback_leaves_the_engine_to_its_holder, 60)
{
    place p = { .rt = NULL };
    run(drops, &p);
}

/* ---- others ---------------------------------------------------------------------------------- */

static asx_status is_counted(asx_cx *cx, void *arg)
{
    place *p = arg;
    (void)cx;
    atomic_fetch_add(&p->visits, 1);
    return ASX_OK;
}

static void *visits(void *arg)
{
    place *p = arg;
    uint64_t made = 0;
    while (!atomic_load(&p->stop)) {
        CHECK_EQ(asx_spawn(&p->region, NULL, is_counted, p), ASX_OK);
        made++;
        for (uint64_t i = 0; i < made % 50; i++)
            sched_yield();
    }
    return (void *)(uintptr_t)made;
}

static asx_status is_visited(asx_cx *cx, void *arg)
{
    place *p = arg;
    pthread_t thread;
    void *made;
    open(cx, p, 4);
    CHECK_EQ(pthread_create(&thread, NULL, visits, p), 0);
    for (uint64_t i = 0; i < 20000 || atomic_load(&p->visits) < 200; i++)
        small_calls(cx, p, i);
    atomic_store(&p->stop, true);
    CHECK_EQ(pthread_join(thread, &made), 0);
    CHECK_EQ(asx_region_close(&p->region, ASX_OK), ASX_OK);
    CHECK_EQ(atomic_load(&p->visits), (uint64_t)(uintptr_t)made);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(whoever_comes_gets_in_between_two_calls, 60)
{
    place p = { .rt = NULL };
    run(is_visited, &p);
}
