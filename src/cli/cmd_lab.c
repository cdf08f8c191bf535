/* cmd_lab.c - `asx explore` and `asx replay`: lab test programs, which have a main of their own,
 * and the crash packs that they write (src/lab/main/pack.c has the format). */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/main/pack.h"

/* What a terminal sends goes to the program too, which ends in its own way, or is debugged. */
typedef struct signals {
    struct sigaction interrupt, quit;
} signals;

static void ignore_signals(signals *ret_before)
{
    struct sigaction ignore;
    memset(&ignore, 0, sizeof(ignore));
    ignore.sa_handler = SIG_IGN;
    (void)sigaction(SIGINT, &ignore, &ret_before->interrupt);
    (void)sigaction(SIGQUIT, &ignore, &ret_before->quit);
}

static void restore_signals(const signals *before)
{
    (void)sigaction(SIGINT, &before->interrupt, NULL);
    (void)sigaction(SIGQUIT, &before->quit, NULL);
}

static void be_program(char *const *argv, int answer)
{
    char number[16];
    (void)snprintf(number, sizeof(number), "%d", answer);
    if (answer >= 0)
        (void)setenv(ASX__LAB_ANSWER, number, 1);
    (void)execvp(argv[0], argv);
    (void)fprintf(stderr, "asx: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* Runs a program with our standard streams; its exit code, CLI_FAILED if a signal has ended it, as
 * that of a test does, or CLI_USAGE if it could not be run. `answer` is -1, or where it is to say
 * that it is a lab test program. */
static int run_program(char *const *argv, int answer)
{
    int state = 0;
    signals before;
    (void)fflush(stdout);
    ignore_signals(&before);
    pid_t child = fork();
    if (child == 0) {
        restore_signals(&before);
        be_program(argv, answer);
    }
    pid_t ended = child;
    do
        ended = child > 0 ? waitpid(child, &state, 0) : child;
    while (child > 0 && ended < 0 && errno == EINTR);
    int error = errno;
    restore_signals(&before);
    if (ended < 0)
        return cli_error("%s: %s", argv[0], strerror(error));
    if (WIFSIGNALED(state)) {
        (void)cli_error("%s: %s", argv[0], strsignal(WTERMSIG(state)));
        return CLI_FAILED;
    }
    return WEXITSTATUS(state) == 127 ? CLI_USAGE : WEXITSTATUS(state);
}

/* A program that does not know what is asked of it may well end with success. */
static int run_lab_program(char *const *argv)
{
    int ends[2];
    char answer = 0;
    if (pipe(ends) != 0)
        return cli_error("%s: %s", argv[0], strerror(errno));
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK); /* whatever inherited the other end may live on */
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    int code = run_program(argv, ends[1]);
    (void)close(ends[1]);
    bool answered = read(ends[0], &answer, 1) == 1;
    (void)close(ends[0]);
    if (!answered && code != CLI_USAGE)
        return cli_error("%s: is no lab test program; link it with asx_lab_main", argv[0]);
    return code;
}

/* Where the program stands: at first, or behind options, and then it is the first that can be run.
 * 0: nowhere. */
static int find_program(int argc, char **argv)
{
    struct stat st;
    if (argc < 2 || argv[1][0] != '-')
        return argc < 2 ? 0 : 1;
    for (int i = 2; i < argc; i++)
        if (argv[i][0] != '-' && access(argv[i], X_OK) == 0 && stat(argv[i], &st) == 0 &&
            S_ISREG(st.st_mode))
            return i;
    return 0;
}

static bool asks_for_help(int argc, char **argv)
{
    return argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
}

#define EXPLORE_USAGE "usage: asx explore PROGRAM [OPTION ...] [TEST ...]"
#define REPLAY_USAGE "usage: asx replay TRACE | asx replay PACK [--gdb]"

int cli_explore(int argc, char **argv)
{
    int program = find_program(argc, argv);
    if (asks_for_help(argc, argv)) {
        (void)puts(EXPLORE_USAGE "\nThe options are those of the program: PROGRAM --help");
        return CLI_OK;
    }
    if (program == 0)
        return cli_error(EXPLORE_USAGE);
    char **list = calloc((size_t)argc + 1, sizeof(*list));
    char explore[] = "--explore";
    if (list == NULL)
        return cli_error("out of memory");
    list[0] = argv[program];
    list[1] = explore;
    for (int i = 1, to = 2; i < argc; i++)
        if (i != program)
            list[to++] = argv[i];
    int code = run_lab_program(list);
    free(list);
    return code;
}

/* ---- replay ---- */

char *cli_pack_value(const char *text, const char *word)
{
    size_t len = strlen(word);
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
        if (strncmp(text, word, len) == 0 && text[len] == ' ')
            return strndup(text + len + 1, (size_t)(end - text) - len - 1);
    return NULL;
}

/* Stopped where it fails, with the commands that show tasks, the frames of the program before those
 * of the library. The tasks of a deadlock stand elsewhere: all are shown. */
static int debug_pack(char *path, char *program, bool stuck)
{
    char load[128];
    int script = cli_gdb_script(load, sizeof(load));
    char *where = script < 0 ? "backtrace" : stuck ? "asx stacks user" : "asx failed";
    char *argv[] = { "gdb", "-q", "-nx", "-ex", "set pagination off", "-ex",
                     "set breakpoint pending on", "-ex", script >= 0 ? load : "set confirm on",
                     "-ex", "break asx_lab_failed_here", "-ex", "run", "-ex", where, "--args",
                     program, "--replay", path, "--same", NULL };
    if (!isatty(STDIN_FILENO))
        argv[2] = "-batch"; /* there is no terminal: show where it fails, and go */
    int code = run_program(argv, -1);
    if (script >= 0)
        (void)close(script);
    return code;
}

static int replay_pack(char *path, char *program, const char *text, bool gdb)
{
    char *plain[] = { program, "--replay", path, "--same", NULL };
    if (!gdb)
        return run_lab_program(plain);
    char *verdict = cli_pack_value(text, "verdict");
    bool stuck = verdict != NULL &&
                 (strcmp(verdict, "deadlock") == 0 || strcmp(verdict, "too long") == 0);
    free(verdict);
    return debug_pack(path, program, stuck);
}

int cli_replay(int argc, char **argv)
{
    bool first = argc == 3 && strcmp(argv[1], "--gdb") == 0;
    bool gdb = first || (argc == 3 && strcmp(argv[2], "--gdb") == 0);
    char *text = NULL, *path = argv[1 + first];
    size_t len = 0;
    if (asks_for_help(argc, argv)) {
        (void)puts(REPLAY_USAGE);
        return CLI_OK;
    }
    if (argc != 2 + gdb)
        return cli_error(REPLAY_USAGE);
    if (!cli_read_file(path, &text, &len))
        return CLI_USAGE;
    bool pack = strncmp(text, ASX__PACK_HEAD, ASX__PACK_HEAD_LEN) == 0;
    char *program = pack ? cli_pack_value(text, "program") : NULL;
    int code;
    if (pack && program == NULL)
        code = cli_error("%s: names no program", path);
    else if (pack)
        code = replay_pack(path, program, text, gdb);
    else if (gdb)
        code = cli_error("%s: is not a crash pack, there is nothing to debug", path);
    else
        code = cli_replay_trace(path);
    free(program);
    free(text);
    return code;
}
