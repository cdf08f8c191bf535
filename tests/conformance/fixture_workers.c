/* fixture_workers.c - whose work a worker takes, read off the journal of runs on several workers.
 *
 * On a stage every worker has a task of ours, its keeper, which does not let go of it. In act n the
 * keeper of worker n steps aside (it waits for a message) when the others have spawned their loads.
 * So worker n is the only one that is free and has nothing of its own: it takes all of the loads,
 * search by search, and the end of the last task calls its keeper back.
 *
 * The journal has a worker-search for every search, which says where it began and where it ended, a
 * task-steal for every task that moves, and the worker of each event. So what each keeper's worker
 * still has can be counted, and every search judged.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdlib.h>

enum { WORKERS_MAX = 64, LOADS = 5, EVENTS_MAX = 1 << 17, HERE = 1, ASIDE = 2, BACK = 3 };
/* A machine that others keep busy for half a minute is no reason to fail. */
enum { TRIES = 300 };

/* Four, or as many as are asked for. */
static unsigned workers_wanted(void)
{
    return cli_fixture_workers() > 1 ? cli_fixture_workers() : 4;
}

typedef struct stage {
    unsigned workers;
    unsigned load[LOADS]; /* tasks, by (worker + act) % LOADS */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned here, loaded, acts_done; /* with the lock held */
    size_t left;                      /* tasks of this act; likewise */
    uint32_t worker[WORKERS_MAX];         /* of each keeper; written by the observer */
    asx_region region;
    asx_channel_sender call;
    asx_channel_receiver called;
    asx_event *events;                /* those that matter here */
    size_t count;
} stage;

typedef struct keeper {
    stage *on;
    unsigned index;
} keeper;

static void observe(void *ctx, const asx_event *event)
{
    stage *s = ctx;
    if (event->kind != ASX_EVENT_WORKER_SEARCH && event->kind != ASX_EVENT_TASK_STEAL &&
        event->kind != ASX_EVENT_TASK_SPAWN && event->kind != ASX_EVENT_USER)
        return;
    if (event->kind == ASX_EVENT_USER && event->object == HERE)
        s->worker[event->a] = event->worker;
    FIX(s->count < EVENTS_MAX);
    s->events[s->count++] = *event;
}

static asx_status loot(asx_cx *cx, void *arg)
{
    stage *s = arg;
    (void)pthread_mutex_lock(&s->lock);
    bool last = --s->left == 0;
    (void)pthread_mutex_unlock(&s->lock);
    uint64_t message = 0;
    if (last)
        FIX_STATUS(asx_channel_try_send(cx, &s->call, &message), ASX_OK);
    return ASX_OK;
}

static unsigned load_of(const stage *s, uint32_t worker, unsigned act)
{
    bool next = worker == act % s->workers + 1; /* so that there is something */
    return s->load[(worker + act) % LOADS] + next;
}

/* Spawns, and keeps the worker until the act is over. */
static void stay(stage *s, uint32_t worker, unsigned act)
{
    for (unsigned i = load_of(s, worker, act); i > 0; i--)
        FIX_STATUS(asx_spawn(&s->region, "loot", loot, s), ASX_OK);
    (void)pthread_mutex_lock(&s->lock);
    s->loaded++;
    (void)pthread_cond_broadcast(&s->changed);
    while (s->acts_done < act)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    (void)pthread_mutex_unlock(&s->lock);
}

static void step_aside(asx_cx *cx, stage *s, unsigned act)
{
    uint64_t message;
    (void)pthread_mutex_lock(&s->lock);
    while (s->loaded < s->workers - 1)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    s->loaded = 0;
    (void)pthread_mutex_unlock(&s->lock);
    FIX_STATUS(asx_trace_user(cx, ASIDE, act), ASX_OK);
    FIX_STATUS(asx_channel_recv(cx, &s->called, &message), ASX_OK);
    FIX_STATUS(asx_trace_user(cx, BACK, act), ASX_OK);
}

static size_t load_of_act(const stage *s, unsigned act)
{
    size_t sum = 0;
    for (uint32_t w = 1; w <= s->workers; w++)
        sum += w == act ? 0 : load_of(s, w, act);
    return sum;
}

static asx_status keep_worker(asx_cx *cx, void *arg)
{
    keeper *k = arg;
    stage *s = k->on;
    FIX_STATUS(asx_trace_user(cx, HERE, k->index), ASX_OK);
    (void)pthread_mutex_lock(&s->lock);
    s->here++;
    (void)pthread_cond_broadcast(&s->changed);
    while (s->here < s->workers)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    (void)pthread_mutex_unlock(&s->lock);
    uint32_t mine = s->worker[k->index];
    for (unsigned act = 1; act <= s->workers; act++) {
        if (mine != act) {
            stay(s, mine, act);
            continue;
        }
        step_aside(cx, s, act);
        (void)pthread_mutex_lock(&s->lock);
        s->acts_done = act;
        s->left = load_of_act(s, act + 1);
        (void)pthread_cond_broadcast(&s->changed);
        (void)pthread_mutex_unlock(&s->lock);
    }
    return ASX_OK;
}

static asx_status play(asx_cx *cx, void *arg)
{
    stage *s = arg;
    static keeper keepers[WORKERS_MAX];
    static asx_task tasks[WORKERS_MAX];
    FIX_STATUS(asx_region_open(cx, NULL, &s->region), ASX_OK);
    FIX_STATUS(asx_channel_create(&s->region, sizeof(uint64_t), 1, NULL, &s->call,
                                  &s->called), ASX_OK);
    for (unsigned i = 0; i < s->workers; i++) {
        keepers[i] = (keeper){ s, i };
        FIX_STATUS(asx_spawn_task(&s->region, keep_worker, &keepers[i], NULL, &tasks[i]), ASX_OK);
    }
    for (unsigned i = 0; i < s->workers; i++)
        FIX_STATUS(asx_join(cx, &tasks[i], NULL), ASX_OK);
    return asx_region_close(&s->region, ASX_OK);
}

static void end_stage(stage *s)
{
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->changed);
    free(s->events);
    free(s);
}

/* NULL: on a busy machine the keepers were taken for stuck, and others were given what they had. */
static stage *try_stage(uint64_t seed, const unsigned load[LOADS])
{
    stage *s = calloc(1, sizeof *s);
    asx_pool_stats pool;
    asx_runtime_config config = { .workers = workers_wanted(), .trace = true, .seed = seed };
    config.workers_fixed = true; /* no others, however long these are busy */
    asx_runtime *rt = NULL;
    FIX(s != NULL && (s->events = calloc(EVENTS_MAX, sizeof(asx_event))) != NULL);
    s->workers = config.workers;
    memcpy(s->load, load, sizeof s->load);
    s->left = load_of_act(s, 1);
    FIX(pthread_mutex_init(&s->lock, NULL) == 0 && pthread_cond_init(&s->changed, NULL) == 0);
    FIX_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    FIX_STATUS(asx_runtime_observe(rt, observe, s), ASX_OK);
    FIX_STATUS(asx_runtime_run(rt, play, s), ASX_OK);
    FIX_STATUS(asx_runtime_pool_stats(rt, &pool), ASX_OK);
    FIX_STATUS(asx_runtime_destroy(rt), ASX_OK);
    if (pool.handed_on == 0)
        return s;
    end_stage(s);
    return NULL;
}

static stage *run_stage(uint64_t seed, const unsigned load[LOADS])
{
    for (int i = 0; i < TRIES; i++) {
        stage *s = try_stage(seed, load);
        if (s != NULL)
            return s;
    }
    cli_fixture_fail(__FILE__, __LINE__, "the workers were taken for stuck each time");
}

/* ---- every search of an act ---- */

typedef struct audience {
    unsigned workers;
    unsigned act;                   /* that goes on; 0: none */
    uint64_t has[WORKERS_MAX + 1];      /* tasks that each worker can be robbed of */
    uint64_t next[WORKERS_MAX + 1];     /* the oldest of them */
    uint64_t keepers[WORKERS_MAX];
    unsigned keeper_count;
    uint64_t robbed;                /* worker that the last search has found */
    size_t searches, steals;
} audience;

static bool is_keeper(const audience *a, uint64_t task)
{
    for (unsigned i = 0; i < a->keeper_count; i++) {
        if (a->keepers[i] == task)
            return true;
    }
    return false;
}

/* Once around, from the first one: whoever has something. */
static void judge_search(audience *a, const asx_event *e)
{
    uint64_t expected = 0;
    FIX(e->a >= 1 && e->a <= a->workers);
    for (unsigned i = 0; i < a->workers && expected == 0; i++) {
        uint64_t at = (e->a - 1 + i) % a->workers + 1;
        if (at != e->object && a->has[at] > 0)
            expected = at;
    }
    FIX_EQ(e->b, expected);
    a->robbed = e->b;
    a->searches++;
}

static void judge_steal(audience *a, const asx_event *e)
{
    FIX_EQ(e->a, a->robbed);
    FIX_EQ(e->b, a->act);
    FIX(a->has[e->a] > 0);
    FIX(e->object >= a->next[e->a]); /* the oldest first */
    a->has[e->a]--;
    a->next[e->a] = e->object + 1;
    a->steals++;
}

static void watch(audience *a, const asx_event *e)
{
    if (e->kind == ASX_EVENT_USER && e->object == HERE)
        a->keepers[a->keeper_count++] = e->task;
    else if (e->kind == ASX_EVENT_USER)
        a->act = e->object == ASIDE ? (unsigned)e->a : 0;
    else if (e->kind == ASX_EVENT_TASK_SPAWN && is_keeper(a, e->task))
        a->has[e->worker]++;
    else if (e->kind == ASX_EVENT_WORKER_SEARCH && a->act != 0 && e->object == a->act)
        judge_search(a, e);
    else if (e->kind == ASX_EVENT_TASK_STEAL && a->act != 0)
        judge_steal(a, e);
}

static void judge_all(const stage *s)
{
    audience a = { .workers = s->workers };
    size_t loads = 0;
    for (size_t i = 0; i < s->count; i++)
        watch(&a, &s->events[i]);
    for (unsigned act = 1; act <= s->workers; act++)
        loads += load_of_act(s, act);
    FIX_EQ(a.steals, loads);
    FIX(a.searches >= s->workers);
}

ASX_FIXTURE("sc-steal-001")
{
    static const unsigned loads[][LOADS] = {
        { 60, 60, 60, 60, 60 }, /* all have some */
        { 40, 0, 5, 0, 70 },    /* some have none, and have to be passed by */
        { 1, 20, 0, 0, 0 },
        { 17, 1, 1, 33, 2 },
    };
    for (uint64_t seed = 0; seed < 4; seed++) {
        stage *s = run_stage(seed, loads[seed]);
        judge_all(s);
        end_stage(s);
    }
}

/* ---- the same searches again ---- */

enum { SEARCHES = 10 };

/* Where each worker began its first searches. */
static void first_searches(const stage *s, uint64_t ret_first[WORKERS_MAX][SEARCHES])
{
    size_t count[WORKERS_MAX] = { 0 };
    for (size_t i = 0; i < s->count; i++) {
        const asx_event *e = &s->events[i];
        if (e->kind != ASX_EVENT_WORKER_SEARCH)
            continue;
        FIX(e->object >= 1 && e->object <= s->workers && e->object == e->worker);
        if (count[e->object - 1] < SEARCHES)
            ret_first[e->object - 1][count[e->object - 1]++] = e->a;
    }
    for (unsigned w = 0; w < s->workers; w++)
        FIX_EQ(count[w], SEARCHES);
}

ASX_FIXTURE("INV-SC-05")
{
    static const uint64_t seeds[] = { 7, 7, 8 };
    static uint64_t first[3][WORKERS_MAX][SEARCHES];
    unsigned workers = workers_wanted(), load[LOADS];
    asx_runtime *between[3]; /* so that no two are made at the same place */
    asx_runtime_config config = { .workers = workers };
    for (unsigned i = 0; i < LOADS; i++)
        load[i] = 220 / (workers - 1) + 1;
    for (unsigned i = 0; i < 3; i++) {
        FIX_STATUS(asx_runtime_create(&config, &between[i]), ASX_OK);
        stage *s = run_stage(seeds[i], load);
        first_searches(s, first[i]);
        end_stage(s);
    }
    for (unsigned i = 0; i < 3; i++)
        FIX_STATUS(asx_runtime_destroy(between[i]), ASX_OK);
    for (unsigned w = 0; w < workers; w++) {
        FIX(memcmp(first[0][w], first[1][w], sizeof first[0][w]) == 0);
        FIX(memcmp(first[0][w], first[2][w], sizeof first[0][w]) != 0); /* another seed */
        FIX(memcmp(first[0][w], first[0][(w + 1) % workers], sizeof first[0][w]) != 0);
    }
}
