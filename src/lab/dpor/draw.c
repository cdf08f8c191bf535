/* draw.c - executions that are drawn instead of planned.
 *
 * Every execution has a number, the sample, and a generator of its own, forked from the seed by
 * that number. So it can be drawn again without those before it, by whichever process.
 *
 *   random   each step any enabled task
 *   role     each step any role that has enabled tasks, then any of these
 *   PCT      each task draws a priority; at depth - 1 steps, drawn among the first `span`, the one
 *            that would go drops below all others. With n tasks and k <= span steps a bug of
 *            depth d is hit with probability 1 / (n k^(d-1)) at least
 *   sticky   as role, but the running task mostly goes on
 *   POS      each operation draws a priority when it is announced; who has the highest goes. What
 *            races with what was done draws again: otherwise of three that race, the one that lost
 *            twice would be likely to be last
 *
 * `span` is the length of the longest of the first SPAN_SAMPLES executions, so that it does not
 * depend on who runs the others.
 */
#include "lab/dpor/internal.h"

#define SPAN_SAMPLES 16

static int compare_words(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static bool is_way(const asx__dpor *d, asx__dpor_mode mode, asx__dpor_way way)
{
    return d->options.mode == mode || (d->options.mode == ASX__DPOR_SAMPLE && d->way == way);
}

/* Draws the steps at which a priority drops. */
static void begin_pct(asx__dpor *d)
{
    d->changes.len = 0;
    d->changes_done = 0;
    for (uint32_t i = 1; i < d->options.depth && ASX__VEC_ROOM(d, d->changes, 1); i++)
        d->changes.at[d->changes.len++] = asx__rng_below(&d->rng, d->span != 0 ? d->span : 1);
    if (d->changes.len > 1)
        qsort(d->changes.at, d->changes.len, sizeof *d->changes.at, compare_words);
}

void asx__draw_begin(asx__dpor *d)
{
    asx__rng seeded;
    asx__rng_seed(&seeded, d->options.seed);
    d->rng = asx__rng_fork(&seeded, d->sample);
    d->way = (asx__dpor_way)(d->sample % ASX__WAY_COUNT);
    if (d->sample <= SPAN_SAMPLES && d->stats.steps_longest > d->span)
        d->span = d->stats.steps_longest;
    d->stats.span = d->span;
    d->sample++;
    asx__dpor_forget_names(d); /* numbers of tasks must not depend on the samples before */
    if (is_way(d, ASX__DPOR_PCT, ASX__WAY_PCT))
        begin_pct(d);
}

void asx__draw_enter(asx__dpor *d, uint32_t task)
{
    if (is_way(d, ASX__DPOR_PCT, ASX__WAY_PCT))
        d->tasks[task].priority = (asx__rng_next(&d->rng) >> 1) + d->options.depth;
}

void asx__draw_announce(asx__dpor *d, uint32_t task)
{
    if (is_way(d, ASX__DPOR_POS, ASX__WAY_POS))
        d->tasks[task].priority = asx__rng_next(&d->rng);
}

static bool races(asx__dpor *d, uint32_t event, const asx__op *op)
{
    const asx__dpor_event *e = &d->events[event];
    if (d->wide)
        return asx__wide_races(d, event, op);
    if (op->object == NULL || e->object == ASX__DPOR_NONE ||
        asx__dpor_object_find(d, asx__op_name(op)) != e->object)
        return false;
    asx__op_effect effect = asx__op_eval(op, asx__state_read(op->object, op->size));
    return e->writes || effect.writes || !effect.enabled;
}

void asx__draw_done(asx__dpor *d, uint32_t event)
{
    if (!is_way(d, ASX__DPOR_POS, ASX__WAY_POS))
        return;
    for (uint32_t t = 0; t < d->tasks_len; t++) {
        if (!d->tasks[t].present || !d->tasks[t].pending)
            continue;
        asx__dpor_aim(d, t);
        if (races(d, event, &d->tasks[t].op))
            d->tasks[t].priority = asx__rng_next(&d->rng);
    }
}

/* ---- who goes ------------------------------------------------------------------------------- */

uint32_t asx__draw_any(asx__dpor *d)
{
    uint64_t count = 0;
    uint32_t chosen = ASX__DPOR_NONE;
    for (uint32_t t = 0; t < d->tasks_len; t++)
        if (asx__dpor_enabled(d, t) && asx__rng_below(&d->rng, ++count) == 0)
            chosen = t;
    return chosen;
}

static uint32_t any_of_role(asx__dpor *d, const char *role)
{
    uint64_t count = 0;
    uint32_t chosen = ASX__DPOR_NONE;
    for (uint32_t t = 0; t < d->tasks_len; t++)
        if (d->tasks[t].role == role && asx__dpor_enabled(d, t) &&
            asx__rng_below(&d->rng, ++count) == 0)
            chosen = t;
    return chosen;
}

/* A hundred writers and one reader: the reader is as likely as all writers together. */
static uint32_t any_role(asx__dpor *d)
{
    d->roles.len = 0;
    for (uint32_t t = 0; t < d->tasks_len; t++) {
        size_t r = 0;
        if (!d->tasks[t].present || !d->tasks[t].pending)
            continue;
        while (r < d->roles.len && d->roles.at[r] != d->tasks[t].role)
            r++;
        if (r == d->roles.len && asx__dpor_enabled(d, t) && ASX__VEC_ROOM(d, d->roles, 1))
            d->roles.at[d->roles.len++] = d->tasks[t].role;
    }
    if (d->roles.len == 0)
        return ASX__DPOR_NONE;
    return any_of_role(d, d->roles.at[asx__rng_below(&d->rng, d->roles.len)]);
}

static uint32_t highest_enabled(asx__dpor *d)
{
    uint32_t chosen = ASX__DPOR_NONE;
    for (uint32_t t = 0; t < d->tasks_len; t++)
        if (asx__dpor_enabled(d, t) &&
            (chosen == ASX__DPOR_NONE || d->tasks[t].priority > d->tasks[chosen].priority))
            chosen = t;
    return chosen;
}

static uint32_t choose_pct(asx__dpor *d)
{
    uint32_t chosen = highest_enabled(d);
    while (chosen != ASX__DPOR_NONE && d->changes_done < d->changes.len &&
           d->changes.at[d->changes_done] <= d->events_len) {
        d->tasks[chosen].priority = d->changes.len - d->changes_done++;
        chosen = highest_enabled(d);
    }
    return chosen;
}

uint32_t asx__draw_choose(asx__dpor *d)
{
    uint32_t last = d->events_len != 0 ? d->events[d->events_len - 1].task : ASX__DPOR_NONE;
    asx__dpor_way way = d->options.mode == ASX__DPOR_RANDOM ? ASX__WAY_RANDOM
                        : d->options.mode == ASX__DPOR_PCT  ? ASX__WAY_PCT
                        : d->options.mode == ASX__DPOR_POS  ? ASX__WAY_POS
                                                            : d->way;
    switch (way) {
    case ASX__WAY_ROLE:
        return any_role(d);
    case ASX__WAY_PCT:
        return choose_pct(d);
    case ASX__WAY_POS:
        return highest_enabled(d);
    case ASX__WAY_STICKY:
        if (last != ASX__DPOR_NONE && asx__dpor_enabled(d, last) &&
            asx__rng_below(&d->rng, 4) != 0)
            return last;
        return any_role(d);
    default:
        return asx__draw_any(d);
    }
}
