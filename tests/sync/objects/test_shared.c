/* test_shared.c - the objects between tasks that run in parallel on several workers.
 *
 * What the tasks touch is plain memory, so that a sanitizer sees it if an object does not order
 * what it should. Every program runs with 1, 2, 4 and 8 workers, fibers and poll functions mixed.
 */
#include <stdatomic.h>

#include "play.h"

enum { TASKS = 8, ROUNDS = 150 };

struct member;
typedef asx_status (*work_fn)(asx_cx *cx, struct member *m);

struct crowd {
    asx_region region;
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    asx_condition condition;
    asx_notify notify;
    asx_barrier barrier;
    asx_once once;
    asx_broadcast broadcast;
    asx_watch watch;
    uint64_t plain, twin; /* equal whenever nobody writes */
    uint64_t in, out;
    atomic_uint inside;
    struct member {
        struct crowd *crowd;
        work_fn work;
        unsigned number, round, state;
        uint64_t seen, heard, missed;
        asx_mutex_guard mutex;
        asx_rwlock_guard rwlock;
        asx_semaphore_permit permit;
        asx_broadcast_receiver receiver;
        asx_oneshot_sender tx;
        asx_oneshot_receiver rx;
    } members[TASKS];
    asx_task tasks[TASKS];
};

static asx_status member_fiber(asx_cx *cx, void *arg)
{
    struct member *m = arg;
    return m->work(cx, m);
}

static asx_poll member_poll(asx_cx *cx, void *arg)
{
    struct member *m = arg;
    asx_status st = m->work(cx, m);
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING
           : st < 0                ? asx_poll_fail(cx, st)
                                   : ASX_POLL_READY;
}

static void open_crowd(asx_cx *cx, struct crowd *c)
{
    uint64_t zero = 0;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    CHECK_STATUS(asx_region_open(cx, &options, &c->region), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&c->region, NULL, &c->mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(&c->region, NULL, &c->rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(&c->region, 3, NULL, &c->semaphore), ASX_OK);
    CHECK_STATUS(asx_condition_create(&c->region, NULL, &c->condition), ASX_OK);
    CHECK_STATUS(asx_notify_create(&c->region, NULL, &c->notify), ASX_OK);
    CHECK_STATUS(asx_barrier_create(&c->region, TASKS, NULL, &c->barrier), ASX_OK);
    CHECK_STATUS(asx_once_create(&c->region, NULL, &c->once), ASX_OK);
    CHECK_STATUS(asx_broadcast_create(&c->region, 8, 16, NULL, &c->broadcast), ASX_OK);
    CHECK_STATUS(asx_watch_create(&c->region, 8, &zero, NULL, &c->watch), ASX_OK);
}

static void spawn_crowd(struct crowd *c, work_fn work)
{
    for (unsigned i = 0; i < TASKS; i++) {
        struct member *m = &c->members[i];
        m->crowd = c;
        m->work = work;
        m->number = i;
        if (i % 2 == 0)
            CHECK_STATUS(asx_spawn_task(&c->region, member_fiber, m, NULL, &c->tasks[i]), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_poll_task(&c->region, member_poll, m, NULL, &c->tasks[i]),
                         ASX_OK);
    }
}

static void run_shared(asx_task_fn fn, void *arg)
{
    static const uint32_t counts[] = { 1, 2, 4, 8 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        asx_runtime *rt;
        asx_runtime_config config = { .workers = counts[i] };
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, fn, arg), ASX_OK);
        CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

/* ---- mutex ---------------------------------------------------------------------------------- */

static asx_status counts(asx_cx *cx, struct member *m)
{
    struct crowd *c = m->crowd;
    for (; m->round < ROUNDS; m->round++) {
        asx_status st = asx_mutex_lock(cx, &c->mutex, &m->mutex);
        if (st < 0)
            return st;
        CHECK_EQ(c->plain, c->twin);
        c->plain++;
        c->twin++;
        CHECK_STATUS(asx_mutex_unlock(&m->mutex), ASX_OK);
    }
    return ASX_OK;
}

static asx_status mutex_program(asx_cx *cx, void *arg)
{
    struct crowd c = { .plain = 0 };
    bool cancels = *(bool *)arg;
    open_crowd(cx, &c);
    spawn_crowd(&c, counts);
    for (unsigned i = 0; cancels && i < TASKS / 2; i++)
        CHECK_STATUS(asx_task_cancel(&c.tasks[i], NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&c.region, ASX_OK), ASX_OK);
    CHECK_EQ(c.plain, c.twin);
    if (!cancels)
        CHECK_EQ(c.plain, TASKS * ROUNDS);
    else
        CHECK_GE(c.plain, TASKS / 2 * ROUNDS);
    return ASX_OK;
}

ASX_TEST(a_mutex_excludes_in_parallel)
{
    bool cancels = false;
    run_shared(mutex_program, &cancels);
    cancels = true;
    run_shared(mutex_program, &cancels);
}

/* ---- read-write lock ------------------------------------------------------------------------ */

static asx_status reads_or_writes(asx_cx *cx, struct member *m)
{
    struct crowd *c = m->crowd;
    for (; m->round < ROUNDS; m->round++) {
        bool writes = (m->round + m->number) % 4 == 0;
        asx_status st = writes ? asx_rwlock_write(cx, &c->rwlock, &m->rwlock)
                               : asx_rwlock_read(cx, &c->rwlock, &m->rwlock);
        if (st < 0)
            return st;
        CHECK_EQ(c->plain, c->twin);
        if (writes) {
            c->plain++;
            c->twin++;
        }
        CHECK_STATUS(asx_rwlock_unlock(&m->rwlock), ASX_OK);
    }
    return ASX_OK;
}

static asx_status rwlock_program(asx_cx *cx, void *arg)
{
    struct crowd c = { .plain = 0 };
    (void)arg;
    open_crowd(cx, &c);
    spawn_crowd(&c, reads_or_writes);
    CHECK_STATUS(asx_region_close(&c.region, ASX_OK), ASX_OK);
    CHECK_EQ(c.plain, c.twin);
    return ASX_OK;
}

ASX_TEST(readers_see_whole_writes_in_parallel)
{
    run_shared(rwlock_program, NULL);
}

/* ---- semaphore ------------------------------------------------------------------------------ */

static asx_status borrows(asx_cx *cx, struct member *m)
{
    struct crowd *c = m->crowd;
    for (; m->round < ROUNDS; m->round++) {
        uint32_t n = 1 + (m->round + m->number) % 3;
        asx_status st = asx_semaphore_acquire(cx, &c->semaphore, n, &m->permit);
        if (st < 0)
            return st;
        CHECK_LE(atomic_fetch_add(&c->inside, n) + n, 3u);
        atomic_fetch_sub(&c->inside, n);
        CHECK_STATUS(asx_semaphore_release(&m->permit), ASX_OK);
    }
    return ASX_OK;
}

static asx_status semaphore_program(asx_cx *cx, void *arg)
{
    struct crowd c = { .plain = 0 };
    asx_lock_info info;
    (void)arg;
    open_crowd(cx, &c);
    spawn_crowd(&c, borrows);
    for (unsigned i = 0; i < 2; i++)
        CHECK_STATUS(asx_task_cancel(&c.tasks[i], NULL), ASX_OK);
    for (unsigned i = 0; i < TASKS; i++)
        CHECK_STATUS(asx_join(cx, &c.tasks[i], NULL), ASX_OK);
    CHECK_STATUS(asx_semaphore_info(&c.semaphore, &info), ASX_OK);
    CHECK_EQ(info.available, 3);
    return asx_region_close(&c.region, ASX_OK);
}

ASX_TEST(permits_are_never_more_than_there_are_in_parallel)
{
    run_shared(semaphore_program, NULL);
}

/* ---- condition ------------------------------------------------------------------------------ */

static asx_status exchanges(asx_cx *cx, struct member *m)
{
    struct crowd *c = m->crowd;
    bool puts = m->number % 4 < 2;
    asx_status st;
    for (; m->round < ROUNDS; m->round++, m->state = 0) {
        if (m->state == 0) {
            st = asx_mutex_lock(cx, &c->mutex, &m->mutex);
            if (st < 0)
                return st;
            m->state = 1;
        }
        while (m->state == 2 || (puts ? c->in - c->out == 2 : c->in == c->out)) {
            m->state = 2;
            st = asx_condition_wait(cx, &c->condition, &m->mutex);
            if (st < 0)
                return st;
            m->state = 1;
        }
        *(puts ? &c->in : &c->out) += 1;
        CHECK_STATUS(asx_condition_broadcast(&c->condition), ASX_OK);
        CHECK_STATUS(asx_mutex_unlock(&m->mutex), ASX_OK);
    }
    return ASX_OK;
}

static asx_status condition_program(asx_cx *cx, void *arg)
{
    struct crowd c = { .plain = 0 };
    (void)arg;
    open_crowd(cx, &c);
    spawn_crowd(&c, exchanges);
    CHECK_STATUS(asx_region_close(&c.region, ASX_OK), ASX_OK);
    CHECK_EQ(c.in, TASKS / 2 * ROUNDS);
    CHECK_EQ(c.out, c.in);
    return ASX_OK;
}

ASX_TEST(a_bounded_buffer_loses_nothing_in_parallel)
{
    run_shared(condition_program, NULL);
}

/* ---- notify, barrier, once ------------------------------------------------------------------ */

/* The notification is a token: who has it may touch what is plain. */
static asx_status passes_on(asx_cx *cx, struct member *m)
{
    struct crowd *c = m->crowd;
    for (; m->round < ROUNDS; m->round++) {
        asx_status st = asx_notify_wait(cx, &c->notify);
        if (st < 0)
            return st;
        c->plain++;
        CHECK_STATUS(asx_notify_one(&c->notify), ASX_OK);
    }
    return ASX_OK;
}

static asx_status notify_program(asx_cx *cx, void *arg)
{
    struct crowd c = { .plain = 0 };
    (void)arg;
    open_crowd(cx, &c);
    spawn_crowd(&c, passes_on);
    CHECK_STATUS(asx_notify_one(&c.notify), ASX_OK);
    CHECK_STATUS(asx_region_close(&c.region, ASX_OK), ASX_OK);
    CHECK_EQ(c.plain, TASKS * ROUNDS);
    return ASX_OK;
}

ASX_TEST(a_notification_is_not_lost_in_parallel)
{
    run_shared(notify_program, NULL);
}

/* The leader writes between two barriers, everyone reads after the second. */
static asx_status meets(asx_cx *cx, struct member *m)
{
    struct crowd *c = m->crowd;
    for (; m->round < 2 * ROUNDS; m->round++) {
        bool leader = false;
        asx_status st = asx_barrier_wait(cx, &c->barrier, &leader);
        if (st < 0)
            return st;
        if (m->round % 2 == 0 && leader)
            c->plain++;
        if (m->round % 2 == 1)
            CHECK_EQ(c->plain, m->round / 2 + 1);
    }
    return ASX_OK;
}

static asx_status barrier_program(asx_cx *cx, void *arg)
{
    struct crowd c = { .plain = 0 };
    (void)arg;
    open_crowd(cx, &c);
    spawn_crowd(&c, meets);
    CHECK_STATUS(asx_region_close(&c.region, ASX_OK), ASX_OK);
    CHECK_EQ(c.plain, ROUNDS);
    return ASX_OK;
}

ASX_TEST(rounds_have_one_leader_in_parallel)
{
    run_shared(barrier_program, NULL);
}

static asx_status initialize(asx_cx *cx, void *arg)
{
    struct crowd *c = arg;
    if (c->twin++ < 2)
        return ASX_E_NOT_FOUND; /* twice in vain */
    asx_status st = asx_checkpoint(cx); /* with a context that is good inside */
    c->plain += 7;
    return st;
}

static asx_status needs(asx_cx *cx, struct member *m)
{
    asx_status st;
    do
        st = asx_once_call(cx, &m->crowd->once, initialize, m->crowd);
    while (st == ASX_E_NOT_FOUND);
    if (st == ASX_OK)
        CHECK_EQ(m->crowd->plain, 7);
    return st;
}

static asx_status once_program(asx_cx *cx, void *arg)
{
    struct crowd c = { .plain = 0 };
    (void)arg;
    open_crowd(cx, &c);
    spawn_crowd(&c, needs);
    CHECK_STATUS(asx_region_close(&c.region, ASX_OK), ASX_OK);
    CHECK_EQ(c.twin, 3);
    return ASX_OK;
}

ASX_TEST(an_initializer_succeeds_once_in_parallel)
{
    for (int i = 0; i < 20; i++)
        run_shared(once_program, NULL);
}

/* ---- channels of other shapes --------------------------------------------------------------- */

/* Pairs: an even member asks, its neighbour answers; they meet over plain memory of the asker. */
static asx_status asks_and_answers(asx_cx *cx, struct member *m)
{
    struct member *asker = &m->crowd->members[m->number & ~1u];
    uint64_t got = 0;
    if (m == asker) {
        asx_status st = asx_oneshot_recv(cx, &m->rx, &got);
        if (st < 0)
            return st;
        CHECK_EQ(got, m->seen * 2);
        return ASX_OK;
    }
    CHECK_STATUS(asx_oneshot_adopt(cx, &asker->tx), ASX_OK);
    asker->seen = m->number;
    got = asker->seen * 2;
    return asx_oneshot_send(&asker->tx, &got);
}

static asx_status oneshot_program(asx_cx *cx, void *arg)
{
    struct crowd c = { .plain = 0 };
    (void)arg;
    for (unsigned round = 0; round < 20; round++) {
        open_crowd(cx, &c);
        for (unsigned i = 0; i < TASKS; i += 2)
            CHECK_STATUS(asx_oneshot_create(&c.region, 8, NULL, &c.members[i].tx,
                                            &c.members[i].rx),
                         ASX_OK);
        spawn_crowd(&c, asks_and_answers);
        CHECK_STATUS(asx_region_close(&c.region, ASX_OK), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(answers_arrive_in_parallel)
{
    run_shared(oneshot_program, NULL);
}

static asx_status speaks_or_listens(asx_cx *cx, struct member *m)
{
    struct crowd *c = m->crowd;
    if (m->number == 0) {
        for (uint64_t i = 1; i <= ROUNDS; i++) {
            CHECK_STATUS(asx_broadcast_send(&c->broadcast, &i, NULL), ASX_OK);
            CHECK_STATUS(asx_watch_send(&c->watch, &i), ASX_OK);
            if (i % 8 == 0)
                CHECK_STATUS(asx_yield(cx), ASX_OK);
        }
        CHECK_STATUS(asx_watch_close(&c->watch), ASX_OK);
        return asx_broadcast_close(&c->broadcast);
    }
    for (;;) {
        uint64_t got = 0, missed = 0;
        asx_status st = m->number % 4 < 2
                            ? asx_broadcast_recv(cx, &m->receiver, &got, &missed)
                            : asx_watch_changed(cx, &c->watch, &m->seen, &got);
        if (st < 0 && st != ASX_E_LAGGED)
            return st == ASX_E_DISCONNECTED ? ASX_OK : st;
        CHECK(st == ASX_E_LAGGED || got > m->heard || m->seen == 1);
        m->heard = got > m->heard ? got : m->heard;
        m->missed += missed;
        m->round += st == ASX_OK;
    }
}

static asx_status news_program(asx_cx *cx, void *arg)
{
    struct crowd c = { .plain = 0 };
    (void)arg;
    open_crowd(cx, &c);
    for (unsigned i = 0; i < TASKS; i++)
        CHECK_STATUS(asx_broadcast_subscribe(&c.broadcast, &c.members[i].receiver), ASX_OK);
    spawn_crowd(&c, speaks_or_listens);
    CHECK_STATUS(asx_region_close(&c.region, ASX_OK), ASX_OK);
    for (unsigned i = 1; i < TASKS; i++) {
        CHECK_EQ(c.members[i].heard, ROUNDS);
        if (i % 4 < 2)
            CHECK_EQ(c.members[i].round + c.members[i].missed, ROUNDS);
    }
    return ASX_OK;
}

ASX_TEST(news_are_heard_or_missed_in_parallel)
{
    run_shared(news_program, NULL);
}
