/* test_dns.c - names, with a server of our own: it answers, it does not, it says no. */
#include "io/support_io.h"

#include <asx/dns.h>

#include <arpa/inet.h>
#include <string.h>

typedef struct server {
    asx_udp udp;
    asx_address at;
    bool silent;
    unsigned asked;
} server;

/* The end of the question that stands behind the head. */
static size_t end_of_question(const unsigned char *m, size_t size)
{
    size_t at = 12;
    while (at < size && m[at] != 0)
        at += m[at] + 1u;
    return at + 5;
}

/* Answers "here" with 127.0.0.1 and ::1, and says that there is nothing else. */
static size_t answer(unsigned char *m, size_t size)
{
    size_t end = end_of_question(m, size);
    bool v6 = m[end - 3] == 28, here = memcmp(m + 12, "\4here", 5) == 0;
    static const unsigned char head[] = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 127, 0, 0, 1 };
    static const unsigned char six[16] = { [15] = 1 };
    m[2] = 0x81;
    m[3] = here ? 0x80 : 0x83; /* 3: no such name */
    m[7] = here;
    memset(m + 8, 0, 4);
    if (!here)
        return end;
    memcpy(m + end, head, sizeof head);
    if (!v6)
        return end + sizeof head;
    m[end + 3] = 28;
    m[end + 11] = 16;
    memcpy(m + end + 12, six, sizeof six);
    return end + 12 + sizeof six;
}

static asx_status serve(asx_cx *cx, void *arg)
{
    server *s = arg;
    unsigned char message[512];
    asx_address from;
    size_t size;
    for (;;) {
        asx_status st = asx_udp_receive(cx, &s->udp, message, sizeof message, &size, &from);
        if (st < 0)
            return st;
        s->asked++;
        if (!s->silent)
            st = asx_udp_send(cx, &s->udp, message, answer(message, size), &from);
        if (st < 0)
            return st;
    }
}

static void begin(asx_cx *cx, const asx_region *r, server *s)
{
    CHECK_EQ(asx_address_ip("127.0.0.1", 0, &s->at), ASX_OK);
    CHECK_EQ(asx_udp_open(cx, r, &s->at, NULL, &s->udp), ASX_OK);
    CHECK_EQ(asx_udp_address(cx, &s->udp, &s->at), ASX_OK);
    CHECK_EQ(asx_spawn(r, "serve", serve, s), ASX_OK);
}

static asx_status looks_up(asx_cx *cx, void *arg)
{
    asx_region r;
    server s = { .silent = false };
    asx_dns_options o = { .server = &s.at };
    asx_address found[8];
    char text[ASX_ADDRESS_TEXT_MAX];
    size_t n;
    (void)arg;
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    begin(cx, &r, &s);
    asx_status st = asx_dns_lookup(cx, "here.test", 80, &o, found, 8, &n);
    if (st == ASX_E_NOT_SUPPORTED) { /* built without c-ares */
        CHECK_EQ(asx_region_cancel(&r, NULL), ASX_OK);
        CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
        return ASX_OK;
    }
    CHECK_STATUS(st, ASX_OK);
    CHECK_EQ(n, 2u);
    o.family = ASX_DNS_V4;
    CHECK_STATUS(asx_dns_lookup(cx, "here.test", 80, &o, found, 8, &n), ASX_OK);
    CHECK_EQ(n, 1u);
    CHECK_STR_EQ(asx_address_text(&found[0], text, sizeof text), "127.0.0.1:80");
    CHECK_STATUS(asx_dns_lookup(cx, "nowhere.test", 80, &o, found, 8, &n), ASX_E_NAME);
    CHECK_EQ(n, 0u);
    CHECK_STATUS(asx_dns_lookup(cx, "192.0.2.1", 7, NULL, found, 8, &n), ASX_OK);
    CHECK_STR_EQ(asx_address_text(&found[0], text, sizeof text), "192.0.2.1:7");
    s.silent = true;
    o.timeout_ms = 20;
    o.tries = 2;
    CHECK_STATUS(asx_dns_lookup(cx, "here.test", 80, &o, found, 8, &n), ASX_E_UNREACHABLE);
    CHECK_EQ(asx_region_cancel(&r, NULL), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
    return ASX_OK;
}

ASX_TEST(names_are_looked_up_and_no_answer_is_one)
{
    io_run(looks_up, NULL, ASX_OK);
}

static asx_status asks_in_vain(asx_cx *cx, void *arg)
{
    const server *s = arg;
    asx_dns_options o = { .server = &s->at, .timeout_ms = 10000 };
    asx_address found;
    size_t n;
    asx_status st = asx_dns_lookup(cx, "here.test", 80, &o, &found, 1, &n);
    if (st == ASX_E_NOT_SUPPORTED)
        st = asx_sleep(cx, ASX_SEC);
    CHECK_STATUS(st, ASX_E_CANCELLED);
    return st;
}

static asx_status gives_up(asx_cx *cx, void *arg)
{
    asx_region r;
    server s = { .silent = true };
    (void)arg;
    CHECK_EQ(asx_region_open(cx, &(asx_region_options){ .timeout_ns = 50 * ASX_MS }, &r), ASX_OK);
    begin(cx, &r, &s);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(asx_spawn(&r, "asks", asks_in_vain, &s), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_TIMEOUT);
    return ASX_OK;
}

ASX_TEST(a_lookup_is_cancelled_and_leaves_nothing)
{
    io_run(gives_up, NULL, ASX_OK);
}

static asx_status connects(asx_cx *cx, void *arg)
{
    asx_listener listener;
    asx_address at;
    asx_stream one, other;
    (void)arg;
    io_listen(cx, NULL, &listener, &at);
    CHECK_STATUS(asx_connect_name(cx, NULL, "127.0.0.1", asx_address_port(&at), NULL, &one),
                 ASX_OK);
    CHECK_STATUS(asx_listener_accept(cx, &listener, NULL, &other), ASX_OK);
    CHECK_EQ(asx_listener_close(cx, &listener), ASX_OK);
    CHECK_EQ(asx_connect_name(cx, NULL, "127.0.0.1", asx_address_port(&at), NULL, &one),
             ASX_E_REFUSED);
    return ASX_OK;
}

ASX_TEST(a_name_is_connected_to)
{
    io_run(connects, NULL, ASX_OK);
}
