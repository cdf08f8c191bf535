/* test_passing.c - descriptors that come from elsewhere. */
#include "io/support_io.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- listeners ------------------------------------------------------------------------------ */

/* A socket that listens on the loopback; *ret_at says where. */
static int listening(asx_address *ret_at)
{
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof name;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(fd, (void *)&name, size), 0);
    CHECK_EQ(listen(fd, 8), 0);
    CHECK_EQ(getsockname(fd, (void *)&name, &size), 0);
    CHECK_EQ(asx_address_ip("127.0.0.1", ntohs(name.sin_port), ret_at), ASX_OK);
    return fd;
}

static void serves(asx_cx *cx, const asx_listener *listener, const asx_address *at)
{
    asx_stream one, other;
    char byte;
    size_t n;
    CHECK_STATUS(asx_connect(cx, NULL, at, NULL, &one), ASX_OK);
    CHECK_STATUS(asx_listener_accept(cx, listener, NULL, &other), ASX_OK);
    CHECK_EQ(asx_stream_write(cx, &one, "x", 1, &n), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &other, &byte, 1, &n), ASX_OK);
}

static asx_status adopts(asx_cx *cx, void *arg)
{
    asx_address at;
    asx_listener listener;
    int fd = listening(&at);
    (void)arg;
    CHECK_STATUS(asx_listener_adopt(cx, NULL, fd, NULL, &listener), ASX_OK);
    serves(cx, &listener, &at);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(asx_listener_adopt(cx, NULL, fd, NULL, &listener), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(fcntl(fd, F_GETFD), -1); /* it has been closed */
    return ASX_OK;
}

ASX_TEST(a_socket_that_listens_becomes_a_listener)
{
    io_run(adopts, NULL, ASX_OK);
}

static asx_status takes_what_was_passed(asx_cx *cx, void *arg)
{
    const asx_address *at = arg;
    asx_listener first, second, none;
    CHECK_EQ(asx_listener_passed(cx, NULL, "nothing", &none), ASX_E_NOT_FOUND);
    CHECK_STATUS(asx_listener_passed(cx, NULL, "admin", &second), ASX_OK);
    CHECK_EQ(asx_listener_passed(cx, NULL, "admin", &none), ASX_E_NOT_FOUND); /* once */
    CHECK_STATUS(asx_listener_passed(cx, NULL, NULL, &first), ASX_OK);
    CHECK_EQ(asx_listener_passed(cx, NULL, NULL, &none), ASX_E_NOT_FOUND);
    serves(cx, &first, &at[0]);
    serves(cx, &second, &at[1]);
    CHECK(getenv("LISTEN_FDS") == NULL && getenv("LISTEN_PID") == NULL);
    return ASX_OK;
}

/* As a service manager starts a program. */
static void pass(const char *pid, asx_task_fn fn)
{
    asx_address at[2];
    asx_runtime *rt;
    for (int i = 0; i < 2; i++) {
        int fd = listening(&at[i]);
        CHECK_EQ(dup2(fd, 3 + i), 3 + i);
        if (fd != 3 + i)
            close(fd);
    }
    CHECK_EQ(setenv("LISTEN_FDS", "2", 1), 0);
    CHECK_EQ(setenv("LISTEN_PID", pid, 1), 0);
    CHECK_EQ(setenv("LISTEN_FDNAMES", "web:admin", 1), 0);
    CHECK_EQ(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, fn, at), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(listeners_of_a_service_manager_are_had_by_name_and_in_turn)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    pass(pid, takes_what_was_passed);
}

static asx_status takes_nothing(asx_cx *cx, void *arg)
{
    asx_listener none;
    (void)arg;
    CHECK_EQ(asx_listener_passed(cx, NULL, NULL, &none), ASX_E_NOT_FOUND);
    return ASX_OK;
}

ASX_TEST(what_was_passed_to_another_process_is_not_taken)
{
    pass("1", takes_nothing);
}

/* ---- along a Unix socket -------------------------------------------------------------------- */

static asx_status receives(asx_cx *cx, void *arg)
{
    int fd;
    asx_stream stream;
    char heard[8];
    size_t n;
    CHECK_STATUS(asx_stream_receive_descriptor(cx, arg, &fd), ASX_OK);
    CHECK(fd >= 0);
    CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    CHECK_STATUS(asx_stream_adopt(cx, NULL, fd, NULL, &stream), ASX_OK);
    CHECK_STATUS(asx_stream_read(cx, &stream, heard, sizeof heard, &n), ASX_OK);
    CHECK_EQ(n, 4u);
    CHECK_MEM_EQ(heard, "pipe", 4);
    CHECK_STATUS(asx_stream_receive_descriptor(cx, arg, &fd), ASX_OK);
    CHECK_EQ(fd, -1); /* a byte and nothing with it */
    CHECK_STATUS(asx_stream_receive_descriptor(cx, arg, &fd), ASX_E_END);
    return ASX_OK;
}

static asx_status sends(asx_cx *cx, void *arg)
{
    asx_stream one, other, reader, writer;
    asx_region r;
    int fd;
    size_t n;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &r, &one, &other), ASX_OK);
    CHECK_EQ(asx_pipe_open(cx, &r, &reader, &writer), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "receives", receives, &other), ASX_OK);
    CHECK_EQ(asx_stream_descriptor(cx, &reader, &fd), ASX_OK);
    CHECK_STATUS(asx_stream_send_descriptor(cx, &one, fd), ASX_OK);
    CHECK_EQ(asx_stream_close(cx, &reader), ASX_OK); /* a copy is on its way */
    CHECK_EQ(asx_stream_write(cx, &writer, "pipe", 4, &n), ASX_OK);
    CHECK_EQ(asx_stream_write(cx, &one, "x", 1, &n), ASX_OK);
    CHECK_EQ(asx_stream_send_descriptor(cx, &writer, fd), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_stream_close(cx, &one), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_descriptor_goes_along_a_unix_socket)
{
    io_run(sends, NULL, ASX_OK);
}
