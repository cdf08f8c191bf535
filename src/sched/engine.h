/* engine.h - many workers around one engine.
 *
 * Words
 *   engine    everything below the public calls: regions, tasks, lanes, channels, timers. It is the
 *             code of the one-thread runtime, and with several workers one of them at a time runs
 *             it: the one that holds the engine.
 *   registers what in asx_runtime belongs to one worker (current, turn_left, ...). The engine has
 *             one set of them, that of the worker whose they are now: `loaded`.
 *   gate      what the handles of a shared runtime carry instead of the runtime: an asx_runtime
 *             that is never written to once it is made, in which nobody runs and nothing is
 *             found. So every short way fails on it without looking at anything that others
 *             write, and the long way sees the gate, enters, and makes the same call with the
 *             real runtime.
 *   thread    a thread's own record: which worker it is, if any. Its address names the thread.
 *   surplus   a worker beyond those that were configured: see pool.c.
 *   visitor   a thread that is no worker of this runtime and has entered.
 *   outing    what a worker does for its task without entering: latch.h, sync/outside.c.
 *
 * Who holds the engine
 *   Code of the runtime runs with the engine held, a user's code without it. A switch from fiber to
 *   fiber happens with the engine held: who goes on after it has it, and lets go of it on the way
 *   out to the user's code. So parking and waking need no protocol between them, and "parked"
 *   is true for everyone at once.
 *   What runs inside all the same: allocators and drop callbacks. They must be short, may not wait,
 *   and may not take a lock around which somebody calls asx.
 *
 * Letters on shared fields: I set before the others can see it, L with the engine held, A atomic.
 */
#ifndef ASX_SCHED_ENGINE_H
#define ASX_SCHED_ENGINE_H

#include <pthread.h>

#include "base/atomic.h"
#include "sched/bell.h"
#include "sched/latch.h"
#include "sched/lease.h"
#include "sched/sched.h"

#define ASX__WORKERS_MAX 255u /* a task record has a byte for the number + 1 */

typedef struct asx__registers {
    asx__task *current, *next_up, *handoff, *over;
    void *host_sp;
    asx__stack *host;
    jmp_buf *cleanup_again, *loop_again;
    uint32_t turn_left, turn_slow, inline_streak, slot_left;
    const asx__node *slot;
    bool in_cleanup, yield_due;
    asx_status poll_failure;
    uint64_t poll_failed, running_seq;
} asx__registers;

/* What a worker needs to serve the task that it runs without entering; its own thread's. */
typedef struct asx__outside {
    /* A: the task, if there is nothing about it that the engine must know of; else NULL. Written
     * with the engine held: by its thread when it leaves, by others to make it come in. */
    asx__atomic_ptr task;
    asx__obligation *permit;  /* the record that is the task's own; NULL: it has none */
    asx__atomic_u64 next_id;  /* A: numbers of obligations that it may give out ... */
    asx__atomic_u64 last_id;  /* A: ... up to this one; others only look */
    asx__atomic_u64 skipped;  /* A: numbers that it had and never gave out */
    asx__atomic_u64 calls;    /* A: made without entering, ever; others only look */
    uint64_t calls_seen;      /* when it last entered */
    uint32_t left;            /* calls that it may make before it looks in */
    asx__atomic_u64 entries;  /* A: how often it has entered, likewise */
} asx__outside;

/* How far a worker has come; every dispatch changes it. */
typedef struct asx__progress {
    const asx__task *task;
    uint64_t generation, turns;
    uint32_t turn_left;
} asx__progress;

typedef struct asx__worker {
    asx_runtime *rt;           /* I */
    uint32_t index;            /* I */
    asx__bell bell;            /* A: its state; rung when it is to wake up */
    bool made;                 /* its thread is to be joined: of the monitor, then of the driver */
    asx__atomic_u64 turns;     /* A: it has begun; the monitor looks from outside ... */
    uint64_t turns_seen;       /* ... has seen so many ... */
    bool turned;               /* ... and that they were more than before; its own */
    asx__progress progress;    /* L: at the monitor's last look ... */
    uint32_t same_looks;       /* L: ... how often it has been the same before ... */
    asx_time same_since;       /* L: ... and since when */
    asx__progress watched;     /* L: at the watch's last look ... */
    asx_time watched_since;    /* L: ... and since when it has been the same */
    uint32_t pins;             /* L: tasks that only it may run, and have not ended */
    asx_time needed_at;        /* L: surplus: had work when no base worker was idle */
    asx__registers r;          /* L: while they are not loaded */
    asx__lease_slot slot;
    asx__node local;           /* L: its runnable tasks, while its registers are not loaded */
    asx__node pinned;          /* L: runnable tasks that only it may run */
    bool pinned_waited;        /* L: others went before them last time */
    asx__rng rng;              /* L: where its next search for work begins */
    asx__stack host_stack;     /* of its thread */
    jmp_buf loop_again;
    asx__outside outside;      /* far from what others write */
    void *self;                /* its thread's asx__thread */
    pthread_t thread;          /* I: not of worker 0 */
    int32_t tid;               /* of its thread as the system knows it, for dumps; 0: has none */
    bool asleep;               /* L */
    uint64_t entries_seen;     /* L: when it last looked how things go, of all, ... */
    uint64_t own_seen;         /* L: ... of its own ... */
    uint64_t met_seen;         /* L: ... how often it had met others ... */
    uint64_t met;              /* L: entries at which it had to wait, ever */
    asx_time looked_at;        /* L: ... and when that was */
    struct asx__worker *next_asleep; /* L */
    asx__driving drives;       /* of its thread */
} asx__worker;

/* Who decides how many workers there are: pool.c. */
typedef struct asx__pool {
    pthread_t monitor;         /* of the driver */
    bool made;                 /* of the driver: there is one */
    bool looks_in;             /* L: it looks in; else it sleeps until it is rung for */
    asx__bell bell;            /* rung when it is to wake up; it never searches */
    uint32_t dull_looks;       /* L: in a row with somebody asleep */
    uint32_t spare_looks;      /* L: with more workers than needed, minus those without */
    uint64_t negative_streak;  /* L */
    asx_time hold_until;       /* L: a thread could not be made; no other is tried before */
    asx_pool_stats counts;     /* L: what is told */
} asx__pool;

typedef struct asx__thread {
    asx__worker *worker; /* of the runtime that this thread drives or works for; NULL: none */
    const void *explorer; /* laboratory: who explores on this thread; NULL: nobody */
    const sigset_t *host_mask; /* of the runtime that made this thread; NULL: none did */
} asx__thread;

typedef struct asx__engine {
    asx__lease_lock lock;
    asx__timer_gate timers;    /* I: what the wheel in the gate stands for */
    asx__atomic_u32 waiting;   /* A: threads that have found it taken and wait for it */
    asx__atomic_ptr owner;     /* A: the thread that holds it; only its owner finds itself there */
    asx__worker *loaded;       /* L: whose registers are in the runtime */
    asx__latch *seized;        /* L: by whoever is inside, until it leaves */
    asx__worker visitor;       /* L: the registers of whoever is no worker */
    asx__worker *workers;      /* I */
    uint32_t workers_base;     /* I: as configured */
    uint32_t workers_cap;      /* I: records, those of surplus workers included */
    uint32_t workers_max;      /* L: records that are or were in use; never fewer than base */
    asx__pool pool;
    uint32_t workers_here;     /* L: 0 while nobody drives */
    uint32_t sleepers;         /* L */
    asx__worker *asleep;       /* L: the last to fall asleep first */
    asx__worker *watch;        /* L: the sleeper that wakes up by itself; NULL: none */
    asx__worker *poller;       /* L: the sleeper that waits in the reactor; NULL: none */
    uint64_t reaped_seen;      /* L: reactor->reaped at the watch's last look */
    asx_time watch_until;      /* L: when */
    asx_time quiet_known;      /* L: timers.quiet_until when it was last compared with that */
    bool polling;              /* L: it looks in every LOOK_NS */
    bool stop;                 /* L: workers go home ... */
    bool deadlocked;           /* L: ... because nothing will ever happen */
    uint64_t stolen;           /* L: tasks, ever */
    uint32_t streak;           /* L: entries of the same worker in a row, with nobody in the way */
    uint32_t lease_after;      /* L: so many of them make a lease */
    uint64_t leased_at;        /* L: calls of all when the last one was made */
    uint64_t entries_seen;     /* L: at the last look */
    asx_time looked_at;        /* L: when that was */
    bool coarse;               /* L: tasks are long enough to be worth a core each */
    uint32_t quiet_looks;      /* L: without a backlog, in a row */
} asx__engine;

/* This thread's. Never keep it across anything that may suspend a task. */
ASX__SEAM asx__thread *asx__thread_self(void);
/* The same for functions that are never inlined and read it before they suspend, if they do. */
#define ASX__TLS_HERE __attribute__((tls_model("initial-exec")))
extern ASX__SEAM ASX__TLS_HERE _Thread_local asx__thread asx__this_thread;

/* Makes the engine and the gate of a runtime that is to have so many workers. */
asx_status asx__engine_create(asx_runtime *rt, uint32_t base, uint32_t cap);
void asx__engine_destroy(asx_runtime *rt);

/* Takes the engine of a shared runtime. True: this thread had it already; pass that on to leave. */
bool asx__engine_enter(asx_runtime *rt);
void asx__engine_leave(asx_runtime *rt, bool had_it);
/* Leaves, and answers `st`: for who has nothing else to do. */
asx_status asx__engine_left(asx_runtime *rt, asx_status st);
bool asx__engine_is_mine(const asx_runtime *rt);
/* Inside: somebody is awake, and the watch looks in anyway: no sleeper has to be told of work. */
static inline bool asx__engine_is_calm(const asx__engine *e)
{
    return e->polling && !e->coarse && e->watch != NULL && e->sleepers != e->workers_here;
}
/* Inside: the number of the worker, from 1, that does what is done now; 0: a visitor. */
uint32_t asx__engine_worker(const asx_runtime *rt);
/* Inside: leaves, and enters again when those who wait for it, if any do, have had it. */
void asx__engine_let_in(asx_runtime *rt);
/* Before leaving for long: others need not revoke anything. */
void asx__engine_give_up(asx_runtime *rt);

/* ---- without entering ---- */

/* What a worker does for the task that it runs, in one object, with no step that could wait. By
 * its lease it needs nothing else; without one it takes the object's latch. */
typedef struct asx__outing {
    asx__worker *worker; /* NULL: it has to enter */
    bool leased;
} asx__outing;

/* May the calling thread do something for `task` (NULL: for the one that it runs) without entering?
 * The task runs here, was not cancelled, has no quota, no deadline and no grant to pick up. */
asx__outing asx__outing_begin(asx_runtime *rt, const asx__task *task);

/* So many more entries, or what counts as that. */
static inline void asx__outside_entered(asx__outside *out, uint64_t count)
{
    asx__store_relaxed(&out->entries, asx__load_relaxed(&out->entries) + count);
}

/* By its own thread, without a lease: the task runs here, and need not enter. */
static inline bool asx__outside_may(asx__outside *out, const asx__task *task)
{
    const asx__task *mine = asx__load_relaxed(&out->task);
    return mine != NULL && (task == NULL || task == mine) && out->left-- != 0;
}

/* Inside: it has to, from now on. */
static inline void asx__outside_call_in(asx__outside *out, const asx__task *task)
{
    if (asx__load_relaxed(&out->task) == task)
        asx__store_relaxed(&out->task, NULL);
}

static inline void asx__outing_take(asx__outing outing, asx__latch *latch)
{
    if (!outing.leased)
        asx__latch_take(latch);
}

/* `latch` as it was taken, or NULL. */
static inline void asx__outing_end(asx__outing outing, asx__latch *latch)
{
    asx__outside *out = &outing.worker->outside;
    if (latch != NULL && !outing.leased)
        asx__latch_drop(latch);
    asx__store_relaxed(&out->calls, asx__load_relaxed(&out->calls) + 1);
    if (outing.leased)
        asx__store_release(&outing.worker->slot.inside, 0u);
}

/* An outing by a lease has found that there is more to do: it is an entry from now on, with nobody
 * between the two. */
static inline void asx__outing_stay(asx__outing outing)
{
    asx__engine *e = outing.worker->rt->engine;
    ASX__DEBUG_ASSERT(outing.leased && e->loaded == outing.worker);
    asx__store_relaxed(&e->owner, outing.worker->self);
    asx__outside_entered(&outing.worker->outside, 1);
}

/* Inside: nobody else does anything with the object until this worker has left. */
void asx__engine_seize(asx_runtime *rt, asx__latch *latch);
/* Inside: whoever runs the task has to enter for whatever it does next. */
void asx__engine_call_in(asx_runtime *rt, const asx__task *task);
/* Calls that workers made, entering or not; anybody may ask. */
uint64_t asx__engine_calls(const asx__engine *e);
/* The same of one worker. */
uint64_t asx__worker_calls(const asx__worker *worker);
/* Inside: numbers of obligations that workers have and did not give out yet. */
uint64_t asx__engine_spare_ids(const asx_runtime *rt);

/* ---- steal.c: all inside ---- */

void asx__local_init(asx__worker *worker, uint64_t seed);
/* The first ready list is the loaded worker's own. */
void asx__local_become(asx_runtime *rt, asx__worker *before, asx__worker *now);
/* The loaded worker's list becomes anybody's; it takes over what is anybody's. */
void asx__local_give_back(asx_runtime *rt);
void asx__local_adopt(asx_runtime *rt);
/* For a worker that has nothing. True: it has now. */
bool asx__steal(asx_runtime *rt);
/* Besides what the loaded worker has. */
bool asx__locals_hold_any(const asx_runtime *rt);
uint64_t asx__locals_len(const asx_runtime *rt);
/* The task is no longer to be run next by a worker that is not loaded. False: none has it. */
bool asx__locals_forget(asx_runtime *rt, const asx__task *task);

/* Tasks that only one worker may run. The loaded worker, or worker 0, is this one's from now on. */
void asx__pin(asx_runtime *rt, asx__task *task);
void asx__pinned_put(asx_runtime *rt, asx__task *task);
/* Of the loaded worker; they take turns with what else it has. NULL: none, or not now. */
asx__task *asx__pinned_take(asx_runtime *rt, bool others_wait);
bool asx__pinned_any(const asx_runtime *rt);
/* One of them has ended. */
void asx__unpin(asx_runtime *rt, const asx__task *task);
/* The worker has no thread: worker 0 may run what was its own. */
void asx__pinned_rehome(asx_runtime *rt, asx__worker *worker);
/* What another worker had to run, but for its pinned tasks, is anybody's. */
void asx__local_drain(asx_runtime *rt, asx__worker *worker);

/* ---- propagate.c ---- */

/* Not everyone has been told of a cancellation. */
static inline bool asx__cancel_pending(const asx_runtime *rt)
{
    return rt->cancel_stack != NULL || rt->cancel_at != NULL;
}
/* The next piece of what is pending, if anything is. */
void asx__cancel_go_on(asx_runtime *rt);

/* ---- workers.c ---- */

/* Makes its thread. False: it cannot be made. The worker is ACTIVE and counted already. */
bool asx__worker_start(asx__worker *worker);
/* Everyone sleeps, and only somebody outside can change that. */
bool asx__workers_stalled(asx_runtime *rt);
/* Is anything runnable, for the worker that asks or for anybody? */
bool asx__workers_have_backlog(const asx_runtime *rt);

/* Operations are out, and nobody waits for their completion but by coming to the end of a turn. */
bool asx__workers_unpolled(const asx_runtime *rt);
/* Wakes one whose bell has been rung. */
void asx__worker_rouse(asx_runtime *rt, asx__worker *worker);
/* Wakes this one, if it sleeps. */
void asx__worker_call(asx_runtime *rt, asx__worker *worker);

/* Dispatches of turns that workers other than the one inside have not finished. */
uint64_t asx__workers_dispatched(const asx_runtime *rt);
/* Inside, on the way out: a sleeper whose bell has been rung and whose futex is to be woken. */
asx__worker *asx__workers_whom_to_wake(asx_runtime *rt);
/* Drives with all workers; the caller becomes worker 0. */
asx_status asx__drive_shared(asx_runtime *rt, asx_time until);
/* One step on the calling thread alone. */
bool asx__step_shared(asx_runtime *rt, uint64_t dispatches_max);

/* ---- pool.c ---- */

static inline bool asx__worker_is(const asx__worker *worker, enum asx__worker_state state)
{
    return asx__bell_is(&worker->bell, state);
}

/* Inside: how far a worker has come that is not the loaded one. */
static inline asx__progress asx__worker_progress(const asx__worker *worker)
{
    const asx__task *task = worker->r.current;
    asx__progress now = { task, task != NULL ? task->generation : 0,
                          asx__load_relaxed(&worker->turns), worker->r.turn_left };
    return now;
}

static inline bool asx__progress_is(const asx__progress *a, const asx__progress *b)
{
    return a->task == b->task && a->generation == b->generation && a->turns == b->turns &&
           a->turn_left == b->turn_left;
}

/* One more turn of its own. */
static inline void asx__worker_turns(asx__worker *worker)
{
    asx__store_relaxed(&worker->turns, asx__load_relaxed(&worker->turns) + 1);
}

/* The driver's, inside: a monitor from now on; and none any more, outside. */
void asx__pool_begin(asx_runtime *rt);
/* Inside, by the driver: its monitor could not be made; tries again if that is long ago. */
void asx__pool_mend(asx_runtime *rt);
void asx__pool_end(asx_runtime *rt);
/* Inside: nobody sleeps any more. */
void asx__pool_all_awake(asx__engine *engine);
/* Inside, asked by a sleeper: when it has to ask again. NEVER: it is no surplus worker. */
asx_time asx__pool_retire_at(const asx__worker *worker);
/* Inside, by a sleeper that woke up by itself: it is not needed any more, and DRAINING. */
bool asx__pool_retires(asx_runtime *rt, asx__worker *worker);
/* Inside: its thread ends. */
void asx__pool_worker_ends(asx_runtime *rt, asx__worker *worker);

/* What a public handle carries. */
static inline asx_runtime *asx__handle_runtime(asx_runtime *rt)
{
    return ASX__UNLIKELY(rt->gate != NULL) ? rt->gate : rt;
}

/* In the child of a fork a shared runtime is there in part: who finds it otherwise than through a
 * gate, which is shut, asks this first. */
static inline bool asx__is_shut(const asx_runtime *rt)
{
    return rt->gate->behind == NULL;
}

static inline bool asx__is_gate(const asx_runtime *rt)
{
    return rt != NULL && rt->behind != NULL;
}

/* Calls a user's function from inside: without the engine, with a context that knows the gate. */
static inline asx_status asx__call_out(asx_runtime *rt, asx_cx *cx, asx_call_fn fn, void *arg)
{
    if (ASX__LIKELY(rt->gate == NULL))
        return fn(cx, arg);
    asx_cx out = { cx->task_, rt->gate, cx->caps_, 0 };
    asx__engine_leave(rt, false);
    asx_status st = fn(&out, arg);
    (void)asx__engine_enter(rt);
    return st;
}

/* On the way of a call that cannot be made as it is: through the gate, if there is one, and back
 * with the result of the same call on `in`. Else nothing. */
#define ASX__THROUGH(type, rt_expr, call)                                                          \
    do {                                                                                           \
        asx_runtime *inside_ = (rt_expr);                                                          \
        bool had_it_ = asx__engine_enter(inside_);                                                 \
        type result_ = (call);                                                                     \
        asx__engine_leave(inside_, had_it_);                                                       \
        return result_;                                                                            \
    } while (0)

#define ASX__GATE_CX_AS(type, cx, call)                                                            \
    do {                                                                                           \
        if ((cx) != NULL && asx__is_gate((cx)->rt_)) {                                             \
            asx_cx in = { (cx)->task_, (cx)->rt_->behind, (cx)->caps_, 0 };                        \
            ASX__THROUGH(type, in.rt_, call);                                                      \
        }                                                                                          \
    } while (0)
#define ASX__GATE_CX(cx, call) ASX__GATE_CX_AS(asx_status, cx, call)

/* The context for a call inside; NULL stays NULL, and another runtime's what it is. */
static inline asx_cx *asx__cx_inside(const asx_cx *cx, const asx_runtime *rt, asx_cx *in)
{
    if (cx == NULL)
        return NULL;
    *in = *cx;
    if (asx__is_gate(in->rt_) && in->rt_->behind == rt)
        in->rt_ = in->rt_->behind;
    return in;
}

#define ASX__GATE_REGION(handle, call)                                                             \
    do {                                                                                           \
        if ((handle) != NULL && asx__is_gate((handle)->rt_)) {                                     \
            asx_region in = { (handle)->rt_->behind, (handle)->id };                               \
            ASX__THROUGH(asx_status, in.rt_, call);                                                \
        }                                                                                          \
    } while (0)

/* The handle of a task of a shared runtime has the gate and no record. */
static inline bool asx__task_is_shared(const asx_task *handle)
{
    return handle != NULL && handle->task_ == NULL && asx__is_gate(handle->gate_);
}
/* With the record; inside. A number that was never given out gives NULL. */
asx_task asx__task_inside(const asx_task *handle);
/* The same handle for the outside. */
static inline void asx__task_outside(asx_runtime *rt, asx_task *handle)
{
    if (rt->gate != NULL) {
        handle->task_ = NULL;
        handle->gate_ = rt->gate;
    }
}

/* The end of a call inside that may have written one. */
static inline asx_status asx__task_handed_out(asx_runtime *rt, asx_status st, asx_task *task)
{
    if (st == ASX_OK && task != NULL)
        asx__task_outside(rt, task);
    return st;
}

#define ASX__GATE_TASK(handle, call)                                                               \
    do {                                                                                           \
        if (asx__task_is_shared(handle)) {                                                         \
            asx_runtime *of_ = (handle)->gate_->behind;                                            \
            bool had_ = asx__engine_enter(of_);                                                    \
            asx_task in = asx__task_inside(handle);                                                \
            asx_status st_ = in.task_ != NULL ? (call) : ASX_E_STALE_HANDLE;                       \
            asx__engine_leave(of_, had_);                                                          \
            return st_;                                                                            \
        }                                                                                          \
    } while (0)

/* Calls with the runtime itself: inside once, then as ever. */
#define ASX__GATE_RUNTIME_AS(type, rt, call)                                                       \
    do {                                                                                           \
        if ((rt) != NULL && (rt)->gate != NULL && !asx__engine_is_mine(rt))                        \
            ASX__THROUGH(type, (asx_runtime *)(uintptr_t)(rt), call);                              \
    } while (0)
#define ASX__GATE_RUNTIME(rt, call) ASX__GATE_RUNTIME_AS(asx_status, rt, call)

#endif
