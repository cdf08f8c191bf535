/* Messages and views: see weak.h. */
#include "model/weak.h"

#include "lab/explore/explore.h"

#include <stdlib.h>
#include <string.h>

#define OBJECTS_MAX 20
#define MESSAGES_MAX 96
#define SEEN_MAX OBJECTS_MAX /* words that a loop looks at */
#define TARGETS_MAX 8192
#define TS_GAP 256u

/* Names of objects that are not in memory: never an address. */
#define NAME_BIT (UINT64_C(1) << 61)
#define NAME_ORDER (NAME_BIT | 1) /* of what is sequentially consistent */

typedef struct view {
    uint32_t ts[OBJECTS_MAX];
} view;

typedef struct knowledge {
    view seen;
    view ordered; /* sequentially consistent stores that come before its next such load */
    uint32_t before[ASX__WEAK_THREADS_MAX];
} knowledge;

typedef struct message {
    uint64_t value;
    uint32_t ts;
    knowledge released;
} message;

typedef struct place {
    const void *address;
    uint32_t count;
    message messages[MESSAGES_MAX]; /* in modification order */
} place;

typedef struct thread {
    asx_cx *cx;
    knowledge now;
    knowledge acquirable; /* seen by relaxed loads: a fence makes it known */
    knowledge releasable; /* known at the last fence: relaxed stores pass it on */
    uint64_t looked_at[2 * SEEN_MAX]; /* since it relaxed last: names and values */
    uint32_t looked;
} thread;

struct asx__weak {
    thread threads[ASX__WEAK_THREADS_MAX];
    place objects[OBJECTS_MAX];
    uint32_t object_count;
    view ordered; /* by all sequentially consistent stores and fences so far */
    uint64_t targets[TARGETS_MAX];
    uint32_t targets_len;
    bool weak;
    uint64_t execution;
    const char *trouble;
};

/* An access that may go in several ways. */
typedef struct ways {
    asx__answers answers; /* first */
    asx__weak *w;
    const asx__weak_access *a;
    place *o;
    uint32_t from;        /* a load: the oldest that it may see */
    uint8_t places[MESSAGES_MAX]; /* a store: behind which it may come, the last first */
} ways;

asx__weak *asx__weak_create(void)
{
    return calloc(1, sizeof(asx__weak));
}

void asx__weak_begin(asx__weak *w, bool weak)
{
    memset(w->threads, 0, sizeof w->threads);
    memset(&w->ordered, 0, sizeof w->ordered);
    w->object_count = 0;
    w->targets_len = 0;
    w->weak = weak;
    w->execution++;
    w->trouble = NULL;
}

void asx__weak_thread(asx__weak *w, uint32_t number, asx_cx *cx)
{
    w->threads[number].cx = cx;
    w->threads[number].now.before[number] = 1;
}

const char *asx__weak_trouble(const asx__weak *w)
{
    return w->trouble;
}

/* ---- messages ------------------------------------------------------------------------------- */

static place *find_object(asx__weak *w, const asx__weak_access *a)
{
    for (uint32_t i = 0; i < w->object_count; i++)
        if (w->objects[i].address == a->object)
            return &w->objects[i];
    if (w->object_count == OBJECTS_MAX) {
        w->trouble = "too many atomic objects";
        return &w->objects[0];
    }
    place *o = &w->objects[w->object_count++];
    o->address = a->object;
    o->count = 1;
    memset(&o->messages[0], 0, sizeof o->messages[0]);
    o->messages[0].value = asx__state_read(a->object, a->size);
    o->messages[0].ts = TS_GAP;
    return o;
}

static void learn(const asx__weak *w, knowledge *to, const knowledge *from)
{
    for (uint32_t i = 0; i < w->object_count; i++) {
        if (to->seen.ts[i] < from->seen.ts[i])
            to->seen.ts[i] = from->seen.ts[i];
        if (to->ordered.ts[i] < from->ordered.ts[i])
            to->ordered.ts[i] = from->ordered.ts[i];
    }
    for (uint32_t u = 0; u < ASX__WEAK_THREADS_MAX; u++)
        if (to->before[u] < from->before[u])
            to->before[u] = from->before[u];
}

static bool acquires(memory_order mo)
{
    return mo == memory_order_acquire || mo == memory_order_acq_rel || mo == memory_order_seq_cst;
}

static bool releases(memory_order mo)
{
    return mo == memory_order_release || mo == memory_order_acq_rel || mo == memory_order_seq_cst;
}

static uint32_t number_of(const asx__weak *w, const place *o)
{
    return (uint32_t)(o - w->objects);
}

/* The first message that is not older than any of the two. */
static uint32_t first_from(const place *o, uint32_t ts, uint32_t ts_ordered)
{
    uint32_t i = 0;
    if (ts < ts_ordered)
        ts = ts_ordered;
    while (i + 1 < o->count && o->messages[i].ts < ts)
        i++;
    return i;
}

static void see(asx__weak *w, uint32_t self, place *o, const message *seen, memory_order mo)
{
    thread *t = &w->threads[self];
    uint32_t *ts = &t->now.seen.ts[number_of(w, o)];
    if (*ts < seen->ts)
        *ts = seen->ts;
    learn(w, acquires(mo) ? &t->now : &t->acquirable, &seen->released);
}

/* A new message behind the `at`-th. A read-modify-write leaves no room in between. */
static void put(asx__weak *w, const asx__weak_access *a, place *o, uint32_t at, uint64_t value,
                bool rmw)
{
    thread *t = &w->threads[a->thread];
    if (o->count == MESSAGES_MAX) {
        w->trouble = "too many stores to one object";
        return;
    }
    if (at + 1 < o->count)
        memmove(&o->messages[at + 2], &o->messages[at + 1],
                (o->count - at - 1) * sizeof *o->messages);
    o->count++;
    message *new = &o->messages[at + 1];
    uint32_t n = number_of(w, o), ts = o->messages[at].ts;
    if (rmw)
        ts += 1;
    else if (at + 2 == o->count)
        ts += TS_GAP;
    else
        ts += (o->messages[at + 2].ts - ts) / 2;
    new->value = value;
    new->ts = ts;
    t->now.seen.ts[n] = ts;
    if (a->order == memory_order_seq_cst) {
        if (w->ordered.ts[n] < ts)
            w->ordered.ts[n] = ts;
        t->now.ordered = w->ordered;
    }
    new->released = releases(a->order) ? t->now : t->releasable;
    new->released.seen.ts[n] = ts;
    if (rmw)
        learn(w, &new->released, &o->messages[at].released);
    t->now.before[a->thread]++; /* what comes now is not released by this */
}

/* ---- operations ----------------------------------------------------------------------------- */

/* Its turn has come when this returns. */
static uint64_t stand(const asx__weak *w, const asx__weak_access *a, asx__op *op)
{
    uint64_t found = 0;
    op->size = a->size;
    op->site = a->site;
    (void)asx__explorer_do(w->threads[a->thread].cx, op, &found);
    return found;
}

/* One of those that all agree on the order of: it matters if old values can be seen. */
static uint64_t order_of(const asx__weak *w, const asx__weak_access *a)
{
    return w->weak && a->order == memory_order_seq_cst ? NAME_ORDER : 0;
}

static uint64_t futex_of(const void *word)
{
    return NAME_BIT | (uint64_t)(uintptr_t)word;
}

static void look_at(thread *t, const asx__weak_access *a, uint64_t value)
{
    uint64_t name = (uint64_t)(uintptr_t)a->object;
    uint32_t i = 0;
    while (i < t->looked && t->looked_at[2 * i] != name)
        i++;
    if (i == SEEN_MAX)
        return;
    t->looked_at[2 * i] = name;
    t->looked_at[2 * i + 1] = value;
    t->looked += i == t->looked;
}

static uint32_t ways_to_load(const asx__answers *answers)
{
    ways *y = (ways *)(uintptr_t)answers;
    const knowledge *now = &y->w->threads[y->a->thread].now;
    y->o = find_object(y->w, y->a);
    uint32_t n = number_of(y->w, y->o);
    y->from = first_from(y->o, now->seen.ts[n],
                         y->a->order == memory_order_seq_cst ? now->ordered.ts[n] : 0);
    return y->o->count - y->from;
}

uint64_t asx__weak_load(asx__weak *w, const asx__weak_access *a)
{
    ways y = { .answers = { ways_to_load, 0, true }, .w = w, .a = a };
    asx__op op = { .kind = ASX__OP_LOAD, .object = a->object,
                   .answers = w->weak && !a->newest ? &y.answers : NULL };
    (void)stand(w, a, &op);
    place *o = find_object(w, a);
    const message *seen = &o->messages[o->count - 1 - y.answers.pick];
    uint64_t value = seen->value;
    see(w, a->thread, o, seen, a->order);
    look_at(&w->threads[a->thread], a, value);
    if (y.answers.pick != 0)
        asx__explorer_saw(w->threads[a->thread].cx, value);
    return value;
}

static uint32_t ways_to_store(const asx__answers *answers)
{
    ways *y = (ways *)(uintptr_t)answers;
    asx__weak *w = y->w;
    place *o = y->o = find_object(w, y->a);
    uint32_t number = number_of(w, o), n = 0;
    uint32_t from = first_from(o, w->threads[y->a->thread].now.seen.ts[number],
                               y->a->order == memory_order_seq_cst ? w->ordered.ts[number] : 0);
    y->places[n++] = (uint8_t)(o->count - 1);
    for (uint32_t i = o->count - 1; i > from; i--)
        if (o->messages[i].ts - o->messages[i - 1].ts > 1)
            y->places[n++] = (uint8_t)(i - 1);
    return n;
}

void asx__weak_store(asx__weak *w, const asx__weak_access *a, uint64_t value)
{
    ways y = { .answers = { ways_to_store, 0, true }, .w = w, .a = a };
    asx__op op = { .kind = ASX__OP_STORE, .object = a->object, .a = value,
                   .other = order_of(w, a),
                   .answers = w->weak && !a->newest ? &y.answers : NULL };
    (void)find_object(w, a); /* its first value, before it is changed */
    (void)stand(w, a, &op);
    place *o = find_object(w, a);
    put(w, a, o, y.answers.pick != 0 ? y.places[y.answers.pick] : o->count - 1, value, false);
}

static asx__op_kind kind_of(asx__weak_change change)
{
    static const asx__op_kind kinds[] = {
        [ASX__WEAK_EXCHANGE] = ASX__OP_EXCHANGE,
        [ASX__WEAK_ADD] = ASX__OP_FETCH_ADD,
        [ASX__WEAK_OR] = ASX__OP_FETCH_OR,
        [ASX__WEAK_AND] = ASX__OP_FETCH_AND,
    };
    return kinds[change];
}

/* What it has left is in memory. */
static void change(asx__weak *w, const asx__weak_access *a)
{
    place *o = find_object(w, a);
    see(w, a->thread, o, &o->messages[o->count - 1], a->order);
    put(w, a, o, o->count - 1, asx__state_read(a->object, a->size), true);
}

uint64_t asx__weak_rmw(asx__weak *w, const asx__weak_access *a, asx__weak_change how,
                       uint64_t value)
{
    asx__op op = { .kind = kind_of(how), .object = a->object, .a = value,
                   .other = order_of(w, a) };
    (void)find_object(w, a);
    uint64_t old = stand(w, a, &op);
    change(w, a);
    return old;
}

bool asx__weak_cas(asx__weak *w, const asx__weak_access *a, uint64_t *expected, uint64_t desired,
                   memory_order order_failed)
{
    asx__op op = { .kind = ASX__OP_CAS, .object = a->object, .a = *expected, .b = desired,
                   .other = order_of(w, a) };
    (void)find_object(w, a);
    uint64_t old = stand(w, a, &op);
    if (old == *expected) {
        change(w, a);
        return true;
    }
    place *o = find_object(w, a);
    *expected = old;
    see(w, a->thread, o, &o->messages[o->count - 1], order_failed);
    look_at(&w->threads[a->thread], a, old);
    return false;
}

void asx__weak_fence(asx__weak *w, const asx__weak_access *a)
{
    asx__op op = { .kind = ASX__OP_FENCE, .name = NAME_ORDER };
    if (w->weak)
        (void)stand(w, a, &op);
    thread *t = &w->threads[a->thread];
    learn(w, &t->now, &t->acquirable);
    for (uint32_t i = 0; i < w->object_count; i++) {
        if (t->now.seen.ts[i] < w->ordered.ts[i])
            t->now.seen.ts[i] = w->ordered.ts[i];
        w->ordered.ts[i] = t->now.seen.ts[i];
    }
    t->now.ordered = w->ordered;
    t->releasable = t->now;
    t->now.before[a->thread]++;
}

/* ---- waiting -------------------------------------------------------------------------------- */

bool asx__weak_futex_wait(asx__weak *w, const asx__weak_access *a, uint32_t expected, bool timed)
{
    asx__op op = { .kind = ASX__OP_FUTEX_WAIT, .object = a->object, .a = expected, .b = a->thread,
                   .other = futex_of(a->object) };
    uint64_t found = stand(w, a, &op);
    place *o = find_object(w, a); /* the kernel's look is no older than the newest */
    see(w, a->thread, o, &o->messages[o->count - 1], memory_order_relaxed);
    if (found != ASX__FOUND_DONE)
        return true;
    asx__op go_on = { .kind = ASX__OP_FUTEX_GO_ON, .name = futex_of(a->object), .a = timed,
                      .b = a->thread };
    return stand(w, a, &go_on) == ASX__FOUND_DONE;
}

static uint32_t ways_to_wake(const asx__answers *answers)
{
    const ways *y = (const ways *)(const void *)answers;
    asx__explorer *x = asx__explorer_of(y->w->threads[y->a->thread].cx->rt_);
    uint64_t sleepers = asx__dpor_state(x->dpor, futex_of(y->a->object)) & UINT32_MAX;
    uint32_t n = (uint32_t)__builtin_popcountll(sleepers);
    return n > y->from ? n : 1;
}

void asx__weak_futex_wake(asx__weak *w, const asx__weak_access *a, uint32_t count)
{
    ways y = { .answers = { ways_to_wake, 0, false }, .w = w, .a = a, .from = count };
    asx__op op = { .kind = ASX__OP_FUTEX_WAKE, .name = futex_of(a->object), .a = count,
                   .answers = &y.answers };
    (void)stand(w, a, &op);
}

void asx__weak_relax(asx__weak *w, const asx__weak_access *a)
{
    thread *t = &w->threads[a->thread];
    uint32_t len = 2 * t->looked;
    if (w->targets_len + len > TARGETS_MAX) {
        w->trouble = "too many loops that wait";
        return;
    }
    uint64_t *targets = &w->targets[w->targets_len];
    memcpy(targets, t->looked_at, len * sizeof *targets);
    w->targets_len += len;
    t->looked = 0;
    const asx__explorer *x = asx__explorer_of(t->cx->rt_);
    asx_time soon = t->cx->rt_->now + 1;
    asx__op op = { .kind = ASX__OP_RELAX, .name = ASX__NAME(ASX__NAME_CLOCK, 0, 0),
                   .a = x != NULL ? asx__explorer_time(x, soon) : soon, .targets = targets,
                   .targets_len = len };
    (void)stand(w, a, &op);
}

bool asx__weak_lock(asx__weak *w, const asx__weak_access *a, bool may_wait)
{
    asx__op op = { .kind = may_wait ? ASX__OP_LOCK : ASX__OP_TRY_LOCK, .object = a->object,
                   .a = asx__explorer_self(w->threads[a->thread].cx) };
    if (stand(w, a, &op) != 0)
        return false;
    place *o = find_object(w, a); /* one message: what all who had it knew */
    learn(w, &w->threads[a->thread].now, &o->messages[0].released);
    return true;
}

bool asx__weak_unlock(asx__weak *w, const asx__weak_access *a)
{
    thread *t = &w->threads[a->thread];
    asx__op op = { .kind = ASX__OP_UNLOCK, .object = a->object, .a = asx__explorer_self(t->cx) };
    place *o = find_object(w, a);
    if (stand(w, a, &op) != op.a)
        return false;
    learn(w, &o->messages[0].released, &t->now);
    t->now.before[a->thread]++;
    return true;
}

/* ---- plain data ----------------------------------------------------------------------------- */

static bool is_ordered(const asx__weak *w, uint32_t self, const uint32_t *earlier)
{
    for (uint32_t u = 0; u < ASX__WEAK_THREADS_MAX; u++)
        if (u != self && earlier[u] > w->threads[self].now.before[u])
            return false;
    return true;
}

bool asx__weak_plain(asx__weak *w, uint32_t self, asx__weak_data *data, bool writes)
{
    if (data->execution != w->execution)
        *data = (asx__weak_data){ .execution = w->execution };
    if (!is_ordered(w, self, data->written) || (writes && !is_ordered(w, self, data->read)))
        return false;
    uint32_t now = w->threads[self].now.before[self];
    if (writes)
        data->written[self] = now;
    else
        data->read[self] = now;
    return true;
}
