/* test_misuse_see.c - dumps of nothing, to nowhere, and on signals that are none; watchdogs
 * that nobody asked for. */
#include "support_api.h"

#include <signal.h>

ASX_TEST(dumps_of_nothing_and_to_nowhere_are_refused)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_dump_tasks(NULL, 1), bad);
    REFUSED(rt, asx_dump_tasks(rt, -1), bad);
    REFUSED(rt, asx_dump_tasks(rt, 4321), ASX_E_SYSTEM);
    REFUSED(rt, asx_dump_all(-1), bad);
    REFUSED(rt, asx_dump_all(4321), ASX_E_SYSTEM);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(signals_that_cannot_dump_are_refused_and_nothing_changes)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    static const int none[] = { -1, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, 4096 };
    struct sigaction now;
    CHECK_STATUS(asx_dump_on_signal(0, -1), ASX_OK); /* there is none to give back */
    CHECK_STATUS(asx_dump_on_signal(SIGUSR1, -1), ASX_OK);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK_STATUS(asx_dump_on_signal(none[i], 2), bad);
    CHECK_STATUS(asx_dump_on_signal(SIGUSR2, -2), bad);
    CHECK_EQ(sigaction(SIGUSR1, NULL, &now), 0);
    CHECK((now.sa_flags & SA_SIGINFO) != 0);
    CHECK_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);
}

static void ignore(void *ctx, const asx_sighting *sighting)
{
    (void)ctx;
    (void)sighting;
}

static asx_status watch_from_inside(asx_cx *cx, void *arg)
{
    asx_watchdog *dog = arg, *other;
    asx_watchdog_options options = { .report = ignore };
    CHECK_STATUS(asx_watchdog_start(asx_cx_runtime(cx), &options, &other), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_watchdog_stop(dog), ASX_E_WRONG_CONTEXT);
    return ASX_OK;
}

ASX_TEST(watchdogs_of_nothing_and_for_nobody_are_refused)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt;
    asx_watchdog *dog, *other;
    asx_watchdog_options options = { .report = ignore };
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_watchdog_start(NULL, &options, &dog), bad);
    REFUSED(rt, asx_watchdog_start(rt, NULL, &dog), bad);
    REFUSED(rt, asx_watchdog_start(rt, &options, NULL), bad);
    REFUSED(rt, asx_watchdog_start(rt, &(asx_watchdog_options){ .fd = 0 }, &dog), bad);
    REFUSED(rt, asx_watchdog_start(rt, &(asx_watchdog_options){ .fd = -1 }, &dog), bad);
    REFUSED(rt, asx_watchdog_start(rt, &(asx_watchdog_options){ .fd = 2, .limit_ns = 5 }, &dog),
            bad);
    REFUSED(rt, asx_watchdog_start(rt, &(asx_watchdog_options){ .fd = 2, .mutexes = true }, &dog),
            ASX_E_NOT_SUPPORTED);
    CHECK_STATUS(asx_watchdog_stop(NULL), ASX_OK);
    CHECK_STATUS(asx_watchdog_start(rt, &options, &dog), ASX_OK);
    REFUSED(rt, asx_watchdog_start(rt, &options, &other), ASX_E_BUSY);
    CHECK_STATUS(asx_runtime_run(rt, watch_from_inside, dog), ASX_OK);
    CHECK_STATUS(asx_watchdog_stop(dog), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}
