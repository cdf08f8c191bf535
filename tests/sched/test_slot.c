/* test_slot.c - with several workers, whom the running task wakes goes first, and keeps nobody from
 * its turn. Driven step by step, so that one worker does it all.
 * ctest-labels: own-workers */
#include "harness.h"

#include <string.h>

#include <asx/asx.h>

#include "sched/engine.h"

enum { WAITERS = 3, OTHERS = 4, TRIPS = 1000 };

static struct {
    asx_notify bell;
    asx_channel_sender there_tx, back_tx;
    asx_channel_receiver there_rx, back_rx;
    char order[64];
    unsigned turns; /* of the patient one */
    bool over;
} s;

static void say(const char *name)
{
    CHECK(strlen(s.order) + strlen(name) + 2 < sizeof s.order);
    strcat(s.order, name);
}

static asx_status waits(asx_cx *cx, void *arg)
{
    CHECK_STATUS(asx_notify_wait(cx, &s.bell), ASX_OK);
    say(arg);
    return ASX_OK;
}

static asx_status comes_by(asx_cx *cx, void *arg)
{
    (void)cx;
    say(arg);
    return ASX_OK;
}

/* Three wait, then two stand in the lane, then the three are woken. */
static asx_status wakes(asx_cx *cx, void *arg)
{
    static char *names[WAITERS] = { "a", "b", "c" };
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_notify_create(&r, &(asx_notify_options){ .name = "bell" }, &s.bell), ASX_OK);
    for (int i = 0; i < WAITERS; i++)
        CHECK_STATUS(asx_spawn(&r, names[i], waits, names[i]), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "1", comes_by, "1"), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "2", comes_by, "2"), ASX_OK);
    for (int i = 0; i < WAITERS; i++)
        CHECK_STATUS(asx_notify_one(&s.bell), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static void run_in_steps(uint32_t workers, asx_task_fn fn)
{
    asx_runtime_config config = { .workers = workers };
    asx_runtime *rt = NULL;
    asx_status st;
    s.order[0] = '\0';
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_start(rt, fn, NULL), ASX_OK);
    do
        st = asx_runtime_step(rt, 0, NULL);
    while (st == ASX_E_WOULD_BLOCK);
    CHECK_STATUS(st, ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(whom_a_task_wakes_goes_first_and_others_that_it_wakes_in_turn)
{
    run_in_steps(1, wakes);
    CHECK_STR_EQ(s.order, "12abc"); /* the order that one worker promises */
    run_in_steps(2, wakes);
    CHECK_STR_EQ(s.order, "a12bc");
}

static asx_status goes_there(asx_cx *cx, void *arg)
{
    int ball = 0;
    (void)arg;
    for (int i = 0; i < TRIPS; i++) {
        CHECK_STATUS(asx_channel_send(cx, &s.there_tx, &ball), ASX_OK);
        CHECK_STATUS(asx_channel_recv(cx, &s.back_rx, &ball), ASX_OK);
    }
    CHECK_EQ(ball, TRIPS);
    s.over = true;
    return ASX_OK;
}

static asx_status comes_back(asx_cx *cx, void *arg)
{
    int ball = 0;
    (void)arg;
    for (int i = 0; i < TRIPS; i++) {
        CHECK_STATUS(asx_channel_recv(cx, &s.there_rx, &ball), ASX_OK);
        ball++;
        CHECK_STATUS(asx_channel_send(cx, &s.back_tx, &ball), ASX_OK);
    }
    return ASX_OK;
}

static asx_status is_patient(asx_cx *cx, void *arg)
{
    (void)arg;
    for (; !s.over; s.turns++)
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    return ASX_OK;
}

static asx_status play_among_others(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    s.turns = 0;
    s.over = false;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &s.there_tx, &s.there_rx), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &s.back_tx, &s.back_rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "there", goes_there, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "back", comes_back, NULL), ASX_OK);
    for (int i = 0; i < OTHERS; i++)
        CHECK_STATUS(asx_spawn(&r, "patient", is_patient, NULL), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(two_who_wake_each_other_keep_nobody_from_its_turn)
{
    run_in_steps(1, play_among_others);
    unsigned in_turn = s.turns; /* all of them between any two hops */
    CHECK_GE(in_turn, 2 * TRIPS * OTHERS - 2 * OTHERS);
    run_in_steps(2, play_among_others);
    CHECK(s.turns < in_turn);
    /* Of a turn no more than so many go first: the others have the rest of it. */
    CHECK_GE(s.turns, 2 * TRIPS * (ASX__TURN - ASX__SLOT_MOST) / ASX__TURN);
}

/* Stands for a worker, which is not driven meanwhile. */
static void enter_as(asx_runtime *rt, uint32_t index)
{
    asx__thread_self()->worker = &rt->engine->workers[index];
    CHECK(!asx__engine_enter(rt));
    CHECK_EQ(asx__engine_worker(rt), index + 1);
}

static void leave(asx_runtime *rt)
{
    asx__engine_leave(rt, false);
    asx__thread_self()->worker = NULL;
}

/* Else turns of a worker that has short tasks would let those of another go first for ever. */
ASX_TEST(how_many_may_still_go_first_is_each_workers_own)
{
    asx_runtime_config config = { .workers = 2 };
    asx_runtime *rt = NULL;
    asx__node woken;
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    enter_as(rt, 0);
    rt->slot_left = 1;
    rt->slot = &woken;
    leave(rt);
    enter_as(rt, 1);
    CHECK(rt->slot != &woken);
    rt->slot_left = ASX__SLOT_MOST; /* a turn begins here */
    leave(rt);
    enter_as(rt, 0);
    CHECK_EQ(rt->slot_left, 1);
    CHECK(rt->slot == &woken);
    leave(rt);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}
