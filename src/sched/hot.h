/* hot.h - the short ways of the scheduler: queue, wake, park, leave.
 *
 * They apply while rt->hot is set (see lanes.c): the task is plain, the list it goes to or comes
 * from is the ready list of priority 0, and nothing is journalled. Everything else is tail-called.
 * What a caller tail-calls must keep that property: no cleanup after it, no address of a local
 * passed to it that the callee could not outlive.
 *
 * In a program with C++ `hot` says ASX__HOT, never ASX__HOT_LEAVE: who leaves has to look first
 * whether it holds an exception (asx__leave_slow).
 */
#ifndef ASX_SCHED_HOT_H
#define ASX_SCHED_HOT_H

#include "sched/sched.h"

/* A task with any of these does not go to the ready list of priority 0. */
#define ASX__T_OTHER_LANE (ASX__T_CANCEL | ASX__T_TIMED | ASX__T_RAISED | ASX__T_PINNED)

/* For assertions. Does another worker have this one? */
bool asx__runs_elsewhere(const asx_runtime *rt, const asx__task *task);
/* For assertions. Was it announced before it is run: see admit() in run.c? */
bool asx__was_charged(const asx_runtime *rt, const asx__task *task);

/* ---- steps of exec.h, which assert F1 to F5 -------------------------------------------------- */

/* It goes into a lane ... */
static inline void asx__exec_queue(asx__task *task)
{
    ASX__DEBUG_ASSERT(asx__exec_may_queue(task->exec)); /* F2, F4 */
    asx__exec_set(task, ASX__EXEC_RUNNABLE);
}

/* ... or into another one; it was taken out of the first. */
static inline void asx__exec_requeue(asx__task *task)
{
    ASX__DEBUG_ASSERT(asx__is_queued(task)); /* F2 */
    asx__exec_set(task, ASX__EXEC_RUNNABLE);
}

/* Somebody takes it out of what it waits for. */
static inline void asx__exec_claim(const asx__task *task)
{
    ASX__DEBUG_ASSERT(task->exec == ASX__EXEC_PARKED); /* F3 */
    ASX__DEBUG_ASSERT(task->w.waits != NULL && task->w.waits->ops != NULL); /* its ticket */
}

/* A poll task that has not returned yet is woken. */
static inline void asx__exec_wake_running(asx__task *task)
{
    ASX__DEBUG_ASSERT(asx__exec_is_on(task->exec)); /* F3: else it would stand in a lane */
    asx__exec_set(task, ASX__EXEC_WAKING);
}

/* Taken out of a lane, it goes onto the processor of the worker that is inside. One that was
 * charged for it first is RUNNING already. */
static inline void asx__exec_run(const asx_runtime *rt, asx__task *task)
{
    ASX__DEBUG_ASSERT(asx__is_queued(task) || asx__was_charged(rt, task)); /* F2 */
    ASX__DEBUG_ASSERT(!asx__runs_elsewhere(rt, task));                     /* F1 */
    asx__exec_set(task, ASX__EXEC_RUNNING);
}

/* The running fiber, or the poll task that has returned, has parked. */
static inline void asx__exec_park(asx__task *task)
{
    ASX__DEBUG_ASSERT(asx__exec_is_on(task->exec) && task->w.waits != NULL);
    asx__exec_set(task, ASX__EXEC_PARKED);
}

/* The running fiber waits from now on, and leaves its stack in the same hold of the engine. */
static inline void asx__park_in(asx__task *task, asx__waitable *waitable, void *io)
{
    task->w.waits = waitable;
    task->r.io = io;
    asx__exec_park(task);
}

/* For wakers that were not taken off a list, as timers are: is it the wait that they are for? A
 * poll task may not have got to park yet: with several workers its function goes on while others
 * wake it. */
static inline bool asx__waits_for(const asx__task *task, const asx__waitable *waitable)
{
    unsigned exec = asx__exec_state(task);
    return (exec == ASX__EXEC_PARKED || exec == ASX__EXEC_PARKING) && task->w.waits == waitable;
}

/* ---- the short ways ------------------------------------------------------------------------- */

static inline void asx__lane_put(asx_runtime *rt, asx__task *task)
{
    if (ASX__LIKELY(rt->hot && (task->flags & ASX__T_OTHER_LANE) == 0))
        asx__list_push_back(&rt->ready.queue[0], &task->node);
    else
        asx__enqueue_slow(rt, task);
}

/* Queues a runnable task in the lane that it belongs to. */
static inline void asx__enqueue(asx_runtime *rt, asx__task *task)
{
    asx__exec_queue(task);
    asx__lane_put(rt, task);
}

/* The same for one that was taken out of a lane, or out of somebody's hands, and not run. */
static inline void asx__enqueue_again(asx_runtime *rt, asx__task *task)
{
    asx__exec_requeue(task);
    asx__lane_put(rt, task);
}

/* asx__wake() of a fiber whose wait has succeeded; one worker. */
static inline void asx__wake_fiber(asx_runtime *rt, asx__task *task)
{
    if (ASX__UNLIKELY(!rt->hot)) {
        asx__wake(rt, task, ASX_OK, false);
        return;
    }
    asx__exec_claim(task);
    task->w.status = ASX_OK;
    asx__enqueue(rt, task);
}

/* asx__wake() of a poll task without a grant; likewise. */
static inline void asx__wake_poll(asx_runtime *rt, asx__task *task)
{
    if (ASX__UNLIKELY(!rt->hot)) {
        asx__wake(rt, task, ASX_OK, false);
        return;
    }
    task->w.waits = NULL;
    if (ASX__LIKELY(asx__exec_state(task) == ASX__EXEC_PARKED))
        asx__enqueue(rt, task);
    else
        asx__exec_wake_running(task);
}

static inline asx_status asx__switch_to(asx__task *from, asx__task *to)
{
    return (asx_status)asx__fiber_switch_on(from->u.fiber.stack, to->u.fiber.stack,
                                            &from->u.fiber.sp, to->u.fiber.sp, (int)to->w.status);
}

/* May a fiber that leaves switch to the first in the hot list? */
static inline bool asx__goes_directly(const asx_runtime *rt, const asx__task *next, unsigned hot)
{
    return rt->hot >= hot && &next->node != &rt->ready.queue[0] && rt->turn_left > 1 &&
           (next->flags & (ASX__T_NOT_DIRECT | ASX__T_STARTED)) == ASX__T_STARTED;
}

static inline asx_status asx__leave_directly(asx_runtime *rt, asx__task *task, asx__task *next)
{
    rt->turn_left--;
    (void)asx__list_pop_front(&rt->ready.queue[0]);
    asx__exec_run(rt, next);
    rt->current = next;
    return asx__switch_to(task, next);
}

/* Leaves the running fiber, which has been parked, queued or ended, for whatever comes next. */
static inline asx_status asx__leave(asx_runtime *rt, asx__task *task)
{
    asx__task *next = (asx__task *)rt->ready.queue[0].next;
    ASX__DEBUG_ASSERT(!asx__exec_is_on(task->exec)); /* F5 */
    if (ASX__UNLIKELY(!asx__goes_directly(rt, next, ASX__HOT_LEAVE)))
        return asx__leave_slow(rt, task);
    return asx__leave_directly(rt, task, next);
}

/* asx__park() for callers that know the task's flags: a fiber that has set no value and runs in
 * nobody's place. */
static inline asx_status asx__park_fiber(asx_runtime *rt, asx__task *task, asx__waitable *waitable,
                                         void *io)
{
    ASX__DEBUG_ASSERT((task->flags & (ASX__T_POLL | ASX__T_VALUE | ASX__T_INLINE)) == 0);
    if (ASX__UNLIKELY(!rt->hot))
        return asx__park(rt, task, waitable, io);
    asx__park_in(task, waitable, io);
    return asx__leave(rt, task);
}

/* May the running fiber wait, and `next`, which waits too, go on in its place? Nobody is runnable.
 */
static inline bool asx__passes_directly(const asx_runtime *rt, const asx__task *task,
                                        const asx__task *next)
{
    return !rt->tracing && rt->turn_left > 1 && rt->over == NULL && rt->watch == NULL &&
           (task->flags & (ASX__T_VALUE | ASX__T_INLINE)) == 0 &&
           (next->flags & (ASX__T_NOT_DIRECT | ASX__T_STARTED)) == ASX__T_STARTED &&
           !asx__fiber_globals_any();
}

static inline asx_status asx__pass_directly(asx_runtime *rt, asx__task *task,
                                            asx__waitable *waitable, asx__task *next)
{
    asx__park_in(task, waitable, NULL);
    asx__exec_claim(next);
    next->w.status = ASX_OK;
    asx__exec_queue(next);
    rt->turn_left--;
    rt->turn_slow++;
    rt->cert.ready_dispatches++;
    asx__exec_run(rt, next);
    rt->current = next;
    return asx__switch_to(task, next);
}

/* A poll task that has not waited for anything since its last wait ended. */
static inline bool asx__waits_for_nothing(const asx_runtime *rt, const asx__task *task)
{
    return (task->flags & ASX__T_RENEWED) == 0 && task->w.waits == NULL && !rt->in_cleanup;
}

/* asx__wait_on() for such a task; asx__wait_prepare() has nothing to say to it. */
static inline asx_status asx__wait_poll(asx__task *task, asx__waitable *waitable)
{
    task->w.waits = waitable;
    task->flags |= ASX__T_RENEWED;
    asx__exec_set(task, ASX__EXEC_PARKING);
    return ASX_E_WOULD_BLOCK;
}

#endif
