/* support_http1.h - a message read in pieces, and what was read as one line of text.
 *
 * Each piece is put behind the ones before it into a block of exactly that size, and the block of
 * the call before is freed: who reads beyond the bytes, or keeps pointers into them, is noticed. */
#ifndef ASX_TESTS_HTTP_SUPPORT_HTTP1_H
#define ASX_TESTS_HTTP_SUPPORT_HTTP1_H

#include <asx/http1.h>

/* What became of a message. A refused head is the number that a server answers. */
enum {
    READ_WHOLE = 200,
    READ_PARTIAL = 100,
    READ_BODY_MALFORMED = 600,
    READ_BODY_TOO_LARGE = 613,
    READ_TRAILERS_MALFORMED = 700
};

typedef struct reading {
    int result;
    size_t used;     /* bytes of the message */
    char said[4096]; /* first line, framing, fields, body, trailers */
} reading;

/* Reads one message whose bytes come in pieces that end at each of `cuts`, and at `len`. */
void read_in_pieces(asx_http1_kind kind, const char *bytes, size_t len, const size_t *cuts,
                    size_t cut_count, reading *ret_reading);
/* In one piece; byte by byte; and in two pieces, cut everywhere: fails the test unless each gives
 * the same. */
void read_in_all_pieces(const char *name, asx_http1_kind kind, const char *bytes, size_t len,
                        reading *ret_reading);

#endif
