/* dpor_int.h - the inside of the engine, for dpor.c, dpor_race.c and dpor_table.c.
 *
 * Clocks. A clock is a row of `stride` counters, one per task: row[t] is the ordinal of the last
 * event of t that is in it. Event g is in a clock iff row[g.task] >= g.ordinal. Each event has the
 * clock of everything before or at it; each task has the clock of its last event, joined with what
 * it has waited for.
 *
 * Memory. Everything grows by doubling and is kept from one execution to the next. The stacks at
 * the end hold the alternatives that are left to do: a frame per execution that has some.
 *     bytes <= frames * (steps of the longest execution) * constant
 */
#ifndef ASX_LAB_DPOR_INT_H
#define ASX_LAB_DPOR_INT_H

#include "lab/dpor.h"

#include <stdlib.h>
#include <string.h>

typedef struct asx__dpor_task {
    asx__op op;        /* valid while `pending` */
    uint32_t done;     /* events so far */
    uint32_t children; /* tasks it has started */
    uint64_t priority; /* PCT */
    const char *role;
    uint32_t parent;   /* its name: the nth task of parent */
    uint32_t nth;
    bool present;
    bool pending;
} asx__dpor_task;

typedef struct asx__dpor_object {
    uint32_t last;       /* event that accessed it last */
    uint32_t last_write;
} asx__dpor_object;

/* Events start .. end of the execution, by a plan, in front of an overtaken event. The last of them
 * is the one that conflicts with it. */
typedef struct asx__block {
    uint32_t start, end;
    uint32_t over_task, over_ordinal; /* the overtaken event */
    uint32_t head_task, head_ordinal; /* event `end` */
} asx__block;

/* An alternative to a finished execution: its first `at` steps, then `len` steps of the stack
 * `moved` as a block in front of the event `at`. */
typedef struct asx__alternative {
    uint32_t at;
    uint32_t len;
    size_t moved;
    uint32_t over_task, over_ordinal, head_ordinal;
} asx__alternative;

/* An execution that has alternatives left: where its part of each stack begins. */
typedef struct asx__frame {
    size_t steps;
    size_t blocks;
    size_t alternatives;
} asx__frame;

/* A growing array. */
#define ASX__VEC(type)                                                                             \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t len, cap;                                                                           \
    }

/* Address -> object number; an entry is valid if its stamp is that of the execution. */
typedef struct asx__place {
    const void *address;
    uint64_t stamp;
    uint32_t object;
} asx__place;

/* (parent, n) -> task number, for all executions. */
typedef struct asx__task_name {
    uint32_t parent, nth;
    uint32_t task; /* ASX__DPOR_NONE: free */
} asx__task_name;

struct asx__dpor {
    asx__dpor_options options;
    asx__dpor_stats stats;
    asx_status status;
    bool too_long;
    asx__rng rng;

    asx__dpor_task *tasks;
    uint32_t *task_clocks; /* tasks_cap rows */
    uint32_t tasks_len, tasks_cap;
    uint32_t stride;
    asx__task_name *names;
    size_t names_cap, names_len;

    asx__dpor_event *events;
    uint32_t *clocks;      /* events_cap rows */
    uint32_t events_len, events_cap;
    ASX__VEC(asx__dpor_object) objects;
    asx__place *places;
    size_t places_cap;
    uint64_t stamp;
    ASX__VEC(uint32_t) races; /* scratch: readers that race with the event being noted */

    ASX__VEC(asx__step) plan;
    ASX__VEC(asx__block) blocks;
    uint32_t fresh_from;   /* events from here on are not in the execution this one came from */
    uint32_t prefer;       /* the overtaken task, until it has gone */
    ASX__VEC(asx__step) untried; /* DFS: at each step what to do there next */
    ASX__VEC(uint64_t) changes; /* PCT: steps at which a priority drops, sorted */
    size_t changes_done;
    asx__dpor_way way;     /* of this execution */
    ASX__VEC(const char *) roles; /* scratch: those that have enabled tasks */

    uint64_t class_sum;    /* of the current execution */
    uint64_t *classes;     /* set of sums */
    size_t classes_cap, classes_len;
    uint64_t classes_mask; /* sums that have none of these bits are compared */

    ASX__VEC(asx__step) saved_steps;
    ASX__VEC(asx__block) saved_blocks;
    ASX__VEC(asx__alternative) alternatives;
    ASX__VEC(asx__step) moved;
    ASX__VEC(asx__frame) frames;
    size_t own_alternatives; /* those of the current execution begin here */
};

/* Makes room for `need` elements; false: no memory, and the engine's status says so. */
bool asx__dpor_grow(asx__dpor *d, void **memory, size_t *cap, size_t need, size_t size);
#define ASX__VEC_ROOM(d, vec, more)                                                                \
    ((vec).len + (more) <= (vec).cap ||                                                            \
     asx__dpor_grow((d), (void **)&(vec).at, &(vec).cap, (vec).len + (more), sizeof *(vec).at))

static inline uint32_t *asx__dpor_clock(const asx__dpor *d, uint32_t event)
{
    return d->clocks + (size_t)event * d->stride;
}

static inline uint32_t *asx__dpor_task_clock(const asx__dpor *d, uint32_t task)
{
    return d->task_clocks + (size_t)task * d->stride;
}

static inline bool asx__clock_has(const uint32_t *clock, const asx__dpor_event *event)
{
    return clock[event->task] >= event->ordinal;
}

static inline void asx__clock_join(uint32_t *clock, const uint32_t *other, uint32_t stride)
{
    for (uint32_t i = 0; i < stride; i++)
        clock[i] = clock[i] > other[i] ? clock[i] : other[i];
}

/* dpor_table.c */
uint32_t asx__dpor_object_of(asx__dpor *d, const void *address);
bool asx__dpor_stride_for(asx__dpor *d, uint32_t tasks);
void asx__dpor_class_note(asx__dpor *d);

/* dpor_race.c */
/* The event is the last one; its clock is still its task's, without the event itself. Completes the
 * clock, and notes the alternatives in which it comes earlier. */
void asx__dpor_race(asx__dpor *d, uint32_t event, const asx__op *op);
/* The other answers to a CHOOSE. */
void asx__dpor_race_choice(asx__dpor *d, uint32_t event, uint64_t choices);
/* The tasks that never got to do what they announced could have done it earlier. */
void asx__dpor_race_pending(asx__dpor *d);
/* Puts the finished execution on the stack if it has alternatives. */
void asx__dpor_push(asx__dpor *d);
/* Plans the next execution from the stack; false: nothing is left. */
bool asx__dpor_pop(asx__dpor *d);

#endif
