/* test_mutex.c - the laws of the mutex. */
#include "crowd.h"

#include <stdlib.h>
#include <string.h>

static void with_mutex(asx_cx *cx, struct play_run *run)
{
    (void)cx;
    CHECK_STATUS(asx_mutex_create(&run->home, &(asx_mutex_options){ .name = "subject" },
                                  &run->mutex), ASX_OK);
}

ASX_TEST(waiters_get_the_mutex_in_the_order_of_arrival)
{
    static const struct play play = {
        .name = "order", .setup = with_mutex, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 5, op_mutex_waiters, 0, 0, 3, 0 },
            { 10, op_unlock, 0, 0, 0, 0 },
            { 0, op_lock, 0, 13, 0, 1 }, /* behind those who were there */
            { 0, op_log, 0, 0, 'a', 0 }, { 0, op_unlock, 0, 0, 0, 1 } },
          { { 2, op_lock, 0, 10, 0, 0 }, { 0, op_log, 0, 0, 'b', 0 },
            { 11, op_unlock, 0, 0, 0, 0 } },
          { { 3, op_lock, 0, 11, 0, 0 }, { 0, op_log, 0, 0, 'c', 0 },
            { 12, op_unlock, 0, 0, 0, 0 } },
          { { 4, op_lock, 0, 12, 0, 0 }, { 0, op_log, 0, 0, 'd', 0 },
            { 13, op_unlock, 0, 0, 0, 0 } } },
        .log = "bcda",
    };
    play_check(&play);
}

ASX_TEST(locking_again_is_told_and_trying_never_waits)
{
    static const struct play play = {
        .name = "again", .setup = with_mutex, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 },
            { 0, op_lock, ASX_E_WOULD_DEADLOCK, 0, 0, 1 },
            { 0, op_try_lock, ASX_E_WOULD_DEADLOCK, 0, 0, 1 },
            { 0, op_recover, ASX_E_WOULD_DEADLOCK, 0, 0, 1 },
            { 4, op_unlock, 0, 0, 0, 0 },
            { 0, op_unlock, ASX_E_OBLIGATION_ALREADY_RESOLVED, 0, 0, 0 },
            { 6, op_try_lock, 0, 0, 0, 1 }, { 0, op_unlock, 0, 0, 0, 1 } },
          { { 2, op_try_lock, ASX_E_BUSY, 0, 0, 0 }, { 3, op_lock, 0, 4, 0, 0 },
            { 5, op_unlock, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(a_cancelled_waiter_takes_nothing_and_lets_the_next_one_through)
{
    static const struct play play = {
        .name = "cancelled", .setup = with_mutex, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 4, op_cancel, 0, 0, 1, 0 },
            { 5, op_mutex_waiters, 0, 0, 1, 0 }, { 6, op_unlock, 0, 0, 0, 0 } },
          { { 2, op_lock, ASX_E_CANCELLED, 4, 0, 0 } },
          { { 3, op_lock, 0, 6, 0, 0 }, { 7, op_unlock, 0, 0, 0, 0 } } },
        .want_close = ASX_OK,
    };
    play_check(&play);
}

ASX_TEST(a_masked_waiter_gets_the_mutex_although_it_is_cancelled)
{
    static const struct play play = {
        .name = "masked", .setup = with_mutex, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 4, op_cancel, 0, 0, 1, 0 },
            { 6, op_unlock, 0, 0, 0, 0 } },
          { { 2, op_mask, 0, 0, 0, 0 }, { 0, op_lock, 0, 6, 0, 0 }, { 0, op_unlock, 0, 0, 0, 0 },
            { 0, op_unmask, 0, 0, 0, 0 }, { 0, op_lock, ASX_E_CANCELLED, 0, 0, 1 } } },
    };
    play_check(&play);
}

static void left_behind(struct play_run *run)
{
    CHECK_EQ(run->crowd_report.permits_aborted, 1);
    CHECK(report_names(&run->crowd_report, "guard", "Aborted", "support_locks.c:"));
    CHECK_EQ(run->home_report.items_len, 0);
}

ASX_TEST(a_task_that_ends_with_the_mutex_is_found_out_and_the_next_one_has_it)
{
    static const struct play play = {
        .name = "forgets", .setup = with_mutex, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 3, op_end, ASX_OK, 0, 0, 0 } },
          { { 2, op_lock, 0, 3, 0, 0 }, { 4, op_unlock, 0, 0, 0, 0 } } },
        .after = left_behind,
    };
    play_check(&play);
    static const struct play failing = {
        .name = "fails", .setup = with_mutex, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 3, op_end, ASX_E_FULL, 0, 0, 0 } },
          { { 2, op_lock, 0, 3, 0, 0 }, { 4, op_unlock, 0, 0, 0, 0 } } },
        .want_close = ASX_E_FULL, .after = left_behind,
    };
    play_check(&failing);
}

ASX_TEST(a_panic_poisons_until_somebody_recovers)
{
    static const struct play play = {
        .name = "poison", .setup = with_mutex, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 4, op_panic, 0, 0, 0, 0 } },
          { { 2, op_lock, ASX_E_POISONED, 4, 0, 0 }, { 5, op_try_lock, ASX_E_POISONED, 0, 0, 0 },
            { 6, op_lock, ASX_E_POISONED, 0, 0, 0 }, { 8, op_recover, 0, 0, 0, 0 },
            { 10, op_unlock, 0, 0, 0, 0 }, { 12, op_lock, 0, 0, 0, 1 },
            { 13, op_unlock, 0, 0, 0, 1 } },
          { { 3, op_lock, ASX_E_POISONED, 4, 0, 0 }, { 9, op_lock, 0, 10, 0, 0 },
            { 11, op_unlock, 0, 0, 0, 0 } } },
        .want_close = ASX_E_PANICKED, .after = left_behind,
    };
    play_check(&play);
}

ASX_TEST(who_waits_to_recover_gets_the_poisoned_mutex_in_turn)
{
    static const struct play play = {
        .name = "recoverers", .setup = with_mutex, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 6, op_panic, 0, 0, 0, 0 } },
          { { 3, op_recover, 0, 6, 0, 0 }, { 7, op_mutex_waiters, 0, 0, 1, 0 },
            { 8, op_unlock, 0, 0, 0, 0 } },
          { { 4, op_recover, 0, 8, 0, 0 }, { 9, op_unlock, 0, 0, 0, 0 } } },
        .want_close = ASX_E_PANICKED,
    };
    play_check(&play);
}

static void home_went(struct play_run *run)
{
    CHECK_EQ(run->home_report.permits_aborted, 1);
    CHECK(report_names(&run->home_report, "guard", "Aborted", "support_locks.c:"));
    CHECK_EQ(run->crowd_report.permits_aborted, 0);
}

ASX_TEST(the_end_of_its_region_tells_who_waits_and_takes_the_guard_along)
{
    static const struct play play = {
        .name = "home goes", .setup = with_mutex, .steps =
        { { { 1, op_lock, 0, 0, 0, 0 }, { 6, op_unlock, ASX_E_REGION_CLOSED, 0, 0, 0 },
            { 0, op_lock, ASX_E_REGION_CLOSED, 0, 0, 1 },
            { 0, op_try_lock, ASX_E_REGION_CLOSED, 0, 0, 1 },
            { 0, op_recover, ASX_E_REGION_CLOSED, 0, 0, 1 },
            { 0, op_mutex_waiters, ASX_E_REGION_CLOSED, 0, 0, 0 } },
          { { 2, op_lock, ASX_E_REGION_CLOSED, 5, 0, 0 } },
          { { 3, op_lock, ASX_E_REGION_CLOSED, 5, 0, 0 } } },
        .home_first = true, .home_closes_at = 5, .after = home_went,
    };
    play_check(&play);
}

/* ---- what a table cannot say ---------------------------------------------------------------- */

struct stage {
    asx_region region;
    asx_mutex mutex;
    asx_mutex_guard guard;
    asx_task task;
    asx_status last;
    int runs;
};

static void open_stage(asx_cx *cx, struct stage *s)
{
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    memset(s, 0, sizeof *s);
    s->last = ASX_E_NOT_FOUND;
    CHECK_STATUS(asx_region_open(cx, &options, &s->region), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&s->region, NULL, &s->mutex), ASX_OK);
}

static asx_lock_info info_of(const struct stage *s)
{
    asx_lock_info info;
    CHECK_STATUS(asx_mutex_info(&s->mutex, &info), ASX_OK);
    return info;
}

static asx_status locks_and_unlocks(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_mutex_guard guard;
    s->last = asx_mutex_lock(cx, &s->mutex, &guard);
    return s->last == ASX_OK ? asx_mutex_unlock(&guard) : s->last;
}

static asx_poll polls_lock(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_mutex_guard guard;
    s->runs++;
    s->last = asx_mutex_lock(cx, &s->mutex, &guard);
    if (s->last == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    if (s->last == ASX_OK)
        CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    return ASX_POLL_READY;
}

/* A cancel that meets the hand-over: the mutex passes on. */
static asx_status cancel_meets_hand_over(asx_cx *cx, void *arg)
{
    struct stage s, behind;
    bool poll = *(bool *)arg;
    open_stage(cx, &s);
    CHECK_STATUS(asx_mutex_lock(cx, &s.mutex, &s.guard), ASX_OK);
    if (poll)
        CHECK_STATUS(asx_spawn_poll_task(&s.region, polls_lock, &s, NULL, &s.task), ASX_OK);
    else
        CHECK_STATUS(asx_spawn_task(&s.region, locks_and_unlocks, &s, NULL, &s.task), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    behind = s;
    CHECK_STATUS(asx_spawn(&s.region, "behind", locks_and_unlocks, &behind), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_EQ(info_of(&s).waiters, 2);
    CHECK_STATUS(asx_mutex_unlock(&s.guard), ASX_OK); /* on its way to the first ... */
    CHECK_EQ(info_of(&s).waiters, 1);
    CHECK_EQ(info_of(&s).held, 1);
    CHECK_STATUS(asx_task_cancel(&s.task, NULL), ASX_OK); /* ... who is cancelled */
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(s.last, ASX_E_CANCELLED);
    CHECK_STATUS(behind.last, ASX_OK);
    CHECK_EQ(info_of(&s).held, 0);
    asx_close_report report;
    CHECK_STATUS(asx_region_close_with(&s.region, ASX_OK, NULL, &report), ASX_OK);
    CHECK_EQ(report.items_len + report.permits_aborted, 0); /* nobody has forgotten anything */
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_cancel_that_meets_the_hand_over_loses_nothing)
{
    bool poll = false;
    program_check(cancel_meets_hand_over, &poll);
    poll = true;
    program_check(cancel_meets_hand_over, &poll);
}

static asx_poll asks_once(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_mutex_guard guard;
    if (s->runs++ == 0) {
        CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &guard), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &guard), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_mutex_recover(cx, &s->mutex, &guard), ASX_E_BUSY); /* one wait at a time */
        CHECK_EQ(info_of(s).waiters, 1);
        return ASX_POLL_PENDING;
    }
    return s->runs < 4 ? ASX_POLL_PENDING : ASX_POLL_READY; /* and never again */
}

static asx_status grant_not_taken(asx_cx *cx, void *arg)
{
    struct stage s, behind;
    (void)arg;
    open_stage(cx, &s);
    CHECK_STATUS(asx_mutex_lock(cx, &s.mutex, &s.guard), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&s.region, "forgets", asks_once, &s), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    behind = s;
    CHECK_STATUS(asx_spawn(&s.region, "behind", locks_and_unlocks, &behind), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&s.guard), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(behind.last, ASX_OK);
    CHECK_EQ(info_of(&s).held, 0);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(a_grant_that_is_not_picked_up_passes_on)
{
    asx_test_one_worker("who has run when a yield returns");
    program_check(grant_not_taken, NULL);
}

/* A poll task outside has a grant when the region of the mutex goes. */
static asx_status grant_outlives_mutex(asx_cx *cx, void *arg)
{
    struct stage s;
    asx_region outside;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &outside), ASX_OK);
    open_stage(cx, &s);
    CHECK_STATUS(asx_mutex_lock(cx, &s.mutex, &s.guard), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&outside, "granted", polls_lock, &s), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&s.guard), ASX_OK);
    CHECK_STATUS(asx_region_close(&s.region, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &s.region), ASX_OK);
    asx_mutex other;
    CHECK_STATUS(asx_mutex_create(&s.region, NULL, &other), ASX_OK);
    CHECK(other.mutex_ != s.mutex.mutex_); /* the record is still pointed to */
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(s.last, ASX_E_REGION_CLOSED);
    CHECK_STATUS(asx_mutex_create(&s.region, NULL, &other), ASX_OK);
    CHECK_PTR_EQ(other.mutex_, s.mutex.mutex_); /* and now it is not */
    CHECK_STATUS(asx_mutex_lock(cx, &s.mutex, &s.guard), ASX_E_REGION_CLOSED);
    CHECK_STATUS(asx_region_close(&s.region, ASX_OK), ASX_OK);
    return asx_region_close(&outside, ASX_OK);
}

ASX_TEST(a_record_waits_for_its_grants)
{
    program_check(grant_outlives_mutex, NULL);
}

static asx_status deaf_holder(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &s->guard), ASX_OK);
    while (asx_yield(cx) != ASX_E_NOT_FOUND)
        s->runs++;
    return ASX_OK;
}

static asx_status force_poisons(asx_cx *cx, void *arg)
{
    struct stage s;
    asx_mutex_guard guard;
    (void)arg;
    open_stage(cx, &s);
    CHECK_STATUS(asx_spawn_task(&s.region, deaf_holder, &s, NULL, &s.task), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&s.task, NULL), ASX_OK);
    CHECK_STATUS(asx_mutex_lock(cx, &s.mutex, &guard), ASX_E_POISONED);
    CHECK(info_of(&s).poisoned);
    CHECK_STATUS(asx_mutex_unlock(&s.guard), ASX_E_OBLIGATION_ALREADY_RESOLVED);
    CHECK_STATUS(asx_mutex_recover(cx, &s.mutex, &guard), ASX_OK);
    CHECK(!info_of(&s).poisoned);
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(a_holder_that_is_completed_by_force_poisons)
{
    program_check(force_poisons, NULL);
}

/* Who waits behind somebody who recovers is told too, and does not wait for him. */
struct behind {
    asx_mutex mutex;
    asx_status last;
    asx_time at;
};

static asx_status recovers(asx_cx *cx, void *arg)
{
    struct behind *b = arg;
    asx_mutex_guard guard;
    CHECK_STATUS(asx_mutex_recover(cx, &b->mutex, &guard), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    return asx_mutex_unlock(&guard);
}

static asx_status locks_behind(asx_cx *cx, void *arg)
{
    struct behind *b = arg;
    asx_mutex_guard guard;
    b->last = asx_mutex_lock(cx, &b->mutex, &guard);
    b->at = asx_now(cx);
    return ASX_OK;
}

static asx_status panics_with_it(asx_cx *cx, void *arg)
{
    struct behind *b = arg;
    asx_mutex_guard guard;
    CHECK_STATUS(asx_mutex_lock(cx, &b->mutex, &guard), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    asx_panic(cx, "with the mutex");
}

static asx_status poison_reaches_all(asx_cx *cx, void *arg)
{
    struct behind b = { .last = ASX_OK };
    asx_region r;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, NULL, &b.mutex), ASX_OK);
    asx_time start = asx_now(cx);
    CHECK_STATUS(asx_spawn(&r, NULL, panics_with_it, &b), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, NULL, recovers, &b), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, NULL, locks_behind, &b), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_PANICKED);
    CHECK_STATUS(b.last, ASX_E_POISONED);
    CHECK_EQ(b.at, start + ASX_MS);
    return ASX_OK;
}

ASX_TEST(a_poison_is_told_to_who_waits_behind_somebody_who_recovers)
{
    program_check(poison_reaches_all, NULL);
}

/* A fiber that was handed the mutex and never ran again has not touched what it protects. */
static asx_status forced_before_it_ran(asx_cx *cx, void *arg)
{
    struct stage s;
    asx_close_report report;
    (void)arg;
    open_stage(cx, &s);
    CHECK_STATUS(asx_mutex_lock(cx, &s.mutex, &s.guard), ASX_OK);
    asx_region inner;
    asx_region_options options = { .cleanup_time_ns = 1, .policy = ASX_POLICY_COLLECT };
    CHECK_STATUS(asx_region_open(cx, &options, &inner), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&inner, locks_and_unlocks, &s, NULL, &s.task), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_EQ(info_of(&s).waiters, 1);
    CHECK_STATUS(asx_mutex_unlock(&s.guard), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&s.task, NULL), ASX_OK);
    asx_status st = asx_region_close_with(&inner, ASX_OK, NULL, &report);
    CHECK(st == ASX_OK || st == ASX_E_CANCELLED);
    CHECK(!info_of(&s).poisoned);
    CHECK_EQ(info_of(&s).held, 0);
    asx_close_report_deinit(&report);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(a_guard_on_its_way_poisons_nothing)
{
    program_check(forced_before_it_ran, NULL);
}

static asx_status cancels_itself(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_task self;
    asx_task_state state;
    CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &s->guard), ASX_OK);
    CHECK_STATUS(asx_cx_task(cx, &self), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&self, NULL), ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&s->guard), ASX_OK);
    CHECK_STATUS(asx_task_get_state(&self, &state), ASX_OK);
    CHECK_EQ(state, ASX_TASK_CANCEL_REQUESTED); /* nothing has told it */
    asx_mutex_guard guard;
    CHECK_STATUS(asx_mutex_try_lock(cx, &s->mutex, &guard), ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    CHECK_STATUS(asx_task_get_state(&self, &state), ASX_OK);
    CHECK_EQ(state, ASX_TASK_CANCEL_REQUESTED);
    CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &guard), ASX_E_CANCELLED);
    return ASX_E_CANCELLED;
}

static asx_status not_points(asx_cx *cx, void *arg)
{
    struct stage s;
    (void)arg;
    open_stage(cx, &s);
    CHECK_STATUS(asx_spawn(&s.region, NULL, cancels_itself, &s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(info_of(&s).held, 0);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(unlocking_and_trying_are_no_cancellation_points)
{
    program_check(not_points, NULL);
}

/* ---- finalizers and cleanups ---------------------------------------------------------------- */

static asx_status finalizer_locks(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_mutex_guard guard;
    CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &guard), ASX_OK);
    s->runs++;
    return asx_mutex_unlock(&guard);
}

static asx_status cleanup_locks(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_mutex_guard guard;
    s->runs++;
    CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &guard), ASX_E_WRONG_CONTEXT); /* it would wait */
    CHECK_STATUS(asx_mutex_unlock(&s->guard), ASX_OK);
    CHECK_STATUS(asx_mutex_lock(cx, &s->mutex, &guard), ASX_OK);
    return ASX_OK; /* and forgets it */
}

static asx_status panics_with_cleanup(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_task_defer(cx, cleanup_locks, arg), ASX_OK);
    asx_panic(cx, "on purpose");
}

static asx_status uses_at_the_end(asx_cx *cx, void *arg)
{
    struct stage s;
    (void)arg;
    open_stage(cx, &s);
    CHECK_STATUS(asx_defer(&s.region, finalizer_locks, &s), ASX_OK);
    CHECK_STATUS(asx_mutex_lock(cx, &s.mutex, &s.guard), ASX_OK);
    CHECK_STATUS(asx_spawn(&s.region, NULL, panics_with_cleanup, &s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(s.runs, 1);
    CHECK(info_of(&s).poisoned); /* by what the cleanup of a panic forgot */
    CHECK_EQ(info_of(&s).held, 0);
    asx_mutex_guard guard;
    CHECK_STATUS(asx_mutex_recover(cx, &s.mutex, &guard), ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    CHECK_STATUS(asx_region_close(&s.region, ASX_OK), ASX_E_PANICKED);
    CHECK_EQ(s.runs, 2);
    return ASX_OK;
}

ASX_TEST(finalizers_and_cleanups_may_lock)
{
    program_check(uses_at_the_end, NULL);
}

/* ---- reports -------------------------------------------------------------------------------- */

static asx_status names_what_it_waits_for(asx_cx *cx, void *arg)
{
    struct stage s;
    asx_close_report report;
    (void)arg;
    open_stage(cx, &s);
    CHECK_STATUS(asx_mutex_lock(cx, &s.mutex, &s.guard), ASX_OK);
    CHECK_STATUS(asx_spawn(&s.region, "stuck", locks_and_unlocks, &s), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_region_report(&s.region, &report), ASX_OK);
    CHECK_EQ(report.items_len, 2);
    CHECK_STR_EQ(report.items[1].name, "stuck");
    CHECK_STR_EQ(report.items[1].waits_for, "mutex-lock");
    asx_close_report_deinit(&report);
    CHECK_STATUS(asx_mutex_unlock(&s.guard), ASX_OK);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(a_report_names_the_mutex_a_task_waits_for)
{
    program_check(names_what_it_waits_for, NULL);
}

/* ---- memory --------------------------------------------------------------------------------- */

enum { FILLERS = 300 };

struct poor {
    asx_mutex mutex;
    asx_semaphore semaphore;
    asx_rwlock rwlock;
    asx_notify notify;
    asx_status first[3], second[3];
    unsigned filled;
};

static bool nothing_left;

static void *poor_alloc(void *ctx, size_t size)
{
    (void)ctx;
    return nothing_left ? NULL : malloc(size);
}

static void poor_free(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    (void)size;
    free(memory);
}

/* Takes the part of its record that a guard needs too, until there is none. */
static asx_status fills(asx_cx *cx, void *arg)
{
    struct poor *p = arg;
    CHECK_STATUS(asx_notify_wait(cx, &p->notify), ASX_OK);
    asx_status st = asx_mask_begin(cx, 0);
    CHECK(st == ASX_OK || st == ASX_E_RESOURCE_EXHAUSTED);
    p->filled += st == ASX_OK;
    return asx_notify_wait(cx, &p->notify);
}

static void use_in_turn(asx_cx *cx, struct poor *p, asx_status *results)
{
    asx_mutex_guard mutex;
    asx_rwlock_guard rwlock;
    asx_semaphore_permit permit;
    results[0] = asx_mutex_lock(cx, &p->mutex, &mutex);
    if (results[0] == ASX_OK)
        CHECK_STATUS(asx_mutex_unlock(&mutex), ASX_OK);
    results[1] = asx_rwlock_write(cx, &p->rwlock, &rwlock);
    if (results[1] == ASX_OK)
        CHECK_STATUS(asx_rwlock_unlock(&rwlock), ASX_OK);
    results[2] = asx_semaphore_acquire(cx, &p->semaphore, 1, &permit);
    if (results[2] == ASX_OK)
        CHECK_STATUS(asx_semaphore_release(&permit), ASX_OK);
}

static asx_status poor_waiter(asx_cx *cx, void *arg)
{
    use_in_turn(cx, arg, ((struct poor *)arg)->first);
    return ASX_OK;
}

static asx_status rich_waiter(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    use_in_turn(cx, arg, ((struct poor *)arg)->second);
    return ASX_OK;
}

static asx_status hand_over_without_memory(asx_cx *cx, void *arg)
{
    struct poor p = { .filled = 0 };
    asx_region r;
    asx_mutex_guard mutex;
    asx_rwlock_guard rwlock;
    asx_semaphore_permit permit;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, NULL, &p.mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(&r, NULL, &p.rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(&r, 1, NULL, &p.semaphore), ASX_OK);
    CHECK_STATUS(asx_notify_create(&r, NULL, &p.notify), ASX_OK);
    CHECK_STATUS(asx_mutex_lock(cx, &p.mutex, &mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_read(cx, &p.rwlock, &rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_acquire(cx, &p.semaphore, 1, &permit), ASX_OK);
    for (unsigned i = 0; i < FILLERS; i++)
        CHECK_STATUS(asx_spawn(&r, NULL, fills, &p), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "poor", poor_waiter, &p), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "rich", rich_waiter, &p), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    nothing_left = true;
    CHECK_STATUS(asx_notify_all(&p.notify), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK(p.filled < FILLERS);
    CHECK_STATUS(asx_mutex_unlock(&mutex), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_rwlock_unlock(&rwlock), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_semaphore_release(&permit), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    nothing_left = false;
    CHECK_STATUS(asx_notify_all(&p.notify), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_STATUS(p.first[i], ASX_E_RESOURCE_EXHAUSTED);
        CHECK_STATUS(p.second[i], ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(what_a_waiter_has_no_memory_for_goes_to_the_next)
{
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL,
                                  .allocator = { poor_alloc, poor_free, NULL } };
    nothing_left = false;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, hand_over_without_memory, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- laws over schedules -------------------------------------------------------------------- */

struct owners {
    struct crowd crowd;
    asx_mutex mutex;
    unsigned inside;
};

static asx_status own(asx_cx *cx, struct crowd_worker *w)
{
    struct owners *o = (struct owners *)w->crowd;
    asx_status st = asx_mutex_lock(cx, &o->mutex, &w->mutex);
    if (st == ASX_OK)
        CHECK_EQ(o->inside++, 0);
    return st;
}

static void disown(struct crowd_worker *w)
{
    struct owners *o = (struct owners *)w->crowd;
    CHECK_EQ(--o->inside, 0);
    CHECK_STATUS(asx_mutex_unlock(&w->mutex), ASX_OK);
}

static asx_status owners_program(asx_cx *cx, void *arg)
{
    bool cancels = *(bool *)arg;
    struct owners o = { .crowd = { .workers = 6, .rounds = 20, .cancels = cancels ? 4 : 0,
                                   .enter = own, .leave = disown } };
    asx_region r;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, NULL, &o.mutex), ASX_OK);
    crowd_run(cx, &r, &o.crowd);
    asx_lock_info info;
    CHECK_STATUS(asx_mutex_info(&o.mutex, &info), ASX_OK);
    CHECK_EQ(info.held + info.waiters + o.inside, 0);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(one_at_a_time_whatever_the_schedule)
{
    crowd_check(owners_program);
}
