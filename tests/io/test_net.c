/* test_net.c - addresses, listeners, Unix sockets, what a host brings along. */
#include "io/support_io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- addresses ------------------------------------------------------------------------------ */

ASX_TEST(addresses_are_read_and_written_alike)
{
    asx_address a;
    char text[ASX_ADDRESS_TEXT_MAX];
    CHECK_EQ(asx_address_ip("192.0.2.7", 80, &a), ASX_OK);
    CHECK_STR_EQ(asx_address_text(&a, text, sizeof text), "192.0.2.7:80");
    CHECK_EQ(asx_address_port(&a), 80);
    CHECK_EQ(asx_address_ip("2001:db8::1", 443, &a), ASX_OK);
    CHECK_STR_EQ(asx_address_text(&a, text, sizeof text), "[2001:db8::1]:443");
    CHECK_EQ(asx_address_port(&a), 443);
    CHECK_EQ(asx_address_ip("*", 1, &a), ASX_OK);
    CHECK_STR_EQ(asx_address_text(&a, text, sizeof text), "[::]:1");
    CHECK_EQ(asx_address_unix("/run/x", &a), ASX_OK);
    CHECK_STR_EQ(asx_address_text(&a, text, sizeof text), "unix:/run/x");
    CHECK_EQ(asx_address_port(&a), 0);
    CHECK_EQ(asx_address_unix("@x", &a), ASX_OK);
    CHECK_STR_EQ(asx_address_text(&a, text, sizeof text), "unix:@x");
    CHECK_STR_EQ(asx_address_text(&a, text, 7), "unix:@");
}

ASX_TEST(what_is_no_address_names_nothing)
{
    static const char *const wrong[] = { "localhost", "1.2.3", "1.2.3.4.5", "::g", "1.2.3.4:80",
                                         "::1%", "::1%nosuchinterface" };
    asx_address a;
    char text[ASX_ADDRESS_TEXT_MAX], longest[300];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQ(asx_address_ip(wrong[i], 1, &a), ASX_E_INVALID_ARGUMENT);
        CHECK_STR_EQ(asx_address_text(&a, text, sizeof text), "");
        CHECK_EQ(asx_address_port(&a), 0);
    }
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK_EQ(asx_address_ip(longest, 1, &a), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_address_unix(longest, &a), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_address_unix("", &a), ASX_E_INVALID_ARGUMENT);
}

/* ---- Unix sockets --------------------------------------------------------------------------- */

static asx_status meets_at(asx_cx *cx, const asx_address *at, const asx_listen_options *options)
{
    asx_region r;
    asx_listener listener;
    asx_stream one, other;
    asx_address local, peer;
    char byte, text[ASX_ADDRESS_TEXT_MAX], wanted[ASX_ADDRESS_TEXT_MAX];
    size_t n;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_listen(cx, &r, at, options, &listener), ASX_OK);
    CHECK_STATUS(asx_connect(cx, &r, at, NULL, &one), ASX_OK);
    CHECK_STATUS(asx_listener_accept(cx, &listener, &r, &other), ASX_OK);
    CHECK_EQ(asx_stream_write(cx, &one, "x", 1, &n), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &other, &byte, 1, &n), ASX_OK);
    CHECK_EQ(byte, 'x');
    CHECK_EQ(asx_stream_addresses(cx, &one, &local, &peer), ASX_OK);
    CHECK_STR_EQ(asx_address_text(&peer, text, sizeof text),
                 asx_address_text(at, wanted, sizeof wanted));
    CHECK_EQ(asx_listen(cx, &r, at, options, &listener), ASX_E_ADDRESS); /* it is alive */
    return asx_region_close(&r, ASX_OK);
}

static asx_status at_paths(asx_cx *cx, void *arg)
{
    const char *path = arg;
    asx_address at;
    struct stat about;
    CHECK_EQ(asx_address_unix(path, &at), ASX_OK);
    CHECK_EQ(meets_at(cx, &at, NULL), ASX_OK);
    CHECK(lstat(path, &about) < 0); /* it has gone with the listener */
    asx_listen_options kept = { .path_kept = true, .mode = 0600, .backlog = 3, .name = "x" };
    CHECK_EQ(meets_at(cx, &at, &kept), ASX_OK);
    CHECK_EQ(lstat(path, &about), 0);
    CHECK_EQ(about.st_mode & 0777u, 0600u);
    CHECK_EQ(meets_at(cx, &at, NULL), ASX_OK); /* takes over what was left */
    CHECK(lstat(path, &about) < 0);
    CHECK_EQ(asx_address_unix("@asx-test-io-net", &at), ASX_OK);
    return meets_at(cx, &at, NULL);
}

ASX_TEST(unix_sockets_have_paths_and_leave_none_behind)
{
    char folder[] = "/tmp/asx-io-XXXXXX", path[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/socket", folder);
    io_run(at_paths, path, ASX_OK);
    CHECK_EQ(rmdir(folder), 0);
}

static asx_status keeps_files(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_listener listener;
    asx_address at;
    struct stat about;
    CHECK_EQ(asx_address_unix(arg, &at), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_listen(cx, &r, &at, NULL, &listener), ASX_E_ADDRESS);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(lstat(arg, &about), 0);
    return ASX_OK;
}

ASX_TEST(a_file_that_is_no_socket_is_not_taken_over)
{
    char path[] = "/tmp/asx-io-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    io_run(keeps_files, path, ASX_OK);
    CHECK_EQ(unlink(path), 0);
}

/* ---- adopted descriptors -------------------------------------------------------------------- */

static asx_status waits_in_vain(asx_cx *cx, void *arg)
{
    char byte;
    size_t n;
    asx_status st = asx_stream_read(cx, arg, &byte, 1, &n);
    CHECK_STATUS(st, ASX_E_CANCELLED);
    return st;
}

static asx_status adopts(asx_cx *cx, void *arg)
{
    int pipes[2], sockets[2];
    asx_stream in, out, a, b;
    char heard[8];
    size_t n, done = 0;
    (void)arg;
    CHECK_EQ(pipe(pipes), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    CHECK_EQ(asx_stream_adopt(cx, NULL, pipes[0], NULL, &in), ASX_OK);
    CHECK_EQ(asx_stream_adopt(cx, NULL, pipes[1], &(asx_stream_options){ .name = "out" }, &out),
             ASX_OK);
    CHECK_EQ(asx_stream_adopt(cx, NULL, sockets[0], NULL, &a), ASX_OK);
    CHECK_EQ(asx_stream_adopt(cx, NULL, sockets[1], NULL, &b), ASX_OK);
    CHECK_EQ(asx_stream_write_all(cx, &out, "abc", 3, &done), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &in, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(n, 3u);
    CHECK_EQ(asx_stream_write(cx, &a, "d", 1, &n), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &b, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(heard[0], 'd');
    asx_stream_details d;
    CHECK_EQ(asx_stream_info(cx, &out, &d), ASX_OK);
    CHECK_STR_EQ(d.name, "out");
    asx_region r; /* descriptors that would block make nobody wait but their task */
    CHECK_EQ(asx_region_open(cx, &(asx_region_options){ .timeout_ns = 10 * ASX_MS }, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "waits", waits_in_vain, &in), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "waits", waits_in_vain, &a), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_TIMEOUT);
    return ASX_OK;
}

ASX_TEST(descriptors_of_others_are_adopted_as_they_are)
{
    io_run(adopts, NULL, ASX_OK);
}

static asx_status refuses_files(asx_cx *cx, void *arg)
{
    asx_stream stream;
    unsigned before = io_descriptors();
    FILE *file = tmpfile();
    (void)arg;
    CHECK(file != NULL);
    CHECK_EQ(asx_stream_adopt(cx, NULL, dup(fileno(file)), NULL, &stream),
             ASX_E_INVALID_ARGUMENT);
    CHECK(stream.file_ == NULL);
    fclose(file);
    CHECK_EQ(io_descriptors(), before);
    return ASX_OK;
}

ASX_TEST(a_regular_file_is_no_stream)
{
    io_run(refuses_files, NULL, ASX_OK);
}
