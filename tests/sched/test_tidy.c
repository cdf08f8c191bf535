/* test_tidy.c - memory that a burst has left behind goes back to the system.
 * ctest-labels: slow clock own-workers resident */
#include "harness.h"

#include <asx/asx.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool measures(void)
{
    return !ASX_TEST_SANITIZED && asx_test_scale() == 1; /* they keep books of their own */
}

/* A tenth more than before; of a process this small, some pages: tables that have grown, and what
 * each worker keeps. A burst of fibers is hundreds of megabytes. */
static bool is_back(uint64_t before, uint64_t after)
{
    return after <= before + before / 10 + 512 * 1024;
}

static bool machine_is_busy(void)
{
    double load = 0;
    return getloadavg(&load, 1) == 1 && load > 2.0 * (double)sysconf(_SC_NPROCESSORS_ONLN);
}

static uint64_t resident_bytes(void)
{
    unsigned long size, resident;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL);
    CHECK_EQ(fscanf(f, "%lu %lu", &size, &resident), 2);
    fclose(f);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- spawns ---------------------------------------------------------------------------------- */

static asx_status nothing(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

enum { LIVE = 10000 };

static void spawn_and_join(asx_cx *cx, int rounds, int live)
{
    asx_region r;
    static asx_task tasks[LIVE]; /* static: what the C library keeps is not measured here */
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int k = 0; k < rounds; k++) {
        for (int i = 0; i < live; i++)
            CHECK_EQ(asx_spawn_task(&r, nothing, NULL, NULL, &tasks[i]), ASX_OK);
        for (int i = 0; i < live; i++)
            CHECK_EQ(asx_join(cx, &tasks[i], NULL), ASX_OK);
    }
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
}

/* ---- parked fibers --------------------------------------------------------------------------- */

static atomic_int arrived;

static asx_status parked(asx_cx *cx, void *arg)
{
    uint64_t value = 1;
    atomic_fetch_add(&arrived, 1);
    return asx_channel_send(cx, arg, &value);
}

/* So many wait for room, and are then let through or cancelled. */
static void park(asx_cx *cx, int count, bool cancelled)
{
    asx_region r;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    uint64_t value = 0;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_channel_create(&r, sizeof value, 1, NULL, &tx, &rx), ASX_OK);
    CHECK_EQ(asx_channel_send(cx, &tx, &value), ASX_OK);
    atomic_store(&arrived, 0);
    for (int i = 0; i < count; i++)
        CHECK_EQ(asx_spawn(&r, "parked", parked, &tx), ASX_OK);
    while (atomic_load(&arrived) < count)
        CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
    if (cancelled)
        CHECK_EQ(asx_region_cancel(&r, NULL), ASX_OK);
    for (int i = 0; i <= count && !cancelled; i++)
        CHECK_EQ(asx_channel_recv(cx, &rx, &value), ASX_OK);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
}

/* ---- the law --------------------------------------------------------------------------------- */

typedef struct burst {
    int fibers, spawns;
    bool cancelled;
} burst;

static asx_status bursts(asx_cx *cx, void *arg)
{
    burst *b = arg;
    park(cx, 20000, b->cancelled); /* so that every worker has touched what is its own */
    spawn_and_join(cx, 1, LIVE);
    CHECK_EQ(asx_sleep(cx, ASX_SEC), ASX_OK);
    int rounds = measures() ? 2 : 1; /* again, from what was given back */
    for (int round = 0; round < rounds; round++) {
        uint64_t before = resident_bytes();
        if (b->fibers != 0)
            park(cx, b->fibers, b->cancelled);
        if (b->spawns != 0)
            spawn_and_join(cx, b->spawns / LIVE, LIVE);
        uint64_t most = resident_bytes();
        CHECK_EQ(asx_sleep(cx, ASX_SEC), ASX_OK);
        uint64_t after = resident_bytes();
        for (int i = 0; i < 8 && machine_is_busy() && !is_back(before, after); i++) {
            CHECK_EQ(asx_sleep(cx, 500 * ASX_MS), ASX_OK); /* giving back takes its time, too */
            after = resident_bytes();
        }
        if (getenv("ASX_TEST_SHOW") != NULL)
            printf("%d fibers, %d spawns: %.1f, %.1f, %.1f MB\n", b->fibers, b->spawns,
                   (double)before / 1e6, (double)most / 1e6, (double)after / 1e6);
        if (!measures())
            continue;
        if (b->fibers != 0)
            CHECK_GE(most, before + (uint64_t)b->fibers * 4000);
        CHECK(is_back(before, after));
    }
    return ASX_OK;
}

static void settle(uint32_t workers, burst b)
{
    asx_runtime_config config = { .workers = workers };
    asx_runtime *rt;
    if (!measures()) {
        b.fibers /= 50;
        b.spawns /= 50;
    }
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, bursts, &b), ASX_OK);
    CHECK_EQ(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(a_second_after_a_million_spawns_the_memory_is_back_on_one_worker)
{
    settle(1, (burst){ .spawns = 1000000 });
}

ASX_TEST(a_second_after_a_million_spawns_the_memory_is_back_on_several)
{
    settle(2, (burst){ .spawns = 1000000 });
}

ASX_TEST(a_second_after_a_hundred_thousand_parked_fibers_the_memory_is_back_on_one_worker)
{
    settle(1, (burst){ .fibers = 100000 });
    settle(1, (burst){ .fibers = 100000, .cancelled = true });
}

ASX_TEST(a_second_after_a_hundred_thousand_parked_fibers_the_memory_is_back_on_several)
{
    settle(4, (burst){ .fibers = 100000 });
    settle(2, (burst){ .fibers = 100000, .cancelled = true });
}

/* ---- what stays right ------------------------------------------------------------------------ */

static asx_status old_handles(asx_cx *cx, void *arg)
{
    enum { COUNT = 5000 };
    asx_region r;
    asx_task *tasks = calloc(COUNT, sizeof *tasks);
    (void)arg;
    CHECK(tasks != NULL);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++)
            CHECK_EQ(asx_spawn_task(&r, nothing, NULL, NULL, &tasks[i]), ASX_OK);
        for (int i = 0; i < COUNT; i++)
            if (i % 1000 != 999) /* and some whose records stay */
                CHECK_EQ(asx_join(cx, &tasks[i], NULL), ASX_OK);
        CHECK_EQ(asx_sleep(cx, 700 * ASX_MS), ASX_OK);
        for (int i = 0; i < COUNT; i++)
            CHECK_EQ(asx_join(cx, &tasks[i], NULL),
                     i % 1000 != 999 ? ASX_E_STALE_HANDLE : ASX_OK);
    }
    free(tasks);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(handles_of_records_that_were_given_back_are_stale)
{
    asx_runtime_config configs[] = { { .workers = 1 }, { .workers = 3 } };
    for (int i = 0; i < 2; i++) {
        asx_runtime *rt;
        CHECK_EQ(asx_runtime_create(&configs[i], &rt), ASX_OK);
        CHECK_EQ(asx_runtime_run(rt, old_handles, NULL), ASX_OK);
        CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    }
}
