/* work.h - an operation at work: what it looks at and what it leaves, for op.c,
 * sync.c and memory.c. */
#ifndef ASX_LAB_DPOR_WORK_H
#define ASX_LAB_DPOR_WORK_H

#include "lab/dpor/internal.h"

typedef struct asx__work {
    const asx__op *op;
    asx__state_fn *state;
    void *ctx;
    asx__deed *deed;
    bool no_memory;
} asx__work;

static inline bool asx__work_room(asx__work *w)
{
    asx__deed *deed = w->deed;
    if (ASX__LIKELY(deed->len < deed->cap))
        return true;
    size_t cap = deed->cap * 2 + 16;
    asx__touch *larger = realloc(deed->touches, cap * sizeof *larger);
    if (larger == NULL) {
        w->no_memory = true;
        return false;
    }
    deed->touches = larger;
    deed->cap = cap;
    return true;
}

/* Looks at an object, which may have been looked at or written before. */
static inline uint64_t asx__work_reads(asx__work *w, uint64_t name)
{
    if (asx__work_room(w))
        w->deed->touches[w->deed->len++] = (asx__touch){ .name = name };
    return w->state(w->ctx, name, w->op);
}

/* What was read is written too, or what was not; if it was, it is among so many first ones. */
static inline void asx__work_writes_among(asx__work *w, uint64_t name, uint64_t after, size_t first)
{
    asx__deed *deed = w->deed;
    size_t i = 0;
    while (i < first && deed->touches[i].name != name)
        i++;
    if (i == first && !asx__work_room(w))
        return;
    if (i == first)
        i = deed->len++;
    deed->touches[i] = (asx__touch){ .name = name, .after = after, .writes = true };
}

static inline void asx__work_writes(asx__work *w, uint64_t name, uint64_t after)
{
    asx__work_writes_among(w, name, after, w->deed->len);
}

/* What was read as that one, of those touched, is written too. */
static inline void asx__work_writes_at(asx__work *w, size_t i, uint64_t after)
{
    if (ASX__UNLIKELY(w->no_memory))
        return;
    w->deed->touches[i].writes = true;
    w->deed->touches[i].after = after;
}

/* Adds to the state, which commutes with others who do the same. */
static inline void asx__work_adds(asx__work *w, uint64_t name, uint64_t change)
{
    if (asx__work_room(w))
        w->deed->touches[w->deed->len++] = (asx__touch){ .name = name, .change = change };
}

/* One of what there is room for so many of is gone. */
static inline void asx__work_gives_back(asx__work *w, uint64_t places)
{
    asx__work_writes(w, places, w->state(w->ctx, places, w->op) - 1);
}

/* Sets a flag: of a task, or of a region, where nothing can be started any more. Or it is a place
 * among the regions of one. If it was touched, it is among so many first ones. */
static inline void asx__work_cancels(asx__work *w, uint64_t flag, size_t first)
{
    bool region = ASX__NAME_TAG_OF(flag) == ASX__NAME_REGION;
    if (region && (flag & ASX__PART_REGIONS) != 0) {
        asx__work_gives_back(w, flag);
        return;
    }
    asx__work_writes_among(w, flag,
                           region ? w->state(w->ctx, flag, w->op) | ASX__REGION_CANCELLED : 1,
                           first);
}

/* Is the task refused: cancelled, or a region that it has opened has failed? */
static inline bool asx__work_is_refused(asx__work *w)
{
    const asx__op *op = w->op;
    return asx__work_reads(w, op->cx) != 0 ||
           (ASX__UNLIKELY(op->fails != 0) &&
            (asx__work_reads(w, op->cx + ASX__PART_FAILED) & op->fails) != 0);
}

/* Regions have failed, and the waits of the task that opened them end. */
static inline void asx__work_tells(asx__work *w)
{
    uint64_t failed = w->op->cx + ASX__PART_FAILED;
    asx__work_writes(w, failed, w->state(w->ctx, failed, w->op) | w->op->fails);
}

static inline void asx__work_finds(asx__work *w, asx__found found)
{
    w->deed->found = found;
    w->deed->short_cut = found != ASX__FOUND_DONE;
}

static inline uint64_t asx__work_part(const asx__work *w, uint64_t which)
{
    return w->op->name + which;
}

/* op.c: sets flags that are among the targets. */
void asx__op_sets(asx__work *w, uint32_t from, uint32_t to);
/* Is nothing started in a region any more, of which the part that says so is in that state? */
bool asx__op_is_stopped(asx__work *w, uint64_t state);
/* What an operation accesses and leaves: asx__run_<run>() of operations.h. */
#define ASX__OP_RUN_(name, text, object, run, traits) void asx__run_##run(asx__work *w);
ASX__OPERATION_LIST(ASX__OP_RUN_)
#undef ASX__OP_RUN_

#endif
