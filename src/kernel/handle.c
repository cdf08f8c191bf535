/* handle.c - typestate words: making, taking apart, narrowing, checking.
 *
 * Invariant: narrow(h, m) has the tag, index and generation of h and a mask that is a subset of
 * h's; no function here adds a bit to a mask.
 */
#include <asx/handle.h>

#define TAG_SHIFT 48
#define MASK_SHIFT 32
#define FIELD_MASK UINT64_C(0xffff)

asx_handle asx_handle_make(asx_tag tag, uint16_t state_mask, uint32_t index, uint64_t generation)
{
    asx_handle handle;
    handle.word = (((uint64_t)tag & FIELD_MASK) << TAG_SHIFT) |
                  ((uint64_t)state_mask << MASK_SHIFT) | index;
    handle.generation = generation;
    return handle;
}

asx_tag asx_handle_tag(asx_handle handle)
{
    return (asx_tag)(handle.word >> TAG_SHIFT);
}

uint16_t asx_handle_mask(asx_handle handle)
{
    return (uint16_t)((handle.word >> MASK_SHIFT) & FIELD_MASK);
}

uint32_t asx_handle_index(asx_handle handle)
{
    return (uint32_t)(handle.word & UINT32_MAX);
}

asx_handle asx_handle_narrow(asx_handle handle, uint16_t mask)
{
    handle.word &= ~(FIELD_MASK << MASK_SHIFT) | ((uint64_t)mask << MASK_SHIFT);
    return handle;
}

bool asx_handle_same(asx_handle a, asx_handle b)
{
    const uint64_t ignored = FIELD_MASK << MASK_SHIFT;
    return ((a.word ^ b.word) & ~ignored) == 0 && a.generation == b.generation;
}

asx_status asx_handle_check(asx_handle handle, asx_tag tag, uint64_t slot_generation,
                            uint16_t slot_state_bit, uint16_t endpoint_mask)
{
    if (asx_handle_tag(handle) != tag)
        return ASX_E_INVALID_ARGUMENT;
    /* A slot that was never used has generation 0 too; that is no reason to let it match. */
    if (handle.generation == 0 || handle.generation != slot_generation)
        return ASX_E_STALE_HANDLE;
    if ((slot_state_bit & endpoint_mask) == 0)
        return ASX_E_INVALID_TRANSITION;
    if ((slot_state_bit & endpoint_mask & asx_handle_mask(handle)) == 0)
        return ASX_E_CAPABILITY;
    return ASX_OK;
}
