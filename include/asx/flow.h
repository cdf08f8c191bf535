/* flow.h - combining tasks: join all, race, first ok, quorum, hedge, time-out, retry.
 *
 * All take branches, and run each as a task of its own in a region of the call's. None returns
 * before everything that it started has ended: a branch whose result no longer matters (a loser) is
 * cancelled with RaceLost and waited for. A cancel of the caller passes into the branches; the call
 * then returns ASX_E_CANCELLED when they have ended. What a loser made is the loser's to give back:
 * in its asx_task_defer(), or by leaving it to the region.
 *
 * Outputs may be NULL. They are written whatever the call returns: where no branch has decided the
 * winner is ASX_NO_BRANCH, and the result of a branch that did not run is Err with the call's
 * status.
 *
 * Combinators nest: a branch may call one. Then
 *     join_all(join_all(a, b), c)  ends as  join_all(a, join_all(b, c)); so do race_all, first_ok
 *     join_all(a, nothing)  ends as a;  so do  race_all(a, never)  and  first_ok(a)
 *
 * Common statuses:
 *   ASX_E_INVALID_ARGUMENT  NULL where there is work to do
 *   ASX_E_NOT_SUPPORTED     in a poll task: these are for fibers
 *   ASX_E_RESOURCE_EXHAUSTED  no region, or a branch could not be started; the others are cancelled
 *   ASX_E_TIMEOUT           the time-out of the options passed first
 * and of calls that take a context: ASX_E_WRONG_CONTEXT (also in a cleanup on the runtime's side),
 * ASX_E_CAPABILITY (SPAWN; first ok also CHANNEL; quorum CHANNEL and CANCEL; hedge CHANNEL and
 * TIME; retry TIME).
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

/* Of every call here. Zero in any field means its default. */
typedef struct asx_flow_options {
    const char *name;         /* of the region of the call; NULL: that of the combinator */
    uint64_t timeout_ns;      /* 0: none; else the branches are cancelled when it has passed */
    const asx_budget *budget; /* of each branch, met with the caller's; NULL: the caller's */
    size_t stack_size;        /* of each branch; 0: the runtime's */
} asx_flow_options;

/* The place of no branch. */
#define ASX_NO_BRANCH SIZE_MAX

/* Runs all branches to their end; the outcome is the join of theirs, in order of the array (left
 * wins on equal severity). A failing branch does not cancel the others. No branches: Ok.
 * Returns ASX_OK when all ended Ok, else the status by the law of close: that of a branch,
 * ASX_E_PANICKED, ASX_E_TIMEOUT, ASX_E_CANCELLED. `ret_results` has `count` places. */
ASX_API ASX_MUST_USE asx_status asx_join_all(asx_cx *cx, const asx_branch *branches, size_t count,
                                             const asx_flow_options *options,
                                             asx_join_result *ret_results,
                                             asx_outcome *ret_outcome);

/* The first branch to end, however it ends, wins. On a tie the earlier in the array. No branches:
 * never completes (until cancelled, or the time-out). Returns the winner's status; ASX_E_CANCELLED
 * when the race itself was cancelled. */
ASX_API ASX_MUST_USE asx_status asx_race_all(asx_cx *cx, const asx_branch *branches, size_t count,
                                             const asx_flow_options *options, size_t *ret_winner,
                                             asx_join_result *ret_result);

/* The first branch to end Ok wins; others may fail meanwhile. When all have failed, the worst of
 * their outcomes, the left one of equals, is the result, and its branch *ret_winner. No branches:
 * ASX_E_NOT_FOUND. */
ASX_API ASX_MUST_USE asx_status asx_first_ok(asx_cx *cx, const asx_branch *branches, size_t count,
                                             const asx_flow_options *options, size_t *ret_winner,
                                             asx_join_result *ret_result);

/* Ends when `needed` branches have ended Ok, or so many have failed that this cannot be. Needs 0:
 * Ok, and nothing is started; more than there are: ASX_E_INVALID_ARGUMENT. Otherwise it fails with
 * the worst outcome of those that had failed until then, the left one of equals. `ret_results` has
 * `count` places, and says of losers too how they really ended. *ret_ok: how many of these ended
 * Ok; one that was not yet cancelled may have come on top of those needed. */
ASX_API ASX_MUST_USE asx_status asx_quorum(asx_cx *cx, const asx_branch *branches, size_t count,
                                           size_t needed, const asx_flow_options *options,
                                           asx_join_result *ret_results, size_t *ret_ok);

/* As asx_first_ok(), but the branches are started one after the other: the next one when the one
 * before it has run for `delay_ns` and nobody has won, or at once when one fails. Branches that
 * were not started do not count. */
ASX_API ASX_MUST_USE asx_status asx_hedge(asx_cx *cx, const asx_branch *branches, size_t count,
                                          uint64_t delay_ns, const asx_flow_options *options,
                                          size_t *ret_winner, asx_join_result *ret_result);

/* One branch with a deadline. ASX_E_TIMEOUT when it passed first; else what the branch returned,
 * ASX_E_PANICKED, or ASX_E_CANCELLED when the caller was. With a time-out in the options, too, the
 * earlier one counts. */
ASX_API ASX_MUST_USE asx_status asx_timeout(asx_cx *cx, const asx_branch *branch,
                                            uint64_t duration_ns, const asx_flow_options *options,
                                            asx_join_result *ret_result);

/* ---- retry ---------------------------------------------------------------------------------- */

/* How the delay before an attempt follows from the delay before the last one. */
typedef enum asx_backoff {
    ASX_BACKOFF_FIXED = 0,      /* the same again */
    ASX_BACKOFF_EXPONENTIAL = 1 /* twice as long */
} asx_backoff;

/* What is drawn at random from a delay d; by the runtime's deterministic generator, so that a run
 * in the laboratory draws the same again. */
typedef enum asx_jitter {
    ASX_JITTER_NONE = 0, /* d */
    ASX_JITTER_HALF = 1, /* d/2 .. d */
    ASX_JITTER_FULL = 2  /* 0 .. d */
} asx_jitter;

/* Zero in any field means its default. */
typedef struct asx_retry_strategy {
    uint32_t attempts_max;       /* in all; default 3; UINT32_MAX: until the deadline */
    uint64_t delay_ns;           /* before the second attempt */
    uint64_t delay_max_ns;       /* no delay is longer; 0: any length */
    asx_backoff backoff;
    asx_jitter jitter;
    uint64_t attempt_timeout_ns; /* of each attempt; 0: none */
    /* Whether it is worth trying again after this outcome; it was not Ok. NULL: after Err, a
     * time-out included, and not after Panicked or Cancelled. Called in the caller's task. */
    bool (*again)(void *ctx, const asx_outcome *outcome);
    void *ctx;
} asx_retry_strategy;

/* Runs the branch again and again, each time as a task of its own, until an attempt ends Ok; or the
 * strategy says no more; or the delay would last until the deadline or longer: that of the task's
 * budget, of a region around it, or of the options' time-out. It never sleeps past it: it returns
 * at once what the last attempt came to. `strategy` NULL: three attempts without delay. Returns the
 * last attempt's status. *ret_result is of the last attempt, *ret_attempts how many were made. */
ASX_API ASX_MUST_USE asx_status asx_retry(asx_cx *cx, const asx_branch *branch,
                                          const asx_retry_strategy *strategy,
                                          const asx_flow_options *options,
                                          asx_join_result *ret_result, uint32_t *ret_attempts);

ASX_END_DECLS

#endif
