/* dpor.h - the engine that decides which schedule comes next: one execution per class.
 *
 * It knows nothing of the runtime. A driver (explore.c; a test's interpreter) runs a program over
 * and over. In each execution it announces what every task is about to do, asks which task goes,
 * does it, and tells what was accessed; at the end it asks whether there is another execution.
 *
 * Words
 *   operation  what a task is about to do: a kind, an object, two arguments
 *   event      an operation that was done: the n-th of its task (n is its ordinal, from 1)
 *   state      64 bits of an object that decide what an operation on it does (asx__op_eval)
 *   conflict   two accesses of one object, one of which writes
 *   class      the executions with the same events and the same order of conflicting ones
 *   before     a happens before b: same task, or conflict, or by a chain of these
 *   enabled    the operation can be done now; a lock that is held disables lock
 *   plan       the tasks that must go first in the next execution
 *   default    an event that no plan asked for
 *   block      a stretch of a plan that was put in front of a default event, the overtaken one
 *
 * docs/design/20-exploration.md explains why this visits every class exactly once.
 */
#ifndef ASX_LAB_DPOR_H
#define ASX_LAB_DPOR_H

#include <asx/status.h>

#include "base/rng.h"

/* X(NAME, "text"): what a task can do to an object. */
#define ASX__OP_LIST(X)                                                                            \
    X(LOAD, "load")                                                                                \
    X(STORE, "store")                                                                              \
    X(CAS, "compare-and-swap")                                                                     \
    X(FETCH_ADD, "fetch-add")                                                                      \
    X(LOCK, "lock")                                                                                \
    X(TRY_LOCK, "try-lock")                                                                        \
    X(UNLOCK, "unlock")                                                                            \
    X(ACQUIRE, "acquire")                                                                          \
    X(RELEASE, "release")                                                                          \
    X(CHOOSE, "choose")

typedef enum asx__op_kind {
#define ASX__OP_ENUM_(name, text) ASX__OP_##name,
    ASX__OP_LIST(ASX__OP_ENUM_)
#undef ASX__OP_ENUM_
    ASX__OP_COUNT
} asx__op_kind;

const char *asx__op_str(unsigned kind);

typedef struct asx__op {
    asx__op_kind kind;
    uint32_t size;   /* of the object, in bytes: 1, 2, 4, 8 */
    void *object;    /* NULL: CHOOSE, which accesses nothing */
    uint64_t a, b;   /* value; expected and desired; addend; owner; number of choices */
    const char *site;
} asx__op;

typedef struct asx__op_effect {
    bool enabled;
    bool writes;
    uint64_t after;  /* state of the object afterwards */
} asx__op_effect;

/* What an operation does to an object in this state. Pure. */
asx__op_effect asx__op_eval(const asx__op *op, uint64_t state);

/* State of an object of 1, 2, 4 or 8 bytes. */
uint64_t asx__state_read(const void *object, uint32_t size);
void asx__state_write(void *object, uint32_t size, uint64_t state);

typedef enum asx__dpor_mode {
    ASX__DPOR_OPTIMAL, /* every class once */
    ASX__DPOR_DFS,     /* every interleaving */
    ASX__DPOR_RANDOM,  /* every step any enabled task, equally likely */
    ASX__DPOR_PCT,     /* random priorities that change at random steps */
    ASX__DPOR_SAMPLE,  /* one execution after the other in one of the ways of asx__dpor_way */
    ASX__DPOR_REPLAY   /* the given plan, once */
} asx__dpor_mode;

/* How a sampled execution draws its steps. */
typedef enum asx__dpor_way {
    ASX__WAY_RANDOM, /* any enabled task */
    ASX__WAY_ROLE,   /* any role that has enabled tasks, then any of these */
    ASX__WAY_PCT,
    ASX__WAY_STICKY, /* as ROLE, but the running task mostly goes on */
    ASX__WAY_COUNT
} asx__dpor_way;

#define ASX__DPOR_NONE UINT32_MAX /* no task, no event */

/* One step of a schedule. */
typedef struct asx__step {
    uint32_t task;
    uint32_t choice;     /* of a CHOOSE */
    bool by_default;
} asx__step;

typedef struct asx__dpor_event {
    uint32_t task;
    uint32_t ordinal;
    uint32_t object;     /* number of the object in this execution */
    uint32_t prev;       /* event before it on the same object */
    uint32_t prev_write; /* last event before it that wrote the object */
    uint32_t choice;
    uint64_t before;     /* state that it found ... */
    uint64_t after;      /* ... and left */
    const char *site;
    uint8_t kind;        /* asx__op_kind */
    bool writes;
    bool by_default;
} asx__dpor_event;

typedef struct asx__dpor_options {
    asx__dpor_mode mode;
    uint64_t seed;        /* 0: the running task goes on; else the default is drawn */
    uint64_t steps_max;   /* of one execution */
    uint32_t depth;       /* PCT: number of priority changes + 1 */
    bool check;           /* compare classes */
} asx__dpor_options;

typedef struct asx__dpor_stats {
    uint64_t executions;
    uint64_t steps;       /* of all executions */
    uint64_t steps_longest;
    uint64_t redundant;   /* executions whose class was seen before, as far as checked */
    uint64_t checked;     /* executions that were compared */
    uint64_t classes;     /* seen, as far as checked */
    uint64_t deadlocks;
    uint64_t frames;      /* pending alternatives: executions that have some */
    uint64_t frames_most;
    uint64_t memory_bytes;
} asx__dpor_stats;

typedef struct asx__dpor asx__dpor;

/* NULL: no memory. */
asx__dpor *asx__dpor_create(const asx__dpor_options *options);
void asx__dpor_destroy(asx__dpor *d);

/* A new execution. Task 0 is there. */
void asx__dpor_begin(asx__dpor *d);
/* `parent` has started its n-th task; returns the number of the new one, the same in every
 * execution. ASX__DPOR_NONE: no memory. */
uint32_t asx__dpor_spawn(asx__dpor *d, uint32_t parent);
/* Tasks of one role do the same: those of one name, else those started at one place. */
void asx__dpor_role(asx__dpor *d, uint32_t task, const char *role);
/* What the task will do when it is its turn. */
void asx__dpor_announce(asx__dpor *d, uint32_t task, const asx__op *op);
/* The task that goes now: it is announced and enabled. ASX__DPOR_NONE: none is, or the program did
 * not follow the plan (asx__dpor_status() < 0), or the execution is too long. */
uint32_t asx__dpor_choose(asx__dpor *d);
/* The chosen task does what it announced: changes the object, notes the event. Returns the state
 * the object had, or the choice of a CHOOSE. */
uint64_t asx__dpor_commit(asx__dpor *d, uint32_t task);
/* `task` has waited for the end of `ended`. */
void asx__dpor_joined(asx__dpor *d, uint32_t task, uint32_t ended);
void asx__dpor_ended(asx__dpor *d, uint32_t task);
/* The execution is over; `stuck`: tasks are left and none can go. True: there is another one. */
bool asx__dpor_finish(asx__dpor *d, bool stuck);

/* ASX_OK, ASX_E_DIVERGED (the program is not deterministic, or a replayed schedule is not one of
 * this program), ASX_E_RESOURCE_EXHAUSTED. */
asx_status asx__dpor_status(const asx__dpor *d);
/* Was the execution cut off at steps_max? */
bool asx__dpor_too_long(const asx__dpor *d);
void asx__dpor_stats_get(const asx__dpor *d, asx__dpor_stats *ret_stats);
/* The events of the current execution. Borrowed. */
const asx__dpor_event *asx__dpor_events(const asx__dpor *d, size_t *ret_count);
/* What the task waits to do; NULL: it has announced nothing. Borrowed. */
const asx__op *asx__dpor_pending(const asx__dpor *d, uint32_t task);
uint32_t asx__dpor_tasks(const asx__dpor *d);
/* A task is named by who started it, and as which: the nth (from 0) of its parent. The number of
 * the task of that name, given on first use; task 0 has no parent (ASX__DPOR_NONE).
 * ASX__DPOR_NONE: no memory. */
uint32_t asx__dpor_name(asx__dpor *d, uint32_t parent, uint32_t nth);
void asx__dpor_name_of(const asx__dpor *d, uint32_t task, uint32_t *ret_parent, uint32_t *ret_nth);
/* The plan of the next execution, for REPLAY. Copies. */
asx_status asx__dpor_plan(asx__dpor *d, const asx__step *steps, size_t count);

#endif
