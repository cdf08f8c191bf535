/* test_layer.c - streams whose bytes go through functions. */
#include "io/support_io.h"

#include <asx/layer.h>
#include <string.h>

/* Adds one to each byte on the way out, and takes it away on the way in. */
typedef struct shifter {
    asx_stream below;
    unsigned destroyed;
} shifter;

static asx_status shift_read(asx_cx *cx, void *state, void *buffer, size_t size, size_t *ret_n)
{
    shifter *s = state;
    asx_status st = asx_stream_read(cx, &s->below, buffer, size, ret_n);
    for (size_t i = 0; i < *ret_n; i++)
        ((char *)buffer)[i]--;
    return st;
}

static asx_status shift_write(asx_cx *cx, void *state, const void *data, size_t size,
                              size_t *ret_n)
{
    shifter *s = state;
    char piece[7]; /* so that a long write takes several calls */
    size_t len = size < sizeof piece ? size : sizeof piece;
    for (size_t i = 0; i < len; i++)
        piece[i] = (char)(((const char *)data)[i] + 1);
    return asx_stream_write(cx, &s->below, piece, len, ret_n);
}

static asx_status shift_wait(asx_cx *cx, void *state, unsigned what, unsigned *ret_ready)
{
    return asx_stream_wait(cx, &((shifter *)state)->below, what, ret_ready);
}

static asx_status shift_shutdown(asx_cx *cx, void *state)
{
    return asx_stream_shutdown(cx, &((shifter *)state)->below);
}

static asx_status shift_close(asx_cx *cx, void *state)
{
    return asx_stream_close(cx, &((shifter *)state)->below);
}

static void shift_destroy(void *state)
{
    ((shifter *)state)->destroyed++;
}

static const asx_stream_layer shifting = { "shift",        shift_read,  shift_write,  shift_wait,
                                           shift_shutdown, shift_close, shift_destroy };
static const asx_stream_layer bare = { "bare", NULL, NULL, NULL, NULL, NULL, shift_destroy };

/* ---- transfers ------------------------------------------------------------------------------ */

static asx_status passes(asx_cx *cx, void *arg)
{
    shifter *s = arg;
    asx_region here;
    asx_stream client, server, upper;
    asx_stream_details d;
    char heard[16] = "";
    size_t n, done = 0;
    unsigned ready;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    io_connected(cx, &here, &client, &server);
    s->below = client;
    CHECK_STATUS(asx_stream_layer_open(cx, &here, &shifting, s, NULL, &upper), ASX_OK);
    CHECK_EQ(asx_stream_write_all(cx, &upper, "HAL, open it", 12, &done), ASX_OK);
    CHECK_EQ(done, 12u);
    done = 0;
    CHECK_EQ(asx_stream_read_exact(cx, &server, heard, 12, &done), ASX_OK);
    CHECK_MEM_EQ(heard, "IBM-!pqfo!ju", 12);
    CHECK_EQ(asx_stream_write(cx, &server, "IBM", 3, &n), ASX_OK);
    CHECK_EQ(asx_stream_wait(cx, &upper, ASX_IO_READABLE, &ready), ASX_OK);
    CHECK_EQ(ready, (unsigned)ASX_IO_READABLE);
    CHECK_EQ(asx_stream_read(cx, &upper, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(n, 3u);
    CHECK_MEM_EQ(heard, "HAL", 3);
    CHECK_EQ(asx_stream_info(cx, &upper, &d), ASX_OK);
    CHECK_EQ(d.read, 3u);
    CHECK_EQ(d.written, 12u);
    CHECK_EQ(asx_stream_shutdown(cx, &upper), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &server, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(n, 0u);
    CHECK_EQ(s->destroyed, 0u);
    CHECK_EQ(asx_stream_close(cx, &upper), ASX_OK);
    CHECK_EQ(s->destroyed, 1u);
    CHECK_EQ(asx_stream_write(cx, &client, "x", 1, &n), ASX_E_STALE_HANDLE); /* closed with it */
    return asx_stream_read(cx, &upper, heard, 1, &n) == ASX_E_STALE_HANDLE ? ASX_OK : ASX_E_END;
}

ASX_TEST(bytes_go_through_the_functions_of_the_layer)
{
    shifter s = { .destroyed = 0 };
    io_run(passes, &s, ASX_OK);
    CHECK_EQ(s.destroyed, 1u);
}

/* ---- the end -------------------------------------------------------------------------------- */

static asx_status reads_on(asx_cx *cx, void *arg)
{
    char byte;
    size_t n;
    return asx_stream_read(cx, arg, &byte, 1, &n) == ASX_E_CLOSED ? ASX_OK : ASX_E_END;
}

static asx_status closes_on_a_reader(asx_cx *cx, void *arg)
{
    shifter *s = arg;
    asx_region here, readers;
    asx_stream client, server, upper;
    char byte;
    size_t n;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    io_connected(cx, &here, &client, &server);
    s->below = client;
    CHECK_STATUS(asx_stream_layer_open(cx, NULL, &shifting, s, NULL, &upper), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &readers), ASX_OK);
    CHECK_EQ(asx_spawn(&readers, "reader", reads_on, &upper), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 20 * ASX_MS), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &upper, &byte, 1, &n), ASX_E_BUSY);
    CHECK_EQ(s->destroyed, 0u);
    CHECK_EQ(asx_stream_close(cx, &upper), ASX_OK); /* returns when the reader has left */
    CHECK_EQ(s->destroyed, 1u);
    return asx_region_close(&readers, ASX_OK);
}

ASX_TEST(a_close_ends_what_waits_in_the_layer_and_then_destroys_its_state)
{
    shifter s = { .destroyed = 0 };
    io_run(closes_on_a_reader, &s, ASX_OK);
    CHECK_EQ(s.destroyed, 1u);
}

static asx_status leaves_it_open(asx_cx *cx, void *arg)
{
    asx_region inner;
    asx_stream client, server, upper;
    shifter *s = arg;
    CHECK_EQ(asx_region_open(cx, NULL, &inner), ASX_OK);
    io_connected(cx, &inner, &client, &server);
    s->below = client;
    CHECK_STATUS(asx_stream_layer_open(cx, &inner, &shifting, s, NULL, &upper), ASX_OK);
    CHECK_EQ(asx_region_close(&inner, ASX_OK), ASX_OK);
    CHECK_EQ(s->destroyed, 1u);
    return ASX_OK;
}

ASX_TEST(a_layered_stream_ends_with_its_region)
{
    shifter s = { .destroyed = 0 };
    io_run(leaves_it_open, &s, ASX_OK);
    CHECK_EQ(s.destroyed, 1u);
}

/* ---- what it does not have ------------------------------------------------------------------ */

static asx_status count_call(asx_cx *cx, void *state, void *arg)
{
    (void)cx;
    CHECK(state != NULL);
    ++*(unsigned *)arg;
    return ASX_E_END;
}

static asx_status asks_too_much(asx_cx *cx, void *arg)
{
    asx_stream upper;
    char byte;
    size_t n;
    unsigned ready, calls = 0;
    int fd;
    CHECK_STATUS(asx_stream_layer_open(cx, NULL, &bare, arg, NULL, &upper), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &upper, &byte, 1, &n), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_stream_write(cx, &upper, "x", 1, &n), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_stream_wait(cx, &upper, ASX_IO_READABLE, &ready), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_stream_shutdown(cx, &upper), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_stream_descriptor(cx, &upper, &fd), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(fd, -1);
    CHECK_EQ(asx_stream_layer_call(cx, &upper, &bare, count_call, &calls), ASX_E_END);
    CHECK_EQ(asx_stream_layer_call(cx, &upper, &shifting, count_call, &calls),
             ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(calls, 1u);
    return asx_stream_close(cx, &upper);
}

ASX_TEST(a_layer_without_a_function_has_streams_without_that_call)
{
    shifter s = { .destroyed = 0 };
    io_run(asks_too_much, &s, ASX_OK);
    CHECK_EQ(s.destroyed, 1u);
}
