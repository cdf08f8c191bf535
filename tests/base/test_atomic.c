/* Atomics, futexes and the lock on real threads. */
#include "base/atomic.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define THREADS 4

ASX_TEST(each_operation_does_what_its_name_says)
{
    asx__atomic_u32 a;
    asx__atomic_u64 b;
    asx__atomic_ptr p;
    asx__atomic_init(&a, 5u);
    asx__atomic_init(&b, (uint64_t)1 << 40);
    asx__atomic_init(&p, &a);
    CHECK_EQ(asx__load_relaxed(&a), 5u);
    CHECK_EQ(asx__fetch_add_relaxed(&a, 3u), 5u);
    CHECK_EQ(asx__fetch_sub_acq_rel(&a, 1u), 8u);
    CHECK_EQ(asx__fetch_or_seq_cst(&a, 8u), 7u);
    CHECK_EQ(asx__fetch_and_acq_rel(&a, 12u), 15u);
    CHECK_EQ(asx__exchange_acquire(&a, 1u), 12u);
    CHECK_EQ(asx__fetch_add_seq_cst(&b, 1u), (uint64_t)1 << 40);
    CHECK_EQ(asx__load_seq_cst(&b), ((uint64_t)1 << 40) + 1);

    uint32_t expected = 2;
    CHECK(!asx__cas_acq_rel(&a, &expected, 9u));
    CHECK_EQ(expected, 1u);
    CHECK(asx__cas_seq_cst(&a, &expected, 9u));
    CHECK_EQ(expected, 1u);
    asx__store_release(&a, asx__load_acquire(&a) + 1);
    const asx__atomic_u32 *seen = &a;
    CHECK_EQ(asx__load_acquire(seen), 10u);

    CHECK_PTR_EQ(asx__load_acquire(&p), &a);
    CHECK_PTR_EQ(asx__exchange_acq_rel(&p, NULL), &a);
    void *none = NULL;
    CHECK(asx__cas_release(&p, &none, &b));
    asx__fence_seq_cst();
    asx__store_seq_cst(&p, &p);
    CHECK_PTR_EQ(asx__load_relaxed(&p), &p);
}

ASX_TEST(a_futex_does_not_sleep_on_another_value)
{
    asx__atomic_u32 word;
    asx__atomic_init(&word, 1u);
    errno = 77;
    CHECK(asx__futex_wait(&word, 0, ASX__FUTEX_FOREVER));
    asx__futex_wake(&word, UINT32_MAX);
    CHECK_EQ(errno, 77);
}

ASX_TEST(a_futex_sleeps_until_its_deadline)
{
    asx__atomic_u32 word;
    asx__atomic_init(&word, 1u);
    uint64_t deadline = asx__futex_clock_ns() + 20000000;
    while (asx__futex_wait(&word, 1, deadline))
        CHECK(asx__futex_clock_ns() < deadline); /* a signal, or nothing at all, has woken it */
    CHECK(asx__futex_clock_ns() >= deadline);
    CHECK(!asx__futex_wait(&word, 1, 0)); /* long past */
}

static void *sleep_until_set(void *arg)
{
    asx__atomic_u32 *word = arg;
    while (asx__load_acquire(word) == 0)
        CHECK(asx__futex_wait(word, 0, ASX__FUTEX_FOREVER));
    return NULL;
}

ASX_TEST(a_wake_ends_the_sleep_of_all_it_counts)
{
    asx__atomic_u32 word;
    asx__atomic_init(&word, 0u);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, sleep_until_set, &word), 0);
    usleep(5000);
    asx__store_release(&word, 1u);
    asx__futex_wake(&word, UINT32_MAX);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

typedef struct account {
    asx__lock lock;
    uint64_t value[2]; /* under the lock, equal outside of it */
    uint32_t rounds;
    bool linger;
} account;

static void *add(void *arg)
{
    account *a = arg;
    for (uint32_t i = 0; i < a->rounds; i++) {
        asx__lock_take(&a->lock);
        CHECK_EQ(a->value[0], a->value[1]);
        a->value[0]++;
        if (a->linger && i % 64 == 0)
            usleep(100); /* longer than anybody spins */
        a->value[1]++;
        asx__lock_drop(&a->lock);
    }
    return NULL;
}

static void contend(uint32_t rounds, bool linger)
{
    account a = { .rounds = rounds / asx_test_scale(), .linger = linger };
    asx__lock_init(&a.lock);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, add, &a), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(a.value[0], (uint64_t)THREADS * a.rounds);
    CHECK(!asx__lock_is_held(&a.lock));
}

ASX_TEST(a_lock_lets_in_one_at_a_time)
{
    contend(50000, false);
}

ASX_TEST(a_lock_wakes_those_who_slept_for_it)
{
    contend(2000, true);
}

ASX_TEST(a_lock_that_is_held_is_refused)
{
    asx__lock lock;
    asx__lock_init(&lock);
    CHECK(asx__lock_try(&lock));
    CHECK(asx__lock_is_held(&lock));
    CHECK(!asx__lock_try(&lock));
    asx__lock_drop(&lock);
    CHECK(asx__lock_try(&lock));
}
