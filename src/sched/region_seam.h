/* region_seam.h - what calls on regions ask an explorer first; nothing without one (seam.h). */
#ifndef ASX_SCHED_REGION_SEAM_H
#define ASX_SCHED_REGION_SEAM_H

#include "sched/sched.h"

/* Before the task opens a region in its own, or in the innermost that it has open; either may have
 * room for so many. */
void asx__scope_explored(asx_runtime *rt, asx__task *task, const asx__region *parent);
/* Before the running task opens one, or reserves an obligation, in a region that others may have
 * closed, and that may have room for so many; asked before the handle is resolved. */
void asx__open_explored(const asx_region *region);
void asx__reserve_explored(const asx_region *region);
/* Before anybody stops it, or finds that somebody else has; likewise. */
void asx__stop_explored(const asx_region *region);
/* Before its owner closes it; `cancels`: and cancels what is in it. */
void asx__region_stop_explored(asx_runtime *rt, asx__region *region, bool cancels);
/* Before it is closed, which region->busy has kept it from. */
void asx__region_close_explored(asx_runtime *rt, asx__region *region);

/* Before something is made in a region, which others may have closed or cancelled; asked before
 * the handle is resolved. True: there is no memory for it, which sticks (`may_fail`: that is looked
 * for). */
static inline bool asx__made_explored(const asx_region *region, bool may_fail)
{
    if (ASX__LIKELY(region == NULL || region->rt_ == NULL || region->rt_->seam == NULL))
        return false;
    const asx_runtime *rt = region->rt_;
    bool fails = may_fail && asx__fails(rt, ASX__FAULT_NO_MEMORY);
    (void)asx__announce(rt, rt->current, ASX__OP_SET_UP, asx__serial(region->id.generation),
                        .start.how = fails ? ASX__SPAWN_FAILS : 0u);
    return fails;
}

/* Of a region or task that begins. Where the clock moves only when nobody can go, a deadline that
 * has passed comes with its next move. */
static inline asx_time asx__deadline_explored(const asx_runtime *rt, asx_time deadline)
{
    return ASX__UNLIKELY(rt->seam != NULL) && deadline <= rt->now ? asx_time_add(rt->now, 1)
                                                                  : deadline;
}

#endif
