/* test_process.c - signals that are read, children that belong to a region. */
#include "io/support_io.h"

#include <asx/process.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- signals -------------------------------------------------------------------------------- */

/* For several workers, whose host has to do it. */
static void block(int a, int b)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, a);
    sigaddset(&set, b);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
}

static asx_status waits_for_signals(asx_cx *cx, void *arg)
{
    static const int wanted[] = { SIGUSR1, SIGTERM };
    asx_region r;
    asx_signals signals;
    asx_signal_note note;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_signals_open(cx, &r, wanted, 2, &signals), ASX_OK);
    CHECK_EQ(kill(getpid(), SIGTERM), 0);
    CHECK_STATUS(asx_signals_wait(cx, &signals, &note), ASX_OK);
    CHECK_EQ(note.signal, SIGTERM);
    CHECK_EQ(note.pid, getpid());
    CHECK_EQ(sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 7 }), 0);
    CHECK_STATUS(asx_signals_wait(cx, &signals, &note), ASX_OK);
    CHECK_EQ(note.signal, SIGUSR1);
    CHECK_EQ(note.value, 7);
    CHECK_EQ(asx_signals_close(cx, &signals), ASX_OK);
    CHECK_EQ(asx_signals_wait(cx, &signals, &note), ASX_E_STALE_HANDLE);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(signals_are_read_one_by_one)
{
    block(SIGUSR1, SIGTERM);
    io_run(waits_for_signals, NULL, ASX_OK);
}

static asx_status one_waits(asx_cx *cx, void *arg)
{
    asx_signal_note note;
    return asx_signals_wait(cx, arg, &note);
}

static asx_status borrows_a_signal(asx_cx *cx, void *arg)
{
    static const int wanted[] = { SIGUSR2 };
    asx_region r;
    asx_signals signals;
    sigset_t mask;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &(asx_region_options){ .timeout_ns = 10 * ASX_MS }, &r), ASX_OK);
    CHECK_STATUS(asx_signals_open(cx, &r, wanted, 1, &signals), ASX_OK);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    CHECK_EQ(sigismember(&mask, SIGUSR2), 1);
    CHECK_EQ(asx_spawn(&r, "waits", one_waits, &signals), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_TIMEOUT); /* a wait is cancelled */
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    CHECK_EQ(sigismember(&mask, SIGUSR2), 0);
    return ASX_OK;
}

ASX_TEST(signals_are_given_back_with_the_region)
{
    asx_test_one_worker("several need a host that blocks them");
    io_run(borrows_a_signal, NULL, ASX_OK);
}

static asx_status is_refused(asx_cx *cx, void *arg)
{
    static const int wanted[] = { SIGUSR2 };
    asx_signals signals;
    (void)arg;
    CHECK_EQ(asx_signals_open(cx, NULL, wanted, 1, &signals), ASX_E_NOT_SUPPORTED);
    return ASX_OK;
}

ASX_TEST(several_workers_do_not_take_over_what_the_host_has_not_blocked)
{
    asx_runtime *rt;
    CHECK_EQ(asx_runtime_create(&(asx_runtime_config){ .workers = 2 }, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, is_refused, NULL), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- children ------------------------------------------------------------------------------- */

static asx_status starts(asx_cx *cx, const char *script, const asx_child_options *options,
                         asx_child *ret_child, asx_child_streams *ret_streams)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    return asx_child_start(cx, NULL, argv, options, ret_child, ret_streams);
}

static asx_status talks_to_a_child(asx_cx *cx, void *arg)
{
    asx_child_options pipes = { .input = ASX_CHILD_PIPE, .output = ASX_CHILD_PIPE,
                                .errors = ASX_CHILD_PIPE, .directory = "/" };
    const char *const environment[] = { "PATH=/bin:/usr/bin", "X=from here", NULL };
    asx_child child;
    asx_child_streams s;
    asx_child_end end;
    char heard[64];
    size_t n, done = 0;
    (void)arg;
    pipes.environment = environment;
    CHECK_STATUS(starts(cx, "read l; echo \"got $l $X $PWD\"; echo bad >&2; exit 3", &pipes,
                        &child, &s),
                 ASX_OK);
    CHECK_STATUS(asx_stream_write_all(cx, &s.input, "this\n", 5, &done), ASX_OK);
    CHECK_STATUS(asx_stream_read(cx, &s.output, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(n, 21u);
    CHECK_MEM_EQ(heard, "got this from here /\n", 21);
    CHECK_STATUS(asx_stream_read(cx, &s.errors, heard, sizeof heard, &n), ASX_OK);
    CHECK_MEM_EQ(heard, "bad\n", 4);
    CHECK_STATUS(asx_child_wait(cx, &child, &end), ASX_OK);
    CHECK_EQ(end.code, 3);
    CHECK_EQ(end.signal, 0);
    CHECK_STATUS(asx_child_wait(cx, &child, &end), ASX_OK); /* as often as one likes */
    CHECK_EQ(end.code, 3);
    CHECK_EQ(asx_child_signal(cx, &child, SIGTERM), ASX_E_NOT_FOUND);
    CHECK_STATUS(asx_stream_read(cx, &s.output, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(n, 0u);
    CHECK_EQ(asx_child_close(cx, &child), ASX_OK);
    CHECK_EQ(asx_child_wait(cx, &child, &end), ASX_E_STALE_HANDLE);
    const char *const nothing[] = { "/no/such/program", NULL };
    CHECK_EQ(asx_child_start(cx, NULL, nothing, NULL, &child, NULL), ASX_E_NOT_FOUND);
    return ASX_OK;
}

ASX_TEST(a_child_talks_through_streams_and_says_how_it_ended)
{
    io_run(talks_to_a_child, NULL, ASX_OK);
}

static bool is_there(int32_t pid)
{
    return kill(pid, 0) == 0;
}

static asx_status waits_for_child(asx_cx *cx, void *arg)
{
    asx_child_end end;
    return asx_child_wait(cx, arg, &end);
}

static asx_status outlives_nothing(asx_cx *cx, void *arg)
{
    const char *const stubborn[] = { "sh", "-c", "trap '' TERM; while :; do sleep 9; done", NULL };
    asx_child_options quiet = { .output = ASX_CHILD_NULL, .errors = ASX_CHILD_OUTPUT };
    asx_child child;
    asx_child_end end;
    asx_region r;
    int32_t pid;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &(asx_region_options){ .timeout_ns = 20 * ASX_MS }, &r), ASX_OK);
    CHECK_STATUS(asx_child_start(cx, &r, stubborn, &quiet, &child, NULL), ASX_OK);
    CHECK_EQ(asx_child_pid(cx, &child, &pid), ASX_OK);
    CHECK_EQ(asx_child_signal(cx, &child, SIGTERM), ASX_OK); /* which it ignores, or dies of */
    CHECK_EQ(asx_spawn(&r, "waits", waits_for_child, &child), ASX_OK);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    CHECK(!is_there(pid));
    CHECK_STATUS(starts(cx, "sleep 9", &quiet, &child, NULL), ASX_OK);
    CHECK_EQ(asx_child_pid(cx, &child, &pid), ASX_OK);
    CHECK_EQ(asx_child_signal(cx, &child, SIGTERM), ASX_OK);
    CHECK_STATUS(asx_child_wait(cx, &child, &end), ASX_OK);
    CHECK_EQ(end.code, -1);
    CHECK_EQ(end.signal, SIGTERM);
    CHECK_STATUS(starts(cx, "exec sleep 9", &quiet, &child, NULL), ASX_OK);
    CHECK_EQ(asx_child_pid(cx, &child, &pid), ASX_OK);
    CHECK_EQ(asx_child_close(cx, &child), ASX_OK); /* kills it, and it is gone */
    CHECK(!is_there(pid));
    return ASX_OK;
}

ASX_TEST(no_child_outlives_its_region)
{
    io_run(outlives_nothing, NULL, ASX_OK);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* nor is one left to be reaped */
}

/* SIGCHLD is the host's. */
static int chld_seen;

static void on_chld(int signo)
{
    (void)signo;
    chld_seen++;
}

static asx_status runs_one(asx_cx *cx, void *arg)
{
    asx_child child;
    asx_child_end end;
    (void)arg;
    CHECK_STATUS(starts(cx, "exit 0", NULL, &child, NULL), ASX_OK);
    CHECK_STATUS(asx_child_wait(cx, &child, &end), ASX_OK);
    CHECK_EQ(end.code, 0);
    return ASX_OK;
}

ASX_TEST(the_hosts_handler_of_sigchld_is_untouched)
{
    struct sigaction action = { .sa_handler = on_chld }, after;
    CHECK_EQ(sigaction(SIGCHLD, &action, NULL), 0);
    pid_t own = fork();
    if (own == 0)
        _exit(5);
    io_run(runs_one, NULL, ASX_OK);
    CHECK_EQ(sigaction(SIGCHLD, NULL, &after), 0);
    CHECK(after.sa_handler == on_chld);
    int status;
    while (waitpid(own, &status, 0) < 0) /* and nobody has taken the host's own child */
        CHECK_EQ(errno, EINTR);
    CHECK_EQ(WEXITSTATUS(status), 5);
    CHECK(chld_seen > 0);
}

/* ---- copies of the process ------------------------------------------------------------------ */

static asx_status reads_one(asx_cx *cx, void *arg)
{
    char byte = 0;
    size_t n;
    CHECK_STATUS(asx_stream_read(cx, arg, &byte, 1, &n), ASX_OK);
    CHECK_EQ(byte, 'x');
    return ASX_OK;
}

/* What is out when the process is copied goes on in both; each has a back end of its own. */
static asx_status forks(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_stream one, other;
    size_t n;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &r, &one, &other), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "reads", reads_one, &one), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK); /* it waits */
    for (int i = 0; i < 2; i++) {
        pid_t child = i == 0 ? fork() : -1;
        if (child > 0) { /* the copy has the byte; this one does not look meanwhile */
            int status;
            CHECK_EQ(waitpid(child, &status, 0), child);
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            continue;
        }
        CHECK_EQ(asx_stream_write(cx, &other, "x", 1, &n), ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
        if (child == 0)
            _exit(0);
    }
    return ASX_OK;
}

ASX_TEST(a_copy_of_the_process_has_a_reactor_of_its_own)
{
    asx_test_one_worker("of several only one thread is in the copy");
    io_run(forks, NULL, ASX_OK);
}
