/* send.c - reserve, permits, send, evict; and which waiter gets capacity that becomes free.
 *
 * The public calls take the shortest way when nothing is special: an endpoint that lives, the
 * running task's own context, no cancel, capacity, messages of 8 bytes, no journal, no receiver
 * waiting. They have no frame; everything else is tail-called.
 *
 * A waiting sender is served by the task that frees capacity: a fiber gets its permit written, or
 * its message taken from where it waits; a poll task gets a grant. Serving cannot fail but for the
 * memory of the permit: then that sender is told, and the next one is served.
 */
#include "sync/sync.h"

#define NOINLINE __attribute__((noinline))
/* A task with any of these does not take the shortest way. */
#define SPECIAL (ASX__T_CHECKED | ASX__T_GRANTED)

/* Note in a tracked permit: its waiter has not come back for it yet. */
#define ON_ITS_WAY 1u

/* ---- entering ------------------------------------------------------------------------------- */

/* Why the call was not possible. Never ASX_OK. */
static NOINLINE asx_status refuse(const asx_channel_sender *sender, const asx_cx *cx,
                                  const void *argument, asx__op_kind kind)
{
    asx__task *task;
    asx_runtime *rt;
    if (sender == NULL || sender->sender_ == NULL || cx == NULL || argument == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (sender->sender_->generation != sender->generation_) {
        asx_status announced = asx__sender_announce(sender, kind);
        return announced < 0 ? announced : asx__sender_refuse(sender);
    }
    asx_status st = asx__cx_enter(cx, ASX_CAP_CHANNEL, &task, &rt);
    return st < 0 ? st : ASX_E_WRONG_CONTEXT; /* a task of another runtime */
}

/* The channel behind a live sender, in the hands of the running task. NULL: see refuse(). */
static inline asx__channel *enter(const asx_channel_sender *sender, const asx_cx *cx,
                                  const void *argument)
{
    if (ASX__UNLIKELY(sender == NULL))
        return NULL;
    asx__sender *s = sender->sender_;
    if (ASX__UNLIKELY(s == NULL || s->generation != sender->generation_ || cx == NULL))
        return NULL;
    asx__channel *ch = asx__sender_channel(s);
    if (ASX__UNLIKELY(ch->rt->current != cx->task_ || cx->task_ == NULL ||
                      (cx->caps_ & ASX_CAP_CHANNEL) == 0 || argument == NULL))
        return NULL;
    return ch;
}

/* ---- delivering ----------------------------------------------------------------------------- */

/* Into the slot of the last message, which `tail` counts already. */
static void push(asx__channel *ch, const void *message, uint64_t seq)
{
    uint64_t number = ch->tail - 1;
    asx__message_copy(asx__slot(ch, number), message, ch->element_size);
    if (ASX__UNLIKELY(ch->marks != NULL)) {
        asx__message_mark *mark = asx__slot_mark(ch, number);
        mark->number = ch->tail;
        mark->seq = seq;
    }
}

/* A fiber parked in asx_channel_recv(). */
static inline bool takes_directly(const asx__channel *ch, const asx__task *task)
{
    return task->w.waits == &ch->waits[ASX__CHANNEL_RECV] && (task->flags & ASX__T_POLL) == 0;
}

/* Sends 8 bytes for which a claim is taken to the receiver, which waits; no other task does, and
 * there is no journal. A fiber takes them directly, a poll task finds them in the queue. `shared`:
 * the runtime has several workers. False: neither, and nothing has changed. */
static inline bool hand_over(asx__channel *ch, const void *message, bool shared)
{
    asx__task *to = ch->receiver;
    if (ASX__UNLIKELY(to->w.waits != &ch->waits[ASX__CHANNEL_RECV] ||
                      (ch->recv_slow & ASX__RECV_WAITERS) != 0))
        return false;
    uint64_t tail = ch->tail;
    bool poll = (to->flags & ASX__T_POLL) != 0;
    memcpy(poll ? asx__slot_of_8(ch, tail) : to->r.io, message, 8);
    ch->receiver = NULL;
    ch->send_slow = 0;
    ch->tail = tail + 1;
    if (!poll)
        ch->head = tail + 1; /* it was empty */
    if (shared)
        asx__wake(ch->rt, to, ASX_OK, false);
    else if (poll)
        asx__wake_poll(ch->rt, to);
    else
        asx__wake_fiber(ch->rt, to);
    return true;
}

void asx__channel_deliver(asx__channel *ch, asx__task *task, const void *message)
{
    asx__task *to = ch->receiver;
    uint64_t number = ++ch->tail;
    uint64_t seq = 0;
    if (ASX__UNLIKELY(ch->rt->tracing))
        seq = asx__channel_journal(ch, task, ASX_EVENT_CHANNEL_SEND, number,
                                   asx__channel_queued(ch), 0);
    if (ASX__LIKELY(to != NULL && takes_directly(ch, to))) {
        ch->head++;
        ch->receiver = NULL;
        ch->send_slow &= (uint8_t)~ASX__SEND_PARKED;
        asx__message_copy(to->r.io, message, ch->element_size);
        if (ASX__UNLIKELY(ch->rt->tracing))
            asx__channel_journal(ch, to, ASX_EVENT_CHANNEL_RECV, number, 0, seq);
        asx__wake(ch->rt, to, ASX_OK, false);
        return;
    }
    push(ch, message, seq);
    if (to != NULL)
        asx__channel_serve_receiver(ch);
}

/* ---- waiting senders ------------------------------------------------------------------------ */

static void unlink_waiter(asx__channel *ch, asx__task *task)
{
    asx__list_remove(&task->node);
    if (asx__list_empty(&ch->waiters))
        ch->recv_slow &= (uint8_t)~ASX__RECV_WAITERS;
}

/* A permit for `task`, which is or was waiting; the claim is taken. False: no memory. */
static bool write_permit(asx__channel *ch, asx__task *task, asx_obligation_kind kind,
                         const char *site, uint32_t detail, asx_send_permit *ret_permit)
{
    asx_runtime *rt = ch->rt;
    asx__obligation *o = NULL;
    if (kind == ASX_OBLIGATION_KIND_SEND_PERMIT)
        o = asx__obligation_own(rt, task, ch);
    if (o == NULL) {
        asx__task *running = rt->current;
        rt->current = task; /* the journal names the task that reserved */
        o = asx__obligation_new(rt, task, asx__permit_object(ch), kind, site);
        rt->current = running;
        if (o == NULL)
            return false;
        o->detail = detail;
    }
    ret_permit->channel_ = ch;
    ret_permit->obligation_ = asx__obligation_id(o);
    ret_permit->record_ = o;
    return true;
}

/* There is capacity, and a task waits for it. */
static void serve_waiter(asx__channel *ch)
{
    asx__task *task = (asx__task *)(void *)ch->waiters.next;
    bool done = true;
    unlink_waiter(ch, task);
    ch->claims++;
    if (task->flags & ASX__T_POLL) {
        ch->grants++;
        asx__wake(ch->rt, task, ASX_OK, true);
        return;
    }
    switch (task->w.waits - ch->waits) {
    case ASX__CHANNEL_SEND:
        asx__channel_deliver(ch, task, task->r.io);
        break;
    case ASX__CHANNEL_TRACKED: {
        asx__tracked_io *io = task->r.io;
        done = write_permit(ch, task, ASX_OBLIGATION_KIND_TRACKED_PERMIT, io->site, ON_ITS_WAY,
                            &io->permit);
        break;
    }
    default:
        done = write_permit(ch, task, ASX_OBLIGATION_KIND_SEND_PERMIT, NULL, 0, task->r.io);
        break;
    }
    if (!done)
        ch->claims--;
    bool permit = done && task->w.waits != &ch->waits[ASX__CHANNEL_SEND];
    asx__wake(ch->rt, task, done ? ASX_OK : ASX_E_RESOURCE_EXHAUSTED, false);
    if (permit) /* a cancel that comes before it runs takes it back */
        asx__exec_set(task, ASX__EXEC_PERMITTED);
}

void asx__channel_settle_slow(asx__channel *ch)
{
    while ((ch->recv_slow & ASX__RECV_WAITERS) != 0 && !asx__channel_full(ch))
        serve_waiter(ch);
    if (ch->receiver != NULL && asx__channel_tx_gone(ch)) {
        asx__task *task = ch->receiver;
        ch->receiver = NULL;
        ch->send_slow &= (uint8_t)~ASX__SEND_PARKED;
        asx__wake(ch->rt, task, ASX_E_DISCONNECTED, false);
    }
}

void asx__channel_wake_senders(asx__channel *ch, asx_status status)
{
    while ((ch->recv_slow & ASX__RECV_WAITERS) != 0) {
        asx__task *task = (asx__task *)(void *)ch->waiters.next;
        unlink_waiter(ch, task);
        asx__wake(ch->rt, task, status, false);
    }
}

void asx__send_unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__channel *ch = asx__channel_of(waitable);
    asx__channel_seize(ch);
    if (!granted) {
        unlink_waiter(ch, task);
        return;
    }
    ch->grants--;
    if (!ch->finalized) {
        ch->claims--;
        asx__channel_settle(ch);
    } else if (ch->retired && ch->grants == 0) {
        asx__slab_release(&rt->channels, ch, ch->index);
    }
}

/* Capacity for the running task. */
typedef enum claim_result {
    CLAIMED,
    MUST_WAIT,
    REFUSED
} claim_result;

/* How a poll task waits in a call. */
static asx__waitable *poll_wait(asx__channel *ch, enum asx__channel_wait which)
{
    return &ch->waits[which == ASX__CHANNEL_SEND ? ASX__CHANNEL_SEND : ASX__CHANNEL_RESERVE];
}

static claim_result claim(asx__channel *ch, asx__task *task, enum asx__channel_wait which,
                          asx_status *ret_why)
{
    asx_runtime *rt = ch->rt;
    /* A send that has been let in is as good as done, as a fiber's is: a cancel comes late. */
    bool done = which == ASX__CHANNEL_SEND && (task->flags & ASX__T_GRANTED) &&
                task->w.waits == poll_wait(ch, which);
    asx_status st = done ? ASX_OK : asx__checkpoint(rt, task);
    if (ASX__UNLIKELY(st < 0)) {
        *ret_why = st;
        return REFUSED; /* a grant comes back when the resumption is over */
    }
    bool granted = asx__wait_granted(task, &ch->waits[ASX__CHANNEL_RESERVE]) ||
                   asx__wait_granted(task, &ch->waits[ASX__CHANNEL_SEND]);
    if (ASX__UNLIKELY(granted))
        ch->grants--;
    if (ASX__UNLIKELY(asx__channel_rx_gone(ch))) {
        ch->claims -= granted;
        *ret_why = asx__channel_ended(ch);
        return REFUSED;
    }
    if (granted)
        return CLAIMED;
    if (ASX__UNLIKELY(asx__channel_full(ch)))
        return MUST_WAIT;
    ch->claims++;
    return CLAIMED;
}

/* Waits behind the others. What a fiber waits for has been done when this returns ASX_OK. */
static asx_status wait_for_room(asx__channel *ch, asx__task *task, enum asx__channel_wait which,
                                void *io)
{
    asx_runtime *rt = ch->rt;
    bool poll = (task->flags & ASX__T_POLL) != 0;
    if (ASX__UNLIKELY(poll || rt->in_cleanup)) {
        asx_status st = asx__wait_prepare(rt, task, poll_wait(ch, which));
        if (st < 0)
            return st;
        ASX__ASSERT(asx__channel_full(ch)); /* no grant of this channel was given back by that */
    }
    asx__list_push_back(&ch->waiters, &task->node);
    ch->recv_slow |= ASX__RECV_WAITERS;
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
    if (ASX__UNLIKELY(poll))
        return asx__wait_on(rt, task, poll_wait(ch, which), NULL);
    return asx__park(rt, task, &ch->waits[which], io);
}

/* ---- reserve -------------------------------------------------------------------------------- */

static asx_status make_permit(asx__channel *ch, asx__task *task, asx_obligation_kind kind,
                              const char *site, asx_send_permit *ret_permit)
{
    if (ASX__UNLIKELY(!write_permit(ch, task, kind, site, 0, ret_permit))) {
        ch->claims--;
        asx__channel_settle(ch);
        ASX__EMPTY(ret_permit);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
    return ASX_OK;
}

static inline asx_status reserve_explored(asx__channel *ch, asx__task *task,
                                         asx_send_permit *ret_permit)
{
    asx_status st;
    switch (claim(ch, task, ASX__CHANNEL_RESERVE, &st)) {
    case REFUSED:
        return st;
    case MUST_WAIT:
        return wait_for_room(ch, task, ASX__CHANNEL_RESERVE, ret_permit);
    default:
        return make_permit(ch, task, ASX_OBLIGATION_KIND_SEND_PERMIT, NULL, ret_permit);
    }
}

static NOINLINE asx_status reserve_slow(const asx_channel_sender *sender, asx__channel *ch,
                                        asx__task *task, asx_send_permit *ret_permit)
{
    ASX__EMPTY(ret_permit);
    asx_status st = asx__sender_announce(sender, ASX__OP_RESERVE);
    return ASX__UNLIKELY(st < 0) ? st : reserve_explored(ch, task, ret_permit);
}

static NOINLINE asx_status reserve_outside(const asx_channel_sender *sender, asx_cx *cx,
                                           asx_send_permit *ret_permit)
{
    ASX__EMPTY(ret_permit);
    asx_status st = asx__outside_reserve(sender, cx, true, ret_permit);
    if (ASX__LIKELY(st <= ASX_OK))
        return st;
    ASX__GATE_SENDER_FROM(st, sender, cx,
                     asx__permit_out(asx_channel_reserve(in_cx, &in, ret_permit), rt, ret_permit));
    return refuse(sender, cx, ret_permit, ASX__OP_RESERVE);
}

/* By a lease, inside: it waits, or something is special. */
static NOINLINE asx_status reserve_leased(asx_runtime *rt, asx__channel *ch, asx__task *task,
                                          asx_send_permit *ret_permit)
{
    ASX__EMPTY(ret_permit);
    asx_status st = reserve_explored(ch, task, ret_permit);
    asx__permit_out(st, rt, ret_permit);
    return asx__engine_left(rt, st);
}

/* Of a shared runtime, or refused: by the lease of the worker, if it has one. */
static NOINLINE asx_status reserve_refused(const asx_channel_sender *sender, asx_cx *cx,
                                           asx_send_permit *ret_permit)
{
    asx__sender *s = sender != NULL && sender->sender_ == NULL ? sender->shared_ : NULL;
    asx__worker *w = s != NULL && ret_permit != NULL ? asx__lessee_of(cx) : NULL;
    if (ASX__UNLIKELY(w == NULL))
        return reserve_outside(sender, cx, ret_permit);
    asx__task *task = cx->task_;
    asx__extra *extra = task->extra;
    if (ASX__UNLIKELY(s->home != w->rt || s->generation != sender->generation_ ||
                      (cx->caps_ & ASX_CAP_CHANNEL) == 0)) {
        asx__lessee_out(w);
        return reserve_outside(sender, cx, ret_permit);
    }
    asx__channel *ch = asx__sender_channel(s);
    uint64_t claims = ch->claims;
    if (ASX__UNLIKELY((task->flags & SPECIAL) != 0 || claims - ch->head >= ch->easy_room ||
                      extra == NULL || extra->permit.object_now != NULL)) {
        asx__lessee_stay(w);
        return reserve_leased(w->rt, ch, task, ret_permit);
    }
    uint64_t id = ++w->rt->registry.last_id;
    asx__store_relaxed(&extra->permit.id, id);
    asx__store_relaxed(&extra->permit.object, ch);
    ch->claims = claims + 1;
    asx__lessee_out(w);
    ret_permit->channel_ = ch;
    ret_permit->obligation_ = id;
    ret_permit->record_ = NULL;
    ret_permit->shared_ = &extra->permit;
    return ASX_OK;
}

asx_status asx_channel_reserve(asx_cx *cx, const asx_channel_sender *sender,
                               asx_send_permit *ret_permit)
{
    asx__channel *ch = enter(sender, cx, ret_permit);
    if (ASX__UNLIKELY(ch == NULL))
        return reserve_refused(sender, cx, ret_permit);
    asx__task *task = cx->task_;
    asx__extra *extra = task->extra;
    uint64_t claims = ch->claims;
    if (ASX__UNLIKELY((task->flags & SPECIAL) != 0 || claims - ch->head >= ch->easy_room ||
                      extra == NULL || extra->permit.object_now != NULL))
        return reserve_slow(sender, ch, task, ret_permit);
    uint64_t id = ++ch->rt->registry.last_id; /* as asx__obligation_own(): there is easy room */
    asx__store_relaxed(&extra->permit.id, id);
    asx__store_relaxed(&extra->permit.object, ch);
    ch->claims = claims + 1;
    ret_permit->channel_ = ch;
    ret_permit->obligation_ = id;
    ret_permit->record_ = &extra->permit;
    return ASX_OK;
}

static NOINLINE asx_status try_reserve_refused(const asx_channel_sender *sender, asx_cx *cx,
                                               asx_send_permit *ret_permit)
{
    ASX__EMPTY(ret_permit);
    asx_status st = asx__outside_reserve(sender, cx, false, ret_permit);
    if (ASX__LIKELY(st <= ASX_OK))
        return st;
    ASX__GATE_SENDER_FROM(
        st, sender, cx,
        asx__permit_out(asx_channel_try_reserve(in_cx, &in, ret_permit), rt, ret_permit));
    return refuse(sender, cx, ret_permit, ASX__OP_TRY_RESERVE);
}

asx_status asx_channel_try_reserve(asx_cx *cx, const asx_channel_sender *sender,
                                   asx_send_permit *ret_permit)
{
    asx__channel *ch = enter(sender, cx, ret_permit);
    if (ASX__UNLIKELY(ch == NULL))
        return try_reserve_refused(sender, cx, ret_permit);
    asx_status st = asx__sender_announce(sender, ASX__OP_TRY_RESERVE);
    if (ASX__LIKELY(st >= 0) && asx__channel_rx_gone(ch))
        st = asx__channel_ended(ch);
    else if (ASX__LIKELY(st >= 0) && asx__channel_full(ch)) /* also when others wait */
        st = ASX_E_FULL;
    if (st < 0)
        return ASX__EMPTY_IF(st, ret_permit);
    ch->claims++;
    return make_permit(ch, cx->task_, ASX_OBLIGATION_KIND_SEND_PERMIT, NULL, ret_permit);
}

static NOINLINE asx_status reserve_tracked_refused(const asx_channel_sender *sender, asx_cx *cx,
                                                   asx_tracked_permit *ret_permit,
                                                   const char *site)
{
    ASX__GATE_SENDER(
        sender, cx,
        asx__permit_out(asx_channel_reserve_tracked_at(in_cx, &in, ret_permit, site), rt,
                        &ret_permit->permit));
    return refuse(sender, cx, ret_permit, ASX__OP_RESERVE);
}

asx_status asx_channel_reserve_tracked_at(asx_cx *cx, const asx_channel_sender *sender,
                                          asx_tracked_permit *ret_permit, const char *site)
{
    ASX__EMPTY(ret_permit);
    asx__channel *ch = enter(sender, cx, ret_permit);
    if (ASX__UNLIKELY(ch == NULL))
        return reserve_tracked_refused(sender, cx, ret_permit, site);
    asx__task *task = cx->task_;
    asx__tracked_io io = { .site = site != NULL ? site : "" };
    asx_status st = asx__sender_announce(sender, ASX__OP_RESERVE);
    if (ASX__UNLIKELY(st < 0))
        return st;
    switch (claim(ch, task, ASX__CHANNEL_TRACKED, &st)) {
    case REFUSED:
        return st;
    case MUST_WAIT:
        st = wait_for_room(ch, task, ASX__CHANNEL_TRACKED, &io);
        if (st < 0)
            return st;
        io.permit.record_->detail = 0;
        ret_permit->permit = io.permit;
        return ASX_OK;
    default:
        return make_permit(ch, task, ASX_OBLIGATION_KIND_TRACKED_PERMIT, io.site,
                           &ret_permit->permit);
    }
}

/* ---- permits -------------------------------------------------------------------------------- */

/* Why this is not a permit that can be used. Never ASX_OK. */
static NOINLINE asx_status refuse_permit(const asx_send_permit *permit, const void *argument)
{
    if (permit == NULL || permit->channel_ == NULL || permit->obligation_ == 0 ||
        permit->record_ == NULL || argument == NULL)
        return ASX_E_INVALID_ARGUMENT;
    const asx__channel *ch = permit->channel_;
    const asx__obligation *o = permit->record_;
    if (asx__obligation_id(o) == permit->obligation_ && asx__obligation_object(o) != NULL)
        return ASX_E_INVALID_ARGUMENT; /* something else than a permit of this channel */
    if (permit->obligation_ <= ch->first_obligation)
        return ASX_E_DISCONNECTED; /* its channel is gone, and took it along */
    return asx__obligation_missing(ch->rt, permit->obligation_);
}

static asx_status find_permit(const asx_send_permit *permit, const void *argument,
                              asx__obligation **ret_o)
{
    if (permit == NULL || permit->channel_ == NULL || permit->record_ == NULL || argument == NULL)
        return refuse_permit(permit, argument);
    asx__channel *ch = permit->channel_;
    asx__obligation *o = permit->record_;
    const void *object = asx__obligation_object(o);
    if (asx__obligation_id(o) != permit->obligation_ ||
        (object != ch && object != asx__permit_object(ch)))
        return refuse_permit(permit, argument);
    *ret_o = o;
    return ASX_OK;
}

void asx__permit_abort(asx__channel *ch, asx__obligation *o)
{
    asx__obligation_resolve(ch->rt, o, ASX_OBLIGATION_ABORTED);
    ch->claims--;
    asx__channel_settle(ch);
}

void asx__permit_release(asx_runtime *rt, asx__obligation *o)
{
    (void)rt;
    asx__channel_seize(asx__permit_channel(o));
    asx__channel_announce(asx__permit_channel(o), ASX__OP_PERMIT_ABORT);
    asx__permit_abort(asx__permit_channel(o), o);
}

/* The task ended without resolving it. */
void asx__tracked_release(asx_runtime *rt, asx__obligation *o)
{
    asx__task *task = o->owner;
    asx__region *region = task->region;
    asx__channel_seize(asx__permit_channel(o));
    asx__channel_announce(asx__permit_channel(o), ASX__OP_PERMIT_ABORT);
    if (o->detail != ON_ITS_WAY) {
        region->n_leaked++;
        rt->registry.leaked++;
        if (rt->tracing)
            asx__obligation_trace(rt, ASX_EVENT_OBLIGATION_LEAK, o);
        if (region->report != NULL)
            asx__report_obligation(rt, region->report, o, region);
        if (region->leak == ASX_LEAK_PANIC)
            task->flags |= ASX__T_PANICKED;
    }
    asx__permit_abort(asx__permit_channel(o), o);
}

static asx_status permit_commit(asx__channel *ch, asx__obligation *o, const void *message)
{
    if (ASX__UNLIKELY(asx__channel_rx_gone(ch))) {
        asx__permit_abort(ch, o);
        return asx__channel_ended(ch);
    }
    asx__obligation_resolve(ch->rt, o, ASX_OBLIGATION_COMMITTED);
    asx__channel_deliver(ch, ch->rt->current, message);
    asx__channel_settle(ch);
    return ASX_OK;
}

static NOINLINE asx_status permit_send_slow(asx__channel *ch, asx__obligation *o,
                                            const void *message)
{
    asx__channel_announce(ch, ASX__OP_PERMIT_SEND);
    return permit_commit(ch, o, message);
}

/* A permit whose record is not its holder's own, or none at all. */
static NOINLINE asx_status permit_send_other(const asx_send_permit *permit, const void *message)
{
    asx__obligation *o = NULL;
    asx_status st = find_permit(permit, message, &o);
    return st < 0 ? st : permit_send_slow(permit->channel_, o, message);
}

/* The receiver waits, and nothing else is special. */
static NOINLINE asx_status permit_to_parked(asx__channel *ch, asx__obligation *o,
                                            const void *message)
{
    if (ASX__UNLIKELY(!hand_over(ch, message, false)))
        return permit_send_slow(ch, o, message);
    asx__store_relaxed(&o->object, NULL);
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
    return ASX_OK;
}

/* In the engine of a shared runtime: another task's record may be in use meanwhile. */
static asx_status permit_send_inside(const asx_send_permit *permit, const void *message)
{
    asx__obligation *o = permit->record_;
    asx__channel *ch = permit->channel_;
    if (message != NULL && ch->send_slow == ASX__SEND_PARKED &&
        asx__obligation_id(o) == permit->obligation_ && asx__obligation_object(o) == ch &&
        hand_over(ch, message, true)) {
        asx__store_relaxed(&o->object, NULL);
        return ASX_OK;
    }
    return permit_send_other(permit, message);
}

static NOINLINE asx_status permit_send_outside(asx_send_permit *permit, const void *message)
{
    asx_status st = asx__outside_permit_send(permit, message);
    if (ASX__LIKELY(st <= ASX_OK))
        return st;
    ASX__GATE_CLAIM_FROM(st, asx_send_permit, permit, permit_send_inside(&in, message));
    return ASX_E_INVALID_ARGUMENT;
}

/* Of a shared runtime, or refused: by the lease of the worker, if it has one. */
static NOINLINE asx_status permit_send_refused(asx_send_permit *permit, const void *message)
{
    asx__channel *ch = permit != NULL && permit->record_ == NULL ? permit->channel_ : NULL;
    asx__obligation *o = ch != NULL && message != NULL ? permit->shared_ : NULL;
    asx__worker *w = o != NULL ? asx__lessee_in(ch->home) : NULL;
    if (ASX__UNLIKELY(w == NULL))
        return permit_send_outside(permit, message);
    if (ASX__LIKELY(asx__obligation_id(o) == permit->obligation_ && o->object_now == ch)) {
        if (ASX__LIKELY(ch->send_slow == 0)) {
            asx__store_relaxed(&o->object, NULL);
            uint64_t tail = ch->tail;
            memcpy(asx__slot_of_8(ch, tail), message, 8);
            ch->tail = tail + 1;
            asx__lessee_out(w);
            return ASX_OK;
        }
        if (ch->send_slow == ASX__SEND_PARKED && hand_over(ch, message, true)) {
            asx__store_relaxed(&o->object, NULL);
            return asx__lessee_wakes(w, ASX_OK);
        }
    }
    asx__lessee_out(w);
    return permit_send_outside(permit, message);
}

asx_status asx_send_permit_send(asx_send_permit *permit, const void *message)
{
    if (ASX__UNLIKELY(permit == NULL || permit->record_ == NULL || message == NULL))
        return permit_send_refused(permit, message);
    asx__obligation *o = permit->record_;
    asx__channel *ch = permit->channel_;
    if (ASX__UNLIKELY(asx__obligation_id(o) != permit->obligation_ || o->object_now != ch ||
                      ch == NULL))
        return permit_send_other(permit, message);
    if (ch->send_slow != 0)
        return ch->send_slow == ASX__SEND_PARKED ? permit_to_parked(ch, o, message)
                                                 : permit_send_slow(ch, o, message);
    asx__store_relaxed(&o->object, NULL);
    uint64_t tail = ch->tail;
    memcpy(asx__slot_of_8(ch, tail), message, 8);
    ch->tail = tail + 1;
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
    return ASX_OK;
}

asx_status asx_send_permit_abort(asx_send_permit *permit)
{
    asx__obligation *o = NULL;
    ASX__GATE_CLAIM(asx_send_permit, permit, asx_send_permit_abort(&in));
    asx_status st = find_permit(permit, permit, &o);
    if (st < 0)
        return st;
    asx__channel_announce(permit->channel_, ASX__OP_PERMIT_ABORT);
    asx__permit_abort(permit->channel_, o);
    return ASX_OK;
}

asx_status asx_tracked_permit_send(asx_tracked_permit *permit, const void *message,
                                   asx_committed_proof *ret_proof)
{
    ASX__EMPTY(ret_proof);
    asx__obligation *o = NULL;
    if (permit == NULL || ret_proof == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_CLAIM(asx_send_permit, &permit->permit,
                    asx_tracked_permit_send(&(asx_tracked_permit){ in }, message, ret_proof));
    asx_status st = find_permit(&permit->permit, message, &o);
    if (st < 0)
        return st;
    if (o->kind != ASX_OBLIGATION_KIND_TRACKED_PERMIT)
        return ASX_E_INVALID_ARGUMENT;
    asx__channel *ch = permit->permit.channel_;
    asx__channel_announce(ch, ASX__OP_PERMIT_SEND);
    uint64_t number = ch->tail + 1;
    st = permit_commit(ch, o, message);
    if (st < 0)
        return st;
    ret_proof->obligation = permit->permit.obligation_;
    ret_proof->message_number = number;
    return ASX_OK;
}

asx_status asx_tracked_permit_abort(asx_tracked_permit *permit, asx_aborted_proof *ret_proof)
{
    ASX__EMPTY(ret_proof);
    asx__obligation *o = NULL;
    if (permit == NULL || ret_proof == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_CLAIM(asx_send_permit, &permit->permit,
                    asx_tracked_permit_abort(&(asx_tracked_permit){ in }, ret_proof));
    asx_status st = find_permit(&permit->permit, ret_proof, &o);
    if (st < 0)
        return st;
    if (o->kind != ASX_OBLIGATION_KIND_TRACKED_PERMIT)
        return ASX_E_INVALID_ARGUMENT;
    asx__channel_announce(permit->permit.channel_, ASX__OP_PERMIT_ABORT);
    asx__permit_abort(permit->permit.channel_, o);
    ret_proof->obligation = permit->permit.obligation_;
    return ASX_OK;
}

/* ---- reserve and send in one ---------------------------------------------------------------- */

static NOINLINE asx_status send_slow(const asx_channel_sender *sender, asx__channel *ch,
                                     asx__task *task, const void *message)
{
    asx_status st = asx__sender_announce(sender, ASX__OP_SEND);
    if (ASX__UNLIKELY(st < 0))
        return st;
    switch (claim(ch, task, ASX__CHANNEL_SEND, &st)) {
    case REFUSED:
        return st;
    case MUST_WAIT:
        return wait_for_room(ch, task, ASX__CHANNEL_SEND, (void *)(uintptr_t)message);
    default:
        asx__channel_deliver(ch, task, message);
        asx__channel_settle(ch);
        return ASX_OK;
    }
}

/* The receiver waits, there is room, and nothing else is special. */
static NOINLINE asx_status send_to_parked(const asx_channel_sender *sender, asx__channel *ch,
                                          asx__task *task, const void *message)
{
    if (ASX__UNLIKELY(!hand_over(ch, message, ch->rt->engine != NULL)))
        return send_slow(sender, ch, task, message);
    ch->claims++;
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
    return ASX_OK;
}

static NOINLINE asx_status send_refused(const asx_channel_sender *sender, asx_cx *cx,
                                        const void *message)
{
    asx_status st = asx__outside_send(sender, cx, true, message);
    if (ASX__LIKELY(st <= ASX_OK))
        return st;
    ASX__GATE_SENDER_FROM(st, sender, cx, asx_channel_send(in_cx, &in, message));
    return refuse(sender, cx, message, ASX__OP_SEND);
}

asx_status asx_channel_send(asx_cx *cx, const asx_channel_sender *sender, const void *message)
{
    asx__channel *ch = enter(sender, cx, message);
    if (ASX__UNLIKELY(ch == NULL))
        return send_refused(sender, cx, message);
    asx__task *task = cx->task_;
    uint64_t claims = ch->claims;
    if (ASX__UNLIKELY((task->flags & SPECIAL) != 0 || claims - ch->head >= ch->room))
        return send_slow(sender, ch, task, message);
    if (ch->send_slow != 0)
        return ch->send_slow == ASX__SEND_PARKED ? send_to_parked(sender, ch, task, message)
                                                 : send_slow(sender, ch, task, message);
    uint64_t tail = ch->tail;
    memcpy(asx__slot_of_8(ch, tail), message, 8);
    ch->claims = claims + 1;
    ch->tail = tail + 1;
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
    return ASX_OK;
}

static NOINLINE asx_status try_send_refused(const asx_channel_sender *sender, asx_cx *cx,
                                            const void *message)
{
    asx_status st = asx__outside_send(sender, cx, false, message);
    if (ASX__LIKELY(st <= ASX_OK))
        return st;
    ASX__GATE_SENDER_FROM(st, sender, cx, asx_channel_try_send(in_cx, &in, message));
    return refuse(sender, cx, message, ASX__OP_TRY_SEND);
}

asx_status asx_channel_try_send(asx_cx *cx, const asx_channel_sender *sender, const void *message)
{
    asx__channel *ch = enter(sender, cx, message);
    if (ASX__UNLIKELY(ch == NULL))
        return try_send_refused(sender, cx, message);
    asx_status st = asx__sender_announce(sender, ASX__OP_TRY_SEND);
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (asx__channel_rx_gone(ch))
        return asx__channel_ended(ch);
    if (asx__channel_full(ch)) /* also when others wait */
        return ASX_E_FULL;
    ch->claims++;
    asx__channel_deliver(ch, cx->task_, message);
    asx__channel_settle(ch);
    return ASX_OK;
}

/* Takes the oldest message out to make room for one of `task`'s. */
static void evict(asx__channel *ch, asx__task *task, void *ret_evicted)
{
    const char *slot = asx__slot(ch, ch->head);
    if (ret_evicted != NULL)
        asx__message_copy(ret_evicted, slot, ch->element_size);
    else if (ch->drop != NULL)
        asx__message_copy(ch->scratch, slot, ch->element_size);
    if (ch->rt->tracing) {
        const asx__message_mark *mark = asx__slot_mark(ch, ch->head);
        asx__channel_journal(ch, task, ASX_EVENT_CHANNEL_EVICT, mark->number, 0, mark->seq);
    }
    ch->head++;
    ch->evicted++;
}

static NOINLINE asx_status send_evict_oldest_refused(const asx_channel_sender *sender, asx_cx *cx,
                                                     const void *message, void *ret_evicted,
                                                     bool *ret_did_evict)
{
    ASX__GATE_SENDER(sender, cx,
                     asx_channel_send_evict_oldest(in_cx, &in, message, ret_evicted,
                                                   ret_did_evict));
    return refuse(sender, cx, message, ASX__OP_EVICT);
}

asx_status asx_channel_send_evict_oldest(asx_cx *cx, const asx_channel_sender *sender,
                                         const void *message, void *ret_evicted,
                                         bool *ret_did_evict)
{
    ASX__EMPTY(ret_did_evict);
    asx__channel *ch = enter(sender, cx, message);
    if (ASX__UNLIKELY(ch == NULL))
        return send_evict_oldest_refused(sender, cx, message, ret_evicted, ret_did_evict);
    if (ret_did_evict == NULL || ret_evicted == message)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__sender_announce(sender, ASX__OP_EVICT);
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (asx__channel_rx_gone(ch))
        return asx__channel_ended(ch);
    bool full = asx__channel_full(ch);
    if (full && asx__channel_queued(ch) == 0)
        return ASX_E_FULL;
    if (full && ret_evicted == NULL && ch->dropping)
        return ASX_E_BUSY; /* from inside the drop callback of another eviction */
    asx__task *task = cx->task_;
    if (full)
        evict(ch, task, ret_evicted);
    ch->claims++;
    asx__channel_deliver(ch, task, message);
    asx__channel_settle(ch);
    *ret_did_evict = full;
    if (full && ret_evicted == NULL)
        asx__channel_drop_evicted(ch);
    return ASX_OK;
}
