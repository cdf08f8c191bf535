/* A second opinion about numbers of classes: small programs, and what the table of conflicts says
 * of them, counted without the explorer, its engine or the runtime.
 *
 * A program is a few tasks, each a list of steps. Objects are there at first: two cells, two
 * mutexes, a read-write lock, a semaphore, a channel with permits, a channel of many receivers, and
 * one each of the objects of support_objects.c. A step that fails (a try, a cas, a load of zero)
 * jumps over the `skip` steps behind it. A task that is told that it is cancelled, and one that has
 * come to its end, gives back what it holds and ends.
 *
 * The *reference* goes through all orders. An *event* is a step that was done, with its accesses;
 * it is summed up with the last write before it of each object that it accesses, and a set of
 * events is the sum of these, whatever their order. Two orders of the same sum are the same class,
 * and must have led to the same state: if not, the table lacks a conflict (`sound`). So what
 * follows such a sum is gone through once, and there are far fewer of them than orders.
 */
#ifndef TESTS_LAB_CLASSES_REFERENCE_H
#define TESTS_LAB_CLASSES_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#define REF_OP_LIST(X)                                                                             \
    X(LOAD) X(STORE) X(FETCH_ADD) X(CAS)                                                           \
    X(LOCK) X(TRY_LOCK) X(UNLOCK)                                                                  \
    X(READ) X(TRY_READ) X(WRITE) X(TRY_WRITE) X(RW_UNLOCK)                                         \
    X(ACQUIRE) X(TRY_ACQUIRE) X(RELEASE) X(UNITS)                                                  \
    X(SEND) X(TRY_SEND) X(RECV) X(TRY_RECV)                                                        \
    X(RESERVE) X(TRY_RESERVE) X(COMMIT) X(ABORT) X(RX_DROP)                                        \
    X(MANY_SEND) X(MANY_TRY_SEND) X(MANY_RECV) X(MANY_TRY_RECV) X(MANY_CLOSE)                      \
    X(CHECKPOINT) X(CANCEL) X(CANCEL_ALL) X(MASK) X(UNMASK)                                        \
    X(JOIN) X(SCOPE) X(SLEEP) X(CHOOSE)                                                            \
    X(COND_WAIT) X(COND_SIGNAL) X(COND_BROADCAST)                                                  \
    X(NOTIFY_WAIT) X(NOTIFY_ONE) X(NOTIFY_ALL) X(BARRIER) X(ONCE) X(ONCE_END)                      \
    X(ANSWER) X(ANSWER_DROP) X(ADOPT) X(ASK) X(TRY_ASK) X(ASK_DROP)                                \
    X(WATCH_SET) X(WATCH_GET) X(WATCH_CHANGED) X(WATCH_CLOSE)                                      \
    X(CAST) X(CAST_COUNT) X(CAST_RECV) X(CAST_TRY_RECV) X(CAST_JOIN) X(CAST_LEAVE) X(CAST_CLOSE)   \
    X(SCOPE_FAIL) X(SCOPE_DEFER) X(RACE) X(TIMEOUT) X(JOIN_ALL) X(LIMIT) X(LIMIT_WAIT)             \
    X(PLEDGE) X(BARE) X(BARE_AGAIN) X(BARE_TWICE) X(LINK) X(FAIL) X(BESIDE) X(SETTLE)

typedef enum ref_op {
#define REF_ENUM_(name) REF_##name,
    REF_OP_LIST(REF_ENUM_)
#undef REF_ENUM_
    REF_OP_COUNT
} ref_op;

enum {
    REF_TASKS = 6,  /* those that are started at first, then those that a SCOPE starts */
    REF_STEPS = 16, /* of a task */
    REF_QUEUE = 24, /* messages ever sent to one channel */
    REF_TICKETS = 12,
    REF_CAST_MAX = 2, /* capacity of the broadcast, at most */
};

/* What an initializer does. */
enum { REF_BODY_NOTHING, REF_BODY_FAILS, REF_BODY_ADDS, REF_BODY_CHECKS, REF_BODY_ADDS_AND_FAILS };

typedef struct ref_step {
    uint8_t op;
    uint8_t arg;  /* which cell, mutex, task; how many units, milliseconds, answers */
    uint8_t skip; /* if it fails, so many of the next */
} ref_step;

typedef struct ref_program {
    int tasks, started; /* the first `started` at once */
    int len[REF_TASKS];
    ref_step code[REF_TASKS][REF_STEPS];
    int capacity, filled;  /* of the channel; messages in it at first */
    int many;              /* capacity of the other */
    int units;             /* of the semaphore */
    int parties;           /* of the barrier */
    int cast;              /* capacity of the broadcast */
    bool drops;            /* every task that sends has a sender of its own, and drops it */
    bool adversarial;
    bool faults;           /* cancel at every point, or not */
    bool lab_mutexes;      /* asx_lab_mutex; where nobody is cancelled they are the same */
    bool watched;          /* an oracle complains if the first cell is odd at the end */
    bool polls;            /* poll tasks, which an explored runtime does not tell from others */
} ref_program;

/* Objects that are accessed. */
enum {
    REF_CELLS,
    REF_MUTEXES = REF_CELLS + 2,
    REF_RWLOCK = REF_MUTEXES + 2,
    REF_SEMAPHORE,
    REF_TAIL,
    REF_HEAD,
    REF_CLAIMS,
    REF_CLOSED,
    REF_SENDERS,
    REF_SLOTS,
    REF_MANY_TAIL = REF_SLOTS + 2,
    REF_MANY_HEAD,
    REF_MANY_CLOSED,
    REF_MANY_SLOTS,
    REF_FLAGS = REF_MANY_SLOTS + REF_QUEUE,
    REF_SCOPES = REF_FLAGS + REF_TASKS, /* where this task lives, if a SCOPE started it */
    REF_LINES = REF_SCOPES + REF_TASKS, /* of the condition, the notify, the barrier */
    REF_LINE_SIZE = 1 + REF_TICKETS,
    REF_THE_ONCE = REF_LINES + 3 * REF_LINE_SIZE,
    REF_VALUE, /* of the oneshot */
    REF_VALUE_CLOSED,
    REF_WATCH,
    REF_WATCH_CLOSED,
    REF_CAST_SENT,
    REF_CAST_CLOSED,
    REF_CAST_NUMBER,
    REF_CAST_SLOTS,
    REF_CAST_READERS = REF_CAST_SLOTS + REF_CAST_MAX,
    REF_FINS = REF_CAST_READERS + REF_TASKS + 1,
    REF_LINKS = REF_FINS + REF_TASKS,
    REF_STOPS = REF_LINKS + REF_TASKS * REF_TASKS, /* this and the next: as REF_SCOPES */
    REF_PLACES = REF_STOPS + REF_TASKS,
    REF_SHIELDS = REF_PLACES + REF_TASKS,
    REF_PLEDGES = REF_SHIELDS + REF_TASKS,
    REF_GONE = REF_PLEDGES + REF_TASKS,
    REF_OBJECTS = REF_GONE + REF_TASKS
};

typedef struct ref_count {
    bool counted;       /* false: too large */
    bool sound;
    uint64_t classes;
    uint64_t deadlocks; /* classes in which somebody is left and nobody has failed */
    uint64_t odd;       /* classes that come to their end with an odd first cell */
    uint64_t prefixes;  /* different ones */
} ref_count;

/* Leaves out the accesses of one object (REF_OBJECTS: of none). */
void ref_classes(const ref_program *p, int blind, ref_count *ret_count);
bool ref_is_point(int op);
const char *ref_op_name(int op);
void ref_print(const ref_program *p);

#endif
