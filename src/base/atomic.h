/* atomic.h - atomics, futexes and a small lock: the only place that knows how they are made.
 *
 * Every access has its memory order in its name, asx__load_acquire(&x), so that a missing order
 * cannot hide in a default. Objects are of the types asx__atomic_u32, _u64 and _ptr, which cannot
 * be read or written in any other way.
 *
 * Two implementations. The ordinary one is C11. A test that defines ASX__MODEL_ATOMICS as the name
 * of a header, before it includes anything of asx, gets that header's instead: there each access
 * is a step of a schedule that an explorer chooses, and a load may see older values as far as the
 * orders allow. The very same sources of locks, sleep and channels run on both. Such a
 * header defines ASX__ATOMIC_INIT, _LOAD, _STORE, _EXCHANGE, _CAS, _RMW and _FENCE,
 * asx__cpu_relax(), asx__futex_wait() and asx__futex_wake(); with ASX__MODEL_LOCKS also asx__lock.
 *
 * Futexes sleep on a 32-bit word of this process. Deadlines are nanoseconds of CLOCK_MONOTONIC.
 *
 * asx__lock is for short sections that never suspend a task: 0 free, 1 held, 2 held and a thread
 * may sleep. It spins a little first, as long as spinning has paid off lately. It is not fair, and
 * need not be: what has to be first come first served keeps its own queue under the lock.
 *
 * Rejected: fences in our own protocols. TSan does not understand them, and where store and load
 * must not pass each other, two sequentially consistent accesses say so at the same price. The one
 * fence is there for code in which the two accesses lie in different functions.
 */
#ifndef ASX_BASE_ATOMIC_H
#define ASX_BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"

#define ASX__CACHE_LINE 64
/* What a member of its own cache line is declared with. */
#define ASX__OWN_LINE _Alignas(ASX__CACHE_LINE)

/* No deadline. */
#define ASX__FUTEX_FOREVER UINT64_MAX

enum asx__rmw { ASX__RMW_ADD, ASX__RMW_SUB, ASX__RMW_OR, ASX__RMW_AND };

#ifdef ASX__MODEL_ATOMICS

typedef struct asx__atomic_u32 { uint32_t v_; } asx__atomic_u32;
typedef struct asx__atomic_u64 { uint64_t v_; } asx__atomic_u64;
typedef struct asx__atomic_ptr { void *v_; } asx__atomic_ptr;
#include ASX__MODEL_ATOMICS

#else

typedef struct asx__atomic_u32 { _Atomic uint32_t v_; } asx__atomic_u32;
typedef struct asx__atomic_u64 { _Atomic uint64_t v_; } asx__atomic_u64;
typedef struct asx__atomic_ptr { _Atomic(void *) v_; } asx__atomic_ptr;

#define ASX__ATOMIC_INLINE static inline __attribute__((always_inline, unused))

#define ASX__ATOMIC_TYPE(name, type)                                                               \
    ASX__ATOMIC_INLINE void asx__atomic_init_##name(asx__atomic_##name *a, type value)             \
    {                                                                                              \
        atomic_init(&a->v_, value);                                                                \
    }                                                                                              \
    ASX__ATOMIC_INLINE type asx__atomic_load_##name(const asx__atomic_##name *a, memory_order mo)  \
    {                                                                                              \
        return atomic_load_explicit(&((asx__atomic_##name *)(uintptr_t)a)->v_, mo);                \
    }                                                                                              \
    ASX__ATOMIC_INLINE void asx__atomic_store_##name(asx__atomic_##name *a, type value,            \
                                                     memory_order mo)                              \
    {                                                                                              \
        atomic_store_explicit(&a->v_, value, mo);                                                  \
    }                                                                                              \
    ASX__ATOMIC_INLINE type asx__atomic_exchange_##name(asx__atomic_##name *a, type value,         \
                                                        memory_order mo)                           \
    {                                                                                              \
        return atomic_exchange_explicit(&a->v_, value, mo);                                        \
    }                                                                                              \
    ASX__ATOMIC_INLINE bool asx__atomic_cas_##name(asx__atomic_##name *a, type *expected,          \
                                                   type desired, memory_order mo,                  \
                                                   memory_order mo_failed)                         \
    {                                                                                              \
        return atomic_compare_exchange_strong_explicit(&a->v_, expected, desired, mo, mo_failed);  \
    }
ASX__ATOMIC_TYPE(u32, uint32_t)
ASX__ATOMIC_TYPE(u64, uint64_t)
ASX__ATOMIC_TYPE(ptr, void *)

#define ASX__ATOMIC_NUMBER(name, type)                                                             \
    ASX__ATOMIC_INLINE type asx__atomic_rmw_##name(asx__atomic_##name *a, enum asx__rmw op,        \
                                                   type value, memory_order mo)                    \
    {                                                                                              \
        switch (op) {                                                                              \
        case ASX__RMW_ADD:                                                                         \
            return atomic_fetch_add_explicit(&a->v_, value, mo);                                   \
        case ASX__RMW_SUB:                                                                         \
            return atomic_fetch_sub_explicit(&a->v_, value, mo);                                   \
        case ASX__RMW_OR:                                                                          \
            return atomic_fetch_or_explicit(&a->v_, value, mo);                                    \
        default:                                                                                   \
            return atomic_fetch_and_explicit(&a->v_, value, mo);                                   \
        }                                                                                          \
    }
ASX__ATOMIC_NUMBER(u32, uint32_t)
ASX__ATOMIC_NUMBER(u64, uint64_t)

#ifdef __cppcheck__ /* it stumbles over _Generic inside of a condition */
#define ASX__ATOMIC_INIT(p, value) atomic_init(&(p)->v_, value)
#define ASX__ATOMIC_LOAD(p, mo) atomic_load_explicit(&(p)->v_, mo)
#define ASX__ATOMIC_STORE(p, value, mo) atomic_store_explicit(&(p)->v_, value, mo)
#define ASX__ATOMIC_EXCHANGE(p, value, mo) atomic_exchange_explicit(&(p)->v_, value, mo)
#define ASX__ATOMIC_CAS(p, expected, desired, mo, mo_failed)                                       \
    atomic_compare_exchange_strong_explicit(&(p)->v_, expected, desired, mo, mo_failed)
#define ASX__ATOMIC_RMW(p, op, value, mo) atomic_fetch_add_explicit(&(p)->v_, value, mo)
#else
/* By the type of the object. */
#define ASX__ATOMIC_PICK(p, op)                                                                    \
    _Generic((p),                                                                                  \
        asx__atomic_u32 *: asx__atomic_##op##_u32,                                                 \
        asx__atomic_u64 *: asx__atomic_##op##_u64,                                                 \
        asx__atomic_ptr *: asx__atomic_##op##_ptr)
#define ASX__ATOMIC_INIT(p, value) ASX__ATOMIC_PICK(p, init)(p, value)
#define ASX__ATOMIC_LOAD(p, mo)                                                                    \
    _Generic((p),                                                                                  \
        asx__atomic_u32 *: asx__atomic_load_u32, const asx__atomic_u32 *: asx__atomic_load_u32,    \
        asx__atomic_u64 *: asx__atomic_load_u64, const asx__atomic_u64 *: asx__atomic_load_u64,    \
        asx__atomic_ptr *: asx__atomic_load_ptr, const asx__atomic_ptr *: asx__atomic_load_ptr)(p, \
                                                                                                mo)
#define ASX__ATOMIC_STORE(p, value, mo) ASX__ATOMIC_PICK(p, store)(p, value, mo)
#define ASX__ATOMIC_EXCHANGE(p, value, mo) ASX__ATOMIC_PICK(p, exchange)(p, value, mo)
#define ASX__ATOMIC_CAS(p, expected, desired, mo, mo_failed)                                       \
    ASX__ATOMIC_PICK(p, cas)(p, expected, desired, mo, mo_failed)
#define ASX__ATOMIC_RMW(p, op, value, mo)                                                          \
    _Generic((p), asx__atomic_u32 *: asx__atomic_rmw_u32, asx__atomic_u64 *: asx__atomic_rmw_u64)( \
        p, op, value, mo)
#endif
#define ASX__ATOMIC_FENCE() atomic_thread_fence(memory_order_seq_cst)

/* Tells the processor that this is a loop that waits. */
static inline void asx__cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#else
    __asm__ __volatile__("" ::: "memory");
#endif
}

/* Sleeps while *word == expected, until woken or until the deadline (ASX__FUTEX_FOREVER: none).
 * False: the deadline has passed. True says nothing: look at the word. */
bool asx__futex_wait(asx__atomic_u32 *word, uint32_t expected, uint64_t deadline_ns);
/* Wakes up to `count` sleepers. The word may lie in memory that is gone already. */
void asx__futex_wake(asx__atomic_u32 *word, uint32_t count);

#endif

/* CLOCK_MONOTONIC, for deadlines. */
uint64_t asx__futex_clock_ns(void);

/* ---- the names ------------------------------------------------------------------------------ */

/* Before another thread can see the object. */
#define asx__atomic_init(p, value) ASX__ATOMIC_INIT(p, value)

#define asx__load_relaxed(p) ASX__ATOMIC_LOAD(p, memory_order_relaxed)
#define asx__load_acquire(p) ASX__ATOMIC_LOAD(p, memory_order_acquire)
#define asx__load_seq_cst(p) ASX__ATOMIC_LOAD(p, memory_order_seq_cst)

#define asx__store_relaxed(p, value) ASX__ATOMIC_STORE(p, value, memory_order_relaxed)
#define asx__store_release(p, value) ASX__ATOMIC_STORE(p, value, memory_order_release)
#define asx__store_seq_cst(p, value) ASX__ATOMIC_STORE(p, value, memory_order_seq_cst)

/* Return the old value. */
#define asx__exchange_relaxed(p, value) ASX__ATOMIC_EXCHANGE(p, value, memory_order_relaxed)
#define asx__exchange_acquire(p, value) ASX__ATOMIC_EXCHANGE(p, value, memory_order_acquire)
#define asx__exchange_release(p, value) ASX__ATOMIC_EXCHANGE(p, value, memory_order_release)
#define asx__exchange_acq_rel(p, value) ASX__ATOMIC_EXCHANGE(p, value, memory_order_acq_rel)
#define asx__exchange_seq_cst(p, value) ASX__ATOMIC_EXCHANGE(p, value, memory_order_seq_cst)

/* Strong. True: *p was *expected and is desired now; else *expected is what was found, read with
 * the acquire half of the order. */
#define asx__cas_relaxed(p, expected, desired)                                                     \
    ASX__ATOMIC_CAS(p, expected, desired, memory_order_relaxed, memory_order_relaxed)
#define asx__cas_acquire(p, expected, desired)                                                     \
    ASX__ATOMIC_CAS(p, expected, desired, memory_order_acquire, memory_order_acquire)
#define asx__cas_release(p, expected, desired)                                                     \
    ASX__ATOMIC_CAS(p, expected, desired, memory_order_release, memory_order_relaxed)
#define asx__cas_acq_rel(p, expected, desired)                                                     \
    ASX__ATOMIC_CAS(p, expected, desired, memory_order_acq_rel, memory_order_acquire)
#define asx__cas_seq_cst(p, expected, desired)                                                     \
    ASX__ATOMIC_CAS(p, expected, desired, memory_order_seq_cst, memory_order_seq_cst)

/* Return the old value. Numbers only. */
#define asx__fetch_add_relaxed(p, n) ASX__ATOMIC_RMW(p, ASX__RMW_ADD, n, memory_order_relaxed)
#define asx__fetch_add_release(p, n) ASX__ATOMIC_RMW(p, ASX__RMW_ADD, n, memory_order_release)
#define asx__fetch_add_acq_rel(p, n) ASX__ATOMIC_RMW(p, ASX__RMW_ADD, n, memory_order_acq_rel)
#define asx__fetch_add_seq_cst(p, n) ASX__ATOMIC_RMW(p, ASX__RMW_ADD, n, memory_order_seq_cst)
#define asx__fetch_sub_relaxed(p, n) ASX__ATOMIC_RMW(p, ASX__RMW_SUB, n, memory_order_relaxed)
#define asx__fetch_sub_release(p, n) ASX__ATOMIC_RMW(p, ASX__RMW_SUB, n, memory_order_release)
#define asx__fetch_sub_acq_rel(p, n) ASX__ATOMIC_RMW(p, ASX__RMW_SUB, n, memory_order_acq_rel)
#define asx__fetch_sub_seq_cst(p, n) ASX__ATOMIC_RMW(p, ASX__RMW_SUB, n, memory_order_seq_cst)
#define asx__fetch_or_relaxed(p, bits) ASX__ATOMIC_RMW(p, ASX__RMW_OR, bits, memory_order_relaxed)
#define asx__fetch_or_release(p, bits) ASX__ATOMIC_RMW(p, ASX__RMW_OR, bits, memory_order_release)
#define asx__fetch_or_acq_rel(p, bits) ASX__ATOMIC_RMW(p, ASX__RMW_OR, bits, memory_order_acq_rel)
#define asx__fetch_or_seq_cst(p, bits) ASX__ATOMIC_RMW(p, ASX__RMW_OR, bits, memory_order_seq_cst)
#define asx__fetch_and_release(p, bits)                                                            \
    ASX__ATOMIC_RMW(p, ASX__RMW_AND, bits, memory_order_release)
#define asx__fetch_and_acq_rel(p, bits)                                                            \
    ASX__ATOMIC_RMW(p, ASX__RMW_AND, bits, memory_order_acq_rel)
#define asx__fetch_and_seq_cst(p, bits)                                                            \
    ASX__ATOMIC_RMW(p, ASX__RMW_AND, bits, memory_order_seq_cst)

/* TSan does not see it. */
#define asx__fence_seq_cst() ASX__ATOMIC_FENCE()

/* ---- a lock --------------------------------------------------------------------------------- */

#ifndef ASX__MODEL_LOCKS

typedef struct asx__lock {
    asx__atomic_u32 word;  /* 0 free, 1 held, 2 held and a thread may sleep */
    asx__atomic_u32 spins; /* how long it took lately; a guess, races do not matter */
} asx__lock;

#ifndef ASX__LOCK_SPINS_MAX
#define ASX__LOCK_SPINS_MAX 200u
#endif

static inline void asx__lock_init(asx__lock *lock)
{
    asx__atomic_init(&lock->word, 0u);
    asx__atomic_init(&lock->spins, 0u);
}

/* Acquire pairs with the release of the unlock before: what was written under the lock is seen. */
static inline bool asx__lock_try(asx__lock *lock)
{
    uint32_t expected = 0;
    return asx__cas_acquire(&lock->word, &expected, 1u);
}

static __attribute__((noinline, unused)) void asx__lock_take_slow(asx__lock *lock)
{
    uint32_t guess = asx__load_relaxed(&lock->spins);
    uint32_t limit = 2 * guess + 10 < ASX__LOCK_SPINS_MAX ? 2 * guess + 10 : ASX__LOCK_SPINS_MAX;
    uint32_t n = 0;
    bool taken = false;
    while (n < limit && !taken) {
        asx__cpu_relax();
        n++;
        uint32_t seen = asx__load_relaxed(&lock->word);
        if (seen == 2)
            break; /* others sleep: they have spun already */
        taken = seen == 0 && asx__lock_try(lock);
    }
    asx__store_relaxed(&lock->spins, guess - guess / 8 + (taken ? n / 8 : 0));
    if (taken)
        return;
    /* A thread that sleeps has left a 2 behind. Taking the lock with a 2, although no other may
     * sleep any more, costs one needless wake-up; a 1 would lose a sleeper's. */
    for (;;) {
        uint32_t old = asx__exchange_acquire(&lock->word, 2u);
        if (old == 0)
            return;
        (void)asx__futex_wait(&lock->word, 2, ASX__FUTEX_FOREVER);
    }
}

static inline void asx__lock_take(asx__lock *lock)
{
    if (ASX__UNLIKELY(!asx__lock_try(lock)))
        asx__lock_take_slow(lock);
}

static inline void asx__lock_drop(asx__lock *lock)
{
    uint32_t old = asx__exchange_release(&lock->word, 0u);
    ASX__DEBUG_ASSERT(old != 0);
    if (ASX__UNLIKELY(old == 2))
        asx__futex_wake(&lock->word, 1);
}

/* For assertions: it is held. */
static inline bool asx__lock_is_held(const asx__lock *lock)
{
    return asx__load_relaxed(&lock->word) != 0;
}

#endif

#endif
