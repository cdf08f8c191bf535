/* See support_reference.h. What is written here about an operation is what the table of conflicts
 * says, and nothing is taken from the explorer. */
#include "support_model.h"

#include <stdio.h>
#include <string.h>

/* Where one is: the state, and what the order so far comes to. */
typedef struct place {
    state s;
    uint64_t sum;
    uint16_t last[REF_OBJECTS]; /* write of each object: task and number, 0: none */
    uint8_t events[2 * REF_TASKS]; /* of tasks, then of deadlines */
} place;

enum { TABLE = 1 << 17, PREFIXES_MAX = 10000 };

/* Of the run whose number it has. */
static struct {
    uint64_t sum, state, run;
} table[TABLE];
static uint64_t run;

static const char *const names[] = {
#define NAME(name) #name,
    REF_OP_LIST(NAME)
#undef NAME
};

const char *ref_op_name(int op)
{
    return names[op];
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h + 0x632be59bd9b4e019u) * 0x9e3779b97f4a7c15u ^ (v + 1) * 0xa0761d6478bd642fu;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 29;
}

bool ref_is_point(int op)
{
    switch (op) {
    case REF_LOCK:
    case REF_READ:
    case REF_WRITE:
    case REF_ACQUIRE:
    case REF_SEND:
    case REF_RECV:
    case REF_RESERVE:
    case REF_MANY_SEND:
    case REF_MANY_RECV:
    case REF_CHECKPOINT:
    case REF_JOIN:
    case REF_SLEEP:
    case REF_COND_WAIT:
    case REF_NOTIFY_WAIT:
    case REF_BARRIER:
    case REF_ONCE:
    case REF_ASK:
    case REF_WATCH_CHANGED:
    case REF_CAST_RECV:
        return true;
    default:
        return false;
    }
}

void ref_see(task *t, unsigned value)
{
    t->seen = mix(t->seen, value + 1);
}

void ref_access(event *e, int object, bool writes)
{
    for (int i = 0; i < e->len; i++)
        if (e->access[i].object == object) {
            e->access[i].writes |= writes;
            return;
        }
    e->access[e->len].object = (uint8_t)object;
    e->access[e->len++].writes = writes;
}

/* ---- what each operation does: false: not now ----------------------------------------------- */

static bool do_cell(state *s, task *t, int number, ref_step step, event *e)
{
    uint8_t *cell = &s->cell[step.arg & 1];
    bool writes = true, good = true;
    if (step.op == REF_LOAD) {
        writes = false;
        good = *cell != 0;
        ref_see(t, *cell);
    } else if (step.op == REF_STORE) {
        *cell = (uint8_t)(number + 1);
    } else if (step.op == REF_FETCH_ADD) {
        ref_see(t, *cell);
        *cell = (uint8_t)(*cell + 1);
    } else {
        good = writes = *cell == (step.arg >> 1 & 3);
        if (good)
            *cell = step.arg >> 3;
        ref_see(t, good);
    }
    e->label = good ? DONE : FAILED;
    ref_access(e, REF_CELLS + (step.arg & 1), writes);
    return true;
}

static bool do_mutex(state *s, task *t, int number, ref_step step, event *e)
{
    uint8_t *holder = &s->mutex[step.arg];
    if (step.op == REF_UNLOCK) {
        *holder = NOBODY;
        t->held &= (uint16_t)~(HELD_MUTEX << step.arg);
    } else if (*holder == NOBODY) {
        *holder = (uint8_t)number;
        t->held |= (uint16_t)(HELD_MUTEX << step.arg);
    } else {
        e->label = FAILED;
        ref_access(e, REF_MUTEXES + step.arg, false);
        return step.op == REF_TRY_LOCK;
    }
    ref_access(e, REF_MUTEXES + step.arg, true);
    return true;
}

static bool do_rwlock(state *s, task *t, int number, ref_step step, event *e)
{
    bool writes = true, refused = s->writer != NOBODY || s->requests != 0;
    if (step.op == REF_READ || step.op == REF_TRY_READ) {
        writes = false;
        if (refused && step.op == REF_READ)
            return false;
        e->label = refused ? FAILED : DONE;
        s->readers += !refused;
        t->held |= refused ? 0 : HELD_READ;
    } else if (step.op == REF_TRY_WRITE) {
        /* It is the readers who are in its way, and do not commute with it. */
        writes = !refused;
        refused = refused || s->readers != 0;
        e->label = refused ? FAILED : DONE;
        if (!refused) {
            s->writer = (uint8_t)number;
            t->held |= HELD_WRITE;
        }
    } else if (step.op == REF_WRITE && t->part == 0) {
        s->requests++;
    } else if (step.op == REF_WRITE) {
        if (s->writer != NOBODY || s->readers != 0)
            return false;
        s->requests--;
        s->writer = (uint8_t)number;
        t->held |= HELD_WRITE;
    } else if ((t->held & HELD_READ) != 0) {
        writes = false;
        s->readers--;
        t->held &= (uint16_t)~HELD_READ;
    } else {
        s->writer = NOBODY;
        t->held &= (uint16_t)~HELD_WRITE;
    }
    ref_access(e, REF_RWLOCK, writes);
    return true;
}

static bool do_semaphore(state *s, task *t, ref_step step, event *e)
{
    bool enough = s->units >= step.arg;
    if (step.op == REF_UNITS) {
        s->units = (uint8_t)(s->units + step.arg);
        enough = true;
    } else if (step.op == REF_RELEASE) {
        s->units = (uint8_t)(s->units + t->units);
        t->held &= (uint16_t)~HELD_UNITS;
        enough = true;
    } else if (enough) {
        s->units = (uint8_t)(s->units - step.arg);
        t->units = step.arg;
        t->held |= HELD_UNITS;
    } else if (step.op == REF_ACQUIRE) {
        return false;
    }
    e->label = enough ? DONE : FAILED;
    ref_access(e, REF_SEMAPHORE, enough);
    return true;
}

static void commit(queue *q, int number, int tail, int slots, int capacity, event *e)
{
    ref_access(e, tail, true);
    ref_access(e, slots + q->tail % capacity, true);
    q->message[q->tail++] = (uint8_t)(number + 1);
}

static bool do_send(const walk *w, state *s, task *t, int number, ref_step step, event *e)
{
    queue *q = &s->one;
    bool reserves = step.op == REF_RESERVE || step.op == REF_TRY_RESERVE;
    ref_access(e, REF_CLOSED, false);
    if (q->closed & 1) { /* nobody receives any more */
        e->label = CLOSED;
        return true;
    }
    if (q->claims - q->head < w->p->capacity) {
        if (w->permits)
            ref_access(e, REF_CLAIMS, true);
        if (reserves) {
            ref_access(e, REF_SLOTS + q->claims % w->p->capacity, false);
            t->held |= HELD_PERMIT;
        } else {
            commit(q, number, REF_TAIL, REF_SLOTS, w->p->capacity, e);
        }
        q->claims++;
        return true;
    }
    if (w->permits)
        ref_access(e, REF_CLAIMS, false);
    if (!reserves)
        ref_access(e, REF_TAIL, false);
    ref_access(e, REF_SLOTS + q->claims % w->p->capacity, false);
    e->label = FAILED;
    return step.op == REF_TRY_SEND || step.op == REF_TRY_RESERVE;
}

static bool do_permit(const walk *w, state *s, task *t, int number, ref_step step, event *e)
{
    queue *q = &s->one;
    t->held &= (uint16_t)~HELD_PERMIT;
    if (step.op == REF_ABORT) {
        ref_access(e, REF_CLAIMS, true);
        q->claims--;
        return true;
    }
    ref_access(e, REF_CLOSED, false);
    e->label = q->closed & 1 ? CLOSED : DONE;
    if (e->label == DONE)
        commit(q, number, REF_TAIL, REF_SLOTS, w->p->capacity, e);
    return true;
}

/* Of either channel; false: it is empty and open, and this one would wait. Messages that were
 * withdrawn are passed over. */
static bool receive(queue *q, task *t, const int object[3], int slots, bool tries, event *e)
{
    uint8_t head = q->head;
    while (head < q->tail && q->message[head] == 0)
        ref_access(e, object[2] + head++ % slots, false);
    bool there = head < q->tail;
    ref_access(e, object[0], there);
    ref_access(e, object[2] + head % slots, there);
    if (there) {
        ref_see(t, q->message[head]);
        q->head = (uint8_t)(head + 1);
        return true;
    }
    ref_access(e, object[1], false);
    e->label = q->closed != 0 ? CLOSED : FAILED;
    return tries || q->closed != 0;
}

/* A message that nobody has taken is withdrawn when its sender is told. */
static bool do_taken(const walk *w, state *s, task *t, int number, event *e)
{
    queue *q = &s->many;
    bool taken = q->head > t->ticket, point = t->masked == 0 && w->cancels;
    ref_access(e, REF_MANY_SLOTS + t->ticket, !taken);
    if (taken)
        return true;
    if (point)
        ref_access(e, REF_FLAGS + number, false);
    e->label = TOLD;
    q->message[t->ticket] = 0;
    return point && t->flag != 0;
}

static bool do_many(const walk *w, state *s, task *t, int number, ref_step step, event *e)
{
    static const int objects[] = { REF_MANY_HEAD, REF_MANY_CLOSED, REF_MANY_SLOTS };
    queue *q = &s->many;
    int slots = w->p->many == 0 ? REF_QUEUE : w->p->many;
    if (step.op == REF_MANY_CLOSE) {
        ref_access(e, REF_MANY_CLOSED, true); /* the second close is one like the first */
        q->closed = 1;
        return true;
    }
    if (step.op == REF_MANY_RECV || step.op == REF_MANY_TRY_RECV)
        return receive(q, t, objects, slots, step.op == REF_MANY_TRY_RECV, e);
    if (t->part == 1) /* with room for none */
        return do_taken(w, s, t, number, e);
    ref_access(e, REF_MANY_CLOSED, false);
    if (q->closed != 0) {
        e->label = CLOSED;
        return true;
    }
    bool tries = step.op == REF_MANY_TRY_SEND;
    if (w->p->many == 0 ? !tries : q->tail - q->head < w->p->many) {
        t->ticket = q->tail;
        commit(q, number, REF_MANY_TAIL, REF_MANY_SLOTS, slots, e);
        return true;
    }
    ref_access(e, REF_MANY_TAIL, false);
    if (w->p->many != 0)
        ref_access(e, REF_MANY_SLOTS + q->tail % slots, false);
    e->label = FAILED;
    return tries;
}

static bool do_drop(state *s, task *t, ref_step step, event *e)
{
    if (step.op == REF_RX_DROP) {
        ref_access(e, REF_CLOSED, true);
        s->one.closed |= 1;
        return true;
    }
    ref_access(e, REF_SENDERS, true); /* its sender */
    t->held &= (uint16_t)~HELD_TX;
    if (--s->senders == 0) {
        ref_access(e, REF_CLOSED, true);
        s->one.closed |= 2;
    }
    return true;
}

static bool do_task(const walk *w, state *s, task *t, ref_step step, event *e)
{
    switch (step.op) {
    case REF_CANCEL:
        ref_cancel(s, step.arg, e);
        return true;
    case REF_CANCEL_ALL:
        for (int i = 0; i < w->p->started; i++)
            ref_cancel(s, i, e);
        return true;
    case REF_JOIN:
        return s->task[step.arg].phase == ENDED;
    case REF_SLEEP:
        return w->p->adversarial || s->now >= t->came + step.arg;
    default:
        return true;
    }
}

static bool operate(const walk *w, state *s, int number, ref_step step, event *e)
{
    static const int objects[] = { REF_HEAD, REF_CLOSED, REF_SLOTS };
    task *t = &s->task[number];
    if (step.op <= REF_CAS)
        return do_cell(s, t, number, step, e);
    if (step.op <= REF_UNLOCK)
        return do_mutex(s, t, number, step, e);
    if (step.op <= REF_RW_UNLOCK)
        return do_rwlock(s, t, number, step, e);
    if (step.op <= REF_UNITS)
        return do_semaphore(s, t, step, e);
    if (step.op == REF_RECV || step.op == REF_TRY_RECV)
        return receive(&s->one, t, objects, w->p->capacity, step.op == REF_TRY_RECV, e);
    if (step.op == REF_COMMIT || step.op == REF_ABORT)
        return do_permit(w, s, t, number, step, e);
    if (step.op == REF_RX_DROP || step.op == REF_OP_COUNT)
        return do_drop(s, t, step, e);
    if (step.op <= REF_TRY_RESERVE)
        return do_send(w, s, t, number, step, e);
    if (step.op <= REF_MANY_CLOSE)
        return do_many(w, s, t, number, step, e);
    if (step.op == REF_SCOPE || step.op >= REF_SCOPE_FAIL)
        return (w->cancels || step.op != REF_SCOPE) && ref_operate_scope(w, s, number, step, e);
    if (step.op > REF_CHOOSE)
        return ref_operate_object(w, s, number, step, e);
    return do_task(w, s, t, step, e);
}

/* ---- a task goes on ------------------------------------------------------------------------- */

/* What a task that leaves gives back next; REF_OP_COUNT: its sender. */
static bool next_release(const task *t, ref_step *ret_step)
{
    static const struct {
        uint16_t held;
        uint8_t op, arg;
    } order[] = { { HELD_PERMIT, REF_ABORT, 0 },     { HELD_UNITS, REF_RELEASE, 0 },
                  { HELD_WRITE, REF_RW_UNLOCK, 0 },  { HELD_READ, REF_RW_UNLOCK, 0 },
                  { HELD_MUTEX << 1, REF_UNLOCK, 1 }, { HELD_MUTEX, REF_UNLOCK, 0 },
                  { HELD_RECEIVER, REF_CAST_LEAVE, 0 },
                  { HELD_TX, REF_OP_COUNT, 0 },
                  { HELD_ANSWER, REF_ANSWER_DROP, 0 } };
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
        if ((t->held & order[i].held) != 0) {
            *ret_step = (ref_step){ order[i].op, order[i].arg, 0 };
            return true;
        }
    return false;
}

static bool in_two_parts(const walk *w, int op)
{
    return op == REF_WRITE || (op == REF_MANY_SEND && w->p->many == 0) ||
           op == REF_COND_WAIT || op == REF_NOTIFY_WAIT || op == REF_BARRIER;
}

static bool is_point(const task *t, int op)
{
    if (op == REF_RACE || op == REF_TIMEOUT || op == REF_JOIN_ALL)
        return t->part == 0 || ref_waits_for_first(t, op);
    return ref_is_point(op);
}

/* To the next step, behind one that ended like this. */
static void advance(const walk *w, task *t, ref_step step, int label)
{
    if (step.op == REF_ONCE && ref_advance_once(t, step, label))
        return;
    if (ref_is_scope(step.op) && t->part != 0) {
        t->chosen = 0;
        return;
    }
    if (label == TOLD) {
        t->told = 1;
        t->phase = LEAVING;
    } else if (in_two_parts(w, step.op) && t->part == 0 && label == DONE) {
        t->part = 1;
        if (step.op >= REF_MANY_SEND) /* the wait for a taker or a signal is a point of its own */
            t->chosen = 0;
        return;
    } else {
        t->pc = (uint8_t)(t->pc + 1 + (label == FAILED || label == CLOSED ? step.skip : 0));
    }
    t->part = t->chosen = 0;
}

/* Told instead of what it came for; who has asked to write takes that back. */
static void tell(state *s, task *t, ref_step step, event *e)
{
    e->label = TOLD;
    if (step.op == REF_WRITE && t->part == 1) {
        s->requests--;
        ref_access(e, REF_RWLOCK, true);
    }
}

/* Does the next step of a task with this answer, if it has several. Returns how many answers there
 * are; 0: it cannot go. */
static int step_task(const walk *w, state *s, int number, int answer, event *e)
{
    task *t = &s->task[number];
    ref_step step = { 0, 0, 0 };
    e->len = 0;
    e->label = DONE;
    if (t->phase == LEAVING && next_release(t, &step))
        return operate(w, s, number, step, e);
    if (t->phase == LEAVING) {
        ref_end(w, s, number, e);
        return 1;
    }
    if (t->phase != ALIVE)
        return 0;
    ref_step whole = w->p->code[number][t->pc];
    step = ref_within(t, whole);
    if (step.op == REF_CHOOSE) {
        e->label = (uint8_t)(ANSWER + answer);
        advance(w, t, step, DONE);
        ref_see(t, (unsigned)answer);
        return step.arg;
    }
    if (is_point(t, step.op) && t->masked == 0 && w->cancels) {
        if (w->p->faults && t->chosen == 0 && t->faulty == 0) {
            e->label = (uint8_t)(ANSWER + answer);
            t->chosen = answer != 0 ? 2 : 1;
            return 2;
        }
        if (t->chosen == 2) { /* it cancels itself */
            ref_cancel(s, number, e);
            t->chosen = t->faulty = 1;
            return 1;
        }
        bool late = (step.op == REF_MANY_SEND && t->part == 1) || /* looks for a taker first */
                    ref_waits_in_line(t, step.op) || ref_waits_for_first(t, step.op);
        if (!late)
            ref_access(e, REF_FLAGS + number, false);
        if (!late && t->flag != 0) {
            tell(s, t, step, e);
            advance(w, t, whole, TOLD);
            return 1;
        }
    }
    if (!operate(w, s, number, step, e))
        return 0;
    ref_see(t, e->label);
    advance(w, t, whole, e->label);
    return 1;
}

/* Tasks do what is no event until nothing of it is left: masks, starts, the wait for who was
 * started, ends. */
static void settle(const walk *w, state *s)
{
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < w->p->tasks; i++) {
            task *t = &s->task[i];
            ref_step step = { 0, 0, 0 };
            if (t->phase == ALIVE && t->pc >= w->p->len[i])
                t->phase = LEAVING;
            if (t->phase == LEAVING && !next_release(t, &step) && !w->ends) {
                t->phase = ENDED;
                again = true;
            }
            if (t->phase != ALIVE)
                continue;
            step = w->p->code[i][t->pc];
            task *other = step.op == REF_SCOPE && !w->cancels ? &s->task[step.arg] : NULL;
            if (step.op == REF_MASK || step.op == REF_UNMASK) {
                t->masked = step.op == REF_MASK;
            } else if (ref_race_is_over(s, t, step)) {
                t->phase = ref_race_has_told(t) ? LEAVING : ALIVE;
                t->part = 0; /* its end is no event, so a cancel reaches the branches even then */
            } else if (ref_is_idle(s, step)) {
                t->came = s->now;
            } else if (other != NULL && other->phase == BEFORE) {
                other->phase = ALIVE;
                other->came = s->now;
                again = true;
                continue;
            } else if (other == NULL || other->phase != ENDED) {
                continue;
            }
            t->pc++;
            t->came = s->now;
            again = true;
        }
    }
}

/* ---- all orders ----------------------------------------------------------------------------- */

/* false: has been here. */
static bool arrive(walk *w, const place *at)
{
    uint64_t sum = at->sum, hash = 1;
    const unsigned char *bytes = (const unsigned char *)&at->s;
    for (size_t i = 0; i < sizeof at->s; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    size_t i = sum >> 20 & (TABLE - 1);
    while (table[i].run == run && table[i].sum != sum)
        i = (i + 1) & (TABLE - 1);
    if (table[i].run == run) {
        w->count.sound &= table[i].state == hash;
        return false;
    }
    table[i].run = run;
    table[i].sum = sum;
    table[i].state = hash;
    if (++w->count.prefixes > PREFIXES_MAX)
        w->count.counted = false;
    return w->count.counted;
}

static void note(const walk *w, place *at, int number, const event *e)
{
    uint64_t sum = mix(mix(mix(1, (uint64_t)number), at->events[number]++), e->label);
    uint64_t accesses = 0;
    sum = mix(sum, at->s.epochs);
    for (int i = 0; i < e->len; i++) {
        int object = e->access[i].object;
        if (object == w->blind)
            continue;
        accesses += mix(mix(mix(2, (uint64_t)object), e->access[i].writes), at->last[object]);
        if (e->access[i].writes)
            at->last[object] = (uint16_t)((number + 1) << 8 | at->events[number]);
    }
    at->sum += mix(sum, accesses);
}

static bool move_clock(const walk *w, state *s)
{
    int next = 256;
    for (int i = 0; i < w->p->tasks && !w->p->adversarial; i++) {
        const task *t = &s->task[i];
        const ref_step *step = &w->p->code[i][t->pc];
        if (t->phase == ALIVE && step->op == REF_SLEEP && t->came + step->arg < next)
            next = t->came + step->arg;
        if (t->due > s->now && t->due < next)
            next = t->due;
    }
    if (next == 256)
        return false;
    s->now = (uint8_t)next;
    s->epochs++;
    for (int i = 0; i < w->p->tasks; i++) {
        event e = { .len = 0 };
        (void)ref_passes(w, s, i, &e);
    }
    return true;
}

static void explore(walk *w, const place *at);

/* A deadline is a task of its own. */
static bool pass(walk *w, const place *at, int number)
{
    place next;
    event e = { .len = 0 };
    memcpy(&next, at, sizeof next);
    if (!ref_passes(w, &next.s, number, &e))
        return false;
    note(w, &next, REF_TASKS + number, &e);
    settle(w, &next.s);
    if (arrive(w, &next))
        explore(w, &next);
    return true;
}

static void explore(walk *w, const place *at)
{
    bool moved = false, ended = true;
    for (int i = 0; i < w->p->tasks && w->count.counted; i++) {
        int answers = 1;
        for (int answer = 0; answer < answers; answer++) {
            place next;
            event e;
            memcpy(&next, at, sizeof next); /* with what lies between fields: it is summed up */
            answers = step_task(w, &next.s, i, answer, &e);
            if (answers == 0)
                break;
            moved = true;
            next.s.task[i].came = next.s.now;
            note(w, &next, i, &e);
            settle(w, &next.s);
            if (arrive(w, &next))
                explore(w, &next);
        }
        ended &= at->s.task[i].phase == ENDED || at->s.task[i].phase == BEFORE;
        if (w->p->adversarial)
            moved |= pass(w, at, i);
    }
    if (moved)
        return;
    place next;
    memcpy(&next, at, sizeof next);
    if (move_clock(w, &next.s)) {
        explore(w, &next);
        return;
    }
    w->count.classes++;
    w->count.deadlocks += !ended;
    w->count.odd += ended && (at->s.cell[0] & 1) != 0;
}

static bool has(const ref_program *p, int number, int from, int to)
{
    for (int i = 0; i < p->len[number]; i++)
        if (p->code[number][i].op >= from && p->code[number][i].op <= to)
            return true;
    return false;
}

void ref_classes(const ref_program *p, int blind, ref_count *ret_count)
{
    walk w = { .p = p, .blind = blind, .count = { .counted = true, .sound = true } };
    place first;
    run++;
    memset(&first, 0, sizeof first);
    state *s = &first.s;
    s->mutex[0] = s->mutex[1] = s->writer = NOBODY;
    s->units = (uint8_t)p->units;
    s->one.tail = s->one.claims = (uint8_t)p->filled;
    s->version = s->counted = 1;
    memset(s->one.message, REF_TASKS + 1, (size_t)p->filled);
    for (int i = 0; i < p->tasks; i++) {
        s->task[i].phase = i < p->started ? ALIVE : BEFORE;
        s->task[i].version = 1;
        w.permits |= has(p, i, REF_RESERVE, REF_TRY_RESERVE);
        w.cancels |= p->faults || has(p, i, REF_CANCEL, REF_CANCEL_ALL) ||
                     has(p, i, REF_SCOPE_FAIL, REF_SETTLE);
        w.ends |= has(p, i, REF_RACE, REF_FAIL);
        w.late |= has(p, i, REF_BESIDE, REF_BESIDE);
        if (p->drops &&
            (has(p, i, REF_SEND, REF_TRY_SEND) || has(p, i, REF_RESERVE, REF_TRY_RESERVE))) {
            s->task[i].held = HELD_TX;
            s->senders++;
        }
    }
    if (p->drops && s->senders == 0)
        s->one.closed = 2;
    settle(&w, s);
    explore(&w, &first);
    *ret_count = w.count;
}

void ref_print(const ref_program *p)
{
    fprintf(stderr, "capacity %d (%d in it), many %d, units %d, parties %d, cast %d%s%s%s%s%s%s\n",
            p->capacity, p->filled, p->many, p->units, p->parties, p->cast,
            p->drops ? ", senders drop" : "",
            p->adversarial ? ", adversarial" : "", p->faults ? ", faults" : "",
            p->lab_mutexes ? ", lab mutexes" : "", p->watched ? ", watched" : "",
            p->polls ? ", poll tasks" : "");
    for (int t = 0; t < p->tasks; t++) {
        fprintf(stderr, "  %d%s:", t, t < p->started ? "" : " (later)");
        for (int i = 0; i < p->len[t]; i++) {
            const ref_step *step = &p->code[t][i];
            fprintf(stderr, " %s(%d", names[step->op], step->arg);
            fprintf(stderr, step->skip != 0 ? ",%d)" : ")", step->skip);
        }
        fprintf(stderr, "\n");
    }
}
