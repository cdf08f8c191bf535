/* Traces of replays tell classes apart: what a test accesses is in them, and what commutes is not a
 * difference. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "trace/foata.h"

#define MOST 4096

static struct {
    char *schedules[MOST];
    size_t len;
    char *bytes;
    size_t bytes_len;
} all;

static int cells[2];
static asx_lab_mutex mutex;
static asx_lab_semaphore semaphore;

static void keep(void *ctx, const asx_explore_failure *failure)
{
    (void)ctx;
    CHECK(all.len < MOST);
    all.schedules[all.len++] = strdup(failure->schedule);
}

static void ignore(void *ctx, const asx_explore_failure *failure)
{
    (void)ctx;
    (void)failure;
}

static asx_status sink(void *ctx, const void *bytes, size_t len)
{
    (void)ctx;
    all.bytes = realloc(all.bytes, all.bytes_len + len);
    CHECK(all.bytes != NULL);
    memcpy(all.bytes + all.bytes_len, bytes, len);
    all.bytes_len += len;
    return ASX_OK;
}

static asx__foata record(asx_lab_fn fn, const char *schedule)
{
    asx_explore_options options = { .schedule = schedule, .sink = sink, .on_failure = ignore };
    asx_explore_result result;
    asx_trace_reader reader;
    asx__foata f;
    all.bytes_len = 0;
    CHECK_STATUS(asx_explore(fn, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_EQ(result.totals.bugs, 1);
    CHECK_STATUS(asx_trace_reader_init(&reader, all.bytes, all.bytes_len), ASX_OK);
    CHECK_STATUS(asx__foata_make(&reader, &f), ASX_OK);
    return f;
}

static bool same(const asx__foata *a, const asx__foata *b)
{
    if (a->len != b->len || a->layers != b->layers)
        return false;
    for (size_t i = 0; i < a->len; i++)
        if (a->items[i].layer != b->items[i].layer ||
            strcmp(a->items[i].text, b->items[i].text) != 0)
            return false;
    return true;
}

/* Every interleaving is recorded: there are as many normal forms as classes. */
static void count(asx_lab_fn fn, size_t interleavings)
{
    asx_explore_result result;
    asx_explore_options every = { .mode = ASX_EXPLORE_DFS, .on_failure = keep };
    asx_explore_options classes = { .mode = ASX_EXPLORE_OPTIMAL, .on_failure = ignore };
    static asx__foata forms[MOST];
    size_t len = 0;
    all.len = 0;
    CHECK_STATUS(asx_explore(fn, NULL, &every, &result), ASX_OK);
    CHECK(result.complete);
    CHECK_EQ(all.len, result.totals.executions);
    CHECK_EQ(all.len, interleavings);
    CHECK_STATUS(asx_explore(fn, NULL, &classes, &result), ASX_OK);
    CHECK(result.complete);
    for (size_t i = 0; i < all.len; i++) {
        size_t as = 0;
        forms[len] = record(fn, all.schedules[i]);
        while (!same(&forms[as], &forms[len]))
            as++;
        if (as == len)
            len++;
        else
            asx__foata_deinit(&forms[len]);
        free(all.schedules[i]);
    }
    CHECK_EQ(len, result.totals.executions);
    while (len-- > 0)
        asx__foata_deinit(&forms[len]);
    free(all.bytes);
    all.bytes = NULL;
}

static void two(asx_cx *cx, asx_task_fn a, asx_task_fn b, void *arg)
{
    asx_region r;
    memset(cells, 0, sizeof cells);
    memset(&mutex, 0, sizeof mutex);
    semaphore = (asx_lab_semaphore){ .units = 1 };
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", a, arg), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", b, arg), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
    asx_lab_check(cx, false);
}

static asx_status adds(asx_cx *cx, void *arg)
{
    int *cell = arg;
    asx_lab_store(cx, cell, asx_lab_load(cx, cell) + 1);
    return ASX_OK;
}

static void both_add(asx_cx *cx, void *arg)
{
    (void)arg;
    two(cx, adds, adds, &cells[0]);
}

/* It has another place in each process, and is named by who accesses it. */
static void both_add_on_a_stack(asx_cx *cx, void *arg)
{
    int cell = 0;
    (void)arg;
    two(cx, adds, adds, &cell);
}

ASX_TEST(orders_of_accesses_are_told_apart)
{
    count(both_add, 6);
    count(both_add_on_a_stack, 6);
}

/* Whoever is the first to read, that is no difference; nor do cells get other names by it. */
static asx_status reads_both(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_lab_load(cx, &cells[0]);
    (void)asx_lab_load(cx, &cells[1]);
    return ASX_OK;
}

static asx_status reads_back(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_lab_load(cx, &cells[1]);
    asx_lab_store(cx, &cells[0], 1);
    return ASX_OK;
}

static void read(asx_cx *cx, void *arg)
{
    two(cx, reads_both, reads_both, arg);
}

static void read_and_write(asx_cx *cx, void *arg)
{
    two(cx, reads_both, reads_back, arg);
}

ASX_TEST(reads_commute_in_traces)
{
    count(read, 6);
    count(read_and_write, 6);
}

static asx_status locks(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_lab_mutex_lock(cx, &mutex), ASX_OK);
    CHECK_STATUS(asx_lab_mutex_unlock(cx, &mutex), ASX_OK);
    CHECK_STATUS(asx_lab_semaphore_acquire(cx, &semaphore, 1), ASX_OK);
    CHECK_STATUS(asx_lab_semaphore_release(cx, &semaphore, 1), ASX_OK);
    return ASX_OK;
}

static void both_lock(asx_cx *cx, void *arg)
{
    two(cx, locks, locks, arg);
}

static asx_status chooses(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_lab_choose(cx, 2);
    return ASX_OK;
}

static void both_choose(asx_cx *cx, void *arg)
{
    two(cx, chooses, chooses, arg);
}

static asx_status says(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_ghost_borrow(cx, &cells[1], ASX_GHOST_SHARED);
    (void)asx_ghost_return(cx, &cells[1]);
    return ASX_OK;
}

static void both_say(asx_cx *cx, void *arg)
{
    two(cx, says, says, arg);
}

ASX_TEST(locks_choices_and_what_is_said_of_objects_are_in_traces)
{
    count(both_lock, 14);
    count(both_choose, 8);
    count(both_say, 6);
}
