/* pool.c - how many workers there are: surplus workers while others are stuck.
 *
 * Words
 *   base      the configured workers. They are made with the run and stay until it ends.
 *   surplus   workers beyond them, up to workers_cap. They come when base workers are stuck in a
 *             long function or a system call while tasks wait, and go when they are idle.
 *   stuck     has run the same task without a single dispatch for STUCK_LOOKS looks. What it does
 *             meanwhile does not matter: no progress is measured, not processor time. A look that
 *             comes late says nothing: where the monitor waits for a core, so may the worker. But
 *             after STUCK_NS it is stuck whatever the reason.
 *   backlog   tasks that wait and that any worker may run; pinned ones wait for theirs
 *   pressure  backlog minus idle workers. Signed: negative means that there are more workers than
 *             work. Both are counted at the look and nothing is added up, so it cannot drift.
 *   monitor   the thread that looks. It runs no tasks. What waits in the list of a stuck worker it
 *             puts into the injection list, also in a pool of fixed size.
 *
 * The life of a worker
 *
 *              start, promote            nothing to do             nobody rang
 *       DEAD ------------------> ACTIVE ---------------> IDLE_SPIN -------------> SLEEP
 *         ^                        | ^-------- woken --------'----------------------|
 *         |                        | monitor: not needed      idle for RETIRE_NS    |
 *         '------ slice ended -- DRAINING <-----------------------------------------'
 *
 *   ACTIVE -> IDLE_SPIN -> SLEEP -> ACTIVE     rest() of workers.c
 *   ACTIVE -> DRAINING                         drain_one()
 *   SLEEP -> DRAINING                          asx__pool_retires()
 *   DRAINING -> DEAD                           asx__pool_worker_ends()
 *
 * In DRAINING holds: it steals nothing and takes nothing (asx__pick() says so), what it had to run
 * is in the injection list, no task is pinned to it. It ends when the slice that it runs does.
 * Only surplus workers are ever DRAINING: pinned tasks of a base worker can count on it.
 *
 * Looking. While somebody sleeps the watch of workers.c sees to a backlog that nobody works off,
 * and gets up. The monitor is for the time when nobody is left to get up: it is rung when the last
 * sleeper is woken, looks in every LOOK_NS, and goes back to sleep after DULL_LOOKS looks with a
 * sleeper. So it uses nothing while a runtime rests. As long as every worker begins turns it does
 * not even enter the engine. If its thread could not be made, the driver tries again between turns:
 * base workers that are missing come by promotion, and the shortage may have passed.
 *
 * Rejected: a standby worker that sleeps until it is needed, because every wake-up would have to
 * tell it from one that may be given work. Promotion by whoever spawns: the one who sees the
 * backlog may be the last who does before it is stuck itself. Counters at every push and pop: the
 * queues know their lengths, and who asks can count. Processor time of threads: a worker that
 * waits in a system call uses none, and one that computes may well be about to end.
 */
#include "sched/engine.h"
#include "sched/process.h"

#include <string.h>

#define LOOK_NS (2 * ASX_MS)
#define STUCK_LOOKS 3u
#define STUCK_NS (40 * ASX_MS)
#define DULL_LOOKS 20u
#define RETIRE_NS (100 * ASX_MS)
#define SPARE_LOOKS 50u /* with the time between looks: as long */
#define HOLD_NS (100 * ASX_MS)
#define BACKLOG_MAX 1000

/* ---- what there is to see ------------------------------------------------------------------- */

static int64_t list_len(const asx__node *list, int64_t count)
{
    for (const asx__node *n = list->next; n != list && count < BACKLOG_MAX; n = n->next)
        count++;
    return count;
}

static int64_t queue_len(const asx__queue *queue, int64_t count)
{
    for (unsigned w = 0; w < 4; w++)
        for (uint64_t bits = queue->bits[w]; bits != 0; bits &= bits - 1)
            count = list_len(&queue->queue[w * 64 + (unsigned)__builtin_ctzll(bits)], count);
    return count;
}

/* What any worker could run now; a timer that is due counts as one. */
static int64_t backlog(asx_runtime *rt)
{
    const asx__engine *e = rt->engine;
    int64_t count = queue_len(&rt->cancel, queue_len(&rt->ready, 0)) + rt->timed_len;
    for (uint32_t i = 0; i < e->workers_max; i++) {
        const asx__worker *w = &e->workers[i];
        count = list_len(&w->local, count) + (w->r.next_up != NULL);
    }
    count += asx__next_deadline(rt) <= asx__clock_read(rt);
    return count < BACKLOG_MAX ? count : BACKLOG_MAX;
}

static bool is_stuck(asx__worker *w, asx_time at, bool late)
{
    asx__progress now = asx__worker_progress(w);
    if (now.task == NULL || w->asleep || !asx__progress_is(&now, &w->progress)) {
        w->same_looks = 0;
        w->same_since = at;
    } else if (at - w->same_since >= STUCK_NS) {
        w->same_looks = STUCK_LOOKS;
    } else if (w->same_looks < STUCK_LOOKS && !late) {
        w->same_looks++;
    }
    w->progress = now;
    return w->same_looks == STUCK_LOOKS;
}

static uint32_t count_stuck(asx_runtime *rt, bool late)
{
    asx__engine *e = rt->engine;
    uint32_t stuck = 0;
    for (uint32_t i = 0; i < e->workers_max; i++)
        if (!asx__worker_is(&e->workers[i], ASX__WORKER_DEAD))
            stuck += is_stuck(&e->workers[i], rt->now, late);
    return stuck;
}

/* From outside: has every worker begun a turn since this was last asked? Then nobody is stuck. */
static bool all_turn(asx__engine *e)
{
    bool all = e->workers_max == e->workers_base;
    for (uint32_t i = 0; i < e->workers_base; i++) {
        uint64_t turns = asx__load_relaxed(&e->workers[i].turns);
        e->workers[i].turned = turns != e->workers[i].turns_seen;
        e->workers[i].turns_seen = turns;
        all = all && e->workers[i].turned;
    }
    return all;
}

/* Had every worker that is awake begun one when that was last asked? */
static bool awake_turn(const asx__engine *e)
{
    for (uint32_t i = 0; i < e->workers_base; i++)
        if (!e->workers[i].asleep && !e->workers[i].turned)
            return false;
    return true;
}

/* What a stuck worker had to run next is anybody's: the others would come to it only when they have
 * nothing of their own left, which may be never. */
static void free_the_stuck(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    for (uint32_t i = 0; i < e->workers_max; i++)
        if (e->workers[i].same_looks == STUCK_LOOKS)
            asx__local_drain(rt, &e->workers[i]);
}

/* ---- decisions ------------------------------------------------------------------------------ */

static void count_pressure(asx__pool *pool, int64_t pressure)
{
    asx_pool_stats *counts = &pool->counts;
    /* It does not stay negative: somebody is idle then, and who looks at that ends its looking. */
    ASX__DEBUG_ASSERT(pressure >= 0 || pool->dull_looks < DULL_LOOKS);
    counts->looks++;
    counts->pressure = pressure;
    if (pressure > counts->pressure_max)
        counts->pressure_max = pressure;
    counts->looks_positive += pressure > 0;
    counts->looks_negative += pressure < 0;
    pool->negative_streak = pressure < 0 ? pool->negative_streak + 1 : 0;
    if (pool->negative_streak > counts->negative_streak_max)
        counts->negative_streak_max = pool->negative_streak;
}

/* The gate at which this look ends; NULL: another worker is needed. */
static uint64_t *gate(asx_runtime *rt, int64_t waiting)
{
    asx__engine *e = rt->engine;
    asx_pool_stats *counts = &e->pool.counts;
    uint32_t awake = e->workers_here - e->sleepers;
    if (waiting == 0)
        return &counts->gate_no_work;
    if (counts->pressure <= 0)
        return &counts->gate_nonpositive;
    if (e->sleepers != 0)
        return &counts->gate_idle_capacity;
    if (awake - counts->stuck >= e->workers_base)
        return &counts->gate_not_stuck;
    if (e->workers_here >= e->workers_cap)
        return &counts->gate_at_max;
    return rt->now < e->pool.hold_until ? &counts->gate_no_thread : NULL;
}

static asx__worker *dead_worker(asx__engine *e)
{
    for (uint32_t i = 1; i < e->workers_cap; i++)
        if (asx__worker_is(&e->workers[i], ASX__WORKER_DEAD))
            return &e->workers[i];
    return NULL;
}

/* Inside, and again when it returns; the thread is made outside. */
static void promote(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    asx_pool_stats *counts = &e->pool.counts;
    asx__worker *w = dead_worker(e);
    ASX__ASSERT(w != NULL);
    asx__bell_set(&w->bell, ASX__WORKER_ACTIVE);
    w->same_looks = 0;
    w->needed_at = rt->now;
    counts->promoted++; /* at once: somebody may ask in between */
    e->workers_here++;
    if (w->index >= e->workers_max)
        e->workers_max = w->index + 1;
    asx__engine_leave(rt, false);
    if (w->made)
        pthread_join(w->thread, NULL); /* of its last life; it is over, or is just ending */
    bool made = asx__worker_start(w);
    (void)asx__engine_enter(rt);
    if (made) {
        if (e->workers_here > counts->workers_peak)
            counts->workers_peak = e->workers_here;
        return;
    }
    counts->promoted--;
    counts->gate_no_thread++;
    e->pool.hold_until = asx_time_add(rt->now, HOLD_NS);
    asx__bell_set(&w->bell, ASX__WORKER_DEAD);
    e->workers_here--;
}

/* The last surplus worker that is awake takes nothing more. */
static void drain_one(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    for (uint32_t i = e->workers_max; i-- > e->workers_base;) {
        asx__worker *w = &e->workers[i];
        if (!asx__worker_is(w, ASX__WORKER_ACTIVE) || w->asleep || w->pins != 0)
            continue;
        asx__bell_set(&w->bell, ASX__WORKER_DRAINING);
        asx__local_drain(rt, w);
        e->pool.counts.retired_surplus++;
        return;
    }
}

static void look(asx_runtime *rt, bool late)
{
    asx__engine *e = rt->engine;
    asx__pool *pool = &e->pool;
    int64_t waiting = backlog(rt);
    pool->counts.stuck = count_stuck(rt, late);
    count_pressure(pool, waiting - (int64_t)e->sleepers);
    if (pool->counts.stuck != 0)
        free_the_stuck(rt);
    if (waiting != 0 && !awake_turn(e))
        e->coarse = true; /* somebody has not come to the end of a turn since the last look */
    uint64_t *at = gate(rt, waiting);
    if (at != NULL)
        ++*at;
    else
        promote(rt);
    if (e->workers_here - e->sleepers - pool->counts.stuck > e->workers_base)
        pool->spare_looks++;
    else if (pool->spare_looks > 0)
        pool->spare_looks--;
    if (pool->spare_looks >= SPARE_LOOKS) {
        pool->spare_looks = 0;
        drain_one(rt);
    }
    pool->dull_looks = e->sleepers != 0 ? pool->dull_looks + 1 : 0;
    pool->looks_in = pool->dull_looks < DULL_LOOKS;
}

/* ---- the monitor ---------------------------------------------------------------------------- */

static void *watch_over(void *arg)
{
    asx_runtime *rt = arg;
    asx__engine *e = rt->engine;
    asx__pool *pool = &e->pool;
    (void)asx__engine_enter(rt);
    while (!e->stop) {
        uint32_t seen = asx__bell_lie_down(&pool->bell, false);
        bool looks_in = pool->looks_in;
        asx__engine_leave(rt, false);
        uint64_t until;
        do {
            until = looks_in ? asx__futex_clock_ns() + LOOK_NS : ASX__FUTEX_FOREVER;
            (void)asx__bell_sleep(&pool->bell, seen, until);
        } while (!asx__bell_was_rung(&pool->bell, seen) && looks_in && all_turn(e));
        (void)asx__engine_enter(rt);
        if (!e->stop && !asx__bell_was_rung(&pool->bell, seen) && looks_in)
            look(rt, asx__futex_clock_ns() > until + LOOK_NS);
    }
    asx__engine_leave(rt, false);
    return NULL;
}

static void ring(asx__pool *pool)
{
    asx__bell_ring(&pool->bell);
    asx__bell_rouse(&pool->bell);
}

void asx__pool_begin(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    asx__pool *pool = &e->pool;
    pool->looks_in = true;
    pool->dull_looks = pool->spare_looks = 0;
    pool->hold_until = 0;
    if (e->workers_here > pool->counts.workers_peak)
        pool->counts.workers_peak = e->workers_here;
    asx__pool_mend(rt);
}

void asx__pool_mend(asx_runtime *rt)
{
    asx__pool *pool = &rt->engine->pool;
    if (rt->now < pool->hold_until)
        return;
    pool->made = asx__thread_start(&pool->monitor, watch_over, rt, true);
    if (!pool->made)
        pool->hold_until = asx_time_add(rt->now, HOLD_NS);
}

void asx__pool_end(asx_runtime *rt)
{
    asx__pool *pool = &rt->engine->pool;
    (void)asx__engine_enter(rt);
    ring(pool);
    asx__engine_leave(rt, false);
    if (pool->made)
        pthread_join(pool->monitor, NULL);
    pool->made = false;
}

void asx__pool_all_awake(asx__engine *e)
{
    asx__pool *pool = &e->pool;
    pool->dull_looks = 0;
    if (pool->looks_in || e->stop)
        return;
    pool->looks_in = true;
    ring(pool);
}

/* ---- surplus workers ------------------------------------------------------------------------ */

asx_time asx__pool_retire_at(const asx__worker *w)
{
    if (w->index < w->rt->engine->workers_base || w->pins != 0)
        return ASX_TIME_NEVER;
    return asx_time_add(w->needed_at, RETIRE_NS);
}

bool asx__pool_retires(asx_runtime *rt, asx__worker *w)
{
    if (rt->now < asx__pool_retire_at(w))
        return false;
    asx__bell_set(&w->bell, ASX__WORKER_DRAINING);
    rt->engine->pool.counts.retired_idle++;
    return true;
}

void asx__pool_worker_ends(asx_runtime *rt, asx__worker *w)
{
    ASX__DEBUG_ASSERT(!w->asleep && (rt->engine->stop || (w->pins == 0 && w->index != 0)));
    asx__bell_set(&w->bell, ASX__WORKER_DEAD);
    w->tid = 0;
    rt->engine->workers_here--;
}

/* ---- asking --------------------------------------------------------------------------------- */

asx_status asx_runtime_pool_stats(const asx_runtime *rt, asx_pool_stats *ret_stats)
{
    ASX__EMPTY(ret_stats);
    if (rt == NULL || ret_stats == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_RUNTIME(rt, asx_runtime_pool_stats(rt, ret_stats));
    asx_pool_stats stats = { .workers_base = 1, .workers_max = 1 };
    const asx__engine *e = rt->engine;
    if (e != NULL) {
        uint32_t in[ASX__WORKER_DRAINING + 1] = { 0 };
        for (uint32_t i = 0; i < e->workers_max; i++)
            in[asx__load_relaxed(&e->workers[i].bell.state)]++;
        stats = e->pool.counts;
        stats.workers_base = e->workers_base;
        stats.workers_max = e->workers_cap;
        stats.active = in[ASX__WORKER_ACTIVE];
        stats.searching = in[ASX__WORKER_IDLE_SPIN];
        stats.asleep = in[ASX__WORKER_SLEEP] + in[ASX__WORKER_POLL];
        stats.draining = in[ASX__WORKER_DRAINING];
    }
    *ret_stats = stats;
    return ASX_OK;
}
