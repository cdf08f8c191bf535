/* buffer.h - readers and writers: a stream with a buffer, for lines, frames and small pieces.
 *
 * Both are the caller's memory, as the buffer is, and belong to one task at a time. They own
 * nothing: ending one is forgetting it, and what a writer has not flushed by then is not written.
 * Calls that wait do so as asx_stream_read() and asx_stream_write() do, with their statuses, in
 * poll tasks, too.
 *
 * Frames have their length before them, in `prefix` bytes.
 *
 * Cancellation. A reader keeps what has come; the same call goes on where it was. A writer keeps
 * what has not gone out; the next flush goes on. So nothing is cut, with one exception: a frame
 * that does not fit into the writer's buffer goes out from the caller's memory, and if that is
 * cancelled or fails in the middle the writer is poisoned: no other frame can follow half a frame.
 */
#ifndef ASX_BUFFER_H
#define ASX_BUFFER_H

#include <asx/io.h>

ASX_BEGIN_DECLS

/* Fields are private. */
typedef struct asx_reader {
    asx_stream stream_;
    unsigned char *buffer_;
    size_t size_, from_, to_;
    bool ended_;
} asx_reader;

/* A reader of this stream, whose handle is copied. `buffer` is borrowed as long as the reader is
 * used; no line or frame is longer than `size`. ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_reader_init(asx_reader *reader, const asx_stream *stream, void *buffer,
                                   size_t size);

/* Waits until at least `least` bytes are there, and shows all that are; they stay until
 * asx_reader_consume(). Borrowed until the next call with the reader.
 *   ASX_E_END       the input has ended, *ret_size says how many there are
 *   ASX_E_TOO_LONG  `least` is more than the buffer holds */
ASX_API asx_status asx_reader_peek(asx_cx *cx, asx_reader *reader, size_t least,
                                   const void **ret_data, size_t *ret_size);
/* Takes the first `size` bytes of those that are there. ASX_E_INVALID_ARGUMENT: there are fewer. */
ASX_API asx_status asx_reader_consume(asx_reader *reader, size_t size);

/* Reads a line: up to a line feed, which is left out, as is a carriage return before it. What
 * stands behind the last line feed is a line, too, unless it is nothing. Borrowed until the next
 * call; it is not terminated.
 *   ASX_E_END       there is no other line
 *   ASX_E_TOO_LONG  it does not fit into the buffer; it stays there */
ASX_API asx_status asx_reader_line(asx_cx *cx, asx_reader *reader, const char **ret_line,
                                   size_t *ret_size);

/* Zero in any field means its default. */
typedef struct asx_frame_options {
    uint32_t prefix;       /* bytes of the length before each frame: 1, 2, 4 (default) or 8 */
    bool little_endian;    /* of the length; default big-endian, the order of networks */
    uint64_t size_max;     /* a longer one is refused; default what buffer and prefix allow */
} asx_frame_options;

/* Reads a frame; it may be empty. Borrowed until the next call.
 *   ASX_E_END       the input has ended where a frame could begin
 *   ASX_E_RESET     the input has ended in the middle of one
 *   ASX_E_TOO_LONG  its length is more than `size_max`, or it does not fit into the buffer */
ASX_API asx_status asx_reader_frame(asx_cx *cx, asx_reader *reader,
                                    const asx_frame_options *options, const void **ret_data,
                                    size_t *ret_size);

/* Copies bytes to another stream: what the reader has, and what it reads, until `size` bytes have
 * gone or its input has ended. *done counts them, and is moved on. What has been read and not
 * written when the call is cancelled stays in the reader. ASX_E_END: the input has ended, *done
 * says where. */
ASX_API asx_status asx_reader_copy(asx_cx *cx, asx_reader *reader, const asx_stream *to,
                                   uint64_t size, uint64_t *done);

/* Fields are private. */
typedef struct asx_writer {
    asx_stream stream_;
    unsigned char *buffer_;
    size_t size_, from_, to_;
    const void *frame_;
    size_t frame_size_, frame_done_;
    bool poisoned_;
} asx_writer;

/* A writer to this stream, whose handle is copied. `buffer` is borrowed as long as the writer is
 * used. ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_writer_init(asx_writer *writer, const asx_stream *stream, void *buffer,
                                   size_t size);
/* Puts bytes into the buffer, and writes it out when it is full. *done as in
 * asx_stream_write_all(): so many are in the buffer or on their way. ASX_E_POISONED. */
ASX_API asx_status asx_writer_put(asx_cx *cx, asx_writer *writer, const void *data, size_t size,
                                  size_t *done);
/* Writes out what is in the buffer. ASX_E_POISONED. */
ASX_API asx_status asx_writer_flush(asx_cx *cx, asx_writer *writer);
/* Puts a frame into the buffer, all of it or nothing, and writes the buffer out before that if it
 * is too full. One that the buffer cannot hold is written out at once; a poll task repeats the call
 * with the same frame.
 *   ASX_E_TOO_LONG  more than `size_max`, or more than the prefix can say
 *   ASX_E_POISONED  a frame before this one was cut */
ASX_API asx_status asx_writer_frame(asx_cx *cx, asx_writer *writer, const void *data, size_t size,
                                    const asx_frame_options *options);

ASX_END_DECLS

#endif
