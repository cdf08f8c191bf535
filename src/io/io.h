/* io.h - the inside of input and output: files, operations, back ends.
 *
 * Words
 *   file       what is behind a stream, listener or socket: a record with a descriptor. It comes
 *              from a slab and is never freed before the runtime, so that a handle of any age can
 * be
 *              looked at.
 *   house      the list of the files that live in one region; a resident of it
 *   operation  what a task waits for in a file: one of the two directions, or both. From a slab.
 *   back end   who asks the system: epoll, io_uring, later a laboratory
 *   dry        a direction of a file in which the last try found nothing more, or no more room; it
 *              stays so until the next event
 *   orphan     an operation whose task is gone or does something else; the back end has it still
 *
 * Life of an operation
 *
 *     FREE --submit--> OUT --complete--> DONE --its task takes the result--> FREE
 *                       |                 '----the task ends: undo---------> FREE
 *                       '--its task leaves--> ORPHAN --complete: undo------> FREE
 *
 * An operation that is OUT or DONE is an obligation (kind io) of the task that made it, and so of
 * that task's region. It is OUT as long as the back end has it, whatever becomes of it: what it
 * borrows (a buffer on a fiber's stack) is borrowed as long. A task whose operation is OUT is
 * parked in it; a cancel asks the back end to end it, and the task goes on when it has ended
 * (waitable_ops.give_up), which epoll can say at once and a ring later.
 *
 * Retrying. The result -EAGAIN means "look again": the task does the system call itself. With epoll
 * that is the only result; a ring does it for what it cannot do itself.
 * A look and an event must not miss each other, though with several workers the look is made
 * outside: events[d] of the file is counted up by each event of that direction, the task reads
 * it before it looks, and an operation that is submitted with another count is over at once.
 *
 * Closing. A file that is closed loses its generation, so nobody comes in any more. Its operations
 * are cancelled; when none of them is OUT and nobody is at a system call (pins), its descriptor is
 * closed, and not before: no operation ever meets the number in the hands of somebody else.
 *
 * Invariants
 *   file->out = operations of the file that are OUT
 *   reactor.out = sum of out; each counts once in rt->jobs_out
 *   file->generation != 0  <=>  it is in the list of its house
 *   descriptor open  <=>  generation != 0 or closing
 *
 * Letters on fields: I set at init, A atomic, else of whoever is inside.
 */
#ifndef ASX_IO_INTERNAL_H
#define ASX_IO_INTERNAL_H

#include <signal.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <asx/io.h>

#include "sched/engine.h"
#include "sched/obligation.h"
#include "sched/reactor.h"
#include "sched/sched.h"

struct asx__io;

enum asx__direction { ASX__INWARD, ASX__OUTWARD, ASX__DIRECTIONS };

/* X(NAME, wait): what is done. */
#define ASX__IO_LIST(X)                                                                            \
    X(READ, ASX__WAIT_IO_READ)                                                                     \
    X(WRITE, ASX__WAIT_IO_WRITE)                                                                   \
    X(ACCEPT, ASX__WAIT_IO_ACCEPT)                                                                 \
    X(CONNECT, ASX__WAIT_IO_CONNECT)                                                               \
    X(READY, ASX__WAIT_IO_READY)

typedef enum asx__io_kind {
#define X(name, wait) ASX__IO_##name,
    ASX__IO_LIST(X)
#undef X
    ASX__IO_KINDS
} asx__io_kind;

/* What a task asks for. Borrowed until it has its answer. */
typedef struct asx__request {
    asx__io_kind kind;
    unsigned directions;    /* bits by enum asx__direction; of READY both are possible */
    struct iovec *parts;    /* READ, WRITE; changed by nobody */
    unsigned count;
    struct msghdr *message; /* READ, WRITE of datagrams; else NULL */
} asx__request;

enum asx__op_state { ASX__OP_FREE, ASX__OP_OUT, ASX__OP_DONE, ASX__OP_ORPHAN };

typedef struct asx__io_op {
    asx__node node[ASX__DIRECTIONS]; /* in the file's lists while it is OUT; the first is
                                        overwritten while it is free */
    uint32_t index;        /* I */
    uint32_t generation;   /* of this use; in what a ring tells */
    uint8_t state;         /* enum asx__op_state */
    bool told;             /* the back end was asked to end it ... */
    bool cancel_sent;      /* ... and a ring has been */
    bool held;             /* the back end does not have it: its file is paused */
    bool parked;           /* its task waits for it */
    bool counted;          /* in file->busy */
    asx__waitable wait;
    struct asx__file *file;
    asx__task *task;       /* NULL: an orphan */
    asx__obligation *obligation;
    asx__request request;
    struct msghdr message; /* of a ring */
    int64_t result;        /* DONE: as a system call in the kernel, -errno */
} asx__io_op;

enum asx__file_sort {
    ASX__FILE_STREAM,
    ASX__FILE_LISTENER,
    ASX__FILE_DATAGRAM,
    ASX__FILE_DISK,
    ASX__FILE_SIGNALS,
    ASX__FILE_CHILD,
    ASX__FILE_SET /* of descriptors: an epoll */
};

typedef struct asx__house {
    asx__resident resident;
    struct asx__io *io;
    asx__region *region;
    asx__node files;
} asx__house;

typedef struct asx__file {
    asx__node node;              /* in its house; overwritten while free */
    asx_runtime *home;           /* I: set once, for all lives of the record */
    asx__atomic_u64 generation;  /* A: 0: closed */
    asx__atomic_u32 pins;        /* A: threads at a system call with it, outside */
    asx__atomic_u32 events[ASX__DIRECTIONS]; /* A: so many, ever */
    asx__atomic_u32 dry[ASX__DIRECTIONS];    /* A: what the count was when it was found dry; dry if
                                                it is the same still */
    struct asx__io *io;          /* I */
    asx__house *house;           /* NULL: its region is gone, or it is closed */
    uint32_t index;              /* I */
    int fd;                      /* -1: none */
    uint8_t sort;                /* enum asx__file_sort */
    bool is_socket;
    bool nonblocking;            /* O_NONBLOCK is set: a try never waits */
    bool inward, outward;        /* which directions it has */
    bool registered;             /* epoll knows it ... */
    bool unpollable;             /* ... or cannot: it is always ready */
    bool hung;                   /* epoll has told of an end or an error */
    bool connecting;             /* the connection is being made */
    bool ended;                  /* a read has met the end */
    bool closing;                /* closed, and the descriptor is not yet */
    bool paused;                 /* a listener: there was no descriptor for what it would accept */
    struct asx__file *paused_next;
    asx__node waiting[ASX__DIRECTIONS]; /* operations that are OUT */
    uint32_t out;                /* operations that the back end has */
    uint32_t busy[ASX__DIRECTIONS]; /* of those, in this direction, READY not counted */
    int error;                   /* errno of the last failure; 0: none */
    const char *name;
    uint32_t tag;                /* of this life, in what epoll tells; 0: it is over */
    pid_t pid;                   /* of a child ... */
    bool reaped;                 /* ... that has ended so: */
    int end_code, end_signal;
    sigset_t *unblocks;          /* what a signalfd's close has to unblock; or NULL */
    char *path;                  /* Unix listener: to be removed; in its own memory, or NULL */
    asx__atomic_u64 bytes[ASX__DIRECTIONS]; /* A: of a direction, which one task has at a time */
    asx__waitable close_wait;
    asx__task *closer;           /* parked until the descriptor is closed */
    const struct asx_stream_layer *layer; /* of a stream that has no descriptor; else NULL */
    void *layer_state;
} asx__file;

/* What a back end does. All inside, but for wait and wake. */
typedef struct asx__back_end {
    const char *name;
    bool completes;  /* it does the transfers of fibers itself; else it tells when to look again */
    unsigned looks_first; /* kinds, as bits, that a task tries itself before it asks */
    asx_status (*open)(struct asx__io *io);
    void (*close)(struct asx__io *io);
    /* The operation is OUT from now on, until asx__op_complete(), which may be at once. */
    asx_status (*submit)(struct asx__io *io, asx__io_op *op);
    /* Asks for its end. True: it is over, and the back end has nothing of it any more. False: its
     * completion is still to come, with whatever it did. */
    bool (*cancel)(struct asx__io *io, asx__io_op *op);
    void (*reap)(struct asx__io *io);
    bool (*wait)(struct asx__io *io, uint64_t deadline_ns); /* outside */
    void (*wake)(struct asx__io *io);                       /* any thread */
    /* The descriptor is about to be closed. */
    void (*forget)(struct asx__io *io, asx__file *file);
    void (*forked)(struct asx__io *io);
} asx__back_end;

extern const asx__back_end asx__epoll;
#ifdef ASX_HAVE_URING
extern const asx__back_end asx__uring;
#endif

typedef struct asx__io {
    asx__reactor reactor;       /* first */
    asx_runtime *rt;            /* I */
    const asx__back_end *back;  /* I */
    void *back_state;           /* the back end's own */
    asx__slab files, ops;
    uint64_t file_generation;
    uint32_t op_generation;
    uint64_t open_files, closing_files;
    uint64_t waits, cancelled, undone, turned_away;
    bool crowded;               /* many completions came at once */
    int spare;                  /* a descriptor to give up when there is no other; -1: none */
    struct asx__file *paused;   /* listeners, until a descriptor is closed ... */
    asx_timer_handle pause;     /* ... or this fires */
} asx__io;

/* ---- reactor.c ------------------------------------------------------------------------------ */

/* The runtime's, made by the first call. ASX_E_NOT_SUPPORTED, ASX_E_RESOURCE_EXHAUSTED,
 * ASX_E_DESCRIPTORS, ASX_E_SYSTEM. */
asx_status asx__io_of(asx_runtime *rt, asx__io **ret_io);
/* The task does what it asks for, and waits as long as it has to. ASX_OK: *ret_result is what the
 * system call says, not -EAGAIN. Else nothing was done. The file may be closed afterwards. */
asx_status asx__io_do(asx_runtime *rt, asx__task *task, asx__file *file, uint64_t generation,
                      asx__request *request, int64_t *ret_result);
/* For back ends: what was OUT has ended. */
void asx__op_complete(asx__io *io, asx__io_op *op, int64_t result);
/* For back ends: there was an event in this direction of the file. */
void asx__file_event(asx__io *io, asx__file *file, enum asx__direction direction);
/* The operation of this index and generation, if it is OUT or an orphan; else NULL. */
asx__io_op *asx__op_find(asx__io *io, uint32_t index, uint32_t generation);
/* Ends all operations of a file that is closed. */
void asx__file_drain(asx__io *io, asx__file *file);
/* Something waits until the file of a child can be read, for nobody. False: it cannot. */
bool asx__io_watch(asx__io *io, asx__file *file);
/* What an errno is called here. Never ASX_OK. */
asx_status asx__io_status(int error);

/* ---- try.c ---------------------------------------------------------------------------------- */

/* The system call, once and without waiting. -errno, -EAGAIN among them. Also outside. */
int64_t asx__try(const asx__file *file, const asx__request *request);
/* Around a system call that might send SIGPIPE to this thread, and has no flag against it. */
typedef struct asx__quiet {
    sigset_t before;
    bool was_pending;
} asx__quiet;
void asx__quiet_begin(asx__quiet *quiet);
void asx__quiet_end(const asx__quiet *quiet, bool perhaps_sent); /* errno stays as it is */

/* ---- scarce.c ------------------------------------------------------------------------------- */

/* Is this the failure of an accept for which there was no descriptor? */
bool asx__io_is_scarce(int64_t result);
/* Turns away who waits at the listener, and lets it rest for a while. */
void asx__io_pause(asx__io *io, asx__file *listener);
/* All that rest go on: a descriptor has been closed. */
void asx__io_resume(asx__io *io);
/* One is being closed. */
void asx__io_unpause(asx__io *io, asx__file *file);
/* Has one, if there is one to be had. */
void asx__io_keep_spare(asx__io *io);

/* ---- process.c ------------------------------------------------------------------------------ */

/* The signals that a file has taken over are the host's again. */
void asx__signals_give_back(asx__io *io, asx__file *file);
void asx__child_kill(const asx__file *file);
/* Has a child that was killed ended? If not, the end will settle its file. */
bool asx__child_is_gone(asx__io *io, asx__file *file);
/* Waits for one that was killed, for a moment at most unless for ever. */
void asx__child_await(asx__file *file, bool for_ever);

/* ---- file.c --------------------------------------------------------------------------------- */

/* A region that a handle from outside names, and in which something may be made. NULL: the
 * innermost that the running task has open, or else the one it lives in. */
asx_status asx__io_region(asx_runtime *rt, const asx_region *handle, asx__region **ret_region);
/* A file in the region, with a descriptor that it owns from here on, also on failure. */
asx_status asx__file_make(asx__io *io, asx__region *region, enum asx__file_sort sort, int fd,
                          const char *name, asx__file **ret_file);
/* The file of a handle. */
asx_status asx__file_find(const asx_runtime *rt, void *handle_file, uint64_t generation,
                          enum asx__file_sort sort, asx__file **ret_file);
/* Closes it, without waiting. */
void asx__file_close(asx__io *io, asx__file *file);
/* Closes the descriptor of a closed file, if nothing has it any more. */
void asx__file_settle(asx__io *io, asx__file *file);
/* Closes it for the running task, and waits for the descriptor. */
asx_status asx__file_close_for(asx_runtime *rt, asx__task *task, asx__file *file);
/* The second half of that. */
asx_status asx__file_await_close(asx_runtime *rt, asx__task *task, asx__file *file);
/* From now on it lives in this region. ASX_E_RESOURCE_EXHAUSTED. */
asx_status asx__file_move(asx__file *file, asx__region *region);
/* All that are open: the runtime goes away. */
void asx__files_discard(asx__io *io);

/* ---- layer.c: inside, with a file that has a layer ------------------------------------------ */

asx_status asx__layer_read(asx_cx *cx, asx_runtime *rt, asx__file *file, void *buffer, size_t size,
                           size_t *ret_n);
asx_status asx__layer_write(asx_cx *cx, asx_runtime *rt, asx__file *file, const void *data,
                            size_t size, size_t *ret_n);
asx_status asx__layer_wait(asx_cx *cx, asx_runtime *rt, asx__file *file, unsigned what,
                           unsigned *ret_ready);
asx_status asx__layer_shutdown(asx_cx *cx, asx_runtime *rt, asx__file *file);
/* As asx__file_close_for(), and the layer ends what waits in it. */
asx_status asx__layer_close(asx_cx *cx, asx_runtime *rt, asx__task *task, asx__file *file);

/* ---- stream.c ------------------------------------------------------------------------------- */

/* A stream of a new descriptor, which is as `like` says; closed on failure. */
asx_status asx__stream_one(asx_runtime *rt, asx__region *region, int fd, const asx__file *like,
                           const char *name, asx_stream *ret_stream);
/* Two streams of two new descriptors, which are as `like` says; both or none. */
asx_status asx__stream_two(asx_runtime *rt, asx__region *region, const int *fds,
                           const asx__file *like, asx_stream *ret_one, asx_stream *ret_other);

/* Whether sockets of this runtime are made with O_NONBLOCK: a ring does not wait for those. */
static inline bool asx__io_nonblocking(const asx__io *io)
{
    return !io->back->completes;
}

static inline uint64_t asx__file_generation(const asx__file *file)
{
    return asx__load_relaxed(&file->generation);
}

#endif
