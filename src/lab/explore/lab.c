/* lab.c - lab runs and replays: an ordinary runtime with lab settings, driven to its end.
 *
 * What makes a run a lab run is in the runtime: virtual clock, tie-breaks by seed, a journal. This
 * puts the settings together, runs, and collects what there is to know. A replay is the same run
 * with the recorded trace to compare with; the first event that differs stops it.
 *
 * Status of a result, the first that holds: what the run returned; ASX_E_OBLIGATION_LEAKED when
 * something leaked in a region that does not allow it; ASX_E_ORACLE when an oracle complained;
 * ASX_OK.
 */
#include <asx/lab.h>

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "lab/explore/explore.h"
#include "lab/oracle/oracle.h"

static void settings(const asx_lab_options *options, asx_runtime_config *ret_config)
{
    static const asx_runtime_config server;
    *ret_config = options->base != NULL ? *options->base : server;
    ret_config->lab = true;
    ret_config->clock = ASX_CLOCK_VIRTUAL;
    ret_config->trace = true;
    ret_config->seed = options->seed;
    ret_config->program = options->program;
    ret_config->program_len = options->program_len;
}

static asx_status collect(asx_runtime *rt, asx_lab_result *result)
{
    asx_stats stats;
    asx_status st = asx_runtime_certificate(rt, &result->certificate);
    if (st >= 0)
        st = asx_runtime_stats(rt, &stats);
    if (st >= 0)
        st = asx_runtime_divergence(rt, &result->divergence);
    if (st < 0)
        return st;
    result->digest = asx_runtime_digest(rt);
    result->leaks = stats.obligations_leaked;
    return ASX_OK;
}

/* ---- listening ------------------------------------------------------------------------------ */

typedef struct lab {
    asx_runtime *rt;
    asx__oracles oracles;
    uint64_t events;
} lab;

/* A run that gets nowhere would never end by itself. */
static void observe(void *ctx, const asx_event *event)
{
    lab *l = ctx;
    l->events = event->seq;
    asx__oracles_hear(&l->oracles, event);
    if (l->oracles.complaint.oracle == ASX_ORACLE_LIVELOCK)
        asx__trace_stop(&l->rt->trace);
}

asx__oracles *asx__oracles_of(const asx_runtime *rt)
{
    if (rt->trace.observe == observe)
        return &((lab *)rt->trace.observe_ctx)->oracles;
    asx__explorer *x = asx__explorer_of(rt);
    return x != NULL && !x->clearing ? &x->oracles : NULL;
}

void asx__explorer_found(const asx_runtime *rt, uint32_t created, uint64_t serial)
{
    asx__oracles *o = asx__oracles_of(rt);
    if (o != NULL && o->races_on && rt->current != NULL)
        asx__races_learn(o, asx__serial(rt->current->generation), created, serial);
}

static void judge(lab *l, asx_lab_result *result)
{
    bool livelock = l->oracles.complaint.oracle == ASX_ORACLE_LIVELOCK;
    if (livelock)
        result->divergence.diverged = false;
    else if (result->divergence.diverged)
        asx__oracles_complain(&l->oracles, ASX_ORACLE_DETERMINISM,
                              "the run and the recorded trace differ at event %llu",
                              (unsigned long long)(result->divergence.recorded.seq != 0
                                                       ? result->divergence.recorded.seq
                                                       : result->divergence.actual.seq));
    /* Of a run that was cut off the rest says nothing. */
    bool complained = livelock || result->status == ASX_E_DIVERGED ||
                      asx__oracles_end(&l->oracles, result->status);
    if (complained && (livelock || result->status >= 0))
        result->status = ASX_E_ORACLE;
    result->complaint = l->oracles.complaint;
}

/* ---- running -------------------------------------------------------------------------------- */

static asx_status run(const asx_lab_options *options, const asx_runtime_config *config,
                      asx_trace_reader *recorded, asx_task_fn fn, void *arg,
                      asx_lab_result *ret_result)
{
    asx_lab_result result;
    lab l = { 0 };
    memset(&result, 0, sizeof(result));
    asx_status st = asx_runtime_create(config, &l.rt);
    if (st < 0)
        return st;
    asx__oracles_init(&l.oracles);
    l.oracles.coalesced = config->timers.coalesce_window_ns != 0;
    st = asx_runtime_observe(l.rt, observe, &l);
    l.rt->found = asx__explorer_found;
    if (st >= 0 && recorded != NULL)
        st = asx_runtime_replay(l.rt, recorded);
    if (st >= 0) {
        result.status = asx_runtime_run(l.rt, fn, arg);
        st = collect(l.rt, &result);
    }
    if (st >= 0) {
        result.events = l.events;
        judge(&l, &result);
    }
    if (st >= 0 && options->sink != NULL)
        st = asx_runtime_trace_write(l.rt, options->sink, options->sink_ctx);
    (void)asx_runtime_observe(l.rt, NULL, NULL);
    asx_status end = asx_runtime_destroy(l.rt);
    asx__oracles_deinit(&l.oracles);
    if (st >= 0)
        st = end;
    if (st >= 0)
        *ret_result = result;
    return st;
}

/* Once, and again compared with the first time. */
static asx_status run_twice(const asx_lab_options *options, const asx_runtime_config *config,
                            asx_task_fn fn, void *arg, asx_lab_result *ret_result)
{
    asx__bytes k = { 0 };
    asx_lab_options recording = *options, plain = *options;
    asx_lab_result first, again;
    asx_trace_reader reader;
    recording.sink = asx__bytes_keep;
    recording.sink_ctx = &k;
    plain.sink = NULL;
    asx_status st = run(&recording, config, NULL, fn, arg, &first);
    if (st >= 0)
        st = asx_trace_reader_init(&reader, k.at, k.len);
    if (st >= 0)
        st = run(&plain, config, &reader, fn, arg, &again);
    if (st >= 0 && options->sink != NULL)
        st = options->sink(options->sink_ctx, k.at, k.len);
    if (st >= 0)
        *ret_result = again.status == ASX_E_DIVERGED ? again : first;
    free(k.at);
    return st;
}

static const asx_lab_options defaults;

asx_status asx_lab_run(asx_task_fn fn, void *arg, const asx_lab_options *options,
                       asx_lab_result *ret_result)
{
    asx_runtime_config config;
    if (fn == NULL || ret_result == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (options == NULL)
        options = &defaults;
    settings(options, &config);
    if (options->twice)
        return run_twice(options, &config, fn, arg, ret_result);
    return run(options, &config, NULL, fn, arg, ret_result);
}

asx_status asx_lab_replay(asx_task_fn fn, void *arg, const void *trace, size_t trace_len,
                          const asx_lab_options *options, asx_lab_result *ret_result)
{
    asx_runtime_config config;
    asx_trace_reader reader;
    if (trace == NULL || fn == NULL || ret_result == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (options == NULL)
        options = &defaults;
    asx_status st = asx_trace_reader_init(&reader, trace, trace_len);
    if (st < 0)
        return st;
    settings(options, &config);
    config.seed = reader.seed;
    return run(options, &config, &reader, fn, arg, ret_result);
}
