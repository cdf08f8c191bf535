/* test_server.c - a server and clients by hand, in one runtime: what is answered, what is refused,
 * what happens to peers that are slow, gone or too many, and how it stops. Phases are tenths of a
 * second long here: ctest-labels: clock */
#include <asx/asx.h>
#include <asx/http.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static unsigned descriptors(void)
{
    unsigned n = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        n++;
    CHECK_EQ(closedir(folder), 0);
    return n;
}

/* ---- handlers ------------------------------------------------------------------------------- */

/* What handlers tell the test. */
static struct seen {
    unsigned calls, started, ended;
    asx_status body;
    uint64_t body_len;
    char trailer[32];
} seen;

static bool path_is(asx_http_request *request, const char *path)
{
    asx_http_text p = asx_http_request_head(request)->path;
    return p.len == strlen(path) && memcmp(p.at, path, p.len) == 0;
}

static asx_status echo(asx_cx *cx, asx_http_request *request, asx_http_response *response)
{
    char part[100];
    size_t n = 1;
    asx_http_text value;
    seen.body_len = 0;
    while (n > 0) {
        seen.body = asx_http_request_read(cx, request, part, sizeof part, &n);
        if (seen.body < 0)
            return seen.body;
        seen.body_len += n;
        asx_status st = n > 0 ? asx_http_response_write(cx, response, part, n) : ASX_OK;
        if (st < 0)
            return st;
    }
    const asx_http1_head *trailers = asx_http_request_trailers(request);
    if (trailers != NULL && asx_http1_head_find(trailers, "sum", 0, &value, NULL) == ASX_OK)
        snprintf(seen.trailer, sizeof seen.trailer, "%.*s", (int)value.len, value.at);
    CHECK_EQ(asx_address_port(asx_http_request_peer(request)) != 0, true);
    return asx_http_response_trailer(response, "Echoed", "all");
}

static asx_status slow(asx_cx *cx, asx_http_response *response)
{
    seen.started++;
    asx_status st = asx_sleep(cx, 300 * ASX_MS);
    if (st == ASX_OK)
        st = asx_http_response_send(cx, response, "slow\n", 5);
    seen.ended += st == ASX_OK;
    return st;
}

/* More than the system's buffers take. */
static asx_status large(asx_cx *cx, asx_http_response *response)
{
    enum { SIZE = 32 << 20 };
    char *bytes = calloc(SIZE, 1);
    CHECK(bytes != NULL);
    asx_status st = asx_http_response_send(cx, response, bytes, SIZE);
    free(bytes);
    return st;
}

static asx_status handle(asx_cx *cx, asx_http_request *request, asx_http_response *response,
                         void *arg)
{
    seen.calls++;
    if (path_is(request, "/echo"))
        return echo(cx, request, response);
    if (path_is(request, "/slow"))
        return slow(cx, response);
    if (path_is(request, "/large"))
        return large(cx, response);
    if (path_is(request, "/fails"))
        return ASX_E_NOT_FOUND;
    if (path_is(request, "/nothing"))
        return ASX_OK;
    if (path_is(request, "/empty"))
        return asx_http_response_status(response, 204);
    if (path_is(request, "/for-ever"))
        return asx_sleep(cx, 1000 * ASX_SEC);
    if (path_is(request, "/breaks") || path_is(request, "/short")) {
        if (path_is(request, "/short"))
            CHECK_STATUS(asx_http_response_length(response, 10), ASX_OK);
        CHECK_STATUS(asx_http_response_write(cx, response, "part", 4), ASX_OK);
        return path_is(request, "/short") ? ASX_OK : ASX_E_NOT_FOUND;
    }
    if (path_is(request, "/file")) {
        asx_region here;
        asx_file file;
        CHECK_STATUS(asx_cx_region(cx, &here), ASX_OK);
        CHECK_STATUS(asx_file_open(cx, &here, arg, ASX_FILE_READ, NULL, &file), ASX_OK);
        CHECK_STATUS(asx_http_response_close(response), ASX_OK);
        asx_status st = asx_http_response_file(cx, response, &file, 1000, 3000000);
        CHECK_STATUS(asx_file_close(cx, &file), ASX_OK);
        return st;
    }
    CHECK_STATUS(asx_http_response_field(response, "X-Test", "yes"), ASX_OK);
    return asx_http_response_send(cx, response, "hello", 5);
}

/* ---- a world with a server in it ------------------------------------------------------------ */

typedef struct world {
    asx_http_server_options options;
    asx_task_fn client;
    void *arg;
    asx_http_server server;
    asx_address address;
    asx_region region;
    asx_status served;
    uint64_t budget_ns;
    bool keeps_running; /* the client stops it */
} world;

static asx_status client_main(asx_cx *cx, void *arg)
{
    world *w = arg;
    asx_status st = w->client(cx, w);
    if (!w->keeps_running)
        CHECK_STATUS(asx_http_server_stop(cx, &w->server, w->budget_ns), ASX_OK);
    return st;
}

static asx_status world_main(asx_cx *cx, void *arg)
{
    world *w = arg;
    asx_listener listener;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "world" }, &w->region), ASX_OK);
    CHECK_STATUS(asx_http_server_create(&w->region, handle, w->arg, &w->options, &w->server),
                 ASX_OK);
    CHECK_STATUS(asx_address_ip("127.0.0.1", 0, &w->address), ASX_OK);
    CHECK_STATUS(asx_listen(cx, &w->region, &w->address, NULL, &listener), ASX_OK);
    CHECK_STATUS(asx_listener_address(cx, &listener, &w->address), ASX_OK);
    CHECK_STATUS(asx_spawn(&w->region, "client", client_main, w), ASX_OK);
    w->served = asx_http_serve(cx, &w->server, &listener);
    asx_http_server_info info;
    CHECK_STATUS(asx_http_server_get_info(&w->server, &info), ASX_OK);
    CHECK_EQ(info.connections, 0);
    return asx_region_close(&w->region, ASX_OK);
}

static void run(asx_task_fn client, void *arg, const asx_http_server_options *options)
{
    world w = { .client = client, .arg = arg, .budget_ns = 10 * ASX_SEC };
    asx_runtime *rt;
    if (options != NULL)
        w.options = *options;
    unsigned before = descriptors();
    memset(&seen, 0, sizeof seen);
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, world_main, &w), ASX_OK);
    CHECK_STATUS(w.served, ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(descriptors(), before);
}

static asx_stream connected(asx_cx *cx, world *w)
{
    asx_stream stream;
    CHECK_STATUS(asx_connect(cx, NULL, &w->address, NULL, &stream), ASX_OK);
    return stream;
}

static void say(asx_cx *cx, const asx_stream *stream, const char *text)
{
    size_t done = 0;
    if (text[0] != '\0')
        CHECK_STATUS(asx_stream_write_all(cx, stream, text, strlen(text), &done), ASX_OK);
}

/* Reads to the end; how it ended. Dates are left out. */
static asx_status hear(asx_cx *cx, const asx_stream *stream, char *text, size_t size)
{
    size_t n = 1, len = 0;
    asx_status st = ASX_OK;
    while (st == ASX_OK && n > 0 && len < size - 1) {
        st = asx_stream_read(cx, stream, text + len, size - 1 - len, &n);
        len += n;
    }
    text[len] = '\0';
    for (char *date; (date = strstr(text, "Date: ")) != NULL;)
        memmove(date, strchr(date, '\n') + 1, strlen(strchr(date, '\n')));
    return st;
}

/* Says it on a connection of its own, hears all that comes, and how that ends. */
static asx_status ask(asx_cx *cx, world *w, const char *text, char *answer, size_t size)
{
    asx_stream stream = connected(cx, w);
    say(cx, &stream, text);
    asx_status st = hear(cx, &stream, answer, size);
    CHECK_STATUS(asx_stream_close(cx, &stream), ASX_OK);
    return st;
}

/* ---- what is answered ----------------------------------------------------------------------- */

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n"
#define LAST "Connection: close\r\n\r\n"

static const struct {
    const char *name, *request, *answer;
} answers[] = {
    { "a response", GET("/") LAST,
      "HTTP/1.1 200 OK\r\nX-Test: yes\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello" },
    { "HTTP/1.0", "GET / HTTP/1.0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX-Test: yes\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello" },
    { "HTTP/1.0 kept, and three requests at once",
      "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" GET("/nothing") "\r\n" GET("/") LAST,
      "HTTP/1.1 200 OK\r\nX-Test: yes\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello"
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
      "HTTP/1.1 200 OK\r\nX-Test: yes\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello" },
    { "HEAD", "HEAD / HTTP/1.1\r\nHost: h\r\n" LAST,
      "HTTP/1.1 200 OK\r\nX-Test: yes\r\nContent-Length: 5\r\nConnection: close\r\n\r\n" },
    { "204", GET("/empty") LAST, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n" },
    { "chunks both ways, with trailers",
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n" LAST
      "5\r\nhello\r\n0\r\nSum: 7\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
      "5\r\nhello\r\n0\r\nEchoed: all\r\n\r\n" },
    { "a length in, and the end of the connection out",
      "POST /echo HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello" },
    { "a body that the handler leaves is passed over",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nGET " GET("/nothing") LAST,
      "HTTP/1.1 200 OK\r\nX-Test: yes\r\nContent-Length: 5\r\n\r\nhello"
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" },
    { "a handler that fails", GET("/fails") "\r\n",
      "HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\nContent-Length: 26\r\n"
      "Connection: close\r\n\r\n500 Internal Server Error\n" },
    { "what is no HTTP", "nonsense\r\n\r\n",
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 16\r\n"
      "Connection: close\r\n\r\n400 Bad Request\n" },
    { "CONNECT", "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n",
      "HTTP/1.1 501 Not Implemented\r\nContent-Type: text/plain\r\nContent-Length: 20\r\n"
      "Connection: close\r\n\r\n501 Not Implemented\n" },
    { "a body that is too large", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n",
      "HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain\r\nContent-Length: 22\r\n"
      "Connection: close\r\n\r\n413 Content Too Large\n" },
    { "chunks that are too large",
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n",
      "HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain\r\nContent-Length: 22\r\n"
      "Connection: close\r\n\r\n413 Content Too Large\n" },
    { "chunks that are none",
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz",
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 16\r\n"
      "Connection: close\r\n\r\n400 Bad Request\n" },
};

static asx_status asks_all(asx_cx *cx, void *arg)
{
    char answer[2000];
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        CHECK_STATUS(ask(cx, arg, answers[i].request, answer, sizeof answer), ASX_OK);
        if (strcmp(answer, answers[i].answer) != 0)
            asx_test_fail(__FILE__, __LINE__, "%s:\n%s\nexpected:\n%s", answers[i].name, answer,
                          answers[i].answer);
    }
    CHECK_STR_EQ(seen.trailer, "7");
    return ASX_OK;
}

ASX_TEST(requests_are_answered_as_they_should_be)
{
    run(asks_all, NULL, &(asx_http_server_options){ .body_max = 1000 });
}

static asx_status is_reset(asx_cx *cx, void *arg)
{
    char answer[500];
    CHECK_STATUS(ask(cx, arg, GET("/breaks") "\r\n", answer, sizeof answer), ASX_E_RESET);
    CHECK_STATUS(ask(cx, arg, GET("/short") "\r\n", answer, sizeof answer), ASX_E_RESET);
    return ASX_OK;
}

ASX_TEST(a_body_that_breaks_off_never_looks_whole)
{
    run(is_reset, NULL, NULL);
}

static asx_status expects(asx_cx *cx, void *arg)
{
    world *w = arg;
    asx_stream stream = connected(cx, w);
    char answer[500];
    size_t n;
    say(cx, &stream, "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                     "Content-Length: 3\r\n" LAST);
    CHECK_STATUS(asx_stream_read(cx, &stream, answer, sizeof answer, &n), ASX_OK);
    CHECK_EQ(n, 25);
    CHECK_MEM_EQ(answer, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    say(cx, &stream, "abc");
    CHECK_STATUS(hear(cx, &stream, answer, sizeof answer), ASX_OK);
    CHECK(strstr(answer, "3\r\nabc\r\n0\r\n") != NULL);
    CHECK_STATUS(asx_stream_close(cx, &stream), ASX_OK);
    /* A handler that does not ask for the body: no 100, and nothing more on this connection. */
    CHECK_STATUS(ask(cx, w, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                            "Content-Length: 3\r\n\r\n", answer, sizeof answer), ASX_OK);
    CHECK(strstr(answer, "100 Continue") == NULL);
    CHECK(strstr(answer, "Connection: close\r\n\r\nhello") != NULL);
    return ASX_OK;
}

ASX_TEST(a_client_that_waits_is_told_to_go_on_if_somebody_reads)
{
    run(expects, NULL, NULL);
}

static asx_status gets_a_file(asx_cx *cx, void *arg)
{
    enum { SIZE = 3000500 };
    world *w = arg;
    char *answer = malloc(SIZE);
    asx_stream_tuning tuning = ASX_STREAM_TUNING;
    CHECK(answer != NULL);
    for (int i = 0; i < 20; i++) { /* clients that leave send no signal to who writes */
        asx_stream stream = connected(cx, w);
        tuning.reset_on_close = i % 2;
        CHECK_STATUS(asx_stream_tune(cx, &stream, &tuning), ASX_OK);
        say(cx, &stream, GET("/file") "\r\n");
        CHECK_STATUS(asx_sleep(cx, (uint64_t)(i % 4) * ASX_MS), ASX_OK);
        CHECK_STATUS(asx_stream_close(cx, &stream), ASX_OK);
    }
    CHECK_STATUS(ask(cx, w, GET("/file") "\r\n", answer, SIZE), ASX_OK);
    const char *body = strstr(answer, "\r\n\r\n");
    CHECK(body != NULL && strstr(answer, "Content-Length: 3000000\r\n") != NULL);
    body += 4;
    CHECK_EQ(strlen(body), 3000000);
    for (int i = 0; i < 3000000; i++)
        CHECK_EQ(body[i], 'a' + (i + 1000) % 23);
    free(answer);
    return ASX_OK;
}

ASX_TEST(a_part_of_a_file_is_sent_byte_by_byte_as_it_is)
{
    char path[] = "/tmp/asx-http-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    FILE *file = fdopen(fd, "w");
    CHECK(file != NULL);
    for (int i = 0; i < 4000000; i++)
        CHECK(fputc('a' + i % 23, file) != EOF);
    CHECK_EQ(fclose(file), 0);
    run(gets_a_file, path, NULL);
    CHECK_EQ(remove(path), 0);
}

/* ---- slow peers, and those who are gone ----------------------------------------------------- */

static asx_status waits_in_each_phase(asx_cx *cx, void *arg)
{
    world *w = arg;
    char answer[1000];
    CHECK_STATUS(ask(cx, w, "", answer, sizeof answer), ASX_OK); /* fresh */
    CHECK_STR_EQ(answer, "");
    CHECK_STATUS(ask(cx, w, "GET / HT", answer, sizeof answer), ASX_OK); /* head */
    CHECK(strncmp(answer, "HTTP/1.1 408 ", 13) == 0);
    CHECK_STATUS(ask(cx, w, GET("/nothing") "\r\n", answer, sizeof answer), ASX_OK); /* idle */
    CHECK_STR_EQ(answer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    CHECK_STATUS(ask(cx, w, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n", answer,
                     sizeof answer), ASX_OK);
    CHECK(strncmp(answer, "HTTP/1.1 408 ", 13) == 0);
    CHECK_STATUS(seen.body, ASX_E_TIMEOUT);
    asx_http_server_info info;
    CHECK_STATUS(asx_http_server_get_info(&w->server, &info), ASX_OK);
    CHECK_EQ(info.expired, 4);
    return ASX_OK;
}

static const asx_http_server_options hasty = {
    .fresh_ns = 100 * ASX_MS, .head_ns = 100 * ASX_MS, .idle_ns = 100 * ASX_MS,
    .body_ns = 100 * ASX_MS, .write_ns = 100 * ASX_MS, .rate_min = 1 << 30,
};

ASX_TEST(each_phase_has_its_time)
{
    run(waits_in_each_phase, NULL, &hasty);
}

static asx_status reads_slowly(asx_cx *cx, void *arg)
{
    world *w = arg;
    asx_stream stream = connected(cx, w);
    asx_http_server_info info = { 0 };
    say(cx, &stream, GET("/large") "\r\n");
    for (int i = 0; i < 100 && info.failed == 0; i++) {
        CHECK_STATUS(asx_sleep(cx, 20 * ASX_MS), ASX_OK);
        CHECK_STATUS(asx_http_server_get_info(&w->server, &info), ASX_OK);
    }
    CHECK_EQ(info.failed, 1);
    CHECK_EQ(info.expired, 1);
    return asx_stream_close(cx, &stream);
}

ASX_TEST(a_client_that_does_not_read_its_response_is_cut_off)
{
    run(reads_slowly, NULL, &hasty);
}

static asx_status leaves(asx_cx *cx, void *arg)
{
    static const char *const beginnings[] = { "", "GET", GET("/") "\r\n", GET("/large") "\r\n",
        GET("/slow") "\r\n", "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab" };
    world *w = arg;
    for (int reset = 0; reset < 2; reset++)
        for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
            asx_stream stream = connected(cx, w);
            asx_stream_tuning tuning = ASX_STREAM_TUNING;
            tuning.reset_on_close = reset;
            CHECK_STATUS(asx_stream_tune(cx, &stream, &tuning), ASX_OK);
            say(cx, &stream, beginnings[i]);
            if (i % 2 == 0)
                CHECK_STATUS(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
            CHECK_STATUS(asx_stream_close(cx, &stream), ASX_OK);
        }
    return ASX_OK;
}

ASX_TEST(clients_that_leave_anywhere_leave_nothing_behind)
{
    run(leaves, NULL, NULL);
}

static asx_status comes_in_crowds(asx_cx *cx, void *arg)
{
    world *w = arg;
    asx_stream streams[10];
    asx_http_server_info info;
    char answer[200];
    for (int i = 0; i < 10; i++) {
        streams[i] = connected(cx, w);
        say(cx, &streams[i], GET("/") LAST);
    }
    CHECK_STATUS(asx_stream_close(cx, &streams[0]), ASX_OK);
    for (int i = 1; i < 10; i++) {
        CHECK_STATUS(asx_http_server_get_info(&w->server, &info), ASX_OK);
        CHECK_LE(info.connections, 2);
        CHECK_STATUS(hear(cx, &streams[i], answer, sizeof answer), ASX_OK);
        CHECK(strstr(answer, "hello") != NULL);
        CHECK_STATUS(asx_stream_close(cx, &streams[i]), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(no_more_connections_are_accepted_than_are_allowed)
{
    run(comes_in_crowds, NULL, &(asx_http_server_options){ .connections_max = 2 });
}

/* ---- stopping ------------------------------------------------------------------------------- */

static asx_status stops_in_the_middle(asx_cx *cx, void *arg)
{
    world *w = arg;
    char answer[500];
    asx_stream fresh = connected(cx, w), idle = connected(cx, w), busy = connected(cx, w);
    say(cx, &idle, GET("/nothing") "\r\n");
    say(cx, &busy, GET("/slow") "\r\n");
    CHECK_STATUS(asx_sleep(cx, 100 * ASX_MS), ASX_OK);
    CHECK_EQ(seen.started, 1);
    asx_time begin = asx_now(cx);
    w->keeps_running = true;
    CHECK_STATUS(asx_http_server_stop(cx, &w->server, 10 * ASX_SEC), ASX_OK);
    CHECK_STATUS(hear(cx, &fresh, answer, sizeof answer), ASX_OK);
    CHECK_STR_EQ(answer, "");
    CHECK_STATUS(hear(cx, &idle, answer, sizeof answer), ASX_OK);
    CHECK_STR_EQ(answer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    CHECK(asx_now(cx) - begin < 150 * ASX_MS); /* long before the busy one is done */
    CHECK_STATUS(hear(cx, &busy, answer, sizeof answer), ASX_OK);
    CHECK_STR_EQ(answer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nslow\n");
    CHECK_EQ(seen.ended, 1);
    CHECK(asx_http_server_late(&w->server, 0) == NULL);
    asx_stream_close(cx, &fresh);
    asx_stream_close(cx, &idle);
    return asx_stream_close(cx, &busy);
}

ASX_TEST(a_stop_ends_idle_connections_at_once_and_finishes_requests)
{
    run(stops_in_the_middle, NULL, NULL);
}

static asx_status is_late(asx_cx *cx, void *arg)
{
    world *w = arg;
    char answer[500];
    asx_http_server_info info;
    asx_stream busy = connected(cx, w);
    say(cx, &busy, GET("/for-ever") "\r\n");
    CHECK_STATUS(asx_sleep(cx, 50 * ASX_MS), ASX_OK);
    w->keeps_running = true;
    CHECK_STATUS(asx_http_server_stop(cx, &w->server, 100 * ASX_MS), ASX_OK);
    CHECK_STATUS(hear(cx, &busy, answer, sizeof answer), ASX_OK);
    CHECK(strncmp(answer, "HTTP/1.1 503 Service Unavailable\r\n", 34) == 0);
    const char *late = asx_http_server_late(&w->server, 0);
    CHECK(late != NULL && strncmp(late, "GET /for-ever from 127.0.0.1:", 29) == 0);
    CHECK(strstr(late, ", handler") != NULL);
    CHECK_STATUS(asx_http_server_get_info(&w->server, &info), ASX_OK);
    CHECK_EQ(info.late, 1);
    return asx_stream_close(cx, &busy);
}

ASX_TEST(a_request_that_is_not_done_in_time_is_cancelled_and_named)
{
    run(is_late, NULL, NULL);
}

static asx_status stops_twice(asx_cx *cx, void *arg)
{
    world *w = arg;
    char answer[500];
    asx_stream busy = connected(cx, w);
    say(cx, &busy, GET("/for-ever") "\r\n");
    CHECK_STATUS(asx_sleep(cx, 50 * ASX_MS), ASX_OK);
    w->keeps_running = true;
    CHECK_STATUS(asx_http_server_stop(cx, &w->server, 1000 * ASX_SEC), ASX_OK);
    CHECK_STATUS(asx_http_server_stop(cx, &w->server, 0), ASX_OK);
    CHECK_STATUS(hear(cx, &busy, answer, sizeof answer), ASX_OK);
    CHECK(strncmp(answer, "HTTP/1.1 503 ", 13) == 0);
    return asx_stream_close(cx, &busy);
}

ASX_TEST(a_second_stop_may_be_in_more_of_a_hurry)
{
    run(stops_twice, NULL, NULL);
}

/* The system has the request when the connection is told that it is over. */
static asx_status asks_at_the_last_moment(asx_cx *cx, void *arg)
{
    world *w = arg;
    char answer[500];
    asx_stream idle = connected(cx, w);
    say(cx, &idle, GET("/nothing") "\r\n");
    CHECK_STATUS(asx_sleep(cx, 50 * ASX_MS), ASX_OK);
    w->keeps_running = true;
    say(cx, &idle, GET("/") "\r\n");
    CHECK_STATUS(asx_http_server_stop(cx, &w->server, 10 * ASX_SEC), ASX_OK);
    CHECK_STATUS(hear(cx, &idle, answer, sizeof answer), ASX_OK);
    CHECK(strstr(answer, "\r\n\r\nhello") != NULL);
    return asx_stream_close(cx, &idle);
}

ASX_TEST(a_request_that_has_arrived_is_answered_though_it_stops)
{
    run(asks_at_the_last_moment, NULL, NULL);
}
