/* test_misuse_http.c - readers of HTTP without bytes, without memory, and after their end. */
#include "support_api.h"

#include <asx/http1.h>

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
