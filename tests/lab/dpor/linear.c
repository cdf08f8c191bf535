/* linear.c - explorations of real tasks of each kind and of several lengths, for linear.sh, which
 * has their instructions counted. Callgrind counts; this says what has just been done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <asx/asx_lab.h>
#include <valgrind/callgrind.h>

#include "support_kinds.h"

enum { FEW = 20, MANY = 60, TWELVE = 12 };

static void run(const lab_kind *kind, int steps, uint64_t executions)
{
    asx_explore_options options = { .executions_max = executions, .trust_reduction = true,
                                    .clock = kind->clock };
    asx_explore_result result;
    char done[64];
    asx_status st = asx_explore(kind->fn, &steps, &options, &result);
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

static void run_both(const lab_kind *kind, int steps)
{
    run(kind, steps, FEW);
    run(kind, steps, MANY);
}

/* One kind: its name first. Then the lengths. */
int main(int argc, char **argv)
{
    static const struct {
        const lab_kind *at;
        size_t len;
    } all[] = { { lab_kinds, LAB_KINDS },
                { lab_sync_kinds, LAB_SYNC_KINDS },
                { lab_task_kinds, LAB_TASK_KINDS } };
    const char *only = argc > 1 && atoi(argv[1]) == 0 ? argv[1] : NULL;
    CALLGRIND_DUMP_STATS_AT("nothing");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t k = 0; k < all[i].len; k++) {
            const lab_kind *kind = &all[i].at[k];
            if (only != NULL && strcmp(only, kind->name) != 0)
                continue;
            for (int a = only != NULL ? 2 : 1; a < argc; a++)
                run_both(kind, atoi(argv[a]));
            if (all[i].at == lab_kinds) /* these have classes enough */
                run_both(kind, TWELVE);
        }
    return 0;
}
