/* test_http1.c - what a head, a chunked body and its trailers say once they are read; limits; wrong
 * calls. */
#include <asx/http1.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "support_http1.h"

enum { SLOTS = 8 };

static void check_text(asx_http_text text, const char *expected)
{
    CHECK(text.at != NULL);
    CHECK_EQ(text.len, strlen(expected));
    CHECK_MEM_EQ(text.at, expected, text.len);
}

static asx_status read_head(asx_http1_head *head, asx_http1_kind kind, asx_http1_slot *slots,
                            const char *bytes)
{
    CHECK_STATUS(asx_http1_head_init(head, kind, slots, SLOTS, NULL), ASX_OK);
    return asx_http1_head_read(head, bytes, strlen(bytes));
}

ASX_TEST(a_request_is_taken_apart)
{
    asx_http1_slot slots[SLOTS];
    asx_http1_head head;
    const char *bytes = "PUT /a%20b/c?d=e&f HTTP/1.1\r\nHost: example.org:8080\r\nX-One:  1 \r\n"
                        "x-one: 2\r\nContent-Length: 12\r\n\r\nhello, world";
    CHECK_STATUS(read_head(&head, ASX_HTTP1_REQUEST, slots, bytes), ASX_OK);
    check_text(head.method, "PUT");
    check_text(head.target, "/a%20b/c?d=e&f");
    check_text(head.path, "/a%20b/c");
    check_text(head.query, "d=e&f");
    check_text(head.authority, "example.org:8080");
    CHECK_EQ(head.body, ASX_HTTP1_BODY_LENGTH);
    CHECK_EQ(head.content_length, 12);
    CHECK_EQ(head.field_count, 4);
    check_text((asx_http_text){ bytes + head.len, strlen(bytes + head.len) }, "hello, world");
    check_text(asx_http1_head_field(&head, 1).name, "X-One");
    check_text(asx_http1_head_field(&head, 1).value, "1");
    CHECK(asx_http1_head_field(&head, 4).name.at == NULL);

    asx_http_text value;
    uint32_t index;
    CHECK_STATUS(asx_http1_head_find(&head, "X-ONE", 0, &value, &index), ASX_OK);
    check_text(value, "1");
    CHECK_STATUS(asx_http1_head_find(&head, "x-one", index + 1, &value, &index), ASX_OK);
    check_text(value, "2");
    CHECK_STATUS(asx_http1_head_find(&head, "x-one", index + 1, &value, &index),
                 ASX_E_NOT_FOUND);
    CHECK(value.at == NULL && value.len == 0);
    CHECK_EQ(index, 4);
    CHECK_STATUS(asx_http1_head_find(&head, "x-on", 0, &value, NULL), ASX_E_NOT_FOUND);
}

ASX_TEST(targets_of_each_form_are_taken_apart)
{
    static const struct {
        const char *line, *path, *query, *authority;
    } rows[] = {
        { "GET / HTTP/1.1", "/", NULL, "h" },
        { "GET /? HTTP/1.1", "/", "", "h" },
        { "GET /a?b?c HTTP/1.1", "/a", "b?c", "h" },
        { "GET //a/../b HTTP/1.1", "//a/../b", NULL, "h" },
        { "GET /?q={|}^`\\[]100% HTTP/1.1", "/", "q={|}^`\\[]100%", "h" },
        { "GET http://a.b:81/c?d HTTP/1.1", "/c", "d", "a.b:81" },
        { "GET HTTPS://a HTTP/1.1", "/", NULL, "a" },
        { "GET http://a?b HTTP/1.1", "/", "b", "a" },
        { "OPTIONS * HTTP/1.1", "*", NULL, "h" },
        { "CONNECT [::1]:443 HTTP/1.1", "", NULL, "[::1]:443" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        asx_http1_slot slots[SLOTS];
        asx_http1_head head;
        char bytes[256];
        snprintf(bytes, sizeof bytes, "%s\r\nHost: h\r\n\r\n", rows[i].line);
        CHECK_STATUS(read_head(&head, ASX_HTTP1_REQUEST, slots, bytes), ASX_OK);
        check_text(head.path, rows[i].path);
        check_text(head.authority, rows[i].authority);
        CHECK_EQ(head.query.at != NULL, rows[i].query != NULL);
        if (rows[i].query != NULL)
            check_text(head.query, rows[i].query);
    }
}

ASX_TEST(a_connection_is_kept_as_both_sides_say)
{
    static const struct {
        const char *bytes;
        bool keep, upgrade;
    } rows[] = {
        { "GET / HTTP/1.1\r\nHost: h\r\n\r\n", true, false },
        { "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false, false },
        { "GET / HTTP/1.1\r\nHost: h\r\nConnection: a, CLOSE ,b\r\n\r\n", false, false },
        { "GET / HTTP/1.1\r\nHost: h\r\nConnection: closed\r\n\r\n", true, false },
        { "GET / HTTP/1.1\r\nHost: h\r\nConnection: a\r\nConnection: close\r\n\r\n", false,
          false },
        { "GET / HTTP/1.0\r\n\r\n", false, false },
        { "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true, false },
        { "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false, false },
        { "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n", false, false },
        { "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", true, true },
        { "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: x\r\n\r\n", true, false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        asx_http1_slot slots[SLOTS];
        asx_http1_head head;
        CHECK_STATUS(read_head(&head, ASX_HTTP1_REQUEST, slots, rows[i].bytes), ASX_OK);
        CHECK_EQ(head.keep_alive, rows[i].keep);
        CHECK_EQ(head.upgrade, rows[i].upgrade);
    }
}

ASX_TEST(the_body_of_a_response_depends_on_what_was_asked)
{
    static const struct {
        asx_http1_kind kind;
        const char *bytes;
        asx_http1_body body;
        bool keep;
    } rows[] = {
        { ASX_HTTP1_RESPONSE, "HTTP/1.1 200 OK\r\n\r\n", ASX_HTTP1_BODY_TO_END, false },
        { ASX_HTTP1_RESPONSE, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
          ASX_HTTP1_BODY_LENGTH, true },
        { ASX_HTTP1_RESPONSE, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
          ASX_HTTP1_BODY_CHUNKED, true },
        { ASX_HTTP1_RESPONSE, "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n",
          ASX_HTTP1_BODY_LENGTH, false },
        { ASX_HTTP1_RESPONSE, "HTTP/1.1 304 Not Modified\r\n\r\n", ASX_HTTP1_BODY_NONE, true },
        { ASX_HTTP1_RESPONSE, "HTTP/1.1 100 Continue\r\n\r\n", ASX_HTTP1_BODY_NONE, true },
        { ASX_HTTP1_RESPONSE, "HTTP/1.1 101 Switch\r\n\r\n", ASX_HTTP1_BODY_TUNNEL, false },
        { ASX_HTTP1_RESPONSE_TO_HEAD, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
          ASX_HTTP1_BODY_NONE, true },
        { ASX_HTTP1_RESPONSE_TO_CONNECT, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
          ASX_HTTP1_BODY_TUNNEL, false },
        { ASX_HTTP1_RESPONSE_TO_CONNECT, "HTTP/1.1 403 No\r\nContent-Length: 3\r\n\r\n",
          ASX_HTTP1_BODY_LENGTH, true },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        asx_http1_slot slots[SLOTS];
        asx_http1_head head;
        CHECK_STATUS(read_head(&head, rows[i].kind, slots, rows[i].bytes), ASX_OK);
        CHECK_EQ(head.body, rows[i].body);
        CHECK_EQ(head.keep_alive, rows[i].keep);
        CHECK(head.method.at == NULL);
    }
}

ASX_TEST(requests_behind_each_other_are_read_one_by_one)
{
    asx_http1_slot slots[SLOTS];
    asx_http1_head head;
    /* No pointer to a literal: of those, gcc 12 gets strlen() wrong behind an offset from memory.
     */
    char all[] = "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n"
                 "POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 26\r\n\r\n"
                 "GET /x HTTP/1.1\r\nHost: x\r\n"
                 "\r\nGET /3 HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\n\r\n";
    const char *bytes = all;
    CHECK_STATUS(read_head(&head, ASX_HTTP1_REQUEST, slots, bytes), ASX_OK);
    check_text(head.path, "/1");
    bytes += head.len;
    CHECK_STATUS(read_head(&head, ASX_HTTP1_REQUEST, slots, bytes), ASX_OK);
    check_text(head.path, "/2");
    CHECK(!head.expect_continue);
    bytes += head.len + head.content_length;
    CHECK_STATUS(read_head(&head, ASX_HTTP1_REQUEST, slots, bytes), ASX_OK);
    check_text(head.path, "/3");
    CHECK(head.expect_continue);
    CHECK_EQ(strlen(bytes), head.len);
}

ASX_TEST(a_head_may_move_between_calls)
{
    const char *all = "GET http://a/b?c HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n";
    static reading r;
    read_in_all_pieces("moved", ASX_HTTP1_REQUEST, all, strlen(all), &r);
    CHECK_EQ(r.result, READ_WHOLE);
    CHECK_STR_EQ(r.said, "method: 'GET'\ntarget: 'http://a/b?c'\npath: '/b'\nquery: 'c'\n"
                         "authority: 'a'\n1.1 body 0 length 0 keep 1 expect 0 upgrade 0\n"
                         "(Host)=(h)\n(X)=(y)\nbody: ''\n");
}

ASX_TEST(a_chunked_body_gives_its_data_and_trailers_in_any_pieces)
{
    const char *all = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "6;a=b\r\nhello,\r\n7\r\n world!\r\n0\r\nSum: 1\r\nX:\r\n\r\n";
    static reading r;
    read_in_all_pieces("chunked", ASX_HTTP1_REQUEST, all, strlen(all), &r);
    CHECK_EQ(r.result, READ_WHOLE);
    CHECK_EQ(r.used, strlen(all));
    CHECK(strstr(r.said, "trailers\n(Sum)=(1)\n(X)=()\nbody: 'hello, world!'\n") != NULL);
}

/* Exactly as long as is allowed, and one byte longer. */
ASX_TEST(limits_are_exact)
{
    const char *bytes = "GET / HTTP/1.1\r\nHost: hostname.example\r\n\r\n";
    for (int longer = 0; longer < 2; longer++) {
        asx_http1_slot slots[SLOTS];
        asx_http1_head head;
        asx_http1_limits line = { .line_max = 24u - (unsigned)longer };
        CHECK_STATUS(asx_http1_head_init(&head, ASX_HTTP1_REQUEST, slots, SLOTS, &line), ASX_OK);
        CHECK_STATUS(asx_http1_head_read(&head, bytes, strlen(bytes)),
                     longer ? ASX_E_HTTP_TOO_LARGE : ASX_OK);
        CHECK_EQ(head.refusal, longer ? 431 : 0);

        line.line_max = 16u - (unsigned)longer;
        CHECK_STATUS(asx_http1_head_init(&head, ASX_HTTP1_REQUEST, slots, SLOTS, &line), ASX_OK);
        CHECK_STATUS(asx_http1_head_read(&head, bytes, 16),
                     longer ? ASX_E_HTTP_TOO_LARGE : ASX_E_HTTP_PARTIAL);
        CHECK_EQ(head.refusal, longer ? 414 : 0);

        asx_http1_limits whole = { .head_max = (uint32_t)strlen(bytes) - (unsigned)longer };
        CHECK_STATUS(asx_http1_head_init(&head, ASX_HTTP1_REQUEST, slots, SLOTS, &whole), ASX_OK);
        CHECK_STATUS(asx_http1_head_read(&head, bytes, strlen(bytes)),
                     longer ? ASX_E_HTTP_TOO_LARGE : ASX_OK);
        CHECK_STATUS(asx_http1_head_read(&head, bytes, strlen(bytes)), ASX_E_INVALID_TRANSITION);

        asx_http1_chunks chunks;
        asx_http_text data;
        size_t used;
        CHECK_STATUS(asx_http1_chunks_init(&chunks, 3u - (unsigned)longer, 0), ASX_OK);
        CHECK_STATUS(asx_http1_chunks_read(&chunks, "3\r\nabc", 6, &data, &used),
                     longer ? ASX_E_HTTP_TOO_LARGE : ASX_OK);
        CHECK_EQ(data.len, longer ? 0 : 3);
    }
}

/* What comes in single bytes is not read again and again: twice the length takes twice as long, and
 * not four times, which the number of steps shows: a line is judged twice at most. */
ASX_TEST(a_long_head_byte_by_byte_is_read_in_time)
{
    enum { LEN = 1 << 20 };
    char *bytes = malloc(LEN);
    asx_http1_slot slots[SLOTS];
    asx_http1_head head;
    asx_http1_limits limits = { .line_max = LEN, .head_max = LEN };
    CHECK(bytes != NULL);
    memset(bytes, 'a', LEN);
    memcpy(bytes, "GET / HTTP/1.1\r\nHost: h\r\nX: ", 28);
    memcpy(bytes + LEN - 4, "\r\n\r\n", 4);
    CHECK_STATUS(asx_http1_head_init(&head, ASX_HTTP1_REQUEST, slots, SLOTS, &limits), ASX_OK);
    for (size_t len = 0; len < LEN; len++)
        CHECK_STATUS(asx_http1_head_read(&head, bytes, len), ASX_E_HTTP_PARTIAL);
    CHECK_STATUS(asx_http1_head_read(&head, bytes, LEN), ASX_OK);
    CHECK_EQ(asx_http1_head_field(&head, 1).value.len, LEN - 32);
    free(bytes);
}

ASX_TEST(the_head_of_a_chunk_is_read_as_it_was_written)
{
    static const uint64_t sizes[] = { 1, 9, 10, 15, 16, 255, 4096, UINT32_MAX, INT64_MAX };
    char bytes[ASX_HTTP1_CHUNK_HEAD_MAX + 1];
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        asx_http1_chunks chunks;
        asx_http_text data;
        size_t used, len = asx_http1_chunk_head(sizes[i], bytes);
        bytes[len++] = 'x';
        CHECK_STATUS(asx_http1_chunks_init(&chunks, 0, 0), ASX_OK);
        CHECK_STATUS(asx_http1_chunks_read(&chunks, bytes, len, &data, &used), ASX_OK);
        check_text(data, "x");
        CHECK_EQ(chunks.left, sizes[i] - 1);
    }
    CHECK_EQ(asx_http1_chunk_head(UINT64_MAX, bytes), ASX_HTTP1_CHUNK_HEAD_MAX);
    CHECK_EQ(asx_http1_chunk_head(0, bytes), 0);
}

static bool valid(const char *name, const char *value)
{
    return asx_http_field_valid((asx_http_text){ name, strlen(name) },
                                (asx_http_text){ value, strlen(value) });
}

ASX_TEST(a_field_that_would_split_a_head_is_not_valid)
{
    CHECK(valid("X-A", "b c\td"));
    CHECK(valid("X", ""));
    CHECK(!valid("", "a"));
    CHECK(!valid("X:", "a"));
    CHECK(!valid("X Y", "a"));
    CHECK(!valid("X", "a\r\nSet-Cookie: b"));
    CHECK(!valid("X", "a\n"));
    CHECK(!valid("X", "a\x7f"));
    CHECK(!valid("X", " a"));
    CHECK(!valid("X", "a\t"));
}

ASX_TEST(statuses_have_names)
{
    CHECK_STR_EQ(asx_http_status_text(200), "OK");
    CHECK_STR_EQ(asx_http_status_text(431), "Request Header Fields Too Large");
    CHECK_STR_EQ(asx_http_status_text(299), "");
}

ASX_TEST(dates_are_read_as_they_are_written)
{
    static const struct {
        uint64_t seconds;
        const char *text;
    } rows[] = {
        { 0, "Thu, 01 Jan 1970 00:00:00 GMT" },
        { 784111777, "Sun, 06 Nov 1994 08:49:37 GMT" },
        { 951782400, "Tue, 29 Feb 2000 00:00:00 GMT" },
        { 951868800, "Wed, 01 Mar 2000 00:00:00 GMT" },
        { 4107542400, "Mon, 01 Mar 2100 00:00:00 GMT" },
        { 4107542399, "Sun, 28 Feb 2100 23:59:59 GMT" },
        { 253402300799, "Fri, 31 Dec 9999 23:59:59 GMT" },
    };
    char text[ASX_HTTP_DATE_MAX];
    uint64_t seconds;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK_STR_EQ(asx_http_date_text(rows[i].seconds, text), rows[i].text);
        CHECK_STATUS(asx_http_date_read((asx_http_text){ text, 29 }, &seconds), ASX_OK);
        CHECK_EQ(seconds, rows[i].seconds);
    }
    for (uint64_t day = 0; day < 40000; day++) {
        asx_http_date_text(day * 86400 + 1, text);
        CHECK_STATUS(asx_http_date_read((asx_http_text){ text, 29 }, &seconds), ASX_OK);
        CHECK_EQ(seconds, day * 86400 + 1);
    }
    CHECK_STR_EQ(asx_http_date_text(UINT64_MAX, text), "Fri, 31 Dec 9999 23:59:59 GMT");
}

ASX_TEST(what_is_no_date_is_refused)
{
    static const char *const wrong[] = {
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Mon, 06 Nov 1994 08:49:37 GMT",  "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",  "Thu, 31 Nov 1994 08:49:37 GMT",
        "Mon, 29 Feb 2100 00:00:00 GMT",  "Sun, 06 Nov 1994 08:49:37 GMZ",
        "Sun, 06 Nov 1994 08:49:37 GMT ", "",
    };
    uint64_t seconds = 7;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CHECK_STATUS(asx_http_date_read((asx_http_text){ wrong[i], strlen(wrong[i]) }, &seconds),
                     ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(seconds, 0);
}
