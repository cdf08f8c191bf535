/* test_misuse_http.c - readers of HTTP without bytes, without memory, and after their end. */
#include "support_api.h"

#include <asx/http.h>

#include <string.h>

ASX_TEST(heads_that_cannot_be_read_are_refused)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_http1_slot slots[4];
    asx_http1_head head;
    asx_http1_limits large = { .head_max = UINT32_MAX };
    const char *all = "GET / HTTP/1.0\r\nA: b\r\n\r\n";
    CHECK_STATUS(asx_http1_head_init(NULL, ASX_HTTP1_REQUEST, slots, 4, NULL), bad);
    CHECK_STATUS(asx_http1_head_init(&head, (asx_http1_kind)9, slots, 4, NULL), bad);
    CHECK_STATUS(asx_http1_head_read(&head, all, strlen(all)), ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_http1_head_init(&head, ASX_HTTP1_REQUEST, NULL, 4, NULL), bad);
    CHECK_STATUS(asx_http1_head_init(&head, ASX_HTTP1_REQUEST, slots, 4, &large), bad);
    CHECK_STATUS(asx_http1_head_read(&head, all, strlen(all)), ASX_E_INVALID_TRANSITION);

    CHECK_STATUS(asx_http1_head_init(&head, ASX_HTTP1_REQUEST, slots, 4, NULL), ASX_OK);
    CHECK_STATUS(asx_http1_head_read(NULL, all, 1), bad);
    CHECK_STATUS(asx_http1_head_read(&head, NULL, 1), bad);
    CHECK(asx_http1_head_field(&head, 0).name.at == NULL);
    CHECK_STATUS(asx_http1_head_read(&head, all, 18), ASX_E_HTTP_PARTIAL);
    CHECK_STATUS(asx_http1_head_read(&head, all, 5), bad); /* fewer than before */
    CHECK_STATUS(asx_http1_head_read(&head, all, strlen(all)), ASX_OK);
    CHECK_STATUS(asx_http1_head_read(&head, all, strlen(all)), ASX_E_INVALID_TRANSITION);
    CHECK(asx_http1_head_field(&head, 1).name.at == NULL);
    CHECK(asx_http1_head_field(NULL, 0).name.at == NULL);

    asx_http_text value = { all, 1 };
    uint32_t index = 9;
    CHECK_STATUS(asx_http1_head_find(NULL, "a", 0, &value, &index), bad);
    CHECK(value.at == NULL && value.len == 0 && index == 0);
    CHECK_STATUS(asx_http1_head_find(&head, NULL, 0, &value, &index), bad);
    CHECK_STATUS(asx_http1_head_find(&head, "a", 0, NULL, &index), bad);
    CHECK_STATUS(asx_http1_head_find(&head, "a", 7, &value, &index), ASX_E_NOT_FOUND);
    CHECK_EQ(index, 1);
}

ASX_TEST(chunks_that_cannot_be_read_are_refused)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_http1_chunks chunks;
    asx_http_text data = { "x", 1 };
    size_t used = 9;
    CHECK_STATUS(asx_http1_chunks_init(NULL, 0, 0), bad);
    CHECK_STATUS(asx_http1_chunks_init(&chunks, 0, 0), ASX_OK);
    CHECK_STATUS(asx_http1_chunks_read(NULL, "0", 1, &data, &used), bad);
    CHECK(data.at == NULL && data.len == 0 && used == 0);
    CHECK_STATUS(asx_http1_chunks_read(&chunks, NULL, 1, &data, &used), bad);
    CHECK_STATUS(asx_http1_chunks_read(&chunks, "0", 1, NULL, &used), bad);
    CHECK_STATUS(asx_http1_chunks_read(&chunks, "0", 1, &data, NULL), bad);
    CHECK_STATUS(asx_http1_chunks_read(&chunks, NULL, 0, &data, &used), ASX_E_HTTP_PARTIAL);
    CHECK_STATUS(asx_http1_chunks_read(&chunks, "x", 1, &data, &used), ASX_E_HTTP_MALFORMED);
    CHECK_STATUS(asx_http1_chunks_read(&chunks, "0", 1, &data, &used), ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_http1_chunks_init(&chunks, 0, 0), ASX_OK);
    CHECK_STATUS(asx_http1_chunks_read(&chunks, "0\r\n", 3, &data, &used), ASX_OK);
    CHECK(chunks.ended);
    CHECK_STATUS(asx_http1_chunks_read(&chunks, "0", 1, &data, &used), ASX_E_INVALID_TRANSITION);
    CHECK_EQ(asx_http1_chunk_head(1, NULL), 0);
}

ASX_TEST(texts_of_nothing_are_no_fields)
{
    const asx_http_text none = { NULL, 0 }, lost = { NULL, 3 }, name = { "A", 1 };
    CHECK(!asx_http_field_valid(none, none));
    CHECK(!asx_http_field_valid(lost, none));
    CHECK(!asx_http_field_valid(name, lost));
    CHECK(asx_http_field_valid(name, none));
    CHECK_STR_EQ(asx_http_status_text(0), "");
}

ASX_TEST(dates_without_a_place_are_refused)
{
    uint64_t seconds = 7;
    const asx_http_text none = { NULL, 29 };
    CHECK(asx_http_date_text(0, NULL) == NULL);
    CHECK_STATUS(asx_http_date_read(none, &seconds), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(seconds, 0);
    CHECK_STATUS(asx_http_date_read(none, NULL), ASX_E_INVALID_ARGUMENT);
}

/* ---- servers -------------------------------------------------------------------------------- */

static asx_http_server served;
static asx_listener at;

static void misuse_request(asx_cx *cx, asx_http_request *request)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    char byte;
    size_t n = 9;
    CHECK(asx_http_request_head(NULL) == NULL && asx_http_request_peer(NULL) == NULL);
    CHECK(asx_http_request_trailers(NULL) == NULL);
    CHECK(asx_http_request_trailers(request) == NULL); /* there are none */
    CHECK_STATUS(asx_http_request_read(cx, NULL, &byte, 1, &n), bad);
    CHECK_EQ(n, 0);
    CHECK_STATUS(asx_http_request_read(NULL, request, &byte, 1, &n), bad);
    CHECK_STATUS(asx_http_request_read(cx, request, NULL, 1, &n), bad);
    CHECK_STATUS(asx_http_request_read(cx, request, &byte, 0, &n), bad);
    CHECK_STATUS(asx_http_request_read(cx, request, &byte, 1, NULL), bad);
}

static void misuse_fields(asx_http_response *response)
{
    static char much[5000];
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    memset(much, 'x', sizeof much - 1);
    CHECK_STATUS(asx_http_response_status(NULL, 200), bad);
    CHECK_STATUS(asx_http_response_status(response, 100), bad);
    CHECK_STATUS(asx_http_response_status(response, 1000), bad);
    CHECK_STATUS(asx_http_response_field(NULL, "a", "b"), bad);
    CHECK_STATUS(asx_http_response_field(response, NULL, "b"), bad);
    CHECK_STATUS(asx_http_response_field(response, "a", NULL), bad);
    CHECK_STATUS(asx_http_response_field(response, "a", "b\r\nc: d"), bad);
    CHECK_STATUS(asx_http_response_field(response, "content-length", "4"), bad);
    CHECK_STATUS(asx_http_response_field(response, "Transfer-Encoding", "chunked"), bad);
    CHECK_STATUS(asx_http_response_field(response, "a", much), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_http_response_trailer(NULL, "a", "b"), bad);
    CHECK_STATUS(asx_http_response_trailer(response, "a b", "b"), bad);
    CHECK_STATUS(asx_http_response_trailer(response, "a", much), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_http_response_length(NULL, 1), bad);
    CHECK_STATUS(asx_http_response_close(NULL), bad);
}

static asx_status misuses(asx_cx *cx, asx_http_request *request, asx_http_response *response,
                          void *arg)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT, late = ASX_E_INVALID_TRANSITION;
    const asx_file no_file = { NULL, 0 };
    (void)arg;
    misuse_request(cx, request);
    misuse_fields(response);
    CHECK_STATUS(asx_http_response_send(cx, NULL, "x", 1), bad);
    CHECK_STATUS(asx_http_response_send(NULL, response, "x", 1), bad);
    CHECK_STATUS(asx_http_response_send(cx, response, NULL, 1), bad);
    CHECK_STATUS(asx_http_response_write(cx, NULL, "x", 1), bad);
    CHECK_STATUS(asx_http_response_write(cx, response, NULL, 1), bad);
    CHECK_STATUS(asx_http_response_file(cx, NULL, &no_file, 0, 1), bad);
    CHECK_STATUS(asx_http_response_file(cx, response, NULL, 0, 1), bad);
    CHECK_STATUS(asx_http_response_file(cx, response, &no_file, UINT64_MAX, 1), bad);
    CHECK_STATUS(asx_http_response_status(response, 204), ASX_OK);
    CHECK_STATUS(asx_http_response_send(cx, response, "x", 1), bad); /* 204 has no body */
    CHECK_STATUS(asx_http_response_status(response, 200), ASX_OK);
    CHECK_STATUS(asx_http_response_length(response, 3), ASX_OK);
    CHECK_STATUS(asx_http_response_send(cx, response, "xy", 2), bad); /* three were promised */
    CHECK_STATUS(asx_http_response_write(cx, response, "wxyz", 4), bad);
    CHECK_STATUS(asx_http_response_send(cx, response, "xyz", 3), ASX_OK);
    CHECK_STATUS(asx_http_response_send(cx, response, "xyz", 3), late);
    CHECK_STATUS(asx_http_response_write(cx, response, "xyz", 3), late);
    CHECK_STATUS(asx_http_response_file(cx, response, &no_file, 0, 0), late);
    CHECK_STATUS(asx_http_response_status(response, 200), late);
    CHECK_STATUS(asx_http_response_field(response, "a", "b"), late);
    CHECK_STATUS(asx_http_response_trailer(response, "a", "b"), late);
    CHECK_STATUS(asx_http_response_length(response, 1), late);
    CHECK_STATUS(asx_http_response_close(response), late);
    return ASX_OK;
}

static asx_status asks_once(asx_cx *cx, void *arg)
{
    asx_stream stream;
    char answer[300];
    size_t done = 0, n;
    CHECK_STATUS(asx_connect(cx, NULL, arg, NULL, &stream), ASX_OK);
    CHECK_STATUS(asx_stream_write_all(cx, &stream, "GET / HTTP/1.0\r\n\r\n", 18, &done), ASX_OK);
    CHECK_STATUS(asx_stream_read(cx, &stream, answer, sizeof answer, &n), ASX_OK);
    CHECK(n > 12);
    CHECK_MEM_EQ(answer, "HTTP/1.1 200", 12);
    CHECK_STATUS(asx_stream_close(cx, &stream), ASX_OK);
    CHECK_STATUS(asx_http_serve(cx, &served, &at), ASX_E_INVALID_TRANSITION); /* already */
    return asx_http_server_stop(cx, &served, ASX_SEC);
}

static asx_status misuses_servers(asx_cx *cx, void *arg)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_http_server none = { NULL };
    asx_http_server_options many = { .fields_max = 2000 };
    asx_http_server_info info;
    asx_address address;
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_http_server_create(NULL, misuses, NULL, NULL, &served), bad);
    CHECK_STATUS(asx_http_server_stop(cx, &served, 0), bad);
    CHECK_STATUS(asx_http_server_create(&r, NULL, NULL, NULL, &served), bad);
    CHECK_STATUS(asx_http_server_create(&r, misuses, NULL, &many, &served), bad);
    CHECK_STATUS(asx_http_server_create(&r, misuses, NULL, NULL, NULL), bad);
    CHECK_STATUS(asx_http_server_create(&r, misuses, NULL, NULL, &served), ASX_OK);
    CHECK_STATUS(asx_address_ip("127.0.0.1", 0, &address), ASX_OK);
    CHECK_STATUS(asx_listen(cx, &r, &address, NULL, &at), ASX_OK);
    CHECK_STATUS(asx_listener_address(cx, &at, &address), ASX_OK);
    CHECK_STATUS(asx_http_serve(cx, NULL, &at), bad);
    CHECK_STATUS(asx_http_serve(cx, &none, &at), bad);
    CHECK_STATUS(asx_http_serve(cx, &served, NULL), bad);
    CHECK_STATUS(asx_http_server_stop(cx, NULL, 0), bad);
    CHECK_STATUS(asx_http_server_stop(NULL, &served, 0), bad);
    CHECK_STATUS(asx_http_server_get_info(NULL, &info), bad);
    CHECK_STATUS(asx_http_server_get_info(&none, &info), bad);
    CHECK_STATUS(asx_http_server_get_info(&served, NULL), bad);
    CHECK(asx_http_server_late(NULL, 0) == NULL && asx_http_server_late(&served, 0) == NULL);
    CHECK_STATUS(asx_spawn(&r, "client", asks_once, &address), ASX_OK);
    CHECK_STATUS(asx_http_serve(cx, &served, &at), ASX_OK);
    CHECK_STATUS(asx_http_server_get_info(&served, &info), ASX_OK);
    CHECK_EQ(info.requests, 1);
    CHECK_STATUS(asx_listen(cx, &r, &address, NULL, &at), ASX_OK);
    CHECK_STATUS(asx_http_serve(cx, &served, &at), ASX_E_INVALID_TRANSITION); /* it was stopped */
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(servers_requests_and_responses_refuse_what_cannot_be)
{
    asx_runtime *rt;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, misuses_servers, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}
