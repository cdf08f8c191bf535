/* Workers that search, sleep and are woken, on model atomics.
 *
 * Two workers and somebody who puts two items, or two who put one each. The items need each other:
 * whoever has one keeps it until both are taken. So every item must find its worker, and whoever
 * sleeps while there is one shows as a deadlock. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__MODEL_LOCKS
#include "sched/idle.h"
#include "sched/inject.h"

#include "harness.h"

#define WORKERS 2
#define ITEMS 2

/* Faults in how the protocol is used; those inside of it are planted. */
enum { NO_SECOND_LOOK = 1, WAKE_BEFORE_PUT = 2, SEARCH_NOT_PASSED_ON = 4 };

typedef struct item {
    asx__node node;
    model_data payload;
} item;

static asx__idle idle;
static asx__seat seats[WORKERS];
static asx__inject queue;
static item items[ITEMS];
static asx__atomic_u32 put_so_far, taken, closing;
static uint64_t deadline;
static unsigned faults;

static void reset(void)
{
    asx__idle_init(&idle);
    asx__inject_init(&queue);
    for (unsigned i = 0; i < WORKERS; i++)
        asx__seat_init(&seats[i]);
    for (unsigned i = 0; i < ITEMS; i++)
        model_write(&items[i].payload, 0);
    asx__atomic_init(&put_so_far, 0u);
    asx__atomic_init(&taken, 0u);
    asx__atomic_init(&closing, 0u);
}

static bool work_in_sight(void)
{
    return asx__inject_len(&queue) > 0 || asx__load_relaxed(&closing) != 0;
}

/* The last who takes an item ends it all. */
static void use(item *it)
{
    MODEL_ASSERT(model_read(&it->payload) == 7);
    model_write(&it->payload, 8);
    uint32_t n = asx__fetch_add_acq_rel(&taken, 1u) + 1;
    if (n == ITEMS) {
        asx__futex_wake(&taken, WORKERS);
        asx__store_relaxed(&closing, 1u);
        asx__idle_wake_all(&idle);
        return;
    }
    while ((n = asx__load_acquire(&taken)) != ITEMS)
        (void)asx__futex_wait(&taken, n, ASX__FUTEX_FOREVER);
}

/* One round of a searcher. False: the end. */
static bool search(asx__seat *seat)
{
    item *it = (item *)(void *)asx__inject_take(&queue);
    if (it != NULL) {
        bool last = asx__idle_search_found(&idle);
        if (last && work_in_sight() && (faults & SEARCH_NOT_PASSED_ON) == 0)
            asx__idle_wake_one(&idle);
        use(it);
        asx__idle_search_begin(&idle);
        return true;
    }
    if (asx__load_relaxed(&closing) != 0) {
        bool last = asx__idle_search_found(&idle);
        MODEL_ASSERT(!last || asx__inject_len(&queue) == 0);
        return false;
    }
    asx__idle_sleep_begin(&idle, seat);
    if ((faults & NO_SECOND_LOOK) == 0 && work_in_sight())
        asx__idle_sleep_undo(&idle, seat);
    else
        asx__idle_sleep(&idle, seat, deadline);
    return true;
}

static void worker(void)
{
    asx__idle_search_begin(&idle);
    while (search(&seats[model_self()]))
        continue;
}

static void put(void)
{
    item *it = &items[asx__fetch_add_relaxed(&put_so_far, 1u)];
    model_write(&it->payload, 7);
    if (faults & WAKE_BEFORE_PUT)
        asx__idle_wake_one(&idle);
    asx__inject_put(&queue, &it->node);
    if ((faults & WAKE_BEFORE_PUT) == 0)
        asx__idle_wake_one(&idle);
}

static void put_both(void)
{
    put();
    put();
}

static void nobody_is_counted(void)
{
    MODEL_ASSERT(asx__load_relaxed(&idle.state) == 0);
    MODEL_ASSERT(asx__inject_len(&queue) == 0);
    MODEL_ASSERT(asx__list_empty(&idle.sleepers));
}

#define PROGRAM(name_, n_, a_, b_, preemptions_, delays_)                                          \
    static const model_program name_ = {                                                           \
        .name = #name_, .threads = n_, .setup = reset, .thread = { worker, worker, a_, b_ },       \
        .check = nobody_is_counted, .preemptions = preemptions_, .delays = delays_,                \
    }

PROGRAM(one_puts_two, 3, put_both, NULL, 2, 1);
PROGRAM(two_put_one, 4, put, put, 2, 0);
PROGRAM(two_put_one_weakly, 4, put, put, 1, 1);
PROGRAM(with_deadlines, 3, put_both, NULL, 2, 0);
PROGRAM(briefly, 3, put_both, NULL, 1, 1);

ASX_TEST_TIMEOUT(every_item_finds_its_worker, 120)
{
    deadline = ASX__FUTEX_FOREVER;
    model_holds(&one_puts_two);
    model_holds(&two_put_one);
    model_holds(&two_put_one_weakly);
}

ASX_TEST_TIMEOUT(being_late_and_being_woken_at_once_is_counted_once, 120)
{
    deadline = 1000;
    model_holds(&with_deadlines);
}

ASX_TEST_TIMEOUT(every_order_is_needed, 120)
{
    /* What a waker does to the worker: nothing, here. */
    static const char *const spared[] = {
        "asx__idle_wake_slow: store &seat->woken relaxed",
        "asx__idle_sleep: load &seat->woken relaxed",
        NULL,
    };
    static const model_program *const programs[] = { &briefly, NULL };
    deadline = ASX__FUTEX_FOREVER;
    model_visit(&briefly);
    model_weaken_all(programs, "sched/idle.h", spared);
}

ASX_TEST_TIMEOUT(wrong_uses_are_found, 120)
{
    deadline = ASX__FUTEX_FOREVER;
    faults = NO_SECOND_LOOK;
    model_breaks(&one_puts_two, "sleep without a second look");
    faults = WAKE_BEFORE_PUT;
    model_breaks(&one_puts_two, "looks for sleepers before it puts");
    faults = SEARCH_NOT_PASSED_ON;
    model_breaks(&one_puts_two, "the last searcher does not pass the search on");
    faults = 0;
}

ASX_TEST_TIMEOUT(faults_of_the_protocol_are_found, 120)
{
    deadline = ASX__FUTEX_FOREVER;
    model_visit(&briefly);
    model_plant(MODEL_SKIP, "asx__idle_wake_slow", "futex wake &seat->woken", 0);
    model_breaks(&one_puts_two, "a wake without its futex");
    model_heal();
    model_plant(MODEL_TEAR, "asx__idle_search_begin", "ASX__RMW_ADD &idle->state", 0);
    model_breaks(&one_puts_two, "searchers are miscounted");
    model_heal();
}
