/* task.c - the life of a task record: spawn, end, join.
 *
 * A record is in its region's list of children, in order of creation, from spawn until it is
 * recycled. It is recycled when the task ends, unless somebody holds a handle (T_HANDLE): then
 * when it is joined, or when the region's record goes.
 *
 *     position: prev ? prev.sibling_next : region.task_first  ==  own index + 1
 *
 * so a record need not store its own index.
 *
 * The end of a task, in order: scopes it left open are cancelled and drained, its cleanups run,
 * what it still holds is aborted, its outcome is decided and folded into the region, links fire,
 * the joiner is handed the result, the region goes on closing if it was waiting for this.
 */
#include "sched/hot.h"

#include <string.h>

/* ---- records -------------------------------------------------------------------------------- */

static inline asx__task *task_of_index(const asx_runtime *rt, uint32_t index)
{
    uint32_t in_chunk = index & ((1u << rt->tasks.shift) - 1u);
    return (asx__task *)(void *)(rt->tasks.chunks[index >> rt->tasks.shift] +
                                 (size_t)in_chunk * sizeof(asx__task));
}

static inline asx__task *task_at(const asx_runtime *rt, uint32_t link)
{
    return task_of_index(rt, link - 1);
}

uint32_t asx__task_index(asx_runtime *rt, const asx__task *task)
{
    uint32_t link = task->sibling_prev != 0 ? task_at(rt, task->sibling_prev)->sibling_next
                                            : task->region->task_first;
    return link - 1;
}

static inline void link_child(asx_runtime *rt, asx__region *region, asx__task *task, uint32_t index)
{
    uint32_t last = region->task_last;
    task->sibling_next = 0;
    task->sibling_prev = last;
    if (ASX__LIKELY(last != 0))
        task_at(rt, last)->sibling_next = index + 1;
    else
        region->task_first = index + 1;
    region->task_last = index + 1;
}

static inline void unlink_child(asx_runtime *rt, asx__region *region, asx__task *task)
{
    if (task->sibling_prev != 0)
        task_at(rt, task->sibling_prev)->sibling_next = task->sibling_next;
    else
        region->task_first = task->sibling_next;
    if (task->sibling_next != 0)
        task_at(rt, task->sibling_next)->sibling_prev = task->sibling_prev;
    else
        region->task_last = task->sibling_prev;
}

static void release_extra(asx_runtime *rt, asx__task *task)
{
    asx__extra *extra = task->extra;
    task->extra = NULL;
    task->flags &= ~(uint32_t)ASX__T_EXTRA;
    if (asx_timer_cancel(&rt->timers, &extra->deadline) && rt->tracing)
        asx__journal(rt, ASX_EVENT_TIMER_CANCEL, 0, extra->budget.deadline, 0, 0);
    if (extra->waker != NULL)
        asx__waker_orphan(extra->waker);
    asx__slab_release(&rt->extras, extra, extra->index);
}

void asx__task_recycle(asx_runtime *rt, asx__task *task)
{
    uint32_t index = asx__task_index(rt, task);
    unlink_child(rt, task->region, task);
    if (ASX__UNLIKELY(task->extra != NULL))
        release_extra(rt, task);
    task->generation = 0;
    asx__slab_release(&rt->tasks, task, index);
}

asx__extra *asx__task_extra(asx_runtime *rt, asx__task *task)
{
    if (task->extra != NULL)
        return task->extra;
    uint32_t index;
    asx__extra *extra = asx__slab_alloc(rt, &rt->extras, &index);
    if (extra == NULL)
        return NULL;
    memset(extra, 0, sizeof *extra);
    extra->index = index;
    extra->budget = task->region->budget;
    extra->caps = ASX_CAP_ALL;
    extra->permit.owner = task;
    extra->permit.kind = ASX_OBLIGATION_KIND_SEND_PERMIT;
    extra->permit.index = ASX__OBLIGATION_OWN;
    task->extra = extra;
    task->flags |= ASX__T_EXTRA;
    return extra;
}

asx_status asx__task_resolve(const asx_task *task, asx__task **ret_task)
{
    if (task == NULL || task->rt_ == NULL || asx_handle_tag(task->id) != ASX_TAG_TASK)
        return ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = task->rt_;
    uint32_t index = asx_handle_index(task->id);
    if (index >= rt->tasks.carved || task->id.generation == 0)
        return ASX_E_STALE_HANDLE;
    asx__task *t = asx__slab_at(&rt->tasks, index);
    if (t->generation != task->id.generation)
        return ASX_E_STALE_HANDLE;
    if ((asx_handle_mask(task->id) & ASX_STATE_BIT(t->phase)) == 0)
        return ASX_E_CAPABILITY;
    *ret_task = t;
    return ASX_OK;
}

/* ---- spawn ---------------------------------------------------------------------------------- */

typedef struct spawn_request {
    const asx_spawn_options *options; /* may be NULL */
    const char *name;
    void *code;  /* asx_task_fn or asx_poll_fn */
    void *arg;
    const char *site;
    bool poll;
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
    if (budget.deadline < region->budget.deadline &&
        arm_deadline(rt, task, extra, budget.deadline) < 0) {
        release_extra(rt, task);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    extra->budget = budget;
    extra->caps = caps;
    extra->stack_class = stack_class;
    if (budget.deadline != ASX_TIME_NEVER) {
        task->flags |= ASX__T_TIMED;
        rt->timed_tasks++;
    }
    if (budget.poll_quota != ASX_QUOTA_UNLIMITED || budget.cost_quota != ASX_COST_UNLIMITED)
        task->flags |= ASX__T_METERED;
    return ASX_OK;
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
    task->exec = ASX__EXEC_INIT;
    task->region = region;
    task->phase = ASX_TASK_CREATED;
    task->priority = region->budget.priority;
    task->flags = request->poll ? ASX__T_POLL : 0;
    task->mask_depth = 0;
    task->outcome = ASX_OUTCOME_OK;
    task->cleanup_left = 0;
    task->w.waits = NULL;
    task->r.value = 0;
    task->generation = ++rt->task_generation;
    task->joiner = NULL;
    task->reason = NULL;
    task->extra = NULL;
    task->name = request->name;
    task->site = request->site;
}

/* The record joins its region and its lane. */
static void admit_record(asx_runtime *rt, asx__region *region, asx__task *task, uint32_t index)
{
    link_child(rt, region, task, index);
    region->live_tasks++;
    rt->live_tasks++;
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
    if (region->setup == ASX_OK && region->tasks_max != 0 &&
        region->live_tasks >= region->tasks_max)
        st = asx__region_admit_task(rt, region); /* may wait; so all else is asked after it */
    if (st < 0)
        return st;
    if (region->setup < 0)
        return region->setup;
    if (rt->live_tasks >= rt->task_ceiling || (!poll && rt->fibers_live >= rt->fiber_ceiling))
        return asx__region_sticky(region, ASX_E_RESOURCE_EXHAUSTED);
    return ASX_OK;
}

static asx_status spawn_record(asx_runtime *rt, asx__region *region, spawn_request *request,
                               asx__task **ret_task, uint32_t *ret_index)
{
    asx__task *task = asx__slab_alloc(rt, &rt->tasks, ret_index);
    if (ASX__UNLIKELY(task == NULL))
        return asx__region_sticky(region, ASX_E_RESOURCE_EXHAUSTED);
    init_record(rt, region, task, request);
    if (ASX__UNLIKELY(!region->plain || request->options != NULL || rt->tracing)) {
        const asx_spawn_options *options = request->options;
        asx_status st = spawn_extra(rt, region, task, options);
        if (st == ASX_OK && options != NULL && options->copy != NULL) {
            task->u.fresh.arg = asx__region_memory(region, options->copy_size);
            if (task->u.fresh.arg == NULL) {
                st = ASX_E_RESOURCE_EXHAUSTED;
                rt->timed_tasks -= (task->flags & ASX__T_TIMED) != 0;
                if (task->extra != NULL)
                    release_extra(rt, task);
            } else {
                memcpy(task->u.fresh.arg, options->copy, options->copy_size);
            }
        }
        if (st < 0) {
            rt->task_generation--;
            task->generation = 0;
            asx__slab_release(&rt->tasks, task, *ret_index);
            return asx__region_sticky(region, st);
        }
    }
    *ret_task = task;
    return ASX_OK;
}

/* The whole of a spawn into a region that asks no questions. */
static inline asx_status spawn_plain(asx_runtime *rt, asx__region *region, uint32_t flags,
                                     const char *name, void *code, void *arg, asx_task *ret_task,
                                     const char *site)
{
    asx__slab_free *record = rt->tasks.free;
    uint32_t index = record->index;
    rt->tasks.free = record->next;
    asx__task *task = (asx__task *)(void *)record;
    task->u.fresh.fn = (asx_task_fn)(uintptr_t)code;
    task->u.fresh.arg = arg;
    task->exec = ASX__EXEC_RUNNABLE;
    task->region = region;
    task->phase = ASX_TASK_CREATED;
    task->priority = 0;
    task->flags = flags;
    task->mask_depth = 0;
    task->outcome = ASX_OUTCOME_OK;
    task->cleanup_left = 0;
    task->w.waits = NULL;
    uint64_t generation = ++rt->task_generation;
    task->generation = generation;
    task->joiner = NULL;
    task->reason = NULL;
    task->extra = NULL;
    task->name = name;
    task->site = site;
    link_child(rt, region, task, index);
    region->live_tasks++;
    rt->live_tasks++;
    rt->fibers_live += (flags & ASX__T_POLL) == 0;
    if (ret_task != NULL) {
        ret_task->rt_ = rt;
        ret_task->id.word = ASX__TASK_WORD | index;
        ret_task->id.generation = generation;
    }
    if (ASX__LIKELY(rt->hot))
        asx__list_push_back(&rt->ready.queue[0], &task->node);
    else
        asx__enqueue(rt, task);
    return ASX_OK;
}

/* The region behind a handle, if a spawn into it is plain; NULL: take the long way. */
static inline asx__region *plain_region(const asx_region *handle)
{
    if (handle == NULL || handle->rt_ == NULL)
        return NULL;
    const asx_runtime *rt = handle->rt_;
    uint32_t index = (uint32_t)handle->id.word;
    if (handle->id.word >> 32 != ASX__REGION_WORD >> 32 || index >= rt->regions.carved)
        return NULL;
    asx__region *region = asx__slab_at(&rt->regions, index);
    if (region->generation != handle->id.generation || !region->fast || !rt->fast ||
        rt->tasks.free == NULL)
        return NULL;
    return region;
}

static __attribute__((noinline)) asx_status spawn(const asx_region *handle, spawn_request *request,
                                                  asx_task *ret_task)
{
    asx__region *region;
    asx_status st = asx__region_resolve(handle, ASX_STATE_MASK_ALL, &region);
    if (ASX__UNLIKELY(st < 0))
        return st;
    asx_runtime *rt = region->rt;
    if (ASX__UNLIKELY(request->code == NULL))
        return asx__region_sticky(region, ASX_E_INVALID_ARGUMENT);
    if (ASX__UNLIKELY(region->state != ASX_REGION_OPEN || region->setup < 0 ||
                      region->tasks_max != 0 || rt->live_tasks >= rt->task_ceiling ||
                      (!request->poll && rt->fibers_live >= rt->fiber_ceiling))) {
        st = spawn_gate(rt, region, request->poll);
        if (st < 0)
            return st;
    }
    uint32_t index = 0;
    asx__task *task = NULL;
    st = spawn_record(rt, region, request, &task, &index);
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (ret_task != NULL) {
        task->flags |= ASX__T_HANDLE;
        ret_task->rt_ = rt;
        ret_task->id = asx_handle_make(ASX_TAG_TASK, ASX_STATE_MASK_ALL, index, task->generation);
    }
    admit_record(rt, region, task, index);
    return ASX_OK;
}

asx_status asx_spawn_at(const asx_region *region, const char *name, asx_task_fn fn, void *arg,
                        const char *site)
{
    asx__region *plain = plain_region(region);
    if (ASX__LIKELY(plain != NULL && fn != NULL))
        return spawn_plain(plain->rt, plain, 0, name, (void *)(uintptr_t)fn, arg, NULL, site);
    spawn_request request = { NULL, name, (void *)(uintptr_t)fn, arg, site, false };
    return spawn(region, &request, NULL);
}

asx_status asx_spawn_poll_at(const asx_region *region, const char *name, asx_poll_fn fn,
                             void *state, const char *site)
{
    asx__region *plain = plain_region(region);
    if (ASX__LIKELY(plain != NULL && fn != NULL))
        return spawn_plain(plain->rt, plain, ASX__T_POLL, name, (void *)(uintptr_t)fn, state, NULL,
                           site);
    spawn_request request = { NULL, name, (void *)(uintptr_t)fn, state, site, true };
    return spawn(region, &request, NULL);
}

asx_status asx_spawn_copy_at(const asx_region *region, const char *name, asx_task_fn fn,
                             const void *source, size_t size, const char *site)
{
    asx_spawn_options options = { .name = name, .copy = source, .copy_size = size };
    spawn_request request = { &options, name, (void *)(uintptr_t)fn, NULL, site, false };
    if (source == NULL || size == 0)
        request.code = NULL; /* refused as a bad argument, and sticks */
    return spawn(region, &request, NULL);
}

/* Options that say nothing cost nothing. */
static const asx_spawn_options *only_if_used(const asx_spawn_options *options)
{
    if (options == NULL || (options->budget == NULL && options->stack_size == 0 &&
                            options->copy == NULL && options->copy_size == 0 && options->caps == 0))
        return NULL;
    return options;
}

asx_status asx_spawn_task_at(const asx_region *region, const asx_spawn_options *options,
                             asx_task_fn fn, void *arg, asx_task *ret_task, const char *site)
{
    const asx_spawn_options *used = only_if_used(options);
    const char *name = options != NULL ? options->name : NULL;
    asx__region *plain = used == NULL ? plain_region(region) : NULL;
    if (ASX__LIKELY(plain != NULL && fn != NULL && ret_task != NULL))
        return spawn_plain(plain->rt, plain, ASX__T_HANDLE, name, (void *)(uintptr_t)fn, arg,
                           ret_task, site);
    spawn_request request = { used, name, (void *)(uintptr_t)fn, arg, site, false };
    if (options != NULL && (options->copy != NULL) != (options->copy_size != 0))
        request.code = NULL;
    return spawn(region, &request, ret_task);
}

asx_status asx_spawn_poll_task_at(const asx_region *region, const asx_spawn_options *options,
                                  asx_poll_fn fn, void *state, asx_task *ret_task,
                                  const char *site)
{
    const asx_spawn_options *used = only_if_used(options);
    const char *name = options != NULL ? options->name : NULL;
    asx__region *plain = used == NULL ? plain_region(region) : NULL;
    if (ASX__LIKELY(plain != NULL && fn != NULL && ret_task != NULL))
        return spawn_plain(plain->rt, plain, ASX__T_HANDLE | ASX__T_POLL, name,
                           (void *)(uintptr_t)fn, state, ret_task, site);
    spawn_request request = { used, name, (void *)(uintptr_t)fn, state, site, true };
    if (options != NULL && (options->copy != NULL) != (options->copy_size != 0))
        request.code = NULL;
    return spawn(region, &request, ret_task);
}

asx_status asx__task_reserve_finalizer(asx_runtime *rt, asx__region *region)
{
    uint32_t index;
    asx__task *task = asx__slab_alloc(rt, &rt->tasks, &index);
    if (task == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    task->generation = 0;
    task->extra = NULL;
    task->region = region;
    if (asx__task_extra(rt, task) == NULL) {
        asx__slab_release(&rt->tasks, task, index);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    region->finalizer_task = task;
    region->finalizer_index = index;
    return ASX_OK;
}

void asx__task_drop_finalizer(asx_runtime *rt, asx__region *region)
{
    if (region->finalizer_task == NULL)
        return;
    release_extra(rt, region->finalizer_task);
    asx__slab_release(&rt->tasks, region->finalizer_task, region->finalizer_index);
    region->finalizer_task = NULL;
}

void asx__task_spawn_finalizer(asx_runtime *rt, asx__region *region, asx_task_fn fn)
{
    asx__task *task = region->finalizer_task;
    asx__extra *extra = task->extra;
    spawn_request request = { NULL, "finalizers", (void *)(uintptr_t)fn, region, region->site,
                              false };
    init_record(rt, region, task, &request);
    task->extra = extra;
    task->flags |= ASX__T_EXTRA;
    extra->budget = asx_budget_infinite();
    task->mask_depth = extra->mask_base = 1; /* finalizers are masked */
    admit_record(rt, region, task, region->finalizer_index);
}

/* ---- end ------------------------------------------------------------------------------------ */

asx_status asx__call_guarded(asx_runtime *rt, asx_cx *cx, asx_call_fn fn, void *arg)
{
    jmp_buf again;
    jmp_buf *outer = rt->cleanup_again;
    volatile asx_status st = ASX_E_PANICKED;
    rt->cleanup_again = &again;
    if (setjmp(again) == 0)
        st = fn(cx, arg);
    rt->cleanup_again = outer;
    return st;
}

void asx__task_run_cleanups(asx_runtime *rt, asx__task *task, bool runtime_side)
{
    asx__extra *extra = task->extra;
    if (extra == NULL || extra->cleanups == NULL)
        return;
    asx_cx cx = { task, rt, asx__task_caps(task), 0 };
    asx__task *before = rt->current;
    bool in_cleanup = rt->in_cleanup;
    rt->current = task;
    rt->in_cleanup = runtime_side || in_cleanup;
    rt->hot = false; /* nothing may be switched to from here */
    if (runtime_side)
        task->flags &= ~(uint32_t)ASX__T_GRACE; /* it cannot wait, so it may well be masked */
    task->mask_depth++;
    uint8_t depth = extra->mask_base = task->mask_depth;
    while (extra->cleanups != NULL) {
        asx__cleanup *cleanup = extra->cleanups;
        extra->cleanups = cleanup->next;
        task->mask_depth = extra->mask_base = depth; /* also after one that panicked */
        if (runtime_side)
            (void)asx__call_guarded(rt, &cx, cleanup->fn, cleanup->arg);
        else
            (void)cleanup->fn(&cx, cleanup->arg);
    }
    task->mask_depth--;
    rt->in_cleanup = in_cleanup;
    rt->current = before;
}

asx_status asx__task_wind_up(asx_runtime *rt, asx__task *task, asx_status returned)
{
    asx__extra *extra = task->extra;
    while (extra->scopes != NULL) {
        if (!extra->scopes->left_open)
            asx__region_note_left(task->region, extra->scopes);
        extra->scopes->left_open = true;
        asx__region_close_task(rt, extra->scopes, ASX_E_REGION_LEFT_OPEN, NULL, NULL);
        if (returned >= 0)
            returned = ASX_E_REGION_LEFT_OPEN;
    }
    asx__task_run_cleanups(rt, task, false);
    return returned;
}

static void journal_phase(asx_runtime *rt, const asx__task *task, unsigned from, unsigned to)
{
    if (ASX__UNLIKELY(rt->tracing))
        asx__journal(rt, ASX_EVENT_TASK_STATE, asx__serial(task->generation), from, to, 0);
}

static void complete_phase(asx_runtime *rt, asx__task *task, asx_status returned)
{
    bool panicked = (task->flags & ASX__T_PANICKED) != 0;
    bool forced = (task->flags & ASX__T_FORCED) != 0;
    task->outcome = (uint8_t)asx__task_outcome((asx_task_state)task->phase, returned, panicked,
                                               forced);
    if (task->phase == ASX_TASK_CANCELLING && !panicked) {
        asx_status st = asx__task_step(&task->phase, ASX_TASK_FINALIZING);
        ASX__ASSERT(st == ASX_OK);
        journal_phase(rt, task, ASX_TASK_CANCELLING, ASX_TASK_FINALIZING);
    }
    unsigned from = task->phase;
    asx_status st = asx__task_step(&task->phase, ASX_TASK_COMPLETED);
    ASX__ASSERT(st == ASX_OK);
    journal_phase(rt, task, from, ASX_TASK_COMPLETED);
}

/* The status that goes with an outcome. */
static asx_status outcome_status(const asx__task *task, asx_status returned)
{
    switch (task->outcome) {
    case ASX_OUTCOME_CANCELLED:
        return ASX_E_CANCELLED;
    case ASX_OUTCOME_PANICKED:
        return ASX_E_PANICKED;
    case ASX_OUTCOME_ERR:
        return returned;
    default:
        return ASX_OK;
    }
}

static asx_outcome outcome_of(const asx__task *task)
{
    asx_outcome outcome = { (asx_outcome_kind)task->outcome, (asx_status)task->w.status,
                            asx__serial(task->generation) };
    return outcome;
}

static void join_result(const asx__task *task, asx_join_result *result)
{
    result->outcome = outcome_of(task);
    result->value = task->outcome <= ASX_OUTCOME_ERR && (task->flags & ASX__T_VALUE)
                        ? task->r.value
                        : 0;
}

typedef struct join_io {
    asx__task *target;
    asx_join_result *result;
} join_io;

/* Hands the result to a parked joiner; true: the record is done with. */
static bool hand_to_joiner(asx_runtime *rt, asx__task *task)
{
    asx__task *joiner = task->joiner;
    bool inline_run = (task->flags & ASX__T_INLINE) != 0;
    bool goes_next = inline_run && rt->next_up == NULL && !(joiner->flags & ASX__T_CANCEL);
    task->joiner = NULL;
    task->flags &= ~(uint32_t)ASX__T_JOINER;
    if (joiner->flags & ASX__T_POLL) {
        if (joiner->extra != NULL)
            joiner->extra->join_target = NULL;
    } else {
        join_io *io = joiner->r.io;
        if (io->result != NULL)
            join_result(task, io->result);
        if (rt->tracing)
            asx__journal_as(rt, joiner, ASX_EVENT_TASK_JOIN, asx__serial(task->generation),
                            task->outcome, (uint64_t)(int64_t)task->w.status, rt->running_seq);
    }
    if (goes_next && asx__exec_state(joiner) == ASX__EXEC_PARKED)
        asx__wake_next(rt, joiner, ASX_OK);
    else
        asx__wake(rt, joiner, ASX_OK, false);
    return (joiner->flags & ASX__T_POLL) == 0;
}

static void end_execution(asx_runtime *rt, asx__task *task)
{
    asx__exec_set(task, task->outcome == ASX_OUTCOME_CANCELLED ? ASX__EXEC_CANCELLED
                                                               : ASX__EXEC_DONE);
    rt->live_tasks--;
    rt->fibers_live -= (task->flags & ASX__T_POLL) == 0;
    rt->timed_tasks -= (task->flags & ASX__T_TIMED) != 0;
}

/* Finalizers that their task could not run (no stack, forced, panicked) run here. */
static asx_status remaining_finalizers(asx_runtime *rt, asx__task *task, asx_status returned)
{
    asx_cx cx = { task, rt, asx__task_caps(task), 0 };
    asx__task *before = rt->current;
    bool in_cleanup = rt->in_cleanup;
    rt->current = task;
    rt->in_cleanup = true;
    rt->hot = false;
    asx_status st = asx__region_run_finalizers(&cx, task->region);
    rt->in_cleanup = in_cleanup;
    rt->current = before;
    return returned == ASX_E_RESOURCE_EXHAUSTED || st < 0 ? st : returned;
}

bool asx__task_finish_plain(asx_runtime *rt, asx__task *task, asx_status returned)
{
    asx__region *region = task->region;
    if (ASX__UNLIKELY(returned != ASX_OK || task->phase != ASX_TASK_RUNNING || !region->fast ||
                      task->extra != NULL || task->joiner != NULL || rt->tracing))
        return false;
    _Static_assert((ASX__TASK_LEGAL & ASX__PAIR_BIT(ASX_TASK_RUNNING, ASX_TASK_COMPLETED)) != 0,
                   "a running task may complete");
    task->phase = ASX_TASK_COMPLETED;
    task->w.status = ASX_OK;
    asx__exec_set(task, ASX__EXEC_DONE);
    rt->live_tasks--;
    rt->fibers_live -= (task->flags & ASX__T_POLL) == 0;
    region->live_tasks--;
    region->n_ok++;
    if ((task->flags & ASX__T_HANDLE) == 0)
        asx__task_recycle(rt, task);
    return true;
}

void asx__task_finish(asx_runtime *rt, asx__task *task, asx_status returned)
{
    asx__region *region = task->region;
    if (ASX__UNLIKELY(task->extra != NULL)) {
        asx__extra *extra = task->extra;
        if (region->finalizers != NULL && asx__region_runs_finalizers(region, task))
            returned = remaining_finalizers(rt, task, returned);
        do { /* a cleanup may open a scope, and a scope may be left open by it */
            while (extra->scopes != NULL) {
                asx__region_abandon(rt, extra->scopes);
                if (returned >= 0)
                    returned = ASX_E_REGION_LEFT_OPEN;
            }
            asx__task_run_cleanups(rt, task, true);
        } while (extra->scopes != NULL || extra->cleanups != NULL);
        if (extra->obligations != NULL || extra->permit.object != NULL)
            asx__obligations_end_task(rt, task);
    }
    if (ASX__UNLIKELY(returned > 0))
        returned = ASX_OK;
    complete_phase(rt, task, returned);
    task->w.status = outcome_status(task, returned);
    end_execution(rt, task);
    if (ASX__UNLIKELY(rt->tracing))
        rt->running_seq = asx__journal(rt, ASX_EVENT_TASK_COMPLETE, asx__serial(task->generation),
                                       task->outcome, (uint64_t)(int64_t)task->w.status, 0);
    region->busy++; /* a failure may cancel the region, which must not close before we are done */
    asx__region_child_ended(rt, region, task, outcome_of(task));
    if (ASX__UNLIKELY(task->extra != NULL && task->extra->links != NULL))
        asx__task_links_fire(rt, task, task->outcome == ASX_OUTCOME_ERR ||
                                           task->outcome == ASX_OUTCOME_PANICKED);
    bool done = (task->flags & ASX__T_HANDLE) == 0;
    if (task->joiner != NULL)
        done |= hand_to_joiner(rt, task);
    if (done)
        asx__task_recycle(rt, task);
    region->busy--;
    if (ASX__UNLIKELY(region->state != ASX_REGION_OPEN || region->tasks_max != 0))
        asx__region_progress(rt, region);
}

/* ---- join ----------------------------------------------------------------------------------- */

static void join_unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    (void)waitable;
    (void)granted;
    asx__task *target = asx__join_target(rt, task);
    if (target != NULL && target->joiner == task) {
        target->joiner = NULL;
        target->flags &= ~(uint32_t)(ASX__T_JOINER | ASX__T_INLINE);
    }
    if (task->extra != NULL)
        task->extra->join_target = NULL;
}

static const asx__waitable_ops join_ops = { ASX__WAIT_JOIN, false, join_unpublish };

void asx__task_waitables_init(asx_runtime *rt)
{
    rt->join_wait.ops = &join_ops;
}

asx__task *asx__join_target(const asx_runtime *rt, const asx__task *joiner)
{
    if (joiner->flags & ASX__T_POLL)
        return joiner->extra != NULL ? joiner->extra->join_target : NULL;
    if (asx__exec_state(joiner) != ASX__EXEC_PARKED || joiner->w.waits != &rt->join_wait)
        return NULL;
    return ((join_io *)joiner->r.io)->target;
}

/* Would the target wait for the caller? It does if it closes a region that the caller lives in. */
static bool would_deadlock(asx_runtime *rt, const asx__task *caller, const asx__task *target)
{
    for (int depth = 0; target != NULL && depth < 64; depth++) {
        if (target == caller)
            return true;
        if (asx__exec_state(target) != ASX__EXEC_PARKED || target->w.waits == NULL)
            return false;
        if (target->w.waits->ops->kind == ASX__WAIT_REGION_CLOSE) {
            for (const asx__region *r = caller->region; r != NULL; r = r->parent)
                if (target->w.waits == &r->close_wait)
                    return true;
            return false;
        }
        target = asx__join_target(rt, target);
    }
    return false;
}

/* A child that has not started may run in the joiner's place. */
static void run_inline(asx_runtime *rt, asx__task *joiner, asx__task *child)
{
    uint32_t special = ASX__T_CANCEL | ASX__T_TIMED | ASX__T_METERED;
    if (rt->config.no_join_inline || rt->next_up != NULL || rt->inline_streak >= ASX__TURN ||
        child->phase != ASX_TASK_CREATED || (child->flags & special) != 0 ||
        (joiner->flags & special) != 0 || child->priority != joiner->priority ||
        asx__exec_state(child) != ASX__EXEC_RUNNABLE)
        return;
    asx__dequeue(rt, child);
    child->flags |= ASX__T_INLINE;
    rt->next_up = child;
    rt->hot = false;
}

static asx_status join_wait(asx_runtime *rt, asx__task *task, asx__task *child,
                            asx_join_result *ret_result)
{
    if (child->joiner != NULL && child->joiner != task)
        return ASX_E_BUSY;
    if (would_deadlock(rt, task, child))
        return ASX_E_WOULD_DEADLOCK;
    asx_status st = asx__wait_prepare(rt, task, &rt->join_wait);
    if (st < 0)
        return st;
    join_io io = { child, ret_result };
    if (task->flags & ASX__T_POLL) {
        asx__extra *extra = asx__task_extra(rt, task);
        if (extra == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        extra->join_target = child;
    }
    rt->join_wait.serial = asx__serial(child->generation);
    child->joiner = task;
    child->flags |= ASX__T_JOINER;
    run_inline(rt, task, child);
    return asx__wait_on(rt, task, &rt->join_wait, &io);
}

static __attribute__((noinline)) asx_status join_slow(asx_cx *cx, const asx_task *handle,
                                                      asx_join_result *ret_result)
{
    asx__task *task, *child;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0))
        return st;
    st = asx__task_resolve(handle, &child);
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (ASX__UNLIKELY(child->region->rt != rt))
        return ASX_E_STALE_HANDLE;
    if (child == task)
        return ASX_E_WOULD_DEADLOCK;
    st = asx__checkpoint(rt, task);
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (child->phase != ASX_TASK_COMPLETED)
        return join_wait(rt, task, child, ret_result);
    if (ret_result != NULL)
        join_result(child, ret_result);
    if (ASX__UNLIKELY(rt->tracing))
        asx__journal(rt, ASX_EVENT_TASK_JOIN, asx__serial(child->generation), child->outcome,
                     (uint64_t)(int64_t)child->w.status, 0);
    asx__task_recycle(rt, child);
    return ASX_OK;
}

asx_status asx_join(asx_cx *cx, const asx_task *handle, asx_join_result *ret_result)
{
    asx__task *task;
    asx_runtime *rt;
    if (ASX__UNLIKELY(asx__cx_enter(cx, 0, &task, &rt) < 0 || handle == NULL ||
                      handle->rt_ != rt))
        return join_slow(cx, handle, ret_result);
    uint32_t index = (uint32_t)handle->id.word;
    if (ASX__UNLIKELY(handle->id.word >> 32 != ASX__TASK_WORD >> 32 || index >= rt->tasks.carved))
        return join_slow(cx, handle, ret_result);
    asx__task *child = task_of_index(rt, index);
    /* Its own slot, ended with nothing left to look after, and no cancel pending here. */
    if (ASX__UNLIKELY(child->generation != handle->id.generation || child->generation == 0 ||
                      child->phase != ASX_TASK_COMPLETED || child->extra != NULL || rt->tracing ||
                      (task->flags & (ASX__T_CANCEL | ASX__T_METERED | ASX__T_TIMED)) != 0))
        return join_slow(cx, handle, ret_result);
    if (ret_result != NULL)
        join_result(child, ret_result);
    unlink_child(rt, child->region, child);
    child->generation = 0;
    asx__slab_release(&rt->tasks, child, index);
    return ASX_OK;
}

/* ---- small things --------------------------------------------------------------------------- */

asx_status asx_task_set_value(asx_cx *cx, uint64_t value)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0))
        return st;
    task->r.value = value;
    task->flags |= ASX__T_VALUE;
    return ASX_OK;
}

asx_status asx_task_set_pointer(asx_cx *cx, void *value)
{
    return asx_task_set_value(cx, (uint64_t)(uintptr_t)value);
}

asx_poll asx_poll_fail(asx_cx *cx, asx_status status)
{
    asx__task *task;
    asx_runtime *rt;
    if (asx__cx_enter(cx, 0, &task, &rt) == ASX_OK) {
        asx__extra *extra = asx__task_extra(rt, task);
        if (extra != NULL)
            extra->poll_status = status < 0 ? status : ASX_E_INVALID_ARGUMENT;
    }
    return ASX_POLL_ERROR;
}

asx_status asx_task_get_state(const asx_task *handle, asx_task_state *ret_state)
{
    asx__task *task;
    asx_status st = asx__task_resolve(handle, &task);
    if (st < 0)
        return st;
    if (ret_state == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_state = (asx_task_state)task->phase;
    return ASX_OK;
}

asx_status asx_task_probe(const asx_task *handle, asx_task_state to)
{
    asx__task *task;
    asx_status st = asx__task_resolve(handle, &task);
    return st < 0 ? st : asx_task_transition_legal((asx_task_state)task->phase, to);
}

asx_status asx_cx_task(const asx_cx *cx, asx_task *ret_task)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (st < 0)
        return st;
    if (ret_task == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ret_task->rt_ = rt;
    ret_task->id = asx_handle_make(ASX_TAG_TASK, ASX_STATE_MASK_ALL, asx__task_index(rt, task),
                                   task->generation);
    return ASX_OK;
}
