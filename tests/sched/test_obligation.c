/* Plain obligations: resolved exactly once, or leaked and remembered. */
#include "support_kit.h"

static asx_status exactly_once(asx_cx *cx, void *arg)
{
    static asx_status (*const resolve[2])(asx_obligation *) = { asx_obligation_commit,
                                                                      asx_obligation_abort };
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int first = 0; first < 2; first++) {
        for (int second = 0; second < 2; second++) {
            asx_obligation o, copy;
            asx_obligation_state state;
            CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &o), ASX_OK);
            copy = o;
            CHECK_STATUS(asx_obligation_get_state(&o, &state), ASX_OK);
            CHECK_EQ(state, ASX_OBLIGATION_RESERVED);
            CHECK_STATUS(asx_obligation_probe(&o, ASX_OBLIGATION_RESERVED),
                         ASX_E_INVALID_TRANSITION);
            CHECK_STATUS(asx_obligation_probe(&o, ASX_OBLIGATION_COMMITTED), ASX_OK);
            CHECK_STATUS(resolve[first](&o), ASX_OK);
            CHECK_STATUS(resolve[second](&o), ASX_E_OBLIGATION_ALREADY_RESOLVED);
            CHECK_STATUS(resolve[second](&copy), ASX_E_OBLIGATION_ALREADY_RESOLVED);
            CHECK_STATUS(asx_obligation_get_state(&o, &state), ASX_E_OBLIGATION_ALREADY_RESOLVED);
            CHECK_STATUS(asx_obligation_probe(&o, ASX_OBLIGATION_ABORTED),
                         ASX_E_OBLIGATION_ALREADY_RESOLVED);
        }
    }
    CHECK_EQ(kit_stats(asx_cx_runtime(cx)).obligations_total, 4);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(an_obligation_is_resolved_exactly_once)
{
    kit_everywhere(exactly_once, NULL, ASX_OK);
}

static asx_status narrowed(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_obligation o, none;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_LEASE, &o), ASX_OK);
    none = o;
    none.id = asx_handle_narrow(o.id, ASX_STATE_BIT(ASX_OBLIGATION_LEAKED));
    CHECK_STATUS(asx_obligation_commit(&none), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_obligation_abort(&none), ASX_E_CAPABILITY);
    CHECK_EQ(kit_stats(asx_cx_runtime(cx)).obligations_reserved, 1);
    CHECK_STATUS(asx_obligation_commit(&o), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_narrowed_handle_does_not_resolve)
{
    kit_everywhere(narrowed, NULL, ASX_OK);
}

/* In any state before Closed: while it closes, drains and finalizes. */
static asx_status commits_late(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_obligation_commit(arg);
}

static asx_status commits_after_a_sleep(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    return asx_obligation_commit(arg);
}

static asx_status resolved_late(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_obligation a, b, c;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &a), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &b), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &c), ASX_OK);
    CHECK_STATUS(asx_defer(&r, commits_late, &b), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "late", commits_after_a_sleep, &a), ASX_OK);
    CHECK_STATUS(asx_region_stop(&r), ASX_OK);
    CHECK_STATUS(asx_obligation_abort(&c), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_OK);
    CHECK_EQ(report.obligations_leaked, 0);
    CHECK_STATUS(report.account, ASX_OK);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(obligations_are_resolved_in_every_state_before_closed)
{
    kit_everywhere(resolved_late, NULL, ASX_OK);
}

/* Leaking for ever takes no more memory for ever; the latest leaks are told as such. */
static asx_status leaks_for_ever(asx_cx *cx, void *arg)
{
    enum { ROUNDS = 500 };
    static asx_obligation o[ROUNDS];
    uint64_t bytes = 0;
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        asx_region r;
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &o[i]), ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
        CHECK_STATUS(asx_obligation_commit(&o[i]), ASX_E_OBLIGATION_LEAKED);
        if (i == ROUNDS / 2)
            bytes = kit_stats(asx_cx_runtime(cx)).memory_bytes;
    }
    asx_stats stats = kit_stats(asx_cx_runtime(cx));
    if (arg == NULL) /* without a journal, which grows */
        CHECK_EQ(stats.memory_bytes, bytes);
    CHECK_EQ(stats.obligations_leaked, ROUNDS);
    CHECK_EQ(stats.obligations_reserved, 0);
    for (int i = 0; i < ROUNDS; i++) {
        asx_status st = asx_obligation_abort(&o[i]);
        CHECK(st == ASX_E_OBLIGATION_LEAKED ||
              (st == ASX_E_OBLIGATION_ALREADY_RESOLVED && i < ROUNDS - 50));
    }
    return ASX_OK;
}

ASX_TEST(leaks_are_remembered_but_not_without_bound)
{
    for (int i = 0; i < 4; i++) {
        asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.trace = (i & 2) != 0;
        CHECK_STATUS(kit_run(&config, leaks_for_ever, i & 2 ? "journal" : NULL), ASX_OK);
    }
}

/* A live one among thousands that come and go. */
static asx_status long_lived(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_obligation old, o[40];
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_LEASE, &old), ASX_OK);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 40; i++)
            CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &o[i]), ASX_OK);
        for (int i = 39; i >= 0; i -= 2)
            CHECK_STATUS(asx_obligation_commit(&o[i]), ASX_OK);
        for (int i = 0; i < 40; i += 2)
            CHECK_STATUS(asx_obligation_abort(&o[i]), ASX_OK);
    }
    asx_stats stats = kit_stats(asx_cx_runtime(cx));
    CHECK_EQ(stats.obligations_total, 4001);
    CHECK_EQ(stats.obligations_reserved, 1);
    CHECK_STATUS(asx_obligation_commit(&old), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(an_old_obligation_stays_itself_while_others_come_and_go)
{
    kit_everywhere(long_lived, NULL, ASX_OK);
}
