/* fiber.h - the context switch, and the stacks that contexts run on.
 *
 * Words
 *   context   what a suspended computation is resumed with: one stack pointer, below which
 *             nothing lives and above which its callee-saved registers were pushed.
 *   host      the stack the thread was born with; it is never pooled.
 *   stack     one slot of a pool: [guard | usable ... | header | colour]. The header is the
 *             asx__stack itself; the first frame begins right below it, so that header,
 *             entry frame and a small call chain share the top page, the only resident one.
 *   colour    a few unused cache lines above the header, different from slot to slot:
 *             without them the hot lines of all stacks fall into the same cache sets.
 *   cold      an idle stack whose pages went back to the system; a mark of it is kept.
 *
 * Invariants
 *   base <= every live stack pointer < (char *)header;  size == (char *)header - base
 *   slots carved == in use + on the free list + spare + cold + in batches that are being built
 *   a slot, once carved, keeps its address until asx__stack_pool_deinit.
 *
 * What the switch keeps: the callee-saved integer and vector registers of the ABI. What it does
 * not: floating-point control (x87 control word, MXCSR, FPCR, fcsr), the signal mask, errno and
 * every other thread-local. A task that changes the rounding mode restores it before it waits.
 * Exceptions of C++ that are under way are kept by the scheduler: globals.c.
 * (The ucontext variant happens to keep some of these; do not count on it.)
 *
 * A pool is used by one thread at a time: no function here takes a lock. asx__stack_build is the
 * only one that may run while another thread uses the pool, asx__stack_pool_owns the only one that
 * a signal handler may call.
 */
#ifndef ASX_FIBER_FIBER_H
#define ASX_FIBER_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <asx/status.h>

#include "base/export.h"

#if !defined(ASX_FIBER_UCONTEXT)
#if !defined(__ELF__) ||                                                                          \
    !((defined(__x86_64__) && !defined(__ILP32__)) ||                                             \
      (defined(__aarch64__) && !defined(__ILP32__)) ||                                            \
      (defined(__riscv) && __riscv_xlen == 64 && !defined(__riscv_32e)))
#define ASX_FIBER_UCONTEXT 1
#endif
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASX__FIBER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define ASX__FIBER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(ASX__FIBER_ASAN)
#define ASX__FIBER_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) && !defined(ASX__FIBER_TSAN)
#define ASX__FIBER_TSAN 1
#endif
#ifndef ASX__FIBER_ASAN
#define ASX__FIBER_ASAN 0
#endif
#ifndef ASX__FIBER_TSAN
#define ASX__FIBER_TSAN 0
#endif

#if ASX__FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if ASX__FIBER_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#endif

/* ---- switch ------------------------------------------------------------------------------- */

typedef void (*asx__fiber_entry)(void *arg, int ret);

/* Suspends the caller into *save_sp and resumes to_sp. Returns, in the context that is resumed,
 * the `ret` that its resumer passed: a status, so that a function that returns one can tail-call
 * this. It should: a switch that is called leaves an entry in the return predictor, which is wrong
 * by the time it is used. */
ASX__SEAM int asx__fiber_switch(void **save_sp, void *to_sp, int ret);

/* Resumes to_sp and leaves the current stack for good. */
_Noreturn void asx__fiber_jump(void *to_sp, int ret);

/* Prepares a context right below stack_top (16-aligned); the first switch to the returned sp
 * calls entry(arg, ret). entry never returns; it leaves with asx__fiber_jump. */
void *asx__fiber_make(void *stack_top, asx__fiber_entry entry, void *arg);

/* ---- stacks ------------------------------------------------------------------------------- */

#define ASX__STACK_SIZE_DEFAULT ((size_t)64 * 1024)
#define ASX__STACK_SIZE_MAX ((size_t)1 << 30)
#define ASX__STACK_BLOCK_SIZE_MIN ((size_t)1024) /* smallest stack_size inside a caller's block */

/* How the low end of a stack is protected. AUTO takes the first that works, in this order; a
 * pool that was asked for one kind has no stack rather than a weaker one. Each stack says in
 * `guard` what it has. */
enum asx__stack_guard {
    ASX__STACK_GUARD_AUTO = 0,
    ASX__STACK_GUARD_INSTALL,  /* MADV_GUARD_INSTALL: no limit, no extra mapping */
    ASX__STACK_GUARD_MPROTECT, /* two mappings each; ends at the system's map count */
    ASX__STACK_GUARD_CANARY    /* found by asx__stack_check only, after the fact */
};

/* The header of a stack. The alignment is that of the first frame. */
typedef struct asx__stack {
    _Alignas(16) struct asx__stack *next; /* free list */
    char *base;                           /* lowest usable address, right above the guard */
    void *owner;                          /* for the scheduler: what runs here; NULL in a new one */
    size_t size;                          /* usable bytes: (char *)this - base */
    uint8_t guard;                        /* enum asx__stack_guard, never AUTO */
    uint8_t flags;                        /* ASX__STACK_* */
    uint32_t valgrind_id;
#if ASX__FIBER_ASAN
    void *asan_fake_stack;
#endif
#if ASX__FIBER_TSAN
    void *tsan_fiber;
#endif
} asx__stack;

enum {
    ASX__STACK_HOST = 1,   /* adopted, not of a pool */
    ASX__STACK_FILLED = 2, /* lies in a caller's block: unused words hold the pattern, else 0 */
};

/* The system calls of a pool. All return 0 or -errno, except map (NULL on failure) and
 * advise_many (how many leading ranges are done, or -errno if none is). A test may replace any;
 * NULL stands for the real one. */
struct iovec;
typedef struct asx__stack_os {
    void *ctx;
    void *(*map)(void *ctx, size_t size);
    int (*unmap)(void *ctx, void *addr, size_t size);
    int (*protect)(void *ctx, void *addr, size_t size); /* to no access */
    int (*advise)(void *ctx, void *addr, size_t size, int advice);
    int (*advise_many)(void *ctx, const struct iovec *ranges, unsigned count, int advice);
} asx__stack_os;

typedef struct asx__stack_config {
    size_t stack_size;   /* bytes per slot, guard and header included; 0: the default */
    uint32_t stacks_max; /* 0: as many as memory allows */
    int guard;           /* enum asx__stack_guard */
    void *memory;        /* not NULL: carve stacks from this block, which the pool borrows until */
    size_t memory_size;  /* deinit, and make no system call; guards are canaries */
    asx__stack_os os;
} asx__stack_config;

struct asx__stack_arena;

typedef struct asx__stack_pool {
    asx__stack *free;                /* hot stacks, last released first */
    asx__stack *spare;               /* idle stacks that are to give their memory back */
    const asx__stack *mark;          /* was on the free list at the last cut; may not be any more */
    uint32_t cold_count;             /* idle stacks without memory: see stack.c */
    uint32_t building;               /* stacks of batches that have not been put back yet */
    char *fresh;                     /* next slot that was never handed out */
    uint32_t fresh_count;            /* so many follow from there with their guards in place */
    uint32_t fresh_guard;            /* which are of this kind */
    struct asx__stack_arena *arenas; /* newest first; slots are carved from the newest only */
    char *block;                     /* the caller's memory, or NULL; it has no arenas */
    size_t slot_size;
    size_t guard_size;
    size_t page_size;
    uint32_t stacks_max;      /* 0: no limit */
    uint32_t stacks_carved;   /* slots ever handed out, cold ones included */
    uint32_t guard;           /* the kind that the next slots get, if it can be had */
    uint32_t guards_mprotect; /* how many of that costly kind there are */
    bool guard_strict;        /* the caller named the kind: refuse rather than take a weaker */
    bool guards_proven;       /* MADV_GUARD_INSTALL was seen to do what it says */
    bool advise_many_works;
    bool on_valgrind;
    int os_error; /* errno of the last refusal of the system, for reports */
    asx__stack_os os;
} asx__stack_pool;

/* ASX_E_INVALID_ARGUMENT: a size or guard out of range, or a block too small for one stack.
 * Maps nothing yet. */
ASX__SEAM asx_status asx__stack_pool_init(asx__stack_pool *pool, const asx__stack_config *config);

/* Unmaps everything, stacks in use included. */
ASX__SEAM void asx__stack_pool_deinit(asx__stack_pool *pool);

/* Walks the free list; for audits. */
bool asx__stack_pool_is_valid(const asx__stack_pool *pool);
/* Stacks that are in use; walks the idle ones. */
ASX__SEAM uint32_t asx__stack_pool_in_use(const asx__stack_pool *pool);

ASX__SEAM asx__stack *asx__stack_acquire_slow(asx__stack_pool *pool);

/* Where asx__fiber_make starts. */
static inline void *asx__stack_top(asx__stack *stack)
{
    return stack;
}

/* For the tools, when a stack goes to a new user (renew) and when it comes back (discard). */
ASX__SEAM void asx__stack_renew(asx__stack *stack);
void asx__stack_discard(asx__stack *stack);

/* The caller owns the stack until release. NULL: stacks_max reached or the system refused. */
static inline asx__stack *asx__stack_acquire(asx__stack_pool *pool)
{
    asx__stack *stack = pool->free;
    if (__builtin_expect(stack == NULL, 0))
        return asx__stack_acquire_slow(pool);
    pool->free = stack->next;
#if ASX__FIBER_ASAN
    asx__stack_renew(stack);
#elif defined(ASX_HAVE_VALGRIND)
    if (__builtin_expect(pool->on_valgrind, 0))
        asx__stack_renew(stack);
#endif
    return stack;
}

/* May be called by the fiber that still runs on the stack, if it leaves with asx__fiber_jump_on
 * before the first is acquired. Also right for a stack whose fiber is suspended for ever. */
static inline void asx__stack_release(asx__stack_pool *pool, asx__stack *stack)
{
#if ASX__FIBER_ASAN || ASX__FIBER_TSAN
    asx__stack_discard(stack);
#endif
    stack->next = pool->free;
    pool->free = stack;
}

/* Stacks that are made ahead of use, a few at a time. The thread that does that need not have the
 * pool to itself while it waits for their memory, which is what takes long. */
typedef struct asx__stack_batch {
    char *slots;
    uint64_t guards; /* two bits for each of 32 slots; 0: it is not of the batch */
    uint32_t count;
    asx__stack *first, *last; /* once they are built */
} asx__stack_batch;

/* As many as an eighth of all there are, if they can be had without a system call. False: none.
 * Never where stacks are counted: the fiber that is entitled to the last one must get it. */
bool asx__stack_reserve(asx__stack_pool *pool, asx__stack_batch *ret_batch);
/* First touches of their memory. */
void asx__stack_build(const asx__stack_pool *pool, asx__stack_batch *batch);
/* They are idle stacks like others from now on. */
void asx__stack_put(asx__stack_pool *pool, const asx__stack_batch *batch);

/* Async-signal-safe. Says whether addr lies in a stack of the pool, guard and header included.
 * *ret_stack may be a stack that is idle or cold: do not follow its pointers then. */
ASX__SEAM bool asx__stack_pool_owns(const asx__stack_pool *pool, const void *addr,
                                    asx__stack **ret_stack, bool *ret_guard);

/* The deepest use since the stack was first handed out or its memory last given back, in bytes. */
size_t asx__stack_high_water(const asx__stack *stack);

/* Gives the memory of all idle stacks but the `keep` hottest back to the system. */
void asx__stack_pool_trim(asx__stack_pool *pool, uint32_t keep);

/* The same by and by. Cut marks the stack at place `keep` of the free list; if the next cut finds
 * it among the first `keep` + `slack`, those behind it were not needed meanwhile: they are spare.
 * Chill gives the memory of at most `count` of them back. True: there is more to be done. */
bool asx__stack_pool_cut(asx__stack_pool *pool, uint32_t keep, uint32_t slack);
bool asx__stack_pool_chill(asx__stack_pool *pool, uint32_t count);

/* False: something wrote below base. Only canary stacks can say so; others are always true. */
bool asx__stack_check(const asx__stack *stack);

/* Describes the calling thread's own stack, for asx__fiber_switch_on. The thread must not be on
 * a fiber. */
void asx__stack_adopt_host(asx__stack *ret_host);

/* The thread is back on its own stack without having been switched to it: a fiber has ended the
 * thread, and all frames are gone. For the tools, which do not know. */
void asx__stack_host_again(asx__stack *host);

/* ---- C++ exceptions: globals.c -------------------------------------------------------------- */

/* The layout that the C++ ABI gives them. */
typedef struct asx__fiber_globals {
    void *caught;
    unsigned uncaught;
#if defined(__arm__)
    void *propagating;
#endif
} asx__fiber_globals;

/* False: no exception can be under way in this process. */
bool asx__fiber_globals_exist(void);
/* Are there any of the calling thread? */
ASX__SEAM bool asx__fiber_globals_any(void);
/* Takes them away from the calling thread. False: there are none, *ret_globals is untouched. */
bool asx__fiber_globals_take(asx__fiber_globals *ret_globals);
/* For the calling thread, which has none. */
void asx__fiber_globals_put(const asx__fiber_globals *globals);

/* ---- annotated switch --------------------------------------------------------------------- */

/* What the scheduler calls: tells the sanitizers which stack is left and which is entered. In
 * other builds it is the plain switch, with no extra instruction.
 *
 * TSan keeps a shadow call stack per fiber and pushes and pops it at function entry and exit, so
 * __tsan_switch_to_fiber must be called from the very function that switches. */

/* Before longjmp-like leaps inside one stack. */
static inline void asx__fiber_no_return(void)
{
#if ASX__FIBER_ASAN
    __asan_handle_no_return();
#endif
}

/* First statement of an entry function. */
static inline void asx__fiber_started(asx__stack *self)
{
    (void)self;
#if ASX__FIBER_ASAN
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
}

/* from == NULL: the current stack is left for good, as by asx__fiber_jump_on. */
static inline int asx__fiber_switch_on(asx__stack *from, asx__stack *to, void **save_sp,
                                       void *to_sp, int ret)
{
    (void)from;
    (void)to;
#if ASX__FIBER_ASAN
    __sanitizer_start_switch_fiber(from != NULL ? &from->asan_fake_stack : NULL, to->base,
                                   to->size);
#endif
#if ASX__FIBER_TSAN
    if (to->tsan_fiber == NULL)
        to->tsan_fiber = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(to->tsan_fiber, 0);
#endif
    ret = asx__fiber_switch(save_sp, to_sp, ret);
#if ASX__FIBER_ASAN
    void *fake_stack = from != NULL ? from->asan_fake_stack : NULL;
    if (from != NULL)
        from->asan_fake_stack = NULL;
    __sanitizer_finish_switch_fiber(fake_stack, NULL, NULL);
#endif
    return ret;
}

/* dying == to is allowed and means a leap inside one stack. dying may be NULL (unknown). */
static inline _Noreturn void asx__fiber_jump_on(asx__stack *dying, asx__stack *to, void *to_sp,
                                                int ret)
{
#if ASX__FIBER_ASAN
    if (dying == to)
        __asan_handle_no_return();
    else
        __sanitizer_start_switch_fiber(NULL, to->base, to->size);
#endif
#if ASX__FIBER_TSAN
    if (dying != to) {
        if (to->tsan_fiber == NULL)
            to->tsan_fiber = __tsan_create_fiber(0);
        __tsan_switch_to_fiber(to->tsan_fiber, 0);
        if (dying != NULL && (dying->flags & ASX__STACK_HOST) == 0) {
            __tsan_destroy_fiber(dying->tsan_fiber);
            dying->tsan_fiber = NULL;
        }
    }
#endif
    (void)dying;
    (void)to;
    asx__fiber_jump(to_sp, ret);
}

#endif
