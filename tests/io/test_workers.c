/* test_workers.c - several workers and one reactor: a worker that is busy in user code holds nobody
 * up, and cancel, close and completion reach a task wherever it is.
 * ctest-labels: clock */
#include "io/support_io.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * ASX_SEC + (uint64_t)t.tv_nsec;
}

static void compute_for(uint64_t ns)
{
    uint64_t until = now_ns() + ns;
    while (now_ns() < until)
        ;
}

/* ---- one computes, the others go on --------------------------------------------------------- */

enum { ROUNDS = 20 };

typedef struct talk {
    asx_stream one, other;
    atomic_int computing;
    uint64_t worst_ns;
} talk;

static asx_status computes(asx_cx *cx, void *arg)
{
    talk *t = arg;
    (void)cx;
    atomic_store(&t->computing, 1);
    compute_for(100 * ASX_MS);
    atomic_store(&t->computing, 0);
    return ASX_OK;
}

static asx_status answers(asx_cx *cx, void *arg)
{
    talk *t = arg;
    char byte;
    size_t n;
    for (int i = 0; i < ROUNDS; i++) {
        asx_status st = asx_stream_read(cx, &t->other, &byte, 1, &n);
        if (st == ASX_OK)
            st = asx_stream_write(cx, &t->other, &byte, 1, &n);
        if (st < 0)
            return st;
    }
    return ASX_OK;
}

static asx_status asks(asx_cx *cx, void *arg)
{
    talk *t = arg;
    char byte = 'x';
    size_t n;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
        uint64_t begin = now_ns();
        CHECK_EQ(asx_stream_write(cx, &t->one, &byte, 1, &n), ASX_OK);
        CHECK_EQ(asx_stream_read(cx, &t->one, &byte, 1, &n), ASX_OK);
        uint64_t took = now_ns() - begin;
        if (atomic_load(&t->computing) != 0 && took > t->worst_ns)
            t->worst_ns = took;
    }
    return ASX_OK;
}

static asx_status one_is_busy(asx_cx *cx, void *arg)
{
    asx_region r;
    talk t = { .worst_ns = 0 };
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &r, &t.one, &t.other), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "answers", answers, &t), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "asks", asks, &t), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 2 * ASX_MS), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "computes", computes, &t), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_LE(t.worst_ns, 50 * ASX_MS); /* half of what it would be if it waited */
    return ASX_OK;
}

/* A ring that several workers use completes where it was asked: on a worker that computes, and on a
 * busy machine stands in line for a core meanwhile. It is not what they have unless it is forced.
 * */
static void let_them_have_what_they_have(void)
{
    unsetenv("ASX_IO");
}

ASX_TEST(who_computes_for_long_does_not_hold_up_completions)
{
    let_them_have_what_they_have();
    asx_runtime *rt;
    CHECK_EQ(asx_runtime_create(&(asx_runtime_config){ .workers = 2 }, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, one_is_busy, NULL), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

/* The one that waits in the reactor gets up and computes: another one takes its place. */
static asx_status computes_when_told(asx_cx *cx, void *arg)
{
    talk *t = arg;
    char byte;
    size_t n;
    CHECK_EQ(asx_stream_read(cx, &t->other, &byte, 1, &n), ASX_OK);
    compute_for(100 * ASX_MS);
    return ASX_OK;
}

static asx_status notes_when(asx_cx *cx, void *arg)
{
    talk *t = arg;
    char byte;
    size_t n;
    CHECK_EQ(asx_stream_read(cx, &t->one, &byte, 1, &n), ASX_OK);
    t->worst_ns = now_ns();
    return ASX_OK;
}

static asx_status from_outside(void *arg)
{
    int *fds = arg;
    struct timespec pause = { 0, 20 * ASX_MS };
    nanosleep(&pause, NULL);
    CHECK_EQ(write(fds[0], "x", 1), 1);
    nanosleep(&pause, NULL);
    uint64_t then = now_ns();
    CHECK_EQ(write(fds[1], "x", 1), 1);
    return then < INT64_MAX ? ASX_OK : ASX_E_SYSTEM;
}

static asx_status poller_gets_up(asx_cx *cx, void *arg)
{
    asx_region r;
    talk first, second;
    int fds[2];
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &r, &first.one, &first.other), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &r, &second.one, &second.other), ASX_OK);
    CHECK_EQ(asx_stream_descriptor(cx, &first.one, &fds[0]), ASX_OK);
    CHECK_EQ(asx_stream_descriptor(cx, &second.other, &fds[1]), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "computes", computes_when_told, &first), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "notes", notes_when, &second), ASX_OK);
    uint64_t begin = now_ns();
    CHECK_EQ(asx_blocking(cx, from_outside, fds), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_LE(second.worst_ns - begin, 80 * ASX_MS); /* 40, and not the 120 of who computes */
    return ASX_OK;
}

ASX_TEST(when_the_worker_that_waits_gets_up_another_takes_its_place)
{
    let_them_have_what_they_have();
    asx_runtime *rt;
    CHECK_EQ(asx_runtime_create(&(asx_runtime_config){ .workers = 3 }, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, poller_gets_up, NULL), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- rest ----------------------------------------------------------------------------------- */

static asx_status waits_for_ever(asx_cx *cx, void *arg)
{
    char byte;
    size_t n;
    return asx_stream_read(cx, arg, &byte, 1, &n);
}

static asx_status rests(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_stream pairs[8][2];
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(asx_stream_pair(cx, &r, &pairs[i][0], &pairs[i][1]), ASX_OK);
        CHECK_EQ(asx_spawn(&r, "waits", waits_for_ever, &pairs[i][0]), ASX_OK);
    }
    CHECK_EQ(asx_sleep(cx, 100 * ASX_MS), ASX_OK); /* looking in has ended by then */
    uint64_t before = io_cpu_us();
    CHECK_EQ(asx_sleep(cx, ASX_SEC), ASX_OK);
    CHECK_LE(io_cpu_us() - before, 2000u);
    CHECK_EQ(asx_region_cancel(&r, NULL), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
    return ASX_OK;
}

ASX_TEST(who_waits_uses_no_time)
{
    io_run(rests, NULL, ASX_OK);
}
