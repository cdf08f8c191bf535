/* Deque, global queue, sleep and wake words together on real threads: a scheduler of a page.
 *
 * Tasks are pairs that hand tokens to each other: each gives one, then waits for one, over and
 * over. A thread on the side tries to wake waits that are long over. Counters of a task are plain,
 * so that two workers on one task are a race; a lost wake-up hangs. ctest-labels: own-workers */
#include <pthread.h>
#include <stdlib.h>

#include "base/rng.h"
#include "harness.h"
#include "sched/deque.h"
#include "sched/idle.h"
#include "sched/inject.h"
#include "sched/wakeword.h"

#define WORKERS 4
#define LOT (ASX__DEQUE_SIZE / 2)

struct asx__task {
    asx__node node;
    asx__wakeword word;
    asx__lock lock;
    uint64_t waiter;         /* L: a ticket, 0: it does not wait */
    uint32_t tokens;         /* L */
    struct asx__task *peer;  /* I */
    uint32_t given, got;     /* of whoever runs it */
};

typedef struct worker {
    ASX__OWN_LINE asx__deque deque;
    asx__seat seat;
    asx__rng rng;
    pthread_t thread;
    uint64_t runs;
} worker;

static struct {
    worker workers[WORKERS];
    asx__idle idle;
    asx__inject queue;
    struct asx__task *tasks;
    uint32_t count, rounds;
    asx__atomic_u32 done, closing, unwanted;
} s;

static void enqueue(worker *w, struct asx__task *task)
{
    CHECK(asx__wakeword_is_runnable(&task->word));
    if (!asx__deque_push_owner(&w->deque, task)) {
        struct asx__task *some[LOT + 1];
        uint32_t n = asx__deque_spill_owner(&w->deque, some, LOT);
        some[n++] = task;
        for (uint32_t i = 0; i < n; i++)
            asx__inject_put(&s.queue, &some[i]->node);
    }
    asx__idle_wake_one(&s.idle);
}

static void give(worker *w, struct asx__task *to)
{
    asx__lock_take(&to->lock);
    uint64_t ticket = to->waiter;
    to->waiter = 0;
    if (ticket == 0)
        to->tokens++;
    asx__lock_drop(&to->lock);
    if (ticket != 0 && asx__wakeword_wake(&to->word, ticket)) {
        asx__wakeword_ready(&to->word);
        enqueue(w, to);
    }
}

/* True: it has one. False: it has parked, or is queued again. */
static bool get(worker *w, struct asx__task *task)
{
    asx__lock_take(&task->lock);
    if (task->tokens > 0) {
        task->tokens--;
        asx__lock_drop(&task->lock);
        return true;
    }
    uint64_t ticket = asx__wakeword_park_begin(&task->word);
    task->waiter = ticket;
    asx__lock_drop(&task->lock);
    if (asx__wakeword_park_commit(&task->word, ticket)) {
        asx__wakeword_ready(&task->word);
        enqueue(w, task);
    }
    return false;
}

static void run(worker *w, struct asx__task *task)
{
    asx__wakeword_run(&task->word);
    w->runs++;
    if (task->given > task->got) /* it was woken with a token */
        task->got++;
    while (task->got < s.rounds) {
        task->given++;
        give(w, task->peer);
        if (!get(w, task))
            return;
        task->got++;
    }
    asx__wakeword_end(&task->word, false);
    if (asx__fetch_add_acq_rel(&s.done, 1u) + 1 == s.count) {
        asx__store_relaxed(&s.closing, 1u);
        asx__idle_wake_all(&s.idle);
    }
}

static struct asx__task *find(worker *w)
{
    asx__node *node = asx__inject_take(&s.queue);
    if (node != NULL)
        return (struct asx__task *)(void *)node;
    uint64_t first = asx__rng_next(&w->rng);
    for (uint64_t i = 0; i < WORKERS; i++) {
        worker *victim = &s.workers[(first + i) % WORKERS];
        struct asx__task *some[LOT];
        uint32_t n = victim == w ? 0 : asx__deque_steal_half_remote(&victim->deque, some, LOT);
        for (uint32_t k = 1; k < n; k++)
            CHECK(asx__deque_push_owner(&w->deque, some[k]));
        if (n > 0)
            return some[0];
    }
    return NULL;
}

static bool work_in_sight(void)
{
    bool any = asx__inject_len(&s.queue) > 0 || asx__load_relaxed(&s.closing) != 0;
    for (int i = 0; i < WORKERS; i++)
        any |= asx__deque_len(&s.workers[i].deque) > 0;
    return any;
}

/* Until there is work; NULL: the end. */
static struct asx__task *search(worker *w)
{
    asx__idle_search_begin(&s.idle);
    for (;;) {
        struct asx__task *task = find(w);
        if (task != NULL || asx__load_acquire(&s.closing) != 0) {
            if (asx__idle_search_found(&s.idle) && work_in_sight())
                asx__idle_wake_one(&s.idle);
            return task;
        }
        asx__idle_sleep_begin(&s.idle, &w->seat);
        if (work_in_sight())
            asx__idle_sleep_undo(&s.idle, &w->seat);
        else
            asx__idle_sleep(&s.idle, &w->seat, ASX__FUTEX_FOREVER);
    }
}

static void *work(void *arg)
{
    worker *w = arg;
    struct asx__task *task;
    do {
        while ((task = asx__deque_shift_owner(&w->deque)) != NULL)
            run(w, task);
        task = search(w);
        if (task != NULL)
            run(w, task);
    } while (task != NULL);
    return NULL;
}

static void *disturb(void *arg)
{
    asx__rng rng;
    asx__rng_seed(&rng, 99);
    (void)arg;
    while (asx__load_acquire(&s.closing) == 0) {
        struct asx__task *task = &s.tasks[asx__rng_next(&rng) % s.count];
        uint64_t ticket = asx__wake_ticket_of(asx__load_acquire(&task->word.word));
        if (ticket > 1 && asx__wakeword_wake(&task->word, ticket - 1))
            (void)asx__fetch_add_relaxed(&s.unwanted, 1u);
    }
    return NULL;
}

static void play(uint32_t count, uint32_t rounds)
{
    pthread_t side;
    s.count = count;
    s.rounds = rounds / asx_test_scale() + 1;
    s.tasks = calloc(count, sizeof *s.tasks);
    CHECK(s.tasks != NULL);
    asx__idle_init(&s.idle);
    asx__inject_init(&s.queue);
    for (uint32_t i = 0; i < count; i++) {
        struct asx__task *task = &s.tasks[i];
        asx__wakeword_init(&task->word);
        asx__lock_init(&task->lock);
        task->peer = &s.tasks[i ^ 1];
        asx__wakeword_spawn(&task->word);
        asx__inject_put(&s.queue, &task->node);
    }
    for (uint32_t i = 0; i < WORKERS; i++) {
        asx__deque_init(&s.workers[i].deque);
        asx__seat_init(&s.workers[i].seat);
        asx__rng_seed(&s.workers[i].rng, i);
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        CHECK_EQ(pthread_create(&s.workers[i].thread, NULL, work, &s.workers[i]), 0);
    CHECK_EQ(pthread_create(&side, NULL, disturb, NULL), 0);
    for (uint32_t i = 0; i < WORKERS; i++)
        CHECK_EQ(pthread_join(s.workers[i].thread, NULL), 0);
    CHECK_EQ(pthread_join(side, NULL), 0);
    CHECK_EQ(asx__load_relaxed(&s.unwanted), 0u);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ(s.tasks[i].given, s.rounds);
        CHECK_EQ(s.tasks[i].got, s.rounds);
        CHECK_EQ(s.tasks[i].tokens, 0u);
    }
    CHECK_EQ(asx__load_relaxed(&s.idle.state), 0u);
    free(s.tasks);
}

ASX_TEST_TIMEOUT(one_pair_is_never_lost, 60)
{
    play(2, 5000);
}

ASX_TEST_TIMEOUT(few_pairs_are_never_lost, 60)
{
    play(8, 3000);
}

ASX_TEST_TIMEOUT(more_pairs_than_a_deque_holds_are_never_lost, 60)
{
    play(2000, 20);
}
