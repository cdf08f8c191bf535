/* cmd_serve.c - `asx serve`: a static file server until SIGINT or SIGTERM. The first one stops it
 * gracefully, a second one at once; what was still running is named. */
#include "cli/cli.h"

#include "cli/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

typedef struct serve_command {
    const char *folder, *host;
    uint64_t port, workers, grace_s;
    bool quiet;
    int code;
    int signals;          /* a descriptor; -1: it is the stream's now */
    asx_stream wishes;    /* to be stopped */
    serve_site site;
    asx_http_server server;
} serve_command;

/* ---- the access log ------------------------------------------------------------------------- */

/* As others write it, so that others read it. One call, so one line. */
static void write_entry(void *arg, const asx_http_entry *entry)
{
    char peer[ASX_ADDRESS_TEXT_MAX], now[ASX_HTTP_DATE_MAX];
    const asx_http1_head *head = entry->head;
    (void)arg;
    (void)asx_address_text(entry->peer, peer, sizeof(peer));
    (void)asx_http_date_text((uint64_t)time(NULL), now);
    char *colon = strrchr(peer, ':');
    if (colon != NULL)
        *colon = '\0';
    if (head == NULL)
        (void)printf("%s - - [%s] \"-\" %u 0%s\n", peer, now, entry->status,
                     entry->end < 0 ? " incomplete" : "");
    else
        (void)printf("%s - - [%s] \"%.*s %.*s HTTP/1.%u\" %u %" PRIu64 "%s\n", peer, now,
                     (int)head->method.len, head->method.at, (int)head->target.len,
                     head->target.at, (unsigned)head->minor, entry->status, entry->sent,
                     entry->end < 0 ? " incomplete" : "");
}

/* ---- stopping ------------------------------------------------------------------------------- */

static asx_status hear_signals(asx_cx *cx, void *arg)
{
    serve_command *c = arg;
    struct signalfd_siginfo info;
    asx_http_server_info now;
    size_t n;
    for (uint64_t budget_ns = c->grace_s * ASX_SEC;; budget_ns = 0) {
        asx_status st = asx_stream_read(cx, &c->wishes, &info, sizeof(info), &n);
        if (st == ASX_E_CLOSED || st == ASX_E_STALE_HANDLE)
            return ASX_OK; /* it has stopped: during the read, or on the other worker before it */
        if (st < 0)
            return st;
        (void)asx_http_server_get_info(&c->server, &now);
        (void)fprintf(stderr, budget_ns > 0
                                  ? "asx: stopping: %" PRIu32 " connections, at most %" PRIu64
                                    " s; once more to stop at once\n"
                                  : "asx: stopping at once: %" PRIu32 " connections\n",
                      now.connections, c->grace_s);
        (void)asx_http_server_stop(cx, &c->server, budget_ns);
    }
}

static void tell_how_it_was(const serve_command *c)
{
    asx_http_server_info info;
    (void)asx_http_server_get_info(&c->server, &info);
    for (uint32_t i = 0; i < info.late; i++) {
        const char *late = asx_http_server_late(&c->server, i);
        if (late != NULL)
            (void)fprintf(stderr, "asx: cancelled: %s\n", late);
    }
    (void)fprintf(stderr,
                  "asx: stopped: %" PRIu64 " connections, %" PRIu64 " requests, %" PRIu64
                  " refused, %" PRIu64 " incomplete, %" PRIu32 " cancelled\n",
                  info.accepted, info.requests, info.refused, info.failed, info.late);
}

/* ---- the program ---------------------------------------------------------------------------- */

static int say_why(const char *what, asx_status st)
{
    return cli_error("%s: %s", what, asx_status_hint(st));
}

static asx_status set_up(asx_cx *cx, serve_command *c, const asx_region *r,
                         asx_listener *ret_listener)
{
    asx_http_server_options options = { .name = "serve" };
    asx_file_options folder = { .name = "folder" };
    asx_address at;
    char text[ASX_ADDRESS_TEXT_MAX];
    if (!c->quiet)
        options.log = write_entry;
    asx_status st = asx_file_open(cx, r, c->folder, ASX_FILE_DIRECTORY, &folder,
                                  &c->site.root);
    if (st < 0) {
        c->code = say_why(c->folder, st);
        return st;
    }
    st = asx_address_ip(c->host, (uint16_t)c->port, &at);
    if (st == ASX_OK)
        st = asx_listen(cx, r, &at, NULL, ret_listener);
    if (st < 0) {
        c->code = say_why(c->host, st);
        return st;
    }
    st = asx_http_server_create(r, serve_file, &c->site, &options, &c->server);
    if (st == ASX_OK) {
        st = asx_stream_adopt(cx, r, c->signals, &(asx_stream_options){ .name = "signals" },
                              &c->wishes);
        c->signals = -1;
    }
    if (st == ASX_OK)
        st = asx_listener_address(cx, ret_listener, &at);
    if (st == ASX_OK)
        (void)fprintf(stderr, "asx: serving %s at http://%s/\n", c->folder,
                      asx_address_text(&at, text, sizeof(text)));
    return st;
}

static asx_status program(asx_cx *cx, void *arg)
{
    serve_command *c = arg;
    asx_region r;
    asx_listener listener;
    asx_status st = asx_region_open(cx, &(asx_region_options){ .name = "serve" }, &r);
    if (st == ASX_OK)
        st = set_up(cx, c, &r, &listener);
    if (st == ASX_OK)
        st = asx_spawn(&r, "signals", hear_signals, c);
    if (st == ASX_OK) {
        st = asx_http_serve(cx, &c->server, &listener);
        tell_how_it_was(c);
        (void)asx_stream_close(cx, &c->wishes);
    }
    return asx_region_close(&r, st);
}

static int run(serve_command *c)
{
    asx_runtime *rt;
    asx_runtime_config config = { .workers = (uint32_t)c->workers };
    asx_status st = asx_runtime_create(&config, &rt);
    if (st < 0)
        return say_why("runtime", st);
    st = asx_runtime_run(rt, program, c);
    asx_status end = asx_runtime_destroy(rt);
    if (c->code == CLI_OK && (st < 0 || end < 0))
        return say_why("serve", st < 0 ? st : end), CLI_FAILED;
    return c->code;
}

static bool parse(int argc, char **argv, serve_command *c)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--port") == 0) {
            if (!cli_option_number(argc, argv, &i, &c->port))
                return false;
        } else if (strcmp(argv[i], "--workers") == 0) {
            if (!cli_option_number(argc, argv, &i, &c->workers))
                return false;
        } else if (strcmp(argv[i], "--grace") == 0) {
            if (!cli_option_number(argc, argv, &i, &c->grace_s))
                return false;
        } else if (strcmp(argv[i], "--host") == 0) {
            c->host = cli_option_value(argc, argv, &i);
            if (c->host == NULL)
                return false;
        } else if (strcmp(argv[i], "--quiet") == 0)
            c->quiet = true;
        else if (argv[i][0] != '-' && c->folder == NULL)
            c->folder = argv[i];
        else
            return cli_error("serve: '%s' is not understood; try 'asx help'", argv[i]) == CLI_OK;
    }
    if (c->folder == NULL)
        return cli_error("serve needs a folder") == CLI_OK;
    if (c->port > 65535 || c->workers > 1024 || c->grace_s > 86400)
        return cli_error("serve: a number is too large") == CLI_OK;
    return true;
}

int cli_serve(int argc, char **argv)
{
    serve_command c = { .host = "127.0.0.1", .port = 8080, .grace_s = 10 };
    sigset_t ours, before;
    if (!parse(argc, argv, &c))
        return CLI_USAGE;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    /* In this thread, before there are others, which inherit it. */
    if (sigprocmask(SIG_BLOCK, &ours, &before) < 0 ||
        (c.signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
        return cli_error("signals: %s", strerror(errno)), CLI_FAILED;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    int code = run(&c);
    if (c.signals >= 0)
        (void)close(c.signals);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return code;
}
