/* reactor.c - the I/O of a runtime: operations from their beginning to their end.
 *
 * See io.h for the life of an operation. Which back end there is, is decided when the first file is
 * made, and stays so.
 */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef ASX_HAVE_VALGRIND
#include <valgrind/valgrind.h>
#define ASX__ON_VALGRIND (RUNNING_ON_VALGRIND != 0)
#else
#define ASX__ON_VALGRIND false
#endif

#define FILES_PER_CHUNK_LOG2 5
#define OPS_PER_CHUNK_LOG2 5

static asx__io *io_of_reactor(asx__reactor *reactor)
{
    return (asx__io *)(void *)reactor;
}

static asx__io_op *op_of(asx__waitable *waitable)
{
    return (asx__io_op *)(void *)((char *)waitable - offsetof(asx__io_op, wait));
}

/* ---- statuses ------------------------------------------------------------------------------- */

asx_status asx__io_status(int error)
{
    switch (error) {
    case ECONNRESET:
    case ECONNABORTED:
    case ETIMEDOUT:
    case ENOTCONN:
        return ASX_E_RESET;
    case EPIPE:
    case ESHUTDOWN:
        return ASX_E_BROKEN;
    case ECONNREFUSED:
        return ASX_E_REFUSED;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
        return ASX_E_UNREACHABLE;
    case EADDRINUSE:
    case EADDRNOTAVAIL:
        return ASX_E_ADDRESS;
    case EMFILE:
    case ENFILE:
        return ASX_E_DESCRIPTORS;
    case EACCES:
    case EPERM:
    case EROFS:
        return ASX_E_PERMISSION;
    case ENOSPC:
    case EDQUOT:
        return ASX_E_NO_SPACE;
    case EEXIST:
        return ASX_E_EXISTS;
    case ENOENT:
    case ENOTDIR:
        return ASX_E_NOT_FOUND;
    case EMSGSIZE:
    case ENAMETOOLONG:
        return ASX_E_TOO_LONG;
    case ENOMEM:
    case ENOBUFS:
        return ASX_E_RESOURCE_EXHAUSTED;
    case EAFNOSUPPORT:
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
        return ASX_E_NOT_SUPPORTED;
    default:
        return ASX_E_SYSTEM;
    }
}

/* ---- the end of operations ------------------------------------------------------------------ */

/* While it is OUT a buffer that is read into is nobody's but the operation's. */
static void guard_buffer(const asx__io_op *op, bool on)
{
#if ASX__FIBER_ASAN
    if (op->request.kind != ASX__IO_READ)
        return;
    for (unsigned i = 0; i < op->request.count; i++) {
        if (on)
            ASAN_POISON_MEMORY_REGION(op->request.parts[i].iov_base, op->request.parts[i].iov_len);
        else
            ASAN_UNPOISON_MEMORY_REGION(op->request.parts[i].iov_base,
                                        op->request.parts[i].iov_len);
    }
#else
    (void)op;
    (void)on;
#endif
}

/* It is OUT no more: the back end has nothing of it. */
static void come_in(asx__io *io, asx__io_op *op)
{
    asx__file *file = op->file;
    guard_buffer(op, false);
    for (unsigned d = 0; d < ASX__DIRECTIONS; d++) {
        if ((op->request.directions & 1u << d) == 0)
            continue;
        asx__list_remove(&op->node[d]);
        if (op->counted)
            file->busy[d]--;
    }
    file->out--;
    io->reactor.out--;
    io->rt->jobs_out--;
}

static void free_op(asx__io *io, asx__io_op *op)
{
    if (op->obligation != NULL)
        asx__obligation_resolve(io->rt, op->obligation, ASX_OBLIGATION_COMMITTED);
    op->obligation = NULL;
    op->state = ASX__OP_FREE;
    op->task = NULL;
    asx__slab_release(&io->ops, op, op->index);
}

/* A success that nobody takes: what has come with it is given back. */
static void undo(asx__io *io, asx__io_op *op)
{
    if (op->result < 0)
        return;
    io->undone++;
    if (op->request.kind == ASX__IO_ACCEPT)
        (void)close((int)op->result);
}

void asx__op_complete(asx__io *io, asx__io_op *op, int64_t result)
{
    asx__file *file = op->file;
    asx__task *task = op->task;
    ASX__DEBUG_ASSERT(op->state == ASX__OP_OUT || op->state == ASX__OP_ORPHAN);
    bool orphan = op->state == ASX__OP_ORPHAN;
    op->result = result;
    op->state = ASX__OP_DONE;
    come_in(io, op);
    if (orphan) {
        undo(io, op);
        free_op(io, op);
    } else if (op->parked) {
        if (task->flags & ASX__T_POLL)
            free_op(io, op); /* it only says: look again */
        asx__wake(io->rt, task, ASX_OK, false);
    }
    asx__file_settle(io, file);
}

/* Asks for the end of what is OUT. True: it is over. */
static bool end_op(asx__io *io, asx__io_op *op)
{
    if (op->told)
        return false;
    op->told = true;
    io->cancelled++;
    if (!op->held && !io->back->cancel(io, op))
        return false;
    op->state = ASX__OP_DONE;
    op->result = -ECANCELED;
    come_in(io, op);
    return true;
}

static bool give_up(asx_runtime *rt, asx__waitable *waitable)
{
    return end_op(io_of_reactor(rt->reactor), op_of(waitable));
}

/* The task leaves: a cancel that could be carried out, or a poll task that did not ask again. */
static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__io *io = io_of_reactor(rt->reactor);
    asx__io_op *op = op_of(waitable);
    asx__file *file = op->file;
    (void)task;
    (void)granted; /* it never is */
    if (op->state == ASX__OP_OUT && !end_op(io, op)) {
        asx__obligation_resolve(rt, op->obligation, ASX_OBLIGATION_ABORTED);
        op->obligation = NULL;
        op->task = NULL;
        op->state = ASX__OP_ORPHAN;
        return;
    }
    free_op(io, op);
    asx__file_settle(io, file);
}

static const asx__waitable_ops wait_ops[ASX__IO_KINDS] = {
#define X(name, wait) [ASX__IO_##name] = { wait, give_up, unpublish },
    ASX__IO_LIST(X)
#undef X
};

/* The task has ended, and has not taken the result of an operation that is over. */
static void release(asx_runtime *rt, asx__obligation *obligation)
{
    asx__io *io = io_of_reactor(rt->reactor);
    asx__io_op *op = asx__obligation_object(obligation);
    ASX__ASSERT(op->state == ASX__OP_DONE);
    undo(io, op);
    free_op(io, op);
}

asx__io_op *asx__op_find(asx__io *io, uint32_t index, uint32_t generation)
{
    if (index >= io->ops.carved)
        return NULL;
    asx__io_op *op = asx__slab_at(&io->ops, index);
    bool out = op->state == ASX__OP_OUT || op->state == ASX__OP_ORPHAN;
    return out && op->generation == generation ? op : NULL;
}

void asx__file_event(asx__io *io, asx__file *file, enum asx__direction direction)
{
    asx__node *waiting = &file->waiting[direction];
    (void)asx__fetch_add_seq_cst(&file->events[direction], 1u);
    while (!asx__list_empty(waiting)) {
        char *node = (char *)(void *)waiting->next;
        asx__io_op *op = (asx__io_op *)(void *)(node - direction * sizeof(asx__node));
        asx__op_complete(io, op, -EAGAIN);
    }
}

void asx__file_drain(asx__io *io, asx__file *file)
{
    for (unsigned d = 0; d < ASX__DIRECTIONS; d++) {
        asx__node *at = file->waiting[d].next;
        while (at != &file->waiting[d]) {
            asx__io_op *op = (asx__io_op *)(void *)((char *)(void *)at - d * sizeof(asx__node));
            at = at->next;
            if (op->told)
                continue;
            op->told = true;
            io->cancelled++;
            if (!op->held && !io->back->cancel(io, op))
                continue;
            asx__op_complete(io, op, -EAGAIN); /* its task sees that the file is closed */
            at = file->waiting[d].next;        /* it may have stood in both */
        }
    }
}

/* ---- operations ----------------------------------------------------------------------------- */

/* NULL: no memory, or the ceiling on obligations. */
static asx__io_op *new_op(asx__io *io, asx__task *task, asx__file *file,
                          const asx__request *request)
{
    uint32_t index;
    asx__io_op *op = asx__slab_alloc(io->rt, &io->ops, &index);
    if (op == NULL)
        return NULL;
    uint32_t generation = ++io->op_generation;
    *op = (asx__io_op){ .index = index, .generation = generation, .file = file, .task = task,
                     .wait.ops = &wait_ops[request->kind], .wait.serial = file->index,
                     .request = *request };
    op->obligation = asx__obligation_new(io->rt, task, op, ASX_OBLIGATION_KIND_IO, "");
    if (op->obligation != NULL)
        return op;
    free_op(io, op);
    return NULL;
}

/* The back end has it now. */
static asx_status send_out(asx__io *io, asx__io_op *op)
{
    asx__file *file = op->file;
    op->state = ASX__OP_OUT;
    op->counted = op->wait.ops != &wait_ops[ASX__IO_READY] &&
                  op->wait.ops != &wait_ops[ASX__IO_ACCEPT];
    for (unsigned d = 0; d < ASX__DIRECTIONS; d++) {
        if ((op->request.directions & 1u << d) == 0)
            continue;
        asx__list_push_back(&file->waiting[d], &op->node[d]);
        if (op->counted)
            file->busy[d]++;
    }
    file->out++;
    io->reactor.out++;
    io->rt->jobs_out++;
    io->waits++;
    guard_buffer(op, true);
    op->held = file->paused;
    asx_status st = op->held ? ASX_OK : io->back->submit(io, op);
    if (st == ASX_OK)
        return ASX_OK;
    op->state = ASX__OP_DONE;
    come_in(io, op);
    return st;
}

bool asx__io_watch(asx__io *io, asx__file *file)
{
    uint32_t index;
    asx__io_op *op = asx__slab_alloc(io->rt, &io->ops, &index);
    if (op == NULL)
        return false;
    uint32_t generation = ++io->op_generation;
    *op = (asx__io_op){ .index = index, .generation = generation, .file = file,
                        .wait.ops = &wait_ops[ASX__IO_READY],
                        .request = { .kind = ASX__IO_READY, .directions = 1u << ASX__INWARD } };
    asx_status st = send_out(io, op);
    bool waits = st == ASX_OK && op->state == ASX__OP_OUT;
    if (waits)
        op->state = ASX__OP_ORPHAN;
    else
        free_op(io, op);
    return waits;
}

static bool is_same_wait(const asx__task *task, const asx__file *file, const asx__request *request)
{
    asx__waitable *waits = task->w.waits;
    if ((task->flags & (ASX__T_POLL | ASX__T_RENEWED)) != (ASX__T_POLL | ASX__T_RENEWED) ||
        waits == NULL || waits->ops != &wait_ops[request->kind])
        return false;
    return op_of(waits)->file == file;
}

static bool is_busy(const asx__file *file, const asx__request *request)
{
    if (file->sort != ASX__FILE_STREAM || request->kind == ASX__IO_READY)
        return false;
    for (unsigned d = 0; d < ASX__DIRECTIONS; d++)
        if ((request->directions & 1u << d) != 0 && file->busy[d] != 0)
            return true;
    return false;
}

/* Was there an event since the task looked? */
static bool is_overtaken(const asx__file *file, const asx__request *request, const uint32_t *seen)
{
    for (unsigned d = 0; d < ASX__DIRECTIONS; d++)
        if ((request->directions & 1u << d) != 0 &&
            asx__load_relaxed(&file->events[d]) != seen[d])
            return true;
    return false;
}

/* What its task was told, and the end of it. */
static asx_status take_result(asx__io *io, asx__io_op *op, int64_t *ret_result)
{
    asx_runtime *rt = io->rt;
    asx__task *task = op->task;
    bool ended = op->told && op->result == -ECANCELED;
    /* One that nobody asked for: the thread is gone that a ring had it from. */
    *ret_result = op->result == -ECANCELED ? -EAGAIN : op->result;
    free_op(io, op);
    return ended ? asx__checkpoint(rt, task) : ASX_OK;
}

/* Waits for the back end. ASX_OK: *ret_result is what it says; -EAGAIN: look again. */
static asx_status wait_for(asx_runtime *rt, asx__task *task, asx__file *file,
                           const asx__request *request, const uint32_t *seen, int64_t *ret_result)
{
    asx__io *io = file->io;
    bool poll = (task->flags & ASX__T_POLL) != 0;
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    if (is_same_wait(task, file, request))
        return ASX_E_WOULD_BLOCK;
    st = asx__wait_prepare(rt, task, &file->close_wait); /* it is none of its waits */
    if (st < 0)
        return st;
    if (is_busy(file, request))
        return ASX_E_BUSY;
    *ret_result = -EAGAIN;
    if (is_overtaken(file, request, seen))
        return ASX_OK;
    asx__io_op *op = new_op(io, task, file, request);
    if (op == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    if (poll)
        op->request.kind = ASX__IO_READY; /* a poll task's buffer is its own when it has returned */
    st = send_out(io, op);
    if (st < 0 || op->state == ASX__OP_DONE) {
        *ret_result = op->result;
        free_op(io, op);
        return st;
    }
    op->parked = true;
    st = asx__wait_on(rt, task, &op->wait, NULL);
    if (st < 0) /* WOULD_BLOCK; or a cancel, which has freed it */
        return st;
    return take_result(io, op, ret_result);
}

static bool is_dry(const asx__file *file, const asx__request *request, const uint32_t *seen)
{
    if (request->directions > 2 || file->io->back->completes) /* 3: either of two */
        return false;
    unsigned d = request->directions >> 1;
    return asx__load_relaxed(&file->dry[d]) == seen[d];
}

/* A short transfer says as much as one that would wait: there is no more until the next event. Not
 * so where no event is still to come: the file is not registered, or has told of its end already.
 * */
static void note_dry(asx__file *file, const asx__request *request, const uint32_t *seen,
                     int64_t result)
{
    if (request->kind == ASX__IO_READY || request->kind == ASX__IO_CONNECT)
        return;
    size_t wanted = 0;
    for (unsigned i = 0; i < request->count; i++)
        wanted += request->parts[i].iov_len;
    bool short_of = file->is_socket && file->sort == ASX__FILE_STREAM && file->registered &&
                    !file->hung && result > 0 &&
                    (size_t)result < wanted;
    unsigned d = request->directions >> 1;
    if (result == -EAGAIN || short_of)
        asx__store_relaxed(&file->dry[d], seen[d]);
}

/* Does the task make the system call itself, before it asks the back end? */
static bool looks_first(const asx__io *io, const asx__task *task, const asx__request *request)
{
    if ((task->flags & ASX__T_POLL) != 0)
        return true;
    if (request->kind == ASX__IO_WRITE && io->crowded)
        return false;
    return (io->back->looks_first & 1u << request->kind) != 0;
}

asx_status asx__io_do(asx_runtime *rt, asx__task *task, asx__file *file, uint64_t generation,
                      asx__request *request, int64_t *ret_result)
{
    bool looks = looks_first(file->io, task, request);
    asx_status st = asx__checkpoint(rt, task);
    for (;;) {
        if (st < 0)
            return st;
        if (asx__file_generation(file) != generation)
            return ASX_E_CLOSED;
        uint32_t seen[ASX__DIRECTIONS];
        for (unsigned d = 0; d < ASX__DIRECTIONS; d++)
            seen[d] = asx__load_seq_cst(&file->events[d]);
        int64_t result = -EAGAIN;
        if (looks && !file->paused && !is_dry(file, request, seen)) {
            result = asx__try(file, request);
            note_dry(file, request, seen, result);
        }
        if (ASX__UNLIKELY(asx__io_is_scarce(result)) && request->kind == ASX__IO_ACCEPT) {
            asx__io_pause(file->io, file);
            result = -EAGAIN;
        }
        if (result == -EAGAIN)
            st = wait_for(rt, task, file, request, seen, &result);
        if (st == ASX_OK && result != -EAGAIN) {
            *ret_result = result;
            return ASX_OK;
        }
        looks = true;
    }
}

/* ---- the runtime's -------------------------------------------------------------------------- */

static void reap(asx__reactor *reactor)
{
    asx__io *io = io_of_reactor(reactor);
    io->back->reap(io);
}

static bool wait_outside(asx__reactor *reactor, uint64_t deadline_ns)
{
    asx__io *io = io_of_reactor(reactor);
    return io->back->wait(io, deadline_ns);
}

static void wake(asx__reactor *reactor)
{
    asx__io *io = io_of_reactor(reactor);
    io->back->wake(io);
}

static void forked(asx__reactor *reactor)
{
    asx__io *io = io_of_reactor(reactor);
    io->back->forked(io);
}

static void destroy(asx__reactor *reactor)
{
    asx__io *io = io_of_reactor(reactor);
    asx_runtime *rt = io->rt;
    io->back->close(io); /* first: what it has out may use the files */
    asx__files_discard(io);
    if (io->spare >= 0)
        (void)close(io->spare);
    asx__slab_deinit(rt, &io->files);
    asx__slab_deinit(rt, &io->ops);
    rt->reactor = NULL;
    asx__mem_free(rt, io, sizeof *io);
}

static const asx__reactor_ops reactor_ops = { reap, wait_outside, wake, forked, destroy };

/* Several workers have epoll unless they are told otherwise: a ring that all of them use is entered
 * with the engine held, for every operation. Valgrind does not see what a ring writes. */
static asx_status choose(asx__io *io)
{
    const char *wanted = getenv("ASX_IO");
    bool any = wanted == NULL || *wanted == '\0';
    asx_status st = ASX_E_NOT_SUPPORTED;
#ifdef ASX_HAVE_URING
    bool suits = any && io->rt->gate == NULL && !ASX__ON_VALGRIND;
    io->back = &asx__uring;
    if (suits || (!any && strcmp(wanted, "uring") == 0))
        st = io->back->open(io);
    if (st != ASX_E_NOT_SUPPORTED)
        return st;
#endif
    io->back = &asx__epoll;
    if (any || strcmp(wanted, "epoll") == 0)
        st = io->back->open(io);
    return st;
}

static asx_status make(asx_runtime *rt)
{
    asx__io *io = asx__mem_alloc(rt, sizeof *io);
    if (io == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    memset(io, 0, sizeof *io);
    io->reactor = (asx__reactor){ .ops = &reactor_ops, .rt = rt };
    io->rt = rt;
    asx__slab_init(&io->files, sizeof(asx__file), FILES_PER_CHUNK_LOG2);
    asx__slab_init(&io->ops, sizeof(asx__io_op), OPS_PER_CHUNK_LOG2);
    asx_status st = choose(io);
    if (st < 0) {
        asx__mem_free(rt, io, sizeof *io);
        return st;
    }
    io->spare = -1;
    asx__io_keep_spare(io);
    rt->registry.release[ASX_OBLIGATION_KIND_IO] = release;
    rt->reactor = &io->reactor;
    return ASX_OK;
}

asx_status asx__io_of(asx_runtime *rt, asx__io **ret_io)
{
    if (rt->reactor == NULL) {
        if (rt->lab || rt->virtual_clock || rt->seam != NULL || rt->block != NULL)
            return ASX_E_NOT_SUPPORTED;
        asx_status st = make(rt);
        if (st < 0)
            return st;
    }
    *ret_io = io_of_reactor(rt->reactor);
    return ASX_OK;
}

asx_status asx_runtime_io_stats(const asx_runtime *rt, asx_io_stats *ret_stats)
{
    if (rt == NULL || ret_stats == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_RUNTIME(rt, asx_runtime_io_stats(rt, ret_stats));
    *ret_stats = (asx_io_stats){ .back_end = "" };
    if (rt->reactor == NULL)
        return ASX_OK;
    const asx__io *io = io_of_reactor(rt->reactor);
    *ret_stats = (asx_io_stats){
        .back_end = io->back->name, .open = io->open_files, .closing = io->closing_files,
        .in_flight = io->reactor.out, .waits = io->waits, .cancelled = io->cancelled,
        .undone = io->undone, .turned_away = io->turned_away, .asked = io->reactor.reaped,
    };
    return ASX_OK;
}
