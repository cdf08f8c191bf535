/* supervisor.h - keeping tasks alive: what ends is started again, in an order, so often and no
 * more.
 *
 * A supervisor is a call, made by a task. It starts children, each a task in a region of its own,
 * waits for their ends, and restarts them by its strategy. It returns when no child is left that
 * runs or will be restarted; when there were too many restarts; or when it is cancelled. Whatever
 * the reason, it stops what still runs first: in the reverse order of the start, one after the
 * other, each within its own time. A child may be a supervisor: one that gives up is a child that
 * has failed.
 *
 * Other than Erlang/OTP, whose supervisors this follows: a supervisor whose children have all ended
 * returns ASX_OK, instead of waiting for nothing; and there may be a delay before a restart.
 */
#ifndef ASX_SUPERVISOR_H
#define ASX_SUPERVISOR_H

#include <asx/runtime.h>

ASX_BEGIN_DECLS

/* When a child that has ended is started again. */
typedef enum asx_restart {
    ASX_RESTART_PERMANENT = 0, /* always */
    ASX_RESTART_TRANSIENT = 1, /* unless it ended Ok */
    ASX_RESTART_TEMPORARY = 2  /* never; nor when it was stopped because of another child */
} asx_restart;

/* Who else is stopped, and started again with it. */
typedef enum asx_strategy {
    ASX_ONE_FOR_ONE = 0, /* nobody */
    ASX_ONE_FOR_ALL = 1, /* all others */
    ASX_REST_FOR_ONE = 2 /* those behind it in the array */
} asx_strategy;

/* For `stop_ns`: the child is completed by force if its first resumption after the cancel does not
 * end it. */
#define ASX_STOP_BRUTAL UINT64_C(1)

/* Zero in any field but `fn` means its default. */
typedef struct asx_supervised {
    const char *name;
    asx_task_fn fn;
    void *arg;           /* of each start the same */
    asx_call_fn start;   /* called by the supervisor before it starts the task, NULL: nothing. If it
                            fails the task is not started, and the child has failed in its start */
    asx_restart restart;
    uint64_t stop_ns;    /* time between cancel and force; default 5 s; ASX_TIME_NEVER: no force */
    size_t stack_size;
} asx_supervised;

#define ASX_NO_RESTARTS UINT32_MAX

/* Zero in any field means its default. */
typedef struct asx_supervisor_options {
    const char *name;
    asx_strategy strategy;
    uint32_t restarts_max;   /* within the period, else the supervisor gives up; default 1;
                                ASX_NO_RESTARTS: it gives up at the first. 8 bytes each */
    uint64_t period_ns;      /* default 5 s */
    uint64_t backoff_ns;     /* before a restart; doubles when one follows another in a period */
    uint64_t backoff_max_ns; /* 0: the period */
} asx_supervisor_options;

/* X(NAME, "name"): where a child is. */
#define ASX_SUPERVISED_STATE_LIST(X)                                                               \
    X(WAITING, "waiting")   /* to be started */                                                    \
    X(RUNNING, "running")                                                                          \
    X(STOPPING, "stopping") /* its region is being closed, with a cancel or after its end */       \
    X(ENDED, "ended")       /* and will not be started again, unless others make it */

typedef enum asx_supervised_state {
#define ASX_SUPERVISED_STATE_ENUM_(name, text) ASX_SUPERVISED_##name,
    ASX_SUPERVISED_STATE_LIST(ASX_SUPERVISED_STATE_ENUM_)
#undef ASX_SUPERVISED_STATE_ENUM_
    ASX_SUPERVISED_STATE_COUNT
} asx_supervised_state;

/* NULL for a number that is none. */
ASX_API const char *asx_supervised_state_str(unsigned state);

/* What became of a child. */
typedef struct asx_supervised_end {
    asx_supervised_state state; /* WAITING: it was never started; else ENDED */
    asx_outcome outcome;   /* of its last run; of a start that failed: Err */
    uint32_t starts;       /* so often its task was started */
    uint32_t forced;       /* so often it did not stop within its time, and was ended by force */
} asx_supervised_end;

/* Supervises `count` children until none is left. `ret_ends` (may be NULL) has `count` places, and
 * is written whatever the call returns. ASX_E_BUDGET_EXHAUSTED  more than `restarts_max` restarts
 * within the period ASX_E_CANCELLED         the caller was cancelled; its children have been
 * stopped in order what `start` returned   a child failed in its first start; those before it have
 * been stopped ASX_E_INVALID_ARGUMENT, ASX_E_WRONG_CONTEXT, ASX_E_RESOURCE_EXHAUSTED
 * ASX_E_NOT_SUPPORTED     in a poll task ASX_E_CAPABILITY        SUPERVISE, SPAWN, CHANNEL; with a
 * backoff also TIME */
ASX_API asx_status asx_supervise(asx_cx *cx, const asx_supervised *children, size_t count,
                                 const asx_supervisor_options *options,
                                 asx_supervised_end *ret_ends);

ASX_END_DECLS

#endif
