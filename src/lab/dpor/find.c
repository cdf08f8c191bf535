/* find.c - what could have been otherwise in a wide execution.
 *
 * Let q be a task and f an event of it, or what it waited for in vain. For an earlier event e that
 * is not in the past of what q did before, take e away, and everything that comes after it. What is
 * left is an execution. If q's operation is enabled there and what it does conflicts with e, it
 * could have come before e: what it needs of the rest, and then itself, are a sequence to try where
 * e stood.
 *
 * What q does there need not be what f did. If it is disabled there, or accesses objects that f did
 * not, then events that have nothing to do with e or f matter: what q does with fewer of them has
 * to be seen too. They are taken away one after the other, the last first, with what comes after
 * them.
 *
 * Operations that are always enabled and always access the same object need less: only events that
 * come immediately before them are worth turning round.
 *
 * The sequence has everything that is left, not only what q needs: what is tried instead of it must
 * cover all of it. What is put into the tree is less (tree.c).
 *
 * If f does not come after e then q would do without e what f did: nothing that f looked at is
 * changed by what is taken away, and nothing that comes later and is left changes it either, or it
 * would come after f. So only what f comes after, and q did not before, is looked at, unless f did
 * less than it might have done. All that the f of one task look at is not more than the execution.
 *
 * Cost. An f is looked at in the execution in which it is new, and again only if q would do there
 * what f did not: then what came later matters. It always matters where there are several answers:
 * what goes with another one is all that came beside it. Where f did less than it might have done,
 * or was not done, candidates for e are found by going back over the events that access the same
 * group of objects (a channel with all its parts, a lock, a flag). So they are where f comes after
 * much that q did not: who joins another comes after all that this one came after, and if each
 * joins the next that would be the execution for each of them. The last comes first. If f can
 * come before e, then whatever comes before e is left for the execution in which it does. So mostly
 * there are as many as tasks that compete with q there.
 *
 * Once. Where f conflicts with many that commute with each other, a cancel with all who look if
 * they are cancelled, every execution has many such pairs, and each set of them could be found in
 * as many ways as it has members. Let s sleep where f stands, and let it conflict with f, be done
 * behind e, and not come after e. Then an execution with s between e and f was run before this one,
 * and f and e were turned round there: what was put to the node of e has s before f. When that is
 * run, f and s are turned round too, and what comes of it is what e and f would lead to here. So
 * they are left alone here. That holds where f does the same with s before it: it is plain, or s
 * writes nothing that it looks at; or it waits for the first that ends, and s is one more of them.
 */
#include "lab/dpor/internal.h"

/* A walk over more events than this is replaced by one over those that access the same. */
#ifndef ASX__WALK_MOST
#define ASX__WALK_MOST 64
#endif
#define SORTED_AT_ONCE 8 /* so few are not worth a call of qsort() */

/* What q would do, and when. */
typedef struct mover {
    uint32_t task;
    uint32_t at;             /* where f stands; as many as there are: it did not happen */
    asx__vclock before;       /* of q before it */
    const asx__op *op;
    asx__vclock after;        /* only what is in this clock can matter to it; or all */
    bool all;
    uint64_t history;        /* of q before it */
    const asx__branch *other; /* the last who sleeps where f stands and conflicts with it */
    uint64_t name;           /* hard: of what it may access; ... */
    unsigned shift;          /* ... without so many last bits */
    bool ticket;             /* ... it is the one ticket that q waits with */
} mover;

bool asx__is_away_far(const asx__dpor *d, uint32_t event)
{
    asx__vclock clock = d->events[event].clock;
    if (d->marked)
        return d->marks.at[event] != 0;
    for (uint32_t i = 0; i < d->away_len; i++)
        if (asx__vclock_get(d, clock, d->away[i].task) >= d->away[i].ordinal)
            return true;
    return false;
}

/* From now on every event that is gone has a mark. */
static void mark_all(asx__dpor *d)
{
    for (uint32_t k = 0; k < d->events_len; k++)
        d->marks.at[k] = asx__is_away(d, k);
    d->marked = d->away_far = true;
}

static void take_away(asx__dpor *d, uint32_t event)
{
    const asx__dpor_event *e = &d->events[event];
    if (ASX__LIKELY(!d->marked) && ASX__LIKELY(d->away_len < ASX__AWAY_FEW)) {
        d->away[d->away_len].task = e->task;
        d->away[d->away_len++].ordinal = e->ordinal;
        return;
    }
    if (!d->marked)
        mark_all(d);
    for (uint32_t k = event; k < d->events_len; k++)
        if (asx__vclock_has(d, d->events[k].clock, e))
            d->marks.at[k] = 1;
}

static void put_back(asx__dpor *d)
{
    d->away_len = 0;
    d->marked = false;
    d->away_far = d->levels > 1;
}

/* The prints of a deed, in `d->prints` behind those of the execution. */
static asx__prints prints_of(asx__dpor *d, const mover *m, const asx__deed *deed)
{
    bool several = m->at < d->events_len ? d->wide_events[m->at].several : m->op->answers != NULL;
    asx__prints prints = { NULL, (uint32_t)deed->len, deed->all, 0, 0, several, false };
    if (!ASX__VEC_ROOM(d, d->prints, deed->len))
        return (asx__prints){ NULL, 0, false, 0, 0, several, false };
    uint64_t *at = d->prints.at + d->prints.len;
    for (size_t i = 0; i < deed->len; i++) {
        /* Disabled: whatever accesses what it looked at could be the reason. */
        bool writes = deed->touches[i].writes || !deed->enabled;
        uint64_t bit = asx__print_bit(deed->touches[i].name);
        at[i] = deed->touches[i].name * 2 + writes;
        prints.touched |= bit;
        prints.written |= writes ? bit : 0;
    }
    prints.at = at;
    return prints;
}

/* `about`: where it mostly is, if it is there. */
static uint64_t print_in(const asx__prints *prints, uint64_t print, uint32_t about)
{
    if (ASX__LIKELY(about < prints->len) &&
        ASX__LIKELY((prints->at[about] | 1) == (print | 1) && prints->at[about] >= print))
        return prints->at[about];
    for (uint32_t i = 0; i < prints->len; i++)
        if ((prints->at[i] ^ print) <= 1)
            return prints->at[i];
    return 0;
}

/* How what it does there compares with what f did: the same or less; or it also writes what f only
 * read; or it also accesses other objects. Whatever accesses an object that e has written, or
 * writes one that e has read, comes after e and is gone, so these do not count: a send that comes
 * before another gets its slot, and who looks before another sees what that one saw. */
enum { LESS, WRITES_MORE, ACCESSES_MORE };

static int compare_prints(const asx__dpor *d, const mover *m, const asx__prints *e,
                          const asx__prints *there)
{
    if (m->at == d->events_len)
        return ACCESSES_MORE;
    asx__prints here = asx__wide_prints(d, m->at);
    int more = LESS;
    for (uint32_t i = 0; i < there->len; i++) {
        uint64_t print = print_in(&here, there->at[i], i);
        if (print >= there->at[i])
            continue;
        uint64_t early = print_in(e, there->at[i], 0);
        if ((early & 1) != 0 || (early != 0 && (there->at[i] & 1) == 0))
            continue;
        if (print == 0)
            return ACCESSES_MORE;
        more = WRITES_MORE;
    }
    return more;
}

/* The sequence: the events behind `early` that are left, then `last`. */
static void try_it(asx__dpor *d, const mover *m, asx__step last, uint32_t early,
                   const asx__prints *prints)
{
    uint64_t key = d->unkept ? 0 : asx__seen_key(d, early, m->history, last, prints);
    if (key != 0 && asx__seen_has(d, early, key))
        return;
    d->resting = key != 0;
    d->block.len = 0;
    for (uint32_t k = early; k < d->events_len; k++) {
        if (asx__is_away(d, k))
            continue;
        if (!ASX__VEC_ROOM(d, d->block, 1))
            return;
        d->block.at[d->block.len++] = k;
    }
    asx__tree_insert(d, early, m->before, last, prints);
    if (key != 0)
        asx__seen_put(d, early, key);
}

/* The last access of the object that is left, behind `early`, not needed by q, and a write; with
 * `looks`: or one that only looks; with `changes`: or one that changes it all the same. NONE: there
 * is none. Before a write that q needs there is nothing but what it needs. */
static uint32_t last_access(const asx__dpor *d, const mover *m, uint32_t early, uint64_t name,
                            bool looks, bool changes)
{
    uint32_t object = asx__dpor_object_find(d, name);
    if (object == ASX__DPOR_NONE)
        return ASX__DPOR_NONE;
    asx__looking looking = looks ? ASX__LOOK_ALL : changes ? ASX__LOOK_CHANGES : ASX__LOOK_WRITES;
    for (uint32_t a = asx__last_left(d, object, looking); a != ASX__DPOR_NONE;
         a = asx__prev_left(d, a, looking)) {
        const asx__access *access = &d->accesses.at[a];
        bool needed = asx__vclock_has(d, m->before, &d->events[access->event]);
        if (access->event < early || (needed && access->writes))
            return ASX__DPOR_NONE;
        if (ASX__UNLIKELY(looking == ASX__LOOK_CHANGES && access->set) && !access->writes &&
            access->change == 0)
            continue; /* it only looks */
        if (!needed && !asx__is_away(d, access->event))
            return access->event;
    }
    return ASX__DPOR_NONE;
}

/* The last event that is left, behind `early`, not needed by q, and conflicts; NONE: there is none.
 * If it is disabled: that changes something it looked at. Who only looks too is not the reason, and
 * belongs to what is left. */
static uint32_t last_conflict(const asx__dpor *d, const mover *m, uint32_t early,
                              const asx__prints *prints, bool enabled)
{
    uint32_t last = ASX__DPOR_NONE;
    for (uint32_t i = 0; i < prints->len; i++) {
        bool looks = enabled && (prints->at[i] & 1) != 0;
        uint32_t k = last_access(d, m, early, prints->at[i] >> 1, looks, !enabled);
        if (k != ASX__DPOR_NONE && (last == ASX__DPOR_NONE || k > last))
            last = k;
    }
    return last;
}

/* How many more hold the lock for reading because of the event and what is left that comes after
 * it. */
static int64_t readers_by(const asx__dpor *d, uint32_t event, uint64_t lock)
{
    uint64_t count = 0;
    for (uint32_t k = event; k < d->events_len; k++) {
        const asx__wide_event *w = &d->wide_events[k];
        if (asx__is_away(d, k) || !asx__vclock_has(d, d->events[k].clock, &d->events[event]))
            continue;
        for (uint32_t i = 0; i < w->len; i++)
            if (d->prints.at[w->accesses + i] >> 1 == lock)
                count += d->accesses.at[w->accesses + i].change;
    }
    return (int64_t)count;
}

/* A write-lock that others disable by reading: they commute, so it is not the last one that is in
 * its way, but each that does not give the lock back. NONE: no such. */
static uint32_t last_reader(const asx__dpor *d, const mover *m, uint32_t early)
{
    uint64_t lock = asx__op_name(m->op);
    for (uint32_t k = d->events_len; k-- > early;)
        if (d->wide_events[k].op.kind == ASX__OP_READ_LOCK &&
            asx__op_name(&d->wide_events[k].op) == lock && !asx__is_away(d, k) &&
            !asx__vclock_has(d, m->before, &d->events[k]) && readers_by(d, k, lock) > 0)
            return k;
    return ASX__DPOR_NONE;
}

/* Is e the k-th send to a channel of many receivers, of which q receives? If that does not simply
 * come before e, nothing is gained by taking away more: it takes an earlier message, or waits for
 * one, and does not conflict with e. All earlier ones were sent before e, where the slot of the
 * k-th was free, so none of those that it could take was in that slot. If e has sent nothing it
 * has only looked: whether the channel is closed, as q does, or at the slot that is emptied next,
 * and who empties it comes after e. */
static bool is_send_to(const asx__dpor *d, const mover *m, uint32_t early)
{
    const asx__op *e = &d->wide_events[early].op;
    bool sends = e->kind == ASX__OP_MPMC_SEND || e->kind == ASX__OP_MPMC_TRY_SEND;
    bool takes = m->op->kind == ASX__OP_MPMC_RECV || m->op->kind == ASX__OP_MPMC_TRY_RECV;
    return sends && takes && e->name == m->op->name;
}

static const asx__branch *last_sleeper(const asx__dpor *d, uint32_t event)
{
    asx__prints f = asx__wide_prints(d, event);
    size_t from = d->nodes.at[event].sleepers;
    size_t i = event + 1 < d->nodes.len ? d->nodes.at[event + 1].sleepers : d->sleepers.len;
    if (d->options.mode != ASX__DPOR_OPTIMAL)
        return NULL;
    while (i-- > from)
        if (asx__prints_conflict(&d->sleepers.at[i]->prints, &f))
            return d->sleepers.at[i];
    return NULL;
}

/* Is what comes of f before e found below what was tried with m->other? */
static bool is_known(const asx__dpor *d, const mover *m, uint32_t early)
{
    return m->other != NULL && early < m->other->since &&
           !asx__tree_came_after(d, m->other, early);
}

static bool writes_any_of(const asx__branch *s, const asx__prints *prints)
{
    for (uint32_t i = 0; i < s->prints.len; i++)
        if ((s->prints.at[i] & 1) != 0 && print_in(prints, s->prints.at[i] - 1, 0) != 0)
            return true;
    return false;
}

/* ... of an f that is not plain and does that there. A read-lock changes what it only reads; and
 * whether a cancel looks at a shield depends on who came before, not on the shield alone. */
static bool is_known_hard(const asx__dpor *d, const mover *m, uint32_t early,
                          const asx__prints *there)
{
    bool locks = (asx__op_traits[m->op->kind] & ASX__O_RWLOCK) != 0;
    if (!is_known(d, m, early) || locks || asx__op_has_shields(m->op))
        return false;
    asx__prints here = asx__wide_prints(d, m->at);
    return !writes_any_of(m->other, &here) && !writes_any_of(m->other, there);
}

/* Takes away what is in the way of q's operation, step by step. Returns whether f could simply have
 * come before e. */
static bool try_without(asx__dpor *d, const mover *m, uint32_t early)
{
    for (bool simple = true;; simple = false) {
        if (!asx__op_run(m->op, asx__wide_state_without, d, &d->other)) {
            d->status = ASX_E_RESOURCE_EXHAUSTED;
            return true;
        }
        asx__prints there = prints_of(d, m, &d->other);
        asx__prints e = asx__wide_prints(d, early);
        int more = compare_prints(d, m, &e, &there);
        there.sorted = asx__prints_sort(d->prints.at + d->prints.len, there.len);
        bool conflicts = d->other.enabled && asx__prints_conflict(&there, &e);
        d->late = 0;
        if (conflicts && !is_known_hard(d, m, early, &there))
            try_it(d, m, (asx__step){ m->task, 0, false }, early, &there);
        /* Another execution with the same beginning up to f may not have what this rests on. */
        if (conflicts && m->at < d->events_len && d->late > m->at)
            d->nodes.at[m->at].again = true;
        /* Later events that it would conflict with there need not conflict with f. */
        if (m->at < d->events_len && more > (d->other.enabled ? LESS : WRITES_MORE))
            d->nodes.at[m->at].again = true;
        if (asx__op_is_plain(m->op) || (conflicts && more != ACCESSES_MORE))
            return simple;
        if ((d->other.enabled && more == LESS && !d->other.short_cut) || is_send_to(d, m, early))
            return false; /* e is nothing to it */
        if (!d->other.enabled && m->op->kind == ASX__OP_CLOSE_REGION)
            return false; /* somebody has not ended, nor would have without still others */
        uint32_t next = ASX__DPOR_NONE;
        if (!d->other.enabled && m->op->kind == ASX__OP_WRITE_LOCK)
            next = last_reader(d, m, early);
        if (next == ASX__DPOR_NONE)
            next = last_conflict(d, m, early, &there, d->other.enabled);
        if (next == ASX__DPOR_NONE)
            return false;
        take_away(d, next);
    }
}

/* Many objects: the event accesses them, and is moved. */
static __attribute__((noinline)) void note_moved(asx__dpor *d, const asx__wide_event *w)
{
    for (uint32_t i = w->accesses + w->len; i-- > w->accesses;)
        d->objects.at[d->accesses.at[i].object].moved = i;
}

/* Takes away e and f, and puts everything back. */
static bool turn_round(asx__dpor *d, const mover *m, uint32_t early)
{
    take_away(d, early);
    if (ASX__LIKELY(m->at < d->events_len)) {
        if (!asx__is_away(d, m->at)) /* if it comes after e, so does the rest */
            take_away(d, m->at);
        d->moving = m->at;
        if (ASX__UNLIKELY(d->wide_events[m->at].len > ASX__MOVED_FEW))
            note_moved(d, &d->wide_events[m->at]);
    }
    bool simple = try_without(d, m, early);
    d->moving = ASX__DPOR_NONE;
    put_back(d);
    return simple;
}

/* How many of its targets others could change before it: the ends that a close waits for are before
 * it wherever it is done. */
static uint32_t count_targets(const asx__op *op)
{
    return op->kind != ASX__OP_CLOSE_REGION ? op->targets_len : 0;
}

/* Has one of the two to do with a failure that the other sets? */
static inline bool is_failure_of(const asx__op *op, uint64_t name, uint64_t print)
{
    return ASX__UNLIKELY(op->fails != 0) && name == op->cx + ASX__PART_FAILED &&
           ((print & 1) != 0 || asx__op_tells(op));
}

/* Could e matter to the operation wherever it is done? */
static bool is_related(const asx__dpor *d, const mover *m, uint32_t event)
{
    const asx__op *op = m->op;
    const asx__wide_event *w = &d->wide_events[event];
    const uint64_t *at = d->prints.at + w->accesses;
    uint64_t name = m->name;
    unsigned shift = m->shift;
    for (uint32_t i = w->len; i-- > 0;) { /* if there are many, it wrote the last */
        uint64_t other = at[i] >> 1;
        if (ASX__UNLIKELY((at[i] & 1) == 0 && (other == op->cx || op->kind == ASX__OP_SLEEP)))
            continue; /* both only look */
        if (ASX__LIKELY((other ^ name) >> shift == 0) ||
            other == op->cx || other == op->other || is_failure_of(op, other, at[i]))
            return true;
        for (uint32_t k = 0; k < count_targets(op); k++)
            if (other == op->targets[k])
                return true;
    }
    return false;
}

/* The last link of the group, or the one before that of f if it has one. */
static uint32_t link_before(const asx__dpor *d, const mover *m, uint32_t group)
{
    if (m->at == d->events_len)
        return d->objects.at[group].last;
    const asx__wide_event *f = &d->wide_events[m->at];
    for (uint32_t i = f->links; i < f->links + f->links_len; i++)
        if (d->links.at[i].object == group)
            return d->links.at[i].prev;
    return d->objects.at[group].last;
}

static void add_cursor(asx__dpor *d, const mover *m, uint64_t name)
{
    uint32_t group = asx__dpor_object_find(d, asx__group_of(name));
    if (group == ASX__DPOR_NONE || !ASX__VEC_ROOM(d, d->cursors, 1))
        return;
    const asx__dpor_object *g = &d->objects.at[group];
    uint64_t others = g->state & ~asx__task_bit(m->task);
    if (others != 0 || d->tasks_len > 64)
        d->cursors.at[d->cursors.len++] =
            (asx__cursor){ link_before(d, m, group), false, others };
}

/* ... of the accesses of one object: all that has this name and no more. */
static void add_cursor_of_one(asx__dpor *d, uint64_t name)
{
    uint32_t object = asx__dpor_object_find(d, name);
    if (object == ASX__DPOR_NONE || !ASX__VEC_ROOM(d, d->cursors, 1))
        return;
    uint32_t last = d->objects.at[object].last;
    d->cursors.at[d->cursors.len++] = (asx__cursor){ last, true, 0 };
}

static uint32_t event_at(const asx__dpor *d, const asx__cursor *c)
{
    return c->one ? d->accesses.at[c->link].event : d->links.at[c->link].event;
}

static uint32_t next_of(const asx__dpor *d, const asx__cursor *c)
{
    return c->one ? d->accesses.at[c->link].prev : d->links.at[c->link].prev;
}

/* Goes back to the next event before f that is not of its task and not in d->past. What is before
 * one that is in the past, and of the same task, is in it too. It ends where all that other tasks
 * did is in the past, which is known if each of them has a bit of its own. */
static void move_cursor(asx__dpor *d, const mover *m, asx__cursor *c)
{
    while (c->link != ASX__DPOR_NONE) {
        uint32_t k = event_at(d, c);
        const asx__dpor_event *event = &d->events[k];
        if (event->task != m->task && k < m->at) {
            if (!asx__vclock_has(d, d->past, event))
                return;
            c->tasks &= ~asx__task_bit(event->task);
        }
        if (c->one || k >= m->at)
            c->link = next_of(d, c);
        else
            c->link = c->tasks == 0 && d->tasks_len <= 64 ? ASX__DPOR_NONE
                                                          : d->links.at[c->link].prev_other;
    }
}

/* The last event that one of the cursors stands at, which all of them then leave; NONE: no such. */
static uint32_t take_last(asx__dpor *d, const mover *m)
{
    uint32_t last = ASX__DPOR_NONE;
    for (size_t i = 0; i < d->cursors.len; i++) {
        asx__cursor *c = &d->cursors.at[i];
        move_cursor(d, m, c);
        uint32_t k = c->link != ASX__DPOR_NONE ? event_at(d, c) : last;
        last = last == ASX__DPOR_NONE || (k != ASX__DPOR_NONE && k > last) ? k : last;
    }
    for (size_t i = 0; i < d->cursors.len; i++) {
        asx__cursor *c = &d->cursors.at[i];
        if (c->link != ASX__DPOR_NONE && event_at(d, c) == last)
            c->link = next_of(d, c);
    }
    return last;
}

static bool is_written(const asx__dpor *d, uint64_t name)
{
    uint32_t object = asx__dpor_object_find(d, name);
    return object != ASX__DPOR_NONE && d->objects.at[object].last_write != ASX__DPOR_NONE;
}

/* What nobody writes in this execution matters to nobody who only looks at it. Nor does the clock
 * to who sleeps: nothing comes before a move of it that came after. Nor its ticket to who waits, if
 * he cannot leave: he goes on after it was changed, and there only. In another execution with the
 * same beginning he may be told, and leave. */
static void add_cursors(asx__dpor *d, const mover *m)
{
    uint64_t cx = m->op->cx;
    bool told = cx != 0 && (is_written(d, cx) || asx__op_tells(m->op) ||
                            (m->op->fails != 0 && is_written(d, cx + ASX__PART_FAILED)));
    d->cursors.len = 0;
    if (!m->ticket && m->op->kind != ASX__OP_SLEEP)
        add_cursor(d, m, m->name);
    if (m->ticket && told)
        add_cursor_of_one(d, m->name);
    else if (m->ticket && m->op->cx != 0 && m->at < d->events_len)
        d->nodes.at[m->at].again = true;
    if (told)
        add_cursor(d, m, m->op->cx);
    if (m->op->other != 0 &&
        ((asx__op_traits[m->op->kind] & ASX__O_ASIDE) == 0 || is_written(d, m->op->other)))
        add_cursor(d, m, m->op->other);
    for (uint32_t i = 0; i < count_targets(m->op); i++)
        add_cursor(d, m, m->op->targets[i]);
}

bool asx__dpor_sort(asx__dpor *d)
{
    uint32_t tasks = d->tasks_len;
    if (d->sorted)
        return true;
    d->by_task.len = d->starts.len = 0;
    if (!ASX__VEC_ROOM(d, d->by_task, d->events_len) ||
        !ASX__VEC_ROOM(d, d->starts, (size_t)tasks + 1))
        return false;
    memset(d->starts.at, 0, (tasks + 1) * sizeof *d->starts.at);
    for (uint32_t k = 0; k < d->events_len; k++)
        d->starts.at[d->events[k].task + 1]++;
    for (uint32_t t = 0; t < tasks; t++)
        d->starts.at[t + 1] += d->starts.at[t];
    for (uint32_t k = 0; k < d->events_len; k++)
        d->by_task.at[d->starts.at[d->events[k].task] + d->events[k].ordinal - 1] = k;
    d->sorted = true;
    return true;
}

/* The last event at which the walk over what is in m->after stands and that is not in the past; it
 * leaves that one. NONE: there is none. */
static uint32_t walk_back(const asx__dpor *d)
{
    uint32_t last = ASX__DPOR_NONE;
    size_t whose = 0;
    const uint32_t *past = ASX__LIKELY(d->levels == 1) ? asx__vclock_row(d, d->past) : NULL;
    for (size_t i = 0; i < d->stands.len; i++) {
        const asx__stand *s = &d->stands.at[i];
        if (s->ordinal <= (ASX__LIKELY(past != NULL) ? past[s->task]
                                                     : asx__vclock_get(d, d->past, s->task)))
            continue;
        uint32_t k = d->by_task.at[d->starts.at[s->task] + s->ordinal - 1];
        if (last == ASX__DPOR_NONE || k > last) {
            last = k;
            whose = i;
        }
    }
    if (last != ASX__DPOR_NONE)
        d->stands.at[whose].ordinal--;
    return last;
}

/* Where it begins: at the counters that the operation has added, but for that of its task. Returns
 * how many events there are to walk over. */
static uint32_t begin_walk(asx__dpor *d, const mover *m)
{
    const uint32_t *after = asx__vclock_row(d, m->after), *before = asx__vclock_row(d, m->before);
    uint32_t count = 0;
    d->stands.len = 0;
    if ((!d->sorted && !asx__dpor_sort(d)) || !ASX__VEC_ROOM(d, d->stands, d->tasks_len))
        return 0;
    asx__stand *at = d->stands.at;
    for (uint32_t t = 0; t < d->tasks_len; t++) {
        if (after[t] <= before[t] || t == m->task)
            continue;
        *at++ = (asx__stand){ t, after[t] };
        count += after[t] - before[t];
    }
    d->stands.len = (size_t)(at - d->stands.at);
    return count;
}

/* ... of many tasks; or more than ASX__WALK_MOST. */
static uint32_t begin_walk_far(asx__dpor *d, const mover *m)
{
    uint32_t count = 0;
    size_t kept = 0;
    if (!asx__dpor_sort(d) ||
        !asx__vclock_list(d, m->after, m->before, ASX__WALK_MOST + 1, &d->stands))
        return 0;
    for (size_t i = 0; i < d->stands.len; i++) {
        asx__stand s = d->stands.at[i];
        if (s.task == m->task)
            continue;
        d->stands.at[kept++] = s;
        count += s.ordinal - asx__vclock_get(d, m->before, s.task);
    }
    d->stands.len = kept;
    return count;
}

/* What comes before e can wait until f has come before e. */
static void try_before(asx__dpor *d, const mover *m, uint32_t e)
{
    if (ASX__LIKELY(!d->wide_events[e].all) && is_related(d, m, e) && turn_round(d, m, e))
        d->past = asx__vclock_join(d, d->past, d->events[e].clock);
}

static void find_hard(asx__dpor *d, mover *m)
{
    uint64_t ticket = asx__op_ticket(m->op);
    bool cursors = m->all || ticket != 0; /* few access it */
    d->past = m->before;
    if (!m->all && d->wide_events[m->at].alone)
        return;
    m->ticket = ticket != 0;
    m->name = ticket != 0 ? ticket : asx__op_name(m->op);
    bool parts = ticket == 0 && (asx__op_traits[m->op->kind] & ASX__O_PARTS) != 0;
    m->shift = parts ? ASX__NAME_PART_BITS : 0;
    if (!cursors)
        cursors = (ASX__LIKELY(d->levels == 1) ? begin_walk(d, m) : begin_walk_far(d, m)) >
                  ASX__WALK_MOST;
    if (ASX__UNLIKELY(cursors)) {
        add_cursors(d, m);
        for (uint32_t e = take_last(d, m); e != ASX__DPOR_NONE; e = take_last(d, m))
            if (m->all || asx__vclock_has(d, m->after, &d->events[e]))
                try_before(d, m, e);
        return;
    }
    for (uint32_t e = walk_back(d); e != ASX__DPOR_NONE; e = walk_back(d))
        try_before(d, m, e);
}

static int compare_down(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a < b) - (a > b);
}

static void sort_down(uint32_t *at, size_t len)
{
    if (len > SORTED_AT_ONCE) {
        qsort(at, len, sizeof *at, compare_down);
        return;
    }
    for (size_t i = 1; i < len; i++) {
        uint32_t event = at[i];
        size_t k = i;
        for (; k > 0 && at[k - 1] < event; k--)
            at[k] = at[k - 1];
        at[k] = event;
    }
}

/* Only what comes immediately before it. Who waits for the first of some that end does the same
 * whoever has ended, if one has; if none has there is nothing to find. */
static void find_plain(asx__dpor *d, const mover *m)
{
    const asx__wide_event *f = &d->wide_events[m->at];
    d->races.len = 0;
    for (uint32_t i = 0; i < f->len; i++) {
        const asx__access *access = &d->accesses.at[f->accesses + i];
        uint32_t a = access->writes ? access->prev : access->prev_write;
        for (; a != ASX__DPOR_NONE; a = d->accesses.at[a].prev) {
            if (!ASX__VEC_ROOM(d, d->races, 1))
                return;
            d->races.at[d->races.len++] = d->accesses.at[a].event;
            if (d->accesses.at[a].writes)
                break;
        }
    }
    sort_down(d->races.at, d->races.len);
    d->past = m->before;
    size_t kept = 0;
    for (size_t i = 0; i < d->races.len; i++) {
        uint32_t e = d->races.at[i];
        if (asx__vclock_has(d, d->past, &d->events[e]))
            continue;
        d->past = asx__vclock_join(d, d->past, d->events[e].clock);
        if (!d->wide_events[e].all && !is_known(d, m, e))
            d->races.at[kept++] = e;
    }
    for (size_t i = 0; i < kept; i++)
        (void)turn_round(d, m, d->races.at[i]);
}

/* Beside all that is left, does another answer of the event cost more than there may be? What is
 * left may have cost something after the event was asked. */
static bool costs_too_much(const asx__dpor *d, uint32_t event)
{
    uint32_t costs = 1;
    if (d->options.costs == 0 || !d->wide_events[event].costs)
        return false;
    for (uint32_t k = 0; k < d->events_len; k++)
        costs += d->wide_events[k].costs && d->events[k].choice != 0 && !asx__is_away(d, k);
    return costs >= d->options.costs;
}

/* The other answers. Those that conflict with nothing need not be looked at one by one, however
 * many there are: if the first of them becomes a branch by itself, so do the rest, and then each of
 * them covers whatever it is the last step of. With source sets nothing else is in front of it. */
static void find_choices(asx__dpor *d, const mover *m)
{
    uint32_t event = m->at;
    const asx__dpor_event *f = &d->events[event];
    asx__prints prints = asx__wide_prints(d, event);
    bool alike = event >= d->shared && (d->options.mode == ASX__DPOR_SOURCE ||
                                        (prints.len == 0 && !prints.all));
    if (alike && d->nodes.at[event].answered == f->task + 1)
        return;
    alike = alike && !asx__tree_has_task(d, event, f->task);
    take_away(d, event);
    if (d->options.mode == ASX__DPOR_SOURCE) { /* the first step only, and it has to be this one */
        mark_all(d);
        memset(d->marks.at + event, 1, d->events_len - event);
    }
    bool only_0 = costs_too_much(d, event);
    for (uint32_t choice = 0; choice < d->wide_events[event].answers; choice++) {
        if (choice == f->choice || (only_0 && choice != 0))
            continue;
        try_it(d, m, (asx__step){ f->task, choice, false }, event, &prints);
        if (alike && asx__tree_add_answers(d, event, choice, d->wide_events[event].answers))
            break;
        alike = false;
    }
    put_back(d);
}

static void find_of_event(asx__dpor *d, uint32_t event)
{
    const asx__wide_event *f = &d->wide_events[event];
    bool old = event < d->branch_at && !d->nodes.at[event].again;
    if (old && f->answers <= 1)
        return;
    mover m = { d->events[event].task, event, f->past, &f->op, d->events[event].clock,
                f->short_cut, f->before, last_sleeper(d, event), 0, 0, false };
    d->nodes.at[event].again = d->unkept = false;
    if (f->answers > 1)
        find_choices(d, &m);
    if (old || f->op.kind == ASX__OP_CHOOSE)
        return;
    if (f->plain || (f->op.kind == ASX__OP_FIRST_OF && !f->short_cut))
        find_plain(d, &m);
    else if (ASX__LIKELY(!f->all))
        find_hard(d, &m);
}

static bool has_scratch(asx__dpor *d)
{
    return d->marks.cap > d->events_len || /* one more: there is always something */
           asx__dpor_grow(d, (void **)&d->marks.at, &d->marks.cap, d->events_len + 1, 1);
}

void asx__find_races(asx__dpor *d)
{
    if (!has_scratch(d))
        return;
    uint32_t rows = d->rows_len;
    d->sorted = false;
    asx__vclock_share(d);
    for (uint32_t event = 0; event < d->events_len; event++) {
        find_of_event(d, event);
        d->rows_len = rows;
    }
    for (uint32_t t = 0; t < d->tasks_len; t++) {
        const asx__dpor_task *task = &d->tasks[t];
        if (t == d->clock) /* it could not have gone earlier: others could */
            continue;
        if (!task->present || !task->pending || asx__op_is_plain(&task->op) ||
            task->op.kind == ASX__OP_CHOOSE)
            continue;
        mover m = { t, d->events_len, task->clock, &task->op, 0, true, task->history, NULL, 0, 0,
                    false };
        d->unkept = false;
        find_hard(d, &m);
        d->rows_len = rows;
    }
}
