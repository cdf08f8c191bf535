/* mpmc_core.h - which task gets what in a channel of many senders and many receivers: admission,
 * close, hand-over. No tasks, no messages, no waiting: each step takes the state in and says what
 * the caller must do. Steps exclude each other, by one thread or by a lock around each.
 *
 * Words
 *   queued    messages in the ring; ring numbers count up and never come again
 *   waiter    a task that waits, by a node; all of them are on the same side
 *   admitted  a send that was handed over, took a slot, or waits: it will be received, also after
 *             a close
 *   gone      no receiver is left: nothing will ever be received
 *
 * Invariants (asx__mpmc_core_is_valid)
 *     head <= tail, tail - head <= capacity
 *     a sender waits     => the ring is full, and not gone
 *     a receiver waits   => the ring is empty, nothing was returned, not closed, not gone
 *
 * Close. A send is admitted if the channel is open at the step that hands it over, takes a slot or
 * makes it a waiter. That step looks at `closed` itself: a look before it could be followed by a
 * close, and the message would wait for receivers that were told there is none. For the same reason
 * a receiver becomes a waiter in the step that finds nothing. Close wakes every waiting receiver,
 * for which there is nothing left by the third invariant, and no sender.
 *
 * tests/model/test_mpmc.c runs these steps on model atomics, with waiters that park and are woken
 * as in a shared runtime, and splits them to see it fail.
 */
#ifndef ASX_SYNC_MPMC_CORE_H
#define ASX_SYNC_MPMC_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/list.h"

typedef struct asx__mpmc_core {
    uint64_t head;      /* messages ever taken from the ring */
    uint64_t tail;      /* messages ever put into it */
    uint64_t capacity;  /* I: 0 too */
    asx__node waiters;  /* in the order in which they came ... */
    uint32_t waiting;   /* ... so many, and ... */
    bool senders_wait;  /* ... if there are any, on this side */
    bool closed;
    bool gone;
} asx__mpmc_core;

/* What the caller must do. */
typedef enum asx__mpmc_step {
    ASX__MPMC_HAND,   /* the message goes between the caller and the waiter, which is then woken */
    ASX__MPMC_RING,   /* the message goes into or comes out of the ring */
    ASX__MPMC_WAIT,   /* nothing: the caller is a waiter now, or was not allowed to wait */
    ASX__MPMC_CLOSED, /* tell the caller */
    ASX__MPMC_GONE    /* tell the caller */
} asx__mpmc_step;

typedef struct asx__mpmc_effect {
    asx__mpmc_step step;
    asx__node *waiter; /* HAND; or RING of a receive: a sender whose message goes into the ring */
    uint64_t number;   /* RING: of the caller's message */
    uint64_t refill;   /* RING of a receive, with a waiter: number of that sender's message */
} asx__mpmc_effect;

static inline void asx__mpmc_core_init(asx__mpmc_core *c, uint64_t capacity)
{
    c->head = 0;
    c->tail = 0;
    c->capacity = capacity;
    asx__list_init(&c->waiters);
    c->waiting = 0;
    c->senders_wait = false;
    c->closed = false;
    c->gone = false;
}

static inline uint64_t asx__mpmc_core_queued(const asx__mpmc_core *c)
{
    return c->tail - c->head;
}

static inline bool asx__mpmc_core_is_valid(const asx__mpmc_core *c)
{
    if (c->head > c->tail || c->tail - c->head > c->capacity)
        return false;
    if (asx__list_empty(&c->waiters) != (c->waiting == 0))
        return false;
    if (c->waiting == 0)
        return true;
    return c->senders_wait ? c->tail - c->head == c->capacity && !c->gone
                           : c->tail == c->head && !c->closed && !c->gone;
}

/* Forgets a waiter: it is being served, or cancelled. */
static inline void asx__mpmc_core_forget(asx__mpmc_core *c, asx__node *waiter)
{
    ASX__DEBUG_ASSERT(c->waiting > 0);
    asx__list_remove(waiter);
    c->waiting--;
}

/* The first of that side; NULL: none. It is a waiter no longer. */
static inline asx__node *asx__mpmc_core_pop(asx__mpmc_core *c, bool sender)
{
    if (c->waiting == 0 || c->senders_wait != sender)
        return NULL;
    asx__node *waiter = c->waiters.next;
    asx__mpmc_core_forget(c, waiter);
    return waiter;
}

static inline void asx__mpmc_core_link(asx__mpmc_core *c, asx__node *self, bool sender)
{
    ASX__DEBUG_ASSERT(c->waiting == 0 || c->senders_wait == sender);
    c->senders_wait = sender;
    asx__list_push_back(&c->waiters, self);
    c->waiting++;
}

/* `self` is NULL for a caller that will not wait. */
static inline asx__mpmc_effect asx__mpmc_core_send(asx__mpmc_core *c, asx__node *self)
{
    asx__mpmc_effect e = { .step = ASX__MPMC_WAIT };
    if (c->gone) {
        e.step = ASX__MPMC_GONE;
    } else if (c->closed) {
        e.step = ASX__MPMC_CLOSED;
    } else if ((e.waiter = asx__mpmc_core_pop(c, false)) != NULL) {
        e.step = ASX__MPMC_HAND;
    } else if (c->tail - c->head < c->capacity) {
        e.step = ASX__MPMC_RING;
        e.number = c->tail++;
    } else if (self != NULL) {
        asx__mpmc_core_link(c, self, true);
    }
    ASX__AUDIT_ASSERT(asx__mpmc_core_is_valid(c));
    return e;
}

static inline asx__mpmc_effect asx__mpmc_core_recv(asx__mpmc_core *c, asx__node *self)
{
    asx__mpmc_effect e = { .step = ASX__MPMC_WAIT };
    if (c->tail != c->head) {
        e.step = ASX__MPMC_RING;
        e.number = c->head++;
        e.waiter = asx__mpmc_core_pop(c, true);
        if (e.waiter != NULL)
            e.refill = c->tail++;
    } else if ((e.waiter = asx__mpmc_core_pop(c, true)) != NULL) {
        e.step = ASX__MPMC_HAND;
    } else if (c->closed) {
        e.step = ASX__MPMC_CLOSED;
    } else if (self != NULL) {
        asx__mpmc_core_link(c, self, false);
    }
    ASX__AUDIT_ASSERT(asx__mpmc_core_is_valid(c));
    return e;
}

/* Nothing is admitted from here on. The caller pops and wakes every waiting receiver in the same
 * step. */
static inline void asx__mpmc_core_close(asx__mpmc_core *c)
{
    c->closed = true;
}

/* The last receiver is gone. The caller pops and wakes all senders, and discards what is queued, in
 * the same step. */
static inline void asx__mpmc_core_abandon(asx__mpmc_core *c)
{
    c->closed = true;
    c->gone = true;
}

#endif
