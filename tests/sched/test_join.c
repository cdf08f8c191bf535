/* Joining: who may, how often, and what runs in the joiner's place. */
#include "support_kit.h"

#include "sched/sched.h"

#include <string.h>

typedef struct joined {
    asx_task *target;
    asx_status status;
    asx_join_result result;
} joined;

static asx_status joins(asx_cx *cx, void *arg)
{
    joined *j = arg;
    j->status = asx_join(cx, j->target, &j->result);
    say("%s", asx_status_str(j->status));
    return ASX_OK;
}

static asx_poll joins_poll(asx_cx *cx, void *arg)
{
    joined *j = arg;
    j->status = asx_join(cx, j->target, &j->result);
    if (j->status == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    say("%s", asx_status_str(j->status));
    return ASX_POLL_READY;
}

static asx_status twice(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_join_result result;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK); /* it has ended before */
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_E_STALE_HANDLE); /* its region is closed */
    return ASX_OK;
}

ASX_TEST(a_task_is_joined_once)
{
    asx_test_one_worker("who runs next");
    kit_everywhere(twice, NULL, ASX_OK);
}

static asx_status busy(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t, a;
    joined j = { .target = &t }, k = { .target = &t };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_waiter, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, joins, &j, NULL, &a), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_E_BUSY);
    CHECK_STATUS(asx_task_cancel(&a, NULL), ASX_OK); /* a cancelled join lets go of the task */
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, joins_poll, &j, NULL, &a), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_E_BUSY);
    CHECK_STATUS(asx_task_cancel(&a, NULL), ASX_OK); /* so does that of a poll task */
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", joins_poll, &k), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_E_BUSY);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "ASX_E_CANCELLED ASX_E_CANCELLED told ASX_OK");
    CHECK_EQ(k.result.outcome.kind, ASX_OUTCOME_CANCELLED);
    return ASX_OK;
}

ASX_TEST(one_task_at_a_time_joins)
{
    asx_test_one_worker("who runs next");
    kit_everywhere(busy, NULL, ASX_OK);
}

/* A poll task's join that is not repeated in its next resumption is withdrawn. */
static asx_poll joins_and_forgets(asx_cx *cx, void *arg)
{
    joined *j = arg;
    asx_waker waker;
    if (j->status == ASX_OK) {
        j->status = asx_join(cx, j->target, &j->result);
        CHECK_STATUS(j->status, ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_join(cx, j->target, &j->result), ASX_E_WOULD_BLOCK);
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_BUSY); /* one wait at a time */
        return ASX_POLL_PENDING;
    }
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    say("resumed");
    return asx_checkpoint(cx) == ASX_OK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status not_repeated(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t, p;
    joined j = { .target = &t };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_waiter, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, joins_and_forgets, &j, NULL, &p), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_E_BUSY);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    CHECK_STR_EQ(said(), "told resumed"); /* the end of its target has resumed it */
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK); /* and it has not picked up the result */
    CHECK_STATUS(asx_task_cancel(&p, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_poll_tasks_join_that_is_not_repeated_is_withdrawn)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(not_repeated, NULL, ASX_OK);
}

/* ---- would deadlock ------------------------------------------------------------------------- */

static asx_status joins_its_parent(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_join(cx, arg, NULL), ASX_E_WOULD_DEADLOCK);
    say("child");
    return ASX_OK;
}

static asx_status joins_its_joiner(asx_cx *cx, void *arg)
{
    asx_task *t = arg;
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_join(cx, t, NULL), ASX_E_WOULD_DEADLOCK);
    say("joined");
    return ASX_OK;
}

static asx_status no_deadlock(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task self, a, b;
    joined j = { .target = &a };
    (void)arg;
    CHECK_STATUS(asx_cx_task(cx, &self), ASX_OK);
    CHECK_STATUS(asx_join(cx, &self, NULL), ASX_E_WOULD_DEADLOCK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, joins_its_joiner, &b, NULL, &a), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, joins, &j, NULL, &b), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "child", joins_its_parent, &self), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "joined child ASX_OK");
    return ASX_OK;
}

ASX_TEST(a_join_that_would_wait_for_itself_is_refused)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(no_deadlock, NULL, ASX_OK);
}

/* ---- in the joiner's place ------------------------------------------------------------------ */

static asx_status says(asx_cx *cx, void *arg)
{
    (void)cx;
    say("%s", (const char *)arg);
    return ASX_OK;
}

static asx_status says_after_yield(asx_cx *cx, void *arg)
{
    say("%s", (const char *)arg);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    say("%s'", (const char *)arg);
    return ASX_OK;
}

static asx_status inline_order(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", says, "a"), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", says, "b"), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, says, "child", NULL, &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    say("joiner");
    return asx_region_close(&r, ASX_OK);
}

static asx_status inline_poll_order(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    joined j = { .target = &t };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", joins_poll, &j), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", says, "a"), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, says, "child", NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

/* A child that gave way is no longer in anybody's place: its joiner waits for its own turn. */
static asx_status inline_ends(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", says_after_yield, "a"), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", says_after_yield, "b"), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, says_after_yield, "c", NULL, &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    say("joiner");
    return asx_region_close(&r, ASX_OK);
}

static void in_all_modes(asx_task_fn fn, const char *inlined, const char *in_turn)
{
    for (int i = 0; i < 8; i++) {
        asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.trace = (i & 2) != 0;
        config.join_in_order = (i & 4) != 0;
        hush();
        CHECK_STATUS(kit_run(&config, fn, NULL), ASX_OK);
        CHECK_STR_EQ(said(), config.join_in_order ? in_turn : inlined);
    }
}

ASX_TEST(joining_a_fresh_child_runs_it_next_and_then_the_joiner)
{
    asx_test_one_worker("who has run when a yield returns");
    in_all_modes(inline_order, "child joiner a b", "a b child joiner");
}

ASX_TEST(a_poll_task_that_joins_a_fresh_child_runs_it_next)
{
    asx_test_one_worker("who has run when a yield returns");
    in_all_modes(inline_poll_order, "child ASX_OK a", "a child ASX_OK");
}

ASX_TEST(a_joiner_does_not_pass_others_once_its_child_gave_way)
{
    asx_test_one_worker("who has run when a yield returns");
    in_all_modes(inline_ends, "c a b c' a' b' joiner", "a b c a' b' c' joiner");
}

/* The same for a child that is a poll task. */
static asx_poll pends_once(asx_cx *cx, void *state)
{
    int *n = state;
    (void)cx;
    say("c%d", *n);
    return ++*n == 2 ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static asx_status inline_poll_ends(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    int n = 0;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", says_after_yield, "a"), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, pends_once, &n, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    say("joiner");
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(nor_once_its_child_that_is_a_poll_task_gave_way)
{
    asx_test_one_worker("who has run when a yield returns");
    in_all_modes(inline_poll_ends, "c0 a c1 a' joiner", "a c0 a' c1 joiner");
}

/* A child that joins a child of its own has not given way: the tree is walked in depth. */
typedef struct node {
    const char *name;
    struct node *below;
} node;

static asx_status walks(asx_cx *cx, void *arg)
{
    node *me = arg;
    asx_region r;
    CHECK_STATUS(asx_cx_region(cx, &r), ASX_OK);
    for (node *n = me->below; n != NULL && n->name != NULL; n++) {
        asx_task t;
        asx_join_result result;
        CHECK_STATUS(asx_spawn_task(&r, walks, n, NULL, &t), ASX_OK);
        CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
        CHECK_EQ(result.value, strlen(n->name));
    }
    say("%s", me->name);
    return asx_task_set_value(cx, strlen(me->name));
}

typedef struct polled {
    node *me;
    asx_task child;
    bool joining;
} polled;

static asx_poll walks_poll(asx_cx *cx, void *arg)
{
    polled *p = arg;
    asx_region r;
    CHECK_STATUS(asx_cx_region(cx, &r), ASX_OK);
    for (; p->me->below->name != NULL; p->me->below++) {
        if (!p->joining)
            CHECK_STATUS(asx_spawn_task(&r, walks, p->me->below, NULL, &p->child), ASX_OK);
        asx_status st = asx_join(cx, &p->child, NULL);
        p->joining = st == ASX_E_WOULD_BLOCK;
        if (p->joining)
            return ASX_POLL_PENDING;
        CHECK_STATUS(st, ASX_OK);
    }
    say("%s", p->me->name);
    return ASX_POLL_READY;
}

static asx_status in_depth(asx_cx *cx, void *arg)
{
    node leaves[] = { { "1", NULL }, { "2", NULL }, { NULL, NULL } };
    node nodes[] = { { "a", leaves }, { "b", leaves }, { NULL, NULL } };
    node root = { "root", nodes };
    polled top = { .me = &root };
    asx_region r;
    asx_task t;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "other", says, "other"), ASX_OK);
    if (arg == NULL)
        CHECK_STATUS(asx_spawn_task(&r, walks, &root, NULL, &t), ASX_OK);
    else
        CHECK_STATUS(asx_spawn_poll_task(&r, walks_poll, &top, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    say("joiner");
    return asx_region_close(&r, ASX_OK);
}

static asx_status in_depth_poll(asx_cx *cx, void *arg)
{
    (void)arg;
    return in_depth(cx, cx);
}

ASX_TEST(a_tree_of_tasks_that_join_each_other_is_walked_in_depth)
{
    asx_test_one_worker("who runs next");
    in_all_modes(in_depth, "1 2 a 1 2 b root joiner other",
                 "other 1 2 a 1 2 b root joiner");
    in_all_modes(in_depth_poll, "1 2 a 1 2 b root joiner other",
                 "other 1 2 a 1 2 b root joiner");
}

/* The first in its lane runs next anyway, and those behind it after it. */
static asx_status first_of_many(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, says, "child", NULL, &t), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", says, "a"), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "b", says, "b"), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    say("joiner");
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_child_that_is_first_in_its_lane_runs_there_and_its_joiner_waits_for_its_turn)
{
    asx_test_one_worker("who runs next");
    in_all_modes(first_of_many, "child a b joiner", "child a b joiner");
}

/* However long a tree is walked, the lanes get one dispatch in between now and then. */
enum { ROUNDS = 4000 };

typedef struct patient {
    unsigned turns;
    bool over;
} patient;

static asx_status takes_turns(asx_cx *cx, void *arg)
{
    patient *p = arg;
    for (; !p->over; p->turns++)
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    return ASX_OK;
}

static asx_status joins_many(asx_cx *cx, void *arg)
{
    patient p = { 0, false };
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "patient", takes_turns, &p), ASX_OK);
    for (unsigned i = 0; i < ROUNDS; i++) {
        asx_task t;
        CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL, NULL, &t), ASX_OK);
        CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    }
    p.over = true;
    /* Two dispatches each, the child and its joiner. */
    CHECK(p.turns >= 2 * ROUNDS / ASX__INLINE_MOST - 2);
    CHECK(p.turns <= 2 * ROUNDS / ASX__INLINE_MOST + 2);
    return asx_region_close(&r, ASX_OK);
}

typedef struct repeated {
    asx_region *region;
    asx_task child;
    unsigned joined;
    bool joining;
} repeated;

static asx_poll ends_at_once(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_POLL_READY;
}

static asx_poll joins_polls(asx_cx *cx, void *arg)
{
    repeated *p = arg;
    for (; p->joined < ROUNDS; p->joined++) {
        if (!p->joining)
            CHECK_STATUS(asx_spawn_poll_task(p->region, ends_at_once, NULL, NULL, &p->child),
                         ASX_OK);
        asx_status st = asx_join(cx, &p->child, NULL);
        p->joining = st == ASX_E_WOULD_BLOCK;
        if (p->joining)
            return ASX_POLL_PENDING;
        CHECK_STATUS(st, ASX_OK);
    }
    return ASX_POLL_READY;
}

/* The one in between may be of the other kind. */
static asx_status joins_many_polls(asx_cx *cx, void *arg)
{
    patient p = { 0, false };
    asx_region r;
    asx_task t;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    repeated many = { .region = &r };
    CHECK_STATUS(asx_spawn(&r, "patient", takes_turns, &p), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, joins_polls, &many, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    p.over = true;
    CHECK_EQ(many.joined, ROUNDS);
    CHECK(p.turns >= 2 * ROUNDS / ASX__INLINE_MOST - 2);
    CHECK(p.turns <= 2 * ROUNDS / ASX__INLINE_MOST + 2);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(joins_that_run_children_in_place_keep_nobody_from_its_turn)
{
    asx_test_one_worker("who runs next");
    for (int i = 0; i < 4; i++) {
        asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.trace = (i & 2) != 0;
        CHECK_STATUS(kit_run(&config, joins_many, NULL), ASX_OK);
        CHECK_STATUS(kit_run(&config, joins_many_polls, NULL), ASX_OK);
    }
}

/* Higher priority, a deadline or a pending cancel keep a child in its own lane. */
static asx_status not_the_same_lane(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_budget urgent = ASX_BUDGET_INFINITE, dated = ASX_BUDGET_INFINITE;
    urgent.priority = 3;
    dated.deadline = asx_now(cx) + ASX_SEC;
    asx_spawn_options options[] = { { .budget = &urgent }, { .budget = &dated } };
    (void)arg;
    for (size_t i = 0; i < 2; i++) {
        hush();
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, says, "a", &options[i], NULL), ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, says, "b", &options[i], &t), ASX_OK);
        CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
        CHECK_STR_EQ(said(), "a b");
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(a_child_of_another_lane_or_priority_waits_for_its_turn)
{
    asx_test_one_worker("who runs next");
    kit_everywhere(not_the_same_lane, NULL, ASX_OK);
}

/* Cancelled after it was put in the joiner's place and before it ran: it goes to the cancel
 * lane. */
static asx_poll joins_then_cancels(asx_cx *cx, void *arg)
{
    joined *j = arg;
    bool first = j->status == ASX_OK;
    j->status = asx_join(cx, j->target, &j->result);
    if (j->status != ASX_E_WOULD_BLOCK)
        return ASX_POLL_READY;
    if (first)
        CHECK_STATUS(asx_task_cancel(j->target, NULL), ASX_OK);
    return ASX_POLL_PENDING;
}

static asx_status sees_cancel(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    say("seen");
    return ASX_OK;
}

static asx_status cancelled_in_place(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    joined j = { .target = &t };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", joins_then_cancels, &j), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, sees_cancel, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "seen");
    CHECK_EQ(j.result.outcome.kind, ASX_OUTCOME_CANCELLED);
    return ASX_OK;
}

ASX_TEST(a_child_cancelled_in_its_joiners_place_runs_in_the_cancel_lane)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(cancelled_in_place, NULL, ASX_OK);
}

/* Visible in the journal: the child's first run follows the joiner's park. */
typedef struct seen {
    uint64_t child;
    int phase;
} seen;

static void watch(void *ctx, const asx_event *event)
{
    seen *s = ctx;
    if (event->kind == ASX_EVENT_TASK_PARK && event->b == s->child)
        s->phase = 1;
    else if (event->kind == ASX_EVENT_TASK_RUN && s->phase == 1)
        s->phase = event->object == s->child ? 2 : 3;
}

static asx_status journalled(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    seen s = { 0, 0 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "a", says, "a"), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, says, "child", NULL, &t), ASX_OK);
    s.child = t.id.generation & 0xffffffffffffu;
    CHECK_STATUS(asx_runtime_observe(asx_cx_runtime(cx), watch, &s), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_observe(asx_cx_runtime(cx), NULL, NULL), ASX_OK);
    CHECK_EQ(s.phase, 2);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(the_journal_shows_the_child_in_the_joiners_place)
{
    asx_test_one_worker("who runs next");
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.trace = true;
    CHECK_STATUS(kit_run(&config, journalled, NULL), ASX_OK);
}
