/* What is behind model.h: programs as lab tests, model atomics as operations on weak.h. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__MODEL_LOCKS
#include "base/atomic.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <asx/region.h>
#include <asx/search.h>
#include <asx/task.h>

#include "harness.h"

#define NOBODY UINT32_MAX

static struct {
    const model_program *program;
    asx__weak *weak;
    asx_cx *cx[MODEL_THREADS_MAX + 1];  /* the last: the test itself */
    jmp_buf out[MODEL_THREADS_MAX + 1]; /* where who has failed goes */
    uint32_t self;                      /* NOBODY: setup, check */
    bool failed;
    char why[160], where[160];
    model_site *sites;
} m;

/* ---- failures ------------------------------------------------------------------------------- */

static uint32_t frame_of_self(void)
{
    return m.self == NOBODY ? MODEL_THREADS_MAX : m.self;
}

/* Whoever comes to a step after the failure does not do it: nothing holds any more. */
static _Noreturn void leave(void)
{
    longjmp(m.out[frame_of_self()], 1);
}

_Noreturn void model_fail(const char *file, int line, const char *text)
{
    const char *base = strrchr(file, '/');
    if (m.program == NULL) /* outside of any exploration */
        asx_test_fail(file, line, "%s", text);
    if (!m.failed) {
        (void)snprintf(m.why, sizeof m.why, "%s", text);
        (void)snprintf(m.where, sizeof m.where, "%s:%d", base != NULL ? base + 1 : file, line);
        m.failed = true;
        asx_lab_check_at(m.cx[frame_of_self()], false, m.why, m.where);
    }
    leave();
}

#define FAIL(text) model_fail(__FILE__, __LINE__, text)

unsigned model_self(void)
{
    return m.self;
}

/* ---- atomics -------------------------------------------------------------------------------- */

static memory_order enter(model_site *site, memory_order mo)
{
    if (!site->known) {
        const char *base = strrchr(site->file, '/');
        (void)snprintf(site->text, sizeof site->text, "%s:%d %s: %s %s",
                       base != NULL ? base + 1 : site->file, site->line, site->function,
                       site->kind, site->object);
        site->known = true;
        site->order = mo;
        site->next = m.sites;
        m.sites = site;
    }
    if (m.self != NOBODY && m.failed)
        leave();
    return site->is_weakened ? site->weakened : mo;
}

static asx__weak_access access_of(const model_site *site, const void *object, size_t size,
                                  memory_order mo)
{
    return (asx__weak_access){ .thread = m.self, .size = (uint32_t)size,
                               .object = (void *)(uintptr_t)object, .order = mo,
                               .site = site->text };
}

/* The step is done, and this is who runs. */
static void back(uint32_t self)
{
    m.self = self;
    if (asx__weak_trouble(m.weak) != NULL)
        FAIL(asx__weak_trouble(m.weak));
}

static uint64_t read_plain(const void *address, size_t size)
{
    uint32_t small;
    uint64_t value;
    if (size == 8) {
        memcpy(&value, address, 8);
        return value;
    }
    memcpy(&small, address, 4);
    return small;
}

static void write_plain(void *address, size_t size, uint64_t value)
{
    uint32_t small = (uint32_t)value;
    memcpy(address, size == 4 ? (void *)&small : (void *)&value, size);
}

/* By a thread: memory that is used again. */
void model_init(void *address, size_t size, uint64_t value)
{
    static model_site site = { .file = __FILE__, .line = __LINE__, .kind = "init", .object = "",
                               .function = "model_init" };
    if (m.self == NOBODY) {
        write_plain(address, size, value);
        return;
    }
    (void)enter(&site, memory_order_relaxed);
    uint32_t self = m.self;
    asx__weak_access a = access_of(&site, address, size, memory_order_relaxed);
    a.newest = true;
    asx__weak_store(m.weak, &a, value);
    back(self);
}

uint64_t model_load(model_site *site, const void *address, size_t size, memory_order mo)
{
    mo = enter(site, mo);
    if (m.self == NOBODY)
        return read_plain(address, size);
    if (site->pretends)
        return site->pretended;
    uint32_t self = m.self;
    asx__weak_access a = access_of(site, address, size, mo);
    uint64_t value = asx__weak_load(m.weak, &a);
    back(self);
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
    uint32_t self = m.self;
    asx__weak_access a = access_of(site, address, size, mo);
    asx__weak_store(m.weak, &a, value);
    back(self);
}

static uint64_t apply(asx__weak_change change, uint64_t a, uint64_t b)
{
    switch (change) {
    case ASX__WEAK_ADD:
        return a + b;
    case ASX__WEAK_OR:
        return a | b;
    case ASX__WEAK_AND:
        return a & b;
    default:
        return b;
    }
}

static uint64_t cut(uint64_t value, size_t size)
{
    return size == 4 ? (uint32_t)value : value;
}

static uint64_t change(model_site *site, void *address, size_t size, asx__weak_change how,
                       uint64_t value, memory_order mo)
{
    mo = enter(site, mo);
    if (m.self == NOBODY) {
        uint64_t old = read_plain(address, size);
        write_plain(address, size, apply(how, old, value));
        return old;
    }
    uint32_t self = m.self;
    asx__weak_access a = access_of(site, address, size, mo);
    uint64_t old;
    if (site->torn) { /* two steps, and what is in between is lost */
        a.newest = true;
        old = asx__weak_load(m.weak, &a);
        m.self = self;
        asx__weak_store(m.weak, &a, cut(apply(how, old, value), size));
    } else {
        old = asx__weak_rmw(m.weak, &a, how, value);
    }
    back(self);
    return old;
}

uint64_t model_exchange(model_site *site, void *address, size_t size, uint64_t value,
                        memory_order mo)
{
    return change(site, address, size, ASX__WEAK_EXCHANGE, value, mo);
}

uint64_t model_rmw(model_site *site, void *address, size_t size, enum asx__rmw op, uint64_t value,
                   memory_order mo)
{
    switch (op) {
    case ASX__RMW_ADD:
        return change(site, address, size, ASX__WEAK_ADD, value, mo);
    case ASX__RMW_SUB:
        return change(site, address, size, ASX__WEAK_ADD, cut(0 - value, size), mo);
    case ASX__RMW_OR:
        return change(site, address, size, ASX__WEAK_OR, value, mo);
    default:
        return change(site, address, size, ASX__WEAK_AND, value, mo);
    }
}

static bool acquires(memory_order mo)
{
    return mo == memory_order_acquire || mo == memory_order_acq_rel || mo == memory_order_seq_cst;
}

/* Two steps; false: the first has found something else. */
static bool cas_torn(asx__weak_access *a, uint64_t *expected, uint64_t desired)
{
    uint32_t self = m.self;
    a->newest = true;
    uint64_t old = asx__weak_load(m.weak, a);
    m.self = self;
    if (old != *expected) {
        *expected = old;
        return false;
    }
    asx__weak_store(m.weak, a, desired);
    return true;
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
    uint32_t self = m.self;
    asx__weak_access a = access_of(site, address, size, mo);
    bool done = true;
    if (site->torn)
        done = cas_torn(&a, expected, desired);
    else if (site->blind)
        (void)asx__weak_rmw(m.weak, &a, ASX__WEAK_EXCHANGE, desired);
    else
        done = asx__weak_cas(m.weak, &a, expected, desired,
                             site->is_weakened && !acquires(mo) ? memory_order_relaxed
                                                                : mo_failed);
    back(self);
    return done;
}

void model_fence(model_site *site)
{
    (void)enter(site, memory_order_seq_cst);
    if (m.self == NOBODY || site->is_weakened)
        return;
    uint32_t self = m.self;
    asx__weak_access a = access_of(site, NULL, 0, memory_order_seq_cst);
    asx__weak_fence(m.weak, &a);
    back(self);
}

/* ---- waiting -------------------------------------------------------------------------------- */

bool model_futex_wait(model_site *site, asx__atomic_u32 *word, uint32_t expected,
                      uint64_t deadline_ns)
{
    (void)enter(site, memory_order_relaxed);
    if (m.self == NOBODY)
        FAIL("only threads can wait");
    uint32_t self = m.self;
    asx__weak_access a = access_of(site, word, sizeof word->v_, memory_order_relaxed);
    bool woken = asx__weak_futex_wait(m.weak, &a, expected, deadline_ns != ASX__FUTEX_FOREVER);
    back(self);
    return woken;
}

void model_futex_wake(model_site *site, asx__atomic_u32 *word, uint32_t count)
{
    (void)enter(site, memory_order_relaxed);
    if (m.self == NOBODY || site->skipped)
        return;
    uint32_t self = m.self;
    asx__weak_access a = access_of(site, word, sizeof word->v_, memory_order_relaxed);
    asx__weak_futex_wake(m.weak, &a, count);
    back(self);
}

void model_relax(void)
{
    static model_site site = { .file = __FILE__, .line = __LINE__, .kind = "relax", .object = "",
                               .function = "model_relax" };
    if (m.self == NOBODY)
        return;
    (void)enter(&site, memory_order_relaxed);
    uint32_t self = m.self;
    asx__weak_access a = access_of(&site, NULL, 0, memory_order_relaxed);
    asx__weak_relax(m.weak, &a);
    back(self);
}

bool model_lock_take(model_site *site, asx__atomic_u32 *held, bool may_wait)
{
    (void)enter(site, memory_order_acquire);
    if (m.self == NOBODY)
        return true;
    uint32_t self = m.self;
    asx__weak_access a = access_of(site, held, sizeof held->v_, memory_order_acquire);
    bool taken = asx__weak_lock(m.weak, &a, may_wait);
    back(self);
    return taken;
}

void model_lock_drop(model_site *site, asx__atomic_u32 *held)
{
    (void)enter(site, memory_order_release);
    if (m.self == NOBODY)
        return;
    uint32_t self = m.self;
    asx__weak_access a = access_of(site, held, sizeof held->v_, memory_order_release);
    bool was = asx__weak_unlock(m.weak, &a);
    back(self);
    if (!was)
        FAIL("the lock is not held");
}

/* ---- plain data ----------------------------------------------------------------------------- */

static void access_data(model_data *data, bool writes, const char *file, int line)
{
    if (m.self == NOBODY)
        return;
    if (m.failed)
        leave();
    if (!asx__weak_plain(m.weak, m.self, &data->accesses, writes))
        model_fail(file, line, "data race");
}

uint64_t model_read_at(model_data *data, const char *file, int line)
{
    access_data(data, false, file, line);
    return data->value;
}

void model_write_at(model_data *data, uint64_t value, const char *file, int line)
{
    access_data(data, true, file, line);
    data->value = value;
}

/* ---- programs as lab tests ------------------------------------------------------------------ */

static asx_status thread_main(asx_cx *cx, void *arg)
{
    const uint32_t self = (uint32_t)(uintptr_t)arg;
    m.cx[self] = cx;
    asx__weak_thread(m.weak, self, cx);
    m.self = self;
    if (setjmp(m.out[self]) == 0)
        m.program->thread[self]();
    m.self = NOBODY;
    return ASX_OK;
}

static void run_threads(asx_cx *cx)
{
    static const char *const names[MODEL_THREADS_MAX] = { "A", "B", "C", "D" };
    asx_region region;
    CHECK_EQ(asx_region_open(cx, NULL, &region), ASX_OK);
    for (uint32_t i = 0; i < m.program->threads; i++)
        CHECK_EQ(asx_spawn(&region, names[i], thread_main, (void *)(uintptr_t)i), ASX_OK);
    CHECK_EQ(asx_region_close(&region, ASX_OK), ASX_OK);
    m.self = NOBODY;
}

static void test_main(asx_cx *cx, void *arg)
{
    (void)arg;
    m.failed = false;
    m.self = NOBODY;
    m.cx[MODEL_THREADS_MAX] = cx;
    asx__weak_begin(m.weak, m.program->delays != 0);
    if (setjmp(m.out[MODEL_THREADS_MAX]) != 0)
        return;
    if (m.program->setup != NULL)
        m.program->setup();
    run_threads(cx);
    if (!m.failed && m.program->check != NULL)
        m.program->check();
}

static void on_failure(void *ctx, const asx_explore_failure *failure)
{
    model_result *r = ctx;
    r->failed = true;
    (void)snprintf(r->why, sizeof r->why, "%s%s%s", failure->site, *failure->site ? ": " : "",
                   failure->verdict == ASX_EXPLORE_TOO_LONG ? "no end in sight: too many steps"
                                                            : failure->text);
    (void)snprintf(r->site, sizeof r->site, "%s", failure->site);
    r->verdict = failure->verdict;
    r->failed_at = failure->steps;
    (void)snprintf(r->trace, sizeof r->trace, "%s", failure->interleaving);
    (void)snprintf(r->schedule, sizeof r->schedule, "%s", failure->schedule);
}

static asx_explore_options options_of(const model_program *p, model_result *result)
{
    bool all = p->preemptions == MODEL_ALL;
    return (asx_explore_options){
        .mode = all ? ASX_EXPLORE_OPTIMAL : ASX_EXPLORE_DFS,
        .bound = all ? 0 : p->preemptions + 1, .weak = p->delays + 1,
        .executions_max = p->executions_max, .steps_max = p->steps_max != 0 ? p->steps_max : 1000,
        .stop_at_first = true, .on_failure = on_failure, .ctx = result,
    };
}

static void explore(const model_program *program, const asx_explore_options *options,
                    model_result *ret_result)
{
    asx_explore_result result;
    memset(ret_result, 0, sizeof *ret_result);
    m.program = program;
    if (m.weak == NULL)
        m.weak = asx__weak_create();
    CHECK(m.weak != NULL);
    CHECK_EQ(asx_explore(test_main, NULL, options, &result), ASX_OK);
    m.program = NULL;
    m.self = NOBODY;
    if (result.status < 0)
        asx_test_fail(__FILE__, __LINE__, "%s: %s", program->name, asx_status_str(result.status));
    ret_result->executions = result.totals.executions;
    ret_result->classes = result.totals.classes;
    ret_result->redundant = result.totals.redundant;
    ret_result->blocked = result.totals.blocked;
    ret_result->steps = result.totals.steps_longest;
    ret_result->complete = result.complete || result.stopped == ASX_EXPLORE_STOP_BOUND;
}

void model_explore(const model_program *program, model_result *ret_result)
{
    asx_explore_options options = options_of(program, ret_result);
    explore(program, &options, ret_result);
}

void model_replay(const model_program *program, const char *schedule, model_result *ret_result)
{
    asx_explore_options options = options_of(program, ret_result);
    options.schedule = schedule;
    explore(program, &options, ret_result);
}

static char *copy(const char *text)
{
    char *made = malloc(strlen(text) + 1);
    CHECK(made != NULL);
    return strcpy(made, text);
}

void model_shrink(const model_program *program, model_result *result)
{
    asx_explore_options options = options_of(program, result);
    asx_lab_finding finding = { .found = result->failed, .verdict = result->verdict,
                                .steps = result->failed_at, .text = copy(result->why),
                                .site = copy(result->site), .schedule = copy(result->schedule),
                                .interleaving = copy(result->trace) };
    m.program = program;
    CHECK_EQ(asx_lab_shrink(&finding, test_main, NULL, 300, &options), ASX_OK);
    m.program = NULL;
    (void)snprintf(result->trace, sizeof result->trace, "%s", finding.interleaving);
    (void)snprintf(result->schedule, sizeof result->schedule, "%s", finding.schedule);
    result->failed_at = finding.steps;
    asx_lab_finding_deinit(&finding);
}

model_site *model_sites(void)
{
    return m.sites;
}
