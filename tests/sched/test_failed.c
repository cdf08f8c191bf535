/* test_failed.c - a region that has failed ends the waits of the task that opened it. */
#include "support_kit.h"

#include <stdatomic.h>

/* On one worker, as everywhere, and on two. */
static void check(asx_task_fn fn)
{
    kit_everywhere(fn, NULL, ASX_OK);
    asx_runtime_config config = { .workers = 2 };
    CHECK_STATUS(kit_run(&config, fn, NULL), ASX_OK);
}

static asx_status fails_soon(asx_cx *cx, void *arg)
{
    asx_status st = asx_sleep(cx, ASX_MS);
    (void)arg;
    return st < 0 ? st : ASX_E_FULL;
}

static asx_status panics_soon(asx_cx *cx, void *arg)
{
    asx_status st = asx_sleep(cx, ASX_MS);
    (void)arg;
    if (st == ASX_OK)
        asx_panic(cx, "meant");
    return st;
}

static asx_status waits(asx_cx *cx, void *arg)
{
    asx_waker waker;
    asx_status st = asx_cx_waker(cx, &waker);
    (void)arg;
    return st < 0 ? st : asx_wait_external(cx);
}

/* ---- a set-up that failed ------------------------------------------------------------------- */

/* The consumer could not be spawned; its producer-to-be waits before the close. */
static asx_status set_up(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    uint64_t message = 1;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof message, 1, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &tx, &message), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "consumer", NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_send(cx, &tx, &message), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_sleep(cx, 3600 * ASX_SEC), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_yield(cx), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK); /* closed: all is well again */
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    return ASX_OK;
}

ASX_TEST(the_owner_does_not_wait_in_a_region_whose_set_up_has_failed)
{
    check(set_up);
}

/* What failed lies around the region in which the owner waits; then it is closed too. */
static asx_status set_up_around(asx_cx *cx, void *arg)
{
    asx_region outer, inner;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &outer), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &inner), ASX_OK);
    CHECK_STATUS(asx_spawn(&outer, "bad", NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(waits(cx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&inner, ASX_OK), ASX_OK); /* nothing was wrong in there */
    CHECK_STATUS(waits(cx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_open(cx, NULL, &inner), ASX_OK);
    CHECK_STATUS(waits(cx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&inner, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_close(&outer, ASX_OK), ASX_E_INVALID_ARGUMENT);
    return asx_checkpoint(cx);
}

ASX_TEST(a_failed_set_up_is_told_in_the_regions_inside_too)
{
    check(set_up_around);
}

/* The region that could not be opened is to be set up, too; what is around it says so. */
static asx_status not_opened(asx_cx *cx, void *arg)
{
    asx_region outer, inner;
    asx_region_options bad = { .policy = (asx_policy)99 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &bad, &inner), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK); /* nothing of the task's own is around it */
    CHECK_STATUS(asx_region_open(cx, NULL, &outer), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &bad, &inner), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_spawn(&inner, "w", waits, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(waits(cx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&inner, ASX_OK), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&outer, ASX_OK), ASX_E_INVALID_ARGUMENT);
    return asx_checkpoint(cx);
}

ASX_TEST(a_region_that_could_not_be_opened_fails_the_one_around_it)
{
    check(not_opened);
}

/* A refusal at a limit says so to the caller and does not stick. */
static asx_status refused(asx_cx *cx, void *arg)
{
    asx_region outer, inner, more;
    asx_region_options one = { .tasks_max = 1, .regions_max = 1 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &one, &outer), ASX_OK);
    CHECK_STATUS(asx_spawn(&outer, "w", waits, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&outer, "w", waits, NULL), ASX_E_ADMISSION_CLOSED);
    CHECK_STATUS(asx_region_open_in(cx, &outer, NULL, &inner), ASX_OK);
    CHECK_STATUS(asx_region_open_in(cx, &outer, NULL, &more), ASX_E_ADMISSION_CLOSED);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK_STATUS(asx_region_close(&inner, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_close(&outer, ASX_E_EMPTY), ASX_E_EMPTY);
    return ASX_OK;
}

ASX_TEST(a_refusal_at_a_limit_ends_no_wait)
{
    check(refused);
}

/* ---- a child that failed -------------------------------------------------------------------- */

static asx_status child_failed(asx_cx *cx, void *arg)
{
    asx_region r, inner;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "f", fails_soon, NULL), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &inner), ASX_OK);
    CHECK_STATUS(waits(cx, NULL), ASX_E_FULL); /* it waits already when the child fails */
    CHECK_STATUS(waits(cx, NULL), ASX_E_FULL);
    CHECK_STATUS(asx_region_close(&inner, ASX_OK), ASX_E_CANCELLED); /* by r, around it */
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_FULL);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "p", panics_soon, NULL), ASX_OK);
    CHECK_STATUS(waits(cx, NULL), ASX_E_PANICKED);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_PANICKED);
    return asx_checkpoint(cx);
}

ASX_TEST(a_child_that_fails_ends_the_wait_of_the_owner)
{
    check(child_failed);
}

/* A condition gives its mutex back before it says so. */
static asx_status in_a_condition(asx_cx *cx, void *arg)
{
    asx_region r, outer;
    asx_mutex mutex;
    asx_condition condition;
    asx_mutex_guard guard;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &outer), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&outer, NULL, &mutex), ASX_OK);
    CHECK_STATUS(asx_condition_create(&outer, NULL, &condition), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "f", fails_soon, NULL), ASX_OK);
    CHECK_STATUS(asx_mutex_lock(cx, &mutex, &guard), ASX_OK);
    CHECK_STATUS(asx_condition_wait(cx, &condition, &guard), ASX_E_FULL);
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK); /* it was held */
    CHECK_STATUS(asx_mutex_lock(cx, &mutex, &guard), ASX_E_FULL);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_FULL);
    CHECK_STATUS(asx_mutex_lock(cx, &mutex, &guard), ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    return asx_region_close(&outer, ASX_OK);
}

ASX_TEST(a_condition_whose_wait_ends_so_has_its_mutex_back)
{
    check(in_a_condition);
}

static asx_status collects(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_region_options all = { .policy = ASX_POLICY_COLLECT };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &all, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "f", fails_soon, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 3 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_FULL);
    return ASX_OK;
}

ASX_TEST(where_everyone_runs_to_the_end_a_failing_child_ends_no_wait)
{
    check(collects);
}

/* ---- what cleanup may do -------------------------------------------------------------------- */

static asx_status masked(asx_cx *cx, void *arg)
{
    asx_region r, inner;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "f", fails_soon, NULL), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 3 * ASX_MS), ASX_OK); /* it fails meanwhile */
    CHECK_STATUS(asx_region_open(cx, NULL, &inner), ASX_OK);
    CHECK_STATUS(asx_spawn(&inner, "w", kit_returns, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&inner, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_E_FULL);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_FULL);
    return asx_checkpoint(cx);
}

ASX_TEST(under_a_mask_the_owner_waits_as_ever)
{
    check(masked);
}

/* Borrows from the frame of its caller, who must be able to wait for it. */
static asx_status borrows(asx_cx *cx, void *arg)
{
    asx_status st = waits(cx, NULL);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    *(int *)arg = 1;
    return st;
}

static asx_status joins(asx_cx *cx, void *arg)
{
    asx_region outer, r;
    asx_task far, child, failing;
    asx_join_result result;
    int lent = 0;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &outer), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&outer, waits, NULL, NULL, &far), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, borrows, &lent, NULL, &child), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, fails_soon, NULL, NULL, &failing), ASX_OK);
    CHECK_STATUS(asx_join(cx, &child, &result), ASX_OK); /* waits when the other one fails */
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_EQ(lent, 1);
    CHECK_STATUS(asx_join(cx, &failing, &result), ASX_OK);
    CHECK_STATUS(result.outcome.status, ASX_E_FULL);
    CHECK_STATUS(asx_join(cx, &far, NULL), ASX_E_FULL); /* nothing ends that one */
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_FULL);
    CHECK_STATUS(asx_region_close(&outer, ASX_E_EMPTY), ASX_E_EMPTY);
    return ASX_OK;
}

ASX_TEST(a_join_with_a_task_of_the_failed_region_goes_on)
{
    check(joins);
}

/* What was started waits for what was not: the first join cancels it. */
static asx_status joins_half(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task child;
    asx_join_result result;
    asx_cancel_witness witness;
    int lent = 0;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, borrows, &lent, NULL, &child), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "bad", NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_task_get_witness(&child, &witness), ASX_E_NOT_FOUND);
    CHECK_STATUS(asx_join(cx, &child, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_EQ(lent, 1);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_INVALID_ARGUMENT);
    return asx_checkpoint(cx);
}

ASX_TEST(a_join_in_a_region_whose_set_up_has_failed_cancels_it_and_waits)
{
    check(joins_half);
}

static asx_status releases(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK); /* masked */
    *(int *)arg += 1;
    return ASX_OK;
}

/* Finalizers, and the cleanups of a task that forgets to close. */
static asx_status forgets(asx_cx *cx, void *arg)
{
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_defer(&r, releases, arg), ASX_OK);
    CHECK_STATUS(asx_task_defer(cx, releases, arg), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "bad", NULL, NULL), ASX_E_INVALID_ARGUMENT);
    return asx_sleep(cx, 1);
}

static asx_status cleanups(asx_cx *cx, void *arg)
{
    asx_region r;
    int count = 0;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "forgets", forgets, &count), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(count, 2);
    return ASX_OK;
}

ASX_TEST(finalizers_and_cleanups_wait_as_ever)
{
    check(cleanups);
}

/* ---- who else ------------------------------------------------------------------------------- */

typedef struct shared {
    asx_region r;
    _Atomic int ready;
} shared;

/* Not the owner's own call. */
static asx_status spawns_badly(asx_cx *cx, void *arg)
{
    shared *s = arg;
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(asx_spawn(&s->r, "bad", NULL, NULL), ASX_E_INVALID_ARGUMENT);
    return ASX_OK;
}

static asx_status told_by_others(asx_cx *cx, void *arg)
{
    shared s = { .ready = 0 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &s.r), ASX_OK);
    CHECK_STATUS(asx_spawn(&s.r, "w", spawns_badly, &s), ASX_OK);
    CHECK_STATUS(waits(cx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&s.r, ASX_OK), ASX_E_INVALID_ARGUMENT);
    return asx_checkpoint(cx);
}

ASX_TEST(a_set_up_that_another_task_failed_in_ends_the_owners_wait)
{
    check(told_by_others);
}

/* The children, and the other regions of the owner, are not concerned. */
static asx_status looks(asx_cx *cx, void *arg)
{
    shared *s = arg;
    CHECK_STATUS(asx_sleep(cx, 2 * ASX_MS), ASX_OK);
    s->ready = 1;
    return ASX_OK;
}

static asx_status others(asx_cx *cx, void *arg)
{
    asx_region bad, good;
    shared s = { .ready = 0 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &good), ASX_OK);
    CHECK_STATUS(asx_spawn(&good, "l", looks, &s), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &bad), ASX_OK);
    CHECK_STATUS(asx_spawn(&bad, "bad", NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&bad, ASX_OK), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(asx_region_close(&good, ASX_OK), ASX_OK);
    CHECK_EQ(s.ready, 1);
    return ASX_OK;
}

ASX_TEST(nobody_else_is_told)
{
    check(others);
}

/* A poll task owns the region. */
typedef struct poll_owner {
    asx_region r;
    int step;
    asx_status waited;
} poll_owner;

static asx_poll poll_owns(asx_cx *cx, void *state)
{
    poll_owner *p = state;
    asx_status st;
    switch (p->step) {
    case 0:
        CHECK_STATUS(asx_region_open(cx, NULL, &p->r), ASX_OK);
        CHECK_STATUS(asx_spawn(&p->r, "f", fails_soon, NULL), ASX_OK);
        p->step = 1; /* fall through */
    case 1:
        p->waited = asx_sleep(cx, 3600 * ASX_SEC);
        if (p->waited == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        p->step = 2; /* fall through */
    default:
        st = asx_region_close(&p->r, ASX_OK);
        if (st == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        CHECK_STATUS(st, ASX_E_FULL);
        return ASX_POLL_READY;
    }
}

static asx_status polls(asx_cx *cx, void *arg)
{
    asx_region r;
    poll_owner p = { .step = 0 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "p", poll_owns, &p), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(p.waited, ASX_E_FULL);
    return ASX_OK;
}

ASX_TEST(a_poll_task_that_owns_the_region_is_told_too)
{
    check(polls);
}

/* A cancel is the stronger news, and what refuses to listen keeps nobody from running. */
static asx_status deaf(asx_cx *cx, void *arg)
{
    asx_region r;
    shared *s = arg;
    asx_status st = ASX_OK;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "bad", NULL, NULL), ASX_E_INVALID_ARGUMENT);
    s->ready = 1;
    while (st != ASX_E_CANCELLED) {
        st = asx_sleep(cx, 3600 * ASX_SEC);
        CHECK(st == ASX_E_CANCELLED || st == ASX_E_INVALID_ARGUMENT);
    }
    CHECK_STATUS(asx_region_close(&r, st), ASX_E_CANCELLED);
    return ASX_E_CANCELLED;
}

static asx_status cancels_deaf(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_join_result result;
    shared s = { .ready = 0 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, deaf, &s, NULL, &t), ASX_OK);
    while (s.ready == 0)
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(an_owner_that_does_not_listen_is_cancelled_as_ever)
{
    check(cancels_deaf);
}
