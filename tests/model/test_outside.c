/* Channel calls without the engine on model atomics, against an engine that closes the channel and
 * cancels the task: the steps of sync/outside.h under the latch of sched/latch.h.
 *
 * Two are never in one side of the channel at once, nor at one slot. Every message that a send let
 * in is received or discarded by the close, once; no permit outlives the close; a cancel that has
 * returned is seen. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__LOCK_SPINS_MAX 1u
#define ASX__LEASE_SPINS 0u
#define ASX__LEASE_HEAVY_BARRIER() ((void)0)
#define ASX__LEASE_PAUSE(times) ((void)(times), asx__cpu_relax())
#define ASX__LATCH_PATIENCE 1u
#define ASX__OUTSIDE_TOUCH(ch, senders_side) touch(ch, senders_side)
#define ASX__OUTSIDE_SLOT(number, writes) touch_slot(number, writes)
#include "base/atomic.h"

struct asx__channel;
static void touch(const struct asx__channel *ch, bool senders_side);
static void touch_slot(uint64_t number, bool writes);

#include "sync/outside.h"

#include "harness.h"

#define CAPACITY 1

static asx__lock engine;
static asx__latch *seized;          /* under the lock */
static asx__channel channel;
static uint64_t ring[CAPACITY];
static asx__obligation permit;      /* the sender's own */
static asx__outside outside;        /* of the sender's worker */
static asx__task task;
static asx__atomic_u32 cancelled;   /* the cancel has returned */
static model_data sides[2];         /* of the channel: the receiver's, the senders' */
static model_data slots[CAPACITY];  /* written by sends, read by receives */
static unsigned sent, received, discarded, refused;

static void touch(const asx__channel *ch, bool senders_side)
{
    (void)ch;
    model_write(&sides[senders_side], model_read(&sides[senders_side]) + 1);
}

static void touch_slot(uint64_t number, bool writes)
{
    model_data *slot = &slots[number % CAPACITY];
    if (writes)
        model_write(slot, number + 1);
    else
        MODEL_ASSERT(model_read(slot) == number + 1);
}

static void reset(void)
{
    asx__lock_init(&engine);
    seized = NULL;
    memset(&channel, 0, sizeof channel);
    asx__latch_init(&channel.rx_latch);
    asx__latch_init(&channel.tx_latch);
    asx__atomic_init(&channel.head_shared, UINT64_C(0));
    asx__atomic_init(&channel.tail_shared, UINT64_C(0));
    channel.ring = (char *)ring;
    channel.mask = CAPACITY - 1;
    channel.element_size = 8;
    channel.capacity = channel.room = channel.easy_room = CAPACITY;
    channel.senders = 1;
    asx__atomic_init(&permit.id, UINT64_C(0));
    asx__atomic_init(&permit.object, NULL);
    asx__atomic_init(&outside.task, &task);
    outside.left = 100;
    asx__atomic_init(&cancelled, 0u);
    for (int i = 0; i < 2; i++)
        model_write(&sides[i], 0);
    for (int i = 0; i < CAPACITY; i++)
        model_write(&slots[i], 0);
    sent = received = discarded = refused = 0;
}

/* ---- inside --------------------------------------------------------------------------------- */

static void enter(void)
{
    asx__lock_take(&engine);
}

static void come_to_channel(void)
{
    asx__latch_seize(&channel.tx_latch, &seized);
    asx__latch_seize(&channel.rx_latch, &seized);
    asx__latch_seize(&channel.tx_latch, &seized); /* it may be said twice */
    touch(&channel, false);
    touch(&channel, true);
}

static void leave(void)
{
    asx__latches_release(&seized);
    asx__lock_drop(&engine);
}

/* What close_receiver(), end_obligations() and the discarding of the queue come to. */
static void close_channel(void)
{
    enter();
    come_to_channel();
    channel.room = channel.easy_room = 0;
    channel.send_slow |= ASX__SEND_GONE;
    if (asx__obligation_object(&permit) == &channel) {
        asx__store_relaxed(&permit.object, NULL);
        channel.claims--;
    }
    discarded += (unsigned)(channel.tail - channel.head);
    asx__store_relaxed(&channel.head_shared, channel.tail); /* a plain store in the engine */
    leave();
}

static void cancel(void)
{
    enter();
    asx__outside_call_in(&outside, &task);
    leave();
    asx__store_release(&cancelled, 1u);
}

/* ---- a task that sends, one that receives ---------------------------------------------------- */

/* False: it has to enter. */
static bool may(void)
{
    bool was = asx__load_acquire(&cancelled) != 0;
    bool yes = asx__outside_may(&outside, &task);
    MODEL_ASSERT(!was || !yes);
    return yes;
}

static void send_twice(void)
{
    for (uint64_t id = 1; id <= 2 && may(); id++) {
        asx__latch_take(&channel.tx_latch);
        bool room = asx__outside_has_room(&channel, channel.easy_room);
        if (room)
            asx__outside_claim(&channel, &permit, id);
        asx__latch_drop(&channel.tx_latch);
        if (!room)
            break;
        asx__latch_take(&channel.tx_latch);
        asx_status st = asx__outside_commit(&channel, &permit, id, &id);
        asx__latch_drop(&channel.tx_latch);
        sent += st == ASX_OK;
        refused += st == ASX__GO_IN;
    }
}

static void put_once(void)
{
    uint64_t message = 9;
    asx__latch_take(&channel.tx_latch);
    asx_status st = asx__outside_put(&channel, &message);
    asx__latch_drop(&channel.tx_latch);
    sent += st == ASX_OK;
}

static void take_twice(void)
{
    for (int i = 0; i < 2; i++) {
        uint64_t message = 0;
        asx__latch_take(&channel.rx_latch);
        asx_status st = asx__outside_take(&channel, &message, true);
        asx__latch_drop(&channel.rx_latch);
        MODEL_ASSERT(st != ASX_OK || message != 0);
        received += st == ASX_OK;
    }
}

static void at_rest(void)
{
    uint64_t queued = channel.tail - channel.head;
    MODEL_ASSERT(sent == received + discarded + queued);
    MODEL_ASSERT(channel.claims == channel.tail && channel.tail == sent);
    MODEL_ASSERT(asx__obligation_object(&permit) == NULL);
    MODEL_ASSERT(asx__load_relaxed(&channel.tx_latch.word) == ASX__LATCH_FREE);
    MODEL_ASSERT(asx__load_relaxed(&channel.rx_latch.word) == ASX__LATCH_FREE && seized == NULL);
    MODEL_ASSERT((channel.send_slow & ASX__SEND_GONE) == 0 || queued == 0);
}

static model_program program(const char *name, void (*a)(void), void (*b)(void), void (*c)(void),
                             unsigned preemptions, unsigned delays)
{
    return (model_program){
        .name = name, .threads = c != NULL ? 3 : 2, .setup = reset, .thread = { a, b, c },
        .check = at_rest, .preemptions = preemptions, .delays = delays,
    };
}

ASX_TEST_TIMEOUT(a_close_loses_no_message_and_leaves_no_permit, 120)
{
    model_program p = program("send, receive, close", send_twice, take_twice, close_channel, 2, 1);
    model_holds(&p);
    model_program q = program("send, send, close", send_twice, put_once, close_channel, 2, 1);
    model_holds(&q);
    model_program r = program("send, receive", send_twice, take_twice, NULL, MODEL_ALL, 2);
    model_holds(&r);
}

ASX_TEST_TIMEOUT(a_cancel_that_has_returned_is_seen, 120)
{
    model_program p = program("send, cancel", send_twice, cancel, NULL, MODEL_ALL, 3);
    model_holds(&p);
    model_program q =
        program("send, cancel, close", send_twice, cancel, close_channel, MODEL_ALL, 1);
    model_holds(&q);
}

ASX_TEST_TIMEOUT(faults_of_the_latch_are_found, 120)
{
    model_program p = program("send, receive, close", send_twice, take_twice, close_channel, 2, 1);
    model_program q = program("send, cancel", send_twice, cancel, NULL, MODEL_ALL, 3);
    model_visit(&p);
    model_visit(&q);
    model_plant(MODEL_TEAR, "asx__latch_try", "cas &latch->word", 0);
    model_breaks(&p, "two find the latch free");
    model_heal();
    model_plant(MODEL_PRETEND, "asx__latch_seize", "load &latch->word", ASX__LATCH_SEIZED);
    model_breaks(&p, "the engine does not seize");
    model_heal();
    model_plant(MODEL_SKIP, "asx__latches_release", "store &latch->word", 0);
    model_breaks(&p, "the engine leaves and keeps it");
    model_heal();
    model_plant(MODEL_SKIP, "asx__outside_call_in", "store &out->task", 0);
    model_breaks(&q, "the cancelled task is not called in");
    model_heal();
}

ASX_TEST_TIMEOUT(every_order_is_needed, 300)
{
    static const char *const spared[] = { NULL };
    model_program p = program("send, receive, close", send_twice, take_twice, close_channel, 2, 1);
    model_program q = program("send, send, close", send_twice, put_once, close_channel, 2, 1);
    model_program r = program("send, receive", send_twice, take_twice, NULL, MODEL_ALL, 2);
    const model_program *all[] = { &r, &p, &q, NULL };
    for (int i = 0; all[i] != NULL; i++)
        model_visit(all[i]);
    model_weaken_all(all, "sched/latch.h", spared);
    model_weaken_all(all, "sync/outside.h", spared);
}
