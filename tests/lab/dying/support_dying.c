/* support_dying.c - lab tests that end their process, and others that are told of oddly. */
#define _GNU_SOURCE
#include <asx/asx_lab.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int order;

static asx_status writes(asx_cx *cx, void *arg)
{
    asx_lab_store(cx, &order, (int)(uintptr_t)arg);
    return ASX_OK;
}

/* The reader `fn`, and two who write 1 and 2. */
static void read_by(asx_cx *cx, asx_task_fn fn)
{
    asx_region r;
    order = 0;
    asx_region_open(cx, NULL, &r);
    asx_spawn(&r, "one", writes, (void *)1);
    asx_spawn(&r, "two", writes, (void *)2);
    asx_spawn(&r, "reader", fn, NULL);
    asx_region_close(&r, ASX_OK);
}

static asx_status faults_at_two(asx_cx *cx, void *arg)
{
    (void)arg;
    if (asx_lab_load(cx, &order) == 2) {
        volatile int *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *nowhere = 1;
    }
    return ASX_OK;
}

static int deeper(volatile char *above, int levels)
{
    volatile char frame[512];
    frame[0] = above[0];
    return levels != 0 ? deeper(frame, levels - 1) + frame[0] : 0;
}

static asx_status overflows_at_two(asx_cx *cx, void *arg)
{
    volatile char none = 0;
    (void)arg;
    if (asx_lab_load(cx, &order) == 2)
        return deeper(&none, 1 << 20) == 0 ? ASX_OK : ASX_E_SYSTEM;
    return ASX_OK;
}

static asx_status aborts_at_two(asx_cx *cx, void *arg)
{
    (void)arg;
    if (asx_lab_load(cx, &order) == 2)
        abort();
    return ASX_OK;
}

static asx_status exits_at_two(asx_cx *cx, void *arg)
{
    (void)arg;
    if (asx_lab_load(cx, &order) == 2)
        exit(0);
    return ASX_OK;
}

static asx_status leaves_at_two(asx_cx *cx, void *arg)
{
    (void)arg;
    if (asx_lab_load(cx, &order) == 2)
        _exit(0);
    return ASX_OK;
}

static asx_status is_killed_at_two(asx_cx *cx, void *arg)
{
    (void)arg;
    if (asx_lab_load(cx, &order) == 2)
        (void)raise(SIGKILL);
    return ASX_OK;
}

static asx_status ends_thread_at_two(asx_cx *cx, void *arg)
{
    (void)arg;
    if (asx_lab_load(cx, &order) == 2)
        pthread_exit(NULL);
    return ASX_OK;
}

/* It ends no process, but its frames. */
static asx_status panics_at_two(asx_cx *cx, void *arg)
{
    (void)arg;
    if (asx_lab_load(cx, &order) == 2)
        asx_panic(cx, "it is %d", order);
    return ASX_OK;
}

static asx_status turns_at_two(asx_cx *cx, void *arg)
{
    (void)arg;
    while (asx_lab_load(cx, &order) == 2)
        continue;
    return ASX_OK;
}

static int counter;

/* Fails, but not again. */
static asx_status counts(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_lab_load(cx, &order);
    asx_lab_check(cx, ++counter != 3);
    return ASX_OK;
}

static asx_status stays_at_two(asx_cx *cx, void *arg)
{
    (void)arg;
    if (asx_lab_load(cx, &order) == 2)
        for (;;)
            __asm__ volatile("" : : : "memory");
    return ASX_OK;
}

static asx_status sleeps_at_two(asx_cx *cx, void *arg)
{
    (void)arg;
    if (asx_lab_load(cx, &order) == 2)
        (void)sleep(1000);
    return ASX_OK;
}

static asx_status waits_at_two(asx_cx *cx, void *arg)
{
    int ends[2];
    char byte;
    (void)arg;
    if (asx_lab_load(cx, &order) == 2 && pipe(ends) == 0)
        (void)!read(ends[0], &byte, 1); /* nobody writes */
    return ASX_OK;
}

/* For a second and a half, with operations. */
static asx_status works(asx_cx *cx, void *arg)
{
    struct timespec began, now;
    (void)arg;
    (void)clock_gettime(CLOCK_MONOTONIC, &began);
    do {
        (void)asx_lab_load(cx, &order);
        for (int i = 0; i < 1000000; i++)
            __asm__ volatile("" : : : "memory");
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000 < 1500);
    return ASX_OK;
}

static asx_status only_reads(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_lab_load(cx, &order);
    return ASX_OK;
}

ASX_LAB_TEST(lives) { read_by(cx, only_reads); }
ASX_LAB_TEST(is_slow) { read_by(cx, works); }
ASX_LAB_TEST(faults) { read_by(cx, faults_at_two); }
ASX_LAB_TEST(overflows) { read_by(cx, overflows_at_two); }
ASX_LAB_TEST(aborts) { read_by(cx, aborts_at_two); }
ASX_LAB_TEST(exits) { read_by(cx, exits_at_two); }
ASX_LAB_TEST(stays) { read_by(cx, stays_at_two); }
ASX_LAB_TEST(sleeps) { read_by(cx, sleeps_at_two); }
ASX_LAB_TEST(waits) { read_by(cx, waits_at_two); }
ASX_LAB_TEST(leaves) { read_by(cx, leaves_at_two); }
ASX_LAB_TEST(is_killed) { read_by(cx, is_killed_at_two); }
ASX_LAB_TEST(ends_thread) { read_by(cx, ends_thread_at_two); }
ASX_LAB_TEST(lives_on) { read_by(cx, only_reads); }
ASX_LAB_TEST(panics) { read_by(cx, panics_at_two); }
ASX_LAB_TEST(turns) { read_by(cx, turns_at_two); }
ASX_LAB_TEST(fails_once) { read_by(cx, counts); }

static int plain;

static asx_status adds_plainly(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    plain++;
    return ASX_OK;
}

ASX_LAB_TEST(shares_plainly)
{
    asx_region r;
    plain = 0;
    asx_region_open(cx, NULL, &r);
    asx_spawn(&r, "one", adds_plainly, NULL);
    asx_spawn(&r, "two", adds_plainly, NULL);
    asx_region_close(&r, ASX_OK);
    asx_lab_check(cx, plain == 2);
}
