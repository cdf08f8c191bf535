/* test_condition.c - the laws of the condition. */
#include "play.h"

#include <string.h>

static void with_condition(asx_cx *cx, struct play_run *run)
{
    (void)cx;
    CHECK_STATUS(asx_mutex_create(&run->home, NULL, &run->mutex), ASX_OK);
    CHECK_STATUS(asx_condition_create(&run->home, &(asx_condition_options){ .name = "subject" },
                                      &run->condition), ASX_OK);
}

ASX_TEST(a_wait_gives_the_mutex_up_and_a_signal_gives_it_back)
{
    static const struct play play = {
        .name = "signal", .setup = with_condition, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 2, op_condition_wait, 0, 6, 0, 0 },
            { 0, op_log, 0, 0, 'a', 0 }, { 7, op_unlock, 0, 0, 0, 0 } },
          { { 3, op_lock, 0, 0, 0, 0 }, { 4, op_signal, 0, 0, 0, 0 }, /* it has the mutex */
            { 5, op_mutex_waiters, 0, 0, 1, 0 }, { 0, op_log, 0, 0, 'b', 0 },
            { 6, op_unlock, 0, 0, 0, 0 } } },
        .log = "ba",
    };
    play_check(&play);
    static const struct play free_mutex = {
        .name = "signal, free", .setup = with_condition, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 2, op_condition_wait, 0, 4, 0, 0 },
            { 6, op_unlock, 0, 0, 0, 0 } },
          { { 3, op_try_lock, 0, 0, 0, 0 }, { 0, op_unlock, 0, 0, 0, 0 },
            { 4, op_signal, 0, 0, 0, 0 }, { 5, op_try_lock, ASX_E_BUSY, 0, 0, 0 } } },
    };
    play_check(&free_mutex);
}

ASX_TEST(signals_go_to_the_first_broadcasts_to_all_and_none_is_kept)
{
    static const struct play play = {
        .name = "order", .setup = with_condition, .steps =
        { { { 1, op_signal, 0, 0, 0, 0 }, { 5, op_signal, 0, 0, 0, 0 },
            { 7, op_broadcast, 0, 0, 0, 0 } },
          { { 2, op_lock, 0, 0, 0, 0 }, { 0, op_condition_wait, 0, 5, 0, 0 },
            { 0, op_log, 0, 0, 'a', 0 }, { 6, op_unlock, 0, 0, 0, 0 } },
          { { 3, op_lock, 0, 0, 0, 0 }, { 0, op_condition_wait, 0, 7, 0, 0 },
            { 0, op_log, 0, 0, 'b', 0 }, { 8, op_unlock, 0, 0, 0, 0 } },
          { { 4, op_lock, 0, 0, 0, 0 }, { 0, op_condition_wait, 0, 8, 0, 0 },
            { 0, op_log, 0, 0, 'c', 0 }, { 9, op_unlock, 0, 0, 0, 0 } } },
        .log = "abc",
    };
    play_check(&play);
}

ASX_TEST(a_cancelled_wait_has_the_mutex_and_leaves_the_signal_to_the_next)
{
    static const struct play play = {
        .name = "cancelled", .setup = with_condition, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 0, op_condition_wait, ASX_E_CANCELLED, 6, 0, 0 },
            { 0, op_log, 0, 0, 'a', 0 }, { 0, op_unlock, 0, 0, 0, 0 } },
          { { 2, op_lock, 0, 0, 0, 0 }, { 0, op_condition_wait, 0, 7, 0, 0 },
            { 0, op_log, 0, 0, 'b', 0 }, { 8, op_unlock, 0, 0, 0, 0 } },
          { { 3, op_lock, 0, 0, 0, 0 }, { 4, op_cancel, 0, 0, 0, 0 },
            { 5, op_mutex_waiters, 0, 0, 1, 0 }, /* it waits, although it is cancelled */
            { 6, op_unlock, 0, 0, 0, 0 }, { 7, op_signal, 0, 0, 0, 0 } } },
        .log = "ab",
    };
    play_check(&play);
    static const struct play free_mutex = {
        .name = "cancelled, free", .setup = with_condition, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 0, op_condition_wait, ASX_E_CANCELLED, 3, 0, 0 },
            { 0, op_try_lock, ASX_E_WOULD_DEADLOCK, 0, 0, 1 }, { 0, op_unlock, 0, 0, 0, 0 },
            { 0, op_try_lock, 0, 0, 0, 1 }, { 0, op_unlock, 0, 0, 0, 1 } },
          { { 3, op_cancel, 0, 0, 0, 0 } } },
    };
    play_check(&free_mutex);
}

ASX_TEST(a_cancel_after_the_signal_does_not_lose_it)
{
    static const struct play play = {
        .name = "signal, then cancel", .setup = with_condition, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 0, op_condition_wait, 0, 5, 0, 0 },
            { 0, op_unlock, 0, 0, 0, 0 }, { 0, op_checkpoint, ASX_E_CANCELLED, 0, 0, 0 } },
          { { 2, op_lock, 0, 0, 0, 0 }, { 3, op_signal, 0, 0, 0, 0 }, { 4, op_cancel, 0, 0, 0, 0 },
            { 5, op_unlock, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(a_cancelled_task_does_not_begin_to_wait)
{
    static const struct play play = {
        .name = "cancelled before", .setup = with_condition, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 2, op_cancel, 0, 0, 0, 0 },
            { 0, op_condition_wait, ASX_E_CANCELLED, 0, 0, 0 },
            { 0, op_try_lock, ASX_E_WOULD_DEADLOCK, 0, 0, 1 }, { 0, op_unlock, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(who_comes_back_to_a_poisoned_mutex_has_it_and_is_told)
{
    static const struct play play = {
        .name = "poisoned", .setup = with_condition, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 0, op_condition_wait, ASX_E_POISONED, 5, 0, 0 },
            { 6, op_unlock, 0, 0, 0, 0 }, { 7, op_lock, ASX_E_POISONED, 0, 0, 1 } },
          { { 2, op_lock, 0, 0, 0, 0 }, { 3, op_panic, 0, 0, 0, 0 } },
          { { 4, op_lock, ASX_E_POISONED, 0, 0, 0 }, { 5, op_signal, 0, 0, 0, 0 },
            { 0, op_lock, ASX_E_POISONED, 0, 0, 0 } } },
        .want_close = ASX_E_PANICKED,
    };
    play_check(&play);
}

/* Home has both: there is nothing to come back to. */
ASX_TEST(the_end_of_the_mutex_ends_the_wait)
{
    static const struct play play = {
        .name = "home goes", .setup = with_condition, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 0, op_condition_wait, ASX_E_REGION_CLOSED, 5, 0, 0 },
            { 0, op_unlock, ASX_E_REGION_CLOSED, 0, 0, 0 },
            { 0, op_signal, ASX_E_REGION_CLOSED, 0, 0, 0 },
            { 0, op_broadcast, ASX_E_REGION_CLOSED, 0, 0, 0 } },
          { { 2, op_lock, 0, 0, 0, 0 }, { 3, op_condition_wait, ASX_E_REGION_CLOSED, 5, 0, 0 } },
          { { 3, op_lock, 0, 0, 0, 0 }, { 4, op_broadcast, 0, 0, 0, 0 } , /* they want it back */
            { 6, op_unlock, ASX_E_REGION_CLOSED, 0, 0, 0 } } },
        .home_first = true, .home_closes_at = 5,
    };
    play_check(&play);
}

/* ---- conditions that go before their mutex -------------------------------------------------- */

struct stage {
    asx_region outer, inner;
    asx_mutex mutex;
    asx_mutex_guard guard;
    asx_condition condition;
    asx_task task;
    asx_status last;
    int runs;
    bool locked;
};

static void open_stage(asx_cx *cx, struct stage *s)
{
    memset(s, 0, sizeof *s);
    s->last = ASX_E_NOT_FOUND;
    CHECK_STATUS(asx_region_open(cx, NULL, &s->outer), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &s->inner), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&s->outer, NULL, &s->mutex), ASX_OK);
    CHECK_STATUS(asx_condition_create(&s->inner, NULL, &s->condition), ASX_OK);
}

static asx_status waits(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &s->guard), ASX_OK);
    s->last = asx_condition_wait(cx, &s->condition, &s->guard);
    asx_mutex_guard again;
    CHECK_STATUS(asx_mutex_try_lock(cx, &s->mutex, &again), ASX_E_WOULD_DEADLOCK);
    return asx_mutex_unlock(&s->guard);
}

static asx_poll waits_poll(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    if (!s->locked) {
        CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &s->guard), ASX_OK);
        s->locked = true;
    }
    s->last = asx_condition_wait(cx, &s->condition, &s->guard);
    if (s->last == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    asx_mutex_guard again;
    CHECK_STATUS(asx_mutex_try_lock(cx, &s->mutex, &again), ASX_E_WOULD_DEADLOCK);
    CHECK_STATUS(asx_mutex_unlock(&s->guard), ASX_OK);
    return ASX_POLL_READY;
}

static asx_status condition_goes(asx_cx *cx, void *arg)
{
    struct stage s;
    asx_mutex_guard mine;
    bool poll = ((int *)arg)[0] != 0, held = ((int *)arg)[1] != 0;
    open_stage(cx, &s);
    if (poll)
        CHECK_STATUS(asx_spawn_poll(&s.outer, NULL, waits_poll, &s), ASX_OK);
    else
        CHECK_STATUS(asx_spawn(&s.outer, NULL, waits, &s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    if (held)
        CHECK_STATUS(asx_mutex_lock(cx, &s.mutex, &mine), ASX_OK);
    CHECK_STATUS(asx_region_close(&s.inner, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    if (held) {
        CHECK(s.last != ASX_E_REGION_CLOSED);
        CHECK_STATUS(asx_mutex_unlock(&mine), ASX_OK);
        CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    }
    CHECK_STATUS(s.last, ASX_E_REGION_CLOSED);
    return asx_region_close(&s.outer, ASX_OK);
}

ASX_TEST(who_waits_in_a_condition_that_goes_has_the_mutex)
{
    for (int i = 0; i < 4; i++) {
        int how[2] = { i & 1, i >> 1 };
        program_check(condition_goes, how);
    }
}

/* The mutex goes, the condition stays: there is nothing to come back to. */
static asx_status waits_in_vain(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &s->guard), ASX_OK);
    s->last = asx_condition_wait(cx, &s->condition, &s->guard);
    CHECK_STATUS(asx_mutex_unlock(&s->guard), ASX_E_REGION_CLOSED);
    return ASX_OK;
}

static asx_poll waits_in_vain_poll(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    if (!s->locked)
        CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &s->guard), ASX_OK);
    s->locked = true;
    s->last = asx_condition_wait(cx, &s->condition, &s->guard);
    return s->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status mutex_goes(asx_cx *cx, void *arg)
{
    struct stage s;
    memset(&s, 0, sizeof s);
    CHECK_STATUS(asx_region_open(cx, NULL, &s.outer), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &s.inner), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&s.inner, NULL, &s.mutex), ASX_OK);
    CHECK_STATUS(asx_condition_create(&s.outer, NULL, &s.condition), ASX_OK);
    if (*(bool *)arg)
        CHECK_STATUS(asx_spawn_poll(&s.outer, NULL, waits_in_vain_poll, &s), ASX_OK);
    else
        CHECK_STATUS(asx_spawn(&s.outer, NULL, waits_in_vain, &s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(asx_region_close(&s.inner, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(s.last, ASX_E_REGION_CLOSED);
    CHECK_STATUS(asx_condition_signal(&s.condition), ASX_OK); /* nobody waits */
    return asx_region_close(&s.outer, ASX_OK);
}

ASX_TEST(who_waits_without_a_mutex_to_come_back_to_is_told)
{
    bool poll = false;
    program_check(mutex_goes, &poll);
    poll = true;
    program_check(mutex_goes, &poll);
}

/* ---- poll tasks that do not come back ------------------------------------------------------- */

static asx_poll leaves(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    if (s->runs++ == 0) {
        CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &s->guard), ASX_OK);
        CHECK_STATUS(asx_condition_wait(cx, &s->condition, &s->guard), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_condition_wait(cx, &s->condition, &s->guard), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_mutex_unlock(&s->guard), ASX_E_BUSY);
        return ASX_POLL_PENDING;
    }
    if (s->runs == 2)
        return ASX_POLL_PENDING; /* the grant goes */
    s->last = s->locked ? asx_condition_wait(cx, &s->condition, &s->guard)
                        : asx_mutex_unlock(&s->guard);
    return s->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status grant_not_taken(asx_cx *cx, void *arg)
{
    struct stage s;
    asx_mutex_guard mine;
    open_stage(cx, &s);
    s.locked = *(bool *)arg;
    CHECK_STATUS(asx_spawn_poll(&s.outer, NULL, leaves, &s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(asx_condition_signal(&s.condition), ASX_OK);
    CHECK_STATUS(asx_mutex_try_lock(cx, &s.mutex, &mine), ASX_E_BUSY); /* granted */
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(asx_mutex_try_lock(cx, &s.mutex, &mine), ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&mine), ASX_OK);
    if (s.locked) { /* it waits again */
        CHECK_STATUS(s.last, ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_condition_signal(&s.condition), ASX_OK);
        CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    }
    CHECK_STATUS(s.last, ASX_OK);
    CHECK_STATUS(asx_region_close(&s.inner, ASX_OK), ASX_OK);
    return asx_region_close(&s.outer, ASX_OK);
}

ASX_TEST(a_poll_task_that_does_not_come_back_has_parted_from_the_mutex)
{
    bool again = false;
    program_check(grant_not_taken, &again);
    again = true;
    program_check(grant_not_taken, &again);
}

/* A cancelled poll task may unlock instead of taking the mutex back first. */
static asx_poll unlocks_when_told(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    if (s->runs++ == 0) {
        CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &s->guard), ASX_OK);
        CHECK_STATUS(asx_condition_wait(cx, &s->condition, &s->guard), ASX_E_WOULD_BLOCK);
        return ASX_POLL_PENDING;
    }
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    s->last = asx_mutex_unlock(&s->guard);
    return ASX_POLL_READY;
}

static asx_status unlocked_when_told(asx_cx *cx, void *arg)
{
    struct stage s;
    asx_mutex_guard mine;
    (void)arg;
    open_stage(cx, &s);
    CHECK_STATUS(asx_spawn_poll_task(&s.outer, unlocks_when_told, &s, NULL, &s.task), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(asx_mutex_lock(cx, &s.mutex, &mine), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&s.task, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(s.last, ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&mine), ASX_OK); /* which was not touched by that */
    CHECK_STATUS(asx_region_close(&s.inner, ASX_OK), ASX_OK);
    return asx_region_close(&s.outer, ASX_OK);
}

ASX_TEST(a_guard_that_has_parted_can_be_given_up)
{
    program_check(unlocked_when_told, NULL);
}

static asx_status waits_with_a_copy(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_mutex_guard copy = s->guard;
    s->last = asx_condition_wait(cx, &s->condition, &copy);
    return ASX_OK;
}

static asx_status not_its_guard(asx_cx *cx, void *arg)
{
    struct stage s;
    (void)arg;
    open_stage(cx, &s);
    CHECK_STATUS(asx_mutex_lock(cx, &s.mutex, &s.guard), ASX_OK);
    CHECK_STATUS(asx_spawn(&s.inner, NULL, waits_with_a_copy, &s), ASX_OK);
    CHECK_STATUS(asx_region_close(&s.inner, ASX_OK), ASX_OK);
    CHECK_STATUS(s.last, ASX_E_NOT_OWNER);
    CHECK_STATUS(asx_mutex_unlock(&s.guard), ASX_OK);
    return asx_region_close(&s.outer, ASX_OK);
}

ASX_TEST(nobody_waits_with_the_guard_of_another)
{
    program_check(not_its_guard, NULL);
}

/* ---- a bounded buffer over schedules --------------------------------------------------------- */

enum { ITEMS = 24, ROOM = 2, SIDES = 2 };

struct buffer {
    asx_mutex mutex;
    asx_condition changed;
    unsigned in, out, sent, taken;
};

struct side {
    struct buffer *buffer;
    bool puts, locked, waits; /* it must come back for what it waits for */
    asx_mutex_guard guard;
};

static bool over(const struct side *s)
{
    return (s->puts ? s->buffer->sent : s->buffer->taken) >= ITEMS * SIDES;
}

static asx_status exchange(asx_cx *cx, struct side *s)
{
    struct buffer *b = s->buffer;
    asx_status st;
    for (;;) {
        if (!s->locked) {
            st = asx_mutex_lock(cx, &b->mutex, &s->guard);
            if (st < 0)
                return st;
            s->locked = true;
        }
        while (s->waits ||
               (!over(s) && (s->puts ? b->in - b->out == ROOM : b->in == b->out))) {
            st = asx_condition_wait(cx, &b->changed, &s->guard);
            s->waits = st == ASX_E_WOULD_BLOCK;
            if (s->waits)
                return st;
            CHECK_STATUS(st, ASX_OK);
        }
        bool done = over(s);
        if (!done)
            *(s->puts ? &b->in : &b->out) += 1, *(s->puts ? &b->sent : &b->taken) += 1;
        CHECK_LE(b->in - b->out, ROOM);
        CHECK_STATUS(asx_condition_broadcast(&b->changed), ASX_OK);
        CHECK_STATUS(asx_mutex_unlock(&s->guard), ASX_OK);
        s->locked = false;
        if (done)
            return ASX_OK;
    }
}

static asx_status exchange_fiber(asx_cx *cx, void *arg)
{
    return exchange(cx, arg);
}

static asx_poll exchange_poll(asx_cx *cx, void *arg)
{
    asx_status st = exchange(cx, arg);
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING
           : st < 0                ? asx_poll_fail(cx, st)
                                   : ASX_POLL_READY;
}

static asx_status buffer_program(asx_cx *cx, void *arg)
{
    struct buffer b = { .in = 0 };
    struct side sides[2 * SIDES];
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, NULL, &b.mutex), ASX_OK);
    CHECK_STATUS(asx_condition_create(&r, NULL, &b.changed), ASX_OK);
    for (unsigned i = 0; i < 2 * SIDES; i++) {
        sides[i] = (struct side){ .buffer = &b, .puts = i % 2 == 0 };
        if (i < SIDES)
            CHECK_STATUS(asx_spawn(&r, NULL, exchange_fiber, &sides[i]), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_poll(&r, NULL, exchange_poll, &sides[i]), ASX_OK);
    }
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(b.sent, ITEMS * SIDES);
    CHECK_EQ(b.taken, ITEMS * SIDES);
    return ASX_OK;
}

ASX_TEST(a_bounded_buffer_loses_nothing_whatever_the_schedule)
{
    seeds_check(buffer_program, NULL, 200);
}

/* ---- a signal that reached somebody who is completed by force ---- */

#define CLEANUP_NS (80 * ASX_MS)

typedef struct forced_stage {
    asx_runtime *rt;
    asx_region region;
    asx_mutex mutex;
    asx_condition condition;
    asx_task first;
    unsigned came_back, waiting;
} forced_stage;

static asx_status waits_once(asx_cx *cx, void *arg)
{
    forced_stage *s = arg;
    asx_mutex_guard guard;
    CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &guard), ASX_OK);
    s->waiting++;
    CHECK_STATUS(asx_condition_wait(cx, &s->condition, &guard), ASX_OK);
    s->came_back++;
    return asx_mutex_unlock(&guard);
}

/* The first waiter is signalled and cancelled while the mutex is held, past its cleanup time; the
 * mutex comes free just before its grace ends, and the grace is over before it can run. */
static asx_status signals_the_doomed(asx_cx *cx, void *arg)
{
    forced_stage *s = arg;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT, .cleanup_time_ns = CLEANUP_NS };
    asx_mutex_guard mine;
    s->rt = asx_cx_runtime(cx);
    CHECK_STATUS(asx_region_open(cx, &options, &s->region), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&s->region, NULL, &s->mutex), ASX_OK);
    CHECK_STATUS(asx_condition_create(&s->region, NULL, &s->condition), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&s->region, waits_once, s, NULL, &s->first), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(asx_spawn(&s->region, "second", waits_once, s), ASX_OK);
    CHECK_STATUS(asx_spawn(&s->region, "third", waits_once, s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_EQ(s->waiting, 3);
    CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &mine), ASX_OK);
    CHECK_STATUS(asx_condition_signal(&s->condition), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&s->first, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, CLEANUP_NS + CLEANUP_NS / 16), ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&mine), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(s->rt, CLEANUP_NS), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    asx_stats stats;
    CHECK_STATUS(asx_runtime_stats(s->rt, &stats), ASX_OK);
    CHECK_EQ(stats.tasks_forced, 1);
    for (int i = 0; i < 5; i++)
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_EQ(s->came_back, 1); /* one signal, one who has come back */
    CHECK_STATUS(asx_condition_signal(&s->condition), ASX_OK);
    for (int i = 0; i < 5; i++)
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_EQ(s->came_back, 2);
    return asx_region_close(&s->region, ASX_OK);
}

ASX_TEST(a_signal_whose_waiter_is_completed_by_force_goes_to_the_next)
{
    forced_stage s = { .came_back = 0 };
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .trace = true };
    asx_runtime *rt = NULL;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, signals_the_doomed, &s), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* A poll task is signalled, and does something else instead of asking again. */
typedef struct fickle_stage {
    asx_mutex mutex;
    asx_condition condition;
    asx_mutex_guard guard;
    unsigned runs, came_back;
} fickle_stage;

static asx_poll fickle(asx_cx *cx, void *arg)
{
    fickle_stage *s = arg;
    if (s->runs++ > 0)
        return ASX_POLL_READY;
    CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &s->guard), ASX_OK);
    CHECK_STATUS(asx_condition_wait(cx, &s->condition, &s->guard), ASX_E_WOULD_BLOCK);
    return ASX_POLL_PENDING;
}

static asx_status steady(asx_cx *cx, void *arg)
{
    fickle_stage *s = arg;
    asx_mutex_guard guard;
    CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &guard), ASX_OK);
    CHECK_STATUS(asx_condition_wait(cx, &s->condition, &guard), ASX_OK);
    s->came_back++;
    return asx_mutex_unlock(&guard);
}

static asx_status signals_the_fickle(asx_cx *cx, void *arg)
{
    fickle_stage s = { .runs = 0 };
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, NULL, &s.mutex), ASX_OK);
    CHECK_STATUS(asx_condition_create(&r, NULL, &s.condition), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "fickle", fickle, &s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "steady", steady, &s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(asx_condition_signal(&s.condition), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_EQ(s.runs, 2);
    CHECK_EQ(s.came_back, 1);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_signal_whose_waiter_does_not_ask_again_goes_to_the_next)
{
    program_check(signals_the_fickle, NULL);
}
