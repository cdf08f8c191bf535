/* seeds.h - programs that are run again and again in the laboratory, each time with another seed
 * and with faults: allocations that fail, tasks that are cancelled, time that runs out. */
#ifndef TESTS_LAB_SEEDS_H
#define TESTS_LAB_SEEDS_H

#include <signal.h>
#include <time.h>

#include <asx/asx.h>

ASX_BEGIN_DECLS

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
/* Time passes at once; a signal that is pending is taken. */
int seeds_sigtimedwait(const sigset_t *signals, siginfo_t *ret_info, const struct timespec *most);
/* Sees at once that the first task has not yielded. */
asx_status seeds_watchdog_start(asx_runtime *runtime, const asx_watchdog_options *options,
                                asx_watchdog **ret_watchdog);
asx_status seeds_watchdog_stop(asx_watchdog *watchdog);
asx_status seeds_dump_on_signal(int signo, int fd);

#define EXAMPLE(name) int name##_example_main(void);
#include "examples.inc"
#undef EXAMPLE

int hundred_main(void);

ASX_END_DECLS

#endif
