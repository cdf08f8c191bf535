/* explore_ops.c - the operations that a lab test makes: cells, locks, semaphores, choices. */
#include "lab/explore.h"

static uint64_t cut(uint64_t value, size_t size)
{
    return size >= 8 ? value : value & ((UINT64_C(1) << (size * 8)) - 1);
}

/* What was done, for the oracle of data races: 0 a load, 1 a store, 2 something that orders. */
static void note(const asx_cx *cx, const asx__op *op, int what)
{
    asx__oracles *o = cx != NULL && cx->rt_ != NULL ? asx__oracles_of(cx->rt_) : NULL;
    if (ASX__LIKELY(o == NULL || !o->races_on || cx->task_ == NULL))
        return;
    uint64_t task = asx__serial(cx->task_->generation);
    if (what == 2)
        asx__races_meet(o, task, op->object);
    else
        asx__races_access(o, task, op->object, what == 1, op->site);
}

static uint64_t cell(asx_cx *cx, asx__op_kind kind, volatile void *object, size_t size, uint64_t a,
                     uint64_t b, const char *site)
{
    asx__op op = { .kind = kind, .size = (uint32_t)size, .object = (void *)(uintptr_t)object,
                   .a = cut(a, size), .b = cut(b, size), .site = site };
    uint64_t found = 0;
    (void)asx__explorer_do(cx, &op, &found); /* a cell is always enabled */
    note(cx, &op, kind == ASX__OP_LOAD ? 0 : kind == ASX__OP_STORE ? 1 : 2);
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

/* On an object of 8 bytes. */
static asx__op word_op(asx__op_kind kind, uint64_t *object, uint64_t a, const char *site)
{
    return (asx__op){ .kind = kind, .size = 8, .object = object, .a = a, .site = site };
}

void asx_lab_here(const asx_cx *cx, const char *site)
{
    (void)cx;
    asx__thread_self()->site = site;
}

asx_status asx_lab_mutex_lock_at(asx_cx *cx, asx_lab_mutex *mutex, const char *site)
{
    if (cx == NULL || mutex == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__op op = word_op(ASX__OP_LOCK, &mutex->holder_, asx__explorer_self(cx), site);
    uint64_t found;
    if (!asx__explorer_do(cx, &op, &found))
        return ASX_E_WOULD_DEADLOCK;
    note(cx, &op, 2);
    return ASX_OK;
}

asx_status asx_lab_mutex_try_lock_at(asx_cx *cx, asx_lab_mutex *mutex, const char *site)
{
    if (cx == NULL || mutex == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__op op = word_op(ASX__OP_TRY_LOCK, &mutex->holder_, asx__explorer_self(cx), site);
    uint64_t found = 0;
    (void)asx__explorer_do(cx, &op, &found);
    note(cx, &op, 2);
    return found == 0 ? ASX_OK : ASX_E_BUSY;
}

asx_status asx_lab_mutex_unlock_at(asx_cx *cx, asx_lab_mutex *mutex, const char *site)
{
    if (cx == NULL || mutex == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__op op = word_op(ASX__OP_UNLOCK, &mutex->holder_, asx__explorer_self(cx), site);
    uint64_t found = 0;
    (void)asx__explorer_do(cx, &op, &found);
    note(cx, &op, 2);
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
    note(cx, &op, 2);
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
    note(cx, &op, 2);
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

asx_status asx_lab_operate_at(asx_cx *cx, const asx_lab_device *device, asx_lab_object *object,
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
    note(cx, &op, 2);
    if (ret_found != NULL)
        *ret_found = found;
    return ASX_OK;
}

void asx_lab_check_at(asx_cx *cx, bool good, const char *text, const char *site)
{
    if (good)
        return;
    asx__explorer *x = cx != NULL && cx->rt_ != NULL ? asx__explorer_of(cx->rt_) : NULL;
    if (x != NULL && !x->clearing)
        asx__explorer_fail(x, text, site);
    else if (x == NULL && cx != NULL && cx->rt_ != NULL && asx__oracles_of(cx->rt_) != NULL)
        asx__oracles_complain(asx__oracles_of(cx->rt_), ASX_ORACLE_USER, "%s (%s)", text, site);
}
