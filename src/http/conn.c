/* conn.c - a connection: one request after the other.
 *
 * The loop waits in a shallow frame and without a block; what is deep is called when a request has
 * come, and has returned when there is none.
 */
#include "http/server.h"

#include <string.h>
#include <sys/socket.h>

enum { LINGER_BYTES = 256 * 1024 };

static bool stopping(const asx__http_conn *conn)
{
    return asx__load_seq_cst(&conn->server->stopping) != 0;
}

static bool is_over(const asx_http_request *request, const asx_http_response *response)
{
    return response->phase != ASX__HTTP_SENT || response->close || !request->whole;
}

static void tell_log(const asx__http_conn *conn, asx_time now, const asx_http1_head *head,
                     asx_status end)
{
    const asx__http_server *s = conn->server;
    const asx_http_response *response = &conn->block->response;
    const asx_http_request *request = &conn->block->request;
    asx_http_entry entry = {
        .head = head,
        .peer = &conn->peer,
        .status = response->phase == ASX__HTTP_OPEN ? 0 : response->status,
        .sent = response->bodiless ? 0 : response->written,
        .duration_ns = head != NULL ? now - request->began : 0,
        .end = end,
    };
    if (s->o.log != NULL)
        s->o.log(s->o.log_arg, &entry);
}

/* The head could not be read, or asks for what there is not: an answer, and the end. */
static void refuse(asx_cx *cx, asx__http_conn *conn, const asx_http1_head *head, unsigned status)
{
    asx__http_count(&conn->server->refused);
    asx_status st = asx__http_response_refuse(cx, &conn->block->response, status);
    conn->linger = st == ASX_OK;
    tell_log(conn, asx_now(cx), head, st);
}

/* What the server answers to a head by itself; 0: the handler does. */
static unsigned check(const asx__http_conn *conn, const asx_http1_head *head)
{
    if (head->body == ASX_HTTP1_BODY_TUNNEL)
        return 501;
    return head->content_length > conn->server->o.body_max ? 413 : 0;
}

/* One request. True: another one may come. */
static __attribute__((noinline)) bool serve(asx_cx *cx, asx__http_conn *conn)
{
    asx__http_server *s = conn->server;
    asx_http_request *request = &conn->block->request;
    asx_http_response *response = &conn->block->response;
    asx_status st = asx__http_request_begin(cx, conn);
    if (st == ASX_E_END)
        return false;
    asx__http_response_begin(conn);
    unsigned refusal = st < 0 ? request->head.refusal : check(conn, &request->head);
    if (refusal != 0) {
        refuse(cx, conn, st < 0 ? NULL : &request->head, refusal);
        return false;
    }
    asx__http_phase(conn, ASX__HTTP_HANDLER, ASX_TIME_NEVER);
    st = s->handler(cx, request, response, s->arg);
    st = asx__http_response_end(cx, response, st);
    tell_log(conn, asx_now(cx), &request->head, st);
    if (st < 0)
        asx__http_count(&s->failed);
    else
        asx__store_relaxed(&conn->requests, asx__load_relaxed(&conn->requests) + 1);
    conn->abort = response->phase == ASX__HTTP_BROKEN;
    if (conn->abort)
        return false;
    bool drained = asx__http_request_drain(cx, request);
    asx__http_block *block = conn->block;
    conn->linger = !drained || block->begin < block->end;
    return drained && !is_over(request, response);
}

/* Reads what the client is still sending, so that the answer is not lost with a reset. */
static __attribute__((noinline)) void linger(asx_cx *cx, asx__http_conn *conn)
{
    size_t all = 0, n = 1;
    asx__http_block *block = conn->block;
    if (block == NULL || asx_stream_shutdown(cx, &conn->stream) < 0)
        return;
    asx__http_phase(conn, ASX__HTTP_LINGER, asx_time_add(asx_now(cx), ASX__HTTP_LINGER_NS));
    for (; n > 0 && all < LINGER_BYTES; all += n)
        if (asx_stream_read(cx, &conn->stream, block->in, block->in_size, &n) < 0)
            return;
}

/* Waits for the first byte of a request. */
static bool await(asx_cx *cx, asx__http_conn *conn)
{
    const asx_http_server_options *o = &conn->server->o;
    bool fresh = asx__load_relaxed(&conn->requests) == 0;
    unsigned ready;
    asx__http_phase(conn, fresh ? ASX__HTTP_FRESH : ASX__HTTP_IDLE,
                    asx_time_add(asx_now(cx), fresh ? o->fresh_ns : o->idle_ns));
    if (stopping(conn)) /* what the system has already is read, and then the end */
        (void)shutdown(conn->fd, SHUT_RD);
    if (asx_stream_wait(cx, &conn->stream, ASX_IO_READABLE, &ready) < 0)
        return false;
    return asx__http_block_take(conn) != NULL;
}

void asx__http_conn_run(asx_cx *cx, asx__http_conn *conn)
{
    while (conn->block != NULL || await(cx, conn)) {
        if (!serve(cx, conn))
            break;
        if (conn->block->begin == conn->block->end)
            asx__http_block_give(conn);
    }
    if (conn->linger && !conn->abort)
        linger(cx, conn);
    if (conn->block != NULL)
        asx__http_block_give(conn);
}

void asx__http_conn_close(asx_cx *cx, asx__http_conn *conn)
{
    asx_stream_tuning tuning = ASX_STREAM_TUNING;
    tuning.reset_on_close = 1;
    if (conn->abort)
        (void)asx_stream_tune(cx, &conn->stream, &tuning);
    (void)asx_stream_close(cx, &conn->stream);
}
