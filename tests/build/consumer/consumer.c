/* A C program outside the tree: a region, two tasks, a join. */
#include <asx/asx.h>
#include <stdio.h>

static asx_status square(asx_cx *cx, void *arg)
{
    int *number = arg;
    return asx_task_set_value(cx, (uint64_t)(*number * *number));
}

static asx_status app(asx_cx *cx, void *arg)
{
    uint64_t *sum = arg;
    int numbers[2] = { 3, 4 };
    asx_task tasks[2];
    asx_region region;
    asx_status st = asx_region_open(cx, NULL, &region);
    if (st < 0)
        return st;
    for (int i = 0; i < 2 && st >= 0; i++)
        st = asx_spawn_task(&region, square, &numbers[i], NULL, &tasks[i]);
    for (int i = 0; i < 2 && st >= 0; i++) {
        asx_join_result result;
        st = asx_join(cx, &tasks[i], &result);
        if (st >= 0)
            *sum += result.value;
    }
    return asx_region_close(&region, st);
}

int main(void)
{
    uint64_t sum = 0;
    if (asx_main(app, &sum) != 0)
        return 1;
    printf("%d.%d.%d %d\n", ASX_VERSION_MAJOR, ASX_VERSION_MINOR, ASX_VERSION_PATCH, (int)sum);
    return 0;
}
