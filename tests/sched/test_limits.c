/* The resource contract: each ceiling refuses, says so, and leaves everything as it was. */
#include "support_kit.h"

#include <string.h>

/* How much of it is there, and one more, refused. */
typedef struct ceiling {
    asx_limits limits;
    asx_status (*take)(asx_cx *cx, asx_region *r); /* one of it */
    unsigned free; /* how often it can be taken */
    bool sticks;   /* to the region it was asked of */
} ceiling;

static asx_status take_fiber(asx_cx *cx, asx_region *r)
{
    (void)cx;
    return asx_spawn(r, "t", kit_waiter, NULL);
}

static asx_poll poll_waits(asx_cx *cx, void *state)
{
    asx_waker waker;
    (void)state;
    CHECK_STATUS(asx_cx_waker(cx, &waker), ASX_OK);
    return asx_checkpoint(cx) < 0 ? ASX_POLL_READY : ASX_POLL_PENDING;
}

static asx_status take_poll(asx_cx *cx, asx_region *r)
{
    (void)cx;
    return asx_spawn_poll(r, "p", poll_waits, NULL);
}

static asx_region opened[64];
static unsigned opened_len;

static asx_status take_region(asx_cx *cx, asx_region *r)
{
    asx_region child;
    asx_status st = asx_region_open_in(cx, r, NULL, &child);
    if (st == ASX_OK)
        opened[opened_len++] = child;
    return st;
}

static asx_status take_obligation(asx_cx *cx, asx_region *r)
{
    asx_obligation o;
    (void)cx;
    return asx_obligation_reserve(r, ASX_OBLIGATION_KIND_PLAIN, &o);
}

static asx_status take_channel(asx_cx *cx, asx_region *r)
{
    asx_channel_sender tx;
    asx_channel_receiver rx;
    (void)cx;
    return asx_channel_create(r, sizeof(int), 1, NULL, &tx, &rx);
}

static void no_wake(void *arg)
{
    (void)arg;
}

static asx_timer_handle armed[64];
static unsigned armed_len;

static asx_status take_timer(asx_cx *cx, asx_region *r)
{
    asx_waker waker = { no_wake, NULL };
    asx_timer_handle handle;
    (void)r;
    asx_status st = asx_timer_register(asx_runtime_timers(asx_cx_runtime(cx)),
                                       asx_now(cx) + 3600 * ASX_SEC, waker, &handle);
    if (st == ASX_OK)
        armed[armed_len++] = handle;
    return st;
}

static asx_status to_the_ceiling(asx_cx *cx, void *arg)
{
    const ceiling *c = arg;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region r, q;
    opened_len = armed_len = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (unsigned i = 0; i < c->free; i++)
        CHECK_STATUS(c->take(cx, &r), ASX_OK);
    kit_all_wait(cx, &r);
    asx_stats before = kit_stats(rt);
    uint64_t digest = asx_runtime_digest(rt);
    for (int i = 0; i < 5; i++)
        CHECK_STATUS(c->take(cx, &r), ASX_E_RESOURCE_EXHAUSTED);
    asx_stats after = kit_stats(rt);
    CHECK_SAME_STATS(before, after);
    CHECK_EQ(asx_runtime_digest(rt), digest); /* nothing happened */
    while (opened_len > 0)
        CHECK_STATUS(asx_region_close(&opened[--opened_len], ASX_OK), ASX_OK);
    while (armed_len > 0)
        CHECK(asx_timer_cancel(asx_runtime_timers(rt), &armed[--armed_len]));
    CHECK_STATUS(asx_region_close(&r, c->sticks ? ASX_OK : ASX_E_EMPTY),
                 c->sticks ? ASX_E_RESOURCE_EXHAUSTED : ASX_E_EMPTY);
    CHECK_STATUS(asx_region_open(cx, NULL, &q), ASX_OK); /* room is room again */
    CHECK_STATUS(c->take(cx, &q), ASX_OK);
    while (opened_len > 0)
        CHECK_STATUS(asx_region_close(&opened[--opened_len], ASX_OK), ASX_OK);
    while (armed_len > 0)
        CHECK(asx_timer_cancel(asx_runtime_timers(rt), &armed[--armed_len]));
    CHECK_STATUS(asx_region_close(&q, ASX_E_EMPTY), ASX_E_EMPTY);
    return ASX_OK;
}

static void check_ceiling(ceiling c)
{
    for (int i = 0; i < 8; i++) {
        kit_heap heap = { 0 };
        asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL,
                                               i & 4 ? &heap : NULL);
        config.limits = c.limits;
        config.trace = (i & 2) != 0;
        CHECK_STATUS(kit_run(&config, to_the_ceiling, &c), ASX_OK);
        CHECK_EQ(heap.bytes, 0);
    }
}

ASX_TEST(tasks_are_refused_at_their_ceiling)
{
    check_ceiling((ceiling){ .limits = { .tasks_max = 6 }, .take = take_fiber, .free = 5,
                             .sticks = true });
    check_ceiling((ceiling){ .limits = { .tasks_max = 6 }, .take = take_poll, .free = 5,
                             .sticks = true });
}

ASX_TEST(the_ready_queue_is_bounded_at_admission)
{
    check_ceiling((ceiling){ .limits = { .ready_max = 6 }, .take = take_fiber, .free = 5,
                             .sticks = true });
}

ASX_TEST(the_cancel_queue_is_bounded_at_admission)
{
    check_ceiling((ceiling){ .limits = { .cancel_max = 6 }, .take = take_fiber, .free = 5,
                             .sticks = true });
}

ASX_TEST(stacks_are_refused_at_their_ceiling)
{
    check_ceiling((ceiling){ .limits = { .stacks_max = 6 }, .take = take_fiber, .free = 5,
                             .sticks = true });
}

ASX_TEST(regions_are_refused_at_their_ceiling)
{
    check_ceiling((ceiling){ .limits = { .regions_max = 7 }, .take = take_region, .free = 5,
                             .sticks = true });
}

ASX_TEST(obligations_are_refused_at_their_ceiling)
{
    check_ceiling((ceiling){ .limits = { .obligations_max = 5 }, .take = take_obligation,
                             .free = 5 });
}

ASX_TEST(channels_are_refused_at_their_ceiling)
{
    check_ceiling((ceiling){ .limits = { .channels_max = 5 }, .take = take_channel, .free = 5,
                             .sticks = true });
}

ASX_TEST(timers_are_refused_at_their_ceiling)
{
    asx_test_one_worker("raw timers");
    check_ceiling((ceiling){ .limits = { .timers_max = 5 }, .take = take_timer, .free = 5 });
}

/* Poll tasks need no stack, so the ceiling on stacks is not theirs. */
static asx_status no_stack_needed(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 100; i++)
        CHECK_STATUS(take_poll(cx, &r), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_E_EMPTY), ASX_E_EMPTY);
    return ASX_OK;
}

ASX_TEST(poll_tasks_are_not_bounded_by_stacks)
{
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.limits.stacks_max = 1;
    CHECK_STATUS(kit_run(&config, no_stack_needed, NULL), ASX_OK);
}

/* A stack that is kept for a task that panicked is in use. */
static asx_status kept_counts(asx_cx *cx, void *arg)
{
    asx_region r, q;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
                 ASX_OK);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(asx_spawn(&r, "p", kit_panics, NULL), ASX_OK);
    asx_stats stats;
    do { /* on several workers somebody else may have them */
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        stats = kit_stats(asx_cx_runtime(cx));
    } while (stats.tasks_live != 1);
    CHECK_EQ(stats.stacks_kept, 2);
    CHECK_EQ(stats.stacks_in_use, 3);
    CHECK_EQ(stats.tasks_live, 1);
    CHECK_STATUS(asx_region_open(cx, NULL, &q), ASX_OK);
    CHECK_STATUS(asx_spawn(&q, "no", kit_returns, NULL), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_region_close(&q, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_PANICKED);
    CHECK_STATUS(asx_region_open(cx, NULL, &q), ASX_OK);
    CHECK_STATUS(asx_spawn(&q, "yes", kit_returns, NULL), ASX_OK);
    return asx_region_close(&q, ASX_OK);
}

ASX_TEST(a_kept_stack_counts_against_the_ceiling)
{
    for (int real = 0; real < 2; real++) {
        asx_runtime_config config = kit_config(real ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.limits.stacks_max = 3;
        CHECK_STATUS(kit_run(&config, kept_counts, NULL), ASX_OK);
    }
}

/* A sleep needs a timer; a region's own clockwork does not ask the user's ceiling. */
static asx_status sleep_needs_timer(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    armed_len = 0;
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(take_timer(cx, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .timeout_ns = ASX_MS }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "w", kit_waiter, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_TIMEOUT);
    while (armed_len > 0)
        CHECK(asx_timer_cancel(asx_runtime_timers(asx_cx_runtime(cx)), &armed[--armed_len]));
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_sleep_obeys_the_ceiling_on_timers_a_regions_timeout_does_not)
{
    asx_test_one_worker("raw timers");
    for (int real = 0; real < 2; real++) {
        asx_runtime_config config = kit_config(real ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL, NULL);
        config.limits.timers_max = 3;
        CHECK_STATUS(kit_run(&config, sleep_needs_timer, NULL), ASX_OK);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

static asx_status take_memory(asx_cx *cx, asx_region *r)
{
    void *memory;
    (void)cx;
    return asx_region_alloc(r, 1000, &memory);
}

static asx_status take_big_channel(asx_cx *cx, asx_region *r)
{
    asx_channel_sender tx;
    asx_channel_receiver rx;
    (void)cx;
    return asx_channel_create(r, 100, 20, NULL, &tx, &rx);
}

/* These need nothing more when they run. */
static asx_poll poll_ends(asx_cx *cx, void *state)
{
    (void)cx;
    (void)state;
    return ASX_POLL_READY;
}

static asx_status take_idle_fiber(asx_cx *cx, asx_region *r)
{
    (void)cx;
    return asx_spawn(r, "t", kit_returns, NULL);
}

static asx_status take_idle_poll(asx_cx *cx, asx_region *r)
{
    (void)cx;
    return asx_spawn_poll(r, "p", poll_ends, NULL);
}

static asx_status take_dated(asx_cx *cx, asx_region *r)
{
    asx_budget budget = ASX_BUDGET_INFINITE;
    asx_spawn_options options = { .budget = &budget, .copy = "0123456789", .copy_size = 11 };
    budget.deadline = asx_now(cx) + 3600 * ASX_SEC;
    return asx_spawn_poll_task(r, poll_ends, NULL, &options, NULL);
}

static asx_status (*const takers[])(asx_cx *, asx_region *) = {
    take_idle_fiber, take_idle_poll, take_dated, take_region, take_obligation, take_big_channel,
    take_timer, take_memory,
};

static asx_status until_memory_ends(asx_cx *cx, void *arg)
{
    typedef asx_status (*taker)(asx_cx *, asx_region *);
    taker take = *(const taker *)arg;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region r;
    unsigned taken = 0;
    opened_len = armed_len = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    asx_stats before = kit_stats(rt);
    for (;;) {
        asx_status st = opened_len < 60 && armed_len < 60 ? take(cx, &r) : ASX_E_FULL;
        if (st < 0) {
            CHECK(st == ASX_E_RESOURCE_EXHAUSTED || st == ASX_E_FULL);
            break;
        }
        taken++;
        before = kit_stats(rt);
    }
    CHECK_GE(taken, 1u);
    asx_stats after = kit_stats(rt); /* the first refusal may keep room that it got hold of ... */
    before.memory_bytes = after.memory_bytes;
    CHECK_SAME_STATS(before, after);
    for (int i = 0; i < 5 && opened_len < 60 && armed_len < 60; i++)
        CHECK_STATUS(take(cx, &r), ASX_E_RESOURCE_EXHAUSTED);
    after = kit_stats(rt); /* ... and the next ones nothing at all */
    CHECK_SAME_STATS(before, after);
    while (opened_len > 0)
        CHECK_STATUS(asx_region_close(&opened[--opened_len], ASX_OK), ASX_OK);
    while (armed_len > 0)
        CHECK(asx_timer_cancel(asx_runtime_timers(rt), &armed[--armed_len]));
    ASX_IGNORE(asx_region_close(&r, ASX_E_EMPTY));
    return ASX_OK;
}

ASX_TEST(a_call_refused_for_lack_of_memory_changes_nothing)
{
    asx_test_one_worker("raw timers");
    for (size_t k = 0; k < sizeof takers / sizeof *takers; k++) {
        for (int i = 0; i < 4; i++) {
            kit_heap heap = { 0 };
            asx_runtime_config config = kit_config(i & 1 ? ASX_CLOCK_REAL : ASX_CLOCK_VIRTUAL,
                                                   &heap);
            config.limits.memory_max = 200000;
            config.trace = (i & 2) != 0;
            config.trace_events_max = 100;
            config.trace_overflow = ASX_TRACE_OVERWRITE;
            CHECK_STATUS(kit_run(&config, until_memory_ends, (void *)(uintptr_t)&takers[k]),
                         ASX_OK);
            CHECK_EQ(heap.bytes, 0);
        }
    }
}

ASX_TEST(a_runtime_that_does_not_fit_its_own_memory_is_not_made)
{
    kit_heap heap = { 0 };
    asx_runtime_config config = kit_config(ASX_CLOCK_REAL, &heap);
    asx_runtime *rt = NULL;
    config.limits.memory_max = 100;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_PTR_EQ(rt, NULL);
    CHECK_EQ(heap.bytes, 0);
}

/* ---- the journal ---------------------------------------------------------------------------- */

static asx_status writes_events(asx_cx *cx, void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < 100; i++)
        CHECK_STATUS(asx_trace_user(cx, i, i), ASX_OK);
    return ASX_OK;
}

static uint64_t journal(uint64_t max, asx_trace_overflow overflow, asx_status expected)
{
    asx_runtime *rt;
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.trace = true;
    config.trace_events_max = max;
    config.trace_overflow = overflow;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, writes_events, NULL), ASX_OK); /* the program never fails */
    CHECK_STATUS(asx_runtime_trace_status(rt), expected);
    uint64_t digest = asx_runtime_digest(rt);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return digest;
}

ASX_TEST(a_full_journal_says_so_or_forgets_the_oldest_and_the_digest_covers_all)
{
    uint64_t digest = journal(0, ASX_TRACE_REFUSE, ASX_OK);
    CHECK_EQ(journal(50, ASX_TRACE_REFUSE, ASX_E_RESOURCE_EXHAUSTED), digest);
    CHECK_EQ(journal(50, ASX_TRACE_OVERWRITE, ASX_OK), digest);
    CHECK_NE(digest, 0);
}

/* ---- profiles ------------------------------------------------------------------------------- */

ASX_TEST(profiles_bring_their_ceilings)
{
    asx_runtime *rt;
    asx_region root;
    asx_runtime_config config = kit_config(ASX_CLOCK_VIRTUAL, NULL);
    config.profile = ASX_PROFILE_EMBEDDED;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_root(rt, &root), ASX_OK);
    for (int i = 0; i < 256; i++)
        CHECK_STATUS(asx_spawn_poll(&root, "p", poll_waits, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&root, "p", poll_waits, NULL), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_runtime_shutdown(rt, 0, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    config.profile = ASX_PROFILE_FREESTANDING; /* needs a block */
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_E_INVALID_ARGUMENT);
}
