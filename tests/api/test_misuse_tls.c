/* test_misuse_tls.c - TLS asked for in wrong ways: a status, and nothing happens. */
#include "tls/support_tls.h"

#include <string.h>

static void misuse_configs(void)
{
    const tls_files *f = tls_make_files();
    const char *const empty[] = { "" };
    asx_tls_config *config = (asx_tls_config *)&config;
    asx_tls_server_options o = { .certificate_file = f->certificate };
    CHECK_EQ(asx_tls_server_config(NULL, &config), ASX_E_INVALID_ARGUMENT);
    CHECK(config == NULL);
    CHECK_EQ(asx_tls_server_config(&o, &config), ASX_E_INVALID_ARGUMENT);
    o.key_file = f->key;
    CHECK_EQ(asx_tls_server_config(&o, NULL), ASX_E_INVALID_ARGUMENT);
    o.protocols = empty;
    o.protocol_count = 1;
    CHECK_EQ(asx_tls_server_config(&o, &config), ASX_E_INVALID_ARGUMENT);
    o.protocol_count = 0;
    o.key_file = "/nowhere/key.pem";
    CHECK_EQ(asx_tls_server_config(&o, &config), ASX_E_TLS_FILE);
    o.key_file = f->authority; /* no key */
    CHECK_EQ(asx_tls_server_config(&o, &config), ASX_E_TLS_FILE);
    o.key_file = f->key;
    o.certificate_file = f->authority; /* another key's */
    CHECK_EQ(asx_tls_server_config(&o, &config), ASX_E_TLS_FILE);
    CHECK(config == NULL);
    asx_tls_client_options c = { .key_file = f->key };
    CHECK_EQ(asx_tls_client_config(&c, &config), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_tls_client_config(NULL, NULL), ASX_E_INVALID_ARGUMENT);
    c = (asx_tls_client_options){ .authority_file = f->key };
    CHECK_EQ(asx_tls_client_config(&c, &config), ASX_E_TLS_FILE);
    asx_tls_config_destroy(NULL);
}

static asx_status misuse_streams(asx_cx *cx, void *arg)
{
    const tls_setting *s = arg;
    asx_region here;
    asx_stream one, other, out, none = { NULL, 0 };
    asx_tls_details d;
    char host[300];
    memset(host, 'a', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    CHECK_EQ(asx_cx_region(cx, &here), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, &here, &one, &other), ASX_OK);
    CHECK_EQ(asx_tls_server(cx, &here, NULL, s->server_config, &out), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_tls_server(cx, &here, &one, NULL, &out), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_tls_server(cx, &here, &one, s->client_config, &out), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_tls_server(cx, &here, &one, s->server_config, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_tls_server(NULL, &here, &one, s->server_config, &out), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_tls_client(cx, &here, &one, NULL, s->client_config, &out),
             ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_tls_client(cx, &here, &one, "", s->client_config, &out), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_tls_client(cx, &here, &one, host, s->client_config, &out),
             ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_tls_client(cx, &here, &one, "a", s->server_config, &out),
             ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_stream_close(cx, &out), ASX_E_INVALID_ARGUMENT); /* what was written is none */
    CHECK_EQ(asx_tls_handshake(cx, &one), ASX_E_INVALID_ARGUMENT); /* has no TLS */
    CHECK_EQ(asx_tls_handshake(cx, &none), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_tls_handshake(cx, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_tls_info(cx, &one, &d), ASX_E_INVALID_ARGUMENT);
    CHECK_STR_EQ(d.version, "");
    CHECK_EQ(asx_tls_info(cx, &one, NULL), ASX_E_INVALID_ARGUMENT);
    CHECK_EQ(asx_tls_client(cx, &here, &one, "a", s->client_config, &out), ASX_OK);
    CHECK_EQ(asx_stream_close(cx, &out), ASX_OK);
    CHECK_EQ(asx_tls_handshake(cx, &out), ASX_E_STALE_HANDLE);
    return ASX_OK;
}

ASX_TEST(tls_refuses_what_it_cannot_do)
{
    tls_setting s;
    misuse_configs();
    tls_setting_init(&s);
    tls_setting_make(&s);
    tls_run(misuse_streams, &s);
    tls_setting_deinit(&s);
}
