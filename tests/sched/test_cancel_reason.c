/* Reasons, witnesses, strengthening, and how a cancellation spreads through a tree. */
#include "support_kit.h"

#include <stdlib.h>
#include <string.h>

static asx_status masked_waiter(asx_cx *cx, void *arg)
{
    asx_waker *waker = arg;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_cx_waker(cx, waker), ASX_OK);
    CHECK_STATUS(asx_wait_external(cx), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    return asx_checkpoint(cx);
}

/* ---- the witness ---------------------------------------------------------------------------- */

static asx_status witness(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_waker waker;
    asx_cancel_witness a, b, c;
    asx_cancel_reason reason = { .kind = ASX_CANCEL_TIMEOUT, .message = "enough" };
    asx_budget left;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, masked_waiter, &waker, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&t, &a), ASX_E_NOT_FOUND);
    CHECK_STATUS(asx_task_get_cleanup(&t, &left), ASX_E_NOT_FOUND);
    asx_time now = asx_now(cx);
    CHECK_STATUS(asx_task_cancel(&t, &reason), ASX_OK);
    memset((char *)&reason, '#', sizeof reason); /* it was copied */
    CHECK_STATUS(asx_task_get_witness(&t, &a), ASX_OK);
    CHECK(asx_handle_same(a.task, t.id));
    CHECK(asx_handle_same(a.region, r.id));
    CHECK_EQ(a.epoch, 1);
    CHECK_EQ(a.phase, ASX_CANCEL_REQUESTED);
    CHECK(!a.cleanup_budget_exceeded);
    CHECK_EQ(a.reason.kind, ASX_CANCEL_TIMEOUT);
    CHECK_STR_EQ(a.reason.message, "enough");
    CHECK_GE(a.reason.timestamp, now);
    CHECK_PTR_EQ(a.reason.cause, NULL);
    CHECK(asx_handle_same(a.reason.origin_region, asx_cx_region_id(cx)));
    asx_cancel_reason stronger = { .kind = ASX_CANCEL_SHUTDOWN };
    CHECK_STATUS(asx_task_cancel(&t, &stronger), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&t, &b), ASX_OK);
    CHECK_STATUS(asx_cancel_witness_check(&a, &b), ASX_OK);
    CHECK_STATUS(asx_cancel_witness_check(&b, &a), ASX_E_WITNESS_REASON_WEAKENED);
    waker.wake(waker.arg);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&t, &c), ASX_OK); /* until it is joined */
    CHECK_EQ(c.phase, ASX_CANCEL_COMPLETED);
    CHECK_STATUS(asx_cancel_witness_check(&b, &c), ASX_OK);
    CHECK_STATUS(asx_cancel_witness_check(&c, &b), ASX_E_WITNESS_PHASE_REGRESSION);
    CHECK_STATUS(asx_join(cx, &t, NULL), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&t, &c), ASX_E_STALE_HANDLE);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_witness_shows_task_region_epoch_phase_and_reason)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(witness, NULL, ASX_OK);
}

static asx_status natural_end(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_cancel_witness w;
    asx_join_result result;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_returns, NULL, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&t, &w), ASX_OK); /* it was requested, and never seen */
    CHECK_EQ(w.phase, ASX_CANCEL_COMPLETED);
    CHECK(!w.cleanup_budget_exceeded);
    CHECK_STATUS(asx_join(cx, &t, &result), ASX_OK);
    CHECK_EQ(result.outcome.kind, ASX_OUTCOME_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_natural_end_keeps_its_outcome_and_its_witness)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(natural_end, NULL, ASX_OK);
}

/* ---- strengthening -------------------------------------------------------------------------- */

static asx_status every_pair(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int first = 0; first < ASX_CANCEL_KIND_COUNT; first++) {
        for (int second = 0; second < ASX_CANCEL_KIND_COUNT; second++) {
            asx_region r;
            asx_task t;
            asx_waker waker;
            asx_cancel_witness w;
            asx_budget left;
            asx_cancel_reason a = { .kind = (asx_cancel_kind)first, .timestamp = 5 };
            asx_cancel_reason b = { .kind = (asx_cancel_kind)second, .timestamp = 9 };
            CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
            CHECK_STATUS(asx_spawn_task(&r, masked_waiter, &waker, NULL, &t), ASX_OK);
            CHECK_STATUS(asx_yield(cx), ASX_OK);
            CHECK_STATUS(asx_task_cancel(&t, &a), ASX_OK);
            CHECK_STATUS(asx_task_cancel(&t, &b), ASX_OK);
            CHECK_STATUS(asx_task_get_witness(&t, &w), ASX_OK);
            CHECK_EQ(w.reason.kind, asx_cancel_reason_stronger(&b, &a) ? b.kind : a.kind);
            CHECK_EQ(w.epoch, 1);
            asx_budget met = asx_budget_meet(asx_cancel_cleanup_budget(a.kind),
                                             asx_cancel_cleanup_budget(b.kind));
            CHECK_STATUS(asx_task_get_cleanup(&t, &left), ASX_OK);
            CHECK_EQ(left.poll_quota, met.poll_quota);
            CHECK_EQ(left.priority, met.priority);
            waker.wake(waker.arg);
            CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
        }
    }
    return ASX_OK;
}

ASX_TEST(a_second_request_strengthens_for_every_pair_of_kinds)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(every_pair, NULL, ASX_OK);
}

/* At equal severity: the earlier one, then the smaller message, none before any. */
static asx_status ties(asx_cx *cx, void *arg)
{
    static const struct {
        asx_time at[2];
        const char *message[2];
        int wins;
    } cases[] = {
        { { 5, 4 }, { NULL, NULL }, 1 }, { { 4, 5 }, { NULL, NULL }, 0 },
        { { 4, 4 }, { "b", "a" }, 1 },   { { 4, 4 }, { "a", "b" }, 0 },
        { { 4, 4 }, { "a", NULL }, 1 },  { { 4, 4 }, { NULL, "a" }, 0 },
    };
    (void)arg;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asx_region r;
        asx_task t;
        asx_waker waker;
        asx_cancel_witness w;
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, masked_waiter, &waker, NULL, &t), ASX_OK);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        for (int k = 0; k < 2; k++) {
            asx_cancel_reason reason = { .kind = k ? ASX_CANCEL_DEADLINE : ASX_CANCEL_TIMEOUT,
                                         .timestamp = cases[i].at[k],
                                         .message = cases[i].message[k] };
            CHECK_STATUS(asx_task_cancel(&t, &reason), ASX_OK);
        }
        CHECK_STATUS(asx_task_get_witness(&t, &w), ASX_OK);
        CHECK_EQ(w.reason.kind, cases[i].wins ? ASX_CANCEL_DEADLINE : ASX_CANCEL_TIMEOUT);
        waker.wake(waker.arg);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(equally_severe_reasons_are_ordered_by_time_and_message)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(ties, NULL, ASX_OK);
}

/* ---- a user's chain of causes --------------------------------------------------------------- */

static const asx_cancel_reason *chain_of(asx_cancel_reason *links, size_t n, const char *message)
{
    for (size_t i = 0; i < n; i++)
        links[i] = (asx_cancel_reason){ .kind = ASX_CANCEL_USER, .timestamp = 100 + i,
                                        .message = message,
                                        .cause = i + 1 < n ? &links[i + 1] : NULL };
    return links;
}

static size_t bytes_of(const asx_cancel_reason *reason)
{
    size_t bytes = 0;
    for (; reason != NULL; reason = reason->cause)
        bytes += sizeof *reason + (reason->message != NULL ? strlen(reason->message) + 1 : 0);
    return bytes;
}

static void check_chain(asx_cx *cx, size_t n, size_t message_len)
{
    static asx_cancel_reason links[5000];
    char *message = malloc(message_len + 1);
    asx_region r;
    asx_task t;
    asx_waker waker;
    asx_cancel_witness w;
    CHECK(message != NULL);
    memset(message, 'm', message_len);
    message[message_len] = '\0';
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, masked_waiter, &waker, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&t, chain_of(links, n, message_len ? message : NULL)), ASX_OK);
    free(message);
    CHECK_STATUS(asx_task_get_witness(&t, &w), ASX_OK);
    size_t depth = 0;
    bool cut = false;
    for (const asx_cancel_reason *c = &w.reason; c != NULL; c = c->cause, depth++) {
        CHECK_EQ(c->timestamp, 100 + depth);
        if (c->truncated) {
            cut = true;
            CHECK_PTR_EQ(c->cause, NULL);
            CHECK_EQ(c->truncated_depth, n - depth - 1);
        }
    }
    CHECK_LE(depth, (size_t)ASX_CANCEL_CHAIN_DEPTH_MAX);
    CHECK_LE(bytes_of(&w.reason), (size_t)ASX_CANCEL_CHAIN_BYTES_MAX);
    CHECK_EQ(cut, depth < n || message_len > 4000);
    waker.wake(waker.arg);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

static asx_status user_chains(asx_cx *cx, void *arg)
{
    (void)arg;
    check_chain(cx, 1, 0);
    check_chain(cx, 15, 10);
    check_chain(cx, 16, 0);
    check_chain(cx, 17, 0);
    check_chain(cx, 5000, 3);
    check_chain(cx, 10, 1000);
    check_chain(cx, 1, 10000);
    check_chain(cx, 3, 5000);
    return ASX_OK;
}

ASX_TEST(a_users_chain_of_causes_is_copied_and_cut_at_both_limits)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(user_chains, NULL, ASX_OK);
}

/* ---- attribution over nested regions -------------------------------------------------------- */

static asx_status attribution(asx_cx *cx, void *arg)
{
    enum { DEPTH = 40 };
    asx_region r[DEPTH];
    asx_task t[DEPTH];
    asx_cancel_reason reason = { .kind = ASX_CANCEL_USER, .message = "root cause" };
    (void)arg;
    for (int i = 0; i < DEPTH; i++) {
        CHECK_STATUS(asx_region_open(cx, NULL, &r[i]), ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r[i], kit_waiter, NULL, NULL, &t[i]), ASX_OK);
    }
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_region_cancel(&r[0], &reason), ASX_OK);
    for (int i = 0; i < DEPTH; i++) {
        asx_cancel_witness w;
        uint32_t depth = 0;
        CHECK_STATUS(asx_task_get_witness(&t[i], &w), ASX_OK);
        CHECK_EQ(w.reason.kind, i == 0 ? ASX_CANCEL_USER : ASX_CANCEL_PARENT);
        const asx_cancel_reason *root = &w.reason;
        uint32_t nearest = 0; /* without a gap */
        bool cut = false;
        for (const asx_cancel_reason *c = &w.reason; c != NULL; c = c->cause, depth++) {
            root = c;
            if (!cut && c->cause != NULL)
                CHECK(asx_handle_same(c->origin_region, r[i - 1 - (int)depth].id));
            nearest += !cut;
            if (c->truncated) {
                CHECK(!cut); /* in one place */
                cut = true;
                CHECK_EQ(depth + 1 + c->truncated_depth, (uint32_t)i + 1);
            }
        }
        CHECK_EQ(cut, depth < (uint32_t)i + 1);
        CHECK(!cut || (nearest >= 8 && depth == nearest + 1));
        CHECK_LE(depth, (uint32_t)ASX_CANCEL_CHAIN_DEPTH_MAX);
        CHECK_EQ(root->kind, ASX_CANCEL_USER); /* where it began is never lost */
        CHECK_STR_EQ(root->message, "root cause");
        if (i < ASX_CANCEL_CHAIN_DEPTH_MAX)
            CHECK_EQ(depth, i + 1);
    }
    for (int i = DEPTH - 1; i >= 0; i--)
        CHECK_STATUS(asx_region_close(&r[i], ASX_OK), ASX_E_CANCELLED);
    return ASX_OK;
}

ASX_TEST(attribution_leads_from_every_level_to_the_root_cause)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(attribution, NULL, ASX_OK);
}

/* ---- propagation ---------------------------------------------------------------------------- */

static asx_status says_name(asx_cx *cx, void *arg)
{
    asx_waker waker;
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    CHECK_STATUS(asx_wait_external(cx), ASX_E_CANCELLED);
    say("%s", (const char *)arg);
    return ASX_E_CANCELLED;
}

static asx_status depth_first(asx_cx *cx, void *arg)
{
    asx_region top, left, right, deep, sibling;
    asx_task s;
    asx_task_state state;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &sibling), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&sibling, says_name, "sibling", NULL, &s), ASX_OK);
    CHECK_STATUS(asx_region_open_in(cx, &sibling, NULL, &top), ASX_OK);
    CHECK_STATUS(asx_region_open_in(cx, &top, NULL, &left), ASX_OK);
    CHECK_STATUS(asx_region_open_in(cx, &top, NULL, &right), ASX_OK);
    CHECK_STATUS(asx_region_open_in(cx, &left, NULL, &deep), ASX_OK);
    CHECK_STATUS(asx_spawn(&right, "r", says_name, "right"), ASX_OK);
    CHECK_STATUS(asx_spawn(&deep, "d", says_name, "deep"), ASX_OK);
    CHECK_STATUS(asx_spawn(&left, "l", says_name, "left"), ASX_OK);
    CHECK_STATUS(asx_spawn(&top, "t1", says_name, "top1"), ASX_OK);
    CHECK_STATUS(asx_spawn(&top, "t2", says_name, "top2"), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    asx_cancel_reason same = { .kind = ASX_CANCEL_PARENT }; /* one priority for all */
    CHECK_STATUS(asx_region_cancel(&top, &same), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 8), ASX_OK);
    CHECK_STR_EQ(said(), "top1 top2 left deep right");
    CHECK_STATUS(asx_task_get_state(&s, &state), ASX_OK);
    CHECK_EQ(state, ASX_TASK_RUNNING); /* never to siblings, never to parents */
    CHECK_STATUS(asx_region_close(&deep, ASX_OK), ASX_E_CANCELLED);
    CHECK_STATUS(asx_region_close(&left, ASX_OK), ASX_E_CANCELLED);
    CHECK_STATUS(asx_region_close(&right, ASX_OK), ASX_E_CANCELLED);
    CHECK_STATUS(asx_region_close(&top, ASX_OK), ASX_E_CANCELLED);
    CHECK_STATUS(asx_region_close(&sibling, ASX_E_EMPTY), ASX_E_EMPTY);
    return ASX_OK;
}

ASX_TEST(a_cancellation_spreads_depth_first_and_downwards_only)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(depth_first, NULL, ASX_OK);
}

static asx_status idempotent(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task t;
    asx_cancel_witness a, b;
    asx_waker waker;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, masked_waiter, &waker, NULL, &t), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_region_cancel(&r, NULL), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&t, &a), ASX_OK);
    for (int i = 0; i < 5; i++)
        CHECK_STATUS(asx_region_cancel(&r, NULL), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&t, &b), ASX_OK);
    CHECK_EQ(a.reason.kind, b.reason.kind);
    CHECK_EQ(a.reason.timestamp, b.reason.timestamp);
    CHECK_EQ(a.phase, b.phase);
    CHECK_EQ(a.epoch, b.epoch);
    asx_cancel_reason stronger = { .kind = ASX_CANCEL_RESOURCE };
    CHECK_STATUS(asx_region_cancel(&r, &stronger), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&t, &b), ASX_OK);
    CHECK_EQ(b.reason.kind, ASX_CANCEL_RESOURCE);
    waker.wake(waker.arg);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
    CHECK_STATUS(asx_region_cancel(&r, NULL), ASX_E_STALE_HANDLE);
    return ASX_OK;
}

ASX_TEST(cancelling_a_region_again_changes_nothing_unless_it_is_stronger)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(idempotent, NULL, ASX_OK);
}
