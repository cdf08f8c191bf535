/* obligation.h - reserving and resolving, inline: a send permit costs one of each. */
#ifndef ASX_SCHED_OBLIGATION_H
#define ASX_SCHED_OBLIGATION_H

#include "sched/sched.h"

/* Not NULL unless memory or the ceiling is exhausted. */
asx__obligation *asx__obligation_new_slow(asx_runtime *rt, asx__task *task, void *object,
                                          asx_obligation_kind kind, const char *site);
void asx__obligation_trace(asx_runtime *rt, uint32_t event, asx__obligation *obligation);
/* Why is this id not a live obligation? ALREADY_RESOLVED if it was given out once, else STALE. */
asx_status asx__obligation_missing(const asx_runtime *rt, uint64_t id);

static inline asx__obligation *asx__obligation_slot(const asx_runtime *rt, uint64_t id)
{
    return &rt->registry.slots[id & rt->registry.mask];
}

/* NULL: not reserved (see asx__obligation_missing()). */
static inline asx__obligation *asx__obligation_find(const asx_runtime *rt, uint64_t id)
{
    asx__obligation *o = asx__obligation_slot(rt, id);
    return ASX__LIKELY(o->id == id && id != 0) ? o : NULL;
}

/* A new obligation that `task` holds. */
static inline asx__obligation *asx__obligation_new(asx_runtime *rt, asx__task *task, void *object,
                                                   asx_obligation_kind kind, const char *site)
{
    asx__extra *extra = task->extra;
    uint64_t id = rt->registry.last_id + 1;
    asx__obligation *o = asx__obligation_slot(rt, id);
    if (ASX__UNLIKELY(extra == NULL || o->id != 0 || rt->registry.max != 0 || rt->tracing))
        return asx__obligation_new_slow(rt, task, object, kind, site);
    rt->registry.last_id = id;
    uint64_t older = extra->obligations;
    o->id = id;
    o->owner = task;
    o->object = object;
    o->site = site;
    o->older = older;
    o->newer = 0;
    o->kind = (uint8_t)kind;
    o->state = ASX_OBLIGATION_RESERVED;
    extra->obligations = id;
    if (ASX__UNLIKELY(older != 0))
        asx__obligation_slot(rt, older)->newer = id;
    return o;
}

/* Takes a reserved obligation of a task out of the registry: it is resolved as `to`. */
static inline void asx__obligation_resolve(asx_runtime *rt, asx__obligation *o,
                                           asx_obligation_state to)
{
    asx__extra *extra = ((asx__task *)o->owner)->extra;
    if (ASX__UNLIKELY(rt->tracing))
        asx__obligation_trace(rt,
                              to == ASX_OBLIGATION_COMMITTED ? ASX_EVENT_OBLIGATION_COMMIT
                                                             : ASX_EVENT_OBLIGATION_ABORT,
                              o);
    if (ASX__LIKELY(o->newer == 0))
        extra->obligations = o->older;
    else
        asx__obligation_slot(rt, o->newer)->older = o->older;
    if (ASX__UNLIKELY(o->older != 0))
        asx__obligation_slot(rt, o->older)->newer = o->newer;
    o->id = 0;
}

#endif
