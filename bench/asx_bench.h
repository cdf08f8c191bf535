/* What the parts of asx_bench share: asx_bench.c has the workloads that every runtime has,
 * asx_cores.c what only several workers show, asx_apart.c jobs that share nothing, asx_calls.c the
 * cost of single calls. */
#ifndef ASX_BENCH_H
#define ASX_BENCH_H

#include <asx/asx.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "asx: %s\n", what);
    exit(1);
}

static inline void require(bool held, const char *what)
{
    if (!held)
        give_up(what);
}

static inline _Noreturn void failed(asx_status status, const char *what)
{
    fprintf(stderr, "asx: %s: %s\n", what, asx_status_str(status));
    exit(1);
}

static inline void ok(asx_status status, const char *what)
{
    if (status < 0)
        failed(status, what);
}

static inline double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline double resident_bytes(void)
{
    long total = 0;
    long resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    require(statm != NULL, "no /proc/self/statm");
    require(fscanf(statm, "%ld %ld", &total, &resident) == 2, "odd /proc/self/statm");
    fclose(statm);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* The program's own memory: touched here, so that nobody pays for that while the time runs. */
static inline void *array_of(size_t count, size_t size)
{
    char *memory = calloc(count, size);
    require(memory != NULL, "no memory");
    for (size_t i = 0; i < count * size; i += 4096)
        *(volatile char *)&memory[i] = 0;
    return memory;
}

/* What a workload runs in. */
struct place {
    asx_cx *cx;
    asx_region region; /* its own, closed by the workload */
    bool poll;
    uint32_t workers;
    const char *variant;
};

static inline void region_open(struct place *p)
{
    ok(asx_region_open(p->cx, NULL, &p->region), "open");
}

static inline void region_close(struct place *p)
{
    ok(asx_region_close(&p->region, ASX_OK), "close");
}

/* ---- asx_cores.c: variants are figures, or vehicles ----------------------------------------- */

double wake_searching(struct place *p);
double wake_sleeping(struct place *p);
double steal(struct place *p);
double storm_wait(struct place *p);

/* ---- asx_apart.c: jobs that share nothing, one for each worker ------------------------------- */

double apart_spawn(struct place *p);
double apart_close(struct place *p);
double apart_ping_pong(struct place *p);
double apart_sleep(struct place *p);
double apart_timers(struct place *p);
double apart_compute_200(struct place *p);
double apart_compute_1000(struct place *p);

/* ---- asx_calls.c ----------------------------------------------------------------------------- */

double call_spawn(struct place *p);
double call_send(struct place *p);
double call_recv(struct place *p);
double call_yield(struct place *p);
double call_trip(struct place *p);

/* A channel whose only slot is taken, and so many tasks that wait for it. */
struct channel {
    asx_channel_sender tx;
    asx_channel_receiver rx;
};
void channel_make_full(struct place *p, struct channel *ret_channel);
void park_many(struct place *p, struct channel *full, unsigned count, uint64_t settle_ms);
void require_parked(struct channel *full, unsigned count);
void cancel_all(struct place *p, unsigned count);

#endif
