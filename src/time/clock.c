/* clock.c - the two clocks: the system's monotonic one, and a counter for virtual time. */
#include "time/time.h"

#include <time.h>

static bool monotonic_read(uint64_t *ret_ns)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_MONOTONIC, &ts) != 0)
        return false;
    *ret_ns = (uint64_t)ts.tv_sec * ASX_SEC + (uint64_t)ts.tv_nsec;
    return true;
}

static asx_time monotonic_now(void *ctx)
{
    const asx__monotonic_clock *self = ctx;
    uint64_t ns;
    return monotonic_read(&ns) && ns > self->epoch_ns ? ns - self->epoch_ns : 0;
}

asx_status asx__monotonic_clock_init(asx__monotonic_clock *self)
{
    return monotonic_read(&self->epoch_ns) ? ASX_OK : ASX_E_SYSTEM;
}

asx__clock asx__monotonic_clock_interface(asx__monotonic_clock *self)
{
    return (asx__clock){ monotonic_now, self };
}

static asx_time virtual_now(void *ctx)
{
    return ((const asx__virtual_clock *)ctx)->now;
}

void asx__virtual_clock_init(asx__virtual_clock *self, asx_time start)
{
    self->now = start;
}

asx_status asx__virtual_clock_set(asx__virtual_clock *self, asx_time now)
{
    if (now < self->now)
        return ASX_E_INVALID_ARGUMENT;
    self->now = now;
    return ASX_OK;
}

void asx__virtual_clock_advance(asx__virtual_clock *self, uint64_t by_ns)
{
    self->now = asx_time_add(self->now, by_ns);
}

asx__clock asx__virtual_clock_interface(asx__virtual_clock *self)
{
    return (asx__clock){ virtual_now, self };
}
