/* each.c - map-reduce and for-each: workers that take what there is.
 *
 * map-reduce. The items are cut into chunks; the numbers of the chunks lie in a closed channel of
 * many, and workers take them. Each chunk has a place for its value, which is combined from left to
 * right; the finalizer of the region combines the values of the chunks from left to right. So the
 * result does not depend on which worker took what, and the monoid need not commute.
 *
 * for-each. The channel has one receiver; a mutex says whose turn it is to wait for a message. A
 * message is received with an ack, which is an obligation of the worker: it goes back however the
 * worker ends.
 */
#include "flow/flow.h"

#include <asx/mpmc.h>
#include <asx/stream.h>
#include <asx/sync.h>

#include "sync/sync.h"

static asx_status open_scope(asx_cx *cx, const char *name, const asx_flow_options *options,
                             asx_region *ret_region)
{
    asx_region_options scope = {
        .name = options != NULL && options->name != NULL ? options->name : name,
        .timeout_ns = options != NULL ? options->timeout_ns : 0,
        .caps = asx_cx_caps(cx),
    };
    asx_status st = asx_region_open(cx, &scope, ret_region);
    if (st == ASX_OK)
        asx__flow_close_is_heard(ret_region, true);
    return st;
}

static asx_status start(const asx_region *region, const char *name, asx_task_fn fn, void *arg,
                        size_t workers, const asx_flow_options *options)
{
    asx_branch branch = { name, fn, arg };
    asx_status st = ASX_OK;
    for (size_t i = 0; i < workers && st == ASX_OK; i++)
        st = asx__flow_spawn(region, &branch, options, NULL);
    return st;
}

static asx_status finish(asx_cx *cx, asx_region *region, asx_status setup)
{
    asx_status st = asx_region_close(region, setup);
    return setup < 0 && !asx__flow_too_late(setup) ? setup : asx__flow_tell(cx, st);
}

/* ---- map-reduce ----------------------------------------------------------------------------- */

typedef struct mapping {
    const unsigned char *items;
    size_t count, item_size, chunk, chunks;
    asx_map_fn map;
    void *arg;
    const asx_monoid *monoid;
    asx_region region;
    asx_mpmc_sender tx; /* of size_t: chunks that nobody has taken */
    asx_mpmc_receiver rx;
    unsigned char *values; /* one for each chunk, `stride` apart */
    size_t stride;
    unsigned char *result;
} mapping;

static asx_status map_chunk(asx_cx *cx, mapping *m, size_t chunk, void *scratch)
{
    void *value = m->values + chunk * m->stride;
    size_t end = chunk + 1 == m->chunks ? m->count : (chunk + 1) * m->chunk;
    memcpy(value, m->monoid->identity, m->monoid->size);
    for (size_t i = chunk * m->chunk; i < end; i++) {
        asx_status st = m->map(cx, m->arg, m->items + i * m->item_size, scratch);
        if (st < 0)
            return st;
        m->monoid->combine(m->monoid->arg, value, scratch);
    }
    return ASX_OK;
}

static asx_status map_worker(asx_cx *cx, void *arg)
{
    mapping *m = arg;
    void *scratch;
    size_t chunk;
    asx_status st = asx_region_alloc(&m->region, m->monoid->size, &scratch);
    while (st == ASX_OK) {
        st = asx_mpmc_recv(cx, &m->rx, &chunk);
        if (st == ASX_OK)
            st = map_chunk(cx, m, chunk, scratch);
    }
    return st == ASX_E_CLOSED ? ASX_OK : asx__flow_worker_ends(&m->region, st);
}

/* A finalizer: every worker has ended. */
static asx_status reduce(asx_cx *cx, void *arg)
{
    mapping *m = arg;
    (void)cx;
    for (size_t i = 0; i < m->chunks; i++)
        m->monoid->combine(m->monoid->arg, m->result, m->values + i * m->stride);
    return ASX_OK;
}

static asx_status set_up_mapping(asx_cx *cx, mapping *m)
{
    void *memory;
    size_t stride;
    if (__builtin_add_overflow(m->monoid->size, 15u, &stride))
        return ASX_E_RESOURCE_EXHAUSTED;
    m->stride = stride / 16 * 16;
    asx_status st = asx__flow_array(&m->region, m->chunks, m->stride, &memory);
    if (st < 0)
        return st;
    m->values = memory;
    for (size_t i = 0; i < m->chunks; i++) /* of one that is never mapped */
        memcpy(m->values + i * m->stride, m->monoid->identity, m->monoid->size);
    st = asx_mpmc_create(&m->region, sizeof(size_t), m->chunks, NULL, &m->tx, &m->rx);
    if (st == ASX_OK)
        st = asx_defer(&m->region, reduce, m);
    for (size_t i = 0; i < m->chunks && st == ASX_OK; i++)
        st = asx_mpmc_try_send(cx, &m->tx, &i);
    return st == ASX_OK ? asx_mpmc_close(&m->tx) : st;
}

static bool mapping_is_sound(const mapping *m, const void *ret_value)
{
    const asx_monoid *o = m->monoid;
    return m->map != NULL && o != NULL && o->size != 0 && o->identity != NULL &&
           o->combine != NULL && ret_value != NULL && m->item_size != 0 &&
           (m->items != NULL || m->count == 0);
}

static asx_status map_and_reduce(asx_cx *cx, mapping *m, const asx_map_options *options)
{
    uint32_t workers = options != NULL && options->workers != 0 ? options->workers : 4;
    m->chunk = options != NULL ? options->chunk : 0;
    if (m->chunk == 0)
        m->chunk = m->count / (4u * (size_t)workers) + 1;
    m->chunks = m->count / m->chunk + (m->count % m->chunk != 0);
    const asx_flow_options *flow = options != NULL ? &options->flow : NULL;
    asx_status st = open_scope(cx, "map-reduce", flow, &m->region);
    if (st < 0)
        return st;
    asx_status setup = set_up_mapping(cx, m);
    if (setup == ASX_OK)
        setup = start(&m->region, "mapper", map_worker, m,
                      workers < m->chunks ? workers : m->chunks, flow);
    return finish(cx, &m->region, setup);
}

asx_status asx_map_reduce(asx_cx *cx, const void *items, size_t count, size_t item_size,
                          asx_map_fn map, void *arg, const asx_monoid *monoid,
                          const asx_map_options *options, void *ret_value)
{
    asx__task *task;
    mapping m = { .items = items, .count = count, .item_size = item_size, .map = map, .arg = arg,
                  .monoid = monoid, .result = ret_value };
    bool sound = mapping_is_sound(&m, ret_value);
    if (sound)
        memcpy(ret_value, monoid->identity, monoid->size);
    asx_status st = asx__flow_enter(cx, ASX__FLOW_STREAM_CAPS, NULL, 0, &task);
    if (st == ASX_OK && !sound)
        st = ASX_E_INVALID_ARGUMENT;
    if (st == ASX_OK && count != 0)
        st = map_and_reduce(cx, &m, options);
    if (st < 0 && sound)
        memcpy(ret_value, monoid->identity, monoid->size);
    return st;
}

/* ---- for-each ------------------------------------------------------------------------------- */

typedef struct each_worker each_worker;

typedef struct each {
    const asx_channel_receiver *rx;
    size_t item_size;
    asx_each_fn fn;
    void *arg;
    bool keep_going;
    size_t workers;
    asx_region region;
    asx_mutex turn; /* to receive; of several workers */
    each_worker *worker;
    asx_each_stats *ret_stats;
    asx_status *ret_failure;
} each;

struct each_worker {
    each *each;
    void *item;
    asx_each_stats stats;
    asx_status failure; /* the first, of who keeps going */
};

static asx_status take(asx_cx *cx, each_worker *w, asx_ack *ret_ack)
{
    each *e = w->each;
    asx_mutex_guard guard;
    if (e->workers == 1)
        return asx_channel_recv_with_ack(cx, e->rx, w->item, ret_ack);
    asx_status st = asx_mutex_lock(cx, &e->turn, &guard);
    if (st < 0)
        return st;
    st = asx_channel_recv_with_ack(cx, e->rx, w->item, ret_ack);
    (void)asx_mutex_unlock(&guard);
    return st;
}

static asx_status each_task(asx_cx *cx, void *arg)
{
    each_worker *w = arg;
    each *e = w->each;
    for (;;) {
        asx_ack ack;
        asx_status st = take(cx, w, &ack);
        if (st < 0)
            return st == ASX_E_DISCONNECTED ? ASX_OK : asx__flow_worker_ends(&e->region, st);
        st = e->fn(cx, e->arg, w->item);
        w->stats.done += st == ASX_OK;
        w->stats.failed += st < 0;
        if (st < 0 && (!e->keep_going || asx_is_cancelled(cx))) {
            (void)asx_ack_nack(&ack);
            return asx__flow_worker_ends(&e->region, st);
        }
        if (st < 0 && w->failure == ASX_OK)
            w->failure = st;
        st = asx_ack_commit(&ack);
        if (st < 0)
            return st;
    }
}

/* A finalizer, as in a pipeline. */
static asx_status add_up(asx_cx *cx, void *arg)
{
    each *e = arg;
    (void)cx;
    for (size_t i = 0; i < e->workers; i++) {
        e->ret_stats->done += e->worker[i].stats.done;
        e->ret_stats->failed += e->worker[i].stats.failed;
        if (*e->ret_failure == ASX_OK)
            *e->ret_failure = e->worker[i].failure;
    }
    return ASX_OK;
}

static asx_status start_each(each *e, const asx_flow_options *flow)
{
    void *memory;
    asx_status st = asx__flow_array(&e->region, e->workers, sizeof *e->worker, &memory);
    if (st < 0)
        return st;
    e->worker = memory;
    for (size_t i = 0; i < e->workers; i++)
        e->worker[i] = (each_worker){ .each = e };
    for (size_t i = 0; i < e->workers && st == ASX_OK; i++)
        st = asx_region_alloc(&e->region, e->item_size, &e->worker[i].item);
    if (st == ASX_OK && e->workers > 1)
        st = asx_mutex_create(&e->region, NULL, &e->turn);
    if (st == ASX_OK)
        st = asx_defer(&e->region, add_up, e);
    for (size_t i = 0; i < e->workers && st == ASX_OK; i++)
        st = start(&e->region, "for-each", each_task, &e->worker[i], 1, flow);
    return st;
}

/* The size of its messages; the record of a channel outlives every handle. */
static bool size_fits(const asx_channel_receiver *receiver, size_t item_size)
{
    const asx__channel *ch = receiver->channel_ != NULL ? receiver->channel_ : receiver->shared_;
    return ch != NULL && ch->element_size == item_size;
}

static asx_status each_message(asx_cx *cx, each *e, const asx_flow_options *flow)
{
    asx_channel_info info;
    asx_status st = asx_channel_receiver_info(e->rx, &info);
    if (st < 0)
        return st;
    if (!size_fits(e->rx, e->item_size))
        return ASX_E_INVALID_ARGUMENT;
    st = open_scope(cx, "for-each", flow, &e->region);
    if (st < 0)
        return st;
    return finish(cx, &e->region, start_each(e, flow));
}

asx_status asx_for_each(asx_cx *cx, const asx_channel_receiver *receiver, size_t item_size,
                        asx_each_fn fn, void *arg, const asx_each_options *options,
                        asx_each_stats *ret_stats)
{
    asx__task *task;
    asx_each_stats stats = { 0, 0 };
    asx_status failure = ASX_OK;
    each e = { .rx = receiver, .item_size = item_size, .fn = fn, .arg = arg, .workers = 1,
               .ret_stats = &stats, .ret_failure = &failure };
    if (options != NULL) {
        e.keep_going = options->keep_going;
        e.workers = options->workers != 0 ? options->workers : 1;
    }
    asx_status st = asx__flow_enter(cx, ASX__FLOW_STREAM_CAPS, NULL, 0, &task);
    if (st == ASX_OK && (receiver == NULL || fn == NULL || item_size == 0))
        st = ASX_E_INVALID_ARGUMENT;
    if (st == ASX_OK)
        st = each_message(cx, &e, options != NULL ? &options->flow : NULL);
    if (ret_stats != NULL)
        *ret_stats = stats;
    return st == ASX_OK ? failure : st;
}
