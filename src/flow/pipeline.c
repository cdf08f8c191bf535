/* pipeline.c - a source and stages, each stage with workers of its own and a bounded queue before
 * it.
 *
 * Between two stages is a channel of many. Every worker has a sender of its own of the channel
 * behind it, and drops it when its input is closed; so a queue is closed when the last worker
 * before it has ended, and the end passes through the pipeline behind the last item.
 *
 * Order. Items have numbers, given by the source. A stage of n workers holds n items at most, and
 * gets them in order; so those in hand are numbers k .. k + n - 1, and item i may be passed on when
 * item i - 1 has been. Turn i mod n is a notify, which stores one notification:
 *
 *     wait(turn[i mod n]); send(item i); notify(turn[(i + 1) mod n])
 *
 * The last stage passes nothing on and takes no turns.
 *
 * Rejected: a task that puts the outputs of a stage in order (it would have to keep as many as the
 * slowest item lets pass; so workers wait, and that is bounded); counters that workers share (each
 * counts for itself, and the caller adds them up when they have ended).
 */
#include "flow/flow.h"

#include <asx/mpmc.h>
#include <asx/stream.h>
#include <asx/sync.h>

/* In front of each item; as long as the strictest alignment. */
typedef struct header {
    uint64_t number;
    uint64_t unused;
} header;

typedef struct line line;

typedef struct stage_worker {
    line *line;
    size_t place; /* of its stage, from 1; 0: the source */
    asx_mpmc_sender tx;
    header *in, *out;
    asx_stage_stats stats;
} stage_worker;

typedef struct queue {
    asx_mpmc_sender tx; /* the first producer's */
    asx_mpmc_receiver rx;
} queue;

struct line {
    const asx_source *source;
    const asx_stage *stages;
    size_t count;
    bool ordered;
    asx_region region;
    queue *queues;      /* [i]: in front of stage i + 1 */
    asx_notify **turns; /* [i]: of stage i + 1, or NULL */
    stage_worker **workers; /* [i]: of stage i; one of the source */
    asx_stage_stats *ret_stats;
};

static uint32_t workers_of(const line *l, size_t place)
{
    return place == 0 || l->stages[place - 1].workers == 0 ? 1 : l->stages[place - 1].workers;
}

static size_t output_size(const line *l, size_t place)
{
    return place == 0 ? l->source->item_size : l->stages[place - 1].output_size;
}

static bool takes_turns(const line *l, size_t place)
{
    return l->ordered && place != 0 && place != l->count && workers_of(l, place) > 1;
}

/* ---- workers -------------------------------------------------------------------------------- */

static asx_status pass_on(asx_cx *cx, stage_worker *w)
{
    line *l = w->line;
    bool turns = takes_turns(l, w->place);
    asx_notify *turn = turns ? l->turns[w->place - 1] : NULL;
    uint32_t n = workers_of(l, w->place);
    asx_time before = asx_now(cx);
    asx_status st = turns ? asx_notify_wait(cx, &turn[w->out->number % n]) : ASX_OK;
    if (st == ASX_OK && w->place != l->count)
        st = asx_mpmc_send(cx, &w->tx, w->out);
    if (st == ASX_OK && turns)
        st = asx_notify_one(&turn[(w->out->number + 1) % n]);
    w->stats.blocked_ns += asx_now(cx) - before;
    return st;
}

static asx_status run_source(asx_cx *cx, void *arg)
{
    stage_worker *w = arg;
    const asx_source *source = w->line->source;
    for (w->out->number = 0;; w->out->number++) {
        asx_time before = asx_now(cx);
        asx_status st = source->fn(cx, source->arg, w->out + 1);
        w->stats.busy_ns += asx_now(cx) - before;
        if (st == ASX_E_CLOSED)
            return asx_mpmc_sender_drop(&w->tx);
        if (st == ASX_OK)
            st = pass_on(cx, w);
        if (st < 0)
            return asx__flow_worker_ends(&w->line->region, st);
        w->stats.items++;
    }
}

static asx_status take(asx_cx *cx, stage_worker *w)
{
    const asx_mpmc_receiver *rx = &w->line->queues[w->place - 1].rx;
    asx_mpmc_info info;
    asx_time before = asx_now(cx);
    asx_status st = asx_mpmc_recv(cx, rx, w->in);
    w->stats.starved_ns += asx_now(cx) - before;
    if (st == ASX_OK && asx_mpmc_receiver_info(rx, &info) == ASX_OK &&
        info.queued + 1 > w->stats.queue_most)
        w->stats.queue_most = info.queued + 1;
    return st;
}

static asx_status run_stage(asx_cx *cx, void *arg)
{
    stage_worker *w = arg;
    const asx_stage *stage = &w->line->stages[w->place - 1];
    for (;;) {
        asx_status st = take(cx, w);
        if (st == ASX_E_CLOSED)
            return w->place == w->line->count ? ASX_OK : asx_mpmc_sender_drop(&w->tx);
        if (st < 0)
            return asx__flow_worker_ends(&w->line->region, st);
        asx_time before = asx_now(cx);
        w->out->number = w->in->number;
        st = stage->fn(cx, stage->arg, w->in + 1, w->out + 1);
        w->stats.busy_ns += asx_now(cx) - before;
        if (st == ASX_OK)
            st = pass_on(cx, w);
        if (st < 0)
            return asx__flow_worker_ends(&w->line->region, st);
        w->stats.items++;
    }
}

/* ---- set-up --------------------------------------------------------------------------------- */

static asx_status make_queue(line *l, size_t i)
{
    size_t size;
    uint32_t room = l->stages[i].queue_max != 0 ? l->stages[i].queue_max : workers_of(l, i + 1);
    if (__builtin_add_overflow(sizeof(header), output_size(l, i), &size))
        return ASX_E_RESOURCE_EXHAUSTED;
    asx_mpmc_options options = { .name = l->stages[i].name };
    return asx_mpmc_create(&l->region, size, room, &options, &l->queues[i].tx, &l->queues[i].rx);
}

static asx_status make_turns(line *l, size_t i)
{
    void *memory;
    uint32_t n = workers_of(l, i + 1);
    l->turns[i] = NULL;
    if (!takes_turns(l, i + 1))
        return ASX_OK;
    asx_status st = asx__flow_array(&l->region, n, sizeof(asx_notify), &memory);
    if (st < 0)
        return st;
    l->turns[i] = memory;
    for (uint32_t k = 0; k < n && st == ASX_OK; k++)
        st = asx_notify_create(&l->region, NULL, &l->turns[i][k]);
    return st == ASX_OK ? asx_notify_one(&l->turns[i][0]) : st;
}

static asx_status alloc_item(line *l, size_t size, header **ret_item)
{
    void *memory;
    if (__builtin_add_overflow(size, sizeof(header), &size))
        return ASX_E_RESOURCE_EXHAUSTED;
    asx_status st = asx_region_alloc(&l->region, size, &memory);
    if (st == ASX_OK)
        *ret_item = memory;
    return st;
}

/* Its own sender of the queue behind it; the first has the one that was made with the queue. */
static asx_status make_worker(line *l, size_t place, uint32_t k)
{
    stage_worker *w = &l->workers[place][k];
    *w = (stage_worker){ .line = l, .place = place };
    asx_status st = alloc_item(l, output_size(l, place), &w->out);
    if (st == ASX_OK && place != 0)
        st = alloc_item(l, output_size(l, place - 1), &w->in);
    if (st < 0 || place == l->count)
        return st;
    w->tx = l->queues[place].tx;
    return k == 0 ? ASX_OK : asx_mpmc_sender_clone(&l->queues[place].tx, &w->tx);
}

static asx_status set_up(line *l)
{
    void *memory;
    asx_status st = asx__flow_array(&l->region, l->count, sizeof *l->queues, &memory);
    if (st < 0)
        return st;
    l->queues = memory;
    st = asx__flow_array(&l->region, l->count, sizeof *l->turns, &memory);
    if (st < 0)
        return st;
    l->turns = memory;
    st = asx__flow_array(&l->region, l->count + 1, sizeof *l->workers, &memory);
    if (st < 0)
        return st;
    l->workers = memory;
    for (size_t i = 0; i <= l->count; i++)
        l->workers[i] = NULL;
    for (size_t i = 0; i < l->count && st == ASX_OK; i++) {
        st = make_queue(l, i);
        if (st == ASX_OK)
            st = make_turns(l, i);
    }
    for (size_t place = 0; place <= l->count && st == ASX_OK; place++) {
        uint32_t n = workers_of(l, place);
        st = asx__flow_array(&l->region, n, sizeof(stage_worker), &memory);
        if (st < 0)
            return st;
        l->workers[place] = memory;
        for (uint32_t k = 0; k < n; k++)
            l->workers[place][k].stats = (asx_stage_stats){ 0 };
        for (uint32_t k = 0; k < n && st == ASX_OK; k++)
            st = make_worker(l, place, k);
    }
    return st;
}

static asx_status start(line *l, const asx_flow_options *options)
{
    asx_status st = ASX_OK;
    for (size_t place = 0; place <= l->count && st == ASX_OK; place++) {
        const char *name = place == 0 ? l->source->name : l->stages[place - 1].name;
        for (uint32_t k = 0; k < workers_of(l, place) && st == ASX_OK; k++) {
            asx_branch branch = { name, place == 0 ? run_source : run_stage,
                                  &l->workers[place][k] };
            st = asx__flow_spawn(&l->region, &branch, options, NULL);
        }
    }
    return st;
}

/* ---- the call ------------------------------------------------------------------------------- */

/* A finalizer: the workers have ended, and their memory is still there. */
static asx_status add_up(asx_cx *cx, void *arg)
{
    line *l = arg;
    (void)cx;
    for (size_t place = 0; place <= l->count && l->workers[place] != NULL; place++) {
        for (uint32_t k = 0; k < workers_of(l, place); k++) {
            const asx_stage_stats *of = &l->workers[place][k].stats;
            asx_stage_stats *sum = &l->ret_stats[place];
            sum->items += of->items;
            sum->queue_most = of->queue_most > sum->queue_most ? of->queue_most : sum->queue_most;
            sum->starved_ns += of->starved_ns;
            sum->busy_ns += of->busy_ns;
            sum->blocked_ns += of->blocked_ns;
        }
    }
    return ASX_OK;
}

static bool is_sound(const line *l)
{
    if (l->source == NULL || l->source->fn == NULL || l->source->item_size == 0 ||
        l->stages == NULL || l->count == 0)
        return false;
    for (size_t i = 0; i < l->count; i++)
        if (l->stages[i].fn == NULL || (l->stages[i].output_size == 0 && i + 1 < l->count))
            return false;
    return true;
}

static asx_status run(asx_cx *cx, line *l, const asx_flow_options *options)
{
    asx_region_options scope = {
        .name = options != NULL && options->name != NULL ? options->name : "pipeline",
        .timeout_ns = options != NULL ? options->timeout_ns : 0,
        .caps = asx_cx_caps(cx),
    };
    asx_status st = asx_region_open(cx, &scope, &l->region);
    if (st < 0)
        return st;
    asx__flow_close_is_heard(&l->region, true);
    asx_status setup = set_up(l);
    if (setup == ASX_OK && l->ret_stats != NULL)
        setup = asx_defer(&l->region, add_up, l);
    if (setup == ASX_OK)
        setup = start(l, options);
    st = asx_region_close(&l->region, setup);
    return setup < 0 && !asx__flow_too_late(setup) ? setup : asx__flow_tell(cx, st);
}

asx_status asx_pipeline(asx_cx *cx, const asx_source *source, const asx_stage *stages,
                        size_t count, const asx_pipeline_options *options,
                        asx_stage_stats *ret_stats)
{
    asx__task *task;
    line l = { .source = source, .stages = stages, .count = count, .ret_stats = ret_stats,
               .ordered = options == NULL || !options->unordered };
    asx_status st = asx__flow_enter(cx, ASX__FLOW_STREAM_CAPS, NULL, 0, &task);
    if (st == ASX_OK && !is_sound(&l))
        st = ASX_E_INVALID_ARGUMENT;
    for (size_t i = 0; ret_stats != NULL && is_sound(&l) && i <= count; i++)
        ret_stats[i] = (asx_stage_stats){ 0 };
    return st == ASX_OK ? run(cx, &l, options != NULL ? &options->flow : NULL) : st;
}
