/* test_misuse_runtime.c - the runtime itself, timers, traces, the laboratory and the pure
 * functions, called with nothing, with nonsense, from the wrong place and in the wrong order.
 */
#include "support_api.h"

#include <string.h>

#include <asx/asx_lab.h>

static asx_runtime *make(bool trace)
{
    asx_runtime_config config;
    asx_runtime *rt;
    memset(&config, 0, sizeof config);
    config.clock = ASX_CLOCK_VIRTUAL;
    config.trace = trace;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    return rt;
}

static asx_status refuse_bytes(void *ctx, const void *bytes, size_t len)
{
    (void)ctx;
    (void)bytes;
    (void)len;
    return ASX_E_FULL;
}

ASX_TEST(no_runtime_is_refused_everywhere)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_time next;
    asx_region region;
    asx_stats stats;
    asx_close_report report;
    asx_fairness_certificate certificate;
    asx_divergence divergence;
    CHECK_STATUS(asx_runtime_create(NULL, NULL), bad);
    CHECK_STATUS(asx_runtime_destroy(NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_run(NULL, api_returns_ok, NULL), bad);
    CHECK_STATUS(asx_runtime_start(NULL, api_returns_ok, NULL), bad);
    CHECK_STATUS(asx_runtime_step(NULL, 0, &next), bad);
    CHECK_STATUS(asx_runtime_advance(NULL, 1), bad);
    CHECK_STATUS(asx_runtime_quiescent(NULL), bad);
    CHECK_STATUS(asx_runtime_stalled(NULL), bad);
    CHECK_STATUS(asx_runtime_shutdown(NULL, 0, NULL), bad);
    CHECK_STATUS(asx_runtime_report(NULL, &report), bad);
    CHECK_STATUS(asx_runtime_root(NULL, &region), bad);
    CHECK_STATUS(asx_runtime_set_governor(NULL, ASX_GOVERNOR_NO_PREFERENCE), bad);
    CHECK_STATUS(asx_runtime_certificate(NULL, &certificate), bad);
    asx_pool_stats pool;
    CHECK_STATUS(asx_runtime_stats(NULL, &stats), bad);
    CHECK_STATUS(asx_runtime_pool_stats(NULL, &pool), bad);
    CHECK_STATUS(asx_runtime_trace_status(NULL), bad);
    CHECK_STATUS(asx_runtime_trace_write(NULL, refuse_bytes, NULL), bad);
    CHECK_STATUS(asx_runtime_observe(NULL, NULL, NULL), bad);
    CHECK_STATUS(asx_runtime_replay(NULL, NULL), bad);
    CHECK_STATUS(asx_runtime_divergence(NULL, &divergence), bad);
    CHECK_EQ(asx_runtime_now(NULL), 0u);
    CHECK_EQ(asx_runtime_digest(NULL), 0u);
    CHECK(asx_runtime_timers(NULL) == NULL);
}

ASX_TEST(places_that_are_none_are_refused_by_a_runtime)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = make(false);
    REFUSED(rt, asx_runtime_run(rt, NULL, NULL), bad);
    REFUSED(rt, asx_runtime_start(rt, NULL, NULL), bad);
    REFUSED(rt, asx_runtime_report(rt, NULL), bad);
    REFUSED(rt, asx_runtime_root(rt, NULL), bad);
    REFUSED(rt, asx_runtime_certificate(rt, NULL), bad);
    REFUSED(rt, asx_runtime_stats(rt, NULL), bad);
    REFUSED(rt, asx_runtime_pool_stats(rt, NULL), bad);
    REFUSED(rt, asx_runtime_divergence(rt, NULL), bad);
    REFUSED(rt, asx_runtime_set_governor(rt, (asx_governor)99), bad);
    REFUSED(rt, asx_runtime_replay(rt, NULL), bad);
    REFUSED(rt, asx_runtime_trace_status(rt), ASX_E_NO_JOURNAL);
    REFUSED(rt, asx_runtime_trace_write(rt, refuse_bytes, NULL), ASX_E_NO_JOURNAL);
    REFUSED(rt, asx_runtime_observe(rt, NULL, NULL), ASX_E_NO_JOURNAL);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    rt = make(true);
    REFUSED(rt, asx_runtime_trace_write(rt, NULL, NULL), bad);
    REFUSED(rt, asx_runtime_trace_write(rt, refuse_bytes, NULL), ASX_E_FULL);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(a_configuration_that_makes_no_sense_is_refused)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    static char block[64];
    asx_runtime *rt = NULL;
    asx_runtime_config config;
    memset(&config, 0, sizeof config);
    config.profile = (asx_profile)77;
    CHECK_STATUS(asx_runtime_create(&config, &rt), bad);
    memset(&config, 0, sizeof config);
    config.clock = (asx_clock_kind)77;
    CHECK_STATUS(asx_runtime_create(&config, &rt), bad);
    memset(&config, 0, sizeof config);
    config.profile = ASX_PROFILE_FREESTANDING; /* needs a block */
    CHECK_STATUS(asx_runtime_create(&config, &rt), bad);
    memset(&config, 0, sizeof config);
    config.stack_size = SIZE_MAX;
    CHECK_STATUS(asx_runtime_create(&config, &rt), bad);
    memset(&config, 0, sizeof config);
    config.memory = block;
    config.memory_size = sizeof block;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_E_RESOURCE_EXHAUSTED);
    memset(&config, 0, sizeof config);
    config.root.policy = (asx_policy)77;
    CHECK_STATUS(asx_runtime_create(&config, &rt), bad);
    CHECK(rt == NULL);
}

/* The last value of each list is one, and the next is none; `which` is the list. */
static asx_runtime_config with_value(int which, int beyond)
{
    asx_runtime_config config;
    memset(&config, 0, sizeof config);
    switch (which) {
    case 0:
        config.root.policy = (asx_policy)(ASX_POLICY_COLLECT + beyond);
        break;
    case 1:
        config.root.cleanup = (asx_cleanup_mode)(ASX_CLEANUP_PANIC + beyond);
        break;
    case 2:
        config.root.leak = (asx_leak_policy)(ASX_LEAK_PANIC + beyond);
        break;
    case 3:
        config.root.admission = (asx_admission)(ASX_ADMISSION_WAIT + beyond);
        break;
    case 4:
        config.clock = (asx_clock_kind)(ASX_CLOCK_VIRTUAL + beyond);
        break;
    default:
        config.trace_overflow = (asx_trace_overflow)(ASX_TRACE_OVERWRITE + beyond);
        break;
    }
    return config;
}

static asx_status opens_with_value(asx_cx *cx, void *arg)
{
    int which = *(int *)arg;
    asx_region r;
    asx_region_options last = with_value(which, 0).root, none = with_value(which, 1).root;
    CHECK_STATUS(asx_region_open(cx, &none, &r), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_open(cx, &last, &r), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(every_value_of_a_list_is_taken_and_no_other)
{
    asx_test_one_worker("the virtual clock");
    for (int which = 0; which < 6; which++) {
        asx_runtime_config config = with_value(which, 1);
        asx_runtime *rt = NULL;
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_E_INVALID_ARGUMENT);
        config = with_value(which, 0);
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, which < 4 ? opens_with_value : api_returns_ok, &which),
                     ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

static asx_status inside(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_time next;
    (void)arg;
    REFUSED(rt, asx_runtime_destroy(rt), ASX_E_WRONG_CONTEXT);
    REFUSED(rt, asx_runtime_run(rt, api_returns_ok, NULL), ASX_E_WRONG_CONTEXT);
    REFUSED(rt, asx_runtime_start(rt, api_returns_ok, NULL), ASX_E_WRONG_CONTEXT);
    REFUSED(rt, asx_runtime_step(rt, 0, &next), ASX_E_WRONG_CONTEXT);
    REFUSED(rt, asx_runtime_quiescent(rt), ASX_E_TASKS_STILL_ACTIVE);
    return ASX_OK;
}

ASX_TEST(a_runtime_is_not_driven_from_inside)
{
    asx_runtime *rt = make(false);
    asx_time next;
    CHECK_STATUS(asx_runtime_run(rt, inside, NULL), ASX_OK);
    REFUSED(rt, asx_runtime_run(rt, inside, NULL), ASX_E_INVALID_TRANSITION);
    REFUSED(rt, asx_runtime_start(rt, inside, NULL), ASX_E_INVALID_TRANSITION);
    CHECK(asx_runtime_step(rt, 0, &next) != ASX_E_WOULD_BLOCK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(a_runtime_that_was_not_started_is_not_stepped)
{
    asx_runtime *rt = make(false);
    asx_time next;
    REFUSED(rt, asx_runtime_step(rt, 0, &next), ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_runtime_shutdown(rt, 0, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_shutdown(rt, 0, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    asx_runtime_config config;
    memset(&config, 0, sizeof config);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    REFUSED(rt, asx_runtime_advance(rt, 1), ASX_E_NOT_SUPPORTED); /* a real clock */
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static asx_status fails(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_E_FULL;
}

ASX_TEST(main_says_whether_it_went_well)
{
    CHECK_EQ(asx_main(api_returns_ok, NULL), 0);
    CHECK_EQ(asx_main(fails, NULL), 1);
    CHECK_EQ(asx_main(NULL, NULL), 1);
}

/* ---- laboratory and traces ------------------------------------------------------------------ */

ASX_TEST(a_lab_run_of_nothing_is_refused)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_lab_options options;
    asx_lab_result result;
    memset(&options, 0, sizeof options);
    CHECK_STATUS(asx_lab_run(NULL, NULL, &options, &result), bad);
    CHECK_STATUS(asx_lab_run(api_returns_ok, NULL, &options, NULL), bad);
    CHECK_STATUS(asx_lab_replay(api_returns_ok, NULL, NULL, 10, &options, &result), bad);
    CHECK_STATUS(asx_lab_replay(NULL, NULL, "x", 1, &options, &result), bad);
    CHECK_STATUS(asx_lab_replay(api_returns_ok, NULL, "x", 1, &options, NULL), bad);
    CHECK_STATUS(asx_lab_replay(api_returns_ok, NULL, "nonsense", 8, &options, &result),
                 ASX_E_TRACE_CORRUPT);
}

ASX_TEST(what_is_no_trace_is_not_read)
{
    asx_trace_reader reader;
    asx_event event;
    char text[256];
    uint8_t zeros[256] = { 0 };
    CHECK_STATUS(asx_trace_reader_init(NULL, zeros, sizeof zeros), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_trace_reader_init(&reader, NULL, 4), ASX_E_INVALID_ARGUMENT);
    for (size_t len = 0; len <= sizeof zeros; len++)
        CHECK_STATUS(asx_trace_reader_init(&reader, zeros, len), ASX_E_TRACE_CORRUPT);
    CHECK_STATUS(asx_trace_reader_next(NULL, &event), ASX_E_INVALID_ARGUMENT);
    memset(&event, 0xff, sizeof event);
    CHECK(asx_event_format(&event, text, sizeof text) > 0);
    CHECK(strlen(text) < sizeof text);
    CHECK_EQ(asx_event_format(NULL, text, sizeof text), 0u);
    size_t whole = asx_event_format(&event, NULL, 0);
    CHECK_EQ(whole, asx_event_format(&event, text, 1));
    CHECK_EQ(text[0], '\0');
    CHECK(asx_event_kind_str(UINT32_MAX) != NULL);
}

/* ---- timers --------------------------------------------------------------------------------- */

static void wake_nothing(void *arg)
{
    (void)arg;
}

ASX_TEST(wheels_and_timers_that_are_none_are_refused)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_waker waker = { wake_nothing, NULL }, no_waker = { NULL, NULL };
    asx_timer_handle handle = { 0, 0 }, old;
    asx_timer_stats stats;
    asx_timer_wheel *wheel;
    CHECK_STATUS(asx_timer_wheel_create(NULL, NULL), bad);
    asx_timer_wheel_destroy(NULL);
    CHECK_STATUS(asx_timer_wheel_create(NULL, &wheel), ASX_OK);
    CHECK_STATUS(asx_timer_register(NULL, 1, waker, &handle), bad);
    CHECK_STATUS(asx_timer_register(wheel, 1, waker, NULL), bad);
    CHECK_STATUS(asx_timer_register(wheel, 1, no_waker, &handle), bad);
    CHECK_STATUS(asx_timer_try_register(NULL, 1, waker, &handle), bad);
    CHECK_STATUS(asx_timer_try_register(wheel, 1, waker, NULL), bad);
    CHECK_STATUS(asx_timer_register(wheel, ASX_TIME_NEVER - 1, waker, &handle),
                 ASX_E_TIMER_DURATION_EXCEEDED);
    CHECK_STATUS(asx_timer_update(NULL, &handle, 1, waker, &handle), bad);
    CHECK_STATUS(asx_timer_update(wheel, NULL, 1, waker, &handle), bad);
    CHECK_STATUS(asx_timer_update(wheel, &handle, 1, waker, NULL), bad);
    CHECK(!asx_timer_cancel(NULL, &handle));
    CHECK(!asx_timer_cancel(wheel, NULL));
    CHECK(!asx_timer_cancel(wheel, &handle));
    CHECK_EQ(asx_timer_collect_expired(NULL, 1, &waker, 1), 0u);
    CHECK_EQ(asx_timer_collect_expired(wheel, 1, NULL, 0), 0u);
    CHECK_EQ(asx_timer_next_deadline(NULL), ASX_TIME_NEVER);
    CHECK_EQ(asx_timer_count(NULL), 0u);
    asx_timer_wheel_stats(wheel, NULL);
    asx_timer_wheel_stats(NULL, &stats);
    CHECK_EQ(asx_timer_count(wheel), 0u);
    CHECK_STATUS(asx_timer_register(wheel, 5, waker, &handle), ASX_OK);
    old = handle;
    CHECK(asx_timer_cancel(wheel, &handle));
    CHECK(!asx_timer_cancel(wheel, &old));
    asx_timer_wheel_destroy(wheel);
}

/* ---- pure functions ------------------------------------------------------------------------- */

ASX_TEST(names_of_nothing_are_names_too)
{
    CHECK(asx_status_str((asx_status)12345) != NULL);
    CHECK_STR_EQ(asx_status_str((asx_status)-9999), "ASX_E_UNKNOWN");
    CHECK(asx_status_hint((asx_status)12345) != NULL);
    CHECK(asx_outcome_str((asx_outcome_kind)99) != NULL);
    CHECK_STR_EQ(asx_cancel_kind_str((asx_cancel_kind)99), "Unknown");
    CHECK_STR_EQ(asx_cancel_phase_str((asx_cancel_phase)99), "Unknown");
    CHECK(asx_region_state_str((asx_region_state)99) != NULL);
    CHECK(asx_task_state_str((asx_task_state)99) != NULL);
    CHECK(asx_obligation_state_str((asx_obligation_state)99) != NULL);
    CHECK_EQ(asx_outcome_severity((asx_outcome_kind)99), 3);
    CHECK_EQ(asx_cancel_severity((asx_cancel_kind)99), 5);
    CHECK(asx_cancel_cleanup_budget((asx_cancel_kind)99).poll_quota > 0);
}

ASX_TEST(states_that_are_none_have_no_transitions)
{
    for (int i = -2; i < 9; i++) {
        CHECK_STATUS(asx_region_transition_legal((asx_region_state)(i < 0 ? i : i + 5),
                                                 ASX_REGION_CLOSING),
                     ASX_E_INVALID_TRANSITION);
        CHECK_STATUS(asx_task_transition_legal(ASX_TASK_CREATED,
                                               (asx_task_state)(i < 0 ? i : i + 6)),
                     ASX_E_INVALID_TRANSITION);
        CHECK_STATUS(asx_obligation_transition_legal(ASX_OBLIGATION_RESERVED,
                                                     (asx_obligation_state)(i < 0 ? i : i + 4)),
                     ASX_E_INVALID_TRANSITION);
    }
}

ASX_TEST(reasons_budgets_and_handles_of_nothing)
{
    asx_cancel_reason reason;
    asx_cancel_witness witness;
    asx_budget zero = asx_budget_zero();
    asx_handle none = { 0, 0 };
    memset(&reason, 0, sizeof reason);
    memset(&witness, 0, sizeof witness);
    CHECK(!asx_cancel_reason_stronger(NULL, &reason));
    CHECK(!asx_cancel_reason_stronger(&reason, NULL));
    CHECK(!asx_cancel_reason_stronger(NULL, NULL));
    CHECK_EQ(asx_cancel_reason_depth(NULL), 0u);
    CHECK_STATUS(asx_cancel_witness_check(NULL, &witness), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_cancel_witness_check(&witness, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_budget_consume_poll(NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_budget_consume_cost(NULL, 1), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_budget_consume_poll(&zero), ASX_E_BUDGET_EXHAUSTED);
    CHECK_STATUS(asx_budget_consume_cost(&zero, UINT64_MAX), ASX_E_BUDGET_EXHAUSTED);
    CHECK(asx_budget_equal(zero, asx_budget_zero()));
    CHECK(!asx_budget_expired(asx_budget_infinite(), ASX_TIME_NEVER));
    CHECK_EQ(asx_handle_tag(none), ASX_TAG_NONE);
    CHECK_EQ(asx_handle_mask(none), 0);
    CHECK_EQ(asx_handle_index(none), 0u);
    CHECK_EQ(asx_handle_mask(asx_handle_narrow(none, ASX_STATE_MASK_ALL)), 0);
    CHECK(!asx_handle_same(none, asx_handle_make(ASX_TAG_TASK, 1, 0, 1)));
    CHECK_STATUS(asx_handle_check(none, ASX_TAG_TASK, 1, 1, 1), ASX_E_INVALID_ARGUMENT);
    asx_outcome odd = { (asx_outcome_kind)99, ASX_OK, 0 }, good = ASX_OUTCOME_INIT_OK;
    CHECK_EQ(asx_outcome_join(good, odd).kind, odd.kind); /* counts as the worst */
    CHECK_EQ(asx_budget_meet(zero, asx_budget_infinite()).poll_quota, 0u);
}
