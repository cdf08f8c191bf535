/* broadcast.h - a channel in which every receiver sees every message.
 *
 * Sending never waits: the newest `capacity` messages are kept, and a receiver that is slower is
 * told how many it has missed, once, before it goes on with the oldest that is kept. A receiver
 * sees what is sent after it has subscribed. The handle of the sending side is a value that may be
 * copied; closing ends it for all.
 *
 * A broadcast belongs to the region that created it and lives as long.
 *
 * Common statuses:
 *   ASX_E_INVALID_ARGUMENT  NULL, or a handle that never was one
 *   ASX_E_STALE_HANDLE      this receiver was dropped
 *   ASX_E_DISCONNECTED      it is closed and nothing is left to receive, or its region is gone
 * and of calls that take a context: ASX_E_WRONG_CONTEXT, ASX_E_CAPABILITY (CHANNEL),
 * and of those that wait: ASX_E_CANCELLED, ASX_E_WOULD_BLOCK, ASX_E_BUSY (see cx.h).
 */
#ifndef ASX_BROADCAST_H
#define ASX_BROADCAST_H

#include <asx/obligation.h>

ASX_BEGIN_DECLS

struct asx__broadcast;
struct asx__subscriber;

typedef struct asx_broadcast {
    struct asx__broadcast *broadcast_;
    uint64_t generation_;
} asx_broadcast;

typedef struct asx_broadcast_receiver {
    struct asx__subscriber *subscriber_;
    uint64_t generation_;
    asx_broadcast of_;
} asx_broadcast_receiver;

/* Zero in any field means its default. */
typedef struct asx_broadcast_options {
    const char *name; /* borrowed until the region is closed; NULL: none */
} asx_broadcast_options;

/* capacity >= 1, element_size >= 1.
 *   ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED, ASX_E_STALE_HANDLE, ASX_E_RESOURCE_EXHAUSTED; the
 *   failures stick to the region */
ASX_API asx_status asx_broadcast_create(const asx_region *region, size_t element_size,
                                        size_t capacity, const asx_broadcast_options *options,
                                        asx_broadcast *ret_broadcast);
/* A receiver of what is sent from now on. Also ASX_E_RESOURCE_EXHAUSTED. */
ASX_API ASX_MUST_USE asx_status asx_broadcast_subscribe(const asx_broadcast *broadcast,
                                                        asx_broadcast_receiver *ret_receiver);
/* Sends to all receivers there are; *ret_receivers (may be NULL) is how many. Never waits, and is
 * not a cancellation point. */
ASX_API asx_status asx_broadcast_send(const asx_broadcast *broadcast, const void *message,
                                      size_t *ret_receivers);
/* Sends are refused from now on. What has been sent can still be received; then receivers get
 * ASX_E_DISCONNECTED, those that wait included. */
ASX_API asx_status asx_broadcast_close(const asx_broadcast *broadcast);

/* Waits for the next message.
 *   ASX_E_LAGGED  *ret_missed (may be NULL) messages were overwritten before this receiver got
 *                 them; nothing was received, and the next call gives the oldest that is kept
 *   ASX_E_CANCELLED (none was taken), ASX_E_WOULD_BLOCK, ASX_E_BUSY (another task is receiving),
 *   ASX_E_RESOURCE_EXHAUSTED
 * Returns at the resumption that follows a cancel request. */
ASX_API ASX_MUST_USE asx_status asx_broadcast_recv(asx_cx *cx,
                                                   const asx_broadcast_receiver *receiver,
                                                   void *ret_message, uint64_t *ret_missed);
/* Never waits. ASX_E_EMPTY, ASX_E_LAGGED. */
ASX_API ASX_MUST_USE asx_status asx_broadcast_try_recv(asx_cx *cx,
                                                       const asx_broadcast_receiver *receiver,
                                                       void *ret_message, uint64_t *ret_missed);
ASX_API asx_status asx_broadcast_receiver_drop(asx_broadcast_receiver *receiver);

/* Typed wrappers: ASX_BROADCAST_TYPE(news, int) makes news_create(), news_send(), news_recv(). */
#define ASX_BROADCAST_TYPE(name, type)                                                             \
    ASX_INLINE asx_status name##_create(const asx_region *region, size_t capacity,                 \
                                        const asx_broadcast_options *options,                      \
                                        asx_broadcast *ret_broadcast)                              \
    {                                                                                              \
        return asx_broadcast_create(region, sizeof(type), capacity, options, ret_broadcast);       \
    }                                                                                              \
    ASX_INLINE asx_status name##_send(const asx_broadcast *broadcast, type message)                \
    {                                                                                              \
        return asx_broadcast_send(broadcast, &message, NULL);                                      \
    }                                                                                              \
    ASX_INLINE asx_status name##_recv(asx_cx *cx, const asx_broadcast_receiver *receiver,          \
                                      type *ret_message, uint64_t *ret_missed)                     \
    {                                                                                              \
        return asx_broadcast_recv(cx, receiver, ret_message, ret_missed);                          \
    }

ASX_END_DECLS

#endif
