/* workers.c - the threads of a shared runtime: who works, who sleeps, who watches.
 *
 * The thread that drives is worker 0; the others are made when it begins and end when it is done.
 * One that cannot be made is done without. Those beyond the configured number come and go: pool.c.
 *
 * Sleeping. A worker with nothing to do sleeps on a bell of its own: bell.h has the protocol. One
 * of the sleepers is the watch: it sleeps until the next timer. Surplus workers are woken last, so
 * that they have time to see that they are not needed.
 *
 * Searching. Waking a thread that sleeps in the system costs tens of microseconds. So a worker that
 * has run out of work first looks at its bell for SEARCH_NS (IDLE_SPIN), unless half of those who
 * are awake do so already; who rings for it then makes no system call, and it is there after a
 * cache line has been handed over. If nobody has rung, and hardly anybody has entered meanwhile, it
 * looks once whether something waits that those who are awake do not come to. Then it sleeps. It
 * does not search other queues all the time: work is put there with the engine held, and whoever
 * puts it knows best whether it is worth another core (see below).
 *
 * Spreading. A hand-over of a few cache lines costs more than a tiny task does, and waking a core
 * costs hundreds of them. So nobody is woken because something is runnable, as long as those who
 * are awake get through it quickly. While there is a backlog the watch looks in every LOOK_NS
 * ("polling"), and gets up when
 *     nobody entered the engine since its last look: a worker is busy with something long, or
 *     the time between two entries is at least COARSE_NS: tasks are worth a core each, or
 *     somebody has dispatched nothing for LOOK_NS: its task is long, however often it enters.
 * Then `coarse` is set, and from there on whoever leaves a backlog behind wakes the next sleeper at
 * once. A worker that finds entries closer than FINE_NS while others work lies down again, unless
 * they are its own: who takes tiny tasks from somebody that is busy with something long goes on.
 * A backlog with nobody awake wakes somebody at once, always.
 *
 * Looking in ends after QUIET_LOOKS looks without a backlog, so that a runtime that rests, or that
 * waits for a long computation, uses no time at all.
 */
#include "sched/engine.h"
#include "sched/hot.h"
#include "sched/process.h"
#include "sched/reactor.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS (500 * ASX_US)
#define COARSE_NS 4000u
#define FINE_NS 1500u
/* Of so many entries a worker may have had to wait for one. */
#define CROWDED 4u
#define QUIET_LOOKS 20u
/* Of so many looks of the watch one is from inside, where it sees who has dispatched something. */
#define LOOKS_OUTSIDE 8u
/* So late may a timer be while others are awake, who would fire it in their next turn. */
#define TIMER_SLACK_NS (200 * ASX_US)
/* Dispatches between two looks of a worker at how things go. */
#define STRETCH (4 * ASX__TURN)
#define SEARCH_NS 6000u

/* ---- bells ---------------------------------------------------------------------------------- */

static void forget_sleeper(asx__engine *e, asx__worker *w)
{
    asx__worker **at = &e->asleep;
    while (*at != w)
        at = &(*at)->next_asleep;
    *at = w->next_asleep;
    w->asleep = false;
    e->sleepers--;
    if (e->watch == w)
        e->watch = NULL;
    if (e->sleepers == 0)
        asx__pool_all_awake(e);
}

/* Surplus workers behind all others. */
static void add_sleeper(asx__engine *e, asx__worker *w)
{
    asx__worker **at = &e->asleep;
    while (w->index >= e->workers_base && *at != NULL)
        at = &(*at)->next_asleep;
    w->asleep = true;
    w->next_asleep = *at;
    *at = w;
    e->sleepers++;
}

static asx__worker *ring(asx__worker *w)
{
    asx__bell_ring(&w->bell);
    return w;
}

/* Somebody has to watch, if there is somebody. Returns whom to wake so that he does. */
static asx__worker *appoint_watch(asx_runtime *rt, asx__engine *e)
{
    if (e->watch != NULL || e->asleep == NULL)
        return NULL;
    e->watch = e->asleep;
    e->watch_until = ASX_TIME_NEVER;
    return e->polling || asx__next_deadline(rt) != ASX_TIME_NEVER ? ring(e->watch) : NULL;
}

static bool holds_any(const asx__queue *queue)
{
    for (unsigned w = 0; w < 4; w++)
        for (uint64_t bits = queue->bits[w]; bits != 0; bits &= bits - 1)
            if (!asx__list_empty(&queue->queue[w * 64 + (unsigned)__builtin_ctzll(bits)]))
                return true;
    return false;
}

bool asx__workers_have_backlog(const asx_runtime *rt)
{
    return !asx__list_empty(&rt->ready.queue[0]) || rt->next_up != NULL || rt->timed_len != 0 ||
           asx__pinned_any(rt) || asx__cancel_pending(rt) || holds_any(&rt->ready) ||
           holds_any(&rt->cancel) || asx__locals_hold_any(rt);
}

/* Was a timer armed that the watch does not know of? */
static bool timer_before_watch(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    if (rt->timers.quiet_until == e->quiet_known)
        return false;
    e->quiet_known = rt->timers.quiet_until;
    if (e->quiet_known >= e->watch_until)
        return false;
    return asx_time_add(asx__next_deadline(rt), TIMER_SLACK_NS) < e->watch_until;
}

asx__worker *asx__workers_whom_to_wake(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    asx__worker *due = appoint_watch(rt, e);
    if (due != NULL)
        return due;
    bool all_asleep = e->sleepers == e->workers_here;
    if ((e->coarse || all_asleep) && asx__workers_have_backlog(rt)) {
        asx__worker *w = e->asleep;
        forget_sleeper(e, w);
        return ring(w);
    }
    if (e->polling || e->watch == NULL)
        return NULL;
    if (!timer_before_watch(rt) && !asx__workers_unpolled(rt) &&
        (all_asleep || !asx__workers_have_backlog(rt)))
        return NULL;
    e->polling = true;
    e->quiet_looks = 0;
    e->entries_seen = asx__engine_calls(e); /* what was before does not say how things go */
    e->looked_at = rt->now;
    return ring(e->watch);
}

void asx__worker_rouse(asx_runtime *rt, asx__worker *w)
{
    if (asx__bell_rouse(&w->bell))
        rt->reactor->ops->wake(rt->reactor);
}

bool asx__workers_unpolled(const asx_runtime *rt)
{
    const asx__engine *e = rt->engine;
    return rt->reactor != NULL && rt->reactor->out != 0 && e->poller == NULL &&
           e->sleepers != e->workers_here; /* the last who lies down waits for them */
}

void asx__worker_call(asx_runtime *rt, asx__worker *w)
{
    if (!w->asleep)
        return;
    forget_sleeper(rt->engine, w);
    asx__worker_rouse(rt, ring(w));
}

static void ring_all(asx_runtime *rt, asx__engine *e)
{
    while (e->asleep != NULL) {
        asx__worker *w = e->asleep;
        forget_sleeper(e, w);
        asx__worker_rouse(rt, ring(w));
    }
}

/* ---- how things go -------------------------------------------------------------------------- */

/* Time between two entries of a busy worker since *seen, when it was *at. NEVER: no entry. */
static uint64_t grain(asx_runtime *rt, uint64_t *seen, asx_time *at)
{
    const asx__engine *e = rt->engine;
    uint64_t calls = asx__engine_calls(e);
    uint64_t entries = calls - *seen;
    uint64_t awake = e->workers_here - e->sleepers;
    asx_time now = asx__clock_read(rt);
    uint64_t elapsed = now - *at;
    *seen = calls;
    *at = now;
    return entries <= 1 ? ASX_TIME_NEVER : elapsed * (awake != 0 ? awake : 1) / entries;
}

/* Has somebody who is awake run the same task for long? What waits behind it does not care how
 * often that task enters. */
static bool somebody_stays(asx_runtime *rt)
{
    const asx__engine *e = rt->engine;
    bool stays = false;
    for (uint32_t i = 0; i < e->workers_max; i++) {
        asx__worker *w = &e->workers[i];
        asx__progress now = asx__worker_progress(w);
        if (now.task == NULL || w->asleep || !asx__progress_is(&now, &w->watched)) {
            w->watched = now;
            w->watched_since = rt->now;
        }
        stays = stays || rt->now - w->watched_since >= LOOK_NS;
    }
    return stays;
}

/* The watch looks in. True: it is needed. */
static bool look(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    uint64_t between = grain(rt, &e->entries_seen, &e->looked_at);
    bool stays = somebody_stays(rt);
    if (!asx__workers_have_backlog(rt)) {
        if (++e->quiet_looks >= QUIET_LOOKS && !asx__workers_unpolled(rt))
            e->polling = false;
        return false;
    }
    e->quiet_looks = 0;
    if (between < COARSE_NS && !stays)
        return false;
    e->coarse = true;
    return true;
}

/* A worker that works has looked how things go. */
static void note_look(asx_runtime *rt, asx__worker *w)
{
    w->entries_seen = asx__engine_calls(rt->engine);
    w->own_seen = asx__worker_calls(w);
    w->met_seen = w->met;
    w->looked_at = rt->now;
}

/* A worker that works. True: others get through it better without it. Who does not enter all the
 * time is not held up by it, and would not do in its place what it does. */
static bool is_in_the_way(asx_runtime *rt, asx__worker *w)
{
    asx__engine *e = rt->engine;
    uint64_t elapsed = asx__clock_read(rt) - w->looked_at;
    uint64_t all = asx__engine_calls(e) - w->entries_seen;
    uint64_t own = asx__worker_calls(w) - w->own_seen;
    uint64_t awake = e->workers_here - e->sleepers;
    bool crowded = (w->met - w->met_seen) * CROWDED > own;
    note_look(rt, w);
    /* While somebody tells of a cancellation, what else is ready is the others' business. */
    bool needed = asx__pinned_any(rt) || /* nobody else may run those */
                  (asx__cancel_pending(rt) && !asx__list_empty(&rt->ready.queue[0]));
    if (all <= 1 || needed || (!crowded && elapsed * awake >= all * FINE_NS))
        return false;
    e->coarse = false;
    return awake >= 2 && (crowded || elapsed * (awake - 1) < (all - own) * FINE_NS);
}

/* ---- sleeping ------------------------------------------------------------------------------- */

static asx_time sooner(asx_time a, asx_time b)
{
    return a < b ? a : b;
}

/* When this sleeper has to wake up by itself. */
static asx_time wake_time(asx_runtime *rt, asx__worker *w, asx_time until)
{
    asx__engine *e = rt->engine;
    asx_time own = w->index == 0 ? until : asx__pool_retire_at(w);
    if (e->sleepers == e->workers_here)
        own = sooner(own, asx__tidy_due(rt));
    asx_time next = asx__next_deadline(rt);
    if (e->sleepers < e->workers_here)
        next = asx_time_add(next, TIMER_SLACK_NS);
    if (e->watch == NULL || next < e->watch_until)
        e->watch = w;
    if (e->watch != w)
        return own;
    if (e->polling)
        next = sooner(next, asx_time_add(rt->now, LOOK_NS));
    e->watch_until = next;
    e->quiet_known = 0;
    return sooner(next, own);
}

/* May one more worker, which is about to rest, search? */
static bool may_search(const asx__engine *e)
{
    uint32_t searching = 0;
    for (uint32_t i = 0; i < e->workers_max; i++)
        searching += asx__worker_is(&e->workers[i], ASX__WORKER_IDLE_SPIN);
    return 2 * searching < e->workers_here - e->sleepers + searching;
}

/* Somebody may ring in a moment. False: nobody has, and it sleeps now. */
static bool search(asx__worker *w, uint32_t seen, uint64_t deadline)
{
    uint64_t until = asx__futex_clock_ns() + SEARCH_NS;
    return asx__bell_search(&w->bell, seen, until < deadline ? until : deadline) ||
           asx__bell_fall_asleep(&w->bell, seen);
}

static uint64_t futex_deadline(const asx_runtime *rt, asx_time at)
{
    if (at == ASX_TIME_NEVER)
        return ASX__FUTEX_FOREVER;
    return asx__futex_clock_ns() + (at > rt->now ? at - rt->now : 0);
}

/* Is this sleeper the one to wait for completions? The last one awake is; and the watch, if nobody
 * has come to the end of a turn since it looked in last. */
static bool becomes_poller(asx_runtime *rt, asx__worker *w)
{
    asx__engine *e = rt->engine;
    if (rt->reactor == NULL || e->poller != NULL)
        return false;
    bool reaped = rt->reactor->reaped != e->reaped_seen;
    if (e->watch == w)
        e->reaped_seen = rt->reactor->reaped;
    if (e->sleepers != e->workers_here && (e->watch != w || !e->polling || reaped))
        return false;
    e->poller = w;
    return true;
}

/* Waits in the reactor until the bell, the deadline or a completion. True: there may be one. */
static bool poll(asx_runtime *rt, asx__worker *w, uint32_t seen, uint64_t deadline)
{
    return !asx__bell_go_away(&w->bell, seen) && rt->reactor->ops->wait(rt->reactor, deadline);
}

/* Sleeps until the bell or the deadline. A watch that would only look in does that from outside a
 * few times first: as long as others enter every moment there is hardly anything to be done. */
static void doze(asx__engine *e, asx__worker *w, uint32_t seen, uint64_t deadline, bool looks_in)
{
    uint64_t before = asx__engine_calls(e);
    for (uint32_t n = 1; !asx__bell_sleep(&w->bell, seen, deadline) && looks_in; n++) {
        uint64_t entries = asx__engine_calls(e);
        if ((entries - before) * COARSE_NS < LOOK_NS || n == LOOKS_OUTSIDE)
            break;
        before = entries;
        deadline += LOOK_NS;
    }
}

bool asx__workers_stalled(asx_runtime *rt)
{
    const asx__engine *e = rt->engine;
    return rt->jobs_out == 0 && e->sleepers == e->workers_here &&
           !asx__workers_have_backlog(rt) && asx__next_deadline(rt) == ASX_TIME_NEVER;
}

/* Nothing will ever happen: nobody outside can help, or has to, since he wants an end. */
static bool is_over(asx_runtime *rt)
{
    return (rt->shut_down || rt->config.isolated) && asx__workers_stalled(rt);
}

/* A worker has searched and heard no bell. True: something waits to which nobody comes. */
static bool finds_something(asx_runtime *rt, uint64_t calls_before)
{
    asx__engine *e = rt->engine;
    if ((asx__engine_calls(e) - calls_before) * COARSE_NS > SEARCH_NS)
        return false;
    (void)asx__engine_enter(rt);
    bool found = asx__workers_have_backlog(rt);
    e->coarse = e->coarse || found;
    asx__engine_leave(rt, false);
    return found;
}

/* Back inside: takes what has come. True: there is something to do. */
static bool end_poll(asx_runtime *rt, bool waited)
{
    rt->engine->poller = NULL;
    rt->reactor->waited = waited;
    asx__reactor_reap(rt->reactor);
    return asx__workers_have_backlog(rt);
}

/* Leaves, and comes back when something has happened. `searches`: it looks around before it sleeps.
 * True: it has found something. */
static bool leave_for_sleep(asx_runtime *rt, asx__worker *w, asx_time at, bool looks_in,
                            bool searches)
{
    asx__engine *e = rt->engine;
    bool polls = becomes_poller(rt, w);
    uint64_t deadline = futex_deadline(rt, at), calls = asx__engine_calls(e);
    uint32_t seen = asx__bell_lie_down(&w->bell, searches);
    asx__engine_give_up(rt);
    asx__engine_leave(rt, false);
    bool rung = searches && search(w, seen, deadline);
    bool found = searches && !rung && finds_something(rt, calls);
    bool waited = !rung && !found && polls && poll(rt, w, seen, deadline);
    if (!rung && !found && !polls)
        doze(e, w, seen, deadline, looks_in);
    (void)asx__engine_enter(rt);
    return polls ? end_poll(rt, waited) || found : found;
}

/* Sleeps until there is something for this worker to do, or its time has come. */
static void rest(asx_runtime *rt, asx__worker *w, asx_time until, bool searches)
{
    asx__engine *e = rt->engine;
    searches = searches && may_search(e);
    if (e->asleep == NULL || e->asleep->index >= e->workers_base)
        w->needed_at = asx__clock_read(rt); /* nobody else could have done what it has done */
    add_sleeper(e, w);
    e->quiet_known = 0; /* what it has given back is in no list that may_wake() looks at: ask */
    for (;;) {
        (void)asx__clock_read(rt);
        if (is_over(rt)) {
            e->stop = e->deadlocked = true;
            forget_sleeper(e, w);
            break;
        }
        asx_time at = wake_time(rt, w, until);
        bool looks_in = e->watch == w && e->polling && at != until;
        bool found = leave_for_sleep(rt, w, at, looks_in, searches);
        searches = false;
        if (!w->asleep)
            break;
        asx_time now = asx__clock_read(rt);
        if (e->sleepers == e->workers_here && asx__tidy_due(rt) <= now)
            asx__tidy_step(rt);
        bool due = e->watch == w && asx__next_deadline(rt) <= now;
        if (e->stop || rt->finished || (w->index == 0 && now >= until) || due || found ||
            (e->watch == w && e->polling && look(rt)) || asx__pool_retires(rt, w)) {
            forget_sleeper(e, w);
            break;
        }
    }
    if (!asx__worker_is(w, ASX__WORKER_DRAINING))
        asx__bell_set(&w->bell, ASX__WORKER_ACTIVE);
    note_look(rt, w);
}

uint64_t asx__workers_dispatched(const asx_runtime *rt)
{
    const asx__engine *e = rt->engine;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < e->workers_max; i++) {
        const asx__worker *w = &e->workers[i];
        uint32_t gone = ASX__TURN - w->r.turn_left;
        if (w != e->loaded && gone > w->r.turn_slow)
            sum += gone - w->r.turn_slow;
    }
    return sum;
}

/* ---- working -------------------------------------------------------------------------------- */

/* What this worker kept for itself is anybody's again, and what was left to it is done. */
static void give_back(asx_runtime *rt)
{
    while (rt->over != NULL) {
        asx__task *task = rt->over;
        rt->over = NULL;
        asx__task_end_panicked(rt, task);
    }
    asx__task *kept[] = { rt->handoff, rt->next_up };
    rt->handoff = rt->next_up = NULL;
    for (int i = 0; i < 2; i++) {
        if (kept[i] == NULL)
            continue;
        kept[i]->flags &= ~(uint32_t)ASX__T_INLINE;
        asx__enqueue_again(rt, kept[i]);
    }
    asx__local_give_back(rt);
}

static asx_status work(asx_runtime *rt, asx__worker *w, asx_time until)
{
    asx__engine *e = rt->engine;
    asx_status st = ASX_OK;
    (void)asx__clock_read(rt);
    note_look(rt, w);
    while (!rt->finished && !e->stop && !asx__worker_is(w, ASX__WORKER_DRAINING)) {
        asx__local_adopt(rt); /* so that nobody's own work keeps it from its turn */
        bool more = asx__run_some(rt, e->coarse ? ASX__TURN : STRETCH) ||
                    asx__workers_have_backlog(rt);
        if (asx__cancel_pending(rt))
            asx__engine_let_in(rt); /* it may have nothing to run for which it would leave */
        if (rt->finished || e->stop || asx__worker_is(w, ASX__WORKER_DRAINING))
            break;
        if (w->index == 0 && rt->now >= until) {
            st = ASX_E_TIMEOUT;
            break;
        }
        if (ASX__UNLIKELY(!e->pool.made) && w->index == 0)
            asx__pool_mend(rt);
        bool in_the_way = is_in_the_way(rt, w);
        if (more && !in_the_way)
            continue;
        give_back(rt);
        rest(rt, w, until, !in_the_way);
    }
    give_back(rt);
    if (asx__worker_is(w, ASX__WORKER_DRAINING) && !rt->finished) {
        if (e->asleep != NULL && asx__workers_have_backlog(rt))
            asx__worker_call(rt, e->asleep); /* it has left something behind */
    } else {
        e->stop = true;
        ring_all(rt, e);
    }
    asx__engine_give_up(rt);
    return st;
}

static void sit_down(asx__worker *w)
{
    asx__thread *self = asx__thread_self();
    self->worker = w;
    w->self = self;
    w->tid = (int32_t)syscall(SYS_gettid);
    asx__stack_adopt_host(&w->host_stack);
}

/* The life of a worker but for the driver, inside at first. */
static void serve(asx__worker *w)
{
    asx_runtime *rt = w->rt;
    (void)work(rt, w, ASX_TIME_NEVER);
    asx__pool_worker_ends(rt, w);
    asx__engine_leave(rt, false);
}

/* The driver's, inside at first: works, then waits for the others. */
static asx_status conduct(asx__worker *w, asx_time until)
{
    asx_runtime *rt = w->rt;
    asx__engine *e = rt->engine;
    asx_status st = work(rt, w, until);
    asx__pool_worker_ends(rt, w);
    asx__engine_leave(rt, false);
    asx__pool_end(rt);
    for (uint32_t i = 1; i < e->workers_cap; i++) {
        if (e->workers[i].made)
            pthread_join(e->workers[i].thread, NULL);
        e->workers[i].made = false;
    }
    (void)asx__engine_enter(rt);
    rt->driving = false;
    if (rt->finished)
        st = ASX_OK;
    else if (e->deadlocked)
        st = ASX_E_DEADLOCK;
    asx__engine_leave(rt, false);
    return st;
}

/* A task has ended the thread: its worker goes on where the thread is. */
static void go_on(asx__driving *driving)
{
    asx__worker *w = (asx__worker *)(void *)((char *)driving - offsetof(asx__worker, drives));
    asx__stack_host_again(&w->host_stack);
    if (asx__is_shut(driving->rt))
        asx__end_of_fork(ASX_OK);
    (void)asx__engine_enter(w->rt);
    asx__task_thread_ended(w->rt);
    if (w->index != 0) {
        serve(w);
        return;
    }
    (void)conduct(w, driving->until);
    (void)asx__engine_enter(w->rt);
    w->rt->in_run = false; /* nobody will return from there */
    asx__engine_leave(w->rt, false);
}

static void begin_driving(asx__worker *w, asx_time until)
{
    w->drives = (asx__driving){ .rt = w->rt, .until = until, .go_on = go_on };
    asx__driving_begin(&w->drives);
}

static void *worker_main(void *arg)
{
    asx__worker *w = arg;
    asx_runtime *rt = w->rt;
    void *fault_stack = asx__fault_enter_thread(rt);
    asx__thread_self()->host_mask = &rt->host_mask;
    sit_down(w);
    begin_driving(w, ASX_TIME_NEVER);
    (void)asx__engine_enter(rt);
    serve(w);
    asx__driving_end(&w->drives);
    asx__fault_leave_thread(fault_stack);
    return NULL;
}

bool asx__worker_start(asx__worker *w)
{
    w->made = asx__thread_start(&w->thread, worker_main, w, true);
    return w->made;
}

/* Makes the other threads, inside. */
static void start_threads(asx_runtime *rt)
{
    asx__engine *e = rt->engine;
    bool all = true;
    for (uint32_t i = 0; i < e->workers_base; i++) {
        asx__worker *w = &e->workers[i];
        all = all && (i == 0 || asx__worker_start(w));
        asx__bell_set(&w->bell, all ? ASX__WORKER_ACTIVE : ASX__WORKER_DEAD);
        e->workers_here += all;
    }
    for (uint32_t i = 1; i < e->workers_max; i++) /* whoever was theirs alone has moved */
        if (!e->workers[i].made)
            asx__pinned_rehome(rt, &e->workers[i]);
}

asx_status asx__drive_shared(asx_runtime *rt, asx_time until)
{
    asx__engine *e = rt->engine;
    asx__worker *before = asx__thread_self()->worker;
    sit_down(&e->workers[0]);
    (void)asx__engine_enter(rt);
    rt->driving = true;
    e->stop = false;
    e->deadlocked = false;
    e->coarse = false;
    e->workers_here = 0;
    start_threads(rt);
    asx__pool_begin(rt);
    begin_driving(&e->workers[0], until);
    asx_status st = conduct(&e->workers[0], until);
    asx__driving_end(&e->workers[0].drives);
    asx__thread_self()->worker = before;
    return st;
}

bool asx__step_shared(asx_runtime *rt, uint64_t dispatches_max)
{
    asx__engine *e = rt->engine;
    asx__worker *before = asx__thread_self()->worker;
    sit_down(&e->workers[0]);
    (void)asx__engine_enter(rt);
    rt->driving = true;
    (void)asx__clock_read(rt);
    asx__local_adopt(rt);
    bool more = asx__run_some(rt, dispatches_max) || asx__cancel_pending(rt);
    rt->driving = false;
    asx__engine_give_up(rt);
    asx__engine_leave(rt, false);
    asx__thread_self()->worker = before;
    return more;
}
