/* The deque of a worker on real threads; tests/model explores it. ctest-labels: own-workers */
#include "sched/deque.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "harness.h"

#define THIEVES 3

struct asx__task {
    uint64_t number;
    uint64_t taken; /* plain: two takers are a race */
};

static struct {
    asx__deque deque;
    asx__atomic_u32 over;
    asx__atomic_u64 stolen;
} shared;

static void take(struct asx__task *task, uint64_t *sum)
{
    task->taken++;
    *sum += task->number;
}

static void *thief(void *arg)
{
    uint64_t sum = 0;
    bool halves = arg != NULL;
    struct asx__task *some[ASX__DEQUE_SIZE / 2];
    while (asx__load_acquire(&shared.over) == 0) {
        uint32_t n = halves ? asx__deque_steal_half_remote(&shared.deque, some, ASX__DEQUE_SIZE / 2)
                            : asx__deque_steal_remote(&shared.deque, some) == ASX__STEAL_TAKEN;
        for (uint32_t i = 0; i < n; i++)
            take(some[i], &sum);
        if (n == 0)
            asx__cpu_relax();
    }
    (void)asx__fetch_add_relaxed(&shared.stolen, sum);
    return NULL;
}

/* Pushes everything, and takes from both ends at random. */
static uint64_t own(struct asx__task *tasks, uint64_t count)
{
    uint64_t sum = 0;
    asx__rng rng;
    asx__rng_seed(&rng, 1);
    for (uint64_t i = 0; i < count; i++) {
        tasks[i].number = i;
        while (!asx__deque_push_owner(&shared.deque, &tasks[i])) {
            struct asx__task *some[ASX__DEQUE_SIZE / 2];
            uint32_t n = asx__deque_spill_owner(&shared.deque, some, ASX__DEQUE_SIZE / 2);
            for (uint32_t k = 0; k < n; k++)
                take(some[k], &sum);
        }
        uint64_t dice = asx__rng_next(&rng) % 4;
        struct asx__task *task = dice == 0   ? asx__deque_pop_owner(&shared.deque)
                                 : dice == 1 ? asx__deque_shift_owner(&shared.deque)
                                             : NULL;
        if (task != NULL)
            take(task, &sum);
    }
    struct asx__task *task;
    while ((task = asx__deque_pop_owner(&shared.deque)) != NULL)
        take(task, &sum);
    return sum;
}

ASX_TEST_TIMEOUT(each_task_is_taken_once, 60)
{
    uint64_t count = 400000 / asx_test_scale();
    struct asx__task *tasks = calloc(count, sizeof *tasks);
    CHECK(tasks != NULL);
    asx__deque_init(&shared.deque);
    pthread_t threads[THIEVES];
    /* An emulator may let a load pass a store before it, which stlr and ldar do not allow. */
    int thieves = asx_test_emulated() ? 0 : THIEVES;
    for (int i = 0; i < thieves; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, thief, i % 2 == 0 ? NULL : &shared), 0);
    uint64_t sum = own(tasks, count);
    asx__store_release(&shared.over, 1u);
    for (int i = 0; i < thieves; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (uint64_t i = 0; i < count; i++)
        CHECK_EQ(tasks[i].taken, 1u);
    CHECK_EQ(sum + asx__load_relaxed(&shared.stolen), count * (count - 1) / 2);
    free(tasks);
}

ASX_TEST(a_full_deque_refuses_and_keeps_its_order)
{
    static struct asx__task tasks[ASX__DEQUE_SIZE + 1];
    asx__deque *d = &shared.deque;
    asx__deque_init(d);
    CHECK(asx__deque_pop_owner(d) == NULL);
    CHECK(asx__deque_shift_owner(d) == NULL);
    for (uint32_t i = 0; i < ASX__DEQUE_SIZE; i++)
        CHECK(asx__deque_push_owner(d, &tasks[i]));
    CHECK(!asx__deque_push_owner(d, &tasks[ASX__DEQUE_SIZE]));
    CHECK_EQ(asx__deque_len(d), ASX__DEQUE_SIZE);

    struct asx__task *some[ASX__DEQUE_SIZE];
    CHECK_EQ(asx__deque_spill_owner(d, some, 3), 3u);
    CHECK_PTR_EQ(some[0], &tasks[0]);
    CHECK_PTR_EQ(some[2], &tasks[2]);
    CHECK(asx__deque_push_owner(d, &tasks[ASX__DEQUE_SIZE]));
    CHECK_PTR_EQ(asx__deque_pop_owner(d), &tasks[ASX__DEQUE_SIZE]);
    CHECK_PTR_EQ(asx__deque_shift_owner(d), &tasks[3]);
    uint32_t left = asx__deque_len(d);
    CHECK_EQ(asx__deque_steal_half_remote(d, some, ASX__DEQUE_SIZE), (left + 1) / 2);
    CHECK_PTR_EQ(some[0], &tasks[4]);
    CHECK_EQ(asx__deque_steal_half_remote(d, some, 1), 1u);
    while (asx__deque_steal_remote(d, some) == ASX__STEAL_TAKEN)
        left--;
    CHECK_EQ(asx__deque_len(d), 0u);
    CHECK_EQ(asx__deque_steal_remote(d, some), ASX__STEAL_EMPTY);
    CHECK_EQ(asx__deque_steal_half_remote(d, some, 5), 0u);
    CHECK(asx__deque_push_owner(d, &tasks[0]));
    CHECK_PTR_EQ(asx__deque_pop_owner(d), &tasks[0]); /* the last one */
    CHECK(asx__deque_pop_owner(d) == NULL);
}
