/* process.h - signals and child processes, as things of a region.
 *
 * Neither touches what is the host's: no handler is installed, SIGCHLD is nobody's here (children
 * are waited for by descriptors of their own), and nothing happens to signals that are not asked
 * for.
 */
#ifndef ASX_PROCESS_H
#define ASX_PROCESS_H

#include <asx/io.h>

ASX_BEGIN_DECLS

/* ---- signals -------------------------------------------------------------------------------- */

typedef struct asx_signals {
    void *file_;
    uint64_t generation_;
} asx_signals;

/* A signal that has come. */
typedef struct asx_signal_note {
    int signal;
    int32_t pid;   /* who has sent it; 0: the system */
    uint32_t uid;
    int32_t value; /* of sigqueue() */
} asx_signal_note;

/* From now on these signals of the process are read with asx_signals_wait(). They have to be
 * blocked in every thread of the process, else the system gives them to one where they are not.
 * With one worker this call blocks them in the thread that runs the runtime, and their close ends
 * that. With several the host has blocked them before it made the runtime, and other threads: else
 * ASX_E_NOT_SUPPORTED. `signals` is borrowed until the call returns.
 *   ASX_E_INVALID_ARGUMENT  none, SIGKILL, SIGSTOP, or no signal
 *   ASX_E_CAPABILITY (IO), ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED, ASX_E_DESCRIPTORS,
 *   ASX_E_RESOURCE_EXHAUSTED */
ASX_API asx_status asx_signals_open(asx_cx *cx, const asx_region *region, const int *signals,
                                    size_t count, asx_signals *ret_signals);
/* Waits for one of them. ASX_E_STALE_HANDLE, ASX_E_CLOSED, ASX_E_CAPABILITY (IO). */
ASX_API asx_status asx_signals_wait(asx_cx *cx, const asx_signals *signals,
                                    asx_signal_note *ret_note);
/* They are the host's again: one that is pending is delivered. */
ASX_API asx_status asx_signals_close(asx_cx *cx, const asx_signals *signals);

/* ---- children ------------------------------------------------------------------------------- */

typedef struct asx_child {
    void *file_;
    uint64_t generation_;
} asx_child;

/* What the child has for input, output and errors. */
typedef enum asx_child_stdio {
    ASX_CHILD_INHERIT = 0, /* what the host has */
    ASX_CHILD_NULL = 1,    /* nothing: /dev/null */
    ASX_CHILD_PIPE = 2,    /* a pipe, whose other end is a stream */
    ASX_CHILD_OUTPUT = 3   /* for errors: what it has for output */
} asx_child_stdio;

/* Zero in any field means its default. */
typedef struct asx_child_options {
    const char *name;                /* borrowed until the child is closed; NULL: "" */
    const char *const *environment;  /* NULL: the host's */
    const char *directory;           /* to begin in; NULL: the host's */
    asx_child_stdio input, output, errors;
    bool own_group;                  /* a process group of its own */
} asx_child_options;

/* The host's ends of what was to be a pipe; the others name nothing. */
typedef struct asx_child_streams {
    asx_stream input, output, errors;
} asx_child_streams;

/* Starts a program, argv[0], looked for in PATH, with these arguments, of which the last is NULL.
 * It belongs to the region: one that still runs when that closes is killed (SIGKILL), and is gone
 * when the region is closed. So a task that wants it to end by itself waits for that. Its streams
 * live in the region, too. Starting takes about a millisecond, in which the worker does nothing
 * else. All is borrowed until the call returns, but for the name. `ret_streams`
 * may be NULL if there is no pipe.
 *   ASX_E_NOT_FOUND    no such program or directory
 *   ASX_E_PERMISSION, ASX_E_DESCRIPTORS, ASX_E_RESOURCE_EXHAUSTED, ASX_E_SYSTEM
 *   ASX_E_CAPABILITY (IO), ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED, ASX_E_INVALID_ARGUMENT */
ASX_API asx_status asx_child_start(asx_cx *cx, const asx_region *region, const char *const *argv,
                                   const asx_child_options *options, asx_child *ret_child,
                                   asx_child_streams *ret_streams);

/* How it has ended. */
typedef struct asx_child_end {
    int code;   /* of exit; -1: by a signal, or somebody else has waited for it */
    int signal; /* that has killed it; 0: none, or nobody knows */
} asx_child_end;
/* Waits until it has ended; any number of tasks may. ASX_E_STALE_HANDLE, ASX_E_CLOSED. */
ASX_API asx_status asx_child_wait(asx_cx *cx, const asx_child *child, asx_child_end *ret_end);
/* Sends it a signal. ASX_E_NOT_FOUND: it has ended. ASX_E_INVALID_ARGUMENT: no signal. */
ASX_API asx_status asx_child_signal(asx_cx *cx, const asx_child *child, int signal);
/* Its number; never another process's as long as the child is not closed. */
ASX_API asx_status asx_child_pid(asx_cx *cx, const asx_child *child, int32_t *ret_pid);
/* Kills it if it runs, and forgets it. On a fiber it is gone when the call returns. */
ASX_API asx_status asx_child_close(asx_cx *cx, const asx_child *child);

ASX_END_DECLS

#endif
