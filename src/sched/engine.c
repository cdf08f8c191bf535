/* engine.c - the lock around the engine, its registers, the gate.
 *
 * Registers are changed lazily: they stay where they are when a worker lets go, and are put away
 * by the next one that comes, if it is another. A worker that is alone never moves them.
 *
 * A worker that is the only one awake, and has met nobody for a while, keeps the engine under a
 * lease (lease.h), so that entering costs it next to nothing.
 */
#include "sched/engine.h"

#include "sched/hot.h"
#include "sched/lessee.h"

#include <string.h>

#define LEASE_AFTER 32u
#define LEASE_AFTER_MAX (1u << 12)
#define IDS_EACH 4096u /* numbers of obligations that a worker gets at a time */
#define LEASE_PAYS 1000u /* calls after which a lease has paid for its end */
/* Calls without the engine before a worker looks in there: one that is alone may get a lease. */
#define OUTINGS_ALONE 32u
#define OUTINGS 1024u
/* Looks at who waits, some fifty microseconds: one that sleeps has to wake up. */
#define LET_IN_LOOKS 2000u

/* Its generation is one that no handle has. */
static const asx__region no_region = { .generation = UINT64_MAX };

ASX__TLS_HERE _Thread_local asx__thread asx__this_thread;

/* For functions that are never inlined and suspend nothing. */
static inline asx__thread *self_of_this_call(void)
{
    return &asx__this_thread;
}

__attribute__((noinline)) asx__thread *asx__thread_self(void)
{
    /* Not a function of nothing: it must not be called once for two threads. */
    __asm__ __volatile__("" ::: "memory");
    return self_of_this_call();
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
    r->slot_left = rt->slot_left;
    r->slot = rt->slot;
    r->in_cleanup = rt->in_cleanup;
    r->yield_due = rt->yield_due;
    r->poll_failure = rt->poll_failure;
    r->poll_failed = rt->poll_failed;
    r->running_seq = rt->running_seq;
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
    rt->slot_left = r->slot_left;
    rt->slot = r->slot;
    rt->in_cleanup = r->in_cleanup;
    rt->yield_due = r->yield_due;
    rt->poll_failure = r->poll_failure;
    rt->poll_failed = r->poll_failed;
    rt->running_seq = r->running_seq;
    if (r->next_up != NULL || r->in_cleanup)
        rt->hot = 0; /* what that means, another worker may have undone */
}

static void become(asx_runtime *rt, asx__engine *e, asx__worker *worker)
{
    put_away(rt, &e->loaded->r);
    load(rt, &worker->r);
    asx__local_become(rt, e->loaded, worker);
    if (!asx__list_empty(&worker->pinned) || asx__worker_is(worker, ASX__WORKER_DRAINING))
        rt->hot = 0; /* asx__pick() has to be asked */
    e->loaded = worker;
    /* F1: nobody else runs what this worker runs. */
    ASX__DEBUG_ASSERT(rt->current == NULL || (!asx__is_queued(rt->current) &&
                                              !asx__runs_elsewhere(rt, rt->current)));
}

bool asx__runs_elsewhere(const asx_runtime *rt, const asx__task *task)
{
    const asx__engine *e = rt->engine;
    for (uint32_t i = 0; e != NULL && i < e->workers_max; i++) {
        const asx__worker *w = &e->workers[i];
        if (w != e->loaded && (w->r.current == task || w->r.next_up == task ||
                               w->r.handoff == task))
            return true;
    }
    return false;
}

/* ---- entering ------------------------------------------------------------------------------- */

__attribute__((noinline)) bool asx__engine_is_mine(const asx_runtime *rt)
{
    return asx__load_relaxed(&rt->engine->owner) == self_of_this_call();
}

uint32_t asx__engine_worker(const asx_runtime *rt)
{
    const asx__engine *e = rt->engine;
    return e->loaded == &e->visitor ? 0 : e->loaded->index + 1;
}

/* Somebody else was here. A lease that did not last made things worse: the next one comes later. */
static void end_streak(asx__engine *e)
{
    e->streak = 0;
    if (e->leased_at == 0)
        return;
    if (asx__engine_calls(e) - e->leased_at > LEASE_PAYS)
        e->lease_after = LEASE_AFTER;
    else if (e->lease_after < LEASE_AFTER_MAX)
        e->lease_after *= 2;
    e->leased_at = 0;
}

static void come_in(asx__engine *e, asx__thread *self, asx__worker *worker)
{
    asx__store_relaxed(&e->owner, self);
    asx__outside_entered(&worker->outside, 1);
}

/* What it has done outside counts as if it had entered for it. */
static void come_back(asx__engine *e, asx__outside *out)
{
    uint64_t calls = asx__load_relaxed(&out->calls);
    asx__store_relaxed(&out->task, NULL);
    e->streak += (uint32_t)(calls - out->calls_seen);
    out->calls_seen = calls;
}

/* True: it was free. */
static bool take(asx__engine *e)
{
    if (asx__lock_try(&e->lock.lock)) {
        e->lock.leased = false;
        return true;
    }
    (void)asx__fetch_add_relaxed(&e->waiting, 1u);
    (void)asx__lease_take(&e->lock, NULL);
    (void)asx__fetch_sub_relaxed(&e->waiting, 1u);
    return false;
}

/* Not by a lease, or inside already. */
static __attribute__((noinline)) bool enter_slow(asx_runtime *rt, asx__thread *self)
{
    asx__engine *e = rt->engine;
    asx__worker *worker = self->worker;
    if (asx__load_relaxed(&e->owner) == self)
        return true;
    if (worker == NULL || worker->rt != rt)
        worker = &e->visitor;
    bool easy = take(e);
    come_in(e, self, worker);
    come_back(e, &worker->outside);
    if (e->loaded != worker || !easy)
        end_streak(e);
    worker->met += !easy;
    if (e->loaded != worker)
        become(rt, e, worker);
    return false;
}

__attribute__((noinline)) bool asx__engine_enter(asx_runtime *rt)
{
    asx__worker *worker = asx__lessee_in(rt);
    if (ASX__UNLIKELY(worker == NULL))
        return enter_slow(rt, self_of_this_call());
    asx__lessee_stay(worker);
    return false;
}

static bool is_alone(const asx__engine *e)
{
    return e->workers_here - e->sleepers == 1;
}

static bool wants_lease(asx__engine *e, const asx__worker *worker)
{
    if (worker == &e->visitor || !is_alone(e) || ++e->streak < e->lease_after)
        return false;
    e->leased_at = asx__engine_calls(e);
    return true;
}

/* In any list but the first one. */
static bool others_may_wait(const asx_runtime *rt)
{
    return (rt->ready.bits[0] & ~UINT64_C(1)) != 0 || (rt->ready.words & ~1u) != 0 ||
           rt->cancel.words != 0 || rt->timed_len != 0 || rt->next_up != NULL ||
           asx__cancel_pending(rt);
}

/* Is there anything that a sleeper might have to know of? Errs on the side of asking. */
static inline bool may_wake(const asx_runtime *rt, const asx__engine *e)
{
    if (ASX__LIKELY(asx__engine_is_calm(e)))
        return false;
    if (e->sleepers == 0)
        return false;
    if (ASX__UNLIKELY(e->watch == NULL || e->sleepers == e->workers_here))
        return true;
    return !asx__list_empty(&rt->ready.queue[0]) || rt->timers.quiet_until != e->quiet_known ||
           asx__workers_unpolled(rt) ||
           (!rt->hot && others_may_wait(rt)); /* while it holds, nothing else is queued */
}

/* Its task goes on without the engine, as long as nothing about it is special. */
static void let_out(asx_runtime *rt, asx__worker *worker)
{
    asx__task *task = rt->current;
    asx__outside *out = &worker->outside;
    if (task == NULL || (task->flags & ASX__T_NO_OUTING) != 0 || rt->gate->behind == NULL)
        return; /* in the child of a fork somebody who is not there may have a latch */
    out->permit = task->extra != NULL ? &task->extra->permit : NULL;
    out->left = is_alone(rt->engine) ? OUTINGS_ALONE : OUTINGS;
    if (asx__load_relaxed(&out->next_id) > asx__load_relaxed(&out->last_id)) {
        asx__store_relaxed(&out->next_id, rt->registry.last_id + 1);
        rt->registry.last_id += IDS_EACH;
        asx__store_relaxed(&out->last_id, rt->registry.last_id);
    }
    asx__store_relaxed(&out->task, task);
}

static void leave_slow(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    asx__worker *wake = may_wake(rt, e) ? asx__workers_whom_to_wake(rt) : NULL;
    asx__worker *worker = e->loaded;
    bool keep = e->lock.leased || wants_lease(e, worker);
    asx__store_relaxed(&e->owner, NULL);
    asx__latches_release(&e->seized);
    if (!keep)
        let_out(rt, worker);
    if (keep)
        asx__lease_keep(&e->lock, &worker->slot);
    else
        asx__lease_drop(&e->lock, &worker->slot);
    if (wake != NULL)
        asx__worker_rouse(rt, wake);
}

static __attribute__((noinline)) asx_status left_slow(asx_runtime *rt, asx_status st)
{
    leave_slow(rt);
    return st;
}

__attribute__((noinline)) asx_status asx__engine_left(asx_runtime *rt, asx_status st)
{
    asx__engine *e = rt->engine;
    ASX__DEBUG_ASSERT(asx__engine_is_mine(rt));
    ASX__DEBUG_ASSERT(rt->current == NULL || asx__exec_is_on(rt->current->exec)); /* F5 */
    if (ASX__UNLIKELY(!e->lock.leased || may_wake(rt, e)))
        return left_slow(rt, st);
    asx__store_relaxed(&e->owner, NULL);
    asx__lessee_out(e->loaded);
    return st;
}

void asx__engine_leave(asx_runtime *rt, bool had_it)
{
    if (!had_it)
        (void)asx__engine_left(rt, ASX_OK);
}

void asx__engine_let_in(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    uint32_t waiting = asx__load_relaxed(&e->waiting);
    if (!asx__list_empty(&rt->ready.queue[0]) || asx__locals_hold_any(rt))
        e->coarse = true; /* whoever sleeps is to see to it: the caller does not */
    asx__engine_leave(rt, false);
    for (uint32_t n = 0; waiting != 0 && n < LET_IN_LOOKS; n++) {
        if (asx__load_relaxed(&e->waiting) < waiting)
            break;
        asx__cpu_relax();
    }
    (void)asx__engine_enter(rt);
}

void asx__engine_give_up(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    if (e->lock.leased)
        asx__lease_give_up(&e->lock, &e->loaded->slot);
    e->streak = 0;
}

/* ---- without entering ----------------------------------------------------------------------- */

__attribute__((noinline)) asx__outing asx__outing_begin(asx_runtime *rt, const asx__task *task)
{
    asx__outing none = { NULL, false };
    asx__engine *e = rt->engine;
    asx__worker *worker = self_of_this_call()->worker;
    if (ASX__UNLIKELY(worker == NULL || worker->rt != rt))
        return none;
    if (worker->slot.lease == 0)
        return asx__outside_may(&worker->outside, task) ? (asx__outing){ worker, false } : none;
    /* By a lease nobody else is awake who could be at a latch, and the registers are this worker's.
     * If it is inside already, it was called back from there. */
    if (asx__load_relaxed(&worker->slot.inside) != 0 || !asx__lease_return(&e->lock, &worker->slot))
        return none;
    asx__outing outing = { worker, true };
    const asx__task *mine = rt->current;
    if (ASX__LIKELY(mine != NULL && (task == NULL || task == mine) &&
                    (mine->flags & ASX__T_NO_OUTING) == 0))
        return outing;
    asx__outing_end(outing, NULL);
    return none;
}

void asx__engine_seize(asx_runtime *rt, asx__latch *latch)
{
    asx__engine *e = rt->engine;
    if (e == NULL || e->lock.leased || ASX__UNLIKELY(rt->gate->behind == NULL))
        return; /* alone, by a lease or after a fork */
    ASX__DEBUG_ASSERT(asx__engine_is_mine(rt));
    asx__latch_seize(latch, &e->seized);
}

void asx__engine_call_in(asx_runtime *rt, const asx__task *task)
{
    asx__engine *e = rt->engine;
    for (uint32_t i = 0; e != NULL && i < e->workers_max; i++)
        asx__outside_call_in(&e->workers[i].outside, task);
}

uint64_t asx__worker_calls(const asx__worker *worker)
{
    const asx__outside *out = &worker->outside;
    return asx__load_relaxed(&out->calls) + asx__load_relaxed(&out->entries);
}

uint64_t asx__engine_calls(const asx__engine *e)
{
    uint64_t calls = asx__worker_calls(&e->visitor);
    for (uint32_t i = 0; i < e->workers_cap; i++)
        calls += asx__worker_calls(&e->workers[i]);
    return calls;
}

uint64_t asx__engine_spare_ids(const asx_runtime *rt)
{
    const asx__engine *e = rt->engine;
    uint64_t spare = 0;
    for (uint32_t i = 0; e != NULL && i < e->workers_max; i++) {
        const asx__outside *out = &e->workers[i].outside;
        spare += asx__load_relaxed(&out->last_id) + 1 - asx__load_relaxed(&out->next_id);
        spare += asx__load_relaxed(&out->skipped);
    }
    return spare;
}

/* ---- making --------------------------------------------------------------------------------- */

static bool enter_for_timers(void *rt)
{
    return asx__engine_enter(rt);
}

static void leave_timers(void *rt, bool had_it)
{
    asx__engine_leave(rt, had_it);
}

/* A gate has nothing in it: no current task, no regions, no records, no timers. */
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

static void init_outside(asx__outside *out)
{
    asx__atomic_init(&out->task, NULL);
    asx__atomic_init(&out->next_id, UINT64_C(1));
    asx__atomic_init(&out->last_id, UINT64_C(0));
    asx__atomic_init(&out->skipped, UINT64_C(0));
    asx__atomic_init(&out->calls, UINT64_C(0));
    asx__atomic_init(&out->entries, UINT64_C(0));
}

asx_status asx__engine_create(asx_runtime *rt, uint32_t base, uint32_t cap)
{
    asx__engine *e = asx__mem_alloc(rt, sizeof *e);
    asx__worker *all = asx__mem_alloc(rt, cap * sizeof *all);
    asx_runtime *gate = make_gate(rt);
    if (e == NULL || all == NULL || gate == NULL) {
        asx__mem_free(rt, e, sizeof *e);
        asx__mem_free(rt, all, cap * sizeof *all);
        asx__mem_free(rt, gate, sizeof *gate);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    memset(e, 0, sizeof *e);
    memset(all, 0, cap * sizeof *all);
    asx__atomic_init(&e->waiting, 0u);
    asx__bell_init(&e->pool.bell, ASX__WORKER_SLEEP);
    asx__lease_init(&e->lock, !asx__lease_barriers_work());
    e->lease_after = LEASE_AFTER;
    for (uint32_t i = 0; i < cap; i++) {
        all[i].rt = rt;
        all[i].index = i;
        asx__bell_init(&all[i].bell, ASX__WORKER_DEAD);
        asx__lease_slot_init(&all[i].slot);
        init_outside(&all[i].outside);
        asx__local_init(&all[i], rt->config.seed);
        all[i].r.turn_left = ASX__TURN;
        all[i].r.host = &all[i].host_stack;
        all[i].r.loop_again = &all[i].loop_again;
    }
    e->visitor.rt = rt;
    init_outside(&e->visitor.outside);
    asx__local_init(&e->visitor, 0);
    e->visitor.r.turn_left = ASX__TURN;
    e->loaded = &e->visitor;
    e->workers = all;
    e->workers_base = e->workers_max = base;
    e->workers_cap = cap;
    e->watch_until = ASX_TIME_NEVER;
    e->timers = (asx__timer_gate){ &rt->timers, enter_for_timers, leave_timers, rt, NULL };
    gate->timers.gate = &e->timers;
    rt->engine = e;
    rt->gate = gate;
    return ASX_OK;
}

void asx__engine_destroy(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    if (e == NULL)
        return;
    asx__mem_free(rt, e->workers, e->workers_cap * sizeof *e->workers);
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
