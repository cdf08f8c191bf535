/* test_stream.c - pipeline, map-reduce and for-each: order, bounds, ends, failures, numbers. */
#include "support_leaf.h"

#include <string.h>

/* ---- pipeline ------------------------------------------------------------------------------- */

enum { ITEMS = 40 };

typedef struct factory {
    int made, limit;
    int seen[ITEMS];
    int seen_len;
    int in_hand, in_hand_most;
    uint64_t slow_ms; /* of the middle stage, for even items */
    asx_status fails_at_20;
} factory;

static asx_status make(asx_cx *cx, void *arg, void *ret_item)
{
    factory *f = arg;
    (void)cx;
    if (f->made == f->limit)
        return ASX_E_CLOSED;
    *(int *)ret_item = f->made++;
    return ASX_OK;
}

static asx_status square(asx_cx *cx, void *arg, const void *input, void *ret_output)
{
    factory *f = arg;
    int n = *(const int *)input;
    f->in_hand++;
    f->in_hand_most = f->in_hand > f->in_hand_most ? f->in_hand : f->in_hand_most;
    asx_status st = n % 2 == 0 ? asx_sleep(cx, f->slow_ms * ASX_MS) : ASX_OK;
    f->in_hand--;
    *(long *)ret_output = (long)n * n;
    return st == ASX_OK && n == 20 ? f->fails_at_20 : st;
}

static asx_status keep(asx_cx *cx, void *arg, const void *input, void *ret_output)
{
    factory *f = arg;
    (void)cx;
    (void)ret_output;
    long square = *(const long *)input;
    int n = 0;
    while ((long)n * n < square)
        n++;
    f->seen[f->seen_len++] = n;
    return ASX_OK;
}

static asx_status run_factory(asx_cx *cx, factory *f, uint32_t workers, bool unordered,
                              asx_stage_stats *ret_stats)
{
    asx_source source = { "make", make, f, sizeof(int) };
    asx_stage stages[] = { { "square", square, f, sizeof(long), workers, 2 },
                           { "keep", keep, f, 0, 1, 3 } };
    asx_pipeline_options options = { .unordered = unordered };
    f->limit = f->limit != 0 ? f->limit : ITEMS;
    return asx_pipeline(cx, &source, stages, 2, &options, ret_stats);
}

static asx_status ordered(asx_cx *cx, void *arg)
{
    (void)arg;
    for (uint32_t workers = 1; workers <= 5; workers++) {
        factory f = { .slow_ms = 3 };
        asx_stage_stats stats[3];
        CHECK_STATUS(run_factory(cx, &f, workers, false, stats), ASX_OK);
        CHECK_EQ(f.seen_len, ITEMS);
        for (int i = 0; i < ITEMS; i++)
            CHECK_EQ(f.seen[i], i);
        CHECK_LE(f.in_hand_most, (int)workers);
        for (int i = 0; i < 3; i++)
            CHECK_EQ(stats[i].items, ITEMS);
        CHECK_LE(stats[1].queue_most, 3); /* two, and one in hand */
    }
    return ASX_OK;
}

ASX_TEST(items_keep_the_order_of_the_source_whatever_the_workers_take)
{
    program(ordered, NULL);
}

static asx_status not_ordered(asx_cx *cx, void *arg)
{
    (void)arg;
    factory f = { .slow_ms = 3 };
    bool seen[ITEMS] = { false }, swapped = false;
    CHECK_STATUS(run_factory(cx, &f, 4, true, NULL), ASX_OK);
    CHECK_EQ(f.seen_len, ITEMS);
    for (int i = 0; i < ITEMS; i++) {
        CHECK(!seen[f.seen[i]]);
        seen[f.seen[i]] = true;
        swapped = swapped || f.seen[i] != i;
    }
    CHECK(swapped);
    return ASX_OK;
}

ASX_TEST(without_order_every_item_still_passes_once)
{
    program(not_ordered, NULL);
}

static asx_status numbers(asx_cx *cx, void *arg)
{
    (void)arg;
    factory f = { .slow_ms = 10 };
    asx_stage_stats stats[3];
    CHECK_STATUS(run_factory(cx, &f, 1, false, stats), ASX_OK);
    CHECK_EQ(stats[1].busy_ns, 200 * ASX_MS); /* every other item */
    CHECK_EQ(asx_now(cx), 200 * ASX_MS);
    CHECK(stats[0].blocked_ns >= 170 * ASX_MS); /* it waits for the slow one ... */
    CHECK(stats[2].starved_ns >= 190 * ASX_MS); /* ... and so does the one behind it */
    CHECK_EQ(stats[1].blocked_ns, 0);
    CHECK_EQ(stats[0].busy_ns + stats[2].busy_ns, 0);
    return ASX_OK;
}

ASX_TEST(the_numbers_show_which_stage_the_others_wait_for)
{
    program(numbers, NULL);
}

static asx_status failing(asx_cx *cx, void *arg)
{
    (void)arg;
    factory f = { .slow_ms = 1, .fails_at_20 = ASX_E_FULL };
    asx_stage_stats stats[3];
    CHECK_STATUS(run_factory(cx, &f, 3, false, stats), ASX_E_FULL);
    CHECK_LE(f.seen_len, 20);
    CHECK_EQ(f.in_hand, 0);
    CHECK_EQ(stats[2].items, f.seen_len);
    f = (factory){ .limit = ITEMS, .made = ITEMS }; /* an empty source */
    CHECK_STATUS(run_factory(cx, &f, 3, false, stats), ASX_OK);
    CHECK_EQ(stats[0].items, 0);
    asx_source source = { "make", make, &f, sizeof(int) };
    asx_stage stage = { "square", square, &f, sizeof(long), 1, 1 };
    asx_pipeline_options options = { .flow.timeout_ns = 25 * ASX_MS };
    f = (factory){ .limit = ITEMS, .slow_ms = 10 };
    CHECK_STATUS(asx_pipeline(cx, &source, &stage, 1, &options, NULL), ASX_E_TIMEOUT);
    return ASX_OK;
}

ASX_TEST(a_failure_or_a_time_out_ends_the_pipeline)
{
    program(failing, NULL);
}

static asx_status wrong(asx_cx *cx, void *arg)
{
    asx_source source = { "make", make, arg, sizeof(int) }, none = { "none", NULL, NULL, 4 };
    asx_stage stage = { "keep", keep, arg, 0, 1, 1 };
    asx_stage two[] = { stage, stage }; /* the first has no output for the second */
    asx_stage_stats stats[3];
    asx_status bad = ASX_E_INVALID_ARGUMENT;
    CHECK_STATUS(asx_pipeline(NULL, &source, &stage, 1, NULL, NULL), bad);
    CHECK_STATUS(asx_pipeline(cx, NULL, &stage, 1, NULL, stats), bad);
    CHECK_STATUS(asx_pipeline(cx, &none, &stage, 1, NULL, stats), bad);
    CHECK_STATUS(asx_pipeline(cx, &source, &stage, 0, NULL, stats), bad);
    CHECK_STATUS(asx_pipeline(cx, &source, two, 2, NULL, stats), bad);
    return ASX_OK;
}

ASX_TEST(a_pipeline_refuses_stages_that_do_not_fit)
{
    factory f = { .limit = 1 };
    program(wrong, &f);
    CHECK_EQ(f.made, 0);
}

/* ---- map-reduce ----------------------------------------------------------------------------- */

typedef struct text {
    char at[ITEMS + 1];
} text;

static asx_status letter(asx_cx *cx, void *arg, const void *item, void *ret_value)
{
    uint64_t *slow = arg;
    int n = *(const int *)item;
    text *t = ret_value;
    memset(t, 0, sizeof *t);
    t->at[0] = (char)('A' + n);
    if (slow != NULL && *slow != 0 && n == 13)
        return ASX_E_FULL;
    return asx_sleep(cx, (uint64_t)(n * 7 % 5) * ASX_MS);
}

static void append(void *arg, void *into, const void *value)
{
    (void)arg;
    char *end = ((text *)into)->at + strlen(((text *)into)->at);
    memcpy(end, ((const text *)value)->at, strlen(((const text *)value)->at) + 1);
}

static asx_status concatenates(asx_cx *cx, void *arg)
{
    static const text empty = { "" };
    asx_monoid monoid = { sizeof(text), &empty, append, NULL };
    int items[ITEMS];
    text want = { "" }, got;
    uint64_t fails = 1;
    (void)arg;
    for (int i = 0; i < ITEMS; i++) {
        items[i] = i;
        want.at[i] = (char)('A' + i);
    }
    for (uint32_t workers = 0; workers < 6; workers++) {
        for (size_t chunk = 0; chunk < 50; chunk += 7) {
            asx_map_options options = { .workers = workers, .chunk = chunk };
            CHECK_STATUS(asx_map_reduce(cx, items, ITEMS, sizeof(int), letter, NULL, &monoid,
                                        &options, &got), ASX_OK);
            CHECK_STR_EQ(got.at, want.at); /* it does not commute */
        }
    }
    CHECK_STATUS(asx_map_reduce(cx, items, ITEMS, sizeof(int), letter, &fails, &monoid, NULL, &got),
                 ASX_E_FULL);
    CHECK_STR_EQ(got.at, "");
    CHECK_STATUS(asx_map_reduce(cx, NULL, 0, sizeof(int), letter, NULL, &monoid, NULL, &got),
                 ASX_OK);
    CHECK_STR_EQ(got.at, "");
    CHECK_STATUS(asx_map_reduce(cx, NULL, 1, sizeof(int), letter, NULL, &monoid, NULL, &got),
                 ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_map_reduce(cx, items, 1, 4, letter, NULL, NULL, NULL, &got),
                 ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_map_reduce(NULL, items, 1, 4, letter, NULL, &monoid, NULL, &got),
                 ASX_E_INVALID_ARGUMENT);
    return ASX_OK;
}

ASX_TEST(map_reduce_combines_in_the_order_of_the_items)
{
    program(concatenates, NULL);
}

/* ---- for-each ------------------------------------------------------------------------------- */

typedef struct jobs {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    int done[ITEMS];
    int in_hand, in_hand_most;
    int fails_on; /* that job; 0: none */
    asx_each_options options;
    asx_each_stats stats;
} jobs;

static asx_status send_jobs(asx_cx *cx, void *arg)
{
    jobs *j = arg;
    for (int i = 0; i < ITEMS; i++) {
        asx_status st = asx_channel_send(cx, &j->tx, &i);
        if (st < 0)
            return st;
    }
    return asx_channel_sender_drop(&j->tx);
}

static asx_status do_job(asx_cx *cx, void *arg, const void *item)
{
    jobs *j = arg;
    int n = *(const int *)item;
    j->in_hand++;
    j->in_hand_most = j->in_hand > j->in_hand_most ? j->in_hand : j->in_hand_most;
    asx_status st = asx_sleep(cx, (uint64_t)(1 + n % 3) * ASX_MS);
    j->in_hand--;
    if (st == ASX_OK && n != 0 && n == j->fails_on)
        return ASX_E_FULL;
    if (st == ASX_OK)
        j->done[n]++;
    return st;
}

static asx_status each_job(asx_cx *cx, jobs *j, size_t *ret_left)
{
    asx_region r;
    asx_channel_info info;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), ITEMS, NULL, &j->tx, &j->rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "sender", send_jobs, j), ASX_OK);
    asx_status st = asx_for_each(cx, &j->rx, sizeof(int), do_job, j, &j->options, &j->stats);
    CHECK_STATUS(asx_channel_receiver_info(&j->rx, &info), ASX_OK);
    *ret_left = info.queued;
    CHECK_STATUS(asx_for_each(cx, &j->rx, 8, do_job, j, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_for_each(cx, NULL, 4, do_job, j, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_for_each(NULL, &j->rx, 4, do_job, j, NULL, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    return st;
}

static asx_status all_jobs(asx_cx *cx, void *arg)
{
    (void)arg;
    size_t left;
    for (uint32_t workers = 0; workers < 6; workers++) {
        jobs j = { .options.workers = workers };
        CHECK_STATUS(each_job(cx, &j, &left), ASX_OK);
        CHECK_EQ(left, 0);
        CHECK_EQ(j.stats.done, ITEMS);
        CHECK_EQ(j.in_hand_most, workers == 0 ? 1 : (int)workers);
        for (int i = 0; i < ITEMS; i++)
            CHECK_EQ(j.done[i], 1);
    }
    return ASX_OK;
}

ASX_TEST(for_each_does_every_message_once_by_so_many_workers)
{
    program(all_jobs, NULL);
}

static asx_status lost_jobs(asx_cx *cx, void *arg)
{
    (void)arg;
    size_t left;
    for (uint32_t workers = 1; workers < 5; workers++) {
        jobs j = { .options.workers = workers, .fails_on = 17 };
        CHECK_STATUS(each_job(cx, &j, &left), ASX_E_FULL);
        uint64_t done = 0;
        for (int i = 0; i < ITEMS; i++)
            done += (uint64_t)j.done[i];
        CHECK_EQ(done, j.stats.done);
        CHECK_EQ(done + left, ITEMS); /* what is not done is in the channel */
        j = (jobs){ .options.workers = workers, .fails_on = 17, .options.keep_going = true };
        CHECK_STATUS(each_job(cx, &j, &left), ASX_E_FULL);
        CHECK_EQ(left, 0);
        CHECK_EQ(j.stats.done, ITEMS - 1);
        CHECK_EQ(j.stats.failed, 1);
    }
    return ASX_OK;
}

ASX_TEST(a_job_that_failed_or_was_cancelled_is_in_the_channel_again)
{
    program(lost_jobs, NULL);
}

/* ---- several workers ------------------------------------------------------------------------ */

static asx_status add(asx_cx *cx, void *arg, const void *item, void *ret_value)
{
    (void)arg;
    *(uint64_t *)ret_value = *(const uint64_t *)item;
    return asx_yield(cx);
}

static void sum(void *arg, void *into, const void *value)
{
    (void)arg;
    *(uint64_t *)into += *(const uint64_t *)value;
}

static asx_status count_up(asx_cx *cx, void *arg, void *ret_item)
{
    uint64_t *n = arg;
    (void)cx;
    if (*n == 5000)
        return ASX_E_CLOSED;
    *(uint64_t *)ret_item = (*n)++;
    return ASX_OK;
}

static asx_status copy(asx_cx *cx, void *arg, const void *input, void *ret_output)
{
    (void)arg;
    *(uint64_t *)ret_output = *(const uint64_t *)input;
    return *(const uint64_t *)input % 3 == 0 ? asx_yield(cx) : ASX_OK;
}

static asx_status in_order(asx_cx *cx, void *arg, const void *input, void *ret_output)
{
    uint64_t *next = arg;
    (void)cx;
    (void)ret_output;
    return *(const uint64_t *)input == (*next)++ ? ASX_OK : ASX_E_FULL;
}

static asx_status on_workers(asx_cx *cx, void *arg)
{
    static uint64_t items[4000];
    static const uint64_t zero;
    uint64_t made = 0, next = 0, total;
    asx_monoid monoid = { sizeof(uint64_t), &zero, sum, NULL };
    asx_source source = { "count", count_up, &made, sizeof(uint64_t) };
    asx_stage stages[] = { { "copy", copy, NULL, sizeof(uint64_t), 3, 4 },
                           { "copy", copy, NULL, sizeof(uint64_t), 2, 1 },
                           { "order", in_order, &next, 0, 1, 8 } };
    (void)arg;
    CHECK_STATUS(asx_pipeline(cx, &source, stages, 3, NULL, NULL), ASX_OK);
    CHECK_EQ(next, 5000);
    for (uint64_t i = 0; i < 4000; i++)
        items[i] = i;
    CHECK_STATUS(asx_map_reduce(cx, items, 4000, sizeof items[0], add, NULL, &monoid, NULL, &total),
                 ASX_OK);
    CHECK_EQ(total, 4000 * 3999 / 2);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(streams_on_several_workers, 60)
{
    asx_runtime_config config = { .workers = 4 };
    program_with(&config, on_workers, NULL);
}
