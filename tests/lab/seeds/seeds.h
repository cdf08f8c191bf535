/* seeds.h - programs that are run again and again in the laboratory, each time with another seed
 * and with faults: allocations that fail, tasks that are cancelled, time that runs out. */
#ifndef TESTS_LAB_SEEDS_H
#define TESTS_LAB_SEEDS_H

#include <asx/asx.h>

/* Of the run: the same seed gives the same sequence. */
uint64_t seeds_draw(uint64_t below);

/* A program by name: runs once, returns what its main would. */
typedef struct seeds_program {
    const char *name;
    int (*run)(void);
    bool strict; /* faults are its own business: it must end with 0 */
} seeds_program;

/* What examples are compiled with instead of the calls of the same names. */
asx_status seeds_runtime_create(const asx_runtime_config *config, asx_runtime **ret_runtime);
asx_status seeds_runtime_destroy(asx_runtime *runtime);
int seeds_asx_main(asx_task_fn fn, void *arg);

int hundred_main(void);

#endif
