/* sync.c - what operations on the smaller objects do: conditions, notifies, barriers, once,
 * oneshots, watches, broadcasts, channels of many receivers, races, wakers, timers, links. Pure, as
 * all of op.c.
 *
 * Queue (condition, notify, barrier). Who waits has a ticket; tickets are given out in order, and
 * who makes somebody go on takes the first that waits, as the object itself does.
 *     part 0        tickets given out; bit 31: a notification is stored; from bit 32: those before
 *                   are done with
 *     slot n        ticket n: 0 waits, 1 may go on, 2 has left because it was cancelled
 * A ticket that may go on and one that leaves access their own slot only.
 *
 * Once: 0 nobody, 1 somebody runs it, 2 done.
 * Oneshot: part 0: 0 empty, 1 full, 2 the sender was dropped, 3 taken. Part 1: receiver gone.
 * Watch: part 0: values that were set. Part 1: closed.
 * Broadcast of capacity c: part 0 messages sent, 1 closed, 2 receivers; slot n mod c: messages ever
 * put into it. A receiver is an object of its own: the number of its next message.
 *
 * Channel of many receivers: each endpoint is an object: 1 it was dropped. Parts as those of a
 * channel; closed: bit 0 nobody will receive, bit 1 no more sends. With room for none the slots
 * have no end, a sender puts its message there, and waits until its slot is 2, taken; if it is
 * cancelled before, it leaves a 3.
 *
 * Every state is 0 at first.
 */
#include "lab/dpor/work.h"

#define STORED (UINT64_C(1) << 31)
#define TICKETS (STORED - 1)
#define GONE UINT64_MAX

enum { WAITS, GOES_ON, LEFT };
enum { PART_VALUE, PART_CLOSED, PART_RECEIVERS };
enum { ONESHOT_EMPTY, ONESHOT_FULL, ONESHOT_DROPPED, ONESHOT_TAKEN };
enum { NOT_SENT, SENT, TAKEN, WITHDRAWN };

static uint64_t slot_of(const asx__work *w, uint64_t number)
{
    return w->op->name + ASX__PART_SLOT + number;
}

static bool is_cancelled(asx__work *w)
{
    return w->op->cx != 0 && asx__work_is_refused(w);
}

/* ---- queues --------------------------------------------------------------------------------- */

/* The first ticket from `from` on that waits; `end`: none does. */
static uint64_t first_waiting(asx__work *w, uint64_t from, uint64_t end)
{
    while (from < end && asx__work_reads(w, slot_of(w, from)) != WAITS)
        from++;
    return from;
}

static void take_ticket(asx__work *w, uint64_t queue)
{
    asx__work_writes(w, asx__work_part(w, 0), queue + 1);
    w->deed->found = ASX__FOUND_TICKET + (queue & TICKETS);
}

/* Lets the first, or everybody, go on. False: nobody waits. */
static bool let_go(asx__work *w, uint64_t queue, bool all)
{
    uint64_t end = queue & TICKETS, at = queue >> 32;
    bool some = false;
    for (at = first_waiting(w, at, end); at < end; at = first_waiting(w, at + 1, end)) {
        asx__work_writes_at(w, w->deed->len - 1, GOES_ON);
        some = true;
        if (!all)
            break;
    }
    if (some)
        asx__work_writes(w, asx__work_part(w, 0),
                         (queue & (STORED | TICKETS)) | (all ? end : at + 1) << 32);
    return some;
}

void asx__run_signal(asx__work *w)
{
    uint64_t queue = asx__work_reads(w, asx__work_part(w, 0));
    bool all = w->op->kind == ASX__OP_SIGNAL_ALL || w->op->kind == ASX__OP_NOTIFY_ALL;
    if (let_go(w, queue, all))
        return;
    asx__work_finds(w, ASX__FOUND_NOTHING);
    if (w->op->kind == ASX__OP_NOTIFY_ONE && (queue & STORED) == 0)
        asx__work_writes(w, asx__work_part(w, 0), queue | STORED);
}

void asx__run_wait(asx__work *w)
{
    uint64_t queue = asx__work_reads(w, asx__work_part(w, 0));
    if (w->op->kind == ASX__OP_NOTIFY_WAIT && (queue & STORED) != 0) {
        asx__work_writes(w, asx__work_part(w, 0), queue & ~STORED);
        return;
    }
    take_ticket(w, queue);
    if (w->op->kind == ASX__OP_CONDITION_WAIT)
        asx__work_writes(w, w->op->other, 0); /* the mutex is free */
}

/* a: the ticket. Of a condition also the mutex, `other`, is wanted back, for b. */
void asx__run_go_on(asx__work *w)
{
    uint64_t own = slot_of(w, w->op->a);
    bool goes = asx__work_reads(w, own) == GOES_ON;
    bool leaves = !goes && is_cancelled(w);
    w->deed->enabled = goes || leaves;
    if (w->deed->enabled && w->op->kind == ASX__OP_CONDITION_GO_ON) {
        w->deed->enabled = asx__work_reads(w, w->op->other) == 0;
        if (w->deed->enabled)
            asx__work_writes(w, w->op->other, w->op->b);
    }
    if (w->deed->enabled && leaves) {
        asx__work_writes(w, own, LEFT);
        asx__work_finds(w, ASX__FOUND_CANCELLED);
    }
}

/* b: how many it takes. Who completes the number leads and has no ticket; who would have, had
 * nobody left, looks at all: one who leaves after him must not matter more than one who did so
 * before. */
void asx__run_barrier(asx__work *w)
{
    uint64_t queue = asx__work_reads(w, asx__work_part(w, 0));
    uint64_t end = queue & TICKETS, first = queue >> 32, waiting = 0;
    size_t own = w->deed->len;
    if (end - first + 1 >= w->op->b)
        for (uint64_t at = first; at < end; at++)
            waiting += asx__work_reads(w, slot_of(w, at)) == WAITS;
    if (end - first + 1 < w->op->b || waiting + 1 < w->op->b) {
        take_ticket(w, queue);
        return;
    }
    for (uint64_t at = first; at < end; at++)
        if (w->state(w->ctx, slot_of(w, at), w->op) == WAITS)
            asx__work_writes_at(w, own + (size_t)(at - first), GOES_ON);
    asx__work_writes(w, asx__work_part(w, 0), end | end << 32);
}

/* ---- one value ------------------------------------------------------------------------------ */

void asx__run_once(asx__work *w)
{
    uint64_t state = asx__work_reads(w, w->op->name);
    if (w->op->kind == ASX__OP_ONCE_CALL)
        w->deed->enabled = state != 1;
    if (w->op->kind == ASX__OP_ONCE_CALL && state == 0)
        asx__work_writes(w, w->op->name, 1);
    else if (w->op->kind == ASX__OP_ONCE_END)
        asx__work_writes(w, w->op->name, w->op->a);
}

void asx__run_oneshot(asx__work *w)
{
    uint64_t value = asx__work_part(w, PART_VALUE), closed = asx__work_part(w, PART_CLOSED);
    bool receives = w->op->kind == ASX__OP_ONESHOT_RECV || w->op->kind == ASX__OP_ONESHOT_TRY_RECV;
    if (w->op->kind == ASX__OP_ONESHOT_DROP) {
        if (asx__work_reads(w, value) == ONESHOT_EMPTY)
            asx__work_writes(w, value, ONESHOT_DROPPED);
        return;
    }
    if (w->op->kind == ASX__OP_ONESHOT_CLOSE) {
        if (asx__work_reads(w, closed) == 0)
            asx__work_writes(w, closed, 1); /* nobody looks at the value any more */
        return;
    }
    if (asx__work_reads(w, closed) != 0) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
        return;
    }
    uint64_t state = asx__work_reads(w, value);
    if (receives ? state == ONESHOT_TAKEN : state != ONESHOT_EMPTY)
        asx__work_finds(w, ASX__FOUND_CLOSED); /* the handle has been used */
    else if (!receives)
        asx__work_writes(w, value, ONESHOT_FULL);
    else if (state != ONESHOT_EMPTY)
        asx__work_writes(w, value, ONESHOT_TAKEN);
    else if (w->op->kind == ASX__OP_ONESHOT_TRY_RECV)
        asx__work_finds(w, ASX__FOUND_NOTHING);
    else
        w->deed->enabled = false;
}

/* a: the version that was seen; the first is 1. */
void asx__run_watch(asx__work *w)
{
    uint64_t value = asx__work_part(w, PART_VALUE), closed = asx__work_part(w, PART_CLOSED);
    switch (w->op->kind) {
    case ASX__OP_WATCH_SEND:
        if (asx__work_reads(w, closed) != 0)
            asx__work_finds(w, ASX__FOUND_CLOSED);
        else
            asx__work_writes(w, value, asx__work_reads(w, value) + 1);
        break;
    case ASX__OP_WATCH_CHANGED:
        if (asx__work_reads(w, value) + 1 != w->op->a)
            break;
        w->deed->enabled = asx__work_reads(w, closed) != 0;
        if (w->deed->enabled)
            asx__work_finds(w, ASX__FOUND_CLOSED);
        break;
    case ASX__OP_WATCH_CLOSE:
        asx__work_writes(w, closed, 1);
        break;
    default: /* GET */
        (void)asx__work_reads(w, value);
        break;
    }
}

/* ---- broadcasts ----------------------------------------------------------------------------- */

/* a: capacity; b: it wants to know how many receivers there are. */
void asx__run_broadcast_send(asx__work *w)
{
    if (asx__work_reads(w, asx__work_part(w, PART_CLOSED)) != 0) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
        return;
    }
    uint64_t sent = asx__work_reads(w, asx__work_part(w, PART_VALUE));
    uint64_t slot = slot_of(w, sent % w->op->a);
    asx__work_writes(w, asx__work_part(w, PART_VALUE), sent + 1);
    asx__work_writes(w, slot, asx__work_reads(w, slot) + 1);
    uint64_t receivers = asx__work_part(w, PART_RECEIVERS);
    if (w->op->b != 0)
        asx__work_writes(w, receivers, w->state(w->ctx, receivers, w->op));
}

/* a: capacity; other: the receiver. */
void asx__run_broadcast_recv(asx__work *w)
{
    uint64_t next = asx__work_reads(w, w->op->other);
    if (next == GONE) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
        return;
    }
    uint64_t there = asx__work_reads(w, slot_of(w, next % w->op->a));
    uint64_t wanted = next / w->op->a + 1;
    if (there == wanted) {
        asx__work_writes(w, w->op->other, next + 1);
    } else if (there > wanted) { /* it has missed some */
        uint64_t sent = asx__work_reads(w, asx__work_part(w, PART_VALUE));
        asx__work_writes(w, w->op->other, sent - w->op->a);
        w->deed->found = ASX__FOUND_LAGGED;
    } else if (asx__work_reads(w, asx__work_part(w, PART_CLOSED)) != 0) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
    } else if (w->op->kind == ASX__OP_BROADCAST_TRY_RECV) {
        asx__work_finds(w, ASX__FOUND_NOTHING);
    } else {
        w->deed->enabled = false;
    }
}

/* UNSUBSCRIBE: other: the receiver. */
void asx__run_subscribe(asx__work *w)
{
    uint64_t receivers = asx__work_part(w, PART_RECEIVERS);
    if (w->op->kind == ASX__OP_UNSUBSCRIBE) {
        if (asx__work_reads(w, w->op->other) == GONE)
            return;
        asx__work_writes(w, w->op->other, GONE);
        asx__work_adds(w, receivers, UINT64_MAX);
        return;
    }
    if (asx__work_reads(w, asx__work_part(w, PART_CLOSED)) != 0) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
        return;
    }
    (void)asx__work_reads(w, asx__work_part(w, PART_VALUE));
    asx__work_adds(w, receivers, 1);
}

void asx__run_broadcast_close(asx__work *w)
{
    asx__work_writes(w, asx__work_part(w, PART_CLOSED), 1);
}

/* ---- channels of many receivers ------------------------------------------------------------- */

/* The endpoint, `other`, was dropped. */
static bool has_no_endpoint(asx__work *w)
{
    if (w->op->other == 0 || asx__work_reads(w, w->op->other) == 0)
        return false;
    asx__work_finds(w, ASX__FOUND_CLOSED);
    return true;
}

/* a: capacity. */
void asx__run_mpmc_send(asx__work *w)
{
    if (has_no_endpoint(w))
        return;
    if (asx__work_reads(w, asx__work_part(w, ASX__PART_CLOSED)) != 0) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
        return;
    }
    bool tries = w->op->kind == ASX__OP_MPMC_TRY_SEND;
    uint64_t tail = asx__work_reads(w, asx__work_part(w, ASX__PART_TAIL));
    if (w->op->a == 0 && !tries) {
        asx__work_writes(w, asx__work_part(w, ASX__PART_TAIL), tail + 1);
        asx__work_writes(w, slot_of(w, tail), SENT);
        w->deed->found = ASX__FOUND_TICKET + tail;
        return;
    }
    uint64_t slot = w->op->a != 0 ? slot_of(w, tail % w->op->a) : 0;
    uint64_t state = slot != 0 ? asx__work_reads(w, slot) : 0;
    if (slot != 0 && state / 2 == tail / w->op->a) {
        asx__work_writes(w, asx__work_part(w, ASX__PART_TAIL), tail + 1);
        asx__work_writes(w, slot, state | 1);
    } else if (tries) {
        asx__work_finds(w, ASX__FOUND_NOTHING);
    } else {
        w->deed->enabled = false;
    }
}

/* a: the message's number. Waits until somebody has it. */
void asx__run_mpmc_taken(asx__work *w)
{
    uint64_t own = slot_of(w, w->op->a);
    if (asx__work_reads(w, own) == TAKEN)
        return;
    if (asx__work_reads(w, asx__work_part(w, ASX__PART_DESERTED)) != 0) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
    } else if (is_cancelled(w)) {
        asx__work_writes(w, own, WITHDRAWN);
        asx__work_finds(w, ASX__FOUND_CANCELLED);
    } else {
        w->deed->enabled = false;
    }
}

void asx__run_mpmc_recv(asx__work *w)
{
    if (has_no_endpoint(w))
        return;
    uint64_t head = asx__work_reads(w, asx__work_part(w, ASX__PART_HEAD));
    uint64_t slot = slot_of(w, w->op->a != 0 ? head % w->op->a : head);
    uint64_t state = asx__work_reads(w, slot);
    while (w->op->a == 0 && state == WITHDRAWN) {
        slot = slot_of(w, ++head);
        state = asx__work_reads(w, slot);
    }
    if (state & 1) { /* SENT too */
        asx__work_writes(w, asx__work_part(w, ASX__PART_HEAD), head + 1);
        asx__work_writes(w, slot, state + 1);
    } else if (asx__work_reads(w, asx__work_part(w, ASX__PART_CLOSED)) != 0) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
    } else if (w->op->kind == ASX__OP_MPMC_TRY_RECV) {
        asx__work_finds(w, ASX__FOUND_NOTHING);
    } else {
        w->deed->enabled = false;
    }
}

/* a: it is a receiver's. */
void asx__run_mpmc_end(asx__work *w)
{
    if (has_no_endpoint(w))
        return;
    uint64_t closed = asx__work_part(w, ASX__PART_CLOSED);
    uint64_t count = asx__work_part(w, w->op->a != 0 ? ASX__PART_UNACKED : ASX__PART_SENDERS);
    if (w->op->kind == ASX__OP_MPMC_CLOSE) {
        asx__work_writes(w, closed, 1);
        return;
    }
    if (w->op->kind == ASX__OP_MPMC_DROP)
        asx__work_writes(w, w->op->other, 1);
    uint64_t more = asx__work_reads(w, count); /* besides the first */
    asx__work_writes(w, count, w->op->kind == ASX__OP_MPMC_CLONE ? more + 1 : more - 1);
    if (w->op->kind != ASX__OP_MPMC_DROP || more != 0)
        return;
    asx__work_writes(w, closed, 1);
    if (w->op->a != 0)
        asx__work_writes(w, asx__work_part(w, ASX__PART_DESERTED), 1);
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/* One of the targets has ended. */
void asx__run_first_of(asx__work *w)
{
    w->deed->enabled = false;
    for (uint32_t i = 0; i < w->op->targets_len; i++)
        if (asx__work_reads(w, w->op->targets[i]) != 0)
            w->deed->enabled = true;
    if (!w->deed->enabled && is_cancelled(w)) {
        w->deed->enabled = true;
        asx__work_finds(w, ASX__FOUND_CANCELLED);
    }
}

/* targets: the ends of two tasks; then the flags that the end of the first sets, if it failed: `a`
 * of them; then those of the second. If none of them has ended there is a link now. */
void asx__run_link(asx__work *w)
{
    const asx__op *op = w->op;
    uint64_t first = asx__work_reads(w, op->targets[0]);
    uint64_t second = asx__work_reads(w, op->targets[1]);
    uint32_t from = 2, to = 2;
    if (first != 0)
        to = first == ASX__FIN_FAILED ? 2 + (uint32_t)op->a : 2;
    else if (second == ASX__FIN_FAILED)
        from = 2 + (uint32_t)op->a, to = op->targets_len;
    asx__op_sets(w, from, to);
    if (first == ASX__FIN_FAILED || (first == 0 && second == ASX__FIN_FAILED))
        w->deed->found = ASX__FOUND_CLOSED; /* whoever has failed may be joined by now */
    if (first == 0 && second == 0)
        asx__work_writes(w, op->name, 1);
}

void asx__run_waker(asx__work *w)
{
    uint64_t state = asx__work_reads(w, w->op->name);
    if (w->op->kind == ASX__OP_WAKE) {
        if (state == 0)
            asx__work_writes(w, w->op->name, 1);
        return;
    }
    w->deed->enabled = state != 0;
    if (state != 0)
        asx__work_writes(w, w->op->name, 0);
}

/* name: the timer; SET_TIMER: those of one time, and the timer that it replaces is `other`. FIRE:
 * `other` is the waker that it calls. */
void asx__run_timer(asx__work *w)
{
    uint64_t timer = w->op->kind == ASX__OP_SET_TIMER ? w->op->other : w->op->name;
    bool fires = w->op->kind == ASX__OP_FIRE_TIMER;
    if (w->op->kind == ASX__OP_SET_TIMER)
        asx__work_writes(w, w->op->name, 0);
    if (timer == 0)
        return;
    bool pending = asx__work_reads(w, timer) == ASX__TIMER_PENDING;
    w->deed->enabled = pending || !fires;
    if (pending)
        asx__work_writes(w, timer, ASX__TIMER_GONE);
    else
        asx__work_finds(w, ASX__FOUND_NOTHING);
    if (pending && fires && asx__work_reads(w, w->op->other) == 0)
        asx__work_writes(w, w->op->other, 1);
}

/* a: how many there is room for, in `other`; b: ASX__START_... What a cancelled task opens is
 * cancelled; who is refused does not look. */
void asx__run_spawn(asx__work *w)
{
    const asx__op *op = w->op;
    uint64_t stopped = asx__work_part(w, ASX__PART_STOPPED);
    if (asx__op_is_stopped(w, asx__work_reads(w, stopped))) {
        (void)asx__work_reads(w, asx__work_part(w, ASX__PART_GONE)); /* that says something else */
        asx__work_finds(w, ASX__FOUND_CLOSED);
        return;
    }
    if (asx__work_reads(w, op->name) != 0) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
        return;
    }
    if (op->b & ASX__START_FAILS) {
        asx__work_writes(w, stopped, 2);
        if (asx__op_tells(op))
            asx__work_tells(w);
        asx__work_finds(w, ASX__FOUND_NOTHING);
        return;
    }
    uint64_t tasks = op->other != 0 ? asx__work_reads(w, op->other) : 0;
    if (op->other == 0 || tasks < op->a) {
        if (op->other != 0)
            asx__work_writes(w, op->other, tasks + 1);
        if ((op->b & ASX__START_OPENS) != 0 && op->cx != 0)
            (void)asx__work_reads(w, op->cx);
    } else if ((op->b & ASX__START_WAITS) == 0) {
        asx__work_finds(w, ASX__FOUND_NOTHING);
    } else if (is_cancelled(w)) {
        asx__work_finds(w, ASX__FOUND_CANCELLED);
    } else {
        w->deed->enabled = false;
    }
}

/* a: how many there is room for; other: the flag of the region around it, 0: nobody else sets it.
 * Whether that is closing is not asked: the task is in it. */
void asx__run_take_place(asx__work *w)
{
    const asx__op *op = w->op;
    uint64_t regions = asx__work_reads(w, op->name);
    if (regions >= op->a) {
        asx__work_finds(w, ASX__FOUND_NOTHING);
        return;
    }
    asx__work_writes(w, op->name, regions + 1);
    (void)is_cancelled(w);
    if (op->other != 0)
        (void)asx__work_reads(w, op->other);
}

/* other: how many there are, if there is room for so many; the target: whether its region is
 * closed, if that may be. */
void asx__run_settle(asx__work *w)
{
    const asx__op *op = w->op;
    if (op->targets_len != 0 && asx__work_reads(w, op->targets[0]) == 2) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
    } else if (asx__work_reads(w, op->name) != 0) {
        asx__work_finds(w, ASX__FOUND_NOTHING);
    } else {
        asx__work_writes(w, op->name, 1);
        if (op->other != 0)
            asx__work_gives_back(w, op->other);
    }
}
