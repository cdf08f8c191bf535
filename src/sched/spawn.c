/* spawn.c - making tasks.
 *
 * The plain spawn is the whole of it for a task that asks for nothing in a region that asks
 * nothing: no journal, no ceilings, no budget. It has no frame; everything else is tail-called.
 *
 * Rejected: looking the region up by its index each time. Nearly always it is the one of the last
 * spawn, and its generation tells.
 */
#include "sched/task.h"

#include "sched/lessee.h"
#include "sched/region_seam.h"

#include <string.h>

#define REFILL 16u
#define ALWAYS_INLINE inline __attribute__((always_inline))

typedef struct spawn_request {
    const asx_spawn_options *options; /* may be NULL */
    const char *name;
    void *code;  /* asx_task_fn or asx_poll_fn */
    void *arg;
    const char *site;
    bool poll;
    asx__cleanup *cleanup; /* may be NULL */
} spawn_request;

static bool budget_is_plain(const asx_budget *budget)
{
    return budget->deadline == ASX_TIME_NEVER && budget->poll_quota == ASX_QUOTA_UNLIMITED &&
           budget->cost_quota == ASX_COST_UNLIMITED;
}

static asx_status reserve_timed(asx_runtime *rt)
{
    if (rt->timed_tasks < rt->timed_cap)
        return ASX_OK;
    uint32_t cap = rt->timed_cap ? rt->timed_cap * 2 : 16;
    asx__timed_entry *heap = asx__mem_alloc(rt, cap * sizeof *heap);
    if (heap == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    if (rt->timed_len != 0)
        memcpy(heap, rt->timed, rt->timed_len * sizeof *heap);
    asx__mem_free(rt, rt->timed, rt->timed_cap * sizeof *heap);
    rt->timed = heap;
    rt->timed_cap = cap;
    return ASX_OK;
}

static void deadline_fired(void *arg);

/* Deadlines beyond the longest timer are approached in steps. */
static asx_status arm_deadline(asx_runtime *rt, asx__task *task, asx__extra *extra,
                               asx_time deadline)
{
    asx_waker waker = { deadline_fired, task };
    uint64_t longest = rt->timers.max_timer_duration_ns;
    asx_time now = rt->timers.now;
    if (deadline > now && deadline - now > longest)
        deadline = asx_time_add(now, longest);
    return asx_timer_register(&rt->timers, deadline, waker, &extra->deadline);
}

static void deadline_fired(void *arg)
{
    asx__task *task = arg;
    asx_runtime *rt = task->region->rt;
    if (task->generation == 0 || (task->flags & ASX__T_TIMED) == 0 || task->extra == NULL)
        return; /* it ended in the same batch of timers */
    if (rt->now < task->extra->budget.deadline)
        (void)arm_deadline(rt, task, task->extra, task->extra->budget.deadline);
    else
        asx__budget_charge(rt, task);
}

/* Budget, capabilities, stack class: what makes a task more than plain. */
static asx_status spawn_extra(asx_runtime *rt, asx__region *region, asx__task *task,
                              const asx_spawn_options *options)
{
    asx_budget budget = region->budget;
    if (options != NULL && options->budget != NULL)
        budget = asx_budget_meet(budget, *options->budget);
    uint32_t caps = options != NULL && options->caps != 0 ? options->caps : ASX_CAP_ALL;
    size_t stack_size = options != NULL ? options->stack_size : 0;
    if (options != NULL && (options->flags & ~(uint32_t)ASX_PINNED) != 0)
        return ASX_E_INVALID_ARGUMENT;
    task->priority = budget.priority;
    if (budget.priority != 0)
        task->flags |= ASX__T_RAISED;
    if (budget_is_plain(&budget) && caps == ASX_CAP_ALL && stack_size == 0 && !rt->tracing)
        return ASX_OK;
    uint32_t stack_class = 0;
    if (stack_size != 0 && asx__runtime_pool(rt, stack_size, &stack_class) == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (budget.deadline != ASX_TIME_NEVER && reserve_timed(rt) < 0)
        return ASX_E_RESOURCE_EXHAUSTED;
    asx__extra *extra = asx__task_extra(rt, task);
    if (extra == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    bool own = budget.deadline < region->budget.deadline;
    budget.deadline = asx__deadline_explored(rt, budget.deadline);
    if ((own || budget.deadline > region->budget.deadline) &&
        arm_deadline(rt, task, extra, budget.deadline) < 0) {
        asx__task_release_extra(rt, task);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    extra->budget = budget;
    extra->caps = caps;
    asx__caps_narrowed(rt, caps);
    extra->stack_class = stack_class;
    if (budget.deadline != ASX_TIME_NEVER) {
        task->flags |= ASX__T_TIMED;
        rt->timed_tasks++;
    }
    if (budget.poll_quota != ASX_QUOTA_UNLIMITED || budget.cost_quota != ASX_COST_UNLIMITED)
        task->flags |= ASX__T_METERED;
    return ASX_OK;
}

/* A few fresh records for the free list, which is empty; the first of them goes first. */
static bool refill(asx_runtime *rt)
{
    asx__task *last = NULL;
    if (rt->tidy.cold_pages != 0)
        return asx__tidy_thaw(rt);
    for (unsigned i = 0; i < REFILL; i++) {
        uint32_t index;
        asx__task *task = asx__slab_alloc_slow(rt, &rt->tasks, &index);
        if (task == NULL)
            break;
        task->index = index;
        task->node.next = NULL;
        if (last != NULL)
            last->node.next = &task->node;
        else
            rt->tasks_free = task;
        last = task;
        if (rt->tasks.carved == rt->tasks.limit)
            break; /* no more than there is memory for already */
    }
    return last != NULL;
}

static asx__task *alloc_record(asx_runtime *rt)
{
    if (rt->tasks_free == NULL && !refill(rt))
        return NULL;
    asx__task *task = rt->tasks_free;
    rt->tasks_free = (asx__task *)(void *)task->node.next;
    return task;
}

static void init_record(asx_runtime *rt, asx__region *region, asx__task *task,
                        const spawn_request *request)
{
    task->u.fresh.fn = NULL;
    if (request->poll)
        task->u.poll.fn = (asx_poll_fn)(uintptr_t)request->code;
    else
        task->u.fresh.fn = (asx_task_fn)(uintptr_t)request->code;
    task->u.fresh.arg = request->arg;
    task->region = region;
    task->phase = ASX_TASK_CREATED;
    task->priority = region->budget.priority;
    task->flags = request->poll ? ASX__T_POLL : 0;
    task->mask_depth = 0;
    task->outcome = ASX_OUTCOME_OK;
    task->cleanup_left = 0;
    task->exec = ASX__EXEC_INIT;
    task->pinned = 0;
    task->generation = ++rt->task_generation;
    task->name = request->name;
    task->site = request->site;
}

/* ---- explored poll tasks -------------------------------------------------------------------- */

typedef struct polled {
    asx_poll_fn fn;
    void *state;
} polled;

/* A poll function on a fiber: its operations are done when it is their turn, so what it waits for
 * is there when the call returns. One that is pending all the same waits for its waker, if it has
 * one, or wants to be called again. */
static asx_status poll_on_fiber(asx_cx *cx, void *arg)
{
    const polled *p = arg;
    asx_runtime *rt = cx->rt_;
    asx__task *task = cx->task_;
    asx_poll result;
    bool told = false;
    while ((result = p->fn(cx, p->state)) == ASX_POLL_PENDING) {
        if (task->extra != NULL && task->extra->waker != NULL) {
            told = !asx__wait_woken(rt, task, told) || told;
        } else {
            (void)asx__announce(rt, task, ASX__OP_CHECKPOINT, 0);
            (void)asx__give_way_refused(rt, task, ASX_OK); /* not told here that it is cancelled */
        }
    }
    if (result == ASX_POLL_READY)
        return ASX_OK;
    return rt->poll_failed == task->generation ? rt->poll_failure : ASX_E_INVALID_ARGUMENT;
}

/* False: no memory. */
static bool put_on_fiber(asx__region *region, asx__task *task, const spawn_request *request)
{
    polled *p = asx__region_memory(region, sizeof *p);
    if (p == NULL)
        return false;
    p->fn = (asx_poll_fn)(uintptr_t)request->code;
    p->state = task->u.poll.state;
    task->u.fresh.fn = poll_on_fiber;
    task->u.fresh.arg = p;
    task->flags = (task->flags & ~(uint32_t)ASX__T_POLL) | ASX__T_EXPLORED;
    return true;
}

/* The record joins its region and its lane. */
static void admit_record(asx_runtime *rt, asx__region *region, asx__task *task)
{
    asx__task_link_child(region, task);
    if (!rt->fast)
        rt->fibers_live += (task->flags & ASX__T_POLL) == 0;
    if (ASX__UNLIKELY(rt->tracing)) {
        uint64_t seq = asx__journal(rt, ASX_EVENT_TASK_SPAWN, asx__serial(task->generation),
                                    asx__serial(region->generation),
                                    (task->flags & ASX__T_POLL) != 0, 0);
        if (task->extra != NULL)
            task->extra->wake_seq = seq;
    }
    asx__enqueue(rt, task);
}

/* Everything but the plain case: gates, limits, sticky failures. */
static asx_status spawn_gate(asx_runtime *rt, asx__region *region, bool poll)
{
    bool finalizer = rt->current != NULL && region->finalizer_task != NULL &&
                     asx__region_runs_finalizers(region, rt->current);
    asx_status st = asx__region_gate((asx_region_state)region->state, ASX__GATE_SPAWN_TASK,
                                     finalizer);
    if (st < 0)
        return st;
    if (region->setup == ASX_OK && region->tasks_max != 0)
        st = asx__region_admit_task(rt, region); /* may wait; so all else is asked after it */
    if (st < 0)
        return st;
    if (region->setup < 0)
        return region->setup;
    if (asx__live_tasks(rt) >= rt->task_ceiling || (!poll && rt->fibers_live >= rt->fiber_ceiling))
        return asx__region_sticky(region, ASX_E_RESOURCE_EXHAUSTED);
    return ASX_OK;
}

static void undo_extra(asx_runtime *rt, asx__task *task)
{
    rt->timed_tasks -= (task->flags & ASX__T_TIMED) != 0;
    if (task->extra != NULL)
        asx__task_release_extra(rt, task);
}

/* What it brings along. False: no memory. */
static bool spawn_belongings(asx_runtime *rt, asx__region *region, asx__task *task,
                             const spawn_request *request)
{
    const asx_spawn_options *options = request->options;
    if (options != NULL && options->copy != NULL) {
        task->u.fresh.arg = asx__region_memory(region, options->copy_size);
        if (task->u.fresh.arg == NULL)
            return false;
        memcpy(task->u.fresh.arg, options->copy, options->copy_size);
        asx__creates(rt, .generation = (uintptr_t)task->u.fresh.arg, .size = options->copy_size);
    }
    if (request->cleanup != NULL) {
        if (asx__task_extra(rt, task) == NULL)
            return false;
        task->extra->cleanups = request->cleanup;
    }
    return ASX__LIKELY(rt->seam == NULL) || !request->poll || rt->own_poll ||
           put_on_fiber(region, task, request);
}

static asx_status spawn_record(asx_runtime *rt, asx__region *region, spawn_request *request,
                               asx__task **ret_task)
{
    asx__task *task = alloc_record(rt);
    if (ASX__UNLIKELY(task == NULL))
        return asx__region_sticky(region, ASX_E_RESOURCE_EXHAUSTED);
    init_record(rt, region, task, request);
    if (ASX__UNLIKELY(!region->plain || request->options != NULL || request->cleanup != NULL ||
                      rt->tracing)) {
        const asx_spawn_options *options = request->options;
        asx_status st = spawn_extra(rt, region, task, options);
        if (st == ASX_OK && !spawn_belongings(rt, region, task, request)) {
            st = ASX_E_RESOURCE_EXHAUSTED;
            undo_extra(rt, task);
        }
        if (st < 0) {
            rt->task_generation--;
            asx__task_free(rt, task);
            return asx__region_sticky(region, st);
        }
        if (options != NULL && (options->flags & ASX_PINNED) != 0 && rt->engine != NULL)
            asx__pin(rt, task);
    }
    *ret_task = task;
    return ASX_OK;
}

/* The place that the spawn may have had is for the next. */
static asx_status spawn_refused(asx_runtime *rt, asx__region *region, asx_status st)
{
    if (region->tasks_max != 0 && region->state == ASX_REGION_OPEN)
        asx__region_admit_waiters(rt, region);
    return st;
}

static asx_status without_stack(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_E_RESOURCE_EXHAUSTED;
}

/* Explored: others may cancel or close the region before; and what can be had is decided
 * elsewhere. */
static asx_status spawn_explored(const asx_region *handle, spawn_request *request, asx_status st,
                                asx__region **region)
{
    asx_runtime *rt = handle->rt_;
    if (rt->own_poll || (st < 0 && st != ASX_E_STALE_HANDLE))
        return st; /* part of a call that has had its turn */
    bool limited = st == ASX_OK && (*region)->tasks_max != 0;
    bool no_memory = asx__fails(rt, ASX__FAULT_NO_MEMORY);
    if (!no_memory && !request->poll && request->code != NULL &&
        asx__fails(rt, ASX__FAULT_NO_STACK))
        request->code = (void *)(uintptr_t)without_stack;
    bool waits = limited && (*region)->admission == ASX_ADMISSION_WAIT;
    unsigned how = (waits ? ASX__SPAWN_WAITS : 0u) | (no_memory ? ASX__SPAWN_FAILS : 0u);
    (void)asx__announce(rt, rt->current, ASX__OP_SPAWN, asx__serial(handle->id.generation),
                        .start = { limited ? (*region)->tasks_max : 0, how });
    st = asx__region_resolve(handle, ASX_STATE_MASK_ALL, region);
    if (st == ASX_OK && no_memory && (*region)->state == ASX_REGION_OPEN &&
        asx__caller_may(rt, ASX_CAP_SPAWN))
        st = asx__region_sticky(*region, ASX_E_RESOURCE_EXHAUSTED);
    return st;
}

static asx_status spawn(const asx_region *handle, spawn_request *request, asx_task *ret_task)
{
    asx__region *region;
    asx_status st = asx__region_resolve(handle, ASX_STATE_MASK_ALL, &region);
    if (ASX__UNLIKELY(handle != NULL && handle->rt_ != NULL && handle->rt_->seam != NULL))
        st = spawn_explored(handle, request, st, &region);
    if (ASX__UNLIKELY(st < 0))
        return st;
    asx_runtime *rt = region->rt;
    if (ASX__UNLIKELY(rt->narrowed) && !asx__caller_may(rt, ASX_CAP_SPAWN))
        return ASX_E_CAPABILITY; /* it is the caller's fault, and does not stick to the region */
    rt->near_region = region;
    if (ASX__UNLIKELY(request->code == NULL))
        return asx__region_sticky(region, ASX_E_INVALID_ARGUMENT);
    if (ASX__UNLIKELY(region->state != ASX_REGION_OPEN || region->setup < 0 ||
                      region->tasks_max != 0 || asx__live_tasks(rt) >= rt->task_ceiling ||
                      (!request->poll && rt->fibers_live >= rt->fiber_ceiling))) {
        st = spawn_gate(rt, region, request->poll);
        if (st < 0)
            return spawn_refused(rt, region, st);
    }
    asx__task *task = NULL;
    st = spawn_record(rt, region, request, &task);
    if (ASX__UNLIKELY(st < 0))
        return spawn_refused(rt, region, st);
    if (ret_task != NULL) {
        task->flags |= ASX__T_HANDLE;
        ret_task->task_ = task;
        ret_task->id = asx_handle_make(ASX_TAG_TASK, ASX_STATE_MASK_ALL, task->index,
                                       task->generation);
    }
    admit_record(rt, region, task);
    return ASX_OK;
}

/* Options that say nothing cost nothing. */
static const asx_spawn_options *only_if_used(const asx_spawn_options *options)
{
    if (options == NULL || (options->budget == NULL && options->stack_size == 0 &&
                            options->copy == NULL && options->copy_size == 0 &&
                            options->caps == 0 && options->flags == 0))
        return NULL;
    return options;
}

static asx_status spawn_with(const asx_region *region, const asx_spawn_options *options,
                             bool poll, void *code, void *arg, asx_task *ret_task,
                             const char *site)
{
    spawn_request request = { only_if_used(options), options != NULL ? options->name : NULL, code,
                              arg, site, poll, NULL };
    if (options != NULL && (options->copy != NULL) != (options->copy_size != 0))
        request.code = NULL; /* refused as a bad argument, and sticks */
    return spawn(region, &request, ret_task);
}

asx_status asx__spawn_poll_owning(const asx_region *region, const char *name, asx_poll_fn fn,
                                  void *state, asx__cleanup *cleanup, asx_task *ret_task,
                                  const char *site)
{
    spawn_request request = { NULL, name, (void *)(uintptr_t)fn, state, site, true, cleanup };
    return spawn(region, &request, ret_task);
}

/* ---- the plain spawn ------------------------------------------------------------------------ */

/* A region that asks no questions and was spawned into before, and a record for the task; NULL:
 * take the long way. */
static inline asx__region *plain_region(const asx_region *handle)
{
    if (ASX__UNLIKELY(handle == NULL || handle->rt_ == NULL))
        return NULL;
    asx_runtime *rt = handle->rt_;
    asx__region *region = rt->near_region;
    if (ASX__UNLIKELY(handle->id.word >> 32 != ASX__REGION_WORD >> 32 ||
                      region->generation != handle->id.generation || !region->fast ||
                      rt->tasks_free == NULL))
        return NULL;
    return region;
}

static __attribute__((noinline)) asx_status enqueue_fresh(asx_runtime *rt, asx__task *task)
{
    asx__enqueue_again(rt, task);
    return ASX_OK;
}

/* Everything but the lane. */
static ALWAYS_INLINE asx__task *make_plain(asx__region *region, uint32_t flags, const char *name,
                                           void *code, void *arg, asx_task *ret_task,
                                           const char *site)
{
    asx_runtime *rt = region->rt;
    asx__task *task = rt->tasks_free;
    rt->tasks_free = (asx__task *)(void *)task->node.next;
    uint64_t generation = ++rt->task_generation;
    task->u.fresh.fn = (asx_task_fn)(uintptr_t)code;
    task->u.fresh.arg = arg;
    task->flags = flags;
    task->region = region;
    task->phase = ASX_TASK_CREATED;
    task->priority = 0;
    task->mask_depth = 0;
    task->outcome = ASX_OUTCOME_OK;
    task->cleanup_left = 0;
    task->exec = ASX__EXEC_RUNNABLE;
    task->pinned = 0;
    task->generation = generation;
    task->name = name;
    task->site = site;
    asx__task_link_child(region, task);
    if (ret_task != NULL) {
        ret_task->task_ = task;
        ret_task->id.word = ASX__TASK_WORD | task->index;
        ret_task->id.generation = generation;
    }
    return task;
}

static inline asx_status spawn_plain(asx__region *region, uint32_t flags, const char *name,
                                     void *code, void *arg, asx_task *ret_task, const char *site)
{
    asx_runtime *rt = region->rt;
    asx__task *task = make_plain(region, flags, name, code, arg, ret_task, site);
    if (ASX__UNLIKELY(!rt->hot))
        return enqueue_fresh(rt, task);
    asx__list_push_back(&rt->ready.queue[0], &task->node);
    return ASX_OK;
}

/* The long ways behind the plain ones, through the gate if there is one; they also see to it that
 * the next one finds a record. */

static void prepare_next(const asx_region *region)
{
    asx_runtime *rt = region != NULL ? region->rt_ : NULL;
    if (rt != NULL && rt->fast && rt->tasks_free == NULL)
        (void)refill(rt);
}

/* plain_region() behind the gate, inside by the lease of the worker. NULL: it is not to be had, and
 * nobody is inside. */
static ALWAYS_INLINE asx__region *leased_region(const asx_region *handle, const void *code,
                                                asx__worker **ret_w)
{
    if (ASX__UNLIKELY(handle == NULL || handle->rt_ == NULL || code == NULL))
        return NULL;
    asx__worker *w = asx__lessee_in(handle->rt_->behind);
    if (ASX__UNLIKELY(w == NULL))
        return NULL;
    asx_region in = { w->rt, handle->id };
    asx__region *region = plain_region(&in);
    if (ASX__UNLIKELY(region == NULL))
        asx__lessee_out(w);
    *ret_w = w;
    return region;
}

static __attribute__((noinline)) asx_status enqueue_leased(asx_runtime *rt, asx__task *task)
{
    asx__enqueue_again(rt, task);
    return asx__lessee_wakes(rt->engine->loaded, ASX_OK);
}

static ALWAYS_INLINE asx_status spawn_leased(asx__worker *w, asx__region *region, uint32_t flags,
                                             const char *name, void *code, void *arg,
                                             asx_task *ret_task, const char *site)
{
    asx_runtime *rt = w->rt;
    asx__task *task = make_plain(region, flags, name, code, arg, ret_task, site);
    if (ret_task != NULL) {
        ret_task->task_ = NULL;
        ret_task->gate_ = rt->gate;
    }
    if (ASX__UNLIKELY(!rt->hot))
        return enqueue_leased(rt, task);
    asx__list_push_back(&rt->ready.queue[0], &task->node);
    return asx__lessee_wakes(w, ASX_OK);
}

static __attribute__((noinline)) asx_status spawn_other(const asx_region *region, const char *name,
                                                        asx_task_fn fn, void *arg,
                                                        const char *site)
{
    ASX__GATE_REGION(region, asx_spawn_at(&in, name, fn, arg, site));
    asx_spawn_options options = { .name = name };
    prepare_next(region);
    return spawn_with(region, &options, false, (void *)(uintptr_t)fn, arg, NULL, site);
}

static __attribute__((noinline)) asx_status spawn_slow(const asx_region *region, const char *name,
                                                       asx_task_fn fn, void *arg, const char *site)
{
    asx__worker *w;
    void *code = (void *)(uintptr_t)fn;
    asx__region *plain = leased_region(region, code, &w);
    if (ASX__UNLIKELY(plain == NULL))
        return spawn_other(region, name, fn, arg, site);
    return spawn_leased(w, plain, 0, name, code, arg, NULL, site);
}

static __attribute__((noinline)) asx_status spawn_poll_other(const asx_region *region,
                                                             const char *name, asx_poll_fn fn,
                                                             void *state, const char *site)
{
    ASX__GATE_REGION(region, asx_spawn_poll_at(&in, name, fn, state, site));
    asx_spawn_options options = { .name = name };
    prepare_next(region);
    return spawn_with(region, &options, true, (void *)(uintptr_t)fn, state, NULL, site);
}

static __attribute__((noinline)) asx_status spawn_poll_slow(const asx_region *region,
                                                            const char *name, asx_poll_fn fn,
                                                            void *state, const char *site)
{
    asx__worker *w;
    void *code = (void *)(uintptr_t)fn;
    asx__region *plain = leased_region(region, code, &w);
    if (ASX__UNLIKELY(plain == NULL))
        return spawn_poll_other(region, name, fn, state, site);
    return spawn_leased(w, plain, ASX__T_POLL, name, code, state, NULL, site);
}

static __attribute__((noinline)) asx_status spawn_task_other(const asx_region *region,
                                                             const asx_spawn_options *options,
                                                             asx_task_fn fn, void *arg,
                                                             asx_task *ret_task, const char *site)
{
    ASX__EMPTY(ret_task);
    ASX__GATE_REGION(region, asx__task_handed_out(
                                 in.rt_,
                                 asx_spawn_task_at(&in, fn, arg, options, ret_task, site),
                                 ret_task));
    prepare_next(region);
    return spawn_with(region, options, false, (void *)(uintptr_t)fn, arg, ret_task, site);
}

static __attribute__((noinline)) asx_status spawn_task_slow(const asx_region *region,
                                                            const asx_spawn_options *options,
                                                            asx_task_fn fn, void *arg,
                                                            asx_task *ret_task, const char *site)
{
    asx__worker *w;
    void *code = (void *)(uintptr_t)fn;
    asx__region *plain =
        options == NULL && ret_task != NULL ? leased_region(region, code, &w) : NULL;
    if (ASX__UNLIKELY(plain == NULL))
        return spawn_task_other(region, options, fn, arg, ret_task, site);
    return spawn_leased(w, plain, ASX__T_HANDLE, NULL, code, arg, ret_task, site);
}

static __attribute__((noinline)) asx_status
spawn_poll_task_other(const asx_region *region, const asx_spawn_options *options, asx_poll_fn fn,
                      void *state, asx_task *ret_task, const char *site)
{
    ASX__EMPTY(ret_task);
    ASX__GATE_REGION(region, asx__task_handed_out(
                                 in.rt_,
                                 asx_spawn_poll_task_at(&in, fn, state, options, ret_task, site),
                                 ret_task));
    prepare_next(region);
    return spawn_with(region, options, true, (void *)(uintptr_t)fn, state, ret_task, site);
}

static __attribute__((noinline)) asx_status
spawn_poll_task_slow(const asx_region *region, const asx_spawn_options *options, asx_poll_fn fn,
                     void *state, asx_task *ret_task, const char *site)
{
    asx__worker *w;
    void *code = (void *)(uintptr_t)fn;
    asx__region *plain =
        options == NULL && ret_task != NULL ? leased_region(region, code, &w) : NULL;
    if (ASX__UNLIKELY(plain == NULL))
        return spawn_poll_task_other(region, options, fn, state, ret_task, site);
    return spawn_leased(w, plain, ASX__T_HANDLE | ASX__T_POLL, NULL, code, state, ret_task, site);
}

asx_status asx_spawn_at(const asx_region *region, const char *name, asx_task_fn fn, void *arg,
                        const char *site)
{
    asx__region *plain = plain_region(region);
    if (ASX__UNLIKELY(plain == NULL || fn == NULL))
        return spawn_slow(region, name, fn, arg, site);
    return spawn_plain(plain, 0, name, (void *)(uintptr_t)fn, arg, NULL, site);
}

asx_status asx_spawn_poll_at(const asx_region *region, const char *name, asx_poll_fn fn,
                             void *state, const char *site)
{
    asx__region *plain = plain_region(region);
    if (ASX__UNLIKELY(plain == NULL || fn == NULL))
        return spawn_poll_slow(region, name, fn, state, site);
    return spawn_plain(plain, ASX__T_POLL, name, (void *)(uintptr_t)fn, state, NULL, site);
}

asx_status asx_spawn_copy_at(const asx_region *region, const char *name, asx_task_fn fn,
                             const void *source, size_t size, const char *site)
{
    ASX__GATE_REGION(region, asx_spawn_copy_at(&in, name, fn, source, size, site));
    asx_spawn_options options = { .name = name, .copy = source, .copy_size = size };
    if (source == NULL || size == 0)
        fn = NULL; /* refused as a bad argument, and sticks */
    return spawn_with(region, &options, false, (void *)(uintptr_t)fn, NULL, NULL, site);
}

asx_status asx_spawn_task_at(const asx_region *region, asx_task_fn fn, void *arg,
                             const asx_spawn_options *options, asx_task *ret_task, const char *site)
{
    asx__region *plain = plain_region(region);
    if (ASX__UNLIKELY(plain == NULL || options != NULL || fn == NULL || ret_task == NULL))
        return spawn_task_slow(region, options, fn, arg, ret_task, site);
    return spawn_plain(plain, ASX__T_HANDLE, NULL, (void *)(uintptr_t)fn, arg, ret_task, site);
}

asx_status asx_spawn_poll_task_at(const asx_region *region, asx_poll_fn fn, void *state,
                                  const asx_spawn_options *options, asx_task *ret_task,
                                  const char *site)
{
    asx__region *plain = plain_region(region);
    if (ASX__UNLIKELY(plain == NULL || options != NULL || fn == NULL || ret_task == NULL))
        return spawn_poll_task_slow(region, options, fn, state, ret_task, site);
    return spawn_plain(plain, ASX__T_HANDLE | ASX__T_POLL, NULL, (void *)(uintptr_t)fn, state,
                       ret_task, site);
}

/* ---- finalizers ----------------------------------------------------------------------------- */

asx_status asx__task_reserve_finalizer(asx_runtime *rt, asx__region *region)
{
    asx__task *task = alloc_record(rt);
    if (task == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    task->region = region;
    if (asx__task_extra(rt, task) == NULL) {
        asx__task_free(rt, task);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    region->finalizer_task = task;
    return ASX_OK;
}

void asx__task_drop_finalizer(asx_runtime *rt, asx__region *region)
{
    asx__task *task = region->finalizer_task;
    if (task == NULL)
        return;
    region->finalizer_task = NULL;
    asx__task_release_extra(rt, task);
    asx__task_free(rt, task);
}

void asx__task_spawn_finalizer(asx_runtime *rt, asx__region *region, asx_task_fn fn)
{
    asx__task *task = region->finalizer_task;
    asx__extra *extra = task->extra;
    spawn_request request = { NULL, "finalizers", (void *)(uintptr_t)fn, region, region->site,
                              false, NULL };
    init_record(rt, region, task, &request);
    task->flags |= ASX__T_EXTRA;
    extra->budget = asx_budget_infinite();
    task->mask_depth = extra->mask_base = 1; /* finalizers are masked */
    admit_record(rt, region, task);
}
