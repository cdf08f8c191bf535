/* notify.c - "something has happened", told to one or to all.
 *
 *     stored => no task waits
 *
 * A notification for one that finds no waiter is stored, once. One that was granted to a poll task
 * which does not come back for it is given again: to the next waiter, or stored. One for all
 * is for the tasks that wait at that moment; what a poll task does not pick up of it is lost.
 * The two sorts of grant are told apart by the wait that the task is left in.
 */
#include "sync/object.h"

#include <asx/sync.h>

#define HEAD(notify_) ((asx__sync *)(void *)(notify_))

enum { FOR_ONE, FOR_ALL };

typedef struct asx__notify {
    asx__sync sync;
    bool stored;
} asx__notify;
_Static_assert(sizeof(asx__notify) <= ASX__SYNC_RECORD_SIZE, "fits the slab");

static void journal_take(asx__notify *n, const asx__task *task)
{
    if (n->sync.rt->tracing)
        asx__sync_journal(&n->sync, task, ASX_EVENT_NOTIFY_TAKE, 0, 0, n->sync.seq);
}

static void wake_first(asx__notify *n, unsigned sort)
{
    asx__task *task = asx__sync_first(&n->sync);
    asx__sync_unlink(&n->sync, task);
    if (task->flags & ASX__T_POLL) {
        task->w.waits = asx__sync_waitable(&n->sync, sort);
        asx__sync_grant(&n->sync, task);
    } else {
        journal_take(n, task);
        asx__wake(n->sync.rt, task, ASX_OK, false);
    }
}

/* Explored: no task stands in here, but one may wait for this. */
static bool has_waiters(asx__notify *n)
{
    if (ASX__UNLIKELY(n->sync.rt->seam != NULL))
        return asx__sync_announce(&n->sync, ASX__OP_NOTIFY_ONE) != ASX__FINDS_NOTHING;
    return n->sync.waiting != 0;
}

static void notify_one(asx__notify *n)
{
    bool waits = has_waiters(n);
    if (n->sync.rt->tracing)
        n->sync.seq = asx__sync_journal(&n->sync, n->sync.rt->current, ASX_EVENT_NOTIFY_SIGNAL,
                                        waits, !waits, 0);
    if (!waits)
        n->stored = true;
    else if (n->sync.waiting != 0)
        wake_first(n, FOR_ONE);
}

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__notify *n = (asx__notify *)(void *)asx__sync_of(waitable);
    bool for_one = waitable == asx__sync_waitable(&n->sync, FOR_ONE);
    (void)rt;
    if (!granted)
        asx__sync_unlink(&n->sync, task);
    else if (asx__sync_ungrant(&n->sync) && for_one)
        notify_one(n);
}

static void end(asx__sync *s)
{
    asx__sync_wake_all(s, ASX_E_REGION_CLOSED);
}

static const asx__sync_type notify_type = {
    .kind = ASX__SYNC_NOTIFY,
    .created = ASX_EVENT_NOTIFY_CREATE,
    .waits = { { ASX__WAIT_NOTIFY_WAIT, NULL, unpublish },
               { ASX__WAIT_NOTIFY_WAIT, NULL, unpublish } },
    .end = end,
};

asx_status asx_notify_create(const asx_region *region, const asx_notify_options *options,
                             asx_notify *ret_notify)
{
    ASX__EMPTY(ret_notify);
    ASX__GATE_REGION(region, asx_notify_create(&in, options, ret_notify));
    asx__sync *s = NULL;
    asx_status st = asx__sync_create(region, &notify_type, ASX__NAME_OF(options), 0,
                                     ret_notify != NULL, &s, NULL);
    if (st < 0)
        return st;
    asx__sync_created(s, 0);
    ret_notify->notify_ = (asx__notify *)(void *)s;
    ret_notify->generation_ = s->generation;
    return ASX_OK;
}

static asx_status wait_explored(asx_runtime *rt, asx__task *task, asx__notify *n)
{
    uint64_t found = asx__sync_announce(&n->sync, ASX__OP_NOTIFY_WAIT);
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    if (found < ASX__MUST_WAIT)
        n->stored = false;
    else if (asx__sync_announce(&n->sync, ASX__OP_NOTIFY_GO_ON) == ASX__IS_CANCELLED)
        return asx__tell(rt, task);
    journal_take(n, task);
    return ASX_OK;
}

static asx_status wait_for(asx_runtime *rt, asx__task *task, asx__notify *n)
{
    if (ASX__UNLIKELY(rt->seam != NULL) && !rt->in_cleanup)
        return wait_explored(rt, task, n);
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    if (asx__sync_granted(&n->sync, task, FOR_ONE) || asx__sync_granted(&n->sync, task, FOR_ALL)) {
        journal_take(n, task);
        return ASX_OK;
    }
    if (!n->stored) {
        st = asx__wait_prepare(rt, task, asx__sync_waitable(&n->sync, FOR_ONE));
        if (st < 0)
            return st;
        return asx__sync_wait_in(&n->sync, task, FOR_ONE, NULL);
    }
    n->stored = false;
    journal_take(n, task);
    return ASX_OK;
}

asx_status asx_notify_wait(asx_cx *cx, const asx_notify *notify)
{
    ASX__GATE_SYNC(notify, notify_, cx, asx_notify_wait(in_cx, notify));
    asx__task *task;
    if (notify == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sync_enter(HEAD(notify->notify_), notify->generation_,
                                    ASX_E_REGION_CLOSED, cx, &task);
    return st < 0 ? st : wait_for(cx->rt_, task, notify->notify_);
}

asx_status asx_notify_one(const asx_notify *notify)
{
    ASX__GATE_SYNC(notify, notify_, NULL, asx_notify_one(notify));
    if (notify == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sync_resolve(HEAD(notify->notify_), notify->generation_,
                                      ASX_E_REGION_CLOSED);
    if (st < 0)
        return st;
    notify_one(notify->notify_);
    return ASX_OK;
}

static void notify_all(asx__notify *n)
{
    (void)asx__sync_announce(&n->sync, ASX__OP_NOTIFY_ALL);
    if (n->sync.rt->tracing)
        n->sync.seq = asx__sync_journal(&n->sync, n->sync.rt->current, ASX_EVENT_NOTIFY_SIGNAL,
                                        n->sync.waiting, 0, 0);
    while (n->sync.waiting != 0)
        wake_first(n, FOR_ALL);
}

asx_status asx_notify_all(const asx_notify *notify)
{
    ASX__GATE_SYNC(notify, notify_, NULL, asx_notify_all(notify));
    if (notify == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sync_resolve(HEAD(notify->notify_), notify->generation_,
                                      ASX_E_REGION_CLOSED);
    if (st < 0)
        return st;
    notify_all(notify->notify_);
    return ASX_OK;
}
