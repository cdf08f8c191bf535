/* recv.c - receiving: one task at a time, oldest message first.
 *
 * A parked receiver implies an empty queue: the sender hands the message to a fiber directly,
 * and queues it and wakes a poll task, which then finds it. So a receive that finds a message need
 * not ask whether another task is receiving.
 */
#include "sync/sync.h"

#define NOINLINE __attribute__((noinline))
#define SPECIAL ASX__T_CHECKED

/* Why the call was not possible. Never ASX_OK. */
static NOINLINE asx_status refuse(const asx_channel_receiver *receiver, const asx_cx *cx,
                                  const void *argument, asx__op_kind kind)
{
    asx__task *task;
    asx_runtime *rt;
    if (receiver == NULL || receiver->channel_ == NULL || cx == NULL || argument == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (receiver->channel_->rx_generation != receiver->generation_) {
        asx_status announced = asx__receiver_announce(receiver, kind);
        return announced < 0 ? announced : asx__receiver_refuse(receiver);
    }
    asx_status st = asx__cx_enter(cx, ASX_CAP_CHANNEL, &task, &rt);
    return st < 0 ? st : ASX_E_WRONG_CONTEXT; /* a task of another runtime */
}

/* The channel behind a live receiver, in the hands of the running task. NULL: see refuse(). */
static inline asx__channel *enter(const asx_channel_receiver *receiver, const asx_cx *cx,
                                  const void *argument)
{
    if (ASX__UNLIKELY(receiver == NULL))
        return NULL;
    asx__channel *ch = receiver->channel_;
    if (ASX__UNLIKELY(ch == NULL || ch->rx_generation != receiver->generation_ || cx == NULL))
        return NULL;
    if (ASX__UNLIKELY(ch->rt->current != cx->task_ || cx->task_ == NULL ||
                      (cx->caps_ & ASX_CAP_CHANNEL) == 0 || argument == NULL))
        return NULL;
    return ch;
}

/* Takes the oldest message out of the queue for `task`. */
static void take(asx__channel *ch, asx__task *task, void *ret_message)
{
    uint64_t number = ch->head++;
    asx__message_copy(ret_message, asx__slot(ch, number), ch->element_size);
    if (ASX__UNLIKELY(ch->rt->tracing)) {
        const asx__message_mark *mark = asx__slot_mark(ch, number);
        asx__channel_journal(ch, task, ASX_EVENT_CHANNEL_RECV, mark->number,
                             asx__channel_queued(ch), mark->seq);
    }
}

void asx__channel_serve_receiver(asx__channel *ch)
{
    asx__task *task = ch->receiver;
    asx_status st = ASX_OK;
    ch->receiver = NULL;
    ch->send_slow &= (uint8_t)~ASX__SEND_PARKED;
    if ((task->flags & ASX__T_POLL) == 0) {
        if (task->w.waits == &ch->waits[ASX__CHANNEL_RECV]) {
            take(ch, task, task->r.io);
        } else {
            asx__ack_io *io = task->r.io;
            st = asx__channel_take_with_ack(ch, task, io->message, &io->ack);
        }
    }
    asx__wake(ch->rt, task, st, false);
}

void asx__recv_unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__channel *ch = asx__channel_of(waitable);
    (void)rt;
    asx__channel_seize(ch);
    ASX__ASSERT(!granted && ch->receiver == task);
    ch->receiver = NULL;
    ch->send_slow &= (uint8_t)~ASX__SEND_PARKED;
}

/* The queue is empty: waits, unless nothing can come. */
static asx_status wait_for_message(asx__channel *ch, asx__task *task, enum asx__channel_wait which,
                                   void *io)
{
    asx_runtime *rt = ch->rt;
    if (ASX__UNLIKELY(asx__channel_tx_gone(ch)))
        return asx__channel_ended(ch);
    if (ASX__UNLIKELY(ch->receiver != NULL && ch->receiver != task))
        return ASX_E_BUSY;
    ch->receiver = task;
    ch->send_slow |= ASX__SEND_PARKED;
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
    if (ASX__UNLIKELY((task->flags & ASX__T_POLL) != 0))
        return asx__wait_on(rt, task, &ch->waits[ASX__CHANNEL_RECV], NULL);
    return asx__park(rt, task, &ch->waits[which], io);
}

/* May the running task wait here? What it gives up for that may fill the queue. */
static asx_status prepare(asx__channel *ch, asx__task *task)
{
    if (ASX__LIKELY((task->flags & ASX__T_POLL) == 0 && !ch->rt->in_cleanup))
        return ASX_OK;
    return asx__wait_prepare(ch->rt, task, &ch->waits[ASX__CHANNEL_RECV]);
}

static NOINLINE asx_status recv_slow(asx__channel *ch, asx__task *task, void *ret_message)
{
    asx__channel_announce(ch, ASX__OP_RECV);
    asx_status st = asx__checkpoint(ch->rt, task);
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (ASX__UNLIKELY(asx__channel_rx_gone(ch)))
        return ASX_E_STALE_HANDLE; /* explored: it was dropped before this turn */
    if (ch->head == ch->tail) {
        st = prepare(ch, task);
        if (ASX__UNLIKELY(st < 0))
            return asx__channel_tx_gone(ch) ? asx__channel_ended(ch) : st;
        if (ASX__LIKELY(ch->head == ch->tail))
            return wait_for_message(ch, task, ASX__CHANNEL_RECV, ret_message);
    }
    take(ch, task, ret_message);
    asx__channel_settle(ch);
    return ASX_OK;
}

/* Nothing is queued: waits, if nothing else is special. */
static NOINLINE asx_status recv_empty(asx__channel *ch, asx__task *task, void *ret_message)
{
    asx_runtime *rt = ch->rt;
    bool poll = (task->flags & ASX__T_POLL) != 0;
    if (ASX__UNLIKELY((task->flags & (SPECIAL | ASX__T_VALUE | ASX__T_INLINE)) != 0 ||
                      rt->in_cleanup || ch->senders == 0 || ch->receiver != NULL ||
                      rt->seam != NULL || (poll && !asx__waits_for_nothing(rt, task))))
        return recv_slow(ch, task, ret_message);
    ch->receiver = task;
    ch->send_slow |= ASX__SEND_PARKED;
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
    if (poll)
        return asx__wait_poll(task, &ch->waits[ASX__CHANNEL_RECV]);
    return asx__park_fiber(rt, task, &ch->waits[ASX__CHANNEL_RECV], ret_message);
}

static NOINLINE asx_status recv_outside(const asx_channel_receiver *receiver, asx_cx *cx,
                                        void *ret_message)
{
    asx_status st = asx__outside_recv(receiver, cx, true, ret_message);
    if (ASX__LIKELY(st <= ASX_OK))
        return st;
    ASX__GATE_RECEIVER_FROM(st, receiver, cx, asx_channel_recv(in_cx, &in, ret_message));
    return refuse(receiver, cx, ret_message, ASX__OP_RECV);
}

static asx_status recv_empty_step(void *ch, void *task, void *ret_message)
{
    return recv_empty(ch, task, ret_message);
}

static asx_status recv_slow_step(void *ch, void *task, void *ret_message)
{
    return recv_slow(ch, task, ret_message);
}

/* Of a shared runtime, or refused: by the lease of the worker, if it has one. */
static NOINLINE asx_status recv_refused(const asx_channel_receiver *receiver, asx_cx *cx,
                                        void *ret_message)
{
    asx__channel *ch =
        receiver != NULL && receiver->channel_ == NULL ? receiver->shared_ : NULL;
    asx__worker *w = ch != NULL && ret_message != NULL ? asx__lessee_of(cx) : NULL;
    if (ASX__UNLIKELY(w == NULL))
        return recv_outside(receiver, cx, ret_message);
    asx__task *task = cx->task_;
    if (ASX__UNLIKELY(ch->home != w->rt || ch->rx_generation != receiver->generation_ ||
                      (cx->caps_ & ASX_CAP_CHANNEL) == 0)) {
        asx__lessee_out(w);
        return recv_outside(receiver, cx, ret_message);
    }
    uint64_t head = ch->head;
    if (ASX__UNLIKELY(head == ch->tail)) {
        if ((task->flags & (ASX__T_POLL | SPECIAL)) == ASX__T_POLL && ch->senders != 0 &&
            ch->receiver == NULL && asx__waits_for_nothing(w->rt, task)) {
            ch->receiver = task;
            ch->send_slow |= ASX__SEND_PARKED;
            asx_status st = asx__wait_poll(task, &ch->waits[ASX__CHANNEL_RECV]);
            asx__lessee_out(w);
            return st;
        }
        asx__lessee_stay(w);
        return asx__then_leave(w->rt, recv_empty_step, ch, task, ret_message);
    }
    if (ASX__UNLIKELY(ch->recv_slow != 0 || (task->flags & SPECIAL) != 0)) {
        asx__lessee_stay(w);
        return asx__then_leave(w->rt, recv_slow_step, ch, task, ret_message);
    }
    memcpy(ret_message, asx__slot_of_8(ch, head), 8);
    ch->head = head + 1;
    asx__lessee_out(w);
    return ASX_OK;
}

asx_status asx_channel_recv(asx_cx *cx, const asx_channel_receiver *receiver, void *ret_message)
{
    asx__channel *ch = enter(receiver, cx, ret_message);
    if (ASX__UNLIKELY(ch == NULL))
        return recv_refused(receiver, cx, ret_message);
    asx__task *task = cx->task_;
    uint64_t head = ch->head;
    if (ASX__UNLIKELY(head == ch->tail))
        return recv_empty(ch, task, ret_message);
    if (ASX__UNLIKELY(ch->recv_slow != 0 || (task->flags & SPECIAL) != 0))
        return recv_slow(ch, task, ret_message);
    memcpy(ret_message, asx__slot_of_8(ch, head), 8);
    ch->head = head + 1;
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
    return ASX_OK;
}

static NOINLINE asx_status try_recv_refused(const asx_channel_receiver *receiver, asx_cx *cx,
                                            void *ret_message)
{
    asx_status st = asx__outside_recv(receiver, cx, false, ret_message);
    if (ASX__LIKELY(st <= ASX_OK))
        return st;
    ASX__GATE_RECEIVER_FROM(st, receiver, cx, asx_channel_try_recv(in_cx, &in, ret_message));
    return refuse(receiver, cx, ret_message, ASX__OP_TRY_RECV);
}

asx_status asx_channel_try_recv(asx_cx *cx, const asx_channel_receiver *receiver, void *ret_message)
{
    asx__channel *ch = enter(receiver, cx, ret_message);
    if (ASX__UNLIKELY(ch == NULL))
        return try_recv_refused(receiver, cx, ret_message);
    asx_status st = asx__receiver_announce(receiver, ASX__OP_TRY_RECV);
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (ASX__UNLIKELY(ch->rx_generation != receiver->generation_)) /* dropped before its turn */
        return asx__receiver_refuse(receiver);
    if (ch->head == ch->tail)
        return asx__channel_tx_gone(ch) ? asx__channel_ended(ch) : ASX_E_EMPTY;
    take(ch, cx->task_, ret_message);
    asx__channel_settle(ch);
    return ASX_OK;
}

asx_status asx_channel_recv_with_ack(asx_cx *cx, const asx_channel_receiver *receiver,
                                     void *ret_message, asx_ack *ret_ack)
{
    ASX__EMPTY(ret_ack);
    asx__channel *ch = enter(receiver, cx, ret_message);
    if (ASX__UNLIKELY(ch == NULL)) {
        ASX__GATE_RECEIVER(receiver, cx,
                           asx__ack_out(asx_channel_recv_with_ack(in_cx, &in, ret_message, ret_ack),
                                        rt, ret_ack));
        return refuse(receiver, cx, ret_message, ASX__OP_RECV_ACK);
    }
    if (ret_ack == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__task *task = cx->task_;
    asx__channel_announce(ch, ASX__OP_RECV_ACK);
    asx_status st = asx__checkpoint(ch->rt, task);
    if (st < 0)
        return st;
    if (ASX__UNLIKELY(asx__channel_rx_gone(ch)))
        return ASX_E_STALE_HANDLE; /* likewise */
    st = asx__cells_reserve(ch);
    if (st < 0)
        return st;
    if (ch->head == ch->tail) {
        st = prepare(ch, task);
        if (st < 0)
            return asx__channel_tx_gone(ch) ? asx__channel_ended(ch) : st;
        if (ch->head == ch->tail) {
            asx__ack_io io = { .message = ret_message };
            st = wait_for_message(ch, task, ASX__CHANNEL_RECV_ACK, &io);
            if (st == ASX_OK)
                *ret_ack = io.ack;
            return st;
        }
    }
    st = asx__channel_take_with_ack(ch, task, ret_message, ret_ack);
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
    return st;
}
