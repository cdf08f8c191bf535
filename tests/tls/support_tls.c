#include "tls/support_tls.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- certificates --------------------------------------------------------------------------- */

static tls_files files;
static char folder[] = "/tmp/asx-tls-XXXXXX";

static void remove_files(void)
{
    const char *all[] = { files.authority, files.certificate,       files.key,
                          files.stranger,  files.other_certificate, files.other_key,
                          files.stranger_key };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        (void)unlink(all[i]);
    (void)rmdir(folder);
}

static void extend(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    CHECK(extension != NULL && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

/* Signed by the issuer, or by itself if there is none. */
static X509 *certify(EVP_PKEY *key, const char *name, const char *alternatives, X509 *issuer,
                     EVP_PKEY *issuer_key)
{
    static long serial = 1;
    X509 *x = X509_new();
    X509_NAME *subject = X509_get_subject_name(x);
    CHECK(X509_set_version(x, 2) == 1);
    ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
    X509_gmtime_adj(X509_getm_notBefore(x), -60);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
                               0);
    X509_set_issuer_name(x, issuer != NULL ? X509_get_subject_name(issuer) : subject);
    extend(x, issuer != NULL ? issuer : x, NID_basic_constraints,
           alternatives == NULL ? "critical,CA:TRUE" : "CA:FALSE");
    if (alternatives != NULL)
        extend(x, issuer != NULL ? issuer : x, NID_subject_alt_name, alternatives);
    CHECK(X509_sign(x, issuer_key != NULL ? issuer_key : key, EVP_sha256()) > 0);
    return x;
}

static void save(char *path, const char *name, X509 *certificate, EVP_PKEY *key)
{
    (void)snprintf(path, sizeof files.key, "%s/%s.pem", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    CHECK(certificate != NULL ? PEM_write_X509(file, certificate) == 1
                              : PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
    fclose(file);
}

const tls_files *tls_make_files(void)
{
    if (files.key[0] != '\0')
        return &files;
    CHECK(mkdtemp(folder) != NULL);
    atexit(remove_files);
    EVP_PKEY *authority_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
    X509 *authority = certify(authority_key, "asx test authority", NULL, NULL, NULL);
    X509 *here = certify(key, "localhost", "DNS:localhost,IP:127.0.0.1", authority, authority_key);
    X509 *there = certify(key, "elsewhere", "DNS:elsewhere.test", authority, authority_key);
    X509 *stranger = certify(key, "localhost", "DNS:localhost", NULL, NULL);
    save(files.authority, "authority", authority, NULL);
    save(files.certificate, "here", here, NULL);
    save(files.other_certificate, "there", there, NULL);
    save(files.stranger, "stranger", stranger, NULL);
    save(files.key, "key", NULL, key);
    save(files.other_key, "other-key", NULL, key);
    save(files.stranger_key, "stranger-key", NULL, key);
    X509_free(authority);
    X509_free(here);
    X509_free(there);
    X509_free(stranger);
    EVP_PKEY_free(authority_key);
    EVP_PKEY_free(key);
    return &files;
}

/* ---- connections ---------------------------------------------------------------------------- */

void tls_setting_init(tls_setting *s)
{
    const tls_files *f = tls_make_files();
    memset(s, 0, sizeof *s);
    s->server.certificate_file = f->certificate;
    s->server.key_file = f->key;
    s->client.authority_file = f->authority;
    s->host = "localhost";
}

void tls_setting_make(tls_setting *s)
{
    CHECK_STATUS(asx_tls_server_config(&s->server, &s->server_config), ASX_OK);
    CHECK_STATUS(asx_tls_client_config(&s->client, &s->client_config), ASX_OK);
}

void tls_setting_deinit(tls_setting *s)
{
    asx_tls_config_destroy(s->server_config);
    asx_tls_config_destroy(s->client_config);
}

void tls_connected(asx_cx *cx, const asx_region *region, const tls_setting *s,
                   asx_stream *ret_client, asx_stream *ret_server, asx_stream *ret_below_client,
                   asx_stream *ret_below_server)
{
    asx_address any, at;
    asx_listener listener;
    asx_stream client, server;
    CHECK_EQ(asx_address_ip("127.0.0.1", 0, &any), ASX_OK);
    CHECK_STATUS(asx_listen(cx, region, &any, NULL, &listener), ASX_OK);
    CHECK_EQ(asx_listener_address(cx, &listener, &at), ASX_OK);
    CHECK_STATUS(asx_connect(cx, region, &at, NULL, &client), ASX_OK);
    CHECK_STATUS(asx_listener_accept(cx, &listener, region, &server), ASX_OK);
    CHECK_EQ(asx_listener_close(cx, &listener), ASX_OK);
    CHECK_STATUS(asx_tls_client(cx, region, &client, s->host, s->client_config, ret_client),
                 ASX_OK);
    CHECK_STATUS(asx_tls_server(cx, region, &server, s->server_config, ret_server), ASX_OK);
    if (ret_below_client != NULL)
        *ret_below_client = client;
    if (ret_below_server != NULL)
        *ret_below_server = server;
}

void tls_run(asx_task_fn fn, void *arg)
{
    asx_runtime *rt;
    asx_io_stats io;
    CHECK_EQ(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, fn, arg), ASX_OK);
    CHECK_EQ(asx_runtime_io_stats(rt, &io), ASX_OK);
    CHECK_EQ(io.open, 0u);
    CHECK_EQ(io.closing, 0u);
    CHECK_EQ(io.in_flight, 0u);
    CHECK_EQ(asx_runtime_destroy(rt), ASX_OK);
}

asx_status tls_shakes(asx_cx *cx, void *arg)
{
    return asx_tls_handshake(cx, arg);
}
