/* order.c - what orders tasks without an operation: closes of regions, and joins. */
#include "lab/explore/explore.h"

static bool region_is_in(const asx__explorer *x, uint64_t serial, uint64_t outer)
{
    while (serial != outer) {
        const asx__lab_region *region = asx__explorer_region(x, serial);
        if (region == NULL)
            return false;
        serial = region->parent;
    }
    return true;
}

/* The first of this region and those before it in the list that has something in it which is not
 * in the past of the task, or of one that is in `outer`; as a number + 1, 0: none. */
static uint32_t next_to_visit(const asx__explorer *x, uint32_t region, uint32_t task,
                              uint64_t outer)
{
    for (; region != 0; region = x->regions[region - 1].sibling) {
        const asx__lab_task *heir = asx__explorer_task(x, x->regions[region - 1].heir);
        if (heir == NULL || (heir->id != task && !region_is_in(x, heir->region, outer)))
            return region;
    }
    return 0;
}

void asx__explorer_comes_after(asx__explorer *x, uint32_t task, uint64_t outer)
{
    const asx__lab_region *top = asx__explorer_region(x, outer), *at = top;
    while (at != NULL) {
        for (uint32_t i = at->tasks; i != 0; i = x->tasks[i - 1].sibling)
            if (x->tasks[i - 1].id != ASX__DPOR_NONE)
                asx__dpor_joined(x->dpor, task, x->tasks[i - 1].id);
        uint32_t next = next_to_visit(x, at->children, task, outer);
        for (; next == 0 && at != top; at = asx__explorer_region(x, at->parent))
            next = next_to_visit(x, at->sibling, task, outer);
        at = next != 0 ? &x->regions[next - 1] : NULL;
    }
}

/* Does somebody stand before an operation on an object of the region? */
static bool is_used(const asx__explorer *x, uint64_t region)
{
    for (size_t i = 0; i < x->tasks_len; i++)
        if (ASX__UNLIKELY(x->tasks[i].uses == region) &&
            asx__dpor_pending(x->dpor, x->tasks[i].id) != NULL)
            return true;
    return false;
}

/* The owner comes after everything in it, if it is closing it. If it has ended and left it open,
 * whoever closes an outer one does. An operation goes on with the object that it had found. */
void asx__explorer_closed(asx__explorer *x, const asx_event *event)
{
    asx__lab_region *region = asx__explorer_region(x, event->object);
    if (region == NULL || region->owner == x->driver)
        return;
    region->closed = true;
    if (ASX__UNLIKELY(is_used(x, event->object))) {
        asx__explorer_fail(x, "a region is closed while a task that it does not wait for is about "
                              "to use an object of it", NULL);
        x->over = true;
    }
    const asx__lab_task *owner = asx__explorer_task(x, region->owner);
    if (owner != NULL && owner->id != ASX__DPOR_NONE &&
        (event->task == region->owner || owner->waits == ASX__WAIT_REGION_CLOSE)) {
        asx__explorer_comes_after(x, owner->id, event->object);
        region->heir = region->owner;
    }
}

void asx__explorer_joined(asx__explorer *x, const asx_event *event)
{
    const asx__lab_task *joiner = asx__explorer_task(x, event->task);
    const asx__lab_task *ended = asx__explorer_task(x, event->object);
    if (ASX__UNLIKELY(x->errors_len != 0))
        asx__explorer_had(x, event->object);
    if (joiner == NULL || ended == NULL)
        asx__explorer_refuse(x, event->kind);
    else if (joiner->id != ASX__DPOR_NONE && ended->id != ASX__DPOR_NONE)
        asx__dpor_joined(x->dpor, joiner->id, ended->id);
}
