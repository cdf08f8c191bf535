/* The workloads on asx.
 *
 *     asx_bench <workload> <fiber|poll> <workers>      prints: RESULT <value>
 *     asx_bench icount <spawn|switch|send|recv> <count>
 *
 * Exit status 3 means that asx has nothing of the kind. What only several workers show is in
 * asx_cores.c; some of its variants are figures (p50, p99). Jobs that share nothing (w10-...) are
 * in asx_apart.c, and what single calls cost is in asx_calls.c.
 *
 * Every workload is a task of a default runtime, as a user would write it. Both variants do the
 * same thing; only the tasks that the workload is about are fibers in one and poll functions in
 * the other.
 *
 * A channel has one receiver, so the tasks of W6 and W8, which all wait for the same thing, wait
 * for capacity of a channel that is full: many may, in the same wait list and at the same cost.
 *
 * icount does one operation so many times and nothing else that grows with the count, for a tool
 * that counts instructions: what is prepared does not depend on the count, and the process ends
 * before anything is undone.
 */
#define _GNU_SOURCE
#include "asx_bench.h"

/* Spawns the one or the other, with a handle. */
static inline void spawn(struct place *p, asx_task_fn fiber, asx_poll_fn poll, void *arg,
                  asx_task *ret_task)
{
    ok(p->poll ? asx_spawn_poll_task(&p->region, poll, arg, NULL, ret_task)
               : asx_spawn_task(&p->region, fiber, arg, NULL, ret_task),
       "spawn");
}

/* Likewise without one. */
static void spawn_unnamed(struct place *p, asx_task_fn fiber, asx_poll_fn poll, void *arg)
{
    ok(p->poll ? asx_spawn_poll(&p->region, NULL, poll, arg)
               : asx_spawn(&p->region, NULL, fiber, arg),
       "spawn");
}

static uint64_t join(asx_cx *cx, asx_task *task)
{
    asx_join_result result;
    ok(asx_join(cx, task, &result), "join");
    require(result.outcome.kind == ASX_OUTCOME_OK, "task did not end well");
    return result.value;
}

/* What a poll function does with the status of a call that may wait: false means that it is to
 * return ASX_POLL_PENDING. */
static bool arrived(asx_status status, const char *what)
{
    if (status == ASX_E_WOULD_BLOCK)
        return false;
    ok(status, what);
    return true;
}

/* ---- W1: spawn and join --------------------------------------------------------------------- */

static asx_status empty_fiber(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

static asx_poll empty_poll(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_POLL_READY;
}

/* Nothing but this may have ended in the region, and all of it well. */
static void region_close_after(struct place *p, uint64_t tasks)
{
    asx_close_report report;
    ok(asx_region_close_with(&p->region, ASX_OK, NULL, &report), "close");
    require(report.tasks_ok == tasks, "not all tasks ended well");
    asx_close_report_deinit(&report);
}

static double spawn_join(struct place *p)
{
    enum { TOTAL = 1000000, LIVE = 10000 };
    asx_task *tasks = array_of(LIVE, sizeof *tasks);
    region_open(p);
    double start = now_ns();
    for (int done = 0; done < TOTAL; done += LIVE) {
        for (int i = 0; i < LIVE; i++)
            spawn(p, empty_fiber, empty_poll, NULL, &tasks[i]);
        for (int i = 0; i < LIVE; i++)
            ok(asx_join(p->cx, &tasks[i], NULL), "join");
    }
    double spent_ns = now_ns() - start;
    region_close_after(p, TOTAL);
    free(tasks);
    return spent_ns / TOTAL;
}

/* ---- W2: yield ------------------------------------------------------------------------------ */

static asx_status yield_fiber(asx_cx *cx, void *arg)
{
    uint64_t *left = arg;
    for (; *left > 0; --*left)
        ok(asx_yield(cx), "yield");
    return ASX_OK;
}

/* A poll function gives way by returning without a wait. */
static asx_poll yield_poll(asx_cx *cx, void *arg)
{
    uint64_t *left = arg;
    (void)cx;
    if (*left == 0)
        return ASX_POLL_READY;
    --*left;
    return ASX_POLL_PENDING;
}

static double yield_pair(struct place *p)
{
    enum { SWITCHES = 10000000 };
    static uint64_t left[2] = { SWITCHES / 2, SWITCHES / 2 };
    asx_task pair[2];
    region_open(p);
    double start = now_ns();
    for (int i = 0; i < 2; i++)
        spawn(p, yield_fiber, yield_poll, &left[i], &pair[i]);
    for (int i = 0; i < 2; i++)
        (void)join(p->cx, &pair[i]);
    double spent_ns = now_ns() - start;
    require(left[0] == 0 && left[1] == 0, "did not yield so often");
    region_close(p);
    return spent_ns / SWITCHES;
}

/* ---- channels ------------------------------------------------------------------------------- */

static void channel_make(struct place *p, size_t capacity, struct channel *ret_channel)
{
    ok(asx_channel_create(&p->region, sizeof(uint64_t), capacity, NULL, &ret_channel->tx,
                          &ret_channel->rx),
       "channel");
}

static inline void send(asx_cx *cx, struct channel *channel, uint64_t value)
{
    asx_send_permit permit;
    ok(asx_channel_reserve(cx, &channel->tx, &permit), "reserve");
    ok(asx_send_permit_send(&permit, &value), "send");
}

static inline uint64_t receive(asx_cx *cx, struct channel *channel)
{
    uint64_t value;
    ok(asx_channel_recv(cx, &channel->rx, &value), "receive");
    return value;
}

/* The same in a poll function. */
static inline bool try_send(asx_cx *cx, struct channel *channel, uint64_t value)
{
    asx_send_permit permit;
    if (!arrived(asx_channel_reserve(cx, &channel->tx, &permit), "reserve"))
        return false;
    ok(asx_send_permit_send(&permit, &value), "send");
    return true;
}

static inline bool try_receive(asx_cx *cx, struct channel *channel, uint64_t *ret_value)
{
    return arrived(asx_channel_recv(cx, &channel->rx, ret_value), "receive");
}

/* ---- W3: ping-pong -------------------------------------------------------------------------- */

#define TRIPS 1000000u

struct player {
    struct channel *in, *out;
    uint64_t trip;
    uint64_t value;
    bool serves; /* the other one echoes */
    bool holds;  /* has something to send */
};

static asx_status player_fiber(asx_cx *cx, void *arg)
{
    struct player *me = arg;
    for (; me->trip < TRIPS; me->trip++) {
        if (me->serves) {
            send(cx, me->out, me->trip);
            require(receive(cx, me->in) == me->trip, "wrong echo");
        } else {
            send(cx, me->out, receive(cx, me->in));
        }
    }
    return ASX_OK;
}

static asx_poll player_poll(asx_cx *cx, void *arg)
{
    struct player *me = arg;
    while (me->trip < TRIPS) {
        if (me->holds) {
            if (!try_send(cx, me->out, me->value))
                return ASX_POLL_PENDING;
            me->holds = false;
            me->trip += !me->serves;
        } else {
            uint64_t value;
            if (!try_receive(cx, me->in, &value))
                return ASX_POLL_PENDING;
            require(!me->serves || value == me->trip, "wrong echo");
            me->trip += me->serves;
            me->value = me->serves ? me->trip : value;
            me->holds = true;
        }
    }
    return ASX_POLL_READY;
}

static double ping_pong(struct place *p)
{
    struct channel there, back;
    region_open(p);
    channel_make(p, 1, &there);
    channel_make(p, 1, &back);
    struct player echo = { .in = &there, .out = &back };
    struct player caller = { .in = &back, .out = &there, .serves = true, .holds = true };
    asx_task tasks[2];
    double start = now_ns();
    spawn(p, player_fiber, player_poll, &echo, &tasks[0]);
    spawn(p, player_fiber, player_poll, &caller, &tasks[1]);
    for (int i = 0; i < 2; i++)
        (void)join(p->cx, &tasks[i]);
    double spent_ns = now_ns() - start;
    require(echo.trip == TRIPS && caller.trip == TRIPS, "did not play so often");
    region_close(p);
    return spent_ns / TRIPS;
}

/* ---- W4: many to one ------------------------------------------------------------------------ */

#define PRODUCERS 4u
#define MESSAGES_EACH 1000000u

struct stream {
    struct channel channel; /* a producer's has a sender of its own */
    uint64_t count; /* poll tasks: messages sent or received */
    uint64_t sum;
};

static asx_status produce_fiber(asx_cx *cx, void *arg)
{
    struct stream *s = arg;
    for (uint64_t i = 0; i < MESSAGES_EACH; i++)
        send(cx, &s->channel, i);
    return ASX_OK;
}

static asx_poll produce_poll(asx_cx *cx, void *arg)
{
    struct stream *s = arg;
    uint64_t i = s->count;
    while (i < MESSAGES_EACH && try_send(cx, &s->channel, i))
        i++;
    s->count = i;
    return i < MESSAGES_EACH ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status consume_fiber(asx_cx *cx, void *arg)
{
    struct stream *s = arg;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < PRODUCERS * MESSAGES_EACH; i++)
        sum += receive(cx, &s->channel);
    s->sum = sum;
    return ASX_OK;
}

static asx_poll consume_poll(asx_cx *cx, void *arg)
{
    struct stream *s = arg;
    uint64_t value;
    uint64_t i = s->count, sum = s->sum;
    for (; i < PRODUCERS * MESSAGES_EACH && try_receive(cx, &s->channel, &value); i++)
        sum += value;
    s->count = i;
    s->sum = sum;
    return i < PRODUCERS * MESSAGES_EACH ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static double many_to_one(struct place *p)
{
    struct stream producer[PRODUCERS], consumer = { .count = 0 };
    asx_task consuming;
    region_open(p);
    channel_make(p, 1024, &consumer.channel);
    for (unsigned i = 0; i < PRODUCERS; i++) {
        producer[i] = consumer;
        ok(asx_channel_sender_clone(&consumer.channel.tx, &producer[i].channel.tx), "clone");
    }
    double start = now_ns();
    for (unsigned i = 0; i < PRODUCERS; i++)
        spawn_unnamed(p, produce_fiber, produce_poll, &producer[i]);
    spawn(p, consume_fiber, consume_poll, &consumer, &consuming);
    (void)join(p->cx, &consuming);
    double spent_ns = now_ns() - start;
    uint64_t each_sum = (uint64_t)MESSAGES_EACH * (MESSAGES_EACH - 1) / 2;
    require(consumer.sum == PRODUCERS * each_sum, "wrong sum");
    region_close(p);
    return PRODUCERS * MESSAGES_EACH / spent_ns * 1e3;
}

/* ---- W5: skynet ----------------------------------------------------------------------------- */

#define FAN_OUT 10
#define SKYNET_LEAVES UINT64_C(1000000)
#define SKYNET_SUM (SKYNET_LEAVES * (SKYNET_LEAVES - 1) / 2)

struct span {
    uint64_t first;
    uint64_t leaves;
};

static struct span part_of(struct span whole, unsigned number)
{
    uint64_t share = whole.leaves / FAN_OUT;
    struct span part = { whole.first + number * share, share };
    return part;
}

static asx_status skynet_fiber(asx_cx *cx, void *arg)
{
    struct span whole = *(struct span *)arg;
    if (whole.leaves == 1)
        return asx_task_set_value(cx, whole.first);
    struct span part[FAN_OUT];
    asx_task child[FAN_OUT];
    asx_region region;
    ok(asx_cx_region(cx, &region), "region");
    for (unsigned i = 0; i < FAN_OUT; i++) {
        part[i] = part_of(whole, i);
        ok(asx_spawn_task(&region, skynet_fiber, &part[i], NULL, &child[i]), "spawn");
    }
    uint64_t sum = 0;
    for (unsigned i = 0; i < FAN_OUT; i++)
        sum += join(cx, &child[i]);
    return asx_task_set_value(cx, sum);
}

/* What the fiber has on its stack. */
struct skynet {
    struct span span;
    struct below *below; /* NULL: nothing is spawned yet */
};

struct below {
    uint64_t sum;
    unsigned joined;
    struct skynet part[FAN_OUT];
    asx_task child[FAN_OUT];
};

static asx_poll skynet_poll(asx_cx *cx, void *arg);

static struct below *spawn_below(asx_cx *cx, struct span whole)
{
    struct below *below = malloc(sizeof *below);
    require(below != NULL, "no memory");
    asx_region region;
    ok(asx_cx_region(cx, &region), "region");
    below->sum = 0;
    below->joined = 0;
    for (unsigned i = 0; i < FAN_OUT; i++) {
        below->part[i] = (struct skynet){ part_of(whole, i), NULL };
        ok(asx_spawn_poll_task(&region, skynet_poll, &below->part[i], NULL, &below->child[i]),
           "spawn");
    }
    return below;
}

static asx_poll skynet_poll(asx_cx *cx, void *arg)
{
    struct skynet *me = arg;
    if (me->span.leaves == 1) {
        ok(asx_task_set_value(cx, me->span.first), "value");
        return ASX_POLL_READY;
    }
    if (me->below == NULL)
        me->below = spawn_below(cx, me->span);
    struct below *below = me->below;
    for (; below->joined < FAN_OUT; below->joined++) {
        asx_join_result result;
        if (!arrived(asx_join(cx, &below->child[below->joined], &result), "join"))
            return ASX_POLL_PENDING;
        require(result.outcome.kind == ASX_OUTCOME_OK, "task did not end well");
        below->sum += result.value;
    }
    ok(asx_task_set_value(cx, below->sum), "value");
    free(below);
    return ASX_POLL_READY;
}

static double skynet_time(struct place *p)
{
    struct skynet all = { .span = { 0, SKYNET_LEAVES } };
    asx_task root;
    region_open(p);
    double start = now_ns();
    spawn(p, skynet_fiber, skynet_poll, &all, &root); /* a fiber looks at the span only */
    uint64_t sum = join(p->cx, &root);
    double spent_ns = now_ns() - start;
    require(sum == SKYNET_SUM, "wrong sum");
    region_close(p);
    return spent_ns / 1e6;
}

/* ---- W6 and W8: parked tasks ---------------------------------------------------------------- */

static asx_status wait_fiber(asx_cx *cx, void *arg)
{
    asx_send_permit permit;
    struct channel *full = arg;
    return asx_channel_reserve(cx, &full->tx, &permit);
}

static asx_poll wait_poll(asx_cx *cx, void *arg)
{
    asx_send_permit permit;
    struct channel *full = arg;
    asx_status st = asx_channel_reserve(cx, &full->tx, &permit);
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

void channel_make_full(struct place *p, struct channel *ret_channel)
{
    channel_make(p, 1, ret_channel);
    send(p->cx, ret_channel, 0);
}

void park_many(struct place *p, struct channel *full, unsigned count, uint64_t settle_ms)
{
    for (unsigned i = 0; i < count; i++)
        spawn_unnamed(p, wait_fiber, wait_poll, full);
    asx_channel_info info = { .send_waiters = 0 };
    for (int i = 0; i < 1000 && info.send_waiters != count; i++) { /* several workers take turns */
        ok(asx_sleep(p->cx, settle_ms * ASX_MS), "sleep");
        ok(asx_channel_sender_info(&full->tx, &info), "info");
    }
}

void require_parked(struct channel *full, unsigned count)
{
    asx_channel_info info;
    ok(asx_channel_sender_info(&full->tx, &info), "info");
    require(info.send_waiters == count, "not all are parked");
}

/* Cancels everything in the region; all of it must end as cancelled. */
void cancel_all(struct place *p, unsigned count)
{
    asx_close_report report;
    ok(asx_region_cancel(&p->region, NULL), "cancel");
    asx_status st = asx_region_close_with(&p->region, ASX_OK, NULL, &report);
    require(st == ASX_E_CANCELLED, "close did not say cancelled");
    require(report.tasks_cancelled == count && report.tasks_forced == 0, "not all are cancelled");
    asx_close_report_deinit(&report);
}

static double parked_bytes(struct place *p)
{
    enum { TASKS = 1000000 };
    struct channel full;
    region_open(p);
    channel_make_full(p, &full);
    double before = resident_bytes();
    park_many(p, &full, TASKS, 300);
    double bytes = resident_bytes() - before;
    require_parked(&full, TASKS);
    cancel_all(p, TASKS);
    return bytes / TASKS;
}

static double cancel_storm(struct place *p)
{
    enum { TASKS = 100000 };
    struct channel full;
    region_open(p);
    channel_make_full(p, &full);
    park_many(p, &full, TASKS, 200);
    require_parked(&full, TASKS);
    double start = now_ns();
    cancel_all(p, TASKS);
    return (now_ns() - start) / 1e6;
}

/* ---- what is left a second after a burst ----------------------------------------------------- */

static void park_and_cancel(struct place *p, unsigned count)
{
    struct channel full;
    region_open(p);
    channel_make_full(p, &full);
    park_many(p, &full, count, 200);
    cancel_all(p, count);
}

/* Resident size in per cent of what it was; a small burst first touches what every one needs. */
static double resident_after(struct place *p, bool parks)
{
    park_and_cancel(p, 20000);
    ok(asx_sleep(p->cx, ASX_SEC), "sleep");
    double before = resident_bytes();
    if (parks)
        park_and_cancel(p, 100000);
    else
        (void)spawn_join(p);
    ok(asx_sleep(p->cx, ASX_SEC), "sleep");
    return resident_bytes() / before * 100;
}

static double resident_after_parked(struct place *p)
{
    return resident_after(p, true);
}

static double resident_after_spawns(struct place *p)
{
    return resident_after(p, false);
}

/* ---- W7: timers ----------------------------------------------------------------------------- */

static void must_not_fire(void *arg)
{
    (void)arg;
    require(false, "timer fired");
}

static double timers_cancelled(struct place *p)
{
    enum { COUNT = 1000000 };
    asx_timer_wheel *wheel = asx_runtime_timers(asx_cx_runtime(p->cx));
    if (wheel == NULL)
        exit(3); /* a wheel is for one thread */
    asx_timer_handle *timers = array_of(COUNT, sizeof *timers);
    asx_waker waker = { must_not_fire, NULL };
    double start = now_ns();
    asx_time from = asx_now(p->cx);
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t after_us = 1000000 + i * 7919 % 1000000 * 59; /* 1 to 60 s, in no order */
        ok(asx_timer_register(wheel, from + after_us * ASX_US, waker, &timers[i]), "timer");
    }
    for (int i = 0; i < COUNT; i++)
        require(asx_timer_cancel(wheel, &timers[i]), "timer was gone");
    double spent_ns = now_ns() - start;
    require(asx_timer_count(wheel) == 0, "timers left");
    free(timers);
    return spent_ns / COUNT;
}

static uint64_t nap_ns(const void *arg)
{
    return (uint64_t)(uintptr_t)arg * ASX_MS;
}

static asx_status sleep_fiber(asx_cx *cx, void *arg)
{
    return asx_sleep(cx, nap_ns(arg));
}

static asx_poll sleep_poll(asx_cx *cx, void *arg)
{
    return arrived(asx_sleep(cx, nap_ns(arg)), "sleep") ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static double sleepers(struct place *p)
{
    enum { TASKS = 100000 };
    asx_task *tasks = array_of(TASKS, sizeof *tasks);
    region_open(p);
    double start = now_ns();
    for (uintptr_t i = 0; i < TASKS; i++)
        spawn(p, sleep_fiber, sleep_poll, (void *)(1 + i * 7919 % 1000), &tasks[i]);
    for (int i = 0; i < TASKS; i++)
        (void)join(p->cx, &tasks[i]);
    double spent_ns = now_ns() - start;
    region_close(p);
    free(tasks);
    return spent_ns / 1e6 - 1000;
}

/* ---- instruction counts --------------------------------------------------------------------- */

#define ICOUNT_MAX 65536

struct icount {
    const char *what;
    uint64_t count;
};

static _Noreturn void icount_end(void)
{
    _exit(0);
}

static asx_status icount_switch(asx_cx *cx, void *arg)
{
    uint64_t *left = arg;
    while (*left > 0) {
        --*left;
        (void)asx_yield(cx);
    }
    icount_end();
}

static void icount_run(struct place *p, const struct icount *what)
{
    struct channel channel;
    asx_task *tasks = array_of(ICOUNT_MAX, sizeof *tasks);
    static uint64_t left;
    region_open(p);
    if (strcmp(what->what, "spawn") == 0) {
        for (int i = 0; i < ICOUNT_MAX; i++) /* records that can be used again */
            spawn(p, empty_fiber, NULL, NULL, &tasks[i]);
        for (int i = 0; i < ICOUNT_MAX; i++)
            (void)join(p->cx, &tasks[i]);
        for (uint64_t i = 0; i < what->count; i++)
            (void)asx_spawn_task(&p->region, empty_fiber, NULL, NULL, &tasks[i]);
    } else if (strcmp(what->what, "switch") == 0) {
        left = what->count;
        for (int i = 0; i < 2; i++)
            spawn(p, icount_switch, NULL, &left, &tasks[i]);
        (void)join(p->cx, &tasks[0]);
    } else {
        bool sends = strcmp(what->what, "send") == 0;
        uint64_t value = 0;
        channel_make(p, ICOUNT_MAX, &channel);
        for (int i = 0; i < ICOUNT_MAX; i++)
            send(p->cx, &channel, 0);
        for (int i = 0; i < ICOUNT_MAX && sends; i++)
            (void)receive(p->cx, &channel);
        for (uint64_t i = 0; i < what->count && !sends; i++)
            ASX_IGNORE(asx_channel_recv(p->cx, &channel.rx, &value));
        for (uint64_t i = 0; i < what->count && sends; i++) {
            asx_send_permit permit;
            ASX_IGNORE(asx_channel_reserve(p->cx, &channel.tx, &permit));
            ASX_IGNORE(asx_send_permit_send(&permit, &value));
        }
    }
    icount_end();
}

/* ---- main ----------------------------------------------------------------------------------- */

static const struct workload {
    const char *name;
    double (*run)(struct place *place);
} workloads[] = {
    { "w1", spawn_join },    { "w2", yield_pair },        { "w3", ping_pong },
    { "w4", many_to_one },   { "w5", skynet_time },       { "w6", parked_bytes },
    { "w7a", timers_cancelled }, { "w7b", sleepers },     { "w8", cancel_storm },
    { "wake-searching", wake_searching }, { "wake-sleeping", wake_sleeping },
    { "steal", steal },      { "storm-wait", storm_wait },
    { "w10-spawn", apart_spawn },         { "w10-close", apart_close },
    { "w10-ping-pong", apart_ping_pong }, { "w10-sleep", apart_sleep },
    { "w10-timers", apart_timers },       { "w10-compute-200", apart_compute_200 },
    { "w10-compute-1000", apart_compute_1000 },
    { "call-spawn", call_spawn }, { "call-send", call_send }, { "call-recv", call_recv },
    { "call-yield", call_yield }, { "call-trip", call_trip },
    { "after-parked", resident_after_parked }, { "after-spawns", resident_after_spawns },
};

struct order {
    const struct workload *workload; /* NULL: count instructions */
    struct icount icount;
    uint32_t workers;
    const char *variant;
};

static asx_status obey(asx_cx *cx, void *arg)
{
    const struct order *order = arg;
    struct place place = { .cx = cx, .workers = order->workers, .variant = order->variant };
    place.poll = order->variant != NULL && strcmp(order->variant, "poll") == 0;
    if (order->workload == NULL)
        icount_run(&place, &order->icount);
    printf("RESULT %.3f\n", order->workload->run(&place));
    return ASX_OK;
}

static bool parse(char **argv, struct order *ret_order)
{
    if (strcmp(argv[1], "icount") == 0) {
        static const char *const known[] = { "spawn", "switch", "send", "recv" };
        ret_order->icount.what = argv[2];
        ret_order->icount.count = strtoul(argv[3], NULL, 10);
        require(ret_order->icount.count <= ICOUNT_MAX, "icount: at most 65536");
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (strcmp(argv[2], known[i]) == 0)
                return true;
        return false;
    }
    static const char *const variants[] = { "fiber", "poll", "p50", "p99" };
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
        if (strcmp(argv[2], variants[i]) == 0)
            ret_order->variant = variants[i];
    ret_order->workers = (uint32_t)strtoul(argv[3], NULL, 10);
    if (ret_order->variant == NULL || ret_order->workers == 0)
        return false;
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
        if (strcmp(argv[1], workloads[i].name) == 0)
            ret_order->workload = &workloads[i];
    return ret_order->workload != NULL;
}

int main(int argc, char **argv)
{
    require(argc == 4, "usage: asx_bench <workload> <fiber|poll> <workers>");
    struct order order = { .workload = NULL };
    if (!parse(argv, &order))
        return 3;
    asx_runtime_config config = { .workers = order.workers };
    asx_runtime *rt;
    require(asx_runtime_create(&config, &rt) == ASX_OK, "no runtime");
    asx_status st = asx_runtime_run(rt, obey, &order);
    return st == ASX_OK && asx_runtime_destroy(rt) == ASX_OK ? 0 : 1;
}
