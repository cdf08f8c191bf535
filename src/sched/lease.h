/* lease.h - a lock that one thread can come back to without an atomic exchange.
 *
 * A thread that finds nobody else at the lock for a while keeps it: instead of dropping it it takes
 * a lease. The lock's word stays held on its behalf, and going in and out is a store and a load.
 * Whoever else wants the lock revokes the lease, and has the lock.
 *
 *     going in, with a lease              revoking it
 *       inside = 1                          lease = id + 1
 *       (light barrier)                     (heavy barrier)
 *       lease == id? it is in               inside == 0? the lock is the revoker's
 *
 * Store and load of each side must not pass each other. The price is not shared evenly: the heavy
 * barrier is membarrier(2), which makes all other threads of the process pass one, so that for the
 * light one it is enough that the compiler keeps the order. Without that system call, and where a
 * tool must understand what happens, both accesses are sequentially consistent instead ("plain").
 *
 * A waiter that finds no lease sleeps on the word; somebody may take a lease at that moment. So a
 * waiter marks the word (2) before it looks for a lease, and a lease is visible before its taker
 * looks at the word. If that is marked, he takes the mark away, so that nobody goes to sleep on it,
 * and wakes who has.
 *
 *     lease   0, or the number of a lease, which are even and never come again; + 1: being revoked
 *     lease != 0  =>  word != 0, and whoever is inside is the lessee
 *
 * Rejected: a flag that asks the lessee to drop the lock (it may be gone for seconds, in a user's
 * function); revoking by a signal (handlers are the host's).
 */
#ifndef ASX_SCHED_LEASE_H
#define ASX_SCHED_LEASE_H

#include <stddef.h>

#include "base/atomic.h"

/* A thread's part in it. */
typedef struct asx__lease_slot {
    asx__atomic_u32 inside;
    uint64_t lease; /* its own thread's: the last one it had; 0: none, or it has noticed */
} asx__lease_slot;

typedef struct asx__lease_lock {
    asx__lock lock;           /* its word is used here; nobody else takes it */
    asx__atomic_u64 lease;
    asx__lock revoking;       /* one at a time */
    asx__lease_slot *lessee;  /* of the lease; written before it */
    uint64_t last;            /* L: the last number given */
    bool leased;              /* L: who is inside came in by its lease */
    bool plain;               /* I: no membarrier */
} asx__lease_lock;

#ifndef ASX__LEASE_HEAVY_BARRIER
/* Makes every other thread of the process pass a barrier. */
void asx__lease_heavy_barrier(void);
#define ASX__LEASE_HEAVY_BARRIER() asx__lease_heavy_barrier()
/* False: the system does not offer it. */
bool asx__lease_barriers_work(void);
/* Lets others run, the longer the more often it was called in a row. */
void asx__lease_pause(unsigned times);
#define ASX__LEASE_PAUSE(times) asx__lease_pause(times)
#endif

static inline void asx__lease_init(asx__lease_lock *l, bool plain)
{
    asx__lock_init(&l->lock);
    asx__atomic_init(&l->lease, UINT64_C(0));
    asx__lock_init(&l->revoking);
    l->lessee = NULL;
    l->last = 0;
    l->leased = false;
    l->plain = plain;
}

static inline void asx__lease_slot_init(asx__lease_slot *slot)
{
    asx__atomic_init(&slot->inside, 0u);
    slot->lease = 0;
}

/* In by its lease, if it has one that still holds. */
static inline bool asx__lease_return(asx__lease_lock *l, asx__lease_slot *slot)
{
    if (slot->lease == 0)
        return false;
    if (ASX__UNLIKELY(l->plain)) {
        asx__store_seq_cst(&slot->inside, 1u);
    } else {
        asx__store_relaxed(&slot->inside, 1u);
        __asm__ __volatile__("" ::: "memory"); /* partner: the heavy barrier of revoke() */
    }
    if (ASX__LIKELY(asx__load_seq_cst(&l->lease) == slot->lease)) {
        l->leased = true;
        return true;
    }
    asx__store_release(&slot->inside, 0u);
    slot->lease = 0;
    return false;
}

/* True: the lease is over and the lock is the caller's. False: there was none any more. */
static inline bool asx__lease_revoke(asx__lease_lock *l)
{
    bool revoked = false;
    asx__lock_take(&l->revoking);
    uint64_t lease = asx__load_acquire(&l->lease); /* with its lessee */
    if (lease != 0 && asx__cas_seq_cst(&l->lease, &lease, lease | 1u)) {
        const asx__lease_slot *slot = l->lessee;
        if (!l->plain)
            ASX__LEASE_HEAVY_BARRIER(); /* partner: asx__lease_return() */
        for (unsigned n = 0; asx__load_seq_cst(&slot->inside) != 0; n++)
            ASX__LEASE_PAUSE(n);
        asx__store_relaxed(&l->lease, UINT64_C(0));
        revoked = true;
    }
    asx__lock_drop(&l->revoking);
    return revoked;
}

#ifndef ASX__LEASE_SPINS
#define ASX__LEASE_SPINS 100u
#endif

static __attribute__((noinline, unused)) void asx__lease_take_slow(asx__lease_lock *l)
{
    bool slept = false;
    for (unsigned n = 0;; n++) {
        if (asx__load_relaxed(&l->lease) != 0) {
            if (asx__lease_revoke(l)) {
                if (slept) /* the lock is its own: as below */
                    asx__store_relaxed(&l->lock.word, 2u);
                return;
            }
            continue;
        }
        if (n + 1 < ASX__LEASE_SPINS + 1) {
            asx__cpu_relax();
            if (asx__load_relaxed(&l->lock.word) == 0 && asx__lock_try(&l->lock))
                return;
            continue;
        }
        /* Whoever has slept leaves a 2 behind: others may sleep still. */
        if (asx__exchange_seq_cst(&l->lock.word, 2u) == 0)
            return;
        slept = true;
        if (asx__load_seq_cst(&l->lease) == 0) /* partner: asx__lease_keep() */
            (void)asx__futex_wait(&l->lock.word, 2, ASX__FUTEX_FOREVER);
    }
}

/* `slot` may be NULL: of a thread that takes no leases. True: it was free, or its own. */
static inline bool asx__lease_take(asx__lease_lock *l, asx__lease_slot *slot)
{
    if (slot != NULL && asx__lease_return(l, slot))
        return true;
    bool easy = asx__lock_try(&l->lock);
    if (ASX__UNLIKELY(!easy))
        asx__lease_take_slow(l);
    l->leased = false;
    return easy;
}

/* Out, and the lock is anybody's, unless it is leased: then it stays so. */
static inline void asx__lease_drop(asx__lease_lock *l, asx__lease_slot *slot)
{
    if (l->leased)
        asx__store_release(&slot->inside, 0u);
    else
        asx__lock_drop(&l->lock);
}

/* Out, with a lease from now on. */
static inline void asx__lease_keep(asx__lease_lock *l, asx__lease_slot *slot)
{
    if (l->leased) {
        asx__store_release(&slot->inside, 0u);
        return;
    }
    uint64_t lease = l->last += 2;
    slot->lease = lease;
    l->lessee = slot;
    asx__store_seq_cst(&l->lease, lease); /* from here on it may be another's lock */
    uint32_t marked = 2;
    if (asx__load_seq_cst(&l->lock.word) == marked && asx__cas_relaxed(&l->lock.word, &marked, 1u))
        asx__futex_wake(&l->lock.word, UINT32_MAX); /* they look again, and revoke */
}

/* Inside by a lease: it ends, and the lock is held as by anybody else. If somebody revokes it just
 * now, that one gets it when the caller drops it. */
static inline void asx__lease_give_up(asx__lease_lock *l, asx__lease_slot *slot)
{
    uint64_t lease = slot->lease;
    if (!l->leased || !asx__cas_relaxed(&l->lease, &lease, UINT64_C(0)))
        return;
    asx__store_relaxed(&slot->inside, 0u);
    slot->lease = 0;
    l->leased = false;
}

/* In the child of a fork, by the one thread that is left, which was inside: somebody may have been
 * about to revoke the lease, and will not come to it. */
static inline void asx__lease_forked(asx__lease_lock *l)
{
    uint64_t lease = asx__load_relaxed(&l->lease);
    asx__lock_init(&l->revoking);
    asx__store_relaxed(&l->lease, lease & ~UINT64_C(1));
}

#endif
