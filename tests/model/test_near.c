/* Near calls on model atomics, against others who enter the engine: the latch of sched/near.h.
 *
 * A worker's own is touched by one at a time, whoever is inside included, and in order. A cancel
 * that has returned is seen by every call that begins later. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__LOCK_SPINS_MAX 1u
#define ASX__LEASE_SPINS 0u
#define ASX__LEASE_HEAVY_BARRIER() ((void)0)
#define ASX__LEASE_PAUSE(times) ((void)(times), asx__cpu_relax())
#define ASX__LATCH_PATIENCE 1u
#define ASX__BELL_LOOKS 1u
#define ASX__BELL_PAUSE() ((void)0)
#define ASX__BELL_CLOCK_NS() UINT64_MAX
#include "sched/near.h"

#include "harness.h"

static asx__lock engine;
static asx__latch *seized;        /* under the lock */
static asx__outside outside;      /* of the worker */
static asx__near own;             /* likewise */
static asx__task task;
static asx__atomic_u32 cancelled; /* the cancel has returned */
static model_data list;           /* what is the worker's own */
static unsigned steps;

static void reset(void)
{
    asx__lock_init(&engine);
    seized = NULL;
    asx__latch_init(&own.latch);
    asx__atomic_init(&outside.task, &task);
    asx__atomic_init(&own.open, 1u);
    own.left = 8;
    asx__atomic_init(&cancelled, 0u);
    model_write(&list, 0);
    task.flags = 0;
    steps = 0;
}

static void touch(void)
{
    model_write(&list, model_read(&list) + 1);
    steps++;
}

/* ---- others --------------------------------------------------------------------------------- */

static void enter(void)
{
    asx__lock_take(&engine);
    (void)asx__near_seize(&own, &seized);
    touch();
}

static void leave(void)
{
    asx__latches_release(&seized);
    asx__lock_drop(&engine);
}

static void visit(void)
{
    enter();
    leave();
}

/* It need not be stopped any more. */
static void close_it(void)
{
    enter();
    asx__store_relaxed(&own.open, 0u);
    leave();
    enter();
    leave();
}

static void visit_twice(void)
{
    visit();
    visit();
}

static void cancel(void)
{
    enter();
    task.flags |= ASX__T_CANCEL;
    asx__outside_call_in(&outside, &task);
    leave();
    asx__store_release(&cancelled, 1u);
}

/* ---- the worker ------------------------------------------------------------------------------ */

static void call(void)
{
    bool was = asx__load_acquire(&cancelled) != 0;
    if (asx__near_take(&outside, &own, &task)) {
        MODEL_ASSERT(!was);
        touch();
        asx__latch_drop(&own.latch);
        return;
    }
    asx__lock_take(&engine); /* as enter_slow() and let_out() of the engine do */
    asx__store_relaxed(&outside.task, NULL);
    asx__store_relaxed(&own.open, 0u);
    touch();
    if ((task.flags & ASX__T_NO_OUTING) == 0) {
        asx__store_relaxed(&outside.task, &task);
        asx__store_relaxed(&own.open, 1u);
    }
    asx__latches_release(&seized);
    asx__lock_drop(&engine);
}

static void call_twice(void)
{
    call();
    call();
}

static void at_rest(void)
{
    MODEL_ASSERT(model_read(&list) == steps);
    MODEL_ASSERT(asx__load_relaxed(&own.latch.word) == ASX__LATCH_FREE && seized == NULL);
}

static model_program program(const char *name, void (*b)(void), void (*c)(void),
                             unsigned preemptions, unsigned delays)
{
    return (model_program){
        .name = name, .threads = c != NULL ? 3 : 2, .setup = reset,
        .thread = { call_twice, b, c }, .check = at_rest, .preemptions = preemptions,
        .delays = delays,
    };
}

ASX_TEST_TIMEOUT(one_at_a_time_has_what_is_a_workers_own, 120)
{
    model_program p = program("calls, visits", visit_twice, NULL, 4, 3);
    model_holds(&p);
    model_program q = program("calls, visit, cancel", visit, cancel, 3, 2);
    model_holds(&q);
    model_program r = program("calls, closed", close_it, NULL, 4, 3);
    model_holds(&r);
}

ASX_TEST_TIMEOUT(faults_of_near_calls_are_found, 120)
{
    model_program p = program("calls, visits", visit_twice, NULL, 3, 2);
    model_program q = program("calls, visit, cancel", visit, cancel, 2, 2);
    model_holds(&p);
    model_holds(&q);
    model_plant(MODEL_TEAR, "asx__latch_try", "cas &latch->word", 0);
    model_breaks(&p, "two find the latch free");
    model_heal();
    model_plant(MODEL_PRETEND, "asx__near_seize", "load &near->open", 0);
    model_breaks(&p, "whoever enters does not see that calls are made");
    model_heal();
    model_plant(MODEL_SKIP, "asx__latches_release", "store &latch->word", 0);
    model_breaks(&p, "who leaves keeps the latch");
    model_heal();
    model_plant(MODEL_PRETEND, "asx__near_may", "load &out->task", (uint64_t)(uintptr_t)&task);
    model_breaks(&q, "no look at the task under the latch");
    model_heal();
    model_program r = program("calls, closed", close_it, NULL, 3, 2);
    model_holds(&r);
    model_plant(MODEL_PRETEND, "asx__near_take", "load &near->open", 1);
    model_breaks(&r, "no look under the latch whether it was closed");
    model_heal();
}

ASX_TEST_TIMEOUT(every_order_is_needed, 300)
{
    static const char *const spared[] = { NULL };
    model_program p = program("calls, visits", visit_twice, NULL, 3, 2);
    model_program q = program("calls, visit, cancel", visit, cancel, 2, 2);
    const model_program *all[] = { &p, &q, NULL };
    for (int i = 0; all[i] != NULL; i++)
        model_holds(all[i]);
    model_weaken_all(all, "sched/latch.h", spared);
}
