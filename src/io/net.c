/* net.c - listeners and connections: TCP and Unix sockets. */
#include "io/net.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a call begins with. */
static asx_status enter(const asx_cx *cx, const asx_region *region, asx__task **ret_task,
                        asx_runtime **ret_rt, asx__region **ret_home)
{
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, ret_task, ret_rt);
    return st < 0 ? st : asx__io_region(*ret_rt, region, ret_home);
}

static int new_socket(const struct sockaddr_storage *name)
{
    return socket(name->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static bool set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

/* ---- listening ------------------------------------------------------------------------------ */

/* A path whose listener is gone: nobody answers there. */
static bool is_left_over(const struct sockaddr_storage *name, socklen_t size)
{
    const struct sockaddr_un *path = (const void *)name;
    struct stat about;
    if (path->sun_path[0] == '\0' || lstat(path->sun_path, &about) < 0 || !S_ISSOCK(about.st_mode))
        return false;
    int fd = new_socket(name);
    bool refused = fd >= 0 && connect(fd, (const void *)name, size) < 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        (void)close(fd);
    return refused;
}

static int bind_path(int fd, const struct sockaddr_storage *name, socklen_t size, uint32_t mode)
{
    const struct sockaddr_un *path = (const void *)name;
    int rc = bind(fd, (const void *)name, size);
    if (rc < 0 && errno == EADDRINUSE && is_left_over(name, size)) {
        (void)unlink(path->sun_path);
        rc = bind(fd, (const void *)name, size);
    }
    if (rc == 0 && mode != 0 && path->sun_path[0] != '\0' && chmod(path->sun_path, mode) < 0) {
        int error = errno;
        (void)unlink(path->sun_path);
        errno = error;
        return -1;
    }
    return rc;
}

/* 0, or -1 and errno. */
static int begin_listening(int fd, const struct sockaddr_storage *name, socklen_t size,
                           const asx_listen_options *options)
{
    int backlog = options->backlog == 0 || options->backlog > SOMAXCONN ? SOMAXCONN
                                                                        : (int)options->backlog;
    int rc;
    if (name->ss_family == AF_UNIX) {
        rc = bind_path(fd, name, size, options->mode);
    } else {
        (void)set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
        if (options->port_shared && !set(fd, SOL_SOCKET, SO_REUSEPORT, 1))
            return -1;
        if (name->ss_family == AF_INET6 && !set(fd, IPPROTO_IPV6, IPV6_V6ONLY, options->v6_only))
            return -1;
        rc = bind(fd, (const void *)name, size);
    }
    return rc < 0 ? rc : listen(fd, backlog);
}

/* NULL with *ret_ok false: no memory for a copy. */
static char *path_to_remove(asx_runtime *rt, const struct sockaddr_storage *name,
                            const asx_listen_options *options, bool *ret_ok)
{
    const struct sockaddr_un *un = (const void *)name;
    *ret_ok = true;
    if (name->ss_family != AF_UNIX || un->sun_path[0] == '\0' || options->path_kept)
        return NULL;
    size_t size = strlen(un->sun_path) + 1;
    char *path = asx__mem_alloc(rt, size);
    *ret_ok = path != NULL;
    if (path != NULL)
        memcpy(path, un->sun_path, size);
    return path;
}

static asx_status listen_at(asx_runtime *rt, asx__region *home, const asx_address *address,
                            const asx_listen_options *options, asx_listener *ret_listener)
{
    static const asx_listen_options none;
    struct sockaddr_storage name;
    socklen_t size;
    asx__io *io;
    asx__file *file;
    bool ok;
    if (options == NULL)
        options = &none;
    asx_status st = asx__address_get(address, &name, &size);
    if (st == ASX_OK)
        st = asx__io_of(rt, &io);
    if (st < 0)
        return st;
    int fd = new_socket(&name);
    if (fd < 0)
        return asx__io_status(errno);
    if (begin_listening(fd, &name, size, options) < 0) {
        st = asx__io_status(errno);
        (void)close(fd);
        return st;
    }
    char *path = path_to_remove(rt, &name, options, &ok);
    st = asx__file_make(io, home, ASX__FILE_LISTENER, fd, options->name, &file);
    if (st < 0) {
        if (path != NULL)
            asx__mem_free(rt, path, strlen(path) + 1);
        return st;
    }
    file->is_socket = file->nonblocking = true;
    file->path = path;
    *ret_listener = (asx_listener){ file, asx__file_generation(file) };
    if (ok)
        return ASX_OK;
    asx__file_close(io, file);
    return ASX_E_RESOURCE_EXHAUSTED;
}

asx_status asx_listen(asx_cx *cx, const asx_region *region, const asx_address *address,
                      const asx_listen_options *options, asx_listener *ret_listener)
{
    ASX__GATE_CX(cx, asx_listen(&in, region, address, options, ret_listener));
    asx__task *task;
    asx_runtime *rt;
    asx__region *home;
    if (ret_listener == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_listener = (asx_listener){ NULL, 0 };
    asx_status st = enter(cx, region, &task, &rt, &home);
    return st < 0 ? st : listen_at(rt, home, address, options, ret_listener);
}

static asx_status find_listener(const asx_cx *cx, const asx_listener *listener, uint32_t caps,
                                asx__task **ret_task, asx__file **ret_file)
{
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, caps, ret_task, &rt);
    if (st < 0)
        return st;
    if (listener == NULL)
        return ASX_E_INVALID_ARGUMENT;
    return asx__file_find(rt, listener->file_, listener->generation_, ASX__FILE_LISTENER,
                          ret_file);
}

asx_status asx_listener_address(asx_cx *cx, const asx_listener *listener,
                                asx_address *ret_address)
{
    ASX__GATE_CX(cx, asx_listener_address(&in, listener, ret_address));
    asx__task *task;
    asx__file *file;
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    if (ret_address == NULL)
        return ASX_E_INVALID_ARGUMENT;
    memset(ret_address, 0, sizeof *ret_address);
    asx_status st = find_listener(cx, listener, 0, &task, &file);
    if (st < 0)
        return st;
    if (getsockname(file->fd, (void *)&name, &size) < 0)
        return asx__io_status(errno);
    asx__address_set(&name, size, ret_address);
    return ASX_OK;
}

asx_status asx_listener_close(asx_cx *cx, const asx_listener *listener)
{
    ASX__GATE_CX(cx, asx_listener_close(&in, listener));
    asx__task *task;
    asx__file *file;
    asx_status st = find_listener(cx, listener, 0, &task, &file);
    return st < 0 ? st : asx__file_close_for(file->io->rt, task, file);
}

/* ---- accepting ------------------------------------------------------------------------------ */

/* A stream of a connected socket, which it owns also on failure. */
static asx_status make_stream(asx__io *io, asx__region *home, int fd, bool delay, const char *name,
                              asx_stream *ret_stream)
{
    asx__file *file;
    asx_status st = asx__file_make(io, home, ASX__FILE_STREAM, fd, name, &file);
    if (st < 0)
        return st;
    if (!delay)
        (void)set(fd, IPPROTO_TCP, TCP_NODELAY, 1); /* a Unix socket says no, which is as well */
    file->is_socket = true;
    file->nonblocking = asx__io_nonblocking(io);
    *ret_stream = (asx_stream){ file, asx__file_generation(file) };
    return ASX_OK;
}

/* The region may have ended while the task waited: then the connection has come too late. */
static asx_status hand_over(asx_runtime *rt, const asx_region *region, asx__io *io, int fd,
                            asx_stream *ret_stream)
{
    asx__region *home;
    asx_status st = asx__io_region(rt, region, &home);
    if (st == ASX_OK)
        return make_stream(io, home, fd, false, NULL, ret_stream);
    (void)close(fd);
    io->undone++;
    return st;
}

static asx_status accept_for(asx_runtime *rt, asx__task *task, asx__file *file,
                             const asx_region *region, asx_stream *ret_stream)
{
    asx__request request = { .kind = ASX__IO_ACCEPT, .directions = 1u << ASX__INWARD };
    asx__io *io = file->io;
    int64_t result;
    asx_status st = asx__io_do(rt, task, file, asx__file_generation(file), &request, &result);
    if (st < 0)
        return st;
    if (result < 0)
        return asx__io_status((int)-result);
    return hand_over(rt, region, io, (int)result, ret_stream);
}

asx_status asx_listener_accept(asx_cx *cx, const asx_listener *listener, const asx_region *region,
                               asx_stream *ret_stream)
{
    ASX__GATE_CX(cx, asx_listener_accept(&in, listener, region, ret_stream));
    asx__task *task;
    asx__file *file;
    asx__region *home;
    if (ret_stream == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_stream = (asx_stream){ NULL, 0 };
    asx_status st = find_listener(cx, listener, ASX_CAP_IO, &task, &file);
    if (st == ASX_OK)
        st = asx__io_region(cx->rt_, region, &home);
    return st < 0 ? st : accept_for(cx->rt_, task, file, region, ret_stream);
}

/* ---- connecting ----------------------------------------------------------------------------- */

static asx_status connect_status(int error)
{
    switch (error) {
    case ENOENT:
        return ASX_E_REFUSED; /* nobody has made that path */
    case EAGAIN: /* of a Unix socket: nothing will tell when there is room */
        return ASX_E_FULL;
    case ETIMEDOUT:
        return ASX_E_UNREACHABLE;
    default:
        return asx__io_status(error);
    }
}

/* Begins. 0: it is connected; else errno, EINPROGRESS among them. */
static int begin(int fd, const struct sockaddr_storage *name, socklen_t size,
                 const asx_connect_options *options)
{
    struct sockaddr_storage from;
    socklen_t from_size;
    if (options->from != NULL) {
        if (asx__address_get(options->from, &from, &from_size) < 0)
            return EADDRNOTAVAIL;
        (void)set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
        if (bind(fd, (const void *)&from, from_size) < 0)
            return errno;
    }
    if (connect(fd, (const void *)name, size) == 0)
        return 0;
    return errno == EINTR ? EINPROGRESS : errno; /* it goes on all the same */
}

/* It was made without waiting; from now on it is as the back end wants it. */
static void connected(asx__file *file)
{
    file->connecting = false;
    file->nonblocking = asx__io_nonblocking(file->io) || fcntl(file->fd, F_SETFL, 0) < 0;
}

/* The connection is being made: waits for how that ends. A stream that is not made is closed. */
static asx_status finish(asx_runtime *rt, asx__task *task, asx_stream *stream)
{
    asx__request request = { .kind = ASX__IO_CONNECT, .directions = 1u << ASX__OUTWARD };
    asx__file *file = stream->file_;
    int64_t result;
    asx_status st = asx__io_do(rt, task, file, stream->generation_, &request, &result);
    if (st == ASX_E_WOULD_BLOCK || st == ASX_E_BUSY)
        return st;
    if (st == ASX_OK && result < 0)
        st = connect_status((int)-result);
    if (asx__file_generation(file) == stream->generation_) {
        if (st == ASX_OK)
            connected(file);
        else
            asx__file_close(file->io, file);
    }
    if (st < 0)
        *stream = (asx_stream){ NULL, 0 };
    return st;
}

static asx_status connect_to(asx_runtime *rt, asx__task *task, asx__region *home,
                             const asx_address *address, const asx_connect_options *options,
                             asx_stream *ret_stream)
{
    struct sockaddr_storage name;
    socklen_t size;
    asx__io *io;
    asx_status st = asx__address_get(address, &name, &size);
    if (st == ASX_OK)
        st = asx__checkpoint(rt, task);
    if (st == ASX_OK)
        st = asx__io_of(rt, &io);
    if (st < 0)
        return st;
    int fd = new_socket(&name);
    if (fd < 0)
        return asx__io_status(errno);
    int error = begin(fd, &name, size, options);
    if (error != 0 && error != EINPROGRESS) {
        (void)close(fd);
        return connect_status(error);
    }
    st = make_stream(io, home, fd, options->delay, options->name, ret_stream);
    if (st < 0)
        return st;
    asx__file *file = ret_stream->file_;
    file->connecting = file->nonblocking = true;
    if (error != 0)
        return finish(rt, task, ret_stream);
    connected(file);
    return ASX_OK;
}

asx_status asx_connect(asx_cx *cx, const asx_region *region, const asx_address *address,
                       const asx_connect_options *options, asx_stream *ret_stream)
{
    ASX__GATE_CX(cx, asx_connect(&in, region, address, options, ret_stream));
    static const asx_connect_options none;
    asx__task *task;
    asx_runtime *rt;
    asx__region *home;
    asx__file *file;
    if (ret_stream == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_stream begun = *ret_stream;
    *ret_stream = (asx_stream){ NULL, 0 };
    asx_status st = enter(cx, region, &task, &rt, &home);
    if (st < 0)
        return st;
    if ((task->flags & ASX__T_POLL) != 0 && begun.file_ != NULL &&
        asx__file_find(rt, begun.file_, begun.generation_, ASX__FILE_STREAM, &file) == ASX_OK &&
        file->connecting) {
        *ret_stream = begun;
        return finish(rt, task, ret_stream);
    }
    return connect_to(rt, task, home, address, options != NULL ? options : &none, ret_stream);
}

asx_status asx_stream_pair(asx_cx *cx, const asx_region *region, asx_stream *ret_one,
                           asx_stream *ret_other)
{
    ASX__GATE_CX(cx, asx_stream_pair(&in, region, ret_one, ret_other));
    asx__task *task;
    asx_runtime *rt;
    asx__region *home;
    int fds[2];
    if (ret_one == NULL || ret_other == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_one = *ret_other = (asx_stream){ NULL, 0 };
    asx_status st = enter(cx, region, &task, &rt, &home);
    if (st < 0)
        return st;
    asx__io *io;
    st = asx__io_of(rt, &io);
    if (st < 0)
        return st;
    bool nonblocking = asx__io_nonblocking(io);
    int type = SOCK_STREAM | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0);
    if (socketpair(AF_UNIX, type, 0, fds) < 0)
        return asx__io_status(errno);
    asx__file like = { .is_socket = true, .nonblocking = nonblocking, .inward = true,
                       .outward = true };
    asx__file both[2] = { like, like };
    return asx__stream_two(rt, home, fds, both, ret_one, ret_other);
}

/* ---- asking and tuning ---------------------------------------------------------------------- */

static asx_status find_socket(const asx_cx *cx, const asx_stream *stream, asx__file **ret_file)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, &task, &rt);
    if (st < 0)
        return st;
    if (stream == NULL)
        return ASX_E_INVALID_ARGUMENT;
    st = asx__file_find(rt, stream->file_, stream->generation_, ASX__FILE_STREAM, ret_file);
    if (st < 0)
        return st;
    return (*ret_file)->is_socket ? ASX_OK : ASX_E_NOT_SUPPORTED;
}

asx_status asx_stream_addresses(asx_cx *cx, const asx_stream *stream, asx_address *ret_local,
                                asx_address *ret_peer)
{
    ASX__GATE_CX(cx, asx_stream_addresses(&in, stream, ret_local, ret_peer));
    asx__file *file;
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    if (ret_local == NULL || ret_peer == NULL)
        return ASX_E_INVALID_ARGUMENT;
    memset(ret_local, 0, sizeof *ret_local);
    memset(ret_peer, 0, sizeof *ret_peer);
    asx_status st = find_socket(cx, stream, &file);
    if (st < 0)
        return st;
    if (getsockname(file->fd, (void *)&name, &size) < 0)
        return asx__io_status(errno);
    asx__address_set(&name, size, ret_local);
    size = sizeof name;
    if (getpeername(file->fd, (void *)&name, &size) < 0)
        return asx__io_status(errno);
    asx__address_set(&name, size, ret_peer);
    return ASX_OK;
}

static bool tune(int fd, const asx_stream_tuning *t)
{
    struct linger reset = { .l_onoff = t->reset_on_close > 0, .l_linger = 0 };
    return (t->no_delay < 0 || set(fd, IPPROTO_TCP, TCP_NODELAY, t->no_delay)) &&
           (t->keep_alive_s < 0 || set(fd, SOL_SOCKET, SO_KEEPALIVE, t->keep_alive_s != 0)) &&
           (t->keep_alive_s <= 0 || (set(fd, IPPROTO_TCP, TCP_KEEPIDLE, t->keep_alive_s) &&
                                     set(fd, IPPROTO_TCP, TCP_KEEPINTVL, t->keep_alive_s))) &&
           (t->send_buffer < 0 || set(fd, SOL_SOCKET, SO_SNDBUF, t->send_buffer)) &&
           (t->receive_buffer < 0 || set(fd, SOL_SOCKET, SO_RCVBUF, t->receive_buffer)) &&
           (t->reset_on_close < 0 ||
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
}

asx_status asx_stream_tune(asx_cx *cx, const asx_stream *stream, const asx_stream_tuning *tuning)
{
    ASX__GATE_CX(cx, asx_stream_tune(&in, stream, tuning));
    asx__file *file;
    asx_status st = find_socket(cx, stream, &file);
    if (st < 0)
        return st;
    if (tuning == NULL)
        return ASX_E_INVALID_ARGUMENT;
    return tune(file->fd, tuning) ? ASX_OK : asx__io_status(errno);
}
