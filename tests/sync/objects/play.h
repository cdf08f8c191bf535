/* play.h - small plays about synchronization objects, run on every mix of vehicles and clocks.
 *
 * A play has actors; each actor is a list of steps with the time (in milliseconds) at which it
 * begins, what it must return, and when it must have returned. The same steps are executed by a
 * fiber or by a poll function. play_check() runs every combination on a virtual clock, some in the
 * laboratory with seeds and a journal, and some on the real clock, where only the statuses and the
 * order count. So a law that is stated once is shown everywhere.
 *
 * The objects live in the region `home`, the actors in the region `crowd`, which is closed first
 * unless the play says that home goes before it.
 */
#ifndef ASX_TESTS_SYNC_PLAY_H
#define ASX_TESTS_SYNC_PLAY_H

#include <limits.h>
#include <stdatomic.h>

#include <asx/asx.h>

#include "harness.h"

enum { ACTORS_MAX = 5, STEPS_MAX = 14, SLOTS = 3 };

struct play_actor;

struct play_step {
    unsigned at;   /* 0: at once */
    asx_status (*op)(asx_cx *cx, struct play_actor *actor, const struct play_step *step);
    asx_status want;
    unsigned done; /* 0: as soon as it begins, if that is not at once */
    uint64_t n;
    unsigned slot;
};

struct play_run {
    const struct play *play;
    unsigned vehicles; /* bit per actor: poll */
    bool live;         /* real clock */
    uint64_t seed;
    asx_time start;
    asx_region home, crowd;
    asx_task tasks[ACTORS_MAX];
    struct play_actor *actors;
    atomic_uint due[ACTORS_MAX];  /* when what each does now is to begin; UINT_MAX: it has ended */
    atomic_uint over[ACTORS_MAX]; /* when it is to be over, once the actor waits or is gone */
    asx_close_report home_report, crowd_report;
    uint64_t count;    /* the play's own */
    char log[64];      /* letters, in the order in which they were written */
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    asx_condition condition;
    asx_notify notify;
    asx_barrier barrier;
    asx_once once;
    asx_status initializer; /* what it returns */
    asx_oneshot_sender oneshot_tx;
    asx_oneshot_receiver oneshot_rx;
    asx_broadcast broadcast;
    asx_watch watch;
    uint64_t dropped; /* values that the drop callback saw, added up */
};

struct play_actor {
    struct play_run *run;
    const struct play_step *steps;
    unsigned number, pos;
    unsigned clock; /* of the latest step that has begun */
    bool sleeping, begun, ended;
    asx_mutex_guard mutex[SLOTS];
    asx_rwlock_guard rwlock[SLOTS];
    asx_semaphore_permit permit[SLOTS];
    asx_broadcast_receiver receiver;
    uint64_t seen;
};

struct play {
    const char *name;
    void (*setup)(asx_cx *cx, struct play_run *run);
    struct play_step steps[ACTORS_MAX][STEPS_MAX]; /* an actor without steps is none */
    asx_status want_close;                         /* of the crowd */
    bool home_first;
    unsigned home_closes_at;                       /* then */
    const char *log;                               /* what must have been written; NULL: nothing */
    void (*after)(struct play_run *run);           /* both regions are closed; may be NULL */
};

void play_check(const struct play *play);

/* Before a step that does not come back: the actor ends in it. */
void play_does_not_return(struct play_actor *actor);

#define STEP_OP(name) \
    asx_status name(asx_cx *cx, struct play_actor *actor, const struct play_step *step)

/* Of all plays. */
STEP_OP(op_cancel);     /* actor n */
STEP_OP(op_panic);
STEP_OP(op_end);        /* with `want` */
STEP_OP(op_mask);
STEP_OP(op_unmask);
STEP_OP(op_checkpoint);
STEP_OP(op_log);        /* the letter n */

/* Locks. A slot is where the guard is. */
STEP_OP(op_lock);
STEP_OP(op_try_lock);
STEP_OP(op_recover);
STEP_OP(op_unlock);
STEP_OP(op_mutex_waiters);     /* must be n */
STEP_OP(op_read);
STEP_OP(op_write);
STEP_OP(op_try_read);
STEP_OP(op_try_write);
STEP_OP(op_rw_recover);
STEP_OP(op_rw_unlock);
STEP_OP(op_rw_waiters);
STEP_OP(op_acquire);           /* n permits */
STEP_OP(op_try_acquire);
STEP_OP(op_release);
STEP_OP(op_release_some);
STEP_OP(op_add);
STEP_OP(op_available);

/* Meeting points. */
STEP_OP(op_condition_wait);    /* with the mutex of the slot */
STEP_OP(op_signal);
STEP_OP(op_broadcast);
STEP_OP(op_notify_wait);
STEP_OP(op_notify_one);
STEP_OP(op_notify_all);
STEP_OP(op_barrier);           /* n: 1 for the leader */
STEP_OP(op_once);              /* the initializer takes n ms, counts, and returns as set */
STEP_OP(op_initializer);       /* it returns -n from now on */
STEP_OP(op_once_done);         /* must be n */

/* Channels of other shapes. Values are 8 bytes. */
STEP_OP(op_oneshot_send);      /* n */
STEP_OP(op_oneshot_adopt);
STEP_OP(op_oneshot_drop_tx);
STEP_OP(op_oneshot_recv);      /* must give n */
STEP_OP(op_oneshot_try_recv);
STEP_OP(op_oneshot_drop_rx);
STEP_OP(op_subscribe);
STEP_OP(op_broadcast_send);    /* n, to `slot` receivers */
STEP_OP(op_broadcast_recv);    /* must give n; or that n were missed */
STEP_OP(op_broadcast_try_recv);
STEP_OP(op_broadcast_drop);
STEP_OP(op_broadcast_close);
STEP_OP(op_watch_send);        /* n */
STEP_OP(op_watch_get);         /* must give n */
STEP_OP(op_watch_changed);     /* must give n */
STEP_OP(op_watch_close);

/* Finds an obligation of this kind and state with a site in `file`; false: there is none. */
bool report_names(const asx_close_report *report, const char *kind, const char *state,
                  const char *file);

/* Runs fn(cx, arg) as the program of a fresh runtime with a virtual clock and wants ASX_OK. */
void program_check(asx_task_fn fn, void *arg);
/* Likewise in the laboratory with many seeds; the same seed gives the same digest. */
void seeds_check(asx_task_fn fn, void *arg, unsigned seeds);

#endif
