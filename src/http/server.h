/* server.h - the inside of the server.
 *
 * Words
 *   server       what handlers, limits, connections and reports hang on; in its region's memory
 *   connection   one accepted stream and its task; the record is used again for the next one
 *   block        what a request needs while it is served: bytes that came, slots, bytes to be sent.
 *                An idle connection has none
 *   acceptor     the task that waits at the listener. When a connection comes the acceptor becomes
 *                its task and another one is spawned, so that there are never more tasks than
 *                connections allowed, and none is accepted for which there is no task
 *   keeper       the task that serves: it ends phases which take too long, and a stop whose budget
 *                is used up
 *
 * Deadlines. A connection writes when its phase ends into one word, and nothing else: no timer, no
 * list is touched on the way of a request. The keeper looks at all connections, at the earliest
 * deadline it has seen, and at the latest after the shortest phase: so it is never late, and where
 * there is no connection it sleeps.
 *
 * A phase is ended by shutting the socket down for reading, or for writing too when the response is
 * stuck: the task that reads is given what is there, and then the end, and sees `expired`. Its wait
 * is not cancelled, so the task can answer 408. A stop ends fresh and idle connections in the same
 * way: a request that the system has already is read and answered.
 *
 * Letters: I set at init, L under the lock, A atomic, T the connection's task.
 * */
#ifndef ASX_HTTP_SERVER_H
#define ASX_HTTP_SERVER_H

#include <asx/asx.h>
#include <asx/http.h>

#include "base/atomic.h"
#include "base/list.h"
#include "http/http.h"

enum {
    ASX__HTTP_OUT_TOP = 64,     /* room for the status line before the fields */
    ASX__HTTP_OUT_FIELDS = 4096,
    ASX__HTTP_OUT_END = 192,    /* room for Date, the length and the empty line behind them */
    ASX__HTTP_OUT = ASX__HTTP_OUT_TOP + ASX__HTTP_OUT_FIELDS + ASX__HTTP_OUT_END,
    ASX__HTTP_TRAILERS = 1024,
    ASX__HTTP_TRAILER_SLOTS = 16,
    ASX__HTTP_WINDOW = 8192,    /* at least so many bytes of a body fit behind the head */
    ASX__HTTP_DATE_LINE = 37,
    ASX__HTTP_LATE_MAX = 64,
    ASX__HTTP_LATE_TEXT = 128
};
#define ASX__HTTP_LINGER_NS (2 * ASX_SEC)

/* X(NAME, "name"): see asx/http.h. LINGER: all was said, and what the client still sends is thrown
 * away, so that it gets the answer and no reset. */
#define ASX__HTTP_STATE_LIST(X)                                                                    \
    X(FRESH, "fresh")                                                                              \
    X(HEAD, "head")                                                                                \
    X(HANDLER, "handler")                                                                          \
    X(RESPONSE, "response")                                                                        \
    X(IDLE, "idle")                                                                                \
    X(LINGER, "linger")
typedef enum asx__http_state {
#define ASX__HTTP_STATE_ENUM_(name, text) ASX__HTTP_##name,
    ASX__HTTP_STATE_LIST(ASX__HTTP_STATE_ENUM_)
#undef ASX__HTTP_STATE_ENUM_
} asx__http_state;

struct asx__http_conn;

struct asx_http_request {
    struct asx__http_conn *conn;
    asx_http1_head head, trailers;
    asx_http1_chunks chunks;
    asx_http1_slot trailer_slots[ASX__HTTP_TRAILER_SLOTS];
    asx_http_text run;    /* data of a chunk that was read, and not given to the handler yet */
    uint64_t left;        /* of a body with a length */
    uint64_t body_read;   /* bytes that came, framing included */
    uint64_t body_waited_ns; /* for them */
    asx_time began;       /* the head was read */
    asx_status failure;   /* why the body cannot be read any further */
    bool whole;           /* it was read to its end */
    bool trailing;        /* its trailers are being read */
    bool expects;         /* 100 Continue was not sent */
};

/* What has gone out. */
enum { ASX__HTTP_OPEN, ASX__HTTP_BODY, ASX__HTTP_SENT, ASX__HTTP_BROKEN };

struct asx_http_response {
    struct asx__http_conn *conn;
    unsigned status;
    uint8_t phase;
    bool has_length, chunked, bodiless; /* bodiless: HEAD, 204, 304 */
    bool close;
    uint64_t length;
    uint64_t written;     /* bytes of the body, also those that HEAD leaves out */
    uint64_t moved;       /* bytes, all told */
    uint64_t waited_ns;   /* while they were written */
    uint32_t fields_len, trailers_len;
};

typedef struct asx__http_block {
    struct asx__http_block *next;
    asx_http_request request;
    asx_http_response response;
    char trailers[ASX__HTTP_TRAILERS];
    char out[ASX__HTTP_OUT];
    uint64_t date_second;
    char date[ASX__HTTP_DATE_LINE]; /* "Date: ...\r\n" of that second */
    asx_http1_slot *slots;
    char *in;
    size_t in_size;
    size_t begin, end;    /* bytes of `in` that were not used yet */
} asx__http_block;

typedef struct asx__http_conn {
    asx__node node;              /* L: in the server's list, while it is served */
    struct asx__http_conn *next; /* L: free */
    struct asx__http_server *server;
    asx_stream stream;           /* T */
    int fd;                      /* I while it is in the list */
    asx__http_block *block;      /* T */
    asx_address peer;
    asx__atomic_u64 requests;    /* A: written by its task */
    bool linger;                 /* T: the client may be sending still */
    bool abort;                  /* T: reset it */
    asx__atomic_u32 state;       /* A */
    asx__atomic_u32 expired;     /* A */
    asx__atomic_u64 deadline;    /* A */
} asx__http_conn;

typedef struct asx__http_server {
    asx_region home;             /* I: where its memory is */
    asx_http_handler handler;    /* I */
    void *arg;                   /* I */
    asx_http_server_options o;   /* I */
    size_t in_size;              /* I */
    uint64_t phase_min;          /* I: the shortest phase */
    asx_region conns_in;         /* set by serve before anything is spawned */
    asx_listener listener;       /* likewise */
    asx_notify keeper_bell;      /* I */
    asx__lock lock;
    asx__node conns;             /* L */
    asx__http_conn *free_conns;  /* L */
    asx__http_block *free_blocks; /* L */
    uint32_t count, acceptors;   /* L */
    uint32_t serving;            /* L: 0 not yet, 1 now, 2 was */
    asx_time stop_at;            /* L */
    asx__atomic_u32 stopping;    /* A */
    uint64_t requests;           /* L: of connections that have ended */
    asx__atomic_u64 accepted, refused, failed, expirations; /* A */
    uint32_t late_count;         /* L */
    char (*late)[ASX__HTTP_LATE_TEXT]; /* L: made when the first is late */
} asx__http_server;

/* ---- server.c ---- */
asx__http_block *asx__http_block_take(asx__http_conn *conn);
void asx__http_block_give(asx__http_conn *conn);
void asx__http_count(asx__atomic_u64 *counter);
/* From now on in this state, which ends at `deadline`. */
void asx__http_phase(asx__http_conn *conn, asx__http_state state, asx_time deadline);
/* Until when a peer may take that has moved so many bytes, those to come included, and was waited
 * for so long. */
asx_time asx__http_allow(const asx__http_server *server, asx_time now, uint64_t base_ns,
                         uint64_t moved, uint64_t waited_ns);
void asx__http_note_late(asx__http_conn *conn);

/* ---- conn.c ---- */
/* Serves what comes on the connection until it ends. */
void asx__http_conn_run(asx_cx *cx, asx__http_conn *conn);
/* Closes it, when the keeper cannot see it any more. */
void asx__http_conn_close(asx_cx *cx, asx__http_conn *conn);

/* ---- request.c ---- */
/* Reads the head of the next request. ASX_OK; ASX_E_END: there is none, nothing is to be said; else
 * request->head says what to answer, or the connection is gone. */
asx_status asx__http_request_begin(asx_cx *cx, asx__http_conn *conn);
/* Reads what is left of the body, if that is little; false: it was not read to its end. */
bool asx__http_request_drain(asx_cx *cx, asx_http_request *request);
/* Will drain succeed if the client does what it has said? */
bool asx__http_request_drainable(const asx_http_request *request);

/* ---- response.c ---- */
void asx__http_response_begin(asx__http_conn *conn);
/* The handler has returned `st`. ASX_OK: the response is complete. */
asx_status asx__http_response_end(asx_cx *cx, asx_http_response *response, asx_status st);
/* An answer of the server's own, behind which the connection is closed. */
asx_status asx__http_response_refuse(asx_cx *cx, asx_http_response *response, unsigned status);

#endif
