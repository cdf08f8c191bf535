/* lessee.h - in and out of the engine by a lease, inline.
 *
 * A worker that is alone holds the engine of a shared runtime under a lease, and what its tasks do
 * then is what the tasks of a one-worker runtime do. So the calls that tiny tasks consist of have a
 * short way for it, behind the gate: in by the lease, the few steps, out. Whatever it does not
 * cover has changed nothing, goes out, and takes the way of all others.
 *
 *     in     the thread's worker is of this runtime, is not inside, and its lease holds
 *     out    nothing was made runnable: a store
 *     wakes  something was: likewise, unless a sleeper has to be told
 *     stay   the rest is done by code of the engine, which finds its owner as ever
 *
 * Between in and out nothing may be called that calls out, waits, or asks who holds the engine.
 *
 * A thread-local is read here, so only functions that are never inlined may use this, and none may
 * do so after something that suspends the task.
 */
#ifndef ASX_SCHED_LESSEE_H
#define ASX_SCHED_LESSEE_H

#include "sched/engine.h"

/* NULL: enter as anybody else. `rt` may be NULL. */
static inline asx__worker *asx__lessee_in(const asx_runtime *rt)
{
    asx__worker *w = asx__this_thread.worker;
    if (ASX__UNLIKELY(w == NULL || w->rt != rt || asx__load_relaxed(&w->slot.inside) != 0 ||
                      !asx__lease_return(&w->rt->engine->lock, &w->slot)))
        return NULL;
    ASX__DEBUG_ASSERT(rt->engine->loaded == w);
    asx__store_relaxed(&w->outside.calls, asx__load_relaxed(&w->outside.calls) + 1);
    return w;
}

static inline void asx__lessee_out(asx__worker *w)
{
    asx__store_release(&w->slot.inside, 0u);
}

/* The same for the task of a context that carries the gate, if the worker runs it. */
static inline asx__worker *asx__lessee_of(const asx_cx *cx)
{
    if (ASX__UNLIKELY(cx == NULL || cx->rt_ == NULL || cx->task_ == NULL))
        return NULL;
    asx_runtime *rt = cx->rt_->behind;
    asx__worker *w = asx__lessee_in(rt);
    if (ASX__LIKELY(w != NULL && rt->current == cx->task_))
        return w;
    if (w != NULL)
        asx__lessee_out(w);
    return NULL;
}

/* Inside from now on, for code of the engine. */
static inline void asx__lessee_stay(asx__worker *w)
{
    asx__store_relaxed(&w->rt->engine->owner, w->self);
}

/* Out, after something was made runnable. A watch that looks in need not be told. */
static inline asx_status asx__lessee_wakes(asx__worker *w, asx_status st)
{
    if (ASX__UNLIKELY(!asx__engine_is_calm(w->rt->engine))) {
        asx__lessee_stay(w);
        return asx__engine_left(w->rt, st);
    }
    asx__lessee_out(w);
    return st;
}

/* Out to a user's function, from code of the engine. */
static inline void asx__engine_let_go(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    if (ASX__UNLIKELY(!e->lock.leased || !asx__engine_is_calm(e))) {
        (void)asx__engine_left(rt, ASX_OK);
        return;
    }
    asx__store_relaxed(&e->owner, NULL);
    asx__lessee_out(e->loaded);
}

/* A step of the engine that may switch to another fiber: does it, and leaves. */
typedef asx_status (*asx__inside_step)(void *a, void *b, void *c);
#ifdef ASX_FIBER_UCONTEXT
#define ASX__THEN_LEAVE_IN_C 1
#elif !defined(__x86_64__)
#define ASX__THEN_LEAVE_IN_C 1
#endif
#ifdef ASX__THEN_LEAVE_IN_C
static inline asx_status asx__then_leave(asx_runtime *rt, asx__inside_step step, void *a, void *b,
                                         void *c)
{
    return asx__engine_left(rt, step(a, b, c));
}
#else
asx_status asx__then_leave(asx_runtime *rt, asx__inside_step step, void *a, void *b, void *c);
#endif

#endif
