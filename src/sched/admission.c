/* admission.c - limits on the live tasks of a region: who is refused, who waits, who comes next.
 *
 *   place    room for one task, kept for a waiter from the moment it is woken until it spawns
 *
 *     live tasks + places <= tasks_max
 *     somebody waits  =>  live tasks + places == tasks_max
 *
 * Room that becomes free is made a place of the first waiter at once, so nobody who comes later
 * can pass it. A place belongs to a task (extra->place) and to one life of the region's record: it
 * is used by the spawn it waited for, given back when that is not made again (poll task), when the
 * task is cancelled before it runs, or when it ends; and forgotten with the region.
 */
#include "sched/sched.h"

static bool full(const asx__region *region)
{
    return asx__region_live_tasks(region) + region->places >= region->tasks_max;
}

static bool has_place(const asx__task *task, const asx__region *region)
{
    const asx__extra *extra = task->extra;
    return extra != NULL && extra->place == region &&
           extra->place_generation == region->generation;
}

void asx__region_admit_waiters(asx_runtime *rt, asx__region *region)
{
    while (!asx__list_empty(&region->admission_queue) && !full(region)) {
        asx__task *task = (asx__task *)region->admission_queue.next;
        asx__list_remove(&task->node);
        task->extra->place = region;
        task->extra->place_generation = region->generation;
        region->places++;
        asx__wake(rt, task, ASX_OK, true);
    }
}

void asx__region_refuse_waiters(asx_runtime *rt, asx__region *region)
{
    while (!asx__list_empty(&region->admission_queue)) {
        asx__task *task = (asx__task *)region->admission_queue.next;
        asx__list_remove(&task->node);
        asx__wake(rt, task, ASX_E_REGION_NOT_OPEN, false);
    }
}

bool asx__task_leave_place(asx_runtime *rt, asx__task *task)
{
    if (task->extra == NULL || task->extra->place == NULL)
        return false;
    asx__region *region = task->extra->place;
    bool lives = has_place(task, region);
    task->extra->place = NULL;
    if (lives) {
        region->places--;
        asx__region_admit_waiters(rt, region);
    }
    return true;
}

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    (void)waitable;
    if (granted)
        (void)asx__task_leave_place(rt, task);
    else
        asx__list_remove(&task->node);
}

const asx__waitable_ops asx__admission_ops = { ASX__WAIT_ADMISSION, NULL, unpublish };

static asx_status refuse(asx_runtime *rt, const asx__region *region)
{
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_ADMISSION_REFUSED, asx__serial(region->generation),
                     ASX__REFUSED_TASK, (uint64_t)(int64_t)ASX_E_ADMISSION_CLOSED, 0);
    return ASX_E_ADMISSION_CLOSED;
}

/* The place is used now: by the spawn that asks, which counts as soon as it is made. */
static void use_place(asx__task *task, asx__region *region)
{
    task->extra->place = NULL;
    region->places--;
}

static asx_status wait_for_place(asx_runtime *rt, asx__task *task, asx__region *region)
{
    uint64_t generation = region->generation;
    asx_status st = asx__wait_prepare(rt, task, &region->admission_wait);
    if (st < 0)
        return st;
    asx__list_push_back(&region->admission_queue, &task->node);
    st = asx__wait_on(rt, task, &region->admission_wait, NULL);
    if (st < 0)
        return st;
    if (region->generation != generation) { /* closed, and the record serves another */
        task->extra->place = NULL;
        return ASX_E_STALE_HANDLE;
    }
    use_place(task, region);
    return asx__region_gate((asx_region_state)region->state, ASX__GATE_SPAWN_TASK, false);
}

asx_status asx__region_admit_task(asx_runtime *rt, asx__region *region)
{
    asx__task *task = rt->current;
    bool placed = task != NULL && has_place(task, region);
    if (!placed && !full(region))
        return ASX_OK;
    if (!placed && (region->admission != ASX_ADMISSION_WAIT || task == NULL))
        return refuse(rt, region);
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st; /* a place goes on to the next when the resumption is over */
    if (asx__task_extra(rt, task) == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    if (!placed)
        return wait_for_place(rt, task, region);
    (void)asx__wait_granted(task, &region->admission_wait);
    use_place(task, region);
    return ASX_OK;
}
