/* Exploring conditions, notifies, barriers, once, oneshots, watches, broadcasts and channels of
 * many receivers. The numbers of classes follow from the table of docs/design/20; brute force finds
 * the same. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "harness.h"
#include "support_classes.h"

typedef struct objects {
    asx_region region;
    asx_mutex mutex;
    asx_condition condition;
    asx_notify notify;
    asx_barrier barrier;
    asx_once once;
    asx_oneshot_sender one_tx;
    asx_oneshot_receiver one_rx;
    asx_watch watch;
    asx_broadcast broadcast;
    asx_broadcast_receiver rx[3];
    asx_mpmc_sender many_tx;
    asx_mpmc_receiver many_rx;
    asx_task task[3];
    int capacity, ready, runs, got, leaders;
} objects;

static void begin(asx_cx *cx, objects *o)
{
    int value = 0;
    o->ready = o->runs = o->got = o->leaders = 0;
    memset(o->task, 0, sizeof o->task);
    CHECK_STATUS(asx_region_open(cx, NULL, &o->region), ASX_OK);
    const asx_region *r = &o->region;
    CHECK_STATUS(asx_mutex_create(r, &(asx_mutex_options){ .name = "m" }, &o->mutex), ASX_OK);
    CHECK_STATUS(asx_condition_create(r, &(asx_condition_options){ .name = "c" },
                                      &o->condition), ASX_OK);
    CHECK_STATUS(asx_notify_create(r, &(asx_notify_options){ .name = "n" }, &o->notify), ASX_OK);
    CHECK_STATUS(asx_barrier_create(r, 2, &(asx_barrier_options){ .name = "b" },
                                    &o->barrier), ASX_OK);
    CHECK_STATUS(asx_once_create(r, &(asx_once_options){ .name = "o" }, &o->once), ASX_OK);
    CHECK_STATUS(asx_oneshot_create(r, sizeof(int), NULL, &o->one_tx, &o->one_rx), ASX_OK);
    CHECK_STATUS(asx_watch_create(r, sizeof(int), &value, &(asx_watch_options){ .name = "w" },
                                  &o->watch), ASX_OK);
    CHECK_STATUS(asx_broadcast_create(r, sizeof(int), 2, &(asx_broadcast_options){ .name = "t" },
                                      &o->broadcast), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_broadcast_subscribe(&o->broadcast, &o->rx[i]), ASX_OK);
    CHECK_STATUS(asx_mpmc_create(r, sizeof(int), (size_t)o->capacity, NULL, &o->many_tx,
                                 &o->many_rx),
                 ASX_OK);
}

static asx_status end(asx_cx *cx, objects *o)
{
    (void)cx;
    return asx_region_close(&o->region, ASX_OK);
}

static void spawn(objects *o, int i, const char *name, asx_task_fn fn)
{
    asx_spawn_options options = { .name = name };
    CHECK_STATUS(asx_spawn_task(&o->region, fn, o, &options, &o->task[i]), ASX_OK);
}

static asx_status cancel_first(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_task_cancel(&((objects *)arg)->task[0], NULL);
}

/* ---- conditions ----------------------------------------------------------------------------- */

static asx_status await_ready(asx_cx *cx, void *arg)
{
    objects *o = arg;
    asx_mutex_guard guard;
    asx_status st = asx_mutex_lock(cx, &o->mutex, &guard);
    if (st < 0)
        return st;
    while (st == ASX_OK && !o->ready)
        st = asx_condition_wait(cx, &o->condition, &guard);
    o->got += st == ASX_OK;
    (void)asx_mutex_unlock(&guard);
    return st;
}

static asx_status make_ready(asx_cx *cx, void *arg)
{
    objects *o = arg;
    asx_mutex_guard guard;
    asx_status st = asx_mutex_lock(cx, &o->mutex, &guard);
    if (st < 0)
        return st;
    o->ready = 1;
    (void)asx_condition_signal(&o->condition);
    return asx_mutex_unlock(&guard);
}

static void one_waits_for_ready(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "w", await_ready);
    spawn(o, 1, "s", make_ready);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
    asx_lab_check(cx, o->got == 1);
}

/* It waits, or it is ready already. */
ASX_TEST(a_condition_that_is_checked_is_waited_for_or_not)
{
    objects o = { .capacity = 1 };
    CHECK_EQ(classes_of(one_waits_for_ready, &o), 2);
}

static void two_wait_for_ready(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "v", await_ready);
    spawn(o, 1, "w", await_ready);
    spawn(o, 2, "s", make_ready);
    (void)end(cx, o);
}

ASX_TEST(one_signal_for_two_leaves_one_behind)
{
    objects o = { .capacity = 1 };
    asx_explore_options options = { .mode = ASX_EXPLORE_DFS };
    asx_explore_result all = classes_explore(two_wait_for_ready, &o, &options);
    CHECK(all.complete);
    CHECK(all.totals.deadlocks != 0);
    CHECK(classes_compare(two_wait_for_ready, &o, options, &all, 11));
}

static asx_status make_ready_for_all(asx_cx *cx, void *arg)
{
    objects *o = arg;
    asx_mutex_guard guard;
    asx_status st = asx_mutex_lock(cx, &o->mutex, &guard);
    if (st < 0)
        return st;
    o->ready = 1;
    (void)asx_mutex_unlock(&guard);
    return asx_condition_broadcast(&o->condition);
}

static void all_are_told(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "v", await_ready);
    spawn(o, 1, "w", await_ready);
    spawn(o, 2, "s", make_ready_for_all);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
    asx_lab_check(cx, o->got == 2);
}

ASX_TEST(a_broadcast_leaves_nobody_behind)
{
    objects o = { .capacity = 1 };
    asx_explore_options options = { .mode = ASX_EXPLORE_DFS };
    asx_explore_result all = classes_explore(all_are_told, &o, &options);
    CHECK(all.complete);
    CHECK_EQ(all.totals.bugs + all.totals.deadlocks, 0);
    CHECK(classes_compare(all_are_told, &o, options, &all, 11));
}

static void cancelled_in_a_condition(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "w", await_ready);
    spawn(o, 1, "c", cancel_first);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
    asx_lab_check(cx, o->got == 0);
}

/* Told at the lock, at the wait, or while it waits: in each case the mutex is free in the end. */
ASX_TEST(a_cancel_ends_the_wait_for_a_condition)
{
    objects o = { .capacity = 1 };
    CHECK_EQ(classes_of(cancelled_in_a_condition, &o), 3);
}

/* ---- notifies and barriers ------------------------------------------------------------------ */

static asx_status wait_notified(asx_cx *cx, void *arg)
{
    objects *o = arg;
    asx_status st = asx_notify_wait(cx, &o->notify);
    o->got += st == ASX_OK;
    return st;
}

static asx_status notify_one(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_notify_one(&((objects *)arg)->notify);
}

static asx_status notify_all(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_notify_all(&((objects *)arg)->notify);
}

static void notified(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "w", wait_notified);
    spawn(o, 1, "n", notify_one);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
    asx_lab_check(cx, o->got == 1);
}

ASX_TEST(a_notification_is_stored_or_wakes)
{
    objects o = { .capacity = 1 };
    CHECK_EQ(classes_of(notified, &o), 2);
}

static void notified_all(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "w", wait_notified);
    spawn(o, 1, "n", notify_all);
    (void)end(cx, o);
}

ASX_TEST(a_notification_of_all_is_not_stored)
{
    objects o = { .capacity = 1 };
    asx_explore_options options = { .mode = ASX_EXPLORE_DFS };
    asx_explore_result all = classes_explore(notified_all, &o, &options);
    CHECK_EQ(all.totals.classes, 2);
    CHECK_EQ(all.totals.deadlocks, 1);
    CHECK(classes_compare(notified_all, &o, options, &all, 11));
}

/* A signal reaches who waited first, not who came later. */
static asx_status notify_then_wait(asx_cx *cx, void *arg)
{
    asx_status st = notify_one(cx, arg);
    return st < 0 ? st : wait_notified(cx, arg);
}

static void who_came_later(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "w", wait_notified);
    spawn(o, 1, "n", notify_then_wait);
    spawn(o, 2, "m", notify_one);
    asx_lab_check(cx, end(cx, o) == ASX_OK || o->got != 2);
}

ASX_TEST(who_notifies_does_not_take_the_notification_of_who_waits)
{
    objects o = { .capacity = 1 };
    asx_explore_options options = { .mode = ASX_EXPLORE_DFS };
    asx_explore_result all = classes_explore(who_came_later, &o, &options);
    CHECK(all.complete);
    CHECK(classes_compare(who_came_later, &o, options, &all, 11));
}

static asx_status arrive(asx_cx *cx, void *arg)
{
    objects *o = arg;
    bool leads = false;
    asx_status st = asx_barrier_wait(cx, &o->barrier, &leads);
    o->got += st == ASX_OK;
    o->leaders += leads;
    return st;
}

static void two_arrive(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "a", arrive);
    spawn(o, 1, "b", arrive);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
    asx_lab_check(cx, o->got == 2 && o->leaders == 1);
}

ASX_TEST(either_of_two_leads_at_a_barrier)
{
    objects o = { .capacity = 1 };
    CHECK_EQ(classes_of(two_arrive, &o), 2);
}

static void one_leaves(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "a", arrive);
    spawn(o, 1, "c", cancel_first);
    spawn(o, 2, "b", arrive);
    (void)end(cx, o);
    asx_lab_check(cx, o->got == 2 || o->leaders == 0);
}

ASX_TEST(who_is_cancelled_at_a_barrier_has_not_arrived)
{
    objects o = { .capacity = 1 };
    asx_explore_options options = { .mode = ASX_EXPLORE_DFS };
    asx_explore_result all = classes_explore(one_leaves, &o, &options);
    CHECK(all.complete);
    CHECK_EQ(all.totals.bugs, 0);
    CHECK(all.totals.deadlocks != 0);
    CHECK(classes_compare(one_leaves, &o, options, &all, 11));
}

/* ---- once, oneshot, watch ------------------------------------------------------------------- */

static asx_status initialize(asx_cx *cx, void *arg)
{
    objects *o = arg;
    (void)cx;
    o->runs++;
    return ASX_OK;
}

static asx_status call_once(asx_cx *cx, void *arg)
{
    objects *o = arg;
    return asx_once_call(cx, &o->once, initialize, o);
}

static void three_call_once(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    for (int i = 0; i < 3; i++)
        spawn(o, i, "o", call_once);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
    asx_lab_check(cx, o->runs == 1);
}

/* Who runs it matters; the others only look. */
ASX_TEST(once_is_run_by_any_of_three)
{
    objects o = { .capacity = 1 };
    CHECK_EQ(classes_of(three_call_once, &o), 3);
}

static asx_status fail_once(asx_cx *cx, void *arg)
{
    objects *o = arg;
    (void)cx;
    return ++o->runs == 1 ? ASX_E_NOT_FOUND : ASX_OK;
}

static asx_status call_failing_once(asx_cx *cx, void *arg)
{
    objects *o = arg;
    (void)asx_once_call(cx, &o->once, fail_once, o);
    return ASX_OK;
}

static void two_call_failing_once(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "o", call_failing_once);
    spawn(o, 1, "o", call_failing_once);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
    asx_lab_check(cx, o->runs == 2);
}

ASX_TEST(once_that_failed_is_run_by_the_next)
{
    objects o = { .capacity = 1 };
    CHECK_EQ(classes_of(two_call_failing_once, &o), 2);
}

static asx_status send_one(asx_cx *cx, void *arg)
{
    objects *o = arg;
    int value = 1;
    (void)cx;
    o->got += asx_oneshot_send(&o->one_tx, &value) == ASX_OK;
    return ASX_OK;
}

static asx_status drop_receiver(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_oneshot_receiver_drop(&((objects *)arg)->one_rx);
}

static void oneshot_and_drop(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "s", send_one);
    spawn(o, 1, "d", drop_receiver);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
}

ASX_TEST(a_oneshot_is_sent_before_its_receiver_goes_or_not)
{
    objects o = { .capacity = 1 };
    CHECK_EQ(classes_of(oneshot_and_drop, &o), 2);
}

static asx_status receive_one(asx_cx *cx, void *arg)
{
    objects *o = arg;
    int value = 0;
    asx_status st = asx_oneshot_recv(cx, &o->one_rx, &value);
    o->got += st == ASX_OK && value == 1;
    return st;
}

static void oneshot(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "r", receive_one);
    spawn(o, 1, "s", send_one);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
    asx_lab_check(cx, o->got == 2);
}

ASX_TEST(a_oneshot_arrives)
{
    objects o = { .capacity = 1 };
    CHECK_EQ(classes_of(oneshot, &o), 1);
}

static asx_status set_watch(asx_cx *cx, void *arg)
{
    objects *o = arg;
    int value = 1;
    (void)cx;
    return asx_watch_send(&o->watch, &value);
}

static asx_status see_change(asx_cx *cx, void *arg)
{
    objects *o = arg;
    uint64_t seen = 1;
    int value = 0;
    asx_status st = asx_watch_changed(cx, &o->watch, &seen, &value);
    o->got += st == ASX_OK && value == 1;
    return st;
}

static void watched(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "a", see_change);
    spawn(o, 1, "b", see_change);
    spawn(o, 2, "s", set_watch);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
    asx_lab_check(cx, o->got == 2);
}

ASX_TEST(those_who_watch_do_not_race_with_each_other)
{
    objects o = { .capacity = 1 };
    CHECK_EQ(classes_of(watched, &o), 1);
}

/* ---- channels of many receivers ------------------------------------------------------------- */

static asx_status send_many(asx_cx *cx, void *arg)
{
    objects *o = arg;
    int value = 1;
    return asx_mpmc_send(cx, &o->many_tx, &value);
}

static asx_status receive_many(asx_cx *cx, void *arg)
{
    objects *o = arg;
    int value = 0;
    asx_status st = asx_mpmc_recv(cx, &o->many_rx, &value);
    o->got += value;
    return st;
}

static asx_status receive_two(asx_cx *cx, void *arg)
{
    asx_status st = receive_many(cx, arg);
    return st < 0 ? st : receive_many(cx, arg);
}

static void two_to_one(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "a", send_many);
    spawn(o, 1, "b", send_many);
    spawn(o, 2, "r", receive_two);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
    asx_lab_check(cx, o->got == 2);
}

/* As with a plain channel: the two orders of the sends. */
ASX_TEST(senders_of_any_capacity_race_for_the_end_of_the_queue)
{
    for (int capacity = 0; capacity <= 2; capacity++) {
        objects o = { .capacity = capacity };
        CHECK_EQ(classes_of(two_to_one, &o), 2);
    }
}

static void cancelled_sender(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "s", send_many);
    spawn(o, 1, "c", cancel_first);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
}

/* It is told before it sends, or while nobody takes the message. */
ASX_TEST(a_sender_without_room_can_be_cancelled_and_keeps_its_message)
{
    objects o = { .capacity = 0 };
    CHECK_EQ(classes_of(cancelled_sender, &o), 2);
}

static asx_status drop_many_receiver(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_mpmc_receiver_drop(&((objects *)arg)->many_rx);
}

static asx_status send_to_nobody(asx_cx *cx, void *arg)
{
    asx_status st = send_many(cx, arg);
    return st == ASX_E_DISCONNECTED ? ASX_OK : ASX_E_NOT_FOUND;
}

static void nobody_receives(asx_cx *cx, void *arg)
{
    objects *o = arg;
    begin(cx, o);
    spawn(o, 0, "s", send_to_nobody);
    spawn(o, 1, "d", drop_many_receiver);
    asx_lab_check(cx, end(cx, o) == ASX_OK);
}

ASX_TEST(a_sender_without_room_is_told_that_nobody_receives)
{
    objects o = { .capacity = 0 };
    CHECK_EQ(classes_of(nobody_receives, &o), 2);
}

/* ---- random programs ------------------------------------------------------------------------ */

enum { TASKS_MOST = 3, CALLS_MOST = 3 };

typedef struct program {
    objects o;
    int tasks, len[TASKS_MOST], kind;
    bool polls[TASKS_MOST];
    uint8_t code[TASKS_MOST][CALLS_MOST];
} program;

typedef struct actor {
    program *p;
    int number;
} actor;

static asx_status condition_call(asx_cx *cx, objects *o, unsigned code)
{
    asx_mutex_guard guard;
    switch (code) {
    case 0: {
        asx_status st = asx_mutex_lock(cx, &o->mutex, &guard);
        if (st < 0)
            return st;
        st = asx_condition_wait(cx, &o->condition, &guard);
        (void)asx_mutex_unlock(&guard);
        return st;
    }
    case 1:
        return asx_condition_signal(&o->condition);
    case 2:
        return asx_condition_broadcast(&o->condition);
    default:
        return make_ready(cx, o);
    }
}

static asx_status notify_call(asx_cx *cx, objects *o, unsigned code)
{
    bool done;
    switch (code) {
    case 0:
        return asx_notify_wait(cx, &o->notify);
    case 1:
        return asx_notify_one(&o->notify);
    case 2:
        return asx_notify_all(&o->notify);
    case 3:
        return arrive(cx, o);
    case 4:
        return asx_once_call(cx, &o->once, fail_once, o);
    default:
        return asx_once_is_done(&o->once, &done);
    }
}

static asx_status value_call(asx_cx *cx, objects *o, int self, unsigned code)
{
    int value = 1;
    uint64_t seen = 1;
    size_t count;
    switch (code) {
    case 0:
        return asx_watch_send(&o->watch, &value);
    case 1:
        return asx_watch_changed(cx, &o->watch, &seen, &value);
    case 2:
        return asx_watch_close(&o->watch);
    case 3:
        return asx_watch_get(&o->watch, &value, &seen);
    case 4:
        return asx_broadcast_send(&o->broadcast, &value, self == 0 ? &count : NULL);
    case 5:
        return asx_broadcast_recv(cx, &o->rx[self], &value, NULL);
    case 6:
        return asx_broadcast_try_recv(cx, &o->rx[self == 2], &value, NULL);
    case 7:
        return asx_broadcast_close(&o->broadcast);
    default:
        return asx_broadcast_receiver_drop(&o->rx[(self + 1) % 3]);
    }
}

static asx_status many_call(asx_cx *cx, objects *o, unsigned code)
{
    int value = 1;
    switch (code) {
    case 0:
    case 1:
        return asx_mpmc_send(cx, &o->many_tx, &value);
    case 2:
    case 3:
        return asx_mpmc_recv(cx, &o->many_rx, &value);
    case 4:
        return asx_mpmc_try_send(cx, &o->many_tx, &value);
    case 5:
        return asx_mpmc_try_recv(cx, &o->many_rx, &value);
    case 6:
        return asx_mpmc_close(&o->many_tx);
    default:
        return asx_mpmc_receiver_drop(&o->many_rx);
    }
}

static asx_status oneshot_call(asx_cx *cx, objects *o, unsigned code)
{
    int value = 1;
    switch (code) {
    case 0:
        return asx_oneshot_send(&o->one_tx, &value);
    case 1:
        return asx_oneshot_recv(cx, &o->one_rx, &value);
    case 2:
        return asx_oneshot_try_recv(cx, &o->one_rx, &value);
    case 3:
        return asx_oneshot_sender_drop(&o->one_tx);
    case 4:
        return asx_oneshot_receiver_drop(&o->one_rx);
    default:
        return asx_notify_one(&o->notify);
    }
}

/* Programs of one kind of objects, so that their operations meet; and cancels and sleeps. */
static asx_status call(asx_cx *cx, program *p, int self, uint8_t code)
{
    objects *o = &p->o;
    if (code >= 14)
        return asx_task_cancel(&o->task[(self + 1) % p->tasks], NULL);
    if (code == 13)
        return asx_is_cancelled(cx) ? ASX_E_CANCELLED : ASX_OK;
    if (code == 12)
        return asx_sleep(cx, (uint64_t)(self + 1) * ASX_MS);
    switch (p->kind) {
    case 0:
        return condition_call(cx, o, code % 4u);
    case 1:
        return notify_call(cx, o, code % 6u);
    case 2:
        return value_call(cx, o, self, code % 9u);
    case 3:
        return many_call(cx, o, code % 8u);
    default:
        return oneshot_call(cx, o, code % 6u);
    }
}

static asx_status act(asx_cx *cx, void *arg)
{
    const actor *a = arg;
    for (int i = 0; i < a->p->len[a->number]; i++)
        if (call(cx, a->p, a->number, a->p->code[a->number][i]) == ASX_E_CANCELLED)
            break;
    return ASX_OK;
}

static asx_poll act_polled(asx_cx *cx, void *arg)
{
    (void)act(cx, arg);
    return ASX_POLL_READY;
}

static void random_program(asx_cx *cx, void *arg)
{
    program *p = arg;
    actor actors[TASKS_MOST];
    begin(cx, &p->o);
    for (int i = 0; i < p->tasks; i++) {
        asx_spawn_options options = { .name = "t" };
        actors[i] = (actor){ p, i };
        asx_status st = p->polls[i] ? asx_spawn_poll_task(&p->o.region, act_polled, &actors[i],
                                                          &options, &p->o.task[i])
                                    : asx_spawn_task(&p->o.region, act, &actors[i], &options,
                                                     &p->o.task[i]);
        CHECK_STATUS(st, ASX_OK);
    }
    (void)asx_region_close(&p->o.region, ASX_OK);
}

static void print_program(const program *p, asx_explore_clock clock)
{
    fprintf(stderr, "kind %d, capacity %d, clock %d\n", p->kind, p->o.capacity, (int)clock);
    for (int t = 0; t < p->tasks; t++) {
        fprintf(stderr, "task %d%s:", t, p->polls[t] ? " (poll)" : "");
        for (int i = 0; i < p->len[t]; i++)
            fprintf(stderr, " %u", p->code[t][i]);
        fprintf(stderr, "\n");
    }
}

ASX_TEST_TIMEOUT(random_programs_on_all_objects_agree_with_brute_force, 90)
{
    asx__rng rng;
    uint64_t compared = 0, programs = 2500 / asx_test_scale();
    asx__rng_seed(&rng, 4711);
    for (uint64_t n = 0; n < programs; n++) {
        program p = { .o.capacity = (int)asx__rng_below(&rng, 3),
                      .kind = (int)asx__rng_below(&rng, 5) };
        asx_explore_clock clock = (asx_explore_clock)asx__rng_below(&rng, 2);
        p.tasks = 2 + (int)asx__rng_below(&rng, 2);
        for (int t = 0; t < p.tasks; t++) {
            p.len[t] = 1 + (int)asx__rng_below(&rng, p.tasks == 2 ? 3 : 2);
            p.polls[t] = asx__rng_below(&rng, 3) == 0;
            for (int i = 0; i < p.len[t]; i++)
                p.code[t][i] = (uint8_t)asx__rng_below(&rng, 16);
        }
        asx_explore_options options = { .mode = ASX_EXPLORE_DFS, .clock = clock,
                                        .executions_max = 4000 };
        asx_explore_result all = classes_explore(random_program, &p, &options);
        if (!all.complete)
            continue;
        compared++;
        bool same = classes_compare(random_program, &p, options, &all, 3);
        if (!same)
            print_program(&p, clock);
        CHECK(same);
    }
    CHECK(compared > programs * 3 / 4);
}
