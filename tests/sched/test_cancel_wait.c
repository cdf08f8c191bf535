/* A cancel ends every kind of wait at once, on both vehicles, and takes nothing with it. */
#include "support_kit.h"

typedef struct place {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_region full;     /* no room for another task */
    asx_task other;      /* never ends by itself */
    asx_status status;   /* what the wait returned */
    unsigned resumed;    /* poll task: how often */
    bool masked;
    int message;
    asx_send_permit permit;
    asx_ack ack;
    asx_join_result result;
} place;

typedef asx_status (*wait_fn)(asx_cx *cx, place *p);

static asx_status wait_sleep(asx_cx *cx, place *p)
{
    (void)p;
    return asx_sleep(cx, 3600 * ASX_SEC);
}

static asx_status wait_for_ever(asx_cx *cx, place *p)
{
    (void)p;
    return asx_sleep_until(cx, ASX_TIME_NEVER);
}

static asx_status wait_recv(asx_cx *cx, place *p)
{
    return asx_channel_recv(cx, &p->rx, &p->message);
}

static asx_status wait_recv_ack(asx_cx *cx, place *p)
{
    return asx_channel_recv_with_ack(cx, &p->rx, &p->message, &p->ack);
}

static asx_status wait_reserve(asx_cx *cx, place *p)
{
    return asx_channel_reserve(cx, &p->tx, &p->permit);
}

static asx_status wait_send(asx_cx *cx, place *p)
{
    return asx_channel_send(cx, &p->tx, &p->message);
}

static asx_status wait_join(asx_cx *cx, place *p)
{
    return asx_join(cx, &p->other, &p->result);
}

static asx_status wait_admission(asx_cx *cx, place *p)
{
    (void)cx;
    return asx_spawn(&p->full, "late", kit_returns, NULL);
}

static asx_status wait_external(asx_cx *cx, place *p)
{
    asx_waker waker;
    (void)p;
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    return asx_wait_external(cx);
}

static const struct {
    wait_fn fn;
    bool full; /* the channel is full, else it is empty */
    const char *name;
} waits[] = {
    { wait_sleep, false, "sleep" },        { wait_for_ever, false, "sleep" },
    { wait_recv, false, "channel-recv" },  { wait_recv_ack, false, "channel-recv" },
    { wait_reserve, true, "channel-reserve" }, { wait_send, true, "channel-reserve" },
    { wait_join, false, "join" },          { wait_admission, false, "admission" },
    { wait_external, false, "external" },
};
enum { WAITS = sizeof waits / sizeof *waits };

static wait_fn chosen;

static asx_status fiber_waits(asx_cx *cx, void *arg)
{
    place *p = arg;
    if (p->masked)
        CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    p->status = chosen(cx, p);
    p->resumed++;
    if (p->masked)
        CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    return p->status;
}

static asx_poll poll_waits(asx_cx *cx, void *arg)
{
    place *p = arg;
    if (p->masked && p->resumed == 0)
        CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    p->resumed++;
    p->status = chosen(cx, p);
    if (p->status == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    return p->status < 0 ? asx_poll_fail(cx, p->status) : ASX_POLL_READY;
}

static void set_up(asx_cx *cx, place *p, asx_region *r, bool full)
{
    asx_region_options one = { .tasks_max = 1, .admission = ASX_ADMISSION_WAIT };
    int filler = 99;
    *p = (place){ .message = 1 };
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, r),
                 ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &one, &p->full), ASX_OK);
    CHECK_STATUS(asx_spawn(&p->full, "fills", kit_waiter, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_task(r, kit_waiter, NULL, NULL, &p->other), ASX_OK);
    CHECK_STATUS(asx_channel_create(r, sizeof(int), 1, NULL, &p->tx, &p->rx), ASX_OK);
    if (full)
        CHECK_STATUS(asx_channel_try_send(cx, &p->tx, &filler), ASX_OK);
}

static void tear_down(place *p, asx_region *r)
{
    CHECK_STATUS(asx_region_close(&p->full, ASX_E_EMPTY), ASX_E_EMPTY);
    (void)asx_task_cancel(&p->other, NULL); /* unless it was joined */
    CHECK_STATUS(asx_region_close(r, ASX_OK), ASX_OK);
}

static void check_waits_for(asx_region *r, const char *task, const char *what)
{
    asx_close_report report;
    bool found = false;
    CHECK_STATUS(asx_region_report(r, &report), ASX_OK);
    for (size_t i = 0; i < report.items_len; i++) {
        if (report.items[i].name[0] == task[0]) {
            CHECK_STR_EQ(report.items[i].waits_for, what);
            found = true;
        }
    }
    CHECK(found);
    asx_close_report_deinit(&report);
}

static void one_wait(asx_cx *cx, unsigned i, bool poll)
{
    place p;
    asx_region r;
    asx_task t;
    asx_task_state s;
    asx_join_result result;
    asx_channel_info info;
    set_up(cx, &p, &r, waits[i].full);
    chosen = waits[i].fn;
    asx_spawn_options options = { .name = "W" };
    if (poll)
        CHECK_STATUS(asx_spawn_poll_task(&r, poll_waits, &p, &options, &t), ASX_OK);
    else
        CHECK_STATUS(asx_spawn_task(&r, fiber_waits, &p, &options, &t), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    check_waits_for(&r, "W", waits[i].name);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_task_get_state(&t, &s), ASX_OK);
    CHECK_EQ(s, ASX_TASK_CANCEL_REQUESTED); /* requested; told when it runs */
    asx_stats stats = kit_stats(asx_cx_runtime(cx));
    CHECK_EQ(stats.cancel_len, 1);
    CHECK_EQ(stats.ready_len, 0);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_STATUS(p.status, ASX_E_CANCELLED);
    CHECK_EQ(p.resumed, poll ? 2 : 1);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_STATUS(asx_channel_receiver_info(&p.rx, &info), ASX_OK);
    CHECK_EQ(info.queued, waits[i].full);
    CHECK_EQ(info.reserved, 0);
    CHECK_EQ(info.send_waiters, 0);
    CHECK(!info.receiver_waits);
    CHECK_EQ(kit_stats(asx_cx_runtime(cx)).obligations_reserved, 0);
    CHECK_EQ(kit_stats(asx_cx_runtime(cx)).timers_live, stats.timers_live);
    tear_down(&p, &r);
}

static asx_status every_wait(asx_cx *cx, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < WAITS; i++) {
        one_wait(cx, i, false);
        one_wait(cx, i, true);
    }
    return ASX_OK;
}

ASX_TEST(a_cancel_ends_every_kind_of_wait_and_takes_nothing)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(every_wait, NULL, ASX_OK);
}

/* ---- masked: the wait goes on, and what it was for is delivered ----------------------------- */

static void grant(asx_cx *cx, place *p, unsigned i)
{
    int got, m = 5;
    if (waits[i].fn == wait_recv || waits[i].fn == wait_recv_ack)
        CHECK_STATUS(asx_channel_try_send(cx, &p->tx, &m), ASX_OK);
    else if (waits[i].full)
        CHECK_STATUS(asx_channel_try_recv(cx, &p->rx, &got), ASX_OK);
    else
        CHECK_STATUS(asx_task_cancel(&p->other, NULL), ASX_OK);
}

static void one_masked(asx_cx *cx, unsigned i, bool poll)
{
    place p;
    asx_region r;
    asx_task t;
    asx_join_result result;
    set_up(cx, &p, &r, waits[i].full);
    p.masked = true;
    chosen = waits[i].fn;
    if (poll)
        CHECK_STATUS(asx_spawn_poll_task(&r, poll_waits, &p, NULL, &t), ASX_OK);
    else
        CHECK_STATUS(asx_spawn_task(&r, fiber_waits, &p, NULL, &t), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    CHECK_EQ(p.resumed, poll ? 1 : 0); /* it still waits */
    grant(cx, &p, i);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_STATUS(p.status, ASX_OK);
    CHECK_EQ(p.resumed, poll ? 2 : 1);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_OK); /* nothing acknowledged */
    tear_down(&p, &r);
}

static asx_status every_masked_wait(asx_cx *cx, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < WAITS; i++) {
        if (waits[i].fn == wait_sleep || waits[i].fn == wait_for_ever ||
            waits[i].fn == wait_external || waits[i].fn == wait_admission)
            continue;
        one_masked(cx, i, false);
        one_masked(cx, i, true);
    }
    return ASX_OK;
}

ASX_TEST(a_masked_wait_goes_on_and_gets_what_it_waited_for)
{
    asx_test_one_worker("how often it was resumed when the cancel has come");
    kit_everywhere(every_masked_wait, NULL, ASX_OK);
}

/* ---- what was handed over before the cancel is not taken back ------------------------------- */

static asx_status handed_over(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int poll = 0; poll < 2; poll++) {
        place p;
        asx_region r;
        asx_task t;
        int m = 7;
        set_up(cx, &p, &r, false);
        chosen = wait_recv;
        if (poll)
            CHECK_STATUS(asx_spawn_poll_task(&r, poll_waits, &p, NULL, &t), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_task(&r, fiber_waits, &p, NULL, &t), ASX_OK);
        CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
        CHECK_STATUS(asx_channel_try_send(cx, &p.tx, &m), ASX_OK);
        CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK); /* it is runnable, with the message */
        CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
        asx_channel_info info;
        CHECK_STATUS(asx_channel_receiver_info(&p.rx, &info), ASX_OK);
        if (poll) { /* it had not picked it up: the message is still there */
            CHECK_STATUS(p.status, ASX_E_CANCELLED);
            CHECK_EQ(info.queued, 1);
        } else {
            CHECK_STATUS(p.status, ASX_OK);
            CHECK_EQ(p.message, 7);
            CHECK_EQ(info.queued, 0);
        }
        tear_down(&p, &r);
    }
    return ASX_OK;
}

ASX_TEST(a_cancel_after_the_delivery_loses_no_message)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(handed_over, NULL, ASX_OK);
}

/* ---- yield, and before the first run -------------------------------------------------------- */

static asx_status yields_for_ever(asx_cx *cx, void *arg)
{
    unsigned *count = arg;
    asx_status st;
    while ((st = asx_yield(cx)) == ASX_OK)
        ++*count;
    return st;
}

static asx_poll yields_for_ever_poll(asx_cx *cx, void *arg)
{
    unsigned *count = arg;
    asx_status st = asx_yield(cx);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    if (st == ASX_OK) {
        ++*count;
        CHECK_STATUS(asx_yield(cx), ASX_E_WOULD_BLOCK);
        return ASX_POLL_PENDING;
    }
    return asx_poll_fail(cx, st);
}

static asx_status in_a_yield(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int poll = 0; poll < 2; poll++) {
        asx_region r;
        asx_task t;
        asx_join_result result;
        unsigned count = 0, before;
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        if (poll)
            CHECK_STATUS(asx_spawn_poll_task(&r, yields_for_ever_poll, &count, NULL, &t), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_task(&r, yields_for_ever, &count, NULL, &t), ASX_OK);
        CHECK_STATUS(kit_yields(cx, 10), ASX_OK);
        CHECK_GE(count, 5u);
        before = count;
        CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
        CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
        CHECK_EQ(count, before); /* the resumption that follows the request tells it */
        CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(a_cancel_reaches_a_task_that_yields)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(in_a_yield, NULL, ASX_OK);
}

static asx_status releases(asx_cx *cx, void *arg)
{
    int *held = arg;
    CHECK(asx_is_cancelled(cx));
    CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
    --*held; /* what it was given is released */
    return ASX_OK;
}

static asx_poll releases_poll(asx_cx *cx, void *arg)
{
    return releases(cx, arg) == ASX_OK ? ASX_POLL_READY : ASX_POLL_ERROR;
}

static asx_status before_first_run(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task a, b;
    asx_join_result result;
    asx_task_state s;
    int held = 3;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, releases, &held, NULL, &a), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, releases_poll, &held, NULL, &b), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&a, NULL), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&b, NULL), ASX_OK);
    CHECK_STATUS(asx_task_get_state(&a, &s), ASX_OK);
    CHECK_EQ(s, ASX_TASK_CANCEL_REQUESTED);
    CHECK_STATUS(asx_join(cx, &a, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_STATUS(asx_join(cx, &b, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED);
    CHECK_STATUS(asx_spawn(&r, "c", releases, &held), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_E_EMPTY), ASX_E_EMPTY); /* likewise by its region */
    CHECK_EQ(held, 0);
    return ASX_OK;
}

ASX_TEST(a_task_cancelled_before_its_first_run_runs_once)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(before_first_run, NULL, ASX_OK);
}

/* ---- laws of the checkpoint ----------------------------------------------------------------- */

static asx_status checkpoints(asx_cx *cx, void *arg)
{
    const asx_cancel_reason *reason;
    asx_task self;
    asx_task_state s;
    (void)arg;
    CHECK_STATUS(asx_cx_task(cx, &self), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
    CHECK_STATUS(asx_cx_cancel_reason(cx, &reason), ASX_E_NOT_FOUND);
    CHECK_STATUS(asx_task_cancel(&self, NULL), ASX_OK); /* itself: no wait to end */
    CHECK(asx_is_cancelled(cx));
    CHECK_STATUS(asx_task_get_state(&self, &s), ASX_OK);
    CHECK_EQ(s, ASX_TASK_CANCEL_REQUESTED); /* asking does not acknowledge */
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(asx_checkpoint(cx), ASX_E_CANCELLED);
        CHECK_STATUS(asx_task_get_state(&self, &s), ASX_OK);
        CHECK_EQ(s, ASX_TASK_CANCELLING);
    }
    CHECK_STATUS(asx_cx_cancel_reason(cx, &reason), ASX_OK);
    CHECK_EQ(reason->kind, ASX_CANCEL_USER);
    return ASX_OK;
}

static asx_status checkpoint_law(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "c", checkpoints, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(checkpoints_are_idempotent_before_and_after_a_cancel)
{
    kit_everywhere(checkpoint_law, NULL, ASX_OK);
}
