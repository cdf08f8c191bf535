/* task.h - records in their region's list, and the plain end of a task, inline.
 *
 * The list is in order of creation; links are index + 1, 0 for none, so that a record has room for
 * two in eight bytes.
 */
#ifndef ASX_SCHED_TASK_H
#define ASX_SCHED_TASK_H

#include "sched/hot.h"

static inline asx__task *asx__task_at(const asx_runtime *rt, uint32_t link)
{
    uint32_t index = link - 1;
    if (ASX__LIKELY(index < rt->tasks.first_len))
        return (asx__task *)(void *)rt->tasks.first + index;
    return asx__slab_at(&rt->tasks, index);
}

static inline void asx__task_link_child(asx__region *region, asx__task *task)
{
    uint32_t link = task->index + 1;
    task->sibling_next = 0;
    task->sibling_prev = region->task_last;
    if (ASX__LIKELY(region->task_last != 0))
        region->task_tail->sibling_next = link;
    else
        region->task_first = link;
    region->task_last = link;
    region->task_tail = task;
    region->spawned++;
}

static inline void asx__task_unlink_child(const asx_runtime *rt, asx__task *task)
{
    asx__region *region = task->region;
    uint32_t next = task->sibling_next, prev = task->sibling_prev;
    asx__task *before = NULL;
    if (prev != 0) {
        before = asx__task_at(rt, prev);
        before->sibling_next = next;
    } else {
        region->task_first = next;
    }
    if (next != 0) {
        asx__task_at(rt, next)->sibling_prev = prev;
    } else {
        region->task_last = prev;
        region->task_tail = before;
    }
}

/* A free record; the link lies where the lists of a task in use are. */
static inline void asx__task_free(asx_runtime *rt, asx__task *task)
{
    task->generation = 0;
    task->node.next = (asx__node *)(void *)rt->tasks_free;
    rt->tasks_free = task;
}

/* Its record can be used again; it has no extra part and was not cancelled. */
static inline void asx__task_recycle_plain(asx_runtime *rt, asx__task *task)
{
    asx__task_unlink_child(rt, task);
    asx__task_free(rt, task);
}

/* A task with any of these has something to be taken care of when it ends. */
#define ASX__T_NOT_PLAIN                                                                           \
    (ASX__T_CANCEL | ASX__T_METERED | ASX__T_TIMED | ASX__T_FORCED | ASX__T_PANICKED |             \
     ASX__T_EXTRA | ASX__T_JOINER | ASX__T_PINNED)

/* The end of a task that has nothing of the kind; false: asx__task_finish() must do it. */
static inline bool asx__task_finish_plain(asx_runtime *rt, asx__task *task, asx_status returned)
{
    asx__region *region = task->region;
    if (ASX__UNLIKELY(returned != ASX_OK || (task->flags & ASX__T_NOT_PLAIN) != 0 ||
                      !region->fast))
        return false;
    _Static_assert((ASX__TASK_LEGAL & ASX__PAIR_BIT(ASX_TASK_RUNNING, ASX_TASK_COMPLETED)) != 0,
                   "a running task may complete");
    ASX__DEBUG_ASSERT(task->phase == ASX_TASK_RUNNING);
    task->phase = ASX_TASK_COMPLETED;
    task->w.status = ASX_OK;
    asx__exec_set(task, ASX__EXEC_DONE);
    rt->tasks_ended++;
    region->n_ok++;
    if ((task->flags & ASX__T_HANDLE) == 0)
        asx__task_recycle_plain(rt, task);
    return true;
}

static inline asx_outcome asx__outcome_of(const asx__task *task)
{
    asx_outcome outcome = { (asx_outcome_kind)task->outcome, (asx_status)task->w.status,
                            asx__serial(task->generation) };
    return outcome;
}

/* A fresh fiber gets its stack; asx__fiber_main() takes function and argument from the record. */
static inline void asx__fiber_bind(const asx_runtime *rt, asx__task *task, asx__stack *stack)
{
    task->w.start = task->u.fresh.fn;
    task->r.io = task->u.fresh.arg;
    stack->owner = task;
    task->u.fiber.stack = stack;
    task->u.fiber.sp = asx__fiber_make(
        asx__stack_top(stack),
        ASX__LIKELY(rt->gate == NULL) ? asx__fiber_main : asx__fiber_main_shared, task);
}

/* What whoever joins the task gets. */
static inline void asx__join_result(const asx__task *task, asx_join_result *result)
{
    result->outcome = asx__outcome_of(task);
    result->value = task->outcome <= ASX_OUTCOME_ERR && (task->flags & ASX__T_VALUE)
                        ? task->r.value
                        : 0;
}

#endif
