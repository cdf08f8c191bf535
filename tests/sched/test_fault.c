/* Faults of the user's program: a stack that overflows, a panic where there is no task. */
#include "support_kit.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs fn in a child; what it writes to stderr is in `text`. Returns the signal that ended it, or
 * minus its exit code. */
static int end_of(void (*fn)(void), char *text, size_t size)
{
    int fd[2];
    size_t len = 0;
    CHECK_EQ(pipe(fd), 0);
    pid_t pid = fork();
    CHECK_GE(pid, 0);
    if (pid == 0) {
        dup2(fd[1], STDERR_FILENO);
        fn();
        _exit(0);
    }
    close(fd[1]);
    for (ssize_t n; len < size - 1 && (n = read(fd[0], text + len, size - 1 - len)) > 0;)
        len += (size_t)n;
    text[len] = '\0';
    close(fd[0]);
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

/* ---- panic ---------------------------------------------------------------------------------- */

static void panic_without_context(void)
{
    asx_panic(NULL, "nobody is %s", "home");
}

static asx_cx *borrowed;

static asx_status lends(asx_cx *cx, void *arg)
{
    (void)arg;
    borrowed = cx;
    return asx_yield(cx);
}

static asx_status panics_for_another(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "lender", lends, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    asx_panic(borrowed, "not %s", "mine");
}

static void panic_of_another(void)
{
    (void)kit_run(NULL, panics_for_another, NULL);
}

ASX_TEST(a_panic_outside_a_running_task_aborts_with_its_message)
{
    char text[400];
    CHECK_EQ(end_of(panic_without_context, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "nobody is home\n") != NULL);
    CHECK_EQ(end_of(panic_of_another, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "not mine") != NULL);
}

static asx_status asserts(asx_cx *cx, void *arg)
{
    int one = 1;
    ASX_ASSERT(cx, one == 1);
    ASX_ASSERT(cx, one == (int)(intptr_t)arg);
    return ASX_OK;
}

static asx_status failed_assertion(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", asserts, (void *)2), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_PANICKED);
    CHECK_EQ(report.items_len, 1);
    CHECK(strstr(report.items[0].state, "test_fault.c:") != NULL);
    CHECK(strstr(report.items[0].state, "one == (int)(intptr_t)arg") != NULL);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_failed_assertion_panics_its_task_with_place_and_text)
{
    kit_everywhere(failed_assertion, NULL, ASX_OK);
}

/* ---- stack overflow ------------------------------------------------------------------------- */

#if !ASX_TEST_SANITIZED

static __attribute__((noinline)) unsigned bottomless(unsigned n)
{
    volatile unsigned char frame[512];
    frame[n % 512] = (unsigned char)n;
    return n == UINT32_MAX ? 0 : bottomless(n + 1) + frame[(n + 7) % 512];
}

static asx_status overflows(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    return bottomless(0) == 12345 ? ASX_OK : ASX_E_FULL;
}

static asx_status spawns_overflow(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "deep" }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "bottomless", overflows, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static void overflow(void)
{
    asx_runtime *rt;
    asx_runtime_config config = kit_config(ASX_CLOCK_REAL, NULL);
    config.stack_overflow = ASX_OVERFLOW_REPORT;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    ASX_IGNORE(asx_runtime_run(rt, spawns_overflow, NULL));
}

ASX_TEST(a_stack_overflow_is_reported_by_name_before_the_process_dies)
{
    char text[400];
    CHECK_EQ(end_of(overflow, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "stack overflow") != NULL);
    CHECK(strstr(text, "\"bottomless\"") != NULL);
    CHECK(strstr(text, "test_fault.c:") != NULL);
    CHECK(strstr(text, "root/deep") != NULL);
    CHECK(strstr(text, "65536") != NULL);
}

/* The same under nothing but defaults, in steps, and with the options that say otherwise. */
static asx_status main_overflows(asx_cx *cx, void *arg)
{
    return spawns_overflow(cx, arg);
}

static void overflow_under_main(void)
{
    (void)asx_main(main_overflows, NULL);
}

static void *runs(void *runtime)
{
    ASX_IGNORE(asx_runtime_run(runtime, spawns_overflow, NULL));
    return NULL;
}

static void overflow_on_another_thread(void)
{
    asx_runtime *rt;
    pthread_t thread;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_EQ(pthread_create(&thread, NULL, runs, rt), 0);
    (void)pthread_join(thread, NULL);
}

static void overflow_in_steps(void)
{
    asx_runtime *rt;
    asx_time next;
    asx_runtime_config config = { .workers = 2 };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_start(rt, spawns_overflow, NULL), ASX_OK);
    while (asx_runtime_step(rt, 8, &next) == ASX_E_WOULD_BLOCK)
        continue;
}

static void overflow_unreported(void)
{
    asx_runtime *rt;
    asx_runtime_config config = { .stack_overflow = ASX_OVERFLOW_FAULT };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    ASX_IGNORE(asx_runtime_run(rt, spawns_overflow, NULL));
}

ASX_TEST(a_stack_overflow_is_reported_by_default)
{
    void (*const ways[])(void) = { overflow_under_main, overflow_on_another_thread,
                                   overflow_in_steps };
    char text[400];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        CHECK_EQ(end_of(ways[i], text, sizeof text), SIGABRT);
        CHECK(strstr(text, "\"bottomless\"") != NULL);
        CHECK(strstr(text, "root/deep") != NULL);
    }
    CHECK_EQ(end_of(overflow_unreported, text, sizeof text), SIGSEGV);
    CHECK_STR_EQ(text, "");
}

ASX_TEST(a_thread_that_has_run_tasks_has_no_signal_stack_left)
{
    stack_t now;
    asx_runtime *rt;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, kit_returns, NULL), ASX_OK);
    CHECK_EQ(sigaltstack(NULL, &now), 0);
    CHECK((now.ss_flags & SS_DISABLE) != 0);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static asx_status gives_way(asx_cx *cx, void *arg)
{
    (void)arg;
    while (asx_yield(cx) == ASX_OK)
        continue;
    return ASX_OK;
}

static asx_status overflows_beside_another(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "deep" }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "bottomless", overflows, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "beside", gives_way, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static void overflow_on_a_worker(void)
{
    asx_runtime *rt, *other;
    asx_runtime_config config = { .workers = 2, .stack_overflow = ASX_OVERFLOW_REPORT };
    CHECK_STATUS(asx_runtime_create(&config, &other), ASX_OK); /* whose workers are not these */
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    ASX_IGNORE(asx_runtime_run(rt, overflows_beside_another, NULL));
}

ASX_TEST(a_stack_overflow_on_one_of_several_workers_is_reported_by_name)
{
    char text[400];
    CHECK_EQ(end_of(overflow_on_a_worker, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "\"bottomless\"") != NULL);
    CHECK(strstr(text, "test_fault.c:") != NULL);
    CHECK(strstr(text, "root/deep") != NULL);
}

/* The handler goes with the last runtime that wanted it, and the signal stack to its owner. */
static void overflow_after_others_are_gone(void)
{
    asx_runtime *rt[3];
    asx_runtime_config config = kit_config(ASX_CLOCK_REAL, NULL);
    config.stack_overflow = ASX_OVERFLOW_REPORT;
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_runtime_create(&config, &rt[i]), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt[0]), ASX_OK); /* in another order than made */
    CHECK_STATUS(asx_runtime_destroy(rt[2]), ASX_OK);
    ASX_IGNORE(asx_runtime_run(rt[1], spawns_overflow, NULL));
}

static char own_stack[65536];

ASX_TEST(the_signal_stack_goes_back_to_whoever_had_it)
{
    char text[400];
    stack_t mine = { .ss_sp = own_stack, .ss_size = sizeof own_stack }, now;
    static const int orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 0, 2 }, { 1, 2, 0 } };
    CHECK_EQ(end_of(overflow_after_others_are_gone, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "\"bottomless\"") != NULL);
    CHECK_EQ(sigaltstack(&mine, NULL), 0);
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        asx_runtime *rt[3];
        asx_runtime_config config = kit_config(ASX_CLOCK_REAL, NULL);
        config.stack_overflow = ASX_OVERFLOW_REPORT;
        for (int i = 0; i < 3; i++)
            CHECK_STATUS(asx_runtime_create(&config, &rt[i]), ASX_OK);
        for (int i = 0; i < 3; i++)
            CHECK_STATUS(asx_runtime_destroy(rt[orders[k][i]]), ASX_OK);
        CHECK_EQ(sigaltstack(NULL, &now), 0);
        CHECK_PTR_EQ(now.ss_sp, own_stack);
    }
}

/* A fault that is not ours goes to whoever was there before. */
static void not_ours(int number)
{
    (void)number;
    _exit(33);
}

static void other_fault(void)
{
    asx_runtime *rt;
    asx_runtime_config config = kit_config(ASX_CLOCK_REAL, NULL);
    config.stack_overflow = ASX_OVERFLOW_REPORT;
    signal(SIGSEGV, not_ours);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    volatile char *volatile nowhere = NULL;
    *nowhere = 1;
}

/* It repairs what it knows of, and an overflow later on is still reported. */
static char *page;

static void repairs(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if ((char *)info->si_addr != page || mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0)
        _exit(34);
}

static void repaired_fault(void)
{
    struct sigaction action = { .sa_sigaction = repairs, .sa_flags = SA_SIGINFO };
    asx_runtime *rt;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && sigaction(SIGSEGV, &action, NULL) == 0);
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    for (int i = 0; i < 2; i++) {
        *(volatile char *)page = 1;
        CHECK_EQ(mprotect(page, 4096, PROT_NONE), 0);
    }
    ASX_IGNORE(asx_runtime_run(rt, spawns_overflow, NULL));
}

ASX_TEST(the_hosts_own_handler_goes_on_repairing)
{
    char text[400];
    CHECK_EQ(end_of(repaired_fault, text, sizeof text), SIGABRT);
    CHECK(strstr(text, "\"bottomless\"") != NULL);
}

ASX_TEST(a_fault_that_is_no_overflow_is_left_to_others)
{
    char text[400];
    CHECK_EQ(end_of(other_fault, text, sizeof text), -33);
    CHECK_STR_EQ(text, "");
}

#endif
