/* The programs of support_reference.h on a real runtime, and how they are drawn. */
#define ASX_LAB 1
#include "support_run.h"

#include <string.h>


typedef struct world {
    const ref_program *p;
    asx_region region;
    asx_channel_sender tx[REF_TASKS];
    asx_channel_receiver rx;
    asx_mpmc_sender many_tx;
    asx_mpmc_receiver many_rx;
    asx_mutex mutex[2];
    asx_lab_mutex lab_mutex[2];
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    asx_task task[REF_TASKS];
    asx_region scope[REF_TASKS];       /* by the first task in it */
    asx_obligation pledge[REF_TASKS];  /* likewise */
    int cell[2];
} world;

typedef struct hand {
    int number;
    asx_send_permit permit;
    asx_mutex_guard mutex[2];
    asx_rwlock_guard rwlock;
    asx_semaphore_permit units;
    bool has_permit, has_mutex[2], has_rwlock, has_units, has_tx;
    bool fails;
} hand;

static world the_world;

static asx_status act(asx_cx *cx, void *arg);

static asx_status do_cell(asx_cx *cx, world *w, hand *h, ref_step step)
{
    int *cell = &w->cell[step.arg & 1];
    switch (step.op) {
    case REF_LOAD:
        return asx_lab_load(cx, cell) != 0 ? ASX_OK : ASX_E_NOT_FOUND;
    case REF_STORE:
        asx_lab_store(cx, cell, h->number + 1);
        return ASX_OK;
    case REF_FETCH_ADD:
        (void)asx_lab_fetch_add(cx, cell, 1);
        return ASX_OK;
    default:
        return asx_lab_cas(cx, cell, step.arg >> 1 & 3, step.arg >> 3) ? ASX_OK : ASX_E_NOT_FOUND;
    }
}

static asx_status do_lab_mutex(asx_cx *cx, asx_lab_mutex *mutex, int op)
{
    return op == REF_LOCK       ? asx_lab_mutex_lock(cx, mutex)
           : op == REF_TRY_LOCK ? asx_lab_mutex_try_lock(cx, mutex)
                                : asx_lab_mutex_unlock(cx, mutex);
}

static asx_status do_lock(asx_cx *cx, world *w, hand *h, ref_step step)
{
    asx_status st;
    if (w->p->lab_mutexes && step.op <= REF_UNLOCK)
        return do_lab_mutex(cx, &w->lab_mutex[step.arg], step.op);
    switch (step.op) {
    case REF_LOCK:
    case REF_TRY_LOCK:
        st = step.op == REF_LOCK
                 ? asx_mutex_lock(cx, &w->mutex[step.arg], &h->mutex[step.arg])
                 : asx_mutex_try_lock(cx, &w->mutex[step.arg], &h->mutex[step.arg]);
        h->has_mutex[step.arg] |= st == ASX_OK;
        return st;
    case REF_UNLOCK:
        h->has_mutex[step.arg] = false;
        return asx_mutex_unlock(&h->mutex[step.arg]);
    case REF_RW_UNLOCK:
        h->has_rwlock = false;
        return asx_rwlock_unlock(&h->rwlock);
    case REF_READ:
        st = asx_rwlock_read(cx, &w->rwlock, &h->rwlock);
        break;
    case REF_TRY_READ:
        st = asx_rwlock_try_read(cx, &w->rwlock, &h->rwlock);
        break;
    case REF_WRITE:
        st = asx_rwlock_write(cx, &w->rwlock, &h->rwlock);
        break;
    default:
        st = asx_rwlock_try_write(cx, &w->rwlock, &h->rwlock);
        break;
    }
    h->has_rwlock |= st == ASX_OK;
    return st;
}

static asx_status do_semaphore(asx_cx *cx, world *w, hand *h, ref_step step)
{
    asx_status st;
    switch (step.op) {
    case REF_UNITS:
        return asx_semaphore_add(&w->semaphore, step.arg);
    case REF_RELEASE:
        h->has_units = false;
        return asx_semaphore_release(&h->units);
    default:
        st = step.op == REF_ACQUIRE
                 ? asx_semaphore_acquire(cx, &w->semaphore, step.arg, &h->units)
                 : asx_semaphore_try_acquire(cx, &w->semaphore, step.arg, &h->units);
        h->has_units |= st == ASX_OK;
        return st;
    }
}

static asx_status do_channel(asx_cx *cx, world *w, hand *h, ref_step step)
{
    asx_channel_sender *tx = &w->tx[w->p->drops ? h->number : 0];
    int message = h->number;
    asx_status st;
    switch (step.op) {
    case REF_SEND:
        return asx_channel_send(cx, tx, &message);
    case REF_TRY_SEND:
        return asx_channel_try_send(cx, tx, &message);
    case REF_RECV:
        return asx_channel_recv(cx, &w->rx, &message);
    case REF_TRY_RECV:
        return asx_channel_try_recv(cx, &w->rx, &message);
    case REF_RESERVE:
    case REF_TRY_RESERVE:
        st = step.op == REF_RESERVE ? asx_channel_reserve(cx, tx, &h->permit)
                                    : asx_channel_try_reserve(cx, tx, &h->permit);
        h->has_permit |= st == ASX_OK;
        return st;
    case REF_COMMIT:
        h->has_permit = false;
        return asx_send_permit_send(&h->permit, &message);
    case REF_ABORT:
        h->has_permit = false;
        return asx_send_permit_abort(&h->permit);
    default:
        return asx_channel_receiver_drop(&w->rx);
    }
}

static asx_status do_many(asx_cx *cx, world *w, hand *h, ref_step step)
{
    int message = h->number;
    switch (step.op) {
    case REF_MANY_SEND:
        return asx_mpmc_send(cx, &w->many_tx, &message);
    case REF_MANY_TRY_SEND:
        return asx_mpmc_try_send(cx, &w->many_tx, &message);
    case REF_MANY_RECV:
        return asx_mpmc_recv(cx, &w->many_rx, &message);
    case REF_MANY_TRY_RECV:
        return asx_mpmc_try_recv(cx, &w->many_rx, &message);
    default:
        return asx_mpmc_close(&w->many_tx);
    }
}

static asx_status finalize(asx_cx *cx, void *arg)
{
    (void)asx_lab_fetch_add(cx, (int *)arg, 1);
    return ASX_OK;
}

/* Starts a task in a region of its own, and waits for it; or two, where there may be room for only
 * one. */
static asx_status scope(asx_cx *cx, world *w, ref_step step)
{
    asx_region *r = &w->scope[step.arg];
    bool limited = step.op == REF_LIMIT || step.op == REF_LIMIT_WAIT;
    asx_region_options options = {
        .tasks_max = limited,
        .admission = step.op == REF_LIMIT_WAIT ? ASX_ADMISSION_WAIT : ASX_ADMISSION_REFUSE,
    };
    asx_status st = asx_region_open(cx, &options, r);
    if (st < 0)
        return st;
    if (step.op == REF_SCOPE_DEFER)
        (void)asx_defer(r, finalize, &w->cell[0]);
    (void)asx_spawn(r, "inner", act, &w->task[step.arg]);
    if (limited)
        (void)asx_spawn(r, "second", act, &w->task[step.arg + 1]);
    return asx_region_close(r, step.op == REF_SCOPE_FAIL ? ASX_E_NOT_FOUND : ASX_OK);
}

/* Its mask ends while it is open, and another may begin, and end too. */
static asx_status bare(asx_cx *cx, world *w, ref_step step)
{
    asx_region r;
    bool again = step.op != REF_BARE;
    (void)asx_mask_begin(cx, 100);
    (void)asx_region_open(cx, NULL, &r);
    (void)asx_spawn(&r, "inner", act, &w->task[step.arg]);
    (void)asx_mask_end(cx);
    if (again)
        (void)asx_mask_begin(cx, 100);
    if (step.op == REF_BARE_TWICE)
        (void)asx_mask_end(cx);
    asx_status st = asx_region_close(&r, ASX_OK);
    if (step.op == REF_BARE_AGAIN)
        (void)asx_mask_end(cx);
    return st;
}

/* Two may keep what is promised in a region whose close does not wait for them. */
static asx_status pledge(asx_cx *cx, world *w, ref_step step)
{
    asx_region around, inside;
    asx_region_options leaks = { .leaks_allowed = true };
    (void)asx_region_open(cx, NULL, &around);
    (void)asx_region_open(cx, &leaks, &inside);
    (void)asx_obligation_reserve(&inside, ASX_OBLIGATION_KIND_PLAIN, &w->pledge[step.arg]);
    (void)asx_spawn(&around, "first", act, &w->task[step.arg]);
    (void)asx_spawn(&around, "second", act, &w->task[step.arg + 1]);
    (void)asx_region_close(&inside, ASX_OK);
    return asx_region_close(&around, ASX_OK);
}

static asx_status do_scope(asx_cx *cx, world *w, hand *h, ref_step step)
{
    bool flows = step.op >= REF_RACE && step.op <= REF_JOIN_ALL;
    asx_task *inner = &w->task[flows ? step.arg : 0];
    asx_branch both[] = { { "left", act, inner }, { "right", act, inner + 1 } };
    switch (step.op) {
    case REF_RACE:
        return asx_race_all(cx, both, 2, NULL, NULL, NULL);
    case REF_TIMEOUT:
        return asx_timeout(cx, &(asx_branch){ "timeout", act, inner },
                           (uint64_t)(1 + step.arg % 2) * ASX_MS, NULL, NULL);
    case REF_LINK:
        return asx_task_link(&w->task[step.arg & 7], &w->task[step.arg >> 3]);
    case REF_FAIL:
        h->fails = true;
        return ASX_E_CANCELLED; /* no more steps */
    case REF_JOIN_ALL:
        return asx_join_all(cx, both, 2, NULL, NULL, NULL);
    case REF_PLEDGE:
        return pledge(cx, w, step);
    case REF_SETTLE:
        return h->number % 2 == 0 ? asx_obligation_commit(&w->pledge[step.arg])
                                  : asx_obligation_abort(&w->pledge[step.arg]);
    case REF_BARE:
    case REF_BARE_AGAIN:
    case REF_BARE_TWICE:
        return bare(cx, w, step);
    case REF_BESIDE:
        return asx_spawn(&w->scope[step.arg - 1], "beside", act, &w->task[step.arg]);
    default:
        return scope(cx, w, step);
    }
}

static asx_status do_task(asx_cx *cx, world *w, ref_step step)
{
    switch (step.op) {
    case REF_CHECKPOINT:
        return asx_checkpoint(cx);
    case REF_CANCEL:
        return asx_task_cancel(&w->task[step.arg], NULL);
    case REF_CANCEL_ALL:
        return asx_region_cancel(&w->region, NULL);
    case REF_MASK:
        return asx_mask_begin(cx, 100);
    case REF_UNMASK:
        return asx_mask_end(cx);
    case REF_JOIN:
        return asx_join(cx, &w->task[step.arg], NULL);
    case REF_SLEEP:
        return asx_sleep(cx, step.arg * ASX_MS);
    default:
        (void)asx_lab_choose(cx, step.arg);
        return ASX_OK;
    }
}

static asx_status operate(asx_cx *cx, hand *h, ref_step step)
{
    world *w = &the_world;
    if (step.op <= REF_CAS)
        return do_cell(cx, w, h, step);
    if (step.op <= REF_RW_UNLOCK)
        return do_lock(cx, w, h, step);
    if (step.op <= REF_UNITS)
        return do_semaphore(cx, w, h, step);
    if (step.op <= REF_RX_DROP)
        return do_channel(cx, w, h, step);
    if (step.op <= REF_MANY_CLOSE)
        return do_many(cx, w, h, step);
    if (step.op == REF_SCOPE || step.op >= REF_SCOPE_FAIL)
        return do_scope(cx, w, h, step);
    if (step.op > REF_CHOOSE)
        return ref_objects_operate(cx, h->number, step, &h->mutex[0], &w->cell[0]);
    return do_task(cx, w, step);
}

static void give_back(hand *h)
{
    if (h->has_permit)
        (void)asx_send_permit_abort(&h->permit);
    if (h->has_units)
        (void)asx_semaphore_release(&h->units);
    if (h->has_rwlock)
        (void)asx_rwlock_unlock(&h->rwlock);
    for (int i = 1; i >= 0; i--)
        if (h->has_mutex[i])
            (void)asx_mutex_unlock(&h->mutex[i]);
    ref_objects_give_back(h->number);
    if (h->has_tx)
        (void)asx_channel_sender_drop(&the_world.tx[h->number]);
}

static bool sends(const ref_program *p, int number)
{
    for (int i = 0; i < p->len[number]; i++) {
        int op = p->code[number][i].op;
        if (op == REF_SEND || op == REF_TRY_SEND || op == REF_RESERVE || op == REF_TRY_RESERVE)
            return true;
    }
    return false;
}

/* The place of a task's handle tells which it is. */
static asx_status act(asx_cx *cx, void *arg)
{
    const ref_program *p = the_world.p;
    hand h;
    memset(&h, 0, sizeof h);
    h.number = (int)((asx_task *)arg - the_world.task);
    h.has_tx = p->drops && sends(p, h.number);
    for (int pc = 0; pc < p->len[h.number]; pc++) {
        ref_step step = p->code[h.number][pc];
        asx_status st = operate(cx, &h, step);
        if (st == ASX_E_CANCELLED)
            break;
        if (st < 0)
            pc += step.skip;
    }
    give_back(&h);
    return h.fails ? ASX_E_NOT_FOUND : ASX_OK;
}

static asx_poll act_polled(asx_cx *cx, void *arg)
{
    asx_status st = act(cx, arg);
    return st < 0 ? asx_poll_fail(cx, st) : ASX_POLL_READY;
}

static const char *watch_cell(void *ctx, const asx_event *event)
{
    const int *cell = ctx;
    return event == NULL && *cell % 2 != 0 ? "the cell is odd" : NULL;
}

void ref_run(asx_cx *cx, void *program)
{
    world *w = &the_world;
    asx_region_options collect = { .policy = ASX_POLICY_COLLECT };
    asx_region home;
    int message = 0;
    memset(w, 0, sizeof *w);
    const ref_program *p = w->p = program;
    if (p->watched)
        (void)asx_lab_oracle(cx, watch_cell, &w->cell[0]);
    (void)asx_region_open(cx, &collect, &home);
    (void)asx_channel_create(&home, sizeof(int), (size_t)p->capacity, NULL, &w->tx[0], &w->rx);
    (void)asx_mpmc_create(&home, sizeof(int), (size_t)p->many, NULL, &w->many_tx, &w->many_rx);
    for (int i = 0; i < 2; i++)
        (void)asx_mutex_create(&home, &(asx_mutex_options){ .name = "m" }, &w->mutex[i]);
    (void)asx_rwlock_create(&home, &(asx_rwlock_options){ .name = "l" }, &w->rwlock);
    (void)asx_semaphore_create(&home, (uint64_t)p->units, &(asx_semaphore_options){ .name = "s" },
                               &w->semaphore);
    if (p->parties != 0)
        ref_objects_create(&home, p);
    for (int i = 0; i < p->filled; i++)
        (void)asx_channel_try_send(cx, &w->tx[0], &message);
    for (int i = 1; i < p->tasks && p->drops; i++)
        if (sends(p, i))
            (void)asx_channel_sender_clone(&w->tx[0], &w->tx[i]);
    if (p->drops && !sends(p, 0))
        (void)asx_channel_sender_drop(&w->tx[0]);
    (void)asx_region_open(cx, &collect, &w->region);
    for (int i = 0; i < p->started; i++) {
        asx_task *handle = &w->task[i];
        if (p->polls)
            (void)asx_spawn_poll_task(&w->region, act_polled, handle, NULL, handle);
        else
            (void)asx_spawn_task(&w->region, act, handle, NULL, handle);
    }
    (void)asx_region_close(&w->region, ASX_OK);
    (void)asx_region_close(&home, ASX_OK);
}
