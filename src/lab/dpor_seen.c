/* dpor_seen.c - sequences that were put to a node before need not be put there again.
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
 * That is asked in time proportional to the tasks.
 *
 * Where a step covers a sequence because it conflicts with nothing in it, that rests on all of it:
 * then the clock is all that is left, and the next event of each task has to be away as well. Two
 * who look for what a third one sends are like that: who comes second is covered by the other.
 *
 * It is not so with source sets, where answers go to the front of a list, nor at nodes of the pool,
 * which it changes. Such sequences are put there each time.
 *
 * Memory: a table of two to four entries per event. What was forgotten is looked at again.
 */
#include "lab/dpor_int.h"

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

/* Of the last events of each task in the clock, from the node on. False: they are not all in the
 * execution, and left; with `all`: or others are left too. */
static bool sum_of(const asx__dpor *d, uint32_t node, const uint32_t *rests, bool all,
                   uint64_t *ret_sum, uint32_t *ret_late)
{
    uint64_t sum = all;
    uint32_t late = 0;
    for (uint32_t t = 0; t < d->tasks_len; t++) {
        if (rests[t] > d->starts.at[t + 1] - d->starts.at[t] ||
            (all && is_next_left(d, t, rests[t])))
            return false;
        if (rests[t] == 0)
            continue;
        uint32_t k = d->by_task.at[d->starts.at[t] + rests[t] - 1];
        if (k < node)
            continue;
        if (asx__is_away(d, k))
            return false;
        sum += asx__hash_avalanche(d->wide_events[k].history);
        late = k > late ? k : late;
    }
    *ret_sum = sum;
    *ret_late = all ? ASX__DPOR_NONE : late;
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
    uint64_t sum;
    uint32_t late;
    if (seen->key != key || seen->node != d->nodes.at[node].number ||
        !sum_of(d, node, d->seen_rows + at * d->stride, seen->all, &sum, &late) ||
        sum != seen->sum)
        return false;
    seen->used = d->stats.executions + 1;
    d->late = late;
    return true;
}

void asx__seen_put(asx__dpor *d, uint32_t node, uint64_t key)
{
    size_t at = place_of(d, key);
    uint64_t sum;
    uint32_t late;
    if (d->rests_on_all)
        all_left(d, d->rests);
    if (!sum_of(d, node, d->rests, d->rests_on_all, &sum, &late))
        return;
    d->seen[at] = (asx__seen){ key, d->nodes.at[node].number, sum, d->stats.executions + 1,
                               d->rests_on_all };
    asx__clock_copy(d->seen_rows + at * d->stride, d->rests, d->stride);
}
