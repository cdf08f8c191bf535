/* request.c - a request as it comes in: its head, and its body as the handler asks for it.
 *
 * The bytes [begin, end) of block->in have come and were not used yet. The head stays at the front
 * of it while the request lives, since its texts lie there; what is read of the body goes behind
 * it, or straight into the handler's buffer.
 */
#include "http/server.h"

#include <string.h>

enum { DRAIN_MAX = 64 * 1024 };

/* ---- the head ------------------------------------------------------------------------------- */

static asx_status read_head(asx_cx *cx, asx__http_conn *conn)
{
    const asx_http_server_options *o = &conn->server->o;
    asx__http_block *block = conn->block;
    asx_http1_head *head = &block->request.head;
    bool some = false;
    for (;;) {
        asx_status st = ASX_E_HTTP_PARTIAL;
        size_t n = 0;
        if (block->end > 0)
            st = asx_http1_head_read(head, block->in, block->end);
        if (st != ASX_E_HTTP_PARTIAL)
            return st;
        if (block->end > 0 && !some) {
            asx__http_phase(conn, ASX__HTTP_HEAD, asx_time_add(asx_now(cx), o->head_ns));
            some = true;
        }
        st = asx_stream_read(cx, &conn->stream, block->in + block->end,
                             block->in_size - block->end, &n);
        if (st == ASX_OK && n == 0 && block->end > 0 && asx__load_seq_cst(&conn->expired) != 0) {
            head->refusal = 408;
            return ASX_E_TIMEOUT;
        }
        if (st < 0 || n == 0)
            return ASX_E_END;
        block->end += n;
    }
}

asx_status asx__http_request_begin(asx_cx *cx, asx__http_conn *conn)
{
    const asx_http_server_options *o = &conn->server->o;
    asx__http_block *block = conn->block;
    asx_http_request *request = &block->request;
    if (block->begin > 0)
        memmove(block->in, block->in + block->begin, block->end - block->begin);
    block->end -= block->begin;
    block->begin = 0;
    request->conn = conn;
    request->run = (asx_http_text){ NULL, 0 };
    request->left = request->body_read = request->body_waited_ns = 0;
    request->failure = ASX_OK;
    request->whole = request->trailing = request->expects = false;
    request->trailers.field_count = 0;
    (void)asx_http1_head_init(&request->head, ASX_HTTP1_REQUEST, block->slots, o->fields_max,
                              &o->head);
    asx_status st = read_head(cx, conn);
    request->began = asx_now(cx);
    if (st < 0)
        return st;
    asx_http1_body body = request->head.body;
    request->left = request->head.content_length;
    request->whole = body != ASX_HTTP1_BODY_CHUNKED && request->left == 0;
    request->expects = request->head.expect_continue && !request->whole;
    if (body == ASX_HTTP1_BODY_CHUNKED)
        (void)asx_http1_chunks_init(&request->chunks, o->body_max, 0);
    block->begin = request->head.len;
    return ASX_OK;
}

/* ---- the body ------------------------------------------------------------------------------- */

static asx_status fail(asx_http_request *request, asx_status st)
{
    request->failure = st;
    return st;
}

static asx_status go_on(asx_cx *cx, asx_http_request *request)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    asx__http_conn *conn = request->conn;
    size_t done = 0;
    request->expects = false;
    if (conn->block->response.phase != ASX__HTTP_OPEN || request->body_read > 0 ||
        conn->block->begin < conn->block->end)
        return ASX_OK;
    return asx_stream_write_all(cx, &conn->stream, text, sizeof(text) - 1, &done);
}

/* Reads from the peer, at least one byte. */
static asx_status fill(asx_cx *cx, asx_http_request *request, char *buffer, size_t size,
                       size_t *ret_n)
{
    asx__http_conn *conn = request->conn;
    const asx__http_server *s = conn->server;
    asx_time now = asx_now(cx);
    uint32_t state = asx__load_relaxed(&conn->state);
    asx__http_phase(conn, ASX__HTTP_HANDLER,
                    asx__http_allow(s, now, s->o.body_ns, request->body_read,
                                    request->body_waited_ns));
    asx_status st = asx_stream_read(cx, &conn->stream, buffer, size, ret_n);
    asx__http_phase(conn, (asx__http_state)state, ASX_TIME_NEVER);
    request->body_waited_ns += asx_now(cx) - now;
    request->body_read += *ret_n;
    if (st == ASX_OK && *ret_n == 0)
        st = asx__load_seq_cst(&conn->expired) != 0 ? ASX_E_TIMEOUT : ASX_E_END;
    return st;
}

/* Bytes that are there already, or from the peer straight into the buffer. */
static asx_status read_length(asx_cx *cx, asx_http_request *request, char *buffer, size_t size,
                              size_t *ret_n)
{
    asx__http_block *block = request->conn->block;
    size_t here = block->end - block->begin;
    asx_status st = ASX_OK;
    if (size > request->left)
        size = (size_t)request->left;
    if (here > 0) {
        *ret_n = here < size ? here : size;
        memcpy(buffer, block->in + block->begin, *ret_n);
        block->begin += *ret_n;
    } else
        st = fill(cx, request, buffer, size, ret_n);
    request->left -= *ret_n;
    request->whole = request->left == 0;
    return st;
}

/* More bytes behind those that were not used, which are moved to the head's end if there is no
 * room. */
static asx_status fill_window(asx_cx *cx, asx_http_request *request)
{
    asx__http_block *block = request->conn->block;
    size_t n = 0, from = request->head.len;
    if (block->begin == block->end)
        block->begin = block->end = from;
    else if (block->end == block->in_size && block->begin > from) {
        memmove(block->in + from, block->in + block->begin, block->end - block->begin);
        block->end -= block->begin - from;
        block->begin = from;
    }
    if (block->end == block->in_size)
        return ASX_E_HTTP_TOO_LARGE;
    asx_status st =
        fill(cx, request, block->in + block->end, block->in_size - block->end, &n);
    block->end += n;
    return st;
}

static asx_status read_trailers(asx_cx *cx, asx_http_request *request)
{
    static const asx_http1_limits limits = { .head_max = ASX__HTTP_WINDOW / 2 };
    asx__http_block *block = request->conn->block;
    if (!request->trailing)
        (void)asx_http1_head_init(&request->trailers, ASX_HTTP1_TRAILERS, request->trailer_slots,
                                  ASX__HTTP_TRAILER_SLOTS, &limits);
    request->trailing = true;
    for (;;) {
        asx_status st = asx_http1_head_read(&request->trailers, block->in + block->begin,
                                            block->end - block->begin);
        if (st == ASX_E_HTTP_PARTIAL) {
            st = fill_window(cx, request);
            if (st == ASX_OK)
                continue;
        }
        if (st == ASX_OK) {
            block->begin += request->trailers.len;
            request->whole = true;
        }
        return st;
    }
}

/* *ret_n is 0 at the end of the body. */
static asx_status read_chunked(asx_cx *cx, asx_http_request *request, char *buffer, size_t size,
                               size_t *ret_n)
{
    asx__http_block *block = request->conn->block;
    while (request->run.len == 0 && !request->chunks.ended) {
        size_t used = 0;
        asx_status st = ASX_E_HTTP_PARTIAL;
        if (block->begin < block->end)
            st = asx_http1_chunks_read(&request->chunks, block->in + block->begin,
                                       block->end - block->begin, &request->run, &used);
        block->begin += used;
        if (st == ASX_E_HTTP_PARTIAL)
            st = fill_window(cx, request);
        if (st < 0)
            return st;
    }
    if (request->run.len == 0)
        return read_trailers(cx, request);
    *ret_n = request->run.len < size ? request->run.len : size;
    memcpy(buffer, request->run.at, *ret_n);
    request->run.at += *ret_n;
    request->run.len -= *ret_n;
    return ASX_OK;
}

asx_status asx_http_request_read(asx_cx *cx, asx_http_request *request, void *buffer, size_t size,
                                 size_t *ret_n)
{
    asx_status st = ASX_OK;
    if (ret_n == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_n = 0;
    if (cx == NULL || request == NULL || buffer == NULL || size == 0)
        return ASX_E_INVALID_ARGUMENT;
    if (request->failure < 0)
        return request->failure;
    if (request->whole)
        return ASX_OK;
    if (request->expects)
        st = go_on(cx, request);
    if (st == ASX_OK)
        st = request->head.body == ASX_HTTP1_BODY_CHUNKED
                 ? read_chunked(cx, request, buffer, size, ret_n)
                 : read_length(cx, request, buffer, size, ret_n);
    return st < 0 && st != ASX_E_CANCELLED ? fail(request, st) : st;
}

bool asx__http_request_drainable(const asx_http_request *request)
{
    if (request->whole)
        return true;
    return request->failure == ASX_OK && !request->expects &&
           (request->head.body == ASX_HTTP1_BODY_CHUNKED || request->left <= DRAIN_MAX);
}

/* The response is out, so its bytes are free. */
bool asx__http_request_drain(asx_cx *cx, asx_http_request *request)
{
    char *scratch = request->conn->block->out;
    size_t all = 0, n;
    if (!asx__http_request_drainable(request))
        return false;
    while (!request->whole && all <= DRAIN_MAX) {
        if (asx_http_request_read(cx, request, scratch, ASX__HTTP_OUT, &n) < 0)
            return false;
        all += n;
    }
    return request->whole;
}

const asx_http1_head *asx_http_request_head(const asx_http_request *request)
{
    return request != NULL ? &request->head : NULL;
}

const asx_address *asx_http_request_peer(const asx_http_request *request)
{
    return request != NULL ? &request->conn->peer : NULL;
}

const asx_http1_head *asx_http_request_trailers(const asx_http_request *request)
{
    return request != NULL && request->trailing && request->whole ? &request->trailers : NULL;
}
