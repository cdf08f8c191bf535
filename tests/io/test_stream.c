/* test_stream.c - streams: bytes go over in order, calls wait, ends are seen. */
#include "io/support_io.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- transfers ------------------------------------------------------------------------------ */

static asx_status says_and_hears(asx_cx *cx, void *arg)
{
    asx_region here;
    asx_stream client, server;
    char heard[16] = "";
    size_t n, done = 0;
    (void)arg;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    io_connected(cx, &here, &client, &server);
    CHECK_EQ(asx_stream_write(cx, &client, "hello", 5, &n), ASX_OK);
    CHECK_EQ(n, 5u);
    CHECK_EQ(asx_stream_read_exact(cx, &server, heard, 3, &done), ASX_OK);
    CHECK_EQ(done, 3u);
    CHECK_MEM_EQ(heard, "hel", 3);
    CHECK_EQ(asx_stream_read(cx, &server, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(n, 2u);
    CHECK_MEM_EQ(heard, "lo", 2);
    CHECK_EQ(asx_stream_shutdown(cx, &client), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &server, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(n, 0u);
    done = 0;
    CHECK_EQ(asx_stream_write_all(cx, &server, "bye", 3, &done), ASX_OK); /* the other way still */
    done = 0;
    CHECK_EQ(asx_stream_read_exact(cx, &client, heard, 3, &done), ASX_OK);
    asx_stream_details d;
    CHECK_EQ(asx_stream_info(cx, &server, &d), ASX_OK);
    CHECK_EQ(d.read, 5u);
    CHECK_EQ(d.written, 3u);
    CHECK(d.ended && !d.reading && !d.writing);
    return ASX_OK;
}

ASX_TEST(bytes_go_over_in_order_and_each_direction_has_its_own_end)
{
    io_run(says_and_hears, NULL, ASX_OK);
}

/* Bytes and the end in one look at the system, and a read that is shorter than its buffer. */
static asx_status reads_to_the_end(asx_cx *cx, void *arg)
{
    char heard[16];
    size_t n;
    CHECK_EQ(asx_stream_read(cx, arg, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(n, 3u);
    CHECK_EQ(asx_stream_read(cx, arg, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(n, 0u);
    CHECK_EQ(asx_stream_read(cx, arg, heard, sizeof heard, &n), ASX_OK); /* and again */
    CHECK_EQ(n, 0u);
    return ASX_OK;
}

static asx_status ends_at_once(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_stream one, other;
    size_t n;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &r, &one, &other), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "reads", reads_to_the_end, &one), ASX_OK);
    if (arg != NULL) /* it waits already */
        CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    CHECK_EQ(asx_stream_write(cx, &other, "abc", 3, &n), ASX_OK);
    CHECK_EQ(asx_stream_close(cx, &other), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(an_end_that_comes_with_the_last_bytes_is_seen)
{
    int waits = 1;
    io_run(ends_at_once, NULL, ASX_OK);
    io_run(ends_at_once, &waits, ASX_OK);
}

enum { MUCH = 1 << 20 };

static asx_status pours(asx_cx *cx, void *arg)
{
    static unsigned char data[MUCH];
    size_t done = 0;
    for (size_t i = 0; i < MUCH; i++)
        data[i] = (unsigned char)(i * 31 + i / 251);
    CHECK_STATUS(asx_stream_write_all(cx, arg, data, MUCH, &done), ASX_OK);
    CHECK_EQ(done, (size_t)MUCH);
    return asx_stream_close(cx, arg);
}

static asx_status pours_and_drinks(asx_cx *cx, void *arg)
{
    static unsigned char data[MUCH];
    asx_region r;
    asx_stream from, to;
    size_t done = 0;
    unsigned char more;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    io_connected(cx, &r, &from, &to);
    CHECK_EQ(asx_spawn(&r, "pours", pours, &from), ASX_OK);
    CHECK_STATUS(asx_stream_read_exact(cx, &to, data, MUCH, &done), ASX_OK);
    for (size_t i = 0; i < MUCH; i++)
        CHECK_EQ(data[i], (unsigned char)(i * 31 + i / 251));
    CHECK_EQ(asx_stream_read(cx, &to, &more, 1, &done), ASX_OK);
    CHECK_EQ(done, 0u);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_writer_waits_for_its_reader_and_no_byte_is_lost)
{
    io_run(pours_and_drinks, NULL, ASX_OK);
}

static asx_status writes_parts(asx_cx *cx, void *arg)
{
    asx_region here;
    asx_stream one, other;
    char heard[9];
    asx_io_part parts[] = { { "ab", 2 }, { NULL, 0 }, { "cdef", 4 }, { "ghi", 3 } };
    size_t done = 1;
    (void)arg;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &here, &one, &other), ASX_OK);
    CHECK_EQ(asx_stream_write_parts(cx, &one, parts, 4, &done), ASX_OK); /* all but the first */
    CHECK_EQ(done, 9u);
    done = 0;
    CHECK_EQ(asx_stream_read_exact(cx, &other, heard, 8, &done), ASX_OK);
    CHECK_MEM_EQ(heard, "bcdefghi", 8);
    return ASX_OK;
}

ASX_TEST(parts_are_written_one_behind_the_other)
{
    io_run(writes_parts, NULL, ASX_OK);
}

static asx_status says_and_leaves(asx_cx *cx, void *arg)
{
    const asx_stream *stream = arg;
    size_t done = 0;
    CHECK_EQ(asx_sleep(cx, 20 * ASX_MS), ASX_OK); /* the reader waits */
    CHECK_EQ(asx_stream_write_all(cx, stream, "last", 4, &done), ASX_OK);
    return asx_stream_close(cx, stream);
}

/* The last bytes and the end come as one event. */
static asx_status waits_for_the_end(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_stream client, server;
    char heard[64];
    size_t n;
    unsigned ready;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    io_connected(cx, &r, &client, &server);
    CHECK_EQ(asx_spawn(&r, "peer", says_and_leaves, &server), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &client, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(n, 4);
    CHECK_EQ(asx_stream_wait(cx, &client, ASX_IO_READABLE, &ready), ASX_OK);
    CHECK_EQ(ready, ASX_IO_READABLE);
    CHECK_EQ(asx_stream_read(cx, &client, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(n, 0);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(an_end_that_came_with_the_last_bytes_is_waited_for)
{
    io_run(waits_for_the_end, NULL, ASX_OK);
}

static asx_status through_a_pipe(asx_cx *cx, void *arg)
{
    asx_region here;
    asx_stream reader, writer;
    char heard[4];
    size_t n, done = 0;
    (void)arg;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    CHECK_EQ(asx_pipe_open(cx, &here, &reader, &writer), ASX_OK);
    CHECK_EQ(asx_stream_write_all(cx, &writer, "pipe", 4, &done), ASX_OK);
    done = 0;
    CHECK_EQ(asx_stream_read_exact(cx, &reader, heard, 4, &done), ASX_OK);
    CHECK_MEM_EQ(heard, "pipe", 4);
    CHECK_EQ(asx_stream_read(cx, &writer, heard, 4, &n), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_stream_write(cx, &reader, heard, 4, &n), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_stream_close(cx, &reader), ASX_OK);
    CHECK_EQ(asx_stream_write(cx, &writer, heard, 4, &n), ASX_E_BROKEN); /* and no signal */
    return ASX_OK;
}

ASX_TEST(a_pipe_has_two_ends_and_sends_no_signal)
{
    io_run(through_a_pipe, NULL, ASX_OK);
}

/* ---- errors --------------------------------------------------------------------------------- */

static asx_status meets_a_reset(asx_cx *cx, void *arg)
{
    asx_region here;
    asx_stream client, server;
    asx_stream_tuning hard = ASX_STREAM_TUNING;
    char byte;
    size_t n;
    (void)arg;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    io_connected(cx, &here, &client, &server);
    hard.reset_on_close = 1;
    CHECK_EQ(asx_stream_tune(cx, &client, &hard), ASX_OK);
    CHECK_EQ(asx_stream_close(cx, &client), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &server, &byte, 1, &n), ASX_E_RESET);
    CHECK_EQ(asx_stream_write(cx, &server, &byte, 1, &n), ASX_E_BROKEN);
    return ASX_OK;
}

ASX_TEST(a_reset_is_told_as_one_and_no_signal_comes)
{
    io_run(meets_a_reset, NULL, ASX_OK);
}

static asx_status knocks(asx_cx *cx, void *arg)
{
    asx_region here;
    asx_listener listener;
    asx_address at, none;
    asx_stream stream;
    (void)arg;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    io_listen(cx, &here, &listener, &at);
    CHECK_EQ(asx_listen(cx, &here, &at, NULL, &(asx_listener){ NULL, 0 }), ASX_E_ADDRESS);
    CHECK_EQ(asx_listener_close(cx, &listener), ASX_OK);
    CHECK_EQ(asx_connect(cx, &here, &at, NULL, &stream), ASX_E_REFUSED);
    CHECK_EQ(asx_stream_close(cx, &stream), ASX_E_INVALID_ARGUMENT); /* it names nothing */
    CHECK_EQ(asx_address_unix("/nowhere/at/all", &none), ASX_OK);
    CHECK_EQ(asx_connect(cx, &here, &none, NULL, &stream), ASX_E_REFUSED);
    return ASX_OK;
}

ASX_TEST(where_nobody_listens_a_connection_is_refused)
{
    io_run(knocks, NULL, ASX_OK);
}

/* ---- who owns what -------------------------------------------------------------------------- */

static asx_status leaves_all_open(asx_cx *cx, void *arg)
{
    asx_region here, r;
    asx_stream kept, left, pair[2];
    char byte;
    size_t n;
    (void)arg;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &r, &kept, &left), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &r, &pair[0], &pair[1]), ASX_OK);
    CHECK_EQ(asx_stream_move(cx, &kept, &here), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &left, &byte, 1, &n), ASX_E_STALE_HANDLE);
    CHECK_EQ(asx_stream_close(cx, &pair[0]), ASX_E_STALE_HANDLE);
    CHECK_EQ(asx_stream_read(cx, &kept, &byte, 1, &n), ASX_OK); /* and its other end is closed */
    CHECK_EQ(n, 0u);
    CHECK_EQ(asx_stream_move(cx, &kept, &r), ASX_E_STALE_HANDLE);
    return ASX_OK;
}

ASX_TEST(a_region_closes_the_streams_that_live_in_it_and_no_others)
{
    io_run(leaves_all_open, NULL, ASX_OK);
}

static asx_status reads_into_nothing(asx_cx *cx, void *arg)
{
    char byte;
    size_t n;
    return asx_stream_read(cx, arg, &byte, 1, &n);
}

static asx_status closes_under_a_reader(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_stream one, other, next[2];
    asx_task reader;
    asx_join_result result;
    char byte;
    size_t n;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
             ASX_OK);
    io_connected(cx, &r, &one, &other);
    CHECK_EQ(asx_spawn_task(&r, reads_into_nothing, &one, NULL, &reader), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &one, &byte, 1, &n), ASX_E_BUSY);
    CHECK_EQ(asx_stream_close(cx, &one), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &r, &next[0], &next[1]), ASX_OK); /* takes over the number */
    CHECK_EQ(asx_stream_write(cx, &next[1], "x", 1, &n), ASX_OK);
    CHECK_EQ(asx_join(cx, &reader, &result), ASX_OK);
    CHECK_STATUS(result.outcome.status, ASX_E_CLOSED);
    CHECK_EQ(asx_stream_read(cx, &next[0], &byte, 1, &n), ASX_OK);
    CHECK_EQ(byte, 'x');
    CHECK_EQ(asx_stream_read(cx, &other, &byte, 1, &n), ASX_OK);
    CHECK_EQ(n, 0u);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_CLOSED);
    return ASX_OK;
}

ASX_TEST(a_close_tells_who_waits_and_no_read_meets_the_next_descriptor)
{
    io_run(closes_under_a_reader, NULL, ASX_OK);
}

/* ---- signals in between --------------------------------------------------------------------- */

static void nothing(int signo)
{
    (void)signo;
}

static void *disturbs(void *arg)
{
    for (int i = 0; i < 200; i++) {
        (void)pthread_kill(*(pthread_t *)arg, SIGUSR1);
        usleep(200);
    }
    return NULL;
}

static asx_status is_not_disturbed(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_stream one, other;
    char byte;
    size_t n;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &(asx_region_options){ .timeout_ns = 60 * ASX_MS }, &r), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &r, &one, &other), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "reads", reads_into_nothing, &one), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_TIMEOUT); /* neither sooner nor otherwise */
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &r, &one, &other), ASX_OK);
    CHECK_EQ(asx_stream_write(cx, &one, "x", 1, &n), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &other, &byte, 1, &n), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(signals_that_interrupt_calls_are_not_noticed)
{
    pthread_t self = pthread_self(), thread;
    struct sigaction action = { .sa_handler = nothing }; /* no SA_RESTART */
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK_EQ(pthread_create(&thread, NULL, disturbs, &self), 0);
    io_run(is_not_disturbed, NULL, ASX_OK);
    pthread_join(thread, NULL);
}
