#include "io/support_io.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

unsigned io_descriptors(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir != NULL);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

void io_run(asx_task_fn fn, void *arg, asx_status wanted)
{
    unsigned before = io_descriptors();
    asx_runtime *rt;
    asx_io_stats io;
    CHECK_EQ(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, fn, arg), wanted);
    CHECK_EQ(asx_runtime_io_stats(rt, &io), ASX_OK);
    CHECK_EQ(io.open, 0u);
    CHECK_EQ(io.closing, 0u);
    CHECK_EQ(io.in_flight, 0u);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(io_descriptors(), before);
}

void io_listen(asx_cx *cx, const asx_region *region, asx_listener *ret_listener,
               asx_address *ret_address)
{
    asx_address any;
    CHECK_EQ(asx_address_ip("127.0.0.1", 0, &any), ASX_OK);
    CHECK_STATUS(asx_listen(cx, region, &any, NULL, ret_listener), ASX_OK);
    CHECK_EQ(asx_listener_address(cx, ret_listener, ret_address), ASX_OK);
    CHECK_NE(asx_address_port(ret_address), 0);
}

void io_connected(asx_cx *cx, const asx_region *region, asx_stream *ret_client,
                  asx_stream *ret_server)
{
    asx_listener listener;
    asx_address at;
    io_listen(cx, region, &listener, &at);
    CHECK_STATUS(asx_connect(cx, region, &at, NULL, ret_client), ASX_OK);
    CHECK_STATUS(asx_listener_accept(cx, &listener, region, ret_server), ASX_OK);
    CHECK_EQ(asx_listener_close(cx, &listener), ASX_OK);
}

void io_fill(asx_cx *cx, const asx_stream *stream)
{
    static char zeros[65536];
    int fd, kind;
    socklen_t size = sizeof kind;
    CHECK_EQ(asx_stream_descriptor(cx, stream, &fd), ASX_OK);
    bool is_socket = getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) == 0;
    for (unsigned misses = 0; misses < 3;) { /* what is on its way makes room again */
        ssize_t n = is_socket ? send(fd, zeros, sizeof zeros, MSG_DONTWAIT | MSG_NOSIGNAL)
                              : write(fd, zeros, sizeof zeros);
        misses = n < 0 ? misses + 1 : 0;
        if (n < 0)
            usleep(2000);
    }
}

uint64_t io_cpu_us(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}
