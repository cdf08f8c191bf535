/* test_channel_api.c - every function of channel.h, called right and called wrong. */
#include "scenario.h"

#include <string.h>

struct fixture {
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
};

static void open_channel(asx_cx *cx, struct fixture *f, size_t capacity)
{
    CHECK_STATUS(asx_region_open(cx, NULL, &f->region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&f->region, sizeof(uint64_t), capacity, NULL, &f->tx, &f->rx),
                 ASX_OK);
}

static void close_channel(struct fixture *f)
{
    CHECK_STATUS(asx_region_close(&f->region, ASX_OK), ASX_OK);
}

static asx_channel_info info_of(const struct fixture *f)
{
    asx_channel_info info;
    CHECK_STATUS(asx_channel_receiver_info(&f->rx, &info), ASX_OK);
    return info;
}

/* ---- creation ------------------------------------------------------------------------------- */

static void refused(asx_cx *cx, size_t element_size, size_t capacity, asx_status want)
{
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    memset(&tx, 0x5a, sizeof tx);
    memset(&rx, 0x5a, sizeof rx);
    asx_channel_sender no_tx = { 0 };
    asx_channel_receiver no_rx = { 0 };
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, element_size, capacity, NULL, &tx, &rx), want);
    CHECK_MEM_EQ(&tx, &no_tx, sizeof tx);
    CHECK_MEM_EQ(&rx, &no_rx, sizeof rx);
    asx_stats stats;
    CHECK_STATUS(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    CHECK_EQ(stats.channels_live, 0);
    CHECK_STATUS(asx_channel_create(&region, 8, 1, NULL, &tx, &rx), want); /* it sticks */
    CHECK_STATUS(asx_region_close(&region, ASX_OK), want);
}

static asx_status create_badly(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    refused(cx, 8, 0, ASX_E_INVALID_ARGUMENT);
    refused(cx, 0, 8, ASX_E_INVALID_ARGUMENT);
    refused(cx, SIZE_MAX, 2, ASX_E_RESOURCE_EXHAUSTED);
    refused(cx, 2, SIZE_MAX, ASX_E_RESOURCE_EXHAUSTED);
    refused(cx, SIZE_MAX, 1, ASX_E_RESOURCE_EXHAUSTED);
    refused(cx, 1, SIZE_MAX, ASX_E_RESOURCE_EXHAUSTED);
    refused(cx, 1, SIZE_MAX / 2, ASX_E_RESOURCE_EXHAUSTED);
    refused(cx, (size_t)1 << 32, (size_t)1 << 32, ASX_E_RESOURCE_EXHAUSTED);
    refused(cx, ((size_t)1 << 32) + 1, (size_t)1 << 32, ASX_E_RESOURCE_EXHAUSTED);

    asx_region region, nowhere = { 0 };
    CHECK_STATUS(asx_channel_create(NULL, 8, 1, NULL, &tx, &rx), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_create(&nowhere, 8, 1, NULL, &tx, &rx), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 1, NULL, NULL, &rx), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_create(&region, 8, 1, NULL, &tx, &rx), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 1, NULL, &tx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_region_stop(&region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 1, NULL, &tx, &rx), ASX_E_REGION_NOT_OPEN);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(a_channel_that_cannot_be_is_refused_and_changes_nothing)
{
    program_check(create_badly, NULL, ASX_OK);
}

static asx_status create_to_the_ceiling(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    for (int round = 0; round < 3; round++) {
        CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
        for (int i = 0; i < 2; i++)
            CHECK_STATUS(asx_channel_create(&region, 8, 1, NULL, &tx, &rx), ASX_OK);
        CHECK_STATUS(asx_channel_create(&region, 8, 1, NULL, &tx, &rx), ASX_E_RESOURCE_EXHAUSTED);
        CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    }
    return ASX_OK;
}

ASX_TEST(the_ceiling_on_channels_counts_those_that_live)
{
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL, .limits.channels_max = 2 };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, create_to_the_ceiling, NULL), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static asx_status create_in_a_small_region(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    uint64_t message = 1;
    asx_region_options small = { .memory_max = 4096 };
    CHECK_STATUS(asx_region_open(cx, &small, &region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 16, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_channel_create(&region, 8, 1024, NULL, &(asx_channel_sender){ 0 },
                                    &(asx_channel_receiver){ 0 }),
                 ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_channel_send(cx, &tx, &message), ASX_E_RESOURCE_EXHAUSTED);
    CHECK_STATUS(asx_mask_begin(cx, 0), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &tx, &message), ASX_OK); /* the first one is unharmed */
    CHECK_STATUS(asx_channel_recv(cx, &rx, &message), ASX_OK);
    CHECK_STATUS(asx_mask_end(cx), ASX_OK);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_E_RESOURCE_EXHAUSTED);
    return ASX_OK;
}

ASX_TEST(the_memory_of_a_channel_is_the_regions)
{
    program_check(create_in_a_small_region, NULL, ASX_OK);
}

/* ---- bad arguments -------------------------------------------------------------------------- */

static asx_status misuse_senders(asx_cx *cx, void *arg)
{
    (void)arg;
    struct fixture f;
    open_channel(cx, &f, 2);
    asx_channel_sender zero = { 0 }, forged = f.tx;
    forged.generation_ = 0;
    asx_send_permit permit;
    asx_tracked_permit tracked;
    uint64_t m = 1;
    bool did = false;
    asx_cx no_task = { 0 };
    asx_channel_sender *bad[] = { NULL, &zero, &forged };
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(asx_channel_reserve(cx, bad[i], &permit), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_try_reserve(cx, bad[i], &permit), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_reserve_tracked(cx, bad[i], &tracked), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_send(cx, bad[i], &m), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_try_send(cx, bad[i], &m), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_send_evict_oldest(cx, bad[i], &m, NULL, &did),
                     ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_sender_clone(bad[i], &zero), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_sender_drop(bad[i]), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_sender_info(bad[i], &(asx_channel_info){ 0 }),
                     ASX_E_INVALID_ARGUMENT);
    }
    asx_cx *no_cx[] = { NULL, &no_task };
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(asx_channel_reserve(no_cx[i], &f.tx, &permit), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_try_reserve(no_cx[i], &f.tx, &permit), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_reserve_tracked(no_cx[i], &f.tx, &tracked),
                     ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_send(no_cx[i], &f.tx, &m), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_try_send(no_cx[i], &f.tx, &m), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_send_evict_oldest(no_cx[i], &f.tx, &m, NULL, &did),
                     ASX_E_INVALID_ARGUMENT);
    }
    CHECK_STATUS(asx_channel_reserve(cx, &f.tx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_try_reserve(cx, &f.tx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_reserve_tracked(cx, &f.tx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_send(cx, &f.tx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_try_send(cx, &f.tx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_send_evict_oldest(cx, &f.tx, NULL, NULL, &did),
                 ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_send_evict_oldest(cx, &f.tx, &m, NULL, NULL),
                 ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_send_evict_oldest(cx, &f.tx, &m, &m, &did), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_sender_clone(&f.tx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_sender_info(&f.tx, NULL), ASX_E_INVALID_ARGUMENT);
    asx_channel_info info = info_of(&f);
    CHECK_EQ(info.queued + info.reserved + info.sent, 0);
    CHECK_EQ(info.senders, 1);
    close_channel(&f);
    return ASX_OK;
}

ASX_TEST(bad_arguments_of_sending_calls_are_refused)
{
    program_check(misuse_senders, NULL, ASX_OK);
}

static asx_status misuse_permits(asx_cx *cx, void *arg)
{
    (void)arg;
    struct fixture f;
    open_channel(cx, &f, 4);
    asx_send_permit zero = { 0 }, permit;
    asx_tracked_permit tracked_zero, tracked;
    asx_committed_proof committed;
    asx_aborted_proof aborted;
    asx_ack ack, ack_zero = { 0 };
    uint64_t m = 1;
    memset(&tracked_zero, 0, sizeof tracked_zero);
    CHECK_STATUS(asx_send_permit_send(NULL, &m), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_send_permit_send(&zero, &m), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_send_permit_abort(NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_send_permit_abort(&zero), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_tracked_permit_send(NULL, &m, &committed), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_tracked_permit_send(&tracked_zero, &m, &committed), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_tracked_permit_abort(NULL, &aborted), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_tracked_permit_abort(&tracked_zero, &aborted), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_ack_commit(NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_ack_commit(&ack_zero), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_ack_nack(NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_ack_nack(&ack_zero), ASX_E_INVALID_ARGUMENT);

    CHECK_STATUS(asx_channel_reserve(cx, &f.tx, &permit), ASX_OK);
    CHECK_STATUS(asx_send_permit_send(&permit, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(info_of(&f).reserved, 1); /* not consumed by that */
    asx_send_permit forged = permit;
    forged.obligation_ = 0;
    CHECK_STATUS(asx_send_permit_send(&forged, &m), ASX_E_INVALID_ARGUMENT);
    forged.obligation_ = permit.obligation_ + 1000;
    CHECK_STATUS(asx_send_permit_send(&forged, &m), ASX_E_STALE_HANDLE);
    asx_tracked_permit disguised = { permit };
    CHECK_STATUS(asx_tracked_permit_send(&disguised, &m, &committed), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_tracked_permit_abort(&disguised, &aborted), ASX_E_INVALID_ARGUMENT);
    asx_ack no_ack = { .channel_ = permit.channel_, .obligation_ = permit.obligation_ };
    CHECK_STATUS(asx_ack_commit(&no_ack), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_ack_nack(&no_ack), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_send_permit_send(&permit, &m), ASX_OK);

    CHECK_STATUS(asx_channel_reserve_tracked(cx, &f.tx, &tracked), ASX_OK);
    CHECK_STATUS(asx_tracked_permit_send(&tracked, &m, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_tracked_permit_send(&tracked, NULL, &committed), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_tracked_permit_abort(&tracked, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_tracked_permit_send(&tracked, &m, &committed), ASX_OK);
    CHECK_EQ(committed.obligation, tracked.permit.obligation_);
    CHECK_EQ(committed.message_number, 2);
    CHECK_STATUS(asx_channel_reserve_tracked_at(cx, &f.tx, &tracked, NULL), ASX_OK);
    CHECK_STATUS(asx_tracked_permit_abort(&tracked, &aborted), ASX_OK);
    CHECK_EQ(aborted.obligation, tracked.permit.obligation_);

    CHECK_STATUS(asx_channel_recv_with_ack(cx, &f.rx, &m, &ack), ASX_OK);
    asx_send_permit no_permit = { .channel_ = ack.channel_, .obligation_ = ack.obligation_ };
    CHECK_STATUS(asx_send_permit_send(&no_permit, &m), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_send_permit_abort(&no_permit), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_ack_commit(&ack), ASX_OK);
    close_channel(&f);
    return ASX_OK;
}

ASX_TEST(permits_and_acks_that_are_none_are_refused_and_not_consumed)
{
    program_check(misuse_permits, NULL, ASX_OK);
}

static asx_status misuse_receivers(asx_cx *cx, void *arg)
{
    (void)arg;
    struct fixture f;
    open_channel(cx, &f, 2);
    asx_channel_receiver zero = { 0 }, forged = f.rx;
    forged.generation_ = 0;
    asx_channel_receiver *bad[] = { NULL, &zero, &forged };
    asx_ack ack;
    uint64_t m = 7;
    CHECK_STATUS(asx_channel_send(cx, &f.tx, &m), ASX_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(asx_channel_recv(cx, bad[i], &m), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_try_recv(cx, bad[i], &m), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_recv_with_ack(cx, bad[i], &m, &ack), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_receiver_drop(bad[i]), ASX_E_INVALID_ARGUMENT);
        CHECK_STATUS(asx_channel_receiver_info(bad[i], &(asx_channel_info){ 0 }),
                     ASX_E_INVALID_ARGUMENT);
    }
    asx_cx no_task = { 0 };
    CHECK_STATUS(asx_channel_recv(NULL, &f.rx, &m), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_recv(&no_task, &f.rx, &m), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_recv(cx, &f.rx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_try_recv(cx, &f.rx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_recv_with_ack(NULL, &f.rx, &m, &ack), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &f.rx, NULL, &ack), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &f.rx, &m, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_channel_receiver_info(&f.rx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(info_of(&f).queued, 1);
    CHECK_EQ(m, 7);
    close_channel(&f);
    return ASX_OK;
}

ASX_TEST(bad_arguments_of_receiving_calls_are_refused)
{
    program_check(misuse_receivers, NULL, ASX_OK);
}

/* ---- wrong context -------------------------------------------------------------------------- */

struct borrowed {
    struct fixture f;
    asx_cx *cx;
};

static asx_status wants_wrong_context(asx_cx *cx, void *arg)
{
    struct borrowed *b = arg;
    uint64_t m = 1;
    bool did;
    asx_ack ack;
    asx_send_permit permit;
    asx_tracked_permit tracked;
    (void)cx;
    CHECK_STATUS(asx_channel_send(b->cx, &b->f.tx, &m), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_channel_try_send(b->cx, &b->f.tx, &m), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_channel_reserve(b->cx, &b->f.tx, &permit), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_channel_try_reserve(b->cx, &b->f.tx, &permit), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_channel_reserve_tracked(b->cx, &b->f.tx, &tracked), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_channel_send_evict_oldest(b->cx, &b->f.tx, &m, NULL, &did),
                 ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_channel_recv(b->cx, &b->f.rx, &m), ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_channel_recv_with_ack(b->cx, &b->f.rx, &m, &ack), ASX_E_WRONG_CONTEXT);
    return ASX_OK;
}

static asx_status lend_context(asx_cx *cx, void *arg)
{
    (void)arg;
    struct borrowed b = { .cx = cx };
    open_channel(cx, &b.f, 2);
    CHECK_STATUS(asx_spawn(&b.f.region, "borrower", wants_wrong_context, &b), ASX_OK);
    close_channel(&b.f);
    return ASX_OK;
}

ASX_TEST(the_context_of_another_task_is_refused)
{
    program_check(lend_context, NULL, ASX_OK);
}

static asx_status use_foreign_channel(asx_cx *cx, void *arg)
{
    struct borrowed *b = arg;
    struct borrowed mine = { b->f, cx };
    return wants_wrong_context(cx, &mine);
}

struct shared {
    struct borrowed b;
    asx_waker waker;
};

static asx_status own_a_channel(asx_cx *cx, void *arg)
{
    struct shared *shared = arg;
    open_channel(cx, &shared->b.f, 2);
    CHECK_STATUS(asx_cx_waker(cx, &shared->waker), ASX_OK);
    CHECK_STATUS(asx_wait_external(cx), ASX_OK);
    CHECK_EQ(info_of(&shared->b.f).queued, 0);
    close_channel(&shared->b.f);
    return ASX_OK;
}

ASX_TEST(a_task_of_another_runtime_is_refused)
{
    struct shared shared;
    asx_runtime *owner, *other;
    asx_time next;
    CHECK_STATUS(asx_runtime_create(NULL, &owner), ASX_OK);
    CHECK_STATUS(asx_runtime_create(NULL, &other), ASX_OK);
    CHECK_STATUS(asx_runtime_start(owner, own_a_channel, &shared), ASX_OK);
    CHECK_STATUS(asx_runtime_step(owner, 0, &next), ASX_E_WOULD_BLOCK);
    CHECK_STATUS(asx_runtime_run(other, use_foreign_channel, &shared.b), ASX_OK);
    shared.waker.wake(shared.waker.arg);
    CHECK_STATUS(asx_runtime_step(owner, 0, &next), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(other), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(owner), ASX_OK);
}

static asx_status narrow(asx_cx *cx, void *arg)
{
    (void)arg;
    struct fixture f;
    asx_cx less;
    uint64_t m = 1;
    bool did;
    asx_ack ack;
    asx_send_permit permit;
    asx_tracked_permit tracked;
    open_channel(cx, &f, 2);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_ALL & ~(uint32_t)ASX_CAP_CHANNEL, &less), ASX_OK);
    CHECK_STATUS(asx_channel_send(&less, &f.tx, &m), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_channel_try_send(&less, &f.tx, &m), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_channel_reserve(&less, &f.tx, &permit), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_channel_try_reserve(&less, &f.tx, &permit), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_channel_reserve_tracked(&less, &f.tx, &tracked), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_channel_send_evict_oldest(&less, &f.tx, &m, NULL, &did), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_channel_recv(&less, &f.rx, &m), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_channel_recv_with_ack(&less, &f.rx, &m, &ack), ASX_E_CAPABILITY);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_CHANNEL, &less), ASX_OK);
    CHECK_STATUS(asx_channel_send(&less, &f.tx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_recv(&less, &f.rx, &m), ASX_OK);
    close_channel(&f);
    return ASX_OK;
}

ASX_TEST(channels_need_their_capability)
{
    program_check(narrow, NULL, ASX_OK);
}

/* ---- a permit resolved elsewhere ------------------------------------------------------------ */

static asx_status send_for_another(asx_cx *cx, void *arg)
{
    (void)cx;
    uint64_t m = 77;
    asx_send_permit copy = *(asx_send_permit *)arg;
    return asx_send_permit_send(&copy, &m);
}

static asx_status delegate(asx_cx *cx, void *arg)
{
    (void)arg;
    struct fixture f;
    asx_send_permit permit;
    uint64_t m = 0;
    open_channel(cx, &f, 1);
    CHECK_STATUS(asx_channel_reserve(cx, &f.tx, &permit), ASX_OK);
    CHECK_STATUS(asx_spawn(&f.region, "delegate", send_for_another, &permit), ASX_OK);
    CHECK_STATUS(asx_channel_recv(cx, &f.rx, &m), ASX_OK);
    CHECK_EQ(m, 77);
    CHECK_STATUS(asx_send_permit_abort(&permit), ASX_E_OBLIGATION_ALREADY_RESOLVED);
    close_channel(&f);
    return ASX_OK;
}

ASX_TEST(a_permit_may_be_resolved_by_another_task)
{
    program_check(delegate, NULL, ASX_OK);
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static void pattern(unsigned char *message, size_t size, unsigned number)
{
    for (size_t i = 0; i < size; i++)
        message[i] = (unsigned char)(number * 31u + i * 7u + 1u);
}

struct sized {
    size_t size;
    size_t capacity;
    asx_channel_sender tx;
    asx_channel_receiver rx;
};

enum { SIZED_MESSAGES = 100 };

static asx_status send_sized(asx_cx *cx, void *arg)
{
    struct sized *s = arg;
    unsigned char buffer[1001];
    unsigned char *message = buffer + 1; /* not aligned */
    for (unsigned i = 0; i < SIZED_MESSAGES; i++) {
        asx_send_permit permit;
        pattern(message, s->size, i);
        if (i % 2 == 0) {
            CHECK_STATUS(asx_channel_send(cx, &s->tx, message), ASX_OK);
        } else {
            CHECK_STATUS(asx_channel_reserve(cx, &s->tx, &permit), ASX_OK);
            CHECK_STATUS(asx_send_permit_send(&permit, message), ASX_OK);
        }
        if (i % 13 == 0)
            CHECK_STATUS(asx_yield(cx), ASX_OK);
    }
    return ASX_OK;
}

static asx_status recv_sized(asx_cx *cx, void *arg)
{
    struct sized *s = arg;
    unsigned char want[1000], buffer[1003];
    unsigned char *got = buffer + 1;
    for (unsigned i = 0; i < SIZED_MESSAGES; i++) {
        asx_ack ack;
        memset(buffer, 0xee, sizeof buffer);
        pattern(want, s->size, i);
        if (i % 3 == 0) {
            CHECK_STATUS(asx_channel_recv_with_ack(cx, &s->rx, got, &ack), ASX_OK);
            CHECK_MEM_EQ(got, want, s->size);
            CHECK_STATUS(i % 2 == 0 ? asx_ack_nack(&ack) : asx_ack_commit(&ack), ASX_OK);
            if (i % 2 != 0)
                continue;
        }
        CHECK_STATUS(asx_channel_recv(cx, &s->rx, got), ASX_OK);
        CHECK_MEM_EQ(got, want, s->size);
        CHECK_EQ(got[s->size], 0xee); /* and no more than the message */
        CHECK_EQ(buffer[0], 0xee);
        if (i % 7 == 0)
            CHECK_STATUS(asx_yield(cx), ASX_OK);
    }
    return ASX_OK;
}

static asx_status all_sizes(asx_cx *cx, void *arg)
{
    static const size_t sizes[] = { 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 32, 100, 1000 };
    static const size_t capacities[] = { 1, 2, 3, 5, 8, 33 };
    (void)arg;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof capacities / sizeof *capacities; k++) {
            struct sized s = { .size = sizes[i], .capacity = capacities[k] };
            asx_region region;
            CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
            CHECK_STATUS(asx_channel_create(&region, s.size, s.capacity, NULL, &s.tx,
                                            &s.rx), ASX_OK);
            CHECK_STATUS(asx_spawn(&region, "send", send_sized, &s), ASX_OK);
            CHECK_STATUS(asx_spawn(&region, "recv", recv_sized, &s), ASX_OK);
            CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
        }
    return ASX_OK;
}

ASX_TEST(messages_of_every_size_pass_unchanged_through_rings_of_every_length)
{
    program_check(all_sizes, NULL, ASX_OK);
}

/* ---- typed wrappers and counters ------------------------------------------------------------ */

typedef struct point {
    int x, y, z;
} point;
ASX_CHANNEL_TYPE(points, point)

static asx_status typed(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_send_permit permit;
    point p = { 0, 0, 0 };
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(points_create(&region, 2, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(points_send(cx, &tx, (point){ 1, 2, 3 }), ASX_OK);
    CHECK_STATUS(asx_channel_reserve(cx, &tx, &permit), ASX_OK);
    CHECK_STATUS(points_permit_send(&permit, (point){ 4, 5, 6 }), ASX_OK);
    CHECK_STATUS(points_try_send(cx, &tx, p), ASX_E_FULL);
    CHECK_STATUS(points_recv(cx, &rx, &p), ASX_OK);
    CHECK_EQ(p.x * 100 + p.y * 10 + p.z, 123);
    CHECK_STATUS(points_try_recv(cx, &rx, &p), ASX_OK);
    CHECK_EQ(p.x * 100 + p.y * 10 + p.z, 456);
    CHECK_STATUS(points_try_recv(cx, &rx, &p), ASX_E_EMPTY);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    return ASX_OK;
}

ASX_TEST(typed_wrappers_carry_their_type)
{
    program_check(typed, NULL, ASX_OK);
}

static asx_status count(asx_cx *cx, void *arg)
{
    (void)arg;
    struct fixture f;
    uint64_t m = 1, victim;
    bool did;
    asx_ack ack;
    asx_send_permit permit;
    open_channel(cx, &f, 2);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(asx_channel_send(cx, &f.tx, &m), ASX_OK);
        CHECK_STATUS(asx_channel_recv(cx, &f.rx, &m), ASX_OK);
    }
    CHECK_STATUS(asx_channel_send(cx, &f.tx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_send(cx, &f.tx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_send_evict_oldest(cx, &f.tx, &m, NULL, &did), ASX_OK);
    CHECK_STATUS(asx_channel_send_evict_oldest(cx, &f.tx, &m, &victim, &did), ASX_OK);
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &f.rx, &m, &ack), ASX_OK);
    asx_channel_info info = info_of(&f);
    CHECK_EQ(info.capacity, 2);
    CHECK_EQ(info.sent, 7);
    CHECK_EQ(info.received, 4);
    CHECK_EQ(info.evicted, 2);
    CHECK_EQ(info.discarded, 1);
    CHECK_EQ(info.queued, 1);
    CHECK_EQ(info.reserved, 1);
    CHECK_EQ(info.state, ASX_CHANNEL_OPEN);
    CHECK_STATUS(asx_ack_nack(&ack), ASX_OK);
    info = info_of(&f);
    CHECK_EQ(info.received, 3);
    CHECK_EQ(info.queued, 2);
    CHECK_EQ(info.reserved, 0);
    CHECK_STATUS(asx_channel_recv(cx, &f.rx, &m), ASX_OK);
    CHECK_STATUS(asx_channel_reserve(cx, &f.tx, &permit), ASX_OK);
    CHECK_STATUS(asx_channel_receiver_drop(&f.rx), ASX_OK);
    CHECK_STATUS(asx_channel_sender_info(&f.tx, &info), ASX_OK);
    CHECK_EQ(info.sent, 7);
    CHECK_EQ(info.received, 4);
    CHECK_EQ(info.discarded, 2);
    CHECK_EQ(info.reserved, 1);
    CHECK_EQ(info.state, ASX_CHANNEL_RECEIVER_CLOSED);
    CHECK_STATUS(asx_channel_sender_drop(&f.tx), ASX_OK);
    close_channel(&f);
    return ASX_OK;
}

ASX_TEST(a_channel_counts_what_happened_to_its_messages)
{
    program_check(count, NULL, ASX_OK);
}
