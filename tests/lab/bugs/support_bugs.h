/* What the known bugs share. Each bug is a lab test `name_bad`, and its repair `name_good`. */
#ifndef TESTS_LAB_BUGS_H
#define TESTS_LAB_BUGS_H

#ifndef ASX_LAB
#define ASX_LAB 1
#endif
#include <asx/asx_lab.h>

#include <string.h>

/* A task and how many of it. */
typedef struct cast {
    const char *name;
    asx_task_fn fn;
    intptr_t count;
} cast;

/* Starts all of them, with arguments 0 .. count - 1, and waits until they have ended. */
static inline void play(asx_cx *cx, const cast *roles, size_t count)
{
    asx_region r;
    asx_lab_check(cx, asx_region_open(cx, NULL, &r) == ASX_OK);
    for (size_t k = 0; k < count; k++)
        for (intptr_t i = 0; i < roles[k].count; i++)
            asx_lab_check(cx, asx_spawn(&r, roles[k].name, roles[k].fn, (void *)i) == ASX_OK);
    asx_lab_check(cx, asx_region_close(&r, ASX_OK) == ASX_OK);
}
#define PLAY(cx, ...)                                                                              \
    play((cx), (const cast[]){ __VA_ARGS__ }, sizeof((const cast[]){ __VA_ARGS__ }) / sizeof(cast))

#define LOCK(m) (void)asx_lab_mutex_lock(cx, (m))
#define UNLOCK(m) (void)asx_lab_mutex_unlock(cx, (m))
#define ACQUIRE(s) (void)asx_lab_semaphore_acquire(cx, (s), 1)
#define RELEASE(s) (void)asx_lab_semaphore_release(cx, (s), 1)

/* The same program with its bug and without. */
#define BUG(name, set_up, ...)                                                                     \
    ASX_LAB_TEST(name##_bad)                                                                       \
    {                                                                                              \
        set_up(true);                                                                              \
        __VA_ARGS__;                                                                               \
    }                                                                                              \
    ASX_LAB_TEST(name##_good)                                                                      \
    {                                                                                              \
        set_up(false);                                                                             \
        __VA_ARGS__;                                                                               \
    }

#endif
