/* ack.c - messages that are received and not yet accepted.
 *
 * Such a message lives in a cell and keeps its slot: head and claims both go up when it is taken.
 *
 *     commit   claims -1            the slot is free
 *     nack     claims -1, head -1   the message is the oldest in the queue again
 *
 * At the end of a task its acks are nacked newest first, so that several come back in the order
 * in which they were sent.
 */
#include "sync/sync.h"

#define FIRST_CHUNK 8u

static asx__cell *cell_at(const asx__cells *cells, uint32_t index)
{
    unsigned chunk = 31u - (unsigned)__builtin_clz(index / FIRST_CHUNK + 1u);
    uint32_t before = ((1u << chunk) - 1u) * FIRST_CHUNK;
    return (asx__cell *)(void *)(cells->chunk[chunk] + (size_t)(index - before) * cells->stride);
}

static void *message_of(asx__cell *cell)
{
    return cell + 1;
}

/* One more chunk, its cells free. */
static asx_status add_chunk(asx__channel *ch)
{
    asx__cells *cells = ch->cells;
    unsigned chunk = 31u - (unsigned)__builtin_clz(cells->made / FIRST_CHUNK + 1u);
    size_t bytes;
    if (chunk >= ASX__CELL_CHUNKS ||
        __builtin_mul_overflow((size_t)FIRST_CHUNK << chunk, cells->stride, &bytes))
        return ASX_E_RESOURCE_EXHAUSTED;
    char *memory = asx__region_memory(ch->region, bytes);
    if (memory == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    cells->chunk[chunk] = memory;
    for (uint32_t i = 0; i < FIRST_CHUNK << chunk; i++) {
        uint32_t index = cells->made++;
        cell_at(cells, index)->next = cells->free;
        cells->free = index + 1;
    }
    return ASX_OK;
}

asx_status asx__cells_reserve(asx__channel *ch)
{
    if (ch->cells == NULL) {
        asx__cells *cells = asx__region_memory(ch->region, sizeof *cells);
        if (cells == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        memset(cells, 0, sizeof *cells);
        size_t align = _Alignof(max_align_t);
        cells->stride = (sizeof(asx__cell) + ch->element_size + align - 1) & ~(align - 1);
        ch->cells = cells;
    }
    return ch->cells->free != 0 ? ASX_OK : add_chunk(ch);
}

asx_status asx__channel_take_with_ack(asx__channel *ch, asx__task *task, void *ret_message,
                                      asx_ack *ret_ack)
{
    asx_runtime *rt = ch->rt;
    asx__cells *cells = ch->cells;
    asx__task *running = rt->current;
    rt->current = task; /* the journal names the task that reserved */
    asx__obligation *o = asx__obligation_new(rt, task, asx__ack_object(ch), ASX_OBLIGATION_KIND_ACK,
                                             NULL);
    rt->current = running;
    if (o == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    ASX__ASSERT(cells->free != 0 && ch->head != ch->tail);
    const char *slot = asx__slot(ch, ch->head);
    asx__cell *cell = cell_at(cells, cells->free - 1);
    o->detail = cells->free - 1;
    cells->free = cell->next;
    cells->used++;
    asx__message_copy(message_of(cell), slot, ch->element_size);
    asx__message_copy(ret_message, slot, ch->element_size);
    if (rt->tracing)
        cell->mark = *asx__slot_mark(ch, ch->head);
    ch->head++;
    ch->claims++;
    if (rt->tracing)
        asx__channel_journal(ch, task, ASX_EVENT_CHANNEL_RECV, cell->mark.number,
                             asx__channel_queued(ch), cell->mark.seq);
    ret_ack->channel_ = ch;
    ret_ack->obligation_ = asx__obligation_id(o);
    ret_ack->record_ = o;
    return ASX_OK;
}

/* Ends the obligation; the cell is still the caller's. */
static uint32_t resolve(asx__channel *ch, asx__obligation *o, asx_obligation_state to)
{
    uint32_t index = o->detail;
    asx__obligation_resolve(ch->rt, o, to);
    ch->claims--;
    ch->cells->used--;
    return index;
}

static void free_cell(asx__channel *ch, uint32_t index)
{
    cell_at(ch->cells, index)->next = ch->cells->free;
    ch->cells->free = index + 1;
}

void asx__ack_discard(asx__channel *ch, asx__obligation *o)
{
    uint32_t index = resolve(ch, o, ASX_OBLIGATION_ABORTED);
    if (ch->rt->tracing)
        asx__channel_journal(ch, ch->rt->current, ASX_EVENT_CHANNEL_DISCARD, 1, 0, 0);
    asx__channel_discard(ch, message_of(cell_at(ch->cells, index)));
    free_cell(ch, index);
}

static void nack(asx__channel *ch, asx__obligation *o)
{
    if (asx__channel_rx_gone(ch)) {
        asx__ack_discard(ch, o);
        return;
    }
    uint32_t index = resolve(ch, o, ASX_OBLIGATION_ABORTED);
    asx__cell *cell = cell_at(ch->cells, index);
    ch->head--;
    ch->head_seen = 0; /* it went back unseen */
    asx__message_copy(asx__slot(ch, ch->head), message_of(cell), ch->element_size);
    if (ch->rt->tracing) {
        asx__message_mark *mark = asx__slot_mark(ch, ch->head);
        mark->number = cell->mark.number;
        mark->seq = asx__channel_journal(ch, ch->rt->current, ASX_EVENT_CHANNEL_NACK,
                                         mark->number, 0, 0);
    }
    free_cell(ch, index);
    if (ch->receiver != NULL)
        asx__channel_serve_receiver(ch);
    asx__channel_settle(ch);
}

void asx__ack_release(asx_runtime *rt, asx__obligation *o)
{
    (void)rt;
    asx__channel_seize(asx__ack_channel(o));
    asx__channel_announce(asx__ack_channel(o), ASX__OP_ACK_NACK);
    nack(asx__ack_channel(o), o);
}

static asx_status find_ack(const asx_ack *ack, asx__obligation **ret_o)
{
    if (ack == NULL || ack->channel_ == NULL || ack->obligation_ == 0 || ack->record_ == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__channel *ch = ack->channel_;
    asx__obligation *o = ack->record_;
    if (asx__obligation_id(o) != ack->obligation_ || asx__obligation_object(o) == NULL)
        return ack->obligation_ <= ch->first_obligation
                   ? ASX_E_DISCONNECTED /* its channel is gone, and took it along */
                   : asx__obligation_missing(ch->rt, ack->obligation_);
    if (asx__obligation_object(o) != asx__ack_object(ch))
        return ASX_E_INVALID_ARGUMENT;
    *ret_o = o;
    return ASX_OK;
}

asx_status asx_ack_commit(asx_ack *ack)
{
    asx__obligation *o = NULL;
    ASX__GATE_CLAIM(asx_ack, ack, asx_ack_commit(&in));
    asx_status st = find_ack(ack, &o);
    if (st < 0)
        return st;
    asx__channel *ch = ack->channel_;
    asx__channel_announce(ch, ASX__OP_ACK_COMMIT);
    free_cell(ch, resolve(ch, o, ASX_OBLIGATION_COMMITTED));
    asx__channel_settle(ch);
    return ASX_OK;
}

asx_status asx_ack_nack(asx_ack *ack)
{
    asx__obligation *o = NULL;
    ASX__GATE_CLAIM(asx_ack, ack, asx_ack_nack(&in));
    asx_status st = find_ack(ack, &o);
    if (st < 0)
        return st;
    asx__channel_announce(ack->channel_, ASX__OP_ACK_NACK);
    nack(ack->channel_, o);
    return ASX_OK;
}
