/* Tasks: both vehicles, their values, arguments and ends; links. */
#include "support_kit.h"

#include <string.h>

static asx_status sets_value(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_task_set_value(cx, 7), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK); /* the value survives a wait ... */
    CHECK_STATUS(asx_task_set_value(cx, *(uint64_t *)arg), ASX_OK); /* ... and the last counts */
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    return ASX_OK;
}

static asx_poll sets_value_poll(asx_cx *cx, void *state)
{
    uint64_t *n = state;
    CHECK_STATUS(asx_task_set_value(cx, *n), ASX_OK);
    return --*n == 40 ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static asx_status values(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task f, p, none;
    asx_join_result result;
    uint64_t n = 42, m = 44;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, sets_value, &n, NULL, &f), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&r, sets_value_poll, &m, NULL, &p), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL, NULL, &none), ASX_OK);
    CHECK_STATUS(asx_join(cx, &f, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_OK);
    CHECK_EQ(result.value, 42);
    CHECK_STATUS(asx_join(cx, &p, &result), ASX_OK);
    CHECK_EQ(result.value, 41);
    CHECK_STATUS(asx_join(cx, &none, &result), ASX_OK);
    CHECK_EQ(result.value, 0);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_join_gives_the_last_value_that_was_set)
{
    kit_everywhere(values, NULL, ASX_OK);
}

static asx_status value_and_status(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_task_set_pointer(cx, arg), ASX_OK);
    return ASX_E_FULL;
}

static asx_status value_and_panic(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_task_set_pointer(cx, arg), ASX_OK);
    asx_panic(cx, "value lost");
}

static asx_status value_and_cancel(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_task_set_pointer(cx, arg), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 3600 * ASX_SEC), ASX_E_CANCELLED);
    return ASX_OK;
}

static asx_status values_by_outcome(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task e, p, c;
    asx_join_result result;
    int here;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, value_and_status, &here, NULL, &e), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, value_and_panic, &here, NULL, &p), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, value_and_cancel, &here, NULL, &c), ASX_OK);
    CHECK_STATUS(asx_join(cx, &e, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_ERR);
    CHECK_STATUS(result.outcome.status, ASX_E_FULL);
    CHECK_EQ(result.value, (uint64_t)(uintptr_t)&here);
    CHECK_STATUS(asx_join(cx, &p, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_PANICKED);
    CHECK_STATUS(result.outcome.status, ASX_E_PANICKED);
    CHECK_EQ(result.value, 0);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&c, NULL), ASX_OK);
    CHECK_STATUS(asx_join(cx, &c, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_CANCELLED); /* it had acknowledged */
    CHECK_STATUS(result.outcome.status, ASX_E_CANCELLED);
    CHECK_EQ(result.value, 0);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_PANICKED);
    return ASX_OK;
}

ASX_TEST(a_value_is_given_for_ok_and_err_only)
{
    kit_everywhere(values_by_outcome, NULL, ASX_OK);
}

ASX_TASK_TYPE(ratio, double)

static asx_status half(asx_cx *cx, void *arg)
{
    return ratio_return(cx, *(double *)arg / 2);
}

static asx_status typed(asx_cx *cx, void *arg)
{
    asx_region r;
    ratio_task t;
    double in = 5, out = 0;
    asx_close_report report;
    asx_outcome outcome;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    /* on one line, for the line is what is compared */
    const char *here = ASX_SITE; asx_status st = ASX_SPAWN_TYPED(ratio, &r, "half", half, &in, &t);
    CHECK_STATUS(st, ASX_OK);
    CHECK_STATUS(asx_region_report(&r, &report), ASX_OK);
    CHECK_STR_EQ(report.items[1].site, here); /* of the spawn, not of the type */
    asx_close_report_deinit(&report);
    CHECK_STATUS(ratio_join(cx, &t, &out, &outcome), ASX_OK);
    CHECK(out > 2.4 && out < 2.6);
    CHECK_EQ(outcome.kind, ASX_OUTCOME_OK);
    CHECK_STATUS(ratio_join(cx, &t, &out, NULL), ASX_E_STALE_HANDLE);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_typed_task_returns_its_type)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(typed, NULL, ASX_OK);
}

/* ---- arguments ------------------------------------------------------------------------------ */

typedef struct packet {
    char text[300];
    int number;
} packet;

static asx_status reads_copy(asx_cx *cx, void *arg)
{
    packet *p = arg;
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_EQ((uintptr_t)p % _Alignof(max_align_t), 0);
    say("%s%d", p->text, p->number++);
    return ASX_OK;
}

static asx_poll reads_copy_poll(asx_cx *cx, void *arg)
{
    packet *p = arg;
    (void)cx;
    say("%s%d", p->text, p->number++);
    return p->number < 8 ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status copies(asx_cx *cx, void *arg)
{
    asx_region r;
    packet p = { "copy", 1 };
    asx_spawn_options options = { .name = "opt", .copy = &p, .copy_size = sizeof p };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_copy(&r, "c", reads_copy, &p, sizeof p), ASX_OK);
    p.number = 2;
    CHECK_STATUS(asx_spawn_copy(&r, "c", reads_copy, &p, sizeof p), ASX_OK);
    p.number = 3;
    CHECK_STATUS(asx_spawn_task(&r, reads_copy, &r, &options, NULL), ASX_OK);
    p.number = 7;
    CHECK_STATUS(asx_spawn_poll_task(&r, reads_copy_poll, &r, &options, NULL), ASX_OK);
    memset(&p, '#', sizeof p);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STR_EQ(said(), "copy7 copy1 copy2 copy3");
    return ASX_OK;
}

ASX_TEST(a_copied_argument_is_the_tasks_own)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(copies, NULL, ASX_OK);
}

static asx_status bad_copies(asx_cx *cx, void *arg)
{
    asx_spawn_options options[] = { { .copy_size = 4 }, { .copy = "x" } };
    (void)arg;
    for (size_t i = 0; i < 2; i++) {
        asx_region r;
        asx_task t;
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL, &options[i], &t),
                     ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_INVALID_ARGUMENT);
    }
    return ASX_OK;
}

ASX_TEST(a_copy_without_size_or_source_is_refused)
{
    kit_everywhere(bad_copies, NULL, ASX_OK);
}

/* ---- stacks --------------------------------------------------------------------------------- */

static __attribute__((noinline)) unsigned deep(unsigned n)
{
    volatile char frame[1024];
    frame[0] = (char)n;
    frame[1023] = (char)(n + 1);
    return n == 0 ? (unsigned)frame[0] : deep(n - 1) + (unsigned)frame[1023] % 2;
}

static asx_status uses_stack(asx_cx *cx, void *arg)
{
    (void)deep((unsigned)(uintptr_t)arg);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    (void)deep((unsigned)(uintptr_t)arg);
    return ASX_OK;
}

static asx_status stack_sizes(asx_cx *cx, void *arg)
{
    static const size_t sizes[] = { 1, 4096, 20000, 65536, 300000, (size_t)8 << 20 };
    (void)arg;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        asx_region r;
        asx_spawn_options options = { .stack_size = sizes[i] };
        uintptr_t kib = sizes[i] >= 65536 ? sizes[i] / 1024 / 4 : 0;
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, kib ? uses_stack : kit_returns, kib ? (void *)kib : NULL,
                                    &options, NULL), ASX_OK);
        CHECK_STATUS(asx_spawn(&r, "default", uses_stack, (void *)8), ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    }
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL,
                                &(asx_spawn_options){ .stack_size = SIZE_MAX },
                                NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_INVALID_ARGUMENT);
    return ASX_OK;
}

ASX_TEST(a_fiber_gets_at_least_the_stack_it_asked_for)
{
    kit_everywhere(stack_sizes, NULL, ASX_OK);
}

/* ---- ends ----------------------------------------------------------------------------------- */

static asx_status returns_cancelled(asx_cx *cx, void *arg)
{
    (void)arg;
    while (!asx_is_cancelled(cx)) {
        asx_waker waker;
        CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK); /* so that nothing acknowledges for us */
        CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    }
    return ASX_E_CANCELLED;
}

static asx_status ends_ok(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    while (!asx_is_cancelled(cx))
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    return ASX_OK;
}

static asx_status told_then_ok(asx_cx *cx, void *arg)
{
    while (asx_checkpoint(cx) == ASX_OK)
        (void)asx_yield(cx);
    return (asx_status)(intptr_t)arg;
}

static asx_status how_they_end(asx_cx *cx, void *arg)
{
    static const struct {
        asx_task_fn fn;
        asx_status given;
        asx_outcome_kind kind;
        asx_status status;
    } cases[] = {
        { returns_cancelled, ASX_OK, ASX_OUTCOME_ERR, ASX_E_CANCELLED },
        { ends_ok, ASX_OK, ASX_OUTCOME_OK, ASX_OK },
        { told_then_ok, ASX_OK, ASX_OUTCOME_CANCELLED, ASX_E_CANCELLED },
        { told_then_ok, ASX_E_FULL, ASX_OUTCOME_CANCELLED, ASX_E_CANCELLED },
    };
    (void)arg;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asx_region r;
        asx_task t;
        asx_join_result result;
        CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                     ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, cases[i].fn, (void *)(intptr_t)cases[i].given, NULL, &t),
                     ASX_OK);
        CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
        CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
        CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
        CHECK_EQ(result.outcome.kind, cases[i].kind);
        CHECK_STATUS(result.outcome.status, cases[i].status);
        ASX_IGNORE(asx_region_close(&r, ASX_OK));
    }
    return ASX_OK;
}

ASX_TEST(an_acknowledged_cancel_decides_the_outcome_an_unacknowledged_one_does_not)
{
    kit_everywhere(how_they_end, NULL, ASX_OK);
}

/* ---- states --------------------------------------------------------------------------------- */

static asx_status task_states(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t, self;
    asx_task_state s;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_waiter, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_task_get_state(&t, &s), ASX_OK);
    CHECK_EQ(s, ASX_TASK_CREATED);
    CHECK_STATUS(asx_task_probe(&t, ASX_TASK_CANCELLING), ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_get_state(&t, &s), ASX_OK);
    CHECK_EQ(s, ASX_TASK_RUNNING);
    CHECK_STATUS(asx_task_probe(&t, ASX_TASK_CREATED), ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_task_probe(&t, ASX_TASK_RUNNING), ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_task_probe(&t, ASX_TASK_CANCEL_REQUESTED), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_task_get_state(&t, &s), ASX_OK);
    CHECK_EQ(s, ASX_TASK_CANCEL_REQUESTED);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_get_state(&t, &s), ASX_OK);
    CHECK_EQ(s, ASX_TASK_COMPLETED);
    for (int to = 0; to < ASX_TASK_STATE_COUNT; to++)
        CHECK_STATUS(asx_task_probe(&t, (asx_task_state)to), ASX_E_INVALID_TRANSITION);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK); /* and nothing changes */
    CHECK_STATUS(asx_cx_task(cx, &self), ASX_OK);
    CHECK(asx_handle_same(self.id, asx_cx_task_id(cx)));
    CHECK_STATUS(asx_task_get_state(&self, &s), ASX_OK);
    CHECK_EQ(s, ASX_TASK_RUNNING);
    asx_task narrow = t;
    narrow.id = asx_handle_narrow(t.id, ASX_STATE_BIT(ASX_TASK_RUNNING));
    CHECK_STATUS(asx_task_get_state(&narrow, &s), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_STATUS(asx_task_get_state(&t, &s), ASX_E_STALE_HANDLE);
    return ASX_OK;
}

ASX_TEST(a_task_shows_its_state_and_completed_is_final)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(task_states, NULL, ASX_OK);
}

/* ---- links ---------------------------------------------------------------------------------- */

static asx_status ends_with(asx_cx *cx, void *arg)
{
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    if ((asx_status)(intptr_t)arg == ASX_E_PANICKED)
        asx_panic(cx, "linked");
    return (asx_status)(intptr_t)arg;
}

static asx_status links(asx_cx *cx, void *arg)
{
    static const asx_status ends[] = { ASX_OK, ASX_E_FULL, ASX_E_PANICKED };
    (void)arg;
    for (unsigned i = 0; i < 6; i++) {
        asx_region r, q;
        asx_task a, b;
        asx_cancel_witness w;
        asx_status end = ends[i / 2];
        CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                     ASX_OK);
        CHECK_STATUS(asx_region_open(cx, NULL, &q), ASX_OK); /* links cross regions */
        CHECK_STATUS(asx_spawn_task(&r, ends_with, (void *)(intptr_t)end, NULL, &a), ASX_OK);
        CHECK_STATUS(asx_spawn_task(&q, kit_waiter, NULL, NULL, &b), ASX_OK);
        CHECK_STATUS(i & 1 ? asx_task_link(&a, &b) : asx_task_link(&b, &a), ASX_OK);
        CHECK_STATUS(asx_task_link(&a, &a), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(kit_yields(cx, 6), ASX_OK);
        CHECK_STATUS(asx_task_get_witness(&b, &w), end == ASX_OK ? ASX_E_NOT_FOUND : ASX_OK);
        if (end != ASX_OK) {
            CHECK_EQ(w.reason.kind, ASX_CANCEL_LINKED_EXIT);
            CHECK(asx_handle_same(w.reason.origin_task, a.id));
        }
        CHECK_STATUS(asx_region_close(&q, end == ASX_OK ? ASX_E_EMPTY : ASX_OK),
                     end == ASX_OK ? ASX_E_EMPTY : ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), end);
    }
    CHECK_STR_EQ(said(), "told told told told told told");
    return ASX_OK;
}

ASX_TEST(a_failing_end_cancels_the_linked_task_in_both_directions)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(links, NULL, ASX_OK);
}

static asx_status links_late(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task failed, fine, w;
    asx_cancel_witness witness;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_returns, (void *)(intptr_t)ASX_E_FULL, NULL, &failed),
                 ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL, NULL, &fine), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_waiter, NULL, NULL, &w), ASX_OK);
    CHECK_STATUS(asx_task_link(&w, &fine), ASX_OK);
    CHECK_STATUS(asx_task_link(&w, &fine), ASX_OK); /* twice does no harm */
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&w, &witness), ASX_E_NOT_FOUND);
    CHECK_STATUS(asx_task_link(&w, &fine), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&w, &witness), ASX_E_NOT_FOUND);
    CHECK_STATUS(asx_task_link(&failed, &w), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&w, &witness), ASX_OK);
    CHECK_EQ(witness.reason.kind, ASX_CANCEL_LINKED_EXIT);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_FULL);
    return ASX_OK;
}

ASX_TEST(a_link_to_a_task_that_has_failed_cancels_at_once)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(links_late, NULL, ASX_OK);
}
