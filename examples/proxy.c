/* proxy.c - a TCP proxy: what a client says goes to a server, and back, in both directions at once.
 *
 * Each connection is a region with two tasks, one for each direction. When one side has said all
 * that it has to say, the proxy says so to the other, and the other direction goes on. When one
 * direction fails, the region cancels the other one. Whatever happens, closing the region closes
 * both streams.
 */
#include <stdio.h>
#include <string.h>

#include <asx/asx.h>

struct proxy {
    asx_listener front;
    asx_address back;
    asx_region conns;
    unsigned long long bytes;
};

struct direction {
    asx_stream from, to;
    unsigned long long *bytes;
};

static asx_status pump(asx_cx *cx, void *arg)
{
    struct direction *d = arg;
    asx_reader reader;
    char buffer[4096];
    uint64_t done = 0;
    asx_reader_init(&reader, &d->from, buffer, sizeof buffer);
    asx_status st = asx_reader_copy(cx, &reader, &d->to, UINT64_MAX, &done);
    *d->bytes += done;
    if (st != ASX_E_END)
        return st;
    return asx_stream_shutdown(cx, &d->to); /* pass the end on */
}

struct connection {
    struct proxy *proxy;
    asx_stream client;
};

static asx_status connection(asx_cx *cx, void *arg)
{
    struct connection *c = arg;
    asx_region r;
    asx_stream server;
    asx_region_open(cx, &(asx_region_options){ .name = "connection" }, &r);
    asx_stream_move(cx, &c->client, &r); /* it ends with this region */
    asx_status st = asx_connect(cx, &r, &c->proxy->back, NULL, &server);
    if (st == ASX_OK) {
        struct direction there = { c->client, server, &c->proxy->bytes };
        struct direction back = { server, c->client, &c->proxy->bytes };
        asx_spawn(&r, "there", pump, &there);
        asx_spawn(&r, "back", pump, &back);
        return asx_region_close(&r, ASX_OK);
    }
    return asx_region_close(&r, st);
}

static asx_status run_proxy(asx_cx *cx, void *arg)
{
    struct proxy *proxy = arg;
    struct connection c = { .proxy = proxy };
    for (;;) {
        asx_status st = asx_listener_accept(cx, &proxy->front, &proxy->conns, &c.client);
        if (st == ASX_OK)
            st = asx_spawn_copy(&proxy->conns, "connection", connection, &c, sizeof c);
        if (st < 0)
            return st;
    }
}

/* ---- a server that reverses lines, and its clients ------------------------------------------ */

static asx_status reverse(asx_cx *cx, void *arg)
{
    const asx_stream *stream = arg;
    asx_reader reader;
    char buffer[256], answer[256];
    const char *line;
    size_t size, done;
    asx_status st;
    asx_reader_init(&reader, stream, buffer, sizeof buffer);
    while ((st = asx_reader_line(cx, &reader, &line, &size)) == ASX_OK) {
        for (size_t i = 0; i < size; i++)
            answer[i] = line[size - 1 - i];
        answer[size] = '\n';
        done = 0;
        st = asx_stream_write_all(cx, stream, answer, size + 1, &done);
        if (st < 0)
            break;
    }
    asx_stream_close(cx, stream);
    return st == ASX_E_END ? ASX_OK : st;
}

struct server {
    asx_listener listener;
    asx_region *region;
};

static asx_status serve(asx_cx *cx, void *arg)
{
    struct server *s = arg;
    asx_stream stream;
    for (;;) {
        asx_status st = asx_listener_accept(cx, &s->listener, s->region, &stream);
        if (st == ASX_OK)
            st = asx_spawn_copy(s->region, "reverse", reverse, &stream, sizeof stream);
        if (st < 0)
            return st;
    }
}

static asx_status client(asx_cx *cx, const asx_address *proxy, const char *text)
{
    asx_stream stream;
    asx_reader reader;
    char buffer[256];
    const char *line;
    size_t size, done = 0;
    asx_status st = asx_connect(cx, NULL, proxy, NULL, &stream);
    if (st < 0)
        return st;
    asx_reader_init(&reader, &stream, buffer, sizeof buffer);
    st = asx_stream_write_all(cx, &stream, text, strlen(text), &done);
    if (st == ASX_OK)
        st = asx_stream_shutdown(cx, &stream); /* the end goes through the proxy, too */
    while (st == ASX_OK && (st = asx_reader_line(cx, &reader, &line, &size)) == ASX_OK)
        printf("%.*s\n", (int)size, line);
    asx_stream_close(cx, &stream);
    return st == ASX_E_END ? ASX_OK : st;
}

static asx_status listen_somewhere(asx_cx *cx, const asx_region *r, asx_listener *ret_listener,
                                   asx_address *ret_at)
{
    asx_address any;
    asx_address_ip("127.0.0.1", 0, &any);
    asx_status st = asx_listen(cx, r, &any, NULL, ret_listener);
    return st < 0 ? st : asx_listener_address(cx, ret_listener, ret_at);
}

static asx_status app(asx_cx *cx, void *arg)
{
    struct proxy proxy = { .bytes = 0 };
    struct server server;
    asx_region r;
    asx_address front;
    (void)arg;
    asx_region_open(cx, &(asx_region_options){ .name = "all" }, &r);
    asx_region_open_in(cx, &r, &(asx_region_options){ .name = "conns" }, &proxy.conns);
    server.region = &r;
    asx_status st = listen_somewhere(cx, &r, &server.listener, &proxy.back);
    if (st == ASX_OK)
        st = listen_somewhere(cx, &r, &proxy.front, &front);
    if (st == ASX_OK)
        st = asx_spawn(&r, "serve", serve, &server);
    if (st == ASX_OK)
        st = asx_spawn(&r, "proxy", run_proxy, &proxy);
    if (st == ASX_OK)
        st = client(cx, &front, "stressed\nlooter\n");
    if (st == ASX_OK)
        st = client(cx, &front, "drawer\n");
    asx_status conns = asx_region_close(&proxy.conns, st);
    asx_region_cancel(&r, NULL);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    printf("%llu bytes through the proxy, connections: %s\n", proxy.bytes, asx_status_str(conns));
    return st;
}

int main(void)
{
    return asx_main(app, NULL);
}
