/* test_serve.c - `asx serve` as a process of its own, asked over sockets: files and parts of them,
 * conditions, nothing from outside of the folder, and how it stops. */
#include "harness.h"
#include "support_cli.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 8 << 20 };

typedef struct served {
    pid_t pid;
    uint16_t port;
    const char *err_path, *log_path;
} served;

static void nap(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
    CHECK_EQ(nanosleep(&t, NULL), 0);
}

/* A folder with what the tests ask for; beside it lies a secret. */
static const char *make_site(void)
{
    const char *site = temp_path("site");
    char path[512];
    CHECK_EQ(mkdir(site, 0700), 0);
    snprintf(path, sizeof path, "%s/sub", site);
    CHECK_EQ(mkdir(path, 0700), 0);
    write_text(temp_path("secret"), "secret");
    write_text(temp_path("site/index.html"), "<h1>index</h1>\n");
    write_text(temp_path("site/sub/index.html"), "sub\n");
    write_text(temp_path("site/digits.txt"), "0123456789");
    write_text(temp_path("site/a b.css"), "body {}\n");
    write_text(temp_path("site/a.js"), "plain");
    write_text(temp_path("site/a.js.gz"), "gzipped");
    write_text(temp_path("site/a.js.br"), "brotli");
    write_text(temp_path("site/.hidden"), "hidden");
    CHECK_EQ(symlink("digits.txt", temp_path("site/inside")), 0);
    CHECK_EQ(symlink("../secret", temp_path("site/outside")), 0);
    CHECK_EQ(symlink("..", temp_path("site/up")), 0);
    CHECK_EQ(symlink(temp_path("secret"), temp_path("site/absolute")), 0);
    char *large = malloc(LARGE);
    CHECK(large != NULL);
    memset(large, 'x', LARGE);
    write_bytes(temp_path("site/large"), large, LARGE);
    free(large);
    return site;
}

static served start(const char *site, const char *workers)
{
    served s = { .err_path = temp_path("err"), .log_path = temp_path("log") };
    s.pid = fork();
    CHECK(s.pid >= 0);
    if (s.pid == 0) {
        char *argv[] = { (char[]){ "asx" }, (char[]){ "serve" }, (char *)(uintptr_t)site,
                         (char[]){ "--port" }, (char[]){ "0" }, (char[]){ "--workers" },
                         (char *)(uintptr_t)workers, NULL };
        if (freopen(s.err_path, "w", stderr) == NULL || freopen(s.log_path, "w", stdout) == NULL)
            _exit(99);
        setvbuf(stderr, NULL, _IONBF, 0);
        int code = cli_main(7, argv);
        fflush(NULL);
        _exit(code);
    }
    for (int i = 0; i < 1000 && s.port == 0; i++) {
        nap(10);
        FILE *file = fopen(s.err_path, "r");
        char line[600];
        if (file != NULL && fgets(line, sizeof line, file) != NULL && strchr(line, '\n') != NULL)
            s.port = (uint16_t)atoi(strrchr(line, ':') + 1);
        if (file != NULL)
            fclose(file);
    }
    CHECK(s.port != 0);
    return s;
}

/* Its exit code; what it said is in *ret_said, freed by the caller. */
static int ended(const served *s, char **ret_said)
{
    int status;
    size_t len;
    CHECK_EQ(waitpid(s->pid, &status, 0), s->pid);
    *ret_said = read_bytes(s->err_path, &len);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void stop(const served *s)
{
    char *words;
    CHECK_EQ(kill(s->pid, SIGTERM), 0);
    CHECK_EQ(ended(s, &words), 0);
    CHECK(strstr(words, ", 0 incomplete, 0 cancelled") != NULL);
    free(words);
}

static int connect_to(const served *s)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(s->port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    CHECK_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* Up to the end; bytes beyond `size` are counted only. */
static size_t hear(int fd, char *text, size_t size)
{
    static char rest[65536];
    size_t len = 0;
    ssize_t n;
    while ((n = len < size - 1 ? read(fd, text + len, size - 1 - len)
                               : read(fd, rest, sizeof rest)) > 0)
        len += (size_t)n;
    text[len < size ? len : size - 1] = '\0';
    close(fd);
    return len;
}

static void ask(const served *s, const char *line, const char *fields, char *text, size_t size)
{
    char request[1000];
    int fd = connect_to(s);
    snprintf(request, sizeof request, "%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n%s\r\n", line,
             fields);
    say(fd, request);
    (void)hear(fd, text, size);
}

static const struct {
    const char *line, *fields, *status, *has, *body;
} rows[] = {
    { "GET /", "", "200", "Content-Type: text/html; charset=utf-8\r\n", "<h1>index</h1>\n" },
    { "GET /sub/", "", "200", "Content-Length: 4\r\n", "sub\n" },
    { "GET /sub", "", "301", "Location: /sub/\r\n", NULL },
    { "GET /sub?a=b", "", "301", "Location: /sub/?a=b\r\n", NULL },
    { "GET //sub", "", "403", "", NULL }, /* or the location would be another host's */
    { "GET /a%20b.css", "", "200", "Content-Type: text/css", "body {}\n" },
    { "GET /nothing", "", "404", "", "404 Not Found\n" },
    { "GET /digits.txt/more", "", "404", "", NULL },
    { "GET /inside", "", "200", "", "0123456789" },
    { "HEAD /digits.txt", "", "200", "Content-Length: 10\r\n", "" },
    { "POST /digits.txt", "", "405", "Allow: GET, HEAD\r\n", NULL },
    { "GET /digits.txt", "Range: bytes=2-4\r\n", "206", "Content-Range: bytes 2-4/10\r\n", "234" },
    { "GET /digits.txt", "Range: bytes=7-\r\n", "206", "Content-Range: bytes 7-9/10\r\n", "789" },
    { "GET /digits.txt", "Range: bytes=-2\r\n", "206", "Content-Range: bytes 8-9/10\r\n", "89" },
    { "GET /digits.txt", "Range: bytes=8-99\r\n", "206", "Content-Range: bytes 8-9/10\r\n", "89" },
    { "GET /digits.txt", "Range: bytes=-99\r\n", "206", "", "0123456789" },
    { "GET /digits.txt", "Range: bytes=10-\r\n", "416", "Content-Range: bytes */10\r\n", NULL },
    { "GET /digits.txt", "Range: bytes=-0\r\n", "416", "", NULL },
    { "GET /digits.txt", "Range: bytes=4-2\r\n", "200", "", "0123456789" },
    { "GET /digits.txt", "Range: bytes=0-1,4-5\r\n", "200", "", "0123456789" },
    { "GET /digits.txt", "Range: lines=1-2\r\n", "200", "", "0123456789" },
    { "GET /digits.txt", "Range: bytes=1-1\r\nIf-Range: \"other\"\r\n", "200", "", "0123456789" },
    { "GET /digits.txt", "If-None-Match: *\r\n", "304", "ETag: ", "" },
    { "GET /digits.txt", "If-None-Match: \"other\"\r\n", "200", "", "0123456789" },
    { "GET /digits.txt", "If-Match: \"other\"\r\n", "412", "", NULL },
    { "GET /digits.txt", "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n", "304", "", "" },
    { "GET /digits.txt", "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n", "200", "",
      "0123456789" },
    { "GET /digits.txt", "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n", "412", "",
      NULL },
    { "GET /a.js", "", "200", "Vary: Accept-Encoding\r\n", "plain" },
    { "GET /a.js", "Accept-Encoding: gzip, deflate\r\n", "200", "Content-Encoding: gzip\r\n",
      "gzipped" },
    { "GET /a.js", "Accept-Encoding: gzip, br\r\n", "200", "Content-Encoding: br\r\n", "brotli" },
    { "GET /a.js", "Accept-Encoding: gzip;q=0\r\n", "200", "", "plain" },
    { "GET /a.js", "Accept-Encoding: gzipped\r\n", "200", "", "plain" },
};

static void check_rows(const char *workers)
{
    static char text[4000];
    served s = start(make_site(), workers);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ask(&s, rows[i].line, rows[i].fields, text, sizeof text);
        char *body = strstr(text, "\r\n\r\n");
        const char *expected = rows[i].body;
        bool same = strncmp(text, "HTTP/1.1 ", 9) == 0 &&
                    strncmp(text + 9, rows[i].status, 3) == 0 &&
                    strstr(text, rows[i].has) != NULL && body != NULL &&
                    (expected == NULL || strcmp(body + 4, expected) == 0);
        if (!same)
            asx_test_fail(__FILE__, __LINE__, "%s, %s: expected %s %s and %s, got\n%s",
                          rows[i].line, rows[i].fields, rows[i].status, rows[i].has,
                          expected != NULL ? expected : "any body", text);
    }
    stop(&s);
}

ASX_TEST(files_are_served_whole_in_parts_and_on_conditions)
{
    check_rows("1");
}

ASX_TEST(on_two_workers_too)
{
    check_rows("2");
}

ASX_TEST(nothing_from_outside_of_the_folder_is_served)
{
    static const char *const paths[] = {
        "/outside", "/up/secret", "/absolute", "/../secret", "/sub/../../secret", "/%2e%2e/secret",
        "/..%2fsecret", "/sub/..%2f..%2fsecret", "//../secret", "/./../secret", "/.hidden",
        "/sub/../.hidden", "/%2ehidden", "/%00", "/secret%00",
    };
    static char text[4000];
    char line[200];
    served s = start(make_site(), "1");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(line, sizeof line, "GET %s", paths[i]);
        ask(&s, line, "", text, sizeof text);
        CHECK(strncmp(text, "HTTP/1.1 40", 11) == 0);
        CHECK(strstr(text, "\r\n\r\nsecret") == NULL && strstr(text, "\r\n\r\nhidden") == NULL);
    }
    stop(&s);
}

ASX_TEST(a_tag_that_was_given_is_known_again)
{
    static char text[4000];
    char fields[300];
    served s = start(make_site(), "1");
    ask(&s, "GET /digits.txt", "", text, sizeof text);
    char *tag = strstr(text, "ETag: ");
    CHECK(tag != NULL);
    *strchr(tag, '\r') = '\0';
    snprintf(fields, sizeof fields, "If-None-Match: \"x\", W/%s\r\n", tag + 6);
    char one[sizeof fields];
    snprintf(one, sizeof one, "If-Range: %s\r\nRange: bytes=1-1\r\n", tag + 6);
    ask(&s, "GET /digits.txt", fields, text, sizeof text);
    CHECK(strncmp(text, "HTTP/1.1 304 ", 13) == 0);
    ask(&s, "GET /digits.txt", one, text, sizeof text);
    CHECK(strncmp(text, "HTTP/1.1 206 ", 13) == 0);
    stop(&s);
}

ASX_TEST(a_log_has_a_line_for_each_request)
{
    static char text[4000];
    size_t len;
    served s = start(make_site(), "1");
    ask(&s, "GET /digits.txt?q", "", text, sizeof text);
    ask(&s, "nonsense", "", text, sizeof text);
    stop(&s);
    char *log = read_bytes(s.log_path, &len);
    CHECK(strncmp(log, "127.0.0.1 - - [", 15) == 0);
    CHECK(strstr(log, "] \"GET /digits.txt?q HTTP/1.1\" 200 10\n") != NULL);
    CHECK(strstr(log, "] \"-\" 400 0\n") != NULL);
    free(log);
}

ASX_TEST(a_download_that_has_begun_is_finished_before_it_stops)
{
    static char text[1000];
    char *words;
    served s = start(make_site(), "1");
    int idle = connect_to(&s), busy = connect_to(&s);
    say(busy, "GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK_EQ(read(busy, text, 1), 1);
    CHECK_EQ(kill(s.pid, SIGINT), 0);
    CHECK_EQ(hear(idle, text, sizeof text), 0); /* at once */
    CHECK(hear(busy, text, sizeof text) > LARGE);
    CHECK_EQ(ended(&s, &words), 0);
    CHECK(strstr(words, "2 connections, at most 10 s; once more to stop at once\n") != NULL);
    CHECK(strstr(words, "2 connections, 1 requests, 0 refused, 0 incomplete, 0 cancelled") != NULL);
    free(words);
}

ASX_TEST(a_second_interrupt_stops_at_once_and_names_who_was_left)
{
    char byte, *words;
    served s = start(make_site(), "1");
    int busy = connect_to(&s);
    say(busy, "GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK_EQ(read(busy, &byte, 1), 1);
    nap(100);
    CHECK_EQ(kill(s.pid, SIGINT), 0);
    nap(100);
    CHECK_EQ(kill(s.pid, SIGINT), 0);
    CHECK_EQ(ended(&s, &words), 0);
    close(busy);
    CHECK(strstr(words, "asx: stopping at once: 1 connections\n") != NULL);
    CHECK(strstr(words, "asx: cancelled: GET /large from 127.0.0.1:") != NULL);
    CHECK(strstr(words, ", response\n") != NULL);
    CHECK(strstr(words, "1 incomplete, 1 cancelled") != NULL);
    free(words);
}

ASX_TEST(what_cannot_be_served_is_said)
{
    static const char *const calls[][3] = {
        { "serve", NULL }, { "serve", "/nonexistent/folder", NULL }, { "serve", "--port", NULL },
        { "serve", "--nonsense", NULL },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        said s = run_tool(calls[i][0], calls[i][1], calls[i][2], NULL);
        CHECK_EQ(s.code, CLI_USAGE);
        CHECK(strncmp(s.err, "asx: ", 5) == 0);
        said_deinit(&s);
    }
    said s = run_tool("serve", "/", "--port", "65536", NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    said_deinit(&s);
}
