/* steal.h - the order in which a worker looks for work at the others.
 *
 * A search goes once around all workers, from one that the seed chooses. The same seed gives the
 * same starts, search after search, worker by worker; who finds what depends on who was faster.
 */
#ifndef ASX_SCHED_STEAL_H
#define ASX_SCHED_STEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

typedef struct asx__scan {
    uint32_t next, left, count;
} asx__scan;

static inline void asx__scan_seed(asx__rng *rng, uint64_t seed, uint32_t worker)
{
    asx__rng all;
    asx__rng_seed(&all, seed);
    *rng = asx__rng_fork(&all, worker);
}

static inline asx__scan asx__scan_begin(asx__rng *rng, uint32_t count)
{
    asx__scan scan = { (uint32_t)asx__rng_below(rng, count), count, count };
    return scan;
}

/* False: everyone has been looked at. */
static inline bool asx__scan_step(asx__scan *scan, uint32_t *ret_worker)
{
    if (scan->left == 0)
        return false;
    scan->left--;
    *ret_worker = scan->next;
    scan->next = scan->next + 1 == scan->count ? 0 : scan->next + 1;
    return true;
}

#endif
