/* test_buffer.c - lines and frames, whole or not at all. */
#include "io/support_io.h"

#include <asx/buffer.h>

#include <string.h>

typedef struct pair {
    asx_stream one, other;
} pair;

static void line_is(asx_cx *cx, asx_reader *r, const char *wanted)
{
    const char *line;
    size_t size;
    CHECK_STATUS(asx_reader_line(cx, r, &line, &size), ASX_OK);
    CHECK_EQ(size, strlen(wanted));
    CHECK_MEM_EQ(line, wanted, size);
}

static asx_status says(asx_cx *cx, const asx_stream *stream, const char *text)
{
    size_t done = 0;
    return asx_stream_write_all(cx, stream, text, strlen(text), &done);
}

static asx_status reads_lines(asx_cx *cx, void *arg)
{
    pair p;
    asx_reader r;
    char buffer[16];
    const char *line;
    size_t size;
    (void)arg;
    CHECK_EQ(asx_stream_pair(cx, NULL, &p.one, &p.other), ASX_OK);
    CHECK_EQ(asx_reader_init(&r, &p.other, buffer, sizeof buffer), ASX_OK);
    CHECK_EQ(says(cx, &p.one, "a\r\n\nbcd\n\r\nthis one is 18\nx\ry"), ASX_OK);
    line_is(cx, &r, "a");
    line_is(cx, &r, "");
    line_is(cx, &r, "bcd");
    line_is(cx, &r, "");
    line_is(cx, &r, "this one is 18");
    CHECK_EQ(asx_stream_close(cx, &p.one), ASX_OK);
    line_is(cx, &r, "x\ry"); /* the last one has no end */
    CHECK_EQ(asx_reader_line(cx, &r, &line, &size), ASX_E_END);
    CHECK_EQ(asx_stream_pair(cx, NULL, &p.one, &p.other), ASX_OK);
    CHECK_EQ(asx_reader_init(&r, &p.other, buffer, sizeof buffer), ASX_OK);
    CHECK_EQ(says(cx, &p.one, "seventeen letters\n"), ASX_OK);
    CHECK_EQ(asx_reader_line(cx, &r, &line, &size), ASX_E_TOO_LONG);
    const void *data; /* and it is still there */
    CHECK_EQ(asx_reader_peek(cx, &r, 16, &data, &size), ASX_OK);
    CHECK_MEM_EQ(data, "seventeen letter", 16);
    CHECK_EQ(asx_reader_peek(cx, &r, 17, &data, &size), ASX_E_TOO_LONG);
    CHECK_EQ(asx_reader_consume(&r, 10), ASX_OK);
    line_is(cx, &r, "letters");
    return ASX_OK;
}

ASX_TEST(lines_end_where_they_do_and_none_is_lost)
{
    io_run(reads_lines, NULL, ASX_OK);
}

/* ---- frames --------------------------------------------------------------------------------- */

static void frame_is(asx_cx *cx, asx_reader *r, const asx_frame_options *o, const char *wanted)
{
    const void *data;
    size_t size;
    CHECK_STATUS(asx_reader_frame(cx, r, o, &data, &size), ASX_OK);
    CHECK_EQ(size, strlen(wanted));
    CHECK_MEM_EQ(data, wanted, size);
}

static asx_status sends_frames(asx_cx *cx, void *arg)
{
    static const asx_frame_options kinds[] = { { .prefix = 0 }, { .prefix = 1 },
                                               { .prefix = 2, .little_endian = true },
                                               { .prefix = 8 } };
    pair p;
    asx_reader r;
    asx_writer w;
    char in[64], out[24];
    (void)arg;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        CHECK_EQ(asx_stream_pair(cx, NULL, &p.one, &p.other), ASX_OK);
        CHECK_EQ(asx_reader_init(&r, &p.other, in, sizeof in), ASX_OK);
        CHECK_EQ(asx_writer_init(&w, &p.one, out, sizeof out), ASX_OK);
        CHECK_EQ(asx_writer_frame(cx, &w, "first", 5, &kinds[i]), ASX_OK);
        CHECK_EQ(asx_writer_frame(cx, &w, NULL, 0, &kinds[i]), ASX_OK);
        CHECK_EQ(asx_writer_frame(cx, &w, "third, too long for it", 22, &kinds[i]), ASX_OK);
        CHECK_EQ(asx_writer_frame(cx, &w, "4", 1, &kinds[i]), ASX_OK);
        CHECK_EQ(asx_writer_flush(cx, &w), ASX_OK);
        frame_is(cx, &r, &kinds[i], "first");
        frame_is(cx, &r, &kinds[i], "");
        frame_is(cx, &r, &kinds[i], "third, too long for it");
        frame_is(cx, &r, &kinds[i], "4");
    }
    return ASX_OK;
}

ASX_TEST(frames_come_as_they_were_sent)
{
    io_run(sends_frames, NULL, ASX_OK);
}

static asx_status meets_bad_frames(asx_cx *cx, void *arg)
{
    pair p;
    asx_reader r;
    char in[32];
    const void *data;
    size_t size;
    asx_writer w;
    asx_frame_options small = { .prefix = 1, .size_max = 4 };
    (void)arg;
    CHECK_EQ(asx_stream_pair(cx, NULL, &p.one, &p.other), ASX_OK);
    CHECK_EQ(asx_reader_init(&r, &p.other, in, sizeof in), ASX_OK);
    CHECK_EQ(asx_stream_write(cx, &p.one, "\377\377\377\377", 4, &size), ASX_OK);
    CHECK_EQ(asx_reader_frame(cx, &r, NULL, &data, &size), ASX_E_TOO_LONG);
    CHECK_EQ(asx_reader_frame(cx, &r, &small, &data, &size), ASX_E_TOO_LONG);
    CHECK_EQ(asx_reader_consume(&r, 4), ASX_OK);
    CHECK_EQ(asx_stream_write(cx, &p.one, "\003ab", 3, &size), ASX_OK);
    CHECK_EQ(asx_stream_close(cx, &p.one), ASX_OK);
    CHECK_EQ(asx_reader_frame(cx, &r, &small, &data, &size), ASX_E_RESET); /* it was cut */
    CHECK_EQ(asx_reader_consume(&r, 3), ASX_OK);
    CHECK_EQ(asx_reader_frame(cx, &r, &small, &data, &size), ASX_E_END);
    CHECK_EQ(asx_writer_init(&w, &p.other, in, sizeof in), ASX_OK);
    CHECK_EQ(asx_writer_frame(cx, &w, "12345", 5, &small), ASX_E_TOO_LONG);
    return ASX_OK;
}

ASX_TEST(frames_that_lie_about_their_length_are_refused)
{
    io_run(meets_bad_frames, NULL, ASX_OK);
}

/* ---- cancelled writers ---------------------------------------------------------------------- */

typedef struct cut {
    asx_writer w;
    asx_status said;
    bool flushes;
    char big[65536];
} cut;

static cut scene;

static asx_status writes_frame(asx_cx *cx, void *arg)
{
    cut *c = arg;
    c->said = c->flushes ? asx_writer_flush(cx, &c->w)
                         : asx_writer_frame(cx, &c->w, c->big, sizeof c->big, NULL);
    return c->said;
}

static void cancel_a_writer(asx_cx *cx, bool flushes)
{
    asx_region r;
    scene.flushes = flushes;
    CHECK_EQ(asx_region_open(cx, &(asx_region_options){ .timeout_ns = 5 * ASX_MS }, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "writes", writes_frame, &scene), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_TIMEOUT);
    CHECK_STATUS(scene.said, ASX_E_CANCELLED);
}

/* Reads away all that is there. */
static size_t drink(asx_cx *cx, const asx_stream *stream)
{
    static char away[1 << 20];
    unsigned ready;
    size_t n, all = 0;
    asx_region r;
    do {
        CHECK_EQ(asx_stream_read(cx, stream, away, sizeof away, &n), ASX_OK);
        all += n;
        CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
        CHECK_EQ(asx_stream_wait(cx, stream, ASX_IO_READABLE | ASX_IO_WRITABLE, &ready), ASX_OK);
    } while (ready & ASX_IO_READABLE);
    return all;
}

static asx_status is_cut(asx_cx *cx, void *arg)
{
    pair p;
    char out[64];
    asx_reader r;
    char in[64];
    size_t done = 0;
    (void)arg;
    CHECK_EQ(asx_stream_pair(cx, NULL, &p.one, &p.other), ASX_OK);
    CHECK_EQ(asx_writer_init(&scene.w, &p.one, out, sizeof out), ASX_OK);
    io_fill(cx, &p.one);
    CHECK_EQ(asx_writer_frame(cx, &scene.w, "whole", 5, NULL), ASX_OK);
    cancel_a_writer(cx, true); /* what is in the buffer stays there */
    (void)drink(cx, &p.other);
    CHECK_EQ(asx_writer_flush(cx, &scene.w), ASX_OK);
    CHECK_EQ(asx_reader_init(&r, &p.other, in, sizeof in), ASX_OK);
    frame_is(cx, &r, NULL, "whole");
    asx_stream_tuning little = ASX_STREAM_TUNING;
    little.send_buffer = 4096;
    CHECK_EQ(asx_stream_tune(cx, &p.one, &little), ASX_OK);
    cancel_a_writer(cx, false); /* it begins, and cannot end */
    CHECK_EQ(asx_writer_frame(cx, &scene.w, "x", 1, NULL), ASX_E_POISONED);
    CHECK_EQ(asx_writer_put(cx, &scene.w, "x", 1, &done), ASX_E_POISONED);
    CHECK_EQ(asx_writer_flush(cx, &scene.w), ASX_E_POISONED);
    CHECK_NE(drink(cx, &p.other), 0u);
    return ASX_OK;
}

ASX_TEST(a_writer_is_poisoned_by_half_a_frame_and_by_nothing_else)
{
    io_run(is_cut, NULL, ASX_OK);
}

/* ---- poll tasks ----------------------------------------------------------------------------- */

typedef struct machine {
    asx_stream stream;
    asx_reader r;
    asx_writer w;
    char in[32], out[16];
    bool flushing;
    size_t frames, done;
} machine;

static asx_status step(asx_cx *cx, machine *m)
{
    const void *data;
    size_t size;
    asx_status st;
    if (m->flushing) {
        st = asx_writer_flush(cx, &m->w);
        if (st == ASX_OK)
            m->flushing = false;
        return st;
    }
    st = asx_reader_frame(cx, &m->r, NULL, &data, &size);
    if (st < 0)
        return st;
    m->frames++;
    m->done = 0;
    st = asx_writer_put(cx, &m->w, ".", 1, &m->done);
    m->flushing = true;
    return st;
}

static asx_poll answers(asx_cx *cx, void *state)
{
    machine *m = state;
    asx_status st;
    do
        st = step(cx, m);
    while (st == ASX_OK);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    return st == ASX_E_END ? ASX_POLL_READY : asx_poll_fail(cx, st);
}

static asx_status feeds_bytes(asx_cx *cx, void *arg)
{
    static const char bytes[] = "\0\0\0\003abc\0\0\0\0\0\0\0\001d";
    machine m = { .frames = 0 };
    asx_stream mine;
    asx_region r;
    size_t n;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &r, &mine, &m.stream), ASX_OK);
    CHECK_EQ(asx_reader_init(&m.r, &m.stream, m.in, sizeof m.in), ASX_OK);
    CHECK_EQ(asx_writer_init(&m.w, &m.stream, m.out, sizeof m.out), ASX_OK);
    CHECK_EQ(asx_spawn_poll(&r, "answers", answers, &m), ASX_OK);
    for (size_t i = 0; i < sizeof bytes - 1; i++) { /* one at a time */
        CHECK_EQ(asx_stream_write(cx, &mine, &bytes[i], 1, &n), ASX_OK);
        CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
    }
    CHECK_EQ(asx_stream_shutdown(cx, &mine), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(m.frames, 3u);
    return ASX_OK;
}

ASX_TEST(a_poll_task_reads_a_frame_that_comes_in_pieces)
{
    io_run(feeds_bytes, NULL, ASX_OK);
}
