/*
 * harness.c - runs the registered tests, see harness.h.
 *
 * The parent blocks SIGCHLD and waits for it with a timeout, so that the time
 * limit needs neither a timer signal (which a test might use itself) nor polling.
 * The child leads a process group; when it is done or late the group is killed, so
 * no test leaves a process behind. The reason of a failure travels in one shared
 * page: unlike a pipe it cannot fill up, and writing it needs no library state.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REASON_SIZE = 4096, FILTERS_MAX = 16 };

/* Both may be absent from the program: the first comes from the library under test, the second
 * from gcov, which would otherwise lose the counts of a child that leaves by _exit. */
extern const char *asx_status_str(int status) __attribute__((weak));
extern void __gcov_dump(void) __attribute__((weak));

static struct asx_test_case *cases_first;
static struct asx_test_case **cases_end = &cases_first;
static char *reason; /* REASON_SIZE bytes shared with the child; empty: none given */
static const char *running_unforked;

void asx_test_register(struct asx_test_case *test_case)
{
    *cases_end = test_case;
    cases_end = &test_case->next;
}

unsigned asx_test_scale(void)
{
    const char *text = getenv("ASX_TEST_SCALE");
    long scale = text ? strtol(text, NULL, 10) : 1;
    return scale < 1 ? 1 : scale > 1000 ? 1000 : (unsigned)scale;
}

bool asx_test_emulated(void)
{
    struct utsname self;
    char host[sizeof self.machine] = "";
    FILE *outside = popen("uname -m", "r"); /* a program of the host's */
    if (outside == NULL || uname(&self) < 0)
        asx_test_fail(__FILE__, __LINE__, "which processor this is: %s", strerror(errno));
    size_t len = fread(host, 1, sizeof host - 1, outside);
    (void)pclose(outside);
    return len == 0 || strncmp(host, self.machine, strlen(self.machine)) != 0;
}

_Noreturn void asx_test_fail(const char *file, int line, const char *format, ...)
{
    int used = snprintf(reason, REASON_SIZE, "%s:%d: ", file, line);
    if (used > 0 && used < REASON_SIZE) {
        va_list args;
        va_start(args, format);
        vsnprintf(reason + used, (size_t)(REASON_SIZE - used), format, args);
        va_end(args);
    }
    fflush(NULL);
    if (running_unforked) {
        printf("FAIL %s %s\n", running_unforked, reason);
        fflush(stdout);
    }
    if (__gcov_dump)
        __gcov_dump();
    _exit(1);
}

/* --- checks ----------------------------------------------------------------------------- */

static bool int_less(struct asx_test_int a, struct asx_test_int b)
{
    if (a.negative != b.negative)
        return a.negative;
    return a.bits < b.bits; /* two's complement keeps the order among negatives */
}

static const char *int_text(struct asx_test_int value, char *buffer, size_t size)
{
    if (value.negative)
        snprintf(buffer, size, "%" PRId64, (int64_t)value.bits);
    else
        snprintf(buffer, size, "%" PRIu64, value.bits);
    return buffer;
}

void asx_test_compare(enum asx_test_relation relation, struct asx_test_int a,
                      struct asx_test_int b, const char *text, const char *file, int line)
{
    bool holds = false;
    switch (relation) {
    case ASX_TEST_EQ: holds = !int_less(a, b) && !int_less(b, a); break;
    case ASX_TEST_NE: holds = int_less(a, b) || int_less(b, a); break;
    case ASX_TEST_GE: holds = !int_less(a, b); break;
    case ASX_TEST_LE: holds = !int_less(b, a); break;
    }
    if (holds)
        return;
    char a_text[24], b_text[24];
    asx_test_fail(file, line, "%s: left %s, right %s", text, int_text(a, a_text, sizeof a_text),
                  int_text(b, b_text, sizeof b_text));
}

void asx_test_compare_str(const char *a, const char *b, const char *text, const char *file,
                          int line)
{
    if (a == b || (a && b && strcmp(a, b) == 0))
        return;
    asx_test_fail(file, line, "%s: left %s%s%s, right %s%s%s", text, a ? "\"" : "",
                  a ? a : "NULL", a ? "\"" : "", b ? "\"" : "", b ? b : "NULL", b ? "\"" : "");
}

void asx_test_compare_ptr(const void *a, const void *b, const char *text, const char *file,
                          int line)
{
    if (a != b)
        asx_test_fail(file, line, "%s: left %p, right %p", text, a, b);
}

void asx_test_compare_mem(const void *a, const void *b, uint64_t size, const char *text,
                          const char *file, int line)
{
    const unsigned char *left = a, *right = b;
    for (uint64_t i = 0; i < size; i++) {
        if (left[i] != right[i])
            asx_test_fail(file, line, "%s: byte %" PRIu64 " is %02x left, %02x right", text, i,
                          left[i], right[i]);
    }
}

void asx_test_compare_status(int got, int expected, const char *text, const char *file, int line)
{
    if (got == expected)
        return;
    asx_test_fail(file, line, "%s: status %d %s, expected %d %s", text, got,
                  asx_status_str ? asx_status_str(got) : "", expected,
                  asx_status_str ? asx_status_str(expected) : "");
}

int asx_test_death(void (*fn)(void *arg), void *arg)
{
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        asx_test_fail(__FILE__, __LINE__, "fork: %s", strerror(errno));
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        if (null >= 0)
            dup2(null, STDERR_FILENO);
        fn(arg);
        if (__gcov_dump)
            __gcov_dump();
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            asx_test_fail(__FILE__, __LINE__, "waitpid: %s", strerror(errno));
    }
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

/* --- running ---------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* How long the child could have run but for others, who had the processor; 0: nobody says. */
static int64_t kept_waiting_ms(pid_t child)
{
    char path[64];
    unsigned long long waited_ns = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)child);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*u %llu", &waited_ns) != 1)
        waited_ns = 0;
    fclose(file);
    return (int64_t)(waited_ns / 1000000);
}

/* Waits until the child ends or the limit passes; false: late, and killed. On a busy machine the
 * limit is for the time that the child had. */
static bool wait_child(pid_t child, const sigset_t *sigchld, int64_t limit_ms, int *ret_status)
{
    int64_t deadline_ms = now_ms() + limit_ms;
    bool in_time = true;
    for (;;) {
        pid_t done = waitpid(child, ret_status, WNOHANG);
        if (done == child)
            break;
        int64_t left_ms = deadline_ms - now_ms();
        if (left_ms <= 0)
            left_ms += kept_waiting_ms(child);
        if (left_ms <= 0) {
            in_time = false;
            kill(-child, SIGKILL);
            while (waitpid(child, ret_status, 0) < 0 && errno == EINTR)
                ;
            break;
        }
        struct timespec left = { left_ms / 1000, left_ms % 1000 * 1000000 };
        sigtimedwait(sigchld, NULL, &left);
    }
    kill(-child, SIGKILL); /* what the test may have left behind in its group */
    return in_time;
}

static _Noreturn void run_child(const struct asx_test_case *test_case, const sigset_t *mask)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, mask, NULL);
    test_case->run();
    exit(0);
}

/* Runs one test and prints its line; true: it passed. */
static bool run_forked(const struct asx_test_case *test_case)
{
    sigset_t sigchld, mask;
    sigemptyset(&sigchld);
    sigaddset(&sigchld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &sigchld, &mask);
    reason[0] = '\0';
    fflush(NULL);

    unsigned limit_s = test_case->timeout_s * asx_test_scale();
    pid_t child = fork();
    if (child == 0)
        run_child(test_case, &mask);
    if (child < 0) {
        printf("FAIL %s fork: %s\n", test_case->name, strerror(errno));
        return false;
    }
    setpgid(child, child); /* in both processes: whichever comes first */
    int status = 0;
    bool in_time = wait_child(child, &sigchld, (int64_t)limit_s * 1000, &status);
    sigprocmask(SIG_SETMASK, &mask, NULL);

    bool passed = in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (passed)
        printf("ok %s\n", test_case->name);
    else if (!in_time)
        printf("FAIL %s timed out after %u s\n", test_case->name, limit_s);
    else if (reason[0])
        printf("FAIL %s %s\n", test_case->name, reason);
    else if (WIFSIGNALED(status))
        printf("FAIL %s signal %d (%s)\n", test_case->name, WTERMSIG(status),
               strsignal(WTERMSIG(status)));
    else
        printf("FAIL %s exit code %d\n", test_case->name, WEXITSTATUS(status));
    fflush(stdout);
    return passed;
}

static bool run_unforked(const struct asx_test_case *test_case)
{
    running_unforked = test_case->name;
    test_case->run();
    running_unforked = NULL;
    printf("ok %s\n", test_case->name);
    fflush(stdout);
    return true;
}

struct options {
    bool list;
    bool fork;
    bool stop; /* at the first failure */
    int filters_len;
    const char *filters[FILTERS_MAX];
};

static bool parse(int argc, char **argv, struct options *ret_options)
{
    struct options options = { .fork = true };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0)
            options.list = true;
        else if (strcmp(argv[i], "--no-fork") == 0)
            options.fork = false;
        else if (strcmp(argv[i], "--stop") == 0)
            options.stop = true;
        else if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc &&
                 options.filters_len < FILTERS_MAX)
            options.filters[options.filters_len++] = argv[++i];
        else
            return false;
    }
    *ret_options = options;
    return true;
}

static bool selected(const struct options *options, const char *name)
{
    for (int i = 0; i < options->filters_len; i++) {
        if (strstr(name, options->filters[i]))
            return true;
    }
    return options->filters_len == 0;
}

int asx_test_main(const struct asx_test_case *first, int argc, char **argv)
{
    struct options options;
    if (!parse(argc, argv, &options)) {
        fprintf(stderr, "usage: %s [--list] [--filter SUBSTR]... [--no-fork] [--stop]\n", argv[0]);
        return 2;
    }
    reason = mmap(NULL, REASON_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (reason == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    int passed = 0, failed = 0;
    for (const struct asx_test_case *c = first; c && !(options.stop && failed); c = c->next) {
        if (!selected(&options, c->name))
            continue;
        if (options.list)
            printf("%s\n", c->name);
        else if (options.fork ? run_forked(c) : run_unforked(c))
            passed++;
        else
            failed++;
    }
    if (options.list)
        return 0;
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}

int main(int argc, char **argv)
{
    return asx_test_main(cases_first, argc, argv);
}
