/* Three tasks that do the same sort of thing, for what an execution costs: cells, messages that are
 * looked for or waited for, locks, permits of a semaphore, sleeps, cancellation, joins. With twelve
 * steps each of these is a lab test, whose number of classes is known by brute force. And: permits
 * that are tried for, channels of many receivers, one deadline after the other, a task that is
 * cancelled while it waits, a choice. And one whose tasks do several of these things, as long as
 * one likes: for what a second process gains. */
#ifndef ASX_LAB
#define ASX_LAB 1
#endif
#include "support_frame.h"
#include "support_kinds.h"

/* ---- cells ---------------------------------------------------------------------------------- */

static asx_status step_along(asx_cx *cx, const shared *s, int me)
{
    for (int i = 0; i < s->steps / 6; i++) {
        (void)asx_lab_load(cx, &cells[(me + 1) % 3]);
        asx_lab_store(cx, &cells[me], i + 1);
    }
    return ASX_OK;
}

static asx_status steps_0(asx_cx *cx, void *arg) { return step_along(cx, arg, 0); }
static asx_status steps_1(asx_cx *cx, void *arg) { return step_along(cx, arg, 1); }
static asx_status steps_2(asx_cx *cx, void *arg) { return step_along(cx, arg, 2); }

static void kind_steps(asx_cx *cx, void *arg)
{
    run_alone(cx, arg, steps_0, steps_1, steps_2);
}

/* ---- messages ------------------------------------------------------------------------------- */

static asx_status sends(asx_cx *cx, void *arg)
{
    shared *s = arg;
    return send_some(cx, s, s->steps / 3);
}

static asx_status receives(asx_cx *cx, void *arg)
{
    shared *s = arg;
    int message;
    RETURN_EACH(s->steps / 3, asx_channel_recv(cx, &s->rx, &message));
}

static void kind_messages(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_on_channel(cx, steps, *steps, sends, sends, looks);
}

static void kind_receives(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_on_channel(cx, steps, *steps, sends, sends, receives);
}

/* As many answers as steps; and a message, so that operations access several objects. */
static asx_status chooses(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = send_some(cx, s, 1);
    (void)asx_lab_choose(cx, (uint32_t)s->steps);
    return st < 0 ? st : step_along(cx, s, 0);
}

static void kind_choices(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_on_channel(cx, steps, *steps, chooses, steps_1, steps_2);
}

/* ---- locks and permits ---------------------------------------------------------------------- */

static asx_status locks(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps / 6 && st >= 0; i++) {
        asx_mutex_guard guard;
        st = asx_mutex_lock(cx, &s->mutex, &guard);
        if (st >= 0)
            st = asx_mutex_unlock(&guard);
    }
    return st;
}

static void kind_locks(asx_cx *cx, void *arg)
{
    asx_region r;
    shared s;
    begin(cx, &s, arg, &r);
    asx_lab_check(cx, asx_mutex_create(&r, &(asx_mutex_options){ .name = "mutex" },
                                       &s.mutex) == ASX_OK);
    run(cx, &r, &s, locks, locks, locks);
}

static asx_status acquires(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps / 6 && st >= 0; i++) {
        asx_semaphore_permit permit;
        st = asx_semaphore_acquire(cx, &s->semaphore, 1, &permit);
        if (st >= 0)
            st = asx_semaphore_release(&permit);
    }
    return st;
}

static void kind_permits(asx_cx *cx, void *arg)
{
    asx_region r;
    shared s;
    begin(cx, &s, arg, &r);
    asx_lab_check(cx, asx_semaphore_create(&r, 2, &(asx_semaphore_options){ .name = "semaphore" },
                                           &s.semaphore) == ASX_OK);
    run(cx, &r, &s, acquires, acquires, acquires);
}

static asx_status tries(asx_cx *cx, void *arg)
{
    shared *s = arg;
    for (int i = 0; i < s->steps / 6; i++) {
        asx_semaphore_permit permit;
        if (asx_semaphore_try_acquire(cx, &s->semaphore, 1, &permit) == ASX_OK)
            (void)asx_semaphore_release(&permit);
        else
            (void)asx_lab_load(cx, &cells[0]);
    }
    return ASX_OK;
}

static void kind_tries(asx_cx *cx, void *arg)
{
    asx_region r;
    shared s;
    begin(cx, &s, arg, &r);
    asx_lab_check(cx, asx_semaphore_create(&r, 1, &(asx_semaphore_options){ .name = "semaphore" },
                                           &s.semaphore) == ASX_OK);
    run(cx, &r, &s, tries, tries, tries);
}

/* ---- channels of many receivers ------------------------------------------------------------- */

static void kind_any(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_on_any(cx, steps, *steps, gives, gives, looks_for_any);
}

/* ---- time, cancellation, joins -------------------------------------------------------------- */

static asx_status sleeps_and_sends(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = asx_sleep(cx, 10);
    return st < 0 ? st : send_some(cx, s, s->steps / 3 - 1);
}

static asx_status sleeps_and_looks(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = asx_sleep(cx, 10);
    int message;
    for (int i = 1; i < s->steps / 3; i++)
        (void)asx_channel_try_recv(cx, &s->rx, &message);
    return st;
}

static void kind_sleeps(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_on_channel(cx, steps, *steps, sleeps_and_sends, sleeps_and_sends, sleeps_and_looks);
}

static asx_status sends_until_cancelled(asx_cx *cx, void *arg)
{
    shared *s = arg;
    (void)send_some(cx, s, s->steps / 3);
    return ASX_OK;
}

/* In the middle of what it does itself. */
static asx_status cancels(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = send_some(cx, s, s->steps / 6 - 1);
    if (st >= 0)
        st = asx_task_cancel(&s->first, NULL);
    return st < 0 ? st : send_some(cx, s, s->steps / 6);
}

static void kind_cancels(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_on_channel(cx, steps, *steps, sends_until_cancelled, cancels, looks);
}

static asx_status naps(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps / 6 && st >= 0; i++) {
        st = asx_sleep(cx, 10);
        asx_lab_store(cx, &cells[0], asx_lab_load(cx, &cells[0]) + i);
    }
    return st;
}

static void kind_naps(asx_cx *cx, void *arg)
{
    run_alone(cx, arg, naps, naps, naps);
}

static asx_status waits(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    int message;
    while (st >= 0)
        st = asx_channel_recv(cx, &s->rx, &message);
    return ASX_OK;
}

static asx_status ends_it(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = send_some(cx, s, s->steps / 3);
    return st < 0 ? st : asx_task_cancel(&s->first, NULL);
}

static void kind_waits(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_on_channel(cx, steps, *steps, waits, sends, ends_it);
}

static asx_status joins(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_join_result result;
    for (int i = 0; i < s->steps / 6; i++)
        (void)asx_lab_load(cx, &cells[0]);
    asx_status st = asx_join(cx, &s->first, &result);
    for (int i = 0; i < s->steps / 6; i++)
        asx_lab_store(cx, &cells[1], i);
    return st;
}

static void kind_joins(asx_cx *cx, void *arg)
{
    run_alone(cx, arg, steps_0, steps_1, joins);
}

/* ---- locks, messages and cancellation at once ----------------------------------------------- */

/* Who is cancelled ends at its next lock or send. */
static asx_status locks_and_sends(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps && st >= 0; i++) {
        asx_mutex_guard guard;
        st = asx_mutex_lock(cx, &s->mutex, &guard);
        if (st >= 0)
            st = asx_mutex_unlock(&guard);
        if (st >= 0)
            st = asx_channel_send(cx, &s->tx, &i);
    }
    return ASX_OK;
}

static asx_status receives_and_cancels(asx_cx *cx, void *arg)
{
    shared *s = arg;
    int message;
    asx_lab_check(cx, asx_channel_recv(cx, &s->rx, &message) == ASX_OK);
    asx_lab_check(cx, asx_task_cancel(&s->first, NULL) >= 0);
    for (int i = 1; i < s->steps; i++)
        (void)asx_channel_try_recv(cx, &s->rx, &message);
    return ASX_OK;
}

static void orders(asx_cx *cx, int each)
{
    asx_region r;
    shared s;
    begin(cx, &s, &each, &r);
    asx_lab_check(cx, asx_mutex_create(&r, &(asx_mutex_options){ .name = "mutex" },
                                       &s.mutex) == ASX_OK);
    asx_lab_check(cx, asx_channel_create(&r, sizeof(int), 2 * (size_t)each, NULL, &s.tx, &s.rx) ==
                          ASX_OK);
    run(cx, &r, &s, locks_and_sends, locks_and_sends, receives_and_cancels);
}

const lab_kind lab_kinds[LAB_KINDS] = {
    { "steps", kind_steps, ASX_EXPLORE_QUIESCENT },
    { "messages", kind_messages, ASX_EXPLORE_QUIESCENT },
    { "receives", kind_receives, ASX_EXPLORE_QUIESCENT },
    { "locks", kind_locks, ASX_EXPLORE_QUIESCENT },
    { "permits", kind_permits, ASX_EXPLORE_QUIESCENT },
    { "sleeps", kind_sleeps, ASX_EXPLORE_QUIESCENT },
    { "cancels", kind_cancels, ASX_EXPLORE_QUIESCENT },
    { "joins", kind_joins, ASX_EXPLORE_QUIESCENT },
    { "tries", kind_tries, ASX_EXPLORE_QUIESCENT },
    { "any", kind_any, ASX_EXPLORE_QUIESCENT },
    { "naps", kind_naps, ASX_EXPLORE_QUIESCENT },
    { "waits", kind_waits, ASX_EXPLORE_QUIESCENT },
    { "choices", kind_choices, ASX_EXPLORE_QUIESCENT },
};

static int twelve = 12;

ASX_LAB_TEST(three_tasks_12_steps) { kind_steps(cx, &twelve); }
ASX_LAB_TEST(three_tasks_12_messages) { kind_messages(cx, &twelve); }
ASX_LAB_TEST(three_tasks_12_receives) { kind_receives(cx, &twelve); }
ASX_LAB_TEST(three_tasks_12_locks) { kind_locks(cx, &twelve); }
ASX_LAB_TEST(three_tasks_12_permits) { kind_permits(cx, &twelve); }
ASX_LAB_TEST(three_tasks_12_sleeps) { kind_sleeps(cx, &twelve); }
ASX_LAB_TEST(three_tasks_12_cancels) { kind_cancels(cx, &twelve); }
ASX_LAB_TEST(three_tasks_12_joins) { kind_joins(cx, &twelve); }

/* Brute force: orders_1 and orders_2; source sets agree on all. */
ASX_LAB_TEST(orders_1) { orders(cx, 1); }
ASX_LAB_TEST(orders_2) { orders(cx, 2); }
ASX_LAB_TEST(orders_3) { orders(cx, 3); }
ASX_LAB_TEST(orders_4) { orders(cx, 4); }
ASX_LAB_TEST(orders_5) { orders(cx, 5); }
ASX_LAB_TEST(orders_6) { orders(cx, 6); }
