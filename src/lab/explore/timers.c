/* timers.c - timers that tasks register in the runtime's wheel by themselves.
 *
 * They get a wheel that stands for the runtime's, so that what they do to it is heard. What a timer
 * does when it fires nobody can know before. The quiescent clock moves when nobody can go, and that
 * commutes with nothing: so it is done then, and the move is told what it did. Those that are due
 * at the same time fire in the order in which they were registered, which therefore is an operation
 * (SET_TIMER), unless all that they do is to call the waker of a task: that commutes.
 *
 * Where time is adversarial a timer is a task of the engine that may fire until it is cancelled. So
 * it has to be known what it does, and that is if it calls the waker of a task. One that nobody has
 * cancelled fires in every execution, after the end of all tasks at the latest: else it would
 * depend on who goes by default whether it does.
 *
 * A timer that was left behind is forgotten with its execution.
 */
#include "lab/explore/explore.h"

#include "sched/region_seam.h"

#include <stdlib.h>

#define OF_TASK 0x20000000u /* numbers of regions are smaller */
#define TIMES ((UINT64_C(1) << 58) - 1) /* as many as a name has room for */

static bool is_adversarial(const asx__explorer *x)
{
    return x->options->clock == ASX_EXPLORE_ADVERSARIAL;
}

/* ---- records -------------------------------------------------------------------------------- */

/* NULL: it is none of this execution. */
static asx__lab_timer *find_timer(const asx__explorer *x, const asx_timer_handle *handle)
{
    size_t from = 0, to = x->timers_len;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (x->timers[middle]->handle.generation < handle->generation)
            from = middle + 1;
        else
            to = middle;
    }
    asx__lab_timer *timer = from < x->timers_len ? x->timers[from] : NULL;
    return timer != NULL && timer->handle.generation == handle->generation &&
                   timer->handle.id == handle->id
               ? timer
               : NULL;
}

/* NULL: no memory. */
static asx__lab_timer *next_record(asx__explorer *x)
{
    if (!asx__explorer_room(x, (void **)&x->timers, &x->timers_cap, x->timers_len + 1,
                            sizeof *x->timers))
        return NULL;
    if (x->timers[x->timers_len] == NULL)
        x->timers[x->timers_len] = malloc(sizeof **x->timers);
    return x->timers[x->timers_len];
}

/* It was pending? */
static bool settle(asx__explorer *x, asx__lab_timer *timer)
{
    bool pending = timer->pending;
    timer->pending = false;
    x->timers_pending -= pending;
    return pending;
}

/* Of a task that has ended the region may be closed, and the waker gone. */
static bool wakes_nobody(const asx__explorer *x, const asx__lab_timer *timer)
{
    const asx__lab_task *other = asx__explorer_task(x, timer->wakes);
    const asx__task *task = other != NULL ? other->record : NULL;
    return timer->wakes != 0 && (task == NULL || asx__serial(task->generation) != timer->wakes ||
                                 task->phase == ASX_TASK_COMPLETED);
}

void asx__timers_forget(asx__explorer *x)
{
    for (size_t i = 0; i < x->timers_len; i++)
        (void)asx_timer_cancel(&x->rt->timers, &x->timers[i]->handle);
    x->timers_len = x->timers_pending = 0;
    x->firing = NULL;
}

void asx__timers_free(asx__explorer *x)
{
    for (size_t i = 0; i < x->timers_cap; i++)
        free(x->timers[i]);
    free(x->timers);
    free(x->front);
}

/* ---- it fires ------------------------------------------------------------------------------- */

/* The clock has moved. */
static void fired(void *arg)
{
    asx__lab_timer *timer = arg;
    asx__explorer *x = timer->x;
    (void)settle(x, timer);
    if (x->clearing)
        return;
    if (!x->advancing)
        asx__explorer_refuse(x, ASX_EVENT_TIMER_FIRE);
    asx__dpor_also(x->dpor, timer->name, ASX__TIMER_GONE);
    if (wakes_nobody(x, timer))
        return;
    x->firing = timer;
    timer->waker.wake(timer->waker.arg);
    x->firing = NULL;
}

static asx__lab_timer *timer_of(const asx__explorer *x, uint32_t task)
{
    size_t at = task < x->known_cap ? x->known[task].timed : x->timers_len;
    return at < x->timers_len && x->timers[at]->task == task ? x->timers[at] : NULL;
}

bool asx__timer_is_one(const asx__explorer *x, uint32_t task)
{
    return timer_of(x, task) != NULL;
}

bool asx__timer_fire(asx__explorer *x, uint32_t task)
{
    asx__lab_timer *timer = timer_of(x, task);
    if (timer == NULL)
        return false;
    (void)asx__dpor_commit(x->dpor, task);
    (void)settle(x, timer);
    (void)asx_timer_cancel(&x->rt->timers, &timer->handle);
    if (!wakes_nobody(x, timer))
        timer->waker.wake(timer->waker.arg);
    return true;
}

void asx__timers_end(asx__explorer *x)
{
    while (is_adversarial(x) && x->timers_pending != 0 && x->unsupported == 0) {
        uint32_t chosen = asx__dpor_choose(x->dpor);
        if (chosen == ASX__DPOR_NONE || !asx__explorer_fire(x, chosen))
            return;
    }
}

/* ---- what tasks do to them ------------------------------------------------------------------ */

/* The running task, if it is one of the test's that can wait for its turn; else NULL. */
static asx__lab_task *running(const asx__explorer *x)
{
    const asx__task *task = x->rt->current;
    if (task == NULL || x->clearing || x->rt->in_cleanup || (task->flags & ASX__T_POLL) != 0)
        return NULL;
    asx__lab_task *self = asx__explorer_task(x, asx__serial(task->generation));
    return self != NULL && self->id != ASX__DPOR_NONE ? self : NULL;
}

/* A task or a timer does it. Others: nobody can say when, but a clock that moves when nobody can go
 * does not ask. */
static void operate(asx__explorer *x, const asx__op *op, uint32_t event)
{
    asx__lab_task *self = running(x);
    if (self != NULL) {
        self->joins = 0;
        (void)asx__explorer_stand(x, x->rt->current, op);
    } else if (x->firing != NULL) {
        (void)asx__dpor_does(x->dpor, op);
    } else if (is_adversarial(x) && !x->clearing) {
        asx__explorer_refuse(x, event);
    }
}

static bool cancel(void *ctx, const asx_timer_handle *handle)
{
    asx__explorer *x = ctx;
    asx__lab_timer *timer = find_timer(x, handle);
    if (timer == NULL)
        return false;
    asx__op op = { .kind = ASX__OP_CANCEL_TIMER, .name = timer->name, .site = "" };
    operate(x, &op, ASX_EVENT_TIMER_CANCEL);
    (void)asx_timer_cancel(&x->rt->timers, &timer->handle);
    return settle(x, timer);
}

/* It may fire at any time. */
static void announce(asx__explorer *x, asx__lab_timer *timer, const asx__lab_task *owner,
                     uint32_t nth)
{
    const asx__lab_task *other = asx__explorer_task(x, timer->wakes);
    if (owner == NULL || other == NULL || other->id == ASX__DPOR_NONE) {
        asx__explorer_refuse(x, ASX_EVENT_TIMER_ARM); /* nobody knows what it will do */
        return;
    }
    uint32_t task = asx__dpor_timer_task(x->dpor, owner->id, OF_TASK | nth);
    asx__op op = { .kind = ASX__OP_FIRE_TIMER, .name = timer->name, .site = "",
                   .other = ASX__NAME(ASX__NAME_WAKER, other->id, 0) };
    if (task == ASX__DPOR_NONE || !asx__explorer_room(x, (void **)&x->known, &x->known_cap,
                                                      (size_t)task + 1, sizeof *x->known))
        return;
    timer->task = task;
    x->known[task].timed = x->timers_len - 1;
    asx__dpor_announce(x->dpor, task, &op);
}

/* What setting it is, if anybody could tell; false: nobody can. */
static bool make_set(const asx__explorer *x, asx_time deadline, const asx_waker *waker,
                     const asx__lab_timer *old, asx__op *ret_op)
{
    uint64_t replaced = old != NULL ? old->name : 0;
    if (is_adversarial(x) || asx__waker_task(waker) != 0) {
        *ret_op = (asx__op){ .kind = ASX__OP_CANCEL_TIMER, .name = replaced, .site = "" };
        return replaced != 0;
    }
    uint64_t due = ASX__NAME(ASX__NAME_DUE, 0, 0) | (asx__explorer_time(x, deadline) & TIMES);
    *ret_op = (asx__op){ .kind = ASX__OP_SET_TIMER, .name = due, .other = replaced, .site = "" };
    return true;
}

/* It is in the wheel. */
static void note(asx__explorer *x, asx__lab_timer *timer, const asx_waker *waker)
{
    const asx_runtime *rt = x->rt;
    uint64_t owner = x->firing != NULL     ? x->firing->owner
                     : rt->current != NULL ? asx__serial(rt->current->generation)
                                           : 0;
    asx__lab_task *self = asx__explorer_task(x, owner);
    uint32_t nth = self != NULL ? self->timers++ : 0;
    timer->x = x;
    timer->waker = *waker;
    timer->owner = owner;
    timer->wakes = asx__waker_task(waker);
    timer->task = ASX__DPOR_NONE;
    timer->pending = true;
    x->timers_len++;
    x->timers_pending++;
    if (!x->timed)
        asx__explorer_begin_time(x);
    timer->name = asx__explorer_make_name(x, ASX__NAME_TIMER, self != NULL ? self->id : 0, nth);
    asx__dpor_put(x->dpor, timer->name, ASX__TIMER_PENDING);
    if (is_adversarial(x))
        announce(x, timer, self, nth);
    else if (self == NULL)
        asx__explorer_refuse(x, ASX_EVENT_TIMER_ARM); /* it would have no name */
}

static asx_status arm(void *ctx, const asx_timer_handle *old_handle, asx_time deadline,
                      asx_waker waker, asx_timer_handle *ret_handle)
{
    asx__explorer *x = ctx;
    asx_timer_wheel *wheel = &x->rt->timers;
    asx__lab_timer *old = old_handle != NULL ? find_timer(x, old_handle) : NULL;
    asx__op op;
    if (deadline > x->rt->now && deadline - x->rt->now > wheel->max_timer_duration_ns)
        return ASX_E_TIMER_DURATION_EXCEEDED;
    deadline = asx__deadline_explored(x->rt, deadline);
    if (make_set(x, deadline, &waker, old, &op))
        operate(x, &op, ASX_EVENT_TIMER_ARM);
    asx__lab_timer *timer = next_record(x);
    if (timer == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    asx_status st = asx_timer_register(wheel, deadline, (asx_waker){ fired, timer },
                                       &timer->handle);
    if (st < 0)
        return st;
    if (old != NULL) {
        (void)asx_timer_cancel(wheel, &old->handle);
        (void)settle(x, old);
    }
    note(x, timer, &waker);
    *ret_handle = timer->handle;
    return ASX_OK;
}

/* Who takes what is due out of the wheel: it is the runtime's. */
static size_t collect(void *ctx)
{
    asx__explorer_refuse(ctx, ASX_EVENT_TIMER_FIRE);
    return 0;
}

static bool enter(void *ctx)
{
    (void)ctx;
    return false;
}

static void leave(void *ctx, bool entered)
{
    (void)ctx;
    (void)entered;
}

asx_timer_wheel *asx__explorer_timers(void *ctx)
{
    static const asx__timer_calls calls = { arm, cancel, collect };
    asx__explorer *x = ctx;
    if (x->front == NULL) {
        x->front = calloc(1, sizeof *x->front);
        x->gate = (asx__timer_gate){ &x->rt->timers, enter, leave, x, &calls };
        if (x->front == NULL)
            x->status = ASX_E_RESOURCE_EXHAUSTED;
        else
            x->front->gate = &x->gate;
    }
    return x->front;
}
