/* scn_run.c - executes a scenario on a runtime of its own. */
#include "cli/scn_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a freestanding runtime gets when the scenario does not say. */
#define SCN_BLOCK_DEFAULT ((uint64_t)16 << 20)

static void observe(void *ctx, const asx_event *event)
{
    scn_log *log = ((scn_machine *)ctx)->log;
    (void)pthread_mutex_lock(&log->lock);
    if (log->event_count == log->event_cap) {
        size_t cap = log->event_cap == 0 ? 1024 : log->event_cap * 2;
        asx_event *larger =
            cap > SCN_EVENTS_MAX ? NULL : realloc(log->events, cap * sizeof(*larger));
        if (larger != NULL) {
            log->events = larger;
            log->event_cap = cap;
        }
        log->events_lost |= larger == NULL;
    }
    if (log->event_count < log->event_cap)
        log->events[log->event_count++] = *event;
    (void)pthread_mutex_unlock(&log->lock);
}

static asx_status main_body(asx_cx *cx, void *arg)
{
    scn_frame *f = arg;
    scn_machine *m = f->m;
    scn_thing *self = &m->things[SCN_MAIN];
    f->cx = cx;
    scn_begin(self, scn_self(f));
    scn_set_made(self, asx_cx_task(cx, &self->u.task) >= 0);
    return scn_frame_call(cx, f);
}

/* ---- the runtime ---- */

static asx_status make_runtime(scn_machine *m, void **ret_block)
{
    const scn_config *config = &m->s->config;
    const scn_run_options *o = m->options;
    asx_runtime_config rc = config->runtime;
    uint64_t block_size = config->memory_size;
    *ret_block = NULL;
    rc.lab = o->mode == SCN_LAB;
    rc.trace = rc.trace && o->mode != SCN_BARE;
    if (!config->has_clock)
        rc.clock = rc.lab ? ASX_CLOCK_VIRTUAL : ASX_CLOCK_REAL;
    rc.seed = o->seed != NULL ? *o->seed : m->s->seeds[0];
    if (o->profile != NULL)
        rc.profile = *o->profile;
    if (config->has_root_budget)
        rc.root.budget = &config->root_budget;
    rc.workers = o->workers;
    rc.program = o->program;
    rc.program_len = o->program_len;
    if (rc.profile == ASX_PROFILE_FREESTANDING && block_size == 0)
        block_size = SCN_BLOCK_DEFAULT;
    if (block_size > 0) {
        *ret_block = malloc((size_t)block_size);
        if (*ret_block == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        rc.memory = *ret_block;
        rc.memory_size = (size_t)block_size;
    }
    asx_status st = asx_runtime_create(&rc, &m->rt);
    if (st < 0)
        return st;
    if (rc.trace || rc.lab)
        st = asx_runtime_observe(m->rt, observe, m);
    if (st >= 0)
        st = asx_runtime_set_governor(m->rt, config->governor);
    if (st >= 0 && o->recorded != NULL)
        st = asx_runtime_replay(m->rt, o->recorded);
    return st;
}

/* As asx_runtime_run(), but one step after the other: also in the lab, where the host moves the
 * clock when nothing can run. */
static asx_status drive_in_steps(scn_machine *m, scn_frame *frame, uint64_t turns)
{
    asx_time next = 0;
    asx_status st = asx_runtime_start(m->rt, main_body, frame);
    if (st < 0)
        return st;
    for (;;) {
        st = asx_runtime_step(m->rt, turns, &next);
        if (st != ASX_E_WOULD_BLOCK)
            return st;
        asx_time now = asx_runtime_now(m->rt);
        if (next == ASX_TIME_NEVER)
            return ASX_E_DEADLOCK;
        if (next > now && (st = asx_runtime_advance(m->rt, next - now)) < 0 &&
            st != ASX_E_NOT_SUPPORTED)
            return st;
    }
}

static void release_things(scn_machine *m)
{
    for (uint32_t i = 0; m->things != NULL && i < m->s->object_count; i++) {
        scn_thing *thing = &m->things[i];
        if (!scn_is_made(thing))
            continue;
        if (m->s->objects[i].type == SCN_REPORT)
            asx_close_report_deinit(&thing->u.report);
        if (m->s->objects[i].type == SCN_WHEEL && thing->owned)
            asx_timer_wheel_destroy(thing->u.wheel);
        scn_set_made(thing, false);
    }
}

static void release_machine(scn_machine *m)
{
    scn_log *log = m->log;
    while (log->frames != NULL)
        scn_frame_drop(m, log->frames);
    for (uint32_t i = 0; log->sites != NULL && i < m->s->op_count; i++)
        free(log->sites[i]);
    (void)pthread_mutex_destroy(&log->lock);
    free(log->sites);
    free(log->events);
    free(m->things);
    free(m);
}

/* Diverged runs are compared by the caller, so the scenario's expectations do not count there. */
static void judge(scn_machine *m)
{
    scn_result *result = m->result;
    if (m->options->recorded != NULL) {
        if (asx_runtime_divergence(m->rt, &result->divergence) < 0)
            result->divergence.diverged = false;
        if (result->status == ASX_E_DIVERGED)
            scn_fail(m, m->s->line, "the run did something else than the recorded one");
    }
    if (!scn_failed(m) && !m->options->unchecked)
        scn_expect_all(m);
}

static asx_status run_machine(scn_machine *m)
{
    void *block = NULL;
    asx_status st = make_runtime(m, &block);
    if (st >= 0) {
        scn_frame *frame = scn_frame_new(m, 0, m->s->line);
        uint64_t step = m->options->step > 0 ? m->options->step : m->s->config.step;
        if (frame == NULL)
            st = ASX_E_RESOURCE_EXHAUSTED;
        else if (step > 0)
            m->result->status = drive_in_steps(m, frame, step);
        else
            m->result->status = asx_runtime_run(m->rt, main_body, frame);
    }
    if (st >= 0) {
        m->result->digest = asx_runtime_digest(m->rt);
        m->result->events =
            m->log->event_count == 0 ? 0 : m->log->events[m->log->event_count - 1].seq;
        judge(m);
        if (m->options->sink != NULL)
            st = asx_runtime_trace_write(m->rt, m->options->sink, m->options->sink_ctx);
    }
    release_things(m);
    if (m->rt != NULL)
        (void)asx_runtime_destroy(m->rt);
    free(block);
    return st;
}

asx_status scn_run(const scn *s, const scn_run_options *options, scn_result *ret_result)
{
    *ret_result = (scn_result){ .passed = true };
    scn_log log = { .failed = false };
    scn_machine *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    (void)pthread_mutex_init(&log.lock, NULL);
    m->log = &log;
    m->s = s;
    m->options = options;
    m->result = ret_result;
    m->things = calloc(s->object_count, sizeof(*m->things));
    log.sites = calloc((size_t)s->op_count + 1, sizeof(*log.sites));
    asx_status st = ASX_E_RESOURCE_EXHAUSTED;
    if (m->things != NULL && log.sites != NULL) {
        m->things[SCN_ROOT].serial = 1; /* serials start at 1, and the root is the first region */
        st = run_machine(m);
    }
    if (st < 0)
        ret_result->passed = false;
    release_machine(m);
    return st;
}

/* One of the ways of scn_run_all(); adds to a failure which one it was. */
static asx_status run_one(const scn *s, const scn_run_options *options, scn_result *ret_result)
{
    asx_status st = scn_run(s, options, ret_result);
    if (st >= 0 && !ret_result->passed) {
        size_t len = strlen(ret_result->why);
        (void)snprintf(ret_result->why + len, sizeof(ret_result->why) - len,
                       options->workers > 1 ? " [%s, %s, seed %llu, %u workers]"
                                            : " [%s, %s, seed %llu]",
                       options->vehicle == SCN_FIBER ? "fiber" : "poll",
                       options->mode == SCN_LAB    ? "lab"
                       : options->mode == SCN_LIVE ? "live"
                                                   : "bare",
                       (unsigned long long)*options->seed, options->workers);
    }
    return st;
}

static asx_status run_ways(const scn *s, uint32_t workers, scn_result *ret_result)
{
    static const unsigned modes[] = { SCN_LAB, SCN_LIVE, SCN_BARE };
    uint64_t digest = 0;
    bool first = true;
    for (unsigned way = 0; way < 6 * s->seed_count; way++) {
        scn_run_options options = {
            .mode = modes[way / (2 * s->seed_count)],
            .vehicle = way / s->seed_count % 2 == 0 ? SCN_FIBER : SCN_POLL,
            .seed = &s->seeds[way % s->seed_count],
            .workers = workers,
        };
        unsigned declared = options.mode == SCN_BARE ? SCN_LIVE : options.mode;
        if ((s->modes & declared) == 0 || (s->vehicles & options.vehicle) == 0 ||
            (workers > 1 && options.mode == SCN_LAB))
            continue;
        asx_status st = run_one(s, &options, ret_result);
        if (st < 0 || !ret_result->passed)
            return st;
        if (first)
            digest = ret_result->digest;
        first = false;
    }
    ret_result->digest = digest;
    return ASX_OK;
}

asx_status scn_run_all(const scn *s, scn_result *ret_result)
{
    return run_ways(s, 1, ret_result);
}

const char *scn_for_one_worker(const scn *s)
{
    if (s->one_worker != NULL)
        return s->one_worker;
    if ((s->modes & SCN_LIVE) == 0 || s->config.runtime.clock == ASX_CLOCK_VIRTUAL)
        return "in the laboratory, or with its clock";
    if (s->config.memory_size > 0 || s->config.runtime.profile == ASX_PROFILE_FREESTANDING)
        return "with a static block of memory";
    for (uint32_t i = 0; i < s->expect_count; i++) {
        if (s->expects[i].kind == SCN_EXPECT_DIGEST || s->expects[i].kind == SCN_EXPECT_REPLAY)
            return "about runs that are the same";
    }
    return NULL;
}

asx_status scn_run_workers(const scn *s, uint32_t workers, scn_result *ret_result)
{
    return run_ways(s, workers, ret_result);
}
