/* Events as text: one line each, names instead of numbers, never longer than the buffer. */
#include <string.h>

#include "support_trace.h"

typedef struct row {
    uint32_t kind;
    uint64_t object, a, b;
    const char *expected;
} row;

#define ST(status) ((uint64_t)(int64_t)(status))

static const row rows[] = {
    { ASX_EVENT_RUN_BEGIN, 0, 42, 0, "run-begin seed 42" },
    { ASX_EVENT_RUN_END, 0, ST(ASX_E_DEADLOCK), 0, "run-end ASX_E_DEADLOCK" },
    { ASX_EVENT_REGION_OPEN, 2, 1, 0, "region-open region 2 in region 1" },
    { ASX_EVENT_REGION_STATE, 2, 0, 1, "region-state region 2 Open -> Closing" },
    { ASX_EVENT_REGION_CANCEL, 2, 10, 0, "region-cancel region 2 Shutdown" },
    { ASX_EVENT_REGION_CANCEL, 2, 1, 1, "region-cancel region 2 Timeout strengthened" },
    { ASX_EVENT_REGION_REPORT, 2, 1, ST(ASX_E_FULL), "region-report region 2 Err ASX_E_FULL" },
    { ASX_EVENT_FINALIZER_RUN, 2, 3, 0, "finalizer-run region 2 #3 ASX_OK" },
    { ASX_EVENT_ADMISSION_REFUSED, 2, ASX__REFUSED_CHANNEL, ST(ASX_E_ADMISSION_CLOSED),
      "admission-refused region 2 channel ASX_E_ADMISSION_CLOSED" },
    { ASX_EVENT_TASK_SPAWN, 3, 2, ASX__VEHICLE_POLL, "task-spawn task 3 in region 2 poll" },
    { ASX_EVENT_TASK_STATE, 3, 0, 1, "task-state task 3 Created -> Running" },
    { ASX_EVENT_TASK_RUN, 3, ASX__LANE_CANCEL, 200, "task-run task 3 cancel priority 200" },
    { ASX_EVENT_TASK_PARK, 3, ASX__WAIT_CHANNEL_RECV, 1, "task-park task 3 channel-recv #1" },
    { ASX_EVENT_TASK_PARK, 3, ASX__WAIT_FINALIZER, 0, "task-park task 3 finalizer" },
    { ASX_EVENT_TASK_WAKE, 3, ST(ASX_E_CANCELLED), ASX__LANE_READY,
      "task-wake task 3 ASX_E_CANCELLED ready" },
    { ASX_EVENT_TASK_YIELD, 3, 0, 0, "task-yield task 3" },
    { ASX_EVENT_TASK_COMPLETE, 3, 2, ST(ASX_E_CANCELLED),
      "task-complete task 3 Cancelled ASX_E_CANCELLED" },
    { ASX_EVENT_TASK_JOIN, 3, 0, 0, "task-join task 3 Ok ASX_OK" },
    { ASX_EVENT_TASK_FORCED, 3, 0, 1000, "task-forced task 3 User resumptions 1000" },
    { ASX_EVENT_TASK_PANIC, 3, 0, 0, "task-panic task 3" },
    { ASX_EVENT_TASK_LINK, 3, 4, 0, "task-link task 3 with task 4" },
    { ASX_EVENT_CANCEL_REQUEST, 3, 1, 7, "cancel-request task 3 Timeout epoch 7" },
    { ASX_EVENT_CANCEL_STRENGTHEN, 3, 2, 0, "cancel-strengthen task 3 Deadline" },
    { ASX_EVENT_CANCEL_STRENGTHEN, 3, 2, 1, "cancel-strengthen task 3 Deadline reason changed" },
    { ASX_EVENT_CANCEL_ACK, 3, 0, 50, "cancel-ack task 3 User resumptions 50" },
    { ASX_EVENT_CANCEL_MASK, 3, 2, 0, "cancel-mask task 3 depth 2" },
    { ASX_EVENT_BUDGET_EXHAUSTED, 3, 2, 0, "budget-exhausted task 3 Deadline" },
    { ASX_EVENT_OBLIGATION_RESERVE, 5, 2, 3,
      "obligation-reserve obligation 5 send-permit owner 3" },
    { ASX_EVENT_OBLIGATION_COMMIT, 5, 4, 3, "obligation-commit obligation 5 ack owner 3" },
    { ASX_EVENT_OBLIGATION_ABORT, 5, 5, 3, "obligation-abort obligation 5 lease owner 3" },
    { ASX_EVENT_OBLIGATION_LEAK, 5, 1, 3, "obligation-leak obligation 5 plain owner 3" },
    { ASX_EVENT_CHANNEL_CREATE, 1, 4, 2, "channel-create channel 1 capacity 4 in region 2" },
    { ASX_EVENT_CHANNEL_SEND, 1, 9, 2, "channel-send channel 1 message 9 queued 2" },
    { ASX_EVENT_CHANNEL_RECV, 1, 9, 0, "channel-recv channel 1 message 9 queued 0" },
    { ASX_EVENT_CHANNEL_EVICT, 1, 9, 0, "channel-evict channel 1 message 9" },
    { ASX_EVENT_CHANNEL_DISCARD, 1, 3, 0, "channel-discard channel 1 messages 3" },
    { ASX_EVENT_CHANNEL_SENDER_DROP, 1, 0, 0, "channel-sender-drop channel 1 senders left 0" },
    { ASX_EVENT_CHANNEL_RECEIVER_DROP, 1, 0, 0, "channel-receiver-drop channel 1" },
    { ASX_EVENT_CHANNEL_NACK, 1, 9, 0, "channel-nack channel 1 message 9" },
    { ASX_EVENT_MPMC_CREATE, 1, 0, 2, "mpmc-create mpmc 1 capacity 0 in region 2" },
    { ASX_EVENT_MPMC_SEND, 1, 9, 2, "mpmc-send mpmc 1 message 9 queued 2" },
    { ASX_EVENT_MPMC_RECV, 1, 9, 2, "mpmc-recv mpmc 1 message 9 queued 2" },
    { ASX_EVENT_MPMC_CLOSE, 1, 3, 2, "mpmc-close mpmc 1 left 3 waiting 2" },
    { ASX_EVENT_MPMC_DISCARD, 1, 3, 0, "mpmc-discard mpmc 1 messages 3" },
    { ASX_EVENT_MPMC_DROP, 1, 0, 2, "mpmc-drop mpmc 1 senders left 0 receivers left 2" },
    { ASX_EVENT_TIMER_ARM, 6, 1500000, 0, "timer-arm timer 6 for 1.5ms" },
    { ASX_EVENT_TIMER_FIRE, 6, 2 * ASX_SEC, 0, "timer-fire timer 6 of 2s" },
    { ASX_EVENT_TIMER_CANCEL, 6, ASX_TIME_NEVER, 0, "timer-cancel timer 6 of never" },
    { ASX_EVENT_CLOCK_ADVANCE, 0, 0, 1500, "clock-advance 0 -> 1.5us" },
    { ASX_EVENT_USER, 7, 8, 0, "user code 7 value 8" },
    { ASX_EVENT_MUTEX_CREATE, 3, 0, 2, "mutex-create mutex 3 in region 2" },
    { ASX_EVENT_MUTEX_LOCK, 3, 3, 0, "mutex-lock mutex 3 waiting 3" },
    { ASX_EVENT_MUTEX_UNLOCK, 3, 3, 0, "mutex-unlock mutex 3 waiting 3" },
    { ASX_EVENT_MUTEX_POISON, 3, 1, 0, "mutex-poison mutex 3 now 1" },
    { ASX_EVENT_RWLOCK_CREATE, 3, 0, 2, "rwlock-create rwlock 3 in region 2" },
    { ASX_EVENT_RWLOCK_LOCK, 3, 1, 3, "rwlock-lock rwlock 3 to write waiting 3" },
    { ASX_EVENT_RWLOCK_UNLOCK, 3, 0, 3, "rwlock-unlock rwlock 3 waiting 3" },
    { ASX_EVENT_RWLOCK_POISON, 3, 0, 0, "rwlock-poison rwlock 3 now 0" },
    { ASX_EVENT_SEMAPHORE_CREATE, 3, 4, 2, "semaphore-create semaphore 3 permits 4 in region 2" },
    { ASX_EVENT_SEMAPHORE_ACQUIRE, 3, 2, 1, "semaphore-acquire semaphore 3 permits 2 left 1" },
    { ASX_EVENT_SEMAPHORE_RELEASE, 3, 2, 3, "semaphore-release semaphore 3 permits 2 left 3" },
    { ASX_EVENT_SEMAPHORE_ADD, 3, 5, 8, "semaphore-add semaphore 3 permits 5 left 8" },
    { ASX_EVENT_CONDITION_CREATE, 3, 0, 2, "condition-create condition 3 in region 2" },
    { ASX_EVENT_CONDITION_WAIT, 3, 4, 1, "condition-wait condition 3 without mutex 4 waiting 1" },
    { ASX_EVENT_CONDITION_SIGNAL, 3, 2, 0, "condition-signal condition 3 woken 2" },
    { ASX_EVENT_NOTIFY_CREATE, 3, 0, 2, "notify-create notify 3 in region 2" },
    { ASX_EVENT_NOTIFY_SIGNAL, 3, 0, 1, "notify-signal notify 3 woken 0 stored" },
    { ASX_EVENT_NOTIFY_TAKE, 3, 0, 0, "notify-take notify 3" },
    { ASX_EVENT_BARRIER_CREATE, 3, 3, 2, "barrier-create barrier 3 parties 3 in region 2" },
    { ASX_EVENT_BARRIER_ARRIVE, 3, 2, 0, "barrier-arrive barrier 3 #2" },
    { ASX_EVENT_BARRIER_PASS, 3, 1, 0, "barrier-pass barrier 3 leads" },
    { ASX_EVENT_ONCE_CREATE, 3, 0, 2, "once-create once 3 in region 2" },
    { ASX_EVENT_ONCE_BEGIN, 3, 0, 0, "once-begin once 3" },
    { ASX_EVENT_ONCE_END, 3, ST(ASX_E_FULL), 0, "once-end once 3 ASX_E_FULL" },
    { ASX_EVENT_ONESHOT_CREATE, 3, 0, 2, "oneshot-create oneshot 3 in region 2" },
    { ASX_EVENT_ONESHOT_SEND, 3, 0, 0, "oneshot-send oneshot 3" },
    { ASX_EVENT_ONESHOT_RECV, 3, 0, 0, "oneshot-recv oneshot 3" },
    { ASX_EVENT_ONESHOT_DROP, 3, 1, 1, "oneshot-drop oneshot 3 the receiver discarded 1" },
    { ASX_EVENT_BROADCAST_CREATE, 3, 8, 2, "broadcast-create broadcast 3 capacity 8 in region 2" },
    { ASX_EVENT_BROADCAST_SUBSCRIBE, 3, 2, 7,
      "broadcast-subscribe broadcast 3 receivers 2 after message 7" },
    { ASX_EVENT_BROADCAST_SEND, 3, 8, 2, "broadcast-send broadcast 3 message 8 to receivers 2" },
    { ASX_EVENT_BROADCAST_RECV, 3, 8, 0, "broadcast-recv broadcast 3 message 8 left 0" },
    { ASX_EVENT_BROADCAST_LAG, 3, 5, 0, "broadcast-lag broadcast 3 missed 5" },
    { ASX_EVENT_BROADCAST_DROP, 3, 1, 0, "broadcast-drop broadcast 3 receivers left 1" },
    { ASX_EVENT_BROADCAST_CLOSE, 3, 0, 0, "broadcast-close broadcast 3" },
    { ASX_EVENT_WATCH_CREATE, 3, 0, 2, "watch-create watch 3 in region 2" },
    { ASX_EVENT_WATCH_SEND, 3, 2, 3, "watch-send watch 3 version 2 woken 3" },
    { ASX_EVENT_WATCH_RECV, 3, 2, 0, "watch-recv watch 3 version 2" },
    { ASX_EVENT_WATCH_CLOSE, 3, 0, 0, "watch-close watch 3" },
    { ASX_EVENT_WORKER_SEARCH, 2, 4, 1, "worker-search worker 2 first at 4 finds at 1" },
    { ASX_EVENT_WORKER_SEARCH, 2, 4, 0, "worker-search worker 2 first at 4" },
    { ASX_EVENT_TASK_STEAL, 7, 3, 2, "task-steal task 7 from worker 3 by worker 2" },
    { ASX_EVENT_CELL_ACCESS, 4, 1, 0, "cell-access cell 4 writes" },
    { ASX_EVENT_CELL_ACCESS, 4, 0, 2, "cell-access cell 4 old 2" },
    { ASX_EVENT_CHOICE, 0, 1, 3, "choice 1 of 3" },
    { 9999, 1, 2, 3, "unknown kind 9999 object 1 a 2 b 3" },
    /* numbers that mean nothing stay numbers */
    { ASX_EVENT_TASK_PARK, 3, 1000, 0, "task-park task 3 1000" },
    { ASX_EVENT_TASK_PARK, 3, 99, 0, "task-park task 3 unknown" },
    { ASX_EVENT_RUN_END, 0, 17, 0, "run-end 17" },
    { ASX_EVENT_RUN_END, 0, UINT64_C(1) << 63, 0, "run-end 9223372036854775808" },
};

/* Runs of spaces become one. */
static void squeeze(char *s)
{
    char *to = s;
    for (const char *from = s; *from != '\0'; from++) {
        if (*from != ' ' || (to > s && to[-1] != ' '))
            *to++ = *from;
    }
    *to = '\0';
}

ASX_TEST(every_kind_reads_as_a_sentence)
{
    char line[200], expected[200];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const asx_event event = { .seq = 12, .time = 1500000, .kind = rows[i].kind, .task = 3,
                                  .object = rows[i].object, .a = rows[i].a, .b = rows[i].b,
                                  .cause = 9 };
        size_t len = asx_event_format(&event, line, sizeof(line));
        CHECK_EQ(len, strlen(line));
        squeeze(line);
        strcpy(expected, "12 @1.5ms task 3 ");
        strcat(expected, rows[i].expected);
        strcat(expected, " <- 9");
        CHECK_STR_EQ(line, expected);
    }
}

ASX_TEST(one_of_several_workers_is_named)
{
    char line[200];
    asx_event event = { .seq = 1, .kind = ASX_EVENT_USER, .worker = 3, .task = 2 };
    (void)asx_event_format(&event, line, sizeof(line));
    squeeze(line);
    CHECK_STR_EQ(line, "1 @0 task 2 user code 0 value 0 on 3");
}

ASX_TEST(no_kind_is_forgotten)
{
#define CHECK_KIND(name, number, text, object, a, b)                                               \
    {                                                                                              \
        bool found = false;                                                                        \
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)                                \
            found = found || rows[i].kind == (number);                                             \
        CHECK(found && #name);                                                                     \
        CHECK_STR_EQ(asx_event_kind_str(ASX_EVENT_##name), text);                                  \
        CHECK(asx__event_kind_known(number));                                                      \
    }
    ASX_EVENT_LIST(CHECK_KIND)
#undef CHECK_KIND
    CHECK_STR_EQ(asx_event_kind_str(0), "unknown");
    CHECK_STR_EQ(asx_event_kind_str(UINT32_MAX), "unknown");
    CHECK(!asx__event_kind_known(0));
    CHECK(!asx__event_kind_known(ASX_EVENT_USER + (UINT64_C(1) << 32)));
}

ASX_TEST(columns_line_up_and_the_runtime_has_a_name)
{
    char line[200];
    asx_event event = { .seq = 12, .time = 1500000, .kind = ASX_EVENT_TASK_PARK, .task = 3,
                        .object = 3, .a = ASX__WAIT_CHANNEL_RECV, .b = 1, .cause = 9 };
    asx_event_format(&event, line, sizeof(line));
    CHECK_STR_EQ(line, "    12 @1.5ms        task 3     task-park            "
                       " task 3 channel-recv #1  <- 9");
    event = (asx_event){ .seq = 1234567, .time = 0, .kind = ASX_EVENT_RUN_BEGIN };
    asx_event_format(&event, line, sizeof(line));
    CHECK_STR_EQ(line, "1234567 @0           runtime    run-begin             seed 0");
}

ASX_TEST(times_are_exact_in_the_largest_unit_that_fits)
{
    static const struct {
        asx_time time;
        const char *expected;
    } times[] = {
        { 0, "0" },
        { 1, "1ns" },
        { 999, "999ns" },
        { 1000, "1us" },
        { 1001, "1.001us" },
        { 1500000, "1.5ms" },
        { 1234567, "1.234567ms" },
        { 1000000001, "1.000000001s" },
        { UINT64_C(90000000000), "90s" },
        { ASX_TIME_NEVER - 1, "18446744073.709551614s" },
        { ASX_TIME_NEVER, "never" },
    };
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        char line[200], expected[100] = " 1 @";
        asx_event event = { .seq = 1, .time = times[i].time, .kind = ASX_EVENT_TASK_YIELD };
        asx_event_format(&event, line, sizeof(line));
        strcat(expected, times[i].expected);
        strcat(expected, " ");
        CHECK(strstr(line, expected) != NULL);
    }
}

ASX_TEST(a_short_buffer_gets_the_beginning_and_the_whole_length_is_told)
{
    char whole[200];
    size_t len = asx_event_format(&sample[8], whole, sizeof(whole));
    CHECK_EQ(len, strlen(whole));
    CHECK_EQ(asx_event_format(&sample[8], NULL, 0), len);
    CHECK_EQ(asx_event_format(&sample[8], NULL, 10), len);
    for (size_t size = 0; size <= len + 1; size++) {
        char line[201];
        memset(line, '#', sizeof(line));
        CHECK_EQ(asx_event_format(&sample[8], line, size), len);
        CHECK_EQ(line[size], '#');
        if (size > 0) {
            CHECK_EQ(strlen(line), size - 1);
            CHECK_MEM_EQ(line, whole, size - 1);
        }
    }
}

ASX_TEST(no_event_is_an_empty_line)
{
    char line[4] = "xyz";
    CHECK_EQ(asx_event_format(NULL, line, sizeof(line)), 0u);
    CHECK_STR_EQ(line, "");
}

ASX_TEST(waits_lanes_vehicles_and_refusals_have_names)
{
    CHECK_EQ(asx__trace_word_of_status(ASX_E_FULL), ST(ASX_E_FULL));
    CHECK_STR_EQ(asx__wait_str(ASX__WAIT_CHANNEL_RESERVE), "channel-reserve");
    CHECK_STR_EQ(asx__wait_str(10), "finalizer");
    CHECK_STR_EQ(asx__wait_str(0), "unknown");
    CHECK_STR_EQ(asx__lane_str(0), "cancel");
    CHECK_STR_EQ(asx__lane_str(2), "ready");
    CHECK_STR_EQ(asx__lane_str(3), "unknown");
    CHECK_STR_EQ(asx__vehicle_str(0), "fiber");
    CHECK_STR_EQ(asx__vehicle_str(2), "unknown");
    CHECK_STR_EQ(asx__refused_str(1), "task");
    CHECK_STR_EQ(asx__refused_str(0), "unknown");
}
