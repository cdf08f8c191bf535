/* Three tasks that do the same sort of thing, as support_kinds.c has them, with the rest of what
 * the library offers: broadcasts, receivers that share a channel, also one of capacity 0 or 2,
 * permits that are given back, acks, evictions, read-write locks, conditions, notifications,
 * watches, oneshots and regions in a row, time on the other clock, deadlines. */
#ifndef ASX_LAB
#define ASX_LAB 1
#endif
#include "support_frame.h"
#include "support_kinds.h"

enum { ONESHOTS = 512 };

static asx_oneshot_sender shot_tx[ONESHOTS];
static asx_oneshot_receiver shot_rx[ONESHOTS];

/* ---- broadcasts ----------------------------------------------------------------------------- */

static asx_status tells(asx_cx *cx, void *arg)
{
    shared *s = arg;
    (void)cx;
    RETURN_EACH(s->steps / 3, asx_broadcast_send(&s->broadcast, &i, NULL));
}

static asx_status asks(asx_cx *cx, shared *s, int me)
{
    int message;
    for (int i = 0; i < s->steps / 3; i++)
        (void)asx_broadcast_try_recv(cx, &s->heard[me], &message, NULL);
    return ASX_OK;
}

static asx_status asks_0(asx_cx *cx, void *arg) { return asks(cx, arg, 0); }
static asx_status asks_1(asx_cx *cx, void *arg) { return asks(cx, arg, 1); }

static void broadcast(asx_cx *cx, const int *steps, asx_task_fn a, asx_task_fn b, asx_task_fn c)
{
    asx_region r;
    shared s;
    begin(cx, &s, steps, &r);
    asx_lab_check(cx, asx_broadcast_create(&r, sizeof(int), (size_t)s.steps,
                                           &(asx_broadcast_options){ .name = "news" },
                                           &s.broadcast) == ASX_OK);
    for (int i = 0; i < 2; i++)
        asx_lab_check(cx, asx_broadcast_subscribe(&s.broadcast, &s.heard[i]) == ASX_OK);
    run(cx, &r, &s, a, b, c);
}

static void kind_asked(asx_cx *cx, void *arg) { broadcast(cx, arg, tells, asks_0, asks_1); }

/* ---- channels of many receivers ------------------------------------------------------------- */

static asx_status gives_more(asx_cx *cx, void *arg)
{
    shared *s = arg;
    return send_some_to_any(cx, s, s->steps / 2);
}

static asx_status takes(asx_cx *cx, void *arg)
{
    shared *s = arg;
    int message;
    RETURN_EACH(s->steps / 4, asx_mpmc_recv(cx, &s->any_rx, &message));
}

static void kind_looks(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_on_any(cx, steps, *steps, gives, looks_for_any, looks_for_any);
}

static void kind_takes(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_on_any(cx, steps, *steps, gives_more, takes, takes);
}

static void kind_handed(asx_cx *cx, void *arg) { run_on_any(cx, arg, 0, gives_more, takes, takes); }

static void kind_narrow(asx_cx *cx, void *arg) { run_on_any(cx, arg, 2, gives_more, takes, takes); }

/* ---- channels ------------------------------------------------------------------------------- */

static asx_status sends(asx_cx *cx, void *arg)
{
    shared *s = arg;
    return send_some(cx, s, s->steps / 4);
}

static asx_status reserves(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps / 6 && st >= 0; i++) {
        asx_send_permit permit;
        st = asx_channel_reserve(cx, &s->tx, &permit);
        if (st >= 0)
            st = i % 2 != 0 ? asx_send_permit_abort(&permit) : asx_send_permit_send(&permit, &i);
    }
    return st;
}

static void kind_reserves(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_on_channel(cx, steps, *steps, reserves, reserves, looks);
}

static asx_status acks(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    int message;
    for (int i = 0; i < s->steps / 4 * 2 && st >= 0; i++) {
        asx_ack ack;
        st = asx_channel_recv_with_ack(cx, &s->rx, &message, &ack);
        if (st >= 0)
            st = asx_ack_commit(&ack);
    }
    return st;
}

static void kind_acks(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_on_channel(cx, steps, *steps, sends, sends, acks);
}

static asx_status evicts(asx_cx *cx, void *arg)
{
    shared *s = arg;
    bool did;
    RETURN_EACH(s->steps / 3, asx_channel_send_evict_oldest(cx, &s->tx, &i, NULL, &did));
}

static void kind_evicts(asx_cx *cx, void *arg)
{
    run_on_channel(cx, arg, 2, evicts, evicts, looks);
}

static asx_status swaps(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = asx_channel_send(cx, &s->tx, &s->steps);
    for (int i = 0; i < s->steps / 3; i++)
        (void)asx_lab_cas(cx, &cells[i % 2], i / 2, i / 2 + 1);
    return st;
}

static void kind_swaps(asx_cx *cx, void *arg) { run_on_channel(cx, arg, 3, swaps, swaps, swaps); }

/* ---- locks and queues ----------------------------------------------------------------------- */

static asx_status reads(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps / 6 && st >= 0; i++) {
        asx_rwlock_guard guard;
        st = asx_rwlock_read(cx, &s->rwlock, &guard);
        if (st >= 0)
            st = asx_rwlock_unlock(&guard);
    }
    return st;
}

static asx_status writes(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps / 6 && st >= 0; i++) {
        asx_rwlock_guard guard;
        st = asx_rwlock_write(cx, &s->rwlock, &guard);
        if (st >= 0)
            st = asx_rwlock_unlock(&guard);
    }
    return st;
}

static asx_status tries_to_read(asx_cx *cx, void *arg)
{
    shared *s = arg;
    for (int i = 0; i < s->steps / 3; i++) {
        asx_rwlock_guard guard;
        if (asx_rwlock_try_read(cx, &s->rwlock, &guard) == ASX_OK)
            (void)asx_rwlock_unlock(&guard);
    }
    return ASX_OK;
}

static void rwlock(asx_cx *cx, const int *steps, asx_task_fn a, asx_task_fn b, asx_task_fn c)
{
    asx_region r;
    shared s;
    begin(cx, &s, steps, &r);
    asx_lab_check(cx, asx_rwlock_create(&r, &(asx_rwlock_options){ .name = "rwlock" },
                                        &s.rwlock) == ASX_OK);
    run(cx, &r, &s, a, b, c);
}

static void kind_reads(asx_cx *cx, void *arg) { rwlock(cx, arg, reads, reads, writes); }
static void kind_try_reads(asx_cx *cx, void *arg)
{
    rwlock(cx, arg, tries_to_read, tries_to_read, writes);
}

static asx_status notifies(asx_cx *cx, void *arg)
{
    shared *s = arg;
    (void)cx;
    RETURN_EACH(s->steps / 2, asx_notify_one(&s->notify));
}

static asx_status pings(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps / 3 && st >= 0; i++) {
        st = asx_notify_one(&s->notify);
        if (st >= 0)
            st = asx_notify_wait(cx, &s->notify);
    }
    return st < 0 ? st : asx_notify_one(&s->notify);
}

static void kind_pings(asx_cx *cx, void *arg)
{
    asx_region r;
    shared s;
    begin(cx, &s, arg, &r);
    asx_lab_check(cx, asx_notify_create(&r, &(asx_notify_options){ .name = "notify" },
                                        &s.notify) == ASX_OK);
    run(cx, &r, &s, pings, pings, notifies);
}

static asx_status fills(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps / 8 && st >= 0; i++) {
        asx_mutex_guard guard;
        st = asx_mutex_lock(cx, &s->mutex, &guard);
        if (st < 0)
            break;
        s->ready++;
        st = asx_condition_signal(&s->condition);
        asx_status unlocked = asx_mutex_unlock(&guard);
        st = st < 0 ? st : unlocked;
    }
    return st;
}

static asx_status empties(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps / 8 * 2 && st >= 0; i++) {
        asx_mutex_guard guard;
        st = asx_mutex_lock(cx, &s->mutex, &guard);
        if (st < 0)
            break;
        while (s->ready == 0 && st >= 0)
            st = asx_condition_wait(cx, &s->condition, &guard);
        s->ready--;
        asx_status unlocked = asx_mutex_unlock(&guard);
        st = st < 0 ? st : unlocked;
    }
    return st;
}

static void kind_conditions(asx_cx *cx, void *arg)
{
    asx_region r;
    shared s;
    begin(cx, &s, arg, &r);
    asx_lab_check(cx, asx_mutex_create(&r, &(asx_mutex_options){ .name = "mutex" },
                                       &s.mutex) == ASX_OK);
    asx_lab_check(cx, asx_condition_create(&r, &(asx_condition_options){ .name = "condition" },
                                           &s.condition) == ASX_OK);
    run(cx, &r, &s, fills, fills, empties);
}

/* ---- values --------------------------------------------------------------------------------- */

static asx_status sets(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    (void)cx;
    for (int i = 0; i < s->steps / 3 && st >= 0; i++)
        st = asx_watch_send(&s->watch, &i);
    return st < 0 ? st : asx_watch_close(&s->watch);
}

static asx_status watches(asx_cx *cx, void *arg)
{
    shared *s = arg;
    uint64_t seen = 0;
    int value;
    while (asx_watch_changed(cx, &s->watch, &seen, &value) >= 0)
        (void)asx_lab_load(cx, &cells[0]);
    for (int i = 0; i < s->steps / 3; i++)
        (void)asx_watch_get(&s->watch, &value, NULL);
    return ASX_OK;
}

static void kind_watches(asx_cx *cx, void *arg)
{
    asx_region r;
    shared s;
    int first = 0;
    begin(cx, &s, arg, &r);
    asx_lab_check(cx, asx_watch_create(&r, sizeof(int), &first,
                                       &(asx_watch_options){ .name = "watch" },
                                       &s.watch) == ASX_OK);
    run(cx, &r, &s, sets, watches, watches);
}

static asx_status shoots(asx_cx *cx, void *arg)
{
    shared *s = arg;
    (void)cx;
    RETURN_EACH(s->steps / 2, asx_oneshot_send(&shot_tx[i], &i));
}

static asx_status is_shot(asx_cx *cx, shared *s, int from)
{
    asx_status st = ASX_OK;
    int value;
    for (int i = from; i < s->steps / 2 && st >= 0; i += 2) {
        st = asx_oneshot_recv(cx, &shot_rx[i], &value);
        (void)asx_lab_fetch_add(cx, &cells[0], 1);
    }
    return st;
}

static asx_status is_shot_0(asx_cx *cx, void *arg) { return is_shot(cx, arg, 0); }
static asx_status is_shot_1(asx_cx *cx, void *arg) { return is_shot(cx, arg, 1); }

static void kind_shots(asx_cx *cx, void *arg)
{
    asx_region r;
    shared s;
    begin(cx, &s, arg, &r);
    for (int i = 0; i < s.steps / 2; i++)
        asx_lab_check(cx, asx_oneshot_create(&r, sizeof(int), NULL, &shot_tx[i], &shot_rx[i]) ==
                              ASX_OK);
    run(cx, &r, &s, shoots, is_shot_0, is_shot_1);
}

/* ---- regions, tasks, time ------------------------------------------------------------------- */

static asx_status opens(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps / 3 && st >= 0; i++) {
        asx_region r;
        st = asx_region_open(cx, NULL, &r);
        if (st < 0)
            break;
        (void)asx_lab_fetch_add(cx, &cells[0], 1);
        st = asx_region_close(&r, ASX_OK);
    }
    return st;
}

static void kind_regions(asx_cx *cx, void *arg)
{
    run_alone(cx, arg, opens, opens, opens);
}

static asx_status naps(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps / 6 && st >= 0; i++) {
        st = asx_sleep(cx, 10);
        (void)asx_lab_fetch_add(cx, &cells[0], 1);
    }
    return st;
}

static void kind_naps(asx_cx *cx, void *arg)
{
    run_alone(cx, arg, naps, naps, naps);
}

static void kind_deadlines(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_on_channel(cx, steps, *steps, sends, sends, waits_a_bit);
}

const lab_kind lab_sync_kinds[LAB_SYNC_KINDS] = {
    { "asked", kind_asked, ASX_EXPLORE_QUIESCENT },
    { "looks", kind_looks, ASX_EXPLORE_QUIESCENT },
    { "takes", kind_takes, ASX_EXPLORE_QUIESCENT },
    { "handed", kind_handed, ASX_EXPLORE_QUIESCENT },
    { "narrow", kind_narrow, ASX_EXPLORE_QUIESCENT },
    { "reserves", kind_reserves, ASX_EXPLORE_QUIESCENT },
    { "acks", kind_acks, ASX_EXPLORE_QUIESCENT },
    { "evicts", kind_evicts, ASX_EXPLORE_QUIESCENT },
    { "swaps", kind_swaps, ASX_EXPLORE_QUIESCENT },
    { "reads", kind_reads, ASX_EXPLORE_QUIESCENT },
    { "try_reads", kind_try_reads, ASX_EXPLORE_QUIESCENT },
    { "pings", kind_pings, ASX_EXPLORE_QUIESCENT },
    { "conditions", kind_conditions, ASX_EXPLORE_QUIESCENT },
    { "watches", kind_watches, ASX_EXPLORE_QUIESCENT },
    { "shots", kind_shots, ASX_EXPLORE_QUIESCENT },
    { "regions", kind_regions, ASX_EXPLORE_QUIESCENT },
    { "naps_any", kind_naps, ASX_EXPLORE_ADVERSARIAL },
    { "deadlines", kind_deadlines, ASX_EXPLORE_QUIESCENT },
};
