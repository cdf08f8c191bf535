/* mem.c - where a runtime's memory comes from: allocator or static block, slabs, region arenas.
 *
 * All of it is counted against the ceiling of the resource contract before it is taken. With a
 * static block no allocator is ever called: sizes are rounded up to powers of two, freed pieces
 * go to a list of their size and are found there again, so that the block serves a steady load
 * for ever without fragmenting further.
 *
 * Big pieces of a default runtime are mapped, not allocated: they are aligned to huge pages, and
 * giving them back gives them back to the system.
 */
#include "sched/sched.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define PIECE_MIN_SHIFT 5u
#define ARENA_BLOCK_MIN ((size_t)1024)
#define ARENA_BLOCK_MAX ((size_t)64 * 1024)
#define ARENA_ALIGN ((size_t)16)

static unsigned size_class(size_t size)
{
    unsigned shift = PIECE_MIN_SHIFT;
    while (((size_t)1 << shift) < size)
        shift++;
    return shift;
}

static void *block_alloc(asx_runtime *rt, size_t size)
{
    if (size > (size_t)1 << 38)
        return NULL;
    unsigned shift = size_class(size);
    void **piece = rt->block_free[shift];
    if (piece != NULL) {
        rt->block_free[shift] = *piece;
        return piece;
    }
    size_t want = (size_t)1 << shift;
    if (want > (size_t)(rt->block_end - rt->block))
        return NULL;
    void *memory = rt->block;
    rt->block += want;
    return memory;
}

static void block_free(asx_runtime *rt, void *memory, size_t size)
{
    unsigned shift = size_class(size);
    *(void **)memory = rt->block_free[shift];
    rt->block_free[shift] = memory;
}

/* Mapped at a huge page's boundary: the surplus on both sides is given back. */
static void *map_aligned(size_t size)
{
    size_t want = size + HUGE_PAGE;
    char *base = mmap(NULL, want, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    size_t head = (HUGE_PAGE - ((uintptr_t)base & (HUGE_PAGE - 1))) & (HUGE_PAGE - 1);
    if (head != 0)
        munmap(base, head);
    if (want - head - size != 0)
        munmap(base + head + size, want - head - size);
    return base + head;
}

bool asx__mem_is_mapped(const asx_runtime *rt, size_t size)
{
    return rt->own_allocator && size >= HUGE_PAGE && size % 4096 == 0;
}

void *asx__mem_alloc(asx_runtime *rt, size_t size)
{
    uint64_t ceiling = rt->config.limits.memory_max;
    if (ceiling != 0 && (size > ceiling || rt->memory_bytes > ceiling - size))
        return NULL;
    void *memory;
    if (rt->block != NULL)
        memory = block_alloc(rt, size);
    else if (asx__mem_is_mapped(rt, size))
        memory = map_aligned(size);
    else
        memory = rt->allocator.alloc(rt->allocator.ctx, size);
    if (memory != NULL)
        rt->memory_bytes += size;
    return memory;
}

void *asx__mem_alloc_dense(asx_runtime *rt, size_t size)
{
    void *memory = asx__mem_alloc(rt, size);
    if (memory != NULL && asx__mem_is_mapped(rt, size))
        madvise(memory, size, MADV_HUGEPAGE); /* advice: failing it costs speed only */
    return memory;
}

void asx__mem_free(asx_runtime *rt, void *memory, size_t size)
{
    if (memory == NULL)
        return;
    rt->memory_bytes -= size;
    if (rt->block != NULL)
        block_free(rt, memory, size);
    else if (asx__mem_is_mapped(rt, size))
        munmap(memory, size);
    else
        rt->allocator.free(rt->allocator.ctx, memory, size);
}

/* ---- slabs ---------------------------------------------------------------------------------- */

void asx__slab_init(asx__slab *slab, size_t record_size, unsigned shift)
{
    memset(slab, 0, sizeof *slab);
    ASX__ASSERT(record_size >= sizeof(asx__slab_free));
    slab->record_size = (uint32_t)record_size;
    slab->shift = (uint8_t)shift;
}

static size_t chunk_bytes(const asx__slab *slab)
{
    return (size_t)slab->record_size << slab->shift;
}

void asx__slab_deinit(asx_runtime *rt, asx__slab *slab)
{
    for (uint32_t i = 0; i < slab->chunk_count; i++)
        asx__mem_free(rt, slab->chunks[i], chunk_bytes(slab));
    asx__mem_free(rt, slab->chunks, slab->chunk_cap * sizeof *slab->chunks);
    memset(slab, 0, sizeof *slab);
}

static asx_status add_chunk(asx_runtime *rt, asx__slab *slab)
{
    if (slab->limit > UINT32_MAX - (1u << slab->shift))
        return ASX_E_RESOURCE_EXHAUSTED;
    size_t size = chunk_bytes(slab);
    char *chunk = asx__mem_alloc(rt, size);
    if (chunk == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    if (slab->chunk_count == slab->chunk_cap) {
        uint32_t cap = slab->chunk_cap ? slab->chunk_cap * 2 : 8;
        char **chunks = asx__mem_alloc(rt, cap * sizeof *chunks);
        if (chunks == NULL) {
            asx__mem_free(rt, chunk, size);
            return ASX_E_RESOURCE_EXHAUSTED;
        }
        if (slab->chunk_count != 0)
            memcpy(chunks, slab->chunks, slab->chunk_count * sizeof *chunks);
        char **before = slab->chunks;
        uint32_t cap_before = slab->chunk_cap;
        slab->chunks = chunks; /* first: a dump may look at any moment */
        slab->chunk_cap = cap;
        asx__mem_free(rt, before, cap_before * sizeof *chunks);
    }
    slab->is_zero = asx__mem_is_mapped(rt, size);
    if (slab->is_zero && slab->chunk_count != 0)
        madvise(chunk, size, MADV_HUGEPAGE); /* advice: failing it costs speed only */
    slab->chunks[slab->chunk_count++] = chunk;
    if (slab->chunk_count == 1) {
        slab->first = chunk;
        slab->first_len = 1u << slab->shift;
    }
    slab->limit += 1u << slab->shift;
    return ASX_OK;
}

void *asx__slab_alloc_slow(asx_runtime *rt, asx__slab *slab, uint32_t *ret_index)
{
    if (slab->carved == slab->limit && add_chunk(rt, slab) < 0)
        return NULL;
    void *record = asx__slab_at(slab, slab->carved);
    if (!slab->is_zero)
        memset(record, 0, slab->record_size);
    __asm__ volatile("" ::: "memory"); /* a dump looks at what has been carved */
    *ret_index = slab->carved++;
    return record;
}

asx_status asx__slab_reserve(asx_runtime *rt, asx__slab *slab, uint32_t count)
{
    uint64_t have = slab->limit - slab->carved;
    for (const asx__slab_free *f = slab->free; f != NULL && have < count; f = f->next)
        have++;
    while (have < count) {
        if (add_chunk(rt, slab) < 0)
            return ASX_E_RESOURCE_EXHAUSTED;
        have += UINT64_C(1) << slab->shift;
    }
    return ASX_OK;
}

/* ---- region memory -------------------------------------------------------------------------- */

struct asx__arena_block {
    struct asx__arena_block *next;
    size_t size;
};

#define BLOCK_HEADER ((sizeof(struct asx__arena_block) + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1))

static struct asx__arena_block *add_block(asx_runtime *rt, asx__arena *arena, size_t payload)
{
    size_t size = ARENA_BLOCK_MIN;
    if (arena->blocks != NULL && arena->blocks->size < ARENA_BLOCK_MAX)
        size = arena->blocks->size * 2;
    else if (arena->blocks != NULL)
        size = ARENA_BLOCK_MAX;
    if (size < payload + BLOCK_HEADER)
        size = payload + BLOCK_HEADER;
    struct asx__arena_block *block = asx__mem_alloc(rt, size);
    if (block == NULL && size > payload + BLOCK_HEADER) {
        size = payload + BLOCK_HEADER;
        block = asx__mem_alloc(rt, size);
    }
    if (block == NULL)
        return NULL;
    block->size = size;
    return block;
}

void *asx__arena_alloc(asx_runtime *rt, asx__arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
    if (size <= (size_t)(arena->end - arena->next)) {
        void *memory = arena->next;
        arena->next += size;
        arena->bytes += size;
        return memory;
    }
    struct asx__arena_block *block = add_block(rt, arena, size);
    if (block == NULL)
        return NULL;
    char *payload = (char *)block + BLOCK_HEADER;
    size_t rest = block->size - BLOCK_HEADER - size;
    if (rest >= (size_t)(arena->end - arena->next)) {
        arena->next = payload + size;
        arena->end = (char *)block + block->size;
    }
    block->next = arena->blocks;
    arena->blocks = block;
    arena->bytes += size;
    return payload;
}

void asx__arena_deinit(asx_runtime *rt, asx__arena *arena)
{
    struct asx__arena_block *block = arena->blocks;
    while (block != NULL) {
        struct asx__arena_block *next = block->next;
        asx__mem_free(rt, block, block->size);
        block = next;
    }
    memset(arena, 0, sizeof *arena);
}
