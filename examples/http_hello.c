/* http_hello.c - an HTTP server: http_hello [PORT].
 *
 * With a port it serves there until the process is ended. Without one it asks itself, and stops.
 * The handler is a function on a fiber; it may wait wherever it likes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <asx/asx.h>
#include <asx/http.h>

static asx_status hello(asx_cx *cx, asx_http_request *request, asx_http_response *response,
                        void *arg)
{
    const asx_http1_head *head = asx_http_request_head(request);
    (void)arg;
    if (head->path.len != 1) {
        asx_http_response_status(response, 404);
        return asx_http_response_send(cx, response, "nothing here\n", 13);
    }
    asx_http_response_field(response, "Content-Type", "text/plain");
    return asx_http_response_send(cx, response, "Hello, world!\n", 14);
}

struct program {
    int port;
    asx_address address;
    asx_http_server server;
};

/* A client by hand: two requests behind each other, then the answers up to the end. */
static asx_status ask(asx_cx *cx, void *arg)
{
    static const char requests[] = "GET / HTTP/1.1\r\nHost: here\r\n\r\n"
                                   "GET /other HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
    struct program *p = arg;
    asx_stream stream;
    char answers[1024];
    size_t done = 0, n = 1;
    asx_status st = asx_connect(cx, NULL, &p->address, NULL, &stream);
    if (st < 0)
        return st;
    st = asx_stream_write_all(cx, &stream, requests, sizeof requests - 1, &done);
    for (done = 0; st == ASX_OK && n > 0 && done < sizeof answers - 1; done += n)
        st = asx_stream_read(cx, &stream, answers + done, sizeof answers - 1 - done, &n);
    answers[done] = '\0';
    for (char *line = strtok(answers, "\r\n"); line != NULL; line = strtok(NULL, "\r\n"))
        if (strncmp(line, "Date", 4) != 0)
            printf("%s\n", line);
    asx_stream_close(cx, &stream);
    return asx_http_server_stop(cx, &p->server, ASX_SEC);
}

static asx_status app(asx_cx *cx, void *arg)
{
    struct program *p = arg;
    asx_region r;
    asx_listener listener;
    asx_region_open(cx, &(asx_region_options){ .name = "hello" }, &r);
    asx_http_server_create(&r, hello, NULL, NULL, &p->server);
    asx_address_ip("127.0.0.1", (uint16_t)p->port, &p->address);
    asx_status st = asx_listen(cx, &r, &p->address, NULL, &listener);
    if (st == ASX_OK)
        st = asx_listener_address(cx, &listener, &p->address);
    if (st == ASX_OK && p->port == 0)
        st = asx_spawn(&r, "client", ask, p);
    if (st == ASX_OK)
        st = asx_http_serve(cx, &p->server, &listener);
    st = asx_region_close(&r, st);
    printf("stopped: %s\n", asx_status_str(st));
    return st;
}

int main(int argc, char **argv)
{
    struct program p = { .port = argc > 1 ? atoi(argv[1]) : 0 };
    return asx_main(app, &p);
}
