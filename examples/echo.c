/* echo.c - a TCP server with a fiber for each connection, and its clients, in one program.
 *
 * The server accepts until it is cancelled. Each connection is a task of the region `conns`, where
 * its stream lives, too: closing `conns` waits for the tasks, and closes what a task should have
 * left open.
 */
#include <stdio.h>
#include <string.h>

#include <asx/asx.h>

enum { CLIENTS = 3 };

struct server {
    asx_listener listener;
    asx_region conns;
};

/* Sends back what comes, until the peer has said all that it has to say. */
static asx_status echo(asx_cx *cx, const asx_stream *stream)
{
    char buffer[4096];
    size_t n, done;
    for (;;) {
        asx_status st = asx_stream_read(cx, stream, buffer, sizeof buffer, &n);
        if (st < 0 || n == 0)
            return st;
        done = 0;
        st = asx_stream_write_all(cx, stream, buffer, n, &done);
        if (st < 0)
            return st;
    }
}

static asx_status connection(asx_cx *cx, void *arg)
{
    const asx_stream *stream = arg; /* a copy of its own */
    asx_status st = echo(cx, stream);
    asx_stream_close(cx, stream);
    return st == ASX_E_RESET ? ASX_OK : st; /* a peer that is gone is no failure of ours */
}

static asx_status serve(asx_cx *cx, void *arg)
{
    struct server *server = arg;
    asx_stream stream;
    for (;;) {
        asx_status st = asx_listener_accept(cx, &server->listener, &server->conns, &stream);
        if (st == ASX_OK)
            st = asx_spawn_copy(&server->conns, "connection", connection, &stream, sizeof stream);
        if (st < 0)
            return st;
    }
}

/* ---- clients -------------------------------------------------------------------------------- */

struct client {
    const asx_address *server;
    int number;
    char answer[64];
};

static asx_status client(asx_cx *cx, void *arg)
{
    struct client *self = arg;
    char text[sizeof self->answer];
    asx_stream stream;
    size_t done = 0;
    int size = snprintf(text, sizeof text, "client %d was here", self->number) + 1;
    asx_status st = asx_connect(cx, NULL, self->server, NULL, &stream);
    if (st < 0)
        return st;
    st = asx_stream_write_all(cx, &stream, text, (size_t)size, &done);
    done = 0;
    if (st == ASX_OK)
        st = asx_stream_read_exact(cx, &stream, self->answer, (size_t)size, &done);
    asx_stream_close(cx, &stream);
    return st;
}

static asx_status run_clients(asx_cx *cx, const asx_address *server)
{
    struct client clients[CLIENTS];
    asx_region r;
    asx_region_open(cx, &(asx_region_options){ .name = "clients" }, &r);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){ .server = server, .number = i + 1 };
        asx_spawn(&r, "client", client, &clients[i]);
    }
    asx_status st = asx_region_close(&r, ASX_OK);
    for (int i = 0; i < CLIENTS && st == ASX_OK; i++)
        printf("%s\n", clients[i].answer);
    return st;
}

static asx_status app(asx_cx *cx, void *arg)
{
    struct server server;
    asx_region r;
    asx_address at;
    asx_stats stats;
    (void)arg;
    asx_region_open(cx, &(asx_region_options){ .name = "server" }, &r);
    asx_region_open_in(cx, &r, &(asx_region_options){ .name = "conns" }, &server.conns);
    asx_address_ip("127.0.0.1", 0, &at);
    asx_status st = asx_listen(cx, &r, &at, NULL, &server.listener);
    if (st == ASX_OK)
        st = asx_listener_address(cx, &server.listener, &at);
    if (st == ASX_OK)
        st = asx_spawn(&r, "serve", serve, &server);
    if (st == ASX_OK)
        st = run_clients(cx, &at);
    asx_status conns = asx_region_close(&server.conns, ASX_OK); /* what is there is served */
    asx_region_cancel(&r, NULL);                                /* and nobody else comes */
    asx_status end = asx_region_close(&r, ASX_OK);
    asx_runtime_stats(asx_cx_runtime(cx), &stats);
    printf("connections: %s, server: %s, obligations left: %d\n", asx_status_str(conns),
           asx_status_str(end), (int)stats.obligations_reserved);
    return st;
}

int main(void)
{
    return asx_main(app, NULL);
}
