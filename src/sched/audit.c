/* audit.c - walks through regions and lanes that say whether their invariants hold. Audit builds
 * call them at each step; they change nothing.
 */
#include "sched/obligation.h"

/* flags & T_CANCEL  <=>  reason != NULL  <=>  phase is none of Created, Running (until it ends). */
static bool task_is_valid(const asx__task *task)
{
    bool cancelled = (task->flags & ASX__T_CANCEL) != 0;
    if (cancelled != (task->reason != NULL) ||
        ((task->flags & ASX__T_EXTRA) != 0) != (task->extra != NULL) ||
        ((task->flags & ASX__T_JOINER) != 0) != (task->joiner != NULL))
        return false;
    switch (task->phase) {
    case ASX_TASK_CREATED:
        return !cancelled && (task->flags & ASX__T_STARTED) == 0;
    case ASX_TASK_RUNNING:
        return !cancelled && (task->flags & ASX__T_STARTED) != 0;
    case ASX_TASK_COMPLETED:
        return asx__exec_state(task) == (task->outcome == ASX_OUTCOME_CANCELLED
                                             ? ASX__EXEC_CANCELLED
                                             : ASX__EXEC_DONE);
    default:
        return cancelled;
    }
}

static bool tasks_are_valid(const asx__region *region)
{
    const asx_runtime *rt = region->rt;
    uint64_t live = 0;
    uint32_t before = 0;
    for (uint32_t link = region->task_first; link != 0;) {
        const asx__task *task = asx__slab_at(&rt->tasks, link - 1);
        if (task->region != region || task->sibling_prev != before || task->generation == 0 ||
            !task_is_valid(task))
            return false;
        live += task->phase != ASX_TASK_COMPLETED;
        before = link;
        link = task->sibling_next;
    }
    return before == region->task_last && live == asx__region_live_tasks(region);
}

static bool children_are_valid(const asx__region *region)
{
    uint64_t live = 0;
    for (const asx__node *n = region->children.next; n != &region->children; n = n->next) {
        const asx__region *child = (const asx__region *)n;
        if (child->parent != region || child->state == ASX_REGION_CLOSED || child->generation == 0)
            return false;
        if (region->state != ASX_REGION_OPEN && child->state == ASX_REGION_OPEN && !child->scoped)
            return false;
        live++;
    }
    return live == region->live_regions;
}

static bool obligations_are_valid(const asx__region *region)
{
    uint64_t reserved = 0;
    const asx__obligation *newer = NULL;
    for (const asx__obligation *o = region->obligations; o != NULL; o = o->older) {
        if (o->owner != region || asx__obligation_object(o) != region || o->newer != newer)
            return false;
        reserved += o->state == ASX_OBLIGATION_RESERVED;
        newer = o;
    }
    return reserved == region->live_obligations;
}

static bool owner_is_valid(const asx__region *region)
{
    if (region->owner == NULL)
        return true;
    const asx__region *scope = region->owner->extra != NULL ? region->owner->extra->scopes : NULL;
    while (scope != NULL && scope != region)
        scope = scope->owner_next;
    return scope == region;
}

bool asx__region_is_valid(const asx__region *region)
{
    if (region->state == ASX_REGION_CLOSED)
        return region->task_first == 0 && asx__region_live_tasks(region) == 0 &&
               region->live_regions == 0;
    if (region->state == ASX_REGION_OPEN && region->tasks_max != 0 &&
        asx__region_live_tasks(region) + region->places > region->tasks_max)
        return false;
    return tasks_are_valid(region) && children_are_valid(region) &&
           obligations_are_valid(region) && owner_is_valid(region) &&
           (region->reason == NULL || region->state != ASX_REGION_OPEN || region->cancel_listed);
}

/* Everyone in a list is runnable, in the right lane and under the right priority. */
static bool queue_is_valid(const asx__queue *queue, bool cancel)
{
    for (unsigned p = 0; p < 256; p++) {
        bool bit = (queue->bits[p >> 6] >> (p & 63u) & 1u) != 0;
        const asx__node *head = &queue->queue[p];
        if (head->next != head && !bit)
            return false;
        for (const asx__node *n = head->next; n != head; n = n->next) {
            const asx__task *task = (const asx__task *)n;
            if (n->next->prev != n || task->priority != p ||
                !asx__is_queued(task) ||
                ((task->flags & ASX__T_CANCEL) != 0) != cancel)
                return false;
        }
    }
    return true;
}

static bool timed_is_valid(const asx_runtime *rt)
{
    for (uint32_t i = 0; i < rt->timed_len; i++) {
        const asx__timed_entry *entry = &rt->timed[i], *up = &rt->timed[i == 0 ? 0 : (i - 1) / 2];
        if (entry->deadline < up->deadline ||
            (entry->deadline == up->deadline && entry->seq < up->seq) ||
            entry->task->extra->timed_pos != i + 1 ||
            !asx__is_queued(entry->task) ||
            (entry->task->flags & (ASX__T_CANCEL | ASX__T_TIMED)) != ASX__T_TIMED)
            return false;
    }
    return rt->timed_len <= rt->timed_tasks && rt->timed_tasks <= rt->timed_cap;
}

bool asx__lanes_are_valid(const asx_runtime *rt)
{
    return queue_is_valid(&rt->ready, false) && queue_is_valid(&rt->cancel, true) &&
           timed_is_valid(rt);
}
