/* race.c - the first answer wins; the losers are cancelled and have ended before anybody goes on.
 *
 * Three mirrors are asked for the same thing. asx_race_all() returns the first answer, but not
 * before both losers have given their connections back: what they use may live on the caller's
 * stack. The clock is virtual, so the times are exact.
 */
#include <stdio.h>

#include <asx/asx.h>

struct mirror {
    const char *name;
    uint64_t takes_ms;
    bool connected;
};

static asx_status disconnect(asx_cx *cx, void *arg)
{
    struct mirror *mirror = arg;
    (void)cx;
    mirror->connected = false;
    printf("    %s: connection given back\n", mirror->name);
    return ASX_OK;
}

static asx_status ask(asx_cx *cx, void *arg)
{
    struct mirror *mirror = arg;
    asx_status st = asx_task_defer(cx, disconnect, mirror); /* however this task ends */
    if (st < 0)
        return st;
    mirror->connected = true;
    st = asx_sleep(cx, mirror->takes_ms * ASX_MS);
    printf("%3u ms %s: %s\n", (unsigned)(asx_now(cx) / ASX_MS), mirror->name, asx_status_str(st));
    if (st == ASX_OK)
        st = asx_task_set_value(cx, mirror->takes_ms);
    return st;
}

static asx_status app(asx_cx *cx, void *arg)
{
    struct mirror mirrors[] = {
        { "oslo", 30, false }, { "rome", 10, false }, { "wien", 20, false }
    };
    asx_branch branches[3];
    asx_join_result result;
    size_t winner;
    (void)arg;
    for (int i = 0; i < 3; i++)
        branches[i] = (asx_branch){ mirrors[i].name, ask, &mirrors[i] };
    asx_status st = asx_race_all(cx, branches, 3, NULL, &winner, &result);
    if (st < 0)
        return st;
    int open = 0;
    for (int i = 0; i < 3; i++)
        open += mirrors[i].connected;
    printf("%s won with %u, %d connections are open\n", branches[winner].name,
           (unsigned)result.value, open);
    return ASX_OK;
}

int main(void)
{
    asx_runtime *rt;
    if (asx_runtime_create(&(asx_runtime_config){ .clock = ASX_CLOCK_VIRTUAL }, &rt) < 0)
        return 1;
    asx_status st = asx_runtime_run(rt, app, NULL);
    return asx_runtime_destroy(rt) < 0 || st < 0;
}
