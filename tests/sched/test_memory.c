/* Slabs, arenas and the static block, from the inside. */
#include "support_kit.h"

#include <string.h>

#include "sched/sched.h"

static asx_runtime *make(kit_heap *heap)
{
    asx_runtime *rt;
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, heap);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    return rt;
}

/* ---- slabs ---------------------------------------------------------------------------------- */

typedef struct record {
    void *first[2]; /* overwritten while free */
    uint64_t kept;
    uint64_t number;
} record;

ASX_TEST(a_slab_hands_out_zeroed_records_that_never_move_and_recycles_the_last)
{
    enum { N = 500 };
    kit_heap heap = { 0 };
    asx_runtime *rt = make(&heap);
    asx__slab slab;
    record *r[N];
    uint32_t index[N];
    asx__slab_init(&slab, sizeof(record), 3);
    for (uint32_t i = 0; i < N; i++) {
        r[i] = asx__slab_alloc(rt, &slab, &index[i]);
        CHECK(r[i] != NULL);
        CHECK_EQ(index[i], i);
        CHECK_EQ(r[i]->kept, 0);
        CHECK_EQ(r[i]->number, 0);
        r[i]->number = i;
        r[i]->kept = 1;
    }
    for (uint32_t i = 0; i < N; i++) {
        CHECK_PTR_EQ(asx__slab_at(&slab, i), r[i]);
        CHECK_EQ(r[i]->number, i);
    }
    asx__slab_release(&slab, r[7], 7);
    asx__slab_release(&slab, r[300], 300);
    uint32_t got;
    CHECK_PTR_EQ(asx__slab_alloc(rt, &slab, &got), r[300]);
    CHECK_EQ(got, 300);
    CHECK_EQ(r[300]->kept, 1); /* what lies behind the first words survives */
    CHECK_PTR_EQ(asx__slab_alloc(rt, &slab, &got), r[7]);
    CHECK_EQ(got, 7);
    asx__slab_deinit(rt, &slab);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(heap.bytes, 0);
}

ASX_TEST(a_slab_that_reserves_does_not_fail_afterwards)
{
    kit_heap heap = { 0 };
    asx_runtime *rt = make(&heap);
    asx__slab slab;
    uint32_t index;
    asx__slab_init(&slab, sizeof(record), 2);
    CHECK_STATUS(asx__slab_reserve(rt, &slab, 30), ASX_OK);
    heap.fail_from = heap.requests + 1;
    for (int i = 0; i < 30; i++)
        CHECK(asx__slab_alloc(rt, &slab, &index) != NULL);
    while (asx__slab_alloc(rt, &slab, &index) != NULL)
        continue;
    uint64_t bytes = heap.bytes;
    CHECK_STATUS(asx__slab_reserve(rt, &slab, 1), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_EQ(heap.bytes, bytes);
    asx__slab_release(&slab, asx__slab_at(&slab, 3), 3);
    CHECK_STATUS(asx__slab_reserve(rt, &slab, 1), ASX_OK); /* a free one is as good */
    heap.fail_from = 0;
    asx__slab_deinit(rt, &slab);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(heap.bytes, 0);
}

/* The directory grows; when that fails, the chunk that was fetched goes back. */
ASX_TEST(a_slab_that_cannot_grow_its_directory_keeps_nothing)
{
    kit_heap heap = { 0 };
    asx_runtime *rt = make(&heap);
    asx__slab slab;
    uint32_t index;
    asx__slab_init(&slab, sizeof(record), 0);
    for (int i = 0; i < 8; i++) /* as many as the first directory holds */
        CHECK(asx__slab_alloc(rt, &slab, &index) != NULL);
    uint64_t bytes = heap.bytes, pieces = heap.pieces;
    heap.fail_at = heap.requests + 2;
    CHECK(asx__slab_alloc(rt, &slab, &index) == NULL);
    CHECK_EQ(heap.bytes, bytes);
    CHECK_EQ(heap.pieces, pieces);
    CHECK(asx__slab_alloc(rt, &slab, &index) != NULL);
    CHECK_EQ(index, 8);
    asx__slab_deinit(rt, &slab);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(heap.bytes, 0);
}

/* ---- arenas --------------------------------------------------------------------------------- */

ASX_TEST(an_arena_gives_disjoint_aligned_pieces_of_every_size)
{
    enum { N = 300 };
    kit_heap heap = { 0 };
    asx_runtime *rt = make(&heap);
    asx__arena arena;
    unsigned char *p[N];
    size_t size[N];
    memset(&arena, 0, sizeof arena);
    for (size_t i = 0; i < N; i++) {
        size[i] = i % 17 == 0 ? 5000 + i : i % 97 + 1;
        p[i] = asx__arena_alloc(rt, &arena, size[i]);
        CHECK(p[i] != NULL);
        CHECK_EQ((uintptr_t)p[i] % 16, 0);
        memset(p[i], (int)(i & 0xff), size[i]);
    }
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < size[i]; k++)
            CHECK_EQ(p[i][k], i & 0xff);
    CHECK(asx__arena_alloc(rt, &arena, SIZE_MAX) == NULL);
    asx__arena_deinit(rt, &arena);
    asx__arena_deinit(rt, &arena); /* empty: nothing to do */
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(heap.bytes, 0);
}

ASX_TEST(an_arena_that_cannot_have_a_large_block_takes_a_small_one)
{
    kit_heap heap = { 0 };
    asx_runtime *rt = make(&heap);
    asx__arena arena;
    memset(&arena, 0, sizeof arena);
    heap.fail_at = heap.requests + 1;
    CHECK(asx__arena_alloc(rt, &arena, 10) != NULL); /* the second, smaller request succeeds */
    CHECK_EQ(heap.failures, 1);
    heap.fail_from = heap.requests + 1;
    CHECK(asx__arena_alloc(rt, &arena, 10) == NULL);
    heap.fail_from = 0;
    asx__arena_deinit(rt, &arena);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(heap.bytes, 0);
}

/* ---- big pieces of a default runtime -------------------------------------------------------- */

static asx_status big_pieces(asx_cx *cx, void *arg)
{
    static const size_t sizes[] = { 1 << 20, (2 << 20) - 4096, 2 << 20, 5 << 20, (8 << 20) + 123 };
    asx_region r;
    (void)arg;
    uint64_t before = kit_stats(asx_cx_runtime(cx)).memory_bytes;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *memory;
        CHECK_STATUS(asx_region_alloc(&r, sizes[i], &memory), ASX_OK);
        memset(memory, 1, sizes[i]);
    }
    CHECK_GE(kit_stats(asx_cx_runtime(cx)).memory_bytes, before + (16u << 20));
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_LE(kit_stats(asx_cx_runtime(cx)).memory_bytes, before + 65536);
    return ASX_OK;
}

ASX_TEST(big_pieces_come_and_go)
{
    kit_everywhere(big_pieces, NULL, ASX_OK);
}

/* ---- the static block ----------------------------------------------------------------------- */

ASX_TEST(pieces_of_a_block_are_found_again_by_their_size)
{
    static _Alignas(64) char block[1 << 20];
    asx_runtime *rt;
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.memory = block;
    config.memory_size = sizeof block;
    config.stack_size = 16384;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    for (size_t size = 1; size < 20000; size = size * 3 / 2 + 1) {
        void *a = asx__mem_alloc(rt, size), *b = asx__mem_alloc(rt, size);
        CHECK(a != NULL && b != NULL && a != b);
        CHECK_EQ((uintptr_t)a % 16, 0);
        memset(a, 1, size);
        memset(b, 2, size);
        asx__mem_free(rt, a, size);
        asx__mem_free(rt, b, size);
        CHECK_PTR_EQ(asx__mem_alloc(rt, size), b); /* last in, first out */
        CHECK_PTR_EQ(asx__mem_alloc(rt, size), a);
        asx__mem_free(rt, a, size);
        asx__mem_free(rt, b, size);
    }
    CHECK(asx__mem_alloc(rt, SIZE_MAX) == NULL);
    CHECK(asx__mem_alloc(rt, sizeof block) == NULL);
    asx__mem_free(rt, NULL, 77); /* nothing */
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}
