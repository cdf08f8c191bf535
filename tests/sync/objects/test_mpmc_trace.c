/* test_mpmc_trace.c - what the journal and the close report say of channels of many. */
#include "play.h"

#include <stdio.h>
#include <string.h>

#define EVENTS_MAX 256

/* As text, one event a line: kind, a, b, and which line caused it (0: none of these). */
static struct {
    uint64_t seq[EVENTS_MAX];
    unsigned count;
    char text[4096];
} notes;

static void observe(void *ctx, const asx_event *event)
{
    unsigned cause = 0;
    (void)ctx;
    const char *kind = asx_event_kind_str(event->kind);
    if (strncmp(kind, "mpmc-", 5) != 0)
        return;
    CHECK(notes.count < EVENTS_MAX);
    for (unsigned i = 0; i < notes.count; i++)
        if (notes.seq[i] == event->cause)
            cause = i + 1;
    notes.seq[notes.count++] = event->seq;
    size_t len = strlen(notes.text);
    uint64_t b = event->kind == ASX_EVENT_MPMC_CREATE ? 0 : event->b; /* a region's number */
    CHECK(len + 64 < sizeof notes.text);
    (void)snprintf(notes.text + len, sizeof notes.text - len, "%s %llu %llu %llu %u\n", kind + 5,
                   (unsigned long long)event->object, (unsigned long long)event->a,
                   (unsigned long long)b, cause);
}

static void run_traced(asx_task_fn fn)
{
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .trace = true };
    memset(&notes, 0, sizeof notes);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_observe(rt, observe, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, fn, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

typedef struct ends {
    asx_mpmc_sender tx;
    asx_mpmc_receiver rx;
} ends;

static asx_status send_three(asx_cx *cx, void *arg)
{
    ends *e = arg;
    for (int i = 1; i <= 3; i++)
        CHECK_STATUS(asx_mpmc_send(cx, &e->tx, &i), ASX_OK);
    return ASX_OK;
}

static asx_status receive_one(asx_cx *cx, void *arg)
{
    ends *e = arg;
    int message = 0;
    CHECK_STATUS(asx_mpmc_recv(cx, &e->rx, &message), ASX_OK);
    CHECK_EQ(message, 7);
    return ASX_OK;
}

static asx_status scene(asx_cx *cx, void *arg)
{
    asx_region r;
    ends e;
    int message;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_mpmc_create(&r, sizeof(int), 2, NULL, &e.tx, &e.rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, NULL, send_three, &e), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK); /* two in the ring, one waits */
    CHECK_STATUS(asx_mpmc_close(&e.tx), ASX_OK);
    CHECK_STATUS(asx_mpmc_recv(cx, &e.rx, &message), ASX_OK);
    CHECK_STATUS(asx_mpmc_sender_drop(&e.tx), ASX_OK);
    CHECK_STATUS(asx_mpmc_recv(cx, &e.rx, &message), ASX_OK);
    CHECK_STATUS(asx_mpmc_receiver_drop(&e.rx), ASX_OK); /* the third is discarded */
    CHECK_STATUS(asx_mpmc_create(&r, sizeof(int), 0, NULL, &e.tx, &e.rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, NULL, receive_one, &e), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    message = 7;
    CHECK_STATUS(asx_mpmc_send(cx, &e.tx, &message), ASX_OK);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(the_journal_says_what_happened_and_which_send_a_receive_came_from)
{
    run_traced(scene);
    CHECK_STR_EQ(notes.text,
                 "create 1 2 0 0\n"   /* line 1 */
                 "send 1 1 1 0\n"     /* 2 */
                 "send 1 2 2 0\n"     /* 3 */
                 "close 1 2 1 0\n"    /* 4: two left, one sender waits */
                 "recv 1 1 2 2\n"     /* 5: the ring is full again */
                 "send 1 3 2 0\n"     /* 6: by the one that waited */
                 "drop 1 0 1 0\n"     /* 7 */
                 "recv 1 2 1 3\n"     /* 8 */
                 "drop 1 0 0 0\n"     /* 9 */
                 "discard 1 1 0 0\n"  /* 10 */
                 "create 2 0 0 0\n"   /* 11 */
                 "send 2 1 0 0\n"     /* 12 */
                 "recv 2 1 0 12\n");
}

static asx_status discards(asx_cx *cx, void *arg)
{
    asx_region r;
    ends e;
    asx_close_report report;
    asx_channel_options options = { .name = "left" };
    uint64_t wanted = *(uint64_t *)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_mpmc_create(&r, sizeof(int), 4, &options, &e.tx, &e.rx), ASX_OK);
    for (uint64_t i = 0; i < wanted; i++)
        CHECK_STATUS(asx_mpmc_send(cx, &e.tx, &(int){ 1 }), ASX_OK);
    CHECK_STATUS(asx_region_close_with(&r, ASX_OK, NULL, &report), ASX_OK);
    uint64_t named = 0;
    for (size_t i = 0; i < report.items_len; i++)
        if (report.items[i].kind == ASX_REPORT_CHANNEL) {
            CHECK_STR_EQ(report.items[i].name, "left");
            CHECK_EQ(report.items[i].serial, 1);
            named += report.items[i].count;
        }
    CHECK_EQ(named, wanted);
    CHECK_EQ(report.messages_discarded, wanted);
    asx_close_report_deinit(&report);
    return ASX_OK;
}

ASX_TEST(the_close_report_names_who_had_messages_left)
{
    for (uint64_t n = 0; n < 4; n++)
        program_check(discards, &n);
}
