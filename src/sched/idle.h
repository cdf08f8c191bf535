/* idle.h - workers without work: who searches, who sleeps, and whom to wake.
 *
 * Words
 *   searcher  a worker that looks for work in other queues than its own
 *   sleeper   a worker that has said that it sleeps; it may still be looking
 *   seat      where one worker sleeps: a futex of its own
 *   work      whatever is in a queue, and the end of the runtime; only the caller can see it
 *
 *       worker out of work               search_begin                     searcher
 *       searcher has found some          search_found: pass the search on
 *       searcher has found none          sleep_begin                      sleeper
 *       sleeper looks once more: work    sleep_undo                       searcher
 *                          else          sleep                            ... until woken: searcher
 *       somebody has put work            wake_one
 *
 * Nobody is woken while somebody searches: he will find it. So a searcher that finds something
 * answers for what others have put meanwhile: the last one looks once more, after it has stopped
 * being one, and wakes the next if there is more. A worker that is woken is a searcher from the
 * moment it is chosen, so that a burst of work wakes one worker at a time, each by the one before.
 *
 * The last to sleep is the first to be woken: its cache is warm, and those below it can be let go.
 *
 * Letters: L under the lock   A atomic. `state` is changed outside of the lock too.
 *
 *   where               order               partner             without it
 *   wake_one: before    fence, seq_cst      the other two     \ work is put and the sleeper does
 *     it reads state                                          | not see it when it looks again,
 *   sleep_begin:        fence, seq_cst      wake_one          | nor the one who puts it the
 *     after state                                             / sleeper: everybody sleeps
 *   search_found:       fence, seq_cst      wake_one            the same with the last searcher,
 *     after state                                               on whom the one who puts relied
 *   seat, waker         release             sleep: acquire      not needed for what was put, which
 *                                                               has a queue of its own; for what a
 *                                                               waker does to the worker
 *
 * Here fences are right: one side of each pair lies in queues that this file does not know.
 */
#ifndef ASX_SCHED_IDLE_H
#define ASX_SCHED_IDLE_H

#include "base/atomic.h"
#include "base/list.h"

typedef struct asx__seat {
    ASX__OWN_LINE asx__node link; /* L: among the sleepers */
    bool listed;                  /* L */
    asx__atomic_u32 woken;        /* A: the futex */
} asx__seat;

typedef struct asx__idle {
    ASX__OWN_LINE asx__atomic_u64 state; /* A: sleepers << 32 | searchers */
    ASX__OWN_LINE asx__lock lock;
    asx__node sleepers;                  /* L: seats, the last to sleep first */
} asx__idle;

#define ASX__IDLE_SEARCHER UINT64_C(1)
#define ASX__IDLE_SLEEPER (UINT64_C(1) << 32)

static inline void asx__idle_init(asx__idle *idle)
{
    asx__atomic_init(&idle->state, 0);
    asx__lock_init(&idle->lock);
    asx__list_init(&idle->sleepers);
}

static inline void asx__seat_init(asx__seat *seat)
{
    seat->listed = false;
    asx__atomic_init(&seat->woken, 0u);
}

static inline uint32_t asx__idle_searchers(const asx__idle *idle)
{
    return (uint32_t)asx__load_relaxed(&idle->state);
}

static inline uint32_t asx__idle_sleepers(const asx__idle *idle)
{
    return (uint32_t)(asx__load_relaxed(&idle->state) >> 32);
}

/* ---- searching ------------------------------------------------------------------------------ */

static inline void asx__idle_search_begin(asx__idle *idle)
{
    (void)asx__fetch_add_relaxed(&idle->state, ASX__IDLE_SEARCHER);
}

/* The searcher has found work, or does something else now. True: it was the last one, and others
 * may sleep. The caller looks whether there is more work, and if so calls asx__idle_wake_one(). */
static inline __attribute__((warn_unused_result)) bool asx__idle_search_found(asx__idle *idle)
{
    uint64_t old = asx__fetch_sub_relaxed(&idle->state, ASX__IDLE_SEARCHER);
    ASX__DEBUG_ASSERT((uint32_t)old > 0);
    asx__fence_seq_cst();
    return (uint32_t)old == 1 && old >= ASX__IDLE_SLEEPER;
}

/* ---- waking --------------------------------------------------------------------------------- */

static inline bool asx__idle_wanted(const asx__idle *idle)
{
    uint64_t state = asx__load_relaxed(&idle->state);
    return (uint32_t)state == 0 && state >= ASX__IDLE_SLEEPER;
}

/* Takes the seat off the list; its worker is a searcher from now on. */
static inline void asx__idle_unlist_locked(asx__idle *idle, asx__seat *seat)
{
    ASX__DEBUG_ASSERT(seat->listed);
    asx__list_remove(&seat->link);
    seat->listed = false;
    (void)asx__fetch_sub_relaxed(&idle->state, ASX__IDLE_SLEEPER - ASX__IDLE_SEARCHER);
}

static __attribute__((noinline, unused)) bool asx__idle_wake_slow(asx__idle *idle, bool anyway)
{
    asx__seat *seat = NULL;
    asx__lock_take(&idle->lock);
    if (!asx__list_empty(&idle->sleepers) && (anyway || asx__idle_wanted(idle))) {
        seat = (asx__seat *)(void *)idle->sleepers.next;
        asx__idle_unlist_locked(idle, seat);
        /* Under the lock: later, it could end the worker's next sleep instead. */
        asx__store_release(&seat->woken, 1u);
    }
    asx__lock_drop(&idle->lock);
    if (seat == NULL)
        return false;
    asx__futex_wake(&seat->woken, 1);
    return true;
}

/* After work was put where workers look: wakes one, unless somebody searches or nobody sleeps.
 * Any thread. */
static inline void asx__idle_wake_one(asx__idle *idle)
{
    asx__fence_seq_cst();
    if (ASX__UNLIKELY(asx__idle_wanted(idle)))
        (void)asx__idle_wake_slow(idle, false);
}

/* Everybody, whoever searches: the runtime ends, or work for all of them has come. Who comes to the
 * list later sees what came before this, by the lock. */
static inline void asx__idle_wake_all(asx__idle *idle)
{
    while (asx__idle_wake_slow(idle, true))
        continue;
}

/* ---- sleeping ------------------------------------------------------------------------------- */

/* A searcher has found nothing, and says that it sleeps. It must look once more after this. */
static inline void asx__idle_sleep_begin(asx__idle *idle, asx__seat *seat)
{
    asx__store_relaxed(&seat->woken, 0u);
    asx__lock_take(&idle->lock);
    ASX__DEBUG_ASSERT(!seat->listed);
    seat->listed = true;
    asx__list_push_front(&idle->sleepers, &seat->link);
    (void)asx__fetch_add_relaxed(&idle->state, ASX__IDLE_SLEEPER - ASX__IDLE_SEARCHER);
    asx__lock_drop(&idle->lock);
    asx__fence_seq_cst();
}

/* It has found something when it looked again, or its time is up: it is a searcher. Somebody may
 * have woken it at the same time, and has then counted on it: so it searches, whatever it found. */
static inline void asx__idle_sleep_undo(asx__idle *idle, asx__seat *seat)
{
    asx__lock_take(&idle->lock);
    if (seat->listed)
        asx__idle_unlist_locked(idle, seat);
    asx__lock_drop(&idle->lock);
}

/* Sleeps until it is woken, or until the deadline; it is a searcher then. */
static inline void asx__idle_sleep(asx__idle *idle, asx__seat *seat, uint64_t deadline_ns)
{
    while (asx__load_acquire(&seat->woken) == 0) {
        if (!asx__futex_wait(&seat->woken, 0, deadline_ns)) {
            asx__idle_sleep_undo(idle, seat);
            return;
        }
    }
}

#endif
