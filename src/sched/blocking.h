/* blocking.h - what the loop has to do with work on other threads.
 *
 * The inbox takes what other threads have finished. They push onto a stack and ring; the loop takes
 * the whole stack at the start of a turn, and looks once more after it has said that it sleeps:
 *
 *     loop                              other thread
 *       bell = ASLEEP      (seq_cst)      push             (seq_cst)
 *       stack empty?       (seq_cst)      bell: ASLEEP -> AWAKE (seq_cst); was it? wake the futex
 *       futex wait while ASLEEP
 *
 * One of the two sees the other's write, so nothing is left lying while the loop sleeps.
 */
#ifndef ASX_SCHED_BLOCKING_H
#define ASX_SCHED_BLOCKING_H

#include "base/atomic.h"
#include "sched/sched.h"

/* Wakes the tasks whose work has been done since the last look. Loop only. */
void asx__inbox_drain(asx_runtime *rt);
/* Sleeps until the deadline on the real clock, or until something or a signal comes. False: the
 * deadline has passed. Loop only. */
bool asx__inbox_sleep(asx_runtime *rt, asx_time until);
/* Waits for work that runs, drops the rest, ends the threads. */
void asx__blocking_stop(asx_runtime *rt);
/* The pool is held while the process is copied; in the child it has no threads, and what was out
 * has come back with ASX_E_SYSTEM. */
void asx__blocking_before_fork(asx_runtime *rt);
void asx__blocking_after_fork(asx_runtime *rt, bool child);

static inline bool asx__inbox_empty(asx_runtime *rt)
{
    return asx__load_relaxed(&rt->inbox) == NULL;
}

#endif
