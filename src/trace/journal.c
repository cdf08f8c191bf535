/* journal.c - the events of a run in memory, their digest, and the comparison with a recorded run.
 *
 * `cursor` is where the next event goes. While it is below the capacity an append is one store;
 * when it reaches the capacity make_room() grows, goes round or refuses. A growable journal that
 * cannot grow is fixed from then on (capacity_max := capacity), so the policy decides.
 */
#include "trace/trace.h"

#include <string.h>

static asx_event *events_alloc(const asx__trace_memory *memory, size_t count)
{
    if (count > SIZE_MAX / sizeof(asx_event))
        return NULL;
    return memory->alloc(memory->ctx, count * sizeof(asx_event));
}

asx_status asx__trace_init(asx__trace *trace, uint64_t capacity_events, asx__trace_overflow policy,
                           const asx__trace_memory *memory)
{
    if (trace == NULL)
        return ASX_E_INVALID_ARGUMENT;
    memset(trace, 0, sizeof(*trace));
    bool keeps = policy == ASX__TRACE_REFUSE || policy == ASX__TRACE_OVERWRITE;
    if (!keeps && policy != ASX__TRACE_DISCARD && policy != ASX__TRACE_TELL)
        return ASX_E_INVALID_ARGUMENT;
    if (keeps && (memory == NULL || memory->alloc == NULL || memory->free == NULL))
        return ASX_E_INVALID_ARGUMENT;
    if (keeps) {
        bool fixed = capacity_events != 0;
        if (capacity_events > SIZE_MAX)
            return ASX_E_RESOURCE_EXHAUSTED;
        size_t capacity = fixed ? (size_t)capacity_events : ASX__TRACE_GROW_START;
        trace->events = events_alloc(memory, capacity);
        if (trace->events == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        trace->memory = *memory;
        trace->capacity = capacity;
        trace->capacity_max = fixed ? capacity : ASX__TRACE_GROW_MAX;
    }
    trace->policy = policy;
    trace->next_seq = 1;
    trace->digest_state = asx__hash_begin(0);
    trace->on = true;
    return ASX_OK;
}

void asx__trace_deinit(asx__trace *trace)
{
    if (trace->events != NULL)
        trace->memory.free(trace->memory.ctx, trace->events, trace->capacity * sizeof(asx_event));
    memset(trace, 0, sizeof(*trace));
}

void asx__trace_limit(asx__trace *trace, uint64_t events_max)
{
    ASX__ASSERT(trace->next_seq == 1);
    if (trace->capacity_max == trace->capacity)
        return;
    size_t limit = events_max > SIZE_MAX ? SIZE_MAX : (size_t)events_max;
    trace->capacity_max = limit < trace->capacity ? trace->capacity : limit;
}

void asx__trace_observe(asx__trace *trace, void (*observe)(void *ctx, const asx_event *event),
                        void *ctx)
{
    trace->observe = observe;
    trace->observe_ctx = ctx;
    trace->tells = false;
}

static bool grow(asx__trace *trace)
{
    ASX__ASSERT(!trace->wrapped && trace->cursor == trace->capacity);
    size_t capacity = trace->capacity > trace->capacity_max / 2 ? trace->capacity_max
                                                                : trace->capacity * 2;
    asx_event *events = events_alloc(&trace->memory, capacity);
    if (events == NULL) {
        trace->capacity_max = trace->capacity;
        return false;
    }
    memcpy(events, trace->events, trace->capacity * sizeof(asx_event));
    trace->memory.free(trace->memory.ctx, trace->events, trace->capacity * sizeof(asx_event));
    trace->events = events;
    trace->capacity = capacity;
    return true;
}

/* The event at `cursor` may be written when this returns true. */
static bool make_room(asx__trace *trace)
{
    if (trace->capacity < trace->capacity_max && grow(trace))
        return true;
    if (trace->policy == ASX__TRACE_OVERWRITE) {
        trace->wrapped = true;
        trace->cursor = 0;
        return true;
    }
    trace->refused = trace->policy == ASX__TRACE_REFUSE;
    return false;
}

static bool event_same(const asx_event *x, const asx_event *y)
{
    return x->seq == y->seq && x->time == y->time && x->kind == y->kind &&
           x->worker == y->worker && x->task == y->task && x->object == y->object &&
           x->a == y->a && x->b == y->b && x->cause == y->cause;
}

static void compare(asx__trace *trace, const asx_event *event)
{
    asx_trace_reader *recorded = trace->recorded;
    asx__trace_divergence *found = &trace->divergence;
    if (found->what != ASX__TRACE_SAME || event->seq < recorded->next_seq)
        return;
    asx_event expected;
    asx_status st = asx_trace_reader_next(recorded, &expected);
    if (st == ASX_E_EMPTY) {
        if (event->seq <= recorded->events_total)
            return; /* happened, was refused by a full journal */
        found->what = ASX__TRACE_RECORDED_ENDED;
        found->run = *event;
    } else if (st < 0) {
        found->what = ASX__TRACE_UNREADABLE;
        found->run = *event;
    } else if (!event_same(event, &expected)) {
        found->what = ASX__TRACE_OTHER_EVENT;
        found->run = *event;
        found->recorded = expected;
    }
}

uint64_t asx__trace_append(asx__trace *trace, asx_time now, uint32_t kind, uint64_t task,
                           uint64_t object, uint64_t a, uint64_t b, uint64_t cause)
{
    uint64_t seq = trace->next_seq++;
    ASX__ASSERT(cause < seq);
    ASX__DEBUG_ASSERT(asx__event_kind_known(kind));
    const asx_event event = { .seq = seq, .time = now, .kind = kind,
                              .worker = trace->worker, .task = task, .object = object,
                              .a = a, .b = b, .cause = cause };
    trace->digest_state = asx__event_absorb(trace->digest_state, &event);
    if (ASX__LIKELY(trace->cursor < trace->capacity) || make_room(trace))
        trace->events[trace->cursor++] = event;
    ASX__AUDIT_ASSERT(asx__trace_is_valid(trace));
    if (ASX__UNLIKELY(trace->recorded != NULL))
        compare(trace, &event);
    if (ASX__UNLIKELY(trace->observe != NULL))
        trace->observe(trace->observe_ctx, &event);
    return seq;
}

asx_status asx__trace_status(const asx__trace *trace)
{
    return trace->refused ? ASX_E_RESOURCE_EXHAUSTED : ASX_OK;
}

uint64_t asx__trace_digest(const asx__trace *trace)
{
    return asx__hash_finish(trace->digest_state,
                            asx__trace_events_total(trace) * ASX__EVENT_DIGEST_BYTES);
}

uint64_t asx__trace_events_total(const asx__trace *trace)
{
    return trace->on ? trace->next_seq - 1 : 0;
}

uint64_t asx__trace_events_lost(const asx__trace *trace)
{
    return asx__trace_events_total(trace) - asx__trace_kept(trace);
}

size_t asx__trace_kept(const asx__trace *trace)
{
    return trace->wrapped ? trace->capacity : trace->cursor;
}

const asx_event *asx__trace_at(const asx__trace *trace, size_t index)
{
    ASX__ASSERT(index < asx__trace_kept(trace));
    if (!trace->wrapped)
        return &trace->events[index];
    size_t to_end = trace->capacity - trace->cursor;
    return &trace->events[index < to_end ? trace->cursor + index : index - to_end];
}

bool asx__trace_is_valid(const asx__trace *trace)
{
    size_t kept = asx__trace_kept(trace);
    uint64_t total = asx__trace_events_total(trace);
    if (!trace->on)
        return kept == 0 && trace->events == NULL;
    if (trace->cursor > trace->capacity || trace->capacity > trace->capacity_max || kept > total)
        return false;
    if (trace->wrapped && trace->policy != ASX__TRACE_OVERWRITE)
        return false;
    if (trace->refused != (trace->policy == ASX__TRACE_REFUSE && kept < total))
        return false;
    if (kept == 0)
        return trace->policy >= ASX__TRACE_DISCARD || total == 0;
    uint64_t first = trace->policy == ASX__TRACE_OVERWRITE ? total - kept + 1 : 1;
    return asx__trace_at(trace, 0)->seq == first &&
           asx__trace_at(trace, kept - 1)->seq == first + kept - 1;
}

asx_status asx__trace_expect(asx__trace *trace, asx_trace_reader *recorded)
{
    if (trace == NULL || !trace->on || trace->next_seq != 1 || recorded == NULL ||
        recorded->bytes == NULL || trace->policy == ASX__TRACE_TELL)
        return ASX_E_INVALID_ARGUMENT;
    trace->recorded = recorded;
    return ASX_OK;
}

asx_status asx__trace_finish(asx__trace *trace)
{
    asx_trace_reader *recorded = trace->recorded;
    if (recorded == NULL)
        return ASX_OK;
    asx__trace_divergence *found = &trace->divergence;
    uint64_t total = asx__trace_events_total(trace);
    if (found->what == ASX__TRACE_SAME && total < recorded->events_total) {
        asx_event next;
        found->what = ASX__TRACE_RUN_ENDED;
        asx_status st = asx_trace_reader_next(recorded, &next);
        if (st == ASX_OK && next.seq == total + 1)
            found->recorded = next;
        else if (st < 0 && st != ASX_E_EMPTY)
            found->what = ASX__TRACE_UNREADABLE;
    }
    if (found->what == ASX__TRACE_SAME && asx__trace_digest(trace) != recorded->digest)
        found->what = ASX__TRACE_OTHER_DIGEST;
    if (found->what == ASX__TRACE_SAME)
        return ASX_OK;
    return found->what == ASX__TRACE_UNREADABLE ? ASX_E_TRACE_CORRUPT : ASX_E_DIVERGED;
}
