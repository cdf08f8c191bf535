/* uring.c - the back end that hands transfers to io_uring.
 *
 * What the ring does itself: fibers' transfers over sockets of our own, which do not have
 * O_NONBLOCK for that reason. All else is a poll request, whose completion says "look again". Sends
 * are tried first, unless many completions come at a time: then one entry into the kernel carries
 * them all.
 *
 * One worker: the ring is its thread's alone, and completes when that thread asks (SINGLE_ISSUER,
 * DEFER_TASKRUN); what was prepared goes out when it asks, once per turn. Several: what is prepared
 * goes out at once, with the engine held, and the one who waits does so by poll() on the ring,
 * which it does not touch. A request of a thread that has ended comes back as cancelled by nobody,
 * and is made again.
 *
 * user_data is the operation's index and generation. A cancel names the same, so it cannot hit the
 * next use of the record. Never SQPOLL: it burns a core.
 *
 * Rejected: linked time-outs (the region's timer cancels); multishot receive (one that is faster
 * than its task takes all buffers of the others); registered files (a table to keep in step with
 * descriptors, for a few percent).
 */
#include "io/io.h"

#ifdef ASX_HAVE_URING

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES 256u
#define COMPLETIONS 4096u
#define BATCH 128u
/* So many completions at a time make it worth while to send by the ring. */
#define CROWD 8u

#define WAKER UINT64_MAX /* the poll of the eventfd */
#define CANCEL (UINT64_MAX - 1) /* a cancel: its target tells */

typedef struct uring_state {
    struct io_uring ring;
    int waker;      /* eventfd */
    bool shared;    /* I: several workers */
    bool cancels_due; /* some could not be sent */
} uring_state;

/* ---- making --------------------------------------------------------------------------------- */

static int setup(struct io_uring *ring, unsigned flags)
{
    struct io_uring_params params = { .flags = flags | IORING_SETUP_CQSIZE,
                                      .cq_entries = COMPLETIONS };
    return io_uring_queue_init_params(ENTRIES, ring, &params);
}

static bool can_all(struct io_uring *ring)
{
    static const int needed[] = { IORING_OP_POLL_ADD, IORING_OP_POLL_REMOVE,
                                  IORING_OP_ASYNC_CANCEL, IORING_OP_RECV, IORING_OP_SEND,
                                  IORING_OP_RECVMSG, IORING_OP_SENDMSG };
    struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
    bool all = probe != NULL;
    for (size_t i = 0; all && i < sizeof needed / sizeof *needed; i++)
        all = io_uring_opcode_supported(probe, needed[i]);
    io_uring_free_probe(probe);
    return all && (ring->features & IORING_FEAT_NODROP) != 0 &&
           (ring->features & IORING_FEAT_EXT_ARG) != 0;
}

/* The best that this kernel has. 0, or -errno. */
static int open_ring(uring_state *state, bool own_thread)
{
    static const unsigned own[] = {
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL,
        IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL, 0
    };
    static const unsigned any[] = { IORING_SETUP_SUBMIT_ALL, 0 };
    const unsigned *flags = own_thread ? own : any;
    int rc = setup(&state->ring, *flags);
    while (rc == -EINVAL && *flags != 0)
        rc = setup(&state->ring, *++flags);
    if (rc < 0)
        return rc;
    if (can_all(&state->ring))
        return 0;
    io_uring_queue_exit(&state->ring);
    return -ENOSYS;
}

static void watch_waker(uring_state *state)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&state->ring);
    if (sqe == NULL)
        return; /* there is always room when this is called: nothing else has been prepared */
    io_uring_prep_poll_multishot(sqe, state->waker, POLLIN);
    io_uring_sqe_set_data64(sqe, WAKER);
}

static asx_status open_both(uring_state *state, bool own_thread)
{
    state->waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (state->waker < 0)
        return asx__io_status(errno);
    int rc = open_ring(state, own_thread);
    if (rc < 0) {
        (void)close(state->waker);
        return ASX_E_NOT_SUPPORTED; /* seccomp, an old kernel, no memory to lock: there is epoll */
    }
    if (!state->shared)
        watch_waker(state);
    return ASX_OK;
}

static asx_status open_back(asx__io *io)
{
    asx_runtime *rt = io->rt;
    uring_state *state = asx__mem_alloc(rt, sizeof *state);
    if (state == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    memset(state, 0, sizeof *state);
    state->shared = rt->gate != NULL;
    asx_status st = open_both(state, rt->in_run && !state->shared);
    if (st < 0) {
        asx__mem_free(rt, state, sizeof *state);
        return st;
    }
    io->back_state = state;
    return ASX_OK;
}

/* A runtime that is given up with operations out: the kernel lets go of their buffers first. */
static void end_all(uring_state *state)
{
    struct io_uring_sync_cancel_reg all = { .flags = IORING_ASYNC_CANCEL_ANY,
                                            .timeout = { .tv_sec = 1 } };
    (void)io_uring_register_sync_cancel(&state->ring, &all);
}

static void close_back(asx__io *io)
{
    uring_state *state = io->back_state;
    if (io->reactor.out != 0)
        end_all(state);
    io_uring_queue_exit(&state->ring);
    (void)close(state->waker);
    asx__mem_free(io->rt, state, sizeof *state);
}

/* ---- asking --------------------------------------------------------------------------------- */

static struct io_uring_sqe *entry(uring_state *state)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&state->ring);
    if (sqe != NULL)
        return sqe;
    (void)io_uring_submit(&state->ring);
    return io_uring_get_sqe(&state->ring);
}

static uint64_t name_of(const asx__io_op *op)
{
    return (uint64_t)op->generation << 32 | op->index;
}

static unsigned poll_mask(unsigned directions)
{
    unsigned mask = 0;
    if (directions & 1u << ASX__INWARD)
        mask |= POLLIN | POLLRDHUP;
    if (directions & 1u << ASX__OUTWARD)
        mask |= POLLOUT;
    return mask;
}

/* Does the ring make the transfer, rather than tell when to look? */
static bool transfers(const asx__io_op *op)
{
    const asx__file *file = op->file;
    bool moves = op->request.kind == ASX__IO_READ || op->request.kind == ASX__IO_WRITE;
    return moves && file->is_socket && !file->nonblocking && op->request.message == NULL;
}

static void prepare(struct io_uring_sqe *sqe, asx__io_op *op)
{
    const asx__request *request = &op->request;
    int fd = op->file->fd;
    op->message = (struct msghdr){ .msg_iov = request->parts, .msg_iovlen = request->count };
    if (!transfers(op))
        io_uring_prep_poll_add(sqe, fd, poll_mask(request->directions));
    else if (request->kind == ASX__IO_READ && request->count == 1)
        io_uring_prep_recv(sqe, fd, request->parts->iov_base, request->parts->iov_len, 0);
    else if (request->kind == ASX__IO_READ)
        io_uring_prep_recvmsg(sqe, fd, &op->message, 0);
    else if (request->count == 1)
        io_uring_prep_send(sqe, fd, request->parts->iov_base, request->parts->iov_len,
                           MSG_NOSIGNAL);
    else
        io_uring_prep_sendmsg(sqe, fd, &op->message, MSG_NOSIGNAL);
    io_uring_sqe_set_data64(sqe, name_of(op));
}

static asx_status submit(asx__io *io, asx__io_op *op)
{
    uring_state *state = io->back_state;
    struct io_uring_sqe *sqe = entry(state);
    if (sqe == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    prepare(sqe, op);
    if (state->shared)
        (void)io_uring_submit(&state->ring);
    return ASX_OK;
}

/* False: there is no room for it now. */
static bool send_cancel(uring_state *state, asx__io_op *op)
{
    struct io_uring_sqe *sqe = entry(state);
    if (sqe == NULL)
        return false;
    io_uring_prep_cancel64(sqe, name_of(op), 0);
    io_uring_sqe_set_data64(sqe, CANCEL);
    op->cancel_sent = true;
    return true;
}

static bool cancel(asx__io *io, asx__io_op *op)
{
    uring_state *state = io->back_state;
    if (!send_cancel(state, op))
        state->cancels_due = true;
    if (state->shared)
        (void)io_uring_submit(&state->ring);
    return false; /* its completion is still to come */
}

static void send_due_cancels(asx__io *io, uring_state *state)
{
    state->cancels_due = false;
    for (uint32_t i = 0; i < io->ops.carved; i++) {
        asx__io_op *op = asx__slab_at(&io->ops, i);
        bool out = op->state == ASX__OP_OUT || op->state == ASX__OP_ORPHAN;
        if (out && op->told && !op->cancel_sent && !send_cancel(state, op))
            state->cancels_due = true;
    }
}

/* ---- completions ---------------------------------------------------------------------------- */

static void tell(asx__io *io, const struct io_uring_cqe *cqe)
{
    uring_state *state = io->back_state;
    uint64_t name = cqe->user_data;
    if (name == WAKER && (cqe->flags & IORING_CQE_F_MORE) == 0)
        watch_waker(state);
    if (name == WAKER || name == CANCEL)
        return;
    asx__io_op *op = asx__op_find(io, (uint32_t)name, (uint32_t)(name >> 32));
    ASX__DEBUG_ASSERT(op != NULL);
    if (op == NULL)
        return;
    int64_t result = cqe->res;
    if (result >= 0 && !transfers(op))
        result = -EAGAIN;
    if (result == -EINTR)
        result = -EAGAIN;
    else if (result == -EAGAIN && transfers(op))
        op->file->nonblocking = true; /* somebody has set the flag: from now on it is polled */
    asx__op_complete(io, op, result);
}

/* Takes what has completed. */
static void take(asx__io *io, uring_state *state)
{
    struct io_uring_cqe *cqes[BATCH];
    unsigned n, all = 0;
    do {
        struct io_uring_cqe copies[BATCH];
        n = io_uring_peek_batch_cqe(&state->ring, cqes, BATCH);
        for (unsigned i = 0; i < n; i++)
            copies[i] = *cqes[i];
        io_uring_cq_advance(&state->ring, n);
        for (unsigned i = 0; i < n; i++)
            tell(io, &copies[i]);
        all += n;
    } while (n == BATCH);
    if (all != 0)
        io->crowded = all >= CROWD;
}

static void reap(asx__io *io)
{
    uring_state *state = io->back_state;
    bool waited = io->reactor.waited;
    io->reactor.waited = false;
    if (ASX__UNLIKELY(state->cancels_due))
        send_due_cancels(io, state);
    if (io->reactor.out == 0 && io_uring_sq_ready(&state->ring) == 0)
        return;
    if (!waited || state->shared)
        (void)io_uring_submit_and_get_events(&state->ring);
    take(io, state);
}

/* False: it has passed; *ret_left is 0 then. */
static bool time_left(uint64_t deadline_ns, struct __kernel_timespec *ret_left)
{
    uint64_t now = asx__futex_clock_ns();
    *ret_left = (struct __kernel_timespec){ 0, 0 };
    if (deadline_ns <= now)
        return false;
    ret_left->tv_sec = (long long)((deadline_ns - now) / ASX_SEC);
    ret_left->tv_nsec = (long long)((deadline_ns - now) % ASX_SEC);
    return true;
}

/* The ring is the others' meanwhile: it is not touched. */
static bool wait_beside(uring_state *state, uint64_t deadline_ns)
{
    struct pollfd at[2] = { { .fd = state->ring.ring_fd, .events = POLLIN },
                            { .fd = state->waker, .events = POLLIN } };
    struct __kernel_timespec left;
    (void)time_left(deadline_ns, &left);
    struct timespec timeout = { .tv_sec = (time_t)left.tv_sec, .tv_nsec = (long)left.tv_nsec };
    int n = ppoll(at, 2, deadline_ns == ASX__FUTEX_FOREVER ? NULL : &timeout, NULL);
    uint64_t count;
    if (n > 0 && at[1].revents != 0)
        (void)!read(state->waker, &count, sizeof count);
    return n != 0;
}

static bool wait_outside(asx__io *io, uint64_t deadline_ns)
{
    uring_state *state = io->back_state;
    struct io_uring_cqe *cqe;
    struct __kernel_timespec left;
    int saved = errno;
    bool early;
    if (state->shared) {
        early = wait_beside(state, deadline_ns);
    } else {
        (void)time_left(deadline_ns, &left);
        int rc = io_uring_submit_and_wait_timeout(
            &state->ring, &cqe, 1, deadline_ns == ASX__FUTEX_FOREVER ? NULL : &left, NULL);
        early = rc != -ETIME;
    }
    errno = saved;
    return early;
}

static void wake(asx__io *io)
{
    const uring_state *state = io->back_state;
    uint64_t one = 1;
    int saved = errno;
    while (write(state->waker, &one, sizeof one) < 0 && errno == EINTR)
        ;
    errno = saved;
}

static void forget(asx__io *io, asx__file *file)
{
    (void)io;
    (void)file; /* nothing of it is out */
}

/* The ring is the parent's. Here everything is looked at again. */
static void forked(asx__io *io)
{
    uring_state *state = io->back_state;
    io_uring_queue_exit(&state->ring);
    (void)close(state->waker);
    io->reactor.waited = false;
    if (open_both(state, false) < 0)
        state->waker = -1;
    for (uint32_t i = 0; i < io->ops.carved; i++) {
        asx__io_op *op = asx__slab_at(&io->ops, i);
        if (op->state == ASX__OP_OUT || op->state == ASX__OP_ORPHAN)
            asx__op_complete(io, op, -EAGAIN);
    }
}

const asx__back_end asx__uring = {
    .name = "uring",
    .completes = true,
    .looks_first = 1u << ASX__IO_WRITE | 1u << ASX__IO_ACCEPT | 1u << ASX__IO_READY,
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

#endif
