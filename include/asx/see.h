/* see.h - what a live process does: which tasks there are, what each waits for, and where.
 *
 * A dump is text: each runtime of the process, its regions, and every task that has not ended with
 * its name, the place it was spawned at, the path of its region, its phase, its execution state,
 * what it waits for, and its call chain. Function names come from the symbol tables of the program
 * and its libraries; where they have none, module and offset are left for addr2line.
 *
 * Dumps can be taken at any moment, also from a signal handler that has interrupted the runtime in
 * the middle of a change: memory is read through the system, which refuses where an access would
 * fault, every walk is bounded, and a task that ran while it was looked at is marked as such. What
 * a dump says of a task that does not run is right if the task's runtime is driven by the
 * interrupted thread, or sleeps; of others it is right unless it says otherwise, and may be
 * a mixture of before and after.
 */
#ifndef ASX_SEE_H
#define ASX_SEE_H

#include <asx/runtime.h>

ASX_BEGIN_DECLS

/* Writes the tasks of one runtime, or of all runtimes of the process, to a file descriptor, which
 * may be non-blocking. Any thread, inside and outside of tasks, and signal handlers: takes no
 * lock, allocates nothing, keeps errno. The runtime must not be destroyed meanwhile.
 *   ASX_E_INVALID_ARGUMENT    no runtime, no descriptor
 *   ASX_E_RESOURCE_EXHAUSTED  no memory to be mapped for the time of the dump
 *   ASX_E_SYSTEM              the descriptor refused a write: what was written is not all */
ASX_API asx_status asx_dump_tasks(const asx_runtime *runtime, int fd);
ASX_API asx_status asx_dump_all(int fd);

/* From now on the signal dumps all runtimes to `fd`, which is borrowed for as long as the handler
 * is there; -1: plain signals are ignored, and dumps are for the tool only. `asx stacks PID` finds
 * such a process by itself. Dumps of other threads' running tasks become possible too: they are
 * asked by the same signal. signo 0 restores the handler that was there before. One signal at a
 * time: another one takes the place of the first. Outside of tasks or inside, any thread.
 *   ASX_E_INVALID_ARGUMENT    not a signal that can be caught
 *   ASX_E_RESOURCE_EXHAUSTED  no memory
 *   ASX_E_SYSTEM              the system refused the handler */
ASX_API asx_status asx_dump_on_signal(int signo, int fd);

/* What a watchdog has seen. */
typedef enum asx_sighting_kind {
    ASX_SIGHTING_NO_YIELD = 1,    /* a task that computes and does not let others go */
    ASX_SIGHTING_SYSTEM_CALL = 2, /* a task that has its thread wait in a system call */
    ASX_SIGHTING_MUTEX_HELD = 3   /* a task that is suspended and holds a pthread mutex */
} asx_sighting_kind;

/* Everything is borrowed for the time of the call. */
typedef struct asx_sighting {
    asx_sighting_kind kind;
    uint64_t task;           /* serial number, as in reports and dumps; 0: it has ended */
    const char *name;        /* of the task */
    const char *site;        /* where it was spawned */
    int32_t thread;          /* that it runs on */
    uint64_t for_ns;         /* so long at least; 0 with a mutex */
    const char *system_call; /* its name; NULL: none, or not one of the known ones */
    const char *text;        /* all of it, with the call chain, in lines */
} asx_sighting;

typedef struct asx_watchdog_options {
    uint64_t limit_ns; /* so long may a task keep its thread; 0: 100 ms; at least 1 ms */
    int fd;            /* sightings are written here, if it is not 0; borrowed */
    /* Called for each sighting: on the watchdog's thread, or with a mutex on the thread of the task
     * and inside the runtime. It must not call asx. */
    void (*report)(void *ctx, const asx_sighting *sighting);
    void *ctx;
    bool mutexes;      /* also look for mutexes; needs libasx-mutexwatch, and slows tasks down */
} asx_watchdog_options;

typedef struct asx_watchdog asx_watchdog;

/* Watches a runtime from a thread of its own, which sleeps as long as no task runs. Each episode is
 * told once, some time between the limit and one and a half of it after it began. Call chains of
 * tasks that compute need asx_dump_on_signal() too. While the runtime is not driven, by the thread
 * that is going to drive it; the watchdog is the caller's until it is stopped. One per runtime.
 *   ASX_E_INVALID_ARGUMENT    no runtime, neither function nor descriptor, a limit below 1 ms
 *   ASX_E_WRONG_CONTEXT       the runtime is driven now
 *   ASX_E_BUSY                it is watched already
 *   ASX_E_NOT_SUPPORTED       mutexes without libasx-mutexwatch
 *   ASX_E_RESOURCE_EXHAUSTED  no thread, no memory */
ASX_API ASX_MUST_USE asx_status asx_watchdog_start(asx_runtime *runtime,
                                                   const asx_watchdog_options *options,
                                                   asx_watchdog **ret_watchdog);
/* Ends it and frees it; also after its runtime was destroyed. NULL is allowed.
 * ASX_E_WRONG_CONTEXT while the runtime is driven. */
ASX_API asx_status asx_watchdog_stop(asx_watchdog *watchdog);

ASX_END_DECLS

#endif
