/* What people are shown of an execution that failed: checks as they are written, yields, values,
 * steps that come again, which lock a wait for a condition takes again. And waits until something
 * holds. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdio.h>
#include <string.h>

#include "harness.h"

static char lanes[16384], text[1024];
static asx_explore_result result;

static void keep(void *ctx, const asx_explore_failure *failure)
{
    (void)ctx;
    (void)snprintf(lanes, sizeof lanes, "%s", failure->interleaving);
    (void)snprintf(text, sizeof text, "%s", failure->text);
}

static void explore_as(asx_lab_fn fn, asx_explore_options options)
{
    options.on_failure = keep;
    options.tell_first = true;
    lanes[0] = text[0] = '\0';
    CHECK_STATUS(asx_explore(fn, NULL, &options, &result), ASX_OK);
}

static void explore(asx_lab_fn fn)
{
    explore_as(fn, (asx_explore_options){ .stop_at_first = true });
    CHECK_STATUS(result.status, ASX_OK);
}

static void shows(const char *words)
{
    if (strstr(lanes, words) == NULL)
        asx_test_fail(__FILE__, __LINE__, "no \"%s\" in\n%s", words, lanes);
}

static int hits, ready, never;

static void play(asx_cx *cx, asx_task_fn one, asx_task_fn two)
{
    asx_region r;
    hits = ready = never = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "one", one, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "two", two, NULL), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
}

/* ---- checks --------------------------------------------------------------------------------- */

#define REQUIRE(expr) asx_lab_check(cx, expr)

static asx_status hit(asx_cx *cx, void *arg)
{
    (void)arg;
    int seen = asx_lab_load(cx, &hits);
    (void)asx_yield(cx);
    asx_lab_store(cx, &hits, seen + 1);
    return ASX_OK;
}

static void loads_in_a_check(asx_cx *cx, void *arg)
{
    (void)arg;
    play(cx, hit, hit);
    REQUIRE(asx_lab_load(cx, &hits) == 2);
}

ASX_TEST(a_check_behind_a_macro_is_shown_as_it_is_written)
{
    explore(loads_in_a_check);
    CHECK_STR_EQ(text, "asx_lab_load(cx, &hits) == 2");
    shows("<- asx_lab_load(cx, &hits) == 2 (test_shown.c:");
}

static void many_calls_in_a_check(asx_cx *cx, void *arg)
{
    asx_lab_mutex mutex = { 0 };
    (void)arg;
    play(cx, hit, hit);
    REQUIRE(asx_lab_cas(cx, &hits, 1, 7) && asx_checkpoint(cx) == ASX_OK &&
            asx_lab_mutex_lock(cx, &mutex) == ASX_OK &&
            asx_lab_fetch_add(cx, &hits, ready + 1) < 0 && "\"("[0] == '(');
}

ASX_TEST(calls_in_a_check_are_shown_as_they_are_written)
{
    explore(many_calls_in_a_check);
    CHECK_STR_EQ(text, "asx_lab_cas(cx, &hits, 1, 7) && asx_checkpoint(cx) == ASX_OK && "
                    "asx_lab_mutex_lock(cx, &mutex) == ASX_OK && "
                    "asx_lab_fetch_add(cx, &hits, ready + 1) < 0 && \"\\\"(\"[0] == '('");
}

static void reads_in_a_check(asx_cx *cx, void *arg)
{
    (void)arg;
    play(cx, hit, hit);
    asx_lab_check(cx, hits == 2 && never == 0);
}

ASX_TEST(the_values_of_what_a_check_names_are_shown)
{
    explore(reads_in_a_check);
    shows("<- hits == 2 && never == 0 (test_shown.c:");
    shows("), where hits = 1\n");
}

ASX_TEST(yields_are_shown_where_they_are)
{
    explore(reads_in_a_check);
    const char *load = strstr(lanes, "load hits -> 0"), *yield = strstr(lanes, "yield ");
    CHECK(load != NULL && yield != NULL && load < yield);
    CHECK(strstr(yield, "test_shown.c:") != NULL);
}

/* ---- folding -------------------------------------------------------------------------------- */

static asx_status spins(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++)
        (void)asx_lab_load(cx, &ready);
    for (int i = 0; i < 50; i++)
        asx_lab_store(cx, &ready, i % 2);
    asx_lab_check(cx, false);
    return ASX_OK;
}

static asx_status rests(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

static void spins_and_fails(asx_cx *cx, void *arg)
{
    (void)arg;
    play(cx, spins, rests);
}

ASX_TEST(steps_that_come_again_are_shown_once)
{
    explore(spins_and_fails);
    shows("... the same again, 49 times\n");
    shows("... these 2 lines again, 23 times\n"); /* the first store finds what no other finds */
    int lines = 0;
    for (const char *at = lanes; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    CHECK(lines < 12);
}

/* ---- conditions ----------------------------------------------------------------------------- */

static asx_mutex lock;
static asx_condition changed;

static asx_status waits(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    CHECK_STATUS(asx_mutex_lock(cx, &lock, &guard), ASX_OK);
    CHECK_STATUS(asx_condition_wait(cx, &changed, &guard), ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    asx_lab_check(cx, false);
    return ASX_OK;
}

static asx_status signals(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    CHECK_STATUS(asx_mutex_lock(cx, &lock, &guard), ASX_OK);
    (void)asx_condition_signal(&changed);
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    return ASX_OK;
}

static void waits_for_a_condition(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, NULL, &lock), ASX_OK);
    CHECK_STATUS(asx_condition_create(&r, NULL, &changed), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "waits", waits, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "signals", signals, NULL), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_wait_for_a_condition_locks_the_mutex_again_and_not_the_condition)
{
    explore_as(waits_for_a_condition, (asx_explore_options){ .stop_at_first = false });
    CHECK_GE(result.totals.bugs, 1);
    shows("wait for condition changed ");
    shows("lock again lock ");
}

/* ---- a test that is not deterministic ------------------------------------------------------- */

static int runs;

static asx_status odd(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_lab_load(cx, &hits);
    if (runs++ % 5 == 3)
        asx_lab_store(cx, &hits, 1);
    else
        (void)asx_lab_load(cx, &ready);
    asx_lab_store(cx, &ready, 1);
    return ASX_OK;
}

static void is_odd(asx_cx *cx, void *arg)
{
    (void)arg;
    play(cx, odd, odd);
}

static void diverges_at(uint32_t jobs)
{
    runs = 0;
    explore_as(is_odd, (asx_explore_options){ .jobs = jobs });
    CHECK_STATUS(result.status, ASX_E_DIVERGED);
    if (strstr(result.diverged, "step ") != result.diverged ||
        strstr(result.diverged, ": task 2 two is about to ") == NULL ||
        strstr(result.diverged, " (test_shown.c:") == NULL ||
        strstr(result.diverged, "; before it did: ") == NULL)
        asx_test_fail(__FILE__, __LINE__, "%u jobs: \"%s\"", (unsigned)jobs, result.diverged);
}

ASX_TEST(a_test_that_is_not_deterministic_is_told_the_step_the_task_and_the_line)
{
    diverges_at(1);
}

/* ---- waiting until something holds ---------------------------------------------------------- */

static asx_status adds(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_lab_store(cx, &hits, 1);
    (void)asx_lab_fetch_add(cx, &ready, 1);
    return ASX_OK;
}

static asx_status waits_for_both(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_lab_until(cx, asx_lab_load(cx, &ready) == 2), ASX_OK);
    asx_lab_check(cx, asx_lab_load(cx, &hits) == 1);
    return ASX_OK;
}

static void waits_until_it_holds(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    hits = ready = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "waits", waits_for_both, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "one", adds, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "two", adds, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

/* Brute force has as many classes: each interleaving is run there. */
ASX_TEST(a_wait_until_something_holds_is_no_livelock)
{
    explore_as(waits_until_it_holds, (asx_explore_options){ .mode = ASX_EXPLORE_DFS });
    CHECK(result.complete);
    uint64_t classes = result.totals.classes;
    explore_as(waits_until_it_holds, (asx_explore_options){ .mode = ASX_EXPLORE_OPTIMAL });
    CHECK(result.complete);
    CHECK_EQ(result.totals.executions, classes);
    CHECK_EQ(result.totals.bugs + result.totals.deadlocks + result.totals.too_long, 0u);
    CHECK_GE(classes, 8);
}

static asx_status waits_in_vain(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_lab_until(cx, asx_lab_load(cx, &never) != 0);
}

static void waits_for_what_never_holds(asx_cx *cx, void *arg)
{
    (void)arg;
    play(cx, waits_in_vain, adds);
}

ASX_TEST(a_wait_until_something_holds_that_never_does_is_a_deadlock)
{
    explore(waits_for_what_never_holds);
    CHECK_EQ(result.totals.deadlocks, 1u);
    if (strstr(text, "1 one waits until asx_lab_load(cx, &never) != 0 (test_shown.c:") == NULL)
        asx_test_fail(__FILE__, __LINE__, "%s", text);
}

static asx_status is_cancelled(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = asx_lab_until(cx, asx_lab_load(cx, &never) != 0);
    asx_lab_check(cx, st == ASX_E_CANCELLED);
    return st;
}

static void cancels_a_wait(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task task;
    (void)arg;
    never = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, is_cancelled, NULL, NULL, &task), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&task, NULL), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_cancel_ends_a_wait_until_something_holds)
{
    explore_as(cancels_a_wait, (asx_explore_options){ .mode = ASX_EXPLORE_OPTIMAL });
    CHECK(result.complete);
    CHECK_EQ(result.totals.bugs + result.totals.deadlocks, 0u);
}

static asx_status loads_nothing(asx_cx *cx, void *arg)
{
    int cells[ASX_LAB_UNTIL_CELLS_MAX + 1] = { 0 };
    (void)arg;
    asx_lab_check(cx, asx_lab_until(cx, never == 1) == ASX_E_INVALID_ARGUMENT);
    int sum = 0;
    asx_status st = asx_lab_until(cx, ({
        for (int i = 0; i <= ASX_LAB_UNTIL_CELLS_MAX; i++)
            sum += asx_lab_load(cx, &cells[i]);
        sum != 0;
    }));
    asx_lab_check(cx, st == ASX_E_RESOURCE_EXHAUSTED);
    asx_lab_until_end(cx); /* of nothing */
    return ASX_OK;
}

static void waits_wrongly(asx_cx *cx, void *arg)
{
    (void)arg;
    play(cx, loads_nothing, adds);
}

ASX_TEST(a_wait_that_no_task_could_end_is_refused)
{
    explore_as(waits_wrongly, (asx_explore_options){ .mode = ASX_EXPLORE_OPTIMAL });
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_EQ(result.totals.bugs, 0u);
}
