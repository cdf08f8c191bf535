/* A deadlock is told with who waits for whom, and with those that wait in a circle: for every kind
 * of wait whose end is up to a task that is known, in an exploration and in a run with a seed. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static struct {
    asx_region region;
    asx_mutex mutex, second;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    asx_condition condition;
    asx_once once;
    asx_notify notify;
    asx_task tasks[2];
    int line;
} all;

static char told[1024];

/* Without the places. */
static void keep(void *ctx, const asx_explore_failure *failure)
{
    size_t len = 0;
    (void)ctx;
    CHECK_EQ(failure->verdict, ASX_EXPLORE_DEADLOCK);
    for (const char *at = failure->text; *at != '\0' && len + 1 < sizeof told; at++) {
        const char *end = strncmp(at, " (test_cycles.c:", 16) == 0 ? strchr(at, ')') : NULL;
        if (end != NULL)
            at = end;
        else
            told[len++] = *at;
    }
    told[len] = '\0';
}

static void explore(asx_lab_fn fn, const char *text)
{
    asx_explore_options options = { .stop_at_first = true, .on_failure = keep };
    asx_explore_result result;
    told[0] = '\0';
    CHECK_STATUS(asx_explore(fn, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_STR_EQ(told, text);
}

static asx_lab_fn program;

static asx_status runs(asx_cx *cx, void *arg)
{
    program(cx, arg);
    return ASX_OK;
}

/* The first seed with which it does not end. */
static void run(asx_lab_fn fn, const char *text)
{
    asx_lab_result result = { .status = ASX_OK };
    program = fn;
    for (uint64_t seed = 0; seed < 100 && result.status != ASX_E_DEADLOCK; seed++) {
        asx_lab_options options = { .seed = seed };
        CHECK_STATUS(asx_lab_run(runs, NULL, &options, &result), ASX_OK);
    }
    CHECK_STATUS(result.status, ASX_E_DEADLOCK);
    CHECK_STR_EQ(result.complaint.text, text);
}

static void begin(asx_cx *cx, const asx_region_options *options)
{
    asx_region *r = &all.region;
    CHECK_STATUS(asx_region_open(cx, options, r), ASX_OK);
    CHECK_STATUS(asx_mutex_create(r, &(asx_mutex_options){ .name = "m" }, &all.mutex), ASX_OK);
    CHECK_STATUS(asx_mutex_create(r, &(asx_mutex_options){ .name = "s" }, &all.second), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(r, &(asx_rwlock_options){ .name = "rw" }, &all.rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(r, 2, &(asx_semaphore_options){ .name = "sem" },
                                      &all.semaphore), ASX_OK);
    CHECK_STATUS(asx_condition_create(r, &(asx_condition_options){ .name = "c" },
                                      &all.condition), ASX_OK);
    CHECK_STATUS(asx_once_create(r, &(asx_once_options){ .name = "once" }, &all.once), ASX_OK);
    CHECK_STATUS(asx_notify_create(r, &(asx_notify_options){ .name = "n" }, &all.notify), ASX_OK);
}

static void start(int which, const char *name, asx_task_fn fn)
{
    asx_spawn_options options = { .name = name };
    CHECK_STATUS(asx_spawn_task(&all.region, fn, NULL, &options, &all.tasks[which]), ASX_OK);
}

static void finish(void)
{
    (void)asx_region_close(&all.region, ASX_OK);
}

static asx_status locks(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    asx_status st = asx_mutex_lock(cx, &all.mutex, &guard);
    (void)arg;
    return st < 0 ? ASX_OK : asx_mutex_unlock(&guard);
}

/* ---- ends ----------------------------------------------------------------------------------- */

static void joins_under_lock(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    begin(cx, NULL);
    CHECK_STATUS(asx_mutex_lock(cx, &all.mutex, &guard), ASX_OK);
    start(0, "a", locks);
    (void)asx_join(cx, &all.tasks[0], NULL);
    (void)asx_mutex_unlock(&guard);
    finish();
}

ASX_TEST(who_joins_is_in_the_circle)
{
    explore(joins_under_lock,
            "1 a waits to lock all.mutex, which 0 test holds; 0 test waits to join 1 a; "
            "cycle: 0 test -> 1 a -> 0 test; futurelock: 0 test holds an obligation");
    run(joins_under_lock, "cycle: task 1 -> task 2 -> task 1; task 1 waits: join 2; "
                          "task 2 waits: mutex-lock 1, kept by task 1");
}

static void closes_under_lock(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    begin(cx, NULL);
    CHECK_STATUS(asx_mutex_lock(cx, &all.mutex, &guard), ASX_OK);
    start(0, "a", locks);
    finish();
}

ASX_TEST(who_closes_a_region_is_in_the_circle)
{
    explore(closes_under_lock,
            "1 a waits to lock all.mutex, which 0 test holds; "
            "0 test waits to close a region with 1 a in it; "
            "cycle: 0 test -> 1 a -> 0 test; futurelock: 0 test holds an obligation");
    run(closes_under_lock, "cycle: task 1 -> task 2 -> task 1; task 1 waits: region-close 2; "
                           "task 2 waits: mutex-lock 1, kept by task 1");
}

/* The test has done no operation by then; its place is told, too. */
static void keep_all(void *ctx, const asx_explore_failure *failure)
{
    (void)ctx;
    (void)snprintf(told, sizeof told, "%s", failure->text);
}

static asx_status waits_in_vain(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_notify_wait(cx, &all.notify);
    return ASX_OK;
}

static void only_closes(asx_cx *cx, void *arg)
{
    (void)arg;
    begin(cx, NULL);
    for (int i = 0; i < 6; i++)
        CHECK_STATUS(asx_spawn(&all.region, "w", waits_in_vain, NULL), ASX_OK);
    all.line = __LINE__ + 1;
    (void)asx_region_close(&all.region, ASX_OK);
}

ASX_TEST(who_waits_for_ends_is_told_with_its_line_and_not_with_everybody)
{
    asx_explore_options options = { .stop_at_first = true, .on_failure = keep_all };
    asx_explore_result result;
    char words[160];
    CHECK_STATUS(asx_explore(only_closes, NULL, &options, &result), ASX_OK);
    (void)snprintf(words, sizeof words,
                   "; 0 test waits to close a region with 1 w, 2 w, 3 w, 4 w and 2 more in it "
                   "(test_cycles.c:%d)", all.line);
    CHECK(strlen(told) > strlen(words));
    CHECK_STR_EQ(told + strlen(told) - strlen(words), words);
}

static asx_status starts_another(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return asx_spawn(&all.region, "b", locks, NULL);
}

/* Others start tasks in the region: its close is an operation. */
static void closes_in_turn(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    begin(cx, NULL);
    CHECK_STATUS(asx_mutex_lock(cx, &all.mutex, &guard), ASX_OK);
    start(0, "a", starts_another);
    (void)asx_join(cx, &all.tasks[0], NULL);
    finish();
}

ASX_TEST(a_close_that_is_an_operation_is_told_as_any)
{
    explore(closes_in_turn,
            "0 test waits to close a region with 1.1 b in it; "
            "1.1 b waits to lock all.mutex, which 0 test holds; "
            "cycle: 0 test -> 1.1 b -> 0 test; futurelock: 0 test holds an obligation");
}

static asx_status opens_and_closes(asx_cx *cx, void *arg)
{
    asx_region inner;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &inner), ASX_OK);
    CHECK_STATUS(asx_spawn(&inner, "b", locks, NULL), ASX_OK);
    return asx_region_close(&inner, ASX_OK);
}

static void closes_around(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    begin(cx, NULL);
    CHECK_STATUS(asx_mutex_lock(cx, &all.mutex, &guard), ASX_OK);
    start(0, "a", opens_and_closes);
    finish();
}

ASX_TEST(regions_in_regions_are_waited_for)
{
    explore(closes_around,
            "1.1 b waits to lock all.mutex, which 0 test holds; "
            "0 test waits to close a region with 1 a and 1.1 b in it; "
            "1 a waits to close a region with 1.1 b in it; "
            "cycle: 0 test -> 1 a -> 1.1 b -> 0 test; futurelock: 0 test holds an obligation");
    run(closes_around, "cycle: task 1 -> task 2 -> task 3 -> task 1; task 1 waits: region-close 2; "
                       "task 2 waits: region-close 3; task 3 waits: mutex-lock 1, kept by task 1");
}

static asx_status joins_second(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_join(cx, &all.tasks[1], NULL);
}

static asx_status joins_first(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_join(cx, &all.tasks[0], NULL);
}

static void join_each_other(asx_cx *cx, void *arg)
{
    (void)arg;
    begin(cx, NULL);
    start(0, "a", joins_second);
    start(1, "b", joins_first);
    finish();
}

ASX_TEST(joins_in_a_circle_are_told)
{
    explore(join_each_other,
            "1 a waits to join 2 b; 2 b waits to join 1 a; "
            "0 test waits to close a region with 1 a and 2 b in it; cycle: 1 a -> 2 b -> 1 a");
}

static asx_status is_a_branch(asx_cx *cx, void *arg)
{
    (void)arg;
    return locks(cx, NULL);
}

static void races_under_lock(asx_cx *cx, void *arg)
{
    asx_branch branches[] = { { "one", is_a_branch, NULL }, { "two", is_a_branch, NULL } };
    asx_mutex_guard guard;
    (void)arg;
    begin(cx, NULL);
    CHECK_STATUS(asx_mutex_lock(cx, &all.mutex, &guard), ASX_OK);
    (void)asx_race_all(cx, branches, 2, NULL, NULL, NULL);
    (void)asx_mutex_unlock(&guard);
    finish();
}

ASX_TEST(who_waits_for_the_first_of_some_is_in_the_circle)
{
    explore(races_under_lock,
            "0 test waits for the first of 1 one and 2 two; "
            "1 one waits to lock all.mutex, which 0 test holds; "
            "2 two waits to lock all.mutex, which 0 test holds; "
            "cycle: 0 test -> 1 one -> 0 test; futurelock: 0 test holds an obligation");
}

/* There is room for one. */
static void starts_under_lock(asx_cx *cx, void *arg)
{
    asx_region_options options = { .tasks_max = 1, .admission = ASX_ADMISSION_WAIT };
    asx_mutex_guard guard;
    (void)arg;
    begin(cx, &options);
    CHECK_STATUS(asx_mutex_lock(cx, &all.mutex, &guard), ASX_OK);
    start(0, "a", locks);
    (void)asx_spawn(&all.region, "b", locks, NULL);
    (void)asx_mutex_unlock(&guard);
    finish();
}

ASX_TEST(who_waits_for_room_waits_for_those_who_have_it)
{
    explore(starts_under_lock,
            "0 test waits to spawn in a region with 1 a in it; "
            "1 a waits to lock all.mutex, which 0 test holds; "
            "cycle: 0 test -> 1 a -> 0 test; futurelock: 0 test holds an obligation");
    run(starts_under_lock, "cycle: task 1 -> task 2 -> task 1; "
                           "task 1 waits: admission 2, kept by task 2; "
                           "task 2 waits: mutex-lock 1, kept by task 1");
}

/* ---- what is held --------------------------------------------------------------------------- */

static void two(asx_cx *cx, asx_task_fn a, asx_task_fn b)
{
    begin(cx, NULL);
    start(0, "a", a);
    start(1, "b", b);
    finish();
}

static asx_status lock_both(asx_cx *cx, const asx_mutex *first, const asx_mutex *last)
{
    asx_mutex_guard guards[2];
    if (asx_mutex_lock(cx, first, &guards[0]) < 0)
        return ASX_OK;
    (void)asx_yield(cx);
    if (asx_mutex_lock(cx, last, &guards[1]) >= 0)
        (void)asx_mutex_unlock(&guards[1]);
    return asx_mutex_unlock(&guards[0]);
}

static asx_status locks_first(asx_cx *cx, void *arg)
{
    (void)arg;
    return lock_both(cx, &all.mutex, &all.second);
}

static asx_status locks_second(asx_cx *cx, void *arg)
{
    (void)arg;
    return lock_both(cx, &all.second, &all.mutex);
}

static void both_orders(asx_cx *cx, void *arg)
{
    (void)arg;
    two(cx, locks_first, locks_second);
}

ASX_TEST(locks_in_both_orders_are_a_circle)
{
    explore(both_orders,
            "1 a waits to lock last, which 2 b holds; 2 b waits to lock last, which 1 a holds; "
            "0 test waits to close a region with 1 a and 2 b in it; cycle: 1 a -> 2 b -> 1 a; "
            "futurelock: 1 a holds an obligation; futurelock: 2 b holds an obligation");
    run(both_orders, "cycle: task 2 -> task 3 -> task 2; task 1 waits: region-close 2; "
                     "task 2 waits: mutex-lock 2, kept by task 3; "
                     "task 3 waits: mutex-lock 1, kept by task 2");
}

/* Who waits for the condition does not hold the mutex any more, and has its guard. */
static asx_status waits_for_condition(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    if (asx_mutex_lock(cx, &all.mutex, &guard) < 0)
        return ASX_OK;
    (void)asx_condition_wait(cx, &all.condition, &guard);
    return asx_mutex_unlock(&guard);
}

static asx_status locks_for_ever(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    for (int i = 0; i < 3; i++)
        (void)asx_yield(cx);
    if (asx_mutex_lock(cx, &all.mutex, &guard) < 0)
        return ASX_OK;
    (void)asx_mutex_lock(cx, &all.second, &(asx_mutex_guard){ 0 });
    return asx_mutex_unlock(&guard);
}

static void condition_and_lock(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    begin(cx, NULL);
    CHECK_STATUS(asx_mutex_lock(cx, &all.second, &guard), ASX_OK);
    start(0, "a", waits_for_condition);
    start(1, "b", locks_for_ever);
    finish();
}

ASX_TEST(who_waits_for_a_condition_keeps_nobody)
{
    run(condition_and_lock, "cycle: task 1 -> task 3 -> task 1; task 1 waits: region-close 2; "
                            "task 2 waits: condition-wait 1; "
                            "task 3 waits: mutex-lock 2, kept by task 1");
}

static asx_status takes_two(asx_cx *cx, void *arg)
{
    asx_semaphore_permit permits[2];
    (void)arg;
    if (asx_semaphore_acquire(cx, &all.semaphore, 1, &permits[0]) < 0)
        return ASX_OK;
    (void)asx_yield(cx);
    if (asx_semaphore_acquire(cx, &all.semaphore, 1, &permits[1]) >= 0)
        (void)asx_semaphore_release(&permits[1]);
    return asx_semaphore_release(&permits[0]);
}

static void each_takes_two(asx_cx *cx, void *arg)
{
    (void)arg;
    two(cx, takes_two, takes_two);
}

/* Nobody else could give any back. */
static void takes_three(asx_cx *cx, void *arg)
{
    asx_semaphore_permit permits[2];
    (void)arg;
    begin(cx, NULL);
    CHECK_STATUS(asx_semaphore_acquire(cx, &all.semaphore, 2, &permits[0]), ASX_OK);
    (void)asx_semaphore_acquire(cx, &all.semaphore, 1, &permits[1]);
    finish();
}

ASX_TEST(who_has_permits_is_in_the_circle)
{
    explore(each_takes_two,
            "1 a waits to acquire all.semaphore, which 2 b holds; "
            "2 b waits to acquire all.semaphore, which 1 a holds; "
            "0 test waits to close a region with 1 a and 2 b in it; cycle: 1 a -> 2 b -> 1 a; "
            "futurelock: 1 a holds an obligation; futurelock: 2 b holds an obligation");
    run(each_takes_two, "cycle: task 2 -> task 3 -> task 2; task 1 waits: region-close 2; "
                        "task 2 waits: semaphore-acquire 1, kept by task 3; "
                        "task 3 waits: semaphore-acquire 1, kept by task 2");
    explore(takes_three,
            "0 test waits to acquire all.semaphore, which 0 test holds; cycle: 0 test -> 0 test; "
            "futurelock: 0 test holds an obligation");
}

static asx_status writes(asx_cx *cx, void *arg)
{
    asx_rwlock_guard guard;
    (void)arg;
    return asx_rwlock_write(cx, &all.rwlock, &guard) < 0 ? ASX_OK : asx_rwlock_unlock(&guard);
}

static asx_status reads_and_locks(asx_cx *cx, void *arg)
{
    asx_rwlock_guard guard;
    if (asx_rwlock_read(cx, &all.rwlock, &guard) < 0)
        return ASX_OK;
    (void)asx_yield(cx);
    (void)locks(cx, arg);
    return asx_rwlock_unlock(&guard);
}

static asx_status locks_and_reads(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    asx_rwlock_guard reads;
    (void)arg;
    if (asx_mutex_lock(cx, &all.mutex, &guard) < 0)
        return ASX_OK;
    (void)asx_yield(cx);
    if (asx_rwlock_read(cx, &all.rwlock, &reads) >= 0)
        (void)asx_rwlock_unlock(&reads);
    return asx_mutex_unlock(&guard);
}

static void reads_behind_a_writer(asx_cx *cx, void *arg)
{
    (void)arg;
    begin(cx, NULL);
    start(0, "a", reads_and_locks);
    start(1, "b", writes);
    CHECK_STATUS(asx_spawn(&all.region, "c", locks_and_reads, NULL), ASX_OK);
    finish();
}

ASX_TEST(a_reader_waits_for_the_writer_that_came_before)
{
    explore(reads_behind_a_writer,
            "1 a waits to lock all.mutex, which 3 c holds; "
            "2 b waits to write-lock all.rwlock, which 1 a holds; "
            "3 c waits to read-lock all.rwlock, which 2 b has asked for; "
            "0 test waits to close a region with 1 a, 2 b and 3 c in it; "
            "cycle: 1 a -> 3 c -> 2 b -> 1 a; "
            "futurelock: 1 a holds an obligation; futurelock: 3 c holds an obligation");
    run(reads_behind_a_writer,
        "cycle: task 2 -> task 4 -> task 3 -> task 2; task 1 waits: region-close 2; "
        "task 2 waits: mutex-lock 1, kept by task 4; task 3 waits: rwlock-write 1, kept by task 2; "
        "task 4 waits: rwlock-read 1, kept by task 3");
}

static void writes_under_lock(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    asx_rwlock_guard reads;
    (void)arg;
    begin(cx, NULL);
    CHECK_STATUS(asx_rwlock_read(cx, &all.rwlock, &reads), ASX_OK);
    CHECK_STATUS(asx_mutex_lock(cx, &all.mutex, &guard), ASX_OK);
    start(0, "a", reads_and_locks);
    start(1, "b", reads_and_locks);
    (void)asx_yield(cx);
    (void)asx_rwlock_unlock(&reads);
    (void)writes(cx, NULL);
    (void)asx_mutex_unlock(&guard);
    finish();
}

ASX_TEST(a_writer_waits_for_all_who_read)
{
    explore(writes_under_lock,
            "0 test waits to write-lock all.rwlock, which 1 a and 2 b hold; "
            "1 a waits to lock all.mutex, which 0 test holds; "
            "2 b waits to lock all.mutex, which 0 test holds; cycle: 0 test -> 1 a -> 0 test; "
            "futurelock: 0 test holds an obligation; futurelock: 1 a holds an obligation; "
            "futurelock: 2 b holds an obligation");
}

static asx_status calls_and_locks(asx_cx *cx, void *arg)
{
    return asx_once_call(cx, &all.once, locks, arg);
}

static asx_status locks_and_calls(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    if (asx_mutex_lock(cx, &all.mutex, &guard) < 0)
        return ASX_OK;
    (void)asx_yield(cx);
    (void)asx_once_call(cx, &all.once, waits_in_vain, arg);
    return asx_mutex_unlock(&guard);
}

static void once_and_lock(asx_cx *cx, void *arg)
{
    (void)arg;
    two(cx, calls_and_locks, locks_and_calls);
}

ASX_TEST(who_calls_once_is_in_the_circle)
{
    run(once_and_lock, "cycle: task 2 -> task 3 -> task 2; task 1 waits: region-close 2; "
                       "task 2 waits: mutex-lock 1, kept by task 3; "
                       "task 3 waits: once-call 1, kept by task 2");
    explore(once_and_lock,
            "1 a waits to lock all.mutex, which 2 b holds; "
            "2 b waits to call once all.once, which 1 a calls; "
            "0 test waits to close a region with 1 a and 2 b in it; cycle: 1 a -> 2 b -> 1 a; "
            "futurelock: 1 a holds an obligation; futurelock: 2 b holds an obligation");
}
