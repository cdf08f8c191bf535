/* sort.c - puts near into firing order after it was loaded.
 *
 * A merge sort: blocks of BLOCK entries are sorted on the stack with their keys beside them, then
 * merged in passes that look at each node once. Pieces that already follow each other are not
 * merged. The second array that merging needs is the unused end of overflow's: near and overflow
 * together never hold more entries than there are nodes, and each has room for all of them.
 */
#include "time/store.h"

#define BLOCK 32u

typedef struct entry {
    asx_time deadline;
    uint64_t sequence;
    uint32_t index;
} entry;

/* A stretch of one of the two arrays. */
typedef struct array {
    asx__timer_heap *heap;
    uint32_t base;
} array;

static inline uint32_t *at(array a, uint32_t position)
{
    return asx__timer_heap_at(a.heap, a.base + position);
}

static inline entry load(const asx_timer_wheel *wheel, uint32_t index)
{
    const asx__timer_node *node = asx__timer_node_at(wheel, index);
    return (entry){ node->deadline, node->sequence, index };
}

static inline bool before(const entry *a, const entry *b)
{
    if (a->deadline != b->deadline)
        return a->deadline < b->deadline;
    return (int64_t)(a->sequence - b->sequence) < 0;
}

static void sort_block(const asx_timer_wheel *wheel, array a, uint32_t begin, uint32_t end)
{
    entry block[BLOCK];
    uint32_t count = end - begin;
    for (uint32_t i = 0; i < count; i++) {
        entry e = load(wheel, *at(a, begin + i));
        uint32_t k = i;
        for (; k > 0 && before(&e, &block[k - 1]); k--)
            block[k] = block[k - 1];
        block[k] = e;
    }
    for (uint32_t i = 0; i < count; i++)
        *at(a, begin + i) = block[i].index;
}

/* Merges [begin, middle) and [middle, end) of `from` into the same place of `to`. */
static void merge(const asx_timer_wheel *wheel, array from, array to, uint32_t begin,
                  uint32_t middle, uint32_t end)
{
    uint32_t left = begin;
    uint32_t right = middle;
    uint32_t out = begin;
    if (middle < end) {
        entry a = load(wheel, *at(from, left));
        entry b = load(wheel, *at(from, right));
        entry last = load(wheel, *at(from, middle - 1));
        while (before(&b, &last)) {
            if (before(&b, &a)) {
                *at(to, out++) = b.index;
                if (++right == end)
                    break;
                b = load(wheel, *at(from, right));
            } else {
                /* Cannot run out: b is before the last of them. */
                *at(to, out++) = a.index;
                a = load(wheel, *at(from, ++left));
            }
        }
    }
    while (left < middle)
        *at(to, out++) = *at(from, left++);
    while (right < end)
        *at(to, out++) = *at(from, right++);
}

void asx__timer_near_sort(asx_timer_wheel *wheel)
{
    uint32_t count = wheel->near.count;
    ASX__DEBUG_ASSERT(wheel->near_head == 0 && count <= wheel->capacity - wheel->overflow.count);
    array from = { &wheel->near, 0 };
    array to = { &wheel->overflow, wheel->overflow.count };
    for (uint64_t begin = 0; begin < count; begin += BLOCK) {
        uint64_t end = begin + BLOCK < count ? begin + BLOCK : count;
        sort_block(wheel, from, (uint32_t)begin, (uint32_t)end);
    }
    for (uint64_t width = BLOCK; width < count; width *= 2) {
        for (uint64_t begin = 0; begin < count; begin += 2 * width) {
            uint64_t middle = begin + width < count ? begin + width : count;
            uint64_t end = middle + width < count ? middle + width : count;
            merge(wheel, from, to, (uint32_t)begin, (uint32_t)middle, (uint32_t)end);
        }
        array swap = from;
        from = to;
        to = swap;
    }
    if (from.heap != &wheel->near) {
        for (uint32_t i = 0; i < count; i++)
            *at(to, i) = *at(from, i);
    }
}
