/* seam.h - where a laboratory takes hold of a runtime.
 *
 * An explorer of schedules wants to know what each task is about to do before it does it, and to
 * say whose turn it is. It puts an asx__seam into the runtime. Every operation by which tasks can
 * tell what others did asks asx__turn() before it looks at anything; it returns when the operation
 * can be done without waiting, or is refused because the task was cancelled. Then the operation
 * goes on as everywhere: what is explored is what runs in production.
 *
 * An explored runtime is traced, so the short ways of channels, which do not ask, are never taken.
 * Costs others nothing but a comparison on ways that are long anyway.
 */
#ifndef ASX_SCHED_SEAM_H
#define ASX_SCHED_SEAM_H

#include <asx/status.h>

struct asx__task;

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
    X(CLOSE_REGION)  /* region's serial; 1: it has a deadline */                                   \
    X(END)           /* -; 1: it fails, and its region fails with it */                            \
    X(SLEEP)         /* -; until when */                                                           \
    X(LOCK)          /* mutex's serial */                                                          \
    X(TRY_LOCK)                                                                                    \
    X(UNLOCK)                                                                                      \
    X(READ_LOCK)     /* read-write lock's serial */                                                \
    X(TRY_READ_LOCK)                                                                               \
    X(READ_UNLOCK)                                                                                 \
    X(WRITE_LOCK)                                                                                  \
    X(TRY_WRITE_LOCK)                                                                              \
    X(WRITE_UNLOCK)                                                                                \
    X(ACQUIRE)       /* semaphore's serial; permits */                                             \
    X(TRY_ACQUIRE)                                                                                 \
    X(RELEASE)

typedef enum asx__turn_kind {
#define ASX__TURN_ENUM_(name) ASX__TURN_##name,
    ASX__TURN_LIST(ASX__TURN_ENUM_)
#undef ASX__TURN_ENUM_
    ASX__TURN_COUNT
} asx__turn_kind;

typedef struct asx__seam {
    void *ctx;
    /* `task` runs. */
    void (*turn)(void *ctx, struct asx__task *task, asx__turn_kind kind, uint64_t object,
                 uint64_t a);
} asx__seam;

#endif
