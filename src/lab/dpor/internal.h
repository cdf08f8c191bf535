/* internal.h - the inside of the engine, for dpor*.c.
 *
 * Clocks tell which events are before another, or before what a task does next (clocks.h).
 *
 * Memory. Everything grows by doubling and is kept from one execution to the next. The stacks at
 * the end hold the alternatives that are left to do: a frame per execution that has some.
 *     bytes <= frames * (steps of the longest execution) * constant
 */
#ifndef ASX_LAB_DPOR_INTERNAL_H
#define ASX_LAB_DPOR_INTERNAL_H

#include "base/bytes.h"
#include "lab/dpor/dpor.h"
#include "lab/dpor/branch.h"

#include <stdlib.h>
#include <string.h>

/* The number of a row; see clocks.h. */
typedef uint32_t asx__vclock;

typedef struct asx__dpor_task {
    asx__op op;        /* valid while `pending` */
    uint32_t done;     /* events so far */
    uint32_t children; /* tasks it has started */
    asx__vclock clock;  /* what is before what it does next */
    uint64_t priority; /* PCT: of the task; POS: of what it is about to do */
    const char *role;
    uint32_t parent;   /* its name: the nth task of parent */
    uint32_t nth;
    uint64_t path;     /* hash of its name and those of its parents */
    uint64_t history;  /* wide: of all that is in its clock; see seen.c */
    uint64_t rested;   /* scratch: the last asx__tree_insert() that rests on it; ... */
    uint64_t walked;   /* ... that took something of it out: ... */
    uint32_t taken;    /* ... its first so many events, or they were before the sequence */
    bool present;
    bool pending;
} asx__dpor_task;

typedef struct asx__dpor_object {
    uint32_t last;       /* event (wide: access) that accessed it last */
    uint32_t last_write;
    uint32_t last_change; /* wide: access that wrote or changed it last, or found it set */
    uint32_t waiters;    /* first of those asked again when it is changed: its number in
                            asx__dpor.waiters + 1; 0: none */
    uint32_t moved;      /* scratch: the access of it by the event that is moved, or another one */
    uint64_t state;      /* wide: if it is not in memory */
    uint64_t name;
    size_t place;        /* where it is found by its name */
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
    size_t moved;
    double share;        /* of the whole, of each alternative */
} asx__frame;

/* DFS: what is tried next at a step, and how many tasks are to be tried there. */
typedef struct asx__untried {
    asx__step step; /* task NONE: nothing */
    uint32_t more;
    uint32_t begun; /* tried so far, with what is being tried */
} asx__untried;

/* ---- wide: see wide.c and tree.c -------------------------------------------------- */

typedef struct asx__access {
    uint32_t event, object;
    uint32_t prev, prev_write; /* accesses of the same object */
    uint32_t prev_change;      /* ... the last that wrote or changed it, or found it set */
    uint64_t before, after;    /* state; `after` of a write */
    uint64_t change;           /* of a read */
    bool writes;
    bool set;                  /* a cell: somebody has set it since the access before, not by an
                                  operation */
} asx__access;

/* What a wide execution knows of an event besides asx__dpor_event. */
typedef struct asx__wide_event {
    asx__op op;
    uint32_t accesses, len; /* in `accesses` and `prints` */
    uint32_t links, links_len;
    uint32_t answers;       /* to be tried; 1: this one */
    bool all, plain;
    bool short_cut;         /* see asx__deed */
    bool several;           /* it could go in several ways, whether they are to be tried or not */
    bool costs;             /* ... and those other than 0 cost */
    bool alone;             /* it comes after nothing but what its task came after before */
    asx__vclock past;        /* that of its task, before it */
    uint64_t touched, written;
    uint64_t history;       /* of it and its past; see seen.c */
    uint64_t before;        /* ... of its task, before it */
} asx__wide_event;

/* An event that accesses a group of objects, and the one before it. The group is an object too,
 * whose `last` is a link and whose `state` has a bit for each task that has accessed it. */
typedef struct asx__group_access {
    uint32_t event, prev;
    uint32_t prev_other;     /* the last before it that is of another task */
    uint32_t object;         /* the group */
} asx__group_access;

/* A task, and so many events of it. */
typedef struct asx__stand {
    uint32_t task, ordinal;
} asx__stand;

typedef struct asx__stands {
    asx__stand *at;
    size_t len, cap;
} asx__stands;

/* A task that cannot go before some object is changed, and the next of that object. */
typedef struct asx__change_waiter {
    uint32_t task, next;
} asx__change_waiter;

/* A task that waits for a time, or has done so. */
typedef struct asx__timed_waiter {
    uint64_t until;
    uint32_t task;
} asx__timed_waiter;

/* Where a walk back over a group stands, or over one object. */
typedef struct asx__cursor {
    uint32_t link;             /* one object: its access */
    bool one;
    uint64_t tasks;            /* who may still have done something that is not in the past */
} asx__cursor;

#ifndef ASX__TOLD_MOST /* a power of two; the test lab-dpor-shared has 1 */
#define ASX__TOLD_MOST 512
#endif

/* Where an execution stands before an event. */
typedef struct asx__tree_node {
    asx__branch *rest;   /* what to try here after the current branch, with what must follow */
    asx__branch *done;   /* what was tried */
    size_t sleepers;     /* where its part of the stack of sleepers begins */
    size_t pasts;        /* ... and of asx__dpor.pasts */
    bool again;          /* what its event could have done earlier depends on what came later */
    uint64_t number;     /* no other node has or had it; 0: it is the backlog's */
    uint32_t answered;   /* 0, or a task + 1: each of its answers is a branch here, or was */
    uint32_t branches;   /* what it is on, what was tried, what is to be tried */
    bool heard;          /* it was the backlog's: some of `done` are not among the sleepers */
} asx__tree_node;

/* What became of a sequence; see seen.c. */
typedef struct asx__seen {
    uint64_t key, node;  /* the node's number */
    uint64_t sum;        /* of the histories of what it rests on */
    uint64_t used;       /* by which execution last */
    uint32_t len;        /* many tasks: of so many it rests on something */
    bool all;            /* it rests on all that was left, and on nothing else being left */
} asx__seen;

#define ASX__AWAY_FEW 4

/* A growing array. */
#define ASX__VEC(type)                                                                             \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t len, cap;                                                                           \
    }

/* Name -> object number; an entry is valid if its stamp is that of the execution. */
typedef struct asx__place {
    uint64_t name;
    uint64_t stamp;
    uint32_t object;
} asx__place;

/* Where the cell was that a task was about to access. */
typedef struct asx__whereabouts {
    uint64_t key;        /* of the task and its past; 0: none */
    uint64_t address;
} asx__whereabouts;

/* (parent, n) -> task number, for all executions. */
typedef struct asx__task_name {
    uint32_t parent, nth;
    uint32_t task; /* ASX__DPOR_NONE: free */
} asx__task_name;

struct asx__dpor {
    asx__dpor_options options;
    asx__dpor_stats stats;
    asx_status status;
    bool too_long, failed;
    asx__rng rng;

    asx__dpor_task *tasks;
    uint32_t tasks_len, tasks_cap;
    uint64_t *asked;       /* many tasks: asked_words words: a bit for each task that stands before
                              something and may be able to go; then one for each of these words
                              that has bits */
    size_t asked_words;
    ASX__VEC(asx__change_waiter) waiters;
    ASX__VEC(asx__timed_waiter) sleeping; /* a heap: the soonest first */
    uint32_t *rows;        /* of clocks: rows_cap times `stride` words; clocks.h */
    uint32_t rows_len, rows_cap, own_from;
    uint32_t stride, levels;
    asx__task_name *names;
    size_t names_cap, names_len;

    asx__dpor_event *events;
    uint32_t events_len, events_cap;
    uint32_t known, repeated; /* see again.c */
    ASX__VEC(asx__dpor_object) objects;
    asx__place *places;
    size_t places_cap;
    unsigned places_shift; /* so much of a hash is left away: places_cap = 2^(64 - places_shift) */
    uint64_t stamp;
    ASX__VEC(uint32_t) races; /* scratch: readers that race with the event being noted */

    ASX__VEC(asx__step) plan;
    ASX__VEC(asx__block) blocks;
    uint32_t fresh_from;   /* events from here on are not in the execution this one came from */
    uint32_t prefer;       /* the overtaken task, until it has gone */
    uint32_t preemptions, delays; /* DFS with a bound: in this execution so far */
    uint32_t costs;        /* answers that cost, in this execution so far */
    bool lates;            /* somebody has waited who may be late */
    ASX__VEC(asx__untried) untried; /* DFS: at each step what to do there next */
    bool sibling;          /* ... the last step of the plan comes from there */
    bool sampling;         /* the mode draws every execution by itself */
    bool noted;            /* it does, or there are many tasks: what stands before what is noted */
    uint64_t sample;       /* number of the execution that comes, from 0 */
    uint64_t sample_end;   /* the first that is not ours; 0: all are */
    uint64_t span;         /* PCT: priorities change in so many first steps */
    ASX__VEC(uint64_t) changes; /* PCT: steps at which a priority drops, sorted */
    size_t changes_done;
    asx__dpor_way way;     /* of this execution */
    ASX__VEC(const char *) roles; /* scratch: those that have enabled tasks */

    uint64_t class_sum;    /* of the current execution */
    asx__classes classes;

    ASX__VEC(asx__step) saved_steps;
    ASX__VEC(asx__block) saved_blocks;
    ASX__VEC(asx__alternative) alternatives;
    ASX__VEC(asx__step) moved;
    ASX__VEC(asx__frame) frames;
    size_t own_alternatives; /* those of the current execution begin here */
    double share;            /* of the whole: of the current execution and what comes from it; DFS,
                                wide: of the work that was taken */
    double used;             /* ... of which so much is done */
    size_t share_from;       /* DFS: the step at which that work begins */

    bool wide;               /* operations that access several objects */
    uint32_t diverged_at;    /* + 1; 0: it has not, at no event */
    uint32_t diverged_task;
    uint32_t diverged_op;    /* asx__op_kind, of what it did before */
    bool blocked;            /* everything that can go sleeps */
    bool restart;            /* the exploration has to begin again, wide */
    bool later;              /* others have run executions before those of this engine */
    asx__deed deed, other;   /* scratch */
    const asx__op *deed_of;  /* NULL, or `deed` is what this one does ... */
    uint32_t deed_at;        /* ... after so many events */
    asx__wide_event *wide_events;
    size_t wide_cap;
    uint32_t clock;          /* its task; NONE: no clock */
    uint32_t world;          /* the last event that conflicts with all; NONE: there is none */
    uint32_t epoch;          /* events that conflict with all, so far */
    ASX__VEC(asx__access) accesses;
    ASX__VEC(uint64_t) prints;
    ASX__VEC(asx__tree_node) nodes;
    ASX__VEC(asx__branch *) sleepers;
    ASX__VEC(uint64_t) pasts; /* of those that have been put to sleep; see tree.c */
    asx__branches branches;
    asx__branch *chain;      /* the branch that the execution follows; the rest of it */
    uint32_t branch_at;      /* the event at which this execution left the one before */
    size_t shared;           /* nodes before this one belong to the backlog; what we know of them is
                                what it told: `done` sleeps there too, `rest` is left to try */
    ASX__VEC(uint32_t) whole; /* scratch: a sequence for the backlog */
    asx__giving giving;      /* what is to be given away when the execution is over */
    asx__bytes given;        /* what was */
    asx__bytes heard_late;   /* what was found elsewhere, to be put where it belongs */
    bool too_late;           /* ... and could not */
    uint64_t told[ASX__TOLD_MOST]; /* of what was found for the backlog: hashes, 0: none */
    struct {
        uint32_t task, ordinal;
    } away[ASX__AWAY_FEW];   /* scratch: events that are taken away, with all that comes after */
    uint32_t away_len;
    bool marked;             /* ... or there are more of them: then each that is gone has a mark */
    bool away_far;           /* it has, or there are many tasks */
    ASX__VEC(uint8_t) marks;
    uint32_t moving;         /* scratch: the event that is moved, and away; NONE: there is none */
    ASX__VEC(uint32_t) block; /* scratch */
    ASX__VEC(uint8_t) kept;  /* scratch: of the block */
    uint32_t late;           /* scratch: see asx__tree_insert() */
    asx__vclock need;         /* scratch */
    ASX__VEC(asx__group_access) links;
    ASX__VEC(asx__cursor) cursors; /* scratch */
    bool sorted;             /* scratch: the next two are those of this execution: */
    ASX__VEC(uint32_t) by_task; /* its events, task by task, in the order of their ordinals; ... */
    ASX__VEC(uint32_t) starts; /* ... where those of each task begin */
    asx__stands stands;      /* scratch: where a walk stands */
    asx__vclock past;         /* scratch */
    uint64_t nodes_made;
    asx__whereabouts *whereabouts; /* NULL: no cell that may move; see table.c */
    asx__seen *seen;         /* seen_cap entries, a power of two; see seen.c */
    uint32_t *seen_rows;     /* of each seen_stride words: what it rests on */
    asx__stands seen_on;     /* scratch */
    size_t seen_cap;
    uint32_t seen_stride;
    asx__vclock rests;        /* scratch: what the last asx__tree_insert() rests on ... */
    bool rests_on_all;       /* ... or on everything that is left */
    bool resting;            /* it is to be known, and not too much */
    bool unkept;             /* what was found for this f was too much */
    uint32_t rests_tasks;    /* those that it rests on, if tasks are many */
    uint64_t rests_number;
};

/* Makes room for `need` elements; false: no memory, and the engine's status says so. */
bool asx__dpor_grow(asx__dpor *d, void **memory, size_t *cap, size_t need, size_t size);
#define ASX__VEC_ROOM(d, vec, more)                                                                \
    (ASX__LIKELY((vec).len + (more) <= (vec).cap) ||                                               \
     asx__dpor_grow((d), (void **)&(vec).at, &(vec).cap, (vec).len + (more), sizeof *(vec).at))

#include "lab/dpor/clocks.h" /* which needs the above */

/* Where the name is, or belongs. Only the highest bits of the product depend on all of the name. */
static inline asx__place *asx__dpor_place(const asx__dpor *d, uint64_t name)
{
    size_t slot = (size_t)(name * ASX__HASH_M1 >> d->places_shift);
    while (ASX__UNLIKELY(d->places[slot].name != name) && d->places[slot].stamp == d->stamp)
        slot = (slot + 1) & (d->places_cap - 1);
    return &d->places[slot];
}

/* NONE: not accessed in this execution. */
static inline uint32_t asx__dpor_object_find(const asx__dpor *d, uint64_t name)
{
    const asx__place *place = asx__dpor_place(d, name);
    return place->stamp == d->stamp ? place->object : ASX__DPOR_NONE;
}

/* A name that no object has so far; in table.c. NONE: no memory. */
uint32_t asx__dpor_object_add(asx__dpor *d, uint64_t name);

/* Known from now on. NONE: no memory. */
static inline uint32_t asx__dpor_object_of(asx__dpor *d, uint64_t name)
{
    uint32_t object = asx__dpor_object_find(d, name);
    return ASX__LIKELY(object != ASX__DPOR_NONE) ? object : asx__dpor_object_add(d, name);
}

/* Is it to be asked whether it can go? If there are few, all are; in table.c. */
void asx__dpor_asked_far(asx__dpor *d, uint32_t task, bool asked);

static inline void asx__dpor_asked(asx__dpor *d, uint32_t task, bool asked)
{
    if (ASX__UNLIKELY(d->levels > 1))
        asx__dpor_asked_far(d, task, asked);
}

/* Those whose time has come are asked again; in table.c. */
void asx__dpor_wake_sleepers(asx__dpor *d);
/* Those who cannot go before it is changed are asked again; in dpor.c. */
void asx__dpor_wake_waiters(asx__dpor *d, asx__dpor_object *object);

static inline void asx__dpor_changed(asx__dpor *d, asx__dpor_object *object)
{
    if (ASX__UNLIKELY(object->waiters != 0))
        asx__dpor_wake_waiters(d, object);
}

/* An event as one word, the same in every execution and process. */
static inline uint64_t asx__event_word(const asx__dpor *d, const asx__dpor_event *event)
{
    return d->tasks[event->task].path + event->ordinal * ASX__HASH_M2;
}

/* Is the event taken away, or comes after one that is? The first one is in find.c. */
bool asx__is_away_far(const asx__dpor *d, uint32_t event);
static inline bool asx__is_away(const asx__dpor *d, uint32_t event)
{
    if (ASX__UNLIKELY(d->away_far))
        return asx__is_away_far(d, event);
    const uint32_t *row = asx__vclock_row(d, d->events[event].clock);
    for (uint32_t i = 0; i < d->away_len; i++)
        if (row[d->away[i].task] >= d->away[i].ordinal)
            return true;
    return false;
}

/* The access of this object by the event that is moved; NONE: it does not write it. Whatever comes
 * later on the object comes after it then. Where it has many they are known to their objects. */
#define ASX__MOVED_FEW 6u
static inline uint32_t asx__moved_access(const asx__dpor *d, uint32_t object)
{
    if (d->moving == ASX__DPOR_NONE)
        return ASX__DPOR_NONE;
    const asx__wide_event *w = &d->wide_events[d->moving];
    uint32_t i = w->accesses, end = i + w->len;
    if (ASX__UNLIKELY(w->len > ASX__MOVED_FEW)) {
        i = d->objects.at[object].moved;
        return i - w->accesses < w->len && d->accesses.at[i].object == object &&
                       d->accesses.at[i].writes ? i : ASX__DPOR_NONE;
    }
    for (; i < end; i++)
        if (d->accesses.at[i].object == object)
            return d->accesses.at[i].writes ? i : ASX__DPOR_NONE;
    return ASX__DPOR_NONE;
}

/* Which accesses of an object are looked at, from the last one back: all of them, those that write
 * or change it, those that write it. */
typedef enum asx__looking { ASX__LOOK_ALL, ASX__LOOK_CHANGES, ASX__LOOK_WRITES } asx__looking;

static inline uint32_t asx__prev_left(const asx__dpor *d, uint32_t access, asx__looking looking)
{
    const asx__access *a = &d->accesses.at[access];
    return looking == ASX__LOOK_ALL ? a->prev
           : looking == ASX__LOOK_CHANGES ? a->prev_change : a->prev_write;
}

/* The last, or if the event that is moved writes the object, the one before it. */
static inline uint32_t asx__last_left(const asx__dpor *d, uint32_t object, asx__looking looking)
{
    uint32_t moved = asx__moved_access(d, object);
    if (moved != ASX__DPOR_NONE)
        return asx__prev_left(d, moved, looking);
    const asx__dpor_object *o = &d->objects.at[object];
    return looking == ASX__LOOK_ALL ? o->last
           : looking == ASX__LOOK_CHANGES ? o->last_change : o->last_write;
}

static inline uint64_t asx__task_bit(uint32_t task)
{
    return UINT64_C(1) << (task & 63);
}

/* The objects that an operation on one of them may access somewhere: the parts of what was made. A
 * name that no object has. */
static inline uint64_t asx__group_of(uint64_t name)
{
    bool parts = name >> 62 == 1 && (name >> 58 & 15) - 1 < ASX__NAME_GHOST - 1; /* nor STACK */
    uint64_t base = parts ? name >> ASX__NAME_PART_BITS << ASX__NAME_PART_BITS : name;
    return base | UINT64_C(1) << 63;
}

/* dpor.c */
/* With the same schedule the task does something else than `op` (COUNT: not known) at the next
 * event. */
void asx__dpor_diverge(asx__dpor *d, uint32_t task, unsigned op);
/* What a CHOOSE that comes now has to answer. */
uint32_t asx__dpor_choice_of(asx__dpor *d, uint64_t choices);
/* The operation goes, and says how: sets its `pick`. Returns how many answers are to be tried. */
uint32_t asx__dpor_answer(asx__dpor *d, asx__op *op);
/* Can it do now what it has announced? */
bool asx__dpor_enabled(asx__dpor *d, uint32_t task);

/* valid.c */
/* Between executions: parts of the whole, and the whole. */
bool asx__events_are_valid(const asx__dpor *d);
bool asx__accesses_are_valid(const asx__dpor *d);
bool asx__timed_waiters_are_valid(const asx__dpor *d);
bool asx__nodes_are_valid(const asx__dpor *d);
bool asx__dpor_is_valid(const asx__dpor *d);

/* draw.c */
/* An execution begins; a task is there; it announces something; an event was done. */
void asx__draw_begin(asx__dpor *d);
void asx__draw_enter(asx__dpor *d, uint32_t task);
void asx__draw_announce(asx__dpor *d, uint32_t task);
void asx__draw_done(asx__dpor *d, uint32_t event);
/* NONE: no task is enabled. */
uint32_t asx__draw_choose(asx__dpor *d);
uint32_t asx__draw_any(asx__dpor *d);

/* table.c */
/* There is always a free place. */
bool asx__dpor_grow_places(asx__dpor *d);
/* Only task 0 is known. */
void asx__dpor_forget_names(asx__dpor *d);
void asx__dpor_class_note(asx__dpor *d);

/* share.c */
/* Gives away what `giving` says, before the next execution is planned. */
void asx__share_give(asx__dpor *d);
/* Puts what came late where it belongs. */
void asx__share_late(asx__dpor *d);
/* How much of the whole is done with the execution that is over. */
void asx__share_used(asx__dpor *d);
/* Wide: nothing is left of it. Returns false. */
bool asx__share_is_done(asx__dpor *d);
/* The events of `whole`, then `last`: something to try at a node of the backlog. */
void asx__share_found(asx__dpor *d, uint32_t node, asx__step last, const asx__prints *prints);

/* race.c */
/* The event is the last one; its clock is still its task's, without the event itself. Completes the
 * clock, and notes the alternatives in which it comes earlier. */
void asx__dpor_race(asx__dpor *d, uint32_t event, const asx__op *op);
/* The other answers. */
void asx__dpor_race_choice(asx__dpor *d, uint32_t event, uint64_t choices);
/* The tasks that never got to do what they announced could have done it earlier. */
void asx__dpor_race_pending(asx__dpor *d);
/* Puts the finished execution on the stack if it has alternatives. */
void asx__dpor_push(asx__dpor *d);
/* Plans the next execution from the stack; false: nothing is left. */
bool asx__dpor_pop(asx__dpor *d);

/* again.c */
/* Before an execution: how much of the one before it begins with; the rest is forgotten. */
void asx__again_begin(asx__dpor *d);
/* Events that are kept: does the task stand before what it did before? If not nothing is kept from
 * there on. */
bool asx__again_is_same(asx__dpor *d, uint32_t task);
uint64_t asx__again_commit(asx__dpor *d, uint32_t task);

/* wide.c */
bool asx__wide_enabled(asx__dpor *d, const asx__op *op);
/* What it would do now, in d->deed. False: no memory. */
bool asx__wide_deed(asx__dpor *d, const asx__op *op);
uint64_t asx__wide_commit(asx__dpor *d, uint32_t task);
/* Does the operation, if it is done now, conflict with the event? */
bool asx__wide_races(asx__dpor *d, uint32_t event, const asx__op *op);
/* State of an object in the execution without its marked events. */
uint64_t asx__wide_state_without(void *ctx, uint64_t name, const asx__op *op);

static inline asx__prints asx__wide_prints(const asx__dpor *d, uint32_t event)
{
    const asx__wide_event *w = &d->wide_events[event];
    return (asx__prints){ d->prints.at + w->accesses, w->len, w->all, w->touched, w->written,
                          w->several, false };
}

/* tree.c */
/* The execution stands before its next event. */
void asx__tree_enter(asx__dpor *d);
bool asx__tree_sleeps(const asx__dpor *d, uint32_t task);
/* Something to try at `node`: the events of `block`, which are in the execution, then `last`
 * with its prints, which `needs` what is in that clock. Forgotten if what is or will be tried there
 * covers it. d->late: the last event on which this rests, NONE if it rests on all of them. */
void asx__tree_insert(asx__dpor *d, uint32_t node, asx__vclock needs, asx__step last,
                      const asx__prints *prints);
/* Did it come after the event, in which case it was done behind it? True if that is not known. */
bool asx__tree_came_after(const asx__dpor *d, const asx__branch *sleeper, uint32_t event);
/* Is it among the sleepers of the node? */
bool asx__tree_knows(const asx__dpor *d, size_t node, const asx__branch *step);
/* Does the task sleep at the node, or is it the first of something to try there? */
bool asx__tree_has_task(const asx__dpor *d, uint32_t node, uint32_t task);
/* If the newest branch of the node is this answer of its task and nothing else, adds those after
 * it, of so many, but for the one that the event gave. */
bool asx__tree_add_answers(asx__dpor *d, uint32_t node, uint32_t choice, uint32_t answers);
/* Plans the next execution; false: nothing is left. */
bool asx__tree_pop(asx__dpor *d);
void asx__tree_clear(asx__dpor *d);

/* seen.c */
/* Names a sequence that ends with this step, which has so much behind it; the events that are left
 * are the rest. 0: it is not worth it, or no memory. */
uint64_t asx__seen_key(asx__dpor *d, uint32_t node, uint64_t history, asx__step last,
                       const asx__prints *prints);
/* Is it known that nothing comes of it? Sets d->late as asx__tree_insert() does. */
bool asx__seen_has(asx__dpor *d, uint32_t node, uint64_t key);
/* It was inserted: keeps what came of it. */
void asx__seen_put(asx__dpor *d, uint32_t node, uint64_t key);

/* find.c */
/* Sorts the events of the finished execution by task, once. False: no memory. */
bool asx__dpor_sort(asx__dpor *d);
/* Finds what could have been otherwise in the finished execution. */
void asx__find_races(asx__dpor *d);

#endif
