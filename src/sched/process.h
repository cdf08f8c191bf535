/* process.h - what the library knows of its process: the runtimes in it, and who wants its signals.
 *
 * The one mutable global of the library; besides it every thread notes which worker it is
 * (asx__thread_self()). Debuggers find it by its name (asx__process), signal handlers and dumps
 * through it, so every runtime is in it from creation to destruction, whether or not it asked for
 * anything.
 *
 * Letters: L under the lock, read without it by signal handlers, dumps and debuggers, which take
 * whatever they find for possibly wrong: see src/see. */
#ifndef ASX_SCHED_PROCESS_H
#define ASX_SCHED_PROCESS_H

#include <pthread.h>
#include <signal.h>

#include "base/atomic.h"
#include "sched/sched.h"

/* asx_runtime.registered of a runtime that is in the list: its own address, changed. Memory that
 * was a runtime once, or never, says something else. */
#define ASX__PROCESS_MARK UINT64_C(0x6d61726b2e617378)

typedef struct asx__process_registry {
    pthread_mutex_t lock;
    asx__atomic_ptr runtimes;        /* L: newest first, by registry_next */
    asx__atomic_u32 last_number;     /* of the runtime that was made last; any thread */
    unsigned fault_users;            /* L: runtimes that want overflows reported */
    struct sigaction fault_before;   /* L: whose the signal was before */
    asx__atomic_ptr listener;        /* L: of the dump signal; lives for ever once made */
    asx__atomic_u32 ask_signo;       /* L: that signal; 0: there is none */
    pthread_once_t once;
    pthread_key_t drives;            /* I: by thread, its asx__driving */
    bool can_note;                   /* I: there is such a key */
    const char *const *wait_names;   /* I: by ASX__WAIT_ number, for debuggers */
    unsigned wait_count;             /* I */
} asx__process_registry;

extern asx__process_registry asx__process;

void asx__process_add(asx_runtime *rt);
/* Also right for a runtime that is not in the list. */
void asx__process_remove(asx_runtime *rt);

/* A task of a shared runtime, or blocking work, has returned in the child of a fork. */
_Noreturn void asx__end_of_fork(asx_status st);

/* A thread that gets none of the process's signals but those that it brings upon itself, and if it
 * `is_asked` the one by which dumps ask where it is. False: it cannot be made. */
bool asx__thread_start(pthread_t *thread, void *(*fn)(void *), void *arg, bool is_asked);

/* Around driving. Should a task end the thread in between (pthread_exit), `go_on` is called when
 * the thread is on its way out, on the thread's own stack, whose frames are gone: it drives on to
 * the end, and then the thread may go. */
void asx__driving_begin(asx__driving *driving);
void asx__driving_end(asx__driving *driving);
/* The runtime of one worker that this thread drives already, in a task of which it is about to
 * drive another; NULL: there is none. */
asx_runtime *asx__driving_around(void);

static inline uint64_t asx__process_mark(const asx_runtime *rt)
{
    return (uint64_t)(uintptr_t)rt ^ ASX__PROCESS_MARK;
}

#endif
