/* operations.h - every operation by which a task can tell what other tasks did, in one table.
 *
 * From a row come the kind with which the runtime announces the operation (seam.h) and the explorer
 * knows it, the words with which a step is shown, the event of the journal that made the object,
 * the function that says which objects it accesses, and everything else that is to be known of its
 * kind. So a new operation is a row here and, if no existing function says what it accesses, a
 * function asx__run_<run>() in src/lab/dpor. No code depends on the order of the rows.
 *
 * X(NAME, "text", object, run, traits)
 *   NAME    ASX__OP_NAME text    how a step of it is shown object  ASX_EVENT_<object> has made what
 *   it is about, and its serial comes with the announcement;
 *           NONE: it is about a task, a region, a cell, or nothing
 *   run     asx__run_<run>() says what it accesses
 *   traits  ASX__O_...
 */
#ifndef ASX_SCHED_OPERATIONS_H
#define ASX_SCHED_OPERATIONS_H

enum {
    /* For the reduction. */
    ASX__O_SINGLE = 1 << 0,  /* accesses one object, whose state is in memory, or none */
    ASX__O_PARTS = 1 << 1,   /* may access any part of its object */
    ASX__O_PLAIN = 1 << 2,   /* never disabled and always accesses the same objects, unless it looks
                                at a cancel flag first, or has shields among its targets */
    ASX__O_STEADY = 1 << 3,  /* the same whatever its cancel flag says */
    ASX__O_LATE = 1 << 4,    /* looks at the cancel flag only if it has to go on waiting, or not at
                                it alone */
    ASX__O_ASIDE = 1 << 5,   /* does no more with its second object than look at it */
    ASX__O_TICKET = 1 << 6,  /* waits with a ticket */
    ASX__O_RWLOCK = 1 << 7,  /* on a read-write lock: what reads it may change it */
    /* For the explorer. */
    ASX__O_POINT = 1 << 8,   /* a cancellation point */
    ASX__O_DROPS = 1 << 9,   /* drops an end of a channel */
    ASX__O_CLAIMS = 1 << 10, /* afterwards claims of a channel are not the messages sent */
    ASX__O_SENDER = 1 << 11, /* of a sender of a channel, which another task may drop */
    ASX__O_GIVES = 1 << 12,  /* gives a ticket */
    ASX__O_LEFT = 1 << 13,   /* may be what an ending task gives back, by no call of it */
    ASX__O_AIMS = 1 << 14,   /* tasks that come after it was announced may be among its targets */
    ASX__O_TIMER = 1 << 15,  /* may be done by a timer when the clock moves */
    /* For people. */
    ASX__O_NAMELESS = 1 << 16, /* the task that does it, or its target, says enough */
    ASX__O_CELL = 1 << 17,     /* on a cell, whose value is shown */
    /* What all accesses of cells have; all that send to a channel, or reserve there. */
    ASX__O_ON_CELL = ASX__O_SINGLE | ASX__O_PLAIN | ASX__O_CELL,
    ASX__O_TO_CHANNEL = ASX__O_PARTS | ASX__O_ASIDE | ASX__O_SENDER
};

#define ASX__OPERATION_LIST(X)                                                                     \
    /* Cells, choices and devices of lab tests. */                                                 \
    X(LOAD, "load", NONE, one, ASX__O_ON_CELL)                                                     \
    X(STORE, "store", NONE, one, ASX__O_ON_CELL)                                                   \
    X(CAS, "compare-and-swap", NONE, one, ASX__O_ON_CELL)                                          \
    X(FETCH_ADD, "fetch-add", NONE, one, ASX__O_ON_CELL)                                           \
    X(FETCH_OR, "fetch-or", NONE, one, ASX__O_ON_CELL)                                             \
    X(FETCH_AND, "fetch-and", NONE, one, ASX__O_ON_CELL)                                           \
    X(EXCHANGE, "exchange", NONE, one, ASX__O_ON_CELL)                                             \
    X(CHOOSE, "choose", NONE, nothing, ASX__O_SINGLE | ASX__O_NAMELESS)                            \
    X(UNTIL, "wait until", NONE, until, 0)                                                         \
    X(DEVICE, "operate", NONE, one, 0)                                                             \
    /* Model atomics. */                                                                           \
    X(FENCE, "fence", NONE, fence, ASX__O_PLAIN | ASX__O_NAMELESS)                                 \
    X(FUTEX_WAIT, "futex wait", NONE, futex_wait, 0)                                               \
    X(FUTEX_GO_ON, "be woken", NONE, futex_go_on, 0)                                               \
    X(FUTEX_WAKE, "futex wake", NONE, futex_wake, 0)                                               \
    X(RELAX, "relax", NONE, relax, ASX__O_NAMELESS)                                                \
    /* Locks and semaphores, those of lab tests too. */                                            \
    X(LOCK, "lock", MUTEX_CREATE, one, ASX__O_SINGLE | ASX__O_POINT)                               \
    X(TRY_LOCK, "try-lock", MUTEX_CREATE, one, ASX__O_SINGLE | ASX__O_PLAIN)                       \
    X(UNLOCK, "unlock", MUTEX_CREATE, one, ASX__O_SINGLE | ASX__O_PLAIN | ASX__O_LEFT)             \
    X(ACQUIRE, "acquire", SEMAPHORE_CREATE, one, ASX__O_SINGLE | ASX__O_POINT)                     \
    X(TRY_ACQUIRE, "try-acquire", SEMAPHORE_CREATE, one, ASX__O_SINGLE | ASX__O_PLAIN)             \
    X(RELEASE, "release", SEMAPHORE_CREATE, one,                                                   \
      ASX__O_SINGLE | ASX__O_PLAIN | ASX__O_LEFT | ASX__O_TIMER)                                   \
    X(READ_LOCK, "read-lock", RWLOCK_CREATE, read_lock, ASX__O_RWLOCK | ASX__O_POINT)              \
    X(TRY_READ_LOCK, "try-read-lock", RWLOCK_CREATE, read_lock, ASX__O_RWLOCK | ASX__O_PLAIN)      \
    X(READ_UNLOCK, "read-unlock", RWLOCK_CREATE, read_lock,                                        \
      ASX__O_RWLOCK | ASX__O_PLAIN | ASX__O_LEFT)                                                  \
    X(WRITE_REQUEST, "request to write", RWLOCK_CREATE, one, ASX__O_RWLOCK | ASX__O_PLAIN)         \
    X(WRITE_LOCK, "write-lock", RWLOCK_CREATE, one, ASX__O_RWLOCK | ASX__O_POINT)                  \
    X(TRY_WRITE_LOCK, "try-write-lock", RWLOCK_CREATE, one, ASX__O_RWLOCK | ASX__O_PLAIN)          \
    X(WRITE_UNLOCK, "write-unlock", RWLOCK_CREATE, one,                                            \
      ASX__O_RWLOCK | ASX__O_PLAIN | ASX__O_LEFT)                                                  \
    /* Channels of one receiver. */                                                                \
    X(SEND, "send", CHANNEL_CREATE, send, ASX__O_TO_CHANNEL | ASX__O_POINT)                        \
    X(TRY_SEND, "try-send", CHANNEL_CREATE, send, ASX__O_TO_CHANNEL)                               \
    X(EVICT, "send and evict", CHANNEL_CREATE, send, ASX__O_TO_CHANNEL | ASX__O_CLAIMS)            \
    X(RESERVE, "reserve", CHANNEL_CREATE, reserve,                                                 \
      ASX__O_TO_CHANNEL | ASX__O_CLAIMS | ASX__O_POINT)                                            \
    X(TRY_RESERVE, "try-reserve", CHANNEL_CREATE, reserve, ASX__O_TO_CHANNEL | ASX__O_CLAIMS)      \
    X(PERMIT_SEND, "send by permit", CHANNEL_CREATE, permit, ASX__O_PARTS | ASX__O_CLAIMS)         \
    X(PERMIT_ABORT, "abort permit", CHANNEL_CREATE, permit,                                        \
      ASX__O_PARTS | ASX__O_CLAIMS | ASX__O_LEFT)                                                  \
    X(RECV, "receive", CHANNEL_CREATE, recv, ASX__O_PARTS | ASX__O_POINT)                          \
    X(TRY_RECV, "try-receive", CHANNEL_CREATE, recv, ASX__O_PARTS)                                 \
    X(RECV_ACK, "receive with ack", CHANNEL_CREATE, recv,                                          \
      ASX__O_PARTS | ASX__O_CLAIMS | ASX__O_POINT)                                                 \
    X(ACK_COMMIT, "commit ack", CHANNEL_CREATE, ack, ASX__O_PARTS | ASX__O_CLAIMS)                 \
    X(ACK_NACK, "nack", CHANNEL_CREATE, ack, ASX__O_PARTS | ASX__O_CLAIMS | ASX__O_LEFT)           \
    X(CLONE, "clone sender", CHANNEL_CREATE, endpoint, ASX__O_PARTS | ASX__O_SENDER)               \
    X(DROP, "drop sender", CHANNEL_CREATE, endpoint,                                               \
      ASX__O_PARTS | ASX__O_SENDER | ASX__O_DROPS | ASX__O_LEFT)                                   \
    X(CLOSE, "drop receiver", CHANNEL_CREATE, endpoint,                                            \
      ASX__O_PARTS | ASX__O_DROPS | ASX__O_LEFT)                                                   \
    /* Tasks, regions, cancellation, time. */                                                      \
    X(CHECKPOINT, "checkpoint", NONE, nothing, ASX__O_STEADY | ASX__O_POINT | ASX__O_NAMELESS)     \
    X(YIELD, "yield", NONE, nothing, ASX__O_STEADY | ASX__O_POINT | ASX__O_NAMELESS)               \
    X(IS_CANCELLED, "checkpoint", NONE, nothing, ASX__O_STEADY | ASX__O_NAMELESS)                  \
    X(CANCEL_TASK, "cancel", NONE, targets, ASX__O_PLAIN | ASX__O_AIMS)                            \
    X(CANCEL_REGION, "cancel", NONE, targets, ASX__O_PLAIN | ASX__O_AIMS)                          \
    X(SHIELD, "mask", NONE, shield, ASX__O_AIMS | ASX__O_NAMELESS)                                 \
    X(JOIN, "join", NONE, join, ASX__O_POINT | ASX__O_NAMELESS)                                    \
    X(END, "end", NONE, end, ASX__O_PLAIN | ASX__O_LATE | ASX__O_AIMS | ASX__O_NAMELESS)           \
    X(FIRST_OF, "wait for the first", NONE, first_of,                                              \
      ASX__O_LATE | ASX__O_POINT | ASX__O_NAMELESS)                                                \
    X(LINK, "link", NONE, link, ASX__O_AIMS | ASX__O_NAMELESS)                                     \
    X(SPAWN, "spawn", NONE, spawn, ASX__O_PARTS | ASX__O_LATE | ASX__O_NAMELESS)                   \
    X(SET_UP, "set up", NONE, spawn, ASX__O_PARTS | ASX__O_LATE | ASX__O_NAMELESS)                 \
    X(SETTLE, "settle obligation", OBLIGATION_RESERVE, settle, 0)                                  \
    X(OPEN_REGION, "open region", NONE, open_region,                                               \
      ASX__O_STEADY | ASX__O_LATE | ASX__O_NAMELESS)                                               \
    X(TAKE_PLACE, "open where there is room", NONE, take_place,                                    \
      ASX__O_LATE | ASX__O_ASIDE | ASX__O_NAMELESS)                                                \
    X(STOP_REGION, "begin to close region", NONE, stop_region, ASX__O_PARTS)                       \
    X(CLOSE_REGION, "close region", NONE, close_region, ASX__O_PARTS | ASX__O_AIMS)                \
    X(SLEEP, "sleep", NONE, sleep, ASX__O_POINT | ASX__O_NAMELESS)                                 \
    X(ADVANCE, "advance the clock", NONE, advance, ASX__O_NAMELESS)                                \
    X(FIRE, "time out", NONE, fire, ASX__O_NAMELESS)                                               \
    X(SET_TIMER, "set timer", NONE, timer, 0)                                                      \
    X(CANCEL_TIMER, "cancel timer", NONE, timer, 0)                                                \
    X(FIRE_TIMER, "fire timer", NONE, timer, 0)                                                    \
    X(WAKE, "wake", NONE, waker, ASX__O_TIMER)                                                     \
    X(WAIT_EXTERNAL, "wait to be woken", NONE, waker, ASX__O_POINT)                                \
    X(WAIT_WOKEN, "wait to be woken", NONE, waker, 0)                                              \
    /* Conditions, notifies, barriers. */                                                          \
    X(CONDITION_WAIT, "wait for condition", CONDITION_CREATE, wait,                                \
      ASX__O_PARTS | ASX__O_GIVES | ASX__O_POINT)                                                  \
    X(CONDITION_GO_ON, "lock again", CONDITION_CREATE, go_on,                                      \
      ASX__O_PARTS | ASX__O_LATE | ASX__O_TICKET | ASX__O_POINT)                                   \
    X(SIGNAL, "signal", CONDITION_CREATE, signal, ASX__O_PARTS)                                    \
    X(SIGNAL_ALL, "signal all", CONDITION_CREATE, signal, ASX__O_PARTS)                            \
    X(NOTIFY_WAIT, "wait for notification", NOTIFY_CREATE, wait,                                   \
      ASX__O_PARTS | ASX__O_GIVES | ASX__O_POINT)                                                  \
    X(NOTIFY_GO_ON, "go on", NOTIFY_CREATE, go_on,                                                 \
      ASX__O_PARTS | ASX__O_LATE | ASX__O_TICKET | ASX__O_POINT)                                   \
    X(NOTIFY_ONE, "notify one", NOTIFY_CREATE, signal, ASX__O_PARTS | ASX__O_TIMER)                \
    X(NOTIFY_ALL, "notify all", NOTIFY_CREATE, signal, ASX__O_PARTS | ASX__O_TIMER)                \
    X(BARRIER_WAIT, "wait at barrier", BARRIER_CREATE, barrier,                                    \
      ASX__O_PARTS | ASX__O_GIVES | ASX__O_POINT)                                                  \
    X(BARRIER_GO_ON, "go on", BARRIER_CREATE, go_on,                                               \
      ASX__O_PARTS | ASX__O_LATE | ASX__O_TICKET | ASX__O_POINT)                                   \
    /* One value, or one call. */                                                                  \
    X(ONCE_CALL, "call once", ONCE_CREATE, once, ASX__O_PARTS | ASX__O_POINT)                      \
    X(ONCE_END, "end once", ONCE_CREATE, once, ASX__O_PARTS)                                       \
    X(ONCE_LOOK, "ask whether once is done", ONCE_CREATE, once, ASX__O_PARTS)                      \
    X(ONESHOT_SEND, "send oneshot", ONESHOT_CREATE, oneshot, ASX__O_PARTS)                         \
    X(ONESHOT_RECV, "receive oneshot", ONESHOT_CREATE, oneshot, ASX__O_PARTS | ASX__O_POINT)       \
    X(ONESHOT_TRY_RECV, "try-receive oneshot", ONESHOT_CREATE, oneshot, ASX__O_PARTS)              \
    X(ONESHOT_DROP, "drop oneshot sender", ONESHOT_CREATE, oneshot, ASX__O_PARTS | ASX__O_LEFT)    \
    X(ONESHOT_CLOSE, "drop oneshot receiver", ONESHOT_CREATE, oneshot,                             \
      ASX__O_PARTS | ASX__O_LEFT)                                                                  \
    X(WATCH_SEND, "set watch", WATCH_CREATE, watch, ASX__O_PARTS)                                  \
    X(WATCH_CHANGED, "wait for change", WATCH_CREATE, watch, ASX__O_PARTS | ASX__O_POINT)          \
    X(WATCH_GET, "look at watch", WATCH_CREATE, watch, ASX__O_PARTS)                               \
    X(WATCH_CLOSE, "close watch", WATCH_CREATE, watch, ASX__O_PARTS)                               \
    /* Broadcasts. */                                                                              \
    X(BROADCAST_SEND, "broadcast", BROADCAST_CREATE, broadcast_send, ASX__O_PARTS)                 \
    X(BROADCAST_RECV, "receive broadcast", BROADCAST_CREATE, broadcast_recv,                       \
      ASX__O_PARTS | ASX__O_POINT)                                                                 \
    X(BROADCAST_TRY_RECV, "try-receive broadcast", BROADCAST_CREATE, broadcast_recv,               \
      ASX__O_PARTS)                                                                                \
    X(SUBSCRIBE, "subscribe", BROADCAST_CREATE, subscribe, ASX__O_PARTS)                           \
    X(UNSUBSCRIBE, "unsubscribe", BROADCAST_CREATE, subscribe, ASX__O_PARTS | ASX__O_LEFT)         \
    X(BROADCAST_CLOSE, "close broadcast", BROADCAST_CREATE, broadcast_close, ASX__O_PARTS)         \
    /* Channels of many receivers. */                                                              \
    X(MPMC_SEND, "send to any", MPMC_CREATE, mpmc_send,                                            \
      ASX__O_PARTS | ASX__O_ASIDE | ASX__O_GIVES | ASX__O_POINT)                                   \
    X(MPMC_TRY_SEND, "try-send to any", MPMC_CREATE, mpmc_send, ASX__O_PARTS | ASX__O_ASIDE)       \
    X(MPMC_TAKEN, "wait until taken", MPMC_CREATE, mpmc_taken,                                     \
      ASX__O_PARTS | ASX__O_ASIDE | ASX__O_LATE | ASX__O_POINT)                                    \
    X(MPMC_RECV, "receive from any", MPMC_CREATE, mpmc_recv,                                       \
      ASX__O_PARTS | ASX__O_ASIDE | ASX__O_POINT)                                                  \
    X(MPMC_TRY_RECV, "try-receive from any", MPMC_CREATE, mpmc_recv, ASX__O_PARTS | ASX__O_ASIDE)  \
    X(MPMC_CLOSE, "close", MPMC_CREATE, mpmc_end, ASX__O_PARTS | ASX__O_ASIDE)                     \
    X(MPMC_CLONE, "clone end", MPMC_CREATE, mpmc_end, ASX__O_PARTS | ASX__O_ASIDE)                 \
    X(MPMC_DROP, "drop end", MPMC_CREATE, mpmc_end, ASX__O_PARTS)

typedef enum asx__op_kind {
#define ASX__OP_ENUM_(name, text, object, run, traits) ASX__OP_##name,
    ASX__OPERATION_LIST(ASX__OP_ENUM_)
#undef ASX__OP_ENUM_
    ASX__OP_COUNT
} asx__op_kind;

#endif
