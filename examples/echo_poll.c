/* echo_poll.c - a TCP server whose connections have no stack: each is a small state machine.
 *
 * A connection that waits costs its task and struct connection, nothing else. It makes the same
 * calls as a fiber (echo.c); one that would have to wait returns ASX_E_WOULD_BLOCK, the function
 * returns ASX_POLL_PENDING, and the same call is made again when it can go on.
 */
#include <stdio.h>
#include <string.h>

#include <asx/asx.h>

enum { CLIENTS = 100, ROUNDS = 10 };

struct connection {
    asx_stream stream;
    char buffer[64];
    size_t size, done;
};

static asx_status step(asx_cx *cx, struct connection *c)
{
    asx_status st;
    if (c->size == 0) {
        c->done = 0;
        st = asx_stream_read(cx, &c->stream, c->buffer, sizeof c->buffer, &c->size);
        if (st == ASX_OK && c->size == 0)
            st = ASX_E_END;
        return st;
    }
    st = asx_stream_write_all(cx, &c->stream, c->buffer, c->size, &c->done);
    if (st == ASX_OK)
        c->size = 0;
    return st;
}

static asx_poll serve_one(asx_cx *cx, void *state)
{
    struct connection *c = state;
    asx_status st;
    do
        st = step(cx, c);
    while (st == ASX_OK);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    asx_stream_close(cx, &c->stream);
    return st == ASX_E_END ? ASX_POLL_READY : asx_poll_fail(cx, st);
}

/* ---- who accepts ---------------------------------------------------------------------------- */

struct server {
    asx_listener listener;
    asx_region *conns;
    int accepted;
};

static asx_status accept_one(asx_cx *cx, struct server *server)
{
    void *memory;
    asx_stream stream;
    asx_status st = asx_listener_accept(cx, &server->listener, server->conns, &stream);
    if (st < 0)
        return st;
    server->accepted++;
    st = asx_region_alloc(server->conns, sizeof(struct connection), &memory);
    if (st < 0)
        return st;
    struct connection *c = memory;
    memset(c, 0, sizeof *c);
    c->stream = stream;
    return asx_spawn_poll(server->conns, "connection", serve_one, c);
}

static asx_poll serve(asx_cx *cx, void *state)
{
    struct server *server = state;
    asx_status st;
    do
        st = accept_one(cx, server);
    while (st == ASX_OK && server->accepted < CLIENTS);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    return st == ASX_OK ? ASX_POLL_READY : asx_poll_fail(cx, st);
}

/* ---- clients -------------------------------------------------------------------------------- */

static asx_status client(asx_cx *cx, void *arg)
{
    asx_stream stream;
    asx_status st = asx_connect(cx, NULL, arg, NULL, &stream);
    for (int i = 0; i < ROUNDS && st == ASX_OK; i++) {
        char text[] = "ping", answer[sizeof text];
        size_t written = 0, read = 0;
        st = asx_stream_write_all(cx, &stream, text, sizeof text, &written);
        if (st == ASX_OK)
            st = asx_stream_read_exact(cx, &stream, answer, sizeof answer, &read);
        if (st == ASX_OK && strcmp(answer, text) != 0)
            st = ASX_E_RESET;
    }
    return st; /* the region of the clients closes the stream */
}

static asx_status app(asx_cx *cx, void *arg)
{
    struct server server = { .accepted = 0 };
    asx_region r;
    asx_address at;
    (void)arg;
    asx_region_open(cx, &(asx_region_options){ .name = "server" }, &r);
    server.conns = &r;
    asx_address_ip("127.0.0.1", 0, &at);
    asx_status st = asx_listen(cx, &r, &at, NULL, &server.listener);
    if (st == ASX_OK)
        st = asx_listener_address(cx, &server.listener, &at);
    if (st == ASX_OK)
        st = asx_spawn_poll(&r, "serve", serve, &server);
    asx_region clients;
    asx_region_open(cx, &(asx_region_options){ .name = "clients" }, &clients);
    for (int i = 0; i < CLIENTS && st == ASX_OK; i++) {
        st = asx_spawn(&clients, "client", client, &at);
    }
    asx_status ended = asx_region_close(&clients, st);
    printf("clients: %s\n", asx_status_str(ended));
    st = asx_region_close(&r, ended);
    printf("%d connections: %s\n", server.accepted, asx_status_str(st));
    return st;
}

int main(void)
{
    return asx_main(app, NULL);
}
