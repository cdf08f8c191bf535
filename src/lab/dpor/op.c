/* op.c - what operations do to objects: which they access, whether they are enabled, and the
 * states they leave. All of it is pure, so that the engine can ask what an operation would do at
 * another place of an execution without running anything.
 *
 * An operation looks at objects one after the other; which is next may depend on what it saw. So it
 * does the same wherever the objects that it looks at have the same states. If it is disabled, what
 * it looked at is what must change.
 *
 * Channel (capacity c). Messages and claims are numbered from 0; number n belongs into slot n mod
 * c.
 *     closed   bit 0: nobody will receive; bit 1: the last sender was dropped
 *     senders  live ones - 1
 *     claims   claims ever taken: sends, permits, messages without ack, less what was given back
 *     tail     messages ever sent
 *     head     messages ever taken, x 2; bit 0: the receiver was dropped
 *     unacked  messages without ack
 *     slot     messages that were taken out of it, x 2; bit 0: there is one in it
 * There is room for claim n iff the slot of n has given up all earlier ones: n / c were taken. The
 * next message is there iff the slot of `head` is full.
 *
 * Read-write lock: bit 63 a writer has it; bits 32 .. 62 requests to write; below: readers.
 *
 * Every state is 0 at first.
 */
#include "lab/dpor/work.h"

#include <asx/explore.h>

#define RX_GONE 1u
#define TX_GONE 2u
#define WRITER (UINT64_C(1) << 63)
#define REQUEST (UINT64_C(1) << 32)
#define READERS (REQUEST - 1)
#define REQUESTS (~(WRITER | READERS))

static const char *const op_names[] = {
#define OP_NAME(name, text, object, run, traits) text,
    ASX__OPERATION_LIST(OP_NAME)
#undef OP_NAME
};

const uint32_t asx__op_traits[ASX__OP_COUNT] = {
#define OP_TRAITS(name, text, object, run, traits) (traits),
    ASX__OPERATION_LIST(OP_TRAITS)
#undef OP_TRAITS
};

const char *asx__op_str(unsigned kind)
{
    return kind < ASX__OP_COUNT ? op_names[kind] : "unknown";
}

bool asx__op_is_wide(const asx__op *op)
{
    return (asx__op_traits[op->kind] & ASX__O_SINGLE) == 0 || op->cx != 0 || op->name != 0 ||
           op->other != 0;
}

bool asx__op_has_shields(const asx__op *op)
{
    for (uint32_t i = 0; i < op->targets_len; i++)
        if (asx__is_shield(op->targets[i]))
            return true;
    return false;
}

/* ---- one object ----------------------------------------------------------------------------- */

/* What somebody else has defined; the state it leaves counts only if it can be done and writes. */
static asx__op_effect eval_device(const asx__op *op, uint64_t state)
{
    asx_lab_effect effect = op->device->eval((unsigned)op->b, op->a, state);
    return (asx__op_effect){ effect.enabled, effect.writes, effect.writes ? effect.after : state };
}

static uint64_t cut(const asx__op *op, uint64_t value)
{
    return op->size >= 8 ? value : value & ((UINT64_C(1) << (op->size * 8)) - 1);
}

asx__op_effect asx__op_eval(const asx__op *op, uint64_t state)
{
    switch (op->kind) {
    case ASX__OP_STORE: /* overtaken by those that came later: it is not the newest */
        return (asx__op_effect){ true, true, op->pick == 0 ? op->a : state };
    case ASX__OP_EXCHANGE:
        return (asx__op_effect){ true, true, op->a };
    case ASX__OP_CAS:
        return state == op->a ? (asx__op_effect){ true, true, op->b }
                              : (asx__op_effect){ true, false, state };
    case ASX__OP_FETCH_ADD:
        return (asx__op_effect){ true, true, cut(op, state + op->a) };
    case ASX__OP_FETCH_OR:
        return (asx__op_effect){ true, true, state | op->a };
    case ASX__OP_FETCH_AND:
        return (asx__op_effect){ true, true, state & op->a };
    case ASX__OP_LOCK: /* state: 0 free, else the holder's number + 1, which is `a` */
        return (asx__op_effect){ state == 0, true, op->a };
    case ASX__OP_TRY_LOCK:
        return state == 0 ? (asx__op_effect){ true, true, op->a }
                          : (asx__op_effect){ true, false, state };
    case ASX__OP_UNLOCK: /* of somebody else's lock it does nothing but look */
        return state == op->a ? (asx__op_effect){ true, true, 0 }
                              : (asx__op_effect){ true, false, state };
    case ASX__OP_ACQUIRE: /* state: units left */
        return (asx__op_effect){ state >= op->a, true, state - op->a };
    case ASX__OP_TRY_ACQUIRE:
        return state >= op->a ? (asx__op_effect){ true, true, state - op->a }
                              : (asx__op_effect){ true, false, state };
    case ASX__OP_RELEASE:
        return (asx__op_effect){ true, true, state + op->a };
    case ASX__OP_WRITE_REQUEST:
        return (asx__op_effect){ true, true, state + REQUEST };
    case ASX__OP_WRITE_LOCK: /* a: whether it has requested */
        return (asx__op_effect){ (state & (WRITER | READERS)) == 0, true,
                                 (state | WRITER) - (op->a != 0 ? REQUEST : 0) };
    case ASX__OP_TRY_WRITE_LOCK: /* it tells whether it comes before or after those who read */
        return state == 0 ? (asx__op_effect){ true, true, WRITER }
                          : (asx__op_effect){ true, (state & ~READERS) == 0, state };
    case ASX__OP_WRITE_UNLOCK:
        return (asx__op_effect){ true, true, state & ~WRITER };
    case ASX__OP_DEVICE:
        return eval_device(op, state);
    default:
        return (asx__op_effect){ true, false, state };
    }
}

uint64_t asx__state_read(const void *object, uint32_t size)
{
    switch (size) {
    case 1:
        return *(const volatile uint8_t *)object;
    case 2:
        return *(const volatile uint16_t *)object;
    case 4:
        return *(const volatile uint32_t *)object;
    default:
        return *(const volatile uint64_t *)object;
    }
}

void asx__state_write(void *object, uint32_t size, uint64_t state)
{
    switch (size) {
    case 1:
        *(volatile uint8_t *)object = (uint8_t)state;
        break;
    case 2:
        *(volatile uint16_t *)object = (uint16_t)state;
        break;
    case 4:
        *(volatile uint32_t *)object = (uint32_t)state;
        break;
    default:
        *(volatile uint64_t *)object = state;
        break;
    }
}

/* ---- several objects ------------------------------------------------------------------------ */

/* The slot of a number; before the ring is full for the first time nothing has to be divided. */
static inline uint64_t slot(const asx__work *w, uint64_t number)
{
    uint64_t at = ASX__LIKELY(number < w->op->a) ? number : number % w->op->a;
    return w->op->name + ASX__PART_SLOT + at;
}

/* How often the ring was full before that number. */
static inline uint64_t round_of(const asx__work *w, uint64_t number)
{
    return ASX__LIKELY(number < w->op->a) ? 0 : number / w->op->a;
}

/* What is said about the ends of the channel; 0 if that can be nothing else. */
static uint64_t closed_state(asx__work *w)
{
    return (w->op->b & ASX__CHANNEL_STAYS) != 0
               ? 0
               : asx__work_reads(w, asx__work_part(w, ASX__PART_CLOSED));
}

/* Is there room for one more claim? Its number is *ret_claim; the state of its slot. */
static bool has_room(asx__work *w, uint64_t *ret_claim, uint64_t *ret_state)
{
    bool plain = (w->op->b & ASX__CHANNEL_IS_PLAIN) != 0;
    uint64_t claim = asx__work_reads(w, asx__work_part(w, plain ? ASX__PART_TAIL
                                                                : ASX__PART_CLAIMS));
    *ret_claim = claim;
    *ret_state = asx__work_reads(w, slot(w, claim));
    return *ret_state / 2 == round_of(w, claim);
}

static uint64_t slot_state(const asx__work *w, uint64_t number)
{
    return w->state(w->ctx, slot(w, number), w->op);
}

/* Puts a message at the end, where the slot has that state. */
static void put(asx__work *w, uint64_t number, uint64_t state)
{
    asx__work_writes(w, asx__work_part(w, ASX__PART_TAIL), number + 1);
    asx__work_writes(w, slot(w, number), state | 1);
}

/* Was the sender dropped by somebody? */
static bool is_dropped(asx__work *w)
{
    if (w->op->other == 0 || asx__work_reads(w, w->op->other) == 0)
        return false;
    asx__work_finds(w, ASX__FOUND_CLOSED);
    return true;
}

void asx__run_send(asx__work *w)
{
    uint64_t claim, state;
    if (is_dropped(w))
        return;
    if (closed_state(w) & RX_GONE) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
        return;
    }
    bool plain = (w->op->b & ASX__CHANNEL_IS_PLAIN) != 0;
    bool some = has_room(w, &claim, &state);
    uint64_t tail = plain ? claim : asx__work_reads(w, asx__work_part(w, ASX__PART_TAIL));
    if (some && !plain)
        asx__work_writes(w, asx__work_part(w, ASX__PART_CLAIMS), claim + 1);
    if (ASX__LIKELY(some)) {
        put(w, tail, plain ? state : slot_state(w, tail));
        return;
    }
    if (w->op->kind == ASX__OP_SEND) {
        w->deed->enabled = false;
        return;
    }
    if (w->op->kind == ASX__OP_TRY_SEND) {
        asx__work_finds(w, ASX__FOUND_NOTHING);
        return;
    }
    uint64_t head = asx__work_reads(w, asx__work_part(w, ASX__PART_HEAD)) / 2;
    if (head == tail) {
        asx__work_finds(w, ASX__FOUND_NOTHING);
        return;
    }
    uint64_t oldest = slot_state(w, head);
    asx__work_writes(w, asx__work_part(w, ASX__PART_HEAD), (head + 1) * 2);
    asx__work_writes(w, asx__work_part(w, ASX__PART_CLAIMS), claim + 1);
    asx__work_writes(w, asx__work_part(w, ASX__PART_TAIL), tail + 1);
    asx__work_writes(w, slot(w, head), (oldest & ~UINT64_C(1)) + 2);
    if (slot(w, head) == slot(w, tail))
        asx__work_writes(w, slot(w, tail), ((oldest & ~UINT64_C(1)) + 2) | 1);
    else
        put(w, tail, slot_state(w, tail));
}

void asx__run_reserve(asx__work *w)
{
    uint64_t claim, state;
    if (is_dropped(w))
        return;
    if (closed_state(w) & RX_GONE) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
        return;
    }
    if (has_room(w, &claim, &state))
        asx__work_writes(w, asx__work_part(w, ASX__PART_CLAIMS), claim + 1);
    else if (w->op->kind == ASX__OP_RESERVE)
        w->deed->enabled = false;
    else
        asx__work_finds(w, ASX__FOUND_NOTHING);
}

void asx__run_permit(asx__work *w)
{
    if (w->op->kind == ASX__OP_PERMIT_SEND) {
        if ((closed_state(w) & RX_GONE) == 0) {
            uint64_t tail = asx__work_reads(w, asx__work_part(w, ASX__PART_TAIL));
            put(w, tail, slot_state(w, tail));
            return;
        }
        asx__work_finds(w, ASX__FOUND_CLOSED); /* whoever claims next is told so, not how many do */
        return;
    }
    uint64_t claims = asx__work_reads(w, asx__work_part(w, ASX__PART_CLAIMS));
    asx__work_writes(w, asx__work_part(w, ASX__PART_CLAIMS), claims - 1);
}

/* Nothing is queued: can something still come? */
static void run_empty(asx__work *w)
{
    if (closed_state(w) & TX_GONE) {
        if ((w->op->b & ASX__CHANNEL_IS_PLAIN) != 0) {
            asx__work_finds(w, ASX__FOUND_CLOSED);
            return;
        }
        uint64_t claims = asx__work_reads(w, asx__work_part(w, ASX__PART_CLAIMS));
        uint64_t tail = asx__work_reads(w, asx__work_part(w, ASX__PART_TAIL));
        if (claims - tail == asx__work_reads(w, asx__work_part(w, ASX__PART_UNACKED))) {
            asx__work_finds(w, ASX__FOUND_CLOSED);
            return;
        }
    }
    if (w->op->kind == ASX__OP_TRY_RECV)
        asx__work_finds(w, ASX__FOUND_NOTHING);
    else
        w->deed->enabled = false;
}

void asx__run_recv(asx__work *w)
{
    uint64_t head = asx__work_reads(w, asx__work_part(w, ASX__PART_HEAD));
    if (head & 1) {
        asx__work_finds(w, ASX__FOUND_CLOSED);
        return;
    }
    uint64_t state = asx__work_reads(w, slot(w, head / 2));
    if ((state & 1) == 0) {
        run_empty(w);
        return;
    }
    asx__work_writes(w, asx__work_part(w, ASX__PART_HEAD), head + 2);
    asx__work_writes(w, slot(w, head / 2), state + 1); /* one more taken, none in it */
    if (ASX__LIKELY(w->op->kind != ASX__OP_RECV_ACK))
        return;
    uint64_t claims = asx__work_reads(w, asx__work_part(w, ASX__PART_CLAIMS));
    uint64_t unacked = asx__work_reads(w, asx__work_part(w, ASX__PART_UNACKED));
    asx__work_writes(w, asx__work_part(w, ASX__PART_CLAIMS), claims + 1);
    asx__work_writes(w, asx__work_part(w, ASX__PART_UNACKED), unacked + 1);
}

void asx__run_ack(asx__work *w)
{
    uint64_t claims = asx__work_reads(w, asx__work_part(w, ASX__PART_CLAIMS));
    uint64_t unacked = asx__work_reads(w, asx__work_part(w, ASX__PART_UNACKED));
    asx__work_writes(w, asx__work_part(w, ASX__PART_CLAIMS), claims - 1);
    asx__work_writes(w, asx__work_part(w, ASX__PART_UNACKED), unacked - 1);
    if (w->op->kind == ASX__OP_ACK_COMMIT)
        return;
    uint64_t head = asx__work_reads(w, asx__work_part(w, ASX__PART_HEAD));
    if (head & 1)
        return; /* discarded */
    uint64_t back = slot(w, head / 2 - 1);
    asx__work_writes(w, asx__work_part(w, ASX__PART_HEAD), head - 2);
    asx__work_writes(w, back, w->state(w->ctx, back, w->op) - 1);
}

void asx__run_endpoint(asx__work *w)
{
    if (w->op->kind == ASX__OP_CLOSE) {
        uint64_t closed = asx__work_reads(w, asx__work_part(w, ASX__PART_CLOSED));
        if (closed & RX_GONE) {
            asx__work_finds(w, ASX__FOUND_CLOSED); /* by somebody else */
            return;
        }
        uint64_t head = asx__work_reads(w, asx__work_part(w, ASX__PART_HEAD));
        asx__work_writes(w, asx__work_part(w, ASX__PART_CLOSED), closed | RX_GONE);
        asx__work_writes(w, asx__work_part(w, ASX__PART_HEAD), head | 1);
        return;
    }
    if (is_dropped(w))
        return;
    if (w->op->kind == ASX__OP_DROP && w->op->other != 0)
        asx__work_writes(w, w->op->other, 1);
    uint64_t senders = asx__work_reads(w, asx__work_part(w, ASX__PART_SENDERS));
    if (w->op->kind == ASX__OP_CLONE) {
        asx__work_writes(w, asx__work_part(w, ASX__PART_SENDERS), senders + 1);
        return;
    }
    asx__work_writes(w, asx__work_part(w, ASX__PART_SENDERS), senders - 1);
    if (senders == 0)
        asx__work_writes(w, asx__work_part(w, ASX__PART_CLOSED),
                         asx__work_reads(w, asx__work_part(w, ASX__PART_CLOSED)) | TX_GONE);
}

void asx__run_read_lock(asx__work *w)
{
    uint64_t name = asx__op_name(w->op);
    uint64_t state = asx__work_reads(w, name);
    asx__touch *touch = &w->deed->touches[w->deed->len - 1];
    if (w->op->kind == ASX__OP_READ_UNLOCK)
        touch->change = UINT64_MAX;
    else if ((state & (WRITER | REQUESTS)) == 0)
        touch->change = 1;
    else if (w->op->kind == ASX__OP_READ_LOCK)
        w->deed->enabled = false;
    else
        asx__work_finds(w, ASX__FOUND_NOTHING);
}

/* It may have been looked at before. */
static uint64_t look_once(asx__work *w, uint64_t name)
{
    for (size_t i = 0; i < w->deed->len; i++)
        if (w->deed->touches[i].name == name)
            return w->state(w->ctx, name, w->op);
    return asx__work_reads(w, name);
}

/* A shield that has never been down is not looked at: who takes it down looks at what is set in
 * front of it. */
static bool is_down(asx__work *w, uint64_t shield)
{
    return w->state(w->ctx, shield, w->op) != ASX__SHIELD_NEW &&
           look_once(w, shield) == ASX__SHIELD_DOWN;
}

/* A deadline of a region that was cancelled before reaches nobody behind a shield: they were told
 * of that, or are when it comes down. */
static bool is_told(const asx__work *w)
{
    return w->op->kind == ASX__OP_FIRE &&
           (w->state(w->ctx, w->op->name, w->op) & ASX__REGION_CANCELLED) != 0;
}

/* What stands behind a link is set if there is that link; a flag, if all shields directly in front
 * of it are down. */
void asx__op_sets(asx__work *w, uint32_t from, uint32_t to)
{
    bool linked = true, down = true, told = is_told(w);
    size_t before = w->deed->len;
    uint64_t last = 0; /* they are sorted, mostly: what is greater was not touched here */
    for (uint32_t i = from; i < to; i++) {
        uint64_t name = w->op->targets[i];
        if (ASX__NAME_TAG_OF(name) == ASX__NAME_LINK) {
            linked = asx__work_reads(w, name) != 0;
            continue;
        }
        if (asx__is_shield(name)) {
            down = linked && down && !told && is_down(w, name);
            continue;
        }
        if (linked && down)
            asx__work_cancels(w, name, name > last ? before : w->deed->len);
        last = name > last ? name : last;
        w->deed->short_cut = w->deed->short_cut || (linked && !down);
        down = true;
    }
}

void asx__run_targets(asx__work *w)
{
    asx__op_sets(w, 0, w->op->targets_len);
}

/* name: the task's flag; a: how many regions it concerns; targets: of each the shield and the flag
 * of what is around it, then what is set if the task was cancelled; b: how the
 * shields are then. */
void asx__run_shield(asx__work *w)
{
    const asx__op *op = w->op;
    uint32_t pairs = (uint32_t)op->a;
    bool cancelled = asx__work_reads(w, op->name) != 0;
    for (uint32_t i = 0; i < pairs; i++) {
        (void)look_once(w, op->targets[2 * i + 1]);
        asx__work_writes(w, op->targets[2 * i], op->b);
    }
    if (cancelled)
        asx__op_sets(w, 2 * pairs, op->targets_len);
}

/* A late start hears that there is no such region. */
static void close_region(asx__work *w, uint64_t flag)
{
    asx__work_writes(w, flag, w->state(w->ctx, flag, w->op) | ASX__REGION_CLOSED);
    asx__work_writes(w, flag + ASX__PART_GONE, 2);
}

/* targets: whether what is around the region has stopped, so that it has too, or was cancelled and
 * a shield kept that out; the innermost first. */
bool asx__op_is_stopped(asx__work *w, uint64_t state)
{
    const asx__op *op = w->op;
    bool stopped = state != 0;
    for (uint32_t i = 0; i < op->targets_len && !stopped; i++) {
        bool part = (op->targets[i] & ASX__PART_STOPPED) != 0; /* a failed set-up is its own */
        state = asx__work_reads(w, op->targets[i]);
        stopped = part ? (state & 1) != 0 : state != 0;
    }
    return stopped;
}

/* b: it is refused if the region is not open any more. */
void asx__run_stop_region(asx__work *w)
{
    uint64_t stopped = asx__work_part(w, ASX__PART_STOPPED);
    uint64_t state = asx__work_reads(w, stopped);
    bool asks = w->op->b != 0;
    bool late = asks ? asx__op_is_stopped(w, state & 1) : (state & 1) != 0;
    if (late && asks)
        (void)asx__work_reads(w, asx__work_part(w, ASX__PART_GONE)); /* that says something else */
    else if (asks)
        late = asx__work_reads(w, w->op->name) != 0;
    if (!late)
        asx__work_writes(w, stopped, state | 1);
    else if (asks)
        asx__work_finds(w, ASX__FOUND_CLOSED);
}

void asx__run_nothing(asx__work *w)
{
    (void)w;
}

void asx__run_join(asx__work *w)
{
    w->deed->enabled = asx__work_reads(w, asx__op_name(w->op)) != 0;
}

/* b: it has failed; other: the region that is closed by it, or its places. */
void asx__run_end(asx__work *w)
{
    const asx__op *op = w->op;
    asx__work_writes(w, asx__op_name(op), op->b != 0 ? ASX__FIN_FAILED : ASX__FIN_OK);
    asx__run_targets(w);
    if (ASX__UNLIKELY(op->fails != 0))
        asx__work_tells(w);
    if (op->other != 0 && (op->other & ASX__PART_PLACES) != 0)
        asx__work_gives_back(w, op->other);
    else if (op->other != 0)
        close_region(w, op->other);
}

/* a: until when; b: whenever. */
void asx__run_sleep(asx__work *w)
{
    if (w->op->b == 0)
        w->deed->enabled = asx__work_reads(w, asx__op_name(w->op)) >= w->op->a;
}

/* b: timers of tasks may do something too. */
void asx__run_advance(asx__work *w)
{
    w->deed->all = true;
    asx__work_writes(w, asx__op_name(w->op), w->op->a);
    asx__run_targets(w);
}

/* name: the flag of the region or task; other: the task's end. */
void asx__run_fire(asx__work *w)
{
    uint64_t name = asx__op_name(w->op), state = asx__work_reads(w, name);
    w->deed->enabled = (state & (ASX__REGION_TIMED_OUT | ASX__REGION_CLOSED)) == 0;
    if (w->deed->enabled && w->op->other != 0)
        w->deed->enabled = asx__work_reads(w, w->op->other) == 0;
    if (!w->deed->enabled)
        return;
    asx__run_targets(w);
    asx__work_writes(w, name, state | ASX__REGION_TIMED_OUT);
}

void asx__run_close_region(asx__work *w)
{
    const asx__op *op = w->op;
    for (uint32_t i = 0; i < op->targets_len; i++)
        if (asx__work_reads(w, op->targets[i]) == 0) {
            w->deed->enabled = false;
            return;
        }
    if ((op->b & ASX__CLOSE_BEGINS_FINALIZERS) != 0)
        asx__work_writes(w, asx__op_name(op) + ASX__PART_GONE, 1);
    else
        close_region(w, asx__op_name(op));
    if (op->other != 0)
        asx__work_gives_back(w, op->other);
}

/* name: the flag of the region around it; 0: nobody else sets it. */
void asx__run_open_region(asx__work *w)
{
    if (asx__work_reads(w, w->op->cx) != 0)
        asx__work_finds(w, ASX__FOUND_CANCELLED);
    if (w->op->name != 0)
        (void)asx__work_reads(w, w->op->name);
}

void asx__run_one(asx__work *w)
{
    uint64_t name = asx__op_name(w->op);
    uint64_t state = asx__work_reads(w, name);
    asx__op_effect effect = asx__op_eval(w->op, state);
    w->deed->found = state;
    w->deed->enabled = effect.enabled;
    if (effect.enabled && effect.writes)
        asx__work_writes(w, name, effect.after);
    if (w->op->other != 0) /* one of those that all agree on the order of */
        asx__work_writes(w, w->op->other, 0);
}

static void (*const runs[ASX__OP_COUNT])(asx__work *w) = {
#define OP_RUN(name, text, object, run, traits) asx__run_##run,
    ASX__OPERATION_LIST(OP_RUN)
#undef OP_RUN
};

bool asx__op_run(const asx__op *op, asx__state_fn *state, void *ctx, asx__deed *ret_deed)
{
    asx__work w = { op, state, ctx, ret_deed, false };
    ret_deed->len = 0;
    ret_deed->enabled = true;
    ret_deed->all = ret_deed->short_cut = false;
    ret_deed->found = 0;
    if (ASX__UNLIKELY(op->cx != 0) && (asx__op_traits[op->kind] & ASX__O_LATE) == 0 &&
        asx__work_is_refused(&w)) {
        asx__work_finds(&w, ASX__FOUND_CANCELLED);
        if (op->kind == ASX__OP_WRITE_LOCK && op->a != 0) /* the request goes too */
            asx__work_writes(&w, asx__op_name(op), w.state(ctx, asx__op_name(op), op) - REQUEST);
    } else {
        runs[op->kind](&w);
    }
    return !w.no_memory;
}
