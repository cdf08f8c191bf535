/* stream.c - the layer: handshake, reading, writing, the end. */
#include "tls/tls.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Plain bytes that make one record, cipher that is fetched or sent at a time. */
enum { PLAIN_MAX = 16384, PIECE = 16384 + 512 };

static const asx_stream_layer layer;

/* ---- what goes wrong ------------------------------------------------------------------------ */

/* With the lock: nothing but a close is left. */
static asx_status breaks(asx__tls *t, asx_status st, const char *why)
{
    if (t->broken == ASX_OK) {
        t->broken = st;
        (void)snprintf(t->why, sizeof t->why, "%s", why);
    }
    return t->broken;
}

/* With the lock: OpenSSL has refused. */
static asx_status refused(asx__tls *t, int error)
{
    unsigned long code = ERR_peek_last_error();
    const char *why = ERR_reason_error_string(code);
    long verdict = SSL_get_verify_result(t->ssl);
    asx_status st = ASX_E_TLS;
    if (ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        st = ASX_E_TLS_UNVERIFIED;
        why = X509_verify_cert_error_string(verdict);
    } else if (error == SSL_ERROR_SYSCALL ||
               ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        st = ASX_E_TLS_TRUNCATED;
    }
    ERR_clear_error();
    return breaks(t, st, why != NULL ? why : "the peer does not keep to the protocol");
}

/* ---- cipher --------------------------------------------------------------------------------- */

/* With the lock: the next cipher to go, in `going`. False: there is none, or no memory. */
static bool next_piece(asx__tls *t, asx_status *ret_st)
{
    *ret_st = ASX_OK;
    if (t->going_done < t->going_len)
        return true;
    if (BIO_ctrl_pending(t->out) == 0) {
        free(t->going); /* an idle connection has no buffer */
        t->going = NULL;
        t->going_len = t->going_done = 0;
        return false;
    }
    if (t->going == NULL)
        t->going = malloc(PIECE);
    if (t->going == NULL) {
        *ret_st = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    int n = BIO_read(t->out, t->going, PIECE);
    t->going_len = n > 0 ? (size_t)n : 0;
    t->going_done = 0;
    return n > 0;
}

/* Sends what has been encrypted. By the task that makes the handshake, and from then on by the one
 * that writes. */
static asx_status flush(asx_cx *cx, asx__tls *t)
{
    asx_status st = ASX_OK;
    pthread_mutex_lock(&t->lock);
    while (st == ASX_OK && next_piece(t, &st)) {
        t->flushing = true;
        pthread_mutex_unlock(&t->lock);
        st = asx_stream_write_all(cx, &t->below, t->going, t->going_len, &t->going_done);
        pthread_mutex_lock(&t->lock);
        t->flushing = false;
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}

/* Waits for cipher and takes it in. The buffer is there only while there is something. */
static asx_status fetch(asx_cx *cx, asx__tls *t)
{
    unsigned ready;
    size_t n = 0;
    asx_status st = asx_stream_wait(cx, &t->below, ASX_IO_READABLE, &ready);
    if (st < 0)
        return st;
    unsigned char *piece = malloc(PIECE);
    if (piece == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    st = asx_stream_read(cx, &t->below, piece, PIECE, &n);
    pthread_mutex_lock(&t->lock);
    if (st == ASX_OK && n == 0)
        st = breaks(t, ASX_E_TLS_TRUNCATED, "the connection ended without a close_notify");
    else if (st == ASX_OK && BIO_write(t->in, piece, (int)n) != (int)n)
        st = breaks(t, ASX_E_RESOURCE_EXHAUSTED, "no memory for what has come");
    pthread_mutex_unlock(&t->lock);
    free(piece);
    return st;
}

/* ---- handshake ------------------------------------------------------------------------------ */

/* One step of it. ASX_OK: done; ASX_E_EMPTY: more must come first. */
static asx_status shake_step(asx__tls *t)
{
    pthread_mutex_lock(&t->lock);
    asx_status st = t->broken;
    if (st == ASX_OK) {
        ERR_clear_error();
        int result = SSL_do_handshake(t->ssl);
        int error = SSL_get_error(t->ssl, result);
        if (result != 1)
            st = error == SSL_ERROR_WANT_READ ? ASX_E_EMPTY : refused(t, error);
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}

static asx_status shake(asx_cx *cx, asx__tls *t)
{
    for (;;) {
        asx_status st = shake_step(t);
        asx_status sent = flush(cx, t); /* also the alert that says why not */
        if (st < 0 && st != ASX_E_EMPTY)
            return st;
        if (sent < 0)
            return sent;
        if (st == ASX_OK)
            return ASX_OK;
        st = fetch(cx, t);
        if (st < 0)
            return st;
    }
}

static asx_status handshake(asx_cx *cx, asx__tls *t)
{
    pthread_mutex_lock(&t->lock);
    asx_status st = t->broken;
    bool ready = t->ready, busy = t->shaking;
    t->shaking = busy || (st == ASX_OK && !ready);
    pthread_mutex_unlock(&t->lock);
    if (st < 0 || ready)
        return st;
    if (busy)
        return ASX_E_BUSY;
    st = shake(cx, t);
    pthread_mutex_lock(&t->lock);
    t->shaking = false;
    t->ready = st == ASX_OK; /* not before the last of it has gone: others flush from here on */
    pthread_mutex_unlock(&t->lock);
    return st;
}

/* ---- plain ---------------------------------------------------------------------------------- */

/* ASX_E_EMPTY: more must come first. A read of 1 byte that `peeks` takes nothing. */
static asx_status read_step(asx__tls *t, bool peeks, void *buffer, size_t size, size_t *ret_n)
{
    pthread_mutex_lock(&t->lock);
    asx_status st = t->broken;
    if (st == ASX_OK) {
        ERR_clear_error();
        int result = peeks ? SSL_peek_ex(t->ssl, buffer, size, ret_n)
                           : SSL_read_ex(t->ssl, buffer, size, ret_n);
        int error = SSL_get_error(t->ssl, result);
        if (result != 1) {
            *ret_n = 0;
            if (error == SSL_ERROR_WANT_READ)
                st = ASX_E_EMPTY;
            else if (error != SSL_ERROR_ZERO_RETURN) /* that is the end */
                st = refused(t, error);
        }
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}

static asx_status tls_read(asx_cx *cx, void *state, void *buffer, size_t size, size_t *ret_n)
{
    asx__tls *t = state;
    asx_status st = handshake(cx, t);
    while (st == ASX_OK) {
        st = read_step(t, false, buffer, size, ret_n);
        if (st != ASX_E_EMPTY)
            return st;
        st = fetch(cx, t); /* an answer to a change of keys goes with the next write */
    }
    return st;
}

/* Encrypts one record. */
static asx_status write_step(asx__tls *t, const void *data, size_t size)
{
    pthread_mutex_lock(&t->lock);
    asx_status st = t->broken;
    if (st == ASX_OK) {
        size_t n = 0;
        ERR_clear_error();
        int result = SSL_write_ex(t->ssl, data, size < PLAIN_MAX ? size : PLAIN_MAX, &n);
        if (result == 1)
            t->accepted = n;
        else
            st = refused(t, SSL_get_error(t->ssl, result));
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}

/* What was encrypted before goes first. What this call has encrypted counts as written also if it
 * cannot go now; but a poll task is told so when it has gone, because it waits for that. */
static asx_status tls_write(asx_cx *cx, void *state, const void *data, size_t size, size_t *ret_n)
{
    asx__tls *t = state;
    asx_status st = handshake(cx, t);
    if (st == ASX_OK)
        st = flush(cx, t);
    if (st == ASX_OK && t->accepted == 0) {
        st = write_step(t, data, size);
        if (st == ASX_OK)
            st = flush(cx, t);
    }
    if (t->accepted == 0 || st == ASX_E_WOULD_BLOCK)
        return st;
    if (st < 0 && st != ASX_E_CANCELLED)
        return st;
    *ret_n = t->accepted;
    t->accepted = 0;
    return ASX_OK;
}

static asx_status tls_wait(asx_cx *cx, void *state, unsigned what, unsigned *ret_ready)
{
    asx__tls *t = state;
    asx_status st = handshake(cx, t);
    while (st == ASX_OK) {
        unsigned char byte;
        unsigned below = 0;
        size_t n;
        st = what & ASX_IO_READABLE ? read_step(t, true, &byte, 1, &n) : ASX_E_EMPTY;
        if (st != ASX_E_EMPTY) { /* an end and a failure are readable */
            *ret_ready = ASX_IO_READABLE;
            return ASX_OK;
        }
        st = asx_stream_wait(cx, &t->below, what, &below);
        if (st == ASX_OK && (below & ASX_IO_WRITABLE) != 0) {
            *ret_ready = ASX_IO_WRITABLE;
            return ASX_OK;
        }
        if (st == ASX_OK)
            st = fetch(cx, t);
    }
    return st;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Encrypts the word that no more comes. False: it cannot be said. */
static bool says_end(asx__tls *t)
{
    pthread_mutex_lock(&t->lock);
    bool can = t->ready && t->broken == ASX_OK;
    if (can) {
        ERR_clear_error();
        (void)SSL_shutdown(t->ssl);
    }
    pthread_mutex_unlock(&t->lock);
    return can;
}

static asx_status tls_shutdown(asx_cx *cx, void *state)
{
    asx__tls *t = state;
    asx_status st = handshake(cx, t);
    if (st == ASX_OK && says_end(t))
        st = flush(cx, t);
    if (st == ASX_OK)
        st = asx_stream_shutdown(cx, &t->below);
    return st == ASX_E_NOT_SUPPORTED ? ASX_OK : st; /* below is no socket: the word must do */
}

/* No waiting: what does not go at once is left, and so is the word if a record is on its way. */
static asx_status tls_close(asx_cx *cx, void *state)
{
    asx__tls *t = state;
    int fd = -1;
    if (says_end(t) && asx_stream_descriptor(cx, &t->below, &fd) == ASX_OK) {
        unsigned char bytes[256];
        pthread_mutex_lock(&t->lock);
        int n = 0;
        if (!t->flushing && t->going_done == t->going_len)
            n = BIO_read(t->out, bytes, sizeof bytes);
        if (n > 0)
            (void)!send(fd, bytes, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
        pthread_mutex_unlock(&t->lock);
    }
    return asx_stream_close(cx, &t->below);
}

static void tls_destroy(void *state)
{
    asx__tls *t = state;
    if (t->ready && t->broken == ASX_OK) /* or OpenSSL would spoil the session for the next one */
        SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(t->ssl); /* and both memories */
    free(t->going);
    pthread_mutex_destroy(&t->lock);
    asx_tls_config_destroy(t->config);
    free(t);
}

static const asx_stream_layer layer = { "tls",        tls_read,  tls_write,  tls_wait,
                                        tls_shutdown, tls_close, tls_destroy };

/* ---- making --------------------------------------------------------------------------------- */

/* The certificate must be for this host, and a session with it is taken up. */
static bool expects(asx__tls *t)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(t->ssl);
    SSL_SESSION *session = asx__tls_session_take(t->config, t->host);
    if (session != NULL) {
        (void)SSL_set_session(t->ssl, session);
        SSL_SESSION_free(session);
    }
    if (X509_VERIFY_PARAM_set1_ip_asc(param, t->host) == 1)
        return true; /* digits: no name is sent */
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(t->ssl, t->host) == 1 &&
           SSL_set_tlsext_host_name(t->ssl, t->host) == 1;
}

static asx__tls *make(const asx_stream *below, const char *host, asx_tls_config *config)
{
    asx__tls *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->below = *below;
    t->server = config->server;
    t->config = config;
    asx__tls_config_ref(config);
    pthread_mutex_init(&t->lock, NULL);
    t->ssl = SSL_new(config->context);
    t->in = BIO_new(BIO_s_mem());
    t->out = BIO_new(BIO_s_mem());
    if (t->ssl != NULL && t->in != NULL && t->out != NULL) {
        (void)BIO_set_mem_eof_return(t->in, -1); /* empty is not the end */
        SSL_set_bio(t->ssl, t->in, t->out);
        SSL_set_app_data(t->ssl, t);
        if (host != NULL)
            (void)snprintf(t->host, sizeof t->host, "%s", host);
        if (t->server)
            SSL_set_accept_state(t->ssl);
        else
            SSL_set_connect_state(t->ssl);
        if (t->server || expects(t))
            return t;
    } else {
        BIO_free(t->in);
        BIO_free(t->out);
    }
    ERR_clear_error();
    tls_destroy(t);
    return NULL;
}

static asx_status open_tls(asx_cx *cx, const asx_region *region, const asx_stream *below,
                           const char *host, const asx_tls_config *config,
                           asx_stream *ret_stream)
{
    asx_stream_options options = { .name = "tls" };
    asx__tls *t = make(below, host, (asx_tls_config *)(uintptr_t)config);
    if (t == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    asx_status st = asx_stream_layer_open(cx, region, &layer, t, &options, ret_stream);
    if (st < 0)
        tls_destroy(t);
    return st;
}

asx_status asx_tls_server(asx_cx *cx, const asx_region *region, const asx_stream *below,
                          const asx_tls_config *config, asx_stream *ret_stream)
{
    if (ret_stream == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_stream = (asx_stream){ NULL, 0 };
    if (below == NULL || config == NULL || !config->server)
        return ASX_E_INVALID_ARGUMENT;
    return open_tls(cx, region, below, NULL, config, ret_stream);
}

asx_status asx_tls_client(asx_cx *cx, const asx_region *region, const asx_stream *below,
                          const char *host, const asx_tls_config *config, asx_stream *ret_stream)
{
    if (ret_stream == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_stream = (asx_stream){ NULL, 0 };
    if (below == NULL || config == NULL || config->server || host == NULL || *host == '\0' ||
        strlen(host) >= ASX__TLS_HOST_MAX)
        return ASX_E_INVALID_ARGUMENT;
    return open_tls(cx, region, below, host, config, ret_stream);
}

static asx_status call_handshake(asx_cx *cx, void *state, void *arg)
{
    (void)arg;
    return handshake(cx, state);
}

asx_status asx_tls_handshake(asx_cx *cx, const asx_stream *stream)
{
    return asx_stream_layer_call(cx, stream, &layer, call_handshake, NULL);
}

static asx_status call_info(asx_cx *cx, void *state, void *arg)
{
    asx__tls *t = state;
    asx_tls_details *d = arg;
    const unsigned char *protocol;
    unsigned len;
    (void)cx;
    pthread_mutex_lock(&t->lock);
    memcpy(d->why, t->why, sizeof d->why);
    if (t->ready) {
        const char *host = SSL_get_servername(t->ssl, TLSEXT_NAMETYPE_host_name);
        d->version = SSL_get_version(t->ssl);
        d->cipher = SSL_get_cipher_name(t->ssl);
        d->resumed = SSL_session_reused(t->ssl) == 1;
        SSL_get0_alpn_selected(t->ssl, &protocol, &len);
        (void)snprintf(d->protocol, sizeof d->protocol, "%.*s", (int)len, (const char *)protocol);
        if (t->server && host != NULL)
            (void)snprintf(d->host, sizeof d->host, "%s", host);
    }
    pthread_mutex_unlock(&t->lock);
    return ASX_OK;
}

asx_status asx_tls_info(asx_cx *cx, const asx_stream *stream, asx_tls_details *ret_details)
{
    if (ret_details == NULL)
        return ASX_E_INVALID_ARGUMENT;
    memset(ret_details, 0, sizeof *ret_details);
    ret_details->version = ret_details->cipher = "";
    return asx_stream_layer_call(cx, stream, &layer, call_info, ret_details);
}
