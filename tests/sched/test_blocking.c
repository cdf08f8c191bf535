/* test_blocking.c - work that blocks its thread, owned by the task that waits for it. */
#include "harness.h"

#include <asx/asx.h>
#include <asx/blocking.h>

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

typedef struct gate {
    sem_t entered, go;
    int runs;
    pthread_t thread;
    asx_status result;
} gate;

static void gate_init(gate *g)
{
    memset(g, 0, sizeof *g);
    sem_init(&g->entered, 0, 0);
    sem_init(&g->go, 0, 0);
}

/* Tells that it runs, and waits until it may go. */
static asx_status pass(void *arg)
{
    gate *g = arg;
    g->runs++;
    g->thread = pthread_self();
    sem_post(&g->entered);
    while (sem_wait(&g->go) != 0)
        ;
    return g->result;
}

static asx_status quick(void *arg)
{
    gate *g = arg;
    g->runs++;
    g->thread = pthread_self();
    return g->result;
}

static asx_status run(asx_task_fn fn, void *arg, asx_runtime_config config)
{
    asx_runtime *rt;
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    asx_status st = asx_runtime_run(rt, fn, arg);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    return st;
}

/* Every law holds for one worker and for four. */
#define LAW(name, workers_)                                                                        \
    static void name(uint32_t workers_);                                                           \
    ASX_TEST(name##_on_one_worker)                                                                 \
    {                                                                                              \
        name(1);                                                                                   \
    }                                                                                              \
    ASX_TEST(name##_on_four)                                                                       \
    {                                                                                              \
        name(4);                                                                                   \
    }                                                                                              \
    static void name(uint32_t workers_)

/* ---- signals: the process's go elsewhere, its own come to it --------------------------------- */

static asx_status tells_its_signals(void *arg)
{
    return pthread_sigmask(SIG_SETMASK, NULL, arg) == 0 ? ASX_OK : ASX_E_SYSTEM;
}

static asx_status asks_for_signals(asx_cx *cx, void *arg)
{
    return asx_blocking(cx, tells_its_signals, arg);
}

LAW(blocking_work_gets_its_own_faults_and_no_other_signal, workers)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
    static const int others[] = { SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGALRM, SIGCHLD, SIGUSR1 };
    sigset_t blocked;
    sigemptyset(&blocked);
    asx_runtime_config config = { .workers = workers };
    CHECK_EQ(run(asks_for_signals, &blocked, config), ASX_OK);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        CHECK_EQ(sigismember(&blocked, own[i]), 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_EQ(sigismember(&blocked, others[i]), 1);
}

/* ---- results -------------------------------------------------------------------------------- */

static asx_status calls_and_tells(asx_cx *cx, void *arg)
{
    gate *g = arg;
    g->result = ASX_E_NOT_SUPPORTED;
    CHECK_EQ(asx_blocking(cx, quick, g), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(g->runs, 1);
    CHECK(!pthread_equal(g->thread, pthread_self()));
    g->result = 7;
    CHECK_EQ(asx_blocking(cx, quick, g), 7);
    asx_blocking_stats stats;
    CHECK_EQ(asx_runtime_blocking_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK_EQ(stats.completed, 2u);
    CHECK_EQ(stats.threads, 1u); /* it was idle when the second came, or about to be */
    CHECK_EQ(stats.queued, 0u);
    return ASX_OK;
}

LAW(work_runs_on_another_thread_and_its_status_comes_back, workers)
{
    gate g;
    gate_init(&g);
    asx_runtime_config config = { .workers = workers, .blocking_threads_max = 1 };
    CHECK_EQ(run(calls_and_tells, &g, config), ASX_OK);
}

static asx_status calls_at_once(asx_cx *cx, void *arg)
{
    gate *g = arg;
    asx_time before = asx_now(cx);
    CHECK_EQ(asx_blocking(cx, quick, g), ASX_OK);
    CHECK_EQ(asx_now(cx), before);
    CHECK(pthread_equal(g->thread, pthread_self()));
    asx_region r;
    asx_task task;
    asx_join_result result;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn_blocking(&r, "work", quick, g, &task), ASX_OK);
    CHECK_EQ(asx_join(cx, &task, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_OK);
    CHECK_EQ(g->runs, 2);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(with_a_virtual_clock_the_work_is_done_at_once_and_takes_no_time)
{
    gate g;
    gate_init(&g);
    CHECK_EQ(run(calls_at_once, &g, (asx_runtime_config){ .lab = true, .trace = true }), ASX_OK);
}

/* Work that is out may bring somebody something; when it is back, nobody can. */
static asx_status waits_after_work(asx_cx *cx, void *arg)
{
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_region r;
    char message;
    CHECK_EQ(asx_blocking(cx, quick, arg), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_channel_create(&r, 1, 1, NULL, &tx, &rx), ASX_OK);
    CHECK_EQ(asx_channel_recv(cx, &rx, &message), ASX_E_CANCELLED);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_deadlock_is_seen_when_no_work_is_out_any_more)
{
    asx_test_one_worker("several wait for other threads for ever");
    gate g;
    gate_init(&g);
    CHECK_EQ(run(waits_after_work, &g, (asx_runtime_config){ 0 }), ASX_E_DEADLOCK);
}

static asx_status works_and_rests(asx_cx *cx, void *arg)
{
    asx_blocking_stats stats;
    CHECK_EQ(asx_blocking(cx, quick, arg), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 20 * ASX_MS), ASX_OK);
    CHECK_EQ(asx_runtime_blocking_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK_EQ(stats.threads, 1u);
    CHECK_EQ(stats.threads_idle, 1u);
    return ASX_OK;
}

LAW(a_thread_stays_for_the_next_work, workers)
{
    gate g;
    gate_init(&g);
    CHECK_EQ(run(works_and_rests, &g, (asx_runtime_config){ .workers = workers }), ASX_OK);
}

/* ---- others go on --------------------------------------------------------------------------- */

static asx_status ticks(asx_cx *cx, void *arg)
{
    gate *g = arg;
    sem_wait(&g->entered); /* the work runs by now, or soon: on its own thread */
    for (int i = 0; i < 5; i++)
        CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
    sem_post(&g->go);
    return ASX_OK;
}

static asx_status waits_for_work(asx_cx *cx, void *arg)
{
    return asx_blocking(cx, pass, arg);
}

static asx_status both(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "work", waits_for_work, arg), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "ticks", ticks, arg), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

LAW(other_tasks_sleep_and_run_while_the_work_blocks, workers)
{
    gate g;
    gate_init(&g);
    CHECK_EQ(run(both, &g, (asx_runtime_config){ .workers = workers }), ASX_OK);
    CHECK_EQ(g.runs, 1);
}

/* ---- cancellation --------------------------------------------------------------------------- */

typedef struct storm {
    gate first;   /* occupies the only thread */
    gate second;  /* waits behind it */
    asx_status first_got, second_got;
    bool named;
} storm;

static asx_status first_work(asx_cx *cx, void *arg)
{
    storm *s = arg;
    s->first_got = asx_blocking(cx, pass, &s->first);
    CHECK(asx_is_cancelled(cx));
    return s->first_got;
}

static asx_status second_work(asx_cx *cx, void *arg)
{
    storm *s = arg;
    s->second_got = asx_blocking(cx, pass, &s->second);
    return s->second_got;
}

static asx_status releases_later(asx_cx *cx, void *arg)
{
    storm *s = arg;
    asx_close_report report;
    CHECK_EQ(asx_mask_begin(cx, 1000), ASX_OK);
    while (!asx_is_cancelled(cx)) /* however long the machine takes to come to that */
        CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 20 * ASX_MS), ASX_OK);
    CHECK_EQ(asx_runtime_report(asx_cx_runtime(cx), &report), ASX_OK);
    for (size_t i = 0; i < report.items_len; i++)
        s->named |= strcmp(report.items[i].name, "first") == 0 &&
                    strcmp(report.items[i].waits_for, "blocking") == 0;
    asx_close_report_deinit(&report);
    sem_post(&s->first.go);
    return ASX_OK;
}

static void until_queued(asx_cx *cx, uint64_t queued)
{
    asx_blocking_stats stats;
    do
        CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
    while (asx_runtime_blocking_stats(asx_cx_runtime(cx), &stats) == ASX_OK &&
           (stats.running != 1 || stats.queued != queued));
}

static asx_status cancels(asx_cx *cx, void *arg)
{
    storm *s = arg;
    asx_region r;
    asx_blocking_stats stats;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "first", first_work, s), ASX_OK);
    until_queued(cx, 0); /* or, on another worker, the second might be the first */
    CHECK_EQ(asx_spawn(&r, "second", second_work, s), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "releaser", releases_later, s), ASX_OK);
    until_queued(cx, 1);
    asx_status st = asx_region_close(&r, ASX_E_CANCELLED);
    CHECK_EQ(asx_runtime_blocking_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK_EQ(stats.dropped, 1u);
    CHECK_EQ(stats.completed, 1u);
    CHECK_EQ(stats.running + stats.queued, 0u);
    return st == ASX_E_CANCELLED ? ASX_OK : st;
}

LAW(a_cancel_drops_what_is_queued_and_waits_for_what_runs, workers)
{
    storm s;
    memset(&s, 0, sizeof s);
    gate_init(&s.first);
    gate_init(&s.second);
    asx_runtime_config config = { .workers = workers, .blocking_threads_max = 1 };
    CHECK_EQ(run(cancels, &s, config), ASX_OK);
    CHECK_EQ(s.first_got, ASX_OK); /* it was done, so that is what it says */
    CHECK_EQ(s.second_got, ASX_E_CANCELLED);
    CHECK_EQ(s.first.runs, 1);
    CHECK_EQ(s.second.runs, 0);
    CHECK(s.named);
}

static void *lets_both_go(void *arg)
{
    gate *g = arg;
    struct timespec moment = { 0, 30000000 };
    for (int i = 0; i < 2; i++) {
        while (sem_wait(&g[i].entered) != 0)
            ;
        nanosleep(&moment, NULL);
        sem_post(&g[i].go);
    }
    return NULL;
}

static asx_status outlives_its_budget(asx_cx *cx, void *arg)
{
    gate *g = arg;
    asx_region r;
    asx_blocking_stats stats;
    CHECK_EQ(asx_region_open(cx, &(asx_region_options){ .cleanup_time_ns = ASX_MS }, &r), ASX_OK);
    CHECK_EQ(asx_spawn_blocking(&r, "slow", pass, &g[0], NULL), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "slow too", waits_for_work, &g[1]), ASX_OK);
    do
        CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
    while (asx_runtime_blocking_stats(asx_cx_runtime(cx), &stats) == ASX_OK && stats.running +
               stats.completed != 2);
    CHECK_EQ(asx_region_close(&r, ASX_E_CANCELLED), ASX_E_CANCELLED);
    CHECK_EQ(asx_runtime_blocking_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK_EQ(stats.completed, 2u); /* nothing has outlived the region */
    return ASX_OK;
}

LAW(running_work_outlasts_the_cleanup_budget_but_not_its_region, workers)
{
    gate g[2];
    gate_init(&g[0]);
    gate_init(&g[1]);
    pthread_t helper;
    CHECK_EQ(pthread_create(&helper, NULL, lets_both_go, g), 0);
    CHECK_EQ(run(outlives_its_budget, g, (asx_runtime_config){ .workers = workers }), ASX_OK);
    pthread_join(helper, NULL);
    CHECK_EQ(g[0].runs + g[1].runs, 2);
}

/* ---- tasks of blocking work ----------------------------------------------------------------- */

static asx_status joins_them(asx_cx *cx, void *arg)
{
    gate *g = arg;
    asx_region r;
    asx_task task[20];
    CHECK_EQ(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
             ASX_OK);
    for (int i = 0; i < 20; i++) {
        g[i].result = i % 2 ? ASX_E_TIMEOUT : ASX_OK;
        CHECK_EQ(asx_spawn_blocking(&r, "work", quick, &g[i], &task[i]), ASX_OK);
    }
    for (int i = 0; i < 20; i++) {
        asx_join_result result;
        CHECK_EQ(asx_join(cx, &task[i], &result), ASX_OK);
        CHECK_EQ(result.outcome.status, i % 2 ? ASX_E_TIMEOUT : ASX_OK);
        CHECK_EQ(g[i].runs, 1);
    }
    asx_blocking_stats stats;
    CHECK_EQ(asx_runtime_blocking_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK(stats.threads <= 3);
    CHECK_EQ(stats.threads_max, 3u);
    CHECK_EQ(stats.completed, 20u);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    return ASX_OK;
}

LAW(blocking_tasks_are_joined_like_others_and_share_few_threads, workers)
{
    gate g[20];
    for (int i = 0; i < 20; i++)
        gate_init(&g[i]);
    asx_runtime_config config = { .workers = workers, .blocking_threads_max = 3 };
    CHECK_EQ(run(joins_them, g, config), ASX_OK);
}

static asx_status cancelled_before(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn_blocking(&r, "work", quick, arg, NULL), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_E_CANCELLED), ASX_E_CANCELLED);
    return ASX_OK;
}

/* One worker: several might run it before the cancel comes. */
ASX_TEST(a_blocking_task_cancelled_before_its_first_run_never_calls)
{
    gate g;
    gate_init(&g);
    CHECK_EQ(run(cancelled_before, &g, (asx_runtime_config){ .workers = 1 }), ASX_OK);
    CHECK_EQ(g.runs, 0);
}

/* ---- threads come and go -------------------------------------------------------------------- */

static asx_status outwaits(asx_cx *cx, void *arg)
{
    gate *g = arg;
    asx_blocking_stats stats;
    CHECK_EQ(asx_blocking(cx, quick, g), ASX_OK);
    do
        CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
    while (asx_runtime_blocking_stats(asx_cx_runtime(cx), &stats) == ASX_OK && stats.threads != 0);
    CHECK_EQ(asx_blocking(cx, quick, g), ASX_OK);
    CHECK_EQ(g->runs, 2);
    return ASX_OK;
}

LAW(a_thread_without_work_ends_and_another_is_started_when_there_is_some, workers)
{
    gate g;
    gate_init(&g);
    asx_runtime_config config = { .workers = workers, .blocking_idle_ns = 2 * ASX_MS };
    CHECK_EQ(run(outwaits, &g, config), ASX_OK);
}

/* Threads of the pool with something to do at their very end. */
typedef struct farewell {
    pthread_key_t key;
    asx_runtime *rt; /* is asked for its meters then; NULL: none is */
    sem_t go;        /* is waited for then */
    atomic_int met, ended;
} farewell;

static void say_farewell(void *arg)
{
    farewell *f = arg;
    struct timespec moment = { 0, 1000000 };
    asx_blocking_stats stats;
    while (sem_wait(&f->go) != 0)
        ;
    nanosleep(&moment, NULL);
    if (f->rt != NULL)
        CHECK_EQ(asx_runtime_blocking_stats(f->rt, &stats), ASX_OK);
    f->ended++;
}

static asx_status meet(void *arg)
{
    farewell *f = arg;
    f->met += pthread_getspecific(f->key) == NULL;
    return pthread_setspecific(f->key, f) == 0 ? ASX_OK : ASX_E_SYSTEM;
}

static void farewell_init(farewell *f)
{
    memset(f, 0, sizeof *f);
    sem_init(&f->go, 0, 0);
    CHECK_EQ(pthread_key_create(&f->key, say_farewell), 0);
}

static void wait_until_all_have_left(asx_cx *cx)
{
    asx_blocking_stats stats;
    do
        CHECK_EQ(asx_yield(cx), ASX_OK);
    while (asx_runtime_blocking_stats(asx_cx_runtime(cx), &stats) == ASX_OK && stats.threads != 0);
}

static asx_status works_while_threads_end(asx_cx *cx, void *arg)
{
    farewell *f = arg;
    for (int i = 1; i <= 3; i++) {
        CHECK_EQ(asx_blocking(cx, meet, f), ASX_OK);
        CHECK_EQ(f->met, i);
        wait_until_all_have_left(cx);
    }
    CHECK_EQ(f->ended, 0);
    for (int i = 0; i < 3; i++)
        sem_post(&f->go);
    return ASX_OK;
}

LAW(new_work_does_not_wait_for_threads_that_are_ending_but_destroy_does, workers)
{
    farewell f;
    farewell_init(&f);
    asx_runtime_config config = { .workers = workers, .blocking_idle_ns = ASX_MS };
    CHECK_EQ(run(works_while_threads_end, &f, config), ASX_OK);
    CHECK_EQ(f.ended, 3);
}

static asx_status wears_out_threads(asx_cx *cx, void *arg)
{
    farewell *f = arg;
    f->rt = asx_cx_runtime(cx);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(asx_blocking(cx, meet, f), ASX_OK);
        wait_until_all_have_left(cx);
        sem_post(&f->go); /* it asks while the next work is begun */
    }
    return ASX_OK;
}

ASX_TEST(a_thread_that_is_ending_may_ask_its_runtime)
{
    farewell f;
    farewell_init(&f);
    asx_runtime_config config = { .workers = 4, .blocking_idle_ns = ASX_MS };
    CHECK_EQ(run(wears_out_threads, &f, config), ASX_OK);
    CHECK_EQ(f.met, 20);
    CHECK_EQ(f.ended, 20);
}

/* A host with a loop of its own is told that something has come. */
static void ring(void *arg)
{
    sem_post(arg);
}

ASX_TEST(a_host_that_steps_is_told_when_work_has_come_back)
{
    asx_test_one_worker("who has run when a yield returns");
    sem_t bell;
    sem_init(&bell, 0, 0);
    gate g;
    gate_init(&g);
    sem_post(&g.go);
    asx_runtime_config config = { .on_event = { ring, &bell } };
    asx_runtime *rt;
    asx_time next;
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_start(rt, waits_for_work, &g), ASX_OK);
    CHECK_EQ(asx_runtime_step(rt, 0, &next), ASX_E_WOULD_BLOCK);
    CHECK_EQ(next, ASX_TIME_NEVER);
    while (sem_wait(&bell) != 0)
        ;
    CHECK_EQ(asx_runtime_step(rt, 0, &next), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}
