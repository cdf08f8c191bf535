/* dpor.h - the engine that decides which schedule comes next: one execution per class.
 *
 * It knows nothing of the runtime. A driver (explore.c; a test's interpreter) runs a program over
 * and over. In each execution it announces what every task is about to do, asks which task goes,
 * does it, and tells what was accessed; at the end it asks whether there is another execution.
 *
 * Words
 *   operation  what a task is about to do: a kind (sched/operations.h), an object, two arguments
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

#include "base/atomic.h"
#include "base/rng.h"
#include "base/bytes.h"
#include "sched/operations.h"

const char *asx__op_str(unsigned kind);
/* ASX__O_... of each kind. */
extern const uint32_t asx__op_traits[ASX__OP_COUNT];

/* An operation that can go in several ways: how many, is asked when it is its turn, and may depend
 * on nothing but what is before it. */
typedef struct asx__answers {
    uint32_t (*count)(const struct asx__answers *self);
    uint32_t pick; /* of 0 .. count - 1, when it was done */
    bool costs;    /* an answer other than 0 counts towards asx__dpor_options.costs */
} asx__answers;

typedef struct asx__op {
    asx__op_kind kind;
    uint32_t size;   /* of the object, in bytes: 1, 2, 4, 8 */
    void *object;    /* whose state is in memory; NULL: CHOOSE, or the state is with the engine */
    uint64_t a, b;   /* value; expected and desired; addend; owner; number of choices; capacity;
                        time */
    const char *site;
    uint64_t name;   /* of the object or channel, the same in every execution; 0: its address */
    uint64_t other;  /* name of a second object: a condition's mutex, a receiver; 0: none */
    uint64_t cx;     /* name of the task's cancel flag; 0: this is no cancellation point. END, and
                        what fails: the flag of the task that opened the region */
    uint64_t fails;  /* bits of `cx`'s part FAILED: regions whose failure ends the wait, or that
                        fail now; 0: none */
    union {
        const uint64_t *targets; /* names of the cancel flags that it sets, each with the shields
                                    in front of it, or of the ends that it waits for; borrowed
                                    until the end of the execution */
        const struct asx_lab_device *device; /* DEVICE: who tells what it does */
    };
    uint32_t targets_len;
    uint32_t aims;         /* there may be more targets than those: see asx__dpor_options; 0: no */
    uint32_t pick;         /* the answer, once it is done */
    asx__answers *answers; /* borrowed until it is done; NULL: there is one */
} asx__op;

/* How an operation on one of the engine's own objects went. */
typedef enum asx__found {
    ASX__FOUND_DONE,
    ASX__FOUND_NOTHING,  /* no room, no message, held */
    ASX__FOUND_CLOSED,
    ASX__FOUND_CANCELLED,
    ASX__FOUND_LAGGED,   /* others than it came for */
    ASX__FOUND_TICKET = 16 /* it waits; plus the number of its place */
} asx__found;

/* A timer that a task has registered by itself. */
enum { ASX__TIMER_PENDING = 1, ASX__TIMER_GONE = 2 };

/* How a task ended, as its end tells. */
enum { ASX__FIN_OK = 1, ASX__FIN_FAILED = 2 };

/* A made name: what, of which task, its how manyeth; the low bits are free for parts. Below 2^63,
 * and never an address. */
typedef enum asx__name_tag {
    ASX__NAME_STACK,   /* a cell on the stack of a task */
    ASX__NAME_CHANNEL,
    ASX__NAME_LOCK,
    ASX__NAME_CANCEL,
    ASX__NAME_FIN,
    ASX__NAME_CLOCK,
    ASX__NAME_REGION,
    ASX__NAME_WAKER,
    ASX__NAME_LINK,    /* between two tasks */
    ASX__NAME_MEMORY,  /* a cell in memory of a region */
    ASX__NAME_GHOST,   /* what is said of an object: its address, or as a cell */
    ASX__NAME_GHOST_STACK,
    ASX__NAME_GHOST_MEMORY,
    ASX__NAME_TIMER,   /* that a task has registered by itself */
    ASX__NAME_DUE      /* those of one time, in their order: the time */
} asx__name_tag;
#define ASX__NAME_PART_BITS 28
#define ASX__NAME_NTH_MOST 0xfffu /* of more only so many bits are in it */
#define ASX__NAME_TASK_MOST 0x3ffffu
#define ASX__NAME(tag, task, nth)                                                                  \
    ((UINT64_C(1) << 62) | ((uint64_t)(tag) << 58) |                                               \
     ((uint64_t)(task) & ASX__NAME_TASK_MOST) << 40 |                                              \
     ((uint64_t)(nth) & ASX__NAME_NTH_MOST) << ASX__NAME_PART_BITS)
#define ASX__NAME_TAG_OF(name) ((asx__name_tag)((name) >> 58 & 0xf))
#define ASX__NAME_TASK_OF(name) ((uint32_t)((name) >> 40 & ASX__NAME_TASK_MOST))
#define ASX__NAME_IS_MADE(name) ((name) >> 62 == 1)

/* Of a cancel flag: the regions that the task has opened and that have failed, a bit for each. */
enum { ASX__PART_FAILED = 1 };

/* Of a region: part 0 is its flag. How many tasks are in it. Bit 0: it has begun to close, bit 1:
 * its set-up has failed. 1: its finalizers run, 2: it is closed. How many regions, how many
 * obligations. Opened under a mask: its shield. */
enum {
    ASX__PART_PLACES = 1,
    ASX__PART_STOPPED = 2,
    ASX__PART_GONE = 3,
    ASX__PART_REGIONS = 4,
    ASX__PART_OBLIGATIONS = 6,
    ASX__PART_SHIELD = 8
};
/* Its owner has had a mask since it was opened; has none now; has another one. */
enum { ASX__SHIELD_NEW, ASX__SHIELD_DOWN, ASX__SHIELD_AGAIN };
/* Of a region that was opened under a mask. */
static inline bool asx__is_shield(uint64_t name)
{
    return ASX__NAME_TAG_OF(name) == ASX__NAME_REGION &&
           (name & ((UINT64_C(1) << ASX__NAME_PART_BITS) - 1)) == ASX__PART_SHIELD;
}

/* Its flag. */
enum { ASX__REGION_TIMED_OUT = 1, ASX__REGION_CLOSED = 2, ASX__REGION_CANCELLED = 4 };
/* How a SPAWN goes: it waits for room; it fails, and nothing can be started there afterwards; what
 * is made is a region. */
enum { ASX__START_WAITS = 1, ASX__START_FAILS = 2, ASX__START_OPENS = 4 };
/* `b` of a CLOSE_REGION: it is closed by the end of its finalizers, which begin now. */
enum { ASX__CLOSE_BEGINS_FINALIZERS = 1 };

/* `b` of an operation on a channel: in this test nobody drops a sender or the receiver of one, so
 * that `closed` need not be looked at; nobody has permits, acks or evicts, so that `claims` is
 * `tail` and need not be kept. */
enum { ASX__CHANNEL_STAYS = 1, ASX__CHANNEL_IS_PLAIN = 2 };

/* Parts of a channel. */
enum {
    ASX__PART_CLOSED,
    ASX__PART_SENDERS,
    ASX__PART_CLAIMS,
    ASX__PART_TAIL,
    ASX__PART_HEAD,
    ASX__PART_UNACKED,
    ASX__PART_DESERTED, /* nobody receives from it any more; `closed` says so too */
    ASX__PART_SLOT = 8,
    ASX__PART_ENDPOINT = 1 << 26, /* and its number */
    ASX__PART_ENDPOINT_MASK = ASX__PART_ENDPOINT - 1
};

typedef struct asx__op_effect {
    bool enabled;
    bool writes;
    uint64_t after;  /* state of the object afterwards */
} asx__op_effect;

/* What an operation on one object does to it in this state. Pure. */
asx__op_effect asx__op_eval(const asx__op *op, uint64_t state);

/* An object that an operation accesses. A read may change the state too, if its change commutes
 * with those of other reads: then `change` is what it adds. */
typedef struct asx__touch {
    uint64_t name;
    uint64_t after;  /* state, if it writes */
    uint64_t change; /* added to the state, if it reads */
    bool writes;
} asx__touch;

/* What an operation does somewhere. Disabled: the touches are what must change for it to become
 * enabled. */
typedef struct asx__deed {
    bool enabled;
    bool all;        /* conflicts with everything */
    bool short_cut;  /* it accesses less than it would have otherwise: cancelled, closed */
    uint64_t found;  /* state of the object, or asx__found */
    asx__touch *touches;
    size_t len, cap;
} asx__deed;

/* The state of an object at the place in question; `op` tells where its memory is. */
typedef uint64_t asx__state_fn(void *ctx, uint64_t name, const asx__op *op);

/* What the operation does where `state` tells the states. Pure. False: no memory. */
bool asx__op_run(const asx__op *op, asx__state_fn *state, void *ctx, asx__deed *ret_deed);
/* More than one object, or one that only the engine knows: not for asx__op_eval(). */
bool asx__op_is_wide(const asx__op *op);
static inline uint64_t asx__op_name(const asx__op *op)
{
    return op->name != 0 ? op->name : (uint64_t)(uintptr_t)op->object;
}
/* It says that a region has failed. */
static inline bool asx__op_tells(const asx__op *op)
{
    return op->fails != 0 && (op->kind == ASX__OP_END || (op->b & ASX__START_FAILS) != 0);
}
/* It waits with a ticket, and of these parts accesses that one alone, wherever it is done; 0: it
 * does not. */
static inline uint64_t asx__op_ticket(const asx__op *op)
{
    bool waits = (asx__op_traits[op->kind] & ASX__O_TICKET) != 0;
    return waits ? op->name + ASX__PART_SLOT + op->a : 0;
}
/* Something that was opened under a mask is among its targets. */
bool asx__op_has_shields(const asx__op *op);

/* It is never disabled and always accesses the same object. */
static inline bool asx__op_is_plain(const asx__op *op)
{
    uint32_t traits = asx__op_traits[op->kind];
    uint64_t cx = (traits & ASX__O_LATE) == 0 ? op->cx : 0; /* END sets one */
    if ((traits & ASX__O_PLAIN) != 0)
        return (cx | op->targets_len) == 0 || (cx == 0 && !asx__op_has_shields(op));
    return (traits & ASX__O_STEADY) != 0;
}

/* State of an object of 1, 2, 4 or 8 bytes. */
uint64_t asx__state_read(const void *object, uint32_t size);
void asx__state_write(void *object, uint32_t size, uint64_t state);

typedef enum asx__dpor_mode {
    ASX__DPOR_OPTIMAL, /* every class once */
    ASX__DPOR_SOURCE,  /* every class, by source sets: some executions are begun in vain */
    ASX__DPOR_DFS,     /* every interleaving */
    ASX__DPOR_RANDOM,  /* every step any enabled task, equally likely */
    ASX__DPOR_PCT,     /* random priorities that change at random steps */
    ASX__DPOR_POS,     /* partial order sampling: random priorities of operations */
    ASX__DPOR_SAMPLE,  /* one execution after the other in one of the ways of asx__dpor_way */
    ASX__DPOR_REPLAY   /* the given plan, once */
} asx__dpor_mode;

/* How a sampled execution draws its steps. */
typedef enum asx__dpor_way {
    ASX__WAY_RANDOM, /* any enabled task */
    ASX__WAY_ROLE,   /* any role that has enabled tasks, then any of these */
    ASX__WAY_PCT,
    ASX__WAY_STICKY, /* as ROLE, but the running task mostly goes on */
    ASX__WAY_POS,
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
    uint64_t found;      /* wide: what asx__dpor_commit() returned; what an old load saw */
    uint64_t term;       /* its share of the sum over the class */
    uint32_t objects;    /* how many were known before it */
    uint32_t clock;      /* of all that is before it, and of itself; see clocks.h */
    const char *site;
    uint8_t kind;        /* asx__op_kind */
    bool writes;
    bool by_default;
    uint32_t rows, rows_end; /* of its clock: between these; see clocks.h */
} asx__dpor_event;

/* Numbers of tasks for several processes, in memory that they share. */
#define ASX__COMMON_NAMES_MOST 65536
typedef struct asx__common_names {
    asx__atomic_u32 lock;
    uint32_t len;          /* under the lock */
    struct {
        uint32_t parent, nth;
    } at[ASX__COMMON_NAMES_MOST];
} asx__common_names;

/* The number of that task, given on first use. ASX__DPOR_NONE: there are too many. */
uint32_t asx__common_name(asx__common_names *common, uint32_t parent, uint32_t nth);

/* Sums of classes; see table.c. */
#define ASX__CLASSES_MOST ((size_t)1 << 18)
typedef struct asx__classes {
    uint64_t *at;    /* free(); 0: no entry */
    size_t cap, len;
    uint64_t mask;   /* sums that have none of these bits are compared */
} asx__classes;

/* 1: it is new, 2: it was there, 0: it is not compared, -1: no memory. From `most` entries on fewer
 * and fewer are compared. */
int asx__classes_add(asx__classes *c, uint64_t sum, size_t most);
void asx__classes_clear(asx__classes *c);

/* What a process gives to the others of what it has to do. */
typedef enum asx__giving {
    ASX__GIVE_NOTHING,
    ASX__GIVE_TOP,   /* what lies highest in the tree, and is likely to be most of it */
    ASX__GIVE_BETS,  /* the same; or if nobody could take it what can be bet on, see backlog.h */
    ASX__GIVE_ALL,
    ASX__TAKE_BACK,  /* of the process: what it gave, and nobody took, is its own again */
    ASX__HEAR_LATE,  /* of the process: something was found for its bet */
    ASX__GIVE_UP     /* of the process: what it does is a bet that was lost */
} asx__giving;

typedef struct asx__dpor_options {
    asx__dpor_mode mode;
    uint64_t seed;        /* 0: the running task goes on; else the default is drawn */
    uint64_t steps_max;   /* of one execution */
    uint32_t depth;       /* PCT: number of priority changes + 1 */
    uint32_t bound;       /* DFS: number of preemptions allowed + 1; 0: any */
    uint32_t delays;      /* DFS: number of delays allowed + 1; 0: any */
    uint32_t costs;       /* answers other than 0 that cost, of one execution, + 1; 0: any */
    bool check;           /* compare classes */
    asx__common_names *names; /* NULL: this process is alone; borrowed */
    /* Finds all targets that the operation before which the task stands has by now, and gives
     * `aims` another value if they may be others than before. Called when they are needed. */
    void (*aim)(void *ctx, uint32_t task, asx__op *op);
    void *aim_ctx;
} asx__dpor_options;

typedef struct asx__dpor_stats {
    uint64_t executions;
    uint64_t steps;       /* of all executions */
    uint64_t steps_longest;
    uint64_t tasks_most;  /* sampling: of one execution; else that were ever started */
    uint64_t redundant;   /* executions whose class was seen before, as far as checked */
    uint64_t checked;     /* executions that were compared */
    uint64_t classes;     /* seen, as far as checked */
    uint64_t deadlocks;
    uint64_t blocked;     /* executions given up because everything that could go slept */
    uint64_t bounded;     /* DFS: alternatives left out because of the bound */
    uint64_t branches;    /* wide: steps in the trees of what is left to do */
    uint64_t branches_most;
    uint64_t frames;      /* pending alternatives: executions that have some */
    uint64_t frames_most;
    uint64_t memory_bytes;
    uint64_t span;        /* PCT: priorities changed in so many first steps */
    double done;          /* of the whole, guessed; 1: all */
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
/* The clock, as a task that can do nothing but ADVANCE, when no other task can do anything; the
 * same number in every execution. ASX__DPOR_NONE: no memory. */
uint32_t asx__dpor_clock_task(asx__dpor *d);
/* The runtime's own tasks have numbers like these among those that their owner has started. */
#define ASX__DPOR_TIMER 0x80000000u
#define ASX__DPOR_FINALIZER 0x40000000u
#define ASX__DPOR_HIDDEN (ASX__DPOR_TIMER | ASX__DPOR_FINALIZER)
/* The deadline of the nth region that `owner` has opened, or its own, as a task; the same number in
 * every execution. ASX__DPOR_NONE: no memory. */
uint32_t asx__dpor_timer_task(asx__dpor *d, uint32_t owner, uint32_t nth);
/* What the task will do when it is its turn. */
void asx__dpor_announce(asx__dpor *d, uint32_t task, const asx__op *op);
/* The task is about to access a cell that has no other name than its address. Is that where it was
 * in the last execution in which the task had done the same before? What is left to try names it by
 * that. If not, the status is ASX_E_DIVERGED. True also where it makes no difference. */
bool asx__dpor_is_where_it_was(asx__dpor *d, uint32_t task, uint64_t address);
/* It will not do it. */
void asx__dpor_withdraw(asx__dpor *d, uint32_t task);
/* The task that goes now: it is announced and enabled. ASX__DPOR_NONE: none is, or the program did
 * not follow the plan (asx__dpor_status() < 0), or the execution is too long. */
uint32_t asx__dpor_choose(asx__dpor *d);
/* The chosen task does what it announced: changes the object, notes the event. Returns the state
 * the object had, or the choice of a CHOOSE. */
uint64_t asx__dpor_commit(asx__dpor *d, uint32_t task);
/* The last event, a load with several answers, saw this. */
void asx__dpor_saw(asx__dpor *d, uint64_t value);
/* `task` has waited for the end of `ended`. */
void asx__dpor_joined(asx__dpor *d, uint32_t task, uint32_t ended);
void asx__dpor_ended(asx__dpor *d, uint32_t task);
/* How many events the task has done. */
uint32_t asx__dpor_done(const asx__dpor *d, uint32_t task);
/* A task that the runtime itself starts for the nth region that `owner` has opened: its finalizers.
 * The same number in every execution. ASX__DPOR_NONE: no memory. */
uint32_t asx__dpor_finalizer_task(asx__dpor *d, uint32_t owner, uint32_t nth);
/* The execution has failed: if it gets stuck, that comes of it and is no deadlock. */
void asx__dpor_fails(asx__dpor *d);
/* The execution is over; `stuck`: tasks are left and none can go. True: there is another one. */
bool asx__dpor_finish(asx__dpor *d, bool stuck);

/* ASX_OK, ASX_E_DIVERGED (the program is not deterministic, or a replayed schedule is not one of
 * this program), ASX_E_RESOURCE_EXHAUSTED. */
asx_status asx__dpor_status(const asx__dpor *d);
/* Was the execution given up, because others cover all that it could become? */
bool asx__dpor_blocked(const asx__dpor *d);
/* The state of an object that the engine keeps; 0 until somebody says otherwise. */
uint64_t asx__dpor_state(asx__dpor *d, uint64_t name);
/* The targets of what the task stands before are found, if they may be others by now. */
void asx__dpor_aim(asx__dpor *d, uint32_t task);
/* What it is at first: before anything accesses it. */
void asx__dpor_put(asx__dpor *d, uint64_t name, uint64_t state);
/* The operation of an event that a shield has stopped, to tell it more targets; NULL: none did. */
asx__op *asx__dpor_stopped(asx__dpor *d, uint32_t event);
/* The last event has written this too. */
void asx__dpor_also(asx__dpor *d, uint64_t name, uint64_t state);
/* The last event, which conflicts with everything, has done this too; it is always enabled. Returns
 * what it found. */
uint64_t asx__dpor_does(asx__dpor *d, const asx__op *op);
bool asx__dpor_is_wide(const asx__dpor *d);
/* Begins anew after this execution; all operations may access several objects then. */
void asx__dpor_restart(asx__dpor *d);
/* A task came to an operation that the exploration was not prepared for: it begins anew when the
 * execution is finished, and nothing that it counted so far holds. */
bool asx__dpor_restarts(const asx__dpor *d);
/* Was the execution cut off at steps_max? */
bool asx__dpor_too_long(const asx__dpor *d);
void asx__dpor_stats_get(const asx__dpor *d, asx__dpor_stats *ret_stats);
/* The events of the current execution. Borrowed. */
const asx__dpor_event *asx__dpor_events(const asx__dpor *d, size_t *ret_count);
/* The operation of one of them; NULL: it is not kept, since operations access one object each. */
const asx__op *asx__dpor_op_of(const asx__dpor *d, size_t event);
/* The task cannot go before that time, unless what it waits to do says otherwise. */
void asx__dpor_sleeps(asx__dpor *d, uint32_t task, uint64_t until);
/* The soonest time that one of those waits for; UINT64_MAX: none does. */
uint64_t asx__dpor_soonest(asx__dpor *d);
/* What the task waits to do; NULL: it has announced nothing. Borrowed. */
const asx__op *asx__dpor_pending(const asx__dpor *d, uint32_t task);
uint32_t asx__dpor_tasks(const asx__dpor *d);
/* A task is named by who started it, and as which: the nth (from 0) of its parent. The number of
 * the task of that name, given on first use; task 0 has no parent (ASX__DPOR_NONE).
 * ASX__DPOR_NONE: no memory. */
uint32_t asx__dpor_name(asx__dpor *d, uint32_t parent, uint32_t nth);
void asx__dpor_name_of(const asx__dpor *d, uint32_t task, uint32_t *ret_parent, uint32_t *ret_nth);
/* How many executions there will be in all if so many are `done` of it; 0: not known. */
uint64_t asx__dpor_estimate(uint64_t executions, double done);

/* ---- sharing (share.c) ---- */

/* What a piece of work is; see share.c. */
typedef enum asx__work_kind {
    ASX__WORK_EVERYTHING,
    ASX__WORK_PLAN,
    ASX__WORK_DFS,
    ASX__WORK_BRANCH,  /* as it is taken */
    ASX__WORK_SAMPLES,
    ASX__WORK_NODES,   /* as branches are given */
    ASX__WORK_FOUND    /* what was found for nodes of the backlog */
} asx__work_kind;

/* The next execution begins this piece of work; what was left to do is forgotten.
 * ASX_E_TRACE_CORRUPT, ASX_E_RESOURCE_EXHAUSTED. */
asx_status asx__dpor_take(asx__dpor *d, asx__reader *work);
/* To be given away when the execution is over; asx__dpor_finish() writes it into `given`, in pieces
 * for asx__backlog_give(). */
void asx__dpor_ask(asx__dpor *d, asx__giving giving);
asx__bytes *asx__dpor_given(asx__dpor *d);
/* What the backlog says of its nodes (asx__backlog_tell()); some of them may be ours again. */
asx_status asx__dpor_hear(asx__dpor *d, asx__reader *told);
/* What was found elsewhere for the branch that was taken (asx__backlog_late()). It is put where it
 * belongs when the execution is over; too late: all that begins with a step that covers it is done.
 * Copies. */
asx_status asx__dpor_hear_late(asx__dpor *d, const asx__bytes *late);
bool asx__dpor_too_late(const asx__dpor *d);
/* Moves the counters and the set of classes out. */
void asx__dpor_report(asx__dpor *d, asx__dpor_stats *ret_stats, asx__bytes *classes);
bool asx__dpor_samples(const asx__dpor *d);
/* No more samples after this one. */
void asx__dpor_end_samples(asx__dpor *d);
/* Operations may access several objects, from the beginning. */
void asx__dpor_be_wide(asx__dpor *d);

/* ASX_E_DIVERGED: at which event, and the task that could not do again what it did, or did not have
 * the answer that was planned. *ret_op: what it did there in the execution before; ASX__OP_COUNT:
 * that is not known. False: it has not diverged at an event. */
bool asx__dpor_divergence(const asx__dpor *d, uint32_t *ret_event, uint32_t *ret_task,
                          asx__op_kind *ret_op);
/* The plan of the next execution, for REPLAY. Copies. */
asx_status asx__dpor_plan(asx__dpor *d, const asx__step *steps, size_t count);

#endif
