/* failed.c - a region that has failed, and the task that opened it.
 *
 * A region has failed when its set-up has (asx__region_sticky()), or when a child of it ended Err
 * or Panicked and the policy is to fail fast. From then on its close will return a failure, and
 * those that the owner may be waiting for are cancelled or were never started. So the owner's
 * cancellation points return the failure until the owner has closed the region:
 *
 *     flags & T_FAILED  <=>  a region that the task has opened, and whose result it has not
 *                            fetched, has failed
 *
 * Three ways on are open, for cleanup: under a mask every wait goes on; the close is no
 * cancellation point; and a join with a task inside the failed region goes on, because that task
 * ends soon. It is cancelled, by the failure of its sibling or, if the set-up has failed, by the
 * first join. A status from the join instead would leave its caller with a task that still borrows
 * from the caller's stack.
 *
 * Rejected: to cancel the owner. It may have opened other regions that are well, and a task that
 * was cancelled stays so.
 */
#include "sched/failed.h"

#include "sched/engine.h"

static asx_status failure_of(const asx__region *region)
{
    if (region->state == ASX_REGION_CLOSED)
        return ASX_OK; /* a poll task has its result to fetch */
    if (region->setup < 0)
        return region->setup;
    if (!region->child_failed)
        return ASX_OK;
    return region->panicked ? ASX_E_PANICKED : region->failure.status;
}

/* The innermost failed one of the regions that the task has opened, or of those that `inside` does
 * not lie in; one whose set-up has failed comes before all others. NULL: there is none. */
static asx__region *failed_scope(const asx__task *task, const asx__region *inside)
{
    asx__region *found = NULL;
    for (asx__region *scope = task->extra->scopes; scope != NULL; scope = scope->owner_next) {
        bool counts = inside == NULL || !asx__region_is_inside(inside, scope);
        if (counts && failure_of(scope) < 0 && (found == NULL || scope->setup < 0))
            found = scope;
        if (found != NULL && found->setup < 0)
            break;
    }
    return found;
}

asx_status asx__scopes_tell(const asx__task *task)
{
    if (ASX__LIKELY((task->flags & ASX__T_FAILED) == 0) || asx__task_masked(task))
        return ASX_OK;
    const asx__region *scope = failed_scope(task, NULL);
    return scope != NULL ? failure_of(scope) : ASX_OK;
}

void asx__scopes_look_again(asx__task *task)
{
    if ((task->flags & ASX__T_FAILED) != 0 && failed_scope(task, NULL) == NULL)
        task->flags &= ~(uint32_t)ASX__T_FAILED;
}

/* The task joins another one in the region: it goes on waiting. */
static bool joins_in(const asx_runtime *rt, const asx__task *task, const asx__region *region)
{
    const asx__task *target = asx__join_target(rt, task);
    return target != NULL && asx__region_is_inside(target->region, region);
}

void asx__region_failed(asx_runtime *rt, asx__region *region)
{
    asx__task *owner = region->owner;
    if (owner == NULL)
        return;
    owner->flags |= ASX__T_FAILED;
    if (owner == rt->current)
        return;
    if (asx__exec_state(owner) != ASX__EXEC_PARKED)
        asx__engine_call_in(rt, owner);
    else if ((owner->flags & ASX__T_CANCEL) == 0 && !asx__task_masked(owner) &&
             !joins_in(rt, owner, region))
        asx__end_wait(rt, owner, failure_of(region));
}

void asx__join_prepare(asx_runtime *rt, asx__task *task, const asx__task *child)
{
    if (ASX__LIKELY((task->flags & ASX__T_FAILED) == 0) || asx__task_masked(task))
        return;
    for (asx__region *scope = task->extra->scopes; scope != NULL; scope = scope->owner_next) {
        bool around = asx__region_is_inside(child->region, scope);
        if (!around || scope->setup >= 0 || scope->self_cancel ||
            scope->state >= ASX_REGION_FINALIZING)
            continue;
        scope->self_cancel = true;
        (void)asx__announce(rt, task, ASX__OP_CANCEL_REGION, asx__serial(scope->generation));
        asx__region_cancel(rt, scope,
                           asx__reason_make(rt, scope, ASX_CANCEL_FAIL_FAST, scope, task, NULL,
                                            NULL));
    }
}

asx_status asx__join_checkpoint(asx_runtime *rt, asx__task *task, const asx__task *child)
{
    if (ASX__LIKELY((task->flags & ASX__T_FAILED) == 0) || (task->flags & ASX__T_CANCEL) != 0 ||
        failed_scope(task, child->region) != NULL)
        return asx__checkpoint(rt, task);
    return ASX_OK; /* what has failed is around the child too, which will end */
}
