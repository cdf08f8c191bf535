/* head.c - reads heads and trailer sections.
 *
 * A head is read line by line. A line that is complete is judged in one pass and never looked at
 * again; of one that is not, the bytes that have come are searched once for what ends it:
 *
 *     line_at_ <= seen_ <= len given      in [line_at_, seen_) no line ends
 *     state_ REFUSED  =>  refusal != 0
 *     state_ DONE     =>  line_at_ = len, and all texts are parts of the bytes of the last call
 *
 * So what is done for a head is linear in its length, however many pieces it comes in. Slots hold
 * offsets, since the caller may move its bytes between calls; the texts of the first line are made
 * again at the end if the bytes have moved.
 *
 * A line is judged within a window: up to line_max_ bytes, and never beyond head_max_. A line that
 * does not end in its window is too long; but one that is wrong there is wrong, so that the answer
 * does not depend on the pieces.
 */
#include "http/http.h"

#include <string.h>

enum { FIRST_LINE, FIELDS, DONE, REFUSED };
enum { LINE_MAX_DEFAULT = 8192, HEAD_MAX_DEFAULT = 16384, HEAD_MAX_MOST = 1 << 30 };
enum { METHOD_MAX = 32, REFUSAL_LINE = 414, REFUSAL_HEAD = 431 };
enum {
    MARK_CLOSE = 1,
    MARK_KEEP_ALIVE = 2,
    MARK_UPGRADE_NAMED = 4,
    MARK_UPGRADE_FIELD = 8,
    MARK_EXPECT = 16
};

/* A line: read, not yet complete, or refused. */
typedef enum line_verdict { LINE_READ, LINE_PARTIAL, LINE_REFUSED } line_verdict;

static line_verdict refuse(asx_http1_head *head, const char *at, unsigned status, const char *why)
{
    head->refusal = (uint16_t)status;
    head->refusal_why = why;
    head->refusal_at = (uint32_t)(at - head->bytes_);
    head->state_ = REFUSED;
    return LINE_REFUSED;
}

static asx_http_text text(const char *at, const char *end)
{
    return (asx_http_text){ at, (size_t)(end - at) };
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- the first line ------------------------------------------------------------------------ */

/* Matches what is there of `word`: its length, or less when the window ends there, or -1. */
static int match(const char *at, const char *end, const char *word, int len)
{
    int i = 0;
    while (i < len && at + i < end) {
        if (at[i] != word[i])
            return -1;
        i++;
    }
    return i;
}

/* The CRLF that must be at `at`; on LINE_READ the next line begins at *ret_next. */
static line_verdict line_end(asx_http1_head *head, const char *at, const char *end,
                             const char **ret_next)
{
    if (at == end)
        return LINE_PARTIAL;
    if (*at != '\r')
        return refuse(head, at, 400, *at == '\n' ? "a line ends in LF without CR"
                                                 : "a character that may not be in this line");
    if (at + 1 == end)
        return LINE_PARTIAL;
    if (at[1] != '\n')
        return refuse(head, at, 400, "a CR without LF");
    *ret_next = at + 2;
    return LINE_READ;
}

/* "HTTP/1.x" up to *ret_after. */
static line_verdict version(asx_http1_head *head, const char *at, const char *end,
                            const char **ret_after)
{
    static const char name[] = "HTTP/";
    int matched = match(at, end, name, 5);
    if (matched < 0)
        return refuse(head, at, 400, "no HTTP version where one must be");
    if (matched < 5 || end - at < 6)
        return LINE_PARTIAL;
    if (!is_digit(at[5]))
        return refuse(head, at + 5, 400, "the HTTP version is malformed");
    if (end - at < 7)
        return LINE_PARTIAL;
    if (at[6] != '.')
        return refuse(head, at + 6, 400, "the HTTP version is malformed");
    if (end - at < 8)
        return LINE_PARTIAL;
    if (!is_digit(at[7]))
        return refuse(head, at + 7, 400, "the HTTP version is malformed");
    if (at[5] != '1')
        return refuse(head, at, 505, "an HTTP version that is not 1");
    head->minor = at[7] == '0' ? 0 : 1;
    *ret_after = at + 8;
    return LINE_READ;
}

/* Path and query, from `at` to the first character that may be in neither. */
static const char *path_and_query(asx_http1_head *head, const char *at, const char *end)
{
    const char *p = at;
    for (;;) {
        while (p < end && asx__http_is(*p, ASX__HTTP_PATH))
            p++;
        if (end - p < 3 || *p != '%' || !asx__http_is(p[1], ASX__HTTP_HEX) ||
            !asx__http_is(p[2], ASX__HTTP_HEX))
            break;
        p += 3;
    }
    head->path = text(at, p);
    head->query = (asx_http_text){ NULL, 0 };
    if (p == end || *p != '?')
        return p;
    at = ++p;
    while (p < end && asx__http_is(*p, ASX__HTTP_QUERY))
        p++;
    head->query = text(at, p);
    return p;
}

static bool method_is(const asx_http1_head *head, const char *name, size_t len)
{
    return head->method.len == len && memcmp(head->method.at, name, len) == 0;
}

/* "http://host:port" before a path; NULL: it is none. */
static const char *scheme_and_authority(asx_http1_head *head, const char *at, const char *end)
{
    size_t len = (size_t)(end - at);
    size_t scheme = 0;
    if (len > 7 && asx__http_equal(at, "http://", 7))
        scheme = 7;
    else if (len > 8 && asx__http_equal(at, "https://", 8))
        scheme = 8;
    if (scheme == 0)
        return NULL;
    const char *from = at + scheme, *p = from;
    while (p < end && *p != '/' && *p != '?')
        p++;
    head->authority = text(from, p);
    return p > from && asx__http_host_valid(head->authority) ? p : NULL;
}

/* A target that does not begin with a slash; it ends at `end`. */
static bool other_target(asx_http1_head *head, const char *at, const char *end)
{
    static const char root[] = "/";
    if (method_is(head, "CONNECT", 7)) {
        const char *colon = end;
        while (colon > at && colon[-1] != ':')
            colon--;
        head->authority = text(at, end);
        head->path = text(at, at);
        return colon > at + 1 && colon < end && asx__http_host_valid(head->authority);
    }
    if (end - at == 1 && *at == '*') {
        head->path = text(at, end);
        return method_is(head, "OPTIONS", 7);
    }
    at = scheme_and_authority(head, at, end);
    if (at == NULL)
        return false;
    const char *after = path_and_query(head, at, end);
    if (head->path.len == 0)
        head->path = text(root, root + 1);
    return after == end;
}

/* Any target but a path: it ends at the first blank. Its end, whatever that is, if it is malformed.
 */
static const char *to_blank(asx_http1_head *head, const char *at, const char *end, bool *ret_whole)
{
    const char *stop = asx__http_skip_value(at, end);
    const char *p = memchr(at, ' ', (size_t)(stop - at));
    if (p == NULL)
        p = stop;
    *ret_whole = p < end && other_target(head, at, p);
    return p;
}

/* From `at` up to the blank behind the target. */
static line_verdict target(asx_http1_head *head, const char *at, const char *end,
                           const char **ret_after)
{
    const char *p;
    bool whole = true;
    head->authority = head->query = (asx_http_text){ NULL, 0 };
    if (at < end && *at == '/' && !method_is(head, "CONNECT", 7))
        p = path_and_query(head, at, end);
    else
        p = to_blank(head, at, end, &whole);
    if (p == end || (*p == '%' && end - p < 3))
        return LINE_PARTIAL;
    if (*p != ' ' || p == at || !whole)
        return refuse(head, p, 400, "the request target is malformed");
    head->target = text(at, p);
    *ret_after = p + 1;
    return LINE_READ;
}

static line_verdict request_line(asx_http1_head *head, const char *at, const char *end,
                                 const char **ret_next)
{
    const char *p = at;
    while (p < end && asx__http_is(*p, ASX__HTTP_TOKEN))
        p++;
    if (p - at > METHOD_MAX)
        return refuse(head, p, 501, "the method is too long");
    if (p == end)
        return LINE_PARTIAL;
    if (*p != ' ' || p == at)
        return refuse(head, p, 400, "the method is malformed");
    head->method = text(at, p);
    line_verdict v = target(head, p + 1, end, &p);
    if (v == LINE_READ)
        v = version(head, p, end, &p);
    return v == LINE_READ ? line_end(head, p, end, ret_next) : v;
}

/* The blank behind the status is left out by some servers that have no reason. */
static line_verdict status_line(asx_http1_head *head, const char *at, const char *end,
                                const char **ret_next)
{
    unsigned status = 0;
    line_verdict v = version(head, at, end, &at);
    if (v != LINE_READ)
        return v;
    if (at == end)
        return LINE_PARTIAL;
    if (*at != ' ')
        return refuse(head, at, 400, "no blank behind the HTTP version");
    at++;
    for (int i = 0; i < 3; i++, at++) {
        if (at == end)
            return LINE_PARTIAL;
        if (!is_digit(*at))
            return refuse(head, at, 400, "the status is malformed");
        status = status * 10 + (unsigned)(*at - '0');
    }
    if (status < 100)
        return refuse(head, at, 400, "the status is below 100");
    head->status = (uint16_t)status;
    head->reason = text(at, at);
    if (at < end && *at == ' ') {
        const char *from = at + 1;
        at = asx__http_skip_value(from, end);
        head->reason = text(from, at);
    }
    return line_end(head, at, end, ret_next);
}

/* ---- fields -------------------------------------------------------------------------------- */

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The next element of a list: without blanks, perhaps empty. False: there is no more. */
static bool next_element(const char **at, const char *end, asx_http_text *ret_element)
{
    const char *from = *at, *to;
    if (from > end)
        return false;
    to = memchr(from, ',', (size_t)(end - from));
    if (to == NULL)
        to = end;
    *at = to + 1;
    while (from < to && blank(*from))
        from++;
    while (to > from && blank(to[-1]))
        to--;
    *ret_element = text(from, to);
    return true;
}

static bool text_is(asx_http_text t, const char *lower)
{
    size_t len = strlen(lower);
    return t.len == len && asx__http_equal(t.at, lower, len);
}

static void note_connection(asx_http1_head *head, asx_http_text value)
{
    const char *at = value.at;
    asx_http_text element;
    while (next_element(&at, value.at + value.len, &element)) {
        if (text_is(element, "close"))
            head->marks_ |= MARK_CLOSE;
        else if (text_is(element, "keep-alive"))
            head->marks_ |= MARK_KEEP_ALIVE;
        else if (text_is(element, "upgrade"))
            head->marks_ |= MARK_UPGRADE_NAMED;
    }
}

/* Is there a tab among the blanks around a value? It may be there; but there are parsers that read
 * a framing field with one as another field. */
static bool tab_around(asx_http_text value)
{
    const char *p = value.at;
    while (blank(p[-1]))
        if (*--p == '\t')
            return true;
    for (p = value.at + value.len; blank(*p); p++)
        if (*p == '\t')
            return true;
    return false;
}

static line_verdict note_length(asx_http1_head *head, asx_http_text value)
{
    uint64_t length = 0;
    if (head->lengths_ > 0)
        return refuse(head, value.at, 400, "Content-Length is repeated");
    if (tab_around(value))
        return refuse(head, value.at, 400, "a tab around Content-Length");
    head->lengths_ = 1;
    if (value.len == 0)
        return refuse(head, value.at, 400, "Content-Length is empty");
    for (size_t i = 0; i < value.len; i++) {
        unsigned digit = (unsigned)((unsigned char)value.at[i] - '0');
        if (digit > 9)
            return refuse(head, value.at + i, 400, "Content-Length is not a number");
        if (length > ((uint64_t)INT64_MAX - digit) / 10)
            return refuse(head, value.at, 400, "Content-Length is too large to be true");
        length = length * 10 + digit;
    }
    head->content_length = length;
    return LINE_READ;
}

/* `chunked` alone; other codings before it are not implemented, all else is malformed. */
static line_verdict note_coding(asx_http1_head *head, asx_http_text value)
{
    const char *at = value.at, *end = value.at + value.len;
    asx_http_text element = { NULL, 0 };
    bool chunked = false, tokens = true;
    if (head->codings_ > 0)
        return refuse(head, value.at, 400, "Transfer-Encoding is repeated");
    head->codings_ = 1;
    if (tab_around(value))
        return refuse(head, value.at, 400, "a tab around Transfer-Encoding");
    if (text_is(value, "chunked"))
        return LINE_READ;
    while (next_element(&at, end, &element)) {
        tokens = tokens && !chunked && element.len > 0 &&
                 asx_http_field_valid(element, (asx_http_text){ NULL, 0 });
        chunked = text_is(element, "chunked");
    }
    if (chunked && tokens)
        return refuse(head, value.at, 501, "a transfer coding that is not implemented");
    return refuse(head, value.at, 400, "the last transfer coding is not one `chunked`");
}

static line_verdict note_host(asx_http1_head *head, asx_http_text value)
{
    if (head->kind_ != ASX_HTTP1_REQUEST)
        return LINE_READ;
    if (head->hosts_ > 0)
        return refuse(head, value.at, 400, "Host is repeated");
    if (!asx__http_host_valid(value))
        return refuse(head, value.at, 400, "Host is malformed");
    head->hosts_ = 1;
    head->host_slot_ = head->field_count;
    return LINE_READ;
}

static line_verdict note_expect(asx_http1_head *head, asx_http_text value)
{
    if (head->kind_ != ASX_HTTP1_REQUEST || head->minor == 0)
        return LINE_READ;
    if (!text_is(value, "100-continue"))
        return refuse(head, value.at, 417, "an expectation that is not implemented");
    head->marks_ |= MARK_EXPECT;
    return LINE_READ;
}

static line_verdict trailer(asx_http1_head *head, asx_http_text name)
{
    if (text_is(name, "content-length") || text_is(name, "transfer-encoding") ||
        text_is(name, "host"))
        return refuse(head, name.at, 400, "a framing field among the trailers");
    return LINE_READ;
}

/* What a field means for the message as a whole. */
static line_verdict note(asx_http1_head *head, asx_http_text name, asx_http_text value)
{
    if (head->kind_ == ASX_HTTP1_TRAILERS)
        return trailer(head, name);
    switch (name.len) {
    case 4: return asx__http_equal(name.at, "host", 4) ? note_host(head, value) : LINE_READ;
    case 6: return asx__http_equal(name.at, "expect", 6) ? note_expect(head, value) : LINE_READ;
    case 7:
        if (asx__http_equal(name.at, "upgrade", 7))
            head->marks_ |= MARK_UPGRADE_FIELD;
        return LINE_READ;
    case 10:
        if (asx__http_equal(name.at, "connection", 10))
            note_connection(head, value);
        return LINE_READ;
    case 14:
        return asx__http_equal(name.at, "content-length", 14) ? note_length(head, value)
                                                              : LINE_READ;
    case 17:
        return asx__http_equal(name.at, "transfer-encoding", 17) ? note_coding(head, value)
                                                                 : LINE_READ;
    default: return LINE_READ;
    }
}

static line_verdict bad_name(asx_http1_head *head, const char *at, const char *p)
{
    if (p == at && blank(*p))
        return refuse(head, p, 400, "a folded line, or a blank before the first field");
    if (blank(*p))
        return refuse(head, p, 400, "a blank between the name of a field and its colon");
    return refuse(head, p, 400, "the name of a field is malformed");
}

static line_verdict field_line(asx_http1_head *head, const char *at, const char *end,
                               const char **ret_next)
{
    const char *p = at;
    while (p < end && asx__http_is(*p, ASX__HTTP_TOKEN))
        p++;
    if (p == end)
        return LINE_PARTIAL;
    if (*p != ':' || p == at)
        return bad_name(head, at, p);
    asx_http_text name = text(at, p);
    p++;
    while (p < end && blank(*p))
        p++;
    const char *from = p;
    p = asx__http_skip_value(p, end);
    line_verdict v = line_end(head, p, end, ret_next);
    if (v != LINE_READ)
        return v;
    while (p > from && blank(p[-1]))
        p--;
    asx_http_text value = text(from, p);
    if (head->field_count == head->slot_count_)
        return refuse(head, at, REFUSAL_HEAD, "more fields than are accepted");
    head->slots_[head->field_count] = (asx_http1_slot){
        (uint32_t)(name.at - head->bytes_), (uint32_t)name.len,
        (uint32_t)(value.at - head->bytes_), (uint32_t)value.len,
    };
    v = note(head, name, value);
    head->field_count++;
    return v;
}

/* ---- the end of the head ------------------------------------------------------------------- */

static line_verdict request_body(asx_http1_head *head, const char *at)
{
    bool connect = method_is(head, "CONNECT", 7);
    if (head->minor > 0 && head->hosts_ == 0)
        return refuse(head, at, 400, "there is no Host");
    if (connect && (head->codings_ > 0 || head->content_length > 0))
        return refuse(head, at, 400, "CONNECT has a body");
    head->body = connect              ? ASX_HTTP1_BODY_TUNNEL
                 : head->codings_ > 0 ? ASX_HTTP1_BODY_CHUNKED
                 : head->lengths_ > 0 ? ASX_HTTP1_BODY_LENGTH
                                      : ASX_HTTP1_BODY_NONE;
    head->expect_continue = (head->marks_ & MARK_EXPECT) != 0;
    if (head->authority.at == NULL && head->hosts_ > 0) {
        const asx_http1_slot *slot = &head->slots_[head->host_slot_];
        head->authority = (asx_http_text){ head->bytes_ + slot->value_at_, slot->value_len_ };
    }
    return LINE_READ;
}

static line_verdict response_body(asx_http1_head *head, const char *at)
{
    bool success = head->status >= 200 && head->status < 300;
    bool bare = head->status < 200 || head->status == 204;
    if (head->status == 101 || (success && head->kind_ == ASX_HTTP1_RESPONSE_TO_CONNECT)) {
        head->body = ASX_HTTP1_BODY_TUNNEL;
        return LINE_READ;
    }
    if (bare && (head->codings_ > 0 || head->content_length > 0))
        return refuse(head, at, 400, "a response that has no body says how long it is");
    head->body = bare || head->status == 304 || head->kind_ == ASX_HTTP1_RESPONSE_TO_HEAD
                     ? ASX_HTTP1_BODY_NONE
                 : head->codings_ > 0 ? ASX_HTTP1_BODY_CHUNKED
                 : head->lengths_ > 0 ? ASX_HTTP1_BODY_LENGTH
                                      : ASX_HTTP1_BODY_TO_END;
    return LINE_READ;
}

/* The empty line was read; it begins at `at`. */
static line_verdict finish(asx_http1_head *head, const char *at)
{
    line_verdict v = LINE_READ;
    if (head->kind_ != ASX_HTTP1_TRAILERS) {
        if (head->codings_ > 0 && head->lengths_ > 0)
            return refuse(head, at, 400, "Content-Length beside Transfer-Encoding");
        if (head->codings_ > 0 && head->minor == 0)
            return refuse(head, at, 400, "Transfer-Encoding in HTTP/1.0");
        v = head->kind_ == ASX_HTTP1_REQUEST ? request_body(head, at) : response_body(head, at);
        bool asked = head->minor > 0 || (head->marks_ & MARK_KEEP_ALIVE) != 0;
        head->keep_alive = asked && (head->marks_ & MARK_CLOSE) == 0 &&
                           head->body != ASX_HTTP1_BODY_TO_END &&
                           head->body != ASX_HTTP1_BODY_TUNNEL;
        const uint8_t both = MARK_UPGRADE_NAMED | MARK_UPGRADE_FIELD;
        head->upgrade = (head->marks_ & both) == both;
    }
    if (v == LINE_READ) {
        head->len = head->line_at_;
        head->state_ = DONE;
    }
    return v;
}

/* ---- reading ------------------------------------------------------------------------------- */

asx_status asx_http1_head_init(asx_http1_head *head, asx_http1_kind kind, asx_http1_slot *slots,
                               uint32_t slot_count, const asx_http1_limits *limits)
{
    if (head == NULL)
        return ASX_E_INVALID_ARGUMENT;
    memset(head, 0, sizeof(*head));
    head->state_ = REFUSED;
    if ((unsigned)kind > ASX_HTTP1_TRAILERS || (slots == NULL && slot_count > 0) ||
        (limits != NULL && limits->head_max > HEAD_MAX_MOST))
        return ASX_E_INVALID_ARGUMENT;
    bool some = limits != NULL;
    head->slots_ = slots;
    head->slot_count_ = slot_count;
    head->line_max_ = some && limits->line_max != 0 ? limits->line_max : LINE_MAX_DEFAULT;
    head->head_max_ = some && limits->head_max != 0 ? limits->head_max : HEAD_MAX_DEFAULT;
    head->kind_ = (uint8_t)kind;
    head->state_ = kind == ASX_HTTP1_TRAILERS ? FIELDS : FIRST_LINE;
    return ASX_OK;
}

/* The first line at `at`, behind one empty line if it is a request's. */
static line_verdict first_line(asx_http1_head *head, const char *at, const char *end,
                               const char **ret_next)
{
    head->first_at_ = (uintptr_t)at;
    if (head->kind_ != ASX_HTTP1_REQUEST)
        return status_line(head, at, end, ret_next);
    return request_line(head, at, end, ret_next);
}

static line_verdict leading_line(asx_http1_head *head, const char *at, const char *end,
                                 const char **ret_next)
{
    bool may_be_empty = head->kind_ == ASX_HTTP1_REQUEST && head->line_at_ == 0;
    if (at < end && *at == '\r' && may_be_empty)
        return line_end(head, at, end, ret_next);
    line_verdict v = first_line(head, at, end, ret_next);
    if (v == LINE_READ) {
        head->first_line_ = (uint32_t)(at - head->bytes_);
        head->state_ = FIELDS;
    }
    return v;
}

static line_verdict any_line(asx_http1_head *head, const char *at, const char *end)
{
    const char *next = NULL;
    line_verdict v;
    if (head->state_ == FIRST_LINE)
        v = leading_line(head, at, end, &next);
    else if (at < end && *at == '\r') {
        v = line_end(head, at, end, &next);
        if (v == LINE_READ) {
            const char *from = head->bytes_ + head->first_line_;
            head->line_at_ = (uint32_t)(next - head->bytes_);
            if (head->kind_ != ASX_HTTP1_TRAILERS && head->first_at_ != (uintptr_t)from)
                (void)first_line(head, from, end, &next);
            return finish(head, at);
        }
    } else
        v = field_line(head, at, end, &next);
    if (v == LINE_READ)
        head->line_at_ = (uint32_t)(next - head->bytes_);
    return v;
}

/* Is there anything in [seen_, end) that a line ends at, or is refused for? */
static bool worth_reading(asx_http1_head *head, const char *end)
{
    const char *p = asx__http_skip_value(head->bytes_ + head->seen_, end);
    head->seen_ = (uint32_t)(p - head->bytes_);
    return p < end && (*p != '\r' || end - p > 1);
}

static asx_status answer(const asx_http1_head *head)
{
    switch (head->refusal) {
    case 0: return ASX_OK;
    case 400: return ASX_E_HTTP_MALFORMED;
    case REFUSAL_LINE:
    case REFUSAL_HEAD: return ASX_E_HTTP_TOO_LARGE;
    default: return ASX_E_HTTP_NOT_SUPPORTED;
    }
}

asx_status asx_http1_head_read(asx_http1_head *head, const char *bytes, size_t len)
{
    if (head == NULL || (bytes == NULL && len > 0))
        return ASX_E_INVALID_ARGUMENT;
    if (head->state_ == DONE || head->state_ == REFUSED)
        return ASX_E_INVALID_TRANSITION;
    if (len < head->line_at_ || len < head->seen_)
        return ASX_E_INVALID_ARGUMENT;
    head->bytes_ = bytes;
    size_t most = len < head->head_max_ ? len : head->head_max_;
    while (head->state_ == FIRST_LINE || head->state_ == FIELDS) {
        const char *at = bytes + head->line_at_, *end = bytes + most;
        bool cut = most < len || most == head->head_max_, line_cut = false;
        if ((size_t)(end - at) >= head->line_max_) {
            end = at + head->line_max_;
            cut = line_cut = true;
        }
        if (!cut && head->seen_ > head->line_at_ && !worth_reading(head, end))
            return ASX_E_HTTP_PARTIAL;
        if (any_line(head, at, end) != LINE_PARTIAL)
            continue;
        if (cut) {
            bool first = head->state_ == FIRST_LINE && line_cut;
            (void)refuse(head, at, first ? REFUSAL_LINE : REFUSAL_HEAD,
                         line_cut ? "a line is too long" : "the head is too long");
            break;
        }
        head->seen_ = (uint32_t)(len > 0 && bytes[len - 1] == '\r' ? len - 1 : len);
        return ASX_E_HTTP_PARTIAL;
    }
    return answer(head);
}

asx_http_field asx_http1_head_field(const asx_http1_head *head, uint32_t index)
{
    asx_http_field field = { { NULL, 0 }, { NULL, 0 } };
    if (head == NULL || head->bytes_ == NULL || index >= head->field_count)
        return field;
    const asx_http1_slot *slot = &head->slots_[index];
    field.name = (asx_http_text){ head->bytes_ + slot->name_at_, slot->name_len_ };
    field.value = (asx_http_text){ head->bytes_ + slot->value_at_, slot->value_len_ };
    return field;
}

asx_status asx_http1_head_find(const asx_http1_head *head, const char *name, uint32_t from,
                               asx_http_text *ret_value, uint32_t *ret_index)
{
    if (ret_value != NULL)
        *ret_value = (asx_http_text){ NULL, 0 };
    if (ret_index != NULL)
        *ret_index = head != NULL ? head->field_count : 0;
    if (head == NULL || name == NULL || ret_value == NULL)
        return ASX_E_INVALID_ARGUMENT;
    size_t len = strlen(name);
    for (uint32_t i = from; i < head->field_count; i++) {
        asx_http_field field = asx_http1_head_field(head, i);
        if (field.name.len != len || !asx__http_same(field.name.at, name, len))
            continue;
        *ret_value = field.value;
        if (ret_index != NULL)
            *ret_index = i;
        return ASX_OK;
    }
    return ASX_E_NOT_FOUND;
}
