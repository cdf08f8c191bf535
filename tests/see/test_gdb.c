/* The gdb script, on a live process and on a core. Needs gdb, the right to attach, and for cores a
 * system that writes them to files; what is missing is named, and the test is then no test. */
#include "support_see.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char output[1 << 18];

/* Runs a command and keeps what it says. Returns its exit code. */
static int run(const char *format, const char *a, const char *b, long number)
{
    char command[2048];
    size_t len = 0;
    /* The formats are those of this file; each takes what it needs of the three. */
    (void)snprintf(command, sizeof command, "%s", format);
    char *at;
    while ((at = strchr(command, '@')) != NULL) {
        char rest[2048], word[1024];
        (void)snprintf(rest, sizeof rest, "%s", at + 2);
        if (at[1] == 'n')
            (void)snprintf(word, sizeof word, "%ld", number);
        else
            (void)snprintf(word, sizeof word, "%s", at[1] == 'a' ? a : b);
        size_t room = sizeof command - (size_t)(at - command);
        CHECK((size_t)snprintf(at, room, "%s%s", word, rest) < room);
    }
    FILE *pipe = popen(command, "r");
    CHECK(pipe != NULL);
    for (size_t n; len < sizeof output - 1 &&
                   (n = fread(output + len, 1, sizeof output - 1 - len, pipe)) > 0;)
        len += n;
    output[len] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool skip(const char *why)
{
    printf("skipped: %s\n", why);
    return true;
}

/* Is there no gdb that could look at processes of this kind? Says why. */
static bool no_gdb(void)
{
    if (asx_test_emulated())
        return skip("this runs in an emulator, which gdb would see instead");
    if (run("gdb --version 2>/dev/null", "", "", 0) != 0)
        return skip("there is no gdb (tools/setup test installs it)");
    return false;
}

static const char *script(void)
{
    return see_tree("tools/asx-gdb.py");
}

static asx_status naps(asx_cx *cx, void *arg)
{
    CHECK_EQ(write(*(int *)arg, "x", 1), 1);
    asx_status st = asx_sleep(cx, 1000 * ASX_SEC);
    SEE_NO_TAIL_CALL();
    return st;
}

static asx_status hall_that_sleeps(asx_cx *cx, void *arg)
{
    return see_hall(cx, naps, arg);
}

__attribute__((noinline)) static void loop_for_ever(void)
{
    static volatile unsigned n;
    for (;;)
        n++;
}

static asx_status loops(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    loop_for_ever();
    return ASX_OK;
}

static asx_status hall_with_looper(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "looper", loops, NULL), ASX_OK);
    return see_hall(cx, naps, arg);
}

static int run_hall(int *ready, uint32_t workers)
{
    asx_runtime_config config = { .workers = workers };
    asx_runtime *rt;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    return asx_runtime_run(rt, workers > 1 ? hall_with_looper : hall_that_sleeps, ready) < 0;
}

/* A process that waits in every way, in a folder of its own. With several workers one of them is
 * busy for ever. */
static pid_t start_hall(const char *folder, uint32_t workers)
{
    int ready[2];
    char byte;
    CHECK_EQ(pipe(ready), 0);
    pid_t pid = fork();
    CHECK_GE(pid, 0);
    if (pid == 0) {
        struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };
        (void)setrlimit(RLIMIT_CORE, &most);
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        if (chdir(folder) != 0)
            _exit(1);
        _exit(run_hall(&ready[1], workers));
    }
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    usleep(100000);
    return pid;
}

static void check_gdb(const char *text)
{
    HAS(text, "1 runtime\n");
    HAS(see_task(text, "taker"), "in root/hall: Running, parked: channel-recv 1");
    HAS(see_task(text, "joiner"), "parked: join task 3 \"sleeper\"");
    HAS(see_task(text, "poller"), "parked: channel-recv 2");
    HAS(see_task(text, "poller"), "poll function poller");
    HAS(see_task(text, "main"), "Running, parked: sleep");
    const char *taker = see_task(text, "taker");
    const char *inner = strstr(taker, "take_one at "), *outer = strstr(taker, "taker at ");
    CHECK(inner != NULL && outer != NULL && inner < outer);
    HAS(taker, "support_see.c:");
    HAS(outer, "asx__fiber_main");
    HAS(see_task(text, "main"), "naps at ");
}

ASX_TEST_TIMEOUT(gdb_shows_the_tasks_of_a_live_process, 120)
{
    if (no_gdb())
        return;
    pid_t pid = start_hall("/", 1);
    (void)run("DEBUGINFOD_URLS= gdb -nx -batch -p @n -x '@a' -ex 'asx stacks' -ex 'asx regions' "
              "-ex 'asx fiber 2' -ex 'bt' 2>&1", script(), "", (long)pid);
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    if (strstr(output, "ptrace: Operation not permitted") != NULL) {
        (void)skip("attaching to processes is not permitted here");
        return;
    }
    check_gdb(output);
    HAS(output, "root/hall (");
    HAS(output, "Open, tasks 4, regions 0, obligations 0");
    const char *bt = strstr(output, "obligations 0");
    HAS(bt, "in take_one (");
}

ASX_TEST_TIMEOUT(gdb_shows_what_each_worker_runs, 120)
{
    if (no_gdb())
        return;
    pid_t pid = start_hall("/", 3);
    (void)run("DEBUGINFOD_URLS= gdb -nx -batch -p @n -x '@a' -ex 'asx stacks' 2>&1", script(), "",
              (long)pid);
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    if (strstr(output, "ptrace: Operation not permitted") != NULL) {
        (void)skip("attaching to processes is not permitted here");
        return;
    }
    HAS(see_task(output, "looper"), "Running, running");
    HAS(see_task(output, "looper"), "loop_for_ever at ");
    HAS(see_task(output, "looper"), "asx__fiber_main");
    HAS(see_task(output, "taker"), "take_one at ");
    HAS(see_task(output, "main"), "naps at ");
}

#if !ASX_TEST_SANITIZED

ASX_TEST_TIMEOUT(gdb_shows_the_tasks_of_a_core, 120)
{
    char folder[] = "/tmp/asx-core-XXXXXX", pattern[256] = "";
    int status;
    if (no_gdb())
        return;
    FILE *file = fopen("/proc/sys/kernel/core_pattern", "r");
    if (file == NULL || fgets(pattern, sizeof pattern, file) == NULL || strchr("|/", *pattern)) {
        (void)skip("this system does not leave cores in the folder of the process");
        return;
    }
    (void)fclose(file);
    CHECK(mkdtemp(folder) != NULL);
    pid_t pid = start_hall(folder, 1);
    CHECK_EQ(kill(pid, SIGABRT), 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status));
    if (!WCOREDUMP(status)) {
        (void)run("rm -rf '@a'", folder, "", 0);
        (void)skip("this system did not write a core");
        return;
    }
    char self[512];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK_GE(len, 1);
    self[len] = '\0';
    char place[1200];
    (void)snprintf(place, sizeof place, "'%s' '%s'/*", self, folder);
    (void)run("DEBUGINFOD_URLS= gdb -nx -batch -x '@a' @b -ex 'asx stacks' 2>&1", script(), place,
              0);
    static char text[sizeof output];
    memcpy(text, output, sizeof text);
    (void)run("rm -rf '@a'", folder, "", 0);
    check_gdb(text);
}

#endif

ASX_TEST_TIMEOUT(gdb_without_debug_information_says_so, 120)
{
    if (no_gdb())
        return;
    (void)run("DEBUGINFOD_URLS= gdb -nx -batch -x '@a' -ex 'asx tasks' 2>&1", script(), "", 0);
    HAS(output, "asx: no debug information of asx");
    HAS(output, "asx_dump_on_signal()");
}
