/* outside.c - channel calls of a running task that need no other one, without the engine.
 *
 * In a shared runtime a task that reserves, sends or receives finds most of the time that there is
 * room, or a message, and no task waits. Then all that changes is the channel, and a record that is
 * the task's own. Such a call is an outing (engine.h): under the worker's lease if it has one, else
 * under one of the channel's latches. Whatever needs more than that enters the engine as ever:
 * waiting, waking, a receiver that is gone, a second permit at a time, a task that was cancelled.
 *
 * A channel has two sides, each with a latch: that of the senders has claims and tail, that of the
 * receiver has head. A side looks at the other's counter only when by what it saw last there is no
 * room, or no message; so a stream of messages from core to core hands few cache lines over.
 *
 *   where               order     partner             without it
 *   push    tail        release   take: tail          a message is read before it was written
 *   take    head        release   has_room: head      a slot is written before it was read
 *
 * What is looked at, and why it may be
 *   the channel      under the latch of one side; code of the engine seizes both before it looks
 *                    (latch.h)
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

#define NOINLINE __attribute__((noinline))

/* May this be tried? What is not right is told inside. */
static inline bool is_shared(const asx_cx *cx, const asx_runtime *rt)
{
    return (cx->caps_ & ASX_CAP_CHANNEL) != 0 && cx->rt_->behind == rt && rt != NULL;
}

/* Where one call after the other had to enter, as when two tasks play ball, the next ones do so at
 * once, all but one in sixteen. A guess: it costs time if it is wrong, and nothing else. */
#define VAIN_MAX 4u
#define VAIN_AGAIN 16u

static inline bool hopeless(asx__atomic_u32 *vain)
{
    uint32_t n = asx__load_relaxed(vain);
    if (ASX__LIKELY(n < VAIN_MAX))
        return false;
    asx__store_relaxed(vain, n + 1);
    return n % VAIN_AGAIN != 0;
}

static inline void learn(asx__atomic_u32 *vain, asx_status st)
{
    uint32_t n = asx__load_relaxed(vain);
    if (ASX__UNLIKELY(st == ASX__GO_IN))
        asx__store_relaxed(vain, n + 1);
    else if (ASX__UNLIKELY(n != 0))
        asx__store_relaxed(vain, 0u);
}

/* The end of an outing. What cannot be done goes on inside, if that is where we are. */
static inline asx_status end(asx__outing outing, asx__latch *latch, asx_status st)
{
    if (ASX__UNLIKELY(st == ASX__GO_IN && outing.leased)) {
        asx__outing_stay(outing);
        return ASX__GONE_IN;
    }
    asx__outing_end(outing, latch);
    return st;
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
    asx__outing_take(outing, &ch->tx_latch);
    if (ASX__UNLIKELY(asx__sender_channel(s) != ch || s->generation != sender->generation_)) {
        asx__outing_end(outing, &ch->tx_latch);
        return NULL;
    }
    *ret_outing = outing;
    return ch;
}

asx_status asx__outside_send(const asx_channel_sender *sender, const asx_cx *cx, bool may_wait,
                             const void *message)
{
    asx__outing outing;
    if (ASX__UNLIKELY(sender == NULL || sender->sender_ != NULL || sender->shared_ == NULL ||
                      cx == NULL || message == NULL))
        return ASX__GO_IN;
    asx__channel *ch = begin(sender, cx, &outing);
    if (ASX__UNLIKELY(ch == NULL))
        return ASX__GO_IN;
    asx_status st = asx__outside_put(ch, message);
    if (st == ASX__GO_IN && !may_wait && asx__outside_is_full(ch))
        st = ASX_E_FULL;
    return end(outing, &ch->tx_latch, st);
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
    if (ASX__UNLIKELY(sender == NULL || sender->sender_ != NULL || sender->shared_ == NULL ||
                      cx == NULL || ret_permit == NULL))
        return ASX__GO_IN;
    asx__channel *ch = begin(sender, cx, &outing);
    if (ASX__UNLIKELY(ch == NULL))
        return ASX__GO_IN;
    uint64_t id = 0;
    asx__obligation *o = NULL;
    if (ASX__LIKELY(asx__outside_has_room(ch, ch->easy_room)))
        o = own_permit(outing, cx->task_, ch, &id);
    if (ASX__UNLIKELY(o == NULL)) {
        asx_status st = !may_wait && asx__outside_is_full(ch) ? ASX_E_FULL : ASX__GO_IN;
        return end(outing, &ch->tx_latch, st);
    }
    asx__outside_claim(ch, o, id);
    asx__outing_end(outing, &ch->tx_latch);
    ret_permit->channel_ = ch;
    ret_permit->obligation_ = id;
    ret_permit->record_ = NULL;
    ret_permit->shared_ = o;
    return ASX_OK;
}

static NOINLINE asx_status commit(const asx_send_permit *permit, asx_runtime *rt,
                                  const void *message)
{
    asx__channel *ch = permit->channel_;
    asx__obligation *o = permit->shared_;
    asx__outing outing = asx__outing_begin(rt, NULL);
    if (ASX__UNLIKELY(outing.worker == NULL))
        return ASX__GO_IN;
    /* Another task's permit, or one of many: the registry has to know. */
    bool own = outing.leased ? o->index == ASX__OBLIGATION_OWN && o->owner == rt->current
                             : o == outing.worker->outside.permit;
    if (ASX__UNLIKELY(!own)) {
        asx__outing_end(outing, NULL);
        return ASX__GO_IN;
    }
    asx__outing_take(outing, &ch->tx_latch);
    asx_status st = asx__outside_commit(ch, o, permit->obligation_, message);
    learn(&ch->tx_vain, st);
    return end(outing, &ch->tx_latch, st);
}

asx_status asx__outside_permit_send(const asx_send_permit *permit, const void *message)
{
    if (ASX__UNLIKELY(permit == NULL || permit->record_ != NULL || permit->channel_ == NULL ||
                      permit->shared_ == NULL || message == NULL))
        return ASX__GO_IN;
    asx__channel *ch = permit->channel_;
    return hopeless(&ch->tx_vain) ? ASX__GO_IN : commit(permit, ch->home, message);
}

static NOINLINE asx_status take(const asx_channel_receiver *receiver, const asx__task *task,
                                bool may_wait, void *ret_message)
{
    asx__channel *ch = receiver->shared_;
    asx__outing outing = asx__outing_begin(ch->home, task);
    if (ASX__UNLIKELY(outing.worker == NULL))
        return ASX__GO_IN;
    asx__outing_take(outing, &ch->rx_latch);
    asx_status st = ASX__GO_IN;
    if (ASX__LIKELY(ch->rx_generation == receiver->generation_))
        st = asx__outside_take(ch, ret_message, !may_wait);
    learn(&ch->rx_vain, st);
    return end(outing, &ch->rx_latch, st);
}

asx_status asx__outside_recv(const asx_channel_receiver *receiver, const asx_cx *cx, bool may_wait,
                             void *ret_message)
{
    if (ASX__UNLIKELY(receiver == NULL || receiver->channel_ != NULL || receiver->shared_ == NULL ||
                      cx == NULL || ret_message == NULL))
        return ASX__GO_IN;
    asx__channel *ch = receiver->shared_;
    if (ASX__UNLIKELY(!is_shared(cx, ch->home) || cx->task_ == NULL))
        return ASX__GO_IN;
    if (hopeless(&ch->rx_vain))
        return ASX__GO_IN;
    return take(receiver, cx->task_, may_wait, ret_message);
}
