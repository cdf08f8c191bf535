/* channel.c - the life of a channel: creation, endpoints, the end of its region.
 *
 * The ring, the marks of the journal and the cells of acks are memory of the channel's region; the
 * records of channel and senders are the runtime's, because endpoints may outlive the region.
 *
 * End. When the region finalizes, every endpoint is made invalid, permits held anywhere are
 * aborted, acks and queued messages are discarded, and all waits end. When it has
 * closed, the records are recycled.
 *
 * The drop callback runs when the channel is in order again, on a message that no other code can
 * reach, so it may use the channel; it may not wait, and the runtime refuses it.
 */
#include "sync/sync.h"
#include "sched/region_seam.h"

#define CHANNELS_PER_CHUNK_LOG2 4
#define SENDERS_PER_CHUNK_LOG2 5
#define ALIGN ((size_t)16)

const asx__waitable_ops asx__channel_wait_ops[ASX__CHANNEL_WAITS] = {
    [ASX__CHANNEL_RESERVE] = { ASX__WAIT_CHANNEL_RESERVE, NULL, asx__send_unpublish },
    [ASX__CHANNEL_TRACKED] = { ASX__WAIT_CHANNEL_RESERVE, NULL, asx__send_unpublish },
    [ASX__CHANNEL_SEND] = { ASX__WAIT_CHANNEL_RESERVE, NULL, asx__send_unpublish },
    [ASX__CHANNEL_RECV] = { ASX__WAIT_CHANNEL_RECV, NULL, asx__recv_unpublish },
    [ASX__CHANNEL_RECV_ACK] = { ASX__WAIT_CHANNEL_RECV, NULL, asx__recv_unpublish },
};

bool asx__channel_is_valid(const asx__channel *ch)
{
    if (ch->finalized)
        return ch->receiver == NULL && asx__list_empty(&ch->waiters);
    if (ch->head > ch->tail || ch->tail > ch->claims || ch->claims - ch->head > ch->capacity)
        return false;
    if (asx__channel_unacked(ch) + ch->grants > ch->claims - ch->tail)
        return false;
    bool gone = asx__channel_rx_gone(ch);
    if (gone != (ch->rx_generation == ASX__NO_GENERATION) || ch->room != (gone ? 0 : ch->capacity))
        return false;
    if (ch->easy_room != (ch->rt->tracing || ch->rt->registry.max != 0 ? 0 : ch->room))
        return false;
    bool parked = ch->receiver != NULL;
    if (parked != ((ch->send_slow & ASX__SEND_PARKED) != 0))
        return false;
    if (parked && (gone || ch->head != ch->tail || asx__channel_tx_gone(ch)))
        return false;
    bool waiters = !asx__list_empty(&ch->waiters);
    if (waiters != ((ch->recv_slow & ASX__RECV_WAITERS) != 0))
        return false;
    return !waiters || (!gone && asx__channel_full(ch));
}

/* ---- journal and discarding ------------------------------------------------------------------ */

uint64_t asx__channel_journal(asx__channel *ch, asx__task *task, uint32_t kind, uint64_t a,
                              uint64_t b, uint64_t cause)
{
    return asx__journal_as(ch->rt, task, kind, ch->waits[0].serial, a, b, cause);
}

static void call_drop(asx__channel *ch, void *message)
{
    asx_runtime *rt = ch->rt;
    bool before = rt->in_cleanup;
    rt->in_cleanup = true;
    ch->drop(ch->drop_ctx, message);
    rt->in_cleanup = before;
}

void asx__channel_discard(asx__channel *ch, void *message)
{
    ch->lost++;
    ch->region->n_discarded++;
    if (ch->drop != NULL)
        call_drop(ch, message);
}

void asx__channel_drop_evicted(asx__channel *ch)
{
    ch->evicted_lost++;
    ch->region->n_discarded++;
    if (ch->drop == NULL)
        return;
    ch->dropping = true;
    call_drop(ch, ch->scratch);
    ch->dropping = false;
}

void asx__channel_discard_queue(asx__channel *ch)
{
    uint64_t count = asx__channel_queued(ch);
    if (count == 0)
        return;
    if (ch->rt->tracing)
        asx__channel_journal(ch, ch->rt->current, ASX_EVENT_CHANNEL_DISCARD, count, 0, 0);
    if (ch->drop == NULL) {
        ch->lost += count;
        ch->region->n_discarded += count;
        ch->head = ch->tail;
        return;
    }
    while (ch->head != ch->tail) {
        char *slot = asx__slot(ch, ch->head);
        ch->head++;
        asx__channel_discard(ch, slot); /* no task can send into the slot any more */
    }
}

/* ---- creation ------------------------------------------------------------------------------- */

uint64_t asx__endpoint_generation(asx_runtime *rt)
{
    rt->channel_generation = (rt->channel_generation + 1) & ASX__GENERATION_COUNT_MASK;
    return ((uint64_t)rt->number << 48) | rt->channel_generation;
}

/* The runtime below knows nothing of channels: the first one brings what all of them need. */
static void init_runtime(asx_runtime *rt)
{
    asx__slab_init(&rt->channels, sizeof(asx__channel), CHANNELS_PER_CHUNK_LOG2);
    asx__slab_init(&rt->senders, sizeof(asx__sender), SENDERS_PER_CHUNK_LOG2);
    rt->registry.release[ASX_OBLIGATION_KIND_SEND_PERMIT] = asx__permit_release;
    rt->registry.release[ASX_OBLIGATION_KIND_TRACKED_PERMIT] = asx__tracked_release;
    rt->registry.release[ASX_OBLIGATION_KIND_ACK] = asx__ack_release;
}

/* What a channel will look like. */
typedef struct shape {
    size_t element_size, capacity;
    size_t slots;       /* of the ring */
    size_t ring_bytes;
    size_t total_bytes; /* with marks and scratch */
} shape;

/* The next power of two; 0: there is none. */
static size_t round_up(size_t n)
{
    size_t power = 1;
    while (power != 0 && power < n)
        power *= 2;
    return power;
}

/* False: more than there can be. */
static bool shape_of(const asx_runtime *rt, size_t element_size, size_t capacity, bool drop,
                     shape *ret_shape)
{
    shape sh = { .element_size = element_size, .capacity = capacity };
    size_t marks = 0;
    sh.slots = element_size <= ASX__SHORT_MESSAGE ? round_up(capacity) : capacity;
    if (sh.slots == 0 || __builtin_mul_overflow(sh.slots, element_size, &sh.ring_bytes) ||
        sh.ring_bytes > SIZE_MAX / 4 || element_size > SIZE_MAX / 4)
        return false;
    sh.ring_bytes = (sh.ring_bytes + ALIGN - 1) & ~(ALIGN - 1);
    if (rt->tracing && __builtin_mul_overflow(sh.slots, sizeof(asx__message_mark), &marks))
        return false;
    if (__builtin_add_overflow(sh.ring_bytes, marks, &sh.total_bytes) ||
        __builtin_add_overflow(sh.total_bytes, drop ? element_size : 0, &sh.total_bytes))
        return false;
    *ret_shape = sh;
    return true;
}

/* A live sender of the channel; one record is at hand or was reserved. */
static asx__sender *add_sender(asx__channel *ch)
{
    asx__sender *s = ch->free_senders;
    if (s != NULL) {
        ch->free_senders = s->next_free;
    } else {
        uint32_t index;
        s = asx__slab_alloc(ch->rt, &ch->rt->senders, &index);
        if (s == NULL)
            return NULL;
        s->index = index;
        if (s->home == NULL)
            s->home = ch->rt;
        asx__store_relaxed(&s->channel, ch);
        s->next = ch->all_senders;
        ch->all_senders = s;
    }
    s->generation = asx__endpoint_generation(ch->rt);
    ch->senders++;
    return s;
}

/* Explored: a new sender can be told from others. */
static void tell_sender(const asx__sender *s)
{
    asx_runtime *rt = s->home;
    asx__creates(rt, .event = ASX_EVENT_CHANNEL_SENDER_DROP, .generation = s->generation);
}

/* What the user gets. */
static void name_sender(asx__sender *s, asx_channel_sender *ret_sender)
{
    bool shared = s->home->gate != NULL;
    ret_sender->sender_ = shared ? NULL : s;
    ret_sender->shared_ = shared ? s : NULL;
    ret_sender->generation_ = s->generation;
}

static void finalize(asx_runtime *rt, asx__resident *resident);
static void retire(asx_runtime *rt, asx__resident *resident);
static uint64_t undelivered(const asx__resident *resident);

static const asx__resident_ops resident_ops = { finalize, retire, undelivered };

static void init_channel(asx__channel *ch, asx__region *region, const shape *sh, char *memory,
                         const asx_channel_options *options)
{
    asx_runtime *rt = region->rt;
    ch->rt = rt;
    ch->region = region;
    ch->capacity = sh->capacity;
    ch->room = sh->capacity;
    ch->easy_room = rt->tracing || rt->registry.max != 0 ? 0 : sh->capacity;
    ch->element_size = sh->element_size;
    ch->ring = memory;
    ch->mask = sh->slots - 1;
    memory += sh->ring_bytes;
    if (rt->tracing) {
        ch->marks = (asx__message_mark *)(void *)memory;
        memory += sh->slots * sizeof *ch->marks;
        ch->send_slow |= ASX__SEND_TRACED;
        ch->recv_slow |= ASX__RECV_TRACED;
    }
    if (sh->element_size != 8) {
        ch->send_slow |= ASX__SEND_SIZE;
        ch->recv_slow |= ASX__RECV_SIZE;
    }
    ch->name = "";
    if (options != NULL) {
        ch->name = options->name != NULL ? options->name : "";
        ch->drop = options->drop;
        ch->drop_ctx = options->drop_ctx;
        ch->scratch = memory;
    }
    asx__list_init(&ch->waiters);
    ch->generation = asx__endpoint_generation(rt);
    ch->rx_generation = ch->generation;
    ch->first_obligation = rt->registry.last_id;
    uint64_t serial = ++rt->channel_serial;
    for (int i = 0; i < ASX__CHANNEL_WAITS; i++) {
        ch->waits[i].ops = &asx__channel_wait_ops[i];
        ch->waits[i].serial = serial;
    }
    ch->resident.ops = &resident_ops;
    asx__region_host(region, &ch->resident);
    rt->live_channels++;
}

/* Everything that can fail, before anything is changed. */
static asx_status create(asx__region *region, size_t element_size, size_t capacity,
                         const asx_channel_options *options, asx__channel **ret_channel)
{
    asx_runtime *rt = region->rt;
    shape sh;
    uint64_t most = rt->config.limits.channels_max;
    if (most != 0 && rt->live_channels >= most)
        return ASX_E_RESOURCE_EXHAUSTED;
    bool drop = options != NULL && options->drop != NULL;
    if (!shape_of(rt, element_size, capacity, drop, &sh))
        return ASX_E_RESOURCE_EXHAUSTED;
    if (rt->channels.record_size == 0)
        init_runtime(rt);
    if (asx__slab_reserve(rt, &rt->channels, 1) < 0 || asx__slab_reserve(rt, &rt->senders, 1) < 0)
        return ASX_E_RESOURCE_EXHAUSTED;
    char *memory = asx__region_memory(region, sh.total_bytes);
    if (memory == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    uint32_t index;
    asx__channel *ch = asx__slab_alloc(rt, &rt->channels, &index);
    ASX__ASSERT(ch != NULL);
    if (ch->home == NULL)
        ch->home = rt;
    asx__channel_seize(ch); /* an endpoint of an earlier life may be used at any time */
    memset(ch, 0, offsetof(asx__channel, home));
    ch->index = index;
    init_channel(ch, region, &sh, memory, options);
    *ret_channel = ch;
    return ASX_OK;
}

asx_status asx_channel_create(const asx_region *region, size_t element_size, size_t capacity,
                              const asx_channel_options *options, asx_channel_sender *ret_sender,
                              asx_channel_receiver *ret_receiver)
{
    ASX__EMPTY(ret_sender);
    ASX__EMPTY(ret_receiver);
    asx__region *r;
    asx__channel *ch = NULL;
    bool no_memory = asx__made_explored(region, true);
    asx_status st = asx__region_resolve(region, ASX_STATE_MASK_ALL, &r);
    if (st < 0) {
        ASX__GATE_REGION(region, asx_channel_create(&in, element_size, capacity, options,
                                                    ret_sender, ret_receiver));
        return st;
    }
    if (!asx__caller_may(r->rt, ASX_CAP_CHANNEL))
        return ASX_E_CAPABILITY;
    st = asx__region_gate((asx_region_state)r->state, ASX__GATE_CREATE_CHANNEL, false);
    if (st < 0)
        return st;
    if (r->setup < 0)
        return r->setup;
    if (element_size == 0 || capacity == 0 || ret_sender == NULL || ret_receiver == NULL)
        return asx__region_sticky(r, ASX_E_INVALID_ARGUMENT);
    st = no_memory ? ASX_E_RESOURCE_EXHAUSTED
                   : create(r, element_size, capacity, options, &ch);
    if (st < 0)
        return asx__region_sticky(r, st);
    asx__sender *s = add_sender(ch);
    ASX__ASSERT(s != NULL);
    if (r->rt->tracing)
        asx__channel_journal(ch, r->rt->current, ASX_EVENT_CHANNEL_CREATE, capacity,
                             asx__serial(r->generation), 0);
    tell_sender(s);
    name_sender(s, ret_sender);
    bool shared = r->rt->gate != NULL;
    ret_receiver->channel_ = shared ? NULL : ch;
    ret_receiver->shared_ = shared ? ch : NULL;
    ret_receiver->generation_ = ch->rx_generation;
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
    return ASX_OK;
}

/* ---- endpoints ------------------------------------------------------------------------------ */

asx_status asx__sender_refuse(const asx_channel_sender *sender)
{
    if (sender == NULL || sender->sender_ == NULL || sender->generation_ == 0)
        return ASX_E_INVALID_ARGUMENT;
    const asx__channel *ch = asx__sender_channel(sender->sender_);
    return ch != NULL && sender->generation_ > ch->generation ? ASX_E_STALE_HANDLE
                                                              : ASX_E_DISCONNECTED;
}

asx_status asx__receiver_refuse(const asx_channel_receiver *receiver)
{
    if (receiver == NULL || receiver->channel_ == NULL || receiver->generation_ == 0)
        return ASX_E_INVALID_ARGUMENT;
    const asx__channel *ch = receiver->channel_;
    return !ch->finalized && receiver->generation_ == ch->generation ? ASX_E_STALE_HANDLE
                                                                     : ASX_E_DISCONNECTED;
}

asx_status asx__sender_explored(const asx_channel_sender *sender, asx__op_kind kind)
{
    const asx__sender *s = sender->sender_;
    const asx__channel *ch = asx__sender_channel(s);
    asx_runtime *rt = s->home;
    if (ch == NULL)
        return asx__sender_refuse(sender);
    uint64_t found = asx__announce(rt, rt->current, kind, ch->waits[0].serial,
                                   .channel = { ch->capacity, sender->generation_ });
    if (found == ASX__IS_CANCELLED)
        return asx__checkpoint(rt, rt->current);
    return s->generation == sender->generation_ ? ASX_OK : asx__sender_refuse(sender);
}

asx_status asx__receiver_explored(const asx_channel_receiver *receiver, asx__op_kind kind)
{
    const asx__channel *ch = receiver->channel_;
    asx_runtime *rt = ch->home;
    if (ch->generation != receiver->generation_)
        return asx__receiver_refuse(receiver);
    uint64_t found = asx__announce(rt, rt->current, kind, ch->waits[0].serial,
                                   .channel.capacity = ch->capacity);
    if (found == ASX__IS_CANCELLED)
        return asx__checkpoint(rt, rt->current);
    return ch->rx_generation == receiver->generation_ ? ASX_OK : asx__receiver_refuse(receiver);
}

/* A stale endpoint of an explored runtime is refused in turn. */
static asx_status refuse_sender(const asx_channel_sender *sender, asx_status st,
                                asx__op_kind kind)
{
    if (sender == NULL || sender->sender_ == NULL || sender->generation_ == 0)
        return st;
    asx_status announced = asx__sender_announce(sender, kind);
    return announced < 0 ? announced : st;
}

static asx_status refuse_receiver(const asx_channel_receiver *receiver, asx_status st,
                                  asx__op_kind kind)
{
    if (receiver == NULL || receiver->channel_ == NULL || receiver->generation_ == 0)
        return st;
    asx_status announced = asx__receiver_announce(receiver, kind);
    return announced < 0 ? announced : st;
}

static asx_status live_sender(const asx_channel_sender *sender, asx__sender **ret_s)
{
    if (sender == NULL || sender->sender_ == NULL ||
        sender->sender_->generation != sender->generation_)
        return asx__sender_refuse(sender);
    *ret_s = sender->sender_;
    return ASX_OK;
}

static asx_status live_receiver(const asx_channel_receiver *receiver, asx__channel **ret_ch)
{
    if (receiver == NULL || receiver->channel_ == NULL ||
        receiver->channel_->rx_generation != receiver->generation_)
        return asx__receiver_refuse(receiver);
    *ret_ch = receiver->channel_;
    return ASX_OK;
}

asx_status asx_channel_sender_clone(const asx_channel_sender *sender,
                                    asx_channel_sender *ret_sender)
{
    asx__sender *s = NULL;
    if (ret_sender == NULL)
        return ASX__EMPTY_IF(ASX_E_INVALID_ARGUMENT, ret_sender);
    asx_status st = live_sender(sender, &s);
    if (st < 0) {
        ASX__GATE_SENDER(sender, NULL, asx_channel_sender_clone(&in, ret_sender));
        return ASX__EMPTY_IF(refuse_sender(sender, st, ASX__OP_CLONE), ret_sender);
    }
    st = asx__sender_announce(sender, ASX__OP_CLONE);
    if (st < 0)
        return ASX__EMPTY_IF(st, ret_sender);
    s = add_sender(asx__sender_channel(s));
    if (s == NULL)
        return ASX__EMPTY_IF(ASX_E_RESOURCE_EXHAUSTED, ret_sender);
    tell_sender(s);
    name_sender(s, ret_sender);
    return ASX_OK;
}

asx_status asx_channel_sender_drop(asx_channel_sender *sender)
{
    asx__sender *s = NULL;
    asx_status st = live_sender(sender, &s);
    if (st < 0) {
        ASX__GATE_SENDER(sender, NULL, asx_channel_sender_drop(&in));
        return refuse_sender(sender, st, ASX__OP_DROP);
    }
    st = asx__sender_announce(sender, ASX__OP_DROP);
    if (st < 0)
        return st;
    asx__channel *ch = asx__sender_channel(s);
    s->generation = ASX__NO_GENERATION;
    s->next_free = ch->free_senders;
    ch->free_senders = s;
    ch->senders--;
    if (ch->rt->tracing)
        asx__channel_journal(ch, ch->rt->current, ASX_EVENT_CHANNEL_SENDER_DROP, ch->senders, 0,
                             0);
    asx__channel_settle(ch);
    return ASX_OK;
}

static void wake_receiver(asx__channel *ch, asx_status status)
{
    asx__task *task = ch->receiver;
    if (task == NULL)
        return;
    ch->receiver = NULL;
    ch->send_slow &= (uint8_t)~ASX__SEND_PARKED;
    asx__wake(ch->rt, task, status, false);
}

/* From here on there is no receiver: sends are refused, waiting senders know. */
static void close_receiver(asx__channel *ch, asx_status to_receiver)
{
    ch->rx_generation = ASX__NO_GENERATION;
    ch->room = 0;
    ch->easy_room = 0;
    ch->send_slow |= ASX__SEND_GONE;
    wake_receiver(ch, to_receiver);
    asx__channel_wake_senders(ch, ASX_E_DISCONNECTED);
}

asx_status asx_channel_receiver_drop(asx_channel_receiver *receiver)
{
    asx__channel *ch = NULL;
    asx_status st = live_receiver(receiver, &ch);
    if (st < 0) {
        ASX__GATE_RECEIVER(receiver, NULL, asx_channel_receiver_drop(&in));
        return refuse_receiver(receiver, st, ASX__OP_CLOSE);
    }
    st = asx__receiver_announce(receiver, ASX__OP_CLOSE);
    if (st < 0)
        return st;
    if (ch->rt->tracing)
        asx__channel_journal(ch, ch->rt->current, ASX_EVENT_CHANNEL_RECEIVER_DROP, 0, 0, 0);
    close_receiver(ch, ASX_E_STALE_HANDLE); /* another task was receiving through this endpoint */
    asx__channel_discard_queue(ch);
    ASX__AUDIT_ASSERT(asx__channel_is_valid(ch));
    return ASX_OK;
}

/* ---- the end of the region ------------------------------------------------------------------ */

static void end_obligations(asx__channel *ch)
{
    uint64_t cursor = 0;
    for (asx__obligation *o; (o = asx__obligation_next(ch->rt, &cursor)) != NULL;) {
        if (asx__obligation_object(o) == asx__ack_object(ch)) {
            ch->region->n_aborted++;
            asx__ack_discard(ch, o);
        } else if (asx__obligation_object(o) == ch ||
                   asx__obligation_object(o) == asx__permit_object(ch)) {
            ch->region->n_aborted++;
            asx__obligation_resolve(ch->rt, o, ASX_OBLIGATION_ABORTED);
            ch->claims--;
        }
    }
}

static void finalize(asx_runtime *rt, asx__resident *resident)
{
    asx__channel *ch = (asx__channel *)(void *)resident;
    asx__channel_seize(ch);
    if (ch->finalized)
        return;
    ch->finalized = true;
    for (asx__sender *s = ch->all_senders; s != NULL; s = s->next) {
        s->generation = ASX__NO_GENERATION;
        asx__store_relaxed(&s->channel, NULL);
    }
    ch->senders = 0;
    close_receiver(ch, ASX_E_DISCONNECTED);
    if (ch->claims - ch->tail != ch->grants)
        end_obligations(ch);
    ASX__ASSERT(ch->claims - ch->tail == ch->grants);
    ch->claims = ch->tail;
    ch->first_obligation = UINT64_MAX;
    asx__channel_discard_queue(ch);
    uint64_t discarded = ch->lost + ch->evicted_lost;
    if (discarded != 0 && ch->region->report != NULL)
        asx__report_channel(rt, ch->region->report, ch->region, ch->waits[0].serial, ch->name,
                            discarded);
}

static void retire(asx_runtime *rt, asx__resident *resident)
{
    asx__channel *ch = (asx__channel *)(void *)resident;
    finalize(rt, resident);
    for (asx__sender *s = ch->all_senders; s != NULL;) {
        asx__sender *next = s->next;
        asx__slab_release(&rt->senders, s, s->index);
        s = next;
    }
    ch->all_senders = NULL;
    ch->free_senders = NULL;
    ch->region = NULL;
    ch->retired = true;
    rt->live_channels--;
    if (ch->grants == 0)
        asx__slab_release(&rt->channels, ch, ch->index);
}

static uint64_t undelivered(const asx__resident *resident)
{
    asx__channel *ch = (asx__channel *)(uintptr_t)resident;
    asx__channel_seize(ch);
    return asx__channel_queued(ch);
}

/* ---- asking --------------------------------------------------------------------------------- */

static void describe(const asx__channel *ch, asx_channel_info *ret_info)
{
    bool gone = asx__channel_rx_gone(ch);
    asx_channel_info info = {
        .state = ch->senders != 0 ? (gone ? ASX_CHANNEL_RECEIVER_CLOSED : ASX_CHANNEL_OPEN)
                                  : (gone ? ASX_CHANNEL_FULLY_CLOSED : ASX_CHANNEL_SENDER_CLOSED),
        .serial = ch->waits[0].serial,
        .capacity = (size_t)ch->capacity,
        .queued = (size_t)asx__channel_queued(ch),
        .reserved = (size_t)(ch->claims - ch->tail),
        .senders = ch->senders,
        .receiver_waits = ch->receiver != NULL,
        .sent = ch->tail,
        .received = ch->head - ch->evicted - ch->lost,
        .evicted = ch->evicted,
        .discarded = ch->lost + ch->evicted_lost,
    };
    for (const asx__node *n = ch->waiters.next; n != &ch->waiters; n = n->next)
        info.send_waiters++;
    *ret_info = info;
}

asx_status asx_channel_receiver_info(const asx_channel_receiver *receiver,
                                     asx_channel_info *ret_info)
{
    ASX__EMPTY(ret_info);
    asx__channel *ch = NULL;
    if (ret_info == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = live_receiver(receiver, &ch);
    if (st < 0) {
        ASX__GATE_RECEIVER(receiver, NULL, asx_channel_receiver_info(&in, ret_info));
        return st;
    }
    describe(ch, ret_info);
    return ASX_OK;
}

asx_status asx_channel_sender_info(const asx_channel_sender *sender, asx_channel_info *ret_info)
{
    ASX__EMPTY(ret_info);
    asx__sender *s = NULL;
    if (ret_info == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = live_sender(sender, &s);
    if (st < 0) {
        ASX__GATE_SENDER(sender, NULL, asx_channel_sender_info(&in, ret_info));
        return st;
    }
    describe(asx__sender_channel(s), ret_info);
    return ASX_OK;
}
