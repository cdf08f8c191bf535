/* search.h - finding a bug of a lab test, and making it small.
 *
 * Sampling finds most bugs in a few schedules, exploring proves that there are none. So a search
 * first samples, then explores, and ends at the first execution that is not good. What it found is
 * a schedule; shrinking looks for one that fails in the same way with fewer tasks, fewer switches
 * from task to task, fewer choices and fewer steps.
 */
#ifndef ASX_SEARCH_H
#define ASX_SEARCH_H

#include <asx/explore.h>

ASX_BEGIN_DECLS

/* An execution that was not good. The strings are its own, freed by asx_lab_finding_deinit(). */
typedef struct asx_lab_finding {
    bool found;
    asx_explore_verdict verdict;
    uint64_t schedules;  /* that were run until it was found, it included; if nothing was found, in
                            all, samples included */
    uint64_t elapsed_ns; /* until it was found */
    uint64_t steps;      /* until it failed */
    uint64_t switches;   /* from one task to another, until it failed */
    uint64_t tasks;      /* that did a step until it failed */
    char *text, *site, *schedule, *interleaving;
} asx_lab_finding;

/* NULL is allowed. */
ASX_API void asx_lab_finding_deinit(asx_lab_finding *finding);

#define ASX_LAB_SAMPLES 1000

/* Runs `samples` sampled executions (0: ASX_LAB_SAMPLES), then explores every class, until an
 * execution is not good. `options` may be NULL; its mode and schedule are not used; time_max_ns and
 * executions_max are for all of this call; it goes on from a checkpoint of either part, and draws
 * what is left of the samples. The result is that
 * of the exploration, or that of the samples if one of them was not good or no more was allowed.
 * The caller frees the finding, also when nothing was found. ASX_E_INVALID_ARGUMENT,
 * ASX_E_RESOURCE_EXHAUSTED, ASX_E_SYSTEM when nothing could be run; then there is nothing to
 * free. */
ASX_API ASX_MUST_USE asx_status asx_lab_search(asx_lab_fn fn, void *arg, uint64_t samples,
                                               const asx_explore_options *options,
                                               asx_explore_result *ret_result,
                                               asx_lab_finding *ret_finding);

/* Replaces the finding by one that fails in the same way (verdict and site) and is smaller, after
 * at most `trials_max` runs (0: 1,000) and `options->time_max_ns`. It is never larger than before.
 *   ASX_E_INVALID_ARGUMENT  nothing was found
 *   ASX_E_DIVERGED          its schedule does not fail in the same way when it is run again */
ASX_API ASX_MUST_USE asx_status asx_lab_shrink(asx_lab_finding *finding, asx_lab_fn fn, void *arg,
                                               uint64_t trials_max,
                                               const asx_explore_options *options);

ASX_END_DECLS

#endif
