/* explore.h - the explorer: a runtime, the engine, and the tasks of the execution that runs.
 *
 * The runtime's main task is the driver. For each execution it opens a region, starts the test in
 * it as a task and closes it; runtime, stacks and records are used again. A task that comes to an
 * operation announces it. If some other task can still run up to its next operation it parks and
 * lets it; else everything stands before an operation, and it asks the engine who goes. That is
 * often itself, and then there is no switch at all. When the last running task ends instead, the
 * loop that drives the runtime asks.
 *
 * What happens between operations and orders tasks (spawn, join, close) is heard from the journal,
 * through its observer; no event is kept. What is heard and cannot be explored ends it with
 * ASX_E_NOT_SUPPORTED.
 *
 * An execution in which nothing can go on is cleared away by force: its tasks are completed without
 * being resumed.
 */
#ifndef ASX_LAB_EXPLORE_H
#define ASX_LAB_EXPLORE_H

#include <asx/explore.h>

#include "lab/dpor/dpor.h"
#include "lab/oracle/oracle.h"
#include "sched/engine.h"
#include "sched/sched.h"

#define ASX__LAB_CALLS 4

/* A task of the execution, by its serial. */
typedef struct asx__lab_task {
    uint64_t region;     /* serial */
    uint32_t sibling;    /* the one before it in its region; as in asx__lab_region */
    uint32_t id;         /* engine's number */
    uint32_t waits;      /* ASX__WAIT_... */
    uint32_t made;       /* channels and locks */
    uint32_t opened;     /* regions */
    uint32_t timers;     /* that it has registered by itself */
    uint64_t ticket;     /* its place in what it waits for */
    uint64_t uses;       /* serial of the region of what it stands before; 0: of none */
    uint64_t joins;      /* serial of whom it waits for by a join that is no operation; or 0 */
    uint64_t joiner;     /* who was the last to wait for it so; 0: nobody */
    uint32_t regions;    /* that it has opened, the last first; as in asx__lab_region */
    uint32_t fell;       /* the last search that reached it; see aim.c */
    uint32_t timer;      /* the engine's number of its own deadline; NONE: it has none */
    asx__task *record;   /* as that of a region */
    const char *sites[ASX__LAB_CALLS]; /* of the calls that it is in, the outermost first */
    uint32_t calls;      /* how many these are; of more the places are not kept */
    bool fresh;          /* the innermost has done no operation yet */
    const char *next_site; /* of its next operation, if it has said so */
    const char *name;    /* NULL: it has none */
    const char *born;    /* the call that started it; NULL: that has said no place */
    bool finalizes;      /* runs finalizers: no cancel reaches it */
    bool faulty;         /* it was cancelled by a fault */
    uint64_t *looked;    /* names and values of the cells that it has loaded since it began to wait
                            until something holds; NULL: it does not. Kept as targets are */
    uint32_t looked_len;
    bool looked_far;     /* there were more */
    bool aims;           /* stands before something that concerns other tasks: ... */
    asx__operation aim;  /* ... this */
} asx__lab_task;

/* A task has ended with an error; see errors.c. */
typedef struct asx__lab_error {
    uint64_t serial;     /* 0: somebody has it */
    asx_status status;
    const char *site;    /* where the task was started */
    size_t at;           /* how many events there were */
} asx__lab_error;

/* A task of any execution, by the engine's number. */
typedef struct asx__lab_known {
    asx__task *standing; /* before its operation */
    const char *name;
    uint64_t serial;
    size_t timed;        /* a deadline: the number of its region or task; a timer: its own */
} asx__lab_known;

/* Something that a task of the execution has made. */
typedef struct asx__lab_thing {
    uint32_t type;       /* the event that told of it */
    uint64_t serial;     /* of memory its address */
    uint64_t name;       /* for the engine */
    uint64_t region;     /* its serial; of memory the size */
    uint32_t prev;       /* the one before it that has the same place in `heads`, or is memory too;
                            its number + 1, 0: there is none */
    bool counted;        /* an obligation that takes one of so many places */
} asx__lab_thing;

#define ASX__LAB_HEADS 256

/* A timer that a task of the execution has registered in the runtime's wheel. */
typedef struct asx__lab_timer {
    struct asx__explorer *x;
    asx_timer_handle handle;
    asx_waker waker;
    uint64_t owner;      /* serial of who registered it, or the timer that did */
    uint64_t wakes;      /* of the task whose waker it calls; 0: it calls something else */
    uint64_t name;       /* for the engine */
    uint32_t task;       /* the engine's number of it, where it may fire at any time; else NONE */
    bool pending;
} asx__lab_timer;

/* Whom a cancel reaches; kept until the execution ends. */
typedef struct asx__lab_targets {
    struct asx__lab_targets *next;
    uint64_t names[];
} asx__lab_targets;

/* A cancel that a shield may have kept out of something: what it was, and what was known then. */
typedef struct asx__lab_shot {
    uint32_t event;
    asx__operation what; /* FIRE: a deadline of the task `serial`, or of the region that it names */
    uint64_t serial;     /* of the task */
    size_t known;
} asx__lab_shot;

/* A task has given way, by no operation. Shown, but no event: nothing is accessed by it. */
typedef struct asx__lab_yield {
    size_t before;       /* how many events there were */
    const char *site;
    uint32_t task;       /* the engine's number */
} asx__lab_yield;
#define ASX__LAB_YIELDS_MOST 16384 /* of more in an execution these are kept */

/* If one of the two fails, the other is cancelled. Serials. */
typedef struct asx__lab_link {
    uint64_t a, b;
} asx__lab_link;

/* What is in it, as lists: numbers in `tasks` and `regions` of the explorer, + 1; 0: the end. */
typedef struct asx__lab_region {
    uint64_t serial, parent;
    uint32_t tasks;      /* that were started in it, the last first */
    uint32_t children;   /* regions in it, the last first ... */
    uint32_t sibling;    /* ... and the one before it */
    uint64_t heir;       /* the task that comes after all that was in it; 0: nobody does so far */
    uint64_t owner;      /* serial of the task that opened it ... */
    uint32_t nth;        /* ... as its nth */
    uint32_t opened_before; /* the one that the owner opened before it */
    uint32_t fell;       /* the last search that reached it */
    uint32_t timer;      /* the engine's number of its deadline; NONE: it has none */
    uint32_t opened_at;  /* how many events its owner had done then */
    asx__region *record; /* its own as long as the serial there is the same; NULL: never seen */
    bool closed;
    bool limited;        /* there is room for so many tasks only */
    bool counts_regions; /* for so many regions */
    bool counts_obligations;
    bool scoped;         /* opened where its owner was; else it stops with the region around it */
    bool shielded;       /* opened under a mask: no cancel from around it reaches it as long as its
                            owner has one ... */
    bool bare;           /* ... which it had not always */
} asx__lab_region;

/* Text that grows. */
typedef struct asx__text {
    char *bytes;         /* NUL-terminated, or NULL while empty */
    size_t len, cap;
    bool fixed;          /* it does not: what has no room any more is left out */
} asx__text;

struct asx__explorer;

/* What a worker that shares its exploration with other processes does in addition. The functions
 * are those of jobs/tie.c, which this room does not know. */
typedef struct asx__sharing {
    asx__common_names *names; /* of all workers; borrowed */
    /* Gets the first piece of work; false: there is none. */
    bool (*begin)(struct asx__explorer *x);
    /* An execution is over: before the engine hears of it. */
    void (*before_finish)(struct asx__explorer *x);
    /* ... and after it has. */
    void (*after_finish)(struct asx__explorer *x);
    void (*failure)(struct asx__explorer *x, const asx_explore_failure *failure);
    /* The exploration of this worker is over. */
    void (*end)(struct asx__explorer *x);
} asx__sharing;

typedef struct asx__explorer {
    asx_runtime *rt;
    asx__dpor *dpor;
    const asx_explore_options *options;
    asx_lab_fn fn;
    void *arg;
    asx__waitable turn;  /* tasks before an operation */
    asx__seam seam;
    bool cancels;        /* the test cancels: everything that this concerns is an operation */
    bool far_cancels;    /* others than the owner cancel regions: late starts and closes are
                            operations too */
    bool far_spawns;     /* others than the owner start tasks: so is the beginning of a close */
    bool failures;       /* tasks fail in regions whose owners may wait: such waits look at that */
    bool elsewhere;      /* a cell is in memory that may be elsewhere in another process */
    bool allocates;      /* ... or in another execution: it is not in the data of the program */
    bool cell_moved;     /* ... and it was */
    uint64_t data_from, data_len; /* where a cell was that is in it */
    bool drops;          /* ends of channels are dropped: all others look whether they are */
    bool claims;         /* there are permits, acks or evictions: claims are not messages sent */
    uint32_t clock;      /* the engine's number of the clock; NONE: nobody has slept */
    asx_status status;
    uint32_t unsupported; /* event kind ... */
    char diverged[ASX_EXPLORE_SITE_MAX]; /* "": not known */
    const char *unsupported_site; /* ... and where, or the cell that moved; NULL: not known */
    uint64_t driver;     /* serial; 0: not begun */

    /* of the execution */
    asx_region region;
    uint64_t first_serial; /* of the test's task; 0: not started */
    asx__lab_task *tasks;
    size_t tasks_len, tasks_cap;
    uint32_t alone_until;  /* events that the test had done when it started its first task */
    asx__lab_region *regions;
    size_t regions_len, regions_cap;
    asx__lab_thing *things;
    size_t things_len, things_cap;
    uint32_t heads[ASX__LAB_HEADS]; /* the last thing of each place, its number + 1 ... */
    uint32_t memory;     /* ... and that is memory */
    asx__lab_targets *targets;
    uint32_t search;     /* counts the searches for targets */
    struct asx__lab_target *reached; /* scratch: by the last of them */
    size_t reached_cap;
    uint32_t *aiming;    /* numbers of the tasks that stand before something that concerns others */
    size_t aiming_len, aiming_cap;
    size_t timed_tasks, timed_regions; /* so many were asked for their deadlines */
    uint32_t *open;      /* numbers of regions that have one, without some that are closed */
    size_t open_len, open_cap;
    asx__lab_link *links;
    size_t links_len, links_cap;
    size_t bare_len;     /* regions whose shield was down */
    asx__lab_shot *shots;
    size_t shots_len, shots_cap;
    asx_time began;      /* when it did: the engine counts from there, as in the one before */
    bool timed;          /* somebody has waited for a time */
    bool limits;         /* some region has room for so many tasks or regions only */
    uint32_t due;        /* the clock, or a deadline: it was chosen already; NONE: nobody was */
    bool advancing;      /* the clock was moved and nobody has gone since */
    asx__lab_timer *firing; /* what happens is done by that one, while the clock moves; or NULL */
    asx__lab_yield *yields; /* in their order; only for people */
    size_t yields_len, yields_cap;
    size_t timers_len;   /* so many of `timers` are of this execution ... */
    size_t timers_pending; /* ... and so many of these pending */
    bool clearing;       /* it is over and its tasks are being ended; or none has begun yet */
    bool more;
    const char *failed_text, *failed_site; /* first failure ... */
    size_t failed_at;    /* ... after so many steps */
    asx__lab_error *errors; /* that tasks have ended with, and nobody may have */
    size_t errors_len, errors_cap;
    bool erred;          /* some task has, whoever has it */
    asx_status expected[ASX_LAB_EXPECTED_MAX]; /* that the test has said are meant */
    size_t expected_len;
    asx__oracles oracles;
    uint64_t leaks_before; /* that the runtime had counted when it began */

    /* of all */
    asx__lab_known *known;
    size_t known_cap;
    asx__lab_timer **timers; /* in the order of their handles; used again */
    size_t timers_cap;
    asx_timer_wheel *front;  /* stands for the runtime's; NULL: nobody has asked for it */
    asx__timer_gate gate;
    struct asx__fault_site *fault_sites; /* the newest first */
    uint64_t bugs, too_long;
    bool told;           /* of one that was not good */
    bool over;           /* somebody stands before an operation on what is gone: nobody goes on */
    bool stop;
    asx_explore_stop stopped; /* why */
    bool lost;           /* what is left to explore cannot be on this runtime */
    asx__sharing *sharing; /* it is one of several workers; NULL: it explores alone */
    uint64_t started_ns, looked_ns; /* the second since the first */
    uint32_t look_every, look_in;   /* executions from look to look, to the next look */
    asx__text text, lanes;
    asx__text said;      /* the failure, where its text had to be made */
} asx__explorer;

/* As asx_explore(), in this process; the options are complete. */
asx_status asx__explore_alone(const asx_explore_options *options, asx_lab_fn fn, void *arg,
                              asx__sharing *sharing, asx_explore_result *ret_result);
/* Does the mode draw executions? */
bool asx__explore_samples(const asx_explore_options *options);
/* Something of this sort of event is not explored: it ends with that, if nothing has failed. */
void asx__explorer_refuse(asx__explorer *x, uint32_t kind);
/* Zeros become what they stand for. */
void asx__explore_defaults(asx_explore_options *options);
/* The explorer of a runtime; NULL: an ordinary one. */
asx__explorer *asx__explorer_of(const asx_runtime *rt);
/* The oracles that listen to this runtime; NULL: it is not a laboratory. In lab.c. */
asx__oracles *asx__oracles_of(const asx_runtime *rt);
/* An asx__found_fn of sched/seam.h, for the oracle of data races. */
void asx__explorer_found(const asx_runtime *rt, uint32_t created, uint64_t serial);
/* The running task does an operation when its turn has come; returns the state that it found, or
 * the choice. Done at once when there is no explorer; false: it cannot be done now. */
bool asx__explorer_do(asx_cx *cx, asx__op *op, uint64_t *ret_found);
/* The load that the running task has just done saw this instead of the newest; for the lines. */
void asx__explorer_saw(asx_cx *cx, uint64_t value);
/* The engine's number of the running task + 1; 1 when there is no explorer. */
uint64_t asx__explorer_self(asx_cx *cx);
/* The execution is not good; the first to say so counts. The strings are static, or live as long as
 * the execution. */
void asx__explorer_fail(asx__explorer *x, const char *text, const char *site);
const char *asx__explorer_name(const asx__explorer *x, uint32_t task);

/* NULL: not a task of the test. */
static inline asx__lab_task *asx__explorer_task(const asx__explorer *x, uint64_t serial)
{
    uint64_t index = serial - x->first_serial;
    return x->first_serial != 0 && index < x->tasks_len ? &x->tasks[index] : NULL;
}

/* Where the call stands that the task is in; NULL: in none that says so. */
static inline const char *asx__lab_task_site(const asx__lab_task *task)
{
    return task->calls - 1 < ASX__LAB_CALLS ? task->sites[task->calls - 1] : NULL;
}

/* It is one. */
static inline asx__lab_task *asx__explorer_known(const asx__explorer *x, uint64_t serial)
{
    return &x->tasks[serial - x->first_serial];
}

static inline asx__lab_region *asx__explorer_region(const asx__explorer *x, uint64_t serial)
{
    if (x->regions_len == 0 || serial < x->regions[0].serial)
        return NULL;
    uint64_t at = serial - x->regions[0].serial; /* or earlier: each is greater than the last */
    at = at < x->regions_len ? at : x->regions_len - 1;
    while (x->regions[at].serial > serial)
        at--;
    return x->regions[at].serial == serial ? &x->regions[at] : NULL;
}

/* A time as the engine knows it. */
static inline uint64_t asx__explorer_time(const asx__explorer *x, asx_time time)
{
    return time == ASX_TIME_NEVER ? time : time > x->began ? time - x->began : 0;
}

/* False: no memory, and the exploration ends. */
bool asx__explorer_grow(asx__explorer *x, void **memory, size_t *cap, size_t need, size_t size);
static inline bool asx__explorer_room(asx__explorer *x, void **memory, size_t *cap, size_t need,
                                      size_t size)
{
    return ASX__LIKELY(need <= *cap) || asx__explorer_grow(x, memory, cap, need, size);
}

/* The running task, one of the test's, waits for its turn and does it; as asx__explorer_do(). */
uint64_t asx__explorer_stand(asx__explorer *x, asx__task *task, const asx__op *op);

/* Of the seam. */
bool asx__explorer_goes_on(void *ctx);

/* errors.c */
/* A task has ended with it; somebody has joined a task, and has its error; at the end: the first
 * that nobody has, and that is not meant, fails the execution. */
void asx__explorer_erred(asx__explorer *x, const asx__lab_task *task, uint64_t serial,
                         asx_status status);
void asx__explorer_had(asx__explorer *x, uint64_t serial);
void asx__explorer_judge_errors(asx__explorer *x);

/* ops.c */
/* X(NAME, "text"): what is said of objects; the first asks only. */
#define ASX__GHOST_DEED_LIST(X)                                                                    \
    X(TOUCH, "touch")                                                                              \
    X(BORROW, "borrow")                                                                            \
    X(RETURN, "return")                                                                            \
    X(ADOPT, "adopt")                                                                              \
    X(TRANSFER, "transfer")

typedef enum asx__ghost_deed {
#define ASX__GHOST_DEED_ENUM(name, text) ASX__GHOST_##name,
    ASX__GHOST_DEED_LIST(ASX__GHOST_DEED_ENUM)
#undef ASX__GHOST_DEED_ENUM
} asx__ghost_deed;

/* The trace is kept: the running task has just done this, of which the runtime knows nothing. */
void asx__explorer_journal(asx__explorer *x, const asx__op *op);
/* The running task is about to say something of the object, or to ask what was said. */
void asx__explorer_ghost(asx_cx *cx, const void *object, asx__ghost_deed deed);

/* order.c */
/* `task` comes after everything in the region, and in those in it. */
void asx__explorer_comes_after(asx__explorer *x, uint32_t task, uint64_t outer);
void asx__explorer_closed(asx__explorer *x, const asx_event *event);
void asx__explorer_joined(asx__explorer *x, const asx_event *event);

#define ASX__DEPTH_MOST 64 /* of the bugs that PCT aims at */

/* names.c */
/* A site for a fault: the place of this one, which may be NULL, and the words. `words` itself if
 * there is no memory. */
const char *asx__explorer_fault_site(asx__explorer *x, const char *site, const char *words);
void asx__explorer_forget_sites(asx__explorer *x);

/* Serials are counted. */
static inline size_t asx__explorer_place(uint64_t serial)
{
    return (size_t)serial % ASX__LAB_HEADS;
}

/* NULL: it is not known. */
static inline const asx__lab_thing *asx__explorer_thing(const asx__explorer *x, uint32_t type,
                                                        uint64_t serial)
{
    for (uint32_t i = x->heads[asx__explorer_place(serial)]; i != 0; i = x->things[i - 1].prev)
        if (x->things[i - 1].serial == serial && x->things[i - 1].type == type)
            return &x->things[i - 1];
    return NULL;
}

/* A task has made a channel or a lock; what the engine keeps of it begins with `state`. */
void asx__explorer_made(asx__explorer *x, const asx__creation *creation, uint64_t maker);
void asx__explorer_forget_things(asx__explorer *x);
/* The name of the nth thing of a task; of a link: of two tasks. */
uint64_t asx__explorer_make_name(const asx__explorer *x, asx__name_tag tag, uint32_t task,
                                 uint32_t nth);
/* The name of a cell if it is on the stack of a task of the test, else 0. */
uint64_t asx__explorer_cell_name(const asx__explorer *x, const void *cell);
/* A task of the engine is about to access a cell that has no other name than its address. What a
 * test allocates may be elsewhere in another process, and must not be in another execution. */
void asx__explorer_meet_cell(asx__explorer *x, uint32_t task, const void *cell, const char *site);

/* turn.c */
void asx__explorer_seam_init(asx__explorer *x);
/* What a program says of an object is an object by itself. */
uint64_t asx__explorer_ghost_name(const asx__explorer *x, const void *object);
/* A task, a region was told to cancel. */
/* Name of a task's cancel flag. */
static inline uint64_t asx__cancel_flag(uint32_t id)
{
    return ASX__NAME(ASX__NAME_CANCEL, id, 0);
}

/* failures.c: the operation says that the region has failed to the task that opened it, if that is
 * not `self`. */
void asx__failures_tell(asx__explorer *x, const asx__lab_task *self, uint64_t region, asx__op *op);
/* The region of a task that is joined: what that one lives in does not end the wait. */
uint64_t asx__failures_joined(const asx__explorer *x, uint64_t serial);
/* The regions whose failure ends a wait of the task: `fails` of its operation. */
uint32_t asx__failures_seen(const asx__explorer *x, const asx__task *task, uint64_t joined);
/* Is the wait refused because of what the task itself has failed in? */
bool asx__failures_refuse(const asx__explorer *x, const asx__task *task, uint64_t joined);

void asx__explorer_cancelled(asx__explorer *x, const asx_event *event);
void asx__explorer_region_cancelled(asx__explorer *x, const asx_event *event);
/* Does this task run the finalizers of the region? */
bool asx__explorer_finalizes(const asx__lab_region *region, uint64_t serial);
/* It was just opened: finds its record, and whether there is room for so many tasks only. */
void asx__explorer_opened(asx__explorer *x, asx__lab_region *region);
/* NULL: it is gone. */
asx__region *asx__explorer_record(const asx__lab_region *r);
/* The task that was started last in the region; NULL: it is not known. */
asx__task *asx__explorer_newest(const asx__lab_region *region);
/* The engine wants to know whom an operation concerns. */
void asx__explorer_aim(void *ctx, uint32_t id, asx__op *op);
/* At the end of an execution: whom would those concern that were not done? */
void asx__explorer_aim_rest(asx__explorer *x);
/* Begins again, with this explored too. */
void asx__explorer_prepare(asx__explorer *x, bool *feature);
/* Cancellation, if it is not. */
void asx__explorer_expect_cancels(asx__explorer *x);

/* stacks.c */
/* The runtime is new; it is about to go, and nothing runs on it. */
void asx__explorer_take_stacks(asx_runtime *rt);
void asx__explorer_leave_stacks(asx_runtime *rt);

/* time.c */
/* Somebody waits for a time. */
void asx__explorer_begin_time(asx__explorer *x);
/* The task behind this number does, by SLEEP or RELAX. */
void asx__explorer_sleeps(asx__explorer *x, uint32_t id, const asx__op *op);
/* When the clock will move next, if nobody can go before; withdrawn if nothing waits for it. */
void asx__explorer_announce_clock(asx__explorer *x);
/* The adversarial clock: deadlines of tasks and regions may come now. */
void asx__explorer_announce_deadlines(asx__explorer *x);
/* The deadline behind this number comes; false: there is none. */
bool asx__explorer_fire(asx__explorer *x, uint32_t timer);
bool asx__explorer_is_timer(const asx__explorer *x, uint32_t task);
/* Whom it reaches: completes the FIRE. False: it was cancelled, and that has not changed. */
bool asx__explorer_aim_deadline(asx__explorer *x, uint32_t timer, asx__op *op);
/* Some regions may be cancelled next: whom would their deadlines have reached? */
void asx__explorer_aim_deadlines(asx__explorer *x);

/* timers.c */
/* Of the seam. */
asx_timer_wheel *asx__explorer_timers(void *ctx);
/* The timer behind this number fires; false: there is none. */
bool asx__timer_fire(asx__explorer *x, uint32_t task);
bool asx__timer_is_one(const asx__explorer *x, uint32_t task);
/* All tasks have ended. */
void asx__timers_end(asx__explorer *x);
/* Another execution begins: what is left of the last one does not fire. */
void asx__timers_forget(asx__explorer *x);
void asx__timers_free(asx__explorer *x);

/* aim.c */
/* Whom a cancel, a time-out, a failure or the end of a mask reaches, or a close or a race waits
 * for. */
typedef struct asx__lab_aim {
    uint64_t task;       /* serial of a task; 0: none */
    uint64_t region;     /* of a region; 0: none */
    asx__name_tag tag;   /* their cancel flags or their ends */
    bool unmasks;        /* only what the shields of the task have kept it from */
    bool near;           /* only who lives in the region itself */
    const asx__lab_task *by; /* who does it; NULL: a deadline */
} asx__lab_aim;

/* Changes when there is more that an operation could be about. */
static inline size_t asx__aim_known(const asx__explorer *x)
{
    return x->tasks_len + x->links_len + x->regions_len + x->bare_len;
}

/* For `aims` of an operation. */
static inline uint32_t asx__aim_stamp(const asx__explorer *x)
{
    return (uint32_t)asx__aim_known(x) + 1;
}

void asx__explorer_forget_targets(asx__explorer *x);
/* The name of the flag of a region; 0: it is none of the test's. */
uint64_t asx__aim_flag(const asx__explorer *x, uint64_t serial);
/* Room for names, kept until the execution ends. NULL: no memory. */
uint64_t *asx__aim_room(asx__explorer *x, size_t count);
/* Their names, for the targets of an operation. NULL: no memory. */
uint64_t *asx__aim_find(asx__explorer *x, const asx__lab_aim *aim, uint32_t *ret_count);
/* A region that was opened by handle stops with the one around it: the parts of those that say so,
 * the innermost first. NULL: no memory, or there is none. */
uint64_t *asx__aim_around(asx__explorer *x, uint64_t serial, uint32_t *ret_count);
/* Completes a SHIELD: the last mask of the task ends, or one begins. False: nobody could tell. */
bool asx__aim_shields(asx__explorer *x, const asx__lab_task *self, bool ends, asx__op *op);
/* The last event may have been stopped by a shield. */
void asx__aim_shot(asx__explorer *x, uint64_t serial, const asx__operation *what);
/* It is done: what the task has opened under a mask may be reached from now on. */
void asx__aim_bare(asx__explorer *x, const asx__lab_task *self);

/* At the end of an execution: without the shield it might also have reached who came later. */
void asx__explorer_aim_late(asx__explorer *x);

/* written.c */
/* The text of a checked expression as its author wrote it, where macros were expanded in it. */
void asx__explore_written(const char *text, char *buffer, size_t size);

/* text.c */
void asx__text_clear(asx__text *text);
void asx__text_add(asx__text *text, const char *format, ...) ASX_PRINTF(2, 3);
void asx__explore_schedule(const asx__explorer *x, asx__text *text);
/* "step 3: 2 b is to load hits (f.c:12), and did store"; "": it has not diverged. */
void asx__explore_divergence(asx__explorer *x, char *buffer, size_t size);
void asx__explore_lanes(const asx__explorer *x, size_t steps, asx__text *text);
/* "1 a"; also of one that has not come to an operation. */
void asx__explore_add_task(const asx__explorer *x, asx__text *text, uint32_t task);
void asx__explore_add_lane(const asx__explorer *x, asx__text *text, const asx__lab_task *task);
/* Where a call stands, without folders and what the call is given. */
const char *asx__explore_file(const char *site, int *ret_len);
/* Who does the last steps of an execution that is too long. */
void asx__explore_rounds(const asx__explorer *x, asx__text *text);
/* What the task that has just ended by a panic said, for asx__explorer_fail(). */
const char *asx__explore_panic(asx__explorer *x, const asx__lab_task *task, uint64_t serial);
/* That the task has ended with it. */
const char *asx__explore_error(asx__explorer *x, const asx__lab_task *task, asx_status status);
/* What the oracle complains of, with the names that tasks have in the lanes. */
const char *asx__explore_complaint(asx__explorer *x);
/* Steps of a schedule's text, malloc'd; the explorer, which has its engine already, learns what
 * stands in front of them. ASX_E_INVALID_ARGUMENT, ASX_E_RESOURCE_EXHAUSTED. */
asx_status asx__explore_parse(asx__explorer *x, const char *schedule, asx__step **ret_steps,
                              size_t *ret_count);

/* waits.c */
/* Nothing can go on: "1 a waits to lock m, which 2 b holds (f.c:12); ...", with a circle if there
 * is one: "cycle: 1 a -> 2 b -> 1 a". Who holds what others may wait for is named too. */
void asx__explore_waiting(const asx__explorer *x, asx__text *text);

#endif
