/* local.h - the runnable tasks of one worker, and how they change hands.
 *
 * What a worker makes runnable, plain and of priority 0, goes to a list of its own, which others
 * may rob: the oldest first, some at a time. While the worker is in the engine its list is the
 * first ready list of the runtime, which the short ways use, and `local` is empty; it is put away
 * when another worker's registers are loaded.
 *
 * Every step happens with the engine held, so lists will do, and F2 holds for each task in them: it
 * is runnable, and stands in one list. tests/model/test_local.c explores workers that run, rob and
 * are given work.
 *
 * Rejected: deques that can be robbed without a lock. They pay off where finding work needs no
 * engine; here a thief is in it anyway.
 */
#ifndef ASX_SCHED_LOCAL_H
#define ASX_SCHED_LOCAL_H

#include "sched/sched.h"

/* Appends all of `from`, which is empty then. */
static inline void asx__local_move(asx__node *from, asx__node *to)
{
    if (asx__list_empty(from))
        return;
    asx__node *first = from->next, *last = from->prev;
    first->prev = to->prev;
    to->prev->next = first;
    last->next = to;
    to->prev = last;
    asx__list_init(from);
}

/* Registers change: `ready` was the list of the one whose `before` is, and is the other's now. */
static inline void asx__local_exchange(asx__node *ready, asx__node *before, asx__node *now)
{
    asx__local_move(ready, before);
    asx__local_move(now, ready);
}

/* The oldest of `from` goes to the end of `to`. NULL: there is none. */
static inline asx__task *asx__local_rob(asx__node *from, asx__node *to)
{
    if (asx__list_empty(from))
        return NULL;
    asx__task *task = (asx__task *)asx__list_pop_front(from);
    ASX__DEBUG_ASSERT(asx__is_queued(task)); /* F2 */
    asx__list_push_back(to, &task->node);
    return task;
}

#endif
