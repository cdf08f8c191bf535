/* What an execution of real tasks costs, for each kind of operation: in proportion to its steps.
 * ctest-labels: clock */
#include <stdio.h>
#include <time.h>

#include <asx/asx.h>

#include "harness.h"
#include "support_kinds.h"

enum { LENGTHS = 4, ROUNDS = 7, FEW = 50, MANY = 450 };

static double processor_ns(void)
{
    struct timespec ts;
    CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* The least processor time that so many executions have taken: what others do on the machine only
 * ever adds. */
typedef struct taken {
    double ns;
} taken;

static void run(const lab_kind *kind, int steps, uint64_t executions, taken *least)
{
    asx_explore_options options = { .executions_max = executions, .unchecked = true };
    asx_explore_result result;
    double begun = processor_ns();
    CHECK_STATUS(asx_explore(&options, kind->fn, &steps, &result), ASX_OK);
    double took = processor_ns() - begun;
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_EQ(result.totals.executions, executions);
    CHECK_EQ(result.totals.bugs, 0);
    CHECK_GE(result.totals.steps, executions * (uint64_t)steps);
    least->ns = least->ns == 0 || took < least->ns ? took : least->ns;
}

/* Of an execution, without what the set-up and the first ones cost. */
static double cost(const taken *few, const taken *many)
{
    return (many->ns - few->ns) / (MANY - FEW);
}

/* What one more step costs must not depend on how many there are. If it were in proportion to them,
 * that would be four times as much between 96 and 192 as between 24 and 48. */
static void check_kind(const lab_kind *kind)
{
    static const int lengths[LENGTHS] = { 24, 48, 96, 192 };
    taken few[LENGTHS] = { { 0 } }, many[LENGTHS] = { { 0 } };
    double more[LENGTHS] = { 0 };
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < LENGTHS; i++) {
            run(kind, lengths[i], FEW, &few[i]);
            run(kind, lengths[i], MANY, &many[i]);
        }
    printf("  %-9s", kind->name);
    for (int i = 0; i < LENGTHS; i++)
        printf(" %d steps %.1f us%s", lengths[i], cost(&few[i], &many[i]) / 1000,
               i + 1 < LENGTHS ? "," : ";");
    for (int i = 1; i < LENGTHS; i++)
        more[i] = (cost(&few[i], &many[i]) - cost(&few[i - 1], &many[i - 1])) /
                  (lengths[i] - lengths[i - 1]);
    printf(" each more: %.0f, %.0f, %.0f ns\n", more[1], more[2], more[3]);
    CHECK(more[3] <= 1.75 * more[1]);
    CHECK(more[3] <= 1.75 * more[2]);
}

ASX_TEST_TIMEOUT(the_cost_of_an_execution_is_linear_in_its_steps, 60)
{
    for (size_t i = 0; i < LAB_KINDS; i++)
        check_kind(&lab_kinds[i]);
}
