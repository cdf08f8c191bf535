/* The leased lock on model atomics: nobody is inside with another, and nobody waits for ever. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__LOCK_SPINS_MAX 1u
#define ASX__LEASE_SPINS 0u
#define ASX__LEASE_HEAVY_BARRIER() ((void)0)
#define ASX__LEASE_PAUSE(times) ((void)(times), asx__cpu_relax())
#include "base/atomic.h"
#include "sched/lease.h"

#include "harness.h"

static asx__lease_lock lock;
static asx__lease_slot slots[2];
static model_data data;

static void reset(void)
{
    asx__lease_init(&lock, true);
    asx__lease_slot_init(&slots[0]);
    asx__lease_slot_init(&slots[1]);
    model_write(&data, 0);
}

static void inside(void)
{
    model_write(&data, model_read(&data) + 1);
}

/* Takes a lease, comes back by it, gives it up. */
static void lessee(asx__lease_slot *slot)
{
    asx__lease_take(&lock, slot);
    inside();
    asx__lease_keep(&lock, slot);
    asx__lease_take(&lock, slot);
    inside();
    asx__lease_drop(&lock, slot);
    asx__lease_take(&lock, slot);
    inside();
    asx__lease_give_up(&lock, slot);
    asx__lease_drop(&lock, slot);
}

static void first_lessee(void)
{
    lessee(&slots[0]);
}

static void second_lessee(void)
{
    lessee(&slots[1]);
}

/* Leaves its lease behind. */
static void keeper(void)
{
    for (int i = 0; i < 2; i++) {
        asx__lease_take(&lock, &slots[0]);
        inside();
        asx__lease_keep(&lock, &slots[0]);
    }
}

/* Comes and goes, and then takes a lease. */
static void settler(void)
{
    asx__lease_take(&lock, &slots[0]);
    inside();
    asx__lease_drop(&lock, &slots[0]);
    asx__lease_take(&lock, &slots[0]);
    inside();
    asx__lease_keep(&lock, &slots[0]);
}

static void visitor(void)
{
    asx__lease_take(&lock, NULL);
    inside();
    asx__lease_drop(&lock, NULL);
}

static void two_visits(void)
{
    visitor();
    visitor();
}

static void at_rest(void)
{
    uint64_t lease = asx__load_relaxed(&lock.lease);
    MODEL_ASSERT(lease == 0 ? !asx__lock_is_held(&lock.lock) : asx__lock_is_held(&lock.lock));
    MODEL_ASSERT((lease & 1u) == 0);
}

static model_program program(const char *name, void (*a)(void), void (*b)(void), void (*c)(void),
                             unsigned preemptions, unsigned delays)
{
    return (model_program){
        .name = name, .threads = c != NULL ? 3 : 2, .setup = reset, .thread = { a, b, c },
        .check = at_rest, .preemptions = preemptions, .delays = delays,
    };
}

ASX_TEST_TIMEOUT(a_lease_ends_when_somebody_else_comes, 120)
{
    model_program p = program("lease and visitor", first_lessee, two_visits, NULL, 3, 2);
    model_holds(&p);
    model_program q = program("keeper and visitor", keeper, two_visits, NULL, 4, 2);
    model_holds(&q);
}

ASX_TEST_TIMEOUT(two_that_take_leases_take_turns, 120)
{
    model_program p = program("two lessees", first_lessee, second_lessee, NULL, 2, 1);
    model_holds(&p);
}

ASX_TEST_TIMEOUT(two_that_revoke_do_not_both_get_it, 120)
{
    model_program p = program("keeper and two visitors", keeper, visitor, visitor, 2, 1);
    model_holds(&p);
}

/* Two sleep, one is woken and finds a lease: the other is to be woken still. */
ASX_TEST_TIMEOUT(nobody_is_forgotten_who_slept_while_another_revokes, 120)
{
    model_program p = program("settler and two visitors", settler, visitor, visitor, 2, 1);
    model_holds(&p);
    model_plant(MODEL_SKIP, "asx__lease_take_slow", "store &l->lock.word", 0);
    model_breaks(&p, "who revokes forgets that others sleep");
    model_heal();
}

ASX_TEST_TIMEOUT(faults_of_the_protocol_are_found, 120)
{
    model_program p = program("keeper and visitor", keeper, two_visits, NULL, 4, 2);
    model_program q = program("lease and visitor", first_lessee, two_visits, NULL, 3, 2);
    model_visit(&p);
    model_visit(&q);
    model_plant(MODEL_SKIP, "asx__lease_keep", "futex wake &l->lock.word", 0);
    model_breaks(&p, "a waiter is not told of the lease");
    model_heal();
    model_plant(MODEL_TEAR, "asx__lease_give_up", "cas &l->lease", 0);
    model_breaks(&q, "given up while it is revoked");
    model_heal();
    model_plant(MODEL_PRETEND, "asx__lease_revoke", "load &slot->inside", 0);
    model_breaks(&p, "revoked without a look at who is inside");
    model_heal();
}

ASX_TEST_TIMEOUT(every_order_is_needed, 300)
{
    /* What it orders is a plain pointer, which the model does not see. */
    static const char *const spared[] = { "asx__lease_revoke: load &l->lease relaxed", NULL };
    model_program p = program("keeper and visitor", keeper, two_visits, NULL, 4, 2);
    model_program q = program("lease and visitor", first_lessee, two_visits, NULL, 3, 2);
    model_program r = program("two lessees", first_lessee, second_lessee, NULL, 2, 1);
    model_program v = program("keeper and two visitors", keeper, visitor, visitor, 2, 1);
    model_visit(&p);
    model_visit(&q);
    model_visit(&r);
    model_visit(&v);
    model_weaken_all((const model_program *[]){ &p, &q, &r, &v, NULL }, "sched/lease.h", spared);
}
