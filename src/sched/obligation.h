/* obligation.h - reserving and resolving promises. */
#ifndef ASX_SCHED_OBLIGATION_H
#define ASX_SCHED_OBLIGATION_H

#include "sched/sched.h"

/* A new obligation that `task` holds. NULL: memory or the ceiling is exhausted. */
asx__obligation *asx__obligation_new(asx_runtime *rt, asx__task *task, void *object,
                                     asx_obligation_kind kind, const char *site);
/* The task's own record, for a plain send permit; NULL: it is in use, or a journal or a ceiling
 * wants to know of every obligation. Made with an object of the caller's choice. */
asx__obligation *asx__obligation_own(asx_runtime *rt, asx__task *task, void *object);
/* A reserved obligation of a task is resolved as `to`: its record is free. */
void asx__obligation_resolve(asx_runtime *rt, asx__obligation *obligation,
                             asx_obligation_state to);
void asx__obligation_trace(asx_runtime *rt, uint32_t event, asx__obligation *obligation);
/* Why is this id not a live obligation? ALREADY_RESOLVED if it was given out once, else STALE. */
asx_status asx__obligation_missing(const asx_runtime *rt, uint64_t id);
/* The next live obligation of all that there are; *cursor is 0 at first. Obligations may be made
 * and resolved between two calls. */
asx__obligation *asx__obligation_next(const asx_runtime *rt, uint64_t *cursor);

#endif
