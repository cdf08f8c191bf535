/* Bounds and sampling: what they leave out, and how likely what they draw is. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include "harness.h"
#include "lab/dpor/dpor.h"
#include "support_classes.h"
#include "support_model.h"

enum { STEPS_MOST = 32 };

static model_step on_cell(asx__op_kind kind, uint8_t cell)
{
    return (model_step){ kind, cell, 1, 0, 0, 0, false };
}

/* ---- bounds --------------------------------------------------------------------------------- */

static asx__dpor *engine(asx__dpor_options options)
{
    asx__dpor *d = asx__dpor_create(&options);
    CHECK(d != NULL);
    return d;
}

static asx__dpor_stats all_of(const model *m, asx__dpor_options options)
{
    asx__dpor *d = engine(options);
    uint64_t objects[MODEL_OBJECTS];
    asx__dpor_stats stats;
    while (model_run_once(m, d, objects))
        continue;
    CHECK_STATUS(asx__dpor_status(d), ASX_OK);
    asx__dpor_stats_get(d, &stats);
    asx__dpor_destroy(d);
    return stats;
}

/* Where nothing is ever disabled, a task is enabled as long as it has an event to come. */
static bool comes(const asx__dpor_event *events, size_t count, size_t from, uint32_t task)
{
    for (size_t i = from; i < count; i++)
        if (events[i].task == task)
            return true;
    return false;
}

static uint32_t delays_in(const asx__dpor *d)
{
    size_t count;
    const asx__dpor_event *events = asx__dpor_events(d, &count);
    uint32_t delays = 0, tasks = asx__dpor_tasks(d);
    for (size_t i = 0; i < count; i++)
        for (uint32_t t = i != 0 ? events[i - 1].task : 0; t != events[i].task; t = (t + 1) % tasks)
            delays += comes(events, count, i, t);
    return delays;
}

static uint32_t preemptions_in(const asx__dpor *d)
{
    size_t count;
    const asx__dpor_event *events = asx__dpor_events(d, &count);
    uint32_t preemptions = 0;
    for (size_t i = 1; i < count; i++)
        preemptions += events[i].task != events[i - 1].task &&
                       comes(events, count, i, events[i - 1].task);
    return preemptions;
}

/* Every interleaving is run without a bound, and judged from outside. */
ASX_TEST_TIMEOUT(a_bound_leaves_out_exactly_what_exceeds_it, 60)
{
    asx__rng rng;
    asx__rng_seed(&rng, 12);
    for (int i = 0; i < 60; i++) {
        uint64_t by_delays[STEPS_MOST * MODEL_TASKS] = { 0 }, by_preemptions[STEPS_MOST] = { 0 };
        uint64_t objects[MODEL_OBJECTS], executions = 0;
        model m;
        model_make(&m, &rng, MODEL_CELLS, 8);
        asx__dpor *d = engine((asx__dpor_options){ .mode = ASX__DPOR_DFS });
        bool more;
        do {
            more = model_run_once(&m, d, objects);
            by_delays[delays_in(d)]++;
            by_preemptions[preemptions_in(d)]++;
            executions++;
        } while (more && executions < 20000);
        asx__dpor_destroy(d);
        if (more)
            continue;
        uint64_t few_delays = 0, few_preemptions = 0;
        for (uint32_t n = 0; n < 6; n++) {
            few_delays += by_delays[n];
            few_preemptions += by_preemptions[n];
            asx__dpor_stats stats =
                all_of(&m, (asx__dpor_options){ .mode = ASX__DPOR_DFS, .delays = n + 1 });
            CHECK_EQ(stats.executions, few_delays);
            CHECK_EQ(stats.bounded != 0, few_delays != executions);
            stats = all_of(&m, (asx__dpor_options){ .mode = ASX__DPOR_DFS, .bound = n + 1 });
            CHECK_EQ(stats.executions, few_preemptions);
            CHECK_EQ(stats.bounded != 0, few_preemptions != executions);
        }
    }
}

static int cell;

static asx_status add(asx_cx *cx, void *arg)
{
    (void)arg;
    int seen = asx_lab_load(cx, &cell);
    asx_lab_store(cx, &cell, seen + 1);
    return ASX_OK;
}

static void two_adders(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    cell = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", add, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", add, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    asx_lab_check(cx, cell == 2);
}

ASX_TEST(a_bounded_exploration_says_why_it_is_not_complete)
{
    asx_explore_result result;
    asx_explore_options options = { .delays = 1 };
    CHECK_STATUS(asx_explore(two_adders, NULL, &options, &result), ASX_OK);
    CHECK_EQ(result.totals.executions, 1);
    CHECK_EQ(result.totals.bugs, 0);
    CHECK_EQ(result.stopped, ASX_EXPLORE_STOP_BOUND);
    CHECK(!result.complete && result.totals.left_out != 0);
    options.delays = 2;
    CHECK_STATUS(asx_explore(two_adders, NULL, &options, &result), ASX_OK);
    CHECK(result.totals.bugs != 0);
    options.delays = 100;
    CHECK_STATUS(asx_explore(two_adders, NULL, &options, &result), ASX_OK);
    CHECK(result.complete && result.totals.left_out == 0);
    CHECK_EQ(result.stopped, ASX_EXPLORE_STOP_NONE);
    CHECK_EQ(result.totals.classes, 4);
    options = (asx_explore_options){ .executions_max = 2 };
    CHECK_STATUS(asx_explore(two_adders, NULL, &options, &result), ASX_OK);
    CHECK_EQ(result.stopped, ASX_EXPLORE_STOP_EXECUTIONS);
    options = (asx_explore_options){ .stop_at_first = true };
    CHECK_STATUS(asx_explore(two_adders, NULL, &options, &result), ASX_OK);
    CHECK_EQ(result.stopped, ASX_EXPLORE_STOP_FIRST);
    options = (asx_explore_options){ .mode = ASX_EXPLORE_POS };
    CHECK_STATUS(asx_explore(two_adders, NULL, &options, &result), ASX_OK);
    CHECK_EQ(result.stopped, ASX_EXPLORE_STOP_SAMPLED);
    CHECK_EQ(result.totals.executions, 1000);
    CHECK_STR_EQ(asx_explore_stop_str(ASX_EXPLORE_STOP_TIME), "the time is over");
    CHECK(asx_explore_stop_str(ASX_EXPLORE_STOP_COUNT) == NULL);
}

static int cell;

static asx_status check_and_store_twice(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++)
        (void)asx_checkpoint(cx);
    for (int i = 0; i < 2; i++)
        asx_lab_store(cx, &cell, i + 1);
    return ASX_OK;
}

static asx_status load_cell(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_lab_load(cx, &cell);
    return ASX_OK;
}

static void deadline_and_load(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_spawn_options options = { .name = "t", .budget = &budget };
    asx_task task;
    budget.deadline = asx_now(cx) + ASX_MS;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&region, check_and_store_twice, arg, &options, &task), ASX_OK);
    CHECK_STATUS(asx_spawn(&region, "l", load_cell, arg), ASX_OK);
    (void)asx_region_close(&region, ASX_OK);
}

/* The deadline comes before either checkpoint, before the end or never; the load before, between or
 * after the stores. Both between the two: each has preempted the task once. */
ASX_TEST(a_deadline_is_one_preemption)
{
    asx_explore_options options = { .mode = ASX_EXPLORE_DFS, .clock = ASX_EXPLORE_ADVERSARIAL };
    CHECK_EQ(classes_explore(deadline_and_load, NULL, &options).totals.classes, 12);
    options.bound = 1 + 2;
    CHECK_EQ(classes_explore(deadline_and_load, NULL, &options).totals.classes, 12);
    options.bound = 1 + 1;
    CHECK(classes_explore(deadline_and_load, NULL, &options).totals.classes < 12);
}

/* ---- sampling ------------------------------------------------------------------------------- */

/* How often the last event of `samples` executions is one of `task`. */
static uint64_t last_in(const model *m, asx__dpor_mode mode, uint32_t task, uint64_t samples)
{
    asx__dpor *d = engine((asx__dpor_options){ .mode = mode, .seed = 99, .depth = 2 });
    uint64_t objects[MODEL_OBJECTS], hits = 0;
    for (uint64_t i = 0; i < samples; i++) {
        size_t count;
        CHECK(model_run_once(m, d, objects));
        const asx__dpor_event *events = asx__dpor_events(d, &count);
        hits += events[count - 1].task == task;
    }
    asx__dpor_destroy(d);
    return hits;
}

/* One task does eight things that concern nobody, then both write the same cell. A random walk puts
 * the other one last once in 2^9 executions; with a priority that it keeps it is one in ten. */
ASX_TEST(partial_order_sampling_keeps_the_priority_of_what_races_with_nothing)
{
    model m = { .tasks = 2, .len = { 9, 1 } };
    for (uint8_t i = 0; i < 8; i++)
        m.code[0][i] = on_cell(ASX__OP_STORE, 1);
    m.code[0][8] = on_cell(ASX__OP_STORE, 0);
    m.code[1][0] = on_cell(ASX__OP_STORE, 0);
    uint64_t hits = last_in(&m, ASX__DPOR_POS, 1, 4000);
    CHECK_GE(hits, 320);
    CHECK_LE(hits, 480);
    CHECK_LE(last_in(&m, ASX__DPOR_RANDOM, 1, 4000), 40);
}

/* Two writes of one task and one of another: that it comes last takes two draws that it loses, one
 * in four; with one priority for both it would be one in three. */
ASX_TEST(partial_order_sampling_draws_again_for_what_races)
{
    model m = { .tasks = 2, .len = { 2, 1 } };
    m.code[0][0] = m.code[0][1] = m.code[1][0] = on_cell(ASX__OP_STORE, 0);
    uint64_t hits = last_in(&m, ASX__DPOR_POS, 1, 8000);
    CHECK_GE(hits, 1800);
    CHECK_LE(hits, 2200);
    /* The same on channels, which are explored in the other way. */
    model c = { .tasks = 2, .len = { 2, 1 }, .capacity = { 4, 4 } };
    c.code[0][0] = c.code[0][1] = c.code[1][0] = on_cell(ASX__OP_SEND, 0);
    hits = last_in(&c, ASX__DPOR_POS, 1, 8000);
    CHECK_GE(hits, 1800);
    CHECK_LE(hits, 2200);
}

/* n = 2 tasks, k = 10 steps, d = 2: at least one in twenty. */
ASX_TEST(pct_finds_a_bug_of_its_depth_as_often_as_published)
{
    model m = { .tasks = 2, .len = { 9, 1 } };
    for (uint8_t i = 0; i < 9; i++)
        m.code[0][i] = on_cell(ASX__OP_STORE, 0);
    m.code[1][0] = on_cell(ASX__OP_LOAD, 0);
    asx__dpor *d = engine((asx__dpor_options){ .mode = ASX__DPOR_PCT, .seed = 3, .depth = 2 });
    uint64_t objects[MODEL_OBJECTS], places[10] = { 0 };
    for (uint64_t i = 0; i < 4000; i++) {
        size_t count, at = 0;
        CHECK(model_run_once(&m, d, objects));
        const asx__dpor_event *events = asx__dpor_events(d, &count);
        CHECK_EQ(count, 10);
        while (events[at].task != 1)
            at++;
        places[at]++;
    }
    for (size_t i = 0; i < 10; i++) /* that the load comes exactly there is of depth 2 */
        CHECK_GE(places[i], 4000 / 20 * 8 / 10);
    asx__dpor_destroy(d);
}

/* A sample does not depend on those before it. */
ASX_TEST(the_same_seed_draws_the_same_executions)
{
    asx__rng rng;
    asx__rng_seed(&rng, 77);
    for (int i = 0; i < 20; i++) {
        model m;
        model_make(&m, &rng, MODEL_ALL, 8);
        asx__dpor_stats first, again, other;
        CHECK_STATUS(model_explore(&m, ASX__DPOR_SAMPLE, 5, 200, &first), ASX_OK);
        CHECK_STATUS(model_explore(&m, ASX__DPOR_SAMPLE, 5, 200, &again), ASX_OK);
        CHECK_EQ(first.classes, again.classes);
        CHECK_EQ(first.steps, again.steps);
        CHECK_STATUS(model_explore(&m, ASX__DPOR_OPTIMAL, 0, 3000, &other), ASX_OK);
        if (other.executions < 3000)
            CHECK_LE(first.classes, other.executions);
    }
}
