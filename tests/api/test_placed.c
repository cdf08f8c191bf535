/* test_placed.c - calls that record their place are macros and functions: each can be had as a
 * pointer, does through it what the macro does, and refuses the same. */
#include "support_api.h"

#include <string.h>

#include <asx/asx_lab.h>

/* Of the right type, or this file does not compile. */
static asx_status (*const spawn)(const asx_region *, const char *, asx_task_fn, void *) = asx_spawn;
static asx_status (*const spawn_copy)(const asx_region *, const char *, asx_task_fn, const void *,
                                      size_t) = asx_spawn_copy;
static asx_status (*const spawn_poll)(const asx_region *, const char *, asx_poll_fn,
                                      void *) = asx_spawn_poll;
static asx_status (*const spawn_task)(const asx_region *, asx_task_fn, void *,
                                      const asx_spawn_options *, asx_task *) = asx_spawn_task;
static asx_status (*const spawn_poll_task)(const asx_region *, asx_poll_fn, void *,
                                           const asx_spawn_options *,
                                           asx_task *) = asx_spawn_poll_task;
static asx_status (*const spawn_blocking)(const asx_region *, const char *, asx_blocking_fn, void *,
                                          asx_task *) = asx_spawn_blocking;
static asx_status (*const region_open)(asx_cx *, const asx_region_options *,
                                       asx_region *) = asx_region_open;
static asx_status (*const region_open_in)(asx_cx *, const asx_region *, const asx_region_options *,
                                          asx_region *) = asx_region_open_in;
static asx_status (*const obligation_reserve)(const asx_region *, asx_obligation_kind,
                                              asx_obligation *) = asx_obligation_reserve;
static asx_status (*const reserve_tracked)(asx_cx *, const asx_channel_sender *,
                                           asx_tracked_permit *) = asx_channel_reserve_tracked;
static asx_status (*const adopt)(asx_cx *, const asx_oneshot_sender *) = asx_oneshot_adopt;
static asx_status (*const once_call)(asx_cx *, const asx_once *, asx_call_fn, void *) =
    asx_once_call;
static asx_status (*const mutex_calls[])(asx_cx *, const asx_mutex *, asx_mutex_guard *) = {
    asx_mutex_lock, asx_mutex_try_lock, asx_mutex_recover
};
static asx_status (*const rwlock_calls[])(asx_cx *, const asx_rwlock *, asx_rwlock_guard *) = {
    asx_rwlock_read, asx_rwlock_try_read, asx_rwlock_write, asx_rwlock_try_write,
    asx_rwlock_recover
};
static asx_status (*const semaphore_calls[])(asx_cx *, const asx_semaphore *, uint32_t,
                                             asx_semaphore_permit *) = {
    asx_semaphore_acquire, asx_semaphore_try_acquire
};
static asx_status (*const lab_mutex_calls[])(asx_cx *, asx_lab_mutex *) = {
    asx_lab_mutex_lock, asx_lab_mutex_unlock, asx_lab_mutex_try_lock, asx_lab_mutex_unlock
};
static asx_status (*const lab_semaphore_calls[])(asx_cx *, asx_lab_semaphore *, uint64_t) = {
    asx_lab_semaphore_release, asx_lab_semaphore_acquire
};
static asx_status (*const lab_operate)(asx_cx *, asx_lab_object *, const asx_lab_device *, unsigned,
                                       uint64_t, uint64_t *) = asx_lab_operate;
static uint32_t (*const lab_choose)(asx_cx *, uint32_t) = asx_lab_choose;
static void (*const lab_check)(asx_cx *, bool) = asx_lab_check;

#define EACH(i, calls) (size_t i = 0; i < sizeof(calls) / sizeof *(calls); i++)

/* ---- right ---------------------------------------------------------------------------------- */

static asx_status counts(asx_cx *cx, void *arg)
{
    (void)cx;
    ++*(int *)arg;
    return ASX_OK;
}

static asx_status counts_copied(asx_cx *cx, void *arg)
{
    return counts(cx, *(int **)arg);
}

static asx_poll counts_polled(asx_cx *cx, void *arg)
{
    (void)counts(cx, arg);
    return ASX_POLL_READY;
}

static asx_status counts_blocking(void *arg)
{
    return counts(NULL, arg);
}

static void spawns(asx_cx *cx, const asx_region *r)
{
    int ran[6] = { 0 }, *copied = &ran[1];
    asx_region inner;
    CHECK_STATUS(region_open_in(cx, r, NULL, &inner), ASX_OK);
    CHECK_STATUS(spawn(&inner, "a", counts, &ran[0]), ASX_OK);
    CHECK_STATUS(spawn_copy(&inner, "b", counts_copied, &copied, sizeof copied), ASX_OK);
    CHECK_STATUS(spawn_poll(&inner, "c", counts_polled, &ran[2]), ASX_OK);
    CHECK_STATUS(spawn_task(&inner, counts, &ran[3], NULL, NULL), ASX_OK);
    CHECK_STATUS(spawn_poll_task(&inner, counts_polled, &ran[4], NULL, NULL), ASX_OK);
    CHECK_STATUS(spawn_blocking(&inner, "d", counts_blocking, &ran[5], NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&inner, ASX_OK), ASX_OK);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(ran[i], 1);
}

static void locks(asx_cx *cx, const asx_region *r)
{
    asx_mutex mutex;
    asx_mutex_guard guard;
    asx_rwlock rwlock;
    asx_rwlock_guard rwguard;
    asx_semaphore semaphore;
    asx_semaphore_permit permit;
    CHECK_STATUS(asx_mutex_create(r, NULL, &mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(r, NULL, &rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(r, 1, NULL, &semaphore), ASX_OK);
    for EACH(i, mutex_calls) {
        CHECK_STATUS(mutex_calls[i](cx, &mutex, &guard), ASX_OK);
        CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    }
    for EACH(i, rwlock_calls) {
        CHECK_STATUS(rwlock_calls[i](cx, &rwlock, &rwguard), ASX_OK);
        CHECK_STATUS(asx_rwlock_unlock(&rwguard), ASX_OK);
    }
    for EACH(i, semaphore_calls) {
        CHECK_STATUS(semaphore_calls[i](cx, &semaphore, 1, &permit), ASX_OK);
        CHECK_STATUS(asx_semaphore_release(&permit), ASX_OK);
    }
}

static void promises(asx_cx *cx, const asx_region *r)
{
    int message = 1, runs = 0;
    asx_obligation obligation;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_tracked_permit permit;
    asx_committed_proof proof;
    asx_oneshot_sender one_tx;
    asx_oneshot_receiver one_rx;
    asx_once once;
    CHECK_STATUS(obligation_reserve(r, ASX_OBLIGATION_KIND_LEASE, &obligation), ASX_OK);
    CHECK_STATUS(asx_obligation_commit(&obligation), ASX_OK);
    CHECK_STATUS(asx_channel_create(r, sizeof message, 1, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(reserve_tracked(cx, &tx, &permit), ASX_OK);
    CHECK_STATUS(asx_tracked_permit_send(&permit, &message, &proof), ASX_OK);
    CHECK_STATUS(asx_channel_recv(cx, &rx, &message), ASX_OK);
    CHECK_STATUS(asx_oneshot_create(r, sizeof message, NULL, &one_tx, &one_rx), ASX_OK);
    CHECK_STATUS(adopt(cx, &one_tx), ASX_OK);
    CHECK_STATUS(asx_oneshot_send(&one_tx, &message), ASX_OK);
    CHECK_STATUS(asx_once_create(r, NULL, &once), ASX_OK);
    CHECK_STATUS(once_call(cx, &once, counts, &runs), ASX_OK);
    CHECK_STATUS(once_call(cx, &once, counts, &runs), ASX_OK);
    CHECK_EQ(runs, 1);
}

static asx_status calls_all(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(region_open(cx, NULL, &r), ASX_OK);
    spawns(cx, &r);
    locks(cx, &r);
    promises(cx, &r);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(each_does_through_a_pointer_what_its_macro_does)
{
    CHECK_STATUS(api_run(calls_all, NULL), ASX_OK);
}

static asx_status leaves_lease(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_close_report report;
    asx_obligation obligation;
    CHECK_STATUS(region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(obligation_reserve(&r, ASX_OBLIGATION_KIND_LEASE, &obligation), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_OK);
    CHECK_EQ(report.items_len, 1);
    CHECK_STR_EQ(report.items[0].site, arg);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_call_through_a_pointer_has_no_place)
{
    CHECK_STATUS(api_run(leaves_lease, ""), ASX_OK);
}

/* ---- wrong ---------------------------------------------------------------------------------- */

ASX_TEST(each_refuses_through_a_pointer_what_its_macro_refuses)
{
    const asx_status wrong = ASX_E_INVALID_ARGUMENT;
    CHECK_STATUS(spawn(NULL, "a", counts, NULL), wrong);
    CHECK_STATUS(spawn_copy(NULL, "b", counts, NULL, 0), wrong);
    CHECK_STATUS(spawn_poll(NULL, "c", counts_polled, NULL), wrong);
    CHECK_STATUS(spawn_task(NULL, counts, NULL, NULL, NULL), wrong);
    CHECK_STATUS(spawn_poll_task(NULL, counts_polled, NULL, NULL, NULL), wrong);
    CHECK_STATUS(spawn_blocking(NULL, "d", counts_blocking, NULL, NULL), wrong);
    CHECK_STATUS(region_open(NULL, NULL, NULL), wrong);
    CHECK_STATUS(region_open_in(NULL, NULL, NULL, NULL), wrong);
    CHECK_STATUS(obligation_reserve(NULL, ASX_OBLIGATION_KIND_LEASE, NULL), wrong);
    CHECK_STATUS(reserve_tracked(NULL, NULL, NULL), wrong);
    CHECK_STATUS(adopt(NULL, NULL), wrong);
    CHECK_STATUS(once_call(NULL, NULL, NULL, NULL), wrong);
    for EACH(i, mutex_calls)
        CHECK_STATUS(mutex_calls[i](NULL, NULL, NULL), wrong);
    for EACH(i, rwlock_calls)
        CHECK_STATUS(rwlock_calls[i](NULL, NULL, NULL), wrong);
    for EACH(i, semaphore_calls)
        CHECK_STATUS(semaphore_calls[i](NULL, NULL, 0, NULL), wrong);
    for EACH(i, lab_mutex_calls)
        CHECK_STATUS(lab_mutex_calls[i](NULL, NULL), wrong);
    for EACH(i, lab_semaphore_calls)
        CHECK_STATUS(lab_semaphore_calls[i](NULL, NULL, 1), wrong);
    CHECK_STATUS(lab_operate(NULL, NULL, NULL, 0, 0, NULL), wrong);
    CHECK_EQ(lab_choose(NULL, 3), 0);
}

/* ---- in the laboratory ---------------------------------------------------------------------- */

static asx_lab_effect adds(unsigned what, uint64_t argument, uint64_t state)
{
    (void)what;
    return (asx_lab_effect){ .enabled = true, .writes = true, .after = state + argument };
}

static void chooses(asx_cx *cx, void *arg)
{
    static const asx_lab_device device = { .name = "sum", .operations_len = 1, .eval = adds };
    asx_lab_mutex mutex = { 0 };
    asx_lab_semaphore semaphore = { 0 };
    asx_lab_object object = { 0 };
    asx_region r;
    int ran = 0;
    CHECK_STATUS(region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(spawn(&r, NULL, counts, &ran), ASX_OK); /* neither a name nor a place */
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    for EACH(i, lab_mutex_calls)
        CHECK_STATUS(lab_mutex_calls[i](cx, &mutex), ASX_OK);
    for EACH(i, lab_semaphore_calls)
        CHECK_STATUS(lab_semaphore_calls[i](cx, &semaphore, 1), ASX_OK);
    CHECK_STATUS(lab_operate(cx, &object, &device, 0, 2, NULL), ASX_OK);
    CHECK_EQ(object.state, 2);
    uint32_t choice = lab_choose(cx, 3);
    *(unsigned *)arg |= 1u << choice;
    lab_check(cx, choice != 1);
}

ASX_TEST(those_of_the_laboratory_are_operations_through_a_pointer_too)
{
    unsigned chosen = 0;
    asx_explore_result result;
    CHECK_STATUS(asx_explore(chooses, &chosen, NULL, &result), ASX_OK);
    CHECK(result.complete);
    CHECK_EQ(chosen, 7);
    CHECK_EQ(result.totals.classes, 3);
    CHECK_EQ(result.totals.bugs, 1);
}
