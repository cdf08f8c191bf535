/* test_limit.c - the rate limiter and the circuit breaker. */
#include "support_leaf.h"

/* ---- rate limiter --------------------------------------------------------------------------- */

typedef struct bucket {
    asx_rate_limiter limiter;
    asx_time at[8];
    int took;
    uint64_t n;
} bucket;

static asx_status taker(asx_cx *cx, void *arg)
{
    bucket *b = arg;
    asx_status st = asx_rate_limiter_acquire(cx, &b->limiter, b->n);
    if (st == ASX_OK)
        b->at[b->took++] = asx_now(cx) / ASX_MS;
    return st;
}

static asx_status paced(asx_cx *cx, void *arg)
{
    (void)arg;
    static const asx_time at[] = { 0, 0, 10, 20, 30, 40 };
    bucket b = { .n = 1 };
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    asx_rate_limiter_options options = { .name = "two", .burst = 2 };
    CHECK_STATUS(asx_rate_limiter_create(&r, 10 * ASX_MS, &options, &b.limiter), ASX_OK);
    for (int i = 0; i < 6; i++)
        CHECK_STATUS(asx_spawn(&r, "taker", taker, &b), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 45 * ASX_MS), ASX_OK);
    CHECK_EQ(b.took, 6);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(b.at[i], at[i]);
    CHECK_STATUS(asx_rate_limiter_try_acquire(cx, &b.limiter, 1), ASX_E_BUSY);
    CHECK_STATUS(asx_sleep(cx, 100 * ASX_MS), ASX_OK); /* it holds two at most */
    CHECK_STATUS(asx_rate_limiter_try_acquire(cx, &b.limiter, 2), ASX_OK);
    CHECK_STATUS(asx_rate_limiter_try_acquire(cx, &b.limiter, 1), ASX_E_BUSY);
    asx_time before = asx_now(cx);
    CHECK_STATUS(asx_rate_limiter_acquire(cx, &b.limiter, 2), ASX_OK);
    CHECK_EQ(asx_now(cx) - before, 20 * ASX_MS);
    CHECK_STATUS(asx_rate_limiter_acquire(cx, &b.limiter, 3), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_rate_limiter_acquire(cx, &b.limiter, 0), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_rate_limiter_acquire(cx, &b.limiter, 1), ASX_E_REGION_CLOSED);
    CHECK_STATUS(asx_rate_limiter_try_acquire(cx, &b.limiter, 1), ASX_E_REGION_CLOSED);
    return ASX_OK;
}

ASX_TEST(tokens_come_one_by_one_and_are_taken_in_order)
{
    program(paced, NULL);
}

static asx_status gives_up(asx_cx *cx, void *arg)
{
    (void)arg;
    bucket b = { .n = 1 };
    asx_region r;
    asx_task first, second;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_rate_limiter_create(&r, 10 * ASX_MS, NULL, &b.limiter), ASX_OK);
    CHECK_STATUS(asx_rate_limiter_acquire(cx, &b.limiter, 1), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, taker, &b, NULL, &first), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, taker, &b, NULL, &second), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_rate_limiter_try_acquire(cx, &b.limiter, 1), ASX_E_BUSY);
    CHECK_STATUS(asx_task_cancel(&first, NULL), ASX_OK);
    CHECK_STATUS(asx_join(cx, &second, NULL), ASX_OK);
    CHECK_EQ(asx_now(cx), 10 * ASX_MS); /* its token is the next one's */
    CHECK_EQ(b.took, 1);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    return ASX_OK;
}

ASX_TEST(a_cancelled_waiter_has_taken_no_token)
{
    program(gives_up, NULL);
}

/* ---- circuit breaker ------------------------------------------------------------------------ */

typedef struct service {
    asx_breaker breaker;
    asx_status says;
    uint64_t takes_ms;
    bool panics;
    int calls;
} service;

static asx_status serve(asx_cx *cx, void *arg)
{
    service *s = arg;
    s->calls++;
    asx_status st = s->takes_ms != 0 ? asx_sleep(cx, s->takes_ms * ASX_MS) : ASX_OK;
    if (s->panics)
        asx_panic(cx, "a service that panics");
    return st < 0 ? st : s->says;
}

static asx_breaker_info info_of(const service *s)
{
    asx_breaker_info info;
    CHECK_STATUS(asx_breaker_get_info(&s->breaker, &info), ASX_OK);
    return info;
}

static asx_status call(asx_cx *cx, void *arg)
{
    service *s = arg;
    return asx_breaker_call(cx, &s->breaker, serve, s);
}

static asx_status breaks(asx_cx *cx, void *arg)
{
    (void)arg;
    service s = { .says = ASX_E_FULL };
    asx_region r;
    asx_breaker_options options = { .failures_max = 3, .open_ns = 50 * ASX_MS };
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_breaker_create(&r, &options, &s.breaker), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(call(cx, &s), ASX_E_FULL);
    CHECK_EQ(info_of(&s).state, ASX_BREAKER_OPEN);
    CHECK_STATUS(call(cx, &s), ASX_E_ADMISSION_CLOSED);
    CHECK_EQ(s.calls, 3);
    CHECK_STATUS(asx_sleep(cx, 50 * ASX_MS), ASX_OK);
    CHECK_STATUS(call(cx, &s), ASX_E_FULL); /* the try fails: open again */
    CHECK_STATUS(call(cx, &s), ASX_E_ADMISSION_CLOSED);
    CHECK_STATUS(asx_sleep(cx, 50 * ASX_MS), ASX_OK);
    s.says = ASX_OK;
    s.takes_ms = 10;
    CHECK_STATUS(asx_spawn(&r, "try", call, &s), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    CHECK_STATUS(call(cx, &s), ASX_E_ADMISSION_CLOSED); /* one try at a time */
    CHECK_STATUS(asx_sleep(cx, 10 * ASX_MS), ASX_OK);
    CHECK_EQ(info_of(&s).state, ASX_BREAKER_CLOSED);
    CHECK_STR_EQ(asx_breaker_state_str(info_of(&s).state), "closed");
    CHECK_EQ(info_of(&s).refused, 3);
    CHECK_STATUS(call(cx, &s), ASX_OK);
    CHECK_EQ(s.calls, 6);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(call(cx, &s), ASX_E_REGION_CLOSED);
    asx_breaker_info info;
    CHECK_STATUS(asx_breaker_get_info(&s.breaker, &info), ASX_E_REGION_CLOSED);
    return ASX_OK;
}

ASX_TEST(a_breaker_opens_tries_and_closes)
{
    program(breaks, NULL);
}

static asx_status try_dies(asx_cx *cx, void *arg)
{
    (void)arg;
    service s = { .says = ASX_E_FULL };
    asx_region r;
    asx_task task;
    asx_breaker_options options = { .failures_max = 1, .open_ns = 10 * ASX_MS };
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_breaker_create(&r, &options, &s.breaker), ASX_OK);
    CHECK_STATUS(call(cx, &s), ASX_E_FULL);
    CHECK_STATUS(asx_sleep(cx, 10 * ASX_MS), ASX_OK);
    s.panics = true;
    CHECK_STATUS(asx_spawn_task(&r, call, &s, NULL, &task), ASX_OK);
    CHECK_STATUS(asx_join(cx, &task, NULL), ASX_OK);
    CHECK_EQ(info_of(&s).state, ASX_BREAKER_HALF_OPEN);
    s.panics = false;
    s.says = ASX_OK;
    CHECK_STATUS(call(cx, &s), ASX_OK); /* the try was given back */
    CHECK_EQ(info_of(&s).state, ASX_BREAKER_CLOSED);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    return ASX_OK;
}

static asx_status late_failure(asx_cx *cx, void *arg)
{
    (void)arg;
    service s = { .says = ASX_E_FULL }, slow = { .says = ASX_E_FULL, .takes_ms = 30 };
    asx_region r;
    asx_breaker_options options = { .failures_max = 1, .open_ns = 10 * ASX_MS };
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_breaker_create(&r, &options, &s.breaker), ASX_OK);
    slow.breaker = s.breaker;
    CHECK_STATUS(asx_spawn(&r, "slow", call, &slow), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(call(cx, &s), ASX_E_FULL);
    CHECK_STATUS(asx_sleep(cx, 15 * ASX_MS), ASX_OK);
    s = (service){ .breaker = s.breaker, .takes_ms = 30 };
    CHECK_STATUS(call(cx, &s), ASX_OK); /* the try; at 30 ms the slow one fails */
    CHECK_EQ(slow.calls, 1);
    CHECK_EQ(info_of(&s).state, ASX_BREAKER_CLOSED);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    return ASX_OK;
}

ASX_TEST(what_was_called_before_the_breaker_opened_does_not_count_afterwards)
{
    program(late_failure, NULL);
}

ASX_TEST(a_try_whose_task_panics_is_given_back)
{
    program(try_dies, NULL);
}

/* ---- several workers ------------------------------------------------------------------------ */

static asx_status takes_many(asx_cx *cx, void *arg)
{
    bucket *b = arg;
    for (int i = 0; i < 50; i++) {
        asx_status st = asx_rate_limiter_acquire(cx, &b->limiter, 1);
        if (st < 0)
            return st;
    }
    return ASX_OK;
}

static asx_status fails_always(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = asx_yield(cx);
    return st < 0 ? st : ASX_E_FULL;
}

static asx_status breaks_often(asx_cx *cx, void *arg)
{
    service *s = arg;
    for (int i = 0; i < 300; i++) {
        asx_status st = asx_breaker_call(cx, &s->breaker, fails_always, NULL);
        if (st != ASX_E_FULL && st != ASX_E_ADMISSION_CLOSED)
            return ASX_E_BUSY;
    }
    return ASX_OK;
}

static asx_status on_workers(asx_cx *cx, void *arg)
{
    (void)arg;
    bucket b = { .n = 1 };
    service s = { .calls = 0 };
    asx_region r;
    asx_breaker_options options = { .failures_max = 2, .open_ns = 10 * ASX_US };
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_rate_limiter_create(&r, 20 * ASX_US, NULL, &b.limiter), ASX_OK);
    CHECK_STATUS(asx_breaker_create(&r, &options, &s.breaker), ASX_OK);
    asx_time before = asx_now(cx);
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(asx_spawn(&r, "takes", takes_many, &b), ASX_OK);
        CHECK_STATUS(asx_spawn(&r, "breaks", breaks_often, &s), ASX_OK);
    }
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK(asx_now(cx) - before >= 199 * 20 * ASX_US); /* 200 tokens, of which one was there */
    return ASX_OK;
}

ASX_TEST_TIMEOUT(limits_on_several_workers, 60)
{
    asx_runtime_config config = { .workers = 4 };
    program_with(&config, on_workers, NULL);
}
