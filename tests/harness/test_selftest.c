/*
 * test_selftest.c - the harness reports what it must: a harness that cannot fail
 * would make every other test worthless. Time limits are among it: ctest-labels: clock
 *
 * Each test here hands a list of victims to asx_test_main in a child whose
 * standard output is a pipe, and looks at the lines and the exit code. No program
 * is executed, so the tests also run under qemu-user.
 */
#include "harness.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

struct run {
    int exit_code;
    char output[4096];
};

static struct run run_victims(const struct asx_test_case *first, int argc, char **argv)
{
    struct run run = { .exit_code = -1 };
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        int code = asx_test_main(first, argc, argv);
        fflush(NULL);
        _exit(code);
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t got = 0;
    while ((got = read(ends[0], run.output + used, sizeof run.output - 1 - used)) > 0)
        used += (size_t)got;
    close(ends[0]);
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    run.exit_code = WEXITSTATUS(status);
    return run;
}

static struct run run_one(void (*victim)(void), unsigned timeout_s)
{
    struct asx_test_case test_case = { "victim", victim, timeout_s, NULL };
    char name[] = "selftest";
    char *argv[] = { name, NULL };
    return run_victims(&test_case, 1, argv);
}

static void check_reported(struct run run, const char *line_part)
{
    CHECK_EQ(run.exit_code, 1);
    if (!strstr(run.output, line_part))
        asx_test_fail(__FILE__, __LINE__, "\"%s\" is not in: %s", line_part, run.output);
    CHECK(strstr(run.output, "0 passed, 1 failed\n") != NULL);
}

static void passes(void)
{
    CHECK(1 + 1 == 2);
    CHECK_EQ(UINT64_MAX, UINT64_MAX);
    CHECK_NE(-1, UINT64_MAX);
    CHECK_GE(0u, -1);
    CHECK_LE(INT64_MIN, UINT64_MAX);
    CHECK_STR_EQ("a", "a");
    CHECK_MEM_EQ("ab", "ab", 2);
    CHECK_STATUS(-3, -3);
}

static void fails_check(void)
{
    CHECK(1 + 1 == 3);
}

static void fails_eq(void)
{
    CHECK_EQ(UINT64_MAX, -1);
}

static void fails_ne(void)
{
    CHECK_NE(7, 7L);
}

static void fails_ge(void)
{
    CHECK_GE(-2, -1);
}

static void fails_le(void)
{
    CHECK_LE(2, 1);
}

static void fails_str(void)
{
    const char *none = NULL;
    CHECK_STR_EQ("a", none);
}

static void fails_ptr(void)
{
    char a[2] = { 0 };
    CHECK_PTR_EQ(a, a + 1);
}

static void fails_mem(void)
{
    CHECK_MEM_EQ("ab", "ac", 2);
}

static void fails_status(void)
{
    CHECK_STATUS(-3, 0);
}

static void crashes(void)
{
    struct rlimit no_core = { 0, 0 };
    setrlimit(RLIMIT_CORE, &no_core);
    raise(SIGBUS);
}

static void exits_early(void)
{
    exit(7);
}

static void hangs(void)
{
    for (;;)
        pause();
}

static char small_stack[32768];
static ucontext_t small_context, main_context;

static void fails_on_small_stack(void)
{
    makecontext(&small_context, fails_check, 0);
    swapcontext(&main_context, &small_context);
}

static void fails_on_another_stack(void)
{
    CHECK_EQ(getcontext(&small_context), 0);
    small_context.uc_stack.ss_sp = small_stack;
    small_context.uc_stack.ss_size = sizeof small_stack;
    small_context.uc_link = &main_context;
    fails_on_small_stack();
}

static void returns_quietly(void *arg)
{
    (void)arg;
}

static void aborts(void *arg)
{
    (void)arg;
    abort();
}

static void survives_its_death_test(void)
{
    CHECK_DIES(returns_quietly, NULL);
}

ASX_TEST(a_passing_test_is_ok_and_exits_0)
{
    struct run run = run_one(passes, 20);
    CHECK_STR_EQ(run.output, "ok victim\n1 passed, 0 failed\n");
    CHECK_EQ(run.exit_code, 0);
}

ASX_TEST(a_failing_check_of_each_kind_is_reported_with_its_values)
{
    check_reported(run_one(fails_check, 20), "CHECK(1 + 1 == 3)");
    check_reported(run_one(fails_eq, 20), "left 18446744073709551615, right -1");
    check_reported(run_one(fails_ne, 20), "7 != 7L: left 7, right 7");
    check_reported(run_one(fails_ge, 20), "-2 >= -1: left -2, right -1");
    check_reported(run_one(fails_le, 20), "2 <= 1: left 2, right 1");
    check_reported(run_one(fails_str, 20), "left \"a\", right NULL");
    check_reported(run_one(fails_ptr, 20), "a == a + 1: left 0x");
    check_reported(run_one(fails_mem, 20), "byte 1 is 62 left, 63 right");
    check_reported(run_one(fails_status, 20), "-3: status -3");
}

ASX_TEST(a_failure_names_file_and_line)
{
    check_reported(run_one(fails_check, 20), "FAIL victim ");
    check_reported(run_one(fails_check, 20), "test_selftest.c:");
}

ASX_TEST(a_check_may_fail_on_a_small_stack_of_its_own)
{
    check_reported(run_one(fails_on_another_stack, 20), "CHECK(1 + 1 == 3)");
}

ASX_TEST(a_crash_is_reported_with_its_signal)
{
    char text[64];
    snprintf(text, sizeof text, "FAIL victim signal %d (", SIGBUS);
    struct run run = run_one(crashes, 20);
    /* A sanitizer turns the signal into its own exit code. */
    check_reported(run, strstr(run.output, "exit code") ? "FAIL victim exit code " : text);
}

ASX_TEST(leaving_with_another_exit_code_is_a_failure)
{
    check_reported(run_one(exits_early, 20), "FAIL victim exit code 7");
}

ASX_TEST(a_hanging_test_is_ended_at_its_limit)
{
    setenv("ASX_TEST_SCALE", "1", 1);
    check_reported(run_one(hangs, 1), "FAIL victim timed out after 1 s");
}

/* Half a second of work in a quarter of a processor. */
static void works_among_others(void)
{
    cpu_set_t all, one;
    struct timespec used;
    size_t first = 0;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    for (int i = 0; i < 3; i++)
        if (fork() == 0)
            for (;;) /* until the harness ends what the test has left behind */
                __asm__ volatile("");
    do
        CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    while (used.tv_sec == 0 && used.tv_nsec < 500000000);
}

ASX_TEST(the_limit_does_not_count_what_others_took)
{
    setenv("ASX_TEST_SCALE", "1", 1);
    struct run run = run_one(works_among_others, 1);
    CHECK(strstr(run.output, "ok victim") != NULL);
}

ASX_TEST(the_scale_multiplies_the_limit)
{
    setenv("ASX_TEST_SCALE", "2", 1);
    CHECK_EQ(asx_test_scale(), 2);
    check_reported(run_one(hangs, 1), "FAIL victim timed out after 2 s");
}

ASX_TEST(a_death_test_wants_a_death)
{
    CHECK_DIES(aborts, NULL);
    check_reported(run_one(survives_its_death_test, 20), "should have died");
}

ASX_TEST(a_run_goes_on_after_a_failure_and_counts_both)
{
    struct asx_test_case third = { "third_good", passes, 20, NULL };
    struct asx_test_case second = { "second_bad", fails_eq, 20, &third };
    struct asx_test_case first = { "first_good", passes, 20, &second };
    char name[] = "selftest", filter[] = "--filter", good[] = "good", list[] = "--list";

    char *all[] = { name, NULL };
    struct run run = run_victims(&first, 1, all);
    CHECK_EQ(run.exit_code, 1);
    CHECK(strstr(run.output, "ok third_good\n2 passed, 1 failed\n") != NULL);

    char *filtered[] = { name, filter, good, NULL };
    run = run_victims(&first, 3, filtered);
    CHECK_EQ(run.exit_code, 0);
    CHECK_STR_EQ(run.output, "ok first_good\nok third_good\n2 passed, 0 failed\n");

    char *listed[] = { name, list, NULL };
    run = run_victims(&first, 2, listed);
    CHECK_STR_EQ(run.output, "first_good\nsecond_bad\nthird_good\n");
}

ASX_TEST(a_run_that_is_to_stop_does_so_after_its_first_failure)
{
    struct asx_test_case third = { "third", passes, 20, NULL };
    struct asx_test_case second = { "second", fails_eq, 20, &third };
    struct asx_test_case first = { "first", passes, 20, &second };
    char name[] = "selftest", stop[] = "--stop";
    char *argv[] = { name, stop, NULL };
    struct run run = run_victims(&first, 2, argv);
    CHECK_EQ(run.exit_code, 1);
    CHECK(strstr(run.output, "third") == NULL);
    CHECK(strstr(run.output, "1 passed, 1 failed\n") != NULL);
}

ASX_TEST(running_no_test_at_all_is_a_failure)
{
    struct asx_test_case only = { "only", passes, 20, NULL };
    char name[] = "selftest", filter[] = "--filter", other[] = "nothing_like_it";
    char *argv[] = { name, filter, other, NULL };
    struct run run = run_victims(&only, 3, argv);
    CHECK_EQ(run.exit_code, 1);
    CHECK_STR_EQ(run.output, "0 passed, 0 failed\n");
}

ASX_TEST(without_fork_a_failure_ends_the_run)
{
    struct asx_test_case second = { "second", passes, 20, NULL };
    struct asx_test_case first = { "first", fails_eq, 20, &second };
    char name[] = "selftest", no_fork[] = "--no-fork";
    char *argv[] = { name, no_fork, NULL };
    struct run run = run_victims(&first, 2, argv);
    CHECK_EQ(run.exit_code, 1);
    CHECK(strstr(run.output, "FAIL first ") != NULL);
    CHECK(strstr(run.output, "second") == NULL);
}
