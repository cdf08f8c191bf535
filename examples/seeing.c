/* seeing.c - who is there, what everyone waits for, and who does not let the others go.
 *
 * kill -QUIT writes every task with its call chain to stderr, and the program goes on; `asx stacks`
 * does the same from outside. A watchdog tells of a task that keeps its thread for too long.
 */
#include <asx/asx.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int seen;

/* Called on the watchdog's thread. s->text has it all, with the call chain. */
static void tell(void *ctx, const asx_sighting *s)
{
    (void)ctx;
    printf("the watchdog saw: \"%s\" %s\n", s->name,
           s->kind == ASX_SIGHTING_NO_YIELD ? "has not yielded" : "is in a system call");
    atomic_store(&seen, 1);
}

/* Computes and never asks the runtime for anything, as a task should now and then. */
static asx_status greedy(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    while (atomic_load(&seen) == 0)
        continue;
    return ASX_OK;
}

static asx_status patient(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, 10 * ASX_MS);
}

static asx_status app(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    asx_region_open(cx, &(asx_region_options){ .name = "room" }, &r);
    asx_spawn(&r, "patient", patient, NULL);
    asx_spawn(&r, "greedy", greedy, NULL);
    return asx_region_close(&r, ASX_OK);
}

int main(void)
{
    asx_runtime *rt;
    asx_watchdog *dog;
    asx_watchdog_options options = { .limit_ns = 50 * ASX_MS, .report = tell };
    if (asx_dump_on_signal(SIGQUIT, 2) < 0 || asx_runtime_create(NULL, &rt) < 0)
        return 1;
    asx_status st = asx_watchdog_start(rt, &options, &dog);
    if (st >= 0) {
        st = asx_runtime_run(rt, app, NULL);
        (void)asx_watchdog_stop(dog);
    }
    printf("run: %s\n", asx_status_str(st));
    return asx_runtime_destroy(rt) < 0 || st < 0;
}
