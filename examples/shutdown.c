/* shutdown.c - a shutdown that cannot hang, and names who holds it up.
 *
 * Three tasks are asleep when the program is told to stop. The polite one ends at once. The careful
 * one saves its work first, inside a mask, and is given the time. The stubborn one masks the cancel
 * and sleeps on: after a second of patience the report names it, with the line that spawned it and
 * what it waits for; after the cleanup time of its region it is completed by force.
 *
 * The clock is virtual, so the seconds take no time.
 */
#include <stdio.h>
#include <string.h>

#include <asx/asx.h>

static asx_status polite(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = asx_sleep(cx, 3600 * ASX_SEC);
    printf("polite: told %s, leaving\n", asx_status_str(st));
    return st;
}

static asx_status save(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = asx_sleep(cx, 200 * ASX_MS); /* masked: may wait although we are cancelled */
    printf("careful: saved, %s\n", asx_status_str(st));
    return st;
}

static asx_status careful(asx_cx *cx, void *arg)
{
    asx_status st = asx_sleep(cx, 3600 * ASX_SEC);
    ASX_IGNORE(asx_with_cancel_mask(cx, save, arg));
    return st;
}

static asx_poll stubborn(asx_cx *cx, void *arg)
{
    bool *masked = arg;
    if (!*masked)
        *masked = asx_mask_begin(cx, 0) == ASX_OK;
    (void)asx_sleep(cx, 3600 * ASX_SEC); /* whatever it is told, it never ends */
    return ASX_POLL_PENDING;
}

static asx_status app(asx_cx *cx, void *arg)
{
    bool masked = false;
    asx_region r;
    (void)arg;
    asx_status st = asx_region_open(cx, &(asx_region_options){ .name = "workers" }, &r);
    if (st < 0)
        return st;
    asx_spawn(&r, "polite", polite, NULL);
    asx_spawn(&r, "careful", careful, NULL);
    asx_spawn_poll(&r, "stubborn", stubborn, &masked);
    return asx_region_close(&r, ASX_OK);
}

static void stop(asx_runtime *rt, uint64_t patience_ns)
{
    asx_close_report report;
    asx_time begun = asx_runtime_now(rt);
    asx_status st = asx_runtime_shutdown(rt, patience_ns, &report);
    printf("shutdown: %s after %u ms, %u forced\n", asx_status_str(st),
           (unsigned)((asx_runtime_now(rt) - begun) / ASX_MS), (unsigned)report.tasks_forced);
    for (size_t i = 0; i < report.items_len; i++) {
        const asx_report_item *item = &report.items[i];
        const char *file = strrchr(item->site, '/');
        if (item->kind == ASX_REPORT_TASK)
            printf("    %s in %s, spawned at %s: %s%s%s\n", item->name, item->path,
                   file != NULL ? file + 1 : item->site, item->state,
                   *item->waits_for != '\0' ? ", waits for " : "", item->waits_for);
    }
    asx_close_report_deinit(&report);
}

int main(void)
{
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL,
                                  .root = { .cleanup_time_ns = 5 * ASX_SEC } };
    if (asx_runtime_create(&config, &rt) < 0 || asx_runtime_start(rt, app, NULL) < 0)
        return 1;
    while (asx_runtime_step(rt, 0, NULL) == ASX_E_WOULD_BLOCK && asx_runtime_now(rt) < ASX_SEC)
        (void)asx_runtime_advance(rt, ASX_SEC);
    stop(rt, ASX_SEC); /* patience for one second ... */
    stop(rt, 0);       /* ... and then as long as the cleanup time allows */
    return asx_runtime_destroy(rt) < 0;
}
