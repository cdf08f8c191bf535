/* Trace files: what is written is read back; what is damaged is refused, with its place. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support_trace.h"

/* The sample with seed 42 and the text "golden\n", built from the documentation by another
 * implementation. */
static const uint8_t golden[268] = {
    0xa5, 0x61, 0x73, 0x78, 0x74, 0x72, 0x0d, 0x0a, 0x01, 0x00, 0x00, 0x00,
    0xfe, 0xff, 0xff, 0xff, 0x2a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x0c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x85, 0x45, 0xe0, 0xa9,
    0x92, 0x74, 0x02, 0xef, 0x67, 0x6f, 0x6c, 0x64, 0x65, 0x6e, 0x0a, 0xbe,
    0x7f, 0x80, 0xbe, 0x2c, 0xf8, 0x86, 0x3b, 0x07, 0x01, 0x00, 0x00, 0x00,
    0x54, 0x00, 0x00, 0x3a, 0x07, 0x0a, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x1a, 0x07, 0x14, 0x00, 0x00, 0x01, 0x02, 0x00, 0x01, 0x2d, 0x07, 0x15,
    0x00, 0x01, 0x01, 0x00, 0x02, 0x01, 0x15, 0x07, 0x3c, 0x00, 0x01, 0x01,
    0x08, 0x02, 0x00, 0xc4, 0x09, 0x17, 0xe0, 0xc6, 0x5b, 0x01, 0x01, 0x04,
    0x02, 0x00, 0x9c, 0x0c, 0x49, 0xe0, 0xc6, 0x5b, 0x00, 0x00, 0x00, 0xc0,
    0x8d, 0xb7, 0x01, 0x00, 0x19, 0x11, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0x01, 0x00, 0x01, 0xcd, 0x01, 0x04, 0x02, 0x6d,
    0x2f, 0x3d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x80, 0x80,
    0x80, 0x80, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0x01, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x01,
    0x50, 0x0b, 0x50, 0x7f, 0x80, 0x01, 0xff, 0x7f, 0x80, 0x80, 0x02, 0x7e,
    0x01, 0xfd, 0x09, 0x1a, 0x80, 0x01, 0x01, 0x01, 0x06, 0xa5, 0x01, 0x0a,
    0x92, 0x08, 0x02, 0x81, 0x01, 0x00, 0x00, 0x01, 0x00, 0x00, 0xd2, 0x00,
    0xc8, 0x92, 0x49, 0x38, 0xc5, 0x95, 0xff, 0x0a, 0x2b, 0xca, 0xfa, 0x71,
    0xdf, 0x4a, 0x5b, 0x96,
};
enum { GOLDEN_PROGRAM_LEN = 7, GOLDEN_EVENTS = 64 + GOLDEN_PROGRAM_LEN + 8 };

static asx__trace sample_trace(test_memory *memory, uint64_t capacity, asx__trace_overflow policy)
{
    asx__trace trace;
    asx__trace_memory from = memory_of(memory);
    *memory = (test_memory){ .fail_after = UINT64_MAX };
    CHECK_STATUS(asx__trace_init(&trace, capacity, policy, &from), ASX_OK);
    emit_events(&trace, sample, SAMPLE_LEN);
    return trace;
}

static file sample_file(uint64_t capacity, asx__trace_overflow policy)
{
    test_memory memory;
    asx__trace trace = sample_trace(&memory, capacity, policy);
    file f = write_file(&trace, 42, "golden\n");
    asx__trace_deinit(&trace);
    return f;
}

/* Makes the three hashes right again after a change that a hostile writer could have made. */
static void reseal(file *f)
{
    asx__store_le64(f->data + 56, asx__hash_bytes(1, f->data, 56));
    uint64_t program_len = asx__load_le64(f->data + 48);
    if (program_len <= f->len - 72) {
        uint8_t *end = f->data + 64 + program_len;
        asx__store_le64(end, asx__hash_bytes(2, f->data + 64, (size_t)program_len));
    }
    asx__store_le64(f->data + f->len - 8, asx__hash_bytes(3, f->data, f->len - 8));
}

static uint8_t crc8_bitwise(uint8_t crc, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = (uint8_t)((crc & 0x80) != 0 ? (crc << 1) ^ 0x07 : crc << 1);
    }
    return crc;
}

/* Offsets of the events of the golden layout, and of the end byte. */
static void events_at(const file *f, size_t program_len, size_t count, size_t *ret_offsets)
{
    size_t at = 64 + program_len + 8;
    for (size_t i = 0; i <= count; i++) {
        ret_offsets[i] = at;
        at += f->data[at] + 2u;
    }
}

static void expect_corrupt(const file *f, size_t offset)
{
    asx_trace_reader reader;
    asx_event event;
    CHECK_STATUS(asx_trace_reader_init(&reader, f->data, f->len), ASX_E_TRACE_CORRUPT);
    CHECK_EQ(reader.error_offset, offset);
    CHECK_STATUS(asx_trace_reader_next(&reader, &event), ASX_E_INVALID_ARGUMENT);
}

ASX_TEST(a_file_has_exactly_the_documented_bytes)
{
    file f = sample_file(0, ASX__TRACE_REFUSE);
    CHECK_EQ(f.len, sizeof(golden));
    CHECK_MEM_EQ(f.data, golden, sizeof(golden));
    file_free(&f);
}

ASX_TEST(what_was_written_is_read_back)
{
    asx_trace_reader reader;
    CHECK_STATUS(asx_trace_reader_init(&reader, golden, sizeof(golden)), ASX_OK);
    CHECK_EQ(reader.seed, 42u);
    CHECK_EQ(reader.event_count, SAMPLE_LEN);
    CHECK_EQ(reader.events_total, SAMPLE_LEN);
    CHECK_EQ(reader.next_seq, 1u);
    CHECK_EQ(reader.digest, SAMPLE_DIGEST);
    CHECK_EQ(reader.program_len, GOLDEN_PROGRAM_LEN);
    CHECK_MEM_EQ(reader.program, "golden\n", GOLDEN_PROGRAM_LEN);
    asx_event event;
    for (size_t i = 0; i < SAMPLE_LEN; i++) {
        CHECK_STATUS(asx_trace_reader_next(&reader, &event), ASX_OK);
        CHECK(event_equal(&event, &sample[i]));
    }
    asx_event untouched = event;
    CHECK_STATUS(asx_trace_reader_next(&reader, &event), ASX_E_EMPTY);
    CHECK_STATUS(asx_trace_reader_next(&reader, &event), ASX_E_EMPTY);
    CHECK(event_equal(&event, &untouched));
}

ASX_TEST(every_number_in_every_field_survives_the_file)
{
    const uint64_t count = 2000;
    test_memory memory = { .fail_after = UINT64_MAX };
    asx__trace_memory from = memory_of(&memory);
    asx__trace trace;
    asx__rng rng;
    asx__rng_seed(&rng, 11);
    CHECK_STATUS(asx__trace_init(&trace, 0, ASX__TRACE_REFUSE, &from), ASX_OK);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t x[5]; /* of all lengths */
        for (unsigned k = 0; k < 5; k++)
            x[k] = asx__rng_next(&rng) >> asx__rng_below(&rng, 64);
        asx__trace_emit(&trace, x[0], ASX_EVENT_USER, x[1], x[2], x[3], UINT64_C(0) - x[4],
                        asx__rng_below(&rng, i + 1));
    }
    file f = write_file(&trace, UINT64_MAX, "");
    asx_trace_reader reader;
    CHECK_STATUS(asx_trace_reader_init(&reader, f.data, f.len), ASX_OK);
    CHECK_EQ(reader.digest, asx__trace_digest(&trace));
    CHECK_EQ(reader.seed, UINT64_MAX);
    CHECK_EQ(reader.program_len, 0u);
    for (size_t i = 0; i < count; i++) {
        asx_event event;
        CHECK_STATUS(asx_trace_reader_next(&reader, &event), ASX_OK);
        CHECK(event_equal(&event, asx__trace_at(&trace, i)));
    }
    asx__trace_deinit(&trace);
    file_free(&f);
}

ASX_TEST(a_file_says_which_events_of_the_run_it_holds)
{
    const struct {
        asx__trace_overflow policy;
        uint64_t first, count;
    } expected[] = { { ASX__TRACE_REFUSE, 1, 5 },
                     { ASX__TRACE_OVERWRITE, 8, 5 },
                     { ASX__TRACE_DISCARD, 1, 0 } };
    for (size_t i = 0; i < 3; i++) {
        file f = sample_file(5, expected[i].policy);
        asx_trace_reader reader;
        CHECK_STATUS(asx_trace_reader_init(&reader, f.data, f.len), ASX_OK);
        CHECK_EQ(reader.next_seq, expected[i].first);
        CHECK_EQ(reader.event_count, expected[i].count);
        CHECK_EQ(reader.events_total, SAMPLE_LEN);
        CHECK_EQ(reader.digest, SAMPLE_DIGEST);
        asx_event event;
        for (uint64_t k = 0; k < expected[i].count; k++) {
            CHECK_STATUS(asx_trace_reader_next(&reader, &event), ASX_OK);
            CHECK(event_equal(&event, &sample[expected[i].first - 1 + k]));
        }
        CHECK_STATUS(asx_trace_reader_next(&reader, &event), ASX_E_EMPTY);
        file_free(&f);
    }
}

ASX_TEST(every_truncation_is_refused_where_the_file_ends)
{
    const asx__trace_overflow policies[] = { ASX__TRACE_REFUSE, ASX__TRACE_OVERWRITE };
    for (size_t i = 0; i < 2; i++) {
        file whole = sample_file(9, policies[i]);
        for (size_t len = 0; len < whole.len; len++) {
            file cut = file_copy(&whole, len);
            expect_corrupt(&cut, len);
            file_free(&cut);
        }
        file_free(&whole);
    }
}

static void every_flip_is_refused(const file *whole, size_t count, bool complete)
{
    size_t starts[SAMPLE_LEN + 1];
    events_at(whole, GOLDEN_PROGRAM_LEN, count, starts);
    size_t end = starts[count];
    CHECK_EQ(whole->len, end + 17);
    size_t current = 0;
    for (size_t at = 0; at < whole->len; at++) {
        size_t offset = at; /* magic and end byte */
        while (current < count && at >= starts[current + 1])
            current++;
        if (at >= 8 && at < 16)
            offset = 8;
        else if (at >= 16 && at < 64)
            offset = 16;
        else if (at >= 64 && at < GOLDEN_EVENTS)
            offset = 64;
        else if (at >= GOLDEN_EVENTS && at < end)
            offset = starts[current];
        else if (at > end)
            offset = complete && at >= end + 9 ? end + 9 : end + 1;
        for (unsigned bit = 0; bit < 8; bit++) {
            file flipped = file_copy(whole, whole->len);
            flipped.data[at] ^= (uint8_t)(1u << bit);
            expect_corrupt(&flipped, offset);
            file_free(&flipped);
        }
    }
}

ASX_TEST(every_flipped_bit_is_refused_at_its_place)
{
    file whole = sample_file(0, ASX__TRACE_REFUSE);
    every_flip_is_refused(&whole, SAMPLE_LEN, true);
    file_free(&whole);
    whole = sample_file(7, ASX__TRACE_OVERWRITE);
    every_flip_is_refused(&whole, 7, false);
    file_free(&whole);
}

ASX_TEST(bytes_after_the_end_are_refused)
{
    file whole = sample_file(0, ASX__TRACE_REFUSE);
    file more = file_copy(&whole, whole.len + 1);
    more.data[whole.len] = 0;
    expect_corrupt(&more, whole.len);
    file_free(&more);
    file_free(&whole);
}

ASX_TEST(lost_doubled_and_exchanged_events_are_refused_where_the_order_breaks)
{
    file whole = sample_file(0, ASX__TRACE_REFUSE);
    size_t starts[SAMPLE_LEN + 1];
    events_at(&whole, GOLDEN_PROGRAM_LEN, SAMPLE_LEN, starts);
    for (size_t i = 0; i + 1 < SAMPLE_LEN; i++) {
        size_t size = starts[i + 1] - starts[i];
        file lost = file_copy(&whole, whole.len - size);
        memcpy(lost.data + starts[i], whole.data + starts[i + 1], whole.len - starts[i + 1]);
        reseal(&lost);
        expect_corrupt(&lost, starts[i]);
        file_free(&lost);

        file doubled = file_copy(&whole, whole.len + size);
        memcpy(doubled.data + starts[i + 1], whole.data + starts[i], whole.len - starts[i]);
        reseal(&doubled);
        expect_corrupt(&doubled, starts[i + 1]);
        file_free(&doubled);

        file exchanged = file_copy(&whole, whole.len);
        size_t second = starts[i + 2] - starts[i + 1];
        memcpy(exchanged.data + starts[i], whole.data + starts[i + 1], second);
        memcpy(exchanged.data + starts[i] + second, whole.data + starts[i], size);
        reseal(&exchanged);
        expect_corrupt(&exchanged, starts[i]);
        file_free(&exchanged);
    }
    file_free(&whole);
}

/* A file of one event with this body and everything else right. */
static file file_of_body(const uint8_t *body, uint8_t body_len, uint64_t digest)
{
    file whole = { .data = (uint8_t *)(uintptr_t)golden, .len = sizeof(golden) };
    file f = file_copy(&whole, 64 + 8 + 1u + body_len + 1 + 1 + 16);
    uint8_t *at = f.data + 72;
    asx__store_le64(f.data + 32, 1);
    asx__store_le64(f.data + 40, 1);
    asx__store_le64(f.data + 48, 0);
    at[0] = body_len;
    memcpy(at + 1, body, body_len);
    at[1 + body_len] = crc8_bitwise(1, at, 1u + body_len);
    at[2 + body_len] = 0;
    asx__store_le64(at + 3 + body_len, digest);
    reseal(&f);
    return f;
}

ASX_TEST(the_worker_of_an_event_is_kept_and_counts_in_the_digest)
{
    uint64_t digests[2];
    for (unsigned way = 0; way < 2; way++) {
        test_memory memory = { .fail_after = SIZE_MAX };
        asx__trace_memory from = memory_of(&memory);
        asx__trace trace;
        asx_trace_reader reader;
        CHECK_STATUS(asx__trace_init(&trace, 0, ASX__TRACE_REFUSE, &from), ASX_OK);
        trace.worker = way == 0 ? 255 : 1;
        emit_many(&trace, 10);
        file f = write_file(&trace, 1, "w");
        CHECK_STATUS(asx_trace_reader_init(&reader, f.data, f.len), ASX_OK);
        for (size_t i = 0; i < 10; i++) {
            asx_event event;
            CHECK_STATUS(asx_trace_reader_next(&reader, &event), ASX_OK);
            CHECK_EQ(event.worker, trace.worker);
            CHECK(event_equal(&event, asx__trace_at(&trace, i)));
        }
        digests[way] = asx__trace_digest(&trace);
        CHECK_EQ(reader.digest, digests[way]);
        file_free(&f);
        asx__trace_deinit(&trace);
    }
    CHECK(digests[0] != digests[1]);
}

ASX_TEST(impossible_events_are_refused_even_when_every_checksum_is_right)
{
    static const struct {
        uint8_t len;
        uint8_t body[16];
        bool right;
        uint32_t worker;
    } cases[] = {
        { 7, { ASX_EVENT_USER, 0, 0, 0, 0, 0, 0 }, true, 0 },
        { 7, { 5, 0, 0, 0, 0, 0, 0 }, false, 0 },                      /* no such kind */
        { 7, { ASX_EVENT_USER, 0, 0, 0, 0, 0, 1 }, false, 0 },         /* its own cause */
        { 8, { ASX_EVENT_USER, 0x80, 0, 0, 0, 0, 0, 0 }, false, 0 },   /* a needless byte */
        { 8, { ASX_EVENT_USER, 0, 0, 0, 0, 0, 0, 0 }, false, 0 },      /* a byte too many */
        { 7, { ASX_EVENT_USER, 0x81, 1, 0, 0, 0, 0 }, false, 0 },      /* a field too few */
        { 12, { 0xd0, 0x80, 0x80, 0x80, 0x80, 1, 0, 0, 0, 0, 0, 0 }, true, 8 },
        { 13, { 0xd0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0, 0, 0, 0, 0, 0 }, false, 0 },
        { 16, { ASX_EVENT_USER, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0,
                0, 0 }, false, 0 },                                    /* over 64 bits */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const asx_event user = { .seq = 1, .kind = ASX_EVENT_USER, .worker = cases[i].worker };
        uint64_t digest = asx__hash_finish(asx__event_absorb(asx__hash_begin(0), &user), 64);
        file f = file_of_body(cases[i].body, cases[i].len, digest);
        asx_trace_reader reader;
        if (cases[i].right)
            CHECK_STATUS(asx_trace_reader_init(&reader, f.data, f.len), ASX_OK);
        else
            expect_corrupt(&f, 72);
        file_free(&f);
    }
}

ASX_TEST(a_digest_that_is_not_that_of_the_events_is_refused)
{
    file f = sample_file(0, ASX__TRACE_REFUSE);
    asx__store_le64(f.data + f.len - 16, SAMPLE_DIGEST ^ 1);
    reseal(&f);
    expect_corrupt(&f, f.len - 16);
    file_free(&f);
}

ASX_TEST(numbers_that_contradict_each_other_are_refused)
{
    static const struct {
        size_t at;
        uint64_t number;
        size_t offset;
    } cases[] = {
        { 24, 0, 16 },                   /* no seq is 0 */
        { 24, 2, 16 },                   /* the last event would be after the end of the run */
        { 24, UINT64_MAX, 16 },
        { 32, SAMPLE_LEN + 1, 16 },      /* more events than the run had */
        { 40, SAMPLE_LEN - 1, 16 },
        { 48, UINT64_MAX, sizeof(golden) }, /* a text longer than the file */
        { 48, sizeof(golden) - 71, sizeof(golden) },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        file f = sample_file(0, ASX__TRACE_REFUSE);
        asx__store_le64(f.data + cases[i].at, cases[i].number);
        reseal(&f);
        expect_corrupt(&f, cases[i].offset);
        file_free(&f);
    }
}

ASX_TEST(no_event_has_the_number_zero_in_the_longest_run_either)
{
    file f = sample_file(0, ASX__TRACE_REFUSE);
    asx__store_le64(f.data + 24, 0);
    asx__store_le64(f.data + 32, 0);
    asx__store_le64(f.data + 40, UINT64_MAX);
    reseal(&f);
    expect_corrupt(&f, 16);
    file_free(&f);
}

ASX_TEST(an_event_count_that_is_too_small_is_refused_at_the_event_too_many)
{
    file f = sample_file(0, ASX__TRACE_REFUSE);
    size_t starts[SAMPLE_LEN + 1];
    events_at(&f, GOLDEN_PROGRAM_LEN, SAMPLE_LEN, starts);
    asx__store_le64(f.data + 32, SAMPLE_LEN - 3);
    reseal(&f);
    expect_corrupt(&f, starts[SAMPLE_LEN - 3]);
    file_free(&f);
}

ASX_TEST(a_version_of_the_future_is_told_apart_from_damage)
{
    file f = sample_file(0, ASX__TRACE_REFUSE);
    asx_trace_reader reader;
    f.data[8] = 2;
    f.data[12] = 0xfd;
    CHECK_STATUS(asx_trace_reader_init(&reader, f.data, f.len), ASX_E_TRACE_VERSION);
    CHECK_EQ(reader.error_offset, 8u);
    CHECK_STATUS(asx_trace_reader_init(&reader, f.data, 16), ASX_E_TRACE_VERSION);
    f.data[12] = 0xfe;
    CHECK_STATUS(asx_trace_reader_init(&reader, f.data, f.len), ASX_E_TRACE_CORRUPT);
    file_free(&f);
}

/* Random damage: several bytes changed, inserted or cut out. Half of the files get their hashes
 * made right again, so that the parts behind them are reached; such a file may be accepted, and
 * then must be readable to its end. */
ASX_TEST_TIMEOUT(random_damage_is_refused_within_the_file_or_harmless, 60)
{
    asx__rng rng;
    asx__rng_seed(&rng, 2024);
    file whole = sample_file(0, ASX__TRACE_REFUSE);
    unsigned accepted = 0;
    unsigned rounds = 40000 / asx_test_scale();
    for (unsigned round = 0; round < rounds; round++) {
        size_t len = asx__rng_below(&rng, 4) != 0
                         ? whole.len : whole.len - 16 + (size_t)asx__rng_below(&rng, 40);
        file f = file_copy(&whole, len);
        if (len > whole.len)
            memset(f.data + whole.len, (int)asx__rng_below(&rng, 256), len - whole.len);
        for (uint64_t n = 1 + asx__rng_below(&rng, 4); n > 0; n--)
            f.data[asx__rng_below(&rng, f.len)] = (uint8_t)asx__rng_next(&rng);
        bool same = f.len == whole.len && memcmp(f.data, whole.data, f.len) == 0;
        bool sealed = round % 2 == 1;
        if (sealed)
            reseal(&f);
        asx_trace_reader reader;
        asx_status st = asx_trace_reader_init(&reader, f.data, f.len);
        if (st == ASX_OK) {
            CHECK(same || sealed);
            accepted++;
            asx_event event;
            uint64_t count = 0;
            while ((st = asx_trace_reader_next(&reader, &event)) == ASX_OK)
                count++;
            CHECK_STATUS(st, ASX_E_EMPTY);
            CHECK_EQ(count, reader.event_count);
        } else {
            CHECK(st == ASX_E_TRACE_CORRUPT || st == ASX_E_TRACE_VERSION);
            CHECK_LE(reader.error_offset, f.len);
        }
        file_free(&f);
    }
    CHECK_GE(accepted, 1u);
    file_free(&whole);
}

ASX_TEST(a_sink_that_fails_at_any_call_ends_the_writing_with_its_status)
{
    test_memory memory = { .fail_after = UINT64_MAX };
    asx__trace_memory from = memory_of(&memory);
    asx__trace trace;
    CHECK_STATUS(asx__trace_init(&trace, 0, ASX__TRACE_REFUSE, &from), ASX_OK);
    emit_many(&trace, 300);
    file whole = write_file(&trace, 1, "p");
    CHECK_GE(whole.calls, 4u);
    for (uint64_t call = 1; call <= whole.calls; call++) {
        file f = { .fail_at_call = call };
        CHECK_STATUS(asx__trace_write(&trace, 1, "p", 1, file_sink, &f), ASX_E_SYSTEM);
        CHECK_EQ(f.calls, call);
        CHECK_MEM_EQ(f.data == NULL ? whole.data : f.data, whole.data, f.len);
        file_free(&f);
    }
    file_free(&whole);
    asx__trace_deinit(&trace);
}

ASX_TEST(a_program_text_may_be_long_and_hold_any_byte)
{
    test_memory memory;
    asx__trace trace = sample_trace(&memory, 0, ASX__TRACE_REFUSE);
    char program[5000];
    for (size_t i = 0; i < sizeof(program); i++)
        program[i] = (char)(i % 256);
    file f = { 0 };
    CHECK_STATUS(asx__trace_write(&trace, 1, program, sizeof(program), file_sink, &f), ASX_OK);
    asx_trace_reader reader;
    CHECK_STATUS(asx_trace_reader_init(&reader, f.data, f.len), ASX_OK);
    CHECK_EQ(reader.program_len, sizeof(program));
    CHECK_MEM_EQ(reader.program, program, sizeof(program));
    file_free(&f);
    CHECK_STATUS(asx__trace_write(&trace, 1, NULL, 0, file_sink, &f), ASX_OK);
    CHECK_STATUS(asx_trace_reader_init(&reader, f.data, f.len), ASX_OK);
    CHECK_EQ(reader.program_len, 0u);
    file_free(&f);
    asx__trace_deinit(&trace);
}

ASX_TEST(misuse_is_answered_with_a_status)
{
    asx_trace_reader reader;
    asx_event event;
    asx__trace off = { 0 };
    test_memory memory;
    asx__trace trace = sample_trace(&memory, 0, ASX__TRACE_REFUSE);
    file f = { 0 };
    CHECK_STATUS(asx_trace_reader_init(NULL, golden, sizeof(golden)), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_trace_reader_init(&reader, NULL, 0), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_trace_reader_next(&reader, &event), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_trace_reader_next(NULL, &event), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_trace_reader_init(&reader, golden, sizeof(golden)), ASX_OK);
    CHECK_STATUS(asx_trace_reader_next(&reader, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__trace_write(NULL, 1, "", 0, file_sink, &f), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__trace_write(&off, 1, "", 0, file_sink, &f), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__trace_write(&trace, 1, NULL, 1, file_sink, &f), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__trace_write(&trace, 1, "", 0, NULL, &f), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(f.calls, 0u);
    asx__trace_deinit(&trace);
}
