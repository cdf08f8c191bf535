/* http.h - an HTTP/1.1 server and client. Handlers are ordinary functions on fibers.
 *
 *     asx_http_server server;
 *     asx_http_server_create(&region, hello, NULL, NULL, &server);
 *     asx_status st = asx_http_serve(cx, &server, &listener);    -- until it is stopped
 *
 *     static asx_status hello(asx_cx *cx, asx_http_request *request, asx_http_response *response,
 *                             void *arg)
 *     {
 *         return asx_http_response_send(cx, response, "Hello, world!", 13);
 *     }
 *
 * Server. asx_http_serve() opens a region, and each connection is a task in it: what the server has
 * begun has ended when it returns. Nothing in it is without a bound: connections, the head, the
 * fields, the body, and the time of each phase. A connection is
 *   fresh     accepted, and no byte of a request has come
 *   head      part of a head has come
 *   handler   the handler runs; it may be reading the body
 *   response  bytes of the response are being written
 *   idle      a response is complete, and no byte of another request has come
 * A connection that is idle holds no buffer.
 *
 * Stopping. asx_http_server_stop() closes the listener and ends fresh and idle connections.
 * Requests that have begun are finished, each connection is closed behind its response; those that
 * are not done when the budget is used up are cancelled and named: asx_http_server_late().
 *
 * Handlers. One is called for each request, with what belongs to it until it returns. It answers by
 * asx_http_response_send(); or by any number of asx_http_response_write(), which go out chunked. If
 * it returns a failure the client gets 500 (or 400, 408, 413, 503 when that is why), and when a
 * part of the response is out already the connection is reset, so that nobody takes it for a whole
 * one.
 *
 * Common statuses of the calls for handlers:
 *   ASX_E_INVALID_ARGUMENT     NULL
 *   ASX_E_INVALID_TRANSITION   not in this order: the head is out, or the response is complete
 * and of those that take a context all of io.h: the peer may be gone.
 * */
#ifndef ASX_HTTP_H
#define ASX_HTTP_H

#include <asx/file.h>
#include <asx/http1.h>
#include <asx/net.h>

ASX_BEGIN_DECLS

typedef struct asx_http_request asx_http_request;
typedef struct asx_http_response asx_http_response;

/* Both are borrowed until it returns, and for this task only. */
typedef asx_status (*asx_http_handler)(asx_cx *cx, asx_http_request *request,
                                       asx_http_response *response, void *arg);

/* What is told of each request when it is over: for access logs. Texts are borrowed during the
 * call. */
typedef struct asx_http_entry {
    const asx_http1_head *head; /* NULL: it could not be read */
    const asx_address *peer;
    unsigned status;            /* that was sent; 0: none was */
    uint64_t sent;              /* bytes of the body */
    uint64_t duration_ns;       /* since its head was read */
    asx_status end;             /* ASX_OK: the response is complete */
} asx_http_entry;

/* Zero in any field means its default. */
typedef struct asx_http_server_options {
    const char *name;          /* of its region, for reports; borrowed; default "http" */
    uint32_t connections_max;  /* at a time: more wait to be accepted; default 10000 */
    uint32_t requests_max;     /* on one connection; default: no limit */
    asx_http1_limits head;     /* line_max, head_max (at most 1 MiB) */
    uint32_t fields_max;       /* default 64, at most 1000 */
    uint64_t body_max;         /* bytes of the body of a request; default 1 MiB */
    size_t stack_size;         /* of a connection's fiber, for handlers; default: the runtime's */
    uint64_t fresh_ns;         /* until the first byte of the first request; default 10 s */
    uint64_t head_ns;          /* until the head is there; default 10 s */
    uint64_t idle_ns;          /* until the first byte of the next request; default 60 s */
    uint64_t body_ns;          /* for the body, and a second more for each rate_min bytes of it; */
    uint64_t write_ns;         /* likewise for what is written; both default 30 s */
    uint32_t rate_min;         /* bytes per second; default 1000 */
    void (*log)(void *arg, const asx_http_entry *entry); /* on the connection's task; NULL: none */
    void *log_arg;
} asx_http_server_options;

typedef struct asx_http_server {
    struct asx__http_server *server_;
} asx_http_server;

/* Makes a server, whose memory is the region's; `options` are copied, `arg` is borrowed until the
 * region is closed, and so long the handle is good. Those of the region's memory, and
 * ASX_E_INVALID_ARGUMENT; on failure *ret_server is one that each call refuses. */
ASX_API asx_status asx_http_server_create(const asx_region *region, asx_http_handler handler,
                                          void *arg, const asx_http_server_options *options,
                                          asx_http_server *ret_server);
/* Accepts and serves until the server is stopped or the caller cancelled, and returns when all
 * connections have ended. Closes the listener.
 *   ASX_OK                     it was stopped, or the listener was closed
 *   ASX_E_CANCELLED            the caller was cancelled, and with it what was going on
 *   ASX_E_INVALID_TRANSITION   it serves already, or was stopped
 *   ASX_E_NOT_SUPPORTED        in a poll task: it is for fibers
 *   ASX_E_RESOURCE_EXHAUSTED, ASX_E_CAPABILITY, ASX_E_STALE_HANDLE (the listener) */
ASX_API asx_status asx_http_serve(asx_cx *cx, const asx_http_server *server,
                                  const asx_listener *listener);
/* Stops it as is said above; does not wait, asx_http_serve() returns when it is done. Any task of
 * the runtime. Once more with a smaller budget: that one counts; with 0 what is left is cancelled
 * now. ASX_E_INVALID_ARGUMENT, ASX_E_WRONG_CONTEXT. */
ASX_API asx_status asx_http_server_stop(asx_cx *cx, const asx_http_server *server,
                                        uint64_t budget_ns);

typedef struct asx_http_server_info {
    uint32_t connections;     /* now */
    uint64_t accepted;        /* ever */
    uint64_t requests;        /* whose response is complete */
    uint64_t refused;         /* heads and bodies that the server itself answered with 4xx, 5xx */
    uint64_t failed;          /* requests whose response is not complete */
    uint64_t expired;         /* phases that took too long */
    uint32_t late;            /* requests that were cancelled by a stop */
} asx_http_server_info;
/* Any task. ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_http_server_get_info(const asx_http_server *server,
                                            asx_http_server_info *ret_info);
/* The request number `index` of those that were cancelled by a stop: "GET /a from 127.0.0.1:5000,
 * handler". The first 64 are kept. Borrowed until the server's region is closed; NULL: there is no
 * such one. */
ASX_API const char *asx_http_server_late(const asx_http_server *server, uint32_t index);

/* ---- requests ------------------------------------------------------------------------------- */

/* Its head: method, path, query, authority, fields (http1.h). NULL for NULL. */
ASX_API const asx_http1_head *asx_http_request_head(const asx_http_request *request);
/* Who sent it. NULL for NULL. */
ASX_API const asx_address *asx_http_request_peer(const asx_http_request *request);
/* Reads the next bytes of the body, at most `size`; *ret_n is 0 at its end. The first call tells a
 * client that waits for it to go on (100 Continue).
 *   ASX_E_HTTP_MALFORMED, ASX_E_HTTP_TOO_LARGE   chunks or trailers
 *   ASX_E_TIMEOUT    the body came too slowly
 *   ASX_E_END        the client is gone before its end
 *   ASX_E_INVALID_ARGUMENT (size 0, too), and as asx_stream_read() */
ASX_API asx_status asx_http_request_read(asx_cx *cx, asx_http_request *request, void *buffer,
                                         size_t size, size_t *ret_n);
/* The fields behind a chunked body, once that was read to its end; NULL: not yet, or none can be.
 */
ASX_API const asx_http1_head *asx_http_request_trailers(const asx_http_request *request);

/* ---- responses ------------------------------------------------------------------------------ */

/* 200 unless it is said. 200 to 999; ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_http_response_status(asx_http_response *response, unsigned status);
/* Adds a field; both are copied. Date and what says how long the body is come by themselves.
 *   ASX_E_INVALID_ARGUMENT    not valid (asx_http_field_valid()); or Content-Length,
 *                             Transfer-Encoding, Connection, Date
 *   ASX_E_RESOURCE_EXHAUSTED  more than 4 KiB of fields */
ASX_API asx_status asx_http_response_field(asx_http_response *response, const char *name,
                                           const char *value);
/* How long the body that will be written is, so that it is not chunked. Also for an answer to HEAD
 * whose body is not at hand. */
ASX_API asx_status asx_http_response_length(asx_http_response *response, uint64_t length);
/* The connection is closed behind this response. */
ASX_API asx_status asx_http_response_close(asx_http_response *response);
/* Sends the whole response with this body (`data` may be NULL if size is 0), in one write. Waits
 * until the system has it. To HEAD only the head goes out. ASX_E_INVALID_ARGUMENT: a body for a
 * status that has none, 204 or 304. */
ASX_API asx_status asx_http_response_send(asx_cx *cx, asx_http_response *response,
                                          const void *data, size_t size);
/* Sends the head, if that is not out, and a part of the body. The response is complete when the
 * handler returns. To HTTP/1.0 the end of the connection ends a body without length.
 * ASX_E_INVALID_ARGUMENT: as above, or more than asx_http_response_length() has said. */
ASX_API asx_status asx_http_response_write(asx_cx *cx, asx_http_response *response,
                                           const void *data, size_t size);
/* The same with `size` bytes of a file from `offset` on, which this process does not copy. If
 * nothing was said of the length, this is the whole body. ASX_E_END: the file is shorter; and as
 * asx_stream_send_file(). */
ASX_API asx_status asx_http_response_file(asx_cx *cx, asx_http_response *response,
                                          const asx_file *file, uint64_t offset, uint64_t size);
/* A field behind the body: goes out if that is chunked, and is dropped if not. At most 1 KiB. As
 * asx_http_response_field(), and may be called while the body is written. */
ASX_API asx_status asx_http_response_trailer(asx_http_response *response, const char *name,
                                             const char *value);

ASX_END_DECLS

#endif
