/* audit.c - says whether a wheel is in order, by looking at all of it. */
#include "time/store.h"

/* What a walk over slots and heaps has seen. */
typedef struct census {
    uint64_t live;
    uint64_t dead;
    uint64_t live_sum; /* of mix(index): finds an entry that is twice while another is missing */
    uint64_t chunks;
    uint64_t in_window;
    asx_time min_live;
} census;

static uint64_t mix(uint32_t index)
{
    uint64_t x = (index + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    return (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

static bool in_window(const asx_timer_wheel *wheel, asx_time deadline)
{
    return wheel->window_known && deadline <= wheel->window_end &&
           (deadline == wheel->window_end || wheel->window_end - deadline < wheel->window_ns);
}

static bool entry_is_valid(const asx_timer_wheel *wheel, uint32_t index, bool young, census *seen)
{
    if (index >= wheel->used)
        return false;
    const asx__timer_node *node = asx__timer_node_at(wheel, index);
    bool dead = asx__timer_dead_bit(wheel, index);
    if (dead != (node->wake == NULL) || (!dead && asx__timer_is_young(wheel, node) != young))
        return false;
    if (dead) {
        seen->dead++;
        return true;
    }
    seen->live++;
    seen->live_sum += mix(index);
    seen->in_window += in_window(wheel, node->deadline);
    if (node->deadline < seen->min_live)
        seen->min_live = node->deadline;
    return true;
}

static bool heap_is_valid(const asx_timer_wheel *wheel, const asx__timer_heap *heap, uint32_t head,
                          bool sorted, census *seen)
{
    if ((uint64_t)head + heap->count > wheel->capacity)
        return false;
    for (uint32_t i = 0; i < heap->count; i++) {
        uint32_t index = *asx__timer_heap_at(heap, head + i);
        if (!entry_is_valid(wheel, index, false, seen))
            return false;
        if (i == 0)
            continue;
        uint32_t parent = *asx__timer_heap_at(heap, head + (sorted ? i - 1 : (i - 1) / 2));
        if (asx__timer_before(asx__timer_node_at(wheel, index),
                              asx__timer_node_at(wheel, parent)))
            return false;
    }
    return true;
}

static bool slot_is_valid(const asx_timer_wheel *wheel, unsigned level, uint64_t stretch,
                          census *seen)
{
    const asx__timer_slot *slot = &wheel->slot[level][stretch % ASX__TIMER_SLOTS];
    asx_time previous = 0;
    bool min_seen = slot->min_node == ASX__TIMER_NONE;
    if (slot->tail_len == 0 || slot->tail_len > ASX__TIMER_CHUNK_LEN)
        return false;
    for (const asx__timer_chunk *chunk = slot->head;; chunk = chunk->next) {
        bool last = chunk == slot->tail;
        unsigned len = last ? slot->tail_len : ASX__TIMER_CHUNK_LEN;
        seen->chunks++;
        for (unsigned i = 0; i < len; i++) {
            const asx__timer_node *node = asx__timer_node_at(wheel, chunk->node[i]);
            if (!entry_is_valid(wheel, chunk->node[i], false, seen))
                return false;
            if ((node->deadline / ASX_MS) >> (8 * level) != stretch)
                return false;
            if (node->wake != NULL && node->deadline < slot->min_deadline)
                return false;
            if (slot->sorted && node->deadline < previous)
                return false;
            previous = node->deadline;
            if (chunk->node[i] == slot->min_node)
                min_seen = node->deadline == slot->min_deadline;
        }
        if (last)
            return min_seen;
    }
}

static bool level_is_valid(const asx_timer_wheel *wheel, unsigned level, census *seen)
{
    uint64_t cursor = wheel->cursor >> (8 * level);
    uint64_t before = seen->live + seen->dead;
    for (uint64_t stretch = cursor + 1; stretch <= cursor + ASX__TIMER_SLOTS; stretch++) {
        unsigned number = (unsigned)(stretch % ASX__TIMER_SLOTS);
        if (!asx__timer_slot_occupied(wheel, level, number))
            continue;
        if (!slot_is_valid(wheel, level, stretch, seen))
            return false;
        if (wheel->quiet_until > (stretch << (8 * level)) * ASX_MS)
            return false;
    }
    return seen->live + seen->dead - before == wheel->entries[level];
}

static bool young_are_valid(const asx_timer_wheel *wheel, census *seen)
{
    if (wheel->young.count > wheel->capacity ||
        wheel->sequence - wheel->young_sequence != wheel->young.count)
        return false;
    for (uint32_t k = 0; k < wheel->young.count; k++) {
        if (*asx__timer_heap_at(&wheel->young, k) >= wheel->used)
            return false;
        uint32_t index = asx__timer_young_at(wheel, k);
        if (index != ASX__TIMER_NONE && !entry_is_valid(wheel, index, true, seen))
            return false;
    }
    return true;
}

/* Every node that was handed out is in exactly one place. */
static bool nodes_are_valid(const asx_timer_wheel *wheel, const census *seen)
{
    uint64_t live = 0;
    uint64_t live_sum = 0;
    uint64_t dead = 0;
    uint64_t swept = 0;
    uint64_t listed = 0;
    for (uint32_t i = 0; i < wheel->used; i++) {
        asx__timer_place place = asx__timer_place_of(i);
        const asx__timer_segment *segment = &wheel->segment[place.segment];
        dead += asx__timer_dead_bit(wheel, i);
        swept += segment->swept[place.offset / 64] >> (place.offset % 64) & 1;
        if (asx__timer_node_at(wheel, i)->wake != NULL) {
            live++;
            live_sum += mix(i);
        }
    }
    for (uint32_t i = wheel->free_head; i != ASX__TIMER_NONE; listed++) {
        if (i >= wheel->used || listed > wheel->used ||
            asx__timer_node_at(wheel, i)->wake != NULL || asx__timer_dead_bit(wheel, i))
            return false;
        i = (uint32_t)asx__timer_node_at(wheel, i)->deadline;
    }
    return live == wheel->live && live == seen->live && live_sum == seen->live_sum &&
           dead == wheel->dead && dead == seen->dead && swept == wheel->swept_count &&
           live + dead + swept + listed == wheel->used && wheel->used <= wheel->capacity;
}

static bool chunks_are_valid(const asx_timer_wheel *wheel, const census *seen)
{
    uint64_t unused = 0;
    for (const asx__timer_chunk *chunk = wheel->chunk_free; chunk != NULL; chunk = chunk->next) {
        if (++unused > wheel->chunk_capacity)
            return false;
    }
    unused += (uint64_t)(wheel->chunk_end - wheel->chunk_next);
    if (wheel->chunk_block != NULL) {
        const asx__timer_chunk_block *block = wheel->chunk_block->next;
        for (; block != NULL; block = block->next)
            unused += block->count;
    }
    return seen->chunks + unused == wheel->chunk_capacity;
}

bool asx__timer_wheel_is_valid(const asx_timer_wheel *wheel)
{
    census seen = { .min_live = ASX_TIME_NEVER };
    if (!heap_is_valid(wheel, &wheel->near, wheel->near_head, wheel->near_sorted, &seen))
        return false;
    for (uint32_t i = 0; i < wheel->near.count; i++) {
        uint32_t index = asx__timer_near_at(wheel, i);
        if (asx__timer_node_at(wheel, index)->deadline / ASX_MS > wheel->cursor)
            return false;
    }
    for (unsigned level = 0; level < ASX__TIMER_LEVELS; level++) {
        if (!level_is_valid(wheel, level, &seen))
            return false;
    }
    if (!heap_is_valid(wheel, &wheel->overflow, 0, false, &seen))
        return false;
    for (uint32_t i = 0; i < wheel->overflow.count; i++) {
        uint32_t index = *asx__timer_heap_at(&wheel->overflow, i);
        if (asx__timer_node_at(wheel, index)->deadline / ASX_MS <= wheel->cursor)
            return false;
    }
    if (!young_are_valid(wheel, &seen) || !nodes_are_valid(wheel, &seen) ||
        !chunks_are_valid(wheel, &seen))
        return false;
    if (wheel->cursor > wheel->now / ASX_MS || wheel->origin / ASX_MS != wheel->cursor ||
        wheel->origin > wheel->now)
        return false;
    if (wheel->earliest > seen.min_live || wheel->quiet_until > seen.min_live)
        return false;
    return !wheel->window_known || seen.in_window == wheel->window_count;
}
