/* The watchdog: who does not yield, who sits in a system call; each told once, nothing else told,
 * and no time used while nothing runs. ctest-labels: clock */
#include "support_see.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHAIN(...) ((const char *const[]){ __VA_ARGS__, NULL })

typedef struct sightings {
    asx__atomic_u32 count;
    asx_sighting_kind kind;
    uint64_t for_ns;
    char name[64], call[32], text[16384];
} sightings;

static void keep(void *ctx, const asx_sighting *s)
{
    sightings *all = ctx;
    all->kind = s->kind;
    all->for_ns = s->for_ns;
    (void)snprintf(all->name, sizeof all->name, "%s", s->name);
    (void)snprintf(all->call, sizeof all->call, "%s", s->system_call ? s->system_call : "");
    (void)snprintf(all->text, sizeof all->text, "%s", s->text);
    (void)asx__fetch_add_release(&all->count, 1u);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    CHECK_EQ(clock_gettime(clock, &now), 0);
    return (uint64_t)now.tv_sec * ASX_SEC + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static unsigned compute_for(uint64_t ns)
{
    unsigned n = 0;
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + ns;
    while (clock_ns(CLOCK_MONOTONIC) < until) {
        for (volatile int i = 0; i < 1000; i++)
            n++;
    }
    return n;
}

static asx_status hog(asx_cx *cx, void *arg)
{
    (void)compute_for(*(uint64_t *)arg);
    return asx_yield(cx);
}

static asx_status yields(asx_cx *cx, void *arg)
{
    uint64_t until = asx_now(cx) + *(uint64_t *)arg;
    while (asx_now(cx) < until) {
        (void)compute_for(50000);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    }
    return ASX_OK;
}

static asx_status blocks(asx_cx *cx, void *arg)
{
    char byte;
    (void)cx;
    (void)read(*(int *)arg, &byte, 1);
    return ASX_OK;
}

typedef struct program {
    asx_task_fn fn;
    void *arg;
    const char *name;
    uint32_t times;
} program;

static asx_status in_a_region(asx_cx *cx, void *arg)
{
    program *p = arg;
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "pen" }, &r), ASX_OK);
    for (uint32_t i = 0; i < p->times; i++)
        CHECK_STATUS(asx_spawn(&r, p->name, p->fn, p->arg), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

/* Runs the program under a watchdog and gives back what it saw. */
static sightings *watch(program p, uint64_t limit_ns, uint32_t workers)
{
    static sightings seen;
    asx_runtime_config config = { .workers = workers };
    asx_runtime *rt;
    asx_watchdog *dog;
    memset(&seen, 0, sizeof seen);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_watchdog_start(rt, &(asx_watchdog_options){ .limit_ns = limit_ns,
                                                                 .report = keep,
                                                                 .ctx = &seen }, &dog), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, in_a_region, &p), ASX_OK);
    CHECK_STATUS(asx_watchdog_stop(dog), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return &seen;
}

static const uint64_t long_ns = 600 * ASX_MS, limit = 100 * ASX_MS;

ASX_TEST(a_task_that_does_not_yield_is_told_once_with_its_call_chain)
{
    uint64_t ns = long_ns;
    CHECK_STATUS(asx_dump_on_signal(SIGUSR2, -1), ASX_OK);
    for (uint32_t workers = 1; workers <= 2; workers++) {
        sightings *s = watch((program){ hog, &ns, "hog", 1 }, limit, workers);
        CHECK_EQ(asx__load_acquire(&s->count), 1);
        CHECK_EQ(s->kind, ASX_SIGHTING_NO_YIELD);
        CHECK_STR_EQ(s->name, "hog");
        CHECK_GE(s->for_ns, limit);
        CHECK_LE(s->for_ns, long_ns);
        HAS(s->text, "\"hog\" (");
        HAS(s->text, "in root/pen has not yielded for ");
        see_chain(s->text, "hog", CHAIN("compute_for", "hog", "asx__fiber_main"));
    }
}

ASX_TEST(each_episode_is_told)
{
    uint64_t ns = 300 * ASX_MS;
    sightings *s = watch((program){ hog, &ns, "hog", 3 }, limit, 1);
    CHECK_EQ(asx__load_acquire(&s->count), 3);
    HAS(s->text, "its thread was not asked"); /* nobody listens to signals here */
}

ASX_TEST(tasks_that_yield_in_time_are_not_told)
{
    uint64_t ns = long_ns;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        sightings *s = watch((program){ yields, &ns, "yields", 1 }, 4 * limit, workers);
        CHECK_EQ(asx__load_acquire(&s->count), 0);
        s = watch((program){ yields, &ns, "yields", 4 }, 4 * limit, workers);
        CHECK_EQ(asx__load_acquire(&s->count), 0);
    }
}

typedef struct shift {
    uint64_t ns, longest_ns;
} shift;

/* Computes and waits a little, in turn: its worker runs the same task at nearly every look. */
static asx_status works_in_pieces(asx_cx *cx, void *arg)
{
    shift *s = arg;
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + s->ns;
    for (uint64_t at = 0; at < until;) {
        uint64_t begin = clock_ns(CLOCK_MONOTONIC);
        (void)compute_for(5 * ASX_MS);
        CHECK_STATUS(asx_sleep(cx, ASX_US), ASX_OK);
        at = clock_ns(CLOCK_MONOTONIC);
        if (at - begin > s->longest_ns)
            s->longest_ns = at - begin;
    }
    return ASX_OK;
}

ASX_TEST(a_task_that_waits_in_time_is_not_told_though_nobody_else_runs)
{
    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        shift work = { .ns = 20 * limit };
        sightings *s = watch((program){ works_in_pieces, &work, "pieces", 1 }, limit, workers);
        if (asx__load_acquire(&s->count) != 0) /* on a machine that is that busy */
            CHECK_LE(s->for_ns, work.longest_ns);
    }
}

static asx__atomic_u32 done_blocking;
static int block_fd[2];

static void *unblocks(void *arg)
{
    (void)arg;
    struct timespec pause = { 0, 400000000 };
    nanosleep(&pause, NULL);
    asx__store_release(&done_blocking, 1u);
    CHECK_EQ(write(block_fd[1], "x", 1), 1);
    return NULL;
}

ASX_TEST(a_worker_in_a_system_call_is_told_with_the_call_and_not_disturbed)
{
    pthread_t thread;
    CHECK_EQ(pipe(block_fd), 0);
    CHECK_EQ(pthread_create(&thread, NULL, unblocks, NULL), 0);
    sightings *s = watch((program){ blocks, &block_fd[0], "reader", 1 }, limit, 1);
    CHECK_EQ(asx__load_acquire(&done_blocking), 1); /* the read was not cut short */
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(asx__load_acquire(&s->count), 1);
    CHECK_STR_EQ(s->name, "reader");
    if (asx_test_emulated()) {
        printf("skipped: this runs in an emulator, whose system calls are others\n");
        return;
    }
    CHECK_EQ(s->kind, ASX_SIGHTING_SYSTEM_CALL);
    CHECK_STR_EQ(s->call, "read");
    HAS(s->text, "in root/pen has been in the system call read for ");
    see_chain(s->text, "reader", CHAIN("blocks", "asx__fiber_main"));
}

static asx_status rests(asx_cx *cx, void *arg)
{
    return asx_sleep(cx, *(uint64_t *)arg);
}

ASX_TEST(a_watchdog_of_a_runtime_that_rests_uses_no_time)
{
    uint64_t ns = ASX_SEC;
    uint64_t before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    sightings *s = watch((program){ rests, &ns, "rests", 1 }, ASX_MS * asx_test_scale(), 1);
    uint64_t used = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
    CHECK_EQ(asx__load_acquire(&s->count), 0);
    CHECK_LE(used, 20 * ASX_MS * asx_test_scale()); /* four thousand looks would not fit in */
}

ASX_TEST(sightings_go_to_a_descriptor_too)
{
    uint64_t ns = long_ns;
    asx_runtime *rt;
    asx_watchdog *dog;
    int fd = see_file();
    program p = { hog, &ns, "hog", 1 };
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_watchdog_start(rt, &(asx_watchdog_options){ .fd = fd }, &dog), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, in_a_region, &p), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK); /* the runtime goes first */
    CHECK_STATUS(asx_watchdog_stop(dog), ASX_OK);
    HAS(see_text(fd), "\"hog\" (");
}
