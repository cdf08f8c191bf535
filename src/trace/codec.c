/* codec.c - trace files: the writer and the reader.
 *
 * All numbers are little-endian; `hash` is asx-mr64 (base/hash.h) with the key named.
 *
 *     offset  size
 *      0       8   magic: a5 'a' 's' 'x' 't' 'r' 0d 0a  (text conversion damages it)
 *      8       4   version
 *     12       4   version, every bit inverted; bytes 0..15 mean the same in all versions
 *     16       8   seed
 *     24       8   seq of the first event in the file
 *     32       8   number of events in the file
 *     40       8   number of events in the run
 *     48       8   length of the program text
 *     56       8   hash of bytes 0..55, key 1
 *     64       p   program text
 *     64+p     8   hash of the program text, key 2
 *     72+p         events, see below
 *      e       1   0: end of events
 *      e+1     8   digest of the run (trace.h)
 *      e+9     8   hash of everything before, key 3; the file ends here
 *
 * An event is a length byte, that many bytes of body, and a CRC-8 (x^8+x^2+x+1) of both, begun
 * with the low byte of its seq. The body holds the varints kind | worker << 32, time, task, object,
 * zigzag(a), zigzag(b), and the distance seq - cause (0: no cause). A varint has seven bits per
 * byte, lowest first, and no needless byte. The seq itself is not stored: events follow without
 * gaps, and one that is lost, doubled or out of place has the wrong CRC.
 *
 * Where is the damage? error_offset is the first byte that cannot be right:
 *     a byte of the magic; the version (8); the numbers (16); the program text (64)
 *     the event whose length, fields or CRC contradict each other
 *     the length of the file, if it ends too early; the first byte after its end, if too late
 *     the digest, or the last hash
 * The length byte makes this exact for every single damaged bit: what the fields take and what
 * the length promises then differ, whatever the CRC says of the misread rest. An all-fixed-width
 * format was rejected for size (61 bytes for about 15), checksums per block for their coarse
 * offsets, time as a difference because then no event could be read without the one before.
 */
#include "trace/trace.h"

#include <string.h>

#include "base/assert.h"

enum {
    VERSION = 1,
    AT_VERSION = 8,
    AT_NUMBERS = 16,
    AT_HEADER_HASH = 56,
    HEADER_SIZE = 64,
    TRAILER_SIZE = 16, /* after the end byte */
    BODY_MIN = 7,
    WORKER_BITS = 16,
    BODY_MAX = 67
};

enum { KEY_HEADER = 1, KEY_PROGRAM = 2, KEY_FILE = 3 };

static const uint8_t magic[8] = { 0xa5, 'a', 's', 'x', 't', 'r', '\r', '\n' };

/* The CRC of a byte is the sum (xor) of those of its halves: two small tables, read at once. */
static uint8_t crc8(uint8_t crc, const uint8_t *bytes, size_t len)
{
    static const uint8_t high[16] = { 0x00, 0x70, 0xe0, 0x90, 0xc7, 0xb7, 0x27, 0x57,
                                      0x89, 0xf9, 0x69, 0x19, 0x4e, 0x3e, 0xae, 0xde };
    static const uint8_t low[16] = { 0x00, 0x07, 0x0e, 0x09, 0x1c, 0x1b, 0x12, 0x15,
                                     0x38, 0x3f, 0x36, 0x31, 0x24, 0x23, 0x2a, 0x2d };
    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        crc = high[crc >> 4] ^ low[crc & 0x0f];
    }
    return crc;
}

static uint64_t zigzag(uint64_t x)
{
    return (x << 1) ^ (UINT64_C(0) - (x >> 63));
}

static uint64_t unzigzag(uint64_t x)
{
    return (x >> 1) ^ (UINT64_C(0) - (x & 1u));
}

static uint8_t *varint_put(uint8_t *at, uint64_t x)
{
    for (; x >= 0x80; x >>= 7)
        *at++ = (uint8_t)(x | 0x80);
    *at++ = (uint8_t)x;
    return at;
}

/* The varint at `at`, which ends before `end`. NULL: none. *ret_short tells whether it is right as
 * far as it goes, and only more bytes are missing. */
static const uint8_t *varint_get(const uint8_t *at, const uint8_t *end, uint64_t *ret_x,
                                 bool *ret_short)
{
    uint64_t x = 0;
    *ret_short = false;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (at == end) {
            *ret_short = true;
            return NULL;
        }
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1)
            return NULL;
        x |= (uint64_t)(byte & 0x7fu) << shift;
        if (byte < 0x80) {
            if (byte == 0 && shift > 0)
                return NULL;
            *ret_x = x;
            return at;
        }
    }
    return NULL;
}

/* ---- writer ---- */

typedef struct writer {
    asx_status (*sink)(void *ctx, const void *bytes, size_t len);
    void *ctx;
    asx_status status;
    asx__hasher hasher;
    size_t used;
    uint8_t buffer[512];
} writer;

static void writer_flush(writer *w)
{
    if (w->status == ASX_OK && w->used > 0) {
        asx_status st = w->sink(w->ctx, w->buffer, w->used);
        if (st < 0)
            w->status = st;
    }
    w->used = 0;
}

static void writer_put(writer *w, const void *bytes, size_t len)
{
    asx__hasher_bytes(&w->hasher, bytes, len);
    const uint8_t *from = bytes;
    while (len > 0 && w->status == ASX_OK) {
        size_t room = sizeof(w->buffer) - w->used;
        size_t part = len < room ? len : room;
        memcpy(w->buffer + w->used, from, part);
        w->used += part;
        from += part;
        len -= part;
        if (w->used == sizeof(w->buffer))
            writer_flush(w);
    }
}

static void writer_put_u64(writer *w, uint64_t x)
{
    uint8_t bytes[8];
    asx__store_le64(bytes, x);
    writer_put(w, bytes, sizeof(bytes));
}

static void writer_put_event(writer *w, const asx_event *event)
{
    uint8_t bytes[1 + BODY_MAX + 1];
    uint8_t *at = bytes + 1;
    ASX__ASSERT(event->cause < event->seq && event->worker >> WORKER_BITS == 0);
    at = varint_put(at, event->kind | (uint64_t)event->worker << 32);
    at = varint_put(at, event->time);
    at = varint_put(at, event->task);
    at = varint_put(at, event->object);
    at = varint_put(at, zigzag(event->a));
    at = varint_put(at, zigzag(event->b));
    at = varint_put(at, event->cause == 0 ? 0 : event->seq - event->cause);
    size_t len = (size_t)(at - bytes);
    bytes[0] = (uint8_t)(len - 1);
    bytes[len] = crc8((uint8_t)event->seq, bytes, len);
    writer_put(w, bytes, len + 1);
}

static void writer_put_header(writer *w, const asx__trace *trace, uint64_t seed,
                              size_t program_len)
{
    uint8_t header[HEADER_SIZE];
    size_t kept = asx__trace_kept(trace);
    uint64_t version = VERSION;
    memcpy(header, magic, sizeof(magic));
    asx__store_le64(header + AT_VERSION, version | (version ^ 0xffffffffu) << 32);
    asx__store_le64(header + AT_NUMBERS, seed);
    asx__store_le64(header + AT_NUMBERS + 8, kept > 0 ? asx__trace_at(trace, 0)->seq : 1);
    asx__store_le64(header + AT_NUMBERS + 16, kept);
    asx__store_le64(header + AT_NUMBERS + 24, asx__trace_events_total(trace));
    asx__store_le64(header + AT_NUMBERS + 32, program_len);
    asx__store_le64(header + AT_HEADER_HASH,
                    asx__hash_bytes(KEY_HEADER, header, AT_HEADER_HASH));
    writer_put(w, header, sizeof(header));
}

asx_status asx__trace_write(const asx__trace *trace, uint64_t seed, const char *program,
                            size_t program_len,
                            asx_status (*sink)(void *ctx, const void *bytes, size_t len), void *ctx)
{
    if (trace == NULL || !trace->on || sink == NULL || (program == NULL && program_len > 0))
        return ASX_E_INVALID_ARGUMENT;
    writer w = { .sink = sink, .ctx = ctx, .status = ASX_OK };
    asx__hasher_init(&w.hasher, KEY_FILE);
    writer_put_header(&w, trace, seed, program_len);
    writer_put(&w, program, program_len);
    writer_put_u64(&w, asx__hash_bytes(KEY_PROGRAM, program, program_len));
    size_t kept = asx__trace_kept(trace);
    for (size_t i = 0; i < kept && w.status == ASX_OK; i++)
        writer_put_event(&w, asx__trace_at(trace, i));
    writer_put(&w, &(uint8_t){ 0 }, 1);
    writer_put_u64(&w, asx__trace_digest(trace));
    writer_put_u64(&w, asx__hasher_value(&w.hasher));
    writer_flush(&w);
    return w.status;
}

/* ---- reader ---- */

static asx_status corrupt(asx_trace_reader *reader, size_t offset)
{
    reader->error_offset = offset;
    return ASX_E_TRACE_CORRUPT;
}

/* Decodes the event at reader->pos, whose seq is reader->next_seq. Changes the reader only by
 * error_offset. */
static asx_status event_get(asx_trace_reader *reader, asx_event *ret_event, size_t *ret_size)
{
    const uint8_t *start = reader->bytes + reader->pos;
    size_t left = reader->len - reader->pos;
    if (left == 0)
        return corrupt(reader, reader->len);
    size_t body = start[0];
    if (body < BODY_MIN || body > BODY_MAX)
        return corrupt(reader, reader->pos);
    const uint8_t *end = start + (left < 1 + body ? left : 1 + body);
    const uint8_t *at = start + 1;
    uint64_t field[7];
    for (unsigned i = 0; i < 7; i++) {
        bool is_short;
        at = varint_get(at, end, &field[i], &is_short);
        if (at == NULL) /* ends early: is it the file that does, or the body? */
            return corrupt(reader, is_short && left < 1 + body ? reader->len : reader->pos);
    }
    if (at != start + 1 + body)
        return corrupt(reader, reader->pos);
    if (left < 1 + body + 1)
        return corrupt(reader, reader->len);
    uint64_t seq = reader->next_seq;
    if (*at != crc8((uint8_t)seq, start, 1 + body) || field[0] >> 32 >> WORKER_BITS != 0 ||
        !asx__event_kind_known(field[0] & UINT32_MAX) || field[6] >= seq)
        return corrupt(reader, reader->pos);
    *ret_event = (asx_event){ .seq = seq, .time = field[1], .kind = (uint32_t)field[0],
                              .worker = (uint32_t)(field[0] >> 32), .task = field[2],
                              .object = field[3], .a = unzigzag(field[4]),
                              .b = unzigzag(field[5]),
                              .cause = field[6] == 0 ? 0 : seq - field[6] };
    *ret_size = 1 + body + 1;
    return ASX_OK;
}

static asx_status magic_check(asx_trace_reader *reader)
{
    for (size_t i = 0; i < sizeof(magic); i++) {
        if (i == reader->len || reader->bytes[i] != magic[i])
            return corrupt(reader, i);
    }
    if (reader->len < AT_NUMBERS)
        return corrupt(reader, reader->len);
    uint64_t both = asx__load_le64(reader->bytes + AT_VERSION);
    if ((both >> 32) != ((both ^ 0xffffffffu) & 0xffffffffu))
        return corrupt(reader, AT_VERSION);
    if ((both & 0xffffffffu) != VERSION) {
        reader->error_offset = AT_VERSION;
        return ASX_E_TRACE_VERSION;
    }
    return ASX_OK;
}

/* Leaves pos at the first event. */
static asx_status header_get(asx_trace_reader *reader)
{
    const uint8_t *bytes = reader->bytes;
    asx_status st = magic_check(reader);
    if (st < 0)
        return st;
    if (reader->len < HEADER_SIZE)
        return corrupt(reader, reader->len);
    if (asx__load_le64(bytes + AT_HEADER_HASH) !=
        asx__hash_bytes(KEY_HEADER, bytes, AT_HEADER_HASH))
        return corrupt(reader, AT_NUMBERS);
    uint64_t program_len = asx__load_le64(bytes + AT_NUMBERS + 32);
    reader->seed = asx__load_le64(bytes + AT_NUMBERS);
    reader->next_seq = asx__load_le64(bytes + AT_NUMBERS + 8);
    reader->event_count = asx__load_le64(bytes + AT_NUMBERS + 16);
    reader->events_total = asx__load_le64(bytes + AT_NUMBERS + 24);
    if (reader->next_seq == 0 || reader->event_count > reader->events_total ||
        reader->next_seq - 1 > reader->events_total - reader->event_count)
        return corrupt(reader, AT_NUMBERS);
    size_t left = reader->len - HEADER_SIZE;
    if (left < 8 || program_len > left - 8)
        return corrupt(reader, reader->len);
    reader->program = (const char *)bytes + HEADER_SIZE;
    reader->program_len = (size_t)program_len;
    if (asx__load_le64(bytes + HEADER_SIZE + reader->program_len) !=
        asx__hash_bytes(KEY_PROGRAM, reader->program, reader->program_len))
        return corrupt(reader, HEADER_SIZE);
    reader->pos = HEADER_SIZE + reader->program_len + 8;
    return ASX_OK;
}

/* Walks over all events, so that a reader that was accepted can be read to the end. `walk` is a
 * copy whose pos then stands at the end byte; *ret_digest is that of the events in the file. */
static asx_status events_check(asx_trace_reader *walk, uint64_t *ret_digest)
{
    uint64_t state = asx__hash_begin(0);
    for (uint64_t i = 0; i < walk->event_count; i++) {
        asx_event event;
        size_t size;
        asx_status st = event_get(walk, &event, &size);
        if (st < 0)
            return st;
        state = asx__event_absorb(state, &event);
        walk->pos += size;
        walk->next_seq++;
    }
    size_t left = walk->len - walk->pos;
    if (left == 0)
        return corrupt(walk, walk->len);
    if (walk->bytes[walk->pos] != 0)
        return corrupt(walk, walk->pos);
    if (left < 1 + TRAILER_SIZE)
        return corrupt(walk, walk->len);
    if (left > 1 + TRAILER_SIZE)
        return corrupt(walk, walk->pos + 1 + TRAILER_SIZE);
    *ret_digest = asx__hash_finish(state, walk->event_count * ASX__EVENT_DIGEST_BYTES);
    return ASX_OK;
}

static asx_status trailer_check(asx_trace_reader *reader, uint64_t digest_of_file)
{
    size_t at_digest = reader->len - TRAILER_SIZE;
    size_t at_hash = reader->len - 8;
    reader->digest = asx__load_le64(reader->bytes + at_digest);
    bool complete = reader->event_count == reader->events_total;
    if (complete && reader->digest != digest_of_file)
        return corrupt(reader, at_digest);
    if (asx__load_le64(reader->bytes + at_hash) !=
        asx__hash_bytes(KEY_FILE, reader->bytes, at_hash))
        return corrupt(reader, complete ? at_hash : at_digest);
    return ASX_OK;
}

asx_status asx_trace_reader_init(asx_trace_reader *reader, const void *bytes, size_t len)
{
    if (reader == NULL)
        return ASX_E_INVALID_ARGUMENT;
    memset(reader, 0, sizeof(*reader));
    if (bytes == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_trace_reader found = { .bytes = bytes, .len = len };
    asx_status st = header_get(&found);
    if (st == ASX_OK) {
        asx_trace_reader walk = found;
        uint64_t digest;
        st = events_check(&walk, &digest);
        if (st == ASX_OK)
            st = trailer_check(&found, digest);
        else
            found.error_offset = walk.error_offset;
    }
    if (st < 0)
        reader->error_offset = found.error_offset;
    else
        *reader = found;
    return st;
}

asx_status asx_trace_reader_next(asx_trace_reader *reader, asx_event *ret_event)
{
    if (reader == NULL || reader->bytes == NULL || ret_event == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (reader->pos >= reader->len)
        return corrupt(reader, reader->len);
    if (reader->bytes[reader->pos] == 0)
        return ASX_E_EMPTY;
    asx_event event;
    size_t size;
    asx_status st = event_get(reader, &event, &size);
    if (st < 0)
        return st;
    reader->pos += size;
    reader->next_seq++;
    *ret_event = event;
    return ASX_OK;
}
