/* asx__lock itself on model atomics, futexes included. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__LOCK_SPINS_MAX 1u
#include "base/atomic.h"

#include "harness.h"

static asx__lock lock;
static model_data data;
static unsigned rounds = 1;

static void reset(void)
{
    asx__lock_init(&lock);
    model_write(&data, 0);
}

static void add(void)
{
    for (unsigned i = 0; i < rounds; i++) {
        asx__lock_take(&lock);
        model_write(&data, model_read(&data) + 1);
        asx__lock_drop(&lock);
    }
}

static void all_added(void)
{
    MODEL_ASSERT(!asx__lock_is_held(&lock));
}

static model_program program(unsigned threads, unsigned preemptions, unsigned delays)
{
    return (model_program){
        .name = "lock", .threads = threads, .setup = reset, .thread = { add, add, add },
        .check = all_added, .preemptions = preemptions, .delays = delays,
    };
}

ASX_TEST(two_threads_take_turns)
{
    rounds = 2;
    model_program p = program(2, MODEL_ALL, 4);
    model_holds(&p);
}

ASX_TEST(three_threads_take_turns)
{
    model_program p = program(3, MODEL_ALL, 2);
    model_holds(&p);
}

ASX_TEST(every_order_of_the_lock_is_needed)
{
    static const char *const spared[] = { NULL };
    model_program p = program(3, MODEL_ALL, 2);
    model_visit(&p);
    model_weaken_all((const model_program *[]){ &p, NULL }, "base/atomic.h", spared);
}

ASX_TEST(a_lock_that_leaves_sleepers_is_found)
{
    model_program p = program(3, MODEL_ALL, 2);
    model_visit(&p);
    model_plant(MODEL_SKIP, "asx__lock_drop", "futex wake &lock->word", 0);
    model_breaks(&p, "no wake");
    model_heal();
    model_plant(MODEL_TEAR, "asx__lock_try", "cas &lock->word", 0);
    model_breaks(&p, "two can take it");
    model_heal();
}
