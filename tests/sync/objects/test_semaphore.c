/* test_semaphore.c - the laws of the semaphore. */
#include "crowd.h"

static void with_three(asx_cx *cx, struct play_run *run)
{
    (void)cx;
    CHECK_STATUS(asx_semaphore_create(&run->home, 3, &(asx_semaphore_options){ .name = "subject" },
                                      &run->semaphore), ASX_OK);
}

ASX_TEST(permits_come_back_and_go_to_the_first_who_waits)
{
    static const struct play play = {
        .name = "order", .setup = with_three, .steps =
        { { { 1, op_acquire, 0, 0, 2, 0 }, { 2, op_available, 0, 0, 1, 0 },
            { 8, op_release_some, 0, 0, 1, 0 }, { 9, op_release, 0, 0, 0, 0 },
            { 0, op_release, ASX_E_OBLIGATION_ALREADY_RESOLVED, 0, 0, 0 } },
          { { 3, op_acquire, 0, 0, 1, 0 }, { 4, op_try_acquire, ASX_E_BUSY, 0, 1, 1 },
            { 10, op_release, 0, 0, 0, 0 } },
          { { 5, op_acquire, 0, 8, 1, 0 }, { 0, op_log, 0, 0, 'a', 0 },
            { 11, op_release, 0, 0, 0, 0 } },
          { { 6, op_acquire, 0, 9, 1, 0 }, { 0, op_log, 0, 0, 'b', 0 },
            { 12, op_release, 0, 0, 0, 0 }, { 13, op_available, 0, 0, 3, 0 } },
          { { 7, op_acquire, 0, 10, 1, 0 }, { 0, op_log, 0, 0, 'c', 0 },
            { 12, op_release, 0, 0, 0, 0 } } },
        .log = "abc",
    };
    play_check(&play);
}

ASX_TEST(a_big_request_is_not_passed_by_small_ones)
{
    static const struct play play = {
        .name = "big", .setup = with_three, .steps =
        { { { 1, op_acquire, 0, 0, 2, 0 }, { 6, op_release, 0, 0, 0, 0 } },
          { { 2, op_acquire, 0, 6, 3, 0 }, { 0, op_log, 0, 0, 'B', 0 },
            { 7, op_release_some, 0, 0, 2, 0 }, { 9, op_release, 0, 0, 0, 0 } },
          { { 3, op_try_acquire, ASX_E_BUSY, 0, 1, 0 }, { 4, op_acquire, 0, 7, 1, 0 },
            { 0, op_log, 0, 0, 's', 0 }, { 8, op_release, 0, 0, 0, 0 } },
          { { 5, op_acquire, 0, 7, 1, 0 }, { 0, op_log, 0, 0, 's', 0 },
            { 8, op_release, 0, 0, 0, 0 }, { 10, op_available, 0, 0, 3, 0 } } },
        .log = "Bss",
    };
    play_check(&play);
}

ASX_TEST(a_cancelled_big_request_lets_the_small_ones_through)
{
    static const struct play play = {
        .name = "cancelled big", .setup = with_three, .steps =
        { { { 1, op_acquire, 0, 0, 2, 0 }, { 5, op_cancel, 0, 0, 1, 0 },
            { 8, op_release, 0, 0, 0, 0 }, { 10, op_available, 0, 0, 3, 0 } },
          { { 2, op_acquire, ASX_E_CANCELLED, 5, 3, 0 } },
          { { 3, op_acquire, 0, 5, 1, 0 }, { 7, op_release, 0, 0, 0, 0 } },
          { { 4, op_acquire, 0, 7, 1, 0 }, { 9, op_release, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(nobody_gives_back_more_than_he_has_but_permits_can_be_added)
{
    static const struct play play = {
        .name = "more", .setup = with_three, .steps =
        { { { 1, op_acquire, 0, 0, 2, 0 },
            { 0, op_release_some, ASX_E_INVALID_ARGUMENT, 0, 3, 0 },
            { 0, op_release_some, ASX_E_INVALID_ARGUMENT, 0, 0, 0 },
            { 0, op_available, 0, 0, 1, 0 }, { 0, op_release_some, 0, 0, 1, 0 },
            { 0, op_release_some, ASX_E_INVALID_ARGUMENT, 0, 2, 0 },
            { 0, op_release_some, 0, 0, 1, 0 },
            { 0, op_release_some, ASX_E_OBLIGATION_ALREADY_RESOLVED, 0, 1, 0 },
            { 0, op_available, 0, 0, 3, 0 }, { 3, op_add, 0, 0, 2, 0 },
            { 0, op_add, ASX_E_RESOURCE_EXHAUSTED, 0, ASX_SEMAPHORE_PERMITS_MAX, 0 },
            { 5, op_available, 0, 0, 5, 0 } },
          { { 2, op_acquire, 0, 3, 5, 0 }, { 4, op_release, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

static void left_behind(struct play_run *run)
{
    CHECK_EQ(run->crowd_report.permits_aborted, 1);
    CHECK(report_names(&run->crowd_report, "semaphore-permit", "Aborted", "support_locks.c:"));
}

ASX_TEST(permits_of_a_task_that_ends_come_back_and_it_is_found_out)
{
    static const struct play ends = {
        .name = "ends", .setup = with_three, .steps =
        { { { 1, op_acquire, 0, 0, 3, 0 }, { 3, op_end, ASX_OK, 0, 0, 0 } },
          { { 2, op_acquire, 0, 3, 2, 0 }, { 4, op_release, 0, 0, 0, 0 },
            { 0, op_available, 0, 0, 3, 0 } } },
        .after = left_behind,
    };
    play_check(&ends);
    static const struct play panics = {
        .name = "panics", .setup = with_three, .steps =
        { { { 1, op_acquire, 0, 0, 3, 0 }, { 3, op_panic, 0, 0, 0, 0 } },
          { { 2, op_acquire, 0, 3, 2, 0 }, { 4, op_release, 0, 0, 0, 0 },
            { 0, op_available, 0, 0, 3, 0 } } },
        .want_close = ASX_E_PANICKED, .after = left_behind,
    };
    play_check(&panics);
}

ASX_TEST(the_end_of_its_region_tells_who_waits_and_takes_the_permits_along)
{
    static const struct play play = {
        .name = "home goes", .setup = with_three, .steps =
        { { { 1, op_acquire, 0, 0, 3, 0 }, { 6, op_release, ASX_E_REGION_CLOSED, 0, 0, 0 },
            { 0, op_release_some, ASX_E_REGION_CLOSED, 0, 1, 0 },
            { 0, op_acquire, ASX_E_REGION_CLOSED, 0, 1, 1 },
            { 0, op_try_acquire, ASX_E_REGION_CLOSED, 0, 1, 1 },
            { 0, op_add, ASX_E_REGION_CLOSED, 0, 1, 1 },
            { 0, op_available, ASX_E_REGION_CLOSED, 0, 0, 0 } },
          { { 2, op_acquire, ASX_E_REGION_CLOSED, 5, 1, 0 } } },
        .home_first = true, .home_closes_at = 5,
    };
    play_check(&play);
}

/* ---- poll tasks ----------------------------------------------------------------------------- */

struct stage {
    asx_region region;
    asx_semaphore semaphore;
    asx_task task;
    asx_status last;
    int runs;
};

static asx_poll changes_its_mind(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_semaphore_permit permit;
    uint32_t n = s->runs++ == 0 ? 2 : 1;
    s->last = asx_semaphore_acquire(cx, &s->semaphore, n, &permit);
    if (s->last == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    asx_lock_info info;
    CHECK_STATUS(asx_semaphore_info(&s->semaphore, &info), ASX_OK);
    CHECK_EQ(info.available, 1);
    CHECK_STATUS(asx_semaphore_release(&permit), ASX_OK);
    return ASX_POLL_READY;
}

static asx_status other_number(asx_cx *cx, void *arg)
{
    struct stage s = { .runs = 0 };
    asx_lock_info info;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &s.region), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(&s.region, 0, NULL, &s.semaphore), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&s.region, NULL, changes_its_mind, &s), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_semaphore_add(&s.semaphore, 2), ASX_OK);
    CHECK_STATUS(asx_semaphore_info(&s.semaphore, &info), ASX_OK);
    CHECK_EQ(info.available, 0); /* granted */
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(s.last, ASX_OK);
    CHECK_STATUS(asx_semaphore_info(&s.semaphore, &info), ASX_OK);
    CHECK_EQ(info.available, 2);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(a_repeated_call_that_wants_something_else_gives_the_grant_back)
{
    program_check(other_number, NULL);
}

static asx_poll asks(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_semaphore_permit permit;
    s->last = asx_semaphore_acquire(cx, &s->semaphore, 2, &permit);
    return s->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status cancel_meets_grant(asx_cx *cx, void *arg)
{
    struct stage s = { .runs = 0 };
    asx_lock_info info;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &s.region), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(&s.region, 1, NULL, &s.semaphore), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&s.region, asks, &s, NULL, &s.task), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_semaphore_add(&s.semaphore, 1), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&s.task, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(s.last, ASX_E_CANCELLED);
    CHECK_STATUS(asx_semaphore_info(&s.semaphore, &info), ASX_OK);
    CHECK_EQ(info.available, 2);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(a_grant_that_a_cancel_meets_comes_back)
{
    program_check(cancel_meets_grant, NULL);
}

/* ---- memory --------------------------------------------------------------------------------- */

static asx_status ceiling(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_semaphore semaphore;
    asx_semaphore_permit first, second;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(&r, 5, NULL, &semaphore), ASX_OK);
    CHECK_STATUS(asx_semaphore_acquire(cx, &semaphore, 1, &first), ASX_OK);
    CHECK_STATUS(asx_semaphore_acquire(cx, &semaphore, 1, &second), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_semaphore_try_acquire(cx, &semaphore, 1, &second), ASX_E_RESOURCE_EXHAUSTED);
    asx_lock_info info;
    CHECK_STATUS(asx_semaphore_info(&semaphore, &info), ASX_OK);
    CHECK_EQ(info.available, 4);
    CHECK_STATUS(asx_semaphore_release(&first), ASX_OK);
    CHECK_STATUS(asx_semaphore_acquire(cx, &semaphore, 5, &second), ASX_OK);
    CHECK_STATUS(asx_semaphore_release(&second), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_ceiling_on_obligations_counts_permits_and_refuses_without_loss)
{
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .limits.obligations_max = 1 };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, ceiling, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- laws over schedules -------------------------------------------------------------------- */

enum { PERMITS = 4 };

struct pool {
    struct crowd crowd;
    asx_semaphore semaphore;
    uint32_t out, most;
};

static uint32_t wants(const struct crowd_worker *w)
{
    return (w->number + w->round) % PERMITS + 1;
}

static asx_status take(asx_cx *cx, struct crowd_worker *w)
{
    struct pool *p = (struct pool *)w->crowd;
    asx_status st = asx_semaphore_acquire(cx, &p->semaphore, wants(w), &w->permit);
    if (st < 0)
        return st;
    p->out += wants(w);
    CHECK_LE(p->out, PERMITS);
    p->most = p->out > p->most ? p->out : p->most;
    return ASX_OK;
}

static void give(struct crowd_worker *w)
{
    struct pool *p = (struct pool *)w->crowd;
    p->out -= wants(w);
    if (wants(w) > 1)
        CHECK_STATUS(asx_semaphore_release_some(&w->permit, 1), ASX_OK);
    CHECK_STATUS(asx_semaphore_release(&w->permit), ASX_OK);
}

static asx_status pool_program(asx_cx *cx, void *arg)
{
    bool cancels = *(bool *)arg;
    struct pool p = { .crowd = { .workers = 7, .rounds = 16, .cancels = cancels ? 5 : 0,
                                 .enter = take, .leave = give } };
    asx_region r;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(&r, PERMITS, NULL, &p.semaphore), ASX_OK);
    crowd_run(cx, &r, &p.crowd);
    asx_lock_info info;
    CHECK_STATUS(asx_semaphore_info(&p.semaphore, &info), ASX_OK);
    CHECK_EQ(info.available, PERMITS);
    CHECK_EQ(info.waiters, 0);
    if (!cancels)
        CHECK_EQ(p.most, PERMITS);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(permits_are_never_more_than_there_are_whatever_the_schedule)
{
    crowd_check(pool_program);
}
