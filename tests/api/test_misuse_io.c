/* test_misuse_io.c - input and output asked for in wrong ways: a status, and nothing happens. */
#include "harness.h"

#include <asx/asx.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Every call with something missing or impossible. */
static void misuse_stream(asx_cx *cx, const asx_stream *s)
{
    asx_stream none = { NULL, 0 }, out;
    asx_io_part part = { "x", 1 }, hole = { NULL, 1 };
    asx_stream_details details;
    char b;
    size_t n, done = 0, much = 9;
    unsigned ready;
    int fd;
    CHECK_EQ(asx_stream_read(cx, s, &b, 0, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_read(cx, s, NULL, 1, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_read(cx, s, &b, 1, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_read(cx, NULL, &b, 1, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_read(cx, &none, &b, 1, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_read(NULL, s, &b, 1, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_read_exact(cx, s, &b, 1, &much), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_read_exact(cx, s, &b, 0, &done), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_write(cx, s, NULL, 1, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_write(cx, s, "x", 0, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_write_all(cx, s, "x", 1, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_write_all(cx, s, "x", 1, &much), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_write_parts(cx, s, &part, 0, &done), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_write_parts(cx, s, &part, ASX_IO_PARTS_MAX + 1, &done),
             ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_write_parts(cx, s, &hole, 1, &done), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_wait(cx, s, 0, &ready), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_wait(cx, s, 4, &ready), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_wait(cx, s, 1, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_shutdown(cx, &none), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_close(cx, &none), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_close(NULL, s), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_move(cx, &none, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_adopt(cx, NULL, -1, NULL, &out), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_adopt(cx, NULL, dup(0), NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_pipe_open(cx, NULL, NULL, &out), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_descriptor(cx, s, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_descriptor(cx, &none, &fd), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(fd, -1);
    CHECK_EQ(asx_stream_info(cx, s, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_info(cx, &none, &details), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_runtime_io_stats(asx_cx_runtime(cx), NULL), ASX_E_INVALID_ARGUMENT);
}

static void destroyed(void *state)
{
    ++*(unsigned *)state;
}

static asx_status is_called(asx_cx *cx, void *state, void *arg)
{
    (void)cx;
    (void)state;
    (void)arg;
    CHECK(false);
    return ASX_OK;
}

/* A state that was not taken is not destroyed. */
static void misuse_layer(asx_cx *cx, const asx_stream *s)
{
    static const asx_stream_layer empty, whole = { .destroy = destroyed };
    asx_stream out, none = { NULL, 0 };
    unsigned count = 0;
    CHECK_EQ(asx_stream_layer_open(cx, NULL, NULL, &count, NULL, &out), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_layer_open(cx, NULL, &empty, &count, NULL, &out), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_layer_open(cx, NULL, &whole, &count, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_layer_open(NULL, NULL, &whole, &count, NULL, &out),
             ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_close(cx, &out), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_layer_call(cx, s, &whole, is_called, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_layer_call(cx, s, NULL, is_called, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_layer_call(cx, s, &whole, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_layer_call(cx, &none, &whole, is_called, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(count, 0u);
}

static void misuse_net(asx_cx *cx, const asx_stream *s)
{
    asx_address nothing = { 0 }, at, other;
    asx_listener listener, none = { NULL, 0 };
    asx_stream out, pair;
    asx_stream_tuning tuning = ASX_STREAM_TUNING;
    CHECK_EQ(asx_address_ip("127.0.0.1", 0, &at), ASX_OK);
    CHECK_EQ(asx_address_ip(NULL, 0, &other), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_address_ip("127.0.0.1", 0, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_address_unix(NULL, &other), ASX_E_INVALID_ARGUMENT);
    CHECK(asx_address_text(&at, NULL, 9) == NULL);
    CHECK_EQ(asx_address_port(NULL), 0);
    CHECK_EQ(asx_listen(cx, NULL, &nothing, NULL, &listener), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_listen(cx, NULL, NULL, NULL, &listener), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_listen(cx, NULL, &at, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_listener_accept(cx, &none, NULL, &out), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_listener_accept(cx, (const asx_listener *)(const void *)s, NULL, &out),
             ASX_E_INVALID_ARGUMENT); /* a stream is no listener */
    CHECK_EQ(asx_listener_address(cx, &none, &other), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_listener_close(cx, &none), ASX_E_INVALID_ARGUMENT);
    out = (asx_stream){ NULL, 0 };
    CHECK_EQ(asx_connect(cx, NULL, &nothing, NULL, &out), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_connect(cx, NULL, &at, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_pair(cx, NULL, &pair, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_addresses(cx, s, NULL, &at), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_tune(cx, s, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_tune(NULL, s, &tuning), ASX_E_INVALID_ARGUMENT);
}

static void misuse_buffer(asx_cx *cx, const asx_stream *s)
{
    asx_reader r, no_reader;
    asx_writer w, no_writer;
    char buffer[8];
    const void *data;
    const char *line;
    size_t n, much = 9;
    asx_frame_options odd = { .prefix = 3 };
    CHECK_EQ(asx_reader_init(NULL, s, buffer, 8), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_reader_init(&no_reader, s, buffer, 0), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_reader_peek(cx, &no_reader, 1, &data, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_reader_line(cx, &no_reader, &line, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_reader_frame(cx, &no_reader, NULL, &data, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_reader_init(&r, s, buffer, 8), ASX_OK);
    CHECK_EQ(asx_reader_peek(cx, &r, 0, &data, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_reader_peek(cx, &r, 1, NULL, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_reader_consume(&r, 1), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_reader_line(cx, &r, NULL, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_reader_frame(cx, &r, &odd, &data, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_writer_init(&no_writer, NULL, buffer, 8), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_writer_put(cx, &no_writer, "x", 1, &much), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_writer_flush(cx, &no_writer), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_writer_init(&w, s, buffer, 8), ASX_OK);
    CHECK_EQ(asx_writer_put(cx, &w, "x", 1, &much), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_writer_frame(cx, &w, NULL, 1, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_writer_frame(cx, &w, "x", 1, &odd), ASX_E_INVALID_ARGUMENT);
}

static void misuse_udp(asx_cx *cx)
{
    asx_udp udp, none = { NULL, 0 };
    asx_address at, path;
    char byte;
    size_t n;
    CHECK_EQ(asx_address_ip("127.0.0.1", 0, &at), ASX_OK);
    CHECK_EQ(asx_address_unix("/tmp/x", &path), ASX_OK);
    CHECK_EQ(asx_udp_open(cx, NULL, &path, NULL, &udp), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_udp_open(cx, NULL, &at, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_udp_open(cx, NULL, &at, NULL, &udp), ASX_OK);
    CHECK_EQ(asx_udp_receive(cx, &udp, &byte, 0, &n, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_udp_receive(cx, &none, &byte, 1, &n, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_udp_send(cx, &udp, NULL, 1, &at), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_udp_send(cx, &udp, "x", 1, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_udp_address(cx, &udp, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_udp_close(cx, &none), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_udp_close(cx, &udp), ASX_OK);
}

static void misuse_file(asx_cx *cx, const asx_stream *s)
{
    asx_file file, none = { NULL, 0 };
    asx_file_details details;
    asx_reader r, no_reader;
    char byte;
    size_t n, done = 0, much = 9;
    uint64_t sent = 0, too_far = 9;
    CHECK_EQ(asx_file_open(cx, NULL, NULL, ASX_FILE_READ, NULL, &file), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_open(cx, NULL, "/", 0, NULL, &file), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_open(cx, NULL, "/", ASX_FILE_DIRECTORY | ASX_FILE_READ, NULL, &file),
             ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_open(cx, NULL, "/", 1u << 20, NULL, &file), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_open(cx, NULL, "/dev/null", ASX_FILE_READ,
                           &(asx_file_options){ .beneath = &none }, &file),
             ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_open(cx, NULL, "/dev/null", ASX_FILE_READ, NULL, NULL),
             ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_open(cx, NULL, "/dev/null", ASX_FILE_READ, NULL, &file), ASX_OK);
    CHECK_EQ(asx_file_read(cx, &none, 0, &byte, 1, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_read(cx, &file, 0, &byte, 0, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_read(cx, &file, UINT64_MAX, &byte, 1, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_write(cx, &file, 0, "x", 1, &much), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_write(cx, &none, 0, "x", 1, &done), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_sync(cx, &none), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_info(cx, &file, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_info(cx, &none, &details), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_send_file(cx, s, &none, 0, 1, &sent), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_send_file(cx, s, &file, 0, 1, &too_far), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_send_file(cx, NULL, &file, 0, 1, &sent), ASX_E_INVALID_ARGUMENT);
    asx_directory_entry entry;
    size_t at = 0;
    CHECK_EQ(asx_directory_read(cx, &file, NULL, 9, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_directory_read(cx, &none, &r, sizeof r, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_directory_read(cx, &file, &r, sizeof r, &n), ASX_E_NOT_FOUND);
    CHECK(!asx_directory_next(NULL, 9, &at, &entry));
    CHECK(!asx_directory_next(&r, 1, &at, &entry));
    CHECK(!asx_directory_next(&r, sizeof r, &at, NULL));
    CHECK_EQ(asx_file_close(cx, &none), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_file_close(cx, &file), ASX_OK);
    CHECK_EQ(asx_reader_init(&no_reader, s, NULL, 0), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_reader_copy(cx, &no_reader, s, 1, &sent), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_reader_init(&r, s, &byte, 1), ASX_OK);
    CHECK_EQ(asx_reader_copy(cx, &r, s, 1, &too_far), ASX_E_INVALID_ARGUMENT);
}

static void misuse_process(asx_cx *cx)
{
    static const int none[] = { 0 }, killing[] = { SIGKILL };
    static const char *const argv[] = { "true", NULL }, *const empty[] = { NULL };
    asx_signals signals, no_signals = { NULL, 0 };
    asx_signal_note note;
    asx_child child, no_child = { NULL, 0 };
    asx_child_end end;
    int32_t pid;
    asx_child_options pipes = { .input = ASX_CHILD_PIPE }, odd = { .input = ASX_CHILD_OUTPUT };
    CHECK_EQ(asx_signals_open(cx, NULL, none, 1, &signals), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_signals_open(cx, NULL, killing, 1, &signals), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_signals_open(cx, NULL, killing, 0, &signals), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_signals_wait(cx, &no_signals, &note), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_signals_close(cx, &no_signals), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_child_start(cx, NULL, NULL, NULL, &child, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_child_start(cx, NULL, empty, NULL, &child, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_child_start(cx, NULL, argv, NULL, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_child_start(cx, NULL, argv, &pipes, &child, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_child_start(cx, NULL, argv, &odd, &child, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_child_start(cx, NULL, argv, NULL, &child, NULL), ASX_OK);
    CHECK_EQ(asx_child_wait(cx, &child, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_child_wait(cx, &no_child, &end), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_child_signal(cx, &child, 0), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_child_signal(cx, &no_child, SIGTERM), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_child_pid(cx, &no_child, &pid), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_child_close(cx, &no_child), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_child_close(cx, &child), ASX_OK);
}

static void misuse_passing(asx_cx *cx, const asx_stream *s)
{
    asx_listener listener;
    asx_stream none = { NULL, 0 };
    int fd;
    CHECK_EQ(asx_listener_adopt(cx, NULL, -1, NULL, &listener), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_listener_adopt(cx, NULL, dup(0), NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_listener_passed(cx, NULL, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_send_descriptor(cx, s, -1), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_send_descriptor(cx, &none, 0), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_receive_descriptor(cx, s, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_receive_descriptor(cx, &none, &fd), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(fd, -1);
}

static void misuse_dns(asx_cx *cx)
{
    asx_address found;
    asx_stream stream;
    asx_dns_options odd = { .family = (asx_dns_family)5 };
    char longest[300];
    size_t n;
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK_EQ(asx_dns_lookup(cx, NULL, 1, NULL, &found, 1, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_dns_lookup(cx, "", 1, NULL, &found, 1, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_dns_lookup(cx, longest, 1, NULL, &found, 1, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_dns_lookup(cx, "x", 1, &odd, &found, 1, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_dns_lookup(cx, "x", 1, NULL, &found, 0, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_dns_lookup(cx, "x", 1, NULL, &found, 1, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_connect_name(cx, NULL, NULL, 1, NULL, &stream), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_connect_name(cx, NULL, "x", 1, NULL, NULL), ASX_E_INVALID_ARGUMENT);
}

static asx_status misuse(asx_cx *cx, void *arg)
{
    asx_stream pair[2], reader, writer;
    asx_stream_tuning tuning = ASX_STREAM_TUNING;
    asx_address local, peer;
    asx_cx narrow, forged = *cx;
    char b;
    size_t n;
    (void)arg;
    CHECK_EQ(asx_stream_pair(cx, NULL, &pair[0], &pair[1]), ASX_OK);
    misuse_stream(cx, &pair[0]);
    misuse_layer(cx, &pair[0]);
    misuse_net(cx, &pair[0]);
    misuse_buffer(cx, &pair[0]);
    misuse_udp(cx);
    misuse_process(cx);
    misuse_dns(cx);
    misuse_passing(cx, &pair[0]);
    misuse_file(cx, &pair[0]);
    CHECK_EQ(asx_pipe_open(cx, NULL, &reader, &writer), ASX_OK);
    CHECK_EQ(asx_stream_shutdown(cx, &writer), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_stream_tune(cx, &writer, &tuning), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_stream_addresses(cx, &writer, &local, &peer), ASX_E_NOT_SUPPORTED);
    forged.task_ = NULL;
    CHECK_EQ(asx_stream_read(&forged, &pair[0], &b, 1, &n), ASX_E_WRONG_CONTEXT);
    CHECK_EQ(asx_cx_narrow(cx, ASX_CAP_ALL & ~(uint32_t)ASX_CAP_IO, &narrow), ASX_OK);
    CHECK_EQ(asx_stream_read(&narrow, &pair[0], &b, 1, &n), ASX_E_CAPABILITY);
    CHECK_EQ(asx_pipe_open(&narrow, NULL, &reader, &writer), ASX_E_CAPABILITY);
    CHECK_EQ(asx_stream_close(&narrow, &pair[0]), ASX_OK);
    CHECK_EQ(asx_stream_close(cx, &pair[0]), ASX_E_STALE_HANDLE);
    CHECK_EQ(asx_stream_read(cx, &pair[0], &b, 1, &n), ASX_E_STALE_HANDLE);
    return ASX_OK;
}

ASX_TEST(wrong_uses_get_a_status_and_change_nothing)
{
    asx_runtime *rt;
    asx_io_stats io;
    CHECK_EQ(asx_runtime_io_stats(NULL, &io), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_io_stats(rt, &io), ASX_OK);
    CHECK_STR_EQ(io.back_end, "");
    CHECK_EQ(asx_runtime_run(rt, misuse, NULL), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

static asx_status has_no_io(asx_cx *cx, void *arg)
{
    asx_address at;
    asx_listener listener;
    asx_stream one, other;
    (void)arg;
    CHECK_EQ(asx_address_ip("127.0.0.1", 0, &at), ASX_OK);
    CHECK_EQ(asx_listen(cx, NULL, &at, NULL, &listener), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_pipe_open(cx, NULL, &one, &other), ASX_E_NOT_SUPPORTED);
    return ASX_OK;
}

ASX_TEST(a_runtime_of_virtual_time_has_no_io)
{
    asx_runtime *rt;
    CHECK_EQ(asx_runtime_create(&(asx_runtime_config){ .clock = ASX_CLOCK_VIRTUAL }, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, has_no_io, NULL), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}
