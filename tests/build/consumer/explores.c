/* A program with a main of its own that explores: two tasks send to a channel of one place. */
#define ASX_LAB 1
#include <asx/asx_lab.h>
#include <stdio.h>

static asx_channel_sender tx;
static asx_channel_receiver rx;

static asx_status sends(asx_cx *cx, void *arg)
{
    return asx_channel_send(cx, &tx, arg);
}

static void both_arrive(asx_cx *cx, void *arg)
{
    int one = 1, two = 2, got = 0, sum = 0;
    asx_region r;
    (void)arg;
    asx_region_open(cx, NULL, &r);
    asx_channel_create(&r, sizeof one, 1, NULL, &tx, &rx);
    asx_spawn(&r, "one", sends, &one);
    asx_spawn(&r, "two", sends, &two);
    for (int i = 0; i < 2; i++)
        if (asx_channel_recv(cx, &rx, &got) == ASX_OK)
            sum += got;
    asx_region_close(&r, ASX_OK);
    asx_lab_check(cx, sum == 3);
}

int main(void)
{
    asx_explore_result result;
    asx_status st = asx_explore(both_arrive, NULL, NULL, &result);
    printf("%s %d bugs in %d classes\n", asx_status_str(st < 0 ? st : result.status),
           (int)result.totals.bugs, (int)result.totals.classes);
    return 0;
}
