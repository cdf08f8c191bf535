/* scn_config.c - `config` lines: the runtime that a scenario runs on. */
#include "cli/scn_read.h"

#include <string.h>

enum {
    C_PROFILE = 1, C_CLOCK, C_SEED, C_TRACE, C_TRACE_MAX, C_OVERFLOW, C_CANCEL_STREAK,
    C_TIMED_STREAK, C_JOIN_INLINE, C_COALESCE_WINDOW, C_COALESCE_GROUP, C_MAX_WHEEL, C_MAX_TIMER,
    C_FIRST_GENERATION, C_FIRST_ID, C_STACK, C_MEMORY, C_GOVERNOR, C_STEP, C_TASKS, C_REGIONS,
    C_READY, C_CANCEL, C_TIMERS, C_OBLIGATIONS, C_CHANNELS, C_STACKS, C_MEMORY_MAX
};

static const scn_field_form config_forms[] = {
    { "profile", C_PROFILE, V_WORD, W_PROFILE },
    { "clock", C_CLOCK, V_WORD, W_CLOCK },
    { "seed", C_SEED, V_VALUE, 0 },
    { "trace", C_TRACE, V_YES_NO, 0 },
    { "trace-max", C_TRACE_MAX, V_VALUE, 0 },
    { "trace-overflow", C_OVERFLOW, V_WORD, W_OVERFLOW },
    { "cancel-streak", C_CANCEL_STREAK, V_VALUE, 0 },
    { "timed-streak", C_TIMED_STREAK, V_VALUE, 0 },
    { "join-inline", C_JOIN_INLINE, V_YES_NO, 0 },
    { "coalesce-window", C_COALESCE_WINDOW, V_VALUE, 0 },
    { "coalesce-group", C_COALESCE_GROUP, V_VALUE, 0 },
    { "max-wheel", C_MAX_WHEEL, V_VALUE, 0 },
    { "max-timer", C_MAX_TIMER, V_VALUE, 0 },
    { "first-generation", C_FIRST_GENERATION, V_VALUE, 0 },
    { "first-id", C_FIRST_ID, V_VALUE, 0 },
    { "stack", C_STACK, V_VALUE, 0 },
    { "memory", C_MEMORY, V_VALUE, 0 },
    { "governor", C_GOVERNOR, V_WORD, W_GOVERNOR },
    { "step", C_STEP, V_VALUE, 0 },
    { "tasks-max", C_TASKS, V_VALUE, 0 },
    { "regions-max", C_REGIONS, V_VALUE, 0 },
    { "ready-max", C_READY, V_VALUE, 0 },
    { "cancel-max", C_CANCEL, V_VALUE, 0 },
    { "timers-max", C_TIMERS, V_VALUE, 0 },
    { "obligations-max", C_OBLIGATIONS, V_VALUE, 0 },
    { "channels-max", C_CHANNELS, V_VALUE, 0 },
    { "stacks-max", C_STACKS, V_VALUE, 0 },
    { "memory-max", C_MEMORY_MAX, V_VALUE, 0 },
    { 0 },
};

#define SCN_MEMORY_MAX ((uint64_t)256 << 20)

static bool set_limit(scn_reader *r, asx_limits *limits, const scn_field *field)
{
    uint64_t n = field->value.number;
    if (field->key == C_MEMORY_MAX) {
        limits->memory_max = n;
        return true;
    }
    if (n > UINT32_MAX)
        return scn_bad(r, "the limit is too large");
    switch (field->key) {
    case C_TASKS: limits->tasks_max = (uint32_t)n; break;
    case C_REGIONS: limits->regions_max = (uint32_t)n; break;
    case C_READY: limits->ready_max = (uint32_t)n; break;
    case C_CANCEL: limits->cancel_max = (uint32_t)n; break;
    case C_TIMERS: limits->timers_max = (uint32_t)n; break;
    case C_OBLIGATIONS: limits->obligations_max = (uint32_t)n; break;
    case C_CHANNELS: limits->channels_max = (uint32_t)n; break;
    default: limits->stacks_max = (uint32_t)n; break;
    }
    return true;
}

static bool set_rest(scn_reader *r, scn_config *c, const scn_field *field)
{
    uint64_t n = field->value.number;
    asx_runtime_config *rc = &c->runtime;
    switch (field->key) {
    case C_COALESCE_WINDOW: rc->timers.coalesce_window_ns = n; return true;
    case C_MAX_WHEEL: rc->timers.max_wheel_duration_ns = n; return true;
    case C_MAX_TIMER: rc->timers.max_timer_duration_ns = n; return true;
    case C_FIRST_GENERATION: rc->timers.first_generation = n; return true;
    case C_FIRST_ID: rc->timers.first_id = n; return true;
    case C_STEP: c->step = n; return true;
    case C_GOVERNOR: c->governor = (asx_governor)n; return true;
    case C_STACK:
    case C_MEMORY:
        if (n > SCN_MEMORY_MAX)
            return scn_bad(r, "too much memory");
        if (field->key == C_STACK)
            rc->stack_size = (size_t)n;
        else
            c->memory_size = n;
        return true;
    case C_CANCEL_STREAK:
    case C_TIMED_STREAK:
    case C_COALESCE_GROUP:
        if (n > UINT32_MAX)
            return scn_bad(r, "the number is too large");
        *(field->key == C_CANCEL_STREAK  ? &rc->cancel_streak_max
          : field->key == C_TIMED_STREAK ? &rc->timed_streak_max
                                         : &rc->timers.coalesce_min_group) = (uint32_t)n;
        return true;
    default:
        return set_limit(r, &rc->limits, field);
    }
}

static bool set_config(scn_reader *r, scn *s, const scn_field *field)
{
    uint64_t n = field->value.number;
    asx_runtime_config *rc = &s->config.runtime;
    if (field->value.source != SCN_NUMBER || field->value.compare != SCN_EQ)
        return scn_bad(r, "a plain number is expected");
    switch (field->key) {
    case C_PROFILE: rc->profile = (asx_profile)n; return true;
    case C_CLOCK:
        rc->clock = (asx_clock_kind)n;
        s->config.has_clock = true;
        return true;
    case C_SEED:
        s->seeds[0] = n;
        s->seed_count = 1;
        return true;
    case C_TRACE: rc->trace = n != 0; return true;
    case C_TRACE_MAX: rc->trace_events_max = n; return true;
    case C_OVERFLOW: rc->trace_overflow = (asx_trace_overflow)n; return true;
    case C_JOIN_INLINE: rc->join_in_order = n == 0; return true;
    default: return set_rest(r, &s->config, field);
    }
}

/* Also used for `open`: see scn_exec.c. The `in` of a root makes no sense. */
static bool read_root(scn_reader *r)
{
    scn *s = r->s;
    uint32_t first, count;
    if (!scn_take_fields(r, scn_fields_region, &first, &count) || !scn_line_end(r))
        return false;
    asx_region_options *o = &s->config.runtime.root;
    asx_budget *b = &s->config.root_budget;
    if (!s->config.has_root_budget)
        *b = (asx_budget)ASX_BUDGET_INFINITE;
    for (uint32_t i = first; i < first + count; i++) {
        const scn_field *field = &s->fields[i];
        if (field->key == F_IN)
            return scn_bad(r, "the root is in no region");
        if (!scn_region_field(field, field->value.number, o, b, &s->config.has_root_budget))
            return scn_bad(r, "the number is too large");
    }
    return true;
}

/* False: a number does not fit. */
bool scn_region_field(const scn_field *field, uint64_t n, asx_region_options *options,
                      asx_budget *budget, bool *has_budget)
{
    switch (field->key) {
    case F_TIMEOUT: options->timeout_ns = n; return true;
    case F_POLICY: options->policy = (asx_policy)n; return true;
    case F_CLEANUP: options->cleanup = (asx_cleanup_mode)n; return true;
    case F_CLEANUP_TIME: options->cleanup_time_ns = n; return true;
    case F_LEAK: options->leak = (asx_leak_policy)n; return true;
    case F_ADMISSION: options->admission = (asx_admission)n; return true;
    case F_TASKS_MAX: options->tasks_max = (uint32_t)n; return n <= UINT32_MAX;
    case F_REGIONS_MAX: options->regions_max = (uint32_t)n; return n <= UINT32_MAX;
    case F_OBLIGATIONS_MAX: options->obligations_max = (uint32_t)n; return n <= UINT32_MAX;
    case F_MEMORY_MAX: options->memory_max = n; return true;
    case F_CAPS: options->caps = (uint32_t)n; return true;
    case F_LEAKS_ALLOWED: options->leaks_allowed = true; return true;
    default: break;
    }
    *has_budget = true;
    return scn_budget_field(field, n, budget);
}

bool scn_budget_field(const scn_field *field, uint64_t n, asx_budget *budget)
{
    switch (field->key) {
    case F_POLLS:
        budget->poll_quota = (uint32_t)n;
        return n <= UINT32_MAX;
    case F_COST:
        budget->cost_quota = n;
        return true;
    case F_DEADLINE:
        budget->deadline = n;
        return true;
    case F_PRIORITY:
        budget->priority = (uint8_t)n;
        return n <= UINT8_MAX;
    default:
        return true;
    }
}

bool scn_read_config(scn_reader *r)
{
    uint32_t first, count;
    if (scn_take_word(r, "root"))
        return read_root(r);
    if (!scn_take_fields(r, config_forms, &first, &count) || !scn_line_end(r))
        return false;
    if (count == 0)
        return scn_bad(r, "'config' of what?");
    for (uint32_t i = first; i < first + count; i++) {
        if (!set_config(r, r->s, &r->s->fields[i]))
            return false;
    }
    return true;
}
