/* stream.c - reading and writing, whatever is behind the stream. */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a call begins with: the running task, and the file behind the handle. */
typedef struct entered {
    asx_cx *cx;
    asx__task *task;
    asx_runtime *rt;
    asx__file *file;
} entered;

static asx_status enter(asx_cx *cx, const asx_stream *stream, uint32_t caps, entered *e)
{
    e->cx = cx;
    asx_status st = asx__cx_enter(cx, caps, &e->task, &e->rt);
    if (st < 0)
        return st;
    if (stream == NULL)
        return ASX_E_INVALID_ARGUMENT;
    return asx__file_find(e->rt, stream->file_, stream->generation_, ASX__FILE_STREAM, &e->file);
}

/* The bytes have gone over, or it says why not. */
static asx_status count(asx__file *file, uint64_t generation, enum asx__direction d,
                        int64_t result)
{
    if (asx__file_generation(file) != generation) /* the end may be that of our own close */
        return result <= 0 ? ASX_E_CLOSED : ASX_OK;
    if (result < 0) {
        file->error = (int)-result;
        return asx__io_status((int)-result);
    }
    asx__store_relaxed(&file->bytes[d], asx__load_relaxed(&file->bytes[d]) + (uint64_t)result);
    return ASX_OK;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* *ret_n 0: the end. */
static asx_status read_some(const entered *e, uint64_t generation, void *buffer, size_t size,
                            size_t *ret_n)
{
    struct iovec part = { buffer, size };
    asx__request request = { .kind = ASX__IO_READ, .directions = 1u << ASX__INWARD,
                             .parts = &part, .count = 1 };
    int64_t result;
    if (e->file->layer != NULL)
        return asx__layer_read(e->cx, e->rt, e->file, buffer, size, ret_n);
    if (!e->file->inward)
        return ASX_E_NOT_SUPPORTED;
    asx_status st = asx__io_do(e->rt, e->task, e->file, generation, &request, &result);
    if (st == ASX_OK)
        st = count(e->file, generation, ASX__INWARD, result);
    if (st < 0)
        return st;
    if (result == 0 && asx__file_generation(e->file) == generation)
        e->file->ended = true;
    *ret_n = (size_t)result;
    return ASX_OK;
}

asx_status asx_stream_read(asx_cx *cx, const asx_stream *stream, void *buffer, size_t size,
                           size_t *ret_n)
{
    ASX__GATE_CX(cx, asx_stream_read(&in, stream, buffer, size, ret_n));
    entered e;
    if (ret_n == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_n = 0;
    if (buffer == NULL || size == 0)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = enter(cx, stream, ASX_CAP_IO, &e);
    return st < 0 ? st : read_some(&e, stream->generation_, buffer, size, ret_n);
}

asx_status asx_stream_read_exact(asx_cx *cx, const asx_stream *stream, void *buffer, size_t size,
                                 size_t *done)
{
    ASX__GATE_CX(cx, asx_stream_read_exact(&in, stream, buffer, size, done));
    entered e;
    if (done == NULL || buffer == NULL || size == 0 || *done > size)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = enter(cx, stream, ASX_CAP_IO, &e);
    while (st == ASX_OK && *done < size) {
        size_t n = 0;
        st = read_some(&e, stream->generation_, (char *)buffer + *done, size - *done, &n);
        *done += n;
        if (st == ASX_OK && n == 0)
            return ASX_E_END;
        if (st == ASX_OK && *done < size &&
            asx__file_generation(e.file) != stream->generation_)
            return ASX_E_CLOSED;
    }
    return st;
}

/* ---- writing -------------------------------------------------------------------------------- */

static asx_status write_some(const entered *e, uint64_t generation, struct iovec *parts,
                             unsigned part_count, size_t *ret_n)
{
    asx__request request = { .kind = ASX__IO_WRITE, .directions = 1u << ASX__OUTWARD,
                             .parts = parts, .count = part_count };
    int64_t result;
    if (e->file->layer != NULL)
        return asx__layer_write(e->cx, e->rt, e->file, parts->iov_base, parts->iov_len, ret_n);
    if (!e->file->outward)
        return ASX_E_NOT_SUPPORTED;
    asx_status st = asx__io_do(e->rt, e->task, e->file, generation, &request, &result);
    if (st == ASX_OK)
        st = count(e->file, generation, ASX__OUTWARD, result);
    if (st == ASX_OK)
        *ret_n = (size_t)result;
    return st;
}

asx_status asx_stream_write(asx_cx *cx, const asx_stream *stream, const void *data, size_t size,
                            size_t *ret_n)
{
    ASX__GATE_CX(cx, asx_stream_write(&in, stream, data, size, ret_n));
    entered e;
    if (ret_n == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_n = 0;
    if (data == NULL || size == 0)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = enter(cx, stream, ASX_CAP_IO, &e);
    struct iovec part = { (void *)(uintptr_t)data, size };
    return st < 0 ? st : write_some(&e, stream->generation_, &part, 1, ret_n);
}

/* What is left of the parts behind the first `done` bytes. */
static unsigned rest_of(const asx_io_part *parts, size_t part_count, size_t done,
                        struct iovec *rest)
{
    unsigned n = 0;
    for (size_t i = 0; i < part_count; i++) {
        if (done >= parts[i].size) {
            done -= parts[i].size;
            continue;
        }
        rest[n++] = (struct iovec){ (char *)parts[i].data + done, parts[i].size - done };
        done = 0;
    }
    return n;
}

static asx_status write_parts(const entered *e, uint64_t generation, const asx_io_part *parts,
                              size_t part_count, size_t *done)
{
    struct iovec rest[ASX_IO_PARTS_MAX];
    asx_status st = ASX_OK;
    unsigned left = rest_of(parts, part_count, *done, rest);
    if (left == 0)
        return asx__checkpoint(e->rt, e->task);
    while (st == ASX_OK && left != 0) {
        size_t n = 0;
        st = write_some(e, generation, rest, left, &n);
        *done += n;
        left = rest_of(parts, part_count, *done, rest);
        if (st == ASX_OK && left != 0 && asx__file_generation(e->file) != generation)
            return ASX_E_CLOSED;
    }
    return st;
}

asx_status asx_stream_write_parts(asx_cx *cx, const asx_stream *stream, const asx_io_part *parts,
                                  size_t part_count, size_t *done)
{
    ASX__GATE_CX(cx, asx_stream_write_parts(&in, stream, parts, part_count, done));
    entered e;
    size_t size = 0;
    if (done == NULL || parts == NULL || part_count == 0 || part_count > ASX_IO_PARTS_MAX)
        return ASX_E_INVALID_ARGUMENT;
    for (size_t i = 0; i < part_count; i++) {
        if ((parts[i].data == NULL && parts[i].size != 0) || parts[i].size > SIZE_MAX - size)
            return ASX_E_INVALID_ARGUMENT;
        size += parts[i].size;
    }
    if (*done > size)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = enter(cx, stream, ASX_CAP_IO, &e);
    return st < 0 ? st : write_parts(&e, stream->generation_, parts, part_count, done);
}

asx_status asx_stream_write_all(asx_cx *cx, const asx_stream *stream, const void *data, size_t size,
                                size_t *done)
{
    asx_io_part part = { (void *)(uintptr_t)data, size };
    if (data == NULL || size == 0)
        return ASX_E_INVALID_ARGUMENT;
    return asx_stream_write_parts(cx, stream, &part, 1, done);
}

/* ---- readiness ------------------------------------------------------------------------------ */

asx_status asx_stream_wait(asx_cx *cx, const asx_stream *stream, unsigned what,
                           unsigned *ret_ready)
{
    ASX__GATE_CX(cx, asx_stream_wait(&in, stream, what, ret_ready));
    _Static_assert(ASX_IO_READABLE == 1 << ASX__INWARD && ASX_IO_WRITABLE == 1 << ASX__OUTWARD,
                   "the bits of directions");
    entered e;
    if (ret_ready == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_ready = 0;
    if (what == 0 || what > (ASX_IO_READABLE | ASX_IO_WRITABLE))
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = enter(cx, stream, ASX_CAP_IO, &e);
    if (st < 0)
        return st;
    if (e.file->layer != NULL)
        return asx__layer_wait(e.cx, e.rt, e.file, what, ret_ready);
    if (((what & ASX_IO_READABLE) && !e.file->inward) ||
        ((what & ASX_IO_WRITABLE) && !e.file->outward))
        return ASX_E_NOT_SUPPORTED;
    asx__request request = { .kind = ASX__IO_READY, .directions = what };
    int64_t result;
    st = asx__io_do(e.rt, e.task, e.file, stream->generation_, &request, &result);
    if (st < 0)
        return st;
    if (result < 0)
        return asx__io_status((int)-result);
    *ret_ready = (unsigned)result;
    return ASX_OK;
}

/* ---- the end -------------------------------------------------------------------------------- */

asx_status asx_stream_shutdown(asx_cx *cx, const asx_stream *stream)
{
    ASX__GATE_CX(cx, asx_stream_shutdown(&in, stream));
    entered e;
    asx_status st = enter(cx, stream, ASX_CAP_IO, &e);
    if (st < 0)
        return st;
    if (e.file->layer != NULL)
        return asx__layer_shutdown(e.cx, e.rt, e.file);
    if (!e.file->is_socket)
        return ASX_E_NOT_SUPPORTED;
    if (e.file->busy[ASX__OUTWARD] != 0)
        return ASX_E_BUSY;
    return shutdown(e.file->fd, SHUT_WR) == 0 ? ASX_OK : asx__io_status(errno);
}

asx_status asx_stream_close(asx_cx *cx, const asx_stream *stream)
{
    ASX__GATE_CX(cx, asx_stream_close(&in, stream));
    entered e;
    asx_status st = enter(cx, stream, 0, &e);
    if (st == ASX_OK && e.file->layer != NULL)
        return asx__layer_close(cx, e.rt, e.task, e.file);
    return st < 0 ? st : asx__file_close_for(e.rt, e.task, e.file);
}

asx_status asx_stream_move(asx_cx *cx, const asx_stream *stream, const asx_region *region)
{
    ASX__GATE_CX(cx, asx_stream_move(&in, stream, region));
    entered e;
    asx__region *home;
    asx_status st = enter(cx, stream, ASX_CAP_IO, &e);
    if (st == ASX_OK)
        st = asx__io_region(e.rt, region, &home);
    return st < 0 ? st : asx__file_move(e.file, home);
}

/* ---- adopting ------------------------------------------------------------------------------- */

/* What can be learned of a descriptor that comes from elsewhere. False: it is none for a stream. */
static bool look_at(int fd, asx__file *file)
{
    struct stat about;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &about) < 0 || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))
        return false;
    file->is_socket = S_ISSOCK(about.st_mode);
    file->nonblocking = (flags & O_NONBLOCK) != 0;
    file->inward = (flags & O_ACCMODE) != O_WRONLY;
    file->outward = (flags & O_ACCMODE) != O_RDONLY;
    return true;
}

asx_status asx__stream_one(asx_runtime *rt, asx__region *region, int fd, const asx__file *like,
                           const char *name, asx_stream *ret_stream)
{
    asx__io *io;
    asx__file *file;
    asx_status st = asx__io_of(rt, &io);
    if (st < 0) {
        (void)close(fd);
        return st;
    }
    st = asx__file_make(io, region, ASX__FILE_STREAM, fd, name, &file);
    if (st < 0)
        return st;
    file->is_socket = like->is_socket;
    file->nonblocking = like->nonblocking;
    file->inward = like->inward;
    file->outward = like->outward;
    *ret_stream = (asx_stream){ file, asx__file_generation(file) };
    return ASX_OK;
}

static asx_status adopt(asx_cx *cx, const asx_region *region, int fd, const char *name,
                        asx_stream *ret_stream)
{
    asx__task *task;
    asx_runtime *rt;
    asx__region *home;
    asx__file like;
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, &task, &rt);
    if (st == ASX_OK)
        st = asx__io_region(rt, region, &home);
    if (st == ASX_OK && !look_at(fd, &like))
        st = ASX_E_INVALID_ARGUMENT;
    if (st == ASX_OK)
        return asx__stream_one(rt, home, fd, &like, name, ret_stream);
    (void)close(fd);
    return st;
}

asx_status asx_stream_adopt(asx_cx *cx, const asx_region *region, int fd,
                            const asx_stream_options *options, asx_stream *ret_stream)
{
    ASX__GATE_CX(cx, asx_stream_adopt(&in, region, fd, options, ret_stream));
    if (ret_stream == NULL || fd < 0) {
        if (fd >= 0)
            (void)close(fd);
        return ASX_E_INVALID_ARGUMENT;
    }
    *ret_stream = (asx_stream){ NULL, 0 };
    return adopt(cx, region, fd, options != NULL ? options->name : NULL, ret_stream);
}

/* Two streams of two descriptors that are new; both or none. */
asx_status asx__stream_two(asx_runtime *rt, asx__region *region, const int *fds,
                           const asx__file *like, asx_stream *ret_one, asx_stream *ret_other)
{
    asx_stream one;
    asx_status st = asx__stream_one(rt, region, fds[0], &like[0], NULL, &one);
    if (st < 0) {
        (void)close(fds[1]);
        return st;
    }
    st = asx__stream_one(rt, region, fds[1], &like[1], NULL, ret_other);
    if (st < 0) {
        asx__file *file = one.file_;
        asx__file_close(file->io, file);
        return st;
    }
    *ret_one = one;
    return ASX_OK;
}

asx_status asx_pipe_open(asx_cx *cx, const asx_region *region, asx_stream *ret_reader,
                         asx_stream *ret_writer)
{
    ASX__GATE_CX(cx, asx_pipe_open(&in, region, ret_reader, ret_writer));
    asx__task *task;
    asx_runtime *rt;
    asx__region *home;
    int fds[2];
    if (ret_reader == NULL || ret_writer == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_reader = *ret_writer = (asx_stream){ NULL, 0 };
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, &task, &rt);
    if (st == ASX_OK)
        st = asx__io_region(rt, region, &home);
    if (st < 0)
        return st;
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return asx__io_status(errno);
    asx__file like[2] = { { .nonblocking = true, .inward = true },
                          { .nonblocking = true, .outward = true } };
    return asx__stream_two(rt, home, fds, like, ret_reader, ret_writer);
}

/* ---- asking --------------------------------------------------------------------------------- */

asx_status asx_stream_descriptor(asx_cx *cx, const asx_stream *stream, int *ret_descriptor)
{
    ASX__GATE_CX(cx, asx_stream_descriptor(&in, stream, ret_descriptor));
    entered e;
    if (ret_descriptor == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_descriptor = -1;
    asx_status st = enter(cx, stream, ASX_CAP_IO, &e);
    if (st == ASX_OK && e.file->layer != NULL)
        st = ASX_E_NOT_SUPPORTED;
    if (st == ASX_OK)
        *ret_descriptor = e.file->fd;
    return st;
}

asx_status asx_stream_info(asx_cx *cx, const asx_stream *stream, asx_stream_details *ret_details)
{
    ASX__GATE_CX(cx, asx_stream_info(&in, stream, ret_details));
    entered e;
    if (ret_details == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_details = (asx_stream_details){ .name = "" };
    asx_status st = enter(cx, stream, 0, &e);
    if (st < 0)
        return st;
    const asx__file *file = e.file;
    *ret_details = (asx_stream_details){
        .name = file->name,
        .read = asx__load_relaxed(&file->bytes[ASX__INWARD]),
        .written = asx__load_relaxed(&file->bytes[ASX__OUTWARD]),
        .error = file->error,
        .ended = file->ended,
        .reading = file->busy[ASX__INWARD] != 0,
        .writing = file->busy[ASX__OUTWARD] != 0,
    };
    return ASX_OK;
}
