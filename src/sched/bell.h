/* bell.h - how a worker lies down and is got up again, without a wake-up that gets lost.
 *
 * Words
 *   bell     a count that whoever wants the worker up raises: it is rung
 *   seen     what the count was when the worker, with the engine held, had nothing to do
 *   search   the worker looks at its bell for a while before it asks the system to sleep: then it
 *            is there after a cache line has been handed over, and who rings makes no system call
 *   rouse    what who has rung does afterwards: wakes the worker, if it sleeps in the system
 *
 * Protocol
 *
 *     worker                                       who has work for it
 *     with the engine held:                        with the engine held:
 *       nothing to do                                the work is there for all to find
 *       lie_down: seen = rung; state = IDLE_SPIN     ring: rung++
 *     search: rung != seen? it gets up             then, inside or outside:
 *     fall_asleep: state = SLEEP                     rouse: state == SLEEP? wakes it
 *                  rung != seen? it gets up
 *     sleep: while rung == seen
 *     with the engine held:
 *       looks what there is to do; get_up, or lies down again
 *
 * Looking for work and `seen` belong to one hold of the engine, and so do putting work and ringing.
 * So who puts work there after the worker has looked rings after `seen` was read, and rung != seen
 * until the worker looks again. It is left to show that it does not sleep on a bell that was rung:
 *
 *     state = SLEEP  ->  rung != seen?      of these four two are before the other two, whichever
 *     rung++         ->  state == SLEEP?    way: one of the sides sees the other
 *
 * A worker may wait in the reactor instead (POLL, sched/reactor.h): who rings ends that wait, which
 * is not lost if it has not begun yet.
 *
 *   where              order     partner              without it
 *   ring, rung         seq_cst   fall_asleep, sleep   state is read first: IDLE_SPIN, no wake-up
 *   rouse, state       seq_cst   fall_asleep          likewise
 *   fall_asleep, state seq_cst   rouse                the worker looks at the bell, which is as it
 *                                                     was; who rings sees IDLE_SPIN
 *   go_away, both      seq_cst   ring, rouse          likewise, and nobody else looks at the bell
 *   all others         relaxed   -                    the engine orders them. The look at the bell
 *                                                     in fall_asleep only saves a system call: the
 *                                                     kernel looks again, behind a barrier of its
 *                                                     own
 *
 * tests/model/test_bell.c explores this file, weakens each of these orders, and breaks the protocol
 * in the ways that are easy to think of.
 *
 * Rejected: waking always (a system call for each hand-over to a worker that searches); a bell that
 * the worker sets back (who is late would ring for a sleep that is over).
 */
#ifndef ASX_SCHED_BELL_H
#define ASX_SCHED_BELL_H

#include "base/atomic.h"

/* The life of a worker; pool.c has the diagram. */
#define ASX__WORKER_STATE_LIST(X)                                                                  \
    X(DEAD, "dead")           /* it has no thread, or that ends now */                             \
    X(ACTIVE, "active")       /* runs tasks, or looks for some */                                  \
    X(IDLE_SPIN, "searching") /* has nothing to do, and waits a moment before it sleeps */         \
    X(SLEEP, "asleep")                                                                             \
    X(POLL, "polling")        /* asleep, in something else than its bell: in the reactor */        \
    X(DRAINING, "draining")   /* takes nothing more, and ends after its slice */
enum asx__worker_state {
#define X(name, text) ASX__WORKER_##name,
    ASX__WORKER_STATE_LIST(X)
#undef X
};

typedef struct asx__bell {
    asx__atomic_u32 rung;  /* A: how often; written with the engine held */
    asx__atomic_u32 state; /* A: enum asx__worker_state; written with the engine held, but for the
                              worker's own way from IDLE_SPIN to SLEEP or POLL */
} asx__bell;

/* Looks at the bell between two at the clock; what comes after each; the clock. */
#ifndef ASX__BELL_LOOKS
#define ASX__BELL_LOOKS 16u
#define ASX__BELL_PAUSE() asx__cpu_relax()
#define ASX__BELL_CLOCK_NS() asx__futex_clock_ns()
#endif

static inline void asx__bell_init(asx__bell *b, enum asx__worker_state state)
{
    asx__atomic_init(&b->rung, 0u);
    asx__atomic_init(&b->state, (uint32_t)state);
}

static inline bool asx__bell_is(const asx__bell *b, enum asx__worker_state state)
{
    return asx__load_relaxed(&b->state) == (uint32_t)state;
}

/* Inside. Not for IDLE_SPIN, SLEEP and POLL. */
static inline void asx__bell_set(asx__bell *b, enum asx__worker_state state)
{
    asx__store_relaxed(&b->state, (uint32_t)state);
}

/* ---- who has work --------------------------------------------------------------------------- */

/* Inside, in the same hold in which the work was put where it is found. */
static inline void asx__bell_ring(asx__bell *b)
{
    asx__store_seq_cst(&b->rung, asx__load_relaxed(&b->rung) + 1); /* partner: fall_asleep */
}

/* Afterwards: wakes it, if it is not looking at its bell anyway. True: it waits elsewhere, and the
 * caller has to end that wait. */
static inline bool asx__bell_rouse(asx__bell *b)
{
    uint32_t state = asx__load_seq_cst(&b->state);
    if (state == (uint32_t)ASX__WORKER_SLEEP)
        asx__futex_wake(&b->rung, 1);
    return state == (uint32_t)ASX__WORKER_POLL;
}

/* ---- the worker ----------------------------------------------------------------------------- */

/* Inside, in the same hold in which it found nothing to do. Returns what it has seen. */
static inline uint32_t asx__bell_lie_down(asx__bell *b, bool searches)
{
    asx__store_relaxed(&b->state, (uint32_t)(searches ? ASX__WORKER_IDLE_SPIN : ASX__WORKER_SLEEP));
    return asx__load_relaxed(&b->rung);
}

/* Outside, by who searches: until the bell is rung (true) or that moment has come. */
static inline bool asx__bell_search(const asx__bell *b, uint32_t seen, uint64_t until_ns)
{
    do {
        for (uint32_t i = 0; i < ASX__BELL_LOOKS; i++) {
            if (asx__load_relaxed(&b->rung) != seen)
                return true;
            ASX__BELL_PAUSE();
        }
    } while (ASX__BELL_CLOCK_NS() < until_ns);
    return false;
}

/* Outside, after the search. True: it has been rung meanwhile. */
static inline bool asx__bell_fall_asleep(asx__bell *b, uint32_t seen)
{
    asx__store_seq_cst(&b->state, (uint32_t)ASX__WORKER_SLEEP); /* partner: ring, rouse */
    return asx__load_relaxed(&b->rung) != seen;
}

/* Outside, by one that is about to wait elsewhere, searched or not. True: it has been rung
 * meanwhile, and it does not. */
static inline bool asx__bell_go_away(asx__bell *b, uint32_t seen)
{
    asx__store_seq_cst(&b->state, (uint32_t)ASX__WORKER_POLL); /* partner: ring, rouse */
    return asx__load_seq_cst(&b->rung) != seen;
}

/* Outside. False: the deadline has passed. True says nothing: it has to look. */
static inline bool asx__bell_sleep(asx__bell *b, uint32_t seen, uint64_t deadline_ns)
{
    return asx__futex_wait(&b->rung, seen, deadline_ns);
}

/* From outside, a guess: has it been rung since? */
static inline bool asx__bell_was_rung(const asx__bell *b, uint32_t seen)
{
    return asx__load_relaxed(&b->rung) != seen;
}

#endif
