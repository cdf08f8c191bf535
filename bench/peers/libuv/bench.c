/* What libuv has of the workloads.
 *
 *     bench <workload> <variant or -> <workers>      prints: RESULT <value>
 *
 * Exit status 3 means that libuv has nothing of the kind. libuv calls back and knows
 * neither tasks nor channels, so only the timers of W7a are the workload itself. The
 * variants stand near a workload and are shown beside it, never as the peer to beat:
 *
 *   W1  threadpool   empty work for the pool; the workers are pool threads, beside the loop
 *   W3  async        two loops on two threads that wake each other (50,000 trips: it is
 *                    a system call and a wake-up each time)
 *   W7b timers       100,000 timers with callbacks, where the others have 100,000 tasks
 */
#define _GNU_SOURCE
#include <uv.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool held, const char *what)
{
    if (!held) {
        fprintf(stderr, "libuv: %s\n", what);
        exit(1);
    }
}

static void *zeroed(size_t count, size_t size)
{
    void *p = malloc(count * size);
    require(p != NULL, "no memory");
    return memset(p, 0, count * size); /* unlike calloc, pages are there before the clock runs */
}

/* W7a */

static void must_not_fire(uv_timer_t *timer)
{
    (void)timer;
    require(false, "timer fired");
}

/* The deadline of timer i: spread over 1 to 60 seconds, in no order. */
static uint64_t deadline_ms(uint64_t i)
{
    return (1000000 + i * 7919 % 1000000 * 59) / 1000;
}

static double timers_cancelled(void)
{
    enum { COUNT = 1000000 };
    uv_loop_t *loop = uv_default_loop();
    uv_timer_t *timers = zeroed(COUNT, sizeof *timers);
    uint64_t start = uv_hrtime();
    for (uint64_t i = 0; i < COUNT; i++) {
        uv_timer_init(loop, &timers[i]);
        uv_timer_start(&timers[i], must_not_fire, deadline_ms(i), 0);
    }
    for (int i = 0; i < COUNT; i++)
        uv_timer_stop(&timers[i]);
    return (double)(uv_hrtime() - start) / COUNT;
}

/* W7b timers */

static void close_timer(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
}

static double timers_fire(void)
{
    enum { COUNT = 100000 };
    uv_loop_t *loop = uv_default_loop();
    uv_timer_t *timers = zeroed(COUNT, sizeof *timers);
    uint64_t start = uv_hrtime();
    uv_update_time(loop);
    for (uint64_t i = 0; i < COUNT; i++) {
        uv_timer_init(loop, &timers[i]);
        uv_timer_start(&timers[i], close_timer, 1 + i * 7919 % 1000, 0);
    }
    require(uv_run(loop, UV_RUN_DEFAULT) == 0, "handles left");
    return (double)(uv_hrtime() - start) / 1e6 - 1000;
}

/* W3 async */

enum { TRIPS = 50000 };

struct side {
    uv_loop_t loop;
    uv_async_t wake;
    struct side *other;
    int wakes_left;
};

static void pass_on(uv_async_t *wake)
{
    struct side *side = wake->data;
    side->wakes_left--;
    bool last = side->wakes_left == 0;
    if (last)
        uv_close((uv_handle_t *)wake, NULL);
    if (!last || side->other->wakes_left > 0)
        uv_async_send(&side->other->wake);
}

static void run_side(void *arg)
{
    struct side *side = arg;
    uv_run(&side->loop, UV_RUN_DEFAULT);
}

static double async_ping_pong(void)
{
    static struct side sides[2];
    for (int k = 0; k < 2; k++) {
        uv_loop_init(&sides[k].loop);
        uv_async_init(&sides[k].loop, &sides[k].wake, pass_on);
        sides[k].wake.data = &sides[k];
        sides[k].other = &sides[!k];
        sides[k].wakes_left = TRIPS;
    }
    uv_thread_t echo;
    require(uv_thread_create(&echo, run_side, &sides[1]) == 0, "no thread");
    uint64_t start = uv_hrtime();
    uv_async_send(&sides[1].wake);
    run_side(&sides[0]);
    double spent_ns = (double)(uv_hrtime() - start);
    uv_thread_join(&echo);
    return spent_ns / TRIPS;
}

/* W1 threadpool */

static void empty(uv_work_t *work)
{
    (void)work;
}

static void after(uv_work_t *work, int status)
{
    (void)work;
    require(status == 0, "work was cancelled");
}

static double pool_work(void)
{
    enum { TOTAL = 1000000, LIVE = 10000 };
    uv_loop_t *loop = uv_default_loop();
    uv_work_t *work = zeroed(LIVE, sizeof *work);
    uint64_t start = uv_hrtime();
    for (int done = 0; done < TOTAL; done += LIVE) {
        for (int i = 0; i < LIVE; i++)
            uv_queue_work(loop, &work[i], empty, after);
        uv_run(loop, UV_RUN_DEFAULT);
    }
    return (double)(uv_hrtime() - start) / TOTAL;
}

static const struct {
    const char *workload;
    const char *variant;
    double (*run)(void);
} workloads[] = {
    { "w1", "threadpool", pool_work },
    { "w3", "async", async_ping_pong },
    { "w7a", "-", timers_cancelled },
    { "w7b", "timers", timers_fire },
};

int main(int argc, char **argv)
{
    require(argc == 4, "usage: bench <workload> <variant or -> <workers>");
    setenv("UV_THREADPOOL_SIZE", argv[3], 1);
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        if (strcmp(workloads[i].workload, argv[1]) == 0 &&
            strcmp(workloads[i].variant, argv[2]) == 0) {
            printf("RESULT %.3f\n", workloads[i].run());
            return 0;
        }
    }
    return 3;
}
