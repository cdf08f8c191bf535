/* rng.h - the deterministic generator of asx: xoshiro256** (Blackman and Vigna), its state filled
 * by SplitMix64 (Steele, Lea, Flood) from a 64-bit seed.
 *
 * The same seed gives the same numbers on every machine. Each use forks a generator of its own:
 *
 *     fork(rng, stream) depends on the seed of rng and on stream, never on the numbers drawn
 *
 * so one more draw in one place moves nothing anywhere else. Equal streams give equal generators.
 * Not for secrets.
 */
#ifndef ASX_BASE_RNG_H
#define ASX_BASE_RNG_H

#include "base/assert.h"
#include "base/hash.h"

typedef struct asx__rng {
    uint64_t seed; /* only for fork */
    uint64_t s[4]; /* never all zero */
} asx__rng;

static inline uint64_t asx__splitmix64_next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return asx__hash_avalanche(*state);
}

static inline void asx__rng_seed(asx__rng *rng, uint64_t seed)
{
    rng->seed = seed;
    for (unsigned i = 0; i < 4; i++)
        rng->s[i] = asx__splitmix64_next(&seed);
}

static inline uint64_t asx__rng_next(asx__rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = asx__rotl64(s[1] * 5u, 7) * 9u;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = asx__rotl64(s[3], 45);
    return result;
}

/* Uniform in 0 .. n - 1. The lowest 2^64 mod n numbers are drawn again, so that every result
 * stands for equally many. */
static inline uint64_t asx__rng_below(asx__rng *rng, uint64_t n)
{
    ASX__ASSERT(n > 0);
    uint64_t unfair = (UINT64_C(0) - n) % n;
    uint64_t drawn;
    do
        drawn = asx__rng_next(rng);
    while (drawn < unfair);
    return drawn % n;
}

static inline asx__rng asx__rng_fork(const asx__rng *rng, uint64_t stream)
{
    asx__rng fork;
    asx__rng_seed(&fork, asx__hash_words(rng->seed, &stream, 1));
    return fork;
}

#endif
