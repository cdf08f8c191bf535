/* propagate.c - how a cancellation comes to everyone in a region, and in those below it.
 *
 * Propagation. A cancelled region is put on a stack; whoever finds the stack idle works it off,
 * telling tasks in order of creation and then child regions likewise, depth first, without
 * recursion: trees may be deep and a fiber's stack is small. Only when everyone has been told do
 * the regions go on closing.
 *
 * Pieces. With several workers nobody holds the engine for a walk over a hundred thousand tasks:
 * after PIECE of them the rest is pending, and others may enter. asx_region_cancel() and
 * asx_task_cancel() go on with it, leaving the engine between two pieces, until nothing is pending,
 * so that everyone has been told when they return, whoever began the walk. While nobody is in such
 * a call (a timer, a failure or a close began it), whoever looks for something to run does a piece
 * each time. Nobody escapes: the region whose tasks are being told is closing and admits no more,
 * and child regions are looked for when all of its tasks have been told. Between two pieces tasks
 * may end, so the walk remembers two neighbours with their generations: the last one told and the
 * next. If both are gone, it looks for the first that is younger than the last one told: they stand
 * in the order of their generations.
 *
 * Shields. A scope that its owner opened under a mask is not reached by a cancellation of the owner
 * or of the region around it while the mask holds: otherwise no masked cleanup could use a region.
 * It catches up with its owner when the mask ends, is used up or is lifted. With a region that its
 * owner has opened around it, and that alone was cancelled meanwhile, it does not: who wants that
 * opens it when the mask has ended.
 */
#include "sched/engine.h"

/* Tasks and regions: a microsecond or two. In debug builds few: every walk is interrupted. */
#if ASX_ASSERT_LEVEL > 0
#define PIECE 2u
#else
#define PIECE 64u
#endif

/* ---- scopes ---------------------------------------------------------------------------------- */

static bool shielded(const asx__region *region)
{
    return region->shielded && region->owner != NULL && asx__task_masked(region->owner);
}

/* Would a cancellation that comes from around the region change anything in it? */
static bool would_tell(const asx_runtime *rt, const asx__region *region)
{
    asx_cancel_reason parent = { .kind = ASX_CANCEL_PARENT, .timestamp = rt->now };
    return region->state != ASX_REGION_CLOSED && !shielded(region) &&
           (region->reason == NULL || asx_cancel_reason_stronger(&parent, region->reason));
}

static bool is_inside(const asx__region *region, const asx__region *outer)
{
    while (region != NULL && region != outer)
        region = region->parent;
    return region != NULL;
}

void asx__cancel_scopes(asx_runtime *rt, asx__task *task)
{
    asx__region *scope = task->extra != NULL ? task->extra->scopes : NULL;
    for (; scope != NULL; scope = scope->owner_next) {
        if (rt->cancel_walking && is_inside(scope, task->region))
            continue; /* the walk comes by */
        if (!shielded(scope))
            scope->outer_cancel = true;
        if (would_tell(rt, scope))
            asx__region_cancel(rt, scope,
                               asx__reason_make(rt, scope, ASX_CANCEL_PARENT, task->region, task,
                                                NULL, task->reason));
    }
}

void asx__scope_begins(asx_runtime *rt, asx__region *scope, asx__task *owner)
{
    const asx__region *parent = scope->parent;
    const asx_cancel_reason *why = NULL;
    if (scope->shielded)
        return;
    if (owner->flags & ASX__T_CANCEL)
        why = asx__reason_make(rt, scope, ASX_CANCEL_PARENT, owner->region, owner, NULL,
                               owner->reason);
    else if (scope->scoped && parent != owner->region && parent->reason != NULL)
        why = asx__reason_make(rt, scope, ASX_CANCEL_PARENT, parent, NULL, NULL, parent->reason);
    if (why == NULL)
        return;
    scope->outer_cancel = true;
    asx__region_cancel(rt, scope, why);
}

void asx__scopes_catch_up(asx_runtime *rt, asx__task *task)
{
    if ((task->flags & ASX__T_CANCEL) && !asx__task_masked(task))
        asx__cancel_scopes(rt, task);
}

/* ---- regions -------------------------------------------------------------------------------- */

static void push_cancelled(asx_runtime *rt, asx__region *region)
{
    if (!region->cancel_held) { /* it goes on closing only when everyone has been told */
        region->cancel_held = true;
        region->busy++;
        region->held_next = rt->cancel_held;
        rt->cancel_held = region;
    }
    if (!region->cancel_listed) {
        region->cancel_listed = true;
        region->cancel_next = rt->cancel_stack;
        rt->cancel_stack = region;
    }
}

static void begin_telling(asx_runtime *rt, asx__region *region)
{
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_REGION_CANCEL, asx__serial(region->generation),
                     (uint64_t)region->reason->kind, region->cancel_told, 0);
    region->cancel_told = true;
    if (region->state == ASX_REGION_OPEN)
        asx__region_begin_close(rt, region);
}

static asx__task *task_at(const asx_runtime *rt, uint32_t link)
{
    return asx__slab_at(&rt->tasks, link - 1);
}

static asx__told remember(const asx_runtime *rt, uint32_t link)
{
    return (asx__told){ link, link != 0 ? task_at(rt, link)->generation : 0 };
}

static bool is_still_there(const asx_runtime *rt, asx__told told)
{
    return told.link != 0 && task_at(rt, told.link)->generation == told.generation;
}

/* Where the walk goes on in the region in which the last piece ended. */
static uint32_t next_link(const asx_runtime *rt, const asx__region *region)
{
    if (is_still_there(rt, rt->cancel_told))
        return task_at(rt, rt->cancel_told.link)->sibling_next;
    if (is_still_there(rt, rt->cancel_next))
        return rt->cancel_next.link;
    uint32_t link = region->task_first;
    while (link != 0 && task_at(rt, link)->generation <= rt->cancel_told.generation)
        link = task_at(rt, link)->sibling_next;
    return link;
}

/* Tells tasks of the region from this one on, as many as *left says. False: there are more. */
static bool tell_tasks(asx_runtime *rt, asx__region *region, uint32_t link, uint64_t *left)
{
    uint32_t last = 0;
    for (; link != 0 && *left != 0; --*left) {
        asx__task *task = task_at(rt, link);
        last = link;
        link = task->sibling_next;
        if (!asx__region_runs_finalizers(region, task))
            asx__task_cancel(rt, task, region->reason);
    }
    if (link == 0)
        return true;
    rt->cancel_told = remember(rt, last);
    rt->cancel_next = remember(rt, link);
    return false;
}

/* Its child regions are put on the stack, the first on top. */
static void list_children(asx_runtime *rt, asx__region *region)
{
    for (asx__node *n = region->children.prev; n != &region->children; n = n->prev) {
        asx__region *child = (asx__region *)n;
        if (!shielded(child))
            child->outer_cancel = true;
        if (!would_tell(rt, child))
            continue;
        child->reason = asx__reason_make(rt, child, ASX_CANCEL_PARENT, region, NULL, NULL,
                                         region->reason);
        push_cancelled(rt, child);
    }
}

/* Everyone has been told: the regions may go on. */
static void release_held(asx_runtime *rt)
{
    asx__region *held = rt->cancel_held; /* the last one first: children before their parents */
    rt->cancel_held = NULL;
    while (held != NULL) {
        asx__region *next = held;
        held = next->held_next;
        if (next->cancel_listed || next == rt->cancel_at) {
            next->held_next = rt->cancel_held; /* the end of a child has cancelled it anew: */
            rt->cancel_held = next;            /* until everyone has been told of that, too */
            continue;
        }
        next->cancel_held = false;
        next->busy--;
        asx__region_progress(rt, next);
    }
}

/* The region whose tasks are told next, and in *ret_link the first of them. */
static asx__region *next_region(asx_runtime *rt, uint32_t *ret_link)
{
    asx__region *region = rt->cancel_at;
    if (region != NULL) {
        *ret_link = next_link(rt, region);
        return region;
    }
    region = rt->cancel_stack;
    rt->cancel_stack = region->cancel_next;
    region->cancel_listed = false;
    begin_telling(rt, region);
    rt->cancel_told = remember(rt, 0);
    *ret_link = region->task_first;
    return region;
}

/* Works the stack off until so many tasks and regions have been told. */
static void walk(asx_runtime *rt, uint64_t left)
{
    rt->cancel_walking = true;
    while (left != 0 && asx__cancel_pending(rt)) {
        uint32_t link;
        asx__region *region = next_region(rt, &link);
        bool all = tell_tasks(rt, region, link, &left);
        rt->cancel_at = all ? NULL : region;
        if (all)
            list_children(rt, region);
        left -= left != 0;
    }
    rt->cancel_walking = false;
    if (asx__cancel_pending(rt))
        rt->hot = 0; /* asx__pick() has to be asked */
    else
        release_held(rt);
}

void asx__cancel_go_on(asx_runtime *rt)
{
    asx__task *current = rt->current; /* it has nothing to do with it */
    if (!asx__cancel_pending(rt) || rt->cancel_walking)
        return;
    rt->current = NULL;
    walk(rt, PIECE);
    rt->current = current;
    asx__outside_entered(&rt->engine->loaded->outside, PIECE); /* they are small steps */
}

/* Inside: until nothing is pending. */
static void tell_the_rest(asx_runtime *rt, bool had_it)
{
    rt->cancel_callers++;
    while (asx__cancel_pending(rt) && !rt->cancel_walking) {
        if (!had_it)
            asx__engine_let_in(rt);
        asx__cancel_go_on(rt);
    }
    rt->cancel_callers--;
}

void asx__region_cancel(asx_runtime *rt, asx__region *region, const asx_cancel_reason *reason)
{
    if (region->state == ASX_REGION_CLOSED ||
        (region->reason != NULL && !asx_cancel_reason_stronger(reason, region->reason)))
        return;
    region->reason = reason;
    push_cancelled(rt, region);
    if (!rt->cancel_walking)
        walk(rt, rt->engine == NULL ? UINT64_MAX : PIECE);
}

/* ---- asking for it -------------------------------------------------------------------------- */

static bool reason_ok(const asx_cancel_reason *reason)
{
    return reason == NULL || (unsigned)reason->kind < ASX_CANCEL_KIND_COUNT;
}

bool asx__task_may_be_joined(const asx_task *handle, asx_status st)
{
    return st == ASX_E_STALE_HANDLE && handle->task_->region != NULL &&
           handle->task_->region->rt->seam != NULL;
}

static asx_status task_cancel_shared(const asx_task *handle, const asx_cancel_reason *reason)
{
    asx_runtime *rt = handle->gate_->behind;
    bool had_it = asx__engine_enter(rt);
    asx_task in = asx__task_inside(handle);
    asx_status st = in.task_ != NULL ? asx_task_cancel(&in, reason) : ASX_E_STALE_HANDLE;
    tell_the_rest(rt, had_it);
    asx__engine_leave(rt, had_it);
    return st;
}

asx_status asx_task_cancel(const asx_task *handle, const asx_cancel_reason *reason)
{
    asx__task *task;
    if (!reason_ok(reason))
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__task_resolve(handle, &task);
    if (ASX__UNLIKELY(st == ASX_OK ? task->region->rt->seam != NULL
                                   : asx__task_may_be_joined(handle, st))) {
        /* In another order it would not be too late: it is a turn either way. Who has joined it
         * before or after makes no difference: it has completed. */
        asx_runtime *explored = handle->task_->region->rt;
        (void)asx__announce(explored, explored->current, ASX__OP_CANCEL_TASK,
                            asx__serial(handle->id.generation));
        st = asx__task_resolve(handle, &task);
        if (st < 0)
            return st == ASX_E_STALE_HANDLE ? ASX_OK : st;
    }
    if (st < 0)
        return asx__task_is_shared(handle) ? task_cancel_shared(handle, reason) : st;
    asx_runtime *rt = task->region->rt;
    if (!asx__caller_may(rt, ASX_CAP_CANCEL))
        return ASX_E_CAPABILITY;
    if (task->phase == ASX_TASK_COMPLETED)
        return ASX_OK;
    const asx_cancel_reason *copy = asx__reason_copy(rt, task->region, reason);
    if (copy == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    asx__task_cancel(rt, task, copy);
    return ASX_OK;
}

static asx_status region_cancel_shared(const asx_region *handle, const asx_cancel_reason *reason)
{
    asx_region in = { handle->rt_->behind, handle->id };
    bool had_it = asx__engine_enter(in.rt_);
    asx_status st = asx_region_cancel(&in, reason);
    tell_the_rest(in.rt_, had_it);
    asx__engine_leave(in.rt_, had_it);
    return st;
}

asx_status asx_region_cancel(const asx_region *handle, const asx_cancel_reason *reason)
{
    asx__region *region;
    if (!reason_ok(reason))
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__region_resolve(handle, ASX_STATE_MASK_ALL, &region);
    if (ASX__UNLIKELY((st == ASX_OK || st == ASX_E_STALE_HANDLE) && handle->rt_ != NULL &&
                      handle->rt_->seam != NULL)) { /* it comes before the close, or is too late */
        (void)asx__announce(handle->rt_, handle->rt_->current, ASX__OP_CANCEL_REGION,
                            asx__serial(handle->id.generation));
        st = asx__region_resolve(handle, ASX_STATE_MASK_ALL, &region);
    }
    if (st < 0 && handle != NULL && asx__is_gate(handle->rt_))
        return region_cancel_shared(handle, reason);
    if (st < 0)
        return st;
    asx_runtime *rt = region->rt;
    if (!asx__caller_may(rt, ASX_CAP_CANCEL))
        return ASX_E_CAPABILITY;
    if (region->state == ASX_REGION_CLOSED)
        return ASX_OK;
    const asx_cancel_reason *copy = asx__reason_copy(rt, region, reason);
    if (copy == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    region->outer_cancel = true;
    asx__region_cancel(rt, region, copy);
    return ASX_OK;
}
