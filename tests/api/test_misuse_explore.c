/* test_misuse_explore.c - the operations of lab tests outside of an exploration and on nothing,
 * and explorations that cannot be.
 */
#define ASX_LAB 1
#include "support_api.h"

#include <string.h>

#include <asx/asx_lab.h>

static void empty_test(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
}

ASX_TEST(an_exploration_of_nothing_is_refused)
{
    asx_explore_result result;
    asx_explore_options options;
    memset(&options, 0, sizeof options);
    CHECK_STATUS(asx_explore(NULL, NULL, &options, &result), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_explore(empty_test, NULL, &options, NULL), ASX_E_INVALID_ARGUMENT);
    options.mode = (asx_explore_mode)99;
    CHECK_STATUS(asx_explore(empty_test, NULL, &options, &result), ASX_E_INVALID_ARGUMENT);
    CHECK(asx_explore_mode_str(99) == NULL);
    options = (asx_explore_options){ .clock = (asx_explore_clock)2 };
    CHECK_STATUS(asx_explore(empty_test, NULL, &options, &result), ASX_E_INVALID_ARGUMENT);
    options = (asx_explore_options){ .faults = 16 };
    CHECK_STATUS(asx_explore(empty_test, NULL, &options, &result), ASX_E_INVALID_ARGUMENT);
    options = (asx_explore_options){ .mode = ASX_EXPLORE_PCT, .depth = 65 };
    CHECK_STATUS(asx_explore(empty_test, NULL, &options, &result), ASX_E_INVALID_ARGUMENT);
    options.depth = 64;
    CHECK_STATUS(asx_explore(empty_test, NULL, &options, &result), ASX_OK);
    char none[1];
    asx_explore_look look = { .steps = 7 };
    CHECK_STATUS(asx_explore_position(NULL, 0, NULL, 0, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_explore_position(none, 0, NULL, 0, &look), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_explore_position(NULL, 0, none, 0, &look), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_explore_position(NULL, 0, NULL, 0, &look), ASX_E_WRONG_CONTEXT);
    CHECK_EQ(look.steps, 7);
    CHECK(asx_explore_stop_str(99) == NULL);
    CHECK_STR_EQ(asx_explore_mode_str(ASX_EXPLORE_DFS), "dfs");
    memset(&options, 0, sizeof options);
    options.schedule = "no schedule at all";
    asx_status st = asx_explore(empty_test, NULL, &options, &result);
    CHECK(st < 0 || result.status < 0);
}

static void false_without_context(asx_cx *cx, void *arg)
{
    (void)cx;
    asx_lab_check_at(NULL, *(const bool *)arg, "nothing", "here");
}

static void false_without_text(asx_cx *cx, void *arg)
{
    asx_lab_check_at(cx, *(const bool *)arg, NULL, NULL);
}

ASX_TEST(a_check_that_is_false_fails_whatever_else_it_is_given)
{
    bool good = true, bad = false;
    asx_explore_result result;
    CHECK_STATUS(asx_explore(false_without_context, &good, NULL, &result), ASX_OK);
    CHECK_EQ(result.totals.bugs, 0);
    CHECK_STATUS(asx_explore(false_without_context, &bad, NULL, &result), ASX_OK);
    CHECK_EQ(result.totals.bugs, 1);
    CHECK_STATUS(asx_explore(false_without_text, &good, NULL, &result), ASX_OK);
    CHECK_EQ(result.totals.bugs, 0);
    CHECK_STATUS(asx_explore(false_without_text, &bad, NULL, &result), ASX_OK);
    CHECK_EQ(result.totals.bugs, 1);
    asx_lab_check_at(NULL, false, NULL, NULL); /* nothing is explored */
}

ASX_TEST(a_search_of_nothing_is_refused)
{
    asx_explore_result result;
    asx_lab_finding finding = { 0 };
    CHECK_STATUS(asx_lab_search(NULL, NULL, 0, NULL, &result, &finding), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_search(empty_test, NULL, 0, NULL, NULL, &finding),
                 ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_search(empty_test, NULL, 0, NULL, &result, NULL),
                 ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_shrink(NULL, empty_test, NULL, 0, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_shrink(&finding, empty_test, NULL, 0, NULL), ASX_E_INVALID_ARGUMENT);
    finding.found = true;
    CHECK_STATUS(asx_lab_shrink(&finding, NULL, NULL, 0, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_shrink(&finding, empty_test, NULL, 0, NULL), ASX_E_INVALID_ARGUMENT);
    asx_lab_finding_deinit(NULL);
    asx_lab_failed_here(NULL, NULL); /* nobody looks */
    asx_lab_here(NULL, "nowhere");
    asx_lab_enter("nowhere");
    CHECK_STATUS(asx_lab_left(ASX_E_BUSY), ASX_E_BUSY);
    CHECK_STATUS(asx_lab_left(ASX_OK), ASX_OK); /* of nothing */
    uint16_t plain = 7; /* no context, nobody judges: plain accesses */
    asx_lab_write_at(NULL, &plain, sizeof plain, 0x12345, "nowhere");
    CHECK_EQ(plain, 0x2345);
    CHECK_EQ(asx_lab_read_at(NULL, &plain, sizeof plain, "nowhere"), 0x2345);
}

static const char *content(void *ctx, const asx_event *event)
{
    (void)ctx;
    (void)event;
    return NULL;
}

static asx_status oracles(asx_cx *cx, void *arg)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_task self, none;
    static int things[1100];
    (void)arg;
    memset(&none, 0, sizeof none);
    CHECK_STATUS(asx_cx_task(cx, &self), ASX_OK);
    CHECK_STATUS(asx_lab_race_free(NULL), bad);
    CHECK_STATUS(asx_lab_oracle(NULL, content, NULL), bad);
    CHECK_STATUS(asx_lab_oracle(cx, NULL, NULL), bad);
    for (int i = 0; i < 16; i++)
        CHECK_STATUS(asx_lab_oracle(cx, content, NULL), ASX_OK);
    CHECK_STATUS(asx_lab_oracle(cx, content, NULL), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_ghost_borrow(NULL, things, ASX_GHOST_SHARED), bad);
    CHECK_STATUS(asx_ghost_borrow(cx, NULL, ASX_GHOST_SHARED), bad);
    CHECK_STATUS(asx_ghost_borrow(cx, things, (asx_ghost_borrow_kind)9), bad);
    CHECK_STATUS(asx_ghost_return(cx, NULL), bad);
    CHECK_STATUS(asx_ghost_return(cx, things), ASX_E_NOT_OWNER);
    CHECK_STATUS(asx_ghost_touch(NULL, things, true), bad);
    CHECK_STATUS(asx_ghost_adopt(cx, NULL), bad);
    CHECK_STATUS(asx_ghost_transfer(cx, things, NULL), bad);
    CHECK_STATUS(asx_ghost_transfer(cx, things, &none), bad);
    CHECK_STATUS(asx_ghost_transfer(cx, NULL, &self), bad);
    CHECK_STATUS(asx_ghost_transfer(cx, things, &self), ASX_E_NOT_OWNER);
    for (int i = 1; i < 1024; i++)
        CHECK_STATUS(asx_ghost_touch(cx, &things[i], true), ASX_OK);
    CHECK_STATUS(asx_ghost_touch(cx, &things[1024], true), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_ghost_touch(cx, &things[1], true), ASX_OK);
    return ASX_OK;
}

ASX_TEST(oracles_and_ghosts_refuse_what_makes_no_sense)
{
    asx_lab_options options = { .program = "misuse" };
    asx_lab_result result;
    CHECK_STATUS(asx_lab_run(oracles, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK(asx_oracle_str(ASX_ORACLE_COUNT) == NULL);
    CHECK(asx_oracle_rule(UINT32_MAX) == NULL);
}

static asx_lab_effect never(unsigned what, uint64_t argument, uint64_t state)
{
    (void)what;
    (void)argument;
    return (asx_lab_effect){ false, true, state + 1 };
}

static const char *const never_names[] = { "never" };
static const asx_lab_device never_device = { "never", never_names, 1, never };

static asx_status operations(asx_cx *cx, void *arg)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_lab_mutex mutex = { 0 };
    asx_lab_semaphore semaphore = { 1 };
    (void)arg;
    REFUSED(rt, asx_lab_mutex_lock(cx, NULL), bad);
    REFUSED(rt, asx_lab_mutex_lock(NULL, &mutex), bad);
    REFUSED(rt, asx_lab_mutex_try_lock(cx, NULL), bad);
    REFUSED(rt, asx_lab_mutex_try_lock(NULL, &mutex), bad);
    REFUSED(rt, asx_lab_mutex_unlock(cx, NULL), bad);
    REFUSED(rt, asx_lab_mutex_unlock(NULL, &mutex), bad);
    REFUSED(rt, asx_lab_mutex_unlock(cx, &mutex), ASX_E_NOT_OWNER);
    CHECK_STATUS(asx_lab_mutex_lock(cx, &mutex), ASX_OK);
    REFUSED(rt, asx_lab_mutex_lock(cx, &mutex), ASX_E_WOULD_DEADLOCK);
    REFUSED(rt, asx_lab_mutex_try_lock(cx, &mutex), ASX_E_BUSY);
    CHECK_STATUS(asx_lab_mutex_unlock(cx, &mutex), ASX_OK);
    REFUSED(rt, asx_lab_semaphore_acquire(cx, NULL, 1), bad);
    REFUSED(rt, asx_lab_semaphore_acquire(NULL, &semaphore, 1), bad);
    REFUSED(rt, asx_lab_semaphore_acquire(cx, &semaphore, UINT64_MAX), ASX_E_WOULD_DEADLOCK);
    REFUSED(rt, asx_lab_semaphore_release(cx, NULL, 1), bad);
    REFUSED(rt, asx_lab_semaphore_release(NULL, &semaphore, 1), bad);
    CHECK_EQ(semaphore.units, 1u);
    int cell = 1;
    CHECK_STATUS(asx_lab_until(NULL, true), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_until(cx, asx_lab_load(cx, &cell) == 2), ASX_E_WOULD_DEADLOCK);
    CHECK_STATUS(asx_lab_until(cx, asx_lab_load(cx, &cell) == 1), ASX_OK);
    asx_lab_until_end(NULL);
    asx_lab_object object = { 0 };
    REFUSED(rt, asx_lab_operate(NULL, &object, &never_device, 0, 0, NULL), bad);
    REFUSED(rt, asx_lab_operate(cx, &object, NULL, 0, 0, NULL), bad);
    REFUSED(rt, asx_lab_operate(cx, NULL, &never_device, 0, 0, NULL), bad);
    REFUSED(rt, asx_lab_operate(cx, &object, &never_device, 1, 0, NULL), bad);
    REFUSED(rt, asx_lab_operate(cx, &object, &never_device, 0, 0, NULL), ASX_E_WOULD_DEADLOCK);
    CHECK_EQ(object.state, 0u);
    CHECK_EQ(asx_lab_choose(cx, 0), 0u);
    CHECK_EQ(asx_lab_choose(cx, UINT32_MAX), 0u);
    CHECK_EQ(asx_lab_choose(NULL, 5), 0u);
    CHECK_STATUS(asx_lab_expect(NULL, ASX_E_BUSY), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_lab_expect(cx, ASX_OK), ASX_E_INVALID_ARGUMENT);
    asx_lab_check(cx, semaphore.units == 7);   /* nobody is there to be told */
    asx_lab_check(NULL, semaphore.units == 7);
    return ASX_OK;
}

ASX_TEST(locks_and_choices_outside_of_an_exploration_never_wait)
{
    CHECK_STATUS(api_run(operations, NULL), ASX_OK);
}

static asx_status cells(asx_cx *cx, void *arg)
{
    uint8_t small = 200;
    uint64_t large = UINT64_MAX;
    (void)arg;
    CHECK_EQ(asx_lab_load(cx, &small), 200);
    CHECK_EQ(asx_lab_fetch_add(cx, &small, 100), 200); /* wraps as its type does */
    CHECK_EQ(small, 44);
    CHECK(!asx_lab_cas(cx, &small, 45, 1));
    CHECK_EQ(small, 44);
    CHECK(asx_lab_cas(cx, &small, 44, 1));
    asx_lab_store(cx, &small, 0x1ff); /* and so does a value that is too large */
    CHECK_EQ(small, 0xff);
    CHECK_EQ(asx_lab_fetch_add(cx, &large, 1), UINT64_MAX);
    CHECK_EQ(large, 0u);
    return ASX_OK;
}

ASX_TEST(cells_outside_of_an_exploration_are_plain_variables)
{
    CHECK_STATUS(api_run(cells, NULL), ASX_OK);
}
