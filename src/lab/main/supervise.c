/* supervise.c - tests run in another process, so that somebody is left when it ends.
 *
 * What a test that dies can still say it says itself (dying.c): it knows its schedule. Who is ended
 * by _exit() or SIGKILL says nothing, and who dies at all takes the tests behind it along. So there
 * is a parent, which does nothing but wait:
 *
 *   parent                                   child
 *   forks                               ->   runs the tests, and notes on a board, memory that both
 *   passes interrupts on                     have, which one it is at, and at last that it is done
 *   the child is done: its exit status
 *   it is not: tells of the test that it was at, if nobody has, and forks again for those behind it
 *
 * One child for all tests, until one of them ends it. There is no parent where a debugger would
 * have to follow: in a replay, and when somebody traces the process already; nor when no process
 * can be had.
 *
 * The child leaves by exit(), with all that is to be done then; the parent by _exit(), since the
 * handlers of the program would run a second time. A child does not outlive its parent.
 */
#include "lab/main/lab_main.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/streams.h"

/* Written by the child, read by the parent when that is gone. */
typedef struct board {
    asx_lab_test *test; /* NULL: it has not come to one */
    bool is_over;       /* ... and that is over */
    bool is_done;       /* all are */
    int code;           /* of the tests that are over */
    uint64_t began_ns;
    uint64_t runs;      /* executions that have begun; 0: in workers, which do not count here */
    const char *why;    /* it ends in a way that is known, but cannot be told by it; static */
} board;

static board alone, *shared = &alone;

static volatile sig_atomic_t child; /* 0: there is none */
static volatile sig_atomic_t stopped;

/* ---- in the child --------------------------------------------------------------------------- */

void board_begin(asx_lab_test *test)
{
    shared->test = test;
    shared->is_over = false;
    shared->why = NULL;
    shared->runs = 0;
    shared->began_ns = now_ns();
}

void board_end(int code)
{
    shared->is_over = true;
    shared->code = code > shared->code ? code : shared->code;
}

void board_run(void)
{
    shared->runs++;
}

void board_why(const char *why)
{
    shared->why = why;
}

/* ---- telling -------------------------------------------------------------------------------- */

static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        { SIGHUP, "SIGHUP" },   { SIGINT, "SIGINT" },   { SIGQUIT, "SIGQUIT" },
        { SIGILL, "SIGILL" },   { SIGTRAP, "SIGTRAP" }, { SIGABRT, "SIGABRT" },
        { SIGBUS, "SIGBUS" },   { SIGFPE, "SIGFPE" },   { SIGKILL, "SIGKILL" },
        { SIGUSR1, "SIGUSR1" }, { SIGSEGV, "SIGSEGV" }, { SIGUSR2, "SIGUSR2" },
        { SIGPIPE, "SIGPIPE" }, { SIGALRM, "SIGALRM" }, { SIGTERM, "SIGTERM" },
        { SIGXCPU, "SIGXCPU" }, { SIGXFSZ, "SIGXFSZ" }, { SIGSYS, "SIGSYS" },
        { SIGPROF, "SIGPROF" }, { SIGVTALRM, "SIGVTALRM" },
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number)
            return names[i].name;
    return NULL;
}

static void tell_ended(const lab_request *r, const asx_lab_test *test, bool exited, int number)
{
    char how[64];
    const char *name = exited ? NULL : signal_name(number);
    (void)snprintf(how, sizeof how, exited ? "_exit(%d)" : "signal %d", number);
    const char *by = shared->why != NULL ? shared->why : name != NULL ? name : how;
    if (isatty(STDERR_FILENO) && !r->json && !r->progress)
        fputs("\r\033[K", stderr); /* a progress line may stand there */
    fprintf(r->json ? stderr : stdout, "%s: died: the process ended by %s\n", test->name, by);
    if (!r->json)
        return;
    uint64_t runs = shared->runs != 0 ? shared->runs : 1;
    printf("{\"test\":\"%s\",\"mode\":\"%s\",\"executions\":%llu,\"classes\":0,"
           "\"redundant\":0,\"blocked\":0,\"deadlocks\":0,\"bugs\":1,"
           "\"complete\":false,\"seconds\":%.6f}\n",
           test->name, r->search ? "search" : asx_explore_mode_str(r->options.mode),
           (unsigned long long)runs, (double)(now_ns() - shared->began_ns) / 1e9);
}

/* ---- workers -------------------------------------------------------------------------------- */

/* The end of the first worker that has ended since one was started; code 0: none has. */
static volatile sig_atomic_t worker_code, worker_number;

static void on_worker_end(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if (worker_code != 0)
        return;
    worker_number = info->si_status;
    worker_code = info->si_code;
}

static void worker_started(void)
{
    worker_code = 0;
}

/* The children of a worker are its own affair. */
static void be_worker(void)
{
    (void)signal(SIGCHLD, SIG_DFL);
}

static void watch_workers(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_worker_end;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP;
    (void)sigemptyset(&action.sa_mask);
    if (sigaction(SIGCHLD, &action, NULL) == 0)
        (void)pthread_atfork(NULL, worker_started, be_worker);
}

bool tell_worker_ended(const lab_request *r)
{
    if (worker_code == 0)
        return false;
    tell_ended(r, r->test, worker_code == CLD_EXITED, (int)worker_number);
    return true;
}

bool run_apart(void (*part)(void *ctx), void *ctx, char *ret_why, size_t size)
{
    int state = 0;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        part(ctx);
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, &state, 0) < 0 && errno == EINTR)
        continue;
    const char *name = WIFSIGNALED(state) ? signal_name(WTERMSIG(state)) : NULL;
    if (pid < 0)
        (void)snprintf(ret_why, size, "no process can be had");
    else if (name != NULL)
        (void)snprintf(ret_why, size, "%s", name);
    else if (WIFSIGNALED(state))
        (void)snprintf(ret_why, size, "signal %d", WTERMSIG(state));
    else
        (void)snprintf(ret_why, size, "_exit(%d)", WEXITSTATUS(state));
    return pid > 0 && WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

/* ---- the parent ----------------------------------------------------------------------------- */

static void pass_on(int number)
{
    int error = errno;
    stopped = 1;
    if (child != 0)
        (void)kill((pid_t)child, number);
    errno = error;
}

/* Whoever traces us wants to see the tests, and they would be in another process. */
static bool is_traced(void)
{
    char *text = read_file("/proc/self/status", NULL);
    const char *line = text != NULL ? strstr(text, "\nTracerPid:") : NULL;
    bool traced = line != NULL && strtol(line + strlen("\nTracerPid:"), NULL, 10) != 0;
    free(text);
    return traced;
}

static void be_child(lab_request *r, asx_lab_test *from, pid_t parent, const sigset_t *mask,
                     const struct sigaction *children)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    (void)sigaction(SIGCHLD, children, NULL);
    if (r->options.jobs > 1)
        watch_workers();
    hear_signals();
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    int code = tests_run(r, from);
    shared->is_done = true;
    if (!asx__streams_end())
        code = complain("the result cannot be written", strerror(errno));
    exit(code);
}

/* Until the child has ended. From then on nothing is passed on to it: its number may be another's.
 */
static int wait_for_child(pid_t pid)
{
    siginfo_t info;
    int state = 0;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        continue;
    child = 0;
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
        continue;
    return state;
}

/* As the child did. */
static void end_by_signal(int number)
{
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)signal(number, SIG_DFL);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
    (void)raise(number);
}

/* Was it a later interrupt, or a signal when all was said? */
static bool is_meant(int state)
{
    int number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    return number != 0 && (shared->is_done || (stopped && (number == SIGINT || number == SIGTERM)));
}

/* Runs the tests from this one on; false: there is no process to do it in. */
static bool run_child(lab_request *r, asx_lab_test *from, int *ret_state)
{
    sigset_t both, mask;
    struct sigaction plain, before;
    pid_t parent = getpid();
    memset(&plain, 0, sizeof plain);
    plain.sa_handler = SIG_DFL;
    (void)sigemptyset(&both);
    (void)sigaddset(&both, SIGINT);
    (void)sigaddset(&both, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &both, &mask);
    (void)sigaction(SIGCHLD, &plain, &before); /* if it is ignored nobody can be waited for */
    pid_t pid = fork();
    if (pid == 0)
        be_child(r, from, parent, &mask, &before);
    child = pid > 0 ? pid : 0;
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    if (pid > 0)
        *ret_state = wait_for_child(pid);
    (void)sigaction(SIGCHLD, &before, NULL);
    return pid > 0;
}

/* The child has ended and was not done. The first of the tests that are left; NULL: none. */
static asx_lab_test *go_on(const lab_request *r, asx_lab_test *from, int state)
{
    asx_lab_test *test = shared->test != NULL ? shared->test : from;
    bool exited = WIFEXITED(state);
    if (!shared->is_over && !watch_told())
        tell_ended(r, test, exited, exited ? WEXITSTATUS(state) : WTERMSIG(state));
    board_end(1);
    return stopped ? NULL : test_wanted(r, test->next);
}

static void hear_for_child(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

int supervise(lab_request *r, asx_lab_test *from)
{
    int state = 0;
    void *memory = is_traced() ? MAP_FAILED
                               : mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    hear_for_child();
    if (memory != MAP_FAILED)
        shared = memory;
    while (from != NULL) {
        shared->test = NULL;
        (void)fflush(stdout);
        if (memory == MAP_FAILED || !run_child(r, from, &state)) {
            hear_signals();
            int code = tests_run(r, from);
            return code > shared->code ? code : shared->code;
        }
        int code = WIFEXITED(state) ? WEXITSTATUS(state) : 1;
        if (is_meant(state))
            end_by_signal(WTERMSIG(state));
        if (shared->is_done)
            _exit(code > shared->code ? code : shared->code);
        from = go_on(r, from, state);
    }
    if (!asx__streams_end())
        (void)complain("the result cannot be written", strerror(errno));
    _exit(ferror(stdout) ? 2 : shared->code);
}
