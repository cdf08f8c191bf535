/* http.h - what the files of this module share.
 *
 * Classes of characters, one bit each. A path and a query may hold what browsers send there without
 * encoding it; RFC 3986 allows less (docs/design/24-http.md).
 */
#ifndef ASX_HTTP_HTTP_H
#define ASX_HTTP_HTTP_H

#include <asx/http1.h>

enum {
    ASX__HTTP_TOKEN = 1,
    ASX__HTTP_PATH = 2, /* but for % and two digits */
    ASX__HTTP_QUERY = 4,
    ASX__HTTP_HOST = 8, /* of a registered name, but for % and two digits */
    ASX__HTTP_HEX = 16
};
extern const uint8_t asx__http_class[256];

static inline bool asx__http_is(char c, unsigned class)
{
    return (asx__http_class[(unsigned char)c] & class) != 0;
}

/* The first byte from `at` on that may not stand in the value of a field; tab and blank may. */
const char *asx__http_skip_value(const char *at, const char *end);
/* Without regard to the case of letters; `lower` has no upper case letters. */
bool asx__http_equal(const char *at, const char *lower, size_t len);
/* Likewise, with letters of either case in both. */
bool asx__http_same(const char *a, const char *b, size_t len);
bool asx__http_host_valid(asx_http_text host);

#endif
