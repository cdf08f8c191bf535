/* seen.c - sequences that were put to a node before need not be put there again.
 *
 * Executions that have their first events in common mostly find the same things to try at the same
 * nodes. A sequence is as long as the execution, and what covers it is looked for step by step; for
 * each event of each execution that would be a cost in proportion to the square of its length. So
 * it is remembered what became of a sequence, and on what that rests.
 *
 *   history  64 bits of an event: it, and all that is before it. Equal histories, equal pasts
 *   rests    the events that decided: those that lie on the way through the tree to its end, and of
 *            each branch beside that way one that keeps it from covering the sequence
 *
 * Claim. Let a sequence have ended at a node, covered or as a branch of it. Then one whose last
 * step has the same history, and which has in it all that the first rests on, is covered there by
 * the same way, as long as the event of the node is the same. For: what comes into a tree later
 * comes to the end of a list, behind the way; and nothing comes below an end. Each step of the way
 * covers the second sequence too: it is in it, with all that is before it. No branch that is in
 * front of the way covers it: what kept it from doing so is in it as well.
 *
 * The events that it rests on have their pasts with them, up to the node. So they are a clock, and
 * they are in another sequence if the last of each task is: with the same history, and not away.
 * That is asked in time proportional to the tasks. Where these are many, only those are kept that
 * have done something since the node, if they are few; what rests on all that is left is not.
 *
 * Where a step covers a sequence because it conflicts with nothing in it, that rests on all of it:
 * then the clock is all that is left, and the next event of each task has to be away as well. Two
 * who look for what a third one sends are like that: who comes second is covered by the other.
 *
 * It is not so with source sets, where answers go to the front of a list, nor at nodes of the
 * backlog, which it changes. Such sequences are put there each time.
 *
 * Memory: a table of two to four entries per event. What was forgotten is looked at again.
 */
#include "lab/dpor/internal.h"

/* What is shorter is done with sooner than it would be found. The test lab-classes-seen has 0. */
#ifndef ASX__SEEN_FROM
#define ASX__SEEN_FROM 24
#endif

#define WAYS 4           /* places for an entry; the one that was not used for longest gives way */

static bool is_kept(const asx__dpor *d, uint32_t node)
{
    return d->options.mode == ASX__DPOR_OPTIMAL && node >= d->shared &&
           d->events_len - node > ASX__SEEN_FROM;
}

static bool room_for_entries(asx__dpor *d)
{
    if (d->seen_cap >= 2 * (size_t)d->events_len && d->seen_stride == d->stride)
        return true;
    size_t cap = 64;
    while (cap < 2 * (size_t)d->events_len)
        cap *= 2;
    asx__seen *seen = calloc(cap, sizeof *seen);
    uint32_t *rows = malloc(cap * d->stride * sizeof *rows);
    if (seen == NULL || rows == NULL) {
        free(seen);
        free(rows);
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    d->stats.memory_bytes += cap * (sizeof *seen + d->stride * sizeof *rows);
    d->stats.memory_bytes -= d->seen_cap * (sizeof *seen + d->seen_stride * sizeof *rows);
    free(d->seen);
    free(d->seen_rows);
    d->seen = seen;
    d->seen_rows = rows;
    d->seen_cap = cap;
    d->seen_stride = d->stride;
    return true;
}

/* Those that are left of what the step comes after on an object. */
static uint64_t history_on(const asx__dpor *d, uint64_t print)
{
    uint32_t object = asx__dpor_object_find(d, print >> 1);
    uint64_t reads = 0;
    asx__looking looks = (print & 1) != 0 ? ASX__LOOK_ALL : ASX__LOOK_WRITES;
    if (object == ASX__DPOR_NONE)
        return 0;
    for (uint32_t a = asx__last_left(d, object, looks); a != ASX__DPOR_NONE;
         a = asx__prev_left(d, a, looks)) {
        const asx__access *access = &d->accesses.at[a];
        if (asx__is_away(d, access->event))
            continue;
        uint64_t history = d->wide_events[access->event].history;
        if (access->writes)
            return asx__hash_absorb(reads, history);
        reads += asx__hash_avalanche(history);
    }
    return reads;
}

uint64_t asx__seen_key(asx__dpor *d, uint32_t node, uint64_t history, asx__step last,
                       const asx__prints *prints)
{
    if (!is_kept(d, node) || prints->all || !room_for_entries(d) || !asx__dpor_sort(d))
        return 0;
    uint64_t key = asx__hash_absorb(history, d->nodes.at[node].number);
    key = asx__hash_absorb(key, d->wide_events[node].history);
    key = asx__hash_absorb(key, (uint64_t)last.task << 32 | last.choice);
    for (uint32_t i = 0; i < prints->len; i++) {
        key = asx__hash_absorb(key, prints->at[i]);
        key = asx__hash_absorb(key, history_on(d, prints->at[i]));
    }
    return asx__hash_avalanche(key) | 1; /* 0: no entry */
}

/* Is the event of the task left that comes after so many of it? */
static bool is_next_left(const asx__dpor *d, uint32_t task, uint32_t ordinal)
{
    return ordinal < d->starts.at[task + 1] - d->starts.at[task] &&
           !asx__is_away(d, d->by_task.at[d->starts.at[task] + ordinal]);
}

/* Of each task what is left of it: the first so many. */
static void all_left(const asx__dpor *d, uint32_t *ret_clock)
{
    memset(ret_clock, 0, d->stride * sizeof *ret_clock);
    for (uint32_t t = 0; t < d->tasks_len; t++) {
        uint32_t from = 0, to = d->starts.at[t + 1] - d->starts.at[t];
        while (from < to) {
            uint32_t middle = from + (to - from) / 2;
            if (is_next_left(d, t, middle))
                from = middle + 1;
            else
                to = middle;
        }
        ret_clock[t] = from;
    }
}

/* What a sequence rests on, as a sum and the last of it. */
typedef struct rest {
    uint64_t sum;
    uint32_t late;
} rest;

/* Adds the event of the task with that ordinal, and with it those before, from the node on. False:
 * it is not in the execution, and left; with `all`: or one after it is left too. */
static bool add_rest(const asx__dpor *d, uint32_t node, uint32_t task, uint32_t ordinal, bool all,
                     rest *r)
{
    if (ordinal > d->starts.at[task + 1] - d->starts.at[task] ||
        (all && is_next_left(d, task, ordinal)))
        return false;
    if (ordinal == 0)
        return true;
    uint32_t k = d->by_task.at[d->starts.at[task] + ordinal - 1];
    if (k < node)
        return true;
    if (asx__is_away(d, k))
        return false;
    r->sum += asx__hash_avalanche(d->wide_events[k].history);
    r->late = k > r->late ? k : r->late;
    return true;
}

/* Few tasks: a row of counters. Many: pairs of a task and its counter. False: see add_rest(). */
static bool sum_of(const asx__dpor *d, uint32_t node, const uint32_t *row, uint32_t pairs,
                   bool all, rest *ret_rest)
{
    rest r = { all, 0 };
    if (d->levels > 1)
        for (uint32_t i = 0; i < pairs; i++) {
            if (!add_rest(d, node, row[2 * i], row[2 * i + 1], all, &r))
                return false;
        }
    else
        for (uint32_t t = 0; t < d->tasks_len; t++)
            if (!add_rest(d, node, t, row[t], all, &r))
                return false;
    if (all)
        r.late = ASX__DPOR_NONE;
    *ret_rest = r;
    return true;
}

/* Where the key is, or what gives way to it. */
static size_t place_of(const asx__dpor *d, uint64_t key)
{
    size_t first = (size_t)(key >> 32) & (d->seen_cap - WAYS), place = first;
    for (size_t i = first; i < first + WAYS; i++) {
        if (d->seen[i].key == key)
            return i;
        if (d->seen[i].used < d->seen[place].used)
            place = i;
    }
    return place;
}

bool asx__seen_has(asx__dpor *d, uint32_t node, uint64_t key)
{
    size_t at = place_of(d, key);
    asx__seen *seen = &d->seen[at];
    rest r;
    if (seen->key != key || seen->node != d->nodes.at[node].number ||
        !sum_of(d, node, d->seen_rows + at * d->seen_stride, seen->len, seen->all, &r) ||
        r.sum != seen->sum)
        return false;
    seen->used = d->stats.executions + 1;
    d->late = r.late;
    return true;
}

/* Many tasks: what the sequence rests on, from the node on, as pairs. False: too much for an entry,
 * or no memory. What is in the past of the node's task is before the node. */
static bool list_rests(asx__dpor *d, uint32_t node, uint32_t *ret_row, uint32_t *ret_pairs)
{
    uint32_t pairs = 0;
    if (d->rests_on_all ||
        !asx__vclock_list(d, d->rests, d->wide_events[node].past, SIZE_MAX, &d->seen_on))
        return false;
    for (size_t i = 0; i < d->seen_on.len; i++) {
        asx__stand s = d->seen_on.at[i];
        if (d->by_task.at[d->starts.at[s.task] + s.ordinal - 1] < node)
            continue;
        if (2 * pairs + 2 > d->seen_stride)
            return false;
        ret_row[2 * pairs] = s.task;
        ret_row[2 * pairs++ + 1] = s.ordinal;
    }
    *ret_pairs = pairs;
    return true;
}

void asx__seen_put(asx__dpor *d, uint32_t node, uint64_t key)
{
    uint32_t row[ASX__CLOCK_FAN], pairs = 0;
    size_t at = place_of(d, key), bytes = d->seen_stride * sizeof *row;
    rest r;
    if (d->levels > 1) {
        if (!d->resting || !list_rests(d, node, row, &pairs)) {
            d->unkept = !d->rests_on_all;
            return;
        }
    } else if (d->rests_on_all) {
        all_left(d, row);
    } else {
        memcpy(row, asx__vclock_row(d, d->rests), bytes);
    }
    if (!sum_of(d, node, row, pairs, d->rests_on_all, &r))
        return;
    d->seen[at] = (asx__seen){ key, d->nodes.at[node].number, r.sum, d->stats.executions + 1,
                               pairs, d->rests_on_all };
    memcpy(d->seen_rows + at * d->seen_stride, row, bytes);
}
