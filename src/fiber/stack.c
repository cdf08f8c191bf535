/* stack.c - where the stacks of fibers come from.
 *
 * Memory is mapped in arenas that double up to ARENA_MAX and stay until deinit:
 *     [ pages: struct asx__stack_arena | slot 0 | slot 1 | ... ]
 *     slot: [ guard page | usable ... | asx__stack | colour ]
 * Slots are carved upwards. Guards are placed ahead of use, as many as there are stacks already but
 * at least GUARD_BATCH_MIN and at most GUARD_BATCH; more than a few in one system call where the
 * kernel has it. Nothing else of a slot is touched before it is handed out.
 *
 * A stack is in exactly one of these places:
 *     fresh --acquire--> in use --release--> free --cut--> spare --chill--> cold
 *                            ^----------------------acquire--'------'---------'
 * acquire looks at free, spare, cold, fresh, in this order: the hot ones first, never grow without
 * need. Cut and chill are trim in small pieces: the first takes all but the hottest off the free
 * list in one go, the second gives the memory of a few back.
 *
 * Fresh and cold ones may also be taken out in a batch (reserve), built while another thread uses
 * the pool, and put on the free list. A batch is 32 slots at most, two bits each like cold ones.
 *
 * Cold stacks have no page left that could hold a list link: two bits of each slot in the head of
 * its arena say that it is cold, and which kind of guard it has. So an idle stack costs nothing,
 * trim allocates nothing, and neighbours go back to the system in one call.
 *
 * Untouched words of a stack read as one value: 0 in mapped memory, PATTERN in a caller's block.
 * Both the high-water mark and the canary rest on it. The canary of a mapped stack is therefore
 * all zeros: writing a pattern there would make a second page resident, which is what a stack
 * without a guard page can least afford. The price is that an overflow which only writes zeros
 * is not seen.
 *
 * The colour: with slots of 64 KiB the tops of all stacks share their low 16 address bits and
 * so a few cache sets. COLOURS different offsets of one line each spread them.
 *
 * Rejected: mprotect alone, because each guard splits a mapping and the default map count ends
 * it at 32,750 stacks (and the rest of the process then gets no mapping either, hence
 * MPROTECT_GUARDS_MAX). A pidfd kept open for process_madvise, because after fork it would name
 * the parent's memory. MAP_GROWSDOWN, because its gap moves. Unmapping on trim, because holes
 * cost mappings and handles to stacks would dangle.
 */
#include "fiber/fiber.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"

#if defined(ASX_HAVE_VALGRIND)
#include <valgrind/memcheck.h>
#include <valgrind/valgrind.h>
#endif

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef PIDFD_SELF_THREAD /* Linux 6.14: stands for a descriptor of the caller */
#define PIDFD_SELF_THREAD (-10000)
#endif
#ifndef MAP_STACK
#define MAP_STACK 0
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

#if defined(__clang__) || defined(__GNUC__)
#define NO_ASAN __attribute__((no_sanitize_address))
#endif

enum {
    ARENA_SLOTS_MIN = 64,
    GUARD_BATCH = 64,
    GUARD_BATCH_MIN = 8,
    ADVISED_ONE_BY_ONE = 8, /* so many calls cost less than a pidfd */
    COLOURS = 16,
    COLOUR_SIZE = 64,
    COLD_BITS = 2,
    COLD_PER_WORD = 64 / COLD_BITS,
    AHEAD_PART = 8, /* a batch is no more than this part of all stacks */
    CANARY_SIZE = 128, /* checked below base; the whole guard of a stack in a block */
    /* Two mappings each; leaves some 9,000 of the default 65,530 to the process. */
    MPROTECT_GUARDS_MAX = 28000,
};
static const size_t ARENA_MAX = (size_t)1 << 30;
static const uint64_t PATTERN = UINT64_C(0x5afec0de5afec0de);

struct asx__stack_arena {
    struct asx__stack_arena *next;
    char *slots;
    size_t map_size;
    uint32_t slot_count;
    uint32_t guarded;   /* slots [0, guarded) have their guards */
    uint32_t cold;      /* so many are */
    uint32_t cold_from; /* in no word of kinds before this */
    uint32_t trim_from, trim_to; /* slots that the trim under way has made cold; from >= to: none */
    uint64_t kinds[];   /* COLD_BITS for each slot: the guard of a cold one; 0: it is not cold */
};

/* ---- system calls -------------------------------------------------------------------------- */

static void *os_map(void *ctx, size_t size)
{
    (void)ctx;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    return addr == MAP_FAILED ? NULL : addr;
}

static int os_unmap(void *ctx, void *addr, size_t size)
{
    (void)ctx;
    return munmap(addr, size) == 0 ? 0 : -errno;
}

static int os_protect(void *ctx, void *addr, size_t size)
{
    (void)ctx;
    return mprotect(addr, size, PROT_NONE) == 0 ? 0 : -errno;
}

static int os_advise(void *ctx, void *addr, size_t size, int advice)
{
    (void)ctx;
    return madvise(addr, size, advice) == 0 ? 0 : -errno;
}

static int os_advise_many(void *ctx, const struct iovec *ranges, unsigned count, int advice)
{
    (void)ctx;
#if defined(SYS_process_madvise) && defined(SYS_pidfd_open)
    long bytes = syscall(SYS_process_madvise, PIDFD_SELF_THREAD, ranges, (unsigned long)count,
                         advice, 0u);
    int error = errno;
    if (bytes < 0 && error == EBADF) {
        int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
        if (fd < 0)
            return -errno;
        bytes = syscall(SYS_process_madvise, fd, ranges, (unsigned long)count, advice, 0u);
        error = errno;
        close(fd);
    }
    if (bytes < 0)
        return -error;
    int done = 0;
    while ((unsigned)done < count && (size_t)bytes >= ranges[done].iov_len) {
        bytes -= (long)ranges[done].iov_len;
        done++;
    }
    return done;
#else
    (void)ranges;
    (void)count;
    (void)advice;
    return -ENOSYS;
#endif
}

/* Returns how many leading ranges were advised. */
static uint32_t advise_ranges(asx__stack_pool *pool, const struct iovec *ranges, uint32_t count,
                              int advice)
{
    uint32_t done = 0;
    if (pool->advise_many_works && count > ADVISED_ONE_BY_ONE) {
        int got = pool->os.advise_many(pool->os.ctx, ranges, count, advice);
        if (got < 0)
            pool->advise_many_works = false;
        else
            done = (uint32_t)got;
    }
    for (; done < count; done++) {
        int error = pool->os.advise(pool->os.ctx, ranges[done].iov_base, ranges[done].iov_len,
                                    advice);
        if (error < 0) {
            pool->os_error = -error;
            break;
        }
    }
    return done;
}

/* ---- tools --------------------------------------------------------------------------------- */

static bool tools_on_valgrind(void)
{
#if defined(ASX_HAVE_VALGRIND)
    return RUNNING_ON_VALGRIND != 0;
#else
    return false;
#endif
}

static void tools_register(asx__stack *stack)
{
#if defined(ASX_HAVE_VALGRIND)
    stack->valgrind_id = VALGRIND_STACK_REGISTER(stack->base, (char *)stack - 1);
#else
    (void)stack;
#endif
}

static void tools_deregister(asx__stack *stack)
{
#if defined(ASX_HAVE_VALGRIND)
    VALGRIND_STACK_DEREGISTER(stack->valgrind_id);
#else
    (void)stack;
#endif
}

/* Before the pages of an idle stack go back: what is read there afterwards is zeros. */
static void tools_zeroed(asx__stack *stack)
{
#if ASX__FIBER_ASAN
    __asan_unpoison_memory_region(stack->base, stack->size);
#endif
#if defined(ASX_HAVE_VALGRIND)
    VALGRIND_MAKE_MEM_DEFINED(stack->base, stack->size);
#endif
    (void)stack;
}

void asx__stack_renew(asx__stack *stack)
{
#if ASX__FIBER_ASAN
    __asan_unpoison_memory_region(stack->base, stack->size);
#endif
#if defined(ASX_HAVE_VALGRIND)
    VALGRIND_MAKE_MEM_UNDEFINED(stack->base, stack->size);
#endif
    (void)stack;
}

#if ASX__FIBER_ASAN
/* Only the current fake stack can be destroyed, so pretend to go there, die, and come back. */
NO_ASAN static void fake_stack_destroy(asx__stack *stack)
{
    void *mine;
    const void *bottom;
    size_t size;
    __sanitizer_start_switch_fiber(&mine, stack->base, stack->size);
    __sanitizer_finish_switch_fiber(stack->asan_fake_stack, &bottom, &size);
    __sanitizer_start_switch_fiber(NULL, bottom, size);
    __sanitizer_finish_switch_fiber(mine, NULL, NULL);
    stack->asan_fake_stack = NULL;
}
#endif

void asx__stack_discard(asx__stack *stack)
{
#if ASX__FIBER_ASAN
    if (stack->asan_fake_stack != NULL)
        fake_stack_destroy(stack);
#endif
#if ASX__FIBER_TSAN
    /* A fiber that releases the stack it runs on still needs it; its jump destroys it. */
    if (stack->tsan_fiber != NULL && stack->tsan_fiber != __tsan_get_current_fiber()) {
        __tsan_destroy_fiber(stack->tsan_fiber);
        stack->tsan_fiber = NULL;
    }
#endif
    (void)stack;
}

#if ASX__FIBER_ASAN
NO_ASAN
#endif
void asx__stack_host_again(asx__stack *host)
{
#if ASX__FIBER_ASAN
    __sanitizer_start_switch_fiber(NULL, host->base, host->size);
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
    __asan_unpoison_memory_region(host->base, host->size);
#endif
#if ASX__FIBER_TSAN
    if (host->tsan_fiber != __tsan_get_current_fiber())
        __tsan_switch_to_fiber(host->tsan_fiber, 0);
#endif
    (void)host;
}

void asx__stack_adopt_host(asx__stack *ret_host)
{
    *ret_host = (asx__stack){ .flags = ASX__STACK_HOST };
#if ASX__FIBER_ASAN
    pthread_attr_t attr;
    void *base;
    size_t size;
    int error = pthread_getattr_np(pthread_self(), &attr);
    ASX__ASSERT(error == 0);
    error = pthread_attr_getstack(&attr, &base, &size);
    ASX__ASSERT(error == 0);
    pthread_attr_destroy(&attr);
    ret_host->base = base;
    ret_host->size = size;
#endif
#if ASX__FIBER_TSAN
    ret_host->tsan_fiber = __tsan_get_current_fiber();
#endif
}

/* ---- slots --------------------------------------------------------------------------------- */

static asx__stack *slot_stack(const asx__stack_pool *pool, const char *slot)
{
    size_t colour = 0;
    if (pool->block == NULL)
        colour = ((uintptr_t)slot / pool->slot_size) % COLOURS * COLOUR_SIZE;
    return (asx__stack *)((uintptr_t)slot + pool->slot_size - colour - sizeof(asx__stack));
}

/* How many slots of the arena were ever handed out; in older arenas all were. */
static uint32_t arena_used(const asx__stack_pool *pool, const struct asx__stack_arena *arena)
{
    if (arena != pool->arenas)
        return arena->slot_count;
    return (uint32_t)((size_t)(pool->fresh - arena->slots) / pool->slot_size);
}

static asx__stack *slot_build(const asx__stack_pool *pool, char *slot, uint32_t guard)
{
    asx__stack *stack = slot_stack(pool, slot);
    char *base = slot + pool->guard_size;
    *stack = (asx__stack){
        .base = base,
        .size = (size_t)((char *)stack - base),
        .guard = (uint8_t)guard,
        .flags = pool->block != NULL ? ASX__STACK_FILLED : 0,
    };
    if (pool->block != NULL) {
        for (char *at = slot; at < (char *)stack; at += sizeof PATTERN)
            memcpy(at, &PATTERN, sizeof PATTERN);
    }
    tools_register(stack);
    return stack;
}

/* The guard of a cold slot; 0: it is not cold. */
static uint32_t cold_kind(const struct asx__stack_arena *arena, uint32_t slot)
{
    return (uint32_t)(arena->kinds[slot / COLD_PER_WORD] >> slot % COLD_PER_WORD * COLD_BITS) &
           ((1u << COLD_BITS) - 1u);
}

static void cold_set(struct asx__stack_arena *arena, uint32_t slot, uint32_t kind)
{
    unsigned shift = slot % COLD_PER_WORD * COLD_BITS;
    uint64_t *word = &arena->kinds[slot / COLD_PER_WORD];
    uint64_t mask = ((UINT64_C(1) << COLD_BITS) - 1u) << shift;
    *word = (*word & ~mask) | (uint64_t)kind << shift;
}

/* `arena` is NULL for the slots of a caller's block. */
static void slots_forget(asx__stack_pool *pool, const struct asx__stack_arena *arena, char *slots,
                         uint32_t count)
{
    if (!ASX__FIBER_ASAN && !ASX__FIBER_TSAN && !pool->on_valgrind)
        return;
    for (uint32_t i = 0; i < count; i++) {
        asx__stack *stack = slot_stack(pool, slots + i * pool->slot_size);
        if (arena != NULL && cold_kind(arena, i) != 0)
            continue;
        asx__stack_renew(stack);
        asx__stack_discard(stack);
        tools_deregister(stack);
    }
}

/* ---- guards -------------------------------------------------------------------------------- */

/* madvise is a hint by name, and some that stand in for the kernel (user-mode emulators) say yes
 * to advice they never heard of. So the first guard of a pool is tried: a system call that is
 * handed its address as a path says EFAULT if it holds and ENOENT, the path being empty, if not. */
static bool guard_holds(const asx__stack_pool *pool, const char *guard)
{
    if (pool->on_valgrind)
        return true; /* passes the advice on, and would itself read the path */
    return syscall(SYS_faccessat, AT_FDCWD, guard, F_OK) != 0 && errno == EFAULT;
}

static uint32_t guards_install(asx__stack_pool *pool, char *slot, uint32_t count)
{
    struct iovec ranges[GUARD_BATCH];
    for (uint32_t i = 0; i < count; i++) {
        ranges[i].iov_base = slot + i * pool->slot_size;
        ranges[i].iov_len = pool->guard_size;
    }
    count = advise_ranges(pool, ranges, count, MADV_GUARD_INSTALL);
    if (count > 0 && !pool->guards_proven) {
        pool->guards_proven = guard_holds(pool, slot);
        if (!pool->guards_proven) {
            pool->os_error = ENOTSUP;
            return 0;
        }
    }
    return count;
}

static uint32_t guards_protect(asx__stack_pool *pool, char *slot, uint32_t count)
{
    uint32_t done = 0;
    while (done < count && pool->guards_mprotect < MPROTECT_GUARDS_MAX) {
        int error = pool->os.protect(pool->os.ctx, slot + done * pool->slot_size,
                                     pool->guard_size);
        if (error < 0) {
            pool->os_error = -error;
            break;
        }
        pool->guards_mprotect++;
        done++;
    }
    return done;
}

/* Guards up to `count` slots, all in the same way. Returns how many; 0: none can be had. */
static uint32_t guards_place(asx__stack_pool *pool, char *slot, uint32_t count,
                             uint32_t *ret_guard)
{
    for (;;) {
        uint32_t done = count;
        if (pool->guard == ASX__STACK_GUARD_INSTALL)
            done = guards_install(pool, slot, count);
        else if (pool->guard == ASX__STACK_GUARD_MPROTECT)
            done = guards_protect(pool, slot, count);
        if (done > 0) {
            *ret_guard = pool->guard;
            return done;
        }
        if (pool->guard_strict)
            return 0;
        pool->guard++;
        ASX__ASSERT(pool->guard <= ASX__STACK_GUARD_CANARY);
    }
}

/* ---- growth -------------------------------------------------------------------------------- */

/* Pages before the first slot. */
static size_t arena_head(const asx__stack_pool *pool, size_t slots)
{
    size_t words = (slots + COLD_PER_WORD - 1) / COLD_PER_WORD;
    size_t bytes = sizeof(struct asx__stack_arena) + words * sizeof(uint64_t);
    return (bytes + pool->page_size - 1) & ~(pool->page_size - 1);
}

static bool arena_grow(asx__stack_pool *pool)
{
    size_t want = pool->arenas != NULL ? (size_t)pool->arenas->slot_count * 2 : ARENA_SLOTS_MIN;
    size_t most = ARENA_MAX / pool->slot_size;
    if (pool->stacks_max != 0 && most > pool->stacks_max - pool->stacks_carved)
        most = pool->stacks_max - pool->stacks_carved;
    if (want > most)
        want = most > 0 ? most : 1;

    void *addr = NULL;
    size_t size = 0, head = 0;
    for (; want > 0 && addr == NULL; want /= 2) {
        head = arena_head(pool, want);
        size = head + want * pool->slot_size;
        addr = pool->os.map(pool->os.ctx, size);
        if (addr != NULL)
            break;
        pool->os_error = ENOMEM;
    }
    if (addr == NULL)
        return false;
    /* A huge page would make the whole of 32 stacks resident. Where there are none, this fails
     * and nothing is lost. */
    (void)pool->os.advise(pool->os.ctx, addr, size, MADV_NOHUGEPAGE);

    struct asx__stack_arena *arena = addr; /* all zero */
    arena->next = pool->arenas;
    arena->slots = (char *)addr + head;
    arena->map_size = size;
    arena->slot_count = (uint32_t)want;
    pool->fresh = arena->slots;
    pool->fresh_count = 0;
    /* A fault handler on this thread walks the list: link only what is complete. */
    __asm__ volatile("" ::: "memory");
    pool->arenas = arena;
    return true;
}

static bool fresh_refill(asx__stack_pool *pool)
{
    if (pool->block != NULL)
        return false;
    if (pool->arenas == NULL || pool->arenas->guarded == pool->arenas->slot_count) {
        if (!arena_grow(pool))
            return false;
    }
    struct asx__stack_arena *arena = pool->arenas;
    uint32_t left = arena->slot_count - arena->guarded, count = pool->stacks_carved;
    if (count < GUARD_BATCH_MIN)
        count = GUARD_BATCH_MIN;
    if (count > GUARD_BATCH)
        count = GUARD_BATCH;
    if (count > left)
        count = left;
    ASX__DEBUG_ASSERT(pool->fresh == arena->slots + arena->guarded * pool->slot_size);
    count = guards_place(pool, pool->fresh, count, &pool->fresh_guard);
    arena->guarded += count;
    pool->fresh_count = count;
    return count > 0;
}

/* ---- cold stacks --------------------------------------------------------------------------- */

/* The first arena that has some; its first word with any is at cold_from. */
static struct asx__stack_arena *cold_arena(asx__stack_pool *pool)
{
    struct asx__stack_arena *arena = pool->arenas;
    while (arena->cold == 0)
        arena = arena->next;
    while (arena->kinds[arena->cold_from] == 0)
        arena->cold_from++;
    return arena;
}

static asx__stack *cold_take(asx__stack_pool *pool)
{
    struct asx__stack_arena *arena = cold_arena(pool);
    unsigned bit = (unsigned)__builtin_ctzll(arena->kinds[arena->cold_from]);
    uint32_t slot = arena->cold_from * COLD_PER_WORD + bit / COLD_BITS;
    uint32_t guard = cold_kind(arena, slot);
    cold_set(arena, slot, 0);
    arena->cold--;
    pool->cold_count--;
    return slot_build(pool, arena->slots + slot * pool->slot_size, guard);
}

static void cold_put(asx__stack_pool *pool, asx__stack *stack)
{
    struct asx__stack_arena *arena = pool->arenas;
    const char *at = (const char *)stack;
    while (at < arena->slots || at >= (const char *)arena + arena->map_size)
        arena = arena->next;
    uint32_t slot = (uint32_t)((size_t)(at - arena->slots) / pool->slot_size);
    tools_zeroed(stack);
    tools_deregister(stack);
    cold_set(arena, slot, stack->guard);
    if (slot / COLD_PER_WORD < arena->cold_from)
        arena->cold_from = slot / COLD_PER_WORD;
    if (arena->trim_from >= arena->trim_to) {
        arena->trim_from = slot;
        arena->trim_to = slot + 1;
    }
    if (slot < arena->trim_from)
        arena->trim_from = slot;
    if (slot >= arena->trim_to)
        arena->trim_to = slot + 1;
    arena->cold++;
    pool->cold_count++;
}

/* Gives the memory of cold slots back, neighbours in one call: guards in between stay what they
 * are. What the system does not take stays resident; the stack is as idle as the others. */
static void arena_give_back(asx__stack_pool *pool, struct asx__stack_arena *arena)
{
    struct iovec runs[GUARD_BATCH];
    uint32_t count = 0;
    for (uint32_t slot = arena->trim_from; slot < arena->trim_to; slot++) {
        if (cold_kind(arena, slot) == 0)
            continue;
        uint32_t first = slot;
        while (slot + 1 < arena->trim_to && cold_kind(arena, slot + 1) != 0)
            slot++;
        runs[count].iov_base = arena->slots + first * pool->slot_size + pool->guard_size;
        runs[count].iov_len = (slot - first + 1) * pool->slot_size - pool->guard_size;
        if (++count == GUARD_BATCH) {
            (void)advise_ranges(pool, runs, count, MADV_DONTNEED);
            count = 0;
        }
    }
    if (count > 0)
        (void)advise_ranges(pool, runs, count, MADV_DONTNEED);
    arena->trim_from = arena->trim_to = 0;
}

bool asx__stack_pool_chill(asx__stack_pool *pool, uint32_t count)
{
    for (; pool->spare != NULL && count > 0; count--) {
        asx__stack *stack = pool->spare;
        pool->spare = stack->next;
        cold_put(pool, stack);
    }
    for (struct asx__stack_arena *arena = pool->arenas; arena != NULL; arena = arena->next)
        if (arena->trim_from < arena->trim_to)
            arena_give_back(pool, arena);
    return pool->spare != NULL;
}

bool asx__stack_pool_cut(asx__stack_pool *pool, uint32_t keep, uint32_t slack)
{
    if (pool->block != NULL || pool->spare != NULL)
        return pool->spare != NULL;
    asx__stack **tail = &pool->free, **mark = NULL;
    for (uint32_t i = 0; *tail != NULL && i < keep + slack; i++) {
        if (i == keep)
            mark = tail;
        if (*tail == pool->mark) { /* a few that were needed go too: they cost little */
            asx__stack *last = mark != NULL ? *mark : *tail;
            pool->spare = last->next;
            last->next = NULL;
            pool->mark = NULL;
            return true;
        }
        tail = &(*tail)->next;
    }
    pool->mark = mark != NULL ? *mark : NULL;
    return mark != NULL && (*mark)->next != NULL;
}

void asx__stack_pool_trim(asx__stack_pool *pool, uint32_t keep)
{
    if (pool->block != NULL)
        return;
    while (asx__stack_pool_chill(pool, UINT32_MAX))
        continue;
    asx__stack **tail = &pool->free;
    for (; *tail != NULL && keep > 0; keep--)
        tail = &(*tail)->next;
    pool->spare = *tail;
    *tail = NULL;
    (void)asx__stack_pool_chill(pool, UINT32_MAX);
}

/* ---- pool ---------------------------------------------------------------------------------- */

bool asx__stack_pool_is_valid(const asx__stack_pool *pool)
{
    size_t idle = 0;
    const asx__stack *then = pool->spare;
    for (const asx__stack *stack = pool->free; stack != NULL || then != NULL;
         stack = stack->next) {
        if (stack == NULL) {
            stack = then;
            then = NULL;
        }
        asx__stack *found;
        bool in_guard;
        if (!asx__stack_pool_owns(pool, stack, &found, &in_guard) || found != stack || in_guard)
            return false;
        if (stack->size != (size_t)((const char *)stack - stack->base))
            return false;
        if (++idle > pool->stacks_carved)
            return false; /* more than there are: a stack was released twice */
    }
    return idle + pool->cold_count + pool->building <= pool->stacks_carved &&
           (pool->stacks_max == 0 || pool->stacks_carved <= pool->stacks_max);
}

uint32_t asx__stack_pool_in_use(const asx__stack_pool *pool)
{
    uint32_t in_use = pool->stacks_carved;
    for (const asx__stack *stack = pool->free; stack != NULL; stack = stack->next)
        in_use--;
    for (const asx__stack *stack = pool->spare; stack != NULL; stack = stack->next)
        in_use--;
    return in_use - pool->cold_count - pool->building;
}

static asx_status pool_init_block(asx__stack_pool *pool, const asx__stack_config *config)
{
    uintptr_t align = _Alignof(asx__stack);
    uintptr_t addr = ((uintptr_t)config->memory + align - 1) & ~(align - 1);
    size_t lost = (size_t)(addr - (uintptr_t)config->memory);
    pool->slot_size &= ~(size_t)(align - 1);
    if (pool->slot_size < ASX__STACK_BLOCK_SIZE_MIN || config->memory_size < lost)
        return ASX_E_INVALID_ARGUMENT;
    if (config->guard != ASX__STACK_GUARD_AUTO && config->guard != ASX__STACK_GUARD_CANARY)
        return ASX_E_INVALID_ARGUMENT;
    size_t slots = (config->memory_size - lost) / pool->slot_size;
    if (slots == 0)
        return ASX_E_INVALID_ARGUMENT;
    pool->guard = ASX__STACK_GUARD_CANARY;
    pool->guard_size = CANARY_SIZE;
    pool->block = (char *)addr;
    pool->fresh = pool->block;
    pool->fresh_count = slots < UINT32_MAX ? (uint32_t)slots : UINT32_MAX;
    pool->fresh_guard = ASX__STACK_GUARD_CANARY;
    return ASX_OK;
}

static asx_status pool_init_mapped(asx__stack_pool *pool, const asx__stack_config *config)
{
    long page = sysconf(_SC_PAGESIZE);
    if (page <= 0)
        return ASX_E_SYSTEM;
    pool->page_size = (size_t)page;
    pool->guard_size = pool->page_size;
    pool->slot_size = (pool->slot_size + pool->page_size - 1) & ~(pool->page_size - 1);
    if (pool->slot_size < 2 * pool->page_size)
        return ASX_E_INVALID_ARGUMENT;
    pool->guard = (uint32_t)config->guard;
    pool->guard_strict = config->guard != ASX__STACK_GUARD_AUTO;
    if (!pool->guard_strict)
        pool->guard = ASX__STACK_GUARD_INSTALL;
    return ASX_OK;
}

asx_status asx__stack_pool_init(asx__stack_pool *pool, const asx__stack_config *config)
{
    size_t stack_size = config->stack_size != 0 ? config->stack_size : ASX__STACK_SIZE_DEFAULT;
    if (stack_size > ASX__STACK_SIZE_MAX || config->guard < ASX__STACK_GUARD_AUTO ||
        config->guard > ASX__STACK_GUARD_CANARY)
        return ASX_E_INVALID_ARGUMENT;

    asx__stack_pool made = {
        .slot_size = stack_size,
        .stacks_max = config->stacks_max,
        .advise_many_works = true,
        .on_valgrind = tools_on_valgrind(),
        .os = config->os,
    };
    if (made.os.map == NULL)
        made.os.map = os_map;
    if (made.os.unmap == NULL)
        made.os.unmap = os_unmap;
    if (made.os.protect == NULL)
        made.os.protect = os_protect;
    if (made.os.advise == NULL)
        made.os.advise = os_advise;
    if (made.os.advise_many == NULL) {
        made.os.advise_many = os_advise_many;
        made.advise_many_works = !made.on_valgrind; /* which does not know the call */
    }
    asx_status st = config->memory != NULL ? pool_init_block(&made, config)
                                           : pool_init_mapped(&made, config);
    if (st < 0)
        return st;
    *pool = made;
    return ASX_OK;
}

void asx__stack_pool_deinit(asx__stack_pool *pool)
{
    ASX__AUDIT_ASSERT(asx__stack_pool_is_valid(pool));
    if (pool->block != NULL) {
        size_t used = (size_t)(pool->fresh - pool->block) / pool->slot_size;
        slots_forget(pool, NULL, pool->block, (uint32_t)used);
    }
    struct asx__stack_arena *arena = pool->arenas;
    while (arena != NULL) {
        struct asx__stack_arena *next = arena->next;
        slots_forget(pool, arena, arena->slots, arena_used(pool, arena));
        int error = pool->os.unmap(pool->os.ctx, arena, arena->map_size);
        if (error < 0)
            pool->os_error = -error;
        arena = next;
    }
    pool->arenas = NULL;
    pool->free = pool->spare = NULL;
    pool->mark = NULL;
    pool->cold_count = 0;
    pool->fresh = pool->block = NULL;
    pool->fresh_count = 0;
}

asx__stack *asx__stack_acquire_slow(asx__stack_pool *pool)
{
    ASX__AUDIT_ASSERT(asx__stack_pool_is_valid(pool));
    if (pool->spare != NULL) {
        asx__stack *stack = pool->spare;
        pool->spare = stack->next;
        asx__stack_renew(stack);
        return stack;
    }
    if (pool->cold_count != 0)
        return cold_take(pool);
    if (pool->stacks_max != 0 && pool->stacks_carved == pool->stacks_max)
        return NULL;
    if (pool->fresh_count == 0 && !fresh_refill(pool))
        return NULL;
    asx__stack *stack = slot_build(pool, pool->fresh, pool->fresh_guard);
    pool->fresh += pool->slot_size;
    pool->fresh_count--;
    pool->stacks_carved++;
    return stack;
}

bool asx__stack_reserve(asx__stack_pool *pool, asx__stack_batch *ret_batch)
{
    uint32_t most = pool->stacks_carved / AHEAD_PART;
    if (pool->block != NULL || pool->stacks_max != 0 || most == 0)
        return false;
    if (most > COLD_PER_WORD)
        most = COLD_PER_WORD;
    *ret_batch = (asx__stack_batch){ .slots = pool->fresh };
    if (pool->cold_count != 0) {
        struct asx__stack_arena *arena = cold_arena(pool);
        uint32_t first = arena->cold_from * COLD_PER_WORD;
        ret_batch->slots = arena->slots + first * pool->slot_size;
        for (uint32_t i = 0; i < COLD_PER_WORD && ret_batch->count < most; i++) {
            uint32_t guard = cold_kind(arena, first + i);
            if (guard == 0)
                continue;
            cold_set(arena, first + i, 0);
            ret_batch->guards |= (uint64_t)guard << i * COLD_BITS;
            ret_batch->count++;
        }
        arena->cold -= ret_batch->count;
        pool->cold_count -= ret_batch->count;
    } else {
        if (most > pool->fresh_count)
            most = pool->fresh_count;
        for (uint32_t i = 0; i < most; i++)
            ret_batch->guards |= (uint64_t)pool->fresh_guard << i * COLD_BITS;
        ret_batch->count = most;
        pool->fresh += most * pool->slot_size;
        pool->fresh_count -= most;
        pool->stacks_carved += most;
    }
    pool->building += ret_batch->count;
    return ret_batch->count != 0;
}

void asx__stack_build(const asx__stack_pool *pool, asx__stack_batch *batch)
{
    asx__stack **tail = &batch->first;
    for (uint32_t i = 0; i < COLD_PER_WORD; i++) {
        uint32_t guard = (uint32_t)(batch->guards >> i * COLD_BITS) & ((1u << COLD_BITS) - 1u);
        if (guard == 0)
            continue;
        asx__stack *stack = slot_build(pool, batch->slots + i * pool->slot_size, guard);
        *tail = batch->last = stack;
        tail = &stack->next;
    }
}

void asx__stack_put(asx__stack_pool *pool, const asx__stack_batch *batch)
{
    batch->last->next = pool->free;
    pool->free = batch->first;
    pool->building -= batch->count;
}

bool asx__stack_pool_owns(const asx__stack_pool *pool, const void *addr, asx__stack **ret_stack,
                          bool *ret_guard)
{
    uintptr_t at = (uintptr_t)addr;
    const struct asx__stack_arena *arena = pool->arenas;
    uintptr_t slots = (uintptr_t)pool->block;
    uintptr_t end = (uintptr_t)pool->fresh;
    for (;;) {
        if (arena != NULL) {
            slots = (uintptr_t)arena->slots;
            end = slots + arena_used(pool, arena) * pool->slot_size;
        }
        if (at >= slots && at < end)
            break;
        if (arena == NULL || arena->next == NULL)
            return false;
        arena = arena->next;
    }
    uintptr_t offset = (at - slots) % pool->slot_size;
    *ret_stack = slot_stack(pool, (const char *)(at - offset));
    *ret_guard = offset < pool->guard_size;
    return true;
}

/* ---- marks --------------------------------------------------------------------------------- */

static uint64_t untouched_word(const asx__stack *stack)
{
    return (stack->flags & ASX__STACK_FILLED) != 0 ? PATTERN : 0;
}

/* The first word in [from, to) that was written, or `to`. Reading where no frame is alive is what
 * the pool must do and what the tools complain of. */
NO_ASAN static const char *first_used(const asx__stack *stack, const char *from, const char *to)
{
    const uint64_t untouched = untouched_word(stack);
    const uint64_t *word = (const uint64_t *)(uintptr_t)from;
#if defined(ASX_HAVE_VALGRIND)
    VALGRIND_DISABLE_ERROR_REPORTING;
#endif
    while ((const char *)word < to && *word == untouched)
        word++;
#if defined(ASX_HAVE_VALGRIND)
    VALGRIND_MAKE_MEM_DEFINED(&word, sizeof word);
    VALGRIND_ENABLE_ERROR_REPORTING;
#endif
    return (const char *)word;
}

size_t asx__stack_high_water(const asx__stack *stack)
{
    enum { PAGES = 128 };
    const char *top = (const char *)stack;
    const char *at = stack->base;
    if ((stack->flags & ASX__STACK_FILLED) != 0)
        return (size_t)(top - first_used(stack, at, top));

    /* Reading an untouched page would not make it resident, but costs a fault each. A page that
     * was swapped out counts as untouched. */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char resident[PAGES];
    while (at < top) {
        size_t count = ((size_t)(top - at) + page - 1) / page;
        if (count > PAGES)
            count = PAGES;
        if (mincore((void *)(uintptr_t)at, count * page, resident) != 0)
            memset(resident, 1, sizeof resident);
        for (size_t i = 0; i < count; i++, at += page) {
            const char *end = (size_t)(top - at) < page ? top : at + page;
            const char *used = (resident[i] & 1) != 0 ? first_used(stack, at, end) : end;
            if (used != end)
                return (size_t)(top - used);
        }
    }
    return 0;
}

bool asx__stack_check(const asx__stack *stack)
{
    if (stack->guard != ASX__STACK_GUARD_CANARY)
        return true;
    return first_used(stack, stack->base - CANARY_SIZE, stack->base) == stack->base;
}
