/* begin.c - asx_explore(): whether one process explores or several do, and whether what they report
 * can be believed. */
#include "lab/jobs/jobs.h"

/* No class comes twice, and no execution is begun in vain, unless a plan did not lead where it led
 * when it was made. */
static void doubt(const asx_explore_options *o, asx_explore_result *result)
{
    bool brute = o->mode != ASX_EXPLORE_OPTIMAL || o->bound != 0 || o->delays != 0;
    bool doubtful = result->totals.redundant != 0 ||
                    (result->totals.blocked != 0 && result->complete);
    if (!doubtful || result->status < 0 || brute || o->weak != 0) {
        result->cell_moved = result->cell_moved && result->status == ASX_E_DIVERGED;
        return;
    }
    result->status = ASX_E_DIVERGED;
    result->stopped = ASX_EXPLORE_STOP_FAILED;
    result->complete = false;
}

asx_status asx_explore(asx_lab_fn fn, void *arg, const asx_explore_options *options,
                       asx_explore_result *ret_result)
{
    asx_explore_options o = options != NULL ? *options : (asx_explore_options){ 0 };
    uint32_t faults = 0
#define FAULT_BIT(name, bit, text) | ASX_EXPLORE_FAULT_##name
        ASX_EXPLORE_FAULT_LIST(FAULT_BIT);
#undef FAULT_BIT
    if (fn == NULL || ret_result == NULL || (unsigned)o.mode >= ASX_EXPLORE_MODE_COUNT ||
        (unsigned)o.clock > ASX_EXPLORE_ADVERSARIAL || (o.faults & ~faults) != 0 ||
        o.depth > ASX__DEPTH_MOST || o.jobs > ASX__JOBS_MOST)
        return ASX_E_INVALID_ARGUMENT;
    asx__explore_defaults(&o);
    bool tied = o.jobs > 1 || o.on_checkpoint != NULL || o.resume != NULL;
    asx_status st = tied && o.schedule == NULL && o.sink == NULL
                        ? asx__jobs_run(&o, fn, arg, ret_result)
                        : asx__explore_alone(&o, fn, arg, NULL, ret_result);
    if (st >= 0)
        doubt(&o, ret_result);
    return st;
}
