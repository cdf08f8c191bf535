/* Random programs of a few tasks that do anything to each other, for comparing optimal exploration
 * with brute force.
 *
 * A program is a handful of calls per task, drawn from a palette of few, so that they meet. What a
 * task sees (statuses, messages, values) is summed up in its history. Two executions of one class
 * must have the same histories: if not, something orders the two that is no conflict.
 */
#ifndef TESTS_LAB_DPOR_MIXED_H
#define TESTS_LAB_DPOR_MIXED_H

#include <asx/asx_lab.h>

#include "base/rng.h"

#define MIXED_CALL_LIST(X)                                                                         \
    X(SEND) X(RECV) X(TRY_SEND) X(TRY_RECV) X(RESERVE_SEND) X(RESERVE_ABORT) X(RESERVE_KEEP)       \
    X(ACK) X(NACK) X(ACK_KEEP) X(EVICT) X(DROP_SENDER) X(DROP_RECEIVER) X(CLONE)                   \
    X(MANY_SEND) X(MANY_RECV) X(MANY_TRY_SEND) X(MANY_TRY_RECV) X(MANY_CLOSE) X(MANY_DROP)         \
    X(LOCK) X(TRY_LOCK) X(LOCK_KEEP) X(READ) X(WRITE) X(TRY_READ) X(TRY_WRITE) X(READ_TWICE)       \
    X(ACQUIRE) X(TRY_ACQUIRE) X(ADD) X(WAIT_CONDITION) X(SIGNAL) X(SIGNAL_ALL)                     \
    X(BARRIER) X(WAIT_NOTIFY) X(NOTIFY_ONE) X(NOTIFY_ALL) X(ONCE) X(ONCE_WAITS)                    \
    X(ONE_SEND) X(ONE_RECV) X(ONE_TRY_RECV) X(ONE_DROP) X(WATCH_SET) X(WATCH_WAIT) X(WATCH_GET)    \
    X(WATCH_CLOSE) X(CAST) X(CAST_RECV) X(CAST_CLOSE)                                              \
    X(SLEEP) X(SLEEP_LONG) X(SLEEP_SHORT) X(CHECKPOINT) X(IS_CANCELLED) X(YIELD)                   \
    X(CANCEL_TASK) X(CANCEL_REGION) X(CANCEL_INNER) X(CANCEL_SELF)                                 \
    X(MASKED_RECV) X(MASKED_SCOPE) X(MASKED_WAITS) X(MASKED_LEFT) X(COMMIT_SECTION) X(BRACKET)     \
    X(DEFER)                                                                                       \
    X(RACE_SENDS) X(RACE_WAITS) X(RACE_THREE) X(TIMEOUT) X(JOIN_ALL) X(JOIN) X(LINK) X(FAIL)       \
    X(SCOPE) X(SCOPE_CANCELLED) X(SCOPE_FINALIZES) X(SCOPE_TIMED) X(SCOPE_FAILS) X(SCOPE_LEFT)     \
    X(SCOPE_WAITS) X(SPAWN) X(SPAWN_LIMITED) X(SPAWN_INNER) X(OBLIGATION)                          \
    X(OPEN_IN) X(OPEN_IN_SPAWN) X(OPEN_LIMITED) X(OPEN_MASKED) X(OPEN_IN_LATE) X(OPEN_MASKED_LATE) \
    X(STOP) X(STOP_INNER) X(STOP_LIMITED)                                                          \
    X(LOAD) X(STORE) X(ADD_CELL) X(CAS) X(CHOOSE) X(LAB_LOCK) X(LAB_UNITS)

typedef enum mixed_call {
#define MIXED_ENUM_(name) MIXED_##name,
    MIXED_CALL_LIST(MIXED_ENUM_)
#undef MIXED_ENUM_
    MIXED_COUNT
} mixed_call;

enum { MIXED_TASKS = 3, MIXED_CALLS = 3 };

typedef struct mixed_program {
    int tasks, len[MIXED_TASKS];
    uint8_t code[MIXED_TASKS][MIXED_CALLS];
    bool polls[MIXED_TASKS];
    bool inner;           /* the last task lives in an inner region */
    bool waits;           /* for room in the region with a limit */
    bool narrow;          /* where all but the last live there is room for one region */
    int capacity, many;   /* of the two channels */
    uint64_t deadline_ns; /* of the first task; 0: none */
    asx_explore_clock clock;
    uint32_t faults;
} mixed_program;

/* How they differ; NULL: they do not. */
typedef struct mixed_answer {
    const char *complaint;
    bool compared;        /* brute force came to its end */
    uint64_t classes, executions;
} mixed_answer;

void mixed_draw(asx__rng *rng, mixed_program *p);
void mixed_print(const mixed_program *p);
/* Brute force with at most so many executions, then `seeds` defaults. */
mixed_answer mixed_compare(mixed_program *p, uint64_t most, uint64_t seeds);
/* Leaves out what is not needed to show the complaint. */
void mixed_shrink(mixed_program *p, uint64_t most, uint64_t seeds);
/* Calls by name, those of different tasks apart by commas; false: no such call, or too many. */
bool mixed_parse(const char *text, mixed_program *ret_program);
/* As a lab test. */
void mixed_run(asx_cx *cx, void *program);

#endif
