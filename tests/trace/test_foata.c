/* The normal form of a trace: what commutes may change places, what depends may not. */
#include <asx/asx_lab.h>

#include <stdlib.h>
#include <string.h>

#include "support_trace.h"
#include "trace/foata.h"

static asx__foata make_of(const asx_event *events, size_t count)
{
    test_memory memory = { .fail_after = UINT64_MAX };
    asx__trace_memory from = memory_of(&memory);
    asx__trace trace;
    asx__foata f;
    CHECK_STATUS(asx__trace_init(&trace, 0, ASX__TRACE_REFUSE, &from), ASX_OK);
    emit_events(&trace, events, count);
    file bytes = write_file(&trace, 1, "foata");
    asx_trace_reader reader;
    CHECK_STATUS(asx_trace_reader_init(&reader, bytes.data, bytes.len), ASX_OK);
    CHECK_STATUS(asx__foata_make(&reader, &f), ASX_OK);
    asx__trace_deinit(&trace);
    file_free(&bytes);
    return f;
}

static bool same(const asx__foata *a, const asx__foata *b)
{
    if (a->len != b->len || a->layers != b->layers)
        return false;
    for (size_t i = 0; i < a->len; i++)
        if (a->items[i].layer != b->items[i].layer ||
            strcmp(a->items[i].text, b->items[i].text) != 0)
            return false;
    return true;
}

#define EVENT(kind_, task_, object_, a_, b_)                                                       \
    { .kind = ASX_EVENT_##kind_, .task = (task_), .object = (object_), .a = (a_), .b = (b_) }

/* Region 1, tasks 1 and 2 in it, channels 1 and 2. */
#define BEGINNING                                                                                  \
    EVENT(REGION_OPEN, 0, 1, 0, 0), EVENT(TASK_SPAWN, 0, 1, 1, 0), EVENT(TASK_SPAWN, 0, 2, 1, 0),  \
        EVENT(CHANNEL_CREATE, 0, 1, 4, 1), EVENT(CHANNEL_CREATE, 0, 2, 4, 1)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

ASX_TEST(sends_to_different_channels_commute)
{
    const asx_event one[] = { BEGINNING, EVENT(CHANNEL_SEND, 1, 1, 1, 1),
                              EVENT(CHANNEL_SEND, 2, 2, 1, 1) };
    const asx_event other[] = { BEGINNING, EVENT(CHANNEL_SEND, 2, 2, 1, 1),
                                EVENT(CHANNEL_SEND, 1, 1, 1, 1) };
    asx__foata a = make_of(one, COUNT(one)), b = make_of(other, COUNT(other));
    CHECK_EQ(a.len, COUNT(one));
    CHECK_EQ(a.layers, 6);
    CHECK_EQ(a.items[5].layer, 5); /* channel 1 was there before channel 2 */
    CHECK(same(&a, &b));
    asx__foata_deinit(&a);
    asx__foata_deinit(&b);
}

ASX_TEST(sends_to_one_channel_do_not_commute)
{
    const asx_event one[] = { BEGINNING, EVENT(CHANNEL_SEND, 1, 1, 1, 1),
                              EVENT(CHANNEL_SEND, 2, 1, 2, 2) };
    const asx_event other[] = { BEGINNING, EVENT(CHANNEL_SEND, 2, 1, 1, 1),
                                EVENT(CHANNEL_SEND, 1, 1, 2, 2) };
    asx__foata a = make_of(one, COUNT(one)), b = make_of(other, COUNT(other));
    CHECK(!same(&a, &b));
    CHECK_EQ(a.items[a.len - 1].layer, a.items[a.len - 2].layer + 1);
    asx__foata_deinit(&a);
    asx__foata_deinit(&b);
}

/* Do these two, of tasks 1 and 2, commute, after what tasks 1 and 2 did before? */
static bool commute(const asx_event *before, size_t count, asx_event one, asx_event other)
{
    asx_event events[2][16];
    CHECK(count + 2 <= COUNT(events[0]));
    for (int i = 0; i < 2; i++) {
        memcpy(events[i], before, count * sizeof *before);
        events[i][count] = i == 0 ? one : other;
        events[i][count + 1] = i == 0 ? other : one;
    }
    asx__foata a = make_of(events[0], count + 2), b = make_of(events[1], count + 2);
    bool is_same = same(&a, &b);
    asx__foata_deinit(&a);
    asx__foata_deinit(&b);
    return is_same;
}

/* The number of a cell is that of its first access, and changes with the schedule. */
ASX_TEST(reads_of_cells_commute_and_writes_do_not)
{
    const asx_event before[] = { BEGINNING };
    asx_event reads[] = { EVENT(CELL_ACCESS, 1, 1, 0, 0), EVENT(CELL_ACCESS, 2, 1, 0, 0) };
    asx_event write = EVENT(CELL_ACCESS, 2, 1, 1, 0), elsewhere = EVENT(CELL_ACCESS, 2, 2, 1, 0);
    asx_event choices[] = { EVENT(CHOICE, 1, 0, 1, 2), EVENT(CHOICE, 2, 0, 0, 2) };
    CHECK(commute(before, COUNT(before), reads[0], reads[1]));
    CHECK(!commute(before, COUNT(before), reads[0], write));
    CHECK(commute(before, COUNT(before), reads[0], elsewhere));
    CHECK(commute(before, COUNT(before), choices[0], choices[1]));
}

ASX_TEST(cells_are_named_by_accesses_in_whatever_order_they_come)
{
    const asx_event one[] = { BEGINNING, EVENT(CELL_ACCESS, 1, 7, 0, 0),
                              EVENT(CELL_ACCESS, 1, 8, 1, 0), EVENT(CELL_ACCESS, 2, 9, 1, 0),
                              EVENT(CELL_ACCESS, 2, 7, 0, 0) };
    const asx_event other[] = { BEGINNING, EVENT(CELL_ACCESS, 2, 1, 1, 0),
                                EVENT(CELL_ACCESS, 2, 2, 0, 0), EVENT(CELL_ACCESS, 1, 2, 0, 0),
                                EVENT(CELL_ACCESS, 1, 3, 1, 0) };
    const asx_event another[] = { BEGINNING, EVENT(CELL_ACCESS, 2, 1, 1, 0),
                                     EVENT(CELL_ACCESS, 2, 2, 0, 0), EVENT(CELL_ACCESS, 1, 2, 0, 0),
                                     EVENT(CELL_ACCESS, 1, 2, 1, 0) };
    const asx_event old[] = { BEGINNING, EVENT(CELL_ACCESS, 1, 7, 0, 1),
                              EVENT(CELL_ACCESS, 1, 8, 1, 0), EVENT(CELL_ACCESS, 2, 9, 1, 0),
                              EVENT(CELL_ACCESS, 2, 7, 0, 0) };
    asx__foata a = make_of(one, COUNT(one)), b = make_of(other, COUNT(other));
    asx__foata c = make_of(another, COUNT(another)), d = make_of(old, COUNT(old));
    CHECK(same(&a, &b));
    CHECK(!same(&a, &c));
    CHECK(!same(&a, &d));
    size_t shared = 0;
    for (size_t i = 0; i < a.len; i++)
        shared += strstr(a.items[i].text, " cell-access cell 0.1:1 (0, 0)") != NULL;
    CHECK_EQ(shared, 2);
    asx__foata_deinit(&a);
    asx__foata_deinit(&b);
    asx__foata_deinit(&c);
    asx__foata_deinit(&d);
}

/* As slots of a ring do; and how many messages there are then is no difference. */
ASX_TEST(what_is_sent_and_received_in_different_slots_commutes)
{
    const asx_event before[] = { BEGINNING, EVENT(CHANNEL_SEND, 1, 1, 1, 1),
                                 EVENT(CHANNEL_SEND, 1, 1, 2, 2) };
    const asx_event many[] = { EVENT(TASK_SPAWN, 0, 1, 1, 0), EVENT(TASK_SPAWN, 0, 2, 1, 0),
                               EVENT(MPMC_CREATE, 0, 1, 2, 1), EVENT(MPMC_SEND, 1, 1, 1, 1) };
    const size_t some = COUNT(before), few = COUNT(many);
    asx_event receives = EVENT(CHANNEL_RECV, 2, 1, 1, 2);
    asx_event drops = EVENT(CHANNEL_SENDER_DROP, 2, 1, 1, 0);
    asx_event sends[] = { EVENT(CHANNEL_SEND, 1, 1, 3, 3), EVENT(CHANNEL_SEND, 1, 1, 5, 4),
                          EVENT(MPMC_SEND, 1, 1, 2, 2), EVENT(MPMC_SEND, 1, 1, 3, 2) };
    asx_event takes = EVENT(MPMC_RECV, 2, 1, 1, 0), last = EVENT(CHANNEL_SENDER_DROP, 2, 1, 0, 0);
    asx_event closes = EVENT(CHANNEL_RECEIVER_DROP, 2, 1, 0, 0);
    CHECK(commute(before, some, sends[0], receives));
    CHECK(!commute(before, some, sends[1], receives)); /* capacity 4: the slot of the first */
    CHECK(commute(many, few, sends[2], takes));
    CHECK(!commute(many, few, sends[3], takes));
    CHECK(commute(before, some, sends[0], drops));
    CHECK(!commute(before, some, sends[0], last));
    CHECK(!commute(before, some, sends[0], closes));
    CHECK(!commute(before, some - 1, before[some - 1], (asx_event)EVENT(CHANNEL_RECV, 2, 1, 2, 0)));
    CHECK(!commute(before, some, receives, (asx_event)EVENT(CHANNEL_EVICT, 1, 1, 2, 0)));
    CHECK(!commute(before, some, receives, (asx_event)EVENT(CHANNEL_DISCARD, 1, 1, 1, 0)));
}

ASX_TEST(an_advance_of_the_clock_commutes_with_nothing)
{
    const asx_event one[] = { BEGINNING, EVENT(CHANNEL_SEND, 1, 1, 1, 1),
                              EVENT(CLOCK_ADVANCE, 0, 0, 0, 5), EVENT(CHANNEL_SEND, 2, 2, 1, 1) };
    const asx_event other[] = { BEGINNING, EVENT(CHANNEL_SEND, 2, 2, 1, 1),
                                EVENT(CLOCK_ADVANCE, 0, 0, 0, 5),
                                EVENT(CHANNEL_SEND, 1, 1, 1, 1) };
    asx__foata a = make_of(one, COUNT(one)), b = make_of(other, COUNT(other));
    CHECK(!same(&a, &b));
    CHECK_EQ(a.items[a.len - 1].layer, a.items[a.len - 2].layer + 1);
    asx__foata_deinit(&a);
    asx__foata_deinit(&b);
}

ASX_TEST(who_is_switched_to_is_left_out_and_who_is_woken_comes_after)
{
    const asx_event one[] = { BEGINNING, EVENT(TASK_RUN, 1, 1, 2, 0),
                              EVENT(CHANNEL_SEND, 1, 1, 1, 1), EVENT(TASK_WAKE, 1, 2, 0, 2),
                              EVENT(TASK_PARK, 1, 1, 2, 1), EVENT(CHANNEL_SEND, 2, 2, 1, 1) };
    asx__foata a = make_of(one, COUNT(one));
    CHECK_EQ(a.len, 7);
    CHECK(strstr(a.items[5].text, "channel 0#1") != NULL);
    CHECK_EQ(a.items[5].layer, 5);
    CHECK(strstr(a.items[6].text, "channel 0#2") != NULL);
    CHECK_EQ(a.items[6].layer, 6);
    asx__foata_deinit(&a);
}

ASX_TEST(locks_are_objects_as_channels_are)
{
    const asx_event one[] = { BEGINNING, EVENT(MUTEX_CREATE, 0, 5, 0, 1),
                              EVENT(MUTEX_LOCK, 1, 5, 0, 0), EVENT(CHANNEL_SEND, 2, 2, 1, 1),
                              EVENT(MUTEX_UNLOCK, 2, 5, 0, 0) };
    asx__foata a = make_of(one, COUNT(one));
    CHECK_STR_EQ(a.items[a.len - 2].text, "@0 0.1 mutex-lock mutex 0#1 (0, 0)");
    CHECK_STR_EQ(a.items[a.len - 1].text, "@0 0.2 mutex-unlock mutex 0#1 (0, 0)");
    CHECK_EQ(a.items[a.len - 1].layer, a.items[a.len - 2].layer + 1);
    asx__foata_deinit(&a);
}

ASX_TEST(objects_from_before_the_trace_are_named_by_their_numbers)
{
    const asx_event one[] = { EVENT(CHANNEL_SEND, 7, 9, 1, 1) };
    asx__foata a = make_of(one, 1);
    CHECK_STR_EQ(a.items[0].text, "@0 ?7 channel-send channel ?9 (1, 1)");
    asx__foata_deinit(&a);
}

/* ---- real runs ---- */

typedef struct kept {
    uint8_t *bytes;
    size_t len;
} kept;

static asx_status keep(void *ctx, const void *bytes, size_t len)
{
    kept *k = ctx;
    uint8_t *larger = realloc(k->bytes, k->len + len);
    CHECK(larger != NULL);
    memcpy(larger + k->len, bytes, len);
    k->bytes = larger;
    k->len += len;
    return ASX_OK;
}

static asx_status child(asx_cx *cx, void *arg)
{
    asx_channel_sender *tx = arg;
    for (int i = 0; i < 3; i++) {
        asx_status st = asx_channel_send(cx, tx, &i);
        if (st < 0)
            return st;
    }
    return ASX_OK;
}

static bool one_channel;

static asx_status three_senders(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_channel_sender tx[3];
    asx_channel_receiver rx[3];
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_channel_create(&r, sizeof(int), 9, NULL, &tx[i], &rx[i]), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_spawn(&r, "sender", child, &tx[one_channel ? 0 : i]), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

static asx__foata run(uint64_t seed, uint64_t *ret_digest)
{
    kept k = { 0 };
    asx_lab_options options = { .seed = seed, .program = "three", .sink = keep, .sink_ctx = &k };
    asx_lab_result result;
    asx_trace_reader reader;
    asx__foata f;
    CHECK_STATUS(asx_lab_run(three_senders, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(asx_trace_reader_init(&reader, k.bytes, k.len), ASX_OK);
    CHECK_STATUS(asx__foata_make(&reader, &f), ASX_OK);
    free(k.bytes);
    *ret_digest = result.digest;
    return f;
}

/* Sixteen seeds: how many runs are different, and how many normal forms. */
static void count(unsigned *ret_digests, unsigned *ret_forms)
{
    enum { RUNS = 16 };
    asx__foata forms[RUNS];
    uint64_t digests[RUNS];
    *ret_digests = *ret_forms = 0;
    for (unsigned i = 0; i < RUNS; i++) {
        bool new_digest = true, new_form = true;
        forms[i] = run(i + 1, &digests[i]);
        for (unsigned j = 0; j < i; j++) {
            new_digest = new_digest && digests[j] != digests[i];
            new_form = new_form && !same(&forms[j], &forms[i]);
        }
        *ret_digests += new_digest;
        *ret_forms += new_form;
    }
    for (unsigned i = 0; i < RUNS; i++)
        asx__foata_deinit(&forms[i]);
}

ASX_TEST(tasks_that_do_not_meet_have_one_normal_form_whatever_the_seed)
{
    unsigned digests, forms;
    one_channel = false;
    count(&digests, &forms);
    CHECK_GE(digests, 3);
    CHECK_EQ(forms, 1);
}

ASX_TEST(tasks_that_meet_have_several)
{
    unsigned digests, forms;
    one_channel = true;
    count(&digests, &forms);
    CHECK_GE(forms, 3);
}

static void explored(asx_cx *cx, void *arg)
{
    (void)three_senders(cx, arg);
}

static asx__foata run_in_order(asx_lab_fn fn, const char *schedule)
{
    kept k = { 0 };
    asx_explore_options options = { .schedule = schedule, .sink = keep, .ctx = &k };
    asx_explore_result result;
    asx_trace_reader reader;
    asx__foata f;
    CHECK_STATUS(asx_explore(fn, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK_STATUS(asx_trace_reader_init(&reader, k.bytes, k.len), ASX_OK);
    CHECK_STATUS(asx__foata_make(&reader, &f), ASX_OK);
    free(k.bytes);
    return f;
}

/* That one task is given its turn when another has come to its next operation orders nothing. */
ASX_TEST(executions_of_one_class_have_one_normal_form)
{
    static const char *const orders[] = { "1 1 1 2 2 2 3 3 3", "3 2 1 3 2 1 3 2 1",
                                          "2 3 3 1 2 1 1 3 2" };
    for (int together = 0; together < 2; together++) {
        one_channel = together != 0;
        asx__foata first = run_in_order(explored, orders[0]);
        for (size_t i = 1; i < COUNT(orders); i++) {
            asx__foata other = run_in_order(explored, orders[i]);
            CHECK_EQ(same(&first, &other), !one_channel);
            asx__foata_deinit(&other);
        }
        asx__foata_deinit(&first);
    }
}

static asx_status sends_two(asx_cx *cx, void *arg)
{
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(asx_channel_send(cx, arg, &i), ASX_OK);
    return ASX_OK;
}

static asx_status receives_two(asx_cx *cx, void *arg)
{
    for (int i = 0, got; i < 2; i++)
        CHECK_STATUS(asx_channel_recv(cx, arg, &got), ASX_OK);
    return ASX_OK;
}

static void sent_and_received(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 2, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "sender", sends_two, &tx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "receiver", receives_two, &rx), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

ASX_TEST(a_receive_of_one_message_commutes_with_the_send_of_the_next)
{
    asx__foata one = run_in_order(sent_and_received, "1 1 2 2");
    asx__foata other = run_in_order(sent_and_received, "1 2 1 2");
    CHECK(same(&one, &other));
    asx__foata_deinit(&one);
    asx__foata_deinit(&other);
}
