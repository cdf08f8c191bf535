/* Park and wake on model atomics: one task that waits twice, wakers for either wait, a cancel.
 *
 * The task is a thread; while it is parked that thread is its worker, which waits for it to come
 * into the run queue. Conditions and the waiters' tickets are under a lock, as in a channel. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__MODEL_LOCKS
#include "sched/wakeword.h"

#include "harness.h"

#define WAITS 2

/* Faults in how the protocol is used; those inside of it are planted. */
enum { NO_LOOK_FOR_CANCEL = 1, PUBLISH_AFTER_COMMIT = 2, NO_TICKET = 4 };

static asx__wakeword word;
static asx__lock lock;
static bool condition[WAITS];       /* under the lock */
static uint64_t waiter[WAITS];      /* under the lock: a ticket, 0: none */
static asx__atomic_u32 cancelled;
static asx__atomic_u32 queue;       /* 1: the task is in it */
static model_data stack;            /* of whoever owns the task */
static unsigned faults;
static unsigned waits;

static void reset(void)
{
    asx__wakeword_init(&word);
    asx__wakeword_spawn(&word);
    asx__wakeword_run(&word);
    asx__lock_init(&lock);
    for (unsigned i = 0; i < WAITS; i++) {
        condition[i] = false;
        waiter[i] = 0;
    }
    asx__atomic_init(&cancelled, 0u);
    asx__atomic_init(&queue, 0u);
    model_write(&stack, 0);
}

static void once(void)
{
    waits = 1;
    reset();
}

static void twice(void)
{
    waits = 2;
    reset();
}

/* By whoever has claimed the task. */
static void enqueue(void)
{
    model_write(&stack, model_read(&stack) + 1);
    asx__wakeword_ready(&word);
    MODEL_ASSERT(asx__wakeword_is_runnable(&word));
    MODEL_ASSERT(asx__exchange_release(&queue, 1u) == 0);
    asx__futex_wake(&queue, 1);
}

/* The worker waits for it, and runs it again. */
static void dispatch(void)
{
    while (asx__load_acquire(&queue) == 0)
        (void)asx__futex_wait(&queue, 0, ASX__FUTEX_FOREVER);
    asx__store_relaxed(&queue, 0u);
    asx__wakeword_run(&word);
    model_write(&stack, model_read(&stack) + 1);
}

static bool publish(unsigned i, uint64_t ticket)
{
    asx__lock_take(&lock);
    bool refused = condition[i];
    if (!refused)
        waiter[i] = ticket;
    asx__lock_drop(&lock);
    return !refused;
}

static bool is_over(unsigned i)
{
    if (asx__load_seq_cst(&cancelled) != 0)
        return true;
    asx__lock_take(&lock);
    bool over = condition[i];
    waiter[i] = 0;
    asx__lock_drop(&lock);
    return over;
}

static void wait_for(unsigned i)
{
    model_write(&stack, 10 + i);
    uint64_t ticket = asx__wakeword_park_begin(&word);
    bool late = (faults & PUBLISH_AFTER_COMMIT) != 0;
    if (((faults & NO_LOOK_FOR_CANCEL) == 0 && asx__load_seq_cst(&cancelled) != 0) ||
        (!late && !publish(i, ticket))) {
        asx__wakeword_park_abort(&word);
        return;
    }
    model_write(&stack, 20 + i);
    bool mine = asx__wakeword_park_commit(&word, ticket);
    if (late)
        (void)publish(i, ticket);
    if (mine)
        enqueue();
    dispatch();
    MODEL_ASSERT(is_over(i)); /* else another wait's waker has ended this one */
}

static void task(void)
{
    for (unsigned i = 0; i < waits && asx__load_relaxed(&cancelled) == 0; i++)
        wait_for(i);
    asx__wakeword_end(&word, false);
}

static void signal_condition(unsigned i)
{
    asx__lock_take(&lock);
    condition[i] = true;
    uint64_t ticket = waiter[i];
    asx__lock_drop(&lock);
    if (ticket == 0)
        return;
    bool mine = faults & NO_TICKET ? asx__wakeword_interrupt(&word)
                                   : asx__wakeword_wake(&word, ticket);
    if (mine)
        enqueue();
}

static void signal_first(void)
{
    signal_condition(0);
}

static void signal_both(void)
{
    signal_condition(0);
    signal_condition(1);
}

static void cancel(void)
{
    asx__store_seq_cst(&cancelled, 1u);
    if (asx__wakeword_interrupt(&word))
        enqueue();
}

static void task_has_ended(void)
{
    MODEL_ASSERT(asx__wake_state_of(asx__load_relaxed(&word.word)) == ASX__WAKE_DONE);
    MODEL_ASSERT(asx__load_relaxed(&queue) == 0);
}

#define PROGRAM(name_, setup_, n_, a_, b_, c_, preemptions_, delays_)                              \
    static const model_program name_ = {                                                           \
        .name = #name_, .threads = n_, .setup = setup_, .thread = { task, a_, b_, c_ },            \
        .check = task_has_ended, .preemptions = preemptions_, .delays = delays_,                   \
    }

PROGRAM(one_waker, once, 2, signal_first, NULL, NULL, MODEL_ALL, 4);
PROGRAM(one_cancel, once, 2, cancel, NULL, NULL, MODEL_ALL, 4);
PROGRAM(two_wakers, once, 3, signal_first, signal_first, NULL, MODEL_ALL, 2);
PROGRAM(waker_and_cancel, once, 3, signal_first, cancel, NULL, MODEL_ALL, 2);
PROGRAM(late_waker, twice, 3, signal_both, signal_first, NULL, MODEL_ALL, 0);
PROGRAM(late_waker_weakly, twice, 3, signal_both, signal_first, NULL, 2, 2);
PROGRAM(two_wakers_briefly, once, 3, signal_first, signal_first, NULL, 2, 1);
PROGRAM(briefly, twice, 3, signal_both, signal_first, NULL, 1, 1);
PROGRAM(everyone, twice, 4, signal_first, signal_both, cancel, 2, 1);

ASX_TEST(a_wake_is_not_lost)
{
    model_holds(&one_waker);
    model_holds(&one_cancel);
}

ASX_TEST_TIMEOUT(two_wakers_queue_it_once, 120)
{
    model_holds(&two_wakers);
    model_holds(&waker_and_cancel);
}

ASX_TEST_TIMEOUT(a_late_waker_does_not_end_a_later_wait, 120)
{
    model_holds(&late_waker);
    model_holds(&late_waker_weakly);
}

ASX_TEST_TIMEOUT(wakers_of_both_waits_and_a_cancel, 120)
{
    model_holds(&everyone);
}

static const model_program *const all[] = { &one_cancel, &two_wakers_briefly, &briefly, NULL };

ASX_TEST_TIMEOUT(every_order_is_needed, 120)
{
    /* The queue releases too. */
    static const char *const spared[] = {
        "asx__wakeword_move: store &w->word relaxed",
        "asx__wakeword_spawn: store &w->word relaxed",
        NULL,
    };
    model_visit(&briefly);
    model_visit(&one_cancel);
    model_weaken_all(all, "sched/wakeword.h", spared);
}

ASX_TEST(wrong_uses_are_found)
{
    faults = NO_LOOK_FOR_CANCEL;
    model_breaks(&one_cancel, "no look for a cancel after park_begin");
    faults = PUBLISH_AFTER_COMMIT;
    model_breaks(&one_waker, "published after it has parked");
    faults = NO_TICKET;
    model_breaks(&late_waker, "no ticket");
    faults = 0;
}

ASX_TEST(faults_of_the_protocol_are_found)
{
    model_visit(&briefly);
    model_plant(MODEL_PRETEND, "asx__wakeword_park_commit", "load &w->pending", 0);
    model_breaks(&two_wakers, "no look at pending");
    model_heal();
    model_plant(MODEL_PRETEND, "asx__wakeword_wake", "load &w->word", 0);
    model_breaks(&two_wakers, "the waker does not look again");
    model_heal();
    model_plant(MODEL_PRETEND, "asx__wakeword_raise", "load &w->pending", 0);
    model_plant(MODEL_BLIND, "asx__wakeword_raise", "cas &w->pending", 0);
    model_breaks(&late_waker, "pending is a plain store");
    model_heal();
    model_plant(MODEL_TEAR, "asx__wakeword_claim", "cas &w->word", 0);
    model_breaks(&two_wakers, "two make the claim");
    model_heal();
    model_plant(MODEL_BLIND, "asx__wakeword_claim", "cas &w->word", 0);
    model_breaks(&two_wakers, "a claim of what is not parked");
    model_heal();
}
