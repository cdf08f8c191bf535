/* once.c - an initializer that succeeds once.
 *
 *     idle --call--> running --success--> done
 *       ^               |
 *       +---failure, cancelled, end of the task: the next waiter runs
 *
 * Running is a guard of the task that runs, so that its end, by whatever way, lets the next one
 * try. A poll task runs until its initializer says something else than ASX_E_WOULD_BLOCK; between
 * its resumptions `inside` is false, which tells a repeated call from one out of the initializer.
 *
 *     done => no task runs or waits
 *     a waiter exists => a task runs
 */
#include "sync/object.h"

#include <asx/sync.h>

#define HEAD(once_) ((asx__sync *)(void *)(once_))

typedef struct asx__once {
    asx__sync sync;
    asx__obligation *runner; /* NULL: no task runs */
    bool inside;
    bool done;
} asx__once;
_Static_assert(sizeof(asx__once) <= ASX__SYNC_RECORD_SIZE, "fits the slab");

/* The right to run. */
typedef struct turn {
    asx__sync *once_;
    uint64_t obligation_;
    asx__obligation *record_; /* NULL: there is nothing to run */
} turn;
ASX__GUARD_LAYOUT(turn);

typedef struct once_io {
    turn turn;
    const char *site;
} once_io;

static uint64_t journal(asx__once *once, const asx__task *task, uint32_t kind, uint64_t a)
{
    if (!once->sync.rt->tracing)
        return 0;
    return asx__sync_journal(&once->sync, task, kind, a, 0,
                             kind == ASX_EVENT_ONCE_BEGIN ? once->sync.seq : 0);
}

/* False: no memory. */
static bool begin_turn(asx__once *once, asx__task *task, const char *site,
                       enum asx__guard_note note, turn *ret_turn)
{
    asx__obligation *o = asx__guard_new(&once->sync, task, ASX_OBLIGATION_KIND_GUARD, site, note);
    if (o == NULL)
        return false;
    once->runner = o;
    *ret_turn = (turn){ &once->sync, asx__obligation_id(o), o };
    return true;
}

/* No task runs any more: the first waiter does. */
static void pass_on(asx__once *once)
{
    once->runner = NULL;
    once->inside = false;
    while (once->runner == NULL && once->sync.waiting != 0) {
        asx__task *task = asx__sync_first(&once->sync);
        asx__sync_unlink(&once->sync, task);
        if (task->flags & ASX__T_POLL) {
            turn unused;
            if (begin_turn(once, task, NULL, ASX__GUARD_ON_ITS_WAY, &unused))
                asx__sync_grant(&once->sync, task);
            else
                asx__wake(once->sync.rt, task, ASX_OK, false); /* its own call is refused */
        } else {
            once_io *io = task->r.io;
            asx__sync_hand_over(&once->sync, task,
                                begin_turn(once, task, io->site, ASX__GUARD_ON_ITS_WAY, &io->turn));
        }
    }
}

static void give_up(asx__once *once, asx_status status)
{
    if (once->runner->note == ASX__GUARD_HELD)
        (void)asx__sync_announce(&once->sync, ASX__OP_ONCE_END);
    if (once->runner->note == ASX__GUARD_HELD)
        once->sync.seq = journal(once, once->sync.rt->current, ASX_EVENT_ONCE_END,
                                 (uint64_t)(int64_t)status);
    asx__guard_resolve(&once->sync, once->runner, ASX_OBLIGATION_ABORTED);
    pass_on(once);
}

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__once *once = (asx__once *)(void *)asx__sync_of(waitable);
    (void)rt;
    if (!granted)
        asx__sync_unlink(&once->sync, task);
    else if (asx__sync_ungrant(&once->sync))
        give_up(once, ASX_E_CANCELLED);
}

static void release(asx__sync *s, asx__obligation *o)
{
    asx__once *once = (asx__once *)(void *)s;
    ASX__ASSERT(once->runner == o);
    if (o->note == ASX__GUARD_HELD)
        asx__guard_note_left(o);
    give_up(once, ASX_E_CANCELLED);
}

static void end(asx__sync *s)
{
    asx__sync_wake_all(s, ASX_E_REGION_CLOSED);
}

static const asx__sync_type once_type = {
    .kind = ASX__SYNC_ONCE,
    .created = ASX_EVENT_ONCE_CREATE,
    .waits = { { ASX__WAIT_ONCE_CALL, NULL, unpublish } },
    .release = release,
    .end = end,
};

asx_status asx_once_create(const asx_region *region, const asx_once_options *options,
                           asx_once *ret_once)
{
    ASX__EMPTY(ret_once);
    ASX__GATE_REGION(region, asx_once_create(&in, options, ret_once));
    asx__sync *s = NULL;
    asx_status st =
        asx__sync_create(region, &once_type, ASX__NAME_OF(options), 0, ret_once != NULL, &s, NULL);
    if (st < 0)
        return st;
    asx__sync_created(s, 0);
    ret_once->once_ = (asx__once *)(void *)s;
    ret_once->generation_ = s->generation;
    return ASX_OK;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static asx_status wait_for_turn(asx_runtime *rt, asx__task *task, asx__once *once,
                                const char *site, turn *ret_turn)
{
    asx_status st = asx__wait_prepare(rt, task, asx__sync_waitable(&once->sync, 0));
    if (st < 0)
        return st;
    once_io io = { .site = site };
    st = asx__sync_wait_in(&once->sync, task, 0, &io);
    if (st != ASX_OK)
        return st;
    *ret_turn = io.turn;
    return io.turn.record_ != NULL ? ASX_OK : asx__sync_found(&once->sync, ASX_OK);
}

/* ASX_OK: run, or it is done. */
static asx_status begin(asx_runtime *rt, asx__task *task, asx__once *once, const char *site,
                        turn *ret_turn)
{
    bool runs = once->runner != NULL && once->runner->owner == task;
    if (runs && once->inside)
        return ASX_E_WOULD_DEADLOCK;
    (void)asx__sync_announce(&once->sync, ASX__OP_ONCE_CALL);
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0) {
        if (runs && once->runner->note == ASX__GUARD_HELD)
            give_up(once, st); /* a poll task that will not run it any further */
        return st;
    }
    if (asx__sync_granted(&once->sync, task, 0))
        once->runner->site = site;
    else if (once->done)
        return asx__sync_found(&once->sync, ASX_OK);
    else if (!runs && once->runner != NULL)
        return wait_for_turn(rt, task, once, site, ret_turn);
    else if (!runs && !begin_turn(once, task, site, ASX__GUARD_HELD, ret_turn)) {
        (void)asx__sync_announce(&once->sync, ASX__OP_ONCE_END);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    *ret_turn = (turn){ &once->sync, asx__obligation_id(once->runner), once->runner };
    return ASX_OK;
}

/* Goes in. False: the turn has been lost, with the region of the object. */
static bool go_in(const turn *t, asx__task *task)
{
    asx__once *once = (asx__once *)(void *)t->once_;
    if (asx__guard_find(t->once_, t->obligation_, t->record_, ASX_E_REGION_CLOSED) < 0)
        return false;
    if (t->record_->detail == 0)
        journal(once, task, ASX_EVENT_ONCE_BEGIN, 0);
    t->record_->note = ASX__GUARD_HELD;
    t->record_->detail = 1; /* it has begun */
    once->inside = true;
    return true;
}

static asx_status go_out(const turn *t, asx__task *task, asx_status st)
{
    asx__once *once = (asx__once *)(void *)t->once_;
    asx_status alive = asx__guard_find(t->once_, t->obligation_, t->record_, ASX_E_REGION_CLOSED);
    if (alive < 0)
        return st < 0 ? st : alive;
    once->inside = false;
    if (st == ASX_E_WOULD_BLOCK && (task->flags & ASX__T_POLL))
        return st;
    if (st < 0) {
        give_up(once, st);
        return st;
    }
    (void)asx__sync_announce(&once->sync, ASX__OP_ONCE_END, .once.state = 2);
    once->sync.seq = journal(once, task, ASX_EVENT_ONCE_END, 0);
    once->done = true;
    once->runner = NULL;
    asx__guard_resolve(&once->sync, t->record_, ASX_OBLIGATION_COMMITTED);
    asx__sync_wake_all(&once->sync, ASX_OK);
    return ASX_OK;
}

asx_status asx_once_call_at(asx_cx *cx, const asx_once *once, asx_call_fn fn, void *arg,
                            const char *site)
{
    ASX__GATE_SYNC(once, once_, cx, asx_once_call_at(in_cx, once, fn, arg, site));
    asx__task *task;
    turn t = { NULL, 0, NULL };
    if (once == NULL || fn == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sync_enter(HEAD(once->once_), once->generation_, ASX_E_REGION_CLOSED, cx,
                                    &task);
    if (st == ASX_OK)
        st = begin(cx->rt_, task, once->once_, site, &t);
    if (st < 0 || t.record_ == NULL)
        return st;
    if (!go_in(&t, task))
        return ASX_E_REGION_CLOSED;
    return go_out(&t, task, asx__call_out(cx->rt_, cx, fn, arg));
}

asx_status asx_once_is_done(const asx_once *once, bool *ret_done)
{
    ASX__EMPTY(ret_done);
    ASX__GATE_SYNC(once, once_, NULL, asx_once_is_done(once, ret_done));
    if (once == NULL || ret_done == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sync_resolve(HEAD(once->once_), once->generation_, ASX_E_REGION_CLOSED);
    if (st < 0)
        return st;
    (void)asx__sync_announce(HEAD(once->once_), ASX__OP_ONCE_LOOK);
    *ret_done = once->once_->done;
    return *ret_done ? asx__sync_found(HEAD(once->once_), ASX_OK) : ASX_OK;
}
