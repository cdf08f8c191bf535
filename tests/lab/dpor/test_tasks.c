/* Exploring what tasks do to each other without an object between them: poll tasks, races,
 * time-outs, links, budgets, finalizers, starts against cancels, wakers; and operations of a device
 * that is no part of the library. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "harness.h"
#include "support_bodies.h"
#include "support_classes.h"

typedef struct fixture {
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_task task[3];
    asx_waker waker;
    int x, y, got, runs;
    size_t winner;
    asx_status seen;
} fixture;

static void begin(asx_cx *cx, fixture *f)
{
    f->x = f->y = f->got = f->runs = 0;
    f->winner = 0;
    f->seen = ASX_OK;
    memset(f->task, 0, sizeof f->task);
    CHECK_STATUS(asx_region_open(cx, NULL, &f->region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&f->region, sizeof(int), 1, NULL, &f->tx, &f->rx), ASX_OK);
}

static void spawn(fixture *f, int i, const char *name, asx_task_fn fn)
{
    asx_spawn_options options = { .name = name };
    CHECK_STATUS(asx_spawn_task(&f->region, fn, f, &options, &f->task[i]), ASX_OK);
}

static void end(asx_cx *cx, fixture *f)
{
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
}

static asx_status store_x(asx_cx *cx, void *arg)
{
    asx_lab_store(cx, &((fixture *)arg)->x, 1);
    return ASX_OK;
}

static asx_status load_x(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    f->got += asx_lab_load(cx, &f->x);
    return ASX_OK;
}

static asx_status send_one(asx_cx *cx, void *arg)
{
    int message = 1;
    return asx_channel_send(cx, &((fixture *)arg)->tx, &message);
}

static asx_status check_twice(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    f->got += asx_checkpoint(cx) == ASX_OK;
    f->got += asx_checkpoint(cx) == ASX_OK;
    return ASX_OK;
}

/* ---- poll tasks ----------------------------------------------------------------------------- */

static asx_poll receive_polled(asx_cx *cx, void *state)
{
    fixture *f = state;
    int message;
    asx_status st = asx_channel_recv(cx, &f->rx, &message);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    f->seen = st;
    f->got += st == ASX_OK;
    return st == ASX_OK || st == ASX_E_CANCELLED ? ASX_POLL_READY : asx_poll_fail(cx, st);
}

static void polled_receiver(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    CHECK_STATUS(asx_spawn_poll(&f->region, "r", receive_polled, f), ASX_OK);
    spawn(f, 0, "s", send_one);
    end(cx, f);
    asx_lab_check(cx, f->got == 1);
}

ASX_TEST(a_poll_task_stands_before_its_wait_like_any_other)
{
    fixture f;
    CHECK_EQ(classes_of(polled_receiver, &f), 1);
}

static asx_status cancel_first(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_task_cancel(&((fixture *)arg)->task[0], NULL);
}

static void polled_and_cancelled(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    CHECK_STATUS(asx_spawn_poll_task(&f->region, receive_polled, f, NULL, &f->task[0]), ASX_OK);
    spawn(f, 1, "s", send_one);
    spawn(f, 2, "c", cancel_first);
    (void)asx_region_close(&f->region, ASX_OK);
    asx_lab_check(cx, f->seen == ASX_OK || f->seen == ASX_E_CANCELLED);
}

ASX_TEST(a_cancel_races_with_the_wait_of_a_poll_task)
{
    fixture f;
    CHECK_EQ(classes_of(polled_and_cancelled, &f), 2);
}

static asx_poll woken_polled(asx_cx *cx, void *state)
{
    fixture *f = state;
    if (f->runs++ == 0) {
        CHECK_STATUS(asx_cx_waker(cx, &f->waker), ASX_OK);
        f->y = 1;
    }
    return f->x != 0 ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static asx_status wake_it(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    while (asx_lab_load(cx, &f->y) == 0) /* before that there is no waker */
        return ASX_OK;
    f->x = 1;
    f->waker.wake(f->waker.arg);
    return ASX_OK;
}

static void waker(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    CHECK_STATUS(asx_spawn_poll(&f->region, "p", woken_polled, f), ASX_OK);
    spawn(f, 0, "w", wake_it);
    end(cx, f);
    asx_lab_check(cx, f->x == 1);
}

ASX_TEST(a_poll_task_without_a_wait_goes_on_when_it_is_woken)
{
    fixture f;
    CHECK_EQ(classes_of(waker, &f), 1);
}

static asx_status work(void *arg)
{
    ((fixture *)arg)->runs++;
    return ASX_OK;
}

static asx_status block(asx_cx *cx, void *arg)
{
    return asx_blocking(cx, work, arg);
}

static void blocking(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    spawn(f, 0, "b", block);
    spawn(f, 1, "c", cancel_first);
    CHECK_STATUS(asx_spawn_blocking(&f->region, "d", work, f, NULL), ASX_OK);
    end(cx, f);
    asx_lab_check(cx, f->runs >= 1);
}

/* The work of the first is begun before the cancel or not at all. */
ASX_TEST(blocking_work_is_done_or_refused)
{
    fixture f;
    CHECK_EQ(classes_of(blocking, &f), 2);
}

/* ---- races and time-outs -------------------------------------------------------------------- */

static asx_status wait_for_ever(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    int message;
    return asx_channel_recv(cx, &f->rx, &message);
}

static void race(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    const asx_branch branches[] = { { "a", store_x, f }, { "b", wait_for_ever, f } };
    asx_join_result result;
    asx_status st = asx_race_all(cx, branches, 2, NULL, &f->winner, &result);
    asx_lab_check(cx, st == ASX_OK && f->winner == 0);
    end(cx, f);
}

ASX_TEST(a_race_with_one_who_never_ends_has_one_winner)
{
    fixture f;
    CHECK_EQ(classes_of(race, &f), 1);
}

static uint64_t wins[2];

static void close_race(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    const asx_branch branches[] = { { "a", store_x, f }, { "b", load_x, f } };
    asx_status st = asx_race_all(cx, branches, 2, NULL, &f->winner, NULL);
    asx_lab_check(cx, st == ASX_OK);
    wins[f->winner & 1]++;
    end(cx, f);
}

/* The accesses in two orders; each with the pick after the first end or after both: the cancel of
 * the loser has nothing to meet. Before the other's end there is one pick for each winner. */
ASX_TEST(either_may_win_a_race)
{
    fixture f;
    wins[0] = wins[1] = 0;
    uint64_t classes = classes_of(close_race, &f);
    CHECK(classes >= 4);
    CHECK(wins[0] != 0);
    CHECK(wins[1] != 0);
}

static asx_status sleep_long(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, 100 * ASX_MS);
}

static void timed_race(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    const asx_branch branches[] = { { "t", sleep_long, f }, { "b", wait_for_ever, f } };
    spawn(f, 0, "s", send_one);
    f->seen = asx_race_all(cx, branches, 2, NULL, &f->winner, NULL);
    end(cx, f);
}

ASX_TEST(time_loses_a_race_unless_it_is_adversarial)
{
    fixture f;
    CHECK_EQ(classes_with(timed_race, &f, ASX_EXPLORE_QUIESCENT, 0), 1);
    CHECK_EQ(f.winner, 1);
    CHECK(classes_with(timed_race, &f, ASX_EXPLORE_ADVERSARIAL, 0) > 1);
}

static void timeout(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    spawn(f, 0, "s", send_one);
    f->seen = asx_timeout(cx, &(asx_branch){ "timeout", wait_for_ever, f }, 5 * ASX_MS, NULL, NULL);
    asx_lab_check(cx, f->seen == ASX_OK || f->seen == ASX_E_TIMEOUT);
    f->got += f->seen == ASX_E_TIMEOUT;
    end(cx, f);
}

ASX_TEST(a_time_out_comes_or_not)
{
    fixture f;
    CHECK_EQ(classes_with(timeout, &f, ASX_EXPLORE_QUIESCENT, 0), 1);
    CHECK_EQ(classes_with(timeout, &f, ASX_EXPLORE_ADVERSARIAL, 0), 3);
}

static asx_status opens_an_empty_scope(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_region scope;
    f->seen = asx_region_open(cx, NULL, &scope);
    if (f->seen == ASX_OK)
        f->seen = asx_region_close(&scope, ASX_OK);
    return f->seen;
}

static void empty_scope_under_a_deadline(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_spawn_options options = { .name = "t", .budget = &budget };
    begin(cx, f);
    budget.deadline = asx_now(cx) + ASX_MS;
    CHECK_STATUS(asx_spawn_task(&f->region, opens_an_empty_scope, f, &options, &f->task[0]),
                 ASX_OK);
    (void)asx_region_close(&f->region, ASX_OK);
}

static void empty_scope_under_a_timeout(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_region timed;
    begin(cx, f);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .timeout_ns = ASX_MS }, &timed),
                 ASX_OK);
    CHECK_STATUS(asx_spawn(&timed, "t", opens_an_empty_scope, f), ASX_OK);
    (void)asx_region_close(&timed, ASX_OK);
    (void)asx_region_close(&f->region, ASX_OK);
}

/* Before the open, before the close, later but before the end (of the task; of the region that has
 * the time-out), never. */
ASX_TEST(a_deadline_reaches_scopes_that_were_opened_after_it_was_set)
{
    fixture f;
    CHECK_EQ(classes_with(empty_scope_under_a_deadline, &f, ASX_EXPLORE_ADVERSARIAL, 0), 4);
    CHECK_EQ(classes_with(empty_scope_under_a_timeout, &f, ASX_EXPLORE_ADVERSARIAL, 0), 4);
}

static asx_status opens_a_timed_scope(asx_cx *cx, void *arg)
{
    asx_region scope;
    (void)arg;
    (void)asx_region_open(cx, &(asx_region_options){ .timeout_ns = ASX_MS }, &scope);
    (void)asx_region_close(&scope, ASX_OK);
    return ASX_OK;
}

static void starts_after_a_send(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    CHECK_STATUS(send_one(cx, f), ASX_OK);
    spawn(f, 1, "c", cancel_first);
    spawn(f, 0, "t", check_twice);
    spawn(f, 2, "o", opens_a_timed_scope);
    end(cx, f);
}

/* A cancel before, between or after two checkpoints; a deadline that comes or not. */
ASX_TEST(what_the_test_has_done_alone_does_not_part_its_starts)
{
    fixture f;
    CHECK_EQ(classes_with(starts_after_a_send, &f, ASX_EXPLORE_ADVERSARIAL, 0), 6);
}

static void join_all(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    const asx_branch branches[] = { { "a", store_x, f }, { "b", load_x, f } };
    asx_join_result results[2];
    asx_lab_check(cx, asx_join_all(cx, branches, 2, NULL, results, NULL) == ASX_OK);
    asx_lab_check(cx, results[1].outcome.kind == ASX_OUTCOME_OK);
    end(cx, f);
}

ASX_TEST(all_are_joined_in_either_order)
{
    fixture f;
    CHECK_EQ(classes_of(join_all, &f), 2);
}

/* ---- finalizers, cleanups, regions that were left open -------------------------------------- */

static asx_status finalize(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    f->got = 10 + asx_lab_fetch_add(cx, &f->x, 1);
    return ASX_OK;
}

static void finalizer(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_region inner;
    begin(cx, f);
    spawn(f, 0, "l", load_x);
    CHECK_STATUS(asx_region_open(cx, NULL, &inner), ASX_OK);
    CHECK_STATUS(asx_defer(&inner, finalize, f), ASX_OK);
    CHECK_STATUS(asx_spawn(&inner, "s", store_x, f), ASX_OK);
    asx_lab_check(cx, asx_region_close(&inner, ASX_OK) == ASX_OK);
    asx_lab_check(cx, f->got >= 11);
    end(cx, f);
}

/* The load comes before the store, between it and the finalizer, or after both. */
ASX_TEST(finalizers_are_tasks_that_come_after_the_region)
{
    fixture f;
    CHECK_EQ(classes_of(finalizer, &f), 3);
}

static asx_status with_cleanup(asx_cx *cx, void *arg)
{
    asx_status st = asx_task_defer(cx, finalize, arg);
    return st < 0 ? st : store_x(cx, arg);
}

static void cleanup(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    spawn(f, 0, "l", load_x);
    spawn(f, 1, "c", with_cleanup);
    end(cx, f);
}

ASX_TEST(cleanups_are_operations_of_their_task)
{
    fixture f;
    CHECK_EQ(classes_of(cleanup, &f), 3);
}

static asx_status leaves_open(asx_cx *cx, void *arg)
{
    asx_region inner;
    asx_status st = asx_region_open(cx, NULL, &inner);
    if (st >= 0)
        st = asx_spawn(&inner, "w", check_twice, arg);
    return st;
}

static void left_open(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    spawn(f, 0, "o", leaves_open);
    (void)asx_region_close(&f->region, ASX_OK);
}

/* Who leaves a region open cancels what is in it: before the first checkpoint, between, after. */
ASX_TEST(a_region_that_was_left_open_is_cancelled)
{
    fixture f;
    CHECK_EQ(classes_of(left_open, &f), 3);
}

/* ---- links, budgets, cancels ---------------------------------------------------------------- */

static void linked(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_region inner;
    asx_region_options collect = { .policy = ASX_POLICY_COLLECT };
    begin(cx, f);
    CHECK_STATUS(asx_region_open(cx, &collect, &inner), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&inner, fail, f, NULL, &f->task[0]), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&inner, check_twice, f, NULL, &f->task[1]), ASX_OK);
    CHECK_STATUS(asx_task_link(&f->task[0], &f->task[1]), ASX_OK);
    (void)asx_region_close(&inner, ASX_OK);
    (void)asx_region_close(&f->region, ASX_OK);
}

/* Linked before the other fails: it is told at the first checkpoint, the second or not at all.
 * Linked after that: likewise. Linked when it has ended itself: before the failure or after it. */
ASX_TEST(a_failure_reaches_those_that_are_linked)
{
    fixture f;
    CHECK_EQ(classes_of(linked, &f), 8);
}

static asx_status check_until_told(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    while (f->got < 10 && asx_checkpoint(cx) == ASX_OK)
        f->got++;
    return ASX_OK;
}

static void metered(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_budget budget = ASX_BUDGET_INFINITE;
    budget.poll_quota = 3;
    asx_spawn_options options = { .budget = &budget };
    begin(cx, f);
    spawn(f, 1, "s", store_x);
    CHECK_STATUS(asx_spawn_task(&f->region, check_until_told, f, &options, &f->task[0]), ASX_OK);
    (void)asx_region_close(&f->region, ASX_OK);
    asx_lab_check(cx, f->got == 3);
}

ASX_TEST(a_poll_quota_is_used_up_at_the_same_point_in_every_order)
{
    fixture f;
    CHECK_EQ(classes_of(metered, &f), 1);
}

static asx_region scope;

static asx_status starts_another_there(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)asx_spawn(&scope, "v", store_x, arg);
    return ASX_OK;
}

static asx_status checks_over_a_scope(asx_cx *cx, void *arg)
{
    if (asx_region_open(cx, NULL, &scope) < 0)
        return ASX_E_CANCELLED;
    (void)asx_spawn(&scope, "u", starts_another_there, arg);
    for (int i = 0; i <= ((const fixture *)arg)->y; i++)
        (void)asx_checkpoint(cx);
    return asx_region_close(&scope, ASX_OK);
}

static void cancelled_over_a_scope(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_budget budget = ASX_BUDGET_INFINITE;
    budget.poll_quota = f->y != 0 ? (uint32_t)f->y : ASX_QUOTA_UNLIMITED;
    asx_spawn_options options = { .name = "t", .budget = &budget };
    int quota = f->y;
    begin(cx, f);
    f->y = quota;
    CHECK_STATUS(asx_spawn_task(&f->region, checks_over_a_scope, f, &options, &f->task[0]),
                 ASX_OK);
    (void)asx_region_close(&f->region, ASX_OK);
}

/* Somebody starts a task in the scope of one who is about to be cancelled: the cancel reaches it.
 * It comes after the start, or before; then the close begins before the start, or after it. Without
 * it there are the latter two. */
ASX_TEST(a_fault_and_a_quota_reach_who_comes_while_they_wait_for_their_turn)
{
    fixture f = { .y = 0 };
    CHECK_EQ(classes_with(cancelled_over_a_scope, &f, ASX_EXPLORE_QUIESCENT,
                          ASX_EXPLORE_FAULT_CANCEL), 5);
    f.y = 1;
    CHECK_EQ(classes_of(cancelled_over_a_scope, &f), 3);
}

static asx_status spend(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    while (f->got < 10 && asx_consume_cost(cx, 2) == ASX_OK)
        f->got++;
    f->seen = asx_checkpoint(cx);
    return ASX_OK;
}

static void costly(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_budget budget = ASX_BUDGET_INFINITE;
    budget.cost_quota = 5;
    asx_spawn_options options = { .budget = &budget };
    begin(cx, f);
    CHECK_STATUS(asx_spawn_task(&f->region, spend, f, &options, &f->task[0]), ASX_OK);
    spawn(f, 1, "s", store_x);
    (void)asx_region_close(&f->region, ASX_OK);
    asx_lab_check(cx, f->got == 2 && f->seen == ASX_E_CANCELLED);
}

ASX_TEST(who_has_spent_its_budget_is_told)
{
    fixture f;
    CHECK_EQ(classes_of(costly, &f), 1);
}

static void deadline(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_budget budget = ASX_BUDGET_INFINITE;
    budget.deadline = asx_now(cx) + ASX_MS;
    asx_spawn_options options = { .budget = &budget };
    begin(cx, f);
    CHECK_STATUS(asx_spawn_task(&f->region, wait_for_ever, f, &options, &f->task[0]), ASX_OK);
    (void)asx_region_close(&f->region, ASX_OK);
}

ASX_TEST(the_deadline_of_a_task_comes_when_nothing_else_can_go)
{
    fixture f;
    CHECK_EQ(classes_of(deadline, &f), 1);
}

static asx_status look_at_flag(asx_cx *cx, void *arg)
{
    ((fixture *)arg)->got += asx_is_cancelled(cx);
    return ASX_OK;
}

static void flag(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    spawn(f, 0, "l", look_at_flag);
    spawn(f, 1, "c", cancel_first);
    end(cx, f);
}

ASX_TEST(a_look_at_the_cancel_flag_races_with_the_cancel)
{
    fixture f;
    CHECK_EQ(classes_of(flag, &f), 2);
}

static asx_status join_first(asx_cx *cx, void *arg)
{
    return asx_join(cx, &((fixture *)arg)->task[0], NULL);
}

static void cancel_of_the_joined(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    spawn(f, 0, "a", look_at_flag);
    spawn(f, 1, "j", join_first);
    spawn(f, 2, "c", cancel_first);
    end(cx, f);
}

/* Whether it comes before the join or after it, nobody can tell. */
ASX_TEST(a_cancel_of_a_joined_task_is_too_late_and_no_failure)
{
    fixture f;
    CHECK_EQ(classes_of(cancel_of_the_joined, &f), 2);
}

static asx_status spawn_late(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_lab_store(cx, &f->y, 1);
    f->seen = asx_spawn(&f->region, "n", store_x, f);
    return ASX_OK;
}

static asx_status cancel_region(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_region_cancel(&((fixture *)arg)->region, NULL);
}

static void late_spawn(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    spawn(f, 0, "s", spawn_late);
    spawn(f, 1, "c", cancel_region);
    (void)asx_region_close(&f->region, ASX_OK);
    f->got += f->seen == ASX_E_REGION_NOT_OPEN;
    asx_lab_check(cx, f->seen == ASX_OK || f->x == 0);
}

/* It comes after the region has begun to close, after the cancel, or before both; and then the new
 * one has nothing that could be cancelled. */
ASX_TEST(a_start_races_with_the_cancel_of_its_region)
{
    fixture f;
    CHECK_EQ(classes_of(late_spawn, &f), 3);
}

/* ---- faults --------------------------------------------------------------------------------- */

static asx_status try_mutex(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_mutex mutex;
    asx_mutex_guard guard;
    asx_region r;
    asx_status st = asx_region_open(cx, NULL, &r);
    if (st == ASX_OK)
        st = asx_mutex_create(&r, &(asx_mutex_options){ .name = "m" }, &mutex);
    if (st == ASX_OK)
        st = asx_mutex_lock(cx, &mutex, &guard);
    if (st == ASX_OK)
        st = asx_mutex_unlock(&guard);
    f->got += st == ASX_OK;
    f->seen = st;
    return asx_region_close(&r, ASX_OK) == ASX_OK || st < 0 ? ASX_OK : ASX_E_NOT_FOUND;
}

static uint64_t counted[3];

static void without_memory(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    f->got = 0;
    asx_status st = asx_region_open(cx, NULL, &f->region);
    if (st == ASX_OK)
        st = asx_spawn(&f->region, "m", try_mutex, f);
    asx_status closed = asx_region_close(&f->region, ASX_OK);
    asx_lab_check(cx, st == ASX_OK || st == ASX_E_RESOURCE_EXHAUSTED);
    asx_lab_check(cx, (st == ASX_OK) == (closed == ASX_OK));
    counted[0] += st != ASX_OK;
    counted[1] += f->got != 0;
}

/* No region; no task; in the task no region, no mutex, no guard; or everything. */
ASX_TEST(each_call_that_allocates_may_find_no_memory)
{
    fixture f = { .got = 0 };
    memset(counted, 0, sizeof counted);
    CHECK_EQ(classes_with(without_memory, &f, ASX_EXPLORE_QUIESCENT, ASX_EXPLORE_FAULT_ALLOC), 6);
    CHECK_EQ(counted[0], 2 * 12); /* dfs once, eleven defaults */
    CHECK(counted[1] != 0);
}

static void without_stack(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    CHECK_STATUS(asx_spawn(&f->region, "a", store_x, f), ASX_OK);
    asx_status st = asx_region_close(&f->region, ASX_OK);
    counted[0] += st == ASX_E_RESOURCE_EXHAUSTED;
    counted[1] += st == ASX_OK && f->x == 1;
}

ASX_TEST(a_task_may_get_no_stack)
{
    fixture f;
    memset(counted, 0, sizeof counted);
    CHECK_EQ(classes_with(without_stack, &f, ASX_EXPLORE_QUIESCENT, ASX_EXPLORE_FAULT_STACK), 2);
    CHECK_EQ(counted[0], 12);
    CHECK(counted[1] != 0);
}

static void without_thread(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    f->seen = asx_blocking(cx, work, f);
    asx_lab_check(cx, (f->seen == ASX_OK) == (f->runs == 1));
    counted[0] += f->seen == ASX_E_SYSTEM;
    end(cx, f);
}

ASX_TEST(blocking_work_may_find_no_thread)
{
    fixture f;
    memset(counted, 0, sizeof counted);
    CHECK_EQ(classes_with(without_thread, &f, ASX_EXPLORE_QUIESCENT, ASX_EXPLORE_FAULT_THREAD), 2);
    CHECK_EQ(counted[0], 12);
    CHECK_EQ(classes_of(without_thread, &f), 1);
}

/* ---- random programs ------------------------------------------------------------------------ */

enum { TASKS_MOST = 3, CALLS_MOST = 2 };

typedef struct program {
    fixture f;
    int tasks, len[TASKS_MOST];
    bool polls[TASKS_MOST];
    uint8_t code[TASKS_MOST][CALLS_MOST];
    asx_task task[TASKS_MOST];
} program;

typedef struct actor {
    program *p;
    int number;
} actor;

static asx_status receive_one(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    int message;
    return asx_channel_recv(cx, &f->rx, &message);
}

static asx_status call(asx_cx *cx, program *p, int self, uint8_t code)
{
    fixture *f = &p->f;
    asx_task *next = &p->task[(self + 1) % p->tasks];
    const asx_branch sends[] = { { "a", send_one, f }, { "b", store_x, f } };
    const asx_branch waits[] = { { "a", receive_one, f }, { "b", check_twice, f } };
    switch (code) {
    case 0:
        return send_one(cx, f);
    case 1:
        return receive_one(cx, f);
    case 2:
        (void)asx_race_all(cx, sends, 2, NULL, NULL, NULL);
        return ASX_OK;
    case 3:
        (void)asx_race_all(cx, waits, 2, NULL, NULL, NULL);
        return ASX_OK;
    case 4:
        (void)asx_timeout(cx, &(asx_branch){ "timeout", receive_one, f }, ASX_MS, NULL, NULL);
        return ASX_OK;
    case 5:
        (void)asx_join_all(cx, sends, 2, NULL, NULL, NULL);
        return ASX_OK;
    case 6:
        return asx_task_cancel(next, NULL);
    case 7:
        return asx_sleep(cx, (uint64_t)(self + 1) * ASX_MS);
    case 8:
        return asx_spawn(&f->region, "late", store_x, f);
    case 9:
        return asx_region_cancel(&f->region, NULL);
    case 10:
        return asx_is_cancelled(cx) ? ASX_E_CANCELLED : ASX_OK;
    case 11:
        return asx_join(cx, next, NULL);
    case 12:
        return asx_task_defer(cx, finalize, f);
    default:
        return load_x(cx, f);
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
    memset(&p->f, 0, sizeof p->f);
    memset(p->task, 0, sizeof p->task);
    (void)asx_region_open(cx, NULL, &p->f.region); /* also with faults: failures stick */
    (void)asx_channel_create(&p->f.region, sizeof(int), 1, NULL, &p->f.tx, &p->f.rx);
    for (int i = 0; i < p->tasks; i++) {
        actors[i] = (actor){ p, i };
        if (p->polls[i])
            (void)asx_spawn_poll_task(&p->f.region, act_polled, &actors[i], NULL, &p->task[i]);
        else
            (void)asx_spawn_task(&p->f.region, act, &actors[i], NULL, &p->task[i]);
    }
    (void)asx_region_close(&p->f.region, ASX_OK);
}

static void print_program(const program *p, const asx_explore_options *options)
{
    fprintf(stderr, "clock %d, faults %u\n", (int)options->clock, options->faults);
    for (int t = 0; t < p->tasks; t++) {
        fprintf(stderr, "task %d%s:", t, p->polls[t] ? " (poll)" : "");
        for (int i = 0; i < p->len[t]; i++)
            fprintf(stderr, " %u", p->code[t][i]);
        fprintf(stderr, "\n");
    }
}

ASX_TEST_TIMEOUT(random_programs_of_tasks_agree_with_brute_force, 120)
{
    asx__rng rng;
    uint64_t compared = 0, programs = 600 / asx_test_scale();
    asx__rng_seed(&rng, 90125);
    for (uint64_t n = 0; n < programs; n++) {
        program p = { .tasks = 2 + (int)(asx__rng_below(&rng, 4) == 0) };
        for (int t = 0; t < p.tasks; t++) {
            p.len[t] = 1 + (int)asx__rng_below(&rng, p.tasks == 2 ? 2 : 1);
            p.polls[t] = asx__rng_below(&rng, 4) == 0;
            for (int i = 0; i < p.len[t]; i++)
                p.code[t][i] = (uint8_t)asx__rng_below(&rng, 14);
        }
        asx_explore_options options = { .mode = ASX_EXPLORE_DFS,
                                        .clock = (asx_explore_clock)asx__rng_below(&rng, 2),
                                        .executions_max = 3000 };
        if (asx__rng_below(&rng, 8) == 0)
            options.faults = ASX_EXPLORE_FAULT_CANCEL;
        asx_explore_result all;
        CHECK_STATUS(asx_explore(random_program, &p, &options, &all), ASX_OK);
        if (all.status != ASX_OK)
            print_program(&p, &options);
        CHECK_STATUS(all.status, ASX_OK);
        if (!all.complete)
            continue;
        compared++;
        bool same = classes_compare(random_program, &p, options, &all, 3);
        if (!same)
            print_program(&p, &options);
        CHECK(same);
    }
    CHECK(compared > programs / 2);
}

/* ---- a device ------------------------------------------------------------------------------- */

/* A link that holds one packet and may lose it. State: packets on it. */
enum { LINK_PUT, LINK_TAKE };

static asx_lab_effect link_eval(unsigned what, uint64_t argument, uint64_t state)
{
    (void)argument;
    if (what == LINK_PUT)
        return (asx_lab_effect){ state == 0, true, 1 };
    return (asx_lab_effect){ state != 0, true, 0 };
}

static const char *const link_operations[] = { "put on link", "take from link" };
static const asx_lab_device link_device = { "lossy link", link_operations, 2, link_eval };

typedef struct lossy {
    asx_lab_object link;
    int packet, sent, received, tries;
} lossy;

static asx_status link_send(asx_cx *cx, lossy *l, int packet)
{
    if (asx_lab_choose(cx, 2) == 1)
        return ASX_OK; /* lost */
    asx_status st = asx_lab_operate(cx, &l->link, &link_device, LINK_PUT, 0, NULL);
    l->packet = packet;
    l->sent++;
    return st;
}

static asx_status talk(asx_cx *cx, void *arg)
{
    lossy *l = arg;
    for (int i = 1; i <= 2; i++)
        (void)link_send(cx, l, i);
    return ASX_OK;
}

static asx_status hear(asx_cx *cx, void *arg)
{
    lossy *l = arg;
    uint64_t found = 0;
    asx_status st = asx_lab_operate(cx, &l->link, &link_device, LINK_TAKE, 0, &found);
    CHECK_EQ(found, 1);
    l->received += l->packet;
    return st;
}

static void over_a_lossy_link(asx_cx *cx, void *arg)
{
    lossy *l = arg;
    asx_region r;
    memset(l, 0, sizeof *l);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    asx_spawn(&r, "talk", talk, l);
    asx_spawn(&r, "hear", hear, l);
    (void)asx_region_close(&r, ASX_OK);
    asx_lab_check(cx, l->received != 0);
}

/* Lost and lost, and nobody hears anything; one of them lost, twice; and both arrive: the second
 * waits until the first was heard. */
ASX_TEST(a_device_adds_its_own_choices_and_operations)
{
    lossy l;
    asx_explore_options options = { .mode = ASX_EXPLORE_DFS };
    asx_explore_result all = classes_explore(over_a_lossy_link, &l, &options);
    CHECK(all.complete);
    CHECK_EQ(all.totals.classes, 4);
    CHECK_EQ(all.totals.deadlocks, 1);
    CHECK(classes_compare(over_a_lossy_link, &l, options, &all, 11));
}

static asx_status misuse_of_a_device(asx_cx *cx, void *arg)
{
    asx_lab_object object = { 0 };
    asx_lab_device nothing = { "nothing", NULL, 0, NULL };
    uint64_t found = 7;
    (void)arg;
    CHECK_STATUS(asx_lab_operate(NULL, &object, &link_device, LINK_PUT, 0, NULL),
                 ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_operate(cx, &object, NULL, LINK_PUT, 0, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_operate(cx, NULL, &link_device, LINK_PUT, 0, NULL),
                 ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_operate(cx, &object, &link_device, 2, 0, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_operate(cx, &object, &nothing, 0, 0, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_operate(cx, &object, &link_device, LINK_TAKE, 0, &found),
                 ASX_E_WOULD_DEADLOCK);
    CHECK_EQ(found, 7);
    CHECK_STATUS(asx_lab_operate(cx, &object, &link_device, LINK_PUT, 0, &found), ASX_OK);
    CHECK_EQ(found, 0);
    CHECK_EQ(object.state, 1);
    return ASX_OK;
}

ASX_TEST(outside_of_an_exploration_a_device_works_at_once)
{
    asx_runtime *rt;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, misuse_of_a_device, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}
