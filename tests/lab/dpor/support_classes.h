/* Numbers of classes, by brute force and by optimal exploration. */
#ifndef TESTS_LAB_DPOR_CLASSES_H
#define TESTS_LAB_DPOR_CLASSES_H

#include <stdio.h>

#include <asx/asx_lab.h>

#include "harness.h"

static inline asx_explore_result classes_explore(asx_lab_fn fn, void *arg,
                                                 const asx_explore_options *options)
{
    asx_explore_result result;
    CHECK_STATUS(asx_explore(fn, arg, options, &result), ASX_OK);
    if (result.status != ASX_OK)
        fprintf(stderr, "not explored: %s\n",
                result.unsupported != NULL ? result.unsupported : asx_status_str(result.status));
    CHECK_STATUS(result.status, ASX_OK);
    return result;
}

/* Compares optimal exploration, with `seeds` defaults, with what brute force found. */
static inline bool classes_compare(asx_lab_fn fn, void *arg, asx_explore_options options,
                                   const asx_explore_result *all, uint64_t seeds)
{
    bool same = true;
    options.mode = ASX_EXPLORE_OPTIMAL;
    options.executions_max = 0;
    for (options.seed = 0; options.seed < seeds && same; options.seed++) {
        asx_explore_result best = classes_explore(fn, arg, &options);
        same = best.complete && best.totals.executions == all->totals.classes &&
               best.totals.redundant + best.totals.blocked == 0 &&
               (best.totals.deadlocks != 0) == (all->totals.deadlocks != 0) &&
               (best.totals.bugs != 0) == (all->totals.bugs != 0);
        if (!same)
            fprintf(stderr, "seed %d: %d executions, %d redundant, %d blocked; %d classes\n",
                    (int)options.seed, (int)best.totals.executions, (int)best.totals.redundant,
                    (int)best.totals.blocked, (int)all->totals.classes);
    }
    return same;
}

/* As many executions as brute force finds classes, whichever task goes by default. */
static inline uint64_t classes_with(asx_lab_fn fn, void *arg, asx_explore_clock clock,
                                    uint32_t faults)
{
    asx_explore_options options = { .mode = ASX_EXPLORE_DFS, .clock = clock, .faults = faults };
    asx_explore_result all = classes_explore(fn, arg, &options);
    CHECK(all.complete);
    CHECK(classes_compare(fn, arg, options, &all, 11));
    return all.totals.classes;
}

static inline uint64_t classes_of(asx_lab_fn fn, void *arg)
{
    return classes_with(fn, arg, ASX_EXPLORE_QUIESCENT, 0);
}

#endif
