/* lanes.c - who goes next.
 *
 * cancel, then timed, then ready; within a lane by priority (timed: by deadline), then in order of
 * arrival. After cancel_streak_max cancel dispatches in a row another lane goes first if it has
 * anything; likewise the timed lane against the ready lane.
 *
 * While `hot` is set, a leaving fiber may take the head of the ready list of priority 0 without
 * looking at anything else: both other lanes and all other ready lists are empty, nobody goes out
 * of turn (next_up), and neither journal nor laboratory is on. Everything that could break this
 * clears it.
 */
#include "sched/engine.h"
#include "sched/hot.h"

#define TIE_WINDOW 256u /* how many equals the laboratory's tie-break looks at */

static void queue_push(asx__queue *queue, asx__task *task)
{
    unsigned p = task->priority;
    asx__list_push_back(&queue->queue[p], &task->node);
    uint64_t bit = UINT64_C(1) << (p & 63u);
    if (ASX__UNLIKELY((queue->bits[p >> 6] & bit) == 0)) {
        queue->bits[p >> 6] |= bit;
        queue->words |= 1u << (p >> 6);
    }
}

static __attribute__((noinline)) asx__node *queue_search(asx__queue *queue)
{
    while (queue->words != 0) {
        unsigned w = 31u - (unsigned)__builtin_clz(queue->words);
        while (queue->bits[w] != 0) {
            unsigned b = 63u - (unsigned)__builtin_clzll(queue->bits[w]);
            asx__node *head = &queue->queue[w * 64u + b];
            if (!asx__list_empty(head))
                return head;
            queue->bits[w] &= ~(UINT64_C(1) << b);
        }
        queue->words &= ~(1u << w);
    }
    return NULL;
}

/* Head of the highest non-empty list; clears bits that have become wrong. NULL: all empty. */
static inline asx__node *queue_top(asx__queue *queue)
{
    if (queue->words == 0)
        return NULL;
    unsigned w = 31u - (unsigned)__builtin_clz(queue->words);
    ASX__DEBUG_ASSERT(queue->bits[w] != 0); /* a search has cleared both, or neither */
    unsigned b = 63u - (unsigned)__builtin_clzll(queue->bits[w]);
    asx__node *head = &queue->queue[w * 64u + b];
    return ASX__LIKELY(!asx__list_empty(head)) ? head : queue_search(queue);
}

/* The same for the ready lane; `hot` ends with the bit that it stands on. */
static asx__node *ready_top(asx_runtime *rt)
{
    asx__node *head = queue_top(&rt->ready);
    if (head != &rt->ready.queue[0])
        rt->hot = 0;
    return head;
}

static bool timed_before(const asx__timed_entry *a, const asx__timed_entry *b)
{
    return a->deadline != b->deadline ? a->deadline < b->deadline : a->seq < b->seq;
}

static void timed_put(asx_runtime *rt, uint32_t at, asx__timed_entry entry)
{
    rt->timed[at] = entry;
    entry.task->extra->timed_pos = at + 1;
}

static void timed_up(asx_runtime *rt, uint32_t at, asx__timed_entry entry)
{
    while (at > 0 && timed_before(&entry, &rt->timed[(at - 1) / 2])) {
        timed_put(rt, at, rt->timed[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    timed_put(rt, at, entry);
}

static void timed_down(asx_runtime *rt, uint32_t at, asx__timed_entry entry)
{
    for (;;) {
        uint32_t child = at * 2 + 1;
        if (child >= rt->timed_len)
            break;
        if (child + 1 < rt->timed_len && timed_before(&rt->timed[child + 1], &rt->timed[child]))
            child++;
        if (!timed_before(&rt->timed[child], &entry))
            break;
        timed_put(rt, at, rt->timed[child]);
        at = child;
    }
    timed_put(rt, at, entry);
}

static void timed_push(asx_runtime *rt, asx__task *task)
{
    ASX__ASSERT(rt->timed_len < rt->timed_cap); /* room was reserved at admission */
    asx__timed_entry entry = { task->extra->budget.deadline, ++rt->timed_seq, task };
    timed_up(rt, rt->timed_len++, entry);
}

static void timed_remove(asx_runtime *rt, asx__task *task)
{
    uint32_t at = task->extra->timed_pos - 1;
    asx__timed_entry last = rt->timed[--rt->timed_len];
    task->extra->timed_pos = 0;
    if (last.task == task)
        return;
    if (at > 0 && timed_before(&last, &rt->timed[(at - 1) / 2]))
        timed_up(rt, at, last);
    else
        timed_down(rt, at, last);
}

void asx__enqueue_slow(asx_runtime *rt, asx__task *task)
{
    rt->hot = 0;
    if (ASX__UNLIKELY((task->flags & ASX__T_PINNED) != 0)) {
        asx__pinned_put(rt, task);
        return;
    }
    switch (asx__lane_of(task)) {
    case ASX__LANE_CANCEL:
        queue_push(&rt->cancel, task);
        break;
    case ASX__LANE_TIMED:
        timed_push(rt, task);
        break;
    default:
        queue_push(&rt->ready, task);
        break;
    }
}

void asx__dequeue(asx_runtime *rt, asx__task *task)
{
    ASX__DEBUG_ASSERT(asx__is_queued(task)); /* F2 */
    if (rt->next_up == task)
        rt->next_up = NULL;
    else if (rt->handoff == task)
        rt->handoff = NULL;
    else if (task->extra != NULL && task->extra->timed_pos != 0)
        timed_remove(rt, task);
    else if (ASX__LIKELY(rt->engine == NULL) || !asx__locals_forget(rt, task))
        asx__list_remove(&task->node);
}

static asx__task *take(asx__node *node)
{
    asx__task *task = (asx__task *)node;
    asx__list_remove(node);
    ASX__DEBUG_ASSERT(asx__is_queued(task)); /* F2 */
    return task;
}

/* The laboratory lets the seed choose among equals. */
static asx__task *take_tied(asx_runtime *rt, asx__node *head)
{
    uint32_t count = 0;
    for (const asx__node *n = head->next; n != head && count < TIE_WINDOW; n = n->next)
        count++;
    asx__node *node = head->next;
    if (count > 1)
        for (uint64_t k = asx__rng_below(&rt->rng, count); k > 0; k--)
            node = node->next;
    return take(node);
}

static asx__task *pick_ready(asx_runtime *rt, asx__node *head)
{
    rt->cert.ready_dispatches++;
    rt->turn_slow++;
    rt->cancel_streak = 0;
    rt->timed_streak = 0;
    if (ASX__UNLIKELY(rt->config.seed != 0) && rt->lab)
        return take_tied(rt, head);
    return take(head->next);
}

/* Many tasks are cancelled together, and the stack or the state of each was last touched long ago.
 * So both are asked for while the AHEAD tasks before it run, and with them the record of the task
 * behind it. Of a stack that is what the wait has left on it, up to its header if that is not far,
 * and what the end of the task will need below. These are hints: the processor goes on meanwhile,
 * however long the translation of the page and the lines take. The task that leaves may stand in
 * the lane itself; where its stack ends is not known yet.
 *
 * To be inlined at once: gcc drops calls of functions that do nothing else. */
#define HINTS static inline __attribute__((always_inline)) void
enum { LINE = 64, AHEAD = 8 };

HINTS prefetch_vehicle(const asx__task *task)
{
    uintptr_t used = (uintptr_t)task->u.fiber.sp; /* or a poll task's state, or an argument */
    if ((task->flags & (ASX__T_POLL | ASX__T_STARTED)) != ASX__T_STARTED) {
        __builtin_prefetch((const void *)used);
        return;
    }
    for (uintptr_t at = used - 3 * LINE; at < used + 3 * LINE; at += LINE)
        __builtin_prefetch((const void *)at);
    uintptr_t header = (uintptr_t)task->u.fiber.stack; /* at the upper end */
    for (uintptr_t at = used + 3 * LINE; at <= header && at < used + 7 * LINE; at += LINE)
        __builtin_prefetch((const void *)at);
}

HINTS prefetch_ahead(const asx_runtime *rt, const asx__node *head)
{
    const asx__node *node = head->next->next;
    for (int i = 1; i < AHEAD; i++) {
        if (node == head)
            return;
        node = node->next;
    }
    if (node == head)
        return;
    const asx__task *task = (const asx__task *)(const void *)node;
    if (task != rt->current)
        prefetch_vehicle(task);
    __builtin_prefetch(node->next);
    __builtin_prefetch((const char *)node->next + LINE);
}

static asx__task *pick_cancel(asx_runtime *rt, asx__node *head, bool fallback)
{
    prefetch_ahead(rt, head);
    rt->turn_slow++;
    rt->timed_streak = 0;
    if (fallback) {
        rt->cert.fallback_cancel_dispatches++;
        rt->cancel_streak = 1;
    } else {
        rt->cert.cancel_dispatches++;
        rt->cancel_streak++;
    }
    return take(head->next);
}

static asx__task *pick_timed(asx_runtime *rt)
{
    rt->turn_slow++;
    rt->cert.timed_dispatches++;
    rt->cancel_streak = 0;
    rt->timed_streak++;
    asx__task *task = rt->timed[0].task;
    timed_remove(rt, task);
    return task;
}

/* May the cancel lane go now? Keeps the certificate's account of when it could not. */
static bool cancel_may_go(asx_runtime *rt)
{
    uint32_t limit = rt->cancel_streak_max;
    if (rt->governor == ASX_GOVERNOR_DRAIN_OBLIGATIONS ||
        rt->governor == ASX_GOVERNOR_DRAIN_REGIONS)
        limit *= 2;
    if (limit > rt->cert.max_effective_limit_observed)
        rt->cert.max_effective_limit_observed = limit;
    if (rt->cancel_streak >= rt->cancel_streak_max)
        rt->cert.base_limit_exceedances++;
    if (rt->cancel_streak < limit)
        return true;
    rt->cert.effective_limit_exceedances++;
    return false;
}

static asx__task *pick_lanes(asx_runtime *rt, asx__node *ready)
{
    asx__node *cancel = queue_top(&rt->cancel);
    bool timed = rt->timed_len != 0;
    bool timed_rests = rt->timed_streak >= rt->timed_streak_max &&
                       (ready != NULL || (cancel != NULL && rt->governor ==
                                                                ASX_GOVERNOR_MEET_DEADLINES));
    bool cancel_goes = cancel != NULL && cancel_may_go(rt);
    if (rt->governor == ASX_GOVERNOR_MEET_DEADLINES && timed && !timed_rests)
        return pick_timed(rt);
    if (cancel_goes)
        return pick_cancel(rt, cancel, false);
    if (timed && !timed_rests)
        return pick_timed(rt);
    if (ready != NULL)
        return pick_ready(rt, ready);
    if (timed)
        return pick_timed(rt);
    return cancel != NULL ? pick_cancel(rt, cancel, true) : NULL;
}

/* Nothing is ready here. Does it matter whether something is elsewhere? Not to cancelled tasks as
 * long as it is their turn. */
static inline bool looks_further(asx_runtime *rt)
{
    return queue_top(&rt->cancel) == NULL || rt->cancel_streak >= rt->cancel_streak_max;
}

asx__task *asx__pick(asx_runtime *rt)
{
    asx__node *ready = ready_top(rt);
    uint8_t hot = rt->hot_most;
    if (rt->engine != NULL) {
        if (ASX__UNLIKELY(asx__worker_is(rt->engine->loaded, ASX__WORKER_DRAINING)))
            return NULL;
        if (ASX__UNLIKELY(asx__cancel_pending(rt))) {
            if (rt->cancel_callers == 0)
                asx__cancel_go_on(rt);
            hot = asx__cancel_pending(rt) ? 0 : hot;
            ready = ready_top(rt);
        }
        asx__task *pinned = asx__pinned_take(rt, ready != NULL);
        if (pinned != NULL)
            return pinned;
        if (ready == NULL && looks_further(rt) && asx__steal(rt))
            ready = ready_top(rt);
    }
    if (ASX__UNLIKELY(rt->timed_len != 0 || rt->cancel.words != 0))
        return pick_lanes(rt, ready);
    if (ready == NULL)
        return NULL;
    if (ASX__LIKELY(ready == &rt->ready.queue[0]))
        rt->hot = hot; /* its bit is set, and stays set as long as this holds */
    return pick_ready(rt, ready);
}

bool asx__lanes_are_empty(asx_runtime *rt)
{
    if (rt->engine != NULL && asx__worker_is(rt->engine->loaded, ASX__WORKER_DRAINING))
        return true; /* for it they are */
    if (rt->engine != NULL && asx__pinned_any(rt))
        return false;
    return ready_top(rt) == NULL && rt->timed_len == 0 && queue_top(&rt->cancel) == NULL;
}
