/* bytes.h - bytes that grow, and numbers in them: traces, work that is given away, checkpoints.
 *
 * Numbers are little-endian. A writer that has no memory, or a reader that comes to an end, becomes
 * bad and stays so; its user looks once, at the end.
 */
#ifndef ASX_BASE_BYTES_H
#define ASX_BASE_BYTES_H

#include <asx/status.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct asx__bytes {
    char *at; /* free() it */
    size_t len, cap;
    bool bad; /* no memory: something is missing */
} asx__bytes;

/* The sink of asx_runtime_trace_write(); ctx: asx__bytes. */
static inline asx_status asx__bytes_keep(void *ctx, const void *more, size_t len)
{
    asx__bytes *b = ctx;
    if (b->len + len > b->cap) {
        size_t cap = (b->len + len) * 2;
        char *larger = realloc(b->at, cap);
        if (larger == NULL) {
            b->bad = true;
            return ASX_E_RESOURCE_EXHAUSTED;
        }
        b->at = larger;
        b->cap = cap;
    }
    if (len != 0)
        memcpy(b->at + b->len, more, len);
    b->len += len;
    return ASX_OK;
}

static inline void asx__bytes_u64(asx__bytes *b, uint64_t value)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8u * i));
    (void)asx__bytes_keep(b, bytes, sizeof bytes);
}

static inline void asx__bytes_double(asx__bytes *b, double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    asx__bytes_u64(b, word);
}

static inline void asx__bytes_u32(asx__bytes *b, uint32_t value)
{
    unsigned char bytes[4];
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(value >> (8u * i));
    (void)asx__bytes_keep(b, bytes, sizeof bytes);
}

/* A number that will be known later: where it stands. */
static inline size_t asx__bytes_hole(asx__bytes *b)
{
    asx__bytes_u32(b, 0);
    return b->len - 4;
}

/* Fills it with the number of bytes that came since. */
static inline void asx__bytes_fill(asx__bytes *b, size_t hole)
{
    uint32_t len = (uint32_t)(b->len - hole - 4);
    if (b->bad)
        return;
    for (unsigned i = 0; i < 4; i++)
        b->at[hole + i] = (char)(unsigned char)(len >> (8u * i));
}

typedef struct asx__reader {
    const char *at;
    size_t len;
    bool bad; /* it has ended, or what it says cannot be */
} asx__reader;

/* The next bytes; NULL: there are not so many. */
static inline const char *asx__read(asx__reader *r, size_t len)
{
    if (r->bad || len > r->len) {
        r->bad = true;
        return NULL;
    }
    const char *at = r->at;
    r->at += len;
    r->len -= len;
    return at;
}

static inline uint64_t asx__read_u64(asx__reader *r)
{
    const unsigned char *bytes = (const unsigned char *)asx__read(r, 8);
    uint64_t value = 0;
    for (unsigned i = 0; bytes != NULL && i < 8; i++)
        value |= (uint64_t)bytes[i] << (8u * i);
    return value;
}

static inline double asx__read_double(asx__reader *r)
{
    uint64_t word = asx__read_u64(r);
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static inline uint32_t asx__read_u32(asx__reader *r)
{
    const unsigned char *bytes = (const unsigned char *)asx__read(r, 4);
    uint32_t value = 0;
    for (unsigned i = 0; bytes != NULL && i < 4; i++)
        value |= (uint32_t)bytes[i] << (8u * i);
    return value;
}

/* How many of `size` bytes each follow; not more than can be there. */
static inline uint32_t asx__read_count(asx__reader *r, size_t size)
{
    uint32_t count = asx__read_u32(r);
    if (count > r->len / size)
        r->bad = true;
    return r->bad ? 0 : count;
}

/* A part of its own, as asx__bytes_fill() ends it. */
static inline asx__reader asx__read_part(asx__reader *r)
{
    uint32_t len = asx__read_u32(r);
    asx__reader part = { asx__read(r, len), len, false };
    part.bad = r->bad;
    part.len = r->bad ? 0 : len;
    return part;
}

#endif
