/* test_mpmc_poll.c - channels of many senders and receivers: what is special about poll tasks, and
 * laws over random schedules and on several workers. */
#include "play.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct stage {
    asx_region home, crowd;
    asx_mpmc_sender tx;
    asx_mpmc_receiver rx;
    asx_task task;
    uint64_t message;
    asx_status last;
    int runs;
    uint64_t dropped;
    bool give_up; /* at the second run */
} stage;

static void on_drop(void *ctx, void *message)
{
    (void)message;
    ((stage *)ctx)->dropped++;
}

static void open_stage(asx_cx *cx, stage *s, size_t capacity)
{
    asx_channel_options options = { "stage", on_drop, s };
    memset(s, 0, sizeof *s);
    CHECK_STATUS(asx_region_open(cx, NULL, &s->home), ASX_OK);
    CHECK_STATUS(asx_mpmc_create(&s->home, sizeof s->message, capacity, &options, &s->tx, &s->rx),
                 ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &s->crowd), ASX_OK);
}

static asx_status close_stage(stage *s)
{
    CHECK_STATUS(asx_region_close(&s->crowd, ASX_OK), ASX_OK);
    return asx_region_close(&s->home, ASX_OK);
}

static asx_poll receives(asx_cx *cx, void *arg)
{
    stage *s = arg;
    if (s->runs++ > 0 && s->give_up)
        return ASX_POLL_READY;
    s->last = asx_mpmc_recv(cx, &s->rx, &s->message);
    return s->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_poll sends(asx_cx *cx, void *arg)
{
    stage *s = arg;
    if (s->runs++ > 0 && s->give_up)
        return ASX_POLL_READY;
    s->message++;
    s->last = asx_mpmc_send(cx, &s->tx, &s->message);
    return s->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static void spawn(stage *s, asx_poll_fn fn)
{
    CHECK_STATUS(asx_spawn_poll_task(&s->crowd, fn, s, NULL, &s->task), ASX_OK);
}

static uint64_t queued(const stage *s)
{
    asx_mpmc_info info;
    CHECK_STATUS(asx_mpmc_receiver_info(&s->rx, &info), ASX_OK);
    return info.queued;
}

/* ---- what was granted and not picked up ------------------------------------------------------ */

static asx_status gives_back(asx_cx *cx, void *arg)
{
    stage s;
    uint64_t message = 11;
    open_stage(cx, &s, (uintptr_t)arg);
    s.give_up = true;
    spawn(&s, receives);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_mpmc_send(cx, &s.tx, &message), ASX_OK); /* to the poll task */
    if ((uintptr_t)arg > 0) {
        message = 22;
        CHECK_STATUS(asx_mpmc_send(cx, &s.tx, &message), ASX_OK);
    }
    CHECK_STATUS(asx_mpmc_close(&s.tx), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(queued(&s), (uintptr_t)arg > 0 ? 2 : 1);
    CHECK_STATUS(asx_mpmc_recv(cx, &s.rx, &message), ASX_OK);
    CHECK_EQ(message, 11); /* before what was sent later */
    if ((uintptr_t)arg > 0) {
        CHECK_STATUS(asx_mpmc_try_recv(cx, &s.rx, &message), ASX_OK);
        CHECK_EQ(message, 22);
    }
    CHECK_STATUS(asx_mpmc_recv(cx, &s.rx, &message), ASX_E_CLOSED);
    CHECK_EQ(s.runs, 2);
    CHECK_EQ(s.dropped, 0);
    return close_stage(&s);
}

ASX_TEST(a_message_that_is_not_picked_up_goes_back_to_the_front)
{
    program_check(gives_back, (void *)0);
    program_check(gives_back, (void *)3);
}

static asx_status waits_for_one(asx_cx *cx, void *arg)
{
    stage *s = arg;
    uint64_t message = 0;
    CHECK_STATUS(asx_mpmc_recv(cx, &s->rx, &message), ASX_OK);
    CHECK_EQ(message, 11);
    s->last = ASX_E_BUSY; /* it was here */
    return ASX_OK;
}

static asx_status passes_on(asx_cx *cx, void *arg)
{
    stage s;
    uint64_t message = 11;
    (void)arg;
    open_stage(cx, &s, 0);
    s.give_up = true;
    spawn(&s, receives);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_spawn(&s.crowd, NULL, waits_for_one, &s), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_mpmc_send(cx, &s.tx, &message), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(s.last, ASX_E_BUSY);
    return close_stage(&s);
}

ASX_TEST(a_message_that_is_not_picked_up_goes_to_the_next_who_waits)
{
    program_check(passes_on, NULL);
}

/* Two messages on their way to two poll tasks, which give them back in the other order. */
typedef struct returner {
    stage *s;
    int runs;
} returner;

static asx_poll returns_later(asx_cx *cx, void *arg)
{
    returner *r = arg;
    uint64_t message;
    if (r->runs++ == 0) {
        CHECK_STATUS(asx_mpmc_recv(cx, &r->s->rx, &message), ASX_E_WOULD_BLOCK);
        return ASX_POLL_PENDING;
    }
    return ASX_POLL_READY;
}

static asx_status in_order(asx_cx *cx, void *arg)
{
    stage s;
    returner a = { .s = &s }, b = { .s = &s };
    asx_task first, second;
    (void)arg;
    open_stage(cx, &s, 0);
    CHECK_STATUS(asx_spawn_poll_task(&s.crowd, returns_later, &a, NULL, &first), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_spawn_poll_task(&s.crowd, returns_later, &b, NULL, &second), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    for (uint64_t i = 1; i <= 2; i++)
        CHECK_STATUS(asx_mpmc_send(cx, &s.tx, &i), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&second, NULL), ASX_OK); /* it goes first now */
    CHECK_STATUS(asx_join(cx, &second, NULL), ASX_OK);
    CHECK_STATUS(asx_join(cx, &first, NULL), ASX_OK);
    CHECK_EQ(queued(&s), 2);
    for (uint64_t i = 1; i <= 2; i++) {
        uint64_t message = 0;
        CHECK_STATUS(asx_mpmc_recv(cx, &s.rx, &message), ASX_OK);
        CHECK_EQ(message, i);
    }
    return close_stage(&s);
}

ASX_TEST(messages_that_come_back_keep_their_order)
{
    program_check(in_order, NULL);
}

static asx_status dropped_with_the_receiver(asx_cx *cx, void *arg)
{
    stage s;
    uint64_t message = 11;
    bool home = *(bool *)arg;
    open_stage(cx, &s, 0);
    spawn(&s, receives);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_mpmc_send(cx, &s.tx, &message), ASX_OK);
    if (!home) {
        CHECK_STATUS(asx_mpmc_receiver_drop(&s.rx), ASX_OK);
        CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
        CHECK_STATUS(s.last, ASX_E_STALE_HANDLE);
        CHECK_EQ(s.dropped, 1);
        CHECK_STATUS(asx_mpmc_send(cx, &s.tx, &message), ASX_E_DISCONNECTED);
        return close_stage(&s);
    }
    /* The crowd is inside of home: leave it to be closed with it. */
    CHECK_STATUS(close_stage(&s), ASX_OK);
    CHECK_STATUS(s.last, ASX_OK);
    CHECK_EQ(s.message, 11);
    return ASX_OK;
}

ASX_TEST(a_message_on_its_way_is_discarded_when_nobody_may_receive)
{
    bool home = false;
    program_check(dropped_with_the_receiver, &home);
    home = true;
    program_check(dropped_with_the_receiver, &home);
}

/* ---- senders -------------------------------------------------------------------------------- */

static asx_status sender_gives_up(asx_cx *cx, void *arg)
{
    stage s;
    uint64_t message;
    (void)arg;
    open_stage(cx, &s, 0);
    s.give_up = true;
    spawn(&s, sends);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_task_cancel(&s.task, NULL), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(s.runs, 2);
    CHECK_STATUS(asx_mpmc_try_recv(cx, &s.rx, &message), ASX_E_EMPTY);
    return close_stage(&s);
}

ASX_TEST(a_send_that_is_not_repeated_is_withdrawn)
{
    program_check(sender_gives_up, NULL);
}

static asx_status sender_is_done(asx_cx *cx, void *arg)
{
    stage s;
    uint64_t message;
    bool gives_up = *(bool *)arg;
    open_stage(cx, &s, 0);
    s.give_up = gives_up;
    spawn(&s, sends);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_mpmc_recv(cx, &s.rx, &message), ASX_OK);
    CHECK_EQ(message, 1);
    CHECK_STATUS(asx_mpmc_close(&s.tx), ASX_OK);
    CHECK_STATUS(asx_mpmc_sender_drop(&s.tx), ASX_OK);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(s.runs, 2);
    CHECK_STATUS(s.last, gives_up ? ASX_E_WOULD_BLOCK : ASX_OK); /* it was sent all the same */
    return close_stage(&s);
}

ASX_TEST(a_send_whose_message_was_taken_is_done_whatever_comes_then)
{
    bool gives_up = false;
    program_check(sender_is_done, &gives_up);
    gives_up = true;
    program_check(sender_is_done, &gives_up);
}

/* Calls twice in one resumption: the newer message counts, in the older place. */
static asx_poll sends_again(asx_cx *cx, void *arg)
{
    stage *s = arg;
    uint64_t other = 0;
    if (s->runs++ > 0) {
        s->last = asx_mpmc_send(cx, &s->tx, &s->message);
        return ASX_POLL_READY;
    }
    s->message = 1;
    CHECK_STATUS(asx_mpmc_send(cx, &s->tx, &s->message), ASX_E_WOULD_BLOCK);
    s->message = 3;
    CHECK_STATUS(asx_mpmc_send(cx, &s->tx, &s->message), ASX_E_WOULD_BLOCK);
    CHECK_STATUS(asx_mpmc_try_recv(cx, &s->rx, &other), ASX_OK); /* from itself */
    CHECK_EQ(other, 3);
    CHECK_STATUS(asx_mpmc_send(cx, &s->tx, &s->message), ASX_OK);
    CHECK_STATUS(asx_mpmc_send(cx, &s->tx, &s->message), ASX_E_BUSY); /* one wait at a time */
    return ASX_POLL_PENDING;
}

static asx_poll sends_other(asx_cx *cx, void *arg)
{
    stage *s = arg;
    if (s->runs++ == 0) {
        s->message = 1;
        CHECK_STATUS(asx_mpmc_send(cx, &s->tx, &s->message), ASX_E_WOULD_BLOCK);
        s->message = 3;
    }
    s->last = asx_mpmc_send(cx, &s->tx, &s->message);
    return s->last == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status keeps_its_place(asx_cx *cx, void *arg)
{
    stage s, t;
    uint64_t message;
    (void)arg;
    open_stage(cx, &s, 0);
    t = s;
    t.message = 100;
    spawn(&s, sends_other);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    spawn(&t, sends);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_mpmc_recv(cx, &s.rx, &message), ASX_OK);
    CHECK_EQ(message, 3);
    CHECK_STATUS(asx_mpmc_recv(cx, &s.rx, &message), ASX_OK);
    CHECK_EQ(message, 101);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_STATUS(s.last, ASX_OK);
    return close_stage(&s);
}

ASX_TEST(a_repeated_send_keeps_its_place)
{
    program_check(keeps_its_place, NULL);
}

static asx_status own_message(asx_cx *cx, void *arg)
{
    stage s;
    uint64_t message;
    (void)arg;
    open_stage(cx, &s, 0);
    spawn(&s, sends_again);
    CHECK_STATUS(asx_sleep(cx, ASX_MS), ASX_OK);
    CHECK_EQ(s.runs, 2); /* it was woken by itself; now it waits to send no more */
    CHECK_STATUS(asx_mpmc_try_recv(cx, &s.rx, &message), ASX_E_EMPTY);
    return close_stage(&s);
}

ASX_TEST(a_poll_task_may_take_its_own_message)
{
    program_check(own_message, NULL);
}

/* ---- laws over schedules -------------------------------------------------------------------- */

enum { SENDERS = 4, RECEIVERS = 4, EACH = 12 };

typedef struct crowd {
    asx_mpmc_sender tx;
    asx_mpmc_receiver rx;
    asx_task senders[SENDERS], receivers[RECEIVERS];
    atomic_uint admitted[SENDERS][EACH], received[SENDERS][EACH];
    atomic_uint closed_seen;
} crowd;

typedef struct actor {
    crowd *c;
    unsigned number, next;
    uint64_t message;
    unsigned last[SENDERS];
} actor;

static asx_status send_all(asx_cx *cx, actor *a)
{
    crowd *c = a->c;
    for (; a->next < EACH; a->next++) {
        a->message = a->number * 100 + a->next;
        asx_status st = asx_mpmc_send(cx, &c->tx, &a->message);
        if (st < 0)
            return st == ASX_E_CLOSED ? ASX_OK : st;
        atomic_fetch_add(&c->admitted[a->number][a->next], 1);
    }
    return ASX_OK;
}

static asx_status receive_all(asx_cx *cx, actor *a)
{
    crowd *c = a->c;
    for (;;) {
        asx_status st = asx_mpmc_recv(cx, &c->rx, &a->message);
        if (st == ASX_E_CLOSED)
            atomic_fetch_add(&c->closed_seen, 1);
        if (st < 0)
            return st == ASX_E_CLOSED ? ASX_OK : st;
        unsigned from = (unsigned)(a->message / 100), n = (unsigned)(a->message % 100);
        CHECK(from < SENDERS && n < EACH);
        CHECK_EQ(atomic_fetch_add(&c->received[from][n], 1), 0u);
        CHECK_LE(a->last[from], n); /* what one receiver gets of one sender is in order */
        a->last[from] = n + 1;
    }
}

static asx_status send_fiber(asx_cx *cx, void *arg)
{
    return send_all(cx, arg);
}

static asx_status receive_fiber(asx_cx *cx, void *arg)
{
    return receive_all(cx, arg);
}

static asx_poll ended(asx_cx *cx, asx_status st)
{
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING
           : st < 0                ? asx_poll_fail(cx, st)
                                   : ASX_POLL_READY;
}

static asx_poll send_poll(asx_cx *cx, void *arg)
{
    return ended(cx, send_all(cx, arg));
}

static asx_poll receive_poll(asx_cx *cx, void *arg)
{
    return ended(cx, receive_all(cx, arg));
}

static void start(const asx_region *r, crowd *c, actor *actors, bool mixed)
{
    for (unsigned i = 0; i < SENDERS + RECEIVERS; i++) {
        actor *a = &actors[i];
        bool sender = i < SENDERS;
        *a = (actor){ .c = c, .number = sender ? i : i - SENDERS };
        asx_task *task = sender ? &c->senders[i] : &c->receivers[i - SENDERS];
        if (mixed && i % 2 == 1)
            CHECK_STATUS(asx_spawn_poll_task(r, sender ? send_poll : receive_poll, a, NULL, task),
                         ASX_OK);
        else
            CHECK_STATUS(asx_spawn_task(r, sender ? send_fiber : receive_fiber, a, NULL, task),
                         ASX_OK);
    }
}

typedef struct plan {
    size_t capacity;
    bool mixed, cancels, closes_early;
} plan;

static asx_status crowd_program(asx_cx *cx, void *arg)
{
    const plan *p = arg;
    crowd c;
    actor actors[SENDERS + RECEIVERS];
    asx_region r;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    memset(&c, 0, sizeof c);
    CHECK_STATUS(asx_region_open(cx, &options, &r), ASX_OK);
    CHECK_STATUS(asx_mpmc_create(&r, sizeof(uint64_t), p->capacity, NULL, &c.tx, &c.rx), ASX_OK);
    start(&r, &c, actors, p->mixed);
    for (unsigned i = 0; p->cancels && i < 2; i++) {
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_task_cancel(&c.senders[i], NULL), ASX_OK);
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_task_cancel(&c.receivers[2 * i], NULL), ASX_OK);
    }
    if (p->closes_early)
        CHECK_STATUS(asx_mpmc_close(&c.tx), ASX_OK);
    for (unsigned i = 0; i < SENDERS; i++)
        CHECK_STATUS(asx_join(cx, &c.senders[i], NULL), ASX_OK);
    CHECK_STATUS(asx_mpmc_close(&c.tx), ASX_OK);
    for (unsigned i = 0; i < RECEIVERS; i++)
        CHECK_STATUS(asx_join(cx, &c.receivers[i], NULL), ASX_OK);
    CHECK_EQ(c.closed_seen, p->cancels ? c.closed_seen : RECEIVERS);
    for (unsigned i = 0; i < SENDERS; i++)
        for (unsigned n = 0; n < EACH; n++)
            CHECK_EQ(c.admitted[i][n], c.received[i][n]);
    asx_mpmc_info info;
    CHECK_STATUS(asx_mpmc_sender_info(&c.tx, &info), ASX_OK);
    CHECK_EQ(info.sent, info.received);
    CHECK_EQ(info.send_waiters + info.recv_waiters + info.queued, 0);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(each_message_is_received_once_and_in_order_whatever_the_schedule)
{
    for (unsigned i = 0; i < 16; i++) {
        plan p = { .capacity = i % 4, .mixed = i / 4 % 2 == 0, .closes_early = i / 8 == 0 };
        seeds_check(crowd_program, &p, 40);
        p.cancels = true;
        seeds_check(crowd_program, &p, 40);
    }
}

ASX_TEST_TIMEOUT(each_message_is_received_once_on_several_workers, 60)
{
    for (unsigned i = 0; i < 24; i++) {
        plan p = { .capacity = i % 3, .mixed = i % 2 == 0, .closes_early = i % 4 == 3,
                   .cancels = i % 6 == 5 };
        asx_runtime_config config = { .workers = i < 12 ? 4 : 2 };
        asx_runtime *rt = NULL;
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, crowd_program, &p), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

typedef struct squeeze {
    size_t left, amount, in_use;
    char message[20000]; /* more than is left in a block of the region's memory */
    stage s;
    bool created;
    asx_status polled, cloned;
} squeeze;

static void *squeezed_alloc(void *ctx, size_t size)
{
    squeeze *q = ctx;
    void *memory = size > q->left ? NULL : malloc(size);
    if (memory != NULL) {
        q->left -= size;
        q->in_use += size;
    }
    return memory;
}

static void squeezed_free(void *ctx, void *memory, size_t size)
{
    squeeze *q = ctx;
    q->left += size;
    q->in_use -= size;
    free(memory);
}

static asx_poll waits_squeezed(asx_cx *cx, void *arg)
{
    squeeze *q = arg;
    if (q->s.runs++ == 0)
        q->left = q->amount;
    q->polled = asx_mpmc_send(cx, &q->s.tx, q->message);
    if (q->polled == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    return ASX_POLL_READY;
}

static asx_status squeezed(asx_cx *cx, void *arg)
{
    squeeze *q = arg;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    asx_mpmc_receiver clone;
    asx_stats stats;
    static char message[sizeof q->message];
    CHECK_STATUS(asx_region_open(cx, &options, &q->s.crowd), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, &options, &q->s.home), ASX_OK);
    q->left = q->amount;
    asx_status st = asx_mpmc_create(&q->s.home, sizeof message, 0, NULL, &q->s.tx, &q->s.rx);
    q->left = SIZE_MAX / 2;
    CHECK_STATUS(asx_runtime_stats(asx_cx_runtime(cx), &stats), ASX_OK);
    q->created = st == ASX_OK;
    CHECK_EQ(stats.channels_live, q->created ? 1 : 0);
    if (!q->created) {
        CHECK_STATUS(st, ASX_E_RESOURCE_EXHAUSTED);
        ASX_IGNORE(asx_region_close(&q->s.home, ASX_OK));
        return asx_region_close(&q->s.crowd, ASX_OK);
    }
    CHECK_STATUS(asx_spawn_poll(&q->s.home, NULL, waits_squeezed, q), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    if (q->polled != ASX_E_WOULD_BLOCK)
        CHECK_STATUS(q->polled, ASX_E_RESOURCE_EXHAUSTED);
    q->left = q->amount;
    for (int i = 0; i < 1000 && q->cloned == ASX_OK; i++)
        q->cloned = asx_mpmc_receiver_clone(&q->s.rx, &clone);
    if (q->cloned < 0)
        CHECK_STATUS(q->cloned, ASX_E_RESOURCE_EXHAUSTED);
    q->left = SIZE_MAX / 2;
    if (q->polled == ASX_E_WOULD_BLOCK)
        CHECK_STATUS(asx_mpmc_recv(cx, &q->s.rx, message), ASX_OK);
    CHECK_STATUS(asx_mpmc_try_recv(cx, &q->s.rx, message), ASX_E_EMPTY);
    ASX_IGNORE(asx_region_close(&q->s.home, ASX_OK));
    return asx_region_close(&q->s.crowd, ASX_OK);
}

ASX_TEST(every_shortage_of_memory_is_told_and_loses_nothing)
{
    unsigned not_created = 0, not_waited = 0, not_cloned = 0, all = 0;
    for (size_t amount = 0; amount < 40000; amount += 500) {
        static squeeze q;
        q = (squeeze){ .left = SIZE_MAX / 2, .amount = amount };
        asx_runtime_config config = {
            .clock = ASX_CLOCK_VIRTUAL,
            .allocator = { squeezed_alloc, squeezed_free, &q },
        };
        asx_runtime *rt = NULL;
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, squeezed, &q), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
        CHECK_EQ(q.in_use, 0);
        not_created += !q.created;
        not_waited += q.polled == ASX_E_RESOURCE_EXHAUSTED;
        not_cloned += q.cloned == ASX_E_RESOURCE_EXHAUSTED;
        all += q.created && q.polled == ASX_OK && q.cloned == ASX_OK;
    }
    CHECK(not_created > 0 && not_waited > 0 && not_cloned > 0 && all > 0);
}

/* ---- sizes and names ------------------------------------------------------------------------ */

ASX_MPMC_TYPE(words, uint32_t)

typedef struct wide {
    char text[100];
} wide;

static asx_status sizes(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_mpmc_sender tx, clones[40];
    asx_mpmc_receiver rx, other;
    uint32_t word = 0;
    wide a = { "far and wide" }, b;
    asx_mpmc_info info;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(words_create(&r, 2, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(words_send(cx, &tx, 5), ASX_OK);
    CHECK_STATUS(words_try_send(cx, &tx, 6), ASX_OK);
    CHECK_STATUS(words_recv(cx, &rx, &word), ASX_OK);
    CHECK_EQ(word, 5);
    CHECK_STATUS(words_try_recv(cx, &rx, &word), ASX_OK);
    CHECK_EQ(word, 6);
    for (unsigned i = 0; i < 40; i++) /* more than the first table holds */
        CHECK_STATUS(asx_mpmc_sender_clone(&tx, &clones[i]), ASX_OK);
    CHECK_STATUS(asx_mpmc_receiver_clone(&rx, &other), ASX_OK);
    CHECK_STATUS(asx_mpmc_receiver_info(&other, &info), ASX_OK);
    CHECK_EQ(info.senders, 41);
    CHECK_EQ(info.receivers, 2);
    for (unsigned i = 0; i < 40; i++)
        CHECK_STATUS(asx_mpmc_sender_drop(&clones[39 - i]), ASX_OK);
    CHECK_STATUS(words_send(cx, &clones[7], 5), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_mpmc_sender_clone(&tx, &clones[0]), ASX_OK);
    CHECK_STATUS(words_send(cx, &clones[7], 5), ASX_E_STALE_HANDLE);
    CHECK_STATUS(asx_mpmc_create(&r, sizeof a, 1, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS(asx_mpmc_send(cx, &tx, &a), ASX_OK);
    CHECK_STATUS(asx_mpmc_recv(cx, &rx, &b), ASX_OK);
    CHECK_STR_EQ(b.text, "far and wide");
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(messages_and_tables_of_any_size)
{
    program_check(sizes, NULL);
}
