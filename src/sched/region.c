/* region.c - the tree of regions, and how one closes.
 *
 *     Open --begin_close--> Closing --+--> Draining --> Finalizing --> Closed
 *                                     +------ no children -----^
 *
 * asx__region_progress() is the close driver: it is called whenever something that a closing
 * region may have waited for has happened, and takes it as far as it can go. It leaves Draining
 * only when somebody has asked for the close: until then the region's memory may be in use by the
 * task that opened it. On the way through Finalizing, in this order: finalizers, last first, in
 * one task; residents (channels) let go; obligations still reserved become Leaked; Closed.
 *
 * The record of a Closed region stays until its closer has fetched the result; one that nobody
 * closed (its owner ended first) is folded into its parent and freed at once.
 */
#include "sched/failed.h"
#include "sched/lessee.h"
#include "sched/region_seam.h"

#include <string.h>

/* ---- names ---------------------------------------------------------------------------------- */

/* A region that could not be opened carries the reason, for every call that is made on it. */
static asx_status bury(asx_region *ret_region, asx_status status)
{
    if (status < 0 && ret_region != NULL) {
        ret_region->rt_ = NULL;
        ret_region->id.word = (uint64_t)ASX_TAG_REGION << 48;
        ret_region->id.generation = (uint64_t)(int64_t)status;
    }
    return status;
}

static asx_status stillborn(const asx_region *handle)
{
    if (handle == NULL || handle->id.word != (uint64_t)ASX_TAG_REGION << 48 ||
        (int64_t)handle->id.generation >= 0)
        return ASX_E_INVALID_ARGUMENT;
    return (asx_status)(int64_t)handle->id.generation;
}

asx_status asx__region_resolve(const asx_region *handle, uint16_t endpoint_mask,
                               asx__region **ret_region)
{
    if (ASX__UNLIKELY(handle == NULL || handle->rt_ == NULL))
        return stillborn(handle);
    asx_runtime *rt = handle->rt_;
    uint64_t word = handle->id.word;
    if (ASX__UNLIKELY(word >> 48 != ASX_TAG_REGION))
        return ASX_E_INVALID_ARGUMENT;
    uint32_t index = (uint32_t)word;
    if (ASX__UNLIKELY(index >= rt->regions.carved))
        return ASX_E_STALE_HANDLE;
    asx__region *region = asx__slab_at(&rt->regions, index);
    if (ASX__UNLIKELY(region->generation != handle->id.generation || region->generation == 0))
        return ASX_E_STALE_HANDLE;
    uint16_t bit = ASX_STATE_BIT(region->state);
    if (ASX__UNLIKELY(((word >> 32) & bit & endpoint_mask) == 0))
        return (endpoint_mask & bit) == 0 ? ASX_E_INVALID_TRANSITION : ASX_E_CAPABILITY;
    *ret_region = region;
    return ASX_OK;
}

asx_region asx__region_name(const asx__region *region)
{
    asx_region name = { asx__handle_runtime(region->rt),
                        asx_handle_make(ASX_TAG_REGION, ASX_STATE_MASK_ALL, region->index,
                                        region->generation) };
    return name;
}

asx_region asx_region_narrow(asx_region region, uint16_t mask)
{
    region.id = asx_handle_narrow(region.id, mask);
    return region;
}

void *asx__region_memory(asx__region *region, size_t size)
{
    if (region->memory_max != 0 &&
        (size > region->memory_max || region->arena.bytes > region->memory_max - size))
        return NULL;
    return asx__arena_alloc(region->rt, &region->arena, size);
}

asx__region_facts asx__region_facts_of(const asx__region *region)
{
    asx__region_facts facts = {
        .live_tasks = asx__region_live_tasks(region),
        .live_regions = region->live_regions,
        .reserved_obligations = region->live_obligations,
        .finalizers_left = region->finalizers != NULL,
    };
    return facts;
}

asx_status asx__region_sticky(asx__region *region, asx_status status)
{
    if (status < 0 && status != ASX_E_ADMISSION_CLOSED && region->setup == ASX_OK &&
        region->state == ASX_REGION_OPEN) {
        region->setup = status;
        region->fast = false;
        region->own_failure = region->owner != NULL && region->owner == region->rt->current;
        asx__region_failed(region->rt, region);
    }
    return status;
}

void asx__region_classify(asx__region *region)
{
    region->fast = region->rt->fast && region->state == ASX_REGION_OPEN && region->plain &&
                   region->setup == ASX_OK && region->tasks_max == 0 && !region->rt->narrowed;
}

void asx__caps_narrowed(asx_runtime *rt, uint32_t caps)
{
    if (rt->narrowed || (caps & ASX_CAP_ALL) == ASX_CAP_ALL)
        return;
    rt->narrowed = true;
    for (uint32_t i = 0; i < rt->regions.carved; i++)
        ((asx__region *)asx__slab_at(&rt->regions, i))->fast = false;
}

/* ---- opening -------------------------------------------------------------------------------- */

static void inherit(asx__region *region, const asx__region *parent,
                    const asx_region_options *options)
{
    region->policy = (uint8_t)options->policy;
    region->admission = (uint8_t)options->admission;
    region->cleanup = options->cleanup != ASX_CLEANUP_INHERIT ? (uint8_t)options->cleanup
                      : parent != NULL                        ? parent->cleanup
                                                              : (uint8_t)ASX_CLEANUP_BOUNDED;
    region->cleanup_time_ns = options->cleanup_time_ns != 0 ? options->cleanup_time_ns
                              : parent != NULL              ? parent->cleanup_time_ns
                                                            : 5 * ASX_SEC;
    region->leak = options->leak != ASX_LEAK_INHERIT ? (uint8_t)options->leak
                   : parent != NULL                  ? parent->leak
                   : region->rt->lab                 ? (uint8_t)ASX_LEAK_PANIC
                                                     : (uint8_t)ASX_LEAK_REPORT;
    region->leaks_allowed = options->leaks_allowed || (parent != NULL && parent->leaks_allowed);
    region->caps = parent != NULL ? parent->caps : ASX_CAP_ALL;
    if (options->caps != 0)
        region->caps &= options->caps;
    asx__caps_narrowed(region->rt, region->caps);
    region->tasks_max = options->tasks_max;
    region->regions_max = options->regions_max;
    region->obligations_max = options->obligations_max;
    region->memory_max = options->memory_max;
    region->budget = parent != NULL ? parent->budget : asx_budget_infinite();
    region->deadline_at = ASX_TIME_NEVER;
    if (options->budget != NULL) {
        asx_time inherited = region->budget.deadline;
        region->budget = asx_budget_meet(region->budget, *options->budget);
        if (region->budget.deadline < inherited) {
            region->budget.deadline = asx__deadline_explored(region->rt, region->budget.deadline);
            region->deadline_at = region->budget.deadline;
        }
    }
    region->plain = region->budget.deadline == ASX_TIME_NEVER &&
                    region->budget.poll_quota == ASX_QUOTA_UNLIMITED &&
                    region->budget.cost_quota == ASX_COST_UNLIMITED &&
                    region->budget.priority == 0;
    region->timeout_at = options->timeout_ns == 0
                             ? ASX_TIME_NEVER
                             : asx_time_add(asx__clock_read(region->rt), options->timeout_ns);
    asx__region_classify(region);
}

static void close_unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__region *region = (asx__region *)((char *)waitable - offsetof(asx__region, close_wait));
    (void)rt;
    (void)granted;
    if (region->closer == task)
        region->closer = NULL;
}

static const asx__waitable_ops close_ops = { ASX__WAIT_REGION_CLOSE, asx__wait_never_ends,
                                             close_unpublish };

static void init_record(asx_runtime *rt, asx__region *region, uint32_t index)
{
    memset(region, 0, sizeof *region);
    region->rt = rt;
    region->index = index;
    region->generation = ++rt->region_generation;
    region->state = ASX_REGION_OPEN;
    asx__list_init(&region->children);
    asx__list_init(&region->admission_queue);
    region->close_wait.ops = &close_ops;
    region->admission_wait.ops = &asx__admission_ops;
    region->close_wait.serial = region->admission_wait.serial = asx__serial(region->generation);
    region->cleanup_at = ASX_TIME_NEVER;
    region->timer_at = ASX_TIME_NEVER;
}

asx_status asx__region_create(asx_runtime *rt, asx__region *parent, asx__task *owner,
                              const asx_region_options *options, const char *site, bool scoped,
                              asx__region **ret_region)
{
    static const asx_region_options none;
    if (options == NULL)
        options = &none;
    if (rt->config.limits.regions_max != 0 && rt->live_regions >= rt->config.limits.regions_max)
        return ASX_E_RESOURCE_EXHAUSTED;
    asx__extra *extra = owner != NULL ? asx__task_extra(rt, owner) : NULL;
    uint32_t index;
    asx__region *region = asx__slab_alloc(rt, &rt->regions, &index);
    if (region == NULL || (owner != NULL && extra == NULL)) {
        if (region != NULL)
            asx__slab_release(&rt->regions, region, index);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    init_record(rt, region, index);
    region->scoped = scoped;
    region->name = options->name != NULL ? options->name : "";
    region->site = site;
    inherit(region, parent, options);
    asx__region_arm(rt, region);
    if ((region->timeout_at & region->deadline_at) != ASX_TIME_NEVER &&
        region->timer_at == ASX_TIME_NEVER) { /* a deadline that nobody would watch */
        asx__region_disarm(rt, region);
        region->generation = 0;
        rt->region_generation--;
        asx__slab_release(&rt->regions, region, index);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    region->parent = parent;
    if (parent != NULL) {
        asx__list_push_back(&parent->children, &region->link);
        parent->live_regions++;
    }
    rt->live_regions++;
    region->owner = owner;
    if (owner != NULL) {
        region->owner_next = extra->scopes;
        extra->scopes = region;
    }
    if (rt->tracing && parent != NULL) /* the root's comes with the first event of the run */
        asx__journal(rt, ASX_EVENT_REGION_OPEN, asx__serial(region->generation),
                     asx__serial(parent->generation), 0, 0);
    *ret_region = region;
    return ASX_OK;
}

static bool options_ok(const asx_region_options *o)
{
    return o == NULL ||
           ((unsigned)o->policy <= ASX_POLICY_COLLECT &&
            (unsigned)o->cleanup <= ASX_CLEANUP_PANIC && (unsigned)o->leak <= ASX_LEAK_PANIC &&
            (unsigned)o->admission <= ASX_ADMISSION_WAIT);
}

/* A task that goes on without a region it wanted may wait for what was to run there. So the failure
 * is one of the set-up of the region around it, if that is the task's own. */
static asx_status not_opened(const asx__task *task, asx__region *parent, asx_status st)
{
    return parent->owner == task ? asx__region_sticky(parent, st) : st;
}

static asx_status open_region(const asx_cx *cx, asx__region *parent, bool scoped,
                              asx_region *ret_region, const asx_region_options *options,
                              const char *site)
{
    asx_runtime *rt = cx->rt_;
    asx__task *task = cx->task_;
    if (ret_region == NULL || !options_ok(options))
        return not_opened(task, parent, ASX_E_INVALID_ARGUMENT);
    if (scoped)
        asx__scope_explored(rt, task, parent);
    if (parent->regions_max != 0 && parent->live_regions >= parent->regions_max)
        return ASX_E_ADMISSION_CLOSED;
    asx__region *region;
    asx_status st = asx__region_create(rt, parent, task, options, site, scoped, &region);
    if (st < 0)
        return not_opened(task, parent, st);
    region->caps &= cx->caps_; /* a narrowed context opens nothing wider than itself */
    asx__caps_narrowed(rt, region->caps);
    region->shielded = asx__task_masked(task);
    *ret_region = asx__region_name(region);
    asx__scope_begins(rt, region, task);
    return ASX_OK;
}

asx__region *asx__task_scope(const asx__task *task)
{
    asx__region *region = task->extra != NULL ? task->extra->scopes : NULL;
    while (region != NULL && region->state == ASX_REGION_CLOSED)
        region = region->owner_next; /* a poll task has not fetched its result yet */
    return region;
}

static asx_status open_scope(const asx_cx *cx, asx_region *ret_region,
                             const asx_region_options *options, const char *site)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, ASX_CAP_SPAWN, &task, &rt);
    if (st < 0) {
        ASX__GATE_CX(cx, open_scope(&in, ret_region, options, site));
        return st;
    }
    asx__region *parent = asx__task_scope(task);
    if (parent == NULL)
        parent = task->region;
    return open_region(cx, parent, true, ret_region, options, site);
}

asx_status asx_region_open_at(asx_cx *cx, const asx_region_options *options, asx_region *ret_region,
                              const char *site)
{
    if (cx != NULL && cx->rt_ != NULL && asx__fails(cx->rt_, ASX__FAULT_NO_MEMORY))
        return bury(ret_region, ASX_E_RESOURCE_EXHAUSTED);
    return bury(ret_region, open_scope(cx, ret_region, options, site));
}

static asx_status open_in(const asx_cx *cx, const asx_region *handle, asx_region *ret_region,
                          const asx_region_options *options, const char *site)
{
    asx__task *task;
    asx_runtime *rt;
    asx__region *parent;
    asx_status st = asx__cx_enter(cx, ASX_CAP_SPAWN, &task, &rt);
    if (st < 0) {
        ASX__GATE_CX(cx, open_in(&in, handle, ret_region, options, site));
        return st;
    }
    asx_region inside = handle != NULL ? *handle : (asx_region){ NULL, { 0, 0 } };
    if (asx__is_gate(inside.rt_) && inside.rt_->behind == rt)
        inside.rt_ = rt;
    st = asx__region_resolve(handle != NULL ? &inside : NULL, ASX_STATE_MASK_ALL, &parent);
    if (st < 0)
        return st;
    if (parent->rt != rt)
        return ASX_E_STALE_HANDLE;
    st = asx__region_gate((asx_region_state)parent->state, ASX__GATE_OPEN_REGION, false);
    if (st < 0)
        return st;
    return open_region(cx, parent, false, ret_region, options, site);
}

asx_status asx_region_open_in_at(asx_cx *cx, const asx_region *handle,
                                 const asx_region_options *options, asx_region *ret_region,
                                 const char *site)
{
    if (cx != NULL && cx->rt_ != NULL && asx__fails(cx->rt_, ASX__FAULT_NO_MEMORY))
        return bury(ret_region, ASX_E_RESOURCE_EXHAUSTED);
    asx__open_explored(handle);
    return bury(ret_region, open_in(cx, handle, ret_region, options, site));
}

/* ---- closing -------------------------------------------------------------------------------- */

void asx__region_set(asx_runtime *rt, asx__region *region, asx_region_state to)
{
    asx__region_facts facts = asx__region_facts_of(region);
    asx_region_state state = (asx_region_state)region->state;
    asx_region_state from = state;
    asx_status st = asx__region_step(&state, to, &facts);
    ASX__ASSERT(st == ASX_OK);
    region->state = (uint8_t)state;
    asx__region_classify(region);
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_REGION_STATE, asx__serial(region->generation), (uint64_t)from,
                     (uint64_t)to, 0);
}

/* The next in a walk through the tree below `top`, parents first; `down`: into `at` too. */
static asx__region *next_below(asx__region *top, asx__region *at, bool down)
{
    if (down && !asx__list_empty(&at->children))
        return (asx__region *)at->children.next;
    for (; at != top; at = at->parent)
        if (at->link.next != &at->parent->children)
            return (asx__region *)at->link.next;
    return NULL;
}

void asx__region_begin_close(asx_runtime *rt, asx__region *region)
{
    bool closes = true;
    for (asx__region *r = region; r != NULL; r = next_below(region, r, closes)) {
        closes = r == region || (!r->scoped && r->state == ASX_REGION_OPEN);
        if (closes) {
            asx__region_set(rt, r, ASX_REGION_CLOSING);
            asx__region_refuse_waiters(rt, r);
        }
    }
}

asx_status asx_region_stop(const asx_region *handle)
{
    asx__region *region;
    asx__stop_explored(handle);
    asx_status st = asx__region_resolve(handle, ASX_STATE_MASK_ALL, &region);
    if (st < 0) {
        ASX__GATE_REGION(handle, asx_region_stop(&in));
        return st;
    }
    if (region->state != ASX_REGION_OPEN)
        return ASX_E_INVALID_TRANSITION;
    asx__region_begin_close(region->rt, region);
    asx__region_progress(region->rt, region);
    return ASX_OK;
}

bool asx__region_runs_finalizers(const asx__region *region, const asx__task *task)
{
    return region->finalizing && region->finalizer_task == task;
}

static void finalizer_over(asx_runtime *rt, asx__region *region, asx_status st)
{
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_FINALIZER_RUN, asx__serial(region->generation),
                     region->finalizer_now, (uint64_t)(int64_t)st, 0);
    region->finalizer_now = 0;
}

void asx__region_finalizer_left(asx_runtime *rt, asx__region *region, asx_status st)
{
    if (region->finalizer_now != 0)
        finalizer_over(rt, region, st);
}

asx_status asx__region_run_finalizers(asx_cx *cx, void *arg)
{
    ASX__GATE_CX(cx, asx__region_run_finalizers(&in, arg));
    asx__region *region = arg;
    asx_runtime *rt = region->rt;
    asx_status first = ASX_OK;
    cx->task_->extra->mask_base = cx->task_->mask_depth;
    while (region->finalizers != NULL) {
        asx__finalizer *f = region->finalizers;
        region->finalizers = f->next;
        region->n_finalized++; /* it may not return: see asx__region_finalizer_left() */
        region->finalizer_now = f->number;
        asx_status st = rt->in_cleanup ? asx__call_guarded(rt, cx, f->fn, f->arg)
                                       : asx__call_out(rt, cx, f->fn, f->arg);
        finalizer_over(rt, region, st);
        if (st < 0 && first == ASX_OK)
            first = st;
    }
    return first;
}

static void release_kept(asx_runtime *rt, asx__region *region)
{
    while (region->kept != NULL) {
        asx__stack *stack = region->kept;
        region->kept = stack->next;
        asx__stack_release(stack->owner, stack);
        rt->stacks_kept--;
        rt->fibers_live--;
    }
}

static void recycle_tasks(asx_runtime *rt, asx__region *region)
{
    while (region->task_first != 0) {
        asx__task *task = asx__slab_at(&rt->tasks, region->task_first - 1);
        ASX__ASSERT(task->phase == ASX_TASK_COMPLETED);
        asx__task_recycle(rt, task);
    }
}

static asx_status law_of_close(const asx__region *region)
{
    asx__close_facts facts = {
        .panicked = region->panicked,
        .child_failed = region->failure.kind == ASX_OUTCOME_ERR,
        .first_failure = region->failure.status,
        .own_deadline = region->timed_out,
        .outer_cancel = region->outer_cancel,
        .body = region->setup < 0 ? region->setup : region->body,
    };
    return asx__close_law(&facts);
}

/* Nobody will look at this region's result: it counts in its parent's. */
static void fold_into_parent(asx_runtime *rt, asx__region *region)
{
    asx__region *parent = region->parent;
    if (parent == NULL)
        return;
    asx_outcome outcome = region->outcome;
    if (region->left_open && outcome.kind == ASX_OUTCOME_OK)
        outcome = (asx_outcome){ ASX_OUTCOME_ERR, ASX_E_REGION_LEFT_OPEN,
                                 asx__serial(region->generation) };
    parent->busy++; /* our caller goes on with it */
    asx__region_fold(rt, parent, NULL, outcome);
    parent->busy--;
}

/* From Finalizing to Closed; what the parent may have waited for has happened. */
static void finish_close(asx_runtime *rt, asx__region *region)
{
    asx__region *parent = region->parent;
    ASX__DEBUG_ASSERT(!region->cancel_listed && region != rt->cancel_at);
    for (asx__resident *r = region->residents; r != NULL; r = r->next)
        r->ops->finalize(rt, r);
    asx__obligations_leak_region(rt, region);
    if (!region->leaks_allowed)
        rt->leaks_refused += region->n_leaked;
    asx__region_set(rt, region, ASX_REGION_CLOSED);
    region->result = law_of_close(region);
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_REGION_REPORT, asx__serial(region->generation),
                     (uint64_t)region->outcome.kind, (uint64_t)(int64_t)region->result, 0);
    if (region->report != NULL)
        asx__report_close(rt, region->report, region);
    for (asx__resident *r = region->residents; r != NULL;) {
        asx__resident *next = r->next;
        r->ops->retire(rt, r);
        r = next;
    }
    region->residents = NULL;
    asx__region_disarm(rt, region);
    recycle_tasks(rt, region);
    asx__task_drop_finalizer(rt, region);
    release_kept(rt, region);
    region->reason = NULL;
    region->panic_note = NULL;
    region->forced = NULL;
    asx__arena_deinit(rt, &region->arena);
    rt->live_regions--;
    if (parent != NULL) {
        parent->live_regions--;
        asx__list_remove(&region->link);
    }
    if (region == rt->root) {
        rt->finished = true;
        rt->result = region->result;
    } else if (region->closer != NULL) {
        asx__task *closer = region->closer;
        region->closer = NULL;
        asx__wake(rt, closer, ASX_OK, false);
    } else if (region->owner == NULL) {
        fold_into_parent(rt, region);
        asx__region_free(rt, region);
    }
}

void asx__region_free(asx_runtime *rt, asx__region *region)
{
    asx__obligations_forget_region(rt, region);
    region->generation = 0;
    asx__slab_release(&rt->regions, region, region->index);
}

static void drop_report(asx_runtime *rt, asx__region *region)
{
    if (region->report == NULL)
        return;
    asx_close_report_deinit(region->report);
    if (region->report_kept)
        asx__mem_free(rt, region->report, sizeof *region->report);
    region->report = NULL;
    region->report_kept = false;
}

void asx__region_discard(asx_runtime *rt, asx__region *region)
{
    if (region->report_kept)
        drop_report(rt, region);
    asx__arena_deinit(rt, &region->arena);
}

/* Takes a region one state further; false: it has to wait, or is Closed. */
static bool advance(asx_runtime *rt, asx__region *region)
{
    bool children = asx__region_live_tasks(region) != 0 || region->live_regions != 0;
    switch (region->state) {
    case ASX_REGION_OPEN:
        if (region->tasks_max != 0)
            asx__region_admit_waiters(rt, region);
        return false;
    case ASX_REGION_CLOSING:
        if (!children && !region->closing_asked)
            return false;
        asx__region_set(rt, region, children ? ASX_REGION_DRAINING : ASX_REGION_FINALIZING);
        return true;
    case ASX_REGION_DRAINING:
        if (children || !region->closing_asked)
            return false;
        asx__region_set(rt, region, ASX_REGION_FINALIZING);
        return true;
    case ASX_REGION_FINALIZING:
        if (region->finalizers != NULL && !region->finalizing) {
            region->finalizing = true;
            if (region->cleanup != ASX_CLEANUP_SOFT && rt->seam == NULL) {
                region->cleanup_at = asx_time_add(rt->now, region->cleanup_time_ns);
                asx__region_arm(rt, region);
            }
            asx__task_spawn_finalizer(rt, region, asx__region_run_finalizers);
            return false;
        }
        if (!children && region->finalizers == NULL)
            finish_close(rt, region);
        return false;
    default:
        return false;
    }
}

void asx__region_progress(asx_runtime *rt, asx__region *region)
{
    while (region != NULL && region->busy == 0 && region->state != ASX_REGION_CLOSED) {
        asx__region *parent = region->parent;
        uint64_t generation = region->generation;
        ASX__AUDIT_ASSERT(asx__region_is_valid(region));
        while (advance(rt, region))
            continue;
        if (region->generation == generation && region->state != ASX_REGION_CLOSED)
            return;
        region = parent; /* it may have waited for this one */
    }
}

/* ---- children that end ---------------------------------------------------------------------- */

void asx__region_fold(asx_runtime *rt, asx__region *region, asx__task *task, asx_outcome outcome)
{
    bool failed = outcome.kind == ASX_OUTCOME_ERR || outcome.kind == ASX_OUTCOME_PANICKED;
    asx__outcome_fold(&region->outcome, outcome);
    if (outcome.kind == ASX_OUTCOME_PANICKED)
        region->panicked = true;
    else if (outcome.kind == ASX_OUTCOME_ERR)
        asx__outcome_fold(&region->failure, outcome);
    if (failed && region->policy == ASX_POLICY_FAIL_FAST && !region->self_cancel &&
        region->state < ASX_REGION_FINALIZING) {
        region->self_cancel = region->child_failed = true;
        asx__region_cancel(rt, region,
                           asx__reason_make(rt, region, ASX_CANCEL_FAIL_FAST, region, task, NULL,
                                            NULL));
        asx__region_failed(rt, region);
    }
}

/* The program's main function has returned: the root closes with its status as the body's. */
static void main_ended(asx_runtime *rt, asx__region *root, asx__task *task, asx_outcome outcome)
{
    rt->main_task = NULL;
    root->body = outcome.status;
    root->closing_asked = true;
    asx__outcome_fold(&root->outcome, outcome);
    root->panicked |= outcome.kind == ASX_OUTCOME_PANICKED;
    bool told_already = outcome.kind == ASX_OUTCOME_CANCELLED && root->reason != NULL;
    if (outcome.status < 0 && !root->self_cancel && !told_already) {
        root->self_cancel = true;
        asx__region_cancel(rt, root,
                           asx__reason_make(rt, root, ASX_CANCEL_FAIL_FAST, root, task, NULL,
                                            NULL));
    }
    if (root->state == ASX_REGION_OPEN)
        asx__region_begin_close(rt, root);
}

void asx__region_child_ended(asx_runtime *rt, asx__region *region, asx__task *task,
                             asx_outcome outcome)
{
    if (ASX__UNLIKELY(asx__region_runs_finalizers(region, task))) {
        region->finalizer_task = NULL;
        region->spawned--; /* the runtime's own: not counted */
    } else if (ASX__LIKELY(outcome.kind == ASX_OUTCOME_OK))
        region->n_ok++;
    else if (outcome.kind == ASX_OUTCOME_ERR)
        region->n_err++;
    else if (outcome.kind == ASX_OUTCOME_CANCELLED)
        region->n_cancelled++;
    else
        region->n_panicked++;
    if (ASX__UNLIKELY(task == rt->main_task))
        main_ended(rt, region, task, outcome);
    else if (outcome.kind != ASX_OUTCOME_OK)
        asx__region_fold(rt, region, task, outcome);
}

/* ---- close, by its owner -------------------------------------------------------------------- */

static void disown(asx__region *region)
{
    asx__task *owner = region->owner;
    if (owner == NULL)
        return;
    asx__region **at = &owner->extra->scopes;
    while (*at != NULL && *at != region)
        at = &(*at)->owner_next;
    if (*at == region)
        *at = region->owner_next;
    region->owner = NULL;
    asx__scopes_look_again(owner);
}

/* The report is filled when the region closes. A poll task will be somewhere else by then, so what
 * it asked for is kept apart until it fetches the result. */
static asx_status begin_report(asx_runtime *rt, const asx__task *task, asx__region *region,
                               asx_close_report *report)
{
    if (report == NULL || region->report != NULL)
        return ASX_OK;
    if (task->flags & ASX__T_POLL) {
        report = asx__mem_alloc(rt, sizeof *report);
        if (report == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        region->report_kept = true;
    }
    asx__report_begin(rt, report);
    region->report = report;
    return ASX_OK;
}

static asx_status fetch_result(asx_runtime *rt, asx__region *region, asx_close_report *report)
{
    asx_status result = region->result;
    bool heard = !region->unheard;
    if (report != NULL && region->report == NULL) { /* asked for too late: no items */
        asx__report_begin(rt, report);
        asx__report_counts(report, region);
    } else if (report != NULL && region->report_kept) {
        *report = *region->report;
        asx__mem_free(rt, region->report, sizeof *region->report);
    } else if (region->report_kept) {
        drop_report(rt, region);
    }
    disown(region);
    asx__region_free(rt, region);
    /* Whoever gets this as the answer to a cancel of its own has been told. */
    if (result == ASX_E_CANCELLED && heard && rt->current != NULL)
        (void)asx__tell_if_needed(rt, rt->current);
    return result;
}

bool asx__region_is_inside(const asx__region *region, const asx__region *outer)
{
    for (; region != NULL; region = region->parent)
        if (region == outer)
            return true;
    return false;
}

/* Regions that the owner opened inside this one and forgot: cancelled and drained first. */
static asx_status close_inner(asx_runtime *rt, asx__task *task, asx__region *region)
{
    asx__region *inner = task->extra->scopes;
    while (inner != NULL && inner != region) {
        asx__region *next = inner->owner_next;
        if (asx__region_is_inside(inner, region)) {
            if (!inner->left_open)
                asx__region_note_left(region, inner);
            uint64_t generation = inner->generation;
            inner->left_open = true;
            (void)asx__announce(rt, task, ASX__OP_CANCEL_REGION, asx__serial(generation));
            asx_status st = asx__region_close_task(rt, inner, ASX_E_REGION_LEFT_OPEN, NULL, NULL);
            if (inner->generation == generation)
                return st; /* why it could not close; else what its tasks made of it */
            if (region->body >= 0)
                region->body = ASX_E_REGION_LEFT_OPEN;
            next = task->extra->scopes;
        }
        inner = next;
    }
    return ASX_OK;
}

static void cancel_to_close(asx_runtime *rt, asx__region *region, const asx_cancel_reason *reason)
{
    const asx_cancel_reason *why = reason != NULL ? asx__reason_copy(rt, region, reason) : NULL;
    if (why == NULL) /* also when there is no memory for the caller's: it must not wait for ever */
        why = asx__reason_make(rt, region, reason != NULL ? reason->kind : ASX_CANCEL_FAIL_FAST,
                               region, region->owner, NULL, NULL);
    region->self_cancel = true;
    asx__region_cancel(rt, region, why);
}

static void ask_close(asx_runtime *rt, asx__region *region, asx_status body,
                      const asx_cancel_reason *reason)
{
    bool first = !region->closing_asked;
    bool fails = body < 0 && (first || region->body >= 0);
    if (first || fails)
        region->body = body;
    region->closing_asked = true;
    if (reason != NULL || fails || (first && region->setup < 0))
        cancel_to_close(rt, region, reason);
    if (region->state == ASX_REGION_OPEN)
        asx__region_begin_close(rt, region);
    asx__region_progress(rt, region);
}

/* Nothing is left in it that a close would have to wait for. */
static bool closes_at_once(const asx__region *region)
{
    return asx__region_live_tasks(region) == 0 && region->live_regions == 0 &&
           region->finalizers == NULL && region->busy == 0;
}

asx_status asx__region_close_task(asx_runtime *rt, asx__region *region, asx_status body,
                                  const asx_cancel_reason *reason, asx_close_report *report)
{
    asx__task *task = rt->current;
    if (region->state != ASX_REGION_CLOSED) {
        asx_status st = ASX_OK;
        if (!closes_at_once(region))
            st = asx__wait_prepare(rt, task, &region->close_wait);
        if (st < 0 && st != ASX_E_WOULD_BLOCK)
            return st; /* it may not wait here, so nothing is begun */
        st = begin_report(rt, task, region, report);
        if (st < 0)
            return st;
        if (!region->closing_asked && region->body >= 0)
            region->body = body;
        st = close_inner(rt, task, region);
        if (st < 0)
            return st;
        region->explored = rt->seam != NULL &&
                          (!region->unheard || region->parent->regions_max != 0);
        region->busy += region->explored;
        ask_close(rt, region, region->body < 0 ? region->body : body, reason);
        if (ASX__UNLIKELY(region->explored))
            asx__region_close_explored(rt, region);
    }
    if (region->state == ASX_REGION_CLOSED)
        return fetch_result(rt, region, report);
    asx_status st = asx__wait_prepare(rt, task, &region->close_wait);
    if (st < 0)
        return st;
    region->closer = task;
    st = asx__wait_on(rt, task, &region->close_wait, NULL);
    if (st < 0)
        return st;
    ASX__ASSERT(region->state == ASX_REGION_CLOSED);
    return fetch_result(rt, region, report);
}

/* Whatever the close says, the caller may deinit its report. */
static void empty_report(asx_close_report *report)
{
    if (report != NULL)
        memset(report, 0, sizeof *report);
}

asx_status asx_region_close_with(asx_region *handle, asx_status body,
                                 const asx_cancel_reason *reason, asx_close_report *ret_report)
{
    asx__region *region;
    asx_status st = asx__region_resolve(handle, ASX_STATE_MASK_ALL, &region);
    if (st < 0) {
        ASX__GATE_REGION(handle, asx_region_close_with(&in, body, reason, ret_report));
        empty_report(ret_report);
        return st;
    }
    if (region->report != ret_report) /* not one that is being filled already */
        empty_report(ret_report);
    if (reason != NULL && (unsigned)reason->kind >= ASX_CANCEL_KIND_COUNT)
        return ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = region->rt;
    if (rt->current == NULL)
        return ASX_E_WRONG_CONTEXT;
    if (region->owner == NULL || region->owner != rt->current)
        return ASX_E_NOT_OWNER;
    if (body > 0)
        body = ASX_OK;
    if (ASX__UNLIKELY(rt->seam != NULL))
        asx__region_stop_explored(rt, region, body < 0 || reason != NULL);
    return asx__region_close_task(rt, region, body, reason, ret_report);
}

asx_status asx_region_close(asx_region *handle, asx_status body)
{
    return asx_region_close_with(handle, body, NULL, NULL);
}

void asx__region_abandon(asx_runtime *rt, asx__region *region)
{
    if (!region->left_open && region->owner != NULL)
        asx__region_note_left(region->owner->region, region);
    disown(region);
    region->left_open = true;
    drop_report(rt, region); /* a fiber's lies on a stack that nobody will return to */
    region->closer = NULL;
    region->busy -= region->explored;
    region->explored = false;
    if (region->state == ASX_REGION_CLOSED) {
        fold_into_parent(rt, region);
        asx__region_free(rt, region);
        return;
    }
    ask_close(rt, region, ASX_E_REGION_LEFT_OPEN, NULL);
}

/* ---- what a region holds -------------------------------------------------------------------- */

asx_status asx_defer(const asx_region *handle, asx_call_fn fn, void *arg)
{
    asx__region *region;
    (void)asx__made_explored(handle, false);
    asx_status st = asx__region_resolve(handle, ASX_STATE_MASK_ALL, &region);
    if (st < 0) {
        ASX__GATE_REGION(handle, asx_defer(&in, fn, arg));
        return st;
    }
    if (region->state != ASX_REGION_OPEN)
        return region->state == ASX_REGION_CLOSED ? ASX_E_REGION_CLOSED : ASX_E_REGION_NOT_OPEN;
    if (region->setup < 0)
        return region->setup;
    if (fn == NULL)
        return asx__region_sticky(region, ASX_E_INVALID_ARGUMENT);
    if (region->finalizer_task == NULL && asx__task_reserve_finalizer(region->rt, region) < 0)
        return asx__region_sticky(region, ASX_E_RESOURCE_EXHAUSTED);
    asx__finalizer *f = asx__region_memory(region, sizeof *f);
    if (f == NULL)
        return asx__region_sticky(region, ASX_E_RESOURCE_EXHAUSTED);
    f->fn = fn;
    f->arg = arg;
    f->number = ++region->finalizer_count;
    f->next = region->finalizers;
    region->finalizers = f;
    return ASX_OK;
}

asx_status asx_region_alloc(const asx_region *handle, size_t size, void **ret_memory)
{
    ASX__EMPTY(ret_memory);
    asx__region *region;
    if (handle != NULL && handle->rt_ != NULL && asx__fails(handle->rt_, ASX__FAULT_NO_MEMORY))
        return ASX_E_RESOURCE_EXHAUSTED;
    asx_status st = asx__region_resolve(handle, ASX_STATE_MASK_ALL, &region);
    if (st < 0) {
        ASX__GATE_REGION(handle, asx_region_alloc(&in, size, ret_memory));
        return st;
    }
    if (ret_memory == NULL || size == 0)
        return ASX_E_INVALID_ARGUMENT;
    st = asx__region_gate((asx_region_state)region->state, ASX__GATE_ACCESS_MEMORY, false);
    if (st < 0)
        return st;
    void *memory = asx__region_memory(region, size);
    if (memory == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    asx__creates(region->rt, .generation = (uintptr_t)memory, .size = size);
    *ret_memory = memory;
    return ASX_OK;
}

asx_status asx_region_get_state(const asx_region *handle, asx_region_state *ret_state)
{
    ASX__EMPTY(ret_state);
    asx__region *region;
    asx_status st = asx__region_resolve(handle, ASX_STATE_MASK_ALL, &region);
    if (st < 0) {
        ASX__GATE_REGION(handle, asx_region_get_state(&in, ret_state));
        return st;
    }
    if (ret_state == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_state = (asx_region_state)region->state;
    return ASX_OK;
}

asx_status asx_region_probe(const asx_region *handle, asx_region_state to)
{
    asx__region *region;
    asx_status st = asx__region_resolve(handle, ASX_STATE_MASK_ALL, &region);
    if (st < 0) {
        ASX__GATE_REGION(handle, asx_region_probe(&in, to));
        return st;
    }
    asx_region_state state = (asx_region_state)region->state;
    asx__region_facts facts = asx__region_facts_of(region);
    return asx__region_step(&state, to, &facts);
}

static __attribute__((noinline)) asx_status cx_region_refused(const asx_cx *cx,
                                                              asx_region *ret_region,
                                                              asx_status st)
{
    asx__worker *w = ret_region != NULL ? asx__lessee_of(cx) : NULL;
    if (ASX__LIKELY(w != NULL)) {
        *ret_region = asx__region_name(cx->task_->region);
        asx__lessee_out(w);
        return ASX_OK;
    }
    ASX__GATE_CX(cx, asx_cx_region(&in, ret_region));
    return st;
}

asx_status asx_cx_region(const asx_cx *cx, asx_region *ret_region)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0))
        return cx_region_refused(cx, ret_region, st);
    if (ret_region == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_region = asx__region_name(task->region);
    return ASX_OK;
}
