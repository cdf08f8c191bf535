/* test_once.c - the laws of once. */
#include "play.h"

#include <string.h>

static void with_once(asx_cx *cx, struct play_run *run)
{
    (void)cx;
    run->initializer = ASX_OK;
    CHECK_STATUS(asx_once_create(&run->home, &(asx_once_options){ .name = "subject" },
                                 &run->once), ASX_OK);
}

static void ran_once(struct play_run *run)
{
    CHECK_EQ(run->count, 1);
}

static void ran_twice(struct play_run *run)
{
    CHECK_EQ(run->count, 2);
}

ASX_TEST(the_initializer_runs_once_and_the_others_wait_for_it)
{
    static const struct play play = {
        .name = "once", .setup = with_once, .steps =
        { { { 1, op_once_done, 0, 0, 0, 0 }, { 0, op_once, 0, 5, 4, 0 },
            { 0, op_once_done, 0, 0, 1, 0 } },
          { { 2, op_once, 0, 5, 1, 0 } },
          { { 3, op_once, 0, 5, 1, 0 }, { 6, op_once, 0, 0, 1, 0 } } },
        .after = ran_once,
    };
    play_check(&play);
}

ASX_TEST(a_failed_initializer_lets_the_next_one_try)
{
    static const struct play play = {
        .name = "fails", .setup = with_once, .steps =
        { { { 1, op_initializer, 0, 0, 8, 0 }, { 2, op_once, ASX_E_NOT_FOUND, 6, 4, 0 },
            { 0, op_once_done, 0, 0, 0, 0 }, { 50, op_once, 0, 0, 1, 0 } },
          { { 3, op_once, 0, 46, 40, 0 } },
          { { 4, op_once, 0, 46, 40, 0 } },
          { { 7, op_initializer, 0, 0, 0, 0 } } },
        .after = ran_twice,
    };
    play_check(&play);
}

ASX_TEST(a_cancelled_initializer_lets_the_next_one_try)
{
    static const struct play play = {
        .name = "cancelled", .setup = with_once, .steps =
        { { { 1, op_once, ASX_E_CANCELLED, 4, 9000, 0 } },
          { { 2, op_once, ASX_E_CANCELLED, 3, 9000, 0 } },
          { { 2, op_once, 0, 6, 2, 0 } },
          { { 3, op_cancel, 0, 0, 1, 0 }, { 4, op_cancel, 0, 0, 0, 0 } } },
        .after = ran_once,
    };
    play_check(&play);
}

static asx_status panics_inside(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_panic(cx, "in the initializer");
}

STEP_OP(op_once_panics)
{
    (void)step;
    play_does_not_return(actor);
    return asx_once_call(cx, &actor->run->once, panics_inside, NULL);
}

static void ran_and_told(struct play_run *run)
{
    CHECK_EQ(run->count, 1);
    CHECK(report_names(&run->crowd_report, "guard", "Aborted", "test_once.c:"));
}

ASX_TEST(an_initializer_that_panics_lets_the_next_one_try_and_is_found_out)
{
    static const struct play play = {
        .name = "panics", .setup = with_once, .steps =
        { { { 1, op_once_panics, 0, 0, 0, 0 } }, { { 2, op_once, 0, 3, 1, 0 } } },
        .want_close = ASX_E_PANICKED, .after = ran_and_told,
    };
    play_check(&play);
}

ASX_TEST(the_end_of_its_region_tells_who_waits_and_who_runs)
{
    static const struct play play = {
        .name = "home goes", .setup = with_once, .steps =
        { { { 1, op_once, ASX_E_REGION_CLOSED, 51, 50, 0 },
            { 0, op_once_done, ASX_E_REGION_CLOSED, 0, 0, 0 } },
          { { 2, op_once, ASX_E_REGION_CLOSED, 5, 1, 0 } } },
        .home_first = true, .home_closes_at = 5,
    };
    play_check(&play);
}

/* ---- from inside ----------------------------------------------------------------------------- */

struct stage {
    asx_region region;
    asx_once once;
    asx_status inner, last;
    asx_task task;
    int calls;
};

static asx_status calls_itself(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    s->calls++;
    s->inner = asx_once_call(cx, &s->once, calls_itself, s);
    return ASX_OK;
}

static asx_poll polls_itself(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    s->last = asx_once_call(cx, &s->once, calls_itself, s);
    return s->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status inside(asx_cx *cx, void *arg)
{
    struct stage s;
    (void)arg;
    memset(&s, 0, sizeof s);
    CHECK_STATUS(asx_region_open(cx, NULL, &s.region), ASX_OK);
    CHECK_STATUS(asx_once_create(&s.region, NULL, &s.once), ASX_OK);
    CHECK_STATUS(asx_once_call(cx, &s.once, calls_itself, &s), ASX_OK);
    CHECK_STATUS(s.inner, ASX_E_WOULD_DEADLOCK);
    CHECK_EQ(s.calls, 1);
    CHECK_STATUS(asx_once_create(&s.region, NULL, &s.once), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&s.region, NULL, polls_itself, &s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(s.inner, ASX_E_WOULD_DEADLOCK);
    CHECK_STATUS(s.last, ASX_OK);
    CHECK_EQ(s.calls, 2);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(an_initializer_that_calls_itself_is_told)
{
    program_check(inside, NULL);
}

/* A poll task that runs the initializer and ends in the middle of it. */
static asx_status never_ready(asx_cx *cx, void *arg)
{
    ((struct stage *)arg)->calls++;
    return asx_sleep(cx, ASX_SEC);
}

static asx_poll gives_up(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    asx_status st = asx_once_call(cx, &s->once, never_ready, s);
    CHECK_STATUS(st, ASX_E_WOULD_BLOCK);
    return ASX_POLL_READY;
}

static asx_status quick(asx_cx *cx, void *arg)
{
    (void)cx;
    ((struct stage *)arg)->calls++;
    return ASX_OK;
}

static asx_status runner_ends(asx_cx *cx, void *arg)
{
    struct stage s;
    asx_close_report report;
    (void)arg;
    memset(&s, 0, sizeof s);
    asx_region inner;
    CHECK_STATUS(asx_region_open(cx, NULL, &s.region), ASX_OK);
    CHECK_STATUS(asx_once_create(&s.region, NULL, &s.once), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &inner), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&inner, NULL, gives_up, &s), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&inner, ASX_OK, NULL, &report), ASX_OK);
    CHECK(report_names(&report, "guard", "Aborted", "test_once.c:"));
    asx_close_report_deinit(&report);
    CHECK_STATUS(asx_once_call(cx, &s.once, quick, &s), ASX_OK);
    CHECK_STATUS(asx_once_call(cx, &s.once, quick, &s), ASX_OK);
    CHECK_EQ(s.calls, 2);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(a_runner_that_ends_in_the_middle_leaves_it_to_the_next)
{
    program_check(runner_ends, NULL);
}

/* A poll task that is told in the middle of it, and has something else to do, holds nobody up. */
static asx_poll goes_on_elsewhere(asx_cx *cx, void *arg)
{
    struct stage *s = arg;
    if (s->inner == ASX_OK) {
        s->last = asx_once_call(cx, &s->once, never_ready, s);
        if (s->last == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        CHECK_STATUS(s->last, ASX_E_CANCELLED);
        CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
        s->inner = ASX_E_CANCELLED;
    }
    return asx_sleep(cx, ASX_MS) == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status left_at_once(asx_cx *cx, void *arg)
{
    struct stage s;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    (void)arg;
    memset(&s, 0, sizeof s);
    CHECK_STATUS(asx_region_open(cx, &options, &s.region), ASX_OK);
    CHECK_STATUS(asx_once_create(&s.region, NULL, &s.once), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&s.region, goes_on_elsewhere, &s, NULL, &s.task), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&s.task, NULL), ASX_OK);
    asx_time before = asx_now(cx);
    CHECK_STATUS(asx_once_call(cx, &s.once, quick, &s), ASX_OK);
    CHECK_EQ(asx_now(cx), before);
    CHECK_EQ(s.calls, 2);
    return asx_region_close(&s.region, ASX_OK);
}

ASX_TEST(a_cancelled_runner_that_asks_again_leaves_it_to_the_next_at_once)
{
    program_check(left_at_once, NULL);
}

/* ---- laws over schedules -------------------------------------------------------------------- */

enum { CALLERS = 6 };

struct crowd {
    asx_once once;
    asx_task tasks[CALLERS];
    unsigned tries, good, inside;
};

struct try_ {
    struct crowd *crowd;
    bool begun;
};

static asx_status may_fail(asx_cx *cx, void *arg)
{
    struct try_ *t = arg;
    struct crowd *c = t->crowd;
    if (!t->begun) {
        CHECK_EQ(c->inside, 0);
        c->inside++;
        c->tries++;
        t->begun = true;
    }
    asx_status st = asx_yield(cx);
    if (st == ASX_E_WOULD_BLOCK)
        return st;
    t->begun = false;
    c->inside--;
    if (st < 0)
        return st;
    if (c->tries < 3)
        return ASX_E_NOT_FOUND;
    c->good++;
    return ASX_OK;
}

static asx_status call_fiber(asx_cx *cx, void *arg)
{
    asx_status st = asx_once_call(cx, &((struct try_ *)arg)->crowd->once, may_fail, arg);
    return st == ASX_E_NOT_FOUND ? ASX_OK : st;
}

static asx_poll call_poll(asx_cx *cx, void *arg)
{
    struct try_ *t = arg;
    asx_status st = asx_once_call(cx, &t->crowd->once, may_fail, arg);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    if (t->begun) { /* cancelled: it was not called again */
        CHECK_STATUS(st, ASX_E_CANCELLED);
        t->crowd->inside--;
    }
    return ASX_POLL_READY;
}

static asx_status callers(asx_cx *cx, void *arg)
{
    struct crowd c = { .tries = 0 };
    struct try_ tries[CALLERS];
    asx_region r;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_once_create(&r, NULL, &c.once), ASX_OK);
    for (unsigned i = 0; i < CALLERS; i++) {
        tries[i] = (struct try_){ .crowd = &c };
        if (i % 2 == 0)
            CHECK_STATUS(asx_spawn_task(&r, call_fiber, &tries[i], NULL, &c.tasks[i]), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_poll_task(&r, call_poll, &tries[i], NULL, &c.tasks[i]), ASX_OK);
    }
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&c.tasks[0], NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&c.tasks[1], NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(c.inside, 0);
    CHECK_LE(c.good, 1);
    CHECK(c.good == 1 || c.tries <= 3);
    return ASX_OK;
}

ASX_TEST(one_at_a_time_and_one_success_whatever_the_schedule)
{
    seeds_check(callers, NULL, 300);
}
