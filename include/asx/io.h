/* io.h - streams of bytes that tasks read and write, owned by regions.
 *
 * A stream is one end of a connection, a pipe, or whatever else can be read and written: net.h says
 * how connections are made. It lives in a region and is closed with it at the latest, and so is the
 * descriptor behind it, which no call but asx_stream_descriptor() shows. Calls that make a stream
 * take the region, which must be Open; NULL is the innermost one that the task has open, or else
 * the one it lives in, whatever its state. asx_stream names one; it
 * is a value of 16 bytes and may be copied. Once the stream is closed every call says
 * ASX_E_STALE_HANDLE, whatever the descriptor's number is used for by then.
 *
 * Operations. A call that reads or writes waits (cx.h) until it can, on a fiber and in a poll task
 * alike; nothing is queued on the way, so a peer that does not read makes the writer wait. One task
 * reads a stream and one writes it at a time: another one gets ASX_E_BUSY.
 *
 * Ownership of the buffer. On a fiber the operation borrows the buffer until the call returns,
 * which it does not before the system has let go of it, cancelled or not. A poll task's buffer is
 * touched during the call only.
 *
 * Cancellation. A deadline is one of the region around. What happened first counts:
 *   ASX_OK, n          done; a cancel that came meanwhile is told by the next call
 *   ASX_E_CANCELLED    nothing was done; or, of a call that goes on until all is done, as much as
 *                      *done says
 * A stream is as good after a cancelled call as before it.
 *
 * Statuses, besides those of cx.h, of every call that reads or writes:
 *   ASX_E_STALE_HANDLE     the stream is closed
 *   ASX_E_CAPABILITY       IO
 *   ASX_E_BUSY             another task does the same with this stream
 *   ASX_E_CLOSED           the stream was closed by another task while this one waited
 *   ASX_E_RESET            the peer has reset the connection, or it was lost
 *   ASX_E_BROKEN           write: the other side reads no more
 *   ASX_E_NOT_SUPPORTED    the stream has no such direction; or in a runtime that has no I/O: the
 *                          laboratory, a virtual clock, a static memory block
 *   ASX_E_RESOURCE_EXHAUSTED, ASX_E_SYSTEM (asx_stream_info says which errno)
 *
 * ASX_IO=epoll or ASX_IO=uring in the environment says by what the system is asked: then the first
 * call of a runtime that cannot have it is ASX_E_NOT_SUPPORTED. Without it io_uring is used on one
 * worker, where the library was built with it and the system allows it, and epoll elsewhere.
 */
#ifndef ASX_IO_H
#define ASX_IO_H

#include <asx/region.h>

ASX_BEGIN_DECLS

typedef struct asx_stream {
    void *file_;
    uint64_t generation_;
} asx_stream;

/* Part of what is written, or room for what is read. As struct iovec. */
typedef struct asx_io_part {
    void *data;
    size_t size;
} asx_io_part;

#define ASX_IO_PARTS_MAX 64

/* Waits until there is something and reads up to `size` bytes of it. *ret_n is at least 1; 0 with
 * ASX_OK means that the input has ended. ASX_E_INVALID_ARGUMENT: size 0, too. */
ASX_API asx_status asx_stream_read(asx_cx *cx, const asx_stream *stream, void *buffer, size_t size,
                                   size_t *ret_n);

/* Reads exactly `size` bytes. *done says how many are there already, 0 before the first call, and
 * is moved on by what comes, so that after a cancel, and in a poll task, the same call goes on
 * where it was. ASX_E_END: the input ended before, *done says where. */
ASX_API asx_status asx_stream_read_exact(asx_cx *cx, const asx_stream *stream, void *buffer,
                                         size_t size, size_t *done);

/* Waits until something can be written and writes up to `size` bytes; *ret_n, at least 1, says how
 * many. ASX_E_INVALID_ARGUMENT: size 0, too. */
ASX_API asx_status asx_stream_write(asx_cx *cx, const asx_stream *stream, const void *data,
                                    size_t size, size_t *ret_n);

/* Writes all of it. *done as in asx_stream_read_exact(). */
ASX_API asx_status asx_stream_write_all(asx_cx *cx, const asx_stream *stream, const void *data,
                                        size_t size, size_t *done);

/* The same with several parts one behind the other, at most ASX_IO_PARTS_MAX. *done counts the
 * bytes of all parts. The parts themselves are borrowed like the bytes. */
ASX_API asx_status asx_stream_write_parts(asx_cx *cx, const asx_stream *stream,
                                          const asx_io_part *parts, size_t count, size_t *done);

/* What asx_stream_wait() waits for. */
enum { ASX_IO_READABLE = 1, ASX_IO_WRITABLE = 2 };

/* Waits until a read or write would not wait, for one of those in `what`; *ret_ready says which.
 * An end of the input and an error are readable and writable. Takes nothing from the stream. */
ASX_API asx_status asx_stream_wait(asx_cx *cx, const asx_stream *stream, unsigned what,
                                   unsigned *ret_ready);

/* The writing side ends: the peer reads what was written and then the end. Does not wait.
 * ASX_E_BUSY while a task writes. */
ASX_API asx_status asx_stream_shutdown(asx_cx *cx, const asx_stream *stream);

/* Closes the stream: tasks that wait in it are told ASX_E_CLOSED, and when no operation is left the
 * descriptor is closed. No cancellation point, and needs no capability. On a fiber it returns when
 * the descriptor is closed; in a poll task that may come a little later. */
ASX_API asx_status asx_stream_close(asx_cx *cx, const asx_stream *stream);

/* From now on the stream lives in `region`, and is closed with that one: for a task that accepts a
 * connection and hands it to another one with a region of its own. ASX_E_REGION_NOT_OPEN,
 * ASX_E_REGION_CLOSED. */
ASX_API asx_status asx_stream_move(asx_cx *cx, const asx_stream *stream, const asx_region *region);

typedef struct asx_stream_options {
    const char *name; /* borrowed until the stream is closed, for reports; NULL: "" */
} asx_stream_options;

/* Makes a stream of a descriptor that there is: a pipe, a terminal, a socket, a device. It consumes
 * the descriptor, also when it fails. Its flags are not changed: others may have a copy of it.
 *   ASX_E_INVALID_ARGUMENT  no descriptor, or one of a regular file or directory
 *   ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED, ASX_E_RESOURCE_EXHAUSTED */
ASX_API asx_status asx_stream_adopt(asx_cx *cx, const asx_region *region, int descriptor,
                                    const asx_stream_options *options, asx_stream *ret_stream);

/* A pipe: what is written to one is read from the other. ASX_E_DESCRIPTORS and as above. */
ASX_API asx_status asx_pipe_open(asx_cx *cx, const asx_region *region, asx_stream *ret_reader,
                                 asx_stream *ret_writer);

/* The descriptor, for calls that this library does not have. It stays the stream's: it must not be
 * closed, and is not good for anything once the stream is closed. */
ASX_API asx_status asx_stream_descriptor(asx_cx *cx, const asx_stream *stream, int *ret_descriptor);

typedef struct asx_stream_details {
    const char *name;       /* borrowed until the stream is closed */
    uint64_t read, written; /* bytes, ever */
    int error;              /* errno of the last operation that failed; 0: none */
    bool ended;             /* a read has met the end */
    bool reading, writing;  /* a task waits for that */
} asx_stream_details;

/* The stream as it is now. */
ASX_API asx_status asx_stream_info(asx_cx *cx, const asx_stream *stream,
                                   asx_stream_details *ret_details);

/* What the reactor of a runtime did. */
typedef struct asx_io_stats {
    const char *back_end;  /* "epoll", "uring"; "" before the first operation */
    uint64_t open;         /* streams, listeners, sockets and files that are open */
    uint64_t closing;      /* closed, and an operation is left that has to end first */
    uint64_t in_flight;    /* operations that wait now */
    uint64_t waits;        /* operations that had to wait, ever */
    uint64_t cancelled;    /* of those, ended by a cancel or a close */
    uint64_t undone;       /* successes that came too late and were taken back */
    uint64_t turned_away;  /* connections for which there was no descriptor */
    uint64_t asked;        /* times that somebody has looked for completions */
} asx_io_stats;
/* From any thread of the runtime. ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_runtime_io_stats(const asx_runtime *runtime, asx_io_stats *ret_stats);

ASX_END_DECLS

#endif
