/* support_tls.h - certificates, and the two ends of a connection with TLS. */
#ifndef ASX_TESTS_TLS_SUPPORT_H
#define ASX_TESTS_TLS_SUPPORT_H

#include <asx/asx.h>
#include <asx/tls.h>

#include "harness.h"

/* Files in a folder of their own, which goes with the process. */
typedef struct tls_files {
    char authority[128];                   /* PEM */
    char certificate[128], key[128];       /* for "localhost" and 127.0.0.1 */
    char other_certificate[128], other_key[128]; /* for "elsewhere.test" */
    char stranger[128], stranger_key[128]; /* for "localhost", signed by itself */
} tls_files;
const tls_files *tls_make_files(void);

/* What both sides agree with, and may be changed before the configurations are made. */
typedef struct tls_setting {
    asx_tls_server_options server;
    asx_tls_client_options client;
    asx_tls_config *server_config, *client_config;
    const char *host;
} tls_setting;

void tls_setting_init(tls_setting *s);
void tls_setting_make(tls_setting *s);
void tls_setting_deinit(tls_setting *s);

/* The two ends of a TCP connection with TLS on both, before the handshake; the streams below, too,
 * unless NULL. */
void tls_connected(asx_cx *cx, const asx_region *region, const tls_setting *s,
                   asx_stream *ret_client, asx_stream *ret_server, asx_stream *ret_below_client,
                   asx_stream *ret_below_server);

/* Runs it in a runtime of its own, which must end with ASX_OK and leave nothing open. */
void tls_run(asx_task_fn fn, void *arg);

/* A task that makes the handshake of the stream `arg` and returns what it says. */
asx_status tls_shakes(asx_cx *cx, void *arg);

#endif
