/* test_misuse_cx.c - every call that takes a context, given one that it may not have.
 *
 * Each call is right but for its context, which is none, empty, of a task that does not run, of
 * another runtime, used outside of any task, or narrowed.
 */
#include "support_api.h"

#include <string.h>

/* What the calls need besides a context; all of it alive. */
static struct fixture {
    asx_runtime *rt;
    asx_region region;
    asx_task task; /* waits */
    asx_channel_sender sender;
    asx_channel_receiver receiver;
    asx_cx parked; /* of `task` */
} fx;

static uint64_t message = 7;
static unsigned called;

static asx_status count_call(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    called++;
    return ASX_OK;
}

static asx_status do_budget(asx_cx *cx)
{
    asx_budget budget;
    return asx_cx_budget(cx, &budget);
}

static asx_status do_cancel_reason(asx_cx *cx)
{
    const asx_cancel_reason *reason;
    asx_status st = asx_cx_cancel_reason(cx, &reason);
    return st == ASX_E_NOT_FOUND ? ASX_OK : st;
}

static asx_status do_mask(asx_cx *cx)
{
    asx_status st = asx_mask_begin(cx, 3);
    asx_status end = asx_mask_end(cx);
    return st < 0 ? st : end;
}

static asx_status do_mask_end(asx_cx *cx)
{
    asx_status st = asx_mask_end(cx);
    return st == ASX_E_MASK_DEPTH ? ASX_OK : st; /* there is none to end */
}

static asx_status do_with_mask(asx_cx *cx)
{
    return asx_with_cancel_mask(cx, count_call, NULL);
}

static asx_status do_commit(asx_cx *cx)
{
    return asx_commit_section(cx, 3, count_call, NULL);
}

static asx_status do_bracket(asx_cx *cx)
{
    return asx_bracket(cx, count_call, count_call, count_call, NULL);
}

static asx_status do_defer(asx_cx *cx)
{
    return asx_task_defer(cx, count_call, NULL);
}

static asx_status do_cost(asx_cx *cx)
{
    return asx_consume_cost(cx, 1);
}

static asx_status do_sleep(asx_cx *cx)
{
    return asx_sleep(cx, 1);
}

static asx_status do_sleep_until(asx_cx *cx)
{
    return asx_sleep_until(cx, 1);
}

static asx_status do_waker(asx_cx *cx)
{
    asx_waker waker;
    asx_status st = asx_cx_waker(cx, &waker);
    if (st == ASX_OK)
        waker.wake(waker.arg);
    return st;
}

static asx_status do_wait(asx_cx *cx)
{
    (void)do_waker(cx); /* so that the wait ends where it is allowed */
    return asx_wait_external(cx);
}

static asx_status do_trace(asx_cx *cx)
{
    return asx_trace_user(cx, 1, 2);
}

static asx_status do_open(asx_cx *cx)
{
    asx_region region;
    asx_status st = asx_region_open(cx, NULL, &region);
    asx_status end = asx_region_close(&region, ASX_OK);
    if (st < 0)
        CHECK_STATUS(end, st); /* what never opened says why */
    return st < 0 ? st : end;
}

static asx_status do_open_in(asx_cx *cx)
{
    asx_region region;
    asx_status st = asx_region_open_in(cx, &fx.region, NULL, &region);
    asx_status end = asx_region_close(&region, ASX_OK);
    return st < 0 ? st : end;
}

static asx_status do_region(asx_cx *cx)
{
    asx_region region;
    return asx_cx_region(cx, &region);
}

static asx_status do_task(asx_cx *cx)
{
    asx_task task;
    return asx_cx_task(cx, &task);
}

static asx_status do_value(asx_cx *cx)
{
    return asx_task_set_value(cx, 1);
}

static asx_status do_pointer(asx_cx *cx)
{
    return asx_task_set_pointer(cx, NULL);
}

static asx_status do_join(asx_cx *cx)
{
    asx_task child;
    asx_region region;
    asx_status st = asx_cx_region(cx, &region);
    if (st == ASX_OK)
        st = asx_spawn_task(&region, api_returns_ok, NULL, NULL, &child);
    return asx_join(cx, st == ASX_OK ? &child : &fx.task, NULL);
}

static const asx_branch branch = { "branch", api_returns_ok, NULL };

static asx_status do_join_all(asx_cx *cx)
{
    return asx_join_all(cx, &branch, 1, NULL, NULL, NULL);
}

static asx_status do_race(asx_cx *cx)
{
    return asx_race_all(cx, &branch, 1, NULL, NULL, NULL);
}

static asx_status do_timeout(asx_cx *cx)
{
    return asx_timeout(cx, &(asx_branch){ "timeout", api_returns_ok, NULL }, 1000, NULL, NULL);
}

static asx_status do_reserve(asx_cx *cx)
{
    asx_send_permit permit;
    asx_status st = asx_channel_reserve(cx, &fx.sender, &permit);
    return st < 0 ? st : asx_send_permit_abort(&permit);
}

static asx_status do_try_reserve(asx_cx *cx)
{
    asx_send_permit permit;
    asx_status st = asx_channel_try_reserve(cx, &fx.sender, &permit);
    return st < 0 ? st : asx_send_permit_abort(&permit);
}

static asx_status do_tracked(asx_cx *cx)
{
    asx_tracked_permit permit;
    asx_aborted_proof proof;
    asx_status st = asx_channel_reserve_tracked(cx, &fx.sender, &permit);
    return st < 0 ? st : asx_tracked_permit_abort(&permit, &proof);
}

static asx_status take_back(asx_cx *cx, asx_status st)
{
    uint64_t got = 0;
    if (st < 0)
        return st;
    CHECK_STATUS(asx_channel_try_recv(cx, &fx.receiver, &got), ASX_OK);
    CHECK_EQ(got, message);
    return ASX_OK;
}

static asx_status do_send(asx_cx *cx)
{
    return take_back(cx, asx_channel_send(cx, &fx.sender, &message));
}

static asx_status do_try_send(asx_cx *cx)
{
    return take_back(cx, asx_channel_try_send(cx, &fx.sender, &message));
}

static asx_status do_evict(asx_cx *cx)
{
    bool did;
    return take_back(cx, asx_channel_send_evict_oldest(cx, &fx.sender, &message, NULL, &did));
}

static asx_status do_recv(asx_cx *cx)
{
    uint64_t got;
    ASX_IGNORE(asx_channel_try_send(cx, &fx.sender, &message)); /* something to take at once */
    return asx_channel_recv(cx, &fx.receiver, &got);
}

static asx_status do_try_recv(asx_cx *cx)
{
    uint64_t got;
    ASX_IGNORE(asx_channel_try_send(cx, &fx.sender, &message));
    return asx_channel_try_recv(cx, &fx.receiver, &got);
}

static asx_status do_recv_ack(asx_cx *cx)
{
    uint64_t got;
    asx_ack ack;
    ASX_IGNORE(asx_channel_try_send(cx, &fx.sender, &message));
    asx_status st = asx_channel_recv_with_ack(cx, &fx.receiver, &got, &ack);
    return st < 0 ? st : asx_ack_commit(&ack);
}

enum { FREE = 1, PARKS = 2 }; /* needs no capability; may have to wait */

static const struct call {
    const char *name;
    asx_status (*fn)(asx_cx *cx);
    unsigned flags;
} calls[] = {
    { "cx_budget", do_budget, FREE },
    { "checkpoint", asx_checkpoint, FREE },
    { "cx_cancel_reason", do_cancel_reason, FREE },
    { "mask_begin", do_mask, FREE },
    { "mask_end", do_mask_end, FREE },
    { "with_cancel_mask", do_with_mask, FREE },
    { "commit_section", do_commit, FREE },
    { "bracket", do_bracket, FREE },
    { "task_defer", do_defer, FREE },
    { "consume_cost", do_cost, FREE },
    { "yield", asx_yield, FREE | PARKS },
    { "sleep", do_sleep, PARKS },
    { "sleep_until", do_sleep_until, PARKS },
    { "cx_waker", do_waker, FREE },
    { "wait_external", do_wait, FREE },
    { "trace_user", do_trace, 0 },
    { "region_open", do_open, 0 },
    { "region_open_in", do_open_in, 0 },
    { "cx_region", do_region, FREE },
    { "cx_task", do_task, FREE },
    { "set_value", do_value, FREE },
    { "set_pointer", do_pointer, FREE },
    { "join", do_join, FREE | PARKS },
    { "join_all", do_join_all, PARKS },
    { "race", do_race, PARKS },
    { "timeout", do_timeout, PARKS },
    { "reserve", do_reserve, 0 },
    { "try_reserve", do_try_reserve, 0 },
    { "reserve_tracked", do_tracked, 0 },
    { "send", do_send, 0 },
    { "try_send", do_try_send, 0 },
    { "send_evict_oldest", do_evict, 0 },
    { "recv", do_recv, 0 },
    { "try_recv", do_try_recv, 0 },
    { "recv_with_ack", do_recv_ack, 0 },
};
enum { CALLS = sizeof calls / sizeof *calls };

static void check(const struct call *call, asx_cx *cx, asx_status expected)
{
    asx_stats before = api_stats(fx.rt);
    unsigned called_before = called;
    asx_status st = call->fn(cx);
    if (st != expected)
        asx_test_fail(__FILE__, __LINE__, "asx_%s gave %s, not %s", call->name,
                      asx_status_str(st), asx_status_str(expected));
    asx_stats after = api_stats(fx.rt);
    if (memcmp(&before, &after, sizeof before) != 0 || called != called_before)
        asx_test_fail(__FILE__, __LINE__, "asx_%s changed something", call->name);
}

static asx_status parked(asx_cx *cx, void *arg)
{
    (void)arg;
    fx.parked = *cx;
    return api_waits(cx, NULL);
}

static void set_up(asx_cx *cx)
{
    memset(&fx, 0, sizeof fx);
    fx.rt = asx_cx_runtime(cx);
    CHECK_STATUS(asx_region_open(cx, NULL, &fx.region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&fx.region, sizeof message, 4, NULL, &fx.sender, &fx.receiver),
                 ASX_OK);
    CHECK_STATUS(asx_spawn_task(&fx.region, parked, NULL, NULL, &fx.task), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    CHECK(fx.parked.rt_ == fx.rt);
}

static asx_status tear_down(asx_status body)
{
    CHECK_STATUS(asx_region_cancel(&fx.region, NULL), ASX_OK);
    asx_status st = asx_region_close(&fx.region, body);
    return st == ASX_E_CANCELLED ? ASX_OK : st;
}

/* All of them work with the right context; otherwise the rest would prove nothing. */
static asx_status right(asx_cx *cx, void *arg)
{
    (void)arg;
    set_up(cx);
    for (size_t i = 0; i < CALLS; i++) {
        asx_status st = calls[i].fn(cx);
        if (st != ASX_OK)
            asx_test_fail(__FILE__, __LINE__, "asx_%s gave %s", calls[i].name,
                          asx_status_str(st));
    }
    return tear_down(ASX_OK);
}

ASX_TEST(every_call_is_good_with_its_own_context)
{
    CHECK_STATUS(api_run(right, NULL), ASX_OK);
    CHECK_EQ(called, 1 + 1 + 3 + 1); /* mask, commit, bracket, defer */
}

static asx_status wrong(asx_cx *cx, void *arg)
{
    asx_cx empty;
    memset(&empty, 0, sizeof empty);
    set_up(cx);
    for (size_t i = 0; i < CALLS; i++) {
        check(&calls[i], NULL, ASX_E_INVALID_ARGUMENT);
        check(&calls[i], &empty, ASX_E_INVALID_ARGUMENT);
        check(&calls[i], &fx.parked, ASX_E_WRONG_CONTEXT);
        check(&calls[i], &((api_other *)arg)->cx, ASX_E_WRONG_CONTEXT);
    }
    return tear_down(ASX_OK);
}

ASX_TEST(no_context_or_another_tasks_is_refused)
{
    api_other other;
    api_other_init(&other);
    CHECK_STATUS(api_run(wrong, &other), ASX_OK);
    api_other_deinit(&other);
}

static asx_status narrowed(asx_cx *cx, void *arg)
{
    asx_cx narrow;
    (void)arg;
    set_up(cx);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_NONE, &narrow), ASX_OK);
    for (size_t i = 0; i < CALLS; i++)
        if (!(calls[i].flags & FREE))
            check(&calls[i], &narrow, ASX_E_CAPABILITY);
    CHECK_STATUS(asx_cx_narrow(&narrow, ASX_CAP_ALL, &narrow), ASX_OK);
    CHECK_EQ(asx_cx_caps(&narrow), 0u); /* never wider again */
    for (size_t i = 0; i < CALLS; i++)
        if (!(calls[i].flags & FREE))
            check(&calls[i], &narrow, ASX_E_CAPABILITY);
    return tear_down(ASX_OK);
}

ASX_TEST(a_narrowed_context_is_refused_what_it_lost)
{
    CHECK_STATUS(api_run(narrowed, NULL), ASX_OK);
}

static asx_status stays(asx_cx *cx, void *arg)
{
    *(asx_cx *)arg = *cx;
    set_up(cx);
    (void)asx_sleep_until(cx, ASX_TIME_NEVER);
    return tear_down(ASX_OK);
}

ASX_TEST(outside_of_any_task_nothing_is_done)
{
    asx_runtime_config config;
    asx_runtime *rt;
    asx_cx cx;
    asx_time next;
    memset(&config, 0, sizeof config);
    config.clock = ASX_CLOCK_VIRTUAL;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_start(rt, stays, &cx), ASX_OK);
    CHECK_STATUS(asx_runtime_advance(rt, 1), ASX_OK);
    CHECK_STATUS(asx_runtime_step(rt, 0, &next), ASX_E_WOULD_BLOCK);
    CHECK_STATUS(asx_runtime_advance(rt, 5), ASX_OK);
    CHECK_STATUS(asx_runtime_step(rt, 0, &next), ASX_E_WOULD_BLOCK);
    for (size_t i = 0; i < CALLS; i++)
        check(&calls[i], &cx, ASX_E_WRONG_CONTEXT);
    cx.task_ = NULL; /* made up: the context of nobody, while nobody runs */
    for (size_t i = 0; i < CALLS; i++)
        check(&calls[i], &cx, ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_runtime_shutdown(rt, 0, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static unsigned cleaned;

/* On the runtime's side nothing can wait; the rest gives a status of some kind. */
static asx_status cleanup_calls(asx_cx *cx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < CALLS; i++) {
        asx_status st = calls[i].fn(cx);
        if ((calls[i].flags & PARKS) && st != ASX_E_WRONG_CONTEXT)
            asx_test_fail(__FILE__, __LINE__, "asx_%s gave %s in cleanup", calls[i].name,
                          asx_status_str(st));
    }
    cleaned++;
    return ASX_OK;
}

static asx_status panics(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_task_defer(cx, cleanup_calls, arg), ASX_OK);
    asx_panic(cx, "so that the cleanup runs on the runtime's side");
}

static asx_status panic_main(asx_cx *cx, void *arg)
{
    asx_region region;
    (void)arg;
    set_up(cx);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_spawn(&region, "panics", panics, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_PANICKED);
    return tear_down(ASX_OK);
}

ASX_TEST(cleanup_on_the_runtimes_side_cannot_wait)
{
    CHECK_STATUS(api_run(panic_main, NULL), ASX_OK);
    CHECK_EQ(cleaned, 1);
}

static asx_status finalizer(asx_cx *cx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].fn != do_open_in) /* it names a region that is not open any more */
            (void)calls[i].fn(cx);
    cleaned++;
    return ASX_OK;
}

static asx_status finalizer_main(asx_cx *cx, void *arg)
{
    asx_region region;
    (void)arg;
    set_up(cx);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_defer(&region, finalizer, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    CHECK_EQ(cleaned, 1);
    return tear_down(ASX_OK);
}

ASX_TEST(a_finalizer_may_make_every_call)
{
    CHECK_STATUS(api_run(finalizer_main, NULL), ASX_OK);
}

/* Questions that give no status have an answer for no context. */
static asx_status identity(asx_cx *cx, void *arg)
{
    asx_cx empty;
    (void)arg;
    memset(&empty, 0, sizeof empty);
    set_up(cx);
    CHECK_EQ(asx_cx_caps(NULL), 0u);
    CHECK_EQ(asx_cx_task_id(NULL).generation, 0u);
    CHECK_EQ(asx_cx_region_id(NULL).generation, 0u);
    CHECK_EQ(asx_cx_task_id(&empty).generation, 0u);
    CHECK_EQ(asx_cx_region_id(&empty).generation, 0u);
    CHECK_EQ(asx_now(NULL), 0u);
    CHECK_EQ(asx_now(&empty), 0u);
    CHECK(!asx_is_cancelled(NULL));
    CHECK(!asx_is_cancelled(&empty));
    CHECK(asx_cx_runtime(NULL) == NULL);
    CHECK(asx_cx_runtime(&empty) == NULL);
    CHECK_EQ(asx_poll_fail(NULL, ASX_E_FULL), ASX_POLL_ERROR);
    CHECK_EQ(asx_poll_fail(&empty, ASX_E_FULL), ASX_POLL_ERROR);
    CHECK_EQ(asx_poll_fail(&fx.parked, ASX_E_FULL), ASX_POLL_ERROR);
    REFUSED(fx.rt, asx_cx_narrow(NULL, 0, &empty), ASX_E_INVALID_ARGUMENT);
    REFUSED(fx.rt, asx_cx_narrow(&empty, 0, &empty), ASX_E_INVALID_ARGUMENT);
    REFUSED(fx.rt, asx_cx_narrow(cx, 0, NULL), ASX_E_INVALID_ARGUMENT);
    return tear_down(ASX_OK);
}

ASX_TEST(questions_about_no_context_have_an_answer)
{
    CHECK_STATUS(api_run(identity, NULL), ASX_OK);
}

/* The context is right and something else is not. */
static asx_status arguments(asx_cx *cx, void *arg)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    const asx_branch empty = { "empty", NULL, NULL };
    (void)arg;
    set_up(cx);
    asx_runtime *rt = fx.rt;
    REFUSED(rt, asx_cx_budget(cx, NULL), bad);
    REFUSED(rt, asx_cx_cancel_reason(cx, NULL), bad);
    REFUSED(rt, asx_cx_region(cx, NULL), bad);
    REFUSED(rt, asx_cx_task(cx, NULL), bad);
    REFUSED(rt, asx_cx_waker(cx, NULL), bad);
    REFUSED(rt, asx_with_cancel_mask(cx, NULL, NULL), bad);
    REFUSED(rt, asx_commit_section(cx, 1, NULL, NULL), bad);
    REFUSED(rt, asx_commit_section(cx, 0, count_call, NULL), bad);
    REFUSED(rt, asx_bracket(cx, NULL, count_call, count_call, NULL), bad);
    REFUSED(rt, asx_bracket(cx, count_call, NULL, count_call, NULL), bad);
    REFUSED(rt, asx_bracket(cx, count_call, count_call, NULL, NULL), bad);
    REFUSED(rt, asx_task_defer(cx, NULL, NULL), bad);
    REFUSED(rt, asx_mask_end(cx), ASX_E_MASK_DEPTH);
    REFUSED(rt, asx_join_all(cx, NULL, 1, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_join_all(cx, &empty, 1, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_race_all(cx, NULL, 1, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_race_all(cx, &empty, 1, NULL, NULL, NULL), bad);
    REFUSED(rt, asx_timeout(cx, &(asx_branch){ "timeout", NULL, NULL }, 1, NULL, NULL), bad);
    REFUSED(rt, asx_region_open(cx, NULL, NULL), bad);
    REFUSED(rt, asx_join(cx, NULL, NULL), bad);
    CHECK_EQ(called, 0u);
    for (int i = 0; i < ASX_MASK_DEPTH_MAX; i++)
        CHECK_STATUS(asx_mask_begin(cx, UINT32_MAX), ASX_OK);
    REFUSED(rt, asx_mask_begin(cx, 1), ASX_E_MASK_DEPTH);
    for (int i = 0; i < ASX_MASK_DEPTH_MAX; i++)
        CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    return tear_down(ASX_OK);
}

ASX_TEST(wrong_arguments_are_refused_in_the_right_context_too)
{
    CHECK_STATUS(api_run(arguments, NULL), ASX_OK);
}

static void panic_with(void *cx)
{
    asx_panic(cx, "nobody is there to end");
}

ASX_TEST(a_panic_outside_of_a_task_ends_the_process)
{
    CHECK_DIES(panic_with, NULL);
}
