/* stacks.c - `asx stacks PID`: every task of a live process, with its call chain.
 *
 * A process that called asx_dump_on_signal() keeps a file in memory open whose name and first bytes
 * tell which signal to send; the dump arrives behind them, and a number counts up when it is whole.
 * Tools that ask the same process at once take turns by a lock on that file. A process without is
 * looked at by gdb, where gdb is there and may attach; the script is compiled into the tool.
 */
#include "cli/cli.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "see/see.h"

typedef struct request {
    pid_t pid;
    uint64_t timeout_s;
    bool by_gdb;
} request;

/* ---- by its own handler --------------------------------------------------------------------- */

/* Opens the process' dump file. -1: there is none. */
static int open_dump_file(pid_t pid)
{
    static const char begin[] = "/memfd:" ASX__DUMP_FILE " ";
    char path[64], target[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *folder = opendir(path);
    int fd = -1;
    if (folder == NULL)
        return -1;
    for (struct dirent *e; fd < 0 && (e = readdir(folder)) != NULL;) {
        ssize_t len = readlinkat(dirfd(folder), e->d_name, target, sizeof target - 1);
        if (len < (ssize_t)sizeof begin - 1 || memcmp(target, begin, sizeof begin - 1) != 0)
            continue;
        fd = openat(dirfd(folder), e->d_name, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            fd = openat(dirfd(folder), e->d_name, O_RDONLY | O_CLOEXEC);
    }
    (void)closedir(folder);
    return fd;
}

static bool read_header(int fd, asx__dump_header *header)
{
    return pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header &&
           header->magic == ASX__DUMP_MAGIC && header->header_size == sizeof *header &&
           header->signo > 0 && header->signo <= SIGRTMAX;
}

static bool wait_for_dump(int fd, uint64_t before, uint64_t timeout_s, asx__dump_header *header)
{
    struct timespec pause = { 0, 2000000 };
    for (uint64_t i = 0; i < timeout_s * 500; i++) {
        if (read_header(fd, header) && header->sequence != before)
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

static void print_dump(int fd, const asx__dump_header *header)
{
    char text[4096];
    uint64_t done = 0;
    while (done < header->length) {
        uint64_t left = header->length - done;
        ssize_t len = pread(fd, text, left < sizeof text ? left : sizeof text,
                            (off_t)(header->header_size + done));
        if (len <= 0)
            break;
        (void)fwrite(text, 1, (size_t)len, stdout);
        done += (uint64_t)len;
    }
    /* Gives the memory back; a tool that may only read cannot, and the next dump overwrites it. */
    int failed = ftruncate(fd, (off_t)header->header_size);
    (void)failed;
}

static int ask(const request *r, int fd)
{
    asx__dump_header header;
    union sigval value = { .sival_int = ASX__DUMP_VALUE };
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR)
        continue;
    if (!read_header(fd, &header)) {
        (void)cli_error("process %ld has given its dump signal back", (long)r->pid);
        return CLI_FAILED;
    }
    uint64_t before = header.sequence;
    if (sigqueue(r->pid, header.signo, value) != 0) {
        (void)cli_error("process %ld: %s", (long)r->pid, strerror(errno));
        return CLI_FAILED;
    }
    if (!wait_for_dump(fd, before, r->timeout_s, &header)) {
        (void)cli_error("process %ld does not answer: it is stopped, or all of its threads block "
                        "signal %d; try --gdb", (long)r->pid, (int)header.signo);
        return CLI_FAILED;
    }
    print_dump(fd, &header);
    return CLI_OK;
}

/* ---- by gdb --------------------------------------------------------------------------------- */

int cli_gdb_script(char *command, size_t size)
{
    for (const cli_file *f = cli_files; f->name != NULL; f++) {
        if (strcmp(f->name, "asx-gdb.py") != 0)
            continue;
        int fd = memfd_create("asx-gdb.py", 0);
        if (fd >= 0 && write(fd, f->bytes, f->len) == (ssize_t)f->len) {
            (void)snprintf(command, size, "python exec(open('/proc/self/fd/%d').read())", fd);
            return fd;
        }
        if (fd >= 0)
            (void)close(fd);
    }
    return -1;
}

static void become_gdb(pid_t pid, const char *load, int out)
{
    char process[32];
    (void)snprintf(process, sizeof process, "%ld", (long)pid);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(out, STDERR_FILENO);
    (void)setenv("DEBUGINFOD_URLS", "", 1);
    execlp("gdb", "gdb", "-nx", "-batch", "-p", process, "-ex", load, "-ex", "asx stacks",
           (char *)NULL);
    _exit(127);
}

/* Prints what gdb said of tasks; if it said nothing of them, all of it to stderr. */
static int judge(char *text, pid_t pid)
{
    char *begin = strstr(text, " runtime");
    if (begin == NULL) {
        (void)fputs(text, stderr);
        (void)cli_error("gdb could not look at process %ld", (long)pid);
        return CLI_FAILED;
    }
    while (begin > text && begin[-1] != '\n')
        begin--;
    (void)fputs(begin, stdout);
    return CLI_OK;
}

/* All that comes out of a pipe; the caller frees it. NULL: no memory. */
static char *read_all(int fd)
{
    char *text = NULL, piece[4096];
    size_t len = 0;
    FILE *memory = open_memstream(&text, &len);
    if (memory == NULL)
        return NULL;
    for (ssize_t n; (n = read(fd, piece, sizeof piece)) != 0;) {
        if (n < 0 && errno != EINTR)
            break;
        if (n > 0)
            (void)fwrite(piece, 1, (size_t)n, memory);
    }
    if (fclose(memory) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int ask_gdb(const request *r)
{
    char load[128];
    int out[2], script = cli_gdb_script(load, sizeof load), status = 0;
    if (script < 0 || pipe2(out, O_CLOEXEC) != 0) {
        (void)cli_error("cannot start gdb: %s", strerror(errno));
        return CLI_FAILED;
    }
    pid_t child = fork();
    if (child == 0)
        become_gdb(r->pid, load, out[1]);
    (void)close(out[1]);
    (void)close(script);
    char *text = read_all(out[0]);
    (void)close(out[0]);
    if (child > 0)
        (void)waitpid(child, &status, 0);
    int code = CLI_FAILED;
    if (child < 0 || text == NULL || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
        (void)cli_error("there is no gdb to look at process %ld with", (long)r->pid);
    else
        code = judge(text, r->pid);
    free(text);
    return code;
}

/* ---- the command ---------------------------------------------------------------------------- */

static bool parse(int argc, char **argv, request *r)
{
    const char *pid = NULL;
    *r = (request){ .timeout_s = 5 };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--gdb") == 0) {
            r->by_gdb = true;
        } else if (strcmp(argv[i], "--timeout") == 0) {
            if (!cli_option_number(argc, argv, &i, &r->timeout_s))
                return false;
        } else if (argv[i][0] == '-' || pid != NULL) {
            (void)cli_error("stacks: '%s' is not expected", argv[i]);
            return false;
        } else {
            pid = argv[i];
        }
    }
    if (pid == NULL) {
        (void)cli_error("stacks: which process?");
        return false;
    }
    char *end = NULL;
    long number = isdigit((unsigned char)*pid) ? strtol(pid, &end, 10) : 0;
    if (number <= 0 || number > INT32_MAX || *end != '\0') {
        (void)cli_error("stacks: '%s' is not the number of a process", pid);
        return false;
    }
    if (r->timeout_s == 0 || r->timeout_s > 3600) {
        (void)cli_error("stacks: a time-out of 1 to 3600 seconds");
        return false;
    }
    r->pid = (pid_t)number;
    return true;
}

int cli_stacks(int argc, char **argv)
{
    request r;
    if (!parse(argc, argv, &r))
        return CLI_USAGE;
    if (kill(r.pid, 0) != 0) {
        (void)cli_error("process %ld: %s", (long)r.pid, strerror(errno));
        return CLI_FAILED;
    }
    int fd = r.by_gdb ? -1 : open_dump_file(r.pid);
    if (fd >= 0) {
        int code = ask(&r, fd);
        (void)close(fd);
        return code;
    }
    if (!r.by_gdb)
        (void)cli_error("process %ld has not called asx_dump_on_signal(), or is somebody else's; "
                        "trying gdb", (long)r.pid);
    return ask_gdb(&r);
}
