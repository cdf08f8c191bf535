/* support_programs.h - programs that use everything and keep accounts, for tests in which
 * something is taken away from the runtime at every place in turn.
 *
 * Words
 *   refused  a call said that memory or a ceiling is used up
 *   message  a number; it is sent once and must be seen gone once: received, dropped or returned
 *   promise  a cleanup that was accepted and so must run once
 *
 * Every status a program gets is looked at by got(): it is ASX_OK, a refusal, or what a refusal
 * somewhere else leads to by the laws (a region that could not be set up cancels what it started).
 */
#ifndef ASX_TESTS_TORTURE_PROGRAMS_H
#define ASX_TESTS_TORTURE_PROGRAMS_H

#include <asx/asx.h>

#include "harness.h"

enum { MESSAGES_MAX = 4096 };

typedef struct torture_tally {
    uint64_t sent, received, dropped, returned;
    uint64_t promised, kept;
    uint64_t refused;
    uint8_t message[MESSAGES_MAX]; /* 0: never sent, 1: on its way, 2: gone */
} torture_tally;

extern torture_tally tally;

/* What the operating system can be blamed for is accepted too. */
extern bool torture_system;

typedef struct torture_program {
    const char *name;
    asx_task_fn fn;
} torture_program;

/* In support_objects.c. */
asx_status torture_objects(asx_cx *cx, void *arg);

extern const torture_program torture_programs[];
extern const size_t torture_program_count;

/* One run: create, run, report, write the trace, shut down, destroy. Checks the accounts and what
 * is left in the runtime. The status of the run, or why there was no runtime. */
asx_status torture_run(const asx_runtime_config *config, const torture_program *program);

#endif
