/* deadline.c - one deadline over a tree of tasks: everything below it is cancelled, nothing is
 * left behind.
 *
 * A request has 100 ms. It asks two replicas, and each of them asks its shards, some of which are
 * too slow. At 100 ms the cancel reaches every sleeping task, on every level; each region closes
 * when its own tasks have ended, so the leaves end before the branches, and those before the root.
 *
 * The clock is virtual: it jumps to the next deadline when nothing can run. So the times printed
 * are exact and the program takes no time at all.
 */
#include <stdio.h>

#include <asx/asx.h>

struct shard {
    const char *name;
    uint64_t takes_ms;
};

struct replica {
    const char *name;
    struct shard shards[2];
};

static asx_status report(asx_cx *cx, int level, const char *name, asx_status st)
{
    printf("%4u ms %*s%s: %s\n", (unsigned)(asx_now(cx) / ASX_MS), 4 * level, "", name,
           asx_status_str(st));
    return st;
}

static asx_status ask_shard(asx_cx *cx, void *arg)
{
    struct shard *shard = arg;
    return report(cx, 2, shard->name, asx_sleep(cx, shard->takes_ms * ASX_MS));
}

static asx_status ask_replica(asx_cx *cx, void *arg)
{
    struct replica *replica = arg;
    asx_region r;
    asx_status st = asx_region_open(cx, &(asx_region_options){ .name = replica->name }, &r);
    if (st < 0)
        return st;
    for (int i = 0; i < 2; i++)
        asx_spawn(&r, replica->shards[i].name, ask_shard, &replica->shards[i]);
    return report(cx, 1, replica->name, asx_region_close(&r, ASX_OK));
}

static asx_status app(asx_cx *cx, void *arg)
{
    struct replica replicas[] = {
        { "east", { { "east-1", 20 }, { "east-2", 40 } } },
        { "west", { { "west-1", 30 }, { "west-2", 3600 * 1000 } } },
    };
    asx_region_options options = { .name = "request", .timeout_ns = 100 * ASX_MS };
    asx_region r;
    (void)arg;
    asx_status st = asx_region_open(cx, &options, &r);
    if (st < 0)
        return st;
    for (int i = 0; i < 2; i++)
        asx_spawn(&r, replicas[i].name, ask_replica, &replicas[i]);
    (void)report(cx, 0, "request", asx_region_close(&r, ASX_OK));
    return ASX_OK; /* a time-out that was looked at is handled: it does not fail the program */
}

int main(void)
{
    asx_runtime *rt;
    asx_status st = asx_runtime_create(&(asx_runtime_config){ .clock = ASX_CLOCK_VIRTUAL }, &rt);
    if (st < 0)
        return 1;
    st = asx_runtime_run(rt, app, NULL);
    printf("run: %s, quiescent: %s\n", asx_status_str(st),
           asx_status_str(asx_runtime_quiescent(rt)));
    asx_runtime_destroy(rt);
    return st < 0;
}
