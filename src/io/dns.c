/* dns.c - names to addresses, by c-ares.
 *
 * Each lookup has a channel of its own: a cancel of c-ares ends everything in a channel. The task
 * that asks drives it. What the channel
 * waits for (its sockets, and a timer) is put together in an epoll of its own, and the task waits
 * until that has something, as for any file. So a lookup is one operation at a time, with the same
 * cancel, and ends with its task.
 *
 * Rejected: getaddrinfo() on a thread (it cannot be cancelled, and sixty-four that hang are all);
 * one channel with a task that owns it (a cancel of one lookup ends those of others).
 */
#include "io/net.h"

#include <asx/dns.h>

#include <string.h>

#ifdef ASX_HAVE_CARES

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TIMER_TAG UINT64_MAX
#define EVENTS_MOST 16

/* One lookup; in the frame of its task. */
typedef struct lookup {
    ares_channel channel;
    bool has_channel;
    int set, timer;        /* the epoll of its own, and what is always in there */
    bool done;
    int answer;            /* ARES_... */
    struct ares_addrinfo *found;
} lookup;

/* The channel begins or ceases to wait for a socket. */
static void on_socket(void *arg, ares_socket_t fd, int readable, int writable)
{
    const lookup *l = arg;
    struct epoll_event event = { .data.u64 = (uint64_t)fd };
    event.events = (readable ? (uint32_t)EPOLLIN : 0u) | (writable ? (uint32_t)EPOLLOUT : 0u);
    if (event.events == 0)
        (void)epoll_ctl(l->set, EPOLL_CTL_DEL, fd, NULL);
    else if (epoll_ctl(l->set, EPOLL_CTL_MOD, fd, &event) < 0)
        (void)epoll_ctl(l->set, EPOLL_CTL_ADD, fd, &event);
}

static void on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
    lookup *l = arg;
    (void)timeouts;
    l->done = true;
    l->answer = status;
    l->found = found;
}

static asx_status status_of(int answer)
{
    switch (answer) {
    case ARES_SUCCESS:
        return ASX_OK;
    case ARES_ENOMEM:
        return ASX_E_RESOURCE_EXHAUSTED;
    case ARES_ENOTFOUND:
    case ARES_ENODATA:
    case ARES_EBADNAME:
    case ARES_EFORMERR:
        return ASX_E_NAME;
    case ARES_ECONNREFUSED:
    case ARES_ETIMEOUT:
    case ARES_ESERVFAIL:
    case ARES_EREFUSED:
    case ARES_ENOTIMP:
    case ARES_EBADRESP:
        return ASX_E_UNREACHABLE;
    default:
        return ASX_E_SYSTEM;
    }
}

/* ---- the channel ---------------------------------------------------------------------------- */

static asx_status ask_at(ares_channel channel, const asx_address *server)
{
    char text[ASX_ADDRESS_TEXT_MAX];
    if (asx_address_port(server) == 0)
        return ASX_E_INVALID_ARGUMENT;
    (void)asx_address_text(server, text, sizeof text);
    return status_of(ares_set_servers_ports_csv(channel, text));
}

static asx_status open_channel(lookup *l, const asx_dns_options *options)
{
    struct ares_options o = {
        .flags = ARES_FLAG_NOCHECKRESP,
        .timeout = options->timeout_ms != 0 ? (int)options->timeout_ms : 2000,
        .tries = options->tries != 0 ? (int)options->tries : 3,
        .sock_state_cb = on_socket,
        .sock_state_cb_data = l,
    };
    int which = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
    asx_status st = status_of(ares_init_options(&l->channel, &o, which));
    l->has_channel = st == ASX_OK;
    if (st == ASX_OK && options->server != NULL)
        st = ask_at(l->channel, options->server);
    return st;
}

static asx_status open_set(lookup *l)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = TIMER_TAG };
    l->set = epoll_create1(EPOLL_CLOEXEC);
    l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (l->set < 0 || l->timer < 0 || epoll_ctl(l->set, EPOLL_CTL_ADD, l->timer, &event) < 0)
        return asx__io_status(errno);
    return ASX_OK;
}

/* The channel wants to be asked again by then. */
static void set_timer(const lookup *l)
{
    struct timeval left, *soon = ares_timeout(l->channel, NULL, &left);
    struct itimerspec when = { .it_value = { 0, 0 } };
    if (soon != NULL) {
        when.it_value.tv_sec = soon->tv_sec;
        when.it_value.tv_nsec = (long)soon->tv_usec * 1000 + 1; /* 0 would be never */
    }
    (void)timerfd_settime(l->timer, 0, &when, NULL);
}

/* Lets it see to what has come. */
static void process(const lookup *l)
{
    struct epoll_event events[EVENTS_MOST];
    int n = epoll_wait(l->set, events, EVENTS_MOST, 0);
    for (int i = 0; i < n; i++) {
        uint64_t expirations;
        int fd = (int)events[i].data.u64;
        uint32_t broken = events[i].events & (uint32_t)(EPOLLERR | EPOLLHUP);
        if (events[i].data.u64 == TIMER_TAG) {
            (void)!read(l->timer, &expirations, sizeof expirations);
            ares_process_fd(l->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
            continue;
        }
        ares_process_fd(l->channel,
                        (events[i].events & EPOLLIN) || broken ? fd : ARES_SOCKET_BAD,
                        events[i].events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
    }
}

/* Until there is an answer, or the task is cancelled. The file takes the epoll over. */
static asx_status drive(asx_runtime *rt, asx__task *task, lookup *l)
{
    asx__io *io;
    asx__file *file;
    asx__region *home;
    asx_status st = asx__io_of(rt, &io);
    if (st == ASX_OK)
        st = asx__io_region(rt, NULL, &home);
    if (st < 0)
        return st;
    int set = dup(l->set); /* the channel still uses it when the file is closed */
    if (set < 0)
        return asx__io_status(errno);
    st = asx__file_make(io, home, ASX__FILE_SET, set, "dns", &file);
    if (st < 0)
        return st;
    uint64_t generation = asx__file_generation(file);
    while (st == ASX_OK && !l->done) {
        asx__request request = { .kind = ASX__IO_READY, .directions = 1u << ASX__INWARD };
        int64_t result;
        set_timer(l);
        st = asx__io_do(rt, task, file, generation, &request, &result);
        if (st == ASX_OK)
            process(l);
    }
    if (asx__file_generation(file) == generation)
        asx__file_close(io, file);
    return st;
}

static void close_lookup(lookup *l)
{
    if (l->has_channel) { /* an answer may still come out of it */
        ares_cancel(l->channel);
        ares_destroy(l->channel);
    }
    if (l->found != NULL)
        ares_freeaddrinfo(l->found);
    if (l->set >= 0)
        (void)close(l->set);
    if (l->timer >= 0)
        (void)close(l->timer);
}

static size_t take(const lookup *l, asx_address *ret_addresses, size_t capacity)
{
    size_t n = 0;
    for (const struct ares_addrinfo_node *a = l->found->nodes; a != NULL && n < capacity;
         a = a->ai_next)
        asx__address_set(a->ai_addr, a->ai_addrlen, &ret_addresses[n++]);
    return n;
}

static asx_status resolve(asx_runtime *rt, asx__task *task, const char *name, uint16_t port,
                          const asx_dns_options *options, asx_address *ret_addresses,
                          size_t capacity, size_t *ret_count)
{
    lookup l = { .set = -1, .timer = -1 };
    char service[8];
    struct ares_addrinfo_hints hints = {
        .ai_flags = ARES_AI_NUMERICSERV,
        .ai_family = options->family == ASX_DNS_V4   ? AF_INET
                     : options->family == ASX_DNS_V6 ? AF_INET6 : AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
    };
    snprintf(service, sizeof service, "%u", port);
    asx_status st = asx__checkpoint(rt, task);
    if (st == ASX_OK)
        st = open_set(&l);
    if (st == ASX_OK)
        st = open_channel(&l, options);
    if (st == ASX_OK) {
        ares_getaddrinfo(l.channel, name, service, &hints, on_answer, &l);
        st = drive(rt, task, &l);
    }
    if (st == ASX_OK)
        st = status_of(l.answer);
    if (st == ASX_OK)
        *ret_count = take(&l, ret_addresses, capacity);
    close_lookup(&l);
    return st == ASX_OK && *ret_count == 0 ? ASX_E_NAME : st;
}

#else

static asx_status resolve(asx_runtime *rt, asx__task *task, const char *name, uint16_t port,
                          const asx_dns_options *options, asx_address *ret_addresses,
                          size_t capacity, size_t *ret_count)
{
    (void)rt;
    (void)task;
    (void)name;
    (void)port;
    (void)options;
    (void)ret_addresses;
    (void)capacity;
    (void)ret_count;
    return ASX_E_NOT_SUPPORTED;
}

#endif

/* ---- calls ---------------------------------------------------------------------------------- */

static bool is_possible(const asx_dns_options *o)
{
    return (o->family == ASX_DNS_ANY || o->family == ASX_DNS_V4 || o->family == ASX_DNS_V6) &&
           o->timeout_ms <= INT32_MAX && o->tries <= 100;
}

asx_status asx_dns_lookup(asx_cx *cx, const char *name, uint16_t port,
                          const asx_dns_options *options, asx_address *ret_addresses,
                          size_t capacity, size_t *ret_count)
{
    ASX__GATE_CX(cx, asx_dns_lookup(&in, name, port, options, ret_addresses, capacity, ret_count));
    static const asx_dns_options none;
    asx__task *task;
    asx_runtime *rt;
    asx__io *io;
    if (ret_count == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_count = 0;
    if (options == NULL)
        options = &none;
    if (name == NULL || *name == '\0' || strlen(name) > 253 || ret_addresses == NULL ||
        capacity == 0 || !is_possible(options))
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, &task, &rt);
    if (st == ASX_OK && (task->flags & ASX__T_POLL) != 0)
        st = ASX_E_NOT_SUPPORTED;
    if (st == ASX_OK)
        st = asx__io_of(rt, &io);
    if (st < 0)
        return st;
    if (asx_address_ip(name, port, &ret_addresses[0]) == ASX_OK && strcmp(name, "*") != 0) {
        *ret_count = 1;
        return ASX_OK;
    }
    return resolve(rt, task, name, port, options, ret_addresses, capacity, ret_count);
}

asx_status asx_connect_name(asx_cx *cx, const asx_region *region, const char *name, uint16_t port,
                            const asx_connect_options *options, asx_stream *ret_stream)
{
    enum { TRIED_MOST = 16 };
    asx_address addresses[TRIED_MOST];
    size_t count;
    if (ret_stream == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_stream = (asx_stream){ NULL, 0 };
    asx_status st = asx_dns_lookup(cx, name, port, NULL, addresses, TRIED_MOST, &count);
    if (st < 0)
        return st;
    for (size_t i = 0; i < count; i++) {
        st = asx_connect(cx, region, &addresses[i], options, ret_stream);
        if (st != ASX_E_REFUSED && st != ASX_E_UNREACHABLE && st != ASX_E_ADDRESS)
            return st;
    }
    return st;
}
