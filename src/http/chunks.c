/* chunks.c - chunked bodies, read byte by byte but for the data.
 *
 *     chunk = 1*HEXDIG [ extension ] CRLF data CRLF
 *     extension = *( ";" token [ "=" ( token / quoted string ) ] )
 *
 *   state        a byte of                      and then
 *   SIZE         the size                       EXTENSION parts, SIZE_LF
 *   EXT_...      an extension                   SIZE_LF
 *   SIZE_LF      the LF behind the size         DATA; ENDED behind the size 0
 *   DATA         data, `left` of it             DATA_CR, DATA_LF, SIZE
 *   ENDED        the trailer section: not ours
 *   BROKEN       after a refusal
 *
 * Extensions are checked and forgotten. Blanks in them are refused, though RFC 9112 would have them
 * read: parsers do not agree on them, and nobody sends any.
 */
#include "http/http.h"

#include <string.h>

enum {
    SIZE,
    EXT_BEFORE_NAME,  /* behind a semicolon */
    EXT_NAME,
    EXT_BEFORE_VALUE, /* behind an equals sign */
    EXT_VALUE,
    EXT_QUOTED,
    EXT_ESCAPED,      /* behind a backslash in quotes */
    EXT_AFTER_QUOTED,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    ENDED,
    BROKEN
};
enum { DIGITS_MAX = 16, EXTENSION_MAX_DEFAULT = 4096 };

asx_status asx_http1_chunks_init(asx_http1_chunks *chunks, uint64_t data_max,
                                 uint32_t extension_max)
{
    if (chunks == NULL)
        return ASX_E_INVALID_ARGUMENT;
    memset(chunks, 0, sizeof(*chunks));
    chunks->data_max_ = data_max != 0 ? data_max : UINT64_MAX;
    chunks->extension_max_ = extension_max != 0 ? extension_max : EXTENSION_MAX_DEFAULT;
    return ASX_OK;
}

static asx_status broken(asx_http1_chunks *chunks, asx_status st, const char *why)
{
    chunks->state_ = BROKEN;
    chunks->refusal_why = why;
    return st;
}

static asx_status malformed(asx_http1_chunks *chunks, const char *why)
{
    return broken(chunks, ASX_E_HTTP_MALFORMED, why);
}

static unsigned hex_value(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : ((unsigned)c | 0x20u) - 'a' + 10;
}

static asx_status size_byte(asx_http1_chunks *chunks, char c)
{
    if (asx__http_is(c, ASX__HTTP_HEX)) {
        if (chunks->digits_ == DIGITS_MAX || chunks->left > (uint64_t)INT64_MAX >> 4)
            return malformed(chunks, "a chunk's size is too large to be true");
        chunks->digits_++;
        chunks->left = chunks->left << 4 | hex_value(c);
        return ASX_OK;
    }
    if (chunks->digits_ == 0)
        return malformed(chunks, "a chunk has no size");
    if (c == '\r')
        chunks->state_ = SIZE_LF;
    else if (c == ';')
        chunks->state_ = EXT_BEFORE_NAME;
    else
        return malformed(chunks, "a chunk's size has another character than its digits");
    return ASX_OK;
}

/* The state behind an extension that may end here; BROKEN: not with this character. */
static uint8_t after_extension(char c)
{
    return c == '\r' ? SIZE_LF : c == ';' ? EXT_BEFORE_NAME : BROKEN;
}

/* The state behind `c`; BROKEN: it may not stand there. */
static uint8_t extension_state(uint8_t state, char c)
{
    bool token = asx__http_is(c, ASX__HTTP_TOKEN);
    unsigned char u = (unsigned char)c;
    bool shown = (u >= 0x20 && u != 0x7f) || c == '\t';
    switch (state) {
    case EXT_BEFORE_NAME: return token ? EXT_NAME : BROKEN;
    case EXT_NAME: return token ? state : c == '=' ? EXT_BEFORE_VALUE : after_extension(c);
    case EXT_BEFORE_VALUE: return token ? EXT_VALUE : c == '"' ? EXT_QUOTED : BROKEN;
    case EXT_VALUE: return token ? state : after_extension(c);
    case EXT_QUOTED:
        return c == '"' ? EXT_AFTER_QUOTED : c == '\\' ? EXT_ESCAPED : shown ? state : BROKEN;
    case EXT_ESCAPED: return shown ? EXT_QUOTED : BROKEN;
    default: return after_extension(c); /* EXT_AFTER_QUOTED */
    }
}

static asx_status extension_byte(asx_http1_chunks *chunks, char c)
{
    if (++chunks->extension_len_ > chunks->extension_max_)
        return broken(chunks, ASX_E_HTTP_TOO_LARGE, "the extensions of chunks are too long");
    chunks->state_ = extension_state(chunks->state_, c);
    if (chunks->state_ == BROKEN)
        return malformed(chunks, "a chunk's extension is malformed");
    return ASX_OK;
}

/* The LF behind a size, and what stands around the data. */
static asx_status line_byte(asx_http1_chunks *chunks, char c)
{
    if (c != (chunks->state_ == DATA_CR ? '\r' : '\n'))
        return malformed(chunks, chunks->state_ == SIZE_LF ? "a chunk's size does not end in CRLF"
                                                           : "a chunk does not end in CRLF");
    if (chunks->state_ != SIZE_LF) {
        chunks->state_ = chunks->state_ == DATA_CR ? DATA_LF : SIZE;
        return ASX_OK;
    }
    chunks->digits_ = 0;
    chunks->state_ = chunks->left == 0 ? ENDED : DATA;
    chunks->ended = chunks->left == 0;
    if (chunks->left > chunks->data_max_ - chunks->data_len)
        return broken(chunks, ASX_E_HTTP_TOO_LARGE, "the body is too large");
    return ASX_OK;
}

static size_t take_data(asx_http1_chunks *chunks, size_t len)
{
    size_t taken = chunks->left < len ? (size_t)chunks->left : len;
    chunks->left -= taken;
    chunks->data_len += taken;
    if (chunks->left == 0)
        chunks->state_ = DATA_CR;
    return taken;
}

asx_status asx_http1_chunks_read(asx_http1_chunks *chunks, const char *bytes, size_t len,
                                 asx_http_text *ret_data, size_t *ret_used)
{
    if (ret_data != NULL)
        *ret_data = (asx_http_text){ NULL, 0 };
    if (ret_used != NULL)
        *ret_used = 0;
    if (chunks == NULL || (bytes == NULL && len > 0) || ret_data == NULL || ret_used == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (chunks->state_ >= ENDED)
        return ASX_E_INVALID_TRANSITION;
    for (size_t i = 0; i < len;) {
        asx_status st;
        if (chunks->state_ == DATA) {
            ret_data->at = bytes + i;
            ret_data->len = take_data(chunks, len - i);
            *ret_used = i + ret_data->len;
            return ASX_OK;
        }
        if (chunks->state_ == SIZE)
            st = size_byte(chunks, bytes[i]);
        else if (chunks->state_ < SIZE_LF)
            st = extension_byte(chunks, bytes[i]);
        else
            st = line_byte(chunks, bytes[i]);
        if (st < 0)
            return st;
        *ret_used = ++i;
        if (chunks->ended)
            return ASX_OK;
    }
    return ASX_E_HTTP_PARTIAL;
}

size_t asx_http1_chunk_head(uint64_t size, char ret_bytes[ASX_HTTP1_CHUNK_HEAD_MAX])
{
    size_t len = 0;
    if (size == 0 || ret_bytes == NULL)
        return 0;
    for (int shift = 60; shift >= 0; shift -= 4) {
        unsigned digit = (unsigned)(size >> shift) & 15u;
        if (digit != 0 || len > 0)
            ret_bytes[len++] = "0123456789abcdef"[digit];
    }
    ret_bytes[len++] = '\r';
    ret_bytes[len++] = '\n';
    return len;
}
