/* The workloads on State Threads.
 *
 *     bench <workload> <variant or -> <workers>      prints: RESULT <value>
 *
 * Exit status 3 means that State Threads has nothing of the kind: it runs on one thread
 * only and has no timer apart from a sleeping thread.
 *
 * It has no channels either. The ring below is what one would write by hand: no lock, no
 * closing, no check that the other side is still there, one signal at most per message and
 * that only when somebody waits. So W3 and W4 compare a channel with the least that can
 * pass a message.
 *
 * A sleep begins when the idle thread last looked at the clock, so that a hundred thousand
 * threads that are made in one go and then sleep wake up early, by as long as making them
 * took. The variant `exact` of W7b sleeps again until the time has passed, as everybody
 * else's sleep does.
 *
 * Nor is there a yield; st_usleep(0) is the idiom for it and goes through the timer heap.
 * And no scope: W8 interrupts every thread by itself. Stacks have 16 KiB and no guard.
 */
#define _GNU_SOURCE
#include <st.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (16 * 1024)
#define SKYNET_LEAVES 1000000u
#define SKYNET_SUM ((uint64_t)SKYNET_LEAVES * (SKYNET_LEAVES - 1) / 2)

static void require(bool held, const char *what)
{
    if (!held) {
        fprintf(stderr, "st: %s\n", what);
        exit(1);
    }
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double resident_bytes(void)
{
    long total = 0;
    long resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    require(statm != NULL, "no /proc/self/statm");
    require(fscanf(statm, "%ld %ld", &total, &resident) == 2, "odd /proc/self/statm");
    fclose(statm);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static st_thread_t spawn(void *(*body)(void *), void *arg, int joinable)
{
    st_thread_t thread = st_thread_create(body, arg, joinable, STACK_BYTES);
    require(thread != NULL, "no thread");
    return thread;
}

static void *join(st_thread_t thread)
{
    void *value = NULL;
    require(st_thread_join(thread, &value) == 0, "no join");
    return value;
}

static st_thread_t *thread_array(size_t count)
{
    st_thread_t *threads = calloc(count, sizeof *threads);
    require(threads != NULL, "no memory");
    return threads;
}

/* W1 */

static void *empty(void *arg)
{
    return arg;
}

static double spawn_join(void)
{
    enum { TOTAL = 1000000, LIVE = 10000 };
    st_thread_t *threads = thread_array(LIVE);
    double start = now_ns();
    for (int done = 0; done < TOTAL; done += LIVE) {
        for (int i = 0; i < LIVE; i++)
            threads[i] = spawn(empty, NULL, 1);
        for (int i = 0; i < LIVE; i++)
            join(threads[i]);
    }
    return (now_ns() - start) / TOTAL;
}

/* W2 */

#define SWITCHES 10000000

static void *yielder(void *arg)
{
    for (int i = 0; i < SWITCHES / 2; i++)
        st_usleep(0);
    return arg;
}

static double yield_pair(void)
{
    double start = now_ns();
    st_thread_t a = spawn(yielder, NULL, 1);
    st_thread_t b = spawn(yielder, NULL, 1);
    join(a);
    join(b);
    return (now_ns() - start) / SWITCHES;
}

/* The ring of W3, W4 and W6. The capacity is a power of two. */

struct ring {
    uint64_t *slots;
    unsigned mask;
    unsigned head;
    unsigned len;
    unsigned receivers_waiting;
    unsigned senders_waiting;
    st_cond_t not_empty;
    st_cond_t not_full;
};

static void ring_init(struct ring *r, unsigned capacity)
{
    memset(r, 0, sizeof *r);
    r->mask = capacity - 1;
    r->slots = calloc(capacity, sizeof *r->slots);
    r->not_empty = st_cond_new();
    r->not_full = st_cond_new();
    require(r->slots != NULL && r->not_empty != NULL && r->not_full != NULL, "no memory");
}

static void ring_send(struct ring *r, uint64_t value)
{
    while (r->len > r->mask) {
        r->senders_waiting++;
        st_cond_wait(r->not_full);
        r->senders_waiting--;
    }
    r->slots[(r->head + r->len++) & r->mask] = value;
    if (r->receivers_waiting > 0)
        st_cond_signal(r->not_empty);
}

static uint64_t ring_receive(struct ring *r)
{
    while (r->len == 0) {
        r->receivers_waiting++;
        st_cond_wait(r->not_empty);
        r->receivers_waiting--;
    }
    uint64_t value = r->slots[r->head];
    r->head = (r->head + 1) & r->mask;
    r->len--;
    if (r->senders_waiting > 0)
        st_cond_signal(r->not_full);
    return value;
}

/* W3 */

#define TRIPS 1000000u

struct two_rings {
    struct ring there;
    struct ring back;
};

static void *echo(void *arg)
{
    struct two_rings *rings = arg;
    for (uint64_t i = 0; i < TRIPS; i++)
        ring_send(&rings->back, ring_receive(&rings->there));
    return NULL;
}

static void *caller(void *arg)
{
    struct two_rings *rings = arg;
    for (uint64_t i = 0; i < TRIPS; i++) {
        ring_send(&rings->there, i);
        require(ring_receive(&rings->back) == i, "wrong echo");
    }
    return NULL;
}

static double ping_pong(void)
{
    static struct two_rings rings;
    ring_init(&rings.there, 1);
    ring_init(&rings.back, 1);
    double start = now_ns();
    st_thread_t a = spawn(echo, &rings, 1);
    st_thread_t b = spawn(caller, &rings, 1);
    join(a);
    join(b);
    return (now_ns() - start) / TRIPS;
}

/* W4 */

#define PRODUCERS 4u
#define MESSAGES_EACH 1000000u

static void *producer(void *arg)
{
    for (uint64_t i = 0; i < MESSAGES_EACH; i++)
        ring_send(arg, i);
    return NULL;
}

static double many_to_one(void)
{
    static struct ring ring;
    ring_init(&ring, 1024);
    double start = now_ns();
    for (unsigned p = 0; p < PRODUCERS; p++)
        spawn(producer, &ring, 0);
    uint64_t sum = 0;
    for (unsigned i = 0; i < PRODUCERS * MESSAGES_EACH; i++)
        sum += ring_receive(&ring);
    double spent_ns = now_ns() - start;
    uint64_t each_sum = (uint64_t)MESSAGES_EACH * (MESSAGES_EACH - 1) / 2;
    require(sum == PRODUCERS * each_sum, "wrong sum");
    return PRODUCERS * MESSAGES_EACH / spent_ns * 1e3;
}

/* W5 */

struct span {
    uint64_t first;
    uint64_t leaves;
};

static void *skynet(void *arg)
{
    struct span span = *(struct span *)arg;
    if (span.leaves == 1)
        return (void *)(uintptr_t)span.first;
    struct span part[10];
    st_thread_t child[10];
    for (unsigned i = 0; i < 10; i++) {
        part[i].leaves = span.leaves / 10;
        part[i].first = span.first + i * part[i].leaves;
        child[i] = spawn(skynet, &part[i], 1);
    }
    uintptr_t sum = 0;
    for (unsigned i = 0; i < 10; i++)
        sum += (uintptr_t)join(child[i]);
    return (void *)sum;
}

static double skynet_time(void)
{
    struct span all = { .first = 0, .leaves = SKYNET_LEAVES };
    double start = now_ns();
    uintptr_t sum = (uintptr_t)join(spawn(skynet, &all, 1));
    double spent_ns = now_ns() - start;
    require(sum == SKYNET_SUM, "wrong sum");
    return spent_ns / 1e6;
}

/* W6 */

static void *receive_one(void *arg)
{
    ring_receive(arg);
    return NULL;
}

static double parked_bytes(void)
{
    enum { TASKS = 1000000 };
    static struct ring never;
    ring_init(&never, 1);
    double before = resident_bytes();
    for (int i = 0; i < TASKS; i++)
        spawn(receive_one, &never, 0);
    st_usleep(300 * 1000);
    return (resident_bytes() - before) / TASKS;
}

/* W7b */

static void *sleeper(void *arg)
{
    st_usleep((st_utime_t)(uintptr_t)arg * 1000);
    return NULL;
}

static void *exact_sleeper(void *arg)
{
    double rest_us = (double)(uintptr_t)arg * 1000;
    double end_ns = now_ns() + rest_us * 1000;
    for (; rest_us > 0; rest_us = (end_ns - now_ns()) / 1000)
        st_usleep((st_utime_t)rest_us + 1);
    return NULL;
}

static double sleep_all(void *(*body)(void *))
{
    enum { TASKS = 100000 };
    st_thread_t *threads = thread_array(TASKS);
    double start = now_ns();
    for (uintptr_t i = 0; i < TASKS; i++)
        threads[i] = spawn(body, (void *)(1 + i * 7919 % 1000), 1);
    for (int i = 0; i < TASKS; i++)
        join(threads[i]);
    return (now_ns() - start) / 1e6 - 1000;
}

static double sleepers(void)
{
    return sleep_all(sleeper);
}

static double exact_sleepers(void)
{
    return sleep_all(exact_sleeper);
}

/* W8 */

static void *wait_interrupted(void *arg)
{
    return st_cond_wait(arg) < 0 ? arg : NULL;
}

static double cancel_storm(void)
{
    enum { TASKS = 100000 };
    st_cond_t never = st_cond_new();
    require(never != NULL, "no memory");
    st_thread_t *threads = thread_array(TASKS);
    for (int i = 0; i < TASKS; i++)
        threads[i] = spawn(wait_interrupted, never, 1);
    st_usleep(200 * 1000);
    double start = now_ns();
    for (int i = 0; i < TASKS; i++)
        st_thread_interrupt(threads[i]);
    for (int i = 0; i < TASKS; i++)
        require(join(threads[i]) == never, "not interrupted");
    return (now_ns() - start) / 1e6;
}

static const struct {
    const char *name;
    const char *variant;
    double (*run)(void);
} workloads[] = {
    { "w1", "-", spawn_join },    { "w2", "-", yield_pair },   { "w3", "-", ping_pong },
    { "w4", "-", many_to_one },   { "w5", "-", skynet_time },  { "w6", "-", parked_bytes },
    { "w7b", "-", sleepers },     { "w7b", "exact", exact_sleepers },
    { "w8", "-", cancel_storm },
};

int main(int argc, char **argv)
{
    require(argc == 4, "usage: bench <workload> <variant or -> <workers>");
    if (strcmp(argv[3], "1") != 0)
        return 3;
    require(st_set_eventsys(ST_EVENTSYS_ALT) == 0, "no epoll");
    require(st_init() == 0, "no start");
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        if (strcmp(workloads[i].name, argv[1]) == 0 &&
            strcmp(workloads[i].variant, argv[2]) == 0) {
            printf("RESULT %.3f\n", workloads[i].run());
            fflush(stdout);
            _exit(0); /* parked threads are left behind */
        }
    }
    return 3;
}
