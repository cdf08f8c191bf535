/* tls.h - TLS over any stream, by OpenSSL: the library asx-tls.
 *
 * A configuration says what a server shows or a client asks for; it may be used by any number of
 * streams, tasks and threads. asx_tls_server() and asx_tls_client() make a stream (io.h) that
 * stands on another one: what is written to it goes over encrypted, and a close of it closes the
 * stream below. The stream below is used by nothing else from then on, and lives in the same
 * region or in one around it.
 *
 * The handshake is made by asx_tls_handshake(), or else by the first read or write, and waits.
 * TLS 1.2 and 1.3; no renegotiation, no compression.
 *
 * A client verifies the server: its certificate must be signed by an authority that the client
 * trusts, be in date, and be for the host that was asked for.
 *
 * Cancellation. A call that is cancelled leaves the stream as good as before. What a write has
 * encrypted counts as written: at most one record waits then, and goes over with the next call.
 *
 * The end. asx_stream_shutdown() tells the peer that no more comes; a close tells it, too, as far
 * as that needs no waiting. A peer that ends the connection without having said so is
 * ASX_E_TLS_TRUNCATED, not an end of the input: an attacker may have cut it.
 *
 * Statuses, besides those of io.h:
 *   ASX_E_TLS             the peer does not keep to the protocol, or has refused; asx_tls_info()
 *                         says why in words
 *   ASX_E_TLS_UNVERIFIED  the peer's certificate is not to be trusted
 *   ASX_E_TLS_TRUNCATED   the connection ended in the middle
 * After one of these the stream can only be closed.
 */
#ifndef ASX_TLS_H
#define ASX_TLS_H

#include <asx/io.h>

ASX_BEGIN_DECLS

typedef struct asx_tls_config asx_tls_config;

/* Zero in any field means its default. All texts and lists are copied. */
typedef struct asx_tls_server_options {
    const char *certificate_file; /* PEM: the server's, then those between it and an authority */
    const char *key_file;         /* PEM */
    const char *const *protocols; /* of ALPN, in the order of preference, such as "http/1.1" ... */
    size_t protocol_count;        /* ... so many; 0: none is agreed upon */
    const char *client_authority_file; /* PEM: clients must show a certificate signed by one of
                                          these; NULL: they are not asked */
} asx_tls_server_options;

/* Reads the files: not for a task that may not keep its thread meanwhile.
 *   ASX_E_INVALID_ARGUMENT  no such option; protocols of 0 or more than 31 bytes
 *   ASX_E_TLS_FILE          a file cannot be read, is not PEM, or key and certificate do not match
 *   ASX_E_RESOURCE_EXHAUSTED */
ASX_API asx_status asx_tls_server_config(const asx_tls_server_options *options,
                                         asx_tls_config **ret_config);

/* Zero in any field means its default. All texts and lists are copied. */
typedef struct asx_tls_client_options {
    const char *authority_file;   /* PEM; NULL: those that the system trusts */
    const char *certificate_file; /* PEM: to show to servers that ask; NULL: none */
    const char *key_file;
    const char *const *protocols; /* as of a server */
    size_t protocol_count;
    bool unverified;              /* any certificate will do: for tests */
} asx_tls_client_options;

/* `options` may be NULL. Statuses as of asx_tls_server_config(). */
ASX_API asx_status asx_tls_client_config(const asx_tls_client_options *options,
                                         asx_tls_config **ret_config);

/* Streams that were made with it stay good. NULL is allowed. Any thread. */
ASX_API void asx_tls_config_destroy(asx_tls_config *config);

/* The server's side of TLS over `below`. ASX_E_INVALID_ARGUMENT: also a client's configuration. */
ASX_API asx_status asx_tls_server(asx_cx *cx, const asx_region *region, const asx_stream *below,
                                  const asx_tls_config *config, asx_stream *ret_stream);
/* The client's side. `host` is the name that the server must prove, or its address in digits; it
 * is copied. A session that was agreed upon with the same host before is taken up again. */
ASX_API asx_status asx_tls_client(asx_cx *cx, const asx_region *region, const asx_stream *below,
                                  const char *host, const asx_tls_config *config,
                                  asx_stream *ret_stream);

/* Makes the handshake and waits until it is done; ASX_OK if it was before. ASX_E_BUSY: another task
 * is at it. */
ASX_API asx_status asx_tls_handshake(asx_cx *cx, const asx_stream *stream);

typedef struct asx_tls_details {
    const char *version;  /* "TLSv1.3"; "" before the handshake; so are the others */
    const char *cipher;
    char protocol[32];    /* agreed upon by ALPN; "": none */
    char host[256];       /* server: the name that the client has asked for; "": none */
    bool resumed;         /* an earlier session was taken up */
    char why[160];        /* of the last failure; "": none */
} asx_tls_details;

/* ASX_E_INVALID_ARGUMENT: no stream of TLS, too. */
ASX_API asx_status asx_tls_info(asx_cx *cx, const asx_stream *stream,
                                asx_tls_details *ret_details);

ASX_END_DECLS

#endif
