/* The explorer behind model.h: threads as fibers, memory as messages, depth-first search. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__MODEL_LOCKS
#include "base/atomic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fiber/fiber.h"
#include "harness.h"

#define OBJECTS_MAX 20
#define MESSAGES_MAX 96
#define CHOICES_MAX 8192
#define LOG_MAX 4096
#define TRACE_MAX 100 /* lines of a failure */
#define TS_GAP 256u
#define NOBODY UINT32_MAX

typedef struct view {
    uint32_t ts[OBJECTS_MAX];
} view;

typedef struct clocks {
    uint32_t of[MODEL_THREADS_MAX];
} clocks;

/* What somebody knows, and so what a message can pass on. */
typedef struct knowledge {
    view seen;
    view ordered; /* sequentially consistent stores that come before its next such load */
    clocks before;
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

enum thread_state { READY, AT_FUTEX, AT_LOCK, ENDED };

typedef struct thread {
    enum thread_state state;
    bool fresh;    /* was just chosen: its first step is not to be chosen once more */
    bool relaxed;  /* spins: waits for others to store something */
    bool late;     /* its deadline has passed */
    bool timed;
    const void *waits_for;
    model_site *waits_at;
    knowledge now;
    knowledge acquirable; /* seen by relaxed loads: a fence makes it known */
    knowledge releasable; /* known at the last fence: relaxed stores pass it on */
    asx__stack *stack;
    void *sp;
} thread;

typedef struct choice {
    uint32_t options, taken;
} choice;

typedef struct log_entry {
    const model_site *site;
    uint64_t value;
    uint8_t thread;
    bool weak;
} log_entry;

static struct {
    const model_program *program;
    model_result *result;
    thread threads[MODEL_THREADS_MAX];
    uint32_t self; /* NOBODY: setup, check */
    place objects[OBJECTS_MAX];
    uint32_t object_count;
    view ordered;  /* by all sequentially consistent stores and fences so far */
    unsigned preemptions_left, delays_left, steps, steps_longest, steps_max;
    choice choices[CHOICES_MAX];
    uint32_t depth, known_depth;
    log_entry log[LOG_MAX];
    uint32_t log_count;
    uint64_t execution;
    asx__stack_pool pool;
    bool pool_made;
    asx__stack host;
    void *host_sp;
    jmp_buf host_jump;
    bool failed;
    char why[160];
    model_site *sites;
} m;

/* ---- choices and failures ------------------------------------------------------------------- */

_Noreturn void model_fail(const char *file, int line, const char *text)
{
    const char *base = strrchr(file, '/');
    (void)snprintf(m.why, sizeof m.why, "%s:%d: %s", base != NULL ? base + 1 : file, line, text);
    m.failed = true;
    if (m.program == NULL) { /* outside of any exploration */
        asx_test_fail(file, line, "%s", text);
    }
    if (m.self == NOBODY)
        longjmp(m.host_jump, 1);
    thread *t = &m.threads[m.self];
    (void)asx__fiber_switch_on(t->stack, &m.host, &t->sp, m.host_sp, 0);
    abort(); /* nobody resumes it */
}

#define FAIL(text) model_fail(__FILE__, __LINE__, text)

static uint32_t choose(uint32_t options)
{
    if (options <= 1)
        return 0;
    if (m.depth == CHOICES_MAX)
        FAIL("too many choices in one execution");
    choice *c = &m.choices[m.depth++];
    if (m.depth > m.known_depth) {
        m.known_depth = m.depth;
        c->options = options;
        c->taken = 0;
    }
    if (c->options != options)
        FAIL("the program is not deterministic");
    return c->taken;
}

unsigned model_choose(unsigned n)
{
    return choose(n);
}

unsigned model_self(void)
{
    return m.self;
}

/* The next leaf of the tree; false: that was the last. */
static bool backtrack(void)
{
    while (m.known_depth > 0) {
        choice *c = &m.choices[m.known_depth - 1];
        if (++c->taken < c->options)
            return true;
        m.known_depth--;
    }
    return false;
}

/* ---- threads -------------------------------------------------------------------------------- */

static void switch_to(uint32_t to)
{
    uint32_t from = m.self;
    if (to == from)
        return;
    m.self = to;
    thread *t = &m.threads[to];
    if (from == NOBODY) {
        (void)asx__fiber_switch_on(&m.host, t->stack, &m.host_sp, t->sp, 0);
        return;
    }
    thread *f = &m.threads[from];
    (void)asx__fiber_switch_on(f->stack, t->stack, &f->sp, t->sp, 0);
}

/* Those who can go, without `except`. Those who would be late come last, if they are wanted. */
static uint32_t list_others(uint32_t except, bool late, uint32_t *ret_list)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i <= m.program->threads; i++) {
        uint32_t u = (except == NOBODY ? i - 1 : except + i) % m.program->threads;
        if (u != except && m.threads[u].state == READY && !m.threads[u].relaxed)
            ret_list[n++] = u;
    }
    for (uint32_t u = 0; late && u < m.program->threads; u++)
        if (u != except && m.threads[u].state == AT_FUTEX && m.threads[u].timed)
            ret_list[n++] = u;
    return n;
}

static void resume(uint32_t u)
{
    thread *t = &m.threads[u];
    if (t->state == AT_FUTEX) {
        t->state = READY;
        t->late = true;
    }
    t->fresh = true;
    switch_to(u);
}

static void report_deadlock(void)
{
    size_t n = (size_t)snprintf(m.why, sizeof m.why, "nobody can go on:");
    for (uint32_t u = 0; u < m.program->threads; u++) {
        const thread *t = &m.threads[u];
        if (t->state != ENDED && n < sizeof m.why)
            n += (size_t)snprintf(m.why + n, sizeof m.why - n, " %u waits in %s (%s);", u + 1,
                                  t->waits_at->function, t->waits_at->kind);
    }
    m.failed = true;
}

/* The running thread cannot go on, or not now. Returns when it can. */
static void leave(void)
{
    uint32_t self = m.self;
    uint32_t list[MODEL_THREADS_MAX];
    uint32_t ready = list_others(self, false, list);
    if (ready == 0) { /* only those who spin are left, perhaps */
        for (uint32_t u = 0; u < m.program->threads; u++)
            m.threads[u].relaxed = false;
        if (m.threads[self].state == READY)
            return;
        ready = list_others(self, false, list);
    }
    /* Being late while others could go is as good as a preemption; else it is the only way. */
    uint32_t n = list_others(NOBODY, ready == 0 || m.preemptions_left > 0, list);
    if (n > 0) {
        uint32_t c = choose(n);
        m.preemptions_left -= ready > 0 && c >= ready;
        resume(list[c]);
        return;
    }
    bool over = true;
    for (uint32_t u = 0; u < m.program->threads; u++)
        over &= m.threads[u].state == ENDED;
    if (!over)
        report_deadlock();
    thread *t = &m.threads[self];
    m.self = NOBODY;
    (void)asx__fiber_switch_on(t->stack, &m.host, &t->sp, m.host_sp, 0);
}

/* Before each step of the running thread: it, or somebody else first? */
static void point(void)
{
    thread *t = &m.threads[m.self];
    if (++m.steps > m.steps_max)
        FAIL("no end in sight: too many steps");
    if (!t->fresh && m.preemptions_left > 0) {
        uint32_t list[MODEL_THREADS_MAX];
        uint32_t c = choose(1 + list_others(m.self, true, list));
        if (c > 0) {
            m.preemptions_left--;
            resume(list[c - 1]);
        }
    }
    t->fresh = false;
}

void model_relax(void)
{
    if (m.self == NOBODY)
        return;
    m.threads[m.self].relaxed = true;
    leave();
}

static void entry(void *arg, int ret)
{
    thread *t = arg;
    (void)ret;
    asx__fiber_started(t->stack);
    for (;;) {
        m.program->thread[t - m.threads]();
        t->state = ENDED;
        leave();
    }
}

static void note(const model_site *site, uint64_t value, bool weak)
{
    if (m.log_count < LOG_MAX)
        m.log[m.log_count++] = (log_entry){ site, value, (uint8_t)m.self, weak };
}

/* ---- memory --------------------------------------------------------------------------------- */

static uint64_t read_plain(const void *address, size_t size)
{
    if (size == 4) {
        uint32_t v;
        memcpy(&v, address, 4);
        return v;
    }
    uint64_t v;
    memcpy(&v, address, 8);
    return v;
}

static void write_plain(void *address, size_t size, uint64_t value)
{
    uint32_t small = (uint32_t)value;
    memcpy(address, size == 4 ? (void *)&small : (void *)&value, size);
}

static place *find_object(const void *address, size_t size)
{
    for (uint32_t i = 0; i < m.object_count; i++)
        if (m.objects[i].address == address)
            return &m.objects[i];
    if (m.object_count == OBJECTS_MAX)
        FAIL("too many atomic objects");
    place *o = &m.objects[m.object_count++];
    o->address = address;
    o->count = 1;
    o->messages[0] = (message){ .value = read_plain(address, size), .ts = TS_GAP };
    return o;
}

static void learn(knowledge *to, const knowledge *from)
{
    for (uint32_t i = 0; i < m.object_count; i++) {
        if (to->seen.ts[i] < from->seen.ts[i])
            to->seen.ts[i] = from->seen.ts[i];
        if (to->ordered.ts[i] < from->ordered.ts[i])
            to->ordered.ts[i] = from->ordered.ts[i];
    }
    for (uint32_t u = 0; u < MODEL_THREADS_MAX; u++)
        if (to->before.of[u] < from->before.of[u])
            to->before.of[u] = from->before.of[u];
}

static bool acquires(memory_order mo)
{
    return mo == memory_order_acquire || mo == memory_order_acq_rel || mo == memory_order_seq_cst;
}

static bool releases(memory_order mo)
{
    return mo == memory_order_release || mo == memory_order_acq_rel || mo == memory_order_seq_cst;
}

static uint32_t number_of(const place *o)
{
    return (uint32_t)(o - m.objects);
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

/* The oldest message that a load of the running thread may see ... */
static uint32_t oldest(const place *o, memory_order mo)
{
    const knowledge *now = &m.threads[m.self].now;
    uint32_t n = number_of(o);
    return first_from(o, now->seen.ts[n], mo == memory_order_seq_cst ? now->ordered.ts[n] : 0);
}

/* ... and that a store of it may be put behind. */
static uint32_t oldest_for_store(const place *o, memory_order mo)
{
    uint32_t n = number_of(o);
    return first_from(o, m.threads[m.self].now.seen.ts[n],
                      mo == memory_order_seq_cst ? m.ordered.ts[n] : 0);
}

static void see(place *o, const message *seen, memory_order mo)
{
    thread *t = &m.threads[m.self];
    uint32_t *ts = &t->now.seen.ts[number_of(o)];
    if (*ts < seen->ts)
        *ts = seen->ts;
    learn(acquires(mo) ? &t->now : &t->acquirable, &seen->released);
}

/* A new message behind the `at`-th. A read-modify-write leaves no room in between. */
static void put(place *o, uint32_t at, uint64_t value, size_t size, memory_order mo, bool rmw)
{
    thread *t = &m.threads[m.self];
    if (o->count == MESSAGES_MAX)
        FAIL("too many stores to one object");
    knowledge inherited;
    if (rmw)
        inherited = o->messages[at].released;
    for (uint32_t i = o->count; i > at + 1; i--)
        o->messages[i] = o->messages[i - 1];
    o->count++;
    message *new = &o->messages[at + 1];
    uint32_t ts = o->messages[at].ts;
    if (rmw)
        ts += 1;
    else if (at + 2 == o->count)
        ts += TS_GAP;
    else
        ts += (o->messages[at + 2].ts - ts) / 2;
    new->value = value;
    new->ts = ts;
    t->now.seen.ts[number_of(o)] = ts;
    if (mo == memory_order_seq_cst) {
        if (m.ordered.ts[number_of(o)] < ts)
            m.ordered.ts[number_of(o)] = ts;
        t->now.ordered = m.ordered;
    }
    new->released = releases(mo) ? t->now : t->releasable;
    new->released.seen.ts[number_of(o)] = ts;
    if (rmw)
        learn(&new->released, &inherited);
    if (at + 2 == o->count)
        write_plain((void *)(uintptr_t)o->address, size, value);
    t->now.before.of[m.self]++; /* what comes now is not released by this */
    for (uint32_t u = 0; u < m.program->threads; u++)
        m.threads[u].relaxed = false; /* there may be something to see */
}

/* ---- atomics -------------------------------------------------------------------------------- */

static memory_order enter(model_site *site, memory_order mo)
{
    if (!site->known) {
        site->known = true;
        site->order = mo;
        site->next = m.sites;
        m.sites = site;
    }
    if (m.self != NOBODY)
        point();
    return site->is_weakened ? site->weakened : mo;
}

void model_init(void *address, uint64_t value)
{
    /* Memory that is used again: old messages are nobody's business any more. */
    for (uint32_t i = 0; i < m.object_count; i++)
        if (m.objects[i].address == address && m.self != NOBODY)
            put(&m.objects[i], m.objects[i].count - 1, value, sizeof(uint32_t),
                memory_order_relaxed, false);
}

uint64_t model_load(model_site *site, const void *address, size_t size, memory_order mo)
{
    mo = enter(site, mo);
    if (m.self == NOBODY)
        return read_plain(address, size);
    if (site->pretends) {
        note(site, site->pretended, true);
        return site->pretended;
    }
    place *o = find_object(address, size);
    uint32_t from = oldest(o, mo);
    uint32_t back = m.delays_left > 0 ? choose(o->count - from) : 0;
    m.delays_left -= back > 0;
    const message *seen = &o->messages[o->count - 1 - back];
    uint64_t value = seen->value;
    see(o, seen, mo);
    note(site, value, back > 0);
    return value;
}

void model_store(model_site *site, void *address, size_t size, uint64_t value, memory_order mo)
{
    mo = enter(site, mo);
    if (m.self == NOBODY) {
        write_plain(address, size, value);
        return;
    }
    if (site->skipped)
        return;
    place *o = find_object(address, size);
    uint32_t from = oldest_for_store(o, mo);
    uint32_t places[MESSAGES_MAX];
    uint32_t n = 0;
    places[n++] = o->count - 1;
    for (uint32_t i = o->count - 1; i > from && m.delays_left > 0; i--)
        if (o->messages[i].ts - o->messages[i - 1].ts > 1)
            places[n++] = i - 1;
    uint32_t c = choose(n);
    m.delays_left -= c > 0;
    put(o, places[c], value, size, mo, false);
    note(site, value, c > 0);
}

static uint64_t apply(enum asx__rmw op, uint64_t a, uint64_t b)
{
    switch (op) {
    case ASX__RMW_ADD:
        return a + b;
    case ASX__RMW_SUB:
        return a - b;
    case ASX__RMW_OR:
        return a | b;
    default:
        return a & b;
    }
}

/* The newest value, and an own step for the store if the site is torn. */
static uint64_t take_newest(model_site *site, place *o, memory_order mo)
{
    const message *newest = &o->messages[o->count - 1];
    uint64_t value = newest->value;
    see(o, newest, mo);
    if (site->torn) {
        note(site, value, true);
        point();
    }
    return value;
}

static uint64_t change(model_site *site, void *address, size_t size, enum asx__rmw op,
                       bool exchange, uint64_t value, memory_order mo)
{
    mo = enter(site, mo);
    if (m.self == NOBODY) {
        uint64_t old = read_plain(address, size);
        write_plain(address, size, exchange ? value : apply(op, old, value));
        return old;
    }
    place *o = find_object(address, size);
    uint64_t old = take_newest(site, o, mo);
    uint64_t new = exchange ? value : apply(op, old, value);
    if (size == 4)
        new = (uint32_t)new;
    put(o, o->count - 1, new, size, mo, !site->torn);
    note(site, new, false);
    return old;
}

uint64_t model_exchange(model_site *site, void *address, size_t size, uint64_t value,
                        memory_order mo)
{
    return change(site, address, size, ASX__RMW_ADD, true, value, mo);
}

uint64_t model_rmw(model_site *site, void *address, size_t size, enum asx__rmw op, uint64_t value,
                   memory_order mo)
{
    return change(site, address, size, op, false, value, mo);
}

bool model_cas(model_site *site, void *address, size_t size, uint64_t *expected, uint64_t desired,
               memory_order mo, memory_order mo_failed)
{
    mo = enter(site, mo);
    if (m.self == NOBODY) {
        uint64_t old = read_plain(address, size);
        bool same = old == *expected;
        if (same)
            write_plain(address, size, desired);
        *expected = old;
        return same;
    }
    place *o = find_object(address, size);
    const message *newest = &o->messages[o->count - 1];
    if (newest->value != *expected && !site->blind) {
        *expected = newest->value;
        see(o, newest, site->is_weakened && !acquires(mo) ? memory_order_relaxed : mo_failed);
        note(site, *expected, false);
        return false;
    }
    (void)take_newest(site, o, mo);
    put(o, o->count - 1, desired, size, mo, !site->torn);
    note(site, desired, false);
    return true;
}

void model_fence(model_site *site)
{
    (void)enter(site, memory_order_seq_cst);
    if (m.self == NOBODY || site->is_weakened)
        return;
    thread *t = &m.threads[m.self];
    learn(&t->now, &t->acquirable);
    for (uint32_t i = 0; i < m.object_count; i++) {
        if (t->now.seen.ts[i] < m.ordered.ts[i])
            t->now.seen.ts[i] = m.ordered.ts[i];
        m.ordered.ts[i] = t->now.seen.ts[i];
    }
    t->now.ordered = m.ordered;
    t->releasable = t->now;
    t->now.before.of[m.self]++;
    note(site, 0, false);
}

/* ---- waiting -------------------------------------------------------------------------------- */

bool model_futex_wait(model_site *site, asx__atomic_u32 *word, uint32_t expected,
                      uint64_t deadline_ns)
{
    (void)enter(site, memory_order_relaxed);
    if (m.self == NOBODY)
        FAIL("only threads can wait");
    thread *t = &m.threads[m.self];
    place *o = find_object(word, sizeof word->v_);
    see(o, &o->messages[o->count - 1], memory_order_relaxed); /* the kernel's look is no older */
    note(site, o->messages[o->count - 1].value, false);
    if (o->messages[o->count - 1].value != expected)
        return true;
    t->state = AT_FUTEX;
    t->timed = deadline_ns != ASX__FUTEX_FOREVER;
    t->late = false;
    t->waits_for = word;
    t->waits_at = site;
    leave();
    return !t->late;
}

void model_futex_wake(model_site *site, asx__atomic_u32 *word, uint32_t count)
{
    (void)enter(site, memory_order_relaxed);
    if (site->skipped)
        return;
    for (; count > 0; count--) {
        uint32_t list[MODEL_THREADS_MAX];
        uint32_t n = 0;
        for (uint32_t u = 0; u < m.program->threads; u++)
            if (m.threads[u].state == AT_FUTEX && m.threads[u].waits_for == word)
                list[n++] = u;
        if (n == 0)
            break;
        uint32_t u = list[choose(n)];
        m.threads[u].state = READY;
        note(site, u + 1, false);
    }
}

bool model_lock_take(model_site *site, asx__atomic_u32 *held, bool may_wait)
{
    (void)enter(site, memory_order_acquire);
    if (m.self == NOBODY)
        return true;
    thread *t = &m.threads[m.self];
    place *o = find_object(held, sizeof held->v_);
    while (o->messages[o->count - 1].value != 0) {
        if (!may_wait)
            return false;
        t->state = AT_LOCK;
        t->waits_for = held;
        t->waits_at = site;
        leave();
    }
    (void)take_newest(site, o, memory_order_acquire);
    put(o, o->count - 1, 1, sizeof held->v_, memory_order_acquire, true);
    note(site, 1, false);
    return true;
}

void model_lock_drop(model_site *site, asx__atomic_u32 *held)
{
    (void)enter(site, memory_order_release);
    if (m.self == NOBODY)
        return;
    place *o = find_object(held, sizeof held->v_);
    if (o->messages[o->count - 1].value == 0)
        FAIL("the lock is not held");
    put(o, o->count - 1, 0, sizeof held->v_, memory_order_release, true);
    note(site, 0, false);
    for (uint32_t u = 0; u < m.program->threads; u++)
        if (m.threads[u].state == AT_LOCK && m.threads[u].waits_for == held)
            m.threads[u].state = READY;
}

/* ---- plain data ----------------------------------------------------------------------------- */

static void check_race(const uint32_t *earlier, const char *file, int line)
{
    const thread *t = &m.threads[m.self];
    for (uint32_t u = 0; u < MODEL_THREADS_MAX; u++)
        if (earlier[u] > t->now.before.of[u] && u != m.self)
            model_fail(file, line, "data race");
}

static void enter_data(model_data *data)
{
    if (data->execution == m.execution)
        return;
    memset(data->written, 0, sizeof data->written);
    memset(data->read, 0, sizeof data->read);
    data->execution = m.execution;
}

uint64_t model_read_at(model_data *data, const char *file, int line)
{
    if (m.self != NOBODY) {
        enter_data(data);
        check_race(data->written, file, line);
        data->read[m.self] = m.threads[m.self].now.before.of[m.self];
    }
    return data->value;
}

void model_write_at(model_data *data, uint64_t value, const char *file, int line)
{
    if (m.self != NOBODY) {
        enter_data(data);
        check_race(data->written, file, line);
        check_race(data->read, file, line);
        data->written[m.self] = m.threads[m.self].now.before.of[m.self];
    }
    data->value = value;
}

/* ---- search --------------------------------------------------------------------------------- */

static void renew_stacks(bool first)
{
    if (!m.pool_made) {
        asx__stack_config config = { .stack_size = (size_t)128 * 1024 };
        CHECK_EQ(asx__stack_pool_init(&m.pool, &config), 0);
        asx__stack_adopt_host(&m.host);
        m.pool_made = true;
    }
    for (uint32_t u = 0; u < m.program->threads; u++) {
        thread *t = &m.threads[u];
        if (!first)
            asx__stack_release(&m.pool, t->stack);
    }
    for (uint32_t u = 0; first && u < m.program->threads; u++) {
        thread *t = &m.threads[u];
        t->stack = asx__stack_acquire(&m.pool);
        CHECK(t->stack != NULL);
        t->sp = asx__fiber_make(asx__stack_top(t->stack), entry, t);
    }
}

static void begin(void)
{
    const model_program *p = m.program;
    m.execution++;
    m.object_count = 0;
    memset(&m.ordered, 0, sizeof m.ordered);
    m.preemptions_left = p->preemptions;
    m.delays_left = p->delays;
    m.steps = 0;
    m.log_count = 0;
    m.depth = 0;
    m.self = NOBODY;
    for (uint32_t u = 0; u < p->threads; u++) {
        thread *t = &m.threads[u];
        asx__stack *stack = t->stack;
        void *sp = t->sp;
        *t = (thread){ .stack = stack, .sp = sp };
        t->now.before.of[u] = 1;
    }
}

static void execute(void)
{
    begin();
    if (setjmp(m.host_jump) == 0) {
        if (m.program->setup != NULL)
            m.program->setup();
        uint32_t first = choose(m.program->threads);
        m.threads[first].fresh = true;
        switch_to(first);
        m.self = NOBODY;
        if (!m.failed && m.program->check != NULL)
            m.program->check();
    }
    m.self = NOBODY;
    if (m.steps > m.steps_longest)
        m.steps_longest = m.steps;
}

static void append(model_result *r, size_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append(model_result *r, size_t *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (*at < sizeof r->trace) {
        int n = vsnprintf(r->trace + *at, sizeof r->trace - *at, format, args);
        *at += n > 0 ? (size_t)n : 0;
    }
    va_end(args);
}

/* One line per step, a column per thread. */
static void write_trace(model_result *r)
{
    size_t at = 0;
    r->trace[0] = 0;
    uint32_t first = m.log_count > TRACE_MAX ? m.log_count - TRACE_MAX : 0;
    for (uint32_t i = first; i < m.log_count; i++) {
        const log_entry *e = &m.log[i];
        append(r, &at, "%*s%u: %s %s = %llu%s  [%s:%d]\n", 2 + 4 * e->thread, "",
               e->thread + 1u, e->site->kind, e->site->object, (unsigned long long)e->value,
               e->weak ? " (weak)" : "", e->site->function, e->site->line);
    }
}

void model_explore(const model_program *program, model_result *ret_result)
{
    memset(ret_result, 0, sizeof *ret_result);
    m.program = program;
    m.result = ret_result;
    m.failed = false;
    m.known_depth = 0;
    m.steps_longest = 0;
    m.steps_max = program->steps_max != 0 ? program->steps_max : 1000;
    renew_stacks(true);
    do {
        execute();
        ret_result->executions++;
        ret_result->steps = m.steps_longest;
        if (m.failed)
            break;
        ret_result->complete = !backtrack();
    } while (!ret_result->complete &&
             (program->executions_max == 0 || ret_result->executions < program->executions_max));
    ret_result->failed = m.failed;
    if (m.failed) {
        memcpy(ret_result->why, m.why, sizeof m.why);
        write_trace(ret_result);
    }
    renew_stacks(false);
    m.program = NULL;
}

model_site *model_sites(void)
{
    return m.sites;
}
