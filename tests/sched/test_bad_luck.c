/* test_bad_luck.c - threads that cannot be made or that a task ends, processes that fork, memory
 * that runs out in the middle of a burst, a runtime destroyed while it runs.
 * ctest-labels: own-workers */
#include "harness.h"

#include <asx/asx.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* TSan knows neither a fiber that calls pthread_exit() nor a process copied by one. */
#define LEAVES_AND_FORKS !ASX_TEST_TSAN

static asx_status run(uint32_t workers, asx_task_fn fn, void *arg)
{
    asx_runtime_config config = { .workers = workers, .blocking_threads_max = 2 };
    asx_runtime *rt;
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    asx_status st = asx_runtime_run(rt, fn, arg);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    return st;
}

/* ---- threads that cannot be made ------------------------------------------------------------ */

#if !ASX_TEST_SANITIZED

static asx_status leaf(asx_cx *cx, void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    return asx_yield(cx);
}

#endif

/* Elsewhere nothing can be put before the C library's functions. */
#if !ASX_TEST_SANITIZED && !ASX_TEST_STATIC

static atomic_int threads_allowed = 1000;

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    if (atomic_fetch_sub(&threads_allowed, 1) <= 0)
        return EAGAIN;
    return next(thread, attr, fn, arg);
}

static asx_status hundred(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(asx_spawn(&r, "leaf", leaf, arg), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(workers_that_cannot_be_made_are_done_without)
{
    for (int allowed = 0; allowed < 4; allowed++) {
        atomic_int count = 0;
        atomic_store(&threads_allowed, allowed);
        CHECK_EQ(run(4, hundred, &count), ASX_OK);
        CHECK_EQ(atomic_load(&count), 100);
    }
}

static asx_status yields_until_told(asx_cx *cx, void *arg)
{
    while (!atomic_load((atomic_bool *)arg))
        CHECK_EQ(asx_yield(cx), ASX_OK);
    return ASX_OK;
}

static asx_status waits_for_workers(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_stats stats;
    atomic_bool enough = false;
    (void)arg;
    CHECK_EQ(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK_EQ(stats.workers, 1);
    atomic_store(&threads_allowed, 1000);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(asx_spawn(&r, "busy", yields_until_told, &enough), ASX_OK);
    do { /* the time limit of the test is what ends it */
        CHECK_EQ(asx_yield(cx), ASX_OK);
        CHECK_EQ(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    } while (stats.workers < 4);
    atomic_store(&enough, true);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(workers_that_could_not_be_made_come_when_they_can)
{
    atomic_store(&threads_allowed, 0);
    CHECK_EQ(run(4, waits_for_workers, NULL), ASX_OK);
}

static asx_status nothing(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    return ASX_OK;
}

static asx_status wants_a_thread(asx_cx *cx, void *arg)
{
    atomic_store(&threads_allowed, 0);
    CHECK_EQ(asx_blocking(cx, nothing, arg), ASX_E_SYSTEM);
    CHECK_EQ(atomic_load((atomic_int *)arg), 0);
    atomic_store(&threads_allowed, 1);
    CHECK_EQ(asx_blocking(cx, nothing, arg), ASX_OK);
    CHECK_EQ(asx_blocking(cx, nothing, arg), ASX_OK); /* by the one that there is */
    CHECK_EQ(atomic_load((atomic_int *)arg), 2);
    return ASX_OK;
}

ASX_TEST(blocking_work_without_any_thread_is_refused)
{
    atomic_int count = 0;
    CHECK_EQ(run(1, wants_a_thread, &count), ASX_OK);
}

#endif

/* ---- a task that ends its thread ------------------------------------------------------------ */

#if LEAVES_AND_FORKS

typedef struct deserted {
    uint32_t workers;
    atomic_int others; /* that came to their end */
    asx_runtime *rt;
} deserted;

static asx_status deserter(asx_cx *cx, void *arg)
{
    (void)cx;
    pthread_exit(arg);
}

static asx_poll poll_deserter(asx_cx *cx, void *arg)
{
    (void)cx;
    pthread_exit(arg);
}

static asx_status other(asx_cx *cx, void *arg)
{
    deserted *d = arg;
    asx_status st = asx_sleep(cx, 5 * ASX_MS);
    atomic_fetch_add(&d->others, 1);
    return st;
}

static asx_status desert(asx_cx *cx, void *arg)
{
    deserted *d = arg;
    for (int i = 0; i < 6; i++) {
        asx_region r;
        asx_task bad;
        asx_join_result result;
        asx_region_options collect = { .policy = ASX_POLICY_COLLECT };
        CHECK_EQ(asx_region_open(cx, &collect, &r), ASX_OK);
        CHECK_EQ(asx_spawn(&r, "other", other, d), ASX_OK);
        if (i % 2 == 0)
            CHECK_EQ(asx_spawn_task(&r, deserter, NULL, NULL, &bad), ASX_OK);
        else
            CHECK_EQ(asx_spawn_poll_task(&r, poll_deserter, NULL, NULL, &bad), ASX_OK);
        CHECK_EQ(asx_join(cx, &bad, &result), ASX_OK);
        CHECK_EQ(result.outcome.kind, ASX_OUTCOME_PANICKED);
        asx_close_report report;
        CHECK_EQ(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_PANICKED);
        CHECK_EQ(report.tasks_panicked, 1u);
        CHECK_EQ(report.tasks_ok, 1u);
        asx_close_report_deinit(&report);
    }
    return ASX_OK;
}

/* Nobody made it panic but itself. */
static void sees_panics(void *ctx, const asx_event *event)
{
    if (event->kind != ASX_EVENT_TASK_PANIC)
        return;
    CHECK_EQ(event->cause, 0);
    CHECK_EQ(event->task, event->object);
    CHECK_EQ(event->a | event->b, 0);
    ++*(int *)ctx;
}

static void *drives(void *arg)
{
    deserted *d = arg;
    ASX_IGNORE(asx_runtime_run(d->rt, desert, d));
    CHECK(false); /* its frames are gone: that does not come back */
    return NULL;
}

static void desert_with(uint32_t workers)
{
    deserted d = { .workers = workers };
    asx_runtime_config config = { .workers = workers, .trace = workers == 1 };
    int panics = 0;
    CHECK_EQ(asx_runtime_create(&config, &d.rt), ASX_OK);
    if (config.trace)
        CHECK_EQ(asx_runtime_observe(d.rt, sees_panics, &panics), ASX_OK);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, drives, &d), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(atomic_load(&d.others), 6);
    CHECK_EQ(panics, config.trace ? 6 : 0);
    CHECK_EQ(asx_runtime_quiescent(d.rt), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(d.rt), ASX_OK);
}

ASX_TEST(a_task_that_ends_its_thread_has_panicked_and_the_runtime_goes_on)
{
    desert_with(1);
}

ASX_TEST(a_task_that_ends_its_thread_has_panicked_and_several_workers_go_on)
{
    desert_with(4);
}

static asx_status deserts_its_thread(void *arg)
{
    pthread_exit(arg);
}

/* Is cancelled when it has returned. ASan does not see that the frames around it are gone then. */
static asx_status cancels_its_thread(void *arg)
{
#if ASX_TEST_SANITIZED
    pthread_exit(arg);
#else
    (void)arg;
    CHECK_EQ(pthread_cancel(pthread_self()), 0);
    return ASX_OK;
#endif
}

static asx_status returns_full(void *arg)
{
    (void)arg;
    return ASX_E_FULL;
}

static asx_status work_deserts(asx_cx *cx, void *arg)
{
    asx_region_options collect = { .policy = ASX_POLICY_COLLECT };
    asx_close_report report;
    asx_blocking_stats stats;
    asx_region r;
    (void)arg;
    for (int i = 0; i < 4; i++) {
        asx_blocking_fn deserts = i < 2 ? deserts_its_thread : cancels_its_thread;
        CHECK_EQ(asx_blocking(cx, deserts, NULL), ASX_E_PANICKED);
        CHECK_EQ(asx_blocking(cx, returns_full, NULL), ASX_E_FULL);
    }
    CHECK_EQ(asx_region_open(cx, &collect, &r), ASX_OK);
    for (int i = 0; i < 20; i++) {
        asx_blocking_fn fn = i % 2 == 0 ? deserts_its_thread : returns_full;
        CHECK_EQ(asx_spawn_blocking(&r, "work", fn, NULL, NULL), ASX_OK);
    }
    CHECK_EQ(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_PANICKED);
    CHECK_EQ(report.tasks_err, 20u);
    asx_close_report_deinit(&report);
    CHECK_EQ(asx_runtime_blocking_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK_EQ(stats.running + stats.queued, 0u);
    CHECK_EQ(stats.completed, 28u);
    return ASX_OK;
}

ASX_TEST(work_that_ends_its_thread_is_over_and_the_pool_goes_on)
{
    CHECK_EQ(run(1, work_deserts, NULL), ASX_OK);
    CHECK_EQ(run(4, work_deserts, NULL), ASX_OK);
}

/* ---- processes that fork -------------------------------------------------------------------- */

static int status_of(pid_t pid)
{
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static asx_status forks_shared(asx_cx *cx, void *arg)
{
    asx_region mine;
    (void)arg;
    CHECK_EQ(asx_cx_region(cx, &mine), ASX_OK);
    asx_runtime *rt = asx_cx_runtime(cx);
    pid_t pid = fork();
    if (pid == 0) {
        bool refused = asx_runtime_shutdown(rt, 0, NULL) == ASX_E_WRONG_CONTEXT &&
                       asx_yield(cx) == ASX_E_WRONG_CONTEXT &&
                       asx_sleep(cx, ASX_MS) == ASX_E_WRONG_CONTEXT &&
                       asx_checkpoint(cx) == ASX_E_WRONG_CONTEXT &&
                       asx_spawn(&mine, "x", other, NULL) < 0 && asx_region_cancel(&mine, NULL) < 0;
        return refused ? ASX_OK : ASX_E_INVALID_ARGUMENT; /* ends the child */
    }
    CHECK(pid > 0);
    CHECK_EQ(status_of(pid), 0);
    return asx_sleep(cx, ASX_MS);
}

static asx_status forks_many_times(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(asx_spawn(&r, "forks", forks_shared, arg), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(in_the_child_of_a_fork_a_shared_runtime_refuses_and_the_parent_goes_on)
{
    CHECK_EQ(run(4, forks_many_times, NULL), ASX_OK);
}

typedef struct owned {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_send_permit permit;
    asx_mpmc_sender many_tx;
    asx_mpmc_receiver many_rx;
    asx_mutex mutex;
    asx_mutex_guard guard;
    asx_obligation promise;
    asx_task task;
} owned;

static bool is_refused(asx_status st)
{
    return st == ASX_E_WRONG_CONTEXT || st == ASX_E_STALE_HANDLE || st == ASX_E_INVALID_ARGUMENT;
}

/* In the child. The first call that is not refused, from 1; 0: all are. */
static int not_refused(asx_cx *cx, owned *o)
{
    asx_send_permit permit;
    asx_channel_sender tx;
    asx_mutex_guard guard;
    int message = 7;
    asx_status answers[] = {
        asx_send_permit_send(&o->permit, &message),
        asx_send_permit_abort(&o->permit),
        asx_channel_try_reserve(cx, &o->tx, &permit),
        asx_channel_try_send(cx, &o->tx, &message),
        asx_channel_send(cx, &o->tx, &message),
        asx_channel_try_recv(cx, &o->rx, &message),
        asx_channel_recv(cx, &o->rx, &message),
        asx_channel_sender_clone(&o->tx, &tx),
        asx_channel_sender_drop(&o->tx),
        asx_channel_receiver_drop(&o->rx),
        asx_mpmc_try_send(cx, &o->many_tx, &message),
        asx_mpmc_try_recv(cx, &o->many_rx, &message),
        asx_mpmc_close(&o->many_tx),
        asx_mutex_unlock(&o->guard),
        asx_mutex_try_lock(cx, &o->mutex, &guard),
        asx_obligation_commit(&o->promise),
        asx_task_cancel(&o->task, NULL),
        asx_join(cx, &o->task, NULL),
    };
    for (int i = 0; i < (int)(sizeof answers / sizeof *answers); i++)
        if (!is_refused(answers[i]))
            return i + 1;
    return 0;
}

static asx_status forks_with_objects(asx_cx *cx, void *arg)
{
    const int *calls = arg;
    asx_region r;
    owned o;
    deserted ended = { 0 };
    int message = 5;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_channel_create(&r, sizeof(int), 4, NULL, &o.tx, &o.rx), ASX_OK);
    CHECK_EQ(asx_mpmc_create(&r, sizeof(int), 4, NULL, &o.many_tx, &o.many_rx), ASX_OK);
    CHECK_EQ(asx_mutex_create(&r, &(asx_mutex_options){ .name = "mutex" }, &o.mutex), ASX_OK);
    CHECK_EQ(asx_mutex_lock(cx, &o.mutex, &o.guard), ASX_OK);
    CHECK_EQ(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &o.promise), ASX_OK);
    CHECK_EQ(asx_spawn_task(&r, other, &ended, NULL, &o.task), ASX_OK);
    for (int i = 0; i < *calls; i++) { /* a worker that is alone gets a lease */
        CHECK_EQ(asx_channel_send(cx, &o.tx, &message), ASX_OK);
        CHECK_EQ(asx_channel_recv(cx, &o.rx, &message), ASX_OK);
    }
    CHECK_EQ(asx_channel_reserve(cx, &o.tx, &o.permit), ASX_OK);
    pid_t pid = fork();
    if (pid == 0)
        _exit(not_refused(cx, &o));
    CHECK(pid > 0);
    CHECK_EQ(status_of(pid), 0);
    CHECK_EQ(asx_send_permit_send(&o.permit, &message), ASX_OK); /* here nothing has happened */
    CHECK_EQ(asx_channel_recv(cx, &o.rx, &message), ASX_OK);
    CHECK_EQ(message, 5);
    CHECK_EQ(asx_mutex_unlock(&o.guard), ASX_OK);
    CHECK_EQ(asx_obligation_commit(&o.promise), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(in_the_child_of_a_fork_objects_of_a_shared_runtime_refuse_with_a_lease_and_without)
{
    int none = 0, many = asx_test_scale() > 1 ? 2000 : 200000;
    CHECK_EQ(run(2, forks_with_objects, &none), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(run(2, forks_with_objects, &many), ASX_OK);
}

/* The fork of a task with a lease, in the middle of which another thread wants the engine. */
static struct {
    _Atomic(asx_runtime *) rt; /* not NULL: this fork is that of the test */
    sem_t forks;               /* everything is held, and nothing has been copied */
    atomic_bool over;
} rush;

/* Handlers that were there before those of asx are called when asx holds everything. */
static void lets_others_in(void)
{
    if (atomic_load(&rush.rt) == NULL)
        return;
    sem_post(&rush.forks);
    usleep(20000); /* until the other one stands in line; a shorter time would only prove less */
}

static void *wants_in(void *arg)
{
    asx_stats stats;
    while (sem_wait(&rush.forks) == 0 && !atomic_load(&rush.over))
        CHECK_EQ(asx_runtime_stats(atomic_load(&rush.rt), &stats), ASX_OK);
    return arg;
}

static asx_status forks_in_a_rush(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_stats stats;
    CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK); /* the other worker sleeps now */
    for (int i = 0; i < 5000; i++) {             /* who is alone gets a lease */
        CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    }
    pid_t pid = fork();
    if (pid == 0) {
        alarm(10 * asx_test_scale());
        _exit(asx_runtime_stats(arg, &stats) == ASX_OK && stats.tasks_live == 1 ? 0 : 1);
    }
    CHECK(pid > 0);
    CHECK_EQ(status_of(pid), 0);
    return ASX_OK;
}

ASX_TEST(the_child_of_a_fork_can_ask_though_somebody_was_about_to_take_the_engine)
{
    asx_runtime_config config = { .workers = 2 };
    asx_runtime *rt;
    pthread_t thread;
    CHECK_EQ(sem_init(&rush.forks, 0, 0), 0);
    CHECK_EQ(pthread_atfork(lets_others_in, NULL, NULL), 0);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
        atomic_store(&rush.over, false);
        atomic_store(&rush.rt, rt);
        CHECK_EQ(pthread_create(&thread, NULL, wants_in, NULL), 0);
        CHECK_EQ(asx_runtime_run(rt, forks_in_a_rush, rt), ASX_OK);
        atomic_store(&rush.over, true);
        sem_post(&rush.forks);
        pthread_join(thread, NULL);
        atomic_store(&rush.rt, NULL);
        CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    }
}

/* In the child: the signals of the host are blocked, and no others. */
static int has_the_mask_of_the_host(void)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i < SIGRTMAX; i++)
        if (sigismember(&mask, i) == 1 && i != SIGUSR1) /* the C library's own are no members */
            return i;
    return sigismember(&mask, SIGUSR1) == 1 ? 0 : SIGUSR1;
}

static asx_status forks_to_look_at_its_mask(void *arg)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(has_the_mask_of_the_host());
    CHECK(pid > 0);
    CHECK_EQ(status_of(pid), 0);
    return arg == NULL ? ASX_OK : ASX_E_FULL;
}

typedef struct crew {
    atomic_int here;      /* tasks that are at it at the same time: each on a worker of its own */
    atomic_int strangers; /* ... and not on the thread that runs the runtime */
    pthread_t host;
} crew;

static asx_status forks_on_a_worker(asx_cx *cx, void *arg)
{
    crew *c = arg;
    atomic_fetch_add(&c->here, 1);
    while (atomic_load(&c->here) < 2)
        ;
    atomic_fetch_add(&c->strangers, !pthread_equal(pthread_self(), c->host));
    CHECK_EQ(forks_to_look_at_its_mask(NULL), ASX_OK);
    return asx_checkpoint(cx);
}

static asx_status forks_everywhere(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(asx_spawn(&r, "forks", forks_on_a_worker, arg), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    return asx_blocking(cx, forks_to_look_at_its_mask, NULL);
}

ASX_TEST(the_child_of_a_fork_has_the_signals_of_the_host_whichever_thread_it_was)
{
    crew c = { .host = pthread_self() };
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &mask, NULL), 0);
    CHECK_EQ(run(2, forks_everywhere, &c), ASX_OK);
    CHECK(atomic_load(&c.strangers) > 0);
}

/* Who ends its thread there ends the child. */
static asx_status forks_and_ends_its_thread(asx_cx *cx, void *arg)
{
    pid_t pid = fork();
    if (pid == 0)
        pthread_exit(arg);
    CHECK(pid > 0);
    CHECK_EQ(status_of(pid), 0);
    return asx_sleep(cx, ASX_MS);
}

ASX_TEST(in_the_child_of_a_fork_a_task_that_ends_its_thread_ends_the_child)
{
    CHECK_EQ(run(2, forks_and_ends_its_thread, NULL), ASX_OK);
}

static asx_status forks_and_returns(void *arg)
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(10 * asx_test_scale());
        return arg == NULL ? ASX_OK : ASX_E_FULL;
    }
    CHECK(pid > 0);
    CHECK_EQ(status_of(pid), arg == NULL ? 0 : 1);
    return ASX_E_EMPTY;
}

static asx_status work_forks(asx_cx *cx, void *arg)
{
    CHECK_EQ(asx_blocking(cx, forks_and_returns, NULL), ASX_E_EMPTY);
    CHECK_EQ(asx_blocking(cx, forks_and_returns, "fails"), ASX_E_EMPTY);
    (void)arg;
    return ASX_OK;
}

ASX_TEST(in_the_child_of_a_fork_blocking_work_that_returns_ends_the_child)
{
    CHECK_EQ(run(1, work_forks, NULL), ASX_OK);
    CHECK_EQ(run(4, work_forks, NULL), ASX_OK);
}

typedef struct held {
    sem_t entered, go;
} held;

static asx_status hold(void *arg)
{
    held *h = arg;
    sem_post(&h->entered);
    while (sem_wait(&h->go) != 0)
        ;
    return ASX_OK;
}

static asx_status works(asx_cx *cx, void *arg)
{
    return asx_blocking(cx, hold, arg);
}

static asx_status forks_alone(asx_cx *cx, void *arg)
{
    held *h = arg;
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "works", works, h), ASX_OK);
    CHECK_EQ(asx_yield(cx), ASX_OK);
    while (sem_wait(&h->entered) != 0)
        ;
    pid_t pid = fork();
    if (pid == 0) { /* whole, but for the work on the thread that is not here */
        bool well = asx_sleep(cx, ASX_MS) == ASX_E_SYSTEM && /* a child has failed */
                    asx_region_close(&r, ASX_OK) == ASX_E_SYSTEM;
        _exit(well ? 0 : 1);
    }
    CHECK(pid > 0);
    CHECK_EQ(status_of(pid), 0);
    sem_post(&h->go);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(the_child_of_a_fork_has_a_runtime_of_one_worker_whole_but_for_work_on_other_threads)
{
    held h;
    sem_init(&h.entered, 0, 0);
    sem_init(&h.go, 0, 0);
    CHECK_EQ(run(1, forks_alone, &h), ASX_OK);
}

#if !ASX_TEST_SANITIZED && !ASX_TEST_STATIC

static asx_status work_deserts_the_last_thread(asx_cx *cx, void *arg)
{
    (void)arg;
    atomic_store(&threads_allowed, 1);
    CHECK_EQ(asx_blocking(cx, deserts_its_thread, NULL), ASX_E_PANICKED);
    CHECK_EQ(asx_blocking(cx, returns_full, NULL), ASX_E_FULL); /* on the thread that cannot go */
    CHECK_EQ(asx_blocking(cx, returns_full, NULL), ASX_E_FULL);
    return ASX_OK;
}

ASX_TEST(a_thread_that_nobody_can_follow_stays_for_the_work_that_there_is)
{
    CHECK_EQ(run(1, work_deserts_the_last_thread, NULL), ASX_OK);
}

/* A thread whose work has ended stands still as soon as it has let go of the pool. */
static held *let_go;
static _Thread_local bool has_worked;

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int (*next)(pthread_mutex_t *);
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    int error = next(mutex);
    if (has_worked) {
        has_worked = false;
        sem_post(&let_go->entered);
        while (sem_wait(&let_go->go) != 0)
            ;
    }
    return error;
}

static asx_status work_ends(void *arg)
{
    let_go = arg;
    has_worked = true;
    return ASX_E_FULL;
}

static asx_status works_to_the_end(asx_cx *cx, void *arg)
{
    return asx_blocking(cx, work_ends, arg);
}

static asx_status forks_at_the_end_of_work(asx_cx *cx, void *arg)
{
    held *h = arg;
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "works", works_to_the_end, h), ASX_OK);
    CHECK_EQ(asx_yield(cx), ASX_OK);
    while (sem_wait(&h->entered) != 0)
        ;
    pid_t pid = fork();
    if (pid == 0) { /* it was done, so it is done here, too */
        alarm(10 * asx_test_scale());
        _exit(asx_region_close(&r, ASX_OK) == ASX_E_FULL ? 0 : 1);
    }
    CHECK(pid > 0);
    CHECK_EQ(status_of(pid), 0);
    sem_post(&h->go);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_FULL);
    return ASX_OK;
}

ASX_TEST(work_that_has_just_ended_is_not_lost_in_the_child_of_a_fork)
{
    held h;
    sem_init(&h.entered, 0, 0);
    sem_init(&h.go, 0, 0);
    CHECK_EQ(run(1, forks_at_the_end_of_work, &h), ASX_OK);
}

#endif

#endif

/* ---- memory that runs out ------------------------------------------------------------------- */

#if !ASX_TEST_SANITIZED

static asx_status parks(asx_cx *cx, void *arg)
{
    char page[4096];
    memset(page, (int)(uintptr_t)arg, sizeof page);
    asx_status st = asx_sleep(cx, 60 * ASX_SEC);
    return page[17] == (char)(uintptr_t)arg ? st : ASX_E_INVALID_ARGUMENT;
}

/* Address space for a few thousand stacks, and spawns until there is no more. */
static asx_status burst(asx_cx *cx, void *arg)
{
    int *spawned = arg;
    asx_region r;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    CHECK_EQ(asx_region_open(cx, &options, &r), ASX_OK);
    asx_status st = ASX_OK;
    for (*spawned = 0; *spawned < 200000 && st == ASX_OK; *spawned += st == ASX_OK) {
        st = asx_spawn(&r, "parks", parks, (void *)(uintptr_t)(*spawned & 127));
        if (*spawned % 64 == 0 && st == ASX_OK)
            CHECK_EQ(asx_yield(cx), ASX_OK); /* they take their stacks */
    }
    asx_close_report report;
    asx_status end = asx_region_close_with(&r, ASX_E_CANCELLED, NULL, &report);
    CHECK(end < 0);
    /* Everyone who was let in is accounted for: cancelled, or without a stack to run on. */
    uint64_t ended = report.tasks_cancelled + report.tasks_err + report.tasks_ok;
    CHECK(ended == (uint64_t)*spawned);
    CHECK(report.tasks_err > 0 || st == ASX_E_RESOURCE_EXHAUSTED);
    asx_close_report_deinit(&report);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK); /* and life goes on */
    atomic_int other = 0;
    CHECK_EQ(asx_spawn(&r, "other", leaf, &other), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    return ASX_OK;
}

static void burst_with(uint32_t workers)
{
    struct rlimit limit = { (rlim_t)512 << 20, (rlim_t)512 << 20 };
    if (asx_test_emulated()) {
        printf("skipped: the emulator has no such limit\n");
        return;
    }
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    int spawned = 0;
    CHECK_EQ(run(workers, burst, &spawned), ASX_OK);
    CHECK(spawned > 1000);
}

ASX_TEST(a_burst_that_runs_out_of_address_space_ends_in_order_on_one_worker)
{
    burst_with(1);
}

ASX_TEST(a_burst_that_runs_out_of_address_space_ends_in_order_on_four)
{
    burst_with(4);
}

/* ---- no mapping left ------------------------------------------------------------------------ */

enum { MAPS_MAX = 70000, CROWD = 20000 };

/* Neighbours that cannot become one mapping, until the system says no. */
static size_t use_up_maps(void **maps)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    while (count < MAPS_MAX) {
        int access = count % 2 == 0 ? PROT_NONE : PROT_READ;
        void *at = mmap(NULL, page, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            break;
        maps[count++] = at;
    }
    return count;
}

typedef struct crowded {
    size_t leave; /* so many mappings can still be had */
    bool full;
} crowded;

static asx_status burst_without_maps(asx_cx *cx, void *arg)
{
    static void *maps[MAPS_MAX];
    crowded *c = arg;
    asx_region r;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    asx_status st = ASX_OK;
    CHECK_EQ(asx_region_open(cx, &options, &r), ASX_OK);
    size_t count = use_up_maps(maps), page = (size_t)sysconf(_SC_PAGESIZE);
    c->full = count < MAPS_MAX;
    for (size_t i = 0; i < c->leave; i++)
        munmap(maps[--count], page);
    uint64_t spawned = 0;
    while (spawned < CROWD && st == ASX_OK) {
        st = asx_spawn(&r, "parks", parks, (void *)(uintptr_t)(spawned & 127));
        spawned += st == ASX_OK;
        if (spawned % 64 == 0 && st == ASX_OK)
            CHECK_EQ(asx_yield(cx), ASX_OK);
    }
    CHECK(st == ASX_OK || st == ASX_E_RESOURCE_EXHAUSTED);
    asx_close_report report;
    CHECK(asx_region_close_with(&r, ASX_E_CANCELLED, NULL, &report) < 0);
    CHECK_EQ(report.tasks_cancelled + report.tasks_err + report.tasks_ok, spawned);
    asx_close_report_deinit(&report);
    while (count > 0)
        munmap(maps[--count], page);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK); /* and life goes on */
    atomic_int other = 0;
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(asx_spawn(&r, "other", leaf, &other), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(atomic_load(&other), 1000);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(a_burst_that_runs_out_of_mappings_ends_in_order, 60)
{
    if (asx_test_emulated() || asx_test_scale() != 1) {
        printf("skipped: other limits come first here\n");
        return;
    }
    for (int i = 0; i < 4; i++) {
        crowded c = { .leave = i % 2 == 0 ? 0 : 5 };
        CHECK_EQ(run(i < 2 ? 1 : 4, burst_without_maps, &c), ASX_OK);
        if (!c.full)
            printf("this system has more than %d mappings for a process\n", (int)MAPS_MAX);
    }
}

#endif

/* ---- destroyed while it runs ---------------------------------------------------------------- */

static asx_status destroys(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_EQ(asx_runtime_destroy(asx_cx_runtime(cx)), ASX_E_WRONG_CONTEXT);
    return asx_sleep(cx, ASX_MS);
}

ASX_TEST(a_runtime_is_not_destroyed_from_inside)
{
    CHECK_EQ(run(1, destroys, NULL), ASX_OK);
    CHECK_EQ(run(4, destroys, NULL), ASX_OK);
}

static void *destroys_from_outside(void *arg)
{
    CHECK_EQ(asx_runtime_destroy(arg), ASX_E_WRONG_CONTEXT);
    return NULL;
}

static asx_status has_it_destroyed(asx_cx *cx, void *arg)
{
    pthread_t thread;
    (void)arg;
    CHECK_EQ(pthread_create(&thread, NULL, destroys_from_outside, asx_cx_runtime(cx)), 0);
    asx_status st = asx_sleep(cx, 10 * ASX_MS);
    pthread_join(thread, NULL);
    return st;
}

ASX_TEST(a_runtime_with_several_workers_is_not_destroyed_by_another_thread_while_it_runs)
{
    asx_runtime_config config = { .workers = 2 };
    asx_runtime *rt;
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, has_it_destroyed, NULL), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}
