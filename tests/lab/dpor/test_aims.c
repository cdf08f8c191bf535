/* Whom a cancel or a deadline reaches, and what it asks on the way: the shields of regions that
 * were opened under a mask. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include "support_scopes.h"

static asx_status cancel_first(asx_cx *cx, void *arg)
{
    (void)cx;
    return asx_task_cancel(&((fixture *)arg)->task[0], NULL);
}

static void owner_and(asx_cx *cx, fixture *f, asx_task_fn other)
{
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    start(f, 0, f->owner);
    CHECK_STATUS(asx_spawn(&f->home, "other", other, f), ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

static void cancelled_itself(asx_cx *cx, void *arg)
{
    owner_and(cx, arg, cancel_first);
}

static void cancelled_from_around(asx_cx *cx, void *arg)
{
    owner_and(cx, arg, cancel_home);
}

/* ---- what a task has opened ----------------------------------------------------------------- */

static asx_status one_of_two_is_shielded(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    (void)open_region(cx, &f->outer);
    (void)asx_spawn(&f->outer, "b", check_once, f);
    CHECK_STATUS(asx_mask_begin(cx, 3), ASX_OK);
    (void)open_region(cx, &f->inner);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    (void)asx_region_close(&f->inner, ASX_OK);
    (void)asx_region_close(&f->outer, ASX_OK);
    return ASX_OK;
}

/* The cancel comes before all, and there is no b. Then before the end of the mask, the first close
 * or the second one, each before the checkpoint or after it; or last. The end of the mask has
 * nothing to do with b. */
ASX_TEST(the_end_of_a_mask_concerns_what_was_opened_under_it)
{
    fixture f = { .owner = one_of_two_is_shielded };
    CHECK_EQ(classes_of(cancelled_itself, &f), 1 + 3 * 2 + 1);
    CHECK_EQ(classes_of(cancelled_from_around, &f), 1 + 3 * 2 + 1);
}

static asx_status opened_between_masks(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(asx_mask_begin(cx, 3), ASX_OK);
    (void)open_region(cx, &f->outer);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    (void)open_region(cx, &f->inner);
    (void)asx_spawn(&f->inner, "b", check_once, f);
    CHECK_STATUS(asx_mask_begin(cx, 3), ASX_OK);
    asx_lab_store(cx, &f->x, 1);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    (void)asx_region_close(&f->inner, ASX_OK);
    (void)asx_region_close(&f->outer, ASX_OK);
    return ASX_OK;
}

/* What is opened between two masks is reached through its owner, also while the shield of the
 * region around it is up. The cancel comes before the first mask ends or before b is there; before
 * the second mask, its end or the first close, each before the checkpoint or after it; before the
 * second close; or last. */
ASX_TEST(a_shield_is_not_in_front_of_what_was_opened_without_a_mask)
{
    fixture f = { .owner = opened_between_masks };
    CHECK_EQ(classes_of(cancelled_itself, &f), 2 + 3 * 2 + 1 + 1);
    CHECK_EQ(classes_of(cancelled_from_around, &f), 2 + 3 * 2 + 1 + 1);
}

/* ---- what a region has in it ---------------------------------------------------------------- */

static void opened_in_outer(asx_cx *cx, void *arg)
{
    open_in_outer(cx, arg, &(asx_region_options){ .policy = ASX_POLICY_COLLECT });
}

/* The cancel comes before there is a region in it, which then is cancelled too; before the
 * checkpoint there, after it, after the first close, or last. */
ASX_TEST(the_cancel_of_a_region_races_with_what_its_owner_opens_in_it)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(opened_in_outer, &f), 5);
}

static void shielded_in_outer(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(open_region(cx, &f->outer), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "c", cancel_outer, f), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 3), ASX_OK);
    CHECK_STATUS(open_region(cx, &f->inner), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->inner, "b", check_once, f), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    (void)asx_region_close(&f->inner, ASX_OK);
    (void)asx_region_close(&f->outer, ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Before the end of the mask it does not come in, nor later; then before the checkpoint, after it,
 * after the first close, or last. */
ASX_TEST(the_cancel_of_a_region_races_with_the_end_of_a_mask_in_it)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(shielded_in_outer, &f), 5);
}

static void shielded_and_closed(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(open_region(cx, &f->outer), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "c", cancel_outer, f), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 3), ASX_OK);
    CHECK_STATUS(open_region(cx, &f->inner), ASX_OK);
    (void)asx_region_close(&f->inner, ASX_OK);
    (void)asx_region_close(&f->outer, ASX_OK);
    CHECK_STATUS(open_region(cx, &f->inner), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    (void)asx_region_close(&f->inner, ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Before the close of the region or after it. The mask ends later, for another one. */
ASX_TEST(the_end_of_a_mask_has_nothing_to_do_with_what_was_closed_before)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(shielded_and_closed, &f), 2);
}

static asx_status cancel_own(asx_cx *cx, void *arg)
{
    asx_region around, within;
    (void)open_region(cx, &around);
    (void)open_region(cx, &within);
    (void)asx_spawn(&within, "b", check_once, arg);
    (void)asx_region_cancel(&around, NULL);
    (void)asx_region_close(&within, ASX_OK);
    (void)asx_region_close(&around, ASX_OK);
    return ASX_OK;
}

static void cancelled_behind_a_shield(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(asx_mask_begin(cx, 3), ASX_OK);
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "o", cancel_own, f), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 3), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Before the checkpoint or after it; the shield of the region where all this is has nothing to do
 * with it. */
ASX_TEST(who_cancels_behind_a_shield_does_not_ask_for_it)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(cancelled_behind_a_shield, &f), 2);
}

/* ---- races ---------------------------------------------------------------------------------- */

static asx_status with_helper(asx_cx *cx, void *arg)
{
    asx_region own;
    asx_status st = open_region(cx, &own);
    if (st >= 0)
        (void)asx_spawn(&own, "helper", nothing, arg);
    return st < 0 ? st : asx_region_close(&own, ASX_OK);
}

static void race_with_helper(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "a", with_helper, arg }, { "b", nothing, arg } };
    (void)asx_race_all(cx, branches, 2, NULL, NULL, NULL);
}

/* The first branch may have started its helper, who may have ended, before the second one is there
 * and the race is waited for. */
ASX_TEST(the_end_of_who_helps_a_branch_is_not_that_of_the_branch)
{
    fixture f = { .x = 0 };
    CHECK(classes_with(race_with_helper, &f, ASX_EXPLORE_QUIESCENT, ASX_EXPLORE_FAULT_STACK) > 1);
}

/* ---- deadlines that may come at any time ---------------------------------------------------- */

static uint64_t classes_at_any_time(asx_lab_fn fn, fixture *f)
{
    return classes_with(fn, f, ASX_EXPLORE_ADVERSARIAL, 0);
}

static asx_status open_timed(asx_cx *cx, asx_region *ret)
{
    return asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT,
                                                           .timeout_ns = ASX_MS }, ret);
}

static asx_budget until_soon(const asx_cx *cx)
{
    asx_budget budget = ASX_BUDGET_INFINITE;
    budget.deadline = asx_now(cx) + ASX_MS;
    return budget;
}

static asx_status check_why(asx_cx *cx, void *arg)
{
    const asx_cancel_reason *why = NULL;
    if (asx_checkpoint(cx) == ASX_E_CANCELLED && asx_cx_cancel_reason(cx, &why) == ASX_OK)
        ((fixture *)arg)->x += why->kind == ASX_CANCEL_DEADLINE;
    return ASX_OK;
}

static void region_with_a_budget(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_budget budget = until_soon(cx);
    asx_region_options options = { .policy = ASX_POLICY_COLLECT, .budget = &budget };
    CHECK_STATUS(asx_region_open(cx, &options, &f->home), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "b", check_why, f), ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Before the checkpoint, after it, or too late. It is the region's, and nobody's in there. */
ASX_TEST(the_deadline_of_a_region_may_be_that_of_its_budget)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_at_any_time(region_with_a_budget, &f), 3);
    CHECK(f.x != 0);
}

static void task_with_a_budget(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_budget budget = until_soon(cx);
    asx_spawn_options options = { .budget = &budget };
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&f->home, f->owner, f, &options, &f->task[0]), ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

static asx_status timed_scope(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    (void)open_timed(cx, &f->inner);
    asx_lab_store(cx, &f->x, 1);
    (void)asx_spawn(&f->inner, "b", check_once, f);
    (void)asx_region_close(&f->inner, ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_task_and_the_first_region_that_it_opens_have_a_deadline_each)
{
    fixture f = { .owner = timed_scope };
    CHECK(classes_at_any_time(task_with_a_budget, &f) > 1);
}

static void opened_in_timed(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    (void)open_timed(cx, &f->outer);
    (void)open_region(cx, &f->inner);
    (void)asx_region_close(&f->inner, ASX_OK);
    (void)asx_region_close(&f->outer, ASX_OK);
}

/* Before there is a region in it, before the first close, before the second one, or too late. */
ASX_TEST(a_deadline_races_with_what_the_owner_of_the_region_opens_in_it)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_at_any_time(opened_in_timed, &f), 4);
}

static asx_status shielded_twice(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(asx_mask_begin(cx, 3), ASX_OK);
    (void)open_region(cx, &f->inner);
    (void)asx_spawn(&f->inner, "s", scope_of_b, f);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 3), ASX_OK);
    asx_lab_store(cx, &f->x, 1);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    (void)asx_region_close(&f->inner, ASX_OK);
    return ASX_OK;
}

static void shield_in_timed(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    (void)open_timed(cx, &f->home);
    (void)asx_spawn(&f->home, "o", shielded_twice, f);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* What is opened behind the shield that has stopped it is reached when it comes before that. */
ASX_TEST(a_deadline_that_a_shield_has_stopped_might_have_come_before)
{
    fixture f = { .owner = shielded_twice };
    uint64_t around = classes_at_any_time(shield_in_timed, &f);
    CHECK_EQ(classes_at_any_time(task_with_a_budget, &f), around);
}

static asx_status open_and_close_timed(asx_cx *cx, void *arg)
{
    asx_region own;
    (void)arg;
    (void)open_timed(cx, &own);
    (void)asx_region_close(&own, ASX_OK);
    return ASX_OK;
}

static void timed_and_cancelled(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "t", open_and_close_timed, f), ASX_OK);
    start(f, 0, timed_scope);
    CHECK_STATUS(asx_spawn(&f->home, "c", cancel_first, f), ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Whom the deadline would have reached is known when the cancel has come, also if another deadline
 * was taken off the list just then. */
ASX_TEST(a_deadline_that_a_cancel_has_forestalled_might_have_come_before)
{
    fixture f = { .x = 0 };
    asx_explore_options options = { .clock = ASX_EXPLORE_ADVERSARIAL };
    uint64_t classes = classes_explore(timed_and_cancelled, &f, &options).totals.executions;
    for (options.seed = 1; options.seed < 20; options.seed++)
        CHECK_EQ(classes_explore(timed_and_cancelled, &f, &options).totals.executions, classes);
}

/* ---- the clock ------------------------------------------------------------------------------ */

static void stuck_after_a_deadline_that_is_gone(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_lab_semaphore none = { 0 };
    (void)open_timed(cx, &f->inner);
    asx_lab_store(cx, &f->x, 1);
    (void)asx_region_close(&f->inner, ASX_OK);
    (void)asx_lab_semaphore_acquire(cx, &none, 1);
}

/* The store is the only step. */
ASX_TEST(the_clock_does_not_move_for_a_deadline_that_is_gone)
{
    fixture f = { .x = 0 };
    asx_explore_options options = { 0 };
    asx_explore_result result = classes_explore(stuck_after_a_deadline_that_is_gone, &f, &options);
    CHECK_EQ(result.totals.deadlocks, 1);
    CHECK_EQ(result.totals.steps, 1);
}

/* ---- deadlines that have passed ------------------------------------------------------------- */

static asx_status sleep_until_told(asx_cx *cx, void *arg)
{
    ((fixture *)arg)->x += asx_sleep(cx, 5 * ASX_MS) == ASX_E_CANCELLED;
    return ASX_OK;
}

static asx_budget until_before(asx_cx *cx)
{
    asx_budget budget = asx_budget_infinite();
    (void)asx_sleep(cx, 2 * ASX_MS);
    budget.deadline = asx_now(cx) - ASX_MS;
    return budget;
}

static void late_region(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_budget budget = until_before(cx);
    asx_region_options options = { .policy = ASX_POLICY_COLLECT, .budget = &budget };
    f->x = 0;
    CHECK_STATUS(asx_region_open(cx, &options, &f->home), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "a", sleep_until_told, f), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "b", check_once, f), ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

static void late_task(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_budget budget = until_before(cx);
    asx_spawn_options options = { .budget = &budget };
    f->x = 0;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&f->home, sleep_until_told, f, &options, &f->task[0]), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "b", check_once, f), ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Its deadline is that of the region around it, and came before it was opened. */
static asx_status clean_up_with_a_region(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    (void)sleep_until_told(cx, f);
    (void)asx_mask_begin(cx, 10);
    (void)open_region(cx, &f->inner);
    (void)asx_spawn(&f->inner, "c", sleep_until_told, f);
    (void)asx_region_close(&f->inner, ASX_OK);
    (void)asx_mask_end(cx);
    return ASX_OK;
}

static void late_clean_up(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    asx_budget budget = until_soon(cx);
    asx_region_options options = { .policy = ASX_POLICY_COLLECT, .budget = &budget };
    f->x = 0;
    CHECK_STATUS(asx_region_open(cx, &options, &f->home), ASX_OK);
    CHECK_STATUS(asx_spawn(&f->home, "a", clean_up_with_a_region, f), ASX_OK);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* It comes when the clock moves next, which is when everybody sleeps. */
ASX_TEST(a_deadline_that_has_passed_comes_when_nobody_can_go)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_of(late_region, &f), 1);
    CHECK_EQ(f.x, 1);
    CHECK_EQ(classes_of(late_task, &f), 1);
    CHECK_EQ(f.x, 1);
    CHECK_EQ(classes_of(late_clean_up, &f), 1);
    CHECK_EQ(f.x, 2);
}

/* Before or after the sleep of the one, before or after the checkpoint of the other, or too late;
 * of a task: before its sleep, after it, or too late. */
ASX_TEST(a_deadline_that_has_passed_comes_at_any_time_if_time_is_adversarial)
{
    fixture f = { .x = 0 };
    CHECK_EQ(classes_at_any_time(late_region, &f), 5);
    CHECK_EQ(classes_at_any_time(late_task, &f), 3);
}

/* ---- panics --------------------------------------------------------------------------------- */

static asx_status panic(asx_cx *cx, void *arg)
{
    (void)asx_lab_load(cx, &((fixture *)arg)->x);
    asx_panic(cx, "enough");
}

static asx_status panic_in_scope(asx_cx *cx, void *arg)
{
    asx_region own;
    (void)open_region(cx, &own);
    (void)asx_spawn(&own, "b", check_once, arg);
    (void)asx_lab_load(cx, &((fixture *)arg)->x);
    asx_panic(cx, "enough");
}

static void beside_b(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &f->home), ASX_OK);
    start(f, 0, f->owner);
    start(f, 1, check_once);
    (void)asx_region_close(&f->home, ASX_OK);
}

static void beside_nobody(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    start(f, 0, f->owner);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* Each b is told or not. */
ASX_TEST(a_panic_races_with_whom_it_cancels)
{
    fixture f = { .owner = panic };
    CHECK_EQ(classes_of(beside_b, &f), 2);
    f.owner = panic_in_scope;
    CHECK_EQ(classes_of(beside_nobody, &f), 2);
    CHECK_EQ(classes_of(beside_b, &f), 2 * 2);
}

static asx_mutex mutex;
static int poisoned;

static asx_status panic_locked(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    (void)asx_mutex_lock(cx, &mutex, &guard);
    asx_panic(cx, "enough");
}

static asx_status lock_it(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    asx_status st = asx_mutex_lock(cx, &mutex, &guard);
    poisoned += st == ASX_E_POISONED;
    return st == ASX_OK ? asx_mutex_unlock(&guard) : ASX_OK;
}

static void locked(asx_cx *cx, void *arg)
{
    fixture *f = arg;
    CHECK_STATUS(open_region(cx, &f->home), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&f->home, &(asx_mutex_options){ .name = "m" }, &mutex), ASX_OK);
    start(f, 0, panic_locked);
    start(f, 1, lock_it);
    (void)asx_region_close(&f->home, ASX_OK);
}

/* The other has the lock first, or after the panic. */
ASX_TEST(who_waits_for_a_lock_sees_that_its_holder_has_panicked)
{
    fixture f = { .x = 0 };
    asx_explore_options options = { .seed = 0 };
    CHECK_EQ(classes_of(locked, &f), 2);
    poisoned = 0;
    asx_explore_result result = classes_explore(locked, &f, &options);
    CHECK_EQ(result.totals.executions, 2);
    CHECK_EQ(poisoned, 1);
}
