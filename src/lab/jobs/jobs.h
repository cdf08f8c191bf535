/* jobs.h - one exploration in several processes, and over several runs of the program.
 *
 * The caller's process is the *keeper*: it owns the backlog of work, the sums, and the set of
 * classes, and explores nothing. It forks *workers*, which run the test as the explorer does when
 * it is alone, but get their work from the keeper and give parts of it back when others have
 * nothing to do. Processes, because a lab test has variables of its own, which two executions at
 * the same time would spoil.
 *
 *   worker                                    keeper
 *   GIVEN   work, or what it found       ->   into the backlog
 *                                        <-   TOLD    what the backlog makes of it, if asked for;
 *                                                     the worker goes on meanwhile
 *                                        <-   LATE    what was found for the bet that it is at
 *   HEARD   it is in its place, or not   ->
 *   FAILURE an execution was not good    ->   to the caller; samples: in their order
 *   REPORT  counters and classes         ->   added up
 *   DONE    nothing left of its work     ->
 *                                        <-   ASKED   for a report, while it has no work
 *                                        <-   WORK, BET, or END
 *   RESTART it must begin again, prepared for more  ->  all workers are ended, and begin anew
 *   STATUS  it cannot go on              ->   the exploration ends
 *
 * A BET is work of which nobody knows yet whether it counts (backlog.h): it is reported by itself,
 * and the keeper puts that and its failures aside until the bet is won; if it is lost, the worker
 * is told to give up. What is found for it meanwhile the worker is told (LATE, one at a time), and
 * says whether it could still be put in its place (HEARD), before the bet can be won.
 *
 * In memory that they share each worker has a *slot*: how far it is, and what the keeper wants of
 * it (to give something, to give everything and report). It looks there after each execution, so
 * that nobody has to be interrupted. The number of executions that are still allowed is there too.
 *
 * A checkpoint is made when every worker has given everything back: then all that there is to know
 * is with the keeper. Checkpoint files: see checkpoint.c.
 */
#ifndef ASX_LAB_JOBS_H
#define ASX_LAB_JOBS_H

#include "lab/explore/explore.h"
#include "lab/jobs/backlog.h"

#define ASX__JOBS_MOST 256

typedef enum asx__message {
    ASX__MESSAGE_WORK,
    ASX__MESSAGE_BET,
    ASX__MESSAGE_TOLD,
    ASX__MESSAGE_LATE,
    ASX__MESSAGE_ASKED,
    ASX__MESSAGE_END,
    ASX__MESSAGE_GIVEN,
    ASX__MESSAGE_HEARD,
    ASX__MESSAGE_FAILURE,
    ASX__MESSAGE_REPORT,
    ASX__MESSAGE_DONE,
    ASX__MESSAGE_RESTART,
    ASX__MESSAGE_STATUS
} asx__message;

/* What the test was seen to do, so that more of it is an operation. */
typedef enum asx__feature {
    ASX__FEATURE_CANCELS = 1,
    ASX__FEATURE_FAR_CANCELS = 2,
    ASX__FEATURE_FAR_SPAWNS = 4,
    ASX__FEATURE_ELSEWHERE = 8, /* one process only: names of cells mean nothing to others */
    ASX__FEATURE_DROPS = 16,
    ASX__FEATURE_CLAIMS = 32,
    ASX__FEATURE_WIDE = 64, /* operations access several objects */
    ASX__FEATURE_FAILURES = 128
} asx__feature;

/* Of a worker, written by it but for `want`; all A. */
typedef struct asx__slot {
    ASX__OWN_LINE asx__atomic_u32 want;  /* asx__giving */
    asx__atomic_u64 executions, steps, deadlocks, redundant, bugs, too_long; /* since its report */
    asx__atomic_u64 done;                /* of the whole: the bits of a double */
} asx__slot;

/* Mapped before the workers are forked. */
typedef struct asx__common {
    asx__common_names names;
    asx__atomic_u64 allowed;             /* executions that may still begin */
    asx__atomic_u32 features;            /* asx__feature, that some worker has met */
    asx__slot slots[ASX__JOBS_MOST];
} asx__common;

/* A worker's end of it. */
typedef struct asx__tie {
    asx__sharing sharing; /* what the explorer calls */
    int fd;
    asx__common *common;
    asx__slot *slot;
    bool wide;           /* operations may access several objects */
    bool limited;        /* executions are counted in `allowed` */
    bool first_only;     /* it ends at the first execution that is not good */
    bool failed;         /* ... which was here */
    bool reporting;      /* when its work is done */
    bool refund;         /* an execution was allowed that may not come */
    uint32_t kept;       /* executions since something was found that was not told yet */
    bool awaits;         /* what the backlog makes of what was given last */
    bool has_told;       /* ... and it is here: */
    asx__bytes told;
    asx__bytes late;     /* found for the bet that it is at; empty: nothing */
    bool hears_late;     /* what that was is put in its place */
    asx__bytes message;
} asx__tie;

/* The counters of a report. */
typedef struct asx__tally {
    asx__dpor_stats stats;
    uint64_t bugs, too_long;
} asx__tally;

/* ---- jobs.c: the keeper ---- */

/* As asx_explore(); the options are complete. */
asx_status asx__jobs_run(const asx_explore_options *options, asx_lab_fn fn, void *arg,
                         asx_explore_result *ret_result);

/* ---- tie.c: messages, and what a worker does ---- */

/* False: the other side is gone. */
bool asx__message_send(int fd, asx__message kind, const void *bytes, size_t len);
/* The bytes are replaced. */
bool asx__message_receive(int fd, asx__message *ret_kind, asx__bytes *bytes);
/* A worker's; the rest is zero. */
void asx__tie_init(asx__tie *tie, asx__common *common, asx__slot *slot, int fd);

/* ---- checkpoint.c ---- */

/* What a file holds besides the backlog. */
typedef struct asx__saved {
    asx__tally sum;
    asx__classes *classes;
    asx__common_names *names;
    asx__backlog *backlog;
    bool wide;
    uint32_t features;
    uint64_t next_sample, span;
    uint64_t elapsed_ns;
} asx__saved;

/* ASX_E_NOT_SUPPORTED: a shared cell is in memory that will be elsewhere next time. */
asx_status asx__saved_write(const asx_explore_options *options, asx__saved *c,
                                 asx__bytes *file);
/* Fills it. ASX_E_TRACE_CORRUPT, ASX_E_TRACE_VERSION, ASX_E_DIVERGED (another program, test or
 * options), ASX_E_RESOURCE_EXHAUSTED; then *ret_why says it, statically. */
asx_status asx__saved_read(const asx_explore_options *options, asx__saved *c,
                                const char **ret_why);
/* How many executions were drawn before `resume`; 0: none, or it is not of these options. */
uint64_t asx__saved_samples(const asx_explore_options *options);

#endif
