/* ghost.c - what the program says of its objects: borrows, owners, and oracles of its own. Whether
 * something is wrong may depend on who came first, so in an exploration each of these calls is an
 * operation: one that asks commutes with others that ask, and with nothing else about it. */
#include "lab/explore/explore.h"

#include <stdlib.h>

/* The oracles of the context's run and its task's serial; NULL: not a laboratory. */
static asx__oracles *listeners(const asx_cx *cx, uint64_t *ret_task)
{
    asx__oracles *o = cx->rt_ != NULL ? asx__oracles_of(cx->rt_) : NULL;
    if (o != NULL && cx->task_ != NULL)
        *ret_task = asx__serial(cx->task_->generation);
    return cx->task_ != NULL ? o : NULL;
}

asx_status asx_lab_race_free(asx_cx *cx)
{
    uint64_t task;
    if (cx == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__oracles *o = listeners(cx, &task);
    if (o == NULL)
        return ASX_OK;
    if (!asx__races_begin(o, task))
        return ASX_E_RESOURCE_EXHAUSTED;
    o->races_strict = true;
    return ASX_OK;
}

asx_status asx_lab_oracle(asx_cx *cx, asx_oracle_fn fn, void *ctx)
{
    uint64_t task;
    if (cx == NULL || fn == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__oracles *o = listeners(cx, &task);
    if (o == NULL)
        return ASX_OK;
    if (o->watches_len == ASX__WATCHES_MAX)
        return ASX_E_RESOURCE_EXHAUSTED;
    o->watches[o->watches_len].fn = fn;
    o->watches[o->watches_len++].ctx = ctx;
    o->others = true;
    return ASX_OK;
}

/* NULL: the ledger is full. */
static asx__ghost *ghost_of(asx__oracles *o, const void *object)
{
    for (size_t i = 0; i < o->ghosts_len; i++)
        if (o->ghosts[i].object == object)
            return &o->ghosts[i];
    if (o->ghosts == NULL)
        o->ghosts = malloc(ASX__GHOSTS_MAX * sizeof *o->ghosts);
    if (o->ghosts == NULL || o->ghosts_len == ASX__GHOSTS_MAX)
        return NULL;
    o->ghosts[o->ghosts_len] = (asx__ghost){ .object = object };
    return &o->ghosts[o->ghosts_len++];
}

/* False: nothing to do, and *ret_status says why. */
static bool enter(asx_cx *cx, const void *object, asx__ghost_deed deed,
                  asx__oracles **ret_oracles, asx__ghost **ret_ghost, uint64_t *ret_task,
                  asx_status *ret_status)
{
    *ret_status = cx == NULL || object == NULL ? ASX_E_INVALID_ARGUMENT : ASX_OK;
    *ret_oracles = *ret_status == ASX_OK ? listeners(cx, ret_task) : NULL;
    if (*ret_oracles == NULL)
        return false;
    asx__explorer_ghost(cx, object, deed);
    *ret_ghost = ghost_of(*ret_oracles, object);
    if (*ret_ghost == NULL)
        *ret_status = ASX_E_RESOURCE_EXHAUSTED;
    return *ret_ghost != NULL;
}

typedef unsigned long long ull;

static void must_own(asx__oracles *o, const asx__ghost *g, uint64_t task)
{
    if (g->owner != 0 && g->owner != task)
        asx__oracles_complain(o, ASX_ORACLE_AFFINITY,
                              "task %llu touches an object of task %llu, which was not handed over",
                              (ull)task, (ull)g->owner);
}

asx_status asx_ghost_borrow(asx_cx *cx, const void *object, asx_ghost_borrow_kind kind)
{
    asx__oracles *o;
    asx__ghost *g;
    uint64_t task = 0;
    asx_status st;
    if ((unsigned)kind > ASX_GHOST_OBLIGATION)
        return ASX_E_INVALID_ARGUMENT;
    if (!enter(cx, object, ASX__GHOST_BORROW, &o, &g, &task, &st))
        return st;
    must_own(o, g, task);
    bool alone = kind == ASX_GHOST_EXCLUSIVE;
    if (g->exclusive || (alone && g->shared != 0))
        asx__oracles_complain(o, ASX_ORACLE_BORROW,
                              "task %llu borrows %s what task %llu has borrowed", (ull)task,
                              alone ? "for itself alone" : "", (ull)g->borrower);
    g->exclusive = g->exclusive || alone;
    g->shared += !alone;
    g->borrower = task;
    if (kind == ASX_GHOST_OBLIGATION)
        g->sleepless = task;
    return ASX_OK;
}

asx_status asx_ghost_return(asx_cx *cx, const void *object)
{
    asx__oracles *o;
    asx__ghost *g;
    uint64_t task = 0;
    asx_status st;
    if (!enter(cx, object, ASX__GHOST_RETURN, &o, &g, &task, &st))
        return st;
    if (!g->exclusive && g->shared == 0)
        return ASX_E_NOT_OWNER;
    if (g->exclusive)
        g->exclusive = false;
    else
        g->shared--;
    if (g->sleepless == task)
        g->sleepless = 0;
    return ASX_OK;
}

asx_status asx_ghost_touch(asx_cx *cx, const void *object, bool writes)
{
    asx__oracles *o;
    asx__ghost *g;
    uint64_t task = 0;
    asx_status st;
    if (!enter(cx, object, ASX__GHOST_TOUCH, &o, &g, &task, &st))
        return st;
    must_own(o, g, task);
    if ((writes && g->shared != 0) || (g->exclusive && g->borrower != task))
        asx__oracles_complain(o, ASX_ORACLE_BORROW, "task %llu %s what task %llu has borrowed",
                              (ull)task, writes ? "writes" : "reads", (ull)g->borrower);
    return ASX_OK;
}

asx_status asx_ghost_adopt(asx_cx *cx, const void *object)
{
    asx__oracles *o;
    asx__ghost *g;
    uint64_t task = 0;
    asx_status st;
    if (!enter(cx, object, ASX__GHOST_ADOPT, &o, &g, &task, &st))
        return st;
    must_own(o, g, task);
    g->owner = task;
    return ASX_OK;
}

asx_status asx_ghost_transfer(asx_cx *cx, const void *object, const asx_task *to)
{
    asx__oracles *o;
    asx__ghost *g;
    uint64_t task = 0;
    asx_status st;
    if (to == NULL || to->task_ == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (!enter(cx, object, ASX__GHOST_TRANSFER, &o, &g, &task, &st))
        return st;
    if (g->owner != task)
        return ASX_E_NOT_OWNER;
    g->owner = asx__serial(to->id.generation);
    return ASX_OK;
}

void asx__ghosts_waits(asx__oracles *o, uint64_t task)
{
    for (size_t i = 0; i < o->ghosts_len; i++)
        if (o->ghosts[i].sleepless == task)
            asx__oracles_complain(o, ASX_ORACLE_BORROW,
                                  "task %llu waits and has borrowed the memory of an obligation",
                                  (ull)task);
}
