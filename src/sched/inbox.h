/* inbox.h - what other threads have finished for the loop of a runtime of one worker.
 *
 * Any thread puts onto a stack, and rings; the loop takes the whole stack at the start of a turn,
 * and looks once more after it has said that it sleeps:
 *
 *     loop                                other thread
 *       bell = ASLEEP                       put: newest = item
 *       newest == NULL?                     ring: bell = AWAKE; was it ASLEEP? wakes the loop
 *       sleeps while bell == ASLEEP
 *
 * One of the two sees the other's write, so nothing is left lying while the loop sleeps. A loop
 * that waits for input and output as well does that elsewhere: it says AWAY instead of ASLEEP, and
 * whoever rings ends that wait instead of waking the futex.
 *
 *   where           order     partner         without it
 *   put, newest     seq_cst   sleep, newest   the loop finds nothing, and ring finds it awake; and
 *                                             what is in the item is not seen
 *   ring, bell      seq_cst   sleep, bell     likewise
 *   sleep, bell     seq_cst   ring            likewise
 *   sleep, newest   seq_cst   put             likewise
 *   go_away, both   seq_cst   ring, put       likewise
 *   take, newest    acquire   put             what is in the item is not seen
 *
 * tests/model/test_inbox.c explores this file and weakens each of these orders.
 *
 * Rejected: a compare-and-swap in ring, which leaves an awake loop's bell alone: one that fails is
 * a load, and a load may see an older value.
 */
#ifndef ASX_SCHED_INBOX_H
#define ASX_SCHED_INBOX_H

#include <stddef.h>

#include "base/atomic.h"

enum { ASX__INBOX_AWAKE, ASX__INBOX_ASLEEP, ASX__INBOX_AWAY };

typedef struct asx__inbox_item {
    struct asx__inbox_item *next;
} asx__inbox_item;

typedef struct asx__inbox {
    asx__atomic_ptr newest; /* A: of a stack */
    asx__atomic_u32 bell;   /* A: the loop sleeps on it */
} asx__inbox;

static inline void asx__inbox_init(asx__inbox *in)
{
    asx__atomic_init(&in->newest, NULL);
    asx__atomic_init(&in->bell, (uint32_t)ASX__INBOX_AWAKE);
}

/* Any thread. From here on the item may be gone. True: nothing was there before it. */
static inline bool asx__inbox_put(asx__inbox *in, asx__inbox_item *item)
{
    void *newest = asx__load_relaxed(&in->newest);
    do
        item->next = newest;
    while (!asx__cas_seq_cst(&in->newest, &newest, (void *)item));
    return newest == NULL;
}

/* Any thread, after it has put something. True: the loop waits elsewhere, and the caller has to end
 * that wait. */
static inline bool asx__inbox_ring(asx__inbox *in)
{
    uint32_t before = asx__exchange_seq_cst(&in->bell, (uint32_t)ASX__INBOX_AWAKE);
    if (before == ASX__INBOX_ASLEEP)
        asx__futex_wake(&in->bell, 1);
    return before == ASX__INBOX_AWAY;
}

/* The loop: a guess. */
static inline bool asx__inbox_is_empty(const asx__inbox *in)
{
    return asx__load_relaxed(&in->newest) == NULL;
}

/* The loop: all that is there, the oldest first. NULL: nothing. */
static inline asx__inbox_item *asx__inbox_take(asx__inbox *in)
{
    asx__inbox_item *newest = asx__exchange_acquire(&in->newest, NULL), *oldest = NULL;
    while (newest != NULL) {
        asx__inbox_item *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

/* The loop: until something comes, or a signal. False: the deadline has passed. */
static inline bool asx__inbox_sleep(asx__inbox *in, uint64_t deadline_ns)
{
    bool early = true;
    asx__store_seq_cst(&in->bell, (uint32_t)ASX__INBOX_ASLEEP);
    if (asx__load_seq_cst(&in->newest) == NULL)
        early = asx__futex_wait(&in->bell, ASX__INBOX_ASLEEP, deadline_ns);
    asx__store_relaxed(&in->bell, (uint32_t)ASX__INBOX_AWAKE);
    return early;
}

/* The loop is about to wait elsewhere. False: something has come, and it does not. */
static inline bool asx__inbox_go_away(asx__inbox *in)
{
    asx__store_seq_cst(&in->bell, (uint32_t)ASX__INBOX_AWAY);
    return asx__load_seq_cst(&in->newest) == NULL;
}

/* The loop: in any case after that. */
static inline void asx__inbox_come_back(asx__inbox *in)
{
    asx__store_relaxed(&in->bell, (uint32_t)ASX__INBOX_AWAKE);
}

#endif
