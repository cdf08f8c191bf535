/* test_cancel.c - what a cancelled operation says, and what it leaves: a stream that is as good as
 * before. */
#include "io/support_io.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct scene {
    asx_stream one, other;
    asx_listener listener;
    asx_address full;  /* nobody accepts there, and no more fit into the queue */
    asx_region region; /* that is cancelled */
    asx_status said;
    size_t n, done;
    unsigned ready;
    char buffer[1 << 20];
} scene;

static scene stage; /* too big for a fiber */

/* Runs `waits` in a region that is cancelled while it waits, or before it begins. */
static void cancel_it(asx_cx *cx, asx_task_fn waits, bool at_once)
{
    asx_region r;
    stage.said = ASX_OK;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "waits", waits, &stage), ASX_OK);
    if (!at_once)
        CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    CHECK_EQ(asx_region_cancel(&r, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
}

static asx_status reads(asx_cx *cx, void *arg)
{
    scene *s = arg;
    s->n = 77;
    s->said = asx_stream_read(cx, &s->one, s->buffer, sizeof s->buffer, &s->n);
    return s->said;
}

static asx_status reads_exactly(asx_cx *cx, void *arg)
{
    scene *s = arg;
    s->said = asx_stream_read_exact(cx, &s->one, s->buffer, 8, &s->done);
    return s->said;
}

static asx_status writes(asx_cx *cx, void *arg)
{
    scene *s = arg;
    s->n = 77;
    s->said = asx_stream_write(cx, &s->one, "x", 1, &s->n);
    return s->said;
}

static asx_status writes_all(asx_cx *cx, void *arg)
{
    scene *s = arg;
    s->said = asx_stream_write_all(cx, &s->one, s->buffer, sizeof s->buffer, &s->done);
    return s->said;
}

static asx_status waits_until_readable(asx_cx *cx, void *arg)
{
    scene *s = arg;
    s->said = asx_stream_wait(cx, &s->one, ASX_IO_READABLE, &s->ready);
    return s->said;
}

static asx_status accepts(asx_cx *cx, void *arg)
{
    scene *s = arg;
    asx_stream stream;
    s->said = asx_listener_accept(cx, &s->listener, NULL, &stream);
    CHECK(stream.file_ == NULL);
    return s->said;
}

static asx_status connects(asx_cx *cx, void *arg)
{
    scene *s = arg;
    asx_stream stream;
    s->said = asx_connect(cx, NULL, &s->full, NULL, &stream);
    CHECK(stream.file_ == NULL);
    return s->said;
}

static asx_status read_and_again(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_EQ(asx_stream_pair(cx, NULL, &stage.one, &stage.other), ASX_OK);
    for (int i = 0; i < 2; i++) {
        cancel_it(cx, reads, i == 1);
        CHECK_STATUS(stage.said, ASX_E_CANCELLED);
        CHECK_EQ(stage.n, 0u);
    }
    CHECK_EQ(asx_stream_write(cx, &stage.other, "y", 1, &stage.n), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &stage.one, stage.buffer, 9, &stage.n), ASX_OK);
    CHECK_EQ(stage.n, 1u);
    CHECK_EQ(stage.buffer[0], 'y');
    return ASX_OK;
}

ASX_TEST(a_cancelled_read_has_taken_nothing)
{
    io_run(read_and_again, NULL, ASX_OK);
}

static asx_status read_exact_goes_on(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_EQ(asx_stream_pair(cx, NULL, &stage.one, &stage.other), ASX_OK);
    CHECK_EQ(asx_stream_write(cx, &stage.other, "abc", 3, &stage.n), ASX_OK);
    cancel_it(cx, reads_exactly, false);
    CHECK_STATUS(stage.said, ASX_E_CANCELLED);
    CHECK_EQ(stage.done, 3u); /* cancelled after three of eight */
    CHECK_EQ(asx_stream_write(cx, &stage.other, "defgh", 5, &stage.n), ASX_OK);
    CHECK_EQ(asx_stream_read_exact(cx, &stage.one, stage.buffer, 8, &stage.done), ASX_OK);
    CHECK_MEM_EQ(stage.buffer, "abcdefgh", 8);
    return ASX_OK;
}

ASX_TEST(a_cancelled_read_of_all_says_how_much_and_goes_on_from_there)
{
    io_run(read_exact_goes_on, NULL, ASX_OK);
}

static asx_status write_and_again(asx_cx *cx, void *arg)
{
    size_t had;
    (void)arg;
    CHECK_EQ(asx_stream_pair(cx, NULL, &stage.one, &stage.other), ASX_OK);
    io_fill(cx, &stage.one);
    cancel_it(cx, writes, false);
    CHECK_STATUS(stage.said, ASX_E_CANCELLED);
    CHECK_EQ(stage.n, 0u);
    do
        CHECK_EQ(asx_stream_read(cx, &stage.other, stage.buffer, sizeof stage.buffer, &had),
                 ASX_OK);
    while (had == sizeof stage.buffer);
    return ASX_OK;
}

ASX_TEST(a_cancelled_write_has_written_nothing)
{
    io_run(write_and_again, NULL, ASX_OK);
}

static asx_status counts(asx_cx *cx, void *arg)
{
    size_t seen = 0, n;
    (void)arg;
    CHECK_EQ(asx_stream_pair(cx, NULL, &stage.one, &stage.other), ASX_OK);
    for (size_t i = 0; i < sizeof stage.buffer; i++)
        stage.buffer[i] = (char)(i % 253);
    cancel_it(cx, writes_all, false);
    CHECK_STATUS(stage.said, ASX_E_CANCELLED);
    CHECK(stage.done > 0 && stage.done < sizeof stage.buffer);
    CHECK_EQ(asx_stream_close(cx, &stage.one), ASX_OK);
    do { /* exactly that many have arrived */
        static unsigned char heard[65536];
        CHECK_EQ(asx_stream_read(cx, &stage.other, heard, sizeof heard, &n), ASX_OK);
        for (size_t i = 0; i < n; i++)
            CHECK_EQ(heard[i], (seen + i) % 253);
        seen += n;
    } while (n != 0);
    CHECK_EQ(seen, stage.done);
    return ASX_OK;
}

ASX_TEST(a_cancelled_write_of_all_says_how_many_the_peer_will_see)
{
    io_run(counts, NULL, ASX_OK);
}

/* A listener that does not answer any more; and who waits there. */
static void make_full(asx_cx *cx, int *fds, int count)
{
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof name;
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(fds[0], (void *)&name, size), 0);
    CHECK_EQ(listen(fds[0], 0), 0);
    CHECK_EQ(getsockname(fds[0], (void *)&name, &size), 0);
    for (int i = 1; i < count; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(fds[i], (void *)&name, size);
    }
    CHECK_EQ(asx_address_ip("127.0.0.1", ntohs(name.sin_port), &stage.full), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
}

static asx_status others(asx_cx *cx, void *arg)
{
    asx_address at;
    int fds[4];
    (void)arg;
    make_full(cx, fds, 4);
    io_listen(cx, NULL, &stage.listener, &at);
    CHECK_EQ(asx_stream_pair(cx, NULL, &stage.one, &stage.other), ASX_OK);
    asx_task_fn const waits[] = { waits_until_readable, accepts, connects };
    for (int i = 0; i < 6; i++) {
        cancel_it(cx, waits[i / 2], i % 2 == 1);
        CHECK_STATUS(stage.said, ASX_E_CANCELLED);
    }
    CHECK_EQ(stage.ready, 0u);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    asx_stream client, server; /* and the listener goes on */
    CHECK_EQ(asx_connect(cx, NULL, &at, NULL, &client), ASX_OK);
    CHECK_EQ(asx_listener_accept(cx, &stage.listener, NULL, &server), ASX_OK);
    CHECK_EQ(asx_stream_wait(cx, &client, ASX_IO_READABLE | ASX_IO_WRITABLE, &stage.ready),
             ASX_OK);
    CHECK_EQ(stage.ready, (unsigned)ASX_IO_WRITABLE);
    CHECK_EQ(asx_stream_write(cx, &server, "x", 1, &stage.n), ASX_OK);
    CHECK_EQ(asx_stream_wait(cx, &client, ASX_IO_READABLE, &stage.ready), ASX_OK);
    CHECK_EQ(stage.ready, (unsigned)ASX_IO_READABLE);
    return ASX_OK;
}

ASX_TEST(accept_connect_and_readiness_are_cancelled_and_leave_nothing)
{
    io_run(others, NULL, ASX_OK);
}

/* ---- what happened first -------------------------------------------------------------------- */

static asx_status reads_and_is_told_later(asx_cx *cx, void *arg)
{
    scene *s = arg;
    s->said = asx_stream_read(cx, &s->one, s->buffer, 9, &s->n);
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    return s->said;
}

static asx_status reads_and_cancels(asx_cx *cx, void *arg)
{
    char byte;
    size_t n;
    CHECK_EQ(asx_stream_read(cx, arg, &byte, 1, &n), ASX_OK);
    return asx_region_cancel(&stage.region, NULL);
}

/* Both have come in one look at the system, and the first cancels the second. */
static asx_status both_at_once(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_stream first[2];
    size_t n;
    (void)arg;
    CHECK_EQ(asx_stream_pair(cx, NULL, &stage.one, &stage.other), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, NULL, &first[0], &first[1]), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_region_open_in(cx, &r, NULL, &stage.region), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "cancels", reads_and_cancels, &first[0]), ASX_OK);
    CHECK_EQ(asx_spawn(&stage.region, "reads", reads_and_is_told_later, &stage), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    CHECK_EQ(asx_stream_write(cx, &first[1], "x", 1, &n), ASX_OK);
    CHECK_EQ(asx_stream_write(cx, &stage.other, "first", 5, &n), ASX_OK);
    CHECK_EQ(asx_region_close(&stage.region, ASX_OK), ASX_E_CANCELLED);
    CHECK_STATUS(stage.said, ASX_OK);
    CHECK_EQ(stage.n, 5u);
    return asx_region_close(&r, ASX_OK);
}

static asx_poll reads_as_poll(asx_cx *cx, void *arg)
{
    scene *s = arg;
    s->said = asx_stream_read(cx, &s->one, s->buffer, 9, &s->n);
    if (s->said == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    return s->said < 0 ? asx_poll_fail(cx, s->said) : ASX_POLL_READY;
}

static asx_status poll_tasks(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_EQ(asx_stream_pair(cx, NULL, &stage.one, &stage.other), ASX_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_EQ(asx_spawn_poll(&r, "reads", reads_as_poll, &stage), ASX_OK);
        CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
        CHECK_EQ(stage.said, ASX_E_WOULD_BLOCK);
        if (i == 0)
            CHECK_EQ(asx_region_cancel(&r, NULL), ASX_OK);
        else
            CHECK_EQ(asx_stream_write(cx, &stage.other, "z", 1, &stage.done), ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), i == 0 ? ASX_E_CANCELLED : ASX_OK);
        CHECK_STATUS(stage.said, i == 0 ? ASX_E_CANCELLED : ASX_OK);
    }
    CHECK_EQ(stage.n, 1u);
    CHECK_EQ(stage.buffer[0], 'z');
    return ASX_OK;
}

ASX_TEST(poll_tasks_are_told_as_fibers_are)
{
    io_run(poll_tasks, NULL, ASX_OK);
}

/* It has asked for bytes, and then it waits for something else. */
static asx_poll turns_away(asx_cx *cx, void *arg)
{
    scene *s = arg;
    if (s->done++ == 0) {
        CHECK_EQ(asx_stream_read(cx, &s->one, s->buffer, 9, &s->n), ASX_E_WOULD_BLOCK);
        CHECK_EQ(asx_stream_read(cx, &s->one, s->buffer, 9, &s->n), ASX_E_WOULD_BLOCK);
        CHECK_EQ(asx_stream_read(cx, &s->other, s->buffer, 9, &s->n), ASX_E_BUSY);
        return ASX_POLL_PENDING;
    }
    return ASX_POLL_READY;
}

static asx_status withdraws(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_io_stats io;
    (void)arg;
    stage.done = 0;
    CHECK_EQ(asx_stream_pair(cx, NULL, &stage.one, &stage.other), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn_poll(&r, "turns away", turns_away, &stage), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    CHECK_EQ(asx_stream_write(cx, &stage.other, "q", 1, &stage.n), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(asx_runtime_io_stats(asx_cx_runtime(cx), &io), ASX_OK);
    CHECK_EQ(io.in_flight, 0u);
    CHECK_EQ(asx_stream_read(cx, &stage.one, stage.buffer, 9, &stage.n), ASX_OK);
    CHECK_EQ(stage.buffer[0], 'q');
    return ASX_OK;
}

ASX_TEST(what_a_poll_task_does_not_ask_for_again_is_withdrawn)
{
    io_run(withdraws, NULL, ASX_OK);
}

ASX_TEST(what_has_been_done_is_said_before_the_cancel)
{
    asx_test_one_worker("several may run the second before the first");
    io_run(both_at_once, NULL, ASX_OK);
}
