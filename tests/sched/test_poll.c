/* The poll vehicle: waits that are renewed or withdrawn, grants, giving way, its waker, its
 * ends. */
#include "support_kit.h"

#include "base/atomic.h"

/* ---- a wait that is not renewed is withdrawn ------------------------------------------------ */

typedef struct changes_mind {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    int step;
    int message;
} changes_mind;

static asx_poll sleeps_instead(asx_cx *cx, void *state)
{
    changes_mind *c = state;
    switch (c->step) {
    case 0: /* waits for a message, is resumed by its waker, and then wants something else */
        c->step = 1;
        CHECK_STATUS(asx_channel_recv(cx, &c->rx, &c->message), ASX_E_WOULD_BLOCK);
        return ASX_POLL_PENDING;
    case 1:
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_WOULD_BLOCK);
        c->step = 2;
        return ASX_POLL_PENDING;
    default:
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
        return ASX_POLL_READY;
    }
}

static asx_status withdrawn(asx_cx *cx, void *arg)
{
    asx_region r;
    changes_mind c = { .step = 0 };
    asx_channel_info info;
    int m = 3;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof m, 2, NULL, &c.tx, &c.rx), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", sleeps_instead, &c), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_channel_receiver_info(&c.rx, &info), ASX_OK);
    CHECK(info.receiver_waits);
    CHECK_STATUS(asx_channel_try_send(cx, &c.tx, &m), ASX_OK); /* resumes it with a message */
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_EQ(c.step, 2);
    CHECK_STATUS(asx_channel_receiver_info(&c.rx, &info), ASX_OK);
    CHECK(!info.receiver_waits);
    CHECK_EQ(info.queued, 1); /* it is still there for somebody else */
    CHECK_STATUS(asx_channel_try_recv(cx, &c.rx, &m), ASX_OK);
    CHECK_EQ(m, 3);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_wait_that_is_not_renewed_is_withdrawn_and_takes_nothing)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(withdrawn, NULL, ASX_OK);
}

/* Capacity that was granted and not picked up goes to the next who waits. */
static asx_poll reserves_then_forgets(asx_cx *cx, void *state)
{
    changes_mind *c = state;
    asx_send_permit permit;
    asx_waker waker;
    if (c->step++ == 0) {
        CHECK_STATUS(asx_channel_reserve(cx, &c->tx, &permit), ASX_E_WOULD_BLOCK);
        return ASX_POLL_PENDING;
    }
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    if (asx_checkpoint(cx) < 0)
        return ASX_POLL_READY;
    return ASX_POLL_PENDING; /* without asking again */
}

static asx_status sends(asx_cx *cx, void *arg)
{
    changes_mind *c = arg;
    int m = 8;
    CHECK_STATUS(asx_channel_send(cx, &c->tx, &m), ASX_OK);
    say("sent");
    return ASX_OK;
}

static asx_status passed_on(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task p;
    changes_mind c = { .step = 0 };
    int m = 1;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof m, 1, NULL, &c.tx, &c.rx), ASX_OK);
    CHECK_STATUS(asx_channel_try_send(cx, &c.tx, &m), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, reserves_then_forgets, &c, NULL, &p), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "s", sends, &c), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_channel_try_recv(cx, &c.rx, &m), ASX_OK); /* the poll task is first */
    CHECK_STR_EQ(said(), "");
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_STR_EQ(said(), "sent");
    CHECK_STATUS(asx_channel_try_recv(cx, &c.rx, &m), ASX_OK);
    CHECK_EQ(m, 8);
    CHECK_STATUS(asx_task_cancel(&p, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_E_EMPTY), ASX_E_EMPTY);
    return ASX_OK;
}

ASX_TEST(a_grant_that_is_not_picked_up_passes_on)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(passed_on, NULL, ASX_OK);
}

/* ---- two waits ------------------------------------------------------------------------------ */

static asx_poll waits_twice(asx_cx *cx, void *state)
{
    changes_mind *c = state;
    if (c->step++ == 0) {
        asx_region r;
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_WOULD_BLOCK); /* the same again */
        CHECK_STATUS(asx_channel_recv(cx, &c->rx, &c->message), ASX_E_BUSY);
        CHECK_STATUS(asx_yield(cx), ASX_E_BUSY);
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_STATUS(asx_spawn(&r, "x", kit_returns, NULL), ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_BUSY);
        asx_region_state s;
        CHECK_STATUS(asx_region_get_state(&r, &s), ASX_OK);
        CHECK_EQ(s, ASX_REGION_OPEN); /* and nothing was begun */
        c->message = 1;
        return ASX_POLL_PENDING;
    }
    asx_status st = asx_sleep(cx, ASX_MS);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    CHECK_STATUS(st, ASX_OK);
    return ASX_POLL_READY;
}

static asx_status busy(asx_cx *cx, void *arg)
{
    asx_region r;
    changes_mind c = { .step = 0 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &c.tx, &c.rx), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", waits_twice, &c), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_REGION_LEFT_OPEN); /* its scope, on purpose */
    CHECK_GE(c.step, 2);
    return ASX_OK;
}

ASX_TEST(a_poll_task_waits_for_one_thing_at_a_time)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(busy, NULL, ASX_OK);
}

/* ---- giving way ----------------------------------------------------------------------------- */

static asx_poll pends(asx_cx *cx, void *state)
{
    int *left = state;
    (void)cx;
    say("p%d", *left);
    return --*left == 0 ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static asx_poll yields(asx_cx *cx, void *state)
{
    int *left = state;
    asx_status st = asx_yield(cx);
    if (st == ASX_E_WOULD_BLOCK) {
        say("y%d", *left);
        return ASX_POLL_PENDING;
    }
    CHECK_STATUS(st, ASX_OK);
    if (--*left == 0)
        return ASX_POLL_READY;
    say("z%d", *left);
    CHECK_STATUS(asx_yield(cx), ASX_E_WOULD_BLOCK);
    return ASX_POLL_PENDING;
}

static asx_status give_way(asx_cx *cx, void *arg)
{
    asx_region r;
    int a = 3, b = 3;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", pends, &a), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "y", yields, &b), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "p3 y3 p2 z2 p1 z1");
    return ASX_OK;
}

ASX_TEST(pending_without_a_wait_gives_way_like_a_yield)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(give_way, NULL, ASX_OK);
}

/* A yield that is not repeated does not make the next wait return at once. */
static asx_poll yields_then_sleeps(asx_cx *cx, void *state)
{
    asx_time *begin = state;
    if (*begin == 0) {
        *begin = asx_now(cx) + 1;
        CHECK_STATUS(asx_yield(cx), ASX_E_WOULD_BLOCK);
        return ASX_POLL_PENDING;
    }
    asx_status st = asx_sleep(cx, 2 * ASX_MS);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    CHECK_STATUS(st, ASX_OK);
    CHECK_GE(asx_now(cx), *begin - 1 + 2 * ASX_MS);
    say("slept");
    return ASX_POLL_READY;
}

static asx_poll sleeps_into_the_past(asx_cx *cx, void *state)
{
    int *n = state;
    asx_status st = asx_sleep_until(cx, 0);
    if (++*n == 1) {
        CHECK_STATUS(st, ASX_E_WOULD_BLOCK); /* a sleep that is over gives way once */
        return ASX_POLL_PENDING;
    }
    CHECK_STATUS(st, ASX_OK);
    return ASX_POLL_READY;
}

static asx_status yield_and_sleep(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_time begin = 0;
    int n = 0;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", yields_then_sleeps, &begin), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "q", sleeps_into_the_past, &n), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "slept");
    CHECK_EQ(n, 2);
    return ASX_OK;
}

ASX_TEST(a_sleep_after_an_unrepeated_yield_sleeps)
{
    kit_everywhere(yield_and_sleep, NULL, ASX_OK);
}

/* ---- its waker ------------------------------------------------------------------------------ */

typedef struct woken {
    asx_waker waker;
    int resumed;
    int got; /* asx_wait_external() said so */
    bool asks;
    bool stop;
    asx__atomic_u32 parks;
} woken;

static asx_poll waits_for_waker(asx_cx *cx, void *state)
{
    woken *w = state;
    if (w->resumed++ == 0)
        CHECK_STATUS(asx_cx_waker(cx, &w->waker), ASX_OK);
    if (w->asks) {
        asx_status st;
        while ((st = asx_wait_external(cx)) == ASX_OK)
            w->got++;
        CHECK_STATUS(st, ASX_E_WOULD_BLOCK);
    }
    return w->stop ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static asx_status external(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int asks = 0; asks < 2; asks++) {
        asx_region r;
        woken w = { .asks = asks };
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_STATUS(asx_spawn_poll(&r, "w", waits_for_waker, &w), ASX_OK);
        CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
        CHECK_EQ(w.resumed, 1); /* it takes no resumption while nobody calls */
        for (int i = 1; i <= 3; i++) {
            w.waker.wake(w.waker.arg);
            w.waker.wake(w.waker.arg); /* remembered once at most */
            CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
            CHECK_GE(w.resumed, i + 1);
            CHECK_LE(w.resumed, 2 * i + 1);
            if (asks)
                CHECK_GE(w.got, i);
            CHECK_LE(w.got, 2 * i);
        }
        w.stop = true;
        w.waker.wake(w.waker.arg);
        CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
        asx_waker late = w.waker;
        late.wake(late.arg); /* after the end: nothing */
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(a_waker_resumes_its_task_and_is_remembered_once)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(external, NULL, ASX_OK);
}

static asx_status cancel_external(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task task;
    asx_join_result result;
    woken w = { .asks = false };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, waits_for_waker, &w, NULL, &task), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&task, NULL), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_EQ(w.resumed, 2);
    w.stop = true;
    w.waker.wake(w.waker.arg);
    CHECK_STATUS(asx_join(cx, &task, &result), ASX_OK);
    CHECK_EQ(w.resumed, 3);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_OK); /* nobody has told it */
    return asx_region_close(&r, ASX_OK);
}

/* In an exploration too: tests/lab/dpor/test_timers.c. */
ASX_TEST(a_cancel_resumes_a_task_that_waits_for_its_waker_once)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(cancel_external, NULL, ASX_OK);
}

static asx_status fiber_external(asx_cx *cx, void *arg)
{
    woken *w = arg;
    CHECK_STATUS(asx_wait_external(cx), ASX_E_NO_WAKER);
    CHECK_STATUS(asx_cx_waker(cx, &w->waker), ASX_OK);
    w->waker.wake(w->waker.arg);
    w->waker.wake(w->waker.arg);
    CHECK_STATUS(asx_wait_external(cx), ASX_OK); /* it was called before */
    asx__store_release(&w->parks, 1u);
    CHECK_STATUS(asx_wait_external(cx), ASX_OK); /* parks: somebody else calls */
    w->got = 1;
    asx_waker again;
    CHECK_STATUS(asx_cx_waker(cx, &again), ASX_OK);
    CHECK_PTR_EQ(again.arg, w->waker.arg);
    return ASX_OK;
}

static asx_status external_on_fiber(asx_cx *cx, void *arg)
{
    asx_region r;
    woken w = { .asks = false };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", fiber_external, &w), ASX_OK);
    while (asx__load_acquire(&w.parks) == 0)
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_EQ(w.got, 0);
    w.waker.wake(w.waker.arg);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(w.got, 1);
    return ASX_OK;
}

ASX_TEST(a_fiber_waits_for_its_waker)
{
    kit_everywhere(external_on_fiber, NULL, ASX_OK);
}

/* A raw timer may call a waker. */
static asx_status timer_wakes(asx_cx *cx, void *arg)
{
    asx_waker waker;
    asx_timer_handle handle;
    asx_time at = asx_now(cx) + 2 * ASX_MS;
    (void)arg;
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    CHECK_STATUS(asx_timer_register(asx_runtime_timers(asx_cx_runtime(cx)), at, waker, &handle),
                 ASX_OK);
    CHECK_STATUS(asx_wait_external(cx), ASX_OK);
    CHECK_GE(asx_now(cx), at);
    return ASX_OK;
}

ASX_TEST(a_raw_timer_calls_a_waker)
{
    asx_test_one_worker("raw timers");
    kit_everywhere(timer_wakes, NULL, ASX_OK);
}

/* ---- cancelled while it runs ---------------------------------------------------------------- */

static asx_poll cancels_itself(asx_cx *cx, void *state)
{
    int *step = state;
    asx_task self;
    asx_waker waker;
    int s = (*step)++;
    CHECK_STATUS(asx_cx_task(cx, &self), ASX_OK);
    if (s % 2 == 0) { /* begins to wait, and is cancelled before it has parked */
        if (s == 0)
            CHECK_STATUS(asx_sleep(cx, 3600 * ASX_SEC), ASX_E_WOULD_BLOCK);
        else
            CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
        CHECK_STATUS(asx_task_cancel(&self, NULL), ASX_OK);
        return ASX_POLL_PENDING;
    }
    CHECK_STATUS(asx_sleep(cx, 3600 * ASX_SEC), ASX_E_CANCELLED);
    return ASX_POLL_READY;
}

static asx_status lost_cancel(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int first = 0; first <= 2; first += 2) {
        asx_region r;
        int step = first;
        asx_time begin = asx_now(cx);
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_STATUS(asx_spawn_poll(&r, "c", cancels_itself, &step), ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
        CHECK_EQ(step, first + 2);
        CHECK_LE(asx_now(cx) - begin, 60 * ASX_SEC); /* not an hour */
    }
    return ASX_OK;
}

ASX_TEST(a_cancel_between_the_wait_and_the_park_is_not_lost)
{
    kit_everywhere(lost_cancel, NULL, ASX_OK);
}

/* ---- ends ----------------------------------------------------------------------------------- */

static asx_poll fails(asx_cx *cx, void *state)
{
    asx_status *with = state;
    return asx_poll_fail(cx, *with);
}

static asx_poll errs(asx_cx *cx, void *state)
{
    (void)cx;
    (void)state;
    return ASX_POLL_ERROR;
}

static asx_poll panics(asx_cx *cx, void *state)
{
    volatile char frame[2000];
    (void)state;
    frame[0] = frame[1999] = 1;
    CHECK_STATUS(asx_sleep(cx, 3600 * ASX_SEC), ASX_E_WOULD_BLOCK); /* with a wait under way */
    asx_panic(cx, "in a poll function, frame %d", frame[0] + frame[1999]);
}

static asx_status poll_ends(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_status full = ASX_E_FULL, fine = ASX_OK;
    struct {
        asx_poll_fn fn;
        void *state;
        asx_outcome_kind kind;
        asx_status status;
    } cases[] = {
        { fails, &full, ASX_OUTCOME_ERR, ASX_E_FULL },
        { fails, &fine, ASX_OUTCOME_ERR, ASX_E_INVALID_ARGUMENT },
        { errs, NULL, ASX_OUTCOME_ERR, ASX_E_INVALID_ARGUMENT },
        { panics, NULL, ASX_OUTCOME_PANICKED, ASX_E_PANICKED },
    };
    (void)arg;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asx_task t;
        asx_join_result result;
        CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                     ASX_OK);
        CHECK_STATUS(asx_spawn_poll_task(&r, cases[i].fn, cases[i].state, NULL, &t), ASX_OK);
        CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
        CHECK_EQ(result.outcome.kind, cases[i].kind);
        CHECK_STATUS(result.outcome.status, cases[i].status);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), cases[i].status);
        CHECK_EQ(kit_stats(asx_cx_runtime(cx)).timers_live, 0);
    }
    return ASX_OK;
}

ASX_TEST(a_poll_task_ends_with_the_status_it_gave)
{
    kit_everywhere(poll_ends, NULL, ASX_OK);
}

/* A result that is none of the three counts as an error, not as a crash. */
static asx_poll nonsense(asx_cx *cx, void *state)
{
    (void)cx;
    (void)state;
    return (asx_poll)77;
}

static asx_status poll_nonsense(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "n", nonsense, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_INVALID_ARGUMENT);
    return ASX_OK;
}

ASX_TEST(a_poll_result_that_is_none_is_an_error)
{
    kit_everywhere(poll_nonsense, NULL, ASX_OK);
}
