/* Limits of a region: refusing, waiting for room, and what a refusal leaves behind. */
#include "support_kit.h"

#include <stdatomic.h>

static asx_status refuses(asx_cx *cx, void *arg)
{
    asx_region r, child, more;
    asx_region_options options = { .tasks_max = 2, .regions_max = 1, .obligations_max = 1 };
    uint64_t ms = ASX_MS;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", kit_sleeper, &ms), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", kit_sleeper, &ms), ASX_OK);
    asx_stats before = kit_stats(asx_cx_runtime(cx));
    CHECK_STATUS(asx_spawn(&r, "c", kit_returns, NULL), ASX_E_ADMISSION_CLOSED);
    CHECK_STATUS(asx_spawn(&r, "c", kit_returns, NULL), ASX_E_ADMISSION_CLOSED);
    asx_stats after = kit_stats(asx_cx_runtime(cx));
    CHECK_SAME_STATS(before, after);
    CHECK_STATUS(asx_region_open_in(cx, &r, NULL, &child), ASX_OK);
    before = kit_stats(asx_cx_runtime(cx));
    CHECK_STATUS(asx_region_open_in(cx, &r, NULL, &more), ASX_E_ADMISSION_CLOSED);
    after = kit_stats(asx_cx_runtime(cx));
    CHECK_SAME_STATS(before, after);
    CHECK_STATUS(asx_region_close(&child, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_open_in(cx, &r, NULL, &child), ASX_OK);
    CHECK_STATUS(asx_region_close(&child, ASX_OK), ASX_OK);
    asx_obligation o, p;
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &o), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &p),
                 ASX_E_ADMISSION_CLOSED);
    CHECK_STATUS(asx_obligation_abort(&o), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &p), ASX_OK);
    CHECK_STATUS(asx_obligation_commit(&p), ASX_OK);
    asx_status st = asx_spawn(&r, "d", kit_returns, NULL);
    while (st == ASX_E_ADMISSION_CLOSED) {
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
        st = asx_spawn(&r, "d", kit_returns, NULL);
    }
    CHECK_STATUS(st, ASX_OK); /* nothing sticks */
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_refused_admission_changes_nothing_and_does_not_stick)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(refuses, NULL, ASX_OK);
}

/* ---- waiting -------------------------------------------------------------------------------- */

typedef struct crowd {
    asx_region r;
    atomic_int alive, alive_max, ran;
} crowd;

static asx_status member(asx_cx *cx, void *arg)
{
    crowd *c = arg;
    int now = atomic_fetch_add(&c->alive, 1) + 1;
    int most = atomic_load(&c->alive_max);
    while (now > most && !atomic_compare_exchange_weak(&c->alive_max, &most, now))
        continue;
    asx_status st = asx_sleep(cx, ASX_MS);
    atomic_fetch_sub(&c->alive, 1);
    atomic_fetch_add(&c->ran, 1);
    return st;
}

static asx_status spawns_many(asx_cx *cx, void *arg)
{
    crowd *c = arg;
    (void)cx;
    for (int i = 0; i < 10; i++)
        CHECK_STATUS(asx_spawn(&c->r, "m", member, c), ASX_OK);
    return ASX_OK;
}

typedef struct poll_crowd {
    crowd *c;
    int left;
} poll_crowd;

static asx_poll spawns_many_poll(asx_cx *cx, void *state)
{
    poll_crowd *p = state;
    (void)cx;
    while (p->left > 0) {
        asx_status st = asx_spawn(&p->c->r, "m", member, p->c);
        if (st == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        CHECK_STATUS(st, ASX_OK);
        p->left--;
    }
    return ASX_POLL_READY;
}

static asx_status waits_for_room(asx_cx *cx, void *arg)
{
    crowd c = { .alive = 0 };
    poll_crowd p = { &c, 10 };
    asx_region spawners;
    asx_region_options options = { .tasks_max = 3, .admission = ASX_ADMISSION_WAIT };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &c.r), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &spawners), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_spawn(&spawners, "sp", spawns_many, &c), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&spawners, "poll", spawns_many_poll, &p), ASX_OK);
    CHECK_STATUS(asx_region_close(&spawners, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_close(&c.r, ASX_OK), ASX_OK);
    CHECK_EQ(c.ran, 40);
    CHECK_EQ(c.alive_max, 3);
    return ASX_OK;
}

ASX_TEST(fibers_and_poll_tasks_wait_for_room_and_the_limit_holds)
{
    kit_everywhere(waits_for_room, NULL, ASX_OK);
}

static asx_status spawn_once(asx_cx *cx, void *arg)
{
    asx_status st = asx_spawn(arg, "late", kit_returns, NULL);
    (void)cx;
    say("%s", asx_status_str(st));
    return st;
}

static asx_status closes_on_waiters(asx_cx *cx, void *arg)
{
    asx_region r, spawners;
    asx_task a, b;
    asx_region_options options = { .tasks_max = 1, .admission = ASX_ADMISSION_WAIT };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT },
                                 &spawners), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&spawners, spawn_once, &r, NULL, &a), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&spawners, spawn_once, &r, NULL, &b), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&a, NULL), ASX_OK); /* a wait like any other */
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STR_EQ(said(), "ASX_E_CANCELLED");
    CHECK_STATUS(asx_region_close(&r, ASX_E_EMPTY), ASX_E_EMPTY);
    CHECK_STATUS(asx_region_close(&spawners, ASX_OK), ASX_E_REGION_NOT_OPEN);
    CHECK_STR_EQ(said(), "ASX_E_CANCELLED told ASX_E_REGION_NOT_OPEN");
    return ASX_OK;
}

ASX_TEST(a_close_and_a_cancel_end_the_wait_for_admission)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(closes_on_waiters, NULL, ASX_OK);
}

/* The region closes, and its record serves another one, between the wake and the next step of the
 * task that waited for room in it. Runnable after each line, first to last: */
static asx_status yields_once(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_yield(cx);
}

static asx_status room_in_a_closed_region(asx_cx *cx, void *arg)
{
    asx_region r, spawners, other;
    asx_task t;
    asx_join_result result;
    asx_region_options options = { .tasks_max = 1, .admission = ASX_ADMISSION_WAIT };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT },
                                 &spawners), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "s", yields_once, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&spawners, spawn_once, &r, NULL, &t), ASX_OK); /* s t */
    CHECK_STATUS(asx_yield(cx), ASX_OK);                                       /* s; t waits */
    CHECK_STATUS(asx_yield(cx), ASX_OK);                                       /* t; s has ended */
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &options, &other), ASX_OK);
    CHECK_EQ((uint32_t)other.id.word, (uint32_t)r.id.word); /* the same record */
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_STR_EQ(said(), "ASX_E_STALE_HANDLE");
    CHECK_STATUS(asx_region_close(&other, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_close(&spawners, ASX_OK), ASX_E_STALE_HANDLE);
    return ASX_OK;
}

ASX_TEST(nobody_spawns_into_a_region_that_took_the_place_of_a_closed_one)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(room_in_a_closed_region, NULL, ASX_OK);
}

/* Ceilings of the runtime hold for those who waited, too. */
static asx_status ceiling_after_waiting(asx_cx *cx, void *arg)
{
    asx_region r, spawners, fill;
    asx_task t;
    asx_join_result result;
    asx_waker waker;
    asx_region_options options = { .tasks_max = 1, .admission = ASX_ADMISSION_WAIT };
    uint64_t ms = ASX_MS, more = 5 * ASX_MS;
    (void)arg;
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT },
                                 &spawners), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "s", kit_sleeper, &ms), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&spawners, spawn_once, &r, NULL, &t), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK); /* the spawner waits now; three tasks live */
    CHECK_STATUS(asx_region_open(cx, NULL, &fill), ASX_OK);
    CHECK_STATUS(asx_spawn(&fill, "f", kit_sleeper, &more), ASX_OK); /* four: the ceiling */
    CHECK_STATUS(asx_sleep_until(cx, asx_now(cx) + ms), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK); /* spawns have failed */
    while (asx_spawn(&fill, "g", kit_sleeper, &more) < 0) /* takes the place of "s" */
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    asx_stats stats = kit_stats(asx_cx_runtime(cx));
    CHECK_LE(stats.tasks_live, 4u);
    CHECK_STATUS(asx_region_close(&fill, ASX_OK), ASX_OK);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    ASX_IGNORE(asx_region_close(&spawners, ASX_OK));
    return ASX_OK;
}

ASX_TEST(who_waited_for_room_still_obeys_the_ceilings)
{
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.limits.tasks_max = 4;
    CHECK_STATUS(kit_run(&config, ceiling_after_waiting, NULL), ASX_OK);
}

/* From outside a task nobody can wait. */
ASX_TEST(outside_a_task_a_waiting_admission_refuses)
{
    asx_runtime *rt;
    asx_region root;
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.root.tasks_max = 2;
    config.root.admission = ASX_ADMISSION_WAIT;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_root(rt, &root), ASX_OK);
    CHECK_STATUS(asx_spawn(&root, "a", kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&root, "b", kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&root, "c", kit_returns, NULL), ASX_E_ADMISSION_CLOSED);
    CHECK_STATUS(asx_runtime_start(rt, kit_returns, NULL), ASX_E_ADMISSION_CLOSED);
    CHECK_STATUS(asx_runtime_shutdown(rt, 0, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- first come, first served ---------------------------------------------------------------- */

typedef struct queue_jump {
    asx_region r;
    asx_waker free; /* lets go of the only place */
    asx_task first; /* waits for it, with `second` behind */
    bool poll;
    bool cancel;
} queue_jump;

static asx_status holds_the_place(asx_cx *cx, void *arg)
{
    queue_jump *q = arg;
    CHECK_STATUS(asx_cx_waker(cx, &q->free), ASX_OK);
    return asx_wait_external(cx);
}

static asx_status lives_long(asx_cx *cx, void *arg)
{
    say("%s", (const char *)arg);
    return asx_sleep(cx, ASX_MS);
}

static asx_status waits_first(asx_cx *cx, void *arg)
{
    queue_jump *q = arg;
    asx_status st = asx_spawn(&q->r, "1", lives_long, "first");
    CHECK_STATUS(st, q->cancel ? ASX_E_CANCELLED : ASX_OK);
    return asx_is_cancelled(cx) ? ASX_OK : st;
}

static asx_poll waits_first_poll(asx_cx *cx, void *state)
{
    queue_jump *q = state;
    asx_status st = asx_spawn(&q->r, "1", lives_long, "first");
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    CHECK_STATUS(st, q->cancel ? ASX_E_CANCELLED : ASX_OK);
    (void)cx;
    return ASX_POLL_READY;
}

static asx_status waits_second(asx_cx *cx, void *arg)
{
    queue_jump *q = arg;
    (void)cx;
    CHECK_STATUS(asx_spawn(&q->r, "2", lives_long, "second"), ASX_OK);
    return ASX_OK;
}

/* Runs between the wake of the first and its next step. */
static asx_status comes_late(asx_cx *cx, void *arg)
{
    queue_jump *q = arg;
    (void)cx;
    if (q->cancel)
        CHECK_STATUS(asx_task_cancel(&q->first, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&q->r, "3", lives_long, "late"), ASX_OK);
    return ASX_OK;
}

static asx_status nobody_passes(asx_cx *cx, void *arg)
{
    queue_jump *q = arg;
    asx_region spawners;
    asx_region_options options = { .tasks_max = 1, .admission = ASX_ADMISSION_WAIT };
    CHECK_STATUS(asx_region_open(cx, &options, &q->r), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &spawners), ASX_OK);
    CHECK_STATUS(asx_spawn(&q->r, "h", holds_the_place, q), ASX_OK);
    if (q->poll)
        CHECK_STATUS(asx_spawn_poll_task(&spawners, waits_first_poll, q, NULL, &q->first), ASX_OK);
    else
        CHECK_STATUS(asx_spawn_task(&spawners, waits_first, q, NULL, &q->first), ASX_OK);
    CHECK_STATUS(asx_spawn(&spawners, "2", waits_second, q), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK); /* both wait */
    q->free.wake(q->free.arg);
    CHECK_STATUS(asx_spawn(&spawners, "3", comes_late, q), ASX_OK);
    CHECK_STATUS(asx_region_close(&spawners, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), q->cancel ? "second late" : "first second late");
    return asx_region_close(&q->r, ASX_OK);
}

ASX_TEST(who_waits_for_room_is_not_overtaken)
{
    asx_test_one_worker("who has run when a yield returns");
    for (int i = 0; i < 4; i++) {
        queue_jump q = { .poll = (i & 1) != 0, .cancel = (i & 2) != 0 };
        kit_everywhere(nobody_passes, &q, ASX_OK);
    }
}

/* A spawn that had a place and fails all the same leaves it to the next. */
static asx_status copies_too_much(asx_cx *cx, void *arg)
{
    static const char much[4096];
    (void)cx;
    CHECK_STATUS(asx_spawn_copy(arg, "c", kit_returns, much, sizeof much),
                 ASX_E_RESOURCE_EXHAUSTED);
    say("too much");
    return ASX_OK;
}

static asx_status told_of_the_failure(asx_cx *cx, void *arg)
{
    (void)cx;
    CHECK_STATUS(asx_spawn(arg, "x", kit_returns, NULL), ASX_E_RESOURCE_EXHAUSTED);
    say("refused");
    return ASX_OK;
}

static asx_status place_of_a_failure(asx_cx *cx, void *arg)
{
    asx_region r, spawners;
    uint64_t ms = ASX_MS;
    asx_region_options options = { .tasks_max = 1, .admission = ASX_ADMISSION_WAIT,
                                   .memory_max = 64 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &spawners), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "s", kit_sleeper, &ms), ASX_OK);
    CHECK_STATUS(asx_spawn(&spawners, "1", copies_too_much, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&spawners, "2", told_of_the_failure, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&spawners, "3", told_of_the_failure, &r), ASX_OK);
    CHECK_STATUS(asx_region_close(&spawners, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "too much refused refused");
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    return ASX_OK;
}

ASX_TEST(a_spawn_that_fails_after_it_waited_leaves_its_place_to_the_next)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(place_of_a_failure, NULL, ASX_OK);
}
