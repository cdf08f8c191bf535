/* supervisor.c - a call that starts, watches, restarts and stops children.
 *
 * Regions, from the outside in:
 *
 *     outer       the sentinel, a poll task that waits for its cancel and tells the supervisor
 *       inner     opened under a mask, so that no cancel comes in as long as it lasts:
 *                 the channel of events and the watchers
 *         child   one for each run of a child: its task, and what that starts there
 *
 * So a cancel of the supervisor does not reach the children by itself: the sentinel sends STOP, and
 * the supervisor stops them in order. The mask is bounded like any other. When it does not last,
 * the cancel comes in to all children at once, and the supervisor goes on closing them in order.
 *
 * Events. A watcher joins the task of one run and sends (child, run). Each sends once; one that
 * tells of a run that the supervisor has stopped itself is received before the next run begins, so
 * there are never more events than children, one STOP and one TICK, and the channel has room for
 * them.
 *
 * A child, by the table below:
 *
 *     WAITING --start--> RUNNING --end, cancel--> STOPPING --closed--> ENDED --restart--> WAITING
 *
 *     start_child: WAITING -> RUNNING | ENDED      stop_child: RUNNING -> STOPPING -> ENDED
 *     again: ENDED -> WAITING
 *
 *     RUNNING   its region is open, its watcher has not been heard
 *     ENDED     its region is closed and its watcher was heard; `outcome` is of its last run
 *
 * Restarts. The times of the last restarts_max restarts are kept in a ring; the one that would be
 * the restarts_max + 1st within the period is refused. A start that fails while restarting is an
 * end like any other, and so a restart of its own.
 */
#include <asx/channel.h>
#include <asx/supervisor.h>
#include <asx/sync.h>

#include <string.h>

#include "sched/engine.h"

#define STOP UINT32_MAX
#define TICK (UINT32_MAX - 1)
#define STOP_DEFAULT_NS (5 * ASX_SEC)

typedef struct supervisor supervisor;

typedef struct event {
    uint32_t child; /* or STOP, or TICK: a backoff is over */
    uint32_t run;
} event;

typedef struct child {
    supervisor *of;
    const asx_supervised *spec;
    asx_supervised_state state;
    asx_region region;
    asx_task task;
    asx_task watcher;
    asx_join_result result; /* written by the watcher before it sends */
    bool heard;             /* of the end of this run */
    uint64_t heard_at;      /* in what order */
    asx_supervised_end end;
} child;

struct supervisor {
    const asx_supervisor_options *options;
    asx_region outer, inner;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_notify never; /* what the sentinel waits for */
    child *children;
    size_t count;
    asx_time *restarts; /* ring of the last `restarts_max` */
    uint32_t restarts_max;
    uint64_t restart_count;
    asx_time last_restart;
    uint32_t streak; /* restarts in a row that were within a period of each other */
    uint64_t heard_count;
    uint64_t delay_ns; /* the backoff that is waited for */
    bool ticked;       /* it is over */
    bool stop;         /* it was cancelled */
};

const char *asx_supervised_state_str(unsigned state)
{
    static const char *const names[] = {
#define NAME(name, text) text,
        ASX_SUPERVISED_STATE_LIST(NAME)
#undef NAME
    };
    return state < ASX_SUPERVISED_STATE_COUNT ? names[state] : NULL;
}

/* ---- the machine of a child ----------------------------------------------------------------- */

/* X(from, to, what) */
#define CHILD_TRANSITIONS(X)                                                                       \
    X(WAITING, RUNNING, "start")                                                                   \
    X(WAITING, ENDED, "start fails")                                                               \
    X(RUNNING, STOPPING, "end or cancel")                                                          \
    X(STOPPING, ENDED, "closed")                                                                   \
    X(ENDED, WAITING, "restart")

static bool may_move(asx_supervised_state from, asx_supervised_state to)
{
#define MOVE(from_, to_, what)                                                                     \
    if (from == ASX_SUPERVISED_##from_ && to == ASX_SUPERVISED_##to_)                              \
        return true;
    CHILD_TRANSITIONS(MOVE)
#undef MOVE
    return false;
}

static void move(child *c, asx_supervised_state to)
{
    ASX__ASSERT(may_move(c->state, to));
    c->state = to;
    c->end.state = to;
}

/* ---- events --------------------------------------------------------------------------------- */

static asx_poll watch(asx_cx *cx, void *state)
{
    child *c = state;
    asx_join_result result;
    asx_status st = asx_join(cx, &c->task, &result);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    if (st == ASX_OK)
        c->result = result;
    event e = { (uint32_t)(c - c->of->children), c->end.starts };
    ASX_IGNORE(asx_channel_try_send(cx, &c->of->tx, &e)); /* there is room; see above */
    return ASX_POLL_READY;
}

/* Waits for nothing but its cancel, which is that of the supervisor, or the end of the call. */
static asx_poll stand_sentinel(asx_cx *cx, void *state)
{
    supervisor *s = state;
    event e = { STOP, 0 };
    if (asx_notify_wait(cx, &s->never) == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    ASX_IGNORE(asx_channel_try_send(cx, &s->tx, &e));
    return ASX_POLL_READY;
}

/* Outside of the mask, so that a cancel ends it. */
static asx_poll back_off(asx_cx *cx, void *state)
{
    supervisor *s = state;
    asx_status st = asx_sleep(cx, s->delay_ns);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    event e = { st == ASX_E_CANCELLED ? STOP : TICK, 0 }; /* as the sentinel will say, too */
    ASX_IGNORE(asx_channel_try_send(cx, &s->tx, &e));
    return ASX_POLL_READY;
}

static void hear(supervisor *s, const event *e)
{
    if (e->child == TICK) {
        s->ticked = true;
        return;
    }
    if (e->child == STOP) {
        s->stop = true;
        return;
    }
    child *c = &s->children[e->child];
    if (e->run == c->end.starts) {
        c->heard = true;
        c->heard_at = ++s->heard_count;
    }
}

/* ---- one child ------------------------------------------------------------------------------ */

static asx_region_options region_of(const asx_supervised *spec)
{
    asx_region_options options = {
        .name = spec->name,
        .cleanup = spec->stop_ns == ASX_TIME_NEVER ? ASX_CLEANUP_SOFT : ASX_CLEANUP_BOUNDED,
        .cleanup_time_ns = spec->stop_ns != 0 ? spec->stop_ns : STOP_DEFAULT_NS,
    };
    if (spec->stop_ns == ASX_TIME_NEVER)
        options.cleanup_time_ns = 0;
    return options;
}

static asx_outcome failed(asx_status st)
{
    asx_outcome_kind kind = st == ASX_E_CANCELLED ? ASX_OUTCOME_CANCELLED : ASX_OUTCOME_ERR;
    asx_outcome outcome = { kind, st, 0 };
    return outcome;
}

/* Opens its region and starts its task and its watcher. */
static asx_status launch(asx_cx *cx, supervisor *s, child *c)
{
    asx_region_options options = region_of(c->spec);
    options.caps = asx_cx_caps(cx);
    asx_spawn_options spawn = { .name = c->spec->name, .stack_size = c->spec->stack_size };
    asx_status st = asx_region_open_in(cx, &s->inner, &options, &c->region);
    if (st < 0)
        return st;
    c->heard = false;
    c->result = (asx_join_result){ failed(ASX_E_CANCELLED), 0 };
    c->end.starts++;
    st = asx_spawn_task(&c->region, c->spec->fn, c->spec->arg, &spawn, &c->task);
    if (st == ASX_OK) {
        spawn = (asx_spawn_options){ .name = "watcher" };
        st = asx_spawn_poll_task(&s->inner, watch, c, &spawn, &c->watcher);
    }
    if (st < 0)
        ASX_IGNORE(asx_region_close(&c->region, st));
    return st;
}

static asx_status start_child(asx_cx *cx, supervisor *s, child *c)
{
    asx_status st = c->spec->start != NULL ? c->spec->start(cx, c->spec->arg) : ASX_OK;
    if (st == ASX_OK)
        st = launch(cx, s, c);
    if (st < 0) {
        c->end.outcome = failed(st);
        move(c, ASX_SUPERVISED_ENDED);
        return st;
    }
    move(c, ASX_SUPERVISED_RUNNING);
    return ASX_OK;
}

/* Ends the run, if need be by a cancel, and hears its watcher. */
static void stop_child(asx_cx *cx, supervisor *s, child *c)
{
    asx_cancel_reason reason = { .kind = ASX_CANCEL_SHUTDOWN };
    asx_close_report report;
    asx_join_result watched;
    if (c->state != ASX_SUPERVISED_RUNNING)
        return;
    move(c, ASX_SUPERVISED_STOPPING);
    bool by_itself = c->heard;
    asx_status st = asx_region_close_with(&c->region, ASX_OK, &reason, &report);
    c->end.forced += report.tasks_forced != 0;
    asx_close_report_deinit(&report);
    ASX_IGNORE(asx_join(cx, &c->watcher, &watched));
    while (!c->heard) {
        event e;
        if (asx_channel_try_recv(cx, &s->rx, &e) < 0)
            break;
        hear(s, &e);
    }
    c->end.outcome = c->result.outcome;
    if (by_itself && c->result.outcome.kind == ASX_OUTCOME_OK && st < 0 && st != ASX_E_CANCELLED)
        c->end.outcome = failed(st); /* something else in its region */
    move(c, ASX_SUPERVISED_ENDED);
}

/* ---- strategies ----------------------------------------------------------------------------- */

static void stop_from(asx_cx *cx, supervisor *s, size_t first, size_t but)
{
    for (size_t i = s->count; i-- > first;)
        if (i != but)
            stop_child(cx, s, &s->children[i]);
}

static bool wants_restart(const child *c)
{
    if (c->spec->restart == ASX_RESTART_TRANSIENT)
        return c->end.outcome.kind != ASX_OUTCOME_OK;
    return c->spec->restart == ASX_RESTART_PERMANENT;
}

static uint64_t period_of(const supervisor *s)
{
    return s->options->period_ns != 0 ? s->options->period_ns : STOP_DEFAULT_NS;
}

/* One more would be too many: the oldest that is kept was within the period. */
static bool is_spent(const supervisor *s, asx_time now)
{
    if (s->restarts_max == 0)
        return true;
    return s->restart_count >= s->restarts_max &&
           now - s->restarts[s->restart_count % s->restarts_max] <= period_of(s);
}

/* Hears of others meanwhile; a cancel ends it. */
static asx_status wait_for(asx_cx *cx, supervisor *s, uint64_t delay_ns)
{
    s->delay_ns = delay_ns;
    s->ticked = false;
    asx_status st = asx_spawn_poll(&s->outer, "backoff", back_off, s);
    if (st == ASX_E_REGION_NOT_OPEN) { /* the cancel has come; its message is under way */
        s->stop = true;
        return ASX_OK;
    }
    while (st == ASX_OK && !s->ticked && !s->stop) {
        event e;
        st = asx_channel_recv(cx, &s->rx, &e);
        if (st == ASX_OK)
            hear(s, &e);
    }
    return st;
}

/* Doubled for each restart that followed the one before it within the period. */
static uint64_t next_delay(supervisor *s, asx_time now)
{
    uint64_t delay = s->options->backoff_ns;
    uint64_t most = s->options->backoff_max_ns != 0 ? s->options->backoff_max_ns : period_of(s);
    bool soon = s->restart_count != 0 && now - s->last_restart <= period_of(s);
    s->streak = soon ? s->streak + 1 : 0;
    for (uint32_t i = 0; i < s->streak && delay < most; i++)
        delay = delay > UINT64_MAX / 2 ? UINT64_MAX : 2 * delay;
    return delay < most ? delay : most;
}

/* ASX_E_BUDGET_EXHAUSTED; else the restart is on the books, and its delay is over. */
static asx_status admit_restart(asx_cx *cx, supervisor *s)
{
    asx_time now = asx_now(cx);
    if (is_spent(s, now))
        return ASX_E_BUDGET_EXHAUSTED;
    uint64_t delay = s->options->backoff_ns != 0 ? next_delay(s, now) : 0;
    s->restarts[s->restart_count++ % s->restarts_max] = now;
    s->last_restart = now;
    return delay != 0 ? wait_for(cx, s, delay) : ASX_OK;
}

/* Starts those that were stopped for it, and it, in order. A start that fails is an end: the others
 * that are to be started wait for the restart that follows. */
static void start_again(asx_cx *cx, supervisor *s, size_t first, size_t last, size_t *ret_failed)
{
    *ret_failed = SIZE_MAX;
    for (size_t i = first; i <= last; i++) {
        child *c = &s->children[i];
        bool temporary = c->spec->restart == ASX_RESTART_TEMPORARY;
        if (c->state == ASX_SUPERVISED_RUNNING || temporary)
            continue;
        if (c->state == ASX_SUPERVISED_ENDED)
            move(c, ASX_SUPERVISED_WAITING);
        if (start_child(cx, s, c) < 0) {
            *ret_failed = i;
            return;
        }
    }
}

/* The child at `i` has ended by itself. */
static asx_status child_ended(asx_cx *cx, supervisor *s, size_t i)
{
    stop_child(cx, s, &s->children[i]);
    asx_status st = ASX_OK;
    while (i != SIZE_MAX && wants_restart(&s->children[i]) && !s->stop) {
        asx_strategy how = s->options->strategy;
        size_t first = how == ASX_ONE_FOR_ALL ? 0 : i;
        size_t last = how == ASX_ONE_FOR_ONE ? i : s->count - 1;
        if (!is_spent(s, asx_now(cx)) && how != ASX_ONE_FOR_ONE)
            stop_from(cx, s, first, i);
        st = admit_restart(cx, s);
        if (st < 0)
            return st;
        if (!s->stop)
            start_again(cx, s, first, last, &i);
    }
    return st;
}

/* ---- the call ------------------------------------------------------------------------------- */

static size_t next_heard(const supervisor *s)
{
    size_t next = SIZE_MAX;
    for (size_t i = 0; i < s->count; i++) {
        const child *c = &s->children[i];
        if (c->state == ASX_SUPERVISED_RUNNING && c->heard &&
            (next == SIZE_MAX || c->heard_at < s->children[next].heard_at))
            next = i;
    }
    return next;
}

static bool some_run(const supervisor *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->children[i].state == ASX_SUPERVISED_RUNNING)
            return true;
    return false;
}

static asx_status supervise(asx_cx *cx, supervisor *s)
{
    asx_status st = ASX_OK;
    for (size_t i = 0; i < s->count && st == ASX_OK; i++)
        st = start_child(cx, s, &s->children[i]);
    while (st == ASX_OK && !s->stop && some_run(s)) {
        size_t ended = next_heard(s);
        event e;
        if (ended != SIZE_MAX) {
            st = child_ended(cx, s, ended);
            continue;
        }
        st = asx_channel_recv(cx, &s->rx, &e);
        if (st == ASX_OK)
            hear(s, &e);
    }
    stop_from(cx, s, 0, SIZE_MAX);
    return st;
}

static asx_status set_up(supervisor *s, const asx_supervised *children)
{
    void *memory;
    uint32_t max = s->options->restarts_max;
    s->restarts_max = max == 0 ? 1 : max == ASX_NO_RESTARTS ? 0 : max;
    size_t size;
    if (__builtin_mul_overflow(s->count, sizeof *s->children, &size))
        return ASX_E_RESOURCE_EXHAUSTED;
    asx_status st = asx_region_alloc(&s->inner, size, &memory);
    if (st < 0)
        return st;
    s->children = memory;
    memset(s->children, 0, size);
    for (size_t i = 0; i < s->count; i++) {
        s->children[i].of = s;
        s->children[i].spec = &children[i];
    }
    st = asx_region_alloc(&s->inner, ((size_t)s->restarts_max + 1) * sizeof *s->restarts, &memory);
    if (st < 0)
        return st;
    s->restarts = memory;
    st = asx_channel_create(&s->inner, sizeof(event), s->count + 2, NULL, &s->tx, &s->rx);
    if (st < 0)
        return st;
    st = asx_notify_create(&s->outer, NULL, &s->never);
    return st < 0 ? st : asx_spawn_poll(&s->outer, "sentinel", stand_sentinel, s);
}

/* Masked. */
static asx_status in_inner(asx_cx *cx, supervisor *s, const asx_supervised *children,
                           asx_supervised_end *ret_ends)
{
    asx_region_options options = { .name = "children", .policy = ASX_POLICY_COLLECT,
                                   .caps = asx_cx_caps(cx) };
    asx_cancel_reason over = { .kind = ASX_CANCEL_SHUTDOWN };
    asx_status st = asx_region_open_in(cx, &s->outer, &options, &s->inner);
    if (st < 0)
        return st;
    st = set_up(s, children);
    if (st == ASX_OK)
        st = supervise(cx, s);
    for (size_t i = 0; ret_ends != NULL && s->children != NULL && i < s->count; i++)
        ret_ends[i] = s->children[i].end;
    ASX_IGNORE(asx_region_close_with(&s->inner, ASX_OK, &over, NULL));
    return st;
}

static asx_status enter(asx_cx *cx, uint32_t caps)
{
    asx_runtime *rt;
    asx__task *task;
    asx_status st = asx__cx_enter(cx, caps, &task, &rt);
    if (st < 0) {
        ASX__GATE_CX(cx, enter(&in, caps));
        return st;
    }
    if (task->flags & (ASX__T_POLL | ASX__T_EXPLORED))
        return ASX_E_NOT_SUPPORTED;
    return rt->in_cleanup ? ASX_E_WRONG_CONTEXT : ASX_OK;
}

static bool is_sound(const asx_supervised *children, size_t count,
                     const asx_supervisor_options *options)
{
    if ((children == NULL && count != 0) || count >= TICK)
        return false;
    for (size_t i = 0; i < count; i++)
        if (children[i].fn == NULL || (unsigned)children[i].restart > ASX_RESTART_TEMPORARY)
            return false;
    return (unsigned)options->strategy <= ASX_REST_FOR_ONE;
}

asx_status asx_supervise(asx_cx *cx, const asx_supervised *children, size_t count,
                         const asx_supervisor_options *options, asx_supervised_end *ret_ends)
{
    static const asx_supervisor_options plain;
    supervisor s = { .options = options != NULL ? options : &plain, .count = count };
    uint32_t caps = ASX_CAP_SUPERVISE | ASX_CAP_SPAWN | ASX_CAP_CHANNEL;
    for (size_t i = 0; ret_ends != NULL && i < count; i++)
        ret_ends[i] = (asx_supervised_end){ 0 };
    asx_status st = enter(cx, s.options->backoff_ns != 0 ? caps | ASX_CAP_TIME : caps);
    if (st < 0)
        return st;
    if (!is_sound(children, count, s.options))
        return ASX_E_INVALID_ARGUMENT;
    st = asx_checkpoint(cx);
    if (st < 0 || count == 0)
        return st;
    asx_region_options scope = { .name = s.options->name != NULL ? s.options->name : "supervisor",
                                 .policy = ASX_POLICY_COLLECT, .caps = asx_cx_caps(cx) };
    asx_cancel_reason over = { .kind = ASX_CANCEL_SHUTDOWN };
    st = asx_region_open(cx, &scope, &s.outer);
    if (st < 0)
        return st;
    st = asx_mask_begin(cx, 0);
    if (st == ASX_OK) {
        st = in_inner(cx, &s, children, ret_ends);
        (void)asx_mask_end(cx);
    }
    ASX_IGNORE(asx_region_close_with(&s.outer, ASX_OK, &over, NULL));
    asx_status told = asx_checkpoint(cx);
    return told < 0 ? told : st;
}
