/* near.h - what a worker does for plain tasks with nothing but its own: no engine.
 *
 * Words
 *   near call  a call of the running task for which its worker needs only what is its own. Spawning
 *              a plain task, joining one, yielding, returning: if it is not that simple, nothing
 *              happens, and the call enters the engine as ever (ASX__GO_IN).
 *   own        of a worker: its registers and its list of runnable tasks while they are not loaded,
 *              a few free records and stacks, some numbers for new tasks.
 *   wing       the children of a region that one worker has spawned in near calls: a list of their
 *              own beside the region's, and how many began and ended well since somebody counted.
 *
 * Who may touch what. A worker's own is protected by its latch: near calls take it, and whoever
 * enters the engine takes that of every worker that may be at a near call, which is one that is
 * `open`, and keeps it until it leaves. So the code of the engine has everything to
 * itself, as before there were near calls; and what it writes, near calls may read. It finds what
 * near calls have counted added up (asx__near_gather).
 *
 * A near call touches
 *   the running task, and one that is parked in a join on it: nobody else wakes that;
 *   tasks in its worker's list;
 *   children in its worker's wing that have ended, wherever that was: `phase` tells (release by the
 *   end, acquire by the join), and who has ended there does not touch the record any more;
 *   of any other record only `generation`, `home` and `phase`, to find out that it is another's.
 * Tasks with a deadline, a quota, a priority, a cancellation or a worker of their own, regions that
 * close or count, a journal: all that enters.
 *
 * Leaving. A fiber that parks or yields in a near call switches to the next one with the latch
 * held, so that nobody sees it parked who could run it before it has left its stack; and whoever
 * goes on drops it. Which fiber comes next is decided before anything is changed: one that left in
 * a near call too (ASX__T_NEAR, so that it knows to look what it holds now), or a fresh one for
 * which there is a stack. A child of its wing that is younger than all that others took from a
 * worker's list (`since`) and that has not begun stands in that list, and may run in its joiner's
 * place. A poll task has no stack to leave; its worker goes from function to function as long as
 * nothing else is to be done, and a poll task that ends here wakes a joiner only if it runs in its
 * place: that one has left, on this worker or before its child was taken from there.
 *
 * The value of a task is its worker's until the task's next near call or entry: nobody looks at it
 * before it has ended. Its region cannot change. Both need no latch.
 *
 * Numbers. Each worker gets some for new tasks at a time. They are stale for a task that may have
 * spawned elsewhere since, or inside: its next spawn enters, and the worker gets newer ones. So
 * what one task spawns is numbered in order wherever it runs. Between tasks on different workers
 * there is no such order. They are not for a task that is new, nor for a fiber that has left and
 * goes on in near calls of the same worker.
 *
 * Rejected: deques that can be robbed without a lock: a task that is joined or cancelled has to
 * leave its queue from the middle. One latch per region: all workers spawn into the same.
 */
#ifndef ASX_SCHED_NEAR_H
#define ASX_SCHED_NEAR_H

#include "sched/engine.h"

/* Under the latch: the task (NULL: any) runs here and need not enter. */
static inline bool asx__near_may(const asx__outside *out, const asx__task *task)
{
    const asx__task *mine = asx__load_relaxed(&out->task);
    return mine != NULL && (task == NULL || task == mine);
}

/* By the worker's own thread: takes its latch, if it is open, has calls left, and runs the task.
 * That it was called in or closed before is seen under the latch. */
static inline bool asx__near_take(asx__outside *out, asx__near *near, const asx__task *task)
{
    if (near->left == 0)
        return false;
    if (ASX__UNLIKELY(!asx__latch_try(&near->latch, ASX__LATCH_TAKEN)))
        asx__latch_wait(&near->latch, ASX__LATCH_TAKEN);
    if (ASX__LIKELY(asx__near_may(out, task) && asx__load_relaxed(&near->open) != 0))
        return true;
    asx__latch_drop(&near->latch);
    return false;
}

/* By whoever is inside: another worker makes no near call until it leaves. False: it makes none
 * anyway, since it was inside itself after its last one. */
static inline bool asx__near_seize(asx__near *near, asx__latch **seized)
{
    if (asx__load_relaxed(&near->open) == 0)
        return false;
    asx__latch_seize(&near->latch, seized);
    return true;
}

typedef struct asx__wing {
    asx__task *head;    /* a record that is no task: it stands at both ends of the list */
    asx__region *region;
    uint64_t spawned, ok; /* since they were last gathered */
    struct asx__wing *dirty_next;
    bool dirty;         /* among its worker's, to be gathered */
    uint32_t count;     /* of wings of the region */
    char gap[128 - 5 * 8 - 8];
} asx__wing;

/* ---- near calls; ASX__GO_IN: it has to enter ---- */

/* `flags`: ASX__T_HANDLE and ASX__T_POLL or nothing. */
asx_status asx__near_spawn(const asx_region *region, uint32_t flags, void *code, void *arg,
                           asx_task *ret_task, const char *site, const char *name);
/* This one enters by itself. */
asx_status asx__near_join(asx_cx *cx, const asx_task *handle, asx_join_result *ret_result);
asx_status asx__near_yield(const asx_cx *cx);
asx_status asx__near_set_value(const asx_cx *cx, uint64_t value);
asx_status asx__near_region(const asx_cx *cx, asx_region *ret_region);
/* The fiber's function has returned. A task that goes on with its stack, or NULL: enter; or it
 * goes on somewhere else and does not return. */
asx__task *asx__near_end(asx_runtime *rt, asx__task *task, asx_status returned, asx__stack *stack,
                         const asx__stack_pool *pool);
/* A fiber that was begun in a near call goes out to its function. */
void asx__near_begin(asx__task *task);
/* The poll function has returned. The task to call next, and what it may do; or NULL: enter. */
asx__task *asx__near_polled(asx_runtime *rt, asx__task *task, asx_poll result, uint32_t *ret_caps);

/* ---- inside ---- */

/* The worker has entered. Nobody makes near calls until it leaves, and all is added up. */
void asx__near_come_in(asx_runtime *rt, asx__worker *self);
/* On the way out, for the task that runs next: what near calls lacked. True: it may make some, and
 * its registers are its own from now on. */
bool asx__near_prepare(asx_runtime *rt, asx__worker *worker, const asx__task *task);
/* On the way out: what near calls of all have to know. */
void asx__near_tell(asx_runtime *rt);
/* The worker rests or ends: it keeps nothing. */
void asx__near_give_back(asx_runtime *rt, asx__worker *worker);
/* Somebody else takes this task from its list ... */
static inline void asx__near_disturb(asx__worker *worker, const asx__task *task)
{
    if (task->home == worker->index + 1 && task->generation >= worker->near.since)
        worker->near.since = task->generation + 1;
}
/* ... or all. */
static inline void asx__near_disturb_all(asx__worker *worker)
{
    worker->near.since = worker->near.next_number;
}
/* Numbers of tasks that workers have and did not give out, or threw away; kept stacks. */
uint64_t asx__near_spare_numbers(const asx_runtime *rt);
uint64_t asx__near_stacks(const asx_runtime *rt);
/* The region ends: all of its tasks have been recycled. */
void asx__near_drop_wings(asx_runtime *rt, asx__region *region);

/* The list that the task is in: 0 the region's own, else the wing of that worker + 1. */
static inline uint32_t asx__task_wing(const asx__task *task)
{
    return (task->flags & ASX__T_PINNED) != 0 ? 0 : task->home;
}

/* A walk over all tasks of a region, in its own list and in its wings. NULL: that was the last. */
asx__task *asx__region_first_task(const asx__region *region);
asx__task *asx__region_next_task(const asx__region *region, const asx__task *task);

#endif
