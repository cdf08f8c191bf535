/* daemon.c - a service inside a loop of its host: works until SIGTERM, then stops and cleans up.
 *
 * A sampler takes a reading every 10 ms, a storage task keeps them. The loop in main() lets the
 * runtime do what is due and waits for the next deadline or for SIGTERM, whichever comes first.
 * Then everything has two seconds to end; who does not is named.
 */
#include <signal.h>
#include <stdio.h>

#include <asx/asx.h>

struct service {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    int stored;
};

static asx_status sampler(asx_cx *cx, void *arg)
{
    struct service *s = arg;
    for (int reading = 1;; reading++) {
        asx_status st = asx_sleep(cx, 10 * ASX_MS);
        if (st == ASX_OK)
            st = asx_channel_send(cx, &s->tx, &reading);
        if (st < 0)
            return st; /* cancelled: there is nothing to clean up here */
    }
}

static asx_status flush(asx_cx *cx, void *arg)
{
    struct service *s = arg;
    (void)cx;
    printf("flushed %d readings\n", s->stored);
    return ASX_OK;
}

static asx_status storage(asx_cx *cx, void *arg)
{
    struct service *s = arg;
    asx_status st = asx_task_defer(cx, flush, s); /* runs however this task ends */
    while (st == ASX_OK) {
        int reading;
        st = asx_channel_recv(cx, &s->rx, &reading);
        if (st < 0)
            break;
        printf("stored reading %d\n", reading);
        if (++s->stored == 3)
            raise(SIGTERM); /* in place of an operator, so that this example ends */
    }
    return st;
}

static asx_status serve(asx_cx *cx, void *arg)
{
    struct service *s = arg;
    asx_region r;
    asx_status st = asx_region_open(cx, &(asx_region_options){ .name = "service" }, &r);
    if (st < 0)
        return st;
    asx_channel_create(&r, sizeof(int), 16, NULL, &s->tx, &s->rx);
    asx_spawn(&r, "sampler", sampler, s);
    asx_spawn(&r, "storage", storage, s);
    return asx_region_close(&r, ASX_OK);
}

static bool wait_for_signal(const sigset_t *signals, uint64_t ns)
{
    if (ns > 3600 * ASX_SEC)
        ns = 3600 * ASX_SEC;
    struct timespec ts = { (time_t)(ns / ASX_SEC), (long)(ns % ASX_SEC) };
    return sigtimedwait(signals, NULL, &ts) > 0;
}

int main(void)
{
    struct service s = { .stored = 0 };
    asx_runtime *rt;
    asx_time next = 0;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* it is taken in wait_for_signal() and nowhere else */
    if (asx_runtime_create(NULL, &rt) < 0 || asx_runtime_start(rt, serve, &s) < 0)
        return 1;
    while (asx_runtime_step(rt, 0, &next) == ASX_E_WOULD_BLOCK) {
        asx_time now = asx_runtime_now(rt);
        if (wait_for_signal(&signals, next > now ? next - now : 0))
            break;
    }
    asx_close_report late;
    asx_status st = asx_runtime_shutdown(rt, 2 * ASX_SEC, &late);
    for (size_t i = 0; i < late.items_len; i++)
        printf("late: %s in %s\n", late.items[i].name, late.items[i].path);
    asx_close_report_deinit(&late);
    printf("stopped: %s\n", asx_status_str(st));
    return asx_runtime_destroy(rt) < 0 || st < 0;
}
