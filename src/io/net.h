/* net.h - sockets: what the files of this module that make them have in common. */
#ifndef ASX_IO_NET_H
#define ASX_IO_NET_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <asx/net.h>

#include "io/io.h"

/* ---- address.c ------------------------------------------------------------------------------ */

void asx__address_set(const void *name, socklen_t size, asx_address *ret_address);
/* ASX_E_INVALID_ARGUMENT: it is none. */
asx_status asx__address_get(const asx_address *address, struct sockaddr_storage *ret_name,
                            socklen_t *ret_size);

#endif
