/* address.c - addresses as text and as the system has them. Pure. */
#include "io/net.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct sockaddr_un) <= sizeof(((asx_address *)0)->u_), "any address fits");

void asx__address_set(const void *name, socklen_t size, asx_address *ret_address)
{
    memset(ret_address, 0, sizeof *ret_address);
    if (size > sizeof ret_address->u_)
        size = sizeof ret_address->u_;
    memcpy(ret_address->u_.bytes_, name, size);
    ret_address->size_ = size;
}

asx_status asx__address_get(const asx_address *address, struct sockaddr_storage *ret_name,
                            socklen_t *ret_size)
{
    if (address == NULL || address->size_ < sizeof(sa_family_t) ||
        address->size_ > sizeof address->u_)
        return ASX_E_INVALID_ARGUMENT;
    memset(ret_name, 0, sizeof *ret_name);
    memcpy(ret_name, address->u_.bytes_, address->size_);
    *ret_size = address->size_;
    switch (ret_name->ss_family) {
    case AF_INET:
        return address->size_ == sizeof(struct sockaddr_in) ? ASX_OK : ASX_E_INVALID_ARGUMENT;
    case AF_INET6:
        return address->size_ == sizeof(struct sockaddr_in6) ? ASX_OK : ASX_E_INVALID_ARGUMENT;
    case AF_UNIX:
        return ASX_OK;
    default:
        return ASX_E_INVALID_ARGUMENT;
    }
}

/* The zone behind '%': the name of an interface, or its number. 0: there is none such. */
static uint32_t zone_of(const char *zone)
{
    char *end;
    uint32_t index = if_nametoindex(zone);
    if (index != 0)
        return index;
    unsigned long number = strtoul(zone, &end, 10);
    return *zone != '\0' && *end == '\0' && number <= UINT32_MAX ? (uint32_t)number : 0;
}

static bool set_v6(const char *host, uint16_t port, asx_address *ret_address)
{
    struct sockaddr_in6 name = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    char number[INET6_ADDRSTRLEN];
    const char *zone = strchr(host, '%');
    size_t len = zone != NULL ? (size_t)(zone - host) : strlen(host);
    if (len >= sizeof number)
        return false;
    memcpy(number, host, len);
    number[len] = '\0';
    if (inet_pton(AF_INET6, number, &name.sin6_addr) != 1)
        return false;
    if (zone != NULL && (name.sin6_scope_id = zone_of(zone + 1)) == 0)
        return false;
    asx__address_set(&name, sizeof name, ret_address);
    return true;
}

asx_status asx_address_ip(const char *host, uint16_t port, asx_address *ret_address)
{
    if (ret_address == NULL)
        return ASX_E_INVALID_ARGUMENT;
    memset(ret_address, 0, sizeof *ret_address);
    if (host == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (*host == '\0' || strcmp(host, "*") == 0)
        host = "::";
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(port) };
    if (inet_pton(AF_INET, host, &name.sin_addr) == 1) {
        asx__address_set(&name, sizeof name, ret_address);
        return ASX_OK;
    }
    return set_v6(host, port, ret_address) ? ASX_OK : ASX_E_INVALID_ARGUMENT;
}

asx_status asx_address_unix(const char *path, asx_address *ret_address)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    if (ret_address == NULL)
        return ASX_E_INVALID_ARGUMENT;
    memset(ret_address, 0, sizeof *ret_address);
    size_t len = path != NULL ? strlen(path) : 0;
    if (len == 0 || len >= sizeof name.sun_path || (len == 1 && *path == '@'))
        return ASX_E_INVALID_ARGUMENT;
    bool is_abstract = *path == '@';
    memcpy(name.sun_path, path, len);
    if (is_abstract)
        name.sun_path[0] = '\0';
    size_t size = offsetof(struct sockaddr_un, sun_path) + len + !is_abstract;
    asx__address_set(&name, (socklen_t)size, ret_address);
    return ASX_OK;
}

static void unix_text(const struct sockaddr_un *name, socklen_t size, char *text, size_t room)
{
    size_t len = size - offsetof(struct sockaddr_un, sun_path);
    bool is_abstract = len > 1 && name->sun_path[0] == '\0';
    if (len > sizeof name->sun_path)
        len = sizeof name->sun_path;
    if (is_abstract)
        snprintf(text, room, "unix:@%.*s", (int)(len - 1), name->sun_path + 1);
    else
        snprintf(text, room, "unix:%.*s", (int)len, name->sun_path);
}

const char *asx_address_text(const asx_address *address, char *text, size_t size)
{
    struct sockaddr_storage name;
    socklen_t name_size;
    char number[INET6_ADDRSTRLEN] = "";
    if (text == NULL || size == 0)
        return text;
    *text = '\0';
    if (asx__address_get(address, &name, &name_size) < 0)
        return text;
    const struct sockaddr_in *v4 = (const void *)&name;
    const struct sockaddr_in6 *v6 = (const void *)&name;
    if (name.ss_family == AF_INET) {
        (void)inet_ntop(AF_INET, &v4->sin_addr, number, sizeof number);
        snprintf(text, size, "%s:%u", number, ntohs(v4->sin_port));
    } else if (name.ss_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, number, sizeof number);
        if (v6->sin6_scope_id != 0)
            snprintf(text, size, "[%s%%%u]:%u", number, v6->sin6_scope_id, ntohs(v6->sin6_port));
        else
            snprintf(text, size, "[%s]:%u", number, ntohs(v6->sin6_port));
    } else {
        unix_text((const void *)&name, name_size, text, size);
    }
    return text;
}

uint16_t asx_address_port(const asx_address *address)
{
    struct sockaddr_storage name;
    socklen_t size;
    if (asx__address_get(address, &name, &size) < 0)
        return 0;
    if (name.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)&name)->sin_port);
    if (name.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)&name)->sin6_port);
    return 0;
}
