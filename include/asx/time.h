/* time.h - nanoseconds since the runtime's epoch. */
#ifndef ASX_TIME_H
#define ASX_TIME_H

#include <asx/api.h>

typedef uint64_t asx_time;

#define ASX_TIME_NEVER UINT64_MAX

#define ASX_NS UINT64_C(1)
#define ASX_US UINT64_C(1000)
#define ASX_MS UINT64_C(1000000)
#define ASX_SEC UINT64_C(1000000000)

/* Saturating, so that "now + a very long time" is NEVER and not the past. */
static inline asx_time asx_time_add(asx_time a, uint64_t ns)
{
    return ns > ASX_TIME_NEVER - a ? ASX_TIME_NEVER : a + ns;
}

#endif
