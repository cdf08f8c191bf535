/* Who runs next: lanes, priorities, deadlines, arrival; streaks, governors, the certificate. */
#include "support_kit.h"

#include <string.h>

static asx_status says(asx_cx *cx, void *arg)
{
    (void)cx;
    say("%s", (const char *)arg);
    return ASX_OK;
}

static void spawn_with(asx_region *r, const char *word, asx_budget budget, asx_task *ret_task)
{
    asx_spawn_options options = { .budget = &budget };
    asx_task t;
    CHECK_STATUS(asx_spawn_task(r, says, (void *)(uintptr_t)word, &options,
                                ret_task != NULL ? ret_task : &t), ASX_OK);
}

static asx_budget urgent(uint8_t priority)
{
    asx_budget budget = ASX_BUDGET_INFINITE;
    budget.priority = priority;
    return budget;
}

static asx_budget by(asx_time deadline)
{
    asx_budget budget = ASX_BUDGET_INFINITE;
    budget.deadline = deadline;
    return budget;
}

static asx_status lane_order(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task c, d;
    asx_cancel_reason shutdown = { .kind = ASX_CANCEL_SHUTDOWN };
    asx_time far = asx_now(cx) + 100 * ASX_SEC;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "r1", says, "r1"), ASX_OK);
    spawn_with(&r, "t-late", by(far + 5), NULL);
    spawn_with(&r, "p3", urgent(3), NULL);
    CHECK_STATUS(asx_spawn(&r, "r2", says, "r2"), ASX_OK);
    spawn_with(&r, "c-user", urgent(0), &c);
    spawn_with(&r, "t-soon1", by(far), NULL);
    spawn_with(&r, "p200", urgent(200), NULL);
    spawn_with(&r, "t-soon2", by(far), NULL);
    spawn_with(&r, "c-shutdown", by(far), &d);
    spawn_with(&r, "p3'", urgent(3), NULL);
    CHECK_STATUS(asx_task_cancel(&c, NULL), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&d, &shutdown), ASX_OK);
    asx_stats stats = kit_stats(asx_cx_runtime(cx));
    CHECK_EQ(stats.ready_len, 5);
    CHECK_EQ(stats.timed_len, 3);
    CHECK_EQ(stats.cancel_len, 2);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "c-shutdown c-user t-soon1 t-soon2 t-late p200 p3 p3' r1 r2");
    return ASX_OK;
}

ASX_TEST(cancel_goes_before_timed_before_ready_and_each_lane_has_its_order)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(lane_order, NULL, ASX_OK);
}

static uint64_t edf_last;

static asx_status edf(asx_cx *cx, void *arg)
{
    uint64_t due = *(uint64_t *)arg;
    (void)cx;
    if (due != 0) { /* not withdrawn */
        CHECK_GE(due, edf_last);
        edf_last = due;
    }
    return ASX_OK;
}

/* ---- arrival -------------------------------------------------------------------------------- */

static asx_status says_thrice(asx_cx *cx, void *arg)
{
    for (int i = 0; i < 3; i++) {
        say("%s", (const char *)arg);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    }
    return ASX_OK;
}

static asx_poll says_thrice_poll(asx_cx *cx, void *arg)
{
    const char **word = arg;
    (void)cx;
    say("%s", *word);
    return ++*word, **word == '\0' ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static asx_status arrival(asx_cx *cx, void *arg)
{
    asx_region r;
    const char *poll = "ppp";
    asx_task ids[8];
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 8; i++) /* records are recycled last in, first out: ids are mixed up */
        CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL, NULL, &ids[i]), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    for (int i = 0; i < 8; i += 2)
        CHECK_STATUS(asx_join(cx, &ids[i], NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", says_thrice, "a"), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", says_thrice_poll, &poll), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", says_thrice, "b"), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "a ppp b a pp b a p b");
    return ASX_OK;
}

ASX_TEST(equals_run_in_order_of_arrival_whatever_their_ids)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(arrival, NULL, ASX_OK);
}

/* Hundreds of deadlines in no order, some of which are withdrawn. */
static asx_status many_deadlines(asx_cx *cx, void *arg)
{
    enum { N = 200 };
    asx_region r;
    asx_task t[N];
    asx_time far = asx_now(cx) + 1000 * ASX_SEC;
    uint64_t mix = 12345;
    static uint64_t due[N];
    (void)arg;
    edf_last = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < N; i++) {
        mix = mix * 6364136223846793005u + 1442695040888963407u;
        due[i] = far + (mix >> 40) % 100;
        asx_budget budget = by(due[i]);
        asx_spawn_options options = { .budget = &budget };
        CHECK_STATUS(asx_spawn_task(&r, edf, &due[i], &options, &t[i]), ASX_OK);
    }
    for (int i = 0; i < N; i += 3) { /* these leave the heap for the cancel lane */
        due[i] = 0;
        CHECK_STATUS(asx_task_cancel(&t[i], NULL), ASX_OK);
    }
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_GE(edf_last, far);
    return ASX_OK;
}

ASX_TEST(the_earliest_of_many_deadlines_goes_first)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(many_deadlines, NULL, ASX_OK);
}

/* ---- streaks -------------------------------------------------------------------------------- */

static asx_status yields_and_says(asx_cx *cx, void *arg)
{
    const char *word = arg;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    for (int i = 0; i < 8; i++) {
        say("%s", word);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    }
    return ASX_OK;
}

/* One task in each lane, each always runnable. */
static asx_status streaks(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task c;
    asx_budget dated = by(asx_now(cx) + 1000 * ASX_SEC);
    asx_spawn_options timed = { .budget = &dated };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, yields_and_says, "c", NULL, &c), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, yields_and_says, "t", &timed, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "r", yields_and_says, "r"), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&c, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static void check_order(asx_governor governor, uint32_t cancel_max, uint32_t timed_max,
                        const char *expected)
{
    for (int i = 0; i < 4; i++) {
        asx_runtime *rt;
        asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.trace = (i & 2) != 0;
        config.cancel_streak_max = cancel_max;
        config.timed_streak_max = timed_max;
        hush();
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_set_governor(rt, governor), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, streaks, NULL), ASX_OK);
        CHECK_STR_EQ(said(), expected);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

ASX_TEST(a_cancel_streak_lets_others_go_first)
{
    asx_test_one_worker("who has run when a yield returns");
    check_order(ASX_GOVERNOR_NO_PREFERENCE, 3, 100,
                "c c c t c c c t c c t t t t t t r r r r r r r r");
}

ASX_TEST(a_timed_streak_lets_the_ready_lane_go_first)
{
    asx_test_one_worker("who has run when a yield returns");
    check_order(ASX_GOVERNOR_NO_PREFERENCE, 100, 2,
                "c c c c c c c c t t r t t r t t r t t r r r r r");
}

ASX_TEST(a_governor_that_drains_doubles_the_cancel_streak)
{
    asx_test_one_worker("who has run when a yield returns");
    const char *six = "c c c c c c t c c t t t t t t t r r r r r r r r";
    check_order(ASX_GOVERNOR_DRAIN_REGIONS, 3, 100, six);
    check_order(ASX_GOVERNOR_DRAIN_OBLIGATIONS, 3, 100, six);
}

ASX_TEST(a_governor_that_meets_deadlines_puts_the_timed_lane_first)
{
    asx_test_one_worker("who has run when a yield returns");
    check_order(ASX_GOVERNOR_MEET_DEADLINES, 100, 100,
                "t t t t t t t t c c c c c c c c r r r r r r r r");
}

ASX_TEST(the_timed_lane_first_is_bounded_too)
{
    asx_test_one_worker("the order of lanes");
    check_order(ASX_GOVERNOR_MEET_DEADLINES, 100, 2,
                "t t c t t c t t c t t c c c c c r r r r r r r r");
}

/* ---- the certificate ------------------------------------------------------------------------ */

typedef struct counted {
    uint64_t lane[3];
} counted;

static void count_runs(void *ctx, const asx_event *event)
{
    counted *c = ctx;
    if (event->kind == ASX_EVENT_TASK_RUN) {
        CHECK_LE(event->a, 2u);
        c->lane[event->a]++;
    }
}

static asx_fairness_certificate certify(bool trace, asx_clock_kind clock, counted *runs)
{
    asx_runtime *rt;
    asx_fairness_certificate cert;
    asx_runtime_config config = kit_config(clock, NULL);
    config.trace = trace;
    config.cancel_streak_max = 3;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    if (trace)
        CHECK_STATUS(asx_runtime_observe(rt, count_runs, runs), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, streaks, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_certificate(rt, &cert), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return cert;
}

ASX_TEST(equal_runs_have_equal_certificates_traced_or_not)
{
    asx_test_one_worker("counts dispatches");
    counted runs = { { 0 } };
    asx_fairness_certificate a = certify(true, ASX_CLOCK_VIRTUAL, &runs);
    CHECK_EQ(a.cancel_dispatches + a.fallback_cancel_dispatches, runs.lane[0]);
    CHECK_EQ(a.timed_dispatches, runs.lane[1]);
    CHECK_EQ(a.ready_dispatches, runs.lane[2]);
    CHECK_EQ(a.max_effective_limit_observed, 3);
    CHECK_GE(a.effective_limit_exceedances, 2u);
    for (int i = 0; i < 4; i++) {
        asx_fairness_certificate b = certify((i & 1) != 0,
                                             i & 2 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, &runs);
        CHECK_MEM_EQ(&a, &b, sizeof a);
    }
}

/* More than a turn's worth of dispatches, of the kind that takes the short way. */
static asx_status many_yields(asx_cx *cx, void *arg)
{
    return kit_yields(cx, *(unsigned *)arg);
}

static asx_status crowd(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_spawn(&r, "y", many_yields, arg), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static uint64_t ready_of(unsigned yields, bool trace, counted *runs)
{
    asx_runtime *rt;
    asx_fairness_certificate cert;
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.trace = trace;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    if (trace)
        CHECK_STATUS(asx_runtime_observe(rt, count_runs, runs), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, crowd, &yields), ASX_OK);
    CHECK_STATUS(asx_runtime_certificate(rt, &cert), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return cert.ready_dispatches;
}

ASX_TEST(the_certificate_counts_every_dispatch_also_on_the_short_way)
{
    asx_test_one_worker("the order of lanes");
    for (unsigned yields = 0; yields < 300; yields += 37) {
        counted runs = { { 0 } };
        uint64_t traced = ready_of(yields, true, &runs);
        CHECK_EQ(traced, runs.lane[2]);
        CHECK_EQ(traced, 3 * (yields + 1) + 2); /* main runs, waits, and runs again */
        CHECK_EQ(ready_of(yields, false, &runs), traced);
    }
}

ASX_TEST(a_hash_tells_certificates_apart)
{
    asx_test_one_worker("the order of lanes");
    counted runs = { { 0 } };
    asx_fairness_certificate a = certify(true, ASX_CLOCK_VIRTUAL, &runs);
    asx_runtime *rt;
    asx_fairness_certificate b;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_certificate(rt, &b), ASX_OK);
    CHECK_NE(a.hash, b.hash);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- timers go before tasks ----------------------------------------------------------------- */

typedef struct order {
    int fired, ran_before_fire;
    bool watching;
} order;

static void timers_first(void *ctx, const asx_event *event)
{
    order *o = ctx;
    if (!o->watching)
        return;
    if (event->kind == ASX_EVENT_TIMER_FIRE)
        o->fired++;
    else if (event->kind == ASX_EVENT_TASK_RUN && o->fired == 0)
        o->ran_before_fire++;
}

static asx_status spins(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st;
    while ((st = asx_yield(cx)) == ASX_OK)
        continue;
    return st;
}

static asx_status sleeps_and_spins(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "spin", spins, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 10 * ASX_MS), ASX_OK);
    return asx_region_close(&r, ASX_E_EMPTY);
}

ASX_TEST(expired_timers_fire_before_the_next_dispatch)
{
    asx_test_one_worker("the order of lanes");
    asx_runtime *rt;
    order o = { 0, 0, false };
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.trace = true;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_observe(rt, timers_first, &o), ASX_OK);
    CHECK_STATUS(asx_runtime_start(rt, sleeps_and_spins, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_step(rt, 200, NULL), ASX_E_WOULD_BLOCK);
    CHECK_STATUS(asx_runtime_advance(rt, 20 * ASX_MS), ASX_OK);
    o.watching = true;
    asx_status st;
    while ((st = asx_runtime_step(rt, 10, NULL)) == ASX_E_WOULD_BLOCK)
        continue;
    CHECK_STATUS(st, ASX_E_EMPTY);
    CHECK_GE(o.fired, 1);
    CHECK_EQ(o.ran_before_fire, 0);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static asx_status sleeps_beside_two_that_spin(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    asx_time begin = asx_now(cx);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "spin", spins, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "spin", spins, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    CHECK_GE(asx_now(cx), begin + 5 * ASX_MS);
    return asx_region_close(&r, ASX_E_EMPTY);
}

/* Two fibers that give way to each other begin turn after turn without the loop. */
ASX_TEST(timers_fire_under_fibers_that_yield_to_each_other_for_ever)
{
    asx_runtime_config config = kit_config(ASX_CLOCK_REAL, NULL);
    CHECK_STATUS(kit_run(&config, sleeps_beside_two_that_spin, NULL), ASX_E_EMPTY);
}
