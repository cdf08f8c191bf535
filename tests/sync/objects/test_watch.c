/* test_watch.c - the laws of the watch. */
#include "play.h"

static void with_watch(asx_cx *cx, struct play_run *run)
{
    uint64_t first = 10;
    (void)cx;
    CHECK_STATUS(asx_watch_create(&run->home, sizeof first, &first,
                                  &(asx_watch_options){ .name = "subject" }, &run->watch),
                 ASX_OK);
}

ASX_TEST(who_waits_for_a_change_gets_the_newest_value)
{
    static const struct play play = {
        .name = "change", .setup = with_watch, .steps =
        { { { 1, op_watch_changed, 0, 0, 10, 0 }, /* what he has not seen is a change */
            { 2, op_watch_changed, 0, 4, 11, 0 }, { 8, op_watch_changed, 0, 0, 13, 0 },
            { 0, op_watch_get, 0, 0, 13, 0 } },
          { { 2, op_watch_get, 0, 0, 10, 0 }, { 3, op_watch_changed, 0, 4, 11, 0 } },
          { { 4, op_watch_send, 0, 0, 11, 0 }, { 5, op_watch_send, 0, 0, 12, 0 },
            { 6, op_watch_send, 0, 0, 13, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(the_same_value_again_is_a_change_too)
{
    static const struct play play = {
        .name = "again", .setup = with_watch, .steps =
        { { { 1, op_watch_get, 0, 0, 10, 0 }, { 0, op_watch_changed, 0, 2, 10, 0 } },
          { { 2, op_watch_send, 0, 0, 10, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(a_cancelled_wait_has_seen_nothing)
{
    static const struct play play = {
        .name = "cancelled", .setup = with_watch, .steps =
        { { { 1, op_watch_get, 0, 0, 10, 0 }, { 0, op_watch_changed, ASX_E_CANCELLED, 2, 0, 0 },
            { 0, op_watch_send, 0, 0, 11, 0 }, { 0, op_watch_changed, ASX_E_CANCELLED, 0, 0, 0 },
            { 0, op_watch_get, 0, 0, 11, 0 } },
          { { 2, op_cancel, 0, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(a_closed_watch_gives_what_was_not_seen_and_then_tells)
{
    static const struct play play = {
        .name = "close", .setup = with_watch, .steps =
        { { { 1, op_watch_get, 0, 0, 10, 0 }, { 0, op_watch_changed, 0, 2, 11, 0 },
            { 0, op_watch_changed, ASX_E_DISCONNECTED, 3, 0, 0 } },
          { { 4, op_watch_changed, 0, 0, 11, 0 },
            { 0, op_watch_changed, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_watch_get, 0, 0, 11, 0 } },
          { { 2, op_watch_send, 0, 0, 11, 0 }, { 3, op_watch_close, 0, 0, 0, 0 },
            { 0, op_watch_send, ASX_E_DISCONNECTED, 0, 12, 0 },
            { 0, op_watch_close, ASX_E_DISCONNECTED, 0, 0, 0 } } },
    };
    play_check(&play);
}

ASX_TEST(the_end_of_its_region_tells_who_waits)
{
    static const struct play play = {
        .name = "home goes", .setup = with_watch, .steps =
        { { { 1, op_watch_get, 0, 0, 10, 0 }, { 0, op_watch_changed, ASX_E_DISCONNECTED, 5, 0, 0 },
            { 0, op_watch_changed, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_watch_get, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_watch_send, ASX_E_DISCONNECTED, 0, 0, 0 },
            { 0, op_watch_close, ASX_E_DISCONNECTED, 0, 0, 0 } } },
        .home_first = true, .home_closes_at = 5,
    };
    play_check(&play);
}

/* ---- laws over schedules -------------------------------------------------------------------- */

typedef struct pair {
    uint64_t number, square;
} pair;

ASX_WATCH_TYPE(pairs, pair)

enum { CHANGES = 30, WATCHERS = 5 };

struct crowd {
    asx_watch watch;
};

struct watcher {
    struct crowd *crowd;
    uint64_t seen, last, looks;
};

static asx_status follow(asx_cx *cx, struct watcher *w)
{
    for (;;) {
        pair now;
        uint64_t before = w->seen;
        asx_status st = pairs_changed(cx, &w->crowd->watch, &w->seen, &now);
        if (st < 0)
            return st == ASX_E_DISCONNECTED ? ASX_OK : st;
        CHECK(w->seen > before);
        CHECK_EQ(w->seen, now.number + 1); /* version 1 is number 0 */
        CHECK_EQ(now.square, now.number * now.number);
        w->last = now.number;
        w->looks++;
    }
}

static asx_status follow_fiber(asx_cx *cx, void *arg)
{
    return follow(cx, arg);
}

static asx_poll follow_poll(asx_cx *cx, void *arg)
{
    asx_status st = follow(cx, arg);
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING
           : st < 0                ? asx_poll_fail(cx, st)
                                   : ASX_POLL_READY;
}

static asx_status change(asx_cx *cx, void *arg)
{
    struct crowd *c = arg;
    for (uint64_t i = 1; i <= CHANGES; i++) {
        CHECK_STATUS(pairs_send(&c->watch, (pair){ i, i * i }), ASX_OK);
        if (i % 3 == 0)
            CHECK_STATUS(asx_yield(cx), ASX_OK);
    }
    return asx_watch_close(&c->watch);
}

static asx_status crowd_program(asx_cx *cx, void *arg)
{
    struct crowd c;
    struct watcher watchers[WATCHERS];
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(pairs_create(&r, (pair){ 0, 0 }, NULL, &c.watch), ASX_OK);
    for (unsigned i = 0; i < WATCHERS; i++) {
        watchers[i] = (struct watcher){ .crowd = &c };
        if (i % 2 == 0)
            CHECK_STATUS(asx_spawn(&r, NULL, follow_fiber, &watchers[i]), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_poll(&r, NULL, follow_poll, &watchers[i]), ASX_OK);
    }
    CHECK_STATUS(asx_spawn(&r, NULL, change, &c), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    for (unsigned i = 0; i < WATCHERS; i++)
        CHECK_EQ(watchers[i].last, CHANGES); /* nobody misses the last one */
    pair unused;
    CHECK_STATUS(pairs_get(&c.watch, &unused), ASX_E_DISCONNECTED);
    return ASX_OK;
}

ASX_TEST(values_are_whole_versions_rise_and_the_last_is_seen_whatever_the_schedule)
{
    seeds_check(crowd_program, NULL, 200);
}
