/* engine.c - the lock around the engine, its registers, the gate.
 *
 * Registers are changed lazily: they stay where they are when a worker lets go, and are put away
 * by the next one that comes, if it is another. A worker that is alone never moves them.
 */
#include "sched/engine.h"

#include <string.h>

/* Its generation is one that no handle has. */
static const asx__region no_region = { .generation = UINT64_MAX };

asx__thread *asx__thread_self(void)
{
    static _Thread_local asx__thread self;
    /* Not a function of nothing: it must not be called once for two threads. */
    __asm__ __volatile__("" ::: "memory");
    return &self;
}

/* ---- registers ------------------------------------------------------------------------------ */

static void put_away(const asx_runtime *rt, asx__registers *r)
{
    r->current = rt->current;
    r->next_up = rt->next_up;
    r->handoff = rt->handoff;
    r->over = rt->over;
    r->host_sp = rt->host_sp;
    r->host = rt->host;
    r->cleanup_again = rt->cleanup_again;
    r->loop_again = rt->loop_again;
    r->turn_left = rt->turn_left;
    r->turn_slow = rt->turn_slow;
    r->inline_streak = rt->inline_streak;
    r->in_cleanup = rt->in_cleanup;
    r->yield_due = rt->yield_due;
    r->poll_failure = rt->poll_failure;
    r->poll_failed = rt->poll_failed;
}

static void load(asx_runtime *rt, const asx__registers *r)
{
    rt->current = r->current;
    rt->next_up = r->next_up;
    rt->handoff = r->handoff;
    rt->over = r->over;
    rt->host_sp = r->host_sp;
    rt->host = r->host;
    rt->cleanup_again = r->cleanup_again;
    rt->loop_again = r->loop_again;
    rt->turn_left = r->turn_left;
    rt->turn_slow = r->turn_slow;
    rt->inline_streak = r->inline_streak;
    rt->in_cleanup = r->in_cleanup;
    rt->yield_due = r->yield_due;
    rt->poll_failure = r->poll_failure;
    rt->poll_failed = r->poll_failed;
    if (r->next_up != NULL || r->in_cleanup)
        rt->hot = false; /* what that means, another worker may have undone */
}

static void become(asx_runtime *rt, asx__engine *e, asx__worker *worker)
{
    put_away(rt, &e->loaded->r);
    load(rt, &worker->r);
    e->loaded = worker;
    /* F1: nobody else runs what this worker runs. */
    ASX__DEBUG_ASSERT(rt->current == NULL || !asx__is_queued(rt->current));
}

/* ---- entering ------------------------------------------------------------------------------- */

bool asx__engine_is_mine(const asx_runtime *rt)
{
    return asx__load_relaxed(&rt->engine->owner) == asx__thread_self();
}

bool asx__engine_enter(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    asx__thread *self = asx__thread_self();
    if (asx__load_relaxed(&e->owner) == self)
        return true;
    asx__lock_take(&e->lock);
    asx__store_relaxed(&e->owner, self);
    e->entries++;
    asx__worker *worker = self->worker;
    if (worker == NULL || worker->rt != rt)
        worker = &e->visitor;
    if (e->loaded != worker)
        become(rt, e, worker);
    return false;
}

void asx__engine_leave(asx_runtime *rt, bool had_it)
{
    asx__engine *e = rt->engine;
    if (had_it)
        return;
    ASX__DEBUG_ASSERT(asx__engine_is_mine(rt));
    asx__worker *wake = e->sleepers != 0 ? asx__workers_whom_to_wake(rt) : NULL;
    asx__store_relaxed(&e->owner, NULL);
    asx__lock_drop(&e->lock);
    if (ASX__UNLIKELY(wake != NULL))
        asx__futex_wake(&wake->bell, 1);
}

/* ---- making --------------------------------------------------------------------------------- */

/* A gate has nothing in it: no current task, no regions, no records. */
static asx_runtime *make_gate(asx_runtime *rt)
{
    asx_runtime *gate = asx__mem_alloc(rt, sizeof *gate);
    if (gate == NULL)
        return NULL;
    memset(gate, 0, sizeof *gate);
    gate->behind = rt;
    gate->near_region = (asx__region *)(uintptr_t)&no_region;
    gate->number = rt->number;
    return gate;
}

asx_status asx__engine_create(asx_runtime *rt, uint32_t workers)
{
    asx__engine *e = asx__mem_alloc(rt, sizeof *e);
    asx__worker *all = asx__mem_alloc(rt, workers * sizeof *all);
    asx_runtime *gate = make_gate(rt);
    if (e == NULL || all == NULL || gate == NULL) {
        asx__mem_free(rt, e, sizeof *e);
        asx__mem_free(rt, all, workers * sizeof *all);
        asx__mem_free(rt, gate, sizeof *gate);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    memset(e, 0, sizeof *e);
    memset(all, 0, workers * sizeof *all);
    asx__lock_init(&e->lock);
    for (uint32_t i = 0; i < workers; i++) {
        all[i].rt = rt;
        all[i].index = i;
        all[i].r.turn_left = ASX__TURN;
        all[i].r.host = &all[i].host_stack;
        all[i].r.loop_again = &all[i].loop_again;
    }
    e->visitor.rt = rt;
    e->visitor.r.turn_left = ASX__TURN;
    e->loaded = &e->visitor;
    e->workers = all;
    e->workers_max = workers;
    e->watch_until = ASX_TIME_NEVER;
    rt->engine = e;
    rt->gate = gate;
    return ASX_OK;
}

void asx__engine_destroy(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    if (e == NULL)
        return;
    asx__mem_free(rt, e->workers, e->workers_max * sizeof *e->workers);
    asx__mem_free(rt, rt->gate, sizeof *rt->gate);
    asx__mem_free(rt, e, sizeof *e);
    rt->engine = NULL;
    rt->gate = NULL;
}

asx_task asx__task_inside(const asx_task *handle)
{
    const asx_runtime *rt = handle->gate_->behind;
    asx_task inside = *handle;
    uint32_t index = asx_handle_index(handle->id);
    inside.task_ = index < rt->tasks.carved ? asx__slab_at(&rt->tasks, index) : NULL;
    return inside;
}
