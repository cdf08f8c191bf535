/* test_rwlock.c - the laws of the read-write lock. */
#include "play.h"

static void with_rwlock(asx_cx *cx, struct play_run *run)
{
    (void)cx;
    CHECK_STATUS(asx_rwlock_create(&run->home, "subject", &run->rwlock), ASX_OK);
}

ASX_TEST(readers_share_and_a_writer_is_alone)
{
    static const struct play play = {
        .name = "share", .setup = with_rwlock, .steps =
        { { { 1, op_read, 0, 0, 0, 0 }, { 10, op_rw_unlock, 0, 0, 0, 0 },
            { 0, op_rw_unlock, ASX_E_OBLIGATION_ALREADY_RESOLVED, 0, 0, 0 } },
          { { 2, op_read, 0, 0, 0, 0 }, { 11, op_rw_unlock, 0, 0, 0, 0 } },
          { { 3, op_try_write, ASX_E_BUSY, 0, 0, 0 }, { 4, op_write, 0, 11, 0, 0 },
            { 12, op_rw_unlock, 0, 0, 0, 0 } },
          { { 11, op_try_read, ASX_E_BUSY, 0, 0, 0 }, { 12, op_read, 0, 0, 0, 0 },
            { 0, op_try_read, 0, 0, 0, 1 }, { 0, op_rw_unlock, 0, 0, 0, 1 },
            { 0, op_rw_unlock, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(a_writer_that_waits_keeps_new_readers_out)
{
    static const struct play play = {
        .name = "keeps out", .setup = with_rwlock, .steps =
        { { { 1, op_read, 0, 0, 0, 0 }, { 4, op_try_read, ASX_E_WOULD_DEADLOCK, 0, 0, 1 },
            { 0, op_read, ASX_E_WOULD_DEADLOCK, 0, 0, 1 }, { 8, op_rw_unlock, 0, 0, 0, 0 } },
          { { 2, op_write, 0, 8, 0, 0 }, { 0, op_log, 0, 0, 'w', 0 },
            { 9, op_rw_unlock, 0, 0, 0, 0 } },
          { { 3, op_read, 0, 9, 0, 0 }, { 0, op_log, 0, 0, 'r', 0 },
            { 12, op_rw_unlock, 0, 0, 0, 0 } },
          { { 5, op_try_read, ASX_E_BUSY, 0, 0, 0 }, { 6, op_read, 0, 9, 0, 0 },
            { 0, op_log, 0, 0, 'r', 0 }, { 12, op_rw_unlock, 0, 0, 0, 0 } },
          { { 7, op_write, 0, 12, 0, 0 }, { 0, op_log, 0, 0, 'v', 0 },
            { 13, op_rw_unlock, 0, 0, 0, 0 } } },
        .log = "wrrv",
    };
    play_check(&play);
}

ASX_TEST(a_holder_that_would_wait_for_itself_is_told)
{
    static const struct play play = {
        .name = "itself", .setup = with_rwlock, .steps =
        { { { 1, op_read, 0, 0, 0, 0 }, { 0, op_read, 0, 0, 0, 1 },
            { 0, op_write, ASX_E_WOULD_DEADLOCK, 0, 0, 2 },
            { 0, op_try_write, ASX_E_WOULD_DEADLOCK, 0, 0, 2 }, { 0, op_rw_unlock, 0, 0, 0, 1 },
            { 0, op_write, ASX_E_WOULD_DEADLOCK, 0, 0, 2 }, { 0, op_rw_unlock, 0, 0, 0, 0 },
            { 0, op_write, 0, 0, 0, 0 }, { 0, op_read, ASX_E_WOULD_DEADLOCK, 0, 0, 1 },
            { 0, op_write, ASX_E_WOULD_DEADLOCK, 0, 0, 1 },
            { 0, op_rw_recover, ASX_E_WOULD_DEADLOCK, 0, 0, 1 },
            { 0, op_rw_unlock, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(a_cancelled_writer_lets_the_readers_behind_it_through)
{
    static const struct play play = {
        .name = "cancelled writer", .setup = with_rwlock, .steps =
        { { { 1, op_read, 0, 0, 0, 0 }, { 5, op_rw_waiters, 0, 0, 3, 0 },
            { 6, op_cancel, 0, 0, 1, 0 }, { 7, op_rw_waiters, 0, 0, 0, 0 },
            { 9, op_rw_unlock, 0, 0, 0, 0 } },
          { { 2, op_write, ASX_E_CANCELLED, 6, 0, 0 } },
          { { 3, op_read, 0, 6, 0, 0 }, { 8, op_rw_unlock, 0, 0, 0, 0 } },
          { { 4, op_read, 0, 6, 0, 0 }, { 8, op_rw_unlock, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

static void one_left(struct play_run *run)
{
    CHECK_EQ(run->crowd_report.permits_aborted, 1);
    CHECK(report_names(&run->crowd_report, "guard", "Aborted", "support_locks.c:"));
}

ASX_TEST(only_who_writes_can_poison)
{
    static const struct play reader = {
        .name = "reader panics", .setup = with_rwlock, .steps =
        { { { 1, op_read, 0, 0, 0, 0 }, { 3, op_panic, 0, 0, 0, 0 } },
          { { 2, op_write, 0, 3, 0, 0 }, { 4, op_rw_unlock, 0, 0, 0, 0 } } },
        .want_close = ASX_E_PANICKED, .after = one_left,
    };
    play_check(&reader);
    static const struct play writer = {
        .name = "writer panics", .setup = with_rwlock, .steps =
        { { { 1, op_write, 0, 0, 0, 0 }, { 4, op_panic, 0, 0, 0, 0 } },
          { { 2, op_read, ASX_E_POISONED, 4, 0, 0 }, { 5, op_write, ASX_E_POISONED, 0, 0, 0 },
            { 0, op_try_read, ASX_E_POISONED, 0, 0, 0 },
            { 0, op_try_write, ASX_E_POISONED, 0, 0, 0 }, { 6, op_rw_recover, 0, 0, 0, 0 },
            { 8, op_rw_unlock, 0, 0, 0, 0 } },
          { { 3, op_write, ASX_E_POISONED, 4, 0, 0 }, { 7, op_read, 0, 8, 0, 0 },
            { 9, op_rw_unlock, 0, 0, 0, 0 } } },
        .want_close = ASX_E_PANICKED, .after = one_left,
    };
    play_check(&writer);
    static const struct play ends = {
        .name = "writer ends", .setup = with_rwlock, .steps =
        { { { 1, op_write, 0, 0, 0, 0 }, { 4, op_end, ASX_OK, 0, 0, 0 } },
          { { 2, op_read, 0, 4, 0, 0 }, { 5, op_rw_unlock, 0, 0, 0, 0 } } },
        .after = one_left,
    };
    play_check(&ends);
}

ASX_TEST(who_waits_to_recover_gets_the_poisoned_lock)
{
    static const struct play play = {
        .name = "recoverer", .setup = with_rwlock, .steps =
        { { { 1, op_write, 0, 0, 0, 0 }, { 4, op_panic, 0, 0, 0, 0 } },
          { { 2, op_rw_recover, 0, 4, 0, 0 }, { 6, op_rw_unlock, 0, 0, 0, 0 } },
          { { 5, op_read, 0, 6, 0, 0 }, { 7, op_rw_unlock, 0, 0, 0, 0 } } },
        .want_close = ASX_E_PANICKED,
    };
    play_check(&play);
}

static void home_went(struct play_run *run)
{
    CHECK_EQ(run->home_report.permits_aborted, 2);
    CHECK(report_names(&run->home_report, "guard", "Aborted", "support_locks.c:"));
}

ASX_TEST(the_end_of_its_region_tells_who_waits_and_takes_the_guards_along)
{
    static const struct play play = {
        .name = "home goes", .setup = with_rwlock, .steps =
        { { { 1, op_read, 0, 0, 0, 0 }, { 6, op_rw_unlock, ASX_E_REGION_CLOSED, 0, 0, 0 },
            { 0, op_read, ASX_E_REGION_CLOSED, 0, 0, 1 },
            { 0, op_write, ASX_E_REGION_CLOSED, 0, 0, 1 },
            { 0, op_try_read, ASX_E_REGION_CLOSED, 0, 0, 1 },
            { 0, op_rw_recover, ASX_E_REGION_CLOSED, 0, 0, 1 },
            { 0, op_rw_waiters, ASX_E_REGION_CLOSED, 0, 0, 0 } },
          { { 1, op_read, 0, 0, 0, 0 } , { 6, op_rw_unlock, ASX_E_REGION_CLOSED, 0, 0, 0 } },
          { { 2, op_write, ASX_E_REGION_CLOSED, 5, 0, 0 } },
          { { 3, op_read, ASX_E_REGION_CLOSED, 5, 0, 0 } } },
        .home_first = true, .home_closes_at = 5, .after = home_went,
    };
    play_check(&play);
}

/* ---- a cancel that meets the hand-over ------------------------------------------------------- */

struct stage {
    asx_region region;
    asx_rwlock lock;
    asx_task task;
    asx_status last;
};

static asx_poll polls_write(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_rwlock_guard guard;
    s->last = asx_rwlock_write(&s->lock, cx, &guard);
    return s->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status reads(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_rwlock_guard guard;
    s->last = asx_rwlock_read(&s->lock, cx, &guard);
    return s->last < 0 ? s->last : asx_rwlock_unlock(&guard);
}

static asx_status grant_passes_on(asx_cx *cx, void *arg)
{
    struct stage s = { .last = ASX_E_NOT_FOUND }, behind;
    asx_rwlock_guard guard;
    asx_lock_info info;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &s.region, NULL), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(&s.region, NULL, &s.lock), ASX_OK);
    CHECK_STATUS(asx_rwlock_read(&s.lock, cx, &guard), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&s.region, NULL, polls_write, &s, &s.task), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    behind = s;
    CHECK_STATUS(asx_spawn(&s.region, NULL, reads, &behind), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_rwlock_unlock(&guard), ASX_OK);
    CHECK_STATUS(asx_rwlock_info(&s.lock, &info), ASX_OK);
    CHECK_EQ(info.held, 1);
    CHECK_EQ(info.waiters, 1);
    CHECK_STATUS(asx_task_cancel(&s.task, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(s.last, ASX_E_CANCELLED);
    CHECK_STATUS(behind.last, ASX_OK);
    CHECK_STATUS(asx_rwlock_info(&s.lock, &info), ASX_OK);
    CHECK_EQ(info.held + info.waiters, 0);
    CHECK_EQ(info.available, 1);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(a_grant_that_a_cancel_meets_passes_on)
{
    program_check(grant_passes_on, NULL);
}

/* ---- laws over schedules -------------------------------------------------------------------- */

enum { WORKERS = 6, ROUNDS = 16 };

struct crowd {
    asx_rwlock lock;
    asx_task tasks[WORKERS];
    unsigned readers, writers, passed, most_readers;
};

struct worker {
    struct crowd *crowd;
    unsigned number, round;
    bool inside;
    asx_rwlock_guard guard;
};

static bool writes(const struct worker *w)
{
    return (w->number + w->round) % 3 == 0;
}

static asx_status work(asx_cx *cx, struct worker *w)
{
    struct crowd *c = w->crowd;
    for (; w->round < ROUNDS; w->round++) {
        if (!w->inside) {
            asx_status st = writes(w) ? asx_rwlock_write(&c->lock, cx, &w->guard)
                                      : asx_rwlock_read(&c->lock, cx, &w->guard);
            if (st < 0)
                return st;
            CHECK_EQ(c->writers, 0);
            if (writes(w))
                CHECK_EQ(c->readers, 0);
            *(writes(w) ? &c->writers : &c->readers) += 1;
            c->most_readers = c->readers > c->most_readers ? c->readers : c->most_readers;
            w->inside = true;
        }
        asx_status st = asx_yield(cx);
        if (st == ASX_E_WOULD_BLOCK)
            return st;
        *(writes(w) ? &c->writers : &c->readers) -= 1;
        CHECK_STATUS(asx_rwlock_unlock(&w->guard), ASX_OK);
        w->inside = false;
        c->passed++;
        if (st < 0)
            return st;
    }
    return ASX_OK;
}

static asx_status work_fiber(asx_cx *cx, void *arg)
{
    return work(cx, arg);
}

static asx_poll work_poll(asx_cx *cx, void *arg)
{
    asx_status st = work(cx, arg);
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING
           : st < 0                ? asx_poll_fail(cx, st)
                                   : ASX_POLL_READY;
}

static asx_status crowd_program(asx_cx *cx, void *arg)
{
    struct crowd c = { .readers = 0 };
    struct worker workers[WORKERS];
    asx_region r;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    bool cancels = *(bool *)arg;
    CHECK_STATUS(asx_region_open(cx, &r, &options), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(&r, NULL, &c.lock), ASX_OK);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){ .crowd = &c, .number = i };
        if (i % 2 == 0)
            CHECK_STATUS(asx_spawn_task(&r, NULL, work_fiber, &workers[i], &c.tasks[i]), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_poll_task(&r, NULL, work_poll, &workers[i], &c.tasks[i]),
                         ASX_OK);
    }
    for (unsigned i = 0; cancels && i < 4; i++) {
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_task_cancel(&c.tasks[i], NULL), ASX_OK);
    }
    for (unsigned i = 0; i < WORKERS; i++)
        CHECK_STATUS(asx_join(cx, &c.tasks[i], NULL), ASX_OK);
    asx_lock_info info;
    CHECK_STATUS(asx_rwlock_info(&c.lock, &info), ASX_OK);
    CHECK_EQ(info.held + info.waiters + c.readers + c.writers, 0);
    if (!cancels) {
        CHECK_EQ(c.passed, WORKERS * ROUNDS);
        CHECK(c.most_readers > 1);
    }
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(readers_never_meet_a_writer_whatever_the_schedule)
{
    bool cancels = false;
    seeds_check(crowd_program, &cancels, 200);
    cancels = true;
    seeds_check(crowd_program, &cancels, 200);
}
