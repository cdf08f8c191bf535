/* retry.c - the same branch again, with delays.
 *
 * Each attempt is a branch in a region of its own, so that it ends before the next one begins, also
 * when it panics. The deadline that counts is the earliest of the caller's budget, of the regions
 * around the attempt, and of the options' time-out, and is looked up where the attempt runs.
 *
 *     delay(1) = delay_ns     delay(n + 1) = delay(n), or twice that     never above delay_max_ns
 *
 * Jitter is drawn from a generator that is forked from the seed of the runtime by the number of the
 * task and the time: the same run draws the same again, and two tasks that fail together do not
 * come back together.
 */
#include "flow/flow.h"

static bool err_only(const asx_outcome *outcome)
{
    return outcome->kind == ASX_OUTCOME_ERR;
}

static asx_status fork_rng(asx_cx *cx, asx__rng *ret_rng)
{
    ASX__GATE_CX(cx, fork_rng(&in, ret_rng));
    uint64_t words[2] = { asx__serial(asx_cx_task_id(cx).generation), asx_now(cx) };
    *ret_rng = asx__rng_fork(&cx->rt_->rng, asx__hash_words(0, words, 2));
    return ASX_OK;
}

static uint64_t drawn(asx__rng *rng, asx_jitter jitter, uint64_t delay)
{
    uint64_t part = jitter == ASX_JITTER_FULL ? delay : delay / 2;
    if (jitter == ASX_JITTER_NONE || part == 0)
        return delay;
    return delay - part + asx__rng_below(rng, part < UINT64_MAX ? part + 1 : part);
}

static uint64_t next_delay(const asx_retry_strategy *s, uint64_t delay)
{
    if (s->backoff == ASX_BACKOFF_EXPONENTIAL)
        delay = delay > UINT64_MAX / 2 ? UINT64_MAX : 2 * delay;
    return s->delay_max_ns != 0 && delay > s->delay_max_ns ? s->delay_max_ns : delay;
}

static uint64_t left(asx_cx *cx, asx_time until)
{
    asx_time now = asx_now(cx);
    if (until == ASX_TIME_NEVER)
        return ASX_TIME_NEVER;
    return until > now ? until - now : 0;
}

/* Of the attempt, which must not outlast the options' time-out either. */
static uint64_t attempt_time(asx_cx *cx, const asx_retry_strategy *s, asx_time end)
{
    uint64_t most = left(cx, end);
    return s->attempt_timeout_ns != 0 && s->attempt_timeout_ns < most ? s->attempt_timeout_ns
                                                                       : most;
}

static bool worth_it(const asx_retry_strategy *s, const asx_outcome *outcome)
{
    return s->again != NULL ? s->again(s->ctx, outcome) : err_only(outcome);
}

static asx_status attempts(asx_cx *cx, const asx_branch *branch, const asx_retry_strategy *s,
                           const asx_flow_options *options, asx_join_result *result,
                           uint32_t *made)
{
    uint32_t most = s->attempts_max != 0 ? s->attempts_max : 3;
    uint64_t delay = s->delay_max_ns != 0 && s->delay_ns > s->delay_max_ns ? s->delay_max_ns
                                                                           : s->delay_ns;
    bool limited = options != NULL && options->timeout_ns != 0;
    asx_time end = limited ? asx_time_add(asx_now(cx), options->timeout_ns) : ASX_TIME_NEVER;
    asx__rng rng;
    asx_status st = fork_rng(cx, &rng);
    for (;;) {
        asx_time around = ASX_TIME_NEVER;
        st = asx__flow_one(cx, "retry", branch, attempt_time(cx, s, end), options, result,
                           &around);
        if (*made < UINT32_MAX)
            (*made)++;
        if (st == ASX_OK)
            return ASX_OK;
        if (asx_checkpoint(cx) < 0)
            return ASX_E_CANCELLED;
        if (!worth_it(s, &result->outcome) || (*made >= most && most != UINT32_MAX))
            return st;
        uint64_t wait = drawn(&rng, s->jitter, delay);
        if (wait >= left(cx, end) || wait >= left(cx, around))
            return st;
        asx_status slept = wait != 0 ? asx_sleep(cx, wait) : asx_yield(cx);
        if (slept < 0)
            return slept;
        delay = next_delay(s, delay);
    }
}

asx_status asx_retry(asx_cx *cx, const asx_branch *branch, const asx_retry_strategy *strategy,
                     const asx_flow_options *options, asx_join_result *ret_result,
                     uint32_t *ret_attempts)
{
    static const asx_retry_strategy plain = { .attempts_max = 3 };
    const asx_retry_strategy *s = strategy != NULL ? strategy : &plain;
    asx__task *task;
    uint32_t made = 0;
    asx_join_result result;
    asx_status st = asx__flow_enter(cx, ASX_CAP_SPAWN | ASX_CAP_TIME, branch, 1, &task);
    if (st == ASX_OK && ((unsigned)s->backoff > ASX_BACKOFF_EXPONENTIAL ||
                         (unsigned)s->jitter > ASX_JITTER_FULL))
        st = ASX_E_INVALID_ARGUMENT;
    result = asx__flow_no_result(st);
    if (st == ASX_OK) {
        result = asx__flow_no_result(ASX_E_CANCELLED);
        st = attempts(cx, branch, s, options, &result, &made);
    }
    if (ret_result != NULL)
        *ret_result = result;
    if (ret_attempts != NULL)
        *ret_attempts = made;
    return st;
}
