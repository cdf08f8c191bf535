/* config.c - what a server shows and a client asks for. */
#include "tls/tls.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#define PROTOCOL_MAX 31u

/* ---- sessions ------------------------------------------------------------------------------- */

static asx__tls_session *find(asx_tls_config *config, const char *host)
{
    for (unsigned i = 0; i < ASX__TLS_SESSIONS; i++) {
        asx__tls_session *s = &config->sessions[i];
        if (s->session != NULL && strcmp(s->host, host) == 0)
            return s;
    }
    return NULL;
}

/* OpenSSL: the client has a session. Non-zero: it is kept. */
static int keep_session(SSL *ssl, SSL_SESSION *session)
{
    asx__tls *t = SSL_get_app_data(ssl);
    asx_tls_config *config = t->config;
    pthread_mutex_lock(&config->lock);
    asx__tls_session *s = find(config, t->host);
    if (s == NULL)
        s = &config->sessions[config->next++ % ASX__TLS_SESSIONS];
    SSL_SESSION_free(s->session);
    memcpy(s->host, t->host, sizeof s->host);
    s->session = session;
    pthread_mutex_unlock(&config->lock);
    return 1;
}

SSL_SESSION *asx__tls_session_take(asx_tls_config *config, const char *host)
{
    SSL_SESSION *session = NULL;
    pthread_mutex_lock(&config->lock);
    asx__tls_session *s = find(config, host);
    if (s != NULL) {
        session = s->session;
        s->session = NULL;
    }
    pthread_mutex_unlock(&config->lock);
    return session;
}

/* ---- ALPN ----------------------------------------------------------------------------------- */

static bool set_protocols(asx_tls_config *config, const char *const *protocols, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = protocols != NULL && protocols[i] != NULL ? strlen(protocols[i]) : 0;
        if (len == 0 || len > PROTOCOL_MAX ||
            config->protocols_len + 1 + len > sizeof config->protocols)
            return false;
        config->protocols[config->protocols_len++] = (unsigned char)len;
        memcpy(&config->protocols[config->protocols_len], protocols[i], len);
        config->protocols_len += (unsigned)len;
    }
    return true;
}

/* OpenSSL: what the client offers; the server's order counts. */
static int choose_protocol(SSL *ssl, const unsigned char **ret_chosen, unsigned char *ret_len,
                           const unsigned char *offered, unsigned offered_len, void *arg)
{
    const asx_tls_config *config = arg;
    unsigned char *chosen;
    (void)ssl;
    if (SSL_select_next_proto(&chosen, ret_len, config->protocols, config->protocols_len, offered,
                              offered_len) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *ret_chosen = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* ---- making --------------------------------------------------------------------------------- */

static asx_tls_config *make(const SSL_METHOD *method, bool server)
{
    asx_tls_config *config = calloc(1, sizeof *config);
    if (config == NULL)
        return NULL;
    config->context = SSL_CTX_new(method);
    if (config->context == NULL) {
        free(config);
        return NULL;
    }
    config->server = server;
    asx__atomic_init(&config->users, 1u);
    pthread_mutex_init(&config->lock, NULL);
    (void)SSL_CTX_set_min_proto_version(config->context, TLS1_2_VERSION);
    SSL_CTX_set_options(config->context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                             SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(config->context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                          SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return config;
}

void asx__tls_config_ref(asx_tls_config *config)
{
    (void)asx__fetch_add_relaxed(&config->users, 1u);
}

void asx_tls_config_destroy(asx_tls_config *config)
{
    if (config == NULL || asx__fetch_sub_acq_rel(&config->users, 1u) != 1)
        return;
    for (unsigned i = 0; i < ASX__TLS_SESSIONS; i++)
        SSL_SESSION_free(config->sessions[i].session);
    SSL_CTX_free(config->context);
    pthread_mutex_destroy(&config->lock);
    free(config);
}

/* The certificate with its chain, and its key. */
static bool show(SSL_CTX *context, const char *certificate_file, const char *key_file)
{
    return SSL_CTX_use_certificate_chain_file(context, certificate_file) == 1 &&
           SSL_CTX_use_PrivateKey_file(context, key_file, SSL_FILETYPE_PEM) == 1 &&
           SSL_CTX_check_private_key(context) == 1;
}

static asx_status set_up_server(asx_tls_config *config, const asx_tls_server_options *o)
{
    static const unsigned char place[] = "asx"; /* sessions of one place are good in it only */
    if (!set_protocols(config, o->protocols, o->protocol_count))
        return ASX_E_INVALID_ARGUMENT;
    if (!show(config->context, o->certificate_file, o->key_file))
        return ASX_E_TLS_FILE;
    if (config->protocols_len != 0)
        SSL_CTX_set_alpn_select_cb(config->context, choose_protocol, config);
    (void)SSL_CTX_set_session_id_context(config->context, place, sizeof place - 1);
    if (o->client_authority_file == NULL)
        return ASX_OK;
    if (SSL_CTX_load_verify_file(config->context, o->client_authority_file) != 1)
        return ASX_E_TLS_FILE;
    SSL_CTX_set_client_CA_list(config->context, SSL_load_client_CA_file(o->client_authority_file));
    SSL_CTX_set_verify(config->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return ASX_OK;
}

static asx_status set_up_client(asx_tls_config *config, const asx_tls_client_options *o)
{
    if (!set_protocols(config, o->protocols, o->protocol_count))
        return ASX_E_INVALID_ARGUMENT;
    bool trusts = o->authority_file != NULL
                      ? SSL_CTX_load_verify_file(config->context, o->authority_file) == 1
                      : SSL_CTX_set_default_verify_paths(config->context) == 1;
    if (!trusts || (o->certificate_file != NULL &&
                    !show(config->context, o->certificate_file, o->key_file)))
        return ASX_E_TLS_FILE;
    /* 0: what was asked for is in the right order; this call alone says 0 for success. */
    if (config->protocols_len != 0 &&
        SSL_CTX_set_alpn_protos(config->context, config->protocols, config->protocols_len) != 0)
        return ASX_E_RESOURCE_EXHAUSTED;
    SSL_CTX_set_verify(config->context, o->unverified ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_cache_mode(config->context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(config->context, keep_session);
    return ASX_OK;
}

/* What OpenSSL has to say of a failure is not for the next call on this thread. */
static asx_status made(asx_tls_config *config, asx_status st, asx_tls_config **ret_config)
{
    ERR_clear_error();
    if (st < 0)
        asx_tls_config_destroy(config);
    else
        *ret_config = config;
    return st;
}

asx_status asx_tls_server_config(const asx_tls_server_options *options,
                                 asx_tls_config **ret_config)
{
    if (ret_config == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_config = NULL;
    if (options == NULL || options->certificate_file == NULL || options->key_file == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_tls_config *config = make(TLS_server_method(), true);
    if (config == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    return made(config, set_up_server(config, options), ret_config);
}

asx_status asx_tls_client_config(const asx_tls_client_options *options,
                                 asx_tls_config **ret_config)
{
    static const asx_tls_client_options none;
    if (ret_config == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_config = NULL;
    if (options == NULL)
        options = &none;
    if ((options->certificate_file == NULL) != (options->key_file == NULL))
        return ASX_E_INVALID_ARGUMENT;
    asx_tls_config *config = make(TLS_client_method(), false);
    if (config == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    return made(config, set_up_client(config, options), ret_config);
}
