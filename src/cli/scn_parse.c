/* scn_parse.c - the structure of a scenario: sections, blocks, directives, bodies, operations. */
#include "cli/scn_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sections ---- */

static bool starts_with_word(const char *line, size_t len, const char *word)
{
    size_t n = strlen(word);
    size_t at = 0;
    while (at < len && (line[at] == ' ' || line[at] == '\t'))
        at++;
    return len - at > n && memcmp(line + at, word, n) == 0 &&
           (line[at + n] == ' ' || line[at + n] == '\t');
}

/* Nothing but blanks and a comment? */
static bool says_nothing(const char *line, size_t len)
{
    size_t at = 0;
    while (at < len && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r'))
        at++;
    return at == len || line[at] == '#';
}

size_t scn_split(const char *text, size_t len, scn_section *ret_sections, size_t max)
{
    size_t count = 0;
    uint32_t line = 1;
    for (size_t at = 0; at < len; line++) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end == NULL ? len - at : (size_t)(end - (text + at));
        bool headed = starts_with_word(text + at, n, "scenario");
        if (headed || (count == 0 && !says_nothing(text + at, n))) {
            if (count > 0 && count <= max)
                ret_sections[count - 1].len = (size_t)(text + at - ret_sections[count - 1].text);
            if (count < max)
                ret_sections[count] = (scn_section){ text + at, len - at, line, headed };
            count++;
        }
        at += n + 1;
    }
    return count;
}

/* ---- lines and blocks ---- */

static bool split_lines(scn_reader *r, const char *text, size_t len)
{
    uint32_t count = 1;
    for (size_t i = 0; i < len; i++)
        count += text[i] == '\n';
    r->lines = scn_alloc(r, (count + 1) * sizeof(*r->lines));
    r->block_end = scn_alloc(r, (count + 1) * sizeof(*r->block_end));
    if (r->lines == NULL || r->block_end == NULL)
        return false;
    for (size_t at = 0; at < len; r->line_count++) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end == NULL ? len - at : (size_t)(end - (text + at));
        r->line = r->line_count;
        if (n > SCN_LINE_MAX)
            return scn_bad(r, "line is longer than %d characters", SCN_LINE_MAX);
        for (size_t i = 0; i < n; i++) {
            char c = text[at + i];
            if ((unsigned char)c < ' ' && c != '\t' && !(c == '\r' && i + 1 == n))
                return scn_bad(r, "a control character");
        }
        r->lines[r->line_count] = scn_copy(r, text + at, n - (n > 0 && text[at + n - 1] == '\r'));
        if (r->lines[r->line_count] == NULL)
            return false;
        at += n + 1;
    }
    return true;
}

/* The first two words of a line, without looking at variables. */
static void first_words(const char *line, char first[16], char second[16])
{
    char *out[2] = { first, second };
    first[0] = second[0] = '\0';
    for (int word = 0; word < 2; word++) {
        size_t n = 0;
        line += strspn(line, " \t");
        if (*line == '#')
            return;
        for (; *line != '\0' && *line != ' ' && *line != '\t'; line++) {
            if (n < 15)
                out[word][n++] = *line;
        }
        out[word][n] = '\0';
    }
}

static bool find_blocks(scn_reader *r)
{
    uint32_t open[SCN_NESTING_MAX];
    uint32_t depth = 0;
    char first[16], second[16];
    for (uint32_t i = 0; i < r->line_count; i++) {
        first_words(r->lines[i], first, second);
        r->line = i;
        if (strcmp(first, "body") == 0 || strcmp(first, "main") == 0 ||
            strcmp(first, "repeat") == 0 || strcmp(first, "for") == 0 ||
            (strcmp(first, "expect") == 0 && strcmp(second, "exactly") == 0)) {
            if (depth == SCN_NESTING_MAX)
                return scn_bad(r, "blocks are nested more than %d deep", SCN_NESTING_MAX);
            open[depth++] = i;
        } else if (strcmp(first, "end") == 0) {
            if (depth == 0)
                return scn_bad(r, "'end' without a block");
            r->block_end[open[--depth]] = i;
        }
    }
    if (depth > 0) {
        r->line = open[depth - 1];
        return scn_bad(r, "this block has no 'end'");
    }
    return true;
}

/* ---- operations ---- */

static scn_op *push_op(scn_reader *r, uint16_t code)
{
    scn *s = r->s;
    if (s->op_count == SCN_OPS_MAX) {
        (void)scn_bad(r, "more than %d operations", SCN_OPS_MAX);
        return NULL;
    }
    if (!scn_grow(r, (void **)&s->ops, &s->op_cap, s->op_count, sizeof(scn_op)))
        return NULL;
    scn_op *op = &s->ops[s->op_count++];
    *op = (scn_op){ .code = code, .line = r->line_base + r->line };
    op->object[0] = op->object[1] = op->object[2] = SCN_NONE;
    op->body[0] = op->body[1] = op->body[2] = SCN_NONE;
    return op;
}

static scn_type type_of_letter(char letter)
{
    switch (letter) {
#define TYPE_CASE(name, lower, text)                                                               \
    case lower:                                                                                    \
        return SCN_##name;
        SCN_TYPE_LIST(TYPE_CASE)
#undef TYPE_CASE
    default:
        return SCN_TYPE_COUNT;
    }
}

/* One place of an operation's form. */
static bool read_place(scn_reader *r, char letter, scn_op *op, uint32_t *objects, uint32_t *bodies)
{
    bool define = letter >= 'A' && letter <= 'Z';
    char lower = define ? (char)(letter - 'A' + 'a') : letter;
    switch (lower) {
    case 'v':
        return scn_take_value(r, false, &op->value);
    case 's': {
        int32_t status = 0;
        bool ok = scn_take_status(r, &status);
        op->value.number = (uint64_t)(int64_t)status;
        return ok;
    }
    case '"':
        op->text = scn_take(r);
        return op->text != NULL || scn_bad(r, "a text is missing");
    case '@':
        op->body[*bodies] = scn_take_body(r);
        return op->body[(*bodies)++] != SCN_NONE;
    case 'y': {
        const char *name = scn_peek(r);
        op->object[*objects] = scn_take_object(r, SCN_SENDER, true);
        if (op->object[(*objects)++] == SCN_NONE)
            return false;
        op->object[*objects] = scn_object_named(r, SCN_RECEIVER, name, true);
        return op->object[(*objects)++] != SCN_NONE;
    }
    default:
        op->object[*objects] = scn_take_object(r, type_of_letter(lower), define);
        return op->object[(*objects)++] != SCN_NONE;
    }
}

static bool is_field(const scn_field_form *forms, const char *text)
{
    for (; forms->text != NULL; forms++) {
        if (strcmp(forms->text, text) == 0)
            return true;
    }
    return false;
}

static bool read_places(scn_reader *r, const scn_op_form *form, scn_op *op)
{
    uint32_t objects = 0, bodies = 0;
    for (const char *f = form->form; *f != '\0'; f++) {
        bool optional = f[1] == '?';
        const char *text = scn_peek(r);
        if (optional && (text == NULL || strcmp(text, "->") == 0 || is_field(form->fields, text)))
            return true;
        if (!read_place(r, *f, op, &objects, &bodies))
            return false;
        f += optional;
    }
    return true;
}

static bool read_answer(scn_reader *r, int32_t *ret_expect)
{
    *ret_expect = ASX_OK;
    if (!scn_take_word(r, "->"))
        return scn_line_end(r);
    if (scn_take_word(r, "any"))
        *ret_expect = SCN_ANY;
    else if (scn_take_word(r, "return"))
        *ret_expect = SCN_RETURN;
    else if (!scn_take_status(r, ret_expect))
        return false;
    return scn_line_end(r);
}

/* What a value that is not written stands for: for ever, or any of them. */
static void default_value(scn_op *op)
{
    if (op->code == SCN_OP_REPEAT || op->code == SCN_OP_CHECK_ITEM)
        op->value.number = UINT64_MAX;
}

bool scn_read_op(scn_reader *r)
{
    uint16_t code = 0;
    int words = 0;
    const char *first = scn_peek(r);
    const char *second = r->next + 1 < r->token_count ? r->tokens[r->next + 1].text : NULL;
    bool await = strcmp(first, "await") == 0;
    if (!scn_op_find(await ? "check" : first, second, &code, &words))
        return scn_bad(r, "there is no operation '%.60s'", first);
    r->next += (uint32_t)words;
    scn_op *op = push_op(r, code);
    if (op == NULL)
        return false;
    uint32_t index = r->s->op_count - 1;
    scn_op draft = *op; /* reading the rest may move the array */
    draft.await = await || code == SCN_OP_SETTLE;
    default_value(&draft);
    if (!read_places(r, scn_op_form_of(code), &draft))
        return false;
    if (!scn_take_fields(r, scn_op_form_of(code)->fields, &draft.field_first, &draft.field_count))
        return false;
    if (!read_answer(r, &draft.expect))
        return false;
    r->s->ops[index] = draft;
    return true;
}

/* ---- bodies ---- */

static bool read_block(scn_reader *r, uint32_t first, uint32_t end, unsigned depth);

static bool read_repeat(scn_reader *r, uint32_t line, unsigned depth)
{
    uint32_t start = r->s->op_count;
    if (!scn_read_op(r) || !read_block(r, line + 1, r->block_end[line], depth + 1))
        return false;
    r->line = r->block_end[line];
    scn_op *again = push_op(r, SCN_OP_AGAIN);
    if (again == NULL)
        return false;
    again->jump = start;
    r->s->ops[start].jump = r->s->op_count;
    return true;
}

static bool read_for(scn_reader *r, uint32_t line, unsigned depth)
{
    uint64_t from = 0, to = 0;
    char digits[24];
    r->next = 1;
    const char *name = scn_take(r);
    if (name == NULL)
        return scn_bad(r, "'for' is written: for NAME FROM TO");
    if (!scn_take_number(r, "the first number", &from) ||
        !scn_take_number(r, "the last number", &to) || !scn_line_end(r))
        return false;
    if (r->binding_count == SCN_BINDINGS_MAX)
        return scn_bad(r, "too many variables");
    uint32_t mine = r->binding_count++;
    for (uint64_t i = from; i <= to && !r->failed; i++) {
        r->line = line;
        if (++r->rounds > SCN_ROUNDS_MAX)
            return scn_bad(r, "more than %d rounds of 'for'", SCN_ROUNDS_MAX);
        (void)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)i);
        r->bindings[mine] = (scn_binding){ name, scn_copy(r, digits, strlen(digits)) };
        if (r->bindings[mine].value == NULL ||
            !read_block(r, line + 1, r->block_end[line], depth + 1))
            return false;
    }
    r->binding_count = mine;
    return !r->failed;
}

static bool read_block(scn_reader *r, uint32_t first, uint32_t end, unsigned depth)
{
    for (uint32_t i = first; i < end; i++) {
        if (!scn_tokenize(r, i))
            return false;
        if (r->token_count == 0)
            continue;
        if (strcmp(scn_peek(r), "repeat") == 0 || strcmp(scn_peek(r), "for") == 0) {
            bool repeat = *scn_peek(r) == 'r';
            if (!(repeat ? read_repeat(r, i, depth) : read_for(r, i, depth)))
                return false;
            i = r->block_end[i];
        } else if (r->block_end[i] != 0 || !scn_read_op(r)) {
            return scn_bad(r, "'%.60s' cannot stand inside a block", scn_peek(r));
        }
    }
    return true;
}

static bool read_bodies(scn_reader *r)
{
    scn *s = r->s;
    for (uint32_t i = 0; i < s->body_count; i++) {
        const scn_instance instance = r->instances[i];
        const scn_template *origin = &r->templates[instance.template_index];
        uint32_t first = s->op_count;
        r->binding_count = 0;
        for (uint32_t p = 0; p < origin->param_count; p++)
            r->bindings[r->binding_count++] =
                (scn_binding){ origin->params[p], instance.args[p] };
        if (!read_block(r, origin->first + 1, origin->end, 0))
            return false;
        s->bodies[i].op_first = first;
        s->bodies[i].op_count = s->op_count - first;
    }
    r->binding_count = 0;
    return true;
}

static bool read_template(scn_reader *r, bool is_main)
{
    scn_template t = { .name = "main", .first = r->line, .end = r->block_end[r->line] };
    t.used = is_main;
    if (!is_main) {
        t.name = scn_take(r);
        if (t.name == NULL || strpbrk(t.name, "()") != NULL || strcmp(t.name, "main") == 0)
            return scn_bad(r, "a body needs a name");
        while (scn_peek(r) != NULL && t.param_count < SCN_PARAMS_MAX)
            t.params[t.param_count++] = scn_take(r);
    }
    if (!scn_line_end(r))
        return false;
    for (uint32_t i = 0; i < r->template_count; i++) {
        if (strcmp(r->templates[i].name, t.name) == 0)
            return scn_bad(r, "there is another body '%s'", t.name);
    }
    if (!scn_grow(r, (void **)&r->templates, &r->template_cap, r->template_count, sizeof(t)))
        return false;
    if (is_main) {
        r->has_main = true;
        r->instances[0].template_index = r->template_count;
        r->s->bodies[0] = (scn_body){ .name = "main", .line = r->line_base + r->line };
    }
    r->templates[r->template_count++] = t;
    return true;
}

/* ---- directives ---- */

static bool read_scenario(scn_reader *r)
{
    scn *s = r->s;
    if (s->id_count > 0)
        return scn_bad(r, "a second 'scenario' in one section");
    const char *id;
    while ((id = scn_take(r)) != NULL) {
        if (s->id_count == SCN_IDS_MAX)
            return scn_bad(r, "more than %d names", SCN_IDS_MAX);
        s->ids[s->id_count++] = id;
    }
    return s->id_count > 0 || scn_bad(r, "a scenario needs a name");
}

/* One of two words, or `both`. */
static bool read_choice(scn_reader *r, const char *one, const char *two, unsigned *ret_choice)
{
    if (scn_take_word(r, one))
        *ret_choice = 1;
    else if (scn_take_word(r, two))
        *ret_choice = 2;
    else if (scn_take_word(r, "both"))
        *ret_choice = 3;
    else
        return scn_bad(r, "'%s', '%s' or 'both' is expected", one, two);
    return scn_line_end(r);
}

static bool read_seeds(scn_reader *r)
{
    scn *s = r->s;
    s->seed_count = 0;
    while (scn_peek(r) != NULL) {
        if (s->seed_count == SCN_SEEDS_MAX)
            return scn_bad(r, "more than %d seeds", SCN_SEEDS_MAX);
        if (!scn_take_number(r, "a seed", &s->seeds[s->seed_count]))
            return false;
        s->seed_count++;
    }
    return s->seed_count > 0 || scn_bad(r, "a seed is missing");
}

/* Any number is what goes without saying. */
static bool read_workers(scn_reader *r)
{
    if (!scn_take_word(r, "one"))
        return scn_bad(r, "'workers one', and why, is expected");
    if (scn_peek(r) == NULL)
        return scn_bad(r, "why one worker?");
    r->s->one_worker = strstr(r->lines[r->line], "one") + strlen("one");
    r->s->one_worker += strspn(r->s->one_worker, " \t");
    return true;
}

static bool read_directive(scn_reader *r)
{
    const char *word = scn_take(r);
    if (strcmp(word, "scenario") == 0)
        return read_scenario(r);
    if (strcmp(word, "title") == 0) {
        r->s->title = r->lines[r->line] + strspn(r->lines[r->line], " \t") + strlen("title");
        r->s->title += strspn(r->s->title, " \t");
        return true;
    }
    if (strcmp(word, "vehicle") == 0)
        return read_choice(r, "fiber", "poll", &r->s->vehicles);
    if (strcmp(word, "mode") == 0)
        return read_choice(r, "lab", "live", &r->s->modes);
    if (strcmp(word, "workers") == 0)
        return read_workers(r);
    if (strcmp(word, "seeds") == 0)
        return read_seeds(r);
    if (strcmp(word, "config") == 0)
        return scn_read_config(r);
    if (strcmp(word, "body") == 0)
        return read_template(r, false);
    if (strcmp(word, "main") == 0)
        return read_template(r, true);
    return scn_bad(r, "'%.60s' is not known outside a body", word);
}

/* Bodies are read when they are used, expectations when all names are known. */
static bool read_top(scn_reader *r, bool expectations)
{
    for (uint32_t i = 0; i < r->line_count; i++) {
        if (!scn_tokenize(r, i))
            return false;
        if (r->token_count == 0)
            continue;
        bool is_expect = strcmp(scn_peek(r), "expect") == 0;
        if (expectations && is_expect && !scn_read_expect(r))
            return false;
        if (!expectations && !is_expect && !read_directive(r))
            return false;
        if (r->block_end[i] != 0)
            i = r->block_end[i];
        r->line = i;
    }
    return true;
}

static bool check_names(scn_reader *r)
{
    for (uint32_t i = 0; i < r->template_count; i++) {
        if (!r->templates[i].used) {
            r->line = r->templates[i].first;
            return scn_bad(r, "body '%s' is never used", r->templates[i].name);
        }
    }
    for (uint32_t i = 0; i < r->s->object_count; i++) {
        const scn_object *object = &r->s->objects[i];
        if (!object->defined) {
            r->line = object->line - r->line_base;
            return scn_bad(r, "nothing makes the %s '%s'", scn_type_name(object->type),
                           object->name);
        }
    }
    return true;
}

static bool reserve_names(scn_reader *r)
{
    static const struct {
        const char *name;
        scn_type type;
    } reserved[SCN_RESERVED] = { { "root", SCN_REGION },
                                 { "here", SCN_REGION },
                                 { "self", SCN_TASK },
                                 { "main", SCN_TASK } };
    scn *s = r->s;
    if (!scn_grow(r, (void **)&s->objects, &s->object_cap, 0, sizeof(scn_object)) ||
        !scn_grow(r, (void **)&s->bodies, &s->body_cap, 0, sizeof(scn_body)) ||
        !scn_grow(r, (void **)&r->instances, &r->instance_cap, 0, sizeof(scn_instance)))
        return false;
    for (uint32_t i = 0; i < SCN_RESERVED; i++)
        s->objects[i] = (scn_object){ .name = reserved[i].name,
                                      .line = r->line_base,
                                      .type = (uint16_t)reserved[i].type,
                                      .defined = true };
    s->object_count = SCN_RESERVED;
    s->body_count = 1;
    return true;
}

static bool read_all(scn_reader *r, const char *text, size_t len)
{
    scn *s = r->s;
    if (len > SCN_TEXT_MAX)
        return scn_bad(r, "the text is longer than %d bytes", SCN_TEXT_MAX);
    s->section = scn_copy(r, text, len);
    s->section_len = len;
    if (s->section == NULL || !reserve_names(r) || !split_lines(r, text, len) || !find_blocks(r) ||
        !read_top(r, false))
        return false;
    r->line = 0;
    if (s->id_count == 0)
        return scn_bad(r, "no line 'scenario NAME'");
    if (!r->has_main)
        return scn_bad(r, "no 'main'");
    return read_bodies(r) && read_top(r, true) && check_names(r);
}

asx_status scn_parse(const char *file, uint32_t first_line, const char *text, size_t len,
                     scn *ret_scn, scn_error *ret_error)
{
    scn s = { .file = "", .line = first_line, .vehicles = SCN_FIBER, .modes = SCN_LAB };
    scn_reader *r = calloc(1, sizeof(*r));
    ret_error->text[0] = '\0';
    if (r == NULL) {
        (void)snprintf(ret_error->text, sizeof(ret_error->text), "%.200s: out of memory", file);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    r->s = &s;
    r->error = ret_error;
    r->line_base = first_line;
    s.file = scn_copy(r, file, strlen(file));
    s.seed_count = 1;
    s.config.runtime.trace = true;
    if (s.file == NULL)
        s.file = "";
    bool ok = !r->failed && read_all(r, text, len);
    asx_status st = ok ? ASX_OK : r->no_memory ? ASX_E_RESOURCE_EXHAUSTED : ASX_E_SCENARIO;
    free(r);
    if (st < 0)
        scn_deinit(&s);
    *ret_scn = s;
    return st;
}
