/* explore.h - tests of which every schedule is run.
 *
 * A lab test is a program of tasks, run again and again on a real runtime. What its tasks do to
 * each other goes through the operations below; before each of them a task waits for its turn, and
 * the explorer decides whose turn it is. Two operations conflict if they access the same object and
 * one of them writes; executions that differ only in the order of operations that do not conflict
 * are the same (one class), and in the optimal mode every class is run exactly once.
 *
 *     static int hits;
 *
 *     static asx_status hit(asx_cx *cx, void *arg)
 *     {
 *         int seen = asx_lab_load(cx, &hits);
 *         asx_lab_store(cx, &hits, seen + 1);
 *         return ASX_OK;
 *     }
 *
 *     ASX_LAB_TEST(both_hits_count)
 *     {
 *         asx_region r;
 *         hits = 0;
 *         asx_region_open(cx, NULL, &r);
 *         asx_spawn(&r, "a", hit, NULL);
 *         asx_spawn(&r, "b", hit, NULL);
 *         asx_region_close(&r, ASX_OK);
 *         asx_lab_check(cx, hits == 2);
 *     }
 *
 * Compiled with ASX_LAB defined and linked with the lab's main, this is a program that takes
 * --explore and the other options (--help). Without ASX_LAB the operations on cells are plain
 * accesses.
 *
 * A test must do the same again when the same tasks go in the same order: no time, no addresses
 * that steer it, no state left over from the last execution. What it sets up before it starts its
 * first task, and what it looks at after it has closed its region, need not go through operations.
 * Nor need what it sets in between, a cell, lock or semaphore of its own for the next round too,
 * while nobody else can be at it: those who were have been joined, others are not started.
 * Between operations tasks may compute, spawn, join and close. Everything that tasks do to each
 * other through the objects of this library, cancellation and time is an operation too; so are
 * joins and ends of tasks if the test cancels. docs/design/20-exploration.md names what is not
 * explored; what is seen of it ends the exploration with ASX_E_NOT_SUPPORTED.
 *
 * A cell is known by its address, or by its place on the stack of a task or in memory of a region
 * (asx_region_alloc(), the copy of an argument). Elsewhere (memory that tasks allocate) it must not
 * be at another address in the next execution if the tasks do more than access cells: that ends the
 * exploration with ASX_E_DIVERGED. Such a test is explored by one process whatever `jobs` says,
 * without checkpoints.
 */
#ifndef ASX_EXPLORE_H
#define ASX_EXPLORE_H

#include <asx/runtime.h>

ASX_BEGIN_DECLS

/* Where a call stands, and how it calls what it is about: that is how steps are shown. */
#define ASX_LAB_SITE_(words) ASX_SITE "\n" words

/* ---- shared cells --------------------------------------------------------------------------- */

/* A cell is a variable of an integer or pointer type of 1, 2, 4 or 8 bytes.
 *   asx_lab_load(cx, &v)                    its value
 *   asx_lab_store(cx, &v, value)
 *   asx_lab_cas(cx, &v, expected, desired)  true: it was `expected` and is `desired` now
 *   asx_lab_fetch_add(cx, &v, n)            its value before, in its type; of integers only
 * A load and a cas that fails read the cell; the others write it. These are atomic: tasks may do
 * them at once, a store releases what its task did before, a load of it acquires that.
 *   asx_lab_read(cx, &v)                    its value
 *   asx_lab_write(cx, &v, value)
 * are accesses of plain data, which something else must protect. They are no operations: no
 * schedule depends on them. Two of them by different tasks, or one of them and an atomic one, of
 * which one writes, and which nothing orders (a lock, a message, a start, a join, an atomic cell),
 * are a data race, and the execution fails. */
#ifdef ASX_LAB
#define ASX_LAB_WORD_(v) ((uint64_t)(uintptr_t)(v))
/* May be a statement: that nobody looks at it is no mistake. */
#define ASX_LAB_VALUE_(p, word) __extension__({ (__typeof__(*(p)))(uintptr_t)(word); })
#define asx_lab_load(cx, p)                                                                        \
    ASX_LAB_VALUE_(p, asx_lab_load_at((cx), (const volatile void *)(p), sizeof *(p),             \
                                      ASX_LAB_SITE_(#p)))
#define asx_lab_store(cx, p, v)                                                                    \
    asx_lab_store_at((cx), (volatile void *)(p), sizeof *(p), ASX_LAB_WORD_(v), ASX_LAB_SITE_(#p))
#define asx_lab_read(cx, p)                                                                        \
    ASX_LAB_VALUE_(p, asx_lab_read_at((cx), (const volatile void *)(p), sizeof *(p),             \
                                      ASX_LAB_SITE_(#p)))
#define asx_lab_write(cx, p, v)                                                                    \
    asx_lab_write_at((cx), (volatile void *)(p), sizeof *(p), ASX_LAB_WORD_(v), ASX_LAB_SITE_(#p))
#define asx_lab_cas(cx, p, expected, desired)                                                      \
    asx_lab_cas_at((cx), (volatile void *)(p), sizeof *(p), ASX_LAB_WORD_(expected),             \
                     ASX_LAB_WORD_(desired), ASX_LAB_SITE_(#p))
#define asx_lab_fetch_add(cx, p, n)                                                                \
    ASX_LAB_VALUE_(p, asx_lab_fetch_add_at((cx), (volatile void *)(p), ASX_LAB_NUMBER_(p),         \
                                           ASX_LAB_WORD_(n), ASX_LAB_SITE_(#p)))
#else
#define asx_lab_load(cx, p) __extension__({ (void)(cx); *(p); })
#define asx_lab_store(cx, p, v) ((void)(cx), (void)(*(p) = (v)))
#define asx_lab_read(cx, p) __extension__({ (void)(cx); *(p); })
#define asx_lab_write(cx, p, v) ((void)(cx), (void)(*(p) = (v)))
#define asx_lab_cas(cx, p, expected, desired)                                                      \
    ((void)(cx), *(p) == (expected) ? (*(p) = (desired), true) : false)
#define asx_lab_fetch_add(cx, p, n) ASX_LAB_ADD_((cx), (p), (n), __COUNTER__)
#define ASX_LAB_ADD_(cx, p, n, id) ASX_LAB_ADD_AS_(cx, p, n, id)
/* Names of their own, for sums inside of sums. */
#define ASX_LAB_ADD_AS_(cx, p, n, id)                                                              \
    __extension__({                                                                                \
        __typeof__(*(p)) asx_more_##id = (__typeof__(*(p)))(n);                                    \
        __typeof__(p) asx_cell_##id = (p);                                                         \
        __typeof__(*(p)) asx_before_##id = *asx_cell_##id;                                         \
        (void)(cx);                                                                                \
        (void)ASX_LAB_NUMBER_(p);                                                                  \
        *asx_cell_##id = (__typeof__(*(p)))(asx_before_##id + asx_more_##id);                      \
        asx_before_##id;                                                                           \
    })
#endif
/* The size of a cell that can be added to: of a pointer there is none. */
#define ASX_LAB_NUMBER_(p) (sizeof(*(p) | 0) != 0 ? sizeof *(p) : 0)

/* What the macros above call. */
ASX_API uint64_t asx_lab_load_at(asx_cx *cx, const volatile void *cell, size_t size,
                                   const char *site);
ASX_API void asx_lab_store_at(asx_cx *cx, volatile void *cell, size_t size, uint64_t value,
                                const char *site);
ASX_API bool asx_lab_cas_at(asx_cx *cx, volatile void *cell, size_t size, uint64_t expected,
                              uint64_t desired, const char *site);
ASX_API uint64_t asx_lab_fetch_add_at(asx_cx *cx, volatile void *cell, size_t size,
                                        uint64_t addend, const char *site);

/* Likewise. */
ASX_API uint64_t asx_lab_read_at(asx_cx *cx, const volatile void *cell, size_t size,
                                 const char *site);
ASX_API void asx_lab_write_at(asx_cx *cx, volatile void *cell, size_t size, uint64_t value,
                              const char *site);

/* ---- locks and choices ---------------------------------------------------------------------- */

/* For tests: a lock whose every operation is a scheduling decision. Zero-initialized it is free.
 * Lock, unlock and a try-lock that succeeds write it, a try-lock that fails reads it. A lock that
 * is held disables lock; there is no queue, any waiting task may go next. */
typedef struct asx_lab_mutex {
    uint64_t holder_; /* 0: none */
} asx_lab_mutex;

/* ASX_E_INVALID_ARGUMENT; ASX_E_WOULD_DEADLOCK outside of an exploration, where nobody else could
 * give it back. */
ASX_API asx_status asx_lab_mutex_lock(asx_cx *cx, asx_lab_mutex *mutex);
#define asx_lab_mutex_lock(cx, mutex)                                                              \
    asx_lab_mutex_lock_at((cx), (mutex), ASX_LAB_SITE_(#mutex))
ASX_API asx_status asx_lab_mutex_lock_at(asx_cx *cx, asx_lab_mutex *mutex, const char *site);
/* ASX_E_BUSY: it is held. */
ASX_API asx_status asx_lab_mutex_try_lock(asx_cx *cx, asx_lab_mutex *mutex);
#define asx_lab_mutex_try_lock(cx, mutex)                                                          \
    asx_lab_mutex_try_lock_at((cx), (mutex), ASX_LAB_SITE_(#mutex))
ASX_API asx_status asx_lab_mutex_try_lock_at(asx_cx *cx, asx_lab_mutex *mutex, const char *site);
/* ASX_E_NOT_OWNER: the caller does not hold it, and nothing changes. */
ASX_API asx_status asx_lab_mutex_unlock(asx_cx *cx, asx_lab_mutex *mutex);
#define asx_lab_mutex_unlock(cx, mutex)                                                            \
    asx_lab_mutex_unlock_at((cx), (mutex), ASX_LAB_SITE_(#mutex))
ASX_API asx_status asx_lab_mutex_unlock_at(asx_cx *cx, asx_lab_mutex *mutex, const char *site);

/* A counter of units; acquire is disabled while there are fewer than it wants. Both write it. */
typedef struct asx_lab_semaphore {
    uint64_t units;
} asx_lab_semaphore;

/* ASX_E_INVALID_ARGUMENT; ASX_E_WOULD_DEADLOCK outside of an exploration: too few units. */
ASX_API asx_status asx_lab_semaphore_acquire(asx_cx *cx, asx_lab_semaphore *semaphore, uint64_t n);
#define asx_lab_semaphore_acquire(cx, semaphore, n)                                                \
    asx_lab_semaphore_acquire_at((cx), (semaphore), (n), ASX_LAB_SITE_(#semaphore))
ASX_API asx_status asx_lab_semaphore_acquire_at(asx_cx *cx, asx_lab_semaphore *semaphore,
                                                uint64_t n, const char *site);
/* ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_lab_semaphore_release(asx_cx *cx, asx_lab_semaphore *semaphore, uint64_t n);
#define asx_lab_semaphore_release(cx, semaphore, n)                                                \
    asx_lab_semaphore_release_at((cx), (semaphore), (n), ASX_LAB_SITE_(#semaphore))
ASX_API asx_status asx_lab_semaphore_release_at(asx_cx *cx, asx_lab_semaphore *semaphore,
                                                uint64_t n, const char *site);

/* Any of 0 .. n - 1: the explorer tries them all. Accesses nothing. 0 outside of an exploration. */
ASX_API uint32_t asx_lab_choose(asx_cx *cx, uint32_t n);
#define asx_lab_choose(cx, n) asx_lab_choose_at((cx), (n), ASX_SITE)
ASX_API uint32_t asx_lab_choose_at(asx_cx *cx, uint32_t n, const char *site);

/* Waits until `cond` holds: an expression that accesses cells. While it does not the task is
 * disabled until another task has changed one of the cells that `cond` has loaded, and then it is
 * asked again. So a loop that waits is no livelock, and a wait that never ends is a deadlock. A
 * cancellation point. ASX_OK; ASX_E_CANCELLED; ASX_E_INVALID_ARGUMENT: `cond` has loaded no cell,
 * so that no task could end the wait; ASX_E_RESOURCE_EXHAUSTED: it loads more than
 * ASX_LAB_UNTIL_CELLS_MAX; ASX_E_WOULD_DEADLOCK outside of an exploration, if it does not hold. */
#define asx_lab_until(cx, cond)                                                                    \
    __extension__({                                                                                \
        asx_status asx_until_ = asx_lab_until_at((cx), false, ASX_LAB_SITE_(#cond));               \
        while (asx_until_ >= 0 && !(cond))                                                         \
            asx_until_ = asx_lab_until_at((cx), true, ASX_LAB_SITE_(#cond));                       \
        asx_lab_until_end(cx);                                                                     \
        asx_until_;                                                                                \
    })
#define ASX_LAB_UNTIL_CELLS_MAX 16
/* A step of it: begins to note which cells the task loads, or (`waits`) waits until one of those
 * that it has loaded since then has another value, and begins anew. */
ASX_API asx_status asx_lab_until_at(asx_cx *cx, bool waits, const char *site);
/* The last step: no more is noted. */
ASX_API void asx_lab_until_end(asx_cx *cx);

/* ---- devices: what a simulated network or disk adds ----------------------------------------- */

/* What an operation does to its object in a state. */
typedef struct asx_lab_effect {
    bool enabled;   /* false: not now; its task waits until somebody has changed the object */
    bool writes;    /* others that access the object can tell whether they come before or after */
    uint64_t after; /* state of the object then, if it writes */
} asx_lab_effect;

/* A sort of objects outside of the library: a link that loses packets, a disk that reorders. What
 * tasks can tell of such an object is a word of state; what an operation does to it is a function
 * of nothing but `what`, `argument` and that word: it is also asked what would have been.
 * Everything else (buffers, contents) the device changes after its operation has been done, before
 * the next one. What chance decides (lost or not, which comes first) it asks asx_lab_choose(). */
typedef struct asx_lab_device {
    const char *name;
    const char *const *operations; /* names by `what`, for the lines of a failure; NULL: none */
    unsigned operations_len;
    asx_lab_effect (*eval)(unsigned what, uint64_t argument, uint64_t state);
} asx_lab_device;

/* An object of a device; zero-initialized its state is 0. It is known by its address: see above. */
typedef struct asx_lab_object {
    uint64_t state;
} asx_lab_object;

/* Does an operation when its turn has come and it is enabled; `ret_found` (may be NULL) gets the
 * state that it found. The device is borrowed for ever. ASX_E_INVALID_ARGUMENT (also: more than
 * its operations_len); ASX_E_WOULD_DEADLOCK outside of an exploration, if it is not enabled. */
ASX_API asx_status asx_lab_operate(asx_cx *cx, asx_lab_object *object, const asx_lab_device *device,
                                   unsigned what, uint64_t argument, uint64_t *ret_found);
#define asx_lab_operate(cx, object, device, what, argument, ret_found)                             \
    asx_lab_operate_at((cx), (object), (device), (what), (argument), (ret_found),                  \
                       ASX_LAB_SITE_(#object))
ASX_API asx_status asx_lab_operate_at(asx_cx *cx, asx_lab_object *object,
                                      const asx_lab_device *device, unsigned what,
                                      uint64_t argument, uint64_t *ret_found, const char *site);

/* Fails the execution if `expr` is false; it goes on. */
ASX_API void asx_lab_check(asx_cx *cx, bool good);
#ifdef __GNUC__ /* the caller's frame is there for a debugger: this is no tail call */
#define ASX_LAB_STAYS_ __asm__ volatile("")
#else
#define ASX_LAB_STAYS_ ((void)0)
#endif
#define asx_lab_check(cx, expr)                                                                    \
    __extension__({                                                                                \
        asx_lab_check_at((cx), (expr), #expr, ASX_SITE);                                           \
        ASX_LAB_STAYS_;                                                                            \
    })
ASX_API void asx_lab_check_at(asx_cx *cx, bool good, const char *text, const char *site);

#define ASX_LAB_EXPECTED_MAX 16

/* In this execution a task may end with this error. Without it an error fails the execution, unless
 * somebody has it: who joins the task, closes a region that collects, or called asx_race_all(),
 * asx_join_all() or asx_timeout(); or it is for want of what faults have taken away. May be said by
 * any task, before the error or after it. ASX_E_INVALID_ARGUMENT: not an error;
 * ASX_E_RESOURCE_EXHAUSTED: too many. Outside of an exploration it does nothing. */
ASX_API asx_status asx_lab_expect(asx_cx *cx, asx_status status);

/* The next operation of this thread's running task stands at this place of the source; `cx` may be
 * NULL. */
ASX_API void asx_lab_here(const asx_cx *cx, const char *site);
/* For the macros of <asx/lab_sites.h>: the running task enters a call at this place, where all the
 * operations of the call stand. Calls may be inside of each other. */
ASX_API void asx_lab_enter(const char *site);
/* The call has returned; its status (ASX_E_CANCELLED, or any) is passed on. */
ASX_API asx_status asx_lab_left(asx_status status);

/* Does nothing: called on the stack of whoever fails an execution, for a debugger to stop at. */
ASX_API void asx_lab_failed_here(const char *text, const char *site);

/* ---- exploring ------------------------------------------------------------------------------ */

/* X(NAME, "name") */
#define ASX_EXPLORE_MODE_LIST(X)                                                                   \
    X(OPTIMAL, "optimal") /* every class once */                                                   \
    X(DFS, "dfs")         /* every interleaving; counts classes; for small programs */             \
    X(RANDOM, "random")   /* each step any task that can go, equally likely */                     \
    X(PCT, "pct")         /* random priorities, lowered at random steps */                         \
    X(SAMPLE, "sample")   /* random, pct and others in turn, an execution each */                  \
    X(SOURCE, "source")   /* every class, by source sets: some executions are begun in vain */     \
    X(POS, "pos")         /* partial order sampling: random priorities of operations, drawn again  \
                             by those that race */

typedef enum asx_explore_mode {
#define ASX_EXPLORE_MODE_ENUM_(name, text) ASX_EXPLORE_##name,
    ASX_EXPLORE_MODE_LIST(ASX_EXPLORE_MODE_ENUM_)
#undef ASX_EXPLORE_MODE_ENUM_
    ASX_EXPLORE_MODE_COUNT
} asx_explore_mode;

/* NULL for a number that is none. */
ASX_API const char *asx_explore_mode_str(unsigned mode);

/* How time passes for sleeps and deadlines. */
typedef enum asx_explore_clock {
    ASX_EXPLORE_QUIESCENT,  /* to the next deadline, when nothing else can go */
    ASX_EXPLORE_ADVERSARIAL /* a time-out may come whenever what it waits for has not */
} asx_explore_clock;

/* X(NAME, bit, "name"): what may go wrong at the explorer's choice. */
#define ASX_EXPLORE_FAULT_LIST(X)                                                                  \
    X(CANCEL, 1, "cancel") /* each task but the test itself, at any of its cancellation points */  \
    X(ALLOC, 2, "alloc")   /* a call that makes a task, region, object or guard finds no memory */ \
    X(STACK, 4, "stack")   /* a new fiber gets no stack, and ends with ASX_E_RESOURCE_EXHAUSTED */ \
    X(THREAD, 8, "thread") /* blocking work finds no thread */

typedef enum asx_explore_fault {
#define ASX_EXPLORE_FAULT_ENUM_(name, bit, text) ASX_EXPLORE_FAULT_##name = (bit),
    ASX_EXPLORE_FAULT_LIST(ASX_EXPLORE_FAULT_ENUM_)
#undef ASX_EXPLORE_FAULT_ENUM_
    ASX_EXPLORE_FAULT_NONE = 0
} asx_explore_fault;

typedef void (*asx_lab_fn)(asx_cx *cx, void *arg);

/* Why an execution was not good. */
typedef enum asx_explore_verdict {
    ASX_EXPLORE_GOOD = 0,
    ASX_EXPLORE_DEADLOCK, /* tasks are left and none can go */
    ASX_EXPLORE_FAILED,   /* a check, a task that ended Panicked, or Err that nobody has */
    ASX_EXPLORE_TOO_LONG  /* cut off at steps_max */
} asx_explore_verdict;

typedef struct asx_explore_progress {
    uint64_t executions;
    uint64_t classes;    /* different ones, as far as compared; optimal: all but redundant ones */
    uint64_t redundant;  /* executions of a class that was seen before, as far as compared */
    uint64_t compared;   /* executions that were compared: all, until too many to remember */
    uint64_t blocked;    /* executions given up because another one covers them */
    uint64_t deadlocks;  /* without executions that failed before they were stuck */
    uint64_t bugs;       /* executions that failed */
    uint64_t too_long;
    uint64_t steps;      /* of all executions */
    uint64_t steps_longest;
    uint64_t tasks;      /* different ones that were ever started, the test included */
    uint64_t frontier;   /* executions that have alternatives which are not done yet */
    uint64_t frontier_most;
    uint64_t memory_bytes;
    uint64_t elapsed_ns;
    uint64_t left_out;   /* steps that were not taken because of a bound */
    uint64_t span;       /* pct: priorities changed within so many first steps of each execution */
    uint64_t estimate;   /* executions there will be in all, guessed from what was seen of the tree
                            of executions (Knuth); exact when it is complete; 0: it samples */
} asx_explore_progress;

/* X(NAME, "text"): why an exploration ended before its end. */
#define ASX_EXPLORE_STOP_LIST(X)                                                                   \
    X(NONE, "it did not")                                                                          \
    X(FIRST, "an execution was not good")                                                          \
    X(EXECUTIONS, "as many executions as allowed")                                                 \
    X(TIME, "the time is over")                                                                    \
    X(ASKED, "it was told to stop")                                                                \
    X(BOUND, "the bound leaves schedules out")                                                     \
    X(TOO_LONG, "executions were cut off")                                                         \
    X(SAMPLED, "it only samples")                                                                  \
    X(FAILED, "it could not go on")

typedef enum asx_explore_stop {
#define ASX_EXPLORE_STOP_ENUM_(name, text) ASX_EXPLORE_STOP_##name,
    ASX_EXPLORE_STOP_LIST(ASX_EXPLORE_STOP_ENUM_)
#undef ASX_EXPLORE_STOP_ENUM_
    ASX_EXPLORE_STOP_COUNT
} asx_explore_stop;

/* NULL for a number that is none. */
ASX_API const char *asx_explore_stop_str(unsigned stop);

/* One execution that was not good; all of it borrowed until the call returns. `schedule` can be
 * given back as asx_explore_options.schedule. */
typedef struct asx_explore_failure {
    asx_explore_verdict verdict;
    uint64_t execution;      /* number, from 1 */
    uint64_t steps;          /* until it failed; the schedule goes on to the end */
    const char *text;        /* what failed; the tasks that wait */
    const char *site;        /* "" when there is none */
    const char *schedule;
    const char *interleaving; /* for people: a line per step, a column per task */
} asx_explore_failure;

/* Zero in any field means its default. */
typedef struct asx_explore_options {
    asx_explore_mode mode;
    uint64_t seed;           /* random, pct, pos; optimal: draws the task that goes on by default */
    uint64_t executions_max; /* of this call, without those before `resume`; random, pct, pos,
                                sample: default 1,000; others: no limit */
    uint64_t time_max_ns;    /* likewise */
    uint64_t steps_max;      /* of one execution; default 100,000 */
    asx_explore_clock clock;
    uint32_t faults;         /* sum of asx_explore_fault */
    uint32_t bound;          /* optimal, dfs: all interleavings with fewer preemptions than this, by
                                brute force; a preemption takes the turn from a task that could go
                                on. 0: no bound */
    uint32_t delays;         /* optimal, dfs: all interleavings with fewer delays than this. Without
                                delays the running task goes on as long as it can, then the next
                                by number, round; each enabled task that is passed over is a
                                delay. 0: no bound */
    uint32_t weak;           /* model atomics of the library's own sources: in one execution fewer
                                accesses than this see or leave an old value. 0: no bound */
    uint32_t depth;          /* pct: the depth of bug it aims at, up to 64; default 3 */
    bool stop_at_first;      /* execution that is not good */
    bool trust_reduction;    /* do not compare classes: no memory for it, and a little faster */
    bool tell_first;         /* on_failure hears of the first execution that is not good; the rest
                                is only counted. To put an execution into words takes longer than
                                to run it */
    uint32_t jobs;           /* so many processes explore together, forked from the caller's, which
                                waits for them; 0 and 1: the caller's alone. The totals are the
                                same, but for `blocked` and `steps` of source. At most 256 */
    uint64_t checkpoint_every_ns; /* 0: only when it stops before its end */
    /* Receives a checkpoint, all of it; a process is forked for this as for jobs. NULL: none is
     * made. A negative status ends the exploration, and is that of the result. */
    asx_status (*on_checkpoint)(void *ctx, const void *bytes, size_t len);
    const void *resume;      /* a checkpoint of the same program, test and options: goes on from
                                there; totals are of all runs together. NULL: begins. Borrowed */
    size_t resume_len;
    const char *schedule;    /* replay this one, once; borrowed during the call */
    /* Receives the trace of all executions, in pieces; for a replay. NULL: not kept. */
    asx_status (*sink)(void *ctx, const void *bytes, size_t len);
    const char *program;     /* stored in that trace and in checkpoints; borrowed */
    /* Called for each execution that is not good; NULL: not told. */
    void (*on_failure)(void *ctx, const asx_explore_failure *failure);
    /* Called now and then; false stops. */
    bool (*on_progress)(void *ctx, const asx_explore_progress *progress);
    void *ctx;
} asx_explore_options;

#define ASX_EXPLORE_SITE_MAX 256

typedef struct asx_explore_result {
    asx_explore_progress totals;
    bool complete;           /* every class was run to its end */
    asx_explore_stop stopped; /* NONE: it is complete */
    asx_status status;       /* ASX_OK, or why it ended early: ASX_E_DIVERGED (not deterministic, or
                                a schedule of another program), ASX_E_NOT_SUPPORTED,
                                ASX_E_RESOURCE_EXHAUSTED */
    const char *refused;     /* why the checkpoint was, else NULL; static. The status is then
                                ASX_E_TRACE_CORRUPT, ASX_E_TRACE_VERSION or ASX_E_DIVERGED */
    const char *unsupported; /* name of the event that is not explored, else NULL; static ... */
    char unsupported_site[ASX_EXPLORE_SITE_MAX]; /* ... and where the call stands, "f.c:12"; empty:
                                that is not known */
    char diverged[ASX_EXPLORE_SITE_MAX]; /* ASX_E_DIVERGED: the step, the task, and what it did;
                                empty: that is not known */
    const char *unsaved;     /* why there is no checkpoint, if one was wanted, else NULL; static. If
                                it could not be written, the status says so too */
    bool cell_moved;         /* ASX_E_DIVERGED because a cell is in memory whose address changes
                                from one execution to the next; `unsupported_site`: an access */
} asx_explore_result;

/* Runs the test on a runtime of its own. ASX_E_INVALID_ARGUMENT, ASX_E_RESOURCE_EXHAUSTED,
 * ASX_E_SYSTEM when nothing could be run; else ASX_OK, and the result tells how it went. */
ASX_API ASX_MUST_USE asx_status asx_explore(asx_lab_fn fn, void *arg,
                                            const asx_explore_options *options,
                                            asx_explore_result *ret_result);

/* An execution that goes on. */
typedef struct asx_explore_look {
    asx_explore_progress totals; /* without this execution */
    uint64_t steps;              /* of this execution */
    bool in_task;                /* a task of the test runs; else the explorer */
    const asx_runtime *runtime;  /* in which it runs; with a sink asx_runtime_trace_write() has its
                                    trace so far. Borrowed until it ends */
} asx_explore_look;

/* What the exploration that runs on this thread has come to, for whoever has to tell of a test that
 * takes the process along; in a handler of signals too. `ret_schedule` and `ret_interleaving` (each
 * may be NULL) get as much as fits, NUL-terminated; without an interleaving nothing is allocated.
 * ASX_E_INVALID_ARGUMENT; ASX_E_WRONG_CONTEXT: nothing is explored on this thread. */
ASX_API asx_status asx_explore_position(char *ret_schedule, size_t schedule_size,
                                        char *ret_interleaving, size_t interleaving_size,
                                        asx_explore_look *ret_look);

/* ---- tests ---------------------------------------------------------------------------------- */

typedef struct asx_lab_test {
    const char *name;
    asx_lab_fn fn;
    const char *site;
    struct asx_lab_test *next;
} asx_lab_test;

/* In the lab's main. */
void asx_lab_test_register(asx_lab_test *test);
/* The mode of a program that is not searched for bugs by default; a static string. */
void asx_lab_default_mode(const char *mode);

/* At file scope, once in a program: ASX_LAB_DEFAULT_MODE("optimal"). */
#define ASX_LAB_DEFAULT_MODE(mode_)                                                                \
    __attribute__((constructor)) static void asx_lab_set_default_mode_(void)                       \
    {                                                                                              \
        asx_lab_default_mode(mode_);                                                               \
    }                                                                                              \
    typedef int asx_lab_default_mode_is_set_

#define ASX_LAB_TEST(name_)                                                                        \
    static void asx_lab_test_##name_(asx_cx *cx, void *arg);                                       \
    __attribute__((constructor)) static void asx_lab_register_##name_(void)                        \
    {                                                                                              \
        static asx_lab_test test = { #name_, asx_lab_test_##name_, ASX_SITE, NULL };               \
        asx_lab_test_register(&test);                                                              \
    }                                                                                              \
    static void asx_lab_test_##name_(asx_cx *cx, __attribute__((unused)) void *arg)

ASX_END_DECLS

#ifdef ASX_LAB
#include <asx/lab_sites.h>
#endif

#endif
