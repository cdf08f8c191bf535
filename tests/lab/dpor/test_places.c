/* Rooms for so many, links, joins, and starts that come late: what has to be told apart when
 * somebody else was there before. Counted by hand. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include "support_scopes.h"

/* ---- rooms ---------------------------------------------------------------------------------- */

static asx_status open_there(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_region own;
    if (asx_region_open_in(cx, &f->outer, NULL, &own) == ASX_OK)
        (void)asx_region_close(&own, ASX_OK);
    return ASX_OK;
}

static asx_status open_with_finalizer(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_region own;
    if (asx_region_open_in(cx, &f->outer, NULL, &own) == ASX_OK) {
        (void)asx_defer(&own, nothing, f);
        (void)asx_region_close(&own, ASX_OK);
    }
    return ASX_OK;
}

static asx_status promise_there(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_obligation promise;
    (void)cx;
    if (asx_obligation_reserve(&f->outer, ASX_OBLIGATION_KIND_PLAIN, &promise) == ASX_OK)
        (void)asx_obligation_commit(&promise);
    return ASX_OK;
}

static void room_for_one(asx_cx *cx, fixture *f, asx_task_fn a, asx_task_fn b)
{
    asx_region_options one = { .policy = ASX_POLICY_COLLECT, .regions_max = 1,
                               .obligations_max = 1 };
    CHECK_STATUS(asx_region_open(cx, &one, &f->outer), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->outer, "a", a, f), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->outer, "b", b, f), ASX_OK);
    (void)asx_region_close(&f->outer, ASX_OK);
}

static void finalizer_and_other(asx_cx *cx, void *arg)
{
    room_for_one(cx, arg, open_with_finalizer, open_there);
}

/* One after the other, either way round, or the second finds no place; and one of them, or both,
 * may come when the room is being closed. */
ASX_TEST(the_place_of_a_region_with_finalizers_is_free_after_them)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(finalizer_and_other, &f), 4 + 2 + 1);
}

static void region_and_promise(asx_cx *cx, void *arg)
{
    room_for_one(cx, arg, open_there, promise_there);
}

/* Each comes before the room is being closed or after that. */
ASX_TEST(a_region_takes_no_place_of_a_promise)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(region_and_promise, &f), 2 * 2);
}

static asx_status open_and_close(asx_cx *cx, void *arg)
{
    asx_region own;
    (void)arg;
    if (open_region(cx, &own) == ASX_OK)
        (void)asx_region_close(&own, ASX_OK);
    return ASX_OK;
}

static asx_status cancel_first(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_task_cancel(&((fixture *)arg)->task[0], NULL);
}

/* `owners` of them open a region where there is room for one, and somebody cancels. */
static void cancelled_in_room(asx_cx *cx, fixture *f, int owners, asx_task_fn cancel)
{
    asx_region_options one = { .policy = ASX_POLICY_COLLECT, .regions_max = 1 };
    CHECK_STATUS(asx_region_open(cx, &one, &f->home), ASX_OK);
    for (int i = 0; i < owners; i++)
        start(f, i, f->owner);
    start(f, owners, cancel);
    (void)asx_region_close(&f->home, ASX_OK);
}

static void first_of_one_is_cancelled(asx_cx *cx, void *arg)
{
    cancelled_in_room(cx, arg, 1, cancel_first);
}

static void first_of_two_is_cancelled(asx_cx *cx, void *arg)
{
    cancelled_in_room(cx, arg, 2, cancel_first);
}

static void both_are_cancelled(asx_cx *cx, void *arg)
{
    cancelled_in_room(cx, arg, 2, cancel_home);
}

/* A cancel comes before the region is opened, before it is closed, or later; to who finds no place
 * it makes no difference when. Two open theirs one after the other, either way round, or the other
 * has the place. */
ASX_TEST(a_place_is_taken_and_the_region_opened_in_one)
{
    fixture f = { .owner = open_and_close };
    CHECK_EQ(classes_of(first_of_one_is_cancelled, &f), 3);
    CHECK_EQ(classes_of(first_of_two_is_cancelled, &f), 2 * 3 + 3 + 1);
    CHECK_EQ(classes_of(both_are_cancelled, &f), 2 * 5 + 2 * 3);
}

static void opened_in_a_room(asx_cx *cx, void *arg)
{
    asx_region_options one = { .policy = ASX_POLICY_COLLECT, .regions_max = 1 };
    open_in_outer(cx, arg, &one);
}

/* Before it is opened, before the checkpoint in it, after that, after its close, or last. */
ASX_TEST(the_cancel_of_a_room_races_with_what_its_owner_opens_there)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(opened_in_a_room, &f), 5);
}

static asx_status open_at_home(asx_cx *cx, void *arg)
{
    asx_region own;
    if (asx_region_open_in(cx, &((fixture *)arg)->home, NULL, &own) == ASX_OK)
        (void)asx_region_close(&own, ASX_OK);
    return ASX_OK;
}

static void opened_at_home(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    start(f, 0, f->owner);
    start(f, 1, cancel_first);
    (void)asx_region_close(&f->home, ASX_OK);
}

static asx_status open_at_home_masked(asx_cx *cx, void *arg)
{
    return asx_with_cancel_mask(cx, open_at_home, arg);
}

/* It finds the region around it closing, whatever comes then; or is opened before that: the cancel
 * comes first, before its close, or later. Under a mask no cancel reaches it. */
ASX_TEST(a_cancel_comes_before_a_region_is_opened_in_another_or_after_it)
{
    fixture f = { .owner = open_at_home };
    CHECK_EQ(classes_of(opened_at_home, &f), 1 + 3);
    f.owner = open_at_home_masked;
    CHECK_EQ(classes_of(opened_at_home, &f), 2);
}

/* Two, where there is room for one. Both find it closing; or one does, the other three ways as
 * above; or none: the region is cancelled before both, or between the two, before the close of the
 * first or after it; or after both, of which one has found no place, or has come after the close of
 * the other: before the last close or after it. */
ASX_TEST(the_cancel_of_a_room_races_with_what_others_open_there)
{
    fixture f = { .owner = open_at_home };
    CHECK_EQ(classes_of(both_are_cancelled, &f), 1 + 2 * 3 + 1 + 2 * (2 + 2 + 2));
}

static asx_status start_there(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)asx_spawn(&((fixture *)arg)->outer, "late", nothing, arg);
    return ASX_OK;
}

static void room_with_finalizer(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_region_options one = { .policy = ASX_POLICY_COLLECT, .tasks_max = 1 };
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &one, &f->outer), ASX_OK);
    CHECK_STATUS(asx_defer(&f->outer, nothing, f), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "s", start_there, f), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "s", start_there, f), ASX_OK);
    (void)asx_region_close(&f->outer, ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Two starts: one after the other, either way round, or the second finds no place. Who is refused
 * because the room is being closed comes before the finalizers, before their end, or after it: one
 * of the two, or both. */
ASX_TEST(finalizers_take_no_place)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(room_with_finalizer, &f), 4 + 2 * 3 + 3 * 3);
}

/* ---- links ---------------------------------------------------------------------------------- */

static void linked_to_a_scope(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    start(f, 0, scope_of_b);
    start(f, 1, fail);
    (void)asx_task_link(&f->task[0], &f->task[1]);
    (void)asx_region_close(&f->home, ASX_OK);
}

static void scope_is_linked(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    start(f, 0, scope_of_b);
    start(f, 1, fail);
    (void)asx_task_link(&f->task[1], &f->task[0]);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Linked in time: the failure comes before there is a scope, before its checkpoint, after it, or
 * after the close. Linked after the failure: likewise, or when the other has ended. Linked when it
 * has ended and nobody has failed yet. */
ASX_TEST(a_link_that_comes_after_the_failure_reaches_what_the_other_has_opened)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(linked_to_a_scope, &f), 4 + 5 + 1);
    CHECK_EQ(classes_of(scope_is_linked, &f), 4 + 5 + 1);
}

static void linked_twice(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    start(f, 0, fail);
    start(f, 1, check_once);
    start(f, 2, check_once);
    (void)asx_task_link(&f->task[0], &f->task[1]);
    (void)asx_task_link(&f->task[0], &f->task[2]);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* The failure is before the links, between them or after them. With each of the two it makes three
 * ways: linked in time, the checkpoint is before the failure or after it, or all is over before the
 * link; linked later, the checkpoint is after the link, before it, or all is over. */
ASX_TEST(a_failure_goes_through_every_link)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(linked_twice, &f), 3 * (3 * 3));
}

static void fails_fast_and_linked(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    start(f, 1, check_once);
    CHECK_STATUS(asx_region_open(cx, NULL, &f->inner), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&f->inner, fail, f, NULL, &f->task[0]), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->inner, "b", check_once, f), ASX_OK);
    (void)asx_task_link(&f->task[0], &f->task[1]);
    (void)asx_region_close(&f->inner, ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Linked in time or later, three ways each, as above; and b is told or not. */
ASX_TEST(a_failure_that_cancels_its_region_goes_through_links_too)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(fails_fast_and_linked, &f), 2 * 3 * 2);
}

/* ---- late starts ---------------------------------------------------------------------------- */

static void start_after_a_step(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "c", cancel_home, f), ASX_OK);
    asx_lab_store(cx, &f->x, 1);
    (void)asx_spawn(&f->home, "b", check_once, f);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Before the start, the checkpoint, or after it. */
ASX_TEST(a_start_after_a_step_may_find_its_region_cancelled)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(start_after_a_step, &f), 3);
}

static asx_status start_at_home(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)asx_spawn(&((fixture *)arg)->home, "late", nothing, arg);
    return ASX_OK;
}

static asx_status start_in_own(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_region own;
    int done = 0;
    if (asx_region_open_in(cx, &f->home, NULL, &own) < 0)
        return ASX_OK;
    asx_lab_store(cx, &done, 1);
    (void)asx_spawn(&own, "late", nothing, f);
    (void)asx_region_close(&own, ASX_OK);
    return ASX_OK;
}

static void alone_at_home(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    start(f, 0, f->owner);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* The region around it begins to close before it is opened, before the start, or later. */
ASX_TEST(what_was_opened_in_a_region_by_handle_stops_with_it)
{
    fixture f = { .owner = start_in_own };
    CHECK_EQ(classes_of(alone_at_home, &f), 3);
}

static asx_status start_in_own_masked(asx_cx *cx, void *arg)
{
    return asx_with_cancel_mask(cx, start_in_own, arg);
}

static void cancelled_at_home(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    start(f, 0, f->owner);
    start(f, 1, cancel_home);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* It is not opened, because the region around it is being closed or was cancelled; or the start
 * comes before both, or is refused because of the one, or of the other. */
ASX_TEST(what_was_opened_under_a_mask_stops_when_the_region_around_it_is_cancelled)
{
    fixture f = { .owner = start_in_own_masked };
    CHECK_EQ(classes_of(cancelled_at_home, &f), 2 + 3);
}

static asx_status stop_home(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    (void)asx_lab_load(cx, &f->x);
    (void)asx_region_stop(&f->home);
    return ASX_OK;
}

static void stopped(asx_cx *cx, fixture *f, const asx_region_options *options)
{
    CHECK_STATUS(asx_region_open(cx, options, &f->home), ASX_OK);
    start(f, 0, stop_home);
    start(f, 1, f->owner);
    (void)asx_region_close(&f->home, ASX_OK);
}

static void stopped_at_home(asx_cx *cx, void *arg)
{
    stopped(cx, arg, &(asx_region_options){ .policy = ASX_POLICY_COLLECT });
}

static void stopped_in_time(asx_cx *cx, void *arg)
{
    stopped(cx, arg, &(asx_region_options){ .policy = ASX_POLICY_COLLECT, .timeout_ns = ASX_MS });
}

/* Who stops the region comes before its owner does, or later; the start before the first of the
 * two, or later. In what was opened there by handle likewise, and it may not be opened.
 *
 * With a deadline. The owner stops it first: after the start, before which the deadline comes, or
 * later, or not at all; or before the start, and the deadline comes or does not. Else who stops it
 * does so in time, the start before or after that, and the deadline comes later or does not; or
 * too late, the start before the deadline, after it, or after the owner. */
ASX_TEST(a_stop_races_with_starts)
{
    fixture f = { .owner = start_at_home };
    CHECK_EQ(classes_of(stopped_at_home, &f), 2 * 2);
    CHECK_EQ(classes_with(stopped_in_time, &f, ASX_EXPLORE_ADVERSARIAL, 0),
             (3 + 2) + (2 * 2 + 3));
    f.owner = start_in_own;
    CHECK_EQ(classes_of(stopped_at_home, &f), 2 * 3);
}

static asx_status stop_first(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)asx_region_stop(&((fixture *)arg)->outer);
    return ASX_OK;
}

static void stopped_by_two(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(open_region(cx, &f->outer), ASX_OK);
    start(f, 0, stop_first);
    start(f, 1, stop_first);
    (void)asx_region_close(&f->outer, ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* One of them is the first, the other comes before the close or after it; or the owner was, and
 * each of them comes before the close or after it. */
ASX_TEST(a_stop_that_comes_after_the_close_is_told_so)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(stopped_by_two, &f), 2 * 2 + 2 * 2);
}

static void alone_with_a_deadline(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_region_options timed = { .policy = ASX_POLICY_COLLECT, .timeout_ns = ASX_MS };
    CHECK_STATUS(asx_region_open(cx, &timed, &f->home), ASX_OK);
    asx_lab_store(cx, &f->x, 1);
    (void)asx_spawn(&f->home, "b", check_once, f);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Before the start, the checkpoint, the close, or too late. */
ASX_TEST(who_is_alone_is_not_alone_with_a_deadline)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_with(alone_with_a_deadline, &f, ASX_EXPLORE_ADVERSARIAL, 0), 4);
}

/* ---- joins ---------------------------------------------------------------------------------- */

static asx_status join_owner(asx_cx *cx, void *arg)
{
    (void)asx_join(cx, &((fixture *)arg)->task[0], NULL);
    return ASX_OK;
}

static asx_status waits_for_who_joins_it(asx_cx *cx, void *arg)
{
    asx_region own;
    (void)open_region(cx, &own);
    (void)asx_spawn(&own, "j", join_owner, arg);
    (void)asx_region_close(&own, ASX_OK);
    return ASX_OK;
}

static void joined_from_within(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    start(f, 0, waits_for_who_joins_it);
    (void)asx_region_close(&f->home, ASX_OK);
}

ASX_TEST(who_joins_the_owner_of_its_region_waits_for_ever)
{
    fixture f = { .x = 0 };
    asx_explore_options options = { .seed = 0 };
    asx_explore_result result = classes_explore(joined_from_within, &f, &options);
    CHECK_EQ(result.totals.executions, 1);
    CHECK_EQ(result.totals.deadlocks, 1);
}

/* ---- what outlives its region --------------------------------------------------------------- */

static asx_mutex mutex;

static asx_status lock_of_inner(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)asx_lab_load(cx, &((fixture *)arg)->x);
    if (asx_mutex_lock(cx, &mutex, &guard) == ASX_OK)
        (void)asx_mutex_unlock(&guard);
    return ASX_OK;
}

static asx_status store_once(asx_cx *cx, void *arg)
{
    asx_lab_store(cx, &((fixture *)arg)->x, 1);
    return ASX_OK;
}

static void closed_around_a_lock(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(open_region(cx, &f->inner), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&f->inner, &(asx_mutex_options){ .name = "m" }, &mutex), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->inner, "a", store_once, f), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "b", lock_of_inner, f), ASX_OK);
    (void)asx_region_close(&f->inner, ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

static void joined_before_the_close(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(open_region(cx, &f->inner), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&f->inner, &(asx_mutex_options){ .name = "m" }, &mutex), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&f->home, lock_of_inner, f, NULL, &f->task[0]), ASX_OK);
    CHECK_STATUS(asx_join(cx, &f->task[0], NULL), ASX_OK);
    (void)asx_region_close(&f->inner, ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Nothing is left of what it stands before: it is not let go on. */
ASX_TEST(a_region_that_is_closed_around_who_is_about_to_use_it_is_a_failure)
{
    fixture f = { .x = 0 };
    for (uint32_t jobs = 1; jobs <= 2; jobs++) {
        asx_explore_options options = { .mode = ASX_EXPLORE_DFS, .jobs = jobs };
        asx_explore_result result = classes_explore(closed_around_a_lock, &f, &options);
        CHECK_GE(result.totals.bugs, 1); /* in one of the processes, or in both */
        CHECK_EQ(result.stopped, ASX_EXPLORE_STOP_FIRST);
        CHECK(!result.complete);
        options.mode = ASX_EXPLORE_RANDOM;
        result = classes_explore(closed_around_a_lock, &f, &options);
        CHECK_GE(result.totals.bugs, 1);
        CHECK_EQ(result.stopped, ASX_EXPLORE_STOP_FIRST);
    }
    CHECK_EQ(classes_of(joined_before_the_close, &f), 1);
}
