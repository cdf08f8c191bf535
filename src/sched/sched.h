/* sched.h - regions, tasks, lanes, obligations: the inside of a runtime, for the modules above.
 *
 * Words
 *   task      the semantic record: who, in which phase, with which outcome. 128 bytes.
 *   vehicle   how a task executes: a fiber (own stack) or a poll function (none).
 *   extra     the part of a task that most tasks do not need (budget, cleanups, scopes, links);
 *             allocated on first use.
 *   waitable  anything a task can wait for. It begins with a pointer to its ops.
 *   site      "file:line" of the creation.
 *
 * Threads. This is the code of one thread. A runtime with several workers lets one of them at a
 * time into it: engine.h says how. Letters on shared fields:
 *   I set at init   W the driving thread only, or whoever holds the engine
 * Everything is W unless it says I.
 *
 * Park and wake. A task is RUNNABLE (in one lane), RUNNING (rt->current), PARKED (in one waitable),
 * or ended. asx__wait_on() parks the task in a waitable and leaves; asx__wake() takes a PARKED
 * task out, hands it a status and queues it. Whoever wakes has finished the operation on behalf of
 * the sleeper (written the message, the permit, the join result), so the woken side only returns.
 * A cancel wakes through the same door after the waitable's unpublish has forgotten the task.
 *
 * A poll task cannot be written to while it is not running: its waker leaves the result where the
 * repeated call finds it, and what it was granted is given back if the call is not repeated.
 */
#ifndef ASX_SCHED_H
#define ASX_SCHED_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include <asx/runtime.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/list.h"
#include "base/rng.h"
#include "fiber/fiber.h"
#include "kernel/kernel.h"
#include "time/time.h"
#include "sched/exec.h"
#include "sched/inbox.h"
#include "sched/seam.h"
#include "trace/trace.h"

struct asx__task;
struct asx__region;

/* What a panic said; in the region's memory. */
typedef struct asx__panic_note {
    const char *name, *site, *message;
    uint64_t serial;
} asx__panic_note;

/* For the report: a task that was completed by force, or a region that was left open. In the
 * memory of the region that reports it. */
typedef struct asx__forced_note {
    struct asx__forced_note *next;
    const char *name, *site;
    uint64_t serial, polls;
    uint8_t waited_for; /* ASX__WAIT_... */
    bool left_open, lifted; /* a region; a task that went on, without its masks */
} asx__forced_note;

/* ---- memory: mem.c ------------------------------------------------------------------------- */

/* Slab: fixed-size records, addressed by a 32-bit index, never moved, recycled last-in first-out.
 * A record's first bytes are overwritten while it is free; `generation` fields must lie behind
 * the first 16 bytes and survive. */
typedef struct asx__slab_free {
    struct asx__slab_free *next;
    uint32_t index;
} asx__slab_free;

typedef struct asx__slab {
    char **chunks;         /* directory */
    char *first;           /* the first chunk, if records of it are looked up often ... */
    uint32_t first_len;    /* ... and how many it has; else 0 */
    asx__slab_free *free;
    uint32_t carved;       /* records ever handed out */
    uint32_t limit;        /* carved may grow to this without a new chunk */
    uint32_t chunk_count;
    uint32_t chunk_cap;
    uint32_t record_size;  /* I */
    uint8_t shift;         /* I: log2 of records per chunk */
    bool is_zero;          /* fresh chunks are: they are mapped */
} asx__slab;

void asx__slab_init(asx__slab *slab, size_t record_size, unsigned shift);
void asx__slab_deinit(asx_runtime *rt, asx__slab *slab);
/* Makes sure that the next `count` allocations do not fail. */
asx_status asx__slab_reserve(asx_runtime *rt, asx__slab *slab, uint32_t count);
void *asx__slab_alloc_slow(asx_runtime *rt, asx__slab *slab, uint32_t *ret_index);

static inline void *asx__slab_at(const asx__slab *slab, uint32_t index)
{
    uint32_t in_chunk = index & ((1u << slab->shift) - 1u);
    return slab->chunks[index >> slab->shift] + (size_t)in_chunk * slab->record_size;
}

/* NULL when memory or a ceiling is exhausted. A fresh record is all zero; a recycled one keeps
 * what its last life left behind the first 16 bytes. */
static inline void *asx__slab_alloc(asx_runtime *rt, asx__slab *slab, uint32_t *ret_index)
{
    asx__slab_free *record = slab->free;
    if (ASX__UNLIKELY(record == NULL))
        return asx__slab_alloc_slow(rt, slab, ret_index);
    slab->free = record->next;
    *ret_index = record->index;
    return record;
}

static inline void asx__slab_release(asx__slab *slab, void *memory, uint32_t index)
{
    asx__slab_free *record = memory;
    record->next = slab->free;
    record->index = index;
    slab->free = record;
}

/* From the runtime's allocator or static block, counted against memory_max. NULL: none left. */
void *asx__mem_alloc(asx_runtime *rt, size_t size);
/* The same for what will be used from end to end: a big piece comes in huge pages, if it can. */
void *asx__mem_alloc_dense(asx_runtime *rt, size_t size);
void asx__mem_free(asx_runtime *rt, void *memory, size_t size);
/* Does a piece of this size have pages of its own? */
bool asx__mem_is_mapped(const asx_runtime *rt, size_t size);

/* Memory that is not needed any more: tidy.c. */
typedef struct asx__tidy {
    asx_time at;           /* the next step; NEVER: none is to be made */
    uint64_t turns;        /* of the runtime when it was last seen to be tidy */
    uint16_t *pages;       /* of the task slab: free records in each, while they are counted;
                              ASX__PAGE_COLD: it was given back */
    uint32_t page_count;   /* entries of it */
    uint32_t cold_pages;
    uint32_t thaw_from;    /* none before this one is cold */
    bool records_seen;     /* many were free at the last step */
    uint64_t records_left; /* free ones that the last pass could not give back */
} asx__tidy;
#define ASX__PAGE_COLD UINT16_MAX

/* When the next step is due, for someone who is about to sleep. NEVER: there is nothing to do. */
asx_time asx__tidy_due(asx_runtime *rt);
/* Makes it. */
void asx__tidy_step(asx_runtime *rt);
/* Puts the records of a page that was given back onto the free list. False: there is none. */
bool asx__tidy_thaw(asx_runtime *rt);
void asx__tidy_deinit(asx_runtime *rt);

/* Region memory: bump blocks, freed together. */
struct asx__arena_block;
typedef struct asx__arena {
    struct asx__arena_block *blocks; /* newest first */
    char *next;
    char *end;
    uint64_t bytes; /* given out */
} asx__arena;
void *asx__arena_alloc(asx_runtime *rt, asx__arena *arena, size_t size);
void asx__arena_deinit(asx_runtime *rt, asx__arena *arena);

/* ---- waitables ----------------------------------------------------------------------------- */

struct asx__waitable;
typedef struct asx__waitable_ops {
    uint8_t kind;       /* ASX__WAIT_..., for reports and the journal */
    /* Somebody wants to end the wait of a parked task, and will, unless this says false: then it
     * goes on. NULL: it can be ended at any time. */
    bool (*give_up)(asx_runtime *rt, struct asx__waitable *waitable);
    /* Forgets the parked task. For a poll task that was woken with a grant it gives the grant
     * back (granted == true). */
    void (*unpublish)(asx_runtime *rt, struct asx__task *task, void *waitable, bool granted);
} asx__waitable_ops;

typedef struct asx__waitable {
    const asx__waitable_ops *ops; /* I */
    uint64_t serial;              /* of the object, for reports */
} asx__waitable;

/* Somebody wants to end the wait of a parked task. True: he cannot. */
static inline bool asx__wait_goes_on(asx_runtime *rt, asx__waitable *waitable)
{
    const asx__waitable_ops *ops = waitable->ops;
    return ops->give_up != NULL && !ops->give_up(rt, waitable);
}

/* The give_up of waits that no cancel ends. */
ASX__SEAM bool asx__wait_never_ends(asx_runtime *rt, asx__waitable *waitable);

/* ---- obligations: obligation.c ------------------------------------------------------------- */

/* An obligation. Ids count up and never come again; a name (permit, ack, handle) fits a record that
 * is live and has its id, so a copied or reused one is recognized by a comparison. Records of one
 * owner are chained, but for the one in a task's extra part: see obligation.c. */
typedef struct asx__obligation {
    struct asx__obligation *older, *newer; /* in the owner's chain; overwritten while free */
    asx__atomic_u64 id;     /* A: while a task uses its own record, others may look at it */
    union {               /* what it is about: a channel's place, a region; NULL: not live */
        asx__atomic_ptr object; /* A */
        void *object_now; /* of a runtime with one worker, or of the running task's own */
    };
    void *owner;          /* asx__task or, for PLAIN and LEASE, asx__region */
    const char *site;
    uint8_t kind;         /* asx_obligation_kind */
    uint8_t state;        /* RESERVED or LEAKED */
    uint16_t note;        /* the object's own, of a new one undefined; so is ... */
    uint32_t detail;      /* ... this (place of an unacknowledged message), which begins as 0 */
    uint32_t index;       /* in registry.records; ASX__OBLIGATION_OWN: in an extra part */
} asx__obligation;
#define ASX__OBLIGATION_OWN UINT32_MAX

static inline uint64_t asx__obligation_id(const asx__obligation *o)
{
    return asx__load_relaxed(&o->id);
}

static inline void *asx__obligation_object(const asx__obligation *o)
{
    return asx__load_relaxed(&o->object);
}

typedef void (*asx__obligation_release)(asx_runtime *rt, asx__obligation *obligation);

typedef struct asx__registry {
    asx__slab records;
    asx__obligation *memories, *memories_oldest; /* leaked, region gone: a few, newest first */
    uint32_t memory_count;
    uint64_t last_id;     /* the newest ever given out */
    uint64_t live;        /* reserved ones in `records` */
    uint64_t leaked;      /* ever */
    uint64_t max;         /* ceiling on live ones; 0: none */
    asx__obligation_release release[16]; /* by kind: what the end of the holding task does */
} asx__registry;

/* ---- tasks --------------------------------------------------------------------------------- */

enum asx__task_flags {
    ASX__T_POLL = 1u << 0,       /* vehicle: poll function */
    ASX__T_STARTED = 1u << 1,    /* has run: a fiber has a stack now */
    ASX__T_HANDLE = 1u << 2,     /* somebody may join it: keep the record */
    ASX__T_CANCEL = 1u << 3,     /* cancellation requested */
    ASX__T_METERED = 1u << 4,    /* finite poll quota */
    ASX__T_TIMED = 1u << 5,      /* finite deadline: timed lane */
    ASX__T_YIELDED = 1u << 6,    /* poll task: the yield repeated in the next resumption returns */
    ASX__T_RENEWED = 1u << 7,    /* poll task: made a wait in this resumption */
    ASX__T_GRANTED = 1u << 8,    /* poll task: woken with something to pick up */
    ASX__T_VALUE = 1u << 9,      /* r.value holds what its joiner will get */
    ASX__T_RAISED = 1u << 10,    /* its priority is not 0 */
    ASX__T_FORCED = 1u << 11,
    ASX__T_PANICKED = 1u << 12,
    ASX__T_GRACE = 1u << 13,     /* overran its cleanup: masks are lifted, a last few resumptions */
    ASX__T_EXTERNAL = 1u << 14,  /* its waker was called while it did not wait */
    ASX__T_INLINE = 1u << 15,    /* runs in its joiner's place, who goes on when it ends */
    ASX__T_EXTRA = 1u << 16,     /* extra != NULL */
    ASX__T_JOINER = 1u << 17,    /* joiner != NULL */
    ASX__T_PINNED = 1u << 18,    /* runs on one worker only: number `pinned` - 1 */
    ASX__T_EXPLORED = 1u << 19,  /* a poll function that runs on a fiber: see seam.h */
    ASX__T_TOLD = 1u << 20,      /* its masks were lifted for it to run, and it has not yet */
    ASX__T_LIFTED = 1u << 22, ASX__T_FAILED = 1u << 21 /* a mask of it was lifted; see failed.h */
};
/* With any of these a cancellation point has something to look at. */
#define ASX__T_CHECKED (ASX__T_CANCEL | ASX__T_METERED | ASX__T_TIMED | ASX__T_FAILED)
/* A task with any of these cannot be resumed by a bare switch. */
#define ASX__T_NOT_DIRECT                                                                          \
    (ASX__T_POLL | ASX__T_CHECKED | ASX__T_RAISED | ASX__T_INLINE | ASX__T_PINNED)

/* A task with any of these enters the engine of a shared runtime for whatever it does. */
#define ASX__T_NO_OUTING (ASX__T_CHECKED | ASX__T_GRANTED)

/* In a free record waits, joiner, reason and extra are NULL, and generation is 0. */
typedef struct asx__task {
    union {
        asx__node node;        /* lane or wait list; `next` of a poll task in a join: its target */
        asx_timer_handle sleep; /* poll task that sleeps */
    };
    union {
        struct { asx_task_fn fn; void *arg; } fresh;     /* fiber that has not run */
        struct { asx__stack *stack; void *sp; } fiber;   /* fiber that has */
        struct { asx_poll_fn fn; void *state; } poll;
    } u;
    uint32_t flags;
    uint32_t index;            /* I: of the record */
    struct asx__region *region;
    uint8_t phase;             /* asx_task_state */
    uint8_t priority;          /* in its lane now */
    uint8_t mask_depth;
    uint8_t outcome;           /* asx_outcome_kind, when completed */
    uint16_t cleanup_left;     /* resumptions, once cancelled */
    uint8_t exec;              /* enum asx__exec */
    uint8_t pinned;            /* if flags say so: worker + 1 */
    union {
        asx__waitable *waits;  /* PARKED, or poll task with a wait to renew */
        intptr_t status;       /* RUNNABLE: handed over by the waker; completed: its status */
        asx_task_fn start;     /* fiber between getting its stack and its first instruction */
    } w;
    union {
        void *io;              /* PARKED fiber: where the waker puts the result; or start's arg */
        uint64_t value;        /* completed: for the joiner */
    } r;
    uint64_t generation;       /* runtime number << 48 | serial */
    struct asx__task *joiner;  /* parked in asx_join on this task */
    const asx_cancel_reason *reason; /* of its cancellation; in the region's arena */
    struct asx__extra *extra;
    const char *name;
    const char *site;
    uint32_t sibling_next;     /* index + 1, 0: none; in order of creation */
    uint32_t sibling_prev;
} asx__task;

_Static_assert(sizeof(asx__task) == 128 || sizeof(void *) != 8, "task record is two cache lines");

typedef struct asx__cleanup {
    struct asx__cleanup *next;
    asx_call_fn fn;
    void *arg;
} asx__cleanup;

/* A node of an asx_task_link(); one in each of the two tasks. */
typedef struct asx__link {
    struct asx__link *next;
    struct asx__link *twin;
    asx__task *task; /* the other one; NULL once it has ended */
} asx__link;

typedef struct asx__extra {
    asx_budget budget;           /* what is left */
    asx__cleanup *cleanups;      /* LIFO */
    struct asx__region *scopes;  /* open regions it owns, innermost first */
    asx__link *links;
    uint64_t timed_seq;          /* order of arrival in the timed lane */
    asx__obligation *obligations; /* it holds, newest first */
    asx__obligation permit;      /* its own record for a plain send permit, one at a time */
    uint32_t timed_pos;          /* index + 1 in the heap; 0: not in it */
    uint32_t index;
    asx_time sleep_until;        /* poll task that sleeps longer than a timer can */
    asx_timer_handle deadline;   /* of its own budget */
    struct asx__waker_cell *waker;
    uint64_t wake_seq;           /* journal: event that woke or spawned it */
    uint32_t mask_polls[ASX_MASK_DEPTH_MAX]; /* resumptions each still holds for: see mask.c */
    struct asx__region *place;   /* where room is kept for a task that it will spawn ... */
    uint64_t place_generation;   /* ... in this life of the record */
    uint8_t mask_base;           /* masks below are the runtime's, or a caller's */
    uint32_t caps;               /* of those of its region */
    uint32_t stack_class;        /* index + 1 of its pool; 0: the default one */
    uint64_t wait_note;          /* poll task: kept for it by what it waits for ... */
    uint64_t wait_notes[2];      /* ... and more of it */
} asx__extra;

/* ---- regions ------------------------------------------------------------------------------- */

typedef struct asx__finalizer {
    struct asx__finalizer *next;
    asx_call_fn fn;
    void *arg;
    uint64_t number;
} asx__finalizer;

/* Something of a higher module that lives in a region: told when the region finalizes and when it
 * has closed. Channels are these. */
struct asx__resident;
typedef struct asx__resident_ops {
    /* Finalizing: release what others hold of it; add what the report should say. */
    void (*finalize)(asx_runtime *rt, struct asx__resident *resident);
    /* Closed: the region's memory goes away now. */
    void (*retire)(asx_runtime *rt, struct asx__resident *resident);
    /* Messages that nobody has received yet (quiescence). */
    uint64_t (*undelivered)(const struct asx__resident *resident);
} asx__resident_ops;

typedef struct asx__resident {
    struct asx__resident *next;
    const asx__resident_ops *ops; /* I */
} asx__resident;

typedef struct asx__region {
    asx__node link;               /* among the parent's children, in order of creation */
    uint64_t generation;
    asx_runtime *rt;              /* I */
    uint8_t state;                /* asx_region_state */
    uint8_t policy, cleanup, leak, admission;
    bool scoped;                  /* opened by a task for itself: nested in that task */
    bool timed_out;               /* its own deadline fired */
    bool outer_cancel;            /* cancelled from outside */
    bool self_cancel;             /* fail-fast, body failure, lost race */
    bool closing_asked;           /* close has been called: somebody will look at the result */
    bool left_open;               /* its owner ended, or closed an outer one first */
    bool cancel_told;             /* its children know of a reason */
    bool cancel_listed;           /* in rt->cancel_stack ... */
    bool cancel_held;             /* ... or still held up because it was: in rt->cancel_held */
    bool shielded;                /* opened under a mask of its owner: see cancel.c */
    bool unheard;                 /* nobody asks what its close says */
    bool answers;                 /* that is what a call answers, which opened it for one task */
    bool explored;                /* its owner stands before the operation that closes it */
    bool finalizing;              /* its finalizer task has been started */
    bool leaks_allowed, child_failed, own_failure; /* failed.h */
    bool plain;                   /* its budget says nothing */
    bool fast;                    /* Open, plain, no sticky failure, no limit on tasks; rt->fast
                                     and nobody narrowed */
    uint32_t index;
    struct asx__region *parent;
    asx__node children;           /* regions, oldest first */
    uint32_t task_first, task_last; /* index + 1; 0: none */
    asx__task *task_tail;         /* the record of task_last */
    uint64_t spawned;             /* tasks, ever, without finalizers that have ended */
    uint64_t live_regions, live_obligations;
    uint32_t tasks_max, regions_max, obligations_max, caps;
    uint64_t memory_max;
    const char *name, *site;
    asx__task *owner;             /* who opened it; NULL: the runtime */
    struct asx__region *owner_next; /* next outer scope of the same owner */
    asx__waitable close_wait;     /* the owner waits here */
    asx__task *closer;            /* parked in it */
    asx__waitable admission_wait;
    asx__node admission_queue;
    uint64_t places;              /* kept for tasks that waited: see admission.c */
    const asx_cancel_reason *reason; /* of its cancellation */
    struct asx__region *cancel_next, *held_next;
    asx_budget budget;            /* what its tasks get at most */
    uint64_t cleanup_time_ns;
    asx_time timeout_at;          /* own deadline by timeout_ns ... */
    asx_time deadline_at;         /* ... and by its own budget; NEVER: none, or the parent's */
    asx_time cleanup_at;          /* earliest time at which a cancelled task overruns */
    asx_timer_handle timer;       /* one for all three */
    asx_time timer_at;            /* what it is armed for; NEVER: not armed */
    struct asx__region *unarmed_next; /* in rt->unarmed */
    bool unarmed;                 /* there was no memory for its timer */
    uint32_t busy;                /* somebody walks it: not to be freed now */
    struct asx__forced_note *forced; /* tasks that were completed by force, newest first */
    asx__finalizer *finalizers;   /* LIFO */
    uint64_t finalizer_count;
    uint64_t finalizer_now;       /* number of the one that is running; 0: none */
    asx__task *finalizer_task;    /* reserved at the first defer, spawned at the end */
    asx__obligation *obligations; /* plain ones, newest first */
    asx__resident *residents;
    void *io_house;               /* one of those: of the things that src/io has here */
    asx__stack *kept;             /* stacks of tasks ended from outside; owner: the pool */
    struct asx__panic_note *panic_note; /* of the first task that panicked */
    asx__arena arena;
    asx_outcome outcome;          /* folded */
    asx_outcome failure;          /* first child that ended Err, by creation */
    bool panicked;
    asx_status body, setup;       /* the latter sticks */
    asx_status result;            /* once Closed */
    struct asx_close_report *report; /* the closer's, filled when it closes ... */
    bool report_kept;             /* ... or a copy from the runtime's memory, for a poll task */
    uint64_t n_ok, n_err, n_cancelled, n_panicked, n_forced, n_lifted, n_leaked, n_aborted;
    uint64_t n_discarded, n_finalized, n_kept;
} asx__region;

/* ---- lanes --------------------------------------------------------------------------------- */

/* 256 FIFO lists by priority. Clear bit: the list is empty. Set bit: perhaps it is not. */
typedef struct asx__queue {
    uint32_t words; /* likewise, a bit for each of: */
    uint64_t bits[4];
    asx__node queue[256];
} asx__queue;

typedef struct asx__timed_entry {
    asx_time deadline;
    uint64_t seq;
    asx__task *task;
} asx__timed_entry;

/* A task as the walk of a cancellation remembers it; cancel.c. */
typedef struct asx__told {
    uint32_t link;       /* index + 1; 0: none */
    uint64_t generation; /* its record may be another's by now */
} asx__told;

/* ---- who watches --------------------------------------------------------------------------- */

/* Somebody who watches a runtime: src/see. Set and taken away while nobody drives. */
typedef struct asx__watch {
    void (*busy)(struct asx__watch *watch); /* a thread begins to run tasks ... */
    void (*idle)(struct asx__watch *watch); /* ... and has none to run any more */
    /* The task is about to be suspended; NULL: one has ended. */
    void (*leaving)(struct asx__watch *watch, const asx_runtime *rt, const struct asx__task *task);
    void (*gone)(struct asx__watch *watch); /* the runtime is being destroyed */
    bool sees_leaving;                      /* I: wants to be told of each */
} asx__watch;

/* ---- runtime ------------------------------------------------------------------------------- */

#define ASX__TURN 64 /* dispatches between two looks at the clock */
/* Tasks of a turn that may go first because the running one has woken them: several workers. */
#define ASX__SLOT_MOST (ASX__TURN / 4)
/* Dispatches in a row that may go before the lanes because of joins. */
#define ASX__INLINE_MOST (4 * ASX__TURN)
#define ASX__HOT 1u       /* values of `hot` */
#define ASX__HOT_LEAVE 2u
#define ASX__STACK_CLASSES 12
#define ASX__SYNC_KINDS 11 /* mutex, semaphore, ...: see sync/object.h */

/* What a thread carries while it drives, for the case that a task ends it: see process.h. */
typedef struct asx__driving {
    asx_runtime *rt;
    void *outer;           /* of a runtime that is driven inside a task of another */
    asx_time until;
    void (*go_on)(struct asx__driving *driving);
} asx__driving;

struct asx_runtime {
    /* hot */
    asx__task *current;
    uint8_t hot;           /* not 0: the ready list of priority 0 goes next, whatever happens in
                              it; ASX__HOT_LEAVE: and whoever leaves may switch there at once */
    uint32_t turn_left;
    bool tracing;          /* I */
    bool lab;              /* I */
    uint8_t hot_most;      /* as hot as it gets: asx__hot_most() */
    bool in_cleanup;       /* runtime-side cleanup is running: nothing may park */
    bool yield_due;        /* the running poll task has given way already */
    asx_status poll_failure; /* the last that a poll task told asx_poll_fail() ... */
    uint64_t poll_failed;  /* ... and its generation */
    asx__stack_pool *pool; /* default stack class */
    asx__task *tasks_free; /* records: linked by node.next; NULL at the end */
    asx__slab tasks;       /* where they come from; its own free list is not used */
    uint64_t task_generation;
    asx_time now;
    void *host_sp;         /* the loop, while a fiber runs */
    asx__stack host_stack;
    asx__stack *host;      /* the stack that the loop runs on */
    struct asx_runtime *gate;   /* I: what handles of a shared runtime carry; else NULL */
    struct asx_runtime *behind; /* I: of a gate: the runtime; else NULL */
    struct asx__engine *engine; /* I: of a shared runtime; else NULL */
    const asx__seam *seam; /* of an explored runtime; else NULL */
    asx__found_fn *found;  /* of a laboratory; else NULL */
    bool own_poll;         /* explored: the next poll task is the runtime's own */

    asx__queue ready;
    asx__queue cancel;
    asx__timed_entry *timed;
    uint32_t timed_len, timed_cap;
    uint32_t timed_tasks;  /* live tasks that may need a place in the heap */
    uint64_t timed_seq;
    uint32_t cancel_streak, cancel_streak_max, timed_streak, timed_streak_max;
    asx_governor governor;
    asx_fairness_certificate cert;
    asx__rng rng;

    asx__registry registry;
    asx__slab regions, extras, channels, senders, syncs;
    uint64_t region_generation, channel_serial, channel_generation;
    uint64_t sync_serials[ASX__SYNC_KINDS];
    uint64_t live_regions, live_channels, tasks_forced, stacks_kept;
    uint64_t tasks_ended;  /* ever; see asx__live_tasks() */
    uint64_t fibers_live;  /* counted unless `fast` */
    uint64_t turns;

    uint64_t task_ceiling, fiber_ceiling; /* I */
    bool fast;             /* I: no journal, no ceilings on tasks and fibers */
    bool narrowed;         /* some region or task has not all capabilities, or had not */
    asx__region *near_region; /* the one that was last spawned into, or another; never NULL */

    asx__region *root;
    asx__region *cancel_stack; /* regions whose children are to be told of its cancellation ... */
    asx__region *cancel_held;  /* ... and that go on closing when all have been */
    asx__region *cancel_at;    /* the one whose tasks are being told, between two pieces ... */
    asx__told cancel_told, cancel_next; /* ... the last of them that was, and the one behind it */
    uint32_t cancel_callers;   /* who do not return before nothing is pending */
    bool cancel_walking;       /* somebody works the stack off */
    asx__region *unarmed;      /* regions whose timer could not be had: see asx__regions_look() */
    asx__task *main_task;
    bool started, finished;
    bool shut_down;        /* somebody has tried to, as long as he wanted */
    uint64_t leaks_refused; /* leaks in regions that do not allow them: fail a lab run */
    asx_status result;

    asx_timer_wheel timers;
    asx__clock clock;
    asx__monotonic_clock real;
    asx__virtual_clock virtual_;
    bool virtual_clock, manual_clock; /* the first: I; the second: asx_runtime_advance() moves it */
    asx__waitable sleep_wait, external_wait, yield_wait, join_wait;

    /* Work on other threads: blocking.h. */
    asx__inbox inbox;
    uint64_t jobs_out;     /* jobs that have not come back */
    struct asx__blocking *blocking;
    struct asx__reactor *reactor; /* input and output; NULL: none yet */

    asx__stack_pool pools[ASX__STACK_CLASSES];
    bool pool_ready[ASX__STACK_CLASSES];

    asx__trace trace;
    uint64_t running_seq;  /* journal: the last event of the current task */

    /* memory */
    asx_allocator allocator;
    bool own_allocator;    /* the C library's: big blocks may be mapped */
    char *block, *block_end; /* static memory: bump pointer ... */
    void *block_free[40];    /* ... and free lists by power of two */
    uint64_t memory_bytes;
    asx__tidy tidy;

    jmp_buf *cleanup_again; /* runtime-side cleanup that may panic: back to here */
    jmp_buf *loop_again;   /* where a poll function that panicked is left to */
    jmp_buf loop_here;     /* that, of a runtime with one worker */
    asx__task *over;       /* task that asked the loop to end it (panic) */
    asx__task *handoff;    /* taken out of its lane by a fiber for the loop to run */
    asx__task *next_up;    /* goes next, before the lanes (join) */
    uint32_t inline_streak; /* dispatches in a row that went before the lanes */
    uint32_t turn_slow;    /* dispatches of this turn that were counted one by one */
    uint32_t slot_left;    /* tasks that may go first in this turn because they were woken ... */
    const asx__node *slot; /* ... and the last one that does; it may be gone */
    bool endless;          /* the loop is not to stop after so many dispatches */
    asx_runtime_config config;
    uint16_t number;
    asx_close_report deadlock; /* who waited for ever, until asked for */
    asx_close_report *ending;  /* of a shutdown that is under way; NULL: nobody wants one */
    bool driving;          /* the loop is on the host's stack */
    bool in_run;           /* asx_runtime_run() has begun and not ended */
    bool fork_had_it;      /* while the process forks: the engine was that thread's already */
    asx__driving drives;   /* one worker: the note of the thread that drives */
    bool ended;            /* run-end is in the journal */
    struct asx_runtime *registry_next; /* process.h */
    uint64_t registered;   /* process.h: tells a runtime from memory that is none */
    sigset_t host_mask;    /* I: what the thread that made it has blocked */
    asx__watch *watch;     /* NULL: nobody */
    pthread_t driver;      /* the thread that drives, or drove last ... */
    int32_t driver_tid;    /* ... as the system knows it; 0: nobody yet, or it was not asked */
    bool driver_known;
    bool reports_overflow; /* fault.c */
    void *alternate;       /* ... its maker's signal stack; NULL: not given one */
    stack_t alternate_before;
};

/* Never with a journal or in the laboratory, nor when somebody sees every task leave. In a program
 * with C++ whoever leaves looks first whether it holds an exception. */
static inline uint8_t asx__hot_most(const asx_runtime *rt)
{
    bool seen = rt->watch != NULL && rt->watch->sees_leaving;
    if (rt->tracing || rt->lab || seen)
        return 0;
    return asx__fiber_globals_exist() ? ASX__HOT : ASX__HOT_LEAVE;
}

/* ---- scheduling: run.c, lanes.c ------------------------------------------------------------- */

/* Parks the running task in `waitable` (which has published it) and runs something else. Returns
 * the status that the waker hands over. Fibers only; call as `return asx__park(...)`. */
ASX__SEAM asx_status asx__park(asx_runtime *rt, asx__task *task, asx__waitable *waitable, void *io);

/* For both vehicles, after the waitable has linked task->node where its waker finds it: a fiber
 * parks, a poll task is marked and gets ASX_E_WOULD_BLOCK. */
asx_status asx__wait_on(asx_runtime *rt, asx__task *task, asx__waitable *waitable, void *io);

/* Before publishing: may the running task wait for this now? A poll task that already made another
 * wait in this resumption gets ASX_E_BUSY; one left over from the last resumption is withdrawn.
 * ASX_E_WRONG_CONTEXT in runtime-side cleanup. */
asx_status asx__wait_prepare(asx_runtime *rt, asx__task *task, asx__waitable *waitable);

/* For a repeated call of a poll task: was this wait granted? Clears the grant and the wait. */
static inline bool asx__wait_granted(asx__task *task, const asx__waitable *waitable)
{
    if ((task->flags & ASX__T_GRANTED) == 0 || task->w.waits != waitable)
        return false;
    task->flags &= ~(uint32_t)ASX__T_GRANTED;
    task->w.waits = NULL;
    return true;
}

/* Wakes a PARKED task that has been taken out of its wait list. A fiber's wait returns `status`; a
 * poll task is resumed, and keeps waits == waitable with T_GRANTED set if `grant`. */
ASX__SEAM void asx__wake(asx_runtime *rt, asx__task *task, asx_status status, bool grant);

/* As asx__wake(), but the task goes next, if nobody else does. */
ASX__SEAM void asx__wake_next(asx_runtime *rt, asx__task *task, asx_status status);
void asx__dequeue(asx_runtime *rt, asx__task *task);
/* The next task to run by the lane rules, taken out of its lane; NULL: none. */
asx__task *asx__pick(asx_runtime *rt);
/* What asx__leave() and asx__enqueue() of hot.h leave to others. */
asx_status asx__leave_slow(asx_runtime *rt, asx__task *task);
void asx__enqueue_slow(asx_runtime *rt, asx__task *task);
/* A fiber that was refused a wait with this status lets others go first; returns the status. */
asx_status asx__give_way_refused(asx_runtime *rt, asx__task *task, asx_status status);
/* Leaves the running fiber for the loop on the host's stack, for good. */
_Noreturn void asx__leave_for_good(asx_runtime *rt, asx__task *task);
/* Runs until `dispatches_max` are done or nothing is runnable. True: something is left. */
bool asx__run_some(asx_runtime *rt, uint64_t dispatches_max);
/* Walks through all lanes; for audits. */
bool asx__lanes_are_valid(const asx_runtime *rt);
ASX__SEAM bool asx__lanes_are_empty(asx_runtime *rt);
asx_time asx__clock_read(asx_runtime *rt);
asx_status asx__drive(asx_runtime *rt, asx_time until);

static inline unsigned asx__exec_state(const asx__task *task)
{
    return task->exec;
}

/* In a lane, or next_up, or handoff. */
static inline bool asx__is_queued(const asx__task *task)
{
    return asx__exec_is_queued(asx__exec_state(task));
}

static inline int asx__lane_of(const asx__task *task)
{
    if (task->flags & ASX__T_CANCEL)
        return ASX__LANE_CANCEL;
    return task->flags & ASX__T_TIMED ? ASX__LANE_TIMED : ASX__LANE_READY;
}

static inline void asx__exec_set(asx__task *task, enum asx__exec state)
{
    task->exec = (uint8_t)state;
}

/* ---- tasks: task.c, spawn.c ---------------------------------------------------------------- */

/* Upper halves of the words of handles that may act in every state. */
#define ASX__TASK_WORD (((uint64_t)ASX_TAG_TASK << 48) | ((uint64_t)ASX_STATE_MASK_ALL << 32))
#define ASX__REGION_WORD (((uint64_t)ASX_TAG_REGION << 48) | ((uint64_t)ASX_STATE_MASK_ALL << 32))

static inline uint64_t asx__serial(uint64_t generation)
{
    return generation & ASX__GENERATION_COUNT_MASK;
}

/* Tasks that have not ended. */
static inline uint64_t asx__live_tasks(const asx_runtime *rt)
{
    return asx__serial(rt->task_generation) - rt->tasks_ended;
}

static inline uint64_t asx__region_live_tasks(const asx__region *region)
{
    return region->spawned - region->n_ok - region->n_err - region->n_cancelled -
           region->n_panicked;
}

/* The extra part, made on first use. NULL: no memory. */
asx__extra *asx__task_extra(asx_runtime *rt, asx__task *task);
/* The end of a task that returned ASX_OK and is joined, with nothing else to be taken care of;
 * false: asx__task_finish() must do it. */
bool asx__task_finish_joined(asx_runtime *rt, asx__task *task);
/* The same for a cancelled task that was told. */
bool asx__task_finish_cancelled(asx_runtime *rt, asx__task *task);
/* The function has returned (or was given up): cleanups, permits, outcome, region, joiner. */
void asx__task_finish(asx_runtime *rt, asx__task *task, asx_status returned);
/* Finalizers must run also when memory is short: their task's record is reserved at the first
 * asx_defer(), spawned when the children are gone, or dropped with the region. */
asx_status asx__task_reserve_finalizer(asx_runtime *rt, asx__region *region);
void asx__task_spawn_finalizer(asx_runtime *rt, asx__region *region, asx_task_fn fn);
void asx__task_drop_finalizer(asx_runtime *rt, asx__region *region);
/* A poll task with a cleanup of its own from the beginning. The cleanup is the caller's memory, and
 * is called even if the task is never run; not if the spawn fails. Inside. */
asx_status asx__spawn_poll_owning(const asx_region *region, const char *name, asx_poll_fn fn,
                                  void *state, asx__cleanup *cleanup, asx_task *ret_task,
                                  const char *site);
/* The task is gone: its waker, if somebody still has it, does nothing from now on. */
void asx__waker_orphan(struct asx__waker_cell *cell);
void asx__task_recycle(asx_runtime *rt, asx__task *task);
void asx__task_release_extra(asx_runtime *rt, asx__task *task);
asx_status asx__task_resolve(const asx_task *task, asx__task **ret_task);
/* It could not be resolved with this status: it is a handle of an explored runtime whose task was
 * joined, or lived in a region that is closed. */
bool asx__task_may_be_joined(const asx_task *handle, asx_status st);
/* A task that called asx_panic() and was left by its worker. */
void asx__task_end_panicked(asx_runtime *rt, asx__task *task);
/* The running task has called pthread_exit(): it ends as one that panicked. */
void asx__task_thread_ended(asx_runtime *rt);
_Noreturn void asx__fiber_main(void *arg, int ret);
_Noreturn void asx__fiber_main_shared(void *arg, int ret);
/* The pool of stacks of this size, made on first use. NULL: no such class. */
asx__stack_pool *asx__runtime_pool(asx_runtime *rt, size_t stack_size, uint32_t *ret_class);
static inline uint32_t asx__task_caps(const asx__task *task)
{
    uint32_t caps = task->region->caps;
    return ASX__UNLIKELY(task->flags & ASX__T_EXTRA) ? caps & task->extra->caps : caps;
}
/* May whoever calls by a handle, which brings no context along, do this? Outside a task: yes. */
static inline bool asx__caller_may(const asx_runtime *rt, uint32_t cap)
{
    return rt->current == NULL || (asx__task_caps(rt->current) & cap) != 0;
}
void asx__task_run_cleanups(asx_runtime *rt, asx__task *task, bool runtime_side);
/* On its own fiber, before it ends: closes what it left open, runs its cleanups. */
asx_status asx__task_wind_up(asx_runtime *rt, asx__task *task, asx_status returned);
/* The task that a parked joiner waits for; NULL: it does not wait in a join. */
asx__task *asx__join_target(const asx_runtime *rt, const asx__task *joiner);
void asx__task_waitables_init(asx_runtime *rt);
void asx__cx_waitables_init(asx_runtime *rt);
/* Calls on the runtime's side; a panic inside comes back as ASX_E_PANICKED. */
asx_status asx__call_guarded(asx_runtime *rt, asx_cx *cx, asx_call_fn fn, void *arg);

/* ---- cancellation: cancel.c, propagate.c ---------------------------------------------------- */

/* What every cancellation point asks first. */
ASX__SEAM asx_status asx__checkpoint_slow(asx_runtime *rt, asx__task *task);
static inline asx_status asx__checkpoint(asx_runtime *rt, asx__task *task)
{
    if (ASX__LIKELY((task->flags & ASX__T_CHECKED) == 0))
        return ASX_OK;
    return asx__checkpoint_slow(rt, task);
}
/* The same where nothing is going to wait: it never gives way. */
asx_status asx__tell(asx_runtime *rt, asx__task *task);
static inline asx_status asx__tell_if_needed(asx_runtime *rt, asx__task *task)
{
    if (ASX__LIKELY((task->flags & ASX__T_CHECKED) == 0))
        return ASX_OK;
    return asx__tell(rt, task);
}

/* The task is about to do an operation on `of`, with these members of asx__operation; see seam.h.
 * asx__verdict. */
#define asx__announce(rt, task, op, of, ...)                                                       \
    (ASX__UNLIKELY((rt)->seam != NULL)                                                             \
         ? (rt)->seam->announce((rt)->seam->ctx, (task),                                           \
                                &(asx__operation){ .kind = (op), .object = (of), __VA_ARGS__ })    \
         : (uint64_t)ASX__GOES)

/* The running task has made something, with these members of asx__creation. */
#define asx__creates(rt, ...)                                                                      \
    ((void)(ASX__UNLIKELY((rt)->seam != NULL) &&                                                   \
            ((rt)->seam->created((rt)->seam->ctx, (rt)->current,                                   \
                                 &(asx__creation){ __VA_ARGS__ }), true)))

/* Does this fail now, because an explorer wants to see that? Asked where a call begins, since
 * others may go before the answer. Which of its allocations fails cannot be told from outside. */
static inline bool asx__fails(const asx_runtime *rt, asx__fault fault)
{
    return ASX__UNLIKELY(rt->seam != NULL) && rt->seam->fails != NULL &&
           rt->seam->fails(rt->seam->ctx, rt->current, fault);
}

/* Does a mask defer a cancellation of the task? */
ASX__SEAM bool asx__task_masked(const asx__task *task);
/* One more resumption of a cancelled task under its masks. */
void asx__mask_charge(asx__task *task);
/* The open regions of a task that was cancelled. */
void asx__cancel_scopes(asx_runtime *rt, asx__task *task);
/* Scopes that a mask kept from its owner's cancellation are told, if it does so no longer. */
void asx__scopes_catch_up(asx_runtime *rt, asx__task *task);
/* Just opened, without a mask: it is cancelled if its owner is, or the scope around it. */
void asx__scope_begins(asx_runtime *rt, asx__region *scope, asx__task *owner);

/* `reason` is in an arena that outlives the task. */
ASX__SEAM void asx__task_cancel(asx_runtime *rt, asx__task *task, const asx_cancel_reason *reason);
/* Tells the whole tree below, depth first, before any of it goes on closing. With several workers a
 * big tree is told in pieces: what is left to do then is pending. */
ASX__SEAM void asx__region_cancel(asx_runtime *rt, asx__region *region,
                                  const asx_cancel_reason *reason);
/* Copies a reason, and as much of its causes as fits, into the region's arena. NULL: no memory.
 * The chain's memory comes from the region `home`. */
const asx_cancel_reason *asx__reason_copy(asx_runtime *rt, asx__region *home,
                                          const asx_cancel_reason *reason);
ASX__SEAM const asx_cancel_reason *
asx__reason_make(asx_runtime *rt, asx__region *home, asx_cancel_kind kind, const asx__region *from,
                 const asx__task *origin_task, const char *message, const asx_cancel_reason *cause);
/* The task, queued in this execution state, is told before it runs: a place that a fiber waited for
 * and was given goes to the next. True: its wait has to say so. A poll task's grant goes when it
 * does not pick it up. */
bool asx__take_back(asx_runtime *rt, asx__task *task, unsigned exec);
/* Charges a resumption of a cancelled task; true: it overran and was completed by force. */
bool asx__cleanup_charge(asx_runtime *rt, asx__task *task);
/* Ends overdue cancelled tasks of a region and arms its timer again. */
ASX__SEAM void asx__region_timer_fired(void *region);
void asx__region_arm(asx_runtime *rt, asx__region *region);
ASX__SEAM void asx__region_disarm(asx_runtime *rt, asx__region *region);
/* Once per turn while rt->unarmed is not empty: does what the timers of those regions would. */
void asx__regions_look(asx_runtime *rt);
/* When something may be due, timers and regions without one; NEVER: nothing is pending. */
ASX__SEAM asx_time asx__next_deadline(asx_runtime *rt);
ASX__SEAM void asx__task_force(asx_runtime *rt, asx__task *task);
/* Resumptions that a cancelled task has used for its cleanup, those of the last grace included. */
uint32_t asx__cleanup_used(const asx__task *task);
/* For the report: the task is completed by force, or else its masks are lifted. */
void asx__region_note_overrun(asx_runtime *rt, asx__task *task, bool forced);
void asx__region_note_left(asx__region *home, const asx__region *left);
/* A copy in the region's memory for a note that outlives what it speaks of; "": no memory. */
const char *asx__region_keep_name(asx__region *home, const char *name);
/* The stack stays until the region closes: somebody may still borrow from it. */
void asx__region_keep_stack(asx_runtime *rt, asx__task *task);
void asx__task_links_fire(asx_runtime *rt, asx__task *task, bool failed);
/* Charges a metered or timed task before a resumption; may request its cancellation. */
void asx__budget_charge(asx_runtime *rt, asx__task *task);
/* The same for one resumption of an explored task. True: nothing is left, and it is to be cancelled
 * for this reason: */
ASX__SEAM bool asx__budget_poll(asx_runtime *rt, asx__task *task, asx_cancel_kind *ret_kind);
ASX__SEAM void asx__budget_exhaust(asx_runtime *rt, asx__task *task, asx_cancel_kind kind);

/* ---- regions: region.c ---------------------------------------------------------------------- */

ASX__SEAM asx_status asx__region_resolve(const asx_region *region, uint16_t endpoint_mask,
                                         asx__region **ret_region);
/* The innermost region that the task has open; NULL: none. */
asx__region *asx__task_scope(const asx__task *task);
asx_status asx__region_create(asx_runtime *rt, asx__region *parent, asx__task *owner,
                              const asx_region_options *options, const char *site, bool scoped,
                              asx__region **ret_region);
bool asx__region_is_valid(const asx__region *region);
/* A child has ended, or something else may let a closing region go on. */
void asx__region_progress(asx_runtime *rt, asx__region *region);
void asx__region_begin_close(asx_runtime *rt, asx__region *region);
void asx__region_set(asx_runtime *rt, asx__region *region, asx_region_state to);
void asx__region_free(asx_runtime *rt, asx__region *region);
/* Frees what a region holds, in whatever state it is: the runtime goes away. */
void asx__region_discard(asx_runtime *rt, asx__region *region);
asx__region_facts asx__region_facts_of(const asx__region *region);
/* Brings `fast` up to date. */
void asx__region_classify(asx__region *region);
/* Somebody has these capabilities: if they are not all, spawns ask from now on. */
void asx__caps_narrowed(asx_runtime *rt, uint32_t caps);
asx_status asx__region_sticky(asx__region *region, asx_status status);
/* Folds the outcome of an ended child, and fails fast if that is the policy. */
void asx__region_child_ended(asx_runtime *rt, asx__region *region, asx__task *task,
                             asx_outcome outcome);
void asx__region_fold(asx_runtime *rt, asx__region *region, asx__task *task, asx_outcome outcome);
asx_status asx__region_run_finalizers(asx_cx *cx, void *region);
/* Their task ends, and the one that was running will not return: it panicked, or was forced. */
void asx__region_finalizer_left(asx_runtime *rt, asx__region *region, asx_status st);
/* Is this the task that runs the region's finalizers? */
bool asx__region_runs_finalizers(const asx__region *region, const asx__task *task);
/* Admission: admission.c. Room for one more task in a region with a limit on them; may wait. */
asx_status asx__region_admit_task(asx_runtime *rt, asx__region *region);
void asx__region_admit_waiters(asx_runtime *rt, asx__region *region);
void asx__region_refuse_waiters(asx_runtime *rt, asx__region *region);
/* What is kept for the task goes to the next; false: nothing was. */
bool asx__task_leave_place(asx_runtime *rt, asx__task *task);
extern const asx__waitable_ops asx__admission_ops;
asx_region asx__region_name(const asx__region *region);
/* Region's memory; NULL: none left. */
void *asx__region_memory(asx__region *region, size_t size);
/* Leaves behind by its owner: cancelled, drained and folded into the parent. */
void asx__region_abandon(asx_runtime *rt, asx__region *region);
asx_status asx__region_close_task(asx_runtime *rt, asx__region *region, asx_status body,
                                  const asx_cancel_reason *reason, asx_close_report *report);
/* Registers a channel or the like. */
static inline void asx__region_host(asx__region *region, asx__resident *resident)
{
    resident->next = region->residents;
    region->residents = resident;
}

/* ---- obligations: obligation.c -------------------------------------------------------------- */

void asx__registry_init(asx_runtime *rt);
void asx__registry_deinit(asx_runtime *rt);
/* Resolves everything the task still holds, through registry.release. */
void asx__obligations_end_task(asx_runtime *rt, asx__task *task);
void asx__obligations_leak_region(asx_runtime *rt, asx__region *region);
uint64_t asx__obligations_live(const asx_runtime *rt);
void asx__obligations_forget_region(asx_runtime *rt, asx__region *region);

/* ---- reports: report.c ---------------------------------------------------------------------- */

void asx__report_begin(asx_runtime *rt, asx_close_report *report);
void asx__report_close(asx_runtime *rt, asx_close_report *report, const asx__region *region);
/* The numbers alone. */
void asx__report_counts(asx_close_report *report, const asx__region *region);
void asx__report_live(asx_runtime *rt, asx_close_report *report, const asx__region *region);
void asx__report_task(asx_runtime *rt, asx_close_report *report, const asx__task *task);
void asx__report_obligation(asx_runtime *rt, asx_close_report *report,
                            const asx__obligation *obligation, const asx__region *region);
void asx__report_channel(asx_runtime *rt, asx_close_report *report, const asx__region *region,
                         uint64_t serial, const char *name, uint64_t discarded);
/* "root/server/conn" into a buffer, always terminated, cut at the front when too long. */
void asx__region_path(const asx__region *region, char *buffer, size_t size);

/* ---- the running task behind a context ------------------------------------------------------ */

/* ASX_OK: cx belongs to the task that runs now and has the capabilities. */
static inline asx_status asx__cx_enter(const asx_cx *cx, uint32_t caps, asx__task **ret_task,
                                       asx_runtime **ret_rt)
{
    if (ASX__UNLIKELY(cx == NULL || cx->rt_ == NULL))
        return ASX_E_INVALID_ARGUMENT;
    asx__task *task = cx->task_;
    asx_runtime *rt = cx->rt_;
    if (ASX__UNLIKELY(rt->current != task || task == NULL)) /* nobody runs, and nobody asks */
        return ASX_E_WRONG_CONTEXT;
    ASX__DEBUG_ASSERT(asx__exec_is_on(task->exec)); /* F5 */
    if (ASX__UNLIKELY((cx->caps_ & caps) != caps))
        return ASX_E_CAPABILITY;
    *ret_task = task;
    *ret_rt = rt;
    return ASX_OK;
}

/* Journal. Returns the event's number, 0 when tracing is off. */
ASX__SEAM uint64_t asx__journal(asx_runtime *rt, uint32_t kind, uint64_t object, uint64_t a,
                                uint64_t b, uint64_t cause);
/* The same in the name of another task than the running one. */
uint64_t asx__journal_as(asx_runtime *rt, const asx__task *task, uint32_t kind, uint64_t object,
                         uint64_t a, uint64_t b, uint64_t cause);

/* Fault hook: fault.c */
asx_status asx__fault_register(asx_runtime *rt);
/* ASX_E_SYSTEM: the signal stack could not be given back, so its memory is not freed. */
asx_status asx__fault_unregister(asx_runtime *rt);
/* A thread that runs tasks gets a signal stack to report from, if it has none; without memory for
 * it an overflow there is just a fault. NULL: it got none. */
void *asx__fault_enter_thread(const asx_runtime *rt);
void asx__fault_leave_thread(void *stack);

#endif
