/* blocking.h - work that blocks its thread: file systems, resolvers, libraries that know nothing
 * of asx. It runs on threads of a pool that belongs to the runtime, and a task waits for it.
 *
 * The work is owned like everything else: by the task that waits for it, and so by that task's
 * region. Closing the region waits for it, and reports name the task as waiting for "blocking".
 *
 * Cancellation. Work that still waits for a thread is dropped: its function is never called. Work
 * that runs cannot be stopped; the wait for it goes on, and so does every close above it, however
 * long the clean-up was to take.
 *
 * Threads are started when work finds none idle, up to `blocking_threads_max`, and end after
 * `blocking_idle_ns` without work. They block all signals but those that code brings upon itself
 * (SIGSEGV and its like), and so do programs that posix_spawn() or system() starts there, unless
 * they are given a mask; after a fork() it is the host's. Destructors of their thread-specific data
 * run when they end; destroying the runtime waits for them, new work does not. With a virtual clock
 * there are none: the function is called at once, on the runtime's thread, and takes no time.
 */
#ifndef ASX_BLOCKING_H
#define ASX_BLOCKING_H

#include <asx/runtime.h>

ASX_BEGIN_DECLS

/* Called on a thread of the pool. May not call anything of asx that takes a context. One that ends
 * its thread with pthread_exit(), or is ended with pthread_cancel(), counts as one that returned
 * ASX_E_PANICKED; one that returns in the child of a fork() of its own ends the child. */
typedef asx_status (*asx_blocking_fn)(void *arg);

/* Runs fn(arg) on a thread of the pool and waits for it. `arg` is borrowed until this returns. For
 * fibers. Returns what fn returned, or, if fn was not called,
 *   ASX_E_CANCELLED           a cancel came first; a cancel that comes later does not end the wait
 *   ASX_E_SYSTEM              no thread could be started, and there is none
 *   ASX_E_RESOURCE_EXHAUSTED  no memory for the pool
 *   ASX_E_NOT_SUPPORTED       in a poll task, which spawns a blocking task and joins it instead;
 *                             in the freestanding profile, which has no threads
 *   ASX_E_WRONG_CONTEXT       not the caller's context, or a cleanup on the runtime's side
 *   ASX_E_INVALID_ARGUMENT */
ASX_API ASX_MUST_USE asx_status asx_blocking(asx_cx *cx, asx_blocking_fn fn, void *arg);

/* A task of the region that is nothing but blocking work: it has no stack, ends with what fn
 * returned, and is cancelled, joined and reported as any other. `arg` is borrowed until it ends.
 * `name` may be NULL; `ret_task` may be NULL. As asx_spawn(), and ASX_E_NOT_SUPPORTED in the
 * freestanding profile. */
ASX_API asx_status asx_spawn_blocking(const asx_region *region, const char *name,
                                      asx_blocking_fn fn, void *arg, asx_task *ret_task);
ASX_API asx_status asx_spawn_blocking_at(const asx_region *region, const char *name,
                                         asx_blocking_fn fn, void *arg, asx_task *ret_task,
                                         const char *site);
#define asx_spawn_blocking(...) ASX_PLACED_(asx_spawn_blocking, __VA_ARGS__)

/* The meters of the pool. */
typedef struct asx_blocking_stats {
    uint32_t threads, threads_idle, threads_max;
    uint64_t queued, running;    /* now */
    uint64_t queued_max;         /* the longest the queue has been */
    uint64_t completed, dropped; /* ever */
} asx_blocking_stats;
/* From any thread of the runtime. ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_runtime_blocking_stats(const asx_runtime *runtime,
                                              asx_blocking_stats *ret_stats);

ASX_END_DECLS

#endif
