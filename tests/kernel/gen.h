/* gen.h - generated values for the laws of the kernel.
 *
 * splitmix64 from a fixed seed, so that a failure shows the same values every time. Half of the
 * values come from the boundaries of the type and from a small range, where ties happen.
 */
#ifndef ASX_TESTS_KERNEL_GEN_H
#define ASX_TESTS_KERNEL_GEN_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"

typedef struct gen {
    uint64_t state;
} gen;

static inline uint64_t gen_u64(gen *g)
{
    uint64_t z = (g->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t gen_below(gen *g, uint64_t bound)
{
    return gen_u64(g) % bound;
}

static inline bool gen_bool(gen *g)
{
    return (gen_u64(g) & 1) != 0;
}

static inline uint64_t gen_edgy(gen *g, uint64_t max)
{
    const uint64_t edges[] = { 0, 1, 2, max / 2, max / 2 + 1, max - 1, max };
    switch (gen_below(g, 4)) {
    case 0:
        return edges[gen_below(g, sizeof edges / sizeof edges[0])];
    case 1:
        return gen_below(g, 4);
    default:
        return gen_u64(g) & max;
    }
}

static inline asx_budget gen_budget(gen *g)
{
    asx_budget budget = {
        .deadline = gen_edgy(g, UINT64_MAX),
        .cost_quota = gen_edgy(g, UINT64_MAX),
        .poll_quota = (uint32_t)gen_edgy(g, UINT32_MAX),
        .priority = (uint8_t)gen_edgy(g, UINT8_MAX),
    };
    return budget;
}

static inline asx_cancel_kind gen_kind(gen *g)
{
    return (asx_cancel_kind)gen_below(g, ASX_CANCEL_KIND_COUNT);
}

static inline asx_outcome gen_outcome(gen *g, uint64_t source)
{
    asx_outcome outcome = { (asx_outcome_kind)gen_below(g, 4), ASX_OK, source };
    if (outcome.kind != ASX_OUTCOME_OK)
        outcome.status = gen_bool(g) ? ASX_E_FULL : ASX_E_EMPTY;
    return outcome;
}

static inline bool outcome_equal(asx_outcome a, asx_outcome b)
{
    return a.kind == b.kind && a.status == b.status && a.source == b.source;
}

/* Rearranges items into the next permutation in lexicographic order; false after the last. */
static inline bool next_permutation(size_t *items, size_t count)
{
    size_t i = count;
    while (i > 1 && items[i - 2] >= items[i - 1])
        i--;
    if (i <= 1)
        return false;
    size_t j = count;
    while (items[j - 1] <= items[i - 2])
        j--;
    size_t swap = items[i - 2];
    items[i - 2] = items[j - 1];
    items[j - 1] = swap;
    for (size_t a = i - 1, b = count - 1; a < b; a++, b--) {
        swap = items[a];
        items[a] = items[b];
        items[b] = swap;
    }
    return true;
}

#endif
