/* again.c - the beginning that an execution has in common with the one before.
 *
 * Most executions differ from the one before only at their end: the plan says which tasks go first,
 * and as long as these are those that went before, they do what they did before. So these events
 * are still in memory with all that was found out about them: clocks, accesses, the states that
 * they found and left. They are *done again*: what they left is put back, nothing is looked up.
 *
 *   known     events of the execution before that are in memory
 *   repeated  the plan begins with so many of them: repeated <= known, and less than its length
 *
 * Invariant: after event i < repeated was done again, tasks, clocks and objects are as they would
 * be if it had been done anew; and the tables already hold what belongs to all repeated events.
 *
 * Objects keep their numbers up to those that the first new event was the first to need. The others
 * are forgotten, the last first, so that no search for an older name ends at a hole (places are
 * probed one after the other).
 *
 * A program that does not repeat itself is noticed: before each event it is asked whether the task
 * stands before the same operation, and a cell has the value that it had. If it is another value or
 * address, nothing is repeated from there on, and the event is treated as a new one. If it is
 * another kind of operation, or of another object that has a name, the test is not deterministic.
 */
#include "lab/dpor/internal.h"

static void forget_objects(asx__dpor *d, size_t from)
{
    while (d->objects.len > from)
        d->places[d->objects.at[--d->objects.len].place].stamp = 0;
}

/* Accesses and links of the first new event and of all after it. */
static void forget_accesses(asx__dpor *d)
{
    if (!d->wide || d->repeated >= d->known)
        return;
    d->accesses.len = d->prints.len = d->wide_events[d->repeated].accesses;
    d->links.len = d->wide_events[d->repeated].links;
}

static uint32_t count_common(const asx__dpor *d)
{
    uint32_t most = d->known, i = 0;
    if (most >= d->plan.len)
        most = d->plan.len != 0 ? (uint32_t)d->plan.len - 1 : 0;
    while (i < most && d->plan.at[i].task == d->events[i].task &&
           d->plan.at[i].choice == d->events[i].choice)
        i++;
    return i;
}

void asx__again_begin(asx__dpor *d)
{
    d->repeated = count_common(d);
    d->rows_len = d->own_from = d->stride; /* row 0 */
    if (d->repeated == 0) {
        d->objects.len = d->accesses.len = d->prints.len = d->links.len = 0;
        d->stamp++;
        return;
    }
    forget_accesses(d);
    if (d->repeated < d->known)
        forget_objects(d, d->events[d->repeated].objects);
    for (size_t i = 0; i < d->objects.len; i++) {
        asx__dpor_object *object = &d->objects.at[i];
        object->last = object->last_write = object->last_change = ASX__DPOR_NONE;
        object->waiters = 0;
        object->state = 0;
    }
}

/* ---- the same operation? -------------------------------------------------------------------- */

/* Whom it reaches is not kept from one execution to the next: does it access the same? */
static bool accesses_the_same(asx__dpor *d, const asx__op *op, const asx__wide_event *w)
{
    if (!asx__wide_deed(d, op) || !d->deed.enabled || d->deed.len > w->len ||
        d->deed.all != w->all)
        return false;
    for (size_t i = 0; i < d->deed.len; i++)
        if (d->prints.at[w->accesses + i] !=
                d->deed.touches[i].name * 2 + d->deed.touches[i].writes ||
            (d->deed.touches[i].writes &&
             d->accesses.at[w->accesses + i].after != d->deed.touches[i].after))
            return false;
    return true;
}

static bool is_same_wide(asx__dpor *d, uint32_t step, const asx__op *op)
{
    const asx__wide_event *w = &d->wide_events[step];
    const asx__op *old = &w->op;
    if (d->tasks[d->events[step].task].clock != w->past)
        return false;
    if (ASX__UNLIKELY(op->kind != old->kind || op->a != old->a || op->b != old->b ||
                      op->name != old->name || op->other != old->other || op->cx != old->cx ||
                      op->fails != old->fails ||
                      op->object != old->object || op->size != old->size ||
                      (op->targets_len != 0) != (old->targets_len != 0)))
        return false;
    if (ASX__UNLIKELY(op->kind == ASX__OP_ADVANCE && op->b != 0))
        return false; /* what else it does is asked anew, and told by what is there */
    if (ASX__UNLIKELY(op->kind == ASX__OP_DEVICE))
        return op->device == old->device;
    if (ASX__UNLIKELY(op->targets_len != 0))
        return accesses_the_same(d, op, w);
    if (ASX__LIKELY(op->object == NULL))
        return true;
    uint64_t name = asx__op_name(op);
    for (uint32_t i = 0; i < w->len; i++)
        if (d->prints.at[w->accesses + i] >> 1 == name)
            return asx__state_read(op->object, op->size) == d->accesses.at[w->accesses + i].before;
    return true;
}

static bool is_same_narrow(const asx__dpor *d, uint32_t step, const asx__op *op)
{
    const asx__dpor_event *event = &d->events[step];
    if (op->kind != event->kind)
        return false;
    if (op->object == NULL)
        return event->object == ASX__DPOR_NONE;
    if (event->object == ASX__DPOR_NONE ||
        asx__op_name(op) != d->objects.at[event->object].name)
        return false;
    uint64_t state = asx__state_read(op->object, op->size);
    asx__op same = *op;
    same.pick = event->choice;
    asx__op_effect effect = asx__op_eval(&same, state);
    return state == event->before && effect.enabled && effect.writes == event->writes &&
           effect.after == event->after;
}

static bool is_another(const asx__dpor *d, uint32_t step, const asx__dpor_task *k)
{
    const asx__dpor_event *event = &d->events[step];
    uint64_t name = k->op.name, old = 0;
    if (!k->present || !k->pending)
        return false;
    if (d->wide)
        old = d->wide_events[step].op.name;
    else if (event->object != ASX__DPOR_NONE)
        old = d->objects.at[event->object].name;
    return k->op.kind != event->kind ||
           (name != old && ASX__NAME_IS_MADE(name) && ASX__NAME_IS_MADE(old));
}

bool asx__again_is_same(asx__dpor *d, uint32_t task)
{
    const asx__dpor_task *k = &d->tasks[task];
    uint32_t step = d->events_len;
    if (ASX__LIKELY(k->present && k->pending && d->events[step].ordinal == k->done + 1 &&
                    d->events[step].rows == d->rows_len &&
                    (d->wide ? is_same_wide(d, step, &k->op) : is_same_narrow(d, step, &k->op))))
        return true;
    if (is_another(d, step, k))
        asx__dpor_diverge(d, task, d->events[step].kind);
    d->repeated = step;
    forget_accesses(d);
    return false;
}

/* ---- doing it again ------------------------------------------------------------------------- */

static void redo_wide(asx__dpor *d, uint32_t step, const asx__op *op)
{
    asx__wide_event *w = &d->wide_events[step];
    uint64_t name = ASX__UNLIKELY(op->object != NULL) ? asx__op_name(op) : 0;
    w->op.targets = op->targets; /* all else is the same */
    w->op.targets_len = op->targets_len;
    d->tasks[d->events[step].task].history = w->history;
    for (uint32_t i = w->accesses; i < w->accesses + w->len; i++) {
        const asx__access *access = &d->accesses.at[i];
        asx__dpor_object *object = &d->objects.at[access->object];
        object->last = i;
        if (ASX__LIKELY(access->writes)) {
            object->last_write = object->last_change = i;
            object->state = access->after;
        } else {
            object->last_change = access->change != 0 || access->set ? i : object->last_change;
            object->state = access->before + access->change;
        }
        asx__dpor_changed(d, object);
        if (ASX__UNLIKELY(name != 0) && object->name == name && object->state != access->before)
            asx__state_write(op->object, op->size, object->state);
    }
    uint64_t bit = asx__task_bit(d->events[step].task);
    for (uint32_t i = w->links; i < w->links + w->links_len; i++) {
        asx__dpor_object *group = &d->objects.at[d->links.at[i].object];
        group->last = i;
        group->state |= bit;
    }
    if (ASX__UNLIKELY(w->all)) {
        d->world = step;
        d->epoch++;
    }
    d->deed_of = NULL;
}

static void redo_narrow(asx__dpor *d, uint32_t step, const asx__op *op)
{
    const asx__dpor_event *event = &d->events[step];
    if (event->object == ASX__DPOR_NONE)
        return;
    asx__dpor_object *object = &d->objects.at[event->object];
    object->last = step;
    if (event->writes) {
        object->last_write = step;
        asx__state_write(op->object, op->size, event->after);
    }
}

uint64_t asx__again_commit(asx__dpor *d, uint32_t task)
{
    asx__dpor_task *k = &d->tasks[task];
    if (ASX__UNLIKELY(k->op.answers != NULL))
        (void)asx__dpor_answer(d, &k->op);
    uint32_t step = d->events_len++;
    asx__dpor_event *event = &d->events[step];
    event->site = k->op.site;
    event->by_default = d->plan.at[step].by_default;
    if (ASX__LIKELY(d->wide))
        redo_wide(d, step, &k->op);
    else
        redo_narrow(d, step, &k->op);
    k->done++;
    k->pending = false;
    asx__dpor_asked(d, task, false);
    k->clock = event->clock;
    d->rows_len = d->own_from = event->rows_end;
    d->class_sum += event->term;
    if (ASX__LIKELY(d->wide))
        return event->found;
    return event->object == ASX__DPOR_NONE ? event->choice : event->before;
}
