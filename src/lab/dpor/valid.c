/* valid.c - what holds of the engine's structures when an execution is over. Audit builds ask after
 * each. */
#include "lab/dpor/internal.h"

static bool is_earlier(uint32_t index, size_t than)
{
    return index == ASX__DPOR_NONE || index < than;
}

/* Events belong to tasks that have done so many; those of one task are numbered from 1. */
bool asx__events_are_valid(const asx__dpor *d)
{
    uint64_t done = 0;
    for (uint32_t t = 0; t < d->tasks_len; t++)
        if (d->tasks[t].present) /* what others have done was in an earlier execution */
            done += d->tasks[t].done;
    for (uint32_t i = 0; i < d->events_len; i++) {
        const asx__dpor_event *e = &d->events[i];
        if (e->task >= d->tasks_len || e->ordinal == 0 || e->ordinal > d->tasks[e->task].done ||
            e->kind >= ASX__OP_COUNT)
            return false;
        if (d->wide || e->object == ASX__DPOR_NONE)
            continue;
        if (e->object >= d->objects.len || !is_earlier(e->prev, i) ||
            !is_earlier(e->prev_write, i) ||
            (e->prev != ASX__DPOR_NONE && d->events[e->prev].object != e->object) ||
            (e->prev_write != ASX__DPOR_NONE && !d->events[e->prev_write].writes))
            return false;
    }
    return done == d->events_len;
}

/* The accesses of an event follow each other; those of an object are a list from the last one
 * back, in which the writes are a list of their own. */
bool asx__accesses_are_valid(const asx__dpor *d)
{
    for (uint32_t i = 0; i < d->events_len; i++) {
        const asx__wide_event *w = &d->wide_events[i];
        if ((size_t)w->accesses + w->len > d->accesses.len)
            return false;
        for (uint32_t a = w->accesses; a < w->accesses + w->len; a++)
            if (d->accesses.at[a].event != i)
                return false;
    }
    for (uint32_t a = 0; a < d->accesses.len; a++) {
        const asx__access *access = &d->accesses.at[a];
        if (access->object >= d->objects.len || !is_earlier(access->prev, a) ||
            !is_earlier(access->prev_write, a) || !is_earlier(access->prev_change, a) ||
            (access->prev != ASX__DPOR_NONE &&
             d->accesses.at[access->prev].object != access->object) ||
            (access->prev_write != ASX__DPOR_NONE && !d->accesses.at[access->prev_write].writes))
            return false;
    }
    return true;
}

/* Of the tasks that wait for a time the soonest is first: a heap. */
bool asx__timed_waiters_are_valid(const asx__dpor *d)
{
    for (size_t i = 1; i < d->sleeping.len; i++)
        if (d->sleeping.at[(i - 1) / 2].until > d->sleeping.at[i].until)
            return false;
    return true;
}

/* A list of branches: each is pointed to, and is part of no more lists than there are branches. */
static bool is_list_valid(const asx__dpor *d, const asx__branch *list)
{
    uint64_t len = 0;
    for (; list != NULL; list = list->next)
        if (list->refs == 0 || ++len > d->branches.count)
            return false;
    return true;
}

/* Each node has its part of the stack of sleepers behind that of the node before it. */
bool asx__nodes_are_valid(const asx__dpor *d)
{
    for (size_t i = 0; i < d->nodes.len; i++) {
        const asx__tree_node *n = &d->nodes.at[i];
        if (n->sleepers > d->sleepers.len || n->pasts > d->pasts.len ||
            (i != 0 && d->nodes.at[i - 1].sleepers > n->sleepers) ||
            !is_list_valid(d, n->rest) || !is_list_valid(d, n->done))
            return false;
    }
    return true;
}

bool asx__dpor_is_valid(const asx__dpor *d)
{
    return asx__events_are_valid(d) && asx__timed_waiters_are_valid(d) &&
           (!d->wide || (asx__accesses_are_valid(d) && asx__nodes_are_valid(d)));
}
