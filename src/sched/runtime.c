/* runtime.c - making, running, asking and ending a runtime.
 *
 * With a static memory block the runtime's own record, its tables and its stacks are carved from
 * the block at creation; the stacks take what the contract says, or half of the block.
 */
#include "sched/blocking.h"
#include "sched/engine.h"
#include "sched/process.h"
#include "sched/reactor.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"

#define STATIC_ALIGN ((size_t)64)
/* log2 of the smallest stack: the dynamic linker alone needs some 3 KiB when it binds a symbol at
 * its first call. */
#define STACK_SHIFT_MIN 14u

static void *libc_alloc(void *ctx, size_t size)
{
    (void)ctx;
    return malloc(size);
}

static void libc_free(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    (void)size;
    free(memory);
}

/* ---- creation ------------------------------------------------------------------------------- */

/* As many as there are cores that this process may use. Never one alone: what other threads may do
 * with a runtime must not depend on the machine. */
static uint32_t workers_for_cores(void)
{
    cpu_set_t ours;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof ours, &ours) == 0)
        cores = CPU_COUNT(&ours);
    return cores > 2 ? (uint32_t)cores : 2;
}

static void apply_profile(asx_runtime_config *config)
{
    if (config->profile != ASX_PROFILE_SERVER) {
        asx_limits *l = &config->limits;
        if (l->tasks_max == 0)
            l->tasks_max = 256;
        if (l->regions_max == 0)
            l->regions_max = 64;
        if (l->timers_max == 0)
            l->timers_max = 256;
        if (l->obligations_max == 0)
            l->obligations_max = 256;
        if (l->channels_max == 0)
            l->channels_max = 64;
    }
    if (config->stack_size == 0)
        config->stack_size = config->profile == ASX_PROFILE_SERVER ? (size_t)64 * 1024
                                                                   : (size_t)16 * 1024;
    if (config->cancel_streak_max == 0)
        config->cancel_streak_max = 16;
    if (config->timed_streak_max == 0)
        config->timed_streak_max = 16;
    if (config->lab)
        config->clock = ASX_CLOCK_VIRTUAL;
    if (config->workers == ASX_WORKERS_ALL)
        config->workers = workers_for_cores();
    if (config->workers > ASX__WORKERS_MAX)
        config->workers = ASX__WORKERS_MAX;
    if (config->workers_max == 0)
        config->workers_max = 2 * config->workers;
    if (config->workers_max < config->workers || config->workers_fixed)
        config->workers_max = config->workers;
    if (config->workers_max > ASX__WORKERS_MAX)
        config->workers_max = ASX__WORKERS_MAX;
}

static bool config_ok(const asx_runtime_config *c)
{
    if ((unsigned)c->profile > ASX_PROFILE_FREESTANDING || (unsigned)c->clock > ASX_CLOCK_VIRTUAL ||
        (unsigned)c->trace_overflow > ASX_TRACE_OVERWRITE ||
        (unsigned)c->stack_overflow > ASX_OVERFLOW_FAULT)
        return false;
    if ((c->memory == NULL) != (c->memory_size == 0))
        return false;
    if (c->profile == ASX_PROFILE_FREESTANDING && c->memory == NULL)
        return false;
    if ((c->allocator.alloc == NULL) != (c->allocator.free == NULL))
        return false;
    if (c->stack_size != 0 && (c->stack_size < 4096 || c->stack_size > (size_t)1 << 30))
        return false;
    const asx_region_options *r = &c->root;
    return (unsigned)r->policy <= ASX_POLICY_COLLECT &&
           (unsigned)r->cleanup <= ASX_CLEANUP_PANIC && (unsigned)r->leak <= ASX_LEAK_PANIC &&
           (unsigned)r->admission <= ASX_ADMISSION_WAIT;
}

/* Time that stands still and static blocks are for one worker. */
static bool is_for_one(const asx_runtime_config *c)
{
    return c->lab || c->clock == ASX_CLOCK_VIRTUAL || c->memory != NULL;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    if (b == 0)
        return a;
    return a < b ? a : b;
}

static void *wheel_alloc(void *ctx, size_t size)
{
    return asx__mem_alloc_dense(ctx, size);
}

static void *trace_alloc(void *ctx, size_t size)
{
    return asx__mem_alloc(ctx, size);
}

static void memory_free(void *ctx, void *memory, size_t size)
{
    asx__mem_free(ctx, memory, size);
}

static void init_lanes(asx_runtime *rt)
{
    for (int i = 0; i < 256; i++) {
        asx__list_init(&rt->ready.queue[i]);
        asx__list_init(&rt->cancel.queue[i]);
    }
    rt->cancel_streak_max = rt->config.cancel_streak_max;
    rt->timed_streak_max = rt->config.timed_streak_max;
    rt->turn_left = ASX__TURN;
}

static asx_status init_time(asx_runtime *rt)
{
    if (rt->config.clock == ASX_CLOCK_VIRTUAL) {
        asx__virtual_clock_init(&rt->virtual_, rt->config.timers.start);
        rt->clock = asx__virtual_clock_interface(&rt->virtual_);
        rt->virtual_clock = true;
    } else {
        asx_status st = asx__monotonic_clock_init(&rt->real);
        if (st < 0)
            return st;
        rt->clock = asx__monotonic_clock_interface(&rt->real);
    }
    rt->now = asx__clock_now(&rt->clock);
    asx_timer_config timers = rt->config.timers;
    timers.start = rt->now;
    timers.max_timers = rt->config.limits.timers_max;
    asx__timer_memory memory = { wheel_alloc, memory_free, rt };
    return asx__timer_wheel_init(&rt->timers, &timers, &memory);
}

static asx_status init_trace(asx_runtime *rt)
{
    if (!rt->config.trace && !rt->config.lab)
        return ASX_OK;
    asx__trace_memory memory = { trace_alloc, memory_free, rt };
    asx_status st = asx__trace_init(&rt->trace, rt->config.trace_events_max,
                                    rt->config.trace_overflow == ASX_TRACE_REFUSE
                                        ? ASX__TRACE_REFUSE
                                        : ASX__TRACE_OVERWRITE,
                                    &memory);
    rt->tracing = st == ASX_OK;
    return st;
}

asx__stack_pool *asx__runtime_pool(asx_runtime *rt, size_t stack_size, uint32_t *ret_class)
{
    if (rt->block != NULL) { /* a static block has stacks of one size */
        *ret_class = 1;
        return stack_size <= rt->config.stack_size ? &rt->pools[0] : NULL;
    }
    size_t least_size = 2 * (size_t)sysconf(_SC_PAGESIZE); /* the guard takes a page */
    if (stack_size < least_size)
        stack_size = least_size;
    unsigned shift = STACK_SHIFT_MIN;
    while (((size_t)1 << shift) < stack_size && shift < STACK_SHIFT_MIN + ASX__STACK_CLASSES)
        shift++;
    unsigned class_ = shift - STACK_SHIFT_MIN;
    if (class_ >= ASX__STACK_CLASSES)
        return NULL;
    if (!rt->pool_ready[class_]) {
        asx__stack_config config = { .stack_size = (size_t)1 << shift,
                                     .stacks_max = rt->config.limits.stacks_max };
        if (asx__stack_pool_init(&rt->pools[class_], &config) < 0)
            return NULL;
        rt->pool_ready[class_] = true;
    }
    *ret_class = class_ + 1;
    return &rt->pools[class_];
}

static asx_status init_stacks(asx_runtime *rt)
{
    asx__stack_adopt_host(&rt->host_stack);
    rt->host = &rt->host_stack;
    rt->loop_again = &rt->loop_here;
    uint32_t stack_class;
    if (rt->block == NULL) {
        rt->pool = asx__runtime_pool(rt, rt->config.stack_size, &stack_class);
        return rt->pool != NULL ? ASX_OK : ASX_E_INVALID_ARGUMENT;
    }
    size_t room = (size_t)(rt->block_end - rt->block);
    size_t want = room / 2;
    if (rt->config.limits.stacks_max != 0 &&
        want / rt->config.stack_size > rt->config.limits.stacks_max)
        want = rt->config.limits.stacks_max * rt->config.stack_size;
    if (want < rt->config.stack_size)
        return ASX_E_RESOURCE_EXHAUSTED;
    rt->block_end -= want & ~(STATIC_ALIGN - 1);
    asx__stack_config config = { .stack_size = rt->config.stack_size,
                                 .stacks_max = rt->config.limits.stacks_max,
                                 .memory = rt->block_end,
                                 .memory_size = want & ~(STATIC_ALIGN - 1) };
    asx_status st = asx__stack_pool_init(&rt->pools[0], &config);
    rt->pool_ready[0] = st == ASX_OK;
    rt->pool = &rt->pools[0];
    if (st == ASX_OK)
        rt->fiber_ceiling = least(rt->fiber_ceiling, want / rt->config.stack_size);
    return st;
}

static void init_ceilings(asx_runtime *rt)
{
    const asx_limits *l = &rt->config.limits;
    rt->task_ceiling = least(least(least(UINT64_MAX, l->tasks_max), l->ready_max), l->cancel_max);
    rt->fiber_ceiling = least(UINT64_MAX, l->stacks_max);
    bool small = rt->block != NULL || rt->config.profile != ASX_PROFILE_SERVER ||
                 l->memory_max != 0 || !rt->own_allocator;
    unsigned many = rt->config.lab ? 8 : 14; /* so that a run that is one of many begins at once */
    asx__slab_init(&rt->tasks, sizeof(asx__task), small ? 4 : many);
    asx__slab_init(&rt->regions, sizeof(asx__region), small ? 2 : 5);
    asx__slab_init(&rt->extras, sizeof(asx__extra), small ? 3 : 7);
}

static uint16_t next_number(void)
{
    /* Tells runtimes of one process apart, nothing more. The counter is wider than the number: an
     * atomic of two bytes is a library call on some processors. */
    uint16_t number;
    do
        number = (uint16_t)(asx__fetch_add_relaxed(&asx__process.last_number, 1) + 1);
    while (number == 0);
    return number;
}

static asx_status init_runtime(asx_runtime *rt)
{
    rt->number = next_number();
    rt->task_generation = rt->region_generation = (uint64_t)rt->number << 48;
    rt->lab = rt->config.lab;
    asx__rng_seed(&rt->rng, rt->config.seed);
    init_lanes(rt);
    init_ceilings(rt);
    asx__task_waitables_init(rt);
    asx__cx_waitables_init(rt);
    asx_status st = init_stacks(rt);
    asx__registry_init(rt);
    if (st == ASX_OK)
        st = init_time(rt);
    if (st == ASX_OK)
        st = init_trace(rt);
    rt->hot_most = asx__hot_most(rt);
    rt->fast = !rt->tracing && rt->task_ceiling == UINT64_MAX && rt->fiber_ceiling == UINT64_MAX;
    if (st == ASX_OK)
        st = asx__fault_register(rt);
    if (st == ASX_OK) {
        asx_region_options root = rt->config.root;
        if (root.name == NULL)
            root.name = "root";
        st = asx__region_create(rt, NULL, NULL, &root, "-", false, &rt->root);
        rt->near_region = rt->root;
    }
    if (st == ASX_OK)
        asx__process_add(rt);
    return st;
}

static asx_status deinit_runtime(asx_runtime *rt)
{
    asx__process_remove(rt);
    asx_status st = asx__fault_unregister(rt);
    asx_close_report_deinit(&rt->deadlock);
    asx__trace_deinit(&rt->trace);
    asx__timer_wheel_deinit(&rt->timers);
    asx__tidy_deinit(rt);
    asx__registry_deinit(rt);
    asx__mem_free(rt, rt->timed, rt->timed_cap * sizeof *rt->timed);
    for (uint32_t i = 0; i < rt->regions.carved; i++) {
        asx__region *region = asx__slab_at(&rt->regions, i);
        if (region->generation != 0)
            asx__region_discard(rt, region);
    }
    asx__slab *slabs[] = { &rt->tasks, &rt->regions, &rt->extras, &rt->channels, &rt->senders,
                           &rt->syncs };
    for (size_t i = 0; i < sizeof slabs / sizeof *slabs; i++)
        asx__slab_deinit(rt, slabs[i]);
    for (int i = 0; i < ASX__STACK_CLASSES; i++)
        if (rt->pool_ready[i])
            asx__stack_pool_deinit(&rt->pools[i]);
    asx__engine_destroy(rt);
    return st;
}

static void free_runtime(asx_runtime *rt)
{
    asx_allocator allocator = rt->allocator;
    if (rt->block == NULL)
        allocator.free(allocator.ctx, rt, sizeof *rt);
}

/* The record itself: from the allocator, or the front of the static block. */
static asx_runtime *alloc_runtime(const asx_runtime_config *config)
{
    asx_allocator allocator = { libc_alloc, libc_free, NULL };
    bool own = config->allocator.alloc == NULL;
    if (!own)
        allocator = config->allocator;
    if (config->memory == NULL) {
        asx_runtime *rt = allocator.alloc(allocator.ctx, sizeof *rt);
        if (rt != NULL) {
            memset(rt, 0, sizeof *rt);
            rt->allocator = allocator;
            rt->own_allocator = own;
        }
        return rt;
    }
    uintptr_t start = ((uintptr_t)config->memory + STATIC_ALIGN - 1) & ~(STATIC_ALIGN - 1);
    uintptr_t end = (uintptr_t)config->memory + config->memory_size;
    if (end < start || end - start < sizeof(asx_runtime) + 4096)
        return NULL;
    asx_runtime *rt = (asx_runtime *)start;
    memset(rt, 0, sizeof *rt);
    start += (sizeof *rt + STATIC_ALIGN - 1) & ~(STATIC_ALIGN - 1);
    rt->block = (char *)start;
    rt->block_end = (char *)(end & ~(STATIC_ALIGN - 1));
    return rt;
}

asx_status asx_runtime_create(const asx_runtime_config *config, asx_runtime **ret_runtime)
{
    ASX__EMPTY(ret_runtime);
    static const asx_runtime_config none;
    config = config != NULL ? config : &none;
    if (ret_runtime == NULL || !config_ok(config))
        return ASX_E_INVALID_ARGUMENT;
    if (config->workers > 1 && is_for_one(config))
        return ASX_E_NOT_SUPPORTED;
    asx_runtime *rt = alloc_runtime(config);
    if (rt == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    rt->config = *config;
    apply_profile(&rt->config);
    asx_status st = init_runtime(rt);
    if (st == ASX_OK && rt->config.workers > 1)
        st = asx__engine_create(rt, rt->config.workers, rt->config.workers_max);
    if (st < 0) {
        (void)deinit_runtime(rt);
        free_runtime(rt);
        return st;
    }
    *ret_runtime = rt;
    return ASX_OK;
}

/* Somebody is in it, or drives it, or is about to. */
static bool is_in_use(const asx_runtime *rt)
{
    return rt->current != NULL || rt->driving || rt->in_run;
}

asx_status asx_runtime_destroy(asx_runtime *rt)
{
    if (rt == NULL)
        return ASX_OK;
    bool had_it = rt->gate == NULL || asx__engine_enter(rt);
    bool in_use = is_in_use(rt);
    bool at_rest = rt->finished || rt->shut_down;
    if (!had_it)
        asx__engine_leave(rt, false);
    if (in_use)
        return ASX_E_WRONG_CONTEXT;
    if (!at_rest)
        (void)asx_runtime_shutdown(rt, 0, NULL);
    if (rt->watch != NULL)
        rt->watch->gone(rt->watch);
    asx__blocking_stop(rt); /* before its work is freed, and while its threads can still enter */
    if (rt->gate != NULL)
        (void)asx__engine_enter(rt); /* nobody else may be there any more */
    if (rt->reactor != NULL)
        rt->reactor->ops->destroy(rt->reactor);
    asx_status st = deinit_runtime(rt);
    free_runtime(rt);
    return st;
}

/* ---- running -------------------------------------------------------------------------------- */

/* `runs`: the caller drives it to its end; from here on it is in use. */
static asx_status start(asx_runtime *rt, asx_task_fn fn, void *arg, bool runs)
{
    if (rt == NULL || fn == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_RUNTIME(rt, start(rt, fn, arg, runs));
    if (rt->current != NULL || rt->driving)
        return ASX_E_WRONG_CONTEXT;
    if (rt->started || rt->finished)
        return ASX_E_INVALID_TRANSITION;
    asx_region root = asx__region_name(rt->root);
    root.rt_ = rt; /* we are inside */
    asx_task main_task;
    asx_spawn_options options = { .name = "main" };
    asx_status st = asx__slab_reserve(rt, &rt->extras, 1); /* for the extra part below */
    if (st < 0)
        return st;
    st = asx_spawn_task_at(&root, fn, arg, &options, &main_task, "-");
    if (st < 0)
        return st;
    st = asx__task_resolve(&main_task, &rt->main_task);
    ASX__ASSERT(st == ASX_OK);
    rt->main_task->flags &= ~(uint32_t)ASX__T_HANDLE;
    rt->started = true;
    (void)asx__task_extra(rt, rt->main_task); /* its end is never a plain one */
    rt->in_run = runs;
    return ASX_OK;
}

asx_status asx_runtime_start(asx_runtime *rt, asx_task_fn fn, void *arg)
{
    return start(rt, fn, arg, false);
}

/* Who drives: dumps want to know, and the sanitizers know one stack of a thread from another's.
 * Asks the system only when it is another one than before. */
static void note_driver(asx_runtime *rt)
{
    pthread_t self = pthread_self();
    if (rt->driver_known && pthread_equal(rt->driver, self))
        return;
    rt->driver_known = true;
    rt->driver = self;
    asx__stack_adopt_host(&rt->host_stack);
    if (rt->config.profile != ASX_PROFILE_FREESTANDING)
        rt->driver_tid = (int32_t)syscall(SYS_gettid);
}

/* A task has ended the thread: the loop begins anew. */
static void go_on(asx__driving *driving)
{
    asx_runtime *rt = driving->rt;
    asx__stack_host_again(&rt->host_stack);
    asx__task_thread_ended(rt);
    (void)asx__drive(rt, driving->until);
    rt->driving = rt->in_run = false; /* nobody will return from there */
}

/* Drives with the loop's stack being this one. */
static asx_status drive_here(asx_runtime *rt, asx_time until)
{
    if (rt->gate != NULL)
        return asx__drive_shared(rt, until);
    rt->driving = true;
    rt->drives = (asx__driving){ .rt = rt, .until = until, .go_on = go_on };
    asx__driving_begin(&rt->drives);
    asx_status st = asx__drive(rt, until);
    asx__driving_end(&rt->drives);
    rt->driving = false;
    return st;
}

/* What a thread needs to run tasks. */
typedef struct seat {
    void *fault_stack;
    asx_runtime *around; /* a task of which drives this runtime ... */
    asx__task *stands;   /* ... that one */
} seat;

/* While the runtime is driven inside a task of another, none of the other's runs: a wait there, or
 * a close, would leave the stack of this one. */
static seat sit_down(asx_runtime *rt)
{
    note_driver(rt);
    seat s = { .fault_stack = asx__fault_enter_thread(rt), .around = asx__driving_around() };
    if (s.around != NULL) {
        s.stands = s.around->current;
        s.around->current = NULL;
    }
    return s;
}

static void stand_up(seat s)
{
    if (s.around != NULL)
        s.around->current = s.stands;
    asx__fault_leave_thread(s.fault_stack);
}

static asx_status drive(asx_runtime *rt, asx_time until)
{
    seat s = sit_down(rt);
    asx_status st = drive_here(rt, until);
    stand_up(s);
    return st;
}

static asx_status end_of_run(asx_runtime *rt, asx_status driven)
{
    ASX__GATE_RUNTIME(rt, end_of_run(rt, driven));
    rt->in_run = false;
    asx_status st = driven == ASX_OK ? rt->result : driven;
    if (rt->lab && st == ASX_OK && rt->leaks_refused != 0)
        st = ASX_E_OBLIGATION_LEAKED;
    if (rt->tracing && !rt->ended) {
        rt->ended = true;
        asx__journal(rt, ASX_EVENT_RUN_END, 0, (uint64_t)(int64_t)st, 0, 0);
        if (asx__trace_finish(&rt->trace) < 0)
            st = ASX_E_DIVERGED;
    }
    return st;
}

/* Keeps the names of those who wait for ever, until somebody asks. */
static asx_status note_deadlock(asx_runtime *rt)
{
    ASX__GATE_RUNTIME(rt, note_deadlock(rt));
    if (rt->deadlock.rt_ == NULL) {
        asx__report_begin(rt, &rt->deadlock);
        asx__report_live(rt, &rt->deadlock, rt->root);
    }
    return ASX_OK;
}

static asx_status shut_down(asx_runtime *rt, uint64_t timeout_ns, asx_close_report *ret_report,
                            bool by_run);

asx_status asx_runtime_run(asx_runtime *rt, asx_task_fn fn, void *arg)
{
    asx_status st = start(rt, fn, arg, true);
    if (st < 0)
        return st;
    st = drive(rt, ASX_TIME_NEVER);
    if (st == ASX_E_DEADLOCK && !rt->manual_clock) {
        (void)note_deadlock(rt);
        (void)shut_down(rt, 0, NULL, true);
    }
    return end_of_run(rt, st);
}

/* Several workers: a step is the caller's alone. */
static asx_status step_shared(asx_runtime *rt, uint64_t dispatches_max, asx_time *ret_next_deadline)
{
    bool had_it = asx__engine_enter(rt);
    asx_status st = is_in_use(rt)  ? ASX_E_WRONG_CONTEXT
                    : !rt->started ? ASX_E_INVALID_TRANSITION
                                   : ASX_OK;
    bool finished = rt->finished;
    if (st == ASX_OK)
        rt->in_run = true; /* nobody may destroy it between two entries */
    asx__engine_leave(rt, had_it);
    if (st < 0)
        return st;
    seat s = sit_down(rt);
    bool more = !finished && asx__step_shared(rt, dispatches_max);
    stand_up(s);
    had_it = asx__engine_enter(rt);
    finished = rt->finished;
    rt->in_run = finished; /* then end_of_run() ends it */
    asx_time next = more ? rt->now : asx_timer_next_deadline(&rt->timers);
    asx__engine_leave(rt, had_it);
    if (finished)
        return end_of_run(rt, ASX_OK);
    if (ret_next_deadline != NULL)
        *ret_next_deadline = next;
    return ASX_E_WOULD_BLOCK;
}

asx_status asx_runtime_step(asx_runtime *rt, uint64_t dispatches_max, asx_time *ret_next_deadline)
{
    if (ret_next_deadline != NULL)
        *ret_next_deadline = ASX_TIME_NEVER;
    if (rt == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (rt->gate != NULL)
        return step_shared(rt, dispatches_max, ret_next_deadline);
    if (is_in_use(rt))
        return ASX_E_WRONG_CONTEXT;
    if (!rt->started)
        return ASX_E_INVALID_TRANSITION;
    if (rt->finished)
        return end_of_run(rt, ASX_OK);
    if (!rt->virtual_clock)
        asx__clock_read(rt);
    seat s = sit_down(rt);
    rt->driving = true;
    bool more = asx__run_some(rt, dispatches_max);
    rt->driving = false;
    stand_up(s);
    if (rt->finished)
        return end_of_run(rt, ASX_OK);
    if (rt->tracing && asx__trace_diverged(&rt->trace))
        return end_of_run(rt, ASX_E_DIVERGED);
    if (ret_next_deadline != NULL)
        *ret_next_deadline = more ? rt->now : asx__next_deadline(rt);
    return ASX_E_WOULD_BLOCK;
}

asx_status asx_runtime_advance(asx_runtime *rt, uint64_t duration_ns)
{
    if (rt == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (!rt->virtual_clock)
        return ASX_E_NOT_SUPPORTED;
    asx_time to = asx_time_add(rt->now, duration_ns);
    if (to == ASX_TIME_NEVER)
        return ASX_E_INVALID_ARGUMENT;
    rt->manual_clock = true;
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_CLOCK_ADVANCE, 0, rt->now, to, 0);
    asx__virtual_clock_advance(&rt->virtual_, duration_ns);
    rt->now = to;
    return ASX_OK;
}

/* ---- asking --------------------------------------------------------------------------------- */

static bool channels_drained(asx_runtime *rt)
{
    for (uint32_t i = 0; i < rt->regions.carved; i++) {
        const asx__region *region = asx__slab_at(&rt->regions, i);
        if (region->generation == 0)
            continue;
        for (const asx__resident *r = region->residents; r != NULL; r = r->next)
            if (r->ops->undelivered(r) != 0)
                return false;
    }
    return true;
}

asx_status asx_runtime_quiescent(asx_runtime *rt)
{
    if (rt == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_RUNTIME(rt, asx_runtime_quiescent(rt));
    if (asx__live_tasks(rt) != 0)
        return ASX_E_TASKS_STILL_ACTIVE;
    if (asx__obligations_live(rt) != 0)
        return ASX_E_UNRESOLVED_OBLIGATIONS;
    /* The root of a runtime that has not run yet is open and empty: that is rest too, but a
     * region is not closed, and so it says. */
    if (rt->live_regions != 0)
        return ASX_E_REGIONS_NOT_CLOSED;
    if (asx_timer_count(&rt->timers) != 0)
        return ASX_E_TIMERS_PENDING;
    return channels_drained(rt) ? ASX_OK : ASX_E_CHANNEL_NOT_DRAINED;
}

asx_status asx_runtime_stalled(asx_runtime *rt)
{
    if (rt == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_RUNTIME(rt, asx_runtime_stalled(rt));
    if (asx__live_tasks(rt) == 0 || rt->current != NULL)
        return ASX_OK;
    if (rt->engine != NULL)
        return asx__workers_stalled(rt) ? ASX_E_DEADLOCK : ASX_OK;
    bool stalled = rt->next_up == NULL && rt->handoff == NULL && rt->jobs_out == 0 &&
                   asx__lanes_are_empty(rt) && asx__next_deadline(rt) == ASX_TIME_NEVER;
    return stalled ? ASX_E_DEADLOCK : ASX_OK;
}

static void request_shutdown(asx_runtime *rt)
{
    rt->root->outer_cancel = true;
    if (rt->main_task == NULL)
        rt->root->closing_asked = true;
    asx__region_cancel(rt, rt->root,
                       asx__reason_make(rt, rt->root, ASX_CANCEL_SHUTDOWN, rt->root, rt->current,
                                        NULL, NULL));
}

static asx_status end_shutdown(asx_runtime *rt, asx_close_report *ret_report)
{
    ASX__GATE_RUNTIME(rt, end_shutdown(rt, ret_report));
    bool begun = rt->ending != NULL;
    rt->ending = NULL;
    if (ret_report != NULL && !begun)
        asx__report_begin(rt, ret_report);
    if (ret_report != NULL) {
        if (!rt->finished)
            asx__report_live(rt, ret_report, rt->root);
        ret_report->obligations_leaked = rt->registry.leaked;
        ret_report->tasks_forced = rt->tasks_forced;
    }
    return asx_runtime_quiescent(rt);
}

/* Asks everyone to end. ASX_E_WOULD_BLOCK: and now they have to be driven there. */
static asx_status begin_shutdown(asx_runtime *rt, asx_close_report *ret_report, bool by_run)
{
    ASX__GATE_RUNTIME(rt, begin_shutdown(rt, ret_report, by_run));
    bool driven = rt->driving || (rt->in_run && !by_run);
    if (!asx__caller_may(rt, ASX_CAP_CANCEL))
        return ASX_E_CAPABILITY;
    if (rt->current != NULL || (driven && rt->gate != NULL)) {
        if (!rt->finished)
            request_shutdown(rt);
        if (ret_report != NULL)
            asx__report_begin(rt, ret_report);
        return ASX_OK;
    }
    if (driven)
        return ASX_E_WRONG_CONTEXT;
    if (rt->finished)
        return end_shutdown(rt, ret_report);
    asx__clock_read(rt);
    if (ret_report != NULL)
        asx__report_begin(rt, ret_report);
    rt->ending = ret_report;
    rt->shut_down = true;
    request_shutdown(rt);
    rt->started = true;
    return ASX_E_WOULD_BLOCK;
}

static asx_status shut_down(asx_runtime *rt, uint64_t timeout_ns, asx_close_report *ret_report,
                            bool by_run)
{
    asx_status st = begin_shutdown(rt, ret_report, by_run);
    if (st != ASX_E_WOULD_BLOCK)
        return st;
    bool manual = rt->manual_clock;
    rt->manual_clock = false;
    (void)drive(rt, timeout_ns == 0 ? ASX_TIME_NEVER
                                    : asx_time_add(asx_runtime_now(rt), timeout_ns));
    rt->manual_clock = manual;
    return end_shutdown(rt, ret_report);
}

asx_status asx_runtime_shutdown(asx_runtime *rt, uint64_t timeout_ns, asx_close_report *ret_report)
{
    if (rt == NULL || (rt->gate != NULL && asx__is_shut(rt)))
        return ASX__EMPTY_IF(rt == NULL ? ASX_E_INVALID_ARGUMENT : ASX_E_WRONG_CONTEXT, ret_report);
    return shut_down(rt, timeout_ns, ret_report, false);
}

asx_status asx_runtime_report(asx_runtime *rt, asx_close_report *ret_report)
{
    if (rt == NULL || ret_report == NULL)
        return ASX__EMPTY_IF(ASX_E_INVALID_ARGUMENT, ret_report);
    ASX__GATE_RUNTIME(rt, asx_runtime_report(rt, ret_report));
    if (rt->deadlock.rt_ != NULL) {
        *ret_report = rt->deadlock; /* handed over, once */
        memset(&rt->deadlock, 0, sizeof rt->deadlock);
        return ASX_OK;
    }
    asx__report_begin(rt, ret_report);
    if (!rt->finished)
        asx__report_live(rt, ret_report, rt->root);
    return ASX_OK;
}

asx_status asx_runtime_root(asx_runtime *rt, asx_region *ret_region)
{
    if (rt == NULL || ret_region == NULL)
        return ASX__EMPTY_IF(ASX_E_INVALID_ARGUMENT, ret_region);
    ASX__GATE_RUNTIME(rt, asx_runtime_root(rt, ret_region));
    *ret_region = asx__region_name(rt->root);
    return ASX_OK;
}

asx_time asx_runtime_now(const asx_runtime *rt)
{
    ASX__GATE_RUNTIME_AS(asx_time, rt, asx_runtime_now(rt));
    return rt != NULL ? rt->now : 0;
}

asx_timer_wheel *asx_runtime_timers(asx_runtime *rt)
{
    if (rt == NULL)
        return NULL;
    if (ASX__UNLIKELY(rt->seam != NULL))
        return rt->seam->timers(rt->seam->ctx);
    return rt->gate != NULL ? &rt->gate->timers : &rt->timers;
}

asx_status asx_runtime_set_governor(asx_runtime *rt, asx_governor governor)
{
    if (rt == NULL || (unsigned)governor > ASX_GOVERNOR_DRAIN_REGIONS)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_RUNTIME(rt, asx_runtime_set_governor(rt, governor));
    rt->governor = governor;
    return ASX_OK;
}

asx_status asx_runtime_certificate(const asx_runtime *rt, asx_fairness_certificate *ret)
{
    if (rt == NULL || ret == NULL)
        return ASX__EMPTY_IF(ASX_E_INVALID_ARGUMENT, ret);
    ASX__GATE_RUNTIME(rt, asx_runtime_certificate(rt, ret));
    asx_fairness_certificate c = rt->cert;
    uint32_t gone = ASX__TURN - rt->turn_left;
    ASX__DEBUG_ASSERT(gone >= rt->turn_slow);
    c.ready_dispatches += gone - rt->turn_slow;
    if (rt->engine != NULL)
        c.ready_dispatches += asx__workers_dispatched(rt);
    const uint64_t words[] = { c.cancel_dispatches,
                               c.timed_dispatches,
                               c.ready_dispatches,
                               c.fallback_cancel_dispatches,
                               c.base_limit_exceedances,
                               c.effective_limit_exceedances,
                               c.max_effective_limit_observed };
    c.hash = asx__hash_words(0, words, sizeof words / sizeof *words);
    *ret = c;
    return ASX_OK;
}

static uint64_t queue_len(const asx__queue *queue)
{
    uint64_t len = 0;
    for (int i = 0; i < 256; i++)
        for (const asx__node *n = queue->queue[i].next; n != &queue->queue[i]; n = n->next)
            len++;
    return len;
}

static uint64_t stacks_in_use(const asx_runtime *rt)
{
    uint64_t count = 0;
    for (int i = 0; i < ASX__STACK_CLASSES; i++)
        if (rt->pool_ready[i])
            count += asx__stack_pool_in_use(&rt->pools[i]);
    return count;
}

asx_status asx_runtime_stats(const asx_runtime *rt, asx_stats *ret_stats)
{
    if (rt == NULL || ret_stats == NULL)
        return ASX__EMPTY_IF(ASX_E_INVALID_ARGUMENT, ret_stats);
    ASX__GATE_RUNTIME(rt, asx_runtime_stats(rt, ret_stats));
    asx_stats s = {
        .tasks_live = asx__live_tasks(rt),
        .tasks_spawned = asx__serial(rt->task_generation),
        .tasks_forced = rt->tasks_forced,
        .tasks_stolen = rt->engine != NULL ? rt->engine->stolen : 0,
        .workers = rt->engine != NULL ? rt->engine->workers_here : 1,
        .workers_asleep = rt->engine != NULL ? rt->engine->sleepers : 0,
        .regions_live = rt->live_regions,
        .regions_opened = asx__serial(rt->region_generation),
        .obligations_reserved = asx__obligations_live(rt),
        .obligations_total = rt->registry.last_id - asx__engine_spare_ids(rt),
        .obligations_leaked = rt->registry.leaked,
        .channels_live = rt->live_channels,
        .timers_live = asx_timer_count(&rt->timers),
        .stacks_in_use = stacks_in_use(rt),
        .stacks_kept = rt->stacks_kept,
        .memory_bytes = rt->memory_bytes,
        .ready_len = queue_len(&rt->ready) + (rt->next_up != NULL) + (rt->handoff != NULL) +
                     (rt->engine != NULL ? asx__locals_len(rt) : 0),
        .cancel_len = queue_len(&rt->cancel),
        .timed_len = rt->timed_len,
        .turns = rt->turns,
    };
    *ret_stats = s;
    return ASX_OK;
}

/* ---- journal -------------------------------------------------------------------------------- */

/* The first two events of every run; not before there is one, so that a recorded trace to compare
 * with can be given to a new runtime. */
static __attribute__((noinline)) void begin_journal(asx_runtime *rt)
{
    asx__trace_emit(&rt->trace, rt->now, ASX_EVENT_RUN_BEGIN, 0, 0, rt->config.seed, 0, 0);
    asx__trace_emit(&rt->trace, rt->now, ASX_EVENT_REGION_OPEN, 0,
                    asx__serial(rt->root->generation), 0, 0, 0);
}

/* Away from what an explorer hears most. */
static __attribute__((noinline)) uint64_t emit(asx_runtime *rt, uint32_t kind, uint64_t who,
                                               uint64_t object, uint64_t a, uint64_t b,
                                               uint64_t cause)
{
    if (ASX__UNLIKELY(rt->trace.next_seq <= 1 && kind != ASX_EVENT_RUN_BEGIN))
        begin_journal(rt);
    if (ASX__UNLIKELY(rt->engine != NULL))
        rt->trace.worker = asx__engine_worker(rt);
    return asx__trace_emit(&rt->trace, rt->now, kind, who, object, a, b, cause);
}

uint64_t asx__journal_as(asx_runtime *rt, const asx__task *task, uint32_t kind, uint64_t object,
                         uint64_t a, uint64_t b, uint64_t cause)
{
    uint64_t who = task != NULL ? asx__serial(task->generation) : 0;
    if (ASX__LIKELY(rt->trace.tells)) /* an explorer */
        return asx__trace_tell(&rt->trace, rt->now, kind, who, object, a, b, cause);
    return emit(rt, kind, who, object, a, b, cause);
}

uint64_t asx__journal(asx_runtime *rt, uint32_t kind, uint64_t object, uint64_t a, uint64_t b,
                      uint64_t cause)
{
    uint64_t who = rt->current != NULL ? asx__serial(rt->current->generation) : 0;
    if (ASX__LIKELY(rt->trace.tells)) /* an explorer */
        return asx__trace_tell(&rt->trace, rt->now, kind, who, object, a, b, cause);
    return emit(rt, kind, who, object, a, b, cause);
}

uint64_t asx_runtime_digest(const asx_runtime *rt)
{
    ASX__GATE_RUNTIME_AS(uint64_t, rt, asx_runtime_digest(rt));
    return rt != NULL && rt->tracing ? asx__trace_digest(&rt->trace) : 0;
}

asx_status asx_runtime_trace_status(const asx_runtime *rt)
{
    if (rt == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_RUNTIME(rt, asx_runtime_trace_status(rt));
    return rt->tracing ? asx__trace_status(&rt->trace) : ASX_E_NO_JOURNAL;
}

asx_status asx_runtime_trace_write(const asx_runtime *rt,
                                   asx_status (*sink)(void *ctx, const void *bytes, size_t len),
                                   void *ctx)
{
    if (rt == NULL || sink == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_RUNTIME(rt, asx_runtime_trace_write(rt, sink, ctx));
    if (!rt->tracing)
        return ASX_E_NO_JOURNAL;
    const char *program = rt->config.program != NULL ? rt->config.program : "";
    size_t len = rt->config.program_len != 0 ? rt->config.program_len : strlen(program);
    return asx__trace_write(&rt->trace, rt->config.seed, program, len, sink, ctx);
}

asx_status asx_runtime_observe(asx_runtime *rt, void (*observe)(void *, const asx_event *),
                               void *ctx)
{
    if (rt == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_RUNTIME(rt, asx_runtime_observe(rt, observe, ctx));
    if (!rt->tracing)
        return ASX_E_NO_JOURNAL;
    asx__trace_observe(&rt->trace, observe, ctx);
    return ASX_OK;
}

asx_status asx_runtime_replay(asx_runtime *rt, asx_trace_reader *recorded)
{
    if (rt == NULL || recorded == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (rt->gate != NULL)
        return ASX_E_NOT_SUPPORTED; /* several workers: no two runs are the same */
    if (!rt->tracing)
        return ASX_E_NO_JOURNAL;
    if (rt->started)
        return ASX_E_INVALID_TRANSITION;
    return asx__trace_expect(&rt->trace, recorded);
}

asx_status asx_runtime_divergence(const asx_runtime *rt, asx_divergence *ret)
{
    ASX__EMPTY(ret);
    if (rt == NULL || ret == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_RUNTIME(rt, asx_runtime_divergence(rt, ret));
    if (!rt->tracing)
        return ASX_E_NO_JOURNAL;
    const asx__trace_divergence *d = &rt->trace.divergence;
    ret->diverged = d->what != ASX__TRACE_SAME;
    ret->recorded_ended = d->what == ASX__TRACE_RECORDED_ENDED;
    ret->run_ended = d->what == ASX__TRACE_RUN_ENDED;
    ret->in_lost_events = d->what == ASX__TRACE_OTHER_DIGEST;
    ret->recorded = d->recorded;
    ret->actual = d->run;
    return ASX_OK;
}

int asx_main(asx_task_fn fn, void *arg)
{
    asx_runtime *rt;
    if (asx_runtime_create(NULL, &rt) < 0)
        return 1;
    asx_status st = asx_runtime_run(rt, fn, arg);
    asx_status end = asx_runtime_destroy(rt);
    return st == ASX_OK && end == ASX_OK ? 0 : 1;
}
