/* Several workers: the same programs, in parallel, without a lost wake-up or a lost task; and how
 * little a runtime uses that rests. ctest-labels: clock own-workers */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <asx/asx.h>

#include "harness.h"
#include "sched/sched.h"

static uint32_t workers = 4;

static asx_runtime *make(uint32_t count)
{
    asx_runtime_config config = { .workers = count };
    asx_runtime *rt = NULL;
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    return rt;
}

static void run(asx_task_fn fn, void *arg)
{
    asx_runtime *rt = make(workers);
    CHECK_EQ(asx_runtime_run(rt, fn, arg), ASX_OK);
    CHECK_EQ(asx_runtime_quiescent(rt), ASX_OK);
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

/* ---- spawn and join -------------------------------------------------------------------------- */

static asx_status leaf(asx_cx *cx, void *arg)
{
    burn((uintptr_t)arg % 7 * 1000);
    return asx_task_set_value(cx, (uintptr_t)arg);
}

static asx_status tree(asx_cx *cx, void *arg)
{
    uint64_t want = 0, got = 0;
    asx_region r;
    asx_task tasks[64];
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int round = 0; round < 20; round++) {
        for (uintptr_t i = 0; i < 64; i++) {
            CHECK_EQ(asx_spawn_task(&r, leaf, (void *)i, NULL, &tasks[i]), ASX_OK);
            want += i;
        }
        for (int i = 0; i < 64; i++) {
            asx_join_result result;
            CHECK_EQ(asx_join(cx, &tasks[i], &result), ASX_OK);
            got += result.value;
        }
    }
    CHECK_EQ(got, want);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(every_child_is_joined_once_with_its_value)
{
    run(tree, NULL);
}

/* ---- parallel -------------------------------------------------------------------------------- */

typedef struct meeting {
    atomic_int here;
    int wanted;
} meeting;

/* Ends only when so many run at the same time. */
static asx_status meet(asx_cx *cx, void *arg)
{
    meeting *m = arg;
    (void)cx;
    atomic_fetch_add(&m->here, 1);
    while (atomic_load(&m->here) < m->wanted)
        sched_yield();
    return ASX_OK;
}

static asx_poll meet_poll(asx_cx *cx, void *arg)
{
    return meet(cx, arg) == ASX_OK ? ASX_POLL_READY : ASX_POLL_ERROR;
}

static asx_status all_at_once(asx_cx *cx, void *arg)
{
    meeting *m = arg;
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < m->wanted; i++)
        CHECK_EQ(i % 2 ? asx_spawn(&r, "meet", meet, m) : asx_spawn_poll(&r, "meet", meet_poll, m),
                 ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(as_many_tasks_run_at_once_as_there_are_workers)
{
    meeting m = { .wanted = (int)workers };
    run(all_at_once, &m);
}

/* ---- channels -------------------------------------------------------------------------------- */

enum { PRODUCERS = 8, MESSAGES = 4000 };

typedef struct stream {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    uint64_t sum, count;
} stream;

static asx_status produce(asx_cx *cx, void *arg)
{
    stream *p = arg;
    for (uint64_t i = 1; i <= MESSAGES; i++) {
        if (i % 3 == 0) {
            CHECK_EQ(asx_channel_send(cx, &p->tx, &i), ASX_OK);
        } else {
            asx_send_permit permit;
            CHECK_EQ(asx_channel_reserve(cx, &p->tx, &permit), ASX_OK);
            if (i % 5 == 0)
                burn(2000);
            CHECK_EQ(asx_send_permit_send(&permit, &i), ASX_OK);
            CHECK(asx_send_permit_send(&permit, &i) < 0);
        }
    }
    return ASX_OK;
}

static asx_status consume(asx_cx *cx, void *arg)
{
    stream *p = arg;
    uint64_t message;
    while (p->count < (uint64_t)PRODUCERS * MESSAGES) {
        if (p->count % 16 == 0) {
            asx_ack ack;
            CHECK_EQ(asx_channel_recv_with_ack(cx, &p->rx, &message, &ack), ASX_OK);
            if (p->count % 32 == 0) {
                CHECK_EQ(asx_ack_nack(&ack), ASX_OK);
                CHECK_EQ(asx_channel_recv(cx, &p->rx, &message), ASX_OK);
            } else {
                CHECK_EQ(asx_ack_commit(&ack), ASX_OK);
            }
        } else {
            CHECK_EQ(asx_channel_recv(cx, &p->rx, &message), ASX_OK);
        }
        p->sum += message;
        p->count++;
    }
    return ASX_OK;
}

static asx_status many_to_one(asx_cx *cx, void *arg)
{
    stream p = { .sum = 0 };
    asx_region r;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_channel_create(&r, sizeof(uint64_t), 4, NULL, &p.tx, &p.rx), ASX_OK);
    for (int i = 0; i < PRODUCERS; i++)
        CHECK_EQ(asx_spawn(&r, "produce", produce, &p), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "consume", consume, &p), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(p.sum, (uint64_t)PRODUCERS * MESSAGES * (MESSAGES + 1) / 2);
    return ASX_OK;
}

ASX_TEST(messages_arrive_exactly_once_across_workers)
{
    run(many_to_one, NULL);
}

/* ---- cancel ---------------------------------------------------------------------------------- */

static asx_status released(asx_cx *cx, void *arg)
{
    (void)cx;
    atomic_fetch_add((atomic_int *)arg, 1);
    return ASX_OK;
}

static asx_status sleeper(asx_cx *cx, void *arg)
{
    CHECK_EQ(asx_task_defer(cx, released, arg), ASX_OK);
    asx_status st;
    do
        st = asx_sleep(cx, (uint64_t)asx_cx_task_id(cx).generation % 5 * ASX_MS);
    while (st == ASX_OK);
    return st;
}

static asx_status busy(asx_cx *cx, void *arg)
{
    CHECK_EQ(asx_task_defer(cx, released, arg), ASX_OK);
    while (!asx_is_cancelled(cx))
        burn(1000);
    return asx_checkpoint(cx);
}

static asx_status cancel_all(asx_cx *cx, void *arg)
{
    atomic_int *count = arg;
    asx_region r;
    asx_region_options options = { .name = "storm", .timeout_ns = 30 * ASX_MS };
    CHECK_EQ(asx_region_open(cx, &options, &r), ASX_OK);
    for (int i = 0; i < 300; i++)
        CHECK_EQ(asx_spawn(&r, "sleeper", sleeper, count), ASX_OK);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(asx_spawn(&r, "busy", busy, count), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_TIMEOUT);
    CHECK_EQ(atomic_load(count), 302);
    return ASX_OK;
}

ASX_TEST(a_deadline_reaches_parked_and_running_tasks_on_all_workers)
{
    atomic_int count = 0;
    run(cancel_all, &count);
}

/* ---- outside --------------------------------------------------------------------------------- */

typedef struct outsider {
    asx_runtime *rt;
    asx_region region;
    asx_waker waker;
    atomic_int ready;
    int spawned;
    atomic_int ran;
} outsider;

static asx_status guest(asx_cx *cx, void *arg)
{
    outsider *o = arg;
    (void)cx;
    atomic_fetch_add(&o->ran, 1);
    return ASX_OK;
}

static void *from_outside(void *arg)
{
    outsider *o = arg;
    while (atomic_load(&o->ready) == 0)
        sched_yield();
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(asx_spawn(&o->region, "guest", guest, o), ASX_OK);
        asx_stats stats;
        CHECK_EQ(asx_runtime_stats(o->rt, &stats), ASX_OK);
        CHECK_GE(stats.tasks_live, 1u);
    }
    CHECK_EQ(asx_runtime_quiescent(o->rt), ASX_E_TASKS_STILL_ACTIVE);
    CHECK_EQ(asx_runtime_destroy(o->rt), ASX_E_WRONG_CONTEXT);
    o->waker.wake(o->waker.arg);
    return NULL;
}

static asx_status host(asx_cx *cx, void *arg)
{
    outsider *o = arg;
    asx_region r;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_cx_waker(cx, &o->waker), ASX_OK);
    o->region = r;
    o->rt = asx_cx_runtime(cx);
    atomic_store(&o->ready, 1);
    CHECK_EQ(asx_wait_external(cx), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(atomic_load(&o->ran), 100);
    return ASX_OK;
}

ASX_TEST(other_threads_may_spawn_ask_and_wake)
{
    outsider o = { .spawned = 0 };
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, from_outside, &o), 0);
    run(host, &o);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static asx_cx *leaked;

static void *use_leaked(void *arg)
{
    (void)arg;
    CHECK_EQ(asx_checkpoint(leaked), ASX_E_WRONG_CONTEXT);
    CHECK_EQ(asx_sleep(leaked, 1), ASX_E_WRONG_CONTEXT);
    return NULL;
}

static asx_status leak_context(asx_cx *cx, void *arg)
{
    pthread_t thread;
    (void)arg;
    leaked = cx;
    CHECK_EQ(pthread_create(&thread, NULL, use_leaked, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return ASX_OK;
}

ASX_TEST(a_context_is_refused_on_a_thread_that_does_not_run_its_task)
{
    run(leak_context, NULL);
}

static void *stop_it(void *arg)
{
    outsider *o = arg;
    while (atomic_load(&o->ready) == 0)
        sched_yield();
    CHECK_EQ(asx_runtime_shutdown(o->rt, 0, NULL), ASX_OK);
    return NULL;
}

static asx_status wait_for_ever(asx_cx *cx, void *arg)
{
    outsider *o = arg;
    o->rt = asx_cx_runtime(cx);
    atomic_store(&o->ready, 1);
    return asx_sleep_until(cx, ASX_TIME_NEVER);
}

ASX_TEST(another_thread_may_ask_for_the_shutdown)
{
    outsider o = { .spawned = 0 };
    pthread_t thread;
    asx_runtime *rt = make(workers);
    CHECK_EQ(pthread_create(&thread, NULL, stop_it, &o), 0);
    CHECK_EQ(asx_runtime_run(rt, wait_for_ever, &o), ASX_E_CANCELLED);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- panic, finalizers ----------------------------------------------------------------------- */

static asx_status panicker(asx_cx *cx, void *arg)
{
    CHECK_EQ(asx_task_defer(cx, released, arg), ASX_OK);
    asx_panic(cx, "on purpose");
}

static asx_poll poll_panicker(asx_cx *cx, void *arg)
{
    CHECK_EQ(asx_task_defer(cx, released, arg), ASX_OK);
    asx_panic(cx, "on purpose");
}

static asx_status panics(asx_cx *cx, void *arg)
{
    atomic_int *count = arg;
    for (int i = 0; i < 50; i++) {
        asx_region r;
        asx_region_options options = { .policy = ASX_POLICY_COLLECT };
        CHECK_EQ(asx_region_open(cx, &options, &r), ASX_OK);
        CHECK_EQ(asx_defer(&r, released, count), ASX_OK);
        CHECK_EQ(asx_spawn(&r, "p", panicker, count), ASX_OK);
        CHECK_EQ(asx_spawn_poll(&r, "p", poll_panicker, count), ASX_OK);
        CHECK_EQ(asx_spawn(&r, "q", released, count), ASX_OK);
        CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_PANICKED);
    }
    CHECK_EQ(atomic_load(count), 200);
    return ASX_OK;
}

ASX_TEST(panics_stay_in_their_region_and_cleanups_run_once)
{
    atomic_int count = 0;
    run(panics, &count);
}

/* ---- rest ------------------------------------------------------------------------------------ */

static uint64_t cpu_ns(void)
{
    struct rusage use;
    CHECK_EQ(getrusage(RUSAGE_SELF, &use), 0);
    return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * ASX_SEC +
           (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * ASX_US;
}

static asx_status doze(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++)
        CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK); /* whatever polls begins to */
    CHECK_EQ(asx_sleep(cx, 100 * ASX_MS), ASX_OK);
    uint64_t before = cpu_ns();
    CHECK_EQ(asx_sleep(cx, 4000 * ASX_MS), ASX_OK);
    /* TSan has a thread of its own, which looks around all the time. */
    CHECK_LE(cpu_ns() - before, (ASX_TEST_TSAN ? 12 : 2) * ASX_MS);
    return ASX_OK;
}

ASX_TEST(an_idle_runtime_uses_no_processor)
{
    run(doze, NULL);
}

/* ---- pinned ---------------------------------------------------------------------------------- */

typedef struct nailed {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    atomic_int done;
} nailed;

static asx_status stays(asx_cx *cx, void *arg)
{
    nailed *n = arg;
    long home = syscall(SYS_gettid); /* pthread_self() may be taken for a constant here */
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t message;
        burn(i % 5 * 2000);
        asx_status st = i % 4 == 0   ? asx_yield(cx)
                        : i % 4 == 1 ? asx_sleep(cx, 10 * ASX_US)
                        : i % 4 == 2 ? asx_channel_send(cx, &n->tx, &i)
                                     : asx_channel_recv(cx, &n->rx, &message);
        CHECK(st == ASX_OK || st == ASX_E_BUSY);
        CHECK_EQ(syscall(SYS_gettid), home);
        if (i == 150) { /* also when it is cancelled, and in the cancel lane */
            asx_task self;
            CHECK_EQ(asx_cx_task(cx, &self), ASX_OK);
            CHECK_EQ(asx_task_cancel(&self, NULL), ASX_OK);
            CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_E_CANCELLED);
            CHECK_EQ(asx_yield(cx), ASX_E_CANCELLED);
            CHECK_EQ(syscall(SYS_gettid), home);
            break;
        }
    }
    atomic_fetch_add(&n->done, 1);
    return ASX_OK;
}

static asx_status nails(asx_cx *cx, void *arg)
{
    nailed *n = arg;
    asx_region r;
    asx_spawn_options pinned = { .name = "stays", .flags = ASX_PINNED };
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_channel_create(&r, sizeof(uint64_t), 4096, NULL, &n->tx, &n->rx), ASX_OK);
    for (int i = 0; i < 12; i++) {
        CHECK_EQ(asx_spawn_task(&r, stays, n, &pinned, NULL), ASX_OK);
        CHECK_EQ(asx_spawn_task(&r, leaf, (void *)(uintptr_t)i, NULL, NULL), ASX_OK);
        CHECK_EQ(asx_sleep(cx, 200 * ASX_US), ASX_OK); /* and on it goes, on another worker */
    }
    for (uint64_t i = 0; i < 1000; i++) /* enough for all who receive */
        CHECK_EQ(asx_channel_send(cx, &n->tx, &i), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(atomic_load(&n->done), 12);
    pinned.flags = 2;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn_task(&r, stays, n, &pinned, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_INVALID_ARGUMENT);
    return ASX_OK;
}

ASX_TEST(a_pinned_task_never_leaves_its_worker)
{
    nailed n = { .done = 0 };
    run(nails, &n);
}

/* Everyone enters all the time, so workers lie down and leave it to others: but for what only they
 * may run. */
static asx_status yields_a_lot(asx_cx *cx, void *arg)
{
    for (int i = 0; i < 20000; i++)
        CHECK_EQ(asx_yield(cx), ASX_OK);
    atomic_fetch_add((atomic_int *)arg, 1);
    return ASX_OK;
}

static asx_status pins_one(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_spawn_options pinned = { .name = "yields", .flags = ASX_PINNED };
    asx_time begun = asx_now(cx);
    CHECK_EQ(asx_cx_region(cx, &r), ASX_OK);
    while (asx_now(cx) < begun + 3 * ASX_MS) { /* so that its siblings are taken by others */
    }
    return asx_spawn_task(&r, yields_a_lot, arg, &pinned, NULL);
}

static asx_status pins_many(asx_cx *cx, void *arg)
{
    asx_region r;
    atomic_int *done = arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(asx_spawn(&r, "pins", pins_one, done), ASX_OK);
    while (atomic_load(done) < 4)
        CHECK_EQ(asx_yield(cx), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(no_worker_lies_down_on_what_only_it_may_run)
{
    for (int round = 0; round < 5; round++) {
        atomic_int done = 0;
        asx_runtime *rt;
        CHECK_EQ(asx_runtime_create(&(asx_runtime_config){ .workers = 4 }, &rt), ASX_OK);
        CHECK_EQ(asx_runtime_run(rt, pins_many, &done), ASX_OK);
        CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    }
}

/* ---- bad luck -------------------------------------------------------------------------------- */

static asx_status count_workers(asx_cx *cx, void *arg)
{
    asx_stats stats;
    CHECK_EQ(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    *(uint32_t *)arg = stats.workers;
    return tree(cx, NULL);
}

ASX_TEST(a_runtime_whose_threads_cannot_be_made_runs_on_its_own)
{
    pthread_attr_t attr;
    uint32_t count = 0;
    if (asx_test_emulated()) {
        printf("skipped: an emulator tries, and takes all memory for its tables\n");
        return;
    }
    pthread_attr_init(&attr);
    CHECK_EQ(pthread_attr_setstacksize(&attr, (size_t)1 << 60), 0); /* more than there can be */
    CHECK_EQ(pthread_setattr_default_np(&attr), 0);
    run(count_workers, &count);
    CHECK_EQ(count, 1);
    pthread_attr_destroy(&attr);
}

static asx_status forks(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(7); /* all that a child may do: leave, or become another program */
        int status = 0;
        CHECK_GE(child, 1);
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        CHECK_EQ(asx_yield(cx), ASX_OK);
    }
    return tree(cx, NULL);
}

ASX_TEST(a_child_process_that_leaves_does_not_disturb_its_parent)
{
    run(forks, NULL);
}

static asx_status destroys_itself(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_EQ(asx_runtime_destroy(asx_cx_runtime(cx)), ASX_E_WRONG_CONTEXT);
    CHECK_EQ(asx_runtime_run(asx_cx_runtime(cx), tree, NULL), ASX_E_WRONG_CONTEXT);
    return ASX_OK;
}

ASX_TEST(a_runtime_is_not_destroyed_while_its_tasks_run)
{
    run(destroys_itself, NULL);
}

typedef struct burst {
    atomic_int ran;
    atomic_bool go;
} burst;

/* Stays until the burst is over, so that its record is not used again, and takes no memory. */
static asx_status stays_for_the_burst(asx_cx *cx, void *arg)
{
    burst *b = arg;
    while (!atomic_load(&b->go))
        (void)asx_yield(cx);
    atomic_fetch_add(&b->ran, 1);
    return ASX_OK;
}

static asx_status wants_memory(asx_cx *cx, void *arg)
{
    asx_region r;
    burst *b = arg;
    asx_status st = ASX_OK;
    int made = 0;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    while (made < 5000 && st == ASX_OK) {
        st = asx_spawn(&r, "burst", stays_for_the_burst, b);
        made += st == ASX_OK;
    }
    CHECK_EQ(st, ASX_E_RESOURCE_EXHAUSTED);
    atomic_store(&b->go, true);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_RESOURCE_EXHAUSTED); /* it sticks */
    CHECK_EQ(atomic_load(&b->ran), made); /* and everyone who was admitted has run */
    return ASX_OK;
}

ASX_TEST(memory_that_runs_out_in_a_burst_loses_nobody)
{
    burst b = { .ran = 0 };
    asx_runtime_config config = { .workers = workers, .limits = { .memory_max = 300000 } };
    asx_runtime *rt = NULL;
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, wants_memory, &b), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- stacks of a burst on several workers ---------------------------------------------------- */

enum { WAITING = 2000 };

static asx_status waits_for_message(asx_cx *cx, void *arg)
{
    uint64_t value;
    return asx_mpmc_recv(cx, arg, &value);
}

static void burst_of_fibers(asx_cx *cx, asx_runtime *rt)
{
    asx_region r;
    asx_mpmc_sender tx;
    asx_mpmc_receiver rx;
    asx_stats stats;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_mpmc_create(&r, sizeof(uint64_t), 0, NULL, &tx, &rx), ASX_OK);
    for (int i = 0; i < WAITING; i++)
        CHECK_EQ(asx_spawn(&r, "waits", waits_for_message, &rx), ASX_OK);
    do { /* this one and all others, none that is only being made */
        CHECK_EQ(asx_sleep(cx, ASX_MS), ASX_OK);
        CHECK_EQ(asx_runtime_stats(rt, &stats), ASX_OK);
        CHECK_LE(stats.stacks_in_use, WAITING + 1);
    } while (stats.stacks_in_use < WAITING + 1);
    CHECK_EQ(asx_mpmc_close(&tx), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_CLOSED); /* which all of them got */
}

static asx_status bursts_of_fibers(asx_cx *cx, void *arg)
{
    burst_of_fibers(cx, arg);
    burst_of_fibers(cx, arg);
    return ASX_OK;
}

ASX_TEST(stacks_of_a_burst_are_made_ahead_outside_the_engine_and_none_is_lost)
{
    uint32_t ahead = 0; /* by chance none is left over in one run; not in six */
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t count = 2u << i % 3;
        asx_runtime *rt = make(count);
        CHECK_EQ(asx_runtime_run(rt, bursts_of_fibers, rt), ASX_OK);
        CHECK_EQ(rt->pool->building, 0);
        CHECK_EQ(asx__stack_pool_in_use(rt->pool), 0);
        CHECK(asx__stack_pool_is_valid(rt->pool));
        CHECK_GE(rt->pool->stacks_carved, WAITING + 1);
        CHECK_LE(rt->pool->stacks_carved, WAITING + 1 + 32 * 2 * count);
        ahead += rt->pool->stacks_carved - (WAITING + 1);
        CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    }
    CHECK(ahead > 0);
}

/* ---- the runtime's wheel --------------------------------------------------------------------- */

enum { TIMERS_EACH = 50, TIMER_TASKS = 8 };

typedef struct timer_crowd {
    asx_runtime *rt;
    atomic_uint fired, cancelled;
} timer_crowd;

static void count_fired(void *arg)
{
    atomic_fetch_add(&((timer_crowd *)arg)->fired, 1);
}

/* Arms some, moves some, cancels every other one. */
static void use_wheel(timer_crowd *c)
{
    asx_timer_wheel *wheel = asx_runtime_timers(c->rt);
    asx_waker waker = { count_fired, c };
    asx_timer_handle handles[TIMERS_EACH];
    asx_time now = asx_runtime_now(c->rt);
    for (int i = 0; i < TIMERS_EACH; i++)
        CHECK_STATUS(asx_timer_register(wheel, now + ASX_SEC, waker, &handles[i]), ASX_OK);
    CHECK(asx_timer_count(wheel) >= TIMERS_EACH);
    CHECK(asx_timer_next_deadline(wheel) <= now + ASX_SEC);
    for (int i = 0; i < TIMERS_EACH; i++) {
        asx_timer_handle old = handles[i];
        CHECK_STATUS(asx_timer_update(wheel, &old, now + 2 * ASX_MS, waker, &handles[i]), ASX_OK);
        CHECK(!asx_timer_cancel(wheel, &old));
        if (i % 2 == 0 && asx_timer_cancel(wheel, &handles[i]))
            atomic_fetch_add(&c->cancelled, 1);
    }
}

static asx_status uses_wheel(asx_cx *cx, void *arg)
{
    (void)cx;
    use_wheel(arg);
    return ASX_OK;
}

static void *uses_wheel_from_outside(void *arg)
{
    use_wheel(arg);
    return NULL;
}

static asx_status wheel_crowd(asx_cx *cx, void *arg)
{
    timer_crowd *c = arg;
    asx_region r;
    pthread_t outside;
    asx_timer_stats stats;
    unsigned all = TIMERS_EACH * (TIMER_TASKS + 1);
    c->rt = asx_cx_runtime(cx);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(pthread_create(&outside, NULL, uses_wheel_from_outside, c), 0);
    for (int i = 0; i < TIMER_TASKS; i++)
        CHECK_STATUS(asx_spawn(&r, "armer", uses_wheel, c), ASX_OK);
    asx_status st = asx_region_close(&r, ASX_OK);
    (void)pthread_join(outside, NULL);
    while (atomic_load(&c->fired) + atomic_load(&c->cancelled) < all)
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(atomic_load(&c->fired) + atomic_load(&c->cancelled), all);
    asx_timer_wheel_stats(asx_runtime_timers(c->rt), &stats);
    CHECK_EQ(stats.live, asx_timer_count(asx_runtime_timers(c->rt)));
    CHECK_EQ(asx_timer_collect_expired(asx_runtime_timers(c->rt), 0, NULL, 0), 0);
    return st;
}

ASX_TEST(the_wheel_of_a_shared_runtime_is_for_every_thread)
{
    timer_crowd c = { .fired = 0 };
    asx_runtime_config config = { .workers = 4 };
    asx_runtime *rt = NULL;
    asx_timer_handle handle;
    asx_waker waker = { count_fired, &c };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    asx_timer_wheel *wheel = asx_runtime_timers(rt);
    CHECK(wheel != NULL);
    CHECK_EQ(asx_timer_next_deadline(wheel), ASX_TIME_NEVER);
    CHECK_EQ(asx_timer_count(wheel), 0);
    CHECK_STATUS(asx_timer_register(wheel, ASX_TIME_NEVER, waker, &handle),
                 ASX_E_TIMER_DURATION_EXCEEDED);
    CHECK_STATUS(asx_timer_register(wheel, 0, (asx_waker){ 0 }, &handle), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_runtime_run(rt, wheel_crowd, &c), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- how many -------------------------------------------------------------------------------- */

static asx_pool_stats pool_of(uint32_t count)
{
    asx_runtime *rt = make(count);
    asx_pool_stats stats;
    CHECK_STATUS(asx_runtime_pool_stats(rt, &stats), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return stats;
}

ASX_TEST(as_many_workers_as_cores_are_those_that_we_may_use_and_never_one_alone)
{
    cpu_set_t ours, one;
    size_t cpu = 0;
    CHECK_EQ(sched_getaffinity(0, sizeof ours, &ours), 0);
    uint32_t cores = (uint32_t)CPU_COUNT(&ours);
    CHECK_EQ(pool_of(ASX_WORKERS_ALL).workers_base, cores > 2 ? cores : 2);
    while (!CPU_ISSET(cpu, &ours))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    asx_pool_stats stats = pool_of(ASX_WORKERS_ALL);
    CHECK_EQ(stats.workers_base, 2);
    CHECK_EQ(stats.workers_max, 4);
}

ASX_TEST(there_are_no_more_than_255_workers)
{
    CHECK_EQ(pool_of(200).workers_base, 200);
    CHECK_EQ(pool_of(200).workers_max, 255);
    CHECK_EQ(pool_of(1000).workers_base, 255);
}

/* ---- refusals -------------------------------------------------------------------------------- */

ASX_TEST(laboratory_and_virtual_time_are_for_one_worker)
{
    asx_runtime *rt = NULL;
    asx_runtime_config lab = { .workers = 2, .lab = true };
    asx_runtime_config virtual_time = { .workers = 2, .clock = ASX_CLOCK_VIRTUAL };
    CHECK_EQ(asx_runtime_create(&lab, &rt), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_runtime_create(&virtual_time, &rt), ASX_E_NOT_SUPPORTED);
    lab.workers = 1;
    CHECK_EQ(asx_runtime_create(&lab, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}
