/* support_trace.h - a fixed list of events, memory that can fail, and a sink that collects. */
#ifndef ASX_TESTS_TRACE_SUPPORT_H
#define ASX_TESTS_TRACE_SUPPORT_H

#include "harness.h"
#include "trace/trace.h"

/* Twelve events with small numbers, the largest ones and the edges of varints. Their digest and
 * their file were computed from the documentation by an implementation in another language. */
#define SAMPLE_LEN 12u
#define SAMPLE_DIGEST UINT64_C(0x0aff95c5384992c8)
extern const asx_event sample[SAMPLE_LEN];

/* Counts what is taken and given back; fails when `fail_after` allocations were granted. */
typedef struct test_memory {
    uint64_t allocs;
    uint64_t fail_after;
    size_t bytes_live;
} test_memory;
asx__trace_memory memory_of(test_memory *memory);

/* A file in memory. `data` is exactly `len` bytes, so that a sanitizer sees every step outside. */
typedef struct file {
    uint8_t *data;
    size_t len;
    uint64_t calls;
    uint64_t fail_at_call; /* 0: never */
} file;
asx_status file_sink(void *ctx, const void *bytes, size_t len);
file file_copy(const file *from, size_t len);
void file_free(file *f);

/* Emits the events as they are, but for the seq, which the journal gives. */
void emit_events(asx__trace *trace, const asx_event *events, size_t count);
/* Emits `count` events that look like those of a scheduler. */
void emit_many(asx__trace *trace, uint64_t count);
bool event_equal(const asx_event *x, const asx_event *y);
file write_file(const asx__trace *trace, uint64_t seed, const char *program);

#endif
