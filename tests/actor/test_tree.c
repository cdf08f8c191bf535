/* test_tree.c - trees of supervisors: nesting, and crashes at random on several workers. */
#include <asx/asx.h>

#include <string.h>

#include "base/rng.h"
#include "harness.h"

/* ---- nested --------------------------------------------------------------------------------- */

typedef struct part {
    uint32_t runs, fails; /* it fails in its first `fails` runs */
} part;

static asx_status run_part(asx_cx *cx, void *arg)
{
    part *p = arg;
    asx_status st = asx_sleep(cx, ++p->runs <= p->fails ? ASX_MS : 100 * ASX_SEC);
    return st < 0 ? st : ASX_E_FULL;
}

typedef struct inner_supervisor {
    part part;
    uint32_t runs;
    asx_status got;
    asx_supervised_end end;
} inner_supervisor;

static asx_status run_inner(asx_cx *cx, void *arg)
{
    inner_supervisor *s = arg;
    asx_supervised child = { .name = "part", .fn = run_part, .arg = &s->part };
    s->runs++;
    s->got = asx_supervise(cx, &child, 1, NULL, &s->end);
    return s->got;
}

static asx_status run_outer(asx_cx *cx, void *arg)
{
    inner_supervisor *s = arg;
    asx_supervised children[] = { { .name = "left", .fn = run_inner, .arg = &s[0] },
                             { .name = "right", .fn = run_inner, .arg = &s[1] } };
    asx_supervised_end ends[2];
    asx_status st = asx_supervise(cx, children, 2, NULL, ends);
    CHECK_EQ(ends[0].state, ASX_SUPERVISED_ENDED);
    CHECK_STR_EQ(asx_supervised_state_str(ends[1].state), "ended");
    CHECK(asx_supervised_state_str(ASX_SUPERVISED_STATE_COUNT) == NULL);
    return st;
}

static asx_status nested(asx_cx *cx, void *arg)
{
    inner_supervisor *s = arg;
    asx_region r;
    asx_task task;
    asx_join_result result;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, run_outer, s, NULL, &task), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 50 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&task, NULL), ASX_OK);
    CHECK_STATUS(asx_join(cx, &task, &result), ASX_OK);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    return result.outcome.status;
}

static asx_status run_nested(inner_supervisor *s)
{
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    asx_status st = asx_runtime_run(rt, nested, s);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return st;
}

/* Three failures: the inner one restarts once, gives up, is restarted by the outer one, and the
 * third failure is its first. */
ASX_TEST(a_supervisor_that_gives_up_is_a_child_that_failed)
{
    inner_supervisor s[2] = { { .part.fails = 3 }, { .part.fails = 0 } };
    CHECK_STATUS(run_nested(s), ASX_E_CANCELLED);
    CHECK_EQ(s[0].runs, 2);
    CHECK_EQ(s[0].part.runs, 4);
    CHECK_EQ(s[1].runs, 1);
    CHECK_EQ(s[1].part.runs, 1);
    CHECK_STATUS(s[0].got, ASX_E_CANCELLED);
    CHECK_EQ(s[0].end.outcome.kind, ASX_OUTCOME_CANCELLED);
}

ASX_TEST(and_the_outer_one_gives_up_in_turn)
{
    inner_supervisor s[2] = { { .part.fails = 99 }, { .part.fails = 0 } };
    CHECK_STATUS(run_nested(s), ASX_E_BUDGET_EXHAUSTED);
    CHECK_EQ(s[0].runs, 2);
    CHECK_EQ(s[0].part.runs, 4);
    CHECK_STATUS(s[0].got, ASX_E_BUDGET_EXHAUSTED);
    CHECK_STATUS(s[1].got, ASX_E_CANCELLED); /* it was stopped */
}

/* ---- chaos ---------------------------------------------------------------------------------- */

enum { GROUPS = 10, MEMBERS = 10 };

typedef struct member {
    asx__rng rng;
    _Atomic uint32_t running; /* its runs do not overlap */
} member;

static member members[GROUPS][MEMBERS];
static _Atomic uint32_t crashes, alive;
static uint32_t crashes_wanted;

static asx_status leaves(asx_cx *cx, void *arg)
{
    member *m = arg;
    (void)cx;
    CHECK_EQ(m->running--, 1u);
    alive--;
    return ASX_OK;
}

static asx_status crashes_now_and_then(asx_cx *cx, void *arg)
{
    member *m = arg;
    CHECK_EQ(m->running++, 0u);
    alive++;
    asx_status st = asx_task_defer(cx, leaves, m);
    if (st < 0) {
        (void)leaves(cx, m);
        return st;
    }
    for (;;) {
        st = asx_yield(cx);
        if (st < 0)
            return st;
        if (asx__rng_below(&m->rng, 100) != 0)
            continue;
        crashes++;
        if (asx__rng_below(&m->rng, 4) == 0)
            asx_panic(cx, "chaos");
        return ASX_E_FULL;
    }
}

static const asx_supervisor_options busy = { .restarts_max = 500, .period_ns = 1 };

static asx_status supervises_group(asx_cx *cx, void *arg)
{
    size_t g = (size_t)(uintptr_t)arg;
    asx_supervised children[MEMBERS];
    asx_supervisor_options options = busy;
    options.strategy = (asx_strategy)(g % 3);
    for (int i = 0; i < MEMBERS; i++)
        children[i] = (asx_supervised){ .name = "member", .fn = crashes_now_and_then,
                                   .arg = &members[g][i] };
    return asx_supervise(cx, children, MEMBERS, &options, NULL);
}

static asx_status supervises_groups(asx_cx *cx, void *arg)
{
    asx_supervised children[GROUPS];
    (void)arg;
    for (uintptr_t g = 0; g < GROUPS; g++)
        children[g] = (asx_supervised){ .name = "group", .fn = supervises_group, .arg = (void *)g };
    return asx_supervise(cx, children, GROUPS, &busy, NULL);
}

static uint64_t memory_now(asx_cx *cx)
{
    asx_stats stats;
    CHECK_STATUS(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    return stats.memory_bytes;
}

static asx_status chaos(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_task task;
    uint64_t early = 0;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, supervises_groups, NULL, NULL, &task), ASX_OK);
    while (crashes < crashes_wanted) {
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
        if (early == 0 && crashes > crashes_wanted / 5)
            early = memory_now(cx);
    }
    uint64_t late = memory_now(cx);
    CHECK(late < early + early / 4 + 65536); /* flat: not with the number of crashes */
    CHECK_STATUS(asx_task_cancel(&task, NULL), ASX_OK);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    CHECK_EQ(alive, 0u);
    return ASX_OK;
}

static void run_chaos(uint32_t workers)
{
    asx_runtime *rt;
    asx_runtime_config config = { .workers = workers };
    crashes = 0;
    alive = 0;
    crashes_wanted = 10000 / asx_test_scale();
    for (uint64_t g = 0; g < GROUPS; g++) {
        for (uint64_t i = 0; i < MEMBERS; i++) {
            members[g][i].running = 0;
            asx__rng_seed(&members[g][i].rng, 100 * g + i + 1);
        }
    }
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, chaos, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST_TIMEOUT(ten_thousand_crashes_leave_the_tree_as_it_is_specified, 120)
{
    run_chaos(1);
    run_chaos(4);
}
