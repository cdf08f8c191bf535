/* mutex.h - the inside of a mutex, for itself and for conditions.
 *
 *     free       <=>  holder == NULL
 *     held       <=>  guard != NULL; holder is the guard's owner
 *     granted    <=>  holder != NULL, guard == NULL: a poll task has not picked it up
 *     a waiter exists => not free
 *     poisoned   =>   every waiter recovers, or retakes
 */
#ifndef ASX_SYNC_MUTEX_H
#define ASX_SYNC_MUTEX_H

#include <asx/sync.h>

#include "sync/object.h"

/* What a task can wait for in a mutex. */
enum asx__mutex_wait {
    ASX__MUTEX_LOCK,    /* io: asx__mutex_io * */
    ASX__MUTEX_RECOVER, /* likewise */
    ASX__MUTEX_RETAKE   /* after a condition; io: asx__retake_io * */
};

typedef struct asx__mutex {
    asx__sync sync;
    asx__task *holder;
    asx__obligation *guard;
    bool poisoned;
} asx__mutex;
_Static_assert(sizeof(asx__mutex) <= ASX__SYNC_RECORD_SIZE, "fits the slab");

typedef struct asx__mutex_io {
    asx_mutex_guard guard;
    const char *site;
} asx__mutex_io;

/* A fiber that waits in a condition, and then to get its mutex back. */
typedef struct asx__retake_io {
    asx__obligation *guard;
    asx__sync *signalled_by; /* the condition whose signal it has got; NULL: none */
    uint64_t generation;     /* of the condition */
} asx__retake_io;

ASX__GUARD_LAYOUT(asx_mutex_guard);

bool asx__mutex_is_valid(const asx__mutex *m);
/* The mutex is given up: the next waiter gets it. */
void asx__mutex_pass_on(asx__mutex *m);
/* Gives the mutex up for a condition; the guard's obligation goes on. */
void asx__mutex_part(asx__mutex *m, asx__obligation *guard);
/* Takes the free mutex for the guard's owner, which parted from it. */
void asx__mutex_retake(asx__mutex *m, asx__obligation *guard, enum asx__guard_note note);
/* The owner of a guard that has parted is waiting: takes the mutex for it, and wakes it, if it is
 * free; else the owner waits for the mutex from now on, and for nothing else. */
void asx__mutex_retake_for(asx__mutex *m, asx__task *task, asx__obligation *guard);
/* The task, which waits in a condition or to retake, has got its signal, or (NULL) no more. */
void asx__retake_signalled(asx__task *task, asx__sync *condition);
/* It will never come back: whatever signal it had got goes to another waiter, if there is one. */
void asx__condition_pass_on(asx__sync *condition, uint64_t generation);
/* The guard with which a task waits in a condition, or to retake. */
asx__obligation *asx__retaking_guard(const asx__task *task);

#endif
