/* What the journal says: every event has its place in the life of a task, and its cause. */
#include "support_kit.h"

#include <string.h>

enum { EVENTS_MAX = 4000 };
static asx_event events[EVENTS_MAX + 1]; /* by sequence number */
static size_t events_len;

static void record(void *ctx, const asx_event *event)
{
    (void)ctx;
    CHECK(event->seq <= EVENTS_MAX);
    CHECK_EQ(event->seq, events_len + 1); /* without gaps */
    events[++events_len] = *event;
}

/* ---- a program that does a little of everything --------------------------------------------- */

static asx_status sends(asx_cx *cx, void *arg)
{
    asx_channel_sender *tx = arg;
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_channel_send(cx, tx, &i), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_US), ASX_OK);
    return asx_channel_sender_drop(tx);
}

static asx_poll receives(asx_cx *cx, void *state)
{
    int m;
    asx_status st;
    while ((st = asx_channel_recv(cx, state, &m)) == ASX_OK)
        continue;
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status yields(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    return asx_mask_end(cx);
}

static asx_status all_of_it(asx_cx *cx, void *arg)
{
    asx_region r, q;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_task w, y;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "s", sends, &tx), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "r", receives, &rx), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, yields, NULL, NULL, &y), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &q), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&q, kit_waiter, NULL, NULL, &w), ASX_OK);
    CHECK_STATUS(asx_join(cx, &y, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL, NULL, &y), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_join(cx, &y, NULL), ASX_OK); /* it has ended: nobody waits */
    CHECK_STATUS(asx_defer(&q, kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_region_cancel(&q, NULL), ASX_OK);
    CHECK_STATUS(asx_join(cx, &w, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&q, ASX_OK), ASX_E_CANCELLED);
    return asx_region_close(&r, ASX_OK);
}

static void run_recorded(asx_clock_kind clock)
{
    asx_runtime *rt;
    asx_runtime_config config = kit_config(clock, NULL);
    config.trace = true;
    events_len = 0;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_observe(rt, record, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, all_of_it, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_GE(events_len, 50u);
}

static const asx_event *cause_of(const asx_event *event)
{
    CHECK_NE(event->cause, 0);
    CHECK(event->cause < event->seq); /* a cause comes before its effect */
    return &events[event->cause];
}

/* ---- causes --------------------------------------------------------------------------------- */

static void check_cause(const asx_event *e)
{
    const asx_event *c;
    switch (e->kind) {
    case ASX_EVENT_TASK_RUN: /* because it was spawned, woken, cancelled, or gave way */
        c = cause_of(e);
        CHECK_EQ(c->object, e->object);
        CHECK(c->kind == ASX_EVENT_TASK_SPAWN || c->kind == ASX_EVENT_TASK_WAKE ||
              c->kind == ASX_EVENT_TASK_YIELD || c->kind == ASX_EVENT_CANCEL_REQUEST);
        CHECK_EQ(e->task, e->object); /* in its own name, whoever left for it */
        break;
    case ASX_EVENT_CANCEL_ACK:
        c = cause_of(e);
        CHECK_EQ(c->object, e->object);
        CHECK(c->kind == ASX_EVENT_CANCEL_REQUEST || c->kind == ASX_EVENT_TASK_WAKE);
        break;
    case ASX_EVENT_TASK_JOIN:
        if (e->cause != 0) { /* the joiner had to wait */
            c = cause_of(e);
            CHECK_EQ(c->kind, ASX_EVENT_TASK_COMPLETE);
            CHECK_EQ(c->object, e->object);
        }
        break;
    case ASX_EVENT_CHANNEL_RECV:
        c = cause_of(e);
        CHECK_EQ(c->kind, ASX_EVENT_CHANNEL_SEND);
        CHECK_EQ(c->object, e->object);
        CHECK_EQ(c->a, e->a); /* of the same message */
        break;
    case ASX_EVENT_CANCEL_MASK:
    case ASX_EVENT_REGION_OPEN:
    case ASX_EVENT_TASK_COMPLETE:
        CHECK_EQ(e->cause, 0);
        break;
    default:
        CHECK(e->cause < e->seq);
        break;
    }
}

ASX_TEST(every_effect_names_its_cause)
{
    for (int real = 0; real < 2; real++) {
        run_recorded(real ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL);
        for (size_t i = 1; i <= events_len; i++)
            check_cause(&events[i]);
    }
}

/* ---- lives ---------------------------------------------------------------------------------- */

enum { TASKS_MAX = 64 };

/* Of every task: spawn first, states along the machine, runs and parks in turn, complete last. */
ASX_TEST(the_life_of_a_task_is_told_in_order)
{
    run_recorded(ASX_CLOCK_VIRTUAL);
    int state[TASKS_MAX];
    bool running[TASKS_MAX] = { false };
    memset(state, -1, sizeof state);
    for (size_t i = 1; i <= events_len; i++) {
        const asx_event *e = &events[i];
        CHECK(e->object < TASKS_MAX || e->kind < ASX_EVENT_TASK_SPAWN);
        switch (e->kind) {
        case ASX_EVENT_TASK_SPAWN:
            CHECK_EQ(state[e->object], -1);
            state[e->object] = ASX_TASK_CREATED;
            break;
        case ASX_EVENT_TASK_STATE:
            CHECK_EQ(state[e->object], (int)e->a);
            CHECK_STATUS(asx_task_transition_legal((asx_task_state)e->a, (asx_task_state)e->b),
                         ASX_OK);
            state[e->object] = (int)e->b;
            break;
        case ASX_EVENT_TASK_RUN:
            CHECK(!running[e->object]);
            running[e->object] = true;
            break;
        case ASX_EVENT_TASK_PARK:
        case ASX_EVENT_TASK_YIELD:
            CHECK(running[e->object]);
            running[e->object] = false;
            break;
        case ASX_EVENT_TASK_COMPLETE:
            CHECK_EQ(state[e->object], ASX_TASK_COMPLETED);
            CHECK(running[e->object]);
            running[e->object] = false;
            break;
        default:
            break;
        }
    }
    for (int i = 0; i < TASKS_MAX; i++)
        CHECK(state[i] == -1 || state[i] == ASX_TASK_COMPLETED);
}

static size_t count(uint32_t kind, uint64_t object)
{
    size_t n = 0;
    for (size_t i = 1; i <= events_len; i++)
        n += events[i].kind == kind && (object == 0 || events[i].object == object);
    return n;
}

ASX_TEST(a_region_is_told_from_open_to_report)
{
    run_recorded(ASX_CLOCK_VIRTUAL);
    CHECK_EQ(count(ASX_EVENT_REGION_OPEN, 0), 3); /* the root and two */
    CHECK_EQ(count(ASX_EVENT_REGION_REPORT, 0), 3);
    CHECK_EQ(count(ASX_EVENT_REGION_CANCEL, 0), 1);
    CHECK_EQ(count(ASX_EVENT_REGION_CANCEL, 3), 1);
    CHECK_EQ(count(ASX_EVENT_FINALIZER_RUN, 3), 1);
    CHECK_EQ(count(ASX_EVENT_CANCEL_REQUEST, 0), 1);
    CHECK_EQ(count(ASX_EVENT_CANCEL_ACK, 0), 1);
    CHECK_EQ(count(ASX_EVENT_TIMER_ARM, 0), count(ASX_EVENT_TIMER_FIRE, 0));
    CHECK_EQ(events[1].kind, ASX_EVENT_RUN_BEGIN);
    CHECK_EQ(events[events_len].kind, ASX_EVENT_RUN_END);
    asx_region_state state[8];
    for (int i = 0; i < 8; i++)
        state[i] = ASX_REGION_OPEN;
    for (size_t i = 1; i <= events_len; i++) {
        const asx_event *e = &events[i];
        if (e->kind != ASX_EVENT_REGION_STATE)
            continue;
        CHECK_EQ(state[e->object], (asx_region_state)e->a);
        state[e->object] = (asx_region_state)e->b;
    }
    for (int i = 1; i <= 3; i++)
        CHECK_EQ(state[i], ASX_REGION_CLOSED);
}

/* A task that stands in a lane when it is cancelled runs next because of that. */
static asx_status gives_way_twice(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_E_CANCELLED);
    return ASX_OK;
}

static asx_status cancels_in_its_lane(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, gives_way_twice, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(the_run_that_follows_a_cancel_names_it_as_its_cause)
{
    asx_runtime *rt;
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    size_t request = 0, run = 0;
    config.trace = true;
    events_len = 0;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_observe(rt, record, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, cancels_in_its_lane, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    for (size_t i = 1; i <= events_len; i++) {
        if (events[i].kind == ASX_EVENT_CANCEL_REQUEST)
            request = i;
        if (events[i].kind == ASX_EVENT_TASK_RUN && request != 0 && run == 0 &&
            events[i].object == events[request].object)
            run = i;
    }
    CHECK_NE(run, 0);
    CHECK_EQ(events[run].cause, request);
}

/* A wake from outside, after a timer that woke nobody, is caused by nothing in the run. */
static asx_waker from_outside;

static void wakes_nobody(void *arg)
{
    (void)arg;
}

static asx_status waits_for_outside(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_cx_waker(cx, &from_outside), ASX_OK);
    return asx_wait_external(cx);
}

ASX_TEST(a_wake_from_outside_has_no_cause)
{
    asx_runtime *rt;
    asx_timer_handle timer;
    asx_waker none = { wakes_nobody, NULL };
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.trace = true;
    events_len = 0;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_observe(rt, record, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_start(rt, waits_for_outside, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_E_WOULD_BLOCK);
    CHECK_STATUS(asx_timer_register(asx_runtime_timers(rt), ASX_MS, none, &timer), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(rt, 2 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_E_WOULD_BLOCK);
    CHECK_EQ(events[events_len].kind, ASX_EVENT_TIMER_FIRE);
    from_outside.wake(from_outside.arg);
    CHECK_EQ(events[events_len].kind, ASX_EVENT_TASK_WAKE);
    CHECK_EQ(events[events_len].cause, 0);
    CHECK_STATUS(asx_runtime_step(rt, 0, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}
