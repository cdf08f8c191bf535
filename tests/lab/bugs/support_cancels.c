/* Bugs of runtimes and their users: cancellation, time-outs, shutdown. */
#include "support_bugs.h"

static bool bad;
static asx_channel_sender in_tx, out_tx;
static asx_channel_receiver in_rx, out_rx;
static asx_task worker_task, canceller_task;
static int handled, released, cleaned;

static void fresh(bool with_bug)
{
    bad = with_bug;
    handled = released = cleaned = 0;
}

#define GOOD(call) asx_lab_check(cx, (call) >= 0)

/* How many messages a channel still has. */
static int left_in(asx_channel_receiver *receiver)
{
    asx_channel_info info;
    return asx_channel_receiver_info(receiver, &info) >= 0 ? (int)info.queued : 0;
}

static asx_status canceller(asx_cx *cx, void *arg)
{
    (void)arg;
    GOOD(asx_task_cancel(&worker_task, NULL));
    return ASX_OK;
}

/* The worker, somebody who cancels it, and channels: in, with one message, and out, which is full
 * until somebody takes what is in it. */
static void open_worker(asx_cx *cx, asx_region *ret_region, asx_task_fn fn)
{
    int one = 1;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    GOOD(asx_region_open(cx, &options, ret_region));
    GOOD(asx_channel_create(ret_region, sizeof(int), 2, NULL, &in_tx, &in_rx));
    GOOD(asx_channel_create(ret_region, sizeof(int), 1, NULL, &out_tx, &out_rx));
    GOOD(asx_channel_send(cx, &in_tx, &one));
    GOOD(asx_spawn_task(ret_region, fn, NULL, &(asx_spawn_options){ .name = "worker" },
                        &worker_task));
    GOOD(asx_spawn_task(ret_region, canceller, NULL, &(asx_spawn_options){ .name = "canceller" },
                        &canceller_task));
}

/* The worker's handle is used until the canceller has ended. */
static void join_worker(asx_cx *cx, asx_join_result *ret_result)
{
    GOOD(asx_join(cx, &canceller_task, NULL));
    GOOD(asx_join(cx, &worker_task, ret_result));
}

static void close_worker(asx_cx *cx, asx_region *region)
{
    asx_status st = asx_region_close(region, ASX_OK);
    asx_lab_check(cx, st == ASX_OK || st == ASX_E_CANCELLED);
}

/* ---- a cancelled sender loses its message ---------------------------------------------------- */

/* Bad: takes a message and then waits for room. Good: has the room before it takes one. */
static asx_status relay(asx_cx *cx, void *arg)
{
    int message = 0;
    asx_send_permit permit;
    asx_status st;
    (void)arg;
    if (bad) {
        st = asx_channel_recv(cx, &in_rx, &message);
        return st < 0 ? st : asx_channel_send(cx, &out_tx, &message);
    }
    st = asx_channel_reserve(cx, &out_tx, &permit);
    if (st < 0)
        return st;
    st = asx_channel_recv(cx, &in_rx, &message);
    if (st < 0)
        (void)asx_send_permit_abort(&permit);
    else
        st = asx_send_permit_send(&permit, &message);
    return st;
}

static void relay_is_cancelled(asx_cx *cx)
{
    asx_region r;
    open_worker(cx, &r, relay);
    join_worker(cx, NULL);
    asx_lab_check(cx, left_in(&in_rx) + left_in(&out_rx) == 1);
    close_worker(cx, &r);
}

BUG(sender_loses_message, fresh, relay_is_cancelled(cx))

/* ---- a cancelled receiver swallowed one ------------------------------------------------------ */

static asx_status handle(asx_cx *cx, void *arg)
{
    int message;
    asx_ack ack;
    (void)arg;
    asx_status st = bad ? asx_channel_recv(cx, &in_rx, &message)
                        : asx_channel_recv_with_ack(cx, &in_rx, &message, &ack);
    if (st >= 0)
        st = asx_checkpoint(cx); /* the work, which can be cancelled */
    if (st < 0)
        return st; /* what is not acknowledged goes back */
    handled++;
    return bad ? ASX_OK : asx_ack_commit(&ack);
}

static void handler_is_cancelled(asx_cx *cx)
{
    asx_region r;
    open_worker(cx, &r, handle);
    join_worker(cx, NULL);
    asx_lab_check(cx, left_in(&in_rx) + handled == 1);
    close_worker(cx, &r);
}

BUG(receiver_swallows_message, fresh, handler_is_cancelled(cx))

/* ---- select drops the loser's value ---------------------------------------------------------- */

static int winner;
static asx_task takers[2];

/* The first to have a message wins and calls the other off; but that one may have a message too.
 * Bad: drops it. */
static asx_status take(asx_cx *cx, void *arg)
{
    int me = (int)(intptr_t)arg, message = 0;
    asx_status st = asx_channel_recv(cx, me == 0 ? &in_rx : &out_rx, &message);
    if (st < 0)
        return st;
    bool won = asx_lab_cas(cx, &winner, 0, me + 1);
    if (won || !bad)
        handled += message;
    if (won)
        (void)asx_task_cancel(&takers[1 - me], NULL);
    return ASX_OK;
}

static void select_one(asx_cx *cx)
{
    asx_region r;
    int one = 1;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    winner = 0;
    GOOD(asx_region_open(cx, &options, &r));
    GOOD(asx_channel_create(&r, sizeof(int), 1, NULL, &in_tx, &in_rx));
    GOOD(asx_channel_create(&r, sizeof(int), 1, NULL, &out_tx, &out_rx));
    GOOD(asx_channel_send(cx, &in_tx, &one));
    GOOD(asx_channel_send(cx, &out_tx, &one));
    for (intptr_t i = 0; i < 2; i++)
        GOOD(asx_spawn_task(&r, take, (void *)i, &(asx_spawn_options){ .name = "taker" },
                            &takers[i]));
    for (int i = 0; i < 2; i++)
        GOOD(asx_join(cx, &takers[i], NULL));
    asx_lab_check(cx, handled + left_in(&in_rx) + left_in(&out_rx) == 2);
    close_worker(cx, &r);
}

BUG(select_drops_value, fresh, select_one(cx))

/* ---- join of a task that is being cancelled -------------------------------------------------- */

static int acquired;

static asx_status acquire(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = asx_checkpoint(cx);
    if (st >= 0)
        acquired = 1; /* something that whoever joins must release */
    return st;
}

/* Bad: it was cancelled, so it has nothing. Good: looks at how it ended. */
static void join_cancelled(asx_cx *cx)
{
    asx_region r;
    asx_join_result result;
    acquired = 0;
    open_worker(cx, &r, acquire);
    join_worker(cx, &result);
    released = !bad && result.outcome.kind == ASX_OUTCOME_OK;
    asx_lab_check(cx, released == acquired);
    close_worker(cx, &r);
}

BUG(join_of_cancelled, fresh, join_cancelled(cx))

/* ---- a cleanup that runs twice --------------------------------------------------------------- */

static asx_status clean(asx_cx *cx, void *arg)
{
    (void)arg;
    cleaned++;
    asx_lab_check(cx, cleaned == 1);
    return ASX_OK;
}

static asx_status cleans_up(asx_cx *cx, void *arg)
{
    int message;
    (void)arg;
    GOOD(asx_task_defer(cx, clean, NULL));
    asx_status st = asx_channel_recv(cx, &in_rx, &message);
    if (st < 0 && bad)
        (void)clean(cx, NULL); /* and the deferred one comes too */
    return st;
}

static void cleaner_is_cancelled(asx_cx *cx)
{
    asx_region r;
    open_worker(cx, &r, cleans_up);
    join_worker(cx, NULL);
    asx_lab_check(cx, cleaned == 1);
    close_worker(cx, &r);
}

BUG(finalizer_twice, fresh, cleaner_is_cancelled(cx))

/* ---- a helper that is not told of the cancellation ------------------------------------------- */

static asx_status helper(asx_cx *cx, void *arg)
{
    int message;
    (void)arg;
    asx_status st = asx_channel_recv(cx, &out_rx, &message);
    asx_lab_check(cx, st == ASX_OK || st == ASX_E_DISCONNECTED);
    return ASX_OK;
}

static asx_status led(asx_cx *cx, void *arg)
{
    int message;
    (void)arg;
    asx_status st = asx_channel_recv(cx, &in_rx, &message);
    if (st >= 0)
        st = asx_channel_send(cx, &out_tx, &message);
    if (!bad)
        (void)asx_channel_sender_drop(&out_tx);
    return st;
}

static void helper_waits(asx_cx *cx)
{
    asx_region r;
    open_worker(cx, &r, led);
    GOOD(asx_spawn(&r, "helper", helper, NULL));
    close_worker(cx, &r);
}

BUG(helper_not_told, fresh, helper_waits(cx))

/* ---- a result that nobody drains after a time-out -------------------------------------------- */

static asx_status serve(asx_cx *cx, void *arg)
{
    int request;
    (void)arg;
    for (int i = 0; i < 2; i++) {
        GOOD(asx_channel_recv(cx, &in_rx, &request));
        GOOD(asx_channel_send(cx, &out_tx, &request));
    }
    return ASX_OK;
}

/* Time is up for a request: says so where its answer would come. */
static asx_status time_is_up(asx_cx *cx, void *arg)
{
    int marker = -(int)(intptr_t)arg;
    GOOD(asx_channel_send(cx, &out_tx, &marker));
    return ASX_OK;
}

/* Bad: takes the next answer for its own. Good: throws late answers to earlier requests away. */
static void calls(asx_cx *cx)
{
    asx_region r;
    GOOD(asx_region_open(cx, NULL, &r));
    GOOD(asx_channel_create(&r, sizeof(int), 4, NULL, &in_tx, &in_rx));
    GOOD(asx_channel_create(&r, sizeof(int), 4, NULL, &out_tx, &out_rx));
    GOOD(asx_spawn(&r, "server", serve, NULL));
    for (int request = 1; request <= 2; request++) {
        int answer = 0;
        GOOD(asx_channel_send(cx, &in_tx, &request));
        if (request == 1)
            GOOD(asx_spawn(&r, "timer", time_is_up, (void *)(intptr_t)request));
        do
            GOOD(asx_channel_recv(cx, &out_rx, &answer));
        while (!bad && answer != request && answer != -request);
        asx_lab_check(cx, answer == request || answer == -request);
    }
    GOOD(asx_region_close(&r, ASX_OK));
}

BUG(late_answer, fresh, calls(cx))

/* ---- a shutdown that waits on a task parked in sleep ----------------------------------------- */

static int stopping;

static asx_status ticker(asx_cx *cx, void *arg)
{
    (void)arg;
    while (!asx_lab_load(cx, &stopping)) {
        asx_status st = asx_sleep(cx, 3600 * ASX_SEC);
        if (st < 0)
            return st;
    }
    return ASX_OK;
}

static void stop_ticker(asx_cx *cx)
{
    asx_region r;
    stopping = 0;
    asx_time before = asx_now(cx);
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    GOOD(asx_region_open(cx, &options, &r));
    GOOD(asx_spawn_task(&r, ticker, NULL, &(asx_spawn_options){ .name = "ticker" }, &worker_task));
    asx_lab_store(cx, &stopping, 1);
    if (!bad)
        GOOD(asx_task_cancel(&worker_task, NULL));
    GOOD(asx_join(cx, &worker_task, NULL));
    asx_lab_check(cx, asx_now(cx) - before < ASX_SEC);
    close_worker(cx, &r);
}

BUG(shutdown_waits_for_sleep, fresh, stop_ticker(cx))
