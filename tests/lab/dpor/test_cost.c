/* What an exploration of operations on several objects costs: time in proportion to the steps, and
 * memory that follows the length of an execution, not their number. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "harness.h"
#include "lab/dpor/internal.h"

enum { TASKS = 40 };

/* Each task does its operations in this order. */
typedef struct program {
    uint32_t tasks;
    uint32_t len[TASKS];
    asx__op *code[TASKS];
} program;

static void run_once(const program *p, asx__dpor *d)
{
    uint32_t pc[TASKS] = { 0 }, chosen;
    asx__dpor_begin(d);
    for (uint32_t t = 1; t < p->tasks; t++)
        (void)asx__dpor_spawn(d, 0);
    for (uint32_t t = 0; t < p->tasks; t++)
        asx__dpor_announce(d, t, &p->code[t][0]);
    while ((chosen = asx__dpor_choose(d)) != ASX__DPOR_NONE) {
        (void)asx__dpor_commit(d, chosen);
        if (++pc[chosen] < p->len[chosen])
            asx__dpor_announce(d, chosen, &p->code[chosen][pc[chosen]]);
    }
}

static asx__dpor_stats explore_by(const program *p, uint64_t executions_max, bool check)
{
    asx__dpor_options options = { .mode = ASX__DPOR_OPTIMAL, .check = check };
    asx__dpor *d = asx__dpor_create(&options);
    asx__dpor_stats stats;
    CHECK(d != NULL);
    do {
        run_once(p, d);
        if (!asx__dpor_finish(d, false))
            break;
        asx__dpor_stats_get(d, &stats);
    } while (executions_max == 0 || stats.executions < executions_max);
    asx__dpor_stats_get(d, &stats);
    CHECK_STATUS(asx__dpor_status(d), ASX_OK);
    CHECK_EQ(stats.redundant, 0);
    CHECK_EQ(stats.blocked, 0);
    asx__dpor_destroy(d);
    return stats;
}

static asx__dpor_stats explore(const program *p, uint64_t executions_max)
{
    return explore_by(p, executions_max, true);
}

static asx__op channel_op(asx__op_kind kind, uint32_t channel, uint64_t capacity)
{
    return (asx__op){ .kind = kind, .a = capacity, .site = "",
                      .name = ASX__NAME(ASX__NAME_CHANNEL, 0, channel) };
}

static void add(program *p, uint32_t task, asx__op op)
{
    p->code[task][p->len[task]++] = op;
}

static void make(program *p, uint32_t tasks, size_t steps_most)
{
    *p = (program){ .tasks = tasks };
    for (uint32_t t = 0; t < tasks; t++) {
        p->code[t] = calloc(steps_most, sizeof *p->code[t]);
        CHECK(p->code[t] != NULL);
    }
}

static void unmake(program *p)
{
    for (uint32_t t = 0; t < p->tasks; t++)
        free(p->code[t]);
}

/* ---- time ----------------------------------------------------------------------------------- */

/* Where the steps are that have nothing to do with anybody else. */
enum { BEFORE, AFTER, AMONG };

/* Three tasks race for the end of a channel, each with `pad` messages to itself besides. */
static void make_padded(program *p, uint32_t pad, int where)
{
    make(p, 3, 2 * (size_t)pad + 8);
    for (uint32_t t = 0; t < 3; t++) {
        uint32_t races = 0;
        for (uint32_t i = 0; i < pad; i++) {
            if ((where == AFTER && i == 0) || (where == AMONG && i % (pad / 2) == 0)) {
                add(p, t, channel_op(ASX__OP_SEND, 0, 16));
                races++;
            }
            add(p, t, channel_op(ASX__OP_SEND, t + 1, 2));
            add(p, t, channel_op(ASX__OP_RECV, t + 1, 2));
        }
        for (; races < 2; races++)
            add(p, t, channel_op(ASX__OP_SEND, 0, 16));
    }
}

static double seconds(void)
{
    struct timespec ts;
    CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* The least of several: others use the processor too. */
static double cost_of_execution(uint32_t pad, int where)
{
    double least = 1e9;
    program p;
    make_padded(&p, pad, where);
    for (int i = 0; i < 4; i++) {
        double from = seconds();
        asx__dpor_stats stats = explore(&p, 0);
        double one = (seconds() - from) / (double)stats.executions;
        CHECK_EQ(stats.executions, 90); /* 6! / (2! 2! 2!) */
        least = one < least ? one : least;
    }
    unmake(&p);
    return least;
}

/* Eight times as many steps: about eight times the time. With the square it would be 64 times. */
ASX_TEST_TIMEOUT(the_cost_of_an_execution_is_linear_in_its_steps, 120)
{
    static const char *const names[] = { "before", "after", "among" };
    for (int where = BEFORE; where <= AMONG; where++) {
        double small = cost_of_execution(60, where), large = cost_of_execution(480, where);
        printf("  steps %s the races: %.1f us for 366 steps, %.1f us for 2886\n", names[where],
               small * 1e6, large * 1e6);
        if (asx_test_scale() == 1)
            CHECK(large < small * 20);
    }
}

/* Messages of two tasks on one channel, all of which could be exchanged. */
ASX_TEST_TIMEOUT(many_operations_on_one_channel_cost_no_more_each, 120)
{
    double cost[2];
    for (int i = 0; i < 2; i++) {
        uint32_t sends = i == 0 ? 50 : 400;
        program p;
        make(&p, 2, sends);
        for (uint32_t k = 0; k < 2 * sends; k++)
            add(&p, k % 2, channel_op(ASX__OP_SEND, 0, 1000));
        cost[i] = 1e9;
        for (int turn = 0; turn < 4; turn++) {
            double from = seconds();
            CHECK_EQ(explore(&p, 100).executions, 100);
            double one = (seconds() - from) / 100;
            cost[i] = one < cost[i] ? one : cost[i];
        }
        unmake(&p);
    }
    printf("  %.1f us for 100 sends, %.1f us for 800\n", cost[0] * 1e6, cost[1] * 1e6);
    if (asx_test_scale() == 1)
        CHECK(cost[1] < cost[0] * 24);
}

/* Names that differ in one thing only: of which task, its how manyeth, which part of it, or an
 * address. Where the first of them goes the others do not, else each is looked for behind all of
 * them. */
ASX_TEST(names_that_are_alike_have_places_of_their_own)
{
    static const struct {
        const char *what;
        uint64_t apart;
    } ways[] = { { "task", UINT64_C(1) << 40 },
                 { "number", UINT64_C(1) << ASX__NAME_PART_BITS },
                 { "part", 1 },
                 { "address", 64 } };
    enum { NAMES = 32 };
    asx__dpor_options options = { .mode = ASX__DPOR_OPTIMAL };
    asx__dpor *d = asx__dpor_create(&options);
    CHECK(d != NULL);
    asx__dpor_begin(d);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        bool taken[1024] = { false };
        int places = 0;
        CHECK(d->places_cap >= 2 * NAMES && d->places_cap <= 1024);
        for (uint64_t k = 0; k < NAMES; k++) {
            uint64_t name = ASX__NAME(ASX__NAME_CANCEL, 0, 0) + k * ways[i].apart;
            bool *place = &taken[asx__dpor_place(d, name) - d->places];
            places += !*place;
            *place = true;
        }
        printf("  %d names that differ in their %s: %d places\n", (int)NAMES, ways[i].what, places);
        CHECK(places >= NAMES / 2);
    }
    asx__dpor_destroy(d);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Two tasks race for a channel; besides there are pairs of tasks that race for others. */
static asx__dpor_stats race_besides(uint32_t pairs, bool first)
{
    program p;
    make(&p, 2 * pairs + 2, 4);
    uint32_t shift = first ? 0 : 2 * pairs;
    add(&p, shift, channel_op(ASX__OP_SEND, 0, 4));
    add(&p, shift + 1, channel_op(ASX__OP_SEND, 0, 4));
    for (uint32_t i = 0; i < 2 * pairs; i++)
        add(&p, first ? i + 2 : i, channel_op(ASX__OP_SEND, i / 2 + 1, 4));
    asx__dpor_stats stats = explore(&p, 0);
    unmake(&p);
    CHECK_EQ(stats.executions, UINT64_C(2) << pairs);
    return stats;
}

/* What is to be tried is as long as it must be, so that races that have nothing to do with each
 * other are not multiplied. */
ASX_TEST(what_is_left_to_do_does_not_grow_with_the_number_of_executions)
{
    for (int first = 0; first < 2; first++) {
        asx__dpor_stats few = race_besides(4, first), many = race_besides(12, first);
        printf("  %lu executions: %lu steps to try at most; %lu: %lu\n",
               (unsigned long)few.executions, (unsigned long)few.branches_most,
               (unsigned long)many.executions, (unsigned long)many.branches_most);
        CHECK(many.branches_most <= 26 * 2);
    }
}

/* All orders of n messages: n! executions. */
static asx__dpor_stats all_orders(uint32_t n)
{
    program p;
    make(&p, n, 1);
    for (uint32_t t = 0; t < n; t++)
        add(&p, t, channel_op(ASX__OP_SEND, 0, 16));
    asx__dpor_stats stats = explore(&p, 0);
    unmake(&p);
    return stats;
}

ASX_TEST_TIMEOUT(peak_memory_is_bounded_by_the_depth, 60)
{
    uint32_t large = asx_test_scale() == 1 ? 8 : 6;
    asx__dpor_stats few = all_orders(4), many = all_orders(large);
    CHECK_EQ(few.executions, 24);
    CHECK_EQ(many.executions, large == 8 ? 40320 : 720);
    printf("  %lu executions: %lu steps to try at most; %lu: %lu\n",
           (unsigned long)few.executions, (unsigned long)few.branches_most,
           (unsigned long)many.executions, (unsigned long)many.branches_most);
    CHECK(many.branches_most <= (uint64_t)large * large * large);
}

/* Twelve steps, by more and more tasks, on channels or on cells: up to 12! classes. However many of
 * them are run, the bytes are those of the depth: at most so many steps to try as its third power.
 * The set of classes is left out: it has a bound of its own. */
ASX_TEST_TIMEOUT(bytes_follow_the_depth_and_not_the_number_of_executions, 120)
{
    enum { STEPS = 12, BRANCHES = STEPS * STEPS * STEPS, BYTES = 64 * 1024 + BRANCHES * 160 };
    static const uint32_t tasks[] = { 2, 3, 4, 6, 12 };
    static uint64_t cells[2];
    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
            program p;
            make(&p, tasks[i], STEPS);
            for (uint32_t k = 0; k < STEPS; k++) {
                asx__op add_one = { .kind = ASX__OP_FETCH_ADD, .size = 8, .a = 1, .site = "",
                                    .object = &cells[k % 5 == 4] };
                add(&p, k % tasks[i],
                    kind == 0 ? channel_op(ASX__OP_SEND, k % 5 == 4, 16) : add_one);
            }
            asx__dpor_stats few = explore_by(&p, 300, false);
            asx__dpor_stats many = explore_by(&p, 60000 / asx_test_scale(), false);
            printf("  %2u tasks, %s: %lu bytes for %lu executions, %lu for %lu\n",
                   (unsigned)tasks[i], kind == 0 ? "channel" : "cells",
                   (unsigned long)few.memory_bytes, (unsigned long)few.executions,
                   (unsigned long)many.memory_bytes, (unsigned long)many.executions);
            CHECK(many.branches_most <= BRANCHES);
            CHECK(many.memory_bytes <= BYTES);
            if (kind == 1)
                CHECK(many.memory_bytes <= 3 * few.memory_bytes);
            unmake(&p);
        }
}

/* All of it; the program is unmade. */
static asx__dpor_stats explore_all(program *p, asx__op_kind kind, uint64_t executions)
{
    asx__dpor_stats stats = explore_by(p, 0, false);
    unmake(p);
    CHECK_EQ(stats.executions, executions);
    printf("  %s, %lu executions: %lu steps to try at most, %lu bytes\n", asx__op_str(kind),
           (unsigned long)stats.executions, (unsigned long)stats.branches_most,
           (unsigned long)stats.memory_bytes);
    return stats;
}

/* `n` tasks and one that has to do with all of them: it cancels them, or its deadline does, and
 * each looks whether it is cancelled; or it waits for the first that ends. As many classes as sets
 * of tasks that may come before it. `shield`: one more is behind a shield. */
static asx__dpor_stats one_and_all(asx__op_kind kind, uint32_t n, bool shield)
{
    static uint64_t names[TASKS];
    bool ends = kind == ASX__OP_FIRST_OF;
    program p;
    make(&p, n + 1, 1);
    for (uint32_t t = 1; t <= n; t++) {
        uint64_t name = ASX__NAME(ends ? ASX__NAME_FIN : ASX__NAME_CANCEL, t, 0);
        names[t - 1] = name;
        add(&p, t, ends ? (asx__op){ .kind = ASX__OP_END, .name = name, .site = "" }
                        : (asx__op){ .kind = ASX__OP_CHECKPOINT, .cx = name, .site = "" });
    }
    names[n] = ASX__NAME(ASX__NAME_REGION, 0, 2) + ASX__PART_SHIELD;
    names[n + 1] = ASX__NAME(ASX__NAME_CANCEL, n + 1, 0);
    add(&p, 0, (asx__op){ .kind = kind, .name = ASX__NAME(ASX__NAME_REGION, 0, 1),
                          .targets = names, .targets_len = n + (shield ? 2 : 0), .site = "" });
    return explore_all(&p, kind, (UINT64_C(1) << n) - ends);
}

/* A tree of what is to be tried has an end for each set; but most of it is in several places. */
ASX_TEST_TIMEOUT(what_trees_have_in_common_is_there_once, 120)
{
    uint32_t large = asx_test_scale() == 1 ? 16 : 14;
    (void)one_and_all(ASX__OP_CANCEL_TASK, 8, true);
    asx__dpor_stats many = one_and_all(ASX__OP_CANCEL_TASK, large, true);
    CHECK(many.branches_most <= ASX__SHARE_FROM + large * large * large);
    CHECK(many.memory_bytes <= (many.branches_most + large * large) * 512);
}

/* Where who came before changes nothing for the one that is moved, a set is found in one way only,
 * and there are no such trees. */
ASX_TEST_TIMEOUT(each_set_is_found_in_one_way, 120)
{
    for (uint32_t n = 8; n <= 14; n += 2) {
        CHECK(one_and_all(ASX__OP_CANCEL_TASK, n, false).branches_most <= n * n);
        CHECK(one_and_all(ASX__OP_FIRE, n, false).branches_most <= n * n);
        CHECK(one_and_all(ASX__OP_FIRST_OF, n, false).branches_most <= n * n);
    }
}
