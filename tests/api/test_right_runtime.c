/* test_right_runtime.c - what one asks a runtime about itself: reports, time, governor,
 * certificate, recorded runs.
 */
#include "support_api.h"

#include <string.h>

static asx_status asks(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_close_report report;
    asx_region region;
    asx_obligation obligation;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "asked" }, &region), ASX_OK);
    CHECK_STATUS(asx_spawn(&region, "sleeper", api_waits, NULL), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&region, ASX_OBLIGATION_KIND_PLAIN, &obligation), ASX_OK);
    CHECK_STATUS(asx_obligation_probe(&obligation, ASX_OBLIGATION_COMMITTED), ASX_OK);
    CHECK_STATUS(asx_obligation_probe(&obligation, ASX_OBLIGATION_RESERVED),
                 ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_obligation_commit(&obligation), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 10), ASX_OK);
    CHECK_EQ(asx_runtime_now(rt), asx_now(cx));
    CHECK_STATUS(asx_runtime_report(rt, &report), ASX_OK);
    bool found = false;
    for (size_t i = 0; i < report.items_len; i++)
        found |= strcmp(report.items[i].name, "sleeper") == 0 &&
                 strcmp(report.items[i].path, "root/asked") == 0;
    CHECK(found);
    asx_close_report_deinit(&report);
    return asx_region_close(&region, ASX_E_CANCELLED) == ASX_E_CANCELLED ? ASX_OK : ASX_E_BUSY;
}

static asx_runtime *make(void)
{
    asx_runtime_config config;
    asx_runtime *rt;
    memset(&config, 0, sizeof config);
    config.clock = ASX_CLOCK_VIRTUAL;
    config.trace = true;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    return rt;
}

ASX_TEST(a_runtime_tells_who_is_alive_and_what_time_it_is)
{
    CHECK_STATUS(api_run(asks, NULL), ASX_OK);
}

ASX_TEST(every_governor_runs_the_program_and_certifies_it)
{
    for (int i = ASX_GOVERNOR_NO_PREFERENCE; i <= ASX_GOVERNOR_DRAIN_REGIONS; i++) {
        asx_runtime *rt = make();
        asx_fairness_certificate before, after;
        CHECK_STATUS(asx_runtime_certificate(rt, &before), ASX_OK);
        CHECK_STATUS(asx_runtime_set_governor(rt, (asx_governor)i), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, asks, NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_certificate(rt, &after), ASX_OK);
        CHECK(after.ready_dispatches + after.cancel_dispatches > 0);
        CHECK_NE(before.hash, after.hash);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

typedef struct recording {
    uint8_t bytes[65536];
    size_t len;
} recording;

static asx_status record(void *ctx, const void *bytes, size_t len)
{
    recording *r = ctx;
    CHECK(r->len + len <= sizeof r->bytes);
    memcpy(r->bytes + r->len, bytes, len);
    r->len += len;
    return ASX_OK;
}

static asx_status replay(const recording *recorded, asx_task_fn fn, asx_divergence *ret)
{
    asx_runtime *rt = make();
    asx_trace_reader reader;
    CHECK_STATUS(asx_trace_reader_init(&reader, recorded->bytes, recorded->len), ASX_OK);
    CHECK_STATUS(asx_runtime_replay(rt, &reader), ASX_OK);
    asx_status st = asx_runtime_run(rt, fn, NULL);
    CHECK_STATUS(asx_runtime_divergence(rt, ret), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return st;
}

ASX_TEST(a_recorded_run_is_followed_and_a_different_one_is_noticed)
{
    static recording recorded;
    asx_divergence divergence;
    asx_runtime *rt = make();
    CHECK_STATUS(asx_runtime_run(rt, asks, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_trace_write(rt, record, &recorded), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_STATUS(replay(&recorded, asks, &divergence), ASX_OK);
    CHECK(!divergence.diverged);
    CHECK_STATUS(replay(&recorded, api_returns_ok, &divergence), ASX_E_DIVERGED);
    CHECK(divergence.diverged);
}
