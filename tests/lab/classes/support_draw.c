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
       HOLDS_MASK = 32, HOLDS_RECEIVER = 64 };

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

/* A wait for a condition brings its lock with it. */
#define ONE(op) { REF_##op, REF_##op, 0 }
static const unit families[][7] = {
    { { REF_COND_WAIT, REF_UNLOCK, HOLDS_MUTEX }, ONE(COND_SIGNAL), ONE(COND_BROADCAST) },
    { ONE(NOTIFY_WAIT), ONE(NOTIFY_ONE), ONE(NOTIFY_ALL) },
    { ONE(BARRIER) },
    { ONE(ONCE) },
    { ONE(ASK), ONE(ANSWER), ONE(ANSWER_DROP), ONE(TRY_ASK), ONE(ASK_DROP) },
    { ONE(WATCH_CHANGED), ONE(WATCH_SET), ONE(WATCH_GET), ONE(WATCH_CLOSE) },
    { ONE(CAST_RECV), ONE(CAST), { REF_CAST_JOIN, REF_CAST_LEAVE, HOLDS_RECEIVER },
      ONE(CAST_TRY_RECV), ONE(CAST_COUNT), ONE(CAST_CLOSE) },
    { ONE(SCOPE_FAIL), ONE(SCOPE_FAIL), ONE(SCOPE), ONE(CHECKPOINT), ONE(CANCEL) },
    { ONE(SCOPE_DEFER), ONE(SCOPE_DEFER), ONE(SCOPE), ONE(FETCH_ADD), ONE(CANCEL) },
    { ONE(RACE), ONE(CHECKPOINT), ONE(CHECKPOINT), ONE(STORE), ONE(CANCEL) },
    { ONE(TIMEOUT), ONE(SLEEP), ONE(SLEEP), ONE(CHECKPOINT), ONE(LOAD) },
    { ONE(LINK), ONE(FAIL), ONE(FAIL), ONE(CHECKPOINT), ONE(CHECKPOINT) },
};

/* Those of test_regions.c. */
static const unit regions[][7] = {
    { ONE(JOIN_ALL), ONE(JOIN_ALL), ONE(CHECKPOINT), ONE(STORE), ONE(CANCEL) },
    { ONE(LIMIT), ONE(LIMIT_WAIT), ONE(CHECKPOINT), ONE(FETCH_ADD), ONE(CANCEL) },
    { ONE(LIMIT_WAIT), ONE(LIMIT), ONE(CHECKPOINT), ONE(SEND), ONE(RECV) },
    { ONE(SCOPE), ONE(BESIDE), ONE(BESIDE), ONE(CHECKPOINT), ONE(CANCEL), ONE(STORE) },
    { ONE(BESIDE), ONE(SCOPE_FAIL), ONE(SCOPE_FAIL), ONE(SCOPE_DEFER), ONE(CHECKPOINT) },
    { ONE(PLEDGE), ONE(SETTLE), ONE(SETTLE), ONE(CHECKPOINT), ONE(CANCEL) },
    { { REF_MASK, REF_UNMASK, HOLDS_MASK }, ONE(SCOPE), ONE(RACE), ONE(CHECKPOINT), ONE(CANCEL) },
    { { REF_MASK, REF_UNMASK, HOLDS_MASK }, ONE(TIMEOUT), ONE(SLEEP), ONE(JOIN_ALL), ONE(CANCEL) },
    { ONE(BARE), ONE(BARE_AGAIN), ONE(BARE_TWICE), ONE(CHECKPOINT), ONE(CANCEL), ONE(CANCEL_ALL) },
    { ONE(BARE_AGAIN), ONE(BARE_TWICE), ONE(BARE), ONE(CANCEL), ONE(CANCEL_ALL), ONE(SCOPE_FAIL),
      ONE(TIMEOUT) },
    { ONE(BARE_TWICE), ONE(BARE_AGAIN), ONE(TIMEOUT), ONE(SCOPE), ONE(CANCEL), ONE(CANCEL_ALL) },
    { ONE(ADOPT), ONE(ASK), ONE(ANSWER), ONE(ANSWER_DROP), ONE(TRY_ASK), ONE(ASK_DROP) },
    { ONE(LINK), ONE(JOIN), ONE(FAIL), ONE(FAIL), ONE(CHECKPOINT) },
};
#undef ONE

enum { FAMILIES = sizeof families / sizeof *families };
enum { REGIONS = sizeof regions / sizeof *regions };
enum { KINDS = sizeof *families / sizeof **families };

typedef struct draw {
    asx__rng *rng;
    ref_program *p;
    unit palette[PALETTE];
    int left; /* steps that may still be drawn */
    bool regions;
    int beside[REF_TASKS], pledge[REF_TASKS]; /* whom it may start, what it may keep; 0: nothing */
} draw;

static unsigned below(draw *d, unsigned n)
{
    return (unsigned)asx__rng_below(d->rng, n);
}

static bool chance(draw *d, unsigned of)
{
    return below(d, of) == 0;
}

static uint8_t argument(draw *d, int number, int op, int held)
{
    int others = d->p->started - 1;
    switch (op) {
    case REF_CAS:
        return (uint8_t)(below(d, 2) | below(d, 3) << 1 | below(d, 3) << 3);
    case REF_CANCEL:
    case REF_JOIN:
        return (uint8_t)((number + 1 + (int)below(d, (unsigned)others)) % d->p->started);
    case REF_LINK:
        others = (number + 1 + (int)below(d, (unsigned)others)) % d->p->started;
        return (uint8_t)(number | others << 3);
    case REF_ACQUIRE:
    case REF_TRY_ACQUIRE:
    case REF_UNITS:
    case REF_SLEEP:
        return (uint8_t)(1 + below(d, 2));
    case REF_CHOOSE:
        return (uint8_t)(2 + below(d, 2));
    case REF_ONCE:
        return (uint8_t)below(d, 5);
    case REF_CAST_RECV:
    case REF_CAST_TRY_RECV:
        return (held & HOLDS_RECEIVER) == 0 || chance(d, 3);
    case REF_BESIDE:
        return (uint8_t)d->beside[number];
    case REF_SETTLE:
        return (uint8_t)d->pledge[number];
    case REF_LOAD:
    case REF_STORE:
    case REF_FETCH_ADD:
        return (uint8_t)below(d, 2);
    default:
        return 0;
    }
}

static bool is_scope(int op)
{
    return op == REF_SCOPE || (op >= REF_SCOPE_FAIL && op <= REF_BARE_TWICE);
}

static bool in_palette(const draw *d, int op)
{
    for (int i = 0; i < PALETTE; i++)
        if (d->palette[i].first == op)
            return true;
    return false;
}

/* How many tasks it may start. */
static int members(const draw *d, int op)
{
    if (op == REF_RACE || (op >= REF_JOIN_ALL && op <= REF_PLEDGE))
        return 2;
    return op != REF_TIMEOUT && op < REF_BARE && in_palette(d, REF_BESIDE) ? 2 : 1;
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
    if (u->first >= REF_ANSWER && u->first <= REF_ADOPT)
        return number == 0;
    if (u->first == REF_BESIDE)
        return d->beside[number] != 0;
    if (u->first == REF_SETTLE)
        return d->pledge[number] != 0;
    if (u->first >= REF_ASK && u->first <= REF_ASK_DROP)
        return number == 1;
    if (u->first == REF_FAIL || u->first == REF_LINK)
        return !inner;
    if (is_scope(u->first))
        return (d->regions ? u->first < REF_BARE || (held & HOLDS_MASK) == 0
                           : (held & HOLDS_MASK) == 0) &&
               p->tasks + members(d, u->first) <= REF_TASKS;
    if (u->first == REF_JOIN && in_palette(d, REF_LINK) && !d->regions)
        return false;
    return !(inner && u->first == REF_JOIN);
}

ref_program ref_empty(int tasks)
{
    return (ref_program){ .tasks = tasks, .started = tasks, .capacity = 1, .many = 1,
                          .parties = 2, .cast = 1 };
}

void ref_add(ref_program *p, int number, int op, int arg)
{
    p->code[number][p->len[number]++] = (ref_step){ (uint8_t)op, (uint8_t)arg, 0 };
}

static void draw_task(draw *d, int number, int most, int held);

static void draw_wait(draw *d, int number, int held)
{
    ref_add(d->p, number, REF_LOCK, 0);
    if (chance(d, 4))
        draw_task(d, number, 1, held);
    ref_add(d->p, number, REF_COND_WAIT, 0);
    ref_add(d->p, number, REF_UNLOCK, 0);
    d->left -= 3;
}

static void draw_scope(draw *d, int number, int op)
{
    int inner = d->p->tasks, others = members(d, op);
    d->p->tasks += others;
    if (op == REF_PLEDGE)
        d->pledge[inner] = d->pledge[inner + 1] = inner;
    else if (others == 2 && (op == REF_SCOPE || op < REF_RACE))
        d->beside[inner] = inner + 1;
    ref_add(d->p, number, op, inner);
    d->left--;
    for (int i = 0; i < others; i++)
        draw_task(d, inner + i, 1 + (int)below(d, 2), 0);
}

static void draw_unit(draw *d, int number, int held)
{
    ref_program *p = d->p;
    const unit *u = &d->palette[below(d, PALETTE)];
    int first = p->len[number], arg = argument(d, number, u->first, held), holds = u->holds;
    if (!fits(d, number, u, held))
        return;
    if (u->first == REF_COND_WAIT) {
        if ((held & HOLDS_MUTEX) == 0)
            draw_wait(d, number, held | HOLDS_MUTEX);
        return;
    }
    if (holds == HOLDS_MUTEX) {
        arg = (held & HOLDS_MUTEX) != 0 ? 1 : (held & HOLDS_MUTEX << 1) != 0 ? 0 : (int)below(d, 2);
        holds = HOLDS_MUTEX << arg;
        if ((holds & held) != 0)
            return;
    }
    if (is_scope(u->first)) {
        draw_scope(d, number, u->first);
        return;
    }
    ref_add(p, number, u->first, arg);
    d->left--;
    if (u->first == REF_BESIDE)
        d->beside[number] = 0;
    if (u->first == u->last) {
        bool fails = u->first == REF_TRY_ASK || u->first == REF_ONCE || u->first == REF_CAST_RECV ||
                     u->first == REF_LOAD || u->first == REF_CAS || u->first == REF_TRY_SEND ||
                     u->first == REF_TRY_RECV || u->first == REF_MANY_TRY_RECV;
        if (fails && chance(d, 3))
            draw_task(d, number, 1, held);
    } else {
        if (u->holds == HOLDS_MASK || u->holds == HOLDS_RECEIVER || chance(d, 3))
            draw_task(d, number, 1, held | holds);
        ref_add(p, number, u->last, arg);
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
        ref_add(p, number, REF_RX_DROP, 0);
}

/* Two or three of a family, the first of them always, and one that is of any sort. */
static void draw_family(draw *d)
{
    const unit *family = d->regions ? regions[below(d, REGIONS)] : families[below(d, FAMILIES)];
    unsigned kinds = 0;
    while (kinds < KINDS && family[kinds].first != 0)
        kinds++;
    d->palette[0] = family[0];
    d->palette[1] = family[below(d, kinds)];
    d->palette[2] = family[below(d, kinds)];
    d->palette[3] = chance(d, 4) ? family[below(d, kinds)] : units[below(d, UNITS)];
    if (chance(d, 3))
        d->palette[2] = units[below(d, UNITS)];
    if (chance(d, 4)) /* told while it waits */
        d->palette[1 + below(d, 3)] = (unit){ REF_CANCEL, REF_CANCEL, 0 };
    if (kinds == 3 && chance(d, 2)) /* who wakes */
        d->palette[1] = family[1 + below(d, 2)];
}

static void draw_kinds(draw *d)
{
    int kinds = 2 + (int)below(d, PALETTE - 1);
    for (int i = 0; i < PALETTE; i++)
        d->palette[i] = i < kinds ? units[below(d, UNITS)] : d->palette[i % kinds];
}

static void draw_program(draw *d);

void ref_draw(asx__rng *rng, ref_program *ret_program)
{
    draw d = { .rng = rng, .p = ret_program, .left = 11 };
    memset(ret_program, 0, sizeof *ret_program);
    draw_kinds(&d);
    draw_program(&d);
}

void ref_draw_objects(asx__rng *rng, ref_program *ret_program)
{
    draw d = { .rng = rng, .p = ret_program, .left = 11 };
    memset(ret_program, 0, sizeof *ret_program);
    draw_family(&d);
    ret_program->parties = 1 + (int)below(&d, 3);
    ret_program->cast = 1 + (int)below(&d, REF_CAST_MAX);
    draw_program(&d);
}

void ref_draw_regions(asx__rng *rng, ref_program *ret_program)
{
    draw d = { .rng = rng, .p = ret_program, .left = 11, .regions = true };
    memset(ret_program, 0, sizeof *ret_program);
    draw_family(&d);
    ret_program->parties = ret_program->cast = 1;
    draw_program(&d);
}

static void draw_program(draw *d)
{
    ref_program *p = d->p;
    bool cancels = false, waits = false, flow = false;
    for (int i = 0; i < PALETTE; i++) {
        int op = d->palette[i].first;
        cancels |= op == REF_CANCEL || op == REF_CANCEL_ALL || op >= REF_SCOPE_FAIL;
        waits |= op == REF_COND_WAIT;
        flow |= op >= REF_RACE && op <= REF_JOIN_ALL; /* which are for fibers */
    }
    p->tasks = p->started = 2 + (int)below(d, 3);
    p->capacity = 1 + (int)below(d, 2);
    p->filled = chance(d, 3) ? (int)below(d, (unsigned)p->capacity + 1) : 0;
    p->units = (int)below(d, 3);
    p->drops = chance(d, 4);
    p->adversarial = chance(d, 2);
    p->faults = chance(d, 8);
    p->lab_mutexes = !cancels && !waits && !p->faults && chance(d, 4);
    p->polls = chance(d, 8) && !flow;
    p->many = (int)below(d, 3);
    for (int i = 0; i < p->started; i++)
        draw_task(d, i, p->started == 2 ? 1 + (int)below(d, 4) : 1 + (int)below(d, 3), 0);
    draw_receiver_drop(d);
    /* Who fails, and who leaves a sender behind, is complained of anyway. */
    if (d->regions && !in_palette(d, REF_FAIL) && !in_palette(d, REF_ADOPT))
        p->watched = chance(d, 2);
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
    if (op == REF_CAST_JOIN)
        return with < 0 || with == REF_CAST_LEAVE;
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
        op == REF_ABORT || op == REF_UNMASK || op == REF_CAST_LEAVE)
        return false;
    for (int i = at + 1; begins_section(op, -1) && i < end_of_section(p, number, at); i++)
        if (p->code[number][i].op == REF_COND_WAIT || p->code[number][i].op == REF_CAST_RECV ||
            p->code[number][i].op == REF_CAST_TRY_RECV)
            return false;
    ref_program q = *p;
    if (begins_section(op, -1))
        remove_step(&q, number, end_of_section(p, number, at));
    remove_step(&q, number, at);
    *ret_program = q;
    return true;
}
