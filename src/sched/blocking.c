/* blocking.c - the pool of threads for work that blocks, and the way back from it.
 *
 * Words
 *   job     one piece of work. In the frame of the fiber that waits, or, for a task that is nothing
 *           else, in memory of its own that a cleanup of the task frees.
 *   pool    queue and threads; made with the first job.
 *
 * A job is NEW, QUEUED, RUNNING, DONE or DROPPED. The pool's lock guards the step from QUEUED, for
 * which a thread (to RUNNING) and a cancel (to DROPPED) compete; whoever loses leaves it alone. So
 * a wait that a cancel ends has a job that nobody will run, and a job that runs has somebody who
 * waits for it: that is why it may lie in a frame.
 *
 * Threads are joined, not detached. One that has had nothing to do for a while, or whose work has
 * ended it, notes itself as the last that went and, outside, joins the one noted before. So
 * whoever joins the last one has waited for all, which is what stopping the pool does. Nobody else
 * waits for a thread that ends: destructors of thread-specific data run there, and may call in, so
 * that a join by somebody who is inside the engine would never end. A record that has been left is
 * taken by the next thread, for memory comes and goes inside only.
 *
 * Rejected: one thread per job (unbounded); a pool per process (two runtimes would share its
 * ceiling, and nobody would own it); completion through the timer wheel or a pipe (a system call
 * per job, where a ring of a bell that nobody sleeps on needs none).
 */
#include "sched/blocking.h"
#include "sched/engine.h"
#include "sched/process.h"
#include "sched/reactor.h"

#include <asx/blocking.h>

#include <pthread.h>
#include <string.h>
#include <time.h>

#define THREADS_MAX_DEFAULT 64u
#define IDLE_NS_DEFAULT (10 * ASX_SEC)

enum job_state { JOB_NEW, JOB_QUEUED, JOB_RUNNING, JOB_DONE, JOB_DROPPED };

typedef struct job {
    asx__node node;      /* in the queue */
    asx__waitable wait;
    asx__inbox_item back; /* in the inbox */
    asx__task *task;
    asx_blocking_fn fn;
    void *arg;
    asx_status result;
    uint8_t state;       /* enum job_state; L while it is QUEUED or RUNNING */
    asx__cleanup cleanup; /* of a task that is nothing else: frees this */
} job;

typedef struct worker {
    struct worker *next; /* among records that have been left */
    struct asx__blocking *pool;
    job *work;           /* that it does, for itself */
    pthread_t thread;    /* L */
} worker;

/* L: under the lock. I: set when made. */
struct asx__blocking {
    asx_runtime *rt;       /* I */
    pthread_mutex_t lock;
    pthread_cond_t more;   /* there is work, or no more will come */
    pthread_cond_t fewer;  /* a thread has left */
    asx__node queue, at_work; /* L: jobs that are queued, that run */
    worker *spare;         /* L: records of threads that have left */
    pthread_t last;        /* L: the thread that went last, which nobody has joined */
    bool left;             /* L: there is one */
    uint32_t threads, idle; /* L */
    uint32_t threads_max;  /* I */
    uint64_t idle_ns;      /* I */
    uint64_t queued, running, queued_max, completed, dropped; /* L */
    bool stop;             /* L */
};

/* ---- the inbox ------------------------------------------------------------------------------ */

/* On the thread that did it. A shared runtime is entered; the loop of another, which has found the
 * job in its inbox or will, is told. */
static void come_back(asx_runtime *rt, job *done, bool first)
{
    if (rt->gate != NULL) {
        bool had_it = asx__engine_enter(rt);
        rt->jobs_out--;
        asx__wake(rt, done->task, ASX_OK, true);
        asx__engine_leave(rt, had_it);
        return;
    }
    /* `done` may be gone, with the fiber that it was in; the runtime is not, for it waits for this
     * thread when it goes. */
    if (asx__inbox_ring(&rt->inbox))
        rt->reactor->ops->wake(rt->reactor);
    if (first && rt->config.on_event.wake != NULL)
        rt->config.on_event.wake(rt->config.on_event.arg);
}

static job *job_that_is_back(asx__inbox_item *item)
{
    return (job *)(void *)((char *)item - offsetof(job, back));
}

void asx__blocking_drain(asx_runtime *rt)
{
    asx__inbox_item *next = asx__inbox_take(&rt->inbox);
    while (next != NULL) {
        job *done = job_that_is_back(next);
        next = next->next;
        rt->jobs_out--;
        asx__wake(rt, done->task, ASX_OK, true);
    }
}

bool asx__blocking_sleep(asx_runtime *rt, asx_time until)
{
    uint64_t deadline = ASX__FUTEX_FOREVER;
    if (until != ASX_TIME_NEVER)
        deadline = asx_time_add(until, rt->real.epoch_ns);
    if (rt->reactor == NULL)
        return asx__inbox_sleep(&rt->inbox, deadline);
    bool early = true;
    if (asx__inbox_go_away(&rt->inbox))
        early = rt->reactor->waited = rt->reactor->ops->wait(rt->reactor, deadline);
    asx__inbox_come_back(&rt->inbox);
    return early;
}

/* ---- threads -------------------------------------------------------------------------------- */

static struct timespec after(uint64_t ns)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    ns += (uint64_t)ts.tv_nsec;
    ts.tv_sec += (time_t)(ns / ASX_SEC);
    ts.tv_nsec = (long)(ns % ASX_SEC);
    return ts;
}

/* The next job, or NULL: the thread is to end. Under the lock. */
static job *next_job(struct asx__blocking *pool)
{
    struct timespec until = after(pool->idle_ns);
    bool late = false;
    pool->idle++;
    while (asx__list_empty(&pool->queue) && !pool->stop && !late)
        late = pthread_cond_timedwait(&pool->more, &pool->lock, &until) != 0;
    pool->idle--;
    if (asx__list_empty(&pool->queue))
        return NULL;
    job *taken = (job *)asx__list_pop_front(&pool->queue);
    taken->state = JOB_RUNNING;
    asx__list_push_back(&pool->at_work, &taken->node);
    pool->queued--;
    pool->running++;
    return taken;
}

/* The function is over, in whichever way. */
static void end_job(struct asx__blocking *pool, job *work, asx_status result)
{
    work->result = result;
    pthread_mutex_lock(&pool->lock);
    if (pool->threads == 0) { /* but this one is: in a child, which only it has come to */
        pthread_mutex_unlock(&pool->lock);
        asx__end_of_fork(result);
    }
    work->state = JOB_DONE;
    asx__list_remove(&work->node);
    pool->running--;
    pool->completed++;
    /* In the same hold, which a fork waits for: else the copy finds the job nowhere. */
    bool first = pool->rt->gate == NULL && asx__inbox_put(&pool->rt->inbox, &work->back);
    pthread_mutex_unlock(&pool->lock);
    come_back(pool->rt, work, first);
}

/* The thread is about to end. Under the lock, which is dropped; from there on the record is not its
 * own, and the pool lives until the thread has been joined. */
static void go(struct asx__blocking *pool, pthread_t self)
{
    pthread_t before = pool->last;
    bool follows = pool->left;
    pool->last = self;
    pool->left = true;
    pthread_mutex_unlock(&pool->lock);
    if (follows)
        pthread_join(before, NULL);
}

/* Under the lock, which is dropped. */
static void leave(worker *self)
{
    struct asx__blocking *pool = self->pool;
    self->next = pool->spare;
    pool->spare = self;
    pool->threads--;
    pthread_cond_signal(&pool->fewer);
    go(pool, self->thread);
}

/* Work may be ended by pthread_cancel() as by pthread_exit(); the pool's own doings may not. */
static asx_status call(const job *work)
{
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    asx_status st = work->fn(work->arg);
    pthread_testcancel();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return st;
}

static void serve(worker *self)
{
    struct asx__blocking *pool = self->pool;
    pthread_mutex_lock(&pool->lock);
    while ((self->work = next_job(pool)) != NULL) {
        pthread_mutex_unlock(&pool->lock);
        end_job(pool, self->work, call(self->work));
        pthread_mutex_lock(&pool->lock);
    }
    leave(self);
}

static bool launch(worker *self);

/* A function has ended its thread: another thread goes on, with the same record. If there can be
 * none, this one does, as long as there is work. */
static void desert(void *arg)
{
    worker *self = arg;
    struct asx__blocking *pool = self->pool;
    end_job(pool, self->work, ASX_E_PANICKED);
    pthread_mutex_lock(&pool->lock);
    pthread_t own = self->thread;
    if (launch(self)) {
        go(pool, own);
        return;
    }
    self->thread = own;
    pthread_mutex_unlock(&pool->lock);
    serve(self);
}

static void *thread_main(void *arg)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    asx__thread_self()->host_mask = &((const worker *)arg)->pool->rt->host_mask;
    pthread_cleanup_push(desert, arg);
    serve(arg);
    pthread_cleanup_pop(0);
    return NULL;
}

/* Under the lock, which keeps the new thread from its record until that is written. */
static bool launch(worker *self)
{
    return asx__thread_start(&self->thread, thread_main, self, false);
}

/* Under the lock. */
static bool start_thread(struct asx__blocking *pool)
{
    worker *self = pool->spare;
    if (self != NULL)
        pool->spare = self->next;
    else
        self = asx__mem_alloc(pool->rt, sizeof *self);
    if (self == NULL)
        return false;
    *self = (worker){ .pool = pool, .next = pool->spare };
    if (!launch(self)) {
        pool->spare = self;
        return false;
    }
    pool->threads++;
    return true;
}

static void init_conditions(struct asx__blocking *pool)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->more, &attr);
    pthread_cond_init(&pool->fewer, NULL);
    pthread_condattr_destroy(&attr);
}

static struct asx__blocking *pool_of(asx_runtime *rt)
{
    if (rt->blocking != NULL)
        return rt->blocking;
    struct asx__blocking *pool = asx__mem_alloc(rt, sizeof *pool);
    if (pool == NULL)
        return NULL;
    memset(pool, 0, sizeof *pool);
    uint32_t most = rt->config.blocking_threads_max;
    pool->rt = rt;
    pool->threads_max = most != 0 ? most : THREADS_MAX_DEFAULT;
    pool->idle_ns = rt->config.blocking_idle_ns != 0 ? rt->config.blocking_idle_ns
                                                     : IDLE_NS_DEFAULT;
    asx__list_init(&pool->queue);
    asx__list_init(&pool->at_work);
    pthread_mutex_init(&pool->lock, NULL);
    init_conditions(pool);
    rt->blocking = pool;
    return pool;
}

static void free_spare(struct asx__blocking *pool)
{
    while (pool->spare != NULL) {
        worker *first = pool->spare;
        pool->spare = first->next;
        asx__mem_free(pool->rt, first, sizeof *first);
    }
}

void asx__blocking_stop(asx_runtime *rt)
{
    struct asx__blocking *pool = rt->blocking;
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    while (!asx__list_empty(&pool->queue)) {
        job *first = (job *)asx__list_pop_front(&pool->queue);
        first->state = JOB_DROPPED;
    }
    pthread_cond_broadcast(&pool->more);
    while (pool->threads != 0)
        pthread_cond_wait(&pool->fewer, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    if (pool->left)
        pthread_join(pool->last, NULL);
    free_spare(pool);
    pthread_cond_destroy(&pool->fewer);
    pthread_cond_destroy(&pool->more);
    pthread_mutex_destroy(&pool->lock);
    asx__mem_free(rt, pool, sizeof *pool);
    rt->blocking = NULL;
}

void asx__blocking_before_fork(asx_runtime *rt)
{
    if (rt->blocking != NULL)
        pthread_mutex_lock(&rt->blocking->lock);
}

static void fail_all(asx_runtime *rt, asx__node *jobs)
{
    while (!asx__list_empty(jobs)) {
        job *lost = (job *)asx__list_pop_front(jobs);
        lost->state = JOB_DONE;
        lost->result = ASX_E_SYSTEM;
        (void)asx__inbox_put(&rt->inbox, &lost->back);
    }
}

void asx__blocking_after_fork(asx_runtime *rt, bool child)
{
    struct asx__blocking *pool = rt->blocking;
    if (pool == NULL)
        return;
    pthread_mutex_unlock(&pool->lock);
    if (!child)
        return;
    fail_all(rt, &pool->at_work);
    fail_all(rt, &pool->queue);
    init_conditions(pool); /* those that waited for them do not exist */
    pool->threads = pool->idle = 0;
    pool->left = false; /* that thread is not in the child; records of those at work are lost */
    pool->queued = pool->running = 0;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static job *job_of(asx__waitable *waitable)
{
    return (job *)(void *)((char *)waitable - offsetof(job, wait));
}

/* Drops work that no thread has taken. False: one has. */
static bool give_up(asx_runtime *rt, asx__waitable *waitable)
{
    job *work = job_of(waitable);
    struct asx__blocking *pool = rt->blocking;
    pthread_mutex_lock(&pool->lock);
    bool dropped = work->state == JOB_QUEUED;
    if (dropped) {
        asx__list_remove(&work->node);
        work->state = JOB_DROPPED;
        pool->queued--;
        pool->dropped++;
        rt->jobs_out--;
    }
    pthread_mutex_unlock(&pool->lock);
    return dropped;
}

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    (void)rt;
    (void)task;
    (void)waitable;
    (void)granted; /* what was done was done */
}

static const asx__waitable_ops blocking_ops = { ASX__WAIT_BLOCKING, give_up, unpublish };

/* Hands the job to the pool. */
static asx_status submit(asx_runtime *rt, job *work)
{
    struct asx__blocking *pool = pool_of(rt);
    if (pool == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    pthread_mutex_lock(&pool->lock);
    if (pool->queued >= pool->idle && pool->threads < pool->threads_max && !start_thread(pool) &&
        pool->threads == 0) {
        pthread_mutex_unlock(&pool->lock);
        return ASX_E_SYSTEM;
    }
    work->state = JOB_QUEUED;
    asx__list_push_back(&pool->queue, &work->node);
    if (++pool->queued > pool->queued_max)
        pool->queued_max = pool->queued;
    rt->jobs_out++;
    pthread_cond_signal(&pool->more);
    pthread_mutex_unlock(&pool->lock);
    return ASX_OK;
}

static bool has_no_threads(const asx_runtime *rt)
{
    return rt->config.profile == ASX_PROFILE_FREESTANDING;
}

asx_status asx_blocking(asx_cx *cx, asx_blocking_fn fn, void *arg)
{
    ASX__GATE_CX(cx, asx_blocking(&in, fn, arg));
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (st < 0)
        return st;
    if (fn == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (has_no_threads(rt) || (task->flags & (ASX__T_POLL | ASX__T_EXPLORED)))
        return ASX_E_NOT_SUPPORTED;
    (void)asx__announce(rt, task, ASX__OP_CHECKPOINT, 0);
    st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    if (asx__fails(rt, ASX__FAULT_NO_THREAD))
        return ASX_E_SYSTEM;
    if (rt->virtual_clock)
        return fn(arg);
    job work = { .wait.ops = &blocking_ops, .task = task, .fn = fn, .arg = arg };
    st = asx__wait_prepare(rt, task, &work.wait);
    if (st == ASX_OK)
        st = submit(rt, &work);
    if (st < 0)
        return st;
    st = asx__park(rt, task, &work.wait, NULL);
    return work.state == JOB_DONE ? work.result : st;
}

/* ---- tasks that are nothing else ------------------------------------------------------------ */

static asx_status forget(asx_cx *cx, void *work)
{
    ASX__GATE_CX(cx, forget(&in, work));
    asx__mem_free(cx->rt_, work, sizeof(job));
    return ASX_OK;
}

static asx_poll job_over(asx_cx *cx, asx_status st)
{
    return st < 0 ? asx_poll_fail(cx, st) : ASX_POLL_READY;
}

static asx_poll job_begin(asx_cx *cx, job *work)
{
    asx_runtime *rt = cx->rt_;
    asx_status st = asx_checkpoint(cx);
    if (st == ASX_OK && asx__fails(rt, ASX__FAULT_NO_THREAD))
        st = ASX_E_SYSTEM;
    if (st < 0)
        return job_over(cx, st);
    if (rt->virtual_clock)
        return job_over(cx, work->fn(work->arg));
    work->task = cx->task_;
    st = submit(rt, work);
    if (st < 0)
        return job_over(cx, st);
    st = asx__wait_on(rt, work->task, &work->wait, NULL);
    ASX__ASSERT(st == ASX_E_WOULD_BLOCK);
    return ASX_POLL_PENDING;
}

static asx_poll job_poll(asx_cx *cx, void *state)
{
    ASX__GATE_CX_AS(asx_poll, cx, job_poll(&in, state));
    job *work = state;
    if (work->state == JOB_NEW)
        return job_begin(cx, work);
    if (asx__wait_granted(cx->task_, &work->wait))
        return job_over(cx, work->result);
    return job_over(cx, asx_checkpoint(cx)); /* dropped */
}

asx_status asx_spawn_blocking_at(const asx_region *region, const char *name, asx_blocking_fn fn,
                                 void *arg, asx_task *ret_task, const char *site)
{
    ASX__EMPTY(ret_task);
    ASX__GATE_REGION(region, asx__task_handed_out(
                                 in.rt_,
                                 asx_spawn_blocking_at(&in, name, fn, arg, ret_task, site),
                                 ret_task));
    asx__region *owner;
    asx_status st = asx__region_resolve(region, ASX_STATE_MASK_ALL, &owner);
    if (st < 0)
        return st;
    asx_runtime *rt = owner->rt;
    if (!asx__caller_may(rt, ASX_CAP_SPAWN))
        return ASX_E_CAPABILITY;
    if (fn == NULL)
        return asx__region_sticky(owner, ASX_E_INVALID_ARGUMENT);
    if (has_no_threads(rt))
        return asx__region_sticky(owner, ASX_E_NOT_SUPPORTED);
    job *work = asx__mem_alloc(rt, sizeof *work);
    if (work == NULL)
        return asx__region_sticky(owner, ASX_E_RESOURCE_EXHAUSTED);
    *work = (job){ .wait.ops = &blocking_ops, .fn = fn, .arg = arg };
    work->cleanup = (asx__cleanup){ NULL, forget, work };
    st = asx__spawn_poll_owning(region, name, job_poll, work, &work->cleanup, ret_task, site);
    if (st < 0)
        asx__mem_free(rt, work, sizeof *work);
    return st;
}

asx_status asx_runtime_blocking_stats(const asx_runtime *rt, asx_blocking_stats *ret_stats)
{
    ASX__EMPTY(ret_stats);
    if (rt == NULL || ret_stats == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_RUNTIME(rt, asx_runtime_blocking_stats(rt, ret_stats));
    asx_blocking_stats stats = { .threads_max = rt->config.blocking_threads_max };
    if (stats.threads_max == 0)
        stats.threads_max = THREADS_MAX_DEFAULT;
    struct asx__blocking *pool = rt->blocking;
    if (pool != NULL) {
        pthread_mutex_lock(&pool->lock);
        stats.threads = pool->threads;
        stats.threads_idle = pool->idle;
        stats.queued = pool->queued;
        stats.running = pool->running;
        stats.queued_max = pool->queued_max;
        stats.completed = pool->completed;
        stats.dropped = pool->dropped;
        pthread_mutex_unlock(&pool->lock);
    }
    *ret_stats = stats;
    return ASX_OK;
}
