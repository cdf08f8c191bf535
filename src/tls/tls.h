/* tls.h - the inside of asx-tls: configurations and the layer of a stream.
 *
 * Words
 *   plain    what tasks read and write
 *   cipher   what goes over the stream below
 *
 * OpenSSL works on memory: `in` holds cipher that has come, `out` cipher that is to go. No call of
 * OpenSSL waits, and all of them are made with the layer's lock held; what waits are calls of the
 * stream below, and they are made without it.
 *
 *     plain --write--> SSL --> out --flush--> stream below
 *     plain <--read--- SSL <-- in  <--fetch-- stream below
 *
 * The task that reads fetches, and the one that writes flushes; before that, the task that makes
 * the handshake does both. Cipher that was taken out of `out` lies in `going` until it has gone: a
 * flush that is cancelled goes on where it was.
 */
#ifndef ASX_TLS_INTERNAL_H
#define ASX_TLS_INTERNAL_H

#include <openssl/ssl.h>
#include <pthread.h>

#include <asx/layer.h>
#include <asx/tls.h>

#include "base/atomic.h"

#define ASX__TLS_HOST_MAX 256
#define ASX__TLS_SESSIONS 32u

typedef struct asx__tls_session {
    char host[ASX__TLS_HOST_MAX];
    SSL_SESSION *session; /* NULL: free */
} asx__tls_session;

/* Letters: I set at init, A atomic, L under the lock. */
struct asx_tls_config {
    SSL_CTX *context;         /* I */
    bool server;              /* I */
    asx__atomic_u32 users;    /* A: its creator, and each stream */
    unsigned char protocols[256]; /* I: as ALPN sends them ... */
    unsigned protocols_len;   /* I: ... so many bytes */
    pthread_mutex_t lock;
    asx__tls_session sessions[ASX__TLS_SESSIONS]; /* L: of a client, the newest of each host */
    unsigned next;            /* L: the one that is given up when there is no room */
};

typedef struct asx__tls {
    asx_tls_config *config;
    asx_stream below;
    bool server;
    pthread_mutex_t lock;
    SSL *ssl;                 /* L */
    BIO *in, *out;            /* L */
    unsigned char *going;     /* of the task that flushes; NULL: nothing is on its way */
    size_t going_len, going_done;
    bool flushing;            /* L: a task flushes */
    bool shaking;             /* L: a task makes the handshake */
    bool ready;               /* L: the handshake is done */
    size_t accepted;          /* of the task that writes: bytes of a poll task's call that are
                                 encrypted, and not told to it yet */
    asx_status broken;        /* L: why it can only be closed; ASX_OK: it is not */
    char why[160];            /* L */
    char host[ASX__TLS_HOST_MAX]; /* I: of a client: whose certificate it must be */
} asx__tls;

/* ---- config.c ------------------------------------------------------------------------------- */

void asx__tls_config_ref(asx_tls_config *config);
/* The newest session with that host, for one use. NULL: there is none. */
SSL_SESSION *asx__tls_session_take(asx_tls_config *config, const char *host);

#endif
