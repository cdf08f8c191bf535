/* See support_mixed.h. */
#define ASX_LAB 1
#include "support_mixed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "lab/dpor/internal.h"
#include "lab/explore/explore.h"

static const char *const names[] = {
#define NAME(name) #name,
    MIXED_CALL_LIST(NAME)
#undef NAME
};

typedef struct world {
    mixed_program *p;
    asx_region home, region, inner, limited;
    asx_lab_object gate;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_mpmc_sender many_tx;
    asx_mpmc_receiver many_rx;
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    asx_condition condition;
    asx_barrier barrier;
    asx_notify notify;
    asx_once once;
    asx_oneshot_sender one_tx;
    asx_oneshot_receiver one_rx;
    asx_watch watch;
    asx_broadcast cast;
    asx_broadcast_receiver cast_rx[MIXED_TASKS];
    asx_lab_mutex lab_mutex;
    asx_lab_semaphore units;
    asx_task task[MIXED_TASKS];
    int x, runs[3], failures;
} world;

typedef struct actor {
    world *w;
    int number;
    uint64_t history; /* what it has seen */
    int helped;
} actor;

static world the_world;
static actor actors[MIXED_TASKS + 1]; /* the last is the test itself */
enum { HELPERS = 12 };
static actor helpers[MIXED_TASKS + 1][HELPERS];

static void see(actor *a, uint64_t value)
{
    a->history = asx__hash_absorb(a->history, value + 1);
}

static asx_status told(actor *a, asx_status st)
{
    see(a, (uint64_t)(int64_t)st);
    return st;
}

/* ---- channels ------------------------------------------------------------------------------- */

static asx_status receive(asx_cx *cx, actor *a)
{
    int message = -1;
    asx_status st = asx_channel_recv(cx, &a->w->rx, &message);
    see(a, (uint64_t)(int64_t)message);
    return told(a, st);
}

static asx_status send_one(asx_cx *cx, actor *a)
{
    int message = a->number;
    return told(a, asx_channel_send(cx, &a->w->tx, &message));
}

static asx_status reserve(asx_cx *cx, actor *a, int then)
{
    asx_send_permit permit;
    int message = 10 + a->number;
    asx_status st = told(a, asx_channel_reserve(cx, &a->w->tx, &permit));
    if (st < 0 || then == MIXED_RESERVE_KEEP)
        return st;
    return told(a, then == MIXED_RESERVE_SEND ? asx_send_permit_send(&permit, &message)
                                              : asx_send_permit_abort(&permit));
}

static asx_status receive_with_ack(asx_cx *cx, actor *a, int then)
{
    asx_ack ack;
    int message = -1;
    asx_status st = told(a, asx_channel_recv_with_ack(cx, &a->w->rx, &message, &ack));
    see(a, (uint64_t)(int64_t)message);
    if (st < 0 || then == MIXED_ACK_KEEP)
        return st;
    return told(a, then == MIXED_ACK ? asx_ack_commit(&ack) : asx_ack_nack(&ack));
}

static asx_status clone_sender(asx_cx *cx, actor *a)
{
    asx_channel_sender other;
    int message = 20 + a->number;
    asx_status st = told(a, asx_channel_sender_clone(&a->w->tx, &other));
    if (st < 0)
        return st;
    st = told(a, asx_channel_try_send(cx, &other, &message));
    (void)told(a, asx_channel_sender_drop(&other));
    return st;
}

static asx_status channel_call(asx_cx *cx, actor *a, int code)
{
    world *w = a->w;
    int message = 30 + a->number;
    bool evicted = false;
    asx_status st;
    switch (code) {
    case MIXED_SEND:
        return send_one(cx, a);
    case MIXED_RECV:
        return receive(cx, a);
    case MIXED_TRY_SEND:
        return told(a, asx_channel_try_send(cx, &w->tx, &message));
    case MIXED_TRY_RECV:
        st = told(a, asx_channel_try_recv(cx, &w->rx, &message));
        see(a, (uint64_t)(int64_t)message);
        return st;
    case MIXED_EVICT:
        st = told(a, asx_channel_send_evict_oldest(cx, &w->tx, &message, NULL, &evicted));
        see(a, evicted);
        return st;
    case MIXED_DROP_SENDER:
        return told(a, asx_channel_sender_drop(&w->tx));
    case MIXED_DROP_RECEIVER:
        return told(a, asx_channel_receiver_drop(&w->rx));
    case MIXED_CLONE:
        return clone_sender(cx, a);
    case MIXED_ACK:
    case MIXED_NACK:
    case MIXED_ACK_KEEP:
        return receive_with_ack(cx, a, code);
    default:
        return reserve(cx, a, code);
    }
}

static asx_status many_call(asx_cx *cx, actor *a, int code)
{
    world *w = a->w;
    int message = 40 + a->number;
    asx_status st;
    switch (code) {
    case MIXED_MANY_SEND:
        return told(a, asx_mpmc_send(cx, &w->many_tx, &message));
    case MIXED_MANY_TRY_SEND:
        return told(a, asx_mpmc_try_send(cx, &w->many_tx, &message));
    case MIXED_MANY_CLOSE:
        return told(a, asx_mpmc_close(&w->many_tx));
    case MIXED_MANY_DROP:
        return told(a, asx_mpmc_receiver_drop(&w->many_rx));
    case MIXED_MANY_RECV:
        st = told(a, asx_mpmc_recv(cx, &w->many_rx, &message));
        break;
    default:
        st = told(a, asx_mpmc_try_recv(cx, &w->many_rx, &message));
        break;
    }
    see(a, (uint64_t)(int64_t)message);
    return st;
}

/* ---- locks and the like --------------------------------------------------------------------- */

/* What the lock protects, touched without an operation. */
static void touch(actor *a, int which)
{
    int *value = &a->w->runs[which];
    see(a, (uint64_t)*value);
    *value = *value * 3 + a->number + 1;
}

static asx_status lock(asx_cx *cx, actor *a, int code)
{
    asx_mutex_guard guard;
    asx_status st = told(a, code == MIXED_TRY_LOCK ? asx_mutex_try_lock(cx, &a->w->mutex, &guard)
                                                   : asx_mutex_lock(cx, &a->w->mutex, &guard));
    if (st < 0 || code == MIXED_LOCK_KEEP)
        return st;
    touch(a, 0);
    if (code == MIXED_WAIT_CONDITION)
        st = told(a, asx_condition_wait(cx, &a->w->condition, &guard));
    asx_status unlocked = told(a, asx_mutex_unlock(&guard));
    return st < 0 ? st : unlocked;
}

static asx_status read_write(asx_cx *cx, actor *a, int code)
{
    asx_rwlock_guard guard, second;
    const asx_rwlock *l = &a->w->rwlock;
    asx_status st = told(a, code == MIXED_READ || code == MIXED_READ_TWICE
                                ? asx_rwlock_read(cx, l, &guard)
                            : code == MIXED_WRITE     ? asx_rwlock_write(cx, l, &guard)
                            : code == MIXED_TRY_READ ? asx_rwlock_try_read(cx, l, &guard)
                                                      : asx_rwlock_try_write(cx, l, &guard));
    if (st < 0)
        return st;
    if (code == MIXED_READ_TWICE) {
        st = told(a, asx_rwlock_read(cx, l, &second));
        if (st == ASX_OK)
            (void)told(a, asx_rwlock_unlock(&second));
    }
    (void)told(a, asx_rwlock_unlock(&guard));
    return st;
}

static asx_status acquire(asx_cx *cx, actor *a, int code)
{
    asx_semaphore_permit permit;
    const asx_semaphore *s = &a->w->semaphore;
    if (code == MIXED_ADD)
        return told(a, asx_semaphore_add(s, 1));
    asx_status st = told(a, code == MIXED_ACQUIRE ? asx_semaphore_acquire(cx, s, 1, &permit)
                                                  : asx_semaphore_try_acquire(cx, s, 1, &permit));
    if (st < 0)
        return st;
    return told(a, asx_semaphore_release(&permit));
}

static asx_status initialize(asx_cx *cx, void *arg)
{
    actor *a = arg;
    (void)cx;
    touch(a, 1);
    return ++a->w->failures == 1 ? ASX_E_NOT_FOUND : ASX_OK;
}

static asx_status initialize_slowly(asx_cx *cx, void *arg)
{
    return receive(cx, arg);
}

static asx_status lock_call(asx_cx *cx, actor *a, int code)
{
    world *w = a->w;
    bool leads = false;
    asx_status st;
    switch (code) {
    case MIXED_LOCK:
    case MIXED_TRY_LOCK:
    case MIXED_LOCK_KEEP:
    case MIXED_WAIT_CONDITION:
        return lock(cx, a, code);
    case MIXED_ACQUIRE:
    case MIXED_TRY_ACQUIRE:
    case MIXED_ADD:
        return acquire(cx, a, code);
    case MIXED_SIGNAL:
        return told(a, asx_condition_signal(&w->condition));
    case MIXED_SIGNAL_ALL:
        return told(a, asx_condition_broadcast(&w->condition));
    case MIXED_BARRIER:
        st = told(a, asx_barrier_wait(cx, &w->barrier, &leads));
        see(a, leads);
        return st;
    case MIXED_WAIT_NOTIFY:
        return told(a, asx_notify_wait(cx, &w->notify));
    case MIXED_NOTIFY_ONE:
        return told(a, asx_notify_one(&w->notify));
    case MIXED_NOTIFY_ALL:
        return told(a, asx_notify_all(&w->notify));
    case MIXED_ONCE:
        return told(a, asx_once_call(cx, &w->once, initialize, a));
    case MIXED_ONCE_WAITS:
        return told(a, asx_once_call(cx, &w->once, initialize_slowly, a));
    default:
        return read_write(cx, a, code);
    }
}

static asx_status value_call(asx_cx *cx, actor *a, int code)
{
    world *w = a->w;
    int value = 50 + a->number;
    uint64_t seen = 1;
    asx_status st;
    switch (code) {
    case MIXED_ONE_SEND:
        return told(a, asx_oneshot_send(&w->one_tx, &value));
    case MIXED_ONE_RECV:
        st = asx_oneshot_recv(cx, &w->one_rx, &value);
        break;
    case MIXED_ONE_TRY_RECV:
        st = asx_oneshot_try_recv(cx, &w->one_rx, &value);
        break;
    case MIXED_ONE_DROP:
        return told(a, asx_oneshot_sender_drop(&w->one_tx));
    case MIXED_WATCH_SET:
        return told(a, asx_watch_send(&w->watch, &value));
    case MIXED_WATCH_WAIT:
        st = asx_watch_changed(cx, &w->watch, &seen, &value);
        break;
    case MIXED_WATCH_GET:
        st = asx_watch_get(&w->watch, &value, &seen);
        break;
    case MIXED_WATCH_CLOSE:
        return told(a, asx_watch_close(&w->watch));
    case MIXED_CAST:
        return told(a, asx_broadcast_send(&w->cast, &value, NULL));
    case MIXED_CAST_RECV:
        st = asx_broadcast_recv(cx, &w->cast_rx[a->number % MIXED_TASKS], &value, NULL);
        break;
    default:
        return told(a, asx_broadcast_close(&w->cast));
    }
    see(a, (uint64_t)(int64_t)value);
    see(a, seen);
    return told(a, st);
}

/* ---- tasks in tasks ------------------------------------------------------------------------- */

static asx_status help_send(asx_cx *cx, void *arg)
{
    return send_one(cx, arg) == ASX_E_CANCELLED ? ASX_E_CANCELLED : ASX_OK;
}

static asx_status help_receive(asx_cx *cx, void *arg)
{
    return receive(cx, arg) == ASX_E_CANCELLED ? ASX_E_CANCELLED : ASX_OK;
}

static asx_status help_store(asx_cx *cx, void *arg)
{
    actor *a = arg;
    asx_lab_store(cx, &a->w->x, 60 + a->number);
    return ASX_OK;
}

static asx_status help_check(asx_cx *cx, void *arg)
{
    return told(arg, asx_checkpoint(cx));
}

static asx_status help_fail(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_E_NOT_FOUND;
}

/* Whoever helps is somebody of its own. */
static actor *helper(actor *a)
{
    int which = a->helped++ % HELPERS;
    actor *h = &helpers[a->number][which];
    h->w = a->w;
    h->number = 100 + a->number * HELPERS + which;
    return h;
}

static asx_status scope(asx_cx *cx, actor *a, int code)
{
    asx_region r;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    if (code == MIXED_SCOPE_TIMED)
        options.timeout_ns = ASX_MS;
    asx_status st = told(a, asx_region_open(cx, &options, &r));
    if (code == MIXED_SCOPE_FINALIZES)
        (void)told(a, asx_defer(&r, help_store, helper(a)));
    asx_task_fn fn = code == MIXED_SCOPE_FAILS                                  ? help_fail
                     : code == MIXED_SCOPE_WAITS || code == MIXED_SCOPE_TIMED ? help_receive
                                                                                : help_check;
    (void)told(a, asx_spawn(&r, "helper", fn, helper(a)));
    if (code == MIXED_SCOPE_LEFT)
        return st;
    return told(a, asx_region_close(&r, code == MIXED_SCOPE_CANCELLED ? ASX_E_NOT_FOUND : ASX_OK));
}

static asx_status call_masked(asx_cx *cx, void *arg)
{
    return receive(cx, arg);
}

static asx_status scope_masked(asx_cx *cx, void *arg)
{
    return scope(cx, arg, MIXED_SCOPE);
}

static asx_status scope_masked_waits(asx_cx *cx, void *arg)
{
    return scope(cx, arg, MIXED_SCOPE_WAITS);
}

/* It is still open when the mask ends. */
static asx_status scope_masked_left(asx_cx *cx, void *arg)
{
    return scope(cx, arg, MIXED_SCOPE_LEFT);
}

static asx_status flow_call(asx_cx *cx, actor *a, int code)
{
    const asx_branch sends[] = { { "a", help_send, helper(a) },
                                 { "b", help_store, helper(a) },
                                 { "c", help_check, helper(a) } };
    const asx_branch waits[] = { { "a", help_receive, helper(a) },
                                 { "b", help_check, helper(a) } };
    size_t winner = 9;
    asx_status st;
    switch (code) {
    case MIXED_RACE_SENDS:
    case MIXED_RACE_WAITS:
    case MIXED_RACE_THREE:
        st = told(a, asx_race_all(cx, code == MIXED_RACE_WAITS ? waits : sends,
                                  code == MIXED_RACE_THREE ? 3 : 2, NULL, &winner, NULL));
        see(a, winner);
        return st;
    case MIXED_TIMEOUT:
        return told(a, asx_timeout(cx, &(asx_branch){ "timeout", help_receive, helper(a) },
                                   ASX_MS, NULL, NULL));
    case MIXED_JOIN_ALL:
        return told(a, asx_join_all(cx, sends, 2, NULL, NULL, NULL));
    case MIXED_MASKED_RECV:
        return told(a, asx_with_cancel_mask(cx, call_masked, a));
    case MIXED_MASKED_SCOPE:
        return told(a, asx_with_cancel_mask(cx, scope_masked, a));
    case MIXED_MASKED_WAITS:
        return told(a, asx_with_cancel_mask(cx, scope_masked_waits, a));
    case MIXED_MASKED_LEFT:
        return told(a, asx_with_cancel_mask(cx, scope_masked_left, a));
    case MIXED_COMMIT_SECTION:
        return told(a, asx_commit_section(cx, 3, call_masked, a));
    case MIXED_BRACKET:
        return told(a, asx_bracket(cx, help_store, help_receive, help_store, a));
    case MIXED_DEFER:
        return told(a, asx_task_defer(cx, help_store, a));
    default:
        return scope(cx, a, code);
    }
}

/* ---- tasks, time and cells ------------------------------------------------------------------ */

static asx_status obligation(actor *a)
{
    asx_obligation o;
    asx_status st = told(a, asx_obligation_reserve(&a->w->region, ASX_OBLIGATION_KIND_PLAIN, &o));
    return st < 0 ? st : told(a, asx_obligation_commit(&o));
}

/* In a region that others may be closing, or where there is room for one only. */
static asx_status open_in(asx_cx *cx, actor *a, int code)
{
    asx_region own;
    const asx_region *around = code == MIXED_OPEN_LIMITED ? &a->w->limited : &a->w->region;
    bool masked = code == MIXED_OPEN_MASKED || code == MIXED_OPEN_MASKED_LATE;
    bool late = code == MIXED_OPEN_IN_LATE || code == MIXED_OPEN_MASKED_LATE;
    if (masked)
        (void)told(a, asx_mask_begin(cx, 0));
    asx_status st = told(a, asx_region_open_in(cx, around, NULL, &own));
    if (masked && !late)
        (void)told(a, asx_mask_end(cx));
    if (st == ASX_OK && late)
        asx_lab_store(cx, &a->w->x, 80 + a->number);
    if (st == ASX_OK && (late || code == MIXED_OPEN_IN_SPAWN))
        (void)told(a, asx_spawn(&own, "helper", help_check, helper(a)));
    if (st == ASX_OK)
        st = told(a, asx_region_close(&own, ASX_OK));
    if (masked && late)
        (void)told(a, asx_mask_end(cx));
    return st;
}

static asx_status cancel_own_region(asx_cx *cx, actor *a)
{
    asx_region own;
    asx_status st = asx_cx_region(cx, &own);
    return st < 0 ? st : told(a, asx_region_cancel(&own, NULL));
}

static asx_status task_call(asx_cx *cx, actor *a, int code)
{
    world *w = a->w;
    asx_task *next = &w->task[(a->number + 1) % w->p->tasks];
    asx_status st;
    switch (code) {
    case MIXED_SLEEP:
        return told(a, asx_sleep(cx, ASX_MS));
    case MIXED_SLEEP_LONG:
        return told(a, asx_sleep(cx, 2 * ASX_MS));
    case MIXED_SLEEP_SHORT:
        return told(a, asx_sleep(cx, ASX_US));
    case MIXED_CHECKPOINT:
        return told(a, asx_checkpoint(cx));
    case MIXED_IS_CANCELLED:
        see(a, asx_is_cancelled(cx));
        return ASX_OK;
    case MIXED_YIELD:
        return told(a, asx_yield(cx));
    case MIXED_CANCEL_TASK:
        return told(a, asx_task_cancel(next, NULL));
    case MIXED_CANCEL_REGION:
        return told(a, asx_region_cancel(&w->region, NULL));
    case MIXED_CANCEL_INNER:
        return told(a, asx_region_cancel(&w->inner, NULL));
    case MIXED_CANCEL_SELF:
        return cancel_own_region(cx, a);
    case MIXED_JOIN: /* nor joined */
        if (w->p->inner)
            return ASX_OK;
        st = asx_join(cx, next, NULL); /* who is the second to join it is not seen */
        return st == ASX_E_CANCELLED ? told(a, st) : ASX_OK;
    case MIXED_LINK: /* what was closed with its region cannot be linked */
        if (w->p->inner)
            return ASX_OK;
        return told(a, asx_task_link(&w->task[a->number % w->p->tasks], next));
    case MIXED_SPAWN:
        return told(a, asx_spawn(&w->region, "late", help_check, helper(a)));
    case MIXED_SPAWN_INNER:
        return told(a, asx_spawn(&w->inner, "late", help_check, helper(a)));
    case MIXED_SPAWN_LIMITED:
        return told(a, asx_spawn(&w->limited, "limited", help_store, helper(a)));
    case MIXED_OBLIGATION:
        return obligation(a);
    case MIXED_OPEN_IN:
    case MIXED_OPEN_IN_SPAWN:
    case MIXED_OPEN_LIMITED:
    case MIXED_OPEN_MASKED:
    case MIXED_OPEN_IN_LATE:
    case MIXED_OPEN_MASKED_LATE:
        return open_in(cx, a, code);
    case MIXED_STOP:
        return told(a, asx_region_stop(&w->region));
    case MIXED_STOP_INNER:
        return told(a, asx_region_stop(&w->inner));
    case MIXED_STOP_LIMITED:
        return told(a, asx_region_stop(&w->limited));
    default:
        return ASX_OK;
    }
}

static asx_status cell_call(asx_cx *cx, actor *a, int code)
{
    world *w = a->w;
    switch (code) {
    case MIXED_LOAD:
        see(a, (uint64_t)asx_lab_load(cx, &w->x));
        break;
    case MIXED_STORE:
        asx_lab_store(cx, &w->x, 70 + a->number);
        break;
    case MIXED_ADD_CELL:
        see(a, (uint64_t)asx_lab_fetch_add(cx, &w->x, 1));
        break;
    case MIXED_CAS:
        see(a, asx_lab_cas(cx, &w->x, 0, 1));
        break;
    case MIXED_CHOOSE:
        see(a, asx_lab_choose(cx, 2));
        break;
    case MIXED_LAB_LOCK:
        (void)asx_lab_mutex_lock(cx, &w->lab_mutex);
        touch(a, 2);
        (void)asx_lab_mutex_unlock(cx, &w->lab_mutex);
        break;
    default:
        (void)asx_lab_semaphore_acquire(cx, &w->units, 1);
        (void)asx_lab_semaphore_release(cx, &w->units, 1);
        break;
    }
    return ASX_OK;
}

static asx_status call(asx_cx *cx, actor *a, int code)
{
    if (code <= MIXED_CLONE)
        return channel_call(cx, a, code);
    if (code <= MIXED_MANY_DROP)
        return many_call(cx, a, code);
    if (code <= MIXED_ONCE_WAITS)
        return lock_call(cx, a, code);
    if (code <= MIXED_CAST_CLOSE)
        return value_call(cx, a, code);
    if (code >= MIXED_LOAD)
        return cell_call(cx, a, code);
    if ((code >= MIXED_MASKED_RECV && code <= MIXED_JOIN_ALL) ||
        (code >= MIXED_SCOPE && code <= MIXED_SCOPE_WAITS))
        return flow_call(cx, a, code);
    return task_call(cx, a, code);
}

/* Nobody goes on before all have been started. */
enum { GATE_PASS, GATE_OPEN };

static asx_lab_effect gate_eval(unsigned what, uint64_t argument, uint64_t state)
{
    (void)argument;
    return what == GATE_OPEN ? (asx_lab_effect){ true, true, 1 }
                             : (asx_lab_effect){ state != 0, false, state };
}

static const asx_lab_device gate_device = { "gate", NULL, 0, gate_eval };

static asx_status act(asx_cx *cx, void *arg)
{
    actor *a = arg;
    const mixed_program *p = a->w->p;
    if (p->inner)
        (void)asx_lab_operate(cx, &a->w->gate, &gate_device, GATE_PASS, 0, NULL);
    for (int i = 0; i < p->len[a->number]; i++) {
        if (p->code[a->number][i] == MIXED_FAIL)
            return ASX_E_NOT_FOUND;
        if (call(cx, a, p->code[a->number][i]) == ASX_E_CANCELLED)
            return ASX_E_CANCELLED;
    }
    return ASX_OK;
}

static asx_poll act_polled(asx_cx *cx, void *arg)
{
    asx_status st = act(cx, arg);
    return st < 0 ? asx_poll_fail(cx, st) : ASX_POLL_READY;
}

/* ---- a program ------------------------------------------------------------------------------ */

static void make_objects(world *w)
{
    int value = 0;
    const asx_region *r = &w->home;
    (void)asx_channel_create(r, sizeof(int), (size_t)w->p->capacity, NULL, &w->tx, &w->rx);
    if ((w->p->faults & ASX_EXPLORE_FAULT_ALLOC) != 0)
        return; /* each of them may fail */
    (void)asx_mpmc_create(r, sizeof(int), (size_t)w->p->many, NULL, &w->many_tx, &w->many_rx);
    (void)asx_mutex_create(r, &(asx_mutex_options){ .name = "m" }, &w->mutex);
    (void)asx_rwlock_create(r, &(asx_rwlock_options){ .name = "l" }, &w->rwlock);
    (void)asx_semaphore_create(r, 1, &(asx_semaphore_options){ .name = "s" }, &w->semaphore);
    (void)asx_condition_create(r, &(asx_condition_options){ .name = "c" }, &w->condition);
    (void)asx_barrier_create(r, 2, &(asx_barrier_options){ .name = "b" }, &w->barrier);
    (void)asx_notify_create(r, &(asx_notify_options){ .name = "n" }, &w->notify);
    (void)asx_once_create(r, &(asx_once_options){ .name = "o" }, &w->once);
    (void)asx_oneshot_create(r, sizeof(int), NULL, &w->one_tx, &w->one_rx);
    (void)asx_watch_create(r, sizeof(int), &value, &(asx_watch_options){ .name = "w" }, &w->watch);
    (void)asx_broadcast_create(r, sizeof(int), 1, &(asx_broadcast_options){ .name = "t" },
                               &w->cast);
    for (int i = 0; i < MIXED_TASKS; i++)
        (void)asx_broadcast_subscribe(&w->cast, &w->cast_rx[i]);
}

static void start(asx_cx *cx, world *w, int i)
{
    const mixed_program *p = w->p;
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_spawn_options options = { .name = "t" };
    const asx_region *r = p->inner && i == p->tasks - 1 ? &w->inner : &w->region;
    actors[i] = (actor){ w, i, 0, 0 };
    if (i == 0 && p->deadline_ns != 0) {
        budget.deadline = asx_now(cx) + p->deadline_ns;
        options.budget = &budget;
    }
    if (p->polls[i])
        (void)asx_spawn_poll_task(r, act_polled, &actors[i], &options, &w->task[i]);
    else
        (void)asx_spawn_task(r, act, &actors[i], &options, &w->task[i]);
}

/* Histories by class, of one exploration. */
static struct {
    uint64_t sum, history;
} seen[1 << 14];
static size_t seen_len;
static bool watching, differs;

static void compare_histories(asx_cx *cx, uint64_t history)
{
    asx__explorer *x = asx__explorer_of(cx->rt_);
    if (!watching || x == NULL || x->failed_text != NULL)
        return;
    uint64_t sum = x->dpor->class_sum;
    size_t i = 0;
    while (i < seen_len && seen[i].sum != sum)
        i++;
    if (i == seen_len && seen_len < sizeof seen / sizeof *seen) {
        seen[seen_len].sum = sum;
        seen[seen_len++].history = history;
    }
    if (i < seen_len && seen[i].history != history)
        differs = true;
}

void mixed_run(asx_cx *cx, void *program)
{
    world *w = &the_world;
    actor *self = &actors[MIXED_TASKS];
    memset(w, 0, sizeof *w);
    memset(helpers, 0, sizeof helpers);
    w->p = program;
    w->units.units = 1;
    *self = (actor){ w, MIXED_TASKS, 0, 0 };
    asx_region_options collect = { .policy = ASX_POLICY_COLLECT };
    asx_region_options limited = { .tasks_max = 1, .regions_max = 2 }; /* one is `region` */
    asx_region_options own = { .policy = ASX_POLICY_COLLECT, .regions_max = w->p->narrow };
    limited.admission = w->p->waits ? ASX_ADMISSION_WAIT : ASX_ADMISSION_REFUSE;
    (void)asx_region_open(cx, &collect, &w->home);
    make_objects(w);
    (void)asx_region_open(cx, &collect, &w->inner);
    (void)asx_region_open(cx, &limited, &w->limited);
    (void)asx_region_open(cx, &own, &w->region); /* last: nobody can have cancelled it */
    for (int i = 0; i < w->p->tasks; i++)
        start(cx, w, i);
    if (w->p->inner)
        (void)asx_lab_operate(cx, &w->gate, &gate_device, GATE_OPEN, 0, NULL);
    (void)told(self, asx_region_close(&w->region, ASX_OK));
    (void)told(self, asx_region_close(&w->limited, ASX_OK));
    (void)told(self, asx_region_close(&w->inner, ASX_OK));
    (void)told(self, asx_region_close(&w->home, ASX_OK));
    uint64_t history = self->history;
    for (int i = 0; i < w->p->tasks; i++)
        history = asx__hash_absorb(history, actors[i].history);
    for (int i = 0; i < MIXED_TASKS; i++)
        for (int k = 0; k < HELPERS; k++)
            history = asx__hash_absorb(history, helpers[i][k].history);
    compare_histories(cx, history);
}

/* ---- comparing ------------------------------------------------------------------------------ */

void mixed_draw(asx__rng *rng, mixed_program *p)
{
    uint8_t palette[5];
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < sizeof palette; i++)
        palette[i] = (uint8_t)asx__rng_below(rng, MIXED_COUNT);
    p->tasks = 2 + (int)asx__rng_below(rng, 2);
    p->capacity = 1 + (int)asx__rng_below(rng, 2);
    p->many = (int)asx__rng_below(rng, 3);
    p->inner = asx__rng_below(rng, 4) == 0;
    p->waits = asx__rng_below(rng, 2) == 0;
    p->narrow = asx__rng_below(rng, 4) == 0;
    p->clock = (asx_explore_clock)asx__rng_below(rng, 2);
    p->deadline_ns = asx__rng_below(rng, 6) == 0 ? ASX_MS : 0;
    if (asx__rng_below(rng, 8) == 0)
        p->faults = ASX_EXPLORE_FAULT_CANCEL;
    for (int t = 0; t < p->tasks; t++) {
        p->len[t] = 1 + (int)asx__rng_below(rng, p->tasks == 2 ? 3 : 2);
        p->polls[t] = asx__rng_below(rng, 6) == 0;
        for (int i = 0; i < p->len[t]; i++)
            p->code[t][i] = palette[asx__rng_below(rng, sizeof palette)];
    }
}

void mixed_print(const mixed_program *p)
{
    fprintf(stderr, "capacities %d and %d, clock %d, faults %u%s%s%s%s\n", p->capacity, p->many,
            (int)p->clock, p->faults, p->inner ? ", last in an inner region" : "",
            p->waits ? ", waits for room" : "", p->narrow ? ", room for one region" : "",
            p->deadline_ns != 0 ? ", first has a deadline" : "");
    for (int t = 0; t < p->tasks; t++) {
        fprintf(stderr, "  task %d%s:", t, p->polls[t] ? " (poll)" : "");
        for (int i = 0; i < p->len[t]; i++)
            fprintf(stderr, " %s", names[p->code[t][i]]);
        fprintf(stderr, "\n");
    }
}

bool mixed_parse(const char *text, mixed_program *ret_program)
{
    mixed_program p = { .tasks = 1, .capacity = 1, .many = 1 };
    while (*text != 0) {
        size_t len = strcspn(text, " ,");
        int t = p.tasks - 1, code = 0;
        while (len != 0 && code < MIXED_COUNT &&
               (strlen(names[code]) != len || strncmp(names[code], text, len) != 0))
            code++;
        if (code == MIXED_COUNT || (len != 0 && p.len[t] == MIXED_CALLS))
            return false;
        if (len != 0)
            p.code[t][p.len[t]++] = (uint8_t)code;
        text += len;
        p.tasks += *text == ',';
        if (p.tasks > MIXED_TASKS)
            return false;
        text += *text != 0;
    }
    *ret_program = p;
    return true;
}

static const char *explore(mixed_program *p, const asx_explore_options *options,
                           asx_explore_result *result)
{
    if (asx_explore(mixed_run, p, options, result) != ASX_OK)
        return "it could not be run";
    if (result->status == ASX_OK)
        return NULL;
    return result->unsupported != NULL ? result->unsupported : asx_status_str(result->status);
}

mixed_answer mixed_compare(mixed_program *p, uint64_t most, uint64_t seeds)
{
    mixed_answer answer = { NULL, false, 0, 0 };
    asx_explore_options options = { .mode = ASX_EXPLORE_DFS, .clock = p->clock,
                                    .faults = p->faults, .executions_max = most };
    asx_explore_result all, best;
    seen_len = 0;
    differs = false;
    watching = true;
    answer.complaint = explore(p, &options, &all);
    watching = false;
    if (answer.complaint == NULL && differs)
        answer.complaint = "one class, different histories";
    answer.classes = all.totals.classes;
    if (answer.complaint != NULL || !all.complete)
        return answer;
    answer.compared = true;
    options.mode = ASX_EXPLORE_OPTIMAL;
    options.executions_max = all.totals.classes + 10;
    for (options.seed = 0; options.seed < seeds && answer.complaint == NULL; options.seed++) {
        answer.complaint = explore(p, &options, &best);
        answer.executions = best.totals.executions;
        if (answer.complaint == NULL && best.totals.executions != all.totals.classes)
            answer.complaint = "not as many executions as classes";
        else if (answer.complaint == NULL && best.totals.redundant + best.totals.blocked != 0)
            answer.complaint = "redundant or blocked";
        else if (answer.complaint == NULL &&
                 (best.totals.deadlocks != 0) != (all.totals.deadlocks != 0))
            answer.complaint = "deadlocks";
    }
    return answer;
}

static bool still(mixed_program *p, const char *complaint, uint64_t most, uint64_t seeds)
{
    mixed_answer answer = mixed_compare(p, most, seeds);
    return answer.complaint != NULL && strcmp(answer.complaint, complaint) == 0;
}

static bool without_call(const mixed_program *p, int t, int i, mixed_program *ret)
{
    *ret = *p;
    for (int k = i; k + 1 < p->len[t]; k++)
        ret->code[t][k] = p->code[t][k + 1];
    ret->len[t]--;
    if (ret->len[t] > 0)
        return true;
    for (int k = t; k + 1 < p->tasks; k++) {
        memcpy(ret->code[k], p->code[k + 1], sizeof ret->code[k]);
        ret->len[k] = p->len[k + 1];
        ret->polls[k] = p->polls[k + 1];
    }
    return --ret->tasks > 0;
}

static bool shrink_settings(mixed_program *p, const char *complaint, uint64_t most, uint64_t seeds)
{
    bool smaller = false;
    for (int i = 0; i < 10; i++) {
        mixed_program q = *p;
        if (i < MIXED_TASKS)
            q.polls[i] = false;
        else if (i == 3)
            q.inner = false;
        else if (i == 4)
            q.waits = false;
        else if (i == 5)
            q.deadline_ns = 0;
        else if (i == 6)
            q.faults = 0;
        else if (i == 7)
            q.narrow = false;
        else if (i == 8)
            q.clock = ASX_EXPLORE_QUIESCENT;
        else
            q.capacity = q.many = 1;
        if (memcmp(&q, p, sizeof q) != 0 && still(&q, complaint, most, seeds)) {
            *p = q;
            smaller = true;
        }
    }
    return smaller;
}

void mixed_shrink(mixed_program *p, uint64_t most, uint64_t seeds)
{
    const char *complaint = mixed_compare(p, most, seeds).complaint;
    for (bool again = complaint != NULL; again;) {
        again = shrink_settings(p, complaint, most, seeds);
        for (int t = 0; t < p->tasks && !again; t++)
            for (int i = 0; i < p->len[t] && !again; i++) {
                mixed_program q;
                again = without_call(p, t, i, &q) && still(&q, complaint, most, seeds);
                if (again)
                    *p = q;
            }
    }
}
