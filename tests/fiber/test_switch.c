/* test_switch.c - laws of the context switch, plain and annotated. */
#include "harness.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

#include "fiber/fiber.h"

#if defined(ASX_HAVE_VALGRIND)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

/* Two sides that know each other; most tests need no more. */
struct pair {
    asx__stack_pool pool;
    asx__stack host;
    asx__stack *stack;
    void *host_sp;
    void *fiber_sp;
};

static void pair_init(struct pair *pair, asx__fiber_entry entry)
{
    CHECK_STATUS(asx__stack_pool_init(&pair->pool, &(asx__stack_config){ 0 }), ASX_OK);
    asx__stack_adopt_host(&pair->host);
    pair->stack = asx__stack_acquire(&pair->pool);
    CHECK(pair->stack != NULL);
    pair->fiber_sp = asx__fiber_make(asx__stack_top(pair->stack), entry, pair);
}

static int to_fiber(struct pair *pair, int value)
{
    return asx__fiber_switch_on(&pair->host, pair->stack, &pair->host_sp, pair->fiber_sp, value);
}

static int to_host(struct pair *pair, int value)
{
    return asx__fiber_switch_on(pair->stack, &pair->host, &pair->fiber_sp, pair->host_sp, value);
}

static _Noreturn void end_fiber(struct pair *pair, int value)
{
    asx__fiber_jump_on(pair->stack, &pair->host, pair->host_sp, value);
}

/* ---- registers ----------------------------------------------------------------------------- */

/* int load_switch_store(void **save_sp, void *to_sp, int ret, const uint64_t *in,
 *                       uint64_t *out)
 * Loads all callee-saved registers from in, switches, stores them to out when resumed. */
#if defined(__x86_64__) && !defined(__ILP32__)
enum { REGISTERS = 6 };
__asm__(".text\n"
        ".globl load_switch_store\n"
        "load_switch_store:\n"
        "  push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n push %r8\n"
        "  mov 0(%rcx), %rbx\n mov 8(%rcx), %rbp\n mov 16(%rcx), %r12\n"
        "  mov 24(%rcx), %r13\n mov 32(%rcx), %r14\n mov 40(%rcx), %r15\n"
        "  call asx__fiber_switch\n"
        "  pop %r8\n"
        "  mov %rbx, 0(%r8)\n mov %rbp, 8(%r8)\n mov %r12, 16(%r8)\n"
        "  mov %r13, 24(%r8)\n mov %r14, 32(%r8)\n mov %r15, 40(%r8)\n"
        "  pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
        "  ret\n");
#elif defined(__aarch64__) && !defined(__ILP32__)
enum { REGISTERS = 19 };
__asm__(".text\n"
        ".globl load_switch_store\n"
        "load_switch_store:\n"
        "  sub sp, sp, #176\n"
        "  stp d8, d9, [sp, #0]\n stp d10, d11, [sp, #16]\n"
        "  stp d12, d13, [sp, #32]\n stp d14, d15, [sp, #48]\n"
        "  stp x19, x20, [sp, #64]\n stp x21, x22, [sp, #80]\n stp x23, x24, [sp, #96]\n"
        "  stp x25, x26, [sp, #112]\n stp x27, x28, [sp, #128]\n stp x29, x30, [sp, #144]\n"
        "  str x4, [sp, #160]\n"
        "  ldp d8, d9, [x3, #0]\n ldp d10, d11, [x3, #16]\n"
        "  ldp d12, d13, [x3, #32]\n ldp d14, d15, [x3, #48]\n"
        "  ldp x19, x20, [x3, #64]\n ldp x21, x22, [x3, #80]\n ldp x23, x24, [x3, #96]\n"
        "  ldp x25, x26, [x3, #112]\n ldp x27, x28, [x3, #128]\n ldr x29, [x3, #144]\n"
        "  bl asx__fiber_switch\n"
        "  ldr x4, [sp, #160]\n"
        "  stp d8, d9, [x4, #0]\n stp d10, d11, [x4, #16]\n"
        "  stp d12, d13, [x4, #32]\n stp d14, d15, [x4, #48]\n"
        "  stp x19, x20, [x4, #64]\n stp x21, x22, [x4, #80]\n stp x23, x24, [x4, #96]\n"
        "  stp x25, x26, [x4, #112]\n stp x27, x28, [x4, #128]\n str x29, [x4, #144]\n"
        "  ldp d8, d9, [sp, #0]\n ldp d10, d11, [sp, #16]\n"
        "  ldp d12, d13, [sp, #32]\n ldp d14, d15, [sp, #48]\n"
        "  ldp x19, x20, [sp, #64]\n ldp x21, x22, [sp, #80]\n ldp x23, x24, [sp, #96]\n"
        "  ldp x25, x26, [sp, #112]\n ldp x27, x28, [sp, #128]\n ldp x29, x30, [sp, #144]\n"
        "  add sp, sp, #176\n"
        "  ret\n");
#elif defined(__riscv) && __riscv_xlen == 64 && defined(__riscv_float_abi_double)
enum { REGISTERS = 24 };
#define EACH(op, fop, at)                                                                          \
    op " s0, 0(" at ")\n" op " s1, 8(" at ")\n" op " s2, 16(" at ")\n" op " s3, 24(" at ")\n" op   \
       " s4, 32(" at ")\n" op " s5, 40(" at ")\n" op " s6, 48(" at ")\n" op " s7, 56(" at ")\n" op \
       " s8, 64(" at ")\n" op " s9, 72(" at ")\n" op " s10, 80(" at ")\n" op " s11, 88(" at ")\n"  \
    fop " fs0, 96(" at ")\n" fop " fs1, 104(" at ")\n" fop " fs2, 112(" at ")\n"                   \
    fop " fs3, 120(" at ")\n" fop " fs4, 128(" at ")\n" fop " fs5, 136(" at ")\n"                  \
    fop " fs6, 144(" at ")\n" fop " fs7, 152(" at ")\n" fop " fs8, 160(" at ")\n"                  \
    fop " fs9, 168(" at ")\n" fop " fs10, 176(" at ")\n" fop " fs11, 184(" at ")\n"
__asm__(".text\n"
        ".globl load_switch_store\n"
        "load_switch_store:\n"
        "  addi sp, sp, -208\n sd ra, 192(sp)\n sd a4, 200(sp)\n"
        EACH("sd", "fsd", "sp") EACH("ld", "fld", "a3")
        "  call asx__fiber_switch\n"
        "  ld a4, 200(sp)\n"
        EACH("sd", "fsd", "a4") EACH("ld", "fld", "sp")
        "  ld ra, 192(sp)\n addi sp, sp, 208\n"
        "  ret\n");
#endif

#if defined(__x86_64__) || defined(__aarch64__) || defined(__riscv)
int load_switch_store(void **save_sp, void *to_sp, int ret, const uint64_t *in,
                      uint64_t *out);

static void fill(uint64_t *values, uint64_t seed)
{
    for (int i = 0; i < REGISTERS; i++)
        values[i] = seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)i * UINT64_C(0x100000001b3);
}

static void *plain_host_sp;
static void *plain_fiber_sp;

static void clobber_registers(void *arg, int round)
{
    (void)arg;
    for (;;) {
        uint64_t in[REGISTERS];
        uint64_t out[REGISTERS];
        fill(in, (uint64_t)round + 1000);
        memset(out, 0, sizeof out);
        round = load_switch_store(&plain_fiber_sp, plain_host_sp, -round, in, out);
        CHECK_MEM_EQ(out, in, sizeof in);
    }
}

ASX_TEST(switch_keeps_every_callee_saved_register_on_both_sides)
{
    static _Alignas(16) char memory[64 * 1024];
    plain_fiber_sp = asx__fiber_make(memory + sizeof memory, clobber_registers, NULL);
    for (int round = 1; round < 100; round++) {
        uint64_t in[REGISTERS];
        uint64_t out[REGISTERS];
        fill(in, (uint64_t)round);
        memset(out, 0, sizeof out);
        int got = load_switch_store(&plain_host_sp, plain_fiber_sp, round, in, out);
        CHECK_MEM_EQ(out, in, sizeof in);
        CHECK_EQ(got, -round);
    }
}
#endif

/* ---- values and control -------------------------------------------------------------------- */

static void add_one(void *arg, int value)
{
    struct pair *pair = arg;
    asx__fiber_started(pair->stack);
    for (;;)
        value = to_host(pair, value + 1);
}

ASX_TEST(switch_returns_what_the_resumer_passed)
{
    struct pair pair;
    pair_init(&pair, add_one);
    for (int i = -1000; i < 1000; i++)
        CHECK_EQ(to_fiber(&pair, i), i + 1);
    CHECK_EQ(to_fiber(&pair, INT_MAX - 1), INT_MAX);
    CHECK_EQ(to_fiber(&pair, INT_MIN), INT_MIN + 1);
    asx__stack_pool_deinit(&pair.pool);
}

static void sum_then_end(void *arg, int value)
{
    struct pair *pair = arg;
    asx__fiber_started(pair->stack);
    int sum = value;
    for (int i = 0; i < 10; i++)
        sum += to_host(pair, i);
    end_fiber(pair, sum);
}

ASX_TEST(jump_hands_a_value_over_and_does_not_come_back)
{
    struct pair pair;
    pair_init(&pair, sum_then_end);
    CHECK_EQ(to_fiber(&pair, 1000), 0);
    for (int i = 1; i < 10; i++)
        CHECK_EQ(to_fiber(&pair, i), i);
    CHECK_EQ(to_fiber(&pair, 10), 1000 + 55);
    asx__stack_release(&pair.pool, pair.stack);
    asx__stack_pool_deinit(&pair.pool);
}

static void check_floats(void *arg, int value)
{
    struct pair *pair = arg;
    asx__fiber_started(pair->stack);
    /* Aligned vector stores in the callee fault if the first frame is not on 16 bytes. */
    char text[64];
    double a = 1.5, b = 2.25, c = -3.125, d = 4.0625;
    for (;;) {
        snprintf(text, sizeof text, "%.1f %.2f %ld", a, b, (long)value);
        CHECK(strncmp(text, "1.5 2.25 ", 9) == 0);
#if !defined(ASX_FIBER_UCONTEXT)
        CHECK_EQ((uintptr_t)__builtin_frame_address(0) % 16, 0);
#endif
        value = to_host(pair, (int)((a + b + c + d) * 10000));
    }
}

ASX_TEST(a_fiber_computes_with_aligned_frames_and_floating_point)
{
    struct pair pair;
    pair_init(&pair, check_floats);
    double x = 0.5, y = 8.0;
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(to_fiber(&pair, i), 46875);
        x += 0.5;
        y *= 1.0;
    }
    CHECK(x == 50.5 && y == 8.0);
    asx__stack_pool_deinit(&pair.pool);
}

/* ---- many fibers --------------------------------------------------------------------------- */

enum { FIBERS = 50, ROUNDS = 40 };

struct ring {
    asx__stack_pool pool;
    asx__stack host;
    void *host_sp;
    struct fiber {
        struct ring *ring;
        asx__stack *stack;
        void *sp;
        int index;
        int turns;
    } fibers[FIBERS];
};

static void pass_on(struct fiber *me)
{
    struct ring *ring = me->ring;
    if (me->index + 1 == FIBERS) {
        asx__fiber_switch_on(me->stack, &ring->host, &me->sp, ring->host_sp, 0);
    } else {
        struct fiber *next = me + 1;
        asx__fiber_switch_on(me->stack, next->stack, &me->sp, next->sp, 0);
    }
}

/* Red zones below and above `local`, and a chain of frames, on every stack. */
static int descend(struct fiber *me, int depth)
{
    volatile char local[48];
    memset((char *)local, me->index, sizeof local);
    if (depth > 0)
        descend(me, depth - 1);
    else
        pass_on(me);
    for (size_t i = 0; i < sizeof local; i++)
        CHECK_EQ(local[i], (char)me->index);
    return local[0];
}

static void ring_entry(void *arg, int value)
{
    struct fiber *me = arg;
    (void)value;
    asx__fiber_started(me->stack);
    for (;;) {
        me->turns++;
        descend(me, me->turns % 7);
    }
}

ASX_TEST(fibers_resume_each_other_from_nested_frames)
{
    static struct ring ring;
    CHECK_STATUS(asx__stack_pool_init(&ring.pool, &(asx__stack_config){ 0 }), ASX_OK);
    asx__stack_adopt_host(&ring.host);
    for (int i = 0; i < FIBERS; i++) {
        struct fiber *fiber = &ring.fibers[i];
        *fiber = (struct fiber){ .ring = &ring, .index = i };
        fiber->stack = asx__stack_acquire(&ring.pool);
        CHECK(fiber->stack != NULL);
        fiber->sp = asx__fiber_make(asx__stack_top(fiber->stack), ring_entry, fiber);
    }
    for (int round = 0; round < ROUNDS; round++) {
        asx__fiber_switch_on(&ring.host, ring.fibers[0].stack, &ring.host_sp, ring.fibers[0].sp,
                             0);
        for (int i = 0; i < FIBERS; i++)
            CHECK_EQ(ring.fibers[i].turns, round + 1);
    }
    /* Suspended for ever: release must do for the tools what an end would have done. */
    for (int i = 0; i < FIBERS; i++)
        asx__stack_release(&ring.pool, ring.fibers[i].stack);
    asx__stack_pool_deinit(&ring.pool);
}

static void release_own_stack(void *arg, int value)
{
    struct pair *pair = arg;
    asx__fiber_started(pair->stack);
    volatile char local[100];
    memset((char *)local, (int)value, sizeof local);
    asx__stack_release(&pair->pool, pair->stack);
    end_fiber(pair, value + local[99]);
}

ASX_TEST(a_fiber_may_release_the_stack_it_runs_on_and_jump)
{
    struct pair pair;
    pair_init(&pair, release_own_stack);
    asx__stack *first = pair.stack;
    for (int i = 0; i < 2000; i++) {
        CHECK_EQ(to_fiber(&pair, i % 100), 2 * (i % 100));
#if ASX__FIBER_TSAN
        CHECK(first->tsan_fiber == NULL); /* or its record of calls would grow for ever */
#endif
        pair.stack = asx__stack_acquire(&pair.pool);
        CHECK_PTR_EQ(pair.stack, first);
        pair.fiber_sp = asx__fiber_make(asx__stack_top(pair.stack), release_own_stack, &pair);
    }
    CHECK_EQ(pair.pool.stacks_carved, 1);
    asx__stack_pool_deinit(&pair.pool);
}

/* A frame that ASan does not know, where others may have been and were not left by return. */
__attribute__((noinline, no_sanitize_address)) static void overwrite_below(void)
{
    char buffer[8000];
    memset(buffer, 1, sizeof buffer);
    __asm__ volatile("" ::"r"(buffer) : "memory");
}

static void leave_from_depth(struct pair *pair, int depth)
{
    volatile char local[64];
    memset((char *)local, depth, sizeof local);
    if (depth > 0)
        leave_from_depth(pair, depth - 1);
    to_host(pair, local[63]);
}

static void abandon(void *arg, int value)
{
    struct pair *pair = arg;
    asx__fiber_started(pair->stack);
    overwrite_below();
    leave_from_depth(pair, (int)value);
}

ASX_TEST(a_stack_whose_fiber_was_abandoned_is_as_good_as_new)
{
    struct pair pair;
    pair_init(&pair, abandon);
    for (int i = 0; i < 500; i++) {
        to_fiber(&pair, i % 40);
        asx__stack_release(&pair.pool, pair.stack);
#if ASX__FIBER_TSAN
        CHECK(pair.stack->tsan_fiber == NULL);
#endif
        pair.stack = asx__stack_acquire(&pair.pool);
        if (i < 100) /* the tools hold nothing of the dead frames against the new user */
            memset(pair.stack->base, i, pair.stack->size);
        pair.fiber_sp = asx__fiber_make(asx__stack_top(pair.stack), abandon, &pair);
    }
    asx__stack_pool_deinit(&pair.pool);
}

static jmp_buf leap;

__attribute__((noinline)) static void leap_from_depth(int depth)
{
    volatile char local[64];
    memset((char *)local, depth, sizeof local);
    if (depth < 0)
        return;
    if (depth == 0)
        longjmp(leap, 1);
    leap_from_depth(depth - 1);
    CHECK_EQ(local[0], depth);
}

__attribute__((noinline)) static bool leap_once(int depth)
{
    if (setjmp(leap) != 0)
        return true;
    leap_from_depth(depth);
    return false;
}

static void leap_within(void *arg, int value)
{
    struct pair *pair = arg;
    asx__fiber_started(pair->stack);
    for (;;) {
        CHECK(leap_once((int)value));
        overwrite_below();
        value = to_host(pair, value);
    }
}

/* As longjmp does, so do C++ exceptions; ASan must know the bounds of the stack for both. */
ASX_TEST(a_fiber_may_leap_over_its_own_frames)
{
    struct pair pair;
    pair_init(&pair, leap_within);
    for (int i = 1; i < 30; i++)
        CHECK_EQ(to_fiber(&pair, i), i);
    asx__stack_pool_deinit(&pair.pool);
}

/* ---- unwinding ----------------------------------------------------------------------------- */

enum { FRAMES_MAX = 40 };

struct trace {
    int frames;
    bool ended;
    const void *wanted;
    int wanted_seen;
    int beyond; /* frames that came after the wanted one */
};

static _Unwind_Reason_Code trace_frame(struct _Unwind_Context *context, void *arg)
{
    struct trace *trace = arg;
    const void *ip = (const void *)_Unwind_GetIP(context);
    if (ip != NULL)
        trace->beyond += trace->wanted_seen;
    if (ip != NULL && trace->wanted != NULL &&
        _Unwind_FindEnclosingFunction((void *)((uintptr_t)ip - 1)) == trace->wanted)
        trace->wanted_seen++;
    return ++trace->frames < FRAMES_MAX ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

static struct trace trace_take(const void *wanted)
{
    struct trace trace = { .wanted = wanted };
    trace.ended = _Unwind_Backtrace(trace_frame, &trace) == _URC_END_OF_STACK;
    return trace;
}

/* Some ABIs compile C without unwind tables; then only the end of the chain can be checked. */
__attribute__((noinline)) static bool have_unwind_tables(void)
{
    return _Unwind_FindEnclosingFunction(__builtin_return_address(0)) != NULL;
}

static void trace_self(void *arg, int value);

__attribute__((noinline)) static void trace_deep(struct trace *ret_trace, int depth)
{
    if (depth > 0)
        trace_deep(ret_trace, depth - 1);
    else
        *ret_trace = trace_take((const void *)(uintptr_t)trace_self);
    __asm__ volatile("" ::: "memory");
}

static struct trace fiber_trace;

static void trace_self(void *arg, int value)
{
    struct pair *pair = arg;
    asx__fiber_started(pair->stack);
    trace_deep(&fiber_trace, (int)value);
    end_fiber(pair, 7);
}

ASX_TEST(a_backtrace_on_a_fiber_ends_at_its_entry)
{
    struct pair pair;
    pair_init(&pair, trace_self);
    /* What lies above the first frame may look like a return address; here it does. */
    pair.stack->next = (asx__stack *)((uintptr_t)trace_deep + 4);
    CHECK_EQ(to_fiber(&pair, 5), 7);
    CHECK(fiber_trace.ended);
    CHECK_LE(fiber_trace.frames, 16);
    if (have_unwind_tables()) {
        CHECK_GE(fiber_trace.frames, 5 + 2);
        CHECK_EQ(fiber_trace.wanted_seen, 1);
#if defined(ASX_FIBER_UCONTEXT)
        CHECK_LE(fiber_trace.beyond, 2); /* the start code, ours and the C library's */
#else
        CHECK_EQ(fiber_trace.beyond, 1);
#endif
    }
    asx__stack_pool_deinit(&pair.pool);
}

#if defined(__x86_64__) && defined(__linux__) && !defined(ASX_FIBER_UCONTEXT)

/* Sets the trap flag: every instruction that follows raises SIGTRAP, until step_off. */
__asm__(".text\n"
        ".globl step_on\n .globl step_off\n"
        "step_on: pushf\n orq $0x100, (%rsp)\n popf\n ret\n"
        "step_off: pushf\n andq $~0x100, (%rsp)\n popf\n ret\n");
void step_on(void);
void step_off(void);

static struct {
    const asx__stack *fiber_stack;
    int steps_host, steps_fiber;
    int bad; /* steps where the chain did not end, or missed the function that runs */
    const void *bad_ip;
} stepper;

__attribute__((noinline)) static void step_host(struct pair *pair);
static void step_fiber(void *arg, int value);

static void on_step(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)info;
    const ucontext_t *uc = context;
    uintptr_t sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
    uintptr_t ip = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
    /* Only our assembly: from the switch to make, in the order of the file. */
    if (ip < (uintptr_t)asx__fiber_switch || ip >= (uintptr_t)asx__fiber_make)
        return;
    bool on_fiber = sp >= (uintptr_t)stepper.fiber_stack->base &&
                    sp <= (uintptr_t)stepper.fiber_stack;
    const void *wanted = on_fiber ? (const void *)(uintptr_t)step_fiber
                                  : (const void *)(uintptr_t)step_host;
    struct trace trace = trace_take(wanted);
    /* Before its first call a new context consists of nothing but the start code. */
    bool started = stepper.steps_fiber > 8 + 4;
    if (!trace.ended || (trace.wanted_seen != 1 && (!on_fiber || started))) {
        stepper.bad++;
        stepper.bad_ip = (const void *)ip;
    }
    if (on_fiber)
        stepper.steps_fiber++;
    else
        stepper.steps_host++;
}

static void step_fiber(void *arg, int value)
{
    struct pair *pair = arg;
    for (int i = 0; i < 3; i++)
        value = asx__fiber_switch(&pair->fiber_sp, pair->host_sp, value);
    asx__fiber_jump(pair->host_sp, value);
}

__attribute__((noinline)) static void step_host(struct pair *pair)
{
    step_on();
    for (int i = 0; i < 4; i++)
        asx__fiber_switch(&pair->host_sp, pair->fiber_sp, i);
    step_off();
}

/* The debugger's view: at each instruction, on both stacks, the call chain is whole. */
ASX_TEST(the_call_chain_is_whole_at_each_instruction_of_a_switch)
{
    if (ASX__FIBER_ASAN || ASX__FIBER_TSAN || RUNNING_ON_VALGRIND)
        return; /* their handlers and unannotated switches do not go together */
    struct pair pair;
    pair_init(&pair, step_fiber);
    stepper.fiber_stack = pair.stack;
    struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
    CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
    step_host(&pair);
    CHECK_PTR_EQ(stepper.bad_ip, NULL);
    CHECK_EQ(stepper.bad, 0);
    CHECK_GE(stepper.steps_host, 4 * 9);
    CHECK_GE(stepper.steps_fiber, 4 * 7);
    asx__stack_pool_deinit(&pair.pool);
}
#endif
