/* support_kit.h - what the tests of the scheduler share: runs of one program on every kind of
 * runtime, an allocator that counts, and a line of words that says what happened in which order.
 */
#ifndef ASX_TESTS_SCHED_KIT_H
#define ASX_TESTS_SCHED_KIT_H

#include <asx/asx.h>

#include "harness.h"

/* Counts what is given out and comes back. `fail_at` n > 0: the n-th request gets nothing. */
typedef struct kit_heap {
    uint64_t bytes;   /* out now */
    uint64_t pieces;  /* out now */
    uint64_t requests;
    uint64_t fail_at;
    uint64_t fail_from; /* n > 0: every request from the n-th on gets nothing */
    uint64_t failures;
} kit_heap;

asx_allocator kit_allocator(kit_heap *heap);

/* A runtime on the clock given, with the heap's allocator (NULL: the C library's). */
asx_runtime_config kit_config(asx_clock_kind clock, kit_heap *heap);

/* Creates, runs, checks that everything is at rest and that all memory came back. Returns what
 * the run returned. `config` may be NULL. */
asx_status kit_run(const asx_runtime_config *config, asx_task_fn fn, void *arg);

/* The same program on the virtual and on the real clock, each with and without a journal, with
 * the default allocator and with one that counts; every run must return `expected`. */
void kit_everywhere(asx_task_fn fn, void *arg, asx_status expected);

/* True when the program runs on a virtual clock. */
bool kit_is_virtual(const asx_cx *cx);

/* One line of words, separated by blanks, that the tasks of a test write together. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *said(void);
void hush(void); /* empties the line */

/* A fiber that sleeps for `*(uint64_t *)arg` ns and returns what the sleep did. */
asx_status kit_sleeper(asx_cx *cx, void *arg);
/* Waits for ever in an external wait, says "told" when it was cancelled, returns that. */
asx_status kit_waiter(asx_cx *cx, void *arg);
/* Returns (asx_status)(intptr_t)arg. */
asx_status kit_returns(asx_cx *cx, void *arg);
asx_status kit_panics(asx_cx *cx, void *arg);
/* Yields `n` times or until it is cancelled. */
asx_status kit_yields(asx_cx *cx, unsigned n);
/* Yields until every task below the region waits for something: on several workers that takes as
 * long as it takes. */
void kit_all_wait(asx_cx *cx, const asx_region *region);

/* Statistics with those fields zeroed that a refused call may change: none but the turn. */
asx_stats kit_stats(asx_runtime *rt);
#define CHECK_SAME_STATS(a_, b_) CHECK_MEM_EQ(&(a_), &(b_), sizeof(asx_stats))

#endif
