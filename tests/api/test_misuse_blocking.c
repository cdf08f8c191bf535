/* test_misuse_blocking.c - blocking work asked for in wrong ways: nothing is called. */
#include "harness.h"

#include <asx/asx.h>

static asx_status quick(void *arg)
{
    (*(int *)arg)++;
    return ASX_OK;
}

static asx_poll in_a_poll_task(asx_cx *cx, void *arg)
{
    CHECK_EQ(asx_blocking(cx, quick, arg), ASX_E_NOT_SUPPORTED);
    return ASX_POLL_READY;
}

static asx_status misuse(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_blocking_stats stats;
    asx_cx forged = *cx;
    forged.task_ = NULL;
    CHECK_EQ(asx_blocking(cx, NULL, arg), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_blocking(NULL, quick, arg), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_blocking(&forged, quick, arg), ASX_E_WRONG_CONTEXT);
    CHECK_EQ(asx_runtime_blocking_stats(NULL, &stats), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_runtime_blocking_stats(asx_cx_runtime(cx), NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_spawn_blocking(NULL, "x", quick, arg, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn_poll(&r, "poll", in_a_poll_task, arg), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(asx_spawn_blocking(&r, "x", quick, arg, NULL), ASX_E_STALE_HANDLE);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn_blocking(&r, "x", NULL, arg, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_INVALID_ARGUMENT);
    return ASX_OK;
}

ASX_TEST(wrong_uses_get_a_status_and_call_nothing)
{
    asx_runtime *rt;
    int calls = 0;
    CHECK_EQ(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, misuse, &calls), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(calls, 0);
}

static asx_status no_threads(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_EQ(asx_blocking(cx, quick, arg), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn_blocking(&r, "x", quick, arg, NULL), ASX_E_NOT_SUPPORTED);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_NOT_SUPPORTED);
    return ASX_OK;
}

ASX_TEST(the_freestanding_profile_has_no_threads)
{
    static char block[1 << 20];
    asx_runtime_config config = { .profile = ASX_PROFILE_FREESTANDING,
                                  .memory = block,
                                  .memory_size = sizeof block };
    asx_runtime *rt;
    int calls = 0;
    CHECK_EQ(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_EQ(asx_runtime_run(rt, no_threads, &calls), ASX_OK);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
    CHECK_EQ(calls, 0);
}
