/* udp.c - datagrams. Polled by both back ends: a ring saves nothing where one call moves one. */
#include "io/net.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

/* 0, or -1 and errno. */
static int prepare(int fd, const struct sockaddr_storage *name, socklen_t size,
                   const asx_udp_options *options)
{
    if ((options->port_shared && !set(fd, SOL_SOCKET, SO_REUSEPORT, 1)) ||
        (options->broadcast && !set(fd, SOL_SOCKET, SO_BROADCAST, 1)) ||
        (name->ss_family == AF_INET6 && !set(fd, IPPROTO_IPV6, IPV6_V6ONLY, options->v6_only)))
        return -1;
    return bind(fd, (const void *)name, size);
}

static asx_status open_at(asx_runtime *rt, asx__region *home, const asx_address *address,
                          const asx_udp_options *options, asx_udp *ret_udp)
{
    static const asx_udp_options none;
    struct sockaddr_storage name;
    socklen_t size;
    asx__io *io;
    asx__file *file;
    if (options == NULL)
        options = &none;
    asx_status st = asx__address_get(address, &name, &size);
    if (st == ASX_OK && name.ss_family == AF_UNIX)
        st = ASX_E_INVALID_ARGUMENT;
    if (st == ASX_OK)
        st = asx__io_of(rt, &io);
    if (st < 0)
        return st;
    int fd = socket(name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return asx__io_status(errno);
    if (prepare(fd, &name, size, options) < 0) {
        st = asx__io_status(errno);
        (void)close(fd);
        return st;
    }
    st = asx__file_make(io, home, ASX__FILE_DATAGRAM, fd, options->name, &file);
    if (st < 0)
        return st;
    file->is_socket = file->nonblocking = true;
    *ret_udp = (asx_udp){ file, asx__file_generation(file) };
    return ASX_OK;
}

asx_status asx_udp_open(asx_cx *cx, const asx_region *region, const asx_address *address,
                        const asx_udp_options *options, asx_udp *ret_udp)
{
    ASX__GATE_CX(cx, asx_udp_open(&in, region, address, options, ret_udp));
    asx__task *task;
    asx_runtime *rt;
    asx__region *home;
    if (ret_udp == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_udp = (asx_udp){ NULL, 0 };
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, &task, &rt);
    if (st == ASX_OK)
        st = asx__io_region(rt, region, &home);
    return st < 0 ? st : open_at(rt, home, address, options, ret_udp);
}

static asx_status find(const asx_cx *cx, const asx_udp *udp, uint32_t caps, asx__task **ret_task,
                       asx__file **ret_file)
{
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, caps, ret_task, &rt);
    if (st < 0)
        return st;
    if (udp == NULL)
        return ASX_E_INVALID_ARGUMENT;
    return asx__file_find(rt, udp->file_, udp->generation_, ASX__FILE_DATAGRAM, ret_file);
}

static asx_status move(asx__task *task, asx__file *file, uint64_t generation, asx__io_kind kind,
                       struct msghdr *message, int64_t *ret_result)
{
    asx__request request = {
        .kind = kind,
        .directions = 1u << (kind == ASX__IO_READ ? ASX__INWARD : ASX__OUTWARD),
        .parts = message->msg_iov, .count = 1, .message = message,
    };
    asx_status st = asx__io_do(file->io->rt, task, file, generation, &request, ret_result);
    if (st == ASX_OK && *ret_result < 0)
        st = asx__io_status((int)-*ret_result);
    return st;
}

asx_status asx_udp_receive(asx_cx *cx, const asx_udp *udp, void *buffer, size_t size,
                           size_t *ret_size, asx_address *ret_from)
{
    ASX__GATE_CX(cx, asx_udp_receive(&in, udp, buffer, size, ret_size, ret_from));
    asx__task *task;
    asx__file *file;
    struct sockaddr_storage name = { .ss_family = AF_UNSPEC };
    struct iovec part = { buffer, size };
    struct msghdr message = { .msg_name = &name, .msg_namelen = sizeof name, .msg_iov = &part,
                              .msg_iovlen = 1 };
    int64_t result;
    if (ret_size == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_size = 0;
    if (ret_from != NULL)
        memset(ret_from, 0, sizeof *ret_from);
    if (buffer == NULL || size == 0)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = find(cx, udp, ASX_CAP_IO, &task, &file);
    if (st == ASX_OK)
        st = move(task, file, udp->generation_, ASX__IO_READ, &message, &result);
    if (st < 0)
        return st;
    *ret_size = (size_t)result;
    if (ret_from != NULL)
        asx__address_set(&name, message.msg_namelen, ret_from);
    return *ret_size > size ? ASX_E_TOO_LONG : ASX_OK;
}

asx_status asx_udp_send(asx_cx *cx, const asx_udp *udp, const void *data, size_t size,
                        const asx_address *to)
{
    ASX__GATE_CX(cx, asx_udp_send(&in, udp, data, size, to));
    asx__task *task;
    asx__file *file;
    struct sockaddr_storage name;
    socklen_t name_size;
    struct iovec part = { (void *)(uintptr_t)data, size };
    int64_t result;
    if (data == NULL && size != 0)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__address_get(to, &name, &name_size);
    if (st == ASX_OK)
        st = find(cx, udp, ASX_CAP_IO, &task, &file);
    if (st < 0)
        return st;
    struct msghdr message = { .msg_name = &name, .msg_namelen = name_size, .msg_iov = &part,
                              .msg_iovlen = 1 };
    return move(task, file, udp->generation_, ASX__IO_WRITE, &message, &result);
}

asx_status asx_udp_address(asx_cx *cx, const asx_udp *udp, asx_address *ret_address)
{
    ASX__GATE_CX(cx, asx_udp_address(&in, udp, ret_address));
    asx__task *task;
    asx__file *file;
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    if (ret_address == NULL)
        return ASX_E_INVALID_ARGUMENT;
    memset(ret_address, 0, sizeof *ret_address);
    asx_status st = find(cx, udp, 0, &task, &file);
    if (st < 0)
        return st;
    if (getsockname(file->fd, (void *)&name, &size) < 0)
        return asx__io_status(errno);
    asx__address_set(&name, size, ret_address);
    return ASX_OK;
}

asx_status asx_udp_close(asx_cx *cx, const asx_udp *udp)
{
    ASX__GATE_CX(cx, asx_udp_close(&in, udp));
    asx__task *task;
    asx__file *file;
    asx_status st = find(cx, udp, 0, &task, &file);
    return st < 0 ? st : asx__file_close_for(file->io->rt, task, file);
}
