/* disk.c - files and directories.
 *
 * What is cached is asked for with flags that say "now or not at all" (RESOLVE_CACHED, RWF_NOWAIT);
 * EAGAIN sends the same call to the pool of threads. A file with a call in the pool has one more
 * `out`, so its descriptor stays open until that has come back.
 */
#include "io/io.h"

#include <asx/blocking.h>
#include <asx/file.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One sendfile() at most, so that others are served in between. */
#define SENT_AT_ONCE ((size_t)256 * 1024)

enum disk_call { DISK_OPEN, DISK_READ, DISK_WRITE, DISK_SYNC, DISK_LIST, DISK_FETCH };

/* A call as it goes to the pool; in the caller's frame. */
typedef struct disk_work {
    enum disk_call call;
    int fd;            /* OPEN: of the directory */
    const char *path;
    struct open_how how;
    struct iovec part;
    off_t offset;
    int64_t result;    /* or -errno */
} disk_work;

static int64_t answer(int64_t n)
{
    return n >= 0 ? n : -errno;
}

static int64_t open_path(const disk_work *w, bool now)
{
    struct open_how how = w->how;
    if (now)
        how.resolve |= RESOLVE_CACHED;
    long fd;
    do
        fd = syscall(SYS_openat2, w->fd, w->path, &how, sizeof how);
    while (fd < 0 && errno == EINTR);
    return answer(fd);
}

static int64_t do_work(const disk_work *w, bool now)
{
    int flags = now ? RWF_NOWAIT : 0;
    ssize_t n;
    char byte;
    switch (w->call) {
    case DISK_OPEN:
        return open_path(w, now);
    case DISK_READ:
        do
            n = preadv2(w->fd, &w->part, 1, w->offset, flags);
        while (n < 0 && errno == EINTR);
        return answer(n);
    case DISK_WRITE: /* never from here: what is dirty may have to be written first */
        do
            n = now ? -1 : pwritev2(w->fd, &w->part, 1, w->offset, 0);
        while (!now && n < 0 && errno == EINTR);
        return now ? -EAGAIN : answer(n);
    case DISK_LIST:
        return now ? -EAGAIN : answer(syscall(SYS_getdents64, w->fd, w->part.iov_base,
                                              w->part.iov_len));
    case DISK_SYNC:
        return now ? -EAGAIN : answer(fsync(w->fd));
    default: { /* FETCH: is the end of it there? */
        struct iovec last = { &byte, 1 };
        n = preadv2(w->fd, &last, 1, w->offset + (off_t)w->part.iov_len - 1, flags);
        if (!now)
            (void)readahead(w->fd, w->offset, w->part.iov_len);
        return answer(n);
    }
    }
}

static asx_status in_the_pool(void *arg)
{
    disk_work *w = arg;
    w->result = do_work(w, false);
    return ASX_OK;
}

/* Now, or on another thread. `file`: what it is done with, or NULL. */
static asx_status perform(asx_cx *cx, asx__file *file, disk_work *w)
{
    asx_status st = asx__checkpoint(cx->rt_, cx->task_);
    if (st < 0)
        return st;
    w->result = do_work(w, true);
    if (w->result != -EAGAIN && w->result != -EOPNOTSUPP && w->result != -EINVAL)
        return ASX_OK;
    if (file != NULL)
        file->out++;
    st = asx_blocking(cx, in_the_pool, w);
    if (file != NULL) {
        file->out--;
        asx__file_settle(file->io, file);
    }
    return st;
}

static asx_status find(const asx_cx *cx, const asx_file *file, uint32_t caps, asx__file **ret_file)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, caps, &task, &rt);
    if (st < 0)
        return st;
    if (file == NULL)
        return ASX_E_INVALID_ARGUMENT;
    return asx__file_find(rt, file->file_, file->generation_, ASX__FILE_DISK, ret_file);
}

/* ---- opening -------------------------------------------------------------------------------- */

static bool flags_of(unsigned flags, struct open_how *ret_how)
{
    unsigned both = flags & (ASX_FILE_READ | ASX_FILE_WRITE);
    uint64_t f = O_CLOEXEC | O_NOCTTY | O_NONBLOCK; /* a pipe of that name does not block */
    if ((both == 0) == ((flags & ASX_FILE_DIRECTORY) == 0) || flags > 127)
        return false;
    f |= both == ASX_FILE_WRITE ? O_WRONLY : both == 0 || both == ASX_FILE_READ ? O_RDONLY : O_RDWR;
    f |= flags & ASX_FILE_CREATE ? O_CREAT : 0;
    f |= flags & ASX_FILE_EXCLUSIVE ? O_EXCL : 0;
    f |= flags & ASX_FILE_TRUNCATE ? O_TRUNC : 0;
    f |= flags & ASX_FILE_APPEND ? O_APPEND : 0;
    f |= flags & ASX_FILE_DIRECTORY ? O_DIRECTORY : 0;
    ret_how->flags = f;
    return true;
}

static asx_status open_status(int error)
{
    switch (error) {
    case EXDEV: /* it leads out of the directory ... */
    case ELOOP: /* ... or is a link that must not be followed */
        return ASX_E_PERMISSION;
    default:
        return asx__io_status(error);
    }
}

static asx_status open_file(asx_cx *cx, asx__region *home, disk_work *w, const char *name,
                            asx__file *below, const asx_region *region, asx_file *ret_file)
{
    asx_runtime *rt = cx->rt_;
    asx__io *io;
    asx__file *file;
    asx_status st = asx__io_of(rt, &io);
    if (st == ASX_OK)
        st = perform(cx, below, w);
    if (st < 0)
        return st;
    if (w->result < 0)
        return open_status((int)-w->result);
    int fd = (int)w->result;
    st = asx__io_region(rt, region, &home); /* it may have closed meanwhile */
    if (st < 0) {
        (void)close(fd);
        return st;
    }
    st = asx__file_make(io, home, ASX__FILE_DISK, fd, name, &file);
    if (st == ASX_OK)
        *ret_file = (asx_file){ file, asx__file_generation(file) };
    return st;
}

asx_status asx_file_open(asx_cx *cx, const asx_region *region, const char *path, unsigned flags,
                         const asx_file_options *options, asx_file *ret_file)
{
    ASX__GATE_CX(cx, asx_file_open(&in, region, path, flags, options, ret_file));
    static const asx_file_options none;
    disk_work w = { .call = DISK_OPEN, .fd = AT_FDCWD, .path = path };
    asx__task *task;
    asx_runtime *rt;
    asx__region *home;
    asx__file *below = NULL;
    if (ret_file == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_file = (asx_file){ NULL, 0 };
    if (options == NULL)
        options = &none;
    if (path == NULL || !flags_of(flags, &w.how))
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, &task, &rt);
    if (st == ASX_OK && options->beneath != NULL)
        st = find(cx, options->beneath, ASX_CAP_IO, &below);
    if (st == ASX_OK)
        st = asx__io_region(rt, region, &home);
    if (st < 0)
        return st;
    if (below != NULL) {
        w.fd = below->fd;
        w.how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
        w.how.resolve |= options->refuse_symlinks ? RESOLVE_NO_SYMLINKS : 0;
    }
    if (flags & ASX_FILE_CREATE)
        w.how.mode = options->mode != 0 ? options->mode & 07777u : 0666u;
    return open_file(cx, home, &w, options->name, below, region, ret_file);
}

/* ---- using ---------------------------------------------------------------------------------- */

static asx_status count(asx__file *file, uint64_t generation, int64_t result)
{
    if (result >= 0)
        return ASX_OK;
    if (asx__file_generation(file) == generation)
        file->error = (int)-result;
    return asx__io_status((int)-result);
}

asx_status asx_file_read(asx_cx *cx, const asx_file *file, uint64_t offset, void *buffer,
                         size_t size, size_t *ret_n)
{
    ASX__GATE_CX(cx, asx_file_read(&in, file, offset, buffer, size, ret_n));
    asx__file *f;
    if (ret_n == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_n = 0;
    if (buffer == NULL || size == 0 || offset > INT64_MAX)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = find(cx, file, ASX_CAP_IO, &f);
    if (st < 0)
        return st;
    disk_work w = { .call = DISK_READ, .fd = f->fd, .part = { buffer, size },
                    .offset = (off_t)offset };
    st = perform(cx, f, &w);
    if (st == ASX_OK)
        st = count(f, file->generation_, w.result);
    if (st == ASX_OK)
        *ret_n = (size_t)w.result;
    return st;
}

asx_status asx_file_write(asx_cx *cx, const asx_file *file, uint64_t offset, const void *data,
                          size_t size, size_t *done)
{
    ASX__GATE_CX(cx, asx_file_write(&in, file, offset, data, size, done));
    asx__file *f;
    if (done == NULL || data == NULL || size == 0 || *done > size || offset > INT64_MAX - size)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = find(cx, file, ASX_CAP_IO, &f);
    while (st == ASX_OK && *done < size) {
        disk_work w = { .call = DISK_WRITE, .fd = f->fd,
                        .part = { (char *)(uintptr_t)data + *done, size - *done },
                        .offset = (off_t)(offset + *done) };
        st = perform(cx, f, &w);
        if (st == ASX_OK)
            st = count(f, file->generation_, w.result);
        if (st == ASX_OK)
            *done += (size_t)w.result;
        if (st == ASX_OK && *done < size && asx__file_generation(f) != file->generation_)
            st = ASX_E_CLOSED;
    }
    return st;
}

asx_status asx_file_sync(asx_cx *cx, const asx_file *file)
{
    ASX__GATE_CX(cx, asx_file_sync(&in, file));
    asx__file *f;
    asx_status st = find(cx, file, ASX_CAP_IO, &f);
    if (st < 0)
        return st;
    disk_work w = { .call = DISK_SYNC, .fd = f->fd };
    st = perform(cx, f, &w);
    return st < 0 ? st : count(f, file->generation_, w.result);
}

asx_status asx_file_info(asx_cx *cx, const asx_file *file, asx_file_details *ret_details)
{
    ASX__GATE_CX(cx, asx_file_info(&in, file, ret_details));
    asx__file *f;
    struct stat about;
    if (ret_details == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_details = (asx_file_details){ .size = 0 };
    asx_status st = find(cx, file, 0, &f);
    if (st < 0)
        return st;
    if (fstat(f->fd, &about) < 0)
        return asx__io_status(errno);
    *ret_details = (asx_file_details){
        .size = (uint64_t)about.st_size,
        .modified_ns = (uint64_t)about.st_mtim.tv_sec * ASX_SEC + (uint64_t)about.st_mtim.tv_nsec,
        .device = about.st_dev,
        .inode = about.st_ino,
        .mode = about.st_mode & 07777u,
        .is_regular = S_ISREG(about.st_mode),
        .is_directory = S_ISDIR(about.st_mode),
    };
    return ASX_OK;
}

/* As the kernel has it; the name goes on. */
typedef struct dirent_head {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[5];
} dirent_head;

asx_status asx_directory_read(asx_cx *cx, const asx_file *directory, void *buffer, size_t size,
                              size_t *ret_size)
{
    ASX__GATE_CX(cx, asx_directory_read(&in, directory, buffer, size, ret_size));
    asx__file *f;
    if (ret_size == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_size = 0;
    if (buffer == NULL || (uintptr_t)buffer % _Alignof(dirent_head) != 0 || size > INT32_MAX)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = find(cx, directory, ASX_CAP_IO, &f);
    if (st < 0)
        return st;
    disk_work w = { .call = DISK_LIST, .fd = f->fd, .part = { buffer, size } };
    st = perform(cx, f, &w);
    if (st == ASX_OK && w.result == -EINVAL)
        return ASX_E_INVALID_ARGUMENT;
    if (st == ASX_OK)
        st = count(f, directory->generation_, w.result);
    if (st == ASX_OK)
        *ret_size = (size_t)w.result;
    return st;
}

static bool is_self_or_parent(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

bool asx_directory_next(const void *buffer, size_t size, size_t *at,
                        asx_directory_entry *ret_entry)
{
    if (ret_entry == NULL)
        return false;
    *ret_entry = (asx_directory_entry){ .name = "" };
    if (buffer == NULL || at == NULL)
        return false;
    while (*at < size && size - *at >= sizeof(dirent_head)) {
        const dirent_head *head = (const void *)((const char *)buffer + *at);
        if (head->size < offsetof(dirent_head, name) || head->size > size - *at)
            return false;
        *at += head->size;
        if (is_self_or_parent(head->name))
            continue;
        *ret_entry = (asx_directory_entry){
            .name = head->name, .is_regular = head->type == DT_REG,
            .is_directory = head->type == DT_DIR, .is_link = head->type == DT_LNK,
        };
        return true;
    }
    return false;
}

asx_status asx_file_close(asx_cx *cx, const asx_file *file)
{
    ASX__GATE_CX(cx, asx_file_close(&in, file));
    asx__file *f;
    asx_status st = find(cx, file, 0, &f);
    return st < 0 ? st : asx__file_close_for(cx->rt_, cx->task_, f);
}

/* ---- sending -------------------------------------------------------------------------------- */

/* sendfile() waits by the flag of the socket alone; a ring transfers no more over it then. */
static bool make_nonblocking(asx__file *to)
{
    if (!to->nonblocking && fcntl(to->fd, F_SETFL, O_NONBLOCK) == 0)
        to->nonblocking = true;
    return to->nonblocking;
}

static asx_status wait_writable(asx_cx *cx, asx__file *to, uint64_t generation)
{
    asx__request request = { .kind = ASX__IO_READY, .directions = 1u << ASX__OUTWARD };
    int64_t result;
    asx_status st = asx__io_do(cx->rt_, cx->task_, to, generation, &request, &result);
    return st == ASX_OK && result < 0 ? asx__io_status((int)-result) : st;
}

/* What goes from where to where; handles may go stale while the task waits. */
typedef struct sending {
    asx__file *to, *from;
    uint64_t to_generation, from_generation;
} sending;

static bool is_open(const sending *s)
{
    return asx__file_generation(s->to) == s->to_generation &&
           asx__file_generation(s->from) == s->from_generation;
}

/* Some of it. -EAGAIN: there was no room, and now there may be some. */
static asx_status send_some(asx_cx *cx, const sending *s, off_t offset, size_t size,
                            int64_t *ret_n)
{
    disk_work fetch = { .call = DISK_FETCH, .fd = s->from->fd, .part = { NULL, size },
                        .offset = offset };
    asx_status st = perform(cx, s->from, &fetch); /* the disk is waited for elsewhere */
    if (st < 0)
        return st;
    if (!is_open(s))
        return ASX_E_CLOSED;
    ssize_t n;
    asx__quiet quiet;
    asx__quiet_begin(&quiet);
    do
        n = sendfile(s->to->fd, s->from->fd, &offset, size);
    while (n < 0 && errno == EINTR);
    asx__quiet_end(&quiet, n < 0 ? errno == EPIPE : (size_t)n < size); /* a short one may, too */
    *ret_n = answer(n);
    if (*ret_n == -EAGAIN)
        return wait_writable(cx, s->to, s->to_generation);
    return n < 0 ? asx__io_status(errno) : ASX_OK;
}

static asx_status send_all(asx_cx *cx, const sending *s, uint64_t offset, uint64_t size,
                           uint64_t *done)
{
    asx_status st = ASX_OK;
    while (st == ASX_OK && *done < size) {
        size_t most = size - *done < SENT_AT_ONCE ? (size_t)(size - *done) : SENT_AT_ONCE;
        int64_t n = 0;
        if (!is_open(s))
            return ASX_E_CLOSED;
        st = send_some(cx, s, (off_t)(offset + *done), most, &n);
        if (st < 0 || n == -EAGAIN)
            continue;
        if (n == 0)
            return ASX_E_END;
        *done += (uint64_t)n;
        asx__atomic_u64 *sum = &s->to->bytes[ASX__OUTWARD];
        asx__store_relaxed(sum, asx__load_relaxed(sum) + (uint64_t)n);
    }
    return st;
}

asx_status asx_stream_send_file(asx_cx *cx, const asx_stream *stream, const asx_file *file,
                                uint64_t offset, uint64_t size, uint64_t *done)
{
    ASX__GATE_CX(cx, asx_stream_send_file(&in, stream, file, offset, size, done));
    sending s;
    if (done == NULL || stream == NULL || *done > size || offset > INT64_MAX ||
        size > INT64_MAX - offset)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = find(cx, file, ASX_CAP_IO, &s.from);
    if (st == ASX_OK)
        st = asx__file_find(cx->rt_, stream->file_, stream->generation_, ASX__FILE_STREAM, &s.to);
    if (st < 0)
        return st;
    if (s.to->busy[ASX__OUTWARD] != 0)
        return ASX_E_BUSY;
    if (!s.to->is_socket || !make_nonblocking(s.to))
        return ASX_E_NOT_SUPPORTED;
    s.to_generation = stream->generation_;
    s.from_generation = file->generation_;
    return send_all(cx, &s, offset, size, done);
}
