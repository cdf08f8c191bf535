/* test_system.c - every system call the library makes fails in turn, and nothing is lost by it.
 *
 * The library is linked statically, so the functions defined here stand before those of the C
 * library for it. While a program runs they count, and the n-th call of one kind fails, or every
 * one from the n-th on. Where the sanitizers have put functions of their own there, or the C
 * library is linked statically too and its own cannot be found, the tests are left out and say so.
 */
#include "support_programs.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if ASX_TEST_SANITIZED || ASX_TEST_STATIC

ASX_TEST(system_calls_cannot_be_made_to_fail_here)
{
    fprintf(stderr, "skipped: nothing can stand before the system calls\n");
    CHECK(torture_program_count > 0);
}

#else

enum kind { MMAP, MUNMAP, MADVISE, MPROTECT, SYSCALL, CLOCK, SLEEP, ALTSTACK, ACTION, KINDS };

static struct {
    bool on;
    unsigned kinds;        /* what fails, a bit each ... */
    uint64_t first, last;  /* ... at these calls of it */
    uint64_t calls[KINDS];
    uint64_t failures;
    int64_t mapped;        /* bytes */
} os;

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    CHECK(found != NULL);
    return found;
}

static bool fails(enum kind kind, int error)
{
    if (!os.on)
        return false;
    uint64_t call = ++os.calls[kind];
    if ((os.kinds >> kind & 1u) == 0 || call < os.first || call > os.last)
        return false;
    os.failures++;
    errno = error;
    return true;
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
    if (fails(MMAP, ENOMEM))
        return MAP_FAILED;
    void *(*next)(void *, size_t, int, int, int, off_t);
    *(void **)&next = real("mmap");
    void *got = next(addr, size, prot, flags, fd, offset);
    if (os.on && got != MAP_FAILED)
        os.mapped += (int64_t)size;
    return got;
}

int munmap(void *addr, size_t size)
{
    if (fails(MUNMAP, ENOMEM))
        return -1;
    int (*next)(void *, size_t);
    *(void **)&next = real("munmap");
    int got = next(addr, size);
    if (os.on && got == 0)
        os.mapped -= (int64_t)size;
    return got;
}

int madvise(void *addr, size_t size, int advice)
{
    if (fails(MADVISE, EINVAL))
        return -1;
    int (*next)(void *, size_t, int);
    *(void **)&next = real("madvise");
    return next(addr, size, advice);
}

int mprotect(void *addr, size_t size, int prot)
{
    if (fails(MPROTECT, ENOMEM))
        return -1;
    int (*next)(void *, size_t, int);
    *(void **)&next = real("mprotect");
    return next(addr, size, prot);
}

long syscall(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    bool sleeps = number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    if (sleeps ? fails(SLEEP, EINTR) : number != SYS_futex && fails(SYSCALL, ENOSYS))
        return -1;
    long (*next)(long, ...);
    *(void **)&next = real("syscall");
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    if (fails(CLOCK, EINVAL))
        return -1;
    int (*next)(clockid_t, struct timespec *);
    *(void **)&next = real("clock_gettime");
    return next(clock, ts);
}

int sigaltstack(const stack_t *stack, stack_t *before)
{
    if (fails(ALTSTACK, EPERM))
        return -1;
    int (*next)(const stack_t *, stack_t *);
    *(void **)&next = real("sigaltstack");
    return next(stack, before);
}

int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    if (fails(ACTION, EINVAL))
        return -1;
    int (*next)(int, const struct sigaction *, struct sigaction *);
    *(void **)&next = real("sigaction");
    return next(number, action, before);
}

/* What a call that failed could not put back. */
static void put_back(void)
{
    struct sigaction action;
    stack_t none;
    memset(&action, 0, sizeof action);
    memset(&none, 0, sizeof none);
    action.sa_handler = SIG_DFL;
    none.ss_flags = SS_DISABLE;
    CHECK_EQ(sigaction(SIGSEGV, &action, NULL), 0);
    CHECK_EQ(sigaltstack(&none, NULL), 0);
}

static asx_status run_without(const torture_program *program, unsigned kinds, uint64_t first,
                              uint64_t last, asx_clock_kind clock)
{
    asx_runtime_config config;
    memset(&config, 0, sizeof config);
    config.clock = clock;
    config.stack_overflow = ASX_OVERFLOW_REPORT;
    memset(&os, 0, sizeof os);
    os.kinds = kinds;
    os.first = first;
    os.last = last;
    os.on = true;
    asx_status st = torture_run(&config, program);
    os.on = false;
    if ((kinds >> MUNMAP & 1u) == 0)
        CHECK_EQ(os.mapped, 0);
    put_back();
    return st;
}

static asx_status run_once(const torture_program *program, enum kind kind, uint64_t first,
                           uint64_t last, asx_clock_kind clock)
{
    return run_without(program, 1u << kind, first, last, clock);
}

/* Every call of one kind, alone and with all that follow. Returns how many were made to fail. */
static uint64_t deny(enum kind kind, asx_clock_kind clock)
{
    uint64_t denied = 0;
    torture_system = true;
    for (size_t i = 0; i < torture_program_count; i++) {
        for (int for_good = 0; for_good < 2; for_good++) {
            uint64_t n = 0;
            asx_status st;
            do {
                n++;
                st = run_once(&torture_programs[i], kind, n, for_good ? UINT64_MAX : n, clock);
                denied += os.failures;
            } while (os.failures != 0 && n < 60); /* real time makes the number of calls differ */
            if (os.failures == 0) {
                CHECK_STATUS(st, ASX_OK);
                CHECK_EQ(tally.refused, 0);
            }
        }
    }
    return denied;
}

ASX_TEST_TIMEOUT(memory_that_cannot_be_mapped_is_refused, 60)
{
    CHECK(deny(MMAP, ASX_CLOCK_VIRTUAL) > 20);
}

ASX_TEST_TIMEOUT(memory_that_cannot_be_given_back_is_kept, 60)
{
    CHECK(deny(MUNMAP, ASX_CLOCK_VIRTUAL) > 20);
}

ASX_TEST_TIMEOUT(advice_may_be_refused, 60)
{
    CHECK(deny(MADVISE, ASX_CLOCK_VIRTUAL) > 5);
    (void)deny(SYSCALL, ASX_CLOCK_VIRTUAL); /* older kernels have nothing to refuse here */
    (void)deny(MPROTECT, ASX_CLOCK_VIRTUAL);
}

ASX_TEST_TIMEOUT(a_sleep_that_is_interrupted_is_taken_up_again, 60)
{
    asx_test_one_worker("raw timers");
    CHECK(deny(SLEEP, ASX_CLOCK_REAL) > 0);
}

ASX_TEST(a_runtime_without_its_signal_stack_is_not_made)
{
    const torture_program *program = &torture_programs[0];
    torture_system = true;
    CHECK_STATUS(run_once(program, ALTSTACK, 1, 1, ASX_CLOCK_VIRTUAL), ASX_E_SYSTEM);
    CHECK_STATUS(run_once(program, ACTION, 1, 1, ASX_CLOCK_VIRTUAL), ASX_E_SYSTEM);
    CHECK_STATUS(run_once(program, ALTSTACK, 1, UINT64_MAX, ASX_CLOCK_VIRTUAL), ASX_E_SYSTEM);
    CHECK_STATUS(run_once(program, ALTSTACK, UINT64_MAX, 0, ASX_CLOCK_VIRTUAL), ASX_OK);
}

/* Memory that the system may still use as the signal stack is not freed: a signal that arrives
 * afterwards finds it. */
static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
    char filled[4096];
    memset(filled, number, sizeof filled);
    __asm__ volatile("" : : "r"(filled) : "memory");
    signalled = number;
}

ASX_TEST(a_signal_stack_that_is_not_given_back_stays)
{
    asx_test_one_worker("who has run when a yield returns");
    asx_runtime *rt;
    asx_runtime_config config;
    struct sigaction action;
    memset(&config, 0, sizeof config);
    memset(&action, 0, sizeof action);
    config.stack_overflow = ASX_OVERFLOW_REPORT;
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    for (uint64_t call = 3; call <= 5; call++) { /* the question, the answer, none of them */
        memset(&os, 0, sizeof os);
        os.kinds = 1u << ALTSTACK;
        os.first = os.last = call;
        os.on = true;
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), call <= 4 ? ASX_E_SYSTEM : ASX_OK);
        os.on = false;
        signalled = 0;
        CHECK_EQ(raise(SIGUSR1), 0);
        CHECK_EQ(signalled, SIGUSR1);
        put_back();
    }
    torture_system = true;
    CHECK(deny(ALTSTACK, ASX_CLOCK_VIRTUAL) > 20);
    CHECK(deny(ACTION, ASX_CLOCK_VIRTUAL) > 10);
}

/* A handler that could not be removed is not taken for the one before it. */
ASX_TEST(a_handler_that_stayed_is_not_the_one_before)
{
    asx_runtime *rt;
    asx_runtime_config config;
    struct sigaction now;
    memset(&config, 0, sizeof config);
    config.stack_overflow = ASX_OVERFLOW_REPORT;
    memset(&os, 0, sizeof os);
    os.kinds = 1u << ACTION;
    os.first = os.last = 2;
    os.on = true;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(os.failures, 1);
    os.on = false;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(sigaction(SIGSEGV, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);
}

/* A clock that stops answering stands still; what is slept passes all the same. */
ASX_TEST_TIMEOUT(a_clock_that_stops_answering_stops_nothing, 60)
{
    asx_test_one_worker("who has run when a yield returns");
    CHECK(deny(CLOCK, ASX_CLOCK_REAL) > 20);
}

ASX_TEST(a_runtime_without_a_clock_is_not_made)
{
    torture_system = true;
    CHECK_STATUS(run_once(&torture_programs[0], CLOCK, 1, 1, ASX_CLOCK_REAL), ASX_E_SYSTEM);
    CHECK_EQ(os.failures, 1);
    CHECK_STATUS(run_once(&torture_programs[0], CLOCK, UINT64_MAX, 0, ASX_CLOCK_REAL), ASX_OK);
}

/* When neither advice nor protection can be had, stacks are guarded by a pattern. */
ASX_TEST(without_guard_pages_programs_run_all_the_same)
{
    torture_system = true;
    for (size_t i = 0; i < torture_program_count; i++) {
        unsigned guards = 1u << MADVISE | 1u << SYSCALL | 1u << MPROTECT;
        CHECK_STATUS(run_without(&torture_programs[i], guards, 1, UINT64_MAX, ASX_CLOCK_VIRTUAL),
                     ASX_OK);
        CHECK(os.failures > 0);
    }
}

#endif
