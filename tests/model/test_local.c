/* The lists of workers, and who robs whom, on model atomics: sched/local.h and the steps of
 * sched/hot.h under an engine.
 *
 * The first task makes two more, one for its worker's list and one that it keeps to run next; a
 * visitor injects one. Two workers run what they have, then what was injected, then what the other
 * has. Each task runs once, on the processor of one worker; and nobody sleeps while there is one.
 * What exec.h asserts is a failure here, too. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__MODEL_LOCKS
#define ASX__BELL_LOOKS 1u
#define ASX__BELL_PAUSE() ((void)0)
#define ASX__BELL_CLOCK_NS() UINT64_MAX
#include "sched/bell.h"
#include "sched/hot.h"
#include "sched/local.h"

#include <string.h>

#include "harness.h"

#define WORKERS 2
#define VISITOR WORKERS
#define TASKS 4

/* Faults: a step without the engine. */
enum { ROBS_OUTSIDE = 1, INJECTS_OUTSIDE = 2, WAKES_NOBODY = 4 };

static asx__lock engine;
static asx_runtime rt;
static asx__node local[WORKERS + 1];
static asx__task *next_up[WORKERS];  /* while their registers are not loaded, as the lists */
static unsigned loaded;
static asx__task tasks[TASKS];
static model_data runs[TASKS];       /* of whoever runs it */
static asx__bell bells[WORKERS];
static bool asleep[WORKERS];
static unsigned ended, expected;
static model_data lists;             /* all of them: touched at every step */
static unsigned faults;
enum { INJECTED, ROBBED, KEPT, WAYS };
static unsigned found[WAYS];         /* how work was found elsewhere, in all executions */

static void touch(void)
{
    model_write(&lists, model_read(&lists) + 1);
}

static void reset(void)
{
    memset(&rt, 0, sizeof rt);
    memset(tasks, 0, sizeof tasks);
    asx__lock_init(&engine);
    asx__list_init(&rt.ready.queue[0]);
    rt.hot = ASX__HOT;
    for (unsigned i = 0; i <= WORKERS; i++)
        asx__list_init(&local[i]);
    for (unsigned i = 0; i < WORKERS; i++) {
        asx__bell_init(&bells[i], ASX__WORKER_ACTIVE);
        asleep[i] = false;
        next_up[i] = NULL;
    }
    for (unsigned i = 0; i < TASKS; i++)
        model_write(&runs[i], 0);
    loaded = VISITOR;
    ended = 0;
    model_write(&lists, 0);
    asx__enqueue(&rt, &tasks[0]);
}

/* ---- the engine ----------------------------------------------------------------------------- */

static void enter_as(unsigned who)
{
    asx__lock_take(&engine);
    touch();
    if (loaded == who)
        return;
    if (loaded != VISITOR) {
        next_up[loaded] = rt.next_up;
        rt.next_up = NULL;
    }
    asx__local_exchange(&rt.ready.queue[0], &local[loaded], &local[who]);
    if (who != VISITOR) {
        rt.next_up = next_up[who];
        next_up[who] = NULL;
    }
    loaded = who;
}

static bool holds_any(void)
{
    bool any = !asx__list_empty(&rt.ready.queue[0]) || rt.next_up != NULL;
    for (unsigned i = 0; i <= WORKERS; i++)
        any = any || !asx__list_empty(&local[i]) || (i < WORKERS && next_up[i] != NULL);
    return any;
}

static void leave(void)
{
    asx__bell *bell = NULL;
    bool wakes = (holds_any() || ended == expected) && (faults & WAKES_NOBODY) == 0;
    touch();
    for (unsigned i = 0; i < WORKERS && wakes && bell == NULL; i++) {
        if (!asleep[i])
            continue;
        asleep[i] = false;
        bell = &bells[i];
        asx__bell_ring(bell);
    }
    asx__lock_drop(&engine);
    if (bell != NULL)
        asx__bell_rouse(bell);
}

/* ---- workers -------------------------------------------------------------------------------- */

static asx__task *pop(void)
{
    asx__node *ready = &rt.ready.queue[0];
    asx__task *task = rt.next_up;
    rt.next_up = NULL;
    if (task == NULL && !asx__list_empty(ready))
        task = (asx__task *)asx__list_pop_front(ready);
    return task;
}

/* Of what was injected one, of the other's two, and at last what that one keeps. */
static void steal(unsigned self)
{
    asx__node *ready = &rt.ready.queue[0];
    unsigned other = 1 - self;
    touch();
    if (asx__local_rob(&local[VISITOR], ready) != NULL) {
        found[INJECTED]++;
        return;
    }
    if (asx__local_rob(&local[other], ready) != NULL) {
        (void)asx__local_rob(&local[other], ready);
        found[ROBBED]++;
        return;
    }
    asx__task *kept = next_up[other];
    next_up[other] = NULL;
    if (kept == NULL)
        return;
    found[KEPT]++;
    asx__enqueue_again(&rt, kept);
}

/* Inside; its code runs outside, and the first one makes others. */
static void run(unsigned self, asx__task *task)
{
    asx__exec_run(&rt, task);
    leave();
    model_data *count = &runs[task - tasks];
    model_write(count, model_read(count) + 1);
    enter_as(self);
    if (task == &tasks[0]) {
        asx__enqueue(&rt, &tasks[1]);
        asx__exec_queue(&tasks[2]);
        rt.next_up = &tasks[2];
        leave(); /* and its code goes on */
        enter_as(self);
    }
    asx__exec_set(task, ASX__EXEC_DONE);
    ended++;
}

static void worker(void)
{
    unsigned self = model_self();
    enter_as(self);
    while (ended < expected) {
        asx__task *task = pop();
        if (task == NULL) {
            if (faults & ROBS_OUTSIDE)
                asx__lock_drop(&engine);
            steal(self);
            if (faults & ROBS_OUTSIDE)
                enter_as(self);
            task = pop();
        }
        if (task != NULL) {
            run(self, task);
            continue;
        }
        asleep[self] = true;
        uint32_t seen = asx__bell_lie_down(&bells[self], false);
        leave();
        (void)asx__bell_sleep(&bells[self], seen, ASX__FUTEX_FOREVER);
        enter_as(self);
        asleep[self] = false;
    }
    leave();
}

static void visitor(void)
{
    if ((faults & INJECTS_OUTSIDE) == 0)
        enter_as(VISITOR);
    touch();
    asx__enqueue(&rt, &tasks[3]);
    if (faults & INJECTS_OUTSIDE)
        enter_as(VISITOR);
    leave();
}

static void each_has_run_once(void)
{
    for (unsigned i = 0; i < expected; i++) {
        MODEL_ASSERT(runs[i].value == 1);
        MODEL_ASSERT(tasks[i].exec == ASX__EXEC_DONE);
    }
    MODEL_ASSERT(!holds_any());
}

static void three(void)
{
    expected = 3;
    reset();
}

static void four(void)
{
    expected = 4;
    reset();
}

static const model_program two_workers = {
    .name = "two workers", .threads = 2, .setup = three, .thread = { worker, worker },
    .check = each_has_run_once, .preemptions = MODEL_ALL, .delays = 0,
};

static const model_program and_a_visitor = {
    .name = "two workers and a visitor", .threads = 3, .setup = four,
    .thread = { worker, worker, visitor }, .check = each_has_run_once, .preemptions = 3,
    .delays = 1,
};

ASX_TEST_TIMEOUT(each_task_runs_once_whoever_has_it, 120)
{
    model_holds(&two_workers);
    model_holds(&and_a_visitor);
    for (unsigned i = 0; i < WAYS; i++)
        CHECK(found[i] > 0); /* all of them were seen */
}

ASX_TEST_TIMEOUT(a_step_without_the_engine_is_found, 120)
{
    faults = ROBS_OUTSIDE;
    model_breaks(&two_workers, "robs without the engine");
    faults = INJECTS_OUTSIDE;
    model_breaks(&and_a_visitor, "injects without the engine");
    faults = 0;
}

ASX_TEST_TIMEOUT(work_that_nobody_is_told_of_is_found, 120)
{
    faults = WAKES_NOBODY;
    model_breaks(&and_a_visitor, "leaves work to those who sleep");
    faults = 0;
}
