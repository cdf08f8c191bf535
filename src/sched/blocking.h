/* blocking.h - what the loop has to do with work on other threads: it comes back by inbox.h. */
#ifndef ASX_SCHED_BLOCKING_H
#define ASX_SCHED_BLOCKING_H

#include "sched/sched.h"

/* Wakes the tasks whose work has been done since the last look. Loop only. */
void asx__blocking_drain(asx_runtime *rt);
/* Sleeps until the deadline on the real clock, or until something or a signal comes. False: the
 * deadline has passed. Loop only. */
bool asx__blocking_sleep(asx_runtime *rt, asx_time until);
/* Waits for work that runs, drops the rest, ends the threads. */
void asx__blocking_stop(asx_runtime *rt);
/* The pool is held while the process is copied; in the child it has no threads, and what was out
 * has come back with ASX_E_SYSTEM. */
void asx__blocking_before_fork(asx_runtime *rt);
void asx__blocking_after_fork(asx_runtime *rt, bool child);

#endif
