/* stream.h - many items through few tasks: pipeline, map-reduce, for-each.
 *
 * What is done with an item is an ordinary function, which may wait. How many tasks run it, and how
 * many items may lie in front of it, is said once; nothing grows without bound. Each call runs its
 * tasks in a region of its own, and returns when all of them have ended. The first failure cancels
 * the rest and is what the call returns; a cancel of the caller passes into the tasks.
 *
 * Common statuses:
 *   ASX_E_INVALID_ARGUMENT  NULL where there is work to do
 *   ASX_E_NOT_SUPPORTED     in a poll task: these are for fibers
 *   ASX_E_RESOURCE_EXHAUSTED, ASX_E_TIMEOUT, ASX_E_PANICKED, ASX_E_CANCELLED
 * and of calls that take a context: ASX_E_WRONG_CONTEXT, ASX_E_CAPABILITY (SPAWN, CHANNEL
 * and CANCEL).
 */
#ifndef ASX_STREAM_H
#define ASX_STREAM_H

#include <asx/flow.h>

ASX_BEGIN_DECLS

/* ---- pipeline ------------------------------------------------------------------------------- */

/* Writes the next item. ASX_E_CLOSED: there is none any more; any other failure ends the pipeline.
 * */
typedef asx_status (*asx_source_fn)(asx_cx *cx, void *arg, void *ret_item);
/* Makes an output of an input. Both are the pipeline's, aligned for any type, and valid during the
 * call. A failure ends the pipeline. */
typedef asx_status (*asx_stage_fn)(asx_cx *cx, void *arg, const void *input, void *ret_output);

typedef struct asx_source {
    const char *name;
    asx_source_fn fn;
    void *arg;
    size_t item_size; /* at least 1 */
} asx_source;

typedef struct asx_stage {
    const char *name;
    asx_stage_fn fn;
    void *arg;
    size_t output_size; /* at least 1; of the last stage 0: it has no output */
    uint32_t workers;   /* tasks that run it at once; 0: one */
    uint32_t queue_max; /* items in front of it; 0: as many as it has workers */
} asx_stage;

typedef struct asx_pipeline_options {
    asx_flow_options flow;
    bool unordered; /* a stage of several workers passes on what is done first; else every stage
                       gets its items in the order of the source */
} asx_pipeline_options;

/* Of the source or a stage: where the time of its workers went. A stage that limits the others is
 * busy; those before it are blocked, those behind it starved. */
typedef struct asx_stage_stats {
    uint64_t items;      /* made, or done */
    uint64_t queue_most; /* items seen in front of it at once; at most queue_max and one in hand */
    uint64_t starved_ns; /* waited for input; together of all workers, as the next two */
    uint64_t busy_ns;    /* in the function */
    uint64_t blocked_ns; /* waited for their turn, and for room in front of the next stage */
} asx_stage_stats;

/* Runs until the source has no more items and the last stage is done with all of them. `stages` has
 * `count` places, at least 1; `ret_stats` (may be NULL) one more, the first for the source, written
 * also when the pipeline fails. */
ASX_API asx_status asx_pipeline(asx_cx *cx, const asx_source *source, const asx_stage *stages,
                                size_t count, const asx_pipeline_options *options,
                                asx_stage_stats *ret_stats);

/* ---- map-reduce ----------------------------------------------------------------------------- */

typedef asx_status (*asx_map_fn)(asx_cx *cx, void *arg, const void *item, void *ret_value);

/* Values that can be combined: combine(combine(a, b), c) is combine(a, combine(b, c)), and
 * combining with the identity changes nothing. It need not commute: values are combined in the
 * order of the items. */
typedef struct asx_monoid {
    size_t size;          /* of a value, at least 1 */
    const void *identity;
    void (*combine)(void *arg, void *into, const void *value);
    void *arg;
} asx_monoid;

/* Zero in any field means its default. */
typedef struct asx_map_options {
    asx_flow_options flow;
    uint32_t workers; /* tasks at once; default 4, never more than there are chunks */
    size_t chunk;     /* items that a worker takes at a time; default: each takes some four times */
} asx_map_options;

/* *ret_value is the identity combined with map(item) of every item, in their order. `items` lie one
 * behind the other. When it fails *ret_value is the identity. */
ASX_API asx_status asx_map_reduce(asx_cx *cx, const void *items, size_t count, size_t item_size,
                                  asx_map_fn map, void *arg, const asx_monoid *monoid,
                                  const asx_map_options *options, void *ret_value);

/* ---- for-each ------------------------------------------------------------------------------- */

typedef asx_status (*asx_each_fn)(asx_cx *cx, void *arg, const void *item);

/* Zero in any field means its default. */
typedef struct asx_each_options {
    asx_flow_options flow;
    uint32_t workers; /* default 1 */
    bool keep_going;  /* an item whose function failed is done with, and counted; else it goes back
                         to the front of the channel, and for-each ends with the failure */
} asx_each_options;

typedef struct asx_each_stats {
    uint64_t done, failed;
} asx_each_stats;

/* Calls the function for every message of the channel, by `workers` tasks, until the last sender is
 * gone and nothing is left. A message keeps its slot until its function has returned, so none is
 * lost: one whose function failed, or whose task was cancelled or panicked, is in the channel
 * again. ASX_E_INVALID_ARGUMENT also when `item_size` is not the channel's. ASX_E_BUSY: another
 * task receives. With `keep_going` the first failure is returned in the end. */
ASX_API asx_status asx_for_each(asx_cx *cx, const asx_channel_receiver *receiver, size_t item_size,
                                asx_each_fn fn, void *arg, const asx_each_options *options,
                                asx_each_stats *ret_stats);

ASX_END_DECLS

#endif
