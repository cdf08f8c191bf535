/* race.c - which events could have come in another order, and what to run to see it.
 *
 * An execution is a sequence of events. Let f be an event of it, P the clock of its task before f,
 * and e an earlier event of another task that f conflicts with. f could have come before e iff
 *
 *     e is not in P, f is enabled where e stands, and nothing that f conflicts with lies between
 *     them, except where f was disabled (a lock that was taken and given back)
 *
 * The alternative is: everything before e, then the events between them that f needs (those in P;
 * if e reads, also the other readers that f comes after), then f. These last are a block that
 * overtakes e. The same alternative shows up in many executions. It is taken from one of them:
 *
 *   (1) e is a default event,
 *   (2) of the events between e and f, those that the block leaves out are default events, and
 *       blocks among them go into the new block as a whole or not at all,
 *   (3) f is new: not part of what this execution shares with the one it came from.
 *
 * When readers of several tasks overtake the same writer they commute, and could do so in any
 * order. They do it in the order of their task numbers:
 *
 *   (4) let f only read, and let h1 .. hn be the last events of the blocks that have overtaken e so
 *       far, in this order; if f comes after hk, take the largest such k, else k = 0. Then f's task
 *       has a larger number than those of h(k+1) .. hn.
 *
 * A task that is blocked at the end has an f that never happened; it is treated as if it stood at
 * the end.
 *
 * An event that can go in several ways goes the first one, 0, by default and when it has overtaken
 * something. The others are alternatives that begin with it, at the same place, as a block that
 * has overtaken the same. Whatever could overtake it overtakes the one with 0: all others are left
 * out by (1).
 */
#include "lab/dpor/internal.h"

typedef struct reversal {
    uint32_t early;        /* e */
    uint32_t end;          /* f would stand here */
    uint32_t task;         /* f's */
    uint32_t ordinal;
    asx__vclock needs;      /* of the events between them that f needs */
} reversal;

static bool needed(const asx__dpor *d, const reversal *r, uint32_t event)
{
    return asx__vclock_has(d, r->needs, &d->events[event]);
}

/* (1) and (2): the only execution to take this alternative from? */
static bool is_taken_here(const asx__dpor *d, const reversal *r)
{
    if (!d->events[r->early].by_default)
        return false;
    for (size_t i = d->blocks.len; i-- > 0;) {
        const asx__block *block = &d->blocks.at[i];
        if (block->start < r->early)
            return true;
        if (block->end != r->end && !needed(d, r, block->end))
            return false;
    }
    return true;
}

/* (4), for an f that would only read. */
static bool is_in_order(const asx__dpor *d, const reversal *r)
{
    const asx__dpor_event *e = &d->events[r->early];
    asx__vclock seen = e->prev_write != ASX__DPOR_NONE ? d->events[e->prev_write].clock : r->needs;
    for (size_t i = d->blocks.len; i-- > 0;) {
        const asx__block *block = &d->blocks.at[i];
        if (block->over_task != e->task || block->over_ordinal != e->ordinal)
            continue;
        if (asx__vclock_get(d, r->needs, block->head_task) >= block->head_ordinal ||
            asx__vclock_get(d, seen, block->head_task) >= block->head_ordinal)
            return true;
        if (r->task < block->head_task)
            return false;
    }
    return true;
}

static void note(asx__dpor *d, const reversal *r)
{
    const asx__dpor_event *e = &d->events[r->early];
    size_t moved = d->moved.len;
    if (!ASX__VEC_ROOM(d, d->moved, r->end - r->early) || !ASX__VEC_ROOM(d, d->alternatives, 1))
        return;
    for (uint32_t g = r->early + 1; g < r->end; g++)
        if (needed(d, r, g))
            d->moved.at[d->moved.len++] = (asx__step){ d->events[g].task, d->events[g].choice,
                                                       false };
    d->moved.at[d->moved.len++] = (asx__step){ r->task, 0, false };
    d->alternatives.at[d->alternatives.len++] =
        (asx__alternative){ r->early, (uint32_t)(d->moved.len - moved), moved, e->task, e->ordinal,
                            r->ordinal };
}

/* The last write that f conflicts with and could come before, from `write` backwards. */
static void race_write(asx__dpor *d, uint32_t write, reversal *r, const asx__op *op)
{
    for (; write != ASX__DPOR_NONE; write = d->events[write].prev_write) {
        const asx__dpor_event *w = &d->events[write];
        if (asx__vclock_has(d, r->needs, w))
            return;
        asx__op_effect there = asx__op_eval(op, w->before);
        if (!there.enabled)
            continue;
        r->early = write;
        if (is_taken_here(d, r) && (there.writes || is_in_order(d, r)))
            note(d, r);
        return;
    }
}

void asx__dpor_race(asx__dpor *d, uint32_t event, const asx__op *op)
{
    asx__dpor_event *f = &d->events[event];
    const asx__dpor_object *object = &d->objects.at[f->object];
    asx__vclock clock = f->clock;
    bool fresh = event >= d->fresh_from && d->options.mode == ASX__DPOR_OPTIMAL &&
                 f->choice == 0; /* else its races are those of the one with 0 */
    reversal r = { 0, event, f->task, f->ordinal, clock };
    d->races.len = 0;
    if (f->writes) {
        for (uint32_t g = object->last; g != object->last_write; g = d->events[g].prev) {
            if (asx__vclock_has(d, clock, &d->events[g]))
                continue;
            if (fresh && ASX__VEC_ROOM(d, d->races, 1))
                d->races.at[d->races.len++] = g;
            clock = asx__vclock_join(d, clock, d->events[g].clock);
        }
    }
    uint32_t write = object->last_write;
    if (write != ASX__DPOR_NONE && !asx__vclock_has(d, clock, &d->events[write])) {
        if (fresh)
            race_write(d, write, &r, op);
        clock = asx__vclock_join(d, clock, d->events[write].clock);
    }
    f->clock = clock;
    r.needs = clock; /* nothing in it comes after a reader that is in `races` */
    for (size_t i = 0; i < d->races.len; i++) {
        r.early = d->races.at[i];
        if (is_taken_here(d, &r))
            note(d, &r);
    }
}

void asx__dpor_race_choice(asx__dpor *d, uint32_t event, uint64_t choices)
{
    const asx__dpor_event *f = &d->events[event];
    const asx__block *own = d->blocks.len != 0 ? &d->blocks.at[d->blocks.len - 1] : NULL;
    if (own != NULL && own->end != event)
        own = NULL;
    if (event < d->fresh_from || !(f->by_default || (own != NULL && f->choice == 0)) ||
        d->options.mode != ASX__DPOR_OPTIMAL)
        return;
    for (uint32_t choice = 1; choice < choices; choice++) {
        if (!ASX__VEC_ROOM(d, d->moved, 1) || !ASX__VEC_ROOM(d, d->alternatives, 1))
            return;
        d->alternatives.at[d->alternatives.len++] =
            (asx__alternative){ event, 1, d->moved.len,
                                own != NULL ? own->over_task : ASX__DPOR_NONE,
                                own != NULL ? own->over_ordinal : 0, f->ordinal };
        d->moved.at[d->moved.len++] = (asx__step){ f->task, choice, false };
    }
}

void asx__dpor_race_pending(asx__dpor *d)
{
    for (uint32_t t = 0; t < d->tasks_len; t++) {
        const asx__dpor_task *task = &d->tasks[t];
        if (!task->present || !task->pending || task->op.object == NULL)
            continue;
        uint32_t object = asx__dpor_object_of(d, asx__op_name(&task->op));
        if (object == ASX__DPOR_NONE)
            return;
        reversal r = { 0, d->events_len, t, task->done + 1, task->clock };
        race_write(d, d->objects.at[object].last_write, &r, &task->op);
    }
}

/* ---- the stack of what is left to do -------------------------------------------------------- */

void asx__dpor_push(asx__dpor *d)
{
    if (d->alternatives.len == d->own_alternatives)
        return;
    uint32_t steps = 0;
    for (size_t i = d->own_alternatives; i < d->alternatives.len; i++)
        if (d->alternatives.at[i].at > steps)
            steps = d->alternatives.at[i].at;
    if (!ASX__VEC_ROOM(d, d->saved_steps, steps) ||
        !ASX__VEC_ROOM(d, d->saved_blocks, d->blocks.len) || !ASX__VEC_ROOM(d, d->frames, 1))
        return;
    d->frames.at[d->frames.len++] = (asx__frame){
        d->saved_steps.len, d->saved_blocks.len, d->own_alternatives,
        d->alternatives.at[d->own_alternatives].moved,
        d->share / (double)(d->alternatives.len - d->own_alternatives) };
    for (uint32_t i = 0; i < steps; i++) {
        const asx__dpor_event *g = &d->events[i];
        d->saved_steps.at[d->saved_steps.len++] =
            (asx__step){ g->task, g->choice, g->by_default };
    }
    if (d->blocks.len != 0)
        memcpy(d->saved_blocks.at + d->saved_blocks.len, d->blocks.at,
               d->blocks.len * sizeof *d->blocks.at);
    d->saved_blocks.len += d->blocks.len;
    d->stats.frames = d->frames.len;
    if (d->frames.len > d->stats.frames_most)
        d->stats.frames_most = d->frames.len;
}

/* The blocks that the alternative shares with the execution it comes from, and its own. */
static void plan_blocks(asx__dpor *d, const asx__frame *frame, const asx__alternative *alternative)
{
    d->blocks.len = 0;
    size_t count = d->saved_blocks.len - frame->blocks;
    if (!ASX__VEC_ROOM(d, d->blocks, count + 1))
        return;
    for (size_t i = 0; i < count; i++) {
        const asx__block *block = &d->saved_blocks.at[frame->blocks + i];
        if (block->end >= alternative->at) /* equal: another answer of its last event */
            break;
        d->blocks.at[d->blocks.len++] = *block;
    }
    uint32_t end = alternative->at + alternative->len - 1;
    uint32_t head = d->moved.at[alternative->moved + alternative->len - 1].task;
    d->blocks.at[d->blocks.len++] = (asx__block){ alternative->at, end, alternative->over_task,
                                                  alternative->over_ordinal, head,
                                                  alternative->head_ordinal };
}

/* They can come in any order. Drawn, so that those that are done tell about the others: the later
 * in an execution, the less comes of it. */
static asx__alternative any_alternative(asx__dpor *d, const asx__frame *frame)
{
    size_t count = d->alternatives.len - frame->alternatives;
    uint64_t drawn = asx__hash_avalanche(d->stats.executions + ASX__HASH_START);
    asx__alternative *at = &d->alternatives.at[frame->alternatives + (size_t)(drawn % count)];
    asx__alternative alternative = *at;
    *at = d->alternatives.at[--d->alternatives.len];
    return alternative;
}

bool asx__dpor_pop(asx__dpor *d)
{
    if (d->frames.len == 0 || d->status < 0)
        return false;
    const asx__frame *frame = &d->frames.at[d->frames.len - 1];
    asx__alternative alternative = any_alternative(d, frame);
    d->plan.len = 0;
    if (!ASX__VEC_ROOM(d, d->plan, (size_t)alternative.at + alternative.len))
        return false;
    if (alternative.at != 0)
        memcpy(d->plan.at, d->saved_steps.at + frame->steps,
               alternative.at * sizeof *d->plan.at);
    memcpy(d->plan.at + alternative.at, d->moved.at + alternative.moved,
           alternative.len * sizeof *d->plan.at);
    d->plan.len = (size_t)alternative.at + alternative.len;
    plan_blocks(d, frame, &alternative);
    d->prefer = alternative.over_task;
    d->fresh_from = (uint32_t)d->plan.len - 1;
    d->share = frame->share;
    if (d->alternatives.len == frame->alternatives) {
        d->moved.len = frame->moved;
        d->saved_steps.len = frame->steps;
        d->saved_blocks.len = frame->blocks;
        d->frames.len--;
    }
    d->stats.frames = d->frames.len;
    return d->status == ASX_OK;
}
