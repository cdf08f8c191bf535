/* dns.h - addresses of names.
 *
 * Asked are /etc/hosts and the servers of /etc/resolv.conf, by c-ares: no thread waits, and a
 * lookup can be cancelled. A library built without c-ares says ASX_E_NOT_SUPPORTED.
 */
#ifndef ASX_DNS_H
#define ASX_DNS_H

#include <asx/net.h>

ASX_BEGIN_DECLS

typedef enum asx_dns_family {
    ASX_DNS_ANY = 0, /* IPv6 and IPv4, in the order in which they should be tried */
    ASX_DNS_V4 = 4,
    ASX_DNS_V6 = 6
} asx_dns_family;

/* Zero in any field means its default. */
typedef struct asx_dns_options {
    asx_dns_family family;
    const asx_address *server; /* asked instead of those of the system */
    uint32_t timeout_ms;       /* for the first answer of a server; default 2000 */
    uint32_t tries;            /* of each server; default 3. A deadline is one of the region */
} asx_dns_options;

/* Waits for the addresses of a name, each with this port; a number is one address, at once. At most
 * `capacity` are written, *ret_count says how many. For fibers: ASX_E_NOT_SUPPORTED in a poll task.
 *   ASX_E_NAME         there is no such name, or it has no address
 *   ASX_E_UNREACHABLE  no server answers
 *   ASX_E_CANCELLED, ASX_E_CAPABILITY (IO), ASX_E_DESCRIPTORS, ASX_E_RESOURCE_EXHAUSTED,
 *   ASX_E_SYSTEM, ASX_E_INVALID_ARGUMENT */
ASX_API asx_status asx_dns_lookup(asx_cx *cx, const char *name, uint16_t port,
                                  const asx_dns_options *options, asx_address *ret_addresses,
                                  size_t capacity, size_t *ret_count);

/* Looks a name up and connects to the first of its addresses that answers. Statuses of both; of
 * several addresses that refuse, those of the last. As asx_dns_lookup(), for fibers. */
ASX_API asx_status asx_connect_name(asx_cx *cx, const asx_region *region, const char *name,
                                    uint16_t port, const asx_connect_options *options,
                                    asx_stream *ret_stream);

ASX_END_DECLS

#endif
