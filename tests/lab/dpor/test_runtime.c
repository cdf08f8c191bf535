/* Exploring the runtime's own operations: channels, locks, cancellation, time. The numbers of
 * classes follow from which operations conflict; brute force finds the same. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "harness.h"
#include "support_bodies.h"
#include "support_classes.h"

typedef struct fixture {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_region region;
    asx_task task;
    int x, capacity, got;
    asx_status seen;
} fixture;

/* ---- channels ------------------------------------------------------------------------------- */

static asx_status send_one(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    int message = 1;
    return asx_channel_send(cx, &f->tx, &message);
}

static asx_status receive_one(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    int message;
    return asx_channel_recv(cx, &f->rx, &message);
}

static asx_status receive_two(asx_cx *cx, void *arg)
{
    asx_status st = receive_one(cx, arg);
    return st < 0 ? st : receive_one(cx, arg);
}

static asx_status look(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    int message;
    (void)cx;
    asx_status st = asx_channel_try_recv(cx, &f->rx, &message);
    f->got += st == ASX_OK;
    return ASX_OK;
}

static void begin(asx_cx *cx, fixture *f)
{
    f->x = f->got = 0;
    f->seen = ASX_OK;
    CHECK_STATUS(asx_region_open(cx, NULL, &f->region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&f->region, sizeof(int), (size_t)f->capacity, NULL, &f->tx,
                                    &f->rx),
                 ASX_OK);
}

static void two_senders(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    asx_spawn(&f->region, "a", send_one, f);
    asx_spawn(&f->region, "b", send_one, f);
    asx_spawn(&f->region, "c", receive_two, f);
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
}

ASX_TEST(senders_race_for_the_end_of_the_queue)
{
    fixture f = { .capacity = 2 };
    CHECK_EQ(classes_of(two_senders, &f), 2);
    f.capacity = 1;
    CHECK_EQ(classes_of(two_senders, &f), 2);
}

static void send_and_look(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    asx_spawn(&f->region, "a", send_one, f);
    asx_spawn(&f->region, "b", look, f);
    asx_spawn(&f->region, "c", send_one, f);
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
}

/* Two orders of the sends, and the look before the first or after: it cannot tell the second. */
ASX_TEST(a_look_races_with_the_first_message_only)
{
    fixture f = { .capacity = 2 };
    CHECK_EQ(classes_of(send_and_look, &f), 4);
}

static asx_status send_three_and_drop(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    for (int i = 0; i < 3; i++) {
        asx_send_permit permit;
        asx_status st = asx_channel_reserve(cx, &f->tx, &permit);
        if (st < 0)
            return st;
        st = asx_send_permit_send(&permit, &i);
        if (st < 0)
            return st;
    }
    return asx_channel_sender_drop(&f->tx);
}

static asx_status receive_all(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    int message;
    asx_status st;
    while ((st = asx_channel_recv(cx, &f->rx, &message)) == ASX_OK)
        asx_lab_check(cx, message == f->got++);
    asx_lab_check(cx, st == ASX_E_DISCONNECTED);
    return ASX_OK;
}

static void pipeline(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    asx_spawn(&f->region, "a", send_three_and_drop, f);
    asx_spawn(&f->region, "b", receive_all, f);
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
    asx_lab_check(cx, f->got == 3);
}

ASX_TEST(a_pipeline_has_one_class)
{
    fixture f = { .capacity = 1 };
    CHECK_EQ(classes_of(pipeline, &f), 1);
    f.capacity = 2;
    CHECK_EQ(classes_of(pipeline, &f), 1);
}

static asx_status keep_a_permit(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_send_permit permit;
    return asx_channel_reserve(cx, &f->tx, &permit);
}

/* What a task leaves behind goes back when it ends, and lets others go on. */
static void permit_left_behind(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    asx_spawn(&f->region, "a", keep_a_permit, f);
    asx_spawn(&f->region, "b", send_one, f);
    asx_spawn(&f->region, "c", receive_one, f);
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
}

ASX_TEST(a_permit_left_behind_goes_back)
{
    fixture f = { .capacity = 1 };
    CHECK_EQ(classes_of(permit_left_behind, &f), 2);
}

static asx_status send_to_nobody(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    int message = 1;
    f->seen = asx_channel_send(cx, &f->tx, &message);
    return ASX_OK;
}

static asx_status close_early(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    (void)cx;
    return asx_channel_receiver_drop(&f->rx);
}

static void send_and_close(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    asx_spawn(&f->region, "a", send_to_nobody, f);
    asx_spawn(&f->region, "b", close_early, f);
    asx_spawn(&f->region, "c", send_to_nobody, f);
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
}

/* 2 orders of sends before the close, 2 with one of them after it, 1 with both. */
ASX_TEST(sends_race_with_a_close_and_refused_ones_with_nothing_else)
{
    fixture f = { .capacity = 2 };
    CHECK_EQ(classes_of(send_and_close, &f), 5);
}

static void receive_without_sender(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    asx_spawn(&f->region, "a", receive_two, f);
    asx_spawn(&f->region, "b", send_one, f);
    (void)asx_region_close(&f->region, ASX_OK);
}

ASX_TEST(a_receive_that_is_never_served_is_a_deadlock)
{
    fixture f = { .capacity = 1 };
    asx_explore_options options = { .seed = 0 };
    asx_explore_result r = classes_explore(receive_without_sender, &f, &options);
    CHECK_EQ(r.totals.executions, 1);
    CHECK_EQ(r.totals.deadlocks, 1);
}

/* ---- cancellation --------------------------------------------------------------------------- */

static asx_status wait_for_message(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    int message;
    f->seen = asx_channel_recv(cx, &f->rx, &message);
    return f->seen;
}

static asx_status cancel_it(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    (void)cx;
    return asx_task_cancel(&f->task, NULL);
}

static void cancel_and_send(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    asx_spawn_options options = { .name = "w" };
    CHECK_STATUS(asx_spawn_task(&f->region, wait_for_message, f, &options, &f->task), ASX_OK);
    asx_spawn(&f->region, "a", send_one, f);
    asx_spawn(&f->region, "b", cancel_it, f);
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
    asx_lab_check(cx, f->seen == ASX_OK || f->seen == ASX_E_CANCELLED);
}

/* Received and then cancelled; or cancelled, and the message stays. */
ASX_TEST(a_cancel_races_with_the_wait_that_it_ends)
{
    fixture f = { .capacity = 1 };
    CHECK_EQ(classes_of(cancel_and_send, &f), 2);
}

static asx_status check_twice(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    f->got += asx_checkpoint(cx) == ASX_OK;
    f->got += asx_checkpoint(cx) == ASX_OK;
    return ASX_OK;
}

static asx_status store_one(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_lab_store(cx, &f->x, 1);
    return ASX_OK;
}

static void cancel_the_region(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_region inner;
    begin(cx, f);
    CHECK_STATUS(asx_region_open(cx, NULL, &inner), ASX_OK);
    asx_spawn(&inner, "a", check_twice, f);
    asx_spawn(&inner, "b", check_twice, f);
    asx_spawn(&f->region, "c", store_one, f);
    (void)asx_region_cancel(&inner, NULL);
    (void)asx_region_close(&inner, ASX_OK);
    (void)asx_region_close(&f->region, ASX_OK);
}

/* Each of the two is told at its first checkpoint, at its second, or not at all; the third task has
 * nothing to do with it. */
ASX_TEST(a_region_cancel_races_with_every_checkpoint_in_it_and_nothing_else)
{
    fixture f = { .capacity = 1 };
    CHECK_EQ(classes_of(cancel_the_region, &f), 9);
}

static void fail_fast(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    asx_spawn(&f->region, "a", fail, f);
    asx_spawn(&f->region, "b", check_twice, f);
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_E_NOT_FOUND);
}

ASX_TEST(a_failure_cancels_the_siblings_at_any_point)
{
    fixture f = { .capacity = 1 };
    CHECK_EQ(classes_of(fail_fast, &f), 3);
}

static asx_status join_it(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    f->seen = asx_join(cx, &f->task, NULL);
    return ASX_OK;
}

static void join_of_the_cancelled(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    asx_spawn_options options = { .name = "w" };
    CHECK_STATUS(asx_spawn_task(&f->region, wait_for_message, f, &options, &f->task), ASX_OK);
    asx_spawn(&f->region, "b", cancel_it, f);
    (void)join_it(cx, f);
    asx_lab_check(cx, f->seen == ASX_OK);
    (void)asx_region_close(&f->region, ASX_OK);
}

ASX_TEST(the_join_of_a_cancelled_task_returns)
{
    fixture f = { .capacity = 1 };
    CHECK_EQ(classes_of(join_of_the_cancelled, &f), 1);
}

static void one_waits(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    asx_spawn(&f->region, "w", wait_for_message, f);
    asx_spawn(&f->region, "a", send_one, f);
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
    f->got += f->seen == ASX_E_CANCELLED;
}

/* Nobody is cancelled; the sender is, and then the receiver waits for ever; the receiver; both. */
ASX_TEST(a_fault_cancels_a_task_at_any_wait)
{
    fixture f = { .capacity = 1 };
    asx_explore_result r[2];
    for (int i = 0; i < 2; i++) {
        asx_explore_options options = { .mode = i == 0 ? ASX_EXPLORE_OPTIMAL : ASX_EXPLORE_DFS,
                                        .faults = ASX_EXPLORE_FAULT_CANCEL };
        CHECK_STATUS(asx_explore(one_waits, &f, &options, &r[i]), ASX_OK);
        CHECK_STATUS(r[i].status, ASX_OK);
        CHECK(r[i].complete);
    }
    CHECK_EQ(r[0].totals.redundant, 0);
    CHECK_EQ(r[0].totals.executions, r[1].totals.classes);
    CHECK_EQ(r[0].totals.executions, 4);
    CHECK_EQ(r[0].totals.deadlocks, 1);
}

/* ---- time ----------------------------------------------------------------------------------- */

static asx_status sleep_and_look(asx_cx *cx, void *arg)
{
    asx_status st = asx_sleep(cx, 5 * ASX_MS);
    return st < 0 ? st : look(cx, arg);
}

static asx_status sleep_and_send(asx_cx *cx, void *arg)
{
    asx_status st = asx_sleep(cx, 9 * ASX_MS);
    return st < 0 ? st : send_one(cx, arg);
}

static void sleepers(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    asx_spawn(&f->region, "a", sleep_and_look, f);
    asx_spawn(&f->region, "b", sleep_and_send, f);
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
}

/* Time keeps the order of the two, unless it may come whenever it likes. */
ASX_TEST(the_quiescent_clock_keeps_deadlines_in_order_the_adversarial_does_not)
{
    fixture f = { .capacity = 1 };
    CHECK_EQ(classes_of(sleepers, &f), 1);
    CHECK_EQ(classes_with(sleepers, &f, ASX_EXPLORE_ADVERSARIAL, 0), 2);
}

typedef struct kept {
    char schedule[256];
} kept;

static void keep(void *ctx, const asx_explore_failure *failure)
{
    kept *k = ctx;
    (void)snprintf(k->schedule, sizeof k->schedule, "%s", failure->schedule);
}

static void late_sender(asx_cx *cx, void *arg)
{
    sleepers(cx, arg);
    asx_lab_check(cx, ((fixture *)arg)->got != 0);
}

ASX_TEST(a_schedule_tells_when_the_clock_moves_and_can_be_replayed)
{
    fixture f = { .capacity = 1 };
    kept k = { "" };
    asx_explore_options options = { .on_failure = keep, .ctx = &k };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(late_sender, &f, &options, &result), ASX_OK);
    CHECK_EQ(result.totals.bugs, 1);
    CHECK(strstr(k.schedule, "clock") != NULL);
    kept again = { "" };
    options.schedule = k.schedule;
    options.ctx = &again;
    CHECK_STATUS(asx_explore(late_sender, &f, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_EQ(result.totals.bugs, 1);
    CHECK_STR_EQ(again.schedule, k.schedule);
}

static void region_with_a_timeout(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_region inner;
    begin(cx, f);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .timeout_ns = ASX_MS }, &inner),
                 ASX_OK);
    asx_spawn(&inner, "w", wait_for_message, f);
    asx_lab_check(cx, asx_region_close(&inner, ASX_OK) < 0);
    (void)asx_region_close(&f->region, ASX_OK);
}

ASX_TEST(a_region_times_out_when_nothing_else_can_go)
{
    fixture f = { .capacity = 1 };
    CHECK_EQ(classes_of(region_with_a_timeout, &f), 1);
    CHECK_STATUS(f.seen, ASX_E_CANCELLED);
}

static void timeout_and_message(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_region inner;
    begin(cx, f);
    asx_spawn(&f->region, "a", send_one, f);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .timeout_ns = ASX_MS }, &inner),
                 ASX_OK);
    asx_spawn(&inner, "w", wait_for_message, f);
    asx_status st = asx_region_close(&inner, ASX_OK);
    asx_lab_check(cx, (st == ASX_OK) <= (f->seen == ASX_OK));
    f->got += f->seen == ASX_E_CANCELLED;
    (void)asx_region_close(&f->region, ASX_OK);
}

/* The message comes in time: once if time waits for it. Else the time-out comes never, after the
 * message was received but before the close, or instead of it. */
ASX_TEST(a_time_out_races_with_what_it_waits_for_if_time_is_adversarial)
{
    fixture f = { .capacity = 1 };
    CHECK_EQ(classes_of(timeout_and_message, &f), 1);
    CHECK_EQ(classes_with(timeout_and_message, &f, ASX_EXPLORE_ADVERSARIAL, 0), 3);
}

/* ---- locks ---------------------------------------------------------------------------------- */

static asx_rwlock rwlock;
static asx_mutex mutex;

static asx_status read_it(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_rwlock_guard guard;
    asx_status st = asx_rwlock_read(cx, &rwlock, &guard);
    if (st < 0)
        return st;
    f->got += f->x;
    return asx_rwlock_unlock(&guard);
}

static asx_status write_it(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_rwlock_guard guard;
    asx_status st = asx_rwlock_write(cx, &rwlock, &guard);
    if (st < 0)
        return st;
    f->x++;
    return asx_rwlock_unlock(&guard);
}

static void readers_and_writer(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    CHECK_STATUS(asx_rwlock_create(&f->region, &(asx_rwlock_options){ .name = "l" },
                                   &rwlock), ASX_OK);
    asx_spawn(&f->region, "r", read_it, f);
    asx_spawn(&f->region, "s", read_it, f);
    asx_spawn(&f->region, "w", write_it, f);
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
}

/* Each reader takes the lock after the writer has given it back, or before it asks; and then gives
 * it back before the writer asks, or after that. */
ASX_TEST(readers_commute_and_each_races_with_the_writer)
{
    fixture f = { .capacity = 1 };
    CHECK_EQ(classes_of(readers_and_writer, &f), 9);
}

static asx_status lock_it(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_mutex_guard guard;
    asx_status st = asx_mutex_lock(cx, &mutex, &guard);
    if (st < 0)
        return st;
    f->x++;
    return asx_mutex_unlock(&guard);
}

static void three_lockers(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    begin(cx, f);
    CHECK_STATUS(asx_mutex_create(&f->region, &(asx_mutex_options){ .name = "m" }, &mutex), ASX_OK);
    for (int i = 0; i < 3; i++)
        asx_spawn(&f->region, "l", lock_it, f);
    asx_lab_check(cx, asx_region_close(&f->region, ASX_OK) == ASX_OK);
    asx_lab_check(cx, f->x == 3);
}

ASX_TEST(the_mutex_goes_to_anybody_next)
{
    fixture f = { .capacity = 1 };
    CHECK_EQ(classes_of(three_lockers, &f), 6);
}

/* ---- random programs ------------------------------------------------------------------------ */

enum { CALLS = 18, TASKS_MOST = 3, CALLS_MOST = 3 };

typedef struct program {
    fixture f;
    int tasks, len[TASKS_MOST];
    uint8_t code[TASKS_MOST][CALLS_MOST];
    asx_task handle[TASKS_MOST];
} program;

typedef struct actor {
    program *p;
    int number;
} actor;

static asx_status two_phases(asx_cx *cx, fixture *f, bool send)
{
    asx_send_permit permit;
    int message = 2;
    asx_status st = asx_channel_reserve(cx, &f->tx, &permit);
    if (st < 0)
        return st;
    return send ? asx_send_permit_send(&permit, &message) : asx_send_permit_abort(&permit);
}

static asx_status with_ack(asx_cx *cx, fixture *f, bool commit)
{
    asx_ack ack;
    int message;
    asx_status st = asx_channel_recv_with_ack(cx, &f->rx, &message, &ack);
    if (st < 0)
        return st;
    return commit ? asx_ack_commit(&ack) : asx_ack_nack(&ack);
}

static asx_status call(asx_cx *cx, program *p, int self, uint8_t code)
{
    fixture *f = &p->f;
    int message = 1;
    bool evicted;
    asx_mutex_guard guard;
    switch (code) {
    case 0:
    case 1:
        return asx_channel_send(cx, &f->tx, &message);
    case 2:
    case 3:
        return asx_channel_recv(cx, &f->rx, &message);
    case 4:
        return asx_channel_try_send(cx, &f->tx, &message);
    case 5:
        return asx_channel_try_recv(cx, &f->rx, &message);
    case 6:
    case 7:
        return two_phases(cx, f, code == 6);
    case 8:
    case 9:
        return with_ack(cx, f, code == 8);
    case 10:
        return asx_channel_send_evict_oldest(cx, &f->tx, &message, NULL, &evicted);
    case 11:
        return asx_checkpoint(cx);
    case 12:
        return asx_task_cancel(&p->handle[(self + 1) % p->tasks], NULL);
    case 13:
        return asx_sleep(cx, (uint64_t)(self + 1) * ASX_MS);
    case 16:
        return asx_channel_sender_drop(&f->tx);
    case 17:
        return asx_channel_receiver_drop(&f->rx);
    case 14:
        return asx_mutex_lock(cx, &mutex, &guard); /* given back at the end */
    default:
        return self % 2 ? read_it(cx, f) : write_it(cx, f);
    }
}

static asx_status act(asx_cx *cx, void *arg)
{
    const actor *a = arg;
    program *p = a->p;
    for (int i = 0; i < p->len[a->number]; i++)
        if (call(cx, p, a->number, p->code[a->number][i]) == ASX_E_CANCELLED)
            break;
    return ASX_OK;
}

static void random_program(asx_cx *cx, void *arg)
{
    program *p = arg;
    actor actors[TASKS_MOST];
    begin(cx, &p->f);
    CHECK_STATUS(asx_mutex_create(&p->f.region, &(asx_mutex_options){ .name = "m" },
                                  &mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(&p->f.region, &(asx_rwlock_options){ .name = "l" },
                                   &rwlock), ASX_OK);
    for (int i = 0; i < p->tasks; i++) {
        asx_spawn_options options = { .name = "t" };
        actors[i] = (actor){ p, i };
        CHECK_STATUS(asx_spawn_task(&p->f.region, act, &actors[i], &options, &p->handle[i]),
                     ASX_OK);
    }
    (void)asx_region_close(&p->f.region, ASX_OK);
}

static void print_program(const program *p, asx_explore_clock clock)
{
    fprintf(stderr, "capacity %d, clock %d\n", p->f.capacity, (int)clock);
    for (int t = 0; t < p->tasks; t++) {
        fprintf(stderr, "task %d:", t);
        for (int i = 0; i < p->len[t]; i++)
            fprintf(stderr, " %u", p->code[t][i]);
        fprintf(stderr, "\n");
    }
}

/* The engine's idea of each object and the object itself agree: else an operation would wait where
 * the engine says that it can be done. */
ASX_TEST_TIMEOUT(random_programs_on_the_runtime_agree_with_brute_force, 90)
{
    asx__rng rng;
    uint64_t compared = 0, programs = 2000 / asx_test_scale();
    asx__rng_seed(&rng, 77);
    for (uint64_t n = 0; n < programs; n++) {
        program p = { .f.capacity = 1 + (int)asx__rng_below(&rng, 2) };
        asx_explore_clock clock = (asx_explore_clock)asx__rng_below(&rng, 2);
        p.tasks = 2 + (int)asx__rng_below(&rng, 2);
        for (int t = 0; t < p.tasks; t++) {
            p.len[t] = 1 + (int)asx__rng_below(&rng, p.tasks == 2 ? 3 : 2);
            for (int i = 0; i < p.len[t]; i++)
                p.code[t][i] = (uint8_t)asx__rng_below(&rng, CALLS);
        }
        asx_explore_options options = { .mode = ASX_EXPLORE_DFS, .clock = clock,
                                        .executions_max = 20000 };
        asx_explore_result all = classes_explore(random_program, &p, &options);
        if (!all.complete)
            continue;
        compared++;
        bool same = classes_compare(random_program, &p, options, &all, 3);
        if (!same)
            print_program(&p, clock);
        CHECK(same);
    }
    CHECK(compared > programs * 3 / 4);
}
