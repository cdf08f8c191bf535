/* test_steal.c - the order of a search, and the journal of several workers. What the order looks
 * like on a running scheduler is shown by the fixtures sc-steal-001 and INV-SC-05.
 * ctest-labels: own-workers */
#include "harness.h"

#include <string.h>
#include <unistd.h>

#include <asx/asx.h>

#include "sched/engine.h"
#include "sched/steal.h"
#include "sched/task.h"

enum { SCANS = 64, VICTIMS = 5 };

static void scans_of(uint64_t seed, uint32_t worker, uint32_t order[SCANS][VICTIMS])
{
    asx__rng rng;
    asx__scan_seed(&rng, seed, worker);
    for (int i = 0; i < SCANS; i++) {
        asx__scan scan = asx__scan_begin(&rng, VICTIMS);
        uint32_t at = 99;
        for (int k = 0; k < VICTIMS; k++)
            CHECK(asx__scan_step(&scan, &order[i][k]));
        CHECK(!asx__scan_step(&scan, &at));
        CHECK_EQ(at, 99);
    }
}

ASX_TEST(a_search_goes_once_around)
{
    static uint32_t order[SCANS][VICTIMS];
    uint32_t begun = 0;
    scans_of(7, 0, order);
    for (int i = 0; i < SCANS; i++) {
        uint32_t visited = 0;
        for (int k = 0; k < VICTIMS; k++) {
            CHECK(k == 0 || order[i][k] == (order[i][k - 1] + 1) % VICTIMS);
            visited |= 1u << order[i][k];
        }
        CHECK_EQ(visited, (1u << VICTIMS) - 1);
        begun |= 1u << order[i][0];
    }
    CHECK_EQ(begun, (1u << VICTIMS) - 1); /* anybody can be the first */
}

ASX_TEST(seed_and_worker_decide_where_searches_begin)
{
    static uint32_t a[SCANS][VICTIMS], b[SCANS][VICTIMS], c[SCANS][VICTIMS], d[SCANS][VICTIMS];
    scans_of(7, 0, a);
    scans_of(7, 0, b);
    scans_of(8, 0, c);
    scans_of(7, 1, d);
    CHECK(memcmp(a, b, sizeof a) == 0);
    CHECK(memcmp(a, c, sizeof a) != 0);
    CHECK(memcmp(a, d, sizeof a) != 0);
}

/* ---- what a worker keeps to run next ---- */

static unsigned runs;

static asx_status counts_runs(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    runs++;
    return ASX_OK;
}

/* The child of a join that was withdrawn may still be the next of the worker that had it. */
static asx_status joins_what_another_keeps(asx_cx *cx, void *arg)
{
    asx_runtime *rt = cx->rt_->behind;
    asx__worker *other = &rt->engine->workers[1];
    asx_region r;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "before", counts_runs, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, counts_runs, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "after", counts_runs, NULL), ASX_OK);
    asx__task *child = asx__task_at(rt, asx_handle_index(t.id) + 1);
    asx__list_remove(&child->node);
    other->r.next_up = child;
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    CHECK(other->r.next_up == NULL);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(runs, 3);
    return ASX_OK;
}

ASX_TEST(a_child_that_another_worker_keeps_is_taken_from_it_by_a_join)
{
    asx_runtime_config config = { .workers = 2 };
    asx_runtime *rt = NULL;
    asx_status st;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_start(rt, joins_what_another_keeps, NULL), ASX_OK);
    do
        st = asx_runtime_step(rt, 0, NULL); /* no other worker is there */
    while (st == ASX_E_WOULD_BLOCK);
    CHECK_STATUS(st, ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- the journal ---- */

enum { TASKS = 40, WORKERS = 3 };

typedef struct seen {
    uint64_t seq, runs, wakes, completes, users;
    asx_time time;
    uint64_t spawned_at[4096]; /* seq, by task; later that of its last wake */
    uint32_t workers;          /* bits */
} seen;

static void look(void *ctx, const asx_event *e)
{
    seen *s = ctx;
    CHECK_EQ(e->seq, ++s->seq); /* one order, without gaps ... */
    CHECK_GE(e->time, s->time); /* ... in which time does not go back */
    s->time = e->time;
    CHECK(e->cause < e->seq);
    CHECK_LE(e->worker, WORKERS);
    s->workers |= 1u << e->worker;
    if (e->kind == ASX_EVENT_TASK_SPAWN || e->kind == ASX_EVENT_TASK_WAKE)
        s->spawned_at[e->object] = e->seq;
    s->wakes += e->kind == ASX_EVENT_TASK_WAKE;
    s->completes += e->kind == ASX_EVENT_TASK_COMPLETE;
    s->users += e->kind == ASX_EVENT_USER;
    if (e->kind != ASX_EVENT_TASK_RUN)
        return;
    CHECK_EQ(e->cause, s->spawned_at[e->object]); /* what made it runnable */
    CHECK(e->worker != 0);
    s->runs++;
}

static asx_status sleeps(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)usleep(200); /* long enough to be worth a worker */
    asx_status st = asx_sleep(cx, ASX_MS);
    return st < 0 ? st : asx_trace_user(cx, 1, 2);
}

static asx_status spawns_sleepers(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < TASKS; i++)
        CHECK_STATUS(asx_spawn(&r, "sleeper", sleeps, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static asx_status count_bytes(void *ctx, const void *bytes, size_t len)
{
    (void)bytes;
    *(size_t *)ctx += len;
    return ASX_OK;
}

ASX_TEST(several_workers_have_one_journal_in_which_causes_come_first)
{
    static seen s;
    asx_runtime_config config = { .workers = WORKERS, .trace = true };
    asx_runtime *rt = NULL;
    size_t len = 0;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_observe(rt, look, &s), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, spawns_sleepers, NULL), ASX_OK);
    CHECK_GE(s.wakes, TASKS);
    CHECK_EQ(s.users, TASKS);
    CHECK_EQ(s.completes, TASKS + 1);
    CHECK_GE(s.runs, 2 * TASKS);
    CHECK((s.workers & ~3u) != 0); /* more than one of them worked */
    CHECK_STATUS(asx_runtime_trace_status(rt), ASX_OK);
    CHECK(asx_runtime_digest(rt) != 0);
    CHECK_STATUS(asx_runtime_trace_write(rt, count_bytes, &len), ASX_OK);
    CHECK(len > 1000);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(several_workers_do_not_replay)
{
    asx_runtime_config config = { .workers = 2, .trace = true };
    asx_runtime *rt = NULL;
    asx_trace_reader reader = { 0 };
    asx_divergence none;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_replay(rt, &reader), ASX_E_NOT_SUPPORTED);
    CHECK_STATUS(asx_runtime_divergence(rt, &none), ASX_OK);
    CHECK(!none.diverged);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}
