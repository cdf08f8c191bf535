/* sync.h - the inside of a two-phase channel.
 *
 * Words
 *   claim     a right to one slot: a permit, a queued message, a message without its ack, or the
 *             grant of a poll task that has not picked it up yet
 *   permit    a claim that has no message yet; an obligation of the task that holds it
 *   grant     capacity given to a waiting poll task, which turns it into a permit when it repeats
 *             its call
 *   waiter    a task parked in reserve or send, in the order in which they came
 *   cell      where a message stays while its ack is outstanding
 *
 * Counters only grow on the way of a message, so that each operation writes one of them:
 *
 *     claims   claims ever taken     reserve +1, abort -1, receive with ack +1, commit or nack -1
 *     tail     messages ever sent    send +1
 *     head     messages ever taken   receive, evict, discard +1; nack -1
 *
 *     queued   = tail - head
 *     reserved = claims - tail       permits, grants and messages without ack
 *     used     = claims - head       = queued + reserved
 *
 * Invariants (asx__channel_is_valid), between two operations
 *     head <= tail <= claims, used <= capacity
 *     a waiter exists    => used == capacity and the receiver is not dropped
 *     a receiver parked  => queued == 0 and the sending side is not gone
 *     room == capacity while the receiver is not dropped, else 0
 *     easy_room == room without journal and ceiling on obligations, else 0
 *
 * Because capacity that becomes free is handed at once to the first waiter, "senders wait" implies
 * "full", and one comparison answers both. Code that frees capacity, sends, or ends the last of the
 * sending side calls asx__channel_settle(), which re-establishes the second and third line.
 *
 * The sending side is gone when no sender, no permit, no grant and no waiter is left: a receiver
 * that got ASX_E_DISCONNECTED while a task held a permit would miss that message. Messages
 * without ack do not count, because the receiver itself usually holds them. A fiber that waits
 * through a sender which another one drops goes on waiting; a poll task is refused when it repeats
 * its call through it, and what it was granted passes on.
 *
 * Endpoints after the end. Generations come from one counter of the runtime. A sender's record
 * serves the same channel until that retires, also when the sender was dropped and a clone took
 * the record over. So a generation that does not match but is not older than the record's channel
 * belongs to a dropped sender (ASX_E_STALE_HANDLE), and an older one, or any when the record has
 * no channel, to a channel that is gone (ASX_E_DISCONNECTED). Permits and acks are told apart in
 * the same way by the number of the last obligation before the channel was made.
 *
 * A poll task with a grant points to the channel's waitable until it runs again. A channel that
 * retires before that keeps its record until the last grant has come back.
 *
 * The slot of a message follows from its number. Rings of messages of up to 8 bytes have a power of
 * two of slots, so that this takes no division; others have `capacity`.
 *
 * Rejected: counters of queued and reserved slots (two of them change with every message); letting
 * a woken sender take its capacity itself (others could pass it, and the wake would have to be
 * passed on when it was cancelled); returning records of dropped senders to the runtime (then
 * nothing could tell dropped from retired).
 */
#ifndef ASX_SYNC_SYNC_H
#define ASX_SYNC_SYNC_H

#include <string.h>

#include "sched/engine.h"
#include "sched/hot.h"
#include "sched/lessee.h"
#include "sched/obligation.h"

/* What a task can wait for in a channel; also tells the waker what the task's `io` is. A poll task
 * never waits as TRACKED or RECV_ACK, because it repeats its call anyway. */
enum asx__channel_wait {
    ASX__CHANNEL_RESERVE,  /* io: asx_send_permit * */
    ASX__CHANNEL_TRACKED,  /* io: asx__tracked_io * */
    ASX__CHANNEL_SEND,     /* io: the message, const */
    ASX__CHANNEL_RECV,     /* io: where the message goes */
    ASX__CHANNEL_RECV_ACK, /* io: asx__ack_io * */
    ASX__CHANNEL_WAITS
};

typedef struct asx__tracked_io {
    asx_send_permit permit;
    const char *site;
} asx__tracked_io;

typedef struct asx__ack_io {
    void *message;
    asx_ack ack;
} asx__ack_io;

/* Why a send cannot take the shortest way ... */
enum {
    ASX__SEND_PARKED = 1u << 0,  /* a receiver waits */
    ASX__SEND_GONE = 1u << 1,    /* the receiver was dropped */
    ASX__SEND_TRACED = 1u << 2,
    ASX__SEND_SIZE = 1u << 3     /* messages are not 8 bytes */
};
/* ... and a receive. */
enum {
    ASX__RECV_WAITERS = 1u << 0, /* senders wait for the slot */
    ASX__RECV_TRACED = 1u << 1,
    ASX__RECV_SIZE = 1u << 2
};

/* What the journal knows of a message; kept while tracing only. */
typedef struct asx__message_mark {
    uint64_t number; /* counted from 1 */
    uint64_t seq;    /* event without which it could not be received */
} asx__message_mark;

typedef struct asx__cell {
    asx__message_mark mark;
    uint32_t next; /* free cell, index + 1; 0: none */
    uint32_t reserved[3];
    /* the message follows, aligned for any type */
} asx__cell;

/* Cells come in chunks of 8, 16, 32, ... from the region's memory, as they are needed. */
#define ASX__CELL_CHUNKS 28u
typedef struct asx__cells {
    char *chunk[ASX__CELL_CHUNKS];
    size_t stride;
    uint32_t made;
    uint32_t free; /* index + 1 */
    uint64_t used; /* messages without ack */
} asx__cells;

/* Of an endpoint that was dropped: no endpoint has it, and neither has a zeroed one. */
#define ASX__NO_GENERATION UINT64_MAX

typedef struct asx__sender {
    asx__node free;                /* overwritten while in the slab */
    uint64_t generation;           /* ASX__NO_GENERATION: dropped */
    asx__atomic_ptr channel;       /* A: looked at without the engine; NULL: it serves none */
    struct asx__sender *next;      /* of the same channel, dropped ones included */
    struct asx__sender *next_free; /* dropped ones */
    uint32_t index;
    asx_runtime *home;             /* I: set once, for all lives of the record */
} asx__sender;

/* What outings of senders write, what those of the receiver write, and what no task writes lie in
 * cache lines of their own: see outside.c. */
#define ASX__CHANNEL_GAP 56
#define ASX__SHORT_MESSAGE 8 /* bytes */

typedef struct asx__channel {
    asx__resident resident;
    asx_runtime *rt;
    char *ring;             /* I */
    uint64_t mask;          /* I: slots of the ring - 1, for short messages */
    size_t element_size;    /* I */
    uint64_t capacity;      /* I */
    uint64_t first_obligation; /* I: permits and acks have higher numbers */
    uint32_t senders;       /* not dropped */
    bool finalized;
    bool retired;           /* keeps its record for the grants */
    bool dropping;          /* `scratch` holds a message that the drop callback looks at */
    char gap1[ASX__CHANNEL_GAP];

    uint64_t rx_generation; /* ASX__NO_GENERATION: dropped */
    union {
        uint64_t head;
        asx__atomic_u64 head_shared; /* A: outings of senders look at it */
    };
    uint64_t tail_seen;     /* outings of the receiver: tail was this, and is no less */
    uint8_t recv_slow;
    char gap2[ASX__CHANNEL_GAP];

    uint64_t claims;
    union {
        uint64_t tail;
        asx__atomic_u64 tail_shared; /* A: outings of the receiver look at it */
    };
    uint64_t head_seen;     /* outings of senders: head was this, and is no less */
    uint64_t room;          /* capacity, or 0 when the receiver is gone */
    uint64_t easy_room;     /* likewise, and 0 when making a permit takes the long way */
    uint8_t send_slow;
    char gap3[ASX__CHANNEL_GAP];

    asx__task *receiver;    /* parked in RECV or RECV_ACK */
    asx__node waiters;      /* tasks by their node */
    asx__waitable waits[ASX__CHANNEL_WAITS];
    uint64_t generation;    /* I: the receiver's; no endpoint of it is older */
    uint64_t grants;
    asx__region *region;    /* I */
    asx__sender *all_senders;
    asx__sender *free_senders;
    asx__cells *cells;      /* NULL: no ack was ever asked for */
    asx__message_mark *marks; /* one per slot, while tracing */
    void (*drop)(void *ctx, void *message); /* I */
    void *drop_ctx;         /* I */
    char *scratch;          /* room for one message, if there is a drop callback */
    const char *name;       /* I */
    uint64_t evicted;       /* by asx_channel_send_evict_oldest() ... */
    uint64_t evicted_lost;  /* ... of these without a place to go */
    uint64_t lost;          /* discarded otherwise */
    uint32_t index;

    asx_runtime *home;      /* I: set once, for all lives of the record, as the latches are */
    char gap4[ASX__CHANNEL_GAP];
    asx__latch rx_latch;    /* of a shared runtime: the receiver's side ... */
    asx__atomic_u32 rx_vain; /* A: ... with its outings in vain, in a row ... */
    char gap5[ASX__CHANNEL_GAP];
    asx__latch tx_latch;    /* ... and that of the senders */
    asx__atomic_u32 tx_vain; /* A */
} asx__channel;

/* ---- channel.c ------------------------------------------------------------------------------ */

extern const asx__waitable_ops asx__channel_wait_ops[ASX__CHANNEL_WAITS];

bool asx__channel_is_valid(const asx__channel *ch);
/* For an endpoint or object that others name: counts up and never comes again. */
uint64_t asx__endpoint_generation(asx_runtime *rt);
/* Why is this not a live endpoint? Never ASX_OK. */
asx_status asx__sender_refuse(const asx_channel_sender *sender);
asx_status asx__receiver_refuse(const asx_channel_receiver *receiver);
/* Discards one message: counts it and shows it to the drop callback. */
void asx__channel_discard(asx__channel *ch, void *message);
/* Likewise the evicted message in `scratch`. */
void asx__channel_drop_evicted(asx__channel *ch);
/* Discards everything that is queued. */
void asx__channel_discard_queue(asx__channel *ch);
/* Journal entry of something that `task` does, or that is done for it while it sleeps. */
uint64_t asx__channel_journal(asx__channel *ch, asx__task *task, uint32_t kind, uint64_t a,
                              uint64_t b, uint64_t cause);

/* ---- send.c --------------------------------------------------------------------------------- */

/* Sends for `task`, which has a claim: to the parked receiver or to the end of the queue. */
void asx__channel_deliver(asx__channel *ch, asx__task *task, const void *message);
/* Hands free capacity to waiters, and tells the receiver when the sending side is gone. */
void asx__channel_settle_slow(asx__channel *ch);
void asx__channel_wake_senders(asx__channel *ch, asx_status status);
void asx__send_unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted);
/* Ends a permit without a message. */
void asx__permit_abort(asx__channel *ch, asx__obligation *o);
void asx__permit_release(asx_runtime *rt, asx__obligation *o);
void asx__tracked_release(asx_runtime *rt, asx__obligation *o);

/* ---- recv.c --------------------------------------------------------------------------------- */

/* A receiver is parked and a message is queued: gives it to it. */
void asx__channel_serve_receiver(asx__channel *ch);
void asx__recv_unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted);

/* ---- ack.c ---------------------------------------------------------------------------------- */

/* Makes sure that there is a free cell. ASX_E_RESOURCE_EXHAUSTED. */
asx_status asx__cells_reserve(asx__channel *ch);
/* Takes the oldest message out of the queue for `task` and copies it; there is a free cell.
 * ASX_E_RESOURCE_EXHAUSTED: the message is still queued. */
asx_status asx__channel_take_with_ack(asx__channel *ch, asx__task *task, void *ret_message,
                                      asx_ack *ret_ack);
void asx__ack_release(asx_runtime *rt, asx__obligation *o);
/* The channel ends: the message is discarded. */
void asx__ack_discard(asx__channel *ch, asx__obligation *o);

/* ---- outside.c ------------------------------------------------------------------------------ */

/* The call cannot be made without the engine; nothing has changed ... */
#define ASX__GO_IN ((asx_status)1)
/* ... and the caller is inside already: it goes on through the gate, in any case. */
#define ASX__GONE_IN ((asx_status)2)

/* The calls of the same names, for a running task of a shared runtime that needs no other task;
 * else one of the above. */
asx_status asx__outside_reserve(const asx_channel_sender *sender, const asx_cx *cx, bool may_wait,
                                asx_send_permit *ret_permit);
asx_status asx__outside_permit_send(const asx_send_permit *permit, const void *message);
asx_status asx__outside_send(const asx_channel_sender *sender, const asx_cx *cx, bool may_wait,
                             const void *message);
asx_status asx__outside_recv(const asx_channel_receiver *receiver, const asx_cx *cx, bool may_wait,
                             void *ret_message);

/* ---- inline --------------------------------------------------------------------------------- */

/* The object of a permit is the channel if the record is its holder's own and this place in the
 * channel if not ... */
static inline void *asx__permit_object(asx__channel *ch)
{
    return &ch->claims;
}

static inline asx__channel *asx__permit_channel(const asx__obligation *o)
{
    if (o->index == ASX__OBLIGATION_OWN)
        return asx__obligation_object(o);
    char *object = asx__obligation_object(o);
    return (asx__channel *)(void *)(object - offsetof(asx__channel, claims));
}

/* ... and that of an ack is this one: so one comparison tells them apart. */
static inline void *asx__ack_object(asx__channel *ch)
{
    return &ch->cells;
}

static inline asx__channel *asx__ack_channel(const asx__obligation *o)
{
    char *object = asx__obligation_object(o);
    return (asx__channel *)(void *)(object - offsetof(asx__channel, cells));
}

/* NULL: the record serves no channel. */
static inline asx__channel *asx__sender_channel(const asx__sender *s)
{
    return asx__load_relaxed(&s->channel);
}

static inline asx__channel *asx__channel_of(void *waitable)
{
    asx__waitable *w = waitable;
    ptrdiff_t which = w->ops - asx__channel_wait_ops;
    return (asx__channel *)(void *)((char *)(w - which) - offsetof(asx__channel, waits));
}

static inline uint64_t asx__channel_queued(const asx__channel *ch)
{
    return ch->tail - ch->head;
}

static inline bool asx__channel_full(const asx__channel *ch)
{
    return ch->claims - ch->head >= ch->capacity;
}

static inline bool asx__channel_rx_gone(const asx__channel *ch)
{
    return (ch->send_slow & ASX__SEND_GONE) != 0;
}

static inline uint64_t asx__channel_unacked(const asx__channel *ch)
{
    return ch->cells == NULL ? 0 : ch->cells->used;
}

/* No sender, permit, grant or waiter. */
static inline bool asx__channel_tx_gone(const asx__channel *ch)
{
    return ASX__UNLIKELY(ch->senders == 0) &&
           ch->claims - ch->tail == asx__channel_unacked(ch) &&
           (ch->recv_slow & ASX__RECV_WAITERS) == 0;
}

static inline void asx__message_copy(void *to, const void *from, size_t size)
{
    switch (size) {
    case 8:
        memcpy(to, from, 8);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 16:
        memcpy(to, from, 16);
        break;
    default:
        memcpy(to, from, size);
        break;
    }
}

/* Where a message is while it is queued, by its number: 0 is the first ever sent. */
static inline uint64_t asx__slot_index(const asx__channel *ch, uint64_t number)
{
    return ch->element_size <= ASX__SHORT_MESSAGE ? number & ch->mask : number % ch->capacity;
}

static inline char *asx__slot(const asx__channel *ch, uint64_t number)
{
    return ch->ring + asx__slot_index(ch, number) * ch->element_size;
}

static inline asx__message_mark *asx__slot_mark(const asx__channel *ch, uint64_t number)
{
    return &ch->marks[asx__slot_index(ch, number)];
}

/* The same for messages of 8 bytes. */
static inline char *asx__slot_of_8(const asx__channel *ch, uint64_t number)
{
    return ch->ring + (number & ch->mask) * 8;
}

/* ---- several workers ------------------------------------------------------------------------ */

/* Handles for the outside have their record in `shared_`, so that no short way looks at it. */
static inline asx_status asx__permit_out(asx_status st, const asx_runtime *rt,
                                         asx_send_permit *permit)
{
    if (st == ASX_OK && rt->gate != NULL) {
        permit->shared_ = permit->record_;
        permit->record_ = NULL;
    }
    return st;
}

static inline asx_status asx__ack_out(asx_status st, const asx_runtime *rt, asx_ack *ack)
{
    if (st == ASX_OK && rt->gate != NULL) {
        ack->shared_ = ack->record_;
        ack->record_ = NULL;
    }
    return st;
}

/* Inside: comes to the channel, and has it until it leaves the engine. Nothing of a channel is
 * looked at in the engine of a shared runtime before this. */
static inline void asx__channel_seize(asx__channel *ch)
{
    const asx__engine *e = ch->home->engine;
    if (ASX__UNLIKELY(e != NULL && !e->lock.leased)) {
        asx__engine_seize(ch->home, &ch->tx_latch);
        asx__engine_seize(ch->home, &ch->rx_latch);
    }
}

/* ASX__THROUGH() to a channel, by a caller that is inside already if `from` is ASX__GONE_IN. */
#define ASX__THROUGH_TO(from, channel_, rt_expr, call)                                             \
    do {                                                                                           \
        asx_runtime *inside_ = (rt_expr);                                                          \
        if (ASX__UNLIKELY(asx__is_shut(inside_)))                                                  \
            return ASX_E_WRONG_CONTEXT;                                                            \
        bool had_it_ = (from) != ASX__GONE_IN && asx__engine_enter(inside_);                       \
        asx__channel *to_ = (channel_);                                                            \
        if (to_ != NULL)                                                                           \
            asx__channel_seize(to_);                                                               \
        asx_status result_ = (call);                                                               \
        asx__engine_leave(inside_, had_it_);                                                       \
        return result_;                                                                            \
    } while (0)

/* What a shared runtime hands out has its record in `shared_`, and none in `sender_`, `channel_` or
 * (permits and acks) `record_`: so the short ways fail on it. */

/* Through the gate with `in`, the sender, and `in_cx`. */
#define ASX__GATE_SENDER(sender, cx, call) ASX__GATE_SENDER_FROM(ASX__GO_IN, sender, cx, call)
#define ASX__GATE_SENDER_FROM(from, sender, cx, call)                                              \
    do {                                                                                           \
        if ((sender) != NULL && (sender)->sender_ == NULL && (sender)->shared_ != NULL) {          \
            asx_runtime *rt = (sender)->shared_->home;                                             \
            asx_channel_sender in = { (sender)->shared_, (sender)->generation_, NULL };            \
            asx_cx cx_;                                                                            \
            asx_cx *in_cx = asx__cx_inside(cx, rt, &cx_);                                          \
            (void)in_cx;                                                                           \
            ASX__THROUGH_TO(from, asx__sender_channel(in.sender_), rt, call);                      \
        }                                                                                          \
    } while (0)

#define ASX__GATE_RECEIVER(receiver, cx, call)                                                     \
    ASX__GATE_RECEIVER_FROM(ASX__GO_IN, receiver, cx, call)
#define ASX__GATE_RECEIVER_FROM(from, receiver, cx, call)                                          \
    do {                                                                                           \
        if ((receiver) != NULL && (receiver)->channel_ == NULL && (receiver)->shared_ != NULL) {   \
            asx_runtime *rt = (receiver)->shared_->home;                                           \
            asx_channel_receiver in = { (receiver)->shared_, (receiver)->generation_, NULL };      \
            asx_cx cx_;                                                                            \
            asx_cx *in_cx = asx__cx_inside(cx, rt, &cx_);                                          \
            (void)in_cx;                                                                           \
            ASX__THROUGH_TO(from, in.channel_, rt, call);                                          \
        }                                                                                          \
    } while (0)

/* Through the gate with `in`, a permit or an ack. */
#define ASX__GATE_CLAIM(type, claim, call) ASX__GATE_CLAIM_FROM(ASX__GO_IN, type, claim, call)
#define ASX__GATE_CLAIM_FROM(from, type, claim, call)                                              \
    do {                                                                                           \
        if ((claim) != NULL && (claim)->record_ == NULL && (claim)->channel_ != NULL &&            \
            (claim)->shared_ != NULL) {                                                            \
            type in = *(claim);                                                                    \
            in.record_ = in.shared_;                                                               \
            ASX__THROUGH_TO(from, in.channel_, in.channel_->home, call);                           \
        }                                                                                          \
    } while (0)

/* The running task is about to do an operation. */
static inline void asx__channel_announce(const asx__channel *ch, asx__op_kind kind)
{
    (void)asx__announce(ch->rt, ch->rt->current, kind, ch->waits[0].serial,
                        .channel.capacity = ch->capacity);
}

/* The running task has found that the other side is gone. */
static inline asx_status asx__channel_ended(const asx__channel *ch)
{
    if (ASX__UNLIKELY(ch->rt->found != NULL))
        ch->rt->found(ch->rt, ASX_EVENT_CHANNEL_CREATE, ch->waits[0].serial);
    return ASX_E_DISCONNECTED;
}

/* The same through an endpoint, whatever has become of it before: ASX_OK, or why it is refused. An
 * ordinary runtime asks for nothing here, and looks at its endpoint itself. */
asx_status asx__sender_explored(const asx_channel_sender *sender, asx__op_kind kind);
asx_status asx__receiver_explored(const asx_channel_receiver *receiver, asx__op_kind kind);

static inline asx_status asx__sender_announce(const asx_channel_sender *sender, asx__op_kind kind)
{
    const asx__sender *s = sender->sender_;
    return ASX__LIKELY(s->home->seam == NULL) ? ASX_OK : asx__sender_explored(sender, kind);
}

static inline asx_status asx__receiver_announce(const asx_channel_receiver *receiver,
                                            asx__op_kind kind)
{
    const asx__channel *ch = receiver->channel_;
    return ASX__LIKELY(ch->home->seam == NULL) ? ASX_OK : asx__receiver_explored(receiver, kind);
}

/* The channel's state after an operation. */
static inline void asx__channel_settle(asx__channel *ch)
{
    if (ASX__UNLIKELY((ch->recv_slow & ASX__RECV_WAITERS) != 0 || ch->senders == 0))
        asx__channel_settle_slow(ch);
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
}

#endif
