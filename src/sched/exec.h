/* exec.h - where a task stands as to execution, and what holds there.
 *
 *                   queue               run               park
 *     INIT -------------> RUNNABLE ----------> RUNNING ---------> PARKED
 *                          ^   ^                 |  |               |
 *                          |   '---- give way ---'  '-> DONE,       |
 *                          '---------- claim, queue --- CANCELLED --'
 *
 * PARKING and WAKING are for poll tasks, which register a wait and go on until they return: who has
 * one is PARKING, who was woken before it has returned is WAKING, and both are still on the
 * processor. A fiber parks and leaves its stack in one hold of the engine, so nobody can see it
 * between the two.
 *
 * Held, and asserted in debug builds where a task changes hands:
 *
 *   F1  who is on the processor belongs to one worker           run, and when registers change
 *   F2  only who is runnable stands in a lane                   queue, take, run, steal
 *   F3  only who is parked is woken, out of the wait it is in   claim
 *   F4  who claims it queues it, and nobody else: once          queue
 *   F5  who has parked does nothing more until it is run        every call of a task, and when
 *                                                               the engine is left for its code
 *
 * The ticket of a wait is task->w.waits: set when it parks, gone when it is claimed. All of it
 * happens with the engine held.
 */
#ifndef ASX_SCHED_EXEC_H
#define ASX_SCHED_EXEC_H

#include <stdbool.h>

/* task->exec. */
enum asx__exec {
    ASX__EXEC_INIT,
    ASX__EXEC_RUNNABLE,
    ASX__EXEC_RUNNING,
    ASX__EXEC_PARKING,
    ASX__EXEC_PARKED,
    ASX__EXEC_WAKING,
    ASX__EXEC_DONE,
    ASX__EXEC_CANCELLED,
    ASX__EXEC_YIELDED,  /* runnable, and nothing was handed over to it */
    ASX__EXEC_PERMITTED /* runnable fiber whose waker wrote a permit or guard to where r.io is */
};

/* In a lane, or next_up, or handoff. */
static inline bool asx__exec_is_queued(unsigned state)
{
    return state == ASX__EXEC_RUNNABLE || state >= ASX__EXEC_YIELDED;
}

/* A worker runs its code, or calls for it. */
static inline bool asx__exec_is_on(unsigned state)
{
    return state == ASX__EXEC_RUNNING || state == ASX__EXEC_PARKING || state == ASX__EXEC_WAKING;
}

/* May it be put into a lane? New ones, those on the processor that give way, those claimed. */
static inline bool asx__exec_may_queue(unsigned state)
{
    return state == ASX__EXEC_INIT || state == ASX__EXEC_RUNNING || state == ASX__EXEC_PARKED ||
           state == ASX__EXEC_WAKING;
}

#endif
