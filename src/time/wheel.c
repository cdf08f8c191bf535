/* wheel.c - the hierarchical timer wheel.
 *
 * Where an entry is kept, by tick = deadline / 1 ms and delta = deadline - origin:
 *
 *     near        tick <= cursor                          in firing order
 *     level 0     delta < 256 ms                          slot = tick        mod 256
 *     level 1     delta < 65.536 s                        slot = tick / 2^8  mod 256
 *     level 2     delta < 4.66 h                          slot = tick / 2^16 mod 256
 *     level 3     delta < max_wheel_duration, at most     slot = tick / 2^24 mod 256
 *                 49.7 days
 *     overflow    beyond                                  heap in firing order
 *
 * always the first line that applies, so the finest level whose range covers the entry. tick / 2^8l
 * is the entry's "stretch" at level l. `origin` is the time that belongs to the cursor: the wheel's
 * now, except while expired timers are waiting for a later collection.
 *
 * Invariants
 *   1. An entry of level l is in a stretch s with cursor_l < s <= cursor_l + 256, where cursor_l =
 *      cursor / 2^8l. So a slot holds entries of one stretch, and the slot of cursor_l itself is
 *      the stretch one turn ahead.
 *   2. Every entry of near is earlier than every entry of a level or of overflow: the tick of
 *      near's is at most the cursor, that of the others is greater.
 *   3. cursor <= now / 1 ms.
 *   4. entries of all levels + near + overflow + young ones = live + dead.
 *   5. no live timer is before `earliest`; nothing is to be done before `quiet_until`.
 *
 * Settling. Most timers are time-outs that are cancelled soon. So a new timer is only listed as
 * young; it gets its place when a collection has something to do, when a question cannot be
 * answered without it, or when YOUNG_QUIET of them have come together (then the next collection
 * has something to do, so that none has to place an unlimited number). A young timer that is
 * cancelled before that leaves nothing behind: no entry points to its node, which can be used again
 * at once. Which of two timers fires first does not depend on where they wait, nor since when.
 *
 * Collecting. An event is the beginning of an occupied stretch, or the tick of the first entry in
 * overflow. While near holds nothing, the cursor moves to the next event that is not after now;
 * there, overflow hands back what has come into range, then the stretches that begin at this tick
 * are emptied and their entries are placed again: finer, or into near, and never into a stretch
 * that begins now, so the order in which this happens is of no importance. Each move thus brings
 * the timers of one tick into near, and they leave in the order (deadline, sequence) whatever way
 * they came, one by one as the caller has room. Ticks without an event cost nothing: a jump over
 * days is a few looks at bitmaps. Invariant 1 survives because the cursor never passes the
 * beginning of an occupied stretch without emptying it.
 *
 * Cancelling a timer that has its place marks the node as dead and leaves its index where it is.
 * Dead entries go when a collection meets them, when a search for the earliest timer meets them,
 * when they outnumber the living by DEAD_SLACK (a sweep, see slot.c), and all at once when no timer
 * is live (purge).
 *
 * Coalescing. With a window W > 0 time is divided into windows (kW, (k+1)W]. (k+1)W is the window's
 * boundary; a deadline that is a multiple of W lies on its own boundary and is never delayed. Let d
 * be the earliest pending deadline, B the boundary of its window and n the number of live timers in
 * this window, those not yet due included. At a collection with d <= now:
 *
 *     now < B and n >= min_group     nothing fires: the group waits for B
 *     otherwise                      timers fire in order as if there were no coalescing
 *
 * All timers of a window share one decision and windows follow each other, so order is not touched
 * and a timer fires in [d, B]. The decision is taken anew at each collection: a timer that joins
 * can hold the group, a cancel that makes it too small lets it go. next_deadline says B for a group
 * that would wait and d otherwise. The last window, whose boundary does not fit asx_time, does not
 * coalesce. The number n is counted once per window, over the slots that overlap it, and then kept
 * up to date by register, cancel and fire.
 *
 * Rejected: the coarsest level that covers an entry (every timer would cascade three times); a
 * linked list through the nodes (see store.c); a cursor that runs ahead to find the next deadline
 * (timers registered after that would land in a heap); a wheel that fires whole ticks (early by up
 * to a millisecond, and unordered within it).
 */
#include "time/store.h"

#include <string.h>

#define HOUR (3600 * ASX_SEC)
#define MAX_WHEEL_DEFAULT (24 * HOUR)
#define MAX_TIMER_DEFAULT (7 * 24 * HOUR)
#define MAX_TIMERS (UINT64_C(0xffffffff) - 1)
#define MIN_GROUP_DEFAULT 2 /* a timer that is alone gains nothing by waiting */
#define DEAD_SLACK 64
#define YOUNG_QUIET 1024

#define LEVEL_RANGE(level) (ASX_MS << (8 * ((level) + 1)))

/* ---------------------------------------------------------------- coalescing ---- */

static asx_time window_end_of(const asx_timer_wheel *wheel, asx_time deadline)
{
    uint64_t past = deadline % wheel->window_ns;
    uint64_t rest = past == 0 ? 0 : wheel->window_ns - past;
    return rest > ASX_TIME_NEVER - deadline ? deadline : deadline + rest;
}

static void window_note(asx_timer_wheel *wheel, asx_time deadline, bool arrives)
{
    if (!wheel->window_known || window_end_of(wheel, deadline) != wheel->window_end)
        return;
    if (arrives) {
        wheel->window_count++;
    } else {
        ASX__DEBUG_ASSERT(wheel->window_count > 0);
        wheel->window_count--;
    }
}

static uint64_t window_count_one(const asx_timer_wheel *wheel, uint32_t index, asx_time end)
{
    const asx__timer_node *node = asx__timer_node_at(wheel, index);
    return node->wake != NULL && window_end_of(wheel, node->deadline) == end;
}

static uint64_t window_count_slot(const asx_timer_wheel *wheel, const asx__timer_slot *slot,
                                  asx_time end)
{
    uint64_t count = 0;
    for (const asx__timer_chunk *chunk = slot->head;; chunk = chunk->next) {
        bool last = chunk == slot->tail;
        unsigned len = last ? slot->tail_len : ASX__TIMER_CHUNK_LEN;
        for (unsigned i = 0; i < len; i++)
            count += window_count_one(wheel, chunk->node[i], end);
        if (last)
            return count;
    }
}

static uint64_t window_count_all(const asx_timer_wheel *wheel, asx_time end)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < wheel->near.count; i++)
        count += window_count_one(wheel, asx__timer_near_at(wheel, i), end);
    for (uint32_t i = 0; i < wheel->overflow.count; i++)
        count += window_count_one(wheel, *asx__timer_heap_at(&wheel->overflow, i), end);
    for (unsigned level = 0; level < ASX__TIMER_LEVELS; level++) {
        uint64_t first = wheel->cursor >> (8 * level);
        uint64_t last = (end / ASX_MS) >> (8 * level);
        uint64_t stretch = asx__timer_next_stretch(wheel, level, first);
        while (stretch <= last && stretch <= first + ASX__TIMER_SLOTS) {
            count += window_count_slot(wheel, &wheel->slot[level][stretch % ASX__TIMER_SLOTS], end);
            stretch = asx__timer_next_stretch(wheel, level, stretch);
        }
    }
    return count;
}

/* The group around `deadline`, the earliest one, is large enough to wait for its boundary. */
static bool window_waits(asx_timer_wheel *wheel, asx_time deadline)
{
    asx_time end = window_end_of(wheel, deadline);
    if (!wheel->window_known || wheel->window_end != end) {
        asx__timer_settle(wheel);
        wheel->window_count = window_count_all(wheel, end);
        wheel->window_end = end;
        wheel->window_known = true;
    }
    return wheel->window_count >= wheel->window_min_group;
}

/* ---------------------------------------------------------------- placing ---- */

static inline asx_time earlier(asx_time a, asx_time b)
{
    return a < b ? a : b;
}

/* When an entry of overflow comes into the wheel's range: at the latest when its tick begins, so
 * that overflow never holds an entry of the cursor's tick. */
static asx_time promotion_time(const asx_timer_wheel *wheel, asx_time deadline)
{
    ASX__DEBUG_ASSERT(deadline >= wheel->max_wheel_duration_ns);
    return earlier(deadline - wheel->max_wheel_duration_ns + 1, deadline / ASX_MS * ASX_MS);
}

static inline unsigned level_of(uint64_t delta)
{
    return delta < LEVEL_RANGE(0) ? 0 : delta < LEVEL_RANGE(1) ? 1 : delta < LEVEL_RANGE(2) ? 2 : 3;
}

static void place(asx_timer_wheel *wheel, uint32_t index, asx_time deadline)
{
    uint64_t tick = deadline / ASX_MS;
    if (tick <= wheel->cursor) {
        asx__timer_near_push(wheel, index);
        wheel->quiet_until = earlier(wheel->quiet_until, deadline);
        return;
    }
    uint64_t delta = deadline - wheel->origin;
    if (delta >= wheel->max_wheel_duration_ns) {
        asx__timer_heap_push(wheel, &wheel->overflow, index);
        wheel->quiet_until = earlier(wheel->quiet_until, promotion_time(wheel, deadline));
        return;
    }
    unsigned level = level_of(delta);
    uint64_t stretch = tick >> (8 * level);
    asx__timer_slot_push(wheel, level, stretch, index, deadline);
    wheel->quiet_until = earlier(wheel->quiet_until, (stretch << (8 * level)) * ASX_MS);
}

/* A move that skipped all work brings the cursor along when a call needs it. */
static inline void catch_up_quietly(asx_timer_wheel *wheel)
{
    if (wheel->origin != wheel->now && wheel->now < wheel->quiet_until) {
        wheel->origin = wheel->now;
        wheel->cursor = wheel->now / ASX_MS;
    }
}

void asx__timer_settle(asx_timer_wheel *wheel)
{
    uint32_t count = wheel->young.count;
    if (count == 0)
        return;
    catch_up_quietly(wheel);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t index = asx__timer_young_at(wheel, k);
        if (index != ASX__TIMER_NONE)
            place(wheel, index, asx__timer_node_at(wheel, index)->deadline);
    }
    wheel->young.count = 0;
    wheel->young_sequence = wheel->sequence;
}

static void purge(asx_timer_wheel *wheel)
{
    ASX__DEBUG_ASSERT(wheel->live == 0);
    if (wheel->dead != 0)
        wheel->purges++;
    for (unsigned level = 0; level < ASX__TIMER_LEVELS; level++) {
        if (wheel->entries[level] != 0) {
            wheel->entries[level] = 0;
            memset(wheel->occupied[level], 0, sizeof wheel->occupied[level]);
        }
    }
    wheel->near.count = 0;
    wheel->near_head = 0;
    wheel->near_sorted = true;
    wheel->overflow.count = 0;
    wheel->young.count = 0;
    wheel->young_sequence = wheel->sequence;
    wheel->earliest = ASX_TIME_NEVER;
    wheel->earliest_node = ASX__TIMER_NONE;
    wheel->quiet_until = ASX_TIME_NEVER;
    asx__timer_store_reset(wheel);
}

/* ---------------------------------------------------------------- life ---- */

asx_status asx__timer_wheel_init(asx_timer_wheel *wheel, const asx_timer_config *config,
                                 const asx__timer_memory *memory)
{
    static const asx_timer_config defaults;
    if (wheel == NULL || memory == NULL || memory->alloc == NULL || memory->free == NULL)
        return ASX_E_INVALID_ARGUMENT;
    const asx_timer_config *c = config != NULL ? config : &defaults;
    if (c->max_timers > MAX_TIMERS)
        return ASX_E_INVALID_ARGUMENT;
    memset(wheel, 0, offsetof(asx_timer_wheel, slot));
    uint64_t wheel_ns = c->max_wheel_duration_ns != 0 ? c->max_wheel_duration_ns
                                                      : MAX_WHEEL_DEFAULT;
    wheel->max_wheel_duration_ns = earlier(wheel_ns, LEVEL_RANGE(ASX__TIMER_LEVELS - 1));
    wheel->max_timer_duration_ns = c->max_timer_duration_ns != 0 ? c->max_timer_duration_ns
                                                                 : MAX_TIMER_DEFAULT;
    wheel->max_timers = c->max_timers != 0 ? c->max_timers : MAX_TIMERS;
    wheel->window_ns = c->coalesce_window_ns;
    wheel->window_min_group = c->coalesce_min_group != 0 ? c->coalesce_min_group
                                                         : MIN_GROUP_DEFAULT;
    wheel->first_generation = c->first_generation != 0 ? c->first_generation : 1;
    wheel->sequence = wheel->first_generation;
    wheel->young_sequence = wheel->sequence;
    wheel->first_id = c->first_id;
    wheel->now = c->start;
    wheel->origin = c->start;
    wheel->cursor = c->start / ASX_MS;
    wheel->quiet_until = ASX_TIME_NEVER;
    wheel->earliest = ASX_TIME_NEVER;
    wheel->earliest_node = ASX__TIMER_NONE;
    wheel->near_sorted = true;
    wheel->memory = *memory;
    asx__timer_store_init(wheel);
    return ASX_OK;
}

void asx__timer_wheel_deinit(asx_timer_wheel *wheel)
{
    asx__timer_store_deinit(wheel);
    memset(wheel, 0, offsetof(asx_timer_wheel, slot));
}

void asx__timer_wheel_restart(asx_timer_wheel *wheel, asx_time start)
{
    ASX__ASSERT(wheel->live == 0 && wheel->dead == 0 && wheel->quiet_until == ASX_TIME_NEVER);
    wheel->now = start;
    wheel->origin = start;
    wheel->cursor = start / ASX_MS;
}

/* ---------------------------------------------------------------- register, cancel ---- */

/* Returns what the call says on the wheel behind the gate, or `refused` if there is no gate. */
#define THROUGH_GATE(type, refused, wheel, call)                                                   \
    do {                                                                                           \
        const asx__timer_gate *gate_ = (wheel)->gate;                                              \
        if (gate_ == NULL)                                                                         \
            return refused;                                                                        \
        asx_timer_wheel *behind = gate_->behind;                                                   \
        bool entered_ = gate_->enter(gate_->ctx);                                                  \
        type result_ = (call);                                                                     \
        gate_->leave(gate_->ctx, entered_);                                                        \
        return result_;                                                                            \
    } while (0)

/* NULL: the wheel answers, or the one behind its gate. */
static inline const asx__timer_calls *calls_of(const asx_timer_wheel *wheel)
{
    return wheel->gate != NULL ? wheel->gate->calls : NULL;
}

/* A node can be taken afterwards; else nothing has changed. A sweep always frees one. */
static asx_status make_room(asx_timer_wheel *wheel)
{
    if (3 * wheel->dead < wheel->live || wheel->dead == 0) {
        asx_status st = asx__timer_store_grow(wheel);
        if (st == ASX_OK || wheel->dead == 0)
            return st;
    }
    asx__timer_sweep(wheel);
    return ASX_OK;
}

/* `live` is the number of timers that are live besides the new one when all is done. */
static inline asx_status arm(asx_timer_wheel *wheel, asx_time deadline, asx_waker waker,
                             uint64_t live, asx_timer_handle *ret_handle)
{
    if (ASX__UNLIKELY(deadline == ASX_TIME_NEVER ||
                      (deadline > wheel->now &&
                       deadline - wheel->now > wheel->max_timer_duration_ns)))
        return ASX_E_TIMER_DURATION_EXCEEDED;
    if (ASX__UNLIKELY(live >= wheel->max_timers))
        return ASX_E_RESOURCE_EXHAUSTED;
    if (ASX__UNLIKELY(!asx__timer_node_available(wheel))) {
        asx_status st = make_room(wheel);
        if (st < 0)
            return st;
    }
    if (ASX__UNLIKELY(wheel->young.count == wheel->capacity))
        asx__timer_settle(wheel);
    uint32_t index = asx__timer_node_take(wheel);
    asx__timer_node *node = asx__timer_node_at(wheel, index);
    uint64_t sequence = wheel->sequence++;
    node->deadline = deadline;
    node->sequence = sequence;
    node->wake = waker.wake;
    node->arg = waker.arg;
    wheel->live++;
    *asx__timer_heap_at(&wheel->young, wheel->young.count) = index;
    if (ASX__UNLIKELY(++wheel->young.count == YOUNG_QUIET))
        wheel->quiet_until = earlier(wheel->quiet_until, wheel->now);
    wheel->quiet_until = earlier(wheel->quiet_until, deadline);
    if (deadline < wheel->earliest) {
        wheel->earliest = deadline;
        wheel->earliest_node = index;
        wheel->earliest_sequence = sequence;
    }
    if (ASX__UNLIKELY(wheel->window_known))
        window_note(wheel, deadline, true);
    ret_handle->id = wheel->first_id + index;
    ret_handle->generation = sequence;
    return ASX_OK;
}

/* Not inlined: what the short ways do not call needs no registers there. */
static __attribute__((noinline)) asx_status register_refused(asx_timer_wheel *wheel,
                                                             asx_time deadline, asx_waker waker,
                                                             asx_timer_handle *ret_handle,
                                                             asx_status refused)
{
    ASX__EMPTY(ret_handle);
    if (calls_of(wheel) != NULL)
        return calls_of(wheel)->arm(wheel->gate->ctx, NULL, deadline, waker, ret_handle);
    THROUGH_GATE(asx_status, refused, wheel,
                 asx_timer_register(behind, deadline, waker, ret_handle));
}

asx_status asx_timer_register(asx_timer_wheel *wheel, asx_time deadline, asx_waker waker,
                              asx_timer_handle *ret_handle)
{
    if (wheel == NULL || waker.wake == NULL || ret_handle == NULL)
        return ASX__EMPTY_IF(ASX_E_INVALID_ARGUMENT, ret_handle);
    asx_status st = arm(wheel, deadline, waker, wheel->live, ret_handle);
    if (ASX__UNLIKELY(st < 0))
        return register_refused(wheel, deadline, waker, ret_handle, st);
    return ASX_OK;
}

/* The node of a live timer, ASX__TIMER_NONE for a stale handle. */
static inline uint32_t find(const asx_timer_wheel *wheel, const asx_timer_handle *handle)
{
    uint64_t index = handle->id - wheel->first_id;
    if (index >= wheel->used)
        return ASX__TIMER_NONE;
    const asx__timer_node *node = asx__timer_node_at(wheel, (uint32_t)index);
    if (node->wake == NULL || node->sequence != handle->generation)
        return ASX__TIMER_NONE;
    return (uint32_t)index;
}

static inline void sweep_if_many_dead(asx_timer_wheel *wheel)
{
    if (ASX__UNLIKELY(wheel->dead > wheel->live + DEAD_SLACK))
        asx__timer_sweep(wheel);
}

static inline void kill_node(asx_timer_wheel *wheel, uint32_t index)
{
    asx__timer_node *node = asx__timer_node_at(wheel, index);
    if (ASX__UNLIKELY(wheel->window_known))
        window_note(wheel, node->deadline, false);
    wheel->live--;
    if (asx__timer_is_young(wheel, node)) {
        asx__timer_node_free(wheel, index);
    } else {
        node->wake = NULL;
        asx__timer_dead_bit_flip(wheel, index);
        wheel->dead++;
    }
    if (ASX__UNLIKELY(wheel->live == 0)) {
        wheel->purges += wheel->dead == 0; /* the young leave none, and are purged all the same */
        purge(wheel);
    } else {
        sweep_if_many_dead(wheel);
    }
}

static __attribute__((noinline)) bool cancel_refused(asx_timer_wheel *wheel,
                                                     const asx_timer_handle *handle)
{
    if (calls_of(wheel) != NULL)
        return calls_of(wheel)->cancel(wheel->gate->ctx, handle);
    THROUGH_GATE(bool, false, wheel, asx_timer_cancel(behind, handle));
}

bool asx_timer_cancel(asx_timer_wheel *wheel, const asx_timer_handle *handle)
{
    if (wheel == NULL || handle == NULL)
        return false;
    uint32_t index = find(wheel, handle);
    if (index == ASX__TIMER_NONE)
        return cancel_refused(wheel, handle);
    kill_node(wheel, index);
    return true;
}

static asx_status update(asx_timer_wheel *wheel, const asx_timer_handle *old_handle,
                         asx_time new_deadline, asx_waker waker, asx_timer_handle *ret_handle)
{
    if (wheel == NULL || old_handle == NULL || waker.wake == NULL || ret_handle == NULL)
        return ASX_E_INVALID_ARGUMENT;
    uint32_t old = find(wheel, old_handle);
    uint64_t live = old != ASX__TIMER_NONE ? wheel->live - 1 : wheel->live;
    asx_status st = arm(wheel, new_deadline, waker, live, ret_handle);
    if (st < 0 && calls_of(wheel) != NULL)
        return calls_of(wheel)->arm(wheel->gate->ctx, old_handle, new_deadline, waker, ret_handle);
    if (st < 0)
        THROUGH_GATE(asx_status, st, wheel,
                     asx_timer_update(behind, old_handle, new_deadline, waker, ret_handle));
    if (old != ASX__TIMER_NONE)
        kill_node(wheel, old);
    return ASX_OK;
}

asx_status asx_timer_update(asx_timer_wheel *wheel, const asx_timer_handle *old_handle,
                            asx_time new_deadline, asx_waker waker, asx_timer_handle *ret_handle)
{
    asx_status st = update(wheel, old_handle, new_deadline, waker, ret_handle);
    if (st < 0 && ret_handle != old_handle) /* else it is that of a timer which is still armed */
        ASX__EMPTY(ret_handle);
    return st;
}

/* ---------------------------------------------------------------- collect ---- */

/* The tick of the next event; UINT64_MAX if nothing but near holds entries. */
static uint64_t next_event(asx_timer_wheel *wheel)
{
    uint64_t tick = UINT64_MAX;
    for (unsigned level = 0; level < ASX__TIMER_LEVELS; level++) {
        if (wheel->entries[level] == 0)
            continue;
        uint64_t stretch = asx__timer_next_stretch(wheel, level, wheel->cursor >> (8 * level));
        ASX__DEBUG_ASSERT(stretch != UINT64_MAX);
        if (stretch << (8 * level) < tick)
            tick = stretch << (8 * level);
    }
    uint32_t first = asx__timer_heap_top(wheel, &wheel->overflow);
    if (first != ASX__TIMER_NONE) {
        uint64_t first_tick = asx__timer_node_at(wheel, first)->deadline / ASX_MS;
        if (first_tick < tick)
            tick = first_tick;
    }
    return tick;
}

static void promote_overflow(asx_timer_wheel *wheel)
{
    for (;;) {
        uint32_t first = asx__timer_heap_top(wheel, &wheel->overflow);
        if (first == ASX__TIMER_NONE)
            return;
        asx_time deadline = asx__timer_node_at(wheel, first)->deadline;
        if (deadline / ASX_MS > wheel->cursor &&
            deadline - wheel->origin >= wheel->max_wheel_duration_ns)
            return;
        (void)asx__timer_heap_pop(wheel, &wheel->overflow);
        place(wheel, first, deadline);
        wheel->cascades++;
    }
}

/* Empties a slot whose stretch has begun: its entries are placed again, finer or in near. */
static void cascade(asx_timer_wheel *wheel, unsigned level, unsigned number)
{
    asx__timer_slot slot = asx__timer_slot_detach(wheel, level, number);
    for (asx__timer_chunk *chunk = slot.head;;) {
        /* Copied and freed before anything is placed: see chunks_needed(). */
        asx__timer_chunk copy = *chunk;
        bool last = chunk == slot.tail;
        unsigned len = last ? slot.tail_len : ASX__TIMER_CHUNK_LEN;
        asx__timer_chunk_free(wheel, chunk);
        wheel->entries[level] -= len;
        for (unsigned i = 0; i < len; i++)
            __builtin_prefetch(asx__timer_node_at(wheel, copy.node[i]));
        for (unsigned i = 0; i < len; i++) {
            const asx__timer_node *node = asx__timer_node_at(wheel, copy.node[i]);
            if (node->wake == NULL) {
                asx__timer_node_drop(wheel, copy.node[i]);
                continue;
            }
            place(wheel, copy.node[i], node->deadline);
            wheel->cascades += level > 0;
        }
        if (last)
            return;
        chunk = copy.next;
    }
}

/* To an event: everything that begins at its tick is placed anew. */
static void move_to_event(asx_timer_wheel *wheel, uint64_t tick)
{
    ASX__DEBUG_ASSERT(tick > wheel->cursor && wheel->near.count == 0);
    wheel->cursor = tick;
    wheel->origin = tick * ASX_MS;
    asx__timer_near_load(wheel);
    promote_overflow(wheel);
    for (unsigned level = ASX__TIMER_LEVELS; level-- > 0;) {
        uint64_t stretch = tick >> (8 * level);
        unsigned number = (unsigned)(stretch % ASX__TIMER_SLOTS);
        if (stretch << (8 * level) == tick && asx__timer_slot_occupied(wheel, level, number))
            cascade(wheel, level, number);
    }
    asx__timer_near_loaded(wheel);
}

/* To now, where there is no event in between. */
static void move_to_now(asx_timer_wheel *wheel)
{
    wheel->cursor = wheel->now / ASX_MS;
    wheel->origin = wheel->now;
    promote_overflow(wheel);
}

/* Near is empty: fills it from the next event that is not after now. False: there is none. */
static bool advance(asx_timer_wheel *wheel)
{
    uint64_t tick = next_event(wheel);
    if (tick > wheel->now / ASX_MS) {
        move_to_now(wheel);
        return false;
    }
    move_to_event(wheel, tick);
    return true;
}

static asx_time quiet_until(asx_timer_wheel *wheel)
{
    if (wheel->live == 0)
        return ASX_TIME_NEVER;
    uint32_t first = asx__timer_near_top(wheel);
    asx_time until = ASX_TIME_NEVER;
    if (first != ASX__TIMER_NONE) {
        until = asx__timer_node_at(wheel, first)->deadline;
    } else {
        uint64_t tick = next_event(wheel);
        ASX__ASSERT(tick != UINT64_MAX);
        until = tick * ASX_MS;
    }
    first = asx__timer_heap_top(wheel, &wheel->overflow);
    if (first != ASX__TIMER_NONE)
        until = earlier(until, promotion_time(wheel, asx__timer_node_at(wheel, first)->deadline));
    return until;
}

static void fire(asx_timer_wheel *wheel, asx__timer_fired *ret_fired)
{
    uint32_t index = asx__timer_near_pop(wheel);
    const asx__timer_node *node = asx__timer_node_at(wheel, index);
    ret_fired->waker.wake = node->wake;
    ret_fired->waker.arg = node->arg;
    ret_fired->deadline = node->deadline;
    ret_fired->serial = node->sequence - wheel->first_generation + 1;
    if (ASX__UNLIKELY(wheel->window_known))
        window_note(wheel, node->deadline, false);
    asx__timer_node_free(wheel, index);
    if (--wheel->live == 0)
        purge(wheel);
}

size_t asx__timer_collect(asx_timer_wheel *wheel, asx_time now, asx__timer_fired *ret_fired,
                          size_t max)
{
    if (now < wheel->now)
        now = wheel->now;
    if (now >= wheel->quiet_until)
        asx__timer_settle(wheel); /* before time moves, from where it is quiet up to now */
    wheel->now = now;
    if (now < wheel->quiet_until)
        return 0;
    size_t count = 0;
    while (wheel->live > 0) {
        uint32_t first = asx__timer_near_top(wheel);
        if (first == ASX__TIMER_NONE) {
            if (!advance(wheel))
                break;
            continue;
        }
        asx_time deadline = asx__timer_node_at(wheel, first)->deadline;
        if (deadline > now) {
            move_to_now(wheel);
            break;
        }
        if (count == max || (wheel->window_ns != 0 && window_end_of(wheel, deadline) > now &&
                             window_waits(wheel, deadline)))
            break;
        fire(wheel, &ret_fired[count++]);
    }
    sweep_if_many_dead(wheel);
    wheel->quiet_until = quiet_until(wheel);
    ASX__AUDIT_ASSERT(asx__timer_wheel_is_valid(wheel));
    return count;
}

size_t asx_timer_collect_expired(asx_timer_wheel *wheel, asx_time now, asx_waker *ret_wakers,
                                 size_t wakers_max)
{
    asx__timer_fired fired[16];
    size_t count = 0;
    if (wheel == NULL)
        return 0;
    if (calls_of(wheel) != NULL)
        return calls_of(wheel)->collect(wheel->gate->ctx);
    if (wheel->gate != NULL)
        THROUGH_GATE(size_t, 0, wheel,
                     asx_timer_collect_expired(behind, now, ret_wakers, wakers_max));
    if (ret_wakers == NULL)
        wakers_max = 0;
    for (;;) {
        size_t room = wakers_max - count;
        size_t want = room < 16 ? room : 16;
        size_t got = asx__timer_poll(wheel, now, fired, want);
        for (size_t i = 0; i < got; i++)
            ret_wakers[count + i] = fired[i].waker;
        count += got;
        if (got < want || count == wakers_max)
            return count;
    }
}

/* ---------------------------------------------------------------- questions ---- */

/* The earliest of two nodes by deadline; either may be none. */
static uint32_t earlier_node(const asx_timer_wheel *wheel, uint32_t a, uint32_t b)
{
    if (a == ASX__TIMER_NONE || b == ASX__TIMER_NONE)
        return a == ASX__TIMER_NONE ? b : a;
    return asx__timer_node_at(wheel, b)->deadline < asx__timer_node_at(wheel, a)->deadline ? b : a;
}

/* The earliest live timer of a level: its first stretch that holds a live one has it. */
static uint32_t level_min(asx_timer_wheel *wheel, unsigned level)
{
    while (wheel->entries[level] != 0) {
        uint64_t stretch = asx__timer_next_stretch(wheel, level, wheel->cursor >> (8 * level));
        uint32_t min = asx__timer_slot_min(wheel, level, (unsigned)(stretch % ASX__TIMER_SLOTS));
        if (min != ASX__TIMER_NONE)
            return min;
    }
    return ASX__TIMER_NONE;
}

/* Some timer is live. Makes `earliest` exact. */
static void find_earliest(asx_timer_wheel *wheel)
{
    uint32_t index = wheel->earliest_node;
    if (index != ASX__TIMER_NONE) {
        const asx__timer_node *node = asx__timer_node_at(wheel, index);
        if (node->wake != NULL && node->sequence == wheel->earliest_sequence)
            return;
    }
    asx__timer_settle(wheel);
    index = asx__timer_near_top(wheel);
    if (index == ASX__TIMER_NONE) {
        for (unsigned level = 0; level < ASX__TIMER_LEVELS; level++)
            index = earlier_node(wheel, index, level_min(wheel, level));
        index = earlier_node(wheel, index, asx__timer_heap_top(wheel, &wheel->overflow));
    }
    ASX__ASSERT(index != ASX__TIMER_NONE);
    const asx__timer_node *node = asx__timer_node_at(wheel, index);
    wheel->earliest = node->deadline;
    wheel->earliest_node = index;
    wheel->earliest_sequence = node->sequence;
}

asx_time asx_timer_next_deadline(asx_timer_wheel *wheel)
{
    if (wheel == NULL)
        return ASX_TIME_NEVER;
    if (wheel->live == 0)
        THROUGH_GATE(asx_time, ASX_TIME_NEVER, wheel, asx_timer_next_deadline(behind));
    find_earliest(wheel);
    if (wheel->window_ns != 0 && window_waits(wheel, wheel->earliest))
        return window_end_of(wheel, wheel->earliest);
    return wheel->earliest;
}

uint64_t asx_timer_count(const asx_timer_wheel *wheel)
{
    if (wheel == NULL)
        return 0;
    if (wheel->live == 0)
        THROUGH_GATE(uint64_t, 0, wheel, asx_timer_count(behind));
    return wheel->live;
}

uint64_t asx__timer_serial(const asx_timer_wheel *wheel, const asx_timer_handle *handle)
{
    if (find(wheel, handle) == ASX__TIMER_NONE)
        return 0;
    return handle->generation - wheel->first_generation + 1;
}

/* The young are counted where they would be placed now. */
static void count_young(const asx_timer_wheel *wheel, asx_timer_stats *stats)
{
    bool behind = wheel->now >= wheel->quiet_until;
    asx_time origin = behind ? wheel->origin : wheel->now;
    for (uint32_t k = 0; k < wheel->young.count; k++) {
        uint32_t index = asx__timer_young_at(wheel, k);
        if (index == ASX__TIMER_NONE)
            continue;
        asx_time deadline = asx__timer_node_at(wheel, index)->deadline;
        if (deadline / ASX_MS <= origin / ASX_MS)
            stats->near_entries++;
        else if (deadline - origin >= wheel->max_wheel_duration_ns)
            stats->overflow_entries++;
        else
            stats->level_entries[level_of(deadline - origin)]++;
    }
}

void asx_timer_wheel_stats(const asx_timer_wheel *wheel, asx_timer_stats *ret_stats)
{
    if (wheel == NULL || ret_stats == NULL)
        return;
    if (wheel->gate != NULL) {
        bool entered = wheel->gate->enter(wheel->gate->ctx);
        asx_timer_wheel_stats(wheel->gate->behind, ret_stats);
        wheel->gate->leave(wheel->gate->ctx, entered);
        return;
    }
    asx_timer_stats stats = { 0 };
    stats.live = wheel->live;
    stats.dead = wheel->dead;
    for (unsigned level = 0; level < ASX__TIMER_LEVELS; level++)
        stats.level_entries[level] = wheel->entries[level];
    stats.overflow_entries = wheel->overflow.count;
    stats.near_entries = wheel->near.count;
    stats.storage_bytes = wheel->storage_bytes;
    stats.cascades = wheel->cascades;
    stats.purges = wheel->purges;
    count_young(wheel, &stats);
    *ret_stats = stats;
}
