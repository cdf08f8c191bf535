/* dying.c - a test that takes the process along: by a signal, by exit(), or by never coming back.
 *
 * What it did until then is all in the explorer, so it can still be told: which test, why, in which
 * schedule, as a pack too, whose verdict is "died" and whose failure is the reason. Nothing can be
 * shrunk: every trial would end like this one. Whoever is told by a signal may be in the middle of
 * malloc(), so nothing is allocated until the schedule is safe; buffers are static, and what does
 * not fit is left out.
 *
 * The trace is not kept while a test is explored. So whoever dies starts its program once more, to
 * replay the pack; that one keeps the trace and, when it dies in its turn, writes it to a file
 * (--record), which then becomes the end of the pack. If this fails, or takes longer than RECORD_S
 * seconds, the pack is one without a trace.
 *
 * Never coming back: a task that runs for PATIENCE_S seconds of processor time and comes to no
 * operation. Processor time, because a process that is stopped or has to wait for the machine does
 * nothing wrong. Or, with --time, one that is in a system call when the time has been over for
 * GRACE_S seconds, as its execution has lasted. There is no signal before that: a sleep would end
 * by it.
 *
 * Workers (--jobs). Each tells of its own death, the first that dies; the others and the keeper,
 * who sees no more of it than that a worker is gone, know by memory that all of them share. A child
 * inherits handlers and no timers, so each process starts its own when it runs a test for the first
 * time.
 *
 * Of what ends the process without a word, _exit() or SIGKILL, its parent tells (supervise.c). It
 * does not know the schedule; so whoever can tell does it here.
 */
#include "lab/main/lab_main.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/atomic.h"
#include "lab/main/pack.h"

#define TICKS_PER_S 4 /* looks in a second of processor time */
#define PATIENCE_S 10
#define RECORD_S 10
#define GRACE_S 1

enum { TELLING = 1, TOLD };

static struct {
    lab_request *r;     /* NULL: no test is being run */
    bool runs_here; /* not in another process */
    bool is_first;  /* this process explores, and is no worker */
    uint64_t runs;
    uint64_t began_ns;
    uint64_t pulse; /* when the timer looked last */
    unsigned still; /* so many looks ago something happened */
    bool ticks;     /* the timer of this process runs */
    bool waits;     /* the one for the end of --time does too */
    timer_t end;
    uint64_t run_ns; /* when this execution began, if there is a --time */
    asx__atomic_u32 *told; /* TELLING, TOLD; shared with workers. NULL: no memory */
    int record;     /* the file of --record; 0: it is not open */
} watched;

static char schedule[1 << 16], lanes[1 << 16], said[1 << 17];
static char alternate[1 << 18]; /* a stack for who has come to the end of his own */
static char program[4096], packed[4096], recorded[4096 + 8], copied[4096];

static void start_ticks(void)
{
    struct timeval between = { .tv_usec = 1000000 / TICKS_PER_S };
    (void)setitimer(ITIMER_VIRTUAL, &(struct itimerval){ between, between }, NULL);
    watched.ticks = true;
}

static struct timespec as_timespec(uint64_t ns)
{
    return (struct timespec){ (time_t)(ns / ASX_SEC), (long)(ns % ASX_SEC) };
}

static void wait_for_end(uint64_t time_max_ns)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGVTALRM };
    struct itimerspec when = { .it_value = as_timespec(watched.began_ns + time_max_ns +
                                                       GRACE_S * ASX_SEC),
                               .it_interval = as_timespec(GRACE_S * ASX_SEC) };
    watched.waits = timer_create(CLOCK_MONOTONIC, &event, &watched.end) == 0;
    if (watched.waits)
        (void)timer_settime(watched.end, TIMER_ABSTIME, &when, NULL);
}

void test_run(asx_cx *cx, void *arg)
{
    const asx_lab_test *test = arg;
    uint64_t time_max_ns = watched.r != NULL ? watched.r->options.time_max_ns : 0;
    if (!watched.ticks)
        start_ticks();
    if (time_max_ns != 0) {
        struct timespec ts;
        (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
        watched.run_ns = (uint64_t)ts.tv_sec * ASX_SEC + (uint64_t)ts.tv_nsec;
        if (!watched.waits)
            wait_for_end(time_max_ns);
    }
    watched.runs_here = true;
    watched.runs++;
    if (watched.is_first)
        board_run();
    test->fn(cx, NULL);
}

void watch_begin(lab_request *r)
{
    watched.r = r;
    watched.runs_here = false;
    watched.is_first = true;
    watched.began_ns = now_ns();
    if (watched.told != NULL)
        asx__store_relaxed(watched.told, 0);
}

void watch_end(void)
{
    watched.r = NULL;
    if (watched.waits)
        (void)timer_delete(watched.end);
    watched.waits = false;
}

bool watch_told(void)
{
    return watched.told != NULL && asx__load_relaxed(watched.told) != 0;
}

/* ---- telling -------------------------------------------------------------------------------- */

/* dprintf() that does not allocate. */
static ASX_PRINTF(2, 3) bool say(int fd, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(said, sizeof said, format, args);
    va_end(args);
    size_t left = len < 0 ? 0 : (size_t)len < sizeof said ? (size_t)len : sizeof said - 1;
    for (const char *p = said; left != 0;) {
        ssize_t n = write(fd, p, left);
        if (n <= 0)
            return false;
        p += n;
        left -= (size_t)n;
    }
    return len >= 0;
}

/* To the file `packed`. False: it could not be written. */
static bool write_pack(const lab_request *r, const char *why)
{
    (void)snprintf(packed, sizeof packed, r->pack != NULL ? "%s%s%s" : "%s%.200s%s",
                   r->pack != NULL ? r->pack : "asx-", r->pack != NULL ? "" : r->test->name,
                   r->pack != NULL ? "" : ".pack");
    int fd = open(packed, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    program[len > 0 ? len : 0] = '\0';
    bool good =
        fd >= 0 &&
        say(fd,
            ASX__PACK_HEAD "program %s\ntest %s\nmode %s\nseed %llu\nclock %s\nfaults %u\n"
                           "verdict died\nfailure %s\nsite \nversion %d.%d.%d\n"
                           "compiler %s\nschedule %s\ntrace 0\n",
            len > 0 ? program : r->program, r->test->name,
            r->search ? "search" : asx_explore_mode_str(r->options.mode),
            (unsigned long long)r->options.seed,
            r->options.clock == ASX_EXPLORE_ADVERSARIAL ? "adversarial" : "quiescent",
            (unsigned)r->options.faults, why, ASX_VERSION_MAJOR, ASX_VERSION_MINOR,
            ASX_VERSION_PATCH, __VERSION__, schedule);
    if (!good)
        (void)say(STDERR_FILENO, "%s: the crash pack cannot be written\n", packed);
    else if (!r->json)
        (void)say(STDOUT_FILENO, "%s: crash pack written to %s; asx replay %s\n", r->test->name,
                  packed, packed);
    if (fd >= 0)
        (void)close(fd);
    return good;
}

static void write_schedule(const lab_request *r)
{
    int fd = open(r->save, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || !say(fd, "test %s\nschedule %s\n", r->test->name, schedule))
        (void)say(STDERR_FILENO, "%s: the schedule cannot be written\n", r->save);
    if (fd >= 0)
        (void)close(fd);
}

asx_status record_trace(void *ctx, const void *bytes, size_t len)
{
    const lab_request *r = ctx;
    if (watched.record <= 0)
        watched.record = open(r->record, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return watched.record > 0 && write(watched.record, bytes, len) == (ssize_t)len
               ? ASX_OK
               : ASX_E_SYSTEM;
}

/* Replays the pack in another process, which says nothing. False: it did not die in the same way.
 */
static bool replay_again(void)
{
    const char *const words[] = { program,  "--replay", packed, "--same", "--record",
                                  recorded, "--time",   "1",    NULL };
    int state, nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    pid_t pid = program[0] != '\0' && nowhere >= 0 ? fork() : -1;
    if (pid == 0) {
        sigset_t none;
        (void)sigemptyset(&none); /* of the handler that we are in */
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)dup2(nowhere, STDERR_FILENO);
        (void)alarm(RECORD_S);
        (void)execv(program, (char *const *)words);
        _exit(127);
    }
    if (nowhere >= 0)
        (void)close(nowhere);
    return pid > 0 && waitpid(pid, &state, 0) == pid && WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

/* Puts the trace at the end of the pack, in place of none. */
static void add_trace(void)
{
    static const char none[] = "trace 0\n";
    (void)snprintf(recorded, sizeof recorded, "%s.trace", packed);
    (void)alarm(RECORD_S + 2);
    int from = replay_again() ? open(recorded, O_RDONLY | O_CLOEXEC) : -1;
    int to = from >= 0 ? open(packed, O_WRONLY | O_CLOEXEC) : -1;
    off_t len = from >= 0 ? lseek(from, 0, SEEK_END) : 0;
    if (to >= 0 && len > 0 && lseek(from, 0, SEEK_SET) == 0 &&
        lseek(to, -(off_t)(sizeof none - 1), SEEK_END) >= 0 &&
        say(to, "trace %llu\n", (unsigned long long)len))
        for (ssize_t n; (n = read(from, copied, sizeof copied)) > 0;)
            if (write(to, copied, (size_t)n) != n)
                break;
    if (to >= 0)
        (void)close(to);
    if (from >= 0)
        (void)close(from);
    (void)unlink(recorded);
    (void)alarm(0);
}

/* Is it the first that dies? Who is not waits for it: the keeper ends all when one is gone. */
static bool may_tell(void)
{
    uint32_t nobody = 0;
    if (watched.told == NULL || asx__cas_acq_rel(watched.told, &nobody, TELLING))
        return true;
    struct timespec moment = { .tv_nsec = 10000000 };
    for (int i = 0; i < RECORD_S * 100 + 400 && asx__load_acquire(watched.told) != TOLD; i++)
        (void)nanosleep(&moment, NULL);
    return false;
}

/* All that is known. True: it died as the pack that is replayed says. */
static bool tell_death(const char *why)
{
    lab_request *r = watched.r;
    asx_explore_look look;
    if (r == NULL || !watched.runs_here ||
        asx_explore_position(schedule, sizeof schedule, NULL, 0, &look) < 0)
        return false;
    watched.r = NULL; /* once */
    if (!may_tell())
        return false;
    const asx_explore_progress *totals = &look.totals;
    if (r->json)
        (void)say(STDOUT_FILENO,
                  "{\"test\":\"%s\",\"mode\":\"%s\",\"executions\":%llu,\"classes\":%llu,"
                  "\"redundant\":%llu,\"blocked\":%llu,\"deadlocks\":%llu,\"bugs\":1,"
                  "\"complete\":false,\"seconds\":%.6f}\n",
                  r->test->name, r->search ? "search" : asx_explore_mode_str(r->options.mode),
                  (unsigned long long)totals->executions + 1, (unsigned long long)totals->classes,
                  (unsigned long long)totals->redundant, (unsigned long long)totals->blocked,
                  (unsigned long long)totals->deadlocks,
                  (double)(now_ns() - watched.began_ns) / 1e9);
    else
        (void)say(STDOUT_FILENO, "%s: execution %llu: died: %s\n", r->test->name,
                  (unsigned long long)totals->executions + 1, why);
    if (r->replay == NULL && r->save != NULL)
        write_schedule(r);
    bool kept = r->replay == NULL && !r->no_pack && (r->pack != NULL || r->search) &&
                write_pack(r, why);
    (void)alarm(2); /* the lines need memory, which may be what has broken */
    (void)asx_explore_position(NULL, 0, lanes, sizeof lanes, &look);
    (void)alarm(0);
    if (!r->json)
        (void)say(STDOUT_FILENO, "%s", lanes);
    if (r->record != NULL)
        (void)asx_runtime_trace_write(look.runtime, record_trace, r);
    if (kept)
        add_trace();
    if (watched.told != NULL)
        asx__store_release(watched.told, TOLD);
    bool seen = r->expected != NULL && r->expected->verdict != NULL &&
                strcmp(r->expected->verdict, "died") == 0 && r->expected->failure != NULL &&
                strcmp(r->expected->failure, why) == 0;
    if (r->same)
        (void)say(STDOUT_FILENO, "%s\n",
                  seen ? "the same failure again" : "not the failure of the pack");
    asx_lab_failed_here(why, "");
    return seen && r->same;
}

/* ---- noticing ------------------------------------------------------------------------------- */

static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
#define FAULTS (sizeof faults / sizeof faults[0])
static struct sigaction before[FAULTS];

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    const char *why = number == SIGSEGV   ? "SIGSEGV"
                      : number == SIGBUS  ? "SIGBUS"
                      : number == SIGFPE  ? "SIGFPE"
                      : number == SIGILL  ? "SIGILL"
                      : number == SIGABRT ? "SIGABRT"
                                          : "a signal";
    if (tell_death(why))
        _exit(0);
    for (size_t i = 0; i < FAULTS; i++) /* whoever was here before may have something to say */
        if (faults[i] == number)
            (void)sigaction(number, &before[i], NULL);
    if (info->si_code <= 0 || number == SIGABRT)
        (void)raise(number); /* else the instruction faults again */
}

static void on_exit_called(void)
{
    if (watched.r != NULL && watched.runs_here)
        _exit(tell_death("exit() was called") ? 0 : 1);
}

/* Has the signal come in a system call? Those that go on after it stand before their instruction,
 * the others behind it with EINTR. */
static bool in_system_call(const void *context)
{
    const ucontext_t *u = context;
#if defined(__x86_64__)
    bool ends = u->uc_mcontext.gregs[REG_RAX] == -EINTR;
    const unsigned char *at = (const unsigned char *)u->uc_mcontext.gregs[REG_RIP] - 2 * ends;
    return at[0] == 0x0f && at[1] == 0x05; /* syscall */
#elif defined(__aarch64__)
    bool ends = (int64_t)u->uc_mcontext.regs[0] == -EINTR;
    const uint32_t *at = (const uint32_t *)u->uc_mcontext.pc - ends;
    return *at == UINT32_C(0xd4000001); /* svc #0 */
#elif defined(__riscv)
    bool ends = (int64_t)u->uc_mcontext.__gregs[10] == -EINTR;
    const uint16_t *at = (const uint16_t *)u->uc_mcontext.__gregs[0] - 2 * ends;
    return at[0] == 0x0073 && at[1] == 0; /* ecall */
#else
    (void)u;
    return false;
#endif
}

/* Has the time been over, and has this execution lasted, for long enough? */
static bool is_overdue(void)
{
    uint64_t now = now_ns(), time_max_ns = watched.r->options.time_max_ns;
    return time_max_ns != 0 && now - watched.began_ns >= time_max_ns + GRACE_S * ASX_SEC &&
           now - watched.run_ns >= GRACE_S * ASX_SEC;
}

static void on_tick(int number, siginfo_t *info, void *context)
{
    (void)number;
    asx_explore_look look;
    if (watched.r == NULL || !watched.runs_here ||
        asx_explore_position(NULL, 0, NULL, 0, &look) < 0)
        return;
    if (info->si_code == SI_TIMER) {
        if (look.in_task && is_overdue() && in_system_call(context))
            _exit(tell_death("a task waits in the operating system") ? 0 : 1);
        return;
    }
    /* Something that changes whenever a task comes to an operation. */
    uint64_t now = watched.runs * 1000003 + look.steps;
    uint64_t time_max_ns = watched.r->options.time_max_ns;
    watched.still = look.in_task && now == watched.pulse ? watched.still + 1 : 0;
    watched.pulse = now;
    bool late = time_max_ns != 0 && watched.still >= 2 && now_ns() - watched.began_ns > time_max_ns;
    if (watched.still >= PATIENCE_S * TICKS_PER_S || late)
        _exit(tell_death("a task runs and comes to no operation") ? 0 : 1);
}

/* The child of a test is no test. */
static void in_child(void)
{
    watched.runs_here = watched.is_first = watched.ticks = watched.waits = false;
}

void watch_deaths(void)
{
    void *shared = mmap(NULL, sizeof *watched.told, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    watched.told = shared != MAP_FAILED ? shared : NULL;
    stack_t stack;
    if (sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_DISABLE) != 0)
        (void)sigaltstack(&(stack_t){ .ss_sp = alternate, .ss_size = sizeof alternate }, NULL);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    (void)sigemptyset(&action.sa_mask);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (size_t i = 0; i < FAULTS; i++)
        (void)sigaction(faults[i], &action, &before[i]);
    action.sa_sigaction = on_tick;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    (void)sigaction(SIGVTALRM, &action, NULL);
    (void)atexit(on_exit_called);
    (void)pthread_atfork(NULL, NULL, in_child);
}
