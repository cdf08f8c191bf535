/* test_stacks.c - `asx stacks`: a child process of the test is dumped from outside. */
#include "cli/support_cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asx/asx.h>

#include "harness.h"

#define HAS(text_, part_)                                                                          \
    (strstr((text_), (part_)) != NULL                                                              \
         ? (void)0                                                                                 \
         : asx_test_fail(__FILE__, __LINE__, "\"%s\" is not in: %.3000s", (part_), (text_)))

static asx_status idles(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = asx_sleep(cx, 1000 * ASX_SEC);
    __asm__ volatile("" ::: "memory"); /* no tail call: this function is to be seen */
    return st;
}

static asx_status opens_a_room(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "room" }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "idler", idles, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_EQ(write(*(int *)arg, "x", 1), 1);
    return asx_region_close(&r, ASX_OK);
}

/* A process with a task that sleeps; `signo` 0: it does not listen. */
static pid_t start(int signo)
{
    int ready[2];
    char byte;
    CHECK_EQ(pipe(ready), 0);
    pid_t pid = fork();
    CHECK_GE(pid, 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        if (signo != 0)
            CHECK_STATUS(asx_dump_on_signal(signo, -1), ASX_OK);
        _exit(asx_main(opens_a_room, &ready[1]));
    }
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    return pid;
}

static void end(pid_t pid)
{
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static said stacks(pid_t pid, const char *option)
{
    static char number[32];
    (void)snprintf(number, sizeof number, "%ld", (long)pid);
    return run_tool("stacks", number, option, NULL);
}

ASX_TEST(stacks_dumps_a_live_process_again_and_again)
{
    pid_t pid = start(SIGQUIT);
    for (int i = 0; i < 3; i++) {
        said s = stacks(pid, NULL);
        if (s.code != CLI_OK)
            asx_test_fail(__FILE__, __LINE__, "exit code %d: %s", s.code, s.err);
        HAS(s.out, "asx: process ");
        HAS(s.out, "\"idler\" (");
        HAS(s.out, "in root/room: Running, parked: sleep");
        HAS(s.out, "asx: end\n");
#if defined(__x86_64__) || defined(__aarch64__)
        HAS(s.out, " idles+0x");
#endif
        CHECK_STR_EQ(s.err, "");
        CHECK(strstr(strstr(s.out, "asx: end\n") + 1, "asx:") == NULL); /* only the last one */
        said_deinit(&s);
    }
    CHECK_EQ(kill(pid, 0), 0); /* it goes on */
    end(pid);
}

ASX_TEST(stacks_says_what_to_do_about_a_process_that_does_not_answer)
{
    pid_t pid = start(SIGUSR1);
    CHECK_EQ(kill(pid, SIGSTOP), 0);
    char number[32];
    (void)snprintf(number, sizeof number, "%ld", (long)pid);
    said s = run_tool("stacks", number, "--timeout", "1", NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    CHECK_STR_EQ(s.out, "");
    HAS(s.err, "does not answer");
    HAS(s.err, "--gdb");
    said_deinit(&s);
    end(pid);
}

ASX_TEST_TIMEOUT(stacks_of_a_process_that_does_not_listen_come_from_gdb, 120)
{
    pid_t pid = start(0);
    said s = stacks(pid, NULL);
    HAS(s.err, "has not called asx_dump_on_signal()");
    if (s.code != CLI_OK) {
        CHECK_EQ(s.code, CLI_FAILED);
        HAS(s.err, "gdb");
        printf("skipped: gdb cannot look at processes here\n");
    } else {
        HAS(s.out, "\"idler\" (");
        HAS(s.out, "in root/room: Running, parked: sleep");
        HAS(s.out, "idles at ");
    }
    said_deinit(&s);
    end(pid);
    CHECK_EQ(setenv("PATH", "/nowhere", 1), 0); /* no gdb at all */
    pid = start(0);
    s = stacks(pid, NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    HAS(s.err, "there is no gdb");
    said_deinit(&s);
    end(pid);
}

ASX_TEST(stacks_refuses_what_is_no_process)
{
    static const char *const wrong[] = { "0", "-1", "me", "12x", "99999999999", "--what", "" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        said s = run_tool("stacks", wrong[i], NULL);
        CHECK_EQ(s.code, CLI_USAGE);
        CHECK_STR_EQ(s.out, "");
        CHECK(s.err[0] != '\0');
        said_deinit(&s);
    }
    said s = run_tool("stacks", NULL, NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    said_deinit(&s);
    s = run_tool("stacks", "1", "2", NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    said_deinit(&s);
    s = run_tool("stacks", "1", "--timeout", "0", NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    said_deinit(&s);
    pid_t pid = start(0);
    end(pid);
    s = stacks(pid, NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    HAS(s.err, "No such process");
    said_deinit(&s);
}
