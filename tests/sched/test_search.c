/* Workers that have run out of work look at their bell for a moment before they sleep: nobody who
 * rings at any moment of that is missed, and what waits behind somebody busy is found, also if that
 * one makes calls all the time.
 * ctest-labels: own-workers */
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include <asx/asx.h>

#include "base/rng.h"
#include "harness.h"

enum { ROUNDS = 4000, GAP_MAX_NS = 16000 };

static void run_on(uint32_t workers, asx_task_fn fn, void *arg)
{
    asx_runtime_config config = { .workers = workers, .workers_fixed = true };
    asx_runtime *rt = NULL;
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, fn, arg), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

static void burn(uint64_t ns)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do
        clock_gettime(CLOCK_MONOTONIC, &b);
    while ((uint64_t)(b.tv_sec - a.tv_sec) * ASX_SEC + (uint64_t)b.tv_nsec - (uint64_t)a.tv_nsec <
           ns);
}

/* ---- bells ----------------------------------------------------------------------------------- */

typedef struct game {
    asx_region region;
    asx_channel_sender tx[2];
    asx_channel_receiver rx[2];
    atomic_uint here;
    atomic_uint rounds;
} game;

typedef struct player {
    game *game;
    unsigned number;
} player;

/* Throws, waits for the answer, and computes for a while, at which the other has run out of work:
 * it searches still, is about to sleep, or sleeps. */
static asx_status plays(asx_cx *cx, void *arg)
{
    const player *p = arg;
    game *g = p->game;
    asx__rng rng;
    uint64_t ball = 0;
    asx__rng_seed(&rng, p->number + 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (p->number == 0 || i > 0)
            CHECK_EQ(asx_channel_send(cx, &g->tx[p->number], &ball), ASX_OK);
        CHECK_EQ(asx_channel_recv(cx, &g->rx[1 - p->number], &ball), ASX_OK);
        burn(asx__rng_below(&rng, GAP_MAX_NS));
        ball++;
        atomic_fetch_add(&g->rounds, 1);
    }
    if (p->number == 1)
        CHECK_EQ(asx_channel_send(cx, &g->tx[1], &ball), ASX_OK);
    return ASX_OK;
}

/* Two that wait for each other without leaving are on two workers, and so are whom they pin. */
static asx_status seats(asx_cx *cx, void *arg)
{
    const player *p = arg;
    asx_spawn_options pinned = { .name = "player", .flags = ASX_PINNED };
    (void)cx;
    atomic_fetch_add(&p->game->here, 1);
    while (atomic_load(&p->game->here) < 2)
        sched_yield();
    CHECK_EQ(asx_spawn_task(&p->game->region, plays, arg, &pinned, NULL), ASX_OK);
    return ASX_OK;
}

static asx_status plays_ball(asx_cx *cx, void *arg)
{
    game *g = arg;
    player players[2] = { { g, 0 }, { g, 1 } };
    asx_region both;
    CHECK_EQ(asx_region_open(cx, NULL, &g->region), ASX_OK);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(asx_channel_create(&g->region, sizeof(uint64_t), 2, NULL, &g->tx[i],
                                    &g->rx[i]), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &both), ASX_OK);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(asx_spawn(&both, "seats", seats, &players[i]), ASX_OK);
    CHECK_EQ(asx_region_close(&both, ASX_OK), ASX_OK);
    CHECK_EQ(asx_region_close(&g->region, ASX_OK), ASX_OK);
    CHECK_EQ(atomic_load(&g->rounds), 2 * ROUNDS);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(who_rings_at_any_moment_is_heard, 60)
{
    game g = { .here = 0 };
    run_on(2, plays_ball, &g);
}

/* ---- work behind somebody busy --------------------------------------------------------------- */

static atomic_uint taken;

static asx_status tiny(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    atomic_fetch_add(&taken, 1);
    return ASX_OK;
}

/* Fills its worker's queue and does not leave before all of it has been done elsewhere. */
static asx_status waits_busily(asx_cx *cx, void *arg)
{
    enum { LOOT = 20000 };
    asx_region r;
    asx_stats stats;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (unsigned i = 0; i < LOOT; i++)
        CHECK_EQ(asx_spawn(&r, NULL, tiny, NULL), ASX_OK);
    while (atomic_load(&taken) < LOOT)
        sched_yield();
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK_GE(stats.tasks_stolen, 1);
    return ASX_OK;
}

ASX_TEST(what_waits_behind_somebody_busy_is_done_by_others)
{
    run_on(2, waits_busily, NULL);
}

/* ---- work behind somebody who calls all the time --------------------------------------------- */

enum { ERRANDS = 15 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * ASX_SEC + (uint64_t)t.tv_nsec;
}

/* Spawns something and calls until it has been done. Nothing is dispatched here meanwhile. (If the
 * calls were all that is looked at, a system that takes the core away at times would hide it.) */
static void waits_calling(asx_cx *cx, const asx_region *r, const asx_mutex *mutex)
{
    CHECK_EQ(asx_sleep(cx, 10 * ASX_MS), ASX_OK); /* everyone sleeps now */
    uint64_t begin = now_ns();
    atomic_store(&taken, 0);
    CHECK_EQ(asx_spawn(r, "errand", tiny, NULL), ASX_OK);
    while (atomic_load(&taken) == 0 && now_ns() - begin < ASX_SEC * asx_test_scale()) {
        asx_mutex_guard guard;
        CHECK_EQ(asx_mutex_lock(cx, mutex, &guard), ASX_OK);
        CHECK_EQ(asx_mutex_unlock(&guard), ASX_OK);
    }
    CHECK_EQ(atomic_load(&taken), 1);
}

static asx_status calls_all_the_time(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_mutex mutex;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_mutex_create(&r, &(asx_mutex_options){ .name = "own" }, &mutex), ASX_OK);
    for (unsigned i = 0; i < ERRANDS; i++)
        waits_calling(cx, &r, &mutex);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST_TIMEOUT(what_waits_behind_somebody_who_calls_all_the_time_is_done_by_others, 60)
{
    run_on(8, calls_all_the_time, NULL);
}
