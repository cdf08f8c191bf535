/* What the table of conflicts says of conditions, notifies, barriers, onces, oneshots, watches and
 * broadcasts; see support_reference.h. */
#include "support_model.h"

/* ---- those that have a line ----------------------------------------------------------------- */

enum { CONDITION, NOTIFY, BARRIER };

static int line_of(int op)
{
    return op <= REF_COND_BROADCAST ? CONDITION : op <= REF_NOTIFY_ALL ? NOTIFY : BARRIER;
}

static int line_object(int which)
{
    return REF_LINES + which * REF_LINE_SIZE;
}

/* Who has left is passed over, and that is seen. Returns how many were served. */
static int serve(state *s, int which, int most, event *e)
{
    line *l = &s->line[which];
    int served = 0, object = line_object(which);
    for (int i = 0; i < l->came && served < most; i++) {
        if (l->ticket[i] == WAITS) {
            l->ticket[i] = SERVED;
            served++;
            ref_access(e, object + 1 + i, true);
        } else if (l->ticket[i] == LEFT) {
            ref_access(e, object + 1 + i, false);
        }
    }
    return served;
}

static bool do_signal(state *s, ref_step step, event *e)
{
    int which = line_of(step.op);
    bool one = step.op == REF_COND_SIGNAL || step.op == REF_NOTIFY_ONE;
    int served = serve(s, which, one ? 1 : REF_TICKETS, e);
    bool stores = served == 0 && step.op == REF_NOTIFY_ONE && s->line[which].stored == 0;
    if (stores)
        s->line[which].stored = 1;
    ref_access(e, line_object(which), served != 0 || stores);
    return true;
}

/* The last one lets all go on. Who would be the last, had nobody left, looks at all of them. */
static bool meet(state *s, int parties, event *e)
{
    line *l = &s->line[BARRIER];
    int waiting = 0;
    for (int i = l->stored; i < l->came; i++) {
        waiting += l->ticket[i] == WAITS;
        if (l->came - l->stored + 1 >= parties)
            ref_access(e, line_object(BARRIER) + 1 + i, false);
    }
    if (waiting + 1 < parties)
        return false;
    (void)serve(s, BARRIER, REF_TICKETS, e);
    l->stored = l->came;
    return true;
}

static bool come(const walk *w, state *s, task *t, ref_step step, event *e)
{
    int which = line_of(step.op);
    line *l = &s->line[which];
    ref_access(e, line_object(which), true);
    if (which == NOTIFY && l->stored != 0) {
        l->stored = 0;
        e->label = WHOLE;
        return true;
    }
    if (which == BARRIER && meet(s, w->p->parties, e)) {
        e->label = WHOLE;
        return true;
    }
    if (which == CONDITION) {
        ref_access(e, REF_MUTEXES, true);
        s->mutex[0] = NOBODY;
        t->held &= (uint16_t)~HELD_MUTEX;
    }
    t->ticket = l->came++;
    l->ticket[t->ticket] = WAITS;
    return true;
}

/* A condition gives the mutex back to who leaves, too. */
static bool go_on(const walk *w, state *s, task *t, int number, ref_step step, event *e)
{
    int which = line_of(step.op);
    uint8_t *ticket = &s->line[which].ticket[t->ticket];
    bool served = *ticket == SERVED, told = t->masked == 0 && w->cancels && t->flag != 0;
    if (!(served || told) || (which == CONDITION && s->mutex[0] != NOBODY))
        return false;
    ref_access(e, line_object(which) + 1 + t->ticket, !served);
    if (!served) {
        ref_access(e, REF_FLAGS + number, false);
        *ticket = LEFT;
        e->label = TOLD;
    }
    if (which == CONDITION) {
        ref_access(e, REF_MUTEXES, true);
        s->mutex[0] = (uint8_t)number;
        t->held |= HELD_MUTEX;
    }
    return true;
}

bool ref_waits_in_line(const task *t, int op)
{
    return t->part == 1 && (op == REF_COND_WAIT || op == REF_NOTIFY_WAIT || op == REF_BARRIER);
}

/* ---- once ----------------------------------------------------------------------------------- */

enum { ONCE_FREE, ONCE_DONE, ONCE_RUNS };

static bool do_once(state *s, ref_step step, event *e)
{
    if (step.op == REF_ONCE_END) {
        ref_access(e, REF_THE_ONCE, true);
        e->label = step.arg;
        s->once = step.arg == DONE ? ONCE_DONE : ONCE_FREE;
        return true;
    }
    bool done = s->once == ONCE_DONE;
    ref_access(e, REF_THE_ONCE, !done);
    if (s->once == ONCE_RUNS)
        return false;
    e->label = done ? WHOLE : DONE;
    s->once = done ? ONCE_DONE : ONCE_RUNS;
    return true;
}

ref_step ref_within(const task *t, ref_step step)
{
    if (step.op != REF_ONCE || t->part == 0)
        return step;
    if (t->part == 1)
        return (ref_step){ step.arg == REF_BODY_CHECKS ? REF_CHECKPOINT : REF_FETCH_ADD, 0, 0 };
    bool fails = step.arg == REF_BODY_FAILS || step.arg == REF_BODY_ADDS_AND_FAILS;
    return (ref_step){ REF_ONCE_END, t->part == 3 ? TOLD : fails ? FAILED : DONE, 0 };
}

bool ref_advance_once(task *t, ref_step step, int label)
{
    if (t->part == 0 && label == DONE)
        t->part = step.arg <= REF_BODY_FAILS ? 2 : 1;
    else if (t->part == 1)
        t->part = label == TOLD ? 3 : 2;
    else
        return false;
    t->chosen = 0;
    return true;
}

/* ---- oneshot -------------------------------------------------------------------------------- */

enum { SENT = 1, SENDER_GONE = 2, RECEIVER_GONE = 4 };

bool ref_is_idle(const state *s, ref_step step)
{
    if (step.op >= REF_ANSWER && step.op <= REF_ADOPT)
        return (s->answered & SENDER_GONE) != 0;
    return step.op >= REF_ASK && step.op <= REF_ASK_DROP && (s->answered & RECEIVER_GONE) != 0;
}

/* Who adopts it drops it when he ends, if he has not sent by then. */
static bool do_answer(state *s, task *t, ref_step step, event *e)
{
    if (step.op == REF_ADOPT) {
        t->held |= HELD_ANSWER;
        return true;
    }
    t->held &= (uint16_t)~HELD_ANSWER;
    s->answered |= SENDER_GONE;
    if (step.op == REF_ANSWER_DROP) {
        ref_access(e, REF_VALUE, true);
        return true;
    }
    ref_access(e, REF_VALUE_CLOSED, false);
    if ((s->answered & RECEIVER_GONE) != 0) {
        e->label = CLOSED;
        return true;
    }
    ref_access(e, REF_VALUE, true);
    s->answered |= SENT;
    return true;
}

static bool do_ask(state *s, ref_step step, event *e)
{
    if (step.op == REF_ASK_DROP) {
        ref_access(e, REF_VALUE_CLOSED, true);
        s->answered |= RECEIVER_GONE;
        return true;
    }
    bool settled = (s->answered & SENDER_GONE) != 0;
    ref_access(e, REF_VALUE_CLOSED, false);
    ref_access(e, REF_VALUE, settled);
    e->label = (s->answered & SENT) != 0 ? DONE : settled ? CLOSED : FAILED;
    if (settled)
        s->answered |= RECEIVER_GONE;
    return settled || step.op == REF_TRY_ASK;
}

/* ---- watch and broadcast -------------------------------------------------------------------- */

static bool do_watch(state *s, task *t, ref_step step, event *e)
{
    if (step.op == REF_WATCH_CLOSE) {
        ref_access(e, REF_WATCH_CLOSED, true);
        s->watch_closed = 1;
        return true;
    }
    if (step.op == REF_WATCH_SET) {
        ref_access(e, REF_WATCH_CLOSED, false);
        if (s->watch_closed != 0) {
            e->label = CLOSED;
            return true;
        }
        ref_access(e, REF_WATCH, true);
        s->version++;
        return true;
    }
    ref_access(e, REF_WATCH, false);
    if (step.op == REF_WATCH_GET || s->version != t->version) {
        ref_see(t, s->version);
        if (step.op == REF_WATCH_CHANGED)
            t->version = s->version;
        return true;
    }
    ref_access(e, REF_WATCH_CLOSED, false);
    e->label = CLOSED;
    return s->watch_closed != 0;
}

static bool do_cast(const walk *w, state *s, task *t, int number, ref_step step, event *e)
{
    if (step.op == REF_CAST_CLOSE) {
        ref_access(e, REF_CAST_CLOSED, true);
        s->broadcast_closed = 1;
        return true;
    }
    ref_access(e, REF_CAST_CLOSED, false);
    if (s->broadcast_closed != 0) {
        e->label = CLOSED;
        return true;
    }
    if (step.op == REF_CAST_COUNT) {
        ref_access(e, REF_CAST_NUMBER, true);
        ref_see(t, s->counted);
    }
    ref_access(e, REF_CAST_SENT, true);
    ref_access(e, REF_CAST_SLOTS + s->sent % w->p->cast, true);
    s->message[s->sent++] = (uint8_t)(number + 1);
    return true;
}

static bool do_membership(state *s, task *t, int number, ref_step step, event *e)
{
    reader *r = &s->reader[number];
    if (step.op == REF_CAST_LEAVE) {
        ref_access(e, REF_CAST_READERS + number, true);
        ref_access(e, REF_CAST_NUMBER, false);
        t->held &= (uint16_t)~HELD_RECEIVER;
        s->counted--;
        return true;
    }
    ref_access(e, REF_CAST_CLOSED, false);
    if (s->broadcast_closed != 0) {
        e->label = CLOSED;
        return true;
    }
    ref_access(e, REF_CAST_SENT, false);
    ref_access(e, REF_CAST_NUMBER, false);
    r->next = s->sent;
    s->counted++;
    t->held |= HELD_RECEIVER;
    return true;
}

/* By its own receiver, or by that of all. */
static bool do_listen(const walk *w, state *s, task *t, int number, ref_step step, event *e)
{
    int which = step.arg == 0 ? number : REF_TASKS;
    reader *r = &s->reader[which];
    ref_access(e, REF_CAST_READERS + which, r->next != s->sent);
    ref_access(e, REF_CAST_SLOTS + r->next % w->p->cast, false);
    if (s->sent - r->next > w->p->cast) {
        ref_access(e, REF_CAST_SENT, false);
        e->label = FAILED;
        ref_see(t, (unsigned)(s->sent - r->next));
        r->next = (uint8_t)(s->sent - w->p->cast);
        return true;
    }
    if (r->next < s->sent) {
        ref_see(t, s->message[r->next++]);
        return true;
    }
    ref_access(e, REF_CAST_CLOSED, false);
    e->label = s->broadcast_closed != 0 ? CLOSED : FAILED;
    return s->broadcast_closed != 0 || step.op == REF_CAST_TRY_RECV;
}

bool ref_operate_object(const walk *w, state *s, int number, ref_step step, event *e)
{
    task *t = &s->task[number];
    switch (step.op) {
    case REF_COND_WAIT:
    case REF_NOTIFY_WAIT:
    case REF_BARRIER:
        return t->part == 0 ? come(w, s, t, step, e) : go_on(w, s, t, number, step, e);
    case REF_COND_SIGNAL:
    case REF_COND_BROADCAST:
    case REF_NOTIFY_ONE:
    case REF_NOTIFY_ALL:
        return do_signal(s, step, e);
    case REF_ONCE:
    case REF_ONCE_END:
        return do_once(s, step, e);
    case REF_ANSWER:
    case REF_ANSWER_DROP:
    case REF_ADOPT:
        return do_answer(s, t, step, e);
    case REF_ASK:
    case REF_TRY_ASK:
    case REF_ASK_DROP:
        return do_ask(s, step, e);
    case REF_CAST_RECV:
    case REF_CAST_TRY_RECV:
        return do_listen(w, s, t, number, step, e);
    case REF_CAST_JOIN:
    case REF_CAST_LEAVE:
        return do_membership(s, t, number, step, e);
    case REF_CAST:
    case REF_CAST_COUNT:
    case REF_CAST_CLOSE:
        return do_cast(w, s, t, number, step, e);
    default:
        return do_watch(s, t, step, e);
    }
}
