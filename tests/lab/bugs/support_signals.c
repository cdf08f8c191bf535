/* Bugs of those who use the smaller objects: a condition, a barrier, a once, a broadcast, a
 * watch. */
#include "support_bugs.h"

static bool bad;
static int ready, stopped, begun;
static asx_mutex mutex;
static asx_condition condition;
static asx_barrier barrier;
static asx_once once;
static asx_broadcast news;
static asx_broadcast_receiver reader;
static asx_watch level;
static asx_task loader_task;

#define GOOD(call) asx_lab_check(cx, (call) >= 0)

static void fresh(bool with_bug)
{
    bad = with_bug;
    ready = stopped = begun = 0;
}

/* The objects live in a region around that of the tasks. */
static void open_room(asx_cx *cx, asx_region *ret_room)
{
    int none = 0;
    GOOD(asx_region_open(cx, NULL, ret_room));
    GOOD(asx_mutex_create(ret_room, &(asx_mutex_options){ .name = "mutex" }, &mutex));
    GOOD(asx_condition_create(ret_room, &(asx_condition_options){ .name = "condition" },
                              &condition));
    GOOD(asx_barrier_create(ret_room, 2, &(asx_barrier_options){ .name = "barrier" }, &barrier));
    GOOD(asx_once_create(ret_room, &(asx_once_options){ .name = "once" }, &once));
    GOOD(asx_broadcast_create(ret_room, sizeof(int), 1, &(asx_broadcast_options){ .name = "news" },
                              &news));
    GOOD(asx_broadcast_subscribe(&news, &reader));
    GOOD(asx_watch_create(ret_room, sizeof none, &none, &(asx_watch_options){ .name = "level" },
                          &level));
}

#define IN_ROOM(...)                                                                               \
    asx_region room;                                                                               \
    open_room(cx, &room);                                                                          \
    __VA_ARGS__;                                                                                   \
    GOOD(asx_region_close(&room, ASX_OK))

/* ---- looks without the lock, then waits for a signal that has been given --------------------- */

static asx_status waits_for_ready(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    if (bad && asx_lab_load(cx, &ready) != 0)
        return ASX_OK;
    GOOD(asx_mutex_lock(cx, &mutex, &guard));
    if (bad)
        GOOD(asx_condition_wait(cx, &condition, &guard));
    while (!bad && asx_lab_load(cx, &ready) == 0)
        GOOD(asx_condition_wait(cx, &condition, &guard));
    return asx_mutex_unlock(&guard);
}

static asx_status makes_ready(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    GOOD(asx_mutex_lock(cx, &mutex, &guard));
    asx_lab_store(cx, &ready, 1);
    GOOD(asx_condition_signal(&condition));
    return asx_mutex_unlock(&guard);
}

BUG(signal_is_lost, fresh,
    IN_ROOM(PLAY(cx, { "waiter", waits_for_ready, 1 }, { "signaller", makes_ready, 1 })))

/* ---- who is told to stop does not come, and the other waits for him -------------------------- */

static asx_status works_in_rounds(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int round = 0; round < 2; round++) {
        if (bad && asx_lab_load(cx, &stopped) != 0)
            return ASX_OK;
        GOOD(asx_barrier_wait(cx, &barrier, NULL));
    }
    return ASX_OK;
}

static asx_status stops_them(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_lab_store(cx, &stopped, 1);
    return ASX_OK;
}

BUG(barrier_with_too_few, fresh,
    IN_ROOM(PLAY(cx, { "worker", works_in_rounds, 2 }, { "stop", stops_them, 1 })))

/* ---- an initializer that is cancelled is run again, from its beginning ----------------------- */

static asx_status loads(asx_cx *cx, void *arg)
{
    (void)arg;
    if (bad)
        begun++;
    asx_status st = asx_checkpoint(cx);
    if (st < 0)
        return st;
    if (!bad)
        begun++;
    return ASX_OK;
}

static asx_status uses(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = asx_once_call(cx, &once, loads, NULL);
    if (st == ASX_OK)
        asx_lab_check(cx, begun == 1);
    return st;
}

static asx_status cancels_loader(asx_cx *cx, void *arg)
{
    (void)arg;
    GOOD(asx_task_cancel(&loader_task, NULL));
    return ASX_OK;
}

static void load(asx_cx *cx)
{
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    asx_region r;
    GOOD(asx_region_open(cx, &options, &r));
    GOOD(asx_spawn_task(&r, uses, NULL, &(asx_spawn_options){ .name = "loader" }, &loader_task));
    GOOD(asx_spawn(&r, "user", uses, NULL));
    GOOD(asx_spawn(&r, "canceller", cancels_loader, NULL));
    asx_status st = asx_region_close(&r, ASX_OK);
    asx_lab_check(cx, st == ASX_OK || st == ASX_E_CANCELLED);
}

BUG(initializer_is_cancelled, fresh, IN_ROOM(load(cx)))

/* ---- a receiver that was too slow takes what it has for all there was ------------------------ */

static asx_status sends_news(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++)
        GOOD(asx_broadcast_send(&news, &i, NULL));
    return asx_broadcast_close(&news);
}

static asx_status counts_news(asx_cx *cx, void *arg)
{
    int value, count = 0;
    uint64_t missed;
    asx_status st = ASX_OK;
    (void)arg;
    while (st != ASX_E_DISCONNECTED) {
        st = asx_broadcast_recv(cx, &reader, &value, &missed);
        if (st == ASX_OK)
            count++;
        else if (st == ASX_E_LAGGED && !bad)
            count += (int)missed;
    }
    asx_lab_check(cx, count == 2);
    return ASX_OK;
}

BUG(receiver_lags, fresh,
    IN_ROOM(PLAY(cx, { "sender", sends_news, 1 }, { "receiver", counts_news, 1 })))

/* ---- waits for a value that was there, and is not the newest --------------------------------- */

static asx_status raises_level(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 1; i <= 2; i++)
        GOOD(asx_watch_send(&level, &i));
    return ASX_OK;
}

static asx_status waits_for_one(asx_cx *cx, void *arg)
{
    uint64_t seen = 0;
    int value = 0;
    (void)arg;
    while (bad ? value != 1 : value < 1)
        GOOD(asx_watch_changed(cx, &level, &seen, &value));
    return ASX_OK;
}

BUG(value_is_missed, fresh,
    IN_ROOM(PLAY(cx, { "setter", raises_level, 1 }, { "waiter", waits_for_one, 1 })))
