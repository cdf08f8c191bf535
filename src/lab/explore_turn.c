/* explore_turn.c - what the runtime tells through its seam, as operations of the engine.
 *
 * Objects get names that are the same in every execution: by the task that made them and as which
 * of the things that it made. Cells are named by their address, those on a task's stack by the task
 * and the place, because a task may get another stack next time.
 *
 * Cancellation costs: every cancellation point reads the task's cancel flag, joins and ends are
 * operations too. So it is explored only if the test cancels: when it does so for the first time,
 * the exploration begins again, prepared for it. The same holds for sleeps (the clock).
 *
 * A cancel of a region sets the flags of all its tasks, of the regions in it, and of what these
 * tasks have opened. Which these are is known when the operation is announced.
 */
#include "lab/explore.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---------------------------------------------------------------------------------- */

void asx__explorer_made(asx__explorer *x, uint32_t type, uint64_t serial, uint64_t maker,
                        uint64_t state)
{
    asx__lab_task *task = asx__explorer_task(x, maker);
    if (task == NULL ||
        !asx__explorer_room(x, (void **)&x->things, &x->things_cap, x->things_len + 1,
                            sizeof *x->things))
        return;
    uint64_t name = ASX__NAME(type == ASX_EVENT_CHANNEL_CREATE ? ASX__NAME_CHANNEL : ASX__NAME_LOCK,
                              task->id, task->made++);
    x->things[x->things_len++] = (asx__lab_thing){ type, serial, name };
    if (state != 0)
        asx__dpor_put(x->dpor, name, state);
}

static uint64_t name_of_thing(const asx__explorer *x, uint32_t type, uint64_t serial)
{
    for (size_t i = x->things_len; i-- > 0;)
        if (x->things[i].serial == serial && x->things[i].type == type)
            return x->things[i].name;
    return 0;
}

static uint64_t cancel_flag(uint32_t id)
{
    return ASX__NAME(ASX__NAME_CANCEL, id, 0);
}

uint64_t asx__explorer_cell_name(const asx__explorer *x, const void *cell)
{
    for (size_t i = 0; i < x->tasks_len; i++) {
        uint32_t id = x->tasks[i].id;
        const asx__task *task = id < x->known_cap ? x->known[id].standing : NULL;
        if (task == NULL || x->known[id].serial != x->first_serial + i ||
            (task->flags & (ASX__T_POLL | ASX__T_STARTED)) != ASX__T_STARTED ||
            asx__serial(task->generation) != x->known[id].serial)
            continue;
        const asx__stack *stack = task->u.fiber.stack;
        if ((const char *)cell >= stack->base && (const char *)cell < stack->base + stack->size)
            return ASX__NAME(ASX__NAME_STACK, id, 0) +
                   (uint64_t)((const char *)cell - stack->base);
    }
    return 0;
}

/* ---- cancellation --------------------------------------------------------------------------- */

/* Is the task cancelled when these are? By its region, or because it lives in what one of them has
 * opened. */
static bool falls_with(const asx__explorer *x, const asx__lab_task *task, uint64_t region,
                       const bool *falls)
{
    for (uint64_t serial = task->region; serial != 0;) {
        if (serial == region)
            return true;
        const asx__lab_region *r = asx__explorer_region(x, serial);
        if (r == NULL)
            return false;
        const asx__lab_task *owner = asx__explorer_task(x, r->owner);
        if (owner != NULL && falls[owner - x->tasks])
            return true;
        serial = r->parent;
    }
    return false;
}

/* The flags that a cancel of the task `serial` (0: none) or the region sets; or the ends of the
 * same tasks. NULL: no memory. */
static uint64_t *find_targets(asx__explorer *x, uint64_t serial, uint64_t region,
                              asx__name_tag tag, uint32_t *ret_count)
{
    bool *falls = calloc(x->tasks_len + 1, sizeof *falls);
    asx__lab_targets *targets =
        malloc(sizeof *targets + (x->tasks_len + 1) * sizeof *targets->names);
    const asx__lab_task *task = asx__explorer_task(x, serial);
    uint32_t count = 0;
    if (falls == NULL || targets == NULL) {
        free(falls);
        free(targets);
        x->status = ASX_E_RESOURCE_EXHAUSTED;
        return NULL;
    }
    if (task != NULL)
        falls[task - x->tasks] = true;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < x->tasks_len; i++)
            if (!falls[i] && x->tasks[i].id != ASX__DPOR_NONE &&
                falls_with(x, &x->tasks[i], region, falls))
                more = falls[i] = true;
    }
    for (size_t i = 0; i < x->tasks_len; i++)
        if (falls[i])
            targets->names[count++] = ASX__NAME(tag, x->tasks[i].id, 0);
    free(falls);
    targets->next = x->targets;
    x->targets = targets;
    *ret_count = count;
    return targets->names;
}

void asx__explorer_forget_targets(asx__explorer *x)
{
    while (x->targets != NULL) {
        asx__lab_targets *next = x->targets->next;
        free(x->targets);
        x->targets = next;
    }
}

void asx__explorer_cancelled(asx__explorer *x, const asx_event *event)
{
    const asx__lab_task *task = asx__explorer_task(x, event->object);
    if (task == NULL)
        return;
    uint64_t flag = cancel_flag(task->id);
    if (asx__dpor_state(x->dpor, flag) != 0)
        return;
    if (x->cancels && x->advancing)
        asx__dpor_also(x->dpor, flag, 1);
    else if (!x->cancels)
        asx__explorer_prepare(x, &x->cancels);
    else if (x->unsupported == 0 && x->failed_text == NULL)
        x->unsupported = event->kind; /* somebody was cancelled whom nobody has announced */
}

void asx__explorer_prepare(asx__explorer *x, bool *feature)
{
    *feature = true;
    asx__dpor_restart(x->dpor);
}

/* ---- deadlines of regions, when time is adversarial
 * ------------------------------------------- */

static uint64_t flag_of_region(const asx__explorer *x, uint64_t serial)
{
    const asx__lab_region *r = asx__explorer_region(x, serial);
    const asx__lab_task *owner = r != NULL ? asx__explorer_task(x, r->owner) : NULL;
    return owner != NULL ? ASX__NAME(ASX__NAME_REGION, owner->id, r->nth) : 0;
}

/* NULL: it is gone, or has no deadline. */
static asx__region *record_of(const asx__explorer *x, const asx__lab_region *r)
{
    for (uint32_t i = 0; i < x->rt->regions.carved; i++) {
        asx__region *region = asx__slab_at(&x->rt->regions, i);
        if (region->generation != 0 && asx__serial(region->generation) == r->serial)
            return region->timeout_at != ASX_TIME_NEVER || region->deadline_at != ASX_TIME_NEVER
                       ? region
                       : NULL;
    }
    return NULL;
}

void asx__explorer_announce_deadlines(asx__explorer *x)
{
    for (size_t i = 0; i < x->regions_len; i++) {
        asx__lab_region *r = &x->regions[i];
        const asx__lab_task *owner = asx__explorer_task(x, r->owner);
        if (owner == NULL || r->closed || r->tasks_seen == x->tasks_len || record_of(x, r) == NULL)
            continue;
        if (!x->cancels)
            asx__explorer_prepare(x, &x->cancels);
        r->timer = asx__dpor_timer_task(x->dpor, owner->id, r->nth);
        r->tasks_seen = x->tasks_len;
        asx__op op = { .kind = ASX__OP_FIRE, .site = "", .name = flag_of_region(x, r->serial) };
        op.targets = find_targets(x, 0, r->serial, ASX__NAME_CANCEL, &op.targets_len);
        if (r->timer != ASX__DPOR_NONE && asx__dpor_state(x->dpor, op.name) == 0)
            asx__dpor_announce(x->dpor, r->timer, &op);
    }
}

static asx__lab_region *region_of_timer(const asx__explorer *x, uint32_t timer)
{
    for (size_t i = 0; i < x->regions_len; i++)
        if (x->regions[i].timer == timer)
            return &x->regions[i];
    return NULL;
}

bool asx__explorer_is_timer(const asx__explorer *x, uint32_t task)
{
    return x->timed && region_of_timer(x, task) != NULL;
}

bool asx__explorer_fire(asx__explorer *x, uint32_t timer)
{
    asx__lab_region *r = x->timed ? region_of_timer(x, timer) : NULL;
    if (r == NULL)
        return false;
    asx__region *region = record_of(x, r);
    (void)asx__dpor_commit(x->dpor, timer);
    if (region == NULL)
        return true;
    if (region->timeout_at != ASX_TIME_NEVER)
        region->timeout_at = x->rt->now;
    else
        region->deadline_at = x->rt->now;
    asx__region_disarm(x->rt, region);
    asx__region_timer_fired(region);
    return true;
}

/* ---- operations ----------------------------------------------------------------------------- */

typedef struct turn_row {
    asx__op_kind kind;
    uint32_t made_by;   /* event that made its object; 0: none */
    bool can_cancel;    /* cancellation point */
} turn_row;

static const turn_row rows[ASX__TURN_COUNT] = {
    [ASX__TURN_SEND] = { ASX__OP_SEND, ASX_EVENT_CHANNEL_CREATE, true },
    [ASX__TURN_TRY_SEND] = { ASX__OP_TRY_SEND, ASX_EVENT_CHANNEL_CREATE, false },
    [ASX__TURN_EVICT] = { ASX__OP_EVICT, ASX_EVENT_CHANNEL_CREATE, false },
    [ASX__TURN_RESERVE] = { ASX__OP_RESERVE, ASX_EVENT_CHANNEL_CREATE, true },
    [ASX__TURN_TRY_RESERVE] = { ASX__OP_TRY_RESERVE, ASX_EVENT_CHANNEL_CREATE, false },
    [ASX__TURN_PERMIT_SEND] = { ASX__OP_PERMIT_SEND, ASX_EVENT_CHANNEL_CREATE, false },
    [ASX__TURN_PERMIT_ABORT] = { ASX__OP_PERMIT_ABORT, ASX_EVENT_CHANNEL_CREATE, false },
    [ASX__TURN_RECV] = { ASX__OP_RECV, ASX_EVENT_CHANNEL_CREATE, true },
    [ASX__TURN_TRY_RECV] = { ASX__OP_TRY_RECV, ASX_EVENT_CHANNEL_CREATE, false },
    [ASX__TURN_RECV_ACK] = { ASX__OP_RECV_ACK, ASX_EVENT_CHANNEL_CREATE, true },
    [ASX__TURN_ACK_COMMIT] = { ASX__OP_ACK_COMMIT, ASX_EVENT_CHANNEL_CREATE, false },
    [ASX__TURN_ACK_NACK] = { ASX__OP_ACK_NACK, ASX_EVENT_CHANNEL_CREATE, false },
    [ASX__TURN_CLONE] = { ASX__OP_CLONE, ASX_EVENT_CHANNEL_CREATE, false },
    [ASX__TURN_DROP] = { ASX__OP_DROP, ASX_EVENT_CHANNEL_CREATE, false },
    [ASX__TURN_CLOSE] = { ASX__OP_CLOSE, ASX_EVENT_CHANNEL_CREATE, false },
    [ASX__TURN_CHECKPOINT] = { ASX__OP_CHECKPOINT, 0, true },
    [ASX__TURN_JOIN] = { ASX__OP_JOIN, 0, true },
    [ASX__TURN_CANCEL_TASK] = { ASX__OP_CANCEL, 0, false },
    [ASX__TURN_CANCEL_REGION] = { ASX__OP_CANCEL, 0, false },
    [ASX__TURN_CLOSE_REGION] = { ASX__OP_CLOSE_REGION, 0, false },
    [ASX__TURN_END] = { ASX__OP_END, 0, false },
    [ASX__TURN_SLEEP] = { ASX__OP_SLEEP, 0, true },
    [ASX__TURN_LOCK] = { ASX__OP_LOCK, ASX_EVENT_MUTEX_CREATE, true },
    [ASX__TURN_TRY_LOCK] = { ASX__OP_TRY_LOCK, ASX_EVENT_MUTEX_CREATE, false },
    [ASX__TURN_UNLOCK] = { ASX__OP_UNLOCK, ASX_EVENT_MUTEX_CREATE, false },
    [ASX__TURN_READ_LOCK] = { ASX__OP_READ_LOCK, ASX_EVENT_RWLOCK_CREATE, true },
    [ASX__TURN_TRY_READ_LOCK] = { ASX__OP_TRY_READ_LOCK, ASX_EVENT_RWLOCK_CREATE, false },
    [ASX__TURN_READ_UNLOCK] = { ASX__OP_READ_UNLOCK, ASX_EVENT_RWLOCK_CREATE, false },
    [ASX__TURN_WRITE_LOCK] = { ASX__OP_WRITE_LOCK, ASX_EVENT_RWLOCK_CREATE, true },
    [ASX__TURN_TRY_WRITE_LOCK] = { ASX__OP_TRY_WRITE_LOCK, ASX_EVENT_RWLOCK_CREATE, false },
    [ASX__TURN_WRITE_UNLOCK] = { ASX__OP_WRITE_UNLOCK, ASX_EVENT_RWLOCK_CREATE, false },
    [ASX__TURN_ACQUIRE] = { ASX__OP_ACQUIRE, ASX_EVENT_SEMAPHORE_CREATE, true },
    [ASX__TURN_TRY_ACQUIRE] = { ASX__OP_TRY_ACQUIRE, ASX_EVENT_SEMAPHORE_CREATE, false },
    [ASX__TURN_RELEASE] = { ASX__OP_RELEASE, ASX_EVENT_SEMAPHORE_CREATE, false },
};

/* What concerns tasks and time. False: nothing that anybody could tell. */
static bool make_task_op(asx__explorer *x, const asx__lab_task *self, asx__turn_kind kind,
                         uint64_t object, uint64_t a, asx__op *op)
{
    const asx__lab_task *other;
    switch (kind) {
    case ASX__TURN_CANCEL_TASK:
    case ASX__TURN_CANCEL_REGION:
        if (!x->cancels)
            asx__explorer_prepare(x, &x->cancels);
        op->targets = find_targets(x, kind == ASX__TURN_CANCEL_TASK ? object : 0,
                                   kind == ASX__TURN_CANCEL_REGION ? object : 0, ASX__NAME_CANCEL,
                                   &op->targets_len);
        return true;
    case ASX__TURN_END:
        if (a != 0 && !x->cancels)
            asx__explorer_prepare(x, &x->cancels);
        op->name = ASX__NAME(ASX__NAME_FIN, self->id, 0);
        if (a != 0)
            op->targets = find_targets(x, 0, object, ASX__NAME_CANCEL, &op->targets_len);
        return x->cancels;
    case ASX__TURN_CLOSE_REGION:
        if (a == 0 || x->options->clock != ASX_EXPLORE_ADVERSARIAL)
            return false;
        if (!x->cancels)
            asx__explorer_prepare(x, &x->cancels);
        op->name = flag_of_region(x, object);
        op->targets = find_targets(x, 0, object, ASX__NAME_FIN, &op->targets_len);
        return op->name != 0;
    case ASX__TURN_JOIN:
        other = asx__explorer_task(x, object);
        op->name = other != NULL ? ASX__NAME(ASX__NAME_FIN, other->id, 0) : 0;
        return x->cancels && other != NULL;
    case ASX__TURN_SLEEP:
        op->name = ASX__NAME(ASX__NAME_CLOCK, 0, 0);
        op->a = a;
        op->b = x->options->clock == ASX_EXPLORE_ADVERSARIAL;
        return true;
    default:
        return x->cancels;
    }
}

/* A fault: the task is cancelled just now, or it is not. Whether it was cancelled by others is not
 * asked: the answer would depend on an order that nothing has decided. */
static void may_cancel(asx__explorer *x, asx__task *task, asx__lab_task *self)
{
    if ((x->options->faults & ASX_EXPLORE_FAULT_CANCEL) == 0 || self->id == 0 || self->faulty)
        return;
    asx__op choose = { .kind = ASX__OP_CHOOSE, .a = 2, .site = "cancel?" };
    uint64_t serial = asx__serial(task->generation);
    if (asx__explorer_stand(x, task, &choose) == 0)
        return;
    asx__explorer_task(x, serial)->faulty = true;
    asx__op cancel = { .kind = ASX__OP_CANCEL, .site = "fault" };
    cancel.targets = find_targets(x, serial, 0, ASX__NAME_CANCEL, &cancel.targets_len);
    (void)asx__explorer_stand(x, task, &cancel);
    asx__task_cancel(x->rt, task,
                     asx__reason_make(x->rt, task->region, ASX_CANCEL_USER, task->region, task,
                                      "fault", NULL));
}

static void turn(void *ctx, asx__task *task, asx__turn_kind kind, uint64_t object, uint64_t a)
{
    asx__explorer *x = ctx;
    asx__lab_task *self;
    if (task == NULL || x->clearing || x->rt->in_cleanup || (task->flags & ASX__T_POLL) != 0)
        return;
    self = asx__explorer_task(x, asx__serial(task->generation));
    if (self == NULL || self->id == ASX__DPOR_NONE)
        return;
    asx__op op = { .kind = rows[kind].kind, .a = a, .site = x->here != NULL ? x->here : "" };
    x->here = NULL;
    if (rows[kind].made_by != 0) {
        op.name = name_of_thing(x, rows[kind].made_by, object);
        if (op.name == 0)
            return;
    } else if (!make_task_op(x, self, kind, object, a, &op)) {
        return;
    }
    if (x->cancels && rows[kind].can_cancel && !asx__task_masked(task)) {
        uint32_t id = self->id;
        may_cancel(x, task, self); /* others may have been started meanwhile */
        op.cx = cancel_flag(id);
        self = asx__explorer_task(x, asx__serial(task->generation));
    }
    if (op.kind == ASX__OP_LOCK || op.kind == ASX__OP_TRY_LOCK || op.kind == ASX__OP_UNLOCK)
        op.a = (uint64_t)self->id + 1;
    if (op.kind == ASX__OP_LOCK && asx__dpor_state(x->dpor, op.name) == op.a)
        op.kind = ASX__OP_TRY_LOCK; /* refused: it would wait for itself */
    if (op.kind == ASX__OP_WRITE_LOCK) {
        asx__op request = { .kind = ASX__OP_WRITE_REQUEST, .name = op.name, .site = op.site };
        (void)asx__explorer_stand(x, task, &request);
        op.a = 1;
    }
    (void)asx__explorer_stand(x, task, &op);
}

void asx__explorer_seam_init(asx__explorer *x)
{
    x->seam = (asx__seam){ x, turn };
    x->rt->seam = &x->seam;
}
