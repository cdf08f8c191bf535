/* test_tls.c - streams with TLS: what goes over, what is refused, how it ends. */
#include "tls/support_tls.h"

#include <string.h>

/* Handshake of both ends, and what each says. */
static void shake_both(asx_cx *cx, const asx_region *region, asx_stream *client,
                       asx_stream *server, asx_status *ret_client, asx_status *ret_server)
{
    asx_region both;
    asx_task task;
    asx_join_result result;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    (void)region;
    CHECK_EQ(asx_region_open(cx, &options, &both), ASX_OK);
    CHECK_EQ(asx_spawn_task(&both, tls_shakes, server, NULL, &task), ASX_OK);
    *ret_client = asx_tls_handshake(cx, client);
    if (*ret_client < 0)
        CHECK_EQ(asx_stream_close(cx, client), ASX_OK);
    CHECK_EQ(asx_join(cx, &task, &result), ASX_OK);
    *ret_server = result.outcome.status;
    (void)!asx_region_close(&both, ASX_OK);
}

static void shake_well(asx_cx *cx, const asx_region *region, asx_stream *client,
                       asx_stream *server)
{
    asx_status at_client, at_server;
    shake_both(cx, region, client, server, &at_client, &at_server);
    CHECK_STATUS(at_client, ASX_OK);
    CHECK_STATUS(at_server, ASX_OK);
}

/* ---- transfers ------------------------------------------------------------------------------ */

enum { MUCH = 1 << 20 };
static unsigned char sent[MUCH], came[MUCH];

static asx_status pours(asx_cx *cx, void *arg)
{
    size_t done = 0;
    asx_status st = asx_stream_write_all(cx, arg, sent, MUCH, &done);
    CHECK_STATUS(st, ASX_OK);
    return asx_stream_shutdown(cx, arg);
}

static asx_status talks(asx_cx *cx, void *arg)
{
    asx_region here, inner;
    asx_stream client, server;
    asx_tls_details d;
    size_t n, done = 0;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    tls_connected(cx, &here, arg, &client, &server, NULL, NULL);
    shake_well(cx, &here, &client, &server);
    CHECK_EQ(asx_tls_handshake(cx, &client), ASX_OK); /* once more is no mistake */
    CHECK_EQ(asx_tls_info(cx, &server, &d), ASX_OK);
    CHECK_STR_EQ(d.version, "TLSv1.3");
    CHECK_STR_EQ(d.protocol, "http/1.1");
    CHECK_STR_EQ(d.host, "localhost");
    CHECK_STR_EQ(d.why, "");
    CHECK(!d.resumed);
    for (size_t i = 0; i < MUCH; i++)
        sent[i] = (unsigned char)(i * 31 + i / 251);
    CHECK_EQ(asx_region_open(cx, NULL, &inner), ASX_OK);
    CHECK_EQ(asx_spawn(&inner, "pours", pours, &client), ASX_OK);
    CHECK_STATUS(asx_stream_read_exact(cx, &server, came, MUCH, &done), ASX_OK);
    CHECK(memcmp(sent, came, MUCH) == 0);
    CHECK_EQ(asx_stream_read(cx, &server, came, 1, &n), ASX_OK);
    CHECK_EQ(n, 0u); /* the end, as the client has said */
    CHECK_EQ(asx_region_close(&inner, ASX_OK), ASX_OK);
    done = 0;
    CHECK_EQ(asx_stream_write_all(cx, &server, "bye", 3, &done), ASX_OK); /* the other way still */
    done = 0;
    CHECK_EQ(asx_stream_read_exact(cx, &client, came, 3, &done), ASX_OK);
    CHECK_MEM_EQ(came, "bye", 3);
    CHECK_EQ(asx_stream_close(cx, &server), ASX_OK);
    CHECK_EQ(asx_stream_read(cx, &client, came, 1, &n), ASX_OK);
    CHECK_EQ(n, 0u); /* a close says it, too */
    return asx_stream_close(cx, &client);
}

ASX_TEST(what_is_written_is_read_and_each_direction_has_its_own_end)
{
    static const char *const at_server[] = { "http/1.1" };
    static const char *const at_client[] = { "spdy/1", "http/1.1" };
    tls_setting s;
    tls_setting_init(&s);
    s.server.protocols = at_server;
    s.server.protocol_count = 1;
    s.client.protocols = at_client;
    s.client.protocol_count = 2;
    tls_setting_make(&s);
    tls_run(talks, &s);
    tls_setting_deinit(&s);
}

/* What goes over the stream below is not what was written. */
static asx_status listens_below(asx_cx *cx, void *arg)
{
    asx_region here;
    asx_stream client, server, below;
    asx_stream_details over, under;
    size_t done = 0;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    tls_connected(cx, &here, arg, &client, &server, NULL, &below);
    shake_well(cx, &here, &client, &server);
    CHECK_EQ(asx_stream_info(cx, &below, &under), ASX_OK);
    uint64_t before = under.written;
    CHECK_EQ(asx_stream_write_all(cx, &server, "secret", 6, &done), ASX_OK);
    CHECK_EQ(asx_stream_info(cx, &server, &over), ASX_OK);
    CHECK_EQ(asx_stream_info(cx, &below, &under), ASX_OK);
    CHECK_EQ(over.written, 6u);
    CHECK(under.written >= before + 6 + 16); /* a record has a head and a tag */
    return ASX_OK; /* both end with the region */
}

ASX_TEST(a_record_has_a_head_and_a_tag_and_streams_end_with_their_region)
{
    tls_setting s;
    tls_setting_init(&s);
    tls_setting_make(&s);
    tls_run(listens_below, &s);
    tls_setting_deinit(&s);
}

/* ---- trust ---------------------------------------------------------------------------------- */

typedef struct refusal {
    tls_setting setting;
    asx_status client, server; /* what they must say */
    char why[160];             /* of the client */
} refusal;

static asx_status is_refused(asx_cx *cx, void *arg)
{
    refusal *r = arg;
    asx_region here;
    asx_stream client, server;
    asx_status at_client, at_server;
    asx_tls_details d;
    size_t n;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    tls_connected(cx, &here, &r->setting, &client, &server, NULL, NULL);
    asx_region both;
    asx_task task;
    asx_join_result result;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    CHECK_EQ(asx_region_open(cx, &options, &both), ASX_OK);
    CHECK_EQ(asx_spawn_task(&both, tls_shakes, &server, NULL, &task), ASX_OK);
    at_client = asx_tls_handshake(cx, &client);
    if (at_client == ASX_OK) /* in TLS 1.3 a client hears of the server's refusal by reading */
        at_client = asx_stream_read(cx, &client, came, 1, &n);
    CHECK_EQ(asx_join(cx, &task, &result), ASX_OK);
    at_server = result.outcome.status;
    (void)!asx_region_close(&both, ASX_OK);
    CHECK_STATUS(at_client, r->client);
    CHECK_STATUS(at_server, r->server);
    CHECK_EQ(asx_tls_info(cx, &client, &d), ASX_OK);
    CHECK(d.why[0] != '\0');
    memcpy(r->why, d.why, sizeof r->why);
    CHECK_STATUS(asx_stream_read(cx, &client, came, 1, &n), r->client); /* only a close is left */
    CHECK_EQ(asx_stream_close(cx, &client), ASX_OK);
    return asx_stream_close(cx, &server);
}

static void run_refusal(refusal *r)
{
    tls_setting_make(&r->setting);
    tls_run(is_refused, r);
    tls_setting_deinit(&r->setting);
}

ASX_TEST(a_certificate_that_no_authority_has_signed_is_refused)
{
    refusal r = { .client = ASX_E_TLS_UNVERIFIED, .server = ASX_E_TLS };
    tls_setting_init(&r.setting);
    r.setting.server.certificate_file = tls_make_files()->stranger;
    run_refusal(&r);
    CHECK_STR_EQ(r.why, "self-signed certificate");
}

ASX_TEST(a_certificate_for_another_host_is_refused)
{
    refusal r = { .client = ASX_E_TLS_UNVERIFIED, .server = ASX_E_TLS };
    tls_setting_init(&r.setting);
    r.setting.server.certificate_file = tls_make_files()->other_certificate;
    run_refusal(&r);
    CHECK_STR_EQ(r.why, "hostname mismatch");
}

ASX_TEST(an_authority_that_the_system_does_not_know_is_not_trusted_by_default)
{
    refusal r = { .client = ASX_E_TLS_UNVERIFIED, .server = ASX_E_TLS };
    tls_setting_init(&r.setting);
    r.setting.client.authority_file = NULL;
    run_refusal(&r);
}

ASX_TEST(a_client_without_the_certificate_that_is_asked_for_is_refused)
{
    refusal r = { .client = ASX_E_TLS, .server = ASX_E_TLS };
    tls_setting_init(&r.setting);
    r.setting.server.client_authority_file = tls_make_files()->authority;
    run_refusal(&r);
}

ASX_TEST(a_client_with_no_protocol_in_common_is_refused)
{
    static const char *const one[] = { "h2" }, *const other[] = { "http/1.1" };
    refusal r = { .client = ASX_E_TLS, .server = ASX_E_TLS };
    tls_setting_init(&r.setting);
    r.setting.server.protocols = one;
    r.setting.client.protocols = other;
    r.setting.server.protocol_count = r.setting.client.protocol_count = 1;
    run_refusal(&r);
}

static asx_status agrees(asx_cx *cx, void *arg)
{
    asx_region here;
    asx_stream client, server;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    tls_connected(cx, &here, arg, &client, &server, NULL, NULL);
    shake_well(cx, &here, &client, &server);
    return ASX_OK;
}

ASX_TEST(a_client_may_show_a_certificate_and_ask_for_an_address)
{
    tls_setting s;
    tls_setting_init(&s);
    s.server.client_authority_file = tls_make_files()->authority;
    s.client.certificate_file = tls_make_files()->other_certificate;
    s.client.key_file = tls_make_files()->other_key;
    s.host = "127.0.0.1";
    tls_setting_make(&s);
    tls_run(agrees, &s);
    tls_setting_deinit(&s);
}

ASX_TEST(verification_is_left_out_only_if_that_is_asked_for)
{
    tls_setting s;
    tls_setting_init(&s);
    s.server.certificate_file = tls_make_files()->stranger;
    s.client.unverified = true;
    tls_setting_make(&s);
    tls_run(agrees, &s);
    tls_setting_deinit(&s);
}

/* ---- sessions ------------------------------------------------------------------------------- */

static asx_status comes_back(asx_cx *cx, void *arg)
{
    for (int turn = 0; turn < 2; turn++) {
        asx_region inner;
        asx_stream client, server;
        asx_tls_details d;
        size_t done = 0;
        CHECK_EQ(asx_region_open(cx, NULL, &inner), ASX_OK);
        tls_connected(cx, &inner, arg, &client, &server, NULL, NULL);
        shake_well(cx, &inner, &client, &server);
        CHECK_EQ(asx_stream_write_all(cx, &server, "x", 1, &done), ASX_OK);
        done = 0; /* tickets come before it */
        CHECK_EQ(asx_stream_read_exact(cx, &client, came, 1, &done), ASX_OK);
        CHECK_EQ(asx_tls_info(cx, &client, &d), ASX_OK);
        CHECK_EQ(d.resumed, turn == 1);
        CHECK_EQ(asx_region_close(&inner, ASX_OK), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST(a_session_with_the_same_host_is_taken_up_again)
{
    tls_setting s;
    tls_setting_init(&s);
    tls_setting_make(&s);
    tls_run(comes_back, &s);
    tls_setting_deinit(&s);
}

/* ---- cancellation --------------------------------------------------------------------------- */

/* In a task of its own, for a cancelled task stays cancelled. */
typedef struct attempt {
    asx_stream *stream;
    bool writes;
    size_t n; /* bytes that went over, as the calls have said */
} attempt;

static asx_status attempts(asx_cx *cx, void *arg)
{
    attempt *a = arg;
    asx_status st = ASX_OK;
    size_t n = 0;
    while (st == ASX_OK) {
        a->n += n;
        st = a->writes ? asx_stream_write(cx, a->stream, sent + a->n, MUCH - a->n, &n)
                       : asx_stream_read(cx, a->stream, came, 1, &n);
    }
    CHECK_EQ(n, 0u);
    return st;
}

static void attempt_until_cancelled(asx_cx *cx, attempt *a)
{
    asx_region soon;
    asx_region_options options = { .timeout_ns = 50 * ASX_MS };
    CHECK_EQ(asx_region_open(cx, &options, &soon), ASX_OK);
    CHECK_EQ(asx_spawn(&soon, "attempt", attempts, a), ASX_OK);
    CHECK_STATUS(asx_region_close(&soon, ASX_OK), ASX_E_TIMEOUT);
}

static asx_status goes_on(asx_cx *cx, void *arg)
{
    asx_region here;
    asx_stream client, server, below_client, below_server;
    asx_stream_tuning narrow = ASX_STREAM_TUNING;
    size_t done = 0;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    tls_connected(cx, &here, arg, &client, &server, &below_client, &below_server);
    shake_well(cx, &here, &client, &server);
    attempt reading = { &client, false, 0 };
    attempt_until_cancelled(cx, &reading);
    CHECK_EQ(asx_stream_write_all(cx, &server, "still", 5, &done), ASX_OK);
    done = 0;
    CHECK_EQ(asx_stream_read_exact(cx, &client, came, 5, &done), ASX_OK);
    CHECK_MEM_EQ(came, "still", 5);

    for (size_t i = 0; i < MUCH; i++)
        sent[i] = (unsigned char)(i * 7 + i / 509);
    narrow.send_buffer = narrow.receive_buffer = 4096; /* a megabyte does not fit in between */
    CHECK_EQ(asx_stream_tune(cx, &below_client, &narrow), ASX_OK);
    CHECK_EQ(asx_stream_tune(cx, &below_server, &narrow), ASX_OK);
    attempt writing = { &server, true, 0 };
    attempt_until_cancelled(cx, &writing);
    CHECK(writing.n >= 16384 && writing.n < MUCH);
    return ASX_OK;
}

ASX_TEST(a_cancelled_read_or_write_has_a_count_and_leaves_the_stream_good)
{
    tls_setting s;
    tls_setting_init(&s);
    tls_setting_make(&s);
    tls_run(goes_on, &s);
    tls_setting_deinit(&s);
}

typedef struct reader {
    asx_stream *stream;
    size_t size;
} reader;

static asx_status reads_all(asx_cx *cx, void *arg)
{
    reader *r = arg;
    size_t done = 0;
    return asx_stream_read_exact(cx, r->stream, came, r->size, &done);
}

/* What a cancelled write has encrypted, and what comes after it, arrive once and in order. */
static asx_status loses_nothing(asx_cx *cx, void *arg)
{
    asx_region here, inner;
    asx_stream client, server, below_client, below_server;
    asx_stream_tuning narrow = ASX_STREAM_TUNING;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    tls_connected(cx, &here, arg, &client, &server, &below_client, &below_server);
    narrow.send_buffer = narrow.receive_buffer = 32768;
    CHECK_EQ(asx_stream_tune(cx, &below_client, &narrow), ASX_OK);
    CHECK_EQ(asx_stream_tune(cx, &below_server, &narrow), ASX_OK);
    shake_well(cx, &here, &client, &server);
    for (size_t i = 0; i < MUCH; i++)
        sent[i] = (unsigned char)(i * 13 + i / 257);
    attempt writing = { &server, true, 0 };
    attempt_until_cancelled(cx, &writing);
    CHECK(writing.n < MUCH);
    reader all = { &client, MUCH };
    CHECK_EQ(asx_region_open(cx, NULL, &inner), ASX_OK);
    CHECK_EQ(asx_spawn(&inner, "reader", reads_all, &all), ASX_OK);
    size_t done = writing.n;
    for (size_t i = done; i < MUCH; i++) /* what was not counted may be something else now */
        sent[i] ^= 0x5a;
    CHECK_STATUS(asx_stream_write_all(cx, &server, sent, MUCH, &done), ASX_OK);
    CHECK_EQ(asx_region_close(&inner, ASX_OK), ASX_OK);
    CHECK(memcmp(sent, came, MUCH) == 0);
    return ASX_OK;
}

ASX_TEST(what_a_cancelled_write_has_counted_arrives_once_and_in_order)
{
    tls_setting s;
    tls_setting_init(&s);
    tls_setting_make(&s);
    tls_run(loses_nothing, &s);
    tls_setting_deinit(&s);
}

/* ---- how it ends ---------------------------------------------------------------------------- */

static asx_status is_cut(asx_cx *cx, void *arg)
{
    asx_region here;
    asx_stream client, server, below_server;
    size_t n;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    tls_connected(cx, &here, arg, &client, &server, NULL, &below_server);
    shake_well(cx, &here, &client, &server);
    CHECK_EQ(asx_stream_close(cx, &below_server), ASX_OK); /* behind the back of TLS */
    CHECK_STATUS(asx_stream_read(cx, &client, came, 1, &n), ASX_E_TLS_TRUNCATED);
    CHECK_STATUS(asx_stream_write(cx, &client, "x", 1, &n), ASX_E_TLS_TRUNCATED);
    return asx_stream_close(cx, &client);
}

ASX_TEST(a_connection_that_ends_without_a_word_is_no_end_of_the_input)
{
    tls_setting s;
    tls_setting_init(&s);
    tls_setting_make(&s);
    tls_run(is_cut, &s);
    tls_setting_deinit(&s);
}

static asx_status talks_nonsense(asx_cx *cx, void *arg)
{
    tls_setting *s = arg;
    asx_region here;
    asx_stream one, other, server;
    asx_tls_details d;
    size_t done = 0;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &here, &one, &other), ASX_OK);
    CHECK_EQ(asx_tls_server(cx, &here, &other, s->server_config, &server), ASX_OK);
    CHECK_EQ(asx_stream_write_all(cx, &one, "GET / HTTP/1.1\r\n\r\n", 18, &done), ASX_OK);
    CHECK_STATUS(asx_tls_handshake(cx, &server), ASX_E_TLS);
    CHECK_EQ(asx_tls_info(cx, &server, &d), ASX_OK);
    CHECK_STR_EQ(d.why, "http request");
    CHECK_STR_EQ(d.version, "");
    return asx_stream_close(cx, &server);
}

ASX_TEST(bytes_that_are_not_tls_are_refused_in_words)
{
    tls_setting s;
    tls_setting_init(&s);
    tls_setting_make(&s);
    tls_run(talks_nonsense, &s);
    tls_setting_deinit(&s);
}

/* ---- poll tasks ----------------------------------------------------------------------------- */

typedef struct echo {
    asx_stream *stream;
    char bytes[8];
    size_t len, done;
    bool ended;
} echo;

/* Echoes until the end. */
static asx_poll echoes(asx_cx *cx, void *arg)
{
    echo *e = arg;
    for (;;) {
        asx_status st = ASX_OK;
        if (e->done < e->len)
            st = asx_stream_write_all(cx, e->stream, e->bytes, e->len, &e->done);
        else if (!e->ended) {
            st = asx_stream_read(cx, e->stream, e->bytes, sizeof e->bytes, &e->len);
            e->done = 0;
            e->ended = st == ASX_OK && e->len == 0;
        } else
            return ASX_POLL_READY;
        if (st == ASX_E_WOULD_BLOCK)
            return ASX_POLL_PENDING;
        if (st < 0)
            return asx_poll_fail(cx, st);
    }
}

static asx_status is_echoed(asx_cx *cx, void *arg)
{
    static const char words[] = "the handshake is made by the first read";
    asx_region here, inner;
    asx_stream client, server;
    size_t done = 0;
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    tls_connected(cx, &here, arg, &client, &server, NULL, NULL);
    echo e = { .stream = &server };
    CHECK_EQ(asx_region_open(cx, NULL, &inner), ASX_OK);
    CHECK_EQ(asx_spawn_poll(&inner, "echo", echoes, &e), ASX_OK);
    CHECK_STATUS(asx_stream_write_all(cx, &client, words, sizeof words, &done), ASX_OK);
    done = 0;
    CHECK_STATUS(asx_stream_read_exact(cx, &client, came, sizeof words, &done), ASX_OK);
    CHECK_MEM_EQ(came, words, sizeof words);
    CHECK_EQ(asx_stream_shutdown(cx, &client), ASX_OK);
    return asx_region_close(&inner, ASX_OK);
}

ASX_TEST(a_poll_task_makes_the_same_calls)
{
    tls_setting s;
    tls_setting_init(&s);
    tls_setting_make(&s);
    tls_run(is_echoed, &s);
    tls_setting_deinit(&s);
}
