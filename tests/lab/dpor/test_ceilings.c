/* Where there is room for so many obligations or regions, who comes too late depends on the order,
 * and so does who settles what others settle too. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <string.h>

#include "harness.h"
#include "support_bodies.h"
#include "support_classes.h"

static struct {
    asx_region home, limited;
    asx_obligation obligation;
    int refused, told;
} the;

static void in_two_tasks(asx_cx *cx, asx_task_fn fn)
{
    asx_region r;
    asx_region_options collect = { .policy = ASX_POLICY_COLLECT };
    the.refused = 0;
    CHECK_STATUS(asx_region_open(cx, &collect, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", fn, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", fn, NULL), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
    asx_lab_check(cx, the.refused <= 1);
}

static void in_room_for_one(asx_cx *cx, asx_task_fn fn)
{
    asx_region_options one = { .regions_max = 1, .obligations_max = 1,
                               .policy = ASX_POLICY_COLLECT };
    asx_region_options any = { .policy = ASX_POLICY_COLLECT };
    CHECK_STATUS(asx_region_open(cx, &any, &the.home), ASX_OK);
    CHECK_STATUS(asx_region_open_in(cx, &the.home, &one, &the.limited), ASX_OK);
    asx_region inner;
    CHECK_STATUS(asx_region_open_in(cx, &the.home, &any, &inner), ASX_OK);
    CHECK_STATUS(asx_spawn(&inner, "a", fn, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&inner, "b", fn, NULL), ASX_OK);
    the.refused = 0;
    (void)asx_region_close(&inner, ASX_OK);
    asx_lab_check(cx, the.refused <= 1);
    (void)asx_region_close(&the.limited, ASX_OK);
    (void)asx_region_close(&the.home, ASX_OK);
}

static asx_status reserve(asx_cx *cx, void *arg)
{
    asx_obligation o;
    (void)cx;
    (void)arg;
    if (asx_obligation_reserve(&the.limited, ASX_OBLIGATION_KIND_PLAIN, &o) == ASX_OK)
        return asx_obligation_commit(&o);
    the.refused++;
    return ASX_OK;
}

static void obligations(asx_cx *cx, void *arg)
{
    (void)arg;
    in_room_for_one(cx, reserve);
}

/* One after the other, in two orders; or one of them while the other has it. */
ASX_TEST(obligations_race_for_the_last_place)
{
    CHECK_EQ(classes_of(obligations, NULL), 4);
}

static asx_status open_there(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    if (asx_region_open_in(cx, &the.limited, NULL, &r) == ASX_OK)
        return asx_region_close(&r, ASX_OK);
    the.refused++;
    return ASX_OK;
}

static void regions(asx_cx *cx, void *arg)
{
    (void)arg;
    in_room_for_one(cx, open_there);
}

ASX_TEST(regions_race_for_the_last_place)
{
    CHECK_EQ(classes_of(regions, NULL), 4);
}

static asx_status open_own(asx_cx *cx, void *arg)
{
    asx_region r;
    if (asx_region_open(cx, NULL, &r) == ASX_OK) {
        if (arg != NULL)
            (void)asx_defer(&r, nothing, NULL);
        return asx_region_close(&r, ASX_OK);
    }
    the.refused++;
    return ASX_OK;
}

/* The tasks live where there is room for one region. */
static void own_regions(asx_cx *cx, void *arg)
{
    asx_region_options one = { .regions_max = 1, .policy = ASX_POLICY_COLLECT };
    asx_region r;
    the.refused = 0;
    CHECK_STATUS(asx_region_open(cx, &one, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", open_own, arg), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", open_own, arg), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
    asx_lab_check(cx, the.refused <= 1);
}

ASX_TEST(scopes_race_for_the_last_place)
{
    CHECK_EQ(classes_of(own_regions, NULL), 4);
}

/* The place is free when the finalizers have run. */
ASX_TEST(scopes_that_finalize_race_for_the_last_place)
{
    CHECK_EQ(classes_of(own_regions, &the), 4);
}

static asx_status settle(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    the.refused += asx_obligation_commit(&the.obligation) != ASX_OK;
    return ASX_OK;
}

static void settled_twice(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &the.home), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&the.home, ASX_OBLIGATION_KIND_PLAIN, &the.obligation),
                 ASX_OK);
    in_two_tasks(cx, settle);
    asx_lab_check(cx, the.refused == 1);
    (void)asx_region_close(&the.home, ASX_OK);
}

ASX_TEST(who_settles_first_is_told_so)
{
    CHECK_EQ(classes_of(settled_twice, NULL), 2);
}

static asx_status reserve_if_told(asx_cx *cx, void *arg)
{
    if (asx_lab_load(cx, &the.told) == 0)
        return ASX_OK;
    return asx_obligation_reserve(arg, ASX_OBLIGATION_KIND_PLAIN, &the.obligation);
}

static asx_status tell(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_lab_store(cx, &the.told, 1);
    return ASX_OK;
}

static void leaks_if_told(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    memset(&the, 0, sizeof the);
    CHECK_STATUS(asx_region_open(cx, NULL, &the.home), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", tell, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", reserve_if_told, &the.home), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
    (void)asx_region_close(&the.home, ASX_OK);
}

ASX_TEST(an_execution_that_leaks_is_a_bug_and_the_others_are_explored_too)
{
    asx_explore_options options = { .mode = ASX_EXPLORE_OPTIMAL };
    for (options.seed = 0; options.seed < 4; options.seed++) {
        asx_explore_result r = classes_explore(leaks_if_told, NULL, &options);
        CHECK(r.complete);
        CHECK_EQ(r.totals.executions, 2);
        CHECK_EQ(r.totals.bugs, 1);
    }
}

static asx_status hand_over(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    asx_region_options quiet = { .leak = ASX_LEAK_REPORT };
    CHECK_STATUS(asx_region_open(cx, &quiet, &r), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &the.obligation), ASX_OK);
    asx_lab_store(cx, &the.told, 1);
    (void)asx_region_close(&r, ASX_OK);
    return ASX_OK;
}

static asx_status settle_if_told(asx_cx *cx, void *arg)
{
    (void)arg;
    if (asx_lab_load(cx, &the.told) != 0)
        (void)asx_obligation_commit(&the.obligation);
    return ASX_OK;
}

static void settled_elsewhere(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    memset(&the, 0, sizeof the);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "owner", hand_over, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "other", settle_if_told, NULL), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
}

/* It is not told; or it settles before the region is closed, or too late. */
ASX_TEST(a_close_races_with_who_settles_elsewhere)
{
    CHECK_EQ(classes_of(settled_elsewhere, NULL), 3);
}
