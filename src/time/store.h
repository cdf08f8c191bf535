/* store.h - where the wheel keeps nodes, chunks and heaps. Private to src/time.
 *
 * Nodes live in segments of 64, 128, 256 ... that are never moved by growth, except that a last
 * segment cut short by a reservation is replaced by a whole one. So an index names a node for as
 * long as the node is used, and no caller may keep a pointer to one across a registration.
 *
 * A node is in one of these places:
 *
 *     free list --take--> young --settle--> placed --fire--> free list
 *     swept set --take-->   |                  |             free list <--drop-- dead
 *     [used, capacity) ->   |                  +---cancel--> dead --sweep in bulk--> swept set
 *                           +--cancel--> free list
 *
 * and everything returns to [used, capacity) when the last live timer goes (purge).
 *
 * What collect() needs must exist when the timer is registered, since collect() cannot fail. So
 * every segment brings, for each node, one place in either heap and among the young, and there are
 * always enough chunks for `capacity` entries spread over the slots in the worst way. See
 * chunks_needed().
 */
#ifndef ASX_TIME_STORE_H
#define ASX_TIME_STORE_H

#include "time/time.h"

#define ASX__TIMER_NONE UINT32_MAX
#define ASX__TIMER_FIRST_LEN 64u /* nodes in segment 0, and bits in a word of a set */
#define ASX__TIMER_FIRST_SHIFT 6u

/* Segment and offset of an index. Adding the first length makes every segment begin at a power of
 * two, so that no segment is a special case. */
typedef struct asx__timer_place {
    uint32_t segment;
    uint32_t offset;
} asx__timer_place;

static inline asx__timer_place asx__timer_place_of(uint32_t index)
{
    uint64_t position = (uint64_t)index + ASX__TIMER_FIRST_LEN;
    uint32_t top = 63u - (uint32_t)__builtin_clzll(position);
    asx__timer_place place = { top - ASX__TIMER_FIRST_SHIFT,
                               (uint32_t)(position ^ (UINT64_C(1) << top)) };
    return place;
}

static inline asx__timer_node *asx__timer_node_at(const asx_timer_wheel *wheel, uint32_t index)
{
    asx__timer_place place = asx__timer_place_of(index);
    return &wheel->node[place.segment][place.offset];
}

static inline uint32_t *asx__timer_heap_at(const asx__timer_heap *heap, uint32_t position)
{
    asx__timer_place place = asx__timer_place_of(position);
    return &heap->part[place.segment][place.offset];
}

static inline bool asx__timer_dead_bit(const asx_timer_wheel *wheel, uint32_t index)
{
    asx__timer_place place = asx__timer_place_of(index);
    return wheel->segment[place.segment].dead[place.offset / 64] >> (place.offset % 64) & 1;
}

static inline void asx__timer_dead_bit_flip(asx_timer_wheel *wheel, uint32_t index)
{
    asx__timer_place place = asx__timer_place_of(index);
    wheel->segment[place.segment].dead[place.offset / 64] ^= UINT64_C(1) << (place.offset % 64);
}

/* Is this live node in no slot or heap? Sequences as in asx__timer_before(). */
static inline bool asx__timer_is_young(const asx_timer_wheel *wheel, const asx__timer_node *node)
{
    return (int64_t)(node->sequence - wheel->young_sequence) >= 0;
}

/* The k-th registration since the last settling; ASX__TIMER_NONE: it is gone. */
static inline uint32_t asx__timer_young_at(const asx_timer_wheel *wheel, uint32_t k)
{
    uint32_t index = *asx__timer_heap_at(&wheel->young, k);
    const asx__timer_node *node = asx__timer_node_at(wheel, index);
    return node->wake != NULL && node->sequence == wheel->young_sequence + k ? index
                                                                             : ASX__TIMER_NONE;
}

/* Firing order. Two timers that are pending together were registered less than 2^63 registrations
 * apart, so the sign of the difference is right across a wrap of the counter. */
static inline bool asx__timer_before(const asx__timer_node *a, const asx__timer_node *b)
{
    if (a->deadline != b->deadline)
        return a->deadline < b->deadline;
    return (int64_t)(a->sequence - b->sequence) < 0;
}

/* ---- nodes ---- */

static inline bool asx__timer_node_available(const asx_timer_wheel *wheel)
{
    return wheel->free_head != ASX__TIMER_NONE || wheel->swept_count != 0 ||
           wheel->used < wheel->capacity;
}

uint32_t asx__timer_node_take_swept(asx_timer_wheel *wheel);

/* Needs asx__timer_node_available(). */
static inline uint32_t asx__timer_node_take(asx_timer_wheel *wheel)
{
    uint32_t index = wheel->free_head;
    if (index != ASX__TIMER_NONE) {
        wheel->free_head = (uint32_t)asx__timer_node_at(wheel, index)->deadline;
        return index;
    }
    if (wheel->swept_count != 0)
        return asx__timer_node_take_swept(wheel);
    return wheel->used++;
}

static inline void asx__timer_node_free(asx_timer_wheel *wheel, uint32_t index)
{
    asx__timer_node *node = asx__timer_node_at(wheel, index);
    node->wake = NULL;
    node->deadline = wheel->free_head;
    wheel->free_head = index;
}

/* The last index to a dead node is gone: the node can be used again. */
static inline void asx__timer_node_drop(asx_timer_wheel *wheel, uint32_t index)
{
    ASX__DEBUG_ASSERT(asx__timer_dead_bit(wheel, index));
    asx__timer_dead_bit_flip(wheel, index);
    wheel->dead--;
    asx__timer_node_free(wheel, index);
}

/* ---- chunks ---- */

struct asx__timer_chunk_block {
    asx__timer_chunk_block *next;
    asx__timer_chunk *first;
    uint64_t count;
    size_t size;
};

asx__timer_chunk *asx__timer_chunk_take_next(asx_timer_wheel *wheel);

static inline asx__timer_chunk *asx__timer_chunk_take(asx_timer_wheel *wheel)
{
    asx__timer_chunk *chunk = wheel->chunk_free;
    if (chunk != NULL) {
        wheel->chunk_free = chunk->next;
        return chunk;
    }
    if (ASX__LIKELY(wheel->chunk_next != wheel->chunk_end))
        return wheel->chunk_next++;
    return asx__timer_chunk_take_next(wheel);
}

static inline void asx__timer_chunk_free(asx_timer_wheel *wheel, asx__timer_chunk *chunk)
{
    chunk->next = wheel->chunk_free;
    wheel->chunk_free = chunk;
}

/* ---- the whole store ---- */

void asx__timer_store_init(asx_timer_wheel *wheel);
void asx__timer_store_deinit(asx_timer_wheel *wheel);
/* Forgets every node and chunk and keeps the memory; costs no visit to any of them. */
void asx__timer_store_reset(asx_timer_wheel *wheel);
/* One segment more. ASX_E_RESOURCE_EXHAUSTED with nothing changed. */
ASX_MUST_USE asx_status asx__timer_store_grow(asx_timer_wheel *wheel);
/* All dead nodes become swept ones at once; no slot or heap may hold one any more. */
void asx__timer_store_sweep_dead(asx_timer_wheel *wheel);

/* ---- heaps ---- */

void asx__timer_heap_push(asx_timer_wheel *wheel, asx__timer_heap *heap, uint32_t index);
uint32_t asx__timer_heap_pop(asx_timer_wheel *wheel, asx__timer_heap *heap);
/* Takes out the dead ones and restores the order; `bulk` as in asx__timer_sweep(). */
void asx__timer_heap_filter(asx_timer_wheel *wheel, asx__timer_heap *heap, bool bulk);
/* The first live entry, ASX__TIMER_NONE if there is none; drops the dead ones before it. */
uint32_t asx__timer_heap_top(asx_timer_wheel *wheel, asx__timer_heap *heap);

/* ---- near ---- */

void asx__timer_near_push(asx_timer_wheel *wheel, uint32_t index);
/* Between these two, pushes into near, which is empty before, cost O(1) in any order. */
void asx__timer_near_load(asx_timer_wheel *wheel);
void asx__timer_near_loaded(asx_timer_wheel *wheel);
/* Sorts the run, which begins at 0. */
void asx__timer_near_sort(asx_timer_wheel *wheel);
uint32_t asx__timer_near_pop(asx_timer_wheel *wheel);
uint32_t asx__timer_near_top(asx_timer_wheel *wheel);
void asx__timer_near_filter(asx_timer_wheel *wheel, bool bulk);

/* The entry at a position of near, 0 <= position < near.count; the first is the next to fire. */
static inline uint32_t asx__timer_near_at(const asx_timer_wheel *wheel, uint32_t position)
{
    return *asx__timer_heap_at(&wheel->near, wheel->near_head + position);
}

/* ---- slots ---- */

/* Slots by level and by the number of their stretch of time: stretch = tick >> (8 * level). */
static inline bool asx__timer_slot_occupied(const asx_timer_wheel *wheel, unsigned level,
                                            unsigned slot)
{
    return wheel->occupied[level][slot / 64] >> (slot % 64) & 1;
}

/* Appends. The chunk that this may need exists: see chunks_needed() in store.c. */
static inline void asx__timer_slot_push(asx_timer_wheel *wheel, unsigned level, uint64_t stretch,
                                        uint32_t index, asx_time deadline)
{
    unsigned number = (unsigned)(stretch % ASX__TIMER_SLOTS);
    asx__timer_slot *slot = &wheel->slot[level][number];
    wheel->entries[level]++;
    if (ASX__UNLIKELY(!asx__timer_slot_occupied(wheel, level, number))) {
        wheel->occupied[level][number / 64] |= UINT64_C(1) << (number % 64);
        slot->head = slot->tail = asx__timer_chunk_take(wheel);
        slot->tail->node[0] = index;
        slot->tail_len = 1;
        slot->min_deadline = deadline;
        slot->min_node = index;
        slot->sorted = true;
        return;
    }
    asx__timer_chunk *tail = slot->tail;
    unsigned len = slot->tail_len;
    if (slot->sorted && asx__timer_node_at(wheel, tail->node[len - 1])->deadline > deadline)
        slot->sorted = false;
    if (deadline < slot->min_deadline) {
        slot->min_deadline = deadline;
        slot->min_node = index;
    }
    if (len == ASX__TIMER_CHUNK_LEN) {
        tail->next = asx__timer_chunk_take(wheel);
        slot->tail = tail = tail->next;
        len = 0;
    }
    tail->node[len] = index;
    slot->tail_len = (uint16_t)(len + 1);
}

/* Unhooks the slot; the caller walks its chunks and frees them. */
static inline asx__timer_slot asx__timer_slot_detach(asx_timer_wheel *wheel, unsigned level,
                                                     unsigned number)
{
    wheel->occupied[level][number / 64] &= ~(UINT64_C(1) << (number % 64));
    return wheel->slot[level][number];
}

/* The first occupied stretch after the given one, which is the cursor's or one that was returned
 * here; UINT64_MAX if there is none within a turn of the cursor. */
uint64_t asx__timer_next_stretch(const asx_timer_wheel *wheel, unsigned level, uint64_t after);
/* Takes the dead out of every slot and heap. */
void asx__timer_sweep(asx_timer_wheel *wheel);
/* A live node of the slot with the earliest deadline. ASX__TIMER_NONE, and the slot is gone, if
 * only dead entries were in it. */
uint32_t asx__timer_slot_min(asx_timer_wheel *wheel, unsigned level, unsigned number);

#endif
