/* jobs.c - a job server that cannot lose a job: supervised workers, retries, and two replicas of
 * which the quicker one answers.
 *
 * Jobs lie in a channel. A pool of workers takes them; a job keeps its place in the channel until
 * it is done, so when a worker panics in the middle of one the supervisor starts the pool again and
 * the job is taken again. A job asks a replica, and another one if the first does not answer soon;
 * if both fail it tries again later. The clock is virtual, so the times are exact.
 */
#include <stdio.h>

#include <asx/asx.h>

enum { JOBS = 6 };

struct server {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    int crashes; /* of the pool */
    int refused; /* answers of the second replica */
};

struct question {
    struct server *server;
    int job;
};

/* Slow for every other job. */
static asx_status first_replica(asx_cx *cx, void *arg)
{
    const struct question *q = arg;
    return asx_sleep(cx, (q->job % 2 == 0 ? 100 : 10) * ASX_MS);
}

/* Quick, but busy when it is first asked. */
static asx_status second_replica(asx_cx *cx, void *arg)
{
    const struct question *q = arg;
    asx_status st = asx_sleep(cx, 5 * ASX_MS);
    return st == ASX_OK && q->server->refused++ == 0 ? ASX_E_BUSY : st;
}

static asx_status ask(asx_cx *cx, void *arg)
{
    asx_branch replicas[] = { { "first", first_replica, arg }, { "second", second_replica, arg } };
    asx_flow_options soon = { .name = "ask", .timeout_ns = 60 * ASX_MS };
    size_t winner;
    asx_status st = asx_hedge(cx, replicas, 2, 20 * ASX_MS, &soon, &winner, NULL);
    return st < 0 ? st : asx_task_set_value(cx, winner);
}

static asx_status do_job(asx_cx *cx, void *arg, const void *item)
{
    struct question q = { arg, *(const int *)item };
    asx_branch branch = { "job", ask, &q };
    asx_retry_strategy later = { .attempts_max = 4, .delay_ns = 10 * ASX_MS,
                                 .backoff = ASX_BACKOFF_EXPONENTIAL };
    asx_join_result answer;
    uint32_t attempts;
    if (q.job == 3 && q.server->crashes++ == 0)
        asx_panic(cx, "job 3 is too much");
    asx_status st = asx_retry(cx, &branch, &later, NULL, &answer, &attempts);
    if (st == ASX_OK)
        printf("%3u ms job %d: replica %u, attempt %u\n", (unsigned)(asx_now(cx) / ASX_MS), q.job,
               (unsigned)answer.value + 1, (unsigned)attempts);
    return st;
}

/* Ends well when there are no more jobs. */
static asx_status pool(asx_cx *cx, void *arg)
{
    struct server *server = arg;
    asx_each_options two = { .workers = 2 };
    return asx_for_each(cx, &server->rx, sizeof(int), do_job, server, &two, NULL);
}

static asx_status clients(asx_cx *cx, void *arg)
{
    struct server *server = arg;
    for (int job = 1; job <= JOBS; job++) {
        asx_status st = asx_channel_send(cx, &server->tx, &job);
        if (st < 0)
            return st;
    }
    return asx_channel_sender_drop(&server->tx);
}

static asx_status app(asx_cx *cx, void *arg)
{
    struct server server = { .crashes = 0 };
    asx_supervised children[] = {
        { .name = "pool", .fn = pool, .arg = &server, .restart = ASX_RESTART_TRANSIENT },
        { .name = "clients", .fn = clients, .arg = &server, .restart = ASX_RESTART_TEMPORARY },
    };
    asx_supervised_end ends[2];
    asx_region r;
    (void)arg;
    asx_status st = asx_region_open(cx, &(asx_region_options){ .name = "server" }, &r);
    if (st < 0)
        return st;
    st = asx_channel_create(&r, sizeof(int), 4, NULL, &server.tx, &server.rx);
    if (st == ASX_OK)
        st = asx_supervise(cx, children, 2, NULL, ends);
    if (st == ASX_OK)
        printf("the pool was started %u times\n", (unsigned)ends[0].starts);
    return asx_region_close(&r, st);
}

int main(void)
{
    asx_runtime *rt;
    if (asx_runtime_create(&(asx_runtime_config){ .clock = ASX_CLOCK_VIRTUAL }, &rt) < 0)
        return 1;
    asx_status st = asx_runtime_run(rt, app, NULL);
    return asx_runtime_destroy(rt) < 0 || st < 0;
}
