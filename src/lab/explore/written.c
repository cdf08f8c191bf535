/* written.c - a checked expression as its author wrote it.
 *
 * asx_lab_check() keeps the text of its argument. Where a macro of the test stands around it
 * (`#define REQUIRE(e) asx_lab_check(cx, e)`) the preprocessor has expanded the macros of this
 * library in the argument before. They are taken back here:
 *
 *     asx_lab_left((asx_lab_enter("..."), (CALL)))                  CALL
 *     __extension__({ (__typeof__(*(p)))(uintptr_t)(CALL); })       CALL
 *     asx_NAME_at((cx), (volatile void *)(p), sizeof *(p), "...")   asx_NAME(cx, p)
 *     ((void *)0)                                                   NULL
 *
 * Everything else is copied.
 */
#include "lab/explore/explore.h"

#include <string.h>

typedef struct written {
    char *at;
    size_t len, size;
} written;

static void put(written *w, const char *text, size_t len)
{
    for (size_t i = 0; i < len && w->len + 1 < w->size; i++)
        w->at[w->len++] = text[i];
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Behind the literal that begins here. */
static const char *skip_literal(const char *p, const char *end)
{
    char quote = *p++;
    while (p < end && *p != quote)
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p < end ? p + 1 : end;
}

/* Behind the bracket that closes the one that begins here. */
static const char *skip_brackets(const char *p, const char *end)
{
    unsigned depth = 0;
    while (p < end) {
        if (*p == '"' || *p == '\'') {
            p = skip_literal(p, end);
            continue;
        }
        depth += *p == '(' || *p == '{' || *p == '[';
        depth -= *p == ')' || *p == '}' || *p == ']';
        p++;
        if (depth == 0)
            break;
    }
    return p;
}

/* The end of the argument that begins here: its comma, or `end`. */
static const char *argument_end(const char *p, const char *end)
{
    while (p < end && *p != ',')
        p = *p == '(' || *p == '{' || *p == '[' ? skip_brackets(p, end)
            : *p == '"' || *p == '\''           ? skip_literal(p, end)
                                                : p + 1;
    return p;
}

static bool begins_with(const char *p, const char *end, const char *word)
{
    size_t len = strlen(word);
    return (size_t)(end - p) >= len && memcmp(p, word, len) == 0;
}

static bool contains(const char *p, const char *end, const char *word)
{
    for (; p < end; p++)
        if (begins_with(p, end, word))
            return true;
    return false;
}

static void rewrite(written *w, const char *p, const char *end);

/* Without what the macros have put around it. */
static void rewrite_argument(written *w, const char *p, const char *end)
{
    static const char *const casts[] = { "(const volatile void *)", "(volatile void *)",
                                         "(uint64_t)(uintptr_t)" };
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = 0; i < sizeof casts / sizeof *casts; i++)
            if (begins_with(p, end, casts[i])) {
                p += strlen(casts[i]);
                again = true;
            }
        if (p < end && *p == '(' && skip_brackets(p, end) == end) {
            p++;
            end--;
            again = true;
        }
    }
    rewrite(w, p, end);
}

/* The arguments of a call that records its place, without that place and the size of a cell. */
static void rewrite_arguments(written *w, const char *p, const char *end)
{
    bool first = true;
    while (p < end) {
        while (p < end && *p == ' ')
            p++;
        const char *stop = argument_end(p, end);
        bool place = *p == '"' && contains(p, stop, "\":\"");
        bool size = begins_with(p, stop, "sizeof *(") || begins_with(p, stop, "(sizeof(*(");
        if (!place && !size) {
            if (!first)
                put(w, ", ", 2);
            rewrite_argument(w, p, stop);
            first = false;
        }
        p = stop < end ? stop + 1 : end;
    }
}

/* A name that begins here; returns what is behind what it stands for. */
static const char *rewrite_name(written *w, const char *p, const char *end)
{
    static const char enter[] = "((asx_lab_enter(", value[] = "({ (__typeof__(";
    const char *behind = p;
    while (behind < end && is_name(*behind))
        behind++;
    size_t len = (size_t)(behind - p);
    const char *open = behind;
    const char *after = open < end && *open == '(' ? skip_brackets(open, end) : open;
    if (len == 12 && memcmp(p, "asx_lab_left", len) == 0 && begins_with(open, end, enter)) {
        const char *call = skip_brackets(open + sizeof enter - 2, end);
        while (call < end && *call != '(')
            call++;
        const char *stop = skip_brackets(call, end);
        rewrite_argument(w, call, stop);
        return after;
    }
    if (len == 13 && memcmp(p, "__extension__", len) == 0 && begins_with(open, end, value)) {
        const char *call = skip_brackets(open + 3, end);
        if (begins_with(call, end, "(uintptr_t)")) {
            call += strlen("(uintptr_t)");
            rewrite_argument(w, call, skip_brackets(call, end));
            return after;
        }
    }
    bool records = len > 7 && memcmp(p, "asx_", 4) == 0 && memcmp(behind - 3, "_at", 3) == 0 &&
                   after != open && contains(open, after, "\":\"");
    put(w, p, records ? len - 3 : len);
    if (!records)
        return behind;
    put(w, "(", 1);
    rewrite_arguments(w, open + 1, after - 1);
    put(w, ")", 1);
    return after;
}

static void rewrite(written *w, const char *p, const char *end)
{
    static const char null[] = "((void *)0)";
    while (p < end) {
        const char *from = p;
        if (is_name(*p)) {
            p = rewrite_name(w, p, end);
            continue;
        }
        if (begins_with(p, end, null)) {
            put(w, "NULL", 4);
            p += sizeof null - 1;
            continue;
        }
        p = *p == '"' || *p == '\'' ? skip_literal(p, end) : p + 1;
        put(w, from, (size_t)(p - from));
    }
}

void asx__explore_written(const char *text, char *buffer, size_t size)
{
    written w = { .at = buffer, .size = size };
    rewrite(&w, text, text + strlen(text));
    buffer[w.len] = '\0';
}
