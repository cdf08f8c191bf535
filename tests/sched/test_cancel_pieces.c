/* A cancellation of many tasks on several workers: others enter between its pieces, and nothing of
 * what a cancel promises is lost by that. ctest-labels: own-workers */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <asx/asx.h>

#include "harness.h"

enum { WORKERS = 4, MANY = 3000 };

static void run(asx_task_fn fn, void *arg)
{
    asx_runtime_config config = { .workers = WORKERS };
    asx_runtime *rt = NULL;
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, fn, arg), ASX_OK);
    CHECK_EQ(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

/* Ends only by being cancelled. */
static asx_status waits(asx_cx *cx, void *arg)
{
    asx_status st = asx_sleep(cx, 3600 * ASX_SEC);
    (void)arg;
    CHECK_EQ(st, ASX_E_CANCELLED);
    return st;
}

static asx_poll waits_polled(asx_cx *cx, void *arg)
{
    asx_status st = asx_sleep(cx, 3600 * ASX_SEC);
    (void)arg;
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    CHECK_EQ(st, ASX_E_CANCELLED);
    return ASX_POLL_READY;
}

static asx_task spawn_waiter(const asx_region *region, int i)
{
    asx_task task;
    CHECK_EQ(i % 2 != 0 ? asx_spawn_task(region, waits, NULL, NULL, &task)
                        : asx_spawn_poll_task(region, waits_polled, NULL, NULL, &task),
             ASX_OK);
    return task;
}

/* Which kind of cancellation a task was told of; one that was not told fails. */
static asx_cancel_kind told(const asx_task *task)
{
    asx_cancel_witness witness = { .phase = 0 };
    CHECK_EQ(asx_task_get_witness(task, &witness), ASX_OK);
    return witness.reason.kind;
}

/* ---- everyone, when it returns --------------------------------------------------------------- */

typedef struct tree {
    asx_region outer, inner;
    asx_task tasks[MANY];
    asx_cancel_kind kinds[2];
    atomic_int begun, cancelled;
} tree;

/* Two regions, one in the other, with half of the tasks each. */
static void plant(asx_cx *cx, tree *t)
{
    CHECK_EQ(asx_region_open(cx, NULL, &t->outer), ASX_OK);
    CHECK_EQ(asx_region_open_in(cx, &t->outer, NULL, &t->inner), ASX_OK);
    for (int i = 0; i < MANY; i++)
        t->tasks[i] = spawn_waiter(i < MANY / 2 ? &t->outer : &t->inner, i);
}

static void fell(tree *t)
{
    CHECK_EQ(asx_region_close(&t->inner, ASX_OK), ASX_E_CANCELLED);
    CHECK_EQ(asx_region_close(&t->outer, ASX_OK), ASX_E_CANCELLED);
}

static asx_status cancels_a_tree(asx_cx *cx, void *arg)
{
    tree *t = arg;
    for (int round = 0; round < 5; round++) {
        plant(cx, t);
        CHECK_EQ(asx_sleep(cx, (uint64_t)round * ASX_MS), ASX_OK); /* not all have begun at first */
        CHECK_EQ(asx_region_cancel(&t->outer, NULL), ASX_OK);
        for (int i = 0; i < MANY; i++)
            CHECK_EQ(told(&t->tasks[i]), i < MANY / 2 ? ASX_CANCEL_USER : ASX_CANCEL_PARENT);
        fell(t);
    }
    return ASX_OK;
}

ASX_TEST(when_a_cancel_returns_everyone_has_been_told)
{
    tree *t = calloc(1, sizeof *t);
    run(cancels_a_tree, t);
    free(t);
}

/* The other thread is no worker: it has no queue that it could work off meanwhile. */
static void *cancels_from_outside(void *arg)
{
    tree *t = arg;
    while (atomic_load(&t->begun) == 0)
        sched_yield();
    CHECK_EQ(asx_region_cancel(&t->outer, NULL), ASX_OK);
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(told(&t->tasks[i]), i < MANY / 2 ? ASX_CANCEL_USER : ASX_CANCEL_PARENT);
    atomic_store(&t->cancelled, 1);
    return NULL;
}

static asx_status is_cancelled_from_outside(asx_cx *cx, void *arg)
{
    tree *t = arg;
    plant(cx, t);
    atomic_store(&t->begun, 1);
    while (atomic_load(&t->cancelled) == 0) /* what is closed can be asked nothing */
        CHECK_EQ(asx_yield(cx), ASX_OK);
    fell(t);
    return ASX_OK;
}

ASX_TEST(another_thread_that_cancels_has_told_everyone)
{
    tree *t = calloc(1, sizeof *t);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, cancels_from_outside, t), 0);
    run(is_cancelled_from_outside, t);
    pthread_join(thread, NULL);
    free(t);
}

/* ---- two at a time --------------------------------------------------------------------------- */

typedef struct canceller {
    tree *tree;
    int number;
} canceller;

static bool has_ended(const asx_task *task)
{
    asx_task_state state;
    CHECK_EQ(asx_task_get_state(task, &state), ASX_OK);
    return state == ASX_TASK_COMPLETED;
}

/* Each finds everyone told of a reason at least as strong as its own, but for those that the other
 * one's has ended before. */
static asx_status one_of_two(asx_cx *cx, void *arg)
{
    const canceller *c = arg;
    tree *t = c->tree;
    asx_cancel_reason mine = { .kind = t->kinds[c->number] };
    (void)cx;
    atomic_fetch_add(&t->begun, 1);
    for (int spin = 0; atomic_load(&t->begun) < 2 && spin < 100000; spin++)
        sched_yield(); /* the other may be on this worker */
    CHECK_EQ(asx_region_cancel(&t->outer, &mine), ASX_OK);
    for (int i = 0; i < MANY / 2; i++) {
        asx_cancel_kind kind = told(&t->tasks[i]);
        if (asx_cancel_severity(kind) < asx_cancel_severity(mine.kind))
            CHECK(has_ended(&t->tasks[i]));
    }
    for (int i = MANY / 2; i < MANY; i++)
        CHECK_EQ(told(&t->tasks[i]), ASX_CANCEL_PARENT);
    return ASX_OK;
}

static asx_status is_cancelled_twice(asx_cx *cx, void *arg)
{
    tree *t = arg;
    asx_region both;
    asx_task cancellers[2];
    canceller c[2] = { { t, 0 }, { t, 1 } };
    CHECK_EQ(asx_region_open(cx, NULL, &both), ASX_OK);
    for (int round = 0; round < 5; round++) {
        plant(cx, t);
        atomic_store(&t->begun, 0);
        for (int i = 0; i < 2; i++)
            CHECK_EQ(asx_spawn_task(&both, one_of_two, &c[i], NULL, &cancellers[i]), ASX_OK);
        for (int i = 0; i < 2; i++)
            CHECK_EQ(asx_join(cx, &cancellers[i], NULL), ASX_OK);
        fell(t);
    }
    return asx_region_close(&both, ASX_OK);
}

ASX_TEST(two_who_cancel_at_once_have_both_told_everyone)
{
    tree *t = calloc(1, sizeof *t);
    t->kinds[0] = ASX_CANCEL_USER;
    t->kinds[1] = ASX_CANCEL_SHUTDOWN;
    run(is_cancelled_twice, t);
    free(t);
}

/* ---- who comes and goes meanwhile ------------------------------------------------------------ */

typedef struct crowd {
    asx_region outer, inner;
    atomic_uint spawned, told, ended;
    atomic_bool full;
} crowd;

static asx_status counts(asx_cx *cx, void *arg)
{
    crowd *c = arg;
    atomic_fetch_add(&c->told, 1);
    return waits(cx, NULL);
}

/* Spawns into the region below, which is told last, until that is refused. */
static asx_status spawns_on(asx_cx *cx, void *arg)
{
    crowd *c = arg;
    asx_status st;
    (void)cx;
    while ((st = asx_spawn(&c->inner, NULL, counts, c)) == ASX_OK)
        if (atomic_fetch_add(&c->spawned, 1) > MANY)
            atomic_store(&c->full, true);
    CHECK_EQ(st, ASX_E_REGION_NOT_OPEN);
    return ASX_OK;
}

static asx_status cancels_a_crowd(asx_cx *cx, void *arg)
{
    crowd *c = arg;
    asx_region aside;
    asx_task spawner;
    CHECK_EQ(asx_region_open(cx, NULL, &aside), ASX_OK);
    CHECK_EQ(asx_region_open(cx, NULL, &c->outer), ASX_OK);
    CHECK_EQ(asx_region_open_in(cx, &c->outer, NULL, &c->inner), ASX_OK);
    for (int i = 0; i < MANY; i++)
        (void)spawn_waiter(&c->outer, i);
    CHECK_EQ(asx_spawn_task(&aside, spawns_on, c, NULL, &spawner), ASX_OK);
    while (!atomic_load(&c->full))
        CHECK_EQ(asx_yield(cx), ASX_OK);
    CHECK_EQ(asx_region_cancel(&c->outer, NULL), ASX_OK);
    CHECK_EQ(asx_join(cx, &spawner, NULL), ASX_OK);
    CHECK_EQ(asx_region_close(&c->inner, ASX_OK), ASX_E_CANCELLED); /* it would wait for ever */
    CHECK_EQ(asx_region_close(&c->outer, ASX_OK), ASX_E_CANCELLED);
    CHECK_EQ(atomic_load(&c->told), atomic_load(&c->spawned));
    return asx_region_close(&aside, ASX_OK);
}

ASX_TEST(nobody_who_is_spawned_meanwhile_escapes)
{
    crowd c = { .spawned = 0 };
    run(cancels_a_crowd, &c);
}

/* Ends by itself, at about the time at which the walk comes by. */
static asx_status ends_soon(asx_cx *cx, void *arg)
{
    crowd *c = arg;
    for (int i = 0; i < 3; i++)
        if (asx_yield(cx) < 0)
            break;
    atomic_fetch_add(&c->ended, 1);
    return ASX_OK;
}

static asx_status cancels_who_end(asx_cx *cx, void *arg)
{
    crowd *c = arg;
    for (int round = 0; round < 20; round++) {
        atomic_store(&c->ended, 0);
        CHECK_EQ(asx_region_open(cx, NULL, &c->outer), ASX_OK);
        for (int i = 0; i < MANY; i++) {
            if (i % 50 == 0)
                (void)spawn_waiter(&c->outer, i);
            else
                CHECK_EQ(asx_spawn(&c->outer, NULL, ends_soon, c), ASX_OK);
        }
        for (int i = 0; i < round; i++)
            CHECK_EQ(asx_yield(cx), ASX_OK);
        CHECK_EQ(asx_region_cancel(&c->outer, NULL), ASX_OK);
        /* One that was passed over waits for ever. */
        CHECK_EQ(asx_region_close(&c->outer, ASX_OK), ASX_E_CANCELLED);
        CHECK_EQ(atomic_load(&c->ended), MANY - MANY / 50);
    }
    return ASX_OK;
}

ASX_TEST(nobody_is_passed_over_when_others_end_meanwhile)
{
    crowd c = { .ended = 0 };
    run(cancels_who_end, &c);
}

/* ---- not by a call --------------------------------------------------------------------------- */

static asx_status fails(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_E_SYSTEM;
}

static asx_status fails_fast(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < MANY; i++)
        (void)spawn_waiter(&r, i);
    CHECK_EQ(asx_spawn(&r, "fails", fails, NULL), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_SYSTEM);
    return ASX_OK;
}

ASX_TEST(a_failure_tells_all_siblings)
{
    run(fails_fast, NULL);
}

static asx_status times_out(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_region_options options = { .timeout_ns = 50 * ASX_MS };
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &options, &r), ASX_OK);
    for (int i = 0; i < MANY; i++)
        if (asx_spawn(&r, NULL, waits, NULL) < 0)
            break; /* it was that slow */
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_TIMEOUT);
    return ASX_OK;
}

ASX_TEST(a_time_out_tells_all_tasks)
{
    run(times_out, NULL);
}

/* ---- cancelled anew while it ends ------------------------------------------------------------ */

typedef struct relapse {
    asx_region region, scope;
    atomic_int ended, open, ready, done;
} relapse;

static asx_status ends(asx_cx *cx, void *arg)
{
    (void)cx;
    atomic_fetch_add(&((relapse *)arg)->ended, 1);
    return ASX_OK;
}

/* Leaves a region open when it is told to end, which fails the region that it is in. */
static asx_poll leaves_one_open(asx_cx *cx, void *arg)
{
    relapse *l = arg;
    if (atomic_exchange(&l->open, 1) == 0)
        CHECK_EQ(asx_region_open(cx, NULL, &l->scope), ASX_OK);
    return waits_polled(cx, NULL);
}

/* Who waits has ended before the walk has passed by those that ended long ago. */
static asx_status owns_it(asx_cx *cx, void *arg)
{
    relapse *l = arg;
    asx_task ended; /* whose record stays until the close */
    CHECK_EQ(asx_region_open(cx, NULL, &l->region), ASX_OK);
    CHECK_EQ(asx_spawn_poll(&l->region, "leaves", leaves_one_open, l), ASX_OK);
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(asx_spawn_task(&l->region, ends, l, NULL, &ended), ASX_OK);
    while (atomic_load(&l->ended) < MANY || atomic_load(&l->open) == 0)
        CHECK_EQ(asx_yield(cx), ASX_OK);
    atomic_store(&l->ready, 1);
    CHECK(asx_region_close(&l->region, ASX_OK) < 0);
    return ASX_OK;
}

static void *cancels_what_is_ready(void *arg)
{
    relapse *l = arg;
    while (atomic_load(&l->ready) == 0)
        sched_yield();
    CHECK_EQ(asx_region_cancel(&l->region, NULL), ASX_OK);
    atomic_store(&l->done, 1);
    return NULL;
}

/* One of its tasks would end as cancelled if it had the place of the one that was cancelled. */
static void opens_another(asx_cx *cx)
{
    asx_region r;
    relapse other = { .ended = 0 };
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(asx_spawn(&r, "ends", ends, &other), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
}

static asx_status cancels_it(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int round = 0; round < 50; round++) {
        relapse l = { .ended = 0 };
        asx_region around;
        pthread_t thread;
        CHECK_EQ(asx_region_open(cx, NULL, &around), ASX_OK);
        CHECK_EQ(asx_spawn(&around, "owner", owns_it, &l), ASX_OK);
        CHECK_EQ(pthread_create(&thread, NULL, cancels_what_is_ready, &l), 0);
        while (atomic_load(&l.done) == 0)
            opens_another(cx);
        CHECK_EQ(asx_region_close(&around, ASX_OK), ASX_OK);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    return ASX_OK;
}

ASX_TEST(a_region_that_the_end_of_a_child_cancels_anew_is_told_before_it_closes)
{
    run(cancels_it, NULL);
}
