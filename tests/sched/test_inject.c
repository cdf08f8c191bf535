/* The global queue: order, shares, and tasks that pass between threads.
 * ctest-labels: own-workers */
#include "sched/inject.h"

#include <pthread.h>

#include "harness.h"

typedef struct item {
    asx__node node;
    uint64_t number;
    uint64_t taken; /* plain: two takers are a race */
} item;

ASX_TEST(what_is_put_first_is_taken_first)
{
    asx__inject q;
    item items[10] = { 0 };
    asx__node *nodes[10];
    asx__inject_init(&q);
    CHECK(asx__inject_take(&q) == NULL);
    for (int i = 0; i < 10; i++)
        nodes[i] = &items[i].node;
    asx__inject_put(&q, nodes[0]);
    asx__inject_put_many(&q, nodes + 1, 9);
    CHECK_EQ(asx__inject_len(&q), 10u);
    CHECK_PTR_EQ(asx__inject_take(&q), &items[0]);
    asx__node *some[10];
    CHECK_EQ(asx__inject_take_many(&q, some, 10, 4), 3u); /* a quarter of nine, rounded up */
    CHECK_PTR_EQ(some[0], &items[1]);
    CHECK_PTR_EQ(some[2], &items[3]);
    CHECK_EQ(asx__inject_take_many(&q, some, 2, 1), 2u);
    CHECK_PTR_EQ(some[1], &items[5]);
    CHECK_EQ(asx__inject_take_many(&q, some, 10, 1), 4u);
    CHECK_PTR_EQ(some[3], &items[9]);
    CHECK_EQ(asx__inject_len(&q), 0u);
    CHECK_EQ(asx__inject_take_many(&q, some, 10, 1), 0u);
}

enum { THREADS = 4, EACH = 20000 };

static struct {
    asx__inject queue;
    item items[2][EACH];
    asx__atomic_u64 taken;
} s;

static void *put(void *arg)
{
    item *items = arg;
    for (uint64_t i = 0; i < EACH; i++) {
        items[i].number = i;
        asx__inject_put(&s.queue, &items[i].node);
    }
    return NULL;
}

static void *take(void *arg)
{
    uint64_t last[2] = { 0, 0 };
    (void)arg;
    while (asx__load_relaxed(&s.taken) < 2 * EACH) {
        asx__node *some[7];
        uint32_t n = asx__inject_take_many(&s.queue, some, 7, 3);
        for (uint32_t i = 0; i < n; i++) {
            item *it = (item *)(void *)some[i];
            int from = it >= s.items[1];
            CHECK_LE(last[from], it->number + 1);
            last[from] = it->number + 1;
            it->taken++;
        }
        (void)asx__fetch_add_relaxed(&s.taken, n);
    }
    return NULL;
}

ASX_TEST(every_item_is_taken_once_and_in_order)
{
    pthread_t threads[THREADS];
    asx__inject_init(&s.queue);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, i < 2 ? put : take, s.items[i % 2]), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < EACH; i++)
        CHECK_EQ(s.items[0][i].taken + s.items[1][i].taken, 2u);
}
