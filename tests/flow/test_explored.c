/* test_explored.c - the combinators in the laboratory: every class of schedules of small programs,
 * as many as brute force finds; a cancel at each cancellation point of each task; memory or stacks
 * missing at each place; and laws up to what can be seen in any schedule. */
#define ASX_LAB 1
#include <asx/asx.h>

#include <string.h>

#include "harness.h"
#include "lab/dpor/support_classes.h"

typedef struct fixture {
    int x, y;
    int running; /* branches between their first and their last step */
    int begun;
    uint64_t seen; /* set of what was observed, one bit each, over all executions */
} fixture;

static fixture f;

/* ---- branches ------------------------------------------------------------------------------- */

static asx_status ok_steps(asx_cx *cx, void *arg)
{
    (void)arg;
    f.begun++;
    f.running++;
    (void)asx_lab_fetch_add(cx, &f.x, 1);
    f.running--;
    return ASX_OK;
}

static asx_status err_steps(asx_cx *cx, void *arg)
{
    (void)arg;
    f.begun++;
    f.running++;
    (void)asx_lab_fetch_add(cx, &f.x, 1);
    f.running--;
    return ASX_E_NOT_FOUND;
}

/* For longer than anything else takes; so there is an end to it if nothing else is Ok. */
static asx_status waits(asx_cx *cx, void *arg)
{
    (void)arg;
    f.running++;
    asx_status st = asx_sleep(cx, 100 * ASX_MS);
    f.running--;
    return st < 0 ? st : ASX_E_NOT_FOUND;
}

/* ---- programs ------------------------------------------------------------------------------- */

/* Each makes one call, and checks what it gives; under a fault it may also be refused or cancelled.
 * */
static bool faulty;

static void expect(asx_cx *cx, asx_status st, asx_status want)
{
    bool excused = faulty && (st == ASX_E_CANCELLED || st == ASX_E_RESOURCE_EXHAUSTED ||
                              st == ASX_E_NOT_FOUND);
    asx_lab_check(cx, st == want || excused);
    asx_lab_check(cx, f.running == 0); /* no loser is left behind */
}

static asx_status first_ok(asx_cx *cx, const asx_branch *branches, size_t winner)
{
    size_t got = 9;
    asx_status st = asx_first_ok(cx, branches, 2, NULL, &got, NULL);
    expect(cx, st, ASX_OK);
    if (st == ASX_OK) {
        asx_lab_check(cx, winner > 1 || got == winner || faulty);
        f.seen |= UINT64_C(1) << got;
    }
    return st;
}

static asx_status first_ok_of_two(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "ok", ok_steps, NULL }, { "err", err_steps, NULL } };
    (void)arg;
    return first_ok(cx, branches, 0);
}

static asx_status first_ok_of_equals(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "a", ok_steps, NULL }, { "b", ok_steps, NULL } };
    (void)arg;
    return first_ok(cx, branches, 9);
}

static asx_status first_ok_drains(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "waits", waits, NULL }, { "ok", ok_steps, NULL } };
    (void)arg;
    return first_ok(cx, branches, 1);
}

static asx_status first_ok_of_failures(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "a", err_steps, NULL }, { "b", err_steps, NULL } };
    size_t winner = 9;
    (void)arg;
    asx_status st = asx_first_ok(cx, branches, 2, NULL, &winner, NULL);
    expect(cx, st, ASX_E_NOT_FOUND);
    asx_lab_check(cx, winner == 0 || faulty);
    return faulty || st != ASX_E_NOT_FOUND ? st : ASX_OK;
}

static asx_status quorum_of_two(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "ok", ok_steps, NULL }, { "waits", waits, NULL } };
    asx_join_result results[2];
    size_t ok;
    (void)arg;
    asx_status st = asx_quorum(cx, branches, 2, 1, NULL, results, &ok);
    expect(cx, st, ASX_OK);
    if (st == ASX_OK) {
        asx_lab_check(cx, ok == 1);
        asx_lab_check(cx, results[0].outcome.kind == ASX_OUTCOME_OK);
        asx_lab_check(cx, results[1].outcome.kind != ASX_OUTCOME_OK);
    }
    return st;
}

static asx_status quorum_of_all(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "a", ok_steps, NULL }, { "b", ok_steps, NULL } };
    asx_join_result results[2];
    size_t ok;
    (void)arg;
    asx_status st = asx_quorum(cx, branches, 2, 2, NULL, results, &ok);
    expect(cx, st, ASX_OK);
    asx_lab_check(cx, st != ASX_OK || (ok == 2 && f.x == 2));
    return st;
}

static asx_status hedge_of_two(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "waits", waits, NULL }, { "ok", ok_steps, NULL } };
    size_t winner = 9;
    (void)arg;
    asx_status st = asx_hedge(cx, branches, 2, ASX_MS, NULL, &winner, NULL);
    expect(cx, st, ASX_OK);
    asx_lab_check(cx, winner == 1 || st < 0);
    return st;
}

static asx_status hedge_after_failure(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "err", err_steps, NULL }, { "ok", ok_steps, NULL } };
    size_t winner = 9;
    (void)arg;
    asx_status st = asx_hedge(cx, branches, 2, ASX_MS, NULL, &winner, NULL);
    expect(cx, st, ASX_OK);
    asx_lab_check(cx, winner == 1 || st < 0);
    return st;
}

static asx_status err_then_ok(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_lab_fetch_add(cx, &f.x, 1) == 0 ? ASX_E_NOT_FOUND : ASX_OK;
}

static asx_status retry_twice(asx_cx *cx, void *arg)
{
    const asx_branch branch = { "attempt", err_then_ok, NULL };
    asx_retry_strategy s = { .delay_ns = ASX_MS };
    uint32_t made;
    (void)arg;
    asx_status st = asx_retry(cx, &branch, &s, NULL, NULL, &made);
    expect(cx, st, ASX_OK);
    asx_lab_check(cx, made == 2 || faulty);
    return st;
}

static asx_status next_of_two(asx_cx *cx, void *arg, void *ret_item)
{
    int *made = arg;
    (void)cx;
    if (*made == 2)
        return ASX_E_CLOSED;
    *(int *)ret_item = (*made)++;
    return ASX_OK;
}

static asx_status sees_in_order(asx_cx *cx, void *arg, const void *input, void *ret_output)
{
    int *next = arg;
    (void)ret_output;
    asx_lab_check(cx, *(const int *)input == (*next)++);
    return ASX_OK;
}

static asx_status passes_on(asx_cx *cx, void *arg, const void *input, void *ret_output)
{
    (void)cx;
    (void)arg;
    *(int *)ret_output = *(const int *)input;
    return ASX_OK;
}

static asx_status pipeline_of_two(asx_cx *cx, void *arg)
{
    int made = 0, next = 0;
    asx_source source = { "source", next_of_two, &made, sizeof(int) };
    asx_stage stages[] = { { "pass", passes_on, NULL, sizeof(int), 2, 1 },
                           { "order", sees_in_order, &next, 0, 1, 1 } };
    (void)arg;
    asx_status st = asx_pipeline(cx, &source, stages, 2, NULL, NULL);
    expect(cx, st, ASX_OK);
    asx_lab_check(cx, next == 2 || st < 0);
    return st;
}

static asx_status map_one(asx_cx *cx, void *arg, const void *item, void *ret_value)
{
    (void)arg;
    *(int *)ret_value = *(const int *)item;
    (void)asx_lab_fetch_add(cx, &f.x, 1);
    return ASX_OK;
}

static void digits(void *arg, void *into, const void *value)
{
    (void)arg;
    *(int *)into = *(int *)into * 10 + *(const int *)value;
}

/* digits() is no monoid, but of single digits it tells in which order they came. */
static asx_status map_reduce_of_two(asx_cx *cx, void *arg)
{
    static const int items[] = { 1, 2 }, zero = 0;
    asx_monoid monoid = { sizeof(int), &zero, digits, NULL };
    asx_map_options options = { .workers = 2, .chunk = 1 };
    int got;
    (void)arg;
    asx_status st = asx_map_reduce(cx, items, 2, sizeof(int), map_one, NULL, &monoid, &options,
                                   &got);
    expect(cx, st, ASX_OK);
    asx_lab_check(cx, got == (st == ASX_OK ? 12 : 0));
    return st;
}

static asx_status count_item(asx_cx *cx, void *arg, const void *item)
{
    int *done = arg;
    (void)item;
    (void)asx_lab_fetch_add(cx, done, 1);
    return asx_checkpoint(cx);
}

static asx_status for_each_of_two(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_channel_info info = { .queued = 2 };
    asx_each_options options = { .workers = 2 };
    asx_each_stats stats = { 0, 0 };
    int message = 1;
    (void)arg;
    f.y = 0;
    asx_status st = asx_region_open(cx, NULL, &r);
    if (st < 0)
        return st;
    st = asx_channel_create(&r, sizeof(int), 2, NULL, &tx, &rx);
    if (st == ASX_OK) {
        (void)asx_channel_try_send(cx, &tx, &message);
        (void)asx_channel_try_send(cx, &tx, &message);
        (void)asx_channel_sender_drop(&tx);
        st = asx_for_each(cx, &rx, sizeof(int), count_item, &f.y, &options, &stats);
        (void)asx_channel_receiver_info(&rx, &info);
        asx_lab_check(cx, stats.done + info.queued == 2 || faulty);
        asx_lab_check(cx, stats.done + info.queued <= 2);
    }
    expect(cx, st, ASX_OK);
    return asx_region_close(&r, st);
}

static asx_rate_limiter limiter;
static asx_breaker breaker;

static asx_status takes_one(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_rate_limiter_acquire(cx, &limiter, 1);
}

static asx_status limiter_of_two(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "a", takes_one, NULL }, { "b", takes_one, NULL } };
    asx_region r;
    (void)arg;
    memset(&limiter, 0, sizeof limiter);
    asx_status st = asx_region_open(cx, NULL, &r);
    if (st < 0)
        return st;
    st = asx_rate_limiter_create(&r, ASX_MS, NULL, &limiter);
    if (st == ASX_OK)
        st = asx_join_all(cx, branches, 2, NULL, NULL, NULL);
    expect(cx, st, ASX_OK);
    return asx_region_close(&r, st);
}

static asx_status fails(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_lab_fetch_add(cx, &f.x, 1);
    return ASX_E_NOT_FOUND;
}

static asx_status through_breaker(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = asx_breaker_call(cx, &breaker, fails, NULL);
    f.seen |= UINT64_C(1) << (st == ASX_E_ADMISSION_CLOSED);
    return st == ASX_E_NOT_FOUND || st == ASX_E_ADMISSION_CLOSED ? ASX_OK : st;
}

/* Both go through, or the second one finds it open. */
static asx_status breaker_of_two(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "a", through_breaker, NULL },
                                    { "b", through_breaker, NULL } };
    asx_breaker_options options = { .failures_max = 1 };
    asx_breaker_info info = { .refused = 9 };
    asx_region r;
    (void)arg;
    memset(&breaker, 0, sizeof breaker);
    asx_status st = asx_region_open(cx, NULL, &r);
    if (st < 0)
        return st;
    st = asx_breaker_create(&r, &options, &breaker);
    if (st == ASX_OK)
        st = asx_join_all(cx, branches, 2, NULL, NULL, NULL);
    (void)asx_breaker_get_info(&breaker, &info);
    expect(cx, st, ASX_OK);
    asx_lab_check(cx, faulty || (f.x + (int)info.refused == 2 && info.state == ASX_BREAKER_OPEN));
    return asx_region_close(&r, st);
}

/* ---- every class ---------------------------------------------------------------------------- */

static const struct row {
    const char *name;
    asx_task_fn fn;
    uint64_t classes, cancelled, refused, timed; /* executions, by what may happen */
} rows[] = {
    { "first ok", first_ok_of_two, 4, 11, 29, 4 },
    { "first ok of equals", first_ok_of_equals, 4, 9, 29, 4 },
    { "first ok drains", first_ok_drains, 1, 23, 24, 3 },
    { "first ok of failures", first_ok_of_failures, 4, 13, 29, 4 },
    { "quorum of one", quorum_of_two, 1, 23, 23, 3 },
    { "quorum of all", quorum_of_all, 4, 13, 28, 4 },
    { "hedge", hedge_of_two, 1, 178, 25, 6 },
    { "hedge after a failure", hedge_after_failure, 1, 49, 25, 7 },
    { "retry", retry_twice, 1, 7, 64, 1 },
    { "pipeline", pipeline_of_two, 12, 126204, 5077, 12 },
    { "map-reduce", map_reduce_of_two, 6, 94, 51, 6 },
    { "for-each", for_each_of_two, 36, 1507, 248, 36 },
    { "rate limiter", limiter_of_two, 2, 13, 24, 0 },
    { "breaker", breaker_of_two, 10, 19, 48, 10 },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* In a task of its own, so that it can be cancelled, too. */
static void run_row(asx_cx *cx, void *arg)
{
    const struct row *row = arg;
    asx_region r;
    asx_region_options collects = { .policy = ASX_POLICY_COLLECT };
    f.x = f.running = f.begun = 0;
    asx_status st = asx_region_open(cx, &collects, &r);
    if (st == ASX_OK)
        st = asx_spawn(&r, "caller", row->fn, NULL);
    asx_lab_check(cx, st == ASX_OK || (faulty && st == ASX_E_RESOURCE_EXHAUSTED));
    st = asx_region_close(&r, ASX_OK);
    asx_lab_check(cx, st == ASX_OK || faulty);
    asx_lab_check(cx, f.running == 0);
}

ASX_TEST_TIMEOUT(every_class_is_run_once_and_there_are_as_many_as_brute_force_finds, 120)
{
    faulty = false;
    for (int i = 0; i < ROWS; i++) {
        f.seen = 0;
        uint64_t classes = classes_of(run_row, (void *)(uintptr_t)&rows[i]);
        if (classes != rows[i].classes)
            asx_test_fail(__FILE__, __LINE__, "%s: %d classes", rows[i].name, (int)classes);
        if (rows[i].fn == first_ok_of_equals)
            CHECK_EQ(f.seen, 3); /* either may win */
    }
}

/* All classes, each once; not compared with brute force, of which there is too much. */
static void explored(const struct row *row, uint64_t executions, asx_explore_clock clock,
                     uint32_t faults)
{
    asx_explore_options options = { .clock = clock, .faults = faults, .trust_reduction = true };
    faulty = faults != 0 || clock == ASX_EXPLORE_ADVERSARIAL;
    asx_explore_result result = classes_explore(run_row, (void *)(uintptr_t)row, &options);
    CHECK(result.complete);
    if (result.totals.bugs + result.totals.deadlocks != 0 ||
        result.totals.executions != executions)
        asx_test_fail(__FILE__, __LINE__, "%s: %d bugs, %d deadlocks, %d executions", row->name,
                      (int)result.totals.bugs, (int)result.totals.deadlocks,
                      (int)result.totals.executions);
}

ASX_TEST_TIMEOUT(cancelled_at_any_point_a_call_drains_its_branches, 300)
{
    for (int i = 0; i < ROWS; i++)
        explored(&rows[i], rows[i].cancelled, ASX_EXPLORE_QUIESCENT, ASX_EXPLORE_FAULT_CANCEL);
}

ASX_TEST_TIMEOUT(without_memory_or_stacks_a_call_is_refused_and_drains_its_branches, 300)
{
    for (int i = 0; i < ROWS; i++)
        explored(&rows[i], rows[i].refused, ASX_EXPLORE_QUIESCENT,
                 ASX_EXPLORE_FAULT_ALLOC | ASX_EXPLORE_FAULT_STACK);
}

ASX_TEST_TIMEOUT(whenever_time_passes_a_call_drains_its_branches, 300)
{
    for (int i = 0; i < ROWS; i++)
        if (rows[i].fn != limiter_of_two) /* which sleeps again when it was woken too early */
            explored(&rows[i], rows[i].timed, ASX_EXPLORE_ADVERSARIAL, 0);
}

/* ---- laws ----------------------------------------------------------------------------------- */

/* A tree of calls; what can be seen of an execution is how it ended, whose value it has, and of a
 * join how many leaves had their effect: how far a loser gets before it is cancelled is nobody's
 * promise. A law holds when two trees have the same set of these, over all schedules. */
typedef enum shape { OK_LEAF, ERR_LEAF, NEVER, JOIN, RACE, FIRST } shape;

typedef struct tree {
    shape shape;
    int id;
    const struct tree *kids[2];
} tree;

static asx_status sleeps_for_ever(asx_cx *cx)
{
    return asx_sleep(cx, 100 * ASX_SEC);
}

static asx_status evaluate(asx_cx *cx, void *arg)
{
    const tree *t = arg;
    asx_join_result result = { .value = 0 };
    if (t->shape == NEVER)
        return sleeps_for_ever(cx);
    if (t->shape == OK_LEAF || t->shape == ERR_LEAF) {
        (void)asx_lab_fetch_add(cx, &f.x, 1);
        (void)asx_task_set_value(cx, (uint64_t)t->id);
        return t->shape == OK_LEAF ? ASX_OK : ASX_E_NOT_FOUND;
    }
    const asx_branch both[] = { { "left", evaluate, (void *)(uintptr_t)t->kids[0] },
                                { "right", evaluate, (void *)(uintptr_t)t->kids[1] } };
    asx_status st = t->shape == JOIN   ? asx_join_all(cx, both, 2, NULL, NULL, NULL)
                    : t->shape == RACE ? asx_race_all(cx, both, 2, NULL, NULL, &result)
                                       : asx_first_ok(cx, both, 2, NULL, NULL, &result);
    (void)asx_task_set_value(cx, result.value);
    return st;
}

static void see_tree(asx_cx *cx, void *arg)
{
    const tree *t = arg;
    asx_branch branch = { "tree", evaluate, (void *)(uintptr_t)t };
    asx_join_result result;
    f.x = 0;
    (void)asx_lab_expect(cx, ASX_E_NOT_FOUND);
    asx_status st = asx_join_all(cx, &branch, 1, NULL, &result, NULL);
    asx_lab_check(cx, st == ASX_OK || st == ASX_E_NOT_FOUND);
    unsigned value = (unsigned)result.value & 3;
    unsigned effects = t->shape == JOIN ? (unsigned)f.x & 3 : 0;
    f.seen |= UINT64_C(1) << (32u * (st != ASX_OK) + 4 * value + effects);
}

static uint64_t seen_of(const tree *t)
{
    asx_explore_options options = { .trust_reduction = true };
    f.seen = 0;
    asx_explore_result result = classes_explore(see_tree, (void *)(uintptr_t)t, &options);
    CHECK(result.complete);
    CHECK_EQ(result.totals.bugs + result.totals.deadlocks, 0);
    CHECK(f.seen != 0);
    return f.seen;
}

ASX_TEST_TIMEOUT(associative_in_every_schedule, 120)
{
    static const shape calls[] = { JOIN, RACE, FIRST };
    for (unsigned c = 0; c < 3; c++) {
        for (unsigned errs = 0; errs < 8; errs++) {
            tree leaf[3];
            for (int i = 0; i < 3; i++)
                leaf[i] = (tree){ errs >> i & 1 ? ERR_LEAF : OK_LEAF, i + 1, { NULL, NULL } };
            tree ab = { calls[c], 0, { &leaf[0], &leaf[1] } };
            tree bc = { calls[c], 0, { &leaf[1], &leaf[2] } };
            tree left = { calls[c], 0, { &ab, &leaf[2] } };
            tree right = { calls[c], 0, { &leaf[0], &bc } };
            CHECK_EQ(seen_of(&left), seen_of(&right));
        }
    }
}

ASX_TEST_TIMEOUT(units_change_nothing_in_any_schedule, 120)
{
    static const tree never = { NEVER, 0, { NULL, NULL } };
    for (int i = 0; i < 2; i++) {
        tree leaf = { i == 0 ? OK_LEAF : ERR_LEAF, 1, { NULL, NULL } };
        tree race[2] = { { RACE, 0, { &leaf, &never } }, { RACE, 0, { &never, &leaf } } };
        uint64_t alone = seen_of(&leaf);
        CHECK_EQ(seen_of(&race[0]), alone);
        CHECK_EQ(seen_of(&race[1]), alone);
    }
    tree ok = { OK_LEAF, 1, { NULL, NULL } };
    tree first = { FIRST, 0, { &never, &ok } };
    CHECK_EQ(seen_of(&first), seen_of(&ok));
}
