/* test_pool.c - workers that come when others are stuck, and go when they are not needed.
 * ctest-labels: slow clock own-workers */
#include "harness.h"

#include <asx/asx.h>

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fiber/fiber.h"
#include "sched/engine.h"

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * ASX_SEC + (uint64_t)t.tv_nsec;
}

static asx_pool_stats stats_of(asx_runtime *rt)
{
    asx_pool_stats s;
    CHECK_EQ(asx_runtime_pool_stats(rt, &s), ASX_OK);
    CHECK_EQ(s.looks, s.promoted + s.gate_no_work + s.gate_nonpositive + s.gate_idle_capacity +
                          s.gate_not_stuck + s.gate_at_max + s.gate_no_thread);
    return s;
}

/* Not pthread_self(): a compiler may take it for a constant of the function. */
static long thread_id(void)
{
    return syscall(SYS_gettid);
}

static int threads_here(void)
{
    DIR *dir = opendir("/proc/self/task");
    int count = 0;
    CHECK(dir != NULL);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static asx_pool_stats run(const asx_runtime_config *config, asx_task_fn fn, void *arg)
{
    asx_runtime *rt;
    CHECK_EQ(asx_runtime_create(config, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, fn, arg), ASX_OK);
    CHECK_EQ(asx_runtime_quiescent(rt), ASX_OK);
    asx_pool_stats s = stats_of(rt);
    CHECK_EQ(s.active + s.searching + s.asleep + s.draining, 0u); /* nobody drives */
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    return s;
}

/* ---- stuck workers --------------------------------------------------------------------------- */

typedef struct scene {
    uint32_t hogs;
    bool computes;      /* they compute; else they wait in the kernel */
    atomic_int hogging; /* hogs that run now */
    atomic_bool release;
    atomic_int thirds;
    atomic_int pinned_ran;
    uint64_t took_ns;
    int threads_most, threads_after;
    bool seen_asleep;
    asx_pool_stats stats;
} scene;

static asx_status hog(asx_cx *cx, void *arg)
{
    scene *s = arg;
    (void)cx;
    atomic_fetch_add(&s->hogging, 1);
    while (!atomic_load(&s->release))
        if (!s->computes)
            usleep(500);
    atomic_fetch_sub(&s->hogging, 1);
    return ASX_OK;
}

static asx_status third(asx_cx *cx, void *arg)
{
    scene *s = arg;
    asx_status st = asx_sleep(cx, 2 * ASX_MS);
    atomic_fetch_add(&s->thirds, 1);
    return st;
}

/* Another thread looks on, since every worker may be stuck. */
typedef struct onlooker {
    scene *s;
    asx_region region;
    asx_runtime *rt;
    asx_waker done; /* of the task that waits for it, while the region is open */
} onlooker;

static void let_go(onlooker *o)
{
    atomic_store(&o->s->release, true);
    if (o->done.wake != NULL)
        o->done.wake(o->done.arg);
}

static void *look_on(void *arg)
{
    onlooker *o = arg;
    scene *s = o->s;
    while (atomic_load(&s->hogging) < (int)s->hogs)
        usleep(200);
    uint64_t begin = now_ns();
    CHECK_EQ(asx_spawn(&o->region, "third", third, s), ASX_OK);
    while (atomic_load(&s->thirds) == 0 && now_ns() - begin < 10 * ASX_SEC)
        usleep(200);
    s->took_ns = now_ns() - begin;
    s->threads_most = threads_here();
    s->stats = stats_of(o->rt);
    let_go(o);
    return NULL;
}

static asx_status wait_and_close(asx_cx *cx, onlooker *o, pthread_t thread)
{
    CHECK_EQ(asx_wait_external(cx), ASX_OK);
    CHECK_EQ(asx_region_close(&o->region, ASX_OK), ASX_OK);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return ASX_OK;
}

static asx_status stage(asx_cx *cx, void *arg)
{
    onlooker o = { .s = arg, .rt = asx_cx_runtime(cx) };
    pthread_t thread;
    CHECK_EQ(asx_region_open(cx, NULL, &o.region), ASX_OK);
    CHECK_EQ(asx_cx_waker(cx, &o.done), ASX_OK);
    CHECK_EQ(pthread_create(&thread, NULL, look_on, &o), 0);
    for (uint32_t i = 0; i < o.s->hogs; i++)
        CHECK_EQ(asx_spawn(&o.region, "hog", hog, o.s), ASX_OK);
    return wait_and_close(cx, &o, thread);
}

static void stuck(uint32_t workers, bool computes)
{
    asx_runtime_config config = { .workers = workers };
    scene s = { .hogs = workers, .computes = computes };
    asx_pool_stats end = run(&config, stage, &s);
    CHECK_EQ(atomic_load(&s.thirds), 1);
    CHECK_LE(s.took_ns, ASX_SEC * asx_test_scale()); /* else for as long as they hog: 10 s */
    CHECK_GE(s.stats.promoted, 1u);
    CHECK_GE(s.stats.stuck, 1u);
    CHECK_EQ(s.stats.workers_base, workers);
    CHECK_EQ(s.stats.workers_max, 2 * workers);
    CHECK_GE(end.workers_peak, workers + 1);
    CHECK_GE(end.looks_positive, 1u);
    CHECK_GE(end.pressure_max, 1);
}

ASX_TEST(workers_that_all_compute_keep_nobody_from_running)
{
    stuck(2, true);
}

ASX_TEST(workers_that_all_block_keep_nobody_from_running)
{
    stuck(2, false);
    stuck(4, false);
}

/* Nothing is runnable when they begin to hog, but this sleeps. */
static asx_status sleeps_through(asx_cx *cx, void *arg)
{
    scene *s = arg;
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (uint32_t i = 0; i < s->hogs; i++)
        CHECK_EQ(asx_spawn(&r, "hog", hog, s), ASX_OK);
    uint64_t begin = now_ns();
    CHECK_EQ(asx_sleep(cx, 50 * ASX_MS), ASX_OK);
    s->took_ns = now_ns() - begin;
    CHECK_EQ(atomic_load(&s->hogging), (int)s->hogs);
    atomic_store(&s->release, true);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(workers_that_are_all_stuck_do_not_stop_the_clock)
{
    asx_runtime_config config = { .workers = 2 };
    scene s = { .hogs = 2 };
    asx_pool_stats end = run(&config, sleeps_through, &s);
    CHECK_LE(s.took_ns, ASX_SEC * asx_test_scale());
    CHECK_GE(end.promoted, 1u);
}

ASX_TEST(a_pool_of_fixed_size_stays_as_it_is)
{
    asx_runtime_config configs[] = { { .workers = 2, .workers_fixed = true },
                                     { .workers = 2, .workers_max = 2 },
                                     { .workers = 2, .workers_max = 1 } };
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        scene s = { .hogs = 1 };
        asx_pool_stats end = run(&configs[i], stage, &s);
        CHECK_EQ(end.workers_max, 2u);
        CHECK_EQ(end.workers_peak, 2u);
        CHECK_EQ(end.promoted, 0u);
    }
}

static void *wait_for_the_limit(void *arg)
{
    onlooker *o = arg;
    while (stats_of(o->rt).gate_at_max == 0 || atomic_load(&o->s->hogging) < 3)
        usleep(500); /* a worker that is counted may have to wait for a core */
    CHECK_EQ(atomic_load(&o->s->hogging), 3); /* the fourth waits for one of them */
    let_go(o);
    return NULL;
}

ASX_TEST(a_pool_grows_no_further_than_it_may)
{
    asx_runtime_config config = { .workers = 2, .workers_max = 3 };
    scene s = { .hogs = 3 };
    asx_runtime *rt;
    onlooker o = { .s = &s };
    pthread_t thread;
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_root(rt, &o.region), ASX_OK);
    o.rt = rt;
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(asx_spawn(&o.region, "hog", hog, &s), ASX_OK);
    CHECK_EQ(pthread_create(&thread, NULL, wait_for_the_limit, &o), 0);
    CHECK_EQ(asx_runtime_run(rt, hog, &s), ASX_OK);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(stats_of(rt).workers_peak, 3u);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

typedef struct full_house {
    asx_runtime *rt;
    atomic_int held, tickets; /* workers that are, and that may go */
    atomic_bool is_full;
    atomic_int woken, thirds;
    uint64_t took_ns;
} full_house;

static asx_status hold_worker(asx_cx *cx, void *arg)
{
    full_house *h = arg;
    (void)cx;
    atomic_fetch_add(&h->held, 1);
    for (int tickets = 0; tickets == 0 ||
                          !atomic_compare_exchange_strong(&h->tickets, &tickets, tickets - 1);) {
        usleep(500);
        tickets = atomic_load(&h->tickets);
    }
    atomic_fetch_sub(&h->held, 1);
    return ASX_OK;
}

static asx_status sleeps_and_counts(asx_cx *cx, void *arg)
{
    full_house *h = arg;
    asx_status st = asx_sleep(cx, ASX_MS);
    atomic_fetch_add(&h->thirds, 1);
    return st;
}

/* While all are held this one sleeps, for it needs a worker to do anything else. */
static asx_status keep_sleeping(asx_cx *cx, void *arg)
{
    full_house *h = arg;
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(asx_spawn(&r, "held", hold_worker, h), ASX_OK);
    do
        CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    while (!atomic_load(&h->is_full));
    CHECK_EQ(atomic_load(&h->held), 3);
    atomic_store(&h->woken, 1);
    CHECK_EQ(asx_spawn(&r, "third", sleeps_and_counts, h), ASX_OK);
    while (atomic_load(&h->thirds) == 0)
        CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(atomic_load(&h->held), 3);
    atomic_store(&h->woken, 2);
    return asx_region_close(&r, ASX_OK);
}

static void *let_one_go(void *arg)
{
    full_house *h = arg;
    while (atomic_load(&h->held) < 4)
        usleep(500);
    atomic_store(&h->is_full, true);
    uint64_t at_max = stats_of(h->rt).gate_at_max;
    while (stats_of(h->rt).gate_at_max < at_max + 5)
        usleep(500); /* the sleeper is due: it was seen to wait so often */
    CHECK_EQ(atomic_load(&h->woken), 0);
    uint64_t begin = now_ns();
    atomic_store(&h->tickets, 1);
    while (atomic_load(&h->woken) < 2 && now_ns() - begin < 10 * ASX_SEC)
        usleep(500);
    h->took_ns = now_ns() - begin;
    atomic_store(&h->tickets, 3);
    return NULL;
}

ASX_TEST(at_the_ceiling_time_stands_still_until_one_worker_comes_back_and_does_everything)
{
    asx_runtime_config config = { .workers = 2 };
    full_house h = { .took_ns = 0 };
    pthread_t thread;
    CHECK_EQ(asx_runtime_create(&config, &h.rt), ASX_OK);
    CHECK_EQ(pthread_create(&thread, NULL, let_one_go, &h), 0);
    CHECK_EQ(asx_runtime_run(h.rt, keep_sleeping, &h), ASX_OK);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_LE(h.took_ns, ASX_SEC * asx_test_scale());
    asx_pool_stats end = stats_of(h.rt);
    CHECK_EQ(end.workers_peak, 4u);
    CHECK_EQ(end.workers_max, 4u);
    CHECK_EQ(asx_runtime_destroy(h.rt), ASX_OK);
}

/* ---- going ----------------------------------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
    struct rusage use;
    CHECK_EQ(getrusage(RUSAGE_SELF, &use), 0);
    return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * ASX_SEC +
           (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * ASX_US;
}

/* In ten seconds. TSan has a thread of its own, which looks around ten times in each of them. */
#if ASX_TEST_TSAN
#define CPU_MOST_NS (20 * ASX_MS)
#else
#define CPU_MOST_NS (5 * ASX_MS)
#endif

static asx_status grows_and_rests(asx_cx *cx, void *arg)
{
    scene *s = arg;
    int before = threads_here();
    CHECK_EQ(stage(cx, s), ASX_OK);
    CHECK_GE(s->threads_most, before + 1);
    for (int i = 0; i < 100 && threads_here() > before; i++)
        CHECK_EQ(asx_sleep(cx, 20 * ASX_MS), ASX_OK);
    CHECK_EQ(threads_here(), before);
    asx_pool_stats end = stats_of(asx_cx_runtime(cx));
    CHECK_EQ(end.promoted, end.retired_idle + end.retired_surplus);
    CHECK_LE(end.active + end.searching + end.asleep, end.workers_base);
    CHECK_EQ(asx_sleep(cx, 200 * ASX_MS), ASX_OK); /* whoever looks in stops to */
    uint64_t used = cpu_ns(), looks = stats_of(asx_cx_runtime(cx)).looks;
    CHECK_EQ(asx_sleep(cx, 10 * ASX_SEC), ASX_OK);
    CHECK_LE(cpu_ns() - used, CPU_MOST_NS);
    CHECK_LE(stats_of(asx_cx_runtime(cx)).looks - looks, 50u);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(surplus_workers_retire_and_an_idle_runtime_uses_no_processor, 40)
{
    asx_runtime_config config = { .workers = 2 };
    scene s = { .hogs = 2 };
    asx_pool_stats end = run(&config, grows_and_rests, &s);
    CHECK_GE(end.retired_idle, 1u);
    CHECK_GE(end.looks_negative, 1u);
    CHECK_GE(end.negative_streak_max, 1u);
    CHECK_GE(end.gate_no_work, 1u);
}

/* Everyone has something to do all the time: more than enough workers share it. */
typedef struct crowd {
    atomic_bool stop;
    atomic_int ran;
    asx_region region;
} crowd;

static asx_status bustle(asx_cx *cx, void *arg)
{
    crowd *c = arg;
    asx_status st = ASX_OK;
    while (!atomic_load(&c->stop) && st == ASX_OK) {
        usleep(50); /* also on a busy machine it does not take long */
        st = asx_yield(cx);
    }
    atomic_fetch_add(&c->ran, 1);
    return st;
}

static asx_status hogs_then_bustles(asx_cx *cx, void *arg)
{
    crowd *c = arg;
    scene s = { .hogs = 2 };
    CHECK_EQ(asx_region_open(cx, NULL, &c->region), ASX_OK);
    for (int i = 0; i < 12; i++)
        CHECK_EQ(asx_spawn(&c->region, "bustle", bustle, c), ASX_OK);
    CHECK_EQ(stage(cx, &s), ASX_OK);
    CHECK_GE(s.stats.promoted, 1u);
    asx_runtime *rt = asx_cx_runtime(cx);
    for (int i = 0; i < 200 && stats_of(rt).retired_surplus == 0; i++)
        CHECK_EQ(asx_sleep(cx, 20 * ASX_MS), ASX_OK);
    CHECK_GE(stats_of(rt).retired_surplus, 1u);
    atomic_store(&c->stop, true);
    CHECK_EQ(asx_region_close(&c->region, ASX_OK), ASX_OK);
    CHECK_EQ(atomic_load(&c->ran), 12); /* nobody went with the worker that went */
    return ASX_OK;
}

ASX_TEST(a_surplus_worker_that_has_work_hands_it_over_and_goes)
{
    asx_runtime_config config = { .workers = 2 };
    crowd c = { .ran = 0 };
    asx_pool_stats end = run(&config, hogs_then_bustles, &c);
    CHECK_GE(end.gate_not_stuck, 1u);
}

/* ---- behind a stuck worker ------------------------------------------------------------------- */

static asx_status is_behind(asx_cx *cx, void *arg)
{
    (void)cx;
    atomic_store(&((scene *)arg)->release, true);
    return ASX_OK;
}

/* What it spawns waits in the list of its worker, which it keeps until somebody has run it. */
static asx_status stands_before(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_EQ(asx_cx_region(cx, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "behind", is_behind, arg), ASX_OK);
    return hog(cx, arg);
}

static asx_status bustles_around(asx_cx *cx, void *arg)
{
    scene *s = arg;
    crowd c = { .ran = 0 };
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &c.region), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 12; i++)
        CHECK_EQ(asx_spawn(&c.region, "bustle", bustle, &c), ASX_OK);
    for (int i = 0; i < 5; i++) {
        atomic_store(&s->release, false);
        CHECK_EQ(asx_spawn(&r, "before", stands_before, s), ASX_OK);
        while (!atomic_load(&s->release) || atomic_load(&s->hogging) != 0)
            CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    }
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    atomic_store(&c.stop, true);
    return asx_region_close(&c.region, ASX_OK);
}

ASX_TEST(what_waits_behind_a_stuck_worker_is_run_by_others_though_they_are_never_idle)
{
    asx_runtime_config config = { .workers = 2, .workers_fixed = true };
    scene s = { .hogs = 1 };
    asx_pool_stats end = run(&config, bustles_around, &s);
    CHECK_EQ(end.workers_peak, 2u);
    CHECK_GE(end.handed_on, 1u);
}

/* ---- pinned ---------------------------------------------------------------------------------- */

typedef struct nailed {
    scene s;
    long home;
    atomic_bool spawned, moved;
} nailed;

static asx_status stays(asx_cx *cx, void *arg)
{
    nailed *n = arg;
    for (int i = 0; i < 20; i++) {
        if (thread_id() != n->home)
            atomic_store(&n->moved, true);
        CHECK_EQ(i % 2 ? asx_yield(cx) : asx_sleep(cx, 100 * ASX_US), ASX_OK);
    }
    atomic_fetch_add(&n->s.pinned_ran, 1);
    return ASX_OK;
}

/* Spawns a pinned task onto its worker, then does not let go of that. */
static asx_status pins_and_hogs(asx_cx *cx, void *arg)
{
    nailed *n = arg;
    asx_region r;
    asx_spawn_options pinned = { .name = "stays", .flags = ASX_PINNED };
    CHECK_EQ(asx_cx_region(cx, &r), ASX_OK);
    n->home = thread_id();
    CHECK_EQ(asx_spawn_task(&r, stays, n, &pinned, NULL), ASX_OK);
    atomic_store(&n->spawned, true);
    return hog(cx, &n->s);
}

static asx_status pins(asx_cx *cx, void *arg)
{
    nailed *n = arg;
    onlooker o = { .s = &n->s, .rt = asx_cx_runtime(cx) };
    pthread_t thread;
    CHECK_EQ(asx_region_open(cx, NULL, &o.region), ASX_OK);
    CHECK_EQ(asx_cx_waker(cx, &o.done), ASX_OK);
    CHECK_EQ(asx_spawn(&o.region, "pins", pins_and_hogs, n), ASX_OK);
    while (!atomic_load(&n->spawned))
        CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(asx_spawn(&o.region, "hog", hog, &n->s), ASX_OK);
    CHECK_EQ(pthread_create(&thread, NULL, look_on, &o), 0);
    return wait_and_close(cx, &o, thread);
}

ASX_TEST(what_is_pinned_to_a_stuck_worker_waits_for_it)
{
    asx_runtime_config config = { .workers = 2 };
    nailed n = { .s = { .hogs = 2 } };
    asx_pool_stats end = run(&config, pins, &n);
    CHECK_GE(end.promoted, 1u);
    CHECK_EQ(atomic_load(&n.s.thirds), 1);
    CHECK_EQ(atomic_load(&n.s.pinned_ran), 1);
    CHECK(!atomic_load(&n.moved));
}

static asx_status long_stay(asx_cx *cx, void *arg)
{
    nailed *n = arg;
    CHECK_EQ(thread_id(), n->home);
    CHECK_EQ(asx_sleep(cx, 300 * ASX_MS), ASX_OK); /* longer than an idle worker stays */
    CHECK_EQ(thread_id(), n->home);
    atomic_fetch_add(&n->s.pinned_ran, 1);
    return ASX_OK;
}

/* A task that runs on a surplus worker pins others there. The region is closed once they are
 * there: none of them comes too late. */
static asx_status pins_here(asx_cx *cx, void *arg)
{
    nailed *n = arg;
    asx_region r;
    asx_spawn_options pinned = { .name = "stays", .flags = ASX_PINNED };
    CHECK_EQ(asx_cx_region(cx, &r), ASX_OK);
    n->home = thread_id();
    CHECK_EQ(asx_spawn_task(&r, stays, n, &pinned, NULL), ASX_OK);
    CHECK_EQ(asx_spawn_task(&r, long_stay, n, &pinned, NULL), ASX_OK);
    atomic_store(&n->spawned, true);
    return ASX_OK;
}

static void *spawn_from_outside(void *arg)
{
    onlooker *o = arg;
    nailed *n = (nailed *)o->s;
    while (atomic_load(&n->s.hogging) < 2)
        usleep(200);
    CHECK_EQ(asx_spawn(&o->region, "pins", pins_here, n), ASX_OK);
    while (!atomic_load(&n->spawned))
        usleep(200);
    let_go(o);
    return NULL;
}

static asx_status pins_on_surplus(asx_cx *cx, void *arg)
{
    nailed *n = arg;
    onlooker o = { .s = &n->s, .rt = asx_cx_runtime(cx) };
    pthread_t thread;
    CHECK_EQ(asx_region_open(cx, NULL, &o.region), ASX_OK);
    CHECK_EQ(asx_cx_waker(cx, &o.done), ASX_OK);
    CHECK_EQ(pthread_create(&thread, NULL, spawn_from_outside, &o), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(asx_spawn(&o.region, "hog", hog, &n->s), ASX_OK);
    CHECK_EQ(wait_and_close(cx, &o, thread), ASX_OK);
    CHECK_EQ(atomic_load(&n->s.pinned_ran), 2);
    for (int i = 0; i < 100 && stats_of(o.rt).retired_idle == 0; i++)
        CHECK_EQ(asx_sleep(cx, 20 * ASX_MS), ASX_OK);
    CHECK_GE(stats_of(o.rt).retired_idle, 1u); /* but then it goes */
    return ASX_OK;
}

ASX_TEST(a_surplus_worker_stays_for_what_is_pinned_to_it)
{
    asx_runtime_config config = { .workers = 2 };
    nailed n = { .s = { .hogs = 2 } };
    (void)run(&config, pins_on_surplus, &n);
    CHECK(!atomic_load(&n.moved));
}

/* ---- pinned in the last slice ---------------------------------------------------------------- */

typedef struct last_slice {
    atomic_int here;
    atomic_int ran_on; /* + 1 */
} last_slice;

static asx_status notes_its_worker(asx_cx *cx, void *arg)
{
    (void)cx;
    atomic_store((atomic_int *)arg, (int)asx__thread_self()->worker->index + 1);
    return ASX_OK;
}

/* Two at once, so that one is not on the first worker. */
static asx_status pins_while_it_drains(asx_cx *cx, void *arg)
{
    last_slice *s = arg;
    asx_spawn_options pinned = { .flags = ASX_PINNED };
    asx_region r;
    asx_task task;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    atomic_fetch_add(&s->here, 1);
    while (atomic_load(&s->here) < 2)
        continue;
    asx__worker *self = asx__thread_self()->worker;
    if (self->index != 0) {
        asx__bell_set(&self->bell, ASX__WORKER_DRAINING); /* as drain_one() would */
        asx_status st = asx_spawn_task(&r, notes_its_worker, &s->ran_on, &pinned, &task);
        asx__bell_set(&self->bell, ASX__WORKER_ACTIVE);
        CHECK_EQ(st, ASX_OK);
    }
    return asx_region_close(&r, ASX_OK);
}

static asx_status spawns_two(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(asx_spawn(&r, NULL, pins_while_it_drains, arg), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(what_is_pinned_in_the_last_slice_of_a_worker_is_pinned_to_another)
{
    static last_slice s;
    asx_runtime *rt;
    asx_runtime_config config = { .workers = 2, .workers_fixed = true };
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, spawns_two, &s), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(atomic_load(&s.ran_on), 1);
}

/* ---- asking ---------------------------------------------------------------------------------- */

ASX_TEST(one_worker_is_a_pool_of_one)
{
    asx_runtime *rt;
    asx_runtime_config config = { .workers = 1, .workers_max = 8 };
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    asx_pool_stats s = stats_of(rt), one = { .workers_base = 1, .workers_max = 1 };
    CHECK_MEM_EQ(&s, &one, sizeof s);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(a_dump_says_how_many_workers_there_are_and_why)
{
    asx_runtime *rt;
    asx_runtime_config config = { .workers = 3, .workers_max = 5 };
    char text[4096] = "";
    int fds[2];
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_EQ(pipe(fds), 0);
    CHECK_EQ(asx_dump_tasks(rt, fds[1]), ASX_OK);
    CHECK(read(fds[0], text, sizeof text - 1) > 0);
    CHECK(strstr(text, "workers 3 to 5: 0 active, 0 searching, 0 asleep, 0 polling, "
                       "0 draining; stuck 0, handed on 0, promoted 0, retired 0; looks 0: "
                       "no work 0, nonpositive 0, idle capacity 0, not stuck 0, at max 0, "
                       "no thread 0\n") != NULL);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}
