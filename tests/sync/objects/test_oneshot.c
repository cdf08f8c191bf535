/* test_oneshot.c - the laws of the oneshot. */
#include "play.h"

#include <stdlib.h>
#include <string.h>

static void note_drop(void *ctx, void *message)
{
    struct play_run *run = ctx;
    uint64_t value;
    memcpy(&value, message, sizeof value);
    run->dropped += value;
}

static void with_oneshot(asx_cx *cx, struct play_run *run)
{
    asx_channel_options options = { .name = "subject", .drop = note_drop, .drop_ctx = run };
    (void)cx;
    run->dropped = 0;
    CHECK_STATUS(asx_oneshot_create(&run->home, sizeof(uint64_t), &options, &run->oneshot_tx,
                                    &run->oneshot_rx),
                 ASX_OK);
}

static void nothing_dropped(struct play_run *run)
{
    CHECK_EQ(run->dropped, 0);
    CHECK_EQ(run->home_report.messages_discarded, 0);
}

static void dropped_seven(struct play_run *run)
{
    CHECK_EQ(run->dropped, 7);
    CHECK_EQ(run->home_report.messages_discarded, 1);
}

ASX_TEST(one_value_arrives_whichever_side_comes_first)
{
    static const struct play receiver_first = {
        .name = "receiver first", .setup = with_oneshot, .steps =
        { { { 1, op_oneshot_recv, 0, 3, 7, 0 },
            { 0, op_oneshot_recv, ASX_E_DISCONNECTED, 0, 0, 0 } },
          { { 2, op_oneshot_recv, ASX_E_BUSY, 0, 0, 0 }, { 3, op_oneshot_send, 0, 0, 7, 0 },
            { 4, op_oneshot_send, ASX_E_DISCONNECTED, 0, 8, 0 } } },
        .after = nothing_dropped,
    };
    play_check(&receiver_first);
    static const struct play sender_first = {
        .name = "sender first", .setup = with_oneshot, .steps =
        { { { 1, op_oneshot_try_recv, ASX_E_EMPTY, 0, 0, 0 },
            { 3, op_oneshot_recv, 0, 0, 7, 0 },
            { 0, op_oneshot_try_recv, ASX_E_DISCONNECTED, 0, 0, 0 } },
          { { 2, op_oneshot_send, 0, 0, 7, 0 }, { 0, op_oneshot_send, ASX_E_STALE_HANDLE, 0, 8, 0 },
            { 0, op_oneshot_drop_tx, ASX_E_STALE_HANDLE, 0, 0, 0 } } },
        .after = nothing_dropped,
    };
    play_check(&sender_first);
}

ASX_TEST(who_waits_for_a_sender_that_goes_is_told)
{
    static const struct play play = {
        .name = "sender goes", .setup = with_oneshot, .steps =
        { { { 1, op_oneshot_recv, ASX_E_DISCONNECTED, 3, 0, 0 } },
          { { 3, op_oneshot_drop_tx, 0, 0, 0, 0 } } },
        .after = nothing_dropped,
    };
    play_check(&play);
    static const struct play before = {
        .name = "sender gone", .setup = with_oneshot, .steps =
        { { { 2, op_oneshot_recv, ASX_E_DISCONNECTED, 0, 0, 0 } },
          { { 1, op_oneshot_drop_tx, 0, 0, 0, 0 } } },
    };
    play_check(&before);
}

ASX_TEST(who_sends_to_nobody_is_told_and_a_value_that_nobody_takes_is_dropped)
{
    static const struct play play = {
        .name = "receiver goes", .setup = with_oneshot, .steps =
        { { { 1, op_oneshot_drop_rx, 0, 0, 0, 0 },
            { 0, op_oneshot_drop_rx, ASX_E_STALE_HANDLE, 0, 0, 0 } },
          { { 3, op_oneshot_send, ASX_E_DISCONNECTED, 0, 7, 0 } } },
        .after = nothing_dropped,
    };
    play_check(&play);
    static const struct play full = {
        .name = "receiver goes, full", .setup = with_oneshot, .steps =
        { { { 2, op_oneshot_drop_rx, 0, 0, 0, 0 } }, { { 1, op_oneshot_send, 0, 0, 7, 0 } } },
        .after = dropped_seven,
    };
    play_check(&full);
    static const struct play unread = {
        .name = "unread", .setup = with_oneshot, .steps =
        { { { 1, op_oneshot_send, 0, 0, 7, 0 } } },
        .after = dropped_seven,
    };
    play_check(&unread);
    static const struct play while_receiving = {
        .name = "receiver goes while receiving", .setup = with_oneshot, .steps =
        { { { 1, op_oneshot_recv, ASX_E_STALE_HANDLE, 2, 0, 0 } },
          { { 2, op_oneshot_drop_rx, 0, 0, 0, 0 } } },
    };
    play_check(&while_receiving);
}

ASX_TEST(a_cancelled_receive_takes_nothing)
{
    static const struct play play = {
        .name = "cancelled", .setup = with_oneshot, .steps =
        { { { 1, op_oneshot_recv, ASX_E_CANCELLED, 3, 0, 0 },
            { 0, op_oneshot_recv, ASX_E_CANCELLED, 0, 0, 0 } },
          { { 3, op_cancel, 0, 0, 0, 0 }, { 4, op_oneshot_send, 0, 0, 7, 0 },
            { 5, op_cancel, 0, 0, 1, 0 }, { 0, op_oneshot_recv, ASX_E_CANCELLED, 0, 0, 0 } },
          { { 6, op_oneshot_recv, 0, 0, 7, 0 } } },
        .after = nothing_dropped,
    };
    play_check(&play);
}

static void duty_left(struct play_run *run)
{
    CHECK(report_names(&run->crowd_report, "oneshot-sender", "Aborted", "support_shapes.c:"));
    CHECK_EQ(run->crowd_report.permits_aborted, 1);
}

static void duty_done(struct play_run *run)
{
    CHECK_EQ(run->crowd_report.permits_aborted, 0);
    CHECK_EQ(run->crowd_report.items_len, 0);
}

ASX_TEST(a_task_that_adopted_the_sender_answers_for_it)
{
    static const struct play ends = {
        .name = "ends", .setup = with_oneshot, .steps =
        { { { 1, op_oneshot_recv, ASX_E_DISCONNECTED, 3, 0, 0 } },
          { { 2, op_oneshot_adopt, 0, 0, 0, 0 }, { 3, op_end, ASX_OK, 0, 0, 0 } } },
        .after = duty_left,
    };
    play_check(&ends);
    static const struct play panics = {
        .name = "panics", .setup = with_oneshot, .steps =
        { { { 1, op_oneshot_recv, ASX_E_DISCONNECTED, 3, 0, 0 } },
          { { 2, op_oneshot_adopt, 0, 0, 0, 0 }, { 3, op_panic, 0, 0, 0, 0 } } },
        .want_close = ASX_E_PANICKED,
    };
    play_check(&panics);
    static const struct play sends = {
        .name = "sends", .setup = with_oneshot, .steps =
        { { { 1, op_oneshot_recv, 0, 4, 7, 0 } },
          { { 2, op_oneshot_adopt, 0, 0, 0, 0 }, { 5, op_end, ASX_OK, 0, 0, 0 } },
          { { 3, op_oneshot_adopt, 0, 0, 0, 0 }, { 4, op_oneshot_send, 0, 0, 7, 0 } } },
        .after = duty_done,
    };
    play_check(&sends);
}

ASX_TEST(the_end_of_its_region_tells_both_sides)
{
    static const struct play play = {
        .name = "home goes", .setup = with_oneshot, .steps =
        { { { 1, op_oneshot_recv, ASX_E_DISCONNECTED, 5, 0, 0 },
            { 0, op_oneshot_recv, ASX_E_DISCONNECTED, 0, 0, 0 } },
          { { 2, op_oneshot_adopt, 0, 0, 0, 0 },
            { 6, op_oneshot_send, ASX_E_DISCONNECTED, 0, 7, 0 },
            { 0, op_oneshot_adopt, ASX_E_DISCONNECTED, 0, 0, 0 } } },
        .home_first = true, .home_closes_at = 5,
    };
    play_check(&play);
}

/* ---- memory --------------------------------------------------------------------------------- */

struct counted {
    uint64_t requests;
};

static void *counted_alloc(void *ctx, size_t size)
{
    ((struct counted *)ctx)->requests++;
    return malloc(size);
}

static void counted_free(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    (void)size;
    free(memory);
}

enum { BIG = 3000 };

static asx_status ask_and_answer(asx_cx *cx, const asx_region *r, size_t size, bool answered)
{
    unsigned char value[BIG], got[BIG];
    asx_oneshot_sender tx;
    asx_oneshot_receiver rx;
    memset(value, (int)size, sizeof value);
    CHECK_STATUS(asx_oneshot_create(r, size, NULL, &tx, &rx), ASX_OK);
    if (answered) {
        CHECK_STATUS(asx_oneshot_send(&tx, value), ASX_OK);
        CHECK_STATUS(asx_oneshot_recv(cx, &rx, got), ASX_OK);
        CHECK_MEM_EQ(value, got, size);
    } else {
        CHECK_STATUS(asx_oneshot_receiver_drop(&rx), ASX_OK);
        CHECK_STATUS(asx_oneshot_sender_drop(&tx), ASX_OK);
    }
    return ASX_OK;
}

static asx_status many_requests(asx_cx *cx, void *arg)
{
    struct counted *counted = arg;
    static const size_t sizes[] = { 1, 8, 32, 33, 64, 65, 1000, BIG };
    asx_region r;
    asx_mutex mutex;
    asx_mutex_guard guard;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, NULL, &mutex), ASX_OK);
    uint64_t after_first = 0;
    for (unsigned round = 0; round < 1000; round++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            ask_and_answer(cx, &r, sizes[i], (round + i) % 3 != 0);
        CHECK_STATUS(asx_mutex_lock(cx, &mutex, &guard), ASX_OK);
        CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
        if (round == 0)
            after_first = counted->requests;
    }
    CHECK_EQ(counted->requests, after_first); /* nothing was allocated again */
    asx_stats stats;
    CHECK_STATUS(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK_EQ(stats.channels_live, 0);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_oneshot_for_each_request_uses_no_more_memory_than_one)
{
    struct counted counted = { 0 };
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL,
                                  .allocator = { counted_alloc, counted_free, &counted } };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, many_requests, &counted), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static asx_status ceiling(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_oneshot_sender tx;
    asx_oneshot_receiver rx;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_oneshot_create(&r, 8, NULL, &tx, &rx), ASX_OK);
    asx_stats stats;
    CHECK_STATUS(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK_EQ(stats.channels_live, 1);
    CHECK_STATUS(asx_oneshot_sender_drop(&tx), ASX_OK);
    CHECK_STATUS(asx_oneshot_receiver_drop(&rx), ASX_OK);
    CHECK_STATUS(asx_oneshot_create(&r, 8, NULL, &tx, &rx), ASX_OK);
    asx_oneshot_sender tx2;
    asx_oneshot_receiver rx2;
    CHECK_STATUS(asx_oneshot_create(&r, 8, NULL, &tx2, &rx2), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    return ASX_OK;
}

ASX_TEST(oneshots_count_as_channels_until_both_sides_are_done)
{
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .limits.channels_max = 1 };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, ceiling, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- questions and answers over schedules ---------------------------------------------------- */

ASX_ONESHOT_TYPE(answer, uint64_t)

enum { ASKERS = 8 };

struct question {
    uint64_t number;
    asx_oneshot_sender tx;
    asx_oneshot_receiver rx;
    asx_status got;
    bool silent;
};

static asx_status answerer(asx_cx *cx, void *arg)
{
    struct question *q = arg;
    CHECK_STATUS(asx_oneshot_adopt(cx, &q->tx), ASX_OK);
    asx_status st = asx_yield(cx);
    if (st < 0 || q->silent)
        return ASX_OK;
    st = answer_send(&q->tx, q->number * 3);
    CHECK(st == ASX_OK || st == ASX_E_DISCONNECTED);
    return ASX_OK;
}

static asx_poll asker_poll(asx_cx *cx, void *arg)
{
    struct question *q = arg;
    uint64_t got;
    q->got = answer_recv(cx, &q->rx, &got);
    if (q->got == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    if (q->got == ASX_OK)
        CHECK_EQ(got, q->number * 3);
    return ASX_POLL_READY;
}

static asx_status asker(asx_cx *cx, void *arg)
{
    (void)asker_poll(cx, arg);
    return ASX_OK;
}

static asx_status questions(asx_cx *cx, void *arg)
{
    struct question q[ASKERS];
    asx_region r;
    asx_task tasks[ASKERS];
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    for (unsigned i = 0; i < ASKERS; i++) {
        q[i] = (struct question){ .number = i, .silent = i % 4 == 3, .got = ASX_E_NOT_FOUND };
        CHECK_STATUS(answer_create(&r, NULL, &q[i].tx, &q[i].rx), ASX_OK);
        CHECK_STATUS(asx_spawn(&r, NULL, answerer, &q[i]), ASX_OK);
        if (i % 2 == 0)
            CHECK_STATUS(asx_spawn_task(&r, asker, &q[i], NULL, &tasks[i]), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_poll_task(&r, asker_poll, &q[i], NULL, &tasks[i]), ASX_OK);
    }
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&tasks[0], NULL), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&tasks[1], NULL), ASX_OK);
    for (unsigned i = 0; i < ASKERS; i++)
        CHECK_STATUS(asx_join(cx, &tasks[i], NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    for (unsigned i = 0; i < ASKERS; i++)
        CHECK(q[i].got == (q[i].silent ? ASX_E_DISCONNECTED : ASX_OK) ||
              (i < 2 && q[i].got == ASX_E_CANCELLED));
    return ASX_OK;
}

ASX_TEST(every_question_is_answered_or_told_whatever_the_schedule)
{
    seeds_check(questions, NULL, 200);
}
