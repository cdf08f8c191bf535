/* scn_expect.c - what a scenario expects of the journal and of the runtime, after the run. */
#include "cli/scn_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- patterns ---- */

static uint64_t place_of(const asx_event *event, unsigned place)
{
    switch (place) {
    case SCN_BY: return event->task;
    case SCN_ON: return event->object;
    case SCN_A: return event->a;
    case SCN_B: return event->b;
    default: return event->time;
    }
}

static bool matches(scn_machine *m, const scn_pattern *pattern, const asx_event *event)
{
    if (event->kind != pattern->kind)
        return false;
    for (unsigned i = 0; i < SCN_PLACES; i++) {
        const scn_place *place = &pattern->place[i];
        if (!place->set)
            continue;
        uint64_t wanted = place->is_object ? scn_serial_of(m, place->object) : place->number;
        if (!scn_holds((scn_compare)place->compare, place_of(event, i), wanted))
            return false;
    }
    return true;
}

/* An expectation on something that never came to be cannot hold, and says so. */
static bool names_exist(scn_machine *m, const scn_expect *e)
{
    for (uint32_t p = 0; p < e->pattern_count; p++) {
        const scn_pattern *pattern = &m->s->patterns[e->pattern_first + p];
        for (unsigned i = 0; i < SCN_PLACES; i++) {
            if (pattern->place[i].is_object && scn_serial_of(m, pattern->place[i].object) == 0) {
                scn_fail(m, e->line, "'%s' never got a number in the journal",
                         m->s->objects[pattern->place[i].object].name);
                return false;
            }
        }
    }
    return true;
}

static size_t count_matches(scn_machine *m, const scn_pattern *pattern, size_t *ret_first)
{
    size_t count = 0;
    for (size_t i = 0; i < m->log->event_count; i++) {
        if (matches(m, pattern, &m->log->events[i]) && count++ == 0 && ret_first != NULL)
            *ret_first = i;
    }
    return count;
}

static void format_event(const asx_event *event, char *text, size_t size)
{
    char raw[256];
    (void)asx_event_format(event, raw, sizeof(raw));
    /* Columns are for lists; here one space will do. */
    size_t n = 0;
    for (const char *p = raw; *p != '\0' && n + 1 < size; p++) {
        if (*p != ' ' || (n > 0 && text[n - 1] != ' '))
            text[n++] = *p;
    }
    text[n] = '\0';
}

static void expect_count(scn_machine *m, const scn_expect *e)
{
    size_t first = 0;
    const scn_pattern *pattern = &m->s->patterns[e->pattern_first];
    const char *name = asx_event_kind_str(pattern->kind);
    size_t count = count_matches(m, pattern, &first);
    if (e->kind == SCN_EXPECT_EVENT && count == 0)
        scn_fail(m, e->line, "expect event: no such %s", name);
    if (e->kind == SCN_EXPECT_NEVER && count > 0) {
        char text[200];
        format_event(&m->log->events[first], text, sizeof(text));
        scn_fail(m, e->line, "expect never: there is %s", text);
    }
    if (e->kind == SCN_EXPECT_COUNT &&
        !scn_holds((scn_compare)e->value.compare, count, e->value.number))
        scn_fail(m, e->line, "expect count: %zu such %s, expected %s%llu", count, name,
                 scn_sign((scn_compare)e->value.compare), (unsigned long long)e->value.number);
}

static void expect_order(scn_machine *m, const scn_expect *e)
{
    size_t before = 0;
    for (uint32_t p = 0; p < e->pattern_count; p++) {
        size_t at = 0;
        const scn_pattern *pattern = &m->s->patterns[e->pattern_first + p];
        if (count_matches(m, pattern, &at) == 0) {
            scn_fail(m, e->line, "expect order: no such %s (pattern %u)",
                     asx_event_kind_str(pattern->kind), (unsigned)p + 1);
            return;
        }
        if (p > 0 && at <= before) {
            char one[200], two[200];
            format_event(&m->log->events[before], one, sizeof(one));
            format_event(&m->log->events[at], two, sizeof(two));
            scn_fail(m, e->line, "expect order: { %s } comes after { %s }", one, two);
            return;
        }
        before = at;
    }
}

static void expect_exactly(scn_machine *m, const scn_expect *e)
{
    const scn_pattern *patterns = &m->s->patterns[e->pattern_first];
    char text[200];
    uint32_t at = 1;
    for (size_t i = 0; i < m->log->event_count; i++) {
        if (!matches(m, &patterns[0], &m->log->events[i]))
            continue;
        format_event(&m->log->events[i], text, sizeof(text));
        if (at == e->pattern_count) {
            scn_fail(m, e->line, "expect exactly: one more than %u: %s",
                     (unsigned)e->pattern_count - 1, text);
            return;
        }
        if (!matches(m, &patterns[at], &m->log->events[i])) {
            scn_fail(m, e->line, "expect exactly: number %u is %s", (unsigned)at, text);
            return;
        }
        at++;
    }
    if (at < e->pattern_count)
        scn_fail(m, e->line, "expect exactly: %u events, expected %u", (unsigned)at - 1,
                 (unsigned)e->pattern_count - 1);
}

static void expect_notes(scn_machine *m, const scn_expect *e)
{
    const scn_object *note = &m->s->objects[e->object];
    size_t at = 0;
    for (size_t i = 0; i < m->log->event_count; i++) {
        const asx_event *event = &m->log->events[i];
        if (event->kind != ASX_EVENT_USER || event->object != note->code)
            continue;
        if (at == e->number_count || e->numbers[at] != event->a) {
            scn_fail(m, e->line, "expect notes: number %zu of %s is %llu, expected %s%llu", at + 1,
                     note->name, (unsigned long long)event->a,
                     at == e->number_count ? "none; the last is " : "",
                     (unsigned long long)(at < e->number_count      ? e->numbers[at]
                                          : e->number_count > 0 ? e->numbers[at - 1]
                                                                : 0));
            return;
        }
        at++;
    }
    if (at < e->number_count)
        scn_fail(m, e->line, "expect notes: %zu of %s, expected %zu", at, note->name,
                 e->number_count);
}

static void expect_outcome(scn_machine *m, const scn_expect *e)
{
    const scn_object *task = &m->s->objects[e->object];
    uint64_t serial = scn_serial_of(m, e->object);
    for (size_t i = 0; i < m->log->event_count; i++) {
        const asx_event *event = &m->log->events[i];
        if (event->kind != ASX_EVENT_TASK_COMPLETE || event->object != serial)
            continue;
        if (event->a != e->value.number)
            scn_fail(m, e->line, "expect outcome: %s ended %s, expected %s", task->name,
                     asx_outcome_str((asx_outcome_kind)event->a),
                     asx_outcome_str((asx_outcome_kind)e->value.number));
        if (e->status != SCN_ANY && (int64_t)event->b != e->status)
            scn_fail(m, e->line, "expect outcome: %s ended with %s, expected %s", task->name,
                     asx_status_str((asx_status)(int64_t)event->b),
                     asx_status_str((asx_status)e->status));
        return;
    }
    scn_fail(m, e->line, "expect outcome: %s never ended", task->name);
}

/* ---- the runtime ---- */

static void expect_status(scn_machine *m, const scn_expect *e)
{
    static const char *const names[] = { [SCN_EXPECT_RESULT] = "result",
                                         [SCN_EXPECT_QUIESCENT] = "quiescent",
                                         [SCN_EXPECT_SHUTDOWN] = "shutdown",
                                         [SCN_EXPECT_TRACE_STATUS] = "trace-status" };
    asx_status st = m->result->status;
    if (e->kind == SCN_EXPECT_QUIESCENT)
        st = asx_runtime_quiescent(m->rt);
    else if (e->kind == SCN_EXPECT_SHUTDOWN)
        st = asx_runtime_shutdown(m->rt, 0, NULL);
    else if (e->kind == SCN_EXPECT_TRACE_STATUS)
        st = asx_runtime_trace_status(m->rt);
    if ((int32_t)st != e->status)
        scn_fail(m, e->line, "expect %s: %s, expected %s", names[e->kind], asx_status_str(st),
                 asx_status_str((asx_status)e->status));
}

static void expect_fields(scn_machine *m, const scn_expect *e)
{
    asx_stats stats;
    asx_fairness_certificate cert;
    bool of_stats = e->kind == SCN_EXPECT_STATS;
    asx_status st =
        of_stats ? asx_runtime_stats(m->rt, &stats) : asx_runtime_certificate(m->rt, &cert);
    if (st < 0) {
        scn_fail(m, e->line, "expect: %s", asx_status_str(st));
        return;
    }
    for (uint32_t i = 0; i < e->field_count; i++) {
        const scn_field *field = &m->s->fields[e->field_first + i];
        const scn_field_form *form = of_stats ? scn_fields_stats : scn_fields_certificate;
        uint64_t value = 0;
        while (form->key != field->key)
            form++;
        (void)(of_stats ? scn_stats_field(&stats, (scn_key)field->key, &value)
                        : scn_certificate_field(&cert, (scn_key)field->key, &value));
        if (!scn_holds((scn_compare)field->value.compare, value, field->value.number))
            scn_fail(m, e->line, "expect: %s is %llu, expected %s%llu", form->text,
                     (unsigned long long)value, scn_sign((scn_compare)field->value.compare),
                     (unsigned long long)field->value.number);
    }
}

/* ---- other runs ---- */

static const scn_field *expect_field(const scn_machine *m, const scn_expect *e, scn_key key)
{
    for (uint32_t i = 0; i < e->field_count; i++) {
        if (m->s->fields[e->field_first + i].key == key)
            return &m->s->fields[e->field_first + i];
    }
    return NULL;
}

static void expect_digest(scn_machine *m, const scn_expect *e)
{
    scn_run_options options = *m->options;
    scn_result other;
    asx_profile profile;
    const scn_field *field = expect_field(m, e, F_SEED);
    options.unchecked = true;
    options.sink = NULL;
    if (field != NULL)
        options.seed = &field->value.number;
    if ((field = expect_field(m, e, F_STEP)) != NULL)
        options.step = field->value.number;
    if ((field = expect_field(m, e, F_VEHICLE)) != NULL)
        options.vehicle = field->value.number == 0 ? SCN_FIBER : SCN_POLL;
    if ((field = expect_field(m, e, F_PROFILE)) != NULL) {
        profile = (asx_profile)field->value.number;
        options.profile = &profile;
    }
    asx_status st = scn_run(m->s, &options, &other);
    if (st < 0)
        scn_fail(m, e->line, "expect digest: the other run: %s", asx_status_str(st));
    else if (!other.passed)
        scn_fail(m, e->line, "expect digest: the other run: line %u: %.300s", (unsigned)other.line,
                 other.why);
    else if ((other.digest == m->result->digest) != e->same)
        scn_fail(m, e->line, "expect digest: %016llx and %016llx",
                 (unsigned long long)m->result->digest, (unsigned long long)other.digest);
}

typedef struct buffer {
    uint8_t *bytes;
    size_t len, cap;
} buffer;

static asx_status buffer_sink(void *ctx, const void *bytes, size_t len)
{
    buffer *b = ctx;
    if (b->cap - b->len < len) {
        size_t cap = (b->cap + len) * 2;
        uint8_t *larger = realloc(b->bytes, cap);
        if (larger == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        b->bytes = larger;
        b->cap = cap;
    }
    memcpy(b->bytes + b->len, bytes, len);
    b->len += len;
    return ASX_OK;
}

static void expect_replay(scn_machine *m, const scn_expect *e)
{
    buffer trace = { 0 };
    asx_trace_reader reader;
    scn_result again;
    asx_status st = asx_runtime_trace_write(m->rt, buffer_sink, &trace);
    if (st >= 0)
        st = asx_trace_reader_init(&reader, trace.bytes, trace.len);
    if (st >= 0) {
        scn_run_options options = *m->options;
        options.recorded = &reader;
        options.unchecked = true;
        options.sink = NULL;
        st = scn_run(m->s, &options, &again);
        if (st >= 0 && !again.passed) {
            char one[200] = "", two[200] = "";
            format_event(&again.divergence.recorded, one, sizeof(one));
            format_event(&again.divergence.actual, two, sizeof(two));
            scn_fail(m, e->line, "expect replay: %.80s; recorded { %s } run { %s }", again.why, one,
                     two);
        }
    }
    if (st < 0)
        scn_fail(m, e->line, "expect replay: %s", asx_status_str(st));
    free(trace.bytes);
}

static void expect_one(scn_machine *m, const scn_expect *e)
{
    switch (e->kind) {
    case SCN_EXPECT_EVENT:
    case SCN_EXPECT_NEVER:
    case SCN_EXPECT_COUNT:
        expect_count(m, e);
        break;
    case SCN_EXPECT_ORDER:
        expect_order(m, e);
        break;
    case SCN_EXPECT_EXACTLY:
        expect_exactly(m, e);
        break;
    case SCN_EXPECT_NOTES:
        expect_notes(m, e);
        break;
    case SCN_EXPECT_OUTCOME:
        expect_outcome(m, e);
        break;
    case SCN_EXPECT_STATS:
    case SCN_EXPECT_CERTIFICATE:
        expect_fields(m, e);
        break;
    case SCN_EXPECT_DIGEST:
        expect_digest(m, e);
        break;
    case SCN_EXPECT_REPLAY:
        expect_replay(m, e);
        break;
    default:
        expect_status(m, e);
        break;
    }
}

static bool of_journal(scn_expect_kind kind)
{
    return kind != SCN_EXPECT_RESULT && kind != SCN_EXPECT_QUIESCENT &&
           kind != SCN_EXPECT_SHUTDOWN && kind != SCN_EXPECT_STATS &&
           kind != SCN_EXPECT_CERTIFICATE;
}

/* ---- what holds for every journal ----------------------------------------------------------- */

/* Places of its event that a kind does not have, by the public list. */
typedef struct event_shape {
    uint32_t kind;
    const char *object, *a, *b;
} event_shape;

static const event_shape shapes[] = {
#define SHAPE(name, number, text, object, a, b) { (number), (object), (a), (b) },
    ASX_EVENT_LIST(SHAPE)
#undef SHAPE
};

/* Does `event` follow from `cause`? Kinds that are not named here have none. */
static bool follows(const asx_event *event, const asx_event *cause)
{
    uint32_t from = cause->kind;
    bool same = cause->object == event->object;
    switch (event->kind) {
    case ASX_EVENT_TASK_RUN:
        return same && (from == ASX_EVENT_TASK_SPAWN || from == ASX_EVENT_TASK_WAKE ||
                        from == ASX_EVENT_TASK_YIELD || from == ASX_EVENT_CANCEL_REQUEST);
    case ASX_EVENT_CANCEL_ACK: /* the request, or what let the task go on with its mask used up */
        return same && (from == ASX_EVENT_CANCEL_REQUEST || from == ASX_EVENT_TASK_WAKE ||
                        from == ASX_EVENT_TASK_YIELD);
    case ASX_EVENT_TASK_JOIN:
        return same && from == ASX_EVENT_TASK_COMPLETE;
    case ASX_EVENT_CHANNEL_RECV:
    case ASX_EVENT_CHANNEL_EVICT:
        return same && cause->a == event->a &&
               (from == ASX_EVENT_CHANNEL_SEND || from == ASX_EVENT_CHANNEL_NACK);
    case ASX_EVENT_TASK_WAKE: /* whatever the waker did last */
        return true;
    default:
        return false;
    }
}

static bool is_empty(const char *meaning, uint64_t value)
{
    return strcmp(meaning, "-") != 0 || value == 0;
}

/* The journal of a scenario begins after some events of the runtime's own. */
static bool has_its_cause(const scn_log *log, const asx_event *event)
{
    uint64_t first = log->events[0].seq;
    if (event->cause == 0)
        return event->kind != ASX_EVENT_TASK_RUN;
    return event->cause < event->seq && event->cause >= first &&
           follows(event, &log->events[event->cause - first]);
}

static bool has_its_shape(const asx_event *event)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        if (shapes[i].kind == event->kind)
            return is_empty(shapes[i].object, event->object) && is_empty(shapes[i].a, event->a) &&
                   is_empty(shapes[i].b, event->b);
    return false;
}

static void expect_shapes(scn_machine *m)
{
    for (size_t i = 0; i < m->log->event_count && !scn_failed(m); i++) {
        const asx_event *event = &m->log->events[i];
        char text[256];
        if (has_its_shape(event) && has_its_cause(m->log, event))
            continue;
        format_event(event, text, sizeof(text));
        scn_fail(m, m->s->line, "no such event can be: %s", text);
    }
}

void scn_expect_all(scn_machine *m)
{
    bool has_result = false;
    if (m->log->events_lost)
        scn_fail(m, m->s->line, "the journal is too long to be judged");
    expect_shapes(m);
    for (uint32_t i = 0; i < m->s->expect_count && !scn_failed(m); i++) {
        const scn_expect *e = &m->s->expects[i];
        has_result |= e->kind == SCN_EXPECT_RESULT;
        if (m->options->mode == SCN_BARE && of_journal(e->kind))
            continue;
        if (names_exist(m, e))
            expect_one(m, e);
    }
    if (!has_result && !scn_failed(m) && m->result->status != ASX_OK)
        scn_fail(m, m->s->line, "the run ended with %s", asx_status_str(m->result->status));
}
