/* What a failure says: who holds what others wait for, what a panic said, what was said of
 * objects, and whose deadline came. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static char *lanes, *text;

static void keep(void *ctx, const asx_explore_failure *failure)
{
    (void)ctx;
    free(lanes);
    free(text);
    lanes = strdup(failure->interleaving);
    text = strdup(failure->text);
}

static void explore(asx_lab_fn fn, asx_explore_clock clock)
{
    asx_explore_options options = { .clock = clock, .stop_at_first = true, .on_failure = keep };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(fn, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK(lanes != NULL && text != NULL);
}

static void has(const char *in, const char *words)
{
    if (strstr(in, words) == NULL)
        asx_test_fail(__FILE__, __LINE__, "no \"%s\" in\n%s\n%s", words, text, lanes);
}

static void has_not(const char *in, const char *words)
{
    if (strstr(in, words) != NULL)
        asx_test_fail(__FILE__, __LINE__, "\"%s\" in\n%s\n%s", words, text, lanes);
}

static struct {
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_condition condition;
    int cell;
} all;

static void run(asx_cx *cx, asx_task_fn a, asx_task_fn b)
{
    asx_region r;
    all.cell = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, &(asx_mutex_options){ .name = "m" }, &all.mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(&r, &(asx_rwlock_options){ .name = "rw" }, &all.rwlock), ASX_OK);
    CHECK_STATUS(asx_condition_create(&r, &(asx_condition_options){ .name = "c" },
                                      &all.condition), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", a, NULL), ASX_OK);
    if (b != NULL)
        CHECK_STATUS(asx_spawn(&r, "b", b, NULL), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
}

/* ---- deadlocks ------------------------------------------------------------------------------ */

static asx_status locks_then_writes(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    asx_rwlock_guard writes;
    (void)arg;
    (void)asx_mutex_lock(cx, &all.mutex, &guard);
    (void)asx_rwlock_write(cx, &all.rwlock, &writes);
    (void)asx_rwlock_unlock(&writes);
    return asx_mutex_unlock(&guard);
}

static asx_status reads_then_locks(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    asx_rwlock_guard reads;
    (void)arg;
    (void)asx_rwlock_read(cx, &all.rwlock, &reads);
    (void)asx_rwlock_unlock(&reads); /* that it was held before does not count */
    (void)asx_rwlock_read(cx, &all.rwlock, &reads);
    (void)asx_mutex_lock(cx, &all.mutex, &guard);
    (void)asx_mutex_unlock(&guard);
    return asx_rwlock_unlock(&reads);
}

static void circle(asx_cx *cx, void *arg)
{
    (void)arg;
    run(cx, locks_then_writes, reads_then_locks);
}

ASX_TEST(a_circle_through_a_read_write_lock_is_told)
{
    explore(circle, ASX_EXPLORE_QUIESCENT);
    has(text, "1 a waits to write-lock all.rwlock, which 2 b holds");
    has(text, "2 b waits to lock all.mutex, which 1 a holds");
    has(text, "; cycle: ");
    has(lanes, "request to write all.rwlock");
    has_not(lanes, "nothing");
}

static asx_status waits_in_vain(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    (void)asx_mutex_lock(cx, &all.mutex, &guard);
    (void)asx_condition_wait(cx, &all.condition, &guard);
    return asx_mutex_unlock(&guard);
}

static void no_signal(asx_cx *cx, void *arg)
{
    (void)arg;
    run(cx, waits_in_vain, NULL);
}

ASX_TEST(who_waits_for_a_condition_is_told_so_and_holds_nothing)
{
    explore(no_signal, ASX_EXPLORE_QUIESCENT);
    has(text, "1 a waits for condition all.condition (");
    has_not(text, "obligation");
}

/* ---- failures ------------------------------------------------------------------------------- */

static asx_status panics(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_panic(cx, "out of %s", "paper");
}

static void panic(asx_cx *cx, void *arg)
{
    (void)arg;
    run(cx, panics, NULL);
}

static asx_status asserts(asx_cx *cx, void *arg)
{
    (void)arg;
    ASX_ASSERT(cx, all.cell == 1);
    return ASX_OK;
}

static void assertion(asx_cx *cx, void *arg)
{
    (void)arg;
    run(cx, asserts, NULL);
}

ASX_TEST(what_a_panic_says_is_told)
{
    explore(panic, ASX_EXPLORE_QUIESCENT);
    CHECK_STR_EQ(text, "panicked: out of paper");
    explore(assertion, ASX_EXPLORE_QUIESCENT);
    has(text, "panicked: ");
    has(text, "test_words.c:");
    has(text, "assertion failed: all.cell == 1");
}

static asx_status borrows(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_ghost_borrow(cx, &all.cell, ASX_GHOST_SHARED);
    return asx_ghost_return(cx, &all.cell);
}

static asx_status touches(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_ghost_touch(cx, &all.cell, true);
}

static void ghosts(asx_cx *cx, void *arg)
{
    (void)arg;
    run(cx, borrows, touches);
}

ASX_TEST(what_is_said_of_objects_is_shown_by_its_name_and_tasks_by_theirs)
{
    explore(ghosts, ASX_EXPLORE_QUIESCENT);
    CHECK_STR_EQ(text, "2 b writes what 1 a has borrowed");
    has(lanes, "borrow all.cell");
    has(lanes, "touch all.cell");
}

/* ---- lanes ---------------------------------------------------------------------------------- */

static asx_status loads(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_lab_load(cx, &all.cell);
    return asx_checkpoint(cx);
}

static void has_a_deadline(asx_cx *cx, void *arg)
{
    asx_region_options options = { .timeout_ns = ASX_MS };
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    (void)asx_spawn(&r, "a", loads, NULL);
    asx_lab_check(cx, asx_region_close(&r, ASX_OK) == ASX_OK);
}

ASX_TEST(the_column_of_a_deadline_says_whose_it_is)
{
    explore(has_a_deadline, ASX_EXPLORE_ADVERSARIAL);
    has(lanes, "deadline of 0 test");
    has_not(lanes, "2147483");
}

/* ---- what is not explored ------------------------------------------------------------------- */

static int shutdown_line, others;

static void shuts_down(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < others; i++)
        CHECK_STATUS(asx_spawn(&r, "a", loads, NULL), ASX_OK);
    shutdown_line = __LINE__ + 1;
    (void)asx_runtime_shutdown(asx_cx_runtime(cx), 0, NULL);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(what_is_not_explored_is_told_with_its_line)
{
    char place[64];
    shutdown_line = 0;
    for (others = 0; others < 3; others++)
        for (uint32_t jobs = 1; jobs <= 2; jobs++) {
            asx_explore_options options = { .jobs = jobs };
            asx_explore_result result;
            CHECK_STATUS(asx_explore(shuts_down, NULL, &options, &result), ASX_OK);
            CHECK_STATUS(result.status, ASX_E_NOT_SUPPORTED);
            CHECK(!result.complete);
            CHECK_STR_EQ(result.unsupported, "cancel-request");
            if (jobs == 1)
                (void)snprintf(place, sizeof place, "test_words.c:%d", shutdown_line);
            if (others == 2)
                CHECK(strstr(result.unsupported_site, place) != NULL);
        }
}
