#include "support_see.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int see_file(void)
{
    int fd = memfd_create("see-test", MFD_CLOEXEC);
    CHECK_GE(fd, 0);
    return fd;
}

const char *see_text(int fd)
{
    static char text[1 << 18];
    ssize_t len = pread(fd, text, sizeof text - 1, 0);
    CHECK_GE(len, 0);
    text[len] = '\0';
    return text;
}

const char *see_tree(const char *path)
{
    static char whole[1024], real[4096];
    const char *end = strstr(__FILE__, "tests/see/");
    CHECK(end != NULL);
    (void)snprintf(whole, sizeof whole, "%.*s%s", (int)(end - __FILE__), __FILE__, path);
    if (realpath(whole, real) == NULL)
        asx_test_fail(__FILE__, __LINE__, "there is no %s", whole);
    return real;
}

const char *see_task(const char *text, const char *name)
{
    static char part[8192];
    char begin[80];
    (void)snprintf(begin, sizeof begin, "\"%s\" (", name);
    const char *at = strstr(text, begin);
    if (at == NULL)
        asx_test_fail(__FILE__, __LINE__, "no task %s in: %.4000s", name, text);
    while (at > text && at[-1] != '\n')
        at--;
    const char *end = strchr(at, '\n');
    while (end != NULL && strncmp(end + 1, "    ", 4) == 0)
        end = strchr(end + 1, '\n');
    size_t len = end != NULL ? (size_t)(end - at) : strlen(at);
    CHECK(len < sizeof part);
    memcpy(part, at, len);
    part[len] = '\0';
    return part;
}

void see_chain(const char *text, const char *name, const char *const *functions)
{
    const char *part = see_task(text, name);
    if (!SEE_CHAINS)
        return;
    const char *at = part;
    for (; *functions != NULL; functions++) {
        char word[80];
        size_t len = (size_t)snprintf(word, sizeof word, " %s", *functions);
        const char *found = at;
        do /* compilers add suffixes to the names of their variants */
            found = strstr(found + 1, word);
        while (found != NULL && strchr("+._", found[len]) == NULL);
        if (found == NULL)
            asx_test_fail(__FILE__, __LINE__, "no %s, in this order, in: %s", *functions, part);
        at = found + 1;
    }
}

struct hall {
    asx_channel_sender tx, poll_tx;
    asx_channel_receiver rx, poll_rx;
    asx_task sleeper;
};

__attribute__((noinline)) static asx_status take_one(asx_cx *cx, struct hall *hall)
{
    int n;
    asx_status st = asx_channel_recv(cx, &hall->rx, &n);
    SEE_NO_TAIL_CALL();
    return st;
}

static asx_status taker(asx_cx *cx, void *arg)
{
    asx_status st = take_one(cx, arg);
    return st == ASX_E_CANCELLED ? ASX_OK : st;
}

static asx_status sleeper(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = asx_sleep(cx, 1000 * ASX_SEC);
    return st == ASX_E_CANCELLED ? ASX_OK : st;
}

static asx_status joiner(asx_cx *cx, void *arg)
{
    struct hall *hall = arg;
    asx_join_result result;
    asx_status st = asx_join(cx, &hall->sleeper, &result);
    return st < 0 ? ASX_OK : st;
}

static asx_poll poller(asx_cx *cx, void *arg)
{
    struct hall *hall = arg;
    int n;
    asx_status st = asx_channel_recv(cx, &hall->poll_rx, &n);
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING : ASX_POLL_READY;
}

static asx_status fresh(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

asx_status see_hall(asx_cx *cx, asx_status (*look)(asx_cx *cx, void *arg), void *arg)
{
    struct hall hall;
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "hall" }, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &hall.tx, &hall.rx), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &hall.poll_tx,
                                    &hall.poll_rx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "taker", taker, &hall), ASX_OK);
    CHECK_STATUS(asx_spawn_task(&r, sleeper, NULL, &(asx_spawn_options){ .name = "sleeper" },
                                &hall.sleeper), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "joiner", joiner, &hall), ASX_OK);
    CHECK_STATUS(asx_spawn_poll(&r, "poller", poller, &hall), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "fresh", fresh, NULL), ASX_OK);
    asx_status st = look(cx, arg);
    CHECK_STATUS(asx_region_cancel(&r, NULL), ASX_OK);
    asx_status closed = asx_region_close(&r, ASX_OK);
    (void)closed;
    return st;
}
