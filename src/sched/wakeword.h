/* wakeword.h - park and wake of one task, by any thread: state and ticket in one atomic word.
 *
 * Words
 *   ticket    number of a wait; a task never has the same twice, also when its record is recycled
 *   pending   the ticket of the newest wait that somebody wanted to end while it was parking
 *   claim     PARKED to WAKING for one ticket, by compare-and-swap: whoever makes it owns the task
 *             until it has queued it, and nobody else queues it
 *
 *             init, spawn         run              park_begin          park_commit
 *   DONE ----------------> RUNNABLE ----> RUNNING -----------> PARKING -----------> PARKED
 *                            ^   ^ yield  |  | ^  park_abort      |                   |
 *                            |   +--------+  | +------------------+                   | claim
 *                            |               +--> DONE, CANCELLED (end)               v
 *                            +------------------------------------------ready----- WAKING
 *
 * Parking. The task takes a ticket (park_begin) and looks whether it was cancelled; it publishes
 * itself with the ticket where wakers will find it, or goes back (park_abort). Its worker, on its
 * own stack and after the switch, makes it PARKED, and then looks at `pending`: if that is this
 * wait's ticket, it claims the task itself. If the claim fails, somebody else has made it.
 *
 * Waking. Whoever finds (PARKED, its ticket) claims, and queues the task. Whoever finds (PARKING,
 * its ticket) raises `pending` to its ticket, then looks again, and claims if the task has parked
 * meanwhile. Another ticket, or another state, means that this wait is over.
 *
 * `pending` only ever rises. If it were a plain store, a late waker of an older wait could erase
 * the newer ticket after the newer waker's last look.
 *
 * Held, and asserted: only a RUNNABLE task is in a queue (asx__wakeword_is_runnable(), F2); RUNNING
 * and PARKING belong to one worker (run takes RUNNABLE only, F1); nobody claims what is not PARKED
 * (F3); ready comes after a claim (F4); after park_commit no code of the task runs before run does
 * (park_begin takes RUNNING only, F5).
 *
 *   where                order      partner              without it
 *   park_begin word      seq_cst    interrupt: word      the task misses the cancel, and the
 *                                                        canceller misses that it parks
 *   the caller's look    seq_cst    interrupt: the       likewise
 *     for a cancel                    caller's flag
 *   commit  word         seq_cst    wake: second look  \ the waker sees PARKING, the worker sees no
 *   commit  pending      seq_cst    wake: pending      / pending ticket: nobody wakes the task
 *   raise   pending      seq_cst    commit: pending    \ likewise; the release is also what shows
 *   wake    second look  seq_cst    commit: word       / the task what its waker has done
 *   wake    first look   relaxed    -                    the claim decides
 *   claim   word         acquire    commit: word         whoever queues the task misses what it was
 *                                                        doing when it left, its stack pointer too
 *   ready, spawn, yield  release    the queue's own      see below
 *
 * The last line is not needed where queues release themselves, which all of ours do. It makes the
 * word say the truth to whoever reads it with acquire.
 */
#ifndef ASX_SCHED_WAKEWORD_H
#define ASX_SCHED_WAKEWORD_H

#include "base/atomic.h"

enum asx__wake_state {
    ASX__WAKE_DONE, /* also: never used */
    ASX__WAKE_CANCELLED,
    ASX__WAKE_RUNNABLE,
    ASX__WAKE_RUNNING,
    ASX__WAKE_PARKING,
    ASX__WAKE_PARKED,
    ASX__WAKE_WAKING
};

#define ASX__WAKE_STATE_BITS 4
#define ASX__WAKE_STATE_MASK ((UINT64_C(1) << ASX__WAKE_STATE_BITS) - 1)

typedef struct asx__wakeword {
    asx__atomic_u64 word;    /* A: ticket << 4 | state */
    asx__atomic_u64 pending; /* A: a ticket */
} asx__wakeword;

static inline uint64_t asx__wake_make(uint64_t ticket, enum asx__wake_state state)
{
    return ticket << ASX__WAKE_STATE_BITS | (uint64_t)state;
}

static inline enum asx__wake_state asx__wake_state_of(uint64_t word)
{
    return (enum asx__wake_state)(word & ASX__WAKE_STATE_MASK);
}

static inline uint64_t asx__wake_ticket_of(uint64_t word)
{
    return word >> ASX__WAKE_STATE_BITS;
}

/* For a record that is fresh, and only then: tickets go on from life to life. */
static inline void asx__wakeword_init(asx__wakeword *w)
{
    asx__atomic_init(&w->word, 0);
    asx__atomic_init(&w->pending, 0);
}

/* ---- by whoever owns the task --------------------------------------------------------------- */

/* Keeps the ticket. The task is its caller's: nobody else changes the word. */
static inline void asx__wakeword_move(asx__wakeword *w, enum asx__wake_state from,
                                      enum asx__wake_state to)
{
    uint64_t word = asx__load_relaxed(&w->word);
    ASX__DEBUG_ASSERT(asx__wake_state_of(word) == from);
    (void)from;
    asx__store_release(&w->word, asx__wake_make(asx__wake_ticket_of(word), to));
}

/* Before the task is queued for the first time. */
static inline void asx__wakeword_spawn(asx__wakeword *w)
{
    ASX__DEBUG_ASSERT(asx__wake_state_of(asx__load_relaxed(&w->word)) <= ASX__WAKE_CANCELLED);
    uint64_t ticket = asx__wake_ticket_of(asx__load_relaxed(&w->word));
    asx__store_release(&w->word, asx__wake_make(ticket, ASX__WAKE_RUNNABLE));
}

/* By the worker that took it out of a queue. */
static inline void asx__wakeword_run(asx__wakeword *w)
{
    asx__wakeword_move(w, ASX__WAKE_RUNNABLE, ASX__WAKE_RUNNING);
}

/* Before it is queued again, on the worker's stack. */
static inline void asx__wakeword_yield(asx__wakeword *w)
{
    asx__wakeword_move(w, ASX__WAKE_RUNNING, ASX__WAKE_RUNNABLE);
}

static inline void asx__wakeword_end(asx__wakeword *w, bool cancelled)
{
    asx__wakeword_move(w, ASX__WAKE_RUNNING, cancelled ? ASX__WAKE_CANCELLED : ASX__WAKE_DONE);
}

/* After a claim: the task may be queued now. */
static inline void asx__wakeword_ready(asx__wakeword *w)
{
    asx__wakeword_move(w, ASX__WAKE_WAKING, ASX__WAKE_RUNNABLE);
}

/* Only what this says may be put into a queue. */
static inline bool asx__wakeword_is_runnable(const asx__wakeword *w)
{
    return asx__wake_state_of(asx__load_relaxed(&w->word)) == ASX__WAKE_RUNNABLE;
}

/* ---- the task that parks -------------------------------------------------------------------- */

/* Returns the ticket to publish. The caller looks for a cancel after this, with seq_cst. */
static inline uint64_t asx__wakeword_park_begin(asx__wakeword *w)
{
    uint64_t word = asx__load_relaxed(&w->word);
    ASX__DEBUG_ASSERT(asx__wake_state_of(word) == ASX__WAKE_RUNNING);
    uint64_t ticket = asx__wake_ticket_of(word) + 1;
    asx__store_seq_cst(&w->word, asx__wake_make(ticket, ASX__WAKE_PARKING));
    return ticket;
}

/* It does not park after all, and is not published. */
static inline void asx__wakeword_park_abort(asx__wakeword *w)
{
    asx__wakeword_move(w, ASX__WAKE_PARKING, ASX__WAKE_RUNNING);
}

/* Only one makes it. */
static inline bool asx__wakeword_claim(asx__wakeword *w, uint64_t ticket)
{
    uint64_t parked = asx__wake_make(ticket, ASX__WAKE_PARKED);
    return asx__cas_acquire(&w->word, &parked, asx__wake_make(ticket, ASX__WAKE_WAKING));
}

/* By its worker, on the worker's stack, when the task's own stack is at rest. True: it was woken
 * meanwhile, and belongs to the caller, who makes it ready and queues it. False: hands off, it may
 * run elsewhere already. */
static inline __attribute__((warn_unused_result)) bool
asx__wakeword_park_commit(asx__wakeword *w, uint64_t ticket)
{
    uint64_t parking = asx__wake_make(ticket, ASX__WAKE_PARKING);
    bool parked =
        asx__cas_seq_cst(&w->word, &parking, asx__wake_make(ticket, ASX__WAKE_PARKED));
    ASX__ASSERT(parked);
    (void)parked;
    return asx__load_seq_cst(&w->pending) == ticket && asx__wakeword_claim(w, ticket);
}

/* ---- wakers --------------------------------------------------------------------------------- */

static inline void asx__wakeword_raise(asx__wakeword *w, uint64_t ticket)
{
    uint64_t seen = asx__load_relaxed(&w->pending);
    while (seen < ticket && !asx__cas_seq_cst(&w->pending, &seen, ticket))
        continue;
}

/* Ends the wait with this ticket, wherever it is. True: the task belongs to the caller, who makes
 * it ready and queues it. False: it is not parked in this wait, or somebody else has it; if it was
 * still parking, it will not sleep. */
static inline __attribute__((warn_unused_result)) bool asx__wakeword_wake(asx__wakeword *w,
                                                                          uint64_t ticket)
{
    uint64_t word = asx__load_relaxed(&w->word);
    if (word == asx__wake_make(ticket, ASX__WAKE_PARKING)) {
        asx__wakeword_raise(w, ticket);
        word = asx__load_seq_cst(&w->word);
    }
    if (word != asx__wake_make(ticket, ASX__WAKE_PARKED))
        return false;
    return asx__wakeword_claim(w, ticket);
}

/* For a cancel: ends whatever wait the task is in. The caller has set, with seq_cst, what the task
 * looks at after park_begin. */
static inline __attribute__((warn_unused_result)) bool asx__wakeword_interrupt(asx__wakeword *w)
{
    uint64_t word = asx__load_seq_cst(&w->word);
    enum asx__wake_state state = asx__wake_state_of(word);
    if (state != ASX__WAKE_PARKING && state != ASX__WAKE_PARKED)
        return false;
    return asx__wakeword_wake(w, asx__wake_ticket_of(word));
}

#endif
