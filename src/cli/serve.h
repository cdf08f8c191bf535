/* serve.h - `asx serve`: what the command and its handler share. */
#ifndef ASX_CLI_SERVE_H
#define ASX_CLI_SERVE_H

#include <asx/asx.h>

typedef struct serve_site {
    asx_file root; /* the folder */
} serve_site;

/* Answers with a file below the site's folder. */
asx_status serve_file(asx_cx *cx, asx_http_request *request, asx_http_response *response,
                      void *site);

#endif
