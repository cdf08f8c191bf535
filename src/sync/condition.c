/* condition.c - waiting for something that a mutex protects.
 *
 * A task that waits has parted from its mutex and keeps the guard's obligation, so getting the
 * mutex back needs nothing that could fail. A signal takes the mutex for the first waiter if it is
 * free, and makes it a waiter of the mutex if not; from then on it cannot be cancelled:
 *
 *     guard:  HELD --wait--> WAITING --signal--> RETAKING --mutex free--> COMING_BACK --> HELD
 *                               |                    ^
 *                               +--cancel, the condition is gone: it goes there itself
 *
 * So a cancel that comes before the signal leaves the signal to the next waiter, and one that comes
 * after it does not lose it. A waiter that is completed by force before it has come back, or a poll
 * task that does not renew its wait, passes the signal that it had got on to the next. PARTED is a
 * poll task that has not repeated its call yet.
 *
 * Rejected: waking a waiter and letting it lock (it would wake for nothing when the mutex is held,
 * and a cancel between the two would swallow the signal); binding a condition to one mutex (the
 * guard says which one it is).
 */
#include "sync/mutex.h"

#include <string.h>

#define HEAD(object_) ((asx__sync *)(void *)(object_))

typedef struct asx__condition {
    asx__sync sync;
} asx__condition;

/* Why a poll task takes its mutex back; guard->detail. */
enum { SIGNALLED, CANCELLED, CONDITION_GONE };

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__sync *s = asx__sync_of(waitable);
    (void)rt;
    ASX__ASSERT(!granted); /* grants are the mutex's */
    asx__retaking_guard(task)->note = ASX__GUARD_PARTED;
    asx__sync_unlink(s, task);
}

static void end(asx__sync *s)
{
    while (s->waiting != 0) {
        asx__task *task = asx__sync_first(s);
        unpublish(s->rt, task, asx__sync_waitable(s, 0), false);
        asx__wake(s->rt, task, ASX_E_REGION_CLOSED, false);
    }
}

static const asx__sync_type condition_type = {
    .kind = ASX__SYNC_CONDITION,
    .created = ASX_EVENT_CONDITION_CREATE,
    .waits = { { ASX__WAIT_CONDITION_WAIT, NULL, unpublish } },
    .end = end,
};

asx_status asx_condition_create(const asx_region *region, const asx_condition_options *options,
                                asx_condition *ret_condition)
{
    ASX__EMPTY(ret_condition);
    ASX__GATE_REGION(region, asx_condition_create(&in, options, ret_condition));
    asx__sync *s = NULL;
    asx_status st = asx__sync_create(region, &condition_type, ASX__NAME_OF(options), 0,
                                     ret_condition != NULL, &s, NULL);
    if (st < 0)
        return st;
    asx__sync_created(s, 0);
    ret_condition->condition_ = (asx__condition *)(void *)s;
    ret_condition->generation_ = s->generation;
    return ASX_OK;
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* The running task has its mutex back. */
static asx_status come_back(asx__mutex *m, asx__obligation *o, asx_status st)
{
    o->note = ASX__GUARD_HELD;
    return st == ASX_OK && m->poisoned ? ASX_E_POISONED : st;
}

/* The guard has parted, or parts now: into the condition. */
static asx_status wait_in(asx__condition *c, asx__task *task, asx__mutex *m, asx__obligation *o)
{
    asx_runtime *rt = c->sync.rt;
    if (rt->tracing)
        asx__sync_journal(&c->sync, task, ASX_EVENT_CONDITION_WAIT,
                          m->sync.waits[0].waitable.serial, c->sync.waiting + 1, 0);
    if (o->note == ASX__GUARD_HELD)
        asx__mutex_part(m, o);
    o->note = ASX__GUARD_WAITING;
    o->detail = SIGNALLED;
    if (task->flags & ASX__T_POLL)
        task->extra->wait_note = (uintptr_t)o;
    asx__retake_io io = { o, NULL, 0 };
    if (task->flags & ASX__T_POLL)
        asx__retake_signalled(task, NULL);
    return asx__sync_wait_in(&c->sync, task, 0, &io);
}

/* A fiber whose wait ended otherwise than by a signal takes its mutex back. */
static asx_status retake(asx_runtime *rt, asx__task *task, asx__mutex *m, asx__obligation *o,
                         asx_status why)
{
    uint64_t id = asx__obligation_id(o);
    if (m->holder == NULL) {
        asx__mutex_retake(m, o, ASX__GUARD_HELD);
        return why;
    }
    o->note = ASX__GUARD_RETAKING;
    asx__retake_io io = { o, NULL, 0 };
    asx__sync_link(&m->sync, task);
    asx_status st = asx__park(rt, task, asx__sync_waitable(&m->sync, ASX__MUTEX_RETAKE), &io);
    if (st == ASX_OK)
        st = asx__guard_find(&m->sync, id, o, ASX_E_REGION_CLOSED);
    return st < 0 ? st : come_back(m, o, why);
}

static asx_status wait_fiber(asx_runtime *rt, asx__task *task, asx__condition *c, asx__mutex *m,
                             asx__obligation *o)
{
    uint64_t id = asx__obligation_id(o);
    asx_status st = asx__wait_prepare(rt, task, asx__sync_waitable(&c->sync, 0));
    if (st < 0)
        return st;
    st = wait_in(c, task, m, o);
    asx_status alive = asx__guard_find(&m->sync, id, o, ASX_E_REGION_CLOSED);
    if (alive < 0)
        return alive; /* the mutex went away, or a task unlocked through a copy */
    return st == ASX_OK ? come_back(m, o, st) : retake(rt, task, m, o, st);
}

/* A poll task asks again, or is told, while its guard has parted. `c` is NULL: it is gone. */
static asx_status wait_poll_again(asx_runtime *rt, asx__task *task, asx__condition *c,
                                  asx__mutex *m, asx__obligation *o)
{
    static const asx_status why[] = { ASX_OK, ASX_E_CANCELLED, ASX_E_REGION_CLOSED };
    asx__waitable *retaking = asx__sync_waitable(&m->sync, ASX__MUTEX_RETAKE);
    if (asx__sync_granted(&m->sync, task, ASX__MUTEX_RETAKE))
        return come_back(m, o, why[o->detail]);
    bool retakes = o->note == ASX__GUARD_RETAKING || o->detail != SIGNALLED;
    if (!retakes && asx__checkpoint(rt, task) < 0) {
        retakes = true;
        o->detail = CANCELLED;
    } else if (!retakes && c == NULL) {
        retakes = true;
        o->detail = CONDITION_GONE;
    }
    uint64_t notes[2] = { task->extra->wait_notes[0], task->extra->wait_notes[1] };
    asx__retake_signalled(task, NULL); /* the wait is renewed: its signal is not to be passed on */
    asx_status st = asx__wait_prepare(rt, task,
                                      retakes ? retaking : asx__sync_waitable(&c->sync, 0));
    if (st < 0) {
        memcpy(task->extra->wait_notes, notes, sizeof notes);
        return st;
    }
    if (!retakes)
        return wait_in(c, task, m, o);
    if (m->holder == NULL) {
        asx__mutex_retake(m, o, ASX__GUARD_HELD);
        return come_back(m, o, why[o->detail]);
    }
    o->note = ASX__GUARD_RETAKING;
    task->extra->wait_note = (uintptr_t)o;
    memcpy(task->extra->wait_notes, notes, sizeof notes);
    return asx__sync_wait_in(&m->sync, task, ASX__MUTEX_RETAKE, NULL);
}

/* Explored: which task is signalled, and when the mutex is free, is known outside. */
static asx_status wait_explored(asx_runtime *rt, asx__task *task, asx__condition *c, asx__mutex *m,
                               asx__obligation *o)
{
    uint64_t id = asx__obligation_id(o), serial = m->sync.waits[0].waitable.serial;
    (void)asx__sync_announce(&c->sync, ASX__OP_CONDITION_WAIT, .condition.mutex = serial);
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    asx__sync_journal(&c->sync, task, ASX_EVENT_CONDITION_WAIT, serial, 1, 0);
    asx__mutex_part(m, o);
    o->note = ASX__GUARD_PARTED;
    bool told = asx__sync_announce(&c->sync, ASX__OP_CONDITION_GO_ON, .condition.mutex = serial) ==
                ASX__IS_CANCELLED;
    st = asx__guard_find(&m->sync, id, o, ASX_E_REGION_CLOSED);
    if (st < 0)
        return st;
    asx__mutex_retake(m, o, ASX__GUARD_HELD);
    return come_back(m, o, told ? asx__tell(rt, task) : ASX_OK);
}

static asx_status wait_body(asx_runtime *rt, asx__task *task, asx__condition *c, asx__mutex *m,
                            asx__obligation *o)
{
    bool poll = (task->flags & ASX__T_POLL) != 0;
    if (poll && m->guard != o)
        return wait_poll_again(rt, task, c, m, o);
    if (poll && o->note == ASX__GUARD_COMING_BACK)
        return wait_poll_again(rt, task, c, m, o);
    if (c == NULL)
        return ASX_E_REGION_CLOSED;
    if (m->guard != o)
        return ASX_E_BUSY; /* a copy, while its task waits; this cannot be that task */
    if (rt->seam != NULL && !rt->in_cleanup)
        return wait_explored(rt, task, c, m, o);
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    if (!poll)
        return wait_fiber(rt, task, c, m, o);
    st = asx__wait_prepare(rt, task, asx__sync_waitable(&c->sync, 0));
    return st < 0 ? st : wait_in(c, task, m, o);
}

asx_status asx_condition_wait(asx_cx *cx, const asx_condition *condition, asx_mutex_guard *guard)
{
    ASX__GATE_SYNC(condition, condition_, cx, asx_condition_wait(in_cx, condition, guard));
    asx__task *task;
    asx_runtime *rt;
    if (condition == NULL || guard == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__sync *s = HEAD(condition->condition_);
    asx_status gone = asx__sync_resolve(s, condition->generation_, ASX_E_REGION_CLOSED);
    if (gone == ASX_E_INVALID_ARGUMENT)
        return gone;
    asx_status st = asx__guard_find(HEAD(guard->mutex_), guard->obligation_, guard->record_,
                                    ASX_E_REGION_CLOSED);
    if (st < 0)
        return st;
    st = asx__cx_enter(cx, ASX_CAP_CHANNEL, &task, &rt);
    if (st < 0)
        return st;
    if (guard->mutex_->sync.rt != rt || (gone == ASX_OK && s->rt != rt))
        return ASX_E_WRONG_CONTEXT;
    if (guard->record_->owner != task)
        return ASX_E_NOT_OWNER;
    return wait_body(rt, task, gone < 0 ? NULL : condition->condition_, guard->mutex_,
                     guard->record_);
}

/* ---- signalling ----------------------------------------------------------------------------- */

static asx_status wake(asx__condition *c, uint32_t most)
{
    (void)asx__sync_announce(&c->sync, most == 1 ? ASX__OP_SIGNAL : ASX__OP_SIGNAL_ALL);
    uint32_t count = c->sync.waiting < most ? c->sync.waiting : most;
    if (c->sync.rt->tracing)
        asx__sync_journal(&c->sync, c->sync.rt->current, ASX_EVENT_CONDITION_SIGNAL, count, 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        asx__task *task = asx__sync_first(&c->sync);
        asx__obligation *o = asx__retaking_guard(task);
        asx__sync_unlink(&c->sync, task);
        asx__retake_signalled(task, &c->sync);
        asx__mutex_retake_for(asx__obligation_object(o), task, o);
    }
    return ASX_OK;
}

void asx__condition_pass_on(asx__sync *s, uint64_t generation)
{
    if (asx__sync_resolve(s, generation, ASX_E_REGION_CLOSED) == ASX_OK && s->waiting != 0)
        (void)wake((asx__condition *)(void *)s, 1);
}

asx_status asx_condition_signal(const asx_condition *condition)
{
    ASX__GATE_SYNC(condition, condition_, NULL, asx_condition_signal(condition));
    if (condition == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sync_resolve(HEAD(condition->condition_), condition->generation_,
                                      ASX_E_REGION_CLOSED);
    return st < 0 ? st : wake(condition->condition_, 1);
}

asx_status asx_condition_broadcast(const asx_condition *condition)
{
    ASX__GATE_SYNC(condition, condition_, NULL, asx_condition_broadcast(condition));
    if (condition == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sync_resolve(HEAD(condition->condition_), condition->generation_,
                                      ASX_E_REGION_CLOSED);
    return st < 0 ? st : wake(condition->condition_, UINT32_MAX);
}
