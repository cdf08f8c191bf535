/* broadcast.c - a ring that every receiver reads for itself.
 *
 *     messages are numbered from 0; the ring has those from oldest(b) to sent - 1
 *     oldest = sent < capacity ? 0 : sent - capacity
 *     a receiver has read all before `next`; next < oldest: it has missed some
 *     a receiver waits => it has read all, and the broadcast is open
 *
 * A fiber that waits gets the message written by the sender; a poll task is woken and finds it, or
 * finds that it has missed it. A receiver's record is in the slab of the objects and laid out like
 * them as far as a handle looks. A dropped one is recycled at once; its handle knows the broadcast
 * too, to tell "dropped" from "gone".
 */
#include "sync/object.h"

#include <asx/broadcast.h>

#define HEAD(broadcast_) ((asx__sync *)(void *)(broadcast_))

typedef struct asx__subscriber {
    asx__node link;      /* among the receivers of its broadcast; overwritten while in the slab */
    asx_runtime *home;   /* I: set once, for all lives of the record */
    uint64_t generation; /* ASX__NO_GENERATION: dropped, or its broadcast is gone */
    struct asx__broadcast *broadcast;
    uint64_t next;
    asx__task *task;     /* parked in it */
    uint32_t index;
} asx__subscriber;
_Static_assert(offsetof(asx__subscriber, home) == offsetof(asx__sync, home) &&
                   offsetof(asx__subscriber, generation) == offsetof(asx__sync, generation),
               "a handle of either may look at a record that is the other now");

typedef struct asx__broadcast {
    asx__sync sync;
    char *ring;          /* I */
    size_t element_size; /* I */
    uint64_t capacity;   /* I */
    uint64_t sent;
    asx__node receivers;
    size_t receiver_count;
    bool closed;
} asx__broadcast;
_Static_assert(sizeof(asx__broadcast) <= ASX__SYNC_RECORD_SIZE, "fits the slab");

typedef struct recv_io {
    asx__subscriber *subscriber;
    void *message;
} recv_io;

static uint64_t oldest(const asx__broadcast *b)
{
    return b->sent < b->capacity ? 0 : b->sent - b->capacity;
}

static char *slot(const asx__broadcast *b, uint64_t number)
{
    return b->ring + (size_t)(number % b->capacity) * b->element_size;
}

static asx__subscriber *subscriber_of(const asx__task *task)
{
    if (task->flags & ASX__T_POLL)
        return (asx__subscriber *)(uintptr_t)task->extra->wait_note;
    return ((const recv_io *)task->r.io)->subscriber;
}

/* The running task is about to do an operation; the receiver by its generation. */
static uint64_t announce(const asx__broadcast *b, asx__op_kind kind, uint64_t receiver, bool counts)
{
    return asx__sync_announce(&b->sync, kind, .broadcast = { b->capacity, receiver, counts });
}

/* ---- life ----------------------------------------------------------------------------------- */

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    (void)rt;
    ASX__ASSERT(!granted);
    subscriber_of(task)->task = NULL;
    asx__sync_unlink(asx__sync_of(waitable), task);
}

static void wake_all(asx__broadcast *b, asx_status status)
{
    while (b->sync.waiting != 0) {
        asx__task *task = asx__sync_first(&b->sync);
        unpublish(b->sync.rt, task, asx__sync_waitable(&b->sync, 0), false);
        asx__wake(b->sync.rt, task, status, false);
    }
}

static void recycle(asx__broadcast *b, asx__subscriber *r)
{
    asx__list_remove(&r->link);
    b->receiver_count--;
    r->generation = ASX__NO_GENERATION;
    asx__slab_release(&b->sync.rt->syncs, r, r->index);
}

static void end(asx__sync *s)
{
    asx__broadcast *b = (asx__broadcast *)(void *)s;
    wake_all(b, ASX_E_DISCONNECTED);
    while (!asx__list_empty(&b->receivers))
        recycle(b, (asx__subscriber *)(void *)b->receivers.next);
}

static const asx__sync_type broadcast_type = {
    .kind = ASX__SYNC_BROADCAST,
    .is_channel = true,
    .created = ASX_EVENT_BROADCAST_CREATE,
    .waits = { { ASX__WAIT_BROADCAST_RECV, NULL, unpublish } },
    .end = end,
};

asx_status asx_broadcast_create(const asx_region *region, size_t element_size, size_t capacity,
                                const asx_broadcast_options *options, asx_broadcast *ret_broadcast)
{
    ASX__EMPTY(ret_broadcast);
    ASX__GATE_REGION(region, asx_broadcast_create(&in, element_size, capacity, options,
                                                  ret_broadcast));
    asx__sync *s = NULL;
    void *memory = NULL;
    size_t bytes = 0;
    bool good = ret_broadcast != NULL && element_size != 0 && capacity != 0;
    if (__builtin_mul_overflow(element_size, capacity, &bytes))
        bytes = SIZE_MAX; /* more than there can be */
    asx_status st =
        asx__sync_create(region, &broadcast_type, ASX__NAME_OF(options), bytes, good, &s, &memory);
    if (st < 0)
        return st;
    asx__broadcast *b = (asx__broadcast *)(void *)s;
    b->ring = memory;
    b->element_size = element_size;
    b->capacity = capacity;
    asx__list_init(&b->receivers);
    asx__sync_created(s, capacity);
    ret_broadcast->broadcast_ = b;
    ret_broadcast->generation_ = s->generation;
    return ASX_OK;
}

static asx_status subscribe(asx__broadcast *b, asx__subscriber **ret_subscriber)
{
    asx_runtime *rt = b->sync.rt;
    uint32_t index;
    (void)announce(b, ASX__OP_SUBSCRIBE, 0, false);
    if (b->closed)
        return asx__sync_found(&b->sync, ASX_E_DISCONNECTED);
    asx__subscriber *r = asx__slab_alloc(rt, &rt->syncs, &index);
    if (r == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    if (r->home == NULL)
        r->home = rt;
    r->index = index;
    r->broadcast = b;
    r->next = b->sent;
    r->task = NULL;
    r->generation = asx__endpoint_generation(rt);
    asx__list_push_back(&b->receivers, &r->link);
    b->receiver_count++;
    asx__creates(rt, .event = ASX_EVENT_BROADCAST_SUBSCRIBE, .generation = r->generation,
                 .state = r->next);
    if (rt->tracing)
        asx__sync_journal(&b->sync, rt->current, ASX_EVENT_BROADCAST_SUBSCRIBE, b->receiver_count,
                          b->sent, 0);
    *ret_subscriber = r;
    return ASX_OK;
}

asx_status asx_broadcast_subscribe(const asx_broadcast *broadcast,
                                   asx_broadcast_receiver *ret_receiver)
{
    ASX__EMPTY(ret_receiver);
    asx__subscriber *r = NULL;
    if (broadcast == NULL || ret_receiver == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(broadcast, broadcast_, NULL, asx_broadcast_subscribe(broadcast, ret_receiver));
    asx_status st = asx__sync_resolve(HEAD(broadcast->broadcast_), broadcast->generation_,
                                      ASX_E_DISCONNECTED);
    if (st == ASX_OK)
        st = subscribe(broadcast->broadcast_, &r);
    if (st < 0)
        return st;
    *ret_receiver = (asx_broadcast_receiver){ r, r->generation, *broadcast };
    return ASX_OK;
}

/* ---- sending -------------------------------------------------------------------------------- */

/* Takes the next message for a receiver that has not missed it. */
static void take(asx__broadcast *b, asx__subscriber *r, const asx__task *task, void *ret_message)
{
    asx__message_copy(ret_message, slot(b, r->next), b->element_size);
    r->next++;
    if (b->sync.rt->tracing)
        asx__sync_journal(&b->sync, task, ASX_EVENT_BROADCAST_RECV, r->next, b->sent - r->next,
                          b->sync.seq);
}

static asx_status send(asx__broadcast *b, const void *message)
{
    if (b->closed)
        return asx__sync_found(&b->sync, ASX_E_DISCONNECTED);
    asx__message_copy(slot(b, b->sent), message, b->element_size);
    b->sent++;
    if (b->sync.rt->tracing)
        b->sync.seq = asx__sync_journal(&b->sync, b->sync.rt->current, ASX_EVENT_BROADCAST_SEND,
                                        b->sent, b->receiver_count, 0);
    while (b->sync.waiting != 0) {
        asx__task *task = asx__sync_first(&b->sync);
        asx__subscriber *r = subscriber_of(task);
        unpublish(b->sync.rt, task, asx__sync_waitable(&b->sync, 0), false);
        if ((task->flags & ASX__T_POLL) == 0)
            take(b, r, task, ((recv_io *)task->r.io)->message);
        asx__wake(b->sync.rt, task, ASX_OK, false);
    }
    return ASX_OK;
}

asx_status asx_broadcast_send(const asx_broadcast *broadcast, const void *message,
                              size_t *ret_receivers)
{
    ASX__EMPTY(ret_receivers);
    if (broadcast == NULL || message == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(broadcast, broadcast_, NULL,
                   asx_broadcast_send(broadcast, message, ret_receivers));
    asx__broadcast *b = broadcast->broadcast_;
    asx_status st = asx__sync_resolve(HEAD(b), broadcast->generation_, ASX_E_DISCONNECTED);
    if (st == ASX_OK)
        (void)announce(b, ASX__OP_BROADCAST_SEND, 0, ret_receivers != NULL);
    if (st == ASX_OK)
        st = send(b, message);
    if (st == ASX_OK && ret_receivers != NULL)
        *ret_receivers = b->receiver_count;
    return st;
}

static asx_status close_broadcast(asx__broadcast *b)
{
    (void)announce(b, ASX__OP_BROADCAST_CLOSE, 0, false);
    if (b->closed)
        return asx__sync_found(&b->sync, ASX_E_DISCONNECTED);
    b->closed = true;
    if (b->sync.rt->tracing)
        asx__sync_journal(&b->sync, b->sync.rt->current, ASX_EVENT_BROADCAST_CLOSE, 0, 0, 0);
    wake_all(b, ASX_E_DISCONNECTED);
    return ASX_OK;
}

asx_status asx_broadcast_close(const asx_broadcast *broadcast)
{
    if (broadcast == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(broadcast, broadcast_, NULL, asx_broadcast_close(broadcast));
    asx_status st = asx__sync_resolve(HEAD(broadcast->broadcast_), broadcast->generation_,
                                      ASX_E_DISCONNECTED);
    return st < 0 ? st : close_broadcast(broadcast->broadcast_);
}

/* ---- receiving ------------------------------------------------------------------------------ */

/* Whose record this handle names. */
static asx_status resolve(const asx_broadcast_receiver *receiver)
{
    const asx__subscriber *r = receiver->subscriber_;
    if (r == NULL || receiver->generation_ == 0 || receiver->of_.broadcast_ == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (r->generation == receiver->generation_)
        return ASX_OK;
    return asx__sync_resolve(HEAD(receiver->of_.broadcast_), receiver->of_.generation_,
                             ASX_E_DISCONNECTED) == ASX_OK
               ? ASX_E_STALE_HANDLE
               : ASX_E_DISCONNECTED;
}

/* Explored: an operation, whatever has become of the receiver before. ASX_E_CANCELLED. */
static asx_status announce_receiver(const asx_broadcast_receiver *receiver, asx__op_kind kind)
{
    const asx__broadcast *b = receiver->of_.broadcast_;
    if (ASX__LIKELY(b == NULL || b->sync.home->seam == NULL) ||
        b->sync.generation != receiver->of_.generation_)
        return ASX_OK;
    asx_runtime *rt = b->sync.rt;
    uint64_t found = announce(b, kind, receiver->generation_, false);
    return found == ASX__IS_CANCELLED ? asx__checkpoint(rt, rt->current) : ASX_OK;
}

/* What can be had without waiting; ASX_E_EMPTY: nothing. */
static asx_status take_next(asx__broadcast *b, asx__subscriber *r, const asx__task *task,
                            void *ret_message, uint64_t *ret_missed)
{
    uint64_t first = oldest(b);
    if (r->next < first) {
        uint64_t missed = first - r->next;
        r->next = first;
        if (b->sync.rt->tracing)
            asx__sync_journal(&b->sync, task, ASX_EVENT_BROADCAST_LAG, missed, 0, b->sync.seq);
        if (ret_missed != NULL)
            *ret_missed = missed;
        return ASX_E_LAGGED;
    }
    if (r->next == b->sent)
        return b->closed ? asx__sync_found(&b->sync, ASX_E_DISCONNECTED) : ASX_E_EMPTY;
    take(b, r, task, ret_message);
    return ASX_OK;
}

static asx_status recv(asx_runtime *rt, asx__task *task, asx__subscriber *r, void *ret_message,
                       uint64_t *ret_missed)
{
    asx__broadcast *b = r->broadcast;
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    st = take_next(b, r, task, ret_message, ret_missed);
    if (st != ASX_E_EMPTY)
        return st;
    if (r->task != NULL && r->task != task)
        return ASX_E_BUSY;
    if ((task->flags & ASX__T_POLL) && asx__task_extra(rt, task) == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    st = asx__wait_prepare(rt, task, asx__sync_waitable(&b->sync, 0));
    if (st < 0)
        return st;
    if (task->flags & ASX__T_POLL)
        task->extra->wait_note = (uintptr_t)r;
    r->task = task;
    recv_io io = { r, ret_message };
    return asx__sync_wait_in(&b->sync, task, 0, &io);
}

asx_status asx_broadcast_recv(asx_cx *cx, const asx_broadcast_receiver *receiver, void *ret_message,
                              uint64_t *ret_missed)
{
    ASX__EMPTY(ret_missed);
    asx__task *task;
    if (receiver == NULL || ret_message == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(receiver, of_.broadcast_, cx,
                   asx_broadcast_recv(in_cx, receiver, ret_message, ret_missed));
    asx_status st = announce_receiver(receiver, ASX__OP_BROADCAST_RECV);
    if (st == ASX_OK)
        st = resolve(receiver);
    if (st < 0)
        return st;
    asx__broadcast *b = receiver->subscriber_->broadcast;
    st = asx__sync_enter(&b->sync, b->sync.generation, ASX_E_DISCONNECTED, cx, &task);
    return st < 0 ? st
                  : recv(b->sync.rt, task, receiver->subscriber_, ret_message, ret_missed);
}

asx_status asx_broadcast_try_recv(asx_cx *cx, const asx_broadcast_receiver *receiver,
                                  void *ret_message, uint64_t *ret_missed)
{
    ASX__EMPTY(ret_missed);
    asx__task *task;
    if (receiver == NULL || ret_message == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(receiver, of_.broadcast_, cx,
                   asx_broadcast_try_recv(in_cx, receiver, ret_message, ret_missed));
    (void)announce_receiver(receiver, ASX__OP_BROADCAST_TRY_RECV);
    asx_status st = resolve(receiver);
    if (st < 0)
        return st;
    asx__broadcast *b = receiver->subscriber_->broadcast;
    st = asx__sync_enter(&b->sync, b->sync.generation, ASX_E_DISCONNECTED, cx, &task);
    return st < 0 ? st : take_next(b, receiver->subscriber_, task, ret_message, ret_missed);
}

asx_status asx_broadcast_receiver_drop(asx_broadcast_receiver *receiver)
{
    if (receiver == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(receiver, of_.broadcast_, NULL, asx_broadcast_receiver_drop(receiver));
    (void)announce_receiver(receiver, ASX__OP_UNSUBSCRIBE);
    asx_status st = resolve(receiver);
    if (st < 0)
        return st;
    asx__subscriber *r = receiver->subscriber_;
    asx__broadcast *b = r->broadcast;
    asx__task *task = r->task;
    if (task != NULL) { /* another task was receiving through it */
        unpublish(b->sync.rt, task, asx__sync_waitable(&b->sync, 0), false);
        asx__wake(b->sync.rt, task, ASX_E_STALE_HANDLE, false);
    }
    recycle(b, r);
    if (b->sync.rt->tracing)
        asx__sync_journal(&b->sync, b->sync.rt->current, ASX_EVENT_BROADCAST_DROP,
                          b->receiver_count, 0, 0);
    return ASX_OK;
}
