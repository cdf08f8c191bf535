/* trace.h - the journal of a runtime: append, digest, keep, compare, write.
 *
 * Words
 *   event      one asx_event; its seq counts from 1 without gaps
 *   digest     asx-mr64 (base/hash.h, key 0) of all events of the run, each as the eight words
 *              seq, time, kind | worker << 32, task, object, a, b, cause
 *   kept       still in memory; a bounded journal keeps the first or the last events of a run
 *   recorded   a trace read from a file, which the run must repeat
 *
 * Invariants (asx__trace_is_valid)
 *   events_total = next_seq - 1
 *   kept <= capacity; kept <= events_total
 *   REFUSE:    the kept events are seq 1 .. kept
 *   OVERWRITE: the kept events are seq next_seq - kept .. next_seq - 1
 *   the digest does not depend on capacity, policy (TELL has none), memory or observers
 *
 * Protocol: init, then any number of emits, then finish (only a replay needs it), write, deinit.
 * A zeroed asx__trace is off: emit returns 0 at the cost of one branch, deinit does nothing.
 * One thread at a time.
 *
 * Rejected: storing events encoded (emit would pay for the varints, and overwriting the oldest
 * would need to find where it ends); a list of chunks instead of doubling (two indirections per
 * event in every reader to save one copy per doubling); dropping events silently when memory ends.
 */
#ifndef ASX_TRACE_TRACE_H
#define ASX_TRACE_TRACE_H

#include <asx/trace.h>

#include "base/assert.h"
#include "base/export.h"
#include "base/hash.h"

/* X(NAME, number, "name"): what a parked task waits for, `a` of TASK_PARK. */
#define ASX__WAIT_LIST(X)                                                                          \
    X(CHANNEL_RESERVE, 1, "channel-reserve")                                                       \
    X(CHANNEL_RECV, 2, "channel-recv")                                                             \
    X(MPMC_SEND, 12, "mpmc-send")                                                                  \
    X(MPMC_RECV, 13, "mpmc-recv")                                                                  \
    X(JOIN, 3, "join")                                                                             \
    X(SLEEP, 4, "sleep")                                                                           \
    X(REGION_CLOSE, 5, "region-close")                                                             \
    X(ADMISSION, 6, "admission")                                                                   \
    X(YIELD, 7, "yield")                                                                           \
    X(EXTERNAL, 8, "external")                                                                     \
    X(RACE, 9, "race")                                                                             \
    X(FINALIZER, 10, "finalizer")                                                                  \
    X(BLOCKING, 11, "blocking")                                                                    \
    X(IO_READ, 14, "io-read")                                                                      \
    X(IO_WRITE, 15, "io-write")                                                                    \
    X(IO_ACCEPT, 16, "io-accept")                                                                  \
    X(IO_CONNECT, 17, "io-connect")                                                                \
    X(IO_READY, 18, "io-ready")                                                                    \
    X(IO_CLOSE, 19, "io-close")                                                                    \
    X(MUTEX_LOCK, 20, "mutex-lock")                                                                \
    X(RWLOCK_READ, 21, "rwlock-read")                                                              \
    X(RWLOCK_WRITE, 22, "rwlock-write")                                                            \
    X(SEMAPHORE_ACQUIRE, 23, "semaphore-acquire")                                                  \
    X(CONDITION_WAIT, 24, "condition-wait")                                                        \
    X(NOTIFY_WAIT, 25, "notify-wait")                                                              \
    X(BARRIER_WAIT, 26, "barrier-wait")                                                            \
    X(ONCE_CALL, 27, "once-call")                                                                  \
    X(ONESHOT_RECV, 28, "oneshot-recv")                                                            \
    X(BROADCAST_RECV, 29, "broadcast-recv")                                                        \
    X(WATCH_CHANGED, 30, "watch-changed")

typedef enum asx__wait {
#define ASX__WAIT_ENUM_(name, number, text) ASX__WAIT_##name = (number),
    ASX__WAIT_LIST(ASX__WAIT_ENUM_)
#undef ASX__WAIT_ENUM_
    ASX__WAIT_NONE = 0
} asx__wait;

/* X(NAME, number, "name"): `a` of TASK_RUN, `b` of TASK_WAKE. */
#define ASX__LANE_LIST(X)                                                                          \
    X(CANCEL, 0, "cancel")                                                                         \
    X(TIMED, 1, "timed")                                                                           \
    X(READY, 2, "ready")

typedef enum asx__lane {
#define ASX__LANE_ENUM_(name, number, text) ASX__LANE_##name = (number),
    ASX__LANE_LIST(ASX__LANE_ENUM_)
#undef ASX__LANE_ENUM_
} asx__lane;

/* X(NAME, number, "name"): what a task runs on, `b` of TASK_SPAWN. */
#define ASX__VEHICLE_LIST(X)                                                                       \
    X(FIBER, 0, "fiber")                                                                           \
    X(POLL, 1, "poll")

typedef enum asx__vehicle {
#define ASX__VEHICLE_ENUM_(name, number, text) ASX__VEHICLE_##name = (number),
    ASX__VEHICLE_LIST(ASX__VEHICLE_ENUM_)
#undef ASX__VEHICLE_ENUM_
} asx__vehicle;

/* X(NAME, number, "name"): what a region did not admit, `a` of ADMISSION_REFUSED. */
#define ASX__REFUSED_LIST(X)                                                                       \
    X(TASK, 1, "task")                                                                             \
    X(REGION, 2, "region")                                                                         \
    X(OBLIGATION, 3, "obligation")                                                                 \
    X(CHANNEL, 4, "channel")                                                                       \
    X(TIMER, 5, "timer")                                                                           \
    X(FINALIZER, 6, "finalizer")                                                                   \
    X(MEMORY, 7, "memory")

typedef enum asx__refused {
#define ASX__REFUSED_ENUM_(name, number, text) ASX__REFUSED_##name = (number),
    ASX__REFUSED_LIST(ASX__REFUSED_ENUM_)
#undef ASX__REFUSED_ENUM_
} asx__refused;

/* Static strings; "unknown" for a number that is none. Pure. */
ASX__SEAM const char *asx__wait_str(uint64_t wait);
const char *asx__lane_str(uint64_t lane);
const char *asx__vehicle_str(uint64_t vehicle);
const char *asx__refused_str(uint64_t refused);
bool asx__event_kind_known(uint64_t kind);

/* How a status travels in `a` and `b`. Pure. */
static inline uint64_t asx__trace_word_of_status(asx_status status)
{
    return (uint64_t)(int64_t)status;
}

/* The digest's view of one event. Pure. */
static inline uint64_t asx__event_absorb(uint64_t state, const asx_event *event)
{
    state = asx__hash_absorb(state, event->seq);
    state = asx__hash_absorb(state, event->time);
    state = asx__hash_absorb(state, event->kind | (uint64_t)event->worker << 32);
    state = asx__hash_absorb(state, event->task);
    state = asx__hash_absorb(state, event->object);
    state = asx__hash_absorb(state, event->a);
    state = asx__hash_absorb(state, event->b);
    return asx__hash_absorb(state, event->cause);
}
#define ASX__EVENT_DIGEST_BYTES 64u

/* What happens to an event when the journal is full (or cannot grow). The digest goes on. */
typedef enum asx__trace_overflow {
    ASX__TRACE_REFUSE,    /* it is not kept, and asx__trace_status() says so from then on */
    ASX__TRACE_OVERWRITE, /* it replaces the oldest one */
    ASX__TRACE_DISCARD,   /* no event is ever kept: digest, observer and comparison only */
    ASX__TRACE_TELL       /* the observer only: no digest either, no comparison */
} asx__trace_overflow;

/* Where the journal gets its memory. `alloc` may return NULL. Copied; `ctx` is borrowed. */
typedef struct asx__trace_memory {
    void *(*alloc)(void *ctx, size_t size);
    void (*free)(void *ctx, void *block, size_t size);
    void *ctx;
} asx__trace_memory;

typedef enum asx__trace_difference {
    ASX__TRACE_SAME,
    ASX__TRACE_OTHER_EVENT,    /* run and recorded are set */
    ASX__TRACE_RECORDED_ENDED, /* run is set: the recorded run had ended before it */
    ASX__TRACE_RUN_ENDED,      /* recorded is set, unless that event was not kept (seq 0) */
    ASX__TRACE_OTHER_DIGEST,   /* the difference is in an event that the recorded trace lost */
    ASX__TRACE_UNREADABLE,     /* the recorded trace is damaged at its error_offset */
    ASX__TRACE_STOPPED         /* nothing differs: an observer does not want to hear more */
} asx__trace_difference;

typedef struct asx__trace_divergence {
    asx__trace_difference what;
    asx_event run;
    asx_event recorded;
} asx__trace_divergence;

typedef struct asx__trace {
    bool on;
    bool refused; /* REFUSE met a full journal */
    bool wrapped; /* OVERWRITE went round: the oldest event is at `cursor` */
    bool tells;   /* TELL, there is a listener, and the first event was told */
    asx__trace_overflow policy;
    uint32_t worker; /* whose events the next ones are */
    uint64_t next_seq;
    uint64_t digest_state;
    asx_event *events;
    size_t cursor;       /* where the next event goes; == capacity: make room first */
    size_t capacity;     /* events that `events` has room for */
    size_t capacity_max; /* may grow up to this; == capacity when fixed */
    asx__trace_memory memory;
    void (*observe)(void *ctx, const asx_event *event);
    void *observe_ctx;
    asx_trace_reader *recorded; /* not NULL: compare */
    asx__trace_divergence divergence;
} asx__trace;

/* A growable journal starts with this many events and at most has this many (1 GiB). */
#define ASX__TRACE_GROW_START ((size_t)256)
#define ASX__TRACE_GROW_MAX ((size_t)1 << 24)

/* Turns the journal on. capacity_events > 0: exactly that many, allocated here and never again;
 * 0: grows by doubling up to ASX__TRACE_GROW_MAX, or to what the allocator gives; from then on it
 * behaves as a fixed one. `memory` may be NULL only where nothing is kept.
 *   ASX_E_INVALID_ARGUMENT, ASX_E_RESOURCE_EXHAUSTED: *trace is off. */
ASX__SEAM ASX_MUST_USE asx_status asx__trace_init(asx__trace *trace, uint64_t capacity_events,
                                                  asx__trace_overflow policy,
                                                  const asx__trace_memory *memory);
/* Frees the events and turns the journal off. Works on a zeroed one, and twice. */
ASX__SEAM void asx__trace_deinit(asx__trace *trace);

/* Another bound for a growable journal; a fixed one stays as it is. Before the first event. */
void asx__trace_limit(asx__trace *trace, uint64_t events_max);

/* `observe` sees every event, kept or not, after it is in the digest. The event is borrowed until
 * it returns; it must not emit. NULL: none. */
ASX__SEAM void asx__trace_observe(asx__trace *trace,
                                  void (*observe)(void *ctx, const asx_event *event), void *ctx);

/* For observers: the run stops as if it had diverged here. */
static inline void asx__trace_stop(asx__trace *trace)
{
    if (trace->divergence.what == ASX__TRACE_SAME)
        trace->divergence.what = ASX__TRACE_STOPPED;
}

/* The half of asx__trace_emit() for journals that keep something, a digest at least. */
uint64_t asx__trace_append(asx__trace *trace, asx_time now, uint32_t kind, uint64_t task,
                           uint64_t object, uint64_t a, uint64_t b, uint64_t cause);

/* The half for those that keep nothing and tell. There is one worker. */
static inline uint64_t asx__trace_tell(asx__trace *trace, asx_time now, uint32_t kind,
                                       uint64_t task, uint64_t object, uint64_t a, uint64_t b,
                                       uint64_t cause)
{
    ASX__DEBUG_ASSERT(trace->worker == 0);
    const asx_event event = { .seq = trace->next_seq++, .time = now, .kind = kind,
                              .task = task, .object = object, .a = a, .b = b, .cause = cause };
    trace->observe(trace->observe_ctx, &event);
    return event.seq;
}

/* Appends an event and returns its seq (>= 1), to be passed as `cause` of what follows from it;
 * 0 when the journal is off. `cause` is 0 or the seq of an earlier event. Never fails. */
static inline uint64_t asx__trace_emit(asx__trace *trace, asx_time now, uint32_t kind,
                                       uint64_t task, uint64_t object, uint64_t a, uint64_t b,
                                       uint64_t cause)
{
    if (trace->tells)
        return asx__trace_tell(trace, now, kind, task, object, a, b, cause);
    if (!trace->on)
        return 0;
    if (trace->policy != ASX__TRACE_TELL)
        return asx__trace_append(trace, now, kind, task, object, a, b, cause);
    if (trace->observe == NULL)
        return trace->next_seq++;
    trace->tells = true;
    return asx__trace_tell(trace, now, kind, task, object, a, b, cause);
}

/* ASX_E_RESOURCE_EXHAUSTED once an event was refused, else ASX_OK. */
asx_status asx__trace_status(const asx__trace *trace);
uint64_t asx__trace_digest(const asx__trace *trace);
uint64_t asx__trace_events_total(const asx__trace *trace);
/* Events that are no longer, or never were, in memory. */
uint64_t asx__trace_events_lost(const asx__trace *trace);
/* The kept events, oldest = 0. Borrowed until the next emit. */
size_t asx__trace_kept(const asx__trace *trace);
const asx_event *asx__trace_at(const asx__trace *trace, size_t index);
bool asx__trace_is_valid(const asx__trace *trace);

/* From now on every event must equal the next recorded one. `recorded` is borrowed until deinit
 * and stands at its first event; events that it lost (a ring, a refusing journal) are compared
 * through the digest, at the end. Only before the first event: ASX_E_INVALID_ARGUMENT. */
ASX_MUST_USE asx_status asx__trace_expect(asx__trace *trace, asx_trace_reader *recorded);
/* The run is over: has it done all that is recorded? ASX_OK (also when nothing is), else
 * ASX_E_DIVERGED, or ASX_E_TRACE_CORRUPT if the recorded trace could not be read. */
ASX_MUST_USE asx_status asx__trace_finish(asx__trace *trace);
/* The first divergence stays; nothing is compared after it. */
static inline bool asx__trace_diverged(const asx__trace *trace)
{
    return trace->divergence.what != ASX__TRACE_SAME;
}
/* One to three lines, separated by '\n', without one at the end. As asx_event_format(). */
size_t asx__trace_divergence_format(const asx__trace_divergence *divergence, char *buffer,
                                    size_t size);

/* Writes the kept events as a trace file through `sink`, in pieces. The first failure of `sink`
 * ends it and is returned; `program` is borrowed during the call. */
ASX_MUST_USE asx_status asx__trace_write(const asx__trace *trace, uint64_t seed,
                                         const char *program, size_t program_len,
                                         asx_status (*sink)(void *ctx, const void *bytes,
                                                            size_t len),
                                         void *ctx);

#endif
