#include "support_kit.h"

#include "sched/sched.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char line[4096];
static size_t line_len;
static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER; /* tasks may be on several workers */

void say(const char *format, ...)
{
    va_list args;
    pthread_mutex_lock(&line_lock);
    size_t room = sizeof line - line_len;
    size_t blank = line_len != 0 ? 1 : 0;
    CHECK(room > 256);
    if (blank)
        line[line_len] = ' ';
    va_start(args, format);
    int n = vsnprintf(line + line_len + blank, room - blank, format, args);
    va_end(args);
    CHECK(n >= 0 && (size_t)n < room - blank);
    line_len += blank + (size_t)n;
    pthread_mutex_unlock(&line_lock);
}

const char *said(void)
{
    return line;
}

void hush(void)
{
    line_len = 0;
    line[0] = '\0';
}

static void *heap_alloc(void *ctx, size_t size)
{
    kit_heap *heap = ctx;
    heap->requests++;
    if (heap->requests == heap->fail_at ||
        (heap->fail_from != 0 && heap->requests >= heap->fail_from)) {
        heap->failures++;
        return NULL;
    }
    void *memory = malloc(size);
    CHECK(memory != NULL);
    memset(memory, 0xa5, size); /* nobody may rely on zeroed memory */
    heap->bytes += size;
    heap->pieces++;
    return memory;
}

static void heap_free(void *ctx, void *memory, size_t size)
{
    kit_heap *heap = ctx;
    CHECK(memory != NULL);
    CHECK_GE(heap->bytes, size);
    CHECK_GE(heap->pieces, 1u);
    heap->bytes -= size;
    heap->pieces--;
    memset(memory, 0x5a, size);
    free(memory);
}

asx_allocator kit_allocator(kit_heap *heap)
{
    asx_allocator allocator = { heap_alloc, heap_free, heap };
    return allocator;
}

asx_runtime_config kit_config(asx_clock_kind clock, kit_heap *heap)
{
    asx_runtime_config config;
    memset(&config, 0, sizeof config);
    config.clock = clock;
    if (heap != NULL)
        config.allocator = kit_allocator(heap);
    return config;
}

asx_status kit_run(const asx_runtime_config *config, asx_task_fn fn, void *arg)
{
    asx_runtime *rt;
    asx_stats stats;
    CHECK_STATUS(asx_runtime_create(config, &rt), ASX_OK);
    asx_status st = asx_runtime_run(rt, fn, arg);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_STATUS(asx_runtime_stats(rt, &stats), ASX_OK);
    CHECK_EQ(stats.tasks_live, 0);
    CHECK_EQ(stats.regions_live, 0);
    CHECK_EQ(stats.obligations_reserved, 0);
    CHECK_EQ(stats.channels_live, 0);
    CHECK_EQ(stats.timers_live, 0);
    CHECK_EQ(stats.stacks_in_use, 0);
    CHECK_EQ(stats.stacks_kept, 0);
    CHECK_EQ(stats.ready_len + stats.cancel_len + stats.timed_len, 0);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return st;
}

void kit_everywhere(asx_task_fn fn, void *arg, asx_status expected)
{
    for (int i = 0; i < 8; i++) {
        kit_heap heap = { 0 };
        asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL,
                                               i & 2 ? &heap : NULL);
        config.trace = (i & 4) != 0;
        hush();
        CHECK_STATUS(kit_run(&config, fn, arg), expected);
        CHECK_EQ(heap.bytes, 0);
        CHECK_EQ(heap.pieces, 0);
    }
}

bool kit_is_virtual(const asx_cx *cx)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    return rt->virtual_clock;
}

asx_status kit_sleeper(asx_cx *cx, void *arg)
{
    return asx_sleep(cx, *(uint64_t *)arg);
}

asx_status kit_waiter(asx_cx *cx, void *arg)
{
    asx_waker waker;
    (void)arg;
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    asx_status st = asx_wait_external(cx);
    CHECK_STATUS(st, ASX_E_CANCELLED);
    say("told");
    return st;
}

asx_status kit_returns(asx_cx *cx, void *arg)
{
    (void)cx;
    return (asx_status)(intptr_t)arg;
}

asx_status kit_panics(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_panic(cx, "on purpose");
}

asx_status kit_yields(asx_cx *cx, unsigned n)
{
    asx_status st = ASX_OK;
    for (unsigned i = 0; i < n && st == ASX_OK; i++)
        st = asx_yield(cx);
    return st;
}

void kit_all_wait(asx_cx *cx, const asx_region *region)
{
    for (bool moves = true; moves;) {
        asx_close_report report;
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_region_report(region, &report), ASX_OK);
        moves = report.items_omitted != 0;
        for (size_t i = 0; i < report.items_len; i++)
            moves |= report.items[i].kind == ASX_REPORT_TASK && *report.items[i].waits_for == '\0';
        asx_close_report_deinit(&report);
    }
}

asx_stats kit_stats(asx_runtime *rt)
{
    asx_stats stats;
    CHECK_STATUS(asx_runtime_stats(rt, &stats), ASX_OK);
    stats.turns = 0;
    stats.workers_asleep = 0;
    stats.tasks_stolen = 0;
    return stats;
}
