/* barrier.c - tasks that go on together.
 *
 *     waiting < parties
 *
 * The tasks that wait are those that have arrived, so a cancelled waiter leaves no trace. The one
 * that completes the number wakes the others and leads; it does not wait itself. A poll task that
 * was woken and does not come back for it has passed nevertheless.
 */
#include "sync/object.h"

#include <asx/sync.h>

#define HEAD(barrier_) ((asx__sync *)(void *)(barrier_))

typedef struct asx__barrier {
    asx__sync sync;
    uint32_t parties; /* I */
} asx__barrier;
_Static_assert(sizeof(asx__barrier) <= ASX__SYNC_RECORD_SIZE, "fits the slab");

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__sync *s = asx__sync_of(waitable);
    (void)rt;
    if (granted)
        (void)asx__sync_ungrant(s);
    else
        asx__sync_unlink(s, task);
}

static void end(asx__sync *s)
{
    asx__sync_wake_all(s, ASX_E_REGION_CLOSED);
}

static const asx__sync_type barrier_type = {
    .kind = ASX__SYNC_BARRIER,
    .created = ASX_EVENT_BARRIER_CREATE,
    .waits = { { ASX__WAIT_BARRIER_WAIT, NULL, unpublish } },
    .end = end,
};

asx_status asx_barrier_create(const asx_region *region, uint32_t parties,
                              const asx_barrier_options *options, asx_barrier *ret_barrier)
{
    ASX__EMPTY(ret_barrier);
    ASX__GATE_REGION(region, asx_barrier_create(&in, parties, options, ret_barrier));
    asx__sync *s = NULL;
    asx_status st = asx__sync_create(region, &barrier_type, ASX__NAME_OF(options), 0,
                                     ret_barrier != NULL && parties != 0, &s, NULL);
    if (st < 0)
        return st;
    ((asx__barrier *)(void *)s)->parties = parties;
    asx__sync_created(s, parties);
    ret_barrier->barrier_ = (asx__barrier *)(void *)s;
    ret_barrier->generation_ = s->generation;
    return ASX_OK;
}

static uint64_t journal(asx__barrier *b, const asx__task *task, uint32_t kind, uint64_t a)
{
    if (!b->sync.rt->tracing)
        return 0;
    return asx__sync_journal(&b->sync, task, kind, a, 0,
                             kind == ASX_EVENT_BARRIER_PASS ? b->sync.seq : 0);
}

static void let_all_pass(asx__barrier *b)
{
    while (b->sync.waiting != 0) {
        asx__task *task = asx__sync_first(&b->sync);
        asx__sync_unlink(&b->sync, task);
        journal(b, task, ASX_EVENT_BARRIER_PASS, 0);
        if (task->flags & ASX__T_POLL)
            asx__sync_grant(&b->sync, task);
        else
            asx__wake(b->sync.rt, task, ASX_OK, false);
    }
}

/* Explored: which tasks have arrived is known outside. */
static asx_status wait_explored(asx_runtime *rt, asx__task *task, asx__barrier *b, bool *ret_leader)
{
    uint64_t found = asx__sync_announce(&b->sync, ASX__OP_BARRIER_WAIT,
                                        .barrier.parties = b->parties);
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    bool leads = found < ASX__MUST_WAIT;
    b->sync.seq = journal(b, task, ASX_EVENT_BARRIER_ARRIVE, 1);
    if (!leads &&
        asx__sync_announce(&b->sync, ASX__OP_BARRIER_GO_ON) == ASX__IS_CANCELLED)
        return asx__tell(rt, task);
    journal(b, task, ASX_EVENT_BARRIER_PASS, leads);
    *ret_leader = leads;
    return ASX_OK;
}

static asx_status wait_at(asx_runtime *rt, asx__task *task, asx__barrier *b, bool *ret_leader)
{
    if (ASX__UNLIKELY(rt->seam != NULL) && !rt->in_cleanup)
        return wait_explored(rt, task, b, ret_leader);
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    if (asx__sync_granted(&b->sync, task, 0)) {
        *ret_leader = false;
        return ASX_OK;
    }
    if ((task->flags & ASX__T_POLL) || b->sync.waiting + 1 < b->parties) {
        /* A poll task that asks again stands among those that wait until this. */
        st = asx__wait_prepare(rt, task, asx__sync_waitable(&b->sync, 0));
        if (st < 0)
            return st;
    }
    b->sync.seq = journal(b, task, ASX_EVENT_BARRIER_ARRIVE, b->sync.waiting + 1);
    if (b->sync.waiting + 1 < b->parties) {
        st = asx__sync_wait_in(&b->sync, task, 0, NULL);
        if (st == ASX_OK)
            *ret_leader = false;
        return st;
    }
    let_all_pass(b);
    journal(b, task, ASX_EVENT_BARRIER_PASS, 1);
    *ret_leader = true;
    return ASX_OK;
}

asx_status asx_barrier_wait(asx_cx *cx, const asx_barrier *barrier, bool *ret_leader)
{
    ASX__EMPTY(ret_leader);
    ASX__GATE_SYNC(barrier, barrier_, cx, asx_barrier_wait(in_cx, barrier, ret_leader));
    asx__task *task;
    bool ignored;
    if (barrier == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sync_enter(HEAD(barrier->barrier_), barrier->generation_,
                                    ASX_E_REGION_CLOSED, cx, &task);
    if (st < 0)
        return st;
    return wait_at(cx->rt_, task, barrier->barrier_, ret_leader != NULL ? ret_leader : &ignored);
}
