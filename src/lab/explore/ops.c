/* ops.c - the operations that a lab test makes: cells, locks, semaphores, choices, and what
 * it says of objects. */
#include "lab/explore/explore.h"

#include <string.h>

static uint64_t cut(uint64_t value, size_t size)
{
    return size >= 8 ? value : value & ((UINT64_C(1) << (size * 8)) - 1);
}

static asx__oracles *oracles_of(const asx_cx *cx)
{
    bool runs = cx != NULL && cx->rt_ != NULL && cx->task_ != NULL;
    return runs ? asx__oracles_of(cx->rt_) : NULL;
}

/* The oracle of data races has complained on the stack of the task that it is about. */
static void tell_race(const asx_cx *cx, const asx__oracles *o)
{
    asx__explorer *x = asx__explorer_of(cx->rt_);
    if (x != NULL && !x->clearing && o->complaint.oracle == ASX_ORACLE_DATA_RACE &&
        x->failed_text == NULL)
        asx__explorer_fail(x, asx__explore_complaint(x), asx_oracle_str(ASX_ORACLE_DATA_RACE));
}

/* An operation on a cell was done, for the oracle of data races. */
static void note_cell(const asx_cx *cx, const asx__op *op)
{
    asx__oracles *o = oracles_of(cx);
    if (ASX__LIKELY(o == NULL || !o->races_on))
        return;
    uint64_t task = asx__serial(cx->task_->generation);
    bool changes = op->kind != ASX__OP_LOAD && op->kind != ASX__OP_STORE;
    if (o->races_strict && !changes)
        asx__races_access(o, task, op->object, op->kind == ASX__OP_STORE, op->site);
    else
        asx__races_atomic(o, task, op->object,
                          changes                      ? ASX__ATOMIC_CHANGE
                          : op->kind == ASX__OP_STORE ? ASX__ATOMIC_STORE
                                                       : ASX__ATOMIC_LOAD,
                          op->site);
    tell_race(cx, o);
}

/* An operation was done that orders. */
static void note(const asx_cx *cx, const asx__op *op)
{
    asx__oracles *o = oracles_of(cx);
    if (ASX__UNLIKELY(o != NULL && o->races_on))
        asx__races_meet(o, asx__serial(cx->task_->generation), op->object);
}

static uint64_t cell(asx_cx *cx, asx__op_kind kind, volatile void *object, size_t size, uint64_t a,
                     uint64_t b, const char *site)
{
    asx__op op = { .kind = kind, .size = (uint32_t)size, .object = (void *)(uintptr_t)object,
                   .a = cut(a, size), .b = cut(b, size), .site = site };
    uint64_t found = 0;
    (void)asx__explorer_do(cx, &op, &found); /* a cell is always enabled */
    note_cell(cx, &op);
    return found;
}

uint64_t asx_lab_load_at(asx_cx *cx, const volatile void *object, size_t size, const char *site)
{
    return cell(cx, ASX__OP_LOAD, (volatile void *)(uintptr_t)object, size, 0, 0, site);
}

void asx_lab_store_at(asx_cx *cx, volatile void *object, size_t size, uint64_t value,
                        const char *site)
{
    (void)cell(cx, ASX__OP_STORE, object, size, value, 0, site);
}

bool asx_lab_cas_at(asx_cx *cx, volatile void *object, size_t size, uint64_t expected,
                      uint64_t desired, const char *site)
{
    return cell(cx, ASX__OP_CAS, object, size, expected, desired, site) == cut(expected, size);
}

uint64_t asx_lab_fetch_add_at(asx_cx *cx, volatile void *object, size_t size, uint64_t addend,
                                const char *site)
{
    return cell(cx, ASX__OP_FETCH_ADD, object, size, addend, 0, site);
}

/* Plain data is no operation: nothing is to be scheduled, only judged. */
static void note_plain(const asx_cx *cx, const volatile void *object, bool writes, const char *site)
{
    asx__oracles *o = oracles_of(cx);
    if (o == NULL || cx->rt_->current != cx->task_)
        return;
    asx__races_access(o, asx__serial(cx->task_->generation), (const void *)(uintptr_t)object,
                      writes, site);
    tell_race(cx, o);
}

uint64_t asx_lab_read_at(asx_cx *cx, const volatile void *object, size_t size, const char *site)
{
    note_plain(cx, object, false, site);
    return asx__state_read((const void *)(uintptr_t)object, (uint32_t)size);
}

void asx_lab_write_at(asx_cx *cx, volatile void *object, size_t size, uint64_t value,
                      const char *site)
{
    note_plain(cx, object, true, site);
    asx__state_write((void *)(uintptr_t)object, (uint32_t)size, cut(value, size));
}

/* On an object of 8 bytes. */
static asx__op word_op(asx__op_kind kind, uint64_t *object, uint64_t a, const char *site)
{
    return (asx__op){ .kind = kind, .size = 8, .object = object, .a = a, .site = site };
}

/* The task that runs on this thread; NULL: it is none of a test. For functions that are never
 * inlined, as they are called from those that suspend. */
static inline asx__lab_task *running(void)
{
    const asx__explorer *x = asx__this_thread.explorer;
    const asx__task *task = x != NULL ? x->rt->current : NULL;
    return task != NULL ? asx__explorer_task(x, asx__serial(task->generation)) : NULL;
}

__attribute__((noinline)) void asx_lab_here(const asx_cx *cx, const char *site)
{
    asx__lab_task *self = running();
    (void)cx;
    if (self != NULL)
        self->next_site = site;
}

__attribute__((noinline)) void asx_lab_enter(const char *site)
{
    asx__lab_task *self = running();
    if (ASX__UNLIKELY(self == NULL))
        return;
    if (self->calls < ASX__LAB_CALLS)
        self->sites[self->calls] = site;
    self->calls++;
    self->fresh = true;
}

__attribute__((noinline)) asx_status asx_lab_left(asx_status status)
{
    asx__lab_task *self = running();
    if (self != NULL && self->calls != 0) {
        self->calls--;
        self->fresh = false;
    }
    return status;
}

asx_status asx_lab_until_at(asx_cx *cx, bool waits, const char *site)
{
    if (cx == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__explorer *x = cx->rt_ != NULL ? asx__explorer_of(cx->rt_) : NULL;
    asx__lab_task *self = x != NULL && !x->clearing ? running() : NULL;
    if (self == NULL)
        return waits ? ASX_E_WOULD_DEADLOCK : ASX_OK;
    uint32_t len = self->looked_len;
    const uint64_t *looked = self->looked;
    bool far = self->looked_far;
    self->looked = NULL; /* what it does here is not what it waits for */
    self->looked_far = false;
    self->looked_len = 0;
    if (waits && (len == 0 || far))
        return far ? ASX_E_RESOURCE_EXHAUSTED : ASX_E_INVALID_ARGUMENT;
    asx_status st = ASX_OK;
    if (waits) {
        bool cancels = x->cancels && !asx__task_masked(cx->task_);
        asx__op op = { .kind = ASX__OP_UNTIL, .site = site, .targets = looked, .targets_len = len,
                       .cx = cancels ? ASX__NAME(ASX__NAME_CANCEL, self->id, 0) : 0 };
        uint64_t found = 0;
        uint64_t serial = asx__serial(cx->task_->generation);
        (void)asx__explorer_do(cx, &op, &found);
        self = asx__explorer_known(x, serial);
        st = asx__checkpoint(cx->rt_, cx->task_);
    }
    if (st >= 0)
        self->looked = asx__aim_room(x, 2 * ASX_LAB_UNTIL_CELLS_MAX);
    return st < 0 ? st : self->looked != NULL ? ASX_OK : ASX_E_RESOURCE_EXHAUSTED;
}

void asx_lab_until_end(asx_cx *cx)
{
    asx__explorer *x = cx != NULL && cx->rt_ != NULL ? asx__explorer_of(cx->rt_) : NULL;
    asx__lab_task *self = x != NULL && !x->clearing ? running() : NULL;
    if (self == NULL)
        return;
    self->looked = NULL;
    self->looked_len = 0;
}

asx_status asx_lab_mutex_lock_at(asx_cx *cx, asx_lab_mutex *mutex, const char *site)
{
    if (cx == NULL || mutex == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__op op = word_op(ASX__OP_LOCK, &mutex->holder_, asx__explorer_self(cx), site);
    uint64_t found;
    if (!asx__explorer_do(cx, &op, &found))
        return ASX_E_WOULD_DEADLOCK;
    note(cx, &op);
    return ASX_OK;
}

asx_status asx_lab_mutex_try_lock_at(asx_cx *cx, asx_lab_mutex *mutex, const char *site)
{
    if (cx == NULL || mutex == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__op op = word_op(ASX__OP_TRY_LOCK, &mutex->holder_, asx__explorer_self(cx), site);
    uint64_t found = 0;
    (void)asx__explorer_do(cx, &op, &found);
    note(cx, &op);
    return found == 0 ? ASX_OK : ASX_E_BUSY;
}

asx_status asx_lab_mutex_unlock_at(asx_cx *cx, asx_lab_mutex *mutex, const char *site)
{
    if (cx == NULL || mutex == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__op op = word_op(ASX__OP_UNLOCK, &mutex->holder_, asx__explorer_self(cx), site);
    uint64_t found = 0;
    (void)asx__explorer_do(cx, &op, &found);
    note(cx, &op);
    return found == op.a ? ASX_OK : ASX_E_NOT_OWNER;
}

asx_status asx_lab_semaphore_acquire_at(asx_cx *cx, asx_lab_semaphore *semaphore, uint64_t n,
                                        const char *site)
{
    if (cx == NULL || semaphore == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__op op = word_op(ASX__OP_ACQUIRE, &semaphore->units, n, site);
    uint64_t found;
    if (!asx__explorer_do(cx, &op, &found))
        return ASX_E_WOULD_DEADLOCK;
    note(cx, &op);
    return ASX_OK;
}

asx_status asx_lab_semaphore_release_at(asx_cx *cx, asx_lab_semaphore *semaphore, uint64_t n,
                                        const char *site)
{
    if (cx == NULL || semaphore == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__op op = word_op(ASX__OP_RELEASE, &semaphore->units, n, site);
    uint64_t found;
    (void)asx__explorer_do(cx, &op, &found);
    note(cx, &op);
    return ASX_OK;
}

uint32_t asx_lab_choose_at(asx_cx *cx, uint32_t n, const char *site)
{
    asx__op op = { .kind = ASX__OP_CHOOSE, .a = n, .site = site };
    uint64_t choice = 0;
    if (n > 1)
        (void)asx__explorer_do(cx, &op, &choice);
    return (uint32_t)choice;
}

asx_status asx_lab_operate_at(asx_cx *cx, asx_lab_object *object, const asx_lab_device *device,
                              unsigned what, uint64_t argument, uint64_t *ret_found,
                              const char *site)
{
    if (cx == NULL || device == NULL || device->eval == NULL || object == NULL ||
        (device->operations != NULL && what >= device->operations_len))
        return ASX_E_INVALID_ARGUMENT;
    asx__op op = word_op(ASX__OP_DEVICE, &object->state, argument, site);
    op.b = what;
    op.device = device;
    uint64_t found;
    if (!asx__explorer_do(cx, &op, &found))
        return ASX_E_WOULD_DEADLOCK;
    note(cx, &op);
    if (ret_found != NULL)
        *ret_found = found;
    return ASX_OK;
}

/* The first failure of an execution is kept by the explorer. */
static const char *as_written(asx__explorer *x, const char *text)
{
    char written[512];
    if (x->failed_text != NULL)
        return text;
    asx__explore_written(text, written, sizeof written);
    if (strcmp(written, text) == 0)
        return text;
    asx__text_clear(&x->said);
    asx__text_add(&x->said, "%s", written);
    return x->said.bytes != NULL ? x->said.bytes : text;
}

/* Without a context the check is of the test that is explored on this thread. */
__attribute__((noinline)) void asx_lab_check_at(asx_cx *cx, bool good, const char *text,
                                                const char *site)
{
    if (good)
        return;
    asx__explorer *x = cx != NULL && cx->rt_ != NULL ? asx__explorer_of(cx->rt_) : NULL;
    if (cx == NULL)
        x = (asx__explorer *)(uintptr_t)asx__this_thread.explorer;
    if (text == NULL)
        text = "a check";
    if (site == NULL)
        site = "";
    char written[512];
    if (x != NULL && !x->clearing) {
        asx__explorer_fail(x, as_written(x, text), site);
    } else if (x == NULL && cx != NULL && cx->rt_ != NULL && asx__oracles_of(cx->rt_) != NULL) {
        asx__explore_written(text, written, sizeof written);
        asx__oracles_complain(asx__oracles_of(cx->rt_), ASX_ORACLE_USER, "%s (%s)", written, site);
    }
}

void asx__explorer_ghost(asx_cx *cx, const void *object, asx__ghost_deed deed)
{
    asx__explorer *x = cx->rt_ != NULL ? asx__explorer_of(cx->rt_) : NULL;
    const asx__lab_task *self = x != NULL ? running() : NULL;
    const char *site = self != NULL ? asx__lab_task_site(self) : NULL;
    asx__op op = { .kind = deed == ASX__GHOST_TOUCH ? ASX__OP_LOAD : ASX__OP_STORE,
                   .b = deed, .site = site != NULL ? site : "" };
    uint64_t found = 0;
    if (x == NULL)
        return;
    op.name = asx__explorer_ghost_name(x, object);
    if (ASX__NAME_TAG_OF(op.name) == ASX__NAME_GHOST && self != NULL)
        asx__explorer_meet_cell(x, self->id, object, op.site);
    (void)asx__explorer_do(cx, &op, &found); /* always enabled */
}

/* Nobody hears of it: what is judged is the same whether a trace is kept or not. */
void asx__explorer_journal(asx__explorer *x, const asx__op *op)
{
    asx__trace *trace = &x->rt->trace;
    void (*observe)(void *ctx, const asx_event *event) = trace->observe;
    size_t count;
    const asx__dpor_event *events = asx__dpor_events(x->dpor, &count);
    if (count == 0)
        return;
    const asx__dpor_event *done = &events[count - 1];
    trace->observe = NULL;
    if (done->kind == ASX__OP_CHOOSE)
        (void)asx__journal(x->rt, ASX_EVENT_CHOICE, 0, done->choice, op->a, 0);
    else if (done->object != ASX__DPOR_NONE)
        (void)asx__journal(x->rt, ASX_EVENT_CELL_ACCESS, (uint64_t)done->object + 1, done->writes,
                           done->choice, 0);
    trace->observe = observe;
}
