/* yield.c - giving way.
 *
 * A fiber that gives way goes to the end of its list and switches to the first in it. A poll task
 * says that it would wait, and its call says that all is well when it is made again.
 */
#include "sched/hot.h"
#include "sched/lessee.h"

/* To the end of its list; the call returns `status` when its turn comes. */
static asx_status give_way(asx_runtime *rt, asx__task *task, asx_status status)
{
    if (rt->tracing) {
        uint64_t seq =
            asx__journal(rt, ASX_EVENT_TASK_YIELD, asx__serial(task->generation), 0, 0, 0);
        if (task->extra != NULL)
            task->extra->wake_seq = seq;
    }
    task->w.status = status;
    asx__enqueue(rt, task);
    asx__exec_set(task, ASX__EXEC_YIELDED);
    return asx__leave(rt, task);
}

asx_status asx__give_way_refused(asx_runtime *rt, asx__task *task, asx_status status)
{
    return give_way(rt, task, status);
}

static __attribute__((noinline)) asx_status yield_slow(asx_runtime *rt, asx__task *task)
{
    (void)asx__announce(rt, task, ASX__OP_YIELD, 0);
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    if (rt->in_cleanup)
        return ASX_E_WRONG_CONTEXT;
    if (task->flags & ASX__T_POLL) {
        if (rt->yield_due) {
            rt->yield_due = false;
            return ASX_OK;
        }
        st = asx__wait_prepare(rt, task, &rt->yield_wait);
        if (st < 0)
            return st;
        task->flags |= ASX__T_YIELDED | ASX__T_RENEWED;
        asx__exec_set(task, ASX__EXEC_WAKING);
        return ASX_E_WOULD_BLOCK;
    }
    return give_way(rt, task, ASX_OK);
}

/* A poll task without deadline, quota or cancel. */
static asx_status yield_poll(asx_runtime *rt, asx__task *task)
{
    if (rt->yield_due && !rt->in_cleanup) {
        rt->yield_due = false;
        return ASX_OK;
    }
    if (ASX__UNLIKELY(!asx__waits_for_nothing(rt, task)))
        return yield_slow(rt, task);
    task->flags |= ASX__T_YIELDED | ASX__T_RENEWED;
    asx__exec_set(task, ASX__EXEC_WAKING);
    return ASX_E_WOULD_BLOCK;
}

static __attribute__((noinline)) asx_status yield_outside(asx_cx *cx, asx_status st)
{
    ASX__GATE_CX(cx, asx_yield(&in));
    return st;
}

/* Inside: gives way to the first in the hot list. */
static asx_status yield_step(void *rt_, void *task_, void *next_)
{
    asx_runtime *rt = rt_;
    asx__task *task = task_, *next = next_;
    rt->turn_left--;
    (void)asx__list_pop_front(&rt->ready.queue[0]);
    asx__list_push_back(&rt->ready.queue[0], &task->node);
    task->w.status = ASX_OK;
    asx__exec_queue(task);
    asx__exec_set(task, ASX__EXEC_YIELDED);
    asx__exec_run(rt, next);
    rt->current = next;
    return asx__switch_to(task, next);
}

/* Of a shared runtime, or refused: by the lease of the worker, if it has one. */
static __attribute__((noinline)) asx_status yield_refused(asx_cx *cx, asx_status st)
{
    asx__worker *w = asx__lessee_of(cx);
    if (ASX__UNLIKELY(w == NULL))
        return yield_outside(cx, st);
    asx_runtime *rt = w->rt;
    asx__task *task = cx->task_;
    asx__task *next = (asx__task *)rt->ready.queue[0].next;
    if (ASX__LIKELY((task->flags & ASX__T_NOT_DIRECT) == 0 && !rt->in_cleanup &&
                    asx__goes_directly(rt, next, ASX__HOT_LEAVE))) {
        asx__lessee_stay(w);
        return asx__then_leave(rt, yield_step, rt, task, next);
    }
    asx__lessee_out(w);
    return yield_outside(cx, st);
}

asx_status asx_yield(asx_cx *cx)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0))
        return yield_refused(cx, st);
    asx__node *list = &rt->ready.queue[0];
    asx__task *next = (asx__task *)list->next;
    if (ASX__UNLIKELY(rt->hot < ASX__HOT_LEAVE || (task->flags & ASX__T_NOT_DIRECT) != 0 ||
                      rt->turn_left <= 1 || rt->in_cleanup))
        return (task->flags & ASX__T_NOT_DIRECT) == ASX__T_POLL ? yield_poll(rt, task)
                                                                : yield_slow(rt, task);
    if (ASX__UNLIKELY(&next->node == list)) { /* alone: nobody to give way to */
        rt->turn_left--;
        return ASX_OK;
    }
    if (ASX__UNLIKELY((next->flags & (ASX__T_NOT_DIRECT | ASX__T_STARTED)) != ASX__T_STARTED))
        return yield_slow(rt, task);
    rt->turn_left--;
    (void)asx__list_pop_front(list);
    asx__list_push_back(list, &task->node);
    task->w.status = ASX_OK;
    asx__exec_queue(task);
    asx__exec_set(task, ASX__EXEC_YIELDED);
    asx__exec_run(rt, next);
    rt->current = next;
    return asx__switch_to(task, next);
}
