/* buffer.c - readers and writers: bytes between from_ and to_ are in the buffer.
 *
 *     from_ <= to_ <= size_
 *     frame_ != NULL  <=>  a frame that does not fit is on its way, frame_done_ of it, its prefix
 *                          included, has gone out
 */
#include "io/io.h"

#include <asx/buffer.h>

#include <string.h>

/* ---- readers -------------------------------------------------------------------------------- */

asx_status asx_reader_init(asx_reader *reader, const asx_stream *stream, void *buffer, size_t size)
{
    if (reader == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *reader = (asx_reader){ .buffer_ = NULL };
    if (stream == NULL || buffer == NULL || size == 0)
        return ASX_E_INVALID_ARGUMENT;
    *reader = (asx_reader){ .stream_ = *stream, .buffer_ = buffer, .size_ = size };
    return ASX_OK;
}

/* Reads more behind what is there. ASX_E_END; the buffer is not full. */
static asx_status fill(asx_cx *cx, asx_reader *r)
{
    size_t n;
    if (r->ended_)
        return ASX_E_END;
    if (r->from_ == r->to_)
        r->from_ = r->to_ = 0;
    if (r->to_ == r->size_) {
        memmove(r->buffer_, r->buffer_ + r->from_, r->to_ - r->from_);
        r->to_ -= r->from_;
        r->from_ = 0;
    }
    asx_status st = asx_stream_read(cx, &r->stream_, r->buffer_ + r->to_, r->size_ - r->to_, &n);
    if (st < 0)
        return st;
    r->to_ += n;
    r->ended_ = n == 0;
    return n == 0 ? ASX_E_END : ASX_OK;
}

asx_status asx_reader_peek(asx_cx *cx, asx_reader *reader, size_t least, const void **ret_data,
                           size_t *ret_size)
{
    asx_reader *r = reader;
    asx_status st = ASX_OK;
    if (ret_data == NULL || ret_size == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_data = NULL;
    *ret_size = 0;
    if (r == NULL || r->buffer_ == NULL || least == 0)
        return ASX_E_INVALID_ARGUMENT;
    if (least > r->size_)
        return ASX_E_TOO_LONG;
    while (st == ASX_OK && r->to_ - r->from_ < least) {
        if (r->size_ - r->from_ < least) {
            memmove(r->buffer_, r->buffer_ + r->from_, r->to_ - r->from_);
            r->to_ -= r->from_;
            r->from_ = 0;
        }
        st = fill(cx, r);
    }
    *ret_data = r->buffer_ + r->from_;
    *ret_size = r->to_ - r->from_;
    return st;
}

asx_status asx_reader_consume(asx_reader *reader, size_t size)
{
    if (reader == NULL || reader->buffer_ == NULL || size > reader->to_ - reader->from_)
        return ASX_E_INVALID_ARGUMENT;
    reader->from_ += size;
    return ASX_OK;
}

asx_status asx_reader_line(asx_cx *cx, asx_reader *reader, const char **ret_line, size_t *ret_size)
{
    asx_reader *r = reader;
    size_t seen = 0;
    if (ret_line == NULL || ret_size == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_line = NULL;
    *ret_size = 0;
    if (r == NULL || r->buffer_ == NULL)
        return ASX_E_INVALID_ARGUMENT;
    for (;;) {
        unsigned char *line = r->buffer_ + r->from_;
        size_t size = r->to_ - r->from_;
        const unsigned char *end = size > seen ? memchr(line + seen, '\n', size - seen) : NULL;
        if (end == NULL && size == r->size_)
            return ASX_E_TOO_LONG;
        seen = size;
        asx_status st = end != NULL ? ASX_OK : fill(cx, r);
        if (st == ASX_OK && end == NULL)
            continue;
        if (st < 0 && (st != ASX_E_END || size == 0))
            return st;
        size = end != NULL ? (size_t)(end - line) : size;
        r->from_ += size + (end != NULL);
        *ret_line = (const char *)line;
        *ret_size = size - (end != NULL && size != 0 && line[size - 1] == '\r');
        return ASX_OK;
    }
}

asx_status asx_reader_copy(asx_cx *cx, asx_reader *reader, const asx_stream *to, uint64_t size,
                           uint64_t *done)
{
    asx_status st = ASX_OK;
    if (reader == NULL || reader->buffer_ == NULL || done == NULL || *done > size)
        return ASX_E_INVALID_ARGUMENT;
    while (st == ASX_OK && *done < size) {
        const void *data;
        size_t here, n = 0;
        st = asx_reader_peek(cx, reader, 1, &data, &here);
        if (st < 0)
            return st;
        if (here > size - *done)
            here = (size_t)(size - *done);
        st = asx_stream_write(cx, to, data, here, &n);
        reader->from_ += n;
        *done += n;
    }
    return st;
}

/* ---- frames --------------------------------------------------------------------------------- */

/* False: no prefix has that many bytes. */
static bool prefix_of(const asx_frame_options *options, unsigned *ret_prefix)
{
    *ret_prefix = options == NULL || options->prefix == 0 ? 4 : options->prefix;
    return *ret_prefix == 1 || *ret_prefix == 2 || *ret_prefix == 4 || *ret_prefix == 8;
}

static bool is_little(const asx_frame_options *options)
{
    return options != NULL && options->little_endian;
}

static bool is_too_long(uint64_t size, unsigned prefix, const asx_frame_options *options)
{
    return (prefix < 8 && size >> (8 * prefix) != 0) ||
           (options != NULL && options->size_max != 0 && size > options->size_max);
}

static uint64_t get_length(const unsigned char *at, unsigned prefix, bool little)
{
    uint64_t length = 0;
    for (unsigned i = 0; i < prefix; i++)
        length = length << 8 | at[little ? prefix - 1 - i : i];
    return length;
}

static void put_length(unsigned char *at, unsigned prefix, bool little, uint64_t length)
{
    for (unsigned i = 0; i < prefix; i++)
        at[little ? i : prefix - 1 - i] = (unsigned char)(length >> 8 * i);
}

asx_status asx_reader_frame(asx_cx *cx, asx_reader *reader, const asx_frame_options *options,
                            const void **ret_data, size_t *ret_size)
{
    const void *data;
    size_t size;
    unsigned prefix;
    if (ret_data == NULL || ret_size == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_data = NULL;
    *ret_size = 0;
    if (!prefix_of(options, &prefix))
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx_reader_peek(cx, reader, prefix, &data, &size);
    if (st == ASX_E_END)
        return size == 0 ? ASX_E_END : ASX_E_RESET;
    if (st < 0)
        return st;
    uint64_t length = get_length(data, prefix, is_little(options));
    if (is_too_long(length, prefix, options) || length > reader->size_ - prefix)
        return ASX_E_TOO_LONG;
    st = asx_reader_peek(cx, reader, prefix + (size_t)length, &data, &size);
    if (st < 0)
        return st == ASX_E_END ? ASX_E_RESET : st;
    reader->from_ += prefix + (size_t)length;
    *ret_data = (const unsigned char *)data + prefix;
    *ret_size = (size_t)length;
    return ASX_OK;
}

/* ---- writers -------------------------------------------------------------------------------- */

asx_status asx_writer_init(asx_writer *writer, const asx_stream *stream, void *buffer, size_t size)
{
    if (writer == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *writer = (asx_writer){ .buffer_ = NULL };
    if (stream == NULL || buffer == NULL || size == 0)
        return ASX_E_INVALID_ARGUMENT;
    *writer = (asx_writer){ .stream_ = *stream, .buffer_ = buffer, .size_ = size };
    return ASX_OK;
}

static asx_status usable(const asx_writer *w)
{
    if (w == NULL || w->buffer_ == NULL)
        return ASX_E_INVALID_ARGUMENT;
    return w->poisoned_ ? ASX_E_POISONED : ASX_OK;
}

static asx_status drain(asx_cx *cx, asx_writer *w)
{
    if (w->from_ == w->to_)
        return ASX_OK;
    asx_status st = asx_stream_write_all(cx, &w->stream_, w->buffer_, w->to_, &w->from_);
    if (st == ASX_OK)
        w->from_ = w->to_ = 0;
    return st;
}

asx_status asx_writer_flush(asx_cx *cx, asx_writer *writer)
{
    asx_status st = usable(writer);
    if (st == ASX_OK && writer->frame_ != NULL)
        return ASX_E_BUSY;
    return st < 0 ? st : drain(cx, writer);
}

asx_status asx_writer_put(asx_cx *cx, asx_writer *writer, const void *data, size_t size,
                          size_t *done)
{
    asx_status st = usable(writer);
    if (st < 0)
        return st;
    if (done == NULL || (data == NULL && size != 0) || *done > size)
        return ASX_E_INVALID_ARGUMENT;
    if (writer->frame_ != NULL)
        return ASX_E_BUSY;
    while (st == ASX_OK && *done < size) {
        size_t room = writer->size_ - writer->to_;
        size_t n = size - *done < room ? size - *done : room;
        memcpy(writer->buffer_ + writer->to_, (const char *)data + *done, n);
        writer->to_ += n;
        *done += n;
        if (*done < size)
            st = drain(cx, writer);
    }
    return st;
}

/* A frame that the buffer cannot hold, from where it is. */
static asx_status write_out(asx_cx *cx, asx_writer *w, const void *data, size_t size,
                            const unsigned char *head, unsigned prefix)
{
    if (w->frame_ != NULL && (w->frame_ != data || w->frame_size_ != size)) {
        w->poisoned_ = true; /* a poll task has begun another one in the middle */
        return ASX_E_POISONED;
    }
    asx_io_part parts[2] = { { (void *)(uintptr_t)head, prefix },
                             { (void *)(uintptr_t)data, size } };
    if (w->frame_ == NULL)
        w->frame_done_ = 0;
    asx_status st = asx_stream_write_parts(cx, &w->stream_, parts, 2, &w->frame_done_);
    bool begun = w->frame_done_ != 0 || st == ASX_E_WOULD_BLOCK;
    w->frame_ = st == ASX_E_WOULD_BLOCK && begun ? data : NULL;
    w->frame_size_ = size;
    if (st < 0 && st != ASX_E_WOULD_BLOCK && w->frame_done_ != 0)
        w->poisoned_ = true;
    return st;
}

asx_status asx_writer_frame(asx_cx *cx, asx_writer *writer, const void *data, size_t size,
                            const asx_frame_options *options)
{
    unsigned char head[8];
    unsigned prefix;
    asx_writer *w = writer;
    asx_status st = usable(w);
    if (st < 0)
        return st;
    if ((data == NULL && size != 0) || !prefix_of(options, &prefix))
        return ASX_E_INVALID_ARGUMENT;
    if (is_too_long(size, prefix, options))
        return ASX_E_TOO_LONG;
    put_length(head, prefix, is_little(options), size);
    if (w->frame_ != NULL)
        return write_out(cx, w, data, size, head, prefix);
    bool fits = w->size_ >= prefix && size <= w->size_ - prefix;
    if (!fits || w->size_ - w->to_ < prefix + size)
        st = drain(cx, w);
    if (st < 0)
        return st;
    if (!fits)
        return write_out(cx, w, data, size, head, prefix);
    memcpy(w->buffer_ + w->to_, head, prefix);
    if (size != 0)
        memcpy(w->buffer_ + w->to_ + prefix, data, size);
    w->to_ += prefix + size;
    return ASX_OK;
}
