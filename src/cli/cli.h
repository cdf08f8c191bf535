/* cli.h - the `asx` tool: commands and what they share.
 *
 * Results go to stdout, everything else to stderr. Exit codes: 0 it is as it should be, 1 it is
 * not (a fixture failed, a replay diverged, a check of this machine failed, a loop was flagged),
 * 2 the command line or an input is wrong.
 */
#ifndef ASX_CLI_CLI_H
#define ASX_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/scn.h"

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* main() without the process: argv[0] is the tool's name. */
int cli_main(int argc, char **argv);

int cli_conformance(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_replay(int argc, char **argv);
int cli_digest(int argc, char **argv);
int cli_trace(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_lint(int argc, char **argv);
int cli_stacks(int argc, char **argv);
int cli_explore(int argc, char **argv);
int cli_serve(int argc, char **argv);

/* Opens a trace, or the trace in a crash pack; the caller frees the bytes. False: said why. */
bool cli_open_trace(const char *path, char **ret_bytes, asx_trace_reader *ret_reader);
/* The value of a line of the head of a crash pack, malloc'd; NULL: no such line, or none that
 * ends. */
char *cli_pack_value(const char *text, const char *word);
/* Runs a recorded scenario again. */
int cli_replay_trace(const char *path);

/* "asx: message" to stderr; returns CLI_USAGE. */
int cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The whole file, terminated by a NUL that is not counted. The caller frees it. False: said why. */
bool cli_read_file(const char *path, char **ret_text, size_t *ret_len);
/* The value of `--name VALUE`; NULL (and said why) when it is missing. Moves *i. */
const char *cli_option_value(int argc, char **argv, int *i);
bool cli_option_number(int argc, char **argv, int *i, uint64_t *ret_number);

/* ---- what is compiled in ---- */

typedef struct cli_file {
    const char *name;
    const unsigned char *bytes;
    size_t len;
} cli_file;
/* Made by cmake/embed.cmake from tests/conformance, and the gdb script. The last has no name. */
extern const cli_file cli_files[];
/* The script as a file that gdb inherits, and the command that loads it. The caller closes it; -1:
 * there is none. */
int cli_gdb_script(char *command, size_t size);

/* A fixture in C, in tests/conformance. */
typedef struct cli_c_fixture {
    const char *ids;       /* separated by spaces */
    const char *file;
    void (*run)(void);     /* returns, or calls cli_fixture_fail() */
    const char *skip;      /* not NULL: why it cannot be run */
    const char *one_worker; /* not NULL: why it has nothing to do with several workers */
    struct cli_c_fixture *next;
} cli_c_fixture;
void cli_fixture_register(cli_c_fixture *fixture);
/* How many workers the runtimes of the running fixture are to have; 0: one. */
uint32_t cli_fixture_workers(void);
/* Ends the running fixture as failed. */
_Noreturn void cli_fixture_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Finds loops of a C source that cannot be cancelled: in a function that takes an asx_cx pointer,
 * a loop in which that pointer is not handed on. Calls `found` for each; returns how many. */
size_t cli_lint_text(const char *text, size_t len,
                     void (*found)(void *ctx, unsigned line, const char *function), void *ctx);

#endif
