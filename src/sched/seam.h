/* seam.h - where a laboratory takes hold of a runtime.
 *
 * An explorer of schedules wants to know what each task is about to do before it does it, and to
 * decide which task goes next. It puts an asx__seam into the runtime. A task *announces* every
 * operation by which it can tell what other tasks did (operations.h has them all) before it looks
 * at anything. asx__announce() returns when the operation can be done without waiting, or is
 * refused because the task was cancelled. Then the operation goes on as everywhere: what is
 * explored is what runs in production. Where a task has to be there before something happens
 * (conditions, notifies, barriers, channels without room) there are two operations, to come and to
 * go on; between the two the task stands here and not in the object.
 *
 * Poll functions of an explored runtime run on fibers, so that they can stand before their
 * operations too; only those of the runtime itself do not.
 *
 * An explored runtime is traced, so the short ways of channels, which do not announce, are never
 * taken. Costs others nothing but a comparison on ways that are long anyway.
 */
#ifndef ASX_SCHED_SEAM_H
#define ASX_SCHED_SEAM_H

#include <asx/status.h>
#include <asx/time.h>

#include <stdbool.h>

#include "sched/operations.h"

#include "base/export.h"

struct asx__task;
struct asx_runtime;
struct asx_timer_wheel;
struct asx_waker;

/* How a start goes. */
enum {
    ASX__SPAWN_WAITS = 1, /* until there is room */
    ASX__SPAWN_FAILS = 2  /* for lack of memory, which sticks to the region */
};

/* How a region is opened. */
enum {
    ASX__OPEN_SCOPED = 1, /* where its task is: in the region that it lives in ... */
    ASX__OPEN_OWN = 2,    /* ... or in the innermost that it has open */
    ASX__OPEN_MASKED = 4  /* whether the task is cancelled makes no difference */
};

/* What the close of a region depends on. */
enum {
    ASX__CLOSE_TIMED = 1,    /* its deadline */
    ASX__CLOSE_FINALIZES = 2, /* the end of its finalizers, which are still to come */
    ASX__CLOSE_GIVES_PLACE = 4 /* its parent has room for so many regions */
};

/* How a task ends. */
enum {
    ASX__END_CANCELS_REGION = 1, /* its siblings are cancelled */
    ASX__END_FAILED = 2,         /* those that are linked to it are */
    ASX__END_ABANDONS = 4        /* so is what it has opened: it has panicked in there */
};

/* An operation, as its task announces it. Most have no more than their object. */
typedef struct asx__operation {
    asx__op_kind kind;
    uint64_t object; /* serial of the object, task or region that it is about; 0: of none. Of an
                        oneshot its generation, of an obligation its number */
    union {
        struct {
            uint64_t capacity;
            uint64_t sender;   /* its generation; 0: not by a sender */
        } channel;             /* SEND .. CLOSE */
        struct {
            uint64_t capacity;
            uint64_t endpoint; /* its number */
            bool receives;     /* MPMC_CLONE, MPMC_DROP: it is a receiver */
        } mpmc;
        struct {
            uint64_t capacity;
            uint64_t receiver; /* its generation */
            bool counts;       /* the sender is told how many receivers there are */
        } broadcast;
        struct {
            uint64_t permits;
        } semaphore;
        struct {
            uint64_t parties;
        } barrier;
        struct {
            uint64_t mutex;    /* its serial */
        } condition;
        struct {
            uint64_t state;    /* ONCE_END: 0 it failed, 2 it is done */
        } once;
        struct {
            uint64_t seen;     /* WATCH_CHANGED: the version that the task knows */
        } watch;
        struct {
            bool held;         /* the task has a guard of it already, and does not wait */
        } rwlock;
        struct {
            uint64_t other;    /* serial of the other task */
        } link;
        struct {
            asx_time until;
        } sleep;
        struct {
            bool ends;         /* the last mask ends; else the first begins. The task has opened
                                  regions under a mask */
        } shield;
        struct {
            uint64_t room;     /* so many tasks, obligations or regions it has room for; 0: any */
            unsigned how;      /* SPAWN, SET_UP: ASX__SPAWN_...; OPEN_REGION: ASX__OPEN_... */
        } start;               /* in the region `object` */
        struct {
            bool asks;         /* STOP_REGION: by a task that is told whether it was open */
        } stop;
        struct {
            unsigned how;      /* END: ASX__END_...; CLOSE_REGION: ASX__CLOSE_... */
        } end;
    };
} asx__operation;

/* Calls that an explorer can make fail. */
typedef enum asx__fault {
    ASX__FAULT_NO_MEMORY, /* a call that allocates */
    ASX__FAULT_NO_STACK,  /* a task that is started */
    ASX__FAULT_NO_THREAD  /* blocking work */
} asx__fault;

/* Something new that has no event in the journal by which an explorer could know it. */
typedef struct asx__creation {
    uint32_t event;       /* ASX_EVENT_...; 0: memory */
    uint64_t generation;  /* by which operations name it; of memory its address */
    uint64_t state;       /* of a receiver of a broadcast its next message */
    uint64_t region;      /* serial, of an obligation */
    uint64_t size;        /* of memory */
} asx__creation;

/* How an announced operation will go, as far as the object itself cannot tell. */
typedef enum asx__verdict {
    ASX__GOES = 0,
    ASX__FINDS_NOTHING = 1,
    ASX__IS_CLOSED = 2,
    ASX__IS_CANCELLED = 3,
    ASX__MUST_WAIT = 16 /* or more: there is another operation, which waits */
} asx__verdict;

typedef struct asx__seam {
    void *ctx;
    /* `task` is about to do it. Returns asx__verdict. */
    uint64_t (*announce)(void *ctx, struct asx__task *task, const asx__operation *operation);
    /* The running task has made something. */
    void (*created)(void *ctx, struct asx__task *task, const asx__creation *creation);
    /* A task has ended and none is runnable; on its stack. True: one is now. */
    bool (*goes_on)(void *ctx);
    /* The wheel that tasks register timers of their own with; NULL: no memory. */
    struct asx_timer_wheel *(*timers)(void *ctx);
    /* Does this call of the task fail? NULL: none does. */
    bool (*fails)(void *ctx, struct asx__task *task, asx__fault fault);
} asx__seam;

/* A poll function on a fiber waits for its waker. As elsewhere a cancel resumes it once (`told`: it
 * was before); what it waits for afterwards no cancel ends. False: it was cancelled. */
bool asx__wait_woken(struct asx_runtime *rt, struct asx__task *task, bool told);

/* The serial of the task whose waker it is; 0: it is no task's. */
ASX__SEAM uint64_t asx__waker_task(const struct asx_waker *waker);

/* What orders tasks and has no event in the journal. The running task has found that an object is
 * closed, or done; `created` is the event that made it. 0: it has called the waker of the task with
 * this serial, or, its own, has been woken by it. */
typedef void asx__found_fn(const struct asx_runtime *rt, uint32_t created, uint64_t serial);

#endif
