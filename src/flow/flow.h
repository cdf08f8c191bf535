/* flow.h - what the combinators have in common: how a call is entered, how its region is opened,
 * how a branch is started and watched, and what the caller is told.
 *
 * Words
 *   scope    the region of a call; its owner is the calling task
 *   watcher  a poll task of the scope that joins one branch, masked: so the end of any kind is
 *            noticed, also of a branch that never got a stack
 */
#ifndef ASX_FLOW_FLOW_H
#define ASX_FLOW_FLOW_H

#include <asx/flow.h>

#include "sched/engine.h"

/* The running fiber behind `cx`, which is not cancelled, and branches that can be run. */
asx_status asx__flow_enter(asx_cx *cx, uint32_t caps, const asx_branch *branches, size_t count,
                           asx__task **ret_task);

/* The task that is told that it was cancelled has been told: that is the acknowledgement. Otherwise
 * a task that passes the status on would end as one that failed. */
asx_status asx__flow_tell(asx_cx *cx, asx_status st);
/* As asx__flow_tell(), of a status that says nothing of the caller: the caller may have been
 * cancelled, too. */
asx_status asx__flow_tell_too(asx_cx *cx, asx_status st);

/* A cancel, or the time-out of the scope itself, may come from another worker before every branch
 * has been started. A start that was refused for that reason means what closing the scope says. */
bool asx__flow_too_late(asx_status setup);

/* With the name of the options, or this one; branches may do no more than the caller. */
asx_status asx__flow_open(asx_cx *cx, const char *name, const asx_flow_options *options,
                          bool timed, asx_region *ret_region);
/* Whatever the close of the scope says, the caller says that, or always something else. */
void asx__flow_close_is_heard(const asx_region *region, bool answers);

asx_status asx__flow_array(const asx_region *region, size_t count, size_t size, void **ret_array);
asx_status asx__flow_spawn(const asx_region *region, const asx_branch *branch,
                           const asx_flow_options *options, asx_task *ret_task);
/* With the extra part that its mask needs. `own`: the laboratory leaves it what it is. */
asx_status asx__flow_watch(const asx_region *region, asx_poll_fn fn, void *watcher, bool own);

#define ASX__FLOW_STREAM_CAPS (ASX_CAP_SPAWN | ASX_CAP_CHANNEL | ASX_CAP_CANCEL)

/* How a worker of a stream ends: if it was cancelled alone, by its budget, the others are too,
 * since they would wait for it. */
asx_status asx__flow_worker_ends(const asx_region *region, asx_status st);

/* Of a branch about which nothing else is known. */
asx_join_result asx__flow_no_result(asx_status st);

/* One branch in a scope with a time-out (ASX_TIME_NEVER: none). *ret_deadline: the earliest of what
 * is around the scope, the budget of the caller included. */
asx_status asx__flow_one(asx_cx *cx, const char *name, const asx_branch *branch,
                         uint64_t timeout_ns, const asx_flow_options *options,
                         asx_join_result *ret_result, asx_time *ret_deadline);

#endif
