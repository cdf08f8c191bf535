/* test_udp.c - datagrams come whole or not at all. */
#include "io/support_io.h"

#include <string.h>

static void at_loopback(asx_cx *cx, asx_udp *ret_udp, asx_address *ret_address)
{
    asx_address any;
    CHECK_EQ(asx_address_ip("127.0.0.1", 0, &any), ASX_OK);
    CHECK_STATUS(asx_udp_open(cx, NULL, &any, NULL, ret_udp), ASX_OK);
    CHECK_EQ(asx_udp_address(cx, ret_udp, ret_address), ASX_OK);
}

typedef struct ping {
    asx_udp udp;
    asx_address other;
    asx_status said;
} ping;

static asx_status answers(asx_cx *cx, void *arg)
{
    ping *p = arg;
    char data[32];
    size_t size;
    asx_address from;
    for (;;) {
        p->said = asx_udp_receive(cx, &p->udp, data, sizeof data, &size, &from);
        if (p->said == ASX_OK)
            p->said = asx_udp_send(cx, &p->udp, data, size, &from);
        if (p->said < 0)
            return p->said;
    }
}

static asx_status exchanges(asx_cx *cx, void *arg)
{
    asx_region r;
    ping p;
    asx_udp mine;
    asx_address my, from;
    char data[32], text[ASX_ADDRESS_TEXT_MAX], wanted[ASX_ADDRESS_TEXT_MAX];
    size_t size;
    (void)arg;
    at_loopback(cx, &mine, &my);
    at_loopback(cx, &p.udp, &p.other);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "answers", answers, &p), ASX_OK);
    for (int i = 0; i < 10; i++) {
        CHECK_STATUS(asx_udp_send(cx, &mine, "hello", (size_t)i % 6, &p.other), ASX_OK);
        CHECK_STATUS(asx_udp_receive(cx, &mine, data, sizeof data, &size, &from), ASX_OK);
        CHECK_EQ(size, (size_t)i % 6);
        CHECK_STR_EQ(asx_address_text(&from, text, sizeof text),
                     asx_address_text(&p.other, wanted, sizeof wanted));
    }
    CHECK_EQ(asx_udp_send(cx, &mine, "0123456789", 10, &my), ASX_OK);
    CHECK_EQ(asx_udp_receive(cx, &mine, data, 4, &size, NULL), ASX_E_TOO_LONG);
    CHECK_EQ(size, 10u);
    CHECK_MEM_EQ(data, "0123", 4);
    static char huge[70000];
    CHECK_EQ(asx_udp_send(cx, &mine, huge, sizeof huge, &my), ASX_E_TOO_LONG);
    CHECK_EQ(asx_region_cancel(&r, NULL), ASX_OK);
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_CANCELLED);
    CHECK_STATUS(p.said, ASX_E_CANCELLED);
    CHECK_EQ(asx_region_open(cx, &(asx_region_options){ .policy = ASX_POLICY_COLLECT }, &r),
             ASX_OK);
    CHECK_EQ(asx_spawn(&r, "answers", answers, &p), ASX_OK);
    CHECK_EQ(asx_sleep(cx, 5 * ASX_MS), ASX_OK);
    CHECK_EQ(asx_udp_close(cx, &p.udp), ASX_OK); /* under one that waits */
    CHECK_EQ(asx_region_close(&r, ASX_OK), ASX_E_CLOSED);
    CHECK_EQ(asx_udp_receive(cx, &p.udp, data, 4, &size, NULL), ASX_E_STALE_HANDLE);
    return ASX_OK;
}

ASX_TEST(datagrams_come_whole_and_say_who_has_sent_them)
{
    io_run(exchanges, NULL, ASX_OK);
}
