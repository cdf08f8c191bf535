/* trace.h - the journal: every semantic event of a run, in order, with its causes.
 *
 * A trace is a header, events and a trailer. Each event has a sequence number (strictly
 * increasing, without gaps), the logical time, the task that did it, the object it is about, and
 * up to one cause: the sequence number of the event of another task that it could not have
 * happened without (spawn -> first run, wake -> run, send -> receive, cancel -> acknowledge,
 * complete -> join). Together with the order within each task these edges are the happens-before
 * relation of the run. The digest covers every event, also those a bounded ring has overwritten.
 *
 * With several workers the order of the journal is one in which the run could have happened on one
 * of them, and each event names the worker that did it. Another run of the program has another.
 */
#ifndef ASX_TRACE_H
#define ASX_TRACE_H

#include <asx/status.h>
#include <asx/time.h>

ASX_BEGIN_DECLS

/* X(NAME, number, "name", meaning of object, meaning of a, meaning of b). Numbers are part of the
 * file format and never change. */
#define ASX_EVENT_LIST(X)                                                                          \
    X(RUN_BEGIN, 1, "run-begin", "-", "seed", "-")                                                 \
    X(RUN_END, 2, "run-end", "-", "status", "-")                                                   \
    X(REGION_OPEN, 10, "region-open", "region", "parent region", "-")                              \
    X(REGION_STATE, 11, "region-state", "region", "from", "to")                                    \
    X(REGION_CANCEL, 12, "region-cancel", "region", "kind", "1 if it strengthened")                \
    X(REGION_REPORT, 13, "region-report", "region", "outcome", "status")                           \
    X(FINALIZER_RUN, 14, "finalizer-run", "region", "number, first registered = 1", "status")      \
    X(ADMISSION_REFUSED, 15, "admission-refused", "region", "what", "status")                      \
    X(TASK_SPAWN, 20, "task-spawn", "task", "region", "vehicle")                                   \
    X(TASK_STATE, 21, "task-state", "task", "from", "to")                                          \
    X(TASK_RUN, 22, "task-run", "task", "lane", "priority")                                        \
    X(TASK_PARK, 23, "task-park", "task", "what it waits for", "object")                           \
    X(TASK_WAKE, 24, "task-wake", "task", "status handed over", "lane")                            \
    X(TASK_YIELD, 25, "task-yield", "task", "-", "-")                                              \
    X(TASK_COMPLETE, 26, "task-complete", "task", "outcome", "status")                             \
    X(TASK_JOIN, 27, "task-join", "task", "outcome", "status")                                     \
    X(TASK_FORCED, 28, "task-forced", "task", "kind", "resumptions used")                          \
    X(TASK_PANIC, 29, "task-panic", "task", "-", "-")                                              \
    X(TASK_LINK, 30, "task-link", "task", "other task", "-")                                       \
    X(CANCEL_REQUEST, 40, "cancel-request", "task", "kind", "epoch")                               \
    X(CANCEL_STRENGTHEN, 41, "cancel-strengthen", "task", "kind", "1 if the reason changed")       \
    X(CANCEL_ACK, 42, "cancel-ack", "task", "kind", "cleanup resumptions")                         \
    X(CANCEL_MASK, 43, "cancel-mask", "task", "depth", "-")                                        \
    X(BUDGET_EXHAUSTED, 44, "budget-exhausted", "task", "kind", "-")                               \
    X(OBLIGATION_RESERVE, 50, "obligation-reserve", "obligation", "kind", "owner")                 \
    X(OBLIGATION_COMMIT, 51, "obligation-commit", "obligation", "kind", "owner")                   \
    X(OBLIGATION_ABORT, 52, "obligation-abort", "obligation", "kind", "owner")                     \
    X(OBLIGATION_LEAK, 53, "obligation-leak", "obligation", "kind", "owner")                       \
    X(CHANNEL_CREATE, 60, "channel-create", "channel", "capacity", "region")                       \
    X(CHANNEL_SEND, 61, "channel-send", "channel", "message number", "queued after it")            \
    X(CHANNEL_RECV, 62, "channel-recv", "channel", "message number", "queued after it")            \
    X(CHANNEL_EVICT, 63, "channel-evict", "channel", "message number", "-")                        \
    X(CHANNEL_DISCARD, 64, "channel-discard", "channel", "messages", "-")                          \
    X(CHANNEL_SENDER_DROP, 65, "channel-sender-drop", "channel", "senders left", "-")              \
    X(CHANNEL_RECEIVER_DROP, 66, "channel-receiver-drop", "channel", "-", "-")                     \
    X(CHANNEL_NACK, 67, "channel-nack", "channel", "message number", "-")                          \
    X(MPMC_CREATE, 90, "mpmc-create", "mpmc", "capacity", "region")                                \
    X(MPMC_SEND, 91, "mpmc-send", "mpmc", "message number", "queued after it")                     \
    X(MPMC_RECV, 92, "mpmc-recv", "mpmc", "message number", "queued after it")                     \
    X(MPMC_CLOSE, 93, "mpmc-close", "mpmc", "messages left", "senders waiting")                    \
    X(MPMC_DISCARD, 94, "mpmc-discard", "mpmc", "messages", "-")                                   \
    X(MPMC_DROP, 95, "mpmc-drop", "mpmc", "senders left", "receivers left")                        \
    X(TIMER_ARM, 70, "timer-arm", "timer", "deadline", "-")                                        \
    X(TIMER_FIRE, 71, "timer-fire", "timer", "deadline", "-")                                      \
    X(TIMER_CANCEL, 72, "timer-cancel", "timer", "deadline", "-")                                  \
    X(CLOCK_ADVANCE, 73, "clock-advance", "-", "from", "to")                                       \
    X(USER, 80, "user", "code", "value", "-")                                                      \
    X(MUTEX_CREATE, 100, "mutex-create", "mutex", "-", "region")                                   \
    X(MUTEX_LOCK, 101, "mutex-lock", "mutex", "tasks waiting", "-")                                \
    X(MUTEX_UNLOCK, 102, "mutex-unlock", "mutex", "tasks waiting", "-")                            \
    X(MUTEX_POISON, 103, "mutex-poison", "mutex", "1 if it is now", "-")                           \
    X(RWLOCK_CREATE, 104, "rwlock-create", "rwlock", "-", "region")                                \
    X(RWLOCK_LOCK, 105, "rwlock-lock", "rwlock", "1 to write", "tasks waiting")                    \
    X(RWLOCK_UNLOCK, 106, "rwlock-unlock", "rwlock", "1 to write", "tasks waiting")                \
    X(RWLOCK_POISON, 107, "rwlock-poison", "rwlock", "1 if it is now", "-")                        \
    X(SEMAPHORE_CREATE, 108, "semaphore-create", "semaphore", "permits", "region")                 \
    X(SEMAPHORE_ACQUIRE, 109, "semaphore-acquire", "semaphore", "permits", "left")                 \
    X(SEMAPHORE_RELEASE, 110, "semaphore-release", "semaphore", "permits", "left")                 \
    X(SEMAPHORE_ADD, 111, "semaphore-add", "semaphore", "permits", "left")                         \
    X(CONDITION_CREATE, 112, "condition-create", "condition", "-", "region")                       \
    X(CONDITION_WAIT, 113, "condition-wait", "condition", "mutex", "tasks waiting")                \
    X(CONDITION_SIGNAL, 114, "condition-signal", "condition", "tasks woken", "-")                  \
    X(NOTIFY_CREATE, 115, "notify-create", "notify", "-", "region")                                \
    X(NOTIFY_SIGNAL, 116, "notify-signal", "notify", "tasks woken", "1 if it is stored")           \
    X(NOTIFY_TAKE, 117, "notify-take", "notify", "-", "-")                                         \
    X(BARRIER_CREATE, 118, "barrier-create", "barrier", "parties", "region")                       \
    X(BARRIER_ARRIVE, 119, "barrier-arrive", "barrier", "number, first = 1", "-")                  \
    X(BARRIER_PASS, 120, "barrier-pass", "barrier", "1 for the leader", "-")                       \
    X(ONCE_CREATE, 121, "once-create", "once", "-", "region")                                      \
    X(ONCE_BEGIN, 122, "once-begin", "once", "-", "-")                                             \
    X(ONCE_END, 123, "once-end", "once", "status", "-")                                            \
    X(ONESHOT_CREATE, 125, "oneshot-create", "oneshot", "-", "region")                             \
    X(ONESHOT_SEND, 126, "oneshot-send", "oneshot", "-", "-")                                      \
    X(ONESHOT_RECV, 127, "oneshot-recv", "oneshot", "-", "-")                                      \
    X(ONESHOT_DROP, 128, "oneshot-drop", "oneshot", "1 the receiver", "values discarded")          \
    X(BROADCAST_CREATE, 129, "broadcast-create", "broadcast", "capacity", "region")                \
    X(BROADCAST_SUBSCRIBE, 130, "broadcast-subscribe", "broadcast", "receivers", "sent before")    \
    X(BROADCAST_SEND, 131, "broadcast-send", "broadcast", "message number", "receivers")           \
    X(BROADCAST_RECV, 132, "broadcast-recv", "broadcast", "message number", "left for it")         \
    X(BROADCAST_LAG, 133, "broadcast-lag", "broadcast", "messages missed", "-")                    \
    X(BROADCAST_DROP, 134, "broadcast-drop", "broadcast", "receivers left", "-")                   \
    X(BROADCAST_CLOSE, 135, "broadcast-close", "broadcast", "-", "-")                              \
    X(WATCH_CREATE, 136, "watch-create", "watch", "-", "region")                                   \
    X(WATCH_SEND, 137, "watch-send", "watch", "version", "tasks woken")                            \
    X(WATCH_RECV, 138, "watch-recv", "watch", "version", "-")                                      \
    X(WATCH_CLOSE, 139, "watch-close", "watch", "-", "-")                                          \
    X(WORKER_SEARCH, 150, "worker-search", "worker", "looks first at", "finds at; 0: nothing")     \
    X(TASK_STEAL, 151, "task-steal", "task", "worker that had it", "worker that takes it")         \
    X(CELL_ACCESS, 160, "cell-access", "cell", "1 if it writes", "how old what it reads is")       \
    X(CHOICE, 161, "choice", "-", "chosen", "of so many")

typedef enum asx_event_kind {
#define ASX_EVENT_ENUM_(name, number, text, object, a, b) ASX_EVENT_##name = (number),
    ASX_EVENT_LIST(ASX_EVENT_ENUM_)
#undef ASX_EVENT_ENUM_
    ASX_EVENT_NONE = 0
} asx_event_kind;

/* Objects are named by serial numbers that start at 1 and count creations of their type, so that
 * they are the same in every run of the same program. */
typedef struct asx_event {
    uint64_t seq;
    asx_time time;
    uint32_t kind; /* asx_event_kind */
    uint32_t worker; /* of several, from 1; 0: the only one, or a thread that is none */
    uint64_t task;   /* of which task; 0: the runtime's own */
    uint64_t object; /* about what */
    uint64_t a, b;
    uint64_t cause;  /* sequence number, 0: none */
} asx_event;

/* "run-begin" and its like; "unknown" for a number that is no kind. Static. */
ASX_API const char *asx_event_kind_str(uint32_t kind);

/* Reads a trace from memory. The bytes are borrowed for as long as the reader is used, which owns
 * nothing and needs no end. */
typedef struct asx_trace_reader {
    const uint8_t *bytes;
    size_t len;
    size_t pos;           /* offset of the next event */
    size_t error_offset;  /* where the damage is, after ASX_E_TRACE_CORRUPT */
    uint64_t event_count; /* in the file */
    uint64_t events_total;/* in the run; larger when a ring overwrote the oldest */
    uint64_t next_seq;
    uint64_t seed;
    uint64_t digest;      /* over all events of the run */
    const char *program;  /* scenario text or program name the run was made from; not terminated */
    size_t program_len;
} asx_trace_reader;

/* Checks header, trailer and checksum.
 * ASX_E_INVALID_ARGUMENT, ASX_E_TRACE_CORRUPT (error_offset is set), ASX_E_TRACE_VERSION. */
ASX_API ASX_MUST_USE asx_status asx_trace_reader_init(asx_trace_reader *reader, const void *bytes,
                                                      size_t len);
/* The next event; ASX_E_EMPTY at the end; ASX_E_TRACE_CORRUPT. */
ASX_API ASX_MUST_USE asx_status asx_trace_reader_next(asx_trace_reader *reader,
                                                      asx_event *ret_event);

/* One line for people: "12 @0 task 3 task-park task 3 channel-recv ...". Writes at most `size`
 * bytes, always terminated; returns the length it would have. */
ASX_API size_t asx_event_format(const asx_event *event, char *ret_text, size_t size);

ASX_END_DECLS

#endif
