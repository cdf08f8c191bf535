/* Data races on plain cells: what orders two accesses, and what does not. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdio.h>
#include <string.h>

#include "harness.h"

typedef enum way {
    NOTHING,        /* orders them */
    BOTH_READ,
    LOCK,
    WRONG_LOCK,     /* each has its own */
    FLAG,           /* an atomic store that the other one loads */
    FLAG_TOO_EARLY, /* stored before the data is written */
    SPIN_LOCK,      /* a cas */
    MESSAGE,
    MESSAGE_TOO_EARLY,
    MUTEX,
    CANCEL,         /* seen by the other one */
    ATOMIC_TOO,     /* the other one accesses it as an atomic cell */
    ATOMIC_WRITE,   /* it is written as an atomic cell */
    STORES,         /* both store into a flag, and none loads it */
    JOIN,           /* of the writer */
    AFTER_START,    /* who has started the reader writes */
    BEFORE_READER,  /* likewise, and before it */
    ONCE,           /* both call it, and it writes */
    ONCE_LOOK,      /* the reader looks whether it is done */
    ONCE_BESIDE,    /* ... but it does not write that */
    END,            /* the last sender is dropped after the write */
    END_TOO_EARLY,
    CLOSED,         /* the receiver is, by the writer */
    WAYS
} way;

static way how;
static int data, flag, spin;
static asx_lab_mutex locks[2];
static asx_mutex mutex;
static asx_channel_sender tx;
static asx_channel_receiver rx;
static asx_once once;
static asx_task reader_task, writer_task;
static int writer_line, reader_line;

static void take(asx_cx *cx, unsigned who, asx_mutex_guard *guard)
{
    if (how == LOCK || how == WRONG_LOCK)
        CHECK_STATUS(asx_lab_mutex_lock(cx, &locks[how == WRONG_LOCK ? who : 0]), ASX_OK);
    if (how == MUTEX)
        CHECK_STATUS(asx_mutex_lock(cx, &mutex, guard), ASX_OK);
}

static void give_back(asx_cx *cx, unsigned who, asx_mutex_guard *guard)
{
    if (how == LOCK || how == WRONG_LOCK)
        CHECK_STATUS(asx_lab_mutex_unlock(cx, &locks[how == WRONG_LOCK ? who : 0]), ASX_OK);
    if (how == MUTEX)
        CHECK_STATUS(asx_mutex_unlock(guard), ASX_OK);
}

static bool is_once(void)
{
    return how == ONCE || how == ONCE_LOOK || how == ONCE_BESIDE;
}

static asx_status writes(asx_cx *cx, void *arg)
{
    (void)arg;
    if (how != ONCE_BESIDE)
        asx_lab_write(cx, &data, 1);
    return asx_yield(cx); /* the other one may come and wait */
}

static asx_status writer(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    int message = 1;
    (void)arg;
    if (is_once())
        CHECK_STATUS(asx_once_call(cx, &once, writes, NULL), ASX_OK);
    if (how == ONCE || how == ONCE_LOOK)
        return ASX_OK;
    if (how == END_TOO_EARLY)
        asx_channel_sender_drop(&tx);
    take(cx, 0, &guard);
    if (how == SPIN_LOCK && !asx_lab_cas(cx, &spin, 0, 1))
        return ASX_OK;
    if (how == FLAG_TOO_EARLY)
        asx_lab_store(cx, &flag, 1);
    if (how == MESSAGE_TOO_EARLY)
        CHECK_STATUS(asx_channel_send(cx, &tx, &message), ASX_OK);
    if (how == AFTER_START || how == BEFORE_READER)
        return ASX_OK;
    writer_line = __LINE__ + 2;
    if (how != BOTH_READ && how != ATOMIC_WRITE)
        asx_lab_write(cx, &data, 1);
    else if (how == ATOMIC_WRITE)
        asx_lab_store(cx, &data, 1);
    else
        (void)asx_lab_read(cx, &data);
    if (how == FLAG || how == STORES)
        asx_lab_store(cx, &flag, 1);
    if (how == SPIN_LOCK)
        asx_lab_store(cx, &spin, 0);
    if (how == MESSAGE)
        CHECK_STATUS(asx_channel_send(cx, &tx, &message), ASX_OK);
    if (how == CANCEL)
        CHECK_STATUS(asx_task_cancel(&reader_task, NULL), ASX_OK);
    if (how == END)
        asx_channel_sender_drop(&tx);
    if (how == CLOSED)
        asx_channel_receiver_drop(&rx);
    give_back(cx, 0, &guard);
    return ASX_OK;
}

static asx_status reader(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    bool done = false;
    int message;
    (void)arg;
    if ((how == FLAG || how == FLAG_TOO_EARLY) && asx_lab_load(cx, &flag) == 0)
        return ASX_OK;
    if (how == SPIN_LOCK && !asx_lab_cas(cx, &spin, 0, 1))
        return ASX_OK;
    if (how == MESSAGE || how == MESSAGE_TOO_EARLY)
        CHECK_STATUS(asx_channel_recv(cx, &rx, &message), ASX_OK);
    if (how == ONCE || how == ONCE_BESIDE)
        CHECK_STATUS(asx_once_call(cx, &once, writes, NULL), ASX_OK);
    if (how == ONCE_LOOK && (asx_once_is_done(&once, &done) != ASX_OK || !done))
        return ASX_OK;
    if (how == END || how == END_TOO_EARLY)
        CHECK_STATUS(asx_channel_recv(cx, &rx, &message), ASX_E_DISCONNECTED);
    if (how == CLOSED && asx_channel_try_send(cx, &tx, &(int){ 1 }) != ASX_E_DISCONNECTED)
        return ASX_OK;
    if ((how == CANCEL && asx_checkpoint(cx) != ASX_E_CANCELLED) || how == JOIN)
        return ASX_OK;
    if (how == STORES)
        asx_lab_store(cx, &flag, 2);
    if (how == ATOMIC_WRITE)
        (void)asx_lab_load(cx, &spin); /* the write may come before it */
    take(cx, 1, &guard);
    reader_line = __LINE__ + 2;
    if (how != ATOMIC_TOO)
        (void)asx_lab_read(cx, &data);
    else
        (void)asx_lab_load(cx, &data);
    give_back(cx, 1, &guard);
    if (how == SPIN_LOCK)
        asx_lab_store(cx, &spin, 0);
    return ASX_OK;
}

static void two_tasks(asx_cx *cx, void *arg)
{
    asx_spawn_options options = { .name = "reader" };
    asx_region r;
    (void)arg;
    flag = spin = 0;
    memset(locks, 0, sizeof locks);
    if (how != AFTER_START)
        asx_lab_write(cx, &data, 0); /* the start orders this */
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    if (how == MUTEX)
        CHECK_STATUS(asx_mutex_create(&r, &(asx_mutex_options){ .name = "m" }, &mutex), ASX_OK);
    if (is_once())
        CHECK_STATUS(asx_once_create(&r, &(asx_once_options){ .name = "o" }, &once), ASX_OK);
    if (how == MESSAGE || how == MESSAGE_TOO_EARLY || how >= END)
        CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, reader, NULL, &options, &reader_task), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, writer, NULL, &options, &writer_task), ASX_OK);
    if (how == JOIN)
        CHECK_STATUS(asx_join(cx, &writer_task, NULL), ASX_OK);
    if (how == AFTER_START)
        CHECK_STATUS(asx_yield(cx), ASX_OK); /* the reader begins */
    if (how == JOIN || how == AFTER_START || how == BEFORE_READER)
        asx_lab_write(cx, &data, 5);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    asx_lab_write(cx, &data, 9); /* and the close this */
}

static char told[512];

static void on_failure(void *ctx, const asx_explore_failure *failure)
{
    (void)ctx;
    (void)snprintf(told, sizeof told, "%s: %s", failure->site, failure->text);
}

typedef struct lab_body {
    asx_lab_fn fn;
} lab_body;

static asx_status lab_main(asx_cx *cx, void *arg)
{
    ((lab_body *)arg)->fn(cx, NULL);
    return ASX_OK;
}

/* Does a run with this seed, without an explorer, show a race? */
static bool complains(asx_lab_fn fn, uint64_t seed)
{
    asx_lab_options options = { .seed = seed };
    lab_body body = { fn };
    asx_lab_result result;
    CHECK_STATUS(asx_lab_run(lab_main, &body, &options, &result), ASX_OK);
    bool complained = result.status == ASX_E_ORACLE;
    CHECK(complained == (result.complaint.oracle == ASX_ORACLE_DATA_RACE));
    if (complained)
        (void)snprintf(told, sizeof told, "%s", result.complaint.text);
    return complained;
}

static uint64_t executions;

static uint64_t races(way which, asx_explore_mode mode)
{
    asx_explore_options options = { .mode = mode, .on_failure = on_failure };
    asx_explore_result result;
    how = which;
    told[0] = '\0';
    CHECK_STATUS(asx_explore(two_tasks, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK(result.complete);
    executions = result.totals.executions;
    CHECK_GE(executions, 1);
    return result.totals.bugs;
}

static const bool racy[WAYS] = { [NOTHING] = true, [WRONG_LOCK] = true, [FLAG_TOO_EARLY] = true,
                                 [MESSAGE_TOO_EARLY] = true, [ATOMIC_TOO] = true,
                                 [ATOMIC_WRITE] = true, [STORES] = true, [AFTER_START] = true,
                                 [BEFORE_READER] = true, [ONCE_BESIDE] = true,
                                 [END_TOO_EARLY] = true };

ASX_TEST(plain_accesses_must_be_ordered_in_every_execution)
{
    for (way w = NOTHING; w < WAYS; w++) {
        if ((races(w, ASX_EXPLORE_OPTIMAL) != 0) != racy[w])
            asx_test_fail(__FILE__, __LINE__, "case %d: %s", (int)w, told);
        if (racy[w])
            CHECK(strncmp(told, "data-race: ", 11) == 0 && strstr(told, "task ") == NULL);
    }
}

/* One execution of each class is enough: all interleavings show the same races. */
ASX_TEST(every_execution_of_a_class_has_its_races)
{
    for (way w = NOTHING; w < WAYS; w++)
        CHECK_EQ(races(w, ASX_EXPLORE_OPTIMAL) != 0, races(w, ASX_EXPLORE_DFS) != 0);
}

/* Whichever of the two comes first. */
ASX_TEST(what_orders_nothing_orders_nothing_in_either_order)
{
    static const way ways[] = { NOTHING, ATOMIC_WRITE, STORES };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        uint64_t found = races(ways[i], ASX_EXPLORE_DFS);
        CHECK_EQ(found, executions);
    }
}

ASX_TEST(a_race_is_told_with_both_lines)
{
    char place[64];
    CHECK(races(NOTHING, ASX_EXPLORE_OPTIMAL) != 0);
    (void)snprintf(place, sizeof place, "test_races.c:%d", writer_line);
    CHECK(strstr(told, place) != NULL);
    (void)snprintf(place, sizeof place, "test_races.c:%d", reader_line);
    CHECK(strstr(told, place) != NULL);
}

/* Plain accesses are no operations: two tasks that do nothing else have one class. */
ASX_TEST(plain_accesses_are_not_scheduled)
{
    asx_explore_result result;
    how = BOTH_READ;
    CHECK_STATUS(asx_explore(two_tasks, NULL, NULL, &result), ASX_OK);
    CHECK_EQ(result.totals.executions, 1);
    CHECK_EQ(result.totals.steps, 0);
}

/* ---- objects that order ---------------------------------------------------------------------- */

typedef enum thing {
    RWLOCK,
    SEMAPHORE,
    CONDITION,
    NOTIFY,
    BARRIER,
    ONESHOT,
    WATCH,
    BROADCAST,
    MPMC,
    CHANNEL,
    THINGS
} thing;

static struct {
    thing which;
    bool ready, sends;
    int way, found;
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    asx_condition condition;
    asx_notify notify;
    asx_barrier barrier;
    asx_oneshot_sender one_tx;
    asx_oneshot_receiver one_rx;
    asx_watch watch;
    asx_broadcast cast;
    asx_broadcast_receiver cast_rx;
    asx_mpmc_sender many_tx;
    asx_mpmc_receiver many_rx;
    asx_channel_sender tx;
    asx_channel_receiver rx;
} by;

static void make(asx_region *r)
{
    int zero = 0;
    CHECK_STATUS(asx_mutex_create(r, NULL, &by.mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(r, NULL, &by.rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(r, 0, NULL, &by.semaphore), ASX_OK);
    CHECK_STATUS(asx_condition_create(r, NULL, &by.condition), ASX_OK);
    CHECK_STATUS(asx_notify_create(r, NULL, &by.notify), ASX_OK);
    CHECK_STATUS(asx_barrier_create(r, 2, NULL, &by.barrier), ASX_OK);
    CHECK_STATUS(asx_oneshot_create(r, sizeof(int), NULL, &by.one_tx, &by.one_rx), ASX_OK);
    CHECK_STATUS(asx_watch_create(r, sizeof(int), &zero, NULL, &by.watch), ASX_OK);
    CHECK_STATUS(asx_broadcast_create(r, sizeof(int), 1, NULL, &by.cast), ASX_OK);
    CHECK_STATUS(asx_broadcast_subscribe(&by.cast, &by.cast_rx), ASX_OK);
    CHECK_STATUS(asx_mpmc_create(r, sizeof(int), by.way != 3, NULL, &by.many_tx,
                                 &by.many_rx), ASX_OK);
    CHECK_STATUS(asx_channel_create(r, sizeof(int), 1, NULL, &by.tx, &by.rx), ASX_OK);
    by.ready = false;
}

static asx_status says_so(asx_cx *cx, void *arg)
{
    asx_rwlock_guard held = { 0 };
    asx_mutex_guard guard;
    int message = 1;
    (void)arg;
    if (by.which == RWLOCK)
        CHECK_STATUS(asx_rwlock_write(cx, &by.rwlock, &held), ASX_OK);
    asx_lab_write(cx, &data, 1);
    switch (by.which) {
    case RWLOCK:
        return asx_rwlock_unlock(&held);
    case SEMAPHORE:
        return asx_semaphore_add(&by.semaphore, 1);
    case CONDITION:
        CHECK_STATUS(asx_mutex_lock(cx, &by.mutex, &guard), ASX_OK);
        by.ready = true;
        CHECK_STATUS(asx_condition_signal(&by.condition), ASX_OK);
        return asx_mutex_unlock(&guard);
    case NOTIFY:
        return asx_notify_one(&by.notify);
    case BARRIER:
        return asx_barrier_wait(cx, &by.barrier, NULL);
    case ONESHOT:
        return asx_oneshot_send(&by.one_tx, &message);
    case WATCH:
        return asx_watch_send(&by.watch, &message);
    case BROADCAST:
        return asx_broadcast_send(&by.cast, &message, NULL);
    case MPMC:
        return asx_mpmc_send(cx, &by.many_tx, &message);
    default:
        return asx_channel_send(cx, &by.tx, &message);
    }
}

static asx_status wait_for_it(asx_cx *cx, asx_rwlock_guard *held)
{
    asx_mutex_guard guard;
    asx_semaphore_permit permit;
    uint64_t seen = 1;
    int message;
    switch (by.which) {
    case RWLOCK:
        return asx_rwlock_read(cx, &by.rwlock, held);
    case SEMAPHORE:
        return asx_semaphore_acquire(cx, &by.semaphore, 1, &permit);
    case CONDITION:
        CHECK_STATUS(asx_mutex_lock(cx, &by.mutex, &guard), ASX_OK);
        while (!by.ready)
            CHECK_STATUS(asx_condition_wait(cx, &by.condition, &guard), ASX_OK);
        return asx_mutex_unlock(&guard);
    case NOTIFY:
        return asx_notify_wait(cx, &by.notify);
    case BARRIER:
        return asx_barrier_wait(cx, &by.barrier, NULL);
    case ONESHOT:
        return asx_oneshot_recv(cx, &by.one_rx, &message);
    case WATCH:
        return asx_watch_changed(cx, &by.watch, &seen, &message);
    case BROADCAST:
        return asx_broadcast_recv(cx, &by.cast_rx, &message, NULL);
    case MPMC:
        return asx_mpmc_recv(cx, &by.many_rx, &message);
    default:
        return asx_channel_recv(cx, &by.rx, &message);
    }
}

static asx_status hears_of_it(asx_cx *cx, void *arg)
{
    asx_rwlock_guard held = { 0 };
    (void)arg;
    CHECK_STATUS(wait_for_it(cx, &held), ASX_OK);
    (void)asx_lab_read(cx, &data);
    return by.which == RWLOCK ? asx_rwlock_unlock(&held) : ASX_OK;
}

static void two_with_an_object(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    asx_lab_write(cx, &data, 0);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    make(&r);
    CHECK_STATUS(asx_spawn(&r, "reader", hears_of_it, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "writer", says_so, NULL), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
}

/* Explored, and in runs with so many seeds. Returns in how many somebody complained. */
static int complaints(asx_lab_fn fn)
{
    asx_explore_options options = { .on_failure = on_failure };
    asx_explore_result explored;
    int found = 0;
    told[0] = '\0';
    CHECK_STATUS(asx_explore(fn, NULL, &options, &explored), ASX_OK);
    CHECK_STATUS(explored.status, ASX_OK);
    CHECK(explored.complete);
    found += explored.totals.bugs != 0;
    for (uint64_t seed = 0; seed < 20; seed++)
        found += complains(fn, seed);
    return found;
}

ASX_TEST(every_object_orders_what_was_done_before_it)
{
    for (by.which = RWLOCK; by.which < THINGS; by.which++)
        if (complaints(two_with_an_object) != 0)
            asx_test_fail(__FILE__, __LINE__, "case %d: %s", (int)by.which, told);
}

/* ---- ends of objects, which are found ------------------------------------------------------- */

static asx_status end_it(void)
{
    switch (by.which) {
    case ONESHOT:
        return by.sends ? asx_oneshot_receiver_drop(&by.one_rx)
                        : asx_oneshot_sender_drop(&by.one_tx);
    case WATCH:
        return asx_watch_close(&by.watch);
    case BROADCAST:
        return asx_broadcast_close(&by.cast);
    case MPMC:
        return by.sends && by.way != 2 ? asx_mpmc_receiver_drop(&by.many_rx)
                                       : asx_mpmc_close(&by.many_tx);
    default:
        return by.sends ? asx_channel_receiver_drop(&by.rx) : asx_channel_sender_drop(&by.tx);
    }
}

static asx_status ends_it(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_lab_write(cx, &data, 1);
    (void)end_it(); /* the other one may have closed it */
    return ASX_OK;
}

static asx_status send_to_channel(asx_cx *cx)
{
    asx_send_permit permit;
    int message = 1;
    bool did;
    asx_status st = ASX_OK;
    switch (by.way) {
    case 0: /* there is room for one */
        st = asx_channel_send(cx, &by.tx, &message);
        return st == ASX_OK ? asx_channel_send(cx, &by.tx, &message) : st;
    case 1:
        return asx_channel_try_send(cx, &by.tx, &message);
    case 2:
        return asx_channel_send_evict_oldest(cx, &by.tx, &message, NULL, &did);
    default:
        st = asx_channel_try_reserve(cx, &by.tx, &permit);
        if (st == ASX_OK && by.way == 4)
            return asx_send_permit_send(&permit, &message);
        if (st == ASX_OK)
            CHECK_STATUS(asx_send_permit_abort(&permit), ASX_OK);
        return st;
    }
}

static asx_status send_to_it(asx_cx *cx)
{
    int message = 1;
    asx_status st = ASX_OK;
    switch (by.which) {
    case ONESHOT:
        return asx_oneshot_send(&by.one_tx, &message);
    case WATCH:
        return by.way == 0 ? asx_watch_send(&by.watch, &message) : asx_watch_close(&by.watch);
    case BROADCAST:
        return by.way == 0 ? asx_broadcast_send(&by.cast, &message, NULL)
                           : asx_broadcast_close(&by.cast);
    case MPMC:
        for (int i = 0; i < 2 && by.way != 1 && st == ASX_OK; i++)
            st = asx_mpmc_send(cx, &by.many_tx, &message);
        return by.way == 1 ? asx_mpmc_try_send(cx, &by.many_tx, &message) : st;
    default:
        return send_to_channel(cx);
    }
}

static asx_status receive_from_it(asx_cx *cx)
{
    asx_broadcast_receiver again;
    asx_rwlock_guard held;
    asx_ack ack;
    int message;
    if (by.way == 0 || by.which == WATCH)
        return wait_for_it(cx, &held);
    switch (by.which) {
    case ONESHOT:
        return asx_oneshot_try_recv(cx, &by.one_rx, &message);
    case BROADCAST:
        return by.way == 1 ? asx_broadcast_try_recv(cx, &by.cast_rx, &message, NULL)
                           : asx_broadcast_subscribe(&by.cast, &again);
    case MPMC:
        return asx_mpmc_try_recv(cx, &by.many_rx, &message);
    default:
        return by.way == 1 ? asx_channel_try_recv(cx, &by.rx, &message)
                           : asx_channel_recv_with_ack(cx, &by.rx, &message, &ack);
    }
}

static asx_status finds_it(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = by.sends ? send_to_it(cx) : receive_from_it(cx);
    if (st == ASX_E_DISCONNECTED || st == ASX_E_CLOSED) {
        by.found++;
        (void)asx_lab_read(cx, &data);
    }
    return ASX_OK;
}

static void two_with_an_end(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    asx_lab_write(cx, &data, 0);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    make(&r);
    CHECK_STATUS(asx_spawn(&r, "finds", finds_it, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "ends", ends_it, NULL), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(the_end_of_an_object_orders_what_was_done_before_it)
{
    for (by.which = ONESHOT; by.which < THINGS; by.which++)
        for (int i = 0; i < 2 * 5; i++) {
            by.sends = i % 2 != 0;
            by.way = i / 2;
            by.found = 0;
            int found = complaints(two_with_an_end);
            if (found != 0 || by.found == 0)
                asx_test_fail(__FILE__, __LINE__, "case %d, %d: %d, %s", (int)by.which, i,
                              by.found, told);
        }
}

/* ---- wakers --------------------------------------------------------------------------------- */

static asx_waker waker;
static bool wakes_too_early;

static asx_status wakes(asx_cx *cx, void *arg)
{
    (void)arg;
    if (wakes_too_early)
        waker.wake(waker.arg);
    asx_lab_write(cx, &data, 1);
    if (!wakes_too_early)
        waker.wake(waker.arg);
    return ASX_OK;
}

static void is_woken(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "wakes", wakes, NULL), ASX_OK);
    CHECK_STATUS(asx_wait_external(cx), ASX_OK);
    asx_lab_write(cx, &data, 2);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_waker_orders_what_was_done_before_it)
{
    wakes_too_early = false;
    CHECK_EQ(complaints(is_woken), 0);
    wakes_too_early = true;
    CHECK_GE(complaints(is_woken), 2);
}

/* ---- a lab run, without an explorer ---------------------------------------------------------- */

ASX_TEST(a_lab_run_sees_them_too)
{
    for (how = NOTHING; how < WAYS; how++) {
        int found = 0;
        for (uint64_t seed = 0; seed < 40; seed++)
            found += complains(two_tasks, seed);
        if ((found != 0) != racy[how])
            asx_test_fail(__FILE__, __LINE__, "case %d: %s", (int)how, told);
    }
}
