/* oneshot.c - one value, from the task that has the sender to the one that has the receiver.
 *
 *     each side is open until it is used up or dropped
 *     full            => the sender is done, the receiver is open
 *     a task waits    => both sides are open, and nothing is in it
 *     both are done   => the record is recycled
 *
 * So a server that creates one for each request uses no more memory than it has requests at a
 * time. To let them go before their region does, oneshots live in a house: the one resident of a
 * region that has them all, and the blocks of values that are free. Small values are in the
 * record itself.
 *
 * The sender that a task has adopted is a guard of that task. Its end drops the sender.
 */
#include "sync/object.h"

#include <asx/oneshot.h>

#define HEAD(oneshot_) ((asx__sync *)(void *)(oneshot_))
#define SMALL 32u
#define BLOCK_SIZES 48u

struct house;

typedef struct asx__oneshot {
    asx__sync sync;
    asx__node link;        /* in the house */
    struct house *house;
    char *value;           /* `small`, or a block */
    size_t element_size;
    void (*drop)(void *ctx, void *message);
    void *drop_ctx;
    asx__obligation *duty; /* of the task that adopted the sender */
    bool sender_done, receiver_done, full;
    uint8_t block;         /* size of the block as a power of two; 0: small */
    _Alignas(16) char small[SMALL];
} asx__oneshot;
_Static_assert(sizeof(asx__oneshot) <= ASX__SYNC_RECORD_SIZE, "fits the slab");

/* A block that is free. */
typedef struct block {
    struct block *next;
} block;

typedef struct house {
    asx__resident resident;
    asx__node oneshots;
    block *free[BLOCK_SIZES]; /* by power of two */
} house;

static asx__oneshot *in_house(asx__node *link)
{
    return (asx__oneshot *)(void *)((char *)link - offsetof(asx__oneshot, link));
}

/* ---- houses --------------------------------------------------------------------------------- */

static void house_finalize(asx_runtime *rt, asx__resident *resident)
{
    house *h = (house *)(void *)resident;
    (void)rt;
    for (asx__node *n = h->oneshots.next; n != &h->oneshots; n = n->next)
        asx__sync_finalize(&in_house(n)->sync);
}

static void house_retire(asx_runtime *rt, asx__resident *resident)
{
    house *h = (house *)(void *)resident;
    (void)rt;
    while (!asx__list_empty(&h->oneshots)) {
        asx__oneshot *o = in_house(h->oneshots.next);
        asx__list_remove(&o->link);
        asx__sync_retire(&o->sync);
    }
}

static uint64_t house_undelivered(const asx__resident *resident)
{
    const house *h = (const house *)(const void *)resident;
    uint64_t count = 0;
    for (asx__node *n = h->oneshots.next; n != &h->oneshots; n = n->next)
        count += in_house(n)->full;
    return count;
}

static const asx__resident_ops house_ops = { house_finalize, house_retire, house_undelivered };

/* The region's house, which moves to the front of its residents, so that finding it again is as
 * cheap as what was created since. NULL: no memory. */
static house *house_of(asx__region *region)
{
    for (asx__resident **at = &region->residents; *at != NULL; at = &(*at)->next) {
        asx__resident *resident = *at;
        if (resident->ops != &house_ops)
            continue;
        *at = resident->next;
        asx__region_host(region, resident);
        return (house *)(void *)resident;
    }
    house *h = asx__region_memory(region, sizeof *h);
    if (h == NULL)
        return NULL;
    memset(h, 0, sizeof *h);
    asx__list_init(&h->oneshots);
    h->resident.ops = &house_ops;
    asx__region_host(region, &h->resident);
    return h;
}

static uint8_t block_size_log2(size_t size)
{
    unsigned log2 = 6; /* 64 bytes */
    while (log2 < BLOCK_SIZES && ((size_t)1 << log2) < size)
        log2++;
    return (uint8_t)log2;
}

/* NULL: none left. */
static char *take_block(house *h, asx__region *region, unsigned log2)
{
    if (log2 >= BLOCK_SIZES)
        return NULL;
    block *b = h->free[log2];
    if (b == NULL)
        return asx__region_memory(region, (size_t)1 << log2);
    h->free[log2] = b->next;
    return (char *)b;
}

static void give_block(asx__oneshot *o)
{
    if (o->block == 0)
        return;
    block *b = (block *)(void *)o->value;
    b->next = o->house->free[o->block];
    o->house->free[o->block] = b;
    o->block = 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

static void journal(asx__oneshot *o, const asx__task *task, uint32_t kind, uint64_t a, uint64_t b)
{
    if (!o->sync.rt->tracing)
        return;
    uint64_t seq = asx__sync_journal(&o->sync, task, kind, a, b,
                                     kind == ASX_EVENT_ONESHOT_RECV ? o->sync.seq : 0);
    if (kind == ASX_EVENT_ONESHOT_SEND)
        o->sync.seq = seq;
}

/* Recycles the record if both sides are done. */
static void settle(asx__oneshot *o)
{
    if (!o->sender_done || !o->receiver_done || o->sync.finalized)
        return;
    asx__list_remove(&o->link);
    give_block(o);
    asx__sync_retire(&o->sync);
}

static void end_duty(asx__oneshot *o, asx_obligation_state to)
{
    asx__obligation *duty = o->duty;
    o->duty = NULL;
    if (duty != NULL)
        asx__guard_resolve(&o->sync, duty, to);
}

static void discard(asx__oneshot *o)
{
    if (!o->full)
        return;
    o->full = false;
    asx__sync_discard(&o->sync, o->drop, o->drop_ctx, o->value);
}

static void wake_receiver(asx__oneshot *o, asx_status status)
{
    if (o->sync.waiting == 0)
        return;
    o->receiver_done = true; /* it has been told all there is */
    asx__sync_wake_all(&o->sync, status);
}

static void drop_sender(asx__oneshot *o)
{
    journal(o, o->sync.rt->current, ASX_EVENT_ONESHOT_DROP, 0, 0);
    o->sender_done = true;
    end_duty(o, ASX_OBLIGATION_ABORTED);
    wake_receiver(o, ASX_E_DISCONNECTED);
    settle(o);
}

static void release(asx__sync *s, asx__obligation *guard)
{
    asx__oneshot *o = (asx__oneshot *)(void *)s;
    ASX__ASSERT(o->duty == guard);
    asx__guard_note_left(guard);
    (void)asx__announce(s->rt, s->rt->current, ASX__OP_ONESHOT_DROP, s->generation);
    drop_sender(o);
}

static void end(asx__sync *s)
{
    asx__oneshot *o = (asx__oneshot *)(void *)s;
    bool lost = o->full;
    asx__sync_wake_all(s, ASX_E_DISCONNECTED);
    discard(o);
    o->duty = NULL;
    if (lost && s->region->report != NULL)
        asx__report_channel(s->rt, s->region->report, s->region, s->waits[0].waitable.serial,
                            s->name, 1);
}

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    (void)rt;
    ASX__ASSERT(!granted);
    asx__sync_unlink(asx__sync_of(waitable), task);
}

static const asx__sync_type oneshot_type = {
    .kind = ASX__SYNC_ONESHOT,
    .is_channel = true,
    .has_house = true,
    .created = ASX_EVENT_ONESHOT_CREATE,
    .waits = { { ASX__WAIT_ONESHOT_RECV, NULL, unpublish } },
    .release = release,
    .end = end,
};

/* ---- creation ------------------------------------------------------------------------------- */

/* Its place and its value's; false: no memory, and nothing has changed but that there may be a
 * house now. */
static bool prepare(asx__region *region, size_t element_size, house **ret_house, char **ret_value)
{
    house *h = house_of(region);
    if (h == NULL)
        return false;
    *ret_house = h;
    *ret_value = NULL;
    if (element_size <= SMALL)
        return true;
    *ret_value = take_block(h, region, block_size_log2(element_size));
    return *ret_value != NULL;
}

asx_status asx_oneshot_create(const asx_region *region, size_t element_size,
                              const asx_channel_options *options, asx_oneshot_sender *ret_sender,
                              asx_oneshot_receiver *ret_receiver)
{
    ASX__EMPTY(ret_sender);
    ASX__EMPTY(ret_receiver);
    ASX__GATE_REGION(region, asx_oneshot_create(&in, element_size, options, ret_sender,
                                                ret_receiver));
    asx__sync *s = NULL;
    house *h = NULL;
    char *value = NULL;
    bool good = element_size != 0 && ret_sender != NULL && ret_receiver != NULL;
    asx_status st = asx__sync_create(region, &oneshot_type, options != NULL ? options->name : NULL,
                                     0, good, &s, NULL);
    if (st < 0)
        return st;
    asx__oneshot *o = (asx__oneshot *)(void *)s;
    asx__region *home = s->region;
    if (!prepare(home, element_size, &h, &value)) {
        o->sync.finalized = true; /* no task has seen it */
        o->sync.generation = ASX__NO_GENERATION;
        asx__sync_retire(s);
        return asx__region_sticky(home, ASX_E_RESOURCE_EXHAUSTED);
    }
    o->house = h;
    asx__list_push_back(&h->oneshots, &o->link);
    o->element_size = element_size;
    o->block = value != NULL ? block_size_log2(element_size) : 0;
    o->value = value != NULL ? value : o->small;
    if (options != NULL) {
        o->drop = options->drop;
        o->drop_ctx = options->drop_ctx;
    }
    asx__sync_created(s, 0);
    asx__creates(s->rt, .event = ASX_EVENT_ONESHOT_CREATE, .generation = s->generation);
    *ret_sender = (asx_oneshot_sender){ o, s->generation };
    *ret_receiver = (asx_oneshot_receiver){ o, s->generation };
    return ASX_OK;
}

/* ---- sending -------------------------------------------------------------------------------- */

/* Explored: an operation, whatever has become of the endpoint before. ASX_E_CANCELLED. */
static asx_status announce(const asx__oneshot *o, uint64_t generation, asx__op_kind kind)
{
    asx_runtime *rt = o != NULL ? o->sync.home : NULL;
    if (ASX__LIKELY(rt == NULL || rt->seam == NULL))
        return ASX_OK;
    uint64_t found = asx__announce(rt, rt->current, kind, generation);
    return found == ASX__IS_CANCELLED ? asx__checkpoint(rt, rt->current) : ASX_OK;
}

static asx_status resolve_sender(const asx_oneshot_sender *sender)
{
    asx_status st = asx__sync_resolve(HEAD(sender->oneshot_), sender->generation_,
                                      ASX_E_DISCONNECTED);
    return st == ASX_OK && sender->oneshot_->sender_done ? ASX_E_STALE_HANDLE : st;
}

static asx_status send(asx__oneshot *o, const void *message)
{
    asx_runtime *rt = o->sync.rt;
    if (o->receiver_done) {
        drop_sender(o);
        return ASX_E_DISCONNECTED;
    }
    journal(o, rt->current, ASX_EVENT_ONESHOT_SEND, 0, 0);
    o->sender_done = true;
    end_duty(o, ASX_OBLIGATION_COMMITTED);
    asx__task *task = o->sync.waiting != 0 ? asx__sync_first(&o->sync) : NULL;
    if (task != NULL && (task->flags & ASX__T_POLL) == 0) {
        asx__message_copy(task->r.io, message, o->element_size);
        journal(o, task, ASX_EVENT_ONESHOT_RECV, 0, 0);
        wake_receiver(o, ASX_OK);
        settle(o);
        return ASX_OK;
    }
    asx__message_copy(o->value, message, o->element_size);
    o->full = true;
    asx__sync_wake_all(&o->sync, ASX_OK); /* it finds the value */
    return ASX_OK;
}

asx_status asx_oneshot_send(asx_oneshot_sender *sender, const void *message)
{
    if (sender == NULL || message == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(sender, oneshot_, NULL, asx_oneshot_send(sender, message));
    (void)announce(sender->oneshot_, sender->generation_, ASX__OP_ONESHOT_SEND);
    asx_status st = resolve_sender(sender);
    return st < 0 ? st : send(sender->oneshot_, message);
}

static asx_status adopt(asx__task *task, asx__oneshot *o, const char *site)
{
    asx__obligation *duty = asx__guard_new(&o->sync, task, ASX_OBLIGATION_KIND_ONESHOT_SENDER,
                                           site, ASX__GUARD_HELD);
    if (duty == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    end_duty(o, ASX_OBLIGATION_COMMITTED);
    o->duty = duty;
    return ASX_OK;
}

asx_status asx_oneshot_adopt_at(asx_cx *cx, const asx_oneshot_sender *sender, const char *site)
{
    asx__task *task;
    if (sender == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(sender, oneshot_, cx, asx_oneshot_adopt_at(in_cx, sender, site));
    asx_status st = resolve_sender(sender);
    if (st < 0)
        return st;
    st = asx__sync_enter(HEAD(sender->oneshot_), sender->generation_, ASX_E_DISCONNECTED, cx,
                         &task);
    return st < 0 ? st : adopt(task, sender->oneshot_, site);
}

asx_status asx_oneshot_sender_drop(asx_oneshot_sender *sender)
{
    if (sender == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(sender, oneshot_, NULL, asx_oneshot_sender_drop(sender));
    (void)announce(sender->oneshot_, sender->generation_, ASX__OP_ONESHOT_DROP);
    asx_status st = resolve_sender(sender);
    if (st < 0)
        return st;
    drop_sender(sender->oneshot_);
    return ASX_OK;
}

/* ---- receiving ------------------------------------------------------------------------------ */

static asx_status resolve_receiver(const asx_oneshot_receiver *receiver)
{
    asx_status st = asx__sync_resolve(HEAD(receiver->oneshot_), receiver->generation_,
                                      ASX_E_DISCONNECTED);
    return st == ASX_OK && receiver->oneshot_->receiver_done ? ASX_E_STALE_HANDLE : st;
}

/* What can be had without waiting; ASX_E_EMPTY: nothing yet. */
static asx_status take(asx__oneshot *o, const asx__task *task, void *ret_message)
{
    if (!o->sender_done)
        return ASX_E_EMPTY;
    asx_status st = o->full ? ASX_OK : asx__sync_found(&o->sync, ASX_E_DISCONNECTED);
    if (o->full) {
        o->full = false;
        asx__message_copy(ret_message, o->value, o->element_size);
        journal(o, task, ASX_EVENT_ONESHOT_RECV, 0, 0);
    }
    o->receiver_done = true;
    settle(o);
    return st;
}

static asx_status recv(asx_runtime *rt, asx__task *task, asx__oneshot *o, void *ret_message)
{
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    st = take(o, task, ret_message);
    if (st != ASX_E_EMPTY)
        return st;
    if (o->sync.waiting != 0 && asx__sync_first(&o->sync) != task)
        return ASX_E_BUSY;
    st = asx__wait_prepare(rt, task, asx__sync_waitable(&o->sync, 0));
    return st < 0 ? st : asx__sync_wait_in(&o->sync, task, 0, ret_message);
}

asx_status asx_oneshot_recv(asx_cx *cx, asx_oneshot_receiver *receiver, void *ret_message)
{
    asx__task *task;
    if (receiver == NULL || ret_message == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(receiver, oneshot_, cx, asx_oneshot_recv(in_cx, receiver, ret_message));
    asx_status st = announce(receiver->oneshot_, receiver->generation_, ASX__OP_ONESHOT_RECV);
    if (st == ASX_OK)
        st = resolve_receiver(receiver);
    if (st < 0)
        return st;
    asx__oneshot *o = receiver->oneshot_;
    st = asx__sync_enter(&o->sync, receiver->generation_, ASX_E_DISCONNECTED, cx, &task);
    return st < 0 ? st : recv(o->sync.rt, task, o, ret_message);
}

asx_status asx_oneshot_try_recv(asx_cx *cx, asx_oneshot_receiver *receiver, void *ret_message)
{
    asx__task *task;
    if (receiver == NULL || ret_message == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(receiver, oneshot_, cx, asx_oneshot_try_recv(in_cx, receiver, ret_message));
    (void)announce(receiver->oneshot_, receiver->generation_, ASX__OP_ONESHOT_TRY_RECV);
    asx_status st = resolve_receiver(receiver);
    if (st < 0)
        return st;
    asx__oneshot *o = receiver->oneshot_;
    st = asx__sync_enter(&o->sync, receiver->generation_, ASX_E_DISCONNECTED, cx, &task);
    return st < 0 ? st : take(o, task, ret_message);
}

asx_status asx_oneshot_receiver_drop(asx_oneshot_receiver *receiver)
{
    if (receiver == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(receiver, oneshot_, NULL, asx_oneshot_receiver_drop(receiver));
    (void)announce(receiver->oneshot_, receiver->generation_, ASX__OP_ONESHOT_CLOSE);
    asx_status st = resolve_receiver(receiver);
    asx__oneshot *o = receiver->oneshot_;
    if (st < 0)
        return st;
    journal(o, o->sync.rt->current, ASX_EVENT_ONESHOT_DROP, 1, o->full);
    o->receiver_done = true;
    asx__sync_wake_all(&o->sync, ASX_E_STALE_HANDLE); /* the task that was receiving through it */
    discard(o);
    settle(o);
    return ASX_OK;
}
