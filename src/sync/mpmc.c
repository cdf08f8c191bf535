/* mpmc.c - channels of many senders and many receivers: messages and tasks around mpmc_core.h.
 *
 * Words
 *   waiter   a task, by its node. A fiber's message lies where it waits (r.io): what it sends, or
 *            where to put what it receives.
 *   cell     the same for a poll task, which cannot be written to while it does not run. It is
 *            memory of the region, found through the task's extra part (wait_note).
 *   granted  a poll task that was served and has not repeated its call. A sender's message is gone
 *            then; a receiver's lies in its cell.
 *   returned a message whose granted receiver did not come back for it. It goes before all others.
 *   end      an endpoint: an entry in a table of the region's memory, so that a handle is looked at
 *            only after the channel's generation has said that the table is there
 *
 * Invariants (is_valid), besides those of the core
 *     a receiver waits => nothing was returned
 *     returned messages are in the order of their numbers
 *     sent = received + discarded + queued + returned + granted to receivers
 *
 * A message has its number from the moment it leaves its sender, and the journal notes it then.
 *
 * A call that repeats a wait which is still on keeps its place in the order, and is not asked again
 * whether it may send: it was admitted when it began to wait.
 */
#include <asx/mpmc.h>

#include "sync/mpmc_core.h"
#include "sync/object.h"

#define HEAD(mpmc_) ((asx__sync *)(void *)(mpmc_))
#define ALIGN ((size_t)16)
#define NO_END UINT32_MAX
#define END_CHUNKS 28u
#define END_CHUNK_FIRST 8u

enum { WAIT_SEND, WAIT_RECV };

typedef struct cell {
    asx__node node;  /* granted or returned; `next` in the free list */
    asx__task *task; /* granted: whose it is */
    uint64_t number;
    uint64_t seq;
    /* the message follows, aligned for any type */
    _Alignas(16) char message[];
} cell;

/* What the journal knows of a message in the ring; kept while tracing only. */
typedef struct mark {
    uint64_t number;
    uint64_t seq;
} mark;

typedef struct end {
    uint32_t life;      /* odd while it lives; never 0 */
    uint32_t next_free; /* index, NO_END: none */
    bool receives;
} end;

typedef struct body {
    size_t element_size;
    char *ring;
    mark *marks;         /* NULL: not traced */
    asx__node granted;   /* cells of receivers */
    asx__node returned;  /* cells */
    uint64_t n_granted, n_returned;
    cell *free_cells;
    uint64_t sent, received, discarded;
    end *ends[END_CHUNKS];
    end first_ends[END_CHUNK_FIRST];
    uint32_t ends_made, free_end;
    uint32_t senders, receivers;
    void (*drop)(void *ctx, void *message);
    void *drop_ctx;
} body;

typedef struct asx__mpmc {
    asx__sync sync;
    asx__mpmc_core core;
    body *body;          /* in the region's memory: only behind a generation that fits */
} asx__mpmc;
_Static_assert(sizeof(asx__mpmc) <= ASX__SYNC_RECORD_SIZE, "fits the slab");

static __attribute__((unused)) bool is_valid(const asx__mpmc *ch)
{
    const body *b = ch->body;
    if (!asx__mpmc_core_is_valid(&ch->core))
        return false;
    if (ch->core.waiting != 0 && !ch->core.senders_wait && b->n_returned != 0)
        return false;
    if (asx__list_empty(&b->returned) != (b->n_returned == 0))
        return false;
    return b->sent == b->received + b->discarded + asx__mpmc_core_queued(&ch->core) +
                          b->n_returned + b->n_granted;
}

/* ---- messages ------------------------------------------------------------------------------- */

static char *slot(const asx__mpmc *ch, uint64_t number)
{
    return ch->body->ring + (size_t)(number % ch->core.capacity) * ch->body->element_size;
}

static cell *cell_of(const asx__task *task)
{
    return (cell *)(uintptr_t)task->extra->wait_note;
}

/* Where a waiter's message is, or is to go. */
static void *place_of(const asx__task *task)
{
    return task->flags & ASX__T_POLL ? cell_of(task)->message : task->r.io;
}

static cell *make_cell(asx__mpmc *ch)
{
    body *b = ch->body;
    cell *c = b->free_cells;
    if (c != NULL)
        b->free_cells = (cell *)(void *)c->node.next;
    else
        c = asx__region_memory(ch->sync.region, sizeof *c + b->element_size);
    return c;
}

static void free_cell(asx__mpmc *ch, cell *c)
{
    c->node.next = (asx__node *)(void *)ch->body->free_cells;
    ch->body->free_cells = c;
}

static uint64_t journal(asx__mpmc *ch, const asx__task *task, uint32_t kind, uint64_t a, uint64_t b,
                        uint64_t cause)
{
    return ch->sync.rt->tracing ? asx__sync_journal(&ch->sync, task, kind, a, b, cause) : 0;
}

/* A message leaves its sender. */
static mark departs(asx__mpmc *ch, const asx__task *sender)
{
    mark m = { .number = ++ch->body->sent };
    m.seq = journal(ch, sender, ASX_EVENT_MPMC_SEND, m.number, asx__mpmc_core_queued(&ch->core), 0);
    return m;
}

/* A message has reached its receiver. */
static void arrives(asx__mpmc *ch, const asx__task *receiver, mark m)
{
    ch->body->received++;
    (void)journal(ch, receiver, ASX_EVENT_MPMC_RECV, m.number, asx__mpmc_core_queued(&ch->core),
                  m.seq);
}

static void copy(asx__mpmc *ch, void *to, const void *from)
{
    asx__message_copy(to, from, ch->body->element_size);
}

static void discard(asx__mpmc *ch, void *message)
{
    asx_runtime *rt = ch->sync.rt;
    body *b = ch->body;
    b->discarded++;
    ch->sync.region->n_discarded++;
    if (b->drop == NULL)
        return;
    bool before = rt->in_cleanup;
    rt->in_cleanup = true;
    b->drop(b->drop_ctx, message);
    rt->in_cleanup = before;
}

/* ---- serving waiters ------------------------------------------------------------------------ */

/* A waiting sender's message has been taken. */
static void release_sender(asx__mpmc *ch, asx__task *sender)
{
    if (sender->flags & ASX__T_POLL) {
        free_cell(ch, cell_of(sender));
        asx__sync_grant(&ch->sync, sender);
    } else {
        asx__wake(ch->sync.rt, sender, ASX_OK, false);
    }
}

/* A message that has left its sender, or was returned, goes to a waiting receiver. */
static void serve_receiver(asx__mpmc *ch, asx__task *receiver, const void *message, mark m)
{
    copy(ch, place_of(receiver), message);
    if (receiver->flags & ASX__T_POLL) {
        cell *c = cell_of(receiver);
        c->task = receiver;
        c->number = m.number;
        c->seq = m.seq;
        asx__list_push_back(&ch->body->granted, &c->node);
        ch->body->n_granted++;
        asx__sync_grant(&ch->sync, receiver);
        return;
    }
    arrives(ch, receiver, m);
    asx__wake(ch->sync.rt, receiver, ASX_OK, false);
}

/* A waiter, no longer linked, is told something else. */
static void dismiss(asx__mpmc *ch, asx__task *task, asx_status status)
{
    if (task->flags & ASX__T_POLL)
        free_cell(ch, cell_of(task));
    asx__wake(ch->sync.rt, task, status, false);
}

static void dismiss_all(asx__mpmc *ch, bool senders, asx_status status)
{
    asx__node *node;
    while ((node = asx__mpmc_core_pop(&ch->core, senders)) != NULL)
        dismiss(ch, (asx__task *)(void *)node, status);
}

/* The granted receiver of this cell will not come: the next one gets the message. */
static void give_back(asx__mpmc *ch, cell *c)
{
    body *b = ch->body;
    asx__list_remove(&c->node);
    b->n_granted--;
    if (ch->core.gone) {
        discard(ch, c->message);
        free_cell(ch, c);
        return;
    }
    asx__node *waiter = asx__mpmc_core_pop(&ch->core, false);
    if (waiter != NULL) {
        mark m = { c->number, c->seq };
        serve_receiver(ch, (asx__task *)(void *)waiter, c->message, m);
        free_cell(ch, c);
        return;
    }
    asx__node *at = &b->returned;
    while (at->prev != &b->returned && ((cell *)(void *)at->prev)->number > c->number)
        at = at->prev;
    asx__list_insert_before(at, &c->node);
    b->n_returned++;
}

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__mpmc *ch = (asx__mpmc *)(void *)asx__sync_of(waitable);
    bool poll = (task->flags & ASX__T_POLL) != 0;
    (void)rt;
    if (!granted) {
        asx__mpmc_core_forget(&ch->core, &task->node);
        if (poll)
            free_cell(ch, cell_of(task));
    } else if (asx__sync_ungrant(&ch->sync) &&
               waitable == asx__sync_waitable(&ch->sync, WAIT_RECV)) {
        give_back(ch, cell_of(task));
        ASX__AUDIT_ASSERT(is_valid(ch));
    }
}

/* ---- the end -------------------------------------------------------------------------------- */

static void discard_cells(asx__mpmc *ch, asx__node *list)
{
    while (!asx__list_empty(list)) {
        cell *c = (cell *)(void *)asx__list_pop_front(list);
        discard(ch, c->message);
        free_cell(ch, c);
    }
}

/* No task can send or receive any more. */
static void discard_all(asx__mpmc *ch)
{
    body *b = ch->body;
    uint64_t count = asx__mpmc_core_queued(&ch->core) + b->n_returned;
    if (count != 0)
        (void)journal(ch, ch->sync.rt->current, ASX_EVENT_MPMC_DISCARD, count, 0, 0);
    b->n_returned = 0;
    discard_cells(ch, &b->returned);
    while (ch->core.head != ch->core.tail) {
        char *message = slot(ch, ch->core.head);
        ch->core.head++;
        discard(ch, message);
    }
}

static void end_channel(asx__sync *s)
{
    asx__mpmc *ch = (asx__mpmc *)(void *)s;
    body *b = ch->body;
    asx__mpmc_core_abandon(&ch->core);
    dismiss_all(ch, true, ASX_E_DISCONNECTED);
    dismiss_all(ch, false, ASX_E_DISCONNECTED);
    b->n_granted = 0;
    discard_cells(ch, &b->granted); /* its waiters learn it from the generation */
    discard_all(ch);
    s->rt->live_channels--;
    if (b->discarded != 0 && s->region->report != NULL)
        asx__report_channel(s->rt, s->region->report, s->region, s->waits[0].waitable.serial,
                            s->name, b->discarded);
}

static uint64_t undelivered(const asx__sync *s)
{
    const asx__mpmc *ch = (const asx__mpmc *)(const void *)s;
    return asx__mpmc_core_queued(&ch->core) + ch->body->n_returned + ch->body->n_granted;
}

static const asx__sync_type mpmc_type = {
    .kind = ASX__SYNC_MPMC,
    .created = ASX_EVENT_MPMC_CREATE,
    .waits = { [WAIT_SEND] = { ASX__WAIT_MPMC_SEND, NULL, unpublish },
               [WAIT_RECV] = { ASX__WAIT_MPMC_RECV, NULL, unpublish } },
    .end = end_channel,
    .undelivered = undelivered,
};

/* ---- endpoints ------------------------------------------------------------------------------ */

static end *end_at(const body *b, uint32_t index)
{
    uint32_t chunk = 0;
    uint32_t size = END_CHUNK_FIRST;
    while (index >= size) {
        index -= size;
        size *= 2;
        chunk++;
    }
    return &b->ends[chunk][index];
}

static void add_ends(body *b, uint32_t chunk, end *ends)
{
    uint32_t count = END_CHUNK_FIRST << chunk;
    for (uint32_t i = 0; i < count; i++)
        ends[i] = (end){ .next_free = i + 1 < count ? b->ends_made + i + 1 : NO_END };
    b->ends[chunk] = ends;
    b->free_end = b->ends_made;
    b->ends_made += count;
}

/* A free entry at the head of the free list. False: no memory. */
static bool have_free_end(asx__mpmc *ch)
{
    body *b = ch->body;
    uint32_t chunk = 0;
    if (b->free_end != NO_END)
        return true;
    while (chunk < END_CHUNKS && b->ends[chunk] != NULL)
        chunk++;
    if (chunk == END_CHUNKS)
        return false;
    end *ends = asx__region_memory(ch->sync.region, (END_CHUNK_FIRST << chunk) * sizeof *ends);
    if (ends == NULL)
        return false;
    add_ends(b, chunk, ends);
    return true;
}

/* There is a free one. The layout of both sorts of endpoint is the same. */
static asx_mpmc_sender take_end(asx__mpmc *ch, bool receives)
{
    body *b = ch->body;
    uint32_t index = b->free_end;
    end *e = end_at(b, index);
    b->free_end = e->next_free;
    e->life++;
    e->receives = receives;
    b->senders += !receives;
    b->receivers += receives;
    return (asx_mpmc_sender){ ch, ch->sync.rt->gate, ch->sync.generation, index, e->life };
}

static asx_mpmc_receiver as_receiver(asx_mpmc_sender s)
{
    return (asx_mpmc_receiver){ s.mpmc_, s.gate_, s.generation_, s.index_, s.life_ };
}

static asx_mpmc_sender as_sender(const asx_mpmc_receiver *r)
{
    return (asx_mpmc_sender){ r->mpmc_, r->gate_, r->generation_, r->index_, r->life_ };
}

/* The channel behind a live endpoint. */
static asx_status resolve(const asx_mpmc_sender *endpoint, bool receives, end **ret_end)
{
    asx__mpmc *ch = endpoint->mpmc_;
    asx_status st = asx__sync_resolve(HEAD(ch), endpoint->generation_, ASX_E_DISCONNECTED);
    if (st < 0)
        return st;
    if (endpoint->life_ % 2 == 0 || endpoint->index_ >= ch->body->ends_made)
        return ASX_E_INVALID_ARGUMENT;
    end *e = end_at(ch->body, endpoint->index_);
    if (e->life != endpoint->life_)
        return ASX_E_STALE_HANDLE;
    *ret_end = e;
    return e->receives == receives ? ASX_OK : ASX_E_INVALID_ARGUMENT;
}

/* The same in the hands of the running task. */
static asx_status enter(const asx_mpmc_sender *endpoint, bool receives, const asx_cx *cx,
                        const void *message, asx__task **ret_task)
{
    end *e;
    asx_runtime *rt;
    if (message == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = resolve(endpoint, receives, &e);
    if (st < 0)
        return st;
    st = asx__cx_enter(cx, ASX_CAP_CHANNEL, ret_task, &rt);
    if (st < 0)
        return st;
    return rt == endpoint->mpmc_->sync.rt ? ASX_OK : ASX_E_WRONG_CONTEXT;
}

static bool is_granted(const asx__task *task, const asx__mpmc *ch, unsigned which)
{
    return (task->flags & ASX__T_GRANTED) != 0 &&
           task->w.waits == &ch->sync.waits[which].waitable;
}

/* The repeated send of a poll task whose message was taken meanwhile: it is done, whatever has
 * become of the endpoint or the channel, whose record stays as long as there is a grant. */
static bool was_sent(const asx_mpmc_sender *sender, const asx_cx *cx)
{
    asx__task *task;
    asx_runtime *rt;
    asx__mpmc *ch = sender->mpmc_;
    if (ch == NULL || asx__cx_enter(cx, ASX_CAP_CHANNEL, &task, &rt) < 0 ||
        !is_granted(task, ch, WAIT_SEND))
        return false;
    (void)asx__wait_granted(task, asx__sync_waitable(&ch->sync, WAIT_SEND));
    (void)asx__sync_ungrant(&ch->sync);
    return true;
}

/* Explored: an operation, whatever has become of the endpoint before. */
static uint64_t announce(const asx_mpmc_sender *endpoint, asx__op_kind kind, bool receives)
{
    asx__mpmc *ch = endpoint->mpmc_;
    if (ASX__LIKELY(ch == NULL || ch->sync.home->seam == NULL) ||
        ch->sync.generation != endpoint->generation_)
        return ASX__GOES;
    uint64_t number = (uint64_t)endpoint->index_ << 16 | (endpoint->life_ & 0xffff);
    return asx__sync_announce(&ch->sync, kind, .mpmc = { ch->core.capacity, number, receives });
}

/* With several workers: through the gate with `in`, the endpoint, and `in_cx`. */
#define GATE(endpoint_type, endpoint, cx, call)                                                    \
    do {                                                                                           \
        if ((endpoint) != NULL && (endpoint)->gate_ != NULL) {                                     \
            asx_runtime *rt_ = (endpoint)->gate_->behind;                                          \
            if (ASX__UNLIKELY(rt_ == NULL))                                                        \
                return ASX_E_WRONG_CONTEXT; /* in the child of a fork */                           \
            endpoint_type in = *(endpoint);                                                        \
            in.gate_ = NULL;                                                                       \
            asx_cx cx_;                                                                            \
            asx_cx *in_cx = asx__cx_inside(cx, rt_, &cx_);                                         \
            (void)in_cx;                                                                           \
            ASX__THROUGH(asx_status, rt_, call);                                                   \
        }                                                                                          \
    } while (0)
#define GATE_SENDER(sender, cx, call) GATE(asx_mpmc_sender, sender, cx, call)
#define GATE_RECEIVER(receiver, cx, call) GATE(asx_mpmc_receiver, receiver, cx, call)

/* ---- creation ------------------------------------------------------------------------------- */

/* Bytes of the body and what follows it; 0: more than there can be. */
static size_t bytes_of(const asx_runtime *rt, size_t element_size, size_t capacity,
                       size_t *ret_ring_bytes)
{
    size_t ring, marks = 0, total;
    if (__builtin_mul_overflow(element_size, capacity, &ring) || ring > SIZE_MAX / 4 ||
        element_size > SIZE_MAX / 4)
        return 0;
    ring = (ring + ALIGN - 1) & ~(ALIGN - 1);
    if (rt->tracing && __builtin_mul_overflow(capacity, sizeof(mark), &marks))
        return 0;
    if (__builtin_add_overflow(ring + ((sizeof(body) + ALIGN - 1) & ~(ALIGN - 1)), marks, &total))
        return 0;
    *ret_ring_bytes = ring;
    return total;
}

static asx_status create(asx__region *r, const asx_region *region, size_t element_size,
                         size_t capacity, const asx_channel_options *options, bool arguments_ok,
                         asx__mpmc **ret_ch)
{
    asx_runtime *rt = r->rt;
    asx__sync *s = NULL;
    void *memory = NULL;
    size_t ring_bytes = 0;
    size_t bytes = bytes_of(rt, element_size, capacity, &ring_bytes);
    uint64_t most = rt->config.limits.channels_max;
    if (bytes == 0 || (most != 0 && rt->live_channels >= most))
        bytes = SIZE_MAX; /* refused for lack of memory, once the region has said that it is open */
    asx_status st = asx__sync_create(region, &mpmc_type, options != NULL ? options->name : NULL,
                                     bytes, arguments_ok, &s, &memory);
    if (st < 0)
        return st;
    asx__mpmc *ch = (asx__mpmc *)(void *)s;
    body *b = memory;
    memset(b, 0, sizeof *b);
    asx__mpmc_core_init(&ch->core, capacity);
    ch->body = b;
    b->element_size = element_size;
    b->ring = (char *)memory + ((sizeof *b + ALIGN - 1) & ~(ALIGN - 1));
    b->marks = rt->tracing ? (mark *)(void *)(b->ring + ring_bytes) : NULL;
    asx__list_init(&b->granted);
    asx__list_init(&b->returned);
    add_ends(b, 0, b->first_ends);
    if (options != NULL) {
        b->drop = options->drop;
        b->drop_ctx = options->drop_ctx;
    }
    rt->live_channels++;
    *ret_ch = ch;
    return ASX_OK;
}

asx_status asx_mpmc_create(const asx_region *region, size_t element_size, size_t capacity,
                           const asx_channel_options *options, asx_mpmc_sender *ret_sender,
                           asx_mpmc_receiver *ret_receiver)
{
    ASX__EMPTY(ret_sender);
    ASX__EMPTY(ret_receiver);
    asx__region *r;
    asx__mpmc *ch = NULL;
    ASX__GATE_REGION(region, asx_mpmc_create(&in, element_size, capacity, options, ret_sender,
                                             ret_receiver));
    asx_status st = asx__region_resolve(region, ASX_STATE_MASK_ALL, &r);
    if (st < 0)
        return st;
    bool good = element_size != 0 && ret_sender != NULL && ret_receiver != NULL;
    st = create(r, region, element_size, capacity, options, good, &ch);
    if (st < 0)
        return st;
    ASX__ASSERT(good); /* else it was refused */
    asx__sync_created(&ch->sync, capacity);
    *ret_sender = take_end(ch, false);
    *ret_receiver = as_receiver(take_end(ch, true));
    ASX__AUDIT_ASSERT(is_valid(ch));
    return ASX_OK;
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* Does the task's wait of this sort go on, from its last resumption or an earlier call? */
static bool still_waits(const asx__task *task, const asx__mpmc *ch, unsigned which)
{
    return (task->flags & ASX__T_POLL) != 0 &&
           task->w.waits == &ch->sync.waits[which].waitable && !is_granted(task, ch, which);
}

/* The running task may wait now, and a poll task has a cell. What it gives up for that may change
 * the channel. */
static asx_status prepare(asx__mpmc *ch, asx__task *task, unsigned which)
{
    asx_runtime *rt = ch->sync.rt;
    asx_status st = asx__wait_prepare(rt, task, asx__sync_waitable(&ch->sync, which));
    if (st < 0 || (task->flags & ASX__T_POLL) == 0)
        return st;
    asx__extra *extra = asx__task_extra(rt, task);
    cell *c = extra != NULL ? make_cell(ch) : NULL;
    if (c == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    extra->wait_note = (uintptr_t)c;
    return ASX_OK;
}

/* ---- sending -------------------------------------------------------------------------------- */

/* Does what a step of the core asks for. */
static asx_status conclude_send(asx__mpmc *ch, asx__task *task, const void *message,
                                asx__mpmc_effect e)
{
    mark m;
    switch (e.step) {
    case ASX__MPMC_GONE:
        return asx__sync_found(&ch->sync, ASX_E_DISCONNECTED);
    case ASX__MPMC_CLOSED:
        return asx__sync_found(&ch->sync, ASX_E_CLOSED);
    case ASX__MPMC_HAND:
        m = departs(ch, task);
        serve_receiver(ch, (asx__task *)(void *)e.waiter, message, m);
        break;
    default:
        ASX__ASSERT(e.step == ASX__MPMC_RING);
        m = departs(ch, task);
        copy(ch, slot(ch, e.number), message);
        if (ch->body->marks != NULL)
            ch->body->marks[e.number % ch->core.capacity] = m;
        break;
    }
    ASX__AUDIT_ASSERT(is_valid(ch));
    return ASX_OK;
}

/* Explored, and there is room for none: the message lies there for any receiver, and its sender
 * stands outside until one has taken it. A message that is withdrawn counts as discarded. */
static asx_status send_explored(asx_runtime *rt, asx__task *task, asx__mpmc *ch,
                               const void *message)
{
    body *b = ch->body;
    cell *c = make_cell(ch);
    if (c == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    mark m = departs(ch, task);
    c->number = m.number;
    c->seq = m.seq;
    copy(ch, c->message, message);
    asx__list_push_back(&b->returned, &c->node);
    b->n_returned++;
    uint64_t found = asx__sync_announce(&ch->sync, ASX__OP_MPMC_TAKEN);
    if (found == ASX__IS_CLOSED)
        return asx__sync_found(&ch->sync, ASX_E_DISCONNECTED);
    if (found != ASX__IS_CANCELLED)
        return ASX_OK;
    asx__list_remove(&c->node);
    free_cell(ch, c);
    b->n_returned--;
    b->discarded++;
    return asx__tell(rt, task);
}

static asx_status send(asx_runtime *rt, asx__task *task, asx__mpmc *ch, const void *message,
                       uint64_t verdict)
{
    asx__waitable *waitable = asx__sync_waitable(&ch->sync, WAIT_SEND);
    asx_status st = asx__checkpoint(rt, task);
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (ASX__UNLIKELY(verdict >= ASX__MUST_WAIT))
        return send_explored(rt, task, ch, message);
    if (still_waits(task, ch, WAIT_SEND)) {
        copy(ch, place_of(task), message);
        return asx__wait_on(rt, task, waitable, NULL);
    }
    asx__mpmc_effect e = asx__mpmc_core_send(&ch->core, NULL);
    if (e.step != ASX__MPMC_WAIT)
        return conclude_send(ch, task, message, e);
    st = prepare(ch, task, WAIT_SEND);
    if (st < 0)
        return st;
    e = asx__mpmc_core_send(&ch->core, &task->node);
    bool poll = (task->flags & ASX__T_POLL) != 0;
    if (e.step == ASX__MPMC_WAIT) {
        if (poll)
            copy(ch, place_of(task), message);
        return asx__wait_on(rt, task, waitable, (void *)(uintptr_t)message);
    }
    if (poll)
        free_cell(ch, cell_of(task));
    return conclude_send(ch, task, message, e);
}

asx_status asx_mpmc_send(asx_cx *cx, const asx_mpmc_sender *sender, const void *message)
{
    asx__task *task;
    GATE_SENDER(sender, cx, asx_mpmc_send(in_cx, &in, message));
    if (sender == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (message != NULL && was_sent(sender, cx))
        return ASX_OK;
    uint64_t verdict = announce(sender, ASX__OP_MPMC_SEND, false);
    if (ASX__UNLIKELY(verdict == ASX__IS_CANCELLED))
        return asx__checkpoint(cx->rt_, cx->task_);
    asx_status st = enter(sender, false, cx, message, &task);
    return st < 0 ? st : send(cx->rt_, task, sender->mpmc_, message, verdict);
}

static asx_status try_send(asx__task *task, asx__mpmc *ch, const void *message)
{
    asx__mpmc_effect e = asx__mpmc_core_send(&ch->core, NULL);
    return e.step == ASX__MPMC_WAIT ? ASX_E_FULL : conclude_send(ch, task, message, e);
}

asx_status asx_mpmc_try_send(asx_cx *cx, const asx_mpmc_sender *sender, const void *message)
{
    asx__task *task;
    GATE_SENDER(sender, cx, asx_mpmc_try_send(in_cx, &in, message));
    if (sender == NULL)
        return ASX_E_INVALID_ARGUMENT;
    (void)announce(sender, ASX__OP_MPMC_TRY_SEND, false);
    asx_status st = enter(sender, false, cx, message, &task);
    return st < 0 ? st : try_send(task, sender->mpmc_, message);
}

/* ---- receiving ------------------------------------------------------------------------------ */

/* A returned message, or one that was granted to the task. */
static void take_cell(asx__mpmc *ch, asx__task *task, cell *c, void *ret_message)
{
    mark m = { c->number, c->seq };
    asx__list_remove(&c->node);
    copy(ch, ret_message, c->message);
    free_cell(ch, c);
    arrives(ch, task, m);
    ASX__AUDIT_ASSERT(is_valid(ch));
}

/* A sender's message goes into the slot that has become free. */
static void refill(asx__mpmc *ch, asx__task *sender, uint64_t number)
{
    mark m = departs(ch, sender);
    copy(ch, slot(ch, number), place_of(sender));
    if (ch->body->marks != NULL)
        ch->body->marks[number % ch->core.capacity] = m;
    release_sender(ch, sender);
}

/* A step of the core, but what was returned goes first. */
static asx__mpmc_effect step_recv(asx__mpmc *ch, asx__node *self)
{
    if (ch->body->n_returned != 0)
        return (asx__mpmc_effect){ .step = ASX__MPMC_HAND };
    return asx__mpmc_core_recv(&ch->core, self);
}

static asx_status conclude_recv(asx__mpmc *ch, asx__task *task, void *ret_message,
                                asx__mpmc_effect e)
{
    asx__task *sender = (asx__task *)(void *)e.waiter;
    body *b = ch->body;
    mark m = { 0, 0 };
    if (e.step == ASX__MPMC_CLOSED)
        return asx__sync_found(&ch->sync, ASX_E_CLOSED);
    if (e.step == ASX__MPMC_RING) {
        copy(ch, ret_message, slot(ch, e.number));
        if (b->marks != NULL)
            m = b->marks[e.number % ch->core.capacity];
        arrives(ch, task, m);
        if (sender != NULL)
            refill(ch, sender, e.refill);
    } else if (sender == NULL) {
        ASX__ASSERT(b->n_returned != 0);
        b->n_returned--;
        take_cell(ch, task, (cell *)(void *)b->returned.next, ret_message);
    } else {
        m = departs(ch, sender);
        copy(ch, ret_message, place_of(sender));
        arrives(ch, task, m);
        release_sender(ch, sender);
    }
    ASX__AUDIT_ASSERT(is_valid(ch));
    return ASX_OK;
}

static asx_status recv(asx_runtime *rt, asx__task *task, asx__mpmc *ch, void *ret_message)
{
    asx__waitable *waitable = asx__sync_waitable(&ch->sync, WAIT_RECV);
    if (asx__sync_granted(&ch->sync, task, WAIT_RECV)) {
        ch->body->n_granted--;
        take_cell(ch, task, cell_of(task), ret_message);
        return ASX_OK; /* it has it: a cancel comes late */
    }
    asx_status st = asx__checkpoint(rt, task);
    if (ASX__UNLIKELY(st < 0))
        return st;
    if (still_waits(task, ch, WAIT_RECV))
        return asx__wait_on(rt, task, waitable, NULL);
    asx__mpmc_effect e = step_recv(ch, NULL);
    if (e.step != ASX__MPMC_WAIT)
        return conclude_recv(ch, task, ret_message, e);
    st = prepare(ch, task, WAIT_RECV);
    if (st < 0)
        return st;
    e = step_recv(ch, &task->node);
    if (e.step == ASX__MPMC_WAIT)
        return asx__wait_on(rt, task, waitable, ret_message);
    if (task->flags & ASX__T_POLL)
        free_cell(ch, cell_of(task));
    return conclude_recv(ch, task, ret_message, e);
}

asx_status asx_mpmc_recv(asx_cx *cx, const asx_mpmc_receiver *receiver, void *ret_message)
{
    asx__task *task;
    GATE_RECEIVER(receiver, cx, asx_mpmc_recv(in_cx, &in, ret_message));
    if (receiver == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_mpmc_sender endpoint = as_sender(receiver);
    if (ASX__UNLIKELY(announce(&endpoint, ASX__OP_MPMC_RECV, true) ==
                      ASX__IS_CANCELLED))
        return asx__checkpoint(cx->rt_, cx->task_);
    asx_status st = enter(&endpoint, true, cx, ret_message, &task);
    return st < 0 ? st : recv(cx->rt_, task, receiver->mpmc_, ret_message);
}

static asx_status try_recv(asx__task *task, asx__mpmc *ch, void *ret_message)
{
    asx__mpmc_effect e = step_recv(ch, NULL);
    return e.step == ASX__MPMC_WAIT ? ASX_E_EMPTY : conclude_recv(ch, task, ret_message, e);
}

asx_status asx_mpmc_try_recv(asx_cx *cx, const asx_mpmc_receiver *receiver, void *ret_message)
{
    asx__task *task;
    GATE_RECEIVER(receiver, cx, asx_mpmc_try_recv(in_cx, &in, ret_message));
    if (receiver == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_mpmc_sender endpoint = as_sender(receiver);
    (void)announce(&endpoint, ASX__OP_MPMC_TRY_RECV, true);
    asx_status st = enter(&endpoint, true, cx, ret_message, &task);
    return st < 0 ? st : try_recv(task, receiver->mpmc_, ret_message);
}

/* ---- close, clone, drop --------------------------------------------------------------------- */

static void close_channel(asx__mpmc *ch)
{
    if (ch->core.closed)
        return;
    (void)journal(ch, ch->sync.rt->current, ASX_EVENT_MPMC_CLOSE,
                  asx__mpmc_core_queued(&ch->core) + ch->body->n_returned,
                  ch->core.senders_wait ? ch->core.waiting : 0, 0);
    asx__mpmc_core_close(&ch->core);
    dismiss_all(ch, false, ASX_E_CLOSED);
    ASX__AUDIT_ASSERT(is_valid(ch));
}

asx_status asx_mpmc_close(const asx_mpmc_sender *sender)
{
    end *e;
    GATE_SENDER(sender, NULL, asx_mpmc_close(&in));
    if (sender == NULL)
        return ASX_E_INVALID_ARGUMENT;
    (void)announce(sender, ASX__OP_MPMC_CLOSE, false);
    asx_status st = resolve(sender, false, &e);
    if (st < 0)
        return st;
    close_channel(sender->mpmc_);
    return ASX_OK;
}

asx_status asx_mpmc_sender_clone(const asx_mpmc_sender *sender, asx_mpmc_sender *ret_sender)
{
    end *e;
    GATE_SENDER(sender, NULL, asx_mpmc_sender_clone(&in, ret_sender));
    if (sender == NULL || ret_sender == NULL)
        return ASX__EMPTY_IF(ASX_E_INVALID_ARGUMENT, ret_sender);
    (void)announce(sender, ASX__OP_MPMC_CLONE, false);
    asx_status st = resolve(sender, false, &e);
    if (st < 0)
        return ASX__EMPTY_IF(st, ret_sender);
    if (!have_free_end(sender->mpmc_))
        return ASX__EMPTY_IF(ASX_E_RESOURCE_EXHAUSTED, ret_sender);
    *ret_sender = take_end(sender->mpmc_, false);
    return ASX_OK;
}

asx_status asx_mpmc_receiver_clone(const asx_mpmc_receiver *receiver,
                                   asx_mpmc_receiver *ret_receiver)
{
    end *e;
    GATE_RECEIVER(receiver, NULL, asx_mpmc_receiver_clone(&in, ret_receiver));
    if (receiver == NULL || ret_receiver == NULL)
        return ASX__EMPTY_IF(ASX_E_INVALID_ARGUMENT, ret_receiver);
    asx_mpmc_sender endpoint = as_sender(receiver);
    (void)announce(&endpoint, ASX__OP_MPMC_CLONE, true);
    asx_status st = resolve(&endpoint, true, &e);
    if (st < 0)
        return ASX__EMPTY_IF(st, ret_receiver);
    if (!have_free_end(receiver->mpmc_))
        return ASX__EMPTY_IF(ASX_E_RESOURCE_EXHAUSTED, ret_receiver);
    *ret_receiver = as_receiver(take_end(receiver->mpmc_, true));
    return ASX_OK;
}

/* An endpoint ends; its entry can be used again. */
static void drop_end(asx__mpmc *ch, end *e, uint32_t index)
{
    body *b = ch->body;
    b->senders -= !e->receives;
    b->receivers -= e->receives;
    e->life++;
    e->next_free = b->free_end;
    b->free_end = index;
    (void)journal(ch, ch->sync.rt->current, ASX_EVENT_MPMC_DROP, b->senders, b->receivers, 0);
}

asx_status asx_mpmc_sender_drop(asx_mpmc_sender *sender)
{
    end *e;
    GATE_SENDER(sender, NULL, asx_mpmc_sender_drop(&in));
    if (sender == NULL)
        return ASX_E_INVALID_ARGUMENT;
    (void)announce(sender, ASX__OP_MPMC_DROP, false);
    asx_status st = resolve(sender, false, &e);
    if (st < 0)
        return st;
    asx__mpmc *ch = sender->mpmc_;
    drop_end(ch, e, sender->index_);
    if (ch->body->senders == 0)
        close_channel(ch);
    return ASX_OK;
}

/* Explored: messages whose senders wait until they are taken stay theirs. */
static void leave_to_senders(asx__mpmc *ch)
{
    body *b = ch->body;
    while (!asx__list_empty(&b->returned)) {
        free_cell(ch, (cell *)(void *)asx__list_pop_front(&b->returned));
        b->n_returned--;
        b->discarded++;
    }
}

/* No receiver is left. */
static void abandon(asx__mpmc *ch)
{
    if (ASX__UNLIKELY(ch->sync.rt->seam != NULL) && ch->core.capacity == 0)
        leave_to_senders(ch);
    asx__mpmc_core_abandon(&ch->core);
    dismiss_all(ch, true, ASX_E_DISCONNECTED);
    dismiss_all(ch, false, ASX_E_STALE_HANDLE); /* they waited through the endpoint that went */
    discard_all(ch);
    ASX__AUDIT_ASSERT(is_valid(ch));
}

asx_status asx_mpmc_receiver_drop(asx_mpmc_receiver *receiver)
{
    end *e;
    GATE_RECEIVER(receiver, NULL, asx_mpmc_receiver_drop(&in));
    if (receiver == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_mpmc_sender endpoint = as_sender(receiver);
    (void)announce(&endpoint, ASX__OP_MPMC_DROP, true);
    asx_status st = resolve(&endpoint, true, &e);
    if (st < 0)
        return st;
    asx__mpmc *ch = receiver->mpmc_;
    drop_end(ch, e, receiver->index_);
    if (ch->body->receivers == 0)
        abandon(ch);
    return ASX_OK;
}

/* ---- asking --------------------------------------------------------------------------------- */

static void describe(const asx__mpmc *ch, asx_mpmc_info *ret_info)
{
    const body *b = ch->body;
    bool send = ch->core.senders_wait;
    *ret_info = (asx_mpmc_info){
        .serial = ch->sync.waits[0].waitable.serial,
        .capacity = (size_t)ch->core.capacity,
        .queued = (size_t)(asx__mpmc_core_queued(&ch->core) + b->n_returned),
        .senders = b->senders,
        .receivers = b->receivers,
        .send_waiters = send ? ch->core.waiting : 0,
        .recv_waiters = send ? 0 : ch->core.waiting,
        .closed = ch->core.closed,
        .sent = b->sent,
        .received = b->received,
        .discarded = b->discarded,
    };
}

asx_status asx_mpmc_sender_info(const asx_mpmc_sender *sender, asx_mpmc_info *ret_info)
{
    ASX__EMPTY(ret_info);
    end *e;
    GATE_SENDER(sender, NULL, asx_mpmc_sender_info(&in, ret_info));
    if (sender == NULL || ret_info == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = resolve(sender, false, &e);
    if (st < 0)
        return st;
    describe(sender->mpmc_, ret_info);
    return ASX_OK;
}

asx_status asx_mpmc_receiver_info(const asx_mpmc_receiver *receiver, asx_mpmc_info *ret_info)
{
    ASX__EMPTY(ret_info);
    end *e;
    GATE_RECEIVER(receiver, NULL, asx_mpmc_receiver_info(&in, ret_info));
    if (receiver == NULL || ret_info == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_mpmc_sender endpoint = as_sender(receiver);
    asx_status st = resolve(&endpoint, true, &e);
    if (st < 0)
        return st;
    describe(receiver->mpmc_, ret_info);
    return ASX_OK;
}
