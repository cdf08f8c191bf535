/* placed.c - the functions behind the macros that record their place; see src/sync/placed.c.
 *
 * Cells (asx_lab_load() and its like) have the type of their variable, which no function has: they
 * are macros around functions that end in _at and take its size. */
#include "lab/explore/explore.h"

asx_status(asx_lab_mutex_lock)(asx_cx *cx, asx_lab_mutex *mutex)
{
    return asx_lab_mutex_lock_at(cx, mutex, NULL);
}

asx_status(asx_lab_mutex_try_lock)(asx_cx *cx, asx_lab_mutex *mutex)
{
    return asx_lab_mutex_try_lock_at(cx, mutex, NULL);
}

asx_status(asx_lab_mutex_unlock)(asx_cx *cx, asx_lab_mutex *mutex)
{
    return asx_lab_mutex_unlock_at(cx, mutex, NULL);
}

asx_status(asx_lab_semaphore_acquire)(asx_cx *cx, asx_lab_semaphore *semaphore, uint64_t n)
{
    return asx_lab_semaphore_acquire_at(cx, semaphore, n, NULL);
}

asx_status(asx_lab_semaphore_release)(asx_cx *cx, asx_lab_semaphore *semaphore, uint64_t n)
{
    return asx_lab_semaphore_release_at(cx, semaphore, n, NULL);
}

uint32_t(asx_lab_choose)(asx_cx *cx, uint32_t n)
{
    return asx_lab_choose_at(cx, n, NULL);
}

asx_status(asx_lab_operate)(asx_cx *cx, asx_lab_object *object, const asx_lab_device *device,
                            unsigned what, uint64_t argument, uint64_t *ret_found)
{
    return asx_lab_operate_at(cx, object, device, what, argument, ret_found, NULL);
}

void(asx_lab_check)(asx_cx *cx, bool good)
{
    asx_lab_check_at(cx, good, NULL, NULL);
}
