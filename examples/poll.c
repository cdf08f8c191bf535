/* poll.c - a task without a stack: a state machine that is called again when it can go on.
 *
 * The server is a poll function; its whole memory is struct server. It uses the same calls as a
 * fiber; where a fiber would wait, the call returns ASX_E_WOULD_BLOCK, the function returns
 * ASX_POLL_PENDING, and the same call is made again at the next resumption. The client is a fiber.
 */
#include <stdio.h>

#include <asx/asx.h>

struct link {
    asx_channel_sender tx;
    asx_channel_receiver rx;
};

struct server {
    struct link requests, replies;
    enum { RECEIVE, REPLY } state;
    int n, square;
    int resumptions;
};

static asx_status step(asx_cx *cx, struct server *s)
{
    asx_status st;
    if (s->state == RECEIVE) {
        st = asx_channel_recv(cx, &s->requests.rx, &s->n);
        s->square = s->n * s->n;
    } else {
        st = asx_channel_send(cx, &s->replies.tx, &s->square);
    }
    if (st == ASX_OK)
        s->state = s->state == RECEIVE ? REPLY : RECEIVE;
    return st;
}

static asx_poll serve(asx_cx *cx, void *arg)
{
    struct server *s = arg;
    asx_status st;
    s->resumptions++;
    do
        st = step(cx, s);
    while (st == ASX_OK);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    if (st == ASX_E_DISCONNECTED)
        return ASX_POLL_READY; /* the client has no more questions */
    return asx_poll_fail(cx, st);
}

static asx_status client(asx_cx *cx, void *arg)
{
    struct server *s = arg;
    for (int i = 1; i <= 5; i++) {
        int answer;
        asx_status st = asx_channel_send(cx, &s->requests.tx, &i);
        if (st == ASX_OK)
            st = asx_channel_recv(cx, &s->replies.rx, &answer);
        if (st < 0)
            return st;
        printf("%d squared is %d\n", i, answer);
    }
    return asx_channel_sender_drop(&s->requests.tx);
}

static asx_status app(asx_cx *cx, void *arg)
{
    struct server s = { .state = RECEIVE };
    asx_region r;
    (void)arg;
    asx_status st = asx_region_open(cx, NULL, &r);
    if (st < 0)
        return st;
    asx_channel_create(&r, sizeof(int), 1, NULL, &s.requests.tx, &s.requests.rx);
    asx_channel_create(&r, sizeof(int), 1, NULL, &s.replies.tx, &s.replies.rx);
    asx_spawn_poll(&r, "server", serve, &s);
    asx_spawn(&r, "client", client, &s);
    st = asx_region_close(&r, ASX_OK);
    printf("the server was resumed %d times: %s\n", s.resumptions, asx_status_str(st));
    return st;
}

int main(void)
{
    return asx_main(app, NULL);
}
