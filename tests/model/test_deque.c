/* The deque of a worker on model atomics: nothing is lost, nothing is taken twice, and whoever
 * takes a task sees what was written to it. Two slots, so that numbers wrap around at once. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__DEQUE_SIZE 2u
#include "sched/deque.h"

#include "harness.h"

#define TASKS 6

typedef struct asx__task {
    model_data payload;
} asx__task;

static asx__deque deque;
static asx__task tasks[TASKS];
static unsigned taken[TASKS];
static unsigned pushed;

static void reset(void)
{
    asx__deque_init(&deque);
    pushed = 0;
    for (unsigned i = 0; i < TASKS; i++) {
        model_write(&tasks[i].payload, 0);
        taken[i] = 0;
    }
}

/* Of whoever has got it: nobody else may have touched it without our knowing. */
static void take(asx__task *task)
{
    size_t i = (size_t)(task - tasks);
    MODEL_ASSERT(i < TASKS);
    MODEL_ASSERT(model_read(&task->payload) == i + 1);
    model_write(&task->payload, 100);
    taken[i]++;
    MODEL_ASSERT(taken[i] == 1);
}

static bool push(void)
{
    asx__task *task = &tasks[pushed];
    model_write(&task->payload, pushed + 1);
    if (!asx__deque_push_owner(&deque, task)) {
        model_write(&task->payload, 0);
        return false;
    }
    pushed++;
    return true;
}

static void pop(void)
{
    asx__task *task = asx__deque_pop_owner(&deque);
    if (task != NULL)
        take(task);
}

static void shift(void)
{
    asx__task *task = asx__deque_shift_owner(&deque);
    if (task != NULL)
        take(task);
}

static void steal(void)
{
    asx__task *task;
    if (asx__deque_steal_remote(&deque, &task) == ASX__STEAL_TAKEN)
        take(task);
}

static void steal_twice(void)
{
    steal();
    steal();
}

static void steal_half(void)
{
    asx__task *some[2];
    uint32_t n = asx__deque_steal_half_remote(&deque, some, 2);
    for (uint32_t i = 0; i < n; i++)
        take(some[i]);
}

static void all_taken_once(void)
{
    asx__task *task;
    while ((task = asx__deque_pop_owner(&deque)) != NULL)
        taken[task - tasks]++;
    for (unsigned i = 0; i < TASKS; i++)
        MODEL_ASSERT(taken[i] == (i < pushed ? 1 : 0));
}

/* ---- owners --------------------------------------------------------------------------------- */

static void push_pop(void)
{
    push();
    pop();
    push();
    push();
    pop();
    pop();
}

static void push_shift_pop(void)
{
    push();
    push();
    shift();
    push();
    pop();
    pop();
}

static void push_pop_shift(void)
{
    push();
    push();
    pop();
    shift();
}

static void push_until_full(void)
{
    push();
    push();
    if (!push())
        pop();
    push();
    pop();
}

#define PROGRAM(name_, n_, owner_, thief_, preemptions_, delays_)                                  \
    static const model_program name_ = {                                                           \
        .name = #name_, .threads = n_, .setup = reset, .thread = { owner_, thief_, thief_ },       \
        .check = all_taken_once, .preemptions = preemptions_, .delays = delays_,                   \
    }

PROGRAM(one_thief, 2, push_pop, steal_twice, MODEL_ALL, 3);
PROGRAM(two_thieves, 3, push_pop, steal, MODEL_ALL, 2);
PROGRAM(both_ends, 2, push_shift_pop, steal_twice, MODEL_ALL, 3);
PROGRAM(both_ends_two_thieves, 3, push_shift_pop, steal, MODEL_ALL, 2);
PROGRAM(new_end_then_old_end, 2, push_pop_shift, steal_twice, MODEL_ALL, 3);
PROGRAM(full, 2, push_until_full, steal_twice, MODEL_ALL, 3);
PROGRAM(halves, 3, push_pop, steal_half, MODEL_ALL, 0);
PROGRAM(halves_weakly, 3, push_pop, steal_half, 2, 2);

ASX_TEST_TIMEOUT(nothing_is_lost_to_one_thief, 120)
{
    model_holds(&one_thief);
}

ASX_TEST_TIMEOUT(nothing_is_lost_to_two_thieves, 120)
{
    model_holds(&two_thieves);
}

ASX_TEST_TIMEOUT(an_owner_may_use_both_ends, 120)
{
    model_holds(&both_ends);
    model_holds(&both_ends_two_thieves);
    model_holds(&new_end_then_old_end);
}

ASX_TEST(slots_are_not_used_again_too_early)
{
    model_holds(&full);
}

ASX_TEST_TIMEOUT(halves_are_stolen_task_by_task, 120)
{
    model_holds(&halves);
    model_holds(&halves_weakly);
}

ASX_TEST_TIMEOUT(every_order_is_needed, 120)
{
    /* A load that is satisfied by a store which depends on it is not in the model. */
    static const char *const spared[] = { "asx__deque_push_owner: load &d->top relaxed", NULL };
    static const model_program *const programs[] = {
        &new_end_then_old_end, &both_ends_two_thieves, &full, NULL,
    };
    model_visit(&new_end_then_old_end); /* so that all sites are known */
    model_visit(&full);
    model_weaken_all(programs, "sched/deque.h", spared);
}

ASX_TEST(taking_without_deciding_is_found)
{
    model_visit(&new_end_then_old_end);
    model_visit(&full);
    model_plant(MODEL_TEAR, "asx__deque_steal_remote", "cas &d->top", 0);
    model_breaks(&both_ends_two_thieves, "two thieves take the same");
    model_heal();
    model_plant(MODEL_BLIND, "asx__deque_pop_owner", "cas &d->top", 0);
    model_breaks(&both_ends_two_thieves, "the owner takes the last one anyway");
    model_heal();
    model_plant(MODEL_PRETEND, "asx__deque_push_owner", "load &d->top", 2);
    model_breaks(&full, "pushed into a full deque");
    model_heal();
}
