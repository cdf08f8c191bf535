/* steal.c - whose work is whose, and how it changes hands.
 *
 * What a worker makes runnable, plain and of priority 0, goes to a list of its own: local.h. All
 * other lanes are everyone's. What threads make runnable that are no workers is injected: the
 * visitor's list. A worker that has nothing takes from what was injected, then from the other
 * workers in the order of steal.h, the oldest first and no more than BATCH; at last it takes what
 * somebody keeps for itself to run next (next_up), which that one may not come to for long.
 *
 * All of it happens with the engine held.
 */
#include "sched/steal.h"
#include "sched/engine.h"
#include "sched/hot.h"
#include "sched/local.h"

#define BATCH 16u

void asx__local_init(asx__worker *w, uint64_t seed)
{
    asx__list_init(&w->local);
    asx__list_init(&w->pinned);
    asx__scan_seed(&w->rng, seed, w->index);
}

static void hint(asx_runtime *rt)
{
    if (asx__list_empty(&rt->ready.queue[0]))
        return;
    rt->ready.bits[0] |= 1u;
    rt->ready.words |= 1u;
}

void asx__local_become(asx_runtime *rt, asx__worker *before, asx__worker *now)
{
    asx__local_exchange(&rt->ready.queue[0], &before->local, &now->local);
    hint(rt);
}

void asx__local_give_back(asx_runtime *rt)
{
    asx__local_move(&rt->ready.queue[0], &rt->engine->visitor.local);
}

void asx__local_adopt(asx_runtime *rt)
{
    asx__local_move(&rt->engine->visitor.local, &rt->ready.queue[0]);
    hint(rt);
}

/* The journal has an event for each search, whatever comes of it, and for each task that moves. */
static void tell_search(asx_runtime *rt, const asx__worker *thief, uint32_t first,
                        const asx__worker *victim)
{
    if (rt->tracing)
        asx__journal_as(rt, NULL, ASX_EVENT_WORKER_SEARCH, thief->index + 1, first + 1,
                        victim != NULL ? victim->index + 1 : 0, 0);
}

static void tell_steal(asx_runtime *rt, const asx__worker *thief, const asx__worker *victim,
                       const asx__task *task)
{
    if (rt->tracing)
        asx__journal_as(rt, NULL, ASX_EVENT_TASK_STEAL, asx__serial(task->generation),
                        victim->index + 1, thief->index + 1, 0);
}

/* `victim` is NULL for what was injected. */
static uint32_t take_some(asx_runtime *rt, asx__node *from, const asx__worker *victim)
{
    uint32_t n = 0;
    for (; n < BATCH; n++) {
        const asx__task *task = asx__local_rob(from, &rt->ready.queue[0]);
        if (task == NULL)
            break;
        if (victim != NULL)
            tell_steal(rt, rt->engine->loaded, victim, task);
    }
    hint(rt);
    return n;
}

/* What a worker keeps to run next, and has not come to. */
static asx__task *take_next_up(asx_runtime *rt, asx__worker *victim)
{
    asx__task *task = victim->r.next_up;
    victim->r.next_up = NULL;
    task->flags &= ~(uint32_t)ASX__T_INLINE;
    asx__enqueue_again(rt, task);
    return task;
}

/* The first worker, in this order, that has something to take; NULL: none has. */
static asx__worker *find_victim(asx__engine *e, asx__scan scan, bool next_up)
{
    uint32_t at;
    while (asx__scan_step(&scan, &at)) {
        asx__worker *w = &e->workers[at];
        if (w != e->loaded && (next_up ? w->r.next_up != NULL : !asx__list_empty(&w->local)))
            return w;
    }
    return NULL;
}

void asx__local_drain(asx_runtime *rt, asx__worker *w)
{
    ASX__DEBUG_ASSERT(rt->engine->loaded == &rt->engine->visitor);
    uint64_t moved = w->r.next_up != NULL;
    for (const asx__node *n = w->local.next; n != &w->local; n = n->next)
        moved++;
    rt->engine->stolen += moved; /* they go to other workers, whoever that will be */
    rt->engine->pool.counts.handed_on += moved;
    asx__local_move(&w->local, &rt->ready.queue[0]); /* the visitor's, now */
    hint(rt);
    if (w->r.next_up != NULL)
        (void)take_next_up(rt, w);
}

bool asx__steal(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    asx__worker *self = e->loaded;
    if (self == &e->visitor)
        return false;
    if (take_some(rt, &e->visitor.local, NULL) != 0)
        return true;
    asx__scan scan = asx__scan_begin(&self->rng, e->workers_max);
    asx__worker *robbed = find_victim(e, scan, false);
    asx__worker *kept = robbed == NULL ? find_victim(e, scan, true) : NULL;
    tell_search(rt, self, scan.next, robbed != NULL ? robbed : kept);
    if (robbed != NULL)
        e->stolen += take_some(rt, &robbed->local, robbed);
    if (kept != NULL) {
        tell_steal(rt, self, kept, take_next_up(rt, kept));
        e->stolen++;
    }
    return robbed != NULL || kept != NULL;
}

bool asx__locals_hold_any(const asx_runtime *rt)
{
    const asx__engine *e = rt->engine;
    if (e->loaded != &e->visitor && !asx__list_empty(&e->visitor.local))
        return true;
    for (uint32_t i = 0; i < e->workers_max; i++) {
        const asx__worker *w = &e->workers[i];
        if (w != e->loaded && (!asx__list_empty(&w->local) || w->r.next_up != NULL))
            return true;
    }
    return false;
}

uint64_t asx__locals_len(const asx_runtime *rt)
{
    const asx__engine *e = rt->engine;
    uint64_t len = 0;
    for (uint32_t i = 0; i <= e->workers_max; i++) {
        const asx__worker *w = i < e->workers_max ? &e->workers[i] : &e->visitor;
        if (w == e->loaded)
            continue;
        len += (uint64_t)(w->r.next_up != NULL) + (uint64_t)(w->r.handoff != NULL);
        for (const asx__node *n = w->local.next; n != &w->local; n = n->next)
            len++;
    }
    return len;
}

bool asx__locals_forget(asx_runtime *rt, const asx__task *task)
{
    asx__engine *e = rt->engine;
    for (uint32_t i = 0; i < e->workers_max; i++) {
        asx__registers *r = &e->workers[i].r;
        if (&e->workers[i] == e->loaded)
            continue;
        if (r->next_up == task) {
            r->next_up = NULL;
            return true;
        }
        if (r->handoff == task) {
            r->handoff = NULL;
            return true;
        }
    }
    return false;
}

/* ---- tasks that only one worker may run ------------------------------------------------------ */

static void pin_to(asx__worker *w, asx__task *task)
{
    task->pinned = (uint8_t)(w->index + 1);
    w->pins++;
}

void asx__pin(asx_runtime *rt, asx__task *task)
{
    asx__engine *e = rt->engine;
    asx__worker *w = e->loaded;
    if (w == &e->visitor || asx__worker_is(w, ASX__WORKER_DRAINING))
        w = &e->workers[0]; /* one that drains ends when its slice is over */
    pin_to(w, task);
    task->flags |= ASX__T_PINNED;
}

void asx__unpin(asx_runtime *rt, const asx__task *task)
{
    asx__worker *w = &rt->engine->workers[task->pinned - 1];
    ASX__DEBUG_ASSERT(w->pins > 0);
    if (--w->pins == 0 && w->index >= rt->engine->workers_base)
        asx__worker_call(rt, w); /* it may go now: see pool.c */
}

void asx__pinned_rehome(asx_runtime *rt, asx__worker *worker)
{
    asx__worker *first = &rt->engine->workers[0];
    while (!asx__list_empty(&worker->pinned)) {
        asx__task *task = (asx__task *)asx__list_pop_front(&worker->pinned);
        asx__unpin(rt, task);
        pin_to(first, task);
        asx__list_push_back(&first->pinned, &task->node);
    }
}

void asx__pinned_put(asx_runtime *rt, asx__task *task)
{
    asx__worker *w = &rt->engine->workers[task->pinned - 1];
    asx__list_push_back(&w->pinned, &task->node);
    if (asx__worker_is(w, ASX__WORKER_DEAD) && w->index != 0) {
        asx__pinned_rehome(rt, w);
        w = &rt->engine->workers[0];
    }
    asx__worker_call(rt, w);
}

asx__task *asx__pinned_take(asx_runtime *rt, bool others_wait)
{
    asx__worker *w = rt->engine->loaded;
    if (asx__list_empty(&w->pinned))
        return NULL;
    w->pinned_waited = others_wait && !w->pinned_waited;
    if (w->pinned_waited)
        return NULL;
    rt->turn_slow++;
    rt->cert.ready_dispatches++;
    rt->hot = 0;
    return (asx__task *)asx__list_pop_front(&w->pinned);
}

bool asx__pinned_any(const asx_runtime *rt)
{
    return !asx__list_empty(&rt->engine->loaded->pinned);
}
