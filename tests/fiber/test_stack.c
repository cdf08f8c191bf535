/* test_stack.c - laws of the stack pool.
 *
 * The fake system (struct fake_os) counts calls, keeps account of what is mapped, and fails the
 * call it is told to fail; what it does not fail is done for real.
 */
#include "harness.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fiber/fiber.h"

#if defined(ASX_HAVE_VALGRIND)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

/* ---- helpers ------------------------------------------------------------------------------- */

static bool instrumented(void)
{
    return ASX__FIBER_ASAN || ASX__FIBER_TSAN || RUNNING_ON_VALGRIND;
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t resident_bytes(void)
{
    unsigned long total = 0;
    unsigned long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL);
    CHECK_EQ(fscanf(file, "%lu %lu", &total, &resident), 2);
    fclose(file);
    return resident * page_size();
}

/* Asks the kernel to read the byte, which it refuses where we would fault. */
static bool is_accessible(const void *addr)
{
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
#if defined(ASX_HAVE_VALGRIND)
    VALGRIND_DISABLE_ERROR_REPORTING; /* the value does not matter */
#endif
    ssize_t wrote = write(ends[1], addr, 1);
#if defined(ASX_HAVE_VALGRIND)
    VALGRIND_ENABLE_ERROR_REPORTING;
#endif
    CHECK(wrote == 1 || errno == EFAULT);
    close(ends[0]);
    close(ends[1]);
    return wrote == 1;
}

static bool kernel_has_guard_install(void)
{
    size_t size = page_size();
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    bool has = madvise(page, size, MADV_GUARD_INSTALL) == 0 && !is_accessible(page);
    munmap(page, size);
    return has;
}

static asx__stack_pool pool_make(asx__stack_config config)
{
    asx__stack_pool pool;
    CHECK_STATUS(asx__stack_pool_init(&pool, &config), ASX_OK);
    return pool;
}

/* Runs body(arg) on the stack and comes back; what remains is how deep it went. */
struct visit {
    asx__stack *host;
    asx__stack *stack;
    void *host_sp;
    void (*body)(void *arg);
    void *arg;
};

static void visit_entry(void *arg, int value)
{
    struct visit *visit = arg;
    (void)value;
    asx__fiber_started(visit->stack);
    visit->body(visit->arg);
    asx__fiber_jump_on(visit->stack, visit->host, visit->host_sp, 0);
}

static void run_on(asx__stack *stack, void (*body)(void *arg), void *arg)
{
    static asx__stack host;
    struct visit visit = { .host = &host, .stack = stack, .body = body, .arg = arg };
    if (host.flags == 0)
        asx__stack_adopt_host(&host);
    void *sp = asx__fiber_make(asx__stack_top(stack), visit_entry, &visit);
    asx__fiber_switch_on(&host, stack, &visit.host_sp, sp, 0);
}

/* Leaves its mark `size` bytes below the caller's frame; volatile, so that it is not optimised
 * away. */
__attribute__((noinline)) static void use_bytes(void *arg)
{
    size_t size = *(size_t *)arg;
    volatile char *memory = __builtin_alloca(size);
    memory[0] = 1;
    memory[size - 1] = 1;
}

/* ---- the fake system ----------------------------------------------------------------------- */

struct fake_os {
    long fail_at; /* the how-manieth call fails; 0: none */
    long calls;
    long maps, unmaps;
    size_t mapped;
    long guards;          /* ranges that got MADV_GUARD_INSTALL or no access */
    bool refuse_guards;   /* MADV_GUARD_INSTALL is unknown, as before Linux 6.13 */
    bool ignore_guards;   /* MADV_GUARD_INSTALL is taken for a hint, as by qemu-user */
    bool refuse_protect;  /* the map count is used up */
    bool refuse_dontneed; /* the memory is locked */
    bool pretend;         /* say yes to guards and do nothing */
    int many_at_most;     /* advise_many does so many and stops; 0: all */
    bool refuse_many;     /* no process_madvise */
};

static bool fake_fails(struct fake_os *fake)
{
    return ++fake->calls == fake->fail_at;
}

static void *fake_map(void *ctx, size_t size)
{
    struct fake_os *fake = ctx;
    if (fake_fails(fake))
        return NULL;
    void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(addr != MAP_FAILED);
    fake->maps++;
    fake->mapped += size;
    return addr;
}

static int fake_unmap(void *ctx, void *addr, size_t size)
{
    struct fake_os *fake = ctx;
    fake->unmaps++;
    fake->mapped -= size;
    CHECK_EQ(munmap(addr, size), 0);
    return fake_fails(fake) ? -EINVAL : 0;
}

static int fake_protect(void *ctx, void *addr, size_t size)
{
    struct fake_os *fake = ctx;
    if (fake_fails(fake) || fake->refuse_protect)
        return -ENOMEM;
    fake->guards++;
    if (!fake->pretend)
        CHECK_EQ(mprotect(addr, size, PROT_NONE), 0);
    return 0;
}

static int fake_one_advice(struct fake_os *fake, void *addr, size_t size, int advice)
{
    if (advice == MADV_GUARD_INSTALL) {
        if (fake->refuse_guards)
            return -EINVAL;
        if (!fake->pretend && !fake->ignore_guards && madvise(addr, size, advice) != 0)
            return -errno;
        fake->guards++;
        return 0;
    }
    if (advice == MADV_DONTNEED && fake->refuse_dontneed)
        return -EINVAL;
    return madvise(addr, size, advice) == 0 ? 0 : -errno;
}

static int fake_advise(void *ctx, void *addr, size_t size, int advice)
{
    struct fake_os *fake = ctx;
    return fake_fails(fake) ? -ENOMEM : fake_one_advice(fake, addr, size, advice);
}

static int fake_advise_many(void *ctx, const struct iovec *ranges, unsigned count, int advice)
{
    struct fake_os *fake = ctx;
    if (fake_fails(fake) || fake->refuse_many)
        return -EPERM;
    int done = 0;
    while ((unsigned)done < count && (fake->many_at_most == 0 || done < fake->many_at_most)) {
        int error = fake_one_advice(fake, ranges[done].iov_base, ranges[done].iov_len, advice);
        if (error < 0)
            return done > 0 ? done : error;
        done++;
    }
    return done;
}

static asx__stack_os fake_table(struct fake_os *fake)
{
    return (asx__stack_os){ fake,         fake_map,    fake_unmap,
                            fake_protect, fake_advise, fake_advise_many };
}

/* ---- acquire and release ------------------------------------------------------------------- */

ASX_TEST(stacks_are_aligned_disjoint_and_writable_to_the_last_byte)
{
    enum { COUNT = 200 };
    asx__stack_pool pool = pool_make((asx__stack_config){ .stack_size = 32 * 1024 });
    asx__stack *stacks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        asx__stack *stack = stacks[i] = asx__stack_acquire(&pool);
        CHECK(stack != NULL);
        CHECK_EQ((uintptr_t)asx__stack_top(stack) % 16, 0);
        CHECK_EQ(stack->size, (uintptr_t)asx__stack_top(stack) - (uintptr_t)stack->base);
        CHECK_GE(stack->size, 32 * 1024 - page_size() - 1100);
        CHECK(stack->owner == NULL);
        memset(stack->base, i, stack->size);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ(stacks[i]->base[0], (char)i);
        CHECK_EQ(stacks[i]->base[stacks[i]->size - 1], (char)i);
        CHECK_EQ(stacks[i]->size, (uintptr_t)stacks[i] - (uintptr_t)stacks[i]->base);
    }
    CHECK(asx__stack_pool_is_valid(&pool));
    asx__stack_pool_deinit(&pool);
}

ASX_TEST(the_last_stack_released_is_the_first_acquired)
{
    asx__stack_pool pool = pool_make((asx__stack_config){ 0 });
    asx__stack *a = asx__stack_acquire(&pool);
    asx__stack *b = asx__stack_acquire(&pool);
    asx__stack *c = asx__stack_acquire(&pool);
    asx__stack_release(&pool, b);
    asx__stack_release(&pool, a);
    asx__stack_release(&pool, c);
    CHECK(asx__stack_pool_is_valid(&pool));
    CHECK_PTR_EQ(asx__stack_acquire(&pool), c);
    CHECK_PTR_EQ(asx__stack_acquire(&pool), a);
    CHECK_PTR_EQ(asx__stack_acquire(&pool), b);
    CHECK_EQ(pool.stacks_carved, 3);
    asx__stack_pool_deinit(&pool);
}

ASX_TEST(acquire_is_refused_at_stacks_max_and_works_again_after_a_release)
{
    asx__stack_pool pool = pool_make((asx__stack_config){ .stacks_max = 100 });
    asx__stack *last = NULL;
    for (int i = 0; i < 100; i++)
        CHECK((last = asx__stack_acquire(&pool)) != NULL);
    CHECK(asx__stack_acquire(&pool) == NULL);
    CHECK(asx__stack_acquire(&pool) == NULL);
    asx__stack_release(&pool, last);
    CHECK_PTR_EQ(asx__stack_acquire(&pool), last);
    CHECK(asx__stack_acquire(&pool) == NULL);
    asx__stack_pool_deinit(&pool);
}

ASX_TEST(init_refuses_what_cannot_work_and_leaves_the_pool_alone)
{
    char memory[4096];
    const asx__stack_config bad[] = {
        { .stack_size = ASX__STACK_SIZE_MAX + 1 },
        { .stack_size = 1 },
        { .guard = -1 },
        { .guard = ASX__STACK_GUARD_CANARY + 1 },
        { .stack_size = 4096, .memory = memory, .memory_size = 4095 },
        { .stack_size = 512, .memory = memory, .memory_size = sizeof memory },
        { .stack_size = 2048,
          .memory = memory,
          .memory_size = sizeof memory,
          .guard = ASX__STACK_GUARD_MPROTECT },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        asx__stack_pool pool;
        asx__stack_pool before;
        memset(&pool, 0x5a, sizeof pool);
        memset(&before, 0x5a, sizeof before);
        CHECK_STATUS(asx__stack_pool_init(&pool, &bad[i]), ASX_E_INVALID_ARGUMENT);
        CHECK_MEM_EQ(&pool, &before, sizeof pool);
    }
}

/* ---- guards -------------------------------------------------------------------------------- */

static void check_guards(const asx__stack_pool *pool, asx__stack **stacks, int count)
{
    for (int i = 0; i < count; i++) {
        CHECK(is_accessible(stacks[i]->base));
        CHECK(!is_accessible(stacks[i]->base - 1));
        CHECK(!is_accessible(stacks[i]->base - pool->guard_size));
    }
}

static void guard_kind_works(int kind)
{
    enum { COUNT = 300 };
    asx__stack_pool pool = pool_make((asx__stack_config){ .guard = kind });
    asx__stack *stacks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        stacks[i] = asx__stack_acquire(&pool);
        CHECK(stacks[i] != NULL);
        if (kind != ASX__STACK_GUARD_AUTO)
            CHECK_EQ(stacks[i]->guard, kind);
        CHECK(asx__stack_check(stacks[i]));
    }
    check_guards(&pool, stacks, COUNT);
    asx__stack_pool_deinit(&pool);
}

ASX_TEST(every_stack_has_an_inaccessible_page_below_it)
{
    guard_kind_works(ASX__STACK_GUARD_AUTO);
    guard_kind_works(ASX__STACK_GUARD_MPROTECT);
    if (kernel_has_guard_install())
        guard_kind_works(ASX__STACK_GUARD_INSTALL);
}

ASX_TEST(auto_takes_the_strongest_guard_that_the_kernel_has)
{
    asx__stack_pool pool = pool_make((asx__stack_config){ 0 });
    asx__stack *stack = asx__stack_acquire(&pool);
    CHECK_EQ(stack->guard, kernel_has_guard_install() ? ASX__STACK_GUARD_INSTALL
                                                      : ASX__STACK_GUARD_MPROTECT);
    asx__stack_pool_deinit(&pool);
}

/* The overflow tests end in this handler, on its own stack, in a child. */
static asx__stack_pool *fault_pool;
static asx__stack *fault_stack;

enum { FAULT_AS_PROMISED = 42, FAULT_ELSEWHERE = 43 };

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)context;
    asx__stack *found = NULL;
    bool in_guard = false;
    bool owned = asx__stack_pool_owns(fault_pool, info->si_addr, &found, &in_guard);
    bool ok = owned && in_guard && found == fault_stack;
    _exit(ok ? FAULT_AS_PROMISED : FAULT_ELSEWHERE);
}

__attribute__((noinline)) static int recurse(volatile int *depth)
{
    volatile char local[200];
    local[0] = (char)++*depth;
    if (*depth < 0)
        return 0; /* never; a compiler that sees no way out refuses the function */
    return recurse(depth) + local[0];
}

static void overflow_by_recursion(void *arg)
{
    (void)arg;
    volatile int depth = 0;
    if (instrumented()) /* their frames and red zones are their own business */
        ((volatile char *)fault_stack->base)[-8] = 1;
    recurse(&depth);
}

static void overflow_in_child(asx__stack_pool *pool, asx__stack *stack)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        static char alternate[64 * 1024];
        stack_t ss = { .ss_sp = alternate, .ss_size = sizeof alternate };
        struct sigaction action = { .sa_sigaction = on_fault,
                                    .sa_flags = SA_SIGINFO | SA_ONSTACK };
        sigaltstack(&ss, NULL);
        sigaction(SIGSEGV, &action, NULL);
        sigaction(SIGBUS, &action, NULL);
        fault_pool = pool;
        fault_stack = stack;
        run_on(stack, overflow_by_recursion, NULL);
        _exit(0);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), FAULT_AS_PROMISED);
}

ASX_TEST(an_overflow_faults_in_the_guard_of_the_stack_that_overflowed)
{
    const int kinds[] = { ASX__STACK_GUARD_INSTALL, ASX__STACK_GUARD_MPROTECT };
    for (int i = 0; i < 2; i++) {
        if (kinds[i] == ASX__STACK_GUARD_INSTALL && !kernel_has_guard_install())
            continue;
        asx__stack_pool pool = pool_make((asx__stack_config){ .guard = kinds[i] });
        asx__stack *stack = NULL;
        for (int k = 0; k < 10; k++)
            stack = asx__stack_acquire(&pool);
        overflow_in_child(&pool, stack);
        asx__stack_pool_deinit(&pool);
    }
}

ASX_TEST(a_write_below_a_canary_stack_is_found)
{
    static _Alignas(16) char memory[256 * 1024];
    const asx__stack_config configs[] = {
        { .guard = ASX__STACK_GUARD_CANARY },
        { .memory = memory, .memory_size = sizeof memory },
    };
    for (int i = 0; i < 2; i++) {
        asx__stack_pool pool = pool_make(configs[i]);
        asx__stack *victim = asx__stack_acquire(&pool);
        asx__stack *other = asx__stack_acquire(&pool);
        CHECK_EQ(victim->guard, ASX__STACK_GUARD_CANARY);
        memset(victim->base, 0x77, victim->size);
        memset(other->base, 0x77, other->size);
        CHECK(asx__stack_check(victim));
        CHECK(asx__stack_check(other));
        other->base[-1] = 1;
        CHECK(asx__stack_check(victim));
        CHECK(!asx__stack_check(other));
        victim->base[-100] = 1;
        CHECK(!asx__stack_check(victim));
        asx__stack_pool_deinit(&pool);
    }
}

ASX_TEST(guards_fall_back_from_install_to_mprotect_to_canary)
{
    struct fake_os fake = { .refuse_guards = true };
    asx__stack_pool pool = pool_make((asx__stack_config){ .os = fake_table(&fake) });
    asx__stack *stack = asx__stack_acquire(&pool);
    CHECK_EQ(stack->guard, ASX__STACK_GUARD_MPROTECT);
    CHECK(!is_accessible(stack->base - 1));
    fake.refuse_protect = true; /* from here on the map count is used up */
    int canaries = 0;
    for (int i = 0; i < 200; i++) {
        stack = asx__stack_acquire(&pool);
        CHECK(stack != NULL);
        CHECK_EQ(is_accessible(stack->base - 1), stack->guard == ASX__STACK_GUARD_CANARY);
        canaries += stack->guard == ASX__STACK_GUARD_CANARY;
    }
    CHECK_GE(canaries, 200 - 64);
    asx__stack_pool_deinit(&pool);
    CHECK_EQ(fake.mapped, 0);
}

ASX_TEST(a_guard_that_was_promised_and_does_not_hold_is_noticed)
{
    if (RUNNING_ON_VALGRIND)
        return; /* there the guard cannot be tried */
    struct fake_os fake = { .ignore_guards = true };
    asx__stack_pool pool = pool_make((asx__stack_config){ .os = fake_table(&fake) });
    asx__stack *stack = asx__stack_acquire(&pool);
    CHECK_EQ(stack->guard, ASX__STACK_GUARD_MPROTECT);
    CHECK(!is_accessible(stack->base - 1));
    asx__stack_pool_deinit(&pool);
    CHECK_EQ(fake.mapped, 0);
}

ASX_TEST(mprotect_guards_leave_mappings_to_the_rest_of_the_process)
{
    struct fake_os fake = { .refuse_guards = true, .pretend = true };
    asx__stack_pool pool = pool_make((asx__stack_config){ .stack_size = 8192,
                                                          .os = fake_table(&fake) });
    for (int i = 0; i < 40000; i++)
        CHECK(asx__stack_acquire(&pool) != NULL);
    CHECK_LE(fake.guards, 32000);
    CHECK_GE(fake.guards, 20000);
    asx__stack_pool_deinit(&pool);
}

ASX_TEST(a_pool_asked_for_one_kind_of_guard_takes_no_weaker_one)
{
    struct fake_os fake = { .refuse_guards = true };
    asx__stack_pool pool = pool_make((asx__stack_config){ .guard = ASX__STACK_GUARD_INSTALL,
                                                          .os = fake_table(&fake) });
    CHECK(asx__stack_acquire(&pool) == NULL);
    CHECK(asx__stack_acquire(&pool) == NULL);
    CHECK_EQ(pool.os_error, EINVAL);
    CHECK_EQ(fake.maps, 1);
    asx__stack_pool_deinit(&pool);
    CHECK_EQ(fake.mapped, 0);
}

ASX_TEST(guards_are_complete_when_the_batched_call_is_partial_or_missing)
{
    if (!kernel_has_guard_install())
        return; /* then there is no batched call */
    enum { COUNT = 128 };
    for (int variant = 0; variant < 2; variant++) {
        struct fake_os fake = { .many_at_most = 10, .refuse_many = variant == 1 };
        asx__stack_pool pool = pool_make((asx__stack_config){ .os = fake_table(&fake) });
        asx__stack *stacks[COUNT];
        for (int i = 0; i < COUNT; i++) {
            stacks[i] = asx__stack_acquire(&pool);
            CHECK_EQ(stacks[i]->guard, ASX__STACK_GUARD_INSTALL);
        }
        CHECK_EQ(fake.guards, COUNT);
        check_guards(&pool, stacks, COUNT);
        asx__stack_pool_deinit(&pool);
    }
}

ASX_TEST(guards_are_placed_as_far_ahead_as_there_are_stacks)
{
    if (!kernel_has_guard_install())
        return; /* then they are placed in another way, as far ahead */
    struct fake_os fake = { 0 };
    asx__stack_pool pool = pool_make((asx__stack_config){ .os = fake_table(&fake) });
    for (long used = 1; used <= 1000; used++) {
        CHECK(asx__stack_acquire(&pool) != NULL);
        CHECK_GE(fake.guards, used);
        CHECK_GE(used < 8 ? 8 : 2 * used, fake.guards);
        CHECK_GE(used + 63, fake.guards);
    }
    CHECK_GE(1000 / 64 + 40, fake.calls); /* most of them in one call for 64 */
    asx__stack_pool_deinit(&pool);
}

/* ---- owns ---------------------------------------------------------------------------------- */

static void check_owns(const asx__stack_pool *pool, const void *addr, const asx__stack *stack,
                       bool guard)
{
    asx__stack *found = NULL;
    bool in_guard = !guard;
    CHECK(asx__stack_pool_owns(pool, addr, &found, &in_guard));
    CHECK_PTR_EQ(found, stack);
    CHECK_EQ(in_guard, guard);
}

ASX_TEST(owns_names_the_stack_and_tells_guard_from_stack)
{
    enum { COUNT = 500 };
    static _Alignas(16) char memory[64 * 1024];
    const asx__stack_config configs[] = {
        { 0 },
        { .stack_size = 12 * 1024 },
        { .stack_size = 8 * 1024, .memory = memory, .memory_size = sizeof memory },
    };
    for (int c = 0; c < 3; c++) {
        asx__stack_pool pool = pool_make(configs[c]);
        asx__stack *found = NULL;
        bool in_guard = false;
        CHECK(!asx__stack_pool_owns(&pool, memory, &found, &in_guard));
        CHECK(!asx__stack_pool_owns(&pool, NULL, &found, &in_guard));
        asx__stack *stack = NULL;
        for (int i = 0; i < (c == 2 ? 5 : COUNT); i++) {
            stack = asx__stack_acquire(&pool);
            check_owns(&pool, stack->base - pool.guard_size, stack, true);
            check_owns(&pool, stack->base - 1, stack, true);
            check_owns(&pool, stack->base, stack, false);
            check_owns(&pool, (char *)stack - 1, stack, false);
            check_owns(&pool, stack, stack, false);
        }
        const char *end = stack->base - pool.guard_size + pool.slot_size;
        check_owns(&pool, end - 1, stack, false);
        CHECK(!asx__stack_pool_owns(&pool, end, &found, &in_guard));
        CHECK(!asx__stack_pool_owns(&pool, &pool, &found, &in_guard));
        CHECK(!asx__stack_pool_owns(&pool, NULL, &found, &in_guard));
        asx__stack_pool_deinit(&pool);
        CHECK(!asx__stack_pool_owns(&pool, end - 1, &found, &in_guard));
    }
}

/* ---- memory -------------------------------------------------------------------------------- */

static void park(void *arg, int value)
{
    struct visit *visit = arg;
    (void)value;
    void *parked_sp;
    asx__fiber_switch(&parked_sp, visit->host_sp, 0);
}

ASX_TEST_TIMEOUT(a_parked_fiber_with_a_guard_costs_one_page, 60)
{
    if (instrumented())
        return; /* shadow memory is counted too */
    int count = 100000 / (int)asx_test_scale();
    asx__stack_pool pool = pool_make((asx__stack_config){ 0 });
    /* Warm up what is not the fibers': code pages, the first arena. */
    struct visit visit = { 0 };
    asx__stack *stack = asx__stack_acquire(&pool);
    asx__fiber_switch(&visit.host_sp, asx__fiber_make(asx__stack_top(stack), park, &visit), 0);

    size_t before = resident_bytes();
    int guarded = 0;
    for (int i = 0; i < count; i++) {
        stack = asx__stack_acquire(&pool);
        CHECK(stack != NULL);
        guarded += stack->guard != ASX__STACK_GUARD_CANARY;
        void *sp = asx__fiber_make(asx__stack_top(stack), park, &visit);
        asx__fiber_switch(&visit.host_sp, sp, 0);
    }
    size_t each = (resident_bytes() - before) / (size_t)count;
    CHECK_GE(each, page_size() - 100);
    /* An emulator keeps books of its own per page; a second page would still show. */
    CHECK_LE(each, page_size() + (asx_test_scale() == 1 ? 104 : 1024));
    if (kernel_has_guard_install())
        CHECK_EQ(guarded, count);
    asx__stack_pool_deinit(&pool);
}

ASX_TEST(a_pool_on_a_callers_block_makes_no_system_call)
{
    static char memory[100 * 1024 + 7];
    struct fake_os fake = { 0 };
    /* A crooked address and size, as a caller may have them. */
    asx__stack_pool pool = pool_make((asx__stack_config){ .stack_size = 10 * 1024 + 3,
                                                          .memory = memory + 3,
                                                          .memory_size = sizeof memory - 3,
                                                          .os = fake_table(&fake) });
    asx__stack *stacks[16];
    int count = 0;
    while ((stacks[count] = asx__stack_acquire(&pool)) != NULL) {
        CHECK(stacks[count]->base >= memory + 3);
        CHECK((char *)(stacks[count] + 1) <= memory + sizeof memory);
        CHECK_EQ((uintptr_t)stacks[count] % 16, 0);
        size_t depth = 3000;
        run_on(stacks[count], use_bytes, &depth);
        CHECK(asx__stack_check(stacks[count]));
        CHECK_LE(++count, 10);
    }
    CHECK_GE(count, 9);
    CHECK(asx__stack_acquire(&pool) == NULL);
    for (int i = 0; i < count; i++)
        asx__stack_release(&pool, stacks[i]);
    asx__stack_pool_trim(&pool, 0);
    for (int i = 0; i < count; i++)
        CHECK(asx__stack_acquire(&pool) != NULL);
    asx__stack_pool_deinit(&pool);
    CHECK_EQ(fake.calls, 0);
}

ASX_TEST(high_water_is_how_deep_the_stack_was_ever_used)
{
    static _Alignas(16) char memory[256 * 1024];
    const asx__stack_config configs[] = {
        { 0 },
        { .memory = memory, .memory_size = sizeof memory },
        { .guard = ASX__STACK_GUARD_CANARY },
    };
    memset(memory, 0x11, sizeof memory);
    for (int i = 0; i < 3; i++) {
        asx__stack_pool pool = pool_make(configs[i]);
        asx__stack *stack = asx__stack_acquire(&pool);
        CHECK_EQ(asx__stack_high_water(stack), 0);
        const size_t depths[] = { 200, 9000, 30000, 1000 };
        size_t deepest = 0;
        for (int k = 0; k < 4; k++) {
            size_t depth = depths[k];
            run_on(stack, use_bytes, &depth);
            deepest = depth > deepest ? depth : deepest;
            CHECK_GE(asx__stack_high_water(stack), deepest);
            /* Instrumented frames and ucontext are larger than ours, yet bounded. */
            CHECK_LE(asx__stack_high_water(stack), deepest + 6000);
        }
        memset(stack->base, 0x77, 8);
        CHECK_EQ(asx__stack_high_water(stack), stack->size);
        asx__stack_pool_deinit(&pool);
    }
}

static void touch_deep(asx__stack *stack)
{
    size_t size = stack->size < 20000 ? stack->size : 20000;
    memset((char *)stack - size, 0x77, size);
}

static int compare_pointers(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (asx__stack *const *)a;
    uintptr_t y = (uintptr_t) * (asx__stack *const *)b;
    return x < y ? -1 : x > y;
}

enum { TRIMMED = 2000, TRIM_KEEP = 10 };

/* Acquires all, uses them deeply, releases them in order of acquisition. */
static void use_and_release_all(asx__stack_pool *pool, asx__stack **stacks)
{
    for (int i = 0; i < TRIMMED; i++) {
        stacks[i] = asx__stack_acquire(pool);
        CHECK(stacks[i] != NULL);
        touch_deep(stacks[i]);
    }
    for (int i = 0; i < TRIMMED; i++)
        asx__stack_release(pool, stacks[i]);
}

ASX_TEST(trim_gives_memory_back_and_keeps_hot_stacks_addresses_and_guards)
{
    static asx__stack *before[TRIMMED];
    static asx__stack *after[TRIMMED];
    struct fake_os fake = { 0 };
    asx__stack_pool pool = pool_make((asx__stack_config){ .os = fake_table(&fake) });
    for (int round = 0; round < 3; round++) {
        use_and_release_all(&pool, before);
        size_t used = resident_bytes();
        asx__stack_pool_trim(&pool, TRIM_KEEP);
        asx__stack_pool_trim(&pool, TRIM_KEEP); /* again: nothing left to do */
        if (!instrumented()) {
            CHECK_GE(used, resident_bytes());
            CHECK_GE(used - resident_bytes(), (size_t)(TRIMMED - TRIM_KEEP - 10) * 20000);
        }
        CHECK(asx__stack_pool_is_valid(&pool));
        long maps = fake.maps;
        for (int i = 0; i < TRIMMED; i++) {
            after[i] = asx__stack_acquire(&pool);
            CHECK(after[i] != NULL);
            if (i < TRIM_KEEP) /* the hot ones, untouched */
                CHECK_PTR_EQ(after[i], before[TRIMMED - 1 - i]);
            else
                CHECK_EQ(asx__stack_high_water(after[i]), 0);
            CHECK_EQ(after[i]->size, (uintptr_t)after[i] - (uintptr_t)after[i]->base);
        }
        CHECK_EQ(fake.maps, maps);
        CHECK_EQ(pool.stacks_carved, TRIMMED);
        check_guards(&pool, after, TRIMMED);
        qsort(before, TRIMMED, sizeof before[0], compare_pointers);
        qsort(after, TRIMMED, sizeof after[0], compare_pointers);
        CHECK_MEM_EQ(before, after, sizeof before);
        for (int i = 0; i < TRIMMED; i++)
            asx__stack_release(&pool, after[i]);
    }
    asx__stack_pool_deinit(&pool);
    CHECK_EQ(fake.mapped, 0);
}

ASX_TEST(a_cut_sets_aside_what_was_not_needed_since_the_last_and_chill_gives_it_back)
{
    static asx__stack *stacks[TRIMMED], *again[TRIMMED];
    asx__stack_pool pool = pool_make((asx__stack_config){ .stacks_max = TRIMMED });
    use_and_release_all(&pool, stacks);
    CHECK(asx__stack_pool_cut(&pool, 10, 20)); /* marks */
    use_and_release_all(&pool, stacks);        /* all of them were needed */
    CHECK(asx__stack_pool_cut(&pool, 10, 20));
    CHECK(pool.spare == NULL);
    for (int i = 0; i < 5; i++)
        again[i] = asx__stack_acquire(&pool);
    for (int i = 0; i < 5; i++)
        asx__stack_release(&pool, again[i]);
    CHECK(asx__stack_pool_cut(&pool, 10, 20)); /* now they were not */
    CHECK(pool.spare != NULL);
    CHECK_EQ(asx__stack_pool_in_use(&pool), 0);
    CHECK(asx__stack_pool_is_valid(&pool));
    CHECK(asx__stack_pool_chill(&pool, 500));
    CHECK_EQ(pool.cold_count, 500);
    CHECK_EQ(asx__stack_pool_in_use(&pool), 0);
    size_t used = resident_bytes();
    while (asx__stack_pool_chill(&pool, 100))
        continue;
    if (!instrumented())
        CHECK_GE(used - resident_bytes(), (size_t)1400 * 20000);
    CHECK_GE(pool.cold_count, TRIMMED - 11);
    CHECK_EQ(asx__stack_pool_in_use(&pool), 0);
    for (int i = 0; i < TRIMMED; i++) { /* everyone is still there, once */
        again[i] = asx__stack_acquire(&pool);
        CHECK(again[i] != NULL);
        touch_deep(again[i]);
    }
    CHECK(asx__stack_acquire(&pool) == NULL);
    check_guards(&pool, again, TRIMMED);
    qsort(stacks, TRIMMED, sizeof stacks[0], compare_pointers);
    qsort(again, TRIMMED, sizeof again[0], compare_pointers);
    CHECK_MEM_EQ(stacks, again, sizeof stacks);
    asx__stack_pool_deinit(&pool);
}

ASX_TEST(trim_in_two_goes_loses_no_stack)
{
    static asx__stack *stacks[TRIMMED];
    /* The smallest stacks there are: no room for anything beside the guard and one page. */
    asx__stack_pool pool = pool_make((asx__stack_config){ .stack_size = 2 * page_size(),
                                                          .stacks_max = TRIMMED });
    use_and_release_all(&pool, stacks);
    asx__stack_pool_trim(&pool, 1500);
    for (int i = 0; i < 700; i++) /* from the free list only */
        CHECK(asx__stack_acquire(&pool) != NULL);
    asx__stack_pool_trim(&pool, 0);
    for (int i = 0; i < TRIMMED - 700; i++)
        CHECK(asx__stack_acquire(&pool) != NULL);
    CHECK(asx__stack_acquire(&pool) == NULL);
    asx__stack_pool_deinit(&pool);
}

ASX_TEST(trim_loses_no_stack_whose_memory_the_system_does_not_take)
{
    static asx__stack *stacks[TRIMMED];
    struct fake_os fake = { .refuse_dontneed = true };
    asx__stack_pool pool = pool_make((asx__stack_config){ .stacks_max = TRIMMED,
                                                          .os = fake_table(&fake) });
    use_and_release_all(&pool, stacks);
    asx__stack_pool_trim(&pool, 0);
    CHECK(asx__stack_pool_is_valid(&pool));
    for (int i = 0; i < TRIMMED; i++) {
        asx__stack *stack = asx__stack_acquire(&pool);
        CHECK(stack != NULL);
        CHECK_EQ(stack->size, (uintptr_t)stack - (uintptr_t)stack->base);
        size_t depth = 100;
        run_on(stack, use_bytes, &depth);
    }
    CHECK(asx__stack_acquire(&pool) == NULL);
    asx__stack_pool_deinit(&pool);
}

/* ---- ahead of use --------------------------------------------------------------------------- */

/* Builds one batch and takes its stacks out again; returns how many there were. */
static uint32_t ahead(asx__stack_pool *pool, asx__stack **stacks)
{
    asx__stack_batch batch;
    if (!asx__stack_reserve(pool, &batch))
        return 0;
    uint32_t in_use = asx__stack_pool_in_use(pool);
    asx__stack_build(pool, &batch);
    CHECK_EQ(asx__stack_pool_in_use(pool), in_use);
    asx__stack_put(pool, &batch);
    CHECK_EQ(asx__stack_pool_in_use(pool), in_use);
    CHECK(asx__stack_pool_is_valid(pool));
    for (uint32_t i = 0; i < batch.count; i++) {
        CHECK(pool->free != NULL);
        stacks[i] = asx__stack_acquire(pool);
        touch_deep(stacks[i]);
    }
    CHECK(pool->free == NULL);
    return batch.count;
}

ASX_TEST(stacks_made_ahead_are_as_many_as_an_eighth_and_as_good_as_others)
{
    static asx__stack *stacks[TRIMMED];
    asx__stack_pool pool = pool_make((asx__stack_config){ 0 });
    uint32_t count = 0;
    for (; count < 7; count++)
        stacks[count] = asx__stack_acquire(&pool);
    CHECK_EQ(ahead(&pool, stacks), 0); /* of a few there is no eighth */
    while (count < 1000) {
        stacks[count++] = asx__stack_acquire(&pool);
        uint32_t most = count / 8 < 32 ? count / 8 : 32, left = pool.fresh_count;
        CHECK_EQ(ahead(&pool, stacks + count), most < left ? most : left);
        count += most < left ? most : left;
    }
    CHECK_EQ(pool.stacks_carved, count);
    CHECK_EQ(asx__stack_pool_in_use(&pool), count);
    check_guards(&pool, stacks, (int)count);
    qsort(stacks, count, sizeof stacks[0], compare_pointers);
    for (uint32_t i = 1; i < count; i++)
        CHECK(stacks[i] != stacks[i - 1]);
    asx__stack_pool_deinit(&pool);
}

ASX_TEST(cold_stacks_come_back_ahead_of_use_each_once)
{
    static asx__stack *stacks[TRIMMED + 32], *again[TRIMMED + 32];
    asx__stack_pool pool = pool_make((asx__stack_config){ 0 });
    use_and_release_all(&pool, stacks);
    asx__stack_pool_trim(&pool, 0);
    CHECK_EQ(pool.cold_count, TRIMMED);
    uint32_t count = 0;
    while (pool.cold_count != 0) {
        if (count % 3 == 0) /* so that some words are not full */
            again[count++] = asx__stack_acquire(&pool);
        if (pool.cold_count != 0)
            count += ahead(&pool, again + count);
    }
    CHECK_EQ(count, TRIMMED);
    CHECK_EQ(pool.stacks_carved, TRIMMED);
    check_guards(&pool, again, TRIMMED);
    qsort(stacks, TRIMMED, sizeof stacks[0], compare_pointers);
    qsort(again, TRIMMED, sizeof again[0], compare_pointers);
    CHECK_MEM_EQ(stacks, again, TRIMMED * sizeof stacks[0]);
    asx__stack_pool_deinit(&pool);
}

ASX_TEST(where_stacks_are_counted_none_is_made_ahead)
{
    asx__stack *none[32];
    asx__stack_pool pool = pool_make((asx__stack_config){ .stacks_max = 1000 });
    for (int i = 0; i < 100; i++)
        CHECK(asx__stack_acquire(&pool) != NULL);
    CHECK_EQ(ahead(&pool, none), 0); /* whoever is entitled to the last one would not get it */
    CHECK_EQ(pool.stacks_carved, 100);
    asx__stack_pool_deinit(&pool);
}

/* ---- faults -------------------------------------------------------------------------------- */

/* Returns how many stacks it got; each one it got must work. */
static int life_of_a_pool(struct fake_os *fake, int guard)
{
    enum { COUNT = 300 };
    static asx__stack *stacks[COUNT];
    asx__stack_pool pool = pool_make((asx__stack_config){ .guard = guard,
                                                          .os = fake_table(fake) });
    int got = 0;
    for (int i = 0; i < COUNT; i++) {
        stacks[got] = asx__stack_acquire(&pool);
        got += stacks[got] != NULL;
    }
    for (int i = 0; i < got; i++) {
        size_t depth = 500;
        run_on(stacks[i], use_bytes, &depth);
        CHECK(asx__stack_check(stacks[i]));
    }
    for (int i = 0; i < got; i++)
        asx__stack_release(&pool, stacks[i]);
    asx__stack_pool_trim(&pool, 20);
    for (int i = 0; i < got; i++)
        CHECK(asx__stack_acquire(&pool) != NULL);
    CHECK(asx__stack_pool_is_valid(&pool));
    asx__stack_pool_deinit(&pool);
    CHECK_EQ(fake->maps, fake->unmaps);
    CHECK_EQ(fake->mapped, 0);
    return got;
}

static void fail_each_call(struct fake_os system, int guard)
{
    /* A sample of the calls where each costs ten times as much: qemu, valgrind. */
    long k = 1, stride = asx_test_scale() < 10 ? 1 : 17;
    for (;; k += stride) {
        struct fake_os fake = system;
        fake.fail_at = k;
        int got = life_of_a_pool(&fake, guard);
        CHECK_GE(got, 299); /* one failure costs at most the one acquire that met it */
        if (fake.calls < k)
            break;
        CHECK_LE(k, 5000);
    }
    CHECK_GE(k, 5); /* there was something to fail */
}

ASX_TEST_TIMEOUT(any_one_failed_system_call_leaks_and_breaks_nothing, 60)
{
    fail_each_call((struct fake_os){ 0 }, ASX__STACK_GUARD_AUTO);
    fail_each_call((struct fake_os){ .refuse_many = true }, ASX__STACK_GUARD_AUTO);
    fail_each_call((struct fake_os){ .refuse_guards = true }, ASX__STACK_GUARD_AUTO);
    fail_each_call((struct fake_os){ 0 }, ASX__STACK_GUARD_MPROTECT);
}

static void *refuse_map(void *ctx, size_t size)
{
    struct fake_os *fake = ctx;
    size_t limit = fake->fail_at > 0 ? (size_t)fake->fail_at : 0;
    return size <= limit ? fake_map(ctx, size) : NULL;
}

ASX_TEST(growth_settles_for_less_and_then_says_no)
{
    /* No mapping above 300,000 bytes: four stacks each. */
    struct fake_os fake = { .fail_at = 300000 };
    asx__stack_os os = fake_table(&fake);
    os.map = refuse_map;
    asx__stack_pool pool = pool_make((asx__stack_config){ .os = os });
    for (int i = 0; i < 40; i++)
        CHECK(asx__stack_acquire(&pool) != NULL);
    CHECK_EQ(fake.maps, 10);
    fake.fail_at = 0;
    CHECK(asx__stack_acquire(&pool) == NULL);
    CHECK_EQ(pool.os_error, ENOMEM);
    fake.fail_at = 300000;
    CHECK(asx__stack_acquire(&pool) != NULL);
    asx__stack_pool_deinit(&pool);
    CHECK_EQ(fake.mapped, 0);
}
