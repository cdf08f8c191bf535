/* futex.c - the system calls behind asx__futex_wait() and asx__futex_wake(). */
#include "base/atomic.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u

uint64_t asx__futex_clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

bool asx__futex_wait(asx__atomic_u32 *word, uint32_t expected, uint64_t deadline_ns)
{
    struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / NS_PER_S),
        .tv_nsec = (long)(deadline_ns % NS_PER_S),
    };
    bool forever = deadline_ns == ASX__FUTEX_FOREVER;
    int saved = errno; /* the caller's business, and no part of ours */
    /* Of the two waits the one with a bit set takes an absolute time. */
    long rc = syscall(SYS_futex, &word->v_, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                      forever ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
    bool late = rc < 0 && errno == ETIMEDOUT;
    errno = saved;
    return !late;
}

void asx__futex_wake(asx__atomic_u32 *word, uint32_t count)
{
    int saved = errno;
    (void)syscall(SYS_futex, &word->v_, FUTEX_WAKE | FUTEX_PRIVATE_FLAG,
                  count > INT_MAX ? INT_MAX : (int)count, NULL, NULL, 0);
    errno = saved;
}
