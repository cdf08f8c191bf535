/* Park and wake as a shared runtime does them, on model atomics: the steps of sched/exec.h and
 * sched/hot.h under an engine.
 *
 * A task waits for two events, one after the other, and is run by whichever of two workers comes to
 * it. Wakers come with the events; a late one has a ticket for the first wait only; a cancel may
 * come instead. The task goes on when its event has come, or it was cancelled, and not otherwise;
 * nobody else is on its stack; and it comes to its end. What exec.h asserts is a failure here, too.
 */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__MODEL_LOCKS
#define ASX__BELL_LOOKS 1u
#define ASX__BELL_PAUSE() ((void)0)
#define ASX__BELL_CLOCK_NS() UINT64_MAX
#include "sched/bell.h"
#include "sched/hot.h"

#include <string.h>

#include "harness.h"

#define EVENTS 2
#define WORKERS_MAX 2

/* Faults: what happens in one hold of the engine is taken apart, or left out. */
enum {
    LOOKS_BEFORE = 1,    /* whether the event has come; parks in a hold of its own */
    PUBLISHES_LATER = 2, /* parks, and can be found in a later hold */
    ON_ITS_STACK = 4,    /* leaves its stack after the engine has been left */
    NO_TICKET = 8,       /* a late waker takes any wait for its own */
    TWO_CLAIMS = 16,     /* two wakers of one event, and the first leaves it published */
    CANCEL_BEFORE = 32,  /* looks for a cancel in an earlier hold */
};

static asx__lock engine;
static asx_runtime rt;
static asx__task task;
static asx__bell bells[WORKERS_MAX];
static bool asleep[WORKERS_MAX];    /* L, as all that follows */
static asx__waitable events[EVENTS];
static const asx__waitable_ops event_ops = { .kind = 1 };
static bool has_come[EVENTS], over, cancelled;
static asx__task *waiter[EVENTS];
static unsigned at;                 /* the event that the task waits for next */
static bool told;                   /* it was woken by a cancel */
static model_data stack;            /* the task's */
static unsigned workers, faults;

static void reset(void)
{
    memset(&rt, 0, sizeof rt);
    memset(&task, 0, sizeof task);
    asx__lock_init(&engine);
    asx__list_init(&rt.ready.queue[0]);
    rt.hot = ASX__HOT;
    for (unsigned i = 0; i < WORKERS_MAX; i++) {
        asx__bell_init(&bells[i], ASX__WORKER_ACTIVE);
        asleep[i] = false;
    }
    for (unsigned i = 0; i < EVENTS; i++) {
        events[i].ops = &event_ops;
        has_come[i] = false;
        waiter[i] = NULL;
    }
    over = cancelled = told = false;
    at = 0;
    model_write(&stack, 0);
    task.exec = ASX__EXEC_INIT;
    asx__enqueue(&rt, &task);
}

static void enter(void)
{
    asx__lock_take(&engine);
}

/* Nobody leaves something runnable to those who sleep. */
static void leave(void)
{
    asx__bell *bell = NULL;
    for (unsigned i = 0; i < workers && bell == NULL; i++) {
        if (!asleep[i] || (!over && asx__list_empty(&rt.ready.queue[0])))
            continue;
        asleep[i] = false;
        bell = &bells[i];
        asx__bell_ring(bell);
    }
    asx__lock_drop(&engine);
    if (bell != NULL)
        asx__bell_rouse(bell);
}

/* ---- the task ------------------------------------------------------------------------------- */

static void between_holds(unsigned fault)
{
    if ((faults & fault) == 0)
        return;
    leave();
    enter();
}

static void publish(void)
{
    waiter[at] = &task;
}

/* Inside. False: it has parked, and its stack is left. */
static bool wait_for_event(void)
{
    bool cancel = cancelled;
    between_holds(CANCEL_BEFORE);
    if (cancel || ((faults & CANCEL_BEFORE) == 0 && cancelled)) {
        told = true;
        return true;
    }
    bool come = has_come[at];
    between_holds(LOOKS_BEFORE);
    if (come)
        return true;
    if ((faults & PUBLISHES_LATER) == 0)
        publish();
    asx__park_in(&task, &events[at], NULL);
    between_holds(PUBLISHES_LATER);
    if (faults & PUBLISHES_LATER)
        publish();
    return false;
}

/* Its code, on its own stack; outside before and after. False: it has parked. */
static bool go_on(void)
{
    while (at < EVENTS && !told) {
        model_write(&stack, model_read(&stack) + 1);
        enter();
        if (!wait_for_event())
            return false;
        bool ends = told;
        at += !ends;
        leave();
    }
    return true;
}

/* ---- workers -------------------------------------------------------------------------------- */

/* Inside, and again when it returns. */
static void run(asx__task *next)
{
    asx__exec_run(&rt, next);
    if (next->w.status == ASX_E_CANCELLED)
        told = true;
    else if (next->w.status == ASX_OK && at < EVENTS && has_come[at])
        at++;
    else
        MODEL_ASSERT(at == 0 && model_read(&stack) == 0); /* else nobody had a reason to wake it */
    leave();
    if (!go_on()) {
        if (faults & ON_ITS_STACK) {
            leave();
            model_write(&stack, model_read(&stack) + 1);
            enter();
        }
        return; /* the switch: with the engine held */
    }
    enter();
    asx__exec_set(next, ASX__EXEC_DONE);
    over = true;
}

static void worker(void)
{
    unsigned self = model_self();
    enter();
    while (!over) {
        if (!asx__list_empty(&rt.ready.queue[0])) {
            run((asx__task *)asx__list_pop_front(&rt.ready.queue[0]));
            continue;
        }
        asleep[self] = true;
        uint32_t seen = asx__bell_lie_down(&bells[self], false);
        leave();
        (void)asx__bell_sleep(&bells[self], seen, ASX__FUTEX_FOREVER);
        enter();
        asleep[self] = false;
    }
    leave();
}

/* ---- who wakes it --------------------------------------------------------------------------- */

/* Inside: what asx__wake() does with a fiber. */
static void wake(asx__task *woken)
{
    asx__exec_claim(woken);
    woken->w.status = ASX_OK;
    asx__enqueue(&rt, woken);
}

static void come(unsigned event)
{
    enter();
    has_come[event] = true;
    asx__task *woken = waiter[event];
    if ((faults & TWO_CLAIMS) == 0)
        waiter[event] = NULL;
    if (woken != NULL)
        wake(woken);
    leave();
}

static void come_first(void)
{
    come(0);
}

static void come_both(void)
{
    come(0);
    come(1);
}

/* As a timer: it has not found the task in a list. */
static void late_waker(void)
{
    enter();
    has_come[0] = true;
    bool its_own = faults & NO_TICKET ? task.exec == ASX__EXEC_PARKED
                                      : asx__waits_for(&task, &events[0]);
    if (its_own) {
        waiter[at] = NULL;
        wake(&task);
    }
    leave();
}

static void cancel(void)
{
    enter();
    cancelled = true;
    if (task.exec == ASX__EXEC_PARKED) {
        waiter[at] = NULL;
        asx__exec_claim(&task);
        task.w.status = ASX_E_CANCELLED;
        asx__enqueue(&rt, &task);
    }
    leave();
}

static void has_ended(void)
{
    MODEL_ASSERT(over && task.exec == ASX__EXEC_DONE);
    MODEL_ASSERT(asx__list_empty(&rt.ready.queue[0]));
    MODEL_ASSERT(told || at == EVENTS);
    MODEL_ASSERT(!told || cancelled);
}

/* ---- programs ------------------------------------------------------------------------------- */

static void one_worker(void)
{
    workers = 1;
    reset();
}

static void two_workers(void)
{
    workers = 2;
    reset();
}

#define PROGRAM(...) MODEL_PROGRAM(has_ended, __VA_ARGS__)

PROGRAM(one, one_worker, 2, worker, come_both, NULL, NULL, MODEL_ALL, 1);
PROGRAM(two, two_workers, 3, worker, worker, come_both, NULL, 3, 1);
PROGRAM(two_wakers, one_worker, 3, worker, come_both, come_first, NULL, MODEL_ALL, 0);
PROGRAM(late, one_worker, 3, worker, come_both, late_waker, NULL, MODEL_ALL, 0);
PROGRAM(late_on_two, two_workers, 4, worker, worker, come_both, late_waker, 2, 0);
PROGRAM(cancelled_only, one_worker, 2, worker, cancel, NULL, NULL, MODEL_ALL, 1);
PROGRAM(cancelled_and_woken, one_worker, 3, worker, come_both, cancel, NULL, MODEL_ALL, 0);
PROGRAM(cancelled_on_two, two_workers, 4, worker, worker, come_first, cancel, 2, 0);

ASX_TEST_TIMEOUT(a_task_is_woken_by_what_it_waits_for_and_by_nothing_else, 120)
{
    model_holds(&one);
    model_holds(&two);
    model_holds(&two_wakers);
    model_holds(&late);
    model_holds(&late_on_two);
}

ASX_TEST_TIMEOUT(a_cancel_is_seen_or_wakes, 120)
{
    model_holds(&cancelled_only);
    model_holds(&cancelled_and_woken);
    model_holds(&cancelled_on_two);
}

ASX_TEST_TIMEOUT(a_hold_that_is_taken_apart_is_found, 120)
{
    faults = LOOKS_BEFORE;
    model_breaks(&one, "does not look once more when it parks");
    faults = PUBLISHES_LATER;
    model_breaks(&one, "can be found only after it has parked");
    faults = ON_ITS_STACK;
    model_breaks(&two, "is on its stack when it can be run elsewhere");
    faults = CANCEL_BEFORE;
    model_breaks(&cancelled_only, "looks for a cancel before it parks");
    faults = 0;
}

ASX_TEST_TIMEOUT(wakers_that_do_not_ask_are_found, 120)
{
    faults = NO_TICKET;
    model_breaks(&late, "a late waker has no ticket");
    faults = TWO_CLAIMS;
    model_breaks(&two_wakers, "two claim it");
    faults = 0;
}
