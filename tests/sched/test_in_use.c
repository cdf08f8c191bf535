/* A runtime that somebody is about to drive is in use: between its start and its first turn nobody
 * else can destroy, step or end it. The first system call of a driver, which asks for its own
 * number, is where the others come in. ctest-labels: own-workers */
#include "sched/sched.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "harness.h"

typedef struct visit {
    asx_runtime *rt; /* NULL: nobody comes in */
    asx_status destroyed, stepped, ended;
    bool shared;
    int visits;
} visit;

static visit v;

#if !ASX_TEST_SANITIZED && !ASX_TEST_STATIC /* nothing stands before the C library's elsewhere */

static void *visits(void *arg)
{
    asx_runtime *rt = arg;
    v.visits++;
    v.destroyed = asx_runtime_destroy(rt);
    v.stepped = asx_runtime_step(rt, 1, NULL);
    v.ended = v.shared ? ASX_OK : asx_runtime_shutdown(rt, 0, NULL);
    return NULL;
}

/* Instead of the C library's. */
long syscall(long number, ...)
{
    static long (*next)(long, ...);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_gettid && v.rt != NULL) {
        asx_runtime *rt = v.rt;
        pthread_t thread;
        v.rt = NULL;
        CHECK_EQ(pthread_create(&thread, NULL, visits, rt), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static asx_status yields(asx_cx *cx, void *arg)
{
    ++*(int *)arg;
    return asx_yield(cx);
}

static void visited(uint32_t workers)
{
    asx_runtime_config config = { .workers = workers };
    asx_runtime *rt;
    int ran = 0;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    v = (visit){ .rt = rt, .shared = workers > 1 };
    CHECK_STATUS(asx_runtime_run(rt, yields, &ran), ASX_OK);
    CHECK_EQ(v.visits, 1);
    CHECK_STATUS(v.destroyed, ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(v.stepped, ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(v.ended, workers > 1 ? ASX_OK : ASX_E_WRONG_CONTEXT);
    CHECK_EQ(ran, 1);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(a_runtime_of_one_worker_is_in_use_before_its_first_turn)
{
    visited(1);
}

ASX_TEST(a_runtime_of_several_is_in_use_before_its_first_turn)
{
    visited(2);
}

#endif

static asx_status sleeps(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, 3600 * ASX_SEC);
}

static void *requests_end(void *arg)
{
    v.visits++;
    v.ended = asx_runtime_shutdown(arg, 0, NULL);
    return NULL;
}

static asx_status waits_for_visit(asx_cx *cx, void *arg)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, requests_end, asx_cx_runtime(cx)), 0);
    asx_status st = sleeps(cx, arg);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return st;
}

/* Other threads may ask a runtime of several workers to end; it is the driver that does it. */
ASX_TEST(a_shutdown_from_outside_is_a_request_while_it_runs)
{
    asx_runtime_config config = { .workers = 2 };
    asx_runtime *rt;
    v = (visit){ .rt = NULL };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, waits_for_visit, NULL), ASX_E_CANCELLED);
    CHECK_EQ(v.visits, 1);
    CHECK_STATUS(v.ended, ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static void *steps(void *arg)
{
    asx_runtime *rt = arg;
    CHECK_STATUS(asx_runtime_step(rt, 1, NULL), ASX_E_WOULD_BLOCK);
    CHECK(pthread_equal(rt->driver, pthread_self()));
    CHECK_EQ(rt->driver_tid, syscall(SYS_gettid));
    return NULL;
}

static asx_status yields_often(asx_cx *cx, void *arg)
{
    asx_status st = ASX_OK;
    (void)arg;
    for (int i = 0; i < 20 && st == ASX_OK; i++)
        st = asx_yield(cx);
    return st;
}

/* Dumps and sanitizers ask who it is. */
ASX_TEST(whoever_steps_a_runtime_is_known_as_its_driver)
{
    asx_runtime *rt;
    pthread_t thread;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_start(rt, yields_often, NULL), ASX_OK);
    (void)steps(rt);
    CHECK_EQ(pthread_create(&thread, NULL, steps, rt), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    (void)steps(rt);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- a runtime inside a task of another ----------------------------------------------------- */

typedef struct outer_things {
    asx_cx *cx;
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
} outer_things;

/* A wait or a close there would leave the stack of the runtime that runs this. */
static asx_status uses_the_outer_one(asx_cx *cx, void *arg)
{
    outer_things *o = arg;
    asx_region inner;
    int message = 1;
    CHECK_STATUS(asx_checkpoint(o->cx), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_sleep(o->cx, 1), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_channel_recv(o->cx, &o->rx, &message), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_channel_send(cx, &o->tx, &message), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_region_open(o->cx, NULL, &inner), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_region_open_in(cx, &o->region, NULL, &inner), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_region_close(&o->region, ASX_OK), ASX_E_WRONG_CONTEXT);
    return asx_sleep(cx, 1);
}

static asx_status drives_another(asx_cx *cx, void *arg)
{
    outer_things o = { .cx = cx };
    asx_runtime *rt;
    asx_time next;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &o.region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&o.region, sizeof(int), 1, NULL, &o.tx, &o.rx), ASX_OK);
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, uses_the_outer_one, &o), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_start(rt, uses_the_outer_one, &o), ASX_OK);
    while (asx_runtime_step(rt, 4, &next) == ASX_E_WOULD_BLOCK)
        CHECK_STATUS(asx_checkpoint(cx), ASX_OK); /* its own again */
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    return asx_region_close(&o.region, ASX_OK);
}

ASX_TEST(inside_a_runtime_that_a_task_drives_its_own_context_is_refused)
{
    asx_runtime *rt;
    asx_test_one_worker("one that is driven inside a worker of several is another matter");
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, drives_another, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}
