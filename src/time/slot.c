/* slot.c - finding occupied slots, the earliest timer of a slot, and sweeping out the dead.
 *
 * A sweep visits every physical entry once: it runs when the dead outnumber the living (wheel.c),
 * so each cancel pays for a constant number of visits. It reads the set of dead nodes, a bit each,
 * and not the nodes, which for a million timers is the difference between the second-level cache
 * and memory. The same holds for giving the nodes back: when many are dead their set becomes the
 * swept set word by word ("bulk"); when few are, compared with the size of the sets, each is put
 * on the free list, so that a small sweep in a store that once was big stays small.
 */
#include "time/store.h"

uint64_t asx__timer_next_stretch(const asx_timer_wheel *wheel, unsigned level, uint64_t after)
{
    const uint64_t *occupied = wheel->occupied[level];
    unsigned from = (unsigned)((after + 1) % ASX__TIMER_SLOTS);
    unsigned word = from / 64;
    uint64_t bits = occupied[word] & (UINT64_MAX << (from % 64));
    for (unsigned i = 0; i <= ASX__TIMER_SLOTS / 64; i++) {
        if (bits != 0) {
            unsigned number = word * 64 + (unsigned)__builtin_ctzll(bits);
            return after + 1 + (number - from) % ASX__TIMER_SLOTS;
        }
        word = (word + 1) % (ASX__TIMER_SLOTS / 64);
        bits = occupied[word];
    }
    return UINT64_MAX;
}

static void free_chain(asx_timer_wheel *wheel, asx__timer_chunk *first, asx__timer_chunk *last)
{
    last->next = wheel->chunk_free;
    wheel->chunk_free = first;
}

/* Takes the dead out of one slot; the slot is gone if nothing is left. */
static void slot_filter(asx_timer_wheel *wheel, unsigned level, unsigned number, bool bulk)
{
    asx__timer_slot *slot = &wheel->slot[level][number];
    asx__timer_chunk *in = slot->head;
    asx__timer_chunk *out = slot->head;
    unsigned out_len = 0;
    if (slot->min_node != ASX__TIMER_NONE && asx__timer_dead_bit(wheel, slot->min_node))
        slot->min_node = ASX__TIMER_NONE;
    for (;;) {
        bool last = in == slot->tail;
        unsigned len = last ? slot->tail_len : ASX__TIMER_CHUNK_LEN;
        for (unsigned i = 0; i < len; i++) {
            uint32_t index = in->node[i];
            if (asx__timer_dead_bit(wheel, index)) {
                wheel->entries[level]--;
                if (!bulk)
                    asx__timer_node_drop(wheel, index);
                continue;
            }
            if (out_len == ASX__TIMER_CHUNK_LEN) {
                out = out->next;
                out_len = 0;
            }
            out->node[out_len++] = index;
        }
        if (last)
            break;
        in = in->next;
    }
    if (out_len == 0) {
        asx__timer_slot gone = asx__timer_slot_detach(wheel, level, number);
        free_chain(wheel, gone.head, gone.tail);
        return;
    }
    if (out != slot->tail)
        free_chain(wheel, out->next, slot->tail);
    slot->tail = out;
    slot->tail_len = (uint16_t)out_len;
}

void asx__timer_sweep(asx_timer_wheel *wheel)
{
    bool bulk = wheel->dead >= wheel->used / 64;
    for (unsigned level = 0; level < ASX__TIMER_LEVELS; level++) {
        for (unsigned word = 0; word < ASX__TIMER_SLOTS / 64; word++) {
            uint64_t bits = wheel->occupied[level][word];
            for (; bits != 0; bits &= bits - 1)
                slot_filter(wheel, level, word * 64 + (unsigned)__builtin_ctzll(bits), bulk);
        }
    }
    asx__timer_near_filter(wheel, bulk);
    asx__timer_heap_filter(wheel, &wheel->overflow, bulk);
    if (bulk)
        asx__timer_store_sweep_dead(wheel);
    wheel->purges++;
    ASX__ASSERT(wheel->dead == 0);
}

/* The first live entry of a slot in deadline order; whole chunks of dead ones before it go. */
static uint32_t sorted_min(asx_timer_wheel *wheel, unsigned level, unsigned number)
{
    asx__timer_slot *slot = &wheel->slot[level][number];
    for (;;) {
        asx__timer_chunk *head = slot->head;
        bool last = head == slot->tail;
        unsigned len = last ? slot->tail_len : ASX__TIMER_CHUNK_LEN;
        for (unsigned i = 0; i < len; i++) {
            if (asx__timer_node_at(wheel, head->node[i])->wake != NULL)
                return head->node[i];
        }
        for (unsigned i = 0; i < len; i++)
            asx__timer_node_drop(wheel, head->node[i]);
        wheel->entries[level] -= len;
        if (last)
            asx__timer_slot_detach(wheel, level, number);
        else
            slot->head = head->next;
        asx__timer_chunk_free(wheel, head);
        if (last)
            return ASX__TIMER_NONE;
    }
}

static uint32_t unsorted_min(asx_timer_wheel *wheel, unsigned level, unsigned number)
{
    asx__timer_slot *slot = &wheel->slot[level][number];
    slot_filter(wheel, level, number, false);
    if (!asx__timer_slot_occupied(wheel, level, number))
        return ASX__TIMER_NONE;
    uint32_t min = slot->head->node[0];
    for (asx__timer_chunk *chunk = slot->head;; chunk = chunk->next) {
        bool last = chunk == slot->tail;
        unsigned len = last ? slot->tail_len : ASX__TIMER_CHUNK_LEN;
        for (unsigned i = 0; i < len; i++) {
            if (asx__timer_node_at(wheel, chunk->node[i])->deadline <
                asx__timer_node_at(wheel, min)->deadline)
                min = chunk->node[i];
        }
        if (last)
            return min;
    }
}

uint32_t asx__timer_slot_min(asx_timer_wheel *wheel, unsigned level, unsigned number)
{
    asx__timer_slot *slot = &wheel->slot[level][number];
    if (slot->min_node != ASX__TIMER_NONE &&
        asx__timer_node_at(wheel, slot->min_node)->wake != NULL)
        return slot->min_node;
    uint32_t min = slot->sorted ? sorted_min(wheel, level, number)
                                : unsorted_min(wheel, level, number);
    if (min != ASX__TIMER_NONE) {
        slot->min_node = min;
        slot->min_deadline = asx__timer_node_at(wheel, min)->deadline;
    }
    return min;
}
