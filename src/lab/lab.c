/* lab.c - lab runs and replays: an ordinary runtime with lab settings, driven to its end.
 *
 * What makes a run a lab run is in the runtime: virtual clock, tie-breaks by seed, a journal. This
 * puts the settings together, runs, and collects what there is to know. A replay is the same run
 * with the recorded trace to compare with; the first event that differs stops it.
 *
 * Status of a result, the first that holds: what the run returned; ASX_E_OBLIGATION_LEAKED when
 * something leaked in a region that does not allow it; ASX_OK.
 */
#include <asx/lab.h>

#include <string.h>

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

static void count_event(void *ctx, const asx_event *event)
{
    *(uint64_t *)ctx = event->seq;
}

static asx_status run(const asx_lab_options *options, const asx_runtime_config *config,
                      asx_trace_reader *recorded, asx_task_fn fn, void *arg,
                      asx_lab_result *ret_result)
{
    asx_lab_result result;
    asx_runtime *rt = NULL;
    memset(&result, 0, sizeof(result));
    asx_status st = asx_runtime_create(config, &rt);
    if (st < 0)
        return st;
    st = asx_runtime_observe(rt, count_event, &result.events);
    if (st >= 0 && recorded != NULL)
        st = asx_runtime_expect(rt, recorded);
    if (st >= 0) {
        result.status = asx_runtime_run(rt, fn, arg);
        st = collect(rt, &result);
    }
    if (st >= 0 && options->sink != NULL)
        st = asx_runtime_trace_write(rt, options->sink, options->sink_ctx);
    (void)asx_runtime_observe(rt, NULL, NULL);
    asx_status end = asx_runtime_destroy(rt);
    if (st >= 0)
        st = end;
    if (st >= 0)
        *ret_result = result;
    return st;
}

asx_status asx_lab_run(const asx_lab_options *options, asx_task_fn fn, void *arg,
                       asx_lab_result *ret_result)
{
    asx_runtime_config config;
    if (options == NULL || fn == NULL || ret_result == NULL)
        return ASX_E_INVALID_ARGUMENT;
    settings(options, &config);
    return run(options, &config, NULL, fn, arg, ret_result);
}

asx_status asx_lab_replay(const asx_lab_options *options, const void *trace, size_t trace_len,
                          asx_task_fn fn, void *arg, asx_lab_result *ret_result)
{
    asx_runtime_config config;
    asx_trace_reader reader;
    if (options == NULL || trace == NULL || fn == NULL || ret_result == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx_trace_reader_init(&reader, trace, trace_len);
    if (st < 0)
        return st;
    settings(options, &config);
    config.seed = reader.seed;
    return run(options, &config, &reader, fn, arg, ret_result);
}
