/* lint.c - `asx lint`: loops of tasks that cannot be cancelled.
 *
 * A task is cancelled at its cancellation points, and every one of them takes the task's context.
 * So a loop in which the context is not handed on can run for ever after its task was
 * cancelled. This looks at text, not at meaning: for every function definition that has a
 * parameter `asx_cx *NAME`, every for, while and do loop in it must contain NAME as an argument.
 * Not flagged:
 *   - a for loop whose condition compares with a number written out, up to 4096, or with a
 *     constant, a name in capitals: it ends soon;
 *   - a loop with the comment `asx-lint: bounded` on its first line or the line above.
 * It does not see through macros, and an argument that is passed on need not be a checkpoint: it
 * finds the common mistake, it proves nothing.
 */
#include "cli/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct token {
    const char *text;
    size_t len;
    unsigned line;
} token;

typedef struct source {
    token *tokens;
    size_t count, cap;
    unsigned *bounded; /* lines with the comment */
    size_t bounded_count, bounded_cap;
    void (*found)(void *ctx, unsigned line, const char *function);
    void *ctx;
    size_t findings;
    bool no_memory;
} source;

static bool is(const token *t, const char *text)
{
    return strlen(text) == t->len && memcmp(t->text, text, t->len) == 0;
}

static bool grow(source *s, void **array, size_t *cap, size_t count, size_t size)
{
    if (count < *cap)
        return true;
    size_t more = *cap == 0 ? 256 : *cap * 2;
    void *larger = realloc(*array, more * size);
    if (larger == NULL) {
        s->no_memory = true;
        return false;
    }
    *array = larger;
    *cap = more;
    return true;
}

static void push(source *s, const char *text, size_t len, unsigned line)
{
    if (grow(s, (void **)&s->tokens, &s->cap, s->count, sizeof(token)))
        s->tokens[s->count++] = (token){ text, len, line };
}

static void note_comment(source *s, const char *text, size_t len, unsigned line)
{
    static const char word[] = "asx-lint: bounded";
    for (size_t i = 0; i + sizeof(word) - 1 <= len; i++) {
        if (memcmp(text + i, word, sizeof(word) - 1) == 0 &&
            grow(s, (void **)&s->bounded, &s->bounded_cap, s->bounded_count, sizeof(unsigned))) {
            s->bounded[s->bounded_count++] = line;
            return;
        }
    }
}

/* Length of what must be skipped here as one piece: a comment, a literal, a directive. 0: none. */
static size_t skip(const char *p, size_t left, bool line_start)
{
    size_t n = 1;
    if (left >= 2 && p[0] == '/' && p[1] == '*') {
        for (n = 2; n < left && !(p[n] == '*' && n + 1 < left && p[n + 1] == '/'); n++)
            ;
        return n + 2 < left ? n + 2 : left;
    }
    if (left >= 2 && p[0] == '/' && p[1] == '/') {
        while (n < left && p[n] != '\n')
            n++;
        return n;
    }
    if (p[0] == '"' || p[0] == '\'') {
        for (; n < left && p[n] != p[0] && p[n] != '\n'; n++)
            n += p[n] == '\\' && n + 1 < left;
        return n < left ? n + 1 : left;
    }
    if (p[0] == '#' && line_start) {
        while (n < left && (p[n] != '\n' || p[n - 1] == '\\'))
            n++;
        return n;
    }
    return 0;
}

static void tokenize(source *s, const char *text, size_t len)
{
    unsigned line = 1;
    bool line_start = true;
    for (size_t at = 0; at < len && !s->no_memory;) {
        size_t n = skip(text + at, len - at, line_start);
        unsigned here = line;
        char c = text[at];
        if (n > 0) {
            if (c == '/')
                note_comment(s, text + at, n, here);
            else if (c != '#')
                push(s, text + at, n, here);
        } else if (isalnum((unsigned char)c) || c == '_') {
            for (n = 1; at + n < len &&
                        (isalnum((unsigned char)text[at + n]) || text[at + n] == '_'); n++)
                ;
            push(s, text + at, n, here);
        } else {
            n = 1;
            if (!isspace((unsigned char)c))
                push(s, text + at, 1, here);
        }
        for (size_t i = 0; i < n; i++)
            line += text[at + i] == '\n';
        line_start = c == '\n' || (line_start && isspace((unsigned char)c));
        at += n;
    }
}

/* The token behind the bracket that closes the one at `at`. */
static size_t behind(const source *s, size_t at)
{
    size_t depth = 0;
    for (; at < s->count; at++) {
        char c = s->tokens[at].len == 1 ? *s->tokens[at].text : '\0';
        if (c == '(' || c == '{' || c == '[')
            depth++;
        if ((c == ')' || c == '}' || c == ']') && --depth == 0)
            return at + 1;
    }
    return s->count;
}

static size_t behind_statement(const source *s, size_t at);

/* `at` stands at the keyword of a loop. */
static size_t behind_loop(const source *s, size_t at)
{
    if (is(&s->tokens[at], "do")) {
        at = behind_statement(s, at + 1);
        return at + 1 < s->count ? behind(s, at + 1) : s->count;
    }
    at = behind(s, at + 1);
    return behind_statement(s, at);
}

static size_t behind_statement(const source *s, size_t at)
{
    if (at >= s->count)
        return s->count;
    const token *t = &s->tokens[at];
    if (is(t, "{"))
        return behind(s, at);
    if (is(t, "for") || is(t, "while") || is(t, "do"))
        return behind_loop(s, at);
    if (is(t, "if") || is(t, "switch")) {
        at = behind_statement(s, behind(s, at + 1));
        return at < s->count && is(&s->tokens[at], "else") ? behind_statement(s, at + 1) : at;
    }
    while (at < s->count && !is(&s->tokens[at], ";"))
        at = strchr("({[", *s->tokens[at].text) != NULL ? behind(s, at) : at + 1;
    return at < s->count ? at + 1 : at;
}

/* Is the context an argument somewhere in [from, to)? */
static bool hands_on(const source *s, size_t from, size_t to, const token *cx)
{
    for (size_t i = from + 1; i + 1 < to; i++) {
        const token *t = &s->tokens[i];
        if (t->len != cx->len || memcmp(t->text, cx->text, cx->len) != 0)
            continue;
        const token *before = &s->tokens[i - 1], *after = &s->tokens[i + 1];
        if ((is(before, "(") || is(before, ",")) && (is(after, ")") || is(after, ",")))
            return true;
    }
    return false;
}

static bool is_small(const token *t)
{
    if (isdigit((unsigned char)*t->text))
        return strtoul(t->text, NULL, 0) <= 4096;
    size_t capitals = 0;
    for (size_t i = 0; i < t->len; i++) {
        if (!isupper((unsigned char)t->text[i]) && !isdigit((unsigned char)t->text[i]) &&
            t->text[i] != '_')
            return false;
        capitals += isupper((unsigned char)t->text[i]) != 0;
    }
    return capitals > 1;
}

static bool ends_soon(const source *s, size_t loop)
{
    for (size_t i = 0; i < s->bounded_count; i++) {
        if (s->bounded[i] == s->tokens[loop].line || s->bounded[i] + 1 == s->tokens[loop].line)
            return true;
    }
    if (!is(&s->tokens[loop], "for"))
        return false;
    size_t end = behind(s, loop + 1), i = loop;
    while (i < end && !is(&s->tokens[i], ";"))
        i++;
    for (; i + 2 < end && !is(&s->tokens[i + 1], ";"); i++) {
        bool less = is(&s->tokens[i], "<") ||
                    (is(&s->tokens[i], "=") && is(&s->tokens[i - 1], "<"));
        char next = *s->tokens[i + 2].text;
        if (less && (next == ';' || next == '&') && is_small(&s->tokens[i + 1]))
            return true;
    }
    return false;
}

static void check_body(source *s, size_t from, size_t to, const token *cx, const token *function)
{
    for (size_t i = from; i < to; i++) {
        if (!is(&s->tokens[i], "for") && !is(&s->tokens[i], "while") && !is(&s->tokens[i], "do"))
            continue;
        size_t end = behind_loop(s, i);
        if (end > to)
            end = to;
        if (is(&s->tokens[i], "do")) {
            /* The `while` at its end is no loop of its own. */
            size_t at = behind_statement(s, i + 1);
            if (at < s->count)
                s->tokens[at].len = 0;
        }
        if (!ends_soon(s, i) && !hands_on(s, i, end, cx)) {
            char name[64];
            (void)snprintf(name, sizeof(name), "%.*s", function->len > 60 ? 60 : (int)function->len,
                           function->text);
            s->findings++;
            if (s->found != NULL)
                s->found(s->ctx, s->tokens[i].line, name);
        }
    }
}

/* The name of a parameter `asx_cx *name` between the parentheses; NULL: none. */
static const token *find_context(const source *s, size_t open, size_t close)
{
    for (size_t i = open + 1; i + 2 < close; i++) {
        if (is(&s->tokens[i], "asx_cx") && is(&s->tokens[i + 1], "*") &&
            isalpha((unsigned char)*s->tokens[i + 2].text))
            return &s->tokens[i + 2];
    }
    return NULL;
}

size_t cli_lint_text(const char *text, size_t len,
                     void (*found)(void *ctx, unsigned line, const char *function), void *ctx)
{
    source s = { .found = found, .ctx = ctx };
    tokenize(&s, text, len);
    for (size_t i = 1; i < s.count; i++) {
        if (!is(&s.tokens[i], "("))
            continue;
        size_t close = behind(&s, i);
        if (close < s.count && is(&s.tokens[close], "{")) {
            size_t end = behind(&s, close);
            const token *cx = find_context(&s, i, close);
            if (cx != NULL)
                check_body(&s, close, end, cx, &s.tokens[i - 1]);
            i = cx != NULL ? end - 1 : i;
        }
    }
    free(s.tokens);
    free(s.bounded);
    return s.findings;
}

static void tell(void *ctx, unsigned line, const char *function)
{
    (void)printf("%s:%u: a loop in %s() has no cancellation point\n", (const char *)ctx, line,
                 function);
}

int cli_lint(int argc, char **argv)
{
    size_t findings = 0;
    if (argc < 2)
        return cli_error("usage: asx lint FILE...");
    for (int i = 1; i < argc; i++) {
        char *text = NULL;
        size_t len = 0;
        if (!cli_read_file(argv[i], &text, &len))
            return CLI_USAGE;
        findings += cli_lint_text(text, len, tell, argv[i]);
        free(text);
    }
    return findings == 0 ? CLI_OK : CLI_FAILED;
}
