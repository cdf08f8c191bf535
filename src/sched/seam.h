/* seam.h - where a laboratory takes hold of a runtime.
 *
 * An explorer of schedules wants to know what each task is about to do before it does it, and to
 * say whose turn it is. It puts an asx__seam into the runtime. Every operation by which tasks can
 * tell what others did asks asx__turn() before it looks at anything; it returns when the operation
 * can be done without waiting, or is refused because the task was cancelled. Then the operation
 * goes on as everywhere: what is explored is what runs in production. Where somebody has to be
 * there before something happens (conditions, notifies, barriers, channels without room) there are
 * two turns, to come and to go on; between the two the task stands here and not in the object.
 *
 * Poll functions of an explored runtime run on fibers, so that they can stand before their
 * operations too; only those of the runtime itself do not.
 *
 * An explored runtime is traced, so the short ways of channels, which do not ask, are never taken.
 * Costs others nothing but a comparison on ways that are long anyway.
 */
#ifndef ASX_SCHED_SEAM_H
#define ASX_SCHED_SEAM_H

#include <asx/status.h>

#include "base/export.h"

struct asx__task;
struct asx_runtime;
struct asx_timer_wheel;
struct asx_waker;

/* X(NAME): what is about to be done; its object; `a`. */
#define ASX__TURN_LIST(X)                                                                          \
    X(SEND) /* channel's serial; capacity */                                                       \
    X(TRY_SEND)                                                                                    \
    X(EVICT)                                                                                       \
    X(RESERVE)                                                                                     \
    X(TRY_RESERVE)                                                                                 \
    X(PERMIT_SEND)                                                                                 \
    X(PERMIT_ABORT)                                                                                \
    X(RECV)                                                                                        \
    X(TRY_RECV)                                                                                    \
    X(RECV_ACK)                                                                                    \
    X(ACK_COMMIT)                                                                                  \
    X(ACK_NACK)                                                                                    \
    X(CLONE)                                                                                       \
    X(DROP)                                                                                        \
    X(CLOSE)                                                                                       \
    X(CHECKPOINT)    /* - */                                                                       \
    X(JOIN)          /* task's serial */                                                           \
    X(CANCEL_TASK)   /* task's serial */                                                           \
    X(CANCEL_REGION) /* region's serial */                                                         \
    X(STOP_REGION)   /* region's serial; not 0: the caller is told whether it was open. Nothing    \
                        can be started there any more */                                           \
    X(CLOSE_REGION)  /* region's serial; ASX__CLOSE_... */                                         \
    X(END)           /* region's serial; ASX__END_... */                                           \
    X(SLEEP)         /* -; until when */                                                           \
    X(LOCK)          /* mutex's serial */                                                          \
    X(TRY_LOCK)                                                                                    \
    X(UNLOCK)                                                                                      \
    X(READ_LOCK)     /* read-write lock's serial; 1: the task has a guard of it already, and does  \
                        not wait */                                                                \
    X(TRY_READ_LOCK)                                                                               \
    X(READ_UNLOCK)                                                                                 \
    X(WRITE_LOCK)                                                                                  \
    X(TRY_WRITE_LOCK)                                                                              \
    X(WRITE_UNLOCK)                                                                                \
    X(ACQUIRE)       /* semaphore's serial; permits */                                             \
    X(TRY_ACQUIRE)                                                                                 \
    X(RELEASE)                                                                                     \
    X(IS_CANCELLED)  /* - */                                                                       \
    X(OPEN_REGION)   /* serial of the region around it; how many that has room for, 0: any;        \
                        ASX__OPEN_... */                                                           \
    X(SHIELD)        /* -; 1: the last mask ends, 0: one begins; it has opened regions masked */   \
    X(NO_MEMORY)     /* - ; as a fault, a call that allocates fails: not 0 */                      \
    X(NO_STACK)      /* - ; likewise, a task that is started now will have none */                 \
    X(NO_THREAD)     /* - ; likewise, blocking work is refused */                                  \
    X(SPAWN)         /* region's serial; how many tasks it has room for, 0: any; ASX__SPAWN_... */ \
    X(SET_UP)        /* likewise: something else is made in a region, which may have room for so   \
                        many obligations */                                                        \
    X(SETTLE)        /* obligation's number */                                                     \
    X(LINK)          /* serials of two tasks */                                                    \
    X(FIRST_OF)      /* serial of the region whose tasks race */                                   \
    X(WAKE)          /* task's serial */                                                           \
    X(WAIT_EXTERNAL) /* - */                                                                       \
    X(WAIT_WOKEN)    /* - ; no cancel ends it */                                                   \
    X(CONDITION_WAIT)    /* condition's serial; mutex's serial */                                  \
    X(CONDITION_GO_ON)   /* likewise */                                                            \
    X(SIGNAL)                                                                                      \
    X(SIGNAL_ALL)                                                                                  \
    X(NOTIFY_WAIT)       /* notify's serial */                                                     \
    X(NOTIFY_GO_ON)                                                                                \
    X(NOTIFY_ONE)                                                                                  \
    X(NOTIFY_ALL)                                                                                  \
    X(BARRIER_WAIT)      /* barrier's serial; parties */                                           \
    X(BARRIER_GO_ON)                                                                               \
    X(ONCE_CALL)         /* once's serial */                                                       \
    X(ONCE_END)          /* ...; 0 it failed, 2 it is done */                                      \
    X(ONCE_LOOK)                                                                                   \
    X(ONESHOT_SEND)      /* oneshot's generation */                                                \
    X(ONESHOT_RECV)                                                                                \
    X(ONESHOT_TRY_RECV)                                                                            \
    X(ONESHOT_DROP)                                                                                \
    X(ONESHOT_CLOSE)                                                                               \
    X(WATCH_SEND)        /* watch's serial */                                                      \
    X(WATCH_CHANGED)     /* ...; version that was seen */                                          \
    X(WATCH_GET)                                                                                   \
    X(WATCH_CLOSE)                                                                                 \
    X(BROADCAST_SEND)    /* broadcast's serial; capacity; 1: it counts the receivers */            \
    X(BROADCAST_RECV)    /* broadcast's serial; capacity; receiver's generation */                 \
    X(BROADCAST_TRY_RECV)                                                                          \
    X(SUBSCRIBE)         /* broadcast's serial */                                                  \
    X(MADE)              /* no turn: something new has this generation; state, or the serial of an \
                            obligation's region; event that tells */                               \
    X(UNSUBSCRIBE)       /* broadcast's serial; -; receiver's generation */                        \
    X(BROADCAST_CLOSE)                                                                             \
    X(MPMC_SEND)         /* channel's serial; capacity; endpoint's number */                       \
    X(MPMC_TRY_SEND)                                                                               \
    X(MPMC_TAKEN)                                                                                  \
    X(MPMC_RECV)                                                                                   \
    X(MPMC_TRY_RECV)                                                                               \
    X(MPMC_CLOSE)                                                                                  \
    X(MPMC_CLONE)        /* channel's serial; 1: a receiver; endpoint's number */                  \
    X(MPMC_DROP)

typedef enum asx__turn_kind {
#define ASX__TURN_ENUM_(name) ASX__TURN_##name,
    ASX__TURN_LIST(ASX__TURN_ENUM_)
#undef ASX__TURN_ENUM_
    ASX__TURN_COUNT
} asx__turn_kind;

/* MADE: not an object but memory, at this address and of this size. */
#define ASX__MADE_MEMORY UINT32_MAX

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

/* How it will go, as far as the object itself cannot tell. */
typedef enum asx__turn_found {
    ASX__TURN_GOES = 0,
    ASX__TURN_FINDS_NOTHING = 1,
    ASX__TURN_IS_CLOSED = 2,
    ASX__TURN_IS_CANCELLED_NOW = 3,
    ASX__TURN_MUST_WAIT = 16 /* or more: there is another turn to wait for */
} asx__turn_found;

typedef struct asx__seam {
    void *ctx;
    /* `task` runs. Returns asx__turn_found. */
    uint64_t (*turn)(void *ctx, struct asx__task *task, asx__turn_kind kind, uint64_t object,
                     uint64_t a, uint64_t b);
    /* A task has ended and nobody is runnable; on its stack. True: somebody is now. */
    bool (*goes_on)(void *ctx);
    /* The wheel that tasks register timers of their own with; NULL: no memory. */
    struct asx_timer_wheel *(*timers)(void *ctx);
    bool fails; /* it wants calls to fail: NO_MEMORY, NO_STACK, NO_THREAD are asked */
} asx__seam;

/* A poll function on a fiber waits for its waker. As elsewhere a cancel resumes it once, and it is
 * not told by that; what it waits for afterwards no cancel ends. False: it was cancelled. */
bool asx__wait_woken(struct asx_runtime *rt, struct asx__task *task, bool told);

/* The serial of the task whose waker it is; 0: it is no task's. */
ASX__SEAM uint64_t asx__waker_task(const struct asx_waker *waker);

/* What orders tasks and has no event in the journal. The running task has found that an object is
 * closed, or done; `created` is the event that made it. 0: it has called the waker of the task with
 * this serial, or, its own, has been woken by it. */
typedef void asx__found_fn(const struct asx_runtime *rt, uint32_t created, uint64_t serial);

#endif
