/* time.c - time, as one who explores has it: a clock that moves when nobody can go, or
 * deadlines that may come at any time.
 *
 * The clock is a task of the engine, and so is each deadline: they stand before an operation like
 * any other (ADVANCE, FIRE), and whoever is chosen does it.
 */
#include "lab/explore/explore.h"

/* ---- the clock ------------------------------------------------------------------------------ */

void asx__explorer_begin_time(asx__explorer *x)
{
    x->timed = true;
    asx__dpor_put(x->dpor, ASX__NAME(ASX__NAME_CLOCK, 0, 0), asx__explorer_time(x, x->rt->now));
}

void asx__explorer_sleeps(asx__explorer *x, uint32_t id, const asx__op *op)
{
    if (!x->timed)
        asx__explorer_begin_time(x);
    if (op->b == 0)
        asx__dpor_sleeps(x->dpor, id, op->a);
}

void asx__explorer_announce_clock(asx__explorer *x)
{
    uint64_t next = asx__explorer_time(x, asx__next_deadline(x->rt));
    uint64_t soonest = asx__dpor_soonest(x->dpor);
    if (soonest < next)
        next = soonest;
    if (x->clock == ASX__DPOR_NONE)
        x->clock = asx__dpor_clock_task(x->dpor);
    asx__op op = { .kind = ASX__OP_ADVANCE, .a = next, .b = x->timers_pending != 0, .site = "",
                   .name = ASX__NAME(ASX__NAME_CLOCK, 0, 0) };
    if (x->clock == ASX__DPOR_NONE)
        return;
    if (next != ASX_TIME_NEVER)
        asx__dpor_announce(x->dpor, x->clock, &op);
    else
        asx__dpor_withdraw(x->dpor, x->clock);
}

/* ---- deadlines, when time is adversarial ---------------------------------------------------- */

#define OWN_DEADLINE 0x3fffffffu /* of a task; those of the regions that it opens are counted */

/* NULL: it is gone, or has no deadline. */
static asx__region *record_of(const asx__lab_region *r)
{
    asx__region *region = asx__explorer_record(r);
    return region != NULL && (region->timeout_at != ASX_TIME_NEVER ||
                              region->deadline_at != ASX_TIME_NEVER)
               ? region
               : NULL;
}

/* NULL: it has ended, or has no deadline but that of its region. */
static asx__task *timed_task(const asx__explorer *x, uint64_t serial)
{
    const asx__lab_task *self = asx__explorer_task(x, serial);
    asx__task *task = self != NULL ? self->record : NULL;
    return task != NULL && task->generation != 0 && asx__serial(task->generation) == serial &&
                   (task->flags & ASX__T_TIMED) != 0 && task->phase != ASX_TASK_COMPLETED &&
                   task->extra->budget.deadline < task->region->budget.deadline
               ? task
               : NULL;
}

/* Notes which region or task the deadline belongs to. NONE: no memory. */
static uint32_t timer_of(asx__explorer *x, uint32_t timer, size_t number)
{
    if (timer == ASX__DPOR_NONE || !asx__explorer_room(x, (void **)&x->known, &x->known_cap,
                                                       (size_t)timer + 1, sizeof *x->known))
        return ASX__DPOR_NONE;
    x->known[timer].timed = number;
    return timer;
}

/* Of tasks; those of regions come below. Whom they reach is asked when they come. */
static void announce_task_deadlines(asx__explorer *x)
{
    for (; x->timed_tasks < x->tasks_len; x->timed_tasks++) {
        asx__lab_task *t = &x->tasks[x->timed_tasks];
        if (t->id == ASX__DPOR_NONE || timed_task(x, x->first_serial + x->timed_tasks) == NULL)
            continue;
        asx__explorer_expect_cancels(x);
        t->timer = timer_of(x, asx__dpor_timer_task(x->dpor, t->id, OWN_DEADLINE),
                            x->timed_tasks);
        asx__op op = { .kind = ASX__OP_FIRE, .site = "", .aims = 1,
                       .name = ASX__NAME(ASX__NAME_CANCEL, t->id, 1),
                       .other = ASX__NAME(ASX__NAME_FIN, t->id, 0) };
        if (t->timer != ASX__DPOR_NONE)
            asx__dpor_announce(x->dpor, t->timer, &op);
    }
}

void asx__explorer_announce_deadlines(asx__explorer *x)
{
    announce_task_deadlines(x);
    for (; x->timed_regions < x->regions_len; x->timed_regions++) {
        asx__lab_region *r = &x->regions[x->timed_regions];
        const asx__lab_task *owner = asx__explorer_task(x, r->owner);
        if (r->closed || owner == NULL || record_of(r) == NULL)
            continue;
        asx__explorer_expect_cancels(x);
        r->timer = timer_of(x, asx__dpor_timer_task(x->dpor, owner->id, r->nth),
                            x->timed_regions);
        asx__op op = { .kind = ASX__OP_FIRE, .site = "", .aims = 1,
                       .name = asx__aim_flag(x, r->serial) };
        if (r->timer == ASX__DPOR_NONE || asx__dpor_state(x->dpor, op.name) != 0 ||
            !asx__explorer_room(x, (void **)&x->open, &x->open_cap, x->open_len + 1,
                                sizeof *x->open))
            continue;
        asx__dpor_announce(x->dpor, r->timer, &op);
        x->open[x->open_len++] = (uint32_t)x->timed_regions;
    }
}

static asx__lab_region *region_of_timer(const asx__explorer *x, uint32_t timer)
{
    size_t at = timer < x->known_cap ? x->known[timer].timed : x->regions_len;
    return at < x->regions_len && x->regions[at].timer == timer ? &x->regions[at] : NULL;
}

/* The task whose own deadline it is; 0: none. */
static uint64_t task_of_timer(const asx__explorer *x, uint32_t timer)
{
    size_t at = timer < x->known_cap ? x->known[timer].timed : x->tasks_len;
    return at < x->tasks_len && x->tasks[at].timer == timer ? x->first_serial + at : 0;
}

bool asx__explorer_is_timer(const asx__explorer *x, uint32_t task)
{
    return ASX__UNLIKELY(x->timed) &&
           (region_of_timer(x, task) != NULL || task_of_timer(x, task) != 0 ||
            asx__timer_is_one(x, task));
}

bool asx__explorer_aim_deadline(asx__explorer *x, uint32_t timer, asx__op *op)
{
    const asx__lab_region *r = region_of_timer(x, timer);
    asx__lab_aim at = { .task = task_of_timer(x, timer), .region = r != NULL ? r->serial : 0,
                        .tag = ASX__NAME_CANCEL };
    if ((asx__dpor_state(x->dpor, op->name) & ~(uint64_t)ASX__REGION_CLOSED) != 0)
        return false; /* cancelled: what came after that was told already */
    op->targets = asx__aim_find(x, &at, &op->targets_len);
    return true;
}

void asx__explorer_aim_deadlines(asx__explorer *x)
{
    for (size_t i = 0; i < x->open_len; i++) {
        const asx__lab_region *r = &x->regions[x->open[i]];
        if (r->closed)
            x->open[i--] = x->open[--x->open_len];
        else
            asx__dpor_aim(x->dpor, r->timer);
    }
}

bool asx__explorer_fire(asx__explorer *x, uint32_t timer)
{
    asx__lab_region *r = x->timed ? region_of_timer(x, timer) : NULL;
    uint64_t serial = x->timed ? task_of_timer(x, timer) : 0;
    asx__task *task = serial != 0 ? timed_task(x, serial) : NULL;
    if (r == NULL && task == NULL)
        return x->timed && asx__timer_fire(x, timer);
    if (task != NULL) {
        (void)asx__dpor_commit(x->dpor, timer);
        asx__aim_shot(x, serial, &(asx__operation){ .kind = ASX__OP_FIRE });
        asx__budget_exhaust(x->rt, task, ASX_CANCEL_DEADLINE);
        return true;
    }
    asx__region *region = record_of(r);
    (void)asx__dpor_commit(x->dpor, timer);
    asx__aim_shot(x, 0, &(asx__operation){ .kind = ASX__OP_FIRE, .object = r->serial });
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
