/* What closing a region returns and reports, and which outcomes count in it. */
#include "support_kit.h"

#include <stdio.h>
#include <string.h>

/* ---- the law of close, every row against every other ---------------------------------------- */

enum { PANIC = 1, FAIL = 2, DEADLINE = 4, OUTER = 8, BODY = 16, ROWS = 32 };

static asx_status law_says(unsigned bits)
{
    if (bits & PANIC)
        return ASX_E_PANICKED;
    if (bits & FAIL)
        return ASX_E_FULL;
    if (bits & DEADLINE)
        return ASX_E_TIMEOUT;
    if (bits & OUTER)
        return ASX_E_CANCELLED;
    return bits & BODY ? ASX_E_EMPTY : ASX_OK;
}

static asx_status one_row(asx_cx *cx, unsigned bits)
{
    asx_region r;
    asx_close_report report;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    if (bits & DEADLINE)
        options.timeout_ns = ASX_MS;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "ok", kit_returns, NULL), ASX_OK);
    if (bits & FAIL)
        CHECK_STATUS(asx_spawn(&r, "f", kit_returns, (void *)(intptr_t)ASX_E_FULL), ASX_OK);
    if (bits & PANIC)
        CHECK_STATUS(asx_spawn(&r, "p", kit_panics, NULL), ASX_OK);
    if (bits & (DEADLINE | OUTER))
        CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    if (bits & DEADLINE)
        CHECK_STATUS(asx_sleep(cx, 3 * ASX_MS), ASX_OK);
    else
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    if (bits & OUTER)
        CHECK_STATUS(asx_region_cancel(&r, NULL), ASX_OK);
    asx_status st = asx_region_close_with(&r, bits & BODY ? ASX_E_EMPTY : ASX_OK, NULL, &report);
    CHECK_STATUS(report.status, st);
    CHECK_EQ(report.tasks_ok, 1);
    CHECK_EQ(report.tasks_err, (bits & FAIL) != 0);
    CHECK_EQ(report.tasks_panicked, (bits & PANIC) != 0);
    CHECK_EQ(report.tasks_cancelled, (bits & (DEADLINE | OUTER)) != 0);
    asx_close_report_deinit(&report);
    return st;
}

static asx_status all_rows(asx_cx *cx, void *arg)
{
    (void)arg;
    for (unsigned bits = 0; bits < ROWS; bits++)
        CHECK_STATUS(one_row(cx, bits), law_says(bits));
    return ASX_OK;
}

ASX_TEST(close_returns_what_the_law_says_in_every_combination_of_rows)
{
    asx_test_one_worker("who has failed when the next is started");
    kit_everywhere(all_rows, NULL, ASX_OK);
}

/* The same law at the end of a run, with main's status as the body's. */
typedef struct root_row {
    unsigned bits;
    uint64_t timeout_ns;
    bool late; /* the time-out may have come before what it is to come after */
} root_row;

static asx_status run_root_row(asx_cx *cx, void *arg)
{
    root_row *row = arg;
    unsigned bits = row->bits;
    asx_region root;
    asx_status st = asx_cx_region(cx, &root);
    if (st == ASX_OK && (bits & FAIL))
        st = asx_spawn(&root, "f", kit_returns, (void *)(intptr_t)ASX_E_FULL);
    if (st == ASX_OK && (bits & PANIC))
        st = asx_spawn(&root, "p", kit_panics, NULL);
    if (st == ASX_OK)
        st = asx_yield(cx);
    if ((bits & DEADLINE) && asx_now(cx) >= row->timeout_ns) {
        row->late = true;
        return ASX_OK;
    }
    CHECK_STATUS(st, ASX_OK);
    if (bits & DEADLINE) {
        CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
        CHECK_STATUS(asx_sleep(cx, row->timeout_ns + 10 * ASX_MS), ASX_OK);
        CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    }
    if (bits & OUTER)
        CHECK_STATUS(asx_region_cancel(&root, NULL), ASX_OK);
    return bits & BODY ? ASX_E_EMPTY : ASX_OK;
}

static void check_root_row(unsigned bits, asx_clock_kind clock)
{
    root_row row = { .bits = bits, .timeout_ns = 20 * ASX_MS };
    asx_runtime_config config = kit_config(clock, NULL);
    config.root.policy = ASX_POLICY_COLLECT;
    do { /* on a machine that is busy it takes longer until it counts */
        row.timeout_ns *= 2;
        row.late = false;
        if (bits & DEADLINE)
            config.root.timeout_ns = row.timeout_ns;
        asx_status st = kit_run(&config, run_root_row, &row);
        if (!row.late)
            CHECK_STATUS(st, law_says(bits));
    } while (row.late);
}

ASX_TEST(a_run_returns_what_the_law_says_of_the_root)
{
    asx_test_one_worker("who has run when a yield returns");
    for (unsigned bits = 0; bits < ROWS; bits++) {
        check_root_row(bits, ASX_CLOCK_VIRTUAL);
        check_root_row(bits, ASX_CLOCK_REAL);
    }
}

/* Main itself is cancelled by what happens in the root: that speaks, not main's own status. */
static asx_status main_is_told(asx_cx *cx, void *arg)
{
    asx_region root;
    CHECK_STATUS(asx_cx_region(cx, &root), ASX_OK);
    if (arg != NULL)
        CHECK_STATUS(asx_spawn(&root, "f", kit_returns, arg), ASX_OK);
    asx_status st = asx_sleep(cx, 3600 * ASX_SEC);
    CHECK_STATUS(st, ASX_E_CANCELLED);
    return st;
}

ASX_TEST(main_cancelled_by_its_own_region_does_not_count)
{
    for (int real = 0; real < 2; real++) {
        asx_runtime_config config = kit_config(real ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        CHECK_STATUS(kit_run(&config, main_is_told, (void *)(intptr_t)ASX_E_FULL), ASX_E_FULL);
        config.root.timeout_ns = ASX_MS;
        CHECK_STATUS(kit_run(&config, main_is_told, NULL), ASX_E_TIMEOUT);
    }
}

/* A root that was cancelled gently fails fast when main fails. */
static asx_cancel_kind held_kind;

static asx_status held(asx_cx *cx, void *arg)
{
    const asx_cancel_reason *reason;
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    do { /* as long as it takes to be cancelled; on one worker once is enough */
        CHECK_STATUS(asx_sleep(cx, 2 * ASX_MS), ASX_OK);
    } while (asx_cx_cancel_reason(cx, &reason) == ASX_E_NOT_FOUND ||
             (arg != NULL && reason->kind == ASX_CANCEL_USER));
    held_kind = reason->kind;
    return ASX_OK;
}

static asx_status fails_after_cancel(asx_cx *cx, void *arg)
{
    asx_region root;
    CHECK_STATUS(asx_cx_region(cx, &root), ASX_OK);
    CHECK_STATUS(asx_spawn(&root, "h", held, arg), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_region_cancel(&root, NULL), ASX_OK);
    if (arg == NULL)
        return asx_checkpoint(cx); /* cancelled itself: that is no failure */
    return ASX_E_FULL;
}

ASX_TEST(a_cancelled_root_fails_fast_only_when_main_fails)
{
    kit_everywhere(fails_after_cancel, "fails", ASX_E_CANCELLED);
    CHECK_EQ(held_kind, ASX_CANCEL_FAIL_FAST);
    kit_everywhere(fails_after_cancel, NULL, ASX_E_CANCELLED);
    CHECK_EQ(held_kind, ASX_CANCEL_USER);
}

/* ---- cancellations the region caused itself do not count ------------------------------------ */

static asx_status says_why(asx_cx *cx, void *arg)
{
    const asx_cancel_reason *reason;
    (void)arg;
    CHECK_STATUS(kit_waiter(cx, NULL), ASX_E_CANCELLED);
    CHECK_STATUS(asx_cx_cancel_reason(cx, &reason), ASX_OK);
    say("%s %s", asx_cancel_kind_str(reason->kind), reason->message ? reason->message : "-");
    return ASX_OK;
}

static asx_status self_caused(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_cancel_reason lost = { .kind = ASX_CANCEL_RACE_LOST, .message = "slow" };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", says_why, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, &lost, NULL), ASX_OK);
    CHECK_STR_EQ(said(), "told RaceLost slow");
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", says_why, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_E_EMPTY), ASX_E_EMPTY);
    CHECK_STR_EQ(said(), "told RaceLost slow told FailFast -");
    return ASX_OK;
}

ASX_TEST(a_cancellation_by_its_own_close_is_not_an_outer_one)
{
    kit_everywhere(self_caused, NULL, ASX_OK);
}

/* ---- failing fast --------------------------------------------------------------------------- */

static asx_status fail_fast(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task w;
    asx_cancel_witness witness;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_waiter, NULL, NULL, &w), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "f", kit_returns, (void *)(intptr_t)ASX_E_FULL), ASX_OK);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK); /* a wait goes on though r fails meanwhile */
    CHECK_STATUS(kit_yields(cx, 4), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_task_get_witness(&w, &witness), ASX_OK);
    CHECK_EQ(witness.reason.kind, ASX_CANCEL_FAIL_FAST);
    CHECK_STATUS(asx_spawn(&r, "late", kit_returns, NULL), ASX_E_REGION_NOT_OPEN);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_FULL);
    CHECK_STR_EQ(said(), "told");
    return ASX_OK;
}

ASX_TEST(a_failing_child_cancels_its_siblings)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(fail_fast, NULL, ASX_OK);
}

static asx_status collects(asx_cx *cx, void *arg)
{
    asx_region r;
    uint64_t ms = ASX_MS;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "s", kit_sleeper, &ms), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "f", kit_returns, (void *)(intptr_t)ASX_E_FULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "e", kit_returns, (void *)(intptr_t)ASX_E_EMPTY), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_FULL);
    CHECK_EQ(report.tasks_ok, 1);
    CHECK_EQ(report.tasks_err, 2);
    CHECK_EQ(report.outcome.kind, ASX_OUTCOME_ERR);
    CHECK_STATUS(report.outcome.status, ASX_E_FULL);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_collecting_region_lets_everyone_run_to_the_end)
{
    kit_everywhere(collects, NULL, ASX_OK);
}

/* The failure that counts is the first by creation, not by time. */
static asx_status sleep_then_fail(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    return (asx_status)(intptr_t)arg;
}

static asx_status first_by_creation(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task slow;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, sleep_then_fail, (void *)(intptr_t)ASX_E_FULL, NULL, &slow),
                 ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "fast", kit_returns, (void *)(intptr_t)ASX_E_EMPTY), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_FULL);
    CHECK_EQ(report.outcome.source, slow.id.generation & 0xffffffffffffu);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(of_equal_failures_the_first_created_counts)
{
    kit_everywhere(first_by_creation, NULL, ASX_OK);
}

/* The last child to end fails: its region closes from its end. Nothing is recycled twice. */
static asx_status last_child_fails(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 40; i++) {
        asx_region r;
        asx_task t;
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        if (i & 1)
            CHECK_STATUS(asx_spawn_task(&r, kit_returns, (void *)(intptr_t)ASX_E_FULL, NULL, &t),
                         ASX_OK);
        else
            CHECK_STATUS(asx_spawn(&r, "f", kit_returns, (void *)(intptr_t)ASX_E_FULL), ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_FULL);
        CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
        asx_task a, b;
        asx_join_result ra, rb;
        CHECK_STATUS(asx_spawn_task(&r, kit_returns, (void *)1, NULL, &a), ASX_OK);
        CHECK_STATUS(asx_spawn_task(&r, kit_returns, (void *)2, NULL, &b), ASX_OK);
        CHECK_NE(a.id.word, b.id.word);
        CHECK_STATUS(asx_join(cx, &a, &ra), ASX_OK);
        CHECK_STATUS(asx_join(cx, &b, &rb), ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(a_region_that_its_last_child_fails_closes_once)
{
    kit_everywhere(last_child_fails, NULL, ASX_OK);
}

/* ---- which child regions count -------------------------------------------------------------- */

static asx_status handles_a_failure(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "f", kit_returns, (void *)(intptr_t)ASX_E_FULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_FULL);
    return ASX_OK;
}

static asx_status panics_with_a_region_open(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "f", kit_returns, (void *)(intptr_t)ASX_E_FULL), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    asx_panic(cx, "with a region open");
}

static asx_status which_count(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "h", handles_a_failure, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_OK);
    CHECK_EQ(report.outcome.kind, ASX_OUTCOME_OK); /* it was closed and looked at */
    asx_close_report_deinit(&report);

    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "p", panics_with_a_region_open, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_PANICKED);
    CHECK_EQ(report.outcome.kind, ASX_OUTCOME_PANICKED);
    CHECK_EQ(report.tasks_panicked, 1);
    CHECK_EQ(report.stacks_kept, 1);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_child_region_counts_only_when_nobody_closed_it)
{
    kit_everywhere(which_count, NULL, ASX_OK);
}

/* An abandoned region's failure is its parent's: it fails the parent fast. */
static asx_status abandoned_fails_parent(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "p", panics_with_a_region_open, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_PANICKED);
    CHECK_STR_EQ(said(), "told");
    CHECK_EQ(report.tasks_cancelled, 1);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_panic_with_a_region_open_fails_fast)
{
    kit_everywhere(abandoned_fails_parent, NULL, ASX_OK);
}

/* ---- the report ----------------------------------------------------------------------------- */

static asx_status recv_for_ever(asx_cx *cx, void *arg)
{
    int message;
    return asx_channel_recv(cx, arg, &message);
}

static asx_status join_other(asx_cx *cx, void *arg)
{
    return asx_join(cx, arg, NULL);
}

static const asx_report_item *item_named(const asx_close_report *report, const char *name)
{
    for (size_t i = 0; i < report->items_len; i++)
        if (strcmp(report->items[i].name, name) == 0)
            return &report->items[i];
    return NULL;
}

static void check_item(const asx_close_report *report, const char *name, const char *path,
                       const char *state, const char *waits_for)
{
    const asx_report_item *item = item_named(report, name);
    CHECK(item != NULL);
    CHECK_STR_EQ(item->path, path);
    CHECK_STR_EQ(item->state, state);
    CHECK_STR_EQ(item->waits_for, waits_for);
    CHECK(strstr(item->site, "test_close.c:") != NULL);
    CHECK_NE(item->serial, 0);
}

static asx_status who_is_alive(asx_cx *cx, void *arg)
{
    asx_region r, inner;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_task waiter;
    asx_close_report report;
    uint64_t hour = 3600 * ASX_SEC;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "service" }, &r), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "conn" }, &inner), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, kit_waiter, NULL, &(asx_spawn_options){ .name = "waiter" },
                                &waiter), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "receiver", recv_for_ever, &rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&inner, "sleeper", kit_sleeper, &hour), ASX_OK);
    CHECK_STATUS(asx_spawn(&inner, "joiner", join_other, &waiter), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 3), ASX_OK);
    CHECK_STATUS(asx_spawn(&inner, "fresh", kit_returns, NULL), ASX_OK);
    asx_obligation o;
    CHECK_STATUS(asx_obligation_reserve(&inner, ASX_OBLIGATION_KIND_LEASE, &o), ASX_OK);
    CHECK_STATUS(asx_region_report(&r, &report), ASX_OK);
    CHECK_EQ(report.items_len, 8); /* two regions, five tasks, a lease */
    check_item(&report, "service", "root/service", "Open", "");
    check_item(&report, "conn", "root/service/conn", "Open", "");
    check_item(&report, "waiter", "root/service", "Running", "external");
    check_item(&report, "receiver", "root/service", "Running", "channel-recv");
    check_item(&report, "sleeper", "root/service/conn", "Running", "sleep");
    check_item(&report, "joiner", "root/service/conn", "Running", "join");
    check_item(&report, "fresh", "root/service/conn", "Created", "");
    check_item(&report, "lease", "root/service/conn", "Reserved", "");
    asx_close_report_deinit(&report);
    asx_close_report_deinit(&report); /* twice is allowed */
    CHECK_STATUS(asx_obligation_commit(&o), ASX_OK);
    CHECK_STATUS(asx_region_close(&inner, ASX_E_EMPTY), ASX_E_EMPTY);
    CHECK_STATUS(asx_region_close(&r, ASX_E_EMPTY), ASX_E_EMPTY);
    return ASX_OK;
}

ASX_TEST(a_report_names_everyone_with_place_path_state_and_wait)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(who_is_alive, NULL, ASX_OK);
}

static asx_status leaks(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_obligation a, b, c;
    asx_obligation_state state;
    asx_close_report report;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "r" }, &r), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &a), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_PLAIN, &b), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&r, ASX_OBLIGATION_KIND_LEASE, &c), ASX_OK);
    CHECK_STATUS(asx_obligation_commit(&b), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_OK);
    CHECK_STATUS(report.account, ASX_E_UNRESOLVED_OBLIGATIONS);
    CHECK_EQ(report.obligations_leaked, 2);
    CHECK_EQ(report.items_len, 2);
    check_item(&report, "plain", "root/r", "Leaked", "");
    check_item(&report, "lease", "root/r", "Leaked", "");
    asx_close_report_deinit(&report);
    CHECK_STATUS(asx_obligation_commit(&a), ASX_E_OBLIGATION_LEAKED);
    CHECK_STATUS(asx_obligation_abort(&c), ASX_E_OBLIGATION_LEAKED);
    CHECK_STATUS(asx_obligation_commit(&b), ASX_E_OBLIGATION_ALREADY_RESOLVED);
    CHECK_STATUS(asx_obligation_get_state(&a, &state), ASX_OK);
    CHECK_EQ(state, ASX_OBLIGATION_LEAKED);
    asx_stats stats = kit_stats(asx_cx_runtime(cx));
    CHECK_EQ(stats.obligations_leaked, 2);
    CHECK_EQ(stats.obligations_reserved, 0);
    CHECK_EQ(stats.obligations_total, 3);
    return ASX_OK;
}

ASX_TEST(what_is_still_reserved_at_close_is_leaked_and_listed)
{
    kit_everywhere(leaks, NULL, ASX_OK);
}

/* Names are borrowed until the task has ended; the report comes later. */
static asx_status names_are_copied(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_close_report report;
    char name[16];
    (void)arg;
    strcpy(name, "boom");
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn(&r, name, kit_panics, NULL), ASX_OK);
    CHECK_STATUS(kit_yields(cx, 2), ASX_OK);
    memset(name, '#', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_E_PANICKED);
    CHECK_EQ(report.items_len, 1);
    CHECK_STR_EQ(report.items[0].name, "boom");
    CHECK_STR_EQ(report.items[0].state, "Panicked: on purpose");
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(a_report_has_its_own_copy_of_a_name)
{
    asx_test_one_worker("who has run when a yield returns");
    kit_everywhere(names_are_copied, NULL, ASX_OK);
}

static asx_status long_paths(asx_cx *cx, void *arg)
{
    enum { DEPTH = 100 };
    asx_region r[DEPTH];
    char name[DEPTH][24];
    asx_close_report report;
    (void)arg;
    for (int i = 0; i < DEPTH; i++) {
        snprintf(name[i], sizeof name[i], "region-%d", i);
        CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = name[i] }, &r[i]), ASX_OK);
    }
    CHECK_STATUS(asx_region_report(&r[DEPTH - 1], &report), ASX_OK);
    const char *path = report.items[0].path;
    const char *tail = "/region-98/region-99";
    CHECK_GE(strlen(path), 300u);
    CHECK_STR_EQ(path + strlen(path) - strlen(tail), tail);
    CHECK(strncmp(path, "...", 3) == 0); /* what is missing is missing at the front */
    asx_close_report_deinit(&report);
    CHECK_STATUS(asx_region_report(&r[0], &report), ASX_OK);
    CHECK_EQ(report.items_len, DEPTH);
    asx_close_report_deinit(&report);
    for (int i = DEPTH - 1; i >= 0; i--)
        CHECK_STATUS(asx_region_close(&r[i], ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_path_that_is_too_long_keeps_its_end)
{
    kit_everywhere(long_paths, NULL, ASX_OK);
}
