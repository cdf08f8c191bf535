/* test_alloc.c - memory gives out at every place in turn, and nothing is lost by it.
 *
 * Each program runs again and again: the n-th request for memory fails, or every one from the n-th
 * on, or there is a ceiling, or a block, that grows step by step, until a run is not refused
 * anything. Every run must end, keep its accounts (support_programs.h) and give all memory back.
 */
#include "support_programs.h"

#include <stdlib.h>
#include <string.h>

typedef struct meagre {
    uint64_t bytes, pieces, requests, failures;
    uint64_t first, last; /* requests first..last get nothing */
} meagre;

static void *meagre_alloc(void *ctx, size_t size)
{
    meagre *heap = ctx;
    heap->requests++;
    if (heap->requests >= heap->first && heap->requests <= heap->last) {
        heap->failures++;
        return NULL;
    }
    void *memory = malloc(size);
    CHECK(memory != NULL);
    memset(memory, 0xa5, size);
    heap->bytes += size;
    heap->pieces++;
    return memory;
}

static void meagre_free(void *ctx, void *memory, size_t size)
{
    meagre *heap = ctx;
    CHECK(memory != NULL && heap->pieces > 0 && heap->bytes >= size);
    heap->bytes -= size;
    heap->pieces--;
    memset(memory, 0x5a, size);
    free(memory);
}

static asx_runtime_config config_of(meagre *heap, bool trace)
{
    asx_runtime_config config;
    memset(&config, 0, sizeof config);
    config.clock = ASX_CLOCK_VIRTUAL;
    config.trace = trace;
    config.allocator = (asx_allocator){ meagre_alloc, meagre_free, heap };
    return config;
}

/* Every n; what was refused shows in the statuses or not at all, but never as a loss. */
static void starve(const torture_program *program, bool for_good, bool trace)
{
    for (uint64_t n = 1;; n++) {
        meagre heap = { .first = n, .last = for_good ? UINT64_MAX : n };
        asx_runtime_config config = config_of(&heap, trace);
        asx_status st = torture_run(&config, program);
        CHECK_EQ(heap.bytes, 0);
        CHECK_EQ(heap.pieces, 0);
        if (heap.failures == 0) {
            CHECK_STATUS(st, ASX_OK);
            CHECK_EQ(tally.refused, 0);
            CHECK(n > 5);
            return;
        }
    }
}

static void starve_all(bool for_good, bool trace)
{
    for (size_t i = 0; i < torture_program_count; i++)
        starve(&torture_programs[i], for_good, trace);
}

ASX_TEST_TIMEOUT(any_one_request_may_fail, 40)
{
    starve_all(false, false);
}

ASX_TEST_TIMEOUT(any_one_request_may_fail_with_a_journal, 40)
{
    starve_all(false, true);
}

ASX_TEST_TIMEOUT(every_request_from_some_point_on_may_fail, 40)
{
    starve_all(true, false);
}

ASX_TEST_TIMEOUT(every_request_from_some_point_on_may_fail_with_a_journal, 40)
{
    starve_all(true, true);
}

/* The ceiling of the contract; the allocator itself never fails. */
ASX_TEST_TIMEOUT(a_ceiling_on_memory_refuses_and_loses_nothing, 40)
{
    for (size_t i = 0; i < torture_program_count; i++) {
        asx_status st = ASX_E_RESOURCE_EXHAUSTED;
        uint64_t most = 0, refusals = 0;
        for (uint64_t max = 256; st != ASX_OK || tally.refused != 0; max += 768) {
            meagre heap = { .first = 0, .last = 0 };
            asx_runtime_config config = config_of(&heap, (i & 1) != 0);
            config.limits.memory_max = max;
            st = torture_run(&config, &torture_programs[i]);
            CHECK_EQ(heap.bytes, 0);
            refusals += tally.refused;
            most = max;
        }
        CHECK(refusals > 0);
        CHECK(most < (uint64_t)4 << 20);
    }
}

/* All memory, stacks too, in a block; what lies before and behind it is not touched. */
ASX_TEST_TIMEOUT(a_small_block_refuses_and_loses_nothing, 40)
{
    enum { LARGEST = 8 << 20, EDGE = 64 };
    unsigned char *around = malloc(LARGEST + 2 * EDGE);
    CHECK(around != NULL);
    for (size_t i = 0; i < torture_program_count; i++) {
        asx_status st = ASX_E_RESOURCE_EXHAUSTED;
        uint64_t refusals = 0;
        size_t size = 1024;
        for (; st != ASX_OK || tally.refused != 0; size += size / 24 + 16) {
            CHECK(size < LARGEST);
            memset(around, 0xee, size + 2 * EDGE);
            asx_runtime_config config;
            memset(&config, 0, sizeof config);
            config.profile = ASX_PROFILE_FREESTANDING;
            config.clock = ASX_CLOCK_VIRTUAL;
            config.limits.tasks_max = config.limits.regions_max = 500;
            config.limits.timers_max = config.limits.obligations_max = 500;
            config.limits.channels_max = 500;
            config.stack_size = 32768;
            config.memory = around + EDGE;
            config.memory_size = size;
            st = torture_run(&config, &torture_programs[i]);
            refusals += tally.refused;
            for (size_t at = 0; at < EDGE; at++)
                CHECK(around[at] == 0xee && around[EDGE + size + at] == 0xee);
        }
        CHECK(refusals > 0);
    }
    free(around);
}
