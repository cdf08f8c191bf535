/* cancel.c - requests, acknowledgement, cleanup budgets, force.
 *
 * Reasons live in region memory and are shared: every task of a cancelled region points at the
 * region's reason, and a child region's reason (kind Parent) points at it as its cause. So a
 * request costs a task nothing but its place in a lane.
 *
 *     flags & T_CANCEL  <=>  reason != NULL  <=>  phase is none of Created, Running
 *                            (a task that completed keeps what it had)
 *
 * Two waits are bounded by the kind's quota of resumptions (cleanup_left): from the request to the
 * acknowledgement, and from there to the end; and both by a time, kept by one timer per region.
 * An overrun lifts the masks for GRACE_POLLS more resumptions; after that the task is completed by
 * force, on the loop's stack and never on its own. The time counts from the first request: a later
 * one may strengthen the reason and shorten what is left, never lengthen it. The last grace counts
 * from when the masks were lifted, which is late where the process stood still.
 *
 * How a cancellation comes to whole regions is told in propagate.c.
 *
 * A wait that a cancel ends is acknowledged when the task is resumed with ASX_E_CANCELLED: that is
 * the moment it is told.
 */
#include "sched/engine.h"
#include "sched/failed.h"
#include "sched/hot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRACE_POLLS 8u
/* In the last grace the low bits of cleanup_left count it down; the others keep how much of the
 * quota was left when it began. */
#define GRACE_BITS 4u
#define GRACE_MASK ((1u << GRACE_BITS) - 1u)

/* ---- reasons -------------------------------------------------------------------------------- */

/* Every reason that a task or region points to is the first field of one of these. */
typedef struct reason_record {
    asx_cancel_reason reason;
    asx_time requested_at; /* the reason's own timestamp may be the user's */
    asx_time lifted_at;    /* its task's masks, later than they should have been; 0: not so */
} reason_record;

/* When there is no memory for a better one. */
static const reason_record bare_reasons[ASX_CANCEL_KIND_COUNT] = {
#define BARE(name, number, severity, quota, priority)                                              \
    [number] = { .reason = { .kind = ASX_CANCEL_##name } },
    ASX_CANCEL_KIND_LIST(BARE)
#undef BARE
};

static const reason_record *record_of(const asx_cancel_reason *reason)
{
    return (const reason_record *)(const void *)reason;
}

static asx_time requested_at(const asx_cancel_reason *reason)
{
    return record_of(reason)->requested_at;
}

/* NULL: no memory. */
static reason_record *new_record(asx__region *home, asx_time requested)
{
    reason_record *record = asx__region_memory(home, sizeof *record);
    if (record == NULL)
        return NULL;
    memset(record, 0, sizeof *record);
    record->requested_at = requested;
    return record;
}

static asx_cancel_reason *new_reason(asx__region *home, asx_time requested)
{
    reason_record *record = new_record(home, requested);
    return record != NULL ? &record->reason : NULL;
}

static char *copy_message(asx__region *home, const char *message)
{
    if (message == NULL)
        return NULL;
    size_t len = asx__cancel_message_fit(message, ASX_CANCEL_CHAIN_BYTES_MAX);
    char *copy = asx__region_memory(home, len + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, message, len);
    copy[len] = '\0';
    return copy;
}

/* Links behind a cut that are kept besides the root. Fewer than would fit: the next regions further
 * down add theirs without copying any. */
#define NEAREST 7u

/* The chain was cut right behind `reason`, down to its root. Links are shared and never change, so
 * the nearest ones are copied in between, as many as there is memory for. */
static void keep_nearest(const asx_runtime *rt, asx__region *home, asx_cancel_reason *reason,
                         const asx_cancel_reason *at)
{
    const asx_cancel_reason *root = reason->cause;
    asx_cancel_reason *last = reason;
    if (root == NULL)
        return;
    size_t bytes = asx__cancel_reason_bytes(reason) + asx__cancel_reason_bytes(root);
    for (unsigned i = 0; i < NEAREST && at != root; i++, at = at->cause) {
        size_t size = asx__cancel_reason_bytes(at);
        asx_cancel_reason *copy = size <= ASX_CANCEL_CHAIN_BYTES_MAX - bytes
                                      ? new_reason(home, rt->now)
                                      : NULL;
        if (copy == NULL)
            break;
        *copy = *at; /* its message is of a region around this one */
        copy->cause = root;
        last->cause = copy;
        last->truncated = false;
        last->truncated_depth = 0;
        last = copy;
        bytes += size;
    }
    if (at != root) {
        last->truncated = true;
        last->truncated_depth = asx__cancel_chain_length(at);
    }
}

const asx_cancel_reason *asx__reason_make(asx_runtime *rt, asx__region *home, asx_cancel_kind kind,
                                          const asx__region *origin, const asx__task *origin_task,
                                          const char *message, const asx_cancel_reason *cause)
{
    asx_cancel_reason *reason = new_reason(home, rt->now);
    if (reason == NULL)
        return &bare_reasons[kind].reason;
    reason->kind = kind;
    reason->timestamp = rt->now;
    if (origin != NULL)
        reason->origin_region = asx__region_name(origin).id;
    if (origin_task != NULL)
        reason->origin_task = asx_handle_make(ASX_TAG_TASK, ASX_STATE_MASK_ALL,
                                              origin_task->index,
                                              origin_task->generation);
    reason->message = copy_message(home, message);
    if (cause != NULL && asx__cancel_chain_link(reason, cause, ASX_CANCEL_CHAIN_DEPTH_MAX,
                                                ASX_CANCEL_CHAIN_BYTES_MAX) < 0)
        keep_nearest(rt, home, reason, cause);
    return reason;
}

/* A user's reason, with as much of its causes as the limits allow. */
const asx_cancel_reason *asx__reason_copy(asx_runtime *rt, asx__region *home,
                                          const asx_cancel_reason *source)
{
    const asx__task *who = rt->current;
    if (source == NULL)
        return asx__reason_make(rt, home, ASX_CANCEL_USER, who != NULL ? who->region : home, who,
                                NULL, NULL);
    asx__chain_size fit = asx__cancel_chain_fit(source, ASX_CANCEL_CHAIN_DEPTH_MAX,
                                                ASX_CANCEL_CHAIN_BYTES_MAX);
    asx_cancel_reason *first = NULL, *last = NULL;
    uint32_t links = fit.links != 0 ? fit.links : 1; /* the first always, its message clipped */
    for (uint32_t i = 0; i < links; i++, source = source->cause) {
        asx_cancel_reason *copy = new_reason(home, rt->now);
        if (copy == NULL)
            return NULL;
        *copy = *source;
        copy->cause = NULL;
        copy->message = copy_message(home, source->message);
        if (source->message != NULL && copy->message == NULL)
            return NULL;
        if (last != NULL)
            last->cause = copy;
        else
            first = copy;
        last = copy;
    }
    if (last != NULL && !fit.whole) {
        last->truncated = true;
        last->truncated_depth = asx__cancel_chain_length(source);
    }
    if (first != NULL && first->timestamp == 0)
        first->timestamp = rt->now;
    if (first != NULL && first->origin_region.generation == 0 && who != NULL)
        first->origin_region = asx__region_name(who->region).id;
    return first;
}

/* ---- requests ------------------------------------------------------------------------------- */

/* Ends the wait of a parked task; its call returns the status when it runs again. */
static void wake_refused(asx_runtime *rt, asx__task *task, asx_status status)
{
    asx__waitable *waitable = task->w.waits;
    bool granted = (task->flags & ASX__T_GRANTED) != 0;
    if (waitable != NULL)
        waitable->ops->unpublish(rt, task, waitable, granted);
    task->flags &= ~(uint32_t)ASX__T_GRANTED;
    asx__wake(rt, task, status, false);
}

/* Asked before a wait is ended, and not otherwise. */
static bool waits_uncancellably(asx_runtime *rt, const asx__task *task)
{
    asx__waitable *waitable = task->w.waits;
    if (asx__exec_state(task) != ASX__EXEC_PARKED || waitable == NULL)
        return false;
    return asx__wait_goes_on(rt, waitable);
}

void asx__end_wait(asx_runtime *rt, asx__task *task, asx_status status)
{
    if (!waits_uncancellably(rt, task))
        wake_refused(rt, task, status);
}

/* A permit that was written for a fiber which has not run since; NULL: it has been resolved. */
static asx__obligation *permit_on_its_way(const asx_send_permit *permit, const asx__task *task)
{
    asx__obligation *o = permit->record_;
    bool live = asx__obligation_object(o) != NULL && o->owner == task;
    return live && asx__obligation_id(o) == permit->obligation_ ? o : NULL;
}

bool asx__take_back(asx_runtime *rt, asx__task *task, unsigned exec)
{
    if (exec == ASX__EXEC_PERMITTED) {
        asx_send_permit *permit = task->r.io; /* or a guard, which begins likewise */
        asx__obligation *o = permit_on_its_way(permit, task);
        if (o == NULL)
            return false;
        rt->registry.release[o->kind](rt, o);
        permit->channel_ = NULL; /* its wait is refused, and gives nothing */
        permit->obligation_ = 0;
        permit->record_ = NULL;
        return true;
    }
    return (task->flags & ASX__T_POLL) == 0 && asx__task_leave_place(rt, task);
}

/* Puts a newly cancelled task where it will be run from, with the priority that goes with it. */
static void expedite(asx_runtime *rt, asx__task *task, uint8_t priority)
{
    bool queued = asx__is_queued(task);
    unsigned exec = asx__exec_state(task);
    if (queued) /* the list it stands in is that of its old priority */
        asx__dequeue(rt, task);
    if (priority > task->priority)
        task->priority = priority;
    task->flags |= ASX__T_RAISED | ASX__T_CANCEL;
    if (queued && !asx__task_masked(task) &&
        (exec == ASX__EXEC_YIELDED || asx__take_back(rt, task, exec)))
        task->w.status = ASX_E_CANCELLED; /* it has got nothing that it would keep */
    if (queued)
        asx__enqueue_again(rt, task);
    else if (asx__exec_state(task) != ASX__EXEC_PARKED)
        asx__engine_call_in(rt, task);
    else if (!asx__task_masked(task))
        asx__end_wait(rt, task, ASX_E_CANCELLED);
}

static void watch_cleanup(asx_runtime *rt, asx__region *region, asx_time since)
{
    if (region->cleanup == ASX_CLEANUP_SOFT || rt->seam != NULL)
        return;
    asx_time at = asx_time_add(since, region->cleanup_time_ns);
    if (at < region->cleanup_at) {
        region->cleanup_at = at;
        asx__region_arm(rt, region);
    }
}

/* The stronger reason, with the times of the first request. */
static const asx_cancel_reason *keep_time(asx__task *task, const asx_cancel_reason *stronger)
{
    const reason_record *first = record_of(task->reason);
    reason_record *copy = first->requested_at < requested_at(stronger)
                              ? new_record(task->region, first->requested_at)
                              : NULL;
    if (copy == NULL)
        return stronger;
    copy->reason = *stronger;
    copy->lifted_at = first->lifted_at;
    return &copy->reason;
}

/* In the last grace only what is told of it changes. */
static void bound_quota(asx__task *task, uint32_t quota)
{
    bool grace = (task->flags & ASX__T_GRACE) != 0;
    unsigned left = task->cleanup_left, in_grace = grace ? left & GRACE_MASK : 0;
    unsigned shift = grace ? GRACE_BITS : 0;
    if (quota < left >> shift)
        task->cleanup_left = (uint16_t)(quota << shift | in_grace);
}

static void strengthen(asx_runtime *rt, asx__task *task, const asx_cancel_reason *reason)
{
    asx_budget cleanup = asx_cancel_cleanup_budget(reason->kind);
    bool stronger = asx_cancel_reason_stronger(reason, task->reason);
    asx_status st = asx__task_fire(&task->phase, ASX__TASK_REQUEST_CANCEL);
    ASX__ASSERT(st == ASX_OK); /* and it has stayed where it was */
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_CANCEL_STRENGTHEN, asx__serial(task->generation),
                     (uint64_t)reason->kind, stronger, 0);
    if (stronger)
        task->reason = keep_time(task, reason);
    bound_quota(task, cleanup.poll_quota);
    if (cleanup.priority > task->priority) {
        bool queued = asx__is_queued(task);
        if (queued)
            asx__dequeue(rt, task);
        task->priority = cleanup.priority;
        task->flags |= ASX__T_RAISED;
        if (queued)
            asx__enqueue_again(rt, task);
    }
}

void asx__task_cancel(asx_runtime *rt, asx__task *task, const asx_cancel_reason *reason)
{
    if (task->phase == ASX_TASK_COMPLETED)
        return;
    if (task->flags & ASX__T_CANCEL) {
        strengthen(rt, task, reason);
        return;
    }
    unsigned from = task->phase;
    asx_status st = asx__task_step(&task->phase, ASX_TASK_CANCEL_REQUESTED);
    ASX__ASSERT(st == ASX_OK);
    task->reason = reason;
    task->cleanup_left = asx__cancel_quota(reason->kind);
    if (ASX__UNLIKELY(rt->tracing)) {
        uint64_t seq = asx__journal(rt, ASX_EVENT_CANCEL_REQUEST, asx__serial(task->generation),
                                    (uint64_t)reason->kind, 1, 0);
        asx__journal(rt, ASX_EVENT_TASK_STATE, asx__serial(task->generation), from,
                     ASX_TASK_CANCEL_REQUESTED, 0);
        if (task->extra != NULL)
            task->extra->wake_seq = seq;
    }
    expedite(rt, task, asx__cancel_priority(reason->kind));
    watch_cleanup(rt, task->region, rt->now);
    if (ASX__UNLIKELY(task->extra != NULL && task->extra->scopes != NULL))
        asx__cancel_scopes(rt, task);
}

/* ---- being told ----------------------------------------------------------------------------- */

static __attribute__((noinline)) void journal_ack(asx_runtime *rt, const asx__task *task)
{
    uint64_t cause = task->extra != NULL ? task->extra->wake_seq : 0;
    asx__journal(rt, ASX_EVENT_CANCEL_ACK, asx__serial(task->generation),
                 (uint64_t)task->reason->kind, task->cleanup_left, cause);
    asx__journal(rt, ASX_EVENT_TASK_STATE, asx__serial(task->generation),
                 ASX_TASK_CANCEL_REQUESTED, ASX_TASK_CANCELLING, 0);
}

static inline void acknowledge(asx_runtime *rt, asx__task *task)
{
    asx_status st = asx__task_step(&task->phase, ASX_TASK_CANCELLING);
    ASX__ASSERT(st == ASX_OK);
    if ((task->flags & ASX__T_GRACE) == 0) /* the last grace is not renewed */
        task->cleanup_left = asx__cancel_quota(task->reason->kind);
    if (ASX__UNLIKELY(rt->tracing))
        journal_ack(rt, task);
}

/* A task that looks at the clock may notice a deadline before the timer of its region does, and the
 * region may close before that one fires: what close says does not depend on who was first. */
static void note_deadline(const asx_runtime *rt, asx__region *region)
{
    for (; region != NULL && region->budget.deadline <= rt->now; region = region->parent) {
        if (region->deadline_at <= rt->now)
            region->timed_out = true;
        else if (!region->timed_out && !region->shielded)
            region->outer_cancel = true;
    }
}

void asx__budget_exhaust(asx_runtime *rt, asx__task *task, asx_cancel_kind kind)
{
    if (kind == ASX_CANCEL_DEADLINE)
        note_deadline(rt, task->region);
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_BUDGET_EXHAUSTED, asx__serial(task->generation), (uint64_t)kind,
                     0, 0);
    asx__task_cancel(rt, task,
                     asx__reason_make(rt, task->region, kind, task->region, task, NULL, NULL));
}

asx_status asx__tell(asx_runtime *rt, asx__task *task)
{
    if ((task->flags & ASX__T_CANCEL) == 0) {
        asx_cancel_kind kind;
        asx_budget time_only = task->extra->budget;
        time_only.poll_quota = ASX_QUOTA_UNLIMITED; /* polls are charged before a resumption */
        time_only.cost_quota = ASX_COST_UNLIMITED;
        if (!asx__budget_exhausted(&time_only, rt->now, &kind))
            return asx__scopes_tell(task);
        asx__budget_exhaust(rt, task, kind);
    }
    if (asx__task_masked(task))
        return ASX_OK;
    if (task->phase == ASX_TASK_CANCEL_REQUESTED)
        acknowledge(rt, task);
    return ASX_E_CANCELLED;
}

/* A fiber that has been told and goes on trying to wait gives way each time it is refused: so it
 * pays from its cleanup budget, and one that never listens can be completed by force. One that is
 * refused because a region of it has failed keeps nobody else from running either. */
asx_status asx__checkpoint_slow(asx_runtime *rt, asx__task *task)
{
    bool told = task->phase != ASX_TASK_CANCEL_REQUESTED;
    asx_status st = asx__tell(rt, task);
    if (st < 0 && told && (task->flags & ASX__T_POLL) == 0 && !rt->in_cleanup)
        return asx__give_way_refused(rt, task, st);
    return st;
}

asx_status asx_checkpoint(asx_cx *cx)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, asx_checkpoint(&in));
        return st;
    }
    (void)asx__announce(rt, task, ASX__OP_CHECKPOINT, 0);
    return asx__tell_if_needed(rt, task);
}

bool asx_is_cancelled(const asx_cx *cx)
{
    if (cx == NULL || cx->task_ == NULL)
        return false;
    ASX__GATE_CX_AS(bool, cx, asx_is_cancelled(&in));
    (void)asx__announce(cx->rt_, cx->task_, ASX__OP_IS_CANCELLED, 0);
    return (cx->task_->flags & ASX__T_CANCEL) != 0;
}

asx_status asx_cx_cancel_reason(const asx_cx *cx, const asx_cancel_reason **ret_reason)
{
    ASX__EMPTY(ret_reason);
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, asx_cx_cancel_reason(&in, ret_reason));
        return st;
    }
    if (ret_reason == NULL)
        return ASX_E_INVALID_ARGUMENT;
    (void)asx__announce(rt, task, ASX__OP_IS_CANCELLED, 0);
    if (task->reason == NULL)
        return ASX_E_NOT_FOUND;
    *ret_reason = task->reason;
    return ASX_OK;
}

/* ---- cleanup budget ------------------------------------------------------------------------- */

static _Noreturn void abort_overrun(asx_runtime *rt, asx__task *task)
{
    char path[256];
    asx__region_path(task->region, path, sizeof path);
    (void)rt;
    fprintf(stderr, "asx: task \"%s\" (%s) in region %s did not end within its cleanup budget\n",
            task->name != NULL ? task->name : "", task->site != NULL ? task->site : "?", path);
    abort();
}

/* How long the last grace is. */
static uint64_t grace_ns(const asx__region *region)
{
    return region->cleanup_time_ns / 8 + 1;
}

static void begin_grace(asx__task *task)
{
    task->flags |= ASX__T_GRACE;
    task->cleanup_left = (uint16_t)((unsigned)task->cleanup_left << GRACE_BITS | GRACE_POLLS);
}

/* How many more resumptions it has, the last grace not counted before it has begun. */
static uint32_t polls_left(const asx__task *task)
{
    return task->flags & ASX__T_GRACE ? task->cleanup_left & GRACE_MASK : task->cleanup_left;
}

uint32_t asx__cleanup_used(const asx__task *task)
{
    bool grace = (task->flags & ASX__T_GRACE) != 0;
    uint32_t quota = asx_cancel_cleanup_budget(task->reason->kind).poll_quota;
    uint32_t left = grace ? (uint32_t)task->cleanup_left >> GRACE_BITS : task->cleanup_left;
    ASX__DEBUG_ASSERT(left <= quota); /* severer kinds give less, and a request never gives more */
    return quota - left + (grace ? GRACE_POLLS - polls_left(task) : 0);
}

/* True: past its last grace. The first time it lifts the masks instead. */
static bool overrun(asx_runtime *rt, asx__task *task)
{
    if (task->region->cleanup == ASX_CLEANUP_PANIC)
        abort_overrun(rt, task);
    if (task->flags & ASX__T_GRACE)
        return true;
    if (asx__task_masked(task))
        asx__region_note_overrun(rt, task, false);
    begin_grace(task);
    asx__scopes_catch_up(rt, task);
    return false;
}

bool asx__cleanup_charge(asx_runtime *rt, asx__task *task)
{
    asx__exec_run(rt, task);
    if (ASX__UNLIKELY(rt->seam != NULL))
        return false; /* how often it is resumed depends on the order in which others go */
    task->flags &= ~(uint32_t)ASX__T_TOLD;
    if (task->mask_depth != 0) {
        asx__mask_charge(task);
        asx__scopes_catch_up(rt, task);
    }
    if (task->region->cleanup != ASX_CLEANUP_SOFT) {
        if (polls_left(task) == 0 && overrun(rt, task)) {
            asx__task_force(rt, task);
            return true;
        }
        task->cleanup_left--;
    }
    if ((task->flags & (ASX__T_POLL | ASX__T_STARTED)) == ASX__T_STARTED &&
        task->w.status == ASX_E_CANCELLED && task->phase == ASX_TASK_CANCEL_REQUESTED)
        acknowledge(rt, task);
    return false;
}

void asx__region_keep_stack(asx_runtime *rt, asx__task *task)
{
    if ((task->flags & (ASX__T_POLL | ASX__T_STARTED)) != ASX__T_STARTED)
        return;
    asx__stack *stack = task->u.fiber.stack;
    uint32_t stack_class = task->extra != NULL ? task->extra->stack_class : 0;
    stack->owner = stack_class != 0 ? &rt->pools[stack_class - 1] : rt->pool;
    stack->next = task->region->kept;
    task->region->kept = stack;
    task->region->n_kept++;
    rt->stacks_kept++;
    rt->fibers_live++; /* its stack stays in use: the ceiling must know */
}

void asx__task_force(asx_runtime *rt, asx__task *task)
{
    asx__region *region = task->region;
    unsigned exec = asx__exec_state(task);
    asx__region_note_overrun(rt, task, true);
    if (asx__is_queued(task))
        asx__dequeue(rt, task);
    /* A poll task may also have a grant that it has not picked up. */
    if ((exec == ASX__EXEC_PARKED || (task->flags & ASX__T_POLL)) && task->w.waits != NULL)
        task->w.waits->ops->unpublish(rt, task, task->w.waits,
                                      (task->flags & ASX__T_GRANTED) != 0);
    task->flags &= ~(uint32_t)ASX__T_GRANTED;
    task->w.waits = NULL;
    asx__exec_set(task, ASX__EXEC_RUNNING);
    task->flags |= ASX__T_FORCED;
    region->n_forced++;
    rt->tasks_forced++;
    if (rt->tracing)
        asx__journal(rt, ASX_EVENT_TASK_FORCED, asx__serial(task->generation),
                     (uint64_t)task->reason->kind, asx__cleanup_used(task), 0);
    asx__region_keep_stack(rt, task);
    asx__task_finish(rt, task, ASX_E_CANCELLED);
}

/* Finalizers are cancelled by nothing but their own time. */
static void cancel_finalizers(asx_runtime *rt, asx__region *region, asx__task *task)
{
    if (region->cleanup == ASX_CLEANUP_PANIC)
        abort_overrun(rt, task);
    task->flags |= ASX__T_GRACE; /* before the request, which then finds it unmasked */
    asx__task_cancel(rt, task,
                     asx__reason_make(rt, region, ASX_CANCEL_TIMEOUT, region, NULL,
                                      "finalizers took too long", NULL));
    begin_grace(task); /* all of it at once: what it could do until now was not limited */
}

/* Its masks are lifted now, which was due before: the last grace counts from here. Without memory
 * for that it counts from when it was due. */
static void note_late(asx_runtime *rt, asx__task *task, asx_time due)
{
    reason_record *own = due < rt->now ? new_record(task->region, requested_at(task->reason))
                                       : NULL;
    if (own == NULL)
        return;
    own->reason = *task->reason;
    own->lifted_at = rt->now;
    task->reason = &own->reason;
}

/* When its masks are to be lifted, or when its last grace is over. */
static asx_time cleanup_due(const asx__task *task)
{
    const asx__region *region = task->region;
    const reason_record *record = record_of(task->reason);
    asx_time due = asx_time_add(record->requested_at, region->cleanup_time_ns);
    if (!(task->flags & ASX__T_GRACE))
        return due;
    return asx_time_add(record->lifted_at != 0 ? record->lifted_at : due, grace_ns(region));
}

/* One task of a region whose time for cleanup may be over: lift its masks, then force it. Returns
 * when to look at it again; NEVER: it needs no look, or is gone. */
static asx_time enforce_on(asx_runtime *rt, asx__region *region, asx__task *task)
{
    asx_time again = asx_time_add(rt->now, grace_ns(region));
    bool finalizers = asx__region_runs_finalizers(region, task);
    if (task->phase == ASX_TASK_COMPLETED || (!(task->flags & ASX__T_CANCEL) && !finalizers))
        return ASX_TIME_NEVER;
    if (!(task->flags & ASX__T_CANCEL)) {
        cancel_finalizers(rt, region, task);
        return again;
    }
    /* A task that runs now, on another worker, is looked at again when it may have stopped. */
    if (asx__exec_state(task) == ASX__EXEC_RUNNING || asx__exec_state(task) == ASX__EXEC_PARKING ||
        asx__exec_state(task) == ASX__EXEC_WAKING)
        return again;
    asx_time due = cleanup_due(task);
    if (due > rt->now)
        return due;
    if (task->flags & ASX__T_TOLD) /* the machine was slow, not the task */
        return again;
    /* What it waits for has its own bounds, or none. */
    if ((task->flags & ASX__T_GRACE) && waits_uncancellably(rt, task))
        return ASX_TIME_NEVER;
    if (overrun(rt, task)) {
        asx__task_force(rt, task);
        return ASX_TIME_NEVER;
    }
    note_late(rt, task, due);
    if (waits_uncancellably(rt, task))
        return again;
    if (asx__exec_state(task) == ASX__EXEC_PARKED)
        wake_refused(rt, task, ASX_E_CANCELLED);
    if (rt->seam == NULL) /* nobody clears it there */
        task->flags |= ASX__T_TOLD;
    return again;
}

static void enforce_time(asx_runtime *rt, asx__region *region)
{
    region->cleanup_at = ASX_TIME_NEVER;
    for (uint32_t link = region->task_first; link != 0;) {
        asx__task *task = asx__slab_at(&rt->tasks, link - 1);
        link = task->sibling_next;
        const asx__task *next = link != 0 ? asx__slab_at(&rt->tasks, link - 1) : NULL;
        uint64_t next_generation = next != NULL ? next->generation : 0;
        asx_time due = enforce_on(rt, region, task);
        if (next != NULL && next->generation != next_generation) {
            due = asx_time_add(rt->now, 1); /* a cleanup has joined the next: begin anew */
            link = 0;
        }
        if (due < region->cleanup_at)
            region->cleanup_at = due;
    }
}

void asx__region_timer_fired(void *arg)
{
    asx__region *region = arg;
    asx_runtime *rt = region->rt;
    region->timer_at = ASX_TIME_NEVER;
    uint64_t generation = region->generation;
    if (region->state == ASX_REGION_CLOSED)
        return; /* another timer of the same moment has brought it to its end */
    if (region->timeout_at <= rt->now) {
        region->timeout_at = ASX_TIME_NEVER;
        region->timed_out = true;
        asx__region_cancel(rt, region,
                           asx__reason_make(rt, region, ASX_CANCEL_TIMEOUT, region, NULL, NULL,
                                            NULL));
    }
    if (region->generation == generation && region->state != ASX_REGION_CLOSED &&
        region->deadline_at <= rt->now) {
        region->deadline_at = ASX_TIME_NEVER;
        region->timed_out = true;
        asx__region_cancel(rt, region,
                           asx__reason_make(rt, region, ASX_CANCEL_DEADLINE, region, NULL, NULL,
                                            NULL));
    }
    if (region->generation == generation && region->cleanup_at <= rt->now) {
        region->busy++; /* its record stays while we walk it */
        enforce_time(rt, region);
        region->busy--;
        asx__region_progress(rt, region);
    }
    if (region->generation == generation && region->state != ASX_REGION_CLOSED)
        asx__region_arm(rt, region);
}

/* ---- the region's timer --------------------------------------------------------------------- */

/* The next time at which something is to be done for the region. */
static asx_time next_look(const asx__region *region)
{
    asx_time at = region->timeout_at < region->deadline_at ? region->timeout_at
                                                           : region->deadline_at;
    return region->cleanup_at < at ? region->cleanup_at : at;
}

static void forget_unarmed(asx_runtime *rt, asx__region *region)
{
    asx__region **at = &rt->unarmed;
    while (*at != NULL && *at != region)
        at = &(*at)->unarmed_next;
    if (*at == region)
        *at = region->unarmed_next;
    region->unarmed = false;
}

/* No memory for its timer: the loop looks at it in each turn. */
static void remember_unarmed(asx_runtime *rt, asx__region *region)
{
    if (region->unarmed)
        return;
    region->unarmed = true;
    region->unarmed_next = rt->unarmed;
    rt->unarmed = region;
}

void asx__region_disarm(asx_runtime *rt, asx__region *region)
{
    (void)asx_timer_cancel(&rt->timers, &region->timer);
    region->timer_at = ASX_TIME_NEVER;
    if (ASX__UNLIKELY(region->unarmed))
        forget_unarmed(rt, region);
}

void asx__region_arm(asx_runtime *rt, asx__region *region)
{
    asx_time at = next_look(region);
    if (at == region->timer_at && !region->unarmed)
        return;
    asx__region_disarm(rt, region);
    if (at == ASX_TIME_NEVER)
        return;
    asx_waker waker = { asx__region_timer_fired, region };
    asx_time now = rt->timers.now;
    uint64_t longest = rt->timers.max_timer_duration_ns;
    asx_time armed = at > now && at - now > longest ? asx_time_add(now, longest) : at;
    uint64_t ceiling = rt->timers.max_timers;
    rt->timers.max_timers = UINT64_MAX; /* the ceiling is for users; this one must be had */
    if (asx_timer_register(&rt->timers, armed, waker, &region->timer) == ASX_OK)
        region->timer_at = at;
    else
        remember_unarmed(rt, region);
    rt->timers.max_timers = ceiling;
}

void asx__regions_look(asx_runtime *rt)
{
    for (asx__region *region = rt->unarmed; region != NULL;) {
        if (next_look(region) <= rt->now) {
            asx__region_timer_fired(region);
            region = rt->unarmed; /* whatever became of the list */
        } else {
            region = region->unarmed_next;
        }
    }
    for (asx__region *region = rt->unarmed, *next; region != NULL; region = next) {
        next = region->unarmed_next;
        asx__region_arm(rt, region); /* there may be memory again */
    }
}

asx_time asx__next_deadline(asx_runtime *rt)
{
    asx_time next = asx_timer_next_deadline(&rt->timers);
    for (const asx__region *r = rt->unarmed; r != NULL; r = r->unarmed_next)
        if (next_look(r) < next)
            next = next_look(r);
    return next;
}

/* ---- budgets -------------------------------------------------------------------------------- */

void asx__budget_charge(asx_runtime *rt, asx__task *task)
{
    asx_cancel_kind kind;
    asx_budget *budget = &task->extra->budget;
    if (task->flags & ASX__T_CANCEL || task->phase == ASX_TASK_COMPLETED)
        return;
    /* How often an explored task is resumed is nobody's business: asx__budget_poll(). */
    bool resuming = asx__exec_state(task) == ASX__EXEC_RUNNING && rt->seam == NULL;
    asx_budget check = *budget;
    if (!resuming) {
        check.cost_quota = ASX_COST_UNLIMITED;
        check.poll_quota = ASX_QUOTA_UNLIMITED;
    }
    if (asx__budget_exhausted(&check, rt->now, &kind)) {
        asx__budget_exhaust(rt, task, kind);
    } else if (resuming) {
        asx_status st = asx_budget_consume_poll(budget);
        ASX__ASSERT(st == ASX_OK);
    }
}

bool asx__budget_poll(asx_runtime *rt, asx__task *task, asx_cancel_kind *ret_kind)
{
    asx_budget *budget = &task->extra->budget;
    if ((task->flags & ASX__T_CANCEL) != 0)
        return false;
    if (asx__budget_exhausted(budget, rt->now, ret_kind))
        return true;
    (void)asx_budget_consume_poll(budget);
    return false;
}

asx_status asx_consume_cost(asx_cx *cx, uint64_t cost)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (ASX__UNLIKELY(st < 0)) {
        ASX__GATE_CX(cx, asx_consume_cost(&in, cost));
        return st;
    }
    if ((task->flags & ASX__T_METERED) == 0)
        return ASX_OK;
    if (ASX__UNLIKELY(rt->seam != NULL) && cost > task->extra->budget.cost_quota)
        (void)asx__announce(rt, task, ASX__OP_CANCEL_TASK, asx__serial(task->generation));
    st = asx_budget_consume_cost(&task->extra->budget, cost);
    if (st == ASX_E_BUDGET_EXHAUSTED && !(task->flags & ASX__T_CANCEL))
        asx__budget_exhaust(rt, task, ASX_CANCEL_COST_BUDGET);
    return st;
}

/* ---- looking at it -------------------------------------------------------------------------- */

asx_status asx_task_get_witness(const asx_task *handle, asx_cancel_witness *ret_witness)
{
    ASX__EMPTY(ret_witness);
    asx__task *task;
    asx_status st = asx__task_resolve(handle, &task);
    if (st < 0) {
        ASX__GATE_TASK(handle, asx_task_get_witness(&in, ret_witness));
        return st;
    }
    if (ret_witness == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_cancel_phase phase;
    if (task->reason == NULL || asx__cancel_phase_of((asx_task_state)task->phase, &phase) < 0)
        return ASX_E_NOT_FOUND;
    asx_cancel_witness witness = {
        .task = { handle->id.word | (uint64_t)ASX_STATE_MASK_ALL << 32, task->generation },
        .region = asx__region_name(task->region).id,
        .epoch = 1,
        .phase = phase,
        .cleanup_budget_exceeded = (task->flags & ASX__T_FORCED) != 0,
        .masks_lifted = (task->flags & ASX__T_LIFTED) != 0,
        .reason = *task->reason,
    };
    *ret_witness = witness;
    return ASX_OK;
}

asx_status asx_task_get_cleanup(const asx_task *handle, asx_budget *ret_budget)
{
    ASX__EMPTY(ret_budget);
    asx__task *task;
    asx_status st = asx__task_resolve(handle, &task);
    if (st < 0) {
        ASX__GATE_TASK(handle, asx_task_get_cleanup(&in, ret_budget));
        return st;
    }
    if (ret_budget == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (task->reason == NULL)
        return ASX_E_NOT_FOUND;
    asx_budget budget = asx_cancel_cleanup_budget(task->reason->kind);
    budget.poll_quota = polls_left(task);
    budget.priority = task->priority;
    if (task->region->cleanup != ASX_CLEANUP_SOFT)
        budget.deadline = asx_time_add(requested_at(task->reason), task->region->cleanup_time_ns);
    *ret_budget = budget;
    return ASX_OK;
}
