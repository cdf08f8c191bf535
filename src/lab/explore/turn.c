/* turn.c - what the runtime tells through its seam, as operations of the engine.
 *
 * Cancellation costs: every cancellation point reads the task's cancel flag, joins and ends are
 * operations too. So it is explored only if the test cancels: when it does so for the first time,
 * the exploration begins again, prepared for it. The same holds for sleeps (the clock).
 *
 * Whom a cancel reaches is known when the operation is announced (aim.c).
 */
#include "lab/explore/explore.h"

#include <string.h>

/* What has made the object of an operation, an event of the journal; 0: it has none. */
static const uint8_t made_by[ASX__OP_COUNT] = {
#define OP_OBJECT(name, text, object, run, traits) ASX_EVENT_##object,
    ASX__OPERATION_LIST(OP_OBJECT)
#undef OP_OBJECT
};

static inline bool has(asx__op_kind kind, uint32_t trait)
{
    return (asx__op_traits[kind] & trait) != 0;
}

/* Away from what happens most, which then needs no frame. */
#define OUTSIDE __attribute__((noinline))

static uint64_t name_of_thing(const asx__explorer *x, uint32_t type, uint64_t serial)
{
    const asx__lab_thing *thing = asx__explorer_thing(x, type, serial);
    return thing != NULL ? thing->name : 0;
}

uint64_t asx__explorer_ghost_name(const asx__explorer *x, const void *object)
{
    uint64_t cell = asx__explorer_cell_name(x, object);
    if (cell == 0)
        return ASX__NAME(ASX__NAME_GHOST, 0, 0) | (uintptr_t)object;
    bool on_stack = ASX__NAME_TAG_OF(cell) == ASX__NAME_STACK;
    return ASX__NAME(on_stack ? ASX__NAME_GHOST_STACK : ASX__NAME_GHOST_MEMORY, 0, 0) |
           (cell & ~ASX__NAME(15, 0, 0));
}

/* ---- cancellation --------------------------------------------------------------------------- */

/* Does the end of `serial` cancel the other of this link? Returns whom; 0: nobody. */
static uint64_t linked_to(const asx__lab_link *link, uint64_t serial)
{
    return link->a == serial ? link->b : link->b == serial ? link->a : 0;
}

void asx__explorer_cancelled(asx__explorer *x, const asx_event *event)
{
    const asx__lab_task *task = asx__explorer_task(x, event->object);
    if (task == NULL || task->id == ASX__DPOR_NONE)
        return;
    uint64_t flag = asx__cancel_flag(task->id);
    if (asx__dpor_state(x->dpor, flag) != 0)
        return;
    if (x->cancels && x->advancing)
        asx__dpor_also(x->dpor, flag, 1);
    else if (!x->cancels)
        asx__explorer_prepare(x, &x->cancels);
    else
        asx__explorer_refuse(x, event->kind); /* somebody was cancelled whom nobody has announced */
}

/* By the clock, which has announced nobody; it commutes with nothing, so that only what a start
 * finds there has to be told. */
void asx__explorer_region_cancelled(asx__explorer *x, const asx_event *event)
{
    const asx__lab_region *region = asx__explorer_region(x, event->object);
    uint64_t flag = asx__aim_flag(x, event->object);
    if (!x->advancing || flag == 0 || !region->limited)
        return;
    uint64_t state = asx__dpor_state(x->dpor, flag);
    if ((state & ASX__REGION_CANCELLED) == 0)
        asx__dpor_also(x->dpor, flag, state | ASX__REGION_CANCELLED);
}

void asx__explorer_prepare(asx__explorer *x, bool *feature)
{
    *feature = true;
    asx__dpor_restart(x->dpor);
}

void asx__explorer_expect_cancels(asx__explorer *x)
{
    if (!x->cancels)
        asx__explorer_prepare(x, &x->cancels);
}

/* ---- records -------------------------------------------------------------------------------- */

static bool is_record_of(const asx__region *record, const asx__lab_region *r)
{
    return record->generation != 0 && asx__serial(record->generation) == r->serial;
}

asx__region *asx__explorer_record(const asx__lab_region *r)
{
    return r->record != NULL && is_record_of(r->record, r) ? r->record : NULL;
}

void asx__explorer_opened(asx__explorer *x, asx__lab_region *region)
{
    const asx__task *by = x->rt->current; /* mostly it has just put it before its others */
    asx__region *newest = by != NULL && by->extra != NULL ? by->extra->scopes : NULL;
    if (newest != NULL && is_record_of(newest, region))
        region->record = newest;
    for (uint32_t i = 0; ASX__UNLIKELY(region->record == NULL) && i < x->rt->regions.carved; i++) {
        asx__region *record = asx__slab_at(&x->rt->regions, i);
        if (is_record_of(record, region))
            region->record = record;
    }
    const asx__region *record = region->record;
    region->limited = record != NULL && record->tasks_max != 0;
    region->counts_regions = record != NULL && record->regions_max != 0;
    region->scoped = record != NULL && record->scoped;
    region->counts_obligations = record != NULL && record->obligations_max != 0;
    region->shielded = record != NULL && record->owner != NULL && asx__task_masked(record->owner);
    x->limits = x->limits || region->limited || region->counts_regions;
}

bool asx__explorer_finalizes(const asx__lab_region *region, uint64_t serial)
{
    const asx__region *record = asx__explorer_record(region);
    return record != NULL && ASX__UNLIKELY(record->finalizing) && record->finalizer_task != NULL &&
           asx__serial(record->finalizer_task->generation) == serial;
}

asx__task *asx__explorer_newest(const asx__lab_region *region)
{
    const asx__region *record = region != NULL ? asx__explorer_record(region) : NULL;
    return record != NULL ? record->task_tail : NULL;
}

/* ---- operations ----------------------------------------------------------------------------- */

static uint64_t name_of_link(const asx__explorer *x, const asx__lab_task *a,
                             const asx__lab_task *b)
{
    uint32_t first = a->id < b->id ? a->id : b->id, second = a->id < b->id ? b->id : a->id;
    return asx__explorer_make_name(x, ASX__NAME_LINK, first, second);
}

/* The ends of both, and whom the failure of either would reach through this link. */
static bool make_link(asx__explorer *x, uint64_t a, uint64_t b, asx__op *op)
{
    const asx__lab_task *one = asx__explorer_task(x, a), *two = asx__explorer_task(x, b);
    if (one == NULL || two == NULL)
        return false;
    asx__explorer_expect_cancels(x);
    asx__lab_aim first = { .task = b, .tag = ASX__NAME_CANCEL, .by = one };
    asx__lab_aim second = { .task = a, .tag = ASX__NAME_CANCEL, .by = two };
    uint32_t reached_len = 0, others_len = 0;
    const uint64_t *reached = asx__aim_find(x, &first, &reached_len);
    const uint64_t *others = asx__aim_find(x, &second, &others_len);
    uint64_t *names = asx__aim_room(x, (size_t)reached_len + others_len + 2);
    if (reached == NULL || others == NULL || names == NULL)
        return false;
    op->name = name_of_link(x, one, two);
    names[0] = ASX__NAME(ASX__NAME_FIN, one->id, 0);
    names[1] = ASX__NAME(ASX__NAME_FIN, two->id, 0);
    memcpy(names + 2, reached, reached_len * sizeof *names);
    memcpy(names + 2 + reached_len, others, others_len * sizeof *names);
    op->targets = names;
    op->targets_len = 2 + reached_len + others_len;
    op->a = reached_len;
    return true;
}

/* Has the test done nothing since it was the only one? Then nobody was there who could have done
 * something to its region, but for a deadline that may come at any time. */
static bool was_alone(const asx__explorer *x, const asx__lab_task *self, const asx__lab_region *r)
{
    if (self != x->tasks ||
        (x->tasks_len > 1 && asx__dpor_done(x->dpor, self->id) != x->alone_until))
        return false;
    while (r != NULL && r->timer == ASX__DPOR_NONE)
        r = asx__explorer_region(x, r->parent);
    return r == NULL;
}

/* Who starts something in a region that was opened by others, or by itself before it did something
 * else, may find it cancelled or closing, or find that its set-up has failed. Else nobody can have
 * done so. */
static inline bool is_fresh(const asx__explorer *x, const asx__lab_task *self, uint64_t region,
                            uint64_t room, uint64_t how)
{
    const asx__lab_region *r = asx__explorer_region(x, region);
    return room == 0 && (how & ASX__SPAWN_FAILS) == 0 && r != NULL &&
           asx__explorer_task(x, r->owner) == self &&
           (asx__dpor_done(x->dpor, self->id) == r->opened_at || was_alone(x, self, r));
}

/* It is not. Where there is room for so many it may have to wait for the end of others. */
static bool make_spawn(asx__explorer *x, const asx__lab_task *self, uint64_t region, asx__op *op)
{
    const asx__lab_region *r = asx__explorer_region(x, region);
    uint64_t flag = asx__aim_flag(x, region);
    if (r == NULL || flag == 0)
        return false;
    if (!x->far_spawns && asx__explorer_task(x, r->owner) != self)
        asx__explorer_prepare(x, &x->far_spawns);
    op->name = flag;
    op->other = op->a == 0                         ? 0
                : op->kind == ASX__OP_SPAWN        ? flag + ASX__PART_PLACES
                : (op->b & ASX__START_OPENS) != 0 ? flag + ASX__PART_REGIONS
                                                   : flag + ASX__PART_OBLIGATIONS;
    if ((op->b & ASX__START_FAILS) != 0)
        asx__failures_tell(x, self, region, op);
    else if (x->cancels && op->a != 0 && (op->b & ASX__START_WAITS) != 0)
        op->cx = asx__cancel_flag(self->id);
    if (op->a == 0 && !x->far_cancels && !x->far_spawns)
        return false;
    op->targets = asx__aim_around(x, region, &op->targets_len);
    return true;
}

/* b: ASX__OPEN_... Whether the task is cancelled, and so what it opens, is looked at by what takes
 * the place there, or finds that it is being closed. False: nobody could tell. */
static bool make_open(asx__explorer *x, const asx__lab_task *self, uint64_t around, asx__op *op)
{
    uint64_t how = op->b;
    bool looks = x->cancels && (how & ASX__OPEN_MASKED) == 0;
    bool own = looks && x->far_cancels && (how & ASX__OPEN_OWN) != 0;
    uint64_t cx = looks ? asx__cancel_flag(self->id) : 0;
    uint64_t flag = own || op->a != 0 ? asx__aim_flag(x, around) : 0;
    op->b = 0;
    if ((how & ASX__OPEN_SCOPED) == 0 && !is_fresh(x, self, around, op->a, 0)) {
        asx__op late = *op;
        late.kind = ASX__OP_SET_UP;
        late.b = ASX__START_OPENS;
        if (make_spawn(x, self, around, &late)) {
            *op = late;
            op->cx = cx;
            return true;
        }
    }
    op->cx = cx;
    op->name = own ? flag : 0;
    if ((how & ASX__OPEN_SCOPED) == 0 || op->a == 0 || flag == 0)
        return looks;
    op->kind = ASX__OP_TAKE_PLACE;
    op->other = op->name;
    op->name = flag + ASX__PART_REGIONS;
    return true;
}

/* The task behind a link of `serial` whose number is the next from `least` on; NULL: no more. */
static const asx__lab_task *next_linked(const asx__explorer *x, uint64_t serial, uint32_t least,
                                        uint64_t *ret_serial)
{
    const asx__lab_task *next = NULL;
    for (size_t i = 0; i < x->links_len; i++) {
        const asx__lab_task *other = asx__explorer_task(x, linked_to(&x->links[i], serial));
        if (other == NULL || other->id < least || (next != NULL && next->id <= other->id))
            continue;
        next = other;
        *ret_serial = linked_to(&x->links[i], serial);
    }
    return next;
}

/* Each link of the task, and whom its failure reaches through it. */
static void add_linked(asx__explorer *x, const asx__lab_task *self, asx__op *op)
{
    uint64_t serial = x->first_serial + (uint64_t)(self - x->tasks);
    uint64_t behind = 0;
    for (const asx__lab_task *other = next_linked(x, serial, 0, &behind); other != NULL;
         other = next_linked(x, serial, other->id + 1, &behind)) {
        asx__lab_aim at = { .task = behind, .tag = ASX__NAME_CANCEL, .by = self };
        uint32_t count = 0;
        const uint64_t *reached = asx__aim_find(x, &at, &count);
        uint64_t *names = asx__aim_room(x, (size_t)op->targets_len + count + 1);
        if (reached == NULL || names == NULL)
            return;
        if (op->targets_len != 0)
            memcpy(names, op->targets, op->targets_len * sizeof *names);
        names[op->targets_len] = name_of_link(x, self, other);
        memcpy(names + op->targets_len + 1, reached, count * sizeof *names);
        op->targets = names;
        op->targets_len += count + 1;
    }
}

static void add_target(asx__explorer *x, uint64_t name, asx__op *op)
{
    uint64_t *names = asx__aim_room(x, (size_t)op->targets_len + 1);
    if (names == NULL)
        return;
    if (op->targets_len != 0)
        memcpy(names, op->targets, op->targets_len * sizeof *names);
    names[op->targets_len++] = name;
    op->targets = names;
}

/* Is there room for so many regions only? */
static bool counts_regions(const asx__explorer *x, uint64_t serial)
{
    const asx__lab_region *region = asx__explorer_region(x, serial);
    return region != NULL && region->counts_regions && asx__aim_flag(x, serial) != 0;
}

static bool make_end(asx__explorer *x, const asx__lab_task *self, uint64_t region, uint64_t fails,
                     asx__op *op)
{
    op->name = ASX__NAME(ASX__NAME_FIN, self->id, 0);
    op->b = (fails & ASX__END_FAILED) != 0;
    const asx__lab_region *own = asx__explorer_region(x, self->region);
    bool limited = own != NULL && own->limited && !self->finalizes;
    op->other = self->finalizes ? asx__aim_flag(x, self->region) : 0;
    if (limited)
        op->other = asx__aim_flag(x, self->region) + ASX__PART_PLACES;
    op->targets_len = 0;
    if ((fails & (ASX__END_CANCELS_REGION | ASX__END_ABANDONS)) != 0) {
        asx__lab_aim at = { .tag = ASX__NAME_CANCEL, .by = self };
        at.region = (fails & ASX__END_CANCELS_REGION) != 0 ? region : 0;
        if ((fails & ASX__END_ABANDONS) != 0)
            at.task = x->first_serial + (uint64_t)(self - x->tasks);
        asx__explorer_expect_cancels(x);
        op->targets = asx__aim_find(x, &at, &op->targets_len);
    }
    if ((fails & ASX__END_CANCELS_REGION) != 0)
        asx__failures_tell(x, self, region, op);
    if (op->b != 0)
        add_linked(x, self, op);
    bool gives = self->finalizes && own != NULL && counts_regions(x, own->parent);
    if (gives)
        add_target(x, asx__aim_flag(x, own->parent) + ASX__PART_REGIONS, op);
    return x->cancels || limited || gives;
}

/* Its deadline may have come already, or somebody may have cancelled it. If it has finalizers it is
 * closed by their end. */
static bool make_close(asx__explorer *x, uint64_t serial, uint64_t how, asx__op *op)
{
    const asx__lab_region *region = asx__explorer_region(x, serial);
    bool timed = x->options->clock == ASX_EXPLORE_ADVERSARIAL && region != NULL &&
                 ((how & ASX__CLOSE_TIMED) != 0 || region->timer != ASX__DPOR_NONE);
    op->name = asx__aim_flag(x, serial);
    op->b = (how & ASX__CLOSE_FINALIZES) != 0 ? ASX__CLOSE_BEGINS_FINALIZERS : 0;
    bool gives = (how & ASX__CLOSE_GIVES_PLACE) != 0 && op->b == 0 && region != NULL &&
                 asx__aim_flag(x, region->parent) != 0;
    if (op->name == 0 || (op->b != 0 && !x->far_spawns) ||
        (!timed && !x->far_cancels && !x->far_spawns && !gives))
        return false;
    asx__explorer_expect_cancels(x);
    op->other = gives ? asx__aim_flag(x, region->parent) + ASX__PART_REGIONS : 0;
    asx__lab_aim at = { .region = serial, .tag = ASX__NAME_FIN };
    op->targets = asx__aim_find(x, &at, &op->targets_len);
    return true;
}

/* By its owner, to close it; or somebody asks for it, and is told whether that is too late. */
static bool make_stop(asx__explorer *x, uint64_t serial, uint64_t asks, asx__op *op)
{
    op->name = asx__aim_flag(x, serial);
    if (op->name != 0 && asks != 0 && !x->far_spawns)
        asx__explorer_prepare(x, &x->far_spawns);
    if (op->name == 0 || !x->far_spawns)
        return false;
    op->b = asks;
    if (asks != 0)
        op->targets = asx__aim_around(x, serial, &op->targets_len);
    return true;
}

/* Would the runtime refuse to wait, because somebody else joins this task already, or it would wait
 * for the caller? Who is refused depends on who came first, which nothing would decide. */
static bool join_is_refused(const asx__explorer *x, const asx__lab_task *self, uint64_t target)
{
    uint64_t serial = x->first_serial + (uint64_t)(self - x->tasks);
    const asx__lab_task *other = asx__explorer_task(x, target);
    const asx__lab_task *joiner = asx__explorer_task(x, other->joiner);
    if (joiner != NULL && joiner != self && joiner->joins == target)
        return true;
    /* Whoever has opened what it lives in is older. */
    for (uint64_t region = target < serial ? self->region : 0; region != 0;) {
        const asx__lab_region *r = asx__explorer_region(x, region);
        if (r != NULL && r->owner == target)
            return true;
        region = r != NULL ? r->parent : 0;
    }
    const asx__lab_task *next = other;
    for (size_t i = 0; i <= x->tasks_len && next != NULL; i++) {
        if (next == self)
            return true;
        next = next->joins != 0 ? asx__explorer_task(x, next->joins) : NULL;
    }
    return false;
}

/* Without cancellation a join is no operation, unless several meet: then they wait for their turns
 * as they do for a lock. */
static bool make_join(asx__explorer *x, const asx__lab_task *self, uint64_t target, asx__op *op)
{
    asx__lab_task *other = asx__explorer_task(x, target);
    op->name = other != NULL ? ASX__NAME(ASX__NAME_FIN, other->id, 0) : 0;
    if (other == NULL || other->id == ASX__DPOR_NONE)
        return false;
    if (!x->cancels && join_is_refused(x, self, target))
        asx__explorer_expect_cancels(x);
    other->joiner = x->first_serial + (uint64_t)(self - x->tasks);
    return x->cancels;
}

/* What concerns tasks and time. False: nothing that any task could tell. */
static bool make_task_op(asx__explorer *x, const asx__lab_task *self, const asx__operation *o,
                         asx__op *op)
{
    const asx__lab_task *other = asx__explorer_task(x, o->object);
    asx__lab_aim at = { .tag = ASX__NAME_CANCEL, .by = self };
    switch (o->kind) {
    case ASX__OP_CANCEL_TASK:
    case ASX__OP_CANCEL_REGION:
        asx__explorer_expect_cancels(x);
        at.task = o->kind == ASX__OP_CANCEL_TASK ? o->object : 0;
        at.region = o->kind == ASX__OP_CANCEL_REGION ? o->object : 0;
        op->targets = asx__aim_find(x, &at, &op->targets_len);
        return true;
    case ASX__OP_END:
        return make_end(x, self, o->object, o->end.how, op);
    case ASX__OP_STOP_REGION:
        return make_stop(x, o->object, o->stop.asks, op);
    case ASX__OP_CLOSE_REGION:
        return make_close(x, o->object, o->end.how, op);
    case ASX__OP_FIRST_OF:
        asx__explorer_expect_cancels(x);
        at = (asx__lab_aim){ .region = o->object, .tag = ASX__NAME_FIN, .near = true };
        op->targets = asx__aim_find(x, &at, &op->targets_len);
        return true;
    case ASX__OP_LINK:
        return make_link(x, o->object, o->link.other, op);
    case ASX__OP_SET_UP:
    case ASX__OP_SPAWN:
        return make_spawn(x, self, o->object, op);
    case ASX__OP_WAKE:
        op->name = other != NULL ? ASX__NAME(ASX__NAME_WAKER, other->id, 0) : 0;
        return other != NULL && other->id != ASX__DPOR_NONE;
    case ASX__OP_WAIT_EXTERNAL:
    case ASX__OP_WAIT_WOKEN:
        op->name = ASX__NAME(ASX__NAME_WAKER, self->id, 0);
        return true;
    case ASX__OP_JOIN:
        return make_join(x, self, o->object, op);
    case ASX__OP_SLEEP:
        op->name = ASX__NAME(ASX__NAME_CLOCK, 0, 0);
        op->a = asx__explorer_time(x, o->sleep.until);
        op->b = x->options->clock == ASX_EXPLORE_ADVERSARIAL;
        return true;
    case ASX__OP_SHIELD:
        op->name = asx__cancel_flag(self->id);
        return x->cancels && asx__aim_shields(x, self, o->shield.ends, op);
    case ASX__OP_OPEN_REGION:
        return make_open(x, self, o->object, op);
    case ASX__OP_IS_CANCELLED:
        op->cx = asx__cancel_flag(self->id);
        return x->cancels;
    default:
        return x->cancels;
    }
}

void asx__explorer_aim(void *ctx, uint32_t id, asx__op *op)
{
    asx__explorer *x = ctx;
    uint32_t aims = asx__aim_stamp(x);
    if (op->aims == aims)
        return;
    if (op->kind == ASX__OP_FIRE) {
        if (!asx__explorer_aim_deadline(x, id, op))
            return;
    } else {
        const asx__lab_task *self = asx__explorer_task(x, x->known[id].serial);
        asx__op more = *op;
        if (make_task_op(x, self, &self->aim, &more))
            *op = more;
    }
    op->aims = aims;
}

void asx__explorer_aim_rest(asx__explorer *x)
{
    for (size_t i = 0; i < x->aiming_len; i++)
        asx__dpor_aim(x->dpor, x->tasks[x->aiming[i]].id);
    for (size_t i = 0; i < x->timed_tasks; i++)
        if (x->tasks[i].timer != ASX__DPOR_NONE)
            asx__dpor_aim(x->dpor, x->tasks[i].timer);
    for (size_t i = 0; i < x->timed_regions; i++)
        if (x->regions[i].timer != ASX__DPOR_NONE)
            asx__dpor_aim(x->dpor, x->regions[i].timer);
}

/* The regions of its own are those that it was about then; what is behind them may be more. */
static void aim_shield_late(asx__explorer *x, const asx__lab_shot *shot, asx__op *op)
{
    uint32_t pairs = (uint32_t)op->a, behind_len = 0;
    asx__lab_aim at = { .task = shot->serial, .tag = ASX__NAME_CANCEL, .unmasks = true,
                        .by = asx__explorer_task(x, shot->serial) };
    const uint64_t *behind = asx__aim_find(x, &at, &behind_len);
    uint64_t *names = asx__aim_room(x, 2 * (size_t)pairs + behind_len);
    if (behind == NULL || names == NULL)
        return;
    memcpy(names, op->targets, 2 * (size_t)pairs * sizeof *names);
    if (behind_len != 0)
        memcpy(names + 2 * (size_t)pairs, behind, behind_len * sizeof *names);
    op->targets = names;
    op->targets_len = 2 * pairs + behind_len;
}

static bool is_among(uint64_t name, const uint64_t *names, uint32_t len)
{
    while (len != 0 && names[len - 1] != name)
        len--;
    return len != 0;
}

/* A deadline. In front of shields it reaches whom it did: what was opened there later comes after
 * it, or after the cancel that made it too late. */
static void aim_deadline_late(asx__explorer *x, const asx__lab_aim *at, asx__op *op)
{
    uint32_t len, kept = 0, from = 0;
    uint64_t *names = asx__aim_find(x, at, &len);
    for (uint32_t i = 0; i < len && names != NULL; i++) {
        if (asx__is_shield(names[i]))
            continue;
        if (from < i || is_among(names[i], op->targets, op->targets_len))
            while (from <= i)
                names[kept++] = names[from++];
        from = i + 1;
    }
    if (names == NULL)
        return;
    op->targets = names;
    op->targets_len = kept;
}

void asx__explorer_aim_late(asx__explorer *x)
{
    for (size_t i = 0; i < x->shots_len; i++) {
        const asx__lab_shot *shot = &x->shots[i];
        asx__op *op = shot->known != asx__aim_known(x) ? asx__dpor_stopped(x->dpor, shot->event)
                                                       : NULL;
        asx__lab_aim at = { .task = shot->serial, .region = shot->what.object,
                            .tag = ASX__NAME_CANCEL };
        if (op == NULL)
            continue;
        if (shot->what.kind == ASX__OP_FIRE)
            aim_deadline_late(x, &at, op);
        else if (shot->what.kind == ASX__OP_SHIELD)
            aim_shield_late(x, shot, op);
        else
            (void)make_task_op(x, asx__explorer_task(x, shot->serial), &shot->what, op);
    }
}

/* It stands before something that concerns others; it has done that. */
static void begin_aim(asx__explorer *x, asx__lab_task *self, const asx__operation *o)
{
    if (!asx__explorer_room(x, (void **)&x->aiming, &x->aiming_cap, x->aiming_len + 1,
                            sizeof *x->aiming))
        return;
    x->aiming[x->aiming_len++] = (uint32_t)(self - x->tasks);
    self->aims = true;
    self->aim = *o;
}

static void end_aim(asx__explorer *x, asx__lab_task *self)
{
    size_t i = x->aiming_len;
    while (x->aiming[--i] != (uint32_t)(self - x->tasks))
        ;
    x->aiming[i] = x->aiming[--x->aiming_len];
    self->aims = false;
}

/* The task is about to be cancelled, and by nobody else: it waits for its turn. Others may start
 * tasks in what it has opened meanwhile. */
static void stand_to_cancel(asx__explorer *x, asx__task *task, const char *site)
{
    uint64_t serial = asx__serial(task->generation);
    asx__lab_task *self = asx__explorer_task(x, serial);
    asx__op cancel = { .kind = ASX__OP_CANCEL_TASK, .site = site, .aims = asx__aim_stamp(x) };
    const asx__operation o = { .kind = ASX__OP_CANCEL_TASK, .object = serial };
    (void)make_task_op(x, self, &o, &cancel);
    begin_aim(x, self, &o);
    (void)asx__explorer_stand(x, task, &cancel);
    asx__aim_shot(x, serial, &o);
    self = asx__explorer_task(x, serial);
    if (self->aims)
        end_aim(x, self);
}

/* A fault: the task is cancelled just now, or it is not. Whether it was cancelled by others is not
 * asked: the answer would depend on an order that nothing has decided. */
static void may_cancel(asx__explorer *x, asx__task *task, asx__lab_task *self, const char *site)
{
    if ((x->options->faults & ASX_EXPLORE_FAULT_CANCEL) == 0 || self->id == 0 || self->faulty)
        return;
    asx__op choose = { .kind = ASX__OP_CHOOSE, .a = 2,
                       .site = asx__explorer_fault_site(x, site, "cancel") };
    uint64_t serial = asx__serial(task->generation);
    if (asx__explorer_stand(x, task, &choose) == 0)
        return;
    asx__explorer_task(x, serial)->faulty = true;
    stand_to_cancel(x, task, "fault");
    asx__task_cancel(x->rt, task,
                     asx__reason_make(x->rt, task->region, ASX_CANCEL_USER, task->region, task,
                                      "fault", NULL));
}

/* A fault that was asked for: does it happen now? */
static OUTSIDE bool draw_fault(asx__explorer *x, asx__task *task, const asx__lab_task *self,
                               asx__fault which)
{
    static const struct {
        uint32_t fault;
        const char *words;
    } faults[] = { [ASX__FAULT_NO_MEMORY] = { ASX_EXPLORE_FAULT_ALLOC, "no memory" },
                   [ASX__FAULT_NO_STACK] = { ASX_EXPLORE_FAULT_STACK, "no stack" },
                   [ASX__FAULT_NO_THREAD] = { ASX_EXPLORE_FAULT_THREAD, "no thread" } };
    if ((x->options->faults & faults[which].fault) == 0)
        return false;
    const char *here = self->next_site != NULL ? self->next_site : asx__lab_task_site(self);
    asx__op choose = { .kind = ASX__OP_CHOOSE, .a = 2,
                       .site = asx__explorer_fault_site(x, here, faults[which].words) };
    return asx__explorer_stand(x, task, &choose) != 0;
}

/* Each point at which it could wait is a resumption of a task that may have only so many. */
static void charge_poll(asx__explorer *x, asx__task *task)
{
    asx_cancel_kind kind;
    if (!asx__budget_poll(x->rt, task, &kind))
        return;
    stand_to_cancel(x, task, "budget");
    asx__budget_exhaust(x->rt, task, kind);
}

/* Does the task live in the region, or has it opened it? Then its close comes after all it does. */
static bool is_near(const asx__explorer *x, const asx__lab_task *self, uint64_t region)
{
    const asx__lab_region *r = asx__explorer_region(x, region);
    if (r == NULL || asx__explorer_task(x, r->owner) == self)
        return true;
    for (uint64_t serial = self->region; serial != 0;) {
        if (serial == region)
            return true;
        r = asx__explorer_region(x, serial);
        serial = r != NULL ? r->parent : 0;
    }
    return false;
}

static void complete_settle(asx__explorer *x, const asx__lab_task *self, uint64_t obligation,
                            asx__op *op)
{
    const asx__lab_thing *thing = asx__explorer_thing(x, ASX_EVENT_OBLIGATION_RESERVE, obligation);
    uint64_t flag = thing != NULL ? asx__aim_flag(x, thing->region) : 0;
    if (flag == 0)
        return;
    op->other = thing->counted ? flag + ASX__PART_OBLIGATIONS : 0;
    if (is_near(x, self, thing->region))
        return;
    if (!x->far_spawns)
        asx__explorer_prepare(x, &x->far_spawns);
    add_target(x, flag + ASX__PART_GONE, op);
}

/* As with cancellation: what a test never does need not be looked for. */
static void complete_channel_op(asx__explorer *x, const asx__operation *o, asx__op *op)
{
    if (ASX__UNLIKELY(has(o->kind, ASX__O_DROPS)) && !x->drops)
        asx__explorer_prepare(x, &x->drops);
    if (ASX__UNLIKELY(has(o->kind, ASX__O_CLAIMS)) && !x->claims)
        asx__explorer_prepare(x, &x->claims);
    op->a = o->channel.capacity;
    op->b = (x->drops ? 0u : ASX__CHANNEL_STAYS) | (x->claims ? 0u : ASX__CHANNEL_IS_PLAIN);
    if (ASX__UNLIKELY(x->drops) && has(o->kind, ASX__O_SENDER))
        op->other = name_of_thing(x, ASX_EVENT_CHANNEL_SENDER_DROP, o->channel.sender);
}

static void complete_mpmc_op(const asx__lab_task *self, const asx__operation *o, asx__op *op)
{
    if (o->kind == ASX__OP_MPMC_TAKEN) {
        op->a = self->ticket;
        return;
    }
    bool counts = o->kind == ASX__OP_MPMC_CLONE || o->kind == ASX__OP_MPMC_DROP;
    op->a = counts ? o->mpmc.receives : o->mpmc.capacity;
    op->other = op->name + ASX__PART_ENDPOINT + (o->mpmc.endpoint & ASX__PART_ENDPOINT_MASK);
}

/* A lock that the task has already is refused: it would wait for itself. */
static void complete_lock_op(asx__explorer *x, const asx__lab_task *self, asx__op *op)
{
    op->a = (uint64_t)self->id + 1;
    if (op->kind == ASX__OP_LOCK && asx__dpor_state(x->dpor, op->name) == op->a)
        op->kind = ASX__OP_TRY_LOCK;
}

/* Likewise. */
static void complete_rwlock_op(const asx__operation *o, asx__op *op)
{
    if (o->rwlock.held && o->kind == ASX__OP_READ_LOCK)
        op->kind = ASX__OP_TRY_READ_LOCK;
    if (o->rwlock.held && o->kind == ASX__OP_WRITE_LOCK)
        op->kind = ASX__OP_TRY_WRITE_LOCK;
}

static void complete_condition_op(const asx__explorer *x, const asx__lab_task *self,
                                  const asx__operation *o, asx__op *op)
{
    if (o->condition.mutex == 0)
        return; /* a signal */
    op->other = name_of_thing(x, ASX_EVENT_MUTEX_CREATE, o->condition.mutex);
    op->a = self->ticket;
    op->b = (uint64_t)self->id + 1;
}

static void complete_broadcast_op(const asx__explorer *x, const asx__operation *o, asx__op *op)
{
    op->a = o->broadcast.capacity;
    op->b = o->broadcast.counts;
    if (o->broadcast.receiver != 0)
        op->other = name_of_thing(x, ASX_EVENT_BROADCAST_SUBSCRIBE, o->broadcast.receiver);
}

/* The arguments of the operation, by what its object is. */
static void complete_op(asx__explorer *x, const asx__lab_task *self, const asx__operation *o,
                        asx__op *op)
{
    switch (made_by[o->kind]) {
    case ASX_EVENT_CHANNEL_CREATE:
        complete_channel_op(x, o, op);
        break;
    case ASX_EVENT_MPMC_CREATE:
        complete_mpmc_op(self, o, op);
        break;
    case ASX_EVENT_MUTEX_CREATE:
        complete_lock_op(x, self, op);
        break;
    case ASX_EVENT_RWLOCK_CREATE:
        complete_rwlock_op(o, op);
        break;
    case ASX_EVENT_SEMAPHORE_CREATE:
        op->a = o->semaphore.permits;
        break;
    case ASX_EVENT_CONDITION_CREATE:
        complete_condition_op(x, self, o, op);
        break;
    case ASX_EVENT_NOTIFY_CREATE:
    case ASX_EVENT_BARRIER_CREATE:
        op->a = has(o->kind, ASX__O_TICKET) ? self->ticket : 0;
        op->b = o->kind == ASX__OP_BARRIER_WAIT ? o->barrier.parties : 0;
        break;
    case ASX_EVENT_ONCE_CREATE:
        op->a = o->once.state;
        break;
    case ASX_EVENT_WATCH_CREATE:
        op->a = o->watch.seen;
        break;
    case ASX_EVENT_BROADCAST_CREATE:
        complete_broadcast_op(x, o, op);
        break;
    case ASX_EVENT_OBLIGATION_RESERVE:
        complete_settle(x, self, o->object, op);
        break;
    default:
        break;
    }
}

/* The operation, if there is anything to be told apart. */
static bool make_op(asx__explorer *x, asx__lab_task *self, const asx__operation *o, asx__op *op)
{
    if (self != NULL)
        self->uses = 0;
    if (made_by[o->kind] == ASX_EVENT_NONE)
        return make_task_op(x, self, o, op);
    const asx__lab_thing *thing = asx__explorer_thing(x, made_by[o->kind], o->object);
    if (thing == NULL)
        return false;
    op->name = thing->name;
    if (self != NULL && o->kind != ASX__OP_SETTLE)
        self->uses = thing->region;
    return true;
}

/* Something was done by an operation that others will ask for. */
static OUTSIDE void after_operation(asx__explorer *x, asx__lab_task *self, const asx__operation *o,
                                    uint64_t found)
{
    if (self->aims) {
        asx__aim_shot(x, x->first_serial + (uint64_t)(self - x->tasks), o);
        end_aim(x, self);
    }
    if (has(o->kind, ASX__O_GIVES) && found >= ASX__FOUND_TICKET)
        self->ticket = found - ASX__FOUND_TICKET;
    if (o->kind == ASX__OP_LINK && asx__explorer_room(x, (void **)&x->links, &x->links_cap,
                                                      x->links_len + 1, sizeof *x->links))
        x->links[x->links_len++] = (asx__lab_link){ o->object, o->link.other };
    if (o->kind == ASX__OP_SHIELD)
        asx__aim_bare(x, self);
}

/* Where the operation stands: where the call does that the task is in. What it leaves behind in the
 * midst of a call, since it has failed there, has no place; the end of a task has that of its
 * start, which of branches is the call that they are for. */
static const char *site_of(asx__lab_task *self, const asx__task *task, asx__op_kind kind)
{
    const char *here = self->next_site;
    self->next_site = NULL;
    if (kind == ASX__OP_END)
        here = self->born != NULL ? self->born : task->site;
    else if (here == NULL && (self->fresh || !has(kind, ASX__O_LEFT)))
        here = asx__lab_task_site(self);
    self->fresh = false;
    return here != NULL ? here : "";
}

/* Is it something that no task could tell from nothing? Asked first of what happens most in tests
 * that do not cancel; what is not known here is asked again when the operation is made. */
static inline bool is_nothing(const asx__explorer *x, const asx__task *task,
                              const asx__operation *o)
{
    switch (o->kind) {
    case ASX__OP_CHECKPOINT:
    case ASX__OP_YIELD:
        return !x->cancels && (task->flags & ASX__T_METERED) == 0;
    case ASX__OP_IS_CANCELLED:
    case ASX__OP_SHIELD:
        return !x->cancels;
    case ASX__OP_OPEN_REGION:
        return !x->cancels && o->start.room == 0 && (o->start.how & ASX__OPEN_SCOPED) != 0;
    case ASX__OP_STOP_REGION:
        return !x->far_spawns && !o->stop.asks;
    case ASX__OP_CLOSE_REGION:
        return x->options->clock != ASX_EXPLORE_ADVERSARIAL && !x->far_cancels &&
               !x->far_spawns && (o->end.how & ASX__CLOSE_GIVES_PLACE) == 0;
    case ASX__OP_END:
        return o->end.how == 0 && !x->cancels && !x->limits;
    default:
        return false;
    }
}

/* A start, a set-up, the opening of a region: how many there is room for, and how it goes. */
static inline void begin_start(const asx__operation *o, asx__op *op)
{
    op->a = o->start.room;
    if (o->kind == ASX__OP_OPEN_REGION)
        op->b = o->start.how;
    else
        op->b = ((o->start.how & ASX__SPAWN_WAITS) != 0 ? ASX__START_WAITS : 0u) |
                ((o->start.how & ASX__SPAWN_FAILS) != 0 ? ASX__START_FAILS : 0u);
}

/* To write it asks first, and is refused if it is cancelled before it has. */
static OUTSIDE bool stand_to_request(asx__explorer *x, asx__task *task, asx__op *op)
{
    asx__op request = { .kind = ASX__OP_WRITE_REQUEST, .name = op->name, .cx = op->cx,
                        .fails = op->fails, .site = op->site };
    (void)asx__explorer_stand(x, task, &request);
    op->a = 1;
    uint64_t failed = asx__dpor_state(x->dpor, op->cx + ASX__PART_FAILED) & op->fails;
    return op->cx == 0 || (failed == 0 && asx__dpor_state(x->dpor, op->cx) == 0);
}

/* The task stands before an operation until the engine chooses it. */
static OUTSIDE uint64_t stand(asx__explorer *x, asx__task *task, const asx__operation *o)
{
    uint64_t serial = asx__serial(task->generation);
    asx__op_kind kind = o->kind;
    asx__lab_task *self = asx__explorer_known(x, serial);
    const char *site = site_of(self, task, kind);
    uint64_t joined = 0;
    if (ASX__UNLIKELY(x->failures || (task->flags & ASX__T_FAILED) != 0)) {
        joined = kind == ASX__OP_JOIN ? asx__failures_joined(x, o->object) : 0;
        if (has(kind, ASX__O_POINT) && asx__failures_refuse(x, task, joined))
            return ASX__FOUND_CANCELLED;
    }
    self->joins = ASX__UNLIKELY(kind == ASX__OP_JOIN) && !x->cancels ? o->object : 0;
    bool starts = kind == ASX__OP_SPAWN || kind == ASX__OP_SET_UP;
    if (ASX__UNLIKELY(starts) && is_fresh(x, self, o->object, o->start.room, o->start.how))
        return ASX__GOES;
    asx__op op = { .kind = kind, .site = site, .aims = asx__aim_stamp(x) };
    if (ASX__UNLIKELY(starts || kind == ASX__OP_OPEN_REGION))
        begin_start(o, &op);
    if (ASX__UNLIKELY((task->flags & ASX__T_METERED) != 0) && has(kind, ASX__O_POINT)) {
        charge_poll(x, task);
        self = asx__explorer_known(x, serial);
    }
    if (!make_op(x, self, o, &op))
        return ASX__GOES;
    if (ASX__UNLIKELY(x->cancels) && has(kind, ASX__O_POINT) && !asx__task_masked(task)) {
        op.cx = asx__cancel_flag(self->id);
        op.fails = ASX__UNLIKELY(x->failures) ? asx__failures_seen(x, task, joined) : 0;
        may_cancel(x, task, self, site);
        self = asx__explorer_known(x, serial); /* others may have been started meanwhile */
    }
    if (ASX__UNLIKELY(kind == ASX__OP_SPAWN) && asx__task_masked(task))
        op.cx = 0;
    complete_op(x, self, o, &op);
    if (ASX__UNLIKELY(op.kind == ASX__OP_WRITE_LOCK)) {
        bool goes_on = stand_to_request(x, task, &op);
        self = asx__explorer_known(x, serial);
        self->uses = goes_on ? self->uses : 0;
        if (!goes_on)
            return ASX__FOUND_CANCELLED;
    }
    if (ASX__UNLIKELY(has(kind, ASX__O_AIMS)) && (kind != ASX__OP_END || o->end.how != 0))
        begin_aim(x, self, o);
    else
        op.aims = 0;
    uint64_t found = asx__explorer_stand(x, task, &op);
    self = asx__explorer_known(x, serial);
    self->uses = 0;
    if (ASX__UNLIKELY(has(kind, ASX__O_AIMS | ASX__O_GIVES)))
        after_operation(x, self, o, found);
    return found;
}

/* A timer does it: the move of the clock, which commutes with nothing, has done this too. */
static OUTSIDE uint64_t by_timer(asx__explorer *x, const asx__operation *o)
{
    asx__op op = { .kind = o->kind, .site = "" };
    if (!has(o->kind, ASX__O_TIMER)) {
        asx__explorer_refuse(x, ASX_EVENT_TIMER_FIRE);
        return ASX__GOES;
    }
    if (o->kind == ASX__OP_RELEASE)
        op.a = o->semaphore.permits;
    return make_op(x, NULL, o, &op) ? asx__dpor_does(x->dpor, &op) : ASX__GOES;
}

/* The task of the test that runs and can stand before operations; NULL: it is another. */
static inline asx__lab_task *standing(const asx__explorer *x, const asx__task *task)
{
    if (ASX__UNLIKELY(task == NULL || x->clearing || x->rt->in_cleanup ||
                      (task->flags & ASX__T_POLL) != 0))
        return NULL;
    asx__lab_task *self = asx__explorer_task(x, asx__serial(task->generation));
    return self != NULL && self->id != ASX__DPOR_NONE ? self : NULL;
}

static OUTSIDE void note_yield(asx__explorer *x, const asx__lab_task *self, const char *site)
{
    size_t events;
    (void)asx__dpor_events(x->dpor, &events);
    if (x->yields_len < ASX__LAB_YIELDS_MOST &&
        asx__explorer_room(x, (void **)&x->yields, &x->yields_cap, x->yields_len + 1,
                           sizeof *x->yields))
        x->yields[x->yields_len++] = (asx__lab_yield){ events, site, self->id };
}

static uint64_t announce(void *ctx, asx__task *task, const asx__operation *o)
{
    asx__explorer *x = ctx;
    asx__lab_task *self = standing(x, task);
    if (ASX__UNLIKELY(self == NULL))
        return task == NULL && x->firing != NULL ? by_timer(x, o) : (uint64_t)ASX__GOES;
    if (!is_nothing(x, task, o))
        return stand(x, task, o);
    const char *site = site_of(self, task, o->kind);
    if (ASX__UNLIKELY(o->kind == ASX__OP_YIELD))
        note_yield(x, self, site);
    self->joins = 0;
    return ASX__GOES;
}

static void created(void *ctx, asx__task *task, const asx__creation *c)
{
    asx__explorer *x = ctx;
    if (standing(x, task) != NULL)
        asx__explorer_made(x, c, asx__serial(task->generation));
    else if (task == NULL && x->firing != NULL)
        asx__explorer_refuse(x, ASX_EVENT_TIMER_FIRE);
}

static bool fails(void *ctx, asx__task *task, asx__fault fault)
{
    asx__explorer *x = ctx;
    const asx__lab_task *self = standing(x, task);
    return self != NULL && draw_fault(x, task, self, fault);
}

void asx__explorer_seam_init(asx__explorer *x)
{
    x->seam = (asx__seam){ x, announce, created, asx__explorer_goes_on, asx__explorer_timers,
                           x->options->faults != 0 ? fails : NULL };
    x->rt->seam = &x->seam;
    x->rt->found = asx__explorer_found;
}
