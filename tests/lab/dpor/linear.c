/* linear.c - explorations of real tasks of each kind and of several lengths, for linear.sh, which
 * has their instructions counted. Callgrind counts; this says what has just been done. */
#include <stdio.h>
#include <stdlib.h>

#include <asx/asx.h>
#include <valgrind/callgrind.h>

#include "support_kinds.h"

enum { FEW = 25, MANY = 75 };

static void run(const lab_kind *kind, int steps, uint64_t executions)
{
    asx_explore_options options = { .executions_max = executions, .unchecked = true,
                                    .clock = kind->clock };
    asx_explore_result result;
    char done[64];
    asx_status st = asx_explore(&options, kind->fn, &steps, &result);
    if (st != ASX_OK || result.status != ASX_OK || result.totals.executions != executions ||
        result.totals.bugs != 0 || result.totals.steps < executions * (uint64_t)steps) {
        fprintf(stderr, "linear: %s of %d steps: status %d, %d, executions %llu, steps %llu\n",
                kind->name, steps, (int)st, (int)result.status,
                (unsigned long long)result.totals.executions,
                (unsigned long long)result.totals.steps);
        exit(1);
    }
    (void)snprintf(done, sizeof done, "%s %d %llu", kind->name, steps,
                   (unsigned long long)executions);
    CALLGRIND_DUMP_STATS_AT(done); /* counting begins anew */
}

int main(int argc, char **argv)
{
    CALLGRIND_DUMP_STATS_AT("nothing");
    for (size_t i = 0; i < LAB_KINDS + LAB_SYNC_KINDS; i++)
        for (int a = 1; a < argc; a++) {
            const lab_kind *kind = i < LAB_KINDS ? &lab_kinds[i] : &lab_sync_kinds[i - LAB_KINDS];
            run(kind, atoi(argv[a]), FEW);
            run(kind, atoi(argv[a]), MANY);
        }
    return 0;
}
