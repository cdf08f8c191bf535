/* bytes.h - a sink that keeps what is written to it, for traces. */
#ifndef ASX_LAB_BYTES_H
#define ASX_LAB_BYTES_H

#include <asx/status.h>

#include <stdlib.h>
#include <string.h>

typedef struct asx__bytes {
    char *at; /* free() it */
    size_t len, cap;
} asx__bytes;

/* The sink of asx_runtime_trace_write(); ctx: asx__bytes. */
static inline asx_status asx__bytes_keep(void *ctx, const void *more, size_t len)
{
    asx__bytes *b = ctx;
    if (b->len + len > b->cap) {
        size_t cap = (b->len + len) * 2;
        char *larger = realloc(b->at, cap);
        if (larger == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        b->at = larger;
        b->cap = cap;
    }
    memcpy(b->at + b->len, more, len);
    b->len += len;
    return ASX_OK;
}

#endif
