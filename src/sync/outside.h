/* outside.h - the steps of outside.c on a channel, the latch of whose side is held, inline.
 *
 * Each does all of it or, answering ASX__GO_IN, nothing. They may be called only when no task
 * waits: then the invariants of sync.h hold after them as they did before.
 */
#ifndef ASX_SYNC_OUTSIDE_H
#define ASX_SYNC_OUTSIDE_H

#include <string.h>

#include "sync/sync.h"

/* A test that wants to see whether two are here at once says how. */
#ifndef ASX__OUTSIDE_TOUCH
#define ASX__OUTSIDE_TOUCH(ch, senders_side) ((void)(ch))
#define ASX__OUTSIDE_SLOT(number, writes) ((void)(number))
#endif

/* Senders' side: is there room for a claim, if so much is allowed? */
static inline bool asx__outside_has_room(asx__channel *ch, uint64_t room)
{
    if (ASX__LIKELY(ch->claims - ch->head_seen < room))
        return true;
    ch->head_seen = asx__load_acquire(&ch->head_shared); /* partner: asx__outside_take() */
    return ch->claims - ch->head_seen < room;
}

/* Senders' side, after it had no room: it is full, and not just closed. */
static inline bool asx__outside_is_full(const asx__channel *ch)
{
    return ch->room != 0 && ch->claims - ch->head_seen >= ch->capacity;
}

/* Senders' side, into the next slot; a claim is taken. */
static inline asx_status asx__outside_push(asx__channel *ch, const void *message)
{
    uint64_t tail = ch->tail;
    ASX__OUTSIDE_SLOT(tail, true);
    if (ASX__LIKELY(ch->send_slow == 0))
        memcpy(asx__slot_of_8(ch, tail), message, 8);
    else if (ch->send_slow == ASX__SEND_SIZE)
        memcpy(asx__slot(ch, tail), message, ch->element_size);
    else
        return ASX__GO_IN;
    asx__store_release(&ch->tail_shared, tail + 1); /* partner: asx__outside_take() */
    return ASX_OK;
}

static inline asx_status asx__outside_put(asx__channel *ch, const void *message)
{
    ASX__OUTSIDE_TOUCH(ch, true);
    if (ASX__UNLIKELY(!asx__outside_has_room(ch, ch->room)))
        return ASX__GO_IN;
    asx_status st = asx__outside_push(ch, message);
    if (ASX__LIKELY(st == ASX_OK))
        ch->claims++;
    return st;
}

/* There is room; `o` is not in use. */
static inline void asx__outside_claim(asx__channel *ch, asx__obligation *o, uint64_t id)
{
    ASX__OUTSIDE_TOUCH(ch, true);
    asx__store_relaxed(&o->id, id);
    asx__store_relaxed(&o->object, ch);
    ch->claims++;
}

static inline asx_status asx__outside_commit(asx__channel *ch, asx__obligation *o, uint64_t id,
                                             const void *message)
{
    ASX__OUTSIDE_TOUCH(ch, true);
    if (ASX__UNLIKELY(asx__obligation_object(o) != ch || asx__obligation_id(o) != id))
        return ASX__GO_IN;
    asx_status st = asx__outside_push(ch, message);
    if (ASX__LIKELY(st == ASX_OK))
        asx__store_relaxed(&o->object, NULL);
    return st;
}

/* The receiver's side. `try`: nothing there, but that may change, is an answer. */
static inline asx_status asx__outside_take(asx__channel *ch, void *ret_message, bool try)
{
    ASX__OUTSIDE_TOUCH(ch, false);
    uint64_t head = ch->head;
    if (ASX__UNLIKELY((int64_t)(ch->tail_seen - head) <= 0)) {
        ch->tail_seen = asx__load_acquire(&ch->tail_shared); /* partner: asx__outside_push() */
        if (head == ch->tail_seen)
            return try && ch->senders != 0 ? ASX_E_EMPTY : ASX__GO_IN;
    }
    ASX__OUTSIDE_SLOT(head, false);
    if (ASX__LIKELY(ch->recv_slow == 0))
        memcpy(ret_message, asx__slot_of_8(ch, head), 8);
    else if (ch->recv_slow == ASX__RECV_SIZE)
        memcpy(ret_message, asx__slot(ch, head), ch->element_size);
    else
        return ASX__GO_IN;
    asx__store_release(&ch->head_shared, head + 1); /* partner: asx__outside_has_room() */
    return ASX_OK;
}

#endif
