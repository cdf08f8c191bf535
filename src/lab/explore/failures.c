/* failures.c - regions that fail, and the waits of the tasks that opened them (sched/failed.h).
 *
 * Part FAILED of a task's cancel flag has a bit for each region that the task has opened. The end
 * of a child that cancels its siblings sets it, and so does a set-up by another task that fails. A
 * cancellation point of the owner looks at the bits of those that it has open. Only what has met
 * such an end looks: when there is the first, the exploration begins again, prepared for it.
 *
 * What the owner itself fails in is no operation: nothing that others do comes between that and its
 * next wait, which is refused at once.
 */
#include "lab/explore/explore.h"

static uint32_t bit_of(const asx__lab_region *r)
{
    return 1u << (r->nth & 31);
}

void asx__failures_tell(asx__explorer *x, const asx__lab_task *self, uint64_t region, asx__op *op)
{
    const asx__lab_region *r = asx__explorer_region(x, region);
    const asx__lab_task *owner = r != NULL ? asx__explorer_task(x, r->owner) : NULL;
    if (owner == NULL || owner == self || owner->id == ASX__DPOR_NONE)
        return;
    if (!x->failures)
        asx__explorer_prepare(x, &x->failures);
    op->cx = asx__cancel_flag(owner->id);
    op->fails = bit_of(r);
}

static bool is_in(const asx__explorer *x, uint64_t region, uint64_t outer)
{
    while (region != 0 && region != outer) {
        const asx__lab_region *r = asx__explorer_region(x, region);
        region = r != NULL ? r->parent : 0;
    }
    return region != 0;
}

/* Is it open, and does what the task joins, if it does, live elsewhere? */
static bool ends_waits(const asx__explorer *x, const asx__region *scope, uint64_t joined)
{
    return scope->state != ASX_REGION_CLOSED && !is_in(x, joined, asx__serial(scope->generation));
}

uint32_t asx__failures_seen(const asx__explorer *x, const asx__task *task, uint64_t joined)
{
    uint32_t seen = 0;
    const asx__region *scope = task->extra != NULL ? task->extra->scopes : NULL;
    for (; scope != NULL; scope = scope->owner_next) {
        const asx__lab_region *r = asx__explorer_region(x, asx__serial(scope->generation));
        if (r != NULL && ends_waits(x, scope, joined))
            seen |= bit_of(r);
    }
    return seen;
}

uint64_t asx__failures_joined(const asx__explorer *x, uint64_t serial)
{
    const asx__lab_task *task = asx__explorer_task(x, serial);
    return task != NULL ? task->region : 0;
}

bool asx__failures_refuse(const asx__explorer *x, const asx__task *task, uint64_t joined)
{
    if (ASX__LIKELY((task->flags & ASX__T_FAILED) == 0) || asx__task_masked(task))
        return false;
    const asx__region *scope = task->extra->scopes;
    while (scope != NULL && !(scope->own_failure && ends_waits(x, scope, joined)))
        scope = scope->owner_next;
    return scope != NULL;
}
