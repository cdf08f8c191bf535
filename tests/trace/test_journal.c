/* The journal in memory: numbering, keeping, refusing, overwriting, growing, digest. */
#include <string.h>

#include "support_trace.h"

static test_memory plenty(void)
{
    return (test_memory){ .fail_after = UINT64_MAX };
}

static asx__trace opened(test_memory *memory, uint64_t capacity, asx__trace_overflow policy)
{
    asx__trace trace;
    asx__trace_memory from = memory_of(memory);
    CHECK_STATUS(asx__trace_init(&trace, capacity, policy, &from), ASX_OK);
    CHECK(asx__trace_is_valid(&trace));
    return trace;
}

ASX_TEST(a_zeroed_journal_is_off_and_costs_nothing)
{
    asx__trace trace = { 0 };
    CHECK_EQ(asx__trace_emit(&trace, 1, ASX_EVENT_USER, 1, 1, 1, 1, 0), 0u);
    CHECK_EQ(asx__trace_events_total(&trace), 0u);
    CHECK_EQ(asx__trace_kept(&trace), 0u);
    CHECK_STATUS(asx__trace_status(&trace), ASX_OK);
    CHECK_STATUS(asx__trace_finish(&trace), ASX_OK);
    CHECK(asx__trace_is_valid(&trace));
    asx__trace_deinit(&trace);
    asx__trace_deinit(&trace);
}

ASX_TEST(events_are_numbered_from_one_without_gaps_and_kept_as_given)
{
    test_memory memory = plenty();
    asx__trace trace = opened(&memory, 0, ASX__TRACE_REFUSE);
    for (uint64_t i = 0; i < SAMPLE_LEN; i++) {
        const asx_event *e = &sample[i];
        CHECK_EQ(asx__trace_emit(&trace, e->time, e->kind, e->task, e->object, e->a, e->b,
                                 e->cause),
                 i + 1);
    }
    CHECK_EQ(asx__trace_kept(&trace), SAMPLE_LEN);
    CHECK_EQ(asx__trace_events_lost(&trace), 0u);
    for (size_t i = 0; i < SAMPLE_LEN; i++)
        CHECK(event_equal(asx__trace_at(&trace, i), &sample[i]));
    asx__trace_deinit(&trace);
    CHECK_EQ(memory.bytes_live, 0u);
}

ASX_TEST(a_full_journal_refuses_and_says_so_while_the_digest_goes_on)
{
    test_memory memory = plenty();
    asx__trace trace = opened(&memory, 5, ASX__TRACE_REFUSE);
    emit_events(&trace, sample, 5);
    CHECK_STATUS(asx__trace_status(&trace), ASX_OK);
    emit_events(&trace, sample + 5, 1);
    CHECK_STATUS(asx__trace_status(&trace), ASX_E_RESOURCE_EXHAUSTED);
    emit_events(&trace, sample + 6, SAMPLE_LEN - 6);
    CHECK(asx__trace_is_valid(&trace));
    CHECK_STATUS(asx__trace_status(&trace), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_EQ(asx__trace_events_total(&trace), SAMPLE_LEN);
    CHECK_EQ(asx__trace_kept(&trace), 5u);
    CHECK_EQ(asx__trace_events_lost(&trace), SAMPLE_LEN - 5);
    for (size_t i = 0; i < 5; i++)
        CHECK(event_equal(asx__trace_at(&trace, i), &sample[i]));
    CHECK_EQ(asx__trace_digest(&trace), SAMPLE_DIGEST);
    asx__trace_deinit(&trace);
}

ASX_TEST(a_ring_keeps_the_last_events_in_order_at_every_length)
{
    for (uint64_t capacity = 1; capacity <= 13; capacity++) {
        test_memory memory = plenty();
        asx__trace trace = opened(&memory, capacity, ASX__TRACE_OVERWRITE);
        for (size_t n = 1; n <= SAMPLE_LEN; n++) {
            emit_events(&trace, &sample[n - 1], 1);
            CHECK(asx__trace_is_valid(&trace));
            size_t kept = n < capacity ? n : (size_t)capacity;
            CHECK_EQ(asx__trace_kept(&trace), kept);
            CHECK_EQ(asx__trace_events_lost(&trace), n - kept);
            for (size_t i = 0; i < kept; i++)
                CHECK(event_equal(asx__trace_at(&trace, i), &sample[n - kept + i]));
        }
        CHECK_STATUS(asx__trace_status(&trace), ASX_OK);
        CHECK_EQ(memory.allocs, 1u);
        asx__trace_deinit(&trace);
        CHECK_EQ(memory.bytes_live, 0u);
    }
}

ASX_TEST(a_growable_journal_keeps_everything_across_doublings)
{
    const uint64_t count = 5000;
    test_memory memory = plenty();
    asx__trace trace = opened(&memory, 0, ASX__TRACE_REFUSE);
    emit_many(&trace, count);
    CHECK(asx__trace_is_valid(&trace));
    CHECK_EQ(asx__trace_kept(&trace), count);
    CHECK_GE(memory.allocs, 4u);
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ(asx__trace_at(&trace, i)->seq, i + 1);
        CHECK_EQ(asx__trace_at(&trace, i)->time, i * 250);
    }
    CHECK_STATUS(asx__trace_status(&trace), ASX_OK);
    asx__trace_deinit(&trace);
    CHECK_EQ(memory.bytes_live, 0u);
}

ASX_TEST(a_growable_journal_stops_at_its_limit_and_then_obeys_its_policy)
{
    test_memory memory = plenty();
    asx__trace refuse = opened(&memory, 0, ASX__TRACE_REFUSE);
    asx__trace ring = opened(&memory, 0, ASX__TRACE_OVERWRITE);
    asx__trace_limit(&refuse, 700);
    asx__trace_limit(&ring, 700);
    emit_many(&refuse, 1000);
    emit_many(&ring, 1000);
    CHECK_EQ(asx__trace_kept(&refuse), 700u);
    CHECK_EQ(asx__trace_at(&refuse, 0)->seq, 1u);
    CHECK_STATUS(asx__trace_status(&refuse), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_EQ(asx__trace_kept(&ring), 700u);
    CHECK_EQ(asx__trace_at(&ring, 0)->seq, 301u);
    CHECK_STATUS(asx__trace_status(&ring), ASX_OK);
    CHECK_EQ(asx__trace_digest(&ring), asx__trace_digest(&refuse));
    asx__trace_deinit(&refuse);
    asx__trace_deinit(&ring);
    CHECK_EQ(memory.bytes_live, 0u);
}

ASX_TEST(memory_that_ends_at_any_point_loses_events_but_never_the_digest)
{
    const uint64_t count = 3000; /* five allocations when all are granted */
    test_memory all = plenty();
    asx__trace whole = opened(&all, 0, ASX__TRACE_REFUSE);
    emit_many(&whole, count);
    CHECK_EQ(all.allocs, 5u);
    for (uint64_t granted = 0; granted <= all.allocs; granted++) {
        for (int policy = ASX__TRACE_REFUSE; policy <= ASX__TRACE_OVERWRITE; policy++) {
            test_memory memory = { .fail_after = granted };
            asx__trace_memory from = memory_of(&memory);
            asx__trace trace;
            asx_status st = asx__trace_init(&trace, 0, (asx__trace_overflow)policy, &from);
            if (granted == 0) {
                CHECK_STATUS(st, ASX_E_RESOURCE_EXHAUSTED);
                CHECK(!trace.on);
                CHECK_EQ(asx__trace_emit(&trace, 0, ASX_EVENT_USER, 0, 0, 0, 0, 0), 0u);
                continue;
            }
            CHECK_STATUS(st, ASX_OK);
            emit_many(&trace, count);
            CHECK(asx__trace_is_valid(&trace));
            uint64_t room = ASX__TRACE_GROW_START << (granted - 1);
            uint64_t kept = room < count ? room : count;
            CHECK_EQ(asx__trace_kept(&trace), kept);
            CHECK_EQ(asx__trace_digest(&trace), asx__trace_digest(&whole));
            bool told = policy == ASX__TRACE_REFUSE && kept < count;
            CHECK_STATUS(asx__trace_status(&trace), told ? ASX_E_RESOURCE_EXHAUSTED : ASX_OK);
            asx__trace_deinit(&trace);
            CHECK_EQ(memory.bytes_live, 0u);
        }
    }
    asx__trace_deinit(&whole);
}

ASX_TEST(init_refuses_nonsense_and_leaves_the_journal_off)
{
    test_memory memory = plenty();
    asx__trace_memory from = memory_of(&memory);
    asx__trace_memory no_free = { from.alloc, NULL, from.ctx };
    asx__trace trace;
    CHECK_STATUS(asx__trace_init(NULL, 1, ASX__TRACE_REFUSE, &from), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__trace_init(&trace, 1, ASX__TRACE_REFUSE, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__trace_init(&trace, 1, ASX__TRACE_REFUSE, &no_free), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__trace_init(&trace, 1, (asx__trace_overflow)9, &from),
                 ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__trace_init(&trace, UINT64_MAX, ASX__TRACE_REFUSE, &from),
                 ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx__trace_init(&trace, UINT64_MAX / 64 + 2, ASX__TRACE_REFUSE, &from),
                 ASX_E_RESOURCE_EXHAUSTED);
    CHECK(!trace.on);
    CHECK_EQ(memory.allocs, 0u);
}

ASX_TEST(the_digest_of_the_sample_is_the_documented_one_on_every_machine)
{
    test_memory memory = plenty();
    asx__trace trace = opened(&memory, 0, ASX__TRACE_REFUSE);
    emit_events(&trace, sample, SAMPLE_LEN);
    CHECK_EQ(asx__trace_digest(&trace), SAMPLE_DIGEST);
    asx__trace_deinit(&trace);
}

ASX_TEST(the_digest_does_not_depend_on_how_events_are_kept)
{
    const uint64_t count = 1234;
    test_memory memory = plenty();
    asx__trace traces[] = {
        opened(&memory, 0, ASX__TRACE_REFUSE),        opened(&memory, 0, ASX__TRACE_OVERWRITE),
        opened(&memory, 10, ASX__TRACE_REFUSE),       opened(&memory, 10, ASX__TRACE_OVERWRITE),
        opened(&memory, 100000, ASX__TRACE_REFUSE),   opened(&memory, 0, ASX__TRACE_DISCARD),
    };
    const size_t len = sizeof(traces) / sizeof(traces[0]);
    for (size_t i = 0; i < len; i++) {
        emit_many(&traces[i], count);
        CHECK_EQ(asx__trace_digest(&traces[i]), asx__trace_digest(&traces[0]));
        CHECK_EQ(asx__trace_events_total(&traces[i]), count);
    }
    uint64_t before = asx__trace_digest(&traces[0]);
    emit_events(&traces[0], sample, 1);
    CHECK_NE(asx__trace_digest(&traces[0]), before);
    for (size_t i = 0; i < len; i++)
        asx__trace_deinit(&traces[i]);
    CHECK_EQ(memory.bytes_live, 0u);
}

ASX_TEST(the_digest_is_the_hash_of_all_fields_as_little_endian_words)
{
    uint8_t bytes[SAMPLE_LEN * 64];
    uint8_t *at = bytes;
    for (size_t i = 0; i < SAMPLE_LEN; i++) {
        const asx_event *e = &sample[i];
        const uint64_t words[8] = { e->seq, e->time, e->kind, e->task,
                                    e->object, e->a, e->b, e->cause };
        for (size_t w = 0; w < 8; w++, at += 8)
            asx__store_le64(at, words[w]);
    }
    CHECK_EQ(asx__hash_bytes(0, bytes, sizeof(bytes)), SAMPLE_DIGEST);
}

static uint64_t digest_of(const asx_event *events, size_t count)
{
    uint64_t state = asx__hash_begin(0);
    for (size_t i = 0; i < count; i++)
        state = asx__event_absorb(state, &events[i]);
    return asx__hash_finish(state, count * ASX__EVENT_DIGEST_BYTES);
}

ASX_TEST(any_flipped_bit_of_any_event_changes_the_digest)
{
    asx_event events[SAMPLE_LEN];
    memcpy(events, sample, sizeof(sample));
    CHECK_EQ(digest_of(events, SAMPLE_LEN), SAMPLE_DIGEST);
    CHECK_EQ(sizeof(asx_event), 64u); /* no padding: every bit is a bit of a field */
    uint64_t distance = 0;
    for (size_t bit = 0; bit < 8 * sizeof(events); bit++) {
        uint8_t *bytes = (uint8_t *)events;
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        uint64_t flipped = digest_of(events, SAMPLE_LEN);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK_NE(flipped, SAMPLE_DIGEST);
        distance += (uint64_t)__builtin_popcountll(flipped ^ SAMPLE_DIGEST);
    }
    uint64_t average_x100 = distance * 100 / (8 * sizeof(events));
    CHECK_GE(average_x100, 3100u); /* half of 64 */
    CHECK_LE(average_x100, 3300u);
}

ASX_TEST(exchanged_or_missing_events_change_the_digest)
{
    asx_event events[SAMPLE_LEN];
    for (size_t i = 0; i + 1 < SAMPLE_LEN; i++) {
        memcpy(events, sample, sizeof(sample));
        events[i] = sample[i + 1];
        events[i + 1] = sample[i];
        CHECK_NE(digest_of(events, SAMPLE_LEN), SAMPLE_DIGEST);
        CHECK_NE(digest_of(sample, i), SAMPLE_DIGEST);
    }
}

typedef struct seen {
    uint64_t count;
    const asx_event *expected;
} seen;

static void see(void *ctx, const asx_event *event)
{
    seen *s = ctx;
    CHECK(event_equal(event, &s->expected[s->count]));
    s->count++;
}

ASX_TEST(an_observer_sees_every_event_kept_or_not)
{
    const asx__trace_overflow policies[] = { ASX__TRACE_REFUSE, ASX__TRACE_OVERWRITE,
                                             ASX__TRACE_DISCARD };
    for (size_t i = 0; i < 3; i++) {
        test_memory memory = plenty();
        seen s = { 0, sample };
        asx__trace trace = opened(&memory, 3, policies[i]);
        asx__trace_observe(&trace, see, &s);
        emit_events(&trace, sample, SAMPLE_LEN - 1);
        CHECK_EQ(s.count, SAMPLE_LEN - 1);
        asx__trace_observe(&trace, NULL, NULL);
        emit_events(&trace, sample + SAMPLE_LEN - 1, 1);
        CHECK_EQ(s.count, SAMPLE_LEN - 1);
        CHECK_EQ(asx__trace_digest(&trace), SAMPLE_DIGEST);
        asx__trace_deinit(&trace);
    }
}

ASX_TEST(discarding_needs_no_memory_and_is_no_error)
{
    asx__trace trace;
    CHECK_STATUS(asx__trace_init(&trace, 0, ASX__TRACE_DISCARD, NULL), ASX_OK);
    emit_events(&trace, sample, SAMPLE_LEN);
    CHECK(asx__trace_is_valid(&trace));
    CHECK_EQ(asx__trace_kept(&trace), 0u);
    CHECK_EQ(asx__trace_events_lost(&trace), SAMPLE_LEN);
    CHECK_STATUS(asx__trace_status(&trace), ASX_OK);
    CHECK_EQ(asx__trace_digest(&trace), SAMPLE_DIGEST);
    asx__trace_deinit(&trace);
}

ASX_TEST(telling_needs_no_memory_and_has_no_digest)
{
    asx__trace trace;
    asx_trace_reader recorded = { .bytes = (const uint8_t *)"" };
    seen s = { 0, sample };
    CHECK_STATUS(asx__trace_init(&trace, 0, ASX__TRACE_TELL, NULL), ASX_OK);
    uint64_t nothing = trace.digest_state;
    CHECK_STATUS(asx__trace_expect(&trace, &recorded), ASX_E_INVALID_ARGUMENT);
    emit_events(&trace, sample, 1);
    s.count = 1;
    asx__trace_observe(&trace, see, &s);
    emit_events(&trace, sample + 1, SAMPLE_LEN - 1);
    CHECK(asx__trace_is_valid(&trace));
    CHECK_EQ(s.count, SAMPLE_LEN);
    CHECK_EQ(asx__trace_kept(&trace), 0u);
    CHECK_EQ(asx__trace_events_total(&trace), SAMPLE_LEN);
    CHECK_EQ(trace.digest_state, nothing);
    asx__trace_deinit(&trace);
}

static void emit_from_the_future(void *arg)
{
    (void)asx__trace_emit(arg, 0, ASX_EVENT_USER, 0, 0, 0, 0, 1);
}

ASX_TEST(a_cause_that_has_not_happened_is_a_broken_promise)
{
    test_memory memory = plenty();
    asx__trace trace = opened(&memory, 4, ASX__TRACE_REFUSE);
    CHECK_DIES(emit_from_the_future, &trace);
    asx__trace_deinit(&trace);
}
