/* What the table of conflicts says of regions, their closes and finalizers, of races, time-outs
 * and links; see support_reference.h.
 *
 * What happens in a finalizer is done here by who waits for it: nobody else of the region is left,
 * and its owner does nothing meanwhile. */
#include "support_model.h"

/* Of a region, kept with the first task in it. */
enum { SHUT = 1, FROM_OUTSIDE = 2, TOO_LATE = 4, BY_OWNER = 8 };

enum { NO_DEADLINE = 7 };

static void cancel(state *s, int number, int deadline, event *e);

static void reach(state *s, int inner, int why, int deadline, event *e)
{
    for (int i = 0; i < s->task[inner].beside + 1; i++) {
        s->task[inner + i].closed |= (uint8_t)why;
        cancel(s, inner + i, deadline, e);
    }
}

/* By nobody's deadline, or by that of the region which this task has opened. */
static void cancel(state *s, int number, int deadline, event *e)
{
    int inner = s->task[number].scope;
    s->task[number].flag = 1;
    ref_access(e, REF_FLAGS + number, true);
    if (inner == 0 || (s->task[inner].closed & SHUT) != 0 ||
        (s->task[inner].spared & 1 << deadline) != 0)
        return;
    ref_access(e, REF_SCOPES + inner, true);
    reach(s, inner, FROM_OUTSIDE, deadline, e);
}

void ref_cancel(state *s, int number, event *e)
{
    cancel(s, number, NO_DEADLINE, e);
}

/* Who has opened the region in which it lives; -1: that is the first of all. */
static int owner_around(const state *s, int number)
{
    for (int i = 0; i < REF_TASKS; i++) {
        int inner = s->task[i].scope;
        if (inner != 0 && number >= inner && number <= inner + s->task[inner].beside)
            return i;
    }
    return -1;
}

/* Opened by a cancelled task it is cancelled, and nobody is started there. */
static void open_scope(state *s, task *t, int number, ref_step step, event *e)
{
    int branches = step.op == REF_RACE ? 2 : 1;
    ref_access(e, REF_FLAGS + number, false);
    t->scope = step.arg;
    for (int i = 0; i < branches; i++) {
        task *inner = &s->task[step.arg + i];
        inner->phase = t->flag != 0 ? ENDED : ALIVE;
        inner->came = s->now;
        inner->closed = t->flag != 0 ? FROM_OUTSIDE : 0;
    }
    s->task[step.arg].beside = (uint8_t)(branches - 1);
    s->task[step.arg].spared = 0;
    for (int i = owner_around(s, number); i >= 0; i = owner_around(s, i))
        if (s->task[i].due != 0 && (s->task[s->task[i].scope].closed & ~SHUT) != 0)
            s->task[step.arg].spared |= (uint8_t)(1 << i);
    t->due = step.op == REF_TIMEOUT ? (uint8_t)(s->now + 1 + step.arg % 2) : 0;
}

/* It tells how it was; waits for all who are in it. */
static bool close_scope(state *s, task *t, ref_step step, event *e)
{
    task *inner = &s->task[step.arg];
    if (inner->phase != ENDED)
        return false;
    ref_access(e, REF_SCOPES + step.arg, true);
    e->label = inner->closed & TOO_LATE       ? FAILED
               : inner->closed & FROM_OUTSIDE ? TOLD
               : inner->closed & BY_OWNER     ? FAILED
                                              : DONE;
    inner->closed |= SHUT;
    t->scope = t->part = t->due = 0;
    return true;
}

static bool do_fail(state *s, task *t, ref_step step, event *e)
{
    ref_access(e, REF_SCOPES + step.arg, true);
    reach(s, step.arg, BY_OWNER, NO_DEADLINE, e);
    t->part++;
    return true;
}

/* Then it is closed, and no cancel reaches it any more. */
static bool do_finalizer(state *s, task *t, ref_step step, event *e)
{
    if (s->task[step.arg].phase != ENDED)
        return false;
    if (t->part == 1) {
        ref_access(e, REF_CELLS, true);
        ref_see(t, s->cell[0]++);
    } else {
        ref_access(e, REF_SCOPES + step.arg, true);
        s->task[step.arg].closed |= SHUT;
    }
    t->part++;
    return true;
}

/* Parts of a race, behind the two regions that it opens. */
enum { FIRST_OF = 3, LOSE, DRAIN, CLOSE_INNER, CLOSE_OUTER, OVER };

static bool both_ended(const state *s, ref_step step)
{
    return s->task[step.arg].phase == ENDED && s->task[step.arg + 1].phase == ENDED;
}

static bool first_of(state *s, task *t, int number, ref_step step, event *e)
{
    bool some = false, all = true;
    for (int i = 0; i < 2; i++) {
        ref_access(e, REF_FINS + step.arg + i, false);
        some |= s->task[step.arg + i].phase == ENDED;
        all &= s->task[step.arg + i].phase == ENDED;
    }
    t->part = all ? DRAIN : LOSE;
    if (some) {
        int winner = step.arg + (s->task[step.arg].phase != ENDED);
        t->ticket = s->task[winner].told;
        return true;
    }
    ref_access(e, REF_FLAGS + number, false);
    e->label = TOLD;
    t->ticket = 1;
    t->part = CLOSE_INNER;
    return t->flag != 0;
}

static bool do_race(state *s, task *t, int number, ref_step step, event *e)
{
    switch (t->part) {
    case 0:
        break;
    case 1: /* the outer one */
        ref_access(e, REF_FLAGS + number, false);
        break;
    case 2:
        open_scope(s, t, number, step, e);
        t->part = t->flag != 0 ? CLOSE_INNER : FIRST_OF;
        t->ticket = t->flag;
        return true;
    case FIRST_OF:
        return first_of(s, t, number, step, e);
    case LOSE:
        reach(s, step.arg, BY_OWNER, NO_DEADLINE, e);
        break;
    case CLOSE_INNER: /* with a failure, so this and the next are cancels */
        reach(s, step.arg, BY_OWNER, NO_DEADLINE, e);
        ref_access(e, REF_SCOPES + step.arg, true);
        t->part = CLOSE_OUTER;
        return true;
    case CLOSE_OUTER:
        ref_access(e, REF_SCOPES + step.arg, true);
        t->told = 1;
        t->part = OVER;
        return both_ended(s, step);
    case DRAIN: /* that the winner was cancelled is the answer, and may be so of the caller */
        if (t->ticket == 0 || !both_ended(s, step))
            return false;
        ref_access(e, REF_FLAGS + number, false);
        t->told |= t->flag;
        e->label = t->flag != 0 ? TOLD : DONE;
        t->part = OVER;
        return true;
    default: /* waits until they have ended */
        return false;
    }
    t->part++;
    return true;
}

bool ref_race_is_over(const state *s, const task *t, ref_step step)
{
    return step.op == REF_RACE && both_ended(s, step) &&
           (t->part == OVER || (t->part == DRAIN && t->ticket == 0));
}

bool ref_race_has_told(const task *t)
{
    return t->ticket != 0;
}

bool ref_waits_for_first(const task *t, int op)
{
    return op == REF_RACE && t->part == FIRST_OF;
}

static bool do_link(state *s, ref_step step, event *e)
{
    int a = step.arg & 7, b = step.arg >> 3;
    ref_access(e, REF_FINS + a, false);
    ref_access(e, REF_FINS + b, false);
    ref_access(e, REF_LINKS + (a < b ? a * REF_TASKS + b : b * REF_TASKS + a), true);
    if (s->task[a].phase != ENDED && s->task[b].phase != ENDED) {
        s->task[a].links |= (uint8_t)(1 << b);
        s->task[b].links |= (uint8_t)(1 << a);
    }
    int ended = s->task[a].phase == ENDED ? a : b;
    if (s->task[ended].phase == ENDED && s->task[ended].failed)
        ref_cancel(s, a + b - ended, e);
    return true;
}

void ref_end(const walk *w, state *s, int number, event *e)
{
    task *t = &s->task[number];
    ref_access(e, REF_FINS + number, true);
    t->phase = ENDED;
    for (int i = 0; i < w->p->started && t->failed; i++)
        if ((t->links & 1 << i) != 0)
            ref_cancel(s, i, e);
}

bool ref_passes(const walk *w, state *s, int number, event *e)
{
    task *t = &s->task[number], *inner = &s->task[t->scope];
    if (t->due == 0 || (inner->closed & (SHUT | TOO_LATE)) != 0)
        return false;
    if (w->p->adversarial) {
        ref_access(e, REF_SCOPES + t->scope, true);
    } else if (s->now < t->due) {
        return false;
    }
    reach(s, t->scope, TOO_LATE, number, e);
    return true;
}

bool ref_operate_scope(state *s, int number, ref_step step, event *e)
{
    task *t = &s->task[number];
    if (step.op == REF_LINK)
        return do_link(s, step, e);
    if (step.op == REF_FAIL) {
        t->failed = 1;
        e->label = TOLD;
        return true;
    }
    if (step.op == REF_RACE)
        return do_race(s, t, number, step, e);
    int opens = step.op == REF_TIMEOUT;
    if (t->part < opens) {
        t->part++;
        return true;
    }
    if (t->part == opens) {
        open_scope(s, t, number, step, e);
        t->ticket = t->flag; /* then it takes neither tasks nor finalizers */
        t->part++;
        return true;
    }
    if (step.op == REF_SCOPE_FAIL && t->part == 1)
        return do_fail(s, t, step, e);
    if (step.op == REF_TIMEOUT && t->part == 2 && t->ticket != 0) /* its task was refused */
        return do_fail(s, t, step, e);
    if (step.op == REF_SCOPE_DEFER && t->part <= 2 && t->ticket == 0)
        return do_finalizer(s, t, step, e);
    return close_scope(s, t, step, e);
}
