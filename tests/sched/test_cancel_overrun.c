/* Cleanup that takes longer than it may: the last grace, force, and what becomes of the rest. */
#include "support_kit.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sched/sched.h"

enum { GRACE = 8 };

static const struct {
    asx_cancel_kind kind;
    unsigned quota;
} kinds[] = {
#define KIND(name, number, severity, quota, priority) { ASX_CANCEL_##name, quota },
    ASX_CANCEL_KIND_LIST(KIND)
#undef KIND
};

typedef struct deaf {
    unsigned ran;
    bool acknowledges;
    bool waits; /* parks for its waker, else it only gives way */
    asx_waker waker;
    asx_time last; /* when it ran last */
} deaf;

static asx_status cleanup(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_sleep(cx, 1), ASX_E_WRONG_CONTEXT); /* on the runtime's side */
    CHECK_STATUS(asx_yield(cx), ASX_E_WRONG_CONTEXT);
    say("cleanup");
    return ASX_OK;
}

static asx_poll never_ends(asx_cx *cx, void *state)
{
    deaf *d = state;
    if (d->ran == 0 && d->waits)
        CHECK_STATUS(asx_cx_waker(cx, &d->waker), ASX_OK);
    if (d->ran == 0)
        CHECK_STATUS(asx_task_defer(cx, cleanup, NULL), ASX_OK);
    if (asx_is_cancelled(cx) || d->ran == 0)
        d->ran++;
    d->last = asx_now(cx);
    if (d->acknowledges)
        (void)asx_checkpoint(cx);
    return ASX_POLL_PENDING;
}

/* ---- by resumptions ------------------------------------------------------------------------- */

static void overrun_by_polls(asx_cx *cx, size_t k, bool acknowledges)
{
    asx_region r;
    asx_task t;
    asx_cancel_witness w;
    asx_close_report report;
    asx_cancel_reason reason = { .kind = kinds[k].kind };
    deaf d = { .acknowledges = acknowledges };
    hush();
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, never_ends, &d, &(asx_spawn_options){ .name = "deaf" },
                                     &t),
                 ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, &reason), ASX_OK);
    asx_budget left;
    CHECK_STATUS(asx_task_get_cleanup(&t, &left), ASX_OK);
    CHECK_EQ(left.poll_quota, kinds[k].quota);
    asx_task_state s = ASX_TASK_CREATED;
    while (s != ASX_TASK_COMPLETED) {
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_task_get_state(&t, &s), ASX_OK);
    }
    /* One to acknowledge, the quota, the last grace. */
    CHECK_EQ(d.ran, 1 + acknowledges + kinds[k].quota + GRACE);
    CHECK_STR_EQ(said(), "cleanup");
    CHECK_STATUS(asx_task_get_witness(&t, &w), ASX_OK);
    CHECK(w.cleanup_budget_exceeded);
    CHECK_EQ(w.phase, ASX_CANCEL_COMPLETED);
    CHECK_EQ(w.reason.kind, kinds[k].kind);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_OK);
    CHECK_EQ(report.tasks_cancelled, 1);
    CHECK_EQ(report.tasks_forced, 1);
    CHECK_EQ(report.stacks_kept, 0); /* a poll task has none */
    CHECK_EQ(report.items_len, 1);
    CHECK_STR_EQ(report.items[0].name, "deaf");
    CHECK_STR_EQ(report.items[0].state, "Forced");
    CHECK_EQ(report.items[0].count, kinds[k].quota + GRACE);
    asx_close_report_deinit(&report);
}

static asx_status by_polls(asx_cx *cx, void *arg)
{
    (void)arg;
    for (size_t k = 0; k < ASX_CANCEL_KIND_COUNT; k++) {
        overrun_by_polls(cx, k, false);
        overrun_by_polls(cx, k, true);
    }
    CHECK_EQ(kit_stats(asx_cx_runtime(cx)).tasks_forced, 2 * ASX_CANCEL_KIND_COUNT);
    return ASX_OK;
}

ASX_TEST(both_waits_are_bounded_by_the_kinds_quota_and_one_grace)
{
    asx_test_one_worker("how often it has run before the cancel comes");
    kit_everywhere(by_polls, NULL, ASX_OK);
}

/* A fiber's masks are lifted when its quota is used up, and the acknowledgement buys nothing. */
static asx_status masked_loop(asx_cx *cx, void *arg)
{
    deaf *d = arg;
    asx_task self;
    asx_budget left;
    CHECK_STATUS(asx_cx_task(cx, &self), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    while (!asx_is_cancelled(cx))
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    asx_status st;
    while ((st = asx_yield(cx)) == ASX_OK)
        d->ran++;
    CHECK_STATUS(st, ASX_E_CANCELLED);
    CHECK_STATUS(asx_task_get_cleanup(&self, &left), ASX_OK);
    CHECK_LE(left.poll_quota, (unsigned)GRACE);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK); /* no new mask helps */
    CHECK_STATUS(asx_yield(cx), ASX_E_CANCELLED);
    return st;
}

static asx_status lifted(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_join_result result;
    asx_cancel_reason reason = { .kind = ASX_CANCEL_SHUTDOWN };
    deaf d = { 0 };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, masked_loop, &d, &(asx_spawn_options){ .name = "masked" }, &t),
                 ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, &reason), ASX_OK);
    asx_task_state state = ASX_TASK_CREATED;
    asx_cancel_witness w;
    CHECK_STATUS(asx_task_get_witness(&t, &w), ASX_OK);
    CHECK(!w.masks_lifted);
    while (state != ASX_TASK_COMPLETED) {
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_task_get_state(&t, &state), ASX_OK);
    }
    CHECK_STATUS(asx_task_get_witness(&t, &w), ASX_OK);
    CHECK(w.masks_lifted && !w.cleanup_budget_exceeded);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_GE(d.ran, 49u);
    CHECK_LE(d.ran, 51u);
    CHECK_EQ(kit_stats(asx_cx_runtime(cx)).tasks_forced, 0);
    asx_close_report report;
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_OK);
    CHECK_EQ(report.tasks_forced, 0);
    CHECK_EQ(report.masks_lifted, 1);
    CHECK_EQ(report.items_len, 1);
    CHECK_STR_EQ(report.items[0].name, "masked");
    CHECK_STR_EQ(report.items[0].state, "MaskLifted");
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_fibers_masks_are_lifted_when_its_quota_is_used_up)
{
    kit_everywhere(lifted, NULL, ASX_OK);
}

/* ---- a fiber completed by force: its stack is kept until the region closes ------------------ */

enum { SCOPES = 12 };
static asx_waker child_waker[SCOPES];
static _Atomic int children_ready;

static asx_status slow_child(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_cx_waker(cx, &child_waker[(intptr_t)arg]), ASX_OK);
    children_ready++;
    CHECK_STATUS(asx_wait_external(cx), ASX_OK);
    return ASX_OK;
}

/* Its last grace is used up by closes, which are no cancellation points. */
static asx_status unwinds_slowly(asx_cx *cx, void *arg)
{
    asx_region scope[SCOPES];
    _Atomic int *left = arg;
    CHECK_STATUS(asx_task_defer(cx, cleanup, NULL), ASX_OK);
    for (intptr_t i = 0; i < SCOPES; i++) {
        CHECK_STATUS(asx_region_open(cx, NULL, &scope[i]), ASX_OK);
        CHECK_STATUS(asx_spawn(&scope[i], "c", slow_child, (void *)i), ASX_OK);
    }
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    while (asx_yield(cx) == ASX_OK)
        continue;
    for (*left = SCOPES; *left > 0; --*left)
        CHECK_STATUS(asx_region_close(&scope[*left - 1], ASX_OK), ASX_E_CANCELLED);
    CHECK(false); /* it is never resumed to get here */
    return ASX_OK;
}

static asx_status forced_fiber(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_task_state s = ASX_TASK_CREATED;
    asx_close_report report;
    asx_cancel_reason reason = { .kind = ASX_CANCEL_SHUTDOWN };
    _Atomic int left = 0;
    int woken = SCOPES;
    (void)arg;
    children_ready = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, unwinds_slowly, &left, &(asx_spawn_options){ .name = "slow" },
                                &t), ASX_OK);
    while (children_ready < SCOPES)
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, &reason), ASX_OK);
    while (s != ASX_TASK_COMPLETED) {
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        if (left == woken) { /* it waits for this one */
            woken--;
            child_waker[woken].wake(child_waker[woken].arg);
        }
        CHECK_STATUS(asx_task_get_state(&t, &s), ASX_OK);
    }
    asx_stats stats = kit_stats(asx_cx_runtime(cx));
    CHECK_LE(left, SCOPES - GRACE + 1); /* the first close began before the grace was charged */
    if (stats.workers == 1) /* else a child may end before its parent has parked for it */
        CHECK_EQ(left, SCOPES - GRACE + 1);
    CHECK_STR_EQ(said(), "cleanup");
    CHECK_EQ(stats.stacks_kept, 1);
    CHECK_EQ(stats.tasks_forced, 1);
    while (woken-- > 0) /* the scopes it left behind drain like any other */
        child_waker[woken].wake(child_waker[woken].arg);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_REGION_LEFT_OPEN);
    CHECK_EQ(report.tasks_forced, 1);
    CHECK_EQ(report.stacks_kept, 1);
    asx_close_report_deinit(&report);
    CHECK_EQ(kit_stats(asx_cx_runtime(cx)).stacks_kept, 0);
    return ASX_OK;
}

ASX_TEST(a_fiber_completed_by_force_keeps_its_stack_until_its_region_closes)
{
    kit_everywhere(forced_fiber, NULL, ASX_OK);
}

/* ---- by time -------------------------------------------------------------------------------- */

#define TIME (8 * ASX_MS)

static asx_status parked_masked(asx_cx *cx, void *arg)
{
    asx_time *told = arg;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 3600 * ASX_SEC), ASX_E_CANCELLED);
    *told = asx_now(cx);
    return ASX_OK;
}

static asx_status time_of_parked(asx_cx *cx, void *arg)
{
    static const asx_time stamps[] = { 0, 1, ASX_TIME_NEVER };
    (void)arg;
    for (size_t i = 0; i < 3; i++) {
        asx_region r;
        asx_task t;
        asx_time told = 0, begin;
        asx_cancel_reason reason = { .kind = ASX_CANCEL_USER, .timestamp = stamps[i] };
        CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .cleanup_time_ns = TIME }, &r),
                     ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, parked_masked, &told, NULL, &t), ASX_OK);
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
        begin = asx_now(cx);
        CHECK_STATUS(asx_task_cancel(&t, &reason), ASX_OK);
        asx_budget left;
        CHECK_STATUS(asx_task_get_cleanup(&t, &left), ASX_OK);
        CHECK_GE(left.deadline, begin + TIME); /* whatever the user's timestamp says */
        CHECK_LE(left.deadline, asx_now(cx) + TIME);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
        CHECK_GE(told, begin + TIME);
        if (kit_is_virtual(cx))
            CHECK_EQ(told, begin + TIME);
    }
    return ASX_OK;
}

ASX_TEST(a_masked_task_that_is_parked_is_told_when_its_time_is_over)
{
    kit_everywhere(time_of_parked, NULL, ASX_OK);
}

/* A stronger reason shortens what is left, it does not begin anew. */
static asx_status stronger_later(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_time told = 0, begin;
    asx_cancel_reason weak = { .kind = ASX_CANCEL_USER }, strong = { .kind = ASX_CANCEL_SHUTDOWN };
    asx_budget left;
    asx_cancel_witness w;
    bool by_region = arg != NULL;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .cleanup_time_ns = 5 * TIME }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, parked_masked, &told, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, &weak), ASX_OK);
    CHECK_STATUS(asx_task_get_cleanup(&t, &left), ASX_OK);
    begin = left.deadline;
    CHECK_STATUS(asx_sleep(cx, TIME), ASX_OK);
    if (told != 0) /* the machine was busy, and its time has passed meanwhile */
        return asx_region_close(&r, ASX_OK);
    if (by_region)
        CHECK_STATUS(asx_region_cancel(&r, &strong), ASX_OK);
    else
        CHECK_STATUS(asx_task_cancel(&t, &strong), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&t, &w), ASX_OK);
    CHECK_EQ(w.reason.kind, ASX_CANCEL_SHUTDOWN);
    CHECK_EQ(w.epoch, 1);
    CHECK_STATUS(asx_task_get_cleanup(&t, &left), ASX_OK);
    CHECK_EQ(left.deadline, begin);
    CHECK_LE(left.poll_quota, 50u);
    CHECK_EQ(left.priority, 255);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    CHECK_GE(told, begin);
    if (kit_is_virtual(cx))
        CHECK_EQ(told, begin);
    return ASX_OK;
}

ASX_TEST(a_stronger_reason_does_not_lengthen_the_time)
{
    kit_everywhere(stronger_later, NULL, ASX_OK);
    kit_everywhere(stronger_later, "by its region", ASX_OK);
}

/* A task that parks again and again is forced when its grace is over too. */
static asx_status forced_by_time(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_close_report report;
    deaf d = { .waits = true };
    asx_time begin;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .cleanup_time_ns = TIME }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, never_ends, &d, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    asx_budget left;
    CHECK_STATUS(asx_task_get_cleanup(&t, &left), ASX_OK);
    begin = left.deadline - TIME;
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_OK);
    CHECK_GE(asx_now(cx), begin + TIME + TIME / 8);
    if (kit_is_virtual(cx)) { /* else it may have been too slow for one of them */
        CHECK_EQ(d.ran, 3); /* at first, when it was cancelled, when its masks were lifted */
        CHECK_EQ(d.last, begin + TIME);
        CHECK_EQ(asx_now(cx), begin + TIME + TIME / 8 + 1);
    }
    CHECK_STR_EQ(said(), "cleanup");
    CHECK_EQ(report.tasks_forced, 1);
    CHECK_STR_EQ(report.items[0].waits_for, "external");
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_task_that_parks_beyond_its_time_is_completed_by_force)
{
    kit_everywhere(forced_by_time, NULL, ASX_OK);
}

/* Many tasks of one region, cancelled at different times, each with its own. */
static asx_status own_time_each(asx_cx *cx, void *arg)
{
    enum { N = 5 };
    asx_region r;
    asx_task t[N];
    deaf d[N];
    asx_time begin[N];
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .cleanup_time_ns = TIME }, &r), ASX_OK);
    for (int i = 0; i < N; i++) {
        d[i] = (deaf){ .waits = true };
        CHECK_STATUS(asx_spawn_poll_task(&r, never_ends, &d[i], NULL, &t[i]), ASX_OK);
    }
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    for (int i = 0; i < N; i++) {
        asx_budget left;
        CHECK_STATUS(asx_task_cancel(&t[i], NULL), ASX_OK);
        CHECK_STATUS(asx_task_get_cleanup(&t[i], &left), ASX_OK);
        begin[i] = left.deadline - TIME;
        CHECK_STATUS(asx_sleep(cx, 2 * ASX_MS), ASX_OK);
    }
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    for (int i = 0; i < N; i++) {
        CHECK_GE(asx_now(cx), begin[i] + TIME);
        if (kit_is_virtual(cx)) /* else the grace may be over before the machine comes to it */
            CHECK_EQ(d[i].last, begin[i] + TIME);
    }
    return ASX_OK;
}

ASX_TEST(each_task_has_its_own_time_from_its_own_request)
{
    kit_everywhere(own_time_each, NULL, ASX_OK);
}

/* A cleanup that joins the next task of the region while the region is walked. */
typedef struct joins_next {
    deaf d;
    asx_task next;
} joins_next;

static asx_status joins_in_cleanup(asx_cx *cx, void *arg)
{
    joins_next *j = arg;
    asx_join_result result;
    CHECK_STATUS(asx_join(cx, &j->next, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_OK);
    say("joined");
    return ASX_OK;
}

static asx_poll never_ends_but_joins(asx_cx *cx, void *state)
{
    joins_next *j = state;
    if (j->d.ran++ == 0) {
        CHECK_STATUS(asx_cx_waker(cx, &j->d.waker), ASX_OK);
        CHECK_STATUS(asx_task_defer(cx, joins_in_cleanup, j), ASX_OK);
    }
    return ASX_POLL_PENDING;
}

static asx_status recycled_under_way(asx_cx *cx, void *arg)
{
    asx_region r;
    joins_next j = { .d = { 0 } };
    deaf d = { .waits = true };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .cleanup_time_ns = TIME }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "j", never_ends_but_joins, &j), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL, NULL, &j.next), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "d", never_ends, &d), ASX_OK);
    for (asx_task_state s = ASX_TASK_CREATED; s != ASX_TASK_COMPLETED;) { /* cleanups do not wait */
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_task_get_state(&j.next, &s), ASX_OK);
    }
    CHECK_STATUS(asx_region_close(&r, ASX_E_EMPTY), ASX_E_EMPTY);
    if (kit_is_virtual(cx) || strcmp(said(), "cleanup joined") != 0) /* on several: either */
        CHECK_STR_EQ(said(), "joined cleanup");
    return ASX_OK;
}

ASX_TEST(a_cleanup_may_join_the_next_of_those_whose_time_is_over)
{
    kit_everywhere(recycled_under_way, NULL, ASX_OK);
}

/* ---- soft: waited for ----------------------------------------------------------------------- */

static asx_poll ends_when_woken_twice(asx_cx *cx, void *state)
{
    deaf *d = state;
    if (d->ran++ == 0)
        CHECK_STATUS(asx_cx_waker(cx, &d->waker), ASX_OK);
    return d->acknowledges ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static asx_status soft(asx_cx *cx, void *arg)
{
    asx_region r, inner;
    asx_task t;
    asx_task_state s;
    deaf d = { 0 };
    asx_region_options options = { .cleanup = ASX_CLEANUP_SOFT, .cleanup_time_ns = ASX_MS };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &inner), ASX_OK); /* inherits it */
    CHECK_STATUS(asx_spawn_poll_task(&inner, ends_when_woken_twice, &d, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, kit_is_virtual(cx) ? 3600 * ASX_SEC : 20 * ASX_MS), ASX_OK);
    for (int i = 0; i < 1100; i++) { /* more resumptions than any quota */
        d.waker.wake(d.waker.arg);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    }
    CHECK_STATUS(asx_task_get_state(&t, &s), ASX_OK);
    CHECK_EQ(s, ASX_TASK_CANCEL_REQUESTED);
    CHECK_GE(d.ran, 1100u);
    d.acknowledges = true;
    d.waker.wake(d.waker.arg);
    CHECK_STATUS(asx_region_close(&inner, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(kit_stats(asx_cx_runtime(cx)).tasks_forced, 0);
    return ASX_OK;
}

static uintptr_t host_at, cleanup_at;

static asx_status notes_its_stack(asx_cx *cx, void *arg)
{
    char here;
    (void)cx;
    (void)arg;
    cleanup_at = (uintptr_t)&here;
    return ASX_OK;
}

static asx_status gives_way_deafly(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_task_defer(cx, notes_its_stack, NULL), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    for (;;)
        (void)asx_yield(cx);
    return ASX_OK;
}

static asx_status goes_on(asx_cx *cx, void *arg)
{
    (void)arg;
    return kit_yields(cx, 400);
}

static asx_status deaf_among_fibers(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_cancel_reason reason = { .kind = ASX_CANCEL_SHUTDOWN };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_spawn(&r, "goes on", goes_on, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, gives_way_deafly, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, &reason), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

/* A fiber's stack may be small; what runs on the runtime's side has the thread's. */
ASX_TEST(cleanups_of_one_completed_by_force_run_on_the_threads_stack)
{
    char here;
    asx_test_one_worker("the thread is the one of the test");
    host_at = (uintptr_t)&here;
    CHECK_STATUS(kit_run(NULL, deaf_among_fibers, NULL), ASX_OK);
    CHECK(cleanup_at != 0);
    uintptr_t apart = cleanup_at > host_at ? cleanup_at - host_at : host_at - cleanup_at;
    CHECK_LE(apart, 256 * 1024);
}

ASX_TEST(a_soft_region_waits_for_ever)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(soft, NULL, ASX_OK);
}

/* ---- panic: the process says who and dies --------------------------------------------------- */

static asx_status panics(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    deaf d = { .waits = arg != NULL };
    asx_region_options options = { .name = "strict", .cleanup = ASX_CLEANUP_PANIC,
                                   .cleanup_time_ns = 2 * ASX_MS };
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, never_ends, &d, &(asx_spawn_options){ .name = "deaf one" },
                                     &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static void check_dies_with_report(asx_clock_kind clock, void *arg)
{
    int fd[2];
    char text[512];
    size_t len = 0;
    CHECK_EQ(pipe(fd), 0);
    pid_t pid = fork();
    CHECK_GE(pid, 0);
    if (pid == 0) {
        asx_runtime_config config = kit_config(clock, NULL);
        dup2(fd[1], STDERR_FILENO);
        (void)kit_run(&config, panics, arg);
        _exit(0);
    }
    close(fd[1]);
    size_t room = sizeof text - 1;
    for (ssize_t n; len < room && (n = read(fd[0], text + len, room - len)) > 0;)
        len += (size_t)n;
    text[len] = '\0';
    close(fd[0]);
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    CHECK(strstr(text, "\"deaf one\"") != NULL);
    CHECK(strstr(text, "root/strict") != NULL);
    CHECK(strstr(text, "test_cancel_overrun.c:") != NULL);
}

ASX_TEST(in_panic_mode_an_overrun_aborts_the_process_with_a_report)
{
    check_dies_with_report(ASX_CLOCK_VIRTUAL, NULL);
    check_dies_with_report(ASX_CLOCK_REAL, NULL);
    check_dies_with_report(ASX_CLOCK_VIRTUAL, "by time");
    check_dies_with_report(ASX_CLOCK_REAL, "by time");
}

/* ---- what a forced task had been granted goes back ------------------------------------------ */

static asx_poll reserves(asx_cx *cx, void *state)
{
    asx_channel_sender *tx = state;
    asx_send_permit permit;
    asx_status st = asx_channel_reserve(cx, tx, &permit);
    CHECK_STATUS(st, ASX_E_WOULD_BLOCK);
    return ASX_POLL_PENDING;
}

static asx_status grant_goes_back(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_channel_info info;
    asx__task *task;
    int m = 1;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof m, 1, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_channel_try_send(cx, &tx, &m), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, reserves, &tx, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_channel_try_recv(cx, &rx,
                                      &m), ASX_OK); /* the slot is granted to the poll task */
    CHECK_STATUS(asx_channel_sender_info(&tx, &info), ASX_OK);
    CHECK_EQ(info.reserved, 1);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx__task_resolve(&t, &task), ASX_OK);
    asx__task_force(asx_cx_runtime(cx), task); /* before it has run again */
    CHECK_STATUS(asx_channel_sender_info(&tx, &info), ASX_OK);
    CHECK_EQ(info.reserved, 0);
    CHECK_STATUS(asx_channel_try_send(cx, &tx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_try_recv(cx, &rx, &m), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_grant_of_a_task_completed_by_force_goes_to_the_next)
{
    asx_test_one_worker("looks inside through a handle");
    kit_everywhere(grant_goes_back, NULL, ASX_OK);
}

/* ---- how much was used ---------------------------------------------------------------------- */

static uint64_t forced_used;

static void note_forced(void *ctx, const asx_event *event)
{
    (void)ctx;
    if (event->kind == ASX_EVENT_TASK_FORCED)
        forced_used = event->b;
}

/* `*arg` resumptions after the request, then parked for ever under a mask. */
static asx_status few_then_none(asx_cx *cx, void *arg)
{
    asx_waker waker;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    while (!asx_is_cancelled(cx))
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(kit_yields(cx, *(unsigned *)arg - 1), ASX_OK);
    CHECK_STATUS(asx_wait_external(cx), ASX_E_CANCELLED);
    while (asx_wait_external(cx) == ASX_E_CANCELLED)
        continue;
    return ASX_OK;
}

static asx_status ends_it(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_close_report report;
    asx_region_options options = { .cleanup_time_ns = 10 * ASX_MS };
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, few_then_none, arg, NULL, &t), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_OK);
    CHECK_EQ(report.items[0].count, *(unsigned *)arg + GRACE);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_forced_task_is_told_of_with_the_resumptions_it_used)
{
    for (unsigned used = 1; used < 5; used++) {
        asx_runtime *rt;
        asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
        config.trace = true;
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_observe(rt, note_forced, NULL), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, ends_it, &used), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
        CHECK_EQ(forced_used, used + GRACE);
    }
}
