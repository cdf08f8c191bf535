/* scenario.h - small programs on one channel, run on every mix of vehicles.
 *
 * A scenario is a list of actors; each actor is a list of steps with the time (in milliseconds of
 * a virtual clock) at which it begins, what it must return and when it must have returned. The
 * same steps are executed by a fiber or by a poll function, and every combination is run, so a
 * rule that is stated once is checked on both.
 */
#ifndef ASX_TESTS_SYNC_SCENARIO_H
#define ASX_TESTS_SYNC_SCENARIO_H

#include <asx/asx.h>

#include "harness.h"

enum op {
    OP_END,
    OP_RESERVE,      /* slot */
    OP_TRY_RESERVE,  /* slot */
    OP_TRACK,        /* slot: reserve, session-tracked */
    OP_PSEND,        /* slot, value */
    OP_PABORT,       /* slot */
    OP_TSEND,        /* slot, value: tracked */
    OP_TABORT,       /* slot */
    OP_SEND,         /* value */
    OP_TRY_SEND,     /* value */
    OP_EVICT,        /* value; slot 1: the victim must be `extra` */
    OP_RECV,         /* value expected */
    OP_TRY_RECV,     /* value expected */
    OP_RECV_ACK,     /* slot, value expected */
    OP_COMMIT,       /* slot */
    OP_NACK,         /* slot */
    OP_CLONE,        /* slot */
    OP_DROP,         /* slot: a clone; the actor drops it */
    OP_DROP_TX,      /* the channel's first sender */
    OP_DROP_RX,
    OP_CANCEL,       /* value: number of an actor */
    OP_MASK,
    OP_UNMASK,
    OP_CHECKPOINT,
    OP_YIELD,
    OP_PANIC,
    /* what the channel says of itself: value expected */
    OP_QUEUED,
    OP_RESERVED,
    OP_WAITERS,
    OP_SENDERS,
    OP_RX_WAITS,
    OP_STATE,
    OP_DISCARDED
};

#define STEPS_MAX 24
#define ACTORS_MAX 6
#define SLOTS 4

struct step {
    unsigned at_ms;
    enum op op;
    uint64_t value;
    unsigned slot;
    asx_status want;
    unsigned done_ms;
    uint64_t extra;
};

struct actor {
    const char *name;
    struct step steps[STEPS_MAX];
};

struct run {
    const struct scenario *scenario;
    unsigned vehicles; /* bit per actor: poll */
    asx_runtime *rt;
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_task tasks[ACTORS_MAX];
    struct actor_run *actors[ACTORS_MAX];
    uint64_t dropped[64]; /* messages that the drop callback saw */
    unsigned dropped_count;
    asx_close_report report;
};

struct scenario {
    const char *name;
    size_t capacity;
    unsigned actor_count;
    struct actor actors[ACTORS_MAX];
    asx_status want_close;          /* of the region */
    asx_leak_policy leak;
    void (*after)(struct run *run); /* when the region has closed; may be NULL */
};

/* Runs it on every mix of fibers and poll functions. */
void scenario_check(const struct scenario *scenario);
/* Runs it once; bit i of `vehicles`: actor i is a poll function. */
void scenario_run(const struct scenario *scenario, unsigned vehicles);

/* Runs fn(cx, arg) as the program of a fresh runtime with a virtual clock and wants `want`. */
void program_check(asx_task_fn fn, void *arg, asx_status want);

#endif
