/* pool.c - jobs of which only so many run at a time, by a configuration that changes meanwhile.
 *
 * A semaphore has a permit for each job that may run. The governor watches the configuration and
 * makes new permits when it allows more. Each job answers through a oneshot; the answers are
 * added up. Nobody waits for a time: whoever waits, waits for what he needs.
 */
#include <stdio.h>

#include <asx/asx.h>

enum { JOBS = 8 };

struct config {
    int jobs_at_once;
};

ASX_WATCH_TYPE(config, struct config)
ASX_ONESHOT_TYPE(answer, int)

struct pool {
    asx_semaphore permits;
    asx_watch config;
    int running, most;
};

struct job {
    struct pool *pool;
    int number;
    asx_oneshot_sender answer_tx;
    asx_oneshot_receiver answer_rx;
};

static asx_status run_job(asx_cx *cx, void *arg)
{
    struct job *job = arg;
    struct pool *pool = job->pool;
    asx_semaphore_permit permit;
    asx_status st = asx_oneshot_adopt(cx, &job->answer_tx); /* if we end, the receiver is told */
    if (st < 0) {
        asx_oneshot_sender_drop(&job->answer_tx); /* ... and if we cannot promise that, too */
        return st;
    }
    st = asx_semaphore_acquire(cx, &pool->permits, 1, &permit);
    if (st < 0)
        return st;
    pool->running++;
    pool->most = pool->running > pool->most ? pool->running : pool->most;
    printf("job %d begins\n", job->number);
    st = asx_sleep(cx, 20 * ASX_MS); /* its work */
    pool->running--;
    asx_semaphore_release(&permit); /* also when it was cancelled; and the next one begins */
    return st < 0 ? st : answer_send(&job->answer_tx, job->number * job->number);
}

static asx_status governor(asx_cx *cx, void *arg)
{
    struct pool *pool = arg;
    struct config now, next;
    uint64_t version = 0;
    asx_status st = config_changed(cx, &pool->config, &version, &now);
    while (st == ASX_OK) {
        st = config_changed(cx, &pool->config, &version, &next);
        if (st < 0)
            break;
        printf("configuration %d: %d jobs at once\n", (int)version, next.jobs_at_once);
        if (next.jobs_at_once > now.jobs_at_once)
            st = asx_semaphore_add(&pool->permits,
                                   (uint64_t)(next.jobs_at_once - now.jobs_at_once));
        now = next;
    }
    return st == ASX_E_DISCONNECTED ? ASX_OK : st; /* nobody changes it any more */
}

static asx_status run_jobs(asx_cx *cx, struct pool *pool, int *ret_sum)
{
    struct job jobs[JOBS];
    asx_region r;
    asx_status st = asx_region_open(cx, &(asx_region_options){ .name = "jobs" }, &r);
    if (st < 0)
        return st;
    for (int i = 0; i < JOBS && st == ASX_OK; i++) {
        jobs[i].pool = pool;
        jobs[i].number = i + 1;
        st = answer_create(&r, NULL, &jobs[i].answer_tx, &jobs[i].answer_rx);
        if (st == ASX_OK)
            st = asx_spawn(&r, "job", run_job, &jobs[i]);
    }
    if (st == ASX_OK)
        st = asx_sleep(cx, 30 * ASX_MS);
    if (st == ASX_OK)
        st = config_send(&pool->config, (struct config){ .jobs_at_once = 4 });
    for (int i = 0; i < JOBS && st == ASX_OK; i++) {
        int square = 0;
        st = answer_recv(cx, &jobs[i].answer_rx, &square);
        *ret_sum += square;
    }
    return asx_region_close(&r, st);
}

static asx_status app(asx_cx *cx, void *arg)
{
    struct pool pool = { .running = 0 };
    asx_region r;
    int sum = 0;
    (void)arg;
    asx_status st = asx_region_open(cx, &(asx_region_options){ .name = "pool" }, &r);
    if (st < 0)
        return st;
    asx_semaphore_create(&r, 2, &(asx_semaphore_options){ .name = "permits" }, &pool.permits);
    config_create(&r, (struct config){ .jobs_at_once = 2 }, NULL, &pool.config);
    asx_spawn(&r, "governor", governor, &pool);
    st = run_jobs(cx, &pool, &sum);
    asx_watch_close(&pool.config);
    st = asx_region_close(&r, st);
    printf("at most %d at once, the sum of the squares is %d: %s\n", pool.most, sum,
           asx_status_str(st));
    return st;
}

int main(void)
{
    return asx_main(app, NULL);
}
