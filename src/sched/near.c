/* near.c - near calls of plain tasks; near.h has the rules. */
#include "sched/near.h"
#include "sched/blocking.h"
#include "sched/task.h"

#define STAY_NS (400 * ASX_US) /* that a worker begins turns in near calls before it looks in */
#define CALLS 65536u      /* and so many calls */
#define PASS 16u          /* of which one that needs no latch counts for so many */
#define QUIET_TIMES 8u    /* that others enter between two near calls of a worker */
#define IDLE_TIMES 64u    /* that a worker leaves for nothing before near calls are given up */
#define NUMBERS 1024u     /* that a worker gets at a time, at most; there are 2^48 */
#define NUMBERS_FIRST 16u /* and when nobody knows how many it will use */
#define RECORDS 64u       /* free ones that it gets at a time; it keeps at most twice as many */
#define STACKS 8u         /* likewise */
/* Dispatches in a row in somebody's place, before others have a turn; and a region that so many
 * spawns in a row had to enter for gets wings. Few in debug builds, so that tests see both. */
#if ASX_ASSERT_LEVEL > 0
#define STREAK 256u
#define WANTED_TIMES 1u
#else
#define STREAK 2048u
#define WANTED_TIMES 8u
#endif

static inline uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* ---- beginning and ending ------------------------------------------------------------------- */

/* What the task that runs here has set is written down. */
static inline void write_value(asx__near *near)
{
    asx__task *task = near->value_of;
    if (ASX__LIKELY(task == NULL))
        return;
    task->r.value = near->value;
    task->flags |= ASX__T_VALUE;
    near->value_of = NULL;
}

/* The calling thread's worker, if it is of this runtime. A thread-local is read here: lessee.h. */
static inline asx__worker *worker_of(const asx_runtime *rt)
{
    asx__worker *w = asx__this_thread.worker;
    return ASX__LIKELY(w != NULL && w->rt == rt) ? w : NULL;
}

/* The same, with its latch taken, if it runs `task` (NULL: any) and nothing is special about that;
 * NULL: enter. */
static inline asx__worker *begin(const asx_runtime *rt, const asx__task *task)
{
    asx__worker *w = worker_of(rt);
    if (ASX__UNLIKELY(w == NULL || !asx__near_take(&w->outside, &w->near, task)))
        return NULL;
    ASX__DEBUG_ASSERT(w->r.current == asx__load_relaxed(&w->outside.task) &&
                      asx__exec_is_on(asx__exec_state(w->r.current))); /* F1, F5 */
    w->near.left--;
    w->near.held = true;
    write_value(&w->near);
    return w;
}

static inline void end(asx__worker *w)
{
    asx__near *near = &w->near;
    near->held = false;
    asx__store_relaxed(&near->calls, asx__load_relaxed(&near->calls) + 1);
    asx__latch_drop(&near->latch);
}

static asx_status go_in(asx__worker *w)
{
    w->near.held = false;
    asx__latch_drop(&w->near.latch);
    return ASX__GO_IN;
}

__attribute__((noinline)) void asx__near_begin(asx__task *task)
{
    asx__worker *w = asx__thread_self()->worker;
    task->flags &= ~(uint32_t)ASX__T_NEAR;
    w->near.stale = false; /* it has spawned nowhere else */
    end(w);
}

/* A fiber that has been switched to goes out to its function, on whatever worker: drops the latch
 * or leaves the engine, whichever it has. `before` is where numbers were not stale for it; NULL:
 * nowhere. */
static __attribute__((noinline)) void come_out(asx_runtime *rt, const asx__worker *before)
{
    asx__worker *w = asx__thread_self()->worker;
    if (w->near.held) {
        w->near.stale = w != before;
        end(w);
    } else {
        asx__engine_leave(rt, false);
    }
}

/* ---- wings ---------------------------------------------------------------------------------- */

static inline asx__wing *wing_of(const asx__region *region, const asx__worker *w)
{
    return region->wings != NULL ? &region->wings[w->index] : NULL;
}

static inline void touch(asx__worker *w, asx__wing *wing)
{
    if (wing->dirty)
        return;
    wing->dirty = true;
    wing->dirty_next = w->near.dirty;
    w->near.dirty = wing;
}

static inline bool is_home(const asx__worker *w, const asx__task *task)
{
    return task->home == w->index + 1 && (task->flags & ASX__T_PINNED) == 0;
}

static void link_child(const asx_runtime *rt, asx__wing *wing, asx__task *task)
{
    asx__task *head = wing->head;
    uint32_t link = task->index + 1;
    task->sibling_next = head->index + 1;
    task->sibling_prev = head->sibling_prev;
    asx__task_at(rt, head->sibling_prev)->sibling_next = link;
    head->sibling_prev = link;
}

/* The record of a child in the worker's own wing is free. */
static void recycle(const asx_runtime *rt, asx__worker *w, asx__task *task)
{
    asx__task_unlink_child(rt, task);
    asx__field_store_u64(&task->generation, 0);
    task->w.waits = NULL;
    task->node.next = (asx__node *)(void *)w->near.records;
    w->near.records = task;
    w->near.record_count++;
}

/* ---- who is next ---------------------------------------------------------------------------- */

/* Does anything but what the worker has itself want to be looked at? */
static inline bool anything_else(const asx_runtime *rt, const asx__worker *w)
{
    return !rt->engine->near_calm || !asx__list_empty(&w->pinned) ||
           asx__worker_is(w, ASX__WORKER_DRAINING);
}

/* Is the worker in the middle of a turn? The next one may begin here too, a few times, if no timer
 * is due and nothing has come back from other threads. */
static __attribute__((noinline)) bool next_turn(asx_runtime *rt, asx__worker *w)
{
    asx__near *near = &w->near;
    if (near->stay_until == 0 || !asx__inbox_is_empty(&rt->inbox))
        return false;
    asx_time now = asx__clock_now(&rt->clock);
    if (now >= rt->timers.quiet_until || now >= near->stay_until)
        return false;
    near->now = now;
    near->turns++;
    uint32_t gone = ASX__TURN - w->r.turn_left;
    near->dispatched += gone > w->r.turn_slow ? gone - w->r.turn_slow : 0;
    w->r.turn_left = ASX__TURN;
    w->r.turn_slow = 0;
    asx__worker_turns(w);
    return true;
}

/* May the worker go on to another task, if there is one? */
static inline bool may_go_on(asx_runtime *rt, asx__worker *w)
{
    return (ASX__LIKELY(w->r.turn_left > 1) || next_turn(rt, w)) && !anything_else(rt, w);
}

/* May the running fiber leave without the engine? */
static inline bool may_leave(asx_runtime *rt, asx__worker *w)
{
    return may_go_on(rt, w) && w->r.next_up == NULL &&
           (ASX__LIKELY(rt->hot_most == ASX__HOT_LEAVE) || !asx__fiber_globals_any());
}

static inline bool is_fresh(const asx__task *task)
{
    return (task->flags & ~(uint32_t)(ASX__T_HANDLE | ASX__T_JOINER)) == 0;
}

/* Can the task be switched to, if it needs no stack or there is one? */
static bool may_follow(const asx__worker *w, const asx__task *task, bool stack)
{
    uint32_t flags = task->flags & ~(uint32_t)ASX__T_INLINE;
    if ((flags & (ASX__T_NOT_DIRECT | ASX__T_GRANTED | ASX__T_STARTED | ASX__T_NEAR)) ==
        (ASX__T_STARTED | ASX__T_NEAR))
        return true;
    return is_fresh(task) && (stack || w->near.stacks != NULL);
}

/* The oldest in the worker's list; NULL: none. */
static asx__task *oldest(const asx__worker *w)
{
    return asx__list_empty(&w->local) ? NULL : (asx__task *)w->local.next;
}

/* A fresh fiber gets this stack. */
static void start_on(asx__task *task, asx__stack *stack)
{
    task->w.start = task->u.fresh.fn;
    task->r.io = task->u.fresh.arg;
    stack->owner = task;
    task->u.fiber.stack = stack;
    task->flags |= ASX__T_STARTED | ASX__T_NEAR; /* which ends with asx__near_begin() */
    asx__field_store_u8(&task->phase, ASX_TASK_RUNNING);
}

static void bind_stack(const asx_runtime *rt, asx__worker *w, asx__task *task)
{
    asx__stack *stack = asx__stack_reuse(rt->pool, &w->near.stacks);
    w->near.stack_count--;
    start_on(task, stack);
    task->u.fiber.sp = asx__fiber_make(asx__stack_top(stack), asx__fiber_main_shared, task);
}

/* The task, which stands in no list any more, is the one that runs. */
static void run_next(asx__worker *w, asx__task *task)
{
    ASX__DEBUG_ASSERT(asx__is_queued(task)); /* F2 */
    asx__exec_set(task, ASX__EXEC_RUNNING);
    w->r.turn_left--;
    w->r.current = task;
    w->near.task_number = task->generation;
    w->near.stale = (task->flags & ASX__T_STARTED) != 0; /* a fiber knows better when it is on */
    w->outside.permit = task->extra != NULL ? &task->extra->permit : NULL;
    asx__store_relaxed(&w->outside.task, task);
}

/* Leaves the running fiber for the next one; returns when it goes on, on whatever worker. */
static asx_status leave(asx__worker *w, asx__task *task, asx__task *next)
{
    asx_runtime *rt = w->rt;
    const asx__worker *before = w->near.stale ? NULL : w;
    run_next(w, next);
    asx_status st = asx__switch_to(task, next);
    task->flags &= ~(uint32_t)ASX__T_NEAR;
    come_out(rt, before);
    return st;
}

/* ---- spawn ---------------------------------------------------------------------------------- */

/* The region, if it asks nothing. */
static asx__region *plain_region(const asx_runtime *rt, const asx_region *handle)
{
    uint32_t index = (uint32_t)handle->id.word;
    if (handle->id.word >> 32 != ASX__REGION_WORD >> 32 || index >= rt->regions.carved)
        return NULL;
    asx__region *region = asx__slab_at(&rt->regions, index);
    return region->generation == handle->id.generation && region->fast ? region : NULL;
}

static asx_status spawn_inside(asx__worker *w, asx__region *region)
{
    asx__near *near = &w->near;
    if (region != NULL && region->wings == NULL) {
        bool again = near->wanted == region && near->wanted_generation == region->generation;
        near->wanted = region;
        near->wanted_generation = region->generation;
        near->wanted_times = again ? near->wanted_times + 1 : 1;
    }
    return go_in(w);
}

/* Near calls keep some memory at each worker. Where it is counted, somebody else would lack it. */
static inline bool has_room(const asx_runtime *rt)
{
    return rt->config.limits.memory_max == 0 && rt->block == NULL;
}

/* The next time it leaves, it is made ready for near calls. */
static asx_status wants_near(const asx_runtime *rt)
{
    asx__worker *w = asx__this_thread.worker;
    if (w != NULL && w->rt == rt && w->slot.lease == 0 && !w->near.used && has_room(rt)) {
        w->near.used = true;
        w->near.idle_times = 0;
    }
    return ASX__GO_IN;
}

__attribute__((noinline)) asx_status asx__near_spawn(const asx_region *handle,
                                                     uint32_t flags, void *code, void *arg,
                                                     asx_task *ret_task, const char *site,
                                                     const char *name)
{
    if (handle == NULL || !asx__is_gate(handle->rt_) || code == NULL)
        return ASX__GO_IN;
    asx_runtime *rt = handle->rt_->behind;
    asx__worker *w = begin(rt, NULL);
    if (w == NULL)
        return wants_near(rt);
    asx__near *near = &w->near;
    asx__region *region = plain_region(rt, handle);
    asx__wing *wing = region != NULL ? wing_of(region, w) : NULL;
    bool short_of = near->stale || near->next_number > near->last_number;
    if (wing == NULL || near->records == NULL || short_of || !rt->engine->near_spawns) {
        near->short_of = near->short_of || (short_of && wing != NULL);
        return spawn_inside(w, region);
    }
    asx__task *task = near->records;
    near->records = (asx__task *)(void *)task->node.next;
    near->record_count--;
    uint64_t generation = near->next_number++;
    task->u.fresh.fn = (asx_task_fn)(uintptr_t)code;
    task->u.fresh.arg = arg;
    task->flags = flags;
    task->region = region;
    asx__field_store_u8(&task->phase, ASX_TASK_CREATED);
    task->priority = task->mask_depth = 0;
    task->outcome = ASX_OUTCOME_OK;
    task->cleanup_left = 0;
    asx__exec_set(task, ASX__EXEC_RUNNABLE);
    asx__field_store_u8(&task->home, (uint8_t)(w->index + 1));
    asx__field_store_u64(&task->generation, generation);
    task->name = name;
    task->site = site;
    link_child(rt, wing, task);
    touch(w, wing);
    wing->spawned++;
    near->spawns++;
    if (ret_task != NULL) {
        ret_task->task_ = NULL;
        ret_task->gate_ = rt->gate;
        ret_task->id.word = ASX__TASK_WORD | task->index;
        ret_task->id.generation = generation;
    }
    asx__list_push_back(&w->local, &task->node);
    end(w);
    return ASX_OK;
}

/* ---- join ----------------------------------------------------------------------------------- */

/* The child, if it is in the worker's wing. */
static asx__task *own_child(const asx_runtime *rt, const asx__worker *w, const asx_task *handle)
{
    uint32_t index = (uint32_t)handle->id.word;
    if (handle->id.word >> 32 != ASX__TASK_WORD >> 32 || index >= rt->tasks.carved)
        return NULL;
    asx__task *child = asx__task_at(rt, index + 1);
    if (asx__field_load_u64(&child->generation) != handle->id.generation ||
        asx__field_load_u8(&child->home) != w->index + 1)
        return NULL;
    return child;
}

/* Does the child, which has not begun, stand in the worker's list, and may it run in the joiner's
 * place? */
static bool may_run_inline(asx_runtime *rt, asx__worker *w, const asx__task *joiner,
                           const asx__task *child)
{
    return child->generation >= w->near.since && is_fresh(child) && child->joiner == NULL &&
           asx__exec_state(child) == ASX__EXEC_RUNNABLE && !rt->config.no_join_inline &&
           w->near.stacks != NULL && may_leave(rt, w) &&
           (joiner->flags & (ASX__T_NOT_DIRECT & ~(uint32_t)ASX__T_INLINE)) == 0 &&
           (joiner->flags & ASX__T_VALUE) == 0;
}

static asx_status run_inline(asx_runtime *rt, asx__worker *w, asx__task *task, asx__task *child,
                             asx_join_result *ret_result)
{
    asx__list_remove(&child->node);
    bind_stack(rt, w, child);
    child->joiner = task;
    child->flags |= ASX__T_JOINER | ASX__T_INLINE;
    task->w.waits = &rt->join_wait;
    task->node.next = &child->node; /* it stands in no list */
    task->r.io = ret_result;
    task->flags |= ASX__T_NEAR; /* whose place it runs in, its child keeps for it */
    asx__exec_set(task, ASX__EXEC_PARKED);
    w->near.streak++;
    return leave(w, task, child);
}

/* The same for poll tasks: the joiner says that it would wait, and goes on when the child has
 * ended. */
static bool may_poll_inline(const asx_runtime *rt, const asx__worker *w, const asx__task *joiner,
                            const asx__task *child)
{
    return child->generation >= w->near.since &&
           (child->flags & ~(uint32_t)ASX__T_HANDLE) == ASX__T_POLL &&
           asx__exec_state(child) == ASX__EXEC_RUNNABLE && !rt->config.no_join_inline &&
           w->r.next_up == NULL &&
           joiner->w.waits == NULL &&
           (joiner->flags & (ASX__T_NOT_DIRECT & ~(uint32_t)(ASX__T_INLINE | ASX__T_POLL))) == 0 &&
           (joiner->flags & (ASX__T_RENEWED | ASX__T_EXTRA)) == 0;
}

static asx_status poll_inline(asx_runtime *rt, asx__worker *w, asx__task *task, asx__task *child)
{
    asx__list_remove(&child->node);
    child->joiner = task;
    child->flags |= ASX__T_JOINER | ASX__T_INLINE;
    task->node.next = &child->node; /* it stands in no list */
    task->w.waits = &rt->join_wait;
    task->flags |= ASX__T_RENEWED;
    asx__exec_set(task, ASX__EXEC_PARKING);
    w->r.next_up = child;
    end(w);
    return ASX_E_WOULD_BLOCK;
}

/* Others had no turn for long: they have one before the next that goes in somebody's place. */
static inline bool others_first(asx__worker *w)
{
    if (ASX__LIKELY(w->near.streak < STREAK))
        return false;
    w->near.streak = 0;
    w->r.inline_streak = ASX__INLINE_MOST;
    return true;
}

/* The last thing in here is a jump, or the switch: whoever comes back returns to the user at once,
 * which the processor has to guess. */
__attribute__((noinline)) asx_status asx__near_join(asx_cx *cx, const asx_task *handle,
                                                    asx_join_result *ret_result)
{
    if (cx == NULL || !asx__is_gate(cx->rt_) || cx->task_ == NULL || handle == NULL ||
        handle->task_ != NULL || handle->gate_ != cx->rt_)
        return asx__join_far(cx, handle, ret_result);
    asx_runtime *rt = cx->rt_->behind;
    asx__task *task = cx->task_;
    asx__worker *w = begin(rt, task);
    if (ASX__UNLIKELY(w == NULL))
        return asx__join_far(cx, handle, ret_result);
    asx__task *child = own_child(rt, w, handle);
    uint8_t phase = child != NULL ? asx__field_load_u8(&child->phase) : ASX_TASK_RUNNING;
    if (phase == ASX_TASK_CREATED && !others_first(w)) {
        if ((task->flags & ASX__T_POLL) == 0) {
            if (ASX__LIKELY(may_run_inline(rt, w, task, child)))
                return run_inline(rt, w, task, child, ret_result);
        } else if (ASX__LIKELY(may_poll_inline(rt, w, task, child))) {
            return poll_inline(rt, w, task, child);
        }
    }
    if (ASX__UNLIKELY(phase != ASX_TASK_COMPLETED ||
                      (child->flags & (ASX__T_EXTRA | ASX__T_CANCEL | ASX__T_PINNED)) != 0)) {
        (void)go_in(w);
        return asx__join_far(cx, handle, ret_result);
    }
    if (ret_result != NULL)
        asx__join_result(child, ret_result);
    recycle(rt, w, child);
    end(w);
    return ASX_OK;
}

/* ---- end ------------------------------------------------------------------------------------ */

/* Who goes on when the task ends; NULL: that is not for the worker alone to say. */
static asx__task *successor(const asx__worker *w, const asx__task *task)
{
    asx__task *joiner = task->joiner;
    if (joiner != NULL) {
        if (!may_follow(w, joiner, false) || (joiner->flags & ASX__T_STARTED) == 0)
            return NULL;
        if ((task->flags & ASX__T_INLINE) != 0)
            return joiner;
    }
    asx__task *next = oldest(w);
    if (next == NULL)
        return joiner;
    return may_follow(w, next, true) ? next : NULL;
}

/* Hands the result to the joiner and queues it. */
static void wake_joiner(asx__worker *w, asx__task *task)
{
    asx__task *joiner = task->joiner;
    ASX__DEBUG_ASSERT(asx__exec_state(joiner) == ASX__EXEC_PARKED); /* F3, F4 */
    if (joiner->r.io != NULL)
        asx__join_result(task, joiner->r.io);
    task->joiner = NULL;
    task->flags &= ~(uint32_t)ASX__T_JOINER;
    joiner->w.status = ASX_OK;
    asx__exec_set(joiner, ASX__EXEC_RUNNABLE);
    asx__list_push_back(&w->local, &joiner->node);
}

static bool may_end(asx_runtime *rt, asx__worker *w, const asx__task *task)
{
    bool stays = (task->flags & (ASX__T_HANDLE | ASX__T_JOINER)) == ASX__T_HANDLE;
    return (task->flags & (ASX__T_NOT_PLAIN & ~(uint32_t)ASX__T_JOINER)) == 0 &&
           task->region->fast && task->region->wings != NULL && may_leave(rt, w) &&
           (stays || is_home(w, task));
}

__attribute__((noinline)) asx__task *asx__near_end(asx_runtime *rt, asx__task *task,
                                                   asx_status returned, asx__stack *stack,
                                                   const asx__stack_pool *pool)
{
    if (returned != ASX_OK || pool != rt->pool)
        return NULL;
    asx__worker *w = begin(rt, task);
    if (w == NULL)
        return NULL;
    asx__task *next = may_end(rt, w, task) ? successor(w, task) : NULL;
    if (next == NULL) {
        (void)go_in(w);
        return NULL;
    }
    bool inline_run = (task->flags & ASX__T_INLINE) != 0 && next == task->joiner;
    bool stays = (task->flags & (ASX__T_HANDLE | ASX__T_JOINER)) == ASX__T_HANDLE;
    asx__wing *wing = wing_of(task->region, w);
    touch(w, wing);
    wing->ok++;
    w->near.ended++;
    task->w.status = ASX_OK;
    asx__exec_set(task, ASX__EXEC_DONE);
    if (task->joiner != NULL)
        wake_joiner(w, task);
    asx__field_store_u8(&task->phase, ASX_TASK_COMPLETED); /* whoever joins it may have it now */
    if (!stays)
        recycle(rt, w, task);
    w->near.streak = inline_run ? w->near.streak + 1 : 0;
    asx__list_remove(&next->node);
    run_next(w, next);
    asx__store_relaxed(&w->near.calls, asx__load_relaxed(&w->near.calls) + 1);
    if ((next->flags & ASX__T_STARTED) == 0) {
        start_on(next, stack);
        return next;
    }
    asx__stack_keep(&w->near.stacks, stack);
    w->near.stack_count++;
    asx__fiber_jump_on(stack, next->u.fiber.stack, next->u.fiber.sp, (int)next->w.status);
}

/* ---- poll tasks ----------------------------------------------------------------------------- */

/* The poll function is done, and there is nothing about its task that is not simple? Its joiner, if
 * it has one, must have left: see near.h. */
static bool poll_may_end(const asx_runtime *rt, const asx__worker *w, const asx__task *task)
{
    const asx__task *joiner = task->joiner;
    if (task->w.waits != NULL || !task->region->fast || task->region->wings == NULL ||
        (task->flags & (ASX__T_NOT_PLAIN & ~(uint32_t)ASX__T_JOINER)) != 0)
        return false;
    if (joiner == NULL)
        return (task->flags & ASX__T_HANDLE) != 0 || is_home(w, task);
    return (task->flags & (ASX__T_INLINE | ASX__T_HANDLE)) == (ASX__T_INLINE | ASX__T_HANDLE) &&
           asx__exec_state(joiner) == ASX__EXEC_PARKED && joiner->w.waits == &rt->join_wait &&
           (joiner->flags & (ASX__T_NOT_DIRECT & ~(uint32_t)ASX__T_INLINE)) == ASX__T_POLL;
}

static bool poll_may_park(const asx_runtime *rt, const asx__task *task)
{
    return asx__exec_state(task) == ASX__EXEC_PARKING && task->w.waits == &rt->join_wait &&
           (task->flags & (ASX__T_RENEWED | ASX__T_CANCEL | ASX__T_EXTRA | ASX__T_EXTERNAL)) ==
               ASX__T_RENEWED;
}

/* Who comes next: a joiner in whose place the task has run, a child in the place of the task, the
 * oldest. NULL: none that could be called at once. */
static asx__task *next_poll(const asx__worker *w, asx__task *joiner)
{
    asx__task *next = joiner;
    if (next == NULL)
        next = w->r.next_up != NULL ? w->r.next_up : oldest(w);
    if (next == NULL || (next->flags & ASX__T_GRANTED) != 0 ||
        (next->flags & (ASX__T_NOT_DIRECT & ~(uint32_t)ASX__T_INLINE)) != ASX__T_POLL)
        return NULL;
    return next;
}

static void poll_ends(const asx_runtime *rt, asx__worker *w, asx__task *task)
{
    asx__task *joiner = task->joiner;
    asx__wing *wing = wing_of(task->region, w);
    touch(w, wing);
    wing->ok++;
    w->near.ended++;
    task->w.status = ASX_OK;
    asx__exec_set(task, ASX__EXEC_DONE);
    if (joiner != NULL) {
        task->joiner = NULL;
        task->flags &= ~(uint32_t)ASX__T_JOINER;
        joiner->w.waits = NULL;
        asx__exec_set(joiner, ASX__EXEC_RUNNABLE);
    }
    bool stays = (task->flags & ASX__T_HANDLE) != 0;
    asx__field_store_u8(&task->phase, ASX_TASK_COMPLETED); /* whoever joins it may have it now */
    if (!stays)
        recycle(rt, w, task);
}

/* The poll task is called next. */
static void call_next(asx__worker *w, asx__task *next, bool joiner)
{
    bool at_once = joiner || next == w->r.next_up;
    w->near.streak = at_once ? w->near.streak + 1 : 0;
    if (next == w->r.next_up)
        w->r.next_up = NULL;
    else if (!joiner)
        asx__list_remove(&next->node);
    run_next(w, next);
    uint32_t flags = next->flags;
    w->r.yield_due = (flags & ASX__T_YIELDED) != 0;
    next->flags = (flags & ~(uint32_t)(ASX__T_RENEWED | ASX__T_YIELDED)) | ASX__T_STARTED;
    if ((flags & ASX__T_STARTED) == 0)
        asx__field_store_u8(&next->phase, ASX_TASK_RUNNING);
}

__attribute__((noinline)) asx__task *asx__near_polled(asx_runtime *rt, asx__task *task,
                                                      asx_poll result, uint32_t *ret_caps)
{
    asx__worker *w = result != ASX_POLL_ERROR ? begin(rt, task) : NULL;
    if (w == NULL)
        return NULL;
    bool ends = result == ASX_POLL_READY;
    asx__task *next = NULL;
    if (may_go_on(rt, w) && (ends ? poll_may_end(rt, w, task) : poll_may_park(rt, task)))
        next = next_poll(w, ends ? task->joiner : NULL);
    if (next == NULL) {
        (void)go_in(w);
        return NULL;
    }
    bool joiner = ends && next == task->joiner;
    if (ends)
        poll_ends(rt, w, task);
    else
        asx__exec_set(task, ASX__EXEC_PARKED);
    call_next(w, next, joiner);
    *ret_caps = asx__task_caps(next);
    end(w);
    return next;
}

/* ---- small calls ---------------------------------------------------------------------------- */

__attribute__((noinline)) asx_status asx__near_yield(const asx_cx *cx)
{
    if (cx == NULL || !asx__is_gate(cx->rt_) || cx->task_ == NULL)
        return ASX__GO_IN;
    asx_runtime *rt = cx->rt_->behind;
    asx__task *task = cx->task_;
    asx__worker *w = begin(rt, task);
    if (w == NULL)
        return ASX__GO_IN;
    asx__task *next = oldest(w);
    if (next == NULL || !may_leave(rt, w) || !may_follow(w, next, false) ||
        (task->flags & (ASX__T_NOT_DIRECT & ~(uint32_t)ASX__T_INLINE)) != 0)
        return go_in(w);
    (void)asx__list_pop_front(&w->local);
    asx__list_push_back(&w->local, &task->node);
    task->w.status = ASX_OK;
    task->flags = (task->flags & ~(uint32_t)ASX__T_INLINE) | ASX__T_NEAR;
    asx__exec_set(task, ASX__EXEC_YIELDED);
    if ((next->flags & ASX__T_STARTED) == 0)
        bind_stack(rt, w, next);
    w->near.streak = 0;
    return leave(w, task, next);
}

/* What needs no latch. The worker looks in at times all the same: it may get a lease. */
static inline bool passes_by(asx__worker *w, const asx__task *task)
{
    asx__outside *out = &w->outside;
    if (ASX__LIKELY(w->near.left > PASS)) {
        w->near.left -= PASS;
        return asx__load_relaxed(&out->task) == task;
    }
    w->near.left = 0;
    if (!asx__outside_may(out, task))
        return false;
    asx__store_relaxed(&out->calls, asx__load_relaxed(&out->calls) + 1);
    return true;
}

__attribute__((noinline)) asx_status asx__near_set_value(const asx_cx *cx, uint64_t value)
{
    if (cx == NULL || !asx__is_gate(cx->rt_) || cx->task_ == NULL)
        return ASX__GO_IN;
    asx__worker *w = worker_of(cx->rt_->behind);
    if (w == NULL || !passes_by(w, cx->task_))
        return ASX__GO_IN;
    w->near.value_of = cx->task_;
    w->near.value = value;
    return ASX_OK;
}

__attribute__((noinline)) asx_status asx__near_region(const asx_cx *cx, asx_region *ret_region)
{
    if (cx == NULL || !asx__is_gate(cx->rt_) || cx->task_ == NULL || ret_region == NULL)
        return ASX__GO_IN;
    asx__worker *w = worker_of(cx->rt_->behind);
    if (w == NULL || !passes_by(w, cx->task_))
        return ASX__GO_IN;
    *ret_region = asx__region_name(cx->task_->region);
    return ASX_OK;
}

/* ---- inside --------------------------------------------------------------------------------- */

static void gather(asx_runtime *rt, asx__near *near)
{
    rt->tasks_ended += near->ended - (near->next_number - near->told_number);
    rt->turns += near->turns;
    rt->cert.ready_dispatches += near->dispatched;
    near->ended = near->turns = near->dispatched = 0;
    if (near->now > rt->now)
        rt->now = near->now;
    near->told_number = near->next_number;
    while (near->dirty != NULL) {
        asx__wing *wing = near->dirty;
        near->dirty = wing->dirty_next;
        wing->dirty = false;
        wing->region->spawned += wing->spawned;
        wing->region->n_ok += wing->ok;
        wing->spawned = wing->ok = 0;
    }
}

/* A worker that makes no near calls, but computes, need not be stopped every time. */
static void close_if_quiet(asx__engine *e, asx__near *near)
{
    uint64_t calls = asx__load_relaxed(&near->calls);
    near->quiet_times = calls == near->calls_told ? near->quiet_times + 1 : 0;
    near->calls_told = calls;
    if (near->quiet_times < QUIET_TIMES)
        return;
    near->quiet_times = 0;
    asx__store_relaxed(&near->open, 0u);
    e->near_open--;
}

void asx__near_come_in(asx_runtime *rt, asx__worker *self)
{
    asx__engine *e = rt->engine;
    write_value(&self->near);
    self->near.seen_number = rt->task_generation;
    if (ASX__UNLIKELY(rt->gate->behind == NULL))
        return; /* in the child of a fork nobody else is there */
    self->near.left = 0;
    if (e->near_open == 0)
        return;
    if (asx__load_relaxed(&self->near.open) != 0) {
        asx__store_relaxed(&self->near.open, 0u);
        e->near_open--;
        gather(rt, &self->near);
    }
    for (uint32_t i = 0; e->near_open != 0 && i < e->workers_max; i++)
        if (asx__near_seize(&e->workers[i].near, &e->seized)) {
            gather(rt, &e->workers[i].near);
            close_if_quiet(e, &e->workers[i].near);
        }
}

static void make_wings(asx_runtime *rt, asx__region *region)
{
    uint32_t count = rt->engine->workers_cap;
    asx__wing *wings = asx__mem_alloc(rt, count * sizeof *wings);
    if (wings == NULL)
        return;
    for (uint32_t i = 0; i < count; i++) {
        asx__task *head = asx__task_alloc(rt);
        if (head == NULL) {
            while (i-- > 0)
                asx__task_free(rt, wings[i].head);
            asx__mem_free(rt, wings, count * sizeof *wings);
            return;
        }
        head->region = region;
        head->sibling_next = head->sibling_prev = head->index + 1;
        wings[i] = (asx__wing){ .head = head, .region = region, .count = count };
    }
    region->wings = wings;
}

void asx__near_drop_wings(asx_runtime *rt, asx__region *region)
{
    if (region->wings == NULL)
        return;
    uint32_t count = region->wings->count;
    for (uint32_t i = 0; i < count; i++)
        asx__task_free(rt, region->wings[i].head);
    asx__mem_free(rt, region->wings, count * sizeof *region->wings);
    region->wings = NULL;
}

/* What a worker does not use of its numbers nobody else gets: at most three of four, and a few. */
static bool may_lose(const asx_runtime *rt, uint64_t unused)
{
    uint64_t lost = rt->engine->numbers_lost + unused;
    return lost / 3 * 4 < asx__serial(rt->task_generation) + 4 * NUMBERS;
}

/* As many as the worker has used of the last ones; more, if that was not enough. */
static uint32_t next_block(const asx__near *near, uint32_t used)
{
    if (used == near->block)
        return near->short_of || used == 0 ? least(NUMBERS, 4 * used + NUMBERS_FIRST) : used;
    return used != 0 ? used : least(near->block, NUMBERS_FIRST);
}

/* Newer ones. Those that nobody was given count as tasks that have ended. */
static void take_numbers(asx_runtime *rt, asx__near *near)
{
    uint64_t unused = near->last_number + 1 - near->next_number;
    if (!may_lose(rt, unused))
        return;
    near->block = next_block(near, near->block - (uint32_t)unused);
    rt->engine->numbers_lost += unused;
    near->next_number = near->told_number = rt->task_generation + 1;
    rt->task_generation += near->block;
    near->last_number = rt->task_generation;
    rt->tasks_ended += near->block;
    near->stale = near->short_of = false;
}

static void free_records(asx_runtime *rt, asx__near *near, uint32_t keep)
{
    while (near->record_count > keep) {
        asx__task *task = near->records;
        near->records = (asx__task *)(void *)task->node.next;
        near->record_count--;
        asx__task_free(rt, task);
    }
}

static void free_stacks(asx_runtime *rt, asx__near *near, uint32_t keep)
{
    while (near->stack_count > keep) {
        asx__stack *stack = near->stacks;
        near->stacks = stack->next;
        near->stack_count--;
        stack->next = rt->pool->free; /* the tools know already that it is nobody's */
        rt->pool->free = stack;
    }
}

/* They are used in the order in which they lie in memory, so that whoever goes through many tasks
 * in the order of their creation goes ahead there. */
static void take_records(asx_runtime *rt, asx__near *near)
{
    asx__task *had = near->records;
    asx__task **end = &near->records;
    while (near->record_count < RECORDS) {
        asx__task *record = asx__task_alloc(rt);
        if (record == NULL)
            break;
        *end = record;
        end = (asx__task **)(void *)&record->node.next;
        near->record_count++;
    }
    *end = had;
}

/* Records and stacks, not too few and not too many. */
static void stock_up(asx_runtime *rt, asx__near *near)
{
    if (near->record_count < RECORDS / 4)
        take_records(rt, near);
    free_records(rt, near, 2 * RECORDS);
    while (near->stack_count < STACKS / 2) {
        asx__stack *stack = asx__stack_acquire(rt->pool);
        if (stack == NULL)
            break;
        asx__stack_keep(&near->stacks, stack);
        near->stack_count++;
    }
    free_stacks(rt, near, 2 * STACKS);
}

/* Has the worker made any since it last left? If it does not for long, it is not made ready. */
static bool is_used(asx__near *near)
{
    uint64_t calls = asx__load_relaxed(&near->calls);
    near->idle_times = calls != near->calls_before ? 0 : near->idle_times + 1;
    near->calls_before = calls;
    near->used = near->used && near->idle_times < IDLE_TIMES;
    return near->used;
}

bool asx__near_prepare(asx_runtime *rt, asx__worker *w, const asx__task *task)
{
    asx__near *near = &w->near;
    near->stale = near->stale || near->task_number != task->generation ||
                  near->seen_number != rt->task_generation;
    near->task_number = task->generation;
    if (!is_used(near) || !rt->fast || rt->hot_most == 0 || rt->in_cleanup || rt->over != NULL) {
        near->stale = true;
        return false;
    }
    /* Not in single steps, nor when what others spawned would wait for long. */
    bool stays = rt->engine->workers_here != 0 && !rt->engine->coarse;
    near->stay_until = stays ? asx_time_add(rt->now, STAY_NS) : 0;
    near->left = CALLS;
    asx__region *wanted = near->wanted;
    if (wanted != NULL && near->wanted_times >= WANTED_TIMES) {
        near->wanted = NULL;
        if (wanted->generation == near->wanted_generation && wanted->fast && wanted->wings == NULL)
            make_wings(rt, wanted);
    }
    if (near->stale || near->next_number > near->last_number)
        take_numbers(rt, near);
    stock_up(rt, near);
    asx__store_relaxed(&near->open, 1u);
    rt->engine->near_open++;
    return true;
}

void asx__near_tell(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    e->near_calm = rt->cancel.words == 0 && rt->timed_len == 0 && (rt->ready.words & ~1u) == 0 &&
                   (rt->ready.bits[0] & ~UINT64_C(1)) == 0 && !asx__cancel_pending(rt) &&
                   rt->hot_most != 0 && !rt->finished && asx__list_empty(&e->visitor.local) &&
                   (e->loaded != &e->visitor || asx__list_empty(&rt->ready.queue[0]));
    e->near_spawns = e->sleepers == 0 || (e->watch != NULL && e->polling && !e->coarse);
}

void asx__near_give_back(asx_runtime *rt, asx__worker *w)
{
    free_records(rt, &w->near, 0);
    free_stacks(rt, &w->near, 0);
    asx__near_disturb_all(w);
}

uint64_t asx__near_spare_numbers(const asx_runtime *rt)
{
    const asx__engine *e = rt->engine;
    uint64_t spare = e != NULL ? e->numbers_lost : 0;
    for (uint32_t i = 0; e != NULL && i < e->workers_max; i++)
        spare += e->workers[i].near.last_number + 1 - e->workers[i].near.next_number;
    return spare;
}

uint64_t asx__near_stacks(const asx_runtime *rt)
{
    const asx__engine *e = rt->engine;
    uint64_t count = 0;
    for (uint32_t i = 0; e != NULL && i < e->workers_max; i++)
        count += e->workers[i].near.stack_count;
    return count;
}

/* ---- walks ---------------------------------------------------------------------------------- */

static asx__task *first_in_wings(const asx__region *region, uint32_t from)
{
    const asx_runtime *rt = region->rt;
    for (uint32_t i = from; region->wings != NULL && i < region->wings->count; i++) {
        const asx__task *head = region->wings[i].head;
        if (head->sibling_next != head->index + 1)
            return asx__task_at(rt, head->sibling_next);
    }
    return NULL;
}

asx__task *asx__region_first_task(const asx__region *region)
{
    return region->task_first != 0 ? asx__task_at(region->rt, region->task_first)
                                   : first_in_wings(region, 0);
}

asx__task *asx__region_next_task(const asx__region *region, const asx__task *task)
{
    uint32_t next = task->sibling_next;
    uint32_t home = asx__task_wing(task);
    if (home == 0)
        return next != 0 ? asx__task_at(region->rt, next) : first_in_wings(region, 0);
    return next != region->wings[home - 1].head->index + 1 ? asx__task_at(region->rt, next)
                                                           : first_in_wings(region, home);
}
