/* The published programs: as many executions as classes, whichever task goes by default. */
#include <asx/asx_lab.h>

#include "harness.h"
#include "support_registry.h"

typedef struct known {
    const char *name;
    uint64_t classes, deadlocks;
    bool long_one; /* once is enough */
} known;

static const known published[] = {
    { "readers_1", 2, 0, false },
    { "readers_2", 4, 0, false },
    { "readers_3", 8, 0, false },
    { "readers_4", 16, 0, false },
    { "readers_5", 32, 0, false },
    { "readers_6", 64, 0, false },
    { "readers_7", 128, 0, false },
    { "readers_8", 256, 0, false },
    { "readers_9", 512, 0, false },
    { "readers_10", 1024, 0, true },
    { "readers_11", 2048, 0, true },
    { "readers_12", 4096, 0, true },
    { "readers_13", 8192, 0, true },
    { "lastzero_2", 5, 0, false },
    { "lastzero_3", 12, 0, false },
    { "lastzero_4", 28, 0, false },
    { "lastzero_5", 64, 0, false },
    { "lastzero_6", 144, 0, false },
    { "lastzero_7", 320, 0, false },
    { "lastzero_8", 704, 0, false },
    { "lastzero_9", 1536, 0, false },
    { "lastzero_10", 3328, 0, false },
    { "lastzero_11", 7168, 0, true },
    { "lastzero_12", 15360, 0, true },
    { "lastzero_13", 32768, 0, true },
    { "lastzero_14", 69632, 0, true },
    { "lastzero_15", 147456, 0, true },
    { "filesystem_13", 1, 0, false },
    { "filesystem_14", 2, 0, false },
    { "filesystem_15", 4, 0, false },
    { "filesystem_16", 8, 0, false },
    { "filesystem_17", 16, 0, false },
    { "filesystem_18", 32, 0, false },
    { "filesystem_19", 64, 0, false },
    { "filesystem_20", 128, 0, true },
    { "filesystem_21", 256, 0, true },
    { "filesystem_22", 512, 0, true },
    { "filesystem_23", 1024, 0, true },
    { "filesystem_24", 2048, 0, true },
    { "filesystem_25", 4096, 0, true },
    { "filesystem_26", 8192, 0, true },
    { "indexer_11", 1, 0, false },
    { "indexer_12", 8, 0, false },
    { "indexer_13", 64, 0, false },
    { "indexer_14", 512, 0, false },
    { "indexer_15", 4096, 0, true },
    { "fib_1", 11, 0, false },
    { "fib_2", 140, 0, false },
    { "fib_3", 1698, 0, false },
    { "fib_4", 19605, 0, true },
    { "fib_5", 218243, 0, true },
    { "casrot_2", 2, 0, false },
    { "casrot_3", 5, 0, false },
    { "casrot_4", 14, 0, false },
    { "casrot_5", 43, 0, false },
    { "casrot_6", 144, 0, false },
    { "casrot_7", 523, 0, false },
    { "casrot_8", 2048, 0, false },
    { "branch", 5, 0, false },
    { "three_tasks_12_steps", 151, 0, false },
    { "three_tasks_12_messages", 1120, 0, false },
    { "three_tasks_12_receives", 70, 0, false },
    { "three_tasks_12_locks", 90, 0, false },
    { "three_tasks_12_permits", 10170, 0, true },
    { "three_tasks_12_sleeps", 160, 0, false },
    { "three_tasks_12_cancels", 239, 0, false },
    { "three_tasks_12_joins", 90, 0, false },
    { "orders_1", 7, 0, false },
    { "orders_2", 60, 0, false },
    { "orders_3", 438, 0, false },
    { "orders_4", 3310, 0, true },
    { "orders_5", 26238, 0, true },
    { "philosophers_2", 3, 1, false },
    { "philosophers_3", 7, 1, false },
    { "philosophers_4", 15, 1, false },
    { "philosophers_5", 31, 1, false },
    { "philosophers_6", 63, 1, false },
    { "philosophers_7", 127, 1, false },
    { "philosophers_8", 255, 1, false },
    { "philosophers_9", 511, 1, false },
    { "philosophers_10", 1023, 1, false },
};

static void explore(const known *k, asx_explore_mode mode, uint64_t seed)
{
    asx_explore_options options = { .mode = mode, .seed = seed };
    asx_explore_result result;
    asx_lab_fn fn = lab_program(k->name);
    CHECK(fn != NULL);
    CHECK_STATUS(asx_explore(fn, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK(result.complete);
    if (result.totals.classes != k->classes || result.totals.redundant != 0)
        asx_test_fail(__FILE__, __LINE__, "%s, seed %u: %lu classes, %lu redundant", k->name,
                      (unsigned)seed, (unsigned long)result.totals.classes,
                      (unsigned long)result.totals.redundant);
    CHECK_EQ(result.totals.executions, k->classes);
    CHECK_EQ(result.totals.compared, k->classes);
    CHECK_EQ(result.totals.blocked, 0);
    CHECK_EQ(result.totals.deadlocks, k->deadlocks);
    CHECK_EQ(result.totals.bugs, 0);
}

ASX_TEST_TIMEOUT(a_published_program_has_as_many_executions_as_classes, 120)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        if (!published[i].long_one || asx_test_scale() == 1)
            explore(&published[i], ASX_EXPLORE_OPTIMAL, 0);
}

ASX_TEST_TIMEOUT(the_default_task_does_not_matter, 120)
{
    uint64_t seeds = asx_test_scale() == 1 ? 10 : 2;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        for (uint64_t seed = 1; seed <= seeds && !published[i].long_one; seed++)
            explore(&published[i], ASX_EXPLORE_OPTIMAL, seed);
}

ASX_TEST(fib_4_is_the_same_for_ten_defaults)
{
    static const known fib_4 = { "fib_4", 19605, 0, false };
    uint64_t seeds = asx_test_scale() == 1 ? 10 : 0;
    for (uint64_t seed = 1; seed <= seeds; seed++)
        explore(&fib_4, ASX_EXPLORE_OPTIMAL, seed);
}

/* Every interleaving of real tasks, classes counted: the same numbers. */
ASX_TEST(all_interleavings_have_as_many_classes)
{
    static const known small[] = { { "readers_2", 4, 0, false },
                                   { "fib_1", 11, 0, false },
                                   { "casrot_4", 14, 0, false },
                                   { "casrot_5", 43, 0, false },
                                   { "branch", 5, 0, false },
                                   { "three_tasks_12_steps", 151, 0, false },
                                   { "three_tasks_12_messages", 1120, 0, false },
                                   { "three_tasks_12_receives", 70, 0, false },
                                   { "three_tasks_12_sleeps", 160, 0, false },
                                   { "three_tasks_12_joins", 90, 0, false },
                                   { "orders_1", 7, 0, false },
                                   { "philosophers_2", 3, 1, false },
                                   { "philosophers_3", 7, 1, false } };
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        asx_explore_options options = { .mode = ASX_EXPLORE_DFS };
        asx_explore_result result;
        CHECK_STATUS(asx_explore(lab_program(small[i].name), NULL, &options, &result), ASX_OK);
        CHECK(result.complete);
        CHECK_EQ(result.totals.classes, small[i].classes);
        CHECK(result.totals.executions > result.totals.classes);
        CHECK_EQ(result.totals.deadlocks > 0, small[i].deadlocks > 0);
    }
}

/* Memory grows with the length of an execution, not with their number. */
ASX_TEST(memory_does_not_grow_with_the_number_of_executions)
{
    asx_explore_options options = { .trust_reduction = true };
    asx_explore_result few, many;
    CHECK_STATUS(asx_explore(lab_program("fib_3"), NULL, &options, &few), ASX_OK);
    options.executions_max = asx_test_scale() == 1 ? 0 : 5000;
    CHECK_STATUS(asx_explore(lab_program("fib_5"), NULL, &options, &many), ASX_OK);
    CHECK(many.totals.executions > 2 * few.totals.executions);
    CHECK(many.totals.memory_bytes < 256 * 1024);
    CHECK(many.totals.memory_bytes < 8 * few.totals.memory_bytes);
    CHECK(many.totals.frontier_most < 64);
}
