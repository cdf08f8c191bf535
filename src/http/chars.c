/* chars.c - classes of characters, and what is asked of short texts. */
#include "http/http.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

const uint8_t asx__http_class[256] = {
    0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
    0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
    0,  15, 0,  1,  15, 5,  15, 15, 14, 14, 15, 15, 14, 15, 15, 6,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 6,  14, 0,  14, 0,  4,
    6,  31, 31, 31, 31, 31, 31, 15, 15, 15, 15, 15, 15, 15, 15, 15,
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 6,  4,  6,  5,  15,
    5,  31, 31, 31, 31, 31, 31, 15, 15, 15, 15, 15, 15, 15, 15, 15,
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 4,  7,  4,  15, 0,
};

static bool value_char(char c)
{
    unsigned char u = (unsigned char)c;
    return (u >= 0x20 && u != 0x7f) || u == '\t';
}

#if defined(__SSE2__)
/* Sixteen bytes at a time: each bit of the mask is a byte that is 0x1f at most, or DEL. */
const char *asx__http_skip_value(const char *at, const char *end)
{
    const __m128i low = _mm_set1_epi8(0x1f), del = _mm_set1_epi8(0x7f);
    while (end - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const void *)at);
        __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(bytes, low), bytes);
        int mask = _mm_movemask_epi8(_mm_or_si128(controls, _mm_cmpeq_epi8(bytes, del)));
        if (mask == 0) {
            at += 16;
            continue;
        }
        at += __builtin_ctz((unsigned)mask);
        if (*at != '\t')
            return at;
        at++;
    }
    while (at < end && value_char(*at))
        at++;
    return at;
}
#else
/* Eight bytes at a time: a byte is marked that is below 0x20, or DEL. Marks above the lowest one
 * may be wrong, since the subtraction borrows; the lowest is looked for byte by byte. */
const char *asx__http_skip_value(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    for (;;) {
        while (end - at >= 8) {
            uint64_t word, del;
            memcpy(&word, at, 8);
            del = word ^ (ones * 0x7f);
            if (((((word - ones * 0x20) & ~word) | ((del - ones) & ~del)) & high) != 0)
                break;
            at += 8;
        }
        while (at < end && value_char(*at) && *at != '\t')
            at++;
        if (at == end || *at != '\t')
            return at;
        at++;
    }
}
#endif

static char lower_case(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool asx__http_equal(const char *at, const char *lower, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (lower_case(at[i]) != lower[i])
            return false;
    return true;
}

bool asx__http_same(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (lower_case(a[i]) != lower_case(b[i]))
            return false;
    return true;
}

static bool all_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at == end;
}

/* Up to five digits below 65536, or none. */
static bool port_valid(const char *at, const char *end)
{
    unsigned long port = 0;
    if (end - at > 5 || !all_digits(at, end))
        return false;
    for (; at < end; at++)
        port = port * 10 + (unsigned long)(*at - '0');
    return port <= 65535;
}

/* "[" hexadecimal digits, colons and dots "]", or IPvFuture's letters. */
static const char *skip_bracketed(const char *at, const char *end)
{
    const char *from = ++at;
    while (at < end && (asx__http_is(*at, ASX__HTTP_HOST) || *at == ':'))
        at++;
    return at < end && at > from && *at == ']' ? at + 1 : NULL;
}

static const char *skip_name(const char *at, const char *end)
{
    while (at < end) {
        if (asx__http_is(*at, ASX__HTTP_HOST))
            at++;
        else if (*at == '%' && end - at > 2 && asx__http_is(at[1], ASX__HTTP_HEX) &&
                 asx__http_is(at[2], ASX__HTTP_HEX))
            at += 3;
        else
            break;
    }
    return at;
}

bool asx__http_host_valid(asx_http_text host)
{
    const char *at = host.at, *end = host.at + host.len;
    if (host.len == 0)
        return true;
    at = *at == '[' ? skip_bracketed(at, end) : skip_name(at, end);
    if (at == NULL || (at < end && at == host.at))
        return false;
    return at == end || (*at == ':' && port_valid(at + 1, end));
}

bool asx_http_field_valid(asx_http_text name, asx_http_text value)
{
    if (name.len == 0 || name.at == NULL || (value.len > 0 && value.at == NULL))
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!asx__http_is(name.at[i], ASX__HTTP_TOKEN))
            return false;
    if (value.len == 0)
        return true;
    char first = value.at[0], last = value.at[value.len - 1];
    if (first == ' ' || first == '\t' || last == ' ' || last == '\t')
        return false;
    return asx__http_skip_value(value.at, value.at + value.len) == value.at + value.len;
}

const char *asx_http_status_text(unsigned status)
{
    static const struct {
        uint16_t status;
        const char *text;
    } names[] = {
        { 100, "Continue" }, { 101, "Switching Protocols" }, { 103, "Early Hints" },
        { 200, "OK" }, { 201, "Created" }, { 202, "Accepted" },
        { 203, "Non-Authoritative Information" }, { 204, "No Content" },
        { 205, "Reset Content" }, { 206, "Partial Content" }, { 300, "Multiple Choices" },
        { 301, "Moved Permanently" }, { 302, "Found" }, { 303, "See Other" },
        { 304, "Not Modified" }, { 307, "Temporary Redirect" }, { 308, "Permanent Redirect" },
        { 400, "Bad Request" }, { 401, "Unauthorized" }, { 403, "Forbidden" },
        { 404, "Not Found" }, { 405, "Method Not Allowed" }, { 406, "Not Acceptable" },
        { 407, "Proxy Authentication Required" }, { 408, "Request Timeout" },
        { 409, "Conflict" }, { 410, "Gone" }, { 411, "Length Required" },
        { 412, "Precondition Failed" }, { 413, "Content Too Large" }, { 414, "URI Too Long" },
        { 415, "Unsupported Media Type" }, { 416, "Range Not Satisfiable" },
        { 417, "Expectation Failed" }, { 421, "Misdirected Request" },
        { 422, "Unprocessable Content" }, { 426, "Upgrade Required" },
        { 428, "Precondition Required" }, { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" }, { 451, "Unavailable For Legal Reasons" },
        { 500, "Internal Server Error" }, { 501, "Not Implemented" }, { 502, "Bad Gateway" },
        { 503, "Service Unavailable" }, { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].status == status)
            return names[i].text;
    return "";
}
