/* test_memory.c - where the wheel's memory comes from, and what happens when there is none. */
#include "wheel_kit.h"

#include <stdlib.h>
#include <string.h>

/* Memory that counts, fails when told to, and checks what comes back. */
typedef struct supply {
    uint64_t calls;
    uint64_t fail_at;  /* this call fails; 0: none does */
    bool forbidden;    /* any call is a failure of the test */
    uint64_t out;      /* bytes handed out and not given back */
    uint64_t requests; /* handed out and not given back */
} supply;

static void *supply_alloc(void *ctx, size_t size)
{
    supply *s = ctx;
    CHECK(!s->forbidden);
    if (++s->calls == s->fail_at)
        return NULL;
    size_t *p = malloc(size + 16);
    CHECK(p != NULL);
    p[0] = size;
    memset(p + 2, 0xa5, size); /* the wheel may not count on zeroes */
    s->out += size;
    s->requests++;
    return p + 2;
}

static void supply_free(void *ctx, void *memory, size_t size)
{
    supply *s = ctx;
    CHECK(!s->forbidden);
    size_t *p = (size_t *)memory - 2;
    CHECK_EQ(p[0], size);
    s->out -= size;
    s->requests--;
    free(p);
}

static asx_timer_wheel *supplied(const asx_timer_config *config, supply *s)
{
    asx_timer_wheel *wheel = malloc(sizeof *wheel);
    CHECK(wheel != NULL);
    memset(wheel, 0x5a, sizeof *wheel);
    asx__timer_memory memory = { supply_alloc, supply_free, s };
    CHECK_STATUS(asx__timer_wheel_init(wheel, config, &memory), ASX_OK);
    return wheel;
}

static void dispose(asx_timer_wheel *wheel, supply *s)
{
    s->forbidden = false;
    asx__timer_wheel_deinit(wheel);
    CHECK_EQ(s->out, 0);
    CHECK_EQ(s->requests, 0);
    free(wheel);
}

ASX_TEST(init_asks_for_no_memory_and_checks_its_arguments)
{
    supply s = { .forbidden = true };
    asx_timer_wheel *wheel = supplied(NULL, &s);
    asx__timer_memory memory = { supply_alloc, supply_free, &s };
    asx_timer_config huge = { .max_timers = UINT64_MAX };
    CHECK_STATUS(asx__timer_wheel_init(NULL, NULL, &memory), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__timer_wheel_init(wheel, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__timer_wheel_init(wheel, &huge, &memory), ASX_E_INVALID_ARGUMENT);
    memory.alloc = NULL;
    CHECK_STATUS(asx__timer_wheel_init(wheel, NULL, &memory), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_timer_next_deadline(wheel), ASX_TIME_NEVER);
    asx__timer_fired fired[1];
    CHECK_EQ(asx__timer_collect(wheel, ASX_SEC, fired, 1), 0);
    dispose(wheel, &s);
}

/* Memory arrives full of 0xa5, which looks like a timer of that generation. */
ASX_TEST(a_handle_does_not_reach_storage_that_was_never_used)
{
    supply s = { 0 };
    asx_timer_wheel *wheel = supplied(NULL, &s);
    kit_add(wheel, ASX_SEC, 1);
    for (uint64_t id = 1; id < 100; id++) {
        asx_timer_handle forged = { id, UINT64_C(0xa5a5a5a5a5a5a5a5) };
        CHECK_EQ(asx__timer_serial(wheel, &forged), 0);
        CHECK(!asx_timer_cancel(wheel, &forged));
    }
    CHECK_EQ(asx_timer_count(wheel), 1);
    CHECK(asx__timer_wheel_is_valid(wheel));
    dispose(wheel, &s);
}

ASX_TEST(storage_is_counted_as_it_was_asked_for)
{
    supply s = { 0 };
    asx_timer_wheel *wheel = supplied(NULL, &s);
    for (uint64_t i = 0; i < 70000; i++) {
        kit_add(wheel, i * ASX_MS, i + 1);
        CHECK_EQ(wheel->storage_bytes, s.out);
    }
    CHECK_EQ(kit_stats(wheel).storage_bytes, s.out);
    dispose(wheel, &s);
}

static void *size_check_alloc(void *ctx, size_t size)
{
    (void)ctx;
    CHECK(size < 0x200000 || size % 0x200000 == 0);
    return malloc(size);
}

static void size_check_free(void *ctx, void *p, size_t size)
{
    (void)ctx;
    (void)size;
    free(p);
}

ASX_TEST(big_requests_are_multiples_of_a_huge_page)
{
    asx_timer_wheel *wheel = malloc(sizeof *wheel);
    CHECK(wheel != NULL);
    asx__timer_memory memory = { size_check_alloc, size_check_free, NULL };
    CHECK_STATUS(asx__timer_wheel_init(wheel, NULL, &memory), ASX_OK);
    for (uint64_t i = 0; i < 200000; i++)
        kit_add(wheel, i * ASX_MS, i + 1);
    CHECK_GE(kit_stats(wheel).storage_bytes, 0x400000);
    asx__timer_wheel_deinit(wheel);
    free(wheel);
}

/* All timers in one slot, then each in its own: the cascade must find its chunks. */
ASX_TEST(collect_and_cancel_ask_for_no_memory)
{
    static const uint64_t counts[] = { 1, 63, 64, 65, 500, 1500, 20000 };
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        supply s = { 0 };
        asx_timer_wheel *wheel = supplied(NULL, &s);
        uint64_t n = counts[k];
        for (uint64_t i = 0; i < n; i++) /* one slot of level 3 */
            kit_add(wheel, 5 * KIT_HOUR + i * (KIT_HOUR / n), i + 1);
        CHECK_EQ(kit_stats(wheel).level_entries[3], n);
        s.forbidden = true;
        asx__timer_fired fired[7];
        uint64_t seen = 0;
        for (asx_time now = 4 * KIT_HOUR; now < 7 * KIT_HOUR; now += 100 * ASX_SEC) {
            for (size_t got; (got = asx__timer_collect(wheel, now, fired, 7)) > 0;) {
                for (size_t i = 0; i < got; i++)
                    CHECK_EQ(fired[i].serial, ++seen);
            }
            if (n <= 1500)
                CHECK(asx__timer_wheel_is_valid(wheel));
            CHECK(asx_timer_next_deadline(wheel) > now);
        }
        CHECK_EQ(seen, n);
        dispose(wheel, &s);
    }
}

/* A fixed course of events that grows, cancels, sweeps and fires. Each registration is tried again
 * when memory fails; nothing may differ before the second try. Returns a digest of the firing. */
static uint64_t course(asx_timer_wheel *wheel, supply *s, bool cancels, uint64_t *ret_refused)
{
    static asx_timer_handle handles[4000];
    uint64_t seed = 99;
    uint64_t digest = 0;
    uint64_t refused = 0;
    asx_time now = 0;
    for (uint64_t i = 0; i < 4000; i++) {
        uint64_t r = kit_random(&seed);
        asx_time deadline = now + r % (UINT64_C(1) << (r >> 58));
        asx_timer_stats before = kit_stats(wheel);
        asx_timer_handle handle = { 11, 22 };
        bool moves = cancels && i % 7 == 3;
        asx_status st = moves ? asx_timer_update(wheel, &handles[i - 3], deadline,
                                                 kit_waker(i + 1), &handle)
                              : asx_timer_register(wheel, deadline, kit_waker(i + 1), &handle);
        if (st < 0) {
            CHECK_STATUS(st, ASX_E_RESOURCE_EXHAUSTED);
            refused++;
            asx_timer_stats after = kit_stats(wheel);
            CHECK_MEM_EQ(&before, &after, sizeof before);
            CHECK_EQ(handle.generation, 0);
            CHECK_EQ(before.storage_bytes, s->out);
            CHECK(asx__timer_wheel_is_valid(wheel));
            st = moves ? asx_timer_update(wheel, &handles[i - 3], deadline, kit_waker(i + 1),
                                          &handle)
                       : asx_timer_register(wheel, deadline, kit_waker(i + 1), &handle);
            CHECK_STATUS(st, ASX_OK);
        }
        CHECK_EQ(asx__timer_serial(wheel, &handle), i + 1);
        handles[i] = handle;
        if (cancels && i % 5 == 4)
            (void)asx_timer_cancel(wheel, &handles[kit_random(&seed) % i]);
        if (i % 500 == 499) {
            asx__timer_fired fired[8];
            now += kit_random(&seed) % (100 * ASX_SEC);
            for (size_t got; (got = asx__timer_collect(wheel, now, fired, 8)) > 0;) {
                for (size_t k = 0; k < got; k++)
                    digest = (digest ^ fired[k].serial) * UINT64_C(0x100000001b3);
            }
        }
    }
    *ret_refused = refused;
    return digest ^ asx_timer_count(wheel);
}

/* Fails each request in turn; returns how many registrations were refused in all. */
static uint64_t fail_each_request(bool cancels, uint64_t *ret_calls)
{
    supply s = { 0 };
    uint64_t refused = 0;
    asx_timer_config config = { .max_timer_duration_ns = UINT64_MAX };
    asx_timer_wheel *wheel = supplied(&config, &s);
    uint64_t expected = course(wheel, &s, cancels, &refused);
    uint64_t calls = s.calls;
    CHECK_EQ(refused, 0);
    dispose(wheel, &s);
    uint64_t refusals = 0;
    for (uint64_t i = 1; i <= calls; i++) {
        s = (supply){ .fail_at = i };
        wheel = supplied(&config, &s);
        CHECK_EQ(course(wheel, &s, cancels, &refused), expected);
        refusals += refused;
        dispose(wheel, &s);
    }
    *ret_calls = calls;
    return refusals;
}

ASX_TEST(a_failed_request_at_any_point_changes_nothing)
{
    uint64_t calls = 0;
    uint64_t refusals = fail_each_request(false, &calls);
    CHECK_EQ(refusals, calls);
    CHECK_GE(calls, 10);
}

ASX_TEST(a_failed_request_changes_nothing_with_dead_entries_about)
{
    uint64_t calls = 0;
    uint64_t refusals = fail_each_request(true, &calls);
    CHECK_GE(refusals, 1);
    CHECK(refusals < calls); /* a sweep stood in for some of the memory */
}

ASX_TEST(dead_storage_is_used_before_a_failure_is_reported)
{
    supply s = { 0 };
    asx_timer_wheel *wheel = supplied(NULL, &s);
    asx_timer_handle handles[64];
    for (uint64_t i = 0; i < 64; i++)
        handles[i] = kit_add(wheel, ASX_SEC, i + 1);
    s.fail_at = s.calls + 1;
    asx_timer_handle handle;
    CHECK_STATUS(asx_timer_register(wheel, ASX_SEC, kit_waker(1), &handle),
                 ASX_E_RESOURCE_EXHAUSTED);
    s.fail_at = s.calls + 1;
    CHECK(asx_timer_cancel(wheel, &handles[7]));
    CHECK_STATUS(asx_timer_register(wheel, ASX_SEC, kit_waker(1), &handle), ASX_OK);
    CHECK_EQ(handle.id, 7);
    CHECK(asx__timer_wheel_is_valid(wheel));
    dispose(wheel, &s);
}

/* Churns with up to n live timers of all distances; no memory may be asked for. */
static void churn(asx_timer_wheel *wheel, uint64_t n, uint64_t rounds)
{
    asx_timer_handle *handles = calloc(n, sizeof *handles);
    CHECK(handles != NULL);
    uint64_t seed = n;
    asx_time now = asx__timer_wheel_now(wheel);
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t slot = kit_random(&seed) % n;
        uint64_t r = kit_random(&seed);
        asx_time deadline = now + r % (UINT64_C(1) << (20 + r % 29));
        if (r % 3 == 0) {
            CHECK_STATUS(asx_timer_update(wheel, &handles[slot], deadline, kit_waker(1),
                                          &handles[slot]),
                         ASX_OK);
        } else {
            (void)asx_timer_cancel(wheel, &handles[slot]);
            handles[slot] = kit_add(wheel, deadline, 1);
        }
        if (i % 64 == 0) {
            asx__timer_fired fired[16];
            now += kit_random(&seed) % (50 * ASX_MS);
            while (asx__timer_collect(wheel, now, fired, 16) > 0)
                ;
        }
    }
    CHECK(asx__timer_wheel_is_valid(wheel));
    free(handles);
}

ASX_TEST(a_reserved_wheel_asks_for_nothing_more)
{
    static const uint64_t counts[] = { 1, 2, 10, 64, 100, 1000, 5000 };
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        supply s = { 0 };
        asx_timer_config config = { .max_timers = counts[k] };
        asx_timer_wheel *wheel = supplied(&config, &s);
        CHECK_STATUS(asx__timer_wheel_reserve(wheel, counts[k]), ASX_OK);
        CHECK_LE(s.out, asx__timer_wheel_reserve_bytes(counts[k]));
        CHECK_LE(s.calls, 2 * ASX__TIMER_SEGMENTS);
        s.forbidden = true;
        CHECK_STATUS(asx__timer_wheel_reserve(wheel, counts[k]), ASX_OK);
        churn(wheel, counts[k], 100000);
        dispose(wheel, &s);
    }
}

/* As many live ones as were reserved for, so that dead ones fill the rest. */
ASX_TEST(a_full_reserved_wheel_sweeps_instead_of_growing)
{
    enum { FULL = 1000 };
    supply s = { 0 };
    asx_timer_wheel *wheel = supplied(NULL, &s);
    asx_timer_handle handles[FULL];
    CHECK_STATUS(asx__timer_wheel_reserve(wheel, FULL), ASX_OK);
    s.forbidden = true;
    for (uint64_t i = 0; i < FULL; i++)
        handles[i] = kit_add(wheel, KIT_HOUR + i, 1);
    for (uint64_t i = 0; i < 20000; i++) {
        asx_timer_handle *handle = &handles[i * 7 % FULL];
        CHECK_STATUS(asx_timer_update(wheel, handle, KIT_HOUR + i, kit_waker(1), handle), ASX_OK);
        CHECK_EQ(asx_timer_count(wheel), FULL);
    }
    uint64_t purges = kit_stats(wheel).purges;
    CHECK_GE(purges, 20);
    CHECK_LE(purges, 20000 / (FULL / 2)); /* and each sweep is paid for */
    CHECK(asx__timer_wheel_is_valid(wheel));
    dispose(wheel, &s);
}

/* A static block: handed out from the front, nothing comes back. */
typedef struct block {
    unsigned char *next;
    size_t left;
} block;

static void *block_alloc(void *ctx, size_t size)
{
    block *b = ctx;
    size = (size + 15) / 16 * 16;
    if (size > b->left)
        return NULL;
    void *p = b->next;
    b->next += size;
    b->left -= size;
    return p;
}

static void block_free(void *ctx, void *p, size_t size)
{
    (void)ctx;
    (void)p;
    (void)size;
}

ASX_TEST(a_static_block_of_the_size_told_is_enough)
{
    static const uint64_t counts[] = { 1, 100, 3000, 100000 };
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        uint64_t bytes = asx__timer_wheel_reserve_bytes(counts[k]) + 32 * ASX__TIMER_SEGMENTS;
        unsigned char *memory = malloc(bytes);
        asx_timer_wheel *wheel = malloc(sizeof *wheel);
        CHECK(memory != NULL && wheel != NULL);
        block b = { memory, bytes };
        asx__timer_memory interface = { block_alloc, block_free, &b };
        asx_timer_config config = { .max_timers = counts[k] };
        CHECK_STATUS(asx__timer_wheel_init(wheel, &config, &interface), ASX_OK);
        CHECK_STATUS(asx__timer_wheel_reserve(wheel, counts[k]), ASX_OK);
        b.left = 0;
        churn(wheel, counts[k], 50000);
        asx_timer_handle handle;
        while (asx_timer_count(wheel) < counts[k])
            kit_add(wheel, asx__timer_wheel_now(wheel) + ASX_SEC, 1);
        CHECK_STATUS(asx_timer_register(wheel, 0, kit_waker(1), &handle),
                     ASX_E_RESOURCE_EXHAUSTED);
        CHECK(asx__timer_wheel_is_valid(wheel));
        asx__timer_wheel_deinit(wheel);
        free(memory);
        free(wheel);
    }
}

ASX_TEST(a_refused_reservation_changes_nothing)
{
    for (uint64_t fail_at = 1;; fail_at++) {
        supply s = { 0 };
        asx_timer_wheel *wheel = supplied(NULL, &s);
        CHECK_STATUS(asx__timer_wheel_reserve(wheel, 30), ASX_OK); /* cuts a segment short */
        for (uint64_t i = 1; i <= 20; i++)
            kit_add(wheel, i * KIT_HOUR, i);
        asx_timer_stats before = kit_stats(wheel);
        s.fail_at = s.calls + fail_at;
        asx_status st = asx__timer_wheel_reserve(wheel, 4000);
        bool failed = s.calls == s.fail_at;
        CHECK_STATUS(st, failed ? ASX_E_RESOURCE_EXHAUSTED : ASX_OK);
        asx_timer_stats after = kit_stats(wheel);
        if (failed)
            CHECK_MEM_EQ(&before, &after, sizeof before);
        FIRES(wheel, 7 * KIT_DAY, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
              19, 20);
        dispose(wheel, &s);
        if (!failed) {
            CHECK_GE(fail_at, 5);
            return;
        }
    }
}

ASX_TEST(reserve_refuses_more_than_there_are_indices)
{
    supply s = { .forbidden = true };
    asx_timer_wheel *wheel = supplied(NULL, &s);
    CHECK_STATUS(asx__timer_wheel_reserve(wheel, UINT32_MAX), ASX_E_INVALID_ARGUMENT);
    CHECK_GE(asx__timer_wheel_reserve_bytes(UINT32_MAX - 1), UINT64_C(32) * UINT32_MAX);
    dispose(wheel, &s);
}

/* Growth after a reservation replaces the segment that was cut short: its nodes, heaps and sets
 * move along. */
static void grow_past_reservation(asx_time first, asx_time second, asx_time third)
{
    supply s = { 0 };
    asx_timer_wheel *wheel = supplied(NULL, &s);
    CHECK_STATUS(asx__timer_wheel_reserve(wheel, 200), ASX_OK);
    uint64_t bytes = s.out;
    asx_timer_handle handles[900];
    for (uint64_t i = 0; i < 900; i++) {
        asx_time deadline = i % 3 == 0 ? first : i % 3 == 1 ? second : third;
        handles[i] = kit_add(wheel, deadline + i, i + 1);
        if (i % 10 == 9)
            CHECK(asx_timer_cancel(wheel, &handles[i - 5]));
        CHECK(asx__timer_wheel_is_valid(wheel));
    }
    CHECK(s.out > bytes);
    CHECK_EQ(asx_timer_count(wheel), 810);
    asx__timer_fired fired[900];
    CHECK_EQ(asx__timer_collect(wheel, 3 * KIT_DAY, fired, 900), 810);
    for (size_t i = 1; i < 810; i++)
        CHECK(fired[i - 1].deadline < fired[i].deadline ||
              (fired[i - 1].deadline == fired[i].deadline &&
               fired[i - 1].serial < fired[i].serial));
    dispose(wheel, &s);
}

ASX_TEST(growth_past_a_reservation_keeps_every_timer)
{
    grow_past_reservation(0, ASX_SEC, 2 * KIT_DAY);
    grow_past_reservation(0, 100, 200);
    grow_past_reservation(2 * KIT_DAY, 2 * KIT_DAY + 300, 2 * KIT_DAY + 100);
}
