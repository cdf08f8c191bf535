/* lease.c - the heavy barrier of a lease, and how one waits for who is inside. */
#include "sched/lease.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fiber/fiber.h"

#define SPINS 200u
#define YIELDS 400u

static long membarrier(int command)
{
    int saved = errno;
    long rc = syscall(SYS_membarrier, command, 0u, 0);
    errno = saved;
    return rc;
}

bool asx__lease_barriers_work(void)
{
    if (ASX__FIBER_TSAN) /* it would see races where there are none */
        return false;
    long offered = membarrier(MEMBARRIER_CMD_QUERY);
    return offered > 0 && (offered & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
           membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

void asx__lease_heavy_barrier(void)
{
    long rc = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    ASX__ASSERT(rc == 0); /* it is registered */
}

void asx__lease_pause(unsigned times)
{
    struct timespec moment = { 0, 20000 };
    if (times < SPINS)
        asx__cpu_relax();
    else if (times < YIELDS)
        (void)sched_yield();
    else
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
}
