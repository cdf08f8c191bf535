/* migrate.h - tasks that are suspended and go on with another thread, over and over.
 *
 * A crowd of tasks on several workers, each of which waits in turn by yielding, by sleeping and for
 * a partner, and works a little in between, so that it pays to spread them. Everybody counts how
 * often it went on with another thread than before; the crowd lives until that was often enough.
 * Included by C and by C++; nothing here keeps a thread-local across a wait. */
#ifndef ASX_TESTS_LOCALS_MIGRATE_H
#define ASX_TESTS_LOCALS_MIGRATE_H

#include <asx/asx.h>

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

enum { CROWD = 12, WORKERS = 4, MIGRATIONS = 2000, STEPS_MAX = 2000000 };

struct crowd;

struct member {
    struct crowd *crowd;
    unsigned number;
    unsigned step;
    long thread; /* that it ran on last */
    asx_channel_sender to_partner;
    asx_channel_receiver mine;
};

struct crowd {
    asx_task_fn life; /* of a member */
    unsigned migrations; /* atomic */
    struct member members[CROWD];
};

/* The system's answer, not a register's: asked anew each time. */
static inline long thread_now(void)
{
    return syscall(SYS_gettid);
}

static inline void work_a_little(void)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do
        clock_gettime(CLOCK_MONOTONIC, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 6000);
}

static inline bool crowd_goes_on(struct member *me)
{
    return __atomic_load_n(&me->crowd->migrations, __ATOMIC_RELAXED) < MIGRATIONS &&
           me->step < STEPS_MAX;
}

/* Suspends the caller, in one of three ways. */
static inline void suspend(asx_cx *cx, struct member *me)
{
    work_a_little();
    me->thread = thread_now();
    if (me->step % 3 == 0) {
        CHECK(asx_yield(cx) == ASX_OK);
    } else if (me->step % 3 == 1) {
        CHECK(asx_sleep(cx, 20 * ASX_US) == ASX_OK);
    } else {
        unsigned message = me->step, got = 0;
        asx_status st = asx_channel_send(cx, &me->to_partner, &message);
        CHECK(st == ASX_OK || st == ASX_E_DISCONNECTED); /* it may have seen enough */
        st = asx_channel_recv(cx, &me->mine, &got);
        CHECK(st == ASX_OK || st == ASX_E_DISCONNECTED);
    }
    me->step++;
    if (thread_now() != me->thread)
        __atomic_fetch_add(&me->crowd->migrations, 1, __ATOMIC_RELAXED);
}

static inline asx_status member_life(asx_cx *cx, void *arg)
{
    struct member *me = (struct member *)arg;
    asx_status st = me->crowd->life(cx, me);
    CHECK(asx_channel_sender_drop(&me->to_partner) == ASX_OK);
    CHECK(asx_channel_receiver_drop(&me->mine) == ASX_OK);
    return st;
}

static inline asx_status crowd_run(asx_cx *cx, void *arg)
{
    struct crowd *crowd = (struct crowd *)arg;
    asx_region r;
    asx_channel_sender tx[CROWD];
    CHECK(asx_region_open(cx, NULL, &r) == ASX_OK);
    for (unsigned i = 0; i < CROWD; i++) {
        struct member *m = &crowd->members[i];
        m->crowd = crowd;
        m->number = i;
        m->step = i;
        CHECK(asx_channel_create(&r, sizeof(unsigned), 1, NULL, &tx[i], &m->mine) == ASX_OK);
    }
    for (unsigned i = 0; i < CROWD; i++)
        crowd->members[i].to_partner = tx[i ^ 1u];
    for (unsigned i = 0; i < CROWD; i++)
        CHECK(asx_spawn(&r, "member", member_life, &crowd->members[i]) == ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

/* Runs a crowd of such lives on so many workers until everybody has had enough. */
static inline void crowd_live(asx_task_fn life, unsigned workers)
{
    static struct crowd crowd;
    asx_runtime_config config;
    asx_runtime *rt = NULL;
    memset(&config, 0, sizeof config);
    config.workers = workers;
    crowd.life = life;
    CHECK(asx_runtime_create(&config, &rt) == ASX_OK);
    CHECK(asx_runtime_run(rt, crowd_run, &crowd) == ASX_OK);
    CHECK(asx_runtime_destroy(rt) == ASX_OK);
    CHECK(workers == 1 || crowd.migrations >= MIGRATIONS); /* else it has shown nothing */
}

#endif
