/* Masks, commit sections and brackets. */
#include "support_kit.h"

static asx_status self_cancel(asx_cx *cx)
{
    asx_task self;
    CHECK_STATUS(asx_cx_task(cx, &self), ASX_OK);
    return asx_task_cancel(&self, NULL);
}

static asx_status in_region(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task_fn fn = *(asx_task_fn *)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "t", fn, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

/* Runs fn as a child on every kind of runtime. */
static void as_child(asx_task_fn fn, asx_status expected)
{
    kit_everywhere(in_region, &fn, expected);
}

static asx_status nests(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_mask_end(cx), ASX_E_MASK_DEPTH);
    for (int i = 0; i < ASX_MASK_DEPTH_MAX; i++)
        CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_E_MASK_DEPTH);
    CHECK_STATUS(asx_with_cancel_mask(cx, kit_returns, NULL), ASX_E_MASK_DEPTH);
    CHECK_STATUS(self_cancel(cx), ASX_OK);
    for (int i = 0; i < ASX_MASK_DEPTH_MAX; i++) {
        CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    }
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    CHECK_STATUS(asx_mask_end(cx), ASX_E_MASK_DEPTH);
    return ASX_OK;
}

ASX_TEST(masks_nest_to_their_depth_and_the_last_end_lifts_them)
{
    as_child(nests, ASX_OK);
}

/* ---- bounded -------------------------------------------------------------------------------- */

static asx_status bounded(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_mask_begin(cx, 3), ASX_OK);
    CHECK_STATUS(self_cancel(cx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK); /* the third resumption uses it up */
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_mask_holds_for_its_number_of_resumptions)
{
    as_child(bounded, ASX_OK);
}

static asx_status inner_used_up(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 1), ASX_OK);
    CHECK_STATUS(self_cancel(cx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK); /* the outer one still protects */
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    return ASX_OK;
}

ASX_TEST(an_inner_mask_used_up_leaves_the_outer_one)
{
    as_child(inner_used_up, ASX_OK);
}

static asx_status outer_used_up(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_mask_begin(cx, 2), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(self_cancel(cx), ASX_OK);
    for (int i = 0; i < 5; i++)
        CHECK_STATUS(asx_yield(cx), ASX_OK); /* the inner one has no limit */
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED); /* and the outer one does not come back */
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    return ASX_OK;
}

ASX_TEST(an_outer_mask_used_up_stays_so_when_the_inner_one_ends)
{
    as_child(outer_used_up, ASX_OK);
}

static asx_status not_charged_before(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_mask_begin(cx, 2), ASX_OK);
    for (int i = 0; i < 10; i++)
        CHECK_STATUS(asx_yield(cx), ASX_OK); /* there is nothing to defer yet */
    CHECK_STATUS(self_cancel(cx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, UINT32_MAX), ASX_OK); /* as good as no limit */
    for (int i = 0; i < 10; i++)
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_mask_is_used_up_only_while_it_defers_something)
{
    as_child(not_charged_before, ASX_OK);
}

/* A poll task's masks last from one resumption to the next. */
static asx_poll poll_masks(asx_cx *cx, void *state)
{
    int *step = state;
    switch ((*step)++) {
    case 0:
        CHECK_STATUS(asx_mask_begin(cx, 2), ASX_OK);
        CHECK_STATUS(self_cancel(cx), ASX_OK);
        return ASX_POLL_PENDING;
    case 1:
        CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
        return ASX_POLL_PENDING;
    case 2:
        CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
        CHECK_STATUS(asx_mask_end(cx), ASX_OK);
        return ASX_POLL_READY;
    default:
        CHECK(false);
        return ASX_POLL_READY;
    }
}

static asx_status spawn_poll_masks(asx_cx *cx, void *arg)
{
    asx_region r;
    int step = 0;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", poll_masks, &step), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(step, 3);
    return ASX_OK;
}

ASX_TEST(a_poll_tasks_mask_lasts_over_resumptions)
{
    kit_everywhere(spawn_poll_masks, NULL, ASX_OK);
}

/* ---- calls under a mask --------------------------------------------------------------------- */

static asx_status inside(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_E_MASK_DEPTH); /* not ours to end */
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);      /* and what we leave behind ends with us */
    return (asx_status)(intptr_t)arg;
}

static asx_status with_mask(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(self_cancel(cx), ASX_OK);
    CHECK_STATUS(asx_with_cancel_mask(cx, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_with_cancel_mask(cx, inside, (void *)(intptr_t)ASX_E_FULL), ASX_E_FULL);
    CHECK_STATUS(asx_with_cancel_mask(cx, inside, NULL), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_E_MASK_DEPTH);
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    CHECK_STATUS(asx_with_cancel_mask(cx, inside, NULL), ASX_OK); /* also for cleaning up */
    return ASX_OK;
}

ASX_TEST(a_masked_call_is_balanced_and_passes_its_status_on)
{
    as_child(with_mask, ASX_OK);
}

static asx_status commits(asx_cx *cx, void *arg)
{
    int *n = arg;
    CHECK_STATUS(self_cancel(cx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    ++*n;
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_E_CANCELLED); /* its two resumptions are used up */
    return ASX_OK;
}

static asx_status commit_section(asx_cx *cx, void *arg)
{
    int n = 0;
    (void)arg;
    CHECK_STATUS(asx_commit_section(cx, 0, commits, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_commit_section(cx, 1, NULL, &n), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_commit_section(cx, 2, commits, &n), ASX_OK);
    CHECK_EQ(n, 1);
    CHECK_STATUS(asx_commit_section(cx, 2, commits, &n), ASX_E_CANCELLED); /* not begun */
    CHECK_EQ(n, 1);
    return ASX_OK;
}

ASX_TEST(a_commit_section_is_not_begun_after_a_cancel_and_is_bounded)
{
    as_child(commit_section, ASX_OK);
}

/* ---- brackets ------------------------------------------------------------------------------- */

typedef enum how {
    USES,
    FAILS,
    CANCELLED,
    PANICS,
    ACQUIRE_FAILS,
    ACQUIRE_PANICS,
    RELEASE_FAILS
} how;

static asx_status acquire(asx_cx *cx, void *arg)
{
    how h = *(how *)arg;
    say("acquire");
    if (h == ACQUIRE_PANICS)
        asx_panic(cx, "acquire");
    return h == ACQUIRE_FAILS ? ASX_E_BUSY : ASX_OK;
}

static asx_status use(asx_cx *cx, void *arg)
{
    how h = *(how *)arg;
    say("use");
    if (h == PANICS)
        asx_panic(cx, "use");
    if (h == CANCELLED) {
        CHECK_STATUS(self_cancel(cx), ASX_OK);
        return asx_sleep(cx, ASX_SEC);
    }
    return h == FAILS ? ASX_E_FULL : ASX_OK;
}

static asx_status release(asx_cx *cx, void *arg)
{
    how h = *(how *)arg;
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK); /* masked */
    if (h != PANICS)
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK); /* and may wait, unless after a panic */
    else
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_WRONG_CONTEXT);
    say("release");
    return h == RELEASE_FAILS ? ASX_E_EMPTY : ASX_OK;
}

static asx_status in_bracket(asx_cx *cx, void *arg)
{
    return asx_bracket(cx, acquire, use, release, arg);
}

static asx_status brackets(asx_cx *cx, void *arg)
{
    static const struct {
        asx_outcome_kind kind;
        asx_status status;
        const char *words;
    } expected[] = {
        [USES] = { ASX_OUTCOME_OK, ASX_OK, "acquire use release" },
        [FAILS] = { ASX_OUTCOME_ERR, ASX_E_FULL, "acquire use release" },
        [CANCELLED] = { ASX_OUTCOME_CANCELLED, ASX_E_CANCELLED, "acquire use release" },
        [PANICS] = { ASX_OUTCOME_PANICKED, ASX_E_PANICKED, "acquire use release" },
        [ACQUIRE_FAILS] = { ASX_OUTCOME_ERR, ASX_E_BUSY, "acquire" },
        [ACQUIRE_PANICS] = { ASX_OUTCOME_PANICKED, ASX_E_PANICKED, "acquire" },
        [RELEASE_FAILS] = { ASX_OUTCOME_ERR, ASX_E_EMPTY, "acquire use release" },
    };
    (void)arg;
    for (how h = USES; h <= RELEASE_FAILS; h++) {
        asx_region r;
        asx_task t;
        asx_join_result result;
        hush();
        CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                     ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, in_bracket, &h, NULL, &t), ASX_OK);
        CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
        CHECK_EQ(result.outcome.kind, expected[h].kind);
        CHECK_STATUS(result.outcome.status, expected[h].status);
        CHECK_STR_EQ(said(), expected[h].words);
        ASX_IGNORE(asx_region_close(&r, ASX_OK));
        CHECK_STR_EQ(said(), expected[h].words);
    }
    return ASX_OK;
}

ASX_TEST(a_bracket_releases_exactly_once_if_and_only_if_it_acquired)
{
    kit_everywhere(brackets, NULL, ASX_OK);
}

static asx_status full_depth(asx_cx *cx, void *arg)
{
    how h = USES;
    (void)arg;
    for (int i = 0; i < ASX_MASK_DEPTH_MAX; i++)
        CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_bracket(cx, acquire, use, release, &h), ASX_OK);
    CHECK_STR_EQ(said(), "acquire use release");
    for (int i = 0; i < ASX_MASK_DEPTH_MAX; i++)
        CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_bracket_at_the_full_depth_of_masks_releases_too)
{
    as_child(full_depth, ASX_OK);
}

static asx_poll poll_bracket(asx_cx *cx, void *state)
{
    how h = USES;
    (void)state;
    CHECK_STATUS(asx_bracket(cx, acquire, use, release, &h), ASX_E_NOT_SUPPORTED);
    return ASX_POLL_READY;
}

static asx_status no_poll_bracket(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", poll_bracket, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_poll_task_has_no_brackets)
{
    kit_everywhere(no_poll_bracket, NULL, ASX_OK);
}

/* ---- the task's own cleanups ---------------------------------------------------------------- */

static asx_status cleanup(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_E_MASK_DEPTH);
    say("c%d", (int)(intptr_t)arg);
    return ASX_E_FULL; /* nobody looks */
}

static asx_status registers_more(asx_cx *cx, void *arg)
{
    (void)arg;
    say("more");
    return asx_task_defer(cx, cleanup, (void *)9);
}

static asx_status panics_in_cleanup(asx_cx *cx, void *arg)
{
    (void)arg;
    say("boom");
    asx_panic(cx, "cleanup");
}

static asx_status ends_how(asx_cx *cx, void *arg)
{
    how h = *(how *)arg;
    CHECK_STATUS(asx_task_defer(cx, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_task_defer(cx, cleanup, (void *)1), ASX_OK);
    CHECK_STATUS(asx_task_defer(cx, registers_more, NULL), ASX_OK);
    CHECK_STATUS(asx_task_defer(cx, cleanup, (void *)2), ASX_OK);
    if (h == RELEASE_FAILS)
        CHECK_STATUS(asx_task_defer(cx, panics_in_cleanup, NULL), ASX_OK);
    if (h == CANCELLED) {
        CHECK_STATUS(self_cancel(cx), ASX_OK);
        return asx_checkpoint(cx);
    }
    if (h == PANICS)
        asx_panic(cx, "end");
    return h == FAILS ? ASX_E_FULL : ASX_OK;
}

static asx_poll ends_how_poll(asx_cx *cx, void *arg)
{
    asx_status st = ends_how(cx, arg);
    return st < 0 ? asx_poll_fail(cx, st) : ASX_POLL_READY;
}

static asx_status every_ending(asx_cx *cx, void *arg)
{
    static const how endings[] = { USES, FAILS, CANCELLED, PANICS, RELEASE_FAILS };
    (void)arg;
    for (unsigned i = 0; i < 10; i++) {
        asx_region r;
        asx_task t;
        asx_join_result result;
        how h = endings[i / 2];
        hush();
        CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                     ASX_OK);
        if (i & 1)
            CHECK_STATUS(asx_spawn_poll_task(&r, ends_how_poll, &h, NULL, &t), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_task(&r, ends_how, &h, NULL, &t), ASX_OK);
        CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
        CHECK_STR_EQ(said(), h == RELEASE_FAILS ? "boom c2 more c9 c1" : "c2 more c9 c1");
        CHECK_EQ(result.outcome.kind, h == USES        ? ASX_OUTCOME_OK
                                      : h == FAILS     ? ASX_OUTCOME_ERR
                                      : h == CANCELLED ? ASX_OUTCOME_CANCELLED
                                                       : ASX_OUTCOME_PANICKED);
        asx_status closes = h == FAILS ? ASX_E_FULL : ASX_OK;
        if (h == PANICS || h == RELEASE_FAILS)
            closes = ASX_E_PANICKED;
        CHECK_STATUS(asx_region_close(&r, ASX_OK), closes);
        CHECK_STATUS(asx_sleep(cx, 1), ASX_OK); /* and nothing of it is left behind */
    }
    return ASX_OK;
}

ASX_TEST(a_tasks_cleanups_run_once_last_first_in_every_ending)
{
    kit_everywhere(every_ending, NULL, ASX_OK);
}

/* On a fiber that ends by itself a cleanup may wait; in a mask that was left open too. */
static asx_status waits_in_cleanup(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    say("slept");
    return ASX_OK;
}

static asx_status leaves_masks_open(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_task_defer(cx, waits_in_cleanup, NULL), ASX_OK);
    for (int i = 0; i < ASX_MASK_DEPTH_MAX; i++)
        CHECK_STATUS(asx_mask_begin(cx, 1), ASX_OK);
    CHECK_STATUS(self_cancel(cx), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_cleanup_waits_under_its_own_mask_whatever_was_left_open)
{
    as_child(leaves_masks_open, ASX_OK);
    CHECK_STR_EQ(said(), "slept");
}

/* Somebody panics while a fiber waits in its cleanup. */
static asx_status waits_long_in_cleanup(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_sleep(cx, 2 * ASX_MS), ASX_OK);
    say("cleaned");
    return ASX_OK;
}

static asx_status cleans_long(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_task_defer(cx, waits_long_in_cleanup, NULL);
}

static asx_poll panics_meanwhile(asx_cx *cx, void *state)
{
    (void)state;
    asx_panic(cx, "meanwhile");
}

static asx_status panic_meanwhile(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "c", cleans_long, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "p", kit_panics, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "q", panics_meanwhile, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_PANICKED);
    CHECK_EQ(report.tasks_panicked, 2);
    CHECK_EQ(report.tasks_ok, 1);
    asx_close_report_deinit(&report);
    CHECK_STR_EQ(said(), "cleaned");
    return ASX_OK;
}

ASX_TEST(a_panic_elsewhere_does_not_disturb_a_cleanup_that_waits)
{
    kit_everywhere(panic_meanwhile, NULL, ASX_OK);
}

/* What needs no capability: a context that was narrowed to nothing. */
static asx_status without_capabilities(asx_cx *cx, void *arg)
{
    asx_cx none;
    asx_task t;
    asx_region r;
    asx_waker waker;
    asx_budget budget;
    (void)arg;
    CHECK_STATUS(asx_cx_narrow(cx, 0, &none), ASX_OK);
    CHECK_EQ(asx_cx_caps(&none), 0);
    CHECK_STATUS(asx_mask_begin(&none, 0), ASX_OK);
    CHECK_STATUS(asx_mask_end(&none), ASX_OK);
    CHECK_STATUS(asx_with_cancel_mask(&none, kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_commit_section(&none, 1, kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_bracket(&none, kit_returns, kit_returns, kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_task_defer(&none, kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_consume_cost(&none, 1), ASX_OK);
    CHECK_STATUS(asx_checkpoint(&none), ASX_OK);
    CHECK_STATUS(asx_yield(&none), ASX_OK);
    CHECK_STATUS(asx_cx_waker(&none, &waker), ASX_OK);
    CHECK_STATUS(asx_cx_budget(&none, &budget), ASX_OK);
    CHECK_STATUS(asx_cx_task(&none, &t), ASX_OK);
    CHECK_STATUS(asx_cx_region(&none, &r), ASX_OK);
    CHECK_STATUS(asx_task_set_value(&none, 3), ASX_OK);
    CHECK_STATUS(asx_sleep(&none, 1), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_trace_user(&none, 1, 1), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_region_open(&none, NULL, &r), ASX_E_CAPABILITY);
    return ASX_OK;
}

ASX_TEST(a_context_without_capabilities_does_what_needs_none)
{
    as_child(without_capabilities, ASX_OK);
}

/* A scope that a cleanup opens and leaves open is found. */
static asx_status opens_in_cleanup(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    return ASX_OK;
}

static asx_status forgets_in_cleanup(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_task_defer(cx, opens_in_cleanup, NULL), ASX_OK);
    if (arg != NULL)
        asx_panic(cx, "with a cleanup");
    return ASX_OK;
}

static asx_status forgets_and_panics(asx_cx *cx, void *arg)
{
    (void)arg;
    return forgets_in_cleanup(cx, "panic");
}

ASX_TEST(a_scope_left_open_by_a_cleanup_is_closed)
{
    as_child(forgets_in_cleanup, ASX_E_REGION_LEFT_OPEN);
    CHECK_STR_EQ(said(), "told");
    as_child(forgets_and_panics, ASX_E_PANICKED);
    CHECK_STR_EQ(said(), "told");
}

/* A mask that was left behind ends with its task: the next one in the same record is not masked. */
static asx_status masks_and_ends(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_mask_begin(cx, 0);
}

static asx_status in_used_records(asx_cx *cx, void *arg)
{
    enum { N = 20 };
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < N; i++)
        CHECK_STATUS(asx_spawn(&r, "m", masks_and_ends, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < N; i++)
        CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    asx_time begin = asx_now(cx);
    CHECK_STATUS(asx_region_cancel(&r, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
    if (kit_is_virtual(cx))
        CHECK_EQ(asx_now(cx), begin); /* nobody had to be waited for */
    return ASX_OK;
}

ASX_TEST(a_mask_ends_with_its_task)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(in_used_records, NULL, ASX_OK);
}

/* ---- giving way in the cancel lane ---------------------------------------------------------- */

static asx_status gives_way_masked(asx_cx *cx, void *arg)
{
    CHECK_EQ((uintptr_t)arg, 1);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    return asx_checkpoint(cx);
}

/* The second goes on where the first has ended, and gives way before it has ever left: it stands
 * behind the third, and where its stack ends is known nowhere. */
static asx_status three_cancelled(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "ends", kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "second", gives_way_masked, (void *)1), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "third", gives_way_masked, (void *)1), ASX_OK);
    CHECK_STATUS(asx_region_cancel(&r, NULL), ASX_OK);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    return ASX_OK;
}

ASX_TEST(a_cancelled_task_gives_way_on_a_stack_that_it_took_over)
{
    kit_everywhere(three_cancelled, NULL, ASX_OK);
}
