/* look.c - reading memory that may not be there, and writing text without a library's help.
 *
 * Memory is read by process_vm_readv() on ourselves; where that is denied (old kernels, emulators,
 * strict sandboxes) through a pipe: writing to it reads the memory, and says EFAULT if there is
 * none.
 *
 * A descriptor that does not take anything at the moment is waited for, at most WAIT_MS in all: a
 * dump must not hang because it is not read.
 */
#include "see/see.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BY_CALL, BY_PIPE, BY_NOTHING };
enum { PIECE = 4096, WAIT_MS = 2000 };

static bool peek_by_call(const asx__look *look, const void *from, void *to, size_t len)
{
    struct iovec local = { to, len };
    struct iovec remote = { (void *)(uintptr_t)from, len };
    return syscall(SYS_process_vm_readv, look->pid, &local, 1ul, &remote, 1ul, 0ul) == (long)len;
}

static bool peek_by_pipe(asx__look *look, const char *from, char *to, size_t len)
{
    while (len > 0) {
        size_t piece = len < PIECE ? len : PIECE;
        long put = syscall(SYS_write, look->pipe[1], from, piece);
        if (put <= 0)
            return false;
        if (syscall(SYS_read, look->pipe[0], to, (size_t)put) != put || (size_t)put != piece)
            return false;
        from += piece;
        to += piece;
        len -= piece;
    }
    return true;
}

bool asx__peek(asx__look *look, const void *from, void *to, size_t len)
{
    if ((uintptr_t)from < 4096)
        return false;
    if (look->way == BY_CALL)
        return peek_by_call(look, from, to, len);
    return look->way == BY_PIPE && peek_by_pipe(look, from, to, len);
}

bool asx__peek_string(asx__look *look, const char *from, char *to, size_t size)
{
    enum { STEP = 32 };
    size_t len = 0;
    to[0] = '\0';
    while (len < size - 1) {
        /* Up to a multiple of the step at a time: those do not cross the end of a page. */
        size_t want = STEP - ((uintptr_t)(from + len) & (STEP - 1));
        if (want > size - 1 - len)
            want = size - 1 - len;
        if (!asx__peek(look, from + len, to + len, want)) {
            to[len] = '\0';
            return len > 0;
        }
        for (size_t i = 0; i < want; i++, len++) {
            if (to[len] == '\0')
                return true;
            if ((unsigned char)to[len] < 0x20 || to[len] == 0x7f)
                to[len] = '?';
        }
    }
    to[len] = '\0';
    return true;
}

/* ---- text ----------------------------------------------------------------------------------- */

static long put_bytes(asx__look *look, const char *from, size_t len)
{
    if (look->into != NULL) {
        size_t room = look->into_size - 1 - look->into_len;
        size_t fits = len < room ? len : room;
        memcpy(look->into + look->into_len, from, fits);
        look->into_len += fits;
        look->into[look->into_len] = '\0';
        return (long)len;
    }
    if (look->at < 0)
        return write(look->fd, from, len);
    long put = pwrite(look->fd, from, len, (off_t)look->at);
    if (put > 0)
        look->at += put;
    return put;
}

void asx__put_flush(asx__look *look)
{
    const char *from = look->out;
    size_t left = look->out_len;
    int waited = 0;
    while (left > 0 && !look->failed) {
        long put = put_bytes(look, from, left);
        if (put > 0) {
            from += put;
            left -= (size_t)put;
        } else if (put < 0 && errno == EAGAIN && waited < WAIT_MS) {
            struct pollfd ready = { look->fd, POLLOUT, 0 };
            (void)poll(&ready, 1, 100);
            waited += 100;
        } else if (put == 0 || errno != EINTR) {
            look->failed = true;
        }
    }
    look->out_len = 0;
}

void asx__put(asx__look *look, const char *text)
{
    for (; *text != '\0'; text++) {
        if (look->out_len == sizeof look->out)
            asx__put_flush(look);
        look->out[look->out_len++] = *text;
    }
}

void asx__put_number(asx__look *look, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    asx__put(look, digits + at);
}

void asx__put_hex(asx__look *look, uintptr_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do
        digits[--at] = "0123456789abcdef"[number & 15];
    while ((number >>= 4) != 0);
    asx__put(look, "0x");
    asx__put(look, digits + at);
}

void asx__put_frames(asx__look *look, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t pc = look->frames[i];
        uint32_t offset = 0;
        const asx__module *module = asx__module_of(look, pc);
        const char *name = asx__symbol_of(look, pc, &offset);
        asx__put(look, "    #");
        asx__put_number(look, i);
        asx__put(look, i < 10 ? "  " : " ");
        if (name != NULL) {
            asx__put(look, name);
            asx__put(look, "+");
            asx__put_hex(look, offset);
            asx__put(look, " ");
        }
        asx__put(look, "(");
        if (module != NULL) {
            asx__put(look, module->path);
            asx__put(look, "+");
            pc -= module->base;
        }
        asx__put_hex(look, pc);
        asx__put(look, ")\n");
    }
    if (count == ASX__FRAMES_MAX)
        asx__put(look, "    (more)\n");
}

/* ---- beginning and end ---------------------------------------------------------------------- */

asx__look *asx__look_begin(int fd, int64_t at)
{
    int before = errno;
    asx__look *look = mmap(NULL, sizeof *look, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (look == MAP_FAILED) {
        errno = before;
        return NULL;
    }
    look->fd = fd;
    look->at = at;
    look->pipe[0] = look->pipe[1] = -1;
    look->pid = getpid();
    look->tid = (int32_t)syscall(SYS_gettid);
    look->names_len = 1; /* 0 stands for no name */
    if (!peek_by_call(look, &look->fd, look->text, sizeof look->fd)) {
        look->way = BY_PIPE;
        if (pipe2(look->pipe, O_CLOEXEC | O_NONBLOCK) != 0)
            look->way = BY_NOTHING;
    }
    errno = before;
    return look;
}

bool asx__look_end(asx__look *look)
{
    int before = errno;
    asx__put_flush(look);
    bool ok = !look->failed;
    for (int i = 0; i < 2; i++)
        if (look->pipe[i] >= 0)
            (void)close(look->pipe[i]);
    for (uint32_t i = 0; i < look->module_count; i++)
        if (look->modules[i].fd >= 0)
            (void)close(look->modules[i].fd);
    munmap(look, sizeof *look);
    errno = before;
    return ok;
}
