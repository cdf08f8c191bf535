#include "support_http1.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { SLOTS = 16, BODY_MAX = 1000, EXTENSION_MAX = 64 };
static const asx_http1_limits limits = { .line_max = 128, .head_max = 512 };

/* One message while its pieces come. */
typedef struct message {
    char *bytes;
    size_t len;
    size_t body_at; /* what was used so far */
    asx_http1_kind kind;
    asx_http1_head head, trailers;
    asx_http1_slot slots[SLOTS], trailer_slots[SLOTS];
    asx_http1_chunks chunks;
    enum { HEAD, BODY, TRAILERS, OVER } phase;
    uint64_t body_left;
    char body[BODY_MAX + 1];
    size_t body_len;
    reading *reading;
    size_t said_len;
} message;

static void say(message *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(m->reading->said + m->said_len, sizeof(m->reading->said) - m->said_len,
                      format, args);
    va_end(args);
    CHECK_GE(n, 0);
    m->said_len += (size_t)n;
    CHECK(m->said_len < sizeof(m->reading->said));
}

static void say_text(message *m, const char *name, asx_http_text text)
{
    if (text.at == NULL)
        say(m, "%s: none\n", name);
    else
        say(m, "%s: '%.*s'\n", name, (int)text.len, text.at);
}

static void say_fields(message *m, const asx_http1_head *head)
{
    for (uint32_t i = 0; i < head->field_count; i++) {
        asx_http_field field = asx_http1_head_field(head, i);
        say(m, "(%.*s)=(%.*s)\n", (int)field.name.len, field.name.at, (int)field.value.len,
            field.value.at);
    }
}

static void say_head(message *m)
{
    const asx_http1_head *head = &m->head;
    if (head->method.at != NULL) {
        say_text(m, "method", head->method);
        say_text(m, "target", head->target);
        say_text(m, "path", head->path);
        say_text(m, "query", head->query);
        say_text(m, "authority", head->authority);
    } else {
        say(m, "status: %u\n", head->status);
        say_text(m, "reason", head->reason);
    }
    say(m, "1.%u body %d length %llu keep %d expect %d upgrade %d\n", head->minor, head->body,
        (unsigned long long)head->content_length, head->keep_alive, head->expect_continue,
        head->upgrade);
    say_fields(m, head);
}

/* What is not printed as it is, as \xNN. */
static void say_body(message *m)
{
    say(m, "body: '");
    for (size_t i = 0; i < m->body_len; i++) {
        unsigned char c = (unsigned char)m->body[i];
        say(m, c >= 0x20 && c < 0x7f && c != '\\' ? "%c" : "\\x%02x", c);
    }
    say(m, "'\n");
}

static void over(message *m, int result)
{
    m->phase = OVER;
    m->reading->result = result;
    m->reading->used = m->body_at;
}

static void keep_body(message *m, const char *at, size_t len)
{
    CHECK_LE(m->body_len + len, BODY_MAX);
    memcpy(m->body + m->body_len, at, len);
    m->body_len += len;
    m->body_at += len;
}

static void read_head(message *m)
{
    asx_status st = asx_http1_head_read(&m->head, m->bytes, m->len);
    if (st == ASX_E_HTTP_PARTIAL)
        return;
    if (st < 0) {
        CHECK(m->head.refusal >= 400 && m->head.refusal_why != NULL);
        CHECK_LE(m->head.refusal_at, m->len);
        over(m, m->head.refusal);
        return;
    }
    say_head(m);
    m->body_at = m->head.len;
    m->body_left = m->head.body == ASX_HTTP1_BODY_LENGTH ? m->head.content_length : 0;
    m->phase = BODY;
    CHECK_STATUS(asx_http1_chunks_init(&m->chunks, BODY_MAX, EXTENSION_MAX), ASX_OK);
    CHECK_STATUS(asx_http1_head_init(&m->trailers, ASX_HTTP1_TRAILERS, m->trailer_slots, SLOTS,
                                     &limits),
                 ASX_OK);
}

static void read_chunked(message *m)
{
    while (m->phase == BODY) {
        asx_http_text data;
        size_t used;
        const char *from = m->bytes + m->body_at;
        asx_status st = asx_http1_chunks_read(&m->chunks, from, m->len - m->body_at, &data, &used);
        if (st < 0 && st != ASX_E_HTTP_PARTIAL) {
            CHECK(m->chunks.refusal_why != NULL);
            m->body_at += used;
            over(m, st == ASX_E_HTTP_TOO_LARGE ? READ_BODY_TOO_LARGE : READ_BODY_MALFORMED);
            return;
        }
        CHECK(data.len == 0 || data.at + data.len == from + used);
        m->body_at += used - data.len;
        keep_body(m, data.at != NULL ? data.at : from, data.len);
        if (st == ASX_E_HTTP_PARTIAL) {
            CHECK_EQ(m->body_at, m->len);
            return;
        }
        if (m->chunks.ended)
            m->phase = TRAILERS;
    }
}

static void read_body(message *m)
{
    size_t left = m->len - m->body_at;
    switch (m->head.body) {
    case ASX_HTTP1_BODY_CHUNKED: read_chunked(m); return;
    case ASX_HTTP1_BODY_LENGTH:
        left = left < m->body_left ? left : (size_t)m->body_left;
        m->body_left -= left;
        keep_body(m, m->bytes + m->body_at, left);
        break;
    case ASX_HTTP1_BODY_TO_END: keep_body(m, m->bytes + m->body_at, left); return;
    case ASX_HTTP1_BODY_NONE:
    case ASX_HTTP1_BODY_TUNNEL: break;
    }
    if (m->body_left == 0)
        over(m, READ_WHOLE);
}

static void read_trailers(message *m)
{
    asx_status st =
        asx_http1_head_read(&m->trailers, m->bytes + m->body_at, m->len - m->body_at);
    if (st == ASX_E_HTTP_PARTIAL)
        return;
    if (st < 0) {
        over(m, READ_TRAILERS_MALFORMED);
        return;
    }
    say(m, "trailers\n");
    say_fields(m, &m->trailers);
    m->body_at += m->trailers.len;
    over(m, READ_WHOLE);
}

static void piece(message *m, const char *bytes, size_t len)
{
    char *block = malloc(len != 0 ? len : 1);
    CHECK(block != NULL);
    memcpy(block, bytes, len);
    free(m->bytes);
    m->bytes = block;
    m->len = len;
    if (m->phase == HEAD)
        read_head(m);
    if (m->phase == BODY)
        read_body(m);
    if (m->phase == TRAILERS)
        read_trailers(m);
}

void read_in_pieces(asx_http1_kind kind, const char *bytes, size_t len, const size_t *cuts,
                    size_t cut_count, reading *ret_reading)
{
    message m = { .kind = kind, .reading = ret_reading };
    memset(ret_reading, 0, sizeof(*ret_reading));
    ret_reading->result = READ_PARTIAL;
    CHECK_STATUS(asx_http1_head_init(&m.head, kind, m.slots, SLOTS, &limits), ASX_OK);
    for (size_t i = 0; i <= cut_count && m.phase != OVER; i++)
        piece(&m, bytes, i < cut_count ? cuts[i] : len);
    if (m.phase != HEAD)
        say_body(&m);
    free(m.bytes);
}

static void check_same(const char *name, size_t cut, const reading *a, const reading *b)
{
    if (a->result != b->result || a->used != b->used || strcmp(a->said, b->said) != 0)
        asx_test_fail(__FILE__, __LINE__, "%s, cut at %zu: %d, then %d\n%s---\n%s", name, cut,
                      a->result, b->result, a->said, b->said);
}

void read_in_all_pieces(const char *name, asx_http1_kind kind, const char *bytes, size_t len,
                        reading *ret_reading)
{
    static reading other;
    size_t *cuts = calloc(len + 1, sizeof(*cuts));
    CHECK(cuts != NULL);
    read_in_pieces(kind, bytes, len, NULL, 0, ret_reading);
    for (size_t cut = 0; cut < len; cut++) {
        read_in_pieces(kind, bytes, len, &cut, 1, &other);
        check_same(name, cut, ret_reading, &other);
        cuts[cut] = cut;
    }
    read_in_pieces(kind, bytes, len, cuts, len, &other);
    check_same(name, len, ret_reading, &other);
    free(cuts);
}
