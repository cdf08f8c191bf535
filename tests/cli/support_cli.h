/* support_cli.h - runs a command of the tool in a child process and keeps what it said. */
#ifndef ASX_TESTS_CLI_SUPPORT_CLI_H
#define ASX_TESTS_CLI_SUPPORT_CLI_H

#include <stddef.h>

#include "cli/cli.h"

typedef struct said {
    int code;   /* exit code, or minus the signal */
    char *out;  /* stdout, terminated; freed by said_deinit() */
    char *err;
    size_t out_len;
} said;

/* The arguments behind the tool's name; the last one is NULL. */
said run_tool(const char *first, ...) __attribute__((sentinel));
void said_deinit(said *s);

/* A path in a folder of this test process, removed at its exit. The string lives until then. */
const char *temp_path(const char *name);
void write_text(const char *path, const char *text);
void write_bytes(const char *path, const void *bytes, size_t len);
char *read_bytes(const char *path, size_t *ret_len);

#endif
