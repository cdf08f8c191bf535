/* response.c - a response as it goes out.
 *
 *     OPEN    nothing is out: status and fields can be set
 *     BODY    the head is out, and parts of the body
 *     SENT    all of it is out
 *     BROKEN  something is out, and the rest will never be: the connection is reset
 *
 * Fields are put behind each other in block->out, where they are sent from; the status line is put
 * before them at last, and Date, framing and the empty line behind them. So a response whose body
 * is at hand is one write of two parts.
 */
#include "http/server.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SLICE = 256 * 1024, PARTS = 4 };

void asx__http_response_begin(asx__http_conn *conn)
{
    asx_http_response *r = &conn->block->response;
    memset(r, 0, sizeof(*r));
    r->conn = conn;
    r->status = 200;
}

/* ---- what a handler says before ------------------------------------------------------------- */

static asx_status is_open(const asx_http_response *r)
{
    if (r == NULL)
        return ASX_E_INVALID_ARGUMENT;
    return r->phase == ASX__HTTP_OPEN ? ASX_OK : ASX_E_INVALID_TRANSITION;
}

asx_status asx_http_response_status(asx_http_response *response, unsigned status)
{
    asx_status st = is_open(response);
    if (st == ASX_OK && (status < 200 || status > 999))
        st = ASX_E_INVALID_ARGUMENT;
    if (st == ASX_OK)
        response->status = status;
    return st;
}

asx_status asx_http_response_length(asx_http_response *response, uint64_t length)
{
    asx_status st = is_open(response);
    if (st == ASX_OK) {
        response->has_length = true;
        response->length = length;
    }
    return st;
}

asx_status asx_http_response_close(asx_http_response *response)
{
    asx_status st = is_open(response);
    if (st == ASX_OK)
        response->close = true;
    return st;
}

static bool is_ours(asx_http_text name)
{
    static const char *const names[] = { "content-length", "transfer-encoding", "connection",
                                         "date" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == name.len && asx__http_equal(name.at, names[i], name.len))
            return true;
    return false;
}

/* "name: value" CRLF behind `*len` bytes. */
static asx_status add_field(char *bytes, uint32_t *len, size_t max, const char *name,
                            const char *value)
{
    if (name == NULL || value == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_http_text n = { name, strlen(name) }, v = { value, strlen(value) };
    if (!asx_http_field_valid(n, v) || is_ours(n))
        return ASX_E_INVALID_ARGUMENT;
    if (n.len > max || v.len > max || n.len + v.len + 4 > max - *len)
        return ASX_E_RESOURCE_EXHAUSTED;
    char *at = bytes + *len;
    memcpy(at, n.at, n.len);
    memcpy(at + n.len, ": ", 2);
    memcpy(at + n.len + 2, v.at, v.len);
    memcpy(at + n.len + 2 + v.len, "\r\n", 2);
    *len += (uint32_t)(n.len + v.len + 4);
    return ASX_OK;
}

asx_status asx_http_response_field(asx_http_response *response, const char *name,
                                   const char *value)
{
    asx_status st = is_open(response);
    if (st < 0)
        return st;
    return add_field(response->conn->block->out + ASX__HTTP_OUT_TOP, &response->fields_len,
                     ASX__HTTP_OUT_FIELDS, name, value);
}

asx_status asx_http_response_trailer(asx_http_response *response, const char *name,
                                     const char *value)
{
    if (response == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (response->phase > ASX__HTTP_BODY)
        return ASX_E_INVALID_TRANSITION;
    return add_field(response->conn->block->trailers, &response->trailers_len,
                     ASX__HTTP_TRAILERS, name, value);
}

/* ---- the head ------------------------------------------------------------------------------- */

static char *put(char *at, const char *text, size_t len)
{
    memcpy(at, text, len);
    return at + len;
}
#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

static char *put_number(char *at, uint64_t number)
{
    char digits[20];
    size_t len = 0;
    do {
        digits[sizeof(digits) - ++len] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return put(at, digits + sizeof(digits) - len, len);
}

/* The line is made once in a second, and by each block for itself: nothing is shared. */
static char *put_date(asx__http_block *block, char *at)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    uint64_t second = (uint64_t)now.tv_sec;
    if (block->date_second != second) {
        char *line = PUT(block->date, "Date: ");
        (void)asx_http_date_text(second, line);
        (void)PUT(line + 29, "\r\n");
        block->date_second = second;
    }
    return put(at, block->date, ASX__HTTP_DATE_LINE);
}

/* Ends at `end`; returns where it begins. */
static char *put_status_line(char *end, unsigned status)
{
    static const char ok[] = "HTTP/1.1 200 OK\r\n";
    if (status == 200)
        return memcpy(end - (sizeof(ok) - 1), ok, sizeof(ok) - 1);
    const char *reason = asx_http_status_text(status);
    size_t len = strlen(reason);
    char *line = end - (len + 15), *at = line;
    at = PUT(at, "HTTP/1.1 ");
    at = put_number(at, status);
    at = PUT(at, " ");
    at = put(at, reason, len);
    (void)PUT(at, "\r\n");
    return line;
}

static bool is_head(const asx_http_response *r)
{
    const asx_http1_head *head = &r->conn->block->request.head;
    return head->method.len == 4 && memcmp(head->method.at, "HEAD", 4) == 0;
}

/* Decides how the body ends and what becomes of the connection. */
static void settle(asx_http_response *r)
{
    const asx__http_conn *conn = r->conn;
    const asx__http_server *s = conn->server;
    const asx_http_request *request = &conn->block->request;
    bool last = s->o.requests_max != 0 &&
                asx__load_relaxed(&conn->requests) + 1 >= s->o.requests_max;
    bool empty = r->status == 204 || r->status == 304;
    r->bodiless = empty || is_head(r);
    r->chunked = !r->has_length && !empty && request->head.minor > 0;
    r->close = r->close || last || !request->head.keep_alive ||
               asx__load_relaxed(&s->stopping) != 0 || !asx__http_request_drainable(request) ||
               (!r->has_length && !r->chunked && !r->bodiless);
}

/* The whole head, in one piece: where it begins, and its length. */
static asx_io_part make_head(asx_http_response *r)
{
    asx__http_block *block = r->conn->block;
    char *fields = block->out + ASX__HTTP_OUT_TOP;
    char *begin = put_status_line(fields, r->status);
    char *at = put_date(block, fields + r->fields_len);
    if (r->has_length && r->status != 204) {
        at = PUT(at, "Content-Length: ");
        at = put_number(at, r->length);
        at = PUT(at, "\r\n");
    } else if (r->chunked)
        at = PUT(at, "Transfer-Encoding: chunked\r\n");
    if (r->close)
        at = PUT(at, "Connection: close\r\n");
    else if (block->request.head.minor == 0)
        at = PUT(at, "Connection: keep-alive\r\n");
    at = PUT(at, "\r\n");
    return (asx_io_part){ begin, (size_t)(at - begin) };
}

/* ---- writing -------------------------------------------------------------------------------- */

/* All of the parts, which are at most a slice and what frames it. */
static asx_status write_slice(asx_cx *cx, asx_http_response *r, const asx_io_part *parts,
                              size_t count)
{
    asx__http_conn *conn = r->conn;
    const asx__http_server *s = conn->server;
    asx_time now = asx_now(cx);
    size_t done = 0;
    for (size_t i = 0; i < count; i++)
        r->moved += parts[i].size;
    asx__http_phase(conn, ASX__HTTP_RESPONSE,
                    asx__http_allow(s, now, s->o.write_ns, r->moved, r->waited_ns));
    asx_status st = asx_stream_write_parts(cx, &conn->stream, parts, count, &done);
    r->waited_ns += asx_now(cx) - now;
    if (st < 0) {
        /* Nothing of the head out: another answer may still be given. */
        if (r->phase != ASX__HTTP_OPEN || done > 0 || st != ASX_E_CANCELLED)
            r->phase = ASX__HTTP_BROKEN;
        if (asx__load_seq_cst(&conn->expired) != 0)
            st = ASX_E_TIMEOUT;
        return st;
    }
    asx__store_relaxed(&conn->deadline, ASX_TIME_NEVER);
    if (r->phase == ASX__HTTP_OPEN)
        r->phase = ASX__HTTP_BODY;
    return ASX_OK;
}

/* Data of the body, with what frames it and, if that is not out, the head. */
static asx_status write_data(asx_cx *cx, asx_http_response *r, const char *data, size_t size)
{
    bool head = r->phase == ASX__HTTP_OPEN;
    do {
        asx_io_part parts[PARTS];
        char chunk[ASX_HTTP1_CHUNK_HEAD_MAX];
        size_t count = 0, part = size < SLICE ? size : SLICE;
        bool framed = r->chunked && part > 0 && !r->bodiless;
        if (head)
            parts[count++] = make_head(r);
        if (framed)
            parts[count++] = (asx_io_part){ chunk, asx_http1_chunk_head(part, chunk) };
        if (part > 0 && !r->bodiless)
            parts[count++] = (asx_io_part){ (void *)(uintptr_t)data, part };
        if (framed)
            parts[count++] = (asx_io_part){ (void *)(uintptr_t) "\r\n", 2 };
        asx_status st = count > 0 ? write_slice(cx, r, parts, count) : ASX_OK;
        if (st < 0)
            return st;
        head = false;
        r->written += part;
        data += part;
        size -= part;
    } while (size > 0);
    return ASX_OK;
}

static bool has_no_body(const asx_http_response *r)
{
    return r->status == 204 || r->status == 304;
}

asx_status asx_http_response_send(asx_cx *cx, asx_http_response *response, const void *data,
                                  size_t size)
{
    asx_status st = is_open(response);
    if (st < 0)
        return st;
    if (cx == NULL || (data == NULL && size > 0) || (size > 0 && has_no_body(response)) ||
        (response->has_length && response->length != size))
        return ASX_E_INVALID_ARGUMENT;
    if (response->status != 304)
        response->has_length = true;
    response->length = size;
    settle(response);
    st = write_data(cx, response, data != NULL ? data : "", size);
    if (st == ASX_OK)
        response->phase = ASX__HTTP_SENT;
    return st;
}

asx_status asx_http_response_write(asx_cx *cx, asx_http_response *response, const void *data,
                                   size_t size)
{
    if (cx == NULL || response == NULL || (data == NULL && size > 0) ||
        (size > 0 && has_no_body(response)))
        return ASX_E_INVALID_ARGUMENT;
    if (response->phase > ASX__HTTP_BODY)
        return ASX_E_INVALID_TRANSITION;
    if (response->has_length && size > response->length - response->written)
        return ASX_E_INVALID_ARGUMENT;
    if (response->phase == ASX__HTTP_OPEN)
        settle(response);
    else if (size == 0)
        return ASX_OK;
    return write_data(cx, response, data != NULL ? data : "", size);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Some of it by way of a buffer: between chunks. */
static asx_status copy_file(asx_cx *cx, asx_http_response *r, const asx_file *file,
                            uint64_t offset, uint64_t size, uint64_t *ret_n)
{
    char *buffer = r->conn->block->out;
    size_t n = 0, want = size < ASX__HTTP_OUT ? (size_t)size : ASX__HTTP_OUT;
    asx_status st = asx_file_read(cx, file, offset, buffer, want, &n);
    if (st == ASX_OK)
        st = n == 0 ? ASX_E_END : write_data(cx, r, buffer, n);
    *ret_n = n;
    return st;
}

/* A slice of it, from the system's memory to the socket. */
static asx_status send_slice(asx_cx *cx, asx_http_response *r, const asx_file *file,
                             uint64_t offset, uint64_t size, uint64_t *ret_n)
{
    asx__http_conn *conn = r->conn;
    const asx__http_server *s = conn->server;
    uint64_t slice = size < SLICE ? size : SLICE;
    asx_time now = asx_now(cx);
    r->moved += slice;
    asx__http_phase(conn, ASX__HTTP_RESPONSE,
                    asx__http_allow(s, now, s->o.write_ns, r->moved, r->waited_ns));
    *ret_n = 0;
    asx_status st = asx_stream_send_file(cx, &conn->stream, file, offset, slice, ret_n);
    r->waited_ns += asx_now(cx) - now;
    asx__store_relaxed(&conn->deadline, ASX_TIME_NEVER);
    r->written += *ret_n;
    if (st < 0 && asx__load_seq_cst(&conn->expired) != 0)
        st = ASX_E_TIMEOUT;
    return st;
}

asx_status asx_http_response_file(asx_cx *cx, asx_http_response *response, const asx_file *file,
                                  uint64_t offset, uint64_t size)
{
    if (cx == NULL || response == NULL || file == NULL || offset > INT64_MAX ||
        size > INT64_MAX - offset)
        return ASX_E_INVALID_ARGUMENT;
    if (response->phase == ASX__HTTP_OPEN && !response->has_length) {
        response->has_length = true;
        response->length = size;
    }
    asx__http_block *block = response->conn->block;
    size_t room = block->in_size - block->end, n = 0;
    if (response->phase == ASX__HTTP_OPEN && response->length == size && size <= room &&
        size > 0 && !is_head(response)) { /* one write, together with the head */
        asx_status read = asx_file_read(cx, file, offset, block->in + block->end, size, &n);
        if (read == ASX_OK && n == size)
            return asx_http_response_send(cx, response, block->in + block->end, size);
    }
    asx_status st = asx_http_response_write(cx, response, "", 0);
    if (st == ASX_OK && response->has_length && size > response->length - response->written)
        st = ASX_E_INVALID_ARGUMENT;
    if (st == ASX_OK && response->bodiless) {
        response->written += size;
        return ASX_OK;
    }
    for (uint64_t sent = 0; size > 0 && st == ASX_OK; offset += sent, size -= sent)
        st = response->chunked ? copy_file(cx, response, file, offset, size, &sent)
                               : send_slice(cx, response, file, offset, size, &sent);
    return st;
}

/* ---- the end -------------------------------------------------------------------------------- */

static asx_status finish(asx_cx *cx, asx_http_response *r)
{
    asx_io_part parts[] = {
        { (void *)(uintptr_t) "0\r\n", 3 },
        { r->conn->block->trailers, r->trailers_len },
        { (void *)(uintptr_t) "\r\n", 2 },
    };
    if (r->phase == ASX__HTTP_OPEN) {
        bool promised = r->has_length && r->length > 0;
        if (!promised)
            return asx_http_response_send(cx, r, NULL, 0);
        asx_status st = asx_http_response_write(cx, r, NULL, 0);
        if (st < 0)
            return st;
    }
    if (r->phase != ASX__HTTP_BODY)
        return r->phase == ASX__HTTP_SENT ? ASX_OK : ASX_E_BROKEN;
    if (r->chunked && !r->bodiless) {
        asx_status st = write_slice(cx, r, parts, 3);
        if (st < 0)
            return st;
    } else if (r->has_length && !r->bodiless && r->written < r->length) {
        r->phase = ASX__HTTP_BROKEN; /* the handler has promised more */
        return ASX_E_HTTP_PARTIAL;
    }
    r->phase = ASX__HTTP_SENT;
    return ASX_OK;
}

asx_status asx__http_response_refuse(asx_cx *cx, asx_http_response *r, unsigned status)
{
    char text[64];
    int len = snprintf(text, sizeof(text), "%u %s\n", status, asx_http_status_text(status));
    r->status = status;
    r->fields_len = 0;
    r->has_length = false;
    r->close = true;
    (void)asx_http_response_field(r, "Content-Type", "text/plain");
    return asx_http_response_send(cx, r, text, (size_t)len);
}

static unsigned status_for(const asx_http_request *request, bool cancelled)
{
    switch (request->failure) {
    case ASX_E_HTTP_MALFORMED: return 400;
    case ASX_E_HTTP_TOO_LARGE: return 413;
    case ASX_E_TIMEOUT: return 408;
    default: return cancelled ? 503 : 500;
    }
}

/* The handler has failed before anything was out. */
static asx_status apologize(asx_cx *cx, asx_http_response *r, asx_status why)
{
    const asx_http_request *request = &r->conn->block->request;
    bool cancelled = asx_is_cancelled(cx);
    if (request->failure == ASX_E_END || request->failure == ASX_E_RESET) {
        r->phase = ASX__HTTP_BROKEN; /* nobody is there */
        return why;
    }
    if (request->failure < 0)
        asx__http_count(&r->conn->server->refused);
    asx_status masked = cancelled ? asx_mask_begin(cx, 4) : ASX_E_INVALID_TRANSITION;
    asx_status st = asx__http_response_refuse(cx, r, status_for(request, cancelled));
    if (masked == ASX_OK)
        (void)asx_mask_end(cx);
    if (st < 0)
        r->phase = ASX__HTTP_BROKEN;
    return why;
}

asx_status asx__http_response_end(asx_cx *cx, asx_http_response *r, asx_status st)
{
    if (asx_is_cancelled(cx) && r->phase != ASX__HTTP_SENT &&
        asx__load_relaxed(&r->conn->server->stopping) != 0)
        asx__http_note_late(r->conn);
    if (st >= 0)
        st = finish(cx, r);
    if (r->phase == ASX__HTTP_OPEN)
        return apologize(cx, r, st);
    if (st < 0 && r->phase == ASX__HTTP_BODY)
        r->phase = ASX__HTTP_BROKEN;
    return r->phase == ASX__HTTP_SENT ? ASX_OK : st;
}
