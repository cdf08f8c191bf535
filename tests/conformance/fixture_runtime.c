/* fixture_runtime.c - what needs two runs side by side, a failing system, or another tool. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <asx/asx_lab.h>

#define LABORATORY "in the laboratory, or with its clock"

/* ---- a program with something to schedule ---- */

typedef struct work {
    uint64_t hidden; /* not part of the program's input: a run that looks at it is not repeatable */
    bool look;
} work;

static asx_status spinner(asx_cx *cx, void *arg)
{
    work *w = arg;
    for (int i = 0; i < 5; i++) {
        asx_status st = asx_yield(cx);
        if (st < 0)
            return st;
    }
    return asx_trace_user(cx, 1, w->look ? w->hidden : 0);
}

static asx_status sleeper(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, ASX_MS);
}

static asx_status cancelled(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, ASX_SEC);
}

static asx_status program(asx_cx *cx, void *arg)
{
    asx_region_options options = { .name = "busy", .policy = ASX_POLICY_COLLECT };
    asx_budget timed = ASX_BUDGET_INFINITE;
    asx_spawn_options urgent = { .name = "urgent", .budget = &timed };
    asx_region r;
    asx_task victim;
    asx_status st = asx_region_open(cx, &options, &r);
    if (st < 0)
        return st;
    timed.deadline = 3600 * ASX_SEC;
    for (int i = 0; i < 6; i++)
        (void)asx_spawn(&r, "spinner", spinner, arg);
    (void)asx_spawn(&r, "sleeper", sleeper, arg);
    (void)asx_spawn_task(&r, spinner, arg, &urgent, NULL);
    (void)asx_spawn_task(&r, cancelled, arg, NULL, &victim);
    st = asx_yield(cx);
    if (st >= 0)
        st = asx_task_cancel(&victim, NULL);
    return asx_region_close(&r, st);
}

typedef struct buffer {
    unsigned char bytes[1 << 16];
    size_t len;
} buffer;

static asx_status keep(void *ctx, const void *bytes, size_t len)
{
    buffer *b = ctx;
    if (len > sizeof(b->bytes) - b->len)
        return ASX_E_RESOURCE_EXHAUSTED;
    memcpy(b->bytes + b->len, bytes, len);
    b->len += len;
    return ASX_OK;
}

static asx_lab_result lab(uint64_t seed, work *w, buffer *trace)
{
    asx_lab_result result;
    asx_lab_options options = { .seed = seed, .program = "fixture" };
    if (trace != NULL) {
        trace->len = 0;
        options.sink = keep;
        options.sink_ctx = trace;
    }
    FIX_STATUS(asx_lab_run(program, w, &options, &result), ASX_OK);
    FIX_STATUS(result.status, ASX_OK);
    return result;
}

/* ---- certificates ---- */

ASX_FIXTURE_ONE("sc-certificate-001", LABORATORY)
{
    work w = { 0 };
    asx_lab_result a = lab(3, &w, NULL), b = lab(3, &w, NULL);
    FIX_EQ(a.digest, b.digest);
    FIX_EQ(a.certificate.hash, b.certificate.hash);
    FIX(memcmp(&a.certificate, &b.certificate, sizeof(a.certificate)) == 0);
    FIX(a.certificate.ready_dispatches > 0);
    FIX(a.certificate.timed_dispatches > 0);
    FIX(a.certificate.cancel_dispatches > 0);
}

static asx_status nothing(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_yield(cx);
}

/* Equal runs, equal hashes; and the hash is not the same for everybody. */
ASX_FIXTURE_ONE("INV-SC-06", LABORATORY)
{
    asx_lab_options options = { .program = "other" };
    asx_lab_result other;
    work w = { 0 };
    FIX_STATUS(asx_lab_run(nothing, NULL, &options, &other), ASX_OK);
    for (uint64_t seed = 0; seed < 8; seed++) {
        asx_lab_result a = lab(seed, &w, NULL), b = lab(seed, &w, NULL);
        FIX_EQ(a.digest, b.digest);
        FIX_EQ(a.certificate.hash, b.certificate.hash);
        FIX(a.certificate.hash != other.certificate.hash);
    }
}

/* ---- determinism ---- */

/* A program that looks at something outside itself is caught at the event where it shows. */
ASX_FIXTURE_ONE("FB-015", LABORATORY)
{
    static buffer trace;
    asx_lab_options options = { .program = "fixture" };
    asx_lab_result again;
    work w = { .hidden = 1, .look = true };
    asx_lab_result first = lab(5, &w, &trace);
    w.hidden = 2;
    asx_lab_result second = lab(5, &w, NULL);
    FIX(first.digest != second.digest);
    FIX_STATUS(asx_lab_replay(program, &w, trace.bytes, trace.len, &options, &again), ASX_OK);
    FIX_STATUS(again.status, ASX_E_DIVERGED);
    FIX(again.divergence.diverged);
    FIX_EQ(again.divergence.recorded.kind, ASX_EVENT_USER);
    FIX_EQ(again.divergence.recorded.a, 1);
    FIX_EQ(again.divergence.actual.a, 2);
    FIX_EQ(again.divergence.recorded.seq, again.divergence.actual.seq);
    w.hidden = 1;
    FIX_STATUS(asx_lab_replay(program, &w, trace.bytes, trace.len, &options, &again), ASX_OK);
    FIX_STATUS(again.status, ASX_OK);
    FIX_EQ(again.digest, first.digest);
}

/* ---- a full journal ---- */

static asx_runtime *traced(uint64_t events_max, asx_trace_overflow overflow)
{
    asx_runtime *rt = NULL;
    work w = { 0 };
    asx_runtime_config config = { .lab = true,
                                  .trace = true,
                                  .trace_events_max = events_max,
                                  .trace_overflow = overflow };
    FIX_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    FIX_STATUS(asx_runtime_run(rt, program, &w), ASX_OK);
    return rt;
}

static asx_trace_reader read_back(asx_runtime *rt, buffer *trace)
{
    asx_trace_reader reader;
    trace->len = 0;
    FIX_STATUS(asx_runtime_trace_write(rt, keep, trace), ASX_OK);
    FIX_STATUS(asx_trace_reader_init(&reader, trace->bytes, trace->len), ASX_OK);
    return reader;
}

ASX_FIXTURE_ONE("FB-104", LABORATORY)
{
    static buffer trace;
    asx_event event;
    asx_runtime *whole = traced(0, ASX_TRACE_REFUSE);
    asx_runtime *refuse = traced(20, ASX_TRACE_REFUSE);
    asx_runtime *ring = traced(20, ASX_TRACE_OVERWRITE);
    FIX_STATUS(asx_runtime_trace_status(whole), ASX_OK);
    FIX_STATUS(asx_runtime_trace_status(refuse), ASX_E_RESOURCE_EXHAUSTED);
    FIX_STATUS(asx_runtime_trace_status(ring), ASX_OK);
    /* The run is the same, and so is its digest: it covers what was not kept. */
    FIX_EQ(asx_runtime_digest(refuse), asx_runtime_digest(whole));
    FIX_EQ(asx_runtime_digest(ring), asx_runtime_digest(whole));
    asx_trace_reader reader = read_back(whole, &trace);
    uint64_t total = reader.events_total;
    FIX_EQ(reader.event_count, total);
    FIX(total > 20);
    /* One keeps the first twenty, the other the last. */
    reader = read_back(refuse, &trace);
    FIX_EQ(reader.event_count, 20);
    FIX_EQ(reader.events_total, total);
    FIX_STATUS(asx_trace_reader_next(&reader, &event), ASX_OK);
    FIX_EQ(event.seq, 1);
    reader = read_back(ring, &trace);
    FIX_EQ(reader.event_count, 20);
    FIX_EQ(reader.events_total, total);
    FIX_STATUS(asx_trace_reader_next(&reader, &event), ASX_OK);
    FIX_EQ(event.seq, total - 19);
    FIX_STATUS(asx_runtime_destroy(whole), ASX_OK);
    FIX_STATUS(asx_runtime_destroy(refuse), ASX_OK);
    FIX_STATUS(asx_runtime_destroy(ring), ASX_OK);
}

/* ---- a task that cannot begin ---- */

typedef struct seen {
    uint64_t task;
    unsigned created_completed, running;
    uint64_t outcome, status;
} seen;

static void watch(void *ctx, const asx_event *event)
{
    seen *s = ctx;
    if (event->kind == ASX_EVENT_TASK_SPAWN)
        *s = (seen){ .task = event->object };
    if (event->kind == ASX_EVENT_TASK_STATE && event->object == s->task) {
        s->created_completed += event->a == ASX_TASK_CREATED && event->b == ASX_TASK_COMPLETED;
        s->running += event->b == ASX_TASK_RUNNING;
    }
    if (event->kind == ASX_EVENT_TASK_COMPLETE && event->object == s->task) {
        s->outcome = event->a;
        s->status = event->b;
    }
}

static asx_status never_runs(asx_cx *cx, void *arg)
{
    (void)cx;
    *(bool *)arg = true;
    return ASX_OK;
}

/* The address space ends before there is a stack of eight MiB. */
static struct rlimit tighten(void)
{
    struct rlimit before, now;
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    FIX(statm != NULL && fscanf(statm, "%lu", &pages) == 1);
    (void)fclose(statm);
    FIX(getrlimit(RLIMIT_AS, &before) == 0);
    now = before;
    now.rlim_cur = (rlim_t)pages * 4096 + ((rlim_t)2 << 20);
    FIX(setrlimit(RLIMIT_AS, &now) == 0);
    return before;
}

/* Emulators do not keep the limit; there only the table can be asked. */
static bool limit_is_kept(void)
{
    struct rlimit before = tighten();
    void *probe = mmap(NULL, (size_t)8 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FIX(setrlimit(RLIMIT_AS, &before) == 0);
    if (probe != MAP_FAILED)
        (void)munmap(probe, (size_t)8 << 20);
    return probe == MAP_FAILED;
}

static asx_status spawns_it(asx_cx *cx, void *arg)
{
    asx_spawn_options options = { .name = "big", .stack_size = (size_t)8 << 20 };
    asx_region_options collect = { .name = "r", .policy = ASX_POLICY_COLLECT };
    asx_join_result result;
    asx_region r;
    asx_task t;
    asx_status st = asx_region_open(cx, &collect, &r);
    if (st < 0)
        return st;
    struct rlimit before = tighten();
    FIX_STATUS(asx_spawn_task(&r, never_runs, arg, &options, &t), ASX_OK);
    st = asx_join(cx, &t, &result);
    FIX(setrlimit(RLIMIT_AS, &before) == 0);
    FIX_STATUS(st, ASX_OK);
    FIX_EQ(result.outcome.kind, ASX_OUTCOME_ERR);
    FIX_STATUS(result.outcome.status, ASX_E_RESOURCE_EXHAUSTED);
    FIX_STATUS(asx_region_close(&r, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    return ASX_OK;
}

/* A task that was admitted and then gets no stack ends Err without ever having run. */
ASX_FIXTURE("task-lifecycle-005")
{
    asx_runtime *rt = NULL;
    asx_runtime_config config = { .trace = true, .workers = cli_fixture_workers() };
    bool ran = false;
    seen s = { 0 };
    FIX_STATUS(asx_task_transition_legal(ASX_TASK_CREATED, ASX_TASK_COMPLETED), ASX_OK);
    if (!limit_is_kept())
        return;
    FIX_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    FIX_STATUS(asx_runtime_observe(rt, watch, &s), ASX_OK);
    FIX_STATUS(asx_runtime_run(rt, spawns_it, &ran), ASX_OK);
    FIX(!ran);
    FIX_EQ(s.created_completed, 1);
    FIX_EQ(s.running, 0);
    FIX_EQ(s.outcome, ASX_OUTCOME_ERR);
    FIX_EQ(s.status, (uint64_t)(int64_t)ASX_E_RESOURCE_EXHAUSTED);
    FIX_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- the lint ---- */

static void note_line(void *ctx, unsigned line, const char *function)
{
    (void)function;
    *(unsigned *)ctx = line;
}

ASX_FIXTURE_ONE("FB-203", "about a source: nothing runs in it")
{
    static const char bad[] = "static asx_status spin(asx_cx *cx, void *arg)\n"
                              "{\n"
                              "    struct job *job = arg;\n"
                              "    while (!job->done)\n"
                              "        compute(job);\n"
                              "    return asx_checkpoint(cx);\n"
                              "}\n";
    static const char good[] = "static asx_status spin(asx_cx *cx, void *arg)\n"
                               "{\n"
                               "    struct job *job = arg;\n"
                               "    while (!job->done) {\n"
                               "        asx_status st = asx_checkpoint(cx);\n"
                               "        if (st < 0)\n"
                               "            return st;\n"
                               "        compute(job);\n"
                               "    }\n"
                               "    return ASX_OK;\n"
                               "}\n";
    unsigned line = 0;
    FIX_EQ(cli_lint_text(bad, sizeof(bad) - 1, note_line, &line), 1);
    FIX_EQ(line, 4);
    FIX_EQ(cli_lint_text(good, sizeof(good) - 1, note_line, &line), 0);
}

/* ---- ghosts ---- */

static int shared_thing;

/* Borrows the message behind an ack, waits, and looks at it; the good one copies it first. */
static asx_status keep_borrowed(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_ack ack;
    int message = 7;
    FIX_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    FIX_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &tx, &rx), ASX_OK);
    FIX_STATUS(asx_channel_send(cx, &tx, &message), ASX_OK);
    FIX_STATUS(asx_channel_recv_with_ack(cx, &rx, &message, &ack), ASX_OK);
    FIX_STATUS(asx_ghost_borrow(cx, &ack, ASX_GHOST_OBLIGATION), ASX_OK);
    if (*(bool *)arg)
        FIX_STATUS(asx_ghost_return(cx, &ack), ASX_OK);
    FIX_STATUS(asx_yield(cx), ASX_OK);
    if (!*(bool *)arg)
        FIX_STATUS(asx_ghost_return(cx, &ack), ASX_OK);
    FIX_STATUS(asx_ack_commit(&ack), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static asx_status write_thing(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_ghost_touch(cx, &shared_thing, true);
}

static asx_status write_shared(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task writer;
    bool good = *(bool *)arg;
    FIX_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    FIX_STATUS(asx_spawn_task(&r, write_thing, NULL, NULL, &writer), ASX_OK);
    FIX_STATUS(asx_ghost_borrow(cx, &shared_thing, ASX_GHOST_SHARED), ASX_OK);
    if (good)
        FIX_STATUS(asx_ghost_return(cx, &shared_thing), ASX_OK);
    FIX_STATUS(asx_join(cx, &writer, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static asx_status write_owned(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task writer;
    bool good = *(bool *)arg;
    FIX_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    FIX_STATUS(asx_spawn_task(&r, write_thing, NULL, NULL, &writer), ASX_OK);
    FIX_STATUS(asx_ghost_adopt(cx, &shared_thing), ASX_OK);
    if (good)
        FIX_STATUS(asx_ghost_transfer(cx, &shared_thing, &writer), ASX_OK);
    FIX_STATUS(asx_join(cx, &writer, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

/* The good program passes, the bad one is complained of by the oracle. */
static void judged(asx_task_fn fn, asx_oracle oracle)
{
    asx_lab_options options = { .program = "ghosts" };
    asx_lab_result result;
    bool good = true;
    FIX_STATUS(asx_lab_run(fn, &good, &options, &result), ASX_OK);
    FIX_STATUS(result.status, ASX_OK);
    FIX_EQ(result.complaint.oracle, ASX_ORACLE_NONE);
    good = false;
    FIX_STATUS(asx_lab_run(fn, &good, &options, &result), ASX_OK);
    FIX_STATUS(result.status, ASX_E_ORACLE);
    FIX_EQ(result.complaint.oracle, oracle);
}

ASX_FIXTURE_ONE("FB-200", LABORATORY)
{
    judged(keep_borrowed, ASX_ORACLE_BORROW);
}

ASX_FIXTURE_ONE("FB-201", LABORATORY)
{
    judged(write_shared, ASX_ORACLE_BORROW);
}

/* In the laboratory each task counts as a thread. */
ASX_FIXTURE_ONE("FB-202", LABORATORY)
{
    judged(write_owned, ASX_ORACLE_AFFINITY);
}
