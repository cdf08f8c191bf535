/* failed.h - a region that has failed, and the task that opened it: see failed.c. */
#ifndef ASX_SCHED_FAILED_H
#define ASX_SCHED_FAILED_H

#include "sched/sched.h"

/* child_failed: a child has, and the others were cancelled because of that. own_failure: its set-up
 * has failed in a call of its owner. */

/* Does it lie in `outer`, or is it that one? region.c */
bool asx__region_is_inside(const asx__region *region, const asx__region *outer);
/* Ends the wait of a parked task with this status, unless it is one that nothing ends. cancel.c */
void asx__end_wait(asx_runtime *rt, asx__task *task, asx_status status);

/* The region has just failed: the cancellation points of its owner return that from now on, and the
 * wait that the owner is in ends. */
void asx__region_failed(asx_runtime *rt, asx__region *region);
/* What a cancellation point of the task returns: a failure of a region that it has opened. */
asx_status asx__scopes_tell(const asx__task *task);
/* One of the regions that the task has opened is not its own any more. */
void asx__scopes_look_again(asx__task *task);
/* Before a join with this task. Where a set-up has failed, what the child lives in is cancelled, so
 * that the child ends. */
void asx__join_prepare(asx_runtime *rt, asx__task *task, const asx__task *child);
/* asx__checkpoint() for such a join. */
asx_status asx__join_checkpoint(asx_runtime *rt, asx__task *task, const asx__task *child);

#endif
