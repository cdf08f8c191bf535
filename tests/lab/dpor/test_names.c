/* What a task has made is told apart however much it is: objects, memory, regions. Each program is
 * explored twice, with little and with much made in between, and has the same classes. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* More than there are numbers in one part of a name; and so many that they begin anew. */
enum { FEW = 1, MANY = 4095, MORE = 2 * 4096 - 1 };

typedef struct program {
    int between; /* made between the first and the second */
    asx_region region;
    asx_mutex mutex[2];
    asx_channel_sender tx[2];
    asx_channel_receiver rx[2];
    int *cell[2];
} program;

static void explore(asx_lab_fn fn, int between, asx_explore_clock clock, asx_explore_result *ret)
{
    program p = { .between = between };
    asx_explore_options options = { .clock = clock };
    CHECK_STATUS(asx_explore(fn, &p, &options, ret), ASX_OK);
    CHECK_STATUS(ret->status, ASX_OK);
    CHECK_EQ(ret->totals.bugs, 0);
    CHECK_EQ(ret->totals.redundant, 0);
    CHECK_EQ(ret->totals.blocked, 0);
    CHECK(ret->complete);
}

/* Two tasks, each with one of two things. */
static void run(asx_cx *cx, program *p, asx_task_fn a, asx_task_fn b)
{
    asx_lab_check(cx, asx_spawn(&p->region, "a", a, p) == ASX_OK);
    asx_lab_check(cx, asx_spawn(&p->region, "b", b, p) == ASX_OK);
    asx_lab_check(cx, asx_region_close(&p->region, ASX_OK) == ASX_OK);
}

/* ---- objects -------------------------------------------------------------------------------- */

static asx_status lock(asx_cx *cx, const asx_mutex *mutex)
{
    asx_mutex_guard guard;
    asx_status st = asx_mutex_lock(cx, mutex, &guard);
    return st < 0 ? st : asx_mutex_unlock(&guard);
}

static asx_status locks_0(asx_cx *cx, void *arg) { return lock(cx, &((program *)arg)->mutex[0]); }
static asx_status locks_1(asx_cx *cx, void *arg) { return lock(cx, &((program *)arg)->mutex[1]); }

static void two_mutexes(asx_cx *cx, void *arg)
{
    program *p = arg;
    asx_lab_check(cx, asx_region_open(cx, NULL, &p->region) == ASX_OK);
    asx_lab_check(cx, asx_mutex_create(&p->region, &(asx_mutex_options){ .name = "first" },
                                       &p->mutex[0]) == ASX_OK);
    for (int i = 0; i < p->between; i++)
        asx_lab_check(cx, asx_mutex_create(&p->region, &(asx_mutex_options){ .name = "other" },
                                           &p->mutex[1]) == ASX_OK);
    asx_lab_check(cx, asx_mutex_create(&p->region, &(asx_mutex_options){ .name = "second" },
                                       &p->mutex[1]) == ASX_OK);
    run(cx, p, locks_0, locks_1);
}

ASX_TEST(two_mutexes_have_nothing_to_do_with_each_other_however_many_are_between)
{
    static const int between[] = { FEW, MANY, MORE };
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        asx_explore_result result;
        explore(two_mutexes, between[i], ASX_EXPLORE_QUIESCENT, &result);
        CHECK_EQ(result.totals.executions, 1);
        CHECK_EQ(result.totals.deadlocks, 0);
    }
}

static asx_status send(asx_cx *cx, program *p, int which)
{
    return asx_channel_send(cx, &p->tx[which], &which);
}

static asx_status sends_0(asx_cx *cx, void *arg) { return send(cx, arg, 0); }
static asx_status sends_1(asx_cx *cx, void *arg) { return send(cx, arg, 1); }

/* One place each: if they were taken for one channel, the second sender would wait for ever. */
static void two_channels(asx_cx *cx, void *arg)
{
    program *p = arg;
    asx_mutex mutex;
    asx_lab_check(cx, asx_region_open(cx, NULL, &p->region) == ASX_OK);
    asx_lab_check(cx, asx_channel_create(&p->region, sizeof(int), 1, NULL, &p->tx[0], &p->rx[0]) ==
                          ASX_OK);
    for (int i = 0; i < p->between; i++)
        asx_lab_check(cx, asx_mutex_create(&p->region, &(asx_mutex_options){ .name = "other" },
                                           &mutex) == ASX_OK);
    asx_lab_check(cx, asx_channel_create(&p->region, sizeof(int), 1, NULL, &p->tx[1], &p->rx[1]) ==
                          ASX_OK);
    run(cx, p, sends_0, sends_1);
}

ASX_TEST(two_channels_are_two_however_much_is_between)
{
    for (int between = MANY - 8; between <= MANY; between++) { /* a channel is several things */
        asx_explore_result result;
        explore(two_channels, between, ASX_EXPLORE_QUIESCENT, &result);
        CHECK_EQ(result.totals.executions, 1);
        CHECK_EQ(result.totals.deadlocks, 0);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

static asx_status adds_0(asx_cx *cx, void *arg)
{
    program *p = arg;
    (void)asx_lab_fetch_add(cx, p->cell[0], 1);
    return send(cx, p, 0); /* so that operations access several objects, and cells have names */
}

static asx_status adds_1(asx_cx *cx, void *arg)
{
    (void)asx_lab_fetch_add(cx, ((program *)arg)->cell[1], 1);
    return ASX_OK;
}

static int *new_cell(asx_cx *cx, const asx_region *region)
{
    void *memory = NULL;
    asx_lab_check(cx, asx_region_alloc(region, sizeof(int), &memory) == ASX_OK);
    *(int *)memory = 0;
    return memory;
}

static void two_cells(asx_cx *cx, void *arg)
{
    program *p = arg;
    asx_lab_check(cx, asx_region_open(cx, NULL, &p->region) == ASX_OK);
    asx_lab_check(cx, asx_channel_create(&p->region, sizeof(int), 1, NULL, &p->tx[0], &p->rx[0]) ==
                          ASX_OK);
    p->cell[0] = new_cell(cx, &p->region);
    for (int i = 0; i < p->between; i++)
        (void)new_cell(cx, &p->region);
    p->cell[1] = new_cell(cx, &p->region);
    run(cx, p, adds_0, adds_1);
}

ASX_TEST(two_cells_in_memory_of_a_region_are_two_however_much_is_between)
{
    static const int between[] = { FEW, MANY };
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        asx_explore_result result;
        explore(two_cells, between[i], ASX_EXPLORE_QUIESCENT, &result);
        CHECK_EQ(result.totals.executions, 1);
    }
}

/* ---- stacks --------------------------------------------------------------------------------- */

typedef struct shared {
    program *p;
    int *cell;
} shared;

static asx_status adds_and_sends(asx_cx *cx, void *arg)
{
    const shared *s = arg;
    (void)asx_lab_fetch_add(cx, s->cell, 1);
    return send(cx, s->p, 0);
}

/* Has a cell on its stack, and need not have come to an operation when others access it. */
static asx_status shares_a_cell(asx_cx *cx, program *p)
{
    asx_region r;
    int cell = 0;
    shared s = { .p = p, .cell = &cell };
    asx_status st = asx_region_open(cx, NULL, &r);
    (void)asx_spawn(&r, "a", adds_and_sends, &s);
    (void)asx_spawn(&r, "b", adds_and_sends, &s);
    return asx_region_close(&r, st);
}

static asx_status shares(asx_cx *cx, void *arg) { return shares_a_cell(cx, arg); }

static asx_status looks_and_shares(asx_cx *cx, void *arg)
{
    program *p = arg;
    (void)asx_lab_load(cx, &p->between);
    return shares_a_cell(cx, p);
}

typedef struct copied {
    program *p;
    int cell;
} copied;

static asx_status shares_its_argument(asx_cx *cx, void *arg)
{
    copied *c = arg;
    asx_region r;
    shared s = { .p = c->p, .cell = &c->cell };
    asx_status st = asx_region_open(cx, NULL, &r);
    (void)asx_spawn(&r, "a", adds_and_sends, &s);
    (void)asx_spawn(&r, "b", adds_and_sends, &s);
    return asx_region_close(&r, st);
}

static asx_status gives_a_copy(asx_cx *cx, void *arg)
{
    asx_region r;
    copied c = { .p = arg };
    asx_status st = asx_region_open(cx, NULL, &r);
    (void)asx_spawn_copy(&r, "copy", shares_its_argument, &c, sizeof c);
    return asx_region_close(&r, st);
}

static void two_stacks(asx_cx *cx, void *arg)
{
    static const asx_task_fn how[] = { shares, looks_and_shares, gives_a_copy };
    program *p = arg;
    asx_task_fn fn = how[p->between];
    asx_lab_check(cx, asx_region_open(cx, NULL, &p->region) == ASX_OK);
    asx_lab_check(cx, asx_channel_create(&p->region, sizeof(int), 4, NULL, &p->tx[0], &p->rx[0]) ==
                          ASX_OK);
    run(cx, p, fn, fn);
}

/* Four sends in any order, and two additions in any order to each of the two cells. A task has
 * another stack next time, which ends at another place of its slot, and the copy of its argument is
 * elsewhere. */
ASX_TEST(a_cell_of_a_task_is_the_same_one_wherever_its_stack_and_its_argument_are)
{
    for (uint64_t seed = 0; seed < 30; seed++) {
        program p = { .between = (int)(seed % 3) };
        asx_explore_options options = { .seed = seed };
        asx_explore_result result;
        if (seed >= 15)
            options.mode = ASX_EXPLORE_SOURCE;
        CHECK_STATUS(asx_explore(two_stacks, &p, &options, &result), ASX_OK);
        CHECK_STATUS(result.status, ASX_OK);
        CHECK_EQ(result.totals.classes, 24 * 2 * 2);
        CHECK_EQ(result.totals.redundant, 0);
        CHECK_EQ(result.totals.blocked, 0);
        CHECK(result.complete);
    }
}

/* ---- regions -------------------------------------------------------------------------------- */

static asx_status waits(asx_cx *cx, program *p, int which)
{
    asx_region r;
    int message;
    asx_status st = asx_region_open(cx, &(asx_region_options){ .timeout_ns = 10 }, &r);
    if (st < 0)
        return st;
    st = asx_channel_recv(cx, &p->rx[which], &message);
    (void)asx_region_close(&r, st);
    return ASX_OK;
}

static asx_status waits_twice(asx_cx *cx, void *arg)
{
    program *p = arg;
    asx_status st = waits(cx, p, 0);
    for (int i = 0; i < p->between && st >= 0; i++) {
        asx_region r;
        st = asx_region_open(cx, NULL, &r);
        if (st >= 0)
            st = asx_region_close(&r, ASX_OK);
    }
    return st < 0 ? st : waits(cx, p, 1);
}

static asx_status sends_both(asx_cx *cx, void *arg)
{
    asx_status st = send(cx, arg, 0);
    return st < 0 ? st : send(cx, arg, 1);
}

static void two_deadlines(asx_cx *cx, void *arg)
{
    program *p = arg;
    asx_lab_check(cx, asx_region_open(cx, NULL, &p->region) == ASX_OK);
    for (int i = 0; i < 2; i++)
        asx_lab_check(cx, asx_channel_create(&p->region, sizeof(int), 1, NULL, &p->tx[i],
                                             &p->rx[i]) ==
                              ASX_OK);
    run(cx, p, waits_twice, sends_both);
}

/* A region that is closed has no deadline any more; this one is not the first one. */
ASX_TEST(a_region_has_a_deadline_of_its_own_however_many_were_opened_before)
{
    asx_explore_result few, many;
    explore(two_deadlines, FEW, ASX_EXPLORE_ADVERSARIAL, &few);
    explore(two_deadlines, MANY, ASX_EXPLORE_ADVERSARIAL, &many);
    CHECK_EQ(few.totals.executions, 4);
    CHECK_EQ(many.totals.executions, few.totals.executions);
    CHECK_EQ(many.totals.deadlocks, few.totals.deadlocks);
}

/* ---- cells that have no name but their address ---------------------------------------------- */

enum { APART = 16, PLACES = 64 };

/* Two add to a cell, which is at the next of some places in each execution. */
typedef struct roaming {
    int *from;
    size_t places, next;
    bool sends; /* somebody does too: operations access several objects ... */
    bool late;  /* ... and is started last */
    asx_channel_sender tx;
} roaming;

static int in_the_data[APART * PLACES];

static asx_status adds(asx_cx *cx, void *arg)
{
    (void)asx_lab_fetch_add(cx, (int *)arg, 1);
    return ASX_OK;
}

static asx_status sends_once(asx_cx *cx, void *arg)
{
    int message = 1;
    return asx_channel_send(cx, &((roaming *)arg)->tx, &message);
}

static void roams(asx_cx *cx, void *arg)
{
    roaming *o = arg;
    int *cell = &o->from[o->next++ % o->places * APART];
    asx_channel_receiver rx;
    asx_region r;
    *cell = 0;
    asx_lab_check(cx, asx_region_open(cx, NULL, &r) == ASX_OK);
    if (o->sends)
        asx_lab_check(cx, asx_channel_create(&r, sizeof(int), 1, NULL, &o->tx, &rx) == ASX_OK);
    if (o->sends && !o->late)
        asx_lab_check(cx, asx_spawn(&r, "s", sends_once, o) == ASX_OK);
    asx_lab_check(cx, asx_spawn(&r, "a", adds, cell) == ASX_OK);
    asx_lab_check(cx, asx_spawn(&r, "b", adds, cell) == ASX_OK);
    if (o->late)
        asx_lab_check(cx, asx_spawn(&r, "s", sends_once, o) == ASX_OK);
    asx_lab_check(cx, asx_region_close(&r, ASX_OK) == ASX_OK);
    asx_lab_check(cx, *cell == 2);
}

static asx_explore_result explore_roaming(const asx_explore_options *options, int *from,
                                          size_t places, bool sends)
{
    roaming o = { .from = from, .places = places, .sends = sends };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(roams, &o, options, &result), ASX_OK);
    CHECK_EQ(result.totals.bugs, 0);
    return result;
}

ASX_TEST(a_cell_that_is_elsewhere_in_the_next_execution_ends_the_exploration)
{
    int *memory = calloc(PLACES, APART * sizeof *memory);
    CHECK(memory != NULL);
    for (size_t places = 1; places < PLACES; places++)
        for (uint64_t seed = 0; seed < 6; seed++) {
            asx_explore_options options = { .seed = seed, .jobs = seed == 1 ? 2 : 1 };
            if (seed == 2)
                options.mode = ASX_EXPLORE_SOURCE;
            asx_explore_result r = explore_roaming(&options, memory, places, true);
            CHECK_STATUS(r.status, places > 1 ? ASX_E_DIVERGED : ASX_OK);
            CHECK_EQ(r.complete, places == 1);
            CHECK_EQ(r.cell_moved, places > 1);
            CHECK_EQ(strstr(r.unsupported_site, "test_names.c:") != NULL, places > 1);
            CHECK(places > 1 || r.totals.classes == 2);
        }
    free(memory);
}

/* Nothing that is left to do names it. */
ASX_TEST(a_cell_may_be_anywhere_if_operations_access_one_object_or_all_orders_are_run)
{
    int *memory = calloc(PLACES, APART * sizeof *memory);
    asx_explore_options options = { .seed = 0 };
    CHECK(memory != NULL);
    asx_explore_result r = explore_roaming(&options, memory, PLACES, false);
    CHECK(r.complete && !r.cell_moved && r.totals.executions == 2);
    options.mode = ASX_EXPLORE_DFS;
    r = explore_roaming(&options, memory, PLACES, true);
    CHECK(r.complete && !r.cell_moved && r.totals.classes == 2);
    options.mode = ASX_EXPLORE_RANDOM;
    options.executions_max = 50;
    r = explore_roaming(&options, memory, PLACES, true);
    CHECK_STATUS(r.status, ASX_OK);
    CHECK(!r.cell_moved);
    free(memory);
}

/* It is another variable each time, and executions are begun in vain. */
ASX_TEST(an_execution_that_leads_nowhere_is_not_believed)
{
    asx_explore_options options = { .seed = 0 };
    asx_explore_result r = explore_roaming(&options, in_the_data, PLACES, true);
    CHECK(r.totals.blocked != 0);
    CHECK_STATUS(r.status, ASX_E_DIVERGED);
    CHECK(!r.complete && !r.cell_moved);
    r = explore_roaming(&options, in_the_data, 1, true);
    CHECK(r.complete && r.totals.executions == 2);
}

/* What was done is forgotten with the first execution, in which nobody had sent anything yet. */
ASX_TEST(a_cell_that_moves_is_told_of_also_if_an_execution_in_vain_is_all_that_shows_it)
{
    int *memory = calloc(PLACES, APART * sizeof *memory);
    roaming o = { .from = memory, .places = PLACES, .sends = true, .late = true };
    asx_explore_options options = { .seed = 0 };
    asx_explore_result r;
    CHECK(memory != NULL);
    CHECK_STATUS(asx_explore(roams, &o, &options, &r), ASX_OK);
    CHECK_STATUS(r.status, ASX_E_DIVERGED);
    CHECK(!r.complete && r.cell_moved);
    free(memory);
}
