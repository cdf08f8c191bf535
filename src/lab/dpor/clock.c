/* clock.c - clocks of many tasks, as trees that share what they have in common; and how clocks
 * become larger (see clocks.h). */
#include "lab/dpor/internal.h"

/* ---- room ----------------------------------------------------------------------------------- */

bool asx__vclock_grow(asx__dpor *d)
{
    uint32_t cap = d->rows_cap != 0 ? d->rows_cap * 2 : 8 * ASX__CLOCK_FAN;
    uint32_t *rows = cap > d->rows_cap ? realloc(d->rows, cap * sizeof *rows) : NULL;
    if (rows == NULL) {
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    if (d->rows_cap == 0)
        memset(rows, 0, d->stride * sizeof *rows); /* row 0 */
    d->stats.memory_bytes += (cap - d->rows_cap) * sizeof *rows;
    d->rows = rows;
    d->rows_cap = cap;
    return true;
}

static uint32_t events_used(const asx__dpor *d)
{
    return d->events_len > d->repeated ? d->events_len : d->repeated;
}

/* Rows become twice as long, and their numbers twice as large; what they say stays. */
static bool lengthen(asx__dpor *d)
{
    uint32_t stride = d->stride;
    if (d->rows_cap > UINT32_MAX / 2 || !asx__vclock_grow(d))
        return false;
    for (uint32_t row = d->rows_len; row > 0;) { /* the last first: none is overwritten */
        row -= stride;
        memmove(d->rows + 2 * (size_t)row, d->rows + row, stride * sizeof *d->rows);
        memset(d->rows + 2 * (size_t)row + stride, 0, stride * sizeof *d->rows);
    }
    for (uint32_t t = 0; t < d->tasks_len; t++)
        d->tasks[t].clock *= 2;
    for (uint32_t i = 0; i < events_used(d); i++) {
        d->events[i].clock *= 2;
        d->events[i].rows *= 2;
        d->events[i].rows_end *= 2;
        if (d->wide && !d->restart)
            d->wide_events[i].past *= 2;
    }
    d->rows_len *= 2;
    d->own_from *= 2;
    d->stride *= 2;
    return true;
}

/* A row above what was the top of a clock. `above` knows those that were made. */
static bool put_above(asx__dpor *d, uint32_t *above, uint32_t *clock)
{
    if (*clock == 0)
        return true;
    uint32_t *row = &above[*clock / d->stride];
    if (*row == 0) {
        if (d->rows_len >= d->rows_cap && !asx__vclock_grow(d))
            return false;
        *row = d->rows_len;
        memset(asx__vclock_row(d, *row), 0, d->stride * sizeof *d->rows);
        asx__vclock_row(d, *row)[0] = *clock;
        d->rows_len += d->stride;
    }
    *clock = *row;
    return true;
}

/* One more level. */
static bool deepen(asx__dpor *d)
{
    uint32_t used = events_used(d);
    uint32_t *above = calloc(d->rows_len / d->stride, sizeof *above);
    bool good = above != NULL;
    for (uint32_t t = 0; t < d->tasks_len && good; t++)
        good = put_above(d, above, &d->tasks[t].clock);
    for (uint32_t i = 0; i < used && good; i++)
        good = put_above(d, above, &d->events[i].clock) &&
               (!d->wide || d->restart || put_above(d, above, &d->wide_events[i].past));
    for (uint32_t i = 0; i < used && good; i++) /* nothing has its place any more */
        d->events[i].rows = UINT32_MAX;
    free(above);
    if (!good)
        d->status = ASX_E_RESOURCE_EXHAUSTED;
    asx__vclock_share(d);
    d->levels++;
    d->away_far = d->noted = true;
    if (d->seen_cap != 0) /* what it has is said in another way from now on */
        memset(d->seen, 0, d->seen_cap * sizeof *d->seen);
    return good;
}

bool asx__vclock_widen(asx__dpor *d, uint32_t tasks)
{
    while (d->levels == 1 && tasks > d->stride && d->stride < ASX__CLOCK_FAN)
        if (!lengthen(d))
            return false;
    while (d->levels * ASX__CLOCK_FAN_BITS < 32 &&
           tasks > d->stride << (d->levels - 1) * ASX__CLOCK_FAN_BITS)
        if (!deepen(d))
            return false;
    return true;
}

/* ---- trees ---------------------------------------------------------------------------------- */

static uint32_t child_of(uint32_t task, uint32_t level)
{
    return task >> level * ASX__CLOCK_FAN_BITS & (ASX__CLOCK_FAN - 1);
}

uint32_t asx__vclock_get_far(const asx__dpor *d, asx__vclock clock, uint32_t task)
{
    for (uint32_t level = d->levels - 1; level != 0; level--)
        clock = asx__vclock_row(d, clock)[child_of(task, level)];
    return asx__vclock_row(d, clock)[child_of(task, 0)];
}

static asx__vclock set_at(asx__dpor *d, asx__vclock clock, uint32_t level, uint32_t task,
                         uint32_t ordinal)
{
    clock = asx__vclock_own_row(d, clock);
    if (clock < d->own_from)
        return clock;
    uint32_t child = child_of(task, level);
    if (level != 0)
        ordinal = set_at(d, asx__vclock_row(d, clock)[child], level - 1, task, ordinal);
    asx__vclock_row(d, clock)[child] = ordinal; /* or the number of a row */
    return clock;
}

asx__vclock asx__vclock_set_far(asx__dpor *d, asx__vclock clock, uint32_t task, uint32_t ordinal)
{
    return set_at(d, clock, d->levels - 1, task, ordinal);
}

static asx__vclock join_leaves(asx__dpor *d, asx__vclock clock, asx__vclock other)
{
    const uint32_t *x = asx__vclock_row(d, clock), *y = asx__vclock_row(d, other);
    uint32_t more = 0, less = 0;
    for (uint32_t i = 0; i < ASX__CLOCK_FAN; i++) {
        more |= x[i] > y[i];
        less |= x[i] < y[i];
    }
    if (!less)
        return clock;
    if (!more)
        return other;
    clock = asx__vclock_own_row(d, clock);
    if (clock >= d->own_from)
        asx__vclock_max(asx__vclock_row(d, clock), asx__vclock_row(d, other), ASX__CLOCK_FAN);
    return clock;
}

/* How many children a row of the top level has. */
static uint32_t top_len(const asx__dpor *d)
{
    return ((d->tasks_len - 1) >> (d->levels - 1) * ASX__CLOCK_FAN_BITS) + 1;
}

/* One of the two if it has all of the other. */
static asx__vclock join_at(asx__dpor *d, asx__vclock clock, asx__vclock other, uint32_t level)
{
    uint32_t both[ASX__CLOCK_FAN];
    bool is_clock = true, is_other = true;
    if (clock == other || other == 0)
        return clock;
    if (clock == 0)
        return other;
    if (level == 0)
        return join_leaves(d, clock, other);
    uint32_t len = level + 1 == d->levels ? top_len(d) : ASX__CLOCK_FAN;
    for (uint32_t i = 0; i < len; i++) {
        uint32_t x = asx__vclock_row(d, clock)[i], y = asx__vclock_row(d, other)[i];
        both[i] = x == y ? x : join_at(d, x, y, level - 1);
        is_clock = is_clock && both[i] == x;
        is_other = is_other && both[i] == y;
    }
    if (is_clock)
        return clock;
    if (is_other)
        return other;
    clock = asx__vclock_own_row(d, clock);
    if (clock >= d->own_from)
        memcpy(asx__vclock_row(d, clock), both, len * sizeof *both);
    return clock;
}

asx__vclock asx__vclock_join_far(asx__dpor *d, asx__vclock clock, asx__vclock other)
{
    return join_at(d, clock, other, d->levels - 1);
}

/* ---- all of a clock ------------------------------------------------------------------------- */

static bool list_row(asx__dpor *d, const uint32_t *x, const uint32_t *y, uint32_t first,
                     uint32_t len, asx__stands *list)
{
    if (!ASX__VEC_ROOM(d, *list, len))
        return false;
    for (uint32_t i = 0; i < len; i++)
        if (x[i] > y[i])
            list->at[list->len++] = (asx__stand){ first + i, x[i] };
    return true;
}

static bool list_at(asx__dpor *d, asx__vclock clock, asx__vclock other, uint32_t level,
                    uint32_t first, size_t most, asx__stands *list)
{
    if (clock == other || clock == 0 || list->len > most)
        return true;
    const uint32_t *x = asx__vclock_row(d, clock), *y = asx__vclock_row(d, other);
    if (level == 0)
        return list_row(d, x, y, first, ASX__CLOCK_FAN, list);
    uint32_t len = level + 1 == d->levels ? top_len(d) : ASX__CLOCK_FAN;
    for (uint32_t i = 0; i < len; i++)
        if (!list_at(d, x[i], y[i], level - 1, first + (i << level * ASX__CLOCK_FAN_BITS), most,
                     list))
            return false;
    return true;
}

bool asx__vclock_list(asx__dpor *d, asx__vclock clock, asx__vclock other, size_t most,
                     asx__stands *list)
{
    list->len = 0;
    return list_at(d, clock, other, d->levels - 1, 0, most, list);
}
