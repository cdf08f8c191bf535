/* The known bugs: each is found by the default search, soon, whatever the seed; its repair passes,
 * and is explored completely unless it has too many classes. */
#include <asx/asx_lab.h>

#include <string.h>
#include <time.h>

#include "harness.h"
#include "support_registry.h"

enum { SEEDS = 10, SCHEDULES_MAX = 2000, CLASSES_MAX = 1000000 };

#if ASX_TEST_SANITIZED || ASX_ASSERT_LEVEL > 0
enum { MS_MAX = 4000 };
#else
enum { MS_MAX = 200 };
#endif

/* More than a million classes: looked at, not explored completely. */
static const char *const large[] = { "reorder_10_good",   "reorder_20_good",   "two_stage_19_good",
                                     "two_stage_49_good", "two_stage_99_good" };

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);
    return len >= n && strcmp(text + len - n, end) == 0;
}

static double cpu_ms(void)
{
    struct timespec ts;
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts) == 0);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void find(const asx_lab_test *test, uint64_t seed)
{
    asx_explore_options options = { .seed = seed };
    asx_explore_result result;
    asx_lab_finding finding;
    double before = cpu_ms();
    CHECK_STATUS(asx_lab_search(test->fn, NULL, 0, &options, &result, &finding), ASX_OK);
    double used = cpu_ms() - before;
    if (result.status < 0 || !finding.found || finding.schedules > SCHEDULES_MAX ||
        used > MS_MAX * (double)asx_test_scale())
        asx_test_fail(__FILE__, __LINE__, "%s, seed %u: %s after %u schedules and %.1f ms (%s)",
                      test->name, (unsigned)seed, finding.found ? "found" : "not found",
                      (unsigned)finding.schedules, used, asx_status_str(result.status));
    asx_lab_finding_deinit(&finding);
}

ASX_TEST_TIMEOUT(every_bug_is_found_within_2000_schedules_and_200_ms_for_ten_seeds, 300)
{
    int bugs = 0;
    for (const asx_lab_test *test = lab_tests(); test != NULL; test = test->next) {
        if (!ends_with(test->name, "_bad"))
            continue;
        bugs++;
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            find(test, seed);
    }
    CHECK_GE(bugs, 45);
}

static bool is_large(const char *name)
{
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        if (strcmp(large[i], name) == 0)
            return true;
    return false;
}

static void pass(const asx_lab_test *test)
{
    bool cut = is_large(test->name);
    asx_explore_options options = { .executions_max = cut ? 2000 : CLASSES_MAX };
    asx_explore_result result;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        asx_explore_options some = { .mode = ASX_EXPLORE_SAMPLE, .seed = seed,
                                     .executions_max = 200 };
        CHECK_STATUS(asx_explore(test->fn, NULL, &some, &result), ASX_OK);
        if (result.status < 0 || result.totals.bugs + result.totals.deadlocks != 0)
            asx_test_fail(__FILE__, __LINE__, "%s: seed %u does not pass", test->name,
                          (unsigned)seed);
    }
    CHECK_STATUS(asx_explore(test->fn, NULL, &options, &result), ASX_OK);
    if (result.status < 0 || result.totals.bugs + result.totals.deadlocks +
        result.totals.too_long != 0 || result.complete == cut || result.totals.redundant != 0)
        asx_test_fail(__FILE__, __LINE__, "%s: %u executions, %u bugs, %u deadlocks, %s (%s)",
                      test->name, (unsigned)result.totals.executions,
                      (unsigned)result.totals.bugs, (unsigned)result.totals.deadlocks,
                      result.complete ? "complete" : "bounded", asx_status_str(result.status));
}

ASX_TEST_TIMEOUT(every_repair_passes_and_is_explored_completely, 300)
{
    for (const asx_lab_test *test = lab_tests(); test != NULL; test = test->next)
        if (ends_with(test->name, "_good"))
            pass(test);
}

ASX_TEST(every_bug_has_a_repair)
{
    for (const asx_lab_test *test = lab_tests(); test != NULL; test = test->next) {
        char other[128];
        size_t len = strlen(test->name);
        if (!ends_with(test->name, "_bad"))
            continue;
        memcpy(other, test->name, len - 3);
        memcpy(other + len - 3, "good", 5);
        CHECK(lab_program(other) != NULL);
    }
}

/* ---- searching and shrinking ---------------------------------------------------------------- */

ASX_TEST(a_search_that_finds_nothing_has_explored_every_class)
{
    asx_explore_result result;
    asx_lab_finding finding;
    CHECK_STATUS(asx_lab_search(lab_program("philosophers_5_good"), NULL, 10, NULL, &result,
                                &finding), ASX_OK);
    CHECK(!finding.found);
    CHECK(result.complete);
    CHECK_EQ(result.totals.executions, 30);
    CHECK_EQ(finding.schedules, 40);
    asx_lab_finding_deinit(&finding);
}

typedef struct point {
    char bytes[65536];
    size_t len;
} point;

static asx_status keep_point(void *ctx, const void *bytes, size_t len)
{
    point *p = ctx;
    CHECK_LE(len, sizeof p->bytes);
    memcpy(p->bytes, bytes, len);
    p->len = len;
    return ASX_OK;
}

/* One part of a search of philosophers_5_good, which has 10 samples and 30 classes. Returns how
 * many executions its result tells of: samples until they are done, then classes. */
static uint64_t search_part(asx_explore_options options, uint64_t schedules, bool complete)
{
    static point p;
    point before = p;
    asx_explore_result result;
    asx_lab_finding finding;
    options.on_checkpoint = keep_point;
    options.ctx = &p;
    if (options.resume_len != 0) {
        options.resume = before.bytes;
        options.resume_len = before.len;
    }
    p.len = 0;
    CHECK_STATUS(asx_lab_search(lab_program("philosophers_5_good"), NULL, 10, &options, &result,
                                &finding), ASX_OK);
    CHECK(!finding.found && result.refused == NULL && result.complete == complete);
    CHECK_EQ(result.stopped, complete ? ASX_EXPLORE_STOP_NONE : ASX_EXPLORE_STOP_EXECUTIONS);
    CHECK_EQ(finding.schedules, schedules);
    asx_lab_finding_deinit(&finding);
    return result.totals.executions;
}

/* What is allowed is for the part. Counted are the samples of all parts, together with the classes
 * of the part that draws the last one; then the classes of all parts. */
ASX_TEST(a_search_runs_no_more_than_it_is_allowed_and_goes_on_from_there)
{
    asx_explore_options seven = { .executions_max = 7 }, ten = { .executions_max = 10 },
                        many = { .executions_max = 25 }, rest = { .resume_len = 1 };
    CHECK_EQ(search_part(seven, 7, false), 7);
    CHECK_EQ(search_part(rest, 40, true), 30);
    CHECK_EQ(search_part(ten, 10, false), 10);
    CHECK_EQ(search_part(rest, 40, true), 30);
    CHECK_EQ(search_part(many, 25, false), 15);
    CHECK_EQ(search_part(rest, 30, true), 30);
    CHECK_EQ(search_part(seven, 7, false), 7);
    seven.resume_len = ten.resume_len = 1;
    CHECK_EQ(search_part(seven, 14, false), 4);
    CHECK_EQ(search_part(seven, 11, false), 11);
    CHECK_EQ(search_part(ten, 21, false), 21);
    CHECK_EQ(search_part(ten, 30, true), 30);
}

ASX_TEST(what_sampling_misses_the_exploration_finds)
{
    asx_explore_result result;
    asx_lab_finding finding;
    asx_explore_options options = { .seed = 1 };
    CHECK_STATUS(asx_lab_search(lab_program("philosophers_7_bad"), NULL, 1, &options, &result,
                                &finding), ASX_OK);
    CHECK(finding.found);
    CHECK_EQ(finding.verdict, ASX_EXPLORE_DEADLOCK);
    CHECK_GE(finding.schedules, 2);
    asx_lab_finding_deinit(&finding);
}

static asx_lab_finding found(const char *name, uint64_t seed)
{
    asx_explore_result result;
    asx_lab_finding finding;
    asx_explore_options options = { .seed = seed };
    CHECK_STATUS(asx_lab_search(lab_program(name), NULL, 0, &options, &result, &finding), ASX_OK);
    CHECK(finding.found);
    return finding;
}

/* Nineteen setters take part, one is enough. */
ASX_TEST(shrinking_leaves_out_tasks_and_switches_that_are_not_needed)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        asx_lab_finding finding = found("reorder_20_bad", seed);
        asx_explore_verdict verdict = finding.verdict;
        CHECK_STATUS(asx_lab_shrink(&finding, lab_program("reorder_20_bad"), NULL, 0, NULL),
                     ASX_OK);
        CHECK_EQ(finding.verdict, verdict);
        CHECK_EQ(finding.tasks, 2);
        CHECK_LE(finding.switches, 2);
        CHECK_LE(finding.steps, 4);
        CHECK(strstr(finding.interleaving, "support_cells.c:") != NULL);
        asx_lab_finding_deinit(&finding);
    }
}

ASX_TEST(what_was_shrunk_fails_again_in_the_same_way)
{
    asx_lab_finding finding = found("stack_aba_bad", 3);
    char site[256];
    CHECK(strlen(finding.site) < sizeof site);
    strcpy(site, finding.site);
    CHECK_STATUS(asx_lab_shrink(&finding, lab_program("stack_aba_bad"), NULL, 0, NULL), ASX_OK);
    CHECK_STR_EQ(finding.site, site);
    asx_explore_options options = { .schedule = finding.schedule };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(lab_program("stack_aba_bad"), NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_EQ(result.totals.bugs, 1);
    asx_lab_finding_deinit(&finding);
}

static int level;

static asx_status raises_it(asx_cx *cx, void *arg)
{
    asx_lab_store(cx, &level, (int)(uintptr_t)arg);
    return ASX_OK;
}

static asx_status fails_at_two(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_lab_load(cx, &level) == 2 ? ASX_E_BUSY : ASX_OK;
}

static void fails_fast(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    level = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "one", raises_it, (void *)1), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "two", raises_it, (void *)2), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "reader", fails_at_two, NULL), ASX_OK);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
}

/* Only the failure cancels, and cancelling makes operations of what was none before: a replay that
 * did not know would lose its way before it comes there. */
ASX_TEST(a_failure_that_is_the_first_to_cancel_fails_again_in_the_same_way)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        asx_explore_result result;
        asx_lab_finding finding;
        asx_explore_options options = { .seed = seed };
        CHECK_STATUS(asx_lab_search(fails_fast, NULL, 0, &options, &result, &finding), ASX_OK);
        CHECK(finding.found);
        CHECK_STATUS(asx_lab_shrink(&finding, fails_fast, NULL, 0, NULL), ASX_OK);
        CHECK_EQ(finding.verdict, ASX_EXPLORE_FAILED);
        options.schedule = finding.schedule;
        CHECK_STATUS(asx_explore(fails_fast, NULL, &options, &result), ASX_OK);
        CHECK_STATUS(result.status, ASX_OK);
        CHECK_EQ(result.totals.bugs, 1);
        asx_lab_finding_deinit(&finding);
    }
}

ASX_TEST(what_a_schedule_says_it_has_learned_is_known_or_refused)
{
    asx_explore_result result;
    asx_explore_options options = { .schedule = "+cancels +wishes 0" };
    CHECK_STATUS(asx_explore(fails_fast, NULL, &options, &result), ASX_E_INVALID_ARGUMENT);
    options.schedule = "0 +cancels";
    CHECK_STATUS(asx_explore(fails_fast, NULL, &options, &result), ASX_E_INVALID_ARGUMENT);
    options.schedule = "+cancels";
    CHECK_STATUS(asx_explore(fails_fast, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
}

static int choice_made;

static void chooser(asx_cx *cx, void *arg)
{
    (void)arg;
    choice_made = (int)asx_lab_choose(cx, 4);
    int other = (int)asx_lab_choose(cx, 4);
    asx_lab_check(cx, choice_made != 3 || other < 0);
}

ASX_TEST(shrinking_takes_back_choices_that_are_not_needed)
{
    asx_explore_result result;
    asx_lab_finding finding;
    asx_explore_options options = { .seed = 5 };
    bool both = false;
    for (; !both; options.seed++) {
        CHECK_STATUS(asx_lab_search(chooser, NULL, 0, &options, &result, &finding), ASX_OK);
        CHECK(finding.found);
        both = strstr(finding.schedule, "0:3 0:0") == NULL;
        if (!both)
            asx_lab_finding_deinit(&finding);
    }
    CHECK_STATUS(asx_lab_shrink(&finding, chooser, NULL, 0, NULL), ASX_OK);
    CHECK_STR_EQ(finding.schedule, "0:3 0:0");
    asx_lab_finding_deinit(&finding);
}

static char lanes[512];

static void note_lanes(void *ctx, const asx_explore_failure *failure)
{
    (void)ctx;
    CHECK(strlen(failure->interleaving) < sizeof lanes);
    strcpy(lanes, failure->interleaving);
}

static asx_status sleeps_there(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_lab_here(cx, "some/folder/place.c:12");
    return asx_sleep(cx, 5 * ASX_MS);
}

static void says_where(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    asx_time before = asx_now(cx);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "sleeper", sleeps_there, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    asx_lab_check_at(cx, asx_now(cx) == before, "no time has passed", "here");
}

ASX_TEST(an_operation_of_the_runtime_is_shown_with_its_place)
{
    asx_explore_result result;
    asx_explore_options options = { .on_failure = note_lanes };
    CHECK_STATUS(asx_explore(says_where, NULL, &options, &result), ASX_OK);
    CHECK_EQ(result.totals.bugs, 1);
    CHECK_EQ(result.totals.executions, 1); /* the clock moves when nothing can go, so once */
    CHECK(result.complete);
    CHECK(strstr(lanes, "sleep ") != NULL);
    CHECK(strstr(lanes, " place.c:12\n") != NULL);
}

static int runs;

/* Fails in its first two executions only. */
static void moody(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_lab_check(cx, runs++ > 0);
}

ASX_TEST(a_failure_that_does_not_repeat_is_told)
{
    asx_explore_result result;
    asx_lab_finding finding;
    runs = 0;
    CHECK_STATUS(asx_lab_search(moody, NULL, 0, NULL, &result, &finding), ASX_OK);
    CHECK(finding.found);
    CHECK_STATUS(asx_lab_shrink(&finding, moody, NULL, 0, NULL), ASX_E_DIVERGED);
    CHECK(finding.found && finding.schedule != NULL);
    asx_lab_finding_deinit(&finding);
}

ASX_TEST(nothing_found_is_not_shrunk)
{
    asx_explore_result result;
    asx_lab_finding finding = { 0 };
    asx_lab_fn fn = lab_program("account_good");
    CHECK_STATUS(asx_lab_shrink(&finding, fn, NULL, 0, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_shrink(NULL, fn, NULL, 0, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_search(NULL, NULL, 0, NULL, &result, &finding), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_search(fn, NULL, 0, NULL, NULL, &finding), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_search(fn, NULL, 0, NULL, &result, NULL), ASX_E_INVALID_ARGUMENT);
    asx_lab_finding_deinit(NULL);
}
