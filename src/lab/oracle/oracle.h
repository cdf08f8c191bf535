/* oracle.h - the oracles of a laboratory, fed with the events of its journal.
 *
 * They know what the events say and nothing else, so that a recorded trace can be judged as well
 * as a running program, and a test can show each of them firing by changing one event of a good
 * trace. Objects that were created before the first event that was heard are not judged.
 *
 * The first complaint stays. Memory grows with the number of objects that a run creates; a new
 * execution forgets them and keeps the memory.
 */
#ifndef ASX_LAB_ORACLE_H
#define ASX_LAB_ORACLE_H

#include <asx/oracle.h>
#include <asx/trace.h>

#include "base/assert.h"

#define ASX__WATCHES_MAX 16
#define ASX__GHOSTS_MAX 1024
#define ASX__NACKED_MAX 64

/* Records by serial number: those of base .. base + len - 1. */
typedef struct asx__seen_table {
    char *at;
    uint64_t base;
    size_t len, cap, size;
    size_t puts; /* how often something was put into it */
} asx__seen_table;

typedef struct asx__ghost {
    const void *object;
    uint64_t owner;     /* serial of the task it belongs to; 0: nobody */
    uint64_t borrower;  /* of the exclusive borrow, or of the last shared one */
    uint64_t sleepless; /* serial of the task that may not wait while it borrows; 0: none */
    uint32_t shared;    /* borrows */
    bool exclusive;
} asx__ghost;

typedef struct asx__oracles {
    asx_complaint complaint;
    asx__seen_table tasks, regions, channels, obligations, timers, mutexes, onces;
    uint64_t now_seq;
    uint64_t dispatches;      /* task-run events so far */
    uint64_t idle_events;     /* of the schedule, since the last that got on */
    uint64_t tasks_live, obligations_live;
    uint64_t last_obligation; /* that was reserved */
    uint64_t livelock_max, futurelock_max;
    bool partial;             /* not every wake and run is heard (explorer) */
    bool coalesced;           /* timers may be late */
    bool ended;
    char waiting[256];        /* who waited for what when it was shut down */
    bool stuck;               /* ... and everybody did */
    bool held;                /* ... and one of them held what others may have waited for */
    struct {
        asx_oracle_fn fn;
        void *ctx;
    } watches[ASX__WATCHES_MAX];
    unsigned watches_len;
    asx__ghost *ghosts;       /* ASX__GHOSTS_MAX, made on first use */
    size_t ghosts_len;
    struct asx__races *races; /* made on first use */
    bool others;              /* there are watches, or plain cells */
    bool races_on;            /* in this run there are plain cells */
    bool races_strict;        /* ... and atomic loads and stores count as plain */
} asx__oracles;

void asx__oracles_init(asx__oracles *o);
void asx__oracles_deinit(asx__oracles *o);
/* A new run: forgets everything but the settings. */
void asx__oracles_begin(asx__oracles *o);
/* Those that hear events of a kind; NULL: nobody does. */
typedef void asx__oracle_hears(asx__oracles *o, const asx_event *event);
#define ASX__HEARD_KINDS (ASX_EVENT_ONCE_END + 1)
extern asx__oracle_hears *const asx__oracles_hearers[ASX__HEARD_KINDS];
/* As asx__oracles_hear() where there are others. */
void asx__oracles_hear_all(asx__oracles *o, const asx_event *event);

static inline void asx__oracles_hear_own(asx__oracles *o, const asx_event *event)
{
    uint32_t kind = event->kind;
    bool does = kind - ASX_EVENT_TASK_RUN > ASX_EVENT_TASK_YIELD - ASX_EVENT_TASK_RUN;
    o->now_seq = event->seq;
    o->idle_events &= (uint64_t)does - 1; /* 0 if something was done */
    if (ASX__LIKELY(kind < ASX__HEARD_KINDS) && ASX__LIKELY(asx__oracles_hearers[kind] != NULL))
        asx__oracles_hearers[kind](o, event);
}

static inline void asx__oracles_hear(asx__oracles *o, const asx_event *event)
{
    if (ASX__UNLIKELY(o->others))
        asx__oracles_hear_all(o, event);
    else
        asx__oracles_hear_own(o, event);
}
/* How many obligations the task has. */
uint32_t asx__oracles_held_by(const asx__oracles *o, uint64_t task);
/* The run is over; `status` is what it returned. Returns whether anybody has complained. */
bool asx__oracles_end(asx__oracles *o, asx_status status);
/* For what is found outside: complains unless somebody did before. */
void asx__oracles_complain(asx__oracles *o, asx_oracle oracle, const char *format, ...)
    ASX_PRINTF(3, 4);

/* What the task waits for, ASX__WAIT_..., and the serial of that. */
uint32_t asx__oracles_waits(const asx__oracles *o, uint64_t task, uint64_t *ret_object);
/* Who keeps a task waiting for something of that sort, as far as events tell: who has to end, or
 * holds it. One may be told several times. */
typedef void asx__keeper_fn(void *ctx, uint64_t task);
void asx__oracles_keepers(const asx__oracles *o, uint64_t task, uint32_t wait, uint64_t object,
                          asx__keeper_fn *tell, void *ctx);
/* Who waits for what, "task 2 waits: mutex-lock 1, kept by task 3; ...", behind a circle if there
 * is one: "cycle: task 2 -> task 3 -> task 2". */
void asx__oracles_describe(const asx__oracles *o, char *buffer, size_t size);
/* Data races: a plain cell is accessed, with which it begins; an atomic cell is; a place that
 * orders is come to. `task` is a serial. In race.c. */
void asx__races_access(asx__oracles *o, uint64_t task, const void *address, bool writes,
                       const char *site);
typedef enum asx__atomic_kind {
    ASX__ATOMIC_LOAD,
    ASX__ATOMIC_STORE,
    ASX__ATOMIC_CHANGE   /* a cas, a fetch-add */
} asx__atomic_kind;
void asx__races_atomic(asx__oracles *o, uint64_t task, const void *address, asx__atomic_kind kind,
                       const char *site);
void asx__races_meet(asx__oracles *o, uint64_t task, const void *address);
/* The task has found that an object is closed, or done, or was woken (an asx__found_fn of
 * sched/seam.h, with the same `created` and `serial`): it knows what was done before that. */
void asx__races_learn(asx__oracles *o, uint64_t task, uint32_t created, uint64_t serial);
/* Looks for them from now on. False: no memory. */
bool asx__races_begin(asx__oracles *o, uint64_t task);
void asx__races_hear(asx__oracles *o, const asx_event *event);
/* Serials of a task's region, and of the task that opened a region; 0: not known. */
uint64_t asx__oracles_region_of(const asx__oracles *o, uint64_t task);
uint64_t asx__oracles_owner_of(const asx__oracles *o, uint64_t region);
/* Ghosts: what the running task, by its serial, does. In ghost.c. */
void asx__ghosts_waits(asx__oracles *o, uint64_t task);

#endif
