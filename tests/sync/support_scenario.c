/* support_scenario.c - executes the steps of scenario.h on either vehicle. */
#include "scenario.h"

struct actor_run {
    struct run *run;
    const struct actor *actor;
    unsigned number;
    unsigned pos;
    bool sleeping;
    bool begun; /* the step's time has come */
    bool ended;
    asx_send_permit permit[SLOTS];
    asx_tracked_permit tracked[SLOTS];
    asx_ack ack[SLOTS];
    asx_channel_sender clone[SLOTS];
};

static void complain(const struct actor_run *a, const struct step *step, const char *what,
                     long long got, long long want)
{
    asx_test_fail(__FILE__, __LINE__,
                  "%s, vehicles %u: actor %s, step %u (op %d): %s %lld, want %lld",
                  a->run->scenario->name, a->run->vehicles, a->actor->name, a->pos, (int)step->op,
                  what, got, want);
}

static asx_status inspect(const struct actor_run *a, const struct step *step)
{
    asx_channel_info info;
    asx_status st = asx_channel_sender_info(&a->run->tx, &info);
    if (st == ASX_E_STALE_HANDLE)
        st = asx_channel_receiver_info(&a->run->rx, &info);
    if (st < 0)
        return st;
    uint64_t got = 0;
    switch (step->op) {
    case OP_QUEUED:
        got = info.queued;
        break;
    case OP_RESERVED:
        got = info.reserved;
        break;
    case OP_WAITERS:
        got = info.send_waiters;
        break;
    case OP_SENDERS:
        got = info.senders;
        break;
    case OP_RX_WAITS:
        got = info.receiver_waits;
        break;
    case OP_STATE:
        got = (uint64_t)info.state;
        break;
    default:
        got = info.discarded;
        break;
    }
    if (got != step->value)
        complain(a, step, "channel says", (long long)got, (long long)step->value);
    return ASX_OK;
}

static asx_status send_step(struct actor_run *a, asx_cx *cx, const struct step *step)
{
    struct run *run = a->run;
    unsigned slot = step->slot;
    asx_committed_proof committed;
    asx_aborted_proof aborted;
    uint64_t victim = 0;
    bool did_evict = false;
    asx_status st;
    switch (step->op) {
    case OP_RESERVE:
        return asx_channel_reserve(cx, &run->tx, &a->permit[slot]);
    case OP_TRY_RESERVE:
        return asx_channel_try_reserve(cx, &run->tx, &a->permit[slot]);
    case OP_TRACK:
        return asx_channel_reserve_tracked(cx, &run->tx, &a->tracked[slot]);
    case OP_PSEND:
        return asx_send_permit_send(&a->permit[slot], &step->value);
    case OP_PABORT:
        return asx_send_permit_abort(&a->permit[slot]);
    case OP_TSEND:
        return asx_tracked_permit_send(&a->tracked[slot], &step->value, &committed);
    case OP_TABORT:
        return asx_tracked_permit_abort(&a->tracked[slot], &aborted);
    case OP_SEND:
        return asx_channel_send(cx, &run->tx, &step->value);
    case OP_TRY_SEND:
        return asx_channel_try_send(cx, &run->tx, &step->value);
    default:
        st = asx_channel_send_evict_oldest(cx, &run->tx, &step->value, slot ? &victim : NULL,
                                           &did_evict);
        if (st == ASX_OK && slot != 0 && (!did_evict || victim != step->extra))
            complain(a, step, "evicted", (long long)victim, (long long)step->extra);
        return st;
    }
}

static asx_status recv_step(struct actor_run *a, asx_cx *cx, const struct step *step)
{
    struct run *run = a->run;
    uint64_t got = UINT64_MAX;
    asx_status st;
    if (step->op == OP_RECV)
        st = asx_channel_recv(cx, &run->rx, &got);
    else if (step->op == OP_TRY_RECV)
        st = asx_channel_try_recv(cx, &run->rx, &got);
    else
        st = asx_channel_recv_with_ack(cx, &run->rx, &got, &a->ack[step->slot]);
    if (st == ASX_OK && got != step->value)
        complain(a, step, "received", (long long)got, (long long)step->value);
    if (st != ASX_OK && got != UINT64_MAX)
        complain(a, step, "wrote without receiving", (long long)got, (long long)st);
    return st;
}

static asx_status other_step(struct actor_run *a, asx_cx *cx, const struct step *step)
{
    struct run *run = a->run;
    switch (step->op) {
    case OP_COMMIT:
        return asx_ack_commit(&a->ack[step->slot]);
    case OP_NACK:
        return asx_ack_nack(&a->ack[step->slot]);
    case OP_CLONE:
        return asx_channel_sender_clone(&run->tx, &a->clone[step->slot]);
    case OP_DROP:
        return asx_channel_sender_drop(&a->clone[step->slot]);
    case OP_DROP_TX:
        return asx_channel_sender_drop(&run->tx);
    case OP_DROP_RX:
        return asx_channel_receiver_drop(&run->rx);
    case OP_CANCEL:
        return asx_task_cancel(&run->tasks[step->value], NULL);
    case OP_MASK:
        return asx_mask_begin(cx, 0);
    case OP_UNMASK:
        return asx_mask_end(cx);
    case OP_CHECKPOINT:
        return asx_checkpoint(cx);
    case OP_YIELD:
        return asx_yield(cx);
    case OP_PANIC:
        asx_panic(cx, "as the scenario says");
    default:
        return inspect(a, step);
    }
}

static asx_status do_step(struct actor_run *a, asx_cx *cx, const struct step *step)
{
    if (step->op >= OP_RESERVE && step->op <= OP_EVICT)
        return send_step(a, cx, step);
    if (step->op >= OP_RECV && step->op <= OP_RECV_ACK)
        return recv_step(a, cx, step);
    return other_step(a, cx, step);
}

/* One step; ASX_E_WOULD_BLOCK: a poll task must come again. */
static asx_status advance(struct actor_run *a, asx_cx *cx)
{
    const struct step *step = &a->actor->steps[a->pos];
    if (!a->begun && (a->sleeping || asx_now(cx) < step->at_ms * ASX_MS)) {
        asx_status slept = asx_sleep_until(cx, step->at_ms * ASX_MS);
        a->sleeping = slept == ASX_E_WOULD_BLOCK;
        if (a->sleeping)
            return slept;
        if (slept < 0)
            complain(a, step, "waiting for its time gave", slept, ASX_OK);
    }
    a->begun = true;
    bool poll = (a->run->vehicles >> a->number & 1u) != 0;
    asx_status st = do_step(a, cx, step);
    if (poll && st == ASX_E_WOULD_BLOCK && step->want != ASX_E_WOULD_BLOCK)
        return st;
    if (st != step->want)
        complain(a, step, "returned", st, step->want);
    if (step->done_ms != 0 && asx_now(cx) != step->done_ms * ASX_MS)
        complain(a, step, "was done at", (long long)(asx_now(cx) / ASX_MS), step->done_ms);
    a->begun = false;
    a->pos++;
    return ASX_OK;
}

static asx_status act(asx_cx *cx, void *arg)
{
    struct actor_run *a = arg;
    while (a->actor->steps[a->pos].op != OP_END)
        advance(a, cx);
    a->ended = true;
    return ASX_OK;
}

static asx_poll act_poll(asx_cx *cx, void *arg)
{
    struct actor_run *a = arg;
    while (a->actor->steps[a->pos].op != OP_END)
        if (advance(a, cx) == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
    a->ended = true;
    return ASX_POLL_READY;
}

static void note_drop(void *ctx, void *message)
{
    struct run *run = ctx;
    CHECK(run->dropped_count < 64);
    run->dropped[run->dropped_count++] = *(uint64_t *)message;
}

static asx_status direct(asx_cx *cx, void *arg)
{
    struct run *run = arg;
    const struct scenario *sc = run->scenario;
    struct actor_run actors[ACTORS_MAX] = { 0 };
    asx_region_options options = { .name = "scenario", .leak = sc->leak };
    asx_channel_options channel = { .name = "subject", .drop = note_drop, .drop_ctx = run };
    CHECK_STATUS(asx_region_open(cx, &options, &run->region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&run->region, sizeof(uint64_t), sc->capacity, &channel,
                                    &run->tx, &run->rx),
                 ASX_OK);
    for (unsigned i = 0; i < sc->actor_count; i++) {
        struct actor_run *a = &actors[i];
        asx_spawn_options named = { .name = sc->actors[i].name };
        *a = (struct actor_run){ .run = run, .actor = &sc->actors[i], .number = i };
        run->actors[i] = a;
        if (run->vehicles >> i & 1u)
            CHECK_STATUS(asx_spawn_poll_task(&run->region, act_poll, a, &named, &run->tasks[i]),
                         ASX_OK);
        else
            CHECK_STATUS(asx_spawn_task(&run->region, act, a, &named, &run->tasks[i]), ASX_OK);
    }
    CHECK_STATUS(asx_region_close_with(&run->region, ASX_OK, NULL, &run->report), sc->want_close);
    for (unsigned i = 0; i < sc->actor_count; i++) {
        const struct actor_run *a = &actors[i];
        const struct step *step = &a->actor->steps[a->pos];
        if (!a->ended && step->op != OP_PANIC)
            complain(a, step, "ended before its last step, at", a->pos, STEPS_MAX);
    }
    if (sc->after != NULL)
        sc->after(run);
    asx_close_report_deinit(&run->report);
    return ASX_OK;
}

void scenario_run(const struct scenario *scenario, unsigned vehicles)
{
    struct run run = { .scenario = scenario, .vehicles = vehicles };
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL };
    CHECK_STATUS(asx_runtime_create(&config, &run.rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(run.rt, direct, &run), ASX_OK);
    CHECK_STATUS(asx_runtime_quiescent(run.rt), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(run.rt), ASX_OK);
}

void scenario_check(const struct scenario *scenario)
{
    for (unsigned vehicles = 0; vehicles < 1u << scenario->actor_count; vehicles++)
        scenario_run(scenario, vehicles);
}

void program_check(asx_task_fn fn, void *arg, asx_status want)
{
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, fn, arg), want);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}
