/* test_outputs.c - outputs on refusal: handles, guards, permits, pointers and records are all zero
 * then, which every call refuses. (A region that could not be opened has a value of its own: see
 * asx_region_open(). Buffers for messages are left as they are.) Each call is made in vain in three
 * ways: of nothing, of an object that never was, and of one that is gone or not to be had. */
#include "support_api.h"

#include <string.h>

#include <asx/asx_lab.h>

static void is_safe(const char *call, asx_status st, const void *out, size_t size)
{
    const unsigned char *bytes = out;
    if (st >= 0)
        asx_test_fail(__FILE__, __LINE__, "%s is not refused", call);
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            asx_test_fail(__FILE__, __LINE__, "%s: %s, and byte %zu of the output is 0x%02x", call,
                          asx_status_str(st), i, bytes[i]);
}

#define SAFE(out, call)                                              \
    do {                                                             \
        memset(&(out), 0xa5, sizeof(out));                           \
        asx_status st_ = (call);                                     \
        is_safe(#call, st_, &(out), sizeof(out));                    \
    } while (0)

/* Zeroed handles never named anything; the others do not any more, or never did either. */
typedef struct world {
    asx_cx *cx;
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_mpmc_sender mtx;
    asx_mpmc_receiver mrx;
    asx_broadcast broadcast;
    asx_broadcast_receiver subscriber;
    asx_oneshot_sender otx;
    asx_oneshot_receiver orx;
    asx_watch watch;
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    asx_barrier barrier;
    asx_once once;
    asx_obligation obligation;
    asx_task task;
    asx_tracked_permit permit;
} world;

static void of_channels(world *w)
{
    char message[8] = { 0 };
    asx_send_permit permit;
    asx_tracked_permit tracked;
    asx_ack ack;
    asx_committed_proof committed;
    asx_aborted_proof aborted;
    asx_channel_info info;
    asx_channel_sender sender;
    asx_mpmc_sender msender;
    asx_mpmc_receiver mreceiver;
    asx_mpmc_info minfo;
    bool did_evict;
    SAFE(permit, asx_channel_reserve(w->cx, &w->tx, &permit));
    SAFE(permit, asx_channel_try_reserve(w->cx, &w->tx, &permit));
    SAFE(tracked, asx_channel_reserve_tracked(w->cx, &w->tx, &tracked));
    SAFE(ack, asx_channel_recv_with_ack(w->cx, &w->rx, message, &ack));
    SAFE(did_evict, asx_channel_send_evict_oldest(w->cx, &w->tx, message, NULL, &did_evict));
    SAFE(committed, asx_tracked_permit_send(&w->permit, message, &committed));
    SAFE(aborted, asx_tracked_permit_abort(&w->permit, &aborted));
    SAFE(sender, asx_channel_sender_clone(&w->tx, &sender));
    SAFE(info, asx_channel_sender_info(&w->tx, &info));
    SAFE(info, asx_channel_receiver_info(&w->rx, &info));
    SAFE(msender, asx_mpmc_sender_clone(&w->mtx, &msender));
    SAFE(mreceiver, asx_mpmc_receiver_clone(&w->mrx, &mreceiver));
    SAFE(minfo, asx_mpmc_sender_info(&w->mtx, &minfo));
    SAFE(minfo, asx_mpmc_receiver_info(&w->mrx, &minfo));
}

static void of_shapes(world *w)
{
    char message[8] = { 0 };
    asx_broadcast_receiver receiver;
    size_t receivers;
    uint64_t missed;
    SAFE(receiver, asx_broadcast_subscribe(&w->broadcast, &receiver));
    SAFE(receivers, asx_broadcast_send(&w->broadcast, message, &receivers));
    SAFE(missed, asx_broadcast_recv(w->cx, &w->subscriber, message, &missed));
    SAFE(missed, asx_broadcast_try_recv(w->cx, &w->subscriber, message, &missed));
    SAFE(missed, asx_watch_get(&w->watch, message, &missed));
}

static void of_locks(world *w)
{
    asx_mutex_guard guard;
    asx_rwlock_guard rwguard;
    asx_semaphore_permit permit;
    asx_lock_info info;
    bool leads, done;
    SAFE(guard, asx_mutex_lock(w->cx, &w->mutex, &guard));
    SAFE(guard, asx_mutex_try_lock(w->cx, &w->mutex, &guard));
    SAFE(guard, asx_mutex_recover(w->cx, &w->mutex, &guard));
    SAFE(info, asx_mutex_info(&w->mutex, &info));
    SAFE(rwguard, asx_rwlock_read(w->cx, &w->rwlock, &rwguard));
    SAFE(rwguard, asx_rwlock_write(w->cx, &w->rwlock, &rwguard));
    SAFE(rwguard, asx_rwlock_try_read(w->cx, &w->rwlock, &rwguard));
    SAFE(rwguard, asx_rwlock_try_write(w->cx, &w->rwlock, &rwguard));
    SAFE(rwguard, asx_rwlock_recover(w->cx, &w->rwlock, &rwguard));
    SAFE(info, asx_rwlock_info(&w->rwlock, &info));
    SAFE(permit, asx_semaphore_acquire(w->cx, &w->semaphore, 1, &permit));
    SAFE(permit, asx_semaphore_try_acquire(w->cx, &w->semaphore, 1, &permit));
    SAFE(info, asx_semaphore_info(&w->semaphore, &info));
    SAFE(leads, asx_barrier_wait(w->cx, &w->barrier, &leads));
    SAFE(done, asx_once_is_done(&w->once, &done));
}

static asx_poll polls(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_POLL_READY;
}

static asx_status blocks(void *arg)
{
    (void)arg;
    return ASX_OK;
}

static void creates(world *w)
{
    int value = 1;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_mpmc_sender mtx;
    asx_mpmc_receiver mrx;
    asx_oneshot_sender otx;
    asx_oneshot_receiver orx;
    asx_broadcast broadcast;
    asx_watch watch;
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    asx_condition condition;
    asx_notify notify;
    asx_barrier barrier;
    asx_once once;
    const asx_region *r = &w->region;
    SAFE(tx, asx_channel_create(r, sizeof value, 1, NULL, &tx, &rx));
    SAFE(rx, asx_channel_create(r, sizeof value, 1, NULL, &tx, &rx));
    SAFE(mtx, asx_mpmc_create(r, sizeof value, 1, NULL, &mtx, &mrx));
    SAFE(mrx, asx_mpmc_create(r, sizeof value, 1, NULL, &mtx, &mrx));
    SAFE(otx, asx_oneshot_create(r, sizeof value, NULL, &otx, &orx));
    SAFE(orx, asx_oneshot_create(r, sizeof value, NULL, &otx, &orx));
    SAFE(broadcast, asx_broadcast_create(r, sizeof value, 1, NULL, &broadcast));
    SAFE(watch, asx_watch_create(r, sizeof value, &value, NULL, &watch));
    SAFE(mutex, asx_mutex_create(r, NULL, &mutex));
    SAFE(rwlock, asx_rwlock_create(r, NULL, &rwlock));
    SAFE(semaphore, asx_semaphore_create(r, 1, NULL, &semaphore));
    SAFE(condition, asx_condition_create(r, NULL, &condition));
    SAFE(notify, asx_notify_create(r, NULL, &notify));
    SAFE(barrier, asx_barrier_create(r, 1, NULL, &barrier));
    SAFE(once, asx_once_create(r, NULL, &once));
}

static void has_no_result(const asx_join_result *result)
{
    CHECK_EQ(result->outcome.kind, ASX_OUTCOME_ERR);
    CHECK_STATUS(result->outcome.status, ASX_E_NOT_FOUND);
    CHECK_EQ(result->value, 0);
}

static void of_regions(world *w)
{
    asx_obligation obligation;
    asx_obligation_state obligation_state;
    asx_task task;
    asx_task_state task_state;
    asx_cancel_witness witness;
    asx_join_result result = { .value = 1 };
    asx_region_state region_state;
    asx_budget budget;
    void *memory;
    const asx_region *r = &w->region;
    SAFE(task, asx_spawn_task(r, api_returns_ok, NULL, NULL, &task));
    SAFE(task, asx_spawn_poll_task(r, polls, NULL, NULL, &task));
    SAFE(task, asx_spawn_blocking(r, "b", blocks, NULL, &task));
    SAFE(memory, asx_region_alloc(r, 8, &memory));
    SAFE(region_state, asx_region_get_state(r, &region_state));
    SAFE(obligation, asx_obligation_reserve(r, ASX_OBLIGATION_KIND_LEASE, &obligation));
    SAFE(obligation_state, asx_obligation_get_state(&w->obligation, &obligation_state));
    CHECK(asx_join(w->cx, &w->task, &result) < 0);
    has_no_result(&result);
    SAFE(task_state, asx_task_get_state(&w->task, &task_state));
    SAFE(witness, asx_task_get_witness(&w->task, &witness));
    SAFE(budget, asx_task_get_cleanup(&w->task, &budget));
}

static void all_of(world *w)
{
    of_channels(w);
    of_shapes(w);
    of_locks(w);
    creates(w);
    of_regions(w);
}

/* ---- nothing -------------------------------------------------------------------------------- */

static void of_no_context(void)
{
    asx_cx cx;
    asx_budget budget;
    const asx_cancel_reason *reason;
    asx_waker waker;
    asx_task task;
    SAFE(cx, asx_cx_narrow(NULL, ASX_CAP_ALL, &cx));
    SAFE(budget, asx_cx_budget(NULL, &budget));
    SAFE(reason, asx_cx_cancel_reason(NULL, &reason));
    SAFE(waker, asx_cx_waker(NULL, &waker));
    SAFE(task, asx_cx_task(NULL, &task));
}

static void of_no_runtime(void)
{
    asx_runtime *rt;
    asx_runtime_config wrong = { .stack_size = 1 };
    asx_fairness_certificate certificate;
    asx_stats stats;
    asx_pool_stats pool;
    asx_blocking_stats blocking;
    asx_divergence divergence;
    asx_watchdog *watchdog;
    asx_time next;
    SAFE(rt, asx_runtime_create(&wrong, &rt));
    SAFE(certificate, asx_runtime_certificate(NULL, &certificate));
    SAFE(stats, asx_runtime_stats(NULL, &stats));
    SAFE(pool, asx_runtime_pool_stats(NULL, &pool));
    SAFE(blocking, asx_runtime_blocking_stats(NULL, &blocking));
    SAFE(divergence, asx_runtime_divergence(NULL, &divergence));
    SAFE(watchdog, asx_watchdog_start(NULL, NULL, &watchdog));
    next = 7;
    CHECK_STATUS(asx_runtime_step(NULL, 1, &next), ASX_E_INVALID_ARGUMENT);
    CHECK(next == ASX_TIME_NEVER);
}

static void of_no_wheel(void)
{
    asx_timer_wheel *wheel;
    asx_timer_config wrong = { .max_timers = UINT64_MAX };
    asx_timer_handle timer;
    asx_waker waker = { 0 };
    SAFE(wheel, asx_timer_wheel_create(&wrong, &wheel));
    SAFE(timer, asx_timer_register(NULL, 0, waker, &timer));
    SAFE(timer, asx_timer_update(NULL, &(asx_timer_handle){ 0 }, 0, waker, &timer));
}

ASX_TEST(outputs_are_zero_when_there_is_nothing)
{
    world w = { .cx = NULL };
    all_of(&w);
    of_no_context();
    of_no_runtime();
    of_no_wheel();
}

/* ---- what is gone ---------------------------------------------------------------------------- */

static void fill(world *w, const asx_region *r)
{
    int value = 1;
    CHECK_STATUS(asx_channel_create(r, sizeof value, 1, NULL, &w->tx, &w->rx), ASX_OK);
    CHECK_STATUS(asx_mpmc_create(r, sizeof value, 1, NULL, &w->mtx, &w->mrx), ASX_OK);
    CHECK_STATUS(asx_broadcast_create(r, sizeof value, 1, NULL, &w->broadcast), ASX_OK);
    CHECK_STATUS(asx_broadcast_subscribe(&w->broadcast, &w->subscriber), ASX_OK);
    CHECK_STATUS(asx_oneshot_create(r, sizeof value, NULL, &w->otx, &w->orx), ASX_OK);
    CHECK_STATUS(asx_watch_create(r, sizeof value, &value, NULL, &w->watch), ASX_OK);
    CHECK_STATUS(asx_mutex_create(r, NULL, &w->mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(r, NULL, &w->rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(r, 1, NULL, &w->semaphore), ASX_OK);
    CHECK_STATUS(asx_barrier_create(r, 2, NULL, &w->barrier), ASX_OK);
    CHECK_STATUS(asx_once_create(r, NULL, &w->once), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(r, ASX_OBLIGATION_KIND_LEASE, &w->obligation), ASX_OK);
    CHECK_STATUS(asx_channel_reserve_tracked(w->cx, &w->tx, &w->permit), ASX_OK);
    CHECK_STATUS(asx_spawn_task(r, api_returns_ok, NULL, NULL, &w->task), ASX_OK);
}

static asx_status uses_what_never_was(asx_cx *cx, void *arg)
{
    world w = { .cx = cx };
    (void)arg;
    all_of(&w);
    return ASX_OK;
}

ASX_TEST(outputs_are_zero_when_an_object_never_was)
{
    CHECK_STATUS(api_run(uses_what_never_was, NULL), ASX_OK);
}

static asx_status uses_what_is_gone(asx_cx *cx, void *arg)
{
    world w = { .cx = cx };
    asx_aborted_proof proof;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &w.region), ASX_OK);
    fill(&w, &w.region);
    CHECK_STATUS(asx_tracked_permit_abort(&w.permit, &proof), ASX_OK);
    CHECK_STATUS(asx_obligation_abort(&w.obligation), ASX_OK);
    w.obligation.id.generation += 1000;
    CHECK_STATUS(asx_region_close(&w.region, ASX_OK), ASX_OK);
    all_of(&w);
    return ASX_OK;
}

ASX_TEST(outputs_are_zero_when_an_object_is_gone)
{
    CHECK_STATUS(api_run(uses_what_is_gone, NULL), ASX_OK);
}

/* ---- what is not to be had ------------------------------------------------------------------ */

/* Everything is taken by another task. */
static asx_status waits_in_vain(asx_cx *cx, void *arg)
{
    world *w = arg;
    char message[8];
    asx_send_permit permit;
    asx_tracked_permit tracked;
    asx_ack ack;
    asx_mutex_guard guard;
    asx_rwlock_guard rwguard;
    asx_semaphore_permit units;
    SAFE(permit, asx_channel_try_reserve(cx, &w->tx, &permit));
    SAFE(guard, asx_mutex_try_lock(cx, &w->mutex, &guard));
    SAFE(rwguard, asx_rwlock_try_read(cx, &w->rwlock, &rwguard));
    SAFE(rwguard, asx_rwlock_try_write(cx, &w->rwlock, &rwguard));
    SAFE(units, asx_semaphore_try_acquire(cx, &w->semaphore, 1, &units));
    /* Cancelled while it waits in the first, before it waits in the others. */
    SAFE(permit, asx_channel_reserve(cx, &w->tx, &permit));
    SAFE(permit, asx_channel_reserve(cx, &w->tx, &permit));
    SAFE(tracked, asx_channel_reserve_tracked(cx, &w->tx, &tracked));
    SAFE(ack, asx_channel_recv_with_ack(cx, &w->rx, message, &ack));
    SAFE(guard, asx_mutex_lock(cx, &w->mutex, &guard));
    SAFE(rwguard, asx_rwlock_read(cx, &w->rwlock, &rwguard));
    SAFE(units, asx_semaphore_acquire(cx, &w->semaphore, 1, &units));
    return ASX_OK;
}

/* Cancelled in each. */
static asx_status waits_for_ack(asx_cx *cx, void *arg)
{
    char message[8];
    asx_ack ack;
    SAFE(ack, asx_channel_recv_with_ack(cx, &((world *)arg)->rx, message, &ack));
    return ASX_OK;
}

static asx_status waits_for_tracked(asx_cx *cx, void *arg)
{
    asx_tracked_permit permit;
    SAFE(permit, asx_channel_reserve_tracked(cx, &((world *)arg)->tx, &permit));
    return ASX_OK;
}

static asx_status joins(asx_cx *cx, void *arg)
{
    asx_task child;
    asx_join_result result = { .value = 1 };
    /* With a stack that is free the child runs in the joiner's place, at once. */
    CHECK_STATUS(asx_spawn(&((world *)arg)->region, NULL, api_returns_ok, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&((world *)arg)->region, api_waits, NULL, NULL, &child), ASX_OK);
    CHECK_STATUS(asx_join(cx, &child, &result), ASX_E_CANCELLED);
    has_no_result(&result);
    return ASX_OK;
}

static asx_status waits_for_lock(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    SAFE(guard, asx_mutex_lock(cx, &((world *)arg)->mutex, &guard));
    return ASX_OK;
}

static asx_status waits_for_units(asx_cx *cx, void *arg)
{
    asx_semaphore_permit permit;
    SAFE(permit, asx_semaphore_acquire(cx, &((world *)arg)->semaphore, 1, &permit));
    return ASX_OK;
}

/* The capacity comes, and then the cancel, before it has run: what was on its way is taken back. */
static asx_status waits_for_what_is_taken_back(asx_cx *cx, void *arg)
{
    asx_send_permit permit;
    SAFE(permit, asx_channel_reserve(cx, &((world *)arg)->tx, &permit));
    CHECK_STATUS(asx_send_permit_abort(&permit), ASX_E_INVALID_ARGUMENT);
    return ASX_OK;
}

static asx_status takes_everything(asx_cx *cx, void *arg)
{
    world w = { .cx = cx };
    asx_region home;
    asx_mutex_guard guard;
    asx_rwlock_guard rwguard;
    asx_semaphore_permit units;
    asx_aborted_proof proof;
    bool taken_back = arg != NULL;
    CHECK_STATUS(asx_region_open(cx, NULL, &home), ASX_OK);
    fill(&w, &home);
    CHECK_STATUS(asx_obligation_abort(&w.obligation), ASX_OK);
    CHECK_STATUS(asx_mutex_lock(cx, &w.mutex, &guard), ASX_OK);
    CHECK_STATUS(asx_rwlock_write(cx, &w.rwlock, &rwguard), ASX_OK);
    CHECK_STATUS(asx_semaphore_acquire(cx, &w.semaphore, 1, &units), ASX_OK);
    asx_task_fn waiters[] = { waits_in_vain, waits_for_ack, waits_for_tracked, waits_for_lock,
                              waits_for_units, joins };
    for (size_t i = 0; i < sizeof waiters / sizeof *waiters; i++) {
        CHECK_STATUS(asx_region_open(cx, NULL, &w.region), ASX_OK);
        CHECK_STATUS(asx_spawn(&w.region, "waiter", waiters[i], &w), ASX_OK);
        CHECK_STATUS(asx_sleep(cx, 30 * ASX_MS), ASX_OK); /* it waits, on whatever worker */
        CHECK_STATUS(asx_region_close(&w.region, ASX_E_FULL), ASX_E_FULL);
    }
    CHECK_STATUS(asx_region_open(cx, NULL, &w.region), ASX_OK);
    if (taken_back)
        CHECK_STATUS(asx_spawn(&w.region, "waiter", waits_for_what_is_taken_back, &w), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 30 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_tracked_permit_abort(&w.permit, &proof), ASX_OK);
    CHECK_STATUS(asx_region_close(&w.region, ASX_E_FULL), ASX_E_FULL);
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    CHECK_STATUS(asx_rwlock_unlock(&rwguard), ASX_OK);
    CHECK_STATUS(asx_semaphore_release(&units), ASX_OK);
    return asx_region_close(&home, ASX_OK);
}

ASX_TEST(outputs_are_zero_when_there_is_nothing_to_be_had)
{
    CHECK_STATUS(api_run(takes_everything, ""), ASX_OK);
}

/* And on several workers, where handles are of another sort. */
ASX_TEST(outputs_are_zero_on_a_live_runtime)
{
    asx_task_fn all[] = { uses_what_never_was, uses_what_is_gone, takes_everything };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        asx_runtime *rt;
        CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, all[i], NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}
