/* task.c - the life of a task record, its end, join.
 *
 * A record is in its region's list of children, in order of creation, from spawn until it is
 * recycled. It is recycled when the task ends, unless somebody holds a handle (T_HANDLE): then
 * when it is joined, or when the region's record goes.
 *
 * The end of a task, in order: scopes it left open are cancelled and drained, its cleanups run,
 * what it still holds is aborted, its outcome is decided and folded into the region, links fire,
 * the joiner is handed the result, the region goes on closing if it was waiting for this.
 */
#include "sched/task.h"

#include "sched/failed.h"
#include "sched/lessee.h"

#include <string.h>

/* ---- records -------------------------------------------------------------------------------- */

void asx__task_release_extra(asx_runtime *rt, asx__task *task)
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
    if (ASX__UNLIKELY(task->extra != NULL))
        asx__task_release_extra(rt, task);
    task->w.waits = NULL;
    task->reason = NULL;
    asx__task_recycle_plain(rt, task);
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

asx_status asx__task_resolve(const asx_task *handle, asx__task **ret_task)
{
    if (handle == NULL || handle->task_ == NULL || asx_handle_tag(handle->id) != ASX_TAG_TASK)
        return ASX_E_INVALID_ARGUMENT;
    asx__task *task = handle->task_;
    if (task->generation != handle->id.generation || task->generation == 0)
        return ASX_E_STALE_HANDLE;
    if ((asx_handle_mask(handle->id) & ASX_STATE_BIT(task->phase)) == 0)
        return ASX_E_CAPABILITY;
    *ret_task = task;
    return ASX_OK;
}

/* ---- end ------------------------------------------------------------------------------------ */

asx_status asx__call_guarded(asx_runtime *rt, asx_cx *cx, asx_call_fn fn, void *arg)
{
    jmp_buf again;
    jmp_buf *outer = rt->cleanup_again;
    volatile asx_status st = ASX_E_PANICKED;
    rt->cleanup_again = &again;
    if (setjmp(again) == 0)
        st = asx__call_out(rt, cx, fn, arg);
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
    rt->hot = 0; /* nothing may be switched to from here */
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
            (void)asx__call_out(rt, &cx, cleanup->fn, cleanup->arg);
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
        (void)asx__announce(rt, task, ASX__OP_CANCEL_REGION,
                            asx__serial(extra->scopes->generation));
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
        asx_status st = asx__task_fire(&task->phase, ASX__TASK_CLEANUP_DONE);
        ASX__ASSERT(st == ASX_OK);
        journal_phase(rt, task, ASX_TASK_CANCELLING, ASX_TASK_FINALIZING);
    }
    unsigned from = task->phase;
    asx_status st = asx__task_fire(&task->phase, from == ASX_TASK_FINALIZING
                                                     ? ASX__TASK_FINALIZE_DONE
                                                     : ASX__TASK_COMPLETE);
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

/* Hands the result to a parked joiner; true: the record is done with. */
static bool hand_to_joiner(asx_runtime *rt, asx__task *task)
{
    asx__task *joiner = task->joiner;
    bool inline_run = (task->flags & ASX__T_INLINE) != 0;
    bool goes_next = inline_run && rt->next_up == NULL && !(joiner->flags & ASX__T_CANCEL);
    task->joiner = NULL;
    task->flags &= ~(uint32_t)ASX__T_JOINER;
    if ((joiner->flags & ASX__T_POLL) == 0) {
        if (joiner->r.io != NULL)
            asx__join_result(task, joiner->r.io);
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
    rt->tasks_ended++;
    if (!rt->fast)
        rt->fibers_live -= (task->flags & ASX__T_POLL) == 0;
    rt->timed_tasks -= (task->flags & ASX__T_TIMED) != 0;
    if (ASX__UNLIKELY((task->flags & ASX__T_PINNED) != 0))
        asx__unpin(rt, task);
}

/* Finalizers that their task could not run (no stack, forced, panicked) run here. */
static asx_status remaining_finalizers(asx_runtime *rt, asx__task *task, asx_status returned)
{
    asx_cx cx = { task, rt, asx__task_caps(task), 0 };
    asx__task *before = rt->current;
    bool in_cleanup = rt->in_cleanup;
    rt->current = task;
    rt->in_cleanup = true;
    rt->hot = 0;
    asx_status st = asx__region_run_finalizers(&cx, task->region);
    rt->in_cleanup = in_cleanup;
    rt->current = before;
    return returned == ASX_E_RESOURCE_EXHAUSTED || st < 0 ? st : returned;
}

bool asx__task_finish_joined(asx_runtime *rt, asx__task *task)
{
    asx__region *region = task->region;
    if ((task->flags & ASX__T_NOT_PLAIN) != ASX__T_JOINER || !region->fast)
        return false;
    ASX__DEBUG_ASSERT(task->phase == ASX_TASK_RUNNING && !rt->tracing);
    task->phase = ASX_TASK_COMPLETED;
    task->w.status = ASX_OK;
    asx__exec_set(task, ASX__EXEC_DONE);
    rt->tasks_ended++;
    region->n_ok++;
    if (hand_to_joiner(rt, task) || (task->flags & ASX__T_HANDLE) == 0) {
        task->w.waits = NULL;
        asx__task_recycle_plain(rt, task);
    }
    return true;
}

bool asx__task_finish_cancelled(asx_runtime *rt, asx__task *task)
{
    if ((task->flags & ASX__T_NOT_PLAIN) != ASX__T_CANCEL || task->phase != ASX_TASK_CANCELLING)
        return false;
    _Static_assert((ASX__TASK_LEGAL & ASX__PAIR_BIT(ASX_TASK_CANCELLING, ASX_TASK_FINALIZING)) !=
                           0 &&
                       (ASX__TASK_LEGAL &
                        ASX__PAIR_BIT(ASX_TASK_FINALIZING, ASX_TASK_COMPLETED)) != 0,
                   "a cancelling task may finalize and complete");
    asx__region *region = task->region;
    asx_outcome outcome = { ASX_OUTCOME_CANCELLED, ASX_E_CANCELLED,
                            asx__serial(task->generation) };
    task->phase = ASX_TASK_COMPLETED;
    task->outcome = ASX_OUTCOME_CANCELLED;
    task->w.status = ASX_E_CANCELLED;
    asx__exec_set(task, ASX__EXEC_CANCELLED);
    rt->tasks_ended++;
    region->n_cancelled++;
    if (!rt->fast)
        rt->fibers_live -= (task->flags & ASX__T_POLL) == 0;
    if (region->outcome.kind != ASX_OUTCOME_CANCELLED || region->outcome.source > outcome.source)
        asx__region_fold(rt, region, task, outcome);
    if ((task->flags & ASX__T_HANDLE) == 0)
        asx__task_recycle(rt, task);
    if (region->state != ASX_REGION_DRAINING || asx__region_live_tasks(region) == 0)
        asx__region_progress(rt, region);
    return true;
}

void asx__task_finish(asx_runtime *rt, asx__task *task, asx_status returned)
{
    asx__region *region = task->region;
    if (ASX__UNLIKELY(task->extra != NULL)) {
        asx__extra *extra = task->extra;
        if (asx__region_runs_finalizers(region, task)) {
            asx__region_finalizer_left(rt, region, returned);
            if (region->finalizers != NULL)
                returned = remaining_finalizers(rt, task, returned);
        }
        do { /* a cleanup may open a scope, and a scope may be left open by it */
            while (extra->scopes != NULL) {
                asx__region_abandon(rt, extra->scopes);
                if (returned >= 0)
                    returned = ASX_E_REGION_LEFT_OPEN;
            }
            asx__task_run_cleanups(rt, task, true);
        } while (extra->scopes != NULL || extra->cleanups != NULL);
        if (extra->obligations != NULL || asx__obligation_object(&extra->permit) != NULL)
            asx__obligations_end_task(rt, task);
        (void)asx__task_leave_place(rt, task);
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
    asx__region_child_ended(rt, region, task, asx__outcome_of(task));
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

/* What a task that waits in a join waits for. */
static asx__task *target_of(const asx__task *joiner)
{
    return (asx__task *)(void *)joiner->node.next; /* it stands in no list */
}

/* A join that is refused, or cancelled, gives none. */
static void say_no_result(asx_join_result *ret_result)
{
    if (ret_result != NULL)
        *ret_result = (asx_join_result){ { ASX_OUTCOME_ERR, ASX_E_NOT_FOUND, 0 }, 0 };
}

static void join_unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    (void)rt;
    (void)waitable;
    (void)granted;
    asx__task *target = target_of(task);
    if ((task->flags & ASX__T_POLL) == 0)
        say_no_result(task->r.io);
    ASX__ASSERT(target->joiner == task);
    target->joiner = NULL;
    target->flags &= ~(uint32_t)(ASX__T_JOINER | ASX__T_INLINE);
}

static const asx__waitable_ops join_ops = { ASX__WAIT_JOIN, NULL, join_unpublish };

void asx__task_waitables_init(asx_runtime *rt)
{
    rt->join_wait.ops = &join_ops;
}

asx__task *asx__join_target(const asx_runtime *rt, const asx__task *joiner)
{
    if (asx__exec_state(joiner) != ASX__EXEC_PARKED || joiner->w.waits != &rt->join_wait)
        return NULL;
    return target_of(joiner);
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

/* Would the child run next anyway, and others after it? Then they all run one after the other, and
 * the joiner finds that those it joins next have ended. */
static inline bool leads_others(const asx_runtime *rt, const asx__task *child)
{
    const asx__node *list = &rt->ready.queue[0];
    return child->node.prev == list && child->node.next != list;
}

/* A child that has not started may run in the joiner's place. */
static void run_inline(asx_runtime *rt, asx__task *joiner, asx__task *child)
{
    uint32_t special = ASX__T_CANCEL | ASX__T_TIMED | ASX__T_METERED | ASX__T_PINNED;
    if (rt->config.join_in_order || rt->next_up != NULL ||
        child->phase != ASX_TASK_CREATED || (child->flags & special) != 0 ||
        (joiner->flags & special) != 0 || child->priority != joiner->priority ||
        asx__exec_state(child) != ASX__EXEC_RUNNABLE || leads_others(rt, child))
        return;
    asx__dequeue(rt, child);
    child->flags |= ASX__T_INLINE;
    rt->next_up = child;
    rt->hot = 0;
}

/* The same when nobody has to be asked, fibers both: may the child, which has not started, run in
 * the joiner's place at once? What stands before the lanes, or has to be looked at between two
 * dispatches, goes the long way. */
static inline bool goes_in_place(const asx_runtime *rt, const asx__task *joiner,
                                 const asx__task *child)
{
    const uint32_t plain = ASX__T_HANDLE | ASX__T_STARTED | ASX__T_INLINE | ASX__T_JOINER;
    return child->flags == ASX__T_HANDLE && (joiner->flags & ~plain) == 0 &&
           rt->hot_most == ASX__HOT_LEAVE && rt->turn_left > 1 && rt->next_up == NULL &&
           rt->inline_streak < ASX__INLINE_MOST && rt->pool->free != NULL && rt->over == NULL &&
           !rt->in_cleanup && !rt->config.join_in_order && !leads_others(rt, child);
}

static asx_status join_in_place(asx_runtime *rt, asx__task *joiner, asx__task *child,
                                asx_join_result *ret_result)
{
    ASX__DEBUG_ASSERT(child->phase == ASX_TASK_CREATED && child->joiner == NULL);
    ASX__DEBUG_ASSERT(asx__exec_state(child) == ASX__EXEC_RUNNABLE); /* F2 */
    if (ASX__LIKELY(rt->engine == NULL) || !asx__locals_forget(rt, child))
        asx__list_remove(&child->node);
    child->joiner = joiner;
    child->flags = ASX__T_HANDLE | ASX__T_STARTED | ASX__T_JOINER | ASX__T_INLINE;
    child->phase = ASX_TASK_RUNNING;
    asx__fiber_bind(rt, child, asx__stack_acquire(rt->pool));
    asx__exec_run(rt, child);
    rt->inline_streak++;
    rt->turn_left--;
    rt->current = child;
    joiner->node.next = &child->node;
    asx__park_in(joiner, &rt->join_wait, ret_result);
    return asx__switch_to(joiner, child);
}

/* Likewise for a poll task that joins, and a child of either kind: it goes next. */
static inline bool polls_in_place(const asx_runtime *rt, const asx__task *joiner,
                                  const asx__task *child)
{
    const uint32_t plain = ASX__T_HANDLE | ASX__T_STARTED | ASX__T_INLINE | ASX__T_JOINER;
    return (child->flags & ~(uint32_t)ASX__T_POLL) == ASX__T_HANDLE &&
           (joiner->flags & ~plain) == ASX__T_POLL && rt->hot_most != 0 && rt->next_up == NULL &&
           asx__waits_for_nothing(rt, joiner) && !rt->config.join_in_order &&
           !leads_others(rt, child);
}

static asx_status join_poll_in_place(asx_runtime *rt, asx__task *joiner, asx__task *child)
{
    asx__dequeue(rt, child);
    child->joiner = joiner;
    child->flags |= ASX__T_JOINER | ASX__T_INLINE;
    rt->next_up = child;
    rt->hot = 0;
    joiner->node.next = &child->node;
    return asx__wait_poll(joiner, &rt->join_wait);
}

static inline __attribute__((always_inline)) asx_status
join_wait(asx_runtime *rt, asx__task *task, asx__task *child, asx_join_result *ret_result)
{
    if (goes_in_place(rt, task, child))
        return join_in_place(rt, task, child, ret_result);
    if (polls_in_place(rt, task, child))
        return join_poll_in_place(rt, task, child);
    if (child->joiner != NULL && child->joiner != task)
        return ASX_E_BUSY;
    if (would_deadlock(rt, task, child))
        return ASX_E_WOULD_DEADLOCK;
    asx_status st = asx__wait_prepare(rt, task, &rt->join_wait);
    if (st < 0)
        return st;
    task->node.next = &child->node;
    rt->join_wait.serial = asx__serial(child->generation);
    child->joiner = task;
    child->flags |= ASX__T_JOINER;
    run_inline(rt, task, child);
    return asx__wait_on(rt, task, &rt->join_wait, ret_result);
}

static asx_status join_inside(asx_cx *cx, asx_task *handle, asx_join_result *ret_result)
{
    if (!asx__task_is_shared(handle))
        return asx_join(cx, handle, ret_result);
    if (handle->gate_->behind != cx->rt_)
        return ASX_E_STALE_HANDLE;
    asx_task in = asx__task_inside(handle);
    return in.task_ != NULL ? asx_join(cx, &in, ret_result) : ASX_E_STALE_HANDLE;
}

/* Somebody has joined it before. In an explored runtime that depends on an order that nothing
 * decides, so it is a join all the same; only its answer is another. */
static asx_status join_late(asx_runtime *rt, asx__task *task, const asx_task *handle,
                            asx_status refusal)
{
    (void)asx__announce(rt, task, ASX__OP_JOIN, asx__serial(handle->id.generation));
    asx_status st = asx__checkpoint(rt, task);
    return st < 0 ? st : refusal;
}

static __attribute__((noinline)) asx_status join_slow(asx_cx *cx, asx_task *handle,
                                                      asx_join_result *ret_result)
{
    asx__task *task, *child;
    asx_runtime *rt;
    say_no_result(ret_result);
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, join_inside(&in, handle, ret_result));
        return st;
    }
    if (ASX__UNLIKELY(asx__task_is_shared(handle))) /* of another runtime */
        return ASX_E_STALE_HANDLE;
    st = asx__task_resolve(handle, &child);
    if (ASX__UNLIKELY(st < 0))
        return st == ASX_E_STALE_HANDLE && rt->seam != NULL ? join_late(rt, task, handle, st) : st;
    if (ASX__UNLIKELY(child->region->rt != rt))
        return ASX_E_STALE_HANDLE;
    if (child == task)
        return ASX_E_WOULD_DEADLOCK;
    asx__join_prepare(rt, task, child);
    (void)asx__announce(rt, task, ASX__OP_JOIN, asx__serial(child->generation));
    st = asx__join_checkpoint(rt, task, child);
    if (ASX__LIKELY(st == ASX_OK) && ASX__UNLIKELY(rt->seam != NULL))
        st = asx__task_resolve(handle, &child); /* somebody may have joined it meanwhile */
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (child->phase != ASX_TASK_COMPLETED)
        return join_wait(rt, task, child, ret_result);
    if (ret_result != NULL)
        asx__join_result(child, ret_result);
    if (ASX__UNLIKELY(rt->tracing))
        asx__journal(rt, ASX_EVENT_TASK_JOIN, asx__serial(child->generation), child->outcome,
                     (uint64_t)(int64_t)child->w.status, 0);
    asx__task_recycle(rt, child);
    return ASX_OK;
}

/* Nothing about either is special. When there is a journal every task has an extra part. */
static inline bool joins_plainly(const asx__task *task, const asx__task *child,
                                 const asx_task *handle)
{
    return handle->id.word >> 32 == ASX__TASK_WORD >> 32 &&
           child->generation == handle->id.generation &&
           (child->flags & (ASX__T_EXTRA | ASX__T_CANCEL)) == 0 &&
           (task->flags & ASX__T_CHECKED) == 0;
}

/* By a lease, inside: the child has not ended. */
static __attribute__((noinline)) asx_status join_waits(asx_runtime *rt, asx__task *task,
                                                       asx__task *child,
                                                       asx_join_result *ret_result)
{
    asx_status st = child != task ? join_wait(rt, task, child, ret_result) : ASX_E_WOULD_DEADLOCK;
    return asx__engine_left(rt, st);
}

/* Of a shared runtime, or refused: by the lease of the worker, if it has one. */
static __attribute__((noinline)) asx_status join_gate(asx_cx *cx, asx_task *handle,
                                                      asx_join_result *ret_result)
{
    asx__worker *w = handle != NULL && handle->task_ == NULL ? asx__lessee_of(cx) : NULL;
    if (w == NULL)
        return join_slow(cx, handle, ret_result);
    asx_runtime *rt = w->rt;
    asx__task *task = cx->task_;
    uint32_t index = asx_handle_index(handle->id);
    if (ASX__LIKELY(handle->gate_ == rt->gate && index < rt->tasks.carved)) {
        asx__task *child = asx__task_at(rt, index + 1);
        if (ASX__LIKELY(joins_plainly(task, child, handle))) {
            if (ASX__UNLIKELY(child->phase != ASX_TASK_COMPLETED)) {
                asx__lessee_stay(w);
                return join_waits(rt, task, child, ret_result);
            }
            if (ret_result != NULL)
                asx__join_result(child, ret_result);
            child->w.waits = NULL;
            asx__task_recycle_plain(rt, child);
            asx__lessee_out(w);
            return ASX_OK;
        }
    }
    asx__lessee_out(w);
    return join_slow(cx, handle, ret_result);
}

asx_status asx_join(asx_cx *cx, asx_task *handle, asx_join_result *ret_result)
{
    asx__task *task;
    asx_runtime *rt;
    if (ASX__UNLIKELY(asx__cx_enter(cx, 0, &task, &rt) < 0 || handle == NULL ||
                      handle->task_ == NULL))
        return join_gate(cx, handle, ret_result);
    asx__task *child = handle->task_;
    if (ASX__UNLIKELY(!joins_plainly(task, child, handle) || child->region->rt != rt))
        return join_slow(cx, handle, ret_result);
    if (child->phase != ASX_TASK_COMPLETED) {
        if (goes_in_place(rt, task, child))
            return join_in_place(rt, task, child, ret_result);
        if (polls_in_place(rt, task, child))
            return join_poll_in_place(rt, task, child);
        return join_slow(cx, handle, ret_result);
    }
    if (ret_result != NULL)
        asx__join_result(child, ret_result);
    child->w.waits = NULL;
    asx__task_recycle_plain(rt, child);
    return ASX_OK;
}

/* ---- small things --------------------------------------------------------------------------- */

static __attribute__((noinline)) asx_status set_value_refused(asx_cx *cx, uint64_t value,
                                                              asx_status st)
{
    asx__worker *w = asx__lessee_of(cx);
    if (ASX__LIKELY(w != NULL)) {
        cx->task_->r.value = value;
        cx->task_->flags |= ASX__T_VALUE;
        asx__lessee_out(w);
        return ASX_OK;
    }
    ASX__GATE_CX(cx, asx_task_set_value(&in, value));
    return st;
}

asx_status asx_task_set_value(asx_cx *cx, uint64_t value)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0))
        return set_value_refused(cx, value, st);
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
    ASX__GATE_CX_AS(asx_poll, cx, asx_poll_fail(&in, status));
    if (asx__cx_enter(cx, 0, &task, &rt) == ASX_OK) {
        rt->poll_failure = status < 0 ? status : ASX_E_INVALID_ARGUMENT;
        rt->poll_failed = task->generation;
    }
    return ASX_POLL_ERROR;
}

asx_status asx_task_get_state(const asx_task *handle, asx_task_state *ret_state)
{
    ASX__EMPTY(ret_state);
    asx__task *task;
    asx_status st = asx__task_resolve(handle, &task);
    if (st < 0) {
        ASX__GATE_TASK(handle, asx_task_get_state(&in, ret_state));
        return st;
    }
    if (ret_state == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_state = (asx_task_state)task->phase;
    return ASX_OK;
}

asx_status asx_task_probe(const asx_task *handle, asx_task_state to)
{
    asx__task *task;
    asx_status st = asx__task_resolve(handle, &task);
    if (st < 0) {
        ASX__GATE_TASK(handle, asx_task_probe(&in, to));
        return st;
    }
    return asx_task_transition_legal((asx_task_state)task->phase, to);
}

asx_status asx_cx_task(const asx_cx *cx, asx_task *ret_task)
{
    ASX__EMPTY(ret_task);
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (st < 0) {
        ASX__GATE_CX(cx, asx_cx_task(&in, ret_task));
        return st;
    }
    if (ret_task == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ret_task->task_ = task;
    ret_task->id = asx_handle_make(ASX_TAG_TASK, ASX_STATE_MASK_ALL, task->index,
                                   task->generation);
    asx__task_outside(rt, ret_task);
    return ASX_OK;
}
