/* test_lab.c - lab runs: repeatable by seed, the same on every profile, replayed event by event,
 * and stopped at the first event that differs. Each law that a live runtime can keep too has its
 * twin here. */
#include <asx/lab.h>

#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* ---- a program whose order depends on the schedule ---- */

enum { WORKERS = 8, ROUNDS = 4 };

typedef struct journal {
    unsigned char order[WORKERS * ROUNDS];
    size_t count;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    uint64_t sum;
    uint64_t twist; /* makes a run differ from the recorded one, from this worker on */
} journal;

typedef struct worker_arg {
    journal *log;
    unsigned char number;
} worker_arg;

static asx_status worker(asx_cx *cx, void *arg)
{
    worker_arg *w = arg;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t message = w->number;
        w->log->order[w->log->count++] = w->number;
        asx_status st = asx_channel_send(cx, &w->log->tx, &message);
        if (st >= 0)
            st = asx_yield(cx);
        if (st < 0)
            return st;
    }
    if (w->log->twist != 0 && w->number >= w->log->twist)
        return asx_trace_user(cx, 7, w->number);
    return ASX_OK;
}

static asx_status reader(asx_cx *cx, void *arg)
{
    journal *log = arg;
    for (int i = 0; i < WORKERS * ROUNDS; i++) {
        uint64_t message = 0;
        asx_status st = asx_channel_recv(cx, &log->rx, &message);
        if (st < 0)
            return st;
        log->sum += message;
    }
    return asx_sleep(cx, ASX_MS);
}

static asx_status program(asx_cx *cx, void *arg)
{
    journal *log = arg;
    worker_arg args[WORKERS];
    asx_region_options options = { .name = "lab" };
    asx_region r;
    asx_status st = asx_region_open(cx, &options, &r);
    if (st < 0)
        return st;
    (void)asx_channel_create(&r, sizeof(uint64_t), 3, NULL, &log->tx, &log->rx);
    for (unsigned char i = 0; i < WORKERS; i++) {
        args[i] = (worker_arg){ log, (unsigned char)(i + 1) };
        (void)asx_spawn(&r, "worker", worker, &args[i]);
    }
    (void)asx_spawn(&r, "reader", reader, log);
    return asx_region_close(&r, ASX_OK);
}

typedef struct buffer {
    unsigned char *bytes;
    size_t len, cap;
    asx_status fail; /* < 0: said by every call */
} buffer;

static asx_status keep(void *ctx, const void *bytes, size_t len)
{
    buffer *b = ctx;
    if (b->fail < 0)
        return b->fail;
    if (b->cap - b->len < len) {
        b->cap = (b->cap + len) * 2;
        b->bytes = realloc(b->bytes, b->cap);
        CHECK(b->bytes != NULL);
    }
    memcpy(b->bytes + b->len, bytes, len);
    b->len += len;
    return ASX_OK;
}

static asx_lab_result run(uint64_t seed, const asx_runtime_config *base, journal *log,
                          buffer *trace)
{
    asx_lab_result result;
    asx_lab_options options = { .seed = seed, .program = "test", .base = base };
    if (trace != NULL) {
        options.sink = keep;
        options.sink_ctx = trace;
    }
    CHECK_STATUS(asx_lab_run(program, log, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_EQ(log->count, (size_t)WORKERS * ROUNDS);
    CHECK_EQ(log->sum, (uint64_t)ROUNDS * WORKERS * (WORKERS + 1) / 2);
    return result;
}

/* ---- laws ---- */

ASX_TEST(the_same_seed_gives_the_same_run)
{
    for (uint64_t seed = 0; seed < 10; seed++) {
        journal a = { .count = 0 }, b = { .count = 0 };
        asx_lab_result ra = run(seed, NULL, &a, NULL), rb = run(seed, NULL, &b, NULL);
        CHECK_EQ(ra.digest, rb.digest);
        CHECK_EQ(ra.events, rb.events);
        CHECK_EQ(ra.certificate.hash, rb.certificate.hash);
        CHECK_MEM_EQ(a.order, b.order, sizeof(a.order));
    }
}

ASX_TEST(another_seed_gives_another_schedule)
{
    journal first = { .count = 0 };
    asx_lab_result r = run(1, NULL, &first, NULL);
    unsigned other_order = 0;
    for (uint64_t seed = 2; seed < 12; seed++) {
        journal log = { .count = 0 };
        CHECK_NE(run(seed, NULL, &log, NULL).digest, r.digest);
        other_order += memcmp(log.order, first.order, sizeof(log.order)) != 0;
    }
    CHECK_GE(other_order, 8);
}

ASX_TEST(seed_0_is_first_come_first_served)
{
    journal log = { .count = 0 };
    (void)run(0, NULL, &log, NULL);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ(log.order[i], i + 1);
}

/* The live twin: no seed, no virtual clock, the same order and the same sum. */
ASX_TEST(a_live_run_is_first_come_first_served_too)
{
    journal lab = { .count = 0 }, live = { .count = 0 };
    asx_runtime *rt = NULL;
    (void)run(0, NULL, &lab, NULL);
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, program, &live), ASX_OK);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(live.sum, lab.sum);
    CHECK_MEM_EQ(live.order, lab.order, sizeof(live.order));
}

ASX_TEST(every_profile_gives_the_same_digest)
{
    static char block[4 << 20];
    for (uint64_t seed = 0; seed < 4; seed++) {
        journal a = { .count = 0 }, b = { .count = 0 }, c = { .count = 0 };
        asx_runtime_config embedded = { .profile = ASX_PROFILE_EMBEDDED };
        asx_runtime_config bare = { .profile = ASX_PROFILE_FREESTANDING,
                                    .memory = block,
                                    .memory_size = sizeof(block) };
        uint64_t digest = run(seed, NULL, &a, NULL).digest;
        CHECK_EQ(run(seed, &embedded, &b, NULL).digest, digest);
        CHECK_EQ(run(seed, &bare, &c, NULL).digest, digest);
    }
}

static asx_status sleeps_a_year(asx_cx *cx, void *arg)
{
    uint64_t year = 365 * 24 * 3600 * ASX_SEC;
    (void)arg;
    asx_status st = asx_sleep(cx, year);
    return st < 0 ? st : asx_now(cx) == year ? ASX_OK : ASX_E_EXPECTATION;
}

ASX_TEST(time_is_virtual_and_costs_nothing)
{
    asx_lab_result result;
    asx_lab_options options = { .program = "sleep" };
    CHECK_STATUS(asx_lab_run(sleeps_a_year, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
}

/* ---- replay ---- */

static asx_lab_result replay(const buffer *trace, journal *log)
{
    asx_lab_result result;
    asx_lab_options options = { .seed = 99, .program = "test" }; /* the recorded seed counts */
    CHECK_STATUS(asx_lab_replay(program, log, trace->bytes, trace->len, &options, &result), ASX_OK);
    return result;
}

ASX_TEST(a_replay_of_the_same_program_is_the_same_run)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        journal a = { .count = 0 }, b = { .count = 0 };
        buffer trace = { .len = 0 };
        asx_lab_result first = run(seed, NULL, &a, &trace);
        asx_lab_result again = replay(&trace, &b);
        CHECK_STATUS(again.status, ASX_OK);
        CHECK(!again.divergence.diverged);
        CHECK_EQ(again.digest, first.digest);
        CHECK_MEM_EQ(a.order, b.order, sizeof(a.order));
        free(trace.bytes);
    }
}

static asx_event event_at(const buffer *trace, uint64_t seq)
{
    asx_trace_reader reader;
    asx_event event;
    CHECK_STATUS(asx_trace_reader_init(&reader, trace->bytes, trace->len), ASX_OK);
    do
        CHECK_STATUS(asx_trace_reader_next(&reader, &event), ASX_OK);
    while (event.seq < seq);
    return event;
}

/* The first difference of two traces, found without the replay. */
static uint64_t first_difference(const buffer *a, const buffer *b)
{
    asx_trace_reader ra, rb;
    asx_event ea, eb;
    CHECK_STATUS(asx_trace_reader_init(&ra, a->bytes, a->len), ASX_OK);
    CHECK_STATUS(asx_trace_reader_init(&rb, b->bytes, b->len), ASX_OK);
    for (;;) {
        CHECK_STATUS(asx_trace_reader_next(&ra, &ea), ASX_OK);
        CHECK_STATUS(asx_trace_reader_next(&rb, &eb), ASX_OK);
        if (memcmp(&ea, &eb, sizeof(ea)) != 0)
            return ea.seq;
    }
}

ASX_TEST(a_replay_stops_at_the_first_event_that_differs)
{
    for (uint64_t twist = 1; twist <= WORKERS; twist++) {
        journal a = { .count = 0 }, b = { .twist = twist }, c = { .twist = twist };
        buffer recorded = { .len = 0 }, other = { .len = 0 };
        (void)run(3, NULL, &a, &recorded);
        (void)run(3, NULL, &b, &other);
        uint64_t seq = first_difference(&recorded, &other);
        asx_lab_result again = replay(&recorded, &c);
        CHECK_STATUS(again.status, ASX_E_DIVERGED);
        CHECK(again.divergence.diverged);
        CHECK(!again.divergence.run_ended);
        CHECK_EQ(again.divergence.recorded.seq, seq);
        CHECK_EQ(again.divergence.actual.seq, seq);
        asx_event expected = event_at(&recorded, seq), actual = event_at(&other, seq);
        CHECK_MEM_EQ(&again.divergence.recorded, &expected, sizeof(expected));
        CHECK_MEM_EQ(&again.divergence.actual, &actual, sizeof(actual));
        free(recorded.bytes);
        free(other.bytes);
    }
}

/* The first event of a flight recorder is gone; the digest still covers it. */
static asx_status says_once_then_rests(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_trace_user(cx, 1, *(uint64_t *)arg), ASX_OK);
    for (int i = 0; i < 20; i++)
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_difference_in_an_event_that_the_recording_lost_is_told_apart)
{
    asx_runtime_config few = { .trace_events_max = 8, .trace_overflow = ASX_TRACE_OVERWRITE };
    asx_lab_options options = { .program = "lost", .base = &few, .sink = keep };
    for (int same = 0; same < 2; same++) {
        uint64_t one = 1, other = same ? 1 : 2;
        buffer trace = { .len = 0 };
        asx_lab_result result;
        options.sink_ctx = &trace;
        CHECK_STATUS(asx_lab_run(says_once_then_rests, &one, &options, &result), ASX_OK);
        options.sink_ctx = &(buffer){ .len = 0 };
        CHECK_STATUS(asx_lab_replay(says_once_then_rests, &other, trace.bytes, trace.len, &options,
                                    &result),
                     ASX_OK);
        CHECK_STATUS(result.status, same ? ASX_OK : ASX_E_DIVERGED);
        CHECK_EQ(result.divergence.diverged, !same);
        CHECK_EQ(result.divergence.in_lost_events, !same);
        CHECK(!result.divergence.recorded_ended && !result.divergence.run_ended);
        free(((buffer *)options.sink_ctx)->bytes);
        free(trace.bytes);
    }
}

ASX_TEST(a_trace_that_is_damaged_is_not_replayed)
{
    journal a = { .count = 0 }, b = { .count = 0 };
    buffer trace = { .len = 0 };
    asx_lab_result result = { .events = 77 };
    asx_lab_options options = { .program = "test" };
    (void)run(1, NULL, &a, &trace);
    trace.bytes[trace.len / 2] ^= 1;
    CHECK_STATUS(asx_lab_replay(program, &b, trace.bytes, trace.len, &options, &result),
                 ASX_E_TRACE_CORRUPT);
    CHECK_EQ(b.count, 0);
    CHECK_EQ(result.events, 77);
    CHECK_STATUS(asx_lab_replay(program, &b, trace.bytes, 3, &options, &result),
                 ASX_E_TRACE_CORRUPT);
    free(trace.bytes);
}

ASX_TEST(the_trace_names_its_program_and_counts_its_events)
{
    journal log = { .count = 0 };
    buffer trace = { .len = 0 };
    asx_trace_reader reader;
    asx_lab_result result = run(4, NULL, &log, &trace);
    CHECK_STATUS(asx_trace_reader_init(&reader, trace.bytes, trace.len), ASX_OK);
    CHECK_EQ(reader.program_len, 4);
    CHECK_MEM_EQ(reader.program, "test", 4);
    CHECK_EQ(reader.seed, 4);
    CHECK_EQ(reader.digest, result.digest);
    CHECK_EQ(reader.events_total, result.events);
    free(trace.bytes);
}

ASX_TEST(what_the_sink_says_is_returned)
{
    journal log = { .count = 0 };
    buffer trace = { .fail = ASX_E_SYSTEM };
    asx_lab_result result;
    asx_lab_options options = { .program = "test", .sink = keep, .sink_ctx = &trace };
    CHECK_STATUS(asx_lab_run(program, &log, &options, &result), ASX_E_SYSTEM);
}

/* ---- leaks ---- */

typedef struct leak_arg {
    bool allowed;
} leak_arg;

static asx_status leaks(asx_cx *cx, void *arg)
{
    asx_region_options options = { .name = "r", .leaks_allowed = ((leak_arg *)arg)->allowed };
    asx_region r;
    asx_obligation o;
    asx_status st = asx_region_open(cx, &options, &r);
    if (st < 0)
        return st;
    st = asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &o);
    return asx_region_close(&r, st);
}

ASX_TEST(a_leak_fails_a_lab_run_unless_its_region_allows_it)
{
    asx_lab_result result;
    asx_lab_options options = { .program = "leaks" };
    leak_arg arg = { .allowed = false };
    CHECK_STATUS(asx_lab_run(leaks, &arg, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_E_OBLIGATION_LEAKED);
    CHECK_EQ(result.leaks, 1);
    arg.allowed = true;
    CHECK_STATUS(asx_lab_run(leaks, &arg, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_EQ(result.leaks, 1);
}

/* The live twin: it is counted, and the run does not fail. */
ASX_TEST(a_leak_is_counted_by_a_live_runtime)
{
    asx_runtime *rt = NULL;
    asx_stats stats;
    leak_arg arg = { .allowed = false };
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, leaks, &arg), ASX_OK);
    CHECK_STATUS(asx_runtime_stats(rt, &stats), ASX_OK);
    CHECK_EQ(stats.obligations_leaked, 1);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- how a run can end ---- */

static asx_status waits_for_ever(asx_cx *cx, void *arg)
{
    journal *log = arg;
    asx_region r;
    uint64_t message;
    asx_status st = asx_cx_region(cx, &r);
    if (st < 0)
        return st;
    st = asx_channel_create(&r, sizeof(uint64_t), 1, NULL, &log->tx, &log->rx);
    return st < 0 ? st : asx_channel_recv(cx, &log->rx, &message);
}

ASX_TEST(a_deadlock_ends_the_run_and_says_so)
{
    asx_lab_result result;
    asx_lab_options options = { .program = "deadlock" };
    journal log = { .count = 0 };
    CHECK_STATUS(asx_lab_run(waits_for_ever, &log, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_E_DEADLOCK);
    CHECK(result.events > 0);
}

static asx_status fails(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_E_FULL;
}

ASX_TEST(the_status_of_the_run_is_that_of_the_program)
{
    asx_lab_result result;
    asx_lab_options options = { .program = "fails" };
    CHECK_STATUS(asx_lab_run(fails, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_E_FULL);
}

ASX_TEST(without_options_a_run_has_the_defaults)
{
    journal a = { .count = 0 }, b = { .count = 0 };
    buffer trace = { .len = 0 };
    asx_lab_options keeps = { .sink = keep, .sink_ctx = &trace };
    asx_lab_result result, same;
    CHECK_STATUS(asx_lab_run(program, &a, NULL, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_STATUS(asx_lab_run(program, &b, &keeps, &same), ASX_OK);
    CHECK_EQ(result.digest, same.digest);
    memset(&b, 0, sizeof b);
    CHECK_STATUS(asx_lab_replay(program, &b, trace.bytes, trace.len, NULL, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_EQ(result.digest, same.digest);
    free(trace.bytes);
}

ASX_TEST(bad_arguments_are_refused)
{
    asx_lab_result result;
    asx_lab_options options = { .program = "x" };
    asx_runtime_config bad = { .stack_size = 1 };
    CHECK_STATUS(asx_lab_run(NULL, NULL, &options, &result), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_run(fails, NULL, &options, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_replay(fails, NULL, NULL, 1, &options, &result), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_replay(NULL, NULL, "x", 1, &options, &result), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_replay(fails, NULL, "x", 1, &options, NULL), ASX_E_INVALID_ARGUMENT);
    options.base = &bad;
    CHECK_STATUS(asx_lab_run(fails, NULL, &options, &result), ASX_E_INVALID_ARGUMENT);
}
