/* support_leaf.h - a branch that sleeps and then ends as it was told, and remembers what happened;
 * and programs on a virtual clock. */
#ifndef ASX_TESTS_FLOW_LEAF_H
#define ASX_TESTS_FLOW_LEAF_H

#include <asx/asx.h>

#include "harness.h"

typedef struct leaf {
    uint64_t sleep_ms;
    asx_status status;
    uint64_t value;
    bool panic;
    /* what happened */
    unsigned begun, ended;
    asx_time began_at;
    asx_status slept;
    asx_cancel_kind why;
} leaf;

static inline asx_status run_leaf(asx_cx *cx, void *arg)
{
    leaf *l = arg;
    l->begun++;
    l->began_at = asx_now(cx);
    l->slept = asx_sleep(cx, l->sleep_ms * ASX_MS);
    if (l->slept == ASX_E_CANCELLED) {
        const asx_cancel_reason *reason;
        CHECK_STATUS(asx_cx_cancel_reason(cx, &reason), ASX_OK);
        l->why = reason->kind;
    }
    l->ended++;
    if (l->slept < 0)
        return l->slept;
    if (l->panic)
        asx_panic(cx, "a leaf that panics");
    CHECK_STATUS(asx_task_set_value(cx, l->value), ASX_OK);
    return l->status;
}

#define BRANCH(leaf_) { #leaf_, run_leaf, &(leaf_) }

static inline void program_with(const asx_runtime_config *config, asx_task_fn fn, void *arg)
{
    asx_runtime *rt;
    asx_stats stats;
    CHECK_STATUS(asx_runtime_create(config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, fn, arg), ASX_OK);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_STATUS(asx_runtime_stats(rt, &stats), ASX_OK);
    CHECK_EQ(stats.tasks_live, 0);
    CHECK_EQ(stats.obligations_reserved, 0);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static inline void program(asx_task_fn fn, void *arg)
{
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL };
    program_with(&config, fn, arg);
}

/* Runs fn(cx, arg) in a task that is cancelled at 10 ms, and waits for it. */
typedef struct victim {
    asx_task_fn fn;
    void *arg;
} victim;

static inline asx_status cancel_at_ten(asx_cx *cx, void *arg)
{
    victim *v = arg;
    asx_region region;
    asx_task task;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&region, v->fn, v->arg, NULL, &task), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 10 * ASX_MS), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&task, NULL), ASX_OK);
    ASX_IGNORE(asx_region_close(&region, ASX_OK));
    return ASX_OK;
}

#endif
