/* heap.c - heaps of node indices, and near: the timers that are due or nearly so.
 *
 * A heap holds indices and looks the keys up in the nodes, which costs a little more per step than
 * keys kept in the heap and four bytes instead of twenty-four for each node of the wheel (room for
 * all of them must be there in advance).
 *
 * Near is a sorted run, so that taking the first is O(1). It is filled when it is empty, from the
 * stretches that begin at one tick ("loading"); if they did not come in firing order, as they do
 * when a slot was filled in that order, the run is sorted once. A timer that is registered into a
 * run out of order turns it into a heap, which a sorted array already is, until it is empty again.
 */
#include "time/store.h"

static void sift_up(asx_timer_wheel *wheel, asx__timer_heap *heap, uint32_t position,
                    uint32_t index)
{
    const asx__timer_node *node = asx__timer_node_at(wheel, index);
    while (position > 0) {
        uint32_t parent = (position - 1) / 2;
        uint32_t above = *asx__timer_heap_at(heap, parent);
        if (!asx__timer_before(node, asx__timer_node_at(wheel, above)))
            break;
        *asx__timer_heap_at(heap, position) = above;
        position = parent;
    }
    *asx__timer_heap_at(heap, position) = index;
}

/* Moves the hole at `position` down to a leaf along the earlier children; returns the leaf. */
static uint32_t sink_hole(asx_timer_wheel *wheel, asx__timer_heap *heap, uint32_t position)
{
    uint32_t count = heap->count;
    for (uint64_t child = 2 * (uint64_t)position + 1; child < count;
         child = 2 * (uint64_t)position + 1) {
        uint32_t pick = (uint32_t)child;
        uint32_t index = *asx__timer_heap_at(heap, pick);
        if (child + 1 < count) {
            uint32_t other = *asx__timer_heap_at(heap, pick + 1);
            if (asx__timer_before(asx__timer_node_at(wheel, other),
                                  asx__timer_node_at(wheel, index))) {
                index = other;
                pick++;
            }
        }
        *asx__timer_heap_at(heap, position) = index;
        position = pick;
    }
    return position;
}

void asx__timer_heap_push(asx_timer_wheel *wheel, asx__timer_heap *heap, uint32_t index)
{
    ASX__DEBUG_ASSERT(heap->count < wheel->capacity);
    sift_up(wheel, heap, heap->count++, index);
}

uint32_t asx__timer_heap_pop(asx_timer_wheel *wheel, asx__timer_heap *heap)
{
    ASX__DEBUG_ASSERT(heap->count > 0);
    uint32_t first = *asx__timer_heap_at(heap, 0);
    uint32_t last = *asx__timer_heap_at(heap, --heap->count);
    if (heap->count > 0)
        sift_up(wheel, heap, sink_hole(wheel, heap, 0), last);
    return first;
}

/* Puts `index` into the hole at `position` of a heap that is ordered below it. */
static void sift_down(asx_timer_wheel *wheel, asx__timer_heap *heap, uint32_t position,
                      uint32_t index)
{
    const asx__timer_node *node = asx__timer_node_at(wheel, index);
    uint32_t count = heap->count;
    for (;;) {
        uint64_t child = 2 * (uint64_t)position + 1;
        if (child >= count)
            break;
        uint32_t pick = (uint32_t)child;
        if (child + 1 < count &&
            asx__timer_before(asx__timer_node_at(wheel, *asx__timer_heap_at(heap, pick + 1)),
                              asx__timer_node_at(wheel, *asx__timer_heap_at(heap, pick))))
            pick++;
        uint32_t below = *asx__timer_heap_at(heap, pick);
        if (!asx__timer_before(asx__timer_node_at(wheel, below), node))
            break;
        *asx__timer_heap_at(heap, position) = below;
        position = pick;
    }
    *asx__timer_heap_at(heap, position) = index;
}

/* Keeps the live entries of [from, from + count), moved down to the beginning, in their order. */
static void keep_live(asx_timer_wheel *wheel, asx__timer_heap *heap, uint32_t from, bool bulk)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < heap->count; i++) {
        uint32_t index = *asx__timer_heap_at(heap, from + i);
        if (!asx__timer_dead_bit(wheel, index))
            *asx__timer_heap_at(heap, kept++) = index;
        else if (!bulk)
            asx__timer_node_drop(wheel, index);
    }
    heap->count = kept;
}

void asx__timer_heap_filter(asx_timer_wheel *wheel, asx__timer_heap *heap, bool bulk)
{
    keep_live(wheel, heap, 0, bulk);
    for (uint32_t i = heap->count / 2; i-- > 0;)
        sift_down(wheel, heap, i, *asx__timer_heap_at(heap, i));
}

uint32_t asx__timer_heap_top(asx_timer_wheel *wheel, asx__timer_heap *heap)
{
    while (heap->count > 0) {
        uint32_t index = *asx__timer_heap_at(heap, 0);
        if (asx__timer_node_at(wheel, index)->wake != NULL)
            return index;
        asx__timer_node_drop(wheel, asx__timer_heap_pop(wheel, heap));
    }
    return ASX__TIMER_NONE;
}

/* ---------------------------------------------------------------- near ---- */

static void near_to_heap(asx_timer_wheel *wheel)
{
    asx__timer_heap *near = &wheel->near;
    for (uint32_t i = 0; wheel->near_head > 0 && i < near->count; i++)
        *asx__timer_heap_at(near, i) = *asx__timer_heap_at(near, wheel->near_head + i);
    wheel->near_head = 0;
    wheel->near_sorted = false;
}

/* The entry does not come before the last one of the run. */
static bool near_fits_behind(const asx_timer_wheel *wheel, uint32_t end, uint32_t index)
{
    uint32_t last = *asx__timer_heap_at(&wheel->near, end - 1);
    return !asx__timer_before(asx__timer_node_at(wheel, index), asx__timer_node_at(wheel, last));
}

void asx__timer_near_push(asx_timer_wheel *wheel, uint32_t index)
{
    asx__timer_heap *near = &wheel->near;
    if (near->count == 0) {
        wheel->near_head = 0;
        wheel->near_sorted = true;
    }
    uint32_t end = wheel->near_head + near->count;
    if (near->count > 0 && wheel->near_sorted) {
        bool room = end < wheel->capacity;
        wheel->near_sorted = room && near_fits_behind(wheel, end, index);
        if (!wheel->near_sorted && !wheel->near_loading)
            near_to_heap(wheel);
    }
    if (wheel->near_sorted || wheel->near_loading) {
        *asx__timer_heap_at(near, end) = index;
        near->count++;
        return;
    }
    asx__timer_heap_push(wheel, near, index);
}

void asx__timer_near_load(asx_timer_wheel *wheel)
{
    ASX__DEBUG_ASSERT(wheel->near.count == 0);
    wheel->near_head = 0;
    wheel->near_sorted = true;
    wheel->near_loading = true;
}

void asx__timer_near_loaded(asx_timer_wheel *wheel)
{
    wheel->near_loading = false;
    if (!wheel->near_sorted)
        asx__timer_near_sort(wheel);
    wheel->near_sorted = true;
}

uint32_t asx__timer_near_pop(asx_timer_wheel *wheel)
{
    if (!wheel->near_sorted)
        return asx__timer_heap_pop(wheel, &wheel->near);
    ASX__DEBUG_ASSERT(wheel->near.count > 0);
    wheel->near.count--;
    return *asx__timer_heap_at(&wheel->near, wheel->near_head++);
}

uint32_t asx__timer_near_top(asx_timer_wheel *wheel)
{
    while (wheel->near.count > 0) {
        uint32_t index = asx__timer_near_at(wheel, 0);
        if (asx__timer_node_at(wheel, index)->wake != NULL)
            return index;
        asx__timer_node_drop(wheel, asx__timer_near_pop(wheel));
    }
    return ASX__TIMER_NONE;
}

void asx__timer_near_filter(asx_timer_wheel *wheel, bool bulk)
{
    if (!wheel->near_sorted) {
        asx__timer_heap_filter(wheel, &wheel->near, bulk);
        return;
    }
    keep_live(wheel, &wheel->near, wheel->near_head, bulk);
    wheel->near_head = 0;
}
