/* mpmc.h - the channel of many senders and many receivers, handed over directly.
 *
 * A send gives its message to the receiver that has waited longest; if there is none it goes into
 * the ring, and if that is full (or the capacity is 0) the sender waits until a receiver takes it.
 * Messages are received in the order in which they were sent, each once; waiters are served in the
 * order in which they came, and no task passes them.
 *
 * Close is precise. A send that was admitted before the close (handed over, in the ring, or
 * waiting) is received after it all the same; a send after it is refused with ASX_E_CLOSED and its
 * message is never seen. A receive says ASX_E_CLOSED when the channel is closed and nothing is
 * left. When the last receiver is dropped, what is left is discarded and senders are told
 * ASX_E_DISCONNECTED. Dropping the last sender closes.
 *
 * A channel belongs to the region that created it and lives as long; cancelling or closing the
 * region does not close the channel. After that its endpoints say ASX_E_DISCONNECTED.
 *
 * Endpoints are values. A copied endpoint is the same one, and any number of tasks may use it at
 * once; a clone is another, and counts. Messages are `element_size` bytes and copied in and out.
 *
 * Cancellation. A send or receive that waits returns ASX_E_CANCELLED at the resumption that follows
 * a cancel request, and then nothing was sent or taken. One that was served before it could be told
 * returns ASX_OK. A poll task that does not repeat its receive gives the message back, in front of
 * all others.
 *
 * Common statuses:
 *   ASX_E_INVALID_ARGUMENT  NULL, or an endpoint that never was one
 *   ASX_E_STALE_HANDLE      this endpoint was dropped
 *   ASX_E_DISCONNECTED      the channel's region is finalizing or gone
 * and of calls that take a context: ASX_E_WRONG_CONTEXT, ASX_E_CAPABILITY (CHANNEL),
 * and of those that wait: ASX_E_CANCELLED, ASX_E_WOULD_BLOCK, ASX_E_BUSY (see cx.h).
 */
#ifndef ASX_MPMC_H
#define ASX_MPMC_H

#include <asx/channel.h>

ASX_BEGIN_DECLS

struct asx__mpmc;

/* As of a channel. */
typedef asx_channel_options asx_mpmc_options;

typedef struct asx_mpmc_sender {
    struct asx__mpmc *mpmc_;
    asx_runtime *gate_;
    uint64_t generation_;
    uint32_t index_;
    uint32_t life_;
} asx_mpmc_sender;

typedef struct asx_mpmc_receiver {
    struct asx__mpmc *mpmc_;
    asx_runtime *gate_;
    uint64_t generation_;
    uint32_t index_;
    uint32_t life_;
} asx_mpmc_receiver;

/* Any capacity, 0 too; element_size >= 1. Both endpoints are written.
 *   ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED, ASX_E_STALE_HANDLE, ASX_E_RESOURCE_EXHAUSTED; the
 *   failures stick to the region */
ASX_API asx_status asx_mpmc_create(const asx_region *region, size_t element_size, size_t capacity,
                                   const asx_mpmc_options *options, asx_mpmc_sender *ret_sender,
                                   asx_mpmc_receiver *ret_receiver);

/* Sends, and waits until there is room or a receiver takes the message. ASX_E_CLOSED,
 * ASX_E_DISCONNECTED (also: no receiver is left), ASX_E_CANCELLED, ASX_E_WOULD_BLOCK,
 * ASX_E_RESOURCE_EXHAUSTED (a poll task's message finds no memory to wait in). */
ASX_API ASX_MUST_USE asx_status asx_mpmc_send(asx_cx *cx, const asx_mpmc_sender *sender,
                                              const void *message);
/* Never waits, and is no cancellation point. ASX_E_FULL: no receiver waits and there is no
 * room. ASX_E_CLOSED, ASX_E_DISCONNECTED. */
ASX_API ASX_MUST_USE asx_status asx_mpmc_try_send(asx_cx *cx, const asx_mpmc_sender *sender,
                                                  const void *message);

/* Waits for a message. ASX_E_CLOSED, ASX_E_CANCELLED, ASX_E_WOULD_BLOCK, ASX_E_RESOURCE_EXHAUSTED
 * (a poll task). */
ASX_API ASX_MUST_USE asx_status asx_mpmc_recv(asx_cx *cx, const asx_mpmc_receiver *receiver,
                                              void *ret_message);
/* Never waits, and is no cancellation point. ASX_E_EMPTY, ASX_E_CLOSED. */
ASX_API ASX_MUST_USE asx_status asx_mpmc_try_recv(asx_cx *cx, const asx_mpmc_receiver *receiver,
                                                  void *ret_message);

/* Admits no more sends, and tells receivers that wait. Closing twice is ASX_OK. */
ASX_API asx_status asx_mpmc_close(const asx_mpmc_sender *sender);

/* Another endpoint; counts. ASX_E_RESOURCE_EXHAUSTED. */
ASX_API ASX_MUST_USE asx_status asx_mpmc_sender_clone(const asx_mpmc_sender *sender,
                                                      asx_mpmc_sender *ret_sender);
ASX_API ASX_MUST_USE asx_status asx_mpmc_receiver_clone(const asx_mpmc_receiver *receiver,
                                                        asx_mpmc_receiver *ret_receiver);
/* The last sender closes. A task that still waits through a dropped sender goes on waiting. */
ASX_API asx_status asx_mpmc_sender_drop(asx_mpmc_sender *sender);
/* The last receiver discards what is left, and tells waiting senders. */
ASX_API asx_status asx_mpmc_receiver_drop(asx_mpmc_receiver *receiver);

typedef struct asx_mpmc_info {
    uint64_t serial;
    size_t capacity;
    size_t queued;    /* in the ring, or given back */
    size_t senders, receivers;         /* endpoints */
    size_t send_waiters, recv_waiters; /* one of them is 0 */
    bool closed;
    uint64_t sent, received, discarded;
} asx_mpmc_info;
ASX_API asx_status asx_mpmc_sender_info(const asx_mpmc_sender *sender, asx_mpmc_info *ret_info);
ASX_API asx_status asx_mpmc_receiver_info(const asx_mpmc_receiver *receiver,
                                          asx_mpmc_info *ret_info);

/* Typed wrappers: ASX_MPMC_TYPE(ints, int) makes ints_create(), ints_send(), ints_recv(),
 * ints_try_send(), ints_try_recv(). */
#define ASX_MPMC_TYPE(name, type)                                                                  \
    ASX_INLINE asx_status name##_create(const asx_region *region, size_t capacity,                 \
                                        const asx_mpmc_options *options,                           \
                                        asx_mpmc_sender *ret_sender,                               \
                                        asx_mpmc_receiver *ret_receiver)                           \
    {                                                                                              \
        return asx_mpmc_create(region, sizeof(type), capacity, options, ret_sender,                \
                               ret_receiver);                                                      \
    }                                                                                              \
    ASX_INLINE asx_status name##_send(asx_cx *cx, const asx_mpmc_sender *sender, type message)     \
    {                                                                                              \
        return asx_mpmc_send(cx, sender, &message);                                                \
    }                                                                                              \
    ASX_INLINE asx_status name##_try_send(asx_cx *cx, const asx_mpmc_sender *sender,               \
                                          type message)                                            \
    {                                                                                              \
        return asx_mpmc_try_send(cx, sender, &message);                                            \
    }                                                                                              \
    ASX_INLINE asx_status name##_recv(asx_cx *cx, const asx_mpmc_receiver *receiver,               \
                                      type *ret_message)                                           \
    {                                                                                              \
        return asx_mpmc_recv(cx, receiver, ret_message);                                           \
    }                                                                                              \
    ASX_INLINE asx_status name##_try_recv(asx_cx *cx, const asx_mpmc_receiver *receiver,           \
                                          type *ret_message)                                       \
    {                                                                                              \
        return asx_mpmc_try_recv(cx, receiver, ret_message);                                       \
    }

ASX_END_DECLS

#endif
