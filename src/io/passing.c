/* passing.c - descriptors from elsewhere: a service manager's, and what a Unix socket brings. */
#include "io/net.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- listeners ------------------------------------------------------------------------------ */

static bool listens(int fd)
{
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0;
}

static asx_status adopt(asx_cx *cx, const asx_region *region, int fd, const char *name,
                        asx_listener *ret_listener)
{
    asx__task *task;
    asx_runtime *rt;
    asx__region *home;
    asx__io *io;
    asx__file *file;
    int flags = fcntl(fd, F_GETFL);
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, &task, &rt);
    if (st == ASX_OK)
        st = asx__io_region(rt, region, &home);
    if (st == ASX_OK && (flags < 0 || !listens(fd)))
        st = ASX_E_INVALID_ARGUMENT;
    if (st == ASX_OK)
        st = asx__io_of(rt, &io);
    if (st < 0) {
        (void)close(fd);
        return st;
    }
    st = asx__file_make(io, home, ASX__FILE_LISTENER, fd, name, &file);
    if (st < 0)
        return st;
    file->is_socket = true;
    file->nonblocking = (flags & O_NONBLOCK) != 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
    *ret_listener = (asx_listener){ file, asx__file_generation(file) };
    return ASX_OK;
}

asx_status asx_listener_adopt(asx_cx *cx, const asx_region *region, int fd,
                              const asx_listen_options *options, asx_listener *ret_listener)
{
    ASX__GATE_CX(cx, asx_listener_adopt(&in, region, fd, options, ret_listener));
    if (ret_listener == NULL || fd < 0) {
        if (fd >= 0)
            (void)close(fd);
        return ASX_E_INVALID_ARGUMENT;
    }
    *ret_listener = (asx_listener){ NULL, 0 };
    return adopt(cx, region, fd, options != NULL ? options->name : NULL, ret_listener);
}

/* ---- what a service manager has passed ------------------------------------------------------ */

#define FIRST 3 /* the protocol says so */
#define MOST 256

/* Of the process: there is one environment. L: under the lock. */
static struct passed {
    pthread_mutex_t lock;
    bool looked;          /* L */
    int count;            /* L */
    bool taken[MOST];     /* L */
    char *names;          /* L: with colons; never freed, it names listeners */
} passed = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int number_in(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    if (text == NULL || *text == '\0')
        return -1;
    long number = strtol(text, &end, 10);
    return *end == '\0' && number >= 0 && number <= INT32_MAX ? (int)number : -1;
}

/* Once per process: other programs that this one starts must not take them for theirs. */
static void look(void)
{
    int count = number_in("LISTEN_FDS");
    if (passed.looked)
        return;
    passed.looked = true;
    if (number_in("LISTEN_PID") == getpid() && count > 0) {
        const char *names = getenv("LISTEN_FDNAMES");
        passed.count = count < MOST ? count : MOST;
        passed.names = names != NULL ? strdup(names) : NULL;
        for (int i = 0; i < passed.count; i++)
            (void)fcntl(FIRST + i, F_SETFD, FD_CLOEXEC);
    }
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDNAMES");
}

/* Is the n-th called so? */
static bool is_called(int n, const char *name)
{
    const char *at = passed.names;
    for (; at != NULL && n > 0; n--) {
        at = strchr(at, ':');
        at = at != NULL ? at + 1 : NULL;
    }
    if (at == NULL)
        return strcmp(name, "unknown") == 0; /* what the manager calls one without a name */
    size_t len = strcspn(at, ":");
    return strlen(name) == len && memcmp(at, name, len) == 0;
}

/* -1: none. */
static int take(const char *name)
{
    int fd = -1;
    pthread_mutex_lock(&passed.lock);
    look();
    for (int i = 0; i < passed.count && fd < 0; i++) {
        if (passed.taken[i] || (name != NULL && !is_called(i, name)))
            continue;
        passed.taken[i] = true;
        fd = FIRST + i;
    }
    pthread_mutex_unlock(&passed.lock);
    return fd;
}

asx_status asx_listener_passed(asx_cx *cx, const asx_region *region, const char *name,
                               asx_listener *ret_listener)
{
    ASX__GATE_CX(cx, asx_listener_passed(&in, region, name, ret_listener));
    asx__task *task;
    asx_runtime *rt;
    asx__region *home;
    if (ret_listener == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_listener = (asx_listener){ NULL, 0 };
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, &task, &rt);
    if (st == ASX_OK)
        st = asx__io_region(rt, region, &home);
    if (st < 0)
        return st;
    int fd = take(name);
    return fd < 0 ? ASX_E_NOT_FOUND : adopt(cx, region, fd, "passed", ret_listener);
}

/* ---- along a Unix socket -------------------------------------------------------------------- */

union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static asx_status find(const asx_cx *cx, const asx_stream *stream, asx__file **ret_file)
{
    asx__task *task;
    asx_runtime *rt;
    int family;
    socklen_t size = sizeof family;
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, &task, &rt);
    if (st < 0)
        return st;
    if (stream == NULL)
        return ASX_E_INVALID_ARGUMENT;
    st = asx__file_find(rt, stream->file_, stream->generation_, ASX__FILE_STREAM, ret_file);
    if (st < 0)
        return st;
    if (getsockopt((*ret_file)->fd, SOL_SOCKET, SO_DOMAIN, &family, &size) < 0 ||
        family != AF_UNIX)
        return ASX_E_NOT_SUPPORTED;
    return ASX_OK;
}

static asx_status move(const asx_cx *cx, asx__file *file, uint64_t generation, asx__io_kind kind,
                       struct msghdr *message, int64_t *ret_result)
{
    asx__request request = {
        .kind = kind,
        .directions = 1u << (kind == ASX__IO_READ ? ASX__INWARD : ASX__OUTWARD),
        .parts = message->msg_iov, .count = 1, .message = message,
    };
    asx_status st = asx__io_do(cx->rt_, cx->task_, file, generation, &request, ret_result);
    if (st == ASX_OK && *ret_result < 0)
        st = asx__io_status((int)-*ret_result);
    return st;
}

asx_status asx_stream_send_descriptor(asx_cx *cx, const asx_stream *stream, int fd)
{
    ASX__GATE_CX(cx, asx_stream_send_descriptor(&in, stream, fd));
    union control control = { .bytes = { 0 } };
    char byte = 0;
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                              .msg_controllen = sizeof control };
    asx__file *file;
    int64_t result;
    if (fd < 0)
        return ASX_E_INVALID_ARGUMENT;
    control.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
                                     .cmsg_len = CMSG_LEN(sizeof fd) };
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    asx_status st = find(cx, stream, &file);
    return st < 0 ? st : move(cx, file, stream->generation_, ASX__IO_WRITE, &message, &result);
}

asx_status asx_stream_receive_descriptor(asx_cx *cx, const asx_stream *stream, int *ret_descriptor)
{
    ASX__GATE_CX(cx, asx_stream_receive_descriptor(&in, stream, ret_descriptor));
    union control control = { .bytes = { 0 } };
    char byte;
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                              .msg_controllen = sizeof control };
    asx__file *file;
    int64_t result;
    if (ret_descriptor == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_descriptor = -1;
    asx_status st = find(cx, stream, &file);
    if (st == ASX_OK)
        st = move(cx, file, stream->generation_, ASX__IO_READ, &message, &result);
    if (st < 0)
        return st;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len >= CMSG_LEN(sizeof(int)))
        memcpy(ret_descriptor, CMSG_DATA(head), sizeof(int));
    return result == 0 ? ASX_E_END : ASX_OK;
}
