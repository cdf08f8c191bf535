/* peer.c - an echo over TLS and its client, for other programs to talk to.
 *
 *     peer serve CERTIFICATE KEY           prints its port; echoes until it is killed
 *     peer ask PORT HOST AUTHORITY TEXT    sends TEXT and a line end, prints the line that comes
 */
#include <asx/asx.h>
#include <asx/tls.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct order {
    char **argv;
    asx_tls_config *config;
} order;

typedef struct connection {
    asx_stream below;
    const asx_tls_config *config;
} connection;

static asx_status echo(asx_cx *cx, void *arg)
{
    connection *c = arg;
    asx_stream stream;
    char bytes[512];
    size_t n = 1, done;
    asx_status st = asx_tls_server(cx, NULL, &c->below, c->config, &stream);
    while (st == ASX_OK && n != 0) {
        st = asx_stream_read(cx, &stream, bytes, sizeof bytes, &n);
        done = 0;
        if (st == ASX_OK && n != 0)
            st = asx_stream_write_all(cx, &stream, bytes, n, &done);
    }
    (void)!asx_stream_close(cx, &stream);
    free(c);
    return ASX_OK; /* a peer that fails is its own business */
}

static asx_status serve(asx_cx *cx, void *arg)
{
    order *o = arg;
    asx_address any, at;
    asx_listener listener;
    asx_region region;
    asx_status st = asx_address_ip("127.0.0.1", 0, &any);
    if (st == ASX_OK)
        st = asx_region_open(cx, NULL, &region);
    if (st == ASX_OK)
        st = asx_listen(cx, &region, &any, NULL, &listener);
    if (st == ASX_OK)
        st = asx_listener_address(cx, &listener, &at);
    printf("%u\n", (unsigned)asx_address_port(&at));
    fflush(stdout);
    while (st == ASX_OK) {
        connection *c = calloc(1, sizeof *c);
        if (c == NULL)
            break;
        c->config = o->config;
        st = asx_listener_accept(cx, &listener, &region, &c->below);
        if (st == ASX_OK)
            st = asx_spawn(&region, "echo", echo, c);
    }
    return asx_region_close(&region, st);
}

static asx_status ask(asx_cx *cx, void *arg)
{
    order *o = arg;
    asx_address at;
    asx_stream below, stream;
    char line[256];
    size_t n = 0, len, done = 0;
    (void)snprintf(line, sizeof line, "%s\n", o->argv[5]);
    asx_status st = asx_address_ip("127.0.0.1", (uint16_t)atoi(o->argv[2]), &at);
    if (st == ASX_OK)
        st = asx_connect(cx, NULL, &at, NULL, &below);
    if (st == ASX_OK)
        st = asx_tls_client(cx, NULL, &below, o->argv[3], o->config, &stream);
    if (st == ASX_OK)
        st = asx_stream_write_all(cx, &stream, line, strlen(line), &done);
    for (len = 0; st == ASX_OK && len < sizeof line - 1; len += n) {
        st = asx_stream_read(cx, &stream, line + len, sizeof line - 1 - len, &n);
        if (st < 0 || n == 0 || memchr(line + len, '\n', n) != NULL) {
            len += n;
            break;
        }
    }
    if (st < 0)
        return st;
    fwrite(line, 1, len, stdout);
    return asx_stream_close(cx, &stream);
}

int main(int argc, char **argv)
{
    static const char *const protocols[] = { "echo" };
    order o = { argv, NULL };
    asx_runtime *rt;
    asx_status st = ASX_E_INVALID_ARGUMENT;
    bool serves = argc == 4 && strcmp(argv[1], "serve") == 0;
    if (serves) {
        asx_tls_server_options options = { .certificate_file = argv[2], .key_file = argv[3],
                                           .protocols = protocols, .protocol_count = 1 };
        st = asx_tls_server_config(&options, &o.config);
    } else if (argc == 6 && strcmp(argv[1], "ask") == 0) {
        asx_tls_client_options options = { .authority_file = argv[4] };
        st = asx_tls_client_config(&options, &o.config);
    }
    if (st == ASX_OK)
        st = asx_runtime_create(NULL, &rt);
    if (st == ASX_OK) {
        st = asx_runtime_run(rt, serves ? serve : ask, &o);
        (void)!asx_runtime_destroy(rt);
    }
    asx_tls_config_destroy(o.config);
    if (st < 0)
        fprintf(stderr, "%s\n", asx_status_str(st));
    return st < 0;
}
