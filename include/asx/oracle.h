/* oracle.h - what must hold in every run, looked at while it runs.
 *
 * In the laboratory (asx_lab_run(), asx_explore()) oracles listen to the journal of the run and
 * complain about the first event that breaks a rule; the run then counts as failed. Rules of the
 * runtime are always looked at. A program adds its own with asx_lab_oracle(), and says with ghosts
 * what the journal cannot know: who has borrowed what, and to whom an object belongs.
 *
 * Ghosts cost a comparison on a runtime that is not a laboratory, and do nothing there. In the
 * laboratory every task counts as a thread of its own: on several workers it may be one.
 */
#ifndef ASX_ORACLE_H
#define ASX_ORACLE_H

#include <asx/task.h>
#include <asx/trace.h>

ASX_BEGIN_DECLS

/* X(NAME, "name", "what must hold") */
#define ASX_ORACLE_LIST(X)                                                                         \
    X(NONE, "none", "")                                                                            \
    X(TASK_LEAK, "task-leak", "every task has ended when the run ends")                            \
    X(OBLIGATION_LEAK, "obligation-leak", "every obligation is resolved by its owner's end")       \
    X(QUIESCENCE, "quiescence", "nothing of a region is alive when it is closed")                  \
    X(LOSERS, "losers-drained", "who lost a race has ended before its region is closed")           \
    X(FINALIZERS, "finalizers-once", "finalizers run once each, last registered first")            \
    X(CANCEL_ORDER, "cancel-order", "request, acknowledgement, cleanup, end: in this order")       \
    X(DEADLINE, "deadlines", "timers fire at their time, none early and none left behind")         \
    X(LOST_WAKEUP, "lost-wakeup", "nobody waits for what has happened")                            \
    X(DEADLOCK, "deadlock", "somebody can go on")                                                  \
    X(LIVELOCK, "livelock", "who runs gets on")                                                    \
    X(FUTURELOCK, "futurelock", "who holds an obligation that others wait for gets to run")        \
    X(DATA_RACE, "data-race", "accesses of a shared cell are ordered")                             \
    X(CHANNEL, "channel-order", "a channel is a queue: nothing lost, doubled or overtaken")        \
    X(DETERMINISM, "determinism", "the same program and seed do the same again")                   \
    X(BORROW, "borrow", "nobody writes what others borrow, or sleeps on a borrowed message")       \
    X(AFFINITY, "affinity", "only the owner touches an object, unless it was handed over")         \
    X(USER, "user", "what the program says")

typedef enum asx_oracle {
#define ASX_ORACLE_ENUM_(name, text, rule) ASX_ORACLE_##name,
    ASX_ORACLE_LIST(ASX_ORACLE_ENUM_)
#undef ASX_ORACLE_ENUM_
    ASX_ORACLE_COUNT
} asx_oracle;

/* Its name, and the rule; NULL for a number that is none. Static. */
ASX_API const char *asx_oracle_str(unsigned oracle);
ASX_API const char *asx_oracle_rule(unsigned oracle);

/* The first breach of a run. */
typedef struct asx_complaint {
    asx_oracle oracle; /* ASX_ORACLE_NONE: nobody complained */
    uint64_t seq;      /* event at which it showed; 0: at the end */
    char text[256];
} asx_complaint;

/* ---- the program's own oracles --------------------------------------------------------------- */

/* Called for every event of the run from now on, and once at its end with NULL. Returns what is
 * wrong (a string that lives as long as the run), or NULL. Runs inside the runtime: no calls. */
typedef const char *(*asx_oracle_fn)(void *ctx, const asx_event *event);

/* Adds an oracle to the run; at the end of an execution it is forgotten. `ctx` is borrowed until
 * then. ASX_OK and nothing on a runtime that is not a laboratory.
 *   ASX_E_INVALID_ARGUMENT, ASX_E_RESOURCE_EXHAUSTED (more than 16) */
ASX_API asx_status asx_lab_oracle(asx_cx *cx, asx_oracle_fn fn, void *ctx);

/* Plain data (asx_lab_read(), asx_lab_write()) is always looked at: up to 128 tasks and 256 cells
 * in an execution. In this execution loads and stores of shared cells (asx_lab_load(),
 * asx_lab_store()) must be ordered by something else too: locks, messages, joins, the start of a
 * task. Without it they may race, as atomics may. Call it before the first task is started. ASX_OK
 * and nothing on a runtime that is not a laboratory.
 *   ASX_E_INVALID_ARGUMENT, ASX_E_RESOURCE_EXHAUSTED */
ASX_API asx_status asx_lab_race_free(asx_cx *cx);

/* ---- ghosts ---------------------------------------------------------------------------------- */

typedef enum asx_ghost_borrow_kind {
    ASX_GHOST_SHARED,     /* others may borrow it too; nobody may write */
    ASX_GHOST_EXCLUSIVE,  /* nobody else may borrow or touch it */
    ASX_GHOST_OBLIGATION  /* shared, and it is the memory of a permit or an unacknowledged message:
                             it may be gone after a wait, so copy it before */
} asx_ghost_borrow_kind;

/* The running task borrows the object until it gives it back. All of these: ASX_OK; a breach is a
 * complaint, not a status. In an exploration they are operations on what is said of the object: a
 * touch asks, the others change it. ASX_E_INVALID_ARGUMENT; ASX_E_RESOURCE_EXHAUSTED when the
 * ledger is full (1,024 objects); asx_ghost_return() and asx_ghost_transfer() also
 * ASX_E_NOT_OWNER. */
ASX_API asx_status asx_ghost_borrow(asx_cx *cx, const void *object, asx_ghost_borrow_kind kind);
ASX_API asx_status asx_ghost_return(asx_cx *cx, const void *object);
/* The running task reads or writes the object. */
ASX_API asx_status asx_ghost_touch(asx_cx *cx, const void *object, bool writes);
/* The object belongs to the running task. */
ASX_API asx_status asx_ghost_adopt(asx_cx *cx, const void *object);
/* It belongs to that task from now on: the certificate of a transfer. */
ASX_API asx_status asx_ghost_transfer(asx_cx *cx, const void *object, const asx_task *to);

ASX_END_DECLS

#endif
