/* Exploring real tasks: order by spawn, join and close; deadlocks, failures, replay; refusals. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "lab/dpor/dpor.h"
#include "support_bodies.h"
#include "support_classes.h"
#include "support_model.h"

static int x, y;

typedef struct seen {
    int failures;
    asx_explore_verdict verdict;
    char text[512], site[128], schedule[512], interleaving[2048];
} seen;

static void on_failure(void *ctx, const asx_explore_failure *failure)
{
    seen *s = ctx;
    if (s->failures++ != 0)
        return;
    s->verdict = failure->verdict;
    (void)snprintf(s->text, sizeof s->text, "%s", failure->text);
    (void)snprintf(s->site, sizeof s->site, "%s", failure->site);
    (void)snprintf(s->schedule, sizeof s->schedule, "%s", failure->schedule);
    (void)snprintf(s->interleaving, sizeof s->interleaving, "%s", failure->interleaving);
}

static asx_explore_result explore(asx_lab_fn fn, void *arg, asx_explore_mode mode)
{
    asx_explore_options options = { .mode = mode };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(fn, arg, &options, &result), ASX_OK);
    CHECK_EQ(result.totals.redundant != 0 && mode == ASX_EXPLORE_OPTIMAL, 0);
    return result;
}

static asx_status store_one(asx_cx *cx, void *arg)
{
    asx_lab_store(cx, (int *)arg, 1);
    return ASX_OK;
}

static asx_status add_two(asx_cx *cx, void *arg)
{
    int value = asx_lab_load(cx, (int *)arg);
    asx_lab_store(cx, (int *)arg, value + 2);
    return ASX_OK;
}

/* ---- order ---------------------------------------------------------------------------------- */

static void body_and_child(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    x = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    asx_lab_store(cx, &x, 7); /* before the child */
    CHECK_STATUS(asx_spawn(&r, "child", store_one, &x), ASX_OK);
    asx_lab_store(cx, &x, 8); /* races with it */
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    asx_lab_store(cx, &x, 9); /* after it */
}

ASX_TEST(spawn_and_close_order_the_body_and_its_children)
{
    CHECK_EQ(classes_of(body_and_child, NULL), 2);
}

static void join_one_of_two(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task a, b;
    (void)arg;
    x = y = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, store_one, &x, NULL, &a), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, store_one, &y, NULL, &b), ASX_OK);
    CHECK_STATUS(asx_join(cx, &a, NULL), ASX_OK);
    (void)asx_lab_load(cx, &x); /* after a */
    (void)asx_lab_load(cx, &y); /* races with b */
    CHECK_STATUS(asx_join(cx, &b, NULL), ASX_OK);
    (void)asx_lab_load(cx, &y);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

ASX_TEST(a_join_orders_the_joiner_after_the_joined_and_nobody_else)
{
    CHECK_EQ(classes_of(join_one_of_two, NULL), 2);
}

static asx_status family(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_status st = asx_region_open(cx, NULL, &r);
    if (st < 0)
        return st;
    asx_lab_store(cx, (int *)arg, 5);
    (void)asx_spawn(&r, "grandchild", add_two, arg);
    (void)asx_lab_load(cx, (int *)arg);
    return asx_region_close(&r, ASX_OK);
}

static void two_families(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    x = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", family, &x), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", family, &x), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

ASX_TEST(tasks_of_tasks_have_the_same_number_in_every_execution)
{
    CHECK(classes_of(two_families, NULL) > 20);
}

/* ---- random programs on real tasks ---------------------------------------------------------- */

typedef struct program {
    model m;
    uint64_t cells[2];
    asx_lab_mutex locks[2];
    asx_lab_semaphore semaphore;
} program;

typedef struct actor {
    program *p;
    uint32_t task;
} actor;

static uint64_t perform(asx_cx *cx, program *p, const model_step *s)
{
    switch (s->kind) {
    case ASX__OP_LOAD: return asx_lab_load(cx, &p->cells[s->object]);
    case ASX__OP_STORE: /* what a store found is told to nobody */
        asx_lab_store(cx, &p->cells[s->object], s->a);
        return UINT64_MAX;
    case ASX__OP_CAS: return asx_lab_cas(cx, &p->cells[s->object], s->a, s->b) ? s->a : s->a + 1u;
    case ASX__OP_FETCH_ADD: return asx_lab_fetch_add(cx, &p->cells[s->object], s->a);
    case ASX__OP_LOCK: return asx_lab_mutex_lock(cx, &p->locks[s->object - 2]) == ASX_OK ? 0 : 1;
    case ASX__OP_TRY_LOCK:
        return asx_lab_mutex_try_lock(cx, &p->locks[s->object - 2]) == ASX_OK ? 0 : 1;
    case ASX__OP_UNLOCK: return asx_lab_mutex_unlock(cx, &p->locks[s->object - 2]) == ASX_OK;
    case ASX__OP_ACQUIRE:
        return asx_lab_semaphore_acquire(cx, &p->semaphore, 1) == ASX_OK ? UINT64_MAX : 0;
    case ASX__OP_RELEASE:
        return asx_lab_semaphore_release(cx, &p->semaphore, 1) == ASX_OK ? UINT64_MAX : 0;
    default: return asx_lab_choose(cx, s->a);
    }
}

static asx_status act(asx_cx *cx, void *arg)
{
    const actor *a = arg;
    const model *m = &a->p->m;
    for (uint32_t pc = 0; pc < m->len[a->task];)
        pc = model_next(m, a->task, pc, perform(cx, a->p, &m->code[a->task][pc]));
    return ASX_OK;
}

static void perform_program(asx_cx *cx, void *arg)
{
    program *p = arg;
    actor actors[MODEL_TASKS];
    asx_region r;
    p->cells[0] = p->m.start[0];
    p->cells[1] = p->m.start[1];
    memset(p->locks, 0, sizeof p->locks);
    p->semaphore.units = p->m.start[4];
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (uint32_t t = 0; t < p->m.tasks; t++) {
        actors[t] = (actor){ p, t };
        CHECK_STATUS(asx_spawn(&r, "actor", act, &actors[t]), ASX_OK);
    }
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

ASX_TEST_TIMEOUT(random_programs_of_real_tasks_agree_with_brute_force, 60)
{
    asx__rng rng;
    asx__rng_seed(&rng, 99);
    uint64_t deadlocks = 0;
    for (unsigned i = 0; i < 600 / asx_test_scale(); i++) {
        program p;
        memset(&p, 0, sizeof p);
        model_make(&p.m, &rng, i % 2 ? MODEL_LOCKS : MODEL_CHOICES, 9);
        (void)classes_of(perform_program, &p);
        deadlocks += explore(perform_program, &p, ASX_EXPLORE_OPTIMAL).totals.deadlocks;
    }
    CHECK(deadlocks > 0);
}

/* ---- what goes wrong ------------------------------------------------------------------------ */

static void lost_update(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    x = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", add_two, &x), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", add_two, &x), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    asx_lab_check(cx, x == 4);
}

ASX_TEST(a_failure_has_a_schedule_that_shows_it_again)
{
    seen s = { 0 };
    asx_explore_options options = { .on_failure = on_failure, .ctx = &s };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(lost_update, NULL, &options, &result), ASX_OK);
    CHECK(result.complete);
    CHECK_EQ(result.totals.executions, 4);
    CHECK_EQ(result.totals.bugs, 2);
    CHECK_EQ(s.failures, 2);
    CHECK_EQ(s.verdict, ASX_EXPLORE_FAILED);
    CHECK_STR_EQ(s.text, "x == 4");
    CHECK(strstr(s.site, "test_explore.c:") != NULL);
    CHECK(strstr(s.interleaving, "load (int *)arg -> 0") != NULL);
    CHECK(strstr(s.interleaving, "1 a") != NULL && strstr(s.interleaving, "2 b") != NULL);
    seen again = { 0 };
    options =
        (asx_explore_options){ .on_failure = on_failure, .ctx = &again, .schedule = s.schedule };
    CHECK_STATUS(asx_explore(lost_update, NULL, &options, &result), ASX_OK);
    CHECK_EQ(result.totals.executions, 1);
    CHECK_EQ(result.totals.bugs, 1);
    CHECK_STR_EQ(again.text, s.text);
    CHECK_STR_EQ(again.schedule, s.schedule);
    options.schedule = "1 1 2 2"; /* one after the other */
    CHECK_STATUS(asx_explore(lost_update, NULL, &options, &result), ASX_OK);
    CHECK_EQ(result.totals.bugs, 0);
}

ASX_TEST(of_all_failures_the_first_is_told_if_no_more_is_asked_for)
{
    seen all = { 0 }, first = { 0 };
    asx_explore_options options = { .on_failure = on_failure, .ctx = &all };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(lost_update, NULL, &options, &result), ASX_OK);
    options.tell_first = true;
    options.ctx = &first;
    CHECK_STATUS(asx_explore(lost_update, NULL, &options, &result), ASX_OK);
    CHECK(result.complete);
    CHECK_EQ(result.totals.executions, 4);
    CHECK_EQ(result.totals.bugs, 2);
    CHECK_EQ(first.failures, 1);
    CHECK_STR_EQ(first.schedule, all.schedule);
    CHECK_STR_EQ(first.interleaving, all.interleaving);
    options.jobs = 2;
    CHECK_STATUS(asx_explore(lost_update, NULL, &options, &result), ASX_OK);
    CHECK_EQ(result.totals.bugs, 2);
    CHECK_EQ(first.failures, 2);
}

static void families_disagree(asx_cx *cx, void *arg)
{
    two_families(cx, arg);
    asx_lab_check(cx, x == 9); /* unless a grandchild's work is lost */
}

ASX_TEST(a_schedule_names_tasks_of_tasks)
{
    seen s = { 0 };
    asx_explore_options options = { .seed = 5, .on_failure = on_failure, .ctx = &s };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(families_disagree, NULL, &options, &result), ASX_OK);
    CHECK(result.totals.bugs > 0 && result.totals.bugs < result.totals.executions);
    CHECK(strstr(s.schedule, "1.1") != NULL && strstr(s.schedule, "2.1") != NULL);
    CHECK(strstr(s.interleaving, "2.1 grandchild") != NULL);
    options.seed = 0;
    options.schedule = s.schedule;
    CHECK_STATUS(asx_explore(families_disagree, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_EQ(result.totals.bugs, 1);
}

ASX_TEST(a_schedule_of_another_program_is_a_divergence)
{
    static const char *const foreign[] = { "1 1 1", "5", "0", "1 1 2 2 2" };
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        asx_explore_options options = { .schedule = foreign[i] };
        asx_explore_result result;
        CHECK_STATUS(asx_explore(lost_update, NULL, &options, &result), ASX_OK);
        CHECK_STATUS(result.status, ASX_E_DIVERGED);
    }
    static const char *const broken[] = { "1 x", "1.", "1.0", "1:", "1:2x", "99999999999", "-1" };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        asx_explore_options options = { .schedule = broken[i] };
        asx_explore_result result;
        CHECK_STATUS(asx_explore(lost_update, NULL, &options, &result), ASX_E_INVALID_ARGUMENT);
    }
}

static asx_lab_mutex left, right;

static asx_status left_right(asx_cx *cx, void *arg)
{
    asx_lab_mutex *first = arg, *second = first == &left ? &right : &left;
    (void)asx_lab_mutex_lock(cx, first);
    (void)asx_lab_mutex_lock(cx, second);
    (void)asx_lab_mutex_unlock(cx, second);
    (void)asx_lab_mutex_unlock(cx, first);
    return ASX_OK;
}

static void crossed(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    memset(&left, 0, sizeof left);
    memset(&right, 0, sizeof right);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "l", left_right, &left), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "r", left_right, &right), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

ASX_TEST(a_deadlock_says_who_waits_for_whom)
{
    seen s = { 0 };
    asx_explore_options options = { .on_failure = on_failure, .ctx = &s };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(crossed, NULL, &options, &result), ASX_OK);
    CHECK(result.complete);
    CHECK_EQ(result.totals.executions, 3);
    CHECK_EQ(result.totals.deadlocks, 1);
    CHECK_EQ(result.totals.bugs, 0);
    CHECK_EQ(s.verdict, ASX_EXPLORE_DEADLOCK);
    CHECK(strstr(s.text, "1 l waits to lock second, which 2 r holds") != NULL);
    CHECK(strstr(s.text, "2 r waits to lock second, which 1 l holds") != NULL);
    CHECK(strstr(s.text, "; cycle: ") != NULL);
    CHECK(strstr(s.text, "1 l -> 2 r") != NULL && strstr(s.text, "2 r -> 1 l") != NULL);
    options.stop_at_first = true;
    CHECK_STATUS(asx_explore(crossed, NULL, &options, &result), ASX_OK);
    CHECK_EQ(result.totals.deadlocks, 1);
    CHECK(!result.complete || result.totals.executions == 3);
}

static asx_mutex mutexes[2];

static asx_status locks_both(asx_cx *cx, void *arg)
{
    asx_mutex *first = arg;
    asx_mutex_guard a, b;
    (void)asx_mutex_lock(cx, first, &a);
    (void)asx_mutex_lock(cx, first == mutexes ? &mutexes[1] : &mutexes[0], &b);
    (void)asx_mutex_unlock(&b);
    (void)asx_mutex_unlock(&a);
    return ASX_OK;
}

static void crossed_mutexes(asx_cx *cx, void *arg)
{
    asx_region home, r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &home), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&home, &(asx_mutex_options){ .name = "a" }, &mutexes[0]), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&home, &(asx_mutex_options){ .name = "b" }, &mutexes[1]), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "l", locks_both, &mutexes[0]), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "r", locks_both, &mutexes[1]), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_close(&home, ASX_OK), ASX_OK);
}

ASX_TEST(a_deadlock_of_the_mutexes_of_the_runtime_says_so_too)
{
    seen s = { 0 };
    asx_explore_options options = { .on_failure = on_failure, .ctx = &s };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(crossed_mutexes, NULL, &options, &result), ASX_OK);
    CHECK(result.complete);
    CHECK_EQ(result.totals.executions, 3);
    CHECK_EQ(result.totals.deadlocks, 1);
    CHECK(strstr(s.text, "1 l waits to lock first == mutexes ? ") != NULL);
    CHECK(strstr(s.text, ", which 2 r holds (") != NULL);
    CHECK(strstr(s.text, ", which 1 l holds") != NULL);
    CHECK(strstr(s.text, "; cycle: ") != NULL);
}

static asx_status fails(asx_cx *cx, void *arg)
{
    return asx_lab_load(cx, (int *)arg) == 0 ? ASX_E_BUSY : ASX_OK;
}

static void one_may_fail(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    x = 0;
    if (asx_region_open(cx, NULL, &r) < 0)
        return;
    (void)asx_spawn(&r, "a", store_one, &x);
    (void)asx_spawn(&r, "b", fails, &x);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_task_that_ends_err_fails_the_execution)
{
    asx_explore_result result = explore(one_may_fail, NULL, ASX_EXPLORE_OPTIMAL);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_EQ(result.totals.executions, 2);
    CHECK_EQ(result.totals.bugs, 1);
}

static asx_status spin(asx_cx *cx, void *arg)
{
    while (asx_lab_load(cx, (int *)arg) == 0)
        ;
    return ASX_OK;
}

static void spins(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    x = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "spin", spin, &x), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

ASX_TEST(an_execution_that_is_too_long_is_cut_off_and_said_so)
{
    seen s = { 0 };
    asx_explore_options options = { .steps_max = 50, .on_failure = on_failure, .ctx = &s };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(spins, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_EQ(result.totals.too_long, 1);
    CHECK_EQ(result.totals.deadlocks, 0);
    CHECK_EQ(result.totals.steps, 50);
    CHECK(!result.complete);
    CHECK_EQ(s.verdict, ASX_EXPLORE_TOO_LONG);
    CHECK_STR_EQ(s.text, "too many steps; the last are of 1 spin");
}

static asx_lab_mutex held;

static asx_status goes_in(asx_cx *cx, const bool *own, asx_mutex_guard *guard)
{
    return *own ? asx_lab_mutex_lock(cx, &held) : asx_mutex_lock(cx, &mutexes[0], guard);
}

static asx_status panics_inside(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)goes_in(cx, arg, &guard);
    asx_panic(cx, "inside");
}

static asx_status goes_in_and_out(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard = { 0 };
    bool *own = arg;
    if (goes_in(cx, own, &guard) == ASX_OK)
        (void)(*own ? asx_lab_mutex_unlock(cx, &held) : asx_mutex_unlock(&guard));
    return ASX_OK;
}

static void leaves_it_held(asx_cx *cx, void *arg)
{
    asx_region r;
    memset(&held, 0, sizeof held);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, NULL, &mutexes[0]), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", panics_inside, arg), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", goes_in_and_out, arg), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
}

/* Nobody unlocks for who has panicked, and the other one waits for ever: what is wrong is the
 * panic. In the other order nobody waits. */
ASX_TEST(what_a_failure_leaves_stuck_is_no_deadlock)
{
    static const asx_explore_mode modes[] = { ASX_EXPLORE_OPTIMAL, ASX_EXPLORE_SOURCE,
                                              ASX_EXPLORE_DFS };
    for (size_t i = 0; i < 2 * (sizeof modes / sizeof modes[0]); i++) {
        bool own = i % 2 == 0;
        seen s = { 0 };
        asx_explore_options options = { .mode = modes[i / 2], .on_failure = on_failure, .ctx = &s };
        asx_explore_result result;
        CHECK_STATUS(asx_explore(leaves_it_held, &own, &options, &result), ASX_OK);
        CHECK(result.complete);
        CHECK_EQ(result.totals.classes, 2);
        CHECK_EQ(result.totals.bugs, result.totals.executions);
        CHECK_EQ(result.totals.deadlocks, 0);
        CHECK_EQ(s.verdict, ASX_EXPLORE_FAILED);
    }
}

/* ---- refusals ------------------------------------------------------------------------------- */

/* The second start waits for the end of the first task. */
static void waits_for_admission(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_region_options options = { .tasks_max = 1, .admission = ASX_ADMISSION_WAIT };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", nothing, NULL), ASX_OK);
    (void)asx_spawn(&r, "b", nothing, NULL);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_start_that_waits_for_room_is_explored)
{
    asx_explore_result result;
    CHECK_STATUS(asx_explore(waits_for_admission, NULL, NULL, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK(result.unsupported == NULL);
    CHECK(result.complete);
    CHECK_EQ(result.totals.executions, 1);
    CHECK_EQ(result.totals.deadlocks, 0);
}

static asx_status refused[2];

/* The region was cancelled by its owner, or by its time-out: nothing can be started there any more,
 * and nobody has the place. */
static void two_starts_come_late(asx_cx *cx, void *arg)
{
    asx_region r;
    bool times_out = *(const bool *)arg;
    asx_region_options options = { .tasks_max = 1,
                                   .admission = ASX_ADMISSION_WAIT,
                                   .timeout_ns = times_out ? ASX_MS : 0 };
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    if (times_out)
        (void)asx_sleep(cx, 2 * ASX_MS);
    else
        CHECK_STATUS(asx_region_cancel(&r, NULL), ASX_OK);
    for (int i = 0; i < 2; i++)
        refused[i] = asx_spawn(&r, "late", nothing, NULL);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_start_that_is_refused_takes_no_place)
{
    for (int i = 0; i < 2; i++) {
        bool times_out = i != 0;
        asx_explore_result result;
        refused[0] = refused[1] = ASX_OK;
        CHECK_STATUS(asx_explore(two_starts_come_late, &times_out, NULL, &result), ASX_OK);
        CHECK_STATUS(result.status, ASX_OK);
        CHECK(result.complete);
        CHECK_EQ(result.totals.executions, 1);
        CHECK_EQ(result.totals.deadlocks, 0);
        CHECK(refused[0] < 0);
        CHECK_STATUS(refused[1], refused[0]);
    }
}

static int runs;

static void not_the_same_twice(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    x = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", store_one, &x), ASX_OK);
    if (runs++ == 0)
        CHECK_STATUS(asx_spawn(&r, "b", store_one, &x), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

/* As many operations each time, but not the same. */
static asx_status stores_or_loads(asx_cx *cx, void *arg)
{
    if (runs++ % 2 == 0)
        asx_lab_store(cx, &x, 1);
    else
        (void)asx_lab_load(cx, &x);
    return store_one(cx, arg);
}

static void not_the_same_operations(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    x = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_spawn(&r, "a", stores_or_loads, &x), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

static asx_status locks_once(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    CHECK_STATUS(asx_mutex_lock(cx, arg, &guard), ASX_OK);
    asx_mutex_unlock(&guard);
    return ASX_OK;
}

/* Another object each time. */
static void not_the_same_object(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_mutex locks[2];
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(asx_mutex_create(&r, NULL, &locks[i]), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_spawn(&r, "a", locks_once, &locks[runs++ % 2]), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

/* At first all store to one cell, later each to its own: addresses may be others each time, so that
 * only the classes tell, all of which are the same then. */
static void not_the_same_cells(asx_cx *cx, void *arg)
{
    static int cells[3];
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_spawn(&r, "a", store_one, &cells[runs == 0 ? 0 : i]), ASX_OK);
    runs++;
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

static void is_noticed(asx_lab_fn fn, asx_explore_mode mode, uint32_t jobs)
{
    asx_explore_options options = { .mode = mode, .jobs = jobs };
    asx_explore_result result;
    runs = 0;
    CHECK_STATUS(asx_explore(fn, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_E_DIVERGED);
    CHECK_EQ(result.stopped, ASX_EXPLORE_STOP_FAILED);
    CHECK(!result.complete);
}

ASX_TEST(a_program_that_is_not_deterministic_is_noticed)
{
    static const asx_lab_fn fns[] = { not_the_same_twice, not_the_same_operations,
                                      not_the_same_object };
    for (size_t i = 0; i < sizeof fns / sizeof fns[0]; i++) {
        is_noticed(fns[i], ASX_EXPLORE_OPTIMAL, 1);
        is_noticed(fns[i], ASX_EXPLORE_DFS, 1);
    }
    is_noticed(not_the_same_cells, ASX_EXPLORE_OPTIMAL, 1);
    is_noticed(not_the_same_cells, ASX_EXPLORE_OPTIMAL, 2);
}

ASX_TEST(arguments_are_looked_at)
{
    asx_explore_options options = { .mode = (asx_explore_mode)99 };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(lost_update, NULL, &options, &result), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_explore(NULL, NULL, NULL, &result), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_explore(lost_update, NULL, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK(asx_explore_mode_str(ASX_EXPLORE_MODE_COUNT) == NULL);
    CHECK_STR_EQ(asx_explore_mode_str(ASX_EXPLORE_PCT), "pct");
}

/* ---- sampling, limits, other ---------------------------------------------------------------- */

ASX_TEST(sampling_finds_the_bug_and_the_same_seed_finds_it_again)
{
    static const asx_explore_mode modes[] = { ASX_EXPLORE_RANDOM, ASX_EXPLORE_PCT };
    for (size_t i = 0; i < 2; i++) {
        seen first = { 0 }, second = { 0 };
        asx_explore_options options = { .mode = modes[i],
                                        .seed = 3,
                                        .stop_at_first = true,
                                        .on_failure = on_failure,
                                        .ctx = &first };
        asx_explore_result one, two;
        CHECK_STATUS(asx_explore(lost_update, NULL, &options, &one), ASX_OK);
        options.ctx = &second;
        CHECK_STATUS(asx_explore(lost_update, NULL, &options, &two), ASX_OK);
        CHECK_EQ(one.totals.bugs, 1);
        CHECK(!one.complete);
        CHECK_EQ(one.totals.executions, two.totals.executions);
        CHECK_STR_EQ(first.schedule, second.schedule);
    }
}

static bool stop_soon(void *ctx, const asx_explore_progress *progress)
{
    *(uint64_t *)ctx = progress->executions;
    return false;
}

ASX_TEST(limits_stop_an_exploration_before_it_is_complete)
{
    asx_explore_options options = { .executions_max = 2 };
    asx_explore_result result;
    uint64_t told = 0;
    CHECK_STATUS(asx_explore(lost_update, NULL, &options, &result), ASX_OK);
    CHECK_EQ(result.totals.executions, 2);
    CHECK(!result.complete);
    options = (asx_explore_options){ .mode = ASX_EXPLORE_RANDOM,
                                     .executions_max = 1000000,
                                     .on_progress = stop_soon,
                                     .ctx = &told };
    CHECK_STATUS(asx_explore(lost_update, NULL, &options, &result), ASX_OK);
    CHECK_EQ(result.totals.executions, told);
    options = (asx_explore_options){ .mode = ASX_EXPLORE_RANDOM,
                                     .executions_max = UINT64_MAX,
                                     .time_max_ns = 10 * ASX_MS };
    CHECK_STATUS(asx_explore(lost_update, NULL, &options, &result), ASX_OK);
    CHECK(result.totals.elapsed_ns >= 10 * ASX_MS);
}

/* The first hundred are fast, the others take a hundredth of a second. */
static void slow_in_the_end(asx_cx *cx, void *arg)
{
    uint64_t *count = arg;
    if (++*count > 100)
        (void)usleep(10000);
    lost_update(cx, NULL);
}

ASX_TEST(slow_executions_end_soon_after_their_time)
{
    asx_explore_options options = { .mode = ASX_EXPLORE_RANDOM, .executions_max = UINT64_MAX,
                                    .time_max_ns = ASX_MS };
    asx_explore_result result;
    uint64_t count = 100;
    CHECK_STATUS(asx_explore(slow_in_the_end, &count, &options, &result), ASX_OK);
    CHECK_EQ(result.stopped, ASX_EXPLORE_STOP_TIME);
    CHECK_EQ(result.totals.executions, 1);
    options.time_max_ns = 1500 * ASX_MS;
    count = 0;
    CHECK_STATUS(asx_explore(slow_in_the_end, &count, &options, &result), ASX_OK);
    CHECK_EQ(result.stopped, ASX_EXPLORE_STOP_TIME);
    CHECK_LE(result.totals.executions, 100 + 151);
}

static void small_types(asx_cx *cx, void *arg)
{
    signed char c = -1;
    short s = -2;
    const char *p = "a";
    int64_t big = INT64_MIN;
    (void)arg;
    asx_lab_check(cx, asx_lab_load(cx, &c) == -1);
    asx_lab_check(cx, asx_lab_fetch_add(cx, &c, 3) == -1 && c == 2);
    asx_lab_check(cx, asx_lab_cas(cx, &s, -2, -3) && s == -3);
    asx_lab_check(cx, !asx_lab_cas(cx, &s, -2, 5) && s == -3);
    asx_lab_check(cx, asx_lab_cas(cx, &p, p, "b") && p[0] == 'b');
    asx_lab_check(cx, asx_lab_load(cx, &big) == INT64_MIN);
    asx_lab_store(cx, &big, -1);
    asx_lab_check(cx, big == -1);
}

ASX_TEST(cells_keep_their_type)
{
    asx_explore_result result = explore(small_types, NULL, ASX_EXPLORE_OPTIMAL);
    CHECK_EQ(result.totals.bugs, 0);
    CHECK_EQ(result.totals.executions, 1);
    CHECK_EQ(result.totals.steps, 7);
}

static asx_status outside(asx_cx *cx, void *arg)
{
    asx_lab_mutex m = { 0 };
    asx_lab_semaphore s = { 1 };
    (void)arg;
    x = 3;
    CHECK_EQ(asx_lab_load(cx, &x), 3);
    asx_lab_store(cx, &x, 4);
    CHECK(asx_lab_cas(cx, &x, 4, 5));
    CHECK_EQ(asx_lab_fetch_add(cx, &x, 2), 5);
    CHECK_EQ(x, 7);
    CHECK_EQ(asx_lab_choose(cx, 4), 0);
    CHECK_STATUS(asx_lab_mutex_lock(cx, &m), ASX_OK);
    CHECK_STATUS(asx_lab_mutex_try_lock(cx, &m), ASX_E_BUSY);
    CHECK_STATUS(asx_lab_mutex_lock(cx, &m), ASX_E_WOULD_DEADLOCK);
    CHECK_STATUS(asx_lab_mutex_unlock(cx, &m), ASX_OK);
    CHECK_STATUS(asx_lab_mutex_unlock(cx, &m), ASX_E_NOT_OWNER);
    CHECK_STATUS(asx_lab_mutex_lock(cx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_semaphore_acquire(cx, &s, 1), ASX_OK);
    CHECK_STATUS(asx_lab_semaphore_acquire(cx, &s, 1), ASX_E_WOULD_DEADLOCK);
    CHECK_STATUS(asx_lab_semaphore_release(cx, &s, 1), ASX_OK);
    return ASX_OK;
}

ASX_TEST(on_an_ordinary_runtime_operations_are_done_at_once)
{
    CHECK_EQ(asx_main(outside, NULL), 0);
}

static void looks_at_itself(asx_cx *cx, void *arg)
{
    seen *s = arg;
    char little[4] = "...", lines[40];
    asx_explore_look look;
    asx_lab_store(cx, &x, 1);
    CHECK_STATUS(asx_explore_position(little, sizeof little, NULL, 0, &look), ASX_OK);
    CHECK_EQ(strlen(little) < sizeof little, 1);
    CHECK_STATUS(asx_explore_position(NULL, 0, lines, sizeof lines, &look), ASX_OK);
    CHECK(strlen(lines) > 20 && strstr(lines, "store") == NULL); /* the head, and no half lines */
    CHECK_STATUS(asx_explore_position(s->schedule, sizeof s->schedule, s->interleaving,
                                      sizeof s->interleaving, &look),
                 ASX_OK);
    CHECK_EQ(look.steps, 1);
    CHECK_EQ(look.totals.executions, 0);
    CHECK(look.in_task);
    asx_lab_check(cx, false);
}

ASX_TEST(what_an_execution_has_done_can_be_told_before_it_ends)
{
    seen looked = { 0 }, told = { 0 };
    asx_explore_options options = { .on_failure = on_failure, .ctx = &told };
    asx_explore_result result;
    asx_explore_look look;
    CHECK_STATUS(asx_explore(looks_at_itself, &looked, &options, &result), ASX_OK);
    CHECK_EQ(told.failures, 1);
    CHECK(looked.schedule[0] != '\0');
    CHECK_EQ(strncmp(told.schedule, looked.schedule, strlen(looked.schedule)), 0);
    CHECK(strstr(looked.interleaving, "store") != NULL);
    CHECK_STATUS(asx_explore_position(NULL, 0, NULL, 0, &look), ASX_E_WRONG_CONTEXT);
}
