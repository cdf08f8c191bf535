/* test_rwlock.c - the laws of the read-write lock. */
#include "crowd.h"

static void with_rwlock(asx_cx *cx, struct play_run *run)
{
    (void)cx;
    CHECK_STATUS(asx_rwlock_create(&run->home, &(asx_rwlock_options){ .name = "subject" },
                                   &run->rwlock), ASX_OK);
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
    s->last = asx_rwlock_write(cx, &s->lock, &guard);
    return s->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status reads(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_rwlock_guard guard;
    s->last = asx_rwlock_read(cx, &s->lock, &guard);
    return s->last < 0 ? s->last : asx_rwlock_unlock(&guard);
}

static asx_status grant_passes_on(asx_cx *cx, void *arg)
{
    struct stage s = { .last = ASX_E_NOT_FOUND }, behind;
    asx_rwlock_guard guard;
    asx_lock_info info;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &s.region), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(&s.region, NULL, &s.lock), ASX_OK);
    CHECK_STATUS(asx_rwlock_read(cx, &s.lock, &guard), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&s.region, polls_write, &s, NULL, &s.task), ASX_OK);
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

struct library {
    struct crowd crowd;
    asx_rwlock lock;
    unsigned readers, writers, most_readers;
};

static bool writes(const struct crowd_worker *w)
{
    return (w->number + w->round) % 3 == 0;
}

static asx_status enter(asx_cx *cx, struct crowd_worker *w)
{
    struct library *l = (struct library *)w->crowd;
    asx_status st = writes(w) ? asx_rwlock_write(cx, &l->lock, &w->rwlock)
                              : asx_rwlock_read(cx, &l->lock, &w->rwlock);
    if (st < 0)
        return st;
    CHECK_EQ(l->writers, 0);
    if (writes(w))
        CHECK_EQ(l->readers, 0);
    *(writes(w) ? &l->writers : &l->readers) += 1;
    l->most_readers = l->readers > l->most_readers ? l->readers : l->most_readers;
    return ASX_OK;
}

static void leave(struct crowd_worker *w)
{
    struct library *l = (struct library *)w->crowd;
    *(writes(w) ? &l->writers : &l->readers) -= 1;
    CHECK_STATUS(asx_rwlock_unlock(&w->rwlock), ASX_OK);
}

static asx_status library_program(asx_cx *cx, void *arg)
{
    bool cancels = *(bool *)arg;
    struct library l = { .crowd = { .workers = 6, .rounds = 16, .cancels = cancels ? 4 : 0,
                                    .enter = enter, .leave = leave } };
    asx_region r;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(&r, NULL, &l.lock), ASX_OK);
    crowd_run(cx, &r, &l.crowd);
    asx_lock_info info;
    CHECK_STATUS(asx_rwlock_info(&l.lock, &info), ASX_OK);
    CHECK_EQ(info.held + info.waiters + l.readers + l.writers, 0);
    if (!cancels)
        CHECK(l.most_readers > 1);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(readers_never_meet_a_writer_whatever_the_schedule)
{
    crowd_check(library_program);
}
