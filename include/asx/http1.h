/* http1.h - HTTP/1.1 as bytes: heads of requests and responses, chunked bodies, trailers.
 *
 * Nothing here reads, waits or allocates: the caller has the bytes and the memory. It is what the
 * server and the client of http.h are built on, and can be used without a runtime.
 *
 *   head     the request line or status line and the fields, up to and including the empty line
 *   field    one header line: name and value; a trailer section is fields without a first line
 *   slot     the caller's memory for one field; as many slots as fields are accepted
 *   framing  what says where a body ends: Content-Length, chunked, or the end of the connection
 *
 * The reader is strict, since what two parsers read differently is how requests are smuggled. Lines
 * end in CRLF, and CR and LF occur nowhere else. Refused are folded lines, blanks before the colon,
 * control characters, a Host that is missing, repeated or malformed, a Content-Length that is
 * repeated, signed, a list or too large, Content-Length beside Transfer-Encoding, each transfer
 * coding but one final `chunked`, and framing fields in trailers. docs/design/24-http.md has the
 * whole list, and where the strictness ends.
 */
#ifndef ASX_HTTP1_H
#define ASX_HTTP1_H

#include <asx/status.h>

ASX_BEGIN_DECLS

/* Borrowed bytes, not terminated. `at` is not NULL where something was read, even if it is
 * empty. */
typedef struct asx_http_text {
    const char *at;
    size_t len;
} asx_http_text;

typedef struct asx_http_field {
    asx_http_text name;  /* as it was sent; compare without regard to case */
    asx_http_text value; /* without the blanks around it */
} asx_http_field;

typedef struct asx_http1_slot {
    uint32_t name_at_, name_len_, value_at_, value_len_;
} asx_http1_slot;

typedef enum asx_http1_kind {
    ASX_HTTP1_REQUEST,
    ASX_HTTP1_RESPONSE,            /* to any method but the two below */
    ASX_HTTP1_RESPONSE_TO_HEAD,
    ASX_HTTP1_RESPONSE_TO_CONNECT,
    ASX_HTTP1_TRAILERS             /* fields only */
} asx_http1_kind;

typedef enum asx_http1_body {
    ASX_HTTP1_BODY_NONE,
    ASX_HTTP1_BODY_LENGTH,  /* content_length bytes */
    ASX_HTTP1_BODY_CHUNKED,
    ASX_HTTP1_BODY_TO_END,  /* responses: until the connection ends */
    ASX_HTTP1_BODY_TUNNEL   /* what follows is no HTTP: a CONNECT, or 101 */
} asx_http1_body;

/* Zero in any field means its default. */
typedef struct asx_http1_limits {
    uint32_t line_max; /* bytes of one line with its CRLF; default 8192 */
    uint32_t head_max; /* bytes of the head or trailer section; default 16384, at most 2^30 */
} asx_http1_limits;

/* What was read. The texts are parts of the bytes given to the last asx_http1_head_read(), which
 * must stay where they are as long as they are looked at. */
typedef struct asx_http1_head {
    /* Requests. Of a response `method` is empty, of a request `status` is 0. */
    asx_http_text method;
    asx_http_text target;    /* as it was sent */
    asx_http_text path;      /* "/a/b", "*" of OPTIONS, empty for CONNECT; still encoded */
    asx_http_text query;     /* behind the `?`; at is NULL without one */
    asx_http_text authority; /* of the target if it has one, else the value of Host */
    /* Responses. */
    uint16_t status;
    asx_http_text reason;
    /* Both. */
    uint8_t minor;           /* 0: HTTP/1.0; a minor version above 1 is read as 1 */
    bool keep_alive;         /* the connection may be used again after this message */
    bool expect_continue;    /* the client waits for 100 before it sends the body */
    bool upgrade;            /* Connection names Upgrade, and there is such a field */
    asx_http1_body body;
    uint64_t content_length; /* BODY_LENGTH; of a response to HEAD, what it says; else 0 */
    uint32_t len;            /* of the head: the body begins here */
    uint32_t field_count;
    /* Why it was refused. */
    uint16_t refusal;        /* what a server answers: 400, 414, 417, 431, 501, 505; 0: nothing */
    uint32_t refusal_at;     /* how many bytes were all right */
    const char *refusal_why; /* static */
    /* Private. */
    asx_http1_slot *slots_;
    const char *bytes_;
    uint32_t slot_count_, line_max_, head_max_;
    uint32_t line_at_, seen_, first_line_, host_slot_;
    uintptr_t first_at_;
    uint8_t kind_, state_, hosts_, lengths_, codings_, marks_;
} asx_http1_head;

/* Prepares to read a head. Borrows the slots until the head is no longer looked at; `limits` may be
 * NULL and is copied. slot_count may be 0: each field is one too many then.
 * ASX_E_INVALID_ARGUMENT: then every read of it is refused, too. */
ASX_API asx_status asx_http1_head_init(asx_http1_head *head, asx_http1_kind kind,
                                       asx_http1_slot *slots, uint32_t slot_count,
                                       const asx_http1_limits *limits);
/* Reads a head from all bytes that have come since its beginning: each call is given those of the
 * call before, unchanged but perhaps elsewhere, and more. Lines that were read are not read again.
 * Before a request one empty line is left out, as RFC 9112 asks.
 *   ASX_OK                      it is complete; the body begins at bytes + head->len
 *   ASX_E_HTTP_PARTIAL          so far nothing is wrong, and more is needed
 *   ASX_E_HTTP_MALFORMED        refusal 400: it is no HTTP, or says two things at a time
 *   ASX_E_HTTP_TOO_LARGE        refusal 414 or 431: a limit
 *   ASX_E_HTTP_NOT_SUPPORTED    refusal 417, 501 or 505
 *   ASX_E_INVALID_TRANSITION    it is complete, or was refused
 *   ASX_E_INVALID_ARGUMENT */
ASX_API asx_status asx_http1_head_read(asx_http1_head *head, const char *bytes, size_t len);
/* The field with this number, in the order in which they were sent. Both texts are empty, with `at`
 * NULL, if there is none. */
ASX_API asx_http_field asx_http1_head_field(const asx_http1_head *head, uint32_t index);
/* The value of the first field of that name, whose letters may be of either case, from number
 * `from` on; *ret_index says which it is (may be NULL). To see the next one, ask from *ret_index +
 * 1. ASX_E_NOT_FOUND: *ret_value is empty, *ret_index is field_count. ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_http1_head_find(const asx_http1_head *head, const char *name, uint32_t from,
                                       asx_http_text *ret_value, uint32_t *ret_index);

/* A chunked body while it is read. */
typedef struct asx_http1_chunks {
    uint64_t left;      /* of the chunk that is being read */
    uint64_t data_len;  /* all data so far */
    bool ended;         /* the last chunk was read: the trailer section follows */
    const char *refusal_why; /* static; NULL: nothing */
    /* Private. */
    uint64_t data_max_;
    uint32_t extension_len_, extension_max_;
    uint8_t state_, digits_;
} asx_http1_chunks;

/* Prepares to read a chunked body of at most `data_max` bytes (0: no limit), whose chunk extensions
 * take at most `extension_max` bytes in all (0: 4096). ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_http1_chunks_init(asx_http1_chunks *chunks, uint64_t data_max,
                                         uint32_t extension_max);
/* Reads up to the end of the next run of data, which is a part of `bytes`: *ret_data. Also says how
 * many bytes were read, that run included: *ret_used. No byte is given twice.
 *   ASX_OK                     a run of data; or, with ended set, none: asx_http1_head_read() reads
 *                              the trailer section, which begins behind what was used
 *   ASX_E_HTTP_PARTIAL         all bytes were used, there is no data in them, and more is needed
 *   ASX_E_HTTP_MALFORMED       it is not chunked as it should be; nothing can be read any more
 *   ASX_E_HTTP_TOO_LARGE       a limit; likewise
 *   ASX_E_INVALID_TRANSITION   it ended, or was refused
 *   ASX_E_INVALID_ARGUMENT */
ASX_API asx_status asx_http1_chunks_read(asx_http1_chunks *chunks, const char *bytes, size_t len,
                                         asx_http_text *ret_data, size_t *ret_used);

/* What stands before the data of a chunk: its size and CRLF. Behind the data comes CRLF. A body
 * ends with "0\r\n", trailers, if any, and CRLF. Returns the length; nothing, and 0, for a size of
 * 0, which would end the body. */
enum { ASX_HTTP1_CHUNK_HEAD_MAX = 18 };
ASX_API size_t asx_http1_chunk_head(uint64_t size, char ret_bytes[ASX_HTTP1_CHUNK_HEAD_MAX]);

/* May a field with this name and value be sent as it is? False: the name is no token, or a control
 * character, CR and LF among them, is in the value, or a blank at one of its ends. Pure. */
ASX_API bool asx_http_field_valid(asx_http_text name, asx_http_text value);
/* "Not Found" for 404; "" for a number without a name. Static. */
ASX_API const char *asx_http_status_text(unsigned status);

/* "Sun, 06 Nov 1994 08:49:37 GMT" for seconds since 1970, terminated; those beyond the year 9999
 * are cut to that. Returns its buffer; NULL for NULL. Pure. */
enum { ASX_HTTP_DATE_MAX = 30 };
ASX_API const char *asx_http_date_text(uint64_t seconds, char ret_text[ASX_HTTP_DATE_MAX]);
/* Reads what asx_http_date_text() writes; the two older formats of RFC 9110 are refused.
 * ASX_E_INVALID_ARGUMENT. Pure. */
ASX_API asx_status asx_http_date_read(asx_http_text text, uint64_t *ret_seconds);

ASX_END_DECLS

#endif
