/* reactor.h - where input and output comes into a runtime.
 *
 * The scheduler knows of I/O only what is here: something that can be asked for completions, on
 * which the one who has nothing to do can wait, and which ends such a wait when it is woken. A
 * runtime has none before the first operation (src/io), and costs what it did before.
 *
 *   reap   inside, once per turn: wakes the tasks whose operations have completed
 *   wait   outside, by who would sleep otherwise, at most one at a time; the same one reaps next
 *   wake   any thread: ends a wait, the present one or the next
 *
 * Operations that are out count in rt->jobs_out, as blocking work does: who waits for them is not
 * deadlocked.
 */
#ifndef ASX_SCHED_REACTOR_H
#define ASX_SCHED_REACTOR_H

#include <stdbool.h>
#include <stdint.h>

struct asx_runtime;
struct asx__reactor;

typedef struct asx__reactor_ops {
    void (*reap)(struct asx__reactor *reactor);
    /* The deadline is CLOCK_MONOTONIC, or ASX__FUTEX_FOREVER. False: it has passed. */
    bool (*wait)(struct asx__reactor *reactor, uint64_t deadline_ns);
    void (*wake)(struct asx__reactor *reactor);
    /* The process has been copied; all other threads stand still, or do not exist. */
    void (*forked)(struct asx__reactor *reactor);
    /* The runtime goes away: nothing is out any more that a task waits for. */
    void (*destroy)(struct asx__reactor *reactor);
} asx__reactor_ops;

typedef struct asx__reactor {
    const asx__reactor_ops *ops; /* I */
    struct asx_runtime *rt;      /* I */
    uint32_t out;                /* operations that have not ended */
    uint64_t reaped;             /* times that somebody has reaped */
    bool waited;                 /* who reaps next has come from wait, with what that brought */
} asx__reactor;

/* Inside. */
static inline void asx__reactor_reap(asx__reactor *reactor)
{
    reactor->reaped++;
    reactor->ops->reap(reactor);
}

#endif
