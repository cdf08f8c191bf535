/* cx.c - what a task does for itself: who it is, sleeping, its waker, user events.
 *
 * Sleeping. A fiber's timer handle is on its stack, a poll task's where its place in a list is
 * otherwise: it stands in none until the timer has fired or is cancelled. A sleep beyond the
 * wheel's longest timer is cut into pieces; one without end has no timer.
 *
 * Timers are collected in batches, so the timer of a sleep that another timer of the same batch
 * has just ended still fires: it finds the task not asleep and does nothing.
 */
#include "sched/engine.h"
#include "sched/hot.h"

/* ---- identity ------------------------------------------------------------------------------- */

asx_status asx_cx_narrow(const asx_cx *cx, uint32_t caps, asx_cx *ret_cx)
{
    if (cx == NULL || ret_cx == NULL || cx->task_ == NULL)
        return ASX__EMPTY_IF(ASX_E_INVALID_ARGUMENT, ret_cx);
    ret_cx->task_ = cx->task_;
    ret_cx->rt_ = cx->rt_;
    ret_cx->caps_ = cx->caps_ & caps;
    ret_cx->reserved_ = 0;
    return ASX_OK;
}

uint32_t asx_cx_caps(const asx_cx *cx)
{
    return cx != NULL ? cx->caps_ : 0;
}

asx_task_id asx_cx_task_id(const asx_cx *cx)
{
    asx_task task = { 0 };
    (void)asx_cx_task(cx, &task);
    return task.id;
}

asx_region_id asx_cx_region_id(const asx_cx *cx)
{
    asx_region region = { 0 };
    (void)asx_cx_region(cx, &region);
    return region.id;
}

asx_time asx_now(const asx_cx *cx)
{
    ASX__GATE_CX_AS(asx_time, cx, asx_now(&in));
    return cx != NULL && cx->rt_ != NULL ? cx->rt_->now : 0;
}

asx_runtime *asx_cx_runtime(const asx_cx *cx)
{
    if (cx == NULL)
        return NULL;
    return asx__is_gate(cx->rt_) ? cx->rt_->behind : cx->rt_;
}

asx_status asx_cx_budget(const asx_cx *cx, asx_budget *ret_budget)
{
    ASX__EMPTY(ret_budget);
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, asx_cx_budget(&in, ret_budget));
        return st;
    }
    if (ret_budget == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_budget = task->extra != NULL ? task->extra->budget : task->region->budget;
    return ASX_OK;
}

asx_status asx_trace_user(asx_cx *cx, uint32_t code, uint64_t value)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, ASX_CAP_TRACE, &task, &rt);
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, asx_trace_user(&in, code, value));
        return st;
    }
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_USER, code, value, 0, 0);
    return ASX_OK;
}

/* ---- sleep ---------------------------------------------------------------------------------- */

static asx_timer_handle *sleep_handle(asx__task *task)
{
    return task->flags & ASX__T_POLL ? &task->sleep : task->r.io;
}

static void sleep_fired(void *arg)
{
    asx__task *task = arg;
    asx_runtime *rt = task->region->rt;
    if (asx__waits_for(task, &rt->sleep_wait))
        asx__wake(rt, task, ASX_OK, true);
}

static void sleep_unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    (void)waitable;
    if (granted)
        return; /* it has fired, and the task is in a list */
    asx_timer_handle *handle = sleep_handle(task);
    uint64_t serial = rt->tracing ? asx__timer_serial(&rt->timers, handle) : 0;
    if (asx_timer_cancel(&rt->timers, handle) && rt->tracing)
        asx__journal(rt, ASX_EVENT_TIMER_CANCEL, serial, 0, 0, 0);
}

static const asx__waitable_ops sleep_ops = { ASX__WAIT_SLEEP, NULL, sleep_unpublish };

/* Longer than any timer may be. */
static bool is_too_long(const asx_runtime *rt, asx_time until)
{
    asx_time now = rt->timers.now;
    return until > now && until - now > rt->timers.max_timer_duration_ns;
}

static asx_status arm_sleep(asx_runtime *rt, asx__task *task, asx_time until,
                            asx_timer_handle *ret_handle)
{
    if (until == ASX_TIME_NEVER) {
        *ret_handle = (asx_timer_handle){ 0, 0 };
        return ASX_OK;
    }
    if (is_too_long(rt, until))
        until = asx_time_add(rt->timers.now, rt->timers.max_timer_duration_ns);
    asx_waker waker = { sleep_fired, task };
    asx_status st = asx_timer_register(&rt->timers, until, waker, ret_handle);
    if (st == ASX_OK && rt->tracing)
        asx__journal(rt, ASX_EVENT_TIMER_ARM, asx__timer_serial(&rt->timers, ret_handle), until, 0,
                     0);
    return st;
}

static asx_status sleep_poll(asx_runtime *rt, asx__task *task, asx_time until)
{
    asx__extra *extra = task->extra;
    if (asx__wait_granted(task, &rt->sleep_wait)) {
        if (extra == NULL || rt->now >= extra->sleep_until)
            return ASX_OK;
        until = extra->sleep_until; /* a piece of a very long sleep has passed */
    }
    if (is_too_long(rt, until)) {
        extra = asx__task_extra(rt, task);
        if (extra == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
    }
    asx_status st = asx__wait_prepare(rt, task, &rt->sleep_wait);
    if (st < 0)
        return st;
    st = arm_sleep(rt, task, until, &task->sleep);
    if (st < 0)
        return st;
    if (extra != NULL)
        extra->sleep_until = until;
    return asx__wait_on(rt, task, &rt->sleep_wait, NULL);
}

static asx_status sleep_fiber(asx_runtime *rt, asx__task *task, asx_time until)
{
    asx_timer_handle handle;
    asx_status st = asx__wait_prepare(rt, task, &rt->sleep_wait);
    while (st == ASX_OK) {
        st = arm_sleep(rt, task, until, &handle);
        if (st < 0)
            return st;
        st = asx__park(rt, task, &rt->sleep_wait, &handle);
        if (rt->now >= until)
            return st;
    }
    return st;
}

asx_status asx_sleep_until(asx_cx *cx, asx_time until)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, ASX_CAP_TIME, &task, &rt);
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, asx_sleep_until(&in, until));
        return st;
    }
    bool waited = (task->flags & ASX__T_GRANTED) && task->w.waits == &rt->sleep_wait;
    if ((task->flags & (ASX__T_TIMED | ASX__T_CANCEL)) == ASX__T_TIMED && !waited &&
        rt->now >= task->extra->budget.deadline && !asx__task_masked(task)) {
        (void)asx__tell_if_needed(rt, task); /* requests the cancellation that goes with it */
        return ASX_E_BUDGET_EXHAUSTED;
    }
    (void)asx__announce(rt, task, ASX__OP_SLEEP, 0, .sleep.until = until);
    st = asx__checkpoint(rt, task);
    if (st < 0 || rt->seam != NULL)
        return st;
    if (until <= rt->now && !waited)
        return asx_yield(cx);
    return task->flags & ASX__T_POLL ? sleep_poll(rt, task, until) : sleep_fiber(rt, task, until);
}

asx_status asx_sleep(asx_cx *cx, uint64_t duration_ns)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, ASX_CAP_TIME, &task, &rt);
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, asx_sleep(&in, duration_ns));
        return st;
    }
    return asx_sleep_until(cx, asx_time_add(asx__clock_read(rt), duration_ns));
}

/* ---- the task's waker ----------------------------------------------------------------------- */

struct asx__waker_cell {
    asx__task *task; /* NULL: it has ended */
    asx_runtime *rt; /* I */
    uint64_t serial; /* I: the task's */
};

void asx__waker_orphan(struct asx__waker_cell *cell)
{
    cell->task = NULL;
}

static void wake_cell(struct asx__waker_cell *cell)
{
    asx_runtime *rt = cell->rt;
    asx__task *task = cell->task;
    if (task == NULL)
        return;
    if (asx__waits_for(task, &rt->external_wait))
        asx__wake(rt, task, ASX_OK, true);
    else
        task->flags |= ASX__T_EXTERNAL;
}

static void wake_external(void *arg)
{
    struct asx__waker_cell *cell = arg;
    (void)asx__announce(cell->rt, cell->rt->current, ASX__OP_WAKE, cell->serial); /* ended or not */
    if (ASX__UNLIKELY(cell->rt->found != NULL) && cell->task != NULL)
        cell->rt->found(cell->rt, 0, cell->serial);
    if (cell->rt->gate == NULL) {
        wake_cell(cell);
        return;
    }
    bool had_it = asx__engine_enter(cell->rt);
    wake_cell(cell);
    asx__engine_leave(cell->rt, had_it);
}

uint64_t asx__waker_task(const asx_waker *waker)
{
    const struct asx__waker_cell *cell = waker->arg;
    return waker->wake == wake_external ? cell->serial : 0;
}

static void external_unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    (void)rt;
    (void)task;
    (void)waitable;
    (void)granted;
}

static const asx__waitable_ops external_ops = { ASX__WAIT_EXTERNAL, NULL, external_unpublish };
static const asx__waitable_ops yield_ops = { ASX__WAIT_YIELD, NULL, external_unpublish };

void asx__cx_waitables_init(asx_runtime *rt)
{
    rt->sleep_wait.ops = &sleep_ops;
    rt->external_wait.ops = &external_ops;
    rt->yield_wait.ops = &yield_ops;
}

asx_status asx_cx_waker(asx_cx *cx, asx_waker *ret_waker)
{
    ASX__EMPTY(ret_waker);
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, asx_cx_waker(&in, ret_waker));
        return st;
    }
    if (ret_waker == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__extra *extra = asx__task_extra(rt, task);
    if (extra == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    if (extra->waker == NULL) {
        extra->waker = asx__region_memory(task->region, sizeof *extra->waker);
        if (extra->waker == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        extra->waker->task = task;
        extra->waker->rt = rt;
        extra->waker->serial = asx__serial(task->generation);
    }
    ret_waker->wake = wake_external;
    ret_waker->arg = extra->waker;
    return ASX_OK;
}

static asx_status wait_external(asx_runtime *rt, asx__task *task)
{
    if (task->extra != NULL && task->extra->waker != NULL)
        (void)asx__announce(rt, task, ASX__OP_WAIT_EXTERNAL, 0);
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    if (task->extra == NULL || task->extra->waker == NULL)
        return ASX_E_NO_WAKER;
    if (task->flags & ASX__T_EXTERNAL) {
        task->flags &= ~(uint32_t)ASX__T_EXTERNAL;
        return ASX_OK;
    }
    if (asx__wait_granted(task, &rt->external_wait))
        return ASX_OK;
    st = asx__wait_prepare(rt, task, &rt->external_wait);
    if (st < 0)
        return st;
    return asx__wait_on(rt, task, &rt->external_wait, NULL);
}

bool asx__wait_woken(asx_runtime *rt, asx__task *task, bool told)
{
    uint64_t found = asx__announce(rt, task, told ? ASX__OP_WAIT_WOKEN : ASX__OP_WAIT_EXTERNAL, 0);
    if (found == ASX__IS_CANCELLED)
        return false;
    task->flags &= ~(uint32_t)ASX__T_EXTERNAL;
    if (rt->found != NULL)
        rt->found(rt, 0, asx__serial(task->generation));
    return true;
}

asx_status asx_wait_external(asx_cx *cx)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, asx_wait_external(&in));
        return st;
    }
    st = wait_external(rt, task);
    if (ASX__UNLIKELY(rt->found != NULL) && st == ASX_OK)
        rt->found(rt, 0, asx__serial(task->generation));
    return st;
}
