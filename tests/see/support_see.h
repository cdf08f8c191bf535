/* support_see.h - a small program that waits in every way, and what catches its dumps. */
#ifndef ASX_TESTS_SEE_H
#define ASX_TESTS_SEE_H

#include <asx/asx.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "harness.h"

#define HAS(text_, part_)                                                                          \
    (strstr((text_), (part_)) != NULL                                                              \
         ? (void)0                                                                                 \
         : asx_test_fail(__FILE__, __LINE__, "\"%s\" is not in: %.4000s", (part_), (text_)))

#if defined(__x86_64__) || defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64)
#define SEE_CHAINS 1
#else
#define SEE_CHAINS 0
#endif

/* Between a call and a return: the function stays in the chain meanwhile. */
#define SEE_NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

/* In a loop: TSan hands signals over late, with the registers of another moment, unless they come
 * while it knows that the thread waits. */
#if ASX_TEST_TSAN
#define SEE_SIGNALS_HERE() ((void)usleep(100))
#else
#define SEE_SIGNALS_HERE() ((void)0)
#endif

/* A file that dumps are written to, and its whole text. */
int see_file(void);
const char *see_text(int fd);

/* A path below the top of the source tree. */
const char *see_tree(const char *path);

/* The part of a dump that speaks of one task: its line and its call chain. */
const char *see_task(const char *text, const char *name);

/* Fails unless the task's chain has these functions, innermost first. */
void see_chain(const char *text, const char *name, const char *const *functions);

/* Opens region "hall" and fills it: "taker" waits in a receive, "sleeper" in a sleep, "joiner" for
 * "sleeper", "poller" is a poll task that waits in a receive, "fresh" has not run. Calls
 * `look(cx, arg)`, then cancels everything. */
asx_status see_hall(asx_cx *cx, asx_status (*look)(asx_cx *cx, void *arg), void *arg);

#endif
