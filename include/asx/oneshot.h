/* oneshot.h - a channel for one value: an answer to a question.
 *
 * The place for the value is reserved when the oneshot is created, so sending never waits and never
 * fails for lack of room. Either side may go first: a receiver whose answer will not come gets
 * ASX_E_DISCONNECTED, and so does a sender whose receiver is gone. Both handles are used up by what
 * they are for; when both are, the record is recycled, so a server may create one for every
 * request.
 *
 * A sender that is merely forgotten keeps its receiver waiting until the region closes. A task that
 * adopts it answers for it: if the task ends without having sent, the receiver is told, and the
 * close report names the line.
 *
 * Common statuses:
 *   ASX_E_INVALID_ARGUMENT  NULL, or an endpoint that never was one
 *   ASX_E_STALE_HANDLE      this endpoint was used up or dropped
 *   ASX_E_DISCONNECTED      the other side, or the region, is gone
 * and of calls that take a context: ASX_E_WRONG_CONTEXT, ASX_E_CAPABILITY (CHANNEL),
 * and of those that wait: ASX_E_CANCELLED, ASX_E_WOULD_BLOCK, ASX_E_BUSY (see cx.h).
 */
#ifndef ASX_ONESHOT_H
#define ASX_ONESHOT_H

#include <asx/channel.h>

ASX_BEGIN_DECLS

struct asx__oneshot;

/* As of a channel; the drop callback sees a value that was sent and will not be received. */
typedef asx_channel_options asx_oneshot_options;

typedef struct asx_oneshot_sender {
    struct asx__oneshot *oneshot_;
    uint64_t generation_;
} asx_oneshot_sender;

typedef struct asx_oneshot_receiver {
    struct asx__oneshot *oneshot_;
    uint64_t generation_;
} asx_oneshot_receiver;

/* For a value of `element_size` bytes, at least 1.
 *   ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED, ASX_E_STALE_HANDLE, ASX_E_RESOURCE_EXHAUSTED; the
 *   failures stick to the region */
ASX_API asx_status asx_oneshot_create(const asx_region *region, size_t element_size,
                                      const asx_oneshot_options *options,
                                      asx_oneshot_sender *ret_sender,
                                      asx_oneshot_receiver *ret_receiver);

/* Sends the value; consumes the sender, also when the receiver is gone. Never waits, and is not a
 * cancellation point. */
ASX_API asx_status asx_oneshot_send(asx_oneshot_sender *sender, const void *message);
/* The running task answers for the sender from now on, in place of the one that did before.
 * ASX_E_RESOURCE_EXHAUSTED. */
ASX_API ASX_MUST_USE asx_status asx_oneshot_adopt(asx_cx *cx, const asx_oneshot_sender *sender);
ASX_API ASX_MUST_USE asx_status asx_oneshot_adopt_at(asx_cx *cx, const asx_oneshot_sender *sender,
                                                     const char *site);
#define asx_oneshot_adopt(...) ASX_PLACED_(asx_oneshot_adopt, __VA_ARGS__)
ASX_API asx_status asx_oneshot_sender_drop(asx_oneshot_sender *sender);

/* Waits for the value; consumes the receiver with it, and with ASX_E_DISCONNECTED.
 * ASX_E_CANCELLED (the value, if it is there, stays), ASX_E_WOULD_BLOCK, ASX_E_BUSY (another task
 * is receiving). Returns at the resumption that follows a cancel request. */
ASX_API ASX_MUST_USE asx_status asx_oneshot_recv(asx_cx *cx, asx_oneshot_receiver *receiver,
                                                 void *ret_message);
/* Never waits. ASX_E_EMPTY. */
ASX_API ASX_MUST_USE asx_status asx_oneshot_try_recv(asx_cx *cx, asx_oneshot_receiver *receiver,
                                                     void *ret_message);
/* Discards the value, if it is there. */
ASX_API asx_status asx_oneshot_receiver_drop(asx_oneshot_receiver *receiver);

/* Typed wrappers: ASX_ONESHOT_TYPE(answer, int) makes answer_create(), answer_send() and
 * answer_recv(). */
#define ASX_ONESHOT_TYPE(name, type)                                                               \
    ASX_INLINE asx_status name##_create(const asx_region *region,                                  \
                                        const asx_oneshot_options *options,                        \
                                        asx_oneshot_sender *ret_sender,                            \
                                        asx_oneshot_receiver *ret_receiver)                        \
    {                                                                                              \
        return asx_oneshot_create(region, sizeof(type), options, ret_sender, ret_receiver);        \
    }                                                                                              \
    ASX_INLINE asx_status name##_send(asx_oneshot_sender *sender, type message)                    \
    {                                                                                              \
        return asx_oneshot_send(sender, &message);                                                 \
    }                                                                                              \
    ASX_INLINE asx_status name##_recv(asx_cx *cx, asx_oneshot_receiver *receiver,                  \
                                      type *ret_message)                                           \
    {                                                                                              \
        return asx_oneshot_recv(cx, receiver, ret_message);                                        \
    }

ASX_END_DECLS

#endif
