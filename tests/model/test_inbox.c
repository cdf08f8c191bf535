/* What other threads finish for the loop of one worker, on model atomics: sched/inbox.h.
 *
 * Every item that was put is taken once, with what was written to it, those of one thread in their
 * order; and the loop does not sleep on something that lies there. It is late for its first sleep
 * only, so that no later one covers up a ringing that was lost. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__MODEL_LOCKS
#include "sched/inbox.h"

#include "harness.h"

#define ITEMS 2

typedef struct item {
    asx__inbox_item in;
    model_data result;
    unsigned number;
} item;

static asx__inbox inbox;
static item items[ITEMS];
static asx__atomic_u32 given; /* items that have a thread */
static unsigned taken, last, deadlines;
static bool away;             /* the loop waits elsewhere ... */
static asx__atomic_u32 ended; /* ... which remembers that it is to end a wait */
static bool rings_first; /* a fault in how it is used; those inside of it are planted */

static void reset(void)
{
    asx__inbox_init(&inbox);
    asx__atomic_init(&given, 0u);
    asx__atomic_init(&ended, 0u);
    taken = last = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        items[i].number = i + 1;
        model_write(&items[i].result, 0);
    }
}

static void ring(void)
{
    if (!asx__inbox_ring(&inbox))
        return;
    asx__store_release(&ended, 1u);
    asx__futex_wake(&ended, 1);
}

static void put(void)
{
    item *it = &items[asx__fetch_add_relaxed(&given, 1u)];
    model_write(&it->result, 7);
    if (rings_first)
        ring();
    (void)asx__inbox_put(&inbox, &it->in);
    if (!rings_first)
        ring();
}

static void put_both(void)
{
    put();
    put();
}

static void drain(bool in_order)
{
    asx__inbox_item *next = asx__inbox_take(&inbox);
    while (next != NULL) {
        item *it = (item *)(void *)next;
        next = next->next;
        MODEL_ASSERT(model_read(&it->result) == 7);
        model_write(&it->result, 8);
        MODEL_ASSERT(!in_order || it->number == last + 1);
        last = it->number;
        taken++;
    }
}

static void loop(bool in_order)
{
    for (unsigned n = 0;; n++) {
        drain(in_order);
        if (taken == ITEMS)
            return;
        if (!away) {
            (void)asx__inbox_sleep(&inbox, n < deadlines ? 1000 : ASX__FUTEX_FOREVER);
            continue;
        }
        if (asx__inbox_go_away(&inbox))
            while (asx__exchange_acquire(&ended, 0u) == 0)
                (void)asx__futex_wait(&ended, 0u, ASX__FUTEX_FOREVER);
        asx__inbox_come_back(&inbox);
    }
}

static void loop_of_one(void)
{
    loop(true);
}

static void loop_of_two(void)
{
    loop(false);
}

static void all_taken(void)
{
    MODEL_ASSERT(taken == ITEMS);
    MODEL_ASSERT(asx__inbox_is_empty(&inbox));
    for (unsigned i = 0; i < ITEMS; i++)
        MODEL_ASSERT(items[i].result.value == 8);
}

static const model_program one_puts_two = {
    .name = "one puts two", .threads = 2, .setup = reset, .thread = { loop_of_one, put_both },
    .check = all_taken, .preemptions = MODEL_ALL, .delays = 2,
};

static const model_program two_put_one = {
    .name = "two put one", .threads = 3, .setup = reset, .thread = { loop_of_two, put, put },
    .check = all_taken, .preemptions = MODEL_ALL, .delays = 1,
};

ASX_TEST_TIMEOUT(nothing_is_left_lying_while_the_loop_sleeps, 120)
{
    model_holds(&one_puts_two);
    model_holds(&two_put_one);
}

ASX_TEST_TIMEOUT(a_loop_that_is_late_takes_all_the_same, 120)
{
    deadlines = 1;
    model_holds(&one_puts_two);
    model_holds(&two_put_one);
}

ASX_TEST_TIMEOUT(a_loop_that_waits_elsewhere_is_told_there, 120)
{
    away = true;
    model_holds(&one_puts_two);
    model_holds(&two_put_one);
    model_visit(&one_puts_two);
    model_plant(MODEL_PRETEND, "asx__inbox_go_away", "load &in->newest", 0);
    model_breaks(&one_puts_two, "no second look after it has said that it is away");
    model_heal();
    model_plant(MODEL_SKIP, "asx__inbox_go_away", "store &in->bell", 0);
    model_breaks(&one_puts_two, "away as one that is awake");
    model_heal();
}

ASX_TEST_TIMEOUT(every_order_of_who_waits_elsewhere_is_needed, 120)
{
    static const char *const spared[] = { "asx__inbox_ring: exchange &in->bell acq_rel", NULL };
    static const model_program *const programs[] = { &one_puts_two, &two_put_one, NULL };
    away = true;
    model_visit(&one_puts_two);
    model_visit(&two_put_one);
    model_weaken_all(programs, "sched/inbox.h", spared);
}

ASX_TEST_TIMEOUT(every_order_is_needed, 120)
{
    /* In the model an exchange comes between what is sequentially consistent where it is executed;
     * in C11 it does so only if it is that itself. */
    static const char *const spared[] = { "asx__inbox_ring: exchange &in->bell acq_rel", NULL };
    static const model_program *const programs[] = { &one_puts_two, &two_put_one, NULL };
    model_visit(&one_puts_two);
    model_visit(&two_put_one);
    model_weaken_all(programs, "sched/inbox.h", spared);
}

ASX_TEST_TIMEOUT(wrong_uses_are_found, 120)
{
    rings_first = true;
    model_breaks(&one_puts_two, "rings before it has put anything");
    rings_first = false;
}

ASX_TEST_TIMEOUT(faults_of_the_protocol_are_found, 120)
{
    model_visit(&one_puts_two);
    model_visit(&two_put_one);
    model_plant(MODEL_PRETEND, "asx__inbox_sleep", "load &in->newest", 0);
    model_breaks(&one_puts_two, "no second look after it has said that it sleeps");
    model_heal();
    model_plant(MODEL_SKIP, "asx__inbox_ring", "futex wake &in->bell", 0);
    model_breaks(&one_puts_two, "a ringing without its wake-up");
    model_heal();
    model_plant(MODEL_TEAR, "asx__inbox_put", "cas &in->newest", 0);
    model_breaks(&two_put_one, "two put at once");
    model_heal();
    model_plant(MODEL_TEAR, "asx__inbox_take", "exchange &in->newest", 0);
    model_breaks(&one_puts_two, "takes while another puts");
    model_heal();
}
