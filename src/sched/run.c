/* run.c - dispatch, park and wake, and the loop that drives them.
 *
 * Where code runs. The loop runs on the host's stack and calls poll functions there. A fiber that
 * leaves picks its successor itself and, if that is a fiber too, switches straight to it; only for
 * a poll task, at the end of a turn, or when nothing is runnable does control go back to the loop.
 *
 * Turns. The clock is read and timers are fired once per turn of ASX__TURN dispatches, and before
 * the runtime sleeps. A fiber that ends a turn in which no timer became due begins the next one
 * itself.
 *
 * The short ways are in hot.h. They are tail-called, and the switch is tail-called from them, so
 * that none leaves an entry in the processor's return predictor.
 */
#include "sched/blocking.h"
#include "sched/lessee.h"
#include "sched/process.h"
#include "sched/reactor.h"
#include "sched/task.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* A virtual clock stands still while something runs. So many turns in a row are taken for an
 * endless loop when somebody waits for a time to come. */
#define TURNS_WITHOUT_TIME 20000u
#define FIRE_BATCH 64

/* ---- before a resumption -------------------------------------------------------------------- */

static bool charge(asx_runtime *rt, asx__task *task)
{
    if (rt->tracing) {
        uint64_t cause = task->extra != NULL ? task->extra->wake_seq : 0;
        rt->running_seq = asx__journal(rt, ASX_EVENT_TASK_RUN, asx__serial(task->generation),
                                       (uint64_t)asx__lane_of(task), task->priority, cause);
    }
    unsigned exec = asx__exec_state(task);
    asx__exec_run(rt, task);
    if ((task->flags & ASX__T_CANCEL) == 0) {
        if (task->flags & (ASX__T_METERED | ASX__T_TIMED))
            asx__budget_charge(rt, task);
        if ((task->flags & ASX__T_CANCEL) == 0)
            return true;
        if (!asx__task_masked(task) &&
            (exec == ASX__EXEC_YIELDED || asx__take_back(rt, task, exec)))
            task->w.status = ASX_E_CANCELLED; /* exhausted: what it waits in says so */
    }
    return !asx__cleanup_charge(rt, task);
}

/* Charges and announces a task that has been taken out of its lane. False: it was ended instead.
 * All of that is journalled in its own name: whether the loop comes to it, or a fiber that leaves,
 * depends on where a turn ends, which is nobody's business. */
static bool admit_slow(asx_runtime *rt, asx__task *task)
{
    asx__task *leaving = rt->current;
    rt->current = task;
    bool cancelled = (task->flags & ASX__T_CANCEL) != 0 && !rt->tracing;
    bool goes = cancelled ? !asx__cleanup_charge(rt, task) : charge(rt, task);
    rt->current = leaving;
    return goes;
}

static inline bool admit(asx_runtime *rt, asx__task *task)
{
    if (ASX__LIKELY((task->flags & (ASX__T_CANCEL | ASX__T_METERED | ASX__T_TIMED)) == 0 &&
                    !rt->tracing))
        return true;
    return admit_slow(rt, task);
}

static asx__stack_pool *pool_of(asx_runtime *rt, const asx__task *task)
{
    return task->extra != NULL && task->extra->stack_class != 0
               ? &rt->pools[task->extra->stack_class - 1]
               : rt->pool;
}

bool asx__was_charged(const asx_runtime *rt, const asx__task *task)
{
    uint32_t charged = ASX__T_CANCEL | ASX__T_METERED | ASX__T_TIMED;
    return task->exec == ASX__EXEC_RUNNING && (rt->tracing || (task->flags & charged) != 0);
}

/* Created -> Running, unless it was cancelled before. */
static void first_run(asx_runtime *rt, asx__task *task)
{
    task->flags |= ASX__T_STARTED;
    if (task->phase == ASX_TASK_CREATED) {
        asx_status st = asx__task_step(&task->phase, ASX_TASK_RUNNING);
        ASX__ASSERT(st == ASX_OK);
        if (rt->tracing)
            asx__journal_as(rt, task, ASX_EVENT_TASK_STATE, asx__serial(task->generation),
                            ASX_TASK_CREATED, ASX_TASK_RUNNING, 0);
    }
}

/* Gives a fresh fiber its stack. False: there is none, and the task has ended Err. */
static bool bind_stack(asx_runtime *rt, asx__task *task)
{
    /* Finalizers were not admitted: they may not take the stack of somebody who was. */
    bool too_many = rt->fibers_live > rt->fiber_ceiling &&
                    asx__region_runs_finalizers(task->region, task);
    asx__stack *stack = too_many ? NULL : asx__stack_acquire(pool_of(rt, task));
    if (ASX__UNLIKELY(stack == NULL)) {
        asx__task *before = rt->current;
        rt->current = task;
        asx__exec_set(task, ASX__EXEC_RUNNING); /* it stands in no lane any more */
        asx__task_finish(rt, task, ASX_E_RESOURCE_EXHAUSTED);
        rt->current = before;
        return false;
    }
    asx__fiber_bind(rt, task, stack);
    first_run(rt, task);
    return true;
}

/* Tells who wants to know that a task leaves its thread; NULL: it has ended. */
static inline void tell_leaving(const asx_runtime *rt, const asx__task *task)
{
    if (ASX__UNLIKELY(rt->hot_most == 0) && rt->watch != NULL && rt->watch->sees_leaving)
        rt->watch->leaving(rt->watch, rt, task);
}

/* ---- leaving a fiber ------------------------------------------------------------------------ */

/* Whoever goes before the lanes does so a bounded number of times: then one task of the lanes comes
 * in between, and it goes on. So a tree of tasks that join each other is walked in depth,
 * however long that takes, and keeps nobody from the processor. */
static asx__task *next_task(asx_runtime *rt)
{
    asx__task *task = rt->next_up;
    if (task == NULL ||
        ASX__UNLIKELY(rt->inline_streak >= ASX__INLINE_MOST && !asx__lanes_are_empty(rt))) {
        rt->inline_streak = 0;
        asx__task *picked = asx__pick(rt);
        if (ASX__LIKELY(task == NULL))
            return picked;
        rt->hot = 0; /* somebody goes before the lanes after that */
        if (picked != NULL)
            return picked;
    }
    rt->next_up = NULL;
    rt->inline_streak++;
    rt->turn_slow++;
    rt->cert.ready_dispatches++;
    return task;
}

/* Does the task leave because its child runs in its place? Then it stays in that of its joiner. */
static inline bool keeps_place(const asx_runtime *rt, const asx__task *task)
{
    return rt->next_up != NULL && rt->next_up->joiner == task;
}

/* A journal shows a timer that is due at once (a deadline that had passed) before the next task,
 * however long the turn is. Without a journal nobody can tell, and the turn goes on. */
static bool timers_due(const asx_runtime *rt)
{
    return rt->tracing && rt->now >= rt->timers.quiet_until && rt->timers.window_ns == 0;
}

static void count_turn(asx_runtime *rt)
{
    ASX__DEBUG_ASSERT(ASX__TURN - rt->turn_left >= rt->turn_slow);
    rt->cert.ready_dispatches += ASX__TURN - rt->turn_left - rt->turn_slow;
    rt->turn_left = ASX__TURN;
    rt->turn_slow = 0;
    rt->turns++;
    if (ASX__UNLIKELY(rt->engine != NULL)) {
        asx__worker_turns(rt->engine->loaded);
        rt->slot_left = ASX__SLOT_MOST;
    }
    ASX__AUDIT_ASSERT(asx__lanes_are_valid(rt));
}

/* The turn is over. When no timer is due all that the loop would do is to begin the next one, which
 * can be done on any stack; wakers are called on the loop's. */
static __attribute__((noinline)) bool turn_goes_on(asx_runtime *rt)
{
    if (!rt->endless || rt->virtual_clock || rt->tracing || rt->finished || rt->reactor != NULL ||
        !asx__inbox_is_empty(&rt->inbox))
        return false;
    asx_time now = asx__clock_read(rt);
    if (now >= rt->timers.quiet_until)
        return false;
    asx__timer_fired none;
    (void)asx__timer_poll(&rt->timers, now, &none, 0); /* tells it the time */
    count_turn(rt);
    return true;
}

/* Force-completion runs on the loop's stack, never on that of a fiber. */
static inline bool may_be_forced(const asx__task *task)
{
    return ASX__UNLIKELY((task->flags & ASX__T_CANCEL) != 0) &&
           (task->cleanup_left == 0 || task->mask_depth != 0 || (task->flags & ASX__T_GRACE) != 0);
}

/* The next fiber that can be switched to; NULL: the loop must go on (poll task in `handoff`, end of
 * the turn, nothing runnable). */
static asx__task *next_fiber(asx_runtime *rt)
{
    for (;;) {
        if (rt->over != NULL || timers_due(rt) || (rt->turn_left <= 1 && !turn_goes_on(rt)))
            return NULL; /* the last dispatch of a turn is the loop's, if it has anything to do */
        asx__task *task = next_task(rt);
        if (task == NULL)
            return NULL;
        rt->turn_left--;
        /* Whoever leaves is still on its stack: nothing that might call out may happen there. */
        bool calls_out = ASX__UNLIKELY(rt->gate != NULL) &&
                         (task->flags & (ASX__T_EXTRA | ASX__T_STARTED)) == ASX__T_EXTRA;
        if (ASX__UNLIKELY((task->flags & ASX__T_POLL) || may_be_forced(task) || calls_out)) {
            rt->handoff = task;
            return NULL;
        }
        if (!admit(rt, task))
            continue;
        return task;
    }
}

static asx_status leave(asx_runtime *rt, asx__task *task)
{
    asx__stack *stack = task->u.fiber.stack;
    if (!keeps_place(rt, task))
        task->flags &= ~(uint32_t)ASX__T_INLINE; /* in nobody's place any more */
    for (;;) {
        asx__task *next = next_fiber(rt);
        if (next == task) { /* it yielded, and it is its turn again */
            asx__exec_run(rt, task);
            rt->current = task;
            return (asx_status)task->w.status;
        }
        if (next == NULL) {
            rt->current = NULL;
            return (asx_status)asx__fiber_switch_on(stack, rt->host, &task->u.fiber.sp,
                                                    rt->host_sp, 0);
        }
        if ((next->flags & ASX__T_STARTED) == 0 && !bind_stack(rt, next))
            continue;
        asx__exec_run(rt, next);
        rt->current = next;
        return asx__switch_to(task, next);
    }
}

static __attribute__((noinline)) asx_status leave_with_exceptions(asx_runtime *rt, asx__task *task)
{
    asx__fiber_globals exceptions;
    bool any = asx__fiber_globals_take(&exceptions);
    asx_status st = leave(rt, task);
    if (any)
        asx__fiber_globals_put(&exceptions); /* to the thread that it goes on with */
    return st;
}

/* In a program with C++, or when somebody looks on. */
static __attribute__((noinline)) asx_status leave_seen(asx_runtime *rt, asx__task *task)
{
    tell_leaving(rt, task);
    if (ASX__UNLIKELY(asx__fiber_globals_any()))
        return leave_with_exceptions(rt, task);
    asx__task *next = (asx__task *)rt->ready.queue[0].next;
    if (ASX__LIKELY(asx__goes_directly(rt, next, ASX__HOT) && next != task))
        return asx__leave_directly(rt, task, next);
    return leave(rt, task);
}

asx_status asx__leave_slow(asx_runtime *rt, asx__task *task)
{
    return ASX__UNLIKELY(rt->hot_most != ASX__HOT_LEAVE) ? leave_seen(rt, task) : leave(rt, task);
}

/* Puts a fresh fiber onto the stack of one that has ended. */
static void inherit_stack(asx_runtime *rt, asx__task *next, asx__stack *stack)
{
    next->w.start = next->u.fresh.fn;
    next->r.io = next->u.fresh.arg;
    stack->owner = next;
    next->u.fiber.stack = stack;
    asx__exec_run(rt, next);
    rt->current = next;
}

/* The fiber's task has ended. Its stack serves the next fresh fiber, which is returned, or goes
 * back to the pool, and this does not return. */
static __attribute__((noinline)) asx__task *fiber_over(asx_runtime *rt, asx__stack *stack,
                                                       asx__stack_pool *pool)
{
    asx__task *next;
    tell_leaving(rt, NULL);
    for (;;) {
        next = next_fiber(rt);
        if (next == NULL) {
            if (rt->seam != NULL && rt->turn_left > 1 && rt->over == NULL && rt->handoff == NULL &&
                rt->seam->goes_on(rt->seam->ctx))
                continue;
            break;
        }
        if ((next->flags & ASX__T_STARTED) == 0) {
            if (pool_of(rt, next) == pool) {
                inherit_stack(rt, next, stack);
                first_run(rt, next);
                return next;
            }
            if (!bind_stack(rt, next))
                continue;
        }
        asx__exec_run(rt, next);
        break;
    }
    rt->current = next;
    asx__stack_release(pool, stack);
    if (next == NULL)
        asx__fiber_jump_on(stack, rt->host, rt->host_sp, 0);
    asx__fiber_jump_on(stack, next->u.fiber.stack, next->u.fiber.sp, (int)next->w.status);
}

/* The fresh plain fiber at the head of the hot list, taken out; NULL: something else comes. */
static inline asx__task *next_fresh(asx_runtime *rt)
{
    asx__node *list = &rt->ready.queue[0];
    asx__task *next = (asx__task *)list->next;
    if (ASX__UNLIKELY(!rt->hot || &next->node == list || rt->turn_left <= 1 ||
                      (next->flags & ~(uint32_t)ASX__T_HANDLE) != 0))
        return NULL;
    rt->turn_left--;
    (void)asx__list_pop_front(list);
    return next;
}

/* What it holds goes back one by one; its end is seen by those that join it, and by its siblings if
 * they are cancelled because of it. */
static void end_explored(asx_runtime *rt, asx__task *task, asx_status st)
{
    if (task->extra != NULL)
        asx__obligations_end_task(rt, task);
    bool failed = st < 0 && task->phase != ASX_TASK_CANCELLING;
    bool cancels = failed && task->region->policy == ASX_POLICY_FAIL_FAST;
    unsigned how =
        (failed ? ASX__END_FAILED : 0u) | (cancels ? ASX__END_CANCELS_REGION : 0u);
    (void)asx__announce(rt, task, ASX__OP_END, asx__serial(task->region->generation),
                        .end.how = how);
}

static __attribute__((noinline)) void end_slowly(asx_runtime *rt, asx__task *task, asx_status st)
{
    if (rt->seam == NULL && ((st == ASX_OK && asx__task_finish_joined(rt, task)) ||
                             asx__task_finish_cancelled(rt, task)))
        return;
    if (task->extra != NULL)
        st = asx__task_wind_up(rt, task, st);
    if (ASX__UNLIKELY(rt->seam != NULL))
        end_explored(rt, task, st);
    asx__task_finish(rt, task, st);
}

/* The fiber's function has returned, and its joiner, in whose place it ran, goes on at once.
 * Returns if anything has to be asked. */
static inline void end_in_place(asx_runtime *rt, asx__task *task, asx_status st, asx__stack *stack,
                                asx__stack_pool *pool)
{
    const uint32_t special = ASX__T_NOT_DIRECT & ~(uint32_t)ASX__T_INLINE;
    asx__task *joiner = task->joiner;
    asx__region *region = task->region;
    if (st != ASX_OK ||
        (task->flags & (ASX__T_NOT_PLAIN | ASX__T_INLINE)) != (ASX__T_JOINER | ASX__T_INLINE) ||
        (joiner->flags & special) != 0 || asx__exec_state(joiner) != ASX__EXEC_PARKED ||
        !region->fast || rt->hot_most != ASX__HOT_LEAVE || rt->turn_left <= 1 ||
        rt->next_up != NULL || rt->inline_streak >= ASX__INLINE_MOST || rt->over != NULL ||
        pool != rt->pool)
        return;
    task->phase = ASX_TASK_COMPLETED;
    task->w.status = ASX_OK;
    asx__exec_set(task, ASX__EXEC_DONE);
    rt->tasks_ended++;
    region->n_ok++;
    if (joiner->r.io != NULL)
        asx__join_result(task, joiner->r.io);
    task->joiner = NULL;
    task->w.waits = NULL;
    asx__task_recycle_plain(rt, task);
    asx__exec_claim(joiner);
    joiner->w.status = ASX_OK;
    asx__exec_queue(joiner);
    asx__exec_run(rt, joiner);
    rt->inline_streak++;
    rt->turn_left--;
    rt->current = joiner;
    asx__stack_release(pool, stack);
    asx__fiber_jump_on(stack, joiner->u.fiber.stack, joiner->u.fiber.sp, ASX_OK);
}

_Noreturn void asx__fiber_main(void *arg, int ret)
{
    asx__task *task = arg;
    asx_runtime *rt = task->region->rt;
    asx__stack *stack = task->u.fiber.stack;
    asx__stack_pool *pool = pool_of(rt, task);
    asx_task_fn fn = task->w.start;
    void *user = task->r.io;
    (void)ret;
    asx__fiber_started(stack);
    for (;;) {
        asx_cx cx = { task, rt, asx__task_caps(task), 0 };
        asx_status st = fn(&cx, user);
        if (ASX__UNLIKELY(!asx__task_finish_plain(rt, task, st))) {
            end_in_place(rt, task, st, stack, pool);
            end_slowly(rt, task, st);
        }
        task = ASX__LIKELY(pool == rt->pool) ? next_fresh(rt) : NULL;
        if (ASX__UNLIKELY(task == NULL)) {
            task = fiber_over(rt, stack, pool);
            fn = task->w.start;
            user = task->r.io;
            continue;
        }
        fn = task->u.fresh.fn;
        user = task->u.fresh.arg;
        stack->owner = task;
        task->u.fiber.stack = stack;
        task->flags |= ASX__T_STARTED;
        task->phase = ASX_TASK_RUNNING;
        asx__exec_run(rt, task);
        rt->current = task;
    }
}

/* No stack is left that has memory: the next ones get theirs while others have the engine. The
 * system takes a microsecond and a half for each. */
static __attribute__((noinline)) void make_stacks(asx_runtime *rt, asx__stack_pool *pool)
{
    asx__stack_batch batch;
    if (!asx__stack_reserve(pool, &batch))
        return;
    asx__engine_let_go(rt);
    asx__stack_build(pool, &batch);
    (void)asx__engine_enter(rt);
    asx__stack_put(pool, &batch);
}

/* The same for a shared runtime: the function runs without the engine. */
_Noreturn void asx__fiber_main_shared(void *arg, int ret)
{
    asx__task *task = arg;
    asx_runtime *rt = task->region->rt;
    asx__stack *stack = task->u.fiber.stack;
    asx__stack_pool *pool = pool_of(rt, task);
    (void)ret;
    asx__fiber_started(stack);
    if (ASX__UNLIKELY(pool->free == NULL))
        make_stacks(rt, pool);
    for (;;) {
        asx_task_fn fn = task->w.start;
        void *user = task->r.io;
        asx_cx cx = { task, rt->gate, asx__task_caps(task), 0 };
        asx__engine_let_go(rt);
        asx_status st = fn(&cx, user);
        if (ASX__UNLIKELY(rt->gate->behind == NULL))
            asx__end_of_fork(st);
        (void)asx__engine_enter(rt);
        if (ASX__UNLIKELY(!asx__task_finish_plain(rt, task, st))) {
            end_in_place(rt, task, st, stack, pool);
            end_slowly(rt, task, st);
        }
        task = ASX__LIKELY(pool == rt->pool) ? next_fresh(rt) : NULL;
        if (task == NULL) {
            task = fiber_over(rt, stack, pool);
            continue;
        }
        inherit_stack(rt, task, stack);
        task->flags |= ASX__T_STARTED;
        task->phase = ASX_TASK_RUNNING;
    }
}

_Noreturn void asx__leave_for_good(asx_runtime *rt, asx__task *task)
{
    asx__stack *stack = task->u.fiber.stack;
    rt->current = NULL;
    asx__fiber_jump_on(stack, rt->host, rt->host_sp, 0);
}

/* ---- park and wake -------------------------------------------------------------------------- */

static void journal_park(asx_runtime *rt, const asx__task *task, const asx__waitable *waitable)
{
    asx__journal(rt, ASX_EVENT_TASK_PARK, asx__serial(task->generation), waitable->ops->kind,
                 waitable->serial, 0);
}

/* The value for the joiner lives where `io` goes; the stack keeps it meanwhile. */
static __attribute__((noinline)) asx_status park_with_value(asx_runtime *rt, asx__task *task,
                                                            asx__waitable *waitable, void *io)
{
    uint64_t value = task->r.value;
    task->flags &= ~(uint32_t)ASX__T_VALUE;
    asx_status st = asx__park(rt, task, waitable, io);
    task->r.value = value;
    task->flags |= ASX__T_VALUE;
    return st;
}

asx_status asx__park(asx_runtime *rt, asx__task *task, asx__waitable *waitable, void *io)
{
    if (task->flags & ASX__T_VALUE)
        return park_with_value(rt, task, waitable, io);
    if (rt->hot && (task->flags & ASX__T_INLINE) == 0)
        return asx__park_fiber(rt, task, waitable, io);
    asx__park_in(task, waitable, io);
    if (rt->tracing)
        journal_park(rt, task, waitable);
    return asx__leave_slow(rt, task);
}

asx_status asx__wait_on(asx_runtime *rt, asx__task *task, asx__waitable *waitable, void *io)
{
    if (ASX__LIKELY((task->flags & ASX__T_POLL) == 0))
        return asx__park(rt, task, waitable, io);
    return asx__wait_poll(task, waitable);
}

bool asx__wait_never_ends(asx_runtime *rt, asx__waitable *waitable)
{
    (void)rt;
    (void)waitable;
    return false;
}

/* Gives up what the poll task waited for before: it did not ask for it again. */
static void withdraw(asx_runtime *rt, asx__task *task)
{
    asx__waitable *waitable = task->w.waits;
    bool granted = (task->flags & ASX__T_GRANTED) != 0;
    task->w.waits = NULL;
    task->flags &= ~(uint32_t)ASX__T_GRANTED;
    waitable->ops->unpublish(rt, task, waitable, granted);
}

asx_status asx__wait_prepare(asx_runtime *rt, asx__task *task, asx__waitable *waitable)
{
    if (ASX__UNLIKELY(rt->in_cleanup))
        return ASX_E_WRONG_CONTEXT;
    if (ASX__LIKELY((task->flags & ASX__T_POLL) == 0))
        return ASX_OK;
    if (task->flags & ASX__T_RENEWED)
        return task->w.waits == waitable ? ASX_E_WOULD_BLOCK : ASX_E_BUSY;
    if (task->w.waits != NULL)
        withdraw(rt, task);
    return ASX_OK;
}

static void journal_wake(asx_runtime *rt, asx__task *task, asx_status status)
{
    uint64_t seq = asx__journal(rt, ASX_EVENT_TASK_WAKE, asx__serial(task->generation),
                                (uint64_t)(int64_t)status, (uint64_t)asx__lane_of(task),
                                rt->running_seq);
    if (task->extra != NULL)
        task->extra->wake_seq = seq;
}

/* With several workers, whom the running task wakes goes first: it uses what that one has just
 * written, and it is still in the cache. One at a time, and others that it wakes go to the end as
 * ever; and so often in a turn (slot_left, always 0 for one worker, whose order is promised), so
 * that two who wake each other keep nobody from its turn. */
static void enqueue_woken(asx_runtime *rt, asx__task *task)
{
    asx__node *list = &rt->ready.queue[0];
    bool first = rt->slot_left != 0 && rt->hot && rt->current != NULL && list->next != rt->slot &&
                 (task->flags & ASX__T_OTHER_LANE) == 0;
    if (ASX__LIKELY(!first)) {
        asx__enqueue(rt, task);
        return;
    }
    asx__exec_queue(task);
    rt->slot = &task->node;
    rt->slot_left--;
    asx__list_push_front(list, &task->node);
}

void asx__wake(asx_runtime *rt, asx__task *task, asx_status status, bool grant)
{
    if (ASX__UNLIKELY(rt->tracing))
        journal_wake(rt, task, status);
    if (ASX__LIKELY((task->flags & ASX__T_POLL) == 0)) {
        asx__exec_claim(task);
        task->w.status = status;
        enqueue_woken(rt, task);
        return;
    }
    if (grant)
        task->flags |= ASX__T_GRANTED;
    else
        task->w.waits = NULL;
    if (asx__exec_state(task) == ASX__EXEC_PARKED)
        enqueue_woken(rt, task);
    else
        asx__exec_wake_running(task); /* run_poll queues it */
}

void asx__wake_next(asx_runtime *rt, asx__task *task, asx_status status)
{
    if (rt->tracing)
        journal_wake(rt, task, status);
    asx__exec_claim(task);
    if (task->flags & ASX__T_POLL)
        task->w.waits = NULL;
    else
        task->w.status = status;
    asx__exec_queue(task);
    rt->next_up = task;
    rt->hot = false;
}

/* ---- poll tasks ----------------------------------------------------------------------------- */

/* The poll task leaves the processor, and can be run again at once. */
static void give_way(asx_runtime *rt, asx__task *task)
{
    if (rt->tracing) {
        uint64_t seq =
            asx__journal(rt, ASX_EVENT_TASK_YIELD, asx__serial(task->generation), 0, 0, 0);
        if (task->extra != NULL && task->extra->wake_seq < rt->running_seq)
            task->extra->wake_seq = seq; /* unless somebody woke it meanwhile */
    }
    asx__enqueue(rt, task);
}

/* What ends the wait of a task from outside. */
#define REFUSED (ASX__T_CANCEL | ASX__T_FAILED)

/* `before`: its flags when it was resumed. */
static __attribute__((noinline)) void settle_slow(asx_runtime *rt, asx__task *task,
                                                  uint32_t before)
{
    bool refused = (task->flags & ~before & REFUSED) != 0;
    tell_leaving(rt, task);
    if (!keeps_place(rt, task))
        task->flags &= ~(uint32_t)ASX__T_INLINE;
    if (task->w.waits != NULL && (task->flags & ASX__T_RENEWED) == 0)
        withdraw(rt, task);
    if (ASX__UNLIKELY(refused) && !asx__task_masked(task) &&
        !(task->w.waits != NULL && asx__wait_goes_on(rt, task->w.waits))) {
        if (task->w.waits != NULL) /* while it ran, after it had begun to wait: it asks again */
            withdraw(rt, task);
        asx__exec_set(task, ASX__EXEC_WAKING);
    }
    switch (asx__exec_state(task)) {
    case ASX__EXEC_WAKING:
        give_way(rt, task);
        break;
    case ASX__EXEC_PARKING:
        asx__exec_park(task);
        if (rt->tracing)
            journal_park(rt, task, task->w.waits);
        break;
    default:
        if (task->extra != NULL && task->extra->waker != NULL &&
            (task->flags & ASX__T_EXTERNAL) == 0) {
            task->w.waits = &rt->external_wait;
            asx__exec_park(task);
            if (rt->tracing)
                journal_park(rt, task, task->w.waits);
        } else {
            task->flags &= ~(uint32_t)ASX__T_EXTERNAL;
            give_way(rt, task); /* pending without a wait */
        }
    }
}

/* A poll task with any of these may have more to say when it returns without a wait. */
#define SETTLED_SLOWLY (REFUSED | ASX__T_EXTRA | ASX__T_EXTERNAL)

/* The poll function has returned ASX_POLL_PENDING. */
static inline void settle_pending(asx_runtime *rt, asx__task *task, uint32_t before)
{
    uint32_t flags = task->flags;
    unsigned exec = asx__exec_state(task);
    bool renewed = (flags & (ASX__T_RENEWED | REFUSED)) == ASX__T_RENEWED;
    if (ASX__UNLIKELY(!rt->hot))
        settle_slow(rt, task, before);
    else if (renewed && exec == ASX__EXEC_PARKING)
        asx__exec_park(task);
    else if ((renewed && exec == ASX__EXEC_WAKING) ||
             ((flags & SETTLED_SLOWLY) == 0 && exec == ASX__EXEC_RUNNING && task->w.waits == NULL))
        asx__enqueue(rt, task);
    else
        settle_slow(rt, task, before);
}

static __attribute__((noinline)) void poll_over(asx_runtime *rt, asx__task *task, asx_poll result)
{
    if (task->w.waits != NULL)
        withdraw(rt, task);
    if (result == ASX_POLL_READY && asx__task_finish_joined(rt, task))
        return;
    if (asx__task_finish_cancelled(rt, task))
        return;
    asx_status st = ASX_OK;
    if (result != ASX_POLL_READY)
        st = rt->poll_failed == task->generation ? rt->poll_failure : ASX_E_INVALID_ARGUMENT;
    asx__task_finish(rt, task, st);
}

/* The poll task at the head of the hot list, taken out of it; NULL: something else comes, or the
 * turn is over. */
static inline asx__task *next_hot_poll(asx_runtime *rt)
{
    asx__node *list = &rt->ready.queue[0];
    asx__task *task = (asx__task *)list->next;
    if (!rt->hot || &task->node == list || rt->turn_left == 0 || rt->finished ||
        (task->flags & ASX__T_NOT_DIRECT) != ASX__T_POLL)
        return NULL;
    rt->turn_left--;
    (void)asx__list_pop_front(list);
    return task;
}

/* The poll task that goes before the lanes because of a join, taken; NULL: something else comes. */
static inline asx__task *next_up_poll(asx_runtime *rt)
{
    asx__task *task = rt->next_up;
    if (task == NULL || rt->hot_most == 0 || rt->turn_left == 0 || rt->finished ||
        rt->inline_streak >= ASX__INLINE_MOST || /* one of the lanes comes before it */
        (task->flags & (ASX__T_NOT_DIRECT & ~(uint32_t)ASX__T_INLINE)) != ASX__T_POLL)
        return NULL;
    rt->turn_left--;
    return next_task(rt);
}

/* Calls the poll function of a task that has been taken out of its lane, and of all that follow it
 * in the hot list or go before it. `shared` is a constant: the functions of a shared runtime run
 * without the engine. */
static inline __attribute__((always_inline)) void poll_all(asx_runtime *rt, asx__task *task,
                                                           bool shared)
{
    do {
        uint32_t flags = task->flags;
        asx__exec_run(rt, task);
        rt->current = task;
        rt->yield_due = (flags & ASX__T_YIELDED) != 0;
        task->flags = flags & ~(uint32_t)(ASX__T_RENEWED | ASX__T_YIELDED);
        if (ASX__UNLIKELY((flags & ASX__T_STARTED) == 0))
            first_run(rt, task);
        asx_cx cx = { task, shared ? rt->gate : rt, asx__task_caps(task), 0 };
        asx_poll_fn fn = task->u.poll.fn;
        void *state = task->u.poll.state;
        if (shared)
            asx__engine_let_go(rt);
        asx_poll result = fn(&cx, state);
        if (shared && ASX__UNLIKELY(rt->gate->behind == NULL))
            asx__end_of_fork(ASX_OK);
        if (shared)
            (void)asx__engine_enter(rt);
        if (ASX__LIKELY(result == ASX_POLL_PENDING))
            settle_pending(rt, task, flags);
        else if (ASX__UNLIKELY(result != ASX_POLL_READY || task->w.waits != NULL ||
                               !asx__task_finish_plain(rt, task, ASX_OK)))
            poll_over(rt, task, result);
        task = next_hot_poll(rt);
        if (task == NULL)
            task = next_up_poll(rt);
    } while (task != NULL);
    rt->current = NULL;
}

static void run_polls(asx_runtime *rt, asx__task *task)
{
    poll_all(rt, task, false);
}

static void run_polls_shared(asx_runtime *rt, asx__task *task)
{
    poll_all(rt, task, true);
}

/* ---- the loop ------------------------------------------------------------------------------- */

asx_time asx__clock_read(asx_runtime *rt)
{
    asx_time now = asx__clock_now(&rt->clock);
    if (now > rt->now)
        rt->now = now;
    return rt->now;
}

static void fire_timers(asx_runtime *rt)
{
    asx__timer_fired fired[FIRE_BATCH];
    size_t count;
    do {
        count = asx__timer_poll(&rt->timers, rt->now, fired, FIRE_BATCH);
        for (size_t i = 0; i < count; i++) {
            if (rt->tracing)
                rt->running_seq = asx__journal(rt, ASX_EVENT_TIMER_FIRE, fired[i].serial,
                                               fired[i].deadline, 0, 0);
            fired[i].waker.wake(fired[i].waker.arg);
        }
    } while (count == FIRE_BATCH);
    rt->running_seq = 0;
}

static void begin_turn(asx_runtime *rt)
{
    count_turn(rt);
    if (!rt->virtual_clock)
        asx__clock_read(rt);
    if (ASX__UNLIKELY(!asx__inbox_is_empty(&rt->inbox)))
        asx__blocking_drain(rt);
    if (ASX__UNLIKELY(rt->reactor != NULL))
        asx__reactor_reap(rt->reactor);
    fire_timers(rt);
    if (ASX__UNLIKELY(rt->unarmed != NULL))
        asx__regions_look(rt);
}

static void dispatch(asx_runtime *rt, asx__task *task)
{
    if (!admit(rt, task))
        return;
    if (task->flags & ASX__T_POLL) {
        if (ASX__LIKELY(rt->gate == NULL))
            run_polls(rt, task);
        else
            run_polls_shared(rt, task);
        return;
    }
    if ((task->flags & ASX__T_STARTED) == 0 && !bind_stack(rt, task))
        return;
    asx__exec_run(rt, task);
    rt->current = task;
    asx__fiber_switch_on(rt->host, task->u.fiber.stack, &rt->host_sp, task->u.fiber.sp,
                         (int)task->w.status);
    rt->current = NULL;
}

/* What a fiber left for the loop: a task that panicked, one that the loop must run. */
static asx__task *left_over(asx_runtime *rt)
{
    if (rt->over != NULL) {
        asx__task *task = rt->over;
        rt->over = NULL;
        asx__task_end_panicked(rt, task);
    }
    asx__task *task = rt->handoff;
    rt->handoff = NULL;
    return task;
}

static bool must_stop(const asx_runtime *rt)
{
    return rt->finished || (rt->tracing && asx__trace_diverged(&rt->trace));
}

/* Makes this turn a shorter one. What it is short of counts as gone and accounted for. */
static void shorten_turn(asx_runtime *rt, uint64_t dispatches)
{
    if (dispatches >= rt->turn_left)
        return;
    rt->turn_slow += rt->turn_left - (uint32_t)dispatches;
    rt->turn_left = (uint32_t)dispatches;
}

static bool run_some(asx_runtime *rt, uint64_t dispatches_max)
{
    volatile uint64_t left = dispatches_max == 0 ? UINT64_MAX : dispatches_max;
    rt->endless = dispatches_max == 0;
    /* A poll function that panics leaves its frames behind and arrives here. */
    if (setjmp(*rt->loop_again) != 0)
        rt->current = NULL;
    while (!must_stop(rt)) {
        if (left == 0)
            return true;
        begin_turn(rt);
        shorten_turn(rt, left);
        left -= rt->turn_left;
        if (must_stop(rt))
            break;
        asx__task *task = NULL;
        do {
            task = left_over(rt);
            if (task == NULL) {
                task = next_task(rt);
                if (task == NULL)
                    break;
                rt->turn_left--;
            }
            dispatch(rt, task);
        } while (rt->turn_left > 0 && !must_stop(rt) && !timers_due(rt));
        task = left_over(rt);
        if (task != NULL)
            dispatch(rt, task);
        else if (rt->next_up == NULL && rt->over == NULL && asx__lanes_are_empty(rt) &&
                 asx__next_deadline(rt) > rt->now)
            return false;
    }
    return false;
}

bool asx__run_some(asx_runtime *rt, uint64_t dispatches_max)
{
    asx__watch *watch = rt->watch;
    asx__fiber_globals hosts; /* it may drive inside a catch block: no business of the tasks */
    bool keeps = asx__fiber_globals_take(&hosts);
    if (ASX__UNLIKELY(watch != NULL))
        watch->busy(watch);
    bool more = run_some(rt, dispatches_max);
    if (ASX__UNLIKELY(watch != NULL))
        watch->idle(watch);
    if (keeps)
        asx__fiber_globals_put(&hosts);
    return more;
}

/* Sleeps until then, and gives memory back meanwhile. False: it is that late. */
static bool sleep_until(asx_runtime *rt, asx_time next)
{
    for (;;) {
        asx_time due = asx__tidy_due(rt);
        if (due >= next)
            return asx__blocking_sleep(rt, next);
        if (due > rt->now && asx__blocking_sleep(rt, due))
            return true;
        asx__clock_read(rt);
        asx__tidy_step(rt);
        if (rt->now >= next || !asx__inbox_is_empty(&rt->inbox))
            return rt->now < next;
    }
}

/* Nothing is runnable: wait for the next timer. False: nothing will ever happen. */
static bool idle(asx_runtime *rt, asx_time until)
{
    asx_time next = asx__next_deadline(rt);
    rt->cancel_streak = 0;
    if (next == ASX_TIME_NEVER && until == ASX_TIME_NEVER && rt->jobs_out == 0)
        return false;
    if (next > until)
        next = until;
    if (rt->virtual_clock) {
        if (rt->manual_clock)
            return false;
        if (rt->tracing)
            asx__journal(rt, ASX_EVENT_CLOCK_ADVANCE, 0, rt->now, next, 0);
        if (asx__virtual_clock_set(&rt->virtual_, next) == ASX_OK)
            rt->now = next;
        return true;
    }
    if (next > asx__clock_read(rt) && !sleep_until(rt, next))
        rt->now = next; /* also when the clock does not answer any more */
    asx__clock_read(rt);
    return true;
}

asx_status asx__drive(asx_runtime *rt, asx_time until)
{
    if (!rt->virtual_clock)
        asx__clock_read(rt);
    uint64_t turns_begin = rt->turns;
    asx_time moved = rt->now;
    while (!must_stop(rt)) {
        bool more = asx__run_some(rt, until == ASX_TIME_NEVER ? 0 : ASX__TURN);
        if (must_stop(rt))
            break;
        if (rt->now != moved || !rt->virtual_clock) {
            turns_begin = rt->turns;
            moved = rt->now;
        }
        if (rt->now >= until || rt->turns - turns_begin > TURNS_WITHOUT_TIME)
            return ASX_E_TIMEOUT;
        if (!more && !idle(rt, until))
            return ASX_E_DEADLOCK;
    }
    return rt->finished ? ASX_OK : ASX_E_DIVERGED;
}
