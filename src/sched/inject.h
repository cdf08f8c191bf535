/* inject.h - a queue that every thread may put tasks into and take tasks out of, in order.
 *
 * A lock around an intrusive list, and a length that can be read without the lock: most looks find
 * it empty, and must not cost the others their cache line. Tasks are named by the node they begin
 * with; the queue owns them from put to take.
 *
 * Letters: L under the lock   A atomic.
 *
 *   where          order     partner            without it
 *   lock, unlock   acquire,  each other         whoever takes a task misses what was written to it
 *                  release
 *   len            relaxed   the fences in      a hint. That it is seen by a worker which goes to
 *                            idle.h             sleep is the business of the fence that the one who
 *                                               puts makes before it looks for sleepers
 */
#ifndef ASX_SCHED_INJECT_H
#define ASX_SCHED_INJECT_H

#include "base/atomic.h"
#include "base/list.h"

typedef struct asx__inject {
    ASX__OWN_LINE asx__atomic_u64 len; /* A: written under the lock */
    asx__lock lock;
    asx__node list;                    /* L */
} asx__inject;

static inline void asx__inject_init(asx__inject *q)
{
    asx__atomic_init(&q->len, 0);
    asx__lock_init(&q->lock);
    asx__list_init(&q->list);
}

/* How many there seem to be. */
static inline uint64_t asx__inject_len(const asx__inject *q)
{
    return asx__load_relaxed(&q->len);
}

static inline void asx__inject_put(asx__inject *q, asx__node *node)
{
    asx__lock_take(&q->lock);
    asx__list_push_back(&q->list, node);
    asx__store_relaxed(&q->len, asx__load_relaxed(&q->len) + 1);
    asx__lock_drop(&q->lock);
}

/* In the order of the array; one visit for all of them. */
static inline void asx__inject_put_many(asx__inject *q, asx__node *const *nodes, uint32_t count)
{
    asx__lock_take(&q->lock);
    for (uint32_t i = 0; i < count; i++)
        asx__list_push_back(&q->list, nodes[i]);
    asx__store_relaxed(&q->len, asx__load_relaxed(&q->len) + count);
    asx__lock_drop(&q->lock);
}

/* Up to `max` of the oldest, in order; and of `shares` equal parts of what there is no more than
 * one, rounded up (1: all of it), so that one taker does not empty it before the others. Returns
 * how many; ret_nodes has room for max. */
static inline uint32_t asx__inject_take_many(asx__inject *q, asx__node **ret_nodes, uint32_t max,
                                             uint32_t shares)
{
    if (asx__inject_len(q) == 0)
        return 0;
    uint32_t n = 0;
    asx__lock_take(&q->lock);
    uint64_t len = asx__load_relaxed(&q->len);
    uint64_t share = (len + shares - 1) / shares;
    while (n < max && n < share)
        ret_nodes[n++] = asx__list_pop_front(&q->list);
    asx__store_relaxed(&q->len, len - n);
    ASX__DEBUG_ASSERT(asx__list_empty(&q->list) == (len == n));
    asx__lock_drop(&q->lock);
    return n;
}

/* The oldest; NULL: none. */
static inline asx__node *asx__inject_take(asx__inject *q)
{
    asx__node *node = NULL;
    (void)asx__inject_take_many(q, &node, 1, 1);
    return node;
}

#endif
