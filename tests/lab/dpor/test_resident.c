/* What is resident while real tasks are explored follows the length of an execution, not how many
 * there are.
 * ctest-labels: resident */
#include <stdio.h>
#include <unistd.h>

#include <asx/asx_lab.h>

#include "harness.h"
#include "support_kinds.h"

enum { WARM = 4000, EXECUTIONS = 100000, STEPS = 36, SLACK_PAGES = 64 };

static long resident_pages(void)
{
    long size, resident;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL);
    CHECK_EQ(fscanf(f, "%ld %ld", &size, &resident), 2);
    fclose(f);
    return resident;
}

typedef struct watched {
    uint64_t next;       /* execution to look after */
    long warm;           /* resident when it was warm; 0: it is not yet */
    long most;           /* ... and the most since then */
    uint64_t warm_bytes; /* what the engine itself says */
    uint64_t most_bytes;
} watched;

static bool look(void *ctx, const asx_explore_progress *progress)
{
    watched *w = ctx;
    if (progress->executions < WARM || progress->executions < w->next)
        return true;
    w->next = progress->executions + 1024;
    long now = resident_pages();
    if (w->warm == 0) {
        w->warm = now;
        w->warm_bytes = progress->memory_bytes;
    }
    w->most = now > w->most ? now : w->most;
    w->most_bytes = progress->memory_bytes > w->most_bytes ? progress->memory_bytes
                                                           : w->most_bytes;
    return true;
}

/* The set of classes is left out: it has a bound of its own. */
ASX_TEST_TIMEOUT(what_is_resident_does_not_grow_with_the_number_of_executions, 120)
{
    for (size_t i = 0; i < LAB_KINDS; i++) {
        int steps = STEPS;
        watched w = { 0 };
        asx_explore_options options = { .executions_max = EXECUTIONS / asx_test_scale() + WARM,
                                        .trust_reduction = true, .on_progress = look, .ctx = &w };
        asx_explore_result result;
        CHECK_STATUS(asx_explore(lab_kinds[i].fn, &steps, &options, &result), ASX_OK);
        CHECK_STATUS(result.status, ASX_OK);
        CHECK_EQ(result.totals.executions, options.executions_max);
        CHECK(w.warm > 0);
        printf("  %-9s %ld pages after %d executions, %ld at most up to %lu; the engine %lu KB, "
               "then %lu KB\n", lab_kinds[i].name, w.warm, WARM, w.most,
               (unsigned long)result.totals.executions, (unsigned long)w.warm_bytes / 1024,
               (unsigned long)w.most_bytes / 1024);
        CHECK(w.most - w.warm <= SLACK_PAGES);
    }
}
