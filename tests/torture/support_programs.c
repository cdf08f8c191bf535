#include "support_programs.h"

#include <stdio.h>
#include <string.h>

torture_tally tally;
bool torture_system;

/* ---- accounts ------------------------------------------------------------------------------- */

static asx_status got_at(asx_status st, const char *text, int line)
{
    switch ((int)st) {
    case ASX_E_RESOURCE_EXHAUSTED:
        tally.refused++;
        return st;
    case ASX_OK:
    case ASX_E_CANCELLED:    /* a failed set-up cancels what it started */
    case ASX_E_DISCONNECTED: /* ... and takes its channels with it */
    case ASX_E_STALE_HANDLE: /* ... and what never was made is not there */
    case ASX_E_REGION_NOT_OPEN: /* ... and what a cancelled task opens is closing from the start */
    case ASX_E_WOULD_BLOCK:
    case ASX_E_TIMEOUT:
    case ASX_E_FULL:
        return st;
    case ASX_E_SYSTEM:
        tally.refused++;
        if (torture_system)
            return st;
        break;
    default:
        break;
    }
    asx_test_fail(__FILE__, line, "%s gave %s", text, asx_status_str(st));
}
#define got(expr_) got_at((expr_), #expr_, __LINE__)

/* A call that has no other way to fail than to be refused. */
static asx_status just_at(asx_status st, const char *text, int line)
{
    if (st == ASX_E_RESOURCE_EXHAUSTED)
        tally.refused++;
    else if (st != ASX_OK)
        asx_test_fail(__FILE__, line, "%s gave %s", text, asx_status_str(st));
    return st;
}
#define just(expr_) just_at((expr_), #expr_, __LINE__)

static uint64_t next_message;

static uint64_t fresh_message(void)
{
    CHECK(next_message < MESSAGES_MAX);
    CHECK_EQ(tally.message[next_message], 0);
    tally.message[next_message] = 1; /* it may be received before its sender goes on */
    return next_message++;
}

static asx_status note_sent(asx_status st, uint64_t message)
{
    if (st == ASX_OK) {
        tally.sent++;
    } else {
        CHECK_EQ(tally.message[message], 1); /* nobody has got what was not sent */
        tally.message[message] = 0;
    }
    return st;
}

static void note_gone(uint64_t message, uint64_t *count)
{
    CHECK(message < MESSAGES_MAX);
    CHECK_EQ(tally.message[message], 1);
    tally.message[message]++;
    (*count)++;
}

static void on_drop(void *ctx, void *message)
{
    (void)ctx;
    note_gone(*(uint64_t *)message, &tally.dropped);
}

static asx_status keep(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    tally.kept++;
    return ASX_OK;
}

static asx_status promise(asx_status st)
{
    if (st == ASX_OK)
        tally.promised++;
    return st;
}

/* ---- regions -------------------------------------------------------------------------------- */

static asx_status sleeper(asx_cx *cx, void *arg)
{
    return got(asx_sleep(cx, *(uint64_t *)arg));
}

/* Finalizers for which there is no stack run on the runtime's side and cannot wait. */
static asx_status keep_slowly(asx_cx *cx, void *arg)
{
    (void)arg;
    tally.kept++;
    asx_status st = asx_sleep(cx, 5);
    return st == ASX_E_WRONG_CONTEXT ? ASX_OK : got(st);
}

static asx_status acquire(asx_cx *cx, void *arg)
{
    asx_status st = got(asx_obligation_reserve(arg, ASX_OBLIGATION_KIND_LEASE,
                                                (asx_obligation *)((asx_region *)arg + 1)));
    (void)cx;
    if (st == ASX_OK)
        tally.promised++;
    return st;
}

static asx_status use(asx_cx *cx, void *arg)
{
    (void)arg;
    return got(asx_sleep(cx, 3));
}

static asx_status release(asx_cx *cx, void *arg)
{
    (void)cx;
    CHECK_STATUS(asx_obligation_commit((asx_obligation *)((asx_region *)arg + 1)), ASX_OK);
    tally.kept++;
    return ASX_OK;
}

typedef struct lease {
    asx_region region;
    asx_obligation obligation;
} lease;

static asx_status nested(asx_cx *cx, void *arg)
{
    unsigned depth = *(unsigned *)arg;
    static const uint64_t nap = 7, long_nap = 1000;
    asx_region_options options = { .name = "nested", .timeout_ns = depth == 0 ? 50 : 0 };
    asx_region region;
    void *memory;
    asx_obligation plain;
    got(promise(asx_task_defer(cx, keep, NULL)));
    asx_status st = got(asx_region_open(cx, &options, &region));
    got(promise(asx_defer(&region, keep_slowly, NULL)));
    got(promise(asx_defer(&region, keep, NULL)));
    if (got(asx_region_alloc(&region, 3000, &memory)) == ASX_OK)
        memset(memory, 1, 3000);
    got(asx_spawn(&region, "nap", sleeper, (void *)(uintptr_t)&nap));
    if (depth != 0) {
        unsigned below = depth - 1;
        got(asx_spawn_copy(&region, "below", nested, &below, sizeof below));
    } else {
        got(asx_spawn(&region, "late", sleeper, (void *)(uintptr_t)&long_nap));
    }
    if (st == ASX_OK) {
        lease held = { region, { NULL, { 0, 0 } } };
        got(asx_bracket(cx, acquire, use, release, &held));
        if (got(asx_obligation_reserve(&region, ASX_OBLIGATION_KIND_PLAIN, &plain)) == ASX_OK)
            CHECK_STATUS(asx_obligation_abort(&plain), ASX_OK);
    }
    asx_close_report report;
    st = got(asx_region_close_with(&region, ASX_OK, NULL, &report));
    asx_close_report_deinit(&report);
    return st == ASX_E_TIMEOUT ? ASX_OK : st;
}

static asx_status regions(asx_cx *cx, void *arg)
{
    unsigned depth = 3;
    (void)arg;
    return nested(cx, &depth);
}

/* ---- channels ------------------------------------------------------------------------------- */

typedef struct pipe {
    asx_channel_sender sender;
    asx_channel_receiver receiver;
    unsigned left;  /* of the poll producer */
    uint64_t message;
    bool pending;
} pipe;

/* Each round sends in another way. */
static asx_status produce_one(asx_cx *cx, pipe *p, unsigned i)
{
    uint64_t message = fresh_message(), evicted = 0;
    bool did_evict = false;
    asx_send_permit permit;
    asx_tracked_permit tracked;
    asx_committed_proof proof;
    asx_aborted_proof aborted;
    asx_status st;
    switch (i % 5) {
    case 0:
        return note_sent(got(asx_channel_send(cx, &p->sender, &message)), message);
    case 1:
        st = got(asx_channel_reserve(cx, &p->sender, &permit));
        if (st == ASX_OK)
            st = got(asx_send_permit_send(&permit, &message));
        return note_sent(st, message);
    case 2:
        st = got(asx_channel_reserve_tracked(cx, &p->sender, &tracked));
        if (st == ASX_OK)
            st = got(asx_tracked_permit_send(&tracked, &message, &proof));
        return note_sent(st, message);
    case 3:
        st = got(asx_channel_send_evict_oldest(cx, &p->sender, &message, &evicted, &did_evict));
        note_sent(st, message);
        if (st == ASX_OK && did_evict)
            note_gone(evicted, &tally.returned);
        return st == ASX_E_FULL ? ASX_OK : st;
    default:
        note_sent(ASX_E_WOULD_BLOCK, message);
        st = got(asx_channel_reserve_tracked(cx, &p->sender, &tracked));
        return st < 0 ? st : got(asx_tracked_permit_abort(&tracked, &aborted));
    }
}

static asx_status producer(asx_cx *cx, void *arg)
{
    pipe p = *(pipe *)arg;
    asx_status st = got(asx_channel_sender_clone(&((pipe *)arg)->sender, &p.sender));
    for (unsigned i = 0; i < 10 && st == ASX_OK; i++)
        st = produce_one(cx, &p, i);
    if (p.sender.generation_ != ((pipe *)arg)->sender.generation_ ||
        p.sender.sender_ != ((pipe *)arg)->sender.sender_)
        got(asx_channel_sender_drop(&p.sender));
    return st == ASX_E_DISCONNECTED ? ASX_OK : st;
}

static asx_poll poll_producer(asx_cx *cx, void *state)
{
    pipe *p = state;
    while (p->left != 0) {
        if (!p->pending)
            p->message = fresh_message();
        p->pending = true;
        asx_status st = got(asx_channel_send(cx, &p->sender, &p->message));
        if (st == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        note_sent(st, p->message);
        p->pending = false;
        p->left--;
        if (st < 0)
            return asx_poll_fail(cx, st);
    }
    return ASX_POLL_READY;
}

/* Takes with and without acknowledgement; gives one back now and then. */
static asx_status consumer(asx_cx *cx, void *arg)
{
    pipe *p = arg;
    asx_status st = ASX_OK;
    for (unsigned i = 0; st == ASX_OK; i++) {
        uint64_t message = 0;
        asx_ack ack;
        if (i % 2 == 0) {
            st = got(asx_channel_recv(cx, &p->receiver, &message));
            if (st == ASX_OK)
                note_gone(message, &tally.received);
            continue;
        }
        st = got(asx_channel_recv_with_ack(cx, &p->receiver, &message, &ack));
        if (st == ASX_OK && i % 6 == 1) {
            got(asx_ack_nack(&ack));
        } else if (st == ASX_OK) {
            got(asx_yield(cx));
            if (got(asx_ack_commit(&ack)) == ASX_OK)
                note_gone(message, &tally.received);
        }
    }
    return st == ASX_E_DISCONNECTED ? ASX_OK : st;
}

/* A scope of its own for the senders: when they have ended, the last sender is dropped. */
static asx_status produce_all(asx_cx *cx, pipe *p)
{
    asx_region region;
    got(asx_region_open(cx, &(asx_region_options){ .name = "senders" }, &region));
    for (unsigned i = 0; i < 3; i++)
        got(asx_spawn(&region, "producer", producer, p));
    p->left = 8;
    got(asx_spawn_poll(&region, "poller", poll_producer, p));
    asx_status st = got(asx_region_close(&region, ASX_OK));
    got(asx_channel_sender_drop(&p->sender));
    return st;
}

static asx_status channels(asx_cx *cx, void *arg)
{
    static pipe p;
    asx_region region;
    asx_channel_options options = { "messages", on_drop, NULL };
    (void)arg;
    memset(&p, 0, sizeof p);
    got(asx_region_open(cx, &(asx_region_options){ .name = "pipe" }, &region));
    asx_status st = got(asx_channel_create(&region, sizeof(uint64_t), 3, &options, &p.sender,
                                           &p.receiver));
    if (st == ASX_OK) {
        got(asx_spawn(&region, "consumer", consumer, &p));
        st = produce_all(cx, &p);
    }
    return got(asx_region_close(&region, st));
}

/* Messages that nobody takes are dropped, each once; so is what a full channel holds at the end. */
static asx_status unread(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_channel_options options = { "unread", on_drop, NULL };
    (void)arg;
    got(asx_region_open(cx, NULL, &region));
    for (unsigned i = 0; i < 12; i++) {
        pipe p;
        asx_status st = got(asx_channel_create(&region, sizeof(uint64_t), 1 + i * 20, &options,
                                               &p.sender, &p.receiver));
        while (st == ASX_OK) {
            uint64_t message = fresh_message();
            st = note_sent(got(asx_channel_try_send(cx, &p.sender, &message)), message);
        }
        if (i % 3 == 0 && st == ASX_E_FULL)
            got(asx_channel_receiver_drop(&p.receiver));
    }
    return got(asx_region_close(&region, ASX_OK));
}

/* ---- cancellation --------------------------------------------------------------------------- */

static asx_status patient(asx_cx *cx, void *arg)
{
    asx_waker waker;
    (void)arg;
    got(promise(asx_task_defer(cx, keep, NULL)));
    asx_status st = got(asx_cx_waker(cx, &waker));
    if (st == ASX_OK)
        st = got(asx_wait_external(cx));
    asx_status masked = got(asx_mask_begin(cx, 5));
    if (masked == ASX_OK) {
        got(asx_sleep(cx, 2));
        CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    }
    return st;
}

static asx_poll patient_poll(asx_cx *cx, void *state)
{
    (void)state;
    asx_status st = got(asx_sleep(cx, ASX_SEC));
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : asx_poll_fail(cx, st);
}

static asx_status fails(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = got(asx_sleep(cx, 4));
    return st < 0 ? st : ASX_E_DISCONNECTED;
}

static asx_status cancel_with_chain(const asx_task *task)
{
    asx_cancel_reason reasons[6];
    memset(reasons, 0, sizeof reasons);
    for (unsigned i = 0; i < 6; i++) {
        reasons[i].kind = i == 0 ? ASX_CANCEL_PARENT : ASX_CANCEL_USER;
        reasons[i].message = "because of what came before, and that because of something else";
        reasons[i].cause = i < 5 ? &reasons[i + 1] : NULL;
    }
    return got(asx_task_cancel(task, &reasons[0]));
}

static asx_status look_at(asx_cx *cx, asx_task *task)
{
    asx_cancel_witness witness;
    asx_join_result result;
    asx_status st = asx_task_get_witness(task, &witness);
    CHECK(st == ASX_OK || st == ASX_E_NOT_FOUND || st == ASX_E_STALE_HANDLE);
    return got(asx_join(cx, task, &result));
}

static asx_status cancels(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_region_options options = { .name = "told", .policy = ASX_POLICY_COLLECT };
    asx_task tasks[4];
    (void)arg;
    memset(tasks, 0, sizeof tasks);
    got(asx_region_open(cx, &options, &region));
    asx_status st = got(asx_spawn_task(&region, patient, NULL, NULL, &tasks[0]));
    if (st == ASX_OK)
        st = got(asx_spawn_task(&region, patient, NULL, NULL, &tasks[1]));
    if (st == ASX_OK)
        st = got(asx_spawn_poll_task(&region, patient_poll, NULL, NULL, &tasks[2]));
    if (st == ASX_OK)
        st = got(asx_spawn_task(&region, fails, NULL, NULL, &tasks[3]));
    if (st == ASX_OK) {
        bool linked = got(asx_task_link(&tasks[3], &tasks[1])) == ASX_OK;
        got(asx_sleep(cx, 1));
        if (cancel_with_chain(&tasks[0]) == ASX_OK)
            look_at(cx, &tasks[0]);
        got(asx_task_cancel(&tasks[2], NULL));
        if (linked)
            look_at(cx, &tasks[1]);
    }
    asx_cancel_reason reason = { .kind = ASX_CANCEL_RESOURCE, .message = "enough" };
    if (got(asx_region_cancel(&region, &reason)) < 0)
        got(asx_region_close(&region, ASX_E_CANCELLED));
    else
        got(asx_region_close(&region, ASX_OK));
    return ASX_OK;
}

/* ---- flow, timers, masses ------------------------------------------------------------------- */

static asx_status timed(asx_cx *cx, void *arg)
{
    asx_status st = got(asx_sleep(cx, (uint64_t)(uintptr_t)arg));
    return st;
}

static void count_wake(void *arg)
{
    ++*(unsigned *)arg;
}

static asx_status timers(asx_cx *cx)
{
    unsigned woken = 0;
    asx_timer_wheel *wheel = asx_runtime_timers(asx_cx_runtime(cx));
    asx_timer_handle handles[200];
    unsigned armed = 0;
    for (unsigned i = 0; i < 200; i++) {
        asx_waker waker = { count_wake, &woken };
        if (just(asx_timer_register(wheel, asx_now(cx) + 1000000 + i * i, waker,
                                    &handles[armed])) == ASX_OK)
            armed++;
    }
    for (unsigned i = 0; i < armed; i++)
        if (i % 2 == 0)
            CHECK(asx_timer_cancel(wheel, &handles[i]));
    asx_status st = got(asx_sleep(cx, 3000000));
    if (st == ASX_OK)
        CHECK_EQ(woken, armed / 2);
    return st;
}

static asx_status flows(asx_cx *cx, void *arg)
{
    (void)arg;
    enum { BRANCHES = 21 }; /* more than one piece of any record has */
    asx_branch branches[BRANCHES];
    asx_join_result results[BRANCHES];
    asx_outcome outcome;
    size_t winner = BRANCHES;
    for (size_t i = 0; i < BRANCHES; i++)
        branches[i] = (asx_branch){ "branch", timed, (void *)(uintptr_t)(BRANCHES - i) };
    got(asx_join_all(cx, branches, BRANCHES, NULL, results, &outcome));
    if (got(asx_race_all(cx, branches, BRANCHES, NULL, &winner, results)) == ASX_OK)
        CHECK(winner < BRANCHES);
    if (got(asx_first_ok(cx, branches, BRANCHES, NULL, &winner, results)) == ASX_OK)
        CHECK(winner < BRANCHES);
    if (got(asx_hedge(cx, branches, BRANCHES, 2, NULL, &winner, results)) == ASX_OK)
        CHECK(winner < BRANCHES);
    got(asx_quorum(cx, branches, BRANCHES, BRANCHES / 2, NULL, results, &winner));
    got(asx_retry(cx, branches, NULL, NULL, results, NULL));
    asx_supervised children[3];
    for (int i = 0; i < 3; i++)
        children[i] = (asx_supervised){ .name = "child", .fn = timed,
                                        .arg = (void *)(uintptr_t)(i + 1),
                                        .restart = ASX_RESTART_TEMPORARY };
    got(asx_supervise(cx, children, 3, NULL, NULL));
    got(asx_timeout(cx, &(asx_branch){ "timeout", timed, (void *)100 }, 5, NULL, NULL));
    got(asx_timeout(cx, &(asx_branch){ "timeout", timed, (void *)5 }, 100, NULL, NULL));
    return timers(cx);
}

static asx_status crowd(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_close_report report;
    (void)arg;
    got(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &region));
    for (unsigned i = 0; i < 90; i++) {
        asx_spawn_options options = { .name = "one of many",
                                      .stack_size = i % 9 == 0 ? (size_t)32768 : 0,
                                      .copy = &i,
                                      .copy_size = i % 4 == 0 ? sizeof i : 0 };
        asx_budget budget = ASX_BUDGET_INFINITE;
        budget.priority = (uint8_t)i;
        if (i % 5 == 0)
            options.budget = &budget;
        if (options.copy_size == 0)
            options.copy = NULL;
        got(asx_spawn_task(&region, patient, NULL, &options, NULL));
    }
    got(asx_sleep(cx, 1));
    asx_status st = got(asx_region_report(&region, &report));
    if (st == ASX_OK)
        asx_close_report_deinit(&report);
    st = got(asx_region_close(&region, ASX_E_CANCELLED));
    return st == ASX_E_CANCELLED ? ASX_OK : st;
}

/* A task that panics, one that never listens, a tracked permit that is forgotten. */
static asx_status panics(asx_cx *cx, void *arg)
{
    got(promise(asx_task_defer(cx, keep, NULL)));
    asx_tracked_permit permit;
    got(asx_channel_reserve_tracked(cx, &((pipe *)arg)->sender, &permit));
    asx_panic(cx, "number %d", 7);
}

static asx_status deaf(asx_cx *cx, void *arg)
{
    (void)arg;
    got(promise(asx_task_defer(cx, keep, NULL)));
    asx_status st;
    do
        st = asx_yield(cx);
    while (st == ASX_OK || st == ASX_E_CANCELLED);
    return st;
}

static asx_status accidents(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_close_report report;
    pipe p;
    (void)arg;
    memset(&p, 0, sizeof p);
    got(asx_region_open(cx, &(asx_region_options){ .leak = ASX_LEAK_REPORT }, &region));
    got(asx_channel_create(&region, sizeof(uint64_t), 2, NULL, &p.sender, &p.receiver));
    got(promise(asx_defer(&region, keep, NULL)));
    got(asx_spawn(&region, "deaf", deaf, NULL));
    got(asx_spawn(&region, "panics", panics, &p));
    asx_status st = asx_region_close_with(&region, ASX_OK, NULL, &report);
    if (st != ASX_E_PANICKED)
        got(st);
    asx_close_report_deinit(&report);
    return st == ASX_E_PANICKED ? ASX_OK : st;
}

const torture_program torture_programs[] = {
    { "regions", regions }, { "channels", channels }, { "unread", unread }, { "cancels", cancels },
    { "flows", flows },     { "crowd", crowd },       { "accidents", accidents },
    { "objects", torture_objects },
};
const size_t torture_program_count = sizeof torture_programs / sizeof *torture_programs;

/* ---- one run -------------------------------------------------------------------------------- */

static asx_status swallow(void *ctx, const void *bytes, size_t len)
{
    (void)bytes;
    *(size_t *)ctx += len;
    return ASX_OK;
}

static void look_around(asx_runtime *rt, const asx_runtime_config *config)
{
    asx_stats stats;
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_STATUS(asx_runtime_stats(rt, &stats), ASX_OK);
    CHECK_EQ(stats.tasks_live, 0);
    CHECK_EQ(stats.regions_live, 0);
    CHECK_EQ(stats.obligations_reserved, 0);
    CHECK_EQ(stats.channels_live, 0);
    CHECK_EQ(stats.timers_live, 0);
    CHECK_EQ(stats.stacks_in_use + stats.stacks_kept, 0);
    CHECK_EQ(stats.ready_len + stats.cancel_len + stats.timed_len, 0);
    size_t len = 0;
    if (config->trace) {
        got(asx_runtime_trace_status(rt));
        if (got(asx_runtime_trace_write(rt, swallow, &len)) == ASX_OK)
            CHECK(len > 0);
    }
}

asx_status torture_run(const asx_runtime_config *config, const torture_program *program)
{
    asx_runtime *rt = NULL;
    memset(&tally, 0, sizeof tally);
    next_message = 0;
    asx_status st = got(asx_runtime_create(config, &rt));
    if (st < 0) {
        CHECK(rt == NULL);
        return st;
    }
    st = got(asx_runtime_run(rt, program->fn, NULL));
    if (asx_runtime_quiescent(rt) != ASX_OK)
        CHECK_STATUS(asx_runtime_shutdown(rt, 0, NULL), ASX_OK);
    look_around(rt, config);
    asx_status end = asx_runtime_destroy(rt);
    if (end != ASX_E_SYSTEM || !torture_system) /* the signal stack may not be had back */
        CHECK_STATUS(end, ASX_OK);
    CHECK_EQ(tally.sent, tally.received + tally.dropped + tally.returned);
    CHECK_EQ(tally.promised, tally.kept);
    return st;
}
