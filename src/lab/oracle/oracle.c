/* oracle.c - the rules of the runtime, event by event (see oracle.h). */
#include "lab/oracle/oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <asx/cancel.h>
#include <asx/obligation.h>
#include <asx/outcome.h>
#include <asx/state.h>

#include "lab/oracle/wait_graph.h"
#include "trace/trace.h"

#define LIVELOCK_MAX 200000
#define FUTURELOCK_MAX 100000
#define FUTURELOCK_LOOK 4096 /* dispatches between two looks */
#define GAP_MAX 65536        /* serials of a table that may be missing, all together */

typedef struct seen_task {
    uint64_t region;
    uint64_t wait_object;
    uint64_t last_run;   /* dispatches then */
    uint32_t holds;      /* obligations */
    uint8_t state;       /* asx_task_state */
    uint8_t waits;       /* ASX__WAIT_..., 0: it does not */
    bool present, ended, requested, acknowledged, forced, lost_race, woken;
} seen_task;

typedef struct seen_region {
    uint64_t parent;
    uint64_t owner;      /* the task that opened it */
    uint64_t tasks, regions, obligations; /* alive in it */
    uint64_t finalizer;  /* the last that ran */
    bool present, closed, disturbed;      /* somebody in it was forced or panicked */
} seen_region;

/* Messages `next` .. `sent` are queued, after those that were put back. */
typedef struct seen_channel {
    uint64_t capacity, sent, next;
    uint64_t nacked[ASX__NACKED_MAX];
    uint32_t nacked_len;
    bool present, gone;  /* its messages were discarded, or too many put back: not judged */
} seen_channel;

typedef struct seen_obligation {
    uint64_t owner;
    uint64_t object;     /* of a guard of a read-write lock or a semaphore: its serial */
    uint32_t guards;     /* the event that tells of such objects; 0: it is another */
    bool writes;         /* the read-write lock */
    uint8_t kind;
    bool present, live;
    bool leaked;         /* and may still be aborted, once: a tracked permit is */
} seen_obligation;

/* A mutex, or a once. */
typedef struct seen_lock {
    uint64_t holder;     /* who has locked it, or calls; 0: nobody */
    bool present;
} seen_lock;

typedef struct seen_timer {
    uint64_t deadline;
    bool present, live;
} seen_timer;

static const char *const names[] = {
#define ORACLE_NAME(name, text, rule) text,
    ASX_ORACLE_LIST(ORACLE_NAME)
#undef ORACLE_NAME
};
static const char *const rules[] = {
#define ORACLE_RULE(name, text, rule) rule,
    ASX_ORACLE_LIST(ORACLE_RULE)
#undef ORACLE_RULE
};

typedef unsigned long long ull;

const char *asx_oracle_str(unsigned oracle)
{
    return oracle < ASX_ORACLE_COUNT ? names[oracle] : NULL;
}

const char *asx_oracle_rule(unsigned oracle)
{
    return oracle < ASX_ORACLE_COUNT ? rules[oracle] : NULL;
}

void asx__oracles_complain(asx__oracles *o, asx_oracle oracle, const char *format, ...)
{
    va_list args;
    if (o->complaint.oracle != ASX_ORACLE_NONE)
        return;
    o->complaint.oracle = oracle;
    o->complaint.seq = o->ended ? 0 : o->now_seq;
    va_start(args, format);
    (void)vsnprintf(o->complaint.text, sizeof o->complaint.text, format, args);
    va_end(args);
}

/* ---- records -------------------------------------------------------------------------------- */

static void *get(const asx__seen_table *t, uint64_t serial)
{
    uint64_t index = serial - t->base;
    return serial != 0 && index < t->len ? t->at + index * t->size : NULL;
}

/* To be written as a whole. NULL: no memory, or a number that does not fit in; then it is not
 * judged. A trace may say anything: the table grows with what was put into it, not with the
 * numbers. */
static void *put(asx__seen_table *t, uint64_t serial)
{
    if (t->len == 0)
        t->base = serial;
    uint64_t index = serial - t->base;
    if (serial == 0 || serial < t->base || index > t->puts + GAP_MAX)
        return NULL;
    t->puts++;
    if (ASX__UNLIKELY(index >= t->cap)) {
        size_t cap = t->cap != 0 ? t->cap * 2 : 4;
        while (cap <= index)
            cap *= 2;
        char *larger = realloc(t->at, cap * t->size);
        if (larger == NULL)
            return NULL;
        t->at = larger;
        t->cap = cap;
    }
    if (ASX__UNLIKELY(index > t->len))
        memset(t->at + t->len * t->size, 0, ((size_t)index - t->len) * t->size);
    if (index >= t->len)
        t->len = (size_t)index + 1;
    return t->at + index * t->size;
}

static seen_task *task_of(const asx__oracles *o, uint64_t serial)
{
    seen_task *t = get(&o->tasks, serial);
    return t != NULL && t->present ? t : NULL;
}

static seen_region *region_of(const asx__oracles *o, uint64_t serial)
{
    seen_region *r = get(&o->regions, serial);
    return r != NULL && r->present ? r : NULL;
}

uint64_t asx__oracles_region_of(const asx__oracles *o, uint64_t task)
{
    const seen_task *t = task_of(o, task);
    return t != NULL ? t->region : 0;
}

uint64_t asx__oracles_owner_of(const asx__oracles *o, uint64_t region)
{
    const seen_region *r = region_of(o, region);
    return r != NULL ? r->owner : 0;
}

void asx__oracles_init(asx__oracles *o)
{
    memset(o, 0, sizeof *o);
    o->tasks.size = sizeof(seen_task);
    o->regions.size = sizeof(seen_region);
    o->channels.size = sizeof(seen_channel);
    o->obligations.size = sizeof(seen_obligation);
    o->timers.size = sizeof(seen_timer);
    o->mutexes.size = o->onces.size = sizeof(seen_lock);
    o->livelock_max = LIVELOCK_MAX;
    o->futurelock_max = FUTURELOCK_MAX;
}

void asx__oracles_deinit(asx__oracles *o)
{
    free(o->tasks.at);
    free(o->regions.at);
    free(o->channels.at);
    free(o->obligations.at);
    free(o->timers.at);
    free(o->mutexes.at);
    free(o->onces.at);
    free(o->ghosts);
    free(o->races);
    memset(o, 0, sizeof *o);
}

void asx__oracles_begin(asx__oracles *o)
{
    o->complaint.oracle = ASX_ORACLE_NONE;
    asx__seen_table *tables[] = { &o->tasks, &o->regions, &o->channels, &o->obligations,
                                  &o->timers, &o->mutexes, &o->onces };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        tables[i]->len = tables[i]->puts = 0;
    o->now_seq = o->dispatches = o->idle_events = 0;
    o->tasks_live = o->obligations_live = o->last_obligation = 0;
    o->ended = o->stuck = o->held = false;
    o->waiting[0] = '\0';
    o->watches_len = 0;
    o->ghosts_len = 0;
    o->others = o->races_on = o->races_strict = false;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static void hear_spawn(asx__oracles *o, const asx_event *e)
{
    seen_task *t = put(&o->tasks, e->object);
    seen_region *r = region_of(o, e->a);
    if (t == NULL)
        return;
    *t = (seen_task){ .present = true, .region = e->a, .last_run = o->dispatches };
    o->tasks_live++;
    if (r == NULL)
        return;
    r->tasks++;
    if (ASX__UNLIKELY(r->closed))
        asx__oracles_complain(o, ASX_ORACLE_QUIESCENCE, "task %llu was started in region %llu, "
                              "which is closed", (ull)e->object, (ull)e->a);
}

static void hear_state(asx__oracles *o, const asx_event *e)
{
    seen_task *t = task_of(o, e->object);
    if (t == NULL)
        return;
    bool legal = e->a == t->state && e->b < ASX_TASK_STATE_COUNT &&
                 asx_task_transition_legal((asx_task_state)e->a, (asx_task_state)e->b) == ASX_OK;
    bool in_order = (e->b != ASX_TASK_CANCEL_REQUESTED || t->requested) &&
                    (e->b != ASX_TASK_CANCELLING || t->acknowledged);
    if (ASX__UNLIKELY(!legal || !in_order))
        asx__oracles_complain(o, ASX_ORACLE_CANCEL_ORDER,
                              "task %llu went from state %llu to %llu, it was in %u%s",
                              (ull)e->object, (ull)e->a, (ull)e->b, t->state,
                              legal ? " and nobody had asked for it" : "");
    t->state = (uint8_t)e->b;
}

static void hear_cancel(asx__oracles *o, const asx_event *e)
{
    seen_task *t = task_of(o, e->object);
    if (t == NULL)
        return;
    bool wrong = t->ended;
    switch (e->kind) {
    case ASX_EVENT_CANCEL_REQUEST:
        wrong = wrong || t->requested;
        t->requested = true;
        t->lost_race = e->a == ASX_CANCEL_RACE_LOST;
        break;
    case ASX_EVENT_CANCEL_STRENGTHEN:
        wrong = wrong || !t->requested;
        break;
    default:
        wrong = wrong || !t->requested || t->acknowledged;
        t->acknowledged = true;
        break;
    }
    if (wrong)
        asx__oracles_complain(o, ASX_ORACLE_CANCEL_ORDER, "%s of task %llu out of order",
                              asx_event_kind_str(e->kind), (ull)e->object);
}

static void hear_complete(asx__oracles *o, const asx_event *e)
{
    seen_task *t = task_of(o, e->object);
    if (t == NULL)
        return;
    seen_region *r = region_of(o, t->region);
    if (t->ended)
        asx__oracles_complain(o, ASX_ORACLE_CANCEL_ORDER, "task %llu ended twice",
                              (ull)e->object);
    if (e->a == ASX_OUTCOME_CANCELLED && !t->acknowledged && !t->forced)
        asx__oracles_complain(o, ASX_ORACLE_CANCEL_ORDER,
                              "task %llu ended Cancelled and had not acknowledged",
                              (ull)e->object);
    if (t->holds != 0)
        asx__oracles_complain(o, ASX_ORACLE_OBLIGATION_LEAK,
                              "task %llu ended and held %u obligations", (ull)e->object,
                              t->holds);
    o->tasks_live -= !t->ended;
    t->ended = true;
    t->waits = 0;
    if (r != NULL && r->tasks != 0)
        r->tasks--;
}

/* A task that holds something others may wait for, and has not run for long. */
static void look_for_futurelock(asx__oracles *o)
{
    bool somebody_waits = false;
    for (size_t i = 0; i < o->tasks.len; i++) {
        const seen_task *t = get(&o->tasks, o->tasks.base + i);
        somebody_waits = somebody_waits || t->waits == ASX__WAIT_CHANNEL_RESERVE ||
                         t->waits == ASX__WAIT_CHANNEL_RECV;
    }
    for (size_t i = 0; i < o->tasks.len && somebody_waits; i++) {
        const seen_task *t = get(&o->tasks, o->tasks.base + i);
        if (t->present && !t->ended && t->holds != 0 &&
            o->dispatches - t->last_run > o->futurelock_max)
            asx__oracles_complain(o, ASX_ORACLE_FUTURELOCK,
                                  "task %llu holds %u obligations and was not run for %llu "
                                  "dispatches (it waits: %s)",
                                  (ull)(o->tasks.base + i), t->holds,
                                  (ull)(o->dispatches - t->last_run), asx__wait_str(t->waits));
    }
}

/* The schedule goes on; nothing is done by that. NULL: the task is not known. */
static inline seen_task *hear_switch(asx__oracles *o, const asx_event *e)
{
    if (ASX__UNLIKELY(++o->idle_events == o->livelock_max))
        asx__oracles_complain(o, ASX_ORACLE_LIVELOCK,
                              "%llu switches at time %llu and nothing was done; task %llu runs",
                              (ull)o->idle_events, (ull)e->time, (ull)e->object);
    return task_of(o, e->object);
}

static void hear_run(asx__oracles *o, const asx_event *e)
{
    seen_task *t = hear_switch(o, e);
    if (ASX__UNLIKELY(++o->dispatches % FUTURELOCK_LOOK == 0))
        look_for_futurelock(o);
    if (t == NULL)
        return;
    t->last_run = o->dispatches;
    t->woken = false;
    t->waits = 0;
}

static void hear_park(asx__oracles *o, const asx_event *e)
{
    seen_task *t = hear_switch(o, e);
    if (t == NULL)
        return;
    t->waits = (uint8_t)e->a;
    t->wait_object = e->b;
    asx__ghosts_waits(o, e->object);
}

static void hear_wake(asx__oracles *o, const asx_event *e)
{
    seen_task *t = hear_switch(o, e);
    if (t == NULL)
        return;
    t->waits = 0;
    t->woken = !o->partial;
}

static void hear_yield(asx__oracles *o, const asx_event *e)
{
    if (hear_switch(o, e) != NULL)
        asx__ghosts_waits(o, e->object);
}

/* ---- regions -------------------------------------------------------------------------------- */

static void hear_open(asx__oracles *o, const asx_event *e)
{
    seen_region *r = put(&o->regions, e->object);
    if (r == NULL)
        return;
    *r = (seen_region){ .present = true, .parent = e->a, .owner = e->task };
    seen_region *parent = region_of(o, e->a);
    if (parent != NULL)
        parent->regions++;
}

/* A task of the region that is alive, one that lost a race first. */
static void complain_of_task(asx__oracles *o, uint64_t region)
{
    for (int losers = 1; losers >= 0; losers--)
        for (size_t i = 0; i < o->tasks.len; i++) {
            const seen_task *t = get(&o->tasks, o->tasks.base + i);
            if (!t->present || t->ended || t->region != region || t->lost_race < losers)
                continue;
            asx__oracles_complain(o, losers ? ASX_ORACLE_LOSERS : ASX_ORACLE_QUIESCENCE,
                                  "region %llu is closed and task %llu of it is alive",
                                  (ull)region, (ull)(o->tasks.base + i));
            return;
        }
}

static void hear_closed(asx__oracles *o, const asx_event *e, seen_region *r)
{
    if (r->tasks != 0)
        complain_of_task(o, e->object);
    if (r->regions != 0)
        asx__oracles_complain(o, ASX_ORACLE_QUIESCENCE,
                              "region %llu is closed and %llu regions in it are not",
                              (ull)e->object, (ull)r->regions);
    if (r->obligations != 0)
        asx__oracles_complain(o, ASX_ORACLE_QUIESCENCE,
                              "region %llu is closed and %llu obligations of it are reserved",
                              (ull)e->object, (ull)r->obligations);
    if (r->finalizer > 1 && !r->disturbed)
        asx__oracles_complain(o, ASX_ORACLE_FINALIZERS,
                              "region %llu is closed and finalizer %llu has not run",
                              (ull)e->object, (ull)(r->finalizer - 1));
    seen_region *parent = region_of(o, r->parent);
    if (parent != NULL && parent->regions != 0 && !r->closed)
        parent->regions--;
    r->closed = true;
}

static void hear_region_state(asx__oracles *o, const asx_event *e)
{
    seen_region *r = region_of(o, e->object);
    if (r == NULL)
        return;
    if (ASX__UNLIKELY(
            r->closed || e->a >= ASX_REGION_STATE_COUNT || e->b >= ASX_REGION_STATE_COUNT ||
            asx_region_transition_legal((asx_region_state)e->a, (asx_region_state)e->b) < 0))
        asx__oracles_complain(o, ASX_ORACLE_QUIESCENCE, "region %llu went from state %llu to %llu",
                              (ull)e->object, (ull)e->a, (ull)e->b);
    if (e->b == ASX_REGION_CLOSED)
        hear_closed(o, e, r);
}

static void hear_finalizer(asx__oracles *o, const asx_event *e)
{
    seen_region *r = region_of(o, e->object);
    if (r == NULL)
        return;
    if (r->closed || (r->finalizer != 0 && e->a != r->finalizer - 1))
        asx__oracles_complain(o, ASX_ORACLE_FINALIZERS,
                              "finalizer %llu of region %llu ran after number %llu%s", (ull)e->a,
                              (ull)e->object, (ull)r->finalizer,
                              r->closed ? " and the close" : "");
    r->finalizer = e->a;
}

static void hear_disturbance(asx__oracles *o, const asx_event *e)
{
    seen_task *t = task_of(o, e->object);
    seen_region *r = t != NULL ? region_of(o, t->region) : NULL;
    if (t != NULL)
        t->forced = t->forced || e->kind == ASX_EVENT_TASK_FORCED;
    if (r != NULL)
        r->disturbed = true;
}

/* ---- obligations ---------------------------------------------------------------------------- */

static bool is_regions(uint64_t kind)
{
    return kind == ASX_OBLIGATION_KIND_PLAIN || kind == ASX_OBLIGATION_KIND_LEASE;
}

static void hear_reserve(asx__oracles *o, const asx_event *e)
{
    seen_obligation *b = put(&o->obligations, e->object);
    if (b == NULL)
        return;
    *b = (seen_obligation){ .present = true, .live = true, .kind = (uint8_t)e->a, .owner = e->b };
    o->obligations_live++;
    o->last_obligation = e->object;
    seen_task *t = is_regions(e->a) ? NULL : task_of(o, e->b);
    seen_region *r = is_regions(e->a) ? region_of(o, e->b) : NULL;
    if (t != NULL)
        t->holds++;
    if (r != NULL)
        r->obligations++;
}

static void hear_resolve(asx__oracles *o, const asx_event *e)
{
    seen_obligation *b = get(&o->obligations, e->object);
    if (b == NULL || !b->present)
        return;
    if (!b->live && !(b->leaked && e->kind == ASX_EVENT_OBLIGATION_ABORT))
        asx__oracles_complain(o, ASX_ORACLE_OBLIGATION_LEAK, "obligation %llu was resolved twice",
                              (ull)e->object);
    o->obligations_live -= b->live;
    b->leaked = b->live && e->kind == ASX_EVENT_OBLIGATION_LEAK;
    seen_task *t = is_regions(b->kind) ? NULL : task_of(o, b->owner);
    seen_region *r = is_regions(b->kind) ? region_of(o, b->owner) : NULL;
    if (b->live && t != NULL && t->holds != 0)
        t->holds--;
    if (b->live && r != NULL && r->obligations != 0)
        r->obligations--;
    b->live = false;
}

/* ---- locks ---------------------------------------------------------------------------------- */

static asx__seen_table *locks_of(asx__oracles *o, uint32_t kind)
{
    return kind >= ASX_EVENT_ONCE_CREATE ? &o->onces : &o->mutexes;
}

static void hear_lock_made(asx__oracles *o, const asx_event *e)
{
    seen_lock *l = put(locks_of(o, e->kind), e->object);
    if (l != NULL)
        *l = (seen_lock){ .present = true };
}

/* Who waits for a condition has given back its mutex, and keeps the guard. */
static void hear_lock(asx__oracles *o, const asx_event *e)
{
    seen_lock *l = get(locks_of(o, e->kind), e->object);
    bool takes = e->kind == ASX_EVENT_MUTEX_LOCK || e->kind == ASX_EVENT_ONCE_BEGIN;
    if (l != NULL)
        l->holder = takes ? e->task : 0;
}

/* Of the obligation that was reserved just before. */
static void hear_guard(asx__oracles *o, const asx_event *e)
{
    seen_obligation *b = get(&o->obligations, o->last_obligation);
    if (b == NULL || !b->live || b->guards != 0 || b->owner != e->task)
        return;
    b->guards = e->kind;
    b->object = e->object;
    b->writes = e->kind == ASX_EVENT_RWLOCK_LOCK && e->a != 0;
}

/* ---- channels ------------------------------------------------------------------------------- */

static uint64_t queued(const seen_channel *c)
{
    return c->nacked_len + (c->sent + 1 - c->next);
}

/* NULL: it is not judged. */
static seen_channel *channel_of(const asx__oracles *o, uint64_t serial)
{
    seen_channel *c = get(&o->channels, serial);
    return c != NULL && c->present ? c : NULL;
}

static void hear_create(asx__oracles *o, const asx_event *e)
{
    seen_channel *c = put(&o->channels, e->object);
    if (c != NULL)
        *c = (seen_channel){ .present = true, .capacity = e->a, .next = 1 };
}

static void hear_send(asx__oracles *o, const asx_event *e)
{
    seen_channel *c = channel_of(o, e->object);
    if (c == NULL)
        return;
    c->sent++;
    bool other = (e->b != queued(c)) | (e->b > c->capacity);
    if (ASX__UNLIKELY((e->a != c->sent) | (!c->gone & other)))
        asx__oracles_complain(o, ASX_ORACLE_CHANNEL,
                              "channel %llu: message %llu sent, %llu queued; it should be %llu, "
                              "%llu of %llu", (ull)e->object, (ull)e->a, (ull)e->b, (ull)c->sent,
                              (ull)queued(c), (ull)c->capacity);
    c->sent = e->a;
}

static void hear_take(asx__oracles *o, const asx_event *e)
{
    seen_channel *c = channel_of(o, e->object);
    if (c == NULL || c->gone)
        return;
    if (queued(c) == 0) {
        asx__oracles_complain(o, ASX_ORACLE_CHANNEL,
                              "channel %llu: message %llu received, and none was queued",
                              (ull)e->object, (ull)e->a);
        return;
    }
    uint64_t expected = c->nacked_len != 0 ? c->nacked[--c->nacked_len] : c->next++;
    bool recv = e->kind == ASX_EVENT_CHANNEL_RECV;
    if (ASX__UNLIKELY(e->a != expected || (recv && e->b != queued(c))))
        asx__oracles_complain(o, ASX_ORACLE_CHANNEL,
                              "channel %llu: message %llu received, %llu queued; it should be "
                              "%llu, %llu", (ull)e->object, (ull)e->a, (ull)e->b, (ull)expected,
                              (ull)queued(c));
}

static void hear_nack(asx__oracles *o, const asx_event *e)
{
    seen_channel *c = channel_of(o, e->object);
    if (c == NULL || c->gone)
        return;
    if (c->nacked_len < ASX__NACKED_MAX)
        c->nacked[c->nacked_len++] = e->a;
    else
        c->gone = true;
}

static void hear_discard(asx__oracles *o, const asx_event *e)
{
    seen_channel *c = channel_of(o, e->object);
    if (c != NULL)
        c->gone = true;
}

/* ---- time ----------------------------------------------------------------------------------- */

static void hear_timer(asx__oracles *o, const asx_event *e)
{
    seen_timer *t;
    if (e->kind == ASX_EVENT_TIMER_ARM) {
        t = put(&o->timers, e->object);
        if (t != NULL)
            *t = (seen_timer){ .present = true, .live = true, .deadline = e->a };
        return;
    }
    if (e->kind == ASX_EVENT_TIMER_FIRE && e->time < e->a)
        asx__oracles_complain(o, ASX_ORACLE_DEADLINE, "timer %llu for %llu fired at %llu",
                              (ull)e->object, (ull)e->a, (ull)e->time);
    t = get(&o->timers, e->object);
    if (t == NULL || !t->present)
        return;
    if (e->kind == ASX_EVENT_TIMER_FIRE && (!t->live || t->deadline != e->a))
        asx__oracles_complain(o, ASX_ORACLE_DEADLINE,
                              "timer %llu fired for %llu; it was %s for %llu", (ull)e->object,
                              (ull)e->a, t->live ? "armed" : "not armed any more",
                              (ull)t->deadline);
    t->live = false;
}

/* Nothing can run: whoever waits for something that has happened was not told. */
static void look_for_lost_wakeups(asx__oracles *o)
{
    for (size_t i = 0; i < o->tasks.len; i++) {
        const seen_task *t = get(&o->tasks, o->tasks.base + i);
        ull serial = (ull)(o->tasks.base + i);
        if (!t->present || t->ended)
            continue;
        if (t->woken)
            asx__oracles_complain(o, ASX_ORACLE_LOST_WAKEUP, "task %llu was woken and not run",
                                  serial);
        const seen_channel *c = get(&o->channels, t->wait_object);
        const seen_task *other = task_of(o, t->wait_object);
        const seen_region *r = region_of(o, t->wait_object);
        if (t->waits == ASX__WAIT_CHANNEL_RECV && c != NULL && !c->gone && c->present &&
            queued(c) != 0)
            asx__oracles_complain(o, ASX_ORACLE_LOST_WAKEUP,
                                  "task %llu waits for a message of channel %llu, which has %llu",
                                  serial, (ull)t->wait_object, (ull)queued(c));
        if (t->waits == ASX__WAIT_CHANNEL_RESERVE && c != NULL && !c->gone && c->present &&
            queued(c) == 0 && o->obligations_live == 0)
            asx__oracles_complain(o, ASX_ORACLE_LOST_WAKEUP,
                                  "task %llu waits for room in channel %llu, which is empty",
                                  serial, (ull)t->wait_object);
        if ((t->waits == ASX__WAIT_JOIN && other != NULL && other->ended) ||
            (t->waits == ASX__WAIT_REGION_CLOSE && r != NULL && r->closed))
            asx__oracles_complain(o, ASX_ORACLE_LOST_WAKEUP,
                                  "task %llu waits for the end of %s %llu, which was before",
                                  serial, t->waits == ASX__WAIT_JOIN ? "task" : "region",
                                  (ull)t->wait_object);
    }
}

/* Everybody waits and the root is told to shut down: that is how a run ends that cannot go on. Who
 * waits for what is noted now, before they are all told. */
static void hear_region_cancel(asx__oracles *o, const asx_event *e)
{
    const seen_region *r = region_of(o, e->object);
    bool holder = false, waiter = false;
    if (r == NULL || r->parent != 0 || e->a != ASX_CANCEL_SHUTDOWN || e->task != 0 || o->stuck)
        return;
    for (size_t i = 0; i < o->tasks.len; i++) {
        const seen_task *t = get(&o->tasks, o->tasks.base + i);
        if (!t->present || t->ended)
            continue;
        if (t->waits == 0)
            return;
        holder = holder || t->holds != 0;
        waiter = waiter || t->waits == ASX__WAIT_CHANNEL_RESERVE ||
                 t->waits == ASX__WAIT_CHANNEL_RECV;
    }
    o->stuck = true;
    o->held = holder && waiter;
    asx__oracles_describe(o, o->waiting, sizeof o->waiting);
    look_for_lost_wakeups(o);
}

static void hear_advance(asx__oracles *o, const asx_event *e)
{
    for (size_t i = 0; i < o->timers.len && !o->coalesced; i++) {
        const seen_timer *t = get(&o->timers, o->timers.base + i);
        if (t->present && t->live && t->deadline <= e->a && t->deadline < e->b)
            asx__oracles_complain(o, ASX_ORACLE_DEADLINE,
                                  "timer %llu for %llu has not fired, and the clock goes from "
                                  "%llu to %llu", (ull)(o->timers.base + i), (ull)t->deadline,
                                  (ull)e->a, (ull)e->b);
    }
    look_for_lost_wakeups(o);
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* Oracles of the program, and the one that looks for data races. */
static void tell_others(asx__oracles *o, const asx_event *e)
{
    for (unsigned i = 0; i < o->watches_len; i++) {
        const char *wrong = o->watches[i].fn(o->watches[i].ctx, e);
        if (wrong != NULL)
            asx__oracles_complain(o, ASX_ORACLE_USER, "%s", wrong);
    }
    if (o->races_on && e != NULL)
        asx__races_hear(o, e);
}

/* Which of them hears what. */
asx__oracle_hears *const asx__oracles_hearers[ASX__HEARD_KINDS] = {
    [ASX_EVENT_TASK_SPAWN] = hear_spawn,
    [ASX_EVENT_TASK_STATE] = hear_state,
    [ASX_EVENT_TASK_RUN] = hear_run,
    [ASX_EVENT_TASK_PARK] = hear_park,
    [ASX_EVENT_TASK_WAKE] = hear_wake,
    [ASX_EVENT_TASK_YIELD] = hear_yield,
    [ASX_EVENT_TASK_COMPLETE] = hear_complete,
    [ASX_EVENT_TASK_FORCED] = hear_disturbance,
    [ASX_EVENT_TASK_PANIC] = hear_disturbance,
    [ASX_EVENT_CANCEL_REQUEST] = hear_cancel,
    [ASX_EVENT_CANCEL_STRENGTHEN] = hear_cancel,
    [ASX_EVENT_CANCEL_ACK] = hear_cancel,
    [ASX_EVENT_REGION_OPEN] = hear_open,
    [ASX_EVENT_REGION_STATE] = hear_region_state,
    [ASX_EVENT_REGION_CANCEL] = hear_region_cancel,
    [ASX_EVENT_FINALIZER_RUN] = hear_finalizer,
    [ASX_EVENT_OBLIGATION_RESERVE] = hear_reserve,
    [ASX_EVENT_OBLIGATION_COMMIT] = hear_resolve,
    [ASX_EVENT_OBLIGATION_ABORT] = hear_resolve,
    [ASX_EVENT_OBLIGATION_LEAK] = hear_resolve,
    [ASX_EVENT_CHANNEL_CREATE] = hear_create,
    [ASX_EVENT_CHANNEL_SEND] = hear_send,
    [ASX_EVENT_CHANNEL_RECV] = hear_take,
    [ASX_EVENT_CHANNEL_EVICT] = hear_take,
    [ASX_EVENT_CHANNEL_DISCARD] = hear_discard,
    [ASX_EVENT_CHANNEL_NACK] = hear_nack,
    [ASX_EVENT_TIMER_ARM] = hear_timer,
    [ASX_EVENT_TIMER_FIRE] = hear_timer,
    [ASX_EVENT_TIMER_CANCEL] = hear_timer,
    [ASX_EVENT_CLOCK_ADVANCE] = hear_advance,
    [ASX_EVENT_MUTEX_CREATE] = hear_lock_made,
    [ASX_EVENT_MUTEX_LOCK] = hear_lock,
    [ASX_EVENT_MUTEX_UNLOCK] = hear_lock,
    [ASX_EVENT_RWLOCK_LOCK] = hear_guard,
    [ASX_EVENT_SEMAPHORE_ACQUIRE] = hear_guard,
    [ASX_EVENT_ONCE_CREATE] = hear_lock_made,
    [ASX_EVENT_ONCE_BEGIN] = hear_lock,
    [ASX_EVENT_ONCE_END] = hear_lock,
};

void asx__oracles_hear_all(asx__oracles *o, const asx_event *e)
{
    o->now_seq = e->seq;
    tell_others(o, e);
    asx__oracles_hear_own(o, e);
}

uint32_t asx__oracles_held_by(const asx__oracles *o, uint64_t task)
{
    const seen_task *t = get(&o->tasks, task);
    return t != NULL && t->present ? t->holds : 0;
}

bool asx__oracles_end(asx__oracles *o, asx_status status)
{
    o->ended = true;
    tell_others(o, NULL);
    if (status == ASX_E_DEADLOCK)
        asx__oracles_complain(o, o->held ? ASX_ORACLE_FUTURELOCK : ASX_ORACLE_DEADLOCK, "%s",
                              o->waiting);
    if (status == ASX_E_OBLIGATION_LEAKED)
        asx__oracles_complain(o, ASX_ORACLE_OBLIGATION_LEAK,
                              "an obligation was still reserved when its region closed");
    for (size_t i = 0; i < o->tasks.len && o->tasks_live != 0; i++) {
        const seen_task *t = get(&o->tasks, o->tasks.base + i);
        if (t->present && !t->ended)
            asx__oracles_complain(o, ASX_ORACLE_TASK_LEAK, "the run is over and task %llu is not",
                                  (ull)(o->tasks.base + i));
    }
    return o->complaint.oracle != ASX_ORACLE_NONE;
}

/* ---- who waits for whom --------------------------------------------------------------------- */

uint32_t asx__oracles_waits(const asx__oracles *o, uint64_t task, uint64_t *ret_object)
{
    const seen_task *t = task_of(o, task);
    if (t == NULL || t->ended)
        return ASX__WAIT_NONE;
    *ret_object = t->wait_object;
    return t->waits;
}

/* Outer regions were opened before. */
static bool is_inside(const asx__oracles *o, uint64_t region, uint64_t outer)
{
    while (region > outer) {
        const seen_region *r = region_of(o, region);
        if (r == NULL || r->parent >= region)
            return false;
        region = r->parent;
    }
    return region == outer;
}

typedef struct keepers {
    const asx__oracles *o;
    uint64_t task, object; /* who waits, for what */
    asx__keeper_fn *tell;
    void *ctx;
} keepers;

static void tell_inside(const keepers *k, bool near)
{
    for (size_t i = 0; i < k->o->tasks.len; i++) {
        const seen_task *in = get(&k->o->tasks, k->o->tasks.base + i);
        bool inside = in->present && !in->ended &&
                      (near ? in->region == k->object : is_inside(k->o, in->region, k->object));
        if (inside && k->o->tasks.base + i != k->task)
            k->tell(k->ctx, k->o->tasks.base + i);
    }
}

static void tell_holder(const keepers *k, const asx__seen_table *locks)
{
    const seen_lock *l = get(locks, k->object);
    if (l != NULL && l->holder != 0)
        k->tell(k->ctx, l->holder);
}

/* False: nobody has one. */
static bool tell_guards(const keepers *k, uint32_t guards, bool writers)
{
    const asx__seen_table *table = &k->o->obligations;
    bool told = false;
    for (size_t i = 0; i < table->len && k->o->obligations_live != 0; i++) {
        const seen_obligation *b = get(table, table->base + i);
        if (!b->present || !b->live || b->guards != guards || b->object != k->object ||
            (writers && !b->writes))
            continue;
        k->tell(k->ctx, b->owner);
        told = true;
    }
    return told;
}

/* A reader is kept out by who has asked to write, too. */
static void tell_writers(const keepers *k)
{
    for (size_t i = 0; i < k->o->tasks.len; i++) {
        const seen_task *t = get(&k->o->tasks, k->o->tasks.base + i);
        if (t->present && !t->ended && t->waits == ASX__WAIT_RWLOCK_WRITE &&
            t->wait_object == k->object)
            k->tell(k->ctx, k->o->tasks.base + i);
    }
}

void asx__oracles_keepers(const asx__oracles *o, uint64_t task, uint32_t wait, uint64_t object,
                          asx__keeper_fn *tell, void *ctx)
{
    keepers k = { o, task, object, tell, ctx };
    const seen_task *other = task_of(o, object);
    switch (wait) {
    case ASX__WAIT_JOIN:
        if (other != NULL && !other->ended)
            tell(ctx, object);
        break;
    case ASX__WAIT_REGION_CLOSE:
    case ASX__WAIT_ADMISSION:
        tell_inside(&k, wait == ASX__WAIT_ADMISSION);
        break;
    case ASX__WAIT_MUTEX_LOCK:
        tell_holder(&k, &o->mutexes);
        break;
    case ASX__WAIT_ONCE_CALL:
        tell_holder(&k, &o->onces);
        break;
    case ASX__WAIT_RWLOCK_READ:
        if (!tell_guards(&k, ASX_EVENT_RWLOCK_LOCK, true))
            tell_writers(&k);
        break;
    case ASX__WAIT_RWLOCK_WRITE:
        (void)tell_guards(&k, ASX_EVENT_RWLOCK_LOCK, false);
        break;
    case ASX__WAIT_SEMAPHORE_ACQUIRE:
        (void)tell_guards(&k, ASX_EVENT_SEMAPHORE_ACQUIRE, false);
        break;
    default:
        break;
    }
}

/* Tasks as nodes: their places in the table. */
typedef struct waiters {
    const asx__oracles *o;
    asx__wait_graph graph;
    char *buffer;
    size_t size, len;
} waiters;

static void add_keeper(void *ctx, uint64_t task)
{
    waiters *w = ctx;
    if (task_of(w->o, task) != NULL)
        asx__wait_graph_add(&w->graph, (uint32_t)(task - w->o->tasks.base));
}

static void say(waiters *w, const char *format, ...) ASX_PRINTF(2, 3);
static void say(waiters *w, const char *format, ...)
{
    va_list args;
    if (w->len >= w->size)
        return;
    va_start(args, format);
    w->len += (size_t)vsnprintf(w->buffer + w->len, w->size - w->len, format, args);
    va_end(args);
}

static void say_circle(waiters *w)
{
    uint32_t len = 0;
    uint32_t *circle = asx__wait_graph_circle(&w->graph, &len);
    for (uint32_t i = 0; i <= len && circle != NULL; i++)
        say(w, "%s%llu", i == 0 ? "cycle: task " : " -> task ",
            (ull)(w->o->tasks.base + circle[i % len]));
    free(circle);
}

/* "task 2 waits: mutex-lock 1, kept by task 3" */
static void say_wait(waiters *w, uint32_t node)
{
    const seen_task *t = get(&w->o->tasks, w->o->tasks.base + node);
    bool ends = t->waits == ASX__WAIT_JOIN || t->waits == ASX__WAIT_REGION_CLOSE;
    uint32_t len;
    const uint32_t *whom = asx__wait_graph_of(&w->graph, node, &len);
    if (!t->present || t->ended || t->waits == 0)
        return;
    say(w, "%stask %llu waits: %s %llu", w->len != 0 ? "; " : "",
        (ull)(w->o->tasks.base + node), asx__wait_str(t->waits), (ull)t->wait_object);
    for (uint32_t i = 0; i < len && !ends; i++)
        say(w, "%stask %llu", i == 0 ? ", kept by " : ", ",
            (ull)(w->o->tasks.base + whom[i]));
}

void asx__oracles_describe(const asx__oracles *o, char *buffer, size_t size)
{
    waiters w = { .o = o, .buffer = buffer, .size = size };
    buffer[0] = '\0';
    if (!asx__wait_graph_init(&w.graph, (uint32_t)o->tasks.len))
        return;
    for (size_t i = 0; i < o->tasks.len; i++) {
        const seen_task *t = get(&o->tasks, o->tasks.base + i);
        asx__wait_graph_begin(&w.graph);
        if (t->present && !t->ended && t->waits != 0)
            asx__oracles_keepers(o, o->tasks.base + i, t->waits, t->wait_object, add_keeper, &w);
    }
    say_circle(&w);
    for (size_t i = 0; i < o->tasks.len; i++)
        say_wait(&w, (uint32_t)i);
    asx__wait_graph_deinit(&w.graph);
}
