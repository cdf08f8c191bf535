/* scn_words.h - the vocabulary of scenarios: operations with their forms, fields, words.
 *
 * The form of an operation says what stands behind its name, one character each:
 *   r t c x p a o w m q k h n   a name of that type (scn.h) that something defines
 *   R T C ...                   a name of that type that this operation defines
 *   Y    a channel's name: defines its first sender and its receiver
 *   v    a number: 5, 0x10, 250us, max, never, it, now
 *   s    a status   "  a text   @  a body, with arguments or without
 *   ?    what stood before it may be missing
 * Then fields of the operation's set follow, in any order, each at most once, then `-> STATUS`.
 */
#ifndef ASX_CLI_SCN_WORDS_H
#define ASX_CLI_SCN_WORDS_H

#include "cli/scn.h"

/* X(NAME, "text", form, field set) */
#define SCN_OP_LIST(X)                                                                             \
    /* regions */                                                                                  \
    X(OPEN, "open", "R", region)                                                                   \
    X(CLOSE, "close", "r", close)                                                                  \
    X(STOP, "stop", "r", none)                                                                     \
    X(CANCEL_REGION, "cancel region", "r", cancel)                                                 \
    X(CANCEL_TASK, "cancel task", "t", cancel)                                                     \
    X(DEFER, "defer", "r@", none)                                                                  \
    X(ALLOC, "alloc", "rv", none)                                                                  \
    X(NARROW_REGION, "narrow region", "rR", states)                                                \
    X(REPORT_REGION, "report region", "rQ", none)                                                  \
    X(REPORT_RUNTIME, "report runtime", "Q", none)                                                 \
    X(PROBE_REGION, "probe region", "r", region_state)                                             \
    X(CHECK_REGION, "check region", "r", region_state)                                             \
    X(LEGAL_REGION, "legal region", "", legal_region)                                              \
    X(LEGAL_TASK, "legal task", "", legal_task)                                                    \
    X(LEGAL_OBLIGATION, "legal obligation", "", legal_obligation)                                  \
    X(CHECK_REPORT, "check report", "q", report)                                                   \
    X(CHECK_ITEM, "check item", "qv?", item)                                                       \
    /* tasks */                                                                                    \
    X(SPAWN, "spawn", "r@", spawn)                                                                 \
    X(JOIN, "join", "t", join)                                                                     \
    X(LINK, "link", "tt", none)                                                                    \
    X(SET_VALUE, "set-value", "v", none)                                                           \
    X(RETURN, "return", "s?", none)                                                                \
    X(PANIC, "panic", "\"?", none)                                                                 \
    X(PROBE_TASK, "probe task", "t", task_state)                                                   \
    X(CHECK_TASK, "check task", "t", task_state)                                                   \
    X(CHECK_WITNESS, "check witness", "t", witness)                                                \
    X(WITNESS, "witness", "tH", none)                                                              \
    X(WITNESS_STEP, "witness-step", "hh", none)                                                    \
    X(CHECK_CLEANUP, "check cleanup", "t", budget)                                                 \
    /* the running task */                                                                         \
    X(CHECKPOINT, "checkpoint", "", none)                                                          \
    X(MASK, "mask", "v?", none)                                                                    \
    X(UNMASK, "unmask", "", none)                                                                  \
    X(MASKED, "masked", "@", none)                                                                 \
    X(SECTION, "section", "v@", none)                                                              \
    X(BRACKET, "bracket", "@@@", none)                                                             \
    X(TASK_DEFER, "task-defer", "@", none)                                                         \
    X(CONSUME, "consume", "v", none)                                                               \
    X(SETTLE, "settle", "", none)                                                                  \
    X(YIELD, "yield", "", none)                                                                    \
    X(SLEEP, "sleep", "v", none)                                                                   \
    X(SLEEP_UNTIL, "sleep-until", "v", none)                                                       \
    X(WAKER, "waker", "K", none)                                                                   \
    X(WAKE, "wake", "k", none)                                                                     \
    X(WAIT_EXTERNAL, "wait-external", "", none)                                                    \
    X(NOTE, "note", "Nv?", none)                                                                   \
    X(NARROW, "narrow", "", caps)                                                                  \
    X(CHECK_SELF, "check self", "", self)                                                          \
    X(REPEAT, "repeat", "v?", none)                                                                \
    X(AGAIN, "", "", none)                                                                         \
    /* flow */                                                                                     \
    X(JOIN_ALL, "join-all", "@@?@?", flow)                                                         \
    X(RACE, "race", "@@?@?", flow)                                                                 \
    X(TIMEOUT, "timeout", "v@", none)                                                              \
    /* obligations */                                                                              \
    X(OBLIGE, "oblige", "rO", oblige)                                                              \
    X(COMMIT, "commit", "o", none)                                                                 \
    X(ABORT, "abort", "o", none)                                                                   \
    X(PROBE_OBLIGATION, "probe obligation", "o", obligation_state)                                 \
    X(CHECK_OBLIGATION, "check obligation", "o", obligation_state)                                 \
    /* channels */                                                                                 \
    X(CHANNEL, "channel", "rYv", none)                                                             \
    X(RESERVE, "reserve", "cP", none)                                                              \
    X(TRY_RESERVE, "try-reserve", "cP", none)                                                      \
    X(RESERVE_TRACKED, "reserve-tracked", "cP", none)                                              \
    X(PERMIT_SEND, "permit-send", "pv", none)                                                      \
    X(PERMIT_ABORT, "permit-abort", "p", none)                                                     \
    X(TRACKED_SEND, "tracked-send", "pv", proof)                                                   \
    X(TRACKED_ABORT, "tracked-abort", "p", proof)                                                  \
    X(COPY_PERMIT, "copy-permit", "pP", none)                                                      \
    X(SEND, "send", "cv", none)                                                                    \
    X(TRY_SEND, "try-send", "cv", none)                                                            \
    X(EVICT, "evict", "cv", evict)                                                                 \
    X(RECV, "recv", "x", value)                                                                    \
    X(TRY_RECV, "try-recv", "x", value)                                                            \
    X(RECV_ACK, "recv-ack", "xA", value)                                                           \
    X(ACK, "ack", "a", none)                                                                       \
    X(NACK, "nack", "a", none)                                                                     \
    X(COPY_ACK, "copy-ack", "aA", none)                                                            \
    X(CLONE, "clone", "cC", none)                                                                  \
    X(COPY_SENDER, "copy-sender", "cC", none)                                                      \
    X(DROP_SENDER, "drop-sender", "c", none)                                                       \
    X(DROP_RECEIVER, "drop-receiver", "x", none)                                                   \
    X(CHECK_CHANNEL, "check channel", "x", channel)                                                \
    X(CHECK_SENDER, "check sender", "c", channel)                                                  \
    X(CHECK_DROPS, "check drops", "x", drops)                                                      \
    /* timers */                                                                                   \
    X(WHEEL, "wheel", "W", wheel)                                                                  \
    X(RUNTIME_WHEEL, "runtime-wheel", "W", none)                                                   \
    X(DESTROY_WHEEL, "destroy-wheel", "w", none)                                                   \
    X(TIMER, "timer", "wMv", none)                                                                 \
    X(TIMER_CANCEL, "timer-cancel", "wm", yes_no)                                                  \
    X(TIMER_UPDATE, "timer-update", "wmMv", none)                                                  \
    X(TIMER_FORGE, "timer-forge", "M", forge)                                                      \
    X(COLLECT, "collect", "wv", collect)                                                           \
    X(NEXT_DEADLINE, "next-deadline", "w", value)                                                  \
    X(CHECK_WHEEL, "check wheel", "w", wheel_stats)                                                \
    X(CHECK_TIMER, "check timer", "m", timer)                                                      \
    /* runtime */                                                                                  \
    X(ADVANCE, "advance", "v", none)                                                               \
    X(GOVERNOR, "governor", "", governor)                                                          \
    X(QUIESCENT, "quiescent", "", none)                                                            \
    X(SHUTDOWN, "shutdown", "v?", none)                                                            \
    X(SNAPSHOT, "snapshot", "", none)                                                              \
    X(CHECK_UNCHANGED, "check unchanged", "", none)                                                \
    X(CHECK_STATS, "check stats", "", stats)                                                       \
    X(CHECK_CERTIFICATE, "check certificate", "", certificate)                                     \
    X(TRACE_STATUS, "trace-status", "", none)

typedef enum scn_op_code {
#define SCN_OP_ENUM_(name, text, form, fields) SCN_OP_##name,
    SCN_OP_LIST(SCN_OP_ENUM_)
#undef SCN_OP_ENUM_
    SCN_OP_COUNT
} scn_op_code;

/* Keys of fields. One key may stand in several sets. */
typedef enum scn_key {
    F_END,
    F_RESULT, F_NONE, F_FIRED,
    F_IN, F_TIMEOUT, F_POLICY, F_CLEANUP, F_CLEANUP_TIME, F_LEAK, F_ADMISSION, F_TASKS_MAX,
    F_REGIONS_MAX, F_OBLIGATIONS_MAX, F_MEMORY_MAX, F_CAPS, F_LEAKS_ALLOWED,
    F_POLLS, F_COST, F_DEADLINE, F_PRIORITY,
    F_FROM, F_TO, F_BODY, F_KIND, F_MESSAGE, F_REPORT, F_AT, F_CHAIN, F_STATES, F_STATE,
    F_AS, F_FIBER, F_POLL, F_STACK, F_NO_HANDLE, F_OUTCOME, F_STATUS, F_SOURCE,
    F_PHASE, F_EPOCH, F_EXCEEDED, F_DEPTH, F_TRUNCATED, F_CUT, F_ORIGIN_REGION, F_ORIGIN_TASK,
    F_ROOT_KIND, F_CANCELLED, F_NOW, F_WINNER, F_LEASE, F_PROOF,
    F_ACCOUNT, F_SETUP, F_OK, F_ERR, F_PANICKED, F_FORCED, F_LEAKED, F_ABORTED, F_DISCARDED,
    F_FINALIZERS, F_STACKS_KEPT, F_ITEMS,
    F_ITEM_KIND, F_NAME, F_PATH, F_WAITS, F_SITE, F_COUNT,
    F_USED, F_QUEUED, F_RESERVED, F_CAPACITY, F_SENDERS, F_SEND_WAITERS, F_RECEIVER_WAITS, F_SENT,
    F_RECEIVED, F_EVICTED, F_LAST, F_START, F_MAX_WHEEL, F_MAX_TIMER, F_MAX_TIMERS,
    F_COALESCE_WINDOW, F_COALESCE_GROUP, F_FIRST_GENERATION, F_FIRST_ID, F_ID, F_GENERATION,
    F_MAX, F_LIVE, F_DEAD, F_LEVEL0, F_LEVEL1, F_LEVEL2, F_LEVEL3, F_OVERFLOW, F_NEAR, F_CASCADES,
    F_PURGES, F_STORAGE, F_GOVERNOR,
    F_TASKS_LIVE, F_TASKS_SPAWNED, F_TASKS_FORCED, F_REGIONS_LIVE, F_REGIONS_OPENED,
    F_OBLIGATIONS_RESERVED, F_OBLIGATIONS_TOTAL, F_OBLIGATIONS_LEAKED, F_CHANNELS_LIVE,
    F_TIMERS_LIVE, F_STACKS_IN_USE, F_MEMORY_BYTES, F_READY_LEN, F_CANCEL_LEN, F_TIMED_LEN,
    F_TURNS, F_CANCEL_DISPATCHES, F_TIMED_DISPATCHES, F_READY_DISPATCHES, F_FALLBACK, F_BASE,
    F_EFFECTIVE, F_LIMIT, F_SEED, F_PROFILE, F_STEP, F_VEHICLE
} scn_key;

/* How the value of a field is written. */
typedef enum scn_form {
    V_END,
    V_FLAG,    /* nothing follows */
    V_VALUE,   /* a number, perhaps with a comparison: 5  >=5  !=5 */
    V_STATUS,
    V_TEXT,
    V_YES_NO,
    V_WORD,    /* one of the words of a list */
    V_SET,     /* several of them, separated by commas: the value is a set of bits */
    V_REGION,  /* a name */
    V_TASK,
    V_NEW_TASK,
    V_NEW_REPORT,
    V_TIMERS,  /* names up to the end of the operation, or `none` */
    V_RESULT   /* a number, or `none` */
} scn_form;

typedef struct scn_word {
    const char *text;
    uint64_t number;
} scn_word;

/* Lists of words. */
typedef enum scn_words {
    W_NONE, W_REGION_STATE, W_TASK_STATE, W_OBLIGATION_STATE, W_CANCEL_KIND, W_CANCEL_PHASE,
    W_OUTCOME, W_OBLIGATION_KIND, W_CAP, W_POLICY, W_CLEANUP, W_LEAK, W_ADMISSION, W_GOVERNOR,
    W_PROFILE, W_CLOCK, W_OVERFLOW, W_ITEM_KIND, W_LANE, W_WAIT, W_VEHICLE, W_REFUSED, W_CHANNEL
} scn_words;

typedef struct scn_field_form {
    const char *text;
    uint16_t key;
    uint8_t form;  /* scn_form */
    uint8_t words; /* scn_words */
} scn_field_form;

typedef struct scn_op_form {
    const char *text;
    const char *form;
    const scn_field_form *fields;
} scn_op_form;

const scn_op_form *scn_op_form_of(uint32_t code);
/* By name: `first` alone or `first second`. Writes how many words it took (1 or 2). */
bool scn_op_find(const char *first, const char *second, uint16_t *ret_code, int *ret_words);

extern const scn_field_form scn_fields_stats[];
extern const scn_field_form scn_fields_certificate[];
extern const scn_field_form scn_fields_digest[];
extern const scn_field_form scn_fields_region[];

/* True and the number, if `text` is a word of the list. */
bool scn_word_find(scn_words list, const char *text, uint64_t *ret_number);
/* The word for a number; NULL: none. */
const char *scn_word_of(scn_words list, uint64_t number);
bool scn_status_find(const char *text, int32_t *ret_status);
const char *scn_type_name(unsigned type);

/* What stands in a place of an event: an object of a type, a word of a list, a status, a number. */
typedef enum scn_meaning {
    M_NONE, M_NUMBER, M_STATUS, M_REGION, M_TASK, M_OBLIGATION, M_CHANNEL, M_TIMER, M_NOTE,
    M_OWNER, M_WORD
} scn_meaning;
typedef struct scn_event_form {
    uint32_t kind;
    scn_meaning on, a, b;
    uint8_t a_words, b_words;
} scn_event_form;
/* NULL: no event of that name. */
const scn_event_form *scn_event_find(const char *text);
const scn_event_form *scn_event_of(uint32_t kind);

#endif
