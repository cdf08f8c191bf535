#include "cli/support_cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

static char folder[64];
static char *paths[64];
static size_t path_count;
static pid_t owner; /* children leave by exit() too, and must not remove what is ours */

static void clean_up(void)
{
    if (getpid() != owner)
        return;
    for (size_t i = 0; i < path_count; i++) {
        (void)remove(paths[i]);
        free(paths[i]);
    }
    if (folder[0] != '\0')
        (void)rmdir(folder);
    path_count = 0;
    folder[0] = '\0';
}

const char *temp_path(const char *name)
{
    if (folder[0] == '\0') {
        (void)snprintf(folder, sizeof(folder), "/tmp/asx-cli-XXXXXX");
        CHECK(mkdtemp(folder) != NULL);
        owner = getpid();
        CHECK(atexit(clean_up) == 0);
    }
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    for (size_t i = 0; i < path_count; i++) {
        if (strcmp(paths[i], path) == 0)
            return paths[i];
    }
    CHECK(path_count < sizeof(paths) / sizeof(paths[0]));
    paths[path_count] = strdup(path);
    CHECK(paths[path_count] != NULL);
    return paths[path_count++];
}

void write_bytes(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(bytes, 1, len, file) == len);
    CHECK(fclose(file) == 0);
}

void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

char *read_bytes(const char *path, size_t *ret_len)
{
    char *bytes = NULL;
    CHECK(cli_read_file(path, &bytes, ret_len));
    return bytes;
}

said run_tool(const char *first, ...)
{
    char *argv[16] = { (char *)"asx" };
    int argc = 1, status = 0;
    size_t len = 0;
    va_list args;
    va_start(args, first);
    for (const char *arg = first; arg != NULL && argc < 15; arg = va_arg(args, const char *))
        argv[argc++] = (char *)arg;
    va_end(args);
    const char *out = temp_path("stdout"), *err = temp_path("stderr");
    (void)fflush(stdout);
    (void)fflush(stderr);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (freopen(out, "wb", stdout) == NULL || freopen(err, "wb", stderr) == NULL)
            _exit(99);
        int code = cli_main(argc, argv);
        (void)fflush(stdout);
        (void)fflush(stderr);
        exit(code); /* not _exit: leak checkers and gcov want their turn */
    }
    while (waitpid(child, &status, 0) < 0)
        CHECK(errno == EINTR);
    said s = { .code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status) };
    s.out = read_bytes(out, &s.out_len);
    s.err = read_bytes(err, &len);
    return s;
}

void said_deinit(said *s)
{
    free(s->out);
    free(s->err);
}
