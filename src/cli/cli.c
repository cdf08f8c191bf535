/* cli.c - commands of the tool, and what they share. */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <asx/asx.h>

#include "base/streams.h"

static const char help_text[] =
    "usage: asx COMMAND ...\n"
    "\n"
    "  conformance [--filter G] [--json] [--dir DIR] [--show ID] [--timeout S]\n"
    "              [--workers N]\n"
    "        run one fixture for every identifier of the specification\n"
    "  run FILE [--seed N] [--trace OUT] [--scenario ID] [--vehicle fiber|poll]\n"
    "        run a scenario and record it\n"
    "  explore PROGRAM [OPTION ...] [TEST ...]\n"
    "        search the schedules of lab tests for one that fails (PROGRAM --help)\n"
    "  replay TRACE | replay PACK [--gdb]\n"
    "        run a recorded scenario, or the failure of a crash pack, again\n"
    "  digest TRACE\n"
    "        print the digest of a recorded run\n"
    "  trace show TRACE, trace check TRACE\n"
    "        print the events of a recorded run; ask the oracles of the laboratory\n"
    "  trace foata TRACE, trace diff TRACE TRACE\n"
    "        events in layers of what commutes; compare two runs in this form\n"
    "  lint FILE...\n"
    "        flag loops of tasks that cannot be cancelled\n"
    "  stacks PID [--gdb] [--timeout S]\n"
    "        print every task of a live process, what it waits for, and where\n"
    "  serve DIR [--port P] [--host ADDRESS] [--workers N] [--grace SECONDS] [--quiet]\n"
    "        serve the files of a folder over HTTP until it is interrupted\n"
    "  doctor\n"
    "        say what this machine and this build offer, and check it\n"
    "  help, --help, --version\n"
    "\n"
    "Exit codes: 0 as it should be, 1 not so, 2 wrong usage or bad input.\n"
    "Scenarios are described in docs/scenarios.md.\n";

int cli_error(const char *format, ...)
{
    va_list args;
    (void)fflush(stdout);
    (void)fputs("asx: ", stderr);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return CLI_USAGE;
}

bool cli_read_file(const char *path, char **ret_text, size_t *ret_len)
{
    enum { CHUNK = 65536 };
    const size_t max = (size_t)1 << 30;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)cli_error("%s: %s", path, strerror(errno));
        return false;
    }
    char *text = NULL;
    size_t len = 0, cap = 0, n = 1;
    while (n > 0) {
        if (cap - len < CHUNK + 1) {
            cap = cap * 2 + CHUNK + 1;
            char *larger = cap > max ? NULL : realloc(text, cap);
            if (larger == NULL) {
                (void)cli_error("%s: too large", path);
                free(text);
                (void)fclose(file);
                return false;
            }
            text = larger;
        }
        n = fread(text + len, 1, CHUNK, file);
        len += n;
    }
    bool failed = ferror(file) != 0;
    if (failed)
        (void)cli_error("%s: %s", path, strerror(errno));
    (void)fclose(file);
    if (failed) {
        free(text);
        return false;
    }
    text[len] = '\0';
    *ret_text = text;
    *ret_len = len;
    return true;
}

const char *cli_option_value(int argc, char **argv, int *i)
{
    if (*i + 1 >= argc) {
        (void)cli_error("%s needs a value", argv[*i]);
        return NULL;
    }
    return argv[++*i];
}

bool cli_option_number(int argc, char **argv, int *i, uint64_t *ret_number)
{
    const char *name = argv[*i];
    const char *text = cli_option_value(argc, argv, i);
    char *end = NULL;
    if (text == NULL)
        return false;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 0);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0) {
        (void)cli_error("%s: '%s' is not a number", name, text);
        return false;
    }
    *ret_number = n;
    return true;
}

static int help(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)fputs(help_text, stdout);
    return CLI_OK;
}

static int version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)printf("asx %d.%d.%d\n", ASX_VERSION_MAJOR, ASX_VERSION_MINOR, ASX_VERSION_PATCH);
    return CLI_OK;
}

int cli_main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = {
        { "conformance", cli_conformance },
        { "run", cli_run },
        { "explore", cli_explore },
        { "replay", cli_replay },
        { "digest", cli_digest },
        { "trace", cli_trace },
        { "lint", cli_lint },
        { "stacks", cli_stacks },
        { "serve", cli_serve },
        { "doctor", cli_doctor },
        { "help", help },
        { "--help", help },
        { "-h", help },
        { "version", version },
        { "--version", version },
    };
    if (argc < 2)
        return cli_error("no command; try 'asx help'");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        int code = commands[i].run(argc - 1, argv + 1);
        if (!asx__streams_end())
            return cli_error("cannot write the result: %s", strerror(errno));
        return code;
    }
    return cli_error("'%s' is not a command; try 'asx help'", argv[1]);
}
