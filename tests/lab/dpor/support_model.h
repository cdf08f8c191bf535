/* support_model.h - small programs, made at random, that the engine explores without a runtime.
 *
 * A program is a list of instructions per task. An instruction is one operation; if what it found
 * is `skip_if`, the next `skip` instructions are left out, so that what a task does depends on the
 * schedule. If it `must` be done and was not (no permit, no message), the next one is left out.
 */
#ifndef ASX_TESTS_MODEL_H
#define ASX_TESTS_MODEL_H

#include "lab/dpor/dpor.h"

enum { MODEL_TASKS = 5, MODEL_CODE = 14, MODEL_OBJECTS = 5, MODEL_CHANNELS = 2 };

typedef struct model_step {
    asx__op_kind kind;
    uint8_t object, a, b;
    uint8_t skip_if, skip;
    bool must;
} model_step;

typedef struct model {
    uint32_t tasks;
    uint32_t len[MODEL_TASKS];
    model_step code[MODEL_TASKS][MODEL_CODE];
    uint64_t start[MODEL_OBJECTS];
    uint64_t capacity[MODEL_CHANNELS];
    bool cancels;      /* waits are cancellation points */
    bool adversarial;  /* the clock */
} model;

/* What random programs are made of. Objects 0 and 1 are cells, 2 and 3 locks, 4 a semaphore. */
typedef enum model_flavour {
    MODEL_CELLS,
    MODEL_LOCKS,    /* and semaphores, and cells */
    MODEL_CHOICES,  /* and everything above */
    MODEL_SENDS,    /* channels, sending and receiving only */
    MODEL_CHANNEL,  /* everything that channels can do */
    MODEL_RWLOCKS,
    MODEL_CANCELS,  /* cancellation, joins, channels, locks */
    MODEL_FIRSTS,   /* waits for the first of some that ends, cells, cancellation */
    MODEL_TIMES,    /* sleeps, channels, cancellation */
    MODEL_ALL,
    MODEL_FLAVOURS
} model_flavour;

void model_make(model *m, asx__rng *rng, model_flavour flavour, uint32_t steps_most);
void model_print(const model *m);

/* The operation of a task's next instruction; what it found and its result decide what is next. */
asx__op model_op(const model *m, uint32_t task, uint32_t pc, uint64_t *objects);
uint32_t model_next(const model *m, uint32_t task, uint32_t pc, uint64_t found);

/* One execution. False: there is no other. */
bool model_run_once(const model *m, asx__dpor *d, uint64_t *objects);
/* Explores it, at most `executions_max` times (0: no limit). Negative: the engine's status. */
int model_explore(const model *m, asx__dpor_mode mode, uint64_t seed, uint64_t executions_max,
                  asx__dpor_stats *ret_stats);

#endif
