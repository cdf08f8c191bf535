/* mutexwatch.c - libasx-mutexwatch.so: counts the pthread mutexes that a thread holds.
 *
 * Loaded by LD_PRELOAD, or linked before the C library, it stands between the program and
 * pthread_mutex_lock() and its like. The runtime asks, whenever a task leaves its thread, what was
 * locked there since it asked last and is still held (asx_watchdog_options.mutexes): then the task
 * is suspended with the mutex, every other task on the thread can deadlock on it, and on several
 * workers another thread will unlock it.
 *
 * Per thread; nothing is shared. What was locked before a task's turn is forgotten with it, so a
 * mutex is told once, and one that is unlocked on another thread does no harm. Condition variables
 * unlock and lock inside the C library and so do not change the count.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <asx/api.h>

enum { HELD_MAX = 64 };

typedef struct held {
    unsigned count; /* those above HELD_MAX have no place, but count */
    const void *mutex[HELD_MAX];
    const void *where[HELD_MAX];
} held;

static held *mine(void)
{
    static _Thread_local __attribute__((tls_model("initial-exec"))) held all;
    return &all;
}

/* The C library's own functions. Looked up when the library is loaded; by the first call if that
 * comes before, when there is one thread only. */
static struct real {
    int (*lock)(pthread_mutex_t *);
    int (*trylock)(pthread_mutex_t *);
    int (*timedlock)(pthread_mutex_t *, const struct timespec *);
    int (*clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *); /* NULL: has none */
    int (*unlock)(pthread_mutex_t *);
} real;

static void find(const char *name, void *ret_function)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(ret_function, &symbol, sizeof symbol);
}

__attribute__((constructor)) static void find_all(void)
{
    if (real.lock != NULL)
        return;
    find("pthread_mutex_trylock", &real.trylock);
    find("pthread_mutex_timedlock", &real.timedlock);
    find("pthread_mutex_clocklock", &real.clocklock);
    find("pthread_mutex_unlock", &real.unlock);
    find("pthread_mutex_lock", &real.lock);
}

static void locked(const void *mutex, const void *where)
{
    held *h = mine();
    if (h->count < HELD_MAX) {
        h->mutex[h->count] = mutex;
        h->where[h->count] = where;
    }
    h->count++;
}

static void unlocked(const void *mutex)
{
    held *h = mine();
    unsigned known = h->count < HELD_MAX ? h->count : HELD_MAX;
    for (unsigned i = known; i-- > 0;) {
        if (h->mutex[i] != mutex)
            continue;
        memmove(&h->mutex[i], &h->mutex[i + 1], (known - i - 1) * sizeof h->mutex[0]);
        memmove(&h->where[i], &h->where[i + 1], (known - i - 1) * sizeof h->where[0]);
        h->count--;
        return;
    }
    if (h->count > HELD_MAX)
        h->count--; /* one of those without a place */
}

#define HOLDS(error) ((error) == 0 || (error) == EOWNERDEAD)

ASX_API int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    find_all();
    int error = real.lock(mutex);
    if (HOLDS(error))
        locked(mutex, __builtin_return_address(0));
    return error;
}

ASX_API int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    find_all();
    int error = real.trylock(mutex);
    if (HOLDS(error))
        locked(mutex, __builtin_return_address(0));
    return error;
}

ASX_API int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    find_all();
    int error = real.timedlock(mutex, until);
    if (HOLDS(error))
        locked(mutex, __builtin_return_address(0));
    return error;
}

/* What std::timed_mutex of C++ calls. */
ASX_API int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                                    const struct timespec *until)
{
    find_all();
    int error = real.clocklock != NULL ? real.clocklock(mutex, clock, until) : ENOSYS;
    if (HOLDS(error))
        locked(mutex, __builtin_return_address(0));
    return error;
}

ASX_API int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    find_all();
    unlocked(mutex);
    return real.unlock(mutex);
}

ASX_API unsigned asx_mutexwatch_slice(const void **ret_where);
unsigned asx_mutexwatch_slice(const void **ret_where)
{
    held *h = mine();
    unsigned count = h->count;
    if (ret_where != NULL && count != 0)
        *ret_where = h->where[(count < HELD_MAX ? count : HELD_MAX) - 1];
    h->count = 0;
    return count;
}
