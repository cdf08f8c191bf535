/* Random programs of support_reference.h: units of one to a few steps, drawn from a palette of few
 * kinds, so that tasks meet. */
#include <string.h>

#include "support_run.h"

/* A unit is named by its first step; SECTION: up to its last step a task may do something else. */
typedef struct unit {
    uint8_t first, last; /* equal: one step */
    uint8_t holds;       /* what may not be held twice */
} unit;

enum { HOLDS_NOTHING, HOLDS_MUTEX = 1, HOLDS_RWLOCK = 4, HOLDS_UNITS = 8, HOLDS_PERMIT = 16,
       HOLDS_MASK = 32 };

static const unit units[] = {
    { REF_LOAD, REF_LOAD, 0 },
    { REF_STORE, REF_STORE, 0 },
    { REF_FETCH_ADD, REF_FETCH_ADD, 0 },
    { REF_CAS, REF_CAS, 0 },
    { REF_LOCK, REF_UNLOCK, HOLDS_MUTEX },
    { REF_LOCK, REF_UNLOCK, HOLDS_MUTEX },
    { REF_TRY_LOCK, REF_UNLOCK, HOLDS_MUTEX },
    { REF_READ, REF_RW_UNLOCK, HOLDS_RWLOCK },
    { REF_WRITE, REF_RW_UNLOCK, HOLDS_RWLOCK },
    { REF_TRY_READ, REF_RW_UNLOCK, HOLDS_RWLOCK },
    { REF_TRY_WRITE, REF_RW_UNLOCK, HOLDS_RWLOCK },
    { REF_ACQUIRE, REF_RELEASE, HOLDS_UNITS },
    { REF_TRY_ACQUIRE, REF_RELEASE, HOLDS_UNITS },
    { REF_UNITS, REF_UNITS, 0 },
    { REF_SEND, REF_SEND, 0 },
    { REF_SEND, REF_SEND, 0 },
    { REF_TRY_SEND, REF_TRY_SEND, 0 },
    { REF_RECV, REF_RECV, 0 },
    { REF_RECV, REF_RECV, 0 },
    { REF_TRY_RECV, REF_TRY_RECV, 0 },
    { REF_RESERVE, REF_COMMIT, HOLDS_PERMIT },
    { REF_RESERVE, REF_ABORT, HOLDS_PERMIT },
    { REF_TRY_RESERVE, REF_COMMIT, HOLDS_PERMIT },
    { REF_MANY_SEND, REF_MANY_SEND, 0 },
    { REF_MANY_SEND, REF_MANY_SEND, 0 },
    { REF_MANY_TRY_SEND, REF_MANY_TRY_SEND, 0 },
    { REF_MANY_RECV, REF_MANY_RECV, 0 },
    { REF_MANY_RECV, REF_MANY_RECV, 0 },
    { REF_MANY_TRY_RECV, REF_MANY_TRY_RECV, 0 },
    { REF_MANY_CLOSE, REF_MANY_CLOSE, 0 },
    { REF_CHECKPOINT, REF_CHECKPOINT, 0 },
    { REF_CANCEL, REF_CANCEL, 0 },
    { REF_CANCEL, REF_CANCEL, 0 },
    { REF_CANCEL_ALL, REF_CANCEL_ALL, 0 },
    { REF_MASK, REF_UNMASK, HOLDS_MASK },
    { REF_JOIN, REF_JOIN, 0 },
    { REF_SCOPE, REF_SCOPE, 0 },
    { REF_SLEEP, REF_SLEEP, 0 },
    { REF_SLEEP, REF_SLEEP, 0 },
    { REF_CHOOSE, REF_CHOOSE, 0 },
};

enum { UNITS = sizeof units / sizeof *units, PALETTE = 4 };

typedef struct draw {
    asx__rng *rng;
    ref_program *p;
    uint8_t palette[PALETTE];
    int left; /* steps that may still be drawn */
    bool cancels;
} draw;

static unsigned below(draw *d, unsigned n)
{
    return (unsigned)asx__rng_below(d->rng, n);
}

static bool chance(draw *d, unsigned of)
{
    return below(d, of) == 0;
}

static uint8_t argument(draw *d, int number, int op)
{
    int others = d->p->started - 1;
    switch (op) {
    case REF_CAS:
        return (uint8_t)(below(d, 2) | below(d, 3) << 1 | below(d, 3) << 3);
    case REF_CANCEL:
    case REF_JOIN:
        return (uint8_t)((number + 1 + (int)below(d, (unsigned)others)) % d->p->started);
    case REF_ACQUIRE:
    case REF_TRY_ACQUIRE:
    case REF_UNITS:
    case REF_SLEEP:
        return (uint8_t)(1 + below(d, 2));
    case REF_CHOOSE:
        return (uint8_t)(2 + below(d, 2));
    case REF_LOAD:
    case REF_STORE:
    case REF_FETCH_ADD:
        return (uint8_t)below(d, 2);
    default:
        return 0;
    }
}

/* Not every operation goes with every program. */
static bool fits(const draw *d, int number, const unit *u, int held)
{
    const ref_program *p = d->p;
    bool inner = number >= p->started;
    if ((u->holds & held) != 0 && u->holds != HOLDS_MUTEX)
        return false;
    if (u->first == REF_CANCEL || u->first == REF_CANCEL_ALL)
        return !inner;
    if (u->first == REF_SCOPE)
        return (held & HOLDS_MASK) == 0 && p->tasks < REF_TASKS && !inner;
    return !(inner && u->first == REF_JOIN);
}

static void append(ref_program *p, int number, int op, int arg)
{
    p->code[number][p->len[number]++] = (ref_step){ (uint8_t)op, (uint8_t)arg, 0 };
}

static void draw_task(draw *d, int number, int most, int held);

static void draw_unit(draw *d, int number, int held)
{
    ref_program *p = d->p;
    const unit *u = &units[d->palette[below(d, PALETTE)]];
    int first = p->len[number], arg = argument(d, number, u->first), holds = u->holds;
    if (!fits(d, number, u, held))
        return;
    if (holds == HOLDS_MUTEX) {
        arg = (held & HOLDS_MUTEX) != 0 ? 1 : (held & HOLDS_MUTEX << 1) != 0 ? 0 : (int)below(d, 2);
        holds = HOLDS_MUTEX << arg;
        if ((holds & held) != 0)
            return;
    }
    if (u->first == REF_SCOPE) {
        arg = p->tasks++;
        append(p, number, REF_SCOPE, arg);
        d->left--;
        draw_task(d, arg, 1 + (int)below(d, 2), 0);
        return;
    }
    append(p, number, u->first, arg);
    d->left--;
    if (u->first == u->last) {
        bool fails = u->first == REF_LOAD || u->first == REF_CAS || u->first == REF_TRY_SEND ||
                     u->first == REF_TRY_RECV || u->first == REF_MANY_TRY_RECV;
        if (fails && chance(d, 3))
            draw_task(d, number, 1, held);
    } else {
        if (u->holds == HOLDS_MASK || chance(d, 3))
            draw_task(d, number, 1, held | holds);
        append(p, number, u->last, arg);
        d->left--;
    }
    p->code[number][first].skip = (uint8_t)(p->len[number] - first - 1);
}

static void draw_task(draw *d, int number, int most, int held)
{
    for (int i = 0; i < most && d->left > 1 && d->p->len[number] < REF_STEPS - 6; i++)
        draw_unit(d, number, held);
}

static int receives(const ref_program *p, int number)
{
    for (int i = 0; i < p->len[number]; i++)
        if (p->code[number][i].op == REF_RECV || p->code[number][i].op == REF_TRY_RECV)
            return 1;
    return 0;
}

/* Who receives alone may drop the receiver at its end. */
static void draw_receiver_drop(draw *d)
{
    ref_program *p = d->p;
    int receivers = 0, number = 0;
    for (int i = 0; i < p->tasks; i++) {
        number = receives(p, i) ? i : number;
        receivers += receives(p, i);
    }
    if (receivers == 1 && chance(d, 3))
        append(p, number, REF_RX_DROP, 0);
}

void ref_draw(asx__rng *rng, ref_program *ret_program)
{
    draw d = { .rng = rng, .p = ret_program, .left = 11 };
    ref_program *p = ret_program;
    memset(p, 0, sizeof *p);
    int kinds = 2 + (int)below(&d, PALETTE - 1);
    for (int i = 0; i < PALETTE; i++) {
        d.palette[i] = i < kinds ? (uint8_t)below(&d, UNITS) : d.palette[i % kinds];
        int op = units[d.palette[i]].first;
        d.cancels |= op == REF_CANCEL || op == REF_CANCEL_ALL;
    }
    p->tasks = p->started = 2 + (int)below(&d, 3);
    p->capacity = 1 + (int)below(&d, 2);
    p->filled = chance(&d, 3) ? (int)below(&d, (unsigned)p->capacity + 1) : 0;
    p->units = (int)below(&d, 3);
    p->drops = chance(&d, 4);
    p->adversarial = chance(&d, 2);
    p->faults = chance(&d, 8);
    p->lab_mutexes = !d.cancels && !p->faults && chance(&d, 4);
    p->polls = chance(&d, 8);
    p->many = (int)below(&d, 3);
    for (int i = 0; i < p->started; i++)
        draw_task(&d, i, p->started == 2 ? 1 + (int)below(&d, 4) : 1 + (int)below(&d, 3), 0);
    draw_receiver_drop(&d);
}

static void remove_step(ref_program *p, int number, int at)
{
    for (int i = 0; i < at; i++)
        if (i + p->code[number][i].skip >= at)
            p->code[number][i].skip--;
    for (int i = at; i + 1 < p->len[number]; i++)
        p->code[number][i] = p->code[number][i + 1];
    p->len[number]--;
}

static bool begins_section(int op, int with)
{
    for (int i = 0; i < UNITS; i++)
        if (units[i].first == op && units[i].last != op && (with < 0 || units[i].last == with))
            return true;
    return false;
}

/* Where the section that begins here ends. */
static int end_of_section(const ref_program *p, int number, int at)
{
    const ref_step *first = &p->code[number][at];
    int i = at + 1;
    while (i + 1 < p->len[number] && !(begins_section(first->op, p->code[number][i].op) &&
                                       p->code[number][i].arg == first->arg))
        i++;
    return i;
}

bool ref_without(const ref_program *p, int number, int at, ref_program *ret_program)
{
    int op = p->code[number][at].op;
    if (op == REF_UNLOCK || op == REF_RW_UNLOCK || op == REF_RELEASE || op == REF_COMMIT ||
        op == REF_ABORT || op == REF_UNMASK)
        return false;
    ref_program q = *p;
    if (begins_section(op, -1))
        remove_step(&q, number, end_of_section(p, number, at));
    remove_step(&q, number, at);
    *ret_program = q;
    return true;
}
