/* test_misuse_locks.c - mutexes, read-write locks, semaphores and their guards that are none,
 * empty, used before, copied, of another object, of another runtime, or gone with their region.
 */
#include "support_api.h"

#include <string.h>

typedef struct locks {
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
} locks;

static void make_locks(const asx_region *region, locks *l)
{
    CHECK_STATUS(asx_mutex_create(region, &(asx_mutex_options){ .name = "m" }, &l->mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(region, &(asx_rwlock_options){ .name = "l" },
                                   &l->rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(region, 2, &(asx_semaphore_options){ .name = "s" },
                                      &l->semaphore), ASX_OK);
}

/* Calls that take a context. */
static void enter_check(asx_runtime *rt, asx_cx *cx, const locks *l, asx_status expected)
{
    asx_mutex_guard mutex;
    asx_rwlock_guard rwlock;
    asx_semaphore_permit permit;
    const asx_mutex *m = l != NULL ? &l->mutex : NULL;
    const asx_rwlock *w = l != NULL ? &l->rwlock : NULL;
    const asx_semaphore *s = l != NULL ? &l->semaphore : NULL;
    REFUSED(rt, asx_mutex_lock(cx, m, &mutex), expected);
    REFUSED(rt, asx_mutex_try_lock(cx, m, &mutex), expected);
    REFUSED(rt, asx_mutex_recover(cx, m, &mutex), expected);
    REFUSED(rt, asx_rwlock_read(cx, w, &rwlock), expected);
    REFUSED(rt, asx_rwlock_write(cx, w, &rwlock), expected);
    REFUSED(rt, asx_rwlock_try_read(cx, w, &rwlock), expected);
    REFUSED(rt, asx_rwlock_try_write(cx, w, &rwlock), expected);
    REFUSED(rt, asx_rwlock_recover(cx, w, &rwlock), expected);
    REFUSED(rt, asx_semaphore_acquire(cx, s, 1, &permit), expected);
    REFUSED(rt, asx_semaphore_try_acquire(cx, s, 1, &permit), expected);
}

static void handle_check(asx_cx *cx, const locks *l, asx_status expected)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_lock_info info;
    enter_check(rt, cx, l, expected);
    REFUSED(rt, asx_semaphore_add(l != NULL ? &l->semaphore : NULL, 1), expected);
    REFUSED(rt, asx_mutex_info(l != NULL ? &l->mutex : NULL, &info), expected);
    REFUSED(rt, asx_rwlock_info(l != NULL ? &l->rwlock : NULL, &info), expected);
    REFUSED(rt, asx_semaphore_info(l != NULL ? &l->semaphore : NULL, &info), expected);
}

static asx_status handles(asx_cx *cx, void *arg)
{
    asx_region region;
    locks l, none;
    (void)arg;
    memset(&none, 0, sizeof none);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make_locks(&region, &l);
    handle_check(cx, NULL, ASX_E_INVALID_ARGUMENT);
    handle_check(cx, &none, ASX_E_INVALID_ARGUMENT);
    enter_check(asx_cx_runtime(cx), NULL, &l, ASX_E_INVALID_ARGUMENT);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    handle_check(cx, &l, ASX_E_REGION_CLOSED);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    locks again;
    make_locks(&region, &again); /* in the same records */
    handle_check(cx, &l, ASX_E_REGION_CLOSED);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(locks_that_are_none_or_gone_are_refused)
{
    CHECK_STATUS(api_run(handles, NULL), ASX_OK);
}

static asx_status outputs(asx_cx *cx, void *arg)
{
    const asx_status bad = ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region region;
    asx_semaphore_permit permit;
    locks l;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make_locks(&region, &l);
    REFUSED(rt, asx_mutex_lock(cx, &l.mutex, NULL), bad);
    REFUSED(rt, asx_mutex_try_lock(cx, &l.mutex, NULL), bad);
    REFUSED(rt, asx_mutex_recover(cx, &l.mutex, NULL), bad);
    REFUSED(rt, asx_mutex_info(&l.mutex, NULL), bad);
    REFUSED(rt, asx_rwlock_read(cx, &l.rwlock, NULL), bad);
    REFUSED(rt, asx_rwlock_write(cx, &l.rwlock, NULL), bad);
    REFUSED(rt, asx_rwlock_try_read(cx, &l.rwlock, NULL), bad);
    REFUSED(rt, asx_rwlock_try_write(cx, &l.rwlock, NULL), bad);
    REFUSED(rt, asx_rwlock_recover(cx, &l.rwlock, NULL), bad);
    REFUSED(rt, asx_rwlock_info(&l.rwlock, NULL), bad);
    REFUSED(rt, asx_semaphore_acquire(cx, &l.semaphore, 1, NULL), bad);
    REFUSED(rt, asx_semaphore_try_acquire(cx, &l.semaphore, 1, NULL), bad);
    REFUSED(rt, asx_semaphore_acquire(cx, &l.semaphore, 0, &permit), bad);
    REFUSED(rt, asx_semaphore_try_acquire(cx, &l.semaphore, 0, &permit), bad);
    REFUSED(rt, asx_semaphore_info(&l.semaphore, NULL), bad);
    REFUSED(rt, asx_semaphore_add(&l.semaphore, ASX_SEMAPHORE_PERMITS_MAX),
            ASX_E_RESOURCE_EXHAUSTED);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(places_that_are_none_lock_nothing)
{
    CHECK_STATUS(api_run(outputs, NULL), ASX_OK);
}

static void creation_check(asx_cx *cx, int which)
{
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region region;
    asx_mutex mutex;
    asx_semaphore semaphore;
    asx_status bad = ASX_E_INVALID_ARGUMENT;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    if (which == 0)
        REFUSED(rt, asx_mutex_create(&region, NULL, NULL), bad);
    else if (which == 1)
        REFUSED(rt, asx_rwlock_create(&region, NULL, NULL), bad);
    else if (which == 2)
        REFUSED(rt, asx_semaphore_create(&region, 1, NULL, NULL), bad);
    else
        REFUSED(rt, asx_semaphore_create(&region, UINT64_MAX, NULL, &semaphore), bad);
    REFUSED(rt, asx_mutex_create(&region, NULL, &mutex), bad); /* it sticks */
    CHECK_STATUS(asx_region_close(&region, ASX_OK), bad);
    REFUSED(rt, asx_mutex_create(&region, NULL, &mutex), ASX_E_STALE_HANDLE);
    REFUSED(rt, asx_mutex_create(NULL, NULL, &mutex), bad);
}

static asx_status creations(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_rwlock rwlock;
    (void)arg;
    for (int which = 0; which < 4; which++)
        creation_check(cx, which);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    CHECK_STATUS(asx_region_stop(&region), ASX_OK);
    REFUSED(asx_cx_runtime(cx), asx_rwlock_create(&region, NULL, &rwlock), ASX_E_REGION_NOT_OPEN);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(locks_are_made_in_open_regions_only)
{
    CHECK_STATUS(api_run(creations, NULL), ASX_OK);
}

/* ---- guards --------------------------------------------------------------------------------- */

static asx_status guards(asx_cx *cx, void *arg)
{
    const asx_status used = ASX_E_OBLIGATION_ALREADY_RESOLVED, bad = ASX_E_INVALID_ARGUMENT;
    asx_runtime *rt = asx_cx_runtime(cx);
    asx_region region;
    asx_mutex_guard mutex, mutex_copy, no_mutex;
    asx_rwlock_guard rwlock, rwlock_copy, no_rwlock;
    asx_semaphore_permit permit, permit_copy, no_permit;
    locks l;
    (void)arg;
    memset(&no_mutex, 0, sizeof no_mutex);
    memset(&no_rwlock, 0, sizeof no_rwlock);
    memset(&no_permit, 0, sizeof no_permit);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make_locks(&region, &l);
    REFUSED(rt, asx_mutex_unlock(NULL), bad);
    REFUSED(rt, asx_mutex_unlock(&no_mutex), bad);
    REFUSED(rt, asx_rwlock_unlock(NULL), bad);
    REFUSED(rt, asx_rwlock_unlock(&no_rwlock), bad);
    REFUSED(rt, asx_semaphore_release(NULL), bad);
    REFUSED(rt, asx_semaphore_release(&no_permit), bad);
    REFUSED(rt, asx_semaphore_release_some(NULL, 1), bad);
    REFUSED(rt, asx_semaphore_release_some(&no_permit, 1), bad);
    CHECK_STATUS(asx_mutex_lock(cx, &l.mutex, &mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_read(cx, &l.rwlock, &rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_acquire(cx, &l.semaphore, 2, &permit), ASX_OK);
    mutex_copy = mutex;
    rwlock_copy = rwlock;
    permit_copy = permit;
    no_mutex = mutex;
    no_mutex.record_ = rwlock.record_; /* put together from two */
    no_mutex.obligation_ = rwlock.obligation_;
    REFUSED(rt, asx_mutex_unlock(&no_mutex), bad);
    CHECK_STATUS(asx_mutex_unlock(&mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_unlock(&rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_release(&permit), ASX_OK);
    REFUSED(rt, asx_mutex_unlock(&mutex_copy), used);
    REFUSED(rt, asx_rwlock_unlock(&rwlock_copy), used);
    REFUSED(rt, asx_semaphore_release(&permit_copy), used);
    REFUSED(rt, asx_semaphore_release_some(&permit_copy, 1), used);
    CHECK_STATUS(asx_mutex_lock(cx, &l.mutex, &mutex), ASX_OK);
    REFUSED(rt, asx_mutex_unlock(&mutex_copy), used); /* not mistaken for the new one */
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
    REFUSED(rt, asx_mutex_unlock(&mutex), ASX_E_REGION_CLOSED);
    REFUSED(rt, asx_mutex_unlock(&mutex_copy), ASX_E_REGION_CLOSED);
    return ASX_OK;
}

ASX_TEST(guards_are_good_once)
{
    CHECK_STATUS(api_run(guards, NULL), ASX_OK);
}

/* ---- contexts ------------------------------------------------------------------------------- */

static asx_status contexts(asx_cx *cx, void *arg)
{
    api_other other;
    asx_region region;
    asx_cx narrow;
    locks l, foreign;
    (void)arg;
    api_other_init(&other);
    make_locks(&other.region, &foreign);
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    make_locks(&region, &l);
    asx_runtime *rt = asx_cx_runtime(cx);
    enter_check(rt, &other.cx, &l, ASX_E_WRONG_CONTEXT);
    enter_check(other.rt, cx, &foreign, ASX_E_WRONG_CONTEXT);
    CHECK_STATUS(asx_cx_narrow(cx, ASX_CAP_ALL & ~ASX_CAP_CHANNEL, &narrow), ASX_OK);
    enter_check(rt, &narrow, &l, ASX_E_CAPABILITY);
    api_other_deinit(&other);
    return asx_region_close(&region, ASX_OK);
}

ASX_TEST(contexts_of_others_and_narrowed_ones_lock_nothing)
{
    CHECK_STATUS(api_run(contexts, NULL), ASX_OK);
}
