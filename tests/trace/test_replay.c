/* A run is compared with a recorded one, event by event, whatever the recorded journal has lost. */
#include <string.h>

#include "support_trace.h"

typedef struct replay {
    test_memory memory;
    asx__trace recording;
    file recorded_file;
    asx_trace_reader recorded;
    asx__trace run;
} replay;

/* Records the first `count` events of the sample and opens a run that must repeat them. */
static void replay_open(replay *r, uint64_t capacity, asx__trace_overflow policy, size_t count)
{
    r->memory = (test_memory){ .fail_after = UINT64_MAX };
    asx__trace_memory from = memory_of(&r->memory);
    CHECK_STATUS(asx__trace_init(&r->recording, capacity, policy, &from), ASX_OK);
    emit_events(&r->recording, sample, count);
    r->recorded_file = write_file(&r->recording, 42, "sample");
    CHECK_STATUS(asx_trace_reader_init(&r->recorded, r->recorded_file.data, r->recorded_file.len),
                 ASX_OK);
    CHECK_STATUS(asx__trace_init(&r->run, 0, ASX__TRACE_REFUSE, &from), ASX_OK);
    CHECK_STATUS(asx__trace_expect(&r->run, &r->recorded), ASX_OK);
}

static void replay_close(replay *r)
{
    asx__trace_deinit(&r->run);
    asx__trace_deinit(&r->recording);
    file_free(&r->recorded_file);
    CHECK_EQ(r->memory.bytes_live, 0u);
}

ASX_TEST(the_same_run_does_not_diverge)
{
    replay r;
    replay_open(&r, 0, ASX__TRACE_REFUSE, SAMPLE_LEN);
    for (size_t i = 0; i < SAMPLE_LEN; i++) {
        emit_events(&r.run, &sample[i], 1);
        CHECK(!asx__trace_diverged(&r.run));
    }
    CHECK_STATUS(asx__trace_finish(&r.run), ASX_OK);
    CHECK(!asx__trace_diverged(&r.run));
    replay_close(&r);
}

/* Every field of every event, one at a time. */
ASX_TEST(a_difference_in_any_field_is_found_at_its_event)
{
    for (size_t at = 0; at < SAMPLE_LEN; at++) {
        for (unsigned field = 0; field < 7; field++) {
            replay r;
            replay_open(&r, 0, ASX__TRACE_REFUSE, SAMPLE_LEN);
            asx_event other = sample[at];
            uint64_t *numbers[] = { &other.time, &other.task, &other.object, &other.a, &other.b };
            if (field < 5)
                *numbers[field] ^= 1;
            else if (field == 5)
                other.kind = other.kind == ASX_EVENT_USER ? ASX_EVENT_TASK_YIELD : ASX_EVENT_USER;
            else
                other.cause = other.cause == 0 ? at : 0;
            bool differs = !event_equal(&other, &sample[at]); /* the first has no other cause */
            CHECK(differs || (at == 0 && field == 6));
            emit_events(&r.run, sample, at);
            CHECK(!asx__trace_diverged(&r.run));
            emit_events(&r.run, &other, 1);
            CHECK_EQ(asx__trace_diverged(&r.run), differs);
            emit_events(&r.run, sample + at + 1, SAMPLE_LEN - at - 1);
            CHECK_STATUS(asx__trace_finish(&r.run), differs ? ASX_E_DIVERGED : ASX_OK);
            if (differs) {
                CHECK_EQ(r.run.divergence.what, ASX__TRACE_OTHER_EVENT);
                CHECK(event_equal(&r.run.divergence.run, &other));
                CHECK(event_equal(&r.run.divergence.recorded, &sample[at]));
            }
            replay_close(&r);
        }
    }
}

ASX_TEST(the_first_divergence_stays)
{
    replay r;
    replay_open(&r, 0, ASX__TRACE_REFUSE, SAMPLE_LEN);
    emit_events(&r.run, sample, 3);
    emit_events(&r.run, sample + 4, 1);
    emit_events(&r.run, sample + 3, 9);
    CHECK_STATUS(asx__trace_finish(&r.run), ASX_E_DIVERGED);
    CHECK_EQ(r.run.divergence.recorded.seq, 4u);
    CHECK_EQ(r.run.divergence.run.kind, ASX_EVENT_CHANNEL_CREATE);
    replay_close(&r);
}

ASX_TEST(a_run_that_goes_on_diverges_at_its_first_event_too_many)
{
    replay r;
    replay_open(&r, 0, ASX__TRACE_REFUSE, SAMPLE_LEN - 2);
    emit_events(&r.run, sample, SAMPLE_LEN - 2);
    CHECK(!asx__trace_diverged(&r.run));
    emit_events(&r.run, sample + SAMPLE_LEN - 2, 2);
    CHECK(asx__trace_diverged(&r.run));
    CHECK_EQ(r.run.divergence.what, ASX__TRACE_RECORDED_ENDED);
    CHECK(event_equal(&r.run.divergence.run, &sample[SAMPLE_LEN - 2]));
    CHECK_EQ(r.run.divergence.recorded.seq, 0u);
    CHECK_STATUS(asx__trace_finish(&r.run), ASX_E_DIVERGED);
    replay_close(&r);
}

ASX_TEST(a_run_that_ends_early_diverges_at_its_end)
{
    for (size_t count = 0; count < SAMPLE_LEN; count++) {
        replay r;
        replay_open(&r, 0, ASX__TRACE_REFUSE, SAMPLE_LEN);
        emit_events(&r.run, sample, count);
        CHECK(!asx__trace_diverged(&r.run));
        CHECK_STATUS(asx__trace_finish(&r.run), ASX_E_DIVERGED);
        CHECK_EQ(r.run.divergence.what, ASX__TRACE_RUN_ENDED);
        CHECK(event_equal(&r.run.divergence.recorded, &sample[count]));
        CHECK_EQ(r.run.divergence.run.seq, 0u);
        replay_close(&r);
    }
}

static const struct {
    asx__trace_overflow policy;
    size_t lost_first, lost_count; /* with a capacity of 4 */
} partial[] = {
    { ASX__TRACE_OVERWRITE, 0, SAMPLE_LEN - 4 },
    { ASX__TRACE_REFUSE, 4, SAMPLE_LEN - 4 },
    { ASX__TRACE_DISCARD, 0, SAMPLE_LEN },
};

ASX_TEST(a_recording_with_lost_events_can_be_repeated)
{
    for (size_t i = 0; i < sizeof(partial) / sizeof(partial[0]); i++) {
        replay r;
        replay_open(&r, 4, partial[i].policy, SAMPLE_LEN);
        CHECK_EQ(r.recorded.event_count, SAMPLE_LEN - partial[i].lost_count);
        CHECK_EQ(r.recorded.events_total, SAMPLE_LEN);
        emit_events(&r.run, sample, SAMPLE_LEN);
        CHECK_STATUS(asx__trace_finish(&r.run), ASX_OK);
        replay_close(&r);
    }
}

ASX_TEST(a_difference_is_found_in_lost_events_too)
{
    for (size_t i = 0; i < sizeof(partial) / sizeof(partial[0]); i++) {
        for (size_t at = 0; at < SAMPLE_LEN; at++) {
            replay r;
            replay_open(&r, 4, partial[i].policy, SAMPLE_LEN);
            asx_event other = sample[at];
            other.a ^= 1;
            emit_events(&r.run, sample, at);
            emit_events(&r.run, &other, 1);
            emit_events(&r.run, sample + at + 1, SAMPLE_LEN - at - 1);
            CHECK_STATUS(asx__trace_finish(&r.run), ASX_E_DIVERGED);
            bool lost = at >= partial[i].lost_first &&
                        at < partial[i].lost_first + partial[i].lost_count;
            CHECK_EQ(r.run.divergence.what,
                     lost ? ASX__TRACE_OTHER_DIGEST : ASX__TRACE_OTHER_EVENT);
            replay_close(&r);
        }
    }
}

ASX_TEST(the_length_of_a_run_is_known_even_when_its_end_was_lost)
{
    replay r;
    replay_open(&r, 4, ASX__TRACE_REFUSE, SAMPLE_LEN);
    emit_events(&r.run, sample, SAMPLE_LEN - 1);
    CHECK_STATUS(asx__trace_finish(&r.run), ASX_E_DIVERGED);
    CHECK_EQ(r.run.divergence.what, ASX__TRACE_RUN_ENDED);
    CHECK_EQ(r.run.divergence.recorded.seq, 0u);
    replay_close(&r);

    replay_open(&r, 4, ASX__TRACE_REFUSE, SAMPLE_LEN - 1);
    emit_events(&r.run, sample, SAMPLE_LEN - 1);
    CHECK(!asx__trace_diverged(&r.run));
    emit_events(&r.run, sample + SAMPLE_LEN - 1, 1);
    CHECK_EQ(r.run.divergence.what, ASX__TRACE_RECORDED_ENDED);
    replay_close(&r);
}

ASX_TEST(a_recording_that_becomes_unreadable_ends_the_comparison)
{
    replay r;
    replay_open(&r, 0, ASX__TRACE_REFUSE, SAMPLE_LEN);
    emit_events(&r.run, sample, 2);
    r.recorded_file.data[r.recorded.pos + 1] ^= 0x40;
    emit_events(&r.run, sample + 2, 1);
    CHECK(asx__trace_diverged(&r.run));
    CHECK_EQ(r.run.divergence.what, ASX__TRACE_UNREADABLE);
    CHECK_EQ(r.recorded.error_offset, r.recorded.pos);
    CHECK_STATUS(asx__trace_finish(&r.run), ASX_E_TRACE_CORRUPT);
    replay_close(&r);
}

ASX_TEST(a_recording_is_given_before_the_first_event_or_refused)
{
    replay r;
    replay_open(&r, 0, ASX__TRACE_REFUSE, SAMPLE_LEN);
    emit_events(&r.run, sample, 1);
    asx_trace_reader closed = { 0 };
    asx__trace off = { 0 };
    CHECK_STATUS(asx__trace_expect(&r.run, &r.recorded), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__trace_expect(&off, &r.recorded), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__trace_expect(NULL, &r.recorded), ASX_E_INVALID_ARGUMENT);
    asx__trace fresh;
    CHECK_STATUS(asx__trace_init(&fresh, 0, ASX__TRACE_DISCARD, NULL), ASX_OK);
    CHECK_STATUS(asx__trace_expect(&fresh, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx__trace_expect(&fresh, &closed), ASX_E_INVALID_ARGUMENT);
    asx__trace_deinit(&fresh);
    replay_close(&r);
}

ASX_TEST(a_divergence_reads_as_recorded_above_run)
{
    replay r;
    char line[400];
    replay_open(&r, 0, ASX__TRACE_REFUSE, SAMPLE_LEN);
    asx__trace_divergence_format(&r.run.divergence, line, sizeof(line));
    CHECK_STR_EQ(line, "the run does what is recorded");
    emit_events(&r.run, sample, 3);
    asx_event other = sample[3];
    other.b = 2;
    emit_events(&r.run, &other, 1);
    size_t len = asx__trace_divergence_format(&r.run.divergence, line, sizeof(line));
    CHECK_EQ(len, strlen(line));
    CHECK_STR_EQ(line, "the run does something else than is recorded\n"
                       "recorded:      4 @0            task 1     task-state           "
                       " task 1 Created -> Running  <- 3\n"
                       "     run:      4 @0            task 1     task-state           "
                       " task 1 Created -> CancelRequested  <- 3");
    replay_close(&r);
}
