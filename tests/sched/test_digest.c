/* The same program and seed: the same journal, on every profile and way of driving it. */
#include "support_kit.h"

#include <stdlib.h>
#include <string.h>

/* ---- a program with choices ----------------------------------------------------------------- */

typedef struct worker {
    asx_channel_sender *tx;
    uint32_t number;
} worker;

static asx_status works(asx_cx *cx, void *arg)
{
    worker *w = arg;
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_STATUS(asx_trace_user(cx, w->number, i), ASX_OK);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        if (i % 2)
            CHECK_STATUS(asx_sleep(cx, ASX_US * (1 + w->number % 3)), ASX_OK);
    }
    CHECK_STATUS(asx_channel_send(cx, w->tx, &w->number), ASX_OK);
    return w->number == 5 ? ASX_E_FULL : ASX_OK;
}

static asx_poll collects(asx_cx *cx, void *state)
{
    asx_channel_receiver *rx = state;
    uint32_t m;
    asx_status st;
    while ((st = asx_channel_recv(cx, rx, &m)) == ASX_OK)
        CHECK_STATUS(asx_trace_user(cx, 100, m), ASX_OK);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    CHECK_STATUS(st, ASX_E_DISCONNECTED);
    return ASX_POLL_READY;
}

static asx_status program(asx_cx *cx, void *arg)
{
    enum { N = 8 };
    asx_region r, q;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    worker w[N];
    asx_task idle;
    (void)arg;
    hush();
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(uint32_t), 2, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &q),
                 ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "c", collects, &rx), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_waiter, NULL, NULL, &idle), ASX_OK);
    for (uint32_t i = 0; i < N; i++) {
        w[i] = (worker){ &tx, i };
        CHECK_STATUS(asx_spawn(&q, "w", works, &w[i]), ASX_OK);
    }
    CHECK_STATUS(asx_region_close(&q, ASX_OK), ASX_E_FULL);
    CHECK_STATUS(asx_channel_sender_drop(&tx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&idle, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    return ASX_OK;
}

typedef struct run {
    uint64_t digest;
    uint64_t events;
    uint64_t user[64]; /* code << 32 | value, in order */
    size_t user_len;
    asx_fairness_certificate cert;
} run;

static void record(void *ctx, const asx_event *event)
{
    run *r = ctx;
    r->events++;
    if (event->kind == ASX_EVENT_USER) {
        CHECK(r->user_len < 64);
        r->user[r->user_len++] = event->object << 32 | event->a;
    }
}

static run run_with(asx_runtime_config config, uint64_t steps)
{
    asx_runtime *rt;
    run r;
    asx_status st;
    memset(&r, 0, sizeof r);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_observe(rt, record, &r), ASX_OK);
    if (steps == 0) {
        st = asx_runtime_run(rt, program, NULL);
    } else {
        asx_time next;
        CHECK_STATUS(asx_runtime_start(rt, program, NULL), ASX_OK);
        while ((st = asx_runtime_step(rt, steps, &next)) == ASX_E_WOULD_BLOCK)
            if (next > asx_runtime_now(rt))
                CHECK_STATUS(asx_runtime_advance(rt, next - asx_runtime_now(rt)), ASX_OK);
    }
    CHECK_STATUS(st, ASX_OK);
    r.digest = asx_runtime_digest(rt);
    CHECK_STATUS(asx_runtime_certificate(rt, &r.cert), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return r;
}

static asx_runtime_config lab(uint64_t seed)
{
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.lab = true;
    config.seed = seed;
    return config;
}

ASX_TEST(the_same_seed_gives_the_same_digest_and_certificate)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        run a = run_with(lab(seed), 0);
        run b = run_with(lab(seed), 0);
        CHECK_EQ(a.digest, b.digest);
        CHECK_EQ(a.events, b.events);
        CHECK_MEM_EQ(&a.cert, &b.cert, sizeof a.cert);
        CHECK_NE(a.digest, 0);
    }
}

/* ---- profiles and memory -------------------------------------------------------------------- */

ASX_TEST(the_digest_is_the_same_in_all_profiles)
{
    static _Alignas(64) char block[4 << 20];
    for (uint64_t seed = 0; seed < 5; seed++) {
        uint64_t digest = run_with(lab(seed), 0).digest;
        asx_runtime_config config = lab(seed);
        config.profile = ASX_PROFILE_EMBEDDED;
        config.stack_size = 32768;
        CHECK_EQ(run_with(config, 0).digest, digest);
        config.profile = ASX_PROFILE_FREESTANDING;
        config.memory = block;
        config.memory_size = sizeof block;
        CHECK_EQ(run_with(config, 0).digest, digest);
        kit_heap heap = { 0 };
        config = lab(seed);
        config.allocator = kit_allocator(&heap);
        CHECK_EQ(run_with(config, 0).digest, digest);
    }
}

/* ---- other seeds ---------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

ASX_TEST(other_seeds_give_other_schedules_of_the_same_events)
{
    run first = run_with(lab(1), 0);
    uint64_t sorted[64];
    unsigned different = 0, digests = 0;
    memcpy(sorted, first.user, sizeof sorted);
    qsort(sorted, first.user_len, sizeof *sorted, by_value);
    for (uint64_t seed = 2; seed < 30; seed++) {
        run other = run_with(lab(seed), 0);
        different += memcmp(first.user, other.user, sizeof first.user) != 0;
        digests += first.digest != other.digest;
        CHECK_EQ(other.user_len, first.user_len);
        qsort(other.user, other.user_len, sizeof *other.user, by_value);
        CHECK_MEM_EQ(other.user, sorted, sizeof sorted); /* as a set they are the same */
    }
    CHECK_GE(different, 20u);
    CHECK_GE(digests, 27u); /* the seed itself is in the journal */
}

ASX_TEST(without_a_seed_equals_run_in_order_of_arrival)
{
    asx_runtime_config traced = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    traced.trace = true;
    run a = run_with(lab(0), 0), b = run_with(traced, 0);
    CHECK_MEM_EQ(a.user, b.user, sizeof a.user);
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* The order does not depend on who drives; only the clock's own events differ by who moves it. */
ASX_TEST(a_run_in_steps_does_the_same_in_the_same_order)
{
    static const uint64_t steps[] = { 1, 2, 7, 64, 1000 };
    run whole = run_with(lab(3), 0);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        run stepped = run_with(lab(3), steps[i]);
        CHECK_MEM_EQ(stepped.user, whole.user, sizeof whole.user);
        CHECK_EQ(stepped.digest, whole.digest);
    }
}

/* ---- replay --------------------------------------------------------------------------------- */

typedef struct bytes {
    unsigned char *data;
    size_t len;
} bytes;

static asx_status keep(void *ctx, const void *data, size_t len)
{
    bytes *b = ctx;
    b->data = realloc(b->data, b->len + len);
    CHECK(b->data != NULL);
    memcpy(b->data + b->len, data, len);
    b->len += len;
    return ASX_OK;
}

static bytes trace_of(uint64_t seed)
{
    asx_runtime *rt;
    bytes b = { NULL, 0 };
    asx_runtime_config config = lab(seed);
    config.program = "test";
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, program, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_trace_write(rt, keep, &b), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return b;
}

static asx_status replay(uint64_t seed, bytes recorded, bool steps, asx_divergence *ret)
{
    asx_runtime *rt;
    asx_trace_reader reader;
    asx_status st;
    asx_runtime_config config = lab(seed);
    CHECK_STATUS(asx_trace_reader_init(&reader, recorded.data, recorded.len), ASX_OK);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_replay(rt, &reader), ASX_OK);
    if (!steps) {
        st = asx_runtime_run(rt, program, NULL);
    } else {
        CHECK_STATUS(asx_runtime_start(rt, program, NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_replay(rt, &reader), ASX_E_INVALID_TRANSITION);
        asx_time next;
        while ((st = asx_runtime_step(rt, 5, &next)) == ASX_E_WOULD_BLOCK)
            if (next > asx_runtime_now(rt))
                CHECK_STATUS(asx_runtime_advance(rt, next - asx_runtime_now(rt)), ASX_OK);
    }
    CHECK_STATUS(asx_runtime_divergence(rt, ret), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return st;
}

ASX_TEST(a_recorded_run_is_replayed_and_another_one_diverges)
{
    bytes recorded = trace_of(7);
    asx_divergence d;
    for (int steps = 0; steps < 2; steps++) {
        CHECK_STATUS(replay(7, recorded, steps != 0, &d), ASX_OK);
        CHECK(!d.diverged);
        CHECK_STATUS(replay(8, recorded, steps != 0, &d), ASX_E_DIVERGED);
        CHECK(d.diverged);
        CHECK_EQ(d.recorded.seq, d.actual.seq);
    }
    free(recorded.data);
}
