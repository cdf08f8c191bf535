/* region_seam.c - what regions ask an explorer (seam.h): before one is opened, before it begins to
 * close, and before it is closed. Others may cancel it, time may run out, and tasks may be started
 * in it until then, which they and its owner can tell from what the calls say.
 */
#include "sched/region_seam.h"

/* Explored: what a cancelled task opens is cancelled at once, and who cancels the region around it
 * later reaches it. The place that it takes there is taken in the same operation: a cancel between
 * the two would come to a region that is not there. */
void asx__scope_explored(asx_runtime *rt, asx__task *task, const asx__region *parent)
{
    if (ASX__LIKELY(rt->seam == NULL))
        return;
    bool masked = asx__task_masked(task);
    if (masked && parent->regions_max == 0)
        return; /* nobody can tell when */
    unsigned how = ASX__OPEN_SCOPED | (parent != task->region ? ASX__OPEN_OWN : 0u) |
                   (masked ? ASX__OPEN_MASKED : 0u);
    (void)asx__announce(rt, task, ASX__OP_OPEN_REGION, asx__serial(parent->generation),
                        .start = { parent->regions_max, how });
}

void asx__open_explored(const asx_region *region)
{
    if (ASX__LIKELY(region == NULL || region->rt_ == NULL || region->rt_->seam == NULL))
        return;
    const asx_runtime *rt = region->rt_;
    asx__region *r;
    bool known = asx__region_resolve(region, ASX_STATE_MASK_ALL, &r) == ASX_OK;
    bool masked = rt->current != NULL && asx__task_masked(rt->current);
    (void)asx__announce(rt, rt->current, ASX__OP_OPEN_REGION, asx__serial(region->id.generation),
                        .start = { known ? r->regions_max : 0, masked ? ASX__OPEN_MASKED : 0u });
}

void asx__reserve_explored(const asx_region *region)
{
    if (ASX__LIKELY(region == NULL || region->rt_ == NULL || region->rt_->seam == NULL))
        return;
    const asx_runtime *rt = region->rt_;
    asx__region *r;
    bool known = asx__region_resolve(region, ASX_STATE_MASK_ALL, &r) == ASX_OK;
    (void)asx__announce(rt, rt->current, ASX__OP_SET_UP, asx__serial(region->id.generation),
                        .start.room = known ? r->obligations_max : 0);
}

/* Explored: a cancel or a time-out may come before the region is closed, which its result tells.
 * So it is closed by an operation, once everything in it has ended. */
void asx__region_close_explored(asx_runtime *rt, asx__region *region)
{
    bool timed = region->timeout_at != ASX_TIME_NEVER || region->deadline_at != ASX_TIME_NEVER;
    bool place = region->parent != NULL && region->parent->regions_max != 0;
    unsigned how = (timed ? ASX__CLOSE_TIMED : 0u) | (place ? ASX__CLOSE_GIVES_PLACE : 0u) |
                   (region->finalizers != NULL ? ASX__CLOSE_FINALIZES : 0u);
    (void)asx__announce(rt, rt->current, ASX__OP_CLOSE_REGION, asx__serial(region->generation),
                        .end.how = how);
    region->explored = false;
    region->busy--;
    asx__region_progress(rt, region);
}

void asx__stop_explored(const asx_region *region)
{
    if (ASX__LIKELY(region == NULL || region->rt_ == NULL || region->rt_->seam == NULL))
        return;
    const asx_runtime *rt = region->rt_;
    (void)asx__announce(rt, rt->current, ASX__OP_STOP_REGION, asx__serial(region->id.generation),
                        .stop.asks = true);
}

/* Explored: nothing is started from here on. Who has to be cancelled is. */
void asx__region_stop_explored(asx_runtime *rt, asx__region *region, bool cancels)
{
    uint64_t serial = asx__serial(region->generation);
    (void)asx__announce(rt, rt->current, ASX__OP_STOP_REGION, serial);
    if (region->state == ASX_REGION_OPEN)
        asx__region_begin_close(rt, region);
    if (cancels || region->setup < 0)
        (void)asx__announce(rt, rt->current, ASX__OP_CANCEL_REGION, serial);
}
