/* link.c - tasks that fall together: when one of two that are linked fails, the other is cancelled.
 *
 * A link is two nodes, one with each task, in the memory of that task's region. The end of a task
 * takes its own nodes along and cuts it out of the others: a node never points to a task that has
 * ended.
 */
#include "sched/engine.h"
#include "sched/task.h"

static asx_status link_shared(const asx_task *a, const asx_task *b)
{
    if (a->gate_ != b->gate_)
        return ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = a->gate_->behind;
    bool had_it = asx__engine_enter(rt);
    asx_task in_a = asx__task_inside(a), in_b = asx__task_inside(b);
    asx_status st = in_a.task_ != NULL && in_b.task_ != NULL ? asx_task_link(&in_a, &in_b)
                                                             : ASX_E_STALE_HANDLE;
    asx__engine_leave(rt, had_it);
    return st;
}

/* The explored runtime of this task, also when it was joined before; NULL: it has none. */
static asx_runtime *explored_of(const asx_task *handle)
{
    asx__task *task;
    asx_status st = asx__task_resolve(handle, &task);
    if (ASX__LIKELY(st == ASX_OK ? task->region->rt->seam == NULL
                                 : !asx__task_may_be_joined(handle, st)))
        return NULL;
    return handle->task_->region->rt;
}

/* Explored: one of them was joined. It could have been linked before that, and an exploration does
 * not tell the two apart; so what comes of it is what would have come of it then. */
static asx_status link_late(asx_runtime *rt, const asx_task *a, const asx_task *b, bool failed)
{
    asx__task *other;
    if (failed &&
        (asx__task_resolve(a, &other) == ASX_OK || asx__task_resolve(b, &other) == ASX_OK) &&
        other->phase != ASX_TASK_COMPLETED)
        asx__task_cancel(rt, other,
                         asx__reason_make(rt, other->region, ASX_CANCEL_LINKED_EXIT,
                                          other->region, NULL, NULL, NULL));
    return ASX_OK;
}

asx_status asx_task_link(const asx_task *a, const asx_task *b)
{
    asx__task *ta, *tb;
    uint64_t failed = ASX__GOES;
    if (asx__task_is_shared(a) && asx__task_is_shared(b))
        return link_shared(a, b);
    asx_runtime *explored = explored_of(a);
    /* In another order it might not be too late: it is a turn either way. */
    if (ASX__UNLIKELY(explored != NULL) && explored == explored_of(b) &&
        a->id.generation != b->id.generation)
        failed = asx__announce(explored, explored->current, ASX__OP_LINK,
                               asx__serial(a->id.generation),
                               .link.other = asx__serial(b->id.generation));
    asx_status st = asx__task_resolve(a, &ta);
    if (st == ASX_OK)
        st = asx__task_resolve(b, &tb);
    if (ASX__UNLIKELY(st < 0))
        return explored != NULL && explored == explored_of(b)
                   ? link_late(explored, a, b, failed != ASX__GOES)
                   : st;
    if (ta == tb || ta->region->rt != tb->region->rt)
        return ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = ta->region->rt;
    if (ta->phase == ASX_TASK_COMPLETED || tb->phase == ASX_TASK_COMPLETED) {
        asx__task *ended = ta->phase == ASX_TASK_COMPLETED ? ta : tb;
        asx__task *other = ended == ta ? tb : ta;
        if (ended->outcome == ASX_OUTCOME_ERR || ended->outcome == ASX_OUTCOME_PANICKED)
            asx__task_cancel(rt, other,
                             asx__reason_make(rt, other->region, ASX_CANCEL_LINKED_EXIT,
                                              ended->region, ended, NULL, NULL));
        return ASX_OK;
    }
    asx__extra *xa = asx__task_extra(rt, ta), *xb = asx__task_extra(rt, tb);
    asx__link *la = asx__region_memory(ta->region, sizeof *la);
    asx__link *lb = asx__region_memory(tb->region, sizeof *lb);
    if (xa == NULL || xb == NULL || la == NULL || lb == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    *la = (asx__link){ xa->links, lb, tb };
    *lb = (asx__link){ xb->links, la, ta };
    xa->links = la;
    xb->links = lb;
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_TASK_LINK, asx__serial(ta->generation),
                     asx__serial(tb->generation), 0, 0);
    return ASX_OK;
}

void asx__task_links_fire(asx_runtime *rt, asx__task *task, bool failed)
{
    asx__link *links = task->extra->links;
    task->extra->links = NULL;
    for (asx__link *l = links; l != NULL; l = l->next) {
        asx__task *other = l->task;
        if (other == NULL)
            continue;
        l->twin->task = NULL; /* the other one must not reach us when it ends */
        if (failed)
            asx__task_cancel(rt, other,
                             asx__reason_make(rt, other->region, ASX_CANCEL_LINKED_EXIT,
                                              task->region, task, NULL, NULL));
    }
}
