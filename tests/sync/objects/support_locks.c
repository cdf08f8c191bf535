/* support_locks.c - steps on mutexes, read-write locks and semaphores. */
#include "play.h"

STEP_OP(op_lock)
{
    return asx_mutex_lock(cx, &actor->run->mutex, &actor->mutex[step->slot]);
}

STEP_OP(op_try_lock)
{
    return asx_mutex_try_lock(cx, &actor->run->mutex, &actor->mutex[step->slot]);
}

STEP_OP(op_recover)
{
    return asx_mutex_recover(cx, &actor->run->mutex, &actor->mutex[step->slot]);
}

STEP_OP(op_unlock)
{
    (void)cx;
    return asx_mutex_unlock(&actor->mutex[step->slot]);
}

STEP_OP(op_mutex_waiters)
{
    asx_lock_info info;
    (void)cx;
    asx_status st = asx_mutex_info(&actor->run->mutex, &info);
    if (st == ASX_OK)
        CHECK_EQ(info.waiters, step->n);
    return st;
}

STEP_OP(op_read)
{
    return asx_rwlock_read(cx, &actor->run->rwlock, &actor->rwlock[step->slot]);
}

STEP_OP(op_write)
{
    return asx_rwlock_write(cx, &actor->run->rwlock, &actor->rwlock[step->slot]);
}

STEP_OP(op_try_read)
{
    return asx_rwlock_try_read(cx, &actor->run->rwlock, &actor->rwlock[step->slot]);
}

STEP_OP(op_try_write)
{
    return asx_rwlock_try_write(cx, &actor->run->rwlock, &actor->rwlock[step->slot]);
}

STEP_OP(op_rw_recover)
{
    return asx_rwlock_recover(cx, &actor->run->rwlock, &actor->rwlock[step->slot]);
}

STEP_OP(op_rw_unlock)
{
    (void)cx;
    return asx_rwlock_unlock(&actor->rwlock[step->slot]);
}

STEP_OP(op_rw_waiters)
{
    asx_lock_info info;
    (void)cx;
    asx_status st = asx_rwlock_info(&actor->run->rwlock, &info);
    if (st == ASX_OK)
        CHECK_EQ(info.waiters, step->n);
    return st;
}

STEP_OP(op_acquire)
{
    return asx_semaphore_acquire(cx, &actor->run->semaphore, (uint32_t)step->n,
                                 &actor->permit[step->slot]);
}

STEP_OP(op_try_acquire)
{
    return asx_semaphore_try_acquire(cx, &actor->run->semaphore, (uint32_t)step->n,
                                     &actor->permit[step->slot]);
}

STEP_OP(op_release)
{
    (void)cx;
    return asx_semaphore_release(&actor->permit[step->slot]);
}

STEP_OP(op_release_some)
{
    (void)cx;
    return asx_semaphore_release_some(&actor->permit[step->slot], (uint32_t)step->n);
}

STEP_OP(op_add)
{
    (void)cx;
    return asx_semaphore_add(&actor->run->semaphore, step->n);
}

STEP_OP(op_available)
{
    asx_lock_info info;
    (void)cx;
    asx_status st = asx_semaphore_info(&actor->run->semaphore, &info);
    if (st == ASX_OK)
        CHECK_EQ(info.available, step->n);
    return st;
}
