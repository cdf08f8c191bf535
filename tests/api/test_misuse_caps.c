/* test_misuse_caps.c - calls that take a handle ask the running task for its capabilities. */
#include "support_api.h"

typedef struct world {
    asx_region region; /* everybody's, and not narrowed itself */
    asx_task victim;   /* waits in it until it is cancelled */
    asx_obligation given;
    uint32_t missing;  /* what the task under test has not */
    int refusals;
} world;

static asx_poll ends(asx_cx *cx, void *state)
{
    (void)cx;
    (void)state;
    return ASX_POLL_READY;
}

static asx_status work(void *arg)
{
    (void)arg;
    return ASX_OK;
}

/* Each call that a capability names, by a handle; how many of them there are. */
static int try_spawns(asx_runtime *rt, world *w, asx_status expected)
{
    asx_spawn_options named = { .name = "named" };
    asx_task task;
    int bytes = 7;
    REFUSED(rt, asx_spawn(&w->region, "t", api_returns_ok, NULL), expected);
    REFUSED(rt, asx_spawn_poll(&w->region, "t", ends, NULL), expected);
    REFUSED(rt, asx_spawn_copy(&w->region, "t", api_returns_ok, &bytes, sizeof bytes), expected);
    REFUSED(rt, asx_spawn_task(&w->region, api_returns_ok, NULL, NULL, &task), expected);
    REFUSED(rt, asx_spawn_task(&w->region, api_returns_ok, NULL, &named, &task), expected);
    REFUSED(rt, asx_spawn_poll_task(&w->region, ends, NULL, NULL, &task), expected);
    REFUSED(rt, asx_spawn_blocking(&w->region, "t", work, NULL, &task), expected);
    REFUSED(rt, asx_spawn_blocking(&w->region, "t", NULL, NULL, &task), expected);
    return 8;
}

static int try_cancels(asx_runtime *rt, world *w, asx_status expected)
{
    asx_cancel_reason reason = { .kind = ASX_CANCEL_TIMEOUT };
    REFUSED(rt, asx_task_cancel(&w->victim, NULL), expected);
    REFUSED(rt, asx_task_cancel(&w->victim, &reason), expected);
    REFUSED(rt, asx_region_cancel(&w->region, NULL), expected);
    REFUSED(rt, asx_runtime_shutdown(rt, 0, NULL), expected);
    return 4;
}

static int try_obligations(asx_runtime *rt, world *w, asx_status expected)
{
    asx_obligation o;
    REFUSED(rt, asx_obligation_reserve(&w->region, ASX_OBLIGATION_KIND_PLAIN, &o), expected);
    REFUSED(rt, asx_obligation_reserve(&w->region, ASX_OBLIGATION_KIND_LEASE, &o), expected);
    return 2;
}

static int try_channels(asx_runtime *rt, world *w, asx_status expected)
{
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_mpmc_sender many_tx;
    asx_mpmc_receiver many_rx;
    asx_mutex mutex;
    REFUSED(rt, asx_channel_create(&w->region, 8, 1, NULL, &tx, &rx), expected);
    REFUSED(rt, asx_mpmc_create(&w->region, 8, 1, NULL, &many_tx, &many_rx), expected);
    REFUSED(rt, asx_mutex_create(&w->region, &(asx_mutex_options){ .name = "m" },
                                 &mutex), expected);
    return 3;
}

static asx_status lacks(asx_cx *cx, void *arg)
{
    world *w = arg;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region_state state;
    CHECK_EQ(asx_cx_caps(cx), (uint32_t)ASX_CAP_ALL & ~w->missing);
    if (w->missing & ASX_CAP_SPAWN)
        w->refusals += try_spawns(rt, w, ASX_E_CAPABILITY);
    if (w->missing & ASX_CAP_CANCEL)
        w->refusals += try_cancels(rt, w, ASX_E_CAPABILITY);
    if (w->missing & ASX_CAP_OBLIGATION)
        w->refusals += try_obligations(rt, w, ASX_E_CAPABILITY);
    if (w->missing & ASX_CAP_CHANNEL)
        w->refusals += try_channels(rt, w, ASX_E_CAPABILITY);
    CHECK_STATUS(asx_region_get_state(&w->region, &state), ASX_OK);
    CHECK_EQ(state, ASX_REGION_OPEN);
    /* What is open can be resolved by anybody. */
    CHECK_STATUS(asx_obligation_commit(&w->given), ASX_OK);
    return ASX_OK;
}

/* Nothing sticks, and whoever has the capability is not bothered. */
static asx_status has_all(asx_cx *cx, void *arg)
{
    world *w = arg;
    asx_obligation o;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    CHECK_EQ(asx_cx_caps(cx), (uint32_t)ASX_CAP_ALL);
    CHECK_STATUS(asx_spawn(&w->region, "t", api_returns_ok, NULL), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&w->region, ASX_OBLIGATION_KIND_PLAIN, &o), ASX_OK);
    CHECK_STATUS(asx_obligation_abort(&o), ASX_OK);
    CHECK_STATUS(asx_channel_create(&w->region, 8, 1, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&w->victim, NULL), ASX_OK);
    return ASX_OK;
}

typedef struct setting {
    uint32_t missing;
    bool by_region; /* else by the options of the spawn */
} setting;

static asx_status every_setting(asx_cx *cx, void *arg)
{
    const setting *s = arg;
    world w = { .missing = s->missing };
    uint32_t caps = (uint32_t)ASX_CAP_ALL & ~s->missing;
    asx_region narrow;
    asx_task task;
    CHECK_STATUS(asx_region_open(cx, NULL, &w.region), ASX_OK);
    CHECK_STATUS(asx_obligation_reserve(&w.region, ASX_OBLIGATION_KIND_PLAIN, &w.given), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&w.region, api_waits, NULL, NULL, &w.victim), ASX_OK);
    if (s->by_region) {
        asx_region_options options = { .caps = caps };
        CHECK_STATUS(asx_region_open(cx, &options, &narrow), ASX_OK);
        CHECK_STATUS(asx_spawn(&narrow, "lacks", lacks, &w), ASX_OK);
        CHECK_STATUS(asx_region_close(&narrow, ASX_OK), ASX_OK);
    } else {
        asx_spawn_options options = { .caps = caps };
        CHECK_STATUS(asx_spawn_task(&w.region, lacks, &w, &options, &task), ASX_OK);
        CHECK_STATUS(asx_join(cx, &task, NULL), ASX_OK);
    }
    CHECK_STATUS(asx_spawn_task(&w.region, has_all, &w, NULL, &task), ASX_OK);
    CHECK_STATUS(asx_join(cx, &task, NULL), ASX_OK);
    CHECK_GE(w.refusals, s->missing & (ASX_CAP_IO | ASX_CAP_TIME) ? 0 : 2);
    return asx_region_close(&w.region, ASX_OK);
}

ASX_TEST(a_task_without_the_capability_is_refused_by_handles_too)
{
    const uint32_t missing[] = { ASX_CAP_SPAWN,   ASX_CAP_CANCEL, ASX_CAP_OBLIGATION,
                                 ASX_CAP_CHANNEL, ASX_CAP_IO,     ASX_CAP_TIME,
                                 ASX_CAP_SPAWN | ASX_CAP_CANCEL };
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        for (int by_region = 0; by_region < 2; by_region++) {
            setting s = { missing[i], by_region != 0 };
            CHECK_STATUS(api_run(every_setting, &s), ASX_OK);
        }
    }
}

/* The short way of a spawn knows of no capabilities: it must not be taken once somebody lacks one,
 * wherever the region is and whenever it was opened. */
static asx_status spawns_refused(asx_cx *cx, void *arg)
{
    (void)cx;
    CHECK_STATUS(asx_spawn(arg, "t", api_returns_ok, NULL), ASX_E_CAPABILITY);
    return ASX_OK;
}

static asx_status warm_region(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_spawn_options options = { .caps = ASX_CAP_TIME };
    asx_task task;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    for (int i = 0; i < 100; i++)
        CHECK_STATUS(asx_spawn(&region, "t", api_returns_ok, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&region, spawns_refused, &region, &options, &task), ASX_OK);
    CHECK_STATUS(asx_spawn(&region, "t", api_returns_ok, NULL), ASX_OK); /* it is the near one */
    CHECK_STATUS(asx_join(cx, &task, NULL), ASX_OK);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(the_short_way_of_a_spawn_asks_too)
{
    CHECK_STATUS(api_run(warm_region, NULL), ASX_OK);
    asx_runtime *rt;
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, warm_region, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}
