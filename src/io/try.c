/* try.c - system calls that never wait, and are safe in somebody's process: no SIGPIPE, no flags of
 * descriptors that belong to others.
 */
#include "io/io.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* So much can be written to a pipe that poll() calls writable without waiting. */
#define PIPE_SURE ((size_t)4096)

static int64_t answer(ssize_t n)
{
    if (n >= 0)
        return n;
    return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

/* Which of these events are there? 0: none. */
static short look(int fd, short events)
{
    struct pollfd at = { .fd = fd, .events = events };
    int n;
    do
        n = poll(&at, 1, 0);
    while (n < 0 && errno == EINTR);
    return n > 0 ? at.revents : 0;
}

static int64_t read_some(const asx__file *file, struct iovec *parts, unsigned count)
{
    ssize_t n;
    if (!file->is_socket && !file->nonblocking && look(file->fd, POLLIN) == 0)
        return -EAGAIN;
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };
    do {
        if (!file->is_socket)
            n = readv(file->fd, parts, (int)count);
        else if (count == 1)
            n = recv(file->fd, parts->iov_base, parts->iov_len, MSG_DONTWAIT);
        else
            n = recvmsg(file->fd, &message, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return answer(n);
}

/* A peer that reads no more sends SIGPIPE to the thread that writes: that would end the process. */
void asx__quiet_begin(asx__quiet *quiet)
{
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    (void)sigpending(&pending);
    quiet->was_pending = sigismember(&pending, SIGPIPE) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &pipe, &quiet->before);
}

void asx__quiet_end(const asx__quiet *quiet, bool perhaps_sent)
{
    int error = errno;
    sigset_t pipe;
    struct timespec now = { 0, 0 };
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (perhaps_sent && !quiet->was_pending && sigtimedwait(&pipe, NULL, &now) < 0 &&
           errno == EINTR)
        ;
    (void)pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
    errno = error;
}

static ssize_t write_quietly(int fd, const struct iovec *parts, int count)
{
    asx__quiet quiet;
    asx__quiet_begin(&quiet);
    ssize_t n = writev(fd, parts, count);
    asx__quiet_end(&quiet, n < 0 && errno == EPIPE);
    return n;
}

static int64_t write_some(const asx__file *file, struct iovec *parts, unsigned count)
{
    ssize_t n;
    struct iovec first = parts[0];
    if (!file->is_socket && !file->nonblocking) {
        if (look(file->fd, POLLOUT) == 0)
            return -EAGAIN;
        if (first.iov_len > PIPE_SURE)
            first.iov_len = PIPE_SURE;
        parts = &first;
        count = 1;
    }
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };
    do {
        if (!file->is_socket)
            n = write_quietly(file->fd, parts, (int)count);
        else if (count == 1)
            n = send(file->fd, parts->iov_base, parts->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
        else
            n = sendmsg(file->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return answer(n);
}

static int64_t accept_one(const asx__file *file)
{
    int fd, flags = SOCK_CLOEXEC | (asx__io_nonblocking(file->io) ? SOCK_NONBLOCK : 0);
    if (!file->nonblocking && look(file->fd, POLLIN) == 0)
        return -EAGAIN;
    do /* a connection that was reset while it waited is none */
        fd = accept4(file->fd, NULL, NULL, flags);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    return answer(fd);
}

/* How the connection that is being made stands. */
static int64_t connect_outcome(const asx__file *file)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (look(file->fd, POLLOUT) == 0)
        return -EAGAIN;
    if (getsockopt(file->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        return -errno;
    return -error;
}

static int64_t ready(const asx__file *file, unsigned directions)
{
    short events = 0;
    if (directions & 1u << ASX__INWARD)
        events |= POLLIN | POLLRDHUP;
    if (directions & 1u << ASX__OUTWARD)
        events |= POLLOUT;
    short there = look(file->fd, events);
    unsigned found = 0;
    if (there & (POLLIN | POLLRDHUP | POLLHUP | POLLERR))
        found |= 1u << ASX__INWARD;
    if (there & (POLLOUT | POLLHUP | POLLERR))
        found |= 1u << ASX__OUTWARD;
    found &= directions;
    return found != 0 ? (int64_t)found : -EAGAIN;
}

static int64_t move_message(const asx__file *file, const asx__request *request)
{
    /* MSG_TRUNC: the size that the datagram had */
    int flags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
    flags |= file->sort == ASX__FILE_DATAGRAM ? MSG_TRUNC : 0;
    ssize_t n;
    do
        n = request->kind == ASX__IO_READ
                ? recvmsg(file->fd, request->message, flags)
                : sendmsg(file->fd, request->message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return answer(n);
}

int64_t asx__try(const asx__file *file, const asx__request *request)
{
    if (request->message != NULL)
        return move_message(file, request);
    switch (request->kind) {
    case ASX__IO_READ:
        return read_some(file, request->parts, request->count);
    case ASX__IO_WRITE:
        return write_some(file, request->parts, request->count);
    case ASX__IO_ACCEPT:
        return accept_one(file);
    case ASX__IO_CONNECT:
        return connect_outcome(file);
    default:
        return ready(file, request->directions);
    }
}
