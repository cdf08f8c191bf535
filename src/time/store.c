/* store.c - segments of nodes and blocks of chunks; see store.h for the life of a node.
 *
 * Invariants
 *     capacity = sum of segment[i].len (one less if that is 2^32)
 *     chunk_capacity >= chunks_needed(capacity)
 *     live + dead + free list + swept_count = used <= capacity    (the young are live)
 *
 * Memory is asked for in growth steps only, each of which succeeds as a whole or changes nothing.
 * It is given back in deinit: a wheel that once held a million timers is likely to do so again,
 * and giving memory back at every purge would cost a program with one timer at a time a system
 * call per timer.
 *
 * Rejected: a link in each node instead of chunks (touches a second, cold node on each insertion
 * and makes a sweep chase pointers through all of them); realloc of one array (copies all, and a
 * static block cannot do it).
 */
#include "time/store.h"

#include <string.h>

#define HUGE_PAGE UINT64_C(0x200000)
#define LINE 64u

/* Entries sit in at most min(n, all) slots, and a slot of e entries takes ceil(e / LEN) chunks,
 * so n entries never take more than this, however they are spread. */
static uint64_t chunks_needed(uint64_t n)
{
    uint64_t slots = ASX__TIMER_LEVELS * ASX__TIMER_SLOTS;
    if (n <= slots)
        return n;
    return slots + (n - slots + ASX__TIMER_CHUNK_LEN - 1) / ASX__TIMER_CHUNK_LEN;
}

static uint64_t request_size(uint64_t payload)
{
    uint64_t size = payload + LINE;
    return size < HUGE_PAGE ? size : (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

static uint64_t segment_request(uint64_t len)
{
    return request_size(len * (sizeof(asx__timer_node) + 3 * sizeof(uint32_t)) + 2 * (len / 8));
}

static uint64_t chunks_request(uint64_t count)
{
    return request_size(LINE + count * sizeof(asx__timer_chunk));
}

static uint64_t segment_len_full(uint32_t segment)
{
    return (uint64_t)ASX__TIMER_FIRST_LEN << segment;
}

/* The index of a segment's first node. */
static uint64_t segment_begin(uint32_t segment)
{
    return segment_len_full(segment) - ASX__TIMER_FIRST_LEN;
}

/* Length of a segment that is to bring the capacity towards `capacity`. */
static uint64_t segment_len(uint32_t segment, uint64_t capacity)
{
    uint64_t full = segment_len_full(segment);
    uint64_t rest = capacity - segment_begin(segment);
    rest = (rest + ASX__TIMER_FIRST_LEN - 1) / ASX__TIMER_FIRST_LEN * ASX__TIMER_FIRST_LEN;
    return rest < full ? rest : full;
}

static void *memory_alloc(asx_timer_wheel *wheel, uint64_t size)
{
    if (size > SIZE_MAX)
        return NULL;
    void *p = wheel->memory.alloc(wheel->memory.ctx, (size_t)size);
    if (p != NULL)
        wheel->storage_bytes += size;
    return p;
}

static void memory_free(asx_timer_wheel *wheel, void *p, size_t size)
{
    wheel->storage_bytes -= size;
    wheel->memory.free(wheel->memory.ctx, p, size);
}

static unsigned char *line_up(void *p)
{
    size_t over = (size_t)((uintptr_t)p % LINE);
    return (unsigned char *)p + (over == 0 ? 0 : LINE - over);
}

static bool segment_alloc(asx_timer_wheel *wheel, uint64_t len, asx__timer_segment *ret_segment)
{
    uint64_t size = segment_request(len);
    void *block = memory_alloc(wheel, size);
    if (block == NULL)
        return false;
    ret_segment->block = block;
    ret_segment->block_size = (size_t)size;
    ret_segment->len = (uint32_t)len;
    return true;
}

/* Divides the segment's block among its arrays. */
static void segment_carve(asx_timer_wheel *wheel, uint32_t number)
{
    asx__timer_segment *segment = &wheel->segment[number];
    size_t len = segment->len;
    unsigned char *p = line_up(segment->block);
    wheel->node[number] = (asx__timer_node *)(void *)p;
    p += len * sizeof(asx__timer_node);
    wheel->near.part[number] = (uint32_t *)(void *)p;
    p += len * sizeof(uint32_t);
    wheel->overflow.part[number] = (uint32_t *)(void *)p;
    p += len * sizeof(uint32_t);
    wheel->young.part[number] = (uint32_t *)(void *)p;
    p += len * sizeof(uint32_t);
    segment->dead = (uint64_t *)(void *)p;
    p += len / 8;
    segment->swept = (uint64_t *)(void *)p;
    memset(segment->dead, 0, len / 8);
    memset(segment->swept, 0, len / 8);
}

/* A whole segment in place of one that a reservation cut short. */
static void segment_replace(asx_timer_wheel *wheel, uint32_t number,
                            const asx__timer_segment *fresh)
{
    asx__timer_segment old = wheel->segment[number];
    asx__timer_node *node = wheel->node[number];
    uint32_t *near = wheel->near.part[number];
    uint32_t *overflow = wheel->overflow.part[number];
    uint32_t *young = wheel->young.part[number];
    wheel->segment[number] = *fresh;
    segment_carve(wheel, number);
    memcpy(wheel->node[number], node, old.len * sizeof *node);
    memcpy(wheel->near.part[number], near, old.len * sizeof *near);
    memcpy(wheel->overflow.part[number], overflow, old.len * sizeof *overflow);
    memcpy(wheel->young.part[number], young, old.len * sizeof *young);
    memcpy(wheel->segment[number].dead, old.dead, old.len / 8);
    memcpy(wheel->segment[number].swept, old.swept, old.len / 8);
    memory_free(wheel, old.block, old.block_size);
}

static asx__timer_chunk_block *chunks_alloc(asx_timer_wheel *wheel, uint64_t count)
{
    uint64_t size = chunks_request(count);
    asx__timer_chunk_block *block = memory_alloc(wheel, size);
    if (block == NULL)
        return NULL;
    block->next = NULL;
    block->first = (asx__timer_chunk *)(void *)line_up(block + 1);
    block->count = count;
    block->size = (size_t)size;
    return block;
}

static void chunks_begin(asx_timer_wheel *wheel, asx__timer_chunk_block *block)
{
    wheel->chunk_block = block;
    wheel->chunk_next = block->first;
    wheel->chunk_end = block->first + block->count;
}

static void chunks_append(asx_timer_wheel *wheel, asx__timer_chunk_block *block)
{
    if (wheel->chunk_blocks == NULL) {
        wheel->chunk_blocks = block;
        chunks_begin(wheel, block);
    } else {
        wheel->chunk_blocks_last->next = block;
    }
    wheel->chunk_blocks_last = block;
    wheel->chunk_capacity += block->count;
}

/* Room for at least `capacity` nodes, or nothing changed. */
static asx_status extend(asx_timer_wheel *wheel, uint64_t capacity)
{
    uint32_t begin = wheel->segment_count;
    bool replaces = begin > 0 && wheel->segment[begin - 1].len < segment_len_full(begin - 1);
    asx__timer_segment whole = { 0 };
    asx__timer_chunk_block *block = NULL;
    uint32_t end = begin;
    if (replaces && !segment_alloc(wheel, segment_len(begin - 1, capacity), &whole))
        return ASX_E_RESOURCE_EXHAUSTED;
    for (; segment_begin(end) < capacity; end++) {
        if (!segment_alloc(wheel, segment_len(end, capacity), &wheel->segment[end]))
            goto undo;
    }
    uint64_t chunks = chunks_needed(capacity + ASX__TIMER_FIRST_LEN);
    if (chunks > wheel->chunk_capacity) {
        block = chunks_alloc(wheel, chunks - wheel->chunk_capacity);
        if (block == NULL)
            goto undo;
        chunks_append(wheel, block);
    }
    if (replaces)
        segment_replace(wheel, begin - 1, &whole);
    for (uint32_t i = begin; i < end; i++)
        segment_carve(wheel, i);
    wheel->segment_count = end;
    uint64_t reach = segment_begin(end - 1) + wheel->segment[end - 1].len;
    wheel->capacity = reach < UINT32_MAX ? (uint32_t)reach : UINT32_MAX;
    ASX__ASSERT(wheel->capacity >= capacity && wheel->chunk_capacity >= chunks_needed(reach));
    return ASX_OK;

undo:
    while (end-- > begin)
        memory_free(wheel, wheel->segment[end].block, wheel->segment[end].block_size);
    if (replaces)
        memory_free(wheel, whole.block, whole.block_size);
    return ASX_E_RESOURCE_EXHAUSTED;
}

asx_status asx__timer_store_grow(asx_timer_wheel *wheel)
{
    if (wheel->capacity == UINT32_MAX)
        return ASX_E_RESOURCE_EXHAUSTED;
    uint32_t last = asx__timer_place_of(wheel->capacity).segment;
    uint64_t capacity = segment_begin(last) + segment_len_full(last);
    return extend(wheel, capacity < UINT32_MAX ? capacity : UINT32_MAX);
}

/* Half as many again: with n live and every node used, a sweep then frees n/2 and more, which pays
 * for it. */
static uint64_t reserve_capacity(uint64_t live_max)
{
    uint64_t capacity = live_max + live_max / 2 + ASX__TIMER_FIRST_LEN;
    return capacity < UINT32_MAX ? capacity : UINT32_MAX;
}

asx_status asx__timer_wheel_reserve(asx_timer_wheel *wheel, uint64_t live_max)
{
    if (live_max > UINT32_MAX - 1)
        return ASX_E_INVALID_ARGUMENT;
    uint64_t capacity = reserve_capacity(live_max);
    return capacity <= wheel->capacity ? ASX_OK : extend(wheel, capacity);
}

uint64_t asx__timer_wheel_reserve_bytes(uint64_t live_max)
{
    uint64_t capacity = reserve_capacity(live_max < UINT32_MAX ? live_max : UINT32_MAX - 1);
    uint64_t bytes = chunks_request(chunks_needed(capacity + ASX__TIMER_FIRST_LEN));
    for (uint32_t i = 0; segment_begin(i) < capacity; i++)
        bytes += segment_request(segment_len(i, capacity));
    return bytes;
}

void asx__timer_store_init(asx_timer_wheel *wheel)
{
    wheel->free_head = ASX__TIMER_NONE;
}

void asx__timer_store_deinit(asx_timer_wheel *wheel)
{
    while (wheel->chunk_blocks != NULL) {
        asx__timer_chunk_block *block = wheel->chunk_blocks;
        wheel->chunk_blocks = block->next;
        memory_free(wheel, block, block->size);
    }
    for (uint32_t i = 0; i < wheel->segment_count; i++)
        memory_free(wheel, wheel->segment[i].block, wheel->segment[i].block_size);
    ASX__ASSERT(wheel->storage_bytes == 0);
}

void asx__timer_store_reset(asx_timer_wheel *wheel)
{
    if (wheel->dead != 0 || wheel->swept_count != 0) {
        for (uint32_t i = 0; i < wheel->segment_count && segment_begin(i) < wheel->used; i++) {
            uint64_t len = segment_len(i, wheel->used);
            memset(wheel->segment[i].dead, 0, (size_t)(len / 8));
            memset(wheel->segment[i].swept, 0, (size_t)(len / 8));
        }
    }
    wheel->dead = 0;
    wheel->free_head = ASX__TIMER_NONE;
    wheel->used = 0;
    wheel->swept_count = 0;
    wheel->swept_next = 0;
    wheel->chunk_free = NULL;
    chunks_begin(wheel, wheel->chunk_blocks);
}

asx__timer_chunk *asx__timer_chunk_take_next(asx_timer_wheel *wheel)
{
    ASX__ASSERT(wheel->chunk_block != NULL && wheel->chunk_block->next != NULL);
    chunks_begin(wheel, wheel->chunk_block->next);
    return wheel->chunk_next++;
}

void asx__timer_store_sweep_dead(asx_timer_wheel *wheel)
{
    for (uint32_t i = 0; i < wheel->segment_count && segment_begin(i) < wheel->used; i++) {
        asx__timer_segment *segment = &wheel->segment[i];
        uint64_t words = segment_len(i, wheel->used) / 64;
        for (uint64_t k = 0; k < words; k++) {
            segment->swept[k] |= segment->dead[k];
            segment->dead[k] = 0;
        }
    }
    wheel->swept_count += (uint32_t)wheel->dead;
    wheel->swept_next = 0;
    wheel->dead = 0;
}

/* Walks the sets once between two sweeps, since swept_next only grows. */
uint32_t asx__timer_node_take_swept(asx_timer_wheel *wheel)
{
    ASX__DEBUG_ASSERT(wheel->swept_count > 0);
    uint32_t index = wheel->swept_next / 64 * 64;
    for (;;) {
        ASX__ASSERT(index < wheel->used);
        asx__timer_place place = asx__timer_place_of(index);
        uint64_t *word = &wheel->segment[place.segment].swept[place.offset / 64];
        if (*word != 0) {
            index += (uint32_t)__builtin_ctzll(*word);
            *word &= *word - 1;
            wheel->swept_count--;
            wheel->swept_next = index;
            return index;
        }
        index += 64;
    }
}
