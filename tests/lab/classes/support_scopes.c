/* What the table of conflicts says of regions, their closes and finalizers, of races, time-outs
 * and links; see support_reference.h.
 *
 * What happens in a finalizer is done here by who waits for it: nobody else of the region is left,
 * and its owner does nothing meanwhile. */
#include "support_model.h"

/* Of a region, kept with the first task in it. */
enum { SHUT = 1, FROM_OUTSIDE = 2, TOO_LATE = 4, BY_OWNER = 8 };

/* Opened under a mask, which lasts; it has ended; there is another. */
enum { NO_SHIELD, SHIELDED, SHIELD_DOWN, SHIELD_UP };

enum { PLEDGED = 1, SETTLED, REFUSED_THERE }; /* in the region inside of it */

enum { NO_DEADLINE = 7 };

static void cancel(state *s, int number, int deadline, event *e);

static bool is_shielded(const task *first)
{
    return first->shield == SHIELDED || first->shield == SHIELD_UP;
}

/* Was the region with this deadline cancelled before that came? Then it comes past no shield. */
static bool is_told(const state *s, int deadline)
{
    return deadline != NO_DEADLINE &&
           (s->task[s->task[deadline].scope].closed & ~(SHUT | TOO_LATE)) != 0;
}

static void reach(state *s, int inner, int why, int deadline, event *e)
{
    if (s->task[inner].pledge != 0 && s->task[inner].gone == 0)
        ref_access(e, REF_SCOPES + inner + 1, true);
    for (int i = 0; i < s->task[inner].beside + 1; i++) {
        s->task[inner + i].closed |= (uint8_t)why;
        cancel(s, inner + i, deadline, e);
    }
}

/* Into what it has opened. */
static void enter(state *s, int inner, int deadline, event *e)
{
    if (inner == 0 || is_shielded(&s->task[inner]) || (s->task[inner].closed & SHUT) != 0 ||
        (s->task[inner].spared & 1 << deadline) != 0)
        return;
    if (is_told(s, deadline) && s->task[inner].shield != NO_SHIELD)
        return;
    ref_access(e, REF_SCOPES + inner, true);
    reach(s, inner, FROM_OUTSIDE, deadline, e);
}

/* By nobody's deadline, or by that of the region which this task has opened. */
static void cancel(state *s, int number, int deadline, event *e)
{
    int bare = s->task[number].bare;
    s->task[number].flag = 1;
    ref_access(e, REF_FLAGS + number, true);
    if (bare != 0 && !is_told(s, deadline))
        ref_access(e, REF_SHIELDS + bare, false); /* also when the region is closed */
    enter(s, s->task[number].raced, deadline, e);
    enter(s, s->task[number].scope, deadline, e);
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

/* Deadlines around this region, up to the next shield, of what was cancelled before. */
static void spare(state *s, int first, int owner)
{
    const task *region = &s->task[first];
    for (int i = owner_around(s, owner); i >= 0 && region->shield == NO_SHIELD;
         i = owner_around(s, i)) {
        region = &s->task[s->task[i].scope];
        if (s->task[i].due != 0 && is_told(s, i))
            s->task[first].spared |= (uint8_t)(1 << i);
    }
}

/* How many are started there at once. */
static int members(int op)
{
    return op == REF_RACE || op == REF_JOIN_ALL ? 2 : 1;
}

/* Opened by a cancelled task it is cancelled, and nobody is started there; but not under a mask. */
static void open_scope(state *s, task *t, int number, ref_step step, bool masked, event *e)
{
    int branches = members(step.op);
    bool told = !masked && t->flag != 0;
    bool later = step.op >= REF_LIMIT && step.op <= REF_PLEDGE; /* they are started one by one */
    task *first = &s->task[step.arg];
    if (!masked)
        ref_access(e, REF_FLAGS + number, false);
    if (!masked)
        t->raced = 0;
    else if (t->scope != 0 && !is_shielded(&s->task[t->scope]))
        t->raced = t->scope;
    t->scope = step.arg;
    t->ticket = told;
    for (int i = 0; i < branches; i++) {
        task *inner = &first[i];
        inner->phase = told ? ENDED : later ? BEFORE : ALIVE;
        inner->came = s->now;
        inner->closed = told ? FROM_OUTSIDE : 0;
    }
    first->beside = (uint8_t)(branches - 1);
    first->shield = masked ? SHIELDED : NO_SHIELD;
    first->spared = 0;
    spare(s, step.arg, number);
    t->due = step.op == REF_TIMEOUT ? (uint8_t)(s->now + 1 + step.arg % 2) : 0;
}

static bool all_ended(const state *s, int inner)
{
    for (int i = 0; i < s->task[inner].beside + 1; i++)
        if (s->task[inner + i].phase == ALIVE || s->task[inner + i].phase == LEAVING)
            return false;
    return true;
}

/* It tells how it was; waits for all who are in it. */
static bool close_scope(state *s, task *t, ref_step step, event *e)
{
    task *inner = &s->task[step.arg];
    if (!all_ended(s, step.arg))
        return false;
    ref_access(e, REF_SCOPES + step.arg, true);
    e->label = inner->closed & TOO_LATE       ? FAILED
               : inner->closed & FROM_OUTSIDE ? TOLD
               : inner->closed & BY_OWNER     ? FAILED
                                              : DONE;
    inner->closed |= SHUT;
    inner->spared = 0;
    t->scope = t->part = t->due = 0;
    return true;
}

static void do_fail(state *s, ref_step step, event *e)
{
    ref_access(e, REF_SCOPES + step.arg, true);
    reach(s, step.arg, BY_OWNER, NO_DEADLINE, e);
}

/* Then it is closed, and no cancel reaches it any more. */
static bool end_finalizers(state *s, ref_step step, event *e)
{
    ref_access(e, REF_SCOPES + step.arg, true);
    s->task[step.arg].closed |= SHUT;
    return all_ended(s, step.arg);
}

/* Whether somebody can be started there now. */
static bool admits(const state *s, int inner, event *e)
{
    ref_access(e, REF_STOPS + inner, false);
    if (s->task[inner].stopped != 0)
        return false;
    ref_access(e, REF_SCOPES + inner, false);
    return s->task[inner].closed == 0;
}

static void start(state *s, int inner, int number)
{
    s->task[number].phase = ALIVE;
    s->task[number].came = s->now;
    s->task[inner].beside = (uint8_t)(number - inner);
}

/* By its owner, of the first or the second; there may be room for one only. False: waits. */
static bool start_next(state *s, task *t, int number, ref_step step, int nth, event *e)
{
    task *inner = &s->task[step.arg];
    if (!admits(s, step.arg, e)) {
        e->label = FAILED;
        return true;
    }
    if (step.op == REF_PLEDGE || inner->places == 0) {
        if (step.op != REF_PLEDGE) {
            ref_access(e, REF_PLACES + step.arg, true);
            inner->places = 1;
            inner[nth].limited = step.arg;
        }
        start(s, step.arg, step.arg + nth);
        return true;
    }
    ref_access(e, REF_PLACES + step.arg, false);
    e->label = FAILED;
    if (step.op == REF_LIMIT)
        return true;
    if (t->masked == 0)
        ref_access(e, REF_FLAGS + number, false);
    t->told |= t->flag;
    return t->masked == 0 && t->flag != 0;
}

/* A region inside, and a promise there. */
static void open_inside(state *s, const task *t, int number, ref_step step, event *e)
{
    task *inner = &s->task[step.arg];
    if (t->masked == 0)
        ref_access(e, REF_FLAGS + number, false);
    inner->pledge = t->masked != 0 || t->flag == 0 ? PLEDGED : REFUSED_THERE;
    inner->gone = 0;
}

static void close_inside(state *s, ref_step step, event *e)
{
    ref_access(e, REF_SCOPES + step.arg + 1, true);
    ref_access(e, REF_GONE + step.arg, true);
    s->task[step.arg].gone = 1;
}

/* The mask ends, or the next one begins. What has come meanwhile comes in. */
static void move_shield(state *s, task *t, int number, ref_step step, bool ends, event *e)
{
    ref_access(e, REF_FLAGS + number, false);
    ref_access(e, REF_SHIELDS + step.arg, true);
    s->task[step.arg].shield = ends ? SHIELD_DOWN : SHIELD_UP;
    t->bare = step.arg;
    if (!ends || t->flag == 0)
        return;
    ref_access(e, REF_SCOPES + step.arg, true);
    reach(s, step.arg, FROM_OUTSIDE, NO_DEADLINE, e);
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
    if (t->masked != 0)
        return false;
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
        if (t->masked == 0)
            ref_access(e, REF_FLAGS + number, false);
        break;
    case 2:
        open_scope(s, t, number, step, t->masked != 0, e);
        t->part = t->ticket != 0 ? CLOSE_INNER : FIRST_OF;
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
        e->label = t->flag != 0 && t->masked == 0 ? TOLD : DONE;
        t->told |= e->label == TOLD;
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
    if (t->limited != 0) {
        ref_access(e, REF_PLACES + t->limited, true);
        s->task[t->limited].places = 0;
    }
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

/* ---- what a region goes through, step by step ----------------------------------------------- */

typedef enum stage {
    OVER_NOW,
    CHECK, /* a point, before anything else */
    OPEN,
    OPEN_MASKED,
    OPEN_INSIDE,
    CLOSE_INSIDE,
    FIRST,
    SECOND,
    DOWN,
    UP,
    STOP,
    FAIL,    /* it is closed with a failure */
    REFUSED, /* likewise, if its tasks were */
    FINALIZE,
    FINALIZED,
    CLOSE
} stage;

static const uint8_t stages[][10] = {
    [REF_SCOPE_FAIL - REF_SCOPE_FAIL] = { OPEN, STOP, FAIL, CLOSE },
    [REF_SCOPE_DEFER - REF_SCOPE_FAIL] = { OPEN, STOP, FINALIZE, FINALIZED, CLOSE },
    [REF_TIMEOUT - REF_SCOPE_FAIL] = { CHECK, OPEN, REFUSED, CLOSE },
    [REF_JOIN_ALL - REF_SCOPE_FAIL] = { CHECK, OPEN, REFUSED, FINALIZED, CLOSE },
    [REF_LIMIT - REF_SCOPE_FAIL] = { OPEN, FIRST, SECOND, STOP, CLOSE },
    [REF_LIMIT_WAIT - REF_SCOPE_FAIL] = { OPEN, FIRST, SECOND, STOP, CLOSE },
    [REF_PLEDGE - REF_SCOPE_FAIL] = { OPEN, OPEN_INSIDE, FIRST, SECOND, CLOSE_INSIDE, STOP, CLOSE },
    [REF_BARE - REF_SCOPE_FAIL] = { OPEN_MASKED, DOWN, STOP, CLOSE },
    [REF_BARE_AGAIN - REF_SCOPE_FAIL] = { OPEN_MASKED, DOWN, UP, STOP, CLOSE },
    [REF_BARE_TWICE - REF_SCOPE_FAIL] = { OPEN_MASKED, DOWN, UP, DOWN, STOP, CLOSE },
};

static const uint8_t plain[] = { OPEN, STOP, CLOSE };

bool ref_is_scope(int op)
{
    return op == REF_SCOPE || (op >= REF_SCOPE_FAIL && op <= REF_BARE_TWICE);
}

static stage stage_of(const task *t, ref_step step)
{
    return (stage)(step.op == REF_SCOPE ? plain : stages[step.op - REF_SCOPE_FAIL])[t->part];
}

static bool is_passed_over(const walk *w, const task *t, stage now)
{
    switch (now) {
    case STOP:
        return !w->late;
    case REFUSED:
        return t->ticket == 0;
    case FINALIZE:
    case FINALIZED:
        return t->ticket != 0; /* then it takes no finalizers */
    default:
        return false;
    }
}

/* False: not now. */
static bool do_stage(state *s, task *t, int number, ref_step step, stage now, event *e)
{
    switch (now) {
    case OPEN:
    case OPEN_MASKED:
        open_scope(s, t, number, step, now == OPEN_MASKED || t->masked != 0, e);
        return true;
    case OPEN_INSIDE:
        open_inside(s, t, number, step, e);
        return true;
    case CLOSE_INSIDE:
        close_inside(s, step, e);
        return true;
    case FIRST:
    case SECOND:
        return start_next(s, t, number, step, now == SECOND, e);
    case DOWN:
    case UP:
        move_shield(s, t, number, step, now == DOWN, e);
        return true;
    case STOP:
        ref_access(e, REF_STOPS + step.arg, true);
        s->task[step.arg].stopped = 1;
        return true;
    case FAIL:
    case REFUSED:
        do_fail(s, step, e);
        return true;
    case FINALIZE:
        ref_access(e, REF_CELLS, true);
        ref_see(t, s->cell[0]++);
        return all_ended(s, step.arg);
    case FINALIZED:
        return end_finalizers(s, step, e);
    case CLOSE:
        return close_scope(s, t, step, e);
    default:
        return true;
    }
}

/* By somebody who runs in the region already. */
static bool start_beside(state *s, ref_step step, event *e)
{
    if (admits(s, step.arg - 1, e))
        start(s, step.arg - 1, step.arg);
    else
        e->label = FAILED;
    return true;
}

static bool do_settle(state *s, ref_step step, event *e)
{
    task *inner = &s->task[step.arg];
    ref_access(e, REF_GONE + step.arg, false);
    if (inner->gone == 0) {
        ref_access(e, REF_PLEDGES + step.arg, inner->pledge != SETTLED);
        e->label = inner->pledge == SETTLED ? FAILED : DONE;
        inner->pledge = SETTLED;
    } else {
        e->label = FAILED;
    }
    return true;
}

bool ref_operate_scope(const walk *w, state *s, int number, ref_step step, event *e)
{
    task *t = &s->task[number];
    switch (step.op) {
    case REF_LINK:
        return do_link(s, step, e);
    case REF_FAIL:
        t->failed = 1;
        e->label = TOLD;
        return true;
    case REF_RACE:
        return do_race(s, t, number, step, e);
    case REF_BESIDE:
        return start_beside(s, step, e);
    case REF_SETTLE:
        return do_settle(s, step, e);
    default:
        break;
    }
    stage now = stage_of(t, step);
    if (!do_stage(s, t, number, step, now, e))
        return false;
    if (now == CLOSE)
        return true;
    do
        t->part++;
    while (is_passed_over(w, t, stage_of(t, step)));
    return true;
}
