/* All memory from one block: no allocator is called, and what is freed is used again. */
#include "support_kit.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void *refuse_alloc(void *ctx, size_t size)
{
    (void)ctx;
    (void)size;
    asx_test_fail(__FILE__, __LINE__, "an allocator was called");
    return NULL;
}

static void refuse_free(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    (void)memory;
    (void)size;
    asx_test_fail(__FILE__, __LINE__, "an allocator was called");
}

static _Alignas(64) char block[2 << 20];

static asx_runtime_config static_config(asx_profile profile, asx_clock_kind clock, size_t size)
{
    asx_runtime_config config = kit_config(clock, NULL);
    config.profile = profile;
    config.memory = block;
    config.memory_size = size;
    config.allocator = (asx_allocator){ refuse_alloc, refuse_free, NULL };
    return config;
}

/* ---- a program that uses everything --------------------------------------------------------- */

typedef struct pipe {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    int sum, count;
} pipe;

static asx_status produces(asx_cx *cx, void *arg)
{
    pipe *p = arg;
    for (int i = 1; i <= p->count; i++) {
        asx_send_permit permit;
        CHECK_STATUS(asx_channel_reserve(cx, &p->tx, &permit), ASX_OK);
        CHECK_STATUS(asx_send_permit_send(&permit, &i), ASX_OK);
        asx_status st = i % 10 == 0 ? asx_sleep(cx, 10 * ASX_US) : ASX_OK;
        CHECK(st == ASX_OK || (st == ASX_E_CANCELLED && i == p->count)); /* all has arrived */
    }
    return asx_channel_sender_drop(&p->tx);
}

static asx_poll consumes(asx_cx *cx, void *state)
{
    pipe *p = state;
    int m;
    asx_status st;
    while ((st = asx_channel_recv(cx, &p->rx, &m)) == ASX_OK)
        p->sum += m;
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    CHECK(st == ASX_E_DISCONNECTED || st == ASX_E_CANCELLED);
    return ASX_POLL_READY;
}

static asx_status finalizes(asx_cx *cx, void *arg)
{
    pipe *p = arg;
    (void)cx;
    p->count = -1;
    return ASX_OK;
}

static asx_status one_round(asx_cx *cx, bool cancelled)
{
    asx_region r;
    pipe p = { .count = 50 };
    asx_close_report report;
    asx_cancel_reason reason = { .kind = ASX_CANCEL_USER, .message = "a round is over" };
    asx_region_options options = { .name = "round", .timeout_ns = 3600 * ASX_SEC };
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 4, NULL, &p.tx, &p.rx), ASX_OK);
    CHECK_STATUS(asx_defer(&r, finalizes, &p), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "producer", produces, &p), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "consumer", consumes, &p), ASX_OK);
    if (cancelled) {
        CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
        CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
        hush();
        asx_obligation o;
        CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_LEASE, &o), ASX_OK);
        asx_region q; /* so that the pipe is not in the middle of something */
        CHECK_STATUS(asx_region_open(cx, NULL, &q), ASX_OK);
        CHECK_STATUS(asx_spawn(&q, "w", kit_waiter, NULL), ASX_OK);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_region_cancel(&q, &reason), ASX_OK);
        CHECK_STATUS(asx_region_close_with(&q, ASX_OK, NULL, &report), ASX_E_CANCELLED);
        CHECK_EQ(report.tasks_cancelled, 1);
        asx_close_report_deinit(&report);
        while (p.sum < 1275)
            CHECK_STATUS(asx_sleep(cx, 10 * ASX_US), ASX_OK);
        CHECK_STATUS(asx_region_close_with(&r, ASX_E_EMPTY, NULL, &report), ASX_E_EMPTY);
        CHECK_EQ(report.obligations_leaked, 1);
        CHECK_EQ(report.items_len, 1);
        asx_close_report_deinit(&report);
    } else {
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    }
    CHECK_EQ(p.sum, 1275);
    CHECK_EQ(p.count, -1);
    return ASX_OK;
}

static asx_status rounds(asx_cx *cx, void *arg)
{
    unsigned n = *(unsigned *)arg;
    uint64_t settled = 0;
    for (unsigned i = 0; i < n; i++) {
        CHECK_STATUS(one_round(cx, i % 3 == 2), ASX_OK);
        asx_stats stats = kit_stats(asx_cx_runtime(cx));
        if (i == 20)
            settled = stats.memory_bytes;
        if (i > 20)
            CHECK_LE(stats.memory_bytes, settled + 8192); /* a steady load takes no more */
    }
    return ASX_OK;
}

ASX_TEST_TIMEOUT(thousands_of_rounds_fit_into_one_block, 60)
{
    unsigned n = 3000 / asx_test_scale();
    static const asx_profile profiles[] = { ASX_PROFILE_SERVER, ASX_PROFILE_EMBEDDED,
                                            ASX_PROFILE_FREESTANDING };
    for (size_t k = 0; k < 3; k++) {
        asx_runtime_config config = static_config(profiles[k], ASX_CLOCK_VIRTUAL, sizeof block);
        if (profiles[k] == ASX_PROFILE_SERVER)
            config.stack_size = 32768;
        size_t before = mallinfo2().uordblks;
        CHECK_STATUS(kit_run(&config, rounds, &n), ASX_OK);
        CHECK_EQ(mallinfo2().uordblks, before); /* nor was the C library's */
    }
}

ASX_TEST(a_static_block_serves_the_real_clock_and_a_journal_too)
{
    unsigned n = 30;
    asx_runtime_config config = static_config(ASX_PROFILE_EMBEDDED, ASX_CLOCK_REAL, sizeof block);
    config.trace = true;
    config.trace_events_max = 200;
    config.trace_overflow = ASX_TRACE_OVERWRITE;
    CHECK_STATUS(kit_run(&config, rounds, &n), ASX_OK);
}

/* ---- how small it may be -------------------------------------------------------------------- */

static asx_status does_little(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_status *st = arg;
    *st = asx_region_open(cx, NULL, &r);
    if (*st < 0)
        return *st;
    *st = asx_spawn(&r, "t", kit_returns, NULL);
    asx_status end = asx_region_close(&r, ASX_OK);
    return *st < 0 ? *st : end;
}

/* From nothing up: refused, refused later, and from some size on it works and keeps working. */
ASX_TEST(a_block_is_refused_until_it_is_large_enough)
{
    bool worked = false;
    for (size_t size = 1; size < sizeof block; size += size < 4096 ? 511 : 4096) {
        asx_runtime *rt;
        asx_status inside = ASX_OK;
        asx_runtime_config config = static_config(ASX_PROFILE_EMBEDDED, ASX_CLOCK_VIRTUAL, size);
        asx_status st = asx_runtime_create(&config, &rt);
        if (st == ASX_OK) {
            st = asx_runtime_run(rt, does_little, &inside);
            CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
        }
        CHECK(st == ASX_OK || st == ASX_E_RESOURCE_EXHAUSTED);
        if (worked)
            CHECK_STATUS(st, ASX_OK);
        worked |= st == ASX_OK;
        if (worked && size > 1 << 20)
            break;
    }
    CHECK(worked);
}

ASX_TEST(an_unaligned_block_is_as_good)
{
    unsigned n = 25;
    for (size_t off = 1; off < 64; off += 13) {
        asx_runtime_config config = static_config(ASX_PROFILE_EMBEDDED, ASX_CLOCK_VIRTUAL,
                                                  sizeof block - off);
        config.memory = block + off;
        CHECK_STATUS(kit_run(&config, rounds, &n), ASX_OK);
    }
}

/* ---- stacks come from the block ------------------------------------------------------------- */

static asx_status fills_stacks(asx_cx *cx, void *arg)
{
    asx_region r, q;
    unsigned *fitted = arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    while (asx_spawn(&r, "w", kit_waiter, NULL) == ASX_OK)
        ++*fitted;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK); /* a spawn has failed */
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK); /* every task that was admitted has a stack */
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    asx_stats stats = kit_stats(asx_cx_runtime(cx));
    CHECK_EQ(stats.tasks_live, *fitted + 1);
    CHECK_STATUS(asx_region_open(cx, NULL, &q), ASX_OK);
    CHECK_STATUS(asx_spawn(&q, "no", kit_returns, NULL), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_region_close(&q, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_region_close(&r, ASX_E_EMPTY), ASX_E_RESOURCE_EXHAUSTED);
    asx_region small;
    CHECK_STATUS(asx_region_open(cx, NULL, &small), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&small, kit_returns, NULL,
                                &(asx_spawn_options){ .stack_size = 4096 },
                                NULL), ASX_OK); /* there is one size, and it is enough */
    CHECK_STATUS(asx_region_close(&small, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &small), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&small, kit_returns, NULL,
                                &(asx_spawn_options){ .stack_size = 65536 },
                                NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&small, ASX_OK), ASX_E_INVALID_ARGUMENT);
    return ASX_OK;
}

ASX_TEST(every_fiber_that_is_admitted_has_a_stack_in_the_block)
{
    static const uint32_t ceilings[] = { 0, 5 };
    for (size_t i = 0; i < 2; i++) {
        unsigned fitted = 0;
        asx_runtime_config config = static_config(ASX_PROFILE_EMBEDDED, ASX_CLOCK_VIRTUAL,
                                                  600000);
        config.limits.stacks_max = ceilings[i];
        CHECK_STATUS(kit_run(&config, fills_stacks, &fitted), ASX_OK);
        if (ceilings[i] != 0)
            CHECK_EQ(fitted, ceilings[i] - 1);
        else
            CHECK_GE(fitted, 10u);
    }
}

ASX_TEST(the_block_can_be_used_again_after_destroy)
{
    unsigned n = 5;
    for (int i = 0; i < 20; i++) {
        asx_runtime_config config = static_config(ASX_PROFILE_FREESTANDING, ASX_CLOCK_VIRTUAL,
                                                  sizeof block);
        memset(block, i * 13, sizeof block); /* whatever it holds */
        CHECK_STATUS(kit_run(&config, rounds, &n), ASX_OK);
    }
}
