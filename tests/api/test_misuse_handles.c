/* test_misuse_handles.c - regions, tasks and obligations by names that do not fit: none, empty, of
 * something that is gone, of another type, of another runtime, out of range, narrowed.
 */
#include "support_api.h"

#include <string.h>

/* ---- regions -------------------------------------------------------------------------------- */

static asx_cx *running;

static asx_status do_open_in(asx_region *region)
{
    asx_region inner;
    asx_status st = asx_region_open_in(running, region, NULL, &inner);
    return st;
}

static asx_status do_close(asx_region *region)
{
    return asx_region_close(region, ASX_OK);
}

static asx_status do_close_with(asx_region *region)
{
    return asx_region_close_with(region, ASX_OK, NULL, NULL);
}

static asx_status do_stop(asx_region *region)
{
    return asx_region_stop(region);
}

static asx_status do_cancel(asx_region *region)
{
    return asx_region_cancel(region, NULL);
}

static asx_status do_defer(asx_region *region)
{
    return asx_defer(region, api_returns_ok, NULL);
}

static asx_status do_alloc(asx_region *region)
{
    void *memory;
    return asx_region_alloc(region, 8, &memory);
}

static asx_status do_get_state(asx_region *region)
{
    asx_region_state state;
    return asx_region_get_state(region, &state);
}

static asx_status do_probe(asx_region *region)
{
    return asx_region_probe(region, ASX_REGION_CLOSING);
}

static asx_status do_report(asx_region *region)
{
    asx_close_report report;
    asx_status st = asx_region_report(region, &report);
    if (st == ASX_OK)
        asx_close_report_deinit(&report);
    return st;
}

static asx_status do_spawn(asx_region *region)
{
    return asx_spawn(region, "task", api_returns_ok, NULL);
}

static asx_status do_spawn_copy(asx_region *region)
{
    int value = 3;
    return asx_spawn_copy(region, "task", api_returns_ok, &value, sizeof value);
}

static asx_poll poll_ready(asx_cx *cx, void *state)
{
    (void)cx;
    (void)state;
    return ASX_POLL_READY;
}

static asx_status do_spawn_poll(asx_region *region)
{
    return asx_spawn_poll(region, "task", poll_ready, NULL);
}

static asx_status do_spawn_task(asx_region *region)
{
    return asx_spawn_task(region, api_returns_ok, NULL, NULL, NULL);
}

static asx_status do_spawn_poll_task(asx_region *region)
{
    return asx_spawn_poll_task(region, poll_ready, NULL, NULL, NULL);
}

static asx_status do_reserve(asx_region *region)
{
    asx_obligation obligation;
    asx_status st = asx_obligation_reserve(region, ASX_OBLIGATION_KIND_PLAIN, &obligation);
    return st < 0 ? st : asx_obligation_abort(&obligation);
}

static asx_status do_channel(asx_region *region)
{
    asx_channel_sender sender;
    asx_channel_receiver receiver;
    return asx_channel_create(region, 8, 1, NULL, &sender, &receiver);
}

static const struct region_call {
    const char *name;
    asx_status (*fn)(asx_region *region);
} region_calls[] = {
    { "region_get_state", do_get_state },
    { "region_probe", do_probe },
    { "region_report", do_report },
    { "region_alloc", do_alloc },
    { "obligation_reserve", do_reserve },
    { "channel_create", do_channel },
    { "spawn", do_spawn },
    { "spawn_copy", do_spawn_copy },
    { "spawn_poll", do_spawn_poll },
    { "spawn_task", do_spawn_task },
    { "spawn_poll_task", do_spawn_poll_task },
    { "defer", do_defer },
    { "region_open_in", do_open_in },
    { "region_cancel", do_cancel },
    { "region_stop", do_stop },
    { "region_close", do_close },
    { "region_close_with", do_close_with },
};
enum { REGION_CALLS = sizeof region_calls / sizeof *region_calls };

static void region_check(asx_runtime *rt, const asx_region *given, asx_status expected)
{
    for (size_t i = 0; i < REGION_CALLS; i++) {
        asx_region region;
        if (given != NULL)
            region = *given;
        asx_stats before = api_stats(rt);
        asx_status st = region_calls[i].fn(given != NULL ? &region : NULL);
        asx_stats after = api_stats(rt);
        if (st != expected)
            asx_test_fail(__FILE__, __LINE__, "asx_%s gave %s, not %s", region_calls[i].name,
                          asx_status_str(st), asx_status_str(expected));
        if (memcmp(&before, &after, sizeof before) != 0)
            asx_test_fail(__FILE__, __LINE__, "asx_%s changed something", region_calls[i].name);
    }
}

static asx_status regions(asx_cx *cx, void *arg)
{
    api_other *other = arg;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region region, bad;
    running = cx;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    region_check(rt, NULL, ASX_E_INVALID_ARGUMENT);
    memset(&bad, 0, sizeof bad);
    region_check(rt, &bad, ASX_E_INVALID_ARGUMENT);
    bad = region;
    bad.id = asx_cx_task_id(cx); /* another type */
    region_check(rt, &bad, ASX_E_INVALID_ARGUMENT);
    bad.id = other->obligation.id;
    region_check(rt, &bad, ASX_E_INVALID_ARGUMENT);
    bad.id = other->region.id; /* another runtime's name, shown here */
    region_check(rt, &bad, ASX_E_STALE_HANDLE);
    bad.id = asx_handle_make(ASX_TAG_REGION, ASX_STATE_MASK_ALL, UINT32_MAX, 1);
    region_check(rt, &bad, ASX_E_STALE_HANDLE);
    bad = region;
    bad.id.generation++;
    region_check(rt, &bad, ASX_E_STALE_HANDLE);
    bad.id.generation = 0;
    region_check(rt, &bad, ASX_E_STALE_HANDLE);
    bad = asx_region_narrow(region, ASX_STATE_BIT(ASX_REGION_CLOSING));
    CHECK_STATUS(do_alloc(&bad), ASX_E_CAPABILITY);
    CHECK_STATUS(do_spawn(&bad), ASX_E_CAPABILITY);
    bad = region;
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    region_check(rt, &bad, ASX_E_STALE_HANDLE); /* closed and reported */
    region_check(rt, &region, ASX_E_STALE_HANDLE);
    return ASX_OK;
}

ASX_TEST(a_name_that_fits_no_region_is_refused)
{
    api_other other;
    api_other_init(&other);
    CHECK_STATUS(api_run(regions, &other), ASX_OK);
    api_other_deinit(&other);
}

/* Set-up on a region that has begun to close. */
static asx_status closing(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region region;
    (void)arg;
    running = cx;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_spawn(&region, "waits", api_waits, NULL), ASX_OK);
    CHECK_STATUS(asx_region_stop(&region), ASX_OK);
    REFUSED(rt, do_spawn(&region), ASX_E_REGION_NOT_OPEN);
    REFUSED(rt, do_spawn_copy(&region), ASX_E_REGION_NOT_OPEN);
    REFUSED(rt, do_spawn_poll(&region), ASX_E_REGION_NOT_OPEN);
    REFUSED(rt, do_spawn_task(&region), ASX_E_REGION_NOT_OPEN);
    REFUSED(rt, do_spawn_poll_task(&region), ASX_E_REGION_NOT_OPEN);
    REFUSED(rt, do_channel(&region), ASX_E_REGION_NOT_OPEN);
    REFUSED(rt, do_reserve(&region), ASX_E_REGION_NOT_OPEN);
    REFUSED(rt, do_defer(&region), ASX_E_REGION_NOT_OPEN);
    REFUSED(rt, do_open_in(&region), ASX_E_REGION_NOT_OPEN);
    REFUSED(rt, do_stop(&region), ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_region_cancel(&region, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_CANCELLED);
    return ASX_OK;
}

ASX_TEST(a_closing_region_takes_nothing_new)
{
    CHECK_STATUS(api_run(closing, NULL), ASX_OK);
}

static asx_status tries_to_close(asx_cx *cx, void *arg)
{
    REFUSED(asx_cx_runtime(cx), asx_region_close(arg, ASX_OK), ASX_E_NOT_OWNER);
    REFUSED(asx_cx_runtime(cx), asx_region_close_with(arg, ASX_OK, NULL, NULL), ASX_E_NOT_OWNER);
    return ASX_OK;
}

/* One wrong argument each; a region of its own for each, since set-up failures stick. */
static asx_status region_arguments(asx_cx *cx, void *arg)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_cancel_reason reason = { .kind = (asx_cancel_kind)99 };
    asx_obligation obligation;
    asx_region r, kept;
    void *memory = &r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    REFUSED(rt, asx_region_alloc(&r, 0, &memory), bad);
    REFUSED(rt, asx_region_alloc(&r, 8, NULL), bad);
    REFUSED(rt, asx_region_alloc(&r, SIZE_MAX, &memory), ASX_E_RESOURCE_EXHAUSTED);
    REFUSED(rt, asx_region_alloc(&r, SIZE_MAX / 2, &memory), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_PTR_EQ(memory, NULL);
    REFUSED(rt, asx_region_get_state(&r, NULL), bad);
    REFUSED(rt, asx_region_report(&r, NULL), bad);
    REFUSED(rt, asx_region_probe(&r, (asx_region_state)77), ASX_E_INVALID_TRANSITION);
    REFUSED(rt, asx_region_cancel(&r, &reason), bad);
    REFUSED(rt, asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_ACK, &obligation), bad);
    REFUSED(rt, asx_obligation_reserve(&r, (asx_obligation_kind)0, &obligation), bad);
    REFUSED(rt, asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, NULL), bad);
    REFUSED(rt, asx_region_open_in(cx, &r, NULL, NULL), bad);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), bad); /* the open has failed */
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "other", tries_to_close, &r), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    asx_region_options options = { .policy = (asx_policy)9 };
    REFUSED(rt, asx_region_open(cx, &options, &kept), bad);
    REFUSED(rt, asx_region_close(&kept, ASX_OK), bad);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), bad);
    return ASX_OK;
}

ASX_TEST(wrong_arguments_do_nothing_to_a_region)
{
    CHECK_STATUS(api_run(region_arguments, NULL), ASX_OK);
}

typedef asx_status (*bad_setup_fn)(const asx_region *region);

static asx_status bad_spawn(const asx_region *r)
{
    return asx_spawn(r, "none", NULL, NULL);
}

static asx_status bad_copy(const asx_region *r)
{
    return asx_spawn_copy(r, "none", api_returns_ok, NULL, 8);
}

static asx_status bad_poll(const asx_region *r)
{
    return asx_spawn_poll(r, "none", NULL, NULL);
}

static asx_status bad_task(const asx_region *r)
{
    return asx_spawn_task(r, NULL, NULL, NULL, NULL);
}

static asx_status bad_poll_task(const asx_region *r)
{
    return asx_spawn_poll_task(r, NULL, NULL, NULL, NULL);
}

static asx_status bad_stack(const asx_region *r)
{
    asx_spawn_options options = { .stack_size = SIZE_MAX };
    return asx_spawn_task(r, api_returns_ok, NULL, &options, NULL);
}

static asx_status bad_defer(const asx_region *r)
{
    return asx_defer(r, NULL, NULL);
}

static asx_status bad_capacity(const asx_region *r)
{
    asx_channel_sender s;
    asx_channel_receiver v;
    return asx_channel_create(r, 8, 0, NULL, &s, &v);
}

static asx_status bad_element(const asx_region *r)
{
    asx_channel_sender s;
    asx_channel_receiver v;
    return asx_channel_create(r, 0, 1, NULL, &s, &v);
}

static asx_status bad_endpoint(const asx_region *r)
{
    asx_channel_sender s;
    return asx_channel_create(r, 8, 1, NULL, &s, NULL);
}

static asx_status sticking(asx_cx *cx, void *arg)
{
    static const bad_setup_fn bad[] = { bad_spawn, bad_copy,  bad_poll,     bad_task,
                                        bad_poll_task, bad_stack, bad_defer, bad_capacity,
                                        bad_element, bad_endpoint };
    asx_runtime *rt = asx_cx_runtime(cx);
    (void)arg;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        asx_region region;
        CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
        REFUSED(rt, bad[i](&region), ASX_E_INVALID_ARGUMENT);
        REFUSED(rt, do_spawn(&region), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_INVALID_ARGUMENT);
    }
    return ASX_OK;
}

ASX_TEST(a_wrong_set_up_starts_nothing_and_sticks)
{
    CHECK_STATUS(api_run(sticking, NULL), ASX_OK);
}

static asx_status huge(asx_cx *cx, void *arg)
{
    static const size_t sizes[][2] = { { SIZE_MAX, 1 }, { 1, SIZE_MAX }, { SIZE_MAX, SIZE_MAX },
                                       { 8, SIZE_MAX / 2 }, { SIZE_MAX / 8, 9 } };
    asx_runtime *rt = asx_cx_runtime(cx);
    (void)arg;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        asx_region region;
        asx_channel_sender s;
        asx_channel_receiver v;
        CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
        REFUSED(rt, asx_channel_create(&region, sizes[i][0], sizes[i][1], NULL, &s, &v),
                ASX_E_RESOURCE_EXHAUSTED);
        CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    }
    return ASX_OK;
}

ASX_TEST(channels_too_large_for_the_machine_are_refused)
{
    CHECK_STATUS(api_run(huge, NULL), ASX_OK);
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static void task_check(asx_cx *cx, asx_task *task, const asx_task *good,
                       asx_status expected)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_task_state state;
    asx_cancel_witness witness;
    asx_budget budget;
    REFUSED(rt, asx_join(cx, task, NULL), expected);
    REFUSED(rt, asx_task_cancel(task, NULL), expected);
    REFUSED(rt, asx_task_link(task, good), expected);
    REFUSED(rt, asx_task_link(good, task), expected);
    REFUSED(rt, asx_task_get_state(task, &state), expected);
    REFUSED(rt, asx_task_get_witness(task, &witness), expected);
    REFUSED(rt, asx_task_get_cleanup(task, &budget), expected);
    REFUSED(rt, asx_task_probe(task, ASX_TASK_RUNNING), expected);
}

static asx_status tasks(asx_cx *cx, void *arg)
{
    api_other *other = arg;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_cancel_reason reason = { .kind = (asx_cancel_kind)-1 };
    asx_region region;
    asx_task good, gone, bad;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&region, api_waits, NULL, NULL, &good), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&region, api_returns_ok, NULL, NULL, &gone), ASX_OK);
    CHECK_STATUS(asx_join(cx, &gone, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    memset(&bad, 0, sizeof bad);
    task_check(cx, NULL, &good, ASX_E_INVALID_ARGUMENT);
    task_check(cx, &bad, &good, ASX_E_INVALID_ARGUMENT);
    bad = good;
    bad.id = region.id;
    task_check(cx, &bad, &good, ASX_E_INVALID_ARGUMENT);
    task_check(cx, &gone, &good, ASX_E_STALE_HANDLE);
    bad = good;
    bad.id = other->task.id;
    task_check(cx, &bad, &good, ASX_E_STALE_HANDLE);
    bad = good;
    bad.id.generation = 0;
    task_check(cx, &bad, &good, ASX_E_STALE_HANDLE);
    REFUSED(rt, asx_join(cx, &other->task, NULL), ASX_E_STALE_HANDLE);
    REFUSED(rt, asx_task_link(&good, &good), ASX_E_INVALID_ARGUMENT);
    REFUSED(rt, asx_task_cancel(&good, &reason), ASX_E_INVALID_ARGUMENT);
    REFUSED(rt, asx_task_get_state(&good, NULL), ASX_E_INVALID_ARGUMENT);
    REFUSED(rt, asx_task_get_witness(&good, NULL), ASX_E_INVALID_ARGUMENT);
    REFUSED(rt, asx_task_get_cleanup(&good, NULL), ASX_E_INVALID_ARGUMENT);
    REFUSED(rt, asx_task_probe(&good, (asx_task_state)99), ASX_E_INVALID_TRANSITION);
    asx_task self;
    CHECK_STATUS(asx_cx_task(cx, &self), ASX_OK);
    REFUSED(rt, asx_join(cx, &self, NULL), ASX_E_WOULD_DEADLOCK);
    CHECK_STATUS(asx_task_cancel(&good, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    task_check(cx, &good, &self, ASX_E_STALE_HANDLE);
    return ASX_OK;
}

ASX_TEST(a_name_that_fits_no_task_is_refused)
{
    api_other other;
    api_other_init(&other);
    CHECK_STATUS(api_run(tasks, &other), ASX_OK);
    api_other_deinit(&other);
}

/* ---- obligations ---------------------------------------------------------------------------- */

static void obligation_check(asx_runtime *rt, asx_obligation *o, asx_status expected)
{
    asx_obligation_state state;
    REFUSED(rt, asx_obligation_commit(o), expected);
    REFUSED(rt, asx_obligation_abort(o), expected);
    REFUSED(rt, asx_obligation_get_state(o, &state), expected);
    REFUSED(rt, asx_obligation_probe(o, ASX_OBLIGATION_COMMITTED), expected);
}

static asx_status obligations(asx_cx *cx, void *arg)
{
    api_other *other = arg;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region region;
    asx_obligation good, bad, leaked;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&region, ASX_OBLIGATION_KIND_PLAIN, &good), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&region, ASX_OBLIGATION_KIND_LEASE, &leaked), ASX_OK);
    obligation_check(rt, NULL, ASX_E_INVALID_ARGUMENT);
    memset(&bad, 0, sizeof bad);
    obligation_check(rt, &bad, ASX_E_INVALID_ARGUMENT);
    bad = good;
    bad.id = region.id;
    obligation_check(rt, &bad, ASX_E_INVALID_ARGUMENT);
    bad.id = other->obligation.id;
    obligation_check(rt, &bad, ASX_E_STALE_HANDLE);
    bad = good;
    bad.id.generation += 1000;
    obligation_check(rt, &bad, ASX_E_STALE_HANDLE);
    REFUSED(rt, asx_obligation_get_state(&good, NULL), ASX_E_INVALID_ARGUMENT);
    REFUSED(rt, asx_obligation_probe(&good, (asx_obligation_state)9), ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_obligation_commit(&good), ASX_OK);
    obligation_check(rt, &good, ASX_E_OBLIGATION_ALREADY_RESOLVED);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    REFUSED(rt, asx_obligation_commit(&leaked), ASX_E_OBLIGATION_LEAKED);
    REFUSED(rt, asx_obligation_abort(&leaked), ASX_E_OBLIGATION_LEAKED);
    return ASX_OK;
}

ASX_TEST(a_name_that_fits_no_obligation_is_refused)
{
    api_other other;
    api_other_init(&other);
    CHECK_STATUS(api_run(obligations, &other), ASX_OK);
    api_other_deinit(&other);
}

ASX_TEST(a_report_may_be_freed_twice_or_be_none)
{
    asx_close_report report;
    memset(&report, 0, sizeof report);
    asx_close_report_deinit(NULL);
    asx_close_report_deinit(&report);
    asx_close_report_deinit(&report);
    CHECK_EQ(report.items_len, 0u);
}
