/* test_near.c - calls of plain tasks that need nothing but their worker: they do not enter, nothing
 * is lost, and what needs more is noticed. ctest-labels: own-workers */
#include "harness.h"

#include <asx/asx.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "sched/near.h"

static atomic_bool spinning, over;
static atomic_uint spinners;

/* Keeps a worker awake, so that nobody has the engine to himself. */
static asx_status spin(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    atomic_fetch_add(&spinners, 1);
    atomic_store(&spinning, true);
    while (!atomic_load(&over))
        asx__cpu_relax();
    atomic_fetch_sub(&spinners, 1);
    return ASX_OK;
}

/* Another worker is busy from now on until it is over. */
static void keep_one_busy(const asx_region *region)
{
    CHECK_EQ(asx_spawn(region, "spin", spin, NULL), ASX_OK);
    while (!atomic_load(&spinning)) /* without a call: this worker must not run it */
        asx__cpu_relax();
}

static void run_as(const asx_runtime_config *config, asx_task_fn fn, void *arg)
{
    asx_runtime *rt;
    atomic_store(&over, false);
    atomic_store(&spinning, false);
    CHECK_EQ(asx_runtime_create(config, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, fn, arg), ASX_OK);
    CHECK_EQ(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

static void run_with(uint32_t workers, asx_task_fn fn, void *arg)
{
    asx_runtime_config config = { .workers = workers };
    run_as(&config, fn, arg);
}

static uint64_t near_calls(asx_cx *cx)
{
    const asx__engine *e = asx_cx_runtime(cx)->engine;
    return asx__engine_calls(e) - asx__engine_entries(e);
}

/* With two workers, one of them busy, nobody sleeps who would have to be told of a spawn. */
static void check_near(asx_cx *cx, uint64_t more_than)
{
    if (asx_cx_runtime(cx)->engine->workers_base == 2)
        CHECK(near_calls(cx) > more_than);
}

/* ---- trees ---------------------------------------------------------------------------------- */

enum { FAN_OUT = 10 };

static asx_status tree(asx_cx *cx, void *arg)
{
    uint64_t leaves = (uint64_t)(uintptr_t)arg;
    if (leaves == 1)
        return asx_task_set_value(cx, 1);
    asx_region region;
    asx_task child[FAN_OUT];
    CHECK_EQ(asx_cx_region(cx, &region), ASX_OK);
    for (int i = 0; i < FAN_OUT; i++)
        CHECK_EQ(asx_spawn_task(&region, NULL, tree, (void *)(uintptr_t)(leaves / FAN_OUT),
                                &child[i]),
                 ASX_OK);
    uint64_t sum = 0;
    for (int i = 0; i < FAN_OUT; i++) {
        asx_join_result result;
        CHECK_EQ(asx_join(cx, &child[i], &result), ASX_OK);
        CHECK_EQ(result.outcome.kind, ASX_OUTCOME_OK);
        sum += result.value;
        CHECK_EQ(asx_join(cx, &child[i], &result), ASX_E_STALE_HANDLE);
    }
    return asx_task_set_value(cx, sum);
}

static asx_status grow(asx_cx *cx, void *arg)
{
    uint64_t leaves = (uint64_t)(uintptr_t)arg;
    asx_region region;
    asx_task root;
    asx_join_result result;
    asx_close_report report;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    keep_one_busy(&region);
    uint64_t before = asx__engine_entries(asx_cx_runtime(cx)->engine);
    CHECK_EQ(asx_spawn_task(&region, NULL, tree, arg, &root), ASX_OK);
    CHECK_EQ(asx_join(cx, &root, &result), ASX_OK);
    uint64_t entries = asx__engine_entries(asx_cx_runtime(cx)->engine) - before;
    CHECK_EQ(result.value, leaves);
    check_near(cx, 2 * leaves);
    check_near(cx, entries);
    atomic_store(&over, true);
    CHECK_EQ(asx_region_close_with(&region, ASX_OK, NULL, &report), ASX_OK);
    uint64_t nodes = 1;
    for (uint64_t n = leaves; n > 1; n /= FAN_OUT)
        nodes += n;
    CHECK_EQ(report.tasks_ok, nodes + 1);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(a_tree_grows_and_is_joined_in_near_calls, 60)
{
    run_with(2, grow, (void *)(uintptr_t)10000);
    run_with(4, grow, (void *)(uintptr_t)10000);
}

/* ---- trees of poll tasks --------------------------------------------------------------------- */

typedef struct twig {
    uint64_t leaves, sum;
    int joined;          /* -1: nothing is spawned yet */
    struct twig *below;
    asx_task child[FAN_OUT];
} twig;

static asx_poll poll_tree(asx_cx *cx, void *arg)
{
    twig *t = arg;
    if (t->leaves == 1) {
        CHECK_EQ(asx_task_set_value(cx, 1), ASX_OK);
        return ASX_POLL_READY;
    }
    if (t->joined < 0) {
        asx_region region;
        CHECK_EQ(asx_cx_region(cx, &region), ASX_OK);
        t->below = calloc(FAN_OUT, sizeof *t->below);
        CHECK(t->below != NULL);
        for (int i = 0; i < FAN_OUT; i++) {
            t->below[i] = (twig){ .leaves = t->leaves / FAN_OUT, .joined = -1 };
            CHECK_EQ(asx_spawn_poll_task(&region, NULL, poll_tree, &t->below[i], &t->child[i]),
                     ASX_OK);
        }
        t->joined = 0;
    }
    for (; t->joined < FAN_OUT; t->joined++) {
        asx_join_result result;
        asx_status st = asx_join(cx, &t->child[t->joined], &result);
        if (st == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        CHECK_EQ(st, ASX_OK);
        CHECK_EQ(result.outcome.kind, ASX_OUTCOME_OK);
        t->sum += result.value;
    }
    free(t->below);
    CHECK_EQ(asx_task_set_value(cx, t->sum), ASX_OK);
    return ASX_POLL_READY;
}

static asx_status grow_polls(asx_cx *cx, void *arg)
{
    twig root = { .leaves = (uint64_t)(uintptr_t)arg, .joined = -1 };
    asx_region region;
    asx_task task;
    asx_join_result result;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    keep_one_busy(&region);
    const asx__engine *e = asx_cx_runtime(cx)->engine;
    uint64_t before = asx__engine_entries(e), near_before = near_calls(cx);
    CHECK_EQ(asx_spawn_poll_task(&region, NULL, poll_tree, &root, &task), ASX_OK);
    CHECK_EQ(asx_join(cx, &task, &result), ASX_OK);
    uint64_t entries = asx__engine_entries(e) - before;
    CHECK_EQ(result.value, root.leaves);
    check_near(cx, near_before + 3 * root.leaves);
    check_near(cx, near_before + entries);
    atomic_store(&over, true);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST_TIMEOUT(a_tree_of_poll_tasks_grows_and_is_joined_in_near_calls, 60)
{
    run_with(2, grow_polls, (void *)(uintptr_t)10000);
    run_with(4, grow_polls, (void *)(uintptr_t)10000);
}

/* ---- several trees, several workers ---------------------------------------------------------- */

static asx_status forest(asx_cx *cx, void *arg)
{
    enum { TREES = 6, LEAVES = 10000 };
    twig root[TREES];
    asx_task task[TREES];
    asx_region region;
    asx_close_report report;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    for (int i = 0; i < TREES; i++) {
        root[i] = (twig){ .leaves = LEAVES, .joined = -1 };
        asx_status st =
            i % 2 != 0
                ? asx_spawn_poll_task(&region, NULL, poll_tree, &root[i], &task[i])
                : asx_spawn_task(&region, NULL, tree, (void *)(uintptr_t)LEAVES, &task[i]);
        CHECK_EQ(st, ASX_OK);
    }
    for (int i = 0; i < TREES; i++) {
        asx_join_result result;
        CHECK_EQ(asx_join(cx, &task[i], &result), ASX_OK);
        CHECK_EQ(result.value, LEAVES);
    }
    CHECK_EQ(asx_region_close_with(&region, ASX_OK, NULL, &report), ASX_OK);
    CHECK_EQ(report.tasks_ok, TREES * 11111u);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(trees_that_workers_take_from_each_other_add_up, 120)
{
    for (uint32_t workers = 2; workers <= 8; workers *= 2)
        for (int i = 0; i < 3; i++)
            run_with(workers, forest, NULL);
}

/* ---- who is ready besides -------------------------------------------------------------------- */

static asx_status note(asx_cx *cx, void *arg)
{
    (void)cx;
    atomic_store((atomic_bool *)arg, true);
    return ASX_OK;
}

static asx_status grow_beside(asx_cx *cx, void *arg)
{
    atomic_bool *ran = arg;
    asx_region region;
    asx_task root;
    asx_join_result result;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    keep_one_busy(&region);
    CHECK_EQ(asx_spawn(&region, "note", note, ran), ASX_OK);
    CHECK_EQ(asx_spawn_task(&region, NULL, tree, (void *)(uintptr_t)100000, &root), ASX_OK);
    CHECK_EQ(asx_join(cx, &root, &result), ASX_OK);
    CHECK(atomic_load(ran));
    atomic_store(&over, true);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST_TIMEOUT(a_tree_does_not_keep_others_from_their_turn, 60)
{
    atomic_bool ran = false;
    run_with(2, grow_beside, &ran);
}

/* ---- values ---------------------------------------------------------------------------------- */

static asx_status says_first(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_task child;
    asx_join_result result;
    CHECK_EQ(asx_task_set_value(cx, 7), ASX_OK);
    CHECK_EQ(asx_cx_region(cx, &region), ASX_OK);
    CHECK_EQ(asx_spawn_task(&region, NULL, tree, (void *)(uintptr_t)1, &child), ASX_OK);
    CHECK_EQ(asx_join(cx, &child, &result), ASX_OK);
    CHECK_EQ(result.value, 1);
    if (arg != NULL)
        CHECK_EQ(asx_task_set_value(cx, 8), ASX_OK);
    return ASX_OK;
}

static asx_status ask(asx_cx *cx, void *arg)
{
    asx_region region;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    keep_one_busy(&region);
    for (int i = 0; i < 1000; i++) {
        asx_task task;
        asx_join_result result;
        CHECK_EQ(asx_spawn_task(&region, NULL, says_first, i % 2 != 0 ? &region : NULL, &task),
                 ASX_OK);
        CHECK_EQ(asx_join(cx, &task, &result), ASX_OK);
        CHECK_EQ(result.value, i % 2 != 0 ? 8u : 7u);
    }
    CHECK(near_calls(cx) > 1000);
    atomic_store(&over, true);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST_TIMEOUT(a_value_that_was_set_before_a_wait_is_handed_over, 60)
{
    run_with(2, ask, NULL);
}

/* ---- tasks without a handle ------------------------------------------------------------------ */

static asx_status yield_twice(asx_cx *cx, void *arg)
{
    CHECK_EQ(asx_yield(cx), ASX_OK);
    CHECK_EQ(asx_yield(cx), ASX_OK);
    atomic_fetch_add((atomic_uint *)arg, 1);
    return ASX_OK;
}

static asx_status crowd(asx_cx *cx, void *arg)
{
    enum { TASKS = 5000 };
    atomic_uint *ended = arg;
    asx_region region;
    asx_close_report report;
    asx_stats stats;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    keep_one_busy(&region);
    for (int i = 0; i < TASKS; i++) {
        CHECK_EQ(asx_spawn(&region, "yield", yield_twice, ended), ASX_OK);
        if (i % 7 == 0)
            CHECK_EQ(asx_yield(cx), ASX_OK);
    }
    CHECK_EQ(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK_EQ(stats.tasks_spawned, TASKS + 2u);
    CHECK(stats.tasks_live >= 2 && stats.tasks_live <= TASKS + 2u);
    while (atomic_load(ended) < TASKS)
        CHECK_EQ(asx_yield(cx), ASX_OK);
    check_near(cx, TASKS / 2);
    atomic_store(&over, true);
    CHECK_EQ(asx_region_close_with(&region, ASX_OK, NULL, &report), ASX_OK);
    CHECK_EQ(report.tasks_ok, TASKS + 1u);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(what_near_calls_have_begun_and_ended_is_counted, 60)
{
    atomic_uint ended = 0;
    run_with(2, crowd, &ended);
    atomic_store(&ended, 0);
    run_with(4, crowd, &ended);
}

/* ---- cancellation ---------------------------------------------------------------------------- */

static asx_status until_cancelled(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st;
    while ((st = asx_yield(cx)) == ASX_OK)
        ;
    return st;
}

static asx_status cancel_them(asx_cx *cx, void *arg)
{
    enum { TASKS = 500 };
    asx_region region;
    asx_close_report report;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    keep_one_busy(&region);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(asx_spawn(&region, "yield", until_cancelled, NULL), ASX_OK);
    check_near(cx, TASKS / 2);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(asx_yield(cx), ASX_OK);
    atomic_store(&over, true);
    CHECK_EQ(asx_region_cancel(&region, NULL), ASX_OK);
    CHECK_EQ(asx_region_close_with(&region, ASX_OK, NULL, &report), ASX_E_CANCELLED);
    CHECK_EQ(report.tasks_cancelled + report.tasks_ok, TASKS + 1u);
    CHECK(report.tasks_cancelled >= TASKS);
    CHECK_EQ(report.tasks_forced, 0);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(a_cancel_reaches_every_task_in_every_wing, 60)
{
    run_with(2, cancel_them, NULL);
    run_with(4, cancel_them, NULL);
}

/* ---- what others take ------------------------------------------------------------------------ */

ASX_TEST(only_children_younger_than_all_that_others_took_are_known_to_be_in_the_list)
{
    asx__worker w = { .index = 1 };
    asx__task own = { .generation = 20, .home = 2 }, guest = { .generation = 40, .home = 1 };
    w.near.since = 1;
    asx__near_disturb(&w, &guest); /* spawned by another, with numbers of its own */
    CHECK_EQ(w.near.since, 1);
    asx__near_disturb(&w, &own);
    CHECK_EQ(w.near.since, 21);
    own.generation = 10; /* older than one that was taken before */
    asx__near_disturb(&w, &own);
    CHECK_EQ(w.near.since, 21);
    w.near.next_number = 30;
    asx__near_disturb_all(&w);
    CHECK_EQ(w.near.since, 30);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static asx_status nothing(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

/* Some take long, so that others take what waits behind them. */
static void compute(unsigned i)
{
    for (volatile unsigned n = 0; n < (i % 50 == 0 ? 100000u : 2000u); n++)
        ;
}

static asx_status count_up(asx_cx *cx, void *arg)
{
    asx_region region;
    uint64_t last = 0;
    (void)arg;
    CHECK_EQ(asx_cx_region(cx, &region), ASX_OK);
    for (unsigned i = 0; i < 3000; i++) {
        asx_task child;
        compute(i);
        CHECK_EQ(asx_spawn_task(&region, NULL, nothing, NULL, &child), ASX_OK);
        CHECK(child.id.generation > last);
        last = child.id.generation;
        CHECK_EQ(asx_yield(cx), ASX_OK);
        CHECK_EQ(asx_join(cx, &child, NULL), ASX_OK);
    }
    return ASX_OK;
}

/* Spawns nothing: others take several of this kind at a time. */
static asx_status gives_way(asx_cx *cx, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 300; i++) {
        compute(i);
        CHECK_EQ(asx_yield(cx), ASX_OK);
    }
    return ASX_OK;
}

static uint64_t spawn_one(asx_cx *cx, const asx_region *region)
{
    asx_task child;
    CHECK_EQ(asx_spawn_task(region, NULL, nothing, NULL, &child), ASX_OK);
    CHECK_EQ(asx_join(cx, &child, NULL), ASX_OK);
    return child.id.generation;
}

/* Wakes up again and again, so that more than one worker has something to do. */
static asx_status dozes(asx_cx *cx, void *arg)
{
    asx_region region;
    uint64_t last = 0;
    (void)arg;
    CHECK_EQ(asx_cx_region(cx, &region), ASX_OK);
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t number = spawn_one(cx, &region);
        CHECK(number > last);
        last = number;
        if (i % 7 == 0)
            CHECK_EQ(asx_sleep(cx, ASX_US + i % 5 * 20 * ASX_US), ASX_OK);
        else if (i % 3 == 0)
            CHECK_EQ(asx_yield(cx), ASX_OK);
    }
    return ASX_OK;
}

static asx_status counters(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_task counter[16];
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    for (int i = 0; i < 16; i++) {
        asx_task_fn fn = i % 2 == 0 ? count_up : dozes;
        CHECK_EQ(asx_spawn_task(&region, NULL, fn, NULL, &counter[i]), ASX_OK);
        for (int n = 0; n < 4; n++)
            CHECK_EQ(asx_spawn(&region, "gives way", gives_way, NULL), ASX_OK);
    }
    for (int i = 0; i < 16; i++)
        CHECK_EQ(asx_join(cx, &counter[i], NULL), ASX_OK);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST_TIMEOUT(what_one_task_spawns_is_numbered_in_order_wherever_it_runs, 60)
{
    run_with(4, counters, NULL);
}

/* A poll task that spawns, joins and gives way, wherever it is called. */
typedef struct counter {
    uint64_t last;
    unsigned left;
    bool joins, gives_way;
    asx_task child;
} counter;

static asx_poll poll_nothing(asx_cx *cx, void *arg)
{
    (void)cx;
    if (arg != NULL)
        compute(1);
    return ASX_POLL_READY;
}

static asx_poll poll_count_up(asx_cx *cx, void *arg)
{
    counter *c = arg;
    asx_region region;
    CHECK_EQ(asx_cx_region(cx, &region), ASX_OK);
    for (;;) {
        if (c->joins && asx_join(cx, &c->child, NULL) == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        c->joins = false;
        if (c->gives_way && asx_yield(cx) == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        if (c->left-- == 0)
            return ASX_POLL_READY;
        compute(c->left);
        CHECK_EQ(asx_spawn_poll_task(&region, NULL, poll_nothing, c, &c->child), ASX_OK);
        CHECK(c->child.id.generation > c->last);
        c->last = c->child.id.generation;
        c->joins = c->gives_way = true;
    }
}

static asx_status poll_counters(asx_cx *cx, void *arg)
{
    enum { COUNTERS = 16, DOZERS = 8 };
    asx_region region;
    asx_task task[COUNTERS + DOZERS];
    counter count[COUNTERS];
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    for (int i = 0; i < DOZERS; i++)
        CHECK_EQ(asx_spawn_task(&region, NULL, dozes, NULL, &task[COUNTERS + i]), ASX_OK);
    for (int i = 0; i < COUNTERS; i++) {
        count[i] = (counter){ .left = 2000 };
        CHECK_EQ(asx_spawn_poll_task(&region, NULL, poll_count_up, &count[i], &task[i]), ASX_OK);
    }
    for (int i = 0; i < COUNTERS + DOZERS; i++)
        CHECK_EQ(asx_join(cx, &task[i], NULL), ASX_OK);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST_TIMEOUT(what_one_poll_task_spawns_is_numbered_in_order_wherever_it_is_called, 60)
{
    run_with(3, poll_counters, NULL);
}

static void spawn_in_order(asx_cx *cx, const asx_region *region, int times, uint64_t *last)
{
    for (int i = 0; i < times; i++) {
        uint64_t number = spawn_one(cx, region);
        CHECK(number > *last);
        *last = number;
    }
}

/* Beside others, then alone, when it may hold the engine, then beside others. */
static asx_status company_goes(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_stats stats;
    uint64_t last = 0;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    for (int round = 0; round < 10; round++) {
        atomic_store(&spinning, false);
        atomic_store(&over, false);
        keep_one_busy(&region);
        CHECK_EQ(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
        spawn_in_order(cx, &region, 200, &last);
        atomic_store(&over, true);
        while (atomic_load(&spinners) != 0)
            usleep(100);
        usleep(2000); /* the other one falls asleep, or not */
        for (int i = 0; i < 100; i++)
            CHECK_EQ(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
        spawn_in_order(cx, &region, 5, &last);
    }
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST_TIMEOUT(numbers_stay_in_order_when_a_worker_is_alone_for_a_while, 60)
{
    run_with(2, company_goes, NULL);
}

static asx_status come_and_go(asx_cx *cx, void *arg)
{
    enum { EACH = 500 };
    atomic_ullong *newest = arg;
    asx_region region;
    CHECK_EQ(asx_cx_region(cx, &region), ASX_OK);
    for (int i = 0; i < EACH; i++) {
        uint64_t serial = asx__serial(spawn_one(cx, &region));
        unsigned long long before = atomic_load(newest);
        while (before < serial && !atomic_compare_exchange_weak(newest, &before, serial))
            ;
        CHECK_EQ(asx_sleep(cx, 0), ASX_OK); /* in the engine, and out of it as another */
    }
    return ASX_OK;
}

static asx_status many_come_and_go(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_stats stats;
    atomic_ullong newest = 0;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    keep_one_busy(&region);
    for (int i = 0; i < 16; i++)
        CHECK_EQ(asx_spawn(&region, "come and go", come_and_go, &newest), ASX_OK);
    do
        CHECK_EQ(asx_sleep(cx, 1000), ASX_OK);
    while (asx_runtime_stats(asx_cx_runtime(cx), &stats) == ASX_OK && stats.tasks_live > 2);
    CHECK_EQ(stats.tasks_spawned, 2u + 16u + 16u * 500u);
    CHECK(atomic_load(&newest) < 4 * stats.tasks_spawned + 32 * 1024);
    atomic_store(&over, true);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST_TIMEOUT(few_numbers_are_lost_when_tasks_come_and_go, 60)
{
    run_with(2, many_come_and_go, NULL);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static asx_poll until_over(asx_cx *cx, void *arg)
{
    (void)arg;
    if (!atomic_load(&over))
        (void)asx_yield(cx);
    return atomic_load(&over) ? ASX_POLL_READY : ASX_POLL_PENDING;
}

/* On another worker: a few hundred come and go, and then it keeps that worker. */
static asx_status come_and_stay(asx_cx *cx, void *arg)
{
    asx_region region;
    CHECK_EQ(asx_cx_region(cx, &region), ASX_OK);
    for (int i = 0; i < 500; i++)
        (void)spawn_one(cx, &region);
    return spin(cx, arg);
}

/* So many tasks can be had beside another worker that has had some. */
static asx_status fill_up(asx_cx *cx, void *arg)
{
    unsigned *most = arg;
    asx_region region;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    CHECK_EQ(asx_spawn(&region, "stays", *most != 0 ? come_and_stay : spin, NULL), ASX_OK);
    while (!atomic_load(&spinning)) /* as in keep_one_busy() */
        asx__cpu_relax();
    *most = 0;
    while (asx_spawn_poll(&region, "until over", until_over, NULL) == ASX_OK)
        ++*most;
    atomic_store(&over, true);
    CHECK_EQ(asx_region_close(&region, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(no_worker_keeps_memory_that_is_counted, 60)
{
    asx_runtime_config config = { .workers = 2, .limits = { .memory_max = 400000 } };
    unsigned at_once = 0, later = 1;
    run_as(&config, fill_up, &at_once);
    run_as(&config, fill_up, &later);
    CHECK(at_once > 64);
    CHECK_EQ(later, at_once);
}

static asx_runtime *asked;

/* An allocator that looks at its runtime, which it may, from inside. */
static void *look_and_alloc(void *ctx, size_t size)
{
    asx_stats stats;
    (void)ctx;
    if (asked != NULL)
        CHECK_EQ(asx_runtime_stats(asked, &stats), ASX_OK);
    return malloc(size);
}

static void plain_free(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    (void)size;
    free(memory);
}

static asx_status spawn_beside(asx_cx *cx, void *arg)
{
    asx_region region;
    (void)arg;
    asked = asx_cx_runtime(cx);
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    keep_one_busy(&region);
    for (int i = 0; i < 3000; i++)
        CHECK_EQ(asx_spawn(&region, "nothing", nothing, NULL), ASX_OK);
    CHECK(near_calls(cx) > 1000);
    atomic_store(&over, true);
    CHECK_EQ(asx_region_close(&region, ASX_OK), ASX_OK);
    asked = NULL;
    return ASX_OK;
}

ASX_TEST_TIMEOUT(an_allocator_is_called_by_whoever_is_inside, 30)
{
    asx_runtime_config config = {
        .workers = 2, .allocator = { .alloc = look_and_alloc, .free = plain_free },
    };
    run_as(&config, spawn_beside, NULL);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* As if a turn began in a near call, now. False: the worker makes none at the moment. */
static bool begin_turn(const asx_runtime *rt, asx_time *ret_now)
{
    asx__worker *w = asx__thread_self()->worker;
    if (!asx__near_take(&w->outside, &w->near, NULL))
        return false;
    *ret_now = w->near.now = asx__clock_now(&rt->clock);
    asx__latch_drop(&w->near.latch);
    return true;
}

static asx_status watch_time(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_time begun, last = 0;
    int turns = 0;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &region, NULL), ASX_OK);
    keep_one_busy(&region);
    for (int i = 0; i < 1000; i++) {
        (void)spawn_one(cx, &region);
        if (!begin_turn(asx_cx_runtime(cx), &begun))
            continue;
        asx_time now = asx_now(cx);
        CHECK(now >= begun && now >= last);
        last = now;
        turns++;
    }
    CHECK(turns > 100);
    atomic_store(&over, true);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST_TIMEOUT(time_goes_on_with_the_turns_that_begin_in_near_calls, 60)
{
    run_with(2, watch_time, NULL);
}

/* ---- cancelled from elsewhere ---------------------------------------------------------------- */

static asx_task victim;
static atomic_bool has_victim;

static asx_poll poll_until_cancelled(asx_cx *cx, void *arg)
{
    counter *c = arg;
    asx_region region;
    for (;;) {
        asx_status st = c->joins ? asx_join(cx, &c->child, NULL) : ASX_OK;
        if (st == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        c->joins = false;
        if (st < 0 || asx_cx_region(cx, &region) < 0 ||
            asx_spawn_poll_task(&region, NULL, poll_nothing, NULL, &c->child) < 0)
            return ASX_POLL_READY;
        c->joins = true;
    }
}

static void *cancel_victims(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        if (!atomic_load(&has_victim))
            continue;
        usleep(200);
        (void)asx_task_cancel(&victim, NULL);
        atomic_store(&has_victim, false);
    }
    return NULL;
}

static asx_status raise_victims(asx_cx *cx, void *arg)
{
    enum { VICTIMS = 50 };
    asx_region region;
    asx_close_report report;
    (void)arg;
    asx_region_options collect = { .policy = ASX_POLICY_COLLECT };
    CHECK_EQ(asx_region_open(cx, &region, &collect), ASX_OK);
    keep_one_busy(&region);
    for (int i = 0; i < VICTIMS; i++) {
        counter c = { .joins = false };
        CHECK_EQ(asx_spawn_poll_task(&region, NULL, poll_until_cancelled, &c, &victim), ASX_OK);
        asx_task mine = victim;
        atomic_store(&has_victim, true);
        asx_join_result result;
        CHECK_EQ(asx_join(cx, &mine, &result), ASX_OK);
        CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
        while (atomic_load(&has_victim))
            asx__cpu_relax();
    }
    CHECK(near_calls(cx) > VICTIMS);
    atomic_store(&over, true);
    CHECK_EQ(asx_region_close_with(&region, ASX_OK, NULL, &report), ASX_OK);
    CHECK(report.tasks_cancelled >= VICTIMS);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(a_poll_task_is_cancelled_between_two_near_calls, 60)
{
    pthread_t thread;
    atomic_store(&has_victim, false);
    atomic_store(&over, false);
    CHECK_EQ(pthread_create(&thread, NULL, cancel_victims, NULL), 0);
    run_with(2, raise_victims, NULL);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}
