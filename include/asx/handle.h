/* handle.h - names of runtime objects that can go stale without doing harm.
 *
 * A handle is sixteen bytes and passed by value: a typestate word
 *
 *     63        48 47          32 31                     0
 *    [ type tag   | state mask   | slot index            ]
 *
 * and a generation. The state mask is the set of states in which this holder may act through the
 * handle; it can be narrowed and never widened. The generation carries the number of the runtime
 * in its upper 16 bits, so that a handle shown to another runtime is stale there. A handle whose
 * generation is 0 names nothing.
 */
#ifndef ASX_HANDLE_H
#define ASX_HANDLE_H

#include <asx/status.h>

ASX_BEGIN_DECLS

/* X(name, tag) */
#define ASX_TAG_LIST(X)                                                                            \
    X(REGION, 0x0001)                                                                              \
    X(TASK, 0x0002)                                                                                \
    X(OBLIGATION, 0x0003)                                                                          \
    X(CANCEL_WITNESS, 0x0004)                                                                      \
    X(TIMER, 0x0005)                                                                               \
    X(CHANNEL, 0x0006)

typedef enum asx_tag {
#define ASX_TAG_ENUM_(name, value) ASX_TAG_##name = (value),
    ASX_TAG_LIST(ASX_TAG_ENUM_)
#undef ASX_TAG_ENUM_
    ASX_TAG_NONE = 0
} asx_tag;

#define ASX_STATE_MASK_ALL 0xffffu

typedef struct asx_handle {
    uint64_t word;
    uint64_t generation;
} asx_handle;

typedef asx_handle asx_region_id;
typedef asx_handle asx_task_id;
typedef asx_handle asx_obligation_id;
typedef asx_handle asx_channel_id;

/* Pure; any thread. */
ASX_API asx_handle asx_handle_make(asx_tag tag, uint16_t state_mask, uint32_t index,
                                   uint64_t generation);
ASX_API asx_tag asx_handle_tag(asx_handle handle);
ASX_API uint16_t asx_handle_mask(asx_handle handle);
ASX_API uint32_t asx_handle_index(asx_handle handle);

/* The same handle with only those states left that are in `mask` too. Pure. */
ASX_API asx_handle asx_handle_narrow(asx_handle handle, uint16_t mask);

/* Two handles name the same object (their masks may differ). Pure. */
ASX_API bool asx_handle_same(asx_handle a, asx_handle b);

/* What an endpoint asks before it acts. `slot_generation` and `slot_state` are those of the slot
 * that the index names, `endpoint_mask` the states in which the endpoint works at all.
 *   ASX_E_INVALID_ARGUMENT  the tag is not `tag`
 *   ASX_E_STALE_HANDLE      the generation differs
 *   ASX_E_CAPABILITY        the endpoint works in this state, but this holder may not act in it
 *   ASX_E_INVALID_TRANSITION  the endpoint does not work in this state
 * Pure. */
ASX_API asx_status asx_handle_check(asx_handle handle, asx_tag tag, uint64_t slot_generation,
                                    uint16_t slot_state_bit, uint16_t endpoint_mask);

ASX_END_DECLS

#endif
