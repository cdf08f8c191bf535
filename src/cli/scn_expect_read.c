/* scn_expect_read.c - `expect` lines: what the journal and the runtime must say after the run. */
#include "cli/scn_read.h"

#include <string.h>

static bool push_pattern(scn_reader *r, const scn_pattern *pattern)
{
    scn *s = r->s;
    if (!scn_grow(r, (void **)&s->patterns, &s->pattern_cap, s->pattern_count,
                  sizeof(scn_pattern)))
        return false;
    s->patterns[s->pattern_count++] = *pattern;
    return true;
}

static scn_type type_of_meaning(scn_meaning meaning)
{
    switch (meaning) {
    case M_REGION: return SCN_REGION;
    case M_TASK: return SCN_TASK;
    case M_OBLIGATION: return SCN_OBLIGATION;
    case M_CHANNEL: return SCN_SENDER;
    case M_TIMER: return SCN_TIMER;
    case M_NOTE: return SCN_NOTE;
    default: return SCN_TYPE_COUNT;
    }
}

static uint32_t find_object(const scn *s, scn_type type, const char *name)
{
    for (uint32_t i = 0; i < s->object_count; i++) {
        if (s->objects[i].type == type && strcmp(s->objects[i].name, name) == 0)
            return i;
    }
    return SCN_NONE;
}

/* A name in a place that may hold several types: an obligation's place takes permits and acks
 * too, an owner is a task or a region. */
static uint32_t find_any(const scn *s, scn_meaning meaning, const char *name)
{
    static const scn_type obligations[] = { SCN_OBLIGATION, SCN_PERMIT, SCN_ACK };
    static const scn_type owners[] = { SCN_TASK, SCN_REGION };
    const scn_type one = type_of_meaning(meaning);
    const scn_type *types = meaning == M_OBLIGATION ? obligations
                            : meaning == M_OWNER    ? owners
                                                    : &one;
    size_t count = meaning == M_OBLIGATION ? 3 : meaning == M_OWNER ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t object = find_object(s, types[i], name);
        if (object != SCN_NONE)
            return object;
    }
    return SCN_NONE;
}

static bool read_place(scn_reader *r, const char *text, scn_meaning meaning, scn_words words,
                       scn_place *place)
{
    static const struct {
        const char *text;
        scn_compare compare;
    } signs[] = { { ">=", SCN_GE }, { "<=", SCN_LE }, { ">", SCN_GT },
                  { "<", SCN_LT },  { "!=", SCN_NE }, { "=", SCN_EQ } };
    int32_t status;
    if (place->set)
        return scn_bad(r, "a place stands here twice");
    place->set = true;
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        size_t len = strlen(signs[i].text);
        if (strncmp(text, signs[i].text, len) == 0) {
            place->compare = (uint8_t)signs[i].compare;
            text += len;
            break;
        }
    }
    if (meaning == M_NONE)
        return scn_bad(r, "events of this kind have nothing in this place");
    if (scn_number(text, &place->number))
        return true;
    if (meaning == M_WORD && scn_word_find(words, text, &place->number))
        return true;
    if (meaning == M_STATUS && scn_status_find(text, &status)) {
        place->number = (uint64_t)(int64_t)status;
        return true;
    }
    place->object = find_any(r->s, meaning, text);
    place->is_object = place->object != SCN_NONE;
    return place->is_object || scn_bad(r, "'%.60s' is not known in this place", text);
}

/* `by=..`, `on=..`, `a=..`, `b=..`, `at=..` up to a word that is none of them. */
static bool read_places(scn_reader *r, scn_pattern *pattern)
{
    const scn_event_form *form = scn_event_of(pattern->kind);
    const char *text;
    while ((text = scn_peek(r)) != NULL) {
        size_t len = strcspn(text, "=<>!");
        scn_place *p = pattern->place;
        bool ok;
        if (text[len] == '\0')
            return true;
        r->next++;
        if (len == 2 && memcmp(text, "by", 2) == 0)
            ok = read_place(r, text + len, M_TASK, W_NONE, &p[SCN_BY]);
        else if (len == 2 && memcmp(text, "on", 2) == 0)
            ok = read_place(r, text + len, form->on, W_NONE, &p[SCN_ON]);
        else if (len == 1 && *text == 'a')
            ok = read_place(r, text + len, form->a, (scn_words)form->a_words, &p[SCN_A]);
        else if (len == 1 && *text == 'b')
            ok = read_place(r, text + len, form->b, (scn_words)form->b_words, &p[SCN_B]);
        else if (len == 2 && memcmp(text, "at", 2) == 0)
            ok = read_place(r, text + len, M_NUMBER, W_NONE, &p[SCN_AT]);
        else
            ok = scn_bad(r, "'%.60s' is not a place of an event (by, on, a, b, at)", text);
        if (!ok)
            return false;
    }
    return true;
}

static bool take_pattern(scn_reader *r, scn_pattern *ret_pattern)
{
    const char *name = scn_take(r);
    const scn_event_form *form = name == NULL ? NULL : scn_event_find(name);
    if (form == NULL)
        return scn_bad(r, "'%.60s' is not a kind of event", name == NULL ? "" : name);
    *ret_pattern = (scn_pattern){ .kind = form->kind };
    return read_places(r, ret_pattern);
}

static bool read_patterns(scn_reader *r, scn_expect *e)
{
    scn_pattern pattern;
    do {
        if (!take_pattern(r, &pattern) || !push_pattern(r, &pattern))
            return false;
        e->pattern_count++;
    } while (e->kind == SCN_EXPECT_ORDER && scn_take_word(r, "then"));
    if (e->kind == SCN_EXPECT_ORDER && e->pattern_count < 2)
        return scn_bad(r, "'expect order' is written: PATTERN then PATTERN");
    return true;
}

/* The lines of the block: places that the n-th event must have beside those of the filter. */
static bool read_exactly(scn_reader *r, scn_expect *e)
{
    uint32_t first = r->line, end = r->block_end[r->line];
    if (!read_patterns(r, e) || !scn_line_end(r))
        return false;
    scn_pattern filter = r->s->patterns[e->pattern_first];
    for (uint32_t i = first + 1; i < end; i++) {
        scn_pattern pattern = { .kind = filter.kind };
        if (!scn_tokenize(r, i))
            return false;
        if (r->token_count == 0)
            continue;
        if (!read_places(r, &pattern) || !scn_line_end(r) || !push_pattern(r, &pattern))
            return false;
        e->pattern_count++;
    }
    return true;
}

static bool push_number(scn_reader *r, scn_expect *e, uint32_t *cap, uint64_t n)
{
    if (e->number_count >= 100000)
        return scn_bad(r, "too many numbers");
    if (!scn_grow(r, (void **)&e->numbers, cap, (uint32_t)e->number_count, sizeof(uint64_t)))
        return false;
    e->numbers[e->number_count++] = n;
    return true;
}

/* `expect notes NAME = 1 2 5..9`, or `none`. */
static bool read_notes(scn_reader *r, scn_expect *e)
{
    uint32_t cap = 0;
    const char *name = scn_take(r);
    e->object = name == NULL ? SCN_NONE : find_object(r->s, SCN_NOTE, name);
    if (e->object == SCN_NONE)
        return scn_bad(r, "no body makes the note '%.60s'", name == NULL ? "" : name);
    if (!scn_take_word(r, "="))
        return scn_bad(r, "'=' is expected");
    if (scn_take_word(r, "none"))
        return true;
    if (scn_peek(r) == NULL)
        return scn_bad(r, "numbers, or 'none', are missing");
    while (scn_peek(r) != NULL) {
        char text[64];
        const char *token = scn_take(r);
        const char *dots = strstr(token, "..");
        uint64_t from = 0, to = 0;
        size_t len = dots == NULL ? strlen(token) : (size_t)(dots - token);
        if (len >= sizeof(text))
            return scn_bad(r, "'%.60s' is not a number", token);
        memcpy(text, token, len);
        text[len] = '\0';
        if (!scn_number(text, &from) || (dots != NULL && !scn_number(dots + 2, &to)))
            return scn_bad(r, "'%.60s' is not a number", token);
        for (uint64_t n = from; n <= (dots == NULL ? from : to); n++) {
            if (!push_number(r, e, &cap, n))
                return false;
        }
    }
    return true;
}

/* `expect outcome TASK Cancelled [status ASX_E_...]`. */
static bool read_outcome(scn_reader *r, scn_expect *e)
{
    const char *name = scn_take(r);
    e->object = name == NULL ? SCN_NONE : find_object(r->s, SCN_TASK, name);
    if (e->object == SCN_NONE)
        return scn_bad(r, "nothing makes the task '%.60s'", name == NULL ? "" : name);
    const char *word = scn_take(r);
    if (word == NULL || !scn_word_find(W_OUTCOME, word, &e->value.number))
        return scn_bad(r, "'%.60s' is not an outcome", word == NULL ? "" : word);
    e->status = SCN_ANY;
    if (scn_take_word(r, "status"))
        return scn_take_status(r, &e->status);
    return true;
}

static bool read_digest(scn_reader *r, scn_expect *e)
{
    e->same = scn_take_word(r, "same");
    if (!e->same && !scn_take_word(r, "other"))
        return scn_bad(r, "'same' or 'other' is expected");
    return scn_take_fields(r, scn_fields_digest, &e->field_first, &e->field_count);
}

static bool read_rest(scn_reader *r, scn_expect *e)
{
    switch (e->kind) {
    case SCN_EXPECT_COUNT:
        return scn_take_value(r, true, &e->value) && read_patterns(r, e);
    case SCN_EXPECT_EVENT:
    case SCN_EXPECT_NEVER:
    case SCN_EXPECT_ORDER:
        return read_patterns(r, e);
    case SCN_EXPECT_EXACTLY:
        return read_exactly(r, e);
    case SCN_EXPECT_NOTES:
        return read_notes(r, e);
    case SCN_EXPECT_OUTCOME:
        return read_outcome(r, e);
    case SCN_EXPECT_RESULT:
    case SCN_EXPECT_QUIESCENT:
    case SCN_EXPECT_SHUTDOWN:
    case SCN_EXPECT_TRACE_STATUS:
        return scn_take_status(r, &e->status);
    case SCN_EXPECT_STATS:
        return scn_take_fields(r, scn_fields_stats, &e->field_first, &e->field_count);
    case SCN_EXPECT_CERTIFICATE:
        return scn_take_fields(r, scn_fields_certificate, &e->field_first, &e->field_count);
    case SCN_EXPECT_DIGEST:
        return read_digest(r, e);
    case SCN_EXPECT_REPLAY:
        return true;
    }
    return false;
}

bool scn_read_expect(scn_reader *r)
{
    static const char *const words[] = {
        [SCN_EXPECT_EVENT] = "event",         [SCN_EXPECT_COUNT] = "count",
        [SCN_EXPECT_NEVER] = "never",         [SCN_EXPECT_ORDER] = "order",
        [SCN_EXPECT_EXACTLY] = "exactly",     [SCN_EXPECT_NOTES] = "notes",
        [SCN_EXPECT_OUTCOME] = "outcome",     [SCN_EXPECT_RESULT] = "result",
        [SCN_EXPECT_QUIESCENT] = "quiescent", [SCN_EXPECT_SHUTDOWN] = "shutdown",
        [SCN_EXPECT_TRACE_STATUS] = "trace-status", [SCN_EXPECT_STATS] = "stats",
        [SCN_EXPECT_CERTIFICATE] = "certificate",   [SCN_EXPECT_DIGEST] = "digest",
        [SCN_EXPECT_REPLAY] = "replay",
    };
    scn *s = r->s;
    scn_expect e = { .line = r->line_base + r->line, .pattern_first = s->pattern_count };
    r->next = 1;
    const char *word = scn_take(r);
    size_t kind = 0, count = sizeof(words) / sizeof(words[0]);
    while (word != NULL && kind < count && strcmp(words[kind], word) != 0)
        kind++;
    if (word == NULL || kind == count)
        return scn_bad(r, "'%.60s' cannot be expected", word == NULL ? "" : word);
    e.kind = (scn_expect_kind)kind;
    if (!read_rest(r, &e) || (e.kind != SCN_EXPECT_EXACTLY && !scn_line_end(r)))
        return false;
    if (!scn_grow(r, (void **)&s->expects, &s->expect_cap, s->expect_count, sizeof(e)))
        return false;
    s->expects[s->expect_count++] = e;
    return true;
}
