/* What only several workers show: how long a wake-up takes, how fast work is stolen, and how long a
 * ready task waits while others are cancelled.
 *
 * wake-searching, wake-sleeping. The receiver is pinned to one worker, the sender to another, which
 * it does not leave. A sample is the time from before the send until the receiver has the message.
 * Between two samples the sender computes: for a few microseconds, in which a worker that has run
 * out of work may still look for more, or for so long that it sleeps.
 *
 * steal. A task fills its worker's queue with empty tasks and computes until all of them have
 * ended: everything was taken away by the other worker.
 *
 * storm-wait. A task that is always ready notes the longest time between two of its turns, while
 * 100,000 parked tasks are cancelled and end.
 */
#define _GNU_SOURCE
#include "asx_bench.h"

#include <stdatomic.h>

static void compute_ns(double ns)
{
    double start = now_ns();
    while (now_ns() - start < ns) {
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(double *samples, size_t count, const char *which)
{
    qsort(samples, count, sizeof *samples, by_size);
    return samples[strcmp(which, "p99") == 0 ? count * 99 / 100 : count / 2];
}

/* ---- two tasks, each on a worker of its own ------------------------------------------------- */

struct pair {
    struct place *place;
    asx_task_fn role[2]; /* pinned */
    void *arg;
    atomic_uint here;
};

struct scout {
    struct pair *pair;
    unsigned number;
};

/* Two of these that wait for each other without leaving are on two workers. */
static asx_status scout(asx_cx *cx, void *arg)
{
    struct scout *s = arg;
    asx_spawn_options pinned = { .name = "role", .flags = ASX_PINNED };
    asx_task task;
    (void)cx;
    atomic_fetch_add(&s->pair->here, 1);
    while (atomic_load(&s->pair->here) < 2) {
    }
    ok(asx_spawn_task(&s->pair->place->region, s->pair->role[s->number], s->pair->arg, &pinned,
                      &task),
       "spawn");
    return ASX_OK;
}

static void run_pair(struct pair *pair)
{
    struct scout scouts[2];
    asx_region both;
    if (pair->place->workers < 2)
        exit(3);
    ok(asx_region_open(pair->place->cx, NULL, &both), "open");
    for (unsigned i = 0; i < 2; i++) {
        scouts[i] = (struct scout){ pair, i };
        ok(asx_spawn(&both, "scout", scout, &scouts[i]), "spawn");
    }
    ok(asx_region_close(&both, ASX_OK), "close");
    region_close(pair->place);
}

/* ---- wake-up -------------------------------------------------------------------------------- */

struct wake {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    double gap_ns;
    unsigned count;
    double *samples;
    _Atomic double arrived_ns; /* 0: not yet */
};

static asx_status wake_sender(asx_cx *cx, void *arg)
{
    struct wake *w = arg;
    for (unsigned i = 0; i < w->count; i++) {
        double arrived;
        compute_ns(w->gap_ns);
        atomic_store(&w->arrived_ns, 0);
        double start = now_ns();
        ok(asx_channel_send(cx, &w->tx, &start), "send");
        while ((arrived = atomic_load(&w->arrived_ns)) == 0) {
        }
        w->samples[i] = arrived - start;
    }
    return asx_channel_sender_drop(&w->tx);
}

static asx_status wake_receiver(asx_cx *cx, void *arg)
{
    struct wake *w = arg;
    double sent;
    while (asx_channel_recv(cx, &w->rx, &sent) == ASX_OK)
        atomic_store(&w->arrived_ns, now_ns());
    return ASX_OK;
}

static double wake_after(struct place *p, double gap_ns, unsigned count)
{
    struct wake w = { .gap_ns = gap_ns, .count = count };
    struct pair pair = { .place = p, .role = { wake_sender, wake_receiver }, .arg = &w };
    if (strcmp(p->variant, "p50") != 0 && strcmp(p->variant, "p99") != 0)
        exit(3);
    w.samples = array_of(count, sizeof *w.samples);
    region_open(p);
    ok(asx_channel_create(&p->region, sizeof(double), 1, NULL, &w.tx, &w.rx), "channel");
    run_pair(&pair);
    double result = percentile(w.samples, count, p->variant);
    free(w.samples);
    return result;
}

double wake_searching(struct place *p)
{
    return wake_after(p, 3e3, 20000);
}

double wake_sleeping(struct place *p)
{
    return wake_after(p, 2e6, 1000);
}

/* ---- stealing ------------------------------------------------------------------------------- */

#define LOOT 100000u

struct robbery {
    struct place *place;
    double spent_ns;
    atomic_bool begun;
};
static atomic_uint looted;

static asx_status loot_fiber(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    /* One thief, but for a surplus worker that may come while the rich one seems to be stuck. */
    atomic_fetch_add_explicit(&looted, 1, memory_order_relaxed);
    return ASX_OK;
}

static asx_poll loot_poll(asx_cx *cx, void *arg)
{
    (void)loot_fiber(cx, arg);
    return ASX_POLL_READY;
}

static asx_status rich(asx_cx *cx, void *arg)
{
    struct robbery *r = arg;
    asx_region mine;
    ok(asx_region_open(cx, NULL, &mine), "open");
    for (unsigned i = 0; i < LOOT; i++)
        ok(r->place->poll ? asx_spawn_poll(&mine, NULL, loot_poll, NULL)
                          : asx_spawn(&mine, NULL, loot_fiber, NULL),
           "spawn");
    double start = now_ns();
    atomic_store(&r->begun, true);
    while (atomic_load_explicit(&looted, memory_order_relaxed) < LOOT) {
    }
    r->spent_ns = now_ns() - start;
    return asx_region_close(&mine, ASX_OK);
}

/* Keeps the thief awake, and away, until there is something to be taken. */
static asx_status thief(asx_cx *cx, void *arg)
{
    struct robbery *r = arg;
    (void)cx;
    while (!atomic_load(&r->begun)) {
    }
    return ASX_OK;
}

double steal(struct place *p)
{
    struct robbery r = { .place = p };
    struct pair pair = { .place = p, .role = { rich, thief }, .arg = &r };
    asx_stats stats;
    region_open(p);
    run_pair(&pair);
    ok(asx_runtime_stats(asx_cx_runtime(p->cx), &stats), "stats");
    require(stats.tasks_stolen >= LOOT, "not all were stolen");
    return r.spent_ns / LOOT;
}

/* ---- fairness in a storm of cancellations --------------------------------------------------- */

struct ticker {
    atomic_bool stop;
    double last_ns, longest_ns;
};

/* Ready all the time. */
static asx_status tick(asx_cx *cx, void *arg)
{
    struct ticker *t = arg;
    t->last_ns = now_ns();
    while (!atomic_load_explicit(&t->stop, memory_order_relaxed)) {
        ok(asx_yield(cx), "yield");
        double now = now_ns();
        if (now - t->last_ns > t->longest_ns)
            t->longest_ns = now - t->last_ns;
        t->last_ns = now;
    }
    return ASX_OK;
}

double storm_wait(struct place *p)
{
    enum { TASKS = 100000 };
    struct channel full;
    struct ticker ticker = { .longest_ns = 0 };
    asx_region aside;
    ok(asx_region_open(p->cx, NULL, &aside), "open");
    region_open(p);
    channel_make_full(p, &full);
    park_many(p, &full, TASKS, 200);
    require_parked(&full, TASKS);
    ok(asx_spawn(&aside, "ticker", tick, &ticker), "spawn");
    ok(asx_sleep(p->cx, 20 * ASX_MS), "sleep");
    ticker.longest_ns = 0; /* what it was before is not the storm's */
    cancel_all(p, TASKS);
    atomic_store(&ticker.stop, true);
    ok(asx_region_close(&aside, ASX_OK), "close");
    return ticker.longest_ns / 1e3;
}
