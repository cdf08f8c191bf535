/* wide.c - executions whose operations access several objects.
 *
 * An access of an object is noted with the state that it found and left, so that the state of any
 * object can be told at any place of the execution, also in one from which events are taken away:
 * it is what the last write that is left has written, and what the reads after it have added.
 *
 * A cell may also be *set*, by no operation: the access that comes next finds another state than
 * the one before has left. Nothing races with that, so it is before or after whatever is moved, and
 * if it is before it is left: what was accessed before it tells nothing then.
 */
#include "lab/dpor/internal.h"

/* ---- states --------------------------------------------------------------------------------- */

static uint64_t state_now(void *ctx, uint64_t name, const asx__op *op)
{
    asx__dpor *d = ctx;
    if (ASX__UNLIKELY(op->object != NULL) && name == asx__op_name(op))
        return asx__state_read(op->object, op->size);
    uint32_t object = asx__dpor_object_find(d, name);
    return object != ASX__DPOR_NONE ? d->objects.at[object].state : 0;
}

uint64_t asx__wide_state_without(void *ctx, uint64_t name, const asx__op *op)
{
    asx__dpor *d = ctx;
    uint32_t object = asx__dpor_object_find(d, name);
    uint64_t added = 0;
    if (object == ASX__DPOR_NONE || d->objects.at[object].last == ASX__DPOR_NONE)
        return state_now(ctx, name, op);
    uint32_t first = asx__moved_access(d, object);
    if (first != ASX__DPOR_NONE && ASX__UNLIKELY(d->accesses.at[first].set))
        return d->accesses.at[first].before;
    uint32_t a = first != ASX__DPOR_NONE ? d->accesses.at[first].prev_change
                                         : d->objects.at[object].last_change;
    if (first == ASX__DPOR_NONE)
        first = d->objects.at[object].last; /* if nothing changes it that is what it always was */
    for (; a != ASX__DPOR_NONE; a = d->accesses.at[a].prev_change) {
        const asx__access *access = &d->accesses.at[a];
        bool away = asx__is_away(d, access->event);
        first = a;
        if (ASX__LIKELY(access->writes && !away))
            return access->after + added;
        added += away ? 0 : access->change;
        if (ASX__UNLIKELY(access->set) && access->event <= d->moving) /* NONE: it is not there */
            break;
    }
    return d->accesses.at[first].before + added;
}

bool asx__wide_deed(asx__dpor *d, const asx__op *op)
{
    d->deed_of = NULL;
    if (!asx__op_run(op, state_now, d, &d->deed)) {
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    d->deed_of = op;
    d->deed_at = d->events_len;
    return true;
}

bool asx__wide_enabled(asx__dpor *d, const asx__op *op)
{
    if (op->kind == ASX__OP_CHOOSE || asx__op_is_plain(op))
        return true;
    if (ASX__LIKELY(op->aims == 0))
        return asx__wide_deed(d, op) && d->deed.enabled;
    if (op->kind == ASX__OP_FIRE) {
        asx__op alone = *op; /* whom it reaches is not asked */
        alone.targets_len = 0;
        return asx__op_run(&alone, state_now, d, &d->other) && d->other.enabled;
    }
    return op->kind != ASX__OP_CLOSE_REGION || (asx__wide_deed(d, op) && d->deed.enabled);
}

uint64_t asx__dpor_state(asx__dpor *d, uint64_t name)
{
    uint32_t object = asx__dpor_object_find(d, name);
    return object != ASX__DPOR_NONE ? d->objects.at[object].state : 0;
}

void asx__dpor_put(asx__dpor *d, uint64_t name, uint64_t state)
{
    uint32_t object = asx__dpor_object_of(d, name);
    if (object != ASX__DPOR_NONE) {
        d->objects.at[object].state = state;
        asx__dpor_changed(d, &d->objects.at[object]);
    }
    d->deed_of = NULL;
}

/* ---- what it did ---------------------------------------------------------------------------- */

static bool room_for_event(asx__dpor *d)
{
    size_t cap = d->events_cap;
    if (d->events_len >= d->events_cap) {
        if (!asx__dpor_grow(d, (void **)&d->events, &cap, cap + 1, sizeof *d->events))
            return false;
        d->events_cap = (uint32_t)cap;
    }
    return d->wide_cap >= d->events_cap ||
           asx__dpor_grow(d, (void **)&d->wide_events, &d->wide_cap, d->events_cap,
                          sizeof *d->wide_events);
}

static inline __attribute__((always_inline)) asx__vclock
join_event(asx__dpor *d, asx__vclock clock, uint32_t access)
{
    const asx__dpor_event *event = &d->events[d->accesses.at[access].event];
    return asx__vclock_has(d, clock, event) ? clock : asx__vclock_join(d, clock, event->clock);
}

/* Room for so many accesses, each of an object of its own. */
static bool room_for_accesses(asx__dpor *d, size_t count)
{
    return ASX__VEC_ROOM(d, d->accesses, count) && ASX__VEC_ROOM(d, d->prints, count) &&
           ASX__VEC_ROOM(d, d->links, count);
}

/* The event is the last of the group of that name so far. There is room. */
static void note_group(asx__dpor *d, uint32_t step, uint64_t name)
{
    uint32_t number = asx__dpor_object_of(d, name);
    if (ASX__UNLIKELY(number == ASX__DPOR_NONE))
        return;
    asx__dpor_object *group = &d->objects.at[number];
    uint32_t prev = group->last, prev_other = prev;
    if (prev != ASX__DPOR_NONE) {
        const asx__group_access *last = &d->links.at[prev];
        if (last->event == step)
            return;
        if (d->events[last->event].task == d->events[step].task)
            prev_other = last->prev_other;
    }
    d->links.at[d->links.len] = (asx__group_access){ step, prev, prev_other, number };
    d->wide_events[step].links_len++;
    group->last = (uint32_t)d->links.len++;
    group->state |= asx__task_bit(d->events[step].task);
}

/* Notes one access, for which there is room, and returns the sum over the class for it: which write
 * it comes after. `cell`: the memory of this object; NULL: it has none. *history: goes on. */
static inline __attribute__((always_inline)) uint64_t
note_access(asx__dpor *d, uint32_t step, const asx__touch *touch, const asx__op *cell, uint64_t sum,
            uint64_t *history)
{
    asx__vclock clock = d->events[step].clock;
    uint32_t number = asx__dpor_object_of(d, touch->name);
    if (ASX__UNLIKELY(number == ASX__DPOR_NONE))
        return sum;
    asx__dpor_object *object = &d->objects.at[number];
    uint64_t before = ASX__UNLIKELY(cell != NULL) ? asx__state_read(cell->object, cell->size)
                                                  : object->state;
    bool set = ASX__UNLIKELY(cell != NULL) && before != object->state &&
               object->last != ASX__DPOR_NONE;
    uint32_t self = (uint32_t)d->accesses.len++;
    uint64_t pasts = touch->writes;
    if (touch->writes)
        for (uint32_t a = object->last; ASX__UNLIKELY(a != object->last_write);
             a = d->accesses.at[a].prev) {
            clock = join_event(d, clock, a);
            pasts += d->wide_events[d->accesses.at[a].event].history;
        }
    uint64_t after = UINT64_MAX;
    if (object->last_write != ASX__DPOR_NONE) {
        uint32_t event = d->accesses.at[object->last_write].event;
        clock = join_event(d, clock, object->last_write);
        after = asx__event_word(d, &d->events[event]);
        pasts = asx__hash_absorb(pasts, d->wide_events[event].history);
    }
    d->events[step].clock = clock;
    *history = asx__hash_absorb(*history, pasts);
    d->accesses.at[self] = (asx__access){
        .event = step, .object = number, .prev = object->last, .prev_write = object->last_write,
        .prev_change = object->last_change, .before = before, .after = touch->after,
        .change = touch->change, .writes = touch->writes, .set = set,
    };
    d->prints.at[d->prints.len++] = touch->name * 2 + touch->writes;
    object->last = self;
    if (ASX__LIKELY(touch->writes)) {
        object->last_write = object->last_change = self;
        object->state = touch->after;
    } else {
        object->last_change = touch->change != 0 || set ? self : object->last_change;
        object->state = before + touch->change;
    }
    asx__dpor_changed(d, object);
    if (ASX__UNLIKELY(cell != NULL) && object->state != before)
        asx__state_write(cell->object, cell->size, object->state);
    return asx__hash_absorb(asx__hash_absorb(sum, after), touch->writes);
}

/* An event that conflicts with all: after everything, and before everything else. It has in it what
 * the one before has already, so what is between the two is all that it costs. */
static uint64_t order_all(asx__dpor *d, uint32_t step)
{
    asx__vclock clock = d->events[step].clock;
    uint64_t pasts = 0;
    for (uint32_t i = d->world != ASX__DPOR_NONE ? d->world + 1 : 0; i < step; i++) {
        clock = asx__vclock_set(d, clock, d->events[i].task, d->events[i].ordinal);
        pasts += asx__hash_avalanche(d->wide_events[i].history);
    }
    d->events[step].clock = clock;
    d->world = step;
    d->epoch++;
    return pasts;
}

static void note_accesses(asx__dpor *d, uint32_t step, uint64_t choice)
{
    asx__dpor_event *event = &d->events[step];
    asx__wide_event *wide = &d->wide_events[step];
    const asx__deed *deed = &d->deed;
    uint64_t sum = asx__hash_absorb(asx__hash_begin(0), asx__event_word(d, event));
    sum = asx__hash_absorb(asx__hash_absorb(sum, choice), d->epoch);
    sum = asx__hash_finish(sum, 3 * sizeof sum);
    uint64_t history = asx__hash_absorb(wide->before, sum);
    wide->accesses = (uint32_t)d->accesses.len;
    wide->links = (uint32_t)d->links.len;
    wide->all = deed->all;
    wide->short_cut = deed->short_cut;
    if (ASX__UNLIKELY(d->world != ASX__DPOR_NONE)) {
        event->clock = asx__vclock_join(d, event->clock, d->events[d->world].clock);
        history = asx__hash_absorb(history, d->wide_events[d->world].history);
    }
    if (ASX__UNLIKELY(deed->all))
        history = asx__hash_absorb(history, order_all(d, step));
    uint64_t before = 0; /* no name of a group */
    uint64_t cell = 0; /* no name either */
    if (ASX__UNLIKELY(wide->op.object != NULL))
        cell = asx__op_name(&wide->op);
    if (ASX__UNLIKELY(!room_for_accesses(d, deed->len)))
        return;
    for (size_t i = 0; i < deed->len; i++) {
        const asx__touch *touch = &deed->touches[i];
        uint64_t group = asx__group_of(touch->name);
        sum = note_access(d, step, touch, touch->name == cell ? &wide->op : NULL, sum,
                          &history);
        if (group != before)
            note_group(d, step, group);
        before = group;
        uint64_t bit = asx__print_bit(touch->name);
        wide->touched |= bit;
        wide->written |= touch->writes ? bit : 0;
    }
    wide->len = (uint32_t)d->accesses.len - wide->accesses;
    if (ASX__LIKELY(wide->len != 0)) {
        const asx__access *first = &d->accesses.at[wide->accesses + wide->len - 1];
        event->object = first->object;
        event->before = first->before;
        event->after = d->objects.at[first->object].state;
        event->writes = first->writes;
    }
    event->term = asx__hash_avalanche(sum);
    d->class_sum += event->term;
    d->tasks[event->task].history = wide->history = asx__hash_avalanche(history);
}

uint64_t asx__wide_commit(asx__dpor *d, uint32_t task)
{
    asx__dpor_task *k = &d->tasks[task];
    uint32_t step = d->events_len;
    if (ASX__UNLIKELY(!room_for_event(d)))
        return 0;
    asx__dpor_event *event = &d->events[step];
    asx__wide_event *wide = &d->wide_events[step];
    *event = (asx__dpor_event){ .task = task, .ordinal = k->done + 1, .kind = (uint8_t)k->op.kind,
                                .site = k->op.site, .object = ASX__DPOR_NONE,
                                .prev = ASX__DPOR_NONE, .prev_write = ASX__DPOR_NONE,
                                .objects = (uint32_t)d->objects.len, .clock = k->clock,
                                .rows = d->rows_len };
    *wide = (asx__wide_event){ .op = k->op, .answers = 1, .plain = asx__op_is_plain(&k->op),
                               .past = k->clock, .before = k->history };
    asx__vclock_share(d);
    bool known = (d->deed_of == &k->op) & (d->deed_at == step); /* since it was chosen */
    d->deed_of = NULL;
    wide->several = k->op.answers != NULL || k->op.kind == ASX__OP_CHOOSE;
    if (ASX__UNLIKELY(k->op.answers != NULL)) {
        wide->costs = k->op.answers->costs;
        wide->answers = asx__dpor_answer(d, &k->op);
        event->choice = k->op.pick;
        known = known && event->choice == 0;
        wide->op = k->op;
    }
    if (ASX__UNLIKELY(k->op.kind == ASX__OP_CHOOSE)) {
        wide->answers = (uint32_t)k->op.a;
        d->deed.len = 0;
        d->deed.all = false;
        d->deed.found = event->choice = asx__dpor_choice_of(d, k->op.a);
    } else if (!known && !asx__op_run(&k->op, state_now, d, &d->deed)) {
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return 0;
    }
    event->found = d->deed.found;
    note_accesses(d, step, event->choice);
    k->done++;
    k->pending = false;
    asx__dpor_asked(d, task, false);
    wide->alone = event->clock == wide->past;
    k->clock = event->clock = asx__vclock_set(d, event->clock, task, k->done);
    event->rows_end = d->rows_len;
    asx__vclock_share(d);
    d->events_len++;
    return event->found;
}

asx__op *asx__dpor_stopped(asx__dpor *d, uint32_t event)
{
    bool stopped = d->wide && event < d->events_len && d->wide_events[event].short_cut;
    return stopped ? &d->wide_events[event].op : NULL;
}

void asx__dpor_also(asx__dpor *d, uint64_t name, uint64_t state)
{
    asx__touch touch = { .name = name, .after = state, .writes = true };
    if (d->events_len <= d->repeated || !d->wide) /* none, or it is what was done before */
        return;
    if (!room_for_accesses(d, 1))
        return;
    asx__wide_event *wide = &d->wide_events[d->events_len - 1];
    uint64_t history = wide->history;
    uint64_t term = asx__hash_avalanche(
        note_access(d, d->events_len - 1, &touch, NULL, name, &history));
    d->tasks[d->events[d->events_len - 1].task].history = wide->history = history;
    d->events[d->events_len - 1].term += term;
    d->class_sum += term;
    d->deed_of = NULL;
    note_group(d, d->events_len - 1, asx__group_of(name));
    wide->len = (uint32_t)d->accesses.len - wide->accesses;
    uint64_t bit = asx__print_bit(name);
    wide->alone = false;
    d->events[d->events_len - 1].rows_end = d->rows_len;
    wide->touched |= bit;
    wide->written |= bit;
}

uint64_t asx__dpor_does(asx__dpor *d, const asx__op *op)
{
    if (!asx__op_run(op, state_now, d, &d->other)) {
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return 0;
    }
    for (size_t i = 0; i < d->other.len; i++)
        if (d->other.touches[i].writes)
            asx__dpor_also(d, d->other.touches[i].name, d->other.touches[i].after);
    return d->other.found;
}

bool asx__wide_races(asx__dpor *d, uint32_t event, const asx__op *op)
{
    asx__prints e = asx__wide_prints(d, event);
    asx__deed *deed = &d->other;
    if (op->kind == ASX__OP_CHOOSE)
        return false;
    if (!asx__op_run(op, state_now, d, deed)) {
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    if (e.all || deed->all)
        return true;
    for (size_t i = 0; i < deed->len; i++)
        for (uint32_t k = 0; k < e.len; k++)
            if (e.at[k] >> 1 == deed->touches[i].name &&
                ((e.at[k] & 1) != 0 || deed->touches[i].writes || !deed->enabled))
                return true;
    return false;
}
