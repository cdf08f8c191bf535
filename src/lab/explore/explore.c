/* explore.c - runs a lab test as often as the engine asks (see explore.h). */
#include "lab/explore/explore.h"

#include "lab/oracle/site.h"
#include "sched/hot.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_EVERY 64 /* executions between two looks at the clock; fewer if they take longer */
#define LOOK_NS ASX_MS

/* A branch of on_event(): called without a frame around it, so that most events, which have a short
 * branch, do not pay for the long ones. */
#define OUTSIDE __attribute__((noinline))

__attribute__((noinline)) void asx_lab_failed_here(const char *text, const char *site)
{
    __asm__ volatile("" : : "r"(text), "r"(site) : "memory"); /* not to be optimized away */
}

static uint64_t now_ns(void)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_MONOTONIC, &ts) != 0)
        return 0;
    return (uint64_t)ts.tv_sec * ASX_SEC + (uint64_t)ts.tv_nsec;
}

/* ---- tasks and regions of the execution ----------------------------------------------------- */

bool asx__explorer_grow(asx__explorer *x, void **memory, size_t *cap, size_t need, size_t size)
{
    size_t larger = *cap != 0 ? *cap * 2 : 16;
    while (larger < need)
        larger *= 2;
    void *grown = realloc(*memory, larger * size);
    if (grown == NULL) {
        x->status = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    memset((char *)grown + *cap * size, 0, (larger - *cap) * size);
    *memory = grown;
    *cap = larger;
    return true;
}

/* The number of a task that was started by another, or by the runtime to run the finalizers of a
 * region. NONE: no memory. */
static uint32_t number_of(asx__explorer *x, const asx_event *event, bool finalizes)
{
    const asx__lab_task *parent = asx__explorer_task(x, event->task);
    if (ASX__UNLIKELY(finalizes)) {
        const asx__lab_region *region = asx__explorer_region(x, event->a);
        const asx__lab_task *owner = asx__explorer_task(x, region->owner);
        if (owner != NULL) {
            uint32_t id = asx__dpor_finalizer_task(x->dpor, owner->id, region->nth);
            if (id != ASX__DPOR_NONE)
                asx__explorer_comes_after(x, id, event->a);
            return id;
        }
    }
    if (ASX__LIKELY(parent != NULL) && ASX__LIKELY(parent->id != ASX__DPOR_NONE))
        return asx__dpor_spawn(x->dpor, parent->id);
    asx__explorer_refuse(x, event->kind);
    return ASX__DPOR_NONE;
}

/* A poll task that is still one is the runtime's own: it does nothing that others could tell from
 * what they see, and runs at once whenever it can. */
static OUTSIDE void on_spawn(asx__explorer *x, const asx_event *event)
{
    uint64_t serial = event->object;
    if (x->first_serial == 0)
        x->first_serial = serial; /* the test itself */
    uint64_t index = serial - x->first_serial;
    if (!asx__explorer_room(x, (void **)&x->tasks, &x->tasks_cap, (size_t)index + 1,
                            sizeof *x->tasks))
        return;
    uint32_t id = 0;
    asx__lab_region *region = asx__explorer_region(x, event->a);
    bool finalizes = region != NULL && asx__explorer_finalizes(region, serial);
    if (x->tasks_len == 1)
        x->alone_until = asx__dpor_done(x->dpor, x->tasks->id);
    if (index != 0)
        id = ASX__LIKELY(event->b != ASX__VEHICLE_POLL) ? number_of(x, event, finalizes)
                                                        : ASX__DPOR_NONE;
    for (; ASX__UNLIKELY(x->tasks_len < index); x->tasks_len++)
        x->tasks[x->tasks_len] = (asx__lab_task){ .id = ASX__DPOR_NONE, .timer = ASX__DPOR_NONE };
    x->tasks_len += x->tasks_len == index;
    if (ASX__UNLIKELY(x->rt->timed_tasks != 0) && !x->cancels &&
        x->options->clock == ASX_EXPLORE_ADVERSARIAL)
        asx__explorer_prepare(x, &x->cancels); /* its deadline may come at any point */
    const asx__lab_task *parent = finalizes ? NULL : asx__explorer_task(x, event->task);
    x->tasks[index] = (asx__lab_task){ .region = event->a, .id = id, .finalizes = finalizes,
                                       .timer = ASX__DPOR_NONE,
                                       .born = parent != NULL ? asx__lab_task_site(parent) : NULL,
                                       .record = asx__explorer_newest(region) };
    if (x->tasks[index].record != NULL)
        x->tasks[index].name = x->tasks[index].record->name;
    if (region != NULL) {
        x->tasks[index].sibling = region->tasks;
        region->tasks = (uint32_t)index + 1;
    }
}

static OUTSIDE void on_open(asx__explorer *x, const asx_event *event)
{
    if (!asx__explorer_room(x, (void **)&x->regions, &x->regions_cap, x->regions_len + 1,
                            sizeof *x->regions))
        return;
    asx__lab_task *owner = asx__explorer_task(x, event->task);
    asx__lab_region *parent = asx__explorer_region(x, event->a);
    ASX__ASSERT(x->regions_len == 0 || event->object > x->regions[x->regions_len - 1].serial);
    x->regions[x->regions_len++] = (asx__lab_region){
        .serial = event->object, .parent = event->a, .owner = event->task,
        .sibling = parent != NULL ? parent->children : 0,
        .nth = owner != NULL ? owner->opened++ : 0, .timer = ASX__DPOR_NONE,
        .opened_at = owner != NULL ? asx__dpor_done(x->dpor, owner->id) : 0,
    };
    if (parent != NULL)
        parent->children = (uint32_t)x->regions_len;
    if (owner != NULL) {
        x->regions[x->regions_len - 1].opened_before = owner->regions;
        owner->regions = (uint32_t)x->regions_len;
    }
    asx__explorer_opened(x, &x->regions[x->regions_len - 1]);
}

void asx__explorer_fail(asx__explorer *x, const char *text, const char *site)
{
    if (x->failed_text != NULL)
        return;
    x->failed_text = text;
    x->failed_site = site;
    (void)asx__dpor_events(x->dpor, &x->failed_at);
    asx__dpor_fails(x->dpor);
    asx_lab_failed_here(text, site);
}

static OUTSIDE void on_complete(asx__explorer *x, const asx_event *event)
{
    asx__lab_task *task = asx__explorer_task(x, event->object);
    if (task == NULL || task->id == ASX__DPOR_NONE)
        return;
    asx__dpor_ended(x->dpor, task->id);
    if (event->a == ASX_OUTCOME_PANICKED && x->failed_text == NULL)
        asx__explorer_fail(x, asx__explore_panic(x, task, event->object), NULL);
    else if (event->a != ASX_OUTCOME_OK && event->a != ASX_OUTCOME_CANCELLED)
        asx__explorer_erred(x, task, event->object, (asx_status)(int64_t)event->b);
}

/* It counts when the task has ended; here its frames are still there for a debugger. */
static OUTSIDE void on_panic(asx__explorer *x, const asx_event *event)
{
    const asx__lab_task *task = asx__explorer_task(x, event->object);
    if (task != NULL && task->id != ASX__DPOR_NONE && x->failed_text == NULL)
        asx_lab_failed_here(asx__explore_panic(x, task, event->object), NULL);
}

static inline void waits_for(asx__explorer *x, const asx_event *event, uint64_t waits)
{
    asx__lab_task *task = asx__explorer_task(x, event->object);
    if (task == NULL)
        return;
    task->waits = (uint32_t)waits;
    /* Whoever waits stands before an operation, or for the end of what it has started. */
    if (task->id != ASX__DPOR_NONE && waits != ASX__WAIT_NONE && waits != ASX__WAIT_EXTERNAL &&
        waits != ASX__WAIT_JOIN && waits != ASX__WAIT_REGION_CLOSE)
        asx__explorer_refuse(x, event->kind);
}

static void on_park(asx__explorer *x, const asx_event *event)
{
    waits_for(x, event, event->a);
}

static void on_wake(asx__explorer *x, const asx_event *event)
{
    waits_for(x, event, ASX__WAIT_NONE);
}

/* An oracle has complained: the execution is not good. One that gets nowhere is stopped. */
static OUTSIDE void on_complaint(asx__explorer *x)
{
    asx_oracle oracle = x->oracles.complaint.oracle;
    if (x->failed_text == NULL)
        asx__explorer_fail(x, asx__explore_complaint(x), asx_oracle_str(oracle));
    if (oracle == ASX_ORACLE_LIVELOCK)
        asx__trace_stop(&x->rt->trace);
}

/* What is told of operations that were announced, or of what nobody can tell from what it sees. */
static bool orders_nothing(uint32_t kind)
{
    if ((kind >= ASX_EVENT_MPMC_SEND && kind <= ASX_EVENT_MPMC_DROP) ||
        (kind > ASX_EVENT_CONDITION_CREATE && kind <= ASX_EVENT_WATCH_CLOSE))
        return true;
    switch (kind) {
    case ASX_EVENT_RUN_END:
    case ASX_EVENT_ADMISSION_REFUSED:
    case ASX_EVENT_FINALIZER_RUN:
    case ASX_EVENT_TASK_LINK:
    case ASX_EVENT_BUDGET_EXHAUSTED:
    case ASX_EVENT_USER:
    case ASX_EVENT_CANCEL_STRENGTHEN:
    case ASX_EVENT_CANCEL_ACK:
    case ASX_EVENT_CANCEL_MASK:
    case ASX_EVENT_OBLIGATION_LEAK:
    case ASX_EVENT_MUTEX_POISON:
    case ASX_EVENT_RWLOCK_POISON:
    case ASX_EVENT_TIMER_ARM:
    case ASX_EVENT_TIMER_FIRE:
    case ASX_EVENT_TIMER_CANCEL:
    case ASX_EVENT_CLOCK_ADVANCE:
    case ASX_EVENT_RWLOCK_LOCK:
    case ASX_EVENT_RWLOCK_UNLOCK:
    case ASX_EVENT_SEMAPHORE_ADD:
        return true;
    default:
        return kind >= ASX_EVENT_CHANNEL_SEND && kind <= ASX_EVENT_CHANNEL_NACK;
    }
}

static OUTSIDE void on_other(asx__explorer *x, const asx_event *event)
{
    if (!orders_nothing(event->kind))
        asx__explorer_refuse(x, event->kind);
}

/* Events that only the oracles hear: they order nothing, and are the most frequent ones. */
static const bool is_for_oracles[] = {
    [ASX_EVENT_REGION_STATE] = true,       [ASX_EVENT_TASK_STATE] = true,
    [ASX_EVENT_TASK_RUN] = true,           [ASX_EVENT_TASK_YIELD] = true,
    [ASX_EVENT_OBLIGATION_RESERVE] = true, [ASX_EVENT_OBLIGATION_COMMIT] = true,
    [ASX_EVENT_OBLIGATION_ABORT] = true,   [ASX_EVENT_CHANNEL_SEND] = true,
    [ASX_EVENT_CHANNEL_RECV] = true,       [ASX_EVENT_MUTEX_LOCK] = true,
    [ASX_EVENT_MUTEX_UNLOCK] = true,       [ASX_EVENT_SEMAPHORE_ACQUIRE] = true,
    [ASX_EVENT_SEMAPHORE_RELEASE] = true,
};

static OUTSIDE void on_made(asx__explorer *x, const asx_event *event)
{
    /* Who has an end of a channel looks again. */
    uint64_t region = event->kind != ASX_EVENT_CHANNEL_CREATE ? event->b : 0;
    uint64_t units = event->kind == ASX_EVENT_SEMAPHORE_CREATE ? event->a : 0;
    asx__creation c = { .event = event->kind, .generation = event->object, .state = units,
                        .region = region };
    asx__explorer_made(x, &c, event->task);
}

/* What the others are for. */
typedef void follower(asx__explorer *x, const asx_event *event);
static follower *const followers[] = {
    [ASX_EVENT_TASK_SPAWN] = on_spawn,          [ASX_EVENT_TASK_COMPLETE] = on_complete,
    [ASX_EVENT_TASK_JOIN] = asx__explorer_joined, [ASX_EVENT_TASK_PARK] = on_park,
    [ASX_EVENT_TASK_WAKE] = on_wake,            [ASX_EVENT_REGION_OPEN] = on_open,
    [ASX_EVENT_REGION_REPORT] = asx__explorer_closed,
    [ASX_EVENT_REGION_CANCEL] = asx__explorer_region_cancelled,
    [ASX_EVENT_CANCEL_REQUEST] = asx__explorer_cancelled,
    [ASX_EVENT_CHANNEL_CREATE] = on_made,       [ASX_EVENT_MPMC_CREATE] = on_made,
    [ASX_EVENT_CONDITION_CREATE] = on_made,     [ASX_EVENT_NOTIFY_CREATE] = on_made,
    [ASX_EVENT_BARRIER_CREATE] = on_made,       [ASX_EVENT_ONCE_CREATE] = on_made,
    [ASX_EVENT_BROADCAST_CREATE] = on_made,     [ASX_EVENT_WATCH_CREATE] = on_made,
    [ASX_EVENT_MUTEX_CREATE] = on_made,         [ASX_EVENT_RWLOCK_CREATE] = on_made,
    [ASX_EVENT_SEMAPHORE_CREATE] = on_made,     [ASX_EVENT_TASK_PANIC] = on_panic,
};

/* One of the others. */
static inline void follow(asx__explorer *x, const asx_event *event)
{
    if (ASX__LIKELY(event->kind < sizeof followers / sizeof *followers) &&
        ASX__LIKELY(followers[event->kind] != NULL))
        followers[event->kind](x, event);
    else
        on_other(x, event);
}

/* The observer of the journal. */
static void on_event(void *ctx, const asx_event *event)
{
    asx__explorer *x = ctx;
    if (ASX__UNLIKELY(x->clearing))
        return;
    asx__oracles_hear(&x->oracles, event);
    if (ASX__UNLIKELY(x->oracles.complaint.oracle != ASX_ORACLE_NONE))
        on_complaint(x);
    if (ASX__UNLIKELY(event->kind >= sizeof is_for_oracles) ||
        ASX__UNLIKELY(!is_for_oracles[event->kind]))
        follow(x, event);
}

/* ---- turns ---------------------------------------------------------------------------------- */

asx__explorer *asx__explorer_of(const asx_runtime *rt)
{
    return rt->trace.observe == on_event ? rt->trace.observe_ctx : NULL;
}

const char *asx__explorer_name(const asx__explorer *x, uint32_t task)
{
    return task < x->known_cap && x->known[task].name != NULL ? x->known[task].name : "";
}

uint64_t asx__explorer_self(asx_cx *cx)
{
    const asx__explorer *x = cx->rt_ != NULL ? asx__explorer_of(cx->rt_) : NULL;
    const asx__lab_task *self = NULL;
    if (x != NULL && cx->task_ != NULL)
        self = asx__explorer_task(x, asx__serial(cx->task_->generation));
    return self != NULL ? (uint64_t)self->id + 1 : 1;
}

static bool do_at_once(const asx__op *op, uint64_t *ret_found)
{
    if (op->object == NULL) {
        *ret_found = 0;
        return true;
    }
    uint64_t found = asx__state_read(op->object, op->size);
    asx__op_effect effect = asx__op_eval(op, found);
    if (!effect.enabled)
        return false;
    if (effect.writes)
        asx__state_write(op->object, op->size, effect.after);
    *ret_found = found;
    return true;
}

static bool is_alone(asx_runtime *rt)
{
    if (ASX__UNLIKELY(rt->next_up != NULL))
        return false;
    return (rt->ready.words | rt->timed_len | rt->cancel.words) == 0 || asx__lanes_are_empty(rt);
}

/* Nobody else is runnable, so that it need not wait in a lane; the cancelled have rules there. */
static void wake(asx__explorer *x, uint32_t id)
{
    ASX__ASSERT(id < x->known_cap && x->known[id].standing != NULL);
    asx__task *task = x->known[id].standing;
    if (ASX__LIKELY(x->rt->next_up == NULL && (task->flags & ASX__T_CANCEL) == 0))
        asx__wake_next(x->rt, task, ASX_OK);
    else
        asx__wake(x->rt, task, ASX_OK, false);
}

/* Whose turn it is. */
static uint32_t choose(asx__explorer *x)
{
    if (ASX__UNLIKELY(x->over))
        return ASX__DPOR_NONE;
    if (ASX__UNLIKELY(x->rt->timers.live != 0 && !x->timed))
        asx__explorer_begin_time(x);
    if (x->timed && x->options->clock == ASX_EXPLORE_QUIESCENT)
        asx__explorer_announce_clock(x);
    else if (x->timed)
        asx__explorer_announce_deadlines(x);
    uint32_t chosen = asx__dpor_choose(x->dpor);
    if (ASX__UNLIKELY(x->open_len != 0) && chosen != ASX__DPOR_NONE &&
        asx__dpor_pending(x->dpor, chosen)->aims != 0) {
        asx__explorer_aim_deadlines(x);
        if (asx__dpor_restarts(x->dpor))
            return ASX__DPOR_NONE;
    }
    return chosen;
}

/* It stands for the first time in this execution. */
static OUTSIDE void know(asx__explorer *x, uint32_t id, asx__task *task)
{
    x->known[id].standing = task;
    x->known[id].name = task->name;
    x->known[id].serial = asx__serial(task->generation);
    asx__dpor_role(x->dpor, id, task->name != NULL && *task->name != 0 ? task->name : task->site);
}

uint64_t asx__explorer_stand(asx__explorer *x, asx__task *task, const asx__op *op)
{
    uint64_t serial = asx__serial(task->generation);
    uint32_t id = asx__explorer_known(x, serial)->id;
    if (ASX__UNLIKELY(id >= x->known_cap) &&
        !asx__explorer_room(x, (void **)&x->known, &x->known_cap, (size_t)id + 1,
                            sizeof *x->known))
        return 0;
    if (ASX__UNLIKELY(x->known[id].serial != serial || x->known[id].standing != task))
        know(x, id, task);
    if (ASX__UNLIKELY(op->kind == ASX__OP_SLEEP || op->kind == ASX__OP_RELAX))
        asx__explorer_sleeps(x, id, op);
    asx__dpor_announce(x->dpor, id, op);
    asx__task *next = NULL;
    if (is_alone(x->rt)) {
        uint32_t chosen = choose(x);
        if (chosen == id)
            return asx__dpor_commit(x->dpor, id);
        bool is_time = chosen == x->clock || asx__explorer_is_timer(x, chosen);
        x->due = is_time ? chosen : ASX__DPOR_NONE;
        if (chosen != x->due) {
            /* From here to the chosen task, which stands at the end of this function, nothing
             * happens that we would want to hear of; in a trace it would look as if one task had
             * waited for the other. */
            x->rt->tracing = false;
            next = x->known[chosen].standing;
            if (ASX__UNLIKELY(!asx__passes_directly(x->rt, task, next))) {
                wake(x, chosen);
                next = NULL;
            }
        }
    }
    if (next != NULL)
        (void)asx__pass_directly(x->rt, task, &x->turn, next);
    else
        (void)asx__park(x->rt, task, &x->turn, NULL);
    x->rt->tracing = true;
    x->advancing = false;
    return asx__dpor_commit(x->dpor, id);
}

/* The task waits until something holds, and has looked at a cell. */
static OUTSIDE void note_look(asx__lab_task *self, const asx__op *op, uint64_t found)
{
    bool looks = op->kind == ASX__OP_LOAD || (op->kind == ASX__OP_CAS && found != op->a);
    uint64_t name = asx__op_name(op);
    for (uint32_t i = 0; i < self->looked_len && looks; i += 2)
        looks = self->looked[i] != name;
    if (!looks)
        return;
    if (self->looked_len == 2 * ASX_LAB_UNTIL_CELLS_MAX) {
        self->looked_far = true;
        return;
    }
    self->looked[self->looked_len++] = name;
    self->looked[self->looked_len++] = found;
}

bool asx__explorer_do(asx_cx *cx, asx__op *op, uint64_t *ret_found)
{
    asx__explorer *x = cx != NULL && cx->rt_ != NULL ? asx__explorer_of(cx->rt_) : NULL;
    asx__task *task = cx != NULL ? cx->task_ : NULL;
    asx__lab_task *self = NULL;
    if (x != NULL && !x->clearing && !x->rt->in_cleanup && x->rt->current == task)
        self = asx__explorer_task(x, asx__serial(task->generation));
    if (self == NULL && x != NULL && ASX__UNLIKELY(x->firing != NULL))
        asx__explorer_refuse(x, ASX_EVENT_TIMER_FIRE);
    if (self == NULL || (task->flags & ASX__T_POLL) != 0)
        return do_at_once(op, ret_found);
    if (asx__dpor_is_wide(x->dpor) && op->object != NULL) {
        op->name = asx__explorer_cell_name(x, op->object);
        if (op->name == 0)
            asx__explorer_meet_cell(x, self->id, op->object, op->site);
    }
    *ret_found = asx__explorer_stand(x, task, op);
    self = asx__explorer_known(x,
                               asx__serial(task->generation)); /* others were started meanwhile */
    if (ASX__UNLIKELY(self->looked != NULL))
        note_look(self, op, *ret_found);
    if (ASX__UNLIKELY(x->options->sink != NULL))
        asx__explorer_journal(x, op);
    return true;
}

void asx__explorer_saw(asx_cx *cx, uint64_t value)
{
    asx__explorer *x = asx__explorer_of(cx->rt_);
    if (x != NULL)
        asx__dpor_saw(x->dpor, value);
}

static void turn_unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    (void)rt;
    (void)task;
    (void)waitable;
    (void)granted;
}

/* A cancel does not end the wait: whose turn it is, the explorer says. */
static const asx__waitable_ops turn_ops = { ASX__WAIT_EXTERNAL, asx__wait_never_ends,
                                            turn_unpublish };

/* ---- executions ----------------------------------------------------------------------------- */

static void progress_of(const asx__explorer *x, asx_explore_progress *ret)
{
    asx__dpor_stats stats;
    asx__dpor_stats_get(x->dpor, &stats);
    bool optimal = x->options->mode == ASX_EXPLORE_OPTIMAL && x->options->schedule == NULL &&
                   x->options->bound == 0 && x->options->delays == 0;
    *ret = (asx_explore_progress){
        .executions = stats.executions,
        .classes = optimal ? stats.executions - stats.redundant : stats.classes,
        .redundant = stats.redundant,
        .blocked = stats.blocked,
        .compared = stats.checked,
        .deadlocks = stats.deadlocks,
        .bugs = x->bugs,
        .too_long = x->too_long,
        .steps = stats.steps,
        .steps_longest = stats.steps_longest,
        .tasks = stats.tasks_most,
        .left_out = stats.bounded,
        .span = stats.span,
        .frontier = stats.frames,
        .frontier_most = stats.frames_most,
        .memory_bytes = stats.memory_bytes,
        .elapsed_ns = now_ns() - x->started_ns,
        .estimate = asx__dpor_estimate(stats.executions, stats.done),
    };
}

asx_status asx_explore_position(char *schedule, size_t schedule_size, char *interleaving,
                                size_t interleaving_size, asx_explore_look *ret_look)
{
    if (ret_look == NULL || (schedule != NULL && schedule_size == 0) ||
        (interleaving != NULL && interleaving_size == 0))
        return ASX_E_INVALID_ARGUMENT;
    const asx__explorer *x = asx__thread_self()->explorer;
    if (x == NULL)
        return ASX_E_WRONG_CONTEXT;
    const asx__task *task = x->rt->current;
    size_t steps;
    (void)asx__dpor_events(x->dpor, &steps);
    ret_look->steps = steps;
    ret_look->in_task = task != NULL && asx__serial(task->generation) != x->driver;
    ret_look->runtime = x->rt;
    progress_of(x, &ret_look->totals);
    asx__text words = { .bytes = schedule, .cap = schedule_size, .fixed = true };
    asx__text lines = { .bytes = interleaving, .cap = interleaving_size, .fixed = true };
    asx__text_clear(&words);
    asx__text_clear(&lines);
    if (schedule != NULL)
        asx__explore_schedule(x, &words);
    if (interleaving != NULL)
        asx__explore_lanes(x, steps, &lines);
    return ASX_OK;
}

static void stop(asx__explorer *x, asx_explore_stop why)
{
    x->stop = true;
    if (x->stopped == ASX_EXPLORE_STOP_NONE)
        x->stopped = why;
}

static void tell(asx__explorer *x, asx_explore_verdict verdict)
{
    const asx_explore_options *o = x->options;
    if (verdict != ASX_EXPLORE_GOOD && o->stop_at_first)
        stop(x, ASX_EXPLORE_STOP_FIRST);
    if (verdict == ASX_EXPLORE_GOOD || (o->on_failure == NULL && x->sharing == NULL))
        return;
    if (verdict != ASX_EXPLORE_FAILED)
        asx_lab_failed_here(verdict == ASX_EXPLORE_DEADLOCK ? "deadlock" : "too long", NULL);
    if (x->told && o->tell_first)
        return;
    x->told = true;
    asx__dpor_stats stats;
    asx__dpor_stats_get(x->dpor, &stats);
    asx__text waiting = { 0 };
    if (verdict == ASX_EXPLORE_DEADLOCK)
        asx__explore_waiting(x, &waiting);
    else if (verdict == ASX_EXPLORE_TOO_LONG)
        asx__explore_rounds(x, &waiting);
    asx__explore_schedule(x, &x->text);
    size_t steps = x->failed_at;
    if (verdict != ASX_EXPLORE_FAILED)
        (void)asx__dpor_events(x->dpor, &steps);
    asx__explore_lanes(x, steps, &x->lanes);
    const char *text = verdict == ASX_EXPLORE_FAILED ? x->failed_text : waiting.bytes;
    asx_explore_failure failure = {
        .verdict = verdict,
        .execution = stats.executions + 1,
        .steps = steps,
        .text = text != NULL ? text : "",
        .site = verdict == ASX_EXPLORE_FAILED && x->failed_site != NULL ? x->failed_site : "",
        .schedule = x->text.bytes != NULL ? x->text.bytes : "",
        .interleaving = x->lanes.bytes != NULL ? x->lanes.bytes : "",
    };
    if (x->sharing != NULL)
        x->sharing->failure(x, &failure);
    else
        o->on_failure(o->ctx, &failure);
    free(waiting.bytes);
}

/* At the clock, and at what is asked for. */
static void look(asx__explorer *x)
{
    const asx_explore_options *o = x->options;
    asx_explore_progress progress;
    progress_of(x, &progress);
    bool slow = progress.elapsed_ns - x->looked_ns > LOOK_NS;
    if (slow || x->look_every < LOOK_EVERY)
        x->look_every = slow ? 1 : 2 * x->look_every;
    x->looked_ns = progress.elapsed_ns;
    x->look_in = x->look_every;
    if (o->time_max_ns != 0 && progress.elapsed_ns >= o->time_max_ns)
        stop(x, ASX_EXPLORE_STOP_TIME);
    if (o->on_progress != NULL && !o->on_progress(o->ctx, &progress))
        stop(x, ASX_EXPLORE_STOP_ASKED);
}

/* The execution is over: tells about it, and asks for the next. */
static void finish(asx__explorer *x, bool stuck)
{
    const asx_explore_options *o = x->options;
    bool too_long = asx__dpor_too_long(x->dpor);
    bool leaked = x->rt->leaks_refused != x->leaks_before;
    if (x->shots_len != 0)
        asx__explorer_aim_late(x);
    asx__explorer_aim_rest(x);
    if (!stuck && x->clock != ASX__DPOR_NONE) /* nobody waits for it any more */
        asx__dpor_withdraw(x->dpor, x->clock);
    bool counts = !asx__dpor_restarts(x->dpor) && !asx__dpor_blocked(x->dpor);
    if (counts && !stuck && x->failed_text == NULL &&
        asx__oracles_end(&x->oracles, leaked ? ASX_E_OBLIGATION_LEAKED : ASX_OK))
        on_complaint(x);
    if (asx__dpor_restarts(x->dpor)) {
        x->bugs = x->too_long = 0;
        x->told = false;
    }
    if (counts && asx__dpor_status(x->dpor) == ASX_OK && x->unsupported == 0) {
        x->bugs += x->failed_text != NULL;
        x->too_long += too_long;
        tell(x, x->failed_text != NULL ? ASX_EXPLORE_FAILED
                : too_long             ? ASX_EXPLORE_TOO_LONG
                : stuck                ? ASX_EXPLORE_DEADLOCK
                                       : ASX_EXPLORE_GOOD);
    }
    if (x->sharing != NULL)
        x->sharing->before_finish(x);
    x->more = asx__dpor_finish(x->dpor, stuck && !too_long && x->unsupported == 0);
    if (asx__dpor_status(x->dpor) == ASX_E_DIVERGED && x->diverged[0] == '\0')
        asx__explore_divergence(x, x->diverged, sizeof x->diverged);
    if (x->status == ASX_OK && !x->over) /* else there may be more of its plan */
        x->status = x->unsupported != 0 ? ASX_E_NOT_SUPPORTED : asx__dpor_status(x->dpor);
    if (x->sharing != NULL) {
        x->sharing->after_finish(x);
        return;
    }
    asx__dpor_stats stats;
    asx__dpor_stats_get(x->dpor, &stats);
    if (o->executions_max != 0 && stats.executions >= o->executions_max)
        stop(x, ASX_EXPLORE_STOP_EXECUTIONS);
    if (o->time_max_ns == 0 && o->on_progress == NULL)
        return;
    if (x->look_in <= 1)
        look(x);
    else
        x->look_in--;
}

static asx_status test_main(asx_cx *cx, void *arg)
{
    asx__explorer *x = arg;
    x->fn(cx, x->arg);
    return ASX_OK;
}

/* Every execution begins at the same time: a test may name one. Not if a timer was left behind; and
 * in a trace time does not go back. */
static void turn_back(asx__explorer *x)
{
    asx_runtime *rt = x->rt;
    asx_time start = rt->config.timers.start;
    if (ASX__LIKELY(rt->now == start) || rt->timers.live != 0 || x->options->sink != NULL)
        return;
    asx__virtual_clock_init(&rt->virtual_, start);
    asx__timer_wheel_restart(&rt->timers, start);
    rt->now = start;
}

static void begin(asx__explorer *x)
{
    asx__timers_forget(x);
    turn_back(x);
    x->first_serial = 0;
    x->tasks_len = 0;
    x->regions_len = 0;
    asx__explorer_forget_things(x);
    x->yields_len = x->links_len = x->bare_len = x->shots_len = x->aiming_len = x->open_len = 0;
    x->search = 0;
    x->timed_tasks = x->timed_regions = 0;
    asx__explorer_forget_targets(x);
    x->advancing = x->timed = x->limits = false;
    x->began = x->rt->now;
    x->clock = x->due = ASX__DPOR_NONE;
    x->clearing = false;
    x->more = false;
    x->over = false;
    x->failed_text = x->failed_site = NULL;
    x->errors_len = x->expected_len = 0;
    x->erred = false;
    x->leaks_before = x->rt->leaks_refused;
    asx__oracles_begin(&x->oracles);
    asx__dpor_begin(x->dpor);
}

/* The main task of the runtime. */
static asx_status drive(asx_cx *cx, void *arg)
{
    asx__explorer *x = arg;
    x->driver = asx__serial(cx->task_->generation);
    do {
        begin(x);
        asx_status st = asx_region_open(cx, NULL, &x->region);
        if (st < 0)
            return st;
        st = asx_spawn_at(&x->region, "test", test_main, x, ""); /* no line of its program */
        asx_status closed = asx_region_close(&x->region, ASX_OK);
        if (st < 0)
            return st;
        if (x->clearing)
            continue;
        asx__explorer_judge_errors(x);
        if (closed < 0 && !x->erred)
            asx__explorer_fail(x, asx_status_str(closed), NULL);
        asx__timers_end(x);
        finish(x, false);
    } while (x->more && !x->stop && x->status == ASX_OK);
    return ASX_OK;
}

/* Nothing can go on: what is left is completed without being resumed, oldest first, so that nobody
 * is woken by the end of another. */
static void clear_away(asx__explorer *x)
{
    asx_runtime *rt = x->rt;
    asx__region *region;
    x->clearing = true;
    if (asx__region_resolve(&x->region, ASX_STATE_MASK_ALL, &region) < 0)
        return;
    asx__region_cancel(rt, region,
                       asx__reason_make(rt, region, ASX_CANCEL_USER, region, NULL, NULL, NULL));
    for (uint32_t i = 0; i < rt->tasks.carved; i++) {
        asx__task *task = asx__slab_at(&rt->tasks, i);
        if (task->generation == 0 || task->phase == ASX_TASK_COMPLETED ||
            asx__serial(task->generation) < x->first_serial)
            continue;
        if (task->reason == NULL) /* finalizers, which no region tells */
            asx__task_cancel(rt, task, region->reason);
        asx__task_force(rt, task);
    }
}

/* Nobody can go before the next deadline: the clock moves to it, and what is due then happens. */
static void advance(asx__explorer *x)
{
    asx_time next = x->began + asx__dpor_pending(x->dpor, x->clock)->a;
    (void)asx__dpor_commit(x->dpor, x->clock);
    x->advancing = true;
    if (next > x->rt->now && asx__virtual_clock_set(&x->rt->virtual_, next) == ASX_OK)
        x->rt->now = next;
}

/* All tasks wait. False: the exploration cannot go on. */
static bool decide(asx__explorer *x)
{
    if (x->first_serial == 0)
        return false;
    if (x->clearing)
        return false;
    uint32_t chosen = x->due; /* to ask twice would count, or draw, twice */
    x->due = ASX__DPOR_NONE;
    if (x->unsupported != 0)
        chosen = ASX__DPOR_NONE;
    else if (chosen == ASX__DPOR_NONE)
        chosen = choose(x);
    if (chosen != ASX__DPOR_NONE && chosen == x->clock) {
        advance(x);
        return true;
    }
    if (chosen != ASX__DPOR_NONE) {
        if (!asx__explorer_fire(x, chosen))
            wake(x, chosen);
        return true;
    }
    finish(x, true);
    clear_away(x);
    return true;
}

/* Where that needs nobody else; nor does anybody hear how it comes to the chosen task. */
bool asx__explorer_goes_on(void *ctx)
{
    asx__explorer *x = ctx;
    asx_runtime *rt = x->rt;
    if (x->clearing || x->unsupported != 0 || x->timed || x->options->sink != NULL ||
        x->oracles.complaint.oracle != ASX_ORACLE_NONE || rt->timers.live != 0 ||
        rt->unarmed != NULL || rt->finished || !is_alone(rt))
        return false;
    uint32_t chosen = choose(x);
    if (chosen == ASX__DPOR_NONE || (x->known[chosen].standing->flags & ASX__T_CANCEL) != 0) {
        x->due = chosen;
        return false;
    }
    rt->tracing = false;
    wake(x, chosen);
    return true;
}

/* ---- from outside --------------------------------------------------------------------------- */

static const asx__dpor_mode engine_modes[] = { ASX__DPOR_OPTIMAL, ASX__DPOR_DFS, ASX__DPOR_RANDOM,
                                               ASX__DPOR_PCT, ASX__DPOR_SAMPLE,
                                               ASX__DPOR_SOURCE, ASX__DPOR_POS };

static asx_status create_engine(asx__explorer *x)
{
    const asx_explore_options *o = x->options;
    asx__dpor_options options = { .mode = engine_modes[o->mode],
                                  .seed = o->seed,
                                  .steps_max = o->steps_max,
                                  .depth = o->depth,
                                  .bound = o->bound,
                                  .delays = o->delays,
                                  .costs = o->weak,
                                  .check = !o->trust_reduction,
                                  .names = x->sharing != NULL ? x->sharing->names : NULL,
                                  .aim = asx__explorer_aim,
                                  .aim_ctx = x };
    asx__step *steps = NULL;
    size_t count = 0;
    asx_status st = ASX_OK;
    if ((o->bound != 0 || o->delays != 0) && options.mode == ASX__DPOR_OPTIMAL)
        options.mode = ASX__DPOR_DFS;
    if (o->schedule != NULL)
        options.mode = ASX__DPOR_REPLAY;
    x->dpor = asx__dpor_create(&options);
    if (x->dpor == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    if (o->schedule != NULL)
        st = asx__explore_parse(x, o->schedule, &steps, &count);
    if (st >= 0)
        st = asx__dpor_plan(x->dpor, steps, count);
    free(steps);
    return st;
}

static asx_status create_runtime(asx__explorer *x)
{
    asx_runtime_config config;
    memset(&config, 0, sizeof config);
    config.lab = config.trace = true;
    config.clock = ASX_CLOCK_VIRTUAL;
    config.join_in_order = true;
    config.trace_events_max = x->options->sink == NULL;
    config.trace_overflow = ASX_TRACE_OVERWRITE;
    config.program = x->options->program;
    asx_status st = asx_runtime_create(&config, &x->rt);
    if (st < 0)
        return st;
    if (x->options->sink == NULL) { /* the journal is listened to, not kept */
        asx__trace_deinit(&x->rt->trace);
        st = asx__trace_init(&x->rt->trace, 0, ASX__TRACE_TELL, NULL);
    }
    asx__trace_observe(&x->rt->trace, on_event, x);
    asx__explorer_seam_init(x);
    asx__explorer_take_stacks(x->rt);
    return st;
}

static asx_status run(asx__explorer *x)
{
    asx_status st = create_engine(x);
    if (st >= 0)
        st = create_runtime(x);
    if (st < 0)
        return st;
    x->turn.ops = &turn_ops;
    asx__thread_self()->explorer = x;
    x->started_ns = now_ns();
    x->look_every = 1;
    if (x->sharing != NULL && !x->sharing->begin(x))
        return ASX_OK;
    st = asx_runtime_start(x->rt, drive, x);
    while (st >= 0) {
        asx_status step = asx_runtime_step(x->rt, 0, NULL);
        if ((x->over || x->oracles.complaint.oracle == ASX_ORACLE_LIVELOCK) && !x->clearing) {
            finish(x, false);
            x->more = x->lost = true;
            stop(x, ASX_EXPLORE_STOP_FIRST);
            break;
        }
        if (step != ASX_E_WOULD_BLOCK) {
            st = step;
            break;
        }
        if (!decide(x)) {
            x->status = ASX_E_NOT_SUPPORTED;
            break;
        }
    }
    if (st == ASX_E_CANCELLED && x->unsupported == 0)
        x->unsupported = ASX_EVENT_CANCEL_REQUEST;
    if (st < 0 && x->unsupported != 0) { /* a shutdown has ended the runtime with the test */
        x->status = ASX_E_NOT_SUPPORTED;
        return ASX_OK;
    }
    /* Leaked in an execution, which has failed for it, or was cleared away with what it held. */
    return st == ASX_E_OBLIGATION_LEAKED ? ASX_OK : st;
}

/* Why not everything was seen, if so. */
static asx_explore_stop stopped_by(const asx__explorer *x, bool sampling)
{
    asx__dpor_stats stats;
    asx__dpor_stats_get(x->dpor, &stats);
    if (x->status < 0)
        return ASX_EXPLORE_STOP_FAILED;
    if (sampling || x->options->schedule != NULL)
        return x->stopped != ASX_EXPLORE_STOP_NONE && x->stopped != ASX_EXPLORE_STOP_EXECUTIONS
                   ? x->stopped
                   : ASX_EXPLORE_STOP_SAMPLED;
    if (x->more)
        return x->stopped;
    if (stats.bounded != 0)
        return ASX_EXPLORE_STOP_BOUND;
    return x->too_long != 0 ? ASX_EXPLORE_STOP_TOO_LONG : ASX_EXPLORE_STOP_NONE;
}

asx_status asx__explore_alone(const asx_explore_options *o, asx_lab_fn fn, void *arg,
                              asx__sharing *sharing, asx_explore_result *ret_result)
{
    asx__explorer x;
    memset(&x, 0, sizeof x);
    x.options = o;
    x.sharing = sharing;
    asx__oracles_init(&x.oracles);
    x.oracles.partial = true;
    x.fn = fn;
    x.arg = arg;
    x.clearing = true; /* nothing is heard before the first execution */
    x.cancels = (o->faults & ASX_EXPLORE_FAULT_CANCEL) != 0;
    x.drops = x.claims = o->schedule != NULL; /* one run: it is not begun twice for them */
    const void *outer = asx__thread_self()->explorer;
    asx_status st = run(&x);
    asx__thread_self()->explorer = outer;
    if (st >= 0 && o->sink != NULL)
        st = asx_runtime_trace_write(x.rt, o->sink, o->ctx);
    if (st >= 0 && sharing != NULL)
        sharing->end(&x);
    if (st >= 0) {
        memset(ret_result, 0, sizeof *ret_result);
        progress_of(&x, &ret_result->totals);
        ret_result->status = x.status;
        ret_result->stopped = stopped_by(&x, asx__explore_samples(o));
        ret_result->complete = ret_result->stopped == ASX_EXPLORE_STOP_NONE;
        ret_result->unsupported = x.unsupported != 0 ? asx_event_kind_str(x.unsupported) : NULL;
        ret_result->cell_moved =
            x.cell_moved || (x.allocates && (ret_result->totals.blocked != 0 ||
                                             ret_result->totals.redundant != 0));
        memcpy(ret_result->diverged, x.diverged, sizeof x.diverged);
        asx__site_copy(ret_result->unsupported_site, sizeof ret_result->unsupported_site,
                       x.unsupported_site);
    }
    x.clearing = true;
    if (x.rt != NULL)
        asx__explorer_leave_stacks(x.rt);
    asx_status destroyed = asx_runtime_destroy(x.rt);
    asx__timers_free(&x);
    asx__dpor_destroy(x.dpor);
    asx__oracles_deinit(&x.oracles);
    free(x.tasks);
    free(x.regions);
    free(x.things);
    free(x.links);
    free(x.shots);
    free(x.yields);
    free(x.errors);
    free(x.reached);
    free(x.aiming);
    free(x.open);
    asx__explorer_forget_targets(&x);
    free(x.known);
    asx__explorer_forget_sites(&x);
    free(x.text.bytes);
    free(x.lanes.bytes);
    free(x.said.bytes);
    return st < 0 ? st : destroyed;
}
