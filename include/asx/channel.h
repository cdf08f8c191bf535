/* channel.h - the two-phase channel: many senders, one receiver, fixed capacity.
 *
 * A sender first reserves capacity, which may wait and can be cancelled without loss; then it
 * sends, which cannot fail for lack of room. Reserved and queued slots together never exceed the
 * capacity. Waiting senders are served in the order in which they came, and no task passes them.
 *
 * A channel belongs to the region that created it and lives as long; cancelling or closing the
 * region does not close the channel. After that its endpoints say ASX_E_DISCONNECTED.
 *
 * Endpoints are values that name a slot. A copied sender is the same sender; a clone is another.
 * Messages are `element_size` bytes and copied in and out.
 *
 * Every call here is for tasks of the channel's runtime. A permit or ack that was used, or went
 * back with its task, is refused with ASX_E_OBLIGATION_ALREADY_RESOLVED.
 *
 * Common statuses:
 *   ASX_E_INVALID_ARGUMENT  NULL, or an endpoint, permit or ack that never was one
 *   ASX_E_STALE_HANDLE      this endpoint was dropped; no such permit or ack was ever given out
 *   ASX_E_DISCONNECTED      its channel is gone, and took it along; or the other side is gone
 * and of calls that take a context: ASX_E_WRONG_CONTEXT, ASX_E_CAPABILITY (CHANNEL),
 * and of those that wait: ASX_E_CANCELLED, ASX_E_WOULD_BLOCK, ASX_E_BUSY (see cx.h).
 */
#ifndef ASX_CHANNEL_H
#define ASX_CHANNEL_H

#include <asx/obligation.h>

ASX_BEGIN_DECLS

struct asx__sender;
struct asx__channel;
struct asx__obligation;

typedef enum asx_channel_state {
    ASX_CHANNEL_OPEN,
    ASX_CHANNEL_SENDER_CLOSED,
    ASX_CHANNEL_RECEIVER_CLOSED,
    ASX_CHANNEL_FULLY_CLOSED
} asx_channel_state;

typedef struct asx_channel_sender {
    struct asx__sender *sender_;
    uint64_t generation_;
    struct asx__sender *shared_;
} asx_channel_sender;

typedef struct asx_channel_receiver {
    struct asx__channel *channel_;
    uint64_t generation_;
    struct asx__channel *shared_;
} asx_channel_receiver;

/* The right to send one message. Resolved exactly once; a copy of a resolved one is refused. */
typedef struct asx_send_permit {
    struct asx__channel *channel_;
    uint64_t obligation_;
    struct asx__obligation *record_;
    struct asx__obligation *shared_;
} asx_send_permit;

/* A received message that is not yet accepted. */
typedef struct asx_ack {
    struct asx__channel *channel_;
    uint64_t obligation_;
    struct asx__obligation *record_;
    struct asx__obligation *shared_;
} asx_ack;

/* Zero in any field means its default. */
typedef struct asx_channel_options {
    const char *name; /* borrowed until the region is closed; NULL: none */
    /* Called once for each message that is discarded (receiver gone, evicted without a place to
     * put it, region closed). Runs inside the runtime and may not wait. */
    void (*drop)(void *ctx, void *message);
    void *drop_ctx;
} asx_channel_options;

/* capacity >= 1, element_size >= 1. Both endpoints are written.
 *   ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED, ASX_E_STALE_HANDLE, ASX_E_RESOURCE_EXHAUSTED; the
 *   failures stick to the region */
ASX_API asx_status asx_channel_create(const asx_region *region, size_t element_size,
                                      size_t capacity, const asx_channel_options *options,
                                      asx_channel_sender *ret_sender,
                                      asx_channel_receiver *ret_receiver);

/* Waits for capacity. ASX_E_CANCELLED (nothing was taken; a permit that was on its way is
 * resolved), ASX_E_RESOURCE_EXHAUSTED. Returns at the resumption that follows a cancel request. */
ASX_API ASX_MUST_USE asx_status asx_channel_reserve(asx_cx *cx, const asx_channel_sender *sender,
                                                    asx_send_permit *ret_permit);
/* Never waits: ASX_E_FULL also when others wait. Not a cancellation point.
 * ASX_E_RESOURCE_EXHAUSTED. */
ASX_API ASX_MUST_USE asx_status asx_channel_try_reserve(asx_cx *cx,
                                                        const asx_channel_sender *sender,
                                                        asx_send_permit *ret_permit);

/* Sends; consumes the permit. ASX_E_DISCONNECTED: the receiver is gone, nothing was sent, the
 * permit is aborted. ASX_E_OBLIGATION_ALREADY_RESOLVED for a permit that was used. */
ASX_API ASX_MUST_USE asx_status asx_send_permit_send(asx_send_permit *permit, const void *message);
/* Gives the capacity back, to the first waiter if there is one; consumes the permit. */
ASX_API asx_status asx_send_permit_abort(asx_send_permit *permit);

/* Waits for capacity and sends. ASX_E_CANCELLED: nothing was sent. Returns at the resumption that
 * follows a cancel request. */
ASX_API ASX_MUST_USE asx_status asx_channel_send(asx_cx *cx, const asx_channel_sender *sender,
                                                 const void *message);
/* Never waits, and is not a cancellation point. ASX_E_FULL also when others wait. */
ASX_API ASX_MUST_USE asx_status asx_channel_try_send(asx_cx *cx, const asx_channel_sender *sender,
                                                     const void *message);
/* Sends at once, if need be by throwing out the oldest message, which is copied to `ret_evicted`
 * (or dropped if that is NULL); *ret_did_evict tells. Never waits. ASX_E_FULL when every slot is
 * reserved, or when others wait and nothing can be evicted. ASX_E_BUSY: called from the drop
 * callback of another eviction. */
ASX_API ASX_MUST_USE asx_status asx_channel_send_evict_oldest(asx_cx *cx,
                                                              const asx_channel_sender *sender,
                                                              const void *message,
                                                              void *ret_evicted,
                                                              bool *ret_did_evict);

/* Waits for a message. ASX_E_CANCELLED (none was taken), ASX_E_DISCONNECTED (no sender and nothing
 * queued), ASX_E_BUSY (another task is receiving). Returns at the resumption that follows a cancel
 * request. */
ASX_API ASX_MUST_USE asx_status asx_channel_recv(asx_cx *cx, const asx_channel_receiver *receiver,
                                                 void *ret_message);
/* Never waits, and is not a cancellation point. ASX_E_EMPTY, ASX_E_DISCONNECTED. */
ASX_API ASX_MUST_USE asx_status asx_channel_try_recv(asx_cx *cx,
                                                     const asx_channel_receiver *receiver,
                                                     void *ret_message);
/* Waits as recv does, but the message keeps its slot until it is acknowledged; a nack, or the end
 * of the task, puts it back at the front. ASX_E_RESOURCE_EXHAUSTED: no record for the ack, and no
 * message was taken. */
ASX_API ASX_MUST_USE asx_status asx_channel_recv_with_ack(asx_cx *cx,
                                                          const asx_channel_receiver *receiver,
                                                          void *ret_message, asx_ack *ret_ack);
/* Accepts the message, whose slot is free from now on; or puts it back. Either consumes the ack. */
ASX_API asx_status asx_ack_commit(asx_ack *ack);
ASX_API asx_status asx_ack_nack(asx_ack *ack);

/* Another sender; counts. ASX_E_STALE_HANDLE once the last sender is gone.
 * ASX_E_RESOURCE_EXHAUSTED. */
ASX_API ASX_MUST_USE asx_status asx_channel_sender_clone(const asx_channel_sender *sender,
                                                         asx_channel_sender *ret_sender);
/* A task that still waits through a dropped sender goes on waiting. The last drop ends the
 * receiver's wait. */
ASX_API asx_status asx_channel_sender_drop(asx_channel_sender *sender);
/* Discards what is queued and tells every waiting sender. */
ASX_API asx_status asx_channel_receiver_drop(asx_channel_receiver *receiver);

/* Session-tracked permits: forgetting one is not a silent abort but what the region's leak policy
 * says; resolving one gives a proof. */
typedef struct asx_tracked_permit {
    asx_send_permit permit;
} asx_tracked_permit;
typedef struct asx_committed_proof {
    uint64_t obligation;
    uint64_t message_number;
} asx_committed_proof;
typedef struct asx_aborted_proof {
    uint64_t obligation;
} asx_aborted_proof;

/* Waits as asx_channel_reserve() does, with the same statuses. */
ASX_API ASX_MUST_USE asx_status asx_channel_reserve_tracked(asx_cx *cx,
                                                            const asx_channel_sender *sender,
                                                            asx_tracked_permit *ret_permit);
ASX_API ASX_MUST_USE asx_status asx_channel_reserve_tracked_at(asx_cx *cx,
                                                               const asx_channel_sender *sender,
                                                               asx_tracked_permit *ret_permit,
                                                               const char *site);
#define asx_channel_reserve_tracked(...) ASX_PLACED_(asx_channel_reserve_tracked, __VA_ARGS__)
ASX_API ASX_MUST_USE asx_status asx_tracked_permit_send(asx_tracked_permit *permit,
                                                        const void *message,
                                                        asx_committed_proof *ret_proof);
ASX_API asx_status asx_tracked_permit_abort(asx_tracked_permit *permit,
                                            asx_aborted_proof *ret_proof);

typedef struct asx_channel_info {
    asx_channel_state state;
    uint64_t serial;
    size_t capacity;
    size_t queued;
    size_t reserved;     /* permits out, and messages waiting for their ack */
    size_t senders;
    size_t send_waiters;
    bool receiver_waits;
    uint64_t sent, received, evicted, discarded;
} asx_channel_info;
ASX_API asx_status asx_channel_receiver_info(const asx_channel_receiver *receiver,
                                             asx_channel_info *ret_info);
ASX_API asx_status asx_channel_sender_info(const asx_channel_sender *sender,
                                           asx_channel_info *ret_info);

/* Typed wrappers: ASX_CHANNEL_TYPE(ints, int) makes ints_create(), ints_send(), ints_recv(),
 * ints_try_send(), ints_try_recv(), ints_permit_send(). */
#define ASX_CHANNEL_TYPE(name, type)                                                               \
    ASX_INLINE asx_status name##_create(const asx_region *region, size_t capacity,                 \
                                        const asx_channel_options *options,                        \
                                        asx_channel_sender *ret_sender,                            \
                                        asx_channel_receiver *ret_receiver)                        \
    {                                                                                              \
        return asx_channel_create(region, sizeof(type), capacity, options, ret_sender,             \
                                  ret_receiver);                                                   \
    }                                                                                              \
    ASX_INLINE asx_status name##_send(asx_cx *cx, const asx_channel_sender *sender, type message)  \
    {                                                                                              \
        return asx_channel_send(cx, sender, &message);                                             \
    }                                                                                              \
    ASX_INLINE asx_status name##_try_send(asx_cx *cx, const asx_channel_sender *sender,            \
                                          type message)                                            \
    {                                                                                              \
        return asx_channel_try_send(cx, sender, &message);                                         \
    }                                                                                              \
    ASX_INLINE asx_status name##_permit_send(asx_send_permit *permit, type message)                \
    {                                                                                              \
        return asx_send_permit_send(permit, &message);                                             \
    }                                                                                              \
    ASX_INLINE asx_status name##_recv(asx_cx *cx, const asx_channel_receiver *receiver,            \
                                      type *ret_message)                                           \
    {                                                                                              \
        return asx_channel_recv(cx, receiver, ret_message);                                        \
    }                                                                                              \
    ASX_INLINE asx_status name##_try_recv(asx_cx *cx, const asx_channel_receiver *receiver,        \
                                          type *ret_message)                                       \
    {                                                                                              \
        return asx_channel_try_recv(cx, receiver, ret_message);                                    \
    }

ASX_END_DECLS

#endif
