/* test_misuse_flow.c - combinators and supervisors that are called as they should not be. */
#include "support_api.h"

static unsigned called;

static asx_status count_call(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    called++;
    return ASX_OK;
}

static const asx_branch good = { "good", count_call, NULL }, empty = { "empty", NULL, NULL };

static asx_status wrong_gathers(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_cx none = { NULL, NULL, 0, 0 }, less;
    (void)arg;
    REFUSED(rt, asx_first_ok(NULL, &good, 1, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_first_ok(&none, &good, 1, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_first_ok(cx, NULL, 1, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_first_ok(cx, &empty, 1, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_quorum(NULL, &good, 1, 1, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_quorum(cx, &empty, 1, 1, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_quorum(cx, &good, 1, 2, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_hedge(NULL, &good, 1, 1, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_hedge(cx, &empty, 1, 1, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_retry(NULL, &good, NULL, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_retry(cx, NULL, NULL, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_retry(cx, &empty, NULL, NULL, NULL, NULL), bad);
    asx_retry_strategy s = { .backoff = (asx_backoff)7 };
    REFUSED(rt, asx_retry(cx, &good, &s, NULL, NULL, NULL), bad);
    asx_rate_limiter limiter;
    asx_breaker breaker;
    asx_breaker_info info;
    asx_region region;
    CHECK_STATUS(asx_cx_region(cx, &region), ASX_OK);
    REFUSED(rt, asx_rate_limiter_create(NULL, 1, NULL, &limiter), bad);
    REFUSED(rt, asx_rate_limiter_create(&region, 1, NULL, NULL), bad);
    REFUSED(rt, asx_rate_limiter_create(&region, 0, NULL, &limiter), bad);
    REFUSED(rt, asx_rate_limiter_acquire(cx, &limiter, 1), bad);
    REFUSED(rt, asx_rate_limiter_acquire(cx, NULL, 1), bad);
    REFUSED(rt, asx_rate_limiter_try_acquire(cx, NULL, 1), bad);
    REFUSED(rt, asx_rate_limiter_try_acquire(cx, &limiter, 1), bad);
    REFUSED(rt, asx_breaker_create(&region, NULL, NULL), bad);
    REFUSED(rt, asx_breaker_create(NULL, NULL, &breaker), bad);
    REFUSED(rt, asx_breaker_call(cx, &breaker, count_call, NULL), bad);
    REFUSED(rt, asx_breaker_call(cx, NULL, count_call, NULL), bad);
    REFUSED(rt, asx_breaker_get_info(&breaker, &info), bad);
    CHECK(asx_breaker_state_str(99) == NULL);
    asx_supervised child = { .name = "child", .fn = count_call }, nameless = { .fn = NULL };
    asx_supervisor_options options = { .strategy = (asx_strategy)9 };
    REFUSED(rt, asx_supervise(NULL, &child, 1, NULL, NULL), bad);
    REFUSED(rt, asx_supervise(cx, NULL, 1, NULL, NULL), bad);
    REFUSED(rt, asx_supervise(cx, &nameless, 1, NULL, NULL), bad);
    REFUSED(rt, asx_supervise(cx, &child, 1, &options, NULL), bad);
    child.restart = (asx_restart)9;
    REFUSED(rt, asx_supervise(cx, &child, 1, NULL, NULL), bad);
    child.restart = ASX_RESTART_TEMPORARY;
    CHECK(asx_supervised_state_str(99) == NULL);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_SPAWN | ASX_CAP_CHANNEL, &less), ASX_OK);
    REFUSED(rt, asx_supervise(&less, &child, 1, NULL, NULL), ASX_E_CAPABILITY);
    REFUSED(rt, asx_pipeline(cx, NULL, NULL, 0, NULL, NULL), bad);
    REFUSED(rt, asx_pipeline(NULL, NULL, NULL, 0, NULL, NULL), bad);
    REFUSED(rt, asx_map_reduce(cx, NULL, 0, 1, NULL, NULL, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_for_each(cx, NULL, 1, NULL, NULL, NULL, NULL), bad);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_SPAWN, &less), ASX_OK);
    REFUSED(rt, asx_pipeline(&less, NULL, NULL, 0, NULL, NULL), ASX_E_CAPABILITY);
    REFUSED(rt, asx_for_each(&less, NULL, 1, NULL, NULL, NULL, NULL), ASX_E_CAPABILITY);
    REFUSED(rt, asx_first_ok(&less, &good, 1, NULL, NULL, NULL), ASX_E_CAPABILITY);
    REFUSED(rt, asx_quorum(&less, &good, 1, 1, NULL, NULL, NULL), ASX_E_CAPABILITY);
    REFUSED(rt, asx_hedge(&less, &good, 1, 1, NULL, NULL, NULL), ASX_E_CAPABILITY);
    REFUSED(rt, asx_retry(&less, &good, NULL, NULL, NULL, NULL), ASX_E_CAPABILITY);
    CHECK_EQ(called, 0u);
    return ASX_OK;
}

ASX_TEST(gathering_and_retrying_refuse_what_they_cannot_do)
{
    CHECK_STATUS(api_run(wrong_gathers, NULL), ASX_OK);
}

static asx_poll in_a_poll_task(asx_cx *cx, void *state)
{
    (void)state;
    asx_status not = ASX_E_NOT_SUPPORTED;
    CHECK_STATUS(asx_first_ok(cx, &good, 1, NULL, NULL, NULL), not);
    CHECK_STATUS(asx_quorum(cx, &good, 1, 1, NULL, NULL, NULL), not);
    CHECK_STATUS(asx_hedge(cx, &good, 1, 1, NULL, NULL, NULL), not);
    CHECK_STATUS(asx_retry(cx, &good, NULL, NULL, NULL, NULL), not);
    asx_supervised child = { .name = "child", .fn = count_call };
    CHECK_STATUS(asx_supervise(cx, &child, 1, NULL, NULL), not);
    return ASX_POLL_READY;
}

static asx_status polls(asx_cx *cx, void *arg)
{
    asx_region region;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&region, "poll", in_a_poll_task, NULL), ASX_OK);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(combinators_are_for_fibers)
{
    CHECK_STATUS(api_run(polls, NULL), ASX_OK);
}
