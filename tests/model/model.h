/* model.h - atomics as a model, and threads on them that the laboratory explores.
 *
 * A test defines ASX__MODEL_ATOMICS as "model/model.h" before it includes anything of asx. The
 * headers that it then includes are compiled against this file, so that the sources which are
 * explored are the ones that are shipped.
 *
 * Words
 *   thread     a task of a lab test that plays a thread; there are at most MODEL_THREADS_MAX
 *   step       one atomic access, futex call or lock: an operation of the explorer
 *   site       a place in the source with an atomic access
 *   execution  one run of all threads to their ends; a schedule and what each load has seen
 *   preemption a switch away from a thread that could have gone on
 *   delay      a step that is weak: a load that sees an older value than the newest, a store that
 *              is overtaken by one that came later
 *
 * Memory is that of weak.h. Plain data goes through model_read() and model_write(), which ask
 * for happens-before: two accesses that are not ordered, one of them a write, are a race and end
 * the run.
 *
 * Search. The explorer's, without a bound on preemptions: every class once. Delays are answers on
 * top of it, as many as the program allows in one execution. With a bound on preemptions it is
 * every interleaving within the bound. Everyone asleep or at a lock is a deadlock: this is how a
 * lost wake-up shows.
 *
 * Faults are planted at sites, from outside, so that the sources know nothing of them: an order is
 * weakened, a read-modify-write is torn into a load and a store, a store is not done.
 */
#ifndef ASX_TESTS_MODEL_H
#define ASX_TESTS_MODEL_H

#include <stddef.h>
#include <stdio.h>

#include "base/atomic.h"

#include "model/weak.h"

#define MODEL_THREADS_MAX ASX__WEAK_THREADS_MAX

/* ---- the explorer --------------------------------------------------------------------------- */

#define MODEL_ALL UINT32_MAX

typedef struct model_program {
    const char *name;
    unsigned threads;
    void (*setup)(void);               /* before each execution; nobody else runs */
    void (*thread[MODEL_THREADS_MAX])(void);
    void (*check)(void);               /* after it; NULL: nothing to check */
    unsigned preemptions;              /* MODEL_ALL: no bound, every class once */
    unsigned delays;
    uint64_t executions_max;           /* 0: all there are */
    unsigned steps_max;                /* of one execution; 0: 1000 */
} model_program;

/* A program of up to four threads; a file with many says the check once, in a macro of its own. */
#define MODEL_PROGRAM(check_, name_, setup_, n_, a_, b_, c_, d_, preemptions_, delays_)            \
    static const model_program name_ = {                                                           \
        .name = #name_, .threads = n_, .setup = setup_, .thread = { a_, b_, c_, d_ },              \
        .check = check_, .preemptions = preemptions_, .delays = delays_,                           \
    }

typedef struct model_result {
    uint64_t executions;
    uint64_t classes, redundant, blocked;
    uint64_t steps;                    /* of the longest */
    bool complete;                     /* all there are within the bounds */
    bool failed;
    char why[160];
    char trace[16384];                 /* the interleaving that failed, a column per thread */
    char schedule[8192];               /* what shows it again */
    char site[160];                    /* "": nobody is to blame alone */
    asx_explore_verdict verdict;
    uint64_t failed_at;                /* steps until then */
} model_result;

void model_explore(const model_program *program, model_result *ret_result);
/* Runs the schedule of a failure again. */
void model_replay(const model_program *program, const char *schedule, model_result *ret_result);
/* Replaces the failure by one with fewer switches that fails in the same way. */
void model_shrink(const model_program *program, model_result *result);
/* Explores, prints what was done, and fails the test unless everything was seen and held. */
void model_holds(const model_program *program);
/* Explores a little, so that the sites of the program are known. */
void model_visit(const model_program *program);
/* Fails the test unless a violation is found, and shown again by its schedule. `fault` is for the
 * print. */
void model_breaks(const model_program *program, const char *fault);

/* Which thread runs. */
unsigned model_self(void);

_Noreturn void model_fail(const char *file, int line, const char *text);
#define MODEL_ASSERT(expr) ((expr) ? (void)0 : model_fail(__FILE__, __LINE__, #expr))

/* ---- sites and faults ----------------------------------------------------------------------- */

typedef struct model_site {
    const char *file;
    int line;
    const char *kind;
    const char *object;
    const char *function;
    struct model_site *next;
    char text[160];        /* file:line, function and object, for lines */
    memory_order order;    /* as written */
    memory_order weakened; /* what it counts as, if is_weakened */
    uint64_t pretended;
    bool is_weakened, torn, blind, skipped, pretends;
    bool known;
} model_site;

/* All that were reached so far. */
model_site *model_sites(void);

enum model_fault {
    MODEL_WEAKEN,  /* the order is `value` */
    MODEL_TEAR,    /* a read-modify-write is a load and a store */
    MODEL_BLIND,   /* a compare-and-swap does not compare */
    MODEL_SKIP,    /* a store or a wake is not done */
    MODEL_PRETEND  /* a load sees `value` */
};

/* Plants a fault for the next explorations, at the site in `function` that does `access`, as in
 * "store &d->top". It must have been reached before: explore the program as it is first. */
void model_plant(enum model_fault fault, const char *function, const char *access, uint64_t value);
void model_heal(void);

/* Weakens each site of a file that has an order, one at a time and by one step (sequentially
 * consistent to acquire and release, these to relaxed), and explores the programs until one fails.
 * The test fails unless every weakening is found, except those that `spared` names as "function:
 * access order", none of which may be found. Lists end with NULL. Prints a line for each. */
void model_weaken_all(const model_program *const *programs, const char *file,
                      const char *const *spared);

/* ---- plain data ----------------------------------------------------------------------------- */

typedef struct model_data {
    uint64_t value;
    asx__weak_data accesses;
} model_data;

uint64_t model_read_at(model_data *data, const char *file, int line);
void model_write_at(model_data *data, uint64_t value, const char *file, int line);
#define model_read(data) model_read_at(data, __FILE__, __LINE__)
#define model_write(data, value) model_write_at(data, value, __FILE__, __LINE__)

/* ---- atomics -------------------------------------------------------------------------------- */

void model_init(void *object, size_t size, uint64_t value);
uint64_t model_load(model_site *site, const void *object, size_t size, memory_order mo);
void model_store(model_site *site, void *object, size_t size, uint64_t value, memory_order mo);
uint64_t model_exchange(model_site *site, void *object, size_t size, uint64_t value,
                        memory_order mo);
bool model_cas(model_site *site, void *object, size_t size, uint64_t *expected, uint64_t desired,
               memory_order mo, memory_order mo_failed);
uint64_t model_rmw(model_site *site, void *object, size_t size, enum asx__rmw op, uint64_t value,
                   memory_order mo);
void model_fence(model_site *site);
bool model_futex_wait(model_site *site, asx__atomic_u32 *word, uint32_t expected,
                      uint64_t deadline_ns);
void model_futex_wake(model_site *site, asx__atomic_u32 *word, uint32_t count);
void model_relax(void);

/* One object per place in the source. */
#define MODEL_SITE(kind_, object_)                                                                 \
    ({                                                                                             \
        static model_site site_ = { .file = __FILE__, .line = __LINE__, .kind = kind_,             \
                                    .object = object_ };                                           \
        site_.function = __func__;                                                                 \
        &site_;                                                                                    \
    })

#define MODEL_NUMBER(name, type, from)                                                             \
    static inline __attribute__((unused)) void model_init_##name(asx__atomic_##name *a,            \
                                                                 type value)                       \
    {                                                                                              \
        model_init(a, sizeof(a->v_), from value);                                                  \
    }                                                                                              \
    static inline __attribute__((unused)) type model_load_##name(const asx__atomic_##name *a,      \
                                                                 memory_order mo, model_site *s)   \
    {                                                                                              \
        return (type)from model_load(s, a, sizeof(a->v_), mo);                                     \
    }                                                                                              \
    static inline __attribute__((unused)) void model_store_##name(asx__atomic_##name *a,           \
                                                                  type value, memory_order mo,     \
                                                                  model_site *s)                   \
    {                                                                                              \
        model_store(s, a, sizeof(a->v_), from value, mo);                                          \
    }                                                                                              \
    static inline __attribute__((unused)) type model_exchange_##name(                              \
        asx__atomic_##name *a, type value, memory_order mo, model_site *s)                         \
    {                                                                                              \
        return (type)from model_exchange(s, a, sizeof(a->v_), from value, mo);                     \
    }                                                                                              \
    static inline __attribute__((unused)) bool model_cas_##name(                                   \
        asx__atomic_##name *a, type *expected, type desired, memory_order mo,                      \
        memory_order mo_failed, model_site *s)                                                     \
    {                                                                                              \
        uint64_t seen = from * expected;                                                           \
        bool done = model_cas(s, a, sizeof(a->v_), &seen, from desired, mo, mo_failed);            \
        *expected = (type)from seen;                                                               \
        return done;                                                                               \
    }
MODEL_NUMBER(u32, uint32_t, (uint64_t))
MODEL_NUMBER(u64, uint64_t, (uint64_t))
MODEL_NUMBER(ptr, void *, (uintptr_t))

static inline __attribute__((unused)) uint32_t model_rmw_u32(asx__atomic_u32 *a, enum asx__rmw op,
                                                             uint32_t value, memory_order mo,
                                                             model_site *s)
{
    return (uint32_t)model_rmw(s, a, sizeof(a->v_), op, value, mo);
}

static inline __attribute__((unused)) uint64_t model_rmw_u64(asx__atomic_u64 *a, enum asx__rmw op,
                                                             uint64_t value, memory_order mo,
                                                             model_site *s)
{
    return model_rmw(s, a, sizeof(a->v_), op, value, mo);
}

#define MODEL_PICK(p, op)                                                                          \
    _Generic((p),                                                                                  \
        asx__atomic_u32 *: model_##op##_u32,                                                       \
        asx__atomic_u64 *: model_##op##_u64,                                                       \
        asx__atomic_ptr *: model_##op##_ptr)
#define ASX__ATOMIC_INIT(p, value) MODEL_PICK(p, init)(p, value)
#define ASX__ATOMIC_LOAD(p, mo)                                                                    \
    _Generic((p),                                                                                  \
        asx__atomic_u32 *: model_load_u32, const asx__atomic_u32 *: model_load_u32,                \
        asx__atomic_u64 *: model_load_u64, const asx__atomic_u64 *: model_load_u64,                \
        asx__atomic_ptr *: model_load_ptr,                                                         \
        const asx__atomic_ptr *: model_load_ptr)(p, mo, MODEL_SITE("load", #p))
#define ASX__ATOMIC_STORE(p, value, mo)                                                            \
    MODEL_PICK(p, store)(p, value, mo, MODEL_SITE("store", #p))
#define ASX__ATOMIC_EXCHANGE(p, value, mo)                                                         \
    MODEL_PICK(p, exchange)(p, value, mo, MODEL_SITE("exchange", #p))
#define ASX__ATOMIC_CAS(p, expected, desired, mo, mo_failed)                                       \
    MODEL_PICK(p, cas)(p, expected, desired, mo, mo_failed, MODEL_SITE("cas", #p))
#define ASX__ATOMIC_RMW(p, op, value, mo)                                                          \
    _Generic((p), asx__atomic_u32 *: model_rmw_u32, asx__atomic_u64 *: model_rmw_u64)(             \
        p, op, value, mo, MODEL_SITE(#op, #p))
#define ASX__ATOMIC_FENCE() model_fence(MODEL_SITE("fence", ""))

#define asx__cpu_relax() model_relax()
#define asx__futex_wait(word, expected, deadline_ns)                                               \
    model_futex_wait(MODEL_SITE("futex wait", #word), word, expected, deadline_ns)
#define asx__futex_wake(word, count)                                                               \
    model_futex_wake(MODEL_SITE("futex wake", #word), word, count)

/* ---- locks ---------------------------------------------------------------------------------- */

/* As one step, where the lock itself is not what is tested. */
#ifdef ASX__MODEL_LOCKS

typedef struct asx__lock {
    asx__atomic_u32 held;
} asx__lock;

bool model_lock_take(model_site *site, asx__atomic_u32 *held, bool may_wait);
void model_lock_drop(model_site *site, asx__atomic_u32 *held);

static inline __attribute__((unused)) void asx__lock_init(asx__lock *lock)
{
    model_init_u32(&lock->held, 0);
}
#define asx__lock_try(lock) model_lock_take(MODEL_SITE("try lock", #lock), &(lock)->held, false)
#define asx__lock_take(lock)                                                                       \
    ((void)model_lock_take(MODEL_SITE("lock", #lock), &(lock)->held, true))
#define asx__lock_drop(lock) model_lock_drop(MODEL_SITE("unlock", #lock), &(lock)->held)
#define asx__lock_is_held(lock) ((lock)->held.v_ != 0)

#endif

/* Assertions of the sources are violations to be reported, not traps. */
#undef ASX__ASSERT
#undef ASX__DEBUG_ASSERT
#undef ASX__AUDIT_ASSERT
#define ASX__ASSERT(expr) MODEL_ASSERT(expr)
#define ASX__DEBUG_ASSERT(expr) MODEL_ASSERT(expr)
#define ASX__AUDIT_ASSERT(expr) MODEL_ASSERT(expr)

#endif
