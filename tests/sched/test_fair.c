/* test_fair.c - nobody starves, on several workers: tasks that wake each other for ever, storms of
 * cancellations, joins that go out of turn. ctest-labels: own-workers */
#include "harness.h"

#include <asx/asx.h>

#include <stdatomic.h>
#include <unistd.h>

static const uint32_t counts[] = { 2, 4 };

typedef struct match {
    asx_channel_sender tx[2];
    asx_channel_receiver rx[2];
    atomic_bool over;
    atomic_int thirds;
    atomic_ullong rallies;
} match;

typedef struct player {
    match *m;
    int me;
} player;

/* Each wakes the other and waits for it, so that one of the two is always the last one woken. */
static asx_status plays(asx_cx *cx, void *arg)
{
    player *p = arg;
    match *m = p->m;
    uint64_t ball = 0;
    for (;;) {
        if (p->me == 1 || ball != 0) {
            asx_status st = asx_channel_recv(cx, &m->rx[p->me], &ball);
            if (st < 0)
                return st == ASX_E_DISCONNECTED ? ASX_OK : st;
        }
        ball++;
        atomic_fetch_add(&m->rallies, 1);
        if (atomic_load(&m->over)) {
            asx_channel_sender_drop(&m->tx[1 - p->me]);
            return ASX_OK;
        }
        asx_status st = asx_channel_send(cx, &m->tx[1 - p->me], &ball);
        if (st < 0)
            return st == ASX_E_DISCONNECTED ? ASX_OK : st;
    }
}

static asx_status third(asx_cx *cx, void *arg)
{
    match *m = arg;
    for (int i = 0; i < 20; i++) {
        asx_status st = i % 2 == 0 ? asx_yield(cx) : asx_sleep(cx, 100 * ASX_US);
        if (st < 0)
            return st;
    }
    atomic_fetch_add(&m->thirds, 1);
    return ASX_OK;
}

enum { PAIRS = 4, THIRDS = 20 };

static asx_status tournament(asx_cx *cx, void *arg)
{
    static match matches[PAIRS];
    static player players[PAIRS][2];
    asx_region r, others;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int k = 0; k < PAIRS; k++) {
        match *m = &matches[k];
        atomic_store(&m->over, false);
        atomic_store(&m->thirds, 0);
        for (int i = 0; i < 2; i++)
            CHECK_EQ(asx_channel_create(&r, sizeof(uint64_t), 1, NULL, &m->tx[i],
                                        &m->rx[i]), ASX_OK);
        for (int i = 0; i < 2; i++) {
            players[k][i] = (player){ m, i };
            CHECK_EQ(asx_spawn(&r, "player", plays, &players[k][i]), ASX_OK);
        }
    }
    CHECK_EQ(asx_region_open(cx, NULL, &others), ASX_OK);
    for (int i = 0; i < THIRDS; i++)
        CHECK_EQ(asx_spawn(&others, "third", third, &matches[0]), ASX_OK);
    CHECK_EQ(asx_region_close(&others, ASX_OK), ASX_OK); /* while they play on and on */
    CHECK_EQ(atomic_load(&matches[0].thirds), THIRDS);
    for (int k = 0; k < PAIRS; k++) {
        uint64_t before = atomic_load(&matches[k].rallies);
        for (int i = 0; i < 1000 && atomic_load(&matches[k].rallies) < before + 10; i++)
            CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
        CHECK_GE(atomic_load(&matches[k].rallies), before + 10); /* nor do others starve a pair */
    }
    for (int k = 0; k < PAIRS; k++)
        atomic_store(&matches[k].over, true);
    return asx_region_close(&r, ASX_OK);
}

static void everywhere(asx_task_fn fn, void *arg)
{
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        asx_runtime_config config = { .workers = counts[i] };
        asx_runtime *rt;
        CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_EQ(asx_runtime_run(rt, fn, arg), ASX_OK);
        CHECK_EQ(asx_runtime_quiescent(rt), ASX_OK);
        CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    }
}

ASX_TEST(tasks_that_wake_each_other_for_ever_starve_nobody)
{
    everywhere(tournament, NULL);
}

/* ---- a storm of cancellations ---------------------------------------------------------------- */

typedef struct storm {
    atomic_bool over;
    atomic_ullong ticks;
} storm;

static asx_status ticks(asx_cx *cx, void *arg)
{
    storm *s = arg;
    asx_status st = ASX_OK;
    while (!atomic_load(&s->over) && st == ASX_OK) {
        atomic_fetch_add(&s->ticks, 1);
        st = asx_yield(cx);
    }
    return st;
}

static asx_status waits(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = asx_sleep(cx, 3600 * ASX_SEC);
    usleep(20); /* its cleanup */
    return st;
}

static asx_status storms(asx_cx *cx, void *arg)
{
    enum { TASKS = 3000 };
    storm s = { .over = false };
    asx_region calm, stormy;
    asx_fairness_certificate before, after;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &calm), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &stormy), ASX_OK);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(asx_spawn(&stormy, "waits", waits, NULL), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(asx_spawn(&calm, "ticks", ticks, &s), ASX_OK);
    CHECK_EQ(asx_runtime_certificate(asx_cx_runtime(cx), &before), ASX_OK);
    uint64_t ticked = atomic_load(&s.ticks);
    CHECK_EQ(asx_region_cancel(&stormy, NULL), ASX_OK);
    ASX_IGNORE(asx_region_close(&stormy, ASX_OK));
    ticked = atomic_load(&s.ticks) - ticked;
    CHECK_EQ(asx_runtime_certificate(asx_cx_runtime(cx), &after), ASX_OK);
    atomic_store(&s.over, true);
    uint64_t cancels = after.cancel_dispatches - before.cancel_dispatches;
    CHECK_GE(cancels + after.fallback_cancel_dispatches - before.fallback_cancel_dispatches,
             (uint64_t)TASKS - 16); /* whoever was running then was told without one */
    /* Somebody was always ready: one in so many goes to him. */
    CHECK_GE(after.ready_dispatches - before.ready_dispatches, cancels / 20);
    CHECK_GE(ticked, cancels / 20);
    CHECK_LE(after.max_effective_limit_observed, 16u);
    return asx_region_close(&calm, ASX_OK);
}

ASX_TEST(a_storm_of_cancellations_lets_the_ready_go_every_so_often)
{
    everywhere(storms, NULL);
}

/* ---- out of turn ----------------------------------------------------------------------------- */

static asx_status child(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

/* Each join runs the child next, in its joiner's place, and then the joiner again. */
static asx_status joins(asx_cx *cx, void *arg)
{
    match *m = arg;
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    while (!atomic_load(&m->over)) {
        asx_task task;
        CHECK_EQ(asx_spawn_task(&r, child, NULL, NULL, &task), ASX_OK);
        CHECK_EQ(asx_join(cx, &task, NULL), ASX_OK);
    }
    return asx_region_close(&r, ASX_OK);
}

static asx_status joiners(asx_cx *cx, void *arg)
{
    static match m;
    asx_region r, others;
    (void)arg;
    atomic_store(&m.over, false);
    atomic_store(&m.thirds, 0);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &others), ASX_OK);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(asx_spawn(&r, "joins", joins, &m), ASX_OK);
    for (int i = 0; i < THIRDS; i++)
        CHECK_EQ(asx_spawn(&others, "third", third, &m), ASX_OK);
    CHECK_EQ(asx_region_close(&others, ASX_OK), ASX_OK);
    CHECK_EQ(atomic_load(&m.thirds), THIRDS);
    atomic_store(&m.over, true);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(joins_that_go_out_of_turn_starve_nobody)
{
    everywhere(joiners, NULL);
}
