/* Exploring wakers, of tasks that have ended and of poll tasks that are cancelled, and timers that
 * tasks register in the runtime's wheel by themselves. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "harness.h"
#include "lab/dpor/internal.h"
#include "lab/explore/explore.h"
#include "support_classes.h"

typedef struct fixture {
    asx_region region;
    asx_task task;
    asx_waker waker;
    asx_timer_handle timer;
    asx_notify notify;
    asx_semaphore semaphore;
    void (*fires)(void *arg);
    int wakers; /* tasks that call it */
    int there, go, x, polls;
    int fired, got;
} fixture;

static void begin(asx_cx *cx, fixture *f)
{
    f->there = f->go = f->x = f->polls = f->fired = f->got = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &f->region), ASX_OK);
}

static void end(asx_cx *cx, fixture *f)
{
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
}

/* ---- tasks that have ended ------------------------------------------------------------------ */

static asx_status offer(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(asx_cx_waker(cx, &f->waker), ASX_OK);
    asx_lab_store(cx, &f->there, 1);
    return ASX_OK;
}

static asx_status call(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    if (asx_lab_load(cx, &f->there) != 0)
        f->waker.wake(f->waker.arg);
    asx_lab_store(cx, &f->x, 1);
    return ASX_OK;
}

static asx_status look(asx_cx *cx, void *arg)
{
    (void)asx_lab_load(cx, &((fixture *)arg)->x);
    return ASX_OK;
}

static void call_the_ended(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    CHECK_STATUS(asx_spawn(&f->region, "o", offer, f), ASX_OK);
    for (int i = 0; i < f->wakers; i++)
        CHECK_STATUS(asx_spawn(&f->region, "c", call, f), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->region, "l", look, f), ASX_OK);
    end(cx, f);
}

/* Whether it has ended when its waker is called nothing decides: the call is an operation anyway.
 * One: called or not, looked at before or after. Two: of 0, 1, 2 calls 1, 2, 2 orders of these; of
 * the two stores and the load 6. */
ASX_TEST(the_waker_of_a_task_that_has_ended_is_called_all_the_same)
{
    fixture f = { .wakers = 1 };
    CHECK_EQ(classes_of(call_the_ended, &f), 4);
    f.wakers = 2;
    CHECK_EQ(classes_of(call_the_ended, &f), 30);
    (void)classes_with(call_the_ended, &f, ASX_EXPLORE_QUIESCENT, ASX_EXPLORE_FAULT_CANCEL);
    f.wakers = 3;
    (void)classes_of(call_the_ended, &f);
}

/* ---- poll tasks that are cancelled ---------------------------------------------------------- */

static asx_poll wait_to_go(asx_cx *cx, void *state)
{
    fixture *f = state;
    if (f->polls++ == 0) {
        CHECK_STATUS(asx_cx_waker(cx, &f->waker), ASX_OK);
        asx_lab_store(cx, &f->there, 1);
    }
    return asx_lab_load(cx, &f->go) != 0 ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static asx_status cancel_then_call(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    (void)asx_task_cancel(&f->task, NULL);
    asx_lab_store(cx, &f->go, 1);
    if (asx_lab_load(cx, &f->there) != 0)
        f->waker.wake(f->waker.arg);
    return ASX_OK;
}

static asx_status only_cancel(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)asx_task_cancel(&((fixture *)arg)->task, NULL);
    return ASX_OK;
}

static void poll_with(asx_cx *cx, fixture *f, asx_poll_fn poll, asx_task_fn other)
{
    asx_join_result result = { 0 };
    begin(cx, f);
    CHECK_STATUS(asx_spawn_poll_task(&f->region, poll, f, NULL, &f->task), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->region, "c", other, f), ASX_OK);
    CHECK_STATUS(asx_join(cx, &f->task, &result), ASX_OK);
    end(cx, f);
    asx_lab_check(cx, f->polls <= 3 && result.outcome.kind == ASX_OUTCOME_OK);
}

static void poll_is_cancelled(asx_cx *cx, void *arg)
{
    poll_with(cx, arg, wait_to_go, cancel_then_call);
}

static void poll_is_only_cancelled(asx_cx *cx, void *arg)
{
    poll_with(cx, arg, wait_to_go, only_cancel);
}

/* The cancel resumes it once, and is not acknowledged by that; then it waits. Nobody else ends that
 * wait. */
ASX_TEST(a_cancel_resumes_a_poll_task_once)
{
    fixture f = { 0 };
    (void)classes_of(poll_is_cancelled, &f);
    asx_explore_options options = { .mode = ASX_EXPLORE_OPTIMAL };
    asx_explore_result result = classes_explore(poll_is_cancelled, &f, &options);
    CHECK_EQ(result.totals.bugs + result.totals.deadlocks + result.totals.too_long, 0);
    (void)classes_of(poll_is_only_cancelled, &f);
    result = classes_explore(poll_is_only_cancelled, &f, &options);
    CHECK_EQ(result.totals.deadlocks, result.totals.executions);
    CHECK_EQ(f.polls, 2);
}

/* It has no waker: it is called again and again. */
static asx_poll come_again(asx_cx *cx, void *state)
{
    fixture *f = state;
    asx_lab_store(cx, &f->go, 1);
    return ++f->polls == 3 ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static void poll_is_cancelled_while_it_runs(asx_cx *cx, void *arg)
{
    poll_with(cx, arg, come_again, only_cancel);
}

ASX_TEST(a_poll_task_that_comes_again_is_not_told)
{
    fixture f = { 0 };
    (void)classes_of(poll_is_cancelled_while_it_runs, &f);
    asx_explore_options options = { .mode = ASX_EXPLORE_OPTIMAL };
    asx_explore_result result = classes_explore(poll_is_cancelled_while_it_runs, &f, &options);
    CHECK_EQ(result.totals.bugs + result.totals.deadlocks, 0);
}

/* ---- timers that call a waker --------------------------------------------------------------- */

static asx_timer_wheel *wheel_of(asx_cx *cx)
{
    return asx_runtime_timers(asx_cx_runtime(cx));
}

static void set(asx_cx *cx, uint64_t delay, asx_waker waker, asx_timer_handle *ret)
{
    CHECK_STATUS(asx_timer_register(wheel_of(cx), asx_now(cx) + delay, waker, ret), ASX_OK);
}

static asx_waker own_waker(asx_cx *cx)
{
    asx_waker waker;
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    return waker;
}

static asx_status wait_for_timer(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    set(cx, 10 * ASX_MS, own_waker(cx), &f->timer);
    f->got += asx_wait_external(cx) == ASX_OK;
    return ASX_OK;
}

static asx_status cancel_in_time(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    set(cx, 10 * ASX_MS, own_waker(cx), &f->timer);
    f->got += asx_timer_cancel(wheel_of(cx), &f->timer);
    asx_lab_check(cx, !asx_timer_cancel(wheel_of(cx), &f->timer));
    return asx_sleep(cx, 20 * ASX_MS);
}

static asx_status cancel_and_wait(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    set(cx, 10 * ASX_MS, own_waker(cx), &f->timer);
    (void)asx_timer_cancel(wheel_of(cx), &f->timer);
    return asx_wait_external(cx);
}

static asx_status set_later(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_time began = asx_now(cx);
    asx_waker waker = own_waker(cx);
    set(cx, 10 * ASX_MS, waker, &f->timer);
    CHECK_STATUS(asx_timer_update(wheel_of(cx), &f->timer, began + 20 * ASX_MS, waker, &f->timer),
                 ASX_OK);
    f->got += asx_wait_external(cx) == ASX_OK;
    f->fired = asx_now(cx) == began + 20 * ASX_MS;
    return ASX_OK;
}

static asx_status set_in_the_past(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    (void)asx_sleep(cx, 5 * ASX_MS);
    CHECK_STATUS(asx_timer_register(wheel_of(cx), 1, own_waker(cx), &f->timer), ASX_OK);
    f->got += asx_wait_external(cx) == ASX_OK;
    return ASX_OK;
}

static asx_status cancel_another(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    f->fired += asx_timer_cancel(wheel_of(cx), &f->timer);
    return ASX_OK;
}

typedef struct plan {
    fixture f;
    asx_task_fn task[2];
    int gets; /* `got` at the end; -1: any */
} plan;

static void run_plan(asx_cx *cx, void *arg)
{
    plan *p = arg;
    begin(cx, &p->f);
    for (int i = 0; i < 2 && p->task[i] != NULL; i++)
        CHECK_STATUS(asx_spawn(&p->f.region, "t", p->task[i], &p->f), ASX_OK);
    end(cx, &p->f);
    asx_lab_check(cx, p->gets < 0 || p->f.got == p->gets);
}

static asx_explore_result best_of(asx_lab_fn fn, void *arg, asx_explore_clock clock)
{
    asx_explore_options options = { .mode = ASX_EXPLORE_OPTIMAL, .clock = clock };
    return classes_explore(fn, arg, &options);
}

ASX_TEST(a_timer_wakes_the_task_that_has_set_it)
{
    plan p = { .task = { wait_for_timer }, .gets = 1 };
    CHECK_EQ(classes_of(run_plan, &p), 1);
    CHECK_EQ(classes_with(run_plan, &p, ASX_EXPLORE_ADVERSARIAL, 0), 1);
    p.task[1] = wait_for_timer;
    p.gets = 2;
    CHECK_EQ(classes_of(run_plan, &p), 1);
    CHECK_EQ(classes_with(run_plan, &p, ASX_EXPLORE_ADVERSARIAL, 0), 1);
    p = (plan){ .task = { set_later }, .gets = 1 };
    CHECK_EQ(classes_of(run_plan, &p), 1);
    CHECK_EQ(p.f.fired, 1);
    p = (plan){ .task = { set_in_the_past }, .gets = 1 };
    CHECK_EQ(classes_of(run_plan, &p), 1);
    for (int clock = 0; clock < 2; clock++)
        CHECK_EQ(best_of(run_plan, &p, (asx_explore_clock)clock).totals.bugs, 0);
}

/* Adversarial: it fires before the cancel, or not at all. */
ASX_TEST(a_timer_that_was_cancelled_does_not_fire)
{
    plan p = { .task = { cancel_in_time }, .gets = 1 };
    CHECK_EQ(classes_of(run_plan, &p), 1);
    CHECK_EQ(best_of(run_plan, &p, ASX_EXPLORE_QUIESCENT).totals.bugs, 0);
    p.gets = -1;
    CHECK_EQ(classes_with(run_plan, &p, ASX_EXPLORE_ADVERSARIAL, 0), 2);
    CHECK_EQ(best_of(run_plan, &p, ASX_EXPLORE_ADVERSARIAL).totals.bugs, 0);
    p = (plan){ .task = { cancel_and_wait }, .gets = -1 };
    CHECK_EQ(classes_of(run_plan, &p), 1);
    CHECK_EQ(best_of(run_plan, &p, ASX_EXPLORE_QUIESCENT).totals.deadlocks, 1);
    CHECK_EQ(classes_with(run_plan, &p, ASX_EXPLORE_ADVERSARIAL, 0), 2);
    CHECK_EQ(best_of(run_plan, &p, ASX_EXPLORE_ADVERSARIAL).totals.deadlocks, 1);
}

/* The first fires before the update and ends the wait, and the second before or after that; or the
 * second alone. */
ASX_TEST(an_update_races_with_the_timer_that_it_replaces)
{
    plan p = { .task = { set_later }, .gets = 1 };
    CHECK_EQ(classes_with(run_plan, &p, ASX_EXPLORE_ADVERSARIAL, 0), 3);
}

static void two_cancel(asx_cx *cx, void *arg)
{
    plan *p = arg;
    begin(cx, &p->f);
    set(cx, ASX_MS, own_waker(cx), &p->f.timer);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(asx_spawn(&p->f.region, "c", cancel_another, &p->f), ASX_OK);
    end(cx, &p->f);
    asx_lab_check(cx, p->f.fired == 1 || (p->gets < 0 && p->f.fired == 0));
}

/* One of two who cancel it does. Adversarial: or none, since it fires before both. */
ASX_TEST(one_of_two_cancels_of_a_timer_finds_it)
{
    plan p = { .gets = 0 };
    CHECK_EQ(classes_of(two_cancel, &p), 2);
    CHECK_EQ(best_of(two_cancel, &p, ASX_EXPLORE_QUIESCENT).totals.bugs, 0);
    p.gets = -1;
    CHECK_EQ(classes_with(two_cancel, &p, ASX_EXPLORE_ADVERSARIAL, 0), 3);
    CHECK_EQ(best_of(two_cancel, &p, ASX_EXPLORE_ADVERSARIAL).totals.bugs, 0);
}

/* ---- timers that do something else ---------------------------------------------------------- */

static fixture *current;

static void notify_one(void *arg)
{
    current->fired++;
    (void)arg;
    (void)asx_notify_one(&current->notify);
}

static void notify_all(void *arg)
{
    current->fired++;
    (void)arg;
    (void)asx_notify_all(&current->notify);
}

static void add_unit(void *arg)
{
    current->fired++;
    (void)arg;
    CHECK_STATUS(asx_semaphore_add(&current->semaphore, 1), ASX_OK);
}

static void spawn_another(void *arg)
{
    (void)arg;
    (void)asx_spawn(&current->region, "l", look, current);
}

static void cancel_the_task(void *arg)
{
    (void)arg;
    (void)asx_task_cancel(&current->task, NULL);
}

static void cancel_the_region(void *arg)
{
    (void)arg;
    (void)asx_region_cancel(&current->region, NULL);
}

static asx_timer_wheel *the_wheel;

static void set_again(void *arg)
{
    asx_time next = asx_runtime_now(arg) + ASX_MS;
    if (++current->fired < 3)
        CHECK_STATUS(asx_timer_register(the_wheel, next, (asx_waker){ set_again, arg },
                                        &current->timer),
                     ASX_OK);
    else
        (void)asx_notify_all(&current->notify);
}

static asx_status wait_for_notify(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    f->got += asx_notify_wait(cx, &f->notify) == ASX_OK;
    return ASX_OK;
}

static asx_status acquire_unit(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_semaphore_permit permit;
    f->got += asx_semaphore_acquire(cx, &f->semaphore, 1, &permit) == ASX_OK;
    return asx_semaphore_release(&permit);
}

static void with_objects(asx_cx *cx, void *arg)
{
    plan *p = arg;
    current = &p->f;
    the_wheel = wheel_of(cx);
    begin(cx, &p->f);
    CHECK_STATUS(asx_notify_create(&p->f.region, &(asx_notify_options){ .name = "n" },
                                   &p->f.notify), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(&p->f.region, 0, &(asx_semaphore_options){ .name = "s" },
                                      &p->f.semaphore), ASX_OK);
    set(cx, ASX_MS, (asx_waker){ p->f.fires, asx_cx_runtime(cx) }, &p->f.timer);
    CHECK_STATUS(asx_spawn_task(&p->f.region, p->task[0], &p->f, NULL, &p->f.task), ASX_OK);
    if (p->task[1] != NULL)
        CHECK_STATUS(asx_spawn(&p->f.region, "t", p->task[1], &p->f), ASX_OK);
    end(cx, &p->f);
    asx_lab_check(cx, p->gets < 0 || p->f.got == p->gets);
}

static uint64_t good_classes(plan *p)
{
    uint64_t classes = classes_of(with_objects, p);
    asx_explore_result best = best_of(with_objects, p, ASX_EXPLORE_QUIESCENT);
    CHECK_EQ(best.totals.bugs + best.totals.deadlocks, 0);
    return classes;
}

/* Who comes first waits with the first ticket; or gets the unit and gives it back first. */
ASX_TEST(a_timer_notifies_and_adds_to_semaphores)
{
    plan p = { .f = { .fires = notify_one }, .task = { wait_for_notify }, .gets = 1 };
    CHECK_EQ(good_classes(&p), 1);
    p.f.fires = notify_all;
    CHECK_EQ(good_classes(&p), 1);
    p.task[1] = wait_for_notify;
    p.gets = 2;
    CHECK_EQ(good_classes(&p), 2);
    p = (plan){ .f = { .fires = add_unit }, .task = { acquire_unit }, .gets = 1 };
    CHECK_EQ(good_classes(&p), 1);
    p.task[1] = acquire_unit;
    p.gets = 2;
    CHECK_EQ(good_classes(&p), 2);
    p = (plan){ .f = { .fires = set_again }, .task = { wait_for_notify }, .gets = 1 };
    CHECK_EQ(good_classes(&p), 1);
    CHECK_EQ(p.f.fired, 3);
}

/* Only one of them is let go. */
ASX_TEST(who_a_timer_does_not_notify_waits_for_ever)
{
    plan p = { .f = { .fires = notify_one }, .task = { wait_for_notify, wait_for_notify },
               .gets = -1 };
    CHECK_EQ(classes_of(with_objects, &p), 2);
    CHECK_EQ(best_of(with_objects, &p, ASX_EXPLORE_QUIESCENT).totals.deadlocks, 2);
    CHECK_EQ(p.f.got, 1);
}

static void is_refused(plan *p, asx_explore_clock clock, const char *word)
{
    asx_explore_options options = { .mode = ASX_EXPLORE_OPTIMAL, .clock = clock };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(with_objects, p, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_E_NOT_SUPPORTED);
    CHECK_STR_EQ(result.unsupported, word);
    CHECK_EQ(result.totals.deadlocks + result.totals.bugs, 0);
    CHECK(!result.complete);
}

ASX_TEST(what_else_a_timer_does_is_not_explored)
{
    plan p = { .task = { wait_for_notify }, .gets = -1 };
    void (*const others[])(void *) = { spawn_another, cancel_the_task, cancel_the_region };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        p.f.fires = others[i];
        is_refused(&p, ASX_EXPLORE_QUIESCENT, "timer-fire");
    }
    p.f.fires = notify_one;
    is_refused(&p, ASX_EXPLORE_ADVERSARIAL, "timer-arm");
}

static void count_got(void *arg)
{
    current->x = current->x * 10 + (int)(intptr_t)arg;
}

/* Later than all that happens: who fires it is another execution. */
static void leave_a_timer(asx_cx *cx, void *arg)
{
    plan *p = arg;
    asx_timer_handle own;
    current = &p->f;
    begin(cx, &p->f);
    set(cx, 3 * ASX_MS, (asx_waker){ count_got, (void *)1 }, &p->f.timer);
    CHECK_STATUS(asx_spawn(&p->f.region, "c", call, &p->f), ASX_OK);
    CHECK_STATUS(asx_spawn(&p->f.region, "l", look, &p->f), ASX_OK);
    set(cx, 2 * ASX_MS, own_waker(cx), &own);
    asx_lab_check(cx, asx_wait_external(cx) == ASX_OK);
    end(cx, &p->f);
    asx_lab_check(cx, p->f.x == 1 && asx_now(cx) == (asx_time)p->gets + 2 * ASX_MS);
}

static void when_it_begins(asx_cx *cx, void *arg)
{
    ((plan *)arg)->gets = (int)asx_now(cx);
}

/* Each execution begins at the same time, and without what others have left. */
ASX_TEST(a_timer_that_is_left_behind_does_not_fire_in_another_execution)
{
    plan p = { .gets = 0 };
    (void)best_of(when_it_begins, &p, ASX_EXPLORE_QUIESCENT);
    CHECK_EQ(classes_of(leave_a_timer, &p), 2);
    CHECK_EQ(best_of(leave_a_timer, &p, ASX_EXPLORE_QUIESCENT).totals.bugs, 0);
}

static void leave_own(asx_cx *cx, void *arg)
{
    plan *p = arg;
    begin(cx, &p->f);
    set(cx, ASX_MS, own_waker(cx), &p->f.timer);
    CHECK_STATUS(asx_spawn(&p->f.region, "c", call, &p->f), ASX_OK);
    CHECK_STATUS(asx_spawn(&p->f.region, "l", look, &p->f), ASX_OK);
    end(cx, &p->f);
}

/* It commutes with all the rest, so that there is nothing to tell. */
ASX_TEST(a_timer_that_nobody_waits_for_may_fire_after_the_end)
{
    plan p = { .gets = 0 };
    CHECK_EQ(classes_with(leave_own, &p, ASX_EXPLORE_ADVERSARIAL, 0), 2);
}

static asx_status set_one(asx_cx *cx, void *arg)
{
    asx_timer_handle timer;
    (void)arg;
    set(cx, ASX_MS, (asx_waker){ count_got, (void *)1 }, &timer);
    return asx_sleep(cx, 2 * ASX_MS);
}

static asx_status set_two(asx_cx *cx, void *arg)
{
    asx_timer_handle timer;
    (void)arg;
    set(cx, ASX_MS, (asx_waker){ count_got, (void *)2 }, &timer);
    return asx_sleep(cx, 2 * ASX_MS);
}

static void both_orders(asx_cx *cx, void *arg)
{
    plan *p = arg;
    current = &p->f;
    run_plan(cx, p);
    p->f.fired |= p->f.x == 12 ? 1 : p->f.x == 21 ? 2 : 4;
    p->gets |= p->f.fired;
}

/* They fire in the order in which they were registered. */
ASX_TEST(timers_of_one_time_are_set_in_either_order)
{
    plan p = { .task = { set_one, set_two }, .gets = INT_MIN };
    CHECK_EQ(classes_of(both_orders, &p), 2);
    CHECK_EQ(p.gets, INT_MIN | 3);
}

/* ---- drawn programs ------------------------------------------------------------------------- */

#define TASKS 3
#define CALLS 4

typedef enum verb {
    SET_OWN, /* a timer with the waker of the task */
    SET_OTHER, /* one that does something else */
    UPDATE,
    UNSET,
    UNSET_NEXT, /* of the next task */
    WAIT,
    WAKE_NEXT,
    WAIT_NOTIFIED,
    NOTIFY,
    TAKE,
    NAP,
    CHECK,
    CANCEL_NEXT,
    ADD_X,
    VERBS
} verb;

static const char *const verbs[] = { "set-own", "set-other", "update", "unset", "unset-next",
                                     "wait", "wake-next", "wait-notified", "notify", "take", "nap",
                                     "check", "cancel-next", "add" };

typedef struct drawn {
    asx_explore_clock clock;
    uint32_t faults;
    uint64_t timeout_ns; /* of the region */
    int tasks;
    int len[TASKS];
    uint8_t code[TASKS][CALLS], with[TASKS][CALLS];
    fixture f;
    asx_task task[TASKS];
    asx_waker waker[TASKS];
    asx_timer_handle timer[TASKS][CALLS + 1]; /* from 1 on */
    int has_waker[TASKS], timers[TASKS];
    uint64_t history[TASKS];
} drawn;

static drawn program;

static void see(int task, uint64_t value)
{
    program.history[task] = asx__hash_absorb(program.history[task], value);
}

static asx_status set_timer(asx_cx *cx, int i, verb v, unsigned with)
{
    static void (*const others[])(void *) = { notify_one, notify_all, add_unit };
    drawn *d = &program;
    bool own = d->clock == ASX_EXPLORE_ADVERSARIAL || v == SET_OWN || (v == UPDATE && with < 2);
    asx_waker waker = own ? d->waker[i] : (asx_waker){ others[with % 3], NULL };
    asx_time at = asx_now(cx) + (1 + with % 2) * ASX_MS;
    asx_timer_handle *old = &d->timer[i][d->timers[i]];
    asx_status st = v == UPDATE ? asx_timer_update(wheel_of(cx), old, at, waker, old + 1)
                                : asx_timer_register(wheel_of(cx), at, waker, old + 1);
    asx_lab_store(cx, &d->timers[i], d->timers[i] + 1);
    return st;
}

static asx_status do_call(asx_cx *cx, int i, verb v, unsigned with)
{
    drawn *d = &program;
    int next = (i + 1) % d->tasks, last;
    asx_semaphore_permit permit;
    asx_status st;
    switch (v) {
    case SET_OWN:
    case SET_OTHER:
    case UPDATE:
        return set_timer(cx, i, v, with);
    case UNSET:
        see(i, asx_timer_cancel(wheel_of(cx), &d->timer[i][d->timers[i]]));
        return ASX_OK;
    case UNSET_NEXT:
        last = asx_lab_load(cx, &d->timers[next]);
        see(i, asx_timer_cancel(wheel_of(cx), &d->timer[next][last]));
        return ASX_OK;
    case WAIT:
        return asx_wait_external(cx);
    case WAKE_NEXT:
        if (asx_lab_load(cx, &d->has_waker[next]) != 0)
            d->waker[next].wake(d->waker[next].arg);
        return ASX_OK;
    case WAIT_NOTIFIED:
        return asx_notify_wait(cx, &d->f.notify);
    case NOTIFY:
        return asx_notify_one(&d->f.notify);
    case TAKE:
        st = asx_semaphore_acquire(cx, &d->f.semaphore, 1, &permit);
        return st < 0 ? st : asx_semaphore_release(&permit);
    case NAP:
        return asx_sleep(cx, (1 + with % 2) * ASX_MS);
    case CHECK:
        return asx_checkpoint(cx);
    case CANCEL_NEXT:
        return asx_task_cancel(&d->task[next], NULL);
    default:
        see(i, (uint64_t)asx_lab_fetch_add(cx, &d->f.x, 1));
        return ASX_OK;
    }
}

static asx_status act(asx_cx *cx, void *arg)
{
    drawn *d = &program;
    int i = *(int *)arg;
    CHECK_STATUS(asx_cx_waker(cx, &d->waker[i]), ASX_OK);
    asx_lab_store(cx, &d->has_waker[i], 1);
    for (int k = 0; k < d->len[i]; k++) {
        asx_status st = do_call(cx, i, (verb)d->code[i][k], d->with[i][k]);
        see(i, (uint64_t)st);
        see(i, d->clock == ASX_EXPLORE_QUIESCENT ? asx_now(cx) : 0);
        if (st == ASX_E_CANCELLED)
            return st;
    }
    return ASX_OK;
}

/* What was seen, by class. */
static struct {
    uint64_t sum, history;
} classes[1 << 13];
static size_t classes_len;
static bool watching, differs;

static void note_class(asx_cx *cx)
{
    const asx__explorer *x = asx__explorer_of(cx->rt_);
    uint64_t sum = x->dpor->class_sum, history = 0;
    size_t i = 0;
    for (int t = 0; t < program.tasks; t++)
        history = asx__hash_absorb(history, program.history[t]);
    while (i < classes_len && classes[i].sum != sum)
        i++;
    if (i == classes_len && i < sizeof classes / sizeof *classes) {
        classes[classes_len].sum = sum;
        classes[classes_len++].history = history;
    }
    differs = differs || (i < classes_len && classes[i].history != history);
}

static void run_drawn(asx_cx *cx, void *arg)
{
    static int numbers[TASKS] = { 0, 1, 2 };
    drawn *d = &program;
    asx_region_options collect = { .policy = ASX_POLICY_COLLECT, .timeout_ns = d->timeout_ns };
    (void)arg;
    current = &d->f;
    d->f.x = 0;
    memset(d->task, 0, sizeof d->task);
    memset(d->timer, 0, sizeof d->timer);
    memset(d->history, 0, sizeof d->history);
    memset(d->has_waker, 0, sizeof d->has_waker);
    memset(d->timers, 0, sizeof d->timers);
    CHECK_STATUS(asx_region_open(cx, &collect, &d->f.region), ASX_OK);
    CHECK_STATUS(asx_notify_create(&d->f.region, &(asx_notify_options){ .name = "n" },
                                   &d->f.notify), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(&d->f.region, 0, &(asx_semaphore_options){ .name = "s" },
                                      &d->f.semaphore), ASX_OK);
    for (int i = 0; i < d->tasks; i++)
        CHECK_STATUS(asx_spawn_task(&d->f.region, act, &numbers[i], NULL, &d->task[i]), ASX_OK);
    (void)asx_region_close(&d->f.region, ASX_OK);
    if (watching)
        note_class(cx);
}

static void draw(asx__rng *rng)
{
    drawn *d = &program;
    memset(d, 0, sizeof *d);
    d->clock = (asx_explore_clock)asx__rng_below(rng, 2);
    d->faults = asx__rng_below(rng, 8) == 0 ? ASX_EXPLORE_FAULT_CANCEL : 0;
    d->timeout_ns = asx__rng_below(rng, 6) == 0 ? ASX_MS : 0;
    d->tasks = 2 + (int)asx__rng_below(rng, 2);
    for (int t = 0; t < d->tasks; t++) {
        d->len[t] = 1 + (int)asx__rng_below(rng, d->tasks == 2 ? CALLS : 2);
        for (int i = 0; i < d->len[t]; i++) {
            d->code[t][i] = (uint8_t)asx__rng_below(rng, VERBS);
            d->with[t][i] = (uint8_t)asx__rng_below(rng, 6);
        }
        if (asx__rng_below(rng, 2) == 0)
            d->code[t][0] = SET_OWN;
    }
}

static void print_drawn(const char *complaint, uint64_t number)
{
    const drawn *d = &program;
    fprintf(stderr, "%s: program %d, clock %d, faults %u%s\n", complaint, (int)number,
            (int)d->clock, d->faults, d->timeout_ns != 0 ? ", with a time-out" : "");
    for (int t = 0; t < d->tasks; t++) {
        fprintf(stderr, "  task %d:", t);
        for (int i = 0; i < d->len[t]; i++)
            fprintf(stderr, " %s(%d)", verbs[d->code[t][i]], d->with[t][i]);
        fprintf(stderr, "\n");
    }
}

/* False: it has too many executions to be compared. */
static bool compare_drawn(uint64_t number)
{
    drawn *d = &program;
    asx_explore_options options = { .mode = ASX_EXPLORE_DFS, .clock = d->clock,
                                    .faults = d->faults, .executions_max = 5000 };
    classes_len = 0;
    differs = false;
    watching = true;
    asx_explore_result all = classes_explore(run_drawn, NULL, &options);
    watching = false;
    if (differs)
        print_drawn("one class, but they saw something else", number);
    CHECK(!differs);
    if (!all.complete)
        return false;
    bool same = classes_compare(run_drawn, NULL, options, &all, 5);
    if (!same)
        print_drawn("not as many executions as classes", number);
    CHECK(same);
    return true;
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* ASX_TIMERS_SEED and ASX_TIMERS_PROGRAMS draw others. */
ASX_TEST(drawn_programs_of_timers_and_wakers_have_as_many_executions_as_classes)
{
    asx__rng rng;
    uint64_t programs = from_environment("ASX_TIMERS_PROGRAMS", 300), compared = 0;
    asx__rng_seed(&rng, from_environment("ASX_TIMERS_SEED", 1));
    for (uint64_t i = 0; i < programs; i++) {
        draw(&rng);
        compared += compare_drawn(i);
    }
    CHECK_GE(compared, programs / 2);
}
