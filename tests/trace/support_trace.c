#include "support_trace.h"

#include <stdlib.h>
#include <string.h>

#define BIG UINT64_MAX
#define TOP (UINT64_C(1) << 63)
#define NEG(x) (UINT64_C(0) - (x))

/* seq, time, kind, worker, task, object, a, b, cause */
const asx_event sample[SAMPLE_LEN] = {
    { 1, 0, ASX_EVENT_RUN_BEGIN, 0, 0, 0, 42, 0, 0 },
    { 2, 0, ASX_EVENT_REGION_OPEN, 0, 0, 1, 0, 0, 0 },
    { 3, 0, ASX_EVENT_TASK_SPAWN, 0, 0, 1, 1, 0, 2 },
    { 4, 0, ASX_EVENT_TASK_STATE, 0, 1, 1, 0, 1, 3 },
    { 5, 0, ASX_EVENT_CHANNEL_CREATE, 0, 1, 1, 4, 1, 0 },
    { 6, 1500000, ASX_EVENT_TASK_PARK, 0, 1, 1, 2, 1, 0 },
    { 7, 1500000, ASX_EVENT_CLOCK_ADVANCE, 0, 0, 0, 0, 1500000, 0 },
    { 8, BIG, ASX_EVENT_TASK_WAKE, 0, 0, 1, NEG(103), 2, 6 },
    { 9, BIG, ASX_EVENT_CHANNEL_SEND, 0, TOP, UINT64_C(1) << 32, TOP, TOP - 1, 8 },
    { 10, 127, ASX_EVENT_USER, 0, 128, 16383, 16384, 63, 9 },
    { 11, 128, ASX_EVENT_TASK_COMPLETE, 0, 1, 1, 3, NEG(83), 1 },
    { 12, 129, ASX_EVENT_RUN_END, 0, 0, 0, BIG, 0, 0 },
};

static void *test_alloc(void *ctx, size_t size)
{
    test_memory *memory = ctx;
    if (memory->allocs >= memory->fail_after)
        return NULL;
    void *block = malloc(size);
    CHECK(block != NULL);
    memory->allocs++;
    memory->bytes_live += size;
    return block;
}

static void test_free(void *ctx, void *block, size_t size)
{
    test_memory *memory = ctx;
    CHECK_GE(memory->bytes_live, size);
    memory->bytes_live -= size;
    free(block);
}

asx__trace_memory memory_of(test_memory *memory)
{
    return (asx__trace_memory){ test_alloc, test_free, memory };
}

asx_status file_sink(void *ctx, const void *bytes, size_t len)
{
    file *f = ctx;
    CHECK(len > 0);
    f->calls++;
    if (f->calls == f->fail_at_call)
        return ASX_E_SYSTEM;
    f->data = realloc(f->data, f->len + len);
    CHECK(f->data != NULL);
    memcpy(f->data + f->len, bytes, len);
    f->len += len;
    return ASX_OK;
}

file file_copy(const file *from, size_t len)
{
    file f = { .data = malloc(len > 0 ? len : 1), .len = len };
    CHECK(f.data != NULL);
    memcpy(f.data, from->data, len < from->len ? len : from->len);
    return f;
}

void file_free(file *f)
{
    free(f->data);
    *f = (file){ 0 };
}

void emit_events(asx__trace *trace, const asx_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const asx_event *e = &events[i];
        asx__trace_emit(trace, e->time, e->kind, e->task, e->object, e->a, e->b, e->cause);
    }
}

void emit_many(asx__trace *trace, uint64_t count)
{
    static const uint32_t kinds[] = { ASX_EVENT_TASK_RUN, ASX_EVENT_CHANNEL_SEND,
                                      ASX_EVENT_TASK_PARK, ASX_EVENT_TASK_WAKE };
    uint64_t wake = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t seq = asx__trace_emit(trace, i * 250, kinds[i % 4], 1 + i % 7, 1 + i % 3, i % 5,
                                       i % 11, i % 4 == 0 ? wake : 0);
        if (i % 4 == 3)
            wake = seq;
    }
}

bool event_equal(const asx_event *x, const asx_event *y)
{
    return x->seq == y->seq && x->time == y->time && x->kind == y->kind &&
           x->worker == y->worker && x->task == y->task && x->object == y->object &&
           x->a == y->a && x->b == y->b && x->cause == y->cause;
}

file write_file(const asx__trace *trace, uint64_t seed, const char *program)
{
    file f = { 0 };
    CHECK_STATUS(asx__trace_write(trace, seed, program, strlen(program), file_sink, &f), ASX_OK);
    return f;
}
