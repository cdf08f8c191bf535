/* Thread-locals of tasks that migrate: an accessor that is not inlined finds those of the thread
 * that runs the task now, whatever the compiler keeps; a pinned task may keep addresses.
 *
 * In what is written without such an accessor gcc and clang keep the address across the call that
 * suspends, and the first two tests fail: try it with -DLOCALS_INLINE. The model of the variables
 * is that of a shared library, where an address is dear enough to be kept. */
#include "migrate.h"

#include <errno.h>

#ifdef LOCALS_INLINE
#define ACCESSOR static inline __attribute__((always_inline))
#else
#define ACCESSOR static __attribute__((noinline))
#endif

#define LOCAL static _Thread_local __attribute__((tls_model("global-dynamic")))
LOCAL long own;      /* the number of the thread; 0: not asked yet */
LOCAL int *errno_at; /* its errno */

/* The empty statement is for compilers that see that all calls would return the same. */
ACCESSOR long *own_here(void)
{
    __asm__ __volatile__("" ::: "memory");
    return &own;
}

ACCESSOR int *errno_here(void)
{
    __asm__ __volatile__("" ::: "memory");
    return &errno;
}

ACCESSOR int **errno_at_here(void)
{
    __asm__ __volatile__("" ::: "memory");
    return &errno_at;
}

/* ---- a user's own ---------------------------------------------------------------------------- */

static asx_status reads_own(asx_cx *cx, void *arg)
{
    struct member *me = arg;
    while (crowd_goes_on(me)) {
        if (*own_here() == 0)
            *own_here() = thread_now();
        CHECK_EQ(*own_here(), thread_now());
        suspend(cx, me);
        CHECK(*own_here() == 0 || *own_here() == thread_now());
    }
    return ASX_OK;
}

ASX_TEST_TIMEOUT(an_accessor_finds_the_thread_local_of_the_thread_it_is_called_on, 60)
{
    crowd_live(reads_own, WORKERS);
}

/* ---- errno ----------------------------------------------------------------------------------- */

static asx_status reads_errno(asx_cx *cx, void *arg)
{
    struct member *me = arg;
    while (crowd_goes_on(me)) {
        if (*errno_at_here() == NULL)
            *errno_at_here() = errno_here();
        CHECK_PTR_EQ(errno_here(), *errno_at_here());
        CHECK_EQ(close(-1), -1);
        CHECK_EQ(*errno_here(), EBADF); /* before the next wait it is the task's own */
        suspend(cx, me);
        CHECK(*errno_at_here() == NULL || errno_here() == *errno_at_here());
        *errno_here() = 0;
        CHECK_EQ(unlink(""), -1);
        CHECK_EQ(*errno_here(), ENOENT); /* and after it that of the new thread */
    }
    return ASX_OK;
}

ASX_TEST_TIMEOUT(errno_read_before_the_next_wait_is_that_of_the_call_before, 60)
{
    crowd_live(reads_errno, WORKERS);
}

/* ---- asx itself ------------------------------------------------------------------------------ */

static asx_status asks(asx_cx *cx, void *arg)
{
    struct member *me = arg;
    asx_task self, again;
    asx_region region;
    CHECK_EQ(asx_cx_task(cx, &self), ASX_OK);
    while (crowd_goes_on(me)) {
        suspend(cx, me);
        CHECK_EQ(asx_cx_task(cx, &again), ASX_OK);
        CHECK_EQ(again.id.generation, self.id.generation);
        CHECK_EQ(asx_checkpoint(cx), ASX_OK);
        CHECK_EQ(asx_cx_region(cx, &region), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST_TIMEOUT(calls_after_a_migration_find_the_worker_that_runs_the_task, 60)
{
    crowd_live(asks, WORKERS);
}

/* ---- pinned ---------------------------------------------------------------------------------- */

static asx_status keeps(asx_cx *cx, void *arg)
{
    struct member *me = arg;
    long *kept = &own;
    int *error = &errno;
    long home = thread_now();
    *kept = home;
    for (int i = 0; i < 200; i++) {
        suspend(cx, me);
        CHECK_EQ(thread_now(), home);
        CHECK_EQ(*kept, home);
        CHECK_PTR_EQ(kept, own_here());
        CHECK_PTR_EQ(error, errno_here());
    }
    return ASX_OK;
}

/* Everybody else migrates meanwhile. */
static asx_status has_pinned_child(asx_cx *cx, void *arg)
{
    struct member *me = arg;
    struct crowd aside = { .life = NULL };
    struct member child = { .crowd = &aside };
    asx_region r;
    asx_task task;
    asx_spawn_options pinned = { .name = "stays", .flags = ASX_PINNED };
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_channel_create(&r, sizeof(unsigned), 1, NULL, &child.to_partner,
                                &child.mine), ASX_OK);
    CHECK_EQ(asx_spawn_task(&r, keeps, &child, &pinned, &task), ASX_OK);
    while (crowd_goes_on(me))
        suspend(cx, me);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST_TIMEOUT(a_pinned_task_may_keep_addresses_of_thread_locals, 60)
{
    crowd_live(has_pinned_child, WORKERS);
}
