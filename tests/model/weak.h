/* weak.h - memory as C11 has it, for threads that are tasks of an explored test.
 *
 * Whoever compiles base/atomic.h against model atomics (ASX__MODEL_ATOMICS) sends every access
 * here. Each is an operation of the explorer: a load reads its word, a store and a
 * read-modify-write write it. So what is explored under sequential consistency is what the lab
 * explores: each class once. What weak memory adds are answers of these operations: which of the
 * older values a load sees, behind which of the later ones a store comes. Of these fewer than
 * asx_explore_options.weak are taken in one execution.
 *
 * Words
 *   message    what a store left: value, place in the order of its object, what it releases
 *   view       for each object the oldest message that may still be seen
 *   knowledge  a view, another one for what is sequentially consistent, and a vector clock
 *
 * Memory. Each object has all its messages in modification order. A load may see any message that
 * is not older than its thread's view; what it sees raises the view, and if it acquires, so does
 * all that the message released. A store may be placed behind messages that came later in time, as
 * far as its thread's view allows: this is a store that stays in a store buffer. Read-modify-write
 * takes the newest message and hands on what that released. Sequentially consistent stores have one
 * order, that of the execution, so each of them and each fence also writes one object that stands
 * for it. A sequentially consistent load comes after those that its thread knows of (through its
 * own such accesses and what it has acquired), and sees no older value; it need not come after all
 * that were executed before it, unless there is a fence. With nothing but relaxed accesses this is
 * weaker than any processor's store buffers; loads that run ahead of the stores they depend on are
 * not modelled, and a compare-and-swap does not fail on a value that is not the newest.
 *
 * How many answers an access has follows from what is before it: the messages of its object from
 * the stores to it, all of which conflict with it, and the view from what its thread has seen.
 *
 * A futex wait that sleeps is a disabled operation, and so is a lock that is held; a loop that
 * relaxes is one until what it looked at has changed or nobody else can go. A sleeper with a
 * deadline may be late at any time.
 *
 * Rejected: answers as operations of their own (asx_lab_choose) next to the access. Between the two
 * others would go, and see a store whose place is not known yet.
 */
#ifndef TESTS_MODEL_WEAK_H
#define TESTS_MODEL_WEAK_H

#include <asx/explore.h>

#include <stdatomic.h>

#define ASX__WEAK_THREADS_MAX 4

typedef struct asx__weak asx__weak;

/* One access. The strings are static. */
typedef struct asx__weak_access {
    uint32_t thread;     /* from 0 */
    uint32_t size;       /* of the object, in bytes: 4, 8 */
    void *object;
    memory_order order;
    bool newest;         /* neither sees nor leaves an old value, whatever its order */
    const char *site;
} asx__weak_access;

/* Plain data, for races. All zero at first. */
typedef struct asx__weak_data {
    uint32_t written[ASX__WEAK_THREADS_MAX]; /* clock of the last write, by thread */
    uint32_t read[ASX__WEAK_THREADS_MAX];
    uint64_t execution;                      /* the clocks are of this one */
} asx__weak_data;

typedef enum asx__weak_change {
    ASX__WEAK_EXCHANGE,
    ASX__WEAK_ADD,
    ASX__WEAK_OR,
    ASX__WEAK_AND
} asx__weak_change;

/* The caller's to free(). NULL: no memory. */
asx__weak *asx__weak_create(void);

/* An execution begins. `weak`: old values may be seen at all. */
void asx__weak_begin(asx__weak *w, bool weak);
/* The task of the execution that is this thread. Before its first access. */
void asx__weak_thread(asx__weak *w, uint32_t thread, asx_cx *cx);
/* More objects, stores or loops than there is room for; NULL: no. Static. */
const char *asx__weak_trouble(const asx__weak *w);

/* By the running task. The object is in memory; what is there is its newest value. */
uint64_t asx__weak_load(asx__weak *w, const asx__weak_access *a);
void asx__weak_store(asx__weak *w, const asx__weak_access *a, uint64_t value);
/* Return the old value. ADD: the value may be a negative number. */
uint64_t asx__weak_rmw(asx__weak *w, const asx__weak_access *a, asx__weak_change change,
                       uint64_t value);
/* False: *expected is what was found, seen with `order_failed`. */
bool asx__weak_cas(asx__weak *w, const asx__weak_access *a, uint64_t *expected, uint64_t desired,
                   memory_order order_failed);
void asx__weak_fence(asx__weak *w, const asx__weak_access *a);
/* False: it was late. */
bool asx__weak_futex_wait(asx__weak *w, const asx__weak_access *a, uint32_t expected, bool timed);
void asx__weak_futex_wake(asx__weak *w, const asx__weak_access *a, uint32_t count);
void asx__weak_relax(asx__weak *w, const asx__weak_access *a);
/* A lock as one operation. False: it is held, and the caller does not wait. */
bool asx__weak_lock(asx__weak *w, const asx__weak_access *a, bool may_wait);
/* False: it was not the caller's. */
bool asx__weak_unlock(asx__weak *w, const asx__weak_access *a);
/* No operation. False: a race with what another thread did. */
bool asx__weak_plain(asx__weak *w, uint32_t thread, asx__weak_data *data, bool writes);

#endif
