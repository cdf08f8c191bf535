/* scn_exec.c - the machine's helpers: things, fields, comparisons, frames. */
#include "cli/scn_exec.h"

#include "kernel/kernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scn_fail(scn_machine *m, uint32_t line, const char *format, ...)
{
    va_list args;
    (void)pthread_mutex_lock(&m->log->lock);
    if (!m->log->failed) {
        m->log->failed = true;
        m->result->passed = false;
        m->result->line = line;
        va_start(args, format);
        (void)vsnprintf(m->result->why, sizeof(m->result->why), format, args);
        va_end(args);
    }
    (void)pthread_mutex_unlock(&m->log->lock);
}

bool scn_failed(const scn_machine *m)
{
    (void)pthread_mutex_lock(&m->log->lock);
    bool failed = m->log->failed;
    (void)pthread_mutex_unlock(&m->log->lock);
    return failed;
}

/* ---- things ---- */

scn_thing *scn_slot_of(scn_machine *m, const scn_op *op, unsigned n)
{
    return &m->things[op->object[n]];
}

scn_thing *scn_thing_of(scn_machine *m, scn_frame *f, const scn_op *op, unsigned n)
{
    (void)f;
    const scn_object *object = &m->s->objects[op->object[n]];
    scn_thing *thing = &m->things[op->object[n]];
    if (scn_is_made(thing))
        return thing;
    if (op->expect != SCN_ANY)
        scn_fail(m, op->line, "the %s '%s' was not made yet", scn_type_name(object->type),
                 object->name);
    return NULL;
}

bool scn_region_of(scn_machine *m, scn_frame *f, const scn_op *op, unsigned n,
                   asx_region *ret_region)
{
    asx_status st = ASX_OK;
    if (op->object[n] == SCN_ROOT) {
        st = asx_runtime_root(m->rt, ret_region);
    } else if (op->object[n] == SCN_HERE) {
        st = asx_cx_region(f->cx, ret_region);
    } else {
        scn_thing *thing = scn_thing_of(m, f, op, n);
        if (thing == NULL)
            return false;
        *ret_region = thing->u.region;
    }
    if (st < 0)
        scn_fail(m, op->line, "this region cannot be named: %s", asx_status_str(st));
    return st >= 0;
}

bool scn_task_of(scn_machine *m, scn_frame *f, const scn_op *op, unsigned n, asx_task *ret_task)
{
    if (op->object[n] == SCN_SELF) {
        asx_status st = asx_cx_task(f->cx, ret_task);
        if (st < 0)
            scn_fail(m, op->line, "this task cannot be named: %s", asx_status_str(st));
        return st >= 0;
    }
    scn_thing *thing = scn_thing_of(m, f, op, n);
    if (thing == NULL)
        return false;
    *ret_task = thing->u.task;
    return true;
}

uint64_t scn_serial_of(scn_machine *m, uint32_t object)
{
    if (m->s->objects[object].type == SCN_NOTE)
        return m->s->objects[object].code;
    return m->things[object].serial;
}

/* ---- fields ---- */

const scn_field *scn_field_of(const scn_machine *m, const scn_op *op, scn_key key)
{
    for (uint32_t i = 0; i < op->field_count; i++) {
        if (m->s->fields[op->field_first + i].key == key)
            return &m->s->fields[op->field_first + i];
    }
    return NULL;
}

uint64_t scn_value_of(const scn_frame *f, const scn_value *value)
{
    switch ((scn_source)value->source) {
    case SCN_IT:
        return f->it;
    case SCN_NOW:
        return asx_now(f->cx);
    default:
        return value->number;
    }
}

uint64_t scn_field_number(const scn_machine *m, const scn_frame *f, const scn_op *op, scn_key key,
                          uint64_t otherwise)
{
    const scn_field *field = scn_field_of(m, op, key);
    return field == NULL ? otherwise : scn_value_of(f, &field->value);
}

bool scn_holds(scn_compare compare, uint64_t actual, uint64_t wanted)
{
    switch (compare) {
    case SCN_NE: return actual != wanted;
    case SCN_LT: return actual < wanted;
    case SCN_LE: return actual <= wanted;
    case SCN_GT: return actual > wanted;
    case SCN_GE: return actual >= wanted;
    default: return actual == wanted;
    }
}

const char *scn_sign(scn_compare compare)
{
    static const char *const signs[] = { [SCN_EQ] = "",  [SCN_NE] = "!=", [SCN_LT] = "<",
                                         [SCN_LE] = "<=", [SCN_GT] = ">",  [SCN_GE] = ">=" };
    return signs[compare];
}

static const char *field_name(const scn_op *op, scn_key key)
{
    for (const scn_field_form *form = scn_op_form_of(op->code)->fields; form->text != NULL;
         form++) {
        if (form->key == key)
            return form->text[0] == '=' ? "the result" : form->text;
    }
    return "the result";
}

void scn_check(scn_machine *m, const scn_frame *f, const scn_op *op, scn_key key, uint64_t actual)
{
    const scn_field *field = scn_field_of(m, op, key);
    if (field == NULL)
        return;
    uint64_t wanted = scn_value_of(f, &field->value);
    if (!scn_holds((scn_compare)field->value.compare, actual, wanted))
        scn_fail(m, op->line, "%s: %s is %llu, expected %s%llu", scn_op_form_of(op->code)->text,
                 field_name(op, key), (unsigned long long)actual,
                 scn_sign((scn_compare)field->value.compare), (unsigned long long)wanted);
}

void scn_check_word(scn_machine *m, const scn_op *op, scn_key key, scn_words words,
                    uint64_t actual)
{
    const scn_field *field = scn_field_of(m, op, key);
    if (field == NULL || field->value.number == actual)
        return;
    const char *got = scn_word_of(words, actual);
    const char *wanted = scn_word_of(words, field->value.number);
    scn_fail(m, op->line, "%s: %s is %s, expected %s", scn_op_form_of(op->code)->text,
             field_name(op, key), got == NULL ? "?" : got, wanted == NULL ? "?" : wanted);
}

void scn_check_status(scn_machine *m, const scn_op *op, scn_key key, asx_status actual)
{
    const scn_field *field = scn_field_of(m, op, key);
    if (field == NULL || (int64_t)field->value.number == (int64_t)actual)
        return;
    scn_fail(m, op->line, "%s: %s is %s, expected %s", scn_op_form_of(op->code)->text,
             field_name(op, key), asx_status_str(actual),
             asx_status_str((asx_status)(int64_t)field->value.number));
}

void scn_check_text(scn_machine *m, const scn_op *op, scn_key key, const char *actual)
{
    const scn_field *field = scn_field_of(m, op, key);
    if (field == NULL || strcmp(field->text, actual == NULL ? "" : actual) == 0)
        return;
    scn_fail(m, op->line, "%s: %s is \"%s\", expected \"%s\"", scn_op_form_of(op->code)->text,
             field_name(op, key), actual == NULL ? "" : actual, field->text);
}

void scn_check_budget(scn_machine *m, const scn_frame *f, const scn_op *op,
                      const asx_budget *actual)
{
    const scn_field *polls = scn_field_of(m, op, F_POLLS);
    /* An unlimited quota is written `max`, however wide the counter is. */
    bool unlimited = polls != NULL && polls->value.number == UINT64_MAX;
    scn_check(m, f, op, F_POLLS,
              unlimited && actual->poll_quota == ASX_QUOTA_UNLIMITED ? UINT64_MAX
                                                                     : actual->poll_quota);
    scn_check(m, f, op, F_COST, actual->cost_quota);
    scn_check(m, f, op, F_DEADLINE, actual->deadline);
    scn_check(m, f, op, F_PRIORITY, actual->priority);
}

bool scn_stats_field(const asx_stats *stats, scn_key key, uint64_t *ret_value)
{
    switch (key) {
    case F_TASKS_LIVE: *ret_value = stats->tasks_live; return true;
    case F_TASKS_SPAWNED: *ret_value = stats->tasks_spawned; return true;
    case F_TASKS_FORCED: *ret_value = stats->tasks_forced; return true;
    case F_REGIONS_LIVE: *ret_value = stats->regions_live; return true;
    case F_REGIONS_OPENED: *ret_value = stats->regions_opened; return true;
    case F_OBLIGATIONS_RESERVED: *ret_value = stats->obligations_reserved; return true;
    case F_OBLIGATIONS_TOTAL: *ret_value = stats->obligations_total; return true;
    case F_OBLIGATIONS_LEAKED: *ret_value = stats->obligations_leaked; return true;
    case F_CHANNELS_LIVE: *ret_value = stats->channels_live; return true;
    case F_TIMERS_LIVE: *ret_value = stats->timers_live; return true;
    case F_STACKS_IN_USE: *ret_value = stats->stacks_in_use; return true;
    case F_STACKS_KEPT: *ret_value = stats->stacks_kept; return true;
    case F_MEMORY_BYTES: *ret_value = stats->memory_bytes; return true;
    case F_READY_LEN: *ret_value = stats->ready_len; return true;
    case F_CANCEL_LEN: *ret_value = stats->cancel_len; return true;
    case F_TIMED_LEN: *ret_value = stats->timed_len; return true;
    case F_TURNS: *ret_value = stats->turns; return true;
    default: return false;
    }
}

bool scn_certificate_field(const asx_fairness_certificate *cert, scn_key key, uint64_t *ret_value)
{
    switch (key) {
    case F_CANCEL_DISPATCHES: *ret_value = cert->cancel_dispatches; return true;
    case F_TIMED_DISPATCHES: *ret_value = cert->timed_dispatches; return true;
    case F_READY_DISPATCHES: *ret_value = cert->ready_dispatches; return true;
    case F_FALLBACK: *ret_value = cert->fallback_cancel_dispatches; return true;
    case F_BASE: *ret_value = cert->base_limit_exceedances; return true;
    case F_EFFECTIVE: *ret_value = cert->effective_limit_exceedances; return true;
    case F_LIMIT: *ret_value = cert->max_effective_limit_observed; return true;
    default: return false;
    }
}

/* ---- frames ---- */

scn_frame *scn_frame_new(scn_machine *m, uint32_t body, uint32_t line)
{
    scn_frame *frame = calloc(1, sizeof(*frame));
    if (frame == NULL) {
        scn_fail(m, line, "out of memory");
        return NULL;
    }
    frame->m = m;
    frame->body = body;
    (void)pthread_mutex_lock(&m->log->lock);
    frame->next = m->log->frames;
    m->log->frames = frame;
    (void)pthread_mutex_unlock(&m->log->lock);
    return frame;
}

void scn_frame_drop(scn_machine *m, scn_frame *frame)
{
    (void)pthread_mutex_lock(&m->log->lock);
    scn_frame **at = &m->log->frames;
    while (*at != frame)
        at = &(*at)->next;
    *at = frame->next;
    (void)pthread_mutex_unlock(&m->log->lock);
    free(frame->chain);
    free(frame);
}

const char *scn_site(scn_machine *m, const scn_op *op)
{
    enum { SITE_MAX = 96 };
    const char *base = strrchr(m->s->file, '/');
    (void)pthread_mutex_lock(&m->log->lock);
    char **site = &m->log->sites[op - m->s->ops];
    if (*site == NULL && (*site = malloc(SITE_MAX)) != NULL)
        (void)snprintf(*site, SITE_MAX, "%.80s:%u", base == NULL ? m->s->file : base + 1,
                       (unsigned)op->line);
    const char *text = *site == NULL ? "" : *site;
    (void)pthread_mutex_unlock(&m->log->lock);
    return text;
}

void scn_copy_thing(scn_thing *to, const scn_thing *from)
{
    scn_begin(to, from->serial);
    memcpy(&to->u, &from->u, sizeof to->u);
    scn_set_made(to, true);
}

uint64_t scn_self(const scn_frame *f)
{
    return asx_cx_task_id(f->cx).generation & ASX__GENERATION_COUNT_MASK;
}

/* The object of the newest such event that has this in one of its places; 0: there is none. */
static uint64_t newest(const scn_machine *m, uint32_t kind, bool by_owner, uint64_t who)
{
    uint64_t found = 0;
    (void)pthread_mutex_lock(&m->log->lock);
    for (size_t i = m->log->event_count; i-- > 0 && found == 0;) {
        const asx_event *e = &m->log->events[i];
        if (e->kind == kind && (by_owner ? e->b : e->task) == who)
            found = e->object;
    }
    (void)pthread_mutex_unlock(&m->log->lock);
    return found;
}

uint64_t scn_newest(const scn_machine *m, const scn_frame *f, uint32_t kind)
{
    return newest(m, kind, false, scn_self(f));
}

uint64_t scn_newest_obligation(const scn_machine *m, uint64_t owner)
{
    return newest(m, ASX_EVENT_OBLIGATION_RESERVE, true, owner);
}

static asx_status execute(scn_machine *m, scn_frame *f, const scn_op *op)
{
    if (op->code < SCN_OP_SPAWN)
        return scn_exec_region(m, f, op);
    if (op->code < SCN_OP_OBLIGE)
        return scn_exec_task(m, f, op);
    if (op->code < SCN_OP_WHEEL)
        return scn_exec_channel(m, f, op);
    return scn_exec_timer(m, f, op);
}

bool scn_would_hold(const scn_machine *m, scn_frame *f, const scn_op *op)
{
    scn_machine trial = *m;
    scn_result result = { .passed = true };
    scn_log log = { .failed = false };
    (void)pthread_mutex_init(&log.lock, NULL);
    trial.result = &result;
    trial.log = &log;
    asx_status st = execute(&trial, f, op);
    (void)pthread_mutex_destroy(&log.lock);
    return result.passed && (op->expect > 0 || (int32_t)st == op->expect);
}

/* So often, and live for so long, an awaited check may not hold. */
#define SCN_TRIES_MAX 10000u
#define SCN_AWAIT_NS (5 * ASX_SEC)

/* True: the awaited check does not hold yet, and others have had their turn, or (ASX_E_WOULD_BLOCK)
 * are to have it. */
static bool awaits(scn_machine *m, scn_frame *f, const scn_op *op, asx_status *ret_status)
{
    *ret_status = ASX_OK;
    if (!op->await || scn_would_hold(m, f, op))
        return false;
    if (f->tries++ == 0)
        f->since = asx_now(f->cx);
    bool lab = m->options->mode == SCN_LAB;
    if (f->tries > SCN_TRIES_MAX && (lab || asx_now(f->cx) - f->since > SCN_AWAIT_NS))
        return false;
    *ret_status = asx_yield(f->cx);
    return true;
}

/* Control flow. True: this operation was one of it. */
static bool step_flow(scn_frame *f, const scn_op *op, uint32_t first)
{
    if (op->code == SCN_OP_REPEAT) {
        uint64_t times = scn_value_of(f, &op->value);
        if (times == 0) {
            f->pc = op->jump - first;
        } else {
            f->loops[f->loop_depth++] = times;
            f->pc++;
        }
        return true;
    }
    if (op->code == SCN_OP_AGAIN) {
        uint64_t *left = &f->loops[f->loop_depth - 1];
        if (*left == UINT64_MAX || --*left > 0) {
            f->pc = op->jump - first + 1;
        } else {
            f->loop_depth--;
            f->pc++;
        }
        return true;
    }
    return false;
}

/* Runs until the body ends (true, *ret_status) or has to wait (false). */
static bool run_frame(scn_frame *f, asx_status *ret_status)
{
    scn_machine *m = f->m;
    const scn_body *body = &m->s->bodies[f->body];
    *ret_status = ASX_OK;
    while (f->pc < body->op_count) {
        const scn_op *op = &m->s->ops[body->op_first + f->pc];
        if (step_flow(f, op, body->op_first))
            continue;
        if (op->code == SCN_OP_RETURN) {
            *ret_status = (asx_status)(int64_t)op->value.number;
            return true;
        }
        asx_status st;
        if (awaits(m, f, op, &st) && st == ASX_OK)
            continue;
        if (st == ASX_OK)
            st = execute(m, f, op);
        bool failed = scn_failed(m);
        if (f->poll && st == ASX_E_WOULD_BLOCK && op->expect != ASX_E_WOULD_BLOCK && !failed)
            return false;
        f->tries = 0;
        if (!failed && op->expect <= 0 && (int32_t)st != op->expect)
            scn_fail(m, op->line, "%s: %s, expected %s", scn_op_form_of(op->code)->text,
                     asx_status_str(st), asx_status_str((asx_status)op->expect));
        if (scn_failed(m)) {
            *ret_status = ASX_E_EXPECTATION;
            return true;
        }
        if (op->expect == SCN_RETURN && st < 0) {
            *ret_status = st;
            return true;
        }
        f->pc++;
    }
    return true;
}

asx_status scn_frame_call(asx_cx *cx, void *frame)
{
    scn_frame *f = frame;
    asx_status st;
    f->cx = cx;
    f->pc = 0;
    f->loop_depth = 0;
    (void)run_frame(f, &st);
    return st;
}

asx_poll scn_frame_poll(asx_cx *cx, void *frame)
{
    scn_frame *f = frame;
    asx_status st;
    f->cx = f->is_narrowed ? &f->narrowed : cx;
    f->poll = true;
    if (!run_frame(f, &st))
        return ASX_POLL_PENDING;
    return st < 0 ? asx_poll_fail(cx, st) : ASX_POLL_READY;
}
