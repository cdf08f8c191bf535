/* chain.c - chains of causes, bounded by links and bytes.
 *
 * A chain is shared: the reason of a region is the cause of the reasons of its children, and it
 * outlives them. So a link is never changed once something points to it, and a chain is cut at its
 * new end or not at all.
 *
 * Rejected: copying the whole chain into every region and dropping what is too much, which costs a
 * chain per region and drops the root; cutting to nothing, which keeps no cause at all in a tree
 * that is one level too deep.
 */
#include "kernel/kernel.h"

/* Looks at no more than `max` bytes. Not strnlen() or memchr(), which a freestanding target may
 * lack. */
static size_t bounded_len(const char *text, size_t max)
{
    size_t len = 0;
    while (len < max && text[len] != 0)
        len++;
    return len;
}

uint32_t asx_cancel_reason_depth(const asx_cancel_reason *reason)
{
    uint32_t links = 0;
    for (; reason != NULL; reason = reason->cause)
        links++;
    return links;
}

size_t asx__cancel_reason_bytes(const asx_cancel_reason *reason)
{
    ASX__ASSERT(reason != NULL);
    return sizeof *reason + (reason->message ? bounded_len(reason->message, SIZE_MAX / 2) + 1 : 0);
}

size_t asx__cancel_message_fit(const char *message, size_t bytes_max)
{
    const size_t overhead = sizeof(asx_cancel_reason) + 1;
    if (message == NULL || bytes_max <= overhead)
        return 0;
    return bounded_len(message, bytes_max - overhead);
}

asx__chain_size asx__cancel_chain_fit(const asx_cancel_reason *reason, uint32_t depth_max,
                                      size_t bytes_max)
{
    asx__chain_size size = { 0, 0, true };
    for (; reason != NULL; reason = reason->cause) {
        if (size.links == depth_max || asx__cancel_reason_bytes(reason) > bytes_max - size.bytes) {
            size.whole = false;
            break;
        }
        size.links++;
        size.bytes += asx__cancel_reason_bytes(reason);
    }
    return size;
}

uint16_t asx__cancel_chain_length(const asx_cancel_reason *reason)
{
    uint32_t links = 0;
    for (; reason != NULL && links < UINT16_MAX; reason = reason->cause) {
        links++;
        if (reason->truncated) {
            links += reason->truncated_depth;
            break;
        }
    }
    return (uint16_t)(links < UINT16_MAX ? links : UINT16_MAX);
}

/* NULL if it is not reached within UINT16_MAX links. */
static const asx_cancel_reason *root_of(const asx_cancel_reason *reason)
{
    for (uint32_t links = 0; links < UINT16_MAX; links++) {
        if (reason->cause == NULL)
            return reason;
        reason = reason->cause;
    }
    return NULL;
}

asx_status asx__cancel_chain_link(asx_cancel_reason *child, const asx_cancel_reason *parent,
                                  uint32_t depth_max, size_t bytes_max)
{
    ASX__ASSERT(child != NULL && child != parent);
    size_t own = asx__cancel_reason_bytes(child);
    size_t bytes_left = own < bytes_max ? bytes_max - own : 0;
    uint32_t links_left = depth_max > 0 ? depth_max - 1 : 0;
    child->cause = parent;
    child->truncated = false;
    child->truncated_depth = 0;
    if (asx__cancel_chain_fit(parent, links_left, bytes_left).whole)
        return ASX_OK;
    child->truncated = true;
    child->truncated_depth = asx__cancel_chain_length(parent);
    child->cause = root_of(parent);
    if (!asx__cancel_chain_fit(child->cause, links_left, bytes_left).whole)
        child->cause = NULL;
    return ASX_E_RESOURCE_EXHAUSTED;
}
