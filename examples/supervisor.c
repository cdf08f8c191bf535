/* supervisor.c - a task per child process that starts it again when it fails, and gives up after a
 * while; the rest is stopped with SIGTERM, and what does not listen is killed.
 *
 * Each child belongs to the region of its task. The task waits for its end; when it is cancelled,
 * it asks the child to end, masked, for as long as the region gives it. What is left then goes with
 * the region: no child outlives this program's regions.
 */
#include <signal.h>
#include <stdio.h>

#include <asx/asx.h>

struct service {
    const char *name, *script;
    int starts, starts_max;
    asx_child_end end;
    bool asked;
};

/* The child gets its time to end in order. */
static asx_status stop(asx_cx *cx, void *arg)
{
    asx_child_end end;
    (void)asx_child_signal(cx, arg, SIGTERM);
    return asx_child_wait(cx, arg, &end);
}

static asx_status run_once(asx_cx *cx, struct service *s)
{
    const char *const argv[] = { "sh", "-c", s->script, NULL };
    asx_child child;
    asx_status st = asx_child_start(cx, NULL, argv, &(asx_child_options){ .name = s->name },
                                    &child, NULL);
    if (st < 0)
        return st;
    s->starts++;
    st = asx_child_wait(cx, &child, &s->end);
    if (st == ASX_E_CANCELLED) {
        s->asked = true;
        ASX_IGNORE(asx_with_cancel_mask(cx, stop, &child));
    }
    (void)asx_child_close(cx, &child); /* kills it, if it still runs */
    return st;
}

static asx_status supervise(asx_cx *cx, void *arg)
{
    struct service *s = arg;
    asx_status st = ASX_OK;
    while (st == ASX_OK && s->starts < s->starts_max) {
        st = run_once(cx, s);
        if (st == ASX_OK && s->end.code == 0)
            return ASX_OK; /* it has done its work */
    }
    return st;
}

static asx_status app(asx_cx *cx, void *arg)
{
    struct service services[] = {
        { .name = "works", .script = "exit 0", .starts_max = 3 },
        { .name = "fails", .script = "exit 7", .starts_max = 3 },
        { .name = "serves", .script = "exec sleep 60", .starts_max = 3 },
    };
    enum { SERVICES = sizeof services / sizeof *services };
    asx_region r;
    asx_task tasks[SERVICES];
    asx_join_result result;
    (void)arg;
    asx_region_open(cx, &(asx_region_options){ .name = "services" }, &r);
    for (int i = 0; i < SERVICES; i++)
        asx_spawn_task(&r, supervise, &services[i],
                       &(asx_spawn_options){ .name = services[i].name }, &tasks[i]);
    asx_status st = asx_join(cx, &tasks[0], &result);
    if (st == ASX_OK)
        st = asx_join(cx, &tasks[1], &result);
    while (st == ASX_OK && services[2].starts == 0)
        st = asx_yield(cx);
    asx_region_cancel(&r, NULL); /* the others are done: stop what serves */
    asx_status end = asx_region_close(&r, st);
    for (int i = 0; i < SERVICES; i++)
        printf("%s: started %d times, %s %d\n", services[i].name, services[i].starts,
               services[i].asked ? "asked to end" : "ended with", services[i].end.code);
    printf("services: %s\n", asx_status_str(end));
    return st;
}

int main(void)
{
    return asx_main(app, NULL);
}
