/* see.h - what a live process does: who is there, what everyone waits for, and where.
 *
 * A dump is text: each runtime of the process, its regions, and every task that has not ended with
 * its name, the place it was spawned at, the path of its region, its phase, its execution state,
 * what it waits for, and its call chain. Function names come from the symbol tables of the program
 * and its libraries; where they have none, module and offset are left for addr2line.
 *
 * Dumps can be taken at any moment, also from a signal handler that has interrupted the runtime in
 * the middle of a change: memory is read through the system, which refuses where an access would
 * fault, every walk is bounded, and a task that ran while it was looked at is marked as such. What
 * a dump says of a task that does not run is right if the task's runtime is driven by the
 * interrupted thread, or sleeps; of others it is right unless it says otherwise, and may be
 * a mixture of before and after.
 */
#ifndef ASX_SEE_H
#define ASX_SEE_H

#include <asx/runtime.h>

ASX_BEGIN_DECLS

/* Writes the tasks of one runtime, or of all runtimes of the process, to a file descriptor, which
 * may be non-blocking. Any thread, inside and outside of tasks, and signal handlers: takes no
 * lock, allocates nothing, keeps errno. The runtime must not be destroyed meanwhile.
 *   ASX_E_INVALID_ARGUMENT    no runtime, no descriptor
 *   ASX_E_RESOURCE_EXHAUSTED  no memory to be mapped for the time of the dump
 *   ASX_E_SYSTEM              the descriptor refused a write: what was written is not all */
ASX_API asx_status asx_dump_tasks(const asx_runtime *runtime, int fd);
ASX_API asx_status asx_dump_all(int fd);

/* From now on the signal dumps all runtimes to `fd`, which is borrowed for as long as the handler
 * is there; -1: plain signals are ignored, and dumps are for the tool only. `asx stacks PID` finds
 * such a process by itself. Dumps of other threads' running tasks become possible too: they are
 * asked by the same signal. signo 0 gives the signal back to who had it. One signal at a time:
 * another one takes the place of the first. Outside of tasks or inside, any thread.
 *   ASX_E_INVALID_ARGUMENT    not a signal that can be caught
 *   ASX_E_RESOURCE_EXHAUSTED  no memory
 *   ASX_E_SYSTEM              the system refused the handler */
ASX_API asx_status asx_dump_on_signal(int signo, int fd);

ASX_END_DECLS

#endif
