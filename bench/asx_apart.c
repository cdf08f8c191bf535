/* Jobs that share nothing: as many as there are workers, together doing as much as one alone would.
 *
 * A runtime in which strangers share nothing does the same work in half of the time on two workers.
 * No job touches an object of another; what they have in common is the runtime. The clock starts
 * when every job has begun, each on a worker of its own, and stops when the last has ended.
 *
 * Tasks that compute do a fixed number of steps (shift, exclusive or, multiply), each of which
 * waits for the one before: five cycles on the processors of today, whichever language asks.
 */
#define _GNU_SOURCE
#include "asx_bench.h"

#include <stdatomic.h>

enum {
    OPERATIONS = 600000,
    LIVE = 1000,         /* tasks of one job at a time */
    CHILDREN = 10,       /* of a region that is opened and closed */
    STEPS_PER_200_NS = 120
};

struct job {
    asx_status (*body)(asx_cx *cx, const struct job *job);
    struct apart *apart;
    unsigned operations;
    uint64_t steps; /* of a task that computes */
};

struct apart {
    unsigned jobs;
    atomic_uint begun;
    _Atomic double start_ns; /* 0: not every job has begun */
};

static uint64_t compute(uint64_t steps)
{
    uint64_t x = steps;
    for (uint64_t i = 0; i < steps; i++)
        x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    return x;
}

/* The last one to begin starts the clock; the others keep their workers meanwhile. */
static void begin_together(struct apart *apart)
{
    if (atomic_fetch_add(&apart->begun, 1) + 1 == apart->jobs)
        atomic_store(&apart->start_ns, now_ns());
    while (atomic_load(&apart->start_ns) == 0) {
    }
}

/* ---- what a job does ------------------------------------------------------------------------ */

static asx_status empty(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

static asx_status napper(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, ASX_US);
}

static asx_status computer(asx_cx *cx, void *arg)
{
    const struct job *job = arg;
    return asx_task_set_value(cx, compute(job->steps));
}

static asx_status spawn_and_join(asx_cx *cx, const struct job *job, asx_task_fn fn)
{
    asx_region region;
    asx_task *tasks = array_of(LIVE, sizeof *tasks);
    ok(asx_region_open(cx, NULL, &region), "open");
    begin_together(job->apart);
    for (unsigned done = 0; done < job->operations; done += LIVE) {
        for (unsigned i = 0; i < LIVE; i++)
            ok(asx_spawn_task(&region, fn, (void *)(uintptr_t)job, NULL, &tasks[i]), "spawn");
        for (unsigned i = 0; i < LIVE; i++)
            ok(asx_join(cx, &tasks[i], NULL), "join");
    }
    ok(asx_region_close(&region, ASX_OK), "close");
    free(tasks);
    return ASX_OK;
}

static asx_status job_spawn(asx_cx *cx, const struct job *job)
{
    return spawn_and_join(cx, job, empty);
}

static asx_status job_sleep(asx_cx *cx, const struct job *job)
{
    return spawn_and_join(cx, job, napper);
}

static asx_status job_compute(asx_cx *cx, const struct job *job)
{
    return spawn_and_join(cx, job, computer);
}

static asx_status job_close(asx_cx *cx, const struct job *job)
{
    begin_together(job->apart);
    for (unsigned done = 0; done < job->operations; done += CHILDREN) {
        asx_region region;
        ok(asx_region_open(cx, NULL, &region), "open");
        for (unsigned i = 0; i < CHILDREN; i++)
            ok(asx_spawn(&region, NULL, empty, NULL), "spawn");
        ok(asx_region_close(&region, ASX_OK), "close");
    }
    return ASX_OK;
}

struct player {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    unsigned trips;
    bool serves;
};

static asx_status player(asx_cx *cx, void *arg)
{
    struct player *p = arg;
    uint64_t ball = 0;
    for (unsigned i = 0; i < p->trips; i++) {
        asx_send_permit permit;
        if (!p->serves)
            ok(asx_channel_recv(cx, &p->rx, &ball), "receive");
        ok(asx_channel_reserve(cx, &p->tx, &permit), "reserve");
        ok(asx_send_permit_send(&permit, &ball), "send");
        if (p->serves)
            ok(asx_channel_recv(cx, &p->rx, &ball), "receive");
    }
    return ASX_OK;
}

static asx_status job_ping_pong(asx_cx *cx, const struct job *job)
{
    asx_region region;
    struct player pair[2] = { { .trips = job->operations, .serves = true },
                              { .trips = job->operations } };
    ok(asx_region_open(cx, NULL, &region), "open");
    for (int i = 0; i < 2; i++)
        ok(asx_channel_create(&region, sizeof(uint64_t), 1, NULL, &pair[i].tx, &pair[1 - i].rx),
           "channel");
    begin_together(job->apart);
    for (int i = 0; i < 2; i++)
        ok(asx_spawn(&region, NULL, player, &pair[i]), "spawn");
    return asx_region_close(&region, ASX_OK);
}

/* A deadline that is set and not reached: a timer that is made and cancelled. */
static asx_status job_timers(asx_cx *cx, const struct job *job)
{
    asx_region_options soon = { .timeout_ns = 10 * ASX_SEC };
    begin_together(job->apart);
    for (unsigned i = 0; i < job->operations; i++) {
        asx_region region;
        ok(asx_region_open(cx, &soon, &region), "open");
        ok(asx_region_close(&region, ASX_OK), "close");
    }
    return ASX_OK;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static asx_status run_job(asx_cx *cx, void *arg)
{
    const struct job *job = arg;
    return job->body(cx, job);
}

static double apart(struct place *p, asx_status (*body)(asx_cx *, const struct job *),
                    uint64_t steps)
{
    struct apart all = { .jobs = p->workers };
    struct job job = { body, &all, OPERATIONS / p->workers, steps };
    region_open(p);
    for (unsigned i = 0; i < all.jobs; i++)
        ok(asx_spawn(&p->region, "job", run_job, &job), "spawn");
    region_close(p);
    return (now_ns() - atomic_load(&all.start_ns)) / OPERATIONS;
}

double apart_spawn(struct place *p)
{
    return apart(p, job_spawn, 0);
}

double apart_close(struct place *p)
{
    return apart(p, job_close, 0);
}

double apart_ping_pong(struct place *p)
{
    return apart(p, job_ping_pong, 0);
}

double apart_sleep(struct place *p)
{
    return apart(p, job_sleep, 0);
}

double apart_timers(struct place *p)
{
    return apart(p, job_timers, 0);
}

double apart_compute_200(struct place *p)
{
    return apart(p, job_compute, STEPS_PER_200_NS);
}

double apart_compute_1000(struct place *p)
{
    return apart(p, job_compute, 5 * STEPS_PER_200_NS);
}
