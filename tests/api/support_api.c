#include "support_api.h"

#include <string.h>

/* Sizes that no machine has are asked for on purpose: the sanitizers' malloc shall say no to them
 * as any other does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

asx_stats api_stats(const asx_runtime *rt)
{
    asx_stats stats;
    memset(&stats, 0, sizeof stats);
    CHECK_STATUS(asx_runtime_stats(rt, &stats), ASX_OK);
    stats.turns = 0;
    return stats;
}

asx_status api_run(asx_task_fn fn, void *arg)
{
    asx_runtime_config config;
    asx_runtime *rt;
    memset(&config, 0, sizeof config);
    config.clock = ASX_CLOCK_VIRTUAL;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    asx_status st = asx_runtime_run(rt, fn, arg);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return st;
}

asx_status api_waits(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep_until(cx, ASX_TIME_NEVER);
}

asx_status api_returns_ok(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

static asx_status other_main(asx_cx *cx, void *arg)
{
    api_other *other = arg;
    other->cx = *cx;
    CHECK_STATUS(asx_region_open(cx, NULL, &other->region), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&other->region, api_waits, NULL, NULL, &other->task), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&other->region, ASX_OBLIGATION_KIND_PLAIN,
                                        &other->obligation),
                 ASX_OK);
    CHECK_STATUS(asx_channel_create(&other->region, sizeof(uint64_t), 4, NULL, &other->sender,
                                    &other->receiver),
                 ASX_OK);
    asx_status st = asx_sleep_until(cx, ASX_TIME_NEVER);
    CHECK_STATUS(asx_obligation_abort(&other->obligation), ASX_OK);
    return asx_region_close(&other->region, st);
}

void api_other_init(api_other *other)
{
    asx_runtime_config config;
    memset(&config, 0, sizeof config);
    memset(other, 0, sizeof *other);
    config.clock = ASX_CLOCK_VIRTUAL;
    CHECK_STATUS(asx_runtime_create(&config, &other->rt), ASX_OK);
    CHECK_STATUS(asx_runtime_start(other->rt, other_main, other), ASX_OK);
    asx_time next;
    CHECK_STATUS(asx_runtime_advance(other->rt, 1), ASX_OK); /* it moves only when told to */
    CHECK_STATUS(asx_runtime_step(other->rt, 100, &next), ASX_E_WOULD_BLOCK);
    CHECK(other->cx.rt_ == other->rt);
}

void api_other_deinit(api_other *other)
{
    CHECK_STATUS(asx_runtime_shutdown(other->rt, 0, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(other->rt), ASX_OK);
}
