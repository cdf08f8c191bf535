/* epoll.c - the back end that asks epoll when to look again.
 *
 * A file is registered once, for both directions, with edges. An event only says "look": the task
 * makes the system call. What an event of a file that has been closed finds is told from others by
 * the generation.
 *
 * The one who waits takes events out of the system without being inside; they lie in `ready` until
 * it has come in and reaps. Anybody else who reaps meanwhile asks the system for himself.
 *
 * Rejected: one-shot registrations (a system call per wait); level-triggered ones (a connection
 * that has something nobody reads would end every wait); registering at once (most connections that
 * live for one request never wait for the writing side, and one that does is registered with both).
 */
#include "io/io.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define READY_MOST 128
#define WAKER UINT64_MAX /* what the eventfd is called */

typedef struct epoll_state {
    int fd;
    int waker;                           /* eventfd */
    int ready_len;                       /* of what a wait has brought */
    struct epoll_event ready[READY_MOST];
} epoll_state;

static asx_status open_descriptors(epoll_state *state)
{
    state->fd = epoll_create1(EPOLL_CLOEXEC);
    state->waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = WAKER };
    if (state->fd >= 0 && state->waker >= 0 &&
        epoll_ctl(state->fd, EPOLL_CTL_ADD, state->waker, &event) == 0)
        return ASX_OK;
    int error = errno;
    if (state->fd >= 0)
        (void)close(state->fd);
    if (state->waker >= 0)
        (void)close(state->waker);
    return asx__io_status(error);
}

static asx_status open_back(asx__io *io)
{
    epoll_state *state = asx__mem_alloc(io->rt, sizeof *state);
    if (state == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    memset(state, 0, sizeof *state);
    asx_status st = open_descriptors(state);
    if (st < 0) {
        asx__mem_free(io->rt, state, sizeof *state);
        return st;
    }
    io->back_state = state;
    return ASX_OK;
}

static void close_back(asx__io *io)
{
    epoll_state *state = io->back_state;
    (void)close(state->fd);
    (void)close(state->waker);
    asx__mem_free(io->rt, state, sizeof *state);
}

/* Its name in what epoll tells. */
static uint64_t name_of(const asx__file *file)
{
    return (uint64_t)file->index << 32 | file->tag;
}

static asx__file *find(asx__io *io, uint64_t name)
{
    uint32_t index = (uint32_t)(name >> 32);
    if (index >= io->files.carved)
        return NULL;
    asx__file *file = asx__slab_at(&io->files, index);
    return file->fd >= 0 && file->tag == (uint32_t)name ? file : NULL;
}

static asx_status submit(asx__io *io, asx__io_op *op)
{
    const epoll_state *state = io->back_state;
    asx__file *file = op->file;
    if (!file->registered && !file->unpollable) {
        struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                     .data.u64 = name_of(file) };
        file->registered = epoll_ctl(state->fd, EPOLL_CTL_ADD, file->fd, &event) == 0;
        if (!file->registered && errno == EPERM)
            file->unpollable = true;
        else if (!file->registered)
            return errno == ENOSPC ? ASX_E_RESOURCE_EXHAUSTED : asx__io_status(errno);
    }
    if (file->unpollable)
        asx__op_complete(io, op, -EAGAIN);
    return ASX_OK;
}

static bool cancel(asx__io *io, asx__io_op *op)
{
    (void)io;
    (void)op;
    return true; /* it was only a wish to be told */
}

static void tell(asx__io *io, const struct epoll_event *event)
{
    if (event->data.u64 == WAKER)
        return; /* an edge: the count does not matter */
    asx__file *file = find(io, event->data.u64);
    if (file == NULL)
        return;
    uint32_t broken = EPOLLERR | EPOLLHUP;
    file->hung = file->hung || (event->events & (EPOLLRDHUP | broken)) != 0;
    if (event->events & (EPOLLIN | EPOLLRDHUP | broken))
        asx__file_event(io, file, ASX__INWARD);
    if (find(io, event->data.u64) == file && (event->events & (EPOLLOUT | broken)) != 0)
        asx__file_event(io, file, ASX__OUTWARD);
}

static void reap(asx__io *io)
{
    epoll_state *state = io->back_state;
    if (io->reactor.waited) {
        io->reactor.waited = false;
        for (int i = 0; i < state->ready_len; i++)
            tell(io, &state->ready[i]);
        return;
    }
    if (io->reactor.out == 0)
        return;
    struct epoll_event events[READY_MOST];
    int n = epoll_wait(state->fd, events, READY_MOST, 0);
    for (int i = 0; i < n; i++)
        tell(io, &events[i]);
}

/* How long from now, in the units of epoll_wait(), and not too short. */
static int milliseconds_until(uint64_t deadline_ns)
{
    if (deadline_ns == ASX__FUTEX_FOREVER)
        return -1;
    uint64_t now = asx__futex_clock_ns();
    if (deadline_ns <= now)
        return 0;
    uint64_t ms = (deadline_ns - now + ASX_MS - 1) / ASX_MS;
    return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

static int wait_precisely(epoll_state *state, uint64_t deadline_ns)
{
    struct timespec left = { 0, 0 };
    uint64_t now = asx__futex_clock_ns();
    if (deadline_ns > now) {
        left.tv_sec = (time_t)((deadline_ns - now) / ASX_SEC);
        left.tv_nsec = (long)((deadline_ns - now) % ASX_SEC);
    }
    return epoll_pwait2(state->fd, state->ready, READY_MOST,
                        deadline_ns == ASX__FUTEX_FOREVER ? NULL : &left, NULL);
}

static bool wait_outside(asx__io *io, uint64_t deadline_ns)
{
    epoll_state *state = io->back_state;
    int saved = errno;
    int n = wait_precisely(state, deadline_ns);
    if (n < 0 && errno == ENOSYS)
        n = epoll_wait(state->fd, state->ready, READY_MOST, milliseconds_until(deadline_ns));
    state->ready_len = n < 0 ? 0 : n;
    bool late = n == 0;
    errno = saved;
    return !late;
}

static void wake(asx__io *io)
{
    const epoll_state *state = io->back_state;
    uint64_t one = 1;
    int saved = errno;
    while (write(state->waker, &one, sizeof one) < 0 && errno == EINTR)
        ;
    errno = saved;
}

static void forget(asx__io *io, asx__file *file)
{
    (void)io;
    (void)file; /* the system forgets it with the descriptor */
}

/* What epoll knows is shared with the parent: this process gets its own, and looks at everything
 * once. */
static void forked(asx__io *io)
{
    epoll_state *state = io->back_state;
    (void)close(state->fd);
    (void)close(state->waker);
    io->reactor.waited = false;
    if (open_descriptors(state) < 0)
        state->fd = state->waker = -1;
    for (uint32_t i = 0; i < io->files.carved; i++) {
        asx__file *file = asx__slab_at(&io->files, i);
        if (asx__file_generation(file) == 0)
            continue;
        file->registered = false;
        asx__file_event(io, file, ASX__INWARD);
        asx__file_event(io, file, ASX__OUTWARD);
    }
}

const asx__back_end asx__epoll = {
    .name = "epoll",
    .looks_first = (1u << ASX__IO_KINDS) - 1,
    .open = open_back,
    .close = close_back,
    .submit = submit,
    .cancel = cancel,
    .reap = reap,
    .wait = wait_outside,
    .wake = wake,
    .forget = forget,
    .forked = forked,
};
