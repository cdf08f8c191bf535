/* The model against the classical small programs: what memory may do must be found, and what it may
 * not do must not. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__MODEL_LOCKS
#include "base/atomic.h"

#include "harness.h"

static asx__atomic_u32 x, y;
static uint32_t r1, r2, r3, r4;
static unsigned variant; /* orders of the program that runs */
static model_data data;
static asx__lock lock;

static void reset(void)
{
    asx__atomic_init(&x, 0u);
    asx__atomic_init(&y, 0u);
    asx__lock_init(&lock);
    r1 = r2 = r3 = r4 = 0;
    model_write(&data, 0);
}

/* ---- store buffering ------------------------------------------------------------------------ */

enum { WEAK, ORDERED, FENCED };

static void buffer_1(void)
{
    if (variant == ORDERED)
        asx__store_seq_cst(&x, 1u);
    else
        asx__store_release(&x, 1u);
    if (variant == FENCED)
        asx__fence_seq_cst();
    r1 = variant == ORDERED ? asx__load_seq_cst(&y) : asx__load_acquire(&y);
}

static void buffer_2(void)
{
    if (variant == ORDERED)
        asx__store_seq_cst(&y, 1u);
    else
        asx__store_release(&y, 1u);
    if (variant == FENCED)
        asx__fence_seq_cst();
    r2 = variant == ORDERED ? asx__load_seq_cst(&x) : asx__load_acquire(&x);
}

static void one_saw_the_other(void)
{
    MODEL_ASSERT(r1 == 1 || r2 == 1);
}

static const model_program buffering = {
    .name = "store buffering", .threads = 2, .setup = reset, .thread = { buffer_1, buffer_2 },
    .check = one_saw_the_other, .preemptions = MODEL_ALL, .delays = 4,
};

ASX_TEST(stores_may_be_late)
{
    variant = WEAK;
    model_breaks(&buffering, "release and acquire");
}

ASX_TEST(sequentially_consistent_stores_are_not_late)
{
    variant = ORDERED;
    model_holds(&buffering);
    variant = FENCED;
    model_holds(&buffering);
}

/* ---- message passing ------------------------------------------------------------------------ */

static void send(void)
{
    model_write(&data, 7);
    asx__store_relaxed(&x, 7u);
    if (variant == ORDERED)
        asx__store_release(&y, 1u);
    else
        asx__store_relaxed(&y, 1u);
}

static void receive(void)
{
    if (asx__load_acquire(&y) == 1) {
        MODEL_ASSERT(asx__load_relaxed(&x) == 7);
        MODEL_ASSERT(model_read(&data) == 7);
    }
}

static const model_program passing = {
    .name = "message passing", .threads = 2, .setup = reset, .thread = { send, receive },
    .preemptions = MODEL_ALL, .delays = 4,
};

ASX_TEST(a_release_shows_what_was_written_before)
{
    variant = ORDERED;
    model_holds(&passing);
    model_plant(MODEL_WEAKEN, "receive", "load &y", memory_order_relaxed);
    model_breaks(&passing, "the load is relaxed");
    model_heal();
    variant = WEAK;
    model_breaks(&passing, "the store is relaxed");
}

/* Through a third thread that adds in between: a read-modify-write passes the release on. */
static void add(void)
{
    if (variant == ORDERED)
        (void)asx__fetch_add_relaxed(&y, 2u);
    else if (asx__load_relaxed(&y) == 1)
        asx__store_relaxed(&y, 3u);
}

static void send_to_three(void)
{
    model_write(&data, 7);
    asx__store_release(&y, 1u);
}

static void receive_three(void)
{
    if (asx__load_acquire(&y) == 3)
        MODEL_ASSERT(model_read(&data) == 7);
}

static const model_program sequence = {
    .name = "release sequence", .threads = 3, .setup = reset,
    .thread = { send_to_three, add, receive_three }, .preemptions = MODEL_ALL, .delays = 4,
};

ASX_TEST(a_read_modify_write_continues_a_release_and_a_store_does_not)
{
    variant = ORDERED;
    model_holds(&sequence);
    variant = WEAK;
    model_breaks(&sequence, "a store in between");
}

/* Relaxed accesses between two fences. */
static void fence_send(void)
{
    model_write(&data, 7);
    if (variant == FENCED)
        asx__fence_seq_cst();
    asx__store_relaxed(&y, 1u);
}

static void fence_receive(void)
{
    if (asx__load_relaxed(&y) != 1)
        return;
    asx__fence_seq_cst();
    MODEL_ASSERT(model_read(&data) == 7);
}

static const model_program fences = {
    .name = "fences", .threads = 2, .setup = reset, .thread = { fence_send, fence_receive },
    .preemptions = MODEL_ALL, .delays = 4,
};

ASX_TEST(fences_release_and_acquire)
{
    variant = FENCED;
    model_holds(&fences);
    variant = WEAK;
    model_breaks(&fences, "one fence");
}

/* ---- coherence, order of writes ------------------------------------------------------------- */

static void write_once(void)
{
    asx__store_relaxed(&x, 1u);
    asx__store_relaxed(&x, 2u);
}

static void read_twice(void)
{
    uint32_t first = asx__load_relaxed(&x);
    uint32_t second = asx__load_relaxed(&x);
    MODEL_ASSERT(second >= first);
}

ASX_TEST(one_object_is_never_seen_going_back)
{
    static const model_program p = {
        .name = "coherence", .threads = 3, .setup = reset,
        .thread = { write_once, read_twice, read_twice }, .preemptions = MODEL_ALL, .delays = 6,
    };
    model_holds(&p);
}

static void write_xy(void)
{
    asx__store_relaxed(&x, 1u);
    asx__store_relaxed(&y, 2u);
}

static void write_yx(void)
{
    asx__store_relaxed(&y, 1u);
    asx__store_relaxed(&x, 2u);
}

static void not_both_first(void)
{
    MODEL_ASSERT(!(asx__load_relaxed(&x) == 1 && asx__load_relaxed(&y) == 1));
}

ASX_TEST(a_delayed_store_can_be_overtaken)
{
    static const model_program p = {
        .name = "two and two writes", .threads = 2, .setup = reset,
        .thread = { write_xy, write_yx }, .check = not_both_first, .preemptions = MODEL_ALL,
        .delays = 4,
    };
    model_breaks(&p, "relaxed");
}

/* Independent readers of independent writers. */
static void write_x(void)
{
    if (variant == ORDERED)
        asx__store_seq_cst(&x, 1u);
    else
        asx__store_release(&x, 1u);
}

static void write_y(void)
{
    if (variant == ORDERED)
        asx__store_seq_cst(&y, 1u);
    else
        asx__store_release(&y, 1u);
}

static void read_xy(void)
{
    r1 = variant == ORDERED ? asx__load_seq_cst(&x) : asx__load_acquire(&x);
    r2 = variant == ORDERED ? asx__load_seq_cst(&y) : asx__load_acquire(&y);
}

static void read_yx(void)
{
    r3 = variant == ORDERED ? asx__load_seq_cst(&y) : asx__load_acquire(&y);
    r4 = variant == ORDERED ? asx__load_seq_cst(&x) : asx__load_acquire(&x);
}

static void readers_agree(void)
{
    MODEL_ASSERT(!(r1 == 1 && r2 == 0 && r3 == 1 && r4 == 0));
}

ASX_TEST(independent_readers_agree_if_everything_is_sequentially_consistent)
{
    static const model_program p = {
        .name = "independent readers", .threads = 4, .setup = reset,
        .thread = { write_x, write_y, read_xy, read_yx }, .check = readers_agree,
        .preemptions = MODEL_ALL, .delays = 4,
    };
    variant = ORDERED;
    model_holds(&p);
    variant = WEAK;
    model_breaks(&p, "release and acquire");
}

/* ---- what the explorer itself must find ------------------------------------------------------ */

static void count(void)
{
    (void)asx__fetch_add_relaxed(&x, 1u);
}

static void counted_three(void)
{
    MODEL_ASSERT(asx__load_relaxed(&x) == 3);
}

ASX_TEST(a_read_modify_write_is_one_step_unless_it_is_torn)
{
    static const model_program p = {
        .name = "counter", .threads = 3, .setup = reset, .thread = { count, count, count },
        .check = counted_three, .preemptions = MODEL_ALL, .delays = 3,
    };
    model_holds(&p);
    model_plant(MODEL_TEAR, "count", "ASX__RMW_ADD &x", 0);
    model_breaks(&p, "torn");
    model_heal();
    model_holds(&p);
}

static void write_under_lock(void)
{
    if (variant == ORDERED)
        asx__lock_take(&lock);
    model_write(&data, model_read(&data) + 1);
    if (variant == ORDERED)
        asx__lock_drop(&lock);
}

static void wrote_twice(void)
{
    MODEL_ASSERT(model_read(&data) == 2);
}

ASX_TEST(data_without_a_lock_is_a_race)
{
    static const model_program p = {
        .name = "data", .threads = 2, .setup = reset,
        .thread = { write_under_lock, write_under_lock }, .check = wrote_twice,
        .preemptions = MODEL_ALL, .delays = 3,
    };
    variant = ORDERED;
    model_holds(&p);
    variant = WEAK;
    model_breaks(&p, "no lock");
}

static void sleep_on_x(void)
{
    while (asx__load_acquire(&x) == 0)
        (void)asx__futex_wait(&x, 0, ASX__FUTEX_FOREVER);
}

static void wake_x(void)
{
    asx__store_release(&x, 1u);
    asx__futex_wake(&x, 1);
}

ASX_TEST(a_wake_that_is_not_made_is_a_deadlock)
{
    static const model_program p = {
        .name = "futex", .threads = 2, .setup = reset, .thread = { sleep_on_x, wake_x },
        .preemptions = MODEL_ALL, .delays = 2,
    };
    model_holds(&p);
    model_plant(MODEL_SKIP, "wake_x", "futex wake &x", 0);
    model_breaks(&p, "no wake");
    model_heal();
}

static void sleep_with_deadline(void)
{
    if (!asx__futex_wait(&x, 0, 1000))
        r1 = 1;
}

static void nobody_late(void)
{
    MODEL_ASSERT(r1 == 0);
}

ASX_TEST(a_deadline_can_pass_at_any_time)
{
    static const model_program p = {
        .name = "deadline", .threads = 2, .setup = reset, .thread = { sleep_with_deadline, wake_x },
        .check = nobody_late, .preemptions = MODEL_ALL, .delays = 2,
    };
    model_breaks(&p, "late");
}

static void spin_on_x(void)
{
    while (asx__load_acquire(&x) == 0)
        asx__cpu_relax();
}

ASX_TEST(whoever_spins_lets_others_go)
{
    static const model_program p = {
        .name = "spin", .threads = 3, .setup = reset, .thread = { spin_on_x, spin_on_x, wake_x },
        .preemptions = MODEL_ALL, .delays = 3,
    };
    model_holds(&p);
}

static void spin_for_ever(void)
{
    while (asx__load_acquire(&y) == 0)
        asx__cpu_relax();
}

ASX_TEST(spinning_for_ever_is_found)
{
    static const model_program p = {
        .name = "spin for ever", .threads = 2, .setup = reset, .thread = { spin_for_ever, wake_x },
        .preemptions = MODEL_ALL,
    };
    model_breaks(&p, "nobody sets it");
}

/* How many schedules there are is known: two threads of two steps each have 6 interleavings. */
static void two_steps(void)
{
    asx__store_relaxed(&x, 1u);
    asx__store_relaxed(&y, 1u);
}

ASX_TEST(every_interleaving_is_visited_once)
{
    static const struct { unsigned preemptions; uint64_t executions; } rows[] = {
        { 0, 2 }, { 1, 4 }, { 2, 6 }, { 9, 6 },
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        model_program p = {
            .name = "interleavings", .threads = 2, .setup = reset,
            .thread = { two_steps, two_steps }, .preemptions = rows[i].preemptions,
        };
        model_result r;
        model_explore(&p, &r);
        CHECK(r.complete);
        CHECK_EQ(r.executions, rows[i].executions);
    }
}
