/* tree.c - what is left to try, as trees of sequences; for wide executions.
 *
 * Each event of the current execution has a node: where it stood before that event. A node knows
 * what was tried there and what is to be tried: sequences of steps, as a tree. A task *sleeps* at a
 * node if what it would do there has been tried there, or at an earlier node and nothing since then
 * conflicts with it: all that begins with it is known.
 *
 * A sequence is *covered* by a step if the step can come first in some continuation of it: the step
 * is in it and nothing before conflicts with it, or conflicts with nothing in it. A sequence that
 * is covered by a sleeper need not be tried. Else it goes into the tree: along the steps that cover
 * it, less these steps, and when it comes to an end of the tree it is forgotten too, because
 * everything behind that end is going to be tried.
 *
 * So when a sequence has been run to its end, nothing sleeps any more, and what comes then is free:
 * no execution is given up. And whatever begins with a step that was tried is never begun again.
 *
 * Source sets. A task sleeps, not its answer to a choice: what begins with another answer is left
 * to the branch of that answer. So the answers of a task are tried one after the other, with no
 * other branch of the node in between, also those that were found before the first of them was
 * tried; else that one would leave them to theirs, and they it to that one.
 *
 * Memory. Of a sequence only that goes into the tree which is needed: by its last step, and to keep
 * each sleeper and each branch beside its way from covering it. The rest of it is found again below
 * its end, together with everything else that can follow. Else all that happens beside a race would
 * be multiplied by it. And what trees have in common is there once (branch.h).
 */
#include "lab/dpor/internal.h"

/* A sequence of so many events is not gone through to find where a step is. The tests
 * lab-classes-trees and lab-dpor-rare have 0. */
#ifndef ASX__FIND_FROM
#define ASX__FIND_FROM 48
#endif

static asx__branch *new_branch(asx__dpor *d, asx__step step, const asx__prints *prints)
{
    asx__branch *branch = asx__branch_make(&d->branches, step.task, step.choice, prints);
    if (branch == NULL)
        d->status = ASX_E_RESOURCE_EXHAUSTED;
    return branch;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void drop_nodes(asx__dpor *d, size_t from)
{
    while (d->nodes.len > from) {
        asx__tree_node *node = &d->nodes.at[--d->nodes.len];
        if (node->rest != NULL)
            asx__branch_drop(&d->branches, node->rest);
        if (node->done != NULL)
            asx__branch_drop(&d->branches, node->done);
        d->sleepers.len = node->sleepers;
        d->pasts.len = node->pasts;
    }
}

void asx__tree_clear(asx__dpor *d)
{
    drop_nodes(d, 0);
    asx__branch_drop(&d->branches, d->chain);
    d->chain = NULL;
    d->branch_at = 0;
}

/* Those of the node before that do not conflict with its event sleep on. */
static void inherit_sleepers(asx__dpor *d, uint32_t step)
{
    size_t from = d->nodes.at[step - 1].sleepers, to = d->sleepers.len;
    asx__prints event = asx__wide_prints(d, step - 1);
    uint32_t task = d->events[step - 1].task;
    for (size_t i = from; i < to; i++) {
        asx__branch *sleeper = d->sleepers.at[i];
        if (sleeper->task == task || asx__prints_conflict(&sleeper->prints, &event))
            continue;
        if (!ASX__VEC_ROOM(d, d->sleepers, 1))
            return;
        d->sleepers.at[d->sleepers.len++] = sleeper;
    }
}

void asx__tree_enter(asx__dpor *d)
{
    uint32_t step = d->events_len;
    if (step < d->nodes.len || !ASX__VEC_ROOM(d, d->nodes, 1))
        return;
    asx__tree_node node = { NULL, NULL, d->sleepers.len, d->pasts.len, false, ++d->nodes_made, 0, 1,
                       false };
    if (ASX__LIKELY(step != 0))
        inherit_sleepers(d, step);
    if (d->chain != NULL) { /* the head of the list is what is done here */
        node.rest = d->chain;
        d->chain = asx__branch_behead(&d->branches, &node.rest);
        for (const asx__branch *b = node.rest; b != NULL; b = b->next)
            node.branches++;
    }
    d->nodes.at[d->nodes.len++] = node;
}

bool asx__tree_sleeps(const asx__dpor *d, uint32_t task)
{
    for (size_t i = d->nodes.at[d->nodes.len - 1].sleepers; i < d->sleepers.len; i++)
        if (d->sleepers.at[i]->task == task)
            return true;
    return false;
}

bool asx__tree_knows(const asx__dpor *d, size_t node, const asx__branch *step)
{
    size_t to = node + 1 < d->nodes.len ? d->nodes.at[node + 1].sleepers : d->sleepers.len;
    for (size_t i = d->nodes.at[node].sleepers; i < to; i++)
        if (d->sleepers.at[i]->task == step->task && d->sleepers.at[i]->choice == step->choice)
            return true;
    return false;
}

/* ---- sequences ------------------------------------------------------------------------------ */

/* What is to be inserted: events of the execution and a last step. */
typedef struct sequence {
    asx__dpor *d;
    uint32_t *events; /* ASX__DPOR_NONE: cut out, when all else is done */
    uint8_t *kept;    /* 1: it keeps a step from covering the sequence */
    size_t len;
    asx__vclock needs; /* of the last */
    asx__step last;
    const asx__prints *prints; /* of the last */
    bool last_out;
    bool is_long;     /* see comes_first() */
    uint32_t from;    /* no event of it is before this one */
    uint32_t blocker; /* the event that kept a branch from covering it; NONE: the last step */
} sequence;

static asx__step step_of(const sequence *s, size_t i)
{
    const asx__dpor_event *event = &s->d->events[s->events[i]];
    return (asx__step){ event->task, event->choice, false };
}

/* Its events are in their order. */
static bool is_in(const sequence *s, uint32_t event, size_t *ret_at)
{
    size_t from = 0, to = event >= s->from ? s->len : 0;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (s->events[middle] < event)
            from = middle + 1;
        else
            to = middle;
    }
    *ret_at = from;
    return from < s->len && event >= s->from && s->events[from] == event;
}

/* The first event of the task that was not before the sequence, nor taken out; NONE: no such. */
static uint32_t first_of(const sequence *s, uint32_t task)
{
    const asx__dpor *d = s->d;
    uint32_t from = d->starts.at[task], end = d->starts.at[task + 1], to = end;
    if (d->tasks[task].walked == d->rests_number)
        return from + d->tasks[task].taken < end ? d->by_task.at[from + d->tasks[task].taken]
                                                 : ASX__DPOR_NONE;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (d->by_task.at[middle] < s->from)
            from = middle + 1;
        else
            to = middle;
    }
    return from < end ? d->by_task.at[from] : ASX__DPOR_NONE;
}

static bool is_alike(const asx__dpor *d, uint32_t event, const asx__branch *branch)
{
    const asx__wide_event *w = &d->wide_events[event];
    return w->len == branch->prints.len && !w->all && !branch->prints.all &&
           !branch->prints.sorted && /* else it is in another order */
           memcmp(d->prints.at + w->accesses, branch->memory, w->len * sizeof *branch->memory) == 0;
}

/* Is what the branch does an event of the sequence, with nothing that it conflicts with in front of
 * it? What was taken out had nothing in front of it either: if an event that it conflicts with is
 * left, then so is one that comes immediately before it on some object. And nothing in a sequence
 * conflicts with all: it would come after what was taken away. False: it is not, or has so many
 * prints that this is found out otherwise. */
static bool comes_first(const sequence *s, const asx__branch *branch, size_t *ret_at)
{
    const asx__dpor *d = s->d;
    uint32_t event = first_of(s, branch->task);
    size_t at;
    if (event == ASX__DPOR_NONE || d->events[event].choice != branch->choice ||
        !is_alike(d, event, branch) || !is_in(s, event, ret_at))
        return false;
    const asx__access *access = &d->accesses.at[d->wide_events[event].accesses];
    for (uint32_t i = 0; i < d->wide_events[event].len; i++, access++) {
        uint32_t a = access->writes ? access->prev : access->prev_write;
        for (; a != ASX__DPOR_NONE; a = d->accesses.at[a].prev) {
            if (is_in(s, d->accesses.at[a].event, &at))
                return false;
            if (a == access->prev_write)
                break;
        }
    }
    return true;
}

/* Does the branch cover it? *ret_at: where it is in it: an event, or the length for the last; more
 * than that if it is not in it. */
static bool covers(sequence *s, const asx__branch *branch, size_t *ret_at)
{
    uint64_t touched = branch->prints.touched, written = branch->prints.written;
    const asx__wide_event *wide = s->d->wide_events;
    s->blocker = ASX__DPOR_NONE;
    if (s->is_long && comes_first(s, branch, ret_at))
        return true;
    for (size_t i = 0; i < s->len; i++) {
        const asx__wide_event *w = &wide[s->events[i]];
        bool same = s->d->events[s->events[i]].task == branch->task;
        if (!same && !w->all && !branch->prints.all &&
            ((w->touched & written) | (w->written & touched)) == 0)
            continue; /* it has nothing to do with it, as most have not */
        if (same && s->d->events[s->events[i]].choice == branch->choice) {
            *ret_at = i;
            return true;
        }
        asx__prints prints = asx__wide_prints(s->d, s->events[i]);
        if (same || asx__prints_conflict(&prints, &branch->prints)) {
            s->kept[i] = 1;
            s->blocker = s->events[i];
            return false;
        }
    }
    *ret_at = s->len + 1;
    if (!s->last_out && s->last.task == branch->task) {
        *ret_at = s->len;
        return s->last.choice == branch->choice;
    }
    if (s->d->options.mode == ASX__DPOR_SOURCE)
        return false; /* what would follow is not known there */
    return s->last_out || !asx__prints_conflict(s->prints, &branch->prints);
}

/* Many tasks: may it rest on an event of this one too? */
static bool can_rest_on(asx__dpor *d, uint32_t task)
{
    if (d->tasks[task].rested == d->rests_number)
        return true;
    d->tasks[task].rested = d->rests_number;
    return 2 * ++d->rests_tasks <= d->seen_stride && !d->rests_on_all;
}

/* What becomes of the sequence rests on an event of it. */
static void note_rests(const sequence *s, uint32_t event)
{
    asx__dpor *d = s->d;
    if (d->levels > 1)
        d->resting = d->resting && can_rest_on(d, d->events[event].task);
    if (d->resting)
        d->rests = asx__vclock_join(d, d->rests, d->events[event].clock);
}

/* What a covered sequence owes that to. */
static void note_late(const sequence *s, size_t at)
{
    if (at < s->len)
        note_rests(s, s->events[at]);
    else if (at > s->len)
        s->d->rests_on_all = true;
    uint32_t event = at < s->len ? s->events[at] : at == s->len ? 0 : ASX__DPOR_NONE;
    s->d->late = event > s->d->late ? event : s->d->late;
}

/* Leaves out what is not needed: by the last step, or to keep others from covering it. */
static void cut(const sequence *s)
{
    asx__dpor *d = s->d;
    d->need = s->needs;
    for (size_t i = s->len; i-- > 0;) {
        if (s->events[i] == ASX__DPOR_NONE)
            continue;
        asx__prints prints = asx__wide_prints(d, s->events[i]);
        if (s->kept[i] || asx__vclock_has(d, d->need, &d->events[s->events[i]]) ||
            (!s->last_out && asx__prints_conflict(&prints, s->prints)))
            d->need = asx__vclock_join(d, d->need, d->events[s->events[i]].clock);
        else
            s->events[i] = ASX__DPOR_NONE;
    }
}

/* What is left of it, as a chain. */
static asx__branch *chain_of(const sequence *s)
{
    asx__dpor *d = s->d;
    if (d->options.mode != ASX__DPOR_SOURCE)
        cut(s);
    asx__branch *first = NULL, **end = &first;
    for (size_t i = 0; i < s->len; i++) {
        if (s->events[i] == ASX__DPOR_NONE)
            continue;
        asx__prints prints = asx__wide_prints(d, s->events[i]);
        d->late = s->events[i] > d->late ? s->events[i] : d->late;
        note_rests(s, s->events[i]);
        *end = new_branch(d, step_of(s, i), &prints);
        if (*end == NULL)
            return first;
        end = &(*end)->child;
        if (d->options.mode == ASX__DPOR_SOURCE)
            return first;
    }
    if (!s->last_out)
        *end = new_branch(d, s->last, s->prints);
    return first;
}

static bool is_empty(const sequence *s)
{
    return s->len == 0 && s->last_out;
}

static void note_taken(const sequence *s, uint32_t event)
{
    asx__dpor_task *task = &s->d->tasks[s->d->events[event].task];
    task->walked = s->d->rests_number;
    task->taken = s->d->events[event].ordinal;
}

/* What a branch does is not left to be tried below it. */
static void take_out(sequence *s, size_t at)
{
    if (at == s->len)
        s->last_out = true;
    if (at >= s->len)
        return;
    if (s->is_long)
        note_taken(s, s->events[at]);
    s->len--;
    if (at > s->len / 2) {
        memmove(s->events + at, s->events + at + 1, (s->len - at) * sizeof *s->events);
        memmove(s->kept + at, s->kept + at + 1, s->len - at);
        return;
    }
    memmove(s->events + 1, s->events, at * sizeof *s->events);
    memmove(s->kept + 1, s->kept, at);
    s->events++;
    s->kept++;
}

/* The sequence as it came, for the backlog. */
static bool keep_whole(asx__dpor *d)
{
    d->whole.len = 0;
    if (!ASX__VEC_ROOM(d, d->whole, d->block.len))
        return false;
    if (d->block.len != 0)
        memcpy(d->whole.at, d->block.at, d->block.len * sizeof *d->block.at);
    d->whole.len = d->block.len;
    return true;
}

/* Source sets: where a step belongs, so that no other task comes between the answers of one. */
static asx__branch **place_of_answer(asx__dpor *d, uint32_t node, uint32_t task, asx__branch **end)
{
    asx__branch **list = &d->nodes.at[node].rest;
    if (d->events[node].task == task)
        return list;
    while (*list != NULL && (*list)->task != task)
        list = &(*list)->next;
    return *list != NULL ? list : end;
}

/* The scratch. */
static bool begin_insert(asx__dpor *d)
{
    d->kept.len = 0;
    d->late = 0;
    if (!ASX__VEC_ROOM(d, d->kept, d->block.len + 1))
        return false;
    memset(d->kept.at, 0, d->block.len + 1);
    d->rests = 0;
    d->rests_on_all = false;
    d->rests_tasks = 0;
    d->rests_number++;
    return true;
}

void asx__tree_insert(asx__dpor *d, uint32_t node, asx__vclock needs, asx__step last,
                      const asx__prints *prints)
{
    if (!begin_insert(d))
        return;
    sequence s = { .d = d, .events = d->block.at, .kept = d->kept.at, .len = d->block.len,
                   .needs = needs, .last = last, .prints = prints, .from = node };
    s.is_long = s.len + 1 > ASX__FIND_FROM && asx__dpor_sort(d);
    size_t at;
    size_t to = node + 1 < d->nodes.len ? d->nodes.at[node + 1].sleepers : d->sleepers.len;
    for (size_t i = d->nodes.at[node].sleepers; i < to; i++)
        if (covers(&s, d->sleepers.at[i], &at)) {
            note_late(&s, at);
            return;
        }
    if (node < d->shared || d->nodes.at[node].heard)
        for (const asx__branch *b = d->nodes.at[node].done; b != NULL; b = b->next)
            if (covers(&s, b, &at)) {
                note_late(&s, at);
                return;
            }
    if (node < d->shared && !keep_whole(d))
        return;
    asx__branch **list = &d->nodes.at[node].rest;
    bool below = false; /* one of the branches of the node */
    asx__branch_begin(&d->branches);
    while (*list != NULL) {
        asx__branch *branch = *list;
        if (!covers(&s, branch, &at)) {
            if (s.blocker != ASX__DPOR_NONE)
                note_rests(&s, s.blocker);
            list = asx__branch_go(&d->branches, list, false);
            continue;
        }
        note_late(&s, at);
        take_out(&s, at);
        if (branch->child == NULL)
            return;
        if (is_empty(&s)) { /* with more in it, it could go on */
            d->rests_on_all = true;
            return;
        }
        list = asx__branch_go(&d->branches, list, true);
        below = true;
    }
    if (node < d->shared) { /* the backlog will put it there */
        asx__share_found(d, node, last, prints);
        d->late = ASX__DPOR_NONE;
        return;
    }
    asx__branch *chain = chain_of(&s);
    if (d->branches.shared)
        list = asx__branch_own_way(&d->branches, &d->nodes.at[node].rest);
    if (chain != NULL && d->options.mode == ASX__DPOR_SOURCE)
        list = place_of_answer(d, node, chain->task, list);
    if (list == NULL) {
        asx__branch_drop(&d->branches, chain);
        d->status = ASX_E_RESOURCE_EXHAUSTED;
    } else if (chain != NULL) {
        chain->next = *list;
        *list = chain;
        d->nodes.at[node].branches += !below;
    }
}

/* ---- answers that conflict with nothing ----------------------------------------------------- */

bool asx__tree_has_task(const asx__dpor *d, uint32_t node, uint32_t task)
{
    size_t to = node + 1 < d->nodes.len ? d->nodes.at[node + 1].sleepers : d->sleepers.len;
    for (size_t i = d->nodes.at[node].sleepers; i < to; i++)
        if (d->sleepers.at[i]->task == task)
            return true;
    for (const asx__branch *b = d->nodes.at[node].rest; b != NULL; b = b->next)
        if (b->task == task)
            return true;
    for (const asx__branch *b = d->nodes.at[node].done; b != NULL; b = b->next)
        if (b->task == task)
            return true;
    return false;
}

bool asx__tree_add_answers(asx__dpor *d, uint32_t node, uint32_t choice, uint32_t answers)
{
    const asx__dpor_event *event = &d->events[node];
    asx__branch **list = &d->nodes.at[node].rest, *last = *list;
    bool front = d->options.mode == ASX__DPOR_SOURCE; /* as asx__tree_insert() would */
    asx__branch_begin(&d->branches);
    while (!front && last != NULL && last->next != NULL) {
        list = asx__branch_go(&d->branches, list, false);
        last = *list;
    }
    if (last == NULL || last->task != event->task || last->choice != choice || last->child != NULL)
        return false;
    if (d->branches.shared) {
        list = asx__branch_own_way(&d->branches, &d->nodes.at[node].rest);
        last = list != NULL ? asx__branch_own(&d->branches, list) : NULL;
    }
    if (last == NULL) {
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return true;
    }
    for (uint32_t other = choice + 1; other < answers; other++) {
        if (other == event->choice)
            continue;
        asx__branch *branch = new_branch(d, (asx__step){ event->task, other, false },
                                               &last->prints);
        if (branch == NULL)
            return true;
        if (!front)
            list = &last->next;
        branch->next = *list;
        *list = branch;
        last = branch;
        d->nodes.at[node].branches++;
    }
    d->nodes.at[node].answered = event->task + 1;
    return true;
}

/* ---- the next execution --------------------------------------------------------------------- */

/* What others have tried there while it was the backlog's sleeps too. The node is the last. */
static void hear_of_done(asx__dpor *d, asx__tree_node *node)
{
    node->heard = false;
    for (asx__branch *b = node->done; b != NULL; b = b->next)
        if (!asx__tree_knows(d, d->nodes.len - 1, b) && ASX__VEC_ROOM(d, d->sleepers, 1))
            d->sleepers.at[d->sleepers.len++] = b;
}

/* What is put to sleep keeps what it came after, a bit for each of the last events before it: when
 * it is asked for, that execution is over. */
#define PAST_WORDS 32

static uint32_t past_from(uint32_t step)
{
    return step > 64 * PAST_WORDS ? step - 64 * PAST_WORDS : 0;
}

static void keep_past(asx__dpor *d, uint32_t step, asx__branch *branch)
{
    uint32_t from = past_from(step);
    size_t words = (step - from + 63) / 64;
    asx__vclock clock = d->events[step].clock;
    branch->since = step;
    if (words == 0 || !ASX__VEC_ROOM(d, d->pasts, words))
        return;
    uint64_t *past = d->pasts.at + d->pasts.len;
    memset(past, 0, words * sizeof *past);
    for (uint32_t k = from; k < step; k++)
        past[(k - from) / 64] |= (uint64_t)asx__vclock_has(d, clock, &d->events[k])
                                 << (k - from) % 64;
    branch->past = (uint32_t)d->pasts.len + 1;
    d->pasts.len += words;
}

bool asx__tree_came_after(const asx__dpor *d, const asx__branch *sleeper, uint32_t event)
{
    uint32_t from = past_from(sleeper->since);
    if (sleeper->past == 0 || event < from)
        return true;
    const uint64_t *past = d->pasts.at + sleeper->past - 1;
    return (past[(event - from) / 64] >> (event - from) % 64 & 1) != 0;
}

/* The step that was taken at the node is done there: it sleeps. */
static void put_to_sleep(asx__dpor *d, uint32_t step)
{
    asx__tree_node *node = &d->nodes.at[step];
    asx__prints prints = asx__wide_prints(d, step);
    asx__branch *branch = new_branch(
        d, (asx__step){ d->events[step].task, d->events[step].choice, false }, &prints);
    if (branch == NULL)
        return;
    branch->next = node->done;
    node->done = branch;
    keep_past(d, step, branch);
    if (ASX__VEC_ROOM(d, d->sleepers, 1))
        d->sleepers.at[d->sleepers.len++] = branch;
    if (node->heard)
        hear_of_done(d, node);
}

/* With source sets a sequence is one step; and it may be put into the middle of a list. */
static void share_alike(asx__dpor *d)
{
    asx__alikes alikes;
    if (!asx__branches_are_many(&d->branches) || d->options.mode != ASX__DPOR_OPTIMAL ||
        !asx__branches_begin(&d->branches, &alikes))
        return;
    for (size_t i = 0; i < d->nodes.len; i++)
        asx__branches_share(&d->branches, &alikes, &d->nodes.at[i].rest);
    asx__branches_end(&d->branches, &alikes);
}

bool asx__tree_pop(asx__dpor *d)
{
    while (d->nodes.len > d->shared && d->nodes.at[d->nodes.len - 1].rest == NULL)
        drop_nodes(d, d->nodes.len - 1);
    if (d->nodes.len <= d->shared || d->status < 0)
        return false;
    uint32_t step = (uint32_t)d->nodes.len - 1;
    put_to_sleep(d, step);
    share_alike(d);
    asx__tree_node *node = &d->nodes.at[step];
    const asx__branch *branch = node->rest;
    d->plan.len = 0;
    for (uint32_t i = 0; i < step; i++) {
        if (!ASX__VEC_ROOM(d, d->plan, 1))
            return false;
        d->plan.at[d->plan.len++] = (asx__step){ d->events[i].task, d->events[i].choice, false };
    }
    for (const asx__branch *b = branch; b != NULL; b = b->child) {
        if (!ASX__VEC_ROOM(d, d->plan, 1))
            return false;
        d->plan.at[d->plan.len++] = (asx__step){ b->task, b->choice, false };
    }
    d->chain = asx__branch_behead(&d->branches, &node->rest);
    d->branch_at = step;
    return d->status == ASX_OK;
}
