/* outside.c - channel calls of a running task that need nobody else, without the engine.
 *
 * In a shared runtime a task that reserves, sends or receives finds most of the time that there is
 * room, or a message, and nobody waits. Then all that changes is the channel, and a record that is
 * the task's own. Such a call is an outing (engine.h): under the worker's lease if it has one, else
 * under the channel's latch. Whatever needs more than that enters the engine as ever: waiting,
 * waking, a receiver that is gone, a second permit at a time, a task that was cancelled.
 *
 * What is looked at, and why it may be
 *   the channel      under its latch; code of the engine seizes it before it looks (latch.h)
 *   a sender         its channel is read to find the latch, and again under it; its generation
 *                    changes only while the channel that it serves is seized
 *   an old endpoint  names a record that serves another channel now, or none: the generation, read
 *                    under the latch of whatever is there now, tells
 *   the task         that it runs here, and nothing special about it: the worker knows (engine.h)
 *   its permit       the task's own record, which its worker alone uses while it runs. Others look
 *                    at it, and when a channel ends, the engine resolves permits of that channel,
 *                    having seized it: so under the latch of its channel a permit does not change.
 *   its number       each worker has some to give out. A channel tells late permits of an earlier
 *                    life by their numbers, so it wants one that was not given to the worker before
 *                    the channel was made.
 *
 * Order of two calls. A cancel, a close or a drop that has returned is seen by every outing that
 * begins after it: it has called the task in, or changed the channel under its latch.
 */
#include "sync/outside.h"

/* May this be tried? What is not right is told inside. */
static inline bool is_shared(const asx_cx *cx, const asx_runtime *rt)
{
    return (cx->caps_ & ASX_CAP_CHANNEL) != 0 && cx->rt_->behind == rt && rt != NULL;
}

/* The channel of a sender, its latch taken, and the outing begun. NULL: enter. */
static inline asx__channel *begin(const asx_channel_sender *sender, const asx_cx *cx,
                                  asx__outing *ret_outing)
{
    const asx__sender *s = sender->shared_;
    if (ASX__UNLIKELY(!is_shared(cx, s->home)))
        return NULL;
    asx__outing outing = asx__outing_begin(s->home, cx->task_);
    asx__channel *ch = asx__sender_channel(s);
    if (ASX__UNLIKELY(outing.worker == NULL))
        return NULL;
    if (ASX__UNLIKELY(ch == NULL)) {
        asx__outing_end(outing, NULL);
        return NULL;
    }
    asx__outing_take(outing, &ch->latch);
    if (ASX__UNLIKELY(asx__sender_channel(s) != ch || s->generation != sender->generation_)) {
        asx__outing_end(outing, &ch->latch);
        return NULL;
    }
    *ret_outing = outing;
    return ch;
}

asx_status asx__outside_send(const asx_channel_sender *sender, const asx_cx *cx, bool may_wait,
                             const void *message)
{
    asx__outing outing;
    if (ASX__UNLIKELY(sender == NULL || sender->shared_ == NULL || cx == NULL || message == NULL))
        return ASX__GO_IN;
    asx__channel *ch = begin(sender, cx, &outing);
    if (ASX__UNLIKELY(ch == NULL))
        return ASX__GO_IN;
    asx_status st = asx__outside_put(ch, message);
    if (st == ASX__GO_IN && !may_wait && asx__outside_is_full(ch))
        st = ASX_E_FULL;
    asx__outing_end(outing, &ch->latch);
    return st;
}

/* The running task's own record, and a number for it. NULL: there is none, or it is in use. */
static inline asx__obligation *own_permit(asx__outing outing, const asx__task *task,
                                          const asx__channel *ch, uint64_t *ret_id)
{
    if (outing.leased) {
        asx__extra *extra = task->extra;
        if (ASX__UNLIKELY(extra == NULL || asx__obligation_object(&extra->permit) != NULL))
            return NULL;
        *ret_id = ++outing.worker->rt->registry.last_id;
        return &extra->permit;
    }
    asx__outside *out = &outing.worker->outside;
    asx__obligation *o = out->permit;
    if (ASX__UNLIKELY(o == NULL || asx__obligation_object(o) != NULL))
        return NULL;
    uint64_t id = asx__load_relaxed(&out->next_id), last = asx__load_relaxed(&out->last_id);
    if (ASX__UNLIKELY(id > last))
        return NULL;
    if (ASX__UNLIKELY(id <= ch->first_obligation)) { /* the next ones will be new enough */
        asx__store_relaxed(&out->skipped, asx__load_relaxed(&out->skipped) + last + 1 - id);
        asx__store_relaxed(&out->next_id, last + 1);
        return NULL;
    }
    asx__store_relaxed(&out->next_id, id + 1);
    *ret_id = id;
    return o;
}

asx_status asx__outside_reserve(const asx_channel_sender *sender, const asx_cx *cx, bool may_wait,
                                asx_send_permit *ret_permit)
{
    asx__outing outing;
    if (ASX__UNLIKELY(sender == NULL || sender->shared_ == NULL || cx == NULL ||
                      ret_permit == NULL))
        return ASX__GO_IN;
    asx__channel *ch = begin(sender, cx, &outing);
    if (ASX__UNLIKELY(ch == NULL))
        return ASX__GO_IN;
    uint64_t id = 0;
    asx__obligation *o = NULL;
    if (ASX__LIKELY(asx__outside_has_room(ch)))
        o = own_permit(outing, cx->task_, ch, &id);
    if (ASX__UNLIKELY(o == NULL)) {
        asx_status st = !may_wait && asx__outside_is_full(ch) ? ASX_E_FULL : ASX__GO_IN;
        asx__outing_end(outing, &ch->latch);
        return st;
    }
    asx__outside_claim(ch, o, id);
    asx__outing_end(outing, &ch->latch);
    ret_permit->channel_ = ch;
    ret_permit->obligation_ = id;
    ret_permit->record_ = NULL;
    ret_permit->shared_ = o;
    return ASX_OK;
}

asx_status asx__outside_permit_send(const asx_send_permit *permit, const void *message)
{
    if (ASX__UNLIKELY(permit == NULL || permit->channel_ == NULL || permit->shared_ == NULL ||
                      message == NULL))
        return ASX__GO_IN;
    asx__channel *ch = permit->channel_;
    asx__obligation *o = permit->shared_;
    asx_runtime *rt = ch->home;
    asx__outing outing = asx__outing_begin(rt, NULL);
    if (ASX__UNLIKELY(outing.worker == NULL))
        return ASX__GO_IN;
    /* Somebody else's permit, or one of many: the registry has to know. */
    bool own = outing.leased ? o->index == ASX__OBLIGATION_OWN && o->owner == rt->current
                             : o == outing.worker->outside.permit;
    if (ASX__UNLIKELY(!own)) {
        asx__outing_end(outing, NULL);
        return ASX__GO_IN;
    }
    asx__outing_take(outing, &ch->latch);
    asx_status st = asx__outside_commit(ch, o, permit->obligation_, message);
    asx__outing_end(outing, &ch->latch);
    return st;
}

asx_status asx__outside_recv(const asx_channel_receiver *receiver, const asx_cx *cx,
                             void *ret_message)
{
    if (ASX__UNLIKELY(receiver == NULL || receiver->shared_ == NULL || ret_message == NULL))
        return ASX__GO_IN;
    asx__channel *ch = receiver->shared_;
    if (ASX__UNLIKELY(cx != NULL && !is_shared(cx, ch->home)))
        return ASX__GO_IN;
    asx__outing outing = asx__outing_begin(ch->home, cx != NULL ? cx->task_ : NULL);
    if (ASX__UNLIKELY(outing.worker == NULL))
        return ASX__GO_IN;
    asx__outing_take(outing, &ch->latch);
    asx_status st = ASX__GO_IN;
    if (ASX__LIKELY(ch->rx_generation == receiver->generation_))
        st = asx__outside_take(ch, ret_message, cx == NULL);
    asx__outing_end(outing, &ch->latch);
    return st;
}
