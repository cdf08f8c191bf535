/* runtime.h - the object everything lives in.
 *
 * A process may have several; they share nothing. A runtime with one worker belongs to the thread
 * that runs it, and no other thread may call anything of it.
 *
 * With several workers (asx_runtime_config.workers) the thread that calls asx_runtime_run() is one
 * of them and the others are threads that it makes; tasks run on any of them, as many at a time,
 * and go on on another one after a wait. So what tasks share they must guard, and code that keeps
 * the address of a thread-local across a wait is wrong. Other threads may then spawn into a region,
 * cancel, ask, call a task's waker and request the shutdown; what needs a context answers
 * ASX_E_WRONG_CONTEXT there. Threads that cannot be made are done without. A child after fork() has
 * none of them: it may exec or _exit, and not use the runtime.
 */
#ifndef ASX_RUNTIME_H
#define ASX_RUNTIME_H

#include <asx/channel.h>
#include <asx/task.h>
#include <asx/trace.h>

ASX_BEGIN_DECLS

/* Profiles change ceilings and waiting, never outcomes. */
typedef enum asx_profile {
    ASX_PROFILE_SERVER = 0,      /* no ceilings but memory; 64 KiB stacks */
    ASX_PROFILE_EMBEDDED = 1,    /* small ceilings, 16 KiB stacks */
    ASX_PROFILE_FREESTANDING = 2 /* as embedded; needs a static memory block; no system calls
                                    but the clock, waiting is the caller's business */
} asx_profile;

typedef enum asx_clock_kind {
    ASX_CLOCK_REAL = 0,
    ASX_CLOCK_VIRTUAL = 1 /* moves to the next deadline when nothing can run */
} asx_clock_kind;

typedef enum asx_trace_overflow {
    ASX_TRACE_REFUSE = 0,   /* a full journal stops storing and says so */
    ASX_TRACE_OVERWRITE = 1 /* the oldest events go; a flight recorder */
} asx_trace_overflow;

/* Suggestions to the scheduler; they change the order of lanes, not what is correct. */
typedef enum asx_governor {
    ASX_GOVERNOR_NO_PREFERENCE = 0,
    ASX_GOVERNOR_MEET_DEADLINES = 1,
    ASX_GOVERNOR_DRAIN_OBLIGATIONS = 2,
    ASX_GOVERNOR_DRAIN_REGIONS = 3
} asx_governor;

/* The resource contract: 0 means no ceiling. Every refusal is ASX_E_RESOURCE_EXHAUSTED and leaves
 * everything as it was. */
typedef struct asx_limits {
    uint32_t tasks_max;
    uint32_t regions_max;
    uint32_t ready_max;       /* tasks that can be runnable at once: checked at admission */
    uint32_t cancel_max;      /* tasks that can be in the cancel lane at once: likewise */
    uint32_t timers_max;
    uint32_t obligations_max;
    uint32_t channels_max;
    uint32_t stacks_max;
    uint64_t memory_max;      /* bytes taken from the allocator, stacks not included */
} asx_limits;

typedef struct asx_allocator {
    void *(*alloc)(void *ctx, size_t size); /* aligned for any type; NULL: none left */
    void (*free)(void *ctx, void *memory, size_t size);
    void *ctx;
} asx_allocator;

#define ASX_WORKERS_ALL UINT32_MAX

/* What a stack that overflows does. A report names task, place and region on stderr, then the
 * process aborts. It takes a SIGSEGV handler and a signal stack for each thread that runs tasks
 * (64 KiB from malloc()). Any other fault goes to the handler that the host had before, as if that
 * one alone were installed. */
typedef enum asx_overflow_mode {
    ASX_OVERFLOW_DEFAULT = 0, /* reported; not in the laboratory, in a static block, or under a
                                 sanitizer. What the system refuses is done without */
    ASX_OVERFLOW_REPORT = 1,  /* reported, or the runtime is not created */
    ASX_OVERFLOW_FAULT = 2    /* a plain SIGSEGV: the runtime leaves the signal alone */
} asx_overflow_mode;

typedef struct asx_runtime_config {
    asx_profile profile;
    asx_limits limits;
    asx_clock_kind clock;
    /* Laboratory: virtual clock, tie-breaks by seed, leaks fail the run. */
    bool lab;
    uint64_t seed;
    /* Journal. */
    bool trace;
    uint64_t trace_events_max; /* 0: grows as needed */
    asx_trace_overflow trace_overflow;
    const char *program;       /* stored in written traces; borrowed; length 0: up to the NUL */
    size_t program_len;
    /* Memory. */
    asx_allocator allocator;   /* alloc NULL: the C library's */
    void *memory;              /* all memory, stacks included, comes from this block ... */
    size_t memory_size;        /* ... and no allocator is ever called */
    size_t stack_size;         /* default by profile */
    /* Scheduling. */
    uint32_t workers;           /* 0 or 1: one; ASX_WORKERS_ALL: as many as there are cores that
                                   the process may use, and at least two, so that what other
                                   threads may do is the same on every machine. More than one with
                                   lab, a virtual clock or a static block is ASX_E_NOT_SUPPORTED.
                                   255 at most. `seed` decides where they steal first. */
    uint32_t workers_max;       /* so many at most while some are stuck (asx_pool_stats); 0: twice
                                   as many as `workers`; fewer than `workers`: as many; 255 at
                                   most. While all of these are stuck nothing happens: no task
                                   runs, no timer fires, deadlines and cancellations are late. It
                                   goes on as soon as one of them gets on. What may block for long
                                   belongs into asx_blocking(), whose threads do not count here */
    bool workers_fixed;         /* never more than `workers` */
    bool isolated;              /* several workers: no other thread will call in, so a runtime all
                                   of whose tasks wait for each other ends: ASX_E_DEADLOCK */
    uint32_t cancel_streak_max; /* default 16 */
    uint32_t timed_streak_max;  /* timed dispatches in a row while others are ready; default 16 */
    bool join_in_order;         /* a fresh child that is joined keeps its place in its lane; else
                                   it may run next */
    asx_timer_config timers;    /* `start` and `max_timers` are set for you */
    asx_region_options root;    /* of the root region */
    /* Work on other threads: see blocking.h. */
    uint32_t blocking_threads_max; /* default 64 */
    uint64_t blocking_idle_ns;     /* a thread without work ends after so long; default 10 s */
    asx_waker on_event;            /* called on other threads when something has come for the
                                      runtime: for hosts that step it; wake NULL: none */
    asx_overflow_mode stack_overflow; /* default: reported, if the system gives what it takes */
} asx_runtime_config;

/* `config` may be NULL: server profile, real clock, no trace. Allocates; the caller destroys.
 *   ASX_E_INVALID_ARGUMENT    a field that cannot be
 *   ASX_E_NOT_SUPPORTED       several workers with what is for one only
 *   ASX_E_RESOURCE_EXHAUSTED  memory, or a static block that is too small
 *   ASX_E_SYSTEM              the system refused the handler of ASX_OVERFLOW_REPORT */
ASX_API ASX_MUST_USE asx_status asx_runtime_create(const asx_runtime_config *config,
                                                   asx_runtime **ret_runtime);
/* Shuts down if that has not been done (waiting as long as the root's cleanup allows), and frees
 * everything. NULL is allowed. Not from inside a task, and not before asx_runtime_run() or
 * asx_runtime_step() of another thread has returned: ASX_E_WRONG_CONTEXT. ASX_E_SYSTEM: all is
 * freed but the signal stack for `stack_overflow`, which the system did not give back. */
ASX_API asx_status asx_runtime_destroy(asx_runtime *runtime);

/* Runs fn(cx, arg) as a fiber in the root region until the root region has closed: everything
 * fn has spawned there has ended. Returns what closing the root gave by the law of close with fn's
 * status as the body's. A runtime runs one program.
 *   ASX_E_WRONG_CONTEXT   from inside a task, or while another thread drives
 *   ASX_E_INVALID_TRANSITION  it ran before
 *   ASX_E_RESOURCE_EXHAUSTED  it could not be started
 *   ASX_E_OBLIGATION_LEAKED   laboratory: all went well, but for a leak that was not allowed
 *   ASX_E_DEADLOCK        every task waits, no timer is pending, no blocking work is out, and no-
 *                         body else can help: it has one worker, or `isolated`. The runtime is
 *                         shut down, asx_runtime_report() names them
 *   ASX_E_DIVERGED        replay */
ASX_API ASX_MUST_USE asx_status asx_runtime_run(asx_runtime *runtime, asx_task_fn fn, void *arg);

/* The same in steps, for a host that has a loop of its own: start, then step until it says done.
 * One step runs what is runnable in up to `dispatches_max` dispatches (0: until nothing is), and
 * tells when it wants to be called again: ASX_TIME_NEVER when only outside events can help.
 * asx_runtime_step() returns ASX_E_WOULD_BLOCK while work is left, else what run would return.
 *   ASX_E_WRONG_CONTEXT       from inside a task, or while another thread drives
 *   ASX_E_INVALID_TRANSITION  started twice, or stepped and never started
 *   ASX_E_RESOURCE_EXHAUSTED  could not be started
 *   ASX_E_INVALID_ARGUMENT */
ASX_API ASX_MUST_USE asx_status asx_runtime_start(asx_runtime *runtime, asx_task_fn fn, void *arg);
ASX_API ASX_MUST_USE asx_status asx_runtime_step(asx_runtime *runtime, uint64_t dispatches_max,
                                                 asx_time *ret_next_deadline);

/* Moves a virtual clock. ASX_E_NOT_SUPPORTED on a real one. It then only moves when told to.
 * ASX_E_INVALID_ARGUMENT: no runtime, or a time beyond the last one. */
ASX_API asx_status asx_runtime_advance(asx_runtime *runtime, uint64_t duration_ns);

/* ASX_OK, or the first that holds, asked in this order: ASX_E_TASKS_STILL_ACTIVE,
 * ASX_E_UNRESOLVED_OBLIGATIONS, ASX_E_REGIONS_NOT_CLOSED, ASX_E_TIMERS_PENDING,
 * ASX_E_CHANNEL_NOT_DRAINED. From inside a task the caller itself is active. A channel lives in a
 * region, so one that is not drained is told of as a region that is not closed; the last answer
 * would be that of something which outlives its region. */
ASX_API asx_status asx_runtime_quiescent(asx_runtime *runtime);

/* ASX_E_DEADLOCK: there are tasks, each of them waits, no timer is pending and no blocking work is
 * out; only a thread from outside can help, and asx_runtime_report() says which task waits for
 * what. ASX_OK: no. With several workers from any thread; a task that asks does not wait. The
 * answer is about one moment: a thread that is about to call in may change it.
 * ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_runtime_stalled(asx_runtime *runtime);

/* Cancels the root with kind Shutdown and drives everything to its end for at most `timeout_ns`
 * (0: as long as cleanup budgets allow). ASX_OK: quiescent; else the quiescence status. The report
 * (may be NULL) names the tasks completed by force meanwhile and those left. From inside a task:
 * only requests it, ASX_OK; or, and then nothing has happened, ASX_E_CAPABILITY (CANCEL).
 * ASX_E_WRONG_CONTEXT: several workers, in the child of a fork. ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_runtime_shutdown(asx_runtime *runtime, uint64_t timeout_ns,
                                        asx_close_report *ret_report);
/* All tasks and regions alive now. Freed with asx_close_report_deinit(). ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_runtime_report(asx_runtime *runtime, asx_close_report *ret_report);

/* The root region, from inside or outside: to spawn into before the run, to cancel, to ask. It is
 * closed by the runtime: a close of it is refused. ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_runtime_root(asx_runtime *runtime, asx_region *ret_region);
/* The runtime of a context; NULL for NULL. With several workers, what other threads may use too. */
ASX_API asx_runtime *asx_cx_runtime(const asx_cx *cx);
/* Its time, as of the scheduler's last turn or step; 0 for NULL. */
ASX_API asx_time asx_runtime_now(const asx_runtime *runtime);
/* The wheel that the runtime's own timers are in; its time is the runtime's, which also fires what
 * is due. Wakers are called by the workers, one at a time: they must be short and may not wait.
 * With several workers any thread may use it, as long as the runtime lives. NULL for NULL. */
ASX_API asx_timer_wheel *asx_runtime_timers(asx_runtime *runtime);
/* From now on; see the list above. ASX_E_INVALID_ARGUMENT: no such governor. */
ASX_API asx_status asx_runtime_set_governor(asx_runtime *runtime, asx_governor governor);

/* What the scheduler did; the same program and seed give the same certificate. */
typedef struct asx_fairness_certificate {
    uint64_t cancel_dispatches;
    uint64_t timed_dispatches;
    uint64_t ready_dispatches;
    uint64_t fallback_cancel_dispatches;
    uint64_t base_limit_exceedances;
    uint64_t effective_limit_exceedances;
    uint64_t max_effective_limit_observed;
    uint64_t hash; /* over the fields above */
} asx_fairness_certificate;
ASX_API asx_status asx_runtime_certificate(const asx_runtime *runtime,
                                           asx_fairness_certificate *ret_certificate);

typedef struct asx_stats {
    uint64_t tasks_live, tasks_spawned, tasks_forced;
    uint64_t tasks_stolen; /* moved from one worker to another */
    uint32_t workers, workers_asleep; /* 0 workers: a runtime with several that is not driven */
    uint64_t regions_live, regions_opened;
    uint64_t obligations_reserved, obligations_total, obligations_leaked;
    uint64_t channels_live, timers_live;
    uint64_t stacks_in_use, stacks_kept;
    uint64_t memory_bytes; /* taken from the allocator now */
    uint64_t ready_len, cancel_len, timed_len;
    uint64_t turns;        /* of the scheduler */
} asx_stats;
/* Counts of this moment; walks through lanes and obligations, so it is no call for a hot loop.
 * Changes nothing. ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_runtime_stats(const asx_runtime *runtime, asx_stats *ret_stats);

/* How many workers there are, and why. A worker is stuck when it has dispatched nothing for a few
 * milliseconds: its task computes, or blocks in a system call. While that leaves fewer than
 * `workers_base` others, tasks wait and no worker is asleep that could run them, a surplus worker
 * is made. It ends when it has had nothing to do for a tenth of a second, or when no worker has
 * been stuck for that long, but not before the last task that is pinned to it has ended.
 *
 * Looks are taken every two milliseconds while no worker is asleep, and for a while afterwards.
 * Tasks that wait behind a stuck worker are then given to the others, also if `workers_fixed`. Each
 * look ends in a promotion or at one gate: the sum of the gates and of `promoted` is `looks`. */
typedef struct asx_pool_stats {
    uint32_t workers_base;    /* as configured */
    uint32_t workers_max;     /* surplus workers included */
    uint32_t active, searching, asleep, draining; /* workers in this state now */
    uint32_t stuck;           /* at the last look */
    uint32_t workers_peak;    /* most at a time, ever */
    int64_t pressure;         /* at the last look: tasks that wait (at most 1000 are counted) minus
                                 workers that are idle */
    int64_t pressure_max;     /* ever */
    uint64_t looks;
    uint64_t looks_positive, looks_negative; /* pressure above and below 0 */
    uint64_t negative_streak_max;            /* most looks in a row with pressure below 0 */
    uint64_t handed_on;       /* tasks given to all because their worker was stuck or went */
    uint64_t promoted;        /* surplus workers made */
    uint64_t retired_idle;    /* ... that ended because they had nothing to do */
    uint64_t retired_surplus; /* ... that ended because none was stuck any more */
    uint64_t gate_no_work;       /* nothing waits */
    uint64_t gate_nonpositive;   /* something waits, and as many workers are idle */
    uint64_t gate_idle_capacity; /* more waits, but there are idle workers: they are to be woken */
    uint64_t gate_not_stuck;     /* as many workers as were configured get on with their tasks */
    uint64_t gate_at_max;        /* workers_max are there */
    uint64_t gate_no_thread;     /* a thread could not be made, now or in the last 100 ms */
} asx_pool_stats;
/* From any thread; with one worker all but the first two fields are 0. ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_runtime_pool_stats(const asx_runtime *runtime, asx_pool_stats *ret_stats);

/* Journal. ASX_E_NO_JOURNAL, from all down to asx_runtime_divergence(), unless the configuration of
 * the runtime says `trace`; ASX_E_RESOURCE_EXHAUSTED from asx_runtime_trace_status() when a bounded
 * journal had to drop events. */
ASX_API uint64_t asx_runtime_digest(const asx_runtime *runtime);
ASX_API asx_status asx_runtime_trace_status(const asx_runtime *runtime);
ASX_API asx_status asx_runtime_trace_write(const asx_runtime *runtime,
                                           asx_status (*sink)(void *ctx, const void *bytes,
                                                              size_t len),
                                           void *ctx);
/* Calls `observe` for every event from now on; NULL stops it. The event is borrowed. With several
 * workers it is called by one thread at a time, in the order of the journal, while others wait: it
 * must be short, and neither it nor the `sink` of a trace that is written may wait for a task. */
ASX_API asx_status asx_runtime_observe(asx_runtime *runtime,
                                       void (*observe)(void *ctx, const asx_event *event),
                                       void *ctx);
/* Replay: every event from the start must equal the recorded one; at the first that does not, the
 * run stops with ASX_E_DIVERGED. Before the run; the reader is borrowed until the runtime is
 * destroyed. ASX_E_NOT_SUPPORTED with several workers: their order is another one each time. */
ASX_API asx_status asx_runtime_replay(asx_runtime *runtime, asx_trace_reader *recorded);
typedef struct asx_divergence {
    bool diverged;
    bool recorded_ended; /* the run went on after the recording's last event */
    bool run_ended;      /* the recording goes on after the run's last event */
    bool in_lost_events; /* in one that the recording's ring had overwritten: the digests differ */
    asx_event recorded;
    asx_event actual;
} asx_divergence;
ASX_API asx_status asx_runtime_divergence(const asx_runtime *runtime,
                                          asx_divergence *ret_divergence);

/* Creates a server runtime, runs, shuts down, destroys; prints nothing. 0 when the status is
 * ASX_OK, else 1: fit to be returned from main. */
ASX_API int asx_main(asx_task_fn fn, void *arg);

ASX_END_DECLS

#endif
