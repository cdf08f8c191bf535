/* Mutexes held by tasks that are suspended, seen by libasx-mutexwatch, which this test is linked
 * with where it is built. */
#include "support_see.h"

#include <pthread.h>
#include <stdio.h>

#if defined(SEE_MUTEXWATCH)

#define CHAIN(...) ((const char *const[]){ __VA_ARGS__, NULL })

typedef struct sightings {
    unsigned count;
    asx_sighting_kind kind;
    char name[64], text[16384];
} sightings;

static void keep(void *ctx, const asx_sighting *s)
{
    sightings *all = ctx;
    all->count++;
    all->kind = s->kind;
    (void)snprintf(all->name, sizeof all->name, "%s", s->name);
    (void)snprintf(all->text, sizeof all->text, "%s", s->text);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static enum { LOCK, TRYLOCK, TIMEDLOCK, CLOCKLOCK, WAYS } way;

/* Its own: with the neighbour's, the two would deadlock, which is the point of telling. */
__attribute__((noinline)) static asx_status sleep_with_mutex(asx_cx *cx)
{
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    static const struct timespec late = { .tv_sec = 1 << 30 };
    if (way == LOCK)
        CHECK_EQ(pthread_mutex_lock(&own), 0);
    else if (way == TRYLOCK)
        CHECK_EQ(pthread_mutex_trylock(&own), 0);
    else if (way == TIMEDLOCK)
        CHECK_EQ(pthread_mutex_timedlock(&own, &late), 0);
    else
        CHECK_EQ(pthread_mutex_clocklock(&own, CLOCK_MONOTONIC, &late), 0);
    asx_status st = asx_sleep(cx, ASX_MS);
    CHECK_EQ(pthread_mutex_unlock(&own), 0);
    return st;
}

static asx_status careless(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = sleep_with_mutex(cx);
    SEE_NO_TAIL_CALL();
    return st;
}

static asx_status careful(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(pthread_mutex_lock(&mutex), 0);
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
        CHECK_STATUS(asx_sleep(cx, 10), ASX_OK);
        CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    }
    return ASX_OK;
}

static asx_status forgets(asx_cx *cx, void *arg)
{
    static pthread_mutex_t lost = PTHREAD_MUTEX_INITIALIZER;
    (void)cx;
    (void)arg;
    CHECK_EQ(pthread_mutex_lock(&lost), 0);
    return ASX_OK;
}

typedef struct program {
    asx_task_fn fn;
    const char *name;
} program;

static asx_status in_a_region(asx_cx *cx, void *arg)
{
    program *p = arg;
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "pen" }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, p->name, p->fn, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "neighbour", careful, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static sightings *watch(asx_task_fn fn, const char *name, uint32_t workers)
{
    static sightings seen;
    asx_runtime_config config = { .workers = workers };
    asx_runtime *rt;
    asx_watchdog *dog;
    program p = { fn, name };
    memset(&seen, 0, sizeof seen);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_watchdog_start(rt, &(asx_watchdog_options){ .limit_ns = 10 * ASX_SEC,
                                                                 .report = keep,
                                                                 .ctx = &seen,
                                                                 .mutexes = true }, &dog), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, in_a_region, &p), ASX_OK);
    CHECK_STATUS(asx_watchdog_stop(dog), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return &seen;
}

ASX_TEST(a_task_that_is_suspended_with_a_mutex_is_told_once)
{
    sightings *s = watch(careless, "careless", 1);
    CHECK_EQ(s->count, 1);
    CHECK_EQ(s->kind, ASX_SIGHTING_MUTEX_HELD);
    CHECK_STR_EQ(s->name, "careless");
    HAS(s->text, "\"careless\" (");
    HAS(s->text, "in root/pen is suspended holding 1 pthread mutex, taken in sleep_with_mutex");
    see_chain(s->text, "careless", CHAIN("sleep_with_mutex", "careless", "asx__fiber_main"));
}

ASX_TEST(it_is_told_however_it_was_locked_and_on_several_workers)
{
    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        for (way = LOCK; way < WAYS; way++) {
            sightings *s = watch(careless, "careless", workers);
            CHECK_EQ(s->count, 1);
            CHECK_STR_EQ(s->name, "careless");
            HAS(s->text, "is suspended holding 1 pthread mutex, taken in sleep_with_mutex");
        }
    }
}

ASX_TEST(the_mutex_of_the_host_is_its_own_business)
{
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    CHECK_EQ(pthread_mutex_lock(&own), 0);
    sightings *s = watch(careful, "careful", 1);
    CHECK_EQ(pthread_mutex_unlock(&own), 0);
    CHECK_EQ(s->count, 0);
}

ASX_TEST(tasks_that_unlock_before_they_wait_are_not_told)
{
    for (uint32_t workers = 1; workers <= 2; workers++)
        CHECK_EQ(watch(careful, "careful", workers)->count, 0);
}

ASX_TEST(a_task_that_ends_with_a_mutex_is_told_and_nobody_else_blamed)
{
    sightings *s = watch(forgets, "forgetful", 1);
    CHECK_EQ(s->count, 1);
    HAS(s->text, "a task has ended holding 1 pthread mutex, taken in forgets");
}

#else

ASX_TEST(mutexes_without_the_interposer_are_refused)
{
    asx_runtime *rt;
    asx_watchdog *dog;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_watchdog_start(rt, &(asx_watchdog_options){ .fd = 2, .mutexes = true }, &dog),
                 ASX_E_NOT_SUPPORTED);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

#endif
