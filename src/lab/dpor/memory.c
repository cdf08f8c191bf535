/* memory.c - what fences, futexes and loops that wait do to objects: the operations of model
 * atomics that are not accesses of one word.
 *
 * Futex. Who sleeps at a word is an object of its own, a bit for each thread: the lower half who
 * sleeps, the upper half who was woken. A wait reads the word and, if that is as expected, goes to
 * sleep; going on is another operation, disabled until somebody has woken it. With a deadline it is
 * never disabled: whoever was not woken is late.
 *
 * Until. As a loop that waits, without the clock: see asx_lab_until().
 *
 * Relax. Whoever spins looks again when one of the words that it looked at is another, or when
 * nobody else can go: that is when the clock moves.
 */
#include "lab/dpor/work.h"

#define WOKEN 32 /* bits */

void asx__run_futex_wait(asx__work *w) /* a: the value expected; b: the thread */
{
    if (asx__work_reads(w, asx__op_name(w->op)) != w->op->a) {
        asx__work_finds(w, ASX__FOUND_NOTHING);
        return;
    }
    uint64_t sleepers = asx__work_reads(w, w->op->other);
    uint64_t bit = UINT64_C(1) << w->op->b;
    asx__work_writes(w, w->op->other, (sleepers | bit) & ~(bit << WOKEN));
}

void asx__run_futex_go_on(asx__work *w) /* a: it has a deadline; b: the thread */
{
    uint64_t sleepers = asx__work_reads(w, w->op->name);
    uint64_t bit = UINT64_C(1) << w->op->b;
    if (sleepers & bit << WOKEN)
        return;
    w->deed->enabled = w->op->a != 0;
    if (!w->deed->enabled)
        return;
    asx__work_writes(w, w->op->name, sleepers & ~bit);
    asx__work_finds(w, ASX__FOUND_NOTHING);
}

/* Up to `a` of them, round from the one that was picked. */
void asx__run_futex_wake(asx__work *w)
{
    uint64_t state = asx__work_reads(w, w->op->name);
    uint64_t sleepers = state & ((UINT64_C(1) << WOKEN) - 1);
    if (sleepers == 0) {
        asx__work_finds(w, ASX__FOUND_NOTHING);
        return;
    }
    uint64_t left = sleepers;
    uint32_t skip = w->op->pick;
    for (uint64_t count = w->op->a; count > 0 && sleepers != 0; count--) {
        for (; skip > 0 && (left & (left - 1)) != 0; skip--)
            left &= left - 1;
        uint64_t bit = left & ~(left - 1);
        sleepers &= ~bit;
        left = left == bit ? sleepers : left & ~bit;
        state = (state & ~bit) | bit << WOKEN;
        skip = 0;
    }
    asx__work_writes(w, w->op->name, state);
}

void asx__run_relax(asx__work *w) /* a: when the clock has moved; targets: names and values */
{
    bool moved = asx__work_reads(w, w->op->name) >= w->op->a;
    bool changed = w->op->targets_len == 0;
    for (uint32_t i = 0; i + 1 < w->op->targets_len && !moved && !changed; i += 2)
        changed = asx__work_reads(w, w->op->targets[i]) != w->op->targets[i + 1];
    w->deed->enabled = moved || changed;
}

/* targets: names of cells and the values that the task has seen there. It goes on when one of them
 * has another. */
void asx__run_until(asx__work *w)
{
    const asx__op *op = w->op;
    w->deed->enabled = false;
    for (uint32_t i = 0; i + 1 < op->targets_len && !w->deed->enabled; i += 2)
        w->deed->enabled = asx__work_reads(w, op->targets[i]) != op->targets[i + 1];
}

void asx__run_fence(asx__work *w)
{
    asx__work_writes(w, w->op->name, 0);
}
