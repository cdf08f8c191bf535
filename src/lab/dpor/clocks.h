/* clocks.h - clocks: which events are before what. A part of internal.h, which alone includes
 * it.
 *
 * A clock has a counter for each task: the ordinal of the last event of the task that is in it.
 * Event g is in a clock iff its counter of g.task >= g.ordinal. An event has the clock of all that
 * is before or at it; a task has that of its last event, joined with what it has waited for.
 *
 * Few tasks: a clock is a row of `stride` counters. Many: it is a tree whose leaves are rows of
 * ASX__CLOCK_FAN counters, and whose inner rows have the numbers of the rows below. Rows are never
 * changed once somebody else may have them, so clocks share what is the same in both: one is copied
 * by its number, and to set a counter or to join two clocks costs what differs, not what there is.
 * An event of an execution of n tasks thus costs the same for all n, mostly.
 *
 *   row 0         all zeros: the empty clock, and whatever is empty in a tree, at any level
 *   number        where a row begins: so many words behind row 0
 *   own_from      each row from here on belongs to one clock, of one owner, and may be changed
 *   event.rows    where the next row was to begin before the event; rows_end: after it
 *
 * Invariants. What an event or a task of the execution refers to is below rows_len. An execution
 * begins with row 0 alone. Events that are done again have their rows already: what is made between
 * them is made as it was before, in the same place, and each of them is passed over. If it is not
 * the same place they are not done again (again.c). So there are never more rows than one
 * execution needs, however many there are.
 *
 * Rejected: lanes (a task that begins after the end of another goes on with its counter) help only
 * where few are there at a time; tree clocks know what is new since the last join, but are changed
 * in place, and here each event keeps its clock.
 */
#ifndef ASX_LAB_DPOR_CLOCKS_H
#define ASX_LAB_DPOR_CLOCKS_H

/* Rows are so many counters long, or a multiple of it: what can be done to them at a time is. */
#ifndef ASX__CLOCK_LANES /* the test lab-classes-trees has 2 and 1: clocks are trees there */
#define ASX__CLOCK_LANES 8u
#define ASX__CLOCK_FAN_BITS 6u
#endif
#define ASX__CLOCK_FAN (1u << ASX__CLOCK_FAN_BITS)

/* clock.c */
/* Room for one more row, at least. False: no memory. */
bool asx__vclock_grow(asx__dpor *d);
/* Clocks for so many tasks. */
bool asx__vclock_widen(asx__dpor *d, uint32_t tasks);
uint32_t asx__vclock_get_far(const asx__dpor *d, asx__vclock clock, uint32_t task);
asx__vclock asx__vclock_set_far(asx__dpor *d, asx__vclock clock, uint32_t task, uint32_t ordinal);
asx__vclock asx__vclock_join_far(asx__dpor *d, asx__vclock clock, asx__vclock other);
/* Many tasks: lists the counters of the clock that are greater than those of the other, by task; if
 * there are more than `most` not all of them. False: no memory. */
bool asx__vclock_list(asx__dpor *d, asx__vclock clock, asx__vclock other, size_t most,
                     asx__stands *list);

static inline uint32_t *asx__vclock_row(const asx__dpor *d, asx__vclock clock)
{
    return d->rows + clock;
}

static inline uint32_t asx__vclock_get(const asx__dpor *d, asx__vclock clock, uint32_t task)
{
    if (ASX__UNLIKELY(d->levels > 1))
        return asx__vclock_get_far(d, clock, task);
    return asx__vclock_row(d, clock)[task];
}

static inline bool asx__vclock_has(const asx__dpor *d, asx__vclock clock,
                                  const asx__dpor_event *event)
{
    return asx__vclock_get(d, clock, event->task) >= event->ordinal;
}

/* A row of one's own; the same one, if there is no memory. */
static inline asx__vclock asx__vclock_own_row(asx__dpor *d, asx__vclock clock)
{
    if (clock >= d->own_from || (ASX__UNLIKELY(d->rows_len >= d->rows_cap) && !asx__vclock_grow(d)))
        return clock;
    asx__vclock own = d->rows_len;
    const uint32_t *from = asx__vclock_row(d, clock);
    uint32_t *to = asx__vclock_row(d, own);
    for (const uint32_t *end = from + d->stride; from != end;
         from += ASX__CLOCK_LANES, to += ASX__CLOCK_LANES)
        memcpy(to, from, ASX__CLOCK_LANES * sizeof *to);
    d->rows_len = own + d->stride;
    return own;
}

/* The clocks that there are may have several owners now: they are not changed any more. */
static inline void asx__vclock_share(asx__dpor *d)
{
    d->own_from = d->rows_len;
}

static inline asx__vclock asx__vclock_set(asx__dpor *d, asx__vclock clock, uint32_t task,
                                        uint32_t ordinal)
{
    if (ASX__UNLIKELY(d->levels > 1))
        return asx__vclock_set_far(d, clock, task, ordinal);
    clock = asx__vclock_own_row(d, clock);
    if (ASX__LIKELY(clock >= d->own_from))
        asx__vclock_row(d, clock)[task] = ordinal;
    return clock;
}

static inline void asx__vclock_max(uint32_t *restrict row, const uint32_t *restrict other,
                                  uint32_t stride)
{
    for (const uint32_t *end = row + stride; row != end;
         row += ASX__CLOCK_LANES, other += ASX__CLOCK_LANES)
        for (unsigned k = 0; k < ASX__CLOCK_LANES; k++)
            row[k] = row[k] > other[k] ? row[k] : other[k];
}

/* What is in one of them. */
static inline asx__vclock asx__vclock_join(asx__dpor *d, asx__vclock clock, asx__vclock other)
{
    if (ASX__UNLIKELY(d->levels > 1))
        return asx__vclock_join_far(d, clock, other);
    clock = asx__vclock_own_row(d, clock);
    if (ASX__LIKELY(clock >= d->own_from))
        asx__vclock_max(asx__vclock_row(d, clock), asx__vclock_row(d, other), d->stride);
    return clock;
}

#endif
