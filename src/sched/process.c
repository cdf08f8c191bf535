/* process.c - the list of all runtimes of the process; threads that end, processes that fork.
 *
 * pthread_exit() in a task. The C library unwinds or leaps to the thread's first frame and calls
 * the destructors of thread-specific data. One of these is ours, and set while the thread drives.
 * The task that did it ends as one that panicked, and the loop is begun anew, there and then: the
 * thread goes when the runtime has nothing left for it to do.
 *
 * fork(). The child has one thread, a copy of the one that forked. A runtime of one worker is
 * copied whole and would go on in both; what other threads were doing for it has been lost, so
 * blocking work that was out comes back with ASX_E_SYSTEM. A shared runtime has lost its other
 * workers, and with them the tasks they ran. Its gate is shut: calls are refused, and a task that
 * returns ends the child with _exit(). Everything is held while the process is copied, so that no
 * lock is left to a thread that does not exist. A child of one of our own threads, which block
 * nearly all signals, has the mask of the thread that made the runtime: what it executes could not
 * be ended else, and it would depend on the worker.
 */
#include "sched/process.h"
#include "sched/reactor.h"

#include <unistd.h>

#include "sched/blocking.h"
#include "sched/engine.h"

static const char *const wait_names[] = {
#define NAME(name, number, text) [number] = text,
    ASX__WAIT_LIST(NAME)
#undef NAME
};

asx__process_registry asx__process = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .once = PTHREAD_ONCE_INIT,
    .wait_names = wait_names,
    .wait_count = sizeof wait_names / sizeof *wait_names,
};

/* ---- threads that end ----------------------------------------------------------------------- */

static void thread_ends(void *arg)
{
    asx__driving *driving = arg;
    pthread_setspecific(asx__process.drives, driving); /* a task may do it again */
    driving->go_on(driving);
    pthread_setspecific(asx__process.drives, NULL);
}

bool asx__thread_start(pthread_t *thread, void *(*fn)(void *), void *arg, bool is_asked)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
    sigset_t blocked, before;
    uint32_t ask = asx__load_relaxed(&asx__process.ask_signo);
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&blocked, own[i]);
    if (is_asked && ask != 0)
        sigdelset(&blocked, (int)ask);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    bool made = pthread_create(thread, NULL, fn, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

void asx__driving_begin(asx__driving *driving)
{
    if (!asx__process.can_note)
        return;
    driving->outer = pthread_getspecific(asx__process.drives);
    pthread_setspecific(asx__process.drives, driving);
}

void asx__driving_end(asx__driving *driving)
{
    if (asx__process.can_note)
        pthread_setspecific(asx__process.drives, driving->outer);
}

asx_runtime *asx__driving_around(void)
{
    asx__driving *outer = asx__process.can_note ? pthread_getspecific(asx__process.drives) : NULL;
    return outer != NULL && outer->rt->gate == NULL ? outer->rt : NULL;
}

/* ---- processes that fork -------------------------------------------------------------------- */

static asx_runtime *first(void)
{
    return asx__load_relaxed(&asx__process.runtimes);
}

static void before_fork(void)
{
    pthread_mutex_lock(&asx__process.lock);
    for (asx_runtime *rt = first(); rt != NULL; rt = rt->registry_next) {
        rt->fork_had_it = rt->gate == NULL || asx__engine_enter(rt);
        asx__blocking_before_fork(rt);
    }
}

static void after_fork(bool child)
{
    for (asx_runtime *rt = first(); rt != NULL; rt = rt->registry_next) {
        asx__blocking_after_fork(rt, child);
        if (child && rt->reactor != NULL)
            rt->reactor->ops->forked(rt->reactor);
        if (child && rt->gate != NULL) {
            rt->gate->behind = NULL; /* nobody else is there to see it change */
            asx__lease_forked(&rt->engine->lock);
        }
        if (!rt->fork_had_it)
            asx__engine_leave(rt, false);
    }
    asx__thread *self = asx__thread_self();
    if (child)
        self->worker = NULL; /* a lease that it has would let it in past the gate */
    if (child && self->host_mask != NULL) /* not what one of our threads has blocked besides */
        pthread_sigmask(SIG_SETMASK, self->host_mask, NULL);
    pthread_mutex_unlock(&asx__process.lock);
}

void asx__end_of_fork(asx_status st)
{
    _exit(st < 0 ? 1 : 0);
}

static void in_parent(void)
{
    after_fork(false);
}

static void in_child(void)
{
    after_fork(true);
}

static void prepare(void)
{
    asx__process.can_note = pthread_key_create(&asx__process.drives, thread_ends) == 0;
    (void)pthread_atfork(before_fork, in_parent, in_child);
}

/* ---- the list ------------------------------------------------------------------------------- */

void asx__process_add(asx_runtime *rt)
{
    pthread_once(&asx__process.once, prepare);
    if (rt->config.profile != ASX_PROFILE_FREESTANDING) /* it makes no threads, nor system calls */
        pthread_sigmask(SIG_SETMASK, NULL, &rt->host_mask);
    pthread_mutex_lock(&asx__process.lock);
    rt->registry_next = asx__load_relaxed(&asx__process.runtimes);
    rt->registered = asx__process_mark(rt);
    /* Release: a dump that finds it finds it complete. */
    asx__store_release(&asx__process.runtimes, rt);
    pthread_mutex_unlock(&asx__process.lock);
}

void asx__process_remove(asx_runtime *rt)
{
    pthread_mutex_lock(&asx__process.lock);
    asx_runtime *before = NULL, *at = asx__load_relaxed(&asx__process.runtimes);
    while (at != NULL && at != rt) {
        before = at;
        at = at->registry_next;
    }
    if (at == rt && before != NULL)
        before->registry_next = rt->registry_next;
    else if (at == rt)
        asx__store_release(&asx__process.runtimes, rt->registry_next);
    rt->registered = 0;
    pthread_mutex_unlock(&asx__process.lock);
}
