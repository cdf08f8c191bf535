/* scn_read.c - tokens, numbers, names, fields: the small parts of the scenario reader. */
#include "cli/scn_read.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scn_memory {
    struct scn_memory *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

bool scn_bad(scn_reader *r, const char *format, ...)
{
    if (r->failed)
        return false;
    r->failed = true;
    int n = snprintf(r->error->text, sizeof(r->error->text), "%s:%u: ", r->s->file,
                     (unsigned)(r->line_base + r->line));
    if (n < 0 || (size_t)n >= sizeof(r->error->text))
        return false;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(r->error->text + n, sizeof(r->error->text) - (size_t)n, format, args);
    va_end(args);
    return false;
}

void *scn_alloc(scn_reader *r, size_t size)
{
    struct scn_memory *chunk = r->s->memory;
    size = (size + 15) & ~(size_t)15;
    if (chunk == NULL || chunk->size - chunk->used < size) {
        size_t room = size > 65536 ? size : 65536;
        chunk = malloc(sizeof(*chunk) + room);
        if (chunk == NULL) {
            r->no_memory = true;
            (void)scn_bad(r, "out of memory");
            return NULL;
        }
        chunk->next = r->s->memory;
        chunk->used = 0;
        chunk->size = room;
        r->s->memory = chunk;
    }
    void *result = chunk->bytes + chunk->used;
    chunk->used += size;
    memset(result, 0, size);
    return result;
}

const char *scn_copy(scn_reader *r, const char *text, size_t len)
{
    char *copy = scn_alloc(r, len + 1);
    if (copy != NULL)
        memcpy(copy, text, len);
    return copy;
}

bool scn_grow(scn_reader *r, void **array, uint32_t *cap, uint32_t count, size_t size)
{
    if (count < *cap)
        return true;
    uint32_t more = *cap == 0 ? 16 : *cap * 2;
    void *larger = scn_alloc(r, (size_t)more * size);
    if (larger == NULL)
        return false;
    if (count > 0)
        memcpy(larger, *array, (size_t)count * size);
    *array = larger;
    *cap = more;
    return true;
}

void scn_deinit(scn *s)
{
    while (s->memory != NULL) {
        struct scn_memory *chunk = s->memory;
        s->memory = chunk->next;
        free(chunk);
    }
    *s = (scn){ 0 };
}

/* ---- tokens ---- */

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* `at` stands behind a '$'. Appends the variable's value; returns what follows, NULL: error. */
static const char *fill_in(scn_reader *r, const char *at, char *out, size_t *len)
{
    char name[64];
    size_t n = 0;
    bool braces = *at == '{';
    if (braces)
        at++;
    while (is_name_char(*at) && n + 1 < sizeof(name))
        name[n++] = *at++;
    name[n] = '\0';
    if (braces && *at++ != '}') {
        (void)scn_bad(r, "'${' without '}'");
        return NULL;
    }
    for (uint32_t i = r->binding_count; i-- > 0;) {
        if (strcmp(r->bindings[i].name, name) != 0)
            continue;
        size_t size = strlen(r->bindings[i].value);
        if (*len + size >= SCN_LINE_MAX) {
            (void)scn_bad(r, "line is longer than %d characters", SCN_LINE_MAX);
            return NULL;
        }
        memcpy(out + *len, r->bindings[i].value, size);
        *len += size;
        return at;
    }
    (void)scn_bad(r, "nothing is called '$%s' here", name);
    return NULL;
}

/* Reads one token from *at. False: error. */
static bool cut_token(scn_reader *r, const char **at, scn_token *ret_token)
{
    char out[SCN_LINE_MAX + 1];
    size_t len = 0;
    const char *p = *at;
    bool quoted = *p == '"';
    if (quoted)
        p++;
    while (*p != '\0' && (quoted ? *p != '"' : *p != ' ' && *p != '\t')) {
        if (*p == '$') {
            p = fill_in(r, p + 1, out, &len);
            if (p == NULL)
                return false;
            continue;
        }
        if (len >= SCN_LINE_MAX)
            return scn_bad(r, "line is longer than %d characters", SCN_LINE_MAX);
        out[len++] = *p++;
    }
    if (quoted && *p++ != '"')
        return scn_bad(r, "text without closing '\"'");
    if (quoted && *p != '\0' && *p != ' ' && *p != '\t')
        return scn_bad(r, "a space is missing behind a text");
    *at = p;
    ret_token->quoted = quoted;
    ret_token->text = scn_copy(r, out, len);
    return ret_token->text != NULL;
}

bool scn_tokenize(scn_reader *r, uint32_t index)
{
    const char *p = r->lines[index];
    r->line = index;
    r->token_count = 0;
    r->next = 0;
    for (;;) {
        while (*p == ' ' || *p == '\t')
            p++;
        if (*p == '\0' || *p == '#')
            return true;
        if (r->token_count == SCN_TOKENS_MAX)
            return scn_bad(r, "more than %d words in a line", SCN_TOKENS_MAX);
        if (!cut_token(r, &p, &r->tokens[r->token_count]))
            return false;
        r->token_count++;
    }
}

const char *scn_peek(const scn_reader *r)
{
    return r->next < r->token_count ? r->tokens[r->next].text : NULL;
}

const char *scn_take(scn_reader *r)
{
    return r->next < r->token_count ? r->tokens[r->next++].text : NULL;
}

bool scn_take_word(scn_reader *r, const char *word)
{
    const char *text = scn_peek(r);
    if (text == NULL || r->tokens[r->next].quoted || strcmp(text, word) != 0)
        return false;
    r->next++;
    return true;
}

bool scn_line_end(scn_reader *r)
{
    if (r->next < r->token_count)
        return scn_bad(r, "'%.60s' is not expected here", scn_peek(r));
    return true;
}

/* ---- numbers and words ---- */

bool scn_number(const char *text, uint64_t *ret_number)
{
    static const struct {
        const char *unit;
        uint64_t factor;
    } units[] = {
        { "", 1 },
        { "ns", 1 },
        { "us", ASX_US },
        { "ms", ASX_MS },
        { "s", ASX_SEC },
        { "min", 60 * ASX_SEC },
        { "h", 3600 * ASX_SEC },
        { "d", 86400 * ASX_SEC },
    };
    uint64_t number = 0;
    if (strncmp(text, "max", 3) == 0) {
        uint64_t less = 0;
        if (text[3] != '\0' && (text[3] != '-' || !scn_number(text + 4, &less)))
            return false;
        *ret_number = UINT64_MAX - less;
        return true;
    }
    if (strcmp(text, "never") == 0) {
        *ret_number = ASX_TIME_NEVER;
        return true;
    }
    unsigned base = 10;
    if (text[0] == '0' && text[1] == 'x') {
        base = 16;
        text += 2;
    }
    if (!isdigit((unsigned char)*text) && !(base == 16 && isxdigit((unsigned char)*text)))
        return false;
    for (; isxdigit((unsigned char)*text); text++) {
        unsigned digit = isdigit((unsigned char)*text) ? (unsigned)(*text - '0')
                                                       : (unsigned)(tolower(*text) - 'a') + 10;
        if (digit >= base)
            break;
        if (number > (UINT64_MAX - digit) / base)
            return false;
        number = number * base + digit;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(text, units[i].unit) == 0) {
            *ret_number = number * units[i].factor;
            return number <= UINT64_MAX / units[i].factor;
        }
    }
    return false;
}

bool scn_take_number(scn_reader *r, const char *what, uint64_t *ret_number)
{
    const char *text = scn_take(r);
    if (text == NULL)
        return scn_bad(r, "%s is missing", what);
    if (!scn_number(text, ret_number))
        return scn_bad(r, "'%.60s' is not a number", text);
    return true;
}

bool scn_take_value(scn_reader *r, bool compare, scn_value *ret_value)
{
    static const struct {
        const char *text;
        scn_compare compare;
    } signs[] = { { ">=", SCN_GE }, { "<=", SCN_LE }, { "!=", SCN_NE },
                  { ">", SCN_GT },  { "<", SCN_LT },  { "", SCN_EQ } };
    const char *text = scn_take(r);
    if (text == NULL)
        return scn_bad(r, "a number is missing");
    *ret_value = (scn_value){ .source = SCN_NUMBER, .compare = SCN_EQ };
    for (size_t i = 0; compare && i < sizeof(signs) / sizeof(signs[0]); i++) {
        size_t len = strlen(signs[i].text);
        if (strncmp(text, signs[i].text, len) == 0) {
            ret_value->compare = (uint8_t)signs[i].compare;
            text += len;
            break;
        }
    }
    if (strcmp(text, "it") == 0)
        ret_value->source = SCN_IT;
    else if (strcmp(text, "now") == 0)
        ret_value->source = SCN_NOW;
    else if (!scn_number(text, &ret_value->number))
        return scn_bad(r, "'%.60s' is not a number", text);
    return true;
}

bool scn_take_status(scn_reader *r, int32_t *ret_status)
{
    const char *text = scn_take(r);
    if (text == NULL)
        return scn_bad(r, "a status is missing");
    if (!scn_status_find(text, ret_status))
        return scn_bad(r, "'%.60s' is not a status", text);
    return true;
}

bool scn_take_yes_no(scn_reader *r, uint64_t *ret_number)
{
    const char *text = scn_take(r);
    if (text == NULL || (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0))
        return scn_bad(r, "'yes' or 'no' is expected");
    *ret_number = text[0] == 'y';
    return true;
}

/* ---- names ---- */

static bool is_name(const char *text)
{
    if (!isalpha((unsigned char)*text))
        return false;
    for (; *text != '\0'; text++) {
        if (!is_name_char(*text) && *text != '-' && *text != '.')
            return false;
    }
    return true;
}

uint32_t scn_object_named(scn_reader *r, scn_type type, const char *name, bool define)
{
    scn *s = r->s;
    if (!is_name(name)) {
        (void)scn_bad(r, "'%.60s' is not a name of a %s", name, scn_type_name(type));
        return SCN_NONE;
    }
    for (uint32_t i = 0; i < s->object_count; i++) {
        if (s->objects[i].type == type && strcmp(s->objects[i].name, name) == 0) {
            if (define && i < SCN_RESERVED) {
                (void)scn_bad(r, "'%s' is reserved", name);
                return SCN_NONE;
            }
            s->objects[i].defined |= define;
            return i;
        }
    }
    if (s->object_count == SCN_OBJECTS_MAX)
        (void)scn_bad(r, "more than %d names", SCN_OBJECTS_MAX);
    if (r->failed ||
        !scn_grow(r, (void **)&s->objects, &s->object_cap, s->object_count, sizeof(scn_object)))
        return SCN_NONE;
    scn_object *object = &s->objects[s->object_count];
    object->name = scn_copy(r, name, strlen(name));
    object->line = r->line_base + r->line;
    object->type = (uint16_t)type;
    object->defined = define;
    if (type == SCN_NOTE)
        object->code = ++r->note_codes;
    return object->name == NULL ? SCN_NONE : s->object_count++;
}

uint32_t scn_take_object(scn_reader *r, scn_type type, bool define)
{
    const char *name = scn_take(r);
    if (name == NULL) {
        (void)scn_bad(r, "the name of a %s is missing", scn_type_name(type));
        return SCN_NONE;
    }
    return scn_object_named(r, type, name, define);
}

/* ---- bodies ---- */

static uint32_t find_template(scn_reader *r, const char *name, size_t len)
{
    for (uint32_t i = 0; i < r->template_count; i++) {
        if (strlen(r->templates[i].name) == len && memcmp(r->templates[i].name, name, len) == 0)
            return i;
    }
    (void)scn_bad(r, "there is no body '%.*s'", len > 60 ? 60 : (int)len, name);
    return SCN_NONE;
}

/* "a,b)" behind the parenthesis. */
static bool cut_arguments(scn_reader *r, const char *at, scn_instance *instance, uint32_t *count)
{
    *count = 0;
    while (*at != ')') {
        size_t len = strcspn(at, ",)");
        if (at[len] == '\0' || len == 0)
            return scn_bad(r, "arguments are written name(a,b)");
        if (*count == SCN_PARAMS_MAX)
            return scn_bad(r, "more than %d arguments", SCN_PARAMS_MAX);
        instance->args[*count] = scn_copy(r, at, len);
        if (instance->args[(*count)++] == NULL)
            return false;
        at += len + (at[len] == ',');
    }
    return at[1] == '\0' || scn_bad(r, "arguments are written name(a,b)");
}

uint32_t scn_take_body(scn_reader *r)
{
    scn *s = r->s;
    const char *text = scn_take(r);
    if (text == NULL) {
        (void)scn_bad(r, "a body is missing");
        return SCN_NONE;
    }
    for (uint32_t i = 1; i < s->body_count; i++) {
        if (strcmp(s->bodies[i].name, text) == 0)
            return i;
    }
    size_t len = strcspn(text, "(");
    scn_instance instance = { .template_index = find_template(r, text, len) };
    uint32_t count = 0;
    if (instance.template_index == SCN_NONE)
        return SCN_NONE;
    scn_template *origin = &r->templates[instance.template_index];
    origin->used = true;
    if (text[len] == '(' && !cut_arguments(r, text + len + 1, &instance, &count))
        return SCN_NONE;
    if (count != origin->param_count || s->body_count == SCN_BODIES_MAX) {
        (void)(count != origin->param_count
                   ? scn_bad(r, "body '%s' has %u parameters, not %u", origin->name,
                             (unsigned)origin->param_count, (unsigned)count)
                   : scn_bad(r, "more than %d bodies", SCN_BODIES_MAX));
        return SCN_NONE;
    }
    if (!scn_grow(r, (void **)&s->bodies, &s->body_cap, s->body_count, sizeof(scn_body)) ||
        !scn_grow(r, (void **)&r->instances, &r->instance_cap, s->body_count,
                  sizeof(scn_instance)))
        return SCN_NONE;
    s->bodies[s->body_count] = (scn_body){ .name = text, .line = r->line_base + origin->first };
    r->instances[s->body_count] = instance;
    return s->body_count++;
}

/* ---- fields ---- */

static bool take_set(scn_reader *r, scn_words words, uint64_t *ret_set)
{
    const char *text = scn_take(r);
    char word[64];
    uint64_t number;
    if (text == NULL)
        return scn_bad(r, "a list of words is missing");
    *ret_set = 0;
    if (strcmp(text, "none") == 0)
        return true;
    for (;;) {
        size_t len = strcspn(text, ",");
        (void)snprintf(word, sizeof(word), "%.*s", len > 60 ? 60 : (int)len, text);
        if (!scn_word_find(words, word, &number))
            return scn_bad(r, "'%s' is not known here", word);
        *ret_set |= (uint64_t)1 << number;
        if (text[len] == '\0')
            return true;
        text += len + 1;
    }
}

static bool push_field(scn_reader *r, const scn_field *field)
{
    scn *s = r->s;
    if (!scn_grow(r, (void **)&s->fields, &s->field_cap, s->field_count, sizeof(scn_field)))
        return false;
    s->fields[s->field_count++] = *field;
    return true;
}

static bool take_timers(scn_reader *r, scn_field field)
{
    if (scn_take_word(r, "none"))
        return push_field(r, &field);
    const char *text = scn_peek(r);
    if (text == NULL || strcmp(text, "->") == 0)
        return scn_bad(r, "names of timers, or 'none', are missing");
    while ((text = scn_peek(r)) != NULL && strcmp(text, "->") != 0) {
        field.object = scn_take_object(r, SCN_TIMER, false);
        if (field.object == SCN_NONE || !push_field(r, &field))
            return false;
    }
    return true;
}

static bool take_field(scn_reader *r, const scn_field_form *form)
{
    scn_field field = { .key = form->key, .object = SCN_NONE };
    const char *text = scn_peek(r);
    int32_t status = 0;
    bool ok = true;
    switch ((scn_form)form->form) {
    case V_VALUE:
        ok = scn_take_value(r, true, &field.value);
        break;
    case V_STATUS:
        ok = scn_take_status(r, &status);
        field.value.number = (uint64_t)(int64_t)status;
        break;
    case V_TEXT:
        field.text = scn_take(r);
        ok = field.text != NULL || scn_bad(r, "a text is missing");
        break;
    case V_YES_NO:
        ok = scn_take_yes_no(r, &field.value.number);
        break;
    case V_WORD:
        ok = scn_take(r) != NULL &&
             scn_word_find((scn_words)form->words, text, &field.value.number);
        if (!ok)
            return scn_bad(r, "'%.60s' is not known behind '%s'", text == NULL ? "" : text,
                           form->text);
        break;
    case V_SET:
        ok = take_set(r, (scn_words)form->words, &field.value.number);
        break;
    case V_REGION:
    case V_TASK:
    case V_NEW_TASK:
    case V_NEW_REPORT:
        field.object = scn_take_object(r,
                                       form->form == V_REGION       ? SCN_REGION
                                       : form->form == V_NEW_REPORT ? SCN_REPORT
                                                                    : SCN_TASK,
                                       form->form == V_NEW_TASK || form->form == V_NEW_REPORT);
        ok = field.object != SCN_NONE;
        break;
    case V_TIMERS:
        return take_timers(r, field);
    case V_RESULT:
        if (scn_take_word(r, "none"))
            field.key = F_NONE;
        else
            ok = scn_take_value(r, true, &field.value);
        break;
    default:
        break;
    }
    return ok && push_field(r, &field);
}

bool scn_take_fields(scn_reader *r, const scn_field_form *forms, uint32_t *ret_first,
                     uint32_t *ret_count)
{
    uint32_t first = r->s->field_count;
    const char *text;
    while ((text = scn_peek(r)) != NULL && (r->tokens[r->next].quoted || strcmp(text, "->") != 0)) {
        const scn_field_form *form = forms;
        while (form->text != NULL && strcmp(form->text, text) != 0)
            form++;
        if (form->text == NULL)
            return scn_bad(r, "'%.60s' is not expected here", text);
        for (uint32_t i = first; i < r->s->field_count; i++) {
            if (r->s->fields[i].key == form->key)
                return scn_bad(r, "'%s' stands here twice", form->text);
        }
        r->next++;
        if (!take_field(r, form))
            return false;
    }
    *ret_first = first;
    *ret_count = r->s->field_count - first;
    return true;
}
