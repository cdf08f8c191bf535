// C++ exceptions of tasks that are suspended and migrate while they are under way: in catch blocks,
// nested ones, and in destructors that an exception runs. Whatever a task threw stays its own.
extern "C" {
#include "migrate.h"
}

#include <sys/wait.h>

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>

static std::atomic<int> alive; // exceptions that have not been destroyed

struct trouble {
    unsigned of, step;
    trouble(unsigned of_, unsigned step_) : of(of_), step(step_) { alive++; }
    trouble(const trouble &t) : of(t.of), step(t.step) { alive++; }
    ~trouble() { alive--; }
};

// No exception of somebody else is in sight.
static void check_clean()
{
    CHECK(std::current_exception() == nullptr);
    CHECK(std::uncaught_exceptions() == 0);
}

// ---- in a catch block --------------------------------------------------------------------------

static asx_status holds_one(asx_cx *cx, void *arg)
{
    member *me = static_cast<member *>(arg);
    while (crowd_goes_on(me)) {
        unsigned step = me->step;
        check_clean();
        try {
            try {
                throw trouble(me->number, step);
            } catch (const trouble &t) {
                for (int i = 0; i < 5; i++) {
                    std::exception_ptr before = std::current_exception();
                    suspend(cx, me);
                    CHECK(before != nullptr && before == std::current_exception());
                    CHECK(std::uncaught_exceptions() == 0);
                    CHECK(t.of == me->number && t.step == step);
                }
                throw;
            }
        } catch (const trouble &again) {
            suspend(cx, me);
            CHECK(again.of == me->number && again.step == step);
        }
        check_clean();
    }
    return ASX_OK;
}

static void check_holds_one(unsigned workers)
{
    crowd_live(holds_one, workers);
    CHECK(alive == 0);
    check_clean();
}

ASX_TEST_TIMEOUT(a_caught_exception_stays_with_its_task_across_migrations, 60)
{
    check_holds_one(WORKERS);
}

// ---- several of them, one inside the other ------------------------------------------------------

static void nest(asx_cx *cx, member *me, unsigned depth)
{
    try {
        throw trouble(me->number, depth);
    } catch (const trouble &t) {
        suspend(cx, me);
        if (depth < 4) {
            nest(cx, me, depth + 1);
            CHECK(std::current_exception() != nullptr);
        }
        suspend(cx, me);
        CHECK(t.of == me->number && t.step == depth);
        try {
            throw; // the innermost that is held: this one again
        } catch (const trouble &same) {
            CHECK(&same == &t);
            suspend(cx, me);
        }
    }
}

static asx_status nests(asx_cx *cx, void *arg)
{
    member *me = static_cast<member *>(arg);
    while (crowd_goes_on(me)) {
        nest(cx, me, 0);
        check_clean();
    }
    return ASX_OK;
}

ASX_TEST_TIMEOUT(exceptions_held_one_inside_the_other_are_left_in_order, 60)
{
    crowd_live(nests, WORKERS);
    CHECK(alive == 0);
}

// ---- in a destructor, while one is on its way ---------------------------------------------------

struct slow_end {
    asx_cx *cx;
    member *me;
    int on_the_way;
    ~slow_end()
    {
        for (int i = 0; i < 3; i++) {
            CHECK(std::uncaught_exceptions() == on_the_way);
            suspend(cx, me);
        }
        CHECK(std::uncaught_exceptions() == on_the_way);
        try { // one more, which does not get out
            slow_throw();
        } catch (const std::string &text) {
            suspend(cx, me);
            CHECK(text == "inside");
        }
        CHECK(std::uncaught_exceptions() == on_the_way);
    }
    void slow_throw()
    {
        suspend(cx, me);
        throw std::string("inside");
    }
};

static asx_status unwinds(asx_cx *cx, void *arg)
{
    member *me = static_cast<member *>(arg);
    while (crowd_goes_on(me)) {
        unsigned step = me->step;
        check_clean();
        try {
            slow_end outer = { cx, me, 1 };
            slow_end inner = { cx, me, 1 };
            throw trouble(me->number, step);
        } catch (const trouble &t) {
            CHECK(t.of == me->number && t.step == step);
        }
        check_clean();
        slow_end plain = { cx, me, 0 };
    }
    return ASX_OK;
}

ASX_TEST_TIMEOUT(an_exception_on_its_way_stays_with_its_task_across_migrations, 60)
{
    crowd_live(unwinds, WORKERS);
    CHECK(alive == 0);
}

// ---- one worker ---------------------------------------------------------------------------------

static asx_status turns(asx_cx *cx, void *arg)
{
    unsigned number = *static_cast<unsigned *>(arg);
    for (unsigned i = 0; i < 100; i++) {
        check_clean();
        try {
            throw trouble(number, i);
        } catch (const trouble &t) {
            CHECK(asx_yield(cx) == ASX_OK);
            CHECK(t.of == number && t.step == i);
            std::exception_ptr mine = std::current_exception();
            CHECK(asx_sleep(cx, 1000) == ASX_OK);
            CHECK(mine == std::current_exception());
        }
        CHECK(asx_yield(cx) == ASX_OK);
    }
    return ASX_OK;
}

static asx_status spawns_turns(asx_cx *cx, void *)
{
    asx_region r;
    unsigned numbers[8];
    check_clean();
    CHECK(asx_region_open(cx, nullptr, &r) == ASX_OK);
    for (unsigned i = 0; i < 8; i++) {
        numbers[i] = i;
        CHECK(asx_spawn(&r, "turns", turns, &numbers[i]) == ASX_OK);
    }
    return asx_region_close(&r, ASX_OK);
}

static void run_with(const asx_runtime_config &config, asx_task_fn fn, void *arg)
{
    asx_runtime *rt = nullptr;
    CHECK(asx_runtime_create(&config, &rt) == ASX_OK);
    CHECK(asx_runtime_run(rt, fn, arg) == ASX_OK);
    CHECK(asx_runtime_destroy(rt) == ASX_OK);
}

ASX_TEST(tasks_of_one_thread_hold_their_own_exceptions)
{
    asx_runtime_config config = asx_runtime_config();
    run_with(config, spawns_turns, nullptr);
    config.clock = ASX_CLOCK_VIRTUAL;
    run_with(config, spawns_turns, nullptr);
    config.trace = true;
    run_with(config, spawns_turns, nullptr);
    CHECK(alive == 0);
}

// ---- the host's ---------------------------------------------------------------------------------

static void run_in_catch(uint32_t workers)
{
    asx_runtime_config config = asx_runtime_config();
    config.workers = workers;
    try {
        try {
            throw trouble(99, 99);
        } catch (const trouble &) {
            std::exception_ptr mine = std::current_exception();
            run_with(config, spawns_turns, nullptr);
            CHECK(mine == std::current_exception());
            throw;
        }
    } catch (const trouble &t) {
        CHECK(t.of == 99 && alive == 1);
    }
    CHECK(alive == 0);
    check_clean();
}

ASX_TEST(a_runtime_may_be_run_in_a_catch_block)
{
    run_in_catch(1);
    run_in_catch(WORKERS);
}

// ---- those that are never left ------------------------------------------------------------------

// It is never freed; leak checkers are shown where it is.
static std::exception_ptr *lost[4];
static std::atomic<unsigned> lost_count;

static asx_status panics(asx_cx *cx, void *)
{
    try {
        throw trouble(1, 1);
    } catch (const trouble &) {
        lost[lost_count++] = new std::exception_ptr(std::current_exception());
        asx_panic(cx, "in a catch block");
    }
    return ASX_OK;
}

static asx_poll panics_polled(asx_cx *cx, void *arg)
{
    (void)panics(cx, arg);
    return ASX_POLL_READY;
}

static asx_status clean_cleanup(asx_cx *, void *)
{
    check_clean();
    return ASX_OK;
}

static asx_status outlives_panics(asx_cx *cx, void *)
{
    for (int i = 0; i < 2; i++) {
        asx_region r;
        asx_region_options options = asx_region_options();
        options.policy = ASX_POLICY_COLLECT;
        CHECK(asx_region_open(cx, &options, &r) == ASX_OK);
        CHECK(asx_defer(&r, clean_cleanup, nullptr) == ASX_OK);
        if (i == 0)
            CHECK(asx_spawn(&r, "panics", panics, nullptr) == ASX_OK);
        else
            CHECK(asx_spawn_poll(&r, "panics", panics_polled, nullptr) == ASX_OK);
        CHECK(asx_region_close(&r, ASX_OK) == ASX_E_PANICKED);
        check_clean();
    }
    return spawns_turns(cx, nullptr);
}

ASX_TEST(a_panic_in_a_catch_block_leaves_its_exception_to_nobody)
{
    asx_runtime_config config = asx_runtime_config();
    for (uint32_t workers = 1; workers <= 2; workers++) {
        config.workers = workers;
        run_with(config, outlives_panics, nullptr);
    }
}

// ---- poll tasks, and exceptions that travel -----------------------------------------------------

static asx_poll throws_polled(asx_cx *cx, void *arg)
{
    int *left = static_cast<int *>(arg);
    check_clean();
    try {
        throw trouble(0, static_cast<unsigned>(*left));
    } catch (const trouble &) {
        if (--*left > 0)
            return ASX_POLL_PENDING;
    }
    (void)cx;
    return ASX_POLL_READY;
}

static asx_status throws_in_turn(asx_cx *cx, void *)
{
    asx_region r;
    int left[2] = { 50, 50 };
    CHECK(asx_region_open(cx, nullptr, &r) == ASX_OK);
    CHECK(asx_spawn_poll(&r, "a", throws_polled, &left[0]) == ASX_OK);
    CHECK(asx_spawn_poll(&r, "b", throws_polled, &left[1]) == ASX_OK);
    CHECK(asx_region_close(&r, ASX_OK) == ASX_OK);
    CHECK(left[0] == 0 && left[1] == 0);
    return ASX_OK;
}

ASX_TEST(a_poll_function_may_throw_and_catch)
{
    asx_runtime_config config = asx_runtime_config();
    for (uint32_t workers = 1; workers <= 2; workers++) {
        config.workers = workers;
        run_with(config, throws_in_turn, nullptr);
    }
    CHECK(alive == 0);
}

static asx_status fails(asx_cx *cx, void *arg)
{
    try {
        (void)asx_yield(cx);
        throw trouble(7, 7);
    } catch (...) {
        *static_cast<std::exception_ptr *>(arg) = std::current_exception();
    }
    return ASX_OK;
}

static asx_status fetches(asx_cx *cx, void *)
{
    asx_region r;
    std::exception_ptr sent;
    CHECK(asx_region_open(cx, nullptr, &r) == ASX_OK);
    CHECK(asx_spawn(&r, "fails", fails, &sent) == ASX_OK);
    CHECK(asx_region_close(&r, ASX_OK) == ASX_OK);
    try {
        std::rethrow_exception(sent);
    } catch (const trouble &t) {
        (void)asx_yield(cx);
        CHECK(t.of == 7);
    }
    return ASX_OK;
}

ASX_TEST(an_exception_can_be_handed_to_another_task)
{
    asx_runtime_config config = asx_runtime_config();
    for (uint32_t workers = 1; workers <= 2; workers++) {
        config.workers = workers;
        run_with(config, fetches, nullptr);
    }
    CHECK(alive == 0);
}

// ---- one that gets out --------------------------------------------------------------------------

static asx_status lets_out(asx_cx *, void *)
{
    throw trouble(1, 2);
}

static void run_letting_out(void *)
{
    std::set_terminate([] { _exit(42); });
    run_with(asx_runtime_config(), lets_out, nullptr);
}

ASX_TEST(an_exception_that_leaves_a_fiber_terminates_the_program)
{
    CHECK(asx_test_death(run_letting_out, nullptr) == -42);
}
