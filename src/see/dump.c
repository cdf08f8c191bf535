/* dump.c - every task of a process as text.
 *
 *     asx: process 4711, 1 runtime
 *     runtime 1, driven by thread 4711, 3 tasks
 *     workers 2 to 4: 1 active, 0 searching, 1 asleep, 0 polling, 0 draining; stuck 0,
 *     promoted 1, retired 1; looks 9: ...       (several workers only; both lines are one)
 *     region 2 root/pipe (app.c:30): Open, 2 tasks, 0 regions, 1 obligation
 *     task 2 "producer" (app.c:32) in root/pipe: Running, parked: channel-reserve 1
 *         #0  asx_channel_reserve+0x41 (/usr/bin/app+0x12345)
 *
 * A task is looked at, its chain is walked, and then it is looked at again: if it has run
 * meanwhile, the chain is thrown away and the dump says so.
 */
#include "see/see.h"

#include <string.h>
#include <unistd.h>

#define THREAD_STACK ((uintptr_t)64 << 20) /* further up nothing is looked for */

enum { PATH_DEPTH = 32, RUNTIMES_MAX = 4096 };

#define COUNTED(look, n, word)                                                                     \
    (asx__put_number((look), (n)), asx__put((look), (n) == 1 ? " " word : " " word "s"))

/* A field of something that may not be there; what is put into `to` is left alone then. */
#define PEEK_FIELD(look, from, field, to) asx__peek((look), &(from)->field, (to), sizeof *(to))

/* ---- words ---------------------------------------------------------------------------------- */

static const char *exec_str(unsigned exec)
{
    static const char *const names[] = {
        [ASX__EXEC_INIT] = "not queued",     [ASX__EXEC_RUNNABLE] = "runnable",
        [ASX__EXEC_RUNNING] = "running",     [ASX__EXEC_PARKING] = "parking",
        [ASX__EXEC_PARKED] = "parked",       [ASX__EXEC_WAKING] = "waking",
        [ASX__EXEC_DONE] = "done",           [ASX__EXEC_CANCELLED] = "cancelled",
        [ASX__EXEC_YIELDED] = "runnable, gave way",
    };
    return exec < sizeof names / sizeof *names && names[exec] != NULL ? names[exec] : "?";
}

static void put_string(asx__look *look, const char *from, const char *instead)
{
    if (from == NULL || !asx__peek_string(look, from, look->text, sizeof look->text) ||
        look->text[0] == '\0')
        asx__put(look, instead);
    else
        asx__put(look, look->text);
}

void asx__put_path(asx__look *look, const asx__region *at)
{
    const asx__region *chain[PATH_DEPTH];
    uint32_t depth = 0;
    while (at != NULL && depth < PATH_DEPTH) {
        chain[depth++] = at;
        if (!PEEK_FIELD(look, at, parent, &at))
            at = NULL;
    }
    if (at != NULL)
        asx__put(look, ".../");
    while (depth > 0) {
        const char *name = NULL;
        (void)PEEK_FIELD(look, chain[--depth], name, &name);
        put_string(look, name, "-");
        if (depth > 0)
            asx__put(look, "/");
    }
}

static void put_task_name(asx__look *look, const asx__task *at)
{
    uint64_t generation = 0;
    const char *name = NULL;
    if (!PEEK_FIELD(look, at, generation, &generation) || !PEEK_FIELD(look, at, name, &name))
        return;
    asx__put(look, " task ");
    asx__put_number(look, asx__serial(generation));
    asx__put(look, " \"");
    put_string(look, name, "");
    asx__put(look, "\"");
}

/* ---- what a task waits for ------------------------------------------------------------------ */

static void put_wait(asx__look *look, const asx__task *task)
{
    asx__waitable waitable;
    asx__waitable_ops ops;
    if (task->w.waits == NULL || !asx__peek(look, task->w.waits, &waitable, sizeof waitable) ||
        !asx__peek(look, waitable.ops, &ops, sizeof ops))
        return;
    asx__put(look, ": ");
    asx__put(look, asx__wait_str(ops.kind));
    if (ops.kind == ASX__WAIT_JOIN) {
        put_task_name(look, (const asx__task *)(const void *)task->node.next);
    } else if (waitable.serial != 0) {
        asx__put(look, " ");
        asx__put_number(look, waitable.serial);
    }
}

static void put_state(asx__look *look, const asx__task *task)
{
    asx__put(look, asx_task_state_str((asx_task_state)task->phase));
    if ((task->flags & ASX__T_CANCEL) != 0) {
        asx_cancel_kind kind;
        if (task->reason != NULL && asx__peek(look, &task->reason->kind, &kind, sizeof kind)) {
            asx__put(look, " (");
            asx__put(look, asx_cancel_kind_str(kind));
            asx__put(look, ")");
        }
    }
    asx__put(look, ", ");
    if ((task->flags & ASX__T_STARTED) == 0)
        asx__put(look, "has not run, ");
    asx__put(look, exec_str(task->exec));
    if (task->exec == ASX__EXEC_PARKED)
        put_wait(look, task);
    if (task->mask_depth != 0)
        asx__put(look, ", masked");
    if ((task->flags & ASX__T_JOINER) != 0 && task->joiner != NULL) {
        asx__put(look, ", joined by");
        put_task_name(look, task->joiner);
    }
}

/* ---- chains --------------------------------------------------------------------------------- */

/* The usable part of a fiber's stack. */
static bool stack_of(asx__look *look, const asx__task *task, uintptr_t *ret_low,
                     uintptr_t *ret_high)
{
    asx__stack stack;
    if ((task->flags & ASX__T_POLL) != 0 || (task->flags & ASX__T_STARTED) == 0 ||
        !asx__peek(look, task->u.fiber.stack, &stack, sizeof stack))
        return false;
    uintptr_t high = (uintptr_t)task->u.fiber.stack, low = (uintptr_t)stack.base;
    if (low >= high || high - low > ASX__STACK_SIZE_MAX)
        return false;
    *ret_low = low;
    *ret_high = high;
    return true;
}

uint32_t asx__unwind_thread(asx__look *look, const asx__regs *regs, const asx__task *task)
{
    uintptr_t sp = regs->at[ASX__REG_SP], low, high;
    if (task == NULL || !stack_of(look, task, &low, &high) || sp < low || sp >= high) {
        low = sp;
        high = sp + THREAD_STACK;
    }
    return asx__unwind(look, regs, low, high);
}

/* Has the task run since look->task was peeked at? */
static bool has_run(asx__look *look, const asx__task *at)
{
    asx__task now;
    const asx__task *then = &look->task;
    return !asx__peek(look, at, &now, sizeof now) || now.generation != then->generation ||
           now.exec != then->exec || now.u.fiber.sp != then->u.fiber.sp;
}

static void put_function(asx__look *look, const char *what, uintptr_t pc)
{
    asx__put(look, "    ");
    asx__put(look, what);
    look->frames[0] = pc;
    asx__put_frames(look, 1);
}

/* A task that runs on another thread, or on a thread's own stack. */
static void put_running(asx__look *look, const asx__task *at)
{
    const asx__task *current;
    int32_t tid = 0;
    for (uint32_t i = 0; asx__peek_worker(look, look->rt, i, &current, &tid); i++)
        if (current == at)
            break;
        else
            tid = 0;
    if (tid == 0) {
        asx__put(look, "    (it has just left its thread)\n");
    } else if (tid == look->tid) {
        asx__put_frames(look, asx__unwind_thread(look, &look->self, &look->task));
    } else if (asx__ask_thread(tid, &look->regs)) {
        uint32_t count = asx__unwind_thread(look, &look->regs, &look->task);
        asx__ask_done();
        asx__put_frames(look, count);
    } else {
        asx__put(look, "    (its thread was not asked: see asx_dump_on_signal)\n");
    }
}

static void put_chain(asx__look *look, const asx__task *at)
{
    const asx__task *task = &look->task;
    uintptr_t low, high;
    if ((task->flags & ASX__T_POLL) != 0 && task->exec != ASX__EXEC_RUNNING) {
        put_function(look, "poll function", (uintptr_t)task->u.poll.fn);
        return;
    }
    if ((task->flags & (ASX__T_POLL | ASX__T_STARTED)) == 0) {
        put_function(look, "begins with  ", (uintptr_t)task->u.fresh.fn);
        return;
    }
    bool on_stack = stack_of(look, task, &low, &high);
    uintptr_t sp = look->self.at[ASX__REG_SP];
    if (on_stack && sp >= low && sp < high) { /* whatever its state: we stand on it */
        asx__put_frames(look, asx__unwind(look, &look->self, low, high));
        return;
    }
    if (task->exec == ASX__EXEC_RUNNING) {
        put_running(look, at);
        return;
    }
    uint32_t count = 0;
    if (on_stack && asx__regs_of_fiber(look, task->u.fiber.sp, &look->regs))
        count = asx__unwind(look, &look->regs, low, high);
    if (has_run(look, at))
        asx__put(look, "    (it ran while it was looked at)\n");
    else if (count == 0)
        asx__put(look, "    (no call chain)\n");
    else
        asx__put_frames(look, count);
}

void asx__dump_task(asx__look *look, const asx__task *at)
{
    const asx__task *task = &look->task;
    asx__put(look, "task ");
    asx__put_number(look, asx__serial(task->generation));
    asx__put(look, " \"");
    put_string(look, task->name, "");
    asx__put(look, "\" (");
    put_string(look, task->site, "-");
    asx__put(look, ") in ");
    asx__put_path(look, task->region);
    asx__put(look, ": ");
    put_state(look, task);
    asx__put(look, "\n");
    put_chain(look, at);
}

/* ---- slabs ---------------------------------------------------------------------------------- */

/* How many records can be looked at. */
static uint32_t slab_count(const asx__slab *slab)
{
    uint64_t room = slab->shift < 32 ? (uint64_t)slab->chunk_count << slab->shift : 0;
    return slab->carved < room ? slab->carved : (uint32_t)room;
}

static const char *slab_at(asx__look *look, const asx__slab *slab, uint32_t index)
{
    char *chunk;
    if (!asx__peek(look, &slab->chunks[index >> slab->shift], &chunk, sizeof chunk))
        return NULL;
    uint32_t in_chunk = index & ((1u << slab->shift) - 1u);
    return chunk + (size_t)in_chunk * slab->record_size;
}

static void dump_regions(asx__look *look, const asx__slab *slab)
{
    const asx__region *region = &look->region;
    if (slab->record_size != sizeof *region)
        return;
    for (uint32_t i = 0; i < slab_count(slab); i++) {
        const char *at = slab_at(look, slab, i);
        if (at == NULL || !asx__peek(look, at, &look->region, sizeof *region) ||
            region->generation == 0 || region->index != i)
            continue;
        asx__put(look, "region ");
        asx__put_number(look, asx__serial(region->generation));
        asx__put(look, " ");
        asx__put_path(look, (const asx__region *)(const void *)at);
        asx__put(look, " (");
        put_string(look, region->site, "-");
        asx__put(look, "): ");
        asx__put(look, asx_region_state_str((asx_region_state)region->state));
        asx__put(look, ", ");
        COUNTED(look, asx__region_live_tasks(region), "task");
        asx__put(look, ", ");
        COUNTED(look, region->live_regions, "region");
        asx__put(look, ", ");
        COUNTED(look, region->live_obligations, "obligation");
        asx__put(look, "\n");
    }
}

/* Ends of batches are where chunks end. */
static uint32_t batch_len(const asx__slab *slab, uint32_t from, uint32_t count)
{
    uint32_t chunk = 1u << slab->shift, left = chunk - (from & (chunk - 1u));
    uint32_t len = count - from < left ? count - from : left;
    return len < ASX__BATCH ? len : ASX__BATCH;
}

static void dump_tasks(asx__look *look, const asx__slab *slab)
{
    if (slab->record_size != sizeof(asx__task))
        return;
    uint32_t count = slab_count(slab), step;
    uint64_t ended = 0;
    for (uint32_t i = 0; i < count; i += step) {
        step = batch_len(slab, i, count);
        const char *at = slab_at(look, slab, i);
        if (at == NULL || !asx__peek(look, at, look->batch, step * sizeof(asx__task)))
            continue;
        for (uint32_t k = 0; k < step; k++) {
            look->task = look->batch[k];
            if (look->task.generation == 0)
                continue;
            if (look->task.phase == ASX_TASK_COMPLETED)
                ended++;
            else
                asx__dump_task(look, (const asx__task *)(const void *)at + k);
        }
    }
    if (ended != 0) {
        asx__put(look, "and ");
        COUNTED(look, ended, "task");
        asx__put(look, ended == 1 ? " that has ended and can be joined\n"
                                  : " that have ended and can be joined\n");
    }
}

/* ---- runtimes ------------------------------------------------------------------------------- */

static bool is_runtime(asx__look *look, const asx_runtime *rt)
{
    uint64_t mark = 0;
    return PEEK_FIELD(look, rt, registered, &mark) && mark == asx__process_mark(rt);
}

static bool peek_alone(asx__look *look, const asx_runtime *rt, uint32_t index,
                       const asx__task **ret_task, int32_t *ret_tid)
{
    return index == 0 && PEEK_FIELD(look, rt, current, ret_task) &&
           PEEK_FIELD(look, rt, driver_tid, ret_tid);
}

bool asx__peek_worker(asx__look *look, const asx_runtime *rt, uint32_t index,
                      const asx__task **ret_task, int32_t *ret_tid)
{
    const asx__engine *e = NULL;
    const asx__worker *w = NULL, *loaded = NULL;
    uint32_t count = 0;
    if (!PEEK_FIELD(look, rt, engine, &e))
        return false;
    if (e == NULL)
        return peek_alone(look, rt, index, ret_task, ret_tid);
    if (!PEEK_FIELD(look, e, workers_max, &count) || index >= count ||
        index >= ASX__WORKERS_MAX || !PEEK_FIELD(look, e, workers, &w) ||
        !PEEK_FIELD(look, e, loaded, &loaded))
        return false;
    w += index;
    return PEEK_FIELD(look, w, tid, ret_tid) &&
           (w == loaded ? PEEK_FIELD(look, rt, current, ret_task)
                        : PEEK_FIELD(look, w, r.current, ret_task));
}

static void put_drivers(asx__look *look, const asx_runtime *rt)
{
    const asx__task *task;
    int32_t tid;
    bool driving = false, first = true;
    (void)PEEK_FIELD(look, rt, driving, &driving);
    if (!driving) {
        asx__put(look, ", not driven now");
        return;
    }
    for (uint32_t i = 0; asx__peek_worker(look, rt, i, &task, &tid); i++) {
        if (tid == 0)
            continue;
        asx__put(look, first ? ", driven by thread " : " ");
        asx__put_number(look, (uint64_t)tid);
        first = false;
    }
}

/* How many workers there are in each state, and what the pool has decided. */
static void put_pool(asx__look *look, const asx_runtime *rt)
{
    static const char *const states[] = {
#define X(name, text) text,
        ASX__WORKER_STATE_LIST(X)
#undef X
    };
    enum { STATES = sizeof states / sizeof *states };
    const asx__engine *e = NULL;
    const asx__worker *w = NULL;
    uint32_t count = 0, base = 0, cap = 0, in[STATES] = { 0 };
    asx_pool_stats pool;
    if (!PEEK_FIELD(look, rt, engine, &e) || e == NULL || !PEEK_FIELD(look, e, workers, &w) ||
        !PEEK_FIELD(look, e, workers_max, &count) || !PEEK_FIELD(look, e, workers_base, &base) ||
        !PEEK_FIELD(look, e, workers_cap, &cap) || !PEEK_FIELD(look, e, pool.counts, &pool))
        return;
    for (uint32_t i = 0; i < count && i < ASX__WORKERS_MAX; i++) {
        uint32_t state = STATES;
        if (PEEK_FIELD(look, &w[i], bell.state, &state) && state < STATES)
            in[state]++;
    }
    asx__put(look, "workers ");
    asx__put_number(look, base);
    asx__put(look, " to ");
    asx__put_number(look, cap);
    asx__put(look, ":");
    for (unsigned i = ASX__WORKER_ACTIVE; i < STATES; i++) {
        asx__put(look, i == ASX__WORKER_ACTIVE ? " " : ", ");
        asx__put_number(look, in[i]);
        asx__put(look, " ");
        asx__put(look, states[i]);
    }
    const struct { const char *text; uint64_t number; } counts[] = {
        { "; stuck ", pool.stuck },
        { ", handed on ", pool.handed_on },
        { ", promoted ", pool.promoted },
        { ", retired ", pool.retired_idle + pool.retired_surplus },
        { "; looks ", pool.looks },
        { ": no work ", pool.gate_no_work },
        { ", nonpositive ", pool.gate_nonpositive },
        { ", idle capacity ", pool.gate_idle_capacity },
        { ", not stuck ", pool.gate_not_stuck },
        { ", at max ", pool.gate_at_max },
        { ", no thread ", pool.gate_no_thread },
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        asx__put(look, counts[i].text);
        asx__put_number(look, counts[i].number);
    }
    asx__put(look, "\n");
}

void asx__dump_runtime(asx__look *look, const asx_runtime *rt)
{
    uint16_t number = 0;
    asx__slab tasks, regions;
    uint64_t spawned = 0, ended = 0;
    look->rt = rt;
    if (!PEEK_FIELD(look, rt, number, &number) || !PEEK_FIELD(look, rt, tasks, &tasks) ||
        !PEEK_FIELD(look, rt, regions, &regions) ||
        !PEEK_FIELD(look, rt, task_generation, &spawned) ||
        !PEEK_FIELD(look, rt, tasks_ended, &ended)) {
        asx__put(look, "a runtime that cannot be read\n");
        return;
    }
    asx__put(look, "runtime ");
    asx__put_number(look, number);
    put_drivers(look, rt);
    asx__put(look, ", ");
    COUNTED(look, asx__serial(spawned) - ended, "task");
    asx__put(look, "\n");
    put_pool(look, rt);
    dump_regions(look, &regions);
    dump_tasks(look, &tasks);
}

void asx__dump_process(asx__look *look)
{
    uint64_t count = 0;
    const asx_runtime *rt = asx__load_acquire(&asx__process.runtimes);
    for (; rt != NULL && count < RUNTIMES_MAX && is_runtime(look, rt); count++)
        if (!PEEK_FIELD(look, rt, registry_next, &rt))
            break;
    asx__put(look, "asx: process ");
    asx__put_number(look, (uint64_t)getpid());
    asx__put(look, ", ");
    COUNTED(look, count, "runtime");
    asx__put(look, "\n");
    rt = asx__load_acquire(&asx__process.runtimes);
    for (uint64_t i = 0; i < count && rt != NULL && is_runtime(look, rt); i++) {
        asx__dump_runtime(look, rt);
        if (!PEEK_FIELD(look, rt, registry_next, &rt))
            break;
    }
    asx__put(look, "asx: end\n");
}

/* ---- asking for it -------------------------------------------------------------------------- */

asx_status asx_dump_tasks(const asx_runtime *runtime, int fd)
{
    if (runtime == NULL || fd < 0)
        return ASX_E_INVALID_ARGUMENT;
    asx__look *look = asx__look_begin(fd, -1);
    if (look == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    asx__regs_here(&look->self);
    asx__dump_runtime(look, runtime);
    return asx__look_end(look) ? ASX_OK : ASX_E_SYSTEM;
}

asx_status asx_dump_all(int fd)
{
    if (fd < 0)
        return ASX_E_INVALID_ARGUMENT;
    asx__look *look = asx__look_begin(fd, -1);
    if (look == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    asx__regs_here(&look->self);
    asx__dump_process(look);
    return asx__look_end(look) ? ASX_OK : ASX_E_SYSTEM;
}
