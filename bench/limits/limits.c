/* The machine's own limits: what the steps under a runtime cost when nothing is built on
 * them. A figure of ours is read against one of these (see the table in ../run).
 *
 *     limits              lists them: name, unit, CPUs needed, what it is (tab-separated)
 *     limits <name>       prints: RESULT <value>
 *
 * Exit status 3 means that this machine cannot measure it: another processor family, one
 * CPU where two are needed, or a system call that is refused.
 *
 * Every loop is kept honest by an empty asm that the compiler must assume to read or change
 * memory; without it, it would fold the loop. The program links nothing of asx and takes
 * <stdatomic.h> as it is: it measures the processor, not our wrapping of it.
 *
 * Two contexts switch in switch_ret and switch_jmp. Both save the six registers that a
 * callee must keep; the first resumes the other side by `ret`, which the processor's return
 * predictor gets wrong because the call was made elsewhere, the second by an indirect jump.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>
#include <linux/io_uring.h>

#define LINE_BYTES 128 /* two cache lines: the prefetcher fetches them in pairs */
#define PAGE_BYTES 4096u

static void require(bool held, const char *what)
{
    if (!held) {
        fprintf(stderr, "limits: %s\n", what);
        exit(1);
    }
}

static _Noreturn void cannot_measure(const char *why)
{
    fprintf(stderr, "limits: %s\n", why);
    exit(3);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void compiler_barrier(void)
{
    __asm__ volatile("" ::: "memory");
}

static inline void spin_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Pins the caller to the index-th of the CPUs that the process was given. */
static cpu_set_t cpus_given;

static void pin_to(int index)
{
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &cpus_given) && index-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
    }
    cannot_measure("needs two CPUs");
}

static void *map_pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(p != MAP_FAILED, "no memory");
    return p;
}

/* --- resuming a task ----------------------------------------------------------------------- */

#if defined(__x86_64__)
#define SWITCH_BEGIN(name)                                                                         \
    ".text\n"                                                                                      \
    ".p2align 4\n"                                                                                 \
    ".type " name ", @function\n" name ":\n"
#define SWITCH_END(name) ".size " name ", . - " name "\n"
#define SAVE_SIX                                                                                   \
    "push %rbp\n"                                                                                  \
    "push %rbx\n"                                                                                  \
    "push %r12\n"                                                                                  \
    "push %r13\n"                                                                                  \
    "push %r14\n"                                                                                  \
    "push %r15\n"
#define LOAD_SIX                                                                                   \
    "pop %r15\n"                                                                                   \
    "pop %r14\n"                                                                                   \
    "pop %r13\n"                                                                                   \
    "pop %r12\n"                                                                                   \
    "pop %rbx\n"                                                                                   \
    "pop %rbp\n"
#define EXCHANGE_STACKS                                                                            \
    "mov %rsp, (%rdi)\n"                                                                           \
    "mov %rsi, %rsp\n"

#define SWITCH_BY_RET(name)                                                                        \
    SWITCH_BEGIN(name) SAVE_SIX EXCHANGE_STACKS LOAD_SIX "ret\n" SWITCH_END(name)
#define SWITCH_BY_JMP(name)                                                                        \
    SWITCH_BEGIN(name)                                                                             \
    "pop %rdx\n" SAVE_SIX "push %rdx\n" EXCHANGE_STACKS "pop %rdx\n" LOAD_SIX                      \
    "jmp *%rdx\n" SWITCH_END(name)

/* There and back are two copies: with one, whether the processor tells the two targets of its
 * jump apart depends on where the linker put the callers, and the figure was 2.5 or 7 ns. */
void limit_ret_there(void **save_sp, void *load_sp);
void limit_ret_back(void **save_sp, void *load_sp);
void limit_jmp_there(void **save_sp, void *load_sp);
void limit_jmp_back(void **save_sp, void *load_sp);
__asm__(SWITCH_BY_RET("limit_ret_there") SWITCH_BY_RET("limit_ret_back"));
__asm__(SWITCH_BY_JMP("limit_jmp_there") SWITCH_BY_JMP("limit_jmp_back"));

static void *main_sp;
static void *other_sp;

static void other_by_ret(void)
{
    for (;;)
        limit_ret_back(&other_sp, main_sp);
}

static void other_by_jmp(void)
{
    for (;;)
        limit_jmp_back(&other_sp, main_sp);
}

enum { SWITCH_STACK_BYTES = 64 * 1024, SWITCHES = 50000000 };

/* An empty stack as a function expects it at entry: 8 below a multiple of 16. */
static void **switch_stack_top(void)
{
    char *stack = map_pages(SWITCH_STACK_BYTES);
    return (void **)(void *)(stack + SWITCH_STACK_BYTES) - 1;
}

static double switch_ret(void)
{
    void **sp = switch_stack_top();
    *--sp = (void *)other_by_ret;
    other_sp = sp - 6;
    double start = now_ns();
    for (int i = 0; i < SWITCHES; i += 2)
        limit_ret_there(&main_sp, other_sp);
    return (now_ns() - start) / SWITCHES;
}

static double switch_jmp(void)
{
    void **sp = switch_stack_top() - 7;
    *sp = (void *)other_by_jmp;
    other_sp = sp;
    double start = now_ns();
    for (int i = 0; i < SWITCHES; i += 2)
        limit_jmp_there(&main_sp, other_sp);
    return (now_ns() - start) / SWITCHES;
}
#else
static double switch_ret(void)
{
    cannot_measure("the switch is written for x86-64 only");
}

static double switch_jmp(void)
{
    cannot_measure("the switch is written for x86-64 only");
}
#endif

static __attribute__((noinline)) void count_up(uint64_t *state)
{
    *state += 1;
    compiler_barrier();
}

static double poll_call(void)
{
    enum { CALLS = 200000000 };
    void (*volatile poll)(uint64_t *) = count_up;
    uint64_t states[2] = { 0, 0 };
    double start = now_ns();
    for (int i = 0; i < CALLS; i++)
        poll(&states[i & 1]);
    return (now_ns() - start) / CALLS;
}

/* --- atomics and the cache line between two cores ------------------------------------------ */

static struct {
    _Alignas(LINE_BYTES) _Atomic uint64_t value;
} shared_line;

enum { ATOMIC_OPS = 50000000 };

static double xchg(void)
{
    double start = now_ns();
    for (uint64_t i = 0; i < ATOMIC_OPS; i++)
        atomic_exchange_explicit(&shared_line.value, i, memory_order_acq_rel);
    return (now_ns() - start) / ATOMIC_OPS;
}

static double cas(void)
{
    double start = now_ns();
    for (uint64_t i = 0; i < ATOMIC_OPS; i++) {
        uint64_t expected = i;
        atomic_compare_exchange_strong(&shared_line.value, &expected, i + 1);
    }
    double spent_ns = now_ns() - start;
    require(atomic_load(&shared_line.value) == ATOMIC_OPS, "lost an exchange");
    return spent_ns / ATOMIC_OPS;
}

static double store_fence(void)
{
    double start = now_ns();
    for (uint64_t i = 0; i < ATOMIC_OPS; i++) {
        atomic_store_explicit(&shared_line.value, i, memory_order_relaxed);
        atomic_thread_fence(memory_order_seq_cst);
    }
    return (now_ns() - start) / ATOMIC_OPS;
}

/* Runs body on the given CPU index, main on the first; start gives it time to get there. */
struct helper {
    pthread_t thread;
    int cpu_index;
    void (*body)(void);
};

static void *helper_main(void *arg)
{
    struct helper *h = arg;
    pin_to(h->cpu_index);
    h->body();
    return NULL;
}

static void helper_start(struct helper *h, int cpu_index, void (*body)(void))
{
    h->cpu_index = cpu_index;
    h->body = body;
    require(pthread_create(&h->thread, NULL, helper_main, h) == 0, "no thread");
    pin_to(0);
    nanosleep(&(struct timespec){ .tv_nsec = 20 * 1000 * 1000 }, NULL);
}

static void helper_join(struct helper *h)
{
    require(pthread_join(h->thread, NULL) == 0, "no join");
}

static atomic_bool contender_stop;

static void contender(void)
{
    while (!atomic_load_explicit(&contender_stop, memory_order_relaxed))
        for (uint64_t i = 0; i < 64; i++)
            atomic_exchange(&shared_line.value, i);
}

static double xchg_contended(void)
{
    enum { OPS = 5000000 };
    struct helper h;
    helper_start(&h, 1, contender);
    double start = now_ns();
    for (uint64_t i = 0; i < OPS; i++)
        atomic_exchange(&shared_line.value, i);
    double spent_ns = now_ns() - start;
    atomic_store(&contender_stop, true);
    helper_join(&h);
    return spent_ns / OPS;
}

/* The line's value is odd when the helper is to answer and even when main is. */
enum { HANDOVERS = 4000000 };

static void line_answer(void)
{
    for (uint64_t i = 1; i < HANDOVERS; i += 2) {
        while (atomic_load_explicit(&shared_line.value, memory_order_acquire) != i) {
        }
        atomic_store_explicit(&shared_line.value, i + 1, memory_order_release);
    }
}

static double line_handover(void)
{
    struct helper h;
    helper_start(&h, 1, line_answer);
    double start = now_ns();
    for (uint64_t i = 0; i < HANDOVERS; i += 2) {
        atomic_store_explicit(&shared_line.value, i + 1, memory_order_release);
        while (atomic_load_explicit(&shared_line.value, memory_order_acquire) != i + 2) {
        }
    }
    double spent_ns = now_ns() - start;
    helper_join(&h);
    return spent_ns / HANDOVERS;
}

/* --- passing messages ---------------------------------------------------------------------- */

enum { RING_SLOTS = 1024 };

/* head and tail count messages received and sent; each side keeps its copy of the other. */
static struct {
    _Alignas(LINE_BYTES) _Atomic uint64_t tail;
    _Alignas(LINE_BYTES) _Atomic uint64_t head;
    _Alignas(LINE_BYTES) uint64_t slots[RING_SLOTS];
    uint64_t batch; /* messages between two stores to tail or head */
    uint64_t sum;
} ring;

#define RING_MESSAGES 30000000u
#define RING_SUM ((uint64_t)RING_MESSAGES * (RING_MESSAGES - 1) / 2)

static double ring_one_thread(void)
{
    uint64_t sum = 0;
    double start = now_ns();
    for (uint64_t sent = 0; sent < RING_MESSAGES;) {
        uint64_t first = sent;
        for (; sent < RING_MESSAGES && sent - first < RING_SLOTS; sent++) {
            ring.slots[sent % RING_SLOTS] = sent;
            compiler_barrier();
        }
        for (uint64_t received = first; received < sent; received++) {
            sum += ring.slots[received % RING_SLOTS];
            compiler_barrier();
        }
    }
    double spent_ns = now_ns() - start;
    require(sum == RING_SUM, "wrong sum");
    return RING_MESSAGES / spent_ns * 1e3;
}

static void ring_consume(void)
{
    uint64_t head = 0;
    uint64_t tail_seen = 0;
    uint64_t sum = 0;
    while (head < RING_MESSAGES) {
        if (head == tail_seen) {
            atomic_store_explicit(&ring.head, head, memory_order_release);
            tail_seen = atomic_load_explicit(&ring.tail, memory_order_acquire);
            spin_pause();
            continue;
        }
        sum += ring.slots[head++ % RING_SLOTS];
        if (head % ring.batch == 0)
            atomic_store_explicit(&ring.head, head, memory_order_release);
    }
    ring.sum = sum;
}

static double ring_two_cores(uint64_t batch)
{
    struct helper h;
    uint64_t tail = 0;
    uint64_t head_seen = 0;
    ring.batch = batch;
    helper_start(&h, 1, ring_consume);
    double start = now_ns();
    while (tail < RING_MESSAGES) {
        if (tail - head_seen == RING_SLOTS) {
            atomic_store_explicit(&ring.tail, tail, memory_order_release);
            head_seen = atomic_load_explicit(&ring.head, memory_order_acquire);
            spin_pause();
            continue;
        }
        ring.slots[tail % RING_SLOTS] = tail;
        tail++;
        if (tail % batch == 0)
            atomic_store_explicit(&ring.tail, tail, memory_order_release);
    }
    atomic_store_explicit(&ring.tail, tail, memory_order_release);
    helper_join(&h);
    double spent_ns = now_ns() - start;
    require(ring.sum == RING_SUM, "wrong sum");
    return RING_MESSAGES / spent_ns * 1e3;
}

static double ring_two_cores_1(void)
{
    return ring_two_cores(1);
}

static double ring_two_cores_64(void)
{
    return ring_two_cores(64);
}

/* --- the kernel ---------------------------------------------------------------------------- */

static double system_call(void)
{
    enum { CALLS = 5000000 };
    double start = now_ns();
    for (int i = 0; i < CALLS; i++)
        syscall(SYS_getppid);
    return (now_ns() - start) / CALLS;
}

static void futex_wake(atomic_int *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static double futex_wake_nobody(void)
{
    enum { CALLS = 5000000 };
    static atomic_int word;
    double start = now_ns();
    for (int i = 0; i < CALLS; i++)
        futex_wake(&word);
    return (now_ns() - start) / CALLS;
}

static struct {
    _Alignas(LINE_BYTES) atomic_int word;
} baton[2];

enum { BATONS = 100000 };

static void baton_pass(int k)
{
    atomic_store(&baton[k].word, 1);
    futex_wake(&baton[k].word);
}

static void baton_take(int k)
{
    while (atomic_exchange(&baton[k].word, 0) == 0)
        syscall(SYS_futex, &baton[k].word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void baton_answer(void)
{
    for (int i = 0; i < BATONS; i += 2) {
        baton_take(0);
        baton_pass(1);
    }
}

static double futex_wake_to_run(int cpu_index)
{
    struct helper h;
    helper_start(&h, cpu_index, baton_answer);
    double start = now_ns();
    for (int i = 0; i < BATONS; i += 2) {
        baton_pass(0);
        baton_take(1);
    }
    double spent_ns = now_ns() - start;
    helper_join(&h);
    return spent_ns / BATONS;
}

static double futex_same_core(void)
{
    return futex_wake_to_run(0);
}

static double futex_other_core(void)
{
    return futex_wake_to_run(1);
}

/* A thread that has slept for a while: from the wake-up until it runs. */
enum { SLEEPS = 500 };
static _Atomic double woke_ns;

static void sleeper(void)
{
    for (int i = 0; i < SLEEPS; i++) {
        baton_take(0);
        atomic_store(&woke_ns, now_ns());
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double futex_sleeper(int percent)
{
    static double samples[SLEEPS];
    struct helper h;
    helper_start(&h, 1, sleeper);
    for (int i = 0; i < SLEEPS; i++) {
        double woke, start = now_ns();
        while (now_ns() - start < 2e6)
            spin_pause();
        atomic_store(&woke_ns, 0);
        start = now_ns();
        baton_pass(0);
        while ((woke = atomic_load(&woke_ns)) == 0)
            spin_pause();
        samples[i] = woke - start;
    }
    helper_join(&h);
    qsort(samples, SLEEPS, sizeof samples[0], by_size);
    return samples[SLEEPS * percent / 100];
}

static double futex_sleeper_p50(void)
{
    return futex_sleeper(50);
}

static double futex_sleeper_p99(void)
{
    return futex_sleeper(99);
}

static double eventfd_epoll(void)
{
    enum { TURNS = 1000000 };
    struct epoll_event event = { .events = EPOLLIN };
    int efd = eventfd(0, EFD_NONBLOCK);
    int epfd = epoll_create1(0);
    require(efd >= 0 && epoll_ctl(epfd, EPOLL_CTL_ADD, efd, &event) == 0, "no epoll");
    double start = now_ns();
    for (int i = 0; i < TURNS; i++) {
        uint64_t count = 1;
        require(write(efd, &count, sizeof count) == sizeof count, "no write");
        require(epoll_wait(epfd, &event, 1, -1) == 1, "no event");
        require(read(efd, &count, sizeof count) == sizeof count, "no read");
    }
    return (now_ns() - start) / TURNS;
}

static void *map_uring(int fd, size_t bytes, off_t what)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
    require(p != MAP_FAILED, "no ring");
    return p;
}

static double uring_nops(unsigned batch)
{
    enum { NOPS = 2000000 };
    unsigned flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    struct io_uring_params params = { .flags = flags };
    int fd = (int)syscall(SYS_io_uring_setup, 256, &params);
    if (fd < 0)
        cannot_measure("no io_uring");
    size_t sq_bytes = params.sq_off.array + params.sq_entries * sizeof(unsigned);
    size_t cq_bytes = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
    size_t sqes_bytes = params.sq_entries * sizeof(struct io_uring_sqe);
    char *sq = map_uring(fd, sq_bytes, IORING_OFF_SQ_RING);
    char *cq = map_uring(fd, cq_bytes, IORING_OFF_CQ_RING);
    struct io_uring_sqe *sqes = map_uring(fd, sqes_bytes, IORING_OFF_SQES);
    _Atomic unsigned *sq_tail = (void *)(sq + params.sq_off.tail);
    _Atomic unsigned *cq_head = (void *)(cq + params.cq_off.head);
    _Atomic unsigned *cq_tail = (void *)(cq + params.cq_off.tail);
    unsigned *index_of = (void *)(sq + params.sq_off.array);
    unsigned tail = 0;
    double start = now_ns();
    for (unsigned done = 0; done < NOPS; done += batch) {
        for (unsigned k = 0; k < batch; k++, tail++) {
            unsigned slot = tail & (params.sq_entries - 1);
            sqes[slot] = (struct io_uring_sqe){ .opcode = IORING_OP_NOP };
            index_of[slot] = slot;
        }
        atomic_store_explicit(sq_tail, tail, memory_order_release);
        long taken = syscall(SYS_io_uring_enter, fd, batch, batch, IORING_ENTER_GETEVENTS, NULL, 0);
        require(taken == (long)batch, "not all submitted");
        unsigned seen = atomic_load_explicit(cq_tail, memory_order_acquire);
        require(seen == tail, "not all completed");
        atomic_store_explicit(cq_head, seen, memory_order_release);
    }
    return (now_ns() - start) / NOPS;
}

static double uring_nop_1(void)
{
    return uring_nops(1);
}

static double uring_nop_64(void)
{
    return uring_nops(64);
}

/* --- memory -------------------------------------------------------------------------------- */

static double page_first_touch(void)
{
    enum { PAGES = 50000 };
    char *pages = map_pages((size_t)PAGES * PAGE_BYTES);
    madvise(pages, (size_t)PAGES * PAGE_BYTES, MADV_NOHUGEPAGE);
    double start = now_ns();
    for (size_t i = 0; i < PAGES; i++)
        pages[i * PAGE_BYTES] = 1;
    double spent_ns = now_ns() - start;
    munmap(pages, (size_t)PAGES * PAGE_BYTES);
    return spent_ns / PAGES;
}

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

/* What a stack that is kept costs when it is made: its guard, in batches, and its first page. */
static double stack_first_touch(void)
{
    enum { STACKS = 20000, BATCH = 50, STACK_BYTES = 64 * 1024 };
    size_t bytes = (size_t)STACKS * STACK_BYTES;
    struct iovec guards[BATCH];
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    char *stacks = map_pages(bytes);
    madvise(stacks, bytes, MADV_NOHUGEPAGE);
    double start = now_ns();
    for (char *at = stacks; at < stacks + bytes; at += BATCH * STACK_BYTES) {
        for (size_t i = 0; i < BATCH; i++) {
            guards[i].iov_base = at + i * STACK_BYTES;
            guards[i].iov_len = PAGE_BYTES;
        }
        if (syscall(SYS_process_madvise, self, guards, BATCH, MADV_GUARD_INSTALL, 0) < 0)
            cannot_measure("no MADV_GUARD_INSTALL");
        for (size_t i = 1; i <= BATCH; i++)
            at[i * STACK_BYTES - 1] = 1;
    }
    double spent_ns = now_ns() - start;
    munmap(stacks, bytes);
    close(self);
    return spent_ns / STACKS;
}

/* The life of a stack for which nothing is kept: mapped, guarded, touched, unmapped. */
static double stack_life(void)
{
    enum { STACKS = 20000, STACK_BYTES = 64 * 1024 };
    double start = now_ns();
    for (int i = 0; i < STACKS; i++) {
        char *stack = map_pages(STACK_BYTES);
        mprotect(stack, PAGE_BYTES, PROT_NONE);
        stack[STACK_BYTES - 1] = 1;
        munmap(stack, STACK_BYTES);
    }
    return (now_ns() - start) / STACKS;
}

/* Coming back to one stack after the other, each of which was touched long ago: the page is
 * there, but neither its translation nor its lines are in any cache. Writes two lines, as the
 * least frame and the header do, and reads nothing, so that the processor may overlap as many
 * of them as it can. */
static double stack_cold(void)
{
    enum { STACKS = 100000, STACK_BYTES = 64 * 1024, ROUNDS = 5 };
    char *stacks = map_pages((size_t)STACKS * STACK_BYTES);
    madvise(stacks, (size_t)STACKS * STACK_BYTES, MADV_NOHUGEPAGE);
    double best_ns = 0;
    for (int round = 0; round <= ROUNDS; round++) { /* the first one makes the pages */
        double start = now_ns();
        for (size_t i = 0; i < STACKS; i++) {
            char *top = stacks + (i + 1) * STACK_BYTES - i % 16 * 64 - 64;
            *(volatile char *)top = 1;
            *(volatile char *)(top - 128) = 1;
        }
        double spent_ns = now_ns() - start;
        if (round == 1 || (round > 1 && spent_ns < best_ns))
            best_ns = spent_ns;
    }
    munmap(stacks, (size_t)STACKS * STACK_BYTES);
    return best_ns / STACKS;
}

static double malloc_128(void)
{
    enum { PAIRS = 20000000 };
    double start = now_ns();
    for (int i = 0; i < PAIRS; i++) {
        void *p = malloc(128);
        __asm__ volatile("" ::"r"(p) : "memory");
        free(p);
    }
    return (now_ns() - start) / PAIRS;
}

/* --- clocks and threads -------------------------------------------------------------------- */

static double clock_read(void)
{
    enum { READS = 10000000 };
    double start = now_ns();
    for (int i = 0; i < READS; i++) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        compiler_barrier();
    }
    return (now_ns() - start) / READS;
}

static double cycle_counter(void)
{
#if defined(__x86_64__)
    enum { READS = 20000000 };
    double start = now_ns();
    for (int i = 0; i < READS; i++) {
        uint64_t t = __builtin_ia32_rdtsc();
        __asm__ volatile("" ::"r"(t));
    }
    return (now_ns() - start) / READS;
#else
    cannot_measure("rdtsc is of x86-64");
#endif
}

static void *thread_empty(void *arg)
{
    return arg;
}

static double thread_life(void)
{
    enum { THREADS = 20000 };
    double start = now_ns();
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        require(pthread_create(&thread, NULL, thread_empty, NULL) == 0, "no thread");
        require(pthread_join(thread, NULL) == 0, "no join");
    }
    return (now_ns() - start) / THREADS;
}

static const struct limit {
    const char *name;
    const char *unit;
    int cpus;
    double (*measure)(void);
    const char *what;
} limits[] = {
    { "switch_ret", "ns", 1, switch_ret, "context switch, six registers, ending in ret" },
    { "switch_jmp", "ns", 1, switch_jmp, "context switch, ending in pop and jmp" },
    { "poll_call", "ns", 1, poll_call, "indirect call of a poll function" },
    { "xchg", "ns", 1, xchg, "atomic exchange, alone" },
    { "cas", "ns", 1, cas, "compare and exchange, alone" },
    { "store_fence", "ns", 1, store_fence, "store and full fence" },
    { "xchg_contended", "ns", 2, xchg_contended, "atomic exchange against another core" },
    { "line_handover", "ns", 2, line_handover, "cache line handed to the other core" },
    { "ring_one_thread", "Mmsg/s", 1, ring_one_thread, "ring of 1024 filled and emptied" },
    { "ring_two_cores_1", "Mmsg/s", 2, ring_two_cores_1, "ring between cores, told each time" },
    { "ring_two_cores_64", "Mmsg/s", 2, ring_two_cores_64, "ring between cores, told every 64" },
    { "system_call", "ns", 1, system_call, "system call that does nothing" },
    { "futex_wake_nobody", "ns", 1, futex_wake_nobody, "futex wake, no waiter" },
    { "futex_same_core", "ns", 1, futex_same_core, "futex wake until it runs, same core" },
    { "futex_other_core", "ns", 2, futex_other_core, "futex wake until it runs, other core" },
    { "futex_sleeper_p50", "ns", 2, futex_sleeper_p50, "a core that slept 2 ms runs, median" },
    { "futex_sleeper_p99", "ns", 2, futex_sleeper_p99, "the same, 99 of 100" },
    { "eventfd_epoll", "ns", 1, eventfd_epoll, "eventfd write, epoll_wait, read" },
    { "uring_nop_1", "ns", 1, uring_nop_1, "io_uring no-op, alone" },
    { "uring_nop_64", "ns", 1, uring_nop_64, "io_uring no-op, in a batch of 64" },
    { "page_first_touch", "ns", 1, page_first_touch, "first touch of a page" },
    { "stack_first_touch", "ns", 1, stack_first_touch, "guard and first touch of a stack" },
    { "stack_life", "ns", 1, stack_life, "mmap, guard, touch, munmap of a stack" },
    { "stack_cold", "ns", 1, stack_cold, "return to a stack that was left long ago" },
    { "malloc_128", "ns", 1, malloc_128, "malloc and free of 128 bytes" },
    { "clock_read", "ns", 1, clock_read, "clock_gettime" },
    { "cycle_counter", "ns", 1, cycle_counter, "rdtsc" },
    { "thread_life", "ns", 1, thread_life, "thread created and joined" },
};

int main(int argc, char **argv)
{
    require(sched_getaffinity(0, sizeof cpus_given, &cpus_given) == 0, "no affinity");
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const struct limit *l = &limits[i];
        if (argc == 1)
            printf("%s\t%s\t%d\t%s\n", l->name, l->unit, l->cpus, l->what);
        else if (strcmp(l->name, argv[1]) == 0) {
            printf("RESULT %.3f\n", l->measure());
            return 0;
        }
    }
    require(argc == 1, "no such limit");
    return 0;
}
