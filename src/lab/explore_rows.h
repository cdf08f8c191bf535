/* explore_rows.h - which operation of the engine each turn of the runtime's seam is. For
 * explore_turn.c alone. */
#ifndef ASX_LAB_EXPLORE_ROWS_H
#define ASX_LAB_EXPLORE_ROWS_H

#include <asx/trace.h>

#include "lab/dpor.h"
#include "sched/seam.h"

typedef struct asx__turn_row {
    asx__op_kind kind;
    uint32_t made_by;   /* event that made its object; 0: none */
    bool can_cancel;    /* cancellation point */
} asx__turn_row;

#define CHANNEL ASX_EVENT_CHANNEL_CREATE
#define MUTEX ASX_EVENT_MUTEX_CREATE
#define RWLOCK ASX_EVENT_RWLOCK_CREATE
#define SEMAPHORE ASX_EVENT_SEMAPHORE_CREATE
#define CONDITION ASX_EVENT_CONDITION_CREATE
#define NOTIFY ASX_EVENT_NOTIFY_CREATE
#define BARRIER ASX_EVENT_BARRIER_CREATE
#define ONCE ASX_EVENT_ONCE_CREATE
#define ONESHOT ASX_EVENT_ONESHOT_CREATE
#define WATCH ASX_EVENT_WATCH_CREATE
#define BROADCAST ASX_EVENT_BROADCAST_CREATE
#define RECEIVER ASX_EVENT_BROADCAST_SUBSCRIBE
#define MPMC ASX_EVENT_MPMC_CREATE
#define OBLIGATION ASX_EVENT_OBLIGATION_RESERVE
#define SENDER ASX_EVENT_CHANNEL_SENDER_DROP

static const asx__turn_row rows[ASX__TURN_COUNT] = {
    [ASX__TURN_SEND] = { ASX__OP_SEND, CHANNEL, true },
    [ASX__TURN_TRY_SEND] = { ASX__OP_TRY_SEND, CHANNEL, false },
    [ASX__TURN_EVICT] = { ASX__OP_EVICT, CHANNEL, false },
    [ASX__TURN_RESERVE] = { ASX__OP_RESERVE, CHANNEL, true },
    [ASX__TURN_TRY_RESERVE] = { ASX__OP_TRY_RESERVE, CHANNEL, false },
    [ASX__TURN_PERMIT_SEND] = { ASX__OP_PERMIT_SEND, CHANNEL, false },
    [ASX__TURN_PERMIT_ABORT] = { ASX__OP_PERMIT_ABORT, CHANNEL, false },
    [ASX__TURN_RECV] = { ASX__OP_RECV, CHANNEL, true },
    [ASX__TURN_TRY_RECV] = { ASX__OP_TRY_RECV, CHANNEL, false },
    [ASX__TURN_RECV_ACK] = { ASX__OP_RECV_ACK, CHANNEL, true },
    [ASX__TURN_ACK_COMMIT] = { ASX__OP_ACK_COMMIT, CHANNEL, false },
    [ASX__TURN_ACK_NACK] = { ASX__OP_ACK_NACK, CHANNEL, false },
    [ASX__TURN_CLONE] = { ASX__OP_CLONE, CHANNEL, false },
    [ASX__TURN_DROP] = { ASX__OP_DROP, CHANNEL, false },
    [ASX__TURN_CLOSE] = { ASX__OP_CLOSE, CHANNEL, false },
    [ASX__TURN_CHECKPOINT] = { ASX__OP_CHECKPOINT, 0, true },
    [ASX__TURN_JOIN] = { ASX__OP_JOIN, 0, true },
    [ASX__TURN_CANCEL_TASK] = { ASX__OP_CANCEL, 0, false },
    [ASX__TURN_CANCEL_REGION] = { ASX__OP_CANCEL, 0, false },
    [ASX__TURN_STOP_REGION] = { ASX__OP_STOP_REGION, 0, false },
    [ASX__TURN_CLOSE_REGION] = { ASX__OP_CLOSE_REGION, 0, false },
    [ASX__TURN_END] = { ASX__OP_END, 0, false },
    [ASX__TURN_SLEEP] = { ASX__OP_SLEEP, 0, true },
    [ASX__TURN_LOCK] = { ASX__OP_LOCK, MUTEX, true },
    [ASX__TURN_TRY_LOCK] = { ASX__OP_TRY_LOCK, MUTEX, false },
    [ASX__TURN_UNLOCK] = { ASX__OP_UNLOCK, MUTEX, false },
    [ASX__TURN_READ_LOCK] = { ASX__OP_READ_LOCK, RWLOCK, true },
    [ASX__TURN_TRY_READ_LOCK] = { ASX__OP_TRY_READ_LOCK, RWLOCK, false },
    [ASX__TURN_READ_UNLOCK] = { ASX__OP_READ_UNLOCK, RWLOCK, false },
    [ASX__TURN_WRITE_LOCK] = { ASX__OP_WRITE_LOCK, RWLOCK, true },
    [ASX__TURN_TRY_WRITE_LOCK] = { ASX__OP_TRY_WRITE_LOCK, RWLOCK, false },
    [ASX__TURN_WRITE_UNLOCK] = { ASX__OP_WRITE_UNLOCK, RWLOCK, false },
    [ASX__TURN_ACQUIRE] = { ASX__OP_ACQUIRE, SEMAPHORE, true },
    [ASX__TURN_TRY_ACQUIRE] = { ASX__OP_TRY_ACQUIRE, SEMAPHORE, false },
    [ASX__TURN_RELEASE] = { ASX__OP_RELEASE, SEMAPHORE, false },
    [ASX__TURN_IS_CANCELLED] = { ASX__OP_CHECKPOINT, 0, false },
    [ASX__TURN_OPEN_REGION] = { ASX__OP_OPEN_REGION, 0, false },
    [ASX__TURN_SHIELD] = { ASX__OP_SHIELD, 0, false },
    [ASX__TURN_SPAWN] = { ASX__OP_SPAWN, 0, false },
    [ASX__TURN_SET_UP] = { ASX__OP_SET_UP, 0, false },
    [ASX__TURN_TAKE_PLACE] = { ASX__OP_TAKE_PLACE, 0, false },
    [ASX__TURN_SETTLE] = { ASX__OP_SETTLE, OBLIGATION, false },
    [ASX__TURN_LINK] = { ASX__OP_LINK, 0, false },
    [ASX__TURN_FIRST_OF] = { ASX__OP_FIRST_OF, 0, true },
    [ASX__TURN_WAKE] = { ASX__OP_WAKE, 0, false },
    [ASX__TURN_WAIT_EXTERNAL] = { ASX__OP_WAIT_EXTERNAL, 0, true },
    [ASX__TURN_CONDITION_WAIT] = { ASX__OP_CONDITION_WAIT, CONDITION, true },
    [ASX__TURN_CONDITION_GO_ON] = { ASX__OP_CONDITION_GO_ON, CONDITION, true },
    [ASX__TURN_SIGNAL] = { ASX__OP_SIGNAL, CONDITION, false },
    [ASX__TURN_SIGNAL_ALL] = { ASX__OP_SIGNAL_ALL, CONDITION, false },
    [ASX__TURN_NOTIFY_WAIT] = { ASX__OP_NOTIFY_WAIT, NOTIFY, true },
    [ASX__TURN_NOTIFY_GO_ON] = { ASX__OP_GO_ON, NOTIFY, true },
    [ASX__TURN_NOTIFY_ONE] = { ASX__OP_NOTIFY_ONE, NOTIFY, false },
    [ASX__TURN_NOTIFY_ALL] = { ASX__OP_NOTIFY_ALL, NOTIFY, false },
    [ASX__TURN_BARRIER_WAIT] = { ASX__OP_BARRIER_WAIT, BARRIER, true },
    [ASX__TURN_BARRIER_GO_ON] = { ASX__OP_GO_ON, BARRIER, true },
    [ASX__TURN_ONCE_CALL] = { ASX__OP_ONCE_CALL, ONCE, true },
    [ASX__TURN_ONCE_END] = { ASX__OP_ONCE_END, ONCE, false },
    [ASX__TURN_ONCE_LOOK] = { ASX__OP_ONCE_LOOK, ONCE, false },
    [ASX__TURN_ONESHOT_SEND] = { ASX__OP_ONESHOT_SEND, ONESHOT, false },
    [ASX__TURN_ONESHOT_RECV] = { ASX__OP_ONESHOT_RECV, ONESHOT, true },
    [ASX__TURN_ONESHOT_TRY_RECV] = { ASX__OP_ONESHOT_TRY_RECV, ONESHOT, false },
    [ASX__TURN_ONESHOT_DROP] = { ASX__OP_ONESHOT_DROP, ONESHOT, false },
    [ASX__TURN_ONESHOT_CLOSE] = { ASX__OP_ONESHOT_CLOSE, ONESHOT, false },
    [ASX__TURN_WATCH_SEND] = { ASX__OP_WATCH_SEND, WATCH, false },
    [ASX__TURN_WATCH_CHANGED] = { ASX__OP_WATCH_CHANGED, WATCH, true },
    [ASX__TURN_WATCH_GET] = { ASX__OP_WATCH_GET, WATCH, false },
    [ASX__TURN_WATCH_CLOSE] = { ASX__OP_WATCH_CLOSE, WATCH, false },
    [ASX__TURN_BROADCAST_SEND] = { ASX__OP_BROADCAST_SEND, BROADCAST, false },
    [ASX__TURN_BROADCAST_RECV] = { ASX__OP_BROADCAST_RECV, BROADCAST, true },
    [ASX__TURN_BROADCAST_TRY_RECV] = { ASX__OP_BROADCAST_TRY_RECV, BROADCAST, false },
    [ASX__TURN_SUBSCRIBE] = { ASX__OP_SUBSCRIBE, BROADCAST, false },
    [ASX__TURN_UNSUBSCRIBE] = { ASX__OP_UNSUBSCRIBE, BROADCAST, false },
    [ASX__TURN_BROADCAST_CLOSE] = { ASX__OP_BROADCAST_CLOSE, BROADCAST, false },
    [ASX__TURN_MPMC_SEND] = { ASX__OP_MPMC_SEND, MPMC, true },
    [ASX__TURN_MPMC_TRY_SEND] = { ASX__OP_MPMC_TRY_SEND, MPMC, false },
    [ASX__TURN_MPMC_TAKEN] = { ASX__OP_MPMC_TAKEN, MPMC, true },
    [ASX__TURN_MPMC_RECV] = { ASX__OP_MPMC_RECV, MPMC, true },
    [ASX__TURN_MPMC_TRY_RECV] = { ASX__OP_MPMC_TRY_RECV, MPMC, false },
    [ASX__TURN_MPMC_CLOSE] = { ASX__OP_MPMC_CLOSE, MPMC, false },
    [ASX__TURN_MPMC_CLONE] = { ASX__OP_MPMC_CLONE, MPMC, false },
    [ASX__TURN_MPMC_DROP] = { ASX__OP_MPMC_DROP, MPMC, false },
};

/* Does it drop one end of a channel? */
static inline bool drops_an_end(asx__turn_kind kind)
{
    return kind == ASX__TURN_DROP || kind == ASX__TURN_CLOSE;
}

/* Can there be more, or less, claims after it than messages were sent? */
static inline bool makes_claims(asx__turn_kind kind)
{
    return kind == ASX__TURN_EVICT ||
           (kind >= ASX__TURN_RESERVE && kind <= ASX__TURN_PERMIT_ABORT) ||
           (kind >= ASX__TURN_RECV_ACK && kind <= ASX__TURN_ACK_NACK);
}

static inline bool gives_tickets(asx__turn_kind kind)
{
    return kind == ASX__TURN_CONDITION_WAIT || kind == ASX__TURN_NOTIFY_WAIT ||
           kind == ASX__TURN_BARRIER_WAIT || kind == ASX__TURN_MPMC_SEND;
}

/* What a task leaves behind is given back without a call of it. */
static inline bool is_left_behind(asx__turn_kind kind)
{
    switch (kind) {
    case ASX__TURN_PERMIT_ABORT:
    case ASX__TURN_ACK_NACK:
    case ASX__TURN_DROP:
    case ASX__TURN_CLOSE:
    case ASX__TURN_UNLOCK:
    case ASX__TURN_READ_UNLOCK:
    case ASX__TURN_WRITE_UNLOCK:
    case ASX__TURN_RELEASE:
    case ASX__TURN_ONESHOT_DROP:
    case ASX__TURN_ONESHOT_CLOSE:
    case ASX__TURN_UNSUBSCRIBE:
        return true;
    default:
        return false;
    }
}

/* Tasks that came since the operation was announced may be among its targets. */
static inline bool aims_at_tasks(asx__turn_kind kind)
{
    return kind == ASX__TURN_CANCEL_TASK || kind == ASX__TURN_CANCEL_REGION ||
           kind == ASX__TURN_END || kind == ASX__TURN_LINK || kind == ASX__TURN_CLOSE_REGION ||
           kind == ASX__TURN_SHIELD;
}

#endif
