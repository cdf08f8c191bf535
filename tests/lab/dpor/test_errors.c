/* Tasks that end with an error: who has it, and when it fails an execution. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdio.h>
#include <string.h>

#include "harness.h"

static char text[256];

static void keep(void *ctx, const asx_explore_failure *failure)
{
    (void)ctx;
    (void)snprintf(text, sizeof text, "%s (%s)", failure->text, failure->site);
}

static uint64_t bugs_of(asx_lab_fn fn, uint32_t faults)
{
    asx_explore_options options = { .faults = faults, .on_failure = keep };
    asx_explore_result result;
    text[0] = '\0';
    CHECK_STATUS(asx_explore(fn, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK(result.complete);
    return result.totals.bugs;
}

static asx_status finds_nothing(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_E_NOT_FOUND;
}

static asx_status sleeps(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, ASX_SEC);
}

/* ---- nobody has it -------------------------------------------------------------------------- */

static int start_line;

static void forgets(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    start_line = __LINE__ + 1;
    CHECK_STATUS(asx_spawn(&r, "seeker", finds_nothing, NULL), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(an_error_that_nobody_has_fails_the_execution_and_names_the_task)
{
    char place[64];
    CHECK_EQ(bugs_of(forgets, 0), 1);
    CHECK(strstr(text, "1 seeker ended with ASX_E_NOT_FOUND, which nobody joins or expects") ==
          text);
    (void)snprintf(place, sizeof place, "test_errors.c:%d)", start_line);
    CHECK(strstr(text, place) != NULL);
}

static void expects_another(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_lab_expect(cx, ASX_E_BUSY), ASX_OK);
    forgets(cx, arg);
}

ASX_TEST(what_is_expected_is_that_error_and_no_other)
{
    CHECK_EQ(bugs_of(expects_another, 0), 1);
}

static asx_status leaves_open(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    return asx_region_open(cx, NULL, &r);
}

static void collects_a_mistake(asx_cx *cx, void *arg)
{
    asx_region_options collect = { .policy = ASX_POLICY_COLLECT };
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &collect, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "forgetful", leaves_open, NULL), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_region_that_was_left_open_is_a_mistake_whoever_hears_of_it)
{
    CHECK_EQ(bugs_of(collects_a_mistake, 0), 1);
    CHECK(strstr(text, "ASX_E_REGION_LEFT_OPEN") == text);
}

/* ---- somebody has it ------------------------------------------------------------------------ */

/* The others are cancelled, and the close says why. */
static void fails_fast(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "sleeper", sleeps, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "seeker", finds_nothing, NULL), ASX_OK);
    asx_lab_check(cx, asx_region_close(&r, ASX_OK) == ASX_E_NOT_FOUND);
    CHECK_STATUS(asx_lab_expect(cx, ASX_E_NOT_FOUND), ASX_OK);
    CHECK_STATUS(asx_lab_expect(cx, ASX_E_NOT_FOUND), ASX_OK);
}

static void joins(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task task;
    asx_join_result joined;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, finds_nothing, NULL, NULL, &task), ASX_OK);
    if (asx_join(cx, &task, &joined) == ASX_OK)
        asx_lab_check(cx, joined.outcome.status == ASX_E_NOT_FOUND);
    (void)asx_region_close(&r, ASX_OK);
}

static void collects(asx_cx *cx, void *arg)
{
    asx_region_options collect = { .policy = ASX_POLICY_COLLECT };
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &collect, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "seeker", finds_nothing, NULL), ASX_OK);
    asx_lab_check(cx, asx_region_close(&r, ASX_OK) == ASX_E_NOT_FOUND);
}

static void calls(asx_cx *cx, void *arg)
{
    asx_branch branches[] = { { "seeker", finds_nothing, NULL }, { "sleeper", sleeps, NULL } };
    asx_join_result results[2];
    size_t winner;
    (void)arg;
    asx_lab_check(cx, asx_timeout(cx, branches, 5 * ASX_SEC, NULL, NULL) == ASX_E_NOT_FOUND);
    asx_lab_check(cx, asx_race_all(cx, branches, 2, NULL, &winner, NULL) == ASX_E_NOT_FOUND);
    asx_lab_check(cx, asx_join_all(cx, branches, 2, NULL, results, NULL) == ASX_E_NOT_FOUND);
    asx_lab_check(cx, results[0].outcome.status == ASX_E_NOT_FOUND);
}

ASX_TEST(an_error_that_somebody_has_is_a_value)
{
    CHECK_EQ(bugs_of(fails_fast, 0), 0);
    CHECK_EQ(bugs_of(joins, 0), 0);
    CHECK_EQ(bugs_of(collects, 0), 0);
    CHECK_EQ(bugs_of(calls, 0), 0);
    CHECK_STR_EQ(text, "");
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void starts(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    if (asx_region_open(cx, NULL, &r) < 0)
        return;
    (void)asx_spawn(&r, "sleeper", sleeps, NULL);
    asx_status st = asx_region_close(&r, ASX_OK);
    asx_lab_check(cx, st == ASX_OK || st == ASX_E_RESOURCE_EXHAUSTED);
}

ASX_TEST(a_task_that_a_fault_has_left_without_a_stack_fails_nothing_by_that)
{
    CHECK_EQ(bugs_of(starts, ASX_EXPLORE_FAULT_STACK), 0);
    CHECK_EQ(bugs_of(starts, ASX_EXPLORE_FAULT_STACK | ASX_EXPLORE_FAULT_ALLOC), 0);
}

/* ---- too many ------------------------------------------------------------------------------- */

static void expects_too_much(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < ASX_LAB_EXPECTED_MAX; i++)
        CHECK_STATUS(asx_lab_expect(cx, (asx_status)(-1 - i)), ASX_OK);
    CHECK_STATUS(asx_lab_expect(cx, (asx_status)-100), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_lab_expect(cx, (asx_status)-1), ASX_OK);
}

static asx_status elsewhere(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_lab_expect(cx, ASX_E_BUSY), ASX_OK); /* nobody listens */
    return ASX_OK;
}

ASX_TEST(no_more_than_so_many_errors_can_be_expected)
{
    asx_lab_options options = { .seed = 1 };
    asx_lab_result result;
    CHECK_EQ(bugs_of(expects_too_much, 0), 0);
    CHECK_STATUS(asx_lab_run(elsewhere, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
}
