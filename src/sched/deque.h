/* deque.h - the run queue of one worker: its owner at both ends, thieves at the old end.
 *
 * After Chase and Lev, "Dynamic Circular Work-Stealing Deque" (2005), with the orders that Le, Pop,
 * Cohen and Zappa Nardelli found to be needed, "Correct and Efficient Work-Stealing for Weak Memory
 * Models" (2013). It does not grow: a push into a full one is refused, and its owner hands the
 * oldest half on to a queue that everybody sees.
 *
 * Words
 *   top      number of the oldest task; only ever rises, by compare-and-swap
 *   bottom   number of the next task to be pushed; written by the owner only
 *   slot     place of the task with that number, modulo the size
 *
 *     tasks in it = bottom - top, between 0 and the size; -1 while the owner finds it empty
 *
 * Letters: I set at init   W owner only   A atomic. Who may call is in the name: _owner, _remote
 * (any other thread), nothing for a guess that anybody may make.
 *
 * An owner that pops at the new end and a thief may be after the same last task. The owner first
 * takes it away (bottom), then looks at top; a thief first looks at top, then at bottom. If they
 * meet, both see it, and the compare-and-swap of top decides. For any task but the last the owner
 * needs no such decision.
 *
 *   where            order      partner           without it
 *   push    bottom   release    steal: bottom     a thief gets a task before what was written to it
 *   push    top      acquire    steal: cas        a slot could be overwritten before it was read
 *                                                 (not on any processor we know of)
 *   pop     bottom   seq_cst    steal: bottom   \ owner and thief do not see each other, and the
 *   pop     top      seq_cst    steal: cas      / same task is taken twice
 *   pop     cas      release    steal: top      \ a thief sees the new top and an old bottom, and
 *   shift   cas      release    steal: top      / takes what the owner has popped
 *   steal   top      acquire    every cas         likewise
 *   steal   bottom   seq_cst    pop: bottom       as for pop; and acquires what push released
 *   steal   cas      seq_cst    pop: top          a pop sees an old top, and takes what is stolen
 *
 * Slots are relaxed: whoever reads one that is being overwritten fails to move top.
 *
 * Stealing half moves one task at a time. Moving top by more than one would take tasks that the
 * owner pops without looking at top.
 *
 * Rejected: fences, as in the second paper, because TSan cannot see them and the accesses cost the
 * same; a queue that grows, because what overflows one worker is better shown to all.
 */
#ifndef ASX_SCHED_DEQUE_H
#define ASX_SCHED_DEQUE_H

#include <stddef.h>

#include "base/atomic.h"

struct asx__task;

#ifndef ASX__DEQUE_SIZE
#define ASX__DEQUE_SIZE 256u
#endif
_Static_assert((ASX__DEQUE_SIZE & (ASX__DEQUE_SIZE - 1)) == 0, "slots are found by masking");

typedef struct asx__deque {
    ASX__OWN_LINE asx__atomic_u64 top;    /* A: owner and thieves */
    ASX__OWN_LINE asx__atomic_u64 bottom; /* A: written by the owner */
    uint64_t top_seen;                    /* W: top was this, and is no less */
    ASX__OWN_LINE asx__atomic_ptr slots[ASX__DEQUE_SIZE]; /* A */
} asx__deque;

/* What came of an attempt to steal. */
typedef enum asx__steal {
    ASX__STEAL_EMPTY,
    ASX__STEAL_LOST, /* somebody else was faster: there may be more */
    ASX__STEAL_TAKEN
} asx__steal;

static inline void asx__deque_init(asx__deque *d)
{
    asx__atomic_init(&d->top, 0);
    asx__atomic_init(&d->bottom, 0);
    d->top_seen = 0;
    for (size_t i = 0; i < ASX__DEQUE_SIZE; i++)
        asx__atomic_init(&d->slots[i], NULL);
}

static inline asx__atomic_ptr *asx__deque_slot(asx__deque *d, uint64_t number)
{
    return &d->slots[number & (ASX__DEQUE_SIZE - 1)];
}

/* False: it is full, and the task is still the caller's. */
static inline bool asx__deque_push_owner(asx__deque *d, struct asx__task *task)
{
    uint64_t bottom = asx__load_relaxed(&d->bottom);
    if (ASX__UNLIKELY(bottom - d->top_seen >= ASX__DEQUE_SIZE)) {
        d->top_seen = asx__load_acquire(&d->top);
        if (bottom - d->top_seen >= ASX__DEQUE_SIZE)
            return false;
    }
    asx__store_relaxed(asx__deque_slot(d, bottom), task);
    asx__store_release(&d->bottom, bottom + 1);
    return true;
}

/* The newest task; NULL: none. */
static inline struct asx__task *asx__deque_pop_owner(asx__deque *d)
{
    uint64_t bottom = asx__load_relaxed(&d->bottom) - 1;
    asx__store_seq_cst(&d->bottom, bottom);
    uint64_t top = asx__load_seq_cst(&d->top);
    if ((int64_t)(bottom - top) < 0) {
        asx__store_relaxed(&d->bottom, bottom + 1);
        return NULL;
    }
    struct asx__task *task = asx__load_relaxed(asx__deque_slot(d, bottom));
    if (bottom == top) { /* the last one */
        if (!asx__cas_release(&d->top, &top, top + 1))
            task = NULL;
        asx__store_relaxed(&d->bottom, bottom + 1);
    }
    return task;
}

/* The oldest task; NULL: none. */
static inline struct asx__task *asx__deque_shift_owner(asx__deque *d)
{
    uint64_t bottom = asx__load_relaxed(&d->bottom);
    uint64_t top = asx__load_relaxed(&d->top);
    while (top != bottom) {
        struct asx__task *task = asx__load_relaxed(asx__deque_slot(d, top));
        if (ASX__LIKELY(asx__cas_release(&d->top, &top, top + 1)))
            return task;
    }
    return NULL;
}

/* Takes up to `max` of the oldest, in order, for somebody else's queue. Returns how many. */
static inline uint32_t asx__deque_spill_owner(asx__deque *d, struct asx__task **ret_tasks,
                                              uint32_t max)
{
    uint32_t n = 0;
    while (n < max && (ret_tasks[n] = asx__deque_shift_owner(d)) != NULL)
        n++;
    return n;
}

/* The oldest task, of another worker. */
static inline asx__steal asx__deque_steal_remote(asx__deque *d, struct asx__task **ret_task)
{
    uint64_t top = asx__load_acquire(&d->top);
    uint64_t bottom = asx__load_seq_cst(&d->bottom);
    if ((int64_t)(bottom - top) <= 0)
        return ASX__STEAL_EMPTY;
    struct asx__task *task = asx__load_relaxed(asx__deque_slot(d, top));
    if (!asx__cas_seq_cst(&d->top, &top, top + 1))
        return ASX__STEAL_LOST;
    *ret_task = task;
    return ASX__STEAL_TAKEN;
}

/* How many there seem to be. */
static inline uint32_t asx__deque_len(const asx__deque *d)
{
    uint64_t top = asx__load_acquire(&d->top);
    uint64_t bottom = asx__load_acquire(&d->bottom);
    int64_t n = (int64_t)(bottom - top);
    return n <= 0 ? 0 : n > (int64_t)ASX__DEQUE_SIZE ? ASX__DEQUE_SIZE : (uint32_t)n;
}

/* Up to half of what there is, rounded up, and at most `max`, in order. Stops at the first task
 * that somebody else was faster for. Returns how many. */
static inline uint32_t asx__deque_steal_half_remote(asx__deque *d, struct asx__task **ret_tasks,
                                                    uint32_t max)
{
    uint32_t half = (asx__deque_len(d) + 1) / 2;
    uint32_t n = 0;
    if (max > half)
        max = half;
    while (n < max && asx__deque_steal_remote(d, &ret_tasks[n]) == ASX__STEAL_TAKEN)
        n++;
    return n;
}

#endif
