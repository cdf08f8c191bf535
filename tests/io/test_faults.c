/* test_faults.c - peers that vanish, a process without descriptors, calls that are forced: others
 * are served, and nothing is left. */
#include "io/support_io.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- connections that are reset at random --------------------------------------------------- */

enum { CONNECTIONS = 1000, AT_ONCE = 50 };

typedef struct storm {
    asx_listener listener;
    asx_region conns;
    asx_address at;
    atomic_uint next;
} storm;

static asx_status echo(asx_cx *cx, void *arg)
{
    const asx_stream *stream = arg;
    char buffer[256];
    size_t n, done;
    asx_status st;
    do {
        st = asx_stream_read(cx, stream, buffer, sizeof buffer, &n);
        done = 0;
        if (st == ASX_OK && n != 0)
            st = asx_stream_write_all(cx, stream, buffer, n, &done);
    } while (st == ASX_OK && n != 0);
    CHECK(st == ASX_OK || st == ASX_E_RESET || st == ASX_E_BROKEN);
    CHECK_EQ(asx_stream_close(cx, stream), ASX_OK);
    return ASX_OK;
}

static asx_status serve(asx_cx *cx, void *arg)
{
    storm *s = arg;
    asx_stream stream;
    for (int i = 0; i < CONNECTIONS; i++) {
        asx_status st = asx_listener_accept(cx, &s->listener, &s->conns, &stream);
        if (st == ASX_OK)
            st = asx_spawn_copy(&s->conns, "echo", echo, &stream, sizeof stream);
        if (st < 0)
            return st;
    }
    return ASX_OK;
}

/* Goes away after so many steps, which may be in the middle of anything. */
static asx_status breaks_off(asx_cx *cx, storm *s, unsigned seed)
{
    asx_stream stream;
    asx_stream_tuning hard = ASX_STREAM_TUNING;
    char buffer[200] = "x";
    size_t n, done = 0;
    CHECK_STATUS(asx_connect(cx, NULL, &s->at, NULL, &stream), ASX_OK);
    unsigned steps = seed % 4;
    if (steps > 0)
        CHECK_EQ(asx_stream_write_all(cx, &stream, buffer, 1 + seed % 200, &done), ASX_OK);
    if (steps > 1)
        CHECK_EQ(asx_stream_read(cx, &stream, buffer, sizeof buffer, &n), ASX_OK);
    if (steps > 2) {
        done = 0;
        CHECK_EQ(asx_stream_write_all(cx, &stream, buffer, sizeof buffer, &done), ASX_OK);
    }
    hard.reset_on_close = (seed / 4) % 3 != 0;
    CHECK_EQ(asx_stream_tune(cx, &stream, &hard), ASX_OK);
    return asx_stream_close(cx, &stream);
}

static asx_status client(asx_cx *cx, void *arg)
{
    storm *s = arg;
    for (int i = 0; i < CONNECTIONS / AT_ONCE; i++)
        CHECK_EQ(breaks_off(cx, s, (atomic_fetch_add(&s->next, 1) * 2654435761u) >> 8), ASX_OK);
    return ASX_OK;
}

static asx_status in_a_storm(asx_cx *cx, void *arg)
{
    storm s = { .next = 0 };
    asx_region r;
    asx_io_stats io;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &s.conns), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    io_listen(cx, &r, &s.listener, &s.at);
    CHECK_EQ(asx_spawn(&r, "serve", serve, &s), ASX_OK);
    for (int i = 0; i < AT_ONCE; i++)
        CHECK_EQ(asx_spawn(&r, "client", client, &s), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_close(&s.conns, ASX_OK), ASX_OK);
    CHECK_EQ(asx_runtime_io_stats(asx_cx_runtime(cx), &io), ASX_OK);
    CHECK_EQ(io.open + io.closing + io.in_flight, 0u);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(connections_that_are_reset_anywhere_leave_nothing, 60)
{
    io_run(in_a_storm, NULL, ASX_OK);
}

/* ---- no descriptor left --------------------------------------------------------------------- */

enum { FEW = 64 };

typedef struct want {
    asx_listener listener;
    asx_address at;
    asx_stream kept[2];
    int fds[FEW], clients[4];
    unsigned used;
} want;

static void use_up(want *w)
{
    for (w->used = 0; w->used < FEW; w->used++)
        if ((w->fds[w->used] = dup(w->clients[0])) < 0)
            break;
    CHECK(w->used > 0 && w->used < FEW);
}

static uint64_t turned_away(asx_cx *cx)
{
    asx_io_stats io;
    CHECK_EQ(asx_runtime_io_stats(asx_cx_runtime(cx), &io), ASX_OK);
    return io.turned_away;
}

static asx_status accepts_one(asx_cx *cx, void *arg)
{
    asx_stream stream;
    CHECK_STATUS(asx_listener_accept(cx, arg, NULL, &stream), ASX_OK);
    return asx_stream_close(cx, &stream);
}

static void knock(const want *w, int client)
{
    CHECK_EQ(connect(w->clients[client], (const void *)&w->at.u_, w->at.size_), 0);
}

/* A peer that was turned away sees the end of its connection. */
static void is_turned_away(const want *w, int client)
{
    char byte;
    ssize_t n = recv(w->clients[client], &byte, 1, MSG_DONTWAIT);
    CHECK(n == 0 || (n < 0 && errno == ECONNRESET));
}

static asx_status without_descriptors(asx_cx *cx, void *arg)
{
    want *w = arg;
    asx_region r;
    uint64_t before = io_cpu_us();
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    io_listen(cx, &r, &w->listener, &w->at);
    CHECK_EQ(asx_stream_pair(cx, &r, &w->kept[0], &w->kept[1]), ASX_OK);
    for (int i = 0; i < 4; i++)
        w->clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    use_up(w);
    knock(w, 0);
    knock(w, 1);
    CHECK_EQ(asx_spawn(&r, "accepts", accepts_one, &w->listener), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 20 * ASX_MS), ASX_OK);
    CHECK_EQ(turned_away(cx), 2u);
    is_turned_away(w, 0);
    is_turned_away(w, 1);
    knock(w, 2); /* it rests now, and this one waits in the queue */
    CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    CHECK_EQ(turned_away(cx), 2u);
    CHECK_EQ(asx_stream_close(cx, &w->kept[0]), ASX_OK); /* there is one */
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(turned_away(cx), 2u);
    CHECK_LE(io_cpu_us() - before, 100000u); /* it has not spun */
    return ASX_OK;
}

/* What others of the process close nobody tells: it looks again after a while. */
static asx_status until_others_close(asx_cx *cx, void *arg)
{
    want *w = arg;
    asx_region r;
    asx_time begin = asx_now(cx);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    io_listen(cx, &r, &w->listener, &w->at);
    for (int i = 0; i < 4; i++)
        w->clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    use_up(w);
    knock(w, 0);
    CHECK_EQ(asx_spawn(&r, "accepts", accepts_one, &w->listener), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 20 * ASX_MS), ASX_OK);
    CHECK_EQ(turned_away(cx), 1u);
    knock(w, 1);
    close(w->fds[--w->used]);
    close(w->fds[--w->used]);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(turned_away(cx), 1u);
    CHECK_GE(asx_now(cx) - begin, 90 * ASX_MS);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK); /* and one that rests can be closed */
    io_listen(cx, &r, &w->listener, &w->at);
    return asx_region_close(&r, ASX_OK);
}

static void run_short_of_descriptors(asx_task_fn fn)
{
    static want w;
    struct rlimit few;
    asx_runtime *rt;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &few), 0);
    few.rlim_cur = FEW;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    CHECK_EQ(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, fn, &w), ASX_OK);
    CHECK_EQ(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(without_a_descriptor_peers_are_turned_away_until_one_is_closed)
{
    run_short_of_descriptors(without_descriptors);
}

ASX_TEST(without_a_descriptor_a_listener_looks_again_after_a_while)
{
    run_short_of_descriptors(until_others_close);
}

static asx_status opens_too_many(asx_cx *cx, void *arg)
{
    want *w = arg;
    asx_stream a, b;
    asx_address at;
    asx_listener listener;
    w->clients[0] = 0;
    CHECK_EQ(asx_pipe_open(cx, NULL, &a, &b), ASX_OK);
    use_up(w);
    CHECK_EQ(asx_pipe_open(cx, NULL, &a, &b), ASX_E_DESCRIPTORS);
    CHECK_EQ(asx_stream_pair(cx, NULL, &a, &b), ASX_E_DESCRIPTORS);
    CHECK_EQ(asx_address_ip("127.0.0.1", 0, &at), ASX_OK);
    CHECK_EQ(asx_listen(cx, NULL, &at, NULL, &listener), ASX_E_DESCRIPTORS);
    CHECK_EQ(asx_connect(cx, NULL, &at, NULL, &a), ASX_E_DESCRIPTORS);
    return ASX_OK;
}

ASX_TEST(what_needs_a_descriptor_says_that_there_is_none)
{
    run_short_of_descriptors(opens_too_many);
}

/* ---- a runtime that is given up -------------------------------------------------------------- */

static asx_stream stubborn[2];
static char stubborn_buffer[64];

static asx_status reads_under_a_mask(asx_cx *cx, void *arg)
{
    size_t n;
    (void)arg;
    return asx_stream_read(cx, &stubborn[0], stubborn_buffer, sizeof stubborn_buffer, &n);
}

static asx_status never_ends(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_EQ(asx_stream_pair(cx, NULL, &stubborn[0], &stubborn[1]), ASX_OK);
    return asx_with_cancel_mask(cx, reads_under_a_mask, NULL);
}

ASX_TEST(a_runtime_that_is_given_up_takes_its_operations_along)
{
    asx_runtime *rt;
    unsigned before = io_descriptors();
    asx_runtime_config config = { .root = { .cleanup = ASX_CLEANUP_SOFT } };
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_start(rt, never_ends, NULL), ASX_OK);
    CHECK_EQ(asx_runtime_step(rt, 0, NULL), ASX_E_WOULD_BLOCK);
    CHECK_EQ(asx_runtime_shutdown(rt, 20 * ASX_MS, NULL), ASX_E_TASKS_STILL_ACTIVE);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(io_descriptors(), before);
}
