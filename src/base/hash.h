/* hash.h - the one deterministic hash of asx ("asx-mr64", multiply-rotate, 64 bits).
 *
 * It names runs, guards files against damage and mixes seeds. It is not a defence against an
 * attacker that looks for collisions.
 *
 * Input is a sequence of 64-bit words. With M1, M2 odd and all arithmetic modulo 2^64:
 *
 *     state := key + ASX__HASH_START
 *     absorb(w):  state := rotl(state + w * M1, 31) * M2
 *     finish(n):  avalanche(state ^ n), n = length of the input in bytes
 *
 * avalanche() is the output function of SplitMix64. Bytes are read as words in little-endian
 * order; the last word is filled up with zeros, and the length tells it from a longer input.
 *
 * Every step is a bijection of the state when the word is held fixed, and of the word when the
 * state is held fixed. So one law holds always, not just very likely:
 *
 *     two inputs of equal length that differ in exactly one word have different hashes.
 *
 * The multiplication before the rotation is what keeps a difference in one word from being
 * cancelled by a simple difference in the next. FNV-1a was rejected (a multiplication per byte),
 * 128-bit products too (not in C11, slow on small machines).
 *
 * All functions are pure, or change only the state they are given; the results are part of the
 * trace format and never change.
 */
#ifndef ASX_BASE_HASH_H
#define ASX_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define ASX__HASH_START UINT64_C(0x243f6a8885a308d3) /* the fraction of pi */
#define ASX__HASH_M1 UINT64_C(0x9e3779b97f4a7c15)    /* 2^64 / golden ratio */
#define ASX__HASH_M2 UINT64_C(0xd1342543de82ef95)

static inline uint64_t asx__rotl64(uint64_t x, unsigned bits)
{
    return (x << (bits & 63u)) | (x >> ((64u - bits) & 63u));
}

/* Every bit of x reaches every bit of the result. A bijection with avalanche(0) = 0. */
static inline uint64_t asx__hash_avalanche(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t asx__hash_begin(uint64_t key)
{
    return key + ASX__HASH_START;
}

static inline uint64_t asx__hash_absorb(uint64_t state, uint64_t word)
{
    return asx__rotl64(state + word * ASX__HASH_M1, 31) * ASX__HASH_M2;
}

static inline uint64_t asx__hash_finish(uint64_t state, uint64_t len_bytes)
{
    return asx__hash_avalanche(state ^ len_bytes);
}

/* The hash of `count` words; equal to that of their little-endian bytes. */
static inline uint64_t asx__hash_words(uint64_t key, const uint64_t *words, size_t count)
{
    uint64_t state = asx__hash_begin(key);
    for (size_t i = 0; i < count; i++)
        state = asx__hash_absorb(state, words[i]);
    return asx__hash_finish(state, (uint64_t)count * 8u);
}

/* Little-endian, any alignment, any machine. */
static inline uint64_t asx__load_le64(const uint8_t *bytes)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)bytes[i] << (8u * i);
    return word;
}

static inline void asx__store_le64(uint8_t *bytes, uint64_t word)
{
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(word >> (8u * i));
}

/* Bytes that arrive in pieces. */
typedef struct asx__hasher {
    uint64_t state;
    uint64_t tail; /* the bytes of an unfinished word, first one lowest */
    uint64_t len_bytes;
} asx__hasher;

static inline void asx__hasher_init(asx__hasher *hasher, uint64_t key)
{
    hasher->state = asx__hash_begin(key);
    hasher->tail = 0;
    hasher->len_bytes = 0;
}

static inline void asx__hasher_byte(asx__hasher *hasher, uint8_t byte)
{
    unsigned at = (unsigned)(hasher->len_bytes & 7u);
    hasher->tail |= (uint64_t)byte << (8u * at);
    hasher->len_bytes++;
    if (at == 7) {
        hasher->state = asx__hash_absorb(hasher->state, hasher->tail);
        hasher->tail = 0;
    }
}

static inline void asx__hasher_bytes(asx__hasher *hasher, const void *bytes, size_t len)
{
    const uint8_t *at = (const uint8_t *)bytes;
    for (; len > 0 && (hasher->len_bytes & 7u) != 0; len--)
        asx__hasher_byte(hasher, *at++);
    for (; len >= 8; len -= 8, at += 8) {
        hasher->state = asx__hash_absorb(hasher->state, asx__load_le64(at));
        hasher->len_bytes += 8;
    }
    for (; len > 0; len--)
        asx__hasher_byte(hasher, *at++);
}

/* The hash so far; more bytes may follow. */
static inline uint64_t asx__hasher_value(const asx__hasher *hasher)
{
    uint64_t state = hasher->state;
    if ((hasher->len_bytes & 7u) != 0)
        state = asx__hash_absorb(state, hasher->tail);
    return asx__hash_finish(state, hasher->len_bytes);
}

static inline uint64_t asx__hash_bytes(uint64_t key, const void *bytes, size_t len)
{
    asx__hasher hasher;
    asx__hasher_init(&hasher, key);
    asx__hasher_bytes(&hasher, bytes, len);
    return asx__hasher_value(&hasher);
}

#endif
