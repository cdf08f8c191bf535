/* fuzz_schedule.c - bytes as the schedule of a crash pack: it is refused, cannot be followed, or is
 * run. The first byte says with which clock and faults. */
#include <asx/explore.h>
#include <asx/sync.h>

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

typedef struct world {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_mutex mutex;
} world;

static asx_status send_chosen(asx_cx *cx, void *arg)
{
    world *w = arg;
    int message = (int)asx_lab_choose(cx, 3);
    return asx_channel_send(cx, &w->tx, &message);
}

static asx_status lock_and_sleep(asx_cx *cx, void *arg)
{
    world *w = arg;
    asx_mutex_guard guard;
    asx_status st = asx_mutex_lock(cx, &w->mutex, &guard);
    if (st < 0)
        return st;
    st = asx_sleep(cx, ASX_MS);
    (void)asx_mutex_unlock(&guard);
    return st;
}

static void test(asx_cx *cx, void *arg)
{
    world w;
    asx_region r;
    int message = 0;
    (void)arg;
    (void)asx_region_open(cx, &(asx_region_options){ .timeout_ns = 5 * ASX_MS }, &r);
    (void)asx_channel_create(&r, sizeof(int), 1, NULL, &w.tx, &w.rx);
    (void)asx_mutex_create(&r, &(asx_mutex_options){ .name = "m" }, &w.mutex);
    (void)asx_spawn(&r, "a", send_chosen, &w);
    (void)asx_spawn(&r, "b", lock_and_sleep, &w);
    (void)asx_spawn(&r, "c", lock_and_sleep, &w);
    (void)asx_channel_recv(cx, &w.rx, &message);
    asx_lab_check(cx, message != 2);
    (void)asx_region_close(&r, ASX_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    asx_explore_options options = { .steps_max = 1000 };
    asx_explore_result result;
    if (len == 0)
        return 0;
    options.clock = (bytes[0] & 1) != 0 ? ASX_EXPLORE_ADVERSARIAL : ASX_EXPLORE_QUIESCENT;
    options.faults = (bytes[0] & 2) != 0 ? ASX_EXPLORE_FAULT_CANCEL : ASX_EXPLORE_FAULT_NONE;
    char *schedule = malloc(len);
    if (schedule == NULL)
        return 0;
    memcpy(schedule, bytes + 1, len - 1);
    schedule[len - 1] = '\0';
    options.schedule = schedule;
    ASX_IGNORE(asx_explore(test, NULL, &options, &result));
    free(schedule);
    return 0;
}
