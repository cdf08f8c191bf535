/* server.c - the life of a server: acceptors, the keeper, stopping. */
#include "http/server.h"

#include <asx/http.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { FIELDS_DEFAULT = 64, FIELDS_MOST = 1000, HEAD_MOST = 1 << 20, ACCEPT_PAUSE_MS = 20 };
enum { NOT_YET, NOW, WAS };

static void default_u64(uint64_t *value, uint64_t by_default)
{
    if (*value == 0)
        *value = by_default;
}

static void default_u32(uint32_t *value, uint32_t by_default)
{
    if (*value == 0)
        *value = by_default;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void fill_options(asx__http_server *s, const asx_http_server_options *options)
{
    asx_http_server_options *o = &s->o;
    if (options != NULL)
        *o = *options;
    if (o->name == NULL)
        o->name = "http";
    default_u32(&o->connections_max, 10000);
    default_u32(&o->head.line_max, 8192);
    default_u32(&o->head.head_max, 16384);
    default_u32(&o->fields_max, FIELDS_DEFAULT);
    default_u32(&o->rate_min, 1000);
    default_u64(&o->body_max, UINT64_C(1) << 20);
    default_u64(&o->fresh_ns, 10 * ASX_SEC);
    default_u64(&o->head_ns, 10 * ASX_SEC);
    default_u64(&o->idle_ns, 60 * ASX_SEC);
    default_u64(&o->body_ns, 30 * ASX_SEC);
    default_u64(&o->write_ns, 30 * ASX_SEC);
    s->in_size = o->head.head_max + ASX__HTTP_WINDOW;
    s->phase_min = lesser(lesser(o->fresh_ns, o->head_ns), lesser(o->idle_ns, o->body_ns));
    s->phase_min = lesser(lesser(s->phase_min, o->write_ns), ASX__HTTP_LINGER_NS);
}

asx_status asx_http_server_create(const asx_region *region, asx_http_handler handler, void *arg,
                                  const asx_http_server_options *options,
                                  asx_http_server *ret_server)
{
    void *memory;
    if (ret_server == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ret_server->server_ = NULL;
    if (region == NULL || handler == NULL ||
        (options != NULL &&
         (options->fields_max > FIELDS_MOST || options->head.head_max > HEAD_MOST)))
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx_region_alloc(region, sizeof(asx__http_server), &memory);
    if (st < 0)
        return st;
    asx__http_server *s = memory;
    memset(s, 0, sizeof(*s));
    s->home = *region;
    s->handler = handler;
    s->arg = arg;
    fill_options(s, options);
    asx__lock_init(&s->lock);
    asx__list_init(&s->conns);
    st = asx_notify_create(region, NULL, &s->keeper_bell);
    if (st == ASX_OK)
        ret_server->server_ = s;
    return st;
}

/* ---- connections and blocks ----------------------------------------------------------------- */

void asx__http_count(asx__atomic_u64 *counter)
{
    (void)asx__fetch_add_relaxed(counter, 1u);
}

static asx__http_conn *take_conn(asx__http_server *s)
{
    void *memory = NULL;
    asx__lock_take(&s->lock);
    asx__http_conn *conn = s->free_conns;
    if (conn != NULL)
        s->free_conns = conn->next;
    asx__lock_drop(&s->lock);
    if (conn == NULL && asx_region_alloc(&s->home, sizeof(*conn), &memory) == ASX_OK)
        conn = memory;
    if (conn == NULL)
        return NULL;
    memset(conn, 0, sizeof(*conn));
    conn->server = s;
    return conn;
}

/* Slots and bytes lie behind the block. */
static asx__http_block *make_block(asx__http_server *s)
{
    const size_t slots = s->o.fields_max * sizeof(asx_http1_slot);
    void *memory = NULL;
    if (asx_region_alloc(&s->home, sizeof(asx__http_block) + slots + s->in_size, &memory) < 0)
        return NULL;
    asx__http_block *block = memory;
    block->slots = (asx_http1_slot *)(void *)(block + 1);
    block->in = (char *)memory + sizeof(*block) + slots;
    block->in_size = s->in_size;
    block->date_second = UINT64_MAX;
    return block;
}

asx__http_block *asx__http_block_take(asx__http_conn *conn)
{
    asx__http_server *s = conn->server;
    asx__lock_take(&s->lock);
    asx__http_block *block = s->free_blocks;
    if (block != NULL)
        s->free_blocks = block->next;
    asx__lock_drop(&s->lock);
    if (block == NULL)
        block = make_block(s);
    if (block != NULL)
        block->begin = block->end = 0;
    conn->block = block;
    return block;
}

void asx__http_block_give(asx__http_conn *conn)
{
    asx__http_server *s = conn->server;
    asx__lock_take(&s->lock);
    conn->block->next = s->free_blocks;
    s->free_blocks = conn->block;
    asx__lock_drop(&s->lock);
    conn->block = NULL;
}

/* The order in which state and `stopping` are written and read: the connection writes its state and
 * then reads `stopping`, a stop writes `stopping` and then reads the state. One sees the other. */
void asx__http_phase(asx__http_conn *conn, asx__http_state state, asx_time deadline)
{
    asx__store_relaxed(&conn->deadline, deadline);
    asx__store_seq_cst(&conn->state, (uint32_t)state);
}

asx_time asx__http_allow(const asx__http_server *s, asx_time now, uint64_t base_ns,
                         uint64_t moved, uint64_t waited_ns)
{
    uint64_t seconds = moved / s->o.rate_min;
    if (seconds > UINT64_MAX / ASX_SEC)
        return ASX_TIME_NEVER;
    uint64_t allowed = asx_time_add(base_ns, seconds * ASX_SEC);
    return asx_time_add(now, allowed > waited_ns ? allowed - waited_ns : 0);
}

static const char *state_name(uint32_t state)
{
    static const char *const names[] = {
#define STATE_NAME_(name, text) text,
        ASX__HTTP_STATE_LIST(STATE_NAME_)
#undef STATE_NAME_
    };
    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

void asx__http_note_late(asx__http_conn *conn)
{
    asx__http_server *s = conn->server;
    const asx_http1_head *head = &conn->block->request.head;
    char peer[ASX_ADDRESS_TEXT_MAX], text[ASX__HTTP_LATE_TEXT];
    void *memory = NULL;
    (void)snprintf(text, sizeof(text), "%.*s %.*s from %s, %s", (int)head->method.len,
                   head->method.at, head->path.len < 60 ? (int)head->path.len : 60, head->path.at,
                   asx_address_text(&conn->peer, peer, sizeof(peer)),
                   state_name(asx__load_relaxed(&conn->state)));
    if (s->late == NULL && asx_region_alloc(&s->home, sizeof(text) * ASX__HTTP_LATE_MAX,
                                            &memory) < 0)
        memory = NULL;
    asx__lock_take(&s->lock);
    if (s->late == NULL)
        s->late = memory;
    if (s->late != NULL && s->late_count < ASX__HTTP_LATE_MAX)
        memcpy(s->late[s->late_count], text, sizeof(text));
    s->late_count++;
    asx__lock_drop(&s->lock);
}

/* ---- acceptors ------------------------------------------------------------------------------ */

static asx_status acceptor(asx_cx *cx, void *arg);

/* One more acceptor, if there may be one. Without memory for it there is none until a connection
 * ends. Called with acceptors counted for it. */
static asx_status spawn_acceptor(asx__http_server *s)
{
    asx_spawn_options options = { .name = "connection", .stack_size = s->o.stack_size };
    asx__http_conn *conn = take_conn(s);
    asx_status st = ASX_E_RESOURCE_EXHAUSTED;
    if (conn != NULL)
        st = asx_spawn_task(&s->conns_in, acceptor, conn, &options, NULL);
    if (st == ASX_OK)
        return st;
    asx__lock_take(&s->lock);
    s->acceptors--;
    if (conn != NULL) {
        conn->next = s->free_conns;
        s->free_conns = conn;
    }
    asx__lock_drop(&s->lock);
    return st;
}

/* A connection was accepted: it is in the list from now on. */
static void enlist(asx_cx *cx, asx__http_conn *conn)
{
    asx__http_server *s = conn->server;
    asx_address local;
    if (asx_stream_descriptor(cx, &conn->stream, &conn->fd) < 0)
        conn->fd = -1;
    if (asx_stream_addresses(cx, &conn->stream, &local, &conn->peer) < 0)
        memset(&conn->peer, 0, sizeof(conn->peer));
    asx__http_phase(conn, ASX__HTTP_FRESH, asx_time_add(asx_now(cx), s->o.fresh_ns));
    asx__http_count(&s->accepted);
    asx__lock_take(&s->lock);
    asx__list_push_back(&s->conns, &conn->node);
    bool first = s->count++ == 0;
    bool another = s->count < s->o.connections_max;
    if (!another)
        s->acceptors--;
    asx__lock_drop(&s->lock);
    if (first)
        (void)asx_notify_one(&s->keeper_bell);
    if (another)
        (void)spawn_acceptor(s);
}

/* It has ended. True: this task is the acceptor now. */
static bool delist(asx__http_conn *conn)
{
    asx__http_server *s = conn->server;
    asx__lock_take(&s->lock);
    asx__list_remove(&conn->node);
    s->count--;
    s->requests += asx__load_relaxed(&conn->requests);
    bool stopping = asx__load_relaxed(&s->stopping) != 0;
    bool accept = s->acceptors == 0 && !stopping;
    bool last = s->count == 0 && stopping;
    s->acceptors += accept;
    asx__lock_drop(&s->lock);
    if (last)
        (void)asx_notify_one(&s->keeper_bell);
    return accept;
}

static asx_status accept_one(asx_cx *cx, asx__http_conn *conn)
{
    asx__http_server *s = conn->server;
    for (;;) {
        asx_status st = asx_listener_accept(cx, &s->listener, &s->conns_in, &conn->stream);
        if (st != ASX_E_RESOURCE_EXHAUSTED && st != ASX_E_SYSTEM)
            return st;
        st = asx_sleep(cx, ACCEPT_PAUSE_MS * ASX_MS); /* it may be better then */
        if (st < 0)
            return st;
    }
}

static void retire(asx__http_conn *conn, bool was_acceptor)
{
    asx__http_server *s = conn->server;
    asx__lock_take(&s->lock);
    conn->next = s->free_conns;
    s->free_conns = conn;
    s->acceptors -= was_acceptor;
    bool closed = was_acceptor && s->acceptors == 0 && s->count == 0;
    asx__lock_drop(&s->lock);
    if (closed)
        (void)asx_notify_one(&s->keeper_bell);
}

static asx_status acceptor(asx_cx *cx, void *arg)
{
    asx__http_conn *conn = arg;
    bool accepts = true;
    while (accepts) {
        asx_status st = accept_one(cx, conn);
        if (st < 0)
            break;
        asx__store_relaxed(&conn->requests, 0u);
        conn->linger = conn->abort = false;
        asx__store_relaxed(&conn->expired, 0u);
        enlist(cx, conn);
        asx__http_conn_run(cx, conn);
        accepts = delist(conn);
        asx__http_conn_close(cx, conn);
    }
    retire(conn, accepts);
    return ASX_OK;
}

/* ---- the keeper ----------------------------------------------------------------------------- */

static void end_phase(asx__http_server *s, asx__http_conn *conn)
{
    uint32_t state = asx__load_relaxed(&conn->state);
    bool both = state == ASX__HTTP_RESPONSE || state == ASX__HTTP_LINGER;
    asx__store_relaxed(&conn->deadline, ASX_TIME_NEVER);
    asx__store_seq_cst(&conn->expired, 1u);
    asx__http_count(&s->expirations);
    (void)shutdown(conn->fd, both ? SHUT_RDWR : SHUT_RD);
}

/* Ends the phases whose time has come. Returns when to look again. */
static asx_time look(asx__http_server *s, asx_time now)
{
    asx_time next = asx_time_add(now, s->phase_min);
    asx__lock_take(&s->lock);
    for (asx__node *n = s->conns.next; n != &s->conns; n = n->next) {
        asx__http_conn *conn = (asx__http_conn *)(void *)n;
        asx_time deadline = asx__load_relaxed(&conn->deadline);
        if (deadline <= now)
            end_phase(s, conn);
        else
            next = lesser(next, deadline);
    }
    if (s->count == 0)
        next = ASX_TIME_NEVER;
    asx__lock_drop(&s->lock);
    return next;
}

static asx_status wait_for_bell(asx_cx *cx, void *arg)
{
    asx__http_server *s = arg;
    return asx_notify_wait(cx, &s->keeper_bell);
}

static void cancel_all(asx__http_server *s)
{
    asx_cancel_reason reason = { .kind = ASX_CANCEL_SHUTDOWN,
                                 .message = "the server was stopped, and its time is used up" };
    (void)asx_region_cancel(&s->conns_in, &reason);
}

/* Returns when the last connection is gone and there will be no other, or what is left was
 * cancelled. */
static asx_status keep(asx_cx *cx, asx__http_server *s)
{
    for (;;) {
        asx_time now = asx_now(cx), next = look(s, now);
        asx__lock_take(&s->lock);
        bool stopping = asx__load_relaxed(&s->stopping) != 0 || s->acceptors == 0;
        bool over = stopping && s->count == 0 && s->acceptors == 0;
        asx_time stop_at = asx__load_relaxed(&s->stopping) != 0 ? s->stop_at : ASX_TIME_NEVER;
        asx__lock_drop(&s->lock);
        if (over)
            return ASX_OK;
        if (stop_at <= now) {
            cancel_all(s);
            return ASX_OK;
        }
        next = lesser(next, stop_at);
        asx_branch bell = { .name = "keeper", .fn = wait_for_bell, .arg = s };
        asx_status st = next == ASX_TIME_NEVER
                            ? asx_notify_wait(cx, &s->keeper_bell)
                            : asx_timeout(cx, &bell, next - now, NULL, NULL);
        if (st < 0 && st != ASX_E_TIMEOUT)
            return st;
    }
}

/* ---- serving and stopping ------------------------------------------------------------------- */

static asx_status begin(asx__http_server *s, const asx_listener *listener)
{
    asx_status st = ASX_OK;
    asx__lock_take(&s->lock);
    if (s->serving != NOT_YET)
        st = ASX_E_INVALID_TRANSITION;
    else {
        s->serving = NOW;
        s->listener = *listener;
    }
    asx__lock_drop(&s->lock);
    return st;
}

static asx_status run(asx_cx *cx, asx__http_server *s)
{
    asx_region_options options = { .name = s->o.name, .policy = ASX_POLICY_COLLECT };
    asx_status st = asx_region_open(cx, &options, &s->conns_in);
    if (st == ASX_OK) {
        s->acceptors = 1;
        st = spawn_acceptor(s);
    }
    if (st == ASX_OK)
        st = keep(cx, s);
    return asx_region_close(&s->conns_in, st);
}

asx_status asx_http_serve(asx_cx *cx, const asx_http_server *server, const asx_listener *listener)
{
    asx_address at;
    if (server == NULL || server->server_ == NULL || listener == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__http_server *s = server->server_;
    asx_status st = asx_listener_address(cx, listener, &at);
    if (st == ASX_OK)
        st = begin(s, listener);
    if (st < 0)
        return st;
    st = run(cx, s);
    (void)asx_listener_close(cx, listener);
    asx__lock_take(&s->lock);
    bool stopped = asx__load_relaxed(&s->stopping) != 0;
    s->serving = WAS;
    asx__lock_drop(&s->lock);
    /* What a stop has cancelled is no cancellation of the caller. */
    return st == ASX_E_CANCELLED && stopped && !asx_is_cancelled(cx) ? ASX_OK : st;
}

asx_status asx_http_server_stop(asx_cx *cx, const asx_http_server *server, uint64_t budget_ns)
{
    asx_task self;
    asx_listener listener = { NULL, 0 };
    if (server == NULL || server->server_ == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx_cx_task(cx, &self);
    if (st < 0)
        return st;
    asx__http_server *s = server->server_;
    asx_time at = asx_time_add(asx_now(cx), budget_ns);
    asx__lock_take(&s->lock);
    bool first = asx__load_relaxed(&s->stopping) == 0;
    s->stop_at = first ? at : lesser(s->stop_at, at);
    asx__store_seq_cst(&s->stopping, 1u);
    if (first && s->serving == NOW)
        listener = s->listener;
    if (s->serving == NOT_YET)
        s->serving = WAS;
    for (asx__node *n = s->conns.next; n != &s->conns; n = n->next) {
        asx__http_conn *conn = (asx__http_conn *)(void *)n;
        uint32_t state = asx__load_seq_cst(&conn->state);
        if (state == ASX__HTTP_FRESH || state == ASX__HTTP_IDLE)
            (void)shutdown(conn->fd, SHUT_RD);
    }
    asx__lock_drop(&s->lock);
    if (listener.file_ != NULL)
        (void)asx_listener_close(cx, &listener);
    return asx_notify_one(&s->keeper_bell);
}

asx_status asx_http_server_get_info(const asx_http_server *server, asx_http_server_info *ret_info)
{
    if (ret_info == NULL)
        return ASX_E_INVALID_ARGUMENT;
    memset(ret_info, 0, sizeof(*ret_info));
    if (server == NULL || server->server_ == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__http_server *s = server->server_;
    asx__lock_take(&s->lock);
    ret_info->connections = s->count;
    ret_info->late = s->late_count;
    ret_info->requests = s->requests;
    for (asx__node *n = s->conns.next; n != &s->conns; n = n->next)
        ret_info->requests += asx__load_relaxed(&((asx__http_conn *)(void *)n)->requests);
    asx__lock_drop(&s->lock);
    ret_info->accepted = asx__load_relaxed(&s->accepted);
    ret_info->refused = asx__load_relaxed(&s->refused);
    ret_info->failed = asx__load_relaxed(&s->failed);
    ret_info->expired = asx__load_relaxed(&s->expirations);
    return ASX_OK;
}

const char *asx_http_server_late(const asx_http_server *server, uint32_t index)
{
    if (server == NULL || server->server_ == NULL)
        return NULL;
    asx__http_server *s = server->server_;
    asx__lock_take(&s->lock);
    bool there = s->late != NULL && index < s->late_count && index < ASX__HTTP_LATE_MAX;
    const char *text = there ? s->late[index] : NULL;
    asx__lock_drop(&s->lock);
    return text;
}
