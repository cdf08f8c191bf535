/* fuzz_http1.c - bytes as a message of HTTP/1.1: in one piece and in two, it is read the same or
 * refused. The first byte says which kind, the second where it is cut.
 *
 * With ASX_HAVE_LLHTTP (Debian's node-llhttp has its sources) each message that we accept is read
 * by llhttp too, which must find the same method, target, fields, body and end. Where llhttp knows
 * less than we do it may refuse; see `knows_less`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <asx/http1.h>

#include "fuzz.h"
#ifdef ASX_HAVE_LLHTTP
#include <llhttp.h>
#endif

enum { SLOTS = 32, LINE_MAX_BYTES = 200 };

/* What a message says. Texts are folded into hashes, so that pieces do not matter. */
typedef struct said {
    bool whole;
    bool bad;           /* refused */
    size_t used;
    uint64_t method, target, fields, body;
    uint32_t body_len;
    int status;
} said;

static uint64_t fold(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *b = bytes;
    if (hash == 0)
        hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void fold_fields(said *s, const asx_http1_head *head)
{
    for (uint32_t i = 0; i < head->field_count; i++) {
        asx_http_field field = asx_http1_head_field(head, i);
        s->fields = fold(s->fields, field.name.at, field.name.len);
        s->fields = fold(s->fields, "\n", 1);
        s->fields = fold(s->fields, field.value.at, field.value.len);
        s->fields = fold(s->fields, "\n", 1);
    }
}

typedef struct reader {
    asx_http1_head head, trailers;
    asx_http1_slot slots[SLOTS], trailer_slots[SLOTS];
    asx_http1_chunks chunks;
    enum { HEAD, BODY, TRAILERS, OVER } phase;
    uint64_t left;
    said said;
} reader;

static void fold_body(reader *r, const char *at, size_t len)
{
    if (len > 0)
        r->said.body = fold(r->said.body, at, len);
    r->said.body_len += (uint32_t)len;
    r->said.used += len;
}

static void end(reader *r, bool bad)
{
    r->phase = OVER;
    r->said.bad = bad;
    r->said.whole = !bad;
}

static void read_head(reader *r, const char *bytes, size_t len)
{
    asx_status st = asx_http1_head_read(&r->head, bytes, len);
    if (st == ASX_E_HTTP_PARTIAL)
        return;
    if (st < 0) {
        if (r->head.refusal < 400 || r->head.refusal_why == NULL || r->head.refusal_at > len)
            abort();
        end(r, true);
        return;
    }
    r->said.used = r->head.len;
    r->said.method = fold(0, r->head.method.at, r->head.method.len);
    r->said.target = fold(0, r->head.target.at, r->head.target.len);
    r->said.status = r->head.status;
    fold_fields(&r->said, &r->head);
    r->left = r->head.body == ASX_HTTP1_BODY_LENGTH ? r->head.content_length : 0;
    r->phase = BODY;
}

static void read_chunked(reader *r, const char *bytes, size_t len)
{
    while (r->phase == BODY) {
        asx_http_text data;
        size_t used;
        const char *from = bytes + r->said.used;
        asx_status st =
            asx_http1_chunks_read(&r->chunks, from, len - r->said.used, &data, &used);
        if (st < 0 && st != ASX_E_HTTP_PARTIAL) {
            end(r, true);
            return;
        }
        r->said.used += used - data.len;
        if (data.len > 0)
            fold_body(r, data.at, data.len);
        if (r->said.used > len)
            abort();
        if (st == ASX_E_HTTP_PARTIAL)
            return;
        if (r->chunks.ended)
            r->phase = TRAILERS;
    }
}

static void read_body(reader *r, const char *bytes, size_t len)
{
    size_t here = len - r->said.used;
    switch (r->head.body) {
    case ASX_HTTP1_BODY_CHUNKED: read_chunked(r, bytes, len); return;
    case ASX_HTTP1_BODY_LENGTH:
        here = here < r->left ? here : (size_t)r->left;
        r->left -= here;
        fold_body(r, bytes + r->said.used, here);
        break;
    case ASX_HTTP1_BODY_TO_END: fold_body(r, bytes + r->said.used, here); return;
    case ASX_HTTP1_BODY_NONE:
    case ASX_HTTP1_BODY_TUNNEL: break;
    }
    if (r->left == 0)
        end(r, false);
}

static void read_trailers(reader *r, const char *bytes, size_t len)
{
    asx_status st = asx_http1_head_read(&r->trailers, bytes + r->said.used, len - r->said.used);
    if (st == ASX_E_HTTP_PARTIAL)
        return;
    fold_fields(&r->said, &r->trailers);
    if (st >= 0)
        r->said.used += r->trailers.len;
    end(r, st < 0);
}

static said read_message(asx_http1_kind kind, const char *bytes, size_t len, size_t cut)
{
    static const asx_http1_limits limits = { .line_max = LINE_MAX_BYTES };
    reader r = { .phase = HEAD };
    if (asx_http1_head_init(&r.head, kind, r.slots, SLOTS, &limits) < 0 ||
        asx_http1_head_init(&r.trailers, ASX_HTTP1_TRAILERS, r.trailer_slots, SLOTS, &limits) < 0 ||
        asx_http1_chunks_init(&r.chunks, 100000, 100) < 0)
        abort();
    for (size_t to = cut < len ? cut : len;; to = len) {
        char *piece = malloc(to != 0 ? to : 1);
        if (piece == NULL)
            abort();
        memcpy(piece, bytes, to);
        if (r.phase == HEAD)
            read_head(&r, piece, to);
        if (r.phase == BODY)
            read_body(&r, piece, to);
        if (r.phase == TRAILERS)
            read_trailers(&r, piece, to);
        free(piece);
        if (to == len || r.phase == OVER)
            return r.said;
    }
}

/* A line that is cut is refused at its end, or at the first control character, whichever comes
 * first; so a message that has no such place yet may still be undecided in pieces. */
static void check_same(const said *one, const said *two)
{
    if (one->bad && !two->whole)
        return;
    if (memcmp(one, two, sizeof(*one)) != 0)
        abort();
}

#ifdef ASX_HAVE_LLHTTP
static int on_body(llhttp_t *p, const char *at, size_t len)
{
    said *s = p->data;
    s->body = fold(s->body, at, len);
    s->body_len += (uint32_t)len;
    return 0;
}

static int on_method(llhttp_t *p, const char *at, size_t len)
{
    said *s = p->data;
    s->method = fold(s->method, at, len);
    return 0;
}

static int on_url(llhttp_t *p, const char *at, size_t len)
{
    said *s = p->data;
    s->target = fold(s->target, at, len);
    return 0;
}

/* Comes in one piece here. llhttp leaves blanks at the end of a value. */
static int on_value(llhttp_t *p, const char *at, size_t len)
{
    said *s = p->data;
    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
        len--;
    s->fields = fold(s->fields, at, len);
    return 0;
}

static int on_field(llhttp_t *p, const char *at, size_t len)
{
    said *s = p->data;
    s->fields = fold(s->fields, at, len);
    return 0;
}

static int on_part_end(llhttp_t *p)
{
    said *s = p->data;
    s->fields = fold(s->fields, "\n", 1);
    return 0;
}

static int on_end(llhttp_t *p)
{
    said *s = p->data;
    s->whole = true;
    return HPE_PAUSED;
}

/* llhttp leaves it to its user that a 304 has no body. */
static int on_head(llhttp_t *p)
{
    return p->status_code == 304;
}

/* Methods that it does not know, minor versions above 1, and of chunk extensions quotes
 * and a second one. */
static bool knows_less(llhttp_errno_t error)
{
    switch (error) {
    case HPE_INVALID_METHOD:
    case HPE_INVALID_VERSION:
    case HPE_STRICT:
    case HPE_INVALID_CHUNK_SIZE: return true;
    default: return false;
    }
}

static void ask_llhttp(asx_http1_kind kind, const char *bytes, size_t len, const said *ours)
{
    llhttp_settings_t settings;
    llhttp_t parser;
    said theirs = { 0 };
    llhttp_settings_init(&settings);
    settings.on_method = on_method;
    settings.on_url = on_url;
    settings.on_body = on_body;
    settings.on_header_field = on_field;
    settings.on_header_value = on_value;
    settings.on_header_field_complete = on_part_end;
    settings.on_header_value_complete = on_part_end;
    settings.on_headers_complete = on_head;
    settings.on_message_complete = on_end;
    llhttp_init(&parser, kind == ASX_HTTP1_REQUEST ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
    parser.data = &theirs;
    llhttp_errno_t error = llhttp_execute(&parser, bytes, len);
    if (error != HPE_OK && error != HPE_PAUSED && error != HPE_PAUSED_UPGRADE &&
        knows_less(error))
        return;
    size_t used = error == HPE_OK ? len : (size_t)(llhttp_get_error_pos(&parser) - bytes);
    bool same = theirs.whole && theirs.body_len == ours->body_len && theirs.body == ours->body &&
                theirs.fields == ours->fields && used == ours->used;
    if (kind == ASX_HTTP1_REQUEST)
        same = same && theirs.method == ours->method && theirs.target == ours->target;
    else
        same = same && parser.status_code == (unsigned)ours->status;
    if (!same) {
        (void)fprintf(stderr,
                      "llhttp: %s %s, %zu of %zu bytes, body %u; we: %zu bytes, body %u\n",
                      llhttp_errno_name(error), parser.reason ? parser.reason : "", used, len,
                      theirs.body_len, ours->used, ours->body_len);
        (void)fwrite(bytes, 1, len, stderr);
        abort();
    }
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2)
        return 0;
    asx_http1_kind kind = bytes[0] & 1 ? ASX_HTTP1_RESPONSE : ASX_HTTP1_REQUEST;
    size_t cut = bytes[1];
    const char *message = (const char *)bytes + 2;
    said one = read_message(kind, message, len - 2, len), two;
    two = read_message(kind, message, len - 2, cut);
    check_same(&one, &two);
#ifdef ASX_HAVE_LLHTTP
    if (one.whole)
        ask_llhttp(kind, message, len - 2, &one);
#endif
    return 0;
}
