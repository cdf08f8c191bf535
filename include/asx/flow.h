/* flow.h - combining tasks: join all, race, time-out. Each runs in a region of its own, and none
 * returns before everything it started has ended: losers are cancelled and drained.
 *
 * Common statuses:
 *   ASX_E_INVALID_ARGUMENT    NULL where there is work to do
 *   ASX_E_NOT_SUPPORTED       in a poll task: these are for fibers
 *   ASX_E_RESOURCE_EXHAUSTED  no region, or a branch could not be started; the others are cancelled
 * and of calls that take a context: ASX_E_WRONG_CONTEXT (also in a cleanup on the runtime's side),
 * ASX_E_CAPABILITY (SPAWN).
 */
#ifndef ASX_FLOW_H
#define ASX_FLOW_H

#include <asx/runtime.h>

ASX_BEGIN_DECLS

typedef struct asx_branch {
    const char *name;
    asx_task_fn fn;
    void *arg;
} asx_branch;

/* Runs all branches to their end; the outcome is the join of theirs, in order of the array (left
 * wins on equal severity). A failing branch does not cancel the others. No branches: Ok.
 * Returns ASX_OK when all ended Ok, else the status by the law of close: that of a branch,
 * ASX_E_PANICKED, ASX_E_CANCELLED. `ret_results` may be NULL, else it has `count` places. */
ASX_API asx_status asx_join_all(asx_cx *cx, const asx_branch *branches, size_t count,
                                asx_join_result *ret_results, asx_outcome *ret_outcome);

/* The first branch to end, however it ends, wins; the others are cancelled with RaceLost and
 * drained before this returns. On a tie the earlier in the array. No branches: never completes
 * (until cancelled). Returns the winner's status; ASX_E_CANCELLED when the race itself was. */
ASX_API asx_status asx_race(asx_cx *cx, const asx_branch *branches, size_t count,
                            size_t *ret_winner, asx_join_result *ret_result);

/* fn in a region with a deadline. ASX_E_TIMEOUT when it passed first; else what fn returned,
 * ASX_E_PANICKED, or ASX_E_CANCELLED when the caller was. */
ASX_API asx_status asx_timeout(asx_cx *cx, uint64_t duration_ns, asx_task_fn fn, void *arg);

ASX_END_DECLS

#endif
