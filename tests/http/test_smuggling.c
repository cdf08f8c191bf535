/* test_smuggling.c - messages that two parsers may read differently, each in one piece, byte by
 * byte and cut at every byte: what is refused is refused with its number, what is accepted is read
 * the same. */
#include "support_http1.h"

#include <string.h>

#include "harness.h"

typedef struct row {
    const char *name;
    const char *bytes;
    size_t len;
    int result;
} row;

#define ROW(name, result, bytes) { name, bytes, sizeof(bytes) - 1, result }
#define TOP "POST / HTTP/1.1\r\nHost: h\r\n"
#define CHUNKED TOP "Transfer-Encoding: chunked\r\n\r\n"
#define LINE_64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const row lines[] = {
    ROW("a request", 200, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("HTTP/1.0 without Host", 200, "GET / HTTP/1.0\r\n\r\n"),
    ROW("one empty line before it", 200, "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("two empty lines before it", 400, "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("LF before it", 400, "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("CR and no LF before it", 400, "\rGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("LF ends the request line", 400, "GET / HTTP/1.1\nHost: h\r\n\r\n"),
    ROW("LF ends a field", 400, "GET / HTTP/1.1\r\nHost: h\n\r\n"),
    ROW("LF ends the head", 400, "GET / HTTP/1.1\r\nHost: h\r\n\n"),
    ROW("only LF", 400, "GET / HTTP/1.1\nHost: h\n\n"),
    ROW("CR CR LF behind the request line", 400, "GET / HTTP/1.1\r\r\nHost: h\r\n\r\n"),
    ROW("CR CR LF behind a field", 400, "GET / HTTP/1.1\r\nHost: h\r\r\n\r\n"),
    ROW("CR in the version", 400, "GET / HTTP/1.1\rHost: h\r\n\r\n"),
    ROW("a header behind CR", 400, TOP "X: a\rContent-Length: 4\r\n\r\nabcd"),
    ROW("CR ends the head", 400, "GET / HTTP/1.1\r\nHost: h\r\n\rX: y\r\n\r\n"),
    ROW("CR CR ends a head that has a length", 400, TOP "Content-Length: 4\r\r\n\r\nabcd"),
    ROW("CR LF CR without LF", 400, TOP "X: y\r\n\rContent-Length: 4\r\n\r\nabcd"),
    ROW("a second blank before the target", 400, "GET  / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a second blank before the version", 400, "GET /  HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a blank behind the version", 400, "GET / HTTP/1.1 \r\nHost: h\r\n\r\n"),
    ROW("a blank before the method", 400, " GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a tab behind the method", 400, "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a tab behind the target", 400, "GET /\tHTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a vertical tab in the target", 400, "GET /\v HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a blank in the target", 400, "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("no target", 400, "GET HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("no version", 400, "GET /\r\nHost: h\r\n\r\n"),
    ROW("HTTP/0.9", 400, "GET /\r\n\r\n"),
    ROW("no method", 400, "/ HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a colon in the method", 400, "GE:T / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a parenthesis in the method", 400, "GET() / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a method with bytes above 127", 400, "G\xc3\x89T / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a method that is not known", 200, "PURGE / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a method without end", 501,
        "GETGETGETGETGETGETGETGETGETGETGETGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("NUL in the method", 400, "GE\0T / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("NUL in the target", 400, "GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("DEL in the target", 400, "GET /\x7f HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("bytes above 127 in the target", 400, "GET /\xc3\xa9 HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a fragment", 400, "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a quote in the path", 400, "GET /\"a HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a backslash in the path", 400, "GET /\\a HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("angle brackets in the query", 400, "GET /?<a> HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("half of an escape in the path", 400, "GET /%4 HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("an escape that is none", 400, "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a target without a slash", 400, "GET a HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a star that is not for OPTIONS", 400, "GET * HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a star for OPTIONS", 200, "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("more than a star", 400, "OPTIONS *a HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("an absolute target", 200, "GET http://a/b HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("an absolute target without host", 400, "GET http:///b HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("an absolute target with a user", 400, "GET http://u@a/ HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("another scheme", 400, "GET ftp://a/b HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a port that is too large", 400, "GET http://a:65536/ HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("CONNECT", 200, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"),
    ROW("CONNECT without a port", 400, "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n"),
    ROW("CONNECT with an empty port", 400, "CONNECT a: HTTP/1.1\r\nHost: a\r\n\r\n"),
    ROW("CONNECT with a path", 400, "CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n"),
    ROW("CONNECT with a length", 400,
        "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nContent-Length: 1\r\n\r\nx"),
    ROW("COPY is not CONNECT", 200, "COPY /a HTTP/1.1\r\nHost: a\r\n\r\n"),
    ROW("lower case version", 400, "GET / http/1.1\r\nHost: h\r\n\r\n"),
    ROW("HTTP/1.12", 400, "GET / HTTP/1.12\r\nHost: h\r\n\r\n"),
    ROW("HTTP/11", 400, "GET / HTTP/11\r\nHost: h\r\n\r\n"),
    ROW("HTTP/1,1", 400, "GET / HTTP/1,1\r\nHost: h\r\n\r\n"),
    ROW("HTTP/+1.1", 400, "GET / HTTP/+1.1\r\nHost: h\r\n\r\n"),
    ROW("HTTP/1. 1", 400, "GET / HTTP/1. 1\r\nHost: h\r\n\r\n"),
    ROW("HTTP/1.9 is read as 1.1", 200, "GET / HTTP/1.9\r\nHost: h\r\n\r\n"),
    ROW("HTTP/2.0", 505, "GET / HTTP/2.0\r\nHost: h\r\n\r\n"),
    ROW("the preface of HTTP/2", 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ROW("HTTP/0.1", 505, "GET / HTTP/0.1\r\nHost: h\r\n\r\n"),
    ROW("a request line that is too long", 414,
        "GET /" LINE_64 LINE_64 " HTTP/1.1\r\nHost: h\r\n\r\n"),
    ROW("a field that is too long", 431, TOP "X: " LINE_64 LINE_64 "\r\n\r\n"),
    ROW("a field that is too long and wrong", 400, TOP "X\x01: " LINE_64 LINE_64 "\r\n\r\n"),
    ROW("a head that is too long", 431,
        TOP "A: " LINE_64 "\r\nA: " LINE_64 "\r\nA: " LINE_64 "\r\nA: " LINE_64 "\r\nA: " LINE_64
            "\r\nA: " LINE_64 "\r\nA: " LINE_64 "\r\nA: " LINE_64 "\r\n\r\n"),
    ROW("too many fields", 431,
        TOP "a:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\n"
            "a:\r\na:\r\n\r\n"),
    ROW("as many fields as can be", 200,
        TOP "a:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\na:\r\n"
            "a:\r\n\r\n"),
    ROW("TLS", 400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    ROW("half of a head", 100, "GET / HTTP/1.1\r\nHost: h\r\n"),
};

static const row fields[] = {
    ROW("no Host", 400, "GET / HTTP/1.1\r\n\r\n"),
    ROW("two Hosts", 400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    ROW("the same Host twice", 400, "GET / HTTP/1.1\r\nHost: a\r\nhOST: a\r\n\r\n"),
    ROW("two Hosts in HTTP/1.0", 400, "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"),
    ROW("a list of Hosts", 400, "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
    ROW("a path in Host", 400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    ROW("a user in Host", 400, "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
    ROW("a query in Host", 400, "GET / HTTP/1.1\r\nHost: a?b\r\n\r\n"),
    ROW("a port that is no number", 400, "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"),
    ROW("two ports", 400, "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n"),
    ROW("only a port", 400, "GET / HTTP/1.1\r\nHost: :80\r\n\r\n"),
    ROW("IPv6", 200, "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"),
    ROW("IPv6 without its end", 400, "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"),
    ROW("IPv6 and more", 400, "GET / HTTP/1.1\r\nHost: [::1]a\r\n\r\n"),
    ROW("a blank in Host", 400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
    ROW("an empty Host", 200, "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    ROW("a blank before the colon", 400, "GET / HTTP/1.1\r\nHost : h\r\n\r\n"),
    ROW("a tab before the colon", 400, "GET / HTTP/1.1\r\nHost\t: h\r\n\r\n"),
    ROW("a folded value", 400, TOP "X: a\r\n b\r\n\r\n"),
    ROW("a folded value with a tab", 400, TOP "X: a\r\n\tb\r\n\r\n"),
    ROW("a folded length", 400, TOP "Content-Length:\r\n 4\r\n\r\nabcd"),
    ROW("a blank before the first field", 400, "GET / HTTP/1.1\r\n Host: h\r\n\r\n"),
    ROW("a line of blanks", 400, TOP " \r\n\r\n"),
    ROW("a field without a colon", 400, TOP "Content-Length\r\n\r\n"),
    ROW("a field without a name", 400, TOP ": a\r\n\r\n"),
    ROW("a blank in a name", 400, TOP "Content Length: 4\r\n\r\n"),
    ROW("NUL in a name", 400, TOP "Content-Length\0: 4\r\n\r\n"),
    ROW("a quote in a name", 400, TOP "\"Host\": x\r\n\r\n"),
    ROW("a bracket in a name", 400, TOP "Content-Length]: 4\r\n\r\n"),
    ROW("a byte above 127 in a name", 400, TOP "Content-Length\xa0: 4\r\n\r\n"),
    ROW("NUL in a value", 400, TOP "X: a\0b\r\n\r\n"),
    ROW("a vertical tab in a value", 400, TOP "X: a\vb\r\n\r\n"),
    ROW("ESC in a value", 400, TOP "X: a\x1b[31m\r\n\r\n"),
    ROW("DEL in a value", 400, TOP "X: a\x7f\r\n\r\n"),
    ROW("a tab in a value", 200, TOP "X: a\tb\r\n\r\n"),
    ROW("bytes above 127 in a value", 200, TOP "X: \xc3\xa9\r\n\r\n"),
    ROW("a value of blanks", 200, TOP "X: \t \r\n\r\n"),
    ROW("another expectation", 417, TOP "Expect: 200-ok\r\n\r\n"),
    ROW("two expectations", 417, TOP "Expect: 100-continue, x\r\n\r\n"),
    ROW("an expectation in HTTP/1.0", 200, "GET / HTTP/1.0\r\nExpect: x\r\n\r\n"),
};

static const row framing[] = {
    ROW("a length", 200, TOP "Content-Length: 4\r\n\r\nabcd"),
    ROW("a length of 0", 200, TOP "Content-Length: 0\r\n\r\n"),
    ROW("a length with zeros before it", 200, TOP "Content-Length: 004\r\n\r\nabcd"),
    ROW("a length without its body", 100, TOP "Content-Length: 4\r\n\r\nabc"),
    ROW("two lengths that differ", 400, TOP "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde"),
    ROW("two equal lengths", 400, TOP "Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd"),
    ROW("a list of lengths", 400, TOP "Content-Length: 4, 4\r\n\r\nabcd"),
    ROW("a length with a comma", 400, TOP "Content-Length: 4,\r\n\r\nabcd"),
    ROW("+4", 400, TOP "Content-Length: +4\r\n\r\nabcd"),
    ROW("-4", 400, TOP "Content-Length: -4\r\n\r\nabcd"),
    ROW("4.0", 400, TOP "Content-Length: 4.0\r\n\r\nabcd"),
    ROW("4e0", 400, TOP "Content-Length: 4e0\r\n\r\nabcd"),
    ROW("0x4", 400, TOP "Content-Length: 0x4\r\n\r\nabcd"),
    ROW("4_0", 400, TOP "Content-Length: 4_0\r\n\r\nabcd"),
    ROW("4 blank 4", 400, TOP "Content-Length: 4 4\r\n\r\nabcd"),
    ROW("4 and a vertical tab", 400, TOP "Content-Length: 4\v\r\n\r\nabcd"),
    ROW("an empty length", 400, TOP "Content-Length: \r\n\r\n"),
    ROW("a length beyond 2^63", 400, TOP "Content-Length: 9223372036854775808\r\n\r\n"),
    ROW("a length beyond 2^64", 400, TOP "Content-Length: 18446744073709551620\r\n\r\nabcd"),
    ROW("a length of many digits", 400,
        TOP "Content-Length: 100000000000000000000000000000000000004\r\n\r\nabcd"),
    ROW("digits of another script", 400, TOP "Content-Length: \xd9\xa4\r\n\r\nabcd"),
    ROW("length and chunked", 400,
        TOP "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW("chunked and length", 400,
        TOP "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"),
    ROW("chunked in HTTP/1.0", 400,
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW("CHUNKED", 200, TOP "Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n"),
    ROW("a tab before chunked", 400, TOP "Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n"),
    ROW("a tab behind chunked", 400, TOP "Transfer-Encoding: chunked \t \r\n\r\n0\r\n\r\n"),
    ROW("blanks around chunked", 200, TOP "Transfer-Encoding:  chunked  \r\n\r\n0\r\n\r\n"),
    ROW("a tab before a length", 400, TOP "Content-Length: \t 4\r\n\r\nabcd"),
    ROW("a tab behind a length", 400, TOP "Content-Length: 4\t\r\n\r\nabcd"),
    ROW("xchunked", 400, TOP "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    ROW("chunkedx", 400, TOP "Transfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n"),
    ROW("a quoted coding", 400, TOP "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
    ROW("chunked with a parameter", 400, TOP "Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n"),
    ROW("identity", 400, TOP "Transfer-Encoding: identity\r\n\r\n"),
    ROW("gzip alone", 400, TOP "Transfer-Encoding: gzip\r\n\r\n"),
    ROW("gzip, chunked", 501, TOP "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    ROW("chunked, gzip", 400, TOP "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
    ROW("chunked, identity", 400, TOP "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
    ROW("chunked twice in a list", 400,
        TOP "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    ROW("chunked in two fields", 400,
        TOP "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW("chunked and identity in two fields", 400,
        TOP "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
    ROW("a comma before chunked", 400, TOP "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n"),
    ROW("a comma behind chunked", 400, TOP "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n"),
    ROW("an empty coding", 400, TOP "Transfer-Encoding:\r\n\r\n"),
    ROW("a vertical tab before chunked", 400,
        TOP "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n"),
    ROW("a blank before its colon", 400, TOP "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
    ROW("a folded coding", 400, TOP "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    ROW("CR in a coding", 400, TOP "Transfer-Encoding: chunked\rX: y\r\n\r\n0\r\n\r\n"),
    ROW("LF before a coding", 400, TOP "X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
};

static const row chunks[] = {
    ROW("chunks", 200, CHUNKED "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
    ROW("an upper case size", 200, CHUNKED "A\r\n0123456789\r\n0\r\n\r\n"),
    ROW("zeros before a size", 200, CHUNKED "0003\r\nabc\r\n000\r\n\r\n"),
    ROW("too many zeros before a size", 600, CHUNKED "00000000000000003\r\nabc\r\n0\r\n\r\n"),
    ROW("no size", 600, CHUNKED "\r\nabc\r\n0\r\n\r\n"),
    ROW("a blank before a size", 600, CHUNKED " 3\r\nabc\r\n0\r\n\r\n"),
    ROW("a blank behind a size", 600, CHUNKED "3 \r\nabc\r\n0\r\n\r\n"),
    ROW("a tab behind a size", 600, CHUNKED "3\t\r\nabc\r\n0\r\n\r\n"),
    ROW("0x3", 600, CHUNKED "0x3\r\nabc\r\n0\r\n\r\n"),
    ROW("+3", 600, CHUNKED "+3\r\nabc\r\n0\r\n\r\n"),
    ROW("-3", 600, CHUNKED "-3\r\nabc\r\n0\r\n\r\n"),
    ROW("3_0", 600, CHUNKED "3_0\r\nabc\r\n0\r\n\r\n"),
    ROW("3g", 600, CHUNKED "3g\r\nabc\r\n0\r\n\r\n"),
    ROW("NUL behind a size", 600, CHUNKED "3\0\r\nabc\r\n0\r\n\r\n"),
    ROW("a size beyond 2^63", 600, CHUNKED "8000000000000000\r\nabc\r\n0\r\n\r\n"),
    ROW("a size beyond 2^64", 600, CHUNKED "10000000000000003\r\nabc\r\n0\r\n\r\n"),
    ROW("a size beyond the limit of the body", 613, CHUNKED "3e9\r\nabc\r\n0\r\n\r\n"),
    ROW("LF behind a size", 600, CHUNKED "3\nabc\r\n0\r\n\r\n"),
    ROW("CR behind a size", 600, CHUNKED "3\rabc\r\n0\r\n\r\n"),
    ROW("CR CR LF behind a size", 600, CHUNKED "3\r\r\nabc\r\n0\r\n\r\n"),
    ROW("LF behind the data", 600, CHUNKED "3\r\nabc\n0\r\n\r\n"),
    ROW("nothing behind the data", 600, CHUNKED "3\r\nabc0\r\n\r\n"),
    ROW("more data than was said", 600, CHUNKED "3\r\nabcd\r\n0\r\n\r\n"),
    ROW("less data than was said", 600, CHUNKED "4\r\nabc\r\n0\r\n\r\n"),
    ROW("CR and another byte behind the data", 600, CHUNKED "3\r\nabc\rX0\r\n\r\n"),
    ROW("LF behind the last size", 600, CHUNKED "0\n\r\n"),
    ROW("LF ends the trailers", 700, CHUNKED "0\r\n\n"),
    ROW("no end of the trailers", 100, CHUNKED "0\r\n"),
    ROW("another byte than CRLF at the end", 100, CHUNKED "0\r\nX"),
    ROW("an extension", 200, CHUNKED "3;a=b\r\nabc\r\n0;c\r\n\r\n"),
    ROW("two extensions", 200, CHUNKED "3;a=b;c\r\nabc\r\n0\r\n\r\n"),
    ROW("a blank before an extension", 600, CHUNKED "3 ;a=b\r\nabc\r\n0\r\n\r\n"),
    ROW("a blank behind a semicolon", 600, CHUNKED "3; a=b\r\nabc\r\n0\r\n\r\n"),
    ROW("a blank before a value", 600, CHUNKED "3;a= b\r\nabc\r\n0\r\n\r\n"),
    ROW("a quoted extension", 200, CHUNKED "3;a=\"b;\\\"c\"\r\nabc\r\n0\r\n\r\n"),
    ROW("an extension without a name", 600, CHUNKED "3;\r\nabc\r\n0\r\n\r\n"),
    ROW("an extension without a value", 600, CHUNKED "3;a=\r\nabc\r\n0\r\n\r\n"),
    ROW("a quote that does not end", 600, CHUNKED "3;a=\"b\r\nabc\r\n0\r\n\r\n"),
    ROW("LF in an extension", 600, CHUNKED "3;a\nabc\r\n0\r\n\r\n"),
    ROW("LF in a quoted extension", 600, CHUNKED "3;a=\"\n\"\r\nabc\r\n0\r\n\r\n"),
    ROW("CR in an extension", 600, CHUNKED "3;a\rb\r\nabc\r\n0\r\n\r\n"),
    ROW("NUL in an extension", 600, CHUNKED "3;a\0\r\nabc\r\n0\r\n\r\n"),
    ROW("a blank at the end of an extension", 600, CHUNKED "3;a \r\nabc\r\n0\r\n\r\n"),
    ROW("an extension that is too long", 613, CHUNKED "3;" LINE_64 "\r\nabc\r\n0\r\n\r\n"),
    ROW("extensions that are too long together", 613,
        CHUNKED "1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n"
                "1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n0\r\n\r\n"),
    ROW("a trailer", 200, CHUNKED "0\r\nX: y\r\n\r\n"),
    ROW("Content-Length among the trailers", 700, CHUNKED "0\r\nContent-Length: 4\r\n\r\n"),
    ROW("a coding among the trailers", 700, CHUNKED "0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ROW("Host among the trailers", 700, CHUNKED "0\r\nHost: a\r\n\r\n"),
    ROW("a folded trailer", 700, CHUNKED "0\r\nX: y\r\n z\r\n\r\n"),
    ROW("a request among the trailers", 700, CHUNKED "0\r\nGET / HTTP/1.1\r\n\r\n"),
};

static const row responses[] = {
    ROW("a response", 200, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"),
    ROW("no reason", 200, "HTTP/1.1 204 \r\n\r\n"),
    ROW("no reason and no blank", 200, "HTTP/1.1 204\r\n\r\n"),
    ROW("to its end", 100, "HTTP/1.1 200 OK\r\n\r\nab"),
    ROW("two digits", 400, "HTTP/1.1 20 OK\r\n\r\n"),
    ROW("four digits", 400, "HTTP/1.1 2000 OK\r\n\r\n"),
    ROW("a status below 100", 400, "HTTP/1.1 099 OK\r\n\r\n"),
    ROW("two blanks before the status", 400, "HTTP/1.1  200 OK\r\n\r\n"),
    ROW("a tab before the status", 400, "HTTP/1.1\t200 OK\r\n\r\n"),
    ROW("LF behind the reason", 400, "HTTP/1.1 200 OK\n\r\n"),
    ROW("CR in the reason", 400, "HTTP/1.1 200 O\rK\r\n\r\n"),
    ROW("an empty line before it", 400, "\r\nHTTP/1.1 200 OK\r\n\r\n"),
    ROW("ICY", 400, "ICY 200 OK\r\n\r\n"),
    ROW("HTTP/3.0", 505, "HTTP/3.0 200 OK\r\n\r\n"),
    ROW("length beside chunked", 400,
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW("two lengths in a response", 400,
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"),
    ROW("a 204 with a length", 400, "HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\nab"),
    ROW("a 204 with length 0", 200, "HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n"),
    ROW("a 100 with chunks", 400, "HTTP/1.1 100 C\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ROW("a 304 with a length", 200, "HTTP/1.1 304 NM\r\nContent-Length: 200\r\n\r\n"),
    ROW("a 101", 200, "HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    ROW("gzip alone in a response", 400, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"),
};

static unsigned check_rows(asx_http1_kind kind, const row *rows, size_t count)
{
    static reading r;
    for (size_t i = 0; i < count; i++) {
        read_in_all_pieces(rows[i].name, kind, rows[i].bytes, rows[i].len, &r);
        if (r.result != rows[i].result)
            asx_test_fail(__FILE__, __LINE__, "%s: %d, expected %d", rows[i].name, r.result,
                          rows[i].result);
        if (r.result == READ_WHOLE && r.used != rows[i].len)
            asx_test_fail(__FILE__, __LINE__, "%s: only %zu bytes were used", rows[i].name,
                          r.used);
    }
    return (unsigned)count;
}
#define CHECK_ROWS(kind, rows) check_rows(kind, rows, sizeof(rows) / sizeof((rows)[0]))

ASX_TEST(a_first_line_is_read_one_way_or_refused)
{
    CHECK_GE(CHECK_ROWS(ASX_HTTP1_REQUEST, lines), 70);
}

ASX_TEST(a_field_is_read_one_way_or_refused)
{
    CHECK_GE(CHECK_ROWS(ASX_HTTP1_REQUEST, fields), 38);
}

ASX_TEST(the_end_of_a_body_is_said_once_or_the_message_is_refused)
{
    CHECK_GE(CHECK_ROWS(ASX_HTTP1_REQUEST, framing), 45);
}

ASX_TEST(a_chunked_body_is_read_one_way_or_refused)
{
    CHECK_GE(CHECK_ROWS(ASX_HTTP1_REQUEST, chunks), 45);
}

ASX_TEST(a_response_is_read_one_way_or_refused)
{
    CHECK_GE(CHECK_ROWS(ASX_HTTP1_RESPONSE, responses), 20);
}
