/* latch.h - the small lock of one object, for what needs nobody but the task that does it.
 *
 * In a shared runtime a running task that finds all it wants in one object (room in a channel, a
 * message, nobody waiting) does not enter the engine: it takes the object's latch, does it, and
 * drops the latch. Whoever is in the engine and comes to the object *seizes* it: it takes the latch
 * too, and keeps it until it leaves the engine. So code of the engine has to say once that it comes
 * to an object, and has it to itself for as long as it is inside; and a task that was published in
 * an object while the engine was held is seen by others only when it has left its stack.
 *
 *     word   0 free   1 a task has it   2 seized by whoever is in the engine
 *
 * Order: the engine, then latches. Who holds one by itself waits for nothing and enters nothing, so
 * any number of them can be seized in any order.
 *
 *   where   order     partner         without it
 *   take    acquire   drop, release   what was done under the latch is not seen by the next
 *   drop    release   take, seize     likewise
 *
 * Dropping is a store and taking is one exchange, because three of them are on the way of every
 * message. So nobody can sleep on a latch: who waits for one spins, then gives its core away, for
 * the few steps that it is held.
 *
 * Rejected: asx__lock, which is dropped by a second exchange; a sequence of tickets, whose waiters
 * all stand behind one that has lost its core.
 */
#ifndef ASX_SCHED_LATCH_H
#define ASX_SCHED_LATCH_H

#include "sched/lease.h"

#define ASX__LATCH_FREE 0u
#define ASX__LATCH_TAKEN 1u
#define ASX__LATCH_SEIZED 2u

typedef struct asx__latch {
    asx__atomic_u32 word;
    struct asx__latch *next; /* L: of those that are seized */
} asx__latch;

static inline void asx__latch_init(asx__latch *latch)
{
    asx__atomic_init(&latch->word, ASX__LATCH_FREE);
    latch->next = NULL;
}

static inline bool asx__latch_try(asx__latch *latch, uint32_t how)
{
    uint32_t expected = ASX__LATCH_FREE;
    return asx__cas_acquire(&latch->word, &expected, how);
}

/* By whoever is inside: for the few steps of the one that has it. */
static __attribute__((noinline, unused)) void asx__latch_wait(asx__latch *latch)
{
    for (unsigned n = 0;; n++) {
        ASX__LEASE_PAUSE(n);
        if (asx__load_relaxed(&latch->word) == ASX__LATCH_FREE &&
            asx__latch_try(latch, ASX__LATCH_SEIZED))
            return;
    }
}

#ifndef ASX__LATCH_PATIENCE
#define ASX__LATCH_PATIENCE 64u
#endif

/* By a task. If somebody else works on the same object, both get more done when each does so for a
 * while than when its cache lines go to and fro at every step. That is for who spins: one that
 * gives its core away, or sleeps, does so once between two looks, or it would hardly ever have its
 * turn where others come and go. */
static __attribute__((noinline, unused)) void asx__latch_wait_long(asx__latch *latch)
{
    unsigned pause = 1;
    for (unsigned n = 0;; n++) {
        for (unsigned i = 1; i < pause; i++)
            asx__cpu_relax();
        ASX__LEASE_PAUSE(n);
        if (pause < ASX__LATCH_PATIENCE)
            pause *= 2;
        if (asx__load_relaxed(&latch->word) == ASX__LATCH_FREE &&
            asx__latch_try(latch, ASX__LATCH_TAKEN))
            return;
    }
}

/* By a task that is not inside. */
static inline void asx__latch_take(asx__latch *latch)
{
    if (ASX__UNLIKELY(!asx__latch_try(latch, ASX__LATCH_TAKEN)))
        asx__latch_wait_long(latch);
}

static inline void asx__latch_drop(asx__latch *latch)
{
    ASX__DEBUG_ASSERT(asx__load_relaxed(&latch->word) == ASX__LATCH_TAKEN);
    asx__store_release(&latch->word, ASX__LATCH_FREE);
}

/* By whoever is inside; `seized` are those that it has already. It keeps what it has seized. */
static inline void asx__latch_seize(asx__latch *latch, asx__latch **seized)
{
    if (asx__load_relaxed(&latch->word) == ASX__LATCH_SEIZED)
        return; /* nobody but the one inside writes that, and it is gone when he leaves */
    if (ASX__UNLIKELY(!asx__latch_try(latch, ASX__LATCH_SEIZED)))
        asx__latch_wait(latch);
    latch->next = *seized;
    *seized = latch;
}

/* On the way out. */
static inline void asx__latches_release(asx__latch **seized)
{
    while (*seized != NULL) {
        asx__latch *latch = *seized;
        *seized = latch->next;
        asx__store_release(&latch->word, ASX__LATCH_FREE);
    }
}

#endif
