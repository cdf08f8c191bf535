/* embedded.c - a controller in one static block of memory, driven by the loop of its host.
 *
 * Records, channels and stacks are carved from `memory` when the runtime is created; no allocator
 * is called afterwards (the one given here would end the program). The host owns the loop: it tells
 * the runtime that time has passed and lets it run what is due, as a timer interrupt would.
 */
#include <stdio.h>
#include <stdlib.h>

#include <asx/asx.h>

static _Alignas(64) unsigned char memory[192 * 1024];

struct plant {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    int temperature;
    bool heater;
};

static asx_status sensor(asx_cx *cx, void *arg)
{
    struct plant *plant = arg;
    for (int i = 0; i < 8; i++) {
        asx_status st = asx_sleep(cx, 100 * ASX_MS);
        plant->temperature += plant->heater ? 3 : -2;
        if (st == ASX_OK)
            st = asx_channel_send(cx, &plant->tx, &plant->temperature);
        if (st < 0)
            return st;
    }
    return asx_channel_sender_drop(&plant->tx);
}

static asx_status thermostat(asx_cx *cx, void *arg)
{
    struct plant *plant = arg;
    for (int reading;;) {
        asx_status st = asx_channel_recv(cx, &plant->rx, &reading);
        if (st < 0)
            return st == ASX_E_DISCONNECTED ? ASX_OK : st;
        plant->heater = reading < 20;
        printf("%4u ms: %d degrees, heater %s\n", (unsigned)(asx_now(cx) / ASX_MS), reading,
               plant->heater ? "on" : "off");
    }
}

static asx_status firmware(asx_cx *cx, void *arg)
{
    struct plant *plant = arg;
    asx_region r;
    asx_status st = asx_region_open(cx, &(asx_region_options){ .name = "control" }, &r);
    if (st < 0)
        return st;
    asx_channel_create(&r, sizeof(int), 2, NULL, &plant->tx, &plant->rx);
    asx_spawn(&r, "sensor", sensor, plant);
    asx_spawn(&r, "thermostat", thermostat, plant);
    return asx_region_close(&r, ASX_OK);
}

static void *no_alloc(void *ctx, size_t size)
{
    (void)ctx, (void)size;
    abort();
}

static void no_free(void *ctx, void *block, size_t size)
{
    (void)ctx, (void)block, (void)size;
    abort();
}

int main(void)
{
    struct plant plant = { .temperature = 21 };
    asx_runtime *rt;
    asx_runtime_config config = { .profile = ASX_PROFILE_EMBEDDED, .clock = ASX_CLOCK_VIRTUAL,
                                  .memory = memory, .memory_size = sizeof memory,
                                  .allocator = { no_alloc, no_free, NULL } };
    asx_status st = asx_runtime_create(&config, &rt);
    if (st == ASX_OK)
        st = asx_runtime_start(rt, firmware, &plant);
    if (st < 0)
        return 1;
    unsigned ticks = 0;
    while ((st = asx_runtime_step(rt, 0, NULL)) == ASX_E_WOULD_BLOCK) {
        (void)asx_runtime_advance(rt, 10 * ASX_MS); /* the tick of the host's timer */
        ticks++;
    }
    printf("done after %u ticks: %s, no allocator was called\n", ticks, asx_status_str(st));
    return asx_runtime_destroy(rt) < 0 || st < 0;
}
